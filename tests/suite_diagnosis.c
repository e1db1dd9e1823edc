/* Where do they differ: columns, pairs and rows, their p-values, range, flags. */
#include "ref_tester.h"

static npksd_options diagnosis_options(void)
{
    return problem_options(test_seed + 200, "diagnose");
}

/* ======== the reference itself ======== */

TEST stored_coordinates(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "coordinate");
    for (size_t c = 0; c < cases; c++) {
        ref_data data;
        memset(&data, 0, sizeof data);
        vectors_word(&v, "case");
        data.n = vectors_size(&v, "n");
        data.m = vectors_size(&v, "m");
        data.kernel = vectors_kernel(&v);
        data.sigma2 = pow(vectors_real(&v, "bandwidth"), 2);
        npksd_real *weights = vectors_array(&v, "weights", NULL);
        npksd_real *rows = vectors_array(&v, "rows", NULL);
        npksd_real *scores = vectors_array(&v, "scores", NULL);
        double *share = ref_reals(data.m), *pull = ref_reals(data.n), tiny = either(1e-12, 1e-5);
        data.weights = weights;
        data.rows = rows;
        data.scores = scores;
        ref_coordinates(&data, share);
        ASSERT_EQ(data.m, vectors_size(&v, "v"));
        for (size_t i = 0; i < data.m; i++)
            ASSERT_AGREE("v", strtod(vectors_next(&v), NULL), share[i], tiny);
        for (int form = NPKSD_FORM_VECTOR; form <= NPKSD_FORM_SCALAR; form++) {
            data.form = form;
            ref_influence(&data, pull);
            ASSERT_EQ(data.n, vectors_size(&v, form ? "influence_scalar" : "influence"));
            for (size_t a = 0; a < data.n; a++)
                ASSERT_AGREE("influence", strtod(vectors_next(&v), NULL), pull[a], tiny);
        }
        free(weights);
        free(rows);
        free(scores);
        free(share);
        free(pull);
    }
    vectors_close(&v);
    PASS();
}

static double *stored_numbers(vectors *v, const char *key, size_t count)
{
    double *out = ref_reals(count);
    if (vectors_size(v, key) != count)
        vectors_fail(v, key);
    for (size_t k = 0; k < count; k++)
        out[k] = strtod(vectors_next(v), NULL);
    return out;
}

/* Columns and pairs from stored fit rows: the reference, and the library itself where it tells. */
TEST stored_margins(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "margin");
    for (size_t c = 0; c < cases; c++) {
        static char name[64];
        snprintf(name, sizeof name, "%s %zu", vectors_word(&v, "case"), c);
        size_t n = vectors_size(&v, "n"), m = vectors_size(&v, "m"), N, size;
        N = vectors_size(&v, "fit_rows");
        npksd_real *sets = vectors_array(&v, "sets", &size);
        npksd_real *observed = vectors_array(&v, "observed", NULL);
        double *anderson = stored_numbers(&v, "anderson", m),
               *spread = stored_numbers(&v, "spread", m);
        double *shift = stored_numbers(&v, "shift", m),
               *distance = stored_numbers(&v, "distance", m);
        double *numbers = stored_numbers(&v, "numbers", REF_MARGINS);
        double *cells = stored_numbers(&v, "cells", m);
        double *r = stored_numbers(&v, "correlations", m * m);
        double *r0 = stored_numbers(&v, "expected", m * m), pair = vectors_real(&v, "pair");
        npksd_options options = diagnosis_options();
        npksd_pair *pairs = (npksd_pair *)calloc(m * m, sizeof *pairs);
        npksd_real *told = new_reals(2 * m);
        npksd_diagnosis found;
        npksd_result result;
        npksd_tester *tester;
        replay source = { sets, 0, 0 };
        ref_tester ref;
        memset(&found, 0, sizeof found);
        memset(&ref, 0, sizeof ref);
        found.coordinate_shift = told;
        found.coordinate_distance = told + m;
        found.pairs = pairs;
        found.pair_capacity = m * m;
        options.fit_rows = N;
        source.count = size / (n * m);
        ASSERT_STATUSm(name, NPKSD_OK,
                       npksd_tester_create(&tester, n, m, replay_sample, &source, &options));
        ASSERT_STATUSm(name, NPKSD_OK, finish(tester));
        ASSERT_STATUSm(name, NPKSD_OK, npksd_tester_check(tester, observed, &result, &found));
        ref.options = options;
        ref.n = n;
        ref.m = m;
        ASSERT_EQm(name, 0, ref_fit_make(&ref.fit, sets, NULL, n, m, 0, &options));
        ref_references(&ref);
        double seven[REF_MARGINS], *columns = ref_reals(4 * m), *own = ref_reals(m * m);
        ref_margin_numbers(&ref, observed, seven, columns);
        ref_correlations(&ref, observed, n, own);
        ASSERT_AGREE(name, pair, ref_largest_pair(&ref, observed), 1e-12);
        for (size_t k = 0; k < REF_MARGINS; k++) /* in float a constant has another unit */
            if (k != 1 || !FLOAT_BUILD || strncmp(name, "off_the_constant", 16) != 0)
                ASSERT_AGREE(name, numbers[k], seven[k],
                             either(1e-10, 1e-5) * (1 + fabs(numbers[k])));
        for (size_t i = 0; i < m; i++) {
            double tiny = either(1e-9, 1e-4), most = either(DBL_MAX, (double)FLT_MAX);
            ASSERT_AGREE(name, anderson[i], columns[i], 1e-10 * (1 + anderson[i]));
            ASSERT_AGREE(name, spread[i], columns[m + i], 1e-12);
            ASSERT_AGREE(name, cells[i], columns[3 * m + i], 1e-10 * (1 + fabs(cells[i])));
            ASSERT_AGREE(name, distance[i], told[m + i], tiny);
            if (fabs(shift[i]) < most)
                ASSERT_AGREE(name, shift[i], told[i], tiny * (1 + fabs(shift[i])));
            else
                ASSERT_AGREE(name, shift[i] > 0 ? most : -most, told[i], 1e-6 * most);
        }
        ASSERT_EQ_FMTm(name, m * (m - 1) / 2, found.pair_count, "%zu");
        for (size_t k = 0; k < found.pair_count; k++) {
            size_t at = pairs[k].first * m + pairs[k].second;
            ASSERTm(name, pairs[k].first < pairs[k].second && pairs[k].second < m);
            ASSERT_AGREE(name, r[at], pairs[k].observed, either(1e-10, 1e-4));
            ASSERT_AGREE(name, r0[at], pairs[k].expected, either(1e-10, 1e-4));
            ASSERT_AGREE(name, r[at], own[at], 1e-12);
            ASSERT_AGREE(name, r0[at], ref.correlations[at], 1e-12);
        }
        npksd_tester_destroy(tester);
        ref_tester_free(&ref);
        double *all[] = { anderson, spread, shift, distance, numbers, cells, r, r0, columns, own };
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            free(all[k]);
        free(sets);
        free(observed);
        free(told);
        free(pairs);
    }
    vectors_close(&v);
    PASS();
}

