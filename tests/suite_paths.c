/* Ways through the library that no other suite takes: rare arguments, workers, early and late errors. */
#include "support.h"
#include <math.h>

static npksd_real data[SMALL_N * SMALL_M];

static const npksd_status argument = NPKSD_ERROR_ARGUMENT, state = NPKSD_ERROR_STATE;

static npksd_tester *make(const npksd_options *options)
{
    npksd_tester *tester = NULL;
    if (npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, options) != NPKSD_OK)
        return NULL;
    return tester;
}

static npksd_options quick_options(void)
{
    npksd_options options = small_options();
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    options.fit_rows = 40;
    options.pilot = 3;
    return options;
}

/* ======== options ======== */

static int names(const npksd_options *options, size_t n, size_t m, const char *word)
{
    const char *problem = npksd_options_problem(options, n, m);
    return problem && strstr(problem, word) != NULL;
}

TEST rare_options(void)
{
    npksd_options options = small_options();
    ASSERT(names(NULL, 1, 1, "options"));
    options.fit_rows = ((size_t)1 << 30) + 1;
    ASSERT(names(&options, 1, 1, "fit_rows"));
    options = small_options();
    options.pilot = ((size_t)1 << 30) + 1;
    ASSERT(names(&options, 1, 1, "pilot"));
    options = small_options();
    options.resample = ((size_t)1 << 24) + 1;
    ASSERT(names(&options, 1, 1, "resample"));
    options = small_options();
    options.rng.user_data = data;
    ASSERT(names(&options, 1, 1, "rng"));
    options = small_options();
    options.degree = 4; /* too much for the spline that AUTO tries */
    ASSERT(names(&options, 1, 1, "degree"));
    options = small_options();
    options.basis = 3;
    ASSERT(names(&options, 1, 1, "basis"));
    options.estimator = NPKSD_ESTIMATOR_RBF;
    ASSERTm("three bumps are fine", !npksd_options_problem(&options, SMALL_N, SMALL_M));
    options = small_options();
    options.form = NPKSD_FORM_SCALAR;
    options.features = 4;
    ASSERTm("linear and scalar", !npksd_options_problem(&options, SMALL_N, SMALL_M));
    options.diagnose = 1;
    ASSERT(names(&options, SMALL_N, SMALL_M, "diagnose"));
    options = small_options();
    options.ridge = (npksd_real)2e6;
    ASSERT(names(&options, 1, 1, "ridge"));
    options = small_options();
    options.bandwidth = sizeof(npksd_real) == 4 ? (npksd_real)1e-20 : (npksd_real)1e-200;
    ASSERT(names(&options, 1, 1, "bandwidth"));
    options = small_options();
    options.summary = NPKSD_SUMMARY_CALLBACK;
    options.summary_fn = sum_of_others;
    options.summary_dim = 70000;
    ASSERT(names(&options, 1, 2, "summary_dim"));
    ASSERTm("not asked for", !npksd_options_problem(&options, 1, 1));
    options.summary_dim = SIZE_MAX;
    options.estimator = NPKSD_ESTIMATOR_POLY;
    ASSERT(names(&options, 1, 2, "features"));
    PASS();
}

static int samples_name(const npksd_options *options, size_t n, size_t rows, const char *word)
{
    const char *problem = npksd_samples_problem(options, n, rows, SMALL_M);
    return word ? problem && strstr(problem, word) != NULL : problem == NULL;
}

/* Half as many rows as observed, at least 8; whole blocks, and enough of them to choose from. */
TEST options_for_samples(void)
{
    npksd_options options = small_options();
    ASSERT_EQ(8u, npksd_samples_minimum(1));
    ASSERT_EQ(8u, npksd_samples_minimum(16));
    ASSERT_EQ(9u, npksd_samples_minimum(17));
    ASSERT_EQ(9u, npksd_samples_minimum(18));
    ASSERT_EQ(SIZE_MAX / 2 + 1, npksd_samples_minimum(SIZE_MAX));
    ASSERT(samples_name(&options, 20, 9, "rows"));
    ASSERT(samples_name(&options, 20, 10, NULL));
    ASSERT(samples_name(&options, 21, 10, "rows"));
    ASSERT(samples_name(&options, 21, 11, NULL));
    ASSERT(samples_name(&options, 2, 7, "rows"));
    ASSERT(samples_name(&options, 2, 8, NULL));    /* C(10, 2) = 45 ways */
    ASSERT(samples_name(&options, 1, 18, "1/alpha")); /* 19 ways: p is 1/19 at best */
    ASSERT(samples_name(&options, 1, 19, NULL));
    ASSERT(samples_name(&options, 20, SIZE_MAX / 64, "rows"));
    options.block = 3; /* 18 of 20 rows, and a piece that is left out */
    ASSERT(samples_name(&options, 20, 60, NULL));
    options.block = 10; /* 2 of 6 blocks: 15 ways */
    ASSERT(samples_name(&options, 20, 40, "block"));
    ASSERT(samples_name(&options, 20, 50, NULL));
    ASSERT(samples_name(&options, 20, 49, "block"));
    options.block = 21;
    ASSERT(samples_name(&options, 20, 400, "block"));
    options.block = 11;
    ASSERT(samples_name(&options, 20, 10, "block"));
    options = small_options();
    options.score_fn = chain_score;
    set_options(&options, "score_callback wild stein");
    ASSERT(samples_name(&options, 20, 60, "calibration"));
    options.calibration = NPKSD_CALIBRATE_MONTE_CARLO;
    ASSERT(samples_name(&options, 20, 60, NULL));
    ASSERT(npksd_samples_problem(NULL, 20, 60, 3));
    PASS();
}

