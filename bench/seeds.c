/*
 * Does the answer depend on the seed of the fit, and is the right column named?
 *
 *     seeds [--out DIR] seeds     power by seed: least, mean and most of 12 seeds of the fit
 *     seeds [--out DIR] named     one of three columns changed: how often it is named, and others; one
 *                                 pair of 20 columns: is it found first?
 *
 * Default options, alpha 0.05. Each part writes a section of RESULTS.md into DIR. QUICK=1: few seeds,
 * nothing is judged. Exit status 1 if a required number is missed. key=value: options of npksd.h.
 */
#include "problems.h"

typedef struct change {
    const char *name;
    problem_margin margin;
    double base, changed;
    double required; /* share of recordings in which the column is named */
} change;

static const change changes[] = {
    { "exponential 1.8 for 1", MARGIN_EXPONENTIAL, 1, 1.8, 0.85 },
    { "exponential 1 for 1.8", MARGIN_EXPONENTIAL, 1.8, 1, 0.85 },
    { "u^2 for u", MARGIN_POWER, 1, 2, 0.9 },
    { "u^1.5 for u", MARGIN_POWER, 1, 1.5, 0.65 },
    { "modes 75/25 for 50/50", MARGIN_MODES, 0.5, 0.75, 0.85 },
    { "lognormal, log + 0.5", MARGIN_LOGNORMAL, 0, 0.5, 0.85 },
    { "Poisson 2.6 for 2", MARGIN_POISSON, 2, 2.6, 0.55 },
    { "normal + 0.4", MARGIN_NORMAL, 0, 0.4, 0.75 },
    { "variance x 2", MARGIN_SPREAD, 1, 2, 0.75 },
};
enum { CHANGES = sizeof changes / sizeof changes[0], COLUMNS = 3, PAIR_COLUMNS = 20 };

static size_t seeds, recordings;
static int quick, missed;
static const char *out_folder;
static char *option_arguments[16];
static int option_count;
static FILE *section;

#define say(...) bench_say(section, __VA_ARGS__)

static const char *verdict(int ok)
{
    if (quick)
        return "-";
    missed += !ok;
    return ok ? "ok" : "**MISSED**";
}

static problem_data column_data(const change *c, int changed)
{
    problem_data d = { draw_margins, { 0, 0, 0, 0 } };
    d.p[0] = c->margin;
    d.p[1] = c->base;
    d.p[2] = c->changed;
    d.p[3] = changed ? 1 : 0;
    return d;
}

static npksd_tester *fitted(size_t n, size_t m, problem_data *model, uint64_t seed, int diagnose)
{
    npksd_options o = npksd_default_options();
    npksd_tester *tester;
    for (int i = 0; i < option_count; i++)
        bench_option(&o, option_arguments[i]);
    o.seed = seed;
    o.diagnose = diagnose;
    bench_must("npksd_tester_create",
               npksd_tester_create(&tester, n, m, problem_sample, model, &o));
    bench_must("npksd_tester_step", npksd_tester_step(tester, (size_t)-1));
    return tester;
}

/* Draws recording r from data and checks it; returns 1 if it is rejected. */
static int rejected(npksd_tester *tester, size_t n, size_t m, problem_data *data, uint64_t seed, size_t r,
                    npksd_diagnosis *why)
{
    npksd_real *rows = (npksd_real *)bench_alloc(n * m, sizeof *rows);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, r);
    npksd_result result;
    problem_sample(rows, n, m, &rng, data);
    bench_must("npksd_tester_check", npksd_tester_check(tester, rows, &result, why));
    free(rows);
    return result.reject;
}

static void open_section(const char *name, const char *title)
{
    if (out_folder == NULL)
        return;
    section = bench_section(out_folder, name);
    bench_title(section, title, name, 0);
    fprintf(section, BENCH_COMMIT ". ");
}

/* ======== power by seed ======== */

static const size_t seed_rows[2] = { 50, 100 };

/* job = (change, rows, seed), seed fastest; result: share rejected */
static void power_job(size_t job, void *out, void *context)
{
    const change *c = &changes[job / seeds / 2];
    size_t n = seed_rows[job / seeds % 2], hits = 0;
    problem_data model = column_data(c, 0), data = column_data(c, 1);
    npksd_tester *tester = fitted(n, COLUMNS, &model, job % seeds, 0);
    (void)context;
    for (size_t r = 0; r < recordings; r++) /* the same recordings for all seeds */
        hits += (size_t)rejected(tester, n, COLUMNS, &data, (uint64_t)1 << 41, r, NULL);
    *(double *)out = (double)hits / (double)recordings;
    npksd_tester_destroy(tester);
}

static void power_by_seed(void)
{
    seeds = quick ? 2 : 12;
    recordings = quick ? 5 : 200;
    open_section("seeds", "Power by seed");
    say("One of three columns changed; %zu seeds of the fit, the same %zu recordings for each, so "
        "that only the seed differs.\n\n| change | n | least | mean | most | mean - least |\n"
        "|---|---|---|---|---|---|\n", seeds, recordings);
    double *r = (double *)bench_parallel(CHANGES * 2 * seeds, bench_processes(), sizeof *r, power_job,
                                         NULL);
    for (size_t k = 0; k < CHANGES * 2; k++) {
        double mean, error, least = 1, most = 0;
        bench_mean(r + k * seeds, seeds, &mean, &error);
        for (size_t s = 0; s < seeds; s++) {
            double x = r[k * seeds + s];
            least = x < least ? x : least;
            most = x > most ? x : most;
        }
        say("| %s | %zu | %.2f | %.2f | %.2f | %.2f |\n", changes[k / 2].name, seed_rows[k % 2], least,
            mean, most, mean - least);
    }
    say("\n");
}