/* ======== against plain loops ======== */

/* r_a = (1/n) sum_b u(z_a, z_b). In linear time u is the mean over the frequencies of
   sum_i w_i^2 Re g_a conj(g_b), g = (s_i + j omega_i) exp(j omega.z); SCALAR sums over i in g. */
static void influence_of(const ref_tester *t, const ref_view_of *view, double *r)
{
    ref_data data = ref_data_of(t, view, 1);
    size_t n = t->n, m = t->m, F = t->options.features, scalar = data.form == NPKSD_FORM_SCALAR;
    if (!F) {
        ref_influence(&data, r);
        return;
    }
    double *re = ref_reals(n), *im = ref_reals(n);
    for (size_t a = 0; a < n; a++)
        r[a] = 0;
    for (size_t f = 0; f < F; f++)
        for (size_t i = 0; i < (scalar ? 1 : m); i++) {
            double re_mean = 0, im_mean = 0;
            for (size_t a = 0; a < n; a++) {
                double angle = 0, s = 0, o = 0;
                for (size_t k = 0; k < m; k++) {
                    double w = scalar || k == i ? ref_w(&data, k) : 0;
                    angle += (double)t->omega[f * m + k] * ref_x(&data, a, k);
                    s += w * ref_s(&data, a, k);
                    o += w * (double)t->omega[f * m + k];
                }
                re[a] = s * cos(angle) - o * sin(angle);
                im[a] = s * sin(angle) + o * cos(angle);
                re_mean += re[a] / (double)n;
                im_mean += im[a] / (double)n;
            }
            for (size_t a = 0; a < n; a++)
                r[a] += (re[a] * re_mean + im[a] * im_mean) / (double)F;
        }
    free(re);
    free(im);
}

/* p is (1 + number of null values >= mine) / (b + 1); values closer than gap may count or not. */
static int p_is_right(const char *name, const double *null_values, size_t stride, size_t b,
                      double mine, double gap, npksd_real p)
{
    size_t surely = 0, perhaps = 0;
    for (size_t r = 0; r < b; r++) {
        surely += null_values[r * stride] >= mine + gap;
        perhaps += null_values[r * stride] >= mine - gap;
    }
    if (p >= ref_share(surely + 1, b) && p <= ref_share(perhaps + 1, b))
        return 1;
    printf("\n%s: p %.17g, expected (1 + %zu to %zu) / %zu (NPKSD_TEST_SEED=%llu)\n", name,
           (double)p, surely, perhaps, b + 1, (unsigned long long)test_seed);
    return 0;
}