TEST default_options_by_null(void)
{
    npksd_options options = npksd_default_options();
    npksd_result result, stated;
    npksd_self_check_result check;
    npksd_real synthetic[40];
    draw_rows(synthetic, 40, 1, test_seed + 9500);
    ASSERT_STATUS(NPKSD_OK, npksd_test(data, 5, 1, chain_sample, NULL, NULL, &result));
    ASSERT_EQ_FMT((size_t)499, result.replicates, "%zu");
    ASSERT_STATUS(NPKSD_OK, npksd_test(data, 5, 1, chain_sample, NULL, &options, &stated));
    ASSERT(same_result(&stated, &result));
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples(data, 5, synthetic, 40, 1, NULL, &result));
    ASSERT_EQ_FMT((size_t)499, result.replicates, "%zu");
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(2, 1, chain_sample, NULL, NULL, 1, &check));
    ASSERT_EQ_FMT((size_t)1, check.runs, "%zu");
    PASS();
}

/* The caller's array of scales may go as soon as there is a tester. */
TEST scales_are_copied(void)
{
    npksd_result result[2];
    for (int gone = 0; gone < 2; gone++) {
        npksd_real scales[2] = { 1, (npksd_real)0.3 };
        npksd_options options = quick_options();
        options.scales = scales;
        options.scale_count = 2;
        npksd_tester *tester = make(&options);
        ASSERT(tester);
        if (gone)
            memset(scales, UNTOUCHED, sizeof scales);
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result[gone], NULL));
        npksd_tester_destroy(tester);
    }
    ASSERT(same_result(&result[0], &result[1]));
    PASS();
}

static int counted_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    ++*(size_t *)user_data;
    return chain_sample(rows, count, m, rng, NULL);
}

/* References of 200,000 rows: eight data sets of 25,000 rows, and two for the pilot. */
TEST data_sets_of_a_fit(void)
{
    size_t calls = 0;
    npksd_options options = quick_options();
    npksd_tester *tester;
    options.components = NPKSD_COMPONENT_MARGIN;
    options.pilot = 2;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, 25000, 1, counted_sample, &calls, &options));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    npksd_tester_destroy(tester);
    ASSERT_EQ_FMT((size_t)10, calls, "%zu");
    PASS();
}

/* A generator is asked for one whole data set a call, never for more or fewer rows. */
static int whole_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    *(size_t *)user_data += count != SMALL_N || m != SMALL_M;
    return chain_sample(rows, count, m, rng, NULL);
}

TEST whole_data_sets(void)
{
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        npksd_result result;
        npksd_self_check_result check;
        npksd_power_result power;
        size_t wrong = 0;
        ASSERT_STATUS(NPKSD_OK, npksd_test(data, SMALL_N, SMALL_M, whole_sample, &wrong, &options, &result));
        ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, whole_sample, &wrong, &options, 1, &check));
        ASSERT_STATUS(NPKSD_OK, npksd_power(SMALL_N, SMALL_M, whole_sample, &wrong, whole_sample, &wrong, &options,
                                            1, &power));
        ASSERT_EQ_FMTm(variant_name(v), (size_t)0, wrong, "%zu");
    }
    PASS();
}

/* Waves of rows that are many bandwidths away: angles are clamped, so that half the bandwidth changes the unit of ksd2
   and nothing else. */
TEST waves_out_of_range(void)
{
    npksd_options options = quick_options();
    npksd_result whole, half;
    set_options(&options, "stein mirror features=5 unscaled");
    options.bandwidth = sizeof(npksd_real) == 4 ? (npksd_real)1e-12 : (npksd_real)1e-100;
    ASSERT_STATUS(NPKSD_OK, npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, &whole));
    options.bandwidth /= 2;
    ASSERT_STATUS(NPKSD_OK, npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, &half));
    ASSERT(finite_bits(&whole.statistic, 1) && finite_bits(&whole.ksd2, 1));
    ASSERT_IN_RANGE(4, (double)half.ksd2 / (double)whole.ksd2, 1e-6);
    half.bandwidth = whole.bandwidth;
    half.ksd2 = whole.ksd2;
    ASSERT(same_result(&whole, &half));
    PASS();
}

