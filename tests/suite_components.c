/* The statistic T of every replicate and of observed rows, worked out again from recorded calls. */
#include "ref_tester.h"

/* One problem: a shape of data, its size, and what to change in the options. */
typedef struct problem {
    const char *name;
    test_shape shape;
    size_t n, m;
    void (*change)(npksd_options *options);
} problem;

static npksd_options component_options(void)
{
    npksd_options options = npksd_default_options();
    options.seed = test_seed + 100;
    options.fit_rows = 64;
    options.replicates = 19;
    options.pilot = 6;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    return options;
}

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

/* ======== what is changed ======== */

static void as_it_is(npksd_options *o) { (void)o; }
static void use_default(npksd_options *o) { o->estimator = NPKSD_ESTIMATOR_AUTO; }
static void use_spline(npksd_options *o) { o->estimator = NPKSD_ESTIMATOR_SPLINE; }

static void use_callback(npksd_options *o)
{
    o->estimator = NPKSD_ESTIMATOR_CALLBACK;
    o->score_fn = chain_score;
}

static void use_imq(npksd_options *o) { o->kernel = NPKSD_KERNEL_IMQ; }
static void use_scalar(npksd_options *o) { o->form = NPKSD_FORM_SCALAR; }

static void use_imq_scalar(npksd_options *o)
{
    o->kernel = NPKSD_KERNEL_IMQ;
    o->form = NPKSD_FORM_SCALAR;
}

static void use_v(npksd_options *o) { o->statistic = NPKSD_STATISTIC_V; }
static void use_u(npksd_options *o) { o->statistic = NPKSD_STATISTIC_U; }
static void no_scaling(npksd_options *o) { o->standardize = 0; }

static void no_scaling_imq(npksd_options *o)
{
    o->standardize = 0;
    o->kernel = NPKSD_KERNEL_IMQ;
    o->resample = 4;
}

static void no_scaling_callback(npksd_options *o)
{
    use_callback(o);
    o->standardize = 0;
    o->bandwidth = 2;
}

static void own_bandwidth(npksd_options *o) { o->bandwidth = (npksd_real)0.75; }

static void set_scales(npksd_options *o, const npksd_real *scales, size_t count)
{
    o->scales = scales;
    o->scale_count = count;
}

static void scales_powers(npksd_options *o)
{
    static const npksd_real scales[] = { 4, (npksd_real)0.0625, 1, 32 }; /* not in order, gaps */
    set_scales(o, scales, 4);
}

static void scales_odd(npksd_options *o)
{
    static const npksd_real scales[] = { (npksd_real)0.3, 1, (npksd_real)2.5, (npksd_real)0.6 };
    set_scales(o, scales, 4);
}

static void scales_without_base(npksd_options *o)
{
    static const npksd_real scales[] = { (npksd_real)0.5, (npksd_real)0.125 };
    set_scales(o, scales, 2);
}

static void scales_without_base_odd(npksd_options *o)
{
    static const npksd_real scales[] = { (npksd_real)0.7, 3 };
    set_scales(o, scales, 2);
    o->kernel = NPKSD_KERNEL_IMQ;
}

static void scales_twice(npksd_options *o)
{
    static const npksd_real scales[] = { (npksd_real)0.5, 1, (npksd_real)0.5, 1 };
    set_scales(o, scales, 4);
}

static void scales_most(npksd_options *o)
{
    static const npksd_real scales[NPKSD_SCALES_MAX] = {
        1, 2, 4, 8, (npksd_real)0.5, (npksd_real)0.25, (npksd_real)0.125, (npksd_real)0.0625,
        3, 5, 7, 9, (npksd_real)0.1, (npksd_real)0.2,  (npksd_real)0.4,   (npksd_real)0.8
    };
    set_scales(o, scales, NPKSD_SCALES_MAX);
}

static void resample_shared(npksd_options *o) { o->resample = 3; }

static void resample_distinct(npksd_options *o)
{
    o->resample = 2;
    o->resample_distinct = 1;
}

static void resample_redrawn(npksd_options *o)
{
    o->resample = 4;
    o->resample_redraw = 1;
}

static void resample_redrawn_distinct(npksd_options *o)
{
    o->resample = 2;
    o->resample_redraw = 1;
    o->resample_distinct = 1;
    o->form = NPKSD_FORM_SCALAR;
}

static void resample_redrawn_imq(npksd_options *o)
{
    resample_redrawn(o);
    o->kernel = NPKSD_KERNEL_IMQ;
}

static void resample_many(npksd_options *o) { o->resample = 50; } /* all drawn, not equally often */

static void linear_time(npksd_options *o) { o->features = 13; }

