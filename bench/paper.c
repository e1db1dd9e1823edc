/*
 * Every experiment of the paper (Xu & Reinert, "A Kernelised Stein Statistic for Assessing Implicit
 * Generative Models") on synthetic distributions, with its numbers beside ours.
 *
 *     paper [--out DIR] [--keep DIR] [part ...]
 *
 *     gvd         Gaussian variance difference, m = 3, n = 100                (figure 1a)
 *     fit         the same by N, the number of generated rows                 (figure 1b)
 *     mog         mixture of two Gaussians, adjacent covariance, m = 6        (figure 1c)
 *     resample    m = 40: B re-sampled coordinates, seconds                   (figure 1d, table 3)
 *     type1       type-I error by N, n = 50, m = 3                            (table 5)
 *     wild        wild bootstrap against Monte Carlo                          (figure 5)
 *     generators  GAN, VAE, NCSN and SGLD trained on 2-d data                 (table 4)
 *
 * Without a part, all of them are run. --out gets the section of RESULTS.md, paper.md, and its
 * figures, paper-*.svg; --keep gets finished pieces, which the next run uses again. Environment:
 * QUICK=1 is a smoke test, FULL=1 runs as many trials as the paper, FRESH=1 discards what was kept,
 * JOBS is the number of processes. The paper's experiments on images are in digits.c.
 */
#include "baselines.h"
#include "generators.h"
#include "plot.h"
#include "verdict.h"

enum { LEVELS_MAX = 8, SETTINGS_MAX = 32, AGG_PERMUTATIONS = 500 };

static runner all;

/* ======== methods ======== */

typedef enum method_kind {
    METHOD_NPKSD,      /* npksd.h with the options below */
    METHOD_KSD,        /* baselines.h, Monte Carlo */
    METHOD_KSD_WILD,
    METHOD_MMD,
    METHOD_MMDAGG,
    METHOD_MMD_SCALED  /* a wrong test, see type1 */
} method_kind;

typedef struct method {
    const char *id, *name;
    method_kind kind;
    int summary, estimator, form;
    int whole;           /* 1: the default of npksd.h; 0: one scale, STEIN, V, as in the paper */
    size_t resample;
    int redraw;
    int reversed;        /* the true score with the wrong sign */
} method;

