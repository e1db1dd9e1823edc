/* The statistic T of every replicate and of observed rows, worked out again from recorded calls. */
#include "ref_tester.h"

static npksd_options component_options(void) { return problem_options(test_seed + 100, ""); }

/* Observed rows differ from the generator's in place and spread; some are equal to one another. */
static void observed_rows(const problem *p, npksd_real *rows)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 60);
    test_shape shape = p->shape;
    shape_sample(rows, p->n, p->m, &rng, &shape);
    for (size_t k = 0; k < p->n * p->m; k++)
        if (p->shape != SHAPE_CONSTANT && p->shape != SHAPE_TIES)
            rows[k] += (rows[k] - rows[k % p->m]) / 4;
    if (p->n > 2)
        memcpy(rows + p->m, rows, p->m * sizeof *rows);
}

/* T is a number of standard deviations, a few units; a single component has a size of its own. */
static double statistic_bound(const ref_tester *ref, double expected)
{
    double usual = 0;
    for (size_t r = 0; r < ref->options.replicates; r++)
        usual += fabs(ref->null_values[r]) / (double)ref->options.replicates;
    double part = ref->options.estimator == NPKSD_ESTIMATOR_SPLINE ? 5e-7 : 1e-7; /* its fits are all but singular */
    return either(part, 5e-2) * (fabs(expected) + (ref_is_single(ref) ? usual : 1));
}

/* p, threshold and verdict, from the library's own T and null values. */
static enum greatest_test_res compare_verdict(const char *name, const ref_tester *ref,
                                              const npksd_result *result,
                                              const npksd_real *null_values)
{
    size_t b = ref->options.replicates;
    npksd_real *raised = new_reals(b), alpha = ref->options.alpha;
    double T = (double)result->statistic,
           reach = ref_tolerance(T, null_values, b, ref_is_single(ref));
    if (ref_is_single(ref) && ref->number[0].kind == NPKSD_COMPONENT_PAIR) /* rounding of a correlation */
        reach = fmax(reach, 0.1 * REF_TIE);
    memcpy(raised, null_values, b * sizeof *raised);
    ref_raise(raised, b, reach);
    npksd_real p = ref_p_value(result->statistic, raised, b);
    ASSERT_AGREE(name, p, result->p_value, 0);
    ASSERT_AGREE(name, ref_threshold(raised, b, alpha), result->threshold, 1e-3 * reach);
    ASSERT_EQ_FMTm(name, p <= alpha, result->reject, "%d");
    ASSERT_EQ_FMTm(name, result->statistic > result->threshold, result->reject, "%d");
    free(raised);
    PASS();
}

static enum greatest_test_res compare_result(const char *name, const ref_tester *ref,
                                             const npksd_real *rows, const npksd_result *result,
                                             const npksd_real *null_values)
{
    double values[REF_COMPONENTS], lead;
    unsigned leading;
    ref_view_of view = ref_see_observed(ref, rows);
    ref_components(ref, &view, values, NULL);
    double T = ref_combine(ref, values, &leading, &lead), bound = statistic_bound(ref, T);
    for (size_t r = 0; r < ref->options.replicates; r++)
        ASSERT_AGREE(name, ref->null_values[r], null_values[r],
                     statistic_bound(ref, ref->null_values[r]));
    ASSERT_AGREE(name, T, result->statistic, bound);
    if (lead > 2 * bound)
        ASSERT_EQ_FMTm(name, leading, result->leading, "%u");
    double sigma = sqrt(ref->sigma2), U = 0, V = ref_stein_of(ref, &view, 1, NPKSD_STATISTIC_V, 0);
    if (ref->n > 1)
        U = ref_stein_of(ref, &view, 1, NPKSD_STATISTIC_U, 0);
    ASSERT_AGREE("bandwidth", sigma, result->bandwidth, either(1e-9, 1e-4) * sigma);
    ASSERT_AGREE("ksd2", U, result->ksd2, either(1e-7, 2e-2) * (fabs(U) + fabs(V)));
    ref_unsee(&view);
    CHECK_CALL(compare_verdict(name, ref, result, null_values));
    PASS();
}

/* A replicate is an observed data set like any other: its rows have its null value, bit for bit. */
static enum greatest_test_res compare_replicates(const char *name, npksd_tester *tester,
                                                 const npksd_options *options,
                                                 const npksd_real *sets, size_t size,
                                                 const npksd_real *null_values)
{
    npksd_result result;
    if (options->smooth > 0 || options->resample_redraw)
        PASS(); /* they have noise or index sets of their own */
    for (size_t r = 0; r < options->replicates; r += 6) {
        ASSERT_STATUSm(name, NPKSD_OK, npksd_tester_check(tester, sets + r * size, &result, NULL));
        ASSERT_MEM_EQm(name, &null_values[r], &result.statistic, sizeof *null_values);
    }
    PASS();
}