/* One product of scores serves neighbours that were drawn; those that were not part them. */
TEST neighbours_not_drawn(void)
{
    enum { WIDE = 7 };
    npksd_real rows[SMALL_N * WIDE], scores[SMALL_N * WIDE], alone[WIDE];
    npksd_options options = quick_options();
    npksd_tester *tester = NULL;
    options.summary = NPKSD_SUMMARY_ALL;
    options.resample = 3;
    draw_rows(rows, SMALL_N, WIDE, test_seed + 9501);
    for (options.seed = 0; options.seed < 8; options.seed++) {
        npksd_result result;
        options.resample_redraw = (int)(options.seed % 2); /* then all are fitted */
        ASSERT_STATUS(NPKSD_OK,
                      npksd_tester_create(&tester, SMALL_N, WIDE, chain_sample, NULL, &options));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
        ASSERT(finite_bits(&result.statistic, 1));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, SMALL_N, scores));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, 1, alone));
        for (size_t i = 0; i < WIDE; i++)
            ASSERT_IN_RANGE(scores[i], alone[i], 1e-4);
        npksd_tester_destroy(tester);
    }
    PASS();
}

/* AUTO chooses for each coordinate: two modes here want bumps or splines, the others a line. */
static int mixed_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count * m; i++) {
        npksd_real x = npksd_normal(rng);
        rows[i] = i % m == 2 ? (x < 0 ? -3 : 3) + npksd_normal(rng) / 2 : x;
    }
    return 0;
}

TEST neighbours_of_other_families(void)
{
    enum { WIDE = 5 };
    npksd_real rows[SMALL_N * WIDE], scores[SMALL_N * WIDE];
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_rng_state rng_state;
    npksd_rng rng = npksd_rng_seeded(&rng_state, test_seed, 9504);
    options.summary = NPKSD_SUMMARY_ALL;
    options.fit_rows = 4000;
    mixed_sample(rows, SMALL_N, WIDE, &rng, NULL);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, WIDE, mixed_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, SMALL_N, scores));
    npksd_tester_destroy(tester);
    ASSERT(finite_bits(scores, SMALL_N * WIDE));
    for (size_t r = 0; r < SMALL_N; r++) { /* true scores: -x, and 4 (+-3 - x) */
        npksd_real x = rows[r * WIDE], y = rows[r * WIDE + 2];
        ASSERT_IN_RANGE(-x, scores[r * WIDE], 0.7);
        if (y > 4 || (y < -2 && y > -2.5))
            ASSERTm("away from zero between the modes, towards them outside", scores[r * WIDE + 2] < 0);
    }
    PASS();
}

/* ======== equations with too many unknowns ======== */

static int same_set(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)rng, (void)unused;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = (npksd_real)((i * 37) % 11);
    return 0;
}

/* Two rows, three features, and no ridge to make up for it: a feature that the others already explain
   is left out, and what comes of it are numbers. */
TEST too_few_rows_for_the_ridge(void)
{
    npksd_options options = quick_options();
    npksd_result result;
    npksd_real scores[SMALL_N * SMALL_M];
    set_options(&options, "stein moment fit_rows=2"); /* no reference: these rows and no more */
    options.ridge = sizeof(npksd_real) == 4 ? (npksd_real)1e-30 : (npksd_real)1e-200;
    for (int k = 0; k < 4; k++) {
        options.estimator = k % 2 ? NPKSD_ESTIMATOR_AUTO : NPKSD_ESTIMATOR_GAUSS;
        options.summary = k / 2 ? NPKSD_SUMMARY_ALL : NPKSD_SUMMARY_MEAN;
        npksd_tester *tester = make(&options);
        ASSERT(tester);
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, data, SMALL_N, scores));
        ASSERT(finite_bits(scores, SMALL_N * SMALL_M));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, NULL));
        ASSERT(finite_bits(&result.statistic, 1) && result.p_value > 0 && result.p_value <= 1);
        npksd_tester_destroy(tester);
    }
    memset(&result, UNTOUCHED, sizeof result);
    options.fit_rows = 3; /* of two data sets */
    ASSERT_STATUSm("the rng is to blame", NPKSD_ERROR_GENERATOR,
                   npksd_test(data, 2, SMALL_M, same_set, NULL, &options, &result));
    ASSERT(untouched(&result, sizeof result));
    PASS();
}

/* Without a pilot, two data sets of the fit and 19 replicates: enough to see it. */
TEST ignored_rng_with_few_data_sets(void)
{
    static const npksd_real one = 1;
    npksd_options options = quick_options();
    npksd_result result;
    options.fit_rows = 2;
    options.replicates = 19;
    options.pilot = 0;
    options.components = NPKSD_COMPONENT_STEIN;
    options.statistic = NPKSD_STATISTIC_V;
    options.scales = &one;
    options.scale_count = 1;
    ASSERT_STATUS(NPKSD_ERROR_GENERATOR,
                  npksd_test(data, SMALL_N, SMALL_M, same_set, NULL, &options, &result));
    ASSERT_STATUS(NPKSD_OK,
                  npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, &result));
    ASSERT(result.p_value > 0 && result.p_value <= 1);
    PASS();
}

/* ======== the tester's own functions ======== */

