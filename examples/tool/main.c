/* npksd: could the rows of one file have come from what made another file, or from a program?
 *
 *     npksd OBSERVED SYNTHETIC... [options]       files, CSV or .npy
 *     npksd OBSERVED --generator CMD [options]    CMD prints {rows} rows for a {seed}
 *     npksd OBSERVED --server CMD [options]       CMD is started once and answers many times
 *
 * Exit: 0 not rejected, 1 rejected, 2 something is wrong with the input. npksd --help says more. */
#include "watch.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_JOBS = 64,
    WATCH_REPLICATES = 1999
}; /* more than recordings, or one tester shapes the answer */

/* ======== help ======== */

static void print_help(const char *name)
{
    fputs("npksd OBSERVED SYNTHETIC...      files, CSV or .npy; - is stdin\n"
          "npksd OBSERVED --generator CMD   CMD prints {rows} rows for a {seed}\n"
          "npksd OBSERVED --server CMD      CMD reads lines \"rows seed\", answers with CSV\n"
          "Could the observed rows have come from what made the synthetic rows?\n"
          "  --report FILE       a page with pictures     --json, --quiet  JSON, or p alone\n"
          "  --columns LIST      test these: names, numbers, ranges 2-5\n"
          "  --leave-out LIST    test all but these       --categories LIST  not numbers\n"
          "  --missing drop      rows with gaps, or refuse; --header, --no-header: line 1\n"
          "  --alpha 0.05        reject if p <= this      --seed 0  any whole number\n"
          "  --replicates 499, --pilot 200, --fit-rows 4000   more: finer, slower\n"
          "  --block 1, --take 1000  files: rows of a session; observed rows at most\n"
          "  --summary mean      scores look at: none all mean mean-var neighbours\n"
          "  --estimator auto    their shape: auto gauss poly spline rbf\n"
          "  --smooth 0          noise for all rows       --features 0  512: linear time\n"
          "  --jobs 1            programs at a time       --timeout 60  s for a data set\n"
          "  --watch FOLDER      many recordings, one false-alarm rate: with --generator,\n"
          "   --server, --synthetic FILE, --load BLOB; --state FILE, --rows N, --save BLOB\n"
          "   --memory 10000     recordings of a tester; a new one follows, evidence stays\n"
          "Exit status: 0 not rejected, 1 rejected (several: all) or alarm, 2 error.\n"
          "Example, as it is:\n",
          stdout);
    printf("  awk 'BEGIN { while (i++ < 80) print rand() \",\" rand() }' > seen.csv\n"
           "  %s seen.csv --generator \"awk 'BEGIN { srand({seed});\n"
           "    while (i++ < {rows}) print rand() \\\",\\\" rand()^2 }'\" --report seen.html\n",
           name);
}

/* ======== options ======== */

static double read_number(const char *option, const char *text, double least, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= least && value <= most))
        fail("%s %s: a number from %g to %g should follow", option, text, least, most);
    return value;
}

static size_t read_count(const char *option, const char *text, double least, double most)
{
    double value = read_number(option, text, least, most);
    if (value != floor(value))
        fail("%s %s: a whole number should follow", option, text);
    return (size_t)value;
}

/* The place of text in a list of words that ends with NULL. */
static int read_word(const char *option, const char *text, const char *const *words)
{
    char *all = NULL;
    for (int k = 0; words[k]; k++) {
        if (strcmp(text, words[k]) == 0)
            return k;
        append(&all, " %s", words[k]);
    }
    fail("%s %s: one of these should follow:%s", option, text, all);
}

const char *const summary_words[] = { "mean", "none", "all", "mean-var", "neighbours", NULL };
const char *const estimator_words[] = { "auto", "gauss", "poly", "spline", "rbf", NULL };
static const char *const missing_words[] = { "drop", "refuse", NULL };

/* What only files or only programs can use; said when the other is there. */
typedef struct given_options {
    const char *for_files, *for_programs, *for_watching;
} given_options;