#define PAPER_METHOD(id, name, summary, estimator, form)                                           \
    { id, name, METHOD_NPKSD, NPKSD_SUMMARY_##summary, NPKSD_ESTIMATOR_##estimator,                \
      NPKSD_FORM_##form, 0, 0, 0, 0 }
#define OTHER_METHOD(id, name, kind) { id, name, kind, 0, 0, 0, 0, 0, 0, 0 }

enum { NPKSD_ALL, NPKSD_MEAN, NPKSD_G, MEAN_VECTOR, REVERSED, KSD_MODEL, DEFAULT, KSD, KSD_WILD,
       MMDAGG, MMD, MMD_SCALED, METHODS };

static const method methods[METHODS] = {
    PAPER_METHOD("npksd", "NP-KSD", ALL, AUTO, SCALAR),
    PAPER_METHOD("npksd_mean", "NP-KSD_mean", MEAN, AUTO, SCALAR),
    PAPER_METHOD("npksd_g", "NP-KSD_G", ALL, GAUSS, SCALAR),
    PAPER_METHOD("mean_vector", "NP-KSD_mean, vector form", MEAN, AUTO, VECTOR),
    { "reversed", "KSD, score reversed", METHOD_NPKSD, NPKSD_SUMMARY_MEAN,
      NPKSD_ESTIMATOR_CALLBACK, NPKSD_FORM_VECTOR, 0, 0, 0, 1 },
    { "ksd_model", "KSD, bandwidth of the model", METHOD_NPKSD, NPKSD_SUMMARY_MEAN,
      NPKSD_ESTIMATOR_CALLBACK, NPKSD_FORM_VECTOR, 0, 0, 0, 0 },
    { "default", "npksd.h default", METHOD_NPKSD, NPKSD_SUMMARY_MEAN, NPKSD_ESTIMATOR_AUTO,
      NPKSD_FORM_VECTOR, 1, 0, 0, 0 },
    OTHER_METHOD("ksd", "KSD, Monte Carlo", METHOD_KSD),
    OTHER_METHOD("ksd_wild", "KSD, wild bootstrap", METHOD_KSD_WILD),
    OTHER_METHOD("mmdagg", "MMDAgg", METHOD_MMDAGG),
    OTHER_METHOD("mmd", "MMD", METHOD_MMD),
    OTHER_METHOD("mmd_scaled", "MMD, wrongly scaled", METHOD_MMD_SCALED),
};

/* ======== settings ======== */

typedef struct setting {
    const char *part;
    char name[24], title[64];
    size_t n, m, fit_rows, replicates, level_count;
    double levels[LEVELS_MAX];    /* the first one is 0: the null hypothesis */
    bench_data data[LEVELS_MAX];
    uint64_t seed;
} setting;

static setting settings[SETTINGS_MAX];
static size_t setting_count;

static size_t trials_of(size_t quick_count, size_t full_count)
{
    return all.smoke ? 2 : all.full ? full_count : quick_count;
}

/* number makes the seeds; it must never change, so that the rates can be reproduced */
static setting *new_setting(const char *part, const char *name, const char *title, uint64_t number,
                            size_t n, size_t m, size_t fit_rows, size_t replicates)
{
    setting *s = &settings[setting_count++];
    if (setting_count > SETTINGS_MAX)
        bench_die("raise SETTINGS_MAX in paper.c", NPKSD_ERROR_ARGUMENT);
    memset(s, 0, sizeof *s);
    s->part = part;
    snprintf(s->name, sizeof s->name, "%s", name);
    snprintf(s->title, sizeof s->title, "%s", title);
    s->n = n;
    s->m = m;
    s->fit_rows = all.smoke && fit_rows > 100 ? 100 : fit_rows;
    s->replicates = all.smoke ? 19 : replicates;
    s->seed = 1000003 * number;
    return s;
}

static void add_level(setting *s, double level, bench_data data)
{
    s->levels[s->level_count] = level;
    s->data[s->level_count++] = data;
}

/* ======== one trial ======== */

static int reversed_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores,
                          void *user_data)
{
    if (bench_score(rows, count, m, scores, user_data) != 0)
        return 1;
    for (size_t i = 0; i < count * m; i++)
        scores[i] = -scores[i];
    return 0;
}

static npksd_options options_of(const method *k, size_t fit_rows, size_t replicates, uint64_t seed)
{
    npksd_options o = npksd_default_options();
    o.seed = seed;
    o.fit_rows = fit_rows;
    o.replicates = replicates;
    if (all.smoke)
        o.pilot = 20;
    if (!k->whole)
        bench_letter(&o, k->summary, k->estimator, k->form, NPKSD_COMPONENT_STEIN);
    o.resample = k->resample;
    o.resample_redraw = k->redraw;
    return o;
}

static void draw_observed(const setting *s, size_t level, uint64_t seed, npksd_real *rows)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, ~seed, level);
    bench_data data = s->data[level];
    bench_sample(rows, s->n, s->m, &rng, &data);
}

static void trial_npksd(const piece *p, uint64_t seed, piece_outcome *out)
{
    const setting *s = (const setting *)p->setting;
    const method *k = (const method *)p->method;
    bench_data null_model = s->data[0];
    npksd_options o = options_of(k, s->fit_rows, s->replicates, seed);
    npksd_real *rows = (npksd_real *)bench_alloc(s->n * s->m, sizeof *rows);
    double start = bench_cpu();
    npksd_tester *tester;
    o.score_fn = k->reversed ? reversed_score : bench_score;
    o.score_user_data = &null_model;
    bench_must(k->name, npksd_tester_create(&tester, s->n, s->m, bench_sample, &null_model, &o));
    bench_must(k->name, npksd_tester_step(tester, (size_t)-1));
    for (size_t l = 0; l < p->cells; l++) {
        npksd_result result;
        draw_observed(s, l, seed, rows);
        bench_must(k->name, npksd_tester_check(tester, rows, &result, NULL));
        out->hits[l] = (unsigned)result.reject;
        if (l == 0)
            out->seconds = bench_cpu() - start; /* of one whole test */
    }
    npksd_tester_destroy(tester);
    free(rows);
}

