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
    return either(1e-7, 5e-2) * (fabs(expected) + (ref_is_single(ref) ? usual : 1));
}

static enum greatest_test_res compare_observed(const char *name, npksd_tester *tester,
                                               const ref_tester *ref, const npksd_real *rows)
{
    double values[REF_COMPONENTS], lead;
    unsigned leading;
    npksd_result result;
    ref_view_of view = ref_see_observed(ref, rows);
    ref_components(ref, &view, values, NULL);
    double T = ref_combine(ref, values, &leading, &lead), bound = statistic_bound(ref, T);
    ASSERT_STATUSm(name, NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
    ASSERT_AGREE(name, T, result.statistic, bound);
    if (lead > 2 * bound)
        ASSERT_EQ_FMTm(name, leading, result.leading, "%u");
    double sigma = sqrt(ref->sigma2), U = 0, V = ref_stein_of(ref, &view, 1, NPKSD_STATISTIC_V, 0);
    if (ref->n > 1)
        U = ref_stein_of(ref, &view, 1, NPKSD_STATISTIC_U, 0);
    ASSERT_AGREE("bandwidth", sigma, result.bandwidth, either(1e-9, 1e-4) * sigma);
    ASSERT_AGREE("ksd2", U, result.ksd2, either(1e-8, 2e-2) * (fabs(U) + fabs(V)));
    ASSERT_EQ_FMTm(name, ref->fit.flags, result.flags, "%u");
    ref_unsee(&view);
    PASS();
}

static enum greatest_test_res run_problem(const problem *p, npksd_options options)
{
    recorder log;
    npksd_tester *tester;
    ref_tester ref;
    test_shape shape = p->shape;
    npksd_real *rows = new_reals(p->n * p->m), *null_values = new_reals(options.replicates);
    static char name[300];
    size_t count = 0;
    snprintf(name, sizeof name, "%s, %s, n %zu, m %zu", p->name, shape_name(shape), p->n, p->m);
    recorder_begin(&log, shape_sample, &shape, &options);
    const char *fault = npksd_options_problem(&options, p->n, p->m);
    ASSERTm(fault, fault == NULL);
    ASSERT_STATUSm(name, NPKSD_OK,
                   npksd_tester_create(&tester, p->n, p->m, recorder_sample, &log, &options));
    ASSERT_STATUSm(name, NPKSD_OK, finish(tester));
    ASSERT_EQm(name, 0, ref_tester_make(&ref, &log, p->n, p->m, &options));
    ASSERT_STATUSm(name, NPKSD_OK,
                   npksd_tester_null(tester, null_values, options.replicates, &count));
    ASSERT_EQm(name, options.replicates, count);
    for (size_t r = 0; r < count; r++)
        ASSERT_AGREE(name, ref.null_values[r], null_values[r],
                     statistic_bound(&ref, ref.null_values[r]));
    observed_rows(p, rows);
    CHECK_CALL(compare_observed(name, tester, &ref, rows));
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
    { "gauss", SHAPE_CHAIN, 1, 3, "" },
    { "gauss", SHAPE_CHAIN, 2, 3, "" },
    { "gauss", SHAPE_CHAIN, 3, 1, "" },
    { "gauss", SHAPE_CHAIN, 1, 1, "" },
    { "gauss", SHAPE_TRAJECTORY, 33, 2, "" },
    { "gauss", SHAPE_CHAIN, 17, 18, "" },
    { "gauss", SHAPE_HUGE, 17, 3, "" },
    { "spline", SHAPE_SKEW, 17, 2, "spline" },
    { "callback", SHAPE_CHAIN, 17, 3, "score_callback" },
    { "imq", SHAPE_CHAIN, 17, 3, "imq" },
    { "imq", SHAPE_CHAIN, 2, 2, "imq" },
    { "imq", SHAPE_CHAIN, 1, 2, "imq" },
    { "scalar", SHAPE_CHAIN, 17, 3, "scalar" },
    { "scalar", SHAPE_CHAIN, 1, 3, "scalar" },
    { "imq_scalar", SHAPE_SKEW, 17, 3, "imq scalar" },
    { "v", SHAPE_CHAIN, 16, 2, "v" },
    { "u", SHAPE_CHAIN, 16, 2, "u" },
    { "u", SHAPE_CHAIN, 2, 2, "u" },
    { "no_scaling", SHAPE_FAR, 17, 3, "unscaled" },
    { "no_scaling", SHAPE_CONSTANT, 17, 3, "unscaled" },
    { "no_scaling_imq", SHAPE_CHAIN, 17, 3, "unscaled imq resample=4" },
    { "no_scaling_callback", SHAPE_CHAIN, 17, 3, "score_callback unscaled bandwidth=2" },
    { "own_bandwidth", SHAPE_CHAIN, 17, 3, "bandwidth=0.75" },
    { "scales_powers", SHAPE_CHAIN, 17, 3, "scales=4,0.0625,1,32" },
    { "scales_odd", SHAPE_CHAIN, 17, 3, "scales=0.3,1,2.5,0.6" },
    { "scales_without_base", SHAPE_CHAIN, 17, 3, "scales=0.5,0.125" },
    { "scales_without_base", SHAPE_CHAIN, 1, 2, "scales=0.5,0.125" },
    { "scales_without_base_odd", SHAPE_CHAIN, 17, 3, "scales=0.7,3 imq" },
    { "scales_twice", SHAPE_CHAIN, 17, 3, "scales=0.5,1,0.5,1" },
    { "scales_most", SHAPE_CHAIN, 5, 2, "scales=1,2,4,8,0.5,0.25,0.125,0.0625,3,5,7,9,0.1,0.2,0.4,0.8" },
    { "resample_shared", SHAPE_CHAIN, 17, 5, "resample=3" },
    { "resample_distinct", SHAPE_CHAIN, 17, 5, "resample=2 distinct" },
    { "resample_redrawn", SHAPE_CHAIN, 17, 5, "resample=4 redraw" },
    { "resample_redrawn_distinct", SHAPE_CHAIN, 17, 4, "resample=2 redraw distinct scalar" },
    { "resample_redrawn_imq", SHAPE_SKEW, 3, 5, "resample=4 redraw imq" },
    { "resample_many", SHAPE_CHAIN, 17, 4, "resample=50" },
    { "linear_time", SHAPE_CHAIN, 17, 3, "features=13" },
    { "linear_time", SHAPE_CHAIN, 1, 3, "features=13" },
    { "linear_time", SHAPE_CHAIN, 2, 1, "features=13" },
    { "linear_time_scalar", SHAPE_CHAIN, 17, 3, "features=20 scalar" },
    { "linear_time_resampled", SHAPE_CHAIN, 17, 4, "features=16 resample=3 redraw" },
    { "linear_time_scales", SHAPE_CHAIN, 17, 2, "scales=0.3,1,2.5,0.6 features=7" },
    { "linear_time_without_base", SHAPE_CHAIN, 17, 2, "scales=0.5,0.125 features=7 u" },
    { "linear_time_unscaled", SHAPE_FAR, 17, 2, "features=9 unscaled" },
    { "smoothed", SHAPE_CHAIN, 17, 3, "smooth=0.5" },
    { "smoothed", SHAPE_TIES, 16, 2, "smooth=0.5" },
    { "smoothed", SHAPE_CONSTANT, 7, 3, "smooth=0.5" },
    { "smoothed_stream", SHAPE_TIES, 30, 2, "smooth=0.25 fit_rows=1100 spline" },
    { "smoothed_redrawn", SHAPE_TIES, 17, 4, "smooth=0.125 resample=3 redraw auto" },
    { "only_stein_v", SHAPE_CHAIN, 17, 3, "stein v scales=1 pilot=0" },
    { "only_stein_v", SHAPE_CHAIN, 1, 3, "stein v scales=1 pilot=0" },
    { "only_stein_u", SHAPE_CHAIN, 17, 3, "stein u scales=1" },
    { "only_stein_all_scales", SHAPE_CHAIN, 17, 3, "stein" },
    { "only_mirror", SHAPE_CHAIN, 17, 3, "mirror v scales=1" },
    { "only_moment", SHAPE_CHAIN, 17, 3, "moment v scales=1" },
    { "only_moment_u", SHAPE_CHAIN, 3, 3, "moment u scales=1" },
    { "only_moment_uv", SHAPE_CHAIN, 17, 3, "moment" },
    { "only_mmd", SHAPE_CHAIN, 17, 3, "mmd v scales=1" },
    { "only_mmd", SHAPE_CHAIN, 1, 2, "mmd v scales=1" },
    { "only_mmd_imq", SHAPE_CHAIN, 17, 3, "mmd imq" },
    { "only_mmd_without_base", SHAPE_CHAIN, 17, 3, "mmd scales=0.5,0.125" },
    { "only_mmd_linear_time", SHAPE_CHAIN, 17, 3, "mmd features=12 pilot=0" },
    { "mirror_and_mmd", SHAPE_CHAIN, 17, 3, "mirror mmd" },
    { "mirror_and_moment_imq", SHAPE_CHAIN, 17, 3, "mirror moment imq" },
};

TEST recorded_problem(const problem *p)
{
    npksd_options options = component_options();
    set_options(&options, p->words);
    if (FLOAT_BUILD && options.estimator == NPKSD_ESTIMATOR_AUTO)
        SKIPm("float may choose another ridge");
    CHECK_CALL(run_problem(p, options));
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
        if (p.shape == SHAPE_CONSTANT && (p.m == 1 || explicit_score))
            continue; /* all data sets alike: T is the rounding of the plain loops */
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
        vectors_word(&v, "case");
        size_t n = vectors_size(&v, "n"), q = vectors_size(&v, "q"), m = vectors_size(&v, "m");
        int kernel = vectors_kernel(&v);
        double sigma2 = pow(vectors_real(&v, "bandwidth"), 2);
        sigma2 *= vectors_real(&v, "scale");
        npksd_real *x = vectors_array(&v, "x", NULL), *y = vectors_array(&v, "y", NULL);
        ASSERT_AGREE("mmd", vectors_real(&v, "answer"), ref_mmd(x, n, y, q, m, kernel, sigma2),
                     either(1e-13, 1e-6));
        free(x);
        free(y);
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

/* Values up to the largest number there is: their range is then too large to be one. -ffast-math may
   put differences taken in halves together again, so that the range itself must not overflow. */
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

/* The order of the observed rows does not matter (up to rounding), whatever else is asked for. */
TEST order_of_rows_does_not_matter(void)
{
    enum { N = 37, M = 3 };
    npksd_options options = component_options();
    npksd_real rows[N * M], turned[N * M];
    npksd_result there, back;
    draw_rows(rows, N, M, test_seed);
    for (size_t a = 0; a < N; a++)
        memcpy(turned + a * M, rows + (N - 1 - a) * M, M * sizeof *rows);
    for (int linear = 0; linear < 2; linear++) {
        options.features = linear ? 11 : 0;
        ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, M, chain_sample, NULL, &options, &there));
        ASSERT_STATUS(NPKSD_OK, npksd_test(turned, N, M, chain_sample, NULL, &options, &back));
        ASSERT_AGREE("T", there.statistic, back.statistic, either(1e-8, 1e-2));
        ASSERT_AGREE("ksd2", there.ksd2, back.ksd2, either(1e-10, 1e-3));
    }
    PASS();
}

SUITE(suite_components)
{
    RUN_TEST(stored_moments);
    RUN_TEST(stored_mmd);
    for (size_t k = 0; k < sizeof problems / sizeof problems[0]; k++) {
        greatest_set_test_suffix(problems[k].name);
        RUN_TESTp(recorded_problem, &problems[k]);
    }
    RUN_TESTp(random_problems, test_seed, 60);
    RUN_TESTp(units_do_not_matter, NPKSD_ESTIMATOR_GAUSS);
    RUN_TESTp(units_do_not_matter, NPKSD_ESTIMATOR_SPLINE);
    for (int estimator = NPKSD_ESTIMATOR_GAUSS; estimator <= NPKSD_ESTIMATOR_RBF; estimator++)
        RUN_TESTp(whole_range_of_numbers, estimator);
    RUN_TEST(noise_changes_every_replicate);
    RUN_TEST(order_of_rows_does_not_matter);
}
