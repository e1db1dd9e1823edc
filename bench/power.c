/*
 * How often does the test detect a difference? Every number is a rejection rate at alpha 0.05.
 *
 *     power table            the required powers, with the level beside each
 *     power samples          the same for fixed synthetic rows
 *     power level            both kinds of test over many seeds at 0.05 and 0.2
 *     power diagnosis        is the coordinate that differs named?
 *     power ablation         each component alone and left out, each estimator alone
 *     power required         the first four; exit status 1 if a requirement is missed
 *     power all              everything
 *
 * Arguments key=value change options (estimator=spline basis=14 scales=0.25,1 ...); seeds=S and
 * checks=C set the effort, group=G takes a single null model. With --out DIR first, `power all`
 * writes DIR/power.md, the section of RESULTS.md. QUICK=1 in the environment: few seeds, nothing is
 * judged.
 */
#include "bench.h"

enum { ALTERNATIVES_MAX = 8, GROUPS = 7 };

static size_t seeds = 12, checks = 50, trials = 400, level_seeds = 300;
static int quick, missed, only_group = -1;
static char *option_arguments[32];
static int option_count;

static FILE *section; /* of RESULTS.md, or NULL */

#define say(...) bench_say(section, __VA_ARGS__)

/* ======== null models and their alternatives ======== */

typedef struct alternative {
    const char *name;
    double required; /* 0: no requirement */
    bench_data data;
} alternative;

typedef struct group {
    const char *name;
    size_t m, n, fit_rows; /* 0: the default */
    bench_data null_model;
    alternative list[ALTERNATIVES_MAX];
    size_t count;
} group;

static void add(group *g, const char *name, double required, bench_data data)
{
    alternative *a = &g->list[g->count++];
    a->name = name;
    a->required = required;
    a->data = data;
}

/* the null model of a group with one field changed */
#define ADD_CHANGED(g, name, required, field, value)                                               \
    do {                                                                                           \
        bench_data changed = (g)->null_model;                                                      \
        changed.field = (value);                                                                   \
        add(g, name, required, changed);                                                           \
    } while (0)

static group *set_group(group *g, const char *name, size_t m, size_t n, size_t fit_rows,
                        bench_data null_model)
{
    g->name = name;
    g->m = m;
    g->n = n;
    g->fit_rows = fit_rows;
    g->null_model = null_model;
    return g;
}

/* two modes that differ in the first coordinate only */
static bench_data first_mixture(double centre)
{
    bench_data d = bench_mixture(centre, 0.5, 0);
    d.centre_count = 1;
    return d;
}

