/*
 * ref_tester.h - a whole tester in plain loops, fed with what the real one drew.
 *
 * A recorder stands between npksd.h and a generator and keeps every data set, in the order of the
 * calls, and the state of the random numbers behind it. From these ref_tester_make works out fit,
 * bandwidth, index sets, pilot and null values with the formulas of ref.h.
 */
#ifndef NPKSD_REF_TESTER_H
#define NPKSD_REF_TESTER_H

#include "ref.h"
#include "support.h"
#include "vectors.h"

/* ======== closeness ======== */

enum { FLOAT_BUILD = sizeof(npksd_real) == sizeof(float) };

REF_FN double either(double in_double, double in_float)
{
    return FLOAT_BUILD ? in_float : in_double;
}

/* by bits: -ffast-math assumes that there is nothing to find */
REF_FN int is_number(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 52 & 0x7ff) != 0x7ff;
}

/* 1 = |expected - got| <= bound; otherwise says so, with the seed that brings it back */
REF_FN int agree(const char *what, double expected, double got, double bound)
{
    if (is_number(got) && is_number(expected) && fabs(expected - got) <= bound)
        return 1;
    printf("\n%s: expected %.17g, got %.17g, off by %g, bound %g (NPKSD_TEST_SEED=%llu)\n", what,
           expected, got, fabs(expected - got), bound, (unsigned long long)test_seed);
    return 0;
}

#define ASSERT_AGREE(WHAT, EXPECTED, GOT, BOUND)                                                   \
    ASSERT(agree(WHAT, (double)(EXPECTED), (double)(GOT), BOUND))

REF_FN npksd_real *new_reals(size_t count)
{
    npksd_real *p = (npksd_real *)calloc(count ? count : 1, sizeof *p);
    if (!p)
        abort();
    return p;
}

REF_FN uint64_t purpose(uint64_t number) { return number << 56; }
/* First of its streams: 4 observed, 5 index set, 6 frequencies, 7 noise of the kept rows. */

/* ======== generators: chain_sample, bent, rounded, frozen, moved, stretched ======== */

typedef enum test_shape {
    SHAPE_CHAIN,      /* as it comes */
    SHAPE_SKEW,       /* x + x^2/3: AUTO prefers a spline */
    SHAPE_TIES,       /* coordinate 0 in steps of 1/2 */
    SHAPE_CONSTANT,   /* the last coordinate is always 7 */
    SHAPE_FAR,        /* 1000 + x/8 */
    SHAPE_HUGE,       /* coordinate 0 times 1e300, the last one times 1e-300 (float 1e30, 1e-30) */
    SHAPE_TRAJECTORY, /* each row remembers the one before */
    SHAPE_COUNT
} test_shape;

/* One problem of a table: a shape of data, its size, and what to change in the options. */
typedef struct problem {
    const char *name;
    test_shape shape;
    size_t n, m;
    const char *words;
} problem;

static inline npksd_options problem_options(uint64_t seed, const char *words)
{
    npksd_options options = npksd_default_options();
    options.seed = seed;
    options.fit_rows = 64;
    options.replicates = 19;
    options.pilot = 6;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    options.score_fn = chain_score;
    set_options(&options, words);
    return options;
}

REF_FN const char *shape_name(test_shape shape)
{
    static const char *const names[SHAPE_COUNT] = { "chain", "skew", "ties",      "constant",
                                                    "far",   "huge", "trajectory" };
    return names[shape];
}

REF_FN int shape_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *shape)
{
    test_shape kind = *(const test_shape *)shape;
    npksd_real huge = (npksd_real)either(1e300, 1e30);
    chain_sample(rows, count, m, rng, NULL);
    for (size_t r = 0; r < count; r++) {
        npksd_real *x = rows + r * m;
        for (size_t i = 0; i < m; i++) {
            if (kind == SHAPE_SKEW)
                x[i] += x[i] * x[i] / 3;
            if (kind == SHAPE_FAR)
                x[i] = 1000 + x[i] / 8;
            if (kind == SHAPE_TRAJECTORY && r > 0)
                x[i] += x[i - m] / 2;
        }
        if (kind == SHAPE_TIES)
            x[0] = (npksd_real)floor(2 * (double)x[0]) / 2;
        if (kind == SHAPE_CONSTANT)
            x[m - 1] = 7;
        if (kind == SHAPE_HUGE) {
            x[m - 1] = m > 1 ? x[m - 1] / huge : x[m - 1];
            x[0] = x[0] * huge;
        }
    }
    return 0;
}

