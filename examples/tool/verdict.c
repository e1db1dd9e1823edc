/* The verdict in plain words, and the text on the terminal. */
#include "tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_COLUMNS = 20, TEXT_ROW_COLUMNS = 5 };

/* ======== what the numbers mean ======== */

static const char *component_words(unsigned leading)
{
    return leading == NPKSD_COMPONENT_STEIN ? "the shape or the location of the distribution"
        : leading == NPKSD_COMPONENT_MIRROR ? "spread or tails"
        : leading == NPKSD_COMPONENT_MOMENT ? "means, variances or covariances"
        : leading == NPKSD_COMPONENT_MMD
        ? "how often values of each kind occur: modes, gaps, limits"
        : leading == NPKSD_COMPONENT_MARGIN ? "single columns: means, spread or distribution"
                                            : "how two columns go together";
}

/* Rows are ranked by their part in the Stein statistic: they explain no other component. */
int rows_explain(const comparison *c)
{
    unsigned of_scores = NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MIRROR | NPKSD_COMPONENT_MOMENT;
    return (c->result.leading & of_scores) != 0;
}

static int is_marked(const comparison *c, size_t column)
{
    return c->diagnosis.coordinate_p_adjusted[column] <= c->settings->options.alpha;
}

int column_differs(const comparison *c, size_t column)
{
    return is_marked(c, column) && !c->related[column];
}

column_type type_of(const encoding *e, size_t column) { return e->columns[e->owner[column]].type; }

column_change change_of(const comparison *c, size_t column)
{
    column_change change = { type_of(c->encoding, column),
                             c->shift[column],
                             c->distance[column],
                             c->observed_mean[column],
                             c->observed_sd[column],
                             c->synthetic_mean[column],
                             c->synthetic_sd[column],
                             0,
                             0,
                             0,
                             is_share(&c->observed, column) && is_share(&c->synthetic, column) };
    find_frequent(&c->observed, &c->synthetic, column, &change);
    return change;
}

/* The test of a column looks at its score given a summary of the others, too: columns that hardly change
   may be marked with one that does. If no marked column has changed by itself, the dependence has, and
   all stay. */
void find_related(comparison *c)
{
    size_t m = c->observed.m, changed = 0;
    double n = (double)c->observed.n, rows = n;
    if (!c->settings->program.command)
        rows = n * (double)c->synthetic.n / (n + (double)c->synthetic.n);
    c->related = (char *)memory(NULL, m, 1);
    for (size_t i = 0; i < m; i++) {
        column_change change = change_of(c, i);
        int by_itself = has_changed(&change, rows);
        c->related[i] = is_marked(c, i) && !by_itself;
        changed += (size_t)(is_marked(c, i) && by_itself);
    }
    if (changed == 0)
        memset(c->related, 0, m);
}

int pair_differs(const comparison *c, size_t pair)
{
    return c->diagnosis.pairs[pair].p_adjusted <= c->settings->options.alpha;
}

/* ======== sentences ======== */

/* Days since 1970-01-01 as a date of the Gregorian calendar. */
static void date_text(double days, char room[48])
{
    int z = (int)floor(days) + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int day = z - era * 146097, year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    int month = (5 * day + 2) / 153; /* from March on */
    snprintf(room, 48, "%04d-%02d-%02d", year + 400 * era + (month > 9),
             month < 10 ? month + 3 : month - 9, day - (153 * month + 2) / 5 + 1);
}

