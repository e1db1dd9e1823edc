/* npksd, the command line tool: what its files share.
 *
 *     text.c      memory, messages, notes, UTF-8          programs.c   generators that are programs
 *     tables.c    CSV and .npy files as cells             generator.c  ... as what npksd.h draws from
 *     columns.c   cells as numbers: types, categories,    compare.c    one recording against one source
 *                 dates, missing values                   ranking.c    several candidates
 *     rows.c      rows of numbers: means, copies, order   verdict.c    sentences and text; json.c
 *     files.c     files that are written                  report.c     the page; charts.c its pictures
 *     watch.c     recording after recording; state.c      main.c       options, and who calls whom
 *     progress.c  the bar
 */
#ifndef TOOL_H
#define TOOL_H

#define _XOPEN_SOURCE 700
#include "npksd_shared.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The compiler checks the arguments of functions that format like printf, if it can. */
#if defined(__GNUC__)
#define TOOL_FORMAT(text, first) __attribute__((format(printf, text, first)))
#define TOOL_NORETURN            __attribute__((noreturn))
#else
#define TOOL_FORMAT(text, first)
#define TOOL_NORETURN
#endif

#define PLURAL(count) ((count) == 1 ? "" : "s")

/* ======== text.c ======== */

extern int fail_as_json;                          /* errors are JSON on stdout, too */
extern void (*fail_instead)(const char *message); /* NULL; a test that must not exit jumps away */
extern char fail_about[64];                       /* how messages begin: "seed 7: ", or nothing */

/* Says "npksd: ..." on stderr and exits with 2. */
void fail(const char *format, ...) TOOL_FORMAT(1, 2) TOOL_NORETURN;

void *memory(void *old, size_t count, size_t size);
char *copy_text(const char *text, size_t length);
uint64_t hash_bytes(const void *block, size_t bytes);

/* Text of a stranger for a terminal: valid UTF-8 (other bytes are taken as Latin-1), no control
   characters. */
char *clean_text(const char *text, size_t length);
size_t utf8_bytes(const char *text); /* of the first character; 0: not UTF-8 */
const char *utf8_skip(const char *text, size_t count);
/* For "%.*s": text, but no more than so many bytes of it, and whole characters. */
int whole_bytes(const char *text, size_t most);
#define CUT(most, text) whole_bytes(text, most), text

/* At most `most` characters of text, cleaned, the middle left out, filled up with blanks to `least`. */
const char *cut_text(const char *text, size_t most, size_t least, char *to, size_t room);

void append(char **to, const char *format, ...) TOOL_FORMAT(2, 3);
void print_wrapped(FILE *out, const char *first, const char *text);
void print_json_string(FILE *out, const char *text);

typedef struct notes {
    char **items;
    size_t count;
} notes;

/* Cleaned, as the messages of fail are: cells and names of columns may stand in it. */
void note(notes *list, const char *format, ...) TOOL_FORMAT(2, 3);
void leave_out_repeated(notes *list);

/* Names and where they stand: found in the same time however many there are. */
typedef struct name_index {
    char *const *names;
    size_t *slots, room;
    int repeated; /* a name stands there twice */
} name_index;

enum { NOT_FOUND = -1 };
size_t index_names(name_index *index, char *const *names,
                   size_t count); /* first repeated, or count */
long long find_name(const name_index *index, const char *name);
void free_index(name_index *index);

/* ======== tables.c ======== */

/* A list like "speed,3,5-7": names first, then numbers of columns of the first file, counted from
   1, then ranges of them. */
typedef struct column_list {
    const char *option; /* how the user calls it, for messages */
    const char *text;   /* as it was written */
    char **items;
    int *found;      /* did any file have it? */
    char **near;     /* if not: the name that is most like it */
    size_t *numbers; /* 0, or that of an item which is a name now, but was given as a number */
    size_t count;
    int named; /* its numbers have become names */
} column_list;

typedef struct table_format {
    int header;           /* -1 find out, 0 the first line is data, 1 it is names */
    size_t expected_rows; /* 0: any number; a program was asked for so many */
    column_list use, leave_out, categories;
    const struct table *lender; /* the first table, or NULL: one without names gets those of it */
} table_format;