TEST arguments_of_a_tester(void)
{
    npksd_options options = quick_options();
    npksd_tester *tester = make(&options);
    npksd_real out[SMALL_REPLICATES], scores[3 * SMALL_N * SMALL_M], rows[3 * SMALL_N * SMALL_M];
    size_t done = 5, total = 5, size = 0;
    ASSERT(tester);
    npksd_tester_progress(NULL, &done, &total);
    ASSERT_EQ(0u, done + total);
    ASSERT_STATUS(state, npksd_tester_null(tester, out, 1, NULL));
    ASSERT_STATUS(state, npksd_tester_save(tester, NULL, 0, &size));
    ASSERT_STATUS(argument, npksd_tester_save(tester, NULL, 0, NULL));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(argument, npksd_tester_null(tester, NULL, 1, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, NULL, 0, &size));
    ASSERT_EQ_FMT((size_t)SMALL_REPLICATES, size, "%zu");
    memset(out, UNTOUCHED, sizeof out);
    size = 0;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, out, 3, &size));
    ASSERT_EQ_FMTm("all there are, not all written", (size_t)SMALL_REPLICATES, size, "%zu");
    ASSERT(!untouched(out + 2, sizeof out[0]) && untouched(out + 3, sizeof out - 3 * sizeof out[0]));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, NULL, 0, NULL));
    ASSERT_STATUS(argument, npksd_tester_scores(tester, data, SIZE_MAX / 8, scores));
    npksd_tester_destroy(tester);

    options.estimator = NPKSD_ESTIMATOR_CALLBACK;
    options.score_fn = chain_score;
    tester = make(&options);
    ASSERT(tester);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    draw_rows(rows, 3 * SMALL_N, SMALL_M, test_seed + 9502);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, NULL, 0, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, 3 * SMALL_N, scores));
    ASSERT_STATUS(NPKSD_MORE, npksd_tester_step(tester, 1)); /* a replicate is half done */
    npksd_real again[SMALL_N * SMALL_M];
    memset(again, UNTOUCHED, sizeof again);
    ASSERT_STATUS(state, npksd_tester_scores(tester, rows, SMALL_N, again));
    ASSERT(untouched(again, sizeof again));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
    ASSERT_STATUSm("a check is pending", state, npksd_tester_scores(tester, rows, SMALL_N, again));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    npksd_result result;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(tester, &result, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, SMALL_N, again));
    ASSERT_MEM_EQ(scores, again, sizeof again);
    npksd_tester_destroy(tester);
    PASS();
}

TEST after_an_error(void)
{
    npksd_options options = quick_options();
    npksd_tester *tester = NULL;
    npksd_worker worker;
    npksd_real out[SMALL_N * SMALL_M];
    test_source source;
    size_t size = 0;
    memset(&worker, 0, sizeof worker);
    memset(&source, 0, sizeof source);
    source.bad_call = 8;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, &source,
                                                &options));
    ASSERT_STATUS(NPKSD_ERROR_GENERATOR, npksd_tester_step(tester, SIZE_MAX));
    ASSERT_STATUS(NPKSD_ERROR_GENERATOR, npksd_tester_prepare(tester));
    ASSERT_STATUS(state, npksd_tester_null(tester, out, 1, NULL));
    ASSERT_STATUS(state, npksd_tester_scores(tester, data, 1, out));
    ASSERT_STATUS(state, npksd_tester_save(tester, NULL, 0, &size));
    ASSERT_STATUS(state, npksd_tester_replicates(tester, &worker, 0, 1, out));
    ASSERT_STATUS(state, npksd_tester_merge(tester, 0, 1, data));
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== workers ======== */

TEST arguments_of_workers(void)
{
    npksd_options options = quick_options();
    npksd_tester *tester = make(&options);
    npksd_worker worker;
    npksd_real out[SMALL_REPLICATES];
    memset(&worker, 0, sizeof worker);
    ASSERT(tester);
    ASSERT_STATUS(argument, npksd_tester_prepare(NULL));
    ASSERT_EQ(0u, npksd_tester_scratch_size(NULL) + npksd_tester_width(NULL));
    ASSERT_STATUSm("too early", state, npksd_tester_replicates(tester, &worker, 0, 1, out));
    ASSERT_STATUSm("too early", state, npksd_tester_merge(tester, 0, 1, data));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    const size_t b = SMALL_REPLICATES;
    ASSERT_STATUS(argument, npksd_tester_replicates(NULL, &worker, 0, 1, out));
    ASSERT_STATUS(argument, npksd_tester_replicates(tester, NULL, 0, 1, out));
    ASSERT_STATUS(argument, npksd_tester_replicates(tester, &worker, 0, 1, NULL));
    ASSERT_STATUS(argument, npksd_tester_replicates(tester, &worker, b + 1, 0, out));
    ASSERT_STATUS(argument, npksd_tester_replicates(tester, &worker, 1, b, out));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, b, 0, NULL));
    ASSERT_STATUS(argument, npksd_tester_merge(NULL, 0, 1, data));
    ASSERT_STATUS(argument, npksd_tester_merge(tester, 0, 1, NULL));
    ASSERT_STATUS(argument, npksd_tester_merge(tester, b + 1, 0, data));
    ASSERT_STATUS(argument, npksd_tester_merge(tester, 1, b, data));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_merge(tester, 0, 0, NULL));
    out[0] = not_a_number();
    ASSERT_STATUS(NPKSD_ERROR_NONFINITE, npksd_tester_merge(tester, 0, 1, out));
    char small_scratch[8];
    worker.scratch = small_scratch;
    worker.scratch_bytes = sizeof small_scratch;
    ASSERT_STATUS(NPKSD_ERROR_MEMORY, npksd_tester_replicates(tester, &worker, 0, 1, out));
    worker.scratch = NULL;
    ASSERT_STATUS(NPKSD_MORE, npksd_tester_step(tester, 1));
    ASSERT_STATUSm("its scratch is in use", state,
                   npksd_tester_replicates(tester, &worker, 0, 1, out));
    npksd_tester_destroy(tester);
    PASS();
}

