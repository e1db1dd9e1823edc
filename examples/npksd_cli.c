/* npksd: could the rows of one file have come from what made another file, or from a program?
 *
 *     cc -O2 -I.. npksd_cli.c -o npksd -lm
 *     npksd OBSERVED SYNTHETIC [options]          two files, CSV or .npy
 *     npksd OBSERVED --generator CMD [options]    CMD prints {rows} rows for a {seed}
 *
 * Exit: 0 not rejected, 1 rejected, 2 something is wrong with the input. npksd --help says more.
 * This file has options and runs; cli_table.h reads tables, cli_verdict.h prints text and JSON,
 * cli_report.h writes the page of --report, cli_progress.h is the bar. */
#define _XOPEN_SOURCE 700 /* popen, setenv, isatty, setitimer */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _WIN32
#define popen                          _popen
#define pclose                         _pclose
#define setenv(name, value, overwrite) _putenv_s(name, value)
#else
#include <sys/wait.h>
#endif
#include "cli_table.h"
#include "cli_progress.h"

enum {
    WORST_ROWS = 5,
    PAIRS = 5,
    TEXT_COLUMNS = 20,
    KEPT_ROWS = 2000,
    NOTES = 16,
    SENTENCE = 1200,
    TAKE_ROWS = 1000,
    AUTO_FEATURES = 512
};

/* What was asked for, what was read, and what came out. */
typedef struct cli_run {
    const char *observed_file, *synthetic_file, *generator, *report;
    int json, features_given, fit_rows_given;
    size_t take; /* at most so many observed rows; 0 = all */
    npksd_options options;
    cli_format format;
    char *command; /* this very call, quoted for a shell */

    cli_table observed, synthetic;       /* synthetic: of a generator, the rows drawn first */
    size_t observed_rows;                /* in the file; observed.n of them are used */
    size_t generator_calls, equal_calls; /* all, and the last ones that printed the same rows */
    char notes[NOTES][SENTENCE];
    size_t note_count;

    npksd_real *last_rows; /* what the generator printed last */

    npksd_result result;
    npksd_diagnosis diagnosis;
    npksd_pair pairs[PAIRS];
    npksd_real *null_values;                                             /* result.replicates */
    double *observed_mean, *observed_sd, *synthetic_mean, *synthetic_sd; /* m */
    size_t *column_order, *row_order;                                    /* worst first */
    char headline[SENTENCE], meaning[SENTENCE], where[SENTENCE], kind[SENTENCE], caveat[SENTENCE];
    double seconds;
} cli_run;

static int cli_json; /* errors are JSON as well */

/* ======== text ======== */

/* Bytes of the UTF-8 character at text; 0 if it is none. */
static size_t cli_character(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t bytes = c[0] < 0x80        ? 1
        : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
        : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
        : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
                                      : 0;
    for (size_t k = 1; k < bytes; k++)
        if ((c[k] & 0xc0) != 0x80)
            return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f)
        || (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0; /* overlong, half of a pair, too large */
    return bytes;
}

/* Where character number `count` begins. */
static const char *cli_skip(const char *text, size_t count)
{
    for (; *text && count > 0; count--) {
        size_t bytes = cli_character(text);
        text += bytes ? bytes : 1;
    }
    return text;
}

/* At most `most` characters of text, the middle left out, filled up with blanks to `least`. */
static const char *cli_cut(const char *text, size_t most, size_t least, char *to, size_t room)
{
    size_t count = 0;
    for (const char *c = text; *c; c = cli_skip(c, 1))
        count++;
    const char *head = cli_skip(text, most / 2),
               *tail = cli_skip(text, count - (most - most / 2 - 1));
    size_t bytes = (size_t)(head - text);
    if (count <= most || bytes + strlen(tail) + 2 > room)
        snprintf(to, room, "%s%*s", text, (int)(count < least ? least - count : 0), "");
    else
        snprintf(to, room, "%.*s~%s", (int)bytes, text, tail);
    return to;
}