static enum greatest_test_res compare_columns(const char *name, const ref_tester *t,
                                              const ref_view_of *view, const npksd_diagnosis *found)
{
    size_t m = t->m, b = t->options.replicates;
    double *most = ref_reals(b), values[REF_COMPONENTS], sum = 0, V = 0;
    ref_columns columns = ref_columns_new(t);
    ref_components(t, view, values, &columns);
    for (size_t i = 0; i < m; i++)
        V += fabs(columns.values[i]);
    for (size_t r = 0; r < b; r++) { /* the largest column of each replicate */
        most[r] = -DBL_MAX;
        for (size_t i = 0; i < m; i++)
            most[r] = fmax(most[r], t->null_columns[r * m + i]);
    }
    for (size_t i = 0; i < m; i++) {
        double value = ref_column_value(t, &columns, i);
        double gap = either(1e-7, 2e-2) * (1 + fabs(value));
        sum += (double)found->coordinate_statistic[i];
        ASSERT_AGREE(name, columns.values[i], found->coordinate_statistic[i],
                     either(1e-8, 2e-3) * V);
        ASSERT(p_is_right(name, t->null_columns + i, m, b, value, gap, found->coordinate_p[i]));
        ASSERT(p_is_right(name, most, 1, b, value, gap, found->coordinate_p_adjusted[i]));
        ASSERT(found->coordinate_p_adjusted[i] >= found->coordinate_p[i]);
    }
    ref_tester vector = *t;
    vector.options.form = NPKSD_FORM_VECTOR;
    ASSERT_AGREE("sum of shares", ref_stein_of(&vector, view, 1, NPKSD_STATISTIC_V, 0), sum,
                 either(1e-8, 2e-3) * V);
    ref_columns_free(&columns);
    free(most);
    PASS();
}

/* What people read: means apart, distribution functions apart. */
static enum greatest_test_res compare_margins(const char *name, const ref_tester *t,
                                              const ref_view_of *view, const npksd_diagnosis *found)
{
    for (size_t i = 0; i < t->m; i++) {
        const ref_coordinate *at = &t->fit.at[i];
        double mean = 0;
        for (size_t a = 0; a < t->n; a++)
            mean += ((double)view->raw[a * t->m + i] - at->mean) / at->scale / (double)t->n;
        ref_shown shown =
            ref_margin_shows(&t->margins[i], t->reference_rows, view->raw, t->n, t->m, i);
        ASSERT_AGREE(name, shown.distance, found->coordinate_distance[i], either(1e-9, 1e-5));
        if (!at->constant)
            ASSERT_AGREE(name, mean - t->means[i], found->coordinate_shift[i],
                         either(1e-8, 2e-3) * (1 + fabs(mean)));
    }
    PASS();
}

/* The pairs that changed most, worst first, and as many as there is room for. */
static enum greatest_test_res compare_pairs(const char *name, const ref_tester *t,
                                            const ref_view_of *view, const npksd_diagnosis *found)
{
    size_t pairs = t->pair_columns, all = pairs * (pairs - 1) / 2, p = 0;
    double *r = ref_reals(pairs * pairs), *apart = ref_reals(all), tiny = either(1e-9, 1e-4);
    ref_correlations(t, view->raw, t->n, r);
    for (size_t a = 0; a < pairs; a++)
        for (size_t b = 0; b < a; b++)
            apart[p++] = ref_pair_apart(r[a * pairs + b], t->correlations[a * pairs + b]);
    qsort(apart, all, sizeof *apart, ref_compare);
    ASSERT_EQ_FMTm(name, all < found->pair_capacity ? all : found->pair_capacity, found->pair_count,
                   "%zu");
    for (size_t k = 0; k < found->pair_count; k++) {
        const npksd_pair *pair = &found->pairs[k];
        size_t at[2] = { 0, 0 };
        for (size_t a = 0; a < pairs; a++) {
            at[0] = t->paired[a] == pair->first ? a : at[0];
            at[1] = t->paired[a] == pair->second ? a : at[1];
        }
        ASSERTm(name,
                pair->first < pair->second && t->paired[at[0]] == pair->first
                    && t->paired[at[1]] == pair->second);
        double own = r[at[0] * pairs + at[1]], theirs = t->correlations[at[0] * pairs + at[1]];
        ASSERT_AGREE(name, own, pair->observed, tiny);
        ASSERT_AGREE(name, theirs, pair->expected, tiny);
        double change = ref_pair_apart(own, theirs), bound = 2 * tiny / REF_CLOSEST;
        ASSERT_AGREE(name, apart[all - 1 - k], change, bound);
        ASSERT(p_is_right(name, t->null_pairs, 1, t->options.replicates, change, bound,
                          pair->p_adjusted));
    }
    free(r);
    free(apart);
    PASS();
}