/* A number that is none among those given: nothing is taken, neither those before it nor those behind. */
TEST merge_all_or_nothing(void)
{
    npksd_options options = quick_options();
    npksd_real values[5] = { 100, 101, 102, 103, 104 }, drawn[2][SMALL_REPLICATES];
    size_t done[2] = { 0, 0 };
    for (int merged = 0; merged < 2; merged++) {
        npksd_tester *tester = make(&options);
        ASSERT(tester);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
        for (size_t k = 0; k < 5 && merged; k++) {
            npksd_real kept = values[k];
            values[k] = k % 2 ? not_a_number() : plus_infinity();
            ASSERT_STATUS(NPKSD_ERROR_NONFINITE, npksd_tester_merge(tester, 0, 5, values));
            values[k] = kept;
        }
        npksd_tester_progress(tester, &done[merged], NULL);
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, drawn[merged], SMALL_REPLICATES, NULL));
        npksd_tester_destroy(tester);
    }
    ASSERT_EQ_FMT(done[0], done[1], "%zu");
    ASSERT_MEM_EQ(drawn[0], drawn[1], sizeof drawn[0]);
    PASS();
}

/* A worker with an rng and a source of its own, in the tester's scratch or in its own. */
TEST worker_of_its_own(void)
{
    npksd_options options = quick_options();
    npksd_tester *tester = make(&options);
    npksd_worker worker;
    npksd_rng_state rng_state;
    npksd_real first[3], second[3], other[3];
    test_source source;
    memset(&worker, 0, sizeof worker);
    memset(&source, 0, sizeof source);
    ASSERT(tester);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 0, 3, first));
    worker.rng = npksd_rng_seeded(&rng_state, options.seed, 0);
    worker.user_data = &source;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 0, 3, second));
    ASSERT_MEM_EQ(first, second, sizeof first);
    ASSERT_EQ_FMT((size_t)3, source.calls, "%zu");
    worker.scratch_bytes = npksd_tester_scratch_size(tester);
    worker.scratch = malloc(worker.scratch_bytes);
    ASSERT(worker.scratch);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 0, 3, second));
    ASSERT_MEM_EQ(first, second, sizeof first);
    ASSERT_EQ_FMT((size_t)6, source.calls, "%zu");
    worker.rng = npksd_rng_seeded(&rng_state, options.seed + 1, 0);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 0, 3, other));
    ASSERT(memcmp(first, other, sizeof first) != 0);
    free(worker.scratch);
    npksd_tester_destroy(tester);
    PASS();
}

static uint64_t counter_word(void *user_data)
{
    uint64_t *word = (uint64_t *)user_data;
    *word = *word * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *word ^ *word >> 29;
}

TEST rng_without_streams_and_workers(void)
{
    npksd_options options = quick_options();
    uint64_t word = 1;
    options.rng.next_fn = counter_word;
    options.rng.user_data = &word;
    npksd_tester *tester = make(&options);
    npksd_worker worker;
    npksd_real out;
    memset(&worker, 0, sizeof worker);
    ASSERT(tester);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    ASSERT_STATUS(argument, npksd_tester_replicates(tester, &worker, 0, 1, &out));
    worker.rng = options.rng;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 0, 1, &out));
    npksd_tester_destroy(tester);
    PASS();
}

TEST bootstrap_has_no_replicates(void)
{
    npksd_options options = quick_options();
    npksd_worker worker;
    npksd_real out[SMALL_REPLICATES];
    npksd_result result;
    memset(&worker, 0, sizeof worker);
    options.score_fn = chain_score;
    set_options(&options, "score_callback wild stein");
    npksd_tester *tester = make(&options);
    ASSERT(tester);
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(state, npksd_tester_replicates(tester, &worker, 0, 1, out));
    ASSERT_STATUS(state, npksd_tester_merge(tester, 0, 1, data));
    ASSERT_STATUSm("none before a check", state, npksd_tester_null(tester, out, 1, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, out, SMALL_REPLICATES, NULL));
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== tier 1 and primitives ======== */

/* A given score is not learnt once more: less memory and fewer items than with the cheapest estimator. */
TEST a_given_score_needs_no_fit(void)
{
    size_t bytes[2], totals[2], done;
    for (int given = 0; given < 2; given++) {
        npksd_options options = quick_options();
        npksd_tester *tester = NULL;
        options.estimator = given ? NPKSD_ESTIMATOR_CALLBACK : NPKSD_ESTIMATOR_GAUSS;
        options.score_fn = chain_score;
        options.summary = NPKSD_SUMMARY_NONE;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_size(SMALL_N, SMALL_M, &options, bytes + given));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
        npksd_tester_progress(tester, &done, totals + given);
        npksd_tester_destroy(tester);
    }
    ASSERT(bytes[1] < bytes[0]);
    ASSERT(totals[1] < totals[0]);
    PASS();
}