/* ======== named ======== */

typedef struct named {
    double column, other, reject; /* shares of the recordings */
} named;

/* job = (change, seed) */
static void named_job(size_t job, void *out, void *context)
{
    enum { N_ROWS = 100 };
    const change *c = &changes[job / seeds];
    problem_data model = column_data(c, 0), data = column_data(c, 1);
    npksd_tester *tester = fitted(N_ROWS, COLUMNS, &model, job % seeds, 1);
    npksd_real adjusted[COLUMNS];
    npksd_diagnosis why;
    named *result = (named *)out;
    (void)context;
    memset(&why, 0, sizeof why);
    why.coordinate_p_adjusted = adjusted;
    for (size_t r = 0; r < recordings; r++) {
        result->reject += rejected(tester, N_ROWS, COLUMNS, &data, (uint64_t)1 << 42 | job, r, &why)
            / (double)recordings;
        result->column += ((double)adjusted[0] <= 0.05) / (double)recordings;
        result->other += ((double)adjusted[1] <= 0.05 || (double)adjusted[2] <= 0.05)
            / (double)recordings;
    }
    npksd_tester_destroy(tester);
}

/* column: the pair (0, 1) came first; other: another pair was named */
static void pair_job(size_t job, void *out, void *context)
{
    enum { N_ROWS = 100, LIST = 5 };
    problem_data model = { draw_pair, { 0, 0, 0, 0 } }, data = { draw_pair, { 0.6, 0, 0, 0 } };
    npksd_tester *tester = fitted(N_ROWS, PAIR_COLUMNS, &model, job, 1);
    npksd_pair pairs[LIST];
    npksd_diagnosis why;
    named *result = (named *)out;
    (void)context;
    memset(&why, 0, sizeof why);
    why.pairs = pairs;
    why.pair_capacity = LIST;
    for (size_t r = 0; r < recordings; r++) {
        int other = 0;
        result->reject += rejected(tester, N_ROWS, PAIR_COLUMNS, &data, (uint64_t)1 << 43 | job, r, &why)
            / (double)recordings;
        result->column += (pairs[0].first == 0 && pairs[0].second == 1) / (double)recordings;
        for (size_t k = 0; k < why.pair_count && k < LIST; k++)
            other |= (double)pairs[k].p_adjusted <= 0.05
                && (pairs[k].first != 0 || pairs[k].second != 1);
        result->other += other / (double)recordings;
    }
    npksd_tester_destroy(tester);
}

static named over_seeds(const named *r, double *worst)
{
    named mean = { 0, 0, 0 };
    *worst = 1;
    for (size_t s = 0; s < seeds; s++) {
        mean.column += r[s].column / (double)seeds;
        mean.other += r[s].other / (double)seeds;
        mean.reject += r[s].reject / (double)seeds;
        *worst = r[s].reject < *worst ? r[s].reject : *worst;
    }
    return mean;
}

static void names(void)
{
    double worst;
    seeds = quick ? 2 : 6;
    recordings = quick ? 5 : 60;
    open_section("named", "Is the right column named?");
    say("The first of three columns changed, n = 100; %zu seeds of the fit, %zu recordings each. Named: "
        "`coordinate_p_adjusted` at most 0.05. Required: named at least as often as stated, another "
        "column in at most 5 %% (two standard errors allowed), rejection at the worst seed at most 0.25 "
        "below the mean.\n\n| change | named | required | | other named | | rejected, mean | worst seed "
        "| |\n|---|---|---|---|---|---|---|---|---|\n", seeds, recordings);
    named *r = (named *)bench_parallel(CHANGES * seeds, bench_processes(), sizeof *r, named_job, NULL);
    double allowed = 0.05 + 2 * sqrt(0.05 * 0.95 / (double)(seeds * recordings));
    for (size_t k = 0; k < CHANGES; k++) {
        named mean = over_seeds(r + k * seeds, &worst);
        say("| %s | %.2f | %.2f | %s | %.3f | %s | %.2f | %.2f | %s |\n", changes[k].name, mean.column,
            changes[k].required, verdict(mean.column >= changes[k].required), mean.other,
            verdict(mean.other <= allowed), mean.reject, worst,
            verdict(worst >= mean.reject - 0.25));
    }
    r = (named *)bench_parallel(seeds, bench_processes(), sizeof *r, pair_job, NULL);
    named mean = over_seeds(r, &worst);
    say("\nOne pair of correlation 0.6 among %d columns, n = 100: rejected %.2f (required 0.80: %s), worst "
        "seed %.2f; that pair listed first %.2f (%s), another pair named %.3f.\n\n", PAIR_COLUMNS,
        mean.reject, verdict(mean.reject >= 0.8), worst, mean.column, verdict(mean.column >= 0.8),
        mean.other);
}

int main(int argc, char **argv)
{
    const char *part = NULL;
    quick = bench_flag("QUICK");
    for (int i = 1; i < argc; i++) {
        npksd_options scratch = npksd_default_options();
        if (strcmp(argv[i], "--out") == 0 && i + 1 < argc)
            out_folder = argv[++i];
        else if (option_count < 16 && bench_option(&scratch, argv[i]))
            option_arguments[option_count++] = argv[i];
        else
            part = argv[i];
    }
    if (option_count > 0)
        out_folder = NULL;
    if (part != NULL && strcmp(part, "seeds") == 0) {
        power_by_seed();
    } else if (part != NULL && strcmp(part, "named") == 0) {
        names();
    } else {
        fprintf(stderr, "usage: seeds [--out DIR] [key=value ...] seeds|named\n");
        return 2;
    }
    if (section != NULL)
        bench_section_end(section, out_folder, part);
    if (missed > 0)
        printf("%d required numbers MISSED\n", missed);
    return missed > 0;
}