static enum greatest_test_res run_problem(const problem *p, npksd_options options)
{
    recorder log;
    npksd_tester *tester;
    ref_tester ref;
    npksd_result result;
    test_shape shape = p->shape;
    size_t size = p->n * p->m, b = options.replicates, count = 0;
    npksd_real *rows = new_reals(size), *null_values = new_reals(b);
    static char name[300];
    snprintf(name, sizeof name, "%s, %s, n %zu, m %zu", p->name, shape_name(shape), p->n, p->m);
    recorder_begin(&log, shape_sample, &shape, &options);
    const char *fault = npksd_options_problem(&options, p->n, p->m);
    ASSERTm(fault, fault == NULL);
    ASSERT_STATUSm(name, NPKSD_OK,
                   npksd_tester_create(&tester, p->n, p->m, recorder_sample, &log, &options));
    ASSERT_STATUSm(name, NPKSD_OK, finish(tester));
    ASSERT_EQm(name, 0, ref_tester_make(&ref, &log, p->n, p->m, &options));
    ASSERT_STATUSm(name, NPKSD_OK, npksd_tester_null(tester, null_values, b, &count));
    ASSERT_EQm(name, b, count);
    observed_rows(p, rows);
    ASSERT_STATUSm(name, NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
    CHECK_CALL(compare_result(name, &ref, rows, &result, null_values));
    ASSERT_EQ_FMTm(name, ref.fit.flags, result.flags, "%u");
    CHECK_CALL(compare_replicates(name, tester, &options, log.sets + (log.calls - b) * size, size,
                                  null_values));
    npksd_tester_destroy(tester);
    ref_tester_free(&ref);
    recorder_end(&log);
    free(rows);
    free(null_values);
    PASS();
}

static const problem problems[] = {
    { "default", SHAPE_CHAIN, 17, 3, "auto" },
    { "default", SHAPE_SKEW, 20, 2, "auto" },
    { "default", SHAPE_TIES, 16, 2, "auto" },
    { "default", SHAPE_CONSTANT, 17, 3, "auto" },
    { "default", SHAPE_CHAIN, 100, 3, "auto fit_rows=1100" },
    { "gauss", SHAPE_CHAIN, 1, 3, "" },
    { "gauss", SHAPE_CHAIN, 2, 3, "" },
    { "gauss", SHAPE_CHAIN, 3, 1, "" },
    { "gauss", SHAPE_CHAIN, 1, 1, "" },
    { "gauss", SHAPE_CHAIN, 15, 2, "" },
    { "gauss", SHAPE_CHAIN, 16, 17, "" },
    { "gauss", SHAPE_TRAJECTORY, 33, 2, "" },
    { "gauss", SHAPE_CHAIN, 17, 18, "" },
    { "gauss", SHAPE_HUGE, 17, 3, "" },
    { "gauss", SHAPE_TIES, 17, 1, "" },
    { "gauss", SHAPE_CONSTANT, 17, 1, "" },
    { "few_fit_rows", SHAPE_CHAIN, 100, 2, "fit_rows=30" },
    { "few_fit_rows", SHAPE_CHAIN, 17, 2, FLOAT_BUILD ? "fit_rows=6" : "fit_rows=2" }, /* two rows: all but singular */
    { "spline", SHAPE_SKEW, 17, 2, "spline" },
    { "callback", SHAPE_CHAIN, 17, 3, "score_callback" },
    { "callback_counted", SHAPE_CHAIN, 17, 3, "score_callback stein mirror moment" },
    { "imq", SHAPE_CHAIN, 17, 3, "imq" },
    { "imq", SHAPE_CHAIN, 2, 2, "imq" },
    { "imq", SHAPE_CHAIN, 1, 2, "imq" },
    { "scalar", SHAPE_CHAIN, 17, 3, "scalar" },
    { "scalar", SHAPE_CHAIN, 1, 3, "scalar" },
    { "imq_scalar", SHAPE_SKEW, 17, 3, "imq scalar" },
    { "v", SHAPE_CHAIN, 16, 2, "v" },
    { "uv", SHAPE_CHAIN, 16, 2, "uv" },
    { "uv", SHAPE_CHAIN, 1, 2, "uv" },
    { "no_scaling", SHAPE_FAR, 17, 3, "unscaled" },
    { "no_scaling", SHAPE_CONSTANT, 17, 3, "unscaled" },
    { "no_scaling_imq", SHAPE_CHAIN, 17, 3, "unscaled imq resample=4" },
    { "no_scaling_callback", SHAPE_CHAIN, 17, 3, "score_callback unscaled bandwidth=2" },
    { "own_bandwidth", SHAPE_CHAIN, 17, 3, "bandwidth=0.75" },
    { "scales_powers", SHAPE_CHAIN, 17, 3, "scales=4,0.0625,1,32" },
    { "scales_far", SHAPE_CHAIN, 17, 3, "scales=1,0.00390625" },
    { "scales_far", SHAPE_CHAIN, 17, 3, "scales=1,0.0078125" }, /* too far for squaring; six halvings are not */
    { "scales_far", SHAPE_CHAIN, 17, 3, "scales=1,0.015625" },
    { "scales_odd", SHAPE_CHAIN, 17, 3, "scales=0.3,1,2.5,0.6 uv" },
    { "scales_without_base", SHAPE_CHAIN, 17, 3, "scales=0.5,0.125" },
    { "scales_without_base", SHAPE_CHAIN, 1, 2, "scales=0.5,0.125 v" },
    { "scales_without_base_odd", SHAPE_CHAIN, 17, 3, "scales=0.7,3 imq" },
    { "scales_twice", SHAPE_CHAIN, 17, 3, "scales=0.5,1,0.5,1" },
    { "scales_twice_alone", SHAPE_CHAIN, 17, 3, "stein scales=1,1" },
    { "scales_most", SHAPE_CHAIN, 5, 2,
      "uv scales=1,2,4,8,0.5,0.25,0.125,0.0625,3,5,7,9,0.1,0.2,0.4,0.8" },
    { "resample_shared", SHAPE_CHAIN, 17, 5, "resample=3" },
    { "resample_distinct", SHAPE_CHAIN, 17, 5, "resample=2 distinct" },
    { "resample_redrawn", SHAPE_CHAIN, 17, 5, "resample=4 redraw" },
    { "resample_redrawn_distinct", SHAPE_CHAIN, 17, 4, "resample=2 redraw distinct scalar" },
    { "resample_redrawn_imq", SHAPE_SKEW, 3, 5, "resample=4 redraw imq" },
    { "resample_many", SHAPE_CHAIN, 17, 4, "resample=50" },
    { "linear_time", SHAPE_CHAIN, 17, 3, "features=13" },
    { "linear_time", SHAPE_CHAIN, 1, 3, "features=13 v" },
    { "linear_time", SHAPE_CHAIN, 2, 1, "features=13" },
    { "linear_time_panels", SHAPE_CHAIN, 33, 2, "features=70 uv" },
    { "linear_time_scalar", SHAPE_CHAIN, 17, 3, "features=20 scalar" },
    { "linear_time_resampled", SHAPE_CHAIN, 17, 4, "features=16 resample=3 redraw" },
    { "linear_time_scales", SHAPE_CHAIN, 17, 2, "scales=0.3,1,2.5,0.6 features=7" },
    { "linear_time_without_base", SHAPE_CHAIN, 17, 2, "scales=0.5,0.125 features=7 uv" },
    { "linear_time_unscaled", SHAPE_FAR, 17, 2, "features=9 unscaled" },
    { "smoothed", SHAPE_CHAIN, 17, 3, "smooth=0.5" },
    { "smoothed", SHAPE_TIES, 16, 2, "smooth=0.5" },
    { "smoothed", SHAPE_CONSTANT, 7, 3, "smooth=0.5" },
    { "smoothed", SHAPE_TIES, 100, 2, "smooth=0.5 fit_rows=70" },
    { "smoothed_counted", SHAPE_CHAIN, 20, 2, "smooth=0.5 fit_rows=50 stein mirror auto" },
    { "smoothed_stream", SHAPE_TIES, 30, 2, "smooth=0.25 fit_rows=1100 spline" },
    { "smoothed_redrawn", SHAPE_TIES, 17, 4, "smooth=0.125 resample=3 redraw auto" },
    { "paper", SHAPE_CHAIN, 17, 3, "gauss scalar stein v scales=1 unscaled pilot=0" },
    { "only_stein_v", SHAPE_CHAIN, 17, 3, "stein v scales=1 pilot=0" },
    { "only_stein_v", SHAPE_CHAIN, 1, 3, "stein v scales=1 pilot=0" },
    { "only_stein_u", SHAPE_CHAIN, 17, 3, "stein scales=1 pilot=0" },
    { "only_stein", SHAPE_CHAIN, 17, 3, "stein" },
    { "only_mirror", SHAPE_CHAIN, 17, 3, "mirror" },
    { "only_mirror", SHAPE_CHAIN, 17, 3, "mirror scales=1" },
    { "only_moment", SHAPE_CHAIN, 17, 3, "moment v pilot=0" },
    { "only_moment_u", SHAPE_CHAIN, 3, 3, "moment pilot=0" },
    { "only_moment_uv", SHAPE_CHAIN, 17, 3, "moment uv" },
    { "skewed_beyond_the_limit", SHAPE_SKEW, 2, 1, "moment uv pilot=100" },
    { "counted_rows", SHAPE_CHAIN, 17, 3, "stein mirror moment auto" },
    { "counted_rows", SHAPE_CHAIN, 100, 3, "stein mirror moment auto" },
    { "only_mmd", SHAPE_CHAIN, 17, 3, "mmd" },
    { "only_mmd", SHAPE_CHAIN, 1, 2, "mmd" },
    { "only_mmd", SHAPE_TIES, 100, 1, "mmd" },
    { "only_mmd_whatever_else", SHAPE_CHAIN, 17, 3, "mmd imq scales=0.5,3 resample=2" },
    { "only_mmd_linear_time", SHAPE_CHAIN, 17, 3, "mmd features=12" },
    { "only_moment_linear_time", SHAPE_CHAIN, 17, 18, "moment features=3" },
    { "only_mmd_unscaled", SHAPE_FAR, 17, 3, "mmd unscaled" },
    { "only_margin", SHAPE_CHAIN, 17, 3, "margin" },
    { "only_margin", SHAPE_TIES, 100, 2, "margin" },
    { "only_margin", SHAPE_CONSTANT, 2, 3, "margin unscaled" },
    { "only_margin", SHAPE_HUGE, 15, 2, "margin" },
    { "only_margin", SHAPE_CHAIN, 1, 1, "margin" },
    { "only_pair", SHAPE_CHAIN, 17, 3, "pair pilot=0" },
    { "only_pair", SHAPE_TIES, 100, 17, "pair pilot=0" },
    { "only_pair", SHAPE_CONSTANT, 16, 2, "pair pilot=0" },
    { "only_pair", SHAPE_CHAIN, 1, 2, "pair pilot=0" },
    { "without_scores", SHAPE_CHAIN, 15, 300, "mmd margin pair" },
    { "many_columns", SHAPE_CHAIN, 16, 300, "" },
    { "most_numbers", SHAPE_CHAIN, 17, 3,
      "uv scales=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.1,1.2,1.3,1.4,1.5,1.6,1.7" },
    { "mirror_and_mmd", SHAPE_CHAIN, 17, 3, "mirror mmd" },
    { "mirror_and_moment_imq", SHAPE_CHAIN, 17, 3, "mirror moment imq" },
};

TEST recorded_problem(const problem *p)
{
    npksd_options options = component_options();
    set_options(&options, p->words);
    if (FLOAT_BUILD && options.estimator == NPKSD_ESTIMATOR_AUTO)
        SKIPm("float may choose another ridge");
    if (FLOAT_BUILD && p->m > 256 && ref_has(&options, NPKSD_COMPONENT_STEIN))
        SKIPm("float loses the skewness of numbers as small as exp(-32)");
    CHECK_CALL(run_problem(p, options));
    PASS();
}

/* ======== fixed samples ======== */

/* n observed rows and as many synthetic ones as said; a last, shorter block is left out. */
typedef struct pool_problem {
    test_shape shape;
    size_t n, rows, m;
    const char *words;
} pool_problem;

static const pool_problem pool_problems[] = {
    { SHAPE_CHAIN, 17, 60, 3, "" },
    { SHAPE_CHAIN, 17, 60, 3, "auto" },
    { SHAPE_SKEW, 20, 10, 2, "auto" },
    { SHAPE_SKEW, 33, 200, 2, "spline all" },
    { SHAPE_TIES, 16, 40, 2, "auto" },
    { SHAPE_CONSTANT, 15, 50, 3, "gauss unscaled" },
    { SHAPE_HUGE, 17, 40, 3, "" },
    { SHAPE_CHAIN, 1, 30, 2, "" },
    { SHAPE_CHAIN, 1, 8, 2, "auto" },
    { SHAPE_CHAIN, 2, 30, 1, "auto" },
    { SHAPE_CHAIN, 40, 1100, 2, "auto" },
    { SHAPE_CHAIN, 17, 60, 3, "stein mirror moment auto" },
    { SHAPE_CHAIN, 17, 60, 3, "stein scales=1 pilot=0" },
    { SHAPE_CHAIN, 17, 60, 3, "score_callback stein" },
    { SHAPE_CHAIN, 17, 60, 5, "resample=3 redraw features=13" },
    { SHAPE_TRAJECTORY, 20, 80, 2, "block=4" },
    { SHAPE_TRAJECTORY, 22, 81, 2, "block=5 auto" },
    { SHAPE_TIES, 17, 60, 2, "smooth=0.5 auto" },
    { SHAPE_TIES, 17, 60, 3, "smooth=0.5 block=2 diagnose" },
    { SHAPE_CHAIN, 15, 40, 300, "mmd margin pair" },
};

TEST fixed_samples(const pool_problem *p)
{
    npksd_options options = component_options();
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 62);
    npksd_result result;
    ref_tester ref;
    test_shape shape = p->shape;
    set_options(&options, p->words);
    options.alpha = p->rows < 10 ? (npksd_real)0.2 : options.alpha; /* one of nine rows: p is 1/9 or more */
    if (FLOAT_BUILD && options.estimator == NPKSD_ESTIMATOR_AUTO)
        SKIPm("float may choose another ridge");
    size_t m = p->m, b = options.replicates, block = options.block;
    size_t n = p->n / block * block, rows = p->rows / block * block, outside = 0;
    npksd_real *observed = new_reals(p->n * m), *synthetic = new_reals(p->rows * m);
    npksd_real *pool = new_reals((n + rows) * m), *null_values = new_reals(b);
    shape_sample(observed, p->n, m, &rng, &shape);
    shape_sample(synthetic, p->rows, m, &rng, &shape);
    for (size_t a = 0; a < p->n; a++)
        observed[a * m] += (observed[a * m] - observed[0]) / 4;
    memcpy(pool, observed, n * m * sizeof *pool);
    memcpy(pool + n * m, synthetic, rows * m * sizeof *pool);
    ASSERT_STATUSm(p->words, NPKSD_OK,
                   npksd_test_samples_diagnose(observed, p->n, synthetic, p->rows, m, &options,
                                               &result, NULL, null_values));
    ASSERT_EQm(p->words, 0, ref_tester_pool(&ref, pool, n + rows, n, m, &options));
    CHECK_CALL(compare_result(p->words, &ref, observed, &result, null_values));
    unsigned shorter = n < p->n || rows < p->rows ? 1u * NPKSD_FLAG_PARTIAL_BLOCK : 0u;
    ASSERT_EQ_FMTm(p->words, ref.fit.flags | shorter, result.flags, "%u");
    for (size_t a = 0; a < n; a++) {
        int out = 0;
        for (size_t i = 0; i < m; i++) {
            npksd_real low = synthetic[i], high = synthetic[i];
            for (size_t r = 1; r < rows; r++) {
                low = synthetic[r * m + i] < low ? synthetic[r * m + i] : low;
                high = synthetic[r * m + i] > high ? synthetic[r * m + i] : high;
            }
            out |= observed[a * m + i] < low || observed[a * m + i] > high;
        }
        outside += (size_t)out;
    }
    ASSERT_AGREE("out of range", (double)outside / (double)n, result.out_of_range, 1e-6);
    ref_tester_free(&ref);
    free(observed);
    free(synthetic);
    free(pool);
    free(null_values);
    PASS();
}

