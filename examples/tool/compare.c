/* A recording against one source: what is said before the test, the test, and what came out. */
#include "tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ======== what the rows look like before the test ======== */

static void add_to_list(char **list, const char *name)
{
    char cut[256];
    append(list, "%s%s", *list ? ", " : "", cut_text(name, 40, 0, cut, sizeof cut));
}

/* A value of a category that neither side has, of a column with one value in all rows? */
static int is_absent(const comparison *c, size_t column)
{
    return type_of(c->encoding, column) == COLUMN_CATEGORY && c->observed.rows[column] == 0;
}

/* What has one value in all rows of two files says nothing, but would change the summary that the test of other
   columns looks at: it is left out. That is decided by all rows together, so the test stays exact. Of a generator
   only draws are known, and all columns stay. */
static void choose_columns(comparison *c)
{
    const data *a = &c->observed, *b = &c->synthetic;
    int drawn = c->settings->program.command != NULL;
    char *both = NULL, *only = NULL;
    size_t constant = 0;
    c->tested = (size_t *)memory(NULL, a->m, sizeof *c->tested);
    for (size_t i = 0; i < a->m; i++) {
        int there = is_constant(b, i), here = is_constant(a, i);
        int same = here && there && a->rows[i] == b->rows[i];
        constant += (size_t)(here && there);
        if (!same || drawn)
            c->tested[c->tested_count++] = i;
        if (there && !same)
            add_to_list(&only, a->names[i]);
        else if (same && !is_absent(c, i))
            add_to_list(&both, a->names[i]);
    }
    if (constant == a->m)
        fail("%s and %s: every column is constant (%s%s%s); there is nothing to test", a->file,
             b->file, both ? both : "", both && only ? ", " : "", only ? only : "");
    if (both)
        note(&c->notes, "Constant, with the same value on both sides%s: %s.",
             drawn ? "; the test of the others looks at such columns, too, unless they are left "
                     "out (--leave-out)"
                   : ", and left out of the test",
             both);
    if (only)
        note(&c->notes,
             "Constant in the synthetic rows but not the same in the observed ones: %s. Such a "
             "column alone "
             "may decide the test.",
             only);
    free(both);
    free(only);
}

static double neighbour_correlation(const data *d, size_t column)
{
    double sum = 0, mean, sd;
    column_moments(d, column, &mean, &sd);
    for (size_t r = 1; r < d->n && sd > 0; r++)
        sum += ((double)d->rows[(r - 1) * d->m + column] - mean) / sd
            * (((double)d->rows[r * d->m + column] - mean) / sd);
    return sum / (double)(d->n - 1);
}

/* Rows in the order of time resemble their neighbours; then drawing single rows would be wrong. */
static void check_dependence(comparison *c)
{
    const data *d = &c->observed;
    double largest = 0;
    size_t worst = 0;
    char name[256];
    for (size_t i = 0; i < d->m && d->n >= 20; i++) {
        double correlation = neighbour_correlation(d, i);
        if (correlation > largest) {
            largest = correlation;
            worst = i;
        }
    }
    if (largest > 0.2 && largest > 5 / sqrt((double)d->n))
        note(&c->notes,
             "Neighbouring observed rows resemble each other (column %s, correlation %.2f). If "
             "rows follow each "
             "other in time, the p-value is too small: use --block with the rows of one session. "
             "If the file "
             "is only sorted, all is well.",
             cut_text(d->names[worst], 40, 0, name, sizeof name), largest);
}

/* A generator that memorised rows passes every test but this one. */
static void check_copies(comparison *c)
{
    const data *a = &c->observed, *b = &c->synthetic;
    c->copies = count_copies(a, b);
    if (c->copies.same_file)
        append(&c->warning, "%s and %s hold the same bytes: this is one file compared with itself.",
               a->file, b->file);
    else if (c->copies.suspicious)
        append(
            &c->warning,
            "%zu of the %zu rows of %s are observed rows, number for number, which is far more "
            "than rows repeat by nature (within %s %zu of %zu rows occur more than once). If the "
            "source has memorised them, or the files overlap, p means nothing: test with rows "
            "that it has never seen.%s",
            c->copies.rows, b->n, b->file, a->file, c->copies.repeated, a->n,
            c->settings->program.command
                ? " (If rows follow a fixed plan, such as a grid of times, all is well.)"
                : " (The component MIRROR is left out here: it would notice little but the "
                  "repeats.)");
    if (c->warning)
        note(&c->notes, "%s", c->warning);
}

