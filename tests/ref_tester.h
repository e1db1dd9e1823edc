/*
 * ref_tester.h - a whole tester in plain loops, fed with what the real one drew.
 *
 * A recorder stands between npksd.h and a generator and keeps every data set, in the order of the
 * calls, and the state of the random numbers behind it. From these ref_tester_make works out fit,
 * bandwidth, index sets, references, pilot and null values with the formulas of ref.h. Without a
 * generator (fixed samples) ref_tester_pool draws from the pool itself.
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
                x[i] += rows[(r - 1) * m + i] / 2;
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

/* ======== draws ======== */

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

/* Which `count` of `there` things, in their order: each with probability still wanted / still
   there. */
REF_FN void ref_select(npksd_rng *rng, size_t there, size_t count, size_t *chosen)
{
    for (size_t k = 0, taken = 0; taken < count; k++)
        if (ref_below(rng, there - k) < count - taken)
            chosen[taken++] = k;
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

/* count vectors of m normal numbers, 16 vectors a stream, coordinate by coordinate */
REF_FN void ref_frequencies(uint64_t seed, ref_purpose what, size_t count, size_t m, double size,
                            double *out)
{
    npksd_rng_state state;
    for (size_t panel = 0; panel * 16 < count; panel++) {
        npksd_rng rng = npksd_rng_seeded(&state, seed, purpose(what, panel));
        for (size_t k = 0; k < 16 * m; k++) {
            size_t f = panel * 16 + k % 16;
            double x = size * (double)npksd_normal(&rng);
            if (f < count)
                out[f * m + k / 16] = x;
        }
    }
}

/* ======== the tester ======== */

enum { REF_COMPONENTS = 3 * NPKSD_SCALES_MAX + 12, REF_MARGINS = 7, REF_COLUMN_NUMBERS = 5 };

/* One of the numbers whose largest is T. */
typedef struct ref_number {
    unsigned kind; /* NPKSD_COMPONENT_ */
    int statistic; /* STEIN, MOMENT: V or U */
    double scale;  /* STEIN, MIRROR */
    int part;      /* which of MMD's two or MARGIN's seven */
    int two_sided;
} ref_number;

typedef struct ref_tester {
    npksd_options options;
    size_t n, m;
    ref_fit fit;
    double sigma2;       /* base bandwidth, squared */
    npksd_real *weights; /* m: the shared index set */
    npksd_real *omega;   /* features x m */
    double ring[REF_RING * REF_MAX];
    double re[2 * REF_WAVES], im[2 * REF_WAVES]; /* the reference's characteristic function */
    size_t reference_rows;
    ref_margin *margins; /* m */
    double *means;       /* m: mean z of the reference */
    size_t pair_columns, *paired;
    double *correlations; /* pair_columns x pair_columns */
    size_t count;         /* numbers */
    ref_number number[REF_COMPONENTS];
    ref_gauge gauge[REF_COMPONENTS];
    ref_gauge *column_gauge; /* for each of m columns: v_i, margin, spread, mean, cells */
    double *null_values;     /* replicates */
    double *null_columns;    /* replicates x m: the largest that a column shows */
    double *null_pairs;      /* replicates: the largest difference of a correlation */
} ref_tester;

/* What the columns of one data set show. */
typedef struct ref_columns {
    double *values; /* for each of m columns: v_i, margin, spread, mean, cells */
    double largest_pair;
    npksd_real *weights; /* m: index set of the data set */
} ref_columns;

/* One data set as the operator sees it. */
typedef struct ref_view_of {
    npksd_real *raw, *X, *S, *weights;
} ref_view_of;

/* Is scale k of the options one that came before it? */
REF_FN int ref_scale_again(const npksd_options *options, size_t k)
{
    for (size_t before = 0; before < k && k < options->scale_count; before++)
        if (!(options->scales[before] < options->scales[k])
            && !(options->scales[before] > options->scales[k]))
            return 1;
    return 0;
}

/* Of one kind: at each scale, or in parts. */
REF_FN void ref_add_numbers(ref_tester *t, unsigned kind, int statistic)
{
    static const double usual[2][2] = { { 1.0 / 64, 1.0 / 8 }, { 1.0 / 8, 1.0 / 2 } };
    const npksd_options *o = &t->options;
    int mirror = kind == NPKSD_COMPONENT_MIRROR, stein = kind == NPKSD_COMPONENT_STEIN || mirror;
    size_t scales = o->scale_count ? o->scale_count : 2;
    size_t parts = stein                 ? scales
        : kind == NPKSD_COMPONENT_MMD    ? 2
        : kind == NPKSD_COMPONENT_MARGIN ? REF_MARGINS
                                         : 1;
    for (size_t part = 0; part < parts; part++) {
        ref_number number;
        memset(&number, 0, sizeof number);
        number.kind = kind;
        number.statistic = statistic;
        number.part = (int)part;
        number.two_sided = mirror || (kind == NPKSD_COMPONENT_MARGIN && (part == 3 || part == 5));
        if (stein)
            number.scale = o->scale_count ? (double)o->scales[part] : usual[mirror][part];
        if (!stein || !ref_scale_again(o, part))
            t->number[t->count++] = number;
    }
}

/* The numbers that the options ask for. */
REF_FN void ref_numbers(ref_tester *t)
{
    const npksd_options *o = &t->options;
    int V = o->statistic != NPKSD_STATISTIC_U, U = o->statistic != NPKSD_STATISTIC_V && t->n > 1;
    t->count = 0;
    for (unsigned kind = 1; kind < NPKSD_COMPONENT_ALL; kind *= 2) {
        int both = kind == NPKSD_COMPONENT_STEIN || kind == NPKSD_COMPONENT_MOMENT;
        if (!ref_has(o, kind) || (kind == NPKSD_COMPONENT_PAIR && t->m == 1))
            continue;
        if (V || !both)
            ref_add_numbers(t, kind, NPKSD_STATISTIC_V);
        if (U && both)
            ref_add_numbers(t, kind, NPKSD_STATISTIC_U);
    }
}

/* A smaller deviation of a number is rounding: of sums over rows, their squares or fourth powers, near copies. */
REF_FN double ref_least_deviation(const ref_number *number)
{
    int part = number->part, squares = part == 1 || part == 4;
    switch (number->kind) {
    case NPKSD_COMPONENT_MMD: return pow(REF_ROUNDING, 4);
    case NPKSD_COMPONENT_MARGIN: return number->two_sided ? 64 * REF_ROUNDING : pow(REF_ROUNDING, squares ? 2 : 1);
    case NPKSD_COMPONENT_PAIR: return 1e-3;
    default: return REF_TINY;
    }
}

/* T is then the number itself. */
REF_FN int ref_is_single(const ref_tester *t) { return t->count == 1 && !t->number[0].two_sided; }

REF_FN size_t ref_pilot(const ref_tester *t)
{
    return ref_is_single(t) && !t->options.diagnose ? 0 : t->options.pilot;
}

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

/* v_i; in linear time the part of coordinate i in ref_features */
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

/* Correlations of the normal scores of the paired columns. */
REF_FN void ref_correlations(const ref_tester *t, const npksd_real *rows, size_t count, double *r)
{
    size_t pairs = t->pair_columns;
    double *q = ref_reals(t->m * count);
    ref_normal_scores(t->margins, rows, count, t->m, q);
    for (size_t a = 0; a < pairs; a++)
        for (size_t b = 0; b < pairs; b++)
            r[a * pairs + b] =
                ref_correlation(q + t->paired[a] * count, q + t->paired[b] * count, count);
    free(q);
}

/* In units of the deviation of a correlation. */
REF_FN double ref_pair_apart(double r, double expected)
{
    double room = (1 - expected * expected) * (1 - r * expected);
    double apart = fabs(r - expected) / fmax(sqrt(fmax(room, 0)), REF_CLOSEST);
    double sure = (16 * pow(apart / REF_CHANGED, 2) - 1) / 15; /* less than 0: rounding */
    return apart * sqrt(fmax(0, fmin(sure, 1)));
}

REF_FN double ref_largest_pair(const ref_tester *t, const npksd_real *rows)
{
    size_t pairs = t->pair_columns;
    double *r = ref_reals(pairs * pairs), largest = 0;
    ref_correlations(t, rows, t->n, r);
    for (size_t a = 0; a < pairs; a++)
        for (size_t b = 0; b < a; b++)
            largest = fmax(largest, ref_pair_apart(r[a * pairs + b], t->correlations[a * pairs + b]));
    free(r);
    return largest;
}

/* MARGIN: largest Anderson-Darling distance, sum of squared differences of means; change of spread:
   largest, sum, sum of squares; sum of the change of tails; largest of the cells. columns, if not
   NULL: margins, spreads, means, cells. */
REF_FN void ref_margin_numbers(const ref_tester *t, const npksd_real *rows, double *numbers,
                               double *columns)
{
    memset(numbers, 0, REF_MARGINS * sizeof *numbers);
    numbers[6] = -DBL_MAX;
    for (size_t i = 0; i < t->m; i++) {
        ref_shown shown = ref_margin_shows(&t->margins[i], t->reference_rows, rows, t->n, t->m, i);
        double mean = 0;
        for (size_t a = 0; a < t->n; a++)
            mean += ref_fit_z(&t->fit, rows + a * t->m, i) / (double)t->n;
        numbers[0] = fmax(numbers[0], shown.anderson);
        numbers[1] += pow(mean - t->means[i], 2);
        numbers[2] = fmax(numbers[2], fabs(shown.spread));
        numbers[3] += shown.spread;
        numbers[4] += pow(shown.spread, 2);
        numbers[5] += shown.tail;
        numbers[6] = fmax(numbers[6], shown.cells);
        if (columns) {
            columns[i] = shown.anderson;
            columns[t->m + i] = fabs(shown.spread);
            columns[2 * t->m + i] = fabs(mean - t->means[i]);
            columns[3 * t->m + i] = shown.cells;
        }
    }
}

/* All numbers of a data set; columns may be NULL. Returns how many there are. */
REF_FN size_t ref_components(const ref_tester *t, const ref_view_of *view, double *values,
                             ref_columns *columns)
{
    ref_data data = ref_data_of(t, view, 1);
    double re[2 * REF_WAVES], im[2 * REF_WAVES], margins[REF_MARGINS] = { 0 }, pair = 0;
    if (ref_has(&t->options, NPKSD_COMPONENT_MMD))
        ref_characteristic(view->X, t->n, t->m, sqrt(t->sigma2), t->ring, re, im);
    if (t->margins) {
        ref_margin_numbers(t, view->raw, margins, columns ? columns->values + t->m : NULL);
        pair = ref_largest_pair(t, view->raw);
    }
    if (columns) {
        ref_coordinates_of(t, view, columns->values);
        columns->largest_pair = pair;
        memcpy(columns->weights, view->weights, t->m * sizeof *view->weights);
    }
    for (size_t l = 0; l < t->count; l++) {
        const ref_number *number = &t->number[l];
        switch (number->kind) {
        case NPKSD_COMPONENT_STEIN:
            values[l] = ref_stein_of(t, view, number->scale, number->statistic, 0);
            break;
        case NPKSD_COMPONENT_MIRROR:
            values[l] = ref_stein_of(t, view, number->scale, NPKSD_STATISTIC_V, 1);
            break;
        case NPKSD_COMPONENT_MOMENT: values[l] = ref_moment(&data, number->statistic); break;
        case NPKSD_COMPONENT_MMD: values[l] = ref_mmd(re, im, t->re, t->im, number->part); break;
        case NPKSD_COMPONENT_MARGIN: values[l] = margins[number->part]; break;
        default: values[l] = pair; break;
        }
    }
    return t->count;
}

/* T, the component that leads, and by how much it leads the best of another kind (may be NULL) */
REF_FN double ref_combine(const ref_tester *t, const double *values, unsigned *leading,
                          double *lead)
{
    double best = -DBL_MAX, second = -DBL_MAX;
    unsigned winner = t->number[0].kind;
    if (ref_is_single(t))
        best = values[0];
    for (size_t l = 0; l < t->count && !ref_is_single(t); l++) {
        unsigned kind = t->number[l].kind;
        double value = ref_comparable(&t->gauge[l], values[l]);
        value = t->number[l].two_sided ? fabs(value) : value;
        if (value > best) {
            second = winner != kind ? best : second;
            winner = kind;
            best = value;
        } else if (value > second && kind != winner) {
            second = value;
        }
    }
    if (leading)
        *leading = winner;
    if (lead)
        *lead = second > -DBL_MAX ? best - second : DBL_MAX;
    return best;
}

/* The largest of what column i shows: its share (if it was drawn, and is not constant), its margin and so on. */
REF_FN double ref_column_value(const ref_tester *t, const ref_columns *columns, size_t i)
{
    double best = -REF_CLAMP;
    for (size_t k = 0; k < REF_COLUMN_NUMBERS; k++) {
        size_t at = k * t->m + i;
        int has_share = columns->weights[i] > 0 && !(t->margins != NULL && t->fit.at[i].constant);
        if (k == 0 ? has_share : t->margins != NULL)
            best = fmax(best, ref_comparable(&t->column_gauge[at], columns->values[at]));
    }
    return best;
}

REF_FN ref_columns ref_columns_new(const ref_tester *t)
{
    ref_columns columns;
    columns.values = ref_reals(REF_COLUMN_NUMBERS * t->m);
    columns.weights = new_reals(t->m);
    columns.largest_pair = 0;
    return columns;
}

REF_FN void ref_columns_free(ref_columns *columns)
{
    free(columns->values);
    free(columns->weights);
}

/* What is known before the fit, and what the fit tells of the generator's rows without scores. */
REF_FN void ref_references(ref_tester *t)
{
    const npksd_options *o = &t->options;
    const ref_fit *fit = &t->fit;
    size_t m = t->m, R = fit->rows + fit->held + fit->others;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, o->seed, purpose(REF_INDEX_SET, 0));
    double *omega = ref_reals(o->features * m);
    t->sigma2 = pow(o->bandwidth > 0 ? (double)o->bandwidth : fit->bandwidth, 2);
    t->reference_rows = R;
    t->weights = new_reals(m);
    ref_index_set(&rng, m, o, t->weights);
    t->omega = new_reals(o->features * m);
    ref_frequencies(o->seed, REF_FREQUENCIES, o->features, m, 1 / sqrt(t->sigma2), omega);
    for (size_t k = 0; k < o->features * m; k++)
        t->omega[k] = (npksd_real)omega[k];
    free(omega);
    ref_numbers(t);
    if (ref_has(o, NPKSD_COMPONENT_MMD)) {
        npksd_real *X = new_reals(R * m);
        ref_fit_operator(fit, fit->stream, R, X, NULL);
        ref_frequencies(o->seed, REF_RING_VECTORS, REF_RING, m, sqrt(8.0), t->ring);
        ref_characteristic(X, R, m, sqrt(t->sigma2), t->ring, t->re, t->im);
        free(X);
    }
    if (!ref_has_margins(o))
        return;
    t->margins = (ref_margin *)calloc(m, sizeof *t->margins);
    t->means = ref_reals(m);
    for (size_t i = 0; i < m; i++) {
        t->margins[i] = ref_margin_of(fit->keep, fit->kept, fit->stream, R, m, i);
        for (size_t a = 0; a < R; a++)
            t->means[i] += ref_fit_z(fit, fit->stream + a * m, i) / (double)R;
    }
    t->pair_columns = m > 256 ? 256 : m;
    t->paired = (size_t *)calloc(t->pair_columns, sizeof *t->paired);
    t->correlations = ref_reals(t->pair_columns * t->pair_columns);
    rng = npksd_rng_seeded(&state, o->seed, purpose(REF_PAIRS, 0));
    ref_select(&rng, m, t->pair_columns, t->paired);
    ref_correlations(t, fit->stream, R, t->correlations);
}

