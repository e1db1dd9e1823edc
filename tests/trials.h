/*
 * Random problems: sizes, a generator, options as words and rows, all from one number. Failures print the words.
 * In a header of its own, so that a program in float and one in double make the same ones.
 */
#ifndef NPKSD_TESTS_TRIALS_H
#define NPKSD_TESTS_TRIALS_H

#include "options.h"

enum { TRIAL_N = 24, TRIAL_M = 5, TRIAL_REPLICATES = 19 };

/* ======== generators ======== */

typedef enum trial_shape {
    TRIAL_NORMAL,   /* a chain: x_i = x_{i-1}/2 + z */
    TRIAL_SKEW,     /* x + x^2/3 */
    TRIAL_TIES,     /* column 0 in steps of 1/2 */
    TRIAL_WALK,     /* each row remembers the one before */
    TRIAL_CONSTANT, /* the last column is always 7 (of one column: none is) */
    TRIAL_CAUCHY,   /* column 0 has no mean */
    TRIAL_COPIES,   /* every column is 2 or -3 times column 0 */
    TRIAL_SHAPES
} trial_shape;

typedef struct trial_source {
    trial_shape shape;
    const size_t *order;    /* column k of the rows is column order[k] of the shape; NULL: as it is */
    const npksd_real *unit; /* times unit[k], or NULL */
} trial_source;

static inline int trial_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    const trial_source *source = (const trial_source *)user_data;
    npksd_real before[TRIAL_M] = { 0 }, x[TRIAL_M] = { 0 };
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; i < m; i++) {
            x[i] = npksd_normal(rng) + (i > 0 ? x[i - 1] / 2 : 0);
            if (source->shape == TRIAL_WALK)
                x[i] += before[i] / 2;
            before[i] = x[i];
        }
        for (size_t i = 0; i < m && source->shape == TRIAL_SKEW; i++)
            x[i] += x[i] * x[i] / 3;
        if (source->shape == TRIAL_TIES) /* by hand: floor would want math.h */
            x[0] = (npksd_real)((int)(2 * x[0] + 100) - 100) / 2;
        if (source->shape == TRIAL_CONSTANT && m > 1)
            x[m - 1] = 7;
        if (source->shape == TRIAL_CAUCHY)
            x[0] /= npksd_normal(rng) + (npksd_real)1e-9;
        for (size_t i = 1; i < m && source->shape == TRIAL_COPIES; i++)
            x[i] = i % 2 ? -3 * x[0] : 2 * x[0];
        for (size_t k = 0; k < m; k++)
            rows[r * m + k] = x[source->order ? source->order[k] : k] * (source->unit ? source->unit[k] : 1);
    }
    return 0;
}

/* Any smooth functions will do; of rows in other units, too. */
static inline int trial_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *units)
{
    const npksd_real *unit = (const npksd_real *)units;
    for (size_t k = 0; k < count * m; k++) {
        npksd_real x = unit ? rows[k] / unit[k % m] : rows[k], score = -x / (1 + x * x / 9);
        scores[k] = unit ? score / unit[k % m] : score;
    }
    return 0;
}

/* As many numbers as there are to write, by user_data; NULL: one. */
static inline void trial_summary(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *count)
{
    size_t d = count ? *(const size_t *)count : 1;
    for (size_t k = 0; k < d; k++)
        t[k] = m > 1 ? row[(i + 1 + k % (m - 1)) % m] / (npksd_real)(2 + k) : 0;
}

/* ======== a problem ======== */

typedef struct trial {
    size_t n, m;
    trial_source source;
    char words[256];
    npksd_options options;
    npksd_real observed[TRIAL_N * TRIAL_M];
} trial;

static inline size_t trial_below(npksd_rng *rng, size_t bound)
{
    return (size_t)(rng->next_fn(rng->user_data) >> 32) % bound;
}

static inline const char *trial_pick(npksd_rng *rng, const char *const *list, size_t count)
{
    return list[trial_below(rng, count)];
}

#define TRIAL_PICK(...)                                                                                                \
    do {                                                                                                               \
        static const char *const list[] = { __VA_ARGS__ };                                                             \
        strcat(t->words, trial_pick(rng, list, sizeof list / sizeof list[0]));                                         \
    } while (0)