/* Fills groups and returns their number: all, or the one that group= asks for. */
static size_t make_groups(group *groups)
{
    memset(groups, 0, GROUPS * sizeof *groups);
    group *g = set_group(&groups[0], "Gauss", 3, 100, 2000, bench_gauss(1, 0));
    ADD_CHANGED(g, "variance +40 %", 0.80, variance, 1.4);
    ADD_CHANGED(g, "variance +20 %", 0.30, variance, 1.2);
    ADD_CHANGED(g, "variance -20 %", 0.30, variance, 0.8);
    ADD_CHANGED(g, "variance -40 %", 0.95, variance, 0.6);
    ADD_CHANGED(g, "mean + 0.3 sd, all", 0, shift, 0.3);

    /* Centres at distance 1 from the origin, +-(1,..,1)/sqrt(6): the required powers are for
       this setting. Centres at +-(1,..,1) are harder and are shown without a requirement. */
    g = set_group(&groups[1], "mixture, |c|=1", 6, 200, 0,
                  bench_mixture(0.40824829046386302, 0.5, 0));
    ADD_CHANGED(g, "covariance 0.2", 0.70, covariance, 0.2);
    ADD_CHANGED(g, "covariance 0.3", 0.95, covariance, 0.3);
    ADD_CHANGED(g, "variance +20 %", 0, variance, 1.2);
    ADD_CHANGED(g, "mean + 0.3 sd, all", 0, shift, 0.3);

    g = set_group(&groups[2], "Gauss", 5, 200, 0, bench_gauss(1, 0));
    add(g, "Laplace, half the numbers", 0.40, bench_laplace(BENCH_LAPLACE, 0.5));
    add(g, "Laplace, half the rows", 0.40, bench_laplace(BENCH_LAPLACE_ROWS, 0.5));
    add(g, "Laplace, all", 0.95, bench_laplace(BENCH_LAPLACE, 1));

    g = set_group(&groups[3], "modes +-(4,4)", 2, 100, 0, bench_mixture(4, 0.5, 0));
    ADD_CHANGED(g, "75/25 for 50/50", 0.80, upper, 0.75);
    ADD_CHANGED(g, "variance +40 %", 0, variance, 1.4);

    g = set_group(&groups[4], "modes +-(4,0)", 2, 100, 0, first_mixture(4));
    ADD_CHANGED(g, "75/25 for 50/50", 0.80, upper, 0.75);

    g = set_group(&groups[5], "+-1 in first", 6, 200, 0, first_mixture(1));
    ADD_CHANGED(g, "covariance 0.2", 0, covariance, 0.2);
    ADD_CHANGED(g, "covariance 0.3", 0, covariance, 0.3);

    g = set_group(&groups[6], "+-(1,..,1)", 6, 200, 0, bench_mixture(1, 0.5, 0));
    ADD_CHANGED(g, "covariance 0.2", 0, covariance, 0.2);
    ADD_CHANGED(g, "covariance 0.3", 0, covariance, 0.3);
    ADD_CHANGED(g, "75/25", 0, upper, 0.75);
    ADD_CHANGED(g, "mean + 0.3 sd, all", 0, shift, 0.3);
    if (only_group < 0 || only_group >= GROUPS)
        return GROUPS;
    groups[0] = groups[only_group];
    return 1;
}

/* ======== one tester, many data sets ======== */

typedef struct variant {
    const char *name;
    int estimator;
    unsigned components;
} variant;

typedef struct rates {
    double level, power[ALTERNATIVES_MAX];
} rates;

typedef struct plan {
    const group *groups;
    size_t group_count;
    const variant *variants; /* NULL: options as they are */
    size_t variant_count, seeds, checks;
} plan;

static npksd_options options_of(const group *g, uint64_t seed)
{
    npksd_options o = npksd_default_options();
    o.seed = seed;
    o.replicates = quick ? 99 : 999;
    o.pilot = quick ? 50 : 400;
    if (g != NULL && g->fit_rows > 0)
        o.fit_rows = g->fit_rows;
    for (int i = 0; i < option_count; i++)
        bench_option(&o, option_arguments[i]);
    return o;
}

static double rejected(npksd_tester *tester, const group *g, const bench_data *data, size_t count,
                       uint64_t seed, uint64_t first_stream)
{
    npksd_real *rows = (npksd_real *)bench_alloc(g->n * g->m, sizeof *rows);
    bench_data copy = *data;
    size_t hits = 0;
    for (size_t c = 0; c < count; c++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, ~seed, first_stream + c);
        npksd_result result;
        bench_sample(rows, g->n, g->m, &rng, &copy);
        bench_must("npksd_tester_check", npksd_tester_check(tester, rows, &result, NULL));
        hits += (size_t)result.reject;
    }
    free(rows);
    return (double)hits / (double)count;
}

/* job = (group, variant, seed), seed fastest */
static void rate_job(size_t job, void *out, void *context)
{
    const plan *p = (const plan *)context;
    uint64_t seed = job % p->seeds;
    size_t v = job / p->seeds % p->variant_count;
    const group *g = &p->groups[job / p->seeds / p->variant_count];
    npksd_options o = options_of(g, seed);
    bench_data null_model = g->null_model;
    rates *r = (rates *)out;
    npksd_tester *tester;
    if (p->variants != NULL) {
        o.estimator = p->variants[v].estimator;
        o.components = p->variants[v].components;
    }
    o.score_fn = bench_score; /* for estimator=true */
    o.score_user_data = &null_model;
    npksd_status status =
        npksd_tester_create(&tester, g->n, g->m, bench_sample, &null_model, &o);
    if (status != NPKSD_OK) {
        const char *problem = npksd_options_problem(&o, g->n, g->m);
        bench_die(problem != NULL ? problem : "npksd_tester_create", status);
    }
    bench_must("npksd_tester_step", npksd_tester_step(tester, (size_t)-1));
    r->level = rejected(tester, g, &g->null_model, p->checks, seed, 0);
    for (size_t a = 0; a < g->count; a++)
        r->power[a] = rejected(tester, g, &g->list[a].data, p->checks, seed,
                               (uint64_t)(a + 1) << 32);
    npksd_tester_destroy(tester);
}