static void cli_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t bytes = cli_character(text);
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32 || c == 127 || bytes == 0) /* not UTF-8: Latin-1, most likely */
            fprintf(out, "\\u%04x", c);
        else
            fprintf(out, "%.*s", (int)bytes, text);
        text += bytes ? bytes : 1;
    }
    fputc('"', out);
}

/* A paragraph of at most 78 columns. */
static void cli_wrap(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > 0 && column + 1 + length > 78) {
            fputc('\n', out);
            column = 0;
        }
        column += (size_t)fprintf(out, "%s%.*s", column ? " " : "", (int)length, text);
        text += length + strspn(text + length, " ");
    }
    fputc('\n', out);
}

static void cli_fail(const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cli_plain(text);
    cli_progress_stop();
    fprintf(stderr, "npksd: %s\n", text);
    if (cli_json) {
        fputs("{ \"error\": ", stdout);
        cli_json_string(stdout, text);
        fputs(" }\n", stdout);
    }
    exit(2);
}

static void cli_note(cli_run *run, const char *format, ...) CLI_FORMAT(2, 3);
static void cli_note(cli_run *run, const char *format, ...)
{
    va_list arguments;
    if (run->note_count == NOTES)
        return;
    va_start(arguments, format);
    vsnprintf(run->notes[run->note_count++], SENTENCE, format, arguments);
    va_end(arguments);
}

/* ======== options ======== */

static void print_help(const char *program)
{
    fputs("npksd OBSERVED SYNTHETIC [options]        two files, CSV or .npy; - is stdin\n"
          "npksd OBSERVED --generator CMD [options]  CMD prints {rows} rows for a {seed}\n"
          "Could the observed rows have come from what made the synthetic rows?\n"
          "  --report FILE      write a page with pictures      --json    print JSON\n"
          "  --columns LIST     test these only: names, numbers, or ranges 2-5\n"
          "  --leave-out LIST   test all but these\n"
          "  --header, --no-header  line 1 is names or data (default: as it looks)\n"
          "  --alpha 0.05       reject when p is at most this\n"
          "  --replicates 499   more: a finer p, slower         --seed 0  any number\n"
          "  --block 1          files: rows that belong together, as one session does\n"
          "  --take 1000        files: at most so many observed rows, at random; 0: all\n"
          "  --summary mean     scores look at: none all mean mean-var neighbours\n"
          "  --estimator auto   their shape: auto gauss poly spline rbf\n"
          "  --smooth 0         noise for all rows, in deviations; it can cost power\n"
          "  --fit-rows 4000    generator: rows to learn the scores from\n"
          "  --features 0       linear time for many rows; try 512\n"
          "Exit status: 0 not rejected, 1 rejected, 2 error.\n"
          "Example, as it is:\n",
          stdout);
    printf("  awk 'BEGIN { while (i++ < 80) print rand() \",\" rand() }' > seen.csv\n"
           "  %s seen.csv --generator \"awk 'BEGIN { srand({seed});\n"
           "    while (i++ < {rows}) print rand() \\\",\\\" rand()^2 }'\" --report seen.html\n",
           program);
}

static double read_number(const char *option, const char *text, double least, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= least && value <= most))
        cli_fail("%s %s: a number from %g to %g should follow", option, text, least, most);
    return value;
}

static size_t read_count(const char *option, const char *text, double least)
{
    double value = read_number(option, text, least, 1e9);
    if (value != floor(value))
        cli_fail("%s %s: a whole number should follow", option, text);
    return (size_t)value;
}

static uint64_t read_seed(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno)
        cli_fail("--seed %s: a whole number from 0 to 2^64-1 should follow", text);
    return (uint64_t)value;
}

/* The place of text in a list of words that ends with NULL. */
static int read_word(const char *option, const char *text, const char *const *words)
{
    char all[200] = "";
    for (int k = 0; words[k]; k++) {
        if (strcmp(text, words[k]) == 0)
            return k;
        snprintf(all + strlen(all), sizeof all - strlen(all), " %s", words[k]);
    }
    cli_fail("%s %s: one of these should follow:%s", option, text, all);
    return 0;
}