/* ======== recorder ======== */

typedef struct recorder {
    npksd_sample_fn sample_fn;
    void *user_data;
    npksd_rng_state state;  /* of the rng that the library was given */
    npksd_real *sets;       /* calls x n x m */
    npksd_rng_state *after; /* calls: state behind the generator's own draws */
    size_t calls, room;
} recorder;

REF_FN int recorder_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                           void *user_data)
{
    recorder *log = (recorder *)user_data;
    size_t size = count * m;
    int status = log->sample_fn(rows, count, m, rng, log->user_data);
    if (log->calls == log->room) {
        log->room = 2 * log->room + 64;
        log->sets = (npksd_real *)realloc((void *)log->sets, log->room * size * sizeof *log->sets);
        log->after = (npksd_rng_state *)realloc((void *)log->after, log->room * sizeof *log->after);
        if (!log->sets || !log->after)
            abort();
    }
    memcpy(log->sets + log->calls * size, rows, size * sizeof *rows);
    log->after[log->calls++] = log->state;
    return status;
}

/* The options must then be the tester's: they carry the rng that the recorder looks into. */
REF_FN void recorder_begin(recorder *log, npksd_sample_fn sample_fn, void *user_data,
                           npksd_options *options)
{
    memset(log, 0, sizeof *log);
    log->sample_fn = sample_fn;
    log->user_data = user_data;
    options->rng = npksd_rng_seeded(&log->state, options->seed, 0);
}

REF_FN void recorder_end(recorder *log)
{
    free(log->sets);
    free(log->after);
}

/* ======== index sets and noise ======== */

/* Uniform below bound: the low bits of a word, again while too large. */
REF_FN size_t ref_below(npksd_rng *rng, size_t bound)
{
    uint64_t mask = 0, draw;
    while (mask < bound - 1)
        mask = 2 * mask + 1;
    do
        draw = rng->next_fn(rng->user_data) & mask;
    while (draw >= bound);
    return (size_t)draw;
}

/* w_i = k_i / B, k_i = how often i came up in B draws, with or without replacement */
REF_FN void ref_index_set(npksd_rng *rng, size_t m, const npksd_options *options,
                          npksd_real *weights)
{
    size_t B = options->resample, *left = (size_t *)calloc(m, sizeof *left);
    for (size_t i = 0; i < m; i++) {
        weights[i] = B ? 0 : 1 / (npksd_real)m;
        left[i] = i;
    }
    for (size_t j = 0; j < B; j++) {
        size_t from = options->resample_distinct ? j : 0, at = from + ref_below(rng, m - from);
        weights[left[at]] += 1;
        if (options->resample_distinct)
            left[at] = left[j];
    }
    for (size_t i = 0; i < m && B; i++)
        weights[i] /= (npksd_real)B;
    free(left);
}

/* rows += smooth * scale * N(0,1), row by row */
REF_FN void ref_noise(const ref_fit *fit, npksd_rng *rng, npksd_real *rows, size_t count)
{
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < fit->m; i++)
            rows[r * fit->m + i] += (npksd_real)((double)fit->options.smooth * fit->at[i].scale
                                                 * (double)npksd_normal(rng));
}

/* ======== the tester ======== */

enum { REF_COMPONENTS = 3 * NPKSD_SCALES_MAX + 3 };

typedef struct ref_tester {
    npksd_options options;
    size_t n, m;
    ref_fit fit;
    npksd_real *noisy; /* the fit's data sets with noise; NULL without */
    double sigma2;     /* base bandwidth, squared */
    size_t scale_count;
    double scales[NPKSD_SCALES_MAX];
    npksd_real *weights; /* m: the shared index set */
    npksd_real *omega;   /* features x m */
    npksd_real *sub;     /* sub_count x m: kept rows that MMD compares with */
    size_t sub_count;
    size_t count; /* components, in their order; mean and sd from the pilot */
    unsigned kind[REF_COMPONENTS];
    double mean[REF_COMPONENTS], sd[REF_COMPONENTS];
    double *v_mean, *v_sd;    /* m: the same for the coordinates' shares */
    double *null_values;      /* replicates */
    double *null_coordinates; /* replicates x m */
} ref_tester;