/* An item of the solution is a matrix: one for every column, or one for all if they have the same features. */
TEST one_matrix_for_all_columns(void)
{
    for (size_t m = 2; m < 5; m++) {
        size_t totals[2], done;
        for (int shared = 0; shared < 2; shared++) {
            npksd_options options = quick_options();
            npksd_tester *tester = NULL;
            set_options(&options, shared ? "rbf all" : "rbf none");
            ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, m, chain_sample, NULL, &options));
            npksd_tester_progress(tester, &done, totals + shared);
            npksd_tester_destroy(tester);
        }
        ASSERT_EQ_FMT(m - 1, totals[0] - totals[1], "%zu");
    }
    PASS();
}

/* One number; to diagnose, one more for every column, their largest, and the largest pair. */
TEST width_of_replicates(void)
{
    for (size_t m = 1; m <= SMALL_M; m++)
        for (int diagnose = 0; diagnose < 2; diagnose++) {
            npksd_options options = quick_options();
            npksd_tester *tester = NULL;
            options.diagnose = diagnose;
            ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, m, chain_sample, NULL, &options));
            ASSERT_EQ_FMT(diagnose ? m + 3 : (size_t)1, npksd_tester_width(tester), "%zu");
            npksd_tester_destroy(tester);
        }
    PASS();
}

TEST arguments_of_samples(void)
{
    npksd_options options = quick_options();
    npksd_real synthetic[3 * SMALL_N * SMALL_M], adjusted[SMALL_M], influence[SMALL_N];
    npksd_result result;
    npksd_diagnosis diagnosis;
    const size_t rows = 3 * SMALL_N;
    draw_rows(synthetic, rows, SMALL_M, test_seed + 9503);
    memset(&diagnosis, 0, sizeof diagnosis);
#define SAMPLES(a, b, r) npksd_test_samples(a, SMALL_N, b, rows, SMALL_M, &options, r)
    ASSERT_STATUS(argument, SAMPLES(NULL, synthetic, &result));
    ASSERT_STATUS(argument, SAMPLES(data, NULL, &result));
    ASSERT_STATUS(argument, SAMPLES(data, synthetic, NULL));
    npksd_real kept = data[1];
    data[1] = not_a_number();
    npksd_status observed = SAMPLES(data, synthetic, &result);
    data[1] = kept;
    synthetic[7] = plus_infinity();
    ASSERT_STATUS(NPKSD_ERROR_NONFINITE, observed);
    ASSERT_STATUS(NPKSD_ERROR_NONFINITE, SAMPLES(data, synthetic, &result));
    synthetic[7] = 0;
#undef SAMPLES
    diagnosis.row_influence = influence; /* nothing but that */
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(data, SMALL_N, synthetic, rows, SMALL_M,
                                                        &options, &result, &diagnosis, NULL));
    ASSERT(finite_bits(influence, SMALL_N));
    diagnosis.row_influence = NULL;
    diagnosis.coordinate_p_adjusted = adjusted;
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(data, SMALL_N, synthetic, rows, SMALL_M,
                                                        &options, &result, &diagnosis, NULL));
    for (size_t i = 0; i < SMALL_M; i++)
        ASSERT(adjusted[i] > 0 && adjusted[i] <= 1);
    PASS();
}

TEST arguments_of_trials(void)
{
    npksd_options options = quick_options(), bad = options, poor = options;
    test_heap empty;
    npksd_self_check_result check;
    npksd_power_result power;
    bad.alpha = 2;
#define CHECK(sample, options, runs, result)                                                      \
    npksd_self_check(SMALL_N, SMALL_M, sample, NULL, options, runs, result)
#define POWER(sample, other, runs, result)                                                        \
    npksd_power(SMALL_N, SMALL_M, sample, NULL, other, NULL, &options, runs, result)
    ASSERT_STATUS(argument, CHECK(NULL, &options, 2, &check));
    ASSERT_STATUS(argument, CHECK(chain_sample, &options, 2, NULL));
    ASSERT_STATUS(argument, CHECK(chain_sample, &options, 0, &check));
    ASSERT_STATUS(argument, CHECK(chain_sample, &options, 1000001, &check));
    memset(&empty, 0, sizeof empty);
    empty.asked.bad_call = 1;
    poor.allocator = heap_allocator(&empty);
    ASSERT_STATUS(NPKSD_ERROR_MEMORY, CHECK(chain_sample, &poor, 1000000, &check));
    ASSERT_STATUS(argument, CHECK(chain_sample, &bad, 2, &check));
    ASSERT_STATUS(argument, POWER(NULL, chain_sample, 2, &power));
    ASSERT_STATUS(argument, POWER(chain_sample, NULL, 2, &power));
    ASSERT_STATUS(argument, POWER(chain_sample, chain_sample, 2, NULL));
    ASSERT_STATUS(argument, POWER(chain_sample, chain_sample, 0, &power));
    ASSERT_STATUS(NPKSD_OK, POWER(chain_sample, chain_sample, 1, &power));
    ASSERT_EQ_FMT((size_t)1, power.runs, "%zu");
#undef CHECK
#undef POWER
    PASS();
}