static void trial_ksd(const piece *p, uint64_t seed, piece_outcome *out)
{
    const setting *s = (const setting *)p->setting;
    const method *k = (const method *)p->method;
    bench_data null_model = s->data[0];
    baseline_model model = { bench_sample, bench_score, NULL };
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 7);
    npksd_real *rows = (npksd_real *)bench_alloc(2 * s->n * s->m, sizeof *rows);
    double *null_values = (double *)bench_alloc(s->replicates, sizeof *null_values);
    double start = bench_cpu();
    model.user_data = &null_model;
    if (k->kind == METHOD_KSD)
        baseline_ksd_null(s->n, s->m, &model, s->replicates, &rng, null_values);
    for (size_t l = 0; l < p->cells; l++) {
        double p_value;
        draw_observed(s, l, seed, rows);
        if (k->kind == METHOD_KSD)
            p_value = baseline_p_value(null_values, s->replicates,
                                       baseline_ksd_own_width(rows, s->n, s->m, &model,
                                                              rows + s->n * s->m, NULL));
        else
            p_value = baseline_ksd_wild(rows, s->n, s->m, &model, s->replicates, &rng);
        out->hits[l] = p_value <= 0.05;
        if (l == 0)
            out->seconds = bench_cpu() - start;
    }
    free(rows);
    free(null_values);
}

/* MMD as a V-statistic, with the observed value multiplied by the larger sample size and the
   permuted ones by n. Not a valid test, but its rates are like those in the paper's table. */
static int mmd_wrongly_scaled(const npksd_real *x, size_t n, const npksd_real *y, size_t count,
                              size_t m, size_t permutations, npksd_rng *rng)
{
    baseline_pool pool;
    double observed[BASELINE_WIDTHS], mmd[BASELINE_WIDTHS];
    double scale = (double)(n > count ? n : count) / (double)n;
    size_t above = 0;
    baseline_pool_make(&pool, x, n, y, count, m);
    baseline_mmd_observed(&pool, 1, observed);
    for (size_t r = 0; r < permutations; r++) {
        baseline_mmd(&pool, baseline_subset(&pool, pool.small, rng), pool.small, 1, mmd);
        above += mmd[BASELINE_MEDIAN_WIDTH] >= scale * observed[BASELINE_MEDIAN_WIDTH];
    }
    baseline_pool_free(&pool);
    return (double)(above + 1) <= 0.05 * (double)(permutations + 1);
}

static void trial_mmd(const piece *p, uint64_t seed, piece_outcome *out)
{
    const setting *s = (const setting *)p->setting;
    const method *k = (const method *)p->method;
    bench_data null_model = s->data[0];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 8);
    size_t permutations = all.smoke ? 19 : AGG_PERMUTATIONS;
    npksd_real *rows = (npksd_real *)bench_alloc((s->n + s->fit_rows) * s->m, sizeof *rows);
    npksd_real *drawn = rows + s->n * s->m;
    double start = bench_cpu();
    bench_sample(drawn, s->fit_rows, s->m, &rng, &null_model);
    for (size_t l = 0; l < p->cells; l++) {
        int reject;
        draw_observed(s, l, seed, rows);
        if (k->kind == METHOD_MMDAGG)
            reject = baseline_mmdagg(rows, s->n, drawn, s->fit_rows, s->m, 0.05, permutations,
                                     &rng);
        else if (k->kind == METHOD_MMD)
            reject = baseline_mmd_permutation(rows, s->n, drawn, s->fit_rows, s->m,
                                              s->replicates, &rng) <= 0.05;
        else
            reject = mmd_wrongly_scaled(rows, s->n, drawn, s->fit_rows, s->m, s->replicates, &rng);
        out->hits[l] = reject != 0;
        if (l == 0)
            out->seconds = bench_cpu() - start;
    }
    free(rows);
}

