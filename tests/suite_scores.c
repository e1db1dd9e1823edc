/* npksd_tester_scores: what was learnt, against stored answers, plain loops and true scores. */
#include "ref_tester.h"

/* Little work behind the fit: a single number needs no pilot, and no reference. */
static npksd_options fit_options(size_t fit_rows)
{
    static const npksd_real one = 1;
    npksd_options options = npksd_default_options();
    options.seed = test_seed;
    options.fit_rows = fit_rows;
    options.replicates = 19;
    options.components = NPKSD_COMPONENT_STEIN;
    options.statistic = NPKSD_STATISTIC_V;
    options.scales = &one;
    options.scale_count = 1;
    return options;
}

/* Largest |score| of a column: single scores may be near 0. */
static double column_size(const double *scores, size_t rows, size_t m, size_t i)
{
    double size = 0;
    for (size_t r = 0; r < rows; r++)
        size = fmax(size, fabs(scores[r * m + i]));
    return size;
}

/* ======== stored answers ======== */

/* Errors are relative to the largest score of the column. */
static enum greatest_test_res compare_scores(const char *name, npksd_tester *tester,
                                             const npksd_real *probe, size_t rows, size_t m,
                                             const double *expected, double bound)
{
    npksd_real *scores = new_reals(rows * m);
    ASSERT_STATUSm(name, NPKSD_OK, npksd_tester_scores(tester, probe, rows, scores));
    for (size_t i = 0; i < m; i++) {
        double size = column_size(expected, rows, m, i);
        size = size > 0 ? size : 1; /* on a constant */
        static char place[160];
        for (size_t r = 0; r < rows; r++) {
            snprintf(place, sizeof place, "%s, row %zu, coordinate %zu", name, r, i);
            ASSERT_AGREE(place, expected[r * m + i] / size, (double)scores[r * m + i] / size,
                         bound);
        }
    }
    free(scores);
    PASS();
}

TEST stored_scores(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "scores"), skipped = 0;
    for (size_t c = 0; c < cases; c++) {
        static char name[96];
        snprintf(name, sizeof name, "%s %zu", vectors_word(&v, "case"), c);
        int both = strcmp(vectors_word(&v, "precision"), "both") == 0;
        size_t n = vectors_size(&v, "n"), m = vectors_size(&v, "m"), count, probes;
        npksd_options options = fit_options(vectors_size(&v, "fit_rows"));
        if (vectors_size(&v, "whole")) { /* there are references to be made, by more rows */
            options.components = NPKSD_COMPONENT_MMD;
            options.pilot = 2;
        }
        options.standardize = (int)vectors_size(&v, "standardize");
        options.summary = vectors_enum(&v, vectors_word(&v, "summary"));
        options.estimator = vectors_estimator(&v, vectors_word(&v, "estimator"));
        options.degree = vectors_size(&v, "degree");
        options.basis = vectors_size(&v, "basis");
        options.ridge = (npksd_real)vectors_real(&v, "ridge");
        npksd_real *sets = vectors_array(&v, "sets", &count);
        unsigned flags = (unsigned)vectors_size(&v, "flags");
        double bandwidth = vectors_real(&v, "bandwidth");
        int usable = both || !FLOAT_BUILD;
        ref_fit fit;
        memset(&fit, 0, sizeof fit);
        if (usable)
            ASSERT_EQm(name, 0, ref_fit_make(&fit, sets, NULL, n, m, 0, &options));
        ASSERT_EQm(name, m, vectors_size(&v, "family"));
        for (size_t i = 0; i < m; i++) { /* the reference must choose as the script did */
            int family = vectors_estimator(&v, vectors_next(&v));
            ASSERT(!usable || family == (fit.at[i].constant ? -1 : fit.at[i].family));
        }
        ASSERT_EQm(name, m, vectors_size(&v, "lambda"));
        for (size_t i = 0; i < m; i++) {
            double lambda = strtod(vectors_next(&v), NULL);
            if (lambda > 0 && lambda < 1e-7) /* the least that there is, of GAUSS; more in float */
                lambda = fmax(lambda, 50 * REF_EPSILON);
            ASSERT(!usable || fit.at[i].constant
                   || agree("lambda", lambda, fit.at[i].lambda, 1e-7 * lambda));
        }
        npksd_real *probe = vectors_array(&v, "probe", &probes);
        double *expected = ref_reals(probes);
        ASSERT_EQm(name, probes, vectors_size(&v, "scores"));
        for (size_t k = 0; k < probes; k++)
            expected[k] = strtod(vectors_next(&v), NULL);
        skipped += !usable;
        if (usable) {
            replay source = { NULL, 0, 0 };
            npksd_tester *tester;
            npksd_result result;
            source.sets = sets;
            source.count = count / (n * m);
            ASSERT_STATUSm(name, NPKSD_OK,
                           npksd_tester_create(&tester, n, m, replay_sample, &source, &options));
            ASSERT_STATUSm(name, NPKSD_OK, finish(tester));
            CHECK_CALL(
                compare_scores(name, tester, probe, probes / m, m, expected, either(1e-8, 2e-3)));
            ASSERT_STATUSm(name, NPKSD_OK, npksd_tester_check(tester, sets, &result, NULL));
            ASSERT_AGREE(name, bandwidth, result.bandwidth, either(1e-9, 1e-4) * bandwidth);
            ASSERT_EQ_FMTm(name, flags, result.flags, "%u");
            npksd_tester_destroy(tester);
        }
        ref_fit_free(&fit);
        free(sets);
        free(probe);
        free(expected);
    }
    vectors_close(&v);
    ASSERT_LT(skipped, cases / 4);
    PASS();
}

