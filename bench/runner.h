/*
 * Long benchmarks in pieces: each piece is a number of independent jobs that count rejections in
 * cells. Jobs run on several processes; a line on stderr says how far and how long; the numbers of
 * a finished piece are kept in a text file and used again by the next run. A piece that misses its
 * level is run once more, larger and with fresh seeds. verdict.h judges the numbers.
 */
#ifndef RUNNER_H
#define RUNNER_H

#include "bench.h"
#include "rates.h"

#include <sys/resource.h>

enum { PIECE_CELLS = 10, PIECE_KEY = 64, PIECE_LABEL = 96, PIECE_COMMIT = 16, RUNNER_PIECES = 256,
       RUNNER_AGAIN = 5 }; /* the second run of a null cell has so many times the trials */

typedef struct piece_outcome {
    unsigned hits[PIECE_CELLS], trials[PIECE_CELLS];
    double seconds; /* processor time of one whole test */
} piece_outcome;

typedef struct piece {
    char key[PIECE_KEY];    /* no spaces */
    char label[PIECE_LABEL]; /* for readers */
    const char *const *cell_names; /* to add to the label, or NULL */
    size_t jobs, cells;
    size_t first;           /* number of the first job: it makes the seeds */
    unsigned nulls;         /* bit c: cell c must keep the level 0.05 */
    double weight;          /* expected ms a job, for the ETA only */
    void (*job_fn)(const struct piece *p, size_t job, piece_outcome *out);
    const void *setting, *method; /* for job_fn */
    int done;
    rate rates[PIECE_CELLS];
    double seconds;         /* median over the jobs */
    char commit[PIECE_COMMIT]; /* of the npksd.h that was measured */
} piece;

typedef struct runner {
    const char *program, *out; /* its name; the folder of its section and figures */
    int smoke, full;        /* QUICK=1: everything once; FULL=1: the paper's own number of trials */
    piece pieces[RUNNER_PIECES];
    size_t count;
    char path[1024];        /* where finished pieces are kept; empty: nowhere */
    double start, work_done, work_all, said; /* of the line that says how far; said: its time */
} runner;

/* Reads the environment and [--out DIR] [--keep DIR]; the other arguments move to the front of
   argv. Returns how many they are; an unknown option ends the program with the usage. */
static BENCH_UNUSED int runner_arguments(runner *r, const char *program, const char *others,
                                         int argc, char **argv)
{
    int count = 0;
    r->program = program;
    r->out = "results";
    r->smoke = bench_flag("QUICK");
    r->full = !r->smoke && bench_flag("FULL");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
            r->out = argv[++i];
        } else if (strcmp(argv[i], "--keep") == 0 && i + 1 < argc) {
            snprintf(r->path, sizeof r->path, "%s/%s-%s.txt", argv[++i], program,
                     r->smoke ? "smoke" : r->full ? "full" : "quick");
        } else if (argv[i][0] != '-') {
            argv[count++] = argv[i];
        } else {
            fprintf(stderr, "%s: unknown argument '%s'; usage: %s [--out DIR] [--keep DIR] %s\n",
                    program, argv[i], program, others);
            exit(2);
        }
    }
    return count;
}

static BENCH_UNUSED piece *runner_add(runner *r, const char *key, size_t jobs, size_t cells)
{
    piece *p;
    if (r->count == RUNNER_PIECES || cells > PIECE_CELLS) {
        fprintf(stderr, "bench: raise RUNNER_PIECES or PIECE_CELLS in runner.h\n");
        exit(2);
    }
    p = &r->pieces[r->count++];
    memset(p, 0, sizeof *p);
    snprintf(p->key, sizeof p->key, "%s", key);
    p->jobs = jobs;
    p->cells = cells;
    return p;
}

static BENCH_UNUSED piece *runner_find(runner *r, const char *key)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->pieces[i].key, key) == 0)
            return &r->pieces[i];
    return NULL;
}

/* ======== kept numbers ======== */