/* Fit, bandwidth, index set, frequencies, references. Returns the calls used; 0 = failed. */
REF_FN size_t ref_tester_fit(ref_tester *t, const recorder *log)
{
    if (ref_fit_make(&t->fit, log->sets, log->after, t->n, t->m, 0, &t->options))
        return 0;
    ref_references(t);
    return ref_plan_of(&t->options, t->n, t->m, 0).sets;
}

/* The numbers and columns (3 m each) of recorded data sets from `first` on. */
REF_FN void ref_evaluate(const ref_tester *t, const recorder *log, size_t first, size_t count,
                         double *values, ref_columns *columns)
{
    for (size_t r = 0; r < count; r++) {
        npksd_rng_state behind = log->after[first + r], scratch;
        npksd_rng rng = npksd_rng_seeded(&scratch, 0, 0);
        rng.user_data = &behind;
        ref_view_of view = ref_see(t, log->sets + (first + r) * t->n * t->m, rng);
        ref_components(t, &view, values + r * REF_COMPONENTS, columns ? &columns[r] : NULL);
        ref_unsee(&view);
    }
}

/* Pilot and replicates, from the data sets behind the first `used`. 0 = fine. */
REF_FN int ref_calibrate(ref_tester *t, const recorder *log, size_t used)
{
    const npksd_options *o = &t->options;
    size_t b = o->replicates, m = t->m, pilot = ref_pilot(t);
    if (log->calls != used + pilot + b)
        return 1;
    double *values = ref_reals((pilot + b) * REF_COMPONENTS), *table = ref_reals(pilot + 1);
    ref_columns *columns = (ref_columns *)calloc(pilot + b, sizeof *columns);
    for (size_t r = 0; r < pilot + b; r++)
        columns[r] = ref_columns_new(t);
    ref_evaluate(t, log, used, pilot + b, values, o->diagnose ? columns : NULL);
    for (size_t l = 0; l < t->count && pilot; l++)
        t->gauge[l] = ref_gauge_of(values + l, pilot, REF_COMPONENTS, ref_least_deviation(&t->number[l]));
    t->column_gauge = (ref_gauge *)calloc(REF_COLUMN_NUMBERS * m, sizeof *t->column_gauge);
    for (size_t l = 0; l < REF_COLUMN_NUMBERS * m && o->diagnose; l++) {
        for (size_t r = 0; r < pilot; r++)
            table[r] = columns[r].values[l];
        t->column_gauge[l] = ref_gauge_of(table, pilot, 1, l < 4 * m ? REF_TINY : REF_ROUNDING);
    }
    t->null_values = ref_reals(b);
    t->null_columns = ref_reals(b * m);
    t->null_pairs = ref_reals(b);
    for (size_t r = 0; r < b; r++) {
        t->null_values[r] = ref_combine(t, values + (pilot + r) * REF_COMPONENTS, NULL, NULL);
        t->null_pairs[r] = columns[pilot + r].largest_pair;
        for (size_t i = 0; i < m && o->diagnose; i++)
            t->null_columns[r * m + i] = ref_column_value(t, &columns[pilot + r], i);
    }
    for (size_t r = 0; r < pilot + b; r++)
        ref_columns_free(&columns[r]);
    free(columns);
    free(values);
    free(table);
    return 0;
}