/* ======== against plain loops ======== */

/* Two numbers: something odd of the neighbours, and something that never changes. */
static void odd_summary(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *user_data)
{
    npksd_real next = row[(i + 1) % m], last = row[(i + m - 1) % m];
    t[0] = m > 1 ? (next > last ? next : last) : 0;
    t[1] = *(const npksd_real *)user_data;
}

static void three_summary(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *user_data)
{
    odd_summary(row, m, i, t, user_data);
    t[2] = row[(i + 1) % m] / 2;
}

typedef struct fit_case {
    int estimator, summary;
    size_t m, n, fit_rows;
    test_shape shape;
    int standardize, whole; /* whole: as for MMD, with all rows of the data sets */
} fit_case;

/* Rows to evaluate at: drawn ones, ones outside the range, ones far outside. */
enum { PROBES = 24 };
static void probe_rows(const fit_case *c, npksd_real *rows)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 99);
    test_shape shape = c->shape;
    npksd_real middle = c->shape == SHAPE_FAR ? 1000 : 0;
    shape_sample(rows, PROBES, c->m, &rng, &shape);
    for (size_t r = PROBES - 6; r < PROBES; r++)
        for (size_t i = 0; i < c->m; i++) {
            npksd_real *x = &rows[r * c->m + i];
            if (c->shape != SHAPE_CONSTANT || i + 1 < c->m)
                *x = middle + (*x - middle) * (r < PROBES - 2 ? 3 : 100);
            else if (r % 2)
                *x += (npksd_real)0.001; /* off the constant */
        }
}

/* Where two ridges are nearly as good, rounding picks one; in float that shows. */
#define SKIP_AUTO_IN_FLOAT(ESTIMATOR)                                                              \
    do {                                                                                           \
        if (FLOAT_BUILD && (ESTIMATOR) == NPKSD_ESTIMATOR_AUTO)                                    \
            SKIPm("float may choose another ridge");                                               \
    } while (0)

/* Outside the range of the fit a polynomial or spline enlarges the errors of its coefficients. */
static double fit_bound(const fit_case *c, size_t group)
{
    double in_float = c->estimator == NPKSD_ESTIMATOR_GAUSS ? 1e-2 : 5e-2;
    return either(1e-7, group ? 4 * in_float : in_float);
}

