/*
 * Power on many problems (problems.h), compared with six other tests (peers.h). Default options, alpha 0.05.
 *
 *     cells [--out DIR] [--keep DIR] [key=value ...] [ours|peers|times]
 *
 * Two modes: `generator`, npksd_tester with many seeds of the fit and a few recordings each; `fixed`,
 * npksd_test_samples with 10 n synthetic rows. The peers have the rows of `fixed`. Even problems are for
 * tuning, odd ones are held out; means are given for each half. A loss is a power more than two
 * standard errors (of the difference) below the best peer.
 *
 * key=value: options of npksd.h (components=47 ...), half=tuning or half=held for one half only,
 * mode=generator or mode=fixed for one mode, seeds=S; a run with options is not kept, and none of these
 * writes a section. Without a part: all of them. The peers do not depend on
 * npksd.h: FRESH=1 runs ours again, FRESH=all the peers, too. QUICK=1 is a smoke test, FULL=1 has four
 * times the trials.
 */
#include "peers.h"
#include "problems.h"
#include "runner.h"

enum { NULL_CELL, POWER_CELL };

static runner ours, peers;
static size_t seeds = 25, recordings = 8, trials = 100, permutations = 2000;
static char *option_arguments[16];
static int option_count, only_half = -1, only_mode = -1;
static FILE *section;

#define say(...) bench_say(section, __VA_ARGS__)

static const char *const mode_keys[2] = { "generator", "fixed" };
static const char *const half_names[2] = { "tuning", "held out" };

static size_t half_of(size_t k) { return k % 2; }

static npksd_options options_of(uint64_t seed)
{
    npksd_options o = npksd_default_options();
    o.seed = seed;
    for (int i = 0; i < option_count; i++)
        bench_option(&o, option_arguments[i]);
    return o;
}

/* rows for the tests have seeds far from those of the fits */
static npksd_rng data_rng(npksd_rng_state *state, const problem_pair *cell, uint64_t stream)
{
    return npksd_rng_seeded(state, (uint64_t)1 << 40 | (uint64_t)(cell - problems), stream);
}

/* ======== trials ======== */

static void generator_job(const piece *p, size_t job, piece_outcome *out)
{
    const problem_pair *cell = (const problem_pair *)p->setting;
    npksd_options o = options_of(job);
    npksd_real *rows = (npksd_real *)bench_alloc(cell->n * cell->m, sizeof *rows);
    problem_data data[2] = { cell->null_model, cell->alternative }, model = cell->null_model;
    npksd_tester *tester;
    double start = bench_cpu();
    bench_must("npksd_tester_create", npksd_tester_create(&tester, cell->n, cell->m,
                                                          problem_sample, &model, &o));
    bench_must("npksd_tester_step", npksd_tester_step(tester, (size_t)-1));
    out->seconds = bench_cpu() - start;
    for (size_t c = 0; c < 2 * recordings; c++) {
        npksd_rng_state state;
        npksd_rng rng = data_rng(&state, cell, job << 20 | c);
        npksd_result result;
        problem_sample(rows, cell->n, cell->m, &rng, &data[c % 2]);
        bench_must("npksd_tester_check", npksd_tester_check(tester, rows, &result, NULL));
        out->hits[c % 2] += (unsigned)result.reject;
        out->trials[c % 2]++;
    }
    npksd_tester_destroy(tester);
    free(rows);
}

/* n rows of the null or the alternative, then 10 n synthetic ones: 11 n in all */
static npksd_real *fixed_rows(const problem_pair *cell, size_t job, int which)
{
    npksd_real *rows = (npksd_real *)bench_alloc(11 * cell->n * cell->m, sizeof *rows);
    problem_data observed = which == NULL_CELL ? cell->null_model : cell->alternative;
    problem_data model = cell->null_model;
    npksd_rng_state state;
    npksd_rng rng = data_rng(&state, cell, (uint64_t)1 << 60 | job << 1 | (uint64_t)which);
    problem_sample(rows, cell->n, cell->m, &rng, &observed);
    problem_sample(rows + cell->n * cell->m, 10 * cell->n, cell->m, &rng, &model);
    return rows;
}

static void fixed_job(const piece *p, size_t job, piece_outcome *out)
{
    const problem_pair *cell = (const problem_pair *)p->setting;
    npksd_options o = options_of(job);
    for (int which = 0; which < 2; which++) {
        npksd_real *rows = fixed_rows(cell, job, which);
        npksd_result result;
        double start = bench_cpu();
        bench_must("npksd_test_samples",
                   npksd_test_samples(rows, cell->n, rows + cell->n * cell->m, 10 * cell->n,
                                      cell->m, &o, &result));
        out->seconds = bench_cpu() - start;
        out->hits[which] = (unsigned)result.reject;
        out->trials[which] = 1;
        free(rows);
    }
}