/* ======== any mixture of options ======== */

static int one_of(npksd_rng *rng, int count) { return (int)ref_below(rng, (size_t)count); }

static void random_scales(npksd_rng *rng, npksd_options *o, npksd_real *scales)
{
    static const double list[] = { 1, 0.5, 0.25, 2, 0.3, 1.7, 8, 0.125 };
    o->scale_count = ref_below(rng, 4);
    o->scales = o->scale_count ? scales : NULL;
    for (size_t c = 0; c < o->scale_count; c++)
        scales[c] = (npksd_real)list[one_of(rng, 8)];
}

static void random_options(npksd_rng *rng, npksd_options *o, npksd_real *scales)
{
    static const size_t features[] = { 0, 0, 1, 5, 16, 19 };
    o->seed = rng->next_fn(rng->user_data);
    o->fit_rows = 30 + ref_below(rng, 90);
    o->pilot = 5 + ref_below(rng, 4);
    o->estimator = one_of(rng, 6);
    o->score_fn = chain_score;
    o->summary = one_of(rng, 6);
    o->summary_fn = sum_of_others;
    o->summary_dim = 1;
    o->kernel = one_of(rng, 2);
    o->form = one_of(rng, 2);
    o->statistic = one_of(rng, 3);
    o->components = 1 + (unsigned)one_of(rng, NPKSD_COMPONENT_ALL);
    o->features = features[one_of(rng, 6)];
    o->resample = ref_below(rng, 2) ? 0 : 1 + ref_below(rng, 6);
    o->resample_redraw = one_of(rng, 2);
    o->resample_distinct = one_of(rng, 2);
    o->smooth = (npksd_real)(one_of(rng, 3) ? 0 : 0.25);
    o->standardize = one_of(rng, 4) ? 1 : 0;
    o->bandwidth = (npksd_real)(one_of(rng, 4) ? 0 : 0.75);
    o->diagnose = one_of(rng, 4) ? 0 : 1;
    random_scales(rng, o, scales);
}