/* Moved in one coordinate, one row far out. */
static void observed_rows(const problem *p, npksd_real *rows)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 80);
    test_shape shape = p->shape;
    shape_sample(rows, p->n, p->m, &rng, &shape);
    for (size_t a = 0; a < p->n; a++)
        rows[a * p->m] += (npksd_real)0.5;
    rows[(p->n - 1) * p->m] += 2;
}

static enum greatest_test_res compare_rows(const char *name, const ref_tester *t,
                                           const ref_view_of *view, const npksd_real *influence)
{
    size_t n = t->n;
    double *pull = ref_reals(n), size = 0, V = ref_stein_of(t, view, 1, NPKSD_STATISTIC_V, 0);
    influence_of(t, view, pull);
    for (size_t a = 0; a < n; a++) {
        size = fmax(size, fabs(pull[a]));
        V -= (double)influence[a] / (double)n;
    }
    for (size_t a = 0; a < n; a++)
        ASSERT_AGREE(name, pull[a], influence[a], either(1e-8, 2e-3) * size);
    ASSERT_AGREE("mean influence is V", 0, V, either(1e-8, 2e-3) * size);
    free(pull);
    PASS();
}

/* Room for all outputs; what a tester without diagnose cannot tell is left out. */
enum { PAIRS = 7, MANY_PAIRS = 600 }; /* the latter where columns are drawn: nearly all show */

static npksd_diagnosis new_diagnosis(size_t n, size_t m, int diagnose)
{
    npksd_diagnosis found;
    npksd_real *numbers = new_reals(5 * m + n);
    memset(&found, 0, sizeof found);
    found.row_influence = numbers;
    if (diagnose) {
        found.coordinate_statistic = numbers + n;
        found.coordinate_p = numbers + n + m;
        found.coordinate_p_adjusted = numbers + n + 2 * m;
        found.coordinate_shift = numbers + n + 3 * m;
        found.coordinate_distance = numbers + n + 4 * m;
        found.pair_capacity = m > 256 ? MANY_PAIRS : PAIRS;
        found.pairs = (npksd_pair *)calloc(found.pair_capacity, sizeof *found.pairs);
    }
    return found;
}

static void free_diagnosis(npksd_diagnosis *found)
{
    free(found->row_influence);
    free(found->pairs);
}

static enum greatest_test_res compare_diagnosis(const char *name, const ref_tester *ref,
                                                const npksd_real *rows,
                                                const npksd_diagnosis *found)
{
    ref_view_of view = ref_see_observed(ref, rows);
    if (ref->options.diagnose) {
        CHECK_CALL(compare_columns(name, ref, &view, found));
        CHECK_CALL(compare_margins(name, ref, &view, found));
        CHECK_CALL(compare_pairs(name, ref, &view, found));
    }
    CHECK_CALL(compare_rows(name, ref, &view, found->row_influence));
    ref_unsee(&view);
    PASS();
}

static enum greatest_test_res run_problem(const problem *p, npksd_options options)
{
    size_t n = p->n, m = p->m;
    recorder log;
    npksd_tester *tester;
    ref_tester ref;
    npksd_result result;
    npksd_diagnosis found = new_diagnosis(n, m, options.diagnose);
    test_shape shape = p->shape;
    npksd_real *rows = new_reals(n * m);
    static char name[160];
    snprintf(name, sizeof name, "%s, %s, n %zu, m %zu", p->name, shape_name(shape), n, m);
    recorder_begin(&log, shape_sample, &shape, &options);
    ASSERT_STATUSm(name, NPKSD_OK,
                   npksd_tester_create(&tester, n, m, recorder_sample, &log, &options));
    ASSERT_STATUSm(name, NPKSD_OK, finish(tester));
    ASSERT_EQm(name, 0, ref_tester_make(&ref, &log, n, m, &options));
    observed_rows(p, rows);
    ASSERT_STATUSm(name, NPKSD_OK, npksd_tester_check(tester, rows, &result, &found));
    CHECK_CALL(compare_diagnosis(name, &ref, rows, &found));
    ref_tester_free(&ref);
    npksd_tester_destroy(tester);
    recorder_end(&log);
    free_diagnosis(&found);
    free(rows);
    PASS();
}

/* The same for fixed samples: "the generator" is then the pool. */
TEST fixed_samples(size_t n, size_t rows, size_t m, const char *words)
{
    npksd_options options = diagnosis_options();
    npksd_real *pool = new_reals((n + rows) * m);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 83);
    npksd_diagnosis found = new_diagnosis(n, m, 1);
    npksd_result result;
    ref_tester ref;
    test_shape shape = SHAPE_SKEW;
    set_options(&options, words);
    shape_sample(pool, n + rows, m, &rng, &shape);
    for (size_t a = 0; a < n; a++)
        pool[a * m] += (npksd_real)0.5;
    ASSERT_STATUSm(words, NPKSD_OK,
                   npksd_test_samples_diagnose(pool, n, pool + n * m, rows, m, &options, &result,
                                               &found, NULL));
    ASSERT_EQm(words, 0, ref_tester_pool(&ref, pool, n + rows, n, m, &options));
    CHECK_CALL(compare_diagnosis(words, &ref, pool, &found));
    ref_tester_free(&ref);
    free_diagnosis(&found);
    free(pool);
    PASS();
}