static void table_job(const piece *p, size_t job, piece_outcome *out)
{
    uint64_t seed = ((const setting *)p->setting)->seed + job;
    for (size_t l = 0; l < p->cells; l++)
        out->trials[l] = 1;
    switch (((const method *)p->method)->kind) {
    case METHOD_NPKSD: trial_npksd(p, seed, out); break;
    case METHOD_KSD:
    case METHOD_KSD_WILD: trial_ksd(p, seed, out); break;
    case METHOD_MMD:
    case METHOD_MMDAGG:
    case METHOD_MMD_SCALED: trial_mmd(p, seed, out); break;
    }
}

/* ======== pieces of tables ======== */

/* ms per trial, roughly: only for the estimate of the time left */
static double expected_ms(const setting *s, const method *k)
{
    double pairs = (double)(s->n * s->n) * 1e-4, wide = 1 + (double)s->m / 20;
    double sets = (double)s->replicates / 500, pool = (double)(s->n + s->fit_rows) / 1100;
    switch (k->kind) {
    case METHOD_NPKSD: return wide * (10 + pairs * sets * (k->whole ? 90 : 22));
    case METHOD_KSD: return 67 * sets * pairs * wide;
    case METHOD_KSD_WILD: return 2 * pairs * (double)s->level_count;
    case METHOD_MMDAGG: return (double)s->level_count * (20 * pool * pool * wide + 25 * pairs);
    case METHOD_MMD:
    case METHOD_MMD_SCALED: return (double)s->level_count * (20 * pool * pool + 12 * pairs);
    }
    return 1;
}

static void piece_key(char *key, const setting *s, const char *id)
{
    snprintf(key, PIECE_KEY, "%s/%s%s%s", s->part, s->name, s->name[0] != '\0' ? "/" : "", id);
}

static void add_method(const setting *s, const method *k, size_t jobs)
{
    char key[PIECE_KEY];
    piece_key(key, s, k->id);
    piece *p = runner_add(&all, key, jobs, s->level_count);
    snprintf(p->label, sizeof p->label, "%s: %s", s->title, k->name);
    p->nulls = k->kind != METHOD_MMD_SCALED;
    p->job_fn = table_job;
    p->setting = s;
    p->method = k;
    p->weight = expected_ms(s, k);
}

static const piece *piece_of(const setting *s, const char *id)
{
    char key[PIECE_KEY];
    piece_key(key, s, id);
    const piece *p = runner_find(&all, key);
    return p != NULL && p->done ? p : NULL;
}

static const int gvd_methods[] = { NPKSD_ALL, NPKSD_MEAN, NPKSD_G, MEAN_VECTOR, REVERSED, KSD,
                                   KSD_MODEL, KSD_WILD, MMDAGG, DEFAULT };
static const int fit_methods[] = { NPKSD_ALL, NPKSD_MEAN, NPKSD_G, MEAN_VECTOR, MMDAGG, DEFAULT };
static const int type1_methods[] = { MMD, MMD_SCALED, MMDAGG, KSD, KSD_WILD, NPKSD_MEAN, DEFAULT };
#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

static setting *gvd, *mog[2], *wide, *apart[2];

/* N(0, I) in three coordinates, for several N, the number of generated rows */
typedef struct sweep {
    const char *part, *title;
    uint64_t number; /* of the first setting */
    size_t n, quick_trials, count, rows[6];
    double change;   /* of the variance, in addition to the null; 0: the null alone */
    const int *ways;
    size_t way_count;
    setting *at[6];
} sweep;

static sweep fit = { "fit", "GVD", 2, 100, 150, 5, { 50, 100, 200, 500, 1000 }, 0.4, fit_methods,
                     COUNT_OF(fit_methods), { NULL } };
static sweep type1 = { "type1", "type-I error", 9, 50, 200, 6, { 20, 50, 100, 200, 500, 1000 }, 0,
                       type1_methods, COUNT_OF(type1_methods), { NULL } };