TEST random_problems(uint64_t seed, size_t problems_wanted)
{
    static const size_t ns[] = { 1, 2, 3, 7, 15, 16, 17, 20 }, ms[] = { 1, 2, 3, 4, 6 };
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 61);
    for (size_t done = 0; done < problems_wanted;) {
        npksd_options options = component_options();
        npksd_real scales[NPKSD_SCALES_MAX];
        static char name[200];
        problem p = { name, SHAPE_CHAIN, 0, 0, NULL };
        p.n = ns[one_of(&rng, 8)];
        p.m = ms[one_of(&rng, 5)];
        p.shape = (test_shape)one_of(&rng, SHAPE_COUNT);
        random_options(&rng, &options, scales);
        int explicit_score = options.estimator == NPKSD_ESTIMATOR_CALLBACK;
        if (p.shape == SHAPE_HUGE && (!options.standardize || explicit_score))
            continue; /* overflows in plain loops */
        if (p.shape == SHAPE_CONSTANT && explicit_score)
            continue; /* that score does not belong to it */
        if (FLOAT_BUILD && (p.shape == SHAPE_FAR || options.bandwidth > 0 || p.n < 7))
            continue; /* too few digits, or components so small that their squares vanish */
        if (FLOAT_BUILD && options.estimator == NPKSD_ESTIMATOR_AUTO)
            continue; /* may choose another ridge */
        if (npksd_options_problem(&options, p.n, p.m))
            continue;
        snprintf(name, sizeof name,
                 "N %zu pilot %zu estimator %d summary %d kernel %d form %d statistic %d "
                 "components %u features %zu resample %zu%s%s smooth %g scaled %d scales %zu",
                 options.fit_rows, options.pilot, options.estimator, options.summary,
                 options.kernel, options.form, options.statistic, options.components,
                 options.features, options.resample, options.resample_redraw ? " redrawn" : "",
                 options.resample_distinct ? " distinct" : "", (double)options.smooth,
                 options.standardize, options.scale_count);
        CHECK_CALL(run_problem(&p, options));
        done++;
    }
    PASS();
}