static const problem problems[] = {
    { "gauss", SHAPE_CHAIN, 17, 3, "" },
    { "gauss", SHAPE_CHAIN, 1, 3, "" },
    { "gauss", SHAPE_CHAIN, 2, 1, "" },
    { "gauss", SHAPE_CHAIN, 33, 17, "" },
    { "gauss", SHAPE_CHAIN, 16, 300, "" },
    { "gauss", SHAPE_TIES, 15, 2, "" },
    { "gauss", SHAPE_HUGE, 17, 3, "" },
    { "default", SHAPE_SKEW, 20, 2, "auto" },
    { "default", SHAPE_CONSTANT, 16, 3, "auto" },
    { "imq", SHAPE_CHAIN, 17, 3, "imq" },
    { "scalar", SHAPE_CHAIN, 17, 3, "scalar" },
    { "scalar_imq", SHAPE_CHAIN, 17, 4, "scalar imq resample=3" },
    { "no_scaling", SHAPE_FAR, 17, 3, "unscaled" },
    { "one_component", SHAPE_CHAIN, 17, 3, "stein v scales=1" },
    { "without_base", SHAPE_CHAIN, 17, 3, "scales=0.5" },
    { "without_base_imq", SHAPE_CHAIN, 17, 3, "scales=0.5 imq" },
    { "only_mmd", SHAPE_CHAIN, 17, 3, "mmd" },
    { "only_moment", SHAPE_CHAIN, 17, 3, "moment" },
    { "resampled", SHAPE_CHAIN, 17, 5, "resample=3" },
    { "resampled_distinct", SHAPE_CHAIN, 17, 5, "resample=2 distinct" },
    { "redrawn", SHAPE_CHAIN, 17, 5, "resample=3 redraw" },
    { "linear_time", SHAPE_CHAIN, 17, 3, "features=13" },
    { "linear_time", SHAPE_CHAIN, 1, 2, "features=13" },
    { "linear_time_one_frequency", SHAPE_CHAIN, 17, 3, "features=1" },
    { "linear_time_resampled", SHAPE_CHAIN, 17, 5, "features=17 resample=3" },
    { "linear_time_without_base", SHAPE_CHAIN, 17, 3, "features=8 scales=0.5" },
    { "linear_time_scalar", SHAPE_CHAIN, 17, 3, "features=8 scalar no_diagnose" },
    { "smoothed", SHAPE_TIES, 17, 3, "smooth=0.5" },
    { "explicit_score", SHAPE_CHAIN, 17, 3, "score_callback" },
    { "influence_alone", SHAPE_CHAIN, 17, 3, "no_diagnose" },
    { "influence_alone_imq", SHAPE_CHAIN, 18, 2, "no_diagnose imq scalar" },
    { "influence_alone_linear_time", SHAPE_CHAIN, 18, 2, "no_diagnose features=11 scales=0.5" },
};

TEST recorded_problem(const problem *p)
{
    npksd_options options = diagnosis_options();
    set_options(&options, p->words);
    if (FLOAT_BUILD && options.estimator == NPKSD_ESTIMATOR_AUTO)
        SKIPm("float may choose another ridge");
    CHECK_CALL(run_problem(p, options));
    PASS();
}

/* ======== what it is for ======== */

/* Each output may be left out, and the others do not change. */
TEST any_output_alone(void)
{
    npksd_real rows[SMALL_N * SMALL_M];
    npksd_options options = small_options();
    npksd_tester *tester;
    npksd_result result, again;
    npksd_diagnosis all = new_diagnosis(SMALL_N, SMALL_M, 1),
                    some = new_diagnosis(SMALL_N, SMALL_M, 1);
    options.diagnose = 1;
    draw_rows(rows, SMALL_N, SMALL_M, test_seed);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, &all));
    for (int k = 0; k < 7; k++) {
        npksd_diagnosis one;
        memset(&one, 0, sizeof one);
        one.coordinate_statistic = k == 0 ? some.coordinate_statistic : NULL;
        one.coordinate_p = k == 1 ? some.coordinate_p : NULL;
        one.coordinate_p_adjusted = k == 2 ? some.coordinate_p_adjusted : NULL;
        one.row_influence = k == 3 ? some.row_influence : NULL;
        one.coordinate_shift = k == 4 ? some.coordinate_shift : NULL;
        one.coordinate_distance = k == 5 ? some.coordinate_distance : NULL;
        one.pairs = k == 6 ? some.pairs : NULL;
        one.pair_capacity = k == 6 ? PAIRS : 0;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &again, &one));
        ASSERT(same_result(&result, &again));
        ASSERT_EQ(k == 6 ? all.pair_count : 0, one.pair_count);
    }
    ASSERT_MEM_EQ(all.row_influence, some.row_influence,
                  (SMALL_N + 5 * SMALL_M) * sizeof *rows); /* one array has them all */
    for (size_t k = 0; k < all.pair_count; k++) {
        ASSERT_EQ(all.pairs[k].first, some.pairs[k].first);
        ASSERT_EQ(all.pairs[k].second, some.pairs[k].second);
        ASSERT_AGREE("pair", all.pairs[k].observed, some.pairs[k].observed, 0);
        ASSERT_AGREE("pair", all.pairs[k].p_adjusted, some.pairs[k].p_adjusted, 0);
    }
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &again, NULL));
    ASSERT(same_result(&result, &again));
    npksd_tester_destroy(tester);
    free_diagnosis(&all);
    free_diagnosis(&some);
    PASS();
}