const char *value_text(column_type type, double value, char room[48])
{
    int seconds = type == COLUMN_TIME && fabs(value) < 1e6 ? (int)value : 0;
    if (type == COLUMN_DATE && fabs(value) < 1e7)
        date_text(value, room);
    else if (type == COLUMN_TIME && value >= 0 && value <= 90000)
        snprintf(room, 48, "%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
    else
        snprintf(room, 48, "%.5g", value);
    return room;
}

/* The time of a date, behind it. As a fraction of a day it is rounded: 09:40:01 may be a little less. */
static void add_clock(char room[48], double days)
{
    char time[48];
    snprintf(room + strlen(room), 48 - strlen(room), " %.30s",
             value_text(COLUMN_TIME, 86400 * (days - floor(days)) + 0.001, time));
}

static void describe_mean(char **to, const column_change *c)
{
    char here[48], there[48];
    const char *way = c->shift < 0 ? "lower" : "higher";
    if (fabs(c->shift) >= 1e4)
        append(to, "mean %s by more than 10000 sd", way);
    else if (fabs(c->shift) >= 0.005)
        append(to, "mean %s by %.2f sd", way, fabs(c->shift));
    else
        append(to, "mean unchanged");
    if (c->type != COLUMN_DATE && c->type != COLUMN_TIME)
        return;
    value_text(c->type, c->mean, here);
    value_text(c->type, c->other_mean, there);
    if (c->type == COLUMN_DATE && strcmp(here, there) == 0) {
        add_clock(here, c->mean);
        add_clock(there, c->other_mean);
    }
    append(to, ": %s against %s", here, there);
}

/* Shares as such; the spread where it changed more than the mean. */
void describe_change(char **to, const char *name, const column_change *c)
{
    char cut[256];
    double spread = c->sd / c->other_sd;
    append(to, "%s (", cut_text(name, 40, 0, cut, sizeof cut));
    if (c->type == COLUMN_CATEGORY || c->type == COLUMN_FLAG) {
        append(to, "%.3g %% against %.3g %%)", 100 * c->mean, 100 * c->other_mean);
        return;
    }
    describe_mean(to, c);
    if (c->sd == 0 && c->other_sd > 0)
        append(to, ", constant");
    else if (isfinite(spread) && fabs(log(spread)) > fmax(fabs(c->shift), 0.1))
        append(to, ", spread %.2f times as large", spread);
    if (fabs(c->share - c->other_share) >= 0.05) {
        char value[48];
        value_text(c->type, c->value, value);
        if (c->type == COLUMN_DATE && c->value != floor(c->value))
            add_clock(value, c->value);
        append(to, ", value %s in %.0f %% of the rows against %.0f %%", value, 100 * c->share,
               100 * c->other_share);
    }
    append(to, ", distance %.2f)", c->distance);
}

static void add_column(const comparison *c, char **to, size_t column)
{
    column_change change = change_of(c, column);
    describe_change(to, c->observed.names[column], &change);
}

double without_sign(double value) { return fabs(value) < 0.005 ? 0 : value; }

static void add_pair(const comparison *c, char **to, size_t k)
{
    const npksd_pair *pair = &c->diagnosis.pairs[k];
    char first[256], second[256];
    append(to, "%s and %s (correlation %.2f, %s %.2f)",
           cut_text(c->observed.names[pair->first], 40, 0, first, sizeof first),
           cut_text(c->observed.names[pair->second], 40, 0, second, sizeof second),
           without_sign((double)pair->observed),
           c->settings->program.command ? "the generator's" : "in both files together",
           without_sign((double)pair->expected));
}

static size_t count_related(const comparison *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->observed.m; i++)
        count += (size_t)c->related[i];
    return count;
}

/* They stand behind the columns that differ. */
static void add_related(const comparison *c, char **to, size_t differing)
{
    enum { NAMED = 8 };
    size_t related = count_related(c);
    char name[256];
    if (related == 0)
        return;
    append(to, " Marked with %s, but hardly changed by %s: ", differing == 1 ? "it" : "them",
           related == 1 ? "itself" : "themselves");
    for (size_t k = 0; k < related && k < NAMED; k++)
        append(
            to, "%s%s", k ? ", " : "",
            cut_text(c->observed.names[c->column_order[differing + k]], 40, 0, name, sizeof name));
    if (related > NAMED)
        append(to, " and %zu more", related - NAMED);
    append(to, ".");
}