/* ======== the reference itself, against stored answers ======== */

TEST stored_moments(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "moment");
    for (size_t c = 0; c < cases; c++) {
        ref_data data;
        memset(&data, 0, sizeof data);
        vectors_word(&v, "case");
        data.n = vectors_size(&v, "n");
        data.m = vectors_size(&v, "m");
        data.form = vectors_enum(&v, vectors_word(&v, "form"));
        int statistic = vectors_enum(&v, vectors_word(&v, "statistic"));
        npksd_real *weights = vectors_array(&v, "weights", NULL);
        npksd_real *rows = vectors_array(&v, "rows", NULL);
        npksd_real *scores = vectors_array(&v, "scores", NULL);
        double answer = vectors_real(&v, "answer"), magnitude = vectors_real(&v, "magnitude");
        data.weights = weights;
        data.rows = rows;
        data.scores = scores;
        ASSERT_AGREE("moment", answer, ref_moment(&data, statistic),
                     either(1e-12, 1e-6) * magnitude);
        free(weights);
        free(rows);
        free(scores);
    }
    vectors_close(&v);
    PASS();
}

TEST stored_mmd(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "mmd");
    for (size_t c = 0; c < cases; c++) {
        size_t n, R, m, count;
        double re[2 * REF_WAVES], im[2 * REF_WAVES], re0[2 * REF_WAVES], im0[2 * REF_WAVES];
        vectors_word(&v, "case");
        n = vectors_size(&v, "n"), R = vectors_size(&v, "rows"), m = vectors_size(&v, "m");
        double sigma = vectors_real(&v, "bandwidth");
        npksd_real *given = vectors_array(&v, "ring", &count);
        npksd_real *x = vectors_array(&v, "x", NULL), *y = vectors_array(&v, "y", NULL);
        double *ring = ref_reals(count);
        for (size_t k = 0; k < count; k++)
            ring[k] = (double)given[k];
        ref_characteristic(x, n, m, sigma, ring, re, im);
        ref_characteristic(y, R, m, sigma, ring, re0, im0);
        ASSERT_AGREE("wide band", vectors_real(&v, "wide"), ref_mmd(re, im, re0, im0, 0), 1e-12);
        ASSERT_AGREE("narrow band", vectors_real(&v, "narrow"), ref_mmd(re, im, re0, im0, 1),
                     1e-12);
        free(given);
        free(x);
        free(y);
        free(ring);
    }
    vectors_close(&v);
    PASS();
}

TEST stored_combinations(void)
{
    vectors v;
    if (FLOAT_BUILD)
        SKIPm("float has other limits");
    size_t cases = vectors_open(&v, "combination");
    for (size_t c = 0; c < cases; c++) {
        static char name[64];
        size_t count, probes;
        snprintf(name, sizeof name, "%s %zu", vectors_word(&v, "case"), c);
        npksd_real *given = vectors_array(&v, "pilot", &count);
        double *values = ref_reals(count);
        for (size_t k = 0; k < count; k++)
            values[k] = (double)given[k];
        ref_gauge gauge = ref_gauge_of(values, count, 1, REF_TINY);
        double mean = vectors_real(&v, "mean"), sd = vectors_real(&v, "sd");
        ASSERT_AGREE(name, mean, gauge.mean, 1e-12 * fabs(mean) + 1e-15);
        ASSERT_AGREE(name, vectors_real(&v, "skew"), gauge.skew, 1e-7);
        ASSERT_AGREE(name, 1, gauge.sd / sd, 1e-7);
        npksd_real *probe = vectors_array(&v, "probe", &probes);
        ASSERT_EQ(probes, vectors_size(&v, "answer"));
        for (size_t k = 0; k < probes; k++) {
            double answer = strtod(vectors_next(&v), NULL);
            ASSERT_AGREE(name, answer, ref_comparable(&gauge, (double)probe[k]),
                         1e-7 * (1 + fabs(answer)));
        }
        free(given);
        free(values);
        free(probe);
    }
    vectors_close(&v);
    PASS();
}