static enum greatest_test_res run_fit_of(npksd_sample_fn sample, const fit_case *c, npksd_options options)
{
    static char name[160];
    recorder log;
    npksd_tester *tester;
    ref_fit fit;
    test_shape shape = c->shape;
    npksd_real *probe = new_reals(PROBES * c->m);
    double *expected = ref_reals(PROBES * c->m);
    snprintf(name, sizeof name,
             "estimator %d summary %d m %zu n %zu N %zu %s standardize %d whole %d", c->estimator,
             c->summary, c->m, c->n, c->fit_rows, shape_name(shape), c->standardize, c->whole);
    recorder_begin(&log, sample, &shape, &options);
    ASSERT_STATUSm(name, NPKSD_OK,
                   npksd_tester_create(&tester, c->n, c->m, recorder_sample, &log, &options));
    ASSERT_STATUSm(name, NPKSD_OK, finish(tester));
    ASSERT_EQm(name, 0, ref_fit_make(&fit, log.sets, log.after, c->n, c->m, 0, &options));
    probe_rows(c, probe);
    ref_fit_scores(&fit, probe, PROBES, expected);
    for (size_t group = 0; group < 3; group++) { /* far away scores are larger: not together */
        static const size_t first[4] = { 0, PROBES - 6, PROBES - 2, PROBES };
        size_t from = first[group] * c->m;
        if (group == 2 && (shape == SHAPE_HUGE || FLOAT_BUILD))
            continue; /* beyond 1e308; too few digits */
        CHECK_CALL(compare_scores(name, tester, probe + from, first[group + 1] - first[group], c->m,
                                  expected + from, fit_bound(c, group)));
    }
    npksd_tester_destroy(tester);
    ref_fit_free(&fit);
    recorder_end(&log);
    free(probe);
    free(expected);
    PASS();
}

static enum greatest_test_res run_fit(const fit_case *c, npksd_options options)
{
    return run_fit_of(shape_sample, c, options);
}

static npksd_options case_options(const fit_case *c)
{
    static npksd_real constant = 3;
    npksd_options options = fit_options(c->fit_rows);
    options.estimator = c->estimator;
    options.summary = c->summary;
    options.standardize = c->standardize;
    if (c->whole) {
        options.components = NPKSD_COMPONENT_MMD;
        options.pilot = 2;
    }
    if (c->summary == NPKSD_SUMMARY_CALLBACK) {
        options.summary_fn = c->m % 2 ? three_summary : odd_summary;
        options.summary_dim = c->m % 2 ? 3 : 2;
        options.summary_user_data = &constant;
    }
    return options;
}

/* Every estimator with every summary, one to five coordinates, n that divides N or does not. */
TEST random_fits(int estimator, int summary)
{
    static const size_t ms[4] = { 1, 2, 3, 5 };
    SKIP_AUTO_IN_FLOAT(estimator);
    for (size_t k = 0; k < 4; k++) {
        fit_case c = { estimator, summary, ms[k], 20, 140, SHAPE_CHAIN, 1, (int)(k % 2) };
        size_t turn = (size_t)(estimator + summary) + k;
        c.n = turn % 2 ? 20 : 17;
        c.shape = turn % 3 ? SHAPE_SKEW : SHAPE_CHAIN;
        CHECK_CALL(run_fit(&c, case_options(&c)));
    }
    PASS();
}

TEST awkward_fits(int estimator, test_shape shape)
{
    SKIP_AUTO_IN_FLOAT(estimator);
    if (FLOAT_BUILD && shape == SHAPE_FAR && estimator != NPKSD_ESTIMATOR_GAUSS)
        SKIPm("rows of four digits");
    for (int k = 0; k < 4; k++) {
        static const int summaries[4] = { NPKSD_SUMMARY_MEAN, NPKSD_SUMMARY_ALL,
                                          NPKSD_SUMMARY_NEIGHBOURS, NPKSD_SUMMARY_MEAN_VAR };
        fit_case c = { estimator, summaries[k], 3, 20, 120, shape, k % 2, k / 2 };
        c.m = shape == SHAPE_HUGE && k == 2 ? 1 : 3;
        CHECK_CALL(run_fit(&c, case_options(&c)));
    }
    PASS();
}