static const char *const summary_words[] = {
    "mean", "none", "all", "mean-var", "neighbours", NULL
};
static const char *const estimator_words[] = { "auto", "gauss", "poly", "spline", "rbf", NULL };

/* An option with a value; 0 = there is no such option. */
static int read_option(cli_run *run, const char *name, const char *value)
{
    npksd_options *o = &run->options;
    if (strcmp(name, "--generator") == 0)
        run->generator = value;
    else if (strcmp(name, "--report") == 0)
        run->report = value;
    else if (strcmp(name, "--columns") == 0)
        cli_list_read(&run->format.use, "--columns", value);
    else if (strcmp(name, "--leave-out") == 0)
        cli_list_read(&run->format.leave_out, "--leave-out", value);
    else if (strcmp(name, "--alpha") == 0)
        o->alpha = (npksd_real)read_number(name, value, 1e-9, 0.999);
    else if (strcmp(name, "--replicates") == 0)
        o->replicates = read_count(name, value, 1);
    else if (strcmp(name, "--seed") == 0)
        o->seed = read_seed(value);
    else if (strcmp(name, "--block") == 0)
        o->block = read_count(name, value, 1);
    else if (strcmp(name, "--take") == 0)
        run->take = read_count(name, value, 0);
    else if (strcmp(name, "--summary") == 0)
        o->summary = read_word(name, value, summary_words);
    else if (strcmp(name, "--estimator") == 0)
        o->estimator = read_word(name, value, estimator_words);
    else if (strcmp(name, "--smooth") == 0)
        o->smooth = (npksd_real)read_number(name, value, 0, 1000);
    else if (strcmp(name, "--fit-rows") == 0) {
        o->fit_rows = read_count(name, value, 2);
        run->fit_rows_given = 1;
    } else if (strcmp(name, "--features") == 0) {
        o->features = read_count(name, value, 0);
        run->features_given = 1;
    } else
        return 0;
    return 1;
}

/* --name value or --name=value; flags and files. */
static void read_arguments(cli_run *run, int argc, char **argv)
{
    int take_given = 0;
    for (int k = 1; k < argc; k++) {
        char name[40];
        size_t length = strcspn(argv[k], "=");
        snprintf(name, sizeof name, "%.*s", (int)(length < 39 ? length : 39), argv[k]);
        take_given |= strcmp(name, "--take") == 0;
        if (strcmp(argv[k], "--json") == 0)
            run->json = 1;
        else if (strcmp(argv[k], "--header") == 0)
            run->format.header = 1;
        else if (strcmp(argv[k], "--no-header") == 0)
            run->format.header = 0;
        else if (argv[k][0] != '-' || argv[k][1] == '\0') {
            const char **file = run->observed_file ? &run->synthetic_file : &run->observed_file;
            if (*file)
                cli_fail("%s: a third file? Two are compared: OBSERVED SYNTHETIC", argv[k]);
            *file = argv[k];
        } else {
            int joined = argv[k][length] == '=';
            if (!joined && k + 1 == argc)
                cli_fail("%s: a value should follow, or there is no such option (npksd --help)",
                         name);
            if (!read_option(run, name, joined ? argv[k] + length + 1 : argv[++k]))
                cli_fail("%s: there is no such option; npksd --help lists them", name);
        }
    }
    if (!run->observed_file || (!run->synthetic_file && !run->generator))
        cli_fail("%s: name the file of observed rows, then a file of synthetic rows or "
                 "--generator CMD. npksd --help has an example",
                 run->observed_file ? "nothing to compare with" : "no file");
    if (run->synthetic_file && run->generator)
        cli_fail("%s and --generator: one of them, not both", run->synthetic_file);
    if (run->generator && run->options.block != 1)
        cli_fail("--block: for files only; with --generator the whole of %s is one data set, whose "
                 "rows may depend on each other",
                 run->observed_file);
    if (run->generator && take_given)
        cli_fail("--take: for files only; with --generator the whole of %s is one data set",
                 run->observed_file);
    if (run->synthetic_file && run->fit_rows_given)
        cli_fail("--fit-rows: with --generator only; with two files all rows are used");
}