static void linear_time_scalar(npksd_options *o)
{
    o->features = 20;
    o->form = NPKSD_FORM_SCALAR;
}

static void linear_time_resampled(npksd_options *o)
{
    o->features = 16;
    o->resample = 3;
    o->resample_redraw = 1;
}

static void linear_time_scales(npksd_options *o)
{
    scales_odd(o);
    o->features = 7;
}

static void linear_time_without_base(npksd_options *o)
{
    scales_without_base(o);
    o->features = 7;
    o->statistic = NPKSD_STATISTIC_U;
}

static void linear_time_unscaled(npksd_options *o)
{
    o->features = 9;
    o->standardize = 0;
}

static void smoothed(npksd_options *o) { o->smooth = (npksd_real)0.5; }

static void smoothed_stream(npksd_options *o) /* more rows than are kept */
{
    o->smooth = (npksd_real)0.25;
    o->fit_rows = 1100;
    o->estimator = NPKSD_ESTIMATOR_SPLINE;
}

static void smoothed_redrawn(npksd_options *o)
{
    o->smooth = (npksd_real)0.125;
    o->resample = 3;
    o->resample_redraw = 1;
    o->estimator = NPKSD_ESTIMATOR_AUTO;
}

static void only(npksd_options *o, unsigned component)
{
    static const npksd_real one = 1;
    o->components = component;
    o->statistic = NPKSD_STATISTIC_V;
    set_scales(o, &one, 1);
}

static void only_stein_v(npksd_options *o)
{
    only(o, NPKSD_COMPONENT_STEIN);
    o->pilot = 0;
}

static void only_stein_u(npksd_options *o)
{
    only(o, NPKSD_COMPONENT_STEIN);
    o->statistic = NPKSD_STATISTIC_U;
}

static void only_stein_all_scales(npksd_options *o) { o->components = NPKSD_COMPONENT_STEIN; }
static void only_mirror(npksd_options *o) { only(o, NPKSD_COMPONENT_MIRROR); }
static void only_moment(npksd_options *o) { only(o, NPKSD_COMPONENT_MOMENT); }

static void only_moment_u(npksd_options *o)
{
    only(o, NPKSD_COMPONENT_MOMENT);
    o->statistic = NPKSD_STATISTIC_U;
}

static void only_moment_uv(npksd_options *o) { o->components = NPKSD_COMPONENT_MOMENT; }
static void only_mmd(npksd_options *o) { only(o, NPKSD_COMPONENT_MMD); }

static void only_mmd_imq(npksd_options *o)
{
    o->components = NPKSD_COMPONENT_MMD;
    o->kernel = NPKSD_KERNEL_IMQ;
}

static void only_mmd_without_base(npksd_options *o)
{
    o->components = NPKSD_COMPONENT_MMD;
    scales_without_base(o);
}

static void only_mmd_linear_time(npksd_options *o)
{
    o->components = NPKSD_COMPONENT_MMD;
    o->features = 12;
    o->pilot = 0;
}

static void mirror_and_mmd(npksd_options *o)
{
    o->components = NPKSD_COMPONENT_MIRROR | NPKSD_COMPONENT_MMD;
}

static void mirror_and_moment_imq(npksd_options *o)
{
    o->components = NPKSD_COMPONENT_MIRROR | NPKSD_COMPONENT_MOMENT;
    o->kernel = NPKSD_KERNEL_IMQ;
}