/* Column 0 is 0 but in one row of each data set: between the 1 % and 99 % points there is no room for knots. */
static int rare_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    int failed = shape_sample(rows, count, m, rng, user_data);
    for (size_t r = 0; r < count; r++)
        rows[r * m] = r == count / 2 ? 1 + rows[r * m] * rows[r * m] : 0;
    return failed;
}

TEST rare_values(void)
{
    fit_case c = { NPKSD_ESTIMATOR_SPLINE, NPKSD_SUMMARY_NONE, 2, 120, 120, SHAPE_CHAIN, 1, 0 };
    CHECK_CALL(run_fit_of(rare_sample, &c, case_options(&c)));
    PASS();
}

/* n = 1, a data set larger than N, and N above the 1000 rows that are kept. */
TEST rows_of_data_sets(void)
{
    static const size_t sizes[][2] = {
        { 1, 60 }, { 150, 60 }, { 7, 50 }, { 300, 1100 }, { 90, 1210 }
    };
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (int estimator = NPKSD_ESTIMATOR_AUTO; estimator <= NPKSD_ESTIMATOR_SPLINE;
             estimator++) {
            fit_case c = { estimator, NPKSD_SUMMARY_MEAN, 2, 0, 0, SHAPE_TRAJECTORY, 1, 0 };
            if (FLOAT_BUILD && estimator == NPKSD_ESTIMATOR_AUTO)
                continue; /* may choose another ridge */
            if (sizes[k][1] > 1000 && estimator != (k % 2 ? NPKSD_ESTIMATOR_SPLINE : 0))
                continue; /* one is enough: the plain loops take their time */
            c.n = sizes[k][0];
            c.fit_rows = sizes[k][1];
            CHECK_CALL(run_fit(&c, case_options(&c)));
            c.whole = 1;
            CHECK_CALL(run_fit(&c, case_options(&c)));
        }
    PASS();
}

/* Data sets that are drawn before the replicates: ten where they are small, some 200,000 rows where they are large. */
TEST data_sets_of_a_fit(void)
{
    static const size_t sizes[] = { 1, 7, 19999, 20000, 70000 };
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (int estimator = NPKSD_ESTIMATOR_AUTO; estimator <= NPKSD_ESTIMATOR_GAUSS; estimator++) {
            npksd_options options = fit_options(100);
            npksd_tester *tester;
            test_source source = { 0, 0, 0, FAULT_RETURN, 0 };
            options.components = NPKSD_COMPONENT_MARGIN;
            options.features = 1; /* or pairs of rows take their time */
            options.pilot = 2;
            options.estimator = estimator;
            ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, sizes[k], 1, chain_sample, &source, &options));
            ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
            ASSERT_EQ_FMT(ref_plan_of(&options, sizes[k], 1, 0).sets + options.pilot, source.calls, "%zu");
            npksd_tester_destroy(tester);
        }
    PASS();
}

TEST degree_basis_and_ridge(void)
{
    for (size_t k = 0; k < 12; k++) {
        fit_case c = { 0, 0, 2, 20, 150, SHAPE_SKEW, 1, 0 };
        c.estimator = (int)(NPKSD_ESTIMATOR_POLY + k % 3);
        c.summary = k % 2 ? NPKSD_SUMMARY_MEAN : NPKSD_SUMMARY_NONE;
        npksd_options options = case_options(&c);
        if (c.estimator == NPKSD_ESTIMATOR_POLY)
            options.degree = FLOAT_BUILD ? 1 + k / 6 : 1 + k / 3 * 2; /* to 7; float: to 2 */
        else
            options.basis = k < 6 ? 5 : 16;
        if (c.estimator == NPKSD_ESTIMATOR_SPLINE && k > 5)
            options.degree = 3;
        options.ridge = (npksd_real)(k < 3 ? 0.1 : 0.001);
        CHECK_CALL(run_fit(&c, options));
    }
    PASS();
}