/* How to repeat this run: the words of the command line, quoted where a shell would want it. */
static char *quote_command(int argc, char **argv)
{
    size_t bytes = 1, at = 0;
    for (int k = 0; k < argc; k++)
        bytes += 4 * strlen(argv[k]) + 3;
    char *text = (char *)cli_memory(NULL, bytes, 1);
    for (int k = 0; k < argc; k++) {
        int plain = argv[k][0]
            && strspn(argv[k],
                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                      "0123456789_-./=,:+@%")
                == strlen(argv[k]);
        at += (size_t)sprintf(text + at, "%s%s", k ? " " : "", plain ? "" : "'");
        for (const char *c = argv[k]; *c; c++)
            at += (size_t)sprintf(text + at, *c == '\'' ? "'\\''" : "%c", *c);
        at += (size_t)sprintf(text + at, "%s", plain ? "" : "'");
    }
    return text;
}

/* ======== what the rows look like before any test ======== */

/* In units of the largest number, so that squares of 1e300 are no trouble. */
static void moments(const cli_table *t, size_t column, double *mean, double *sd)
{
    double sum = 0, squares = 0, unit = 0, n = (double)t->n;
    for (size_t r = 0; r < t->n; r++)
        unit = fmax(unit, fabs((double)t->rows[r * t->m + column]));
    unit = unit > 0 ? unit : 1;
    double first = (double)t->rows[column] / unit;
    for (size_t r = 0; r < t->n; r++)
        sum += (double)t->rows[r * t->m + column] / unit - first;
    for (size_t r = 0; r < t->n; r++) {
        double d = (double)t->rows[r * t->m + column] / unit - first - sum / n;
        squares += d * d;
    }
    *mean = unit * (first + sum / n);
    *sd = t->n > 1 ? unit * sqrt(squares / (n - 1)) : 0;
}

static int is_constant(const cli_table *t, size_t column)
{
    for (size_t r = 1; r < t->n; r++)
        if (t->rows[r * t->m + column] != t->rows[column])
            return 0;
    return 1;
}

/* 1, 2, 3, ...: says where a row stands in the file, not what it is. */
static int counts_rows(const cli_table *t, size_t column)
{
    for (size_t r = 1; r < t->n; r++)
        if (t->rows[r * t->m + column] != t->rows[column] + (npksd_real)r)
            return 0;
    return t->n >= 10;
}

static void add_name(char *list, size_t room, const char *name)
{
    size_t used = strlen(list);
    char cut[256];
    snprintf(list + used, room - used, "%s%s", used ? ", " : "",
             cli_cut(name, 40, 0, cut, sizeof cut));
}

/* Constant columns are fine for the test as long as something else varies; say which they are. */
static void check_columns(cli_run *run)
{
    const cli_table *a = &run->observed, *b = &run->synthetic;
    char both[600] = "", only[600] = "";
    size_t constant = 0;
    for (size_t i = 0; i < a->m; i++) {
        if (counts_rows(a, i) && counts_rows(b, i))
            cli_fail(
                "%s, column %s: it counts the rows (%g, %g, %g, ...), which tells them apart by "
                "their place. Leave it out: --leave-out %s",
                a->file, a->names[i], (double)a->rows[i], (double)a->rows[a->m + i],
                (double)a->rows[2 * a->m + i], a->names[i]);
        if (!is_constant(b, i))
            continue;
        int same = is_constant(a, i) && a->rows[i] == b->rows[i];
        constant += (size_t)is_constant(a, i);
        add_name(same ? both : only, sizeof both, a->names[i]);
    }
    if (constant == a->m)
        cli_fail("%s and %s: every column is constant (%s%s%s); there is nothing to test", a->file,
                 b->file, both, *both && *only ? ", " : "", only);
    if (*both)
        cli_note(run, "Constant, with the same value on both sides, and so of no weight: %s.",
                 both);
    if (*only)
        cli_note(run,
                 "Constant in the synthetic rows but not the same in the observed ones: %s. Such "
                 "a column alone may decide the test.",
                 only);
}