/* ======== invariants ======== */

static npksd_status null_of(npksd_options options, size_t n, size_t m, npksd_sample_fn sample_fn,
                            void *user_data, npksd_real *out)
{
    npksd_tester *tester;
    npksd_status status = npksd_tester_create(&tester, n, m, sample_fn, user_data, &options);
    if (status == NPKSD_OK)
        status = finish(tester);
    if (status == NPKSD_OK)
        status = npksd_tester_null(tester, out, options.replicates, NULL);
    npksd_tester_destroy(tester);
    return status;
}

/* What the rows are measured in does not matter: T is the same for x and for 4 x - 64. */
static int moved_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *shape)
{
    shape_sample(rows, count, m, rng, shape);
    for (size_t k = 0; k < count * m; k++)
        rows[k] = 4 * rows[k] - 64;
    return 0;
}

TEST units_do_not_matter(int estimator)
{
    enum { N = 17, M = 3 };
    npksd_options options = component_options();
    npksd_real plain[19], moved[19];
    test_shape shape = SHAPE_SKEW;
    options.estimator = estimator;
    ASSERT_STATUS(NPKSD_OK, null_of(options, N, M, shape_sample, &shape, plain));
    ASSERT_STATUS(NPKSD_OK, null_of(options, N, M, moved_sample, &shape, moved));
    for (size_t r = 0; r < 19; r++)
        ASSERT_AGREE("T", plain[r], moved[r], either(1e-8, 5e-2) * (1 + fabs((double)plain[r])));
    PASS();
}

/* Values up to the largest number there is: their range is then too large to be one. -ffast-math
   may put differences taken in halves together again, so that the range itself must not
   overflow. */
#ifdef __FAST_MATH__
enum { LARGEST = FLOAT_BUILD ? 124 : 1020 };
#else
enum { LARGEST = FLOAT_BUILD ? 127 : 1023 };
#endif

static int skewed_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *exponent)
{
    int power = *(const int *)exponent;
    for (size_t k = 0; k < count * m; k++) { /* from -1.9 to 1.9, most of it near the top */
        double u = (double)npksd_uniform(rng);
        rows[k] = (npksd_real)ldexp(1.9 - 3.8 * u * u * u, power);
    }
    return 0;
}

TEST whole_range_of_numbers(int estimator)
{
    enum { N = 17, M = 2 };
    npksd_options options = component_options();
    npksd_real plain[19], large[19], small[19];
    int none = 0, most = LARGEST, least = FLOAT_BUILD ? -100 : -960;
    options.estimator = estimator;
    ASSERT_STATUS(NPKSD_OK, null_of(options, N, M, skewed_sample, &none, plain));
    ASSERT_STATUS(NPKSD_OK, null_of(options, N, M, skewed_sample, &most, large));
    ASSERT_STATUS(NPKSD_OK, null_of(options, N, M, skewed_sample, &least, small));
    for (size_t r = 0; r < 19; r++) {
        double bound = either(1e-8, 1e-2) * (1 + fabs((double)plain[r]));
        ASSERT_AGREE("T of large numbers", plain[r], large[r], bound);
        ASSERT_AGREE("T of small numbers", plain[r], small[r], bound);
    }
    PASS();
}

/* Noise makes T a function of rows and stream: 0 noise is no noise, some noise changes every T. */
TEST noise_changes_every_replicate(void)
{
    enum { N = 17, M = 3 };
    npksd_options options = component_options();
    npksd_real without[19], with[19];
    test_shape shape = SHAPE_CHAIN;
    ASSERT_STATUS(NPKSD_OK, null_of(options, N, M, shape_sample, &shape, without));
    options.smooth = (npksd_real)0.3;
    ASSERT_STATUS(NPKSD_OK, null_of(options, N, M, shape_sample, &shape, with));
    for (size_t r = 0; r < 19; r++)
        ASSERT_NEQ(without[r], with[r]);
    PASS();
}

/* The order of the observed rows does not matter: T up to rounding, p not at all, even for the
   rows of a replicate, whose null value would be missed by rounding. */
TEST order_of_rows_does_not_matter(const char *words)
{
    enum { N = 37, M = 3, B = 19 };
    npksd_options options = component_options();
    npksd_real turned[N * M], null_values[B];
    npksd_result there, back;
    npksd_tester *tester;
    recorder log;
    test_shape shape = SHAPE_CHAIN;
    set_options(&options, words);
    recorder_begin(&log, shape_sample, &shape, &options);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, recorder_sample, &log, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, null_values, B, NULL));
    for (size_t r = 0; r < B; r++) {
        const npksd_real *rows = log.sets + (log.calls - B + r) * N * M;
        for (size_t a = 0; a < N; a++)
            memcpy(turned + a * M, rows + (N - 1 - a) * M, M * sizeof *rows);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &there, NULL));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, turned, &back, NULL));
        ASSERT_AGREE("T", there.statistic, back.statistic,
                     either(1e-9, 1e-3) * (1 + fabs((double)there.statistic)));
        ASSERT_AGREE("p", there.p_value, back.p_value, 0);
        ASSERT_AGREE("ksd2", there.ksd2, back.ksd2, either(1e-10, 1e-3));
    }
    npksd_tester_destroy(tester);
    recorder_end(&log);
    PASS();
}