static void peer_job(const piece *p, size_t job, piece_outcome *out)
{
    const problem_pair *cell = (const problem_pair *)p->setting;
    npksd_real *rows = fixed_rows(cell, job, POWER_CELL);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 4242, job);
    peer_answer answer;
    peer_tests(rows, cell->n, 11 * cell->n, cell->m, 0.05, permutations, &rng, &answer);
    for (int k = 0; k < PEERS; k++) {
        out->hits[k] = (unsigned)answer.reject[k];
        out->trials[k] = 1;
    }
    out->seconds = answer.seconds[PEER_MMDAGG];
    free(rows);
}

/* ======== the plan ======== */

static void plan_piece(runner *r, const char *mode, size_t k, size_t jobs, size_t cells,
                       void (*job_fn)(const piece *, size_t, piece_outcome *))
{
    const problem_pair *cell = &problems[k];
    char key[PIECE_KEY];
    snprintf(key, sizeof key, "%s/%zu", mode, k);
    piece *p = runner_add(r, key, jobs, cells);
    snprintf(p->label, sizeof p->label, "%s", cell->name);
    p->job_fn = job_fn;
    p->setting = cell;
    p->weight = (double)(cell->n * cell->n) * (double)(cell->m + 20);
}

static void make_plan(void)
{
    for (size_t k = 0; k < PROBLEMS; k++) {
        if (only_half >= 0 && half_of(k) != (size_t)only_half)
            continue;
        if (only_mode != 1)
            plan_piece(&ours, mode_keys[0], k, seeds, 2, generator_job);
        if (only_mode != 0)
            plan_piece(&ours, mode_keys[1], k, trials, 2, fixed_job);
        plan_piece(&peers, "peers", k, trials, PEERS, peer_job);
    }
}

static const piece *piece_of(runner *r, const char *mode, size_t k)
{
    char key[PIECE_KEY];
    snprintf(key, sizeof key, "%s/%zu", mode, k);
    const piece *p = runner_find(r, key);
    return p != NULL && p->done ? p : NULL;
}

/* ======== the report ======== */

typedef struct cell_rates {
    rate power[2], level[2]; /* generator, fixed */
    rate peer[PEERS], best;
    int best_peer;           /* -1: not run */
} cell_rates;

static cell_rates rates_of(size_t k)
{
    cell_rates c;
    const piece *p = piece_of(&peers, "peers", k);
    memset(&c, 0, sizeof c);
    c.best_peer = -1;
    for (int mode = 0; mode < 2; mode++) {
        const piece *q = piece_of(&ours, mode_keys[mode], k);
        if (q != NULL) {
            c.power[mode] = q->rates[POWER_CELL];
            c.level[mode] = q->rates[NULL_CELL];
        }
    }
    for (int i = 0; p != NULL && i < PEERS; i++) {
        c.peer[i] = p->rates[i];
        if (c.best_peer < 0 || p->rates[i].hits > c.best.hits) {
            c.best_peer = i;
            c.best = p->rates[i];
        }
    }
    return c;
}

static double rate_error(rate r)
{
    double p = rate_value(r);
    return r.trials > 0 ? sqrt(p * (1 - p) / (double)r.trials) : 0;
}

static int is_loss(const cell_rates *c, int mode)
{
    return c->best_peer >= 0 && c->power[mode].trials > 0
        && rate_difference(c->power[mode], c->best) < -2;
}

static void report_cells(void)
{
    say("| problem | n | m | half | generator | s.e. | level | fixed | s.e. | level |");
    for (int i = 0; i < PEERS; i++)
        say(" %s |", peer_names[i]);
    say(" lost |\n|---|---|---|---|---|---|---|---|---|---|");
    for (int i = 0; i <= PEERS; i++)
        say("---|");
    say("\n");
    for (size_t k = 0; k < PROBLEMS; k++) {
        const problem_pair *cell = &problems[k];
        cell_rates c = rates_of(k);
        if (c.power[0].trials + c.power[1].trials == 0 && c.best_peer < 0)
            continue;
        say("| %s: %s | %zu | %zu | %s |", cell->group, cell->name, cell->n, cell->m,
            half_names[half_of(k)]);
        for (int mode = 0; mode < 2; mode++) {
            if (c.power[mode].trials > 0)
                say(" **%.2f** | %.2f | %.3f |", rate_value(c.power[mode]),
                    rate_error(c.power[mode]), rate_value(c.level[mode]));
            else
                say(" | | |");
        }
        for (int i = 0; i < PEERS; i++) {
            if (c.best_peer >= 0)
                say(c.peer[i].hits == c.best.hits ? " **%.2f** |" : " %.2f |",
                    rate_value(c.peer[i]));
            else
                say(" |");
        }
        say(" %s |\n", is_loss(&c, 0) ? is_loss(&c, 1) ? "both" : "generator"
                                      : is_loss(&c, 1) ? "fixed" : "");
    }
    say("\n");
}