/* Rows in the order of time resemble their neighbours; then drawing single rows would be wrong. */
static void check_dependence(cli_run *run)
{
    const cli_table *t = &run->observed;
    double largest = 0;
    size_t worst = 0;
    for (size_t i = 0; i < t->m && t->n >= 20; i++) {
        double sum = 0, mean, sd;
        moments(t, i, &mean, &sd);
        for (size_t r = 1; r < t->n && sd > 0; r++)
            sum += ((double)t->rows[(r - 1) * t->m + i] - mean) / sd
                * (((double)t->rows[r * t->m + i] - mean) / sd);
        double correlation = sum / (double)(t->n - 1);
        if (correlation > largest) {
            largest = correlation;
            worst = i;
        }
    }
    char name[256];
    if (largest > 0.2 && largest > 5 / sqrt((double)t->n))
        cli_note(run,
                 "Neighbouring observed rows resemble each other (column %s, "
                 "correlation %.2f). If rows follow each other in time, the p-value is too small: "
                 "use --block with the rows of one session. If the file is only sorted, all is "
                 "well.",
                 cli_cut(t->names[worst], 40, 0, name, sizeof name), largest);
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A sorted list of what the rows hash to; equal rows have equal numbers. */
static uint64_t *hash_rows(const cli_table *t)
{
    uint64_t *hashes = (uint64_t *)cli_memory(NULL, t->n, sizeof *hashes);
    for (size_t r = 0; r < t->n; r++)
        hashes[r] = cli_hash(t->rows + r * t->m, t->m * sizeof *t->rows);
    qsort(hashes, t->n, sizeof *hashes, compare_hashes);
    return hashes;
}

/* A generator that learnt rows by heart looks perfect. Rows of whole numbers repeat anyway. */
static void check_copies(cli_run *run)
{
    const cli_table *a = &run->observed, *b = &run->synthetic;
    uint64_t *seen = hash_rows(a), *made = hash_rows(b);
    size_t copies = 0, repeats = 0;
    for (size_t r = 0; r < a->n; r++)
        copies += bsearch(&seen[r], made, b->n, sizeof *made, compare_hashes) != NULL;
    for (size_t r = 1; r < b->n; r++)
        repeats += made[r] == made[r - 1];
    if (20 * copies > a->n && (double)repeats / (double)b->n < 0.5 * (double)copies / (double)a->n)
        cli_note(run,
                 "%zu of the %zu observed rows stand in %s as well, number for number. If its "
                 "source has learnt them by heart, or the files overlap, p means nothing: test "
                 "with rows that it has never seen.",
                 copies, a->n, b->file);
    free(seen);
    free(made);
}

/* At most run->take observed rows, in whole blocks, picked at random and kept in order. */
static void take_rows(cli_run *run)
{
    cli_table *t = &run->observed;
    size_t block = run->options.block, blocks = t->n / block, wanted = run->take / block, kept = 0;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, run->options.seed, UINT64_C(0x74616b65));
    if (run->take == 0 || t->n <= run->take || wanted == 0)
        return;
    for (size_t k = 0; k < blocks && wanted > 0; k++) {
        if ((npksd_real)(blocks - k) * npksd_uniform(&rng) >= (npksd_real)wanted)
            continue; /* each choice of so many blocks is equally likely */
        memmove(t->rows + kept * t->m, t->rows + k * block * t->m, block * t->m * sizeof *t->rows);
        memmove(t->lines + kept, t->lines + k * block, block * sizeof *t->lines);
        kept += block;
        wanted--;
    }
    cli_note(run,
             "%zu of the %zu observed rows were taken at random; --take 0 uses all, in a time "
             "that grows with their square (with --features 512 it does not).",
             kept, t->n);
    t->n = kept;
}