/* Fields of npksd_options, with the library's own sentences about them. */
static int read_test_option(settings *s, const char *name, const char *value, given_options *given)
{
    static const char *const fields[][2] = {
        { "--alpha", "alpha" },           { "--block", "block" },
        { "--estimator", "estimator" },   { "--features", "features" },
        { "--fit-rows", "fit_rows" },     { "--pilot", "pilot" },
        { "--replicates", "replicates" }, { "--seed", "seed" },
        { "--smooth", "smooth" },         { "--summary", "summary" }
    };
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (strcmp(name, fields[k][0]) == 0) {
            check_options(npksd_options_set(&s->options, fields[k][1], value));
            if (s->options.block > 1)
                given->for_files = "--block";
            if (strcmp(name, "--fit-rows") == 0)
                given->for_programs = "--fit-rows";
            return 1;
        }
    return 0;
}

/* Options of --watch. */
static int read_watch_option(settings *s, const char *name, const char *value, given_options *given)
{
    given->for_watching = name;
    if (strcmp(name, "--state") == 0)
        s->state = value;
    else if (strcmp(name, "--load") == 0)
        s->load = value;
    else if (strcmp(name, "--save") == 0)
        s->save = value;
    else if (strcmp(name, "--synthetic") == 0)
        s->synthetic = value;
    else if (strcmp(name, "--rows") == 0)
        s->rows = read_count(name, value, 2, 1e9);
    else if (strcmp(name, "--memory") == 0)
        s->memory = read_count(name, value, 1, MOST_RECORDINGS);
    else
        return 0;
    return 1;
}

static void read_program(settings *s, const char *name, const char *value)
{
    if (s->program.command)
        fail("%s: there is a program already: %s", name, s->program.command);
    s->program.command = value;
    s->program.server = strcmp(name, "--server") == 0;
}

/* Given again, a list goes on. */
static void read_list(column_list *list, const char *option, const char *value)
{
    char *text = NULL;
    append(&text, "%s%s%s", list->text ? list->text : "", list->text ? "," : "", value);
    list_read(list, option, value);
    list->text = text;
}

int is_given(const settings *s, const char *option)
{
    for (size_t k = 0; k < s->given.count; k++)
        if (strcmp(s->given.items[k], option) == 0)
            return 1;
    return 0;
}

/* Texts as they are, numbers as counts or with a fraction. */
char *option_value(const settings *s, const char *option)
{
    const npksd_options *o = &s->options;
    const program_settings *p = &s->program;
    const struct {
        const char *option, *text;
    } texts[] = { { "--generator", p->server ? NULL : p->command },
                  { "--server", p->server ? p->command : NULL },
                  { "--synthetic", s->synthetic },
                  { "--load", s->load },
                  { "--columns", s->format.use.text },
                  { "--leave-out", s->format.leave_out.text },
                  { "--categories", s->format.categories.text },
                  { "--summary", summary_words[o->summary] },
                  { "--estimator", estimator_words[o->estimator] } };
    const struct {
        const char *option;
        double value;
    } numbers[] = { { "--rows", (double)s->rows },
                    { "--memory", (double)s->memory },
                    { "--alpha", (double)o->alpha },
                    { "--replicates", (double)o->replicates },
                    { "--pilot", (double)o->pilot },
                    { "--fit-rows", (double)o->fit_rows },
                    { "--features", (double)o->features } };
    char *text = NULL;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (strcmp(option, texts[k].option) == 0 && texts[k].text)
            append(&text, "%s", texts[k].text);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (strcmp(option, numbers[k].option) == 0)
            append(&text, "%.10g", numbers[k].value);
    if (strcmp(option, "--seed") == 0)
        append(&text, "%llu", (unsigned long long)o->seed);
    return text;
}

/* An option with a value; 0 = there is no such option. */
static int read_option(settings *s, const char *name, const char *value, given_options *given)
{
    if (strcmp(name, "--generator") == 0 || strcmp(name, "--server") == 0)
        read_program(s, name, value);
    else if (strcmp(name, "--jobs") == 0) {
        s->program.jobs = read_count(name, value, 1, MOST_JOBS);
        given->for_programs = "--jobs";
    } else if (strcmp(name, "--timeout") == 0) {
        s->program.timeout = read_number(name, value, 0, 1e9);
        given->for_programs = "--timeout";
    } else if (strcmp(name, "--take") == 0) {
        s->take = read_count(name, value, 0, 1e9);
        if (s->take == 1)
            fail("--take 1: at least 2 rows are needed, and 50 or more are sensible; 0 takes all");
        given->for_files = "--take";
    } else if (strcmp(name, "--report") == 0)
        s->report = value;
    else if (strcmp(name, "--columns") == 0)
        read_list(&s->format.use, "--columns", value);
    else if (strcmp(name, "--leave-out") == 0)
        read_list(&s->format.leave_out, "--leave-out", value);
    else if (strcmp(name, "--categories") == 0)
        read_list(&s->format.categories, "--categories", value);
    else if (strcmp(name, "--missing") == 0)
        s->refuse_missing = read_word(name, value, missing_words);
    else {
        const char *before = given->for_watching;
        if (read_watch_option(s, copy_text(name, strlen(name)), value, given))
            return 1;
        given->for_watching = before;
        return read_test_option(s, name, value, given);
    }
    return 1;
}