/* means of one half, or of all (half 2) */
static void report_half(size_t half)
{
    double mean[2] = { 0, 0 }, peer_mean[PEERS] = { 0 }, best = 0;
    rate level[2] = { { 0, 0 }, { 0, 0 } };
    size_t count = 0, losses[2] = { 0, 0 };
    for (size_t k = 0; k < PROBLEMS; k++) {
        cell_rates c = rates_of(k);
        if ((half < 2 && half_of(k) != half)
            || (c.power[0].trials + c.power[1].trials == 0 && c.best_peer < 0))
            continue;
        count++;
        best += c.best_peer >= 0 ? rate_value(c.best) : 0;
        for (int mode = 0; mode < 2; mode++) {
            mean[mode] += c.power[mode].trials > 0 ? rate_value(c.power[mode]) : 0;
            level[mode].hits += c.level[mode].hits;
            level[mode].trials += c.level[mode].trials;
            losses[mode] += (size_t)is_loss(&c, mode);
        }
        for (int i = 0; c.best_peer >= 0 && i < PEERS; i++)
            peer_mean[i] += rate_value(c.peer[i]);
    }
    if (count == 0)
        return;
    say("| %s, %zu |", half < 2 ? half_names[half] : "all", count);
    for (int mode = 0; mode < 2; mode++)
        say(" **%.3f** | %zu | %.3f |", mean[mode] / (double)count, losses[mode],
            level[mode].trials > 0 ? rate_value(level[mode]) : 0);
    say(" %.3f |", best / (double)count);
    for (int i = 0; i < PEERS; i++)
        say(" %.3f |", peer_mean[i] / (double)count);
    say("\n");
}

static void report_means(void)
{
    say("| mean power | generator | losses | level | fixed | losses | level | best peer |");
    for (int i = 0; i < PEERS; i++)
        say(" %s |", peer_names[i]);
    say("\n|---|---|---|---|---|---|---|---|");
    for (int i = 0; i < PEERS; i++)
        say("---|");
    say("\n");
    for (size_t half = 0; half < 3; half++)
        report_half(half);
    say("\n");
}

/* a level is suspect where 0.05 is below the 99.8 % interval: one cell in a thousand by chance */
static void report_levels(void)
{
    size_t cells = 0, suspect = 0;
    for (size_t k = 0; k < PROBLEMS; k++) {
        cell_rates c = rates_of(k);
        for (int mode = 0; mode < 2; mode++) {
            double low, high;
            if (c.level[mode].trials == 0)
                continue;
            rate_interval(c.level[mode], 0.002, &low, &high);
            cells++;
            suspect += low > 0.05;
            if (low > 0.05)
                say("Level of %s, %s: %.3f of %zu trials, **too high**.\n", problems[k].name,
                    mode_keys[mode], rate_value(c.level[mode]), c.level[mode].trials);
        }
    }
    say("Level: %zu null cells, %zu with 0.05 below their 99.8 %% interval (with discrete data the level "
        "may be below 0.05, never above).\n\n", cells, suspect);
}

/* ======== times ======== */