/* From the calls that a finished tester has made. 0 = fine. Give back with ref_tester_free. */
REF_FN int ref_tester_make(ref_tester *t, const recorder *log, size_t n, size_t m,
                           const npksd_options *options)
{
    memset(t, 0, sizeof *t);
    t->options = *options;
    t->n = n;
    t->m = m;
    size_t used = ref_tester_fit(t, log);
    return used ? ref_calibrate(t, log, used) : 1;
}

REF_FN ref_view_of ref_see_observed(const ref_tester *t, const npksd_real *rows)
{
    npksd_rng_state state;
    return ref_see(t, rows, npksd_rng_seeded(&state, t->options.seed, purpose(REF_OBSERVED, 0)));
}

/* ======== fixed samples (DESIGN 2.5) ======== */

/* n rows of the pool, or what is left of it behind the first `taken`: whole blocks drawn without
   replacement. order, of the blocks, changes with every draw. */
REF_FN void ref_pool_draw(npksd_rng *rng, size_t *order, const npksd_real *pool, size_t all,
                          size_t m, size_t block, size_t taken, size_t n, npksd_real *rows)
{
    size_t blocks = all / block, size = block * m;
    for (size_t k = taken / block; k < blocks && k < (taken + n) / block; k++) {
        size_t other = k + ref_below(rng, blocks - k), chosen = order[other];
        order[other] = order[k];
        order[k] = chosen;
        memcpy(rows + (k * block - taken) * m, pool + chosen * size, size * sizeof *rows);
    }
}