/* Rows with a missing value are gone before the test: that one file has more of them is no chance if
   the shares differ by four standard deviations. */
static void compare_missing(comparison *c)
{
    const data *a = &c->observed, *b = &c->synthetic;
    double of_a = (double)a->file_rows, of_b = (double)b->file_rows;
    double left_a = (of_a - (double)a->n) / of_a, left_b = (of_b - (double)b->n) / of_b;
    double share = (left_a * of_a + left_b * of_b) / (of_a + of_b);
    if (fabs(left_a - left_b) > 4 * sqrt(share * (1 - share) * (1 / of_a + 1 / of_b)))
        note(&c->notes,
             "Rows with a missing value are %.3g %% of %s and %.3g %% of %s. The test does not see "
             "this difference, which is larger than chance makes it.",
             100 * left_a, a->file, 100 * left_b, b->file);
}

/* A last, shorter block is left out. */
static void whole_blocks(comparison *c, data *d)
{
    size_t block = c->settings->options.block, rest = d->n % block;
    if (d->n < block)
        fail("--block %zu: %s has only %zu rows", block, d->file, d->n);
    if (rest > 0)
        note(&c->notes, "The last %zu row%s of %s %s not a whole block and %s left out.", rest,
             PLURAL(rest), d->file, rest == 1 ? "is" : "are", rest == 1 ? "was" : "were");
    d->n -= rest;
}

/* Too many rows take too long, and more than twice as many as synthetic ones cannot be tested. */
static void limit_observed(comparison *c)
{
    const settings *s = c->settings;
    size_t all = c->observed.n, block = s->options.block, made = c->synthetic.n,
           least = npksd_samples_minimum(1);
    if (s->take && all > s->take && s->take >= block) {
        c->observed = take_rows(&c->observed, s->take, block, s->options.seed);
        note(&c->notes,
             "%zu of the %zu observed rows were taken at random; --take 0 uses all, in a time that "
             "grows with "
             "their square (with --features 512 it does not).",
             c->observed.n, all);
        all = c->observed.n;
    }
    if (made >= npksd_samples_minimum(all))
        return;
    if (made < least || 2 * made < block)
        fail("%s: too few rows: %zu. At least %zu are needed, and ten times as many as observed "
             "rows are "
             "better. Make more",
             c->synthetic.file, made, least > (block + 1) / 2 ? least : (block + 1) / 2);
    c->observed = take_rows(&c->observed, 2 * made, block, s->options.seed);
    note(&c->notes,
         "%s has only %zu rows: %zu of the %zu observed rows were taken at random, the most that "
         "so few can be "
         "compared with. Make more: ten times as many as observed rows are better.",
         c->synthetic.file, made, c->observed.n, all);
}

static void measure_columns(comparison *c)
{
    size_t m = c->observed.m;
    double *space = (double *)memory(NULL, 6 * m, sizeof *space);
    c->observed_mean = space;
    c->observed_sd = space + m;
    c->synthetic_mean = space + 2 * m;
    c->synthetic_sd = space + 3 * m;
    c->shift = space + 4 * m;
    c->distance = space + 5 * m;
    for (size_t i = 0; i < m; i++) {
        column_moments(&c->observed, i, &c->observed_mean[i], &c->observed_sd[i]);
        column_moments(&c->synthetic, i, &c->synthetic_mean[i], &c->synthetic_sd[i]);
    }
}

/* Difference of the means, in standard deviations of both files together; of their halves, for 1e308 twice is too
   large. */
