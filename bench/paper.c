/*
 * The synthetic settings of the paper (Xu & Reinert, section "Experiments" and its appendix), in
 * outline: the same data, sizes and statistics, closed-form scores instead of trained networks.
 *
 *     GVD  Gaussian variance difference: N(0, I) against N(0, (1 + s) I), m = 3, n = 100
 *     MoG  mixture of two Gaussians: adjacent covariance s, m = 6, n = 200; m = 40, n = 100
 *
 *     paper [part ...]     parts: variance fit mixture resample; none = all
 *
 * The paper does not print where the two modes are; here: +-1 in every coordinate, then +-1 in the
 * first one only.
 */
#include "bench.h"

enum { LEVELS_MAX = 6, METHODS_MAX = 8 };

static size_t seeds = 6, checks = 50;
static int quick;

typedef struct method {
    const char *name;
    int summary, estimator, form, statistic;
    unsigned components;
    int one_scale;
    size_t resample;
    int redraw;
} method;

static const method methods[] = {
    { "NP-KSD, scalar", NPKSD_SUMMARY_ALL, NPKSD_ESTIMATOR_AUTO, NPKSD_FORM_SCALAR,
      NPKSD_STATISTIC_V, NPKSD_COMPONENT_STEIN, 1, 0, 0 },
    { "NP-KSD, vector", NPKSD_SUMMARY_ALL, NPKSD_ESTIMATOR_AUTO, NPKSD_FORM_VECTOR,
      NPKSD_STATISTIC_V, NPKSD_COMPONENT_STEIN, 1, 0, 0 },
    { "NP-KSD_mean, scalar", NPKSD_SUMMARY_MEAN, NPKSD_ESTIMATOR_AUTO, NPKSD_FORM_SCALAR,
      NPKSD_STATISTIC_V, NPKSD_COMPONENT_STEIN, 1, 0, 0 },
    { "NP-KSD_mean, vector", NPKSD_SUMMARY_MEAN, NPKSD_ESTIMATOR_AUTO, NPKSD_FORM_VECTOR,
      NPKSD_STATISTIC_V, NPKSD_COMPONENT_STEIN, 1, 0, 0 },
    { "NP-KSD_G, vector", NPKSD_SUMMARY_ALL, NPKSD_ESTIMATOR_GAUSS, NPKSD_FORM_VECTOR,
      NPKSD_STATISTIC_V, NPKSD_COMPONENT_STEIN, 1, 0, 0 },
    { "KSD (true score)", NPKSD_SUMMARY_MEAN, NPKSD_ESTIMATOR_CALLBACK, NPKSD_FORM_VECTOR,
      NPKSD_STATISTIC_V, NPKSD_COMPONENT_STEIN, 1, 0, 0 },
    { "MMD alone", NPKSD_SUMMARY_MEAN, NPKSD_ESTIMATOR_GAUSS, NPKSD_FORM_VECTOR,
      NPKSD_STATISTIC_V, NPKSD_COMPONENT_MMD, 1, 0, 0 },
    { "npksd.h default", NPKSD_SUMMARY_MEAN, NPKSD_ESTIMATOR_AUTO, NPKSD_FORM_VECTOR,
      NPKSD_STATISTIC_UV, NPKSD_COMPONENT_ALL, 0, 0, 0 },
};

typedef struct setting {
    size_t n, m, fit_rows, replicates, level_count;
    bench_data data[LEVELS_MAX]; /* the first one is the null model */
    const method *list;
    size_t method_count;
} setting;

typedef struct outcome {
    double rate[LEVELS_MAX], seconds;
} outcome;

static npksd_options options_of(const method *k, const setting *s, uint64_t seed)
{
    static const npksd_real one = 1;
    npksd_options o = npksd_default_options();
    o.seed = seed;
    o.fit_rows = s->fit_rows;
    o.replicates = s->replicates;
    o.summary = k->summary;
    o.estimator = k->estimator;
    o.form = k->form;
    o.statistic = k->statistic;
    o.components = k->components;
    o.resample = k->resample;
    o.resample_redraw = k->redraw;
    if (k->one_scale) {
        o.scales = &one;
        o.scale_count = 1;
    }
    return o;
}