/* A file as it is. */
typedef struct table {
    char *file; /* for messages */
    const struct table *lender;
    size_t n, columns, bytes; /* rows and columns of the file */
    char **names;             /* columns; (3) where there is no name */
    int named, unnamed_first, comments;
    int numbered;        /* line 1 was 0,1,2,... */
    int lent;            /* it has no names, but got those of the lender */
    size_t empty;        /* columns without name and values: left out */
    char *text, **cells; /* CSV: names, if any, and n x columns, inside text; row r begins at ... */
    size_t first_cell;   /* ... first_cell + r x columns */
    double *numbers;     /* .npy: n x columns */
    size_t *lines;       /* n; the line, or the number of the row in a .npy file */
    const char *place;   /* what lines counts: "line" or "row" */
    char separator;
    size_t *picked, m; /* the columns of the file that are used, counted from 0 */
    char *forced;      /* columns; 1: --categories names it */
    uint64_t checksum; /* so that a report says which data it is about */
} table;

char *list_names(char *const *names, size_t count); /* "a", "b", ...: the first of them */
char **picked_names(const table *t);                /* of the columns in use */
/* What a list may call a column by its number: 3, or 3-3 if one has the name 3. */
const char *number_word(const table *t, size_t column, char room[48]);
void list_read(column_list *list, const char *option, const char *text);
void list_check(const column_list *list);
char *read_all(FILE *stream, const char *file, size_t *bytes);
void table_parse(table *t, const char *file, char *text, size_t bytes, table_format *format);
void table_read(table *t, const char *file, table_format *format);
/* What was done with lines and columns: all of it, or one kind (0, 1, ...; NULL: nothing). */
enum { TABLE_NOTES = 6 };
void note_table(const table *t, notes *list);
char *table_note(const table *t, int kind);
void table_free(table *t);

/* Do two files without names begin with the same line, its cells all different, as names are? */
int same_first_line(const table *first, const table *other);

/* The columns of `other` in the order of `first`, by name if both have names. Fails if they do not
   match; returns whether the order was another one. */
int table_match(const table *first, table *other);

/* ======== columns.c ======== */

typedef enum column_type {
    COLUMN_NUMBER,
    COLUMN_FLAG,
    COLUMN_DATE,
    COLUMN_TIME,
    COLUMN_CATEGORY
} column_type;

typedef struct column_info {
    char *name;
    column_type type;
    char **values;             /* of a category, sorted */
    int of_numbers;            /* the values are numbers, each in one way of writing */
    size_t value_count, first; /* its first column among the numbers */
    name_index index;
} column_info;

/* How cells become numbers. */
typedef struct encoding {
    column_info *columns;
    size_t count, m; /* m: columns of numbers, one for each value of a category */
    char **names;    /* m */
    size_t *owner;   /* m; which of the columns it is made of */
    int other;       /* a generator decides: categories have a column (other) */
} encoding;

/* Rows of numbers. */
typedef struct data {
    const char *file, *place;
    size_t n, m, file_rows; /* file_rows: in the file, before any was left out */
    char **names;           /* of the encoding */
    npksd_real *rows;       /* n x m */
    size_t *lines;          /* n */
    uint64_t checksum;
} data;

enum { CATEGORY_VALUES = 20, CATEGORY_VALUES_FORCED = 1000 };

/* Which of the picked columns do not just count the rows? chosen: the user chose, all are kept. */
size_t *find_kept(table **tables, size_t count, int chosen, notes *list, size_t *kept_count);
void table_keep(table *t, const size_t *kept, size_t count);
void encoding_make(encoding *e, table **tables, size_t count, int other, notes *list);
void encoding_name(encoding *e);                   /* what follows from the columns */
void note_columns(const encoding *e, notes *list); /* which are categories, dates, ... */
/* refuse: missing values end the program; otherwise their rows are left out with a note. */
void encode(const encoding *e, const table *t, int refuse, data *to, notes *list);

/* ======== rows.c ======== */

typedef struct copies {
    size_t rows;     /* synthetic rows that are observed rows, number for number */
    size_t repeated; /* observed rows that stand in the observed file more than once */
    int suspicious;  /* more than rows repeat by nature */
    int same_file;
} copies;