/* diagnose costs time, not the answer: T, null and verdict are the same without it. */
TEST diagnose_changes_nothing_else(void)
{
    npksd_real rows[SMALL_N * SMALL_M], null_values[2][SMALL_REPLICATES];
    npksd_result result[2];
    draw_rows(rows, SMALL_N, SMALL_M, test_seed);
    for (int diagnose = 0; diagnose < 2; diagnose++) {
        npksd_options options = small_options();
        npksd_tester *tester;
        options.diagnose = diagnose;
        ASSERT_STATUS(NPKSD_OK,
                      npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK,
                      npksd_tester_null(tester, null_values[diagnose], SMALL_REPLICATES, NULL));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result[diagnose], NULL));
        npksd_tester_destroy(tester);
    }
    for (size_t r = 0; r < SMALL_REPLICATES; r++)
        ASSERT_AGREE("T", null_values[0][r], null_values[1][r], either(1e-10, 1e-3));
    ASSERT_AGREE("p", result[0].p_value, result[1].p_value, 0);
    PASS();
}

static int independent_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                              void *unused)
{
    (void)unused;
    for (size_t k = 0; k < count * m; k++)
        rows[k] = npksd_normal(rng);
    return 0;
}

/* What is done to one of five independent columns (or two of them), and what must light up. */
typedef enum change { MOVED, STRETCHED, BENT, TIED_TOGETHER, ONE_ROW } change;

static void apply_change(change what, npksd_real *rows, size_t n, size_t m)
{
    for (size_t a = 0; a < n; a++) {
        npksd_real *x = rows + a * m;
        switch (what) {
        case MOVED: x[3] += (npksd_real)1.5; break;
        case STRETCHED: x[3] *= 2; break;
        case BENT: x[3] = x[3] * x[3] / 2 - 1; break;
        case TIED_TOGETHER: x[3] = (npksd_real)0.9 * x[1] + (npksd_real)0.43 * x[3]; break;
        case ONE_ROW:
            for (size_t i = 0; i < m && a == 17; i++)
                x[i] = 6;
            break;
        }
    }
}

TEST points_at_the_difference(change what, int linear)
{
    enum { N = 60, M = 5 };
    npksd_real rows[N * M];
    npksd_options options = npksd_default_options();
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 81);
    npksd_tester *tester;
    npksd_result result;
    npksd_diagnosis found = new_diagnosis(N, M, 1);
    options.seed = test_seed;
    options.fit_rows = 2000;
    options.replicates = 99;
    options.pilot = 40;
    options.diagnose = 1;
    options.features = linear ? 64 : 0;
    independent_sample(rows, N, M, &rng, NULL);
    apply_change(what, rows, N, M);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, independent_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, &found));
    ASSERT(result.reject || what == ONE_ROW);
    for (size_t i = 0; i < M && what <= BENT; i++) {
        const npksd_real *p = found.coordinate_p, *adjusted = found.coordinate_p_adjusted;
        ASSERT(i == 3 ? p[3] < 0.011 && adjusted[3] < 0.051 : adjusted[i] > adjusted[3]);
        if (what == MOVED)
            ASSERT_IN_RANGE(i == 3 ? 1.5 : 0, (double)found.coordinate_shift[i], 0.6);
        ASSERT(i == 3 || what == STRETCHED
               || found.coordinate_distance[i] < found.coordinate_distance[3]);
    }
    if (what == TIED_TOGETHER) {
        ASSERT_EQ_FMT((size_t)1, found.pairs[0].first, "%zu");
        ASSERT_EQ_FMT((size_t)3, found.pairs[0].second, "%zu");
        ASSERT(found.pairs[0].p_adjusted < 0.011 && found.pairs[1].p_adjusted > 0.011);
        ASSERT_IN_RANGE(0.9, (double)found.pairs[0].observed, 0.1);
        ASSERT_IN_RANGE(0, (double)found.pairs[0].expected, 0.1);
    }
    for (size_t a = 0; a < N && what == ONE_ROW; a++)
        ASSERT(a == 17 || found.row_influence[17] > found.row_influence[a]);
    npksd_tester_destroy(tester);
    free_diagnosis(&found);
    PASS();
}