static void plan_gvd(void)
{
    static const double levels[LEVELS_MAX] = { 0, -0.4, -0.2, 0.2, 0.4, 0.6, 0.8, 1 };
    gvd = new_setting("gvd", "", "GVD", 1, 100, 3, 1000, 499);
    for (size_t l = 0; l < LEVELS_MAX; l++)
        add_level(gvd, levels[l], bench_gauss(1 + levels[l], 0));
    for (size_t k = 0; k < COUNT_OF(gvd_methods); k++)
        add_method(gvd, &methods[gvd_methods[k]], trials_of(200, 1000));
}

static void plan_sweep(sweep *w)
{
    for (size_t i = 0; i < w->count; i++) {
        char name[24], title[64];
        snprintf(name, sizeof name, "%zu", w->rows[i]);
        snprintf(title, sizeof title, "%s, N = %zu", w->title, w->rows[i]);
        w->at[i] = new_setting(w->part, name, title, w->number + i, w->n, 3, w->rows[i], 499);
        add_level(w->at[i], 0, bench_gauss(1, 0));
        if (w->change > 0)
            add_level(w->at[i], w->change, bench_gauss(1 + w->change, 0));
        for (size_t k = 0; k < w->way_count; k++)
            add_method(w->at[i], &methods[w->ways[k]], trials_of(w->quick_trials, 1000));
    }
}

static void plan_fit(void)
{
    plan_sweep(&fit);
    add_method(fit.at[0], &methods[KSD], trials_of(fit.quick_trials, 1000)); /* the same for all N */
}

static void plan_type1(void)
{
    plan_sweep(&type1);
}

/* centres at +-1 in the first coordinate; with FULL=1 also at +-1 in every coordinate */
static void plan_mog(void)
{
    static const double levels[7] = { 0, -0.3, 0.1, 0.2, 0.3, 0.4, 0.5 };
    for (size_t v = 0; v < (all.full ? 2 : 1); v++) {
        mog[v] = new_setting("mog", v == 0 ? "first" : "every",
                             v == 0 ? "MoG" : "MoG, every coordinate", v == 0 ? 7 : 20, 200, 6,
                             1000, 499);
        for (size_t l = 0; l < 7; l++) {
            bench_data d = bench_mixture(1, 0.5, levels[l]);
            d.centre_count = v == 0 ? 1 : (size_t)-1;
            add_level(mog[v], levels[l], d);
        }
        for (size_t k = 0; k < COUNT_OF(gvd_methods); k++)
            add_method(mog[v], &methods[gvd_methods[k]], trials_of(100, 1000));
    }
}

enum { RESAMPLE_COUNT = 5 }; /* B = 5 10 20 40 and all */
static const size_t resample_sizes[RESAMPLE_COUNT] = { 5, 10, 20, 40, 0 };
static method resample_methods[RESAMPLE_COUNT * 4];
static char resample_names[RESAMPLE_COUNT * 4][48];

/* the method for B = resample_sizes[b], in vector form or not, index set redrawn or not */
static method *resample_method(size_t b, int vector, int redraw)
{
    return &resample_methods[b * 4 + (size_t)vector * 2 + (size_t)redraw];
}

static setting *wide_setting(const char *name, const char *title, uint64_t number, double centre,
                             size_t centre_count)
{
    setting *s = new_setting("resample", name, title, number, 100, 40, 1000, 199);
    for (size_t l = 0; l < 2; l++) {
        bench_data d = bench_mixture(centre, 0.5, l == 0 ? 0 : 0.5);
        d.centre_count = centre_count;
        add_level(s, l == 0 ? 0 : 0.5, d);
    }
    return s;
}

/* the methods that are run for several positions of the centres, without re-sampling */
enum { APART_METHODS = 6 };
static const method *apart_method(size_t k)
{
    switch (k) {
    case 0: return &methods[MMDAGG];
    case 1: return &methods[KSD];
    case 2: return &methods[KSD_MODEL];
    case 3: return resample_method(RESAMPLE_COUNT - 1, 0, 0);
    case 4: return resample_method(RESAMPLE_COUNT - 1, 1, 0);
    default: return &methods[DEFAULT];
    }
}