/* Columns and pairs at or below the level after adjustment; those not named are counted. */
static void write_where(comparison *c)
{
    enum { COLUMNS_NAMED = 4, PAIRS_NAMED = 3 };
    size_t columns = 0, pairs = 0;
    char **to = &c->where;
    for (size_t k = 0; k < c->observed.m; k++)
        columns += (size_t)column_differs(c, k);
    while (pairs < c->diagnosis.pair_count && pair_differs(c, pairs))
        pairs++;
    append(to, "%s", columns == 0 ? "" : columns == 1 ? "column " : "columns ");
    for (size_t k = 0; k < columns && k < COLUMNS_NAMED; k++) {
        append(to, "%s", k ? ", " : "");
        add_column(c, to, c->column_order[k]);
    }
    if (columns > COLUMNS_NAMED)
        append(to, " and %zu more", columns - COLUMNS_NAMED);
    append(to, "%s%s", columns && pairs ? "; " : "",
           pairs == 0       ? ""
               : pairs == 1 ? "the pair "
                            : "the pairs ");
    for (size_t k = 0; k < pairs && k < PAIRS_NAMED; k++) {
        append(to, "%s", k ? ", " : "");
        add_pair(c, to, k);
    }
    if (pairs > PAIRS_NAMED)
        append(to, " and more");
    if (columns + pairs == 0) {
        append(to,
               c->tested_count == 1
                   ? "column "
                   : "no single column or pair stands out; nearest to it: column ");
        add_column(c, to, c->column_order[0]);
    }
    append(to, ".");
    add_related(c, to, columns);
}

/* The test of everything and the tests of columns and pairs may disagree; say what that means. */
static void write_disagreement(comparison *c)
{
    char *what = NULL;
    if (column_differs(c, c->column_order[0])) {
        append(&what, "column ");
        add_column(c, &what, c->column_order[0]);
    } else if (c->diagnosis.pair_count > 0 && pair_differs(c, 0)) {
        append(&what, "the pair ");
        add_pair(c, &what, 0);
    }
    if (what)
        append(&c->where,
               "%s stands out by itself, although all columns together are not rejected. These are "
               "two tests: go "
               "by the one that you chose beforehand, and record more rows if it matters.",
               what);
    else
        append(&c->where, "no column and no pair of columns stands out.");
    free(what);
}

static void write_kind(comparison *c)
{
    const npksd_result *r = &c->result;
    append(&c->kind, "the strongest sign is %s (component %s)", component_words(r->leading),
           npksd_component_string(r->leading));
    if (r->leading == NPKSD_COMPONENT_STEIN)
        append(&c->kind, "; its size, which does not grow with the number of rows, is KSD^2 = %.4g",
               (double)r->ksd2);
    append(&c->kind, ".");
}

/* Rows outside the range of those that the test was fitted to, beyond what chance brings. */
static void note_range(comparison *c)
{
    int drawn = c->settings->program.command != NULL;
    double share = (double)c->result.out_of_range, fitted = (double)c->synthetic.n;
    if (drawn)
        fitted = fmin((double)c->settings->options.fit_rows, 1000);
    double chance = 1 - pow(1 - fmin(2 / (fitted + 1), 1), (double)c->tested_count);
    if (share >= 0.1 && share > 2 * chance)
        note(&c->notes, "%.0f %% of the observed rows lie outside the range of the %s rows.",
             100 * share, drawn ? "generated" : "synthetic");
}

static void note_sizes(comparison *c)
{
    if (c->observed.n < 20)
        note(&c->notes, "Only %zu observed rows: they can show gross differences only.",
             c->observed.n);
    if (!c->settings->program.command && c->synthetic.n < 3 * c->observed.n)
        note(&c->notes,
             "%zu synthetic rows for %zu observed ones: valid, but ten times as many synthetic "
             "rows let the test detect smaller differences.",
             c->synthetic.n, c->observed.n);
}