/* The wild bootstrap, too: a column is compared with itself, and the adjusted p with the largest column. */
TEST wild_columns_have_their_own_p(void)
{
    enum { N = SMALL_N, M = 2, SEEDS = 10 };
    npksd_options options = small_options();
    npksd_real rows[N * M], p[M], adjusted[M];
    npksd_diagnosis found;
    npksd_result result;
    size_t smaller = 0;
    memset(&found, 0, sizeof found);
    found.coordinate_p = p;
    found.coordinate_p_adjusted = adjusted;
    options.score_fn = chain_score;
    set_options(&options, "score_callback wild stein diagnose");
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        options.seed = test_seed + seed;
        draw_rows(rows, N, M, test_seed + 9800 + seed);
        ASSERT_STATUS(NPKSD_OK, npksd_test_diagnose(rows, N, M, chain_sample, NULL, &options, &result, &found, NULL));
        for (size_t i = 0; i < M; i++) {
            ASSERT(p[i] > 0 && p[i] <= adjusted[i] && adjusted[i] <= 1);
            smaller += p[i] < adjusted[i];
        }
    }
    ASSERT(smaller > SEEDS / 2);
    PASS();
}

/* ======== range and flags ======== */

TEST out_of_range_is_counted(const char *words)
{
    enum { N = 20, M = 3 };
    npksd_options options = small_options();
    npksd_real rows[N * M];
    recorder log;
    npksd_tester *tester;
    npksd_result result;
    ref_fit fit;
    options.score_fn = chain_score;
    set_options(&options, words);
    recorder_begin(&log, chain_sample, NULL, &options);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, recorder_sample, &log, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_EQ(0, ref_fit_make(&fit, log.sets, NULL, N, M, 0, &options));
    npksd_real low[M], high[M];
    for (size_t i = 0; i < M; i++) {
        low[i] = high[i] = fit.keep[i];
        for (size_t r = 0; r < fit.kept; r++) {
            low[i] = fit.keep[r * M + i] < low[i] ? fit.keep[r * M + i] : low[i];
            high[i] = fit.keep[r * M + i] > high[i] ? fit.keep[r * M + i] : high[i];
        }
    }
    for (size_t outside = 0; outside <= N; outside += 5) {
        for (size_t a = 0; a < N; a++) /* inside: corners of the box; outside: a hair beyond one */
            for (size_t i = 0; i < M; i++) {
                npksd_real hair = (high[i] - low[i]) / 1000;
                npksd_real beyond = a < outside && a % M == i ? hair : 0;
                rows[a * M + i] = (a >> i & 1) ? high[i] + beyond : low[i] - beyond;
            }
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
        ASSERT_AGREE("outside", (double)outside / N, result.out_of_range, 1e-7);
    }
    npksd_tester_destroy(tester);
    ref_fit_free(&fit);
    recorder_end(&log);
    PASS();
}

static int flagged_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    int kind = *(const int *)user_data; /* 1: coordinate 0 repeats; 2: coordinate 1 is fixed */
    chain_sample(rows, count, m, rng, NULL);
    for (size_t r = 0; r < count; r++) {
        if (kind & 1)
            rows[r * m] = (npksd_real)floor((double)rows[r * m]);
        if (kind & 2)
            rows[r * m + 1] = -3;
    }
    return 0;
}

TEST flags_are_set(void)
{
    npksd_real rows[SMALL_N * SMALL_M];
    for (int kind = 0; kind < 4; kind++)
        for (int estimator = NPKSD_ESTIMATOR_AUTO; estimator <= NPKSD_ESTIMATOR_GAUSS;
             estimator++) {
            npksd_options options = small_options();
            npksd_result result;
            npksd_rng_state state;
            npksd_rng rng = npksd_rng_seeded(&state, test_seed, 82);
            unsigned expected = 0;
            expected |= kind & 1 ? 1u * NPKSD_FLAG_TIES : 0u;
            expected |= kind & 2 ? 1u * NPKSD_FLAG_CONSTANT_COORDINATE : 0u;
            options.estimator = estimator;
            flagged_sample(rows, SMALL_N, SMALL_M, &rng, &kind);
            ASSERT_STATUS(
                NPKSD_OK,
                npksd_test(rows, SMALL_N, SMALL_M, flagged_sample, &kind, &options, &result));
            ASSERT_EQ_FMT(expected, result.flags, "%u");
        }
    PASS();
}