static void plan_resample(void)
{
    wide = wide_setting("", "MoG, m = 40", 8, 1, 1);
    apart[0] = wide_setting("every_1", "MoG, m = 40, centres +-1 in every coordinate", 15, 1,
                            (size_t)-1);
    apart[1] = wide_setting("every_1.5", "MoG, m = 40, centres +-1.5 in every coordinate", 16, 1.5,
                            (size_t)-1);
    for (size_t b = 0; b < RESAMPLE_COUNT; b++) {
        for (int vector = 0; vector < 2; vector++) {
            for (int redraw = 0; redraw < (resample_sizes[b] > 0 ? 2 : 1); redraw++) {
                method *k = resample_method(b, vector, redraw);
                char *name = resample_names[k - resample_methods];
                *k = methods[NPKSD_ALL];
                snprintf(name, sizeof resample_names[0], "B%zu_%s_%s", resample_sizes[b],
                         vector ? "vector" : "scalar", redraw ? "redrawn" : "shared");
                k->id = k->name = name;
                k->form = vector ? NPKSD_FORM_VECTOR : NPKSD_FORM_SCALAR;
                k->resample = resample_sizes[b];
                k->redraw = redraw;
                if (k != apart_method(3) && k != apart_method(4))
                    add_method(wide, k, trials_of(100, 1000));
            }
        }
    }
    for (size_t k = 0; k < APART_METHODS; k++) {
        add_method(wide, apart_method(k), trials_of(100, 1000));
        add_method(apart[0], apart_method(k), trials_of(100, 1000));
        add_method(apart[1], apart_method(k), trials_of(100, 1000));
    }
}

/* ======== wild bootstrap against Monte Carlo ======== */

enum { WILD_N = 100, WILD_SCORES = 4, WILD_GOOD = 1000, WILD_POOR = 10 };

static const char *const wild_names[WILD_SCORES] = { "KSD, true score", "SM1: fit to 1000 rows",
                                                     "SM2: fit to 10 rows",
                                                     "SM1 with its sign reversed" };
static const char *const wild_cells[2 * WILD_SCORES] = {
    "KSD, Monte Carlo", "KSD, wild bootstrap", "SM1, Monte Carlo", "SM1, wild bootstrap",
    "SM2, Monte Carlo", "SM2, wild bootstrap", "reversed, Monte Carlo", "reversed, wild bootstrap"
};

/* a score in one dimension that is a straight line, as the GAUSS family fits it */
typedef struct line_score {
    double at_zero, slope;
} line_score;

static int line_score_fn(const npksd_real *rows, size_t count, size_t m, npksd_real *scores,
                         void *user_data)
{
    const line_score *line = (const line_score *)user_data;
    for (size_t i = 0; i < count * m; i++)
        scores[i] = (npksd_real)(line->at_zero + line->slope * (double)rows[i]);
    return 0;
}

static int normal_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

/* npksd.h fits a Gaussian score to `rows` rows of N(0, 1) */
static line_score fit_line(size_t rows, uint64_t seed)
{
    npksd_options o = options_of(&methods[NPKSD_G], rows, 19, seed);
    npksd_real points[2] = { 0, 1 }, scores[2];
    npksd_tester *tester;
    line_score line;
    bench_must("fit", npksd_tester_create(&tester, 10, 1, normal_sample, NULL, &o));
    bench_must("fit", npksd_tester_prepare(tester));
    bench_must("fit", npksd_tester_scores(tester, points, 2, scores));
    npksd_tester_destroy(tester);
    line.at_zero = (double)scores[0];
    line.slope = (double)(scores[1] - scores[0]);
    return line;
}

static line_score wild_score(size_t which, uint64_t seed)
{
    line_score line = { 0, -1 };
    if (which > 0)
        line = fit_line(which == 2 ? WILD_POOR : WILD_GOOD, seed);
    if (which == 3) {
        line.at_zero = -line.at_zero;
        line.slope = -line.slope;
    }
    return line;
}

