/*
 * What must be seen in the numbers of a runner: the level in every null cell, and our default at
 * least as powerful as its rivals.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "runner.h"

/* ======== the level ======== */

/* 0.05 is inside the interval of a null cell, or of its larger run if the first one missed */
static BENCH_UNUSED int verdict_level(runner *r, const piece *p, size_t cell)
{
    const piece *again = runner_again(r, p);
    return rate_level(p->rates[cell])
        || (again != NULL && rate_level(again->rates[cell]));
}

static BENCH_UNUSED void verdict_doubt(FILE *f, runner *r, const piece *p, size_t cell)
{
    const piece *again = runner_again(r, p);
    char text[64];
    fprintf(f, "    - %s%s%s: %s", p->label, p->cell_names != NULL ? ", " : "",
            p->cell_names != NULL ? p->cell_names[cell] : "",
            rate_close(p->rates[cell], text, sizeof text));
    if (again != NULL)
        fprintf(f, "; again: %s", rate_close(again->rates[cell], text, sizeof text));
    fprintf(f, " - %s\n", verdict_level(r, p, cell) ? "inside" : "**OUTSIDE**");
}

static BENCH_UNUSED void verdict_levels(FILE *f, runner *r)
{
    size_t cells = 0, doubted = 0, outside = 0;
    for (int list = 0; list < 2; list++) {
        for (size_t i = 0; i < r->count; i++) {
            const piece *p = &r->pieces[i];
            for (size_t c = 0; p->done && c < p->cells; c++) {
                if (!(p->nulls >> c & 1))
                    continue;
                if (list && !rate_level(p->rates[c]))
                    verdict_doubt(f, r, p, c);
                cells += !list;
                doubted += !list && !rate_level(p->rates[c]);
                outside += !list && !verdict_level(r, p, c);
            }
        }
        if (!list && doubted == 0)
            fprintf(f, "- **Level.** %zu null cells; 0.05 is inside the 95 %% interval of each - "
                    "**met**.\n", cells);
        else if (!list)
            fprintf(f, "- **Level.** %zu null cells; 0.05 is inside the 95 %% interval of %zu. Up "
                    "to one in twenty falls outside by chance, so those outside (%zu) were run again "
                    "with fresh seeds and %d times the trials; of these larger runs %zu have 0.05 "
                    "outside their interval - **%s**. The cells that were run again:\n", cells,
                    cells - doubted, doubted, RUNNER_AGAIN, outside,
                    outside == 0 ? "met" : "NOT MET");
    }
}

/* ======== rivals ======== */

enum { VERDICT_RIVALS = 400 };

typedef struct verdict_rival {
    char where[PIECE_LABEL];
    const char *who, *reason; /* reason: why it may be above ours, or NULL */
    rate ours, theirs;
} verdict_rival;

static verdict_rival verdict_list[VERDICT_RIVALS];
static size_t verdict_count;

static BENCH_UNUSED void verdict_compare(const char *where, const char *who, rate ours, rate theirs,
                                         const char *reason)
{
    verdict_rival *v = &verdict_list[verdict_count];
    if (ours.trials == 0 || theirs.trials == 0)
        return;
    if (verdict_count++ == VERDICT_RIVALS)
        bench_die("raise VERDICT_RIVALS in verdict.h", NPKSD_ERROR_ARGUMENT);
    snprintf(v->where, sizeof v->where, "%s", where);
    v->who = who;
    v->reason = reason;
    v->ours = ours;
    v->theirs = theirs;
}

static BENCH_UNUSED void verdict_rivals(FILE *f, const char *rivals)
{
    size_t better = 0, worse = 0, unexplained = 0;
    char ours[64], theirs[64];
    if (verdict_count == 0)
        return;
    for (size_t i = 0; i < verdict_count; i++) {
        double z = rate_difference(verdict_list[i].ours, verdict_list[i].theirs);
        better += z > 2;
        worse += z < -2;
        unexplained += z < -2 && verdict_list[i].reason == NULL;
    }
    fprintf(f, "- **Power.** %zu comparisons of npksd.h's default with %s: ours is better by more "
            "than two standard errors in %zu, worse in %zu, the rest are equal within that - "
            "**%s**. (Each comparison by itself; trials are taken as independent, though methods "
            "share their observed rows.)\n", verdict_count, rivals, better, worse,
            worse == 0 ? "met" : unexplained == 0 ? "met: each cell that is worse has its reason"
                                                  : "NOT MET");
    for (size_t i = 0; i < verdict_count; i++) {
        const verdict_rival *v = &verdict_list[i];
        if (rate_difference(v->ours, v->theirs) < -2)
            fprintf(f, "    - %s: %s %s, ours %s. %s\n", v->where, v->who,
                    rate_text(v->theirs, theirs, sizeof theirs),
                    rate_text(v->ours, ours, sizeof ours),
                    v->reason != NULL ? v->reason : "No reason known.");
    }
}

#endif /* VERDICT_H */
