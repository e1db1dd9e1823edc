/* Where do they differ: shares of coordinates, their p-values, influence of rows, range, flags. */
#include "ref_tester.h"

static npksd_options diagnosis_options(void) { return problem_options(test_seed + 200, "diagnose"); }

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

static enum greatest_test_res compare_coordinates(const char *name, const ref_tester *t,
                                                  const ref_view_of *view,
                                                  const npksd_diagnosis *found)
{
    size_t m = t->m, b = t->options.replicates;
    double *v = ref_reals(m), *most = ref_reals(b), sum = 0, V = 0, gap = either(1e-7, 2e-2);
    ref_coordinates_of(t, view, v);
    for (size_t i = 0; i < m; i++)
        V += fabs(v[i]);
    for (size_t r = 0; r < b; r++) { /* the largest standardised share of the coordinates in use */
        most[r] = -DBL_MAX;
        for (size_t i = 0; i < m; i++)
            if (t->weights[i] > 0 || t->options.resample_redraw)
                most[r] =
                    fmax(most[r], (t->null_coordinates[r * m + i] - t->v_mean[i]) / t->v_sd[i]);
    }
    for (size_t i = 0; i < m; i++) {
        double z = (v[i] - t->v_mean[i]) / t->v_sd[i];
        sum += (double)found->coordinate_statistic[i];
        ASSERT_AGREE(name, v[i], found->coordinate_statistic[i], either(1e-8, 2e-3) * V);
        if (!(view->weights[i] > 0)) { /* not drawn: nothing is known of it */
            ASSERT_AGREE(name, 0, found->coordinate_statistic[i], 0);
            ASSERT_AGREE(name, 1, found->coordinate_p[i], 0);
            ASSERT_AGREE(name, 1, found->coordinate_p_adjusted[i], 0);
            continue;
        }
        ASSERT(p_is_right(name, t->null_coordinates + i, m, b, v[i], gap * t->v_sd[i],
                          found->coordinate_p[i]));
        ASSERT(
            p_is_right(name, most, 1, b, z, gap * (1 + fabs(z)), found->coordinate_p_adjusted[i]));
        if (!t->options.resample_redraw)
            ASSERT(found->coordinate_p_adjusted[i] >= ref_share(1, b));
    }
    ref_view_of plain = *view;
    ref_tester vector = *t;
    vector.options.form = NPKSD_FORM_VECTOR;
    ASSERT_AGREE("sum of shares", ref_stein_of(&vector, &plain, 1, NPKSD_STATISTIC_V, 0), sum,
                 either(1e-8, 2e-3) * V);
    free(v);
    free(most);
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

static enum greatest_test_res run_problem(const problem *p, npksd_options options)
{
    size_t n = p->n, m = p->m;
    recorder log;
    npksd_tester *tester;
    ref_tester ref;
    npksd_result result;
    npksd_diagnosis found;
    test_shape shape = p->shape;
    npksd_real *rows = new_reals(n * m), *numbers = new_reals(3 * m + n);
    double *pull = ref_reals(n), V, size = 0;
    static char name[160];
    snprintf(name, sizeof name, "%s, %s, n %zu, m %zu", p->name, shape_name(shape), n, m);
    memset(&found, 0, sizeof found);
    if (options.diagnose) {
        found.coordinate_statistic = numbers;
        found.coordinate_p = numbers + m;
        found.coordinate_p_adjusted = numbers + 2 * m;
    }
    found.row_influence = numbers + 3 * m;
    recorder_begin(&log, shape_sample, &shape, &options);
    ASSERT_STATUSm(name, NPKSD_OK,
                   npksd_tester_create(&tester, n, m, recorder_sample, &log, &options));
    ASSERT_STATUSm(name, NPKSD_OK, finish(tester));
    ASSERT_EQm(name, 0, ref_tester_make(&ref, &log, n, m, &options));
    observed_rows(p, rows);
    ASSERT_STATUSm(name, NPKSD_OK, npksd_tester_check(tester, rows, &result, &found));
    ref_view_of view = ref_see_observed(&ref, rows);
    if (options.diagnose)
        CHECK_CALL(compare_coordinates(name, &ref, &view, &found));
    influence_of(&ref, &view, pull);
    V = ref_stein_of(&ref, &view, 1, NPKSD_STATISTIC_V, 0);
    for (size_t a = 0; a < n; a++) {
        size = fmax(size, fabs(pull[a]));
        V -= (double)found.row_influence[a] / (double)n;
    }
    for (size_t a = 0; a < n; a++)
        ASSERT_AGREE(name, pull[a], found.row_influence[a], either(1e-8, 2e-3) * size);
    ASSERT_AGREE("mean influence is V", 0, V, either(1e-8, 2e-3) * size);
    ref_unsee(&view);
    ref_tester_free(&ref);
    npksd_tester_destroy(tester);
    recorder_end(&log);
    free(rows);
    free(numbers);
    free(pull);
    PASS();
}

static const problem problems[] = {
    { "gauss", SHAPE_CHAIN, 17, 3, "" },
    { "gauss", SHAPE_CHAIN, 1, 3, "" },
    { "gauss", SHAPE_CHAIN, 2, 1, "" },
    { "gauss", SHAPE_CHAIN, 33, 17, "" },
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
    npksd_real rows[SMALL_N * SMALL_M], all[3 * SMALL_M + SMALL_N], some[SMALL_N];
    npksd_options options = small_options();
    npksd_tester *tester;
    npksd_result result, again;
    npksd_diagnosis found, one;
    options.diagnose = 1;
    draw_rows(rows, SMALL_N, SMALL_M, test_seed);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    found.coordinate_statistic = all;
    found.coordinate_p = all + SMALL_M;
    found.coordinate_p_adjusted = all + 2 * SMALL_M;
    found.row_influence = all + 3 * SMALL_M;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, &found));
    for (int k = 0; k < 4; k++) {
        memset(&one, 0, sizeof one);
        if (k == 0)
            one.coordinate_statistic = some;
        if (k == 1)
            one.coordinate_p = some;
        if (k == 2)
            one.coordinate_p_adjusted = some;
        if (k == 3)
            one.row_influence = some;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &again, &one));
        ASSERT(same_result(&result, &again));
        ASSERT_MEM_EQ(all + k * SMALL_M, some, (k < 3 ? SMALL_M : SMALL_N) * sizeof *some);
    }
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &again, NULL));
    ASSERT(same_result(&result, &again));
    npksd_tester_destroy(tester);
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