/* both kinds of null values for one data set of N(0, 1); returns its statistic */
static double wild_nulls(line_score line, uint64_t seed, size_t count, double *monte_carlo,
                         double *wild, npksd_real *rows)
{
    baseline_model model = { normal_sample, line_score_fn, NULL };
    static npksd_real scores[WILD_N];
    static double matrix[WILD_N * WILD_N];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 9);
    double statistic;
    model.user_data = &line;
    normal_sample(rows, WILD_N, 1, &rng, NULL);
    statistic = baseline_ksd_own_width(rows, WILD_N, 1, &model, scores, matrix);
    baseline_ksd_null(WILD_N, 1, &model, count, &rng, monte_carlo);
    baseline_wild_null(matrix, WILD_N, count, &rng, wild);
    return statistic;
}

static void wild_job(const piece *p, size_t job, piece_outcome *out)
{
    size_t count = all.smoke ? 19 : 199;
    double monte_carlo[199], wild[199];
    npksd_real rows[WILD_N];
    uint64_t seed = 77000000 + job;
    (void)p;
    for (size_t v = 0; v < WILD_SCORES; v++) {
        double t = wild_nulls(wild_score(v, seed), seed, count, monte_carlo, wild, rows);
        out->hits[2 * v] = baseline_p_value(monte_carlo, count, t) <= 0.05;
        out->hits[2 * v + 1] = baseline_p_value(wild, count, t) <= 0.05;
        out->trials[2 * v] = out->trials[2 * v + 1] = 1;
    }
}

static void plan_wild(void)
{
    piece *p = runner_add(&all, "wild/levels", trials_of(300, 1000), 2 * WILD_SCORES);
    snprintf(p->label, sizeof p->label, "wild bootstrap figure");
    p->cell_names = wild_cells;
    p->nulls = 0x57; /* Monte Carlo always, the wild bootstrap where the score is the true one */
    p->job_fn = wild_job;
    p->weight = 60;
}

/* ======== trained generators ======== */

enum { LEARNT_METHODS = 4 };
static const int learnt_methods[LEARNT_METHODS] = { NPKSD_MEAN, MEAN_VECTOR, DEFAULT, MMDAGG };
static const char *learnt_names[LEARNT_METHODS];

typedef struct learnt {
    generator_kind kind;
    int mixture;
    size_t fits, checks; /* testers per training, data sets per tester */
} learnt;

static learnt learnts[2 * GENERATOR_KINDS];

static bench_data learnt_truth(int mixture)
{
    return mixture ? bench_mixture(1.5, 0.5, 0) : bench_gauss(1, 0);
}

static generator learnt_train(const learnt *l, uint64_t training)
{
    return generator_train(l->kind, learnt_truth(l->mixture), 500 + training,
                           all.smoke ? 20 : GENERATOR_STEPS);
}

static unsigned learnt_npksd(const method *k, generator *g, const learnt *l, uint64_t seed)
{
    npksd_options o = options_of(k, all.smoke ? 100 : 1000, all.smoke ? 19 : 199, seed);
    npksd_tester *tester;
    unsigned hits = 0;
    bench_data truth = g->truth;
    npksd_real rows[100 * GENERATOR_M];
    bench_must(k->name, npksd_tester_create(&tester, 100, GENERATOR_M, generator_sample, g, &o));
    bench_must(k->name, npksd_tester_step(tester, (size_t)-1));
    for (size_t c = 0; c < l->checks; c++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, ~seed, c);
        npksd_result result;
        bench_sample(rows, 100, GENERATOR_M, &rng, &truth);
        bench_must(k->name, npksd_tester_check(tester, rows, &result, NULL));
        hits += (unsigned)result.reject;
    }
    npksd_tester_destroy(tester);
    return hits;
}

static unsigned learnt_mmdagg(generator *g, const learnt *l, uint64_t seed)
{
    size_t count = all.smoke ? 100 : 1000;
    npksd_real *drawn = (npksd_real *)bench_alloc(count * GENERATOR_M, sizeof *drawn);
    npksd_real rows[100 * GENERATOR_M];
    bench_data truth = g->truth;
    unsigned hits = 0;
    for (size_t c = 0; c < l->checks; c++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, ~seed, c);
        bench_sample(rows, 100, GENERATOR_M, &rng, &truth);
        generator_sample(drawn, count, GENERATOR_M, &rng, g);
        hits += (unsigned)baseline_mmdagg(rows, 100, drawn, count, GENERATOR_M, 0.05,
                                          all.smoke ? 19 : AGG_PERMUTATIONS, &rng);
    }
    free(drawn);
    return hits;
}