void data_free(data *d);
void column_moments(const data *d, size_t column, double *mean, double *sd);
int is_constant(const data *d, size_t column);
int is_share(const data *d, size_t column); /* nothing but 0 and 1? */
size_t *sort_down(const double *keys, size_t count);

/* A column of numbers here and there. What is not known is NaN. */
typedef struct column_change {
    column_type type;
    double shift, distance; /* of the means, in standard deviations; of the distributions */
    double mean, sd, other_mean, other_sd;
    double value, share,
        other_share; /* the value whose share of the rows changed most; or 0, 0, 0 */
    int is_share;    /* nothing but 0 and 1: the mean is the share of the 1 */
} column_change;

/* The largest difference of the distribution functions, 0 to 1. */
double column_distance(const data *here, const data *there, size_t column);
void find_frequent(const data *here, const data *there, size_t column, column_change *c);
/* Has the column itself changed? rows: n, or n k / (n + k) for two files. */
int has_changed(const column_change *c, double rows);
data take_rows(const data *d, size_t most, size_t block, uint64_t seed);
copies count_copies(const data *observed, const data *synthetic);

/* ======== files.c ======== */

/* Writes a temporary file and renames it. 0: it could not be written, and that was said. */
int write_beside(const char *option, const char *file, void (*write)(FILE *out, const void *what),
                 const void *what);

/* ======== programs.c ======== */

/* A program that prints rows: started for each data set, or once with a protocol. */
typedef struct program program;

typedef struct program_settings {
    const char *command;
    int server; /* started once: reads lines "rows seed", answers with CSV and an empty line */
    size_t jobs;
    double timeout; /* seconds for a data set; 0: none */
    size_t rows, columns;
} program_settings;

const char *rows_words(const program_settings *p); /* how it learns how many rows to print ... */
const char *seed_words(const program_settings *p); /* ... and for which seed */
program *program_open(const program_settings *settings);
/* What it prints for a seed. next: seeds that will be wanted soon, as many as there are jobs. */
char *program_draw(program *p, uint64_t seed, const uint64_t *next, size_t *bytes);
const char *program_said(const program *p); /* the first line it wrote to stderr, or NULL */
void program_close(program *p);

/* ======== progress.c ======== */

double now_seconds(void);
void progress_start(void);
int progress_on(void);
void progress_show(double share);
void progress_forecast(double seconds);
void progress_stop(void);

/* ======== main.c, compare.c, generator.c ======== */

enum { PAIRS = 5, WORST_ROWS = 5, TAKE_ROWS = 1000, AUTO_FEATURES = 512 };

typedef struct settings {
    const char *observed_file, *report;
    char **files; /* candidates */
    size_t file_count;
    program_settings program; /* command NULL: files */
    int json, quiet, refuse_missing;
    int watch;
    const char *state, *load, *save, *synthetic; /* of --watch */
    size_t rows;   /* of a data set; 0: those of the first recording */
    size_t memory; /* recordings that one tester serves */
    size_t take;   /* at most so many observed rows; 0 = all */
    npksd_options options;
    table_format format;
    char *command; /* this very call, quoted for a shell */
    notes given;   /* names of the options with values that this call has */
} settings;

int is_given(const settings *s, const char *option);
/* What an option is set to, as text; NULL: nothing. */
char *option_value(const settings *s, const char *option);
void set_option(settings *s, const char *option, const char *value);

/* A recording against one source, and what came out. */
typedef struct comparison {
    const settings *settings;
    const notes *common; /* about the files, before any test */
    notes notes;
    data observed, synthetic;     /* synthetic: of a generator, the rows drawn first */
    size_t *tested, tested_count; /* columns: with files, those that vary */
    const encoding *encoding;
    const char *source; /* for people */
    size_t program_calls;
    copies copies;
    char *warning; /* of copies: what makes the verdict void, or NULL */

    npksd_result result;
    npksd_diagnosis diagnosis;
    npksd_real *null_values;                                             /* result.replicates */
    double *observed_mean, *observed_sd, *synthetic_mean, *synthetic_sd; /* m */
    double *shift, *distance;         /* m; observed against synthetic */
    size_t *column_order, *row_order; /* worst first */
    char *related; /* m; 1: marked, but hardly changed by itself, while another one has */
    char *headline, *verdict, *where, *kind, *caveat;
    double seconds;
} comparison;