/* A generator that only shuffles: all data sets have the same numbers but for rounding, which
   must not be blown up into a rank. Not for U and MOMENT, which can be 0 here but for rounding. */
static int shuffling_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *all)
{
    memcpy(rows, all, count * m * sizeof *rows);
    for (size_t a = count; a > 1; a--)
        for (size_t i = 0, b = ref_below(rng, a); i < m; i++) {
            npksd_real swap = rows[(a - 1) * m + i];
            rows[(a - 1) * m + i] = rows[b * m + i];
            rows[b * m + i] = swap;
        }
    return 0;
}

TEST rounding_is_no_rank(const char *words)
{
    enum { N = 40, M = 3 };
    npksd_options options = component_options();
    npksd_real rows[N * M];
    npksd_result result;
    set_options(&options, words);
    for (uint64_t seed = 0; seed < 5; seed++) {
        draw_rows(rows, N, M, test_seed + seed);
        options.seed = test_seed + seed;
        ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, M, shuffling_sample, rows, &options, &result));
        ASSERT_AGREE(words, 1, result.p_value, 0);
    }
    PASS();
}

/* The same for sums over columns. There are two kinds, alike in spread and not in tails: in one half of the columns and
   in the other, then the other way round; and in other halves. */
static int turning_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *calls)
{
    size_t turn = (*(size_t *)calls)++;
    npksd_uniform(rng); /* a generator uses it */
    for (size_t a = 0; a < count; a++)
        for (size_t j = 0; j < m; j++) {
            int first = (j + turn / 2) % m < m / 2, far_out = a < count / 8 ? 2 : a < count / 4 ? -2 : 0;
            rows[a * m + j] = (npksd_real)(first == (turn % 2 == 0) ? far_out : a % 2 ? 1 : -1);
        }
    return 0;
}

TEST order_of_columns_is_no_rank(void)
{
    enum { N = 40, M = 20 };
    npksd_options options = component_options();
    npksd_real rows[N * M];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 62);
    npksd_tester *tester;
    npksd_result result;
    size_t calls = 0;
    set_options(&options, "margin");
    options.fit_rows = 10 * N;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, turning_sample, &calls, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    for (calls = 0; calls < M;) {
        turning_sample(rows, N, M, &rng, &calls);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
        ASSERT_AGREE("p", 1, result.p_value, 0);
    }
    npksd_tester_destroy(tester);
    PASS();
}

/* Many rows next to 0, x, x, -x, -x, ... with scores c, -c, ...: MOMENT's U is 1 - c^2 / (n - 1), also in float. */
static int small_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    npksd_uniform(rng); /* a generator uses it */
    for (size_t k = 0; k < count * m; k++)
        rows[k] = (npksd_real)(k / m % 4 < 2 ? 1e-6 : -1e-6);
    return 0;
}

static int alternating_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *size)
{
    (void)rows;
    for (size_t k = 0; k < count * m; k++)
        scores[k] = *(const npksd_real *)size * (npksd_real)(k / m % 2 ? -1 : 1);
    return 0;
}

TEST moments_of_many_rows(void)
{
    enum { N = 200000 };
    npksd_options options = component_options();
    npksd_real *rows = new_reals(N), size = (npksd_real)12345.67;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 63);
    npksd_result result;
    set_options(&options, "score_callback moment u features=1 unscaled bandwidth=1 pilot=0");
    options.score_fn = alternating_score;
    options.score_user_data = &size;
    options.alpha = (npksd_real)0.5;
    options.replicates = 1;
    small_sample(rows, N, 1, &rng, NULL);
    ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, 1, small_sample, NULL, &options, &result));
    double expected = 1 - (double)size * (double)size / (N - 1);
    ASSERT_AGREE("U", 1, (double)result.statistic / expected, either(1e-10, 1e-4));
    free(rows);
    PASS();
}

/* Without scaling a unit is a matter of the bandwidth alone (but for MOMENT and its 1 + x.y). The median distance is
   2.5 units here; the header promises distances up to 1e140 = 2^465 (float 1e15 = 2^49.8). */
typedef struct unit_sample {
    test_shape shape;
    int exponent;
} unit_sample;

static int in_units(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    unit_sample *unit = (unit_sample *)user_data;
    shape_sample(rows, count, m, rng, &unit->shape);
    for (size_t k = 0; k < count * m; k++)
        rows[k] = (npksd_real)ldexp((double)rows[k], unit->exponent);
    return 0;
}

TEST unscaled_units_do_not_matter(const char *words)
{
    enum { N = 17, M = 3 };
    static const int exponents[2][4] = { { -464, -60, 60, 463 }, { -49, -12, 12, 48 } };
    npksd_options options = component_options();
    npksd_real plain[19], other[19];
    unit_sample unit = { SHAPE_CHAIN, 0 };
    set_options(&options, words);
    options.standardize = 0;
    ASSERT_STATUS(NPKSD_OK, null_of(options, N, M, in_units, &unit, plain));
    for (size_t k = 0; k < 4; k++) {
        unit.exponent = exponents[FLOAT_BUILD][k];
        ASSERT_STATUS(NPKSD_OK, null_of(options, N, M, in_units, &unit, other));
        for (size_t r = 0; r < 19; r++)
            ASSERT_AGREE("T", plain[r], other[r],
                         either(1e-8, 5e-2) * (1 + fabs((double)plain[r])));
    }
    PASS();
}

/* Stratified sampling: one row in the middle of each of `count` strata, give or take a share of it. Data sets hardly
   differ, yet by more than rounding: ten times the share is seen. */
static int stratified_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *share)
{
    for (size_t k = 0; k < count * m; k++) {
        double apart = *(const double *)share * ((double)npksd_uniform(rng) - 0.5);
        rows[k] = (npksd_real)(((double)k + 0.5 + apart) / (double)count);
    }
    return 0;
}