static void measure_columns(cli_run *run)
{
    size_t m = run->observed.m;
    double *space = (double *)cli_memory(NULL, 4 * m, sizeof *space);
    run->observed_mean = space;
    run->observed_sd = space + m;
    run->synthetic_mean = space + 2 * m;
    run->synthetic_sd = space + 3 * m;
    for (size_t i = 0; i < m; i++) {
        moments(&run->observed, i, &run->observed_mean[i], &run->observed_sd[i]);
        moments(&run->synthetic, i, &run->synthetic_mean[i], &run->synthetic_sd[i]);
    }
}

/* ======== the two tests ======== */

static void check_options(const char *problem)
{
    char option[32];
    if (!problem)
        return;
    size_t length = strcspn(problem, ":, ");
    snprintf(option, sizeof option, "%.*s", (int)(length < 31 ? length : 31), problem);
    for (char *c = option; *c; c++)
        *c = *c == '_' ? '-' : *c;
    cli_fail("--%s%s", option, problem + length);
}

static void make_room(cli_run *run)
{
    size_t m = run->observed.m, n = run->observed.n;
    npksd_diagnosis *d = &run->diagnosis;
    npksd_real *space =
        (npksd_real *)cli_memory(NULL, 4 * m + n + run->options.replicates, sizeof *space);
    memset(d, 0, sizeof *d);
    d->coordinate_p = space;
    d->coordinate_p_adjusted = space + m;
    d->coordinate_shift = space + 2 * m;
    d->coordinate_distance = space + 3 * m;
    d->row_influence = space + 4 * m;
    d->pairs = run->pairs;
    d->pair_capacity = PAIRS;
    run->null_values = space + 4 * m + n;
}

static npksd_status test_samples(cli_run *run, size_t n, size_t rows)
{
    const cli_table *a = &run->observed, *b = &run->synthetic;
    return npksd_test_samples_diagnose(a->rows, n, b->rows, rows, a->m, &run->options, &run->result,
                                       &run->diagnosis, run->null_values);
}

/* A last, shorter block is left out. */
static void whole_blocks(cli_run *run, cli_table *t)
{
    size_t block = run->options.block, rest = t->n % block;
    if (t->n < block)
        cli_fail("--block %zu: %s has only %zu rows", block, t->file, t->n);
    if (rest > 0)
        cli_note(run, "The last %zu row%s of %s are not a whole block and were left out.", rest,
                 rest == 1 ? "" : "s", t->file);
    t->n -= rest;
}

static void too_few_rows(const cli_run *run, size_t need)
{
    size_t block = run->options.block, have = run->synthetic.n, take = 2 * have / block * block;
    char advice[80] = "";
    if (have >= npksd_samples_minimum(1) && take >= block)
        snprintf(advice, sizeof advice, ", or use fewer observed rows: --take %zu", take);
    cli_fail("%s: too few rows: %zu. Against %zu observed rows at least %zu are needed, and ten "
             "times as many as observed rows are better. Make more%s",
             run->synthetic.file, have, run->observed.n, need, advice);
}

static void run_files(cli_run *run)
{
    cli_table *a = &run->observed, *b = &run->synthetic;
    size_t block = run->options.block;
    cli_table_read(b, run->synthetic_file, &run->format);
    cli_list_check(&run->format.leave_out);
    if (cli_align(a, b))
        cli_note(run, "The columns of %s stand in another order; they were matched by name.",
                 b->file);
    if (block == 1)
        check_dependence(run);
    take_rows(run);
    whole_blocks(run, a);
    whole_blocks(run, b);
    size_t n = a->n, need = npksd_samples_minimum(n);
    if (b->n < need)
        too_few_rows(run, need);
    measure_columns(run);
    check_columns(run);
    check_copies(run);
    check_options(npksd_samples_problem(&run->options, n, b->n, a->m));
    make_room(run);
    size_t part = n / 8 / block * block;
    if (cli_bar.on && n > 300 && part >= 16) { /* how long will it take? */
        double start = cli_seconds();
        if (test_samples(run, part, b->n / 8 / block * block) == NPKSD_OK)
            cli_progress_forecast(64 * (cli_seconds() - start));
    }
    npksd_status status = test_samples(run, n, b->n);
    if (status != NPKSD_OK)
        cli_fail("%s", npksd_status_string(status));
}