/* The data set that is tested is another than those it is compared with: told by the call's number. */
typedef struct shifty {
    size_t calls, first, period; /* every period-th call from `first` on is shifted */
} shifty;

static int shifty_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    shifty *s = (shifty *)user_data;
    chain_sample(rows, count, m, rng, NULL);
    size_t call = s->calls++;
    if (s->period > 0 && call >= s->first && (call - s->first) % s->period == 0)
        for (size_t i = 0; i < count * m; i++)
            rows[i] += 20;
    return 0;
}

/* One replicate: p is 1/2 or 1. Only two of the smaller ones are too small. */
TEST self_check_of_a_perfect_fit(void)
{
    npksd_options options = quick_options();
    npksd_self_check_result check;
    size_t perfect = 0;
    options.replicates = 1;
    options.alpha = (npksd_real)0.5;
    for (options.seed = 0; options.seed < 20; options.seed++) {
        ASSERT_STATUS(NPKSD_OK,
                      npksd_self_check(SMALL_N, SMALL_M, chain_sample, NULL, &options, 2, &check));
        perfect += check.rejected < 2;
        ASSERT_IN_RANGE(1 - 0.25 * (double)check.rejected, (double)check.mean_p, 1e-6);
        ASSERT(check.rejected < 2 ? check.distance <= 0 && check.uniform_p >= 1
                                  : check.distance >= (npksd_real)0.5 && check.uniform_p < 1);
    }
    ASSERT(perfect > 0 && perfect < 20);
    PASS();
}

/* One-sided: exp(-2 x^2), x^2 = runs times the square of the distance. */
TEST self_check_p_value(void)
{
    npksd_options options = quick_options();
    size_t between = 0;
    for (options.seed = 0; options.seed < 12; options.seed++) {
        npksd_self_check_result check;
        size_t runs = 2 + (size_t)options.seed;
        ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, chain_sample, NULL, &options, runs, &check));
        double expected = exp(-2 * (double)check.distance * (double)check.distance * (double)runs);
        ASSERT_IN_RANGE(expected, (double)check.uniform_p, 1e-5);
        ASSERT_EQ(check.uniform_p < (npksd_real)0.01, check.suspicious);
        between += expected > 0.05 && expected < 0.95;
    }
    ASSERT(between > 0);
    PASS();
}

TEST self_check_sees_it(void)
{
    npksd_options options = quick_options();
    npksd_self_check_result check;
    shifty s = { 0, 0, 0 };
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, shifty_sample, &s, &options, 1, &check));
    s.first = s.calls - 1; /* the observed rows are drawn last; two draws before all see if it repeats */
    s.period = s.calls - 2;
    s.calls = 0;
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, shifty_sample, &s, &options, 10, &check));
    ASSERT_EQ_FMT((size_t)10, check.rejected, "%zu");
    ASSERT(check.uniform_p < (npksd_real)0.01);
    ASSERT(check.suspicious);
    ASSERT(check.repeatable);
    for (size_t runs = 2; runs < 4; runs++) { /* as many p-values of 1/20: uniform_p is 0.027, then 0.004 */
        s.calls = 0;
        ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, shifty_sample, &s, &options, runs, &check));
        ASSERT_EQ_FMT(runs, check.rejected, "%zu");
        ASSERT_EQ_FMT(runs == 3, check.suspicious, "%d");
    }
    s.calls = 0;
    s.first = 1; /* the second of the two draws that should be equal is shifted */
    s.period = 1000;
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, shifty_sample, &s, &options, 2, &check));
    ASSERT_FALSE(check.repeatable);
    ASSERT(check.suspicious);
    PASS();
}

/* Without seek_fn no stream can be drawn twice: rows that then differ say nothing about the generator. */
TEST self_check_without_streams(void)
{
    npksd_options options = quick_options();
    npksd_self_check_result check;
    caller_rng own;
    options.rng = caller_rng_start(&own, test_seed, 0);
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, chain_sample, NULL, &options, 3, &check));
    ASSERT(check.repeatable);
    ASSERT_EQ(check.uniform_p < (npksd_real)0.01, check.suspicious);
    PASS();
}

static int rarely_one(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_uniform(rng) < (npksd_real)0.1;
    return 0;
}

/* Without ties p is one of 1/20, ..., 1, equally likely, on average 21/40. Two rows that are 1 with probability 0.1
   make three data sets, with probabilities 0.81, 0.18, 0.01, whose squares are the shares of ties: half of that is
   added. Four standard errors of 100 runs. */