/* Random numbers, and which stream they are of: it tells data sets apart. */
typedef struct stream_rng {
    npksd_rng_state state;
    npksd_rng inner;
    uint64_t stream;
} stream_rng;

npksd_rng follow_streams(stream_rng *s, uint64_t seed);

/* A program, and how what it prints becomes rows of numbers. */
typedef struct program_source {
    program *program;
    uint64_t seed;      /* what the seeds of its data sets are made of */
    table_format drawn; /* what is known of what it prints */
    const table *names; /* whose columns the program's are matched with ... */
    const size_t *kept; /* ... and which of them are used */
    size_t kept_count;
    int reordered; /* it has printed them in another order, under their names */
    const encoding *encoding;
} program_source;

/* files.c: --report, --state and --save can be written, and are neither an input nor each other.
   recordings: those found in folders. */
void check_outputs(const settings *s, char *const *recordings, size_t count);
int watch(settings *s); /* watch.c; returns the exit status */
/* Ends with what npksd_options_set or npksd_options_problem says, if anything. */
void check_options(const char *problem);
void check_status(npksd_status status);
void compare_files(comparison *c);
void compare_generator(comparison *c, const program_source *source);
/* npksd_test_diagnose with a program as the generator. */
npksd_status test_generator(comparison *c, npksd_options *options, const program_source *source);
/* Starts the program and finds out what its columns are; observed: whose names they are matched with. */
void program_prepare(program_source *source, settings *s, table *observed, size_t rows, encoding *e,
                     notes *list);

/* ======== verdict.c, json.c ======== */

void write_verdict(comparison *c);
int rows_explain(const comparison *c);
int column_differs(const comparison *c, size_t column);
/* Finds the columns that are marked but hardly changed by themselves, while others have. */
void find_related(comparison *c);
column_change change_of(const comparison *c, size_t column);
void describe_change(char **to, const char *name, const column_change *change);
double without_sign(double value); /* 0 for what would be printed as -0.00 */
/* A mean or a cell: dates and times as such. */
const char *value_text(column_type type, double value, char room[48]);
column_type type_of(const encoding *e, size_t column);
int pair_differs(const comparison *c, size_t pair);
extern const char *const summary_words[], *const estimator_words[];

typedef struct ranking ranking;
void print_text(const comparison *candidates, size_t count, const ranking *r);
void print_json(const comparison *candidates, size_t count, const ranking *r);

/* ======== ranking.c ======== */

enum { RANKED_ROWS = 1000, RANKED_RESAMPLES = 400 };

typedef struct ranked {
    double distance, low, high; /* energy distance, and its 95 % bootstrap interval */
    double best;                /* share of resamples in which it is the nearest */
} ranked;

struct ranking {
    ranked *items;                          /* one for each candidate */
    size_t *order;                          /* nearest first */
    size_t count, observed_rows, most_rows; /* rows used: observed, and at most of a candidate */
    char *words;                            /* what it is and what it is not */
};

void rank_candidates(ranking *r, const data *observed, const comparison *candidates, size_t count,
                     uint64_t seed);

/* ======== report.c, charts.c ======== */

int report_write(const comparison *candidates, size_t count, const ranking *r);

void page_text(FILE *out, const char *text);
void page_name(FILE *out, const char *name, size_t most);
void chart_null(FILE *out, const comparison *c);
void chart_columns(FILE *out, const comparison *c);
void chart_histogram(FILE *out, const comparison *c, size_t column);
void chart_pair(FILE *out, const comparison *c);
void page_head(FILE *out, const char *title);
/* but: one that stands elsewhere, or NULL */
void page_notes(FILE *out, const notes *list, const char *but);
/* Two lines over the recordings, in powers of ten, and the level of the alarm. */
void chart_evidence(FILE *out, const double *evidence, const double *change, size_t count,
                    double alarm);
void chart_ranking(FILE *out, const comparison *candidates, const ranking *r);

#endif