/* More than two numbers in t: they enter as they are, whatever the degree. */
TEST degree_of_many_summaries(int estimator)
{
    fit_case c = { estimator, NPKSD_SUMMARY_ALL, 5, 20, 150, SHAPE_SKEW, 1, 0 };
    npksd_options options = case_options(&c);
    options.degree = 2;
    CHECK_CALL(run_fit(&c, options));
    PASS();
}

/* RBF: more centres than kept rows are as many as there are rows. */
TEST few_rows_for_centres(void)
{
    fit_case c = { NPKSD_ESTIMATOR_RBF, NPKSD_SUMMARY_MEAN, 2, 5, 9, SHAPE_CHAIN, 1, 0 };
    CHECK_CALL(run_fit(&c, case_options(&c)));
    c.summary = NPKSD_SUMMARY_ALL;
    CHECK_CALL(run_fit(&c, case_options(&c)));
    PASS();
}

/* A column twice, and almost no ridge: what the others already span gets a moderate coefficient,
   not a huge one, and no error. */
static int twin_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t k = 0; k < count * m; k++)
        rows[k] = k % m == 1 ? rows[k - 1] : npksd_normal(rng);
    return 0;
}

TEST collinear_features_are_no_error(void)
{
    enum { N = 20, M = 3 };
    npksd_options options = fit_options(200);
    npksd_real rows[N * M], scores[N * M];
    npksd_tester *tester;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 97);
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    options.summary = NPKSD_SUMMARY_ALL;
    options.ridge = (npksd_real)either(1e-200, 1e-30);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, twin_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    twin_sample(rows, N, M, &rng, NULL);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, N, scores));
    ASSERT(finite_bits(scores, N * M));
    for (size_t k = 0; k < N * M; k++)
        ASSERT_LT(fabs((double)scores[k]), 100);
    npksd_tester_destroy(tester);
    PASS();
}

/* A ridge below rounding is allowed: features that depend on each other are no error. */
TEST smallest_ridges(const char *words, size_t degree)
{
    static const double ridges[] = { 1e-6, 1e-8, 1e-16, 1e-20 };
    for (size_t k = 0; k < 12; k++) {
        npksd_options options = small_options();
        npksd_tester *tester;
        set_options(&options, words);
        options.degree = degree;
        options.seed = k / 4;
        options.ridge = (npksd_real)ridges[k % 4];
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
        npksd_status status = finish(tester);
        npksd_tester_destroy(tester);
        ASSERT_STATUSm(words, NPKSD_OK, status);
    }
    PASS();
}

/* ======== re-sampled coordinates ======== */

TEST undrawn_coordinates_have_score_0(int distinct)
{
    enum { N = 20, M = 6 };
    npksd_options options = fit_options(100), whole;
    npksd_real rows[N * M], scores[N * M], all[N * M], weights[M];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, purpose(REF_INDEX_SET, 0));
    npksd_tester *tester;
    draw_rows(rows, N, M, test_seed);
    options.summary = NPKSD_SUMMARY_ALL;
    for (int estimator = NPKSD_ESTIMATOR_AUTO; estimator <= NPKSD_ESTIMATOR_RBF; estimator++) {
        options.estimator = estimator;
        whole = options;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, chain_sample, NULL, &whole));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, N, all));
        npksd_tester_destroy(tester);
        whole.resample = 3;
        whole.resample_distinct = distinct;
        rng.seek_fn(purpose(REF_INDEX_SET, 0), rng.user_data);
        ref_index_set(&rng, M, &whole, weights);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, chain_sample, NULL, &whole));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, N, scores));
        npksd_tester_destroy(tester);
        size_t drawn = 0;
        for (size_t i = 0; i < M; i++) {
            drawn += weights[i] > 0;
            for (size_t a = 0; a < N; a++) /* the others are what they are without re-sampling */
                ASSERT_AGREE("score", weights[i] > 0 ? all[a * M + i] : 0, scores[a * M + i],
                             either(1e-10, 1e-3));
        }
        ASSERT(drawn >= 1 && drawn <= 3 && (!distinct || drawn == 3));
    }
    PASS();
}