TEST data_sets_that_hardly_differ(void)
{
    enum { N = 40 };
    npksd_options options = npksd_default_options();
    npksd_real rows[N];
    npksd_result result;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 61);
    double share = either(4e-6, 4e-3), wide = 10 * share;
    options.components = NPKSD_COMPONENT_MMD;
    options.replicates = 99;
    options.seed = test_seed;
    stratified_sample(rows, N, 1, &rng, &wide);
    ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, 1, stratified_sample, &share, &options, &result));
    ASSERT_IN_RANGE(0.01, (double)result.p_value, 1e-6);
    PASS();
}

/* ======== what each is for ======== */

typedef enum change { MOVED, WIDER, RELATED, ROUNDED, OTHER_SHARES, CHANGES } change;

typedef struct changed {
    change what;
    int there; /* 0: before the change */
} changed;

/* Normal numbers, or, of modes whose shares change, two far apart in column 0. */
static int changed_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    const changed *c = (const changed *)user_data;
    for (size_t a = 0; a < count; a++, rows += m) {
        for (size_t i = 0; i < m; i++)
            rows[i] = npksd_normal(rng);
        double u = (double)npksd_uniform(rng);
        if (c->what == OTHER_SHARES)
            rows[0] += u < (c->there ? 0.9 : 0.5) ? -5 : 5;
        if (!c->there)
            continue;
        switch (c->what) {
        case MOVED: rows[0] += (npksd_real)1.5; break;
        case WIDER: rows[0] *= 3; break;
        case RELATED: rows[1] = (npksd_real)0.8 * rows[0] + (npksd_real)0.6 * rows[1]; break;
        case ROUNDED: rows[0] = (npksd_real)floor(2 * (double)rows[0] + 0.5) / 2; break;
        default: break;
        }
    }
    return 0;
}

/* One component alone sees what the README says it sees, and hardly what it says it hardly sees: at least 7 and at most
   4 of 10. */
TEST one_component(const char *word, const char *sees)
{
    enum { N = 100, M = 2, SEEDS = 10 };
    npksd_real rows[N * M];
    for (int what = 0; what < CHANGES; what++) {
        changed here = { (change)what, 1 }, there = { (change)what, 0 };
        npksd_options options = npksd_default_options();
        npksd_result result;
        size_t rejected = 0;
        options.replicates = 39;
        options.pilot = 50;
        options.fit_rows = 1000;
        set_options(&options, word);
        for (uint64_t seed = 0; seed < SEEDS && sees[what] != ' '; seed++) {
            npksd_rng_state state;
            npksd_rng rng = npksd_rng_seeded(&state, test_seed + seed, 88);
            options.seed = test_seed + seed;
            changed_sample(rows, N, M, &rng, &here);
            ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, M, changed_sample, &there, &options, &result));
            ASSERT_EQ_FMT(options.components, result.leading, "%u");
            rejected += (size_t)result.reject;
        }
        ASSERTm(word, sees[what] != '+' || rejected >= 7);
        ASSERTm(word, sees[what] != '-' || rejected <= 4);
    }
    PASS();
}

SUITE(suite_components)
{
    RUN_TEST(stored_moments);
    RUN_TEST(stored_mmd);
    RUN_TEST(stored_combinations);
    for (size_t k = 0; k < sizeof problems / sizeof problems[0]; k++) {
        greatest_set_test_suffix(problems[k].name);
        RUN_TESTp(recorded_problem, &problems[k]);
    }
    for (size_t k = 0; k < sizeof pool_problems / sizeof pool_problems[0]; k++)
        RUN_TESTp(fixed_samples, &pool_problems[k]);
    RUN_TESTp(random_problems, test_seed, 60);
    RUN_TESTp(units_do_not_matter, NPKSD_ESTIMATOR_GAUSS);
    RUN_TESTp(units_do_not_matter, NPKSD_ESTIMATOR_SPLINE);
    for (int estimator = NPKSD_ESTIMATOR_GAUSS; estimator <= NPKSD_ESTIMATOR_RBF; estimator++)
        RUN_TESTp(whole_range_of_numbers, estimator);
    RUN_TEST(noise_changes_every_replicate);
    RUN_TESTp(order_of_rows_does_not_matter, "");
    RUN_TESTp(order_of_rows_does_not_matter, "imq scalar");
    RUN_TESTp(order_of_rows_does_not_matter, "features=11");
    RUN_TESTp(order_of_rows_does_not_matter, "stein scales=1");
    RUN_TESTp(order_of_rows_does_not_matter, "pair");
    RUN_TESTp(rounding_is_no_rank, "stein v");
    RUN_TESTp(rounding_is_no_rank, "mirror");
    RUN_TESTp(rounding_is_no_rank, "mmd");
    RUN_TESTp(rounding_is_no_rank, "margin");
    RUN_TESTp(rounding_is_no_rank, "pair");
    RUN_TEST(order_of_columns_is_no_rank);
    RUN_TEST(moments_of_many_rows);
    RUN_TESTp(unscaled_units_do_not_matter, "stein mirror mmd margin pair");
    RUN_TESTp(unscaled_units_do_not_matter, "stein mirror imq");
    RUN_TESTp(unscaled_units_do_not_matter, "stein mirror features=11");
    RUN_TEST(data_sets_that_hardly_differ);
    /* moved, wider, related, rounded, other shares of two modes */
    RUN_TESTp(one_component, "stein", "+   -");
    RUN_TESTp(one_component, "mirror", " +   ");
    RUN_TESTp(one_component, "moment", "+++ -");
    RUN_TESTp(one_component, "mmd", "    +");
    RUN_TESTp(one_component, "margin", "++-++");
    RUN_TESTp(one_component, "pair", "--+--");
}