/* npksd_test_samples: pool and n without the rows of a last, shorter block. The data sets of the fit
   share out the pool; those of pilot and replicates are drawn from all of it. 0 = fine. */
REF_FN int ref_tester_pool(ref_tester *t, const npksd_real *pool, size_t all, size_t n, size_t m,
                           const npksd_options *options)
{
    recorder log;
    size_t *order = (size_t *)calloc(all / options->block, sizeof *order);
    memset(t, 0, sizeof *t);
    memset(&log, 0, sizeof log);
    t->options = *options;
    t->n = n;
    t->m = m;
    size_t used = ref_plan_of(options, n, m, all).sets, pilot = 0;
    log.room = used + options->pilot + options->replicates;
    log.sets = new_reals(log.room * n * m);
    log.after = (npksd_rng_state *)calloc(log.room, sizeof *log.after);
    for (size_t k = 0; k < all / options->block; k++)
        order[k] = k;
    int bad = 0;
    for (size_t r = 0; r < used + pilot + options->replicates && !bad; log.calls = ++r) {
        if (r == used) {
            bad = ref_fit_make(&t->fit, log.sets, log.after, n, m, all, options);
            ref_references(t);
            pilot = ref_pilot(t);
        }
        uint64_t stream = r < used ? purpose(REF_FIT, r)
            : r < used + pilot     ? purpose(REF_PILOT, r - used)
                                   : purpose(REF_REPLICATE, r - used - pilot);
        npksd_rng rng = npksd_rng_seeded(&log.after[r], options->seed, stream);
        ref_pool_draw(&rng, order, pool, all, m, options->block, r < used ? r * n : 0, n,
                      log.sets + r * n * m);
    }
    bad = bad || ref_calibrate(t, &log, used);
    recorder_end(&log);
    free(order);
    return bad;
}

REF_FN void ref_tester_free(ref_tester *t)
{
    if (t->fit.at)
        ref_fit_free(&t->fit);
    free(t->weights);
    free(t->omega);
    free(t->margins);
    free(t->means);
    free(t->paired);
    free(t->correlations);
    free(t->column_gauge);
    free(t->null_values);
    free(t->null_columns);
    free(t->null_pairs);
}

#endif /* NPKSD_REF_TESTER_H */