TEST self_check_mean_p(void)
{
    npksd_options options = quick_options();
    npksd_self_check_result check;
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, chain_sample, NULL, &options, 100, &check));
    ASSERT_IN_RANGE(0.525, (double)check.mean_p, 0.12);
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(2, 1, rarely_one, NULL, &options, 100, &check));
    ASSERT_IN_RANGE((1 + 19 * (0.5 + 0.6886 / 2)) / 20, (double)check.mean_p, 0.13);
    ASSERT_FALSE(check.suspicious);
    PASS();
}

/* One number is enough: the last of a data set counts the calls. */
static int counting_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    size_t *calls = (size_t *)user_data;
    chain_sample(rows, count, m, rng, NULL);
    rows[count * m - 1] += (npksd_real)(*calls)++ / 1024;
    return 0;
}

TEST self_check_compares_every_number(void)
{
    npksd_options options = quick_options();
    npksd_self_check_result check;
    size_t calls = 0;
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, counting_sample, &calls, &options, 2, &check));
    ASSERT_FALSE(check.repeatable);
    PASS();
}

TEST arguments_of_primitives(void)
{
    npksd_options options = npksd_default_options();
    npksd_real scores[SMALL_N * SMALL_M], weights[SMALL_M] = { 1, -1, 1 }, out;
    test_heap heap;
    memset(&heap, 0, sizeof heap);
    chain_score(data, SMALL_N, SMALL_M, scores, NULL);
    options.bandwidth = 1;
#define STATISTIC() npksd_statistic(data, scores, SMALL_N, SMALL_M, weights, &options, &out)
    ASSERT_STATUS(argument, STATISTIC());
    weights[1] = sizeof out == 4 ? (npksd_real)1e30 : (npksd_real)1e250;
    ASSERT_STATUS(NPKSD_ERROR_NUMERIC, STATISTIC());
    weights[1] = 1;
    scores[5] = sizeof out == 4 ? (npksd_real)1e30 : (npksd_real)1e250;
    ASSERT_STATUS(NPKSD_ERROR_NUMERIC, STATISTIC());
    scores[5] = 1;
    ASSERT_STATUS(NPKSD_OK, STATISTIC());
#undef STATISTIC
    options.allocator.alloc_fn = heap_allocator(&heap).alloc_fn;
    ASSERT_STATUS(argument, npksd_median_distance(data, SMALL_N, SMALL_M, &options, &out));
    PASS();
}

static int fixed_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)rng;
    memcpy(rows, user_data, count * m * sizeof *rows);
    return 0;
}

/* Noise is drawn anew for every run: the same rows are sometimes rejected. Of one seed all runs may agree by chance. */
TEST power_draws_new_noise(void)
{
    enum { N = 20, RUNS = 20 };
    npksd_options options = quick_options();
    npksd_power_result power;
    npksd_real rows[N];
    size_t mixed = 0;
    options.smooth = 1;
    options.alpha = (npksd_real)0.5;
    for (options.seed = 0; options.seed < 6; options.seed++) {
        draw_rows(rows, N, 1, test_seed + 9700 + options.seed);
        ASSERT_STATUS(NPKSD_OK, npksd_power(N, 1, chain_sample, NULL, fixed_sample, rows, &options, RUNS, &power));
        mixed += power.rejected > 0 && power.rejected < RUNS;
    }
    ASSERT(mixed > 0);
    PASS();
}

SUITE(suite_paths)
{
    draw_rows(data, SMALL_N, SMALL_M, test_seed + 9400);
    RUN_TEST(rare_options);
    RUN_TEST(options_for_samples);
    RUN_TEST(default_options_by_null);
    RUN_TEST(scales_are_copied);
    RUN_TEST(whole_data_sets);
    RUN_TEST(data_sets_of_a_fit);
    RUN_TEST(waves_out_of_range);
    RUN_TEST(neighbours_not_drawn);
    RUN_TEST(neighbours_of_other_families);
    RUN_TEST(too_few_rows_for_the_ridge);
    RUN_TEST(ignored_rng_with_few_data_sets);
    RUN_TEST(arguments_of_a_tester);
    RUN_TEST(after_an_error);
    RUN_TEST(arguments_of_workers);
    RUN_TEST(merge_all_or_nothing);
    RUN_TEST(worker_of_its_own);
    RUN_TEST(rng_without_streams_and_workers);
    RUN_TEST(bootstrap_has_no_replicates);
    RUN_TEST(a_given_score_needs_no_fit);
    RUN_TEST(one_matrix_for_all_columns);
    RUN_TEST(width_of_replicates);
    RUN_TEST(arguments_of_samples);
    RUN_TEST(arguments_of_trials);
    RUN_TEST(self_check_of_a_perfect_fit);
    RUN_TEST(self_check_p_value);
    RUN_TEST(self_check_sees_it);
    RUN_TEST(self_check_without_streams);
    RUN_TEST(self_check_mean_p);
    RUN_TEST(self_check_compares_every_number);
    RUN_TEST(power_draws_new_noise);
    RUN_TEST(arguments_of_primitives);
}