/* a line: key jobs cells, then hits trials of each cell, then seconds commit */
static BENCH_UNUSED void runner_keep(const runner *r, const piece *p)
{
    FILE *file = r->path[0] != '\0' ? fopen(r->path, "a") : NULL;
    if (r->path[0] == '\0')
        return;
    if (file == NULL) {
        fprintf(stderr, "bench: %s cannot be written: this run cannot be resumed\n", r->path);
        return;
    }
    fprintf(file, "%s %zu %zu", p->key, p->jobs, p->cells);
    for (size_t c = 0; c < p->cells; c++)
        fprintf(file, " %zu %zu", p->rates[c].hits, p->rates[c].trials);
    fprintf(file, " %.6g %s\n", p->seconds, p->commit);
    fclose(file);
}

static BENCH_UNUSED int runner_parse(piece *p, const char *numbers)
{
    char *end;
    if (strtoul(numbers, &end, 10) != p->jobs || strtoul(end, &end, 10) != p->cells)
        return 0; /* of another size */
    for (size_t c = 0; c < p->cells; c++) {
        p->rates[c].hits = strtoul(end, &end, 10);
        p->rates[c].trials = strtoul(end, &end, 10);
    }
    p->seconds = strtod(end, &end);
    if (*end != ' ')
        return 0; /* a cut line */
    snprintf(p->commit, sizeof p->commit, "%.*s", (int)strcspn(end + 1, "\n"), end + 1);
    return end[1 + strlen(p->commit)] == '\n';
}

static BENCH_UNUSED size_t runner_recall(runner *r)
{
    char line[1024];
    size_t found = 0;
    FILE *file = fopen(r->path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *space = strchr(line, ' ');
        piece *p;
        if (space == NULL)
            continue;
        *space = '\0';
        p = runner_find(r, line);
        if (p != NULL && !p->done && runner_parse(p, space + 1)) {
            p->done = 1;
            found++;
        }
    }
    if (file != NULL)
        fclose(file);
    return found;
}

/* ======== running ======== */

/* on a terminal one line that changes, in a log a line every ten seconds */
static BENCH_UNUSED void runner_say(runner *r, const piece *p, size_t jobs)
{
    double now = bench_now(), spent = now - r->start;
    double left = r->work_done > 0 ? spent * (r->work_all - r->work_done) / r->work_done : 0;
    left = left > 0 ? left : 0;
    int terminal = isatty(2), last = r->work_done >= r->work_all * (1 - 1e-9);
    if (!terminal && !last && now - r->said < 10)
        return;
    r->said = now;
    fprintf(stderr, "%s[%3.0f %%] %-34s %4zu of %4zu, %.0f:%02.0f left   %s", terminal ? "\r" : "",
            r->work_all > 0 ? 100 * r->work_done / r->work_all : 100, p->key, jobs, p->jobs,
            floor(left / 60), floor(fmod(left, 60)), terminal ? "" : "\n");
}

typedef struct runner_chunk {
    const piece *p;
    size_t first;
} runner_chunk;

static BENCH_UNUSED void runner_job(size_t job, void *result, void *context)
{
    const runner_chunk *c = (const runner_chunk *)context;
    c->p->job_fn(c->p, c->p->first + c->first + job, (piece_outcome *)result);
}

static BENCH_UNUSED void runner_piece(runner *r, piece *p)
{
    double *seconds = (double *)bench_alloc(p->jobs, sizeof *seconds);
    size_t processes = bench_processes(), step = p->jobs / 10 + 1;
    if (step < processes)
        step = processes;
    for (size_t first = 0; first < p->jobs; first += step) {
        size_t count = p->jobs - first < step ? p->jobs - first : step;
        runner_chunk chunk;
        chunk.p = p;
        chunk.first = first;
        const piece_outcome *out = (const piece_outcome *)bench_parallel(
            count, processes, sizeof *out, runner_job, &chunk);
        for (size_t j = 0; j < count; j++) {
            seconds[first + j] = out[j].seconds;
            for (size_t c = 0; c < p->cells; c++) {
                p->rates[c].hits += out[j].hits[c];
                p->rates[c].trials += out[j].trials[c];
            }
        }
        r->work_done += p->weight * (double)count;
        runner_say(r, p, first + count);
    }
    p->seconds = bench_median(seconds, p->jobs);
    p->done = 1;
    snprintf(p->commit, sizeof p->commit, "%s", BENCH_COMMIT);
    free(seconds);
    runner_keep(r, p);
}