static const problem problems[] = {
    { "default", SHAPE_CHAIN, 17, 3, use_default },
    { "default", SHAPE_SKEW, 20, 2, use_default },
    { "default", SHAPE_TIES, 16, 2, use_default },
    { "default", SHAPE_CONSTANT, 17, 3, use_default },
    { "gauss", SHAPE_CHAIN, 1, 3, as_it_is },
    { "gauss", SHAPE_CHAIN, 2, 3, as_it_is },
    { "gauss", SHAPE_CHAIN, 3, 1, as_it_is },
    { "gauss", SHAPE_CHAIN, 1, 1, as_it_is },
    { "gauss", SHAPE_TRAJECTORY, 33, 2, as_it_is },
    { "gauss", SHAPE_CHAIN, 17, 18, as_it_is },
    { "gauss", SHAPE_HUGE, 17, 3, as_it_is },
    { "spline", SHAPE_SKEW, 17, 2, use_spline },
    { "callback", SHAPE_CHAIN, 17, 3, use_callback },
    { "imq", SHAPE_CHAIN, 17, 3, use_imq },
    { "imq", SHAPE_CHAIN, 2, 2, use_imq },
    { "imq", SHAPE_CHAIN, 1, 2, use_imq },
    { "scalar", SHAPE_CHAIN, 17, 3, use_scalar },
    { "scalar", SHAPE_CHAIN, 1, 3, use_scalar },
    { "imq_scalar", SHAPE_SKEW, 17, 3, use_imq_scalar },
    { "v", SHAPE_CHAIN, 16, 2, use_v },
    { "u", SHAPE_CHAIN, 16, 2, use_u },
    { "u", SHAPE_CHAIN, 2, 2, use_u },
    { "no_scaling", SHAPE_FAR, 17, 3, no_scaling },
    { "no_scaling", SHAPE_CONSTANT, 17, 3, no_scaling },
    { "no_scaling_imq", SHAPE_CHAIN, 17, 3, no_scaling_imq },
    { "no_scaling_callback", SHAPE_CHAIN, 17, 3, no_scaling_callback },
    { "own_bandwidth", SHAPE_CHAIN, 17, 3, own_bandwidth },
    { "scales_powers", SHAPE_CHAIN, 17, 3, scales_powers },
    { "scales_odd", SHAPE_CHAIN, 17, 3, scales_odd },
    { "scales_without_base", SHAPE_CHAIN, 17, 3, scales_without_base },
    { "scales_without_base", SHAPE_CHAIN, 1, 2, scales_without_base },
    { "scales_without_base_odd", SHAPE_CHAIN, 17, 3, scales_without_base_odd },
    { "scales_twice", SHAPE_CHAIN, 17, 3, scales_twice },
    { "scales_most", SHAPE_CHAIN, 5, 2, scales_most },
    { "resample_shared", SHAPE_CHAIN, 17, 5, resample_shared },
    { "resample_distinct", SHAPE_CHAIN, 17, 5, resample_distinct },
    { "resample_redrawn", SHAPE_CHAIN, 17, 5, resample_redrawn },
    { "resample_redrawn_distinct", SHAPE_CHAIN, 17, 4, resample_redrawn_distinct },
    { "resample_redrawn_imq", SHAPE_SKEW, 3, 5, resample_redrawn_imq },
    { "resample_many", SHAPE_CHAIN, 17, 4, resample_many },
    { "linear_time", SHAPE_CHAIN, 17, 3, linear_time },
    { "linear_time", SHAPE_CHAIN, 1, 3, linear_time },
    { "linear_time", SHAPE_CHAIN, 2, 1, linear_time },
    { "linear_time_scalar", SHAPE_CHAIN, 17, 3, linear_time_scalar },
    { "linear_time_resampled", SHAPE_CHAIN, 17, 4, linear_time_resampled },
    { "linear_time_scales", SHAPE_CHAIN, 17, 2, linear_time_scales },
    { "linear_time_without_base", SHAPE_CHAIN, 17, 2, linear_time_without_base },
    { "linear_time_unscaled", SHAPE_FAR, 17, 2, linear_time_unscaled },
    { "smoothed", SHAPE_CHAIN, 17, 3, smoothed },
    { "smoothed", SHAPE_TIES, 16, 2, smoothed },
    { "smoothed", SHAPE_CONSTANT, 7, 3, smoothed },
    { "smoothed_stream", SHAPE_TIES, 30, 2, smoothed_stream },
    { "smoothed_redrawn", SHAPE_TIES, 17, 4, smoothed_redrawn },
    { "only_stein_v", SHAPE_CHAIN, 17, 3, only_stein_v },
    { "only_stein_v", SHAPE_CHAIN, 1, 3, only_stein_v },
    { "only_stein_u", SHAPE_CHAIN, 17, 3, only_stein_u },
    { "only_stein_all_scales", SHAPE_CHAIN, 17, 3, only_stein_all_scales },
    { "only_mirror", SHAPE_CHAIN, 17, 3, only_mirror },
    { "only_moment", SHAPE_CHAIN, 17, 3, only_moment },
    { "only_moment_u", SHAPE_CHAIN, 3, 3, only_moment_u },
    { "only_moment_uv", SHAPE_CHAIN, 17, 3, only_moment_uv },
    { "only_mmd", SHAPE_CHAIN, 17, 3, only_mmd },
    { "only_mmd", SHAPE_CHAIN, 1, 2, only_mmd },
    { "only_mmd_imq", SHAPE_CHAIN, 17, 3, only_mmd_imq },
    { "only_mmd_without_base", SHAPE_CHAIN, 17, 3, only_mmd_without_base },
    { "only_mmd_linear_time", SHAPE_CHAIN, 17, 3, only_mmd_linear_time },
    { "mirror_and_mmd", SHAPE_CHAIN, 17, 3, mirror_and_mmd },
    { "mirror_and_moment_imq", SHAPE_CHAIN, 17, 3, mirror_and_moment_imq },
};

TEST recorded_problem(const problem *p)
{
    npksd_options options = component_options();
    p->change(&options);
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