void set_option(settings *s, const char *option, const char *value)
{
    given_options given = { NULL, NULL, NULL };
    read_option(s, option, value, &given);
}

static int read_flag(settings *s, const char *name)
{
    int header = s->format.header;
    if (strcmp(name, "--json") == 0)
        s->json = 1;
    else if (strcmp(name, "--quiet") == 0)
        s->quiet = 1;
    else if (strcmp(name, "--watch") == 0)
        s->watch = 1;
    else if (strcmp(name, "--header") == 0)
        s->format.header = 1;
    else if (strcmp(name, "--no-header") == 0)
        s->format.header = 0;
    else
        return 0;
    if (header >= 0 && header != s->format.header)
        fail("--header and --no-header: one of them, not both");
    return 1;
}

static void add_file(settings *s, char *file)
{
    if (!s->observed_file) {
        s->observed_file = file;
        return;
    }
    s->files = (char **)memory(s->files, s->file_count + 1, sizeof *s->files);
    s->files[s->file_count++] = file;
}

/* Standard input can be read once. */
static void check_standard_input(const settings *s)
{
    size_t times = s->observed_file && strcmp(s->observed_file, "-") == 0;
    for (size_t k = 0; k < s->file_count; k++)
        times += strcmp(s->files[k], "-") == 0;
    if (s->watch && times)
        fail("--watch -: recordings are told apart by the names of their files; save it to a file");
    if (times > 1)
        fail("- and -: standard input can be read only once; save one of them to a file");
}

/* One source at most: the state may have it already. */
static void check_watch(const settings *s, const given_options *given)
{
    int sources = (s->program.command != NULL) + (s->load != NULL) + (s->synthetic != NULL);
    if (!s->observed_file)
        fail("--watch: a folder of recordings, or files one after the other, should follow");
    if (sources > 1)
        fail("--watch: one of --generator, --server, --synthetic and --load, not several");
    if (given->for_files)
        fail("%s: not with --watch", given->for_files);
    if (s->options.smooth > 0)
        fail("--smooth: not with --watch; the noise of a recording would be shared by all");
}

static void check_settings(const settings *s, const given_options *given)
{
    const char *command = s->program.command;
    check_standard_input(s);
    if (s->options.summary == NPKSD_SUMMARY_CALLBACK
        || s->options.estimator == NPKSD_ESTIMATOR_CALLBACK)
        fail("--summary, --estimator: callback is for programs in C, which have a function to call");
    if (s->json && s->quiet)
        fail("--json and --quiet: one of them, not both");
    if (is_given(s, "--missing") && !s->refuse_missing
        && (s->watch || command || s->options.block > 1))
        fail("--missing drop: not with %s, where a row that is left out would change the data set; "
             "remove the rows beforehand, or leave out the column with gaps with --leave-out",
             s->watch      ? "--watch"
                 : command ? "a generator"
                           : "--block");
    if (s->watch) {
        check_watch(s, given);
        return;
    }
    if (given->for_watching)
        fail("%s: with --watch only", given->for_watching);
    if (!s->observed_file || (s->file_count == 0 && !command))
        fail("%s: name the file of observed rows, then a file of synthetic rows or --generator "
             "CMD. npksd --help "
             "has an example",
             s->observed_file ? "nothing to compare with" : "no file");
    if (s->file_count && command)
        fail("%s and %s: one of them, not both", s->files[0],
             s->program.server ? "--server" : "--generator");
    if (command && given->for_files)
        fail("%s: for files only; with a generator the whole of %s is one data set, whose rows may "
             "depend on each "
             "other",
             given->for_files, s->observed_file);
    if (!command && given->for_programs)
        fail("%s: with --generator or --server only", given->for_programs);
    double alpha = (double)s->options.alpha;
    if (alpha > 0 && 1 / ((double)s->options.replicates + 1) > alpha)
        fail("--alpha %g needs --replicates %.10g or more: no p is less than 1/(replicates + 1)",
             alpha, ceil(1 / alpha) - 1);
}