static rates *run_plan(plan *p)
{
    return (rates *)bench_parallel(p->group_count * p->variant_count * p->seeds, bench_processes(),
                                   sizeof(rates), rate_job, p);
}

static void over_seeds(const plan *p, const rates *r, size_t g, size_t v, int alternative_index,
                       double *mean, double *error)
{
    double *values = (double *)bench_alloc(p->seeds, sizeof *values);
    for (size_t s = 0; s < p->seeds; s++) {
        const rates *one = &r[(g * p->variant_count + v) * p->seeds + s];
        values[s] = alternative_index < 0 ? one->level : one->power[alternative_index];
    }
    bench_mean(values, p->seeds, mean, error);
    free(values);
}

static const char *verdict(int ok)
{
    if (quick)
        return "-";
    if (!ok)
        missed++;
    return ok ? "ok" : "MISSED";
}

static void print_effort(void)
{
    npksd_options o = options_of(NULL, 0);
    say("%zu seeds of the fit, %zu checks each, %zu replicates, pilot %zu; options:", seeds,
           checks, o.replicates, o.pilot);
    for (int i = 0; i < option_count; i++)
        say(" %s", option_arguments[i]);
    say("%s\n\n", option_count > 0 ? "" : " default");
}

static void table(void)
{
    group groups[GROUPS];
    size_t group_count = make_groups(groups);
    plan p = { groups, group_count, NULL, 1, seeds, checks };
    double start = bench_now();
    rates *r = run_plan(&p);
    say("== power\n\n");
    print_effort();
    say("%-14s %2s %4s  %-26s %6s %6s %9s %-7s %6s\n", "null model", "m", "n", "alternative",
           "power", "s.e.", "required", "", "level");
    for (size_t g = 0; g < group_count; g++) {
        double level, level_error;
        over_seeds(&p, r, g, 0, -1, &level, &level_error);
        for (size_t a = 0; a < groups[g].count; a++) {
            const alternative *alt = &groups[g].list[a];
            double mean, error;
            over_seeds(&p, r, g, 0, (int)a, &mean, &error);
            say("%-14s %2zu %4zu  %-26s %6.3f %6.3f ", groups[g].name, groups[g].m,
                   groups[g].n, alt->name, mean, error);
            if (alt->required > 0)
                say("%9.2f %-7s %6.3f\n", alt->required, verdict(mean >= alt->required), level);
            else
                say("%9s %-7s %6.3f\n", "", "", level);
        }
    }
    say("(%.0f s)\n\n", bench_now() - start);
}

/* ======== ablation ======== */

static void ablation_table(const char *title, const variant *variants, size_t count)
{
    group groups[GROUPS];
    size_t group_count = make_groups(groups);
    size_t few = quick ? 2 : (seeds + 1) / 2;
    plan p = { groups, group_count, variants, count, few, checks };
    double start = bench_now();
    rates *r = run_plan(&p);
    say("== %s\n\n%zu seeds of the fit, %zu checks each\n\n", title, few, checks);
    say("%-14s %-26s", "null model", "alternative");
    for (size_t v = 0; v < count; v++)
        say(" %7s", variants[v].name);
    say("\n");
    for (size_t g = 0; g < group_count; g++) {
        for (int a = -1; a < (int)groups[g].count; a++) {
            say("%-14s %-26s", groups[g].name, a < 0 ? "none (level)" : groups[g].list[a].name);
            for (size_t v = 0; v < count; v++) {
                double mean, error;
                over_seeds(&p, r, g, v, a, &mean, &error);
                say(" %7.3f", mean);
            }
            say("\n");
        }
    }
    say("(%.0f s)\n\n", bench_now() - start);
}