TEST redrawn_coordinates_are_all_fitted(void)
{
    enum { N = 20, M = 4 };
    npksd_options options = fit_options(100);
    npksd_real rows[N * M], once[N * M], again[N * M];
    npksd_tester *tester;
    draw_rows(rows, N, M, test_seed);
    for (int redraw = 0; redraw < 2; redraw++) {
        options.resample = redraw ? 2 : 0;
        options.resample_redraw = redraw;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, chain_sample, NULL, &options));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, N, redraw ? again : once));
        npksd_tester_destroy(tester);
    }
    for (size_t k = 0; k < N * M; k++)
        ASSERT_AGREE("score", once[k], again[k], 0);
    PASS();
}

/* ======== true scores ======== */

/* The score of N(0,1) is -x: a sign error anywhere shows here. Slope of the scores over fresh rows,
   and how far they are from the line; 4000 rows leave flexible families a good deal of noise. */
TEST standard_normal_has_score_minus_x(int estimator)
{
    enum { N = 100, ROWS = 2000 };
    static npksd_real x[ROWS], scores[ROWS];
    npksd_options options = fit_options(4000);
    npksd_tester *tester;
    double along = 0, square = 0, error = 0;
    options.estimator = estimator;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, 1, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    draw_rows(x, ROWS, 1, test_seed + 1);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, x, ROWS, scores));
    for (size_t k = 0; k < ROWS; k++) {
        along += (double)x[k] * (double)scores[k];
        square += (double)x[k] * (double)x[k];
        error += pow((double)x[k] + (double)scores[k], 2);
    }
    ASSERT_AGREE("slope", -1, along / square, 0.15);
    ASSERT_AGREE("error", 0, error / square, estimator == NPKSD_ESTIMATOR_GAUSS ? 0.01 : 0.15);
    npksd_tester_destroy(tester);
    PASS();
}

/* x = centre + size * (correlated normals): lengths in cm, a price, a temperature */
static const double issue_centre[3] = { 100, 5, -3 }, issue_size[3] = { 20, 0.1, 2 };

static int issue_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t r = 0; r < count; r++) {
        double z[3];
        for (size_t i = 0; i < 3; i++)
            z[i] = (double)npksd_normal(rng);
        z[1] = 0.6 * z[0] + 0.8 * z[1];
        z[2] = 0.5 * z[1] + sqrt(0.75) * z[2];
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = (npksd_real)(issue_centre[i] + issue_size[i] * z[i]);
    }
    return 0;
}

/* -(precision matrix of z) z / size; z_0 -> z_1 -> z_2 is a chain with correlations 0.6 and 0.5 */
static void issue_score(const npksd_real *row, double *s)
{
    double z[3];
    for (size_t i = 0; i < 3; i++)
        z[i] = ((double)row[i] - issue_centre[i]) / issue_size[i];
    double first = (z[1] - 0.6 * z[0]) / 0.64, second = (z[2] - 0.5 * z[1]) / 0.75;
    s[0] = (-z[0] + 0.6 * first) / issue_size[0];
    s[1] = (-first + 0.5 * second) / issue_size[1];
    s[2] = -second / issue_size[2];
}