static void learnt_job(const piece *p, size_t job, piece_outcome *out)
{
    const learnt *l = (const learnt *)p->setting;
    generator g = learnt_train(l, job);
    for (size_t f = 0; f < l->fits; f++) {
        uint64_t seed = 88000000 + 100000 * (uint64_t)(l - learnts) + 1000 * job + f;
        for (size_t k = 0; k < LEARNT_METHODS; k++) {
            const method *way = &methods[learnt_methods[k]];
            out->hits[k] += way->kind == METHOD_NPKSD ? learnt_npksd(way, &g, l, seed)
                                                      : learnt_mmdagg(&g, l, seed);
            out->trials[k] += (unsigned)l->checks;
        }
    }
    generator_free(&g);
}

static void learnt_key(char *key, const learnt *l)
{
    snprintf(key, PIECE_KEY, "generators/%s/%s", l->mixture ? "MoG" : "Gaussian",
             generator_names[l->kind]);
}

/* Real is the null hypothesis: one fit per data set. NCSN draws slowly: one fit per training. */
static void plan_generators(void)
{
    for (size_t k = 0; k < LEARNT_METHODS; k++)
        learnt_names[k] = methods[learnt_methods[k]].name;
    for (int i = 0; i < 2 * GENERATOR_KINDS; i++) {
        learnt *l = &learnts[i];
        char key[PIECE_KEY];
        piece *p;
        l->mixture = i / GENERATOR_KINDS;
        l->kind = (generator_kind)(i % GENERATOR_KINDS);
        l->fits = l->kind == GENERATOR_REAL ? 20 : l->kind == GENERATOR_NCSN ? 1 : 4;
        l->checks = 20 / l->fits;
        if (all.smoke)
            l->fits = l->checks = 1;
        learnt_key(key, l);
        p = runner_add(&all, key, all.smoke ? 1 : all.full ? 40 : 10, LEARNT_METHODS);
        snprintf(p->label, sizeof p->label, "%s, %s", generator_names[l->kind],
                 l->mixture ? "mixture" : "Gaussian");
        p->cell_names = learnt_names;
        p->nulls = l->kind == GENERATOR_REAL ? (1u << LEARNT_METHODS) - 1 : 0;
        p->job_fn = learnt_job;
        p->setting = l;
        p->weight = 1500 + (double)l->fits * 200 + (l->kind == GENERATOR_NCSN ? 5000 : 0);
    }
}

#include "paper_report.h"

/* ======== the command line ======== */

static int known_part(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (strcmp(name, parts[i].name) == 0)
            return 1;
    return 0;
}

/* of the other parts, nothing is run, but pieces from earlier runs stay in the report */
static void choose_parts(char **names, size_t count)
{
    size_t kept = 0;
    if (count == 0)
        return;
    for (size_t i = 0; i < all.count; i++) {
        size_t length = strcspn(all.pieces[i].key, "/");
        int wanted = all.pieces[i].done;
        for (size_t k = 0; k < count; k++)
            wanted = wanted || (strlen(names[k]) == length
                                && strncmp(names[k], all.pieces[i].key, length) == 0);
        if (wanted)
            all.pieces[kept++] = all.pieces[i];
    }
    all.count = kept;
}

int main(int argc, char **argv)
{
    int count = runner_arguments(&all, "paper", "[part ...]", argc, argv);
    for (int i = 0; i < count; i++) {
        if (!known_part(argv[i])) {
            fprintf(stderr, "paper: unknown part '%s'; choose from:", argv[i]);
            for (size_t k = 0; k < COUNT_OF(parts); k++)
                fprintf(stderr, " %s", parts[k].name);
            fprintf(stderr, "\n");
            return 2;
        }
    }
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        parts[i].plan_fn();
    runner_open(&all, bench_flag("FRESH") || all.smoke);
    choose_parts(argv, (size_t)count);
    runner_run(&all);
    write_section();
    return 0;
}