/* Three bullets: the verdict, where, what kind; and what the verdict does not mean. */
void write_verdict(comparison *c)
{
    const npksd_result *r = &c->result;
    size_t beyond = (size_t)floor((double)r->p_value * (double)(r->replicates + 1) - 0.5);
    char many[24] = "none";
    if (beyond > 0)
        snprintf(many, sizeof many, "%zu", beyond);
    append(&c->headline, "%s: p = %.4f", r->reject ? "REJECTED" : "Not rejected",
           (double)r->p_value);
    append(&c->verdict,
           "%s. Of %zu data sets of %zu rows, drawn %s, %s %s as far off. (More data sets could "
           "move p to between "
           "%.4f and %.4f.)",
           c->headline, r->replicates, c->observed.n,
           c->settings->program.command ? "by the generator" : "at random from both files together",
           many, beyond <= 1 ? "was" : "were", (double)r->p_low, (double)r->p_high);
    if (r->reject) {
        write_where(c);
        write_kind(c);
        append(&c->caveat,
               "Rejected does not mean useless: with enough rows every model is rejected. Are the "
               "differences large "
               "enough to matter?");
    } else {
        write_disagreement(c);
        append(&c->caveat,
               "Not rejected does not mean right: %zu rows did not show a fault. And p means "
               "nothing if %.*s was "
               "fitted to these very rows.",
               c->observed.n, CUT(200, c->source));
    }
    note_sizes(c);
    note_range(c);
}

/* ======== text ======== */

static void print_columns(const comparison *c)
{
    const data *d = &c->observed;
    int any = 0;
    printf("\n  %-18s %10s %7s %8s   %21s %21s\n", "column", "adjusted p", "shift", "distance",
           "observed mean, sd", "synthetic mean, sd");
    for (size_t k = 0; k < d->m && k < TEXT_COLUMNS; k++) {
        size_t i = c->column_order[k];
        double shift = c->shift[i];
        int differs = column_differs(c, i);
        column_type type = type_of(c->encoding, i);
        char name[128], here[48], there[48];
        any |= differs;
        printf("%c %s %10.4f ",
               differs             ? '*'
                   : c->related[i] ? '~'
                                   : ' ',
               cut_text(d->names[i], 18, 18, name, sizeof name),
               (double)c->diagnosis.coordinate_p_adjusted[i]);
        printf(fabs(shift) < 1000 ? "%+7.2f" : "%+7.0e", without_sign(shift));
        printf(" %8.2f   %10s %10.5g %10s %10.5g\n", c->distance[i],
               value_text(type, c->observed_mean[i], here), c->observed_sd[i],
               value_text(type, c->synthetic_mean[i], there), c->synthetic_sd[i]);
    }
    if (d->m > TEXT_COLUMNS)
        printf("  and %zu more; --json lists them all\n", d->m - TEXT_COLUMNS);
    if (any)
        printf("* differs: p, adjusted for testing %zu column%s, is at most %g.%s\n",
               c->tested_count, PLURAL(c->tested_count), (double)c->settings->options.alpha,
               count_related(c)
                   ? ""
                   : " A changed\n  dependence may mark every column that takes part in it.");
    if (count_related(c))
        printf("~ marked with them, but hardly changed by itself\n");
    printf("  shift: of the mean, in sd of %s; distance: of the distributions, 0 to 1\n",
           c->settings->program.command ? "the generator" : "both files together");
}

static void print_pairs(const comparison *c)
{
    const npksd_diagnosis *d = &c->diagnosis;
    char first[128], second[128];
    if (d->pair_count == 0 || !pair_differs(c, 0))
        return;
    printf("\n  %-39s %10s   correlation observed, %s\n", "pair of columns", "adjusted p",
           c->settings->program.command ? "generator" : "both files");
    for (size_t k = 0; k < d->pair_count && pair_differs(c, k); k++)
        printf("* %s   %s %10.4f   %20.2f, %.2f\n",
               cut_text(c->observed.names[d->pairs[k].first], 18, 18, first, sizeof first),
               cut_text(c->observed.names[d->pairs[k].second], 18, 18, second, sizeof second),
               (double)d->pairs[k].p_adjusted, without_sign((double)d->pairs[k].observed),
               without_sign((double)d->pairs[k].expected));
}