TEST scores_in_the_callers_units(int estimator)
{
    enum { N = 100, ROWS = 1000, M = 3 };
    static npksd_real rows[ROWS * M], scores[ROWS * M];
    npksd_options options = fit_options(20000);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 98);
    npksd_tester *tester;
    double error[M] = { 0 }, size[M] = { 0 };
    options.estimator = estimator;
    options.summary = NPKSD_SUMMARY_ALL;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, issue_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    issue_sample(rows, ROWS, M, &rng, NULL);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, ROWS, scores));
    for (size_t r = 0; r < ROWS; r++) {
        double s[M];
        issue_score(rows + r * M, s);
        for (size_t i = 0; i < M; i++) {
            error[i] += pow((double)scores[r * M + i] - s[i], 2);
            size[i] += s[i] * s[i];
        }
    }
    for (size_t i = 0; i < M; i++)
        ASSERT_AGREE("relative squared error", 0, error[i] / size[i], 0.02);
    npksd_tester_destroy(tester);
    PASS();
}

/* Scaled values end at 1e6 (float 1e4), on both sides: what is further out has the same score. */
TEST far_values_are_clamped(void)
{
    npksd_options options = fit_options(100);
    npksd_tester *tester;
    options.estimator = NPKSD_ESTIMATOR_GAUSS; /* a line */
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, 1, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    for (int side = -1; side < 2; side += 2) {
        npksd_real limit = (npksd_real)(side * either(1e6, 1e4)), rows[3], scores[3];
        rows[0] = limit / 2; /* the deviation is 1 or nearly so */
        rows[1] = limit * 2;
        rows[2] = limit * 1000;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, 3, scores));
        ASSERT_LT(1.5 * fabs((double)scores[0]), fabs((double)scores[1]));
        ASSERT_LT(fabs((double)scores[1]), 3 * fabs((double)scores[0]));
        ASSERT_MEM_EQ(&scores[1], &scores[2], sizeof scores[1]);
    }
    npksd_tester_destroy(tester);
    PASS();
}

static int tiny_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    for (size_t k = 0; k < count * m; k++)
        rows[k] = *(const npksd_real *)user_data * npksd_normal(rng);
    return 0;
}

/* A score too large for a number is the largest one of its sign. */
TEST scores_beyond_range(void)
{
    npksd_real unit = 4 * either((npksd_real)DBL_MIN, FLT_MIN), rows[2] = { 40 * unit, -40 * unit }, scores[2];
    npksd_options options = fit_options(100);
    npksd_tester *tester;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, 1, tiny_sample, &unit, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, 2, scores));
    double most = either(DBL_MAX, (double)FLT_MAX);
    ASSERT_AGREE("score far above", -most, scores[0], 0);
    ASSERT_AGREE("score far below", most, scores[1], 0);
    npksd_tester_destroy(tester);
    PASS();
}

/* A picture of 28 x 28: scores are linear, so scores at the centre and one step along each axis
   give theta back, and (A + ridge) theta = -c can be checked for a few coordinates unsolved. */