/* job = (method, seed) */
static void paper_job(size_t job, void *out, void *context)
{
    const setting *s = (const setting *)context;
    const method *k = &s->list[job / seeds];
    uint64_t seed = job % seeds;
    npksd_options o = options_of(k, s, seed);
    bench_data null_model = s->data[0];
    outcome *result = (outcome *)out;
    npksd_real *rows = (npksd_real *)bench_alloc(s->n * s->m, sizeof *rows);
    npksd_tester *tester;
    o.score_fn = bench_score;
    o.score_user_data = &null_model;
    double start = bench_cpu();
    bench_must(k->name, npksd_tester_create(&tester, s->n, s->m, bench_sample, &null_model, &o));
    bench_must(k->name, npksd_tester_step(tester, (size_t)-1));
    for (size_t l = 0; l < s->level_count; l++) {
        bench_data d = s->data[l];
        size_t hits = 0;
        for (size_t c = 0; c < checks; c++) {
            npksd_rng_state state;
            npksd_rng rng = npksd_rng_seeded(&state, ~seed, ((uint64_t)l << 32) + c);
            npksd_result one;
            bench_sample(rows, s->n, s->m, &rng, &d);
            bench_must(k->name, npksd_tester_check(tester, rows, &one, NULL));
            hits += (size_t)one.reject;
            if (l == 0 && c == 0)
                result->seconds = bench_cpu() - start; /* one test, all in all */
        }
        result->rate[l] = (double)hits / (double)checks;
    }
    npksd_tester_destroy(tester);
    free(rows);
}

/* prints one line per method: rejection rate at each level, then the time of one test */
static void print_setting(setting *s, const char *parameter, const double *levels)
{
    outcome *all = (outcome *)bench_parallel(s->method_count * seeds, bench_processes(),
                                             sizeof *all, paper_job, s);
    double *values = (double *)bench_alloc(seeds, sizeof *values);
    printf("%-28s", parameter);
    for (size_t l = 0; l < s->level_count; l++)
        printf(" %8.2f     ", levels[l]);
    printf(" %8s\n", "ms");
    for (size_t k = 0; k < s->method_count; k++) {
        printf("%-28s", s->list[k].name);
        for (size_t l = 0; l < s->level_count; l++) {
            double mean, error;
            for (size_t i = 0; i < seeds; i++)
                values[i] = all[k * seeds + i].rate[l];
            bench_mean(values, seeds, &mean, &error);
            printf(" %5.2f (%5.3f)", mean, error);
        }
        for (size_t i = 0; i < seeds; i++)
            values[i] = all[k * seeds + i].seconds;
        printf(" %8.1f\n", 1e3 * bench_median(values, seeds));
    }
    printf("\n");
    free(values);
}

static setting new_setting(size_t n, size_t m, size_t fit_rows, size_t replicates)
{
    setting s;
    memset(&s, 0, sizeof s);
    s.n = n;
    s.m = m;
    s.fit_rows = fit_rows;
    s.replicates = quick ? 49 : replicates;
    s.list = methods;
    s.method_count = sizeof methods / sizeof methods[0];
    return s;
}

static void variance(void)
{
    static const double levels[LEVELS_MAX] = { 0, 0.2, 0.4, 0.6, 0.8, -0.4 };
    setting s = new_setting(100, 3, 1000, 499);
    for (int l = 0; l < LEVELS_MAX; l++)
        s.data[l] = bench_gauss(1 + levels[l], 0);
    s.level_count = LEVELS_MAX;
    printf("== GVD, m = 3, n = 100, N = 1000, b = %zu\n\n", s.replicates);
    print_setting(&s, "variance change", levels);
}