/* Takes what an earlier run kept; fresh: forgets it. */
static BENCH_UNUSED void runner_open(runner *r, int fresh)
{
    size_t kept;
    if (r->path[0] == '\0')
        return;
    if (fresh)
        remove(r->path);
    kept = runner_recall(r);
    if (kept > 0)
        fprintf(stderr, "%zu of %zu pieces are kept in %s; FRESH=1 runs them again\n", kept,
                r->count, r->path);
}

/* how long it took, and how long all cores together */
static BENCH_UNUSED void runner_bill(double start)
{
    struct rusage used;
    double cpu = 0;
    if (getrusage(RUSAGE_CHILDREN, &used) == 0)
        cpu = (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
    fprintf(stderr, "%.1f minutes, %.1f of processor time\n", (bench_now() - start) / 60,
            cpu / 60);
}

static BENCH_UNUSED void runner_rest(runner *r)
{
    r->start = bench_now();
    r->work_done = r->work_all = 0;
    for (size_t i = 0; i < r->count; i++)
        if (!r->pieces[i].done)
            r->work_all += r->pieces[i].weight * (double)r->pieces[i].jobs;
    for (size_t i = 0; i < r->count; i++)
        if (!r->pieces[i].done)
            runner_piece(r, &r->pieces[i]);
}

static BENCH_UNUSED const char *runner_again_key(const piece *p)
{
    static char key[PIECE_KEY];
    snprintf(key, sizeof key, "%.*s/again", PIECE_KEY - 8, p->key);
    return key;
}

/* the larger run of a null piece that missed its level, or NULL */
static BENCH_UNUSED const piece *runner_again(runner *r, const piece *p)
{
    const piece *again = runner_find(r, runner_again_key(p));
    return again != NULL && again->done ? again : NULL;
}

/* Some null cells miss 0.05 by chance: their pieces get a larger run whose seeds follow theirs. */
static BENCH_UNUSED void runner_doubt(runner *r)
{
    for (size_t i = 0, count = r->count; i < count; i++) {
        const piece *p = &r->pieces[i];
        size_t outside = 0, cells = 0;
        for (size_t c = 0; c < p->cells; c++) {
            if (p->nulls >> c & 1) {
                outside += (size_t)!rate_level(p->rates[c]);
                cells = c + 1;
            }
        }
        if (outside > 0) {
            piece *again = runner_add(r, runner_again_key(p), RUNNER_AGAIN * p->jobs, cells);
            again->job_fn = p->job_fn;
            again->setting = p->setting;
            again->method = p->method;
            again->weight = p->weight;
            again->first = p->jobs;
        }
    }
    runner_recall(r);
}

/* Runs what is not done yet, then once more what missed its level. */
static BENCH_UNUSED void runner_run(runner *r)
{
    double start = bench_now();
    runner_rest(r);
    runner_doubt(r);
    runner_rest(r);
    if (isatty(2))
        fprintf(stderr, "\n");
    runner_bill(start);
}

/* ======== the section ======== */

/* the commits of npksd.h behind the numbers: one, unless kept ones are older */
static BENCH_UNUSED void runner_commits(FILE *f, const runner *r)
{
    const char *before = "";
    for (size_t i = 0; i < r->count; i++) {
        size_t first = 0;
        while (first < i && (!r->pieces[first].done
                             || strcmp(r->pieces[first].commit, r->pieces[i].commit) != 0))
            first++;
        if (r->pieces[i].done && first == i) {
            fprintf(f, "%s%s", before, r->pieces[i].commit);
            before = ", ";
        }
    }
}

/* heading, command, machine and commit */
static BENCH_UNUSED void runner_title(FILE *f, const runner *r, const char *title,
                                      const char *target)
{
    bench_title(f, title, target, r->full);
    runner_commits(f, r);
    fprintf(f, ".\n");
}

static BENCH_UNUSED void runner_section_end(const runner *r, FILE *f)
{
    bench_section_end(f, r->out, r->program);
    printf("%s.md and its figures are in %s\n", r->program, r->out);
}

#endif /* RUNNER_H */