/* One data set as the operator sees it. */
typedef struct ref_view_of {
    npksd_real *raw, *X, *S, *weights;
} ref_view_of;

REF_FN void ref_operator(const ref_tester *t, const npksd_real *rows, size_t count, npksd_real *X,
                         npksd_real *S)
{
    if (t->options.estimator != NPKSD_ESTIMATOR_CALLBACK) {
        ref_fit_operator(&t->fit, rows, count, X, S);
        return;
    }
    ref_fit_operator(&t->fit, rows, count, X, NULL);
    t->options.score_fn(rows, count, t->m, S, t->options.score_user_data);
    for (size_t r = 0; r < count * t->m; r++) {
        const ref_coordinate *at = &t->fit.at[r % t->m];
        if (t->options.standardize || at->constant)
            S[r] = (npksd_real)((double)S[r] * at->scale);
    }
}

/* rng: behind the generator's draws (observed rows: at the start of their stream) */
REF_FN ref_view_of ref_see(const ref_tester *t, const npksd_real *rows, npksd_rng rng)
{
    size_t size = t->n * t->m;
    ref_view_of view;
    view.raw = new_reals(size);
    view.X = new_reals(size);
    view.S = new_reals(size);
    view.weights = new_reals(t->m);
    memcpy(view.raw, rows, size * sizeof *rows);
    if (t->options.smooth > 0)
        ref_noise(&t->fit, &rng, view.raw, t->n);
    memcpy(view.weights, t->weights, t->m * sizeof *view.weights);
    if (t->options.resample_redraw)
        ref_index_set(&rng, t->m, &t->options, view.weights);
    ref_operator(t, view.raw, t->n, view.X, view.S);
    return view;
}

REF_FN void ref_unsee(ref_view_of *view)
{
    free(view->raw);
    free(view->X);
    free(view->S);
    free(view->weights);
}

REF_FN ref_data ref_data_of(const ref_tester *t, const ref_view_of *view, double scale)
{
    ref_data data;
    memset(&data, 0, sizeof data);
    data.rows = view->X;
    data.scores = view->S;
    data.n = t->n;
    data.m = t->m;
    data.weights = view->weights;
    data.kernel = t->options.kernel;
    data.form = t->options.form;
    data.sigma2 = t->sigma2 * scale;
    return data;
}

/* Stein statistic of one data set at one bandwidth, exact or in linear time */
REF_FN double ref_stein_of(const ref_tester *t, const ref_view_of *view, double scale,
                           int statistic, int mirror)
{
    ref_data data = ref_data_of(t, view, scale);
    data.mirror = mirror;
    return t->options.features
        ? ref_features(&data, statistic, t->omega, t->options.features, scale)
        : ref_statistic(&data, statistic);
}

/* v_i in linear time: the part of coordinate i in ref_features */
REF_FN void ref_coordinates_of(const ref_tester *t, const ref_view_of *view, double *v)
{
    ref_data data = ref_data_of(t, view, 1);
    npksd_real *only = new_reals(t->m);
    data.form = NPKSD_FORM_VECTOR;
    if (!t->options.features)
        ref_coordinates(&data, v);
    for (size_t i = 0; i < t->m && t->options.features; i++) {
        only[i] = view->weights[i];
        data.weights = only;
        v[i] = ref_features(&data, NPKSD_STATISTIC_V, t->omega, t->options.features, 1);
        only[i] = 0;
    }
    free(only);
}

/* All components in their order: STEIN V, STEIN U, MIRROR (each at all scales), MOMENT V, U, MMD.
   kind may be NULL. Returns how many there are. */