/* A column that never changes has no deviation: any move is as large as a number can be. */
TEST shift_of_a_constant_column(void)
{
    npksd_real rows[SMALL_N * SMALL_M], shift[SMALL_M];
    npksd_options options = small_options();
    npksd_tester *tester;
    npksd_result result;
    npksd_diagnosis found;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 83);
    double most = either(DBL_MAX, (double)FLT_MAX);
    int kind = 2;
    memset(&found, 0, sizeof found);
    found.coordinate_shift = shift;
    options.diagnose = 1;
    flagged_sample(rows, SMALL_N, SMALL_M, &rng, &kind);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, flagged_sample, &kind, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    for (int move = -1; move <= 1; move++) {
        rows[1] = (npksd_real)(-3 + move);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, &found));
        ASSERT_AGREE("shift", move * most, shift[1], 0);
    }
    /* of rows on both sides the mean decides, however small the more numerous moves; of a balance it is none */
    static const double balances[] = { -1, 0, 1 };
    for (size_t k = 0; k < 3; k++) {
        for (size_t a = 0; a < SMALL_N; a++)
            rows[a * SMALL_M + 1] = (npksd_real)(-3 + (a == 4 ? SMALL_N - 1 + balances[k] : -1));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, &found));
        ASSERT_AGREE("shift of a mean", balances[k] * most, shift[1], 0);
    }
    npksd_tester_destroy(tester);
    PASS();
}

/* Scaled numbers are clamped to 1e6 (float 1e4); the shift is that of the rows as they are, however far one is away. */
TEST shift_by_a_far_row(void)
{
    npksd_real rows[SMALL_N * SMALL_M], shift[SMALL_M];
    npksd_options options = small_options();
    npksd_result result;
    npksd_diagnosis found;
    double far_away = either(1e9, 1e7), expected = far_away / SMALL_N; /* column 0 has deviation 1 */
    memset(&found, 0, sizeof found);
    found.coordinate_shift = shift;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    options.fit_rows = 1000; /* whose deviation is off by 2 % */
    draw_rows(rows, SMALL_N, SMALL_M, test_seed + 9900);
    rows[0] = (npksd_real)far_away;
    ASSERT_STATUS(NPKSD_OK, npksd_test_diagnose(rows, SMALL_N, SMALL_M, chain_sample, NULL, &options, &result, &found,
                                                NULL));
    ASSERT_AGREE("shift", expected, shift[0], 0.1 * expected);
    for (size_t i = 1; i < SMALL_M; i++)
        ASSERT_AGREE("shift of another column", 0, shift[i], 2);
    PASS();
}

/* More than 5 % of the kept values equal another one: 5 of 100 are not enough, 6 are. */
typedef struct repeats {
    size_t count, calls;
} repeats;

static int repeating_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                            void *user_data)
{
    repeats *wanted = (repeats *)user_data;
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = wanted->calls == 0 && r <= wanted->count ? 1 : npksd_normal(rng);
    wanted->calls++;
    return 0;
}

TEST ties_begin_above_five_percent(void)
{
    npksd_real rows[100];
    draw_rows(rows, 100, 1, test_seed);
    for (size_t count = 4; count < 8; count++) {
        npksd_options options = small_options();
        npksd_result result;
        repeats wanted = { 0, 0 };
        wanted.count = count; /* the first value and so many equal to it */
        options.fit_rows = 100;
        ASSERT_STATUS(NPKSD_OK,
                      npksd_test(rows, 100, 1, repeating_sample, &wanted, &options, &result));
        ASSERT_EQ_FMT(count > 5 ? 1u * NPKSD_FLAG_TIES : 0u, result.flags, "%u");
    }
    PASS();
}

SUITE(suite_diagnosis)
{
    RUN_TEST(stored_coordinates);
    RUN_TEST(stored_margins);
    for (size_t k = 0; k < sizeof problems / sizeof problems[0]; k++) {
        greatest_set_test_suffix(problems[k].name);
        RUN_TESTp(recorded_problem, &problems[k]);
    }
    RUN_TESTp(fixed_samples, 17, 60, 3, "");
    RUN_TESTp(fixed_samples, 20, 10, 1, "spline");
    RUN_TESTp(fixed_samples, 2, 40, 2, "imq block=2");
    RUN_TESTp(fixed_samples, 17, 60, 4, "features=9 smooth=0.25 resample=2");
    RUN_TEST(any_output_alone);
    RUN_TEST(diagnose_changes_nothing_else);
    for (int what = MOVED; what <= ONE_ROW; what++) {
        RUN_TESTp(points_at_the_difference, (change)what, 0);
        RUN_TESTp(points_at_the_difference, (change)what, 1);
    }
    RUN_TEST(wild_columns_have_their_own_p);
    RUN_TESTp(out_of_range_is_counted, "gauss");
    RUN_TESTp(out_of_range_is_counted, "score_callback");
    RUN_TESTp(out_of_range_is_counted, "score_callback wild stein");
    RUN_TEST(flags_are_set);
    RUN_TEST(shift_of_a_constant_column);
    RUN_TEST(shift_by_a_far_row);
    RUN_TEST(ties_begin_above_five_percent);
}