/* One of five independent coordinates is moved: it lights up, and the row that is far out leads. */
TEST points_at_the_difference(int linear)
{
    enum { N = 60, M = 5, MOVED = 3, FAR = 17 };
    npksd_real rows[N * M], p[M], adjusted[M], v[M], pull[N];
    npksd_options options = npksd_default_options();
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 81);
    npksd_tester *tester;
    npksd_result result;
    npksd_diagnosis found;
    options.seed = test_seed;
    options.fit_rows = 2000;
    options.replicates = 99;
    options.pilot = 40;
    options.diagnose = 1;
    options.features = linear ? 64 : 0;
    found.coordinate_statistic = v;
    found.coordinate_p = p;
    found.coordinate_p_adjusted = adjusted;
    found.row_influence = pull;
    independent_sample(rows, N, M, &rng, NULL);
    for (size_t a = 0; a < N; a++)
        rows[a * M + MOVED] += (npksd_real)1.5;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, independent_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, &found));
    ASSERT(result.reject);
    ASSERT_AGREE("p", 0.01, p[MOVED], 1e-6);
    ASSERT_AGREE("adjusted p", 0.01, adjusted[MOVED], 1e-6);
    for (size_t i = 0; i < M; i++)
        ASSERT(i == MOVED || (v[MOVED] > 3 * v[i] && adjusted[i] > (npksd_real)0.011));
    for (size_t i = 0; i < M; i++) /* one row far out in all coordinates, the others ordinary */
        rows[FAR * M + i] = 6;
    for (size_t a = 0; a < N; a++)
        rows[a * M + MOVED] -= (npksd_real)1.5;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, &found));
    for (size_t a = 0; a < N; a++)
        ASSERT(a == FAR || pull[FAR] > pull[a]);
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== range and flags ======== */

TEST out_of_range_is_counted(void)
{
    enum { N = 20, M = 3 };
    npksd_options options = small_options();
    npksd_real rows[N * M];
    recorder log;
    npksd_tester *tester;
    npksd_result result;
    ref_fit fit;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    recorder_begin(&log, chain_sample, NULL, &options);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, recorder_sample, &log, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_EQ(0, ref_fit_make(&fit, log.sets, N, M, &options));
    npksd_real low[M], high[M];
    for (size_t i = 0; i < M; i++) {
        low[i] = high[i] = fit.raw[0][i];
        for (size_t r = 0; r < fit.kept; r++) {
            low[i] = fit.raw[r][i] < low[i] ? fit.raw[r][i] : low[i];
            high[i] = fit.raw[r][i] > high[i] ? fit.raw[r][i] : high[i];
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
    for (size_t k = 0; k < sizeof problems / sizeof problems[0]; k++) {
        greatest_set_test_suffix(problems[k].name);
        RUN_TESTp(recorded_problem, &problems[k]);
    }
    RUN_TEST(any_output_alone);
    RUN_TEST(diagnose_changes_nothing_else);
    RUN_TESTp(points_at_the_difference, 0);
    RUN_TESTp(points_at_the_difference, 1);
    RUN_TEST(out_of_range_is_counted);
    RUN_TEST(flags_are_set);
    RUN_TEST(ties_begin_above_five_percent);
}