/* --name value or --name=value; flags and files. */
static void read_arguments(settings *s, int argc, char **argv)
{
    given_options given = { NULL, NULL, NULL };
    for (int k = 1; k < argc; k++) {
        size_t length = strcspn(argv[k], "=");
        char *name = copy_text(argv[k], length);
        if (argv[k][0] != '-' || argv[k][1] == '\0') {
            add_file(s, argv[k]);
        } else if (!read_flag(s, argv[k])) {
            int joined = argv[k][length] == '=';
            const char *value = joined ? argv[k] + length + 1 : k + 1 < argc ? argv[++k] : NULL;
            if (!read_option(s, name, value ? value : "", &given))
                fail("%s: %s; npksd --help lists the options", name,
                     read_flag(s, name) ? "no value should follow" : "there is no such option");
            if (!value || !*value)
                fail("%s: a value should follow", name);
            note(&s->given, "%s", name);
        }
        free(name);
    }
    check_settings(s, &given);
}

/* How to repeat this run: the words of the command line, quoted where a shell would want it. */
static char *quote_command(int argc, char **argv)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
    char *text = NULL;
    for (int k = 0; k < argc; k++) {
        int bare = argv[k][0] && strspn(argv[k], plain) == strlen(argv[k]);
        append(&text, "%s%s", k ? " " : "", bare ? "" : "'");
        for (const char *c = argv[k]; *c; c++)
            append(&text, *c == '\'' ? "'\\''" : "%c", *c);
        append(&text, "%s", bare ? "" : "'");
    }
    char *clean = clean_text(text, strlen(text));
    free(text);
    return clean;
}

/* ======== who calls whom ======== */

/* A run: its files, its answers. */
typedef struct session {
    settings settings;
    notes notes;
    table *tables; /* the recording first */
    encoding encoding;
    data observed;
    comparison *candidates;
    size_t count;
    ranking ranking;
} session;

static void read_table(session *run, table *t, const char *file)
{
    table_read(t, file, &run->settings.format);
    note_table(t, &run->notes);
}

static void check_observed(const data *d)
{
    if (d->n < 2)
        fail("%s: too few rows%s: %zu. At least 2 are needed, and 50 or more are sensible", d->file,
             d->n < d->file_rows ? " without a missing value" : "", d->n);
}

static void start_comparison(session *run, comparison *c)
{
    memset(c, 0, sizeof *c);
    c->settings = &run->settings;
    c->common = &run->notes;
    c->encoding = &run->encoding;
    c->observed = run->observed;
}

static void read_files(session *run)
{
    settings *s = &run->settings;
    size_t kept_count;
    run->count = s->file_count;
    run->tables = (table *)memory(NULL, run->count + 1, sizeof *run->tables);
    table **all = (table **)memory(NULL, run->count + 1, sizeof *all);
    for (size_t k = 0; k <= run->count; k++) {
        all[k] = &run->tables[k];
        s->format.lender = k ? all[0] : NULL;
        read_table(run, all[k], k ? s->files[k - 1] : s->observed_file);
        if (k && table_match(all[0], all[k]))
            note(&run->notes,
                 "The columns of %s stand in another order; they were matched by name.",
                 all[k]->file);
        else if (k && same_first_line(all[0], all[k]) && s->format.header < 0)
            note(&run->notes,
                 "Line 1 of %s and of %s is the same and was read as data; if it holds the names of "
                 "the columns, say --header.",
                 all[0]->file, all[k]->file);
        else if (k && all[0]->named != all[k]->named)
            note(&run->notes, "%s has no names of columns: they were matched by position.",
                 all[all[0]->named ? k : 0]->file);
    }
    list_check(&s->format.leave_out);
    list_check(&s->format.categories);
    size_t *kept =
        find_kept(all, run->count + 1, s->format.use.count > 0, &run->notes, &kept_count);
    for (size_t k = 0; k <= run->count; k++)
        table_keep(all[k], kept, kept_count);
    encoding_make(&run->encoding, all, run->count + 1, 0, &run->notes);
    free(kept);
    free(all);
}