static void ablation(void)
{
    enum { PARTS = 6 };
    variant alone[PARTS + 1], without[PARTS + 1];
    char names[PARTS][24];
    static const variant estimators[] = {
        { "GAUSS", NPKSD_ESTIMATOR_GAUSS, NPKSD_COMPONENT_ALL },
        { "POLY", NPKSD_ESTIMATOR_POLY, NPKSD_COMPONENT_ALL },
        { "SPLINE", NPKSD_ESTIMATOR_SPLINE, NPKSD_COMPONENT_ALL },
        { "RBF", NPKSD_ESTIMATOR_RBF, NPKSD_COMPONENT_ALL },
        { "AUTO", NPKSD_ESTIMATOR_AUTO, NPKSD_COMPONENT_ALL },
    };
    for (unsigned i = 0; i <= PARTS; i++) {
        unsigned component = i < PARTS ? 1u << i : 0;
        variant v = { "ALL", NPKSD_ESTIMATOR_AUTO, NPKSD_COMPONENT_ALL & ~component };
        without[i] = alone[i] = v;
        if (i < PARTS) {
            alone[i].components = component;
            alone[i].name = npksd_component_string(component);
            snprintf(names[i], sizeof names[i], "-%s", alone[i].name);
            without[i].name = names[i];
        }
    }
    ablation_table("one component alone (estimator AUTO)", alone, PARTS + 1);
    ablation_table("one component left out (estimator AUTO)", without, PARTS + 1);
    ablation_table("one estimator (all components)", estimators, 5);
}

/* ======== fixed samples ======== */

#ifdef BENCH_SAMPLES
static void samples_job(size_t job, void *out, void *context)
{
    enum { N_OBSERVED = 100, SYNTHETIC = 2000, M = 3 };
    const bench_data *alternatives = (const bench_data *)context;
    npksd_real *observed = (npksd_real *)bench_alloc(N_OBSERVED * M, sizeof *observed);
    npksd_real *synthetic = (npksd_real *)bench_alloc(SYNTHETIC * M, sizeof *synthetic);
    npksd_options o = options_of(NULL, job);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, ~(uint64_t)0, job);
    npksd_result result;
    bench_data d = alternatives[job % 2];
    bench_data null_model = alternatives[0];
    bench_sample(observed, N_OBSERVED, M, &rng, &d);
    bench_sample(synthetic, SYNTHETIC, M, &rng, &null_model);
    bench_must("npksd_test_samples",
               npksd_test_samples(observed, N_OBSERVED, synthetic, SYNTHETIC, M, &o, &result));
    *(double *)out = result.reject;
    free(observed);
    free(synthetic);
}

static void samples(void)
{
    bench_data d[2] = { bench_gauss(1, 0), bench_gauss(1.6, 0) };
    double start = bench_now(), share[2] = { 0, 0 };
    size_t count = quick ? 10 : trials;
    double *r = (double *)bench_parallel(2 * count, bench_processes(), sizeof *r, samples_job, d);
    for (size_t i = 0; i < 2 * count; i++)
        share[i % 2] += r[i] / (double)count;
    say("== fixed samples: 100 observed rows, 2000 synthetic, m = 3\n\n");
    say("%zu tests each, every one with its own data and seed\n\n", count);
    say("%-16s %6.3f  s.e. %.3f  required 0.75 %s\n", "variance +60 %", share[1],
           sqrt(share[1] * (1 - share[1]) / (double)count), verdict(share[1] >= 0.75));
    say("%-16s %6.3f  s.e. %.3f\n", "level", share[0],
           sqrt(share[0] * (1 - share[0]) / (double)count));
    say("(%.0f s)\n\n", bench_now() - start);
}
#else
static void samples(void)
{
    say("== fixed samples\n\nskipped: this npksd.h has no npksd_test_samples\n\n");
}
#endif

/* ======== level ======== */