static void print_rows(const comparison *c)
{
    const data *d = &c->observed;
    char name[128], filled[128];
    if (!rows_explain(c))
        return;
    printf("\n  the rows that contribute most%s\n%14s",
           c->result.reject ? "" : " (in every data set some do)", "");
    for (size_t k = 0; k < TEXT_ROW_COLUMNS && k < d->m; k++) {
        cut_text(d->names[c->column_order[k]], 11, 0, name, sizeof name);
        cut_text(name, 11, 11, filled,
                 sizeof filled); /* the blanks go in front: numbers end there */
        printf(" %s%s", filled + strlen(name), name);
    }
    printf("\n");
    for (size_t k = 0; k < WORST_ROWS && k < d->n; k++) {
        size_t row = c->row_order[k];
        printf("  %s %-7zu", d->place, d->lines[row]);
        for (size_t i = 0; i < TEXT_ROW_COLUMNS && i < d->m; i++) {
            size_t column = c->column_order[i];
            printf(" %11s",
                   value_text(type_of(c->encoding, column), (double)d->rows[row * d->m + column],
                              filled));
        }
        printf("\n");
    }
}

/* shown: stands above already, or NULL */
static void print_notes(const notes *list, const char *shown)
{
    for (size_t k = 0; k < list->count; k++)
        if (!shown || strcmp(list->items[k], shown) != 0)
            print_wrapped(stdout, "  note: ", list->items[k]);
}

static void print_bullet(const char *label, const char *text)
{
    char *whole = NULL;
    append(&whole, "%s%s", label, text);
    print_wrapped(stdout, "- ", whole);
    free(whole);
}

static void print_verdict(const comparison *c)
{
    print_wrapped(stdout, "- ", c->verdict);
    print_bullet("Where: ", c->where);
    if (c->kind)
        print_bullet("What kind: ", c->kind);
    print_wrapped(stdout, "- ", c->caveat);
}

static void print_source(const comparison *c)
{
    if (c->settings->program.command) {
        char *command =
            clean_text(c->settings->program.command, strlen(c->settings->program.command));
        printf("generator  %s (%zu data sets)\n", command, c->program_calls);
        free(command);
    } else
        printf("synthetic  %s: %zu rows\n", c->synthetic.file, c->synthetic.file_rows);
}

static void print_comparison(const comparison *c)
{
    if (c->warning)
        print_wrapped(stdout, "! ", c->warning);
    print_verdict(c);
    print_notes(&c->notes, c->warning);
    print_columns(c);
    print_pairs(c);
    print_rows(c);
}

static void print_ranking(const comparison *candidates, const ranking *r)
{
    char name[256];
    printf("  %-24s %9s   %-18s %6s   %s\n", "nearest first", "distance", "95 % interval", "best",
           "test");
    for (size_t k = 0; k < r->count; k++) {
        const ranked *item = &r->items[r->order[k]];
        const comparison *c = &candidates[r->order[k]];
        printf("  %s %9.4f   %7.4f to %7.4f %5.0f %%   %s\n",
               cut_text(c->source, 24, 24, name, sizeof name), item->distance, item->low,
               item->high, 100 * item->best, c->headline);
    }
    print_wrapped(stdout, "  ", r->words);
}

/* What makes a verdict void is said even so. */
static void print_quiet(const comparison *candidates, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        printf("%.6g\n", (double)candidates[k].result.p_value);
        if (candidates[k].warning)
            fprintf(stderr, "npksd: %s\n", candidates[k].warning);
    }
}

void print_text(const comparison *candidates, size_t count, const ranking *r)
{
    const comparison *c = &candidates[0];
    if (c->settings->quiet) {
        print_quiet(candidates, count);
        return;
    }
    printf("observed   %s: %zu rows, %zu column%s\n", c->observed.file, c->observed.file_rows,
           c->observed.m, PLURAL(c->observed.m));
    if (count == 1)
        print_source(c);
    print_notes(c->common, NULL);
    printf("\n");
    if (count > 1)
        print_ranking(candidates, r);
    for (size_t k = 0; k < count; k++) {
        if (count > 1) {
            printf("\n");
            print_source(&candidates[k]);
        }
        print_comparison(&candidates[k]);
    }
}