REF_FN size_t ref_components(const ref_tester *t, const ref_view_of *view, double *values,
                             unsigned *kind)
{
    const npksd_options *o = &t->options;
    ref_data data = ref_data_of(t, view, 1);
    unsigned kinds[REF_COMPONENTS];
    size_t count = 0;
    int v = o->statistic != NPKSD_STATISTIC_U, u = o->statistic != NPKSD_STATISTIC_V && t->n > 1;
    for (int part = 0; part < 3; part++) {
        unsigned own = part < 2 ? NPKSD_COMPONENT_STEIN : NPKSD_COMPONENT_MIRROR;
        if (!(o->components & own) || (part == 0 && !v) || (part == 1 && !u))
            continue;
        for (size_t c = 0; c < t->scale_count; c++) {
            kinds[count] = own;
            values[count++] =
                ref_stein_of(t, view, t->scales[c],
                             part == 1 ? NPKSD_STATISTIC_U : NPKSD_STATISTIC_V, part == 2);
        }
    }
    for (int part = 0; part < 2 && (o->components & NPKSD_COMPONENT_MOMENT); part++)
        if (part ? u : v) {
            kinds[count] = NPKSD_COMPONENT_MOMENT;
            values[count++] = ref_moment(&data, part ? NPKSD_STATISTIC_U : NPKSD_STATISTIC_V);
        }
    if (o->components & NPKSD_COMPONENT_MMD) {
        kinds[count] = NPKSD_COMPONENT_MMD;
        values[count++] = o->features
            ? ref_mmd_features(view->X, t->n, t->sub, t->sub_count, t->m, t->omega, o->features)
            : ref_mmd(view->X, t->n, t->sub, t->sub_count, t->m, o->kernel, t->sigma2);
    }
    if (kind)
        memcpy(kind, kinds, count * sizeof *kind);
    return count;
}

REF_FN int ref_is_single(const ref_tester *t)
{
    return t->count == 1 && t->kind[0] != NPKSD_COMPONENT_MIRROR;
}

/* T, the component that leads, and by how much it leads the best of another kind (may be NULL) */
REF_FN double ref_combine(const ref_tester *t, const double *values, unsigned *leading,
                          double *lead)
{
    double best = -DBL_MAX, second = -DBL_MAX;
    unsigned winner = t->kind[0];
    if (ref_is_single(t))
        best = values[0];
    for (size_t l = 0; l < t->count && !ref_is_single(t); l++) {
        double z = (values[l] - t->mean[l]) / t->sd[l];
        z = t->kind[l] == NPKSD_COMPONENT_MIRROR ? fabs(z) : z;
        if (z > best) {
            second = winner != t->kind[l] ? best : second;
            winner = t->kind[l];
            best = z;
        } else if (z > second && t->kind[l] != winner) {
            second = z;
        }
    }
    if (leading)
        *leading = winner;
    if (lead)
        *lead = second > -DBL_MAX ? best - second : DBL_MAX;
    return best;
}

/* mean and deviation (divided by count - 1, at least 1e-12 |mean|) of column l of a table */
REF_FN void ref_column(const double *table, size_t rows, size_t width, size_t l, double *mean,
                       double *sd)
{
    double sum = 0, square = 0;
    for (size_t r = 0; r < rows; r++)
        sum += table[r * width + l];
    *mean = sum / (double)rows;
    for (size_t r = 0; r < rows; r++)
        square += pow(table[r * width + l] - *mean, 2);
    *sd = sqrt(square / ((double)rows - 1));
    *sd = fmax(fmax(*sd, 1e-12 * fabs(*mean)), REF_TINY);
}

/* Noise: scale, ties and constants are those of the rows without it; ranges, centres, summaries,
   bandwidth and sums see the rows with it. Stream 7 has the noise of the last data set with kept
   rows, for those that are not kept, then that of the kept rows. Later data sets have theirs behind
   the generator's draws. */