static double file_shift(const comparison *c, size_t i)
{
    double n = (double)c->observed.n, k = (double)c->synthetic.n,
           gap = c->observed_mean[i] / 2 - c->synthetic_mean[i] / 2,
           within = hypot(c->observed_sd[i] / 2 * sqrt((n - 1) / (n + k)),
                          c->synthetic_sd[i] / 2 * sqrt((k - 1) / (n + k))),
           sd = hypot(within, gap * (sqrt(n * k) / (n + k)));
    return sd > 0 ? gap / sd : 0;
}

/* The library has at most some thousand rows of two files together: here all of them are at hand. */
static void measure_changes(comparison *c)
{
    const npksd_diagnosis *d = &c->diagnosis;
    for (size_t i = 0; i < c->observed.m; i++)
        if (c->settings->program.command) { /* a constant column that differs: endlessly many */
            c->shift[i] = fmin(fmax((double)d->coordinate_shift[i], -1e9), 1e9);
            c->distance[i] = (double)d->coordinate_distance[i];
        } else {
            c->shift[i] = file_shift(c, i);
            c->distance[i] = column_distance(&c->observed, &c->synthetic, i);
        }
}

/* ======== the test ======== */

/* The library names its options with underscores, the tool with dashes. */
void check_options(const char *problem)
{
    if (!problem)
        return;
    size_t length = strcspn(problem, ":, ");
    char *option = copy_text(problem, length);
    for (char *at = option; *at; at++)
        *at = *at == '_' ? '-' : *at;
    fail("--%s%s", option, problem + length);
}

/* Pairs of two values of one category: they exclude each other, which is no news. */
static int is_own_pair(const encoding *e, size_t first, size_t second)
{
    return e->owner[first] == e->owner[second];
}

static size_t own_pairs(const encoding *e)
{
    enum { MOST = 1000 };
    size_t count = 0;
    for (size_t i = 0; i < e->m; i++)
        for (size_t k = i + 1; k < e->m && is_own_pair(e, i, k); k++)
            count++;
    return count < MOST ? count : MOST;
}

static void leave_out_own_pairs(comparison *c)
{
    npksd_diagnosis *d = &c->diagnosis;
    size_t kept = 0;
    for (size_t k = 0; k < d->pair_count && kept < PAIRS; k++)
        if (!is_own_pair(c->encoding, d->pairs[k].first, d->pairs[k].second))
            d->pairs[kept++] = d->pairs[k];
    d->pair_count = kept;
}

static void make_room(comparison *c)
{
    size_t m = c->observed.m, n = c->observed.n;
    npksd_diagnosis *d = &c->diagnosis;
    npksd_real *space =
        (npksd_real *)memory(NULL, 4 * m + n + c->settings->options.replicates, sizeof *space);
    memset(d, 0, sizeof *d);
    d->coordinate_p = space;
    d->coordinate_p_adjusted = space + m;
    d->coordinate_shift = space + 2 * m;
    d->coordinate_distance = space + 3 * m;
    d->row_influence = space + 4 * m;
    d->pair_capacity = PAIRS + own_pairs(c->encoding);
    d->pairs = (npksd_pair *)memory(NULL, d->pair_capacity, sizeof *d->pairs);
    c->null_values = space + 4 * m + n;
}

void check_status(npksd_status status)
{
    if (status != NPKSD_OK)
        fail("%s", npksd_status_string(status));
}

/* Columns that differ come first, then those marked with them; adjusted p, then the distance. */
static void order_columns_and_rows(comparison *c)
{
    size_t m = c->observed.m, n = c->observed.n;
    double *keys = (double *)memory(NULL, m > n ? m : n, sizeof *keys);
    measure_changes(c);
    find_related(c);
    leave_out_own_pairs(c);
    for (size_t i = 0; i < m; i++)
        keys[i] = 1e-6 * c->distance[i] - (double)c->diagnosis.coordinate_p_adjusted[i]
            + 4 * column_differs(c, i) + 2 * c->related[i];
    c->column_order = sort_down(keys, m);
    for (size_t r = 0; r < n; r++)
        keys[r] = (double)c->diagnosis.row_influence[r];
    c->row_order = sort_down(keys, n);
    free(keys);
}