/* CMD with {seed} and {rows} filled in. */
static char *fill_command(const char *command, const char *seed, const char *rows)
{
    size_t bytes = strlen(command) + 1;
    for (const char *c = command; (c = strchr(c, '{')) != NULL; c++)
        bytes += 24;
    char *filled = (char *)cli_memory(NULL, bytes, 1), *to = filled;
    while (*command) {
        const char *word = strncmp(command, "{seed}", 6) == 0 ? seed
            : strncmp(command, "{rows}", 6) == 0              ? rows
                                                              : NULL;
        if (word)
            to += sprintf(to, "%s", word);
        else
            *to++ = *command;
        command += word ? 6 : 1;
    }
    *to = '\0';
    return filled;
}

static void check_exit(const char *command, int status)
{
#ifdef _WIN32
    if (status != 0)
        cli_fail("the generator failed with exit status %d: %s", status, command);
#else
    if (status == -1)
        cli_fail("the generator was lost: %s", command);
    if (WIFSIGNALED(status))
        cli_fail("the generator was ended by signal %d: %s", WTERMSIG(status), command);
    if (WEXITSTATUS(status) != 0)
        cli_fail("the generator failed with exit status %d%s: %s", WEXITSTATUS(status),
                 WEXITSTATUS(status) == 127 ? " (no such program)" : "", command);
#endif
}

/* One data set: runs the command and reads what it prints. */
static void run_command(cli_run *run, const char *seed, const char *rows, cli_table *t)
{
    char *command = fill_command(run->generator, seed, rows);
    size_t bytes;
    fflush(stdout);
    setenv("NPKSD_SEED", seed, 1);
    setenv("NPKSD_ROWS", rows, 1);
    FILE *stream = popen(command, "r");
    if (!stream)
        cli_fail("the generator cannot be started: %s: %s", command, strerror(errno));
    char *text = cli_read_stream(stream, "the generator", &bytes);
    check_exit(command, pclose(stream));
    if (bytes == 0)
        cli_fail("the generator printed nothing: %s", command);
    cli_table_parse(t, "the generator's output", text, bytes, &run->format);
    if (t->n != run->observed.n)
        cli_fail("the generator printed %zu rows, but was asked for %s ({rows} in CMD, or the "
                 "environment variable NPKSD_ROWS): %s",
                 t->n, rows, command);
    cli_align(&run->observed, t);
    free(command);
}

/* The same rows for one seed after the other. A generator of rare events may well print one row
   many times over, so data sets whose rows are all alike do not count. */
static void check_repetition(cli_run *run, const npksd_real *before, const cli_table *t)
{
    enum { SUSPICIOUS = 16 };
    size_t bytes = t->m * sizeof *t->rows, r = 1;
    while (r < t->n && memcmp(t->rows, t->rows + r * t->m, bytes) == 0)
        r++;
    int equal = before && r < t->n && memcmp(before, t->rows, t->n * bytes) == 0;
    run->equal_calls = equal ? run->equal_calls + 1 : 0;
    if (run->equal_calls == SUSPICIOUS)
        cli_fail("the generator prints the same rows for every seed. It must use {seed} in CMD, or "
                 "the environment variable NPKSD_SEED: %s",
                 run->generator);
}

/* The first rows are kept for pictures and means. */
static void keep_rows(cli_run *run, const cli_table *t)
{
    cli_table *kept = &run->synthetic;
    if (kept->n >= KEPT_ROWS)
        return;
    for (size_t r = 0; r < t->n; r++)
        memcpy(cli_new_row(kept, r + 1), t->rows + r * t->m, t->m * sizeof *t->rows);
}

/* How many data sets the test will draw: for fit, pilot and replicates (npksd.h, options). */
static size_t expected_calls(const cli_run *run)
{
    const npksd_options *o = &run->options;
    size_t n = run->observed.n, fit = (o->fit_rows + o->fit_rows / 4 + n - 1) / n;
    return (fit > 10 ? fit : 10) + o->pilot + o->replicates;
}