REF_FN int ref_fit_noisy(ref_tester *t, const recorder *log, const npksd_options *plain)
{
    size_t n = t->n, m = t->m, N = plain->fit_rows;
    int automatic = plain->estimator == NPKSD_ESTIMATOR_AUTO, bad = 0;
    size_t held = automatic ? (N < 4 ? 1 : N / 4) : 0;
    size_t sets = (N + n - 1) / n + (held + n - 1) / n, size = n * m;
    ref_fit clean;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, t->options.seed, purpose(7));
    if (ref_fit_make(&clean, log->sets, n, m, plain))
        return 1;
    clean.options.smooth = t->options.smooth;
    t->noisy = new_reals(sets * size);
    memcpy(t->noisy, log->sets, sets * size * sizeof *t->noisy);
    size_t last = (size_t)(clean.raw[clean.kept - 1] - log->sets) / size;
    ref_noise(&clean, &rng, t->noisy + last * size, n);
    for (size_t r = 0; r < clean.kept; r++) {
        npksd_real *row = t->noisy + (clean.raw[r] - log->sets);
        memcpy(row, clean.raw[r], m * sizeof *row);
        ref_noise(&clean, &rng, row, 1);
    }
    for (size_t d = last + 1; d < sets; d++) {
        npksd_rng_state behind = log->after[d];
        rng.user_data = &behind;
        ref_noise(&clean, &rng, t->noisy + d * size, n);
    }
    bad = ref_fit_make(&t->fit, t->noisy, n, m, plain);
    for (size_t i = 0; i < m; i++) {
        ref_coordinate *at = &t->fit.at[i], *first = &clean.at[i];
        double *range[4], ratio = at->scale / first->scale;
        range[0] = &at->lo, range[1] = &at->hi, range[2] = &at->left, range[3] = &at->right;
        for (size_t k = 0; k < 4; k++)
            *range[k] = *range[k] * ratio + (at->mean - first->mean) / first->scale;
        at->mean = first->mean;
        at->scale = first->scale;
        at->constant = first->constant;
        at->ties = 0;
    }
    t->fit.flags = clean.flags;
    t->fit.options.smooth = t->options.smooth;
    t->fit.bandwidth = ref_fit_bandwidth(&t->fit);
    for (size_t i = 0; i < m; i++) {
        ref_coordinate *at = &t->fit.at[i];
        ref_fit_summary(&t->fit, i);
        for (size_t k = 0; k < t->fit.dim && t->fit.summary == NPKSD_SUMMARY_ALL; k++) {
            double mean = at->t_mean[k], scale = at->t_scale[k]; /* ALL: z itself, noise and all */
            at->t_lo[k] = at->t_lo[k] * scale + mean;
            at->t_hi[k] = at->t_hi[k] * scale + mean;
            at->t_mean[k] = 0;
            at->t_scale[k] = 1;
        }
        if (automatic && !at->constant)
            ref_choose(&t->fit, i, t->fit.raw, N, t->fit.raw + N, held);
        if (!at->constant)
            bad |= ref_theta(&t->fit, at->family, i, t->fit.raw, N + held, at->lambda, at->theta);
    }
    ref_fit_free(&clean);
    return bad;
}

/* Fit, bandwidth, index set, frequencies, sub-sample. Returns the calls used; 0 = failed. */
REF_FN size_t ref_tester_fit(ref_tester *t, const recorder *log)
{
    npksd_options plain = t->options;
    npksd_rng_state state;
    size_t n = t->n, m = t->m, N = plain.fit_rows, held;
    plain.smooth = 0;
    if (plain.estimator == NPKSD_ESTIMATOR_CALLBACK) { /* of the fit only the scale is wanted */
        plain.estimator = NPKSD_ESTIMATOR_GAUSS;
        plain.summary = NPKSD_SUMMARY_NONE;
    }
    int bad = t->options.smooth > 0 ? ref_fit_noisy(t, log, &plain)
                                    : ref_fit_make(&t->fit, log->sets, n, m, &plain);
    if (bad)
        return 0;
    held = plain.estimator == NPKSD_ESTIMATOR_AUTO ? (N < 4 ? 1 : N / 4) : 0;
    t->sigma2 =
        t->options.bandwidth > 0 ? pow((double)t->options.bandwidth, 2) : pow(t->fit.bandwidth, 2);
    npksd_rng rng = npksd_rng_seeded(&state, t->options.seed, purpose(5));
    t->weights = new_reals(m);
    ref_index_set(&rng, m, &t->options, t->weights);
    t->omega = new_reals(t->options.features * m);
    rng = npksd_rng_seeded(&state, t->options.seed, purpose(6));
    for (size_t k = 0; k < t->options.features * m; k++)
        t->omega[k] = (npksd_real)((double)npksd_normal(&rng) / sqrt(t->sigma2));
    t->sub_count = t->fit.kept < 2 * n ? t->fit.kept : 2 * n;
    t->sub = new_reals(t->sub_count * m);
    for (size_t r = 0; r < t->sub_count; r++)
        ref_fit_operator(&t->fit, t->fit.raw[r], 1, t->sub + r * m, NULL);
    return (N + n - 1) / n + (held + n - 1) / n;
}