static void fit(void)
{
    static const size_t sizes[] = { 50, 100, 200, 500, 1000, 4000 };
    static const double levels[2] = { 0, 0.4 };
    printf("== GVD against the size N of the fit, variance change 0.4, m = 3, n = 100\n\n");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        setting s = new_setting(100, 3, sizes[i], 499);
        char title[32];
        s.data[0] = bench_gauss(1, 0);
        s.data[1] = bench_gauss(1.4, 0);
        s.level_count = 2;
        snprintf(title, sizeof title, "N = %zu; variance change", sizes[i]);
        print_setting(&s, title, levels);
    }
}

static void mixture_modes(size_t centre_count)
{
    static const double levels[LEVELS_MAX] = { 0, 0.1, 0.2, 0.3, 0.4, -0.3 };
    setting s = new_setting(200, 6, 1000, 499);
    for (int l = 0; l < LEVELS_MAX; l++) {
        s.data[l] = bench_mixture(1, 0.5, levels[l]);
        s.data[l].centre_count = centre_count;
    }
    s.level_count = LEVELS_MAX;
    printf("== MoG, m = 6, n = 200, N = 1000, b = %zu; modes at +-1 in %s\n\n", s.replicates,
           centre_count == 1 ? "the first coordinate" : "every coordinate");
    print_setting(&s, "adjacent covariance", levels);
}

static void mixture(void)
{
    mixture_modes((size_t)-1);
    mixture_modes(1);
}

static void resample_modes(size_t centre_count)
{
    static const size_t sizes[] = { 5, 10, 20, 40 };
    static const double levels[3] = { 0, 0.3, 0.45 };
    method list[10];
    char names[10][32];
    size_t count = 0;
    setting s = new_setting(100, 40, 1000, 199);
    for (size_t b = 0; b < 4; b++) {
        for (int redraw = 0; redraw < 2; redraw++) {
            list[count] = methods[3];
            list[count].resample = sizes[b];
            list[count].redraw = redraw;
            snprintf(names[count], sizeof names[count], "B = %zu, %s", sizes[b],
                     redraw ? "drawn again" : "one index set");
            list[count].name = names[count];
            count++;
        }
    }
    list[count] = methods[3];
    list[count++].name = "all coordinates";
    list[count] = methods[7];
    list[count++].name = "npksd.h default";
    for (int l = 0; l < 3; l++) {
        s.data[l] = bench_mixture(1, 0.5, levels[l]);
        s.data[l].centre_count = centre_count;
    }
    s.level_count = 3;
    s.list = list;
    s.method_count = count;
    printf("== MoG, m = 40, n = 100, N = 1000, b = %zu: B re-sampled coordinates, "
           "NP-KSD_mean, vector;\n   modes at +-1 in %s\n\n", s.replicates,
           centre_count == 1 ? "the first coordinate" : "every coordinate");
    print_setting(&s, "adjacent covariance", levels);
}

static void resample(void)
{
    resample_modes((size_t)-1);
    resample_modes(1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run_fn)(void);
    } parts[] = { { "variance", variance }, { "fit", fit }, { "mixture", mixture },
                  { "resample", resample } };
    const char *text = getenv("QUICK");
    quick = text != NULL && text[0] != '\0' && strcmp(text, "0") != 0;
    if (quick) {
        seeds = 2;
        checks = 8;
    }
    bench_print_machine();
    printf("\nrejection rates at alpha 0.05, mean over %zu fits of %zu data sets each, standard "
           "error between fits;\nms: processor time of one whole test (fit, pilot, replicates, "
           "check)\n\n", seeds,
           checks);
    for (int i = 1; i < argc || i == 1; i++) {
        int known = 0;
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
            if (argc < 2 || strcmp(argv[i], parts[k].name) == 0) {
                parts[k].run_fn();
                known = 1;
            }
        }
        if (!known) {
            fprintf(stderr, "paper: unknown part '%s'; parts: variance fit mixture resample\n",
                    argv[i]);
            return 2;
        }
    }
    return 0;
}