static void report_times(void)
{
    static const size_t shapes[][2] = { { 100, 3 }, { 100, 40 }, { 200, 6 } };
    size_t rounds = ours.smoke ? 1 : 5;
    say("Processor time of one test, ms, with %zu permutations per peer (MMDAgg twice that) and 10 n "
        "synthetic rows; ours with default options. FUSE and energy are timed with the kernels they "
        "share with MMDAgg.\n\n| n, m | generator | fixed |", permutations);
    for (int i = 0; i < PEERS; i++)
        say(" %s |", peer_names[i]);
    say("\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t s = 0; s < (ours.smoke ? 1 : sizeof shapes / sizeof shapes[0]); s++) {
        problem_pair cell = problems[8]; /* normal columns */
        double values[PEERS + 2][5];
        cell.n = shapes[s][0];
        cell.m = shapes[s][1];
        for (size_t r = 0; r < rounds; r++) {
            npksd_rng_state state;
            npksd_rng rng = npksd_rng_seeded(&state, 4243, r);
            npksd_real *rows = (npksd_real *)bench_alloc(11 * cell.n * cell.m, sizeof *rows);
            npksd_options o = options_of(r);
            npksd_result result;
            peer_answer answer;
            double start;
            problem_sample(rows, 11 * cell.n, cell.m, &rng, &cell.null_model);
            start = bench_cpu();
            bench_must("npksd_test", npksd_test(rows, cell.n, cell.m, problem_sample,
                                                &cell.null_model, &o, &result));
            values[0][r] = bench_cpu() - start;
            start = bench_cpu();
            bench_must("npksd_test_samples",
                       npksd_test_samples(rows, cell.n, rows + cell.n * cell.m, 10 * cell.n,
                                          cell.m, &o, &result));
            values[1][r] = bench_cpu() - start;
            peer_tests(rows, cell.n, 11 * cell.n, cell.m, 0.05, permutations, &rng, &answer);
            for (int i = 0; i < PEERS; i++)
                values[2 + i][r] = answer.seconds[i];
            free(rows);
        }
        say("| %zu, %zu |", cell.n, cell.m);
        for (int i = 0; i < PEERS + 2; i++)
            say(" %.1f |", 1e3 * bench_median(values[i], rounds));
        say("\n");
    }
    say("\n");
}

/* ======== main ======== */

static void section_title(void)
{
    runner_title(section, &ours, "Power on many problems, compared with other tests", "cells");
    fprintf(section,
            "Rejection rates at alpha 0.05, default options. Generator: %zu seeds of the fit, %zu "
            "recordings each; fixed and peers: %zu tests with 10 n synthetic rows, the same rows for all. "
            "problems.h has the problems, peers.h the other tests, written from their papers. npksd.h was "
            "tuned on the even problems only (\"tuning\"); the odd ones are held out. Lost: below the best "
            "of the six by more than two standard errors of the difference.\n\n",
            seeds, recordings, trials);
}

static void set_effort(void)
{
    if (ours.smoke) {
        seeds = 1;
        recordings = 2;
        trials = 2;
        permutations = 100;
    } else if (ours.full) {
        seeds *= 4;
        trials *= 4;
    }
}

int main(int argc, char **argv)
{
    const char *fresh = getenv("FRESH"), *part = NULL;
    char keep[sizeof ours.path];
    int count = runner_arguments(&ours, "cells", "[key=value ...] [ours|peers|times]", argc, argv);
    set_effort();
    for (int i = 0; i < count; i++) {
        npksd_options scratch = npksd_default_options();
        if (strncmp(argv[i], "half=", 5) == 0)
            only_half = strncmp(argv[i] + 5, "held", 4) == 0;
        else if (strncmp(argv[i], "mode=", 5) == 0)
            only_mode = strcmp(argv[i] + 5, mode_keys[1]) == 0;
        else if (strncmp(argv[i], "seeds=", 6) == 0)
            seeds = (size_t)atol(argv[i] + 6);
        else if (option_count < 16 && bench_option(&scratch, argv[i]))
            option_arguments[option_count++] = argv[i];
        else if (strcmp(argv[i], "ours") == 0 || strcmp(argv[i], "peers") == 0
                 || strcmp(argv[i], "times") == 0)
            part = argv[i];
        else {
            fprintf(stderr, "cells: unknown argument '%s'\n", argv[i]);
            return 2;
        }
    }
    snprintf(keep, sizeof keep, "%s", ours.path);
    peers.program = "peers";
    peers.smoke = ours.smoke;
    snprintf(peers.path, sizeof peers.path, "%.*s%s", (int)(strlen(keep) > 4 ? strlen(keep) - 4 : 0),
             keep, keep[0] != '\0' ? "-peers.txt" : "");
    if (option_count > 0)
        ours.path[0] = '\0';
    make_plan();
    runner_open(&peers, fresh != NULL && strcmp(fresh, "all") == 0);
    runner_open(&ours, bench_flag("FRESH"));
    if (part == NULL || strcmp(part, "ours") == 0)
        runner_run(&ours);
    if (part == NULL || strcmp(part, "peers") == 0)
        runner_run(&peers);
    if (part == NULL && option_count == 0 && only_half < 0 && only_mode < 0) {
        section = bench_section(ours.out, ours.program);
        section_title();
        report_means();
        report_cells();
        report_levels();
        report_times();
        runner_section_end(&ours, section);
        return 0;
    }
    if (part != NULL && strcmp(part, "times") == 0) {
        report_times();
        return 0;
    }
    report_cells();
    report_means();
    report_levels();
    return 0;
}