/* Components and shares of every recorded data set from `first` on. */
REF_FN void ref_evaluate(const ref_tester *t, const recorder *log, size_t first, size_t count,
                         double *components, double *shares)
{
    for (size_t r = 0; r < count; r++) {
        npksd_rng_state behind = log->after[first + r];
        npksd_rng_state scratch;
        npksd_rng rng = npksd_rng_seeded(&scratch, 0, 0);
        rng.user_data = &behind;
        ref_view_of view = ref_see(t, log->sets + (first + r) * t->n * t->m, rng);
        ref_components(t, &view, components + r * REF_COMPONENTS, NULL);
        if (t->options.diagnose)
            ref_coordinates_of(t, &view, shares + r * t->m);
        ref_unsee(&view);
    }
}

/* From the calls that a finished tester has made. 0 = fine. Give back with ref_tester_free. */
REF_FN int ref_tester_make(ref_tester *t, const recorder *log, size_t n, size_t m,
                           const npksd_options *options)
{
    static const double usual[4] = { 0.125, 0.25, 0.5, 1 };
    size_t b = options->replicates, pilot = options->pilot;
    memset(t, 0, sizeof *t);
    t->options = *options;
    t->n = n;
    t->m = m;
    t->scale_count = options->scale_count ? options->scale_count : 4;
    for (size_t c = 0; c < t->scale_count; c++)
        t->scales[c] = options->scale_count ? (double)options->scales[c] : usual[c];
    size_t used = ref_tester_fit(t, log);
    if (!used || log->calls < used + b)
        return 1;
    double *values = ref_reals((pilot + b) * REF_COMPONENTS), *v = ref_reals((pilot + b) * m);
    npksd_rng_state state;
    ref_view_of any = ref_see(t, log->sets, npksd_rng_seeded(&state, 0, 0));
    t->count = ref_components(t, &any, values, t->kind);
    ref_unsee(&any);
    if (ref_is_single(t) && !options->diagnose)
        pilot = 0;
    ref_evaluate(t, log, used, pilot, values, v);
    for (size_t l = 0; l < t->count && pilot; l++)
        ref_column(values, pilot, REF_COMPONENTS, l, &t->mean[l], &t->sd[l]);
    t->v_mean = ref_reals(m);
    t->v_sd = ref_reals(m);
    for (size_t i = 0; i < m && options->diagnose; i++)
        ref_column(v, pilot, m, i, &t->v_mean[i], &t->v_sd[i]);
    t->null_values = ref_reals(b);
    t->null_coordinates = ref_reals(b * m);
    ref_evaluate(t, log, used + pilot, b, values, t->null_coordinates);
    for (size_t r = 0; r < b; r++)
        t->null_values[r] = ref_combine(t, values + r * REF_COMPONENTS, NULL, NULL);
    free(values);
    free(v);
    return log->calls != used + pilot + b;
}

REF_FN ref_view_of ref_see_observed(const ref_tester *t, const npksd_real *rows)
{
    npksd_rng_state state;
    return ref_see(t, rows, npksd_rng_seeded(&state, t->options.seed, purpose(4)));
}

REF_FN void ref_tester_free(ref_tester *t)
{
    if (t->fit.at)
        ref_fit_free(&t->fit);
    free(t->noisy);
    free(t->weights);
    free(t->omega);
    free(t->sub);
    free(t->v_mean);
    free(t->v_sd);
    free(t->null_values);
    free(t->null_coordinates);
}

#endif /* NPKSD_REF_TESTER_H */