TEST many_coordinates(void)
{
    enum { N = 40, M = 784, ROWS = 400, STEPS = M + 1 }; /* the ridge makes up for few rows */
    npksd_options options = fit_options(ROWS);
    recorder log;
    npksd_tester *tester;
    static double mean[M], sd[M];
    npksd_real *at = new_reals((size_t)STEPS * M), *scores = new_reals((size_t)STEPS * M);
    double *column = ref_reals(ROWS), *residual = ref_reals(STEPS), *theta = ref_reals(STEPS);
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    options.summary = NPKSD_SUMMARY_ALL;
    options.ridge = (npksd_real)0.01;
    recorder_begin(&log, chain_sample, NULL, &options);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, recorder_sample, &log, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    for (size_t i = 0; i < M; i++) {
        for (size_t r = 0; r < ROWS; r++)
            column[r] = (double)log.sets[r * M + i];
        ref_mean_sd(column, ROWS, &mean[i], &sd[i]);
        for (size_t k = 0; k < STEPS; k++)
            at[k * M + i] = (npksd_real)(mean[i] + (k == i + 1 ? sd[i] : 0));
    }
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, at, STEPS, scores));
    static const size_t chosen[4] = { 0, 1, 400, M - 1 };
    for (size_t c = 0; c < 4; c++) {
        size_t i = chosen[c];
        double trace = 1;
        theta[0] = (double)scores[i] * sd[i];
        for (size_t k = 1; k < STEPS; k++) {
            theta[k] = (double)scores[k * M + i] * sd[i] - theta[0];
            trace += 1; /* mean of z_k^2 */
        }
        for (size_t k = 0; k < STEPS; k++)
            residual[k] = (k == i + 1 ? 1 : 0) + 0.01 * trace / STEPS * theta[k];
        for (size_t r = 0; r < ROWS; r++) {
            const npksd_real *row = log.sets + r * M;
            double s = theta[0];
            for (size_t k = 0; k < M; k++)
                s += theta[k + 1] * ((double)row[k] - mean[k]) / sd[k];
            residual[0] += s / ROWS;
            for (size_t k = 0; k < M; k++)
                residual[k + 1] += s * ((double)row[k] - mean[k]) / sd[k] / ROWS;
        }
        for (size_t k = 0; k < STEPS; k++)
            ASSERT_AGREE("normal equations", 0, residual[k], either(1e-9, 1e-3));
        ASSERT_LT(theta[i + 1], -1); /* and they are not all 0 */
    }
    npksd_tester_destroy(tester);
    recorder_end(&log);
    free(at);
    free(scores);
    free(column);
    free(residual);
    free(theta);
    PASS();
}

SUITE(suite_scores)
{
    static const char *const estimators[5] = { "auto", "gauss", "poly", "spline", "rbf" };
    static const char *const summaries[6] = { "mean",     "none",       "all",
                                              "mean_var", "neighbours", "callback" };
    char suffix[64];
    RUN_TEST(stored_scores);
    for (int e = 0; e < 5; e++) {
        for (int s = 0; s < 6; s++) {
            snprintf(suffix, sizeof suffix, "%s_%s", estimators[e], summaries[s]);
            greatest_set_test_suffix(suffix);
            RUN_TESTp(random_fits, e, s);
        }
        for (int shape = SHAPE_TIES; shape <= SHAPE_HUGE; shape++) {
            snprintf(suffix, sizeof suffix, "%s_%s", estimators[e], shape_name((test_shape)shape));
            greatest_set_test_suffix(suffix);
            RUN_TESTp(awkward_fits, e, (test_shape)shape);
        }
        greatest_set_test_suffix(estimators[e]);
        RUN_TESTp(standard_normal_has_score_minus_x, e);
    }
    RUN_TEST(rare_values);
    RUN_TEST(rows_of_data_sets);
    RUN_TEST(data_sets_of_a_fit);
    RUN_TEST(degree_basis_and_ridge);
    RUN_TESTp(degree_of_many_summaries, NPKSD_ESTIMATOR_POLY);
    RUN_TESTp(degree_of_many_summaries, NPKSD_ESTIMATOR_SPLINE);
    RUN_TEST(few_rows_for_centres);
    RUN_TESTp(smallest_ridges, "spline mean_var basis=20 fit_rows=200", 3);
    RUN_TESTp(smallest_ridges, "poly fit_rows=17", 8);
    RUN_TESTp(smallest_ridges, "spline fit_rows=17", 0);
    RUN_TEST(collinear_features_are_no_error);
    RUN_TESTp(undrawn_coordinates_have_score_0, 0);
    RUN_TESTp(undrawn_coordinates_have_score_0, 1);
    RUN_TEST(redrawn_coordinates_are_all_fitted);
    RUN_TESTp(scores_in_the_callers_units, NPKSD_ESTIMATOR_GAUSS);
    RUN_TESTp(scores_in_the_callers_units, NPKSD_ESTIMATOR_AUTO);
    RUN_TEST(far_values_are_clamped);
    RUN_TEST(scores_beyond_range);
    RUN_TEST(many_coordinates);
}