/* npksd_sample_fn. Whatever goes wrong ends the program with a better message than a status. */
static int draw_from_command(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                             void *user_data)
{
    cli_run *run = (cli_run *)user_data;
    cli_table t;
    char seed[24], number[24];
    /* 31 bits: any program can take such a seed */
    snprintf(seed, sizeof seed, "%lu", (unsigned long)(rng->next_fn(rng->user_data) >> 33));
    snprintf(number, sizeof number, "%zu", count);
    run_command(run, seed, number, &t);
    check_repetition(run, run->generator_calls ? run->last_rows : NULL, &t);
    run->last_rows = (npksd_real *)cli_memory(run->last_rows, count * m, sizeof *rows);
    memcpy(run->last_rows, t.rows, count * m * sizeof *rows);
    memcpy(rows, t.rows, count * m * sizeof *rows);
    cli_progress_show(fmin((double)run->generator_calls / (double)expected_calls(run), 1));
    if (run->generator_calls++ == 0) {
        cli_table again;
        run_command(run, seed, number, &again);
        if (memcmp(rows, again.rows, count * m * sizeof *rows) != 0)
            cli_note(run,
                     "The generator prints other rows when it is given the same seed: the answer "
                     "is valid, but cannot be repeated. Let it use {seed}.");
        cli_table_free(&again);
    }
    keep_rows(run, &t);
    cli_table_free(&t);
    return 0;
}

static void run_generator(cli_run *run)
{
    cli_table *a = &run->observed;
    if (a->n > TAKE_ROWS && !run->features_given) {
        run->options.features = AUTO_FEATURES;
        cli_note(run,
                 "Many rows: linear time with %d random features. --features 0 is exact, in a time "
                 "that grows with the square of the rows.",
                 AUTO_FEATURES);
    }
    check_options(npksd_options_problem(&run->options, a->n, a->m));
    make_room(run);
    run->synthetic.m = a->m;
    run->synthetic.file = "the generator";
    npksd_status status =
        npksd_test_diagnose(a->rows, a->n, a->m, draw_from_command, run, &run->options,
                            &run->result, &run->diagnosis, run->null_values);
    cli_list_check(&run->format.leave_out);
    measure_columns(run);
    check_columns(run);
    if (status != NPKSD_OK)
        cli_fail("%s", npksd_status_string(status));
}

/* ======== the parts that know cli_run ======== */

#include "cli_verdict.h"
#include "cli_report.h"

int main(int argc, char **argv)
{
    static cli_run run;
    for (int k = 1; k < argc; k++) {
        cli_json |= strcmp(argv[k], "--json") == 0;
        if (strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0) {
            print_help(argv[0]);
            return 0;
        }
        if (strcmp(argv[k], "--version") == 0) {
            printf("npksd %d.%d.%d\n", NPKSD_VERSION_MAJOR, NPKSD_VERSION_MINOR,
                   NPKSD_VERSION_PATCH);
            return 0;
        }
    }
    run.options = npksd_default_options();
    run.take = TAKE_ROWS;
    run.format.header = -1;
    run.command = quote_command(argc, argv);
    read_arguments(&run, argc, argv);

    double start = cli_seconds();
    cli_progress_start();
    cli_table_read(&run.observed, run.observed_file, &run.format);
    run.observed_rows = run.observed.n;
    if (run.observed.n < 2)
        cli_fail("%s: too few rows: 1. At least 2 are needed, and 50 or more are sensible",
                 run.observed.file);
    if (run.generator)
        run_generator(&run);
    else
        run_files(&run);
    cli_progress_stop();
    run.seconds = cli_seconds() - start;

    rank_columns_and_rows(&run);
    note_flags(&run);
    write_verdict(&run);
    if (run.report)
        cli_write_report(&run);
    if (run.json)
        print_json(&run);
    else
        print_text(&run);
    if (fflush(stdout) != 0)
        cli_fail("the verdict cannot be written: %s", strerror(errno));
    return run.result.reject ? 1 : 0;
}