static void level_job(size_t job, void *out, void *context)
{
    enum { N_OBSERVED = 60, M = 3, SYNTHETIC = 600 };
    int fixed = *(const int *)context;
    npksd_real *rows = (npksd_real *)bench_alloc((N_OBSERVED + SYNTHETIC) * M, sizeof *rows);
    npksd_options o = npksd_default_options();
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, ~(uint64_t)1, job);
    npksd_result result;
    bench_data d = bench_mixture(1, 0.5, 0);
    memset(&result, 0, sizeof result);
    o.seed = job;
    o.fit_rows = 1000;
    o.replicates = 199;
    o.pilot = 100;
    bench_sample(rows, N_OBSERVED + SYNTHETIC, M, &rng, &d);
    if (fixed) {
#ifdef BENCH_SAMPLES
        bench_must("npksd_test_samples", npksd_test_samples(rows, N_OBSERVED, rows + N_OBSERVED * M,
                                                            SYNTHETIC, M, &o, &result));
#endif
    } else {
        bench_must("npksd_test", npksd_test(rows, N_OBSERVED, M, bench_sample, &d, &o, &result));
    }
    *(double *)out = (double)result.p_value;
    free(rows);
}

static void level_rows(const char *name, int fixed)
{
    static const double alphas[2] = { 0.05, 0.2 };
    size_t count = quick ? 20 : level_seeds;
    double *p = (double *)bench_parallel(count, bench_processes(), sizeof *p, level_job, &fixed);
    for (int a = 0; a < 2; a++) {
        double share = 0, error = sqrt(alphas[a] * (1 - alphas[a]) / (double)count);
        for (size_t i = 0; i < count; i++)
            share += (p[i] <= alphas[a] + 1e-9) / (double)count;
        say("%-20s alpha %.2f  rejected %.3f  within %.3f +- %.3f %s\n", name, alphas[a], share,
               alphas[a], 4 * error, verdict(fabs(share - alphas[a]) <= 4 * error));
    }
}

static void level(void)
{
    double start = bench_now();
    say("== level: mixture +-1, m = 3, 60 observed rows\n\n%zu seeds, 199 replicates\n\n",
           quick ? (size_t)20 : level_seeds);
    level_rows("npksd_test", 0);
#ifdef BENCH_SAMPLES
    level_rows("npksd_test_samples", 1);
#else
    say("npksd_test_samples   skipped: this npksd.h has none\n");
#endif
    say("(%.0f s)\n\n", bench_now() - start);
}

/* ======== diagnosis ======== */

enum { DIAGNOSIS_M = 8 };

static void diagnosis_job(size_t job, void *out, void *context)
{
    enum { N_OBSERVED = 100 };
    npksd_real *rows = (npksd_real *)bench_alloc(N_OBSERVED * DIAGNOSIS_M, sizeof *rows);
    npksd_real adjusted[DIAGNOSIS_M];
    npksd_options o = options_of(NULL, job);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, ~(uint64_t)2, job);
    npksd_result result;
    npksd_diagnosis why;
    npksd_tester *tester;
    bench_data d = bench_gauss(1, 0);
    double *flags = (double *)out;
    size_t shifted = job % DIAGNOSIS_M;
    (void)context;
    memset(&why, 0, sizeof why);
    o.diagnose = 1;
    why.coordinate_p_adjusted = adjusted;
    bench_sample(rows, N_OBSERVED, DIAGNOSIS_M, &rng, &d);
    for (size_t r = 0; r < N_OBSERVED; r++)
        rows[r * DIAGNOSIS_M + shifted] += (npksd_real)0.6;
    bench_must("npksd_tester_create", npksd_tester_create(&tester, N_OBSERVED, DIAGNOSIS_M,
                                                          bench_sample, &d, &o));
    bench_must("npksd_tester_step", npksd_tester_step(tester, (size_t)-1));
    bench_must("npksd_tester_check", npksd_tester_check(tester, rows, &result, &why));
    npksd_tester_destroy(tester);
    for (size_t i = 0; i < DIAGNOSIS_M; i++)
        flags[(i + DIAGNOSIS_M - shifted) % DIAGNOSIS_M] = (double)adjusted[i] <= 0.05;
    flags[DIAGNOSIS_M] = result.reject;
    free(rows);
}