static inline void trial_words(trial *t, npksd_rng *rng)
{
    t->words[0] = '\0';
    TRIAL_PICK("", "gauss ", "poly ", "spline ", "rbf basis=5 ", "score_callback ");
    TRIAL_PICK("", "none ", "all ", "mean_var ", "neighbours ", "summary_callback ");
    TRIAL_PICK("", "", "imq ");
    TRIAL_PICK("", "scalar ");
    TRIAL_PICK("", "v ", "uv ");
    TRIAL_PICK("", "", "stein ", "mirror ", "moment ", "mmd ", "margin ", "pair ", "stein mirror ", "mmd margin pair ",
               "stein mirror moment margin pair ");
    TRIAL_PICK("", "", "", "features=7 ", "features=16 ");
    TRIAL_PICK("", "", "resample=2 ", "resample=1 distinct ", "resample=3 redraw ", "resample=1 redraw distinct ");
    TRIAL_PICK("", "", "", "smooth=0.25 ");
    TRIAL_PICK("", "", "unscaled ");
    TRIAL_PICK("", "", "", "bandwidth=0.75 ");
    TRIAL_PICK("", "", "scales=1 ", "scales=0.3,2,0.125 ");
    TRIAL_PICK("", "diagnose ");
    TRIAL_PICK("fit_rows=37 ", "fit_rows=64 ", "fit_rows=90 ");
    TRIAL_PICK("pilot=5 ", "pilot=8 ");
}

/* Problem `number`; valid options of every kind, some rarer than others. */
static inline void trial_make(trial *t, uint64_t seed, uint64_t number)
{
    static const size_t ns[] = { 1, 2, 3, 5, 12, 15, 16, 17, 20, TRIAL_N };
    npksd_rng_state state;
    npksd_rng stream = npksd_rng_seeded(&state, seed, (UINT64_C(1) << 40) + number), *rng = &stream;
    memset(t, 0, sizeof *t);
    do {
        t->n = ns[trial_below(rng, sizeof ns / sizeof ns[0])];
        t->m = 1 + trial_below(rng, TRIAL_M);
        t->source.shape = (trial_shape)trial_below(rng, TRIAL_SHAPES);
        trial_words(t, rng);
        t->options = npksd_default_options();
        t->options.seed = rng->next_fn(rng->user_data);
        t->options.replicates = TRIAL_REPLICATES;
        t->options.score_fn = trial_score;
        t->options.summary_fn = trial_summary;
        t->options.summary_dim = 1;
        set_options(&t->options, t->words);
    } while (npksd_options_problem(&t->options, t->n, t->m));
    trial_sample(t->observed, t->n, t->m, rng, &t->source);
    for (size_t k = 0; k < t->n; k++) /* every other one from elsewhere */
        t->observed[k * t->m] += (npksd_real)(number % 2);
}

/* The fields that words leave alone or know few values of: any set of components, more rows than are kept, the most
   scales. Not always valid. */
static inline void trial_vary(trial *t, npksd_rng *rng)
{
    static const npksd_real ridges[] = { 0, 0, (npksd_real)1e-3, 1 }, alphas[] = { (npksd_real)0.05, (npksd_real)0.15 };
    static const npksd_real scales[NPKSD_SCALES_MAX] = { 1, 4, 2, 8, 3, 6, 5, 7, (npksd_real)0.5, (npksd_real)0.25, 9,
                                                         16, 11, 32, 13, 64 };
    static const size_t dims[] = { 1, 2, 3 };
    npksd_options *o = &t->options;
    const size_t *dim = &dims[trial_below(rng, 3)];
    o->components = trial_below(rng, 2) ? 1 + (unsigned)trial_below(rng, NPKSD_COMPONENT_ALL) : o->components;
    o->degree = trial_below(rng, 2) ? trial_below(rng, 9) : 0;
    if (o->estimator == NPKSD_ESTIMATOR_SPLINE || o->estimator == NPKSD_ESTIMATOR_RBF)
        o->basis = trial_below(rng, 2) ? 4 + trial_below(rng, 21) : o->basis;
    o->ridge = ridges[trial_below(rng, 4)];
    o->pilot = 2 + trial_below(rng, 12);
    o->alpha = alphas[trial_below(rng, 2)];
    o->fit_rows = trial_below(rng, 12) ? o->fit_rows : 1003;
    o->summary_dim = *dim;
    o->summary_user_data = (void *)dim;
    if (trial_below(rng, 12) == 0) {
        o->scales = scales;
        o->scale_count = NPKSD_SCALES_MAX;
    }
    if (o->estimator == NPKSD_ESTIMATOR_CALLBACK && trial_below(rng, 2)) {
        o->calibration = NPKSD_CALIBRATE_WILD_BOOTSTRAP;
        o->components = NPKSD_COMPONENT_STEIN;
        o->features = 0;
        o->smooth = 0;
        o->resample_redraw = 0;
    }
}

static inline int trial_has_callbacks(const trial *t)
{
    return t->options.estimator == NPKSD_ESTIMATOR_CALLBACK || t->options.summary == NPKSD_SUMMARY_CALLBACK;
}

#endif /* NPKSD_TESTS_TRIALS_H */