/* With blocks a row that is left out would tear its session apart. */
static void test_files(session *run)
{
    settings *s = &run->settings;
    int refuse = s->refuse_missing || s->options.block > 1;
    read_files(run);
    encode(&run->encoding, &run->tables[0], refuse, &run->observed, &run->notes);
    check_observed(&run->observed);
    run->candidates = (comparison *)memory(NULL, run->count, sizeof *run->candidates);
    for (size_t k = 0; k < run->count; k++) {
        comparison *c = &run->candidates[k];
        start_comparison(run, c);
        encode(&run->encoding, &run->tables[k + 1], refuse, &c->synthetic, &run->notes);
    }
    leave_out_repeated(&run->notes);
    for (size_t k = 0; k < run->count; k++)
        compare_files(&run->candidates[k]);
    if (run->count > 1)
        rank_candidates(&run->ranking, &run->observed, run->candidates, run->count,
                        s->options.seed);
}

/* Many rows and a program: the time must not grow with their square. */
static void choose_features(session *run, size_t n)
{
    settings *s = &run->settings;
    if (n <= TAKE_ROWS || is_given(s, "--features"))
        return;
    s->options.features = AUTO_FEATURES;
    note(&run->notes,
         "Many rows: linear time with %d random features. --features 0 is exact, in a time that "
         "grows with the "
         "square of the rows.",
         AUTO_FEATURES);
}

static void test_program(session *run)
{
    settings *s = &run->settings;
    program_source source;
    run->count = 1;
    run->tables = (table *)memory(NULL, 1, sizeof *run->tables);
    run->candidates = (comparison *)memory(NULL, 1, sizeof *run->candidates);
    read_table(run, &run->tables[0], s->observed_file);
    choose_features(run, run->tables[0].n);
    program_prepare(&source, s, &run->tables[0], run->tables[0].n, &run->encoding, &run->notes);
    encode(&run->encoding, &run->tables[0], 1, &run->observed, &run->notes);
    check_observed(&run->observed);
    start_comparison(run, &run->candidates[0]);
    compare_generator(&run->candidates[0], &source);
    program_close(source.program);
}

static void answer_at_once(int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        fail_as_json |= strcmp(argv[k], "--json") == 0;
        if (strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0) {
            print_help(argv[0]);
            exit(0);
        }
        if (strcmp(argv[k], "--version") == 0) {
            printf("npksd %d.%d.%d\n", NPKSD_VERSION_MAJOR, NPKSD_VERSION_MINOR,
                   NPKSD_VERSION_PATCH);
            exit(0);
        }
    }
}

/* The verdict comes first: a page that cannot be written must not take it away. */
static int print_answers(session *run)
{
    const settings *s = &run->settings;
    int rejected = 1;
    for (size_t k = 0; k < run->count; k++) {
        write_verdict(&run->candidates[k]);
        rejected &= run->candidates[k].result.reject;
    }
    (s->json ? print_json : print_text)(run->candidates, run->count, &run->ranking);
    if (fflush(stdout) != 0)
        fail("the verdict cannot be written: %s", strerror(errno));
    if (s->report && !report_write(run->candidates, run->count, &run->ranking))
        return 2;
    if (s->report && !s->json && !s->quiet)
        printf("\nreport: %s\n", s->report);
    return rejected;
}

int main(int argc, char **argv)
{
    static session run;
    settings *s = &run.settings;
    answer_at_once(argc, argv);
    s->options = npksd_default_options();
    s->take = TAKE_ROWS;
    s->format.header = -1;
    s->program.jobs = 1;
    s->program.timeout = 60;
    s->memory = 10000;
    s->command = quote_command(argc, argv);
    read_arguments(s, argc, argv);
    if (s->watch) {
        if (!is_given(s, "--replicates") && !s->synthetic)
            s->options.replicates = WATCH_REPLICATES;
        if (!is_given(s, "--alpha"))
            s->options.alpha = (npksd_real)0.001;
        return watch(s);
    }
    check_outputs(s, NULL, 0);
    progress_start();
    if (s->program.command)
        test_program(&run);
    else
        test_files(&run);
    progress_stop();
    return print_answers(&run);
}