static void diagnosis(void)
{
    size_t count = quick ? 8 : 100;
    double start = bench_now(), named = 0, others = 0, reject = 0;
    size_t bytes = (DIAGNOSIS_M + 1) * sizeof(double);
    double *flags = (double *)bench_parallel(count, bench_processes(), bytes, diagnosis_job, NULL);
    for (size_t j = 0; j < count; j++) {
        const double *f = flags + j * (DIAGNOSIS_M + 1);
        named += f[0];
        reject += f[DIAGNOSIS_M];
        for (size_t i = 1; i < DIAGNOSIS_M; i++)
            others += f[i];
    }
    others /= (double)(count * (DIAGNOSIS_M - 1));
    say("== diagnosis: one coordinate of eight shifted by 0.6 sd, n = 100, %zu trials\n\n",
           count);
    say("named (adjusted p <= 0.05)   %3.0f of %zu   required 80 %% %s\n", named, count,
           verdict(named >= 0.8 * (double)count));
    say("others named, on average     %5.3f        required at most 0.10 %s\n", others,
           verdict(others <= 0.10));
    say("test rejects                 %3.0f of %zu\n", reject, count);
    say("(%.0f s)\n\n", bench_now() - start);
}

/* ======== main ======== */

/* text before, between and after the tables of `power all` in RESULTS.md */
static void section_text(const char *text)
{
    if (section != NULL)
        fputs(text, section);
}

static void section_open(const char *folder)
{
    section = bench_section(folder, "power");
    bench_title(section, "Required powers, level, diagnosis", "power", 0);
    section_text(BENCH_COMMIT ".\nEvery number is a rejection rate at alpha = 0.05; s.e. is the "
                 "standard error over the seeds of the fit.\n\n```\n");
}

static void run(const char *what)
{
    int required = strcmp(what, "required") == 0, everything = strcmp(what, "all") == 0;
    int known = required || everything;
    static const struct {
        const char *name;
        void (*run_fn)(void);
    } parts[] = { { "table", table },         { "samples", samples }, { "level", level },
                  { "diagnosis", diagnosis }, { "ablation", ablation } };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (everything || (required && i < 4) || strcmp(what, parts[i].name) == 0) {
            if (i == 4)
                section_text("```\n\n"
                             "The powers required for the mixture are for centres at distance 1 "
                             "from the origin. Centres at +-(1,..,1) are harder and are printed "
                             "without a requirement.\n\n"
                             "## What each component and each estimator sees\n\n"
                             "```\n");
            parts[i].run_fn();
            known = 1;
        }
    }
    if (!known) {
        fprintf(stderr, "power: unknown part '%s'; choose from: table samples level diagnosis "
                        "ablation required all\n", what);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    int parts = 0, first = argc > 2 && strcmp(argv[1], "--out") == 0 ? 3 : 1;
    quick = bench_flag("QUICK");
    if (quick) {
        seeds = 2;
        checks = 8;
    }
    for (int i = first; i < argc; i++) {
        npksd_options scratch = npksd_default_options();
        if (strncmp(argv[i], "seeds=", 6) == 0)
            seeds = (size_t)atol(argv[i] + 6);
        else if (strncmp(argv[i], "checks=", 7) == 0)
            checks = (size_t)atol(argv[i] + 7);
        else if (strncmp(argv[i], "group=", 6) == 0)
            only_group = atoi(argv[i] + 6);
        else if (option_count < 32 && bench_option(&scratch, argv[i]))
            option_arguments[option_count++] = argv[i];
        else if (strchr(argv[i], '=') != NULL) {
            fprintf(stderr, "power: unknown option '%s', or more than 32 options; bench_keys in "
                    "bench.h lists them\n", argv[i]);
            return 2;
        }
    }
    bench_machine(stdout);
    printf("\n\n");
    if (first == 3 && argc == 4 && strcmp(argv[3], "all") == 0)
        section_open(argv[2]);
    for (int i = first; i < argc; i++) {
        if (strchr(argv[i], '=') == NULL) {
            run(argv[i]);
            parts++;
        }
    }
    if (parts == 0)
        run("required");
    section_text("```\n");
    if (section != NULL)
        bench_section_end(section, argv[2], "power");
    if (quick)
        printf("QUICK=1: a smoke test, nothing was judged\n");
    else if (missed > 0)
        printf("%d required numbers MISSED\n", missed);
    return missed > 0;
}