static npksd_real *tested_rows(const comparison *c, const data *d, size_t n)
{
    size_t m = c->tested_count;
    npksd_real *rows = (npksd_real *)memory(NULL, n * m, sizeof *rows);
    for (size_t r = 0; r < n; r++)
        for (size_t k = 0; k < m; k++)
            rows[r * m + k] = d->rows[r * d->m + c->tested[k]];
    return rows;
}

/* From the columns that were tested to all; from the last one on, for they move up. */
static void spread_diagnosis(comparison *c)
{
    npksd_diagnosis *d = &c->diagnosis;
    for (size_t i = c->observed.m, k = c->tested_count; i-- > 0;) {
        int tested = k > 0 && c->tested[k - 1] == i;
        k -= (size_t)tested;
        d->coordinate_p[i] = tested ? d->coordinate_p[k] : 1;
        d->coordinate_p_adjusted[i] = tested ? d->coordinate_p_adjusted[k] : 1;
    }
    for (size_t k = 0; k < d->pair_count; k++) {
        d->pairs[k].first = c->tested[d->pairs[k].first];
        d->pairs[k].second = c->tested[d->pairs[k].second];
    }
}

/* Data sets drawn from a file of copies repeat rows, a recording does not: MIRROR sees that first,
   and rejects a plain bootstrap. */
static npksd_status test_samples(comparison *c, size_t n, size_t rows)
{
    npksd_options options = c->settings->options;
    npksd_real *here = tested_rows(c, &c->observed, n),
               *there = tested_rows(c, &c->synthetic, rows);
    if (c->copies.suspicious)
        options.components &= ~(unsigned)NPKSD_COMPONENT_MIRROR;
    npksd_status status = npksd_test_samples_diagnose(
        here, n, there, rows, c->tested_count, &options, &c->result, &c->diagnosis, c->null_values);
    free(here);
    free(there);
    return status;
}

/* The test of an eighth of the rows tells how long all of them will take. */
static void forecast(comparison *c)
{
    size_t block = c->settings->options.block, part = c->observed.n / 8 / block * block;
    double start = now_seconds();
    if (progress_on() && c->observed.n > 300 && part >= 16
        && test_samples(c, part, c->synthetic.n / 8 / block * block) == NPKSD_OK)
        progress_forecast(64 * (now_seconds() - start));
}

void compare_files(comparison *c)
{
    const npksd_options *o = &c->settings->options;
    double start = now_seconds();
    c->source = c->synthetic.file;
    if (o->block == 1)
        check_dependence(c);
    compare_missing(c);
    limit_observed(c);
    whole_blocks(c, &c->observed);
    whole_blocks(c, &c->synthetic);
    measure_columns(c);
    choose_columns(c);
    check_copies(c);
    check_options(npksd_samples_problem(o, c->observed.n, c->synthetic.n, c->tested_count));
    make_room(c);
    forecast(c);
    check_status(test_samples(c, c->observed.n, c->synthetic.n));
    spread_diagnosis(c);
    c->seconds = now_seconds() - start;
    order_columns_and_rows(c);
}

void compare_generator(comparison *c, const program_source *source)
{
    npksd_options options = c->settings->options;
    double start = now_seconds();
    c->source = "the generator";
    check_options(npksd_options_problem(&options, c->observed.n, c->observed.m));
    make_room(c);
    c->synthetic.m = c->observed.m;
    c->synthetic.names = c->observed.names;
    c->synthetic.file = c->source;
    npksd_status status = test_generator(c, &options, source);
    measure_columns(c);
    choose_columns(c);
    check_copies(c);
    check_status(status);
    if (program_said(source->program))
        note(&c->notes, "The generator wrote to its standard error: %.*s",
             CUT(200, program_said(source->program)));
    c->seconds = now_seconds() - start;
    order_columns_and_rows(c);
}
