/* A program as the generator of npksd.h: seeds, encoding, and what is wrong with its rows.
 *
 * Data set k of a stage is stream k of the random numbers, and its seed is the first word of that
 * stream. So the seeds of the next data sets are known before they are asked for: --jobs starts them
 * ahead, and the answer is the same. */
#include "watch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AHEAD = 64, SUSPICIOUS = 16, SEEN = 1024, KEPT_ROWS = 2000 };
#define PRELIMINARY_STREAM (UINT64_C(0xf1) << 56) /* of nobody else */

typedef struct generator {
    comparison *comparison;
    const program_source *source;
    stream_rng random;
    uint64_t seen[SEEN]; /* what the last data sets hash to */
    size_t calls, equal_calls;
    npksd_real *first_rows; /* and the columns that differed from them later */
    char *varies;
} generator;

/* ======== seeds ======== */

static uint64_t next_word(void *user_data)
{
    stream_rng *s = (stream_rng *)user_data;
    return s->inner.next_fn(s->inner.user_data);
}

static void seek_stream(uint64_t stream, void *user_data)
{
    stream_rng *s = (stream_rng *)user_data;
    s->stream = stream;
    s->inner.seek_fn(stream, s->inner.user_data);
}

npksd_rng follow_streams(stream_rng *s, uint64_t seed)
{
    npksd_rng rng = { next_word, seek_stream, s };
    s->inner = npksd_rng_seeded(&s->state, seed, 0);
    return rng;
}

/* 31 bits: any program can take such a seed. */
static uint64_t seed_of(uint64_t word) { return word >> 33; }

static uint64_t stream_seed(uint64_t seed, uint64_t stream)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, stream);
    return seed_of(rng.next_fn(rng.user_data));
}

/* ======== one data set ======== */

/* What the program prints for a stream, as a table whose columns are matched. Returns whether they stood in another
   order. */
static int draw_table(const program_source *source, const settings *s, uint64_t stream, table *t)
{
    table_format format = source->drawn; /* its lists are shared: they note what was found */
    uint64_t next[MOST_AHEAD];
    size_t bytes;
    for (size_t k = 0; k + 1 < s->program.jobs; k++)
        next[k] = stream_seed(source->seed, stream + 1 + k);
    uint64_t seed = stream_seed(source->seed, stream);
    fail_about[0] = '\0'; /* what goes wrong meanwhile may be about another seed */
    char *text = program_draw(source->program, seed, next, &bytes);
    snprintf(fail_about, sizeof fail_about, "seed %llu: ", (unsigned long long)seed);
    if (text[strspn(text, " \t\r\n")] == '\0')
        fail("the generator printed no rows%s: %s",
             s->program.server ? " before the empty line that ends an answer" : "",
             s->program.command);
    table_parse(t, "the generator's output", text, bytes, &format);
    if (t->n != s->program.rows)
        fail("the generator printed %zu row%s%s, but was asked for %zu (%s): %s", t->n,
             PLURAL(t->n), s->format.header == 1 ? " below a line of names (--header says so)" : "",
             s->program.rows, rows_words(&s->program), s->program.command);
    int reordered = table_match(source->names, t);
    if (source->reordered && !t->named)
        fail("the generator printed its columns in another order than %s, with their names, but "
             "the names are missing in a later data set. Let it print them every time, or use the "
             "order of %s: %s",
             source->names->file, source->names->file, s->program.command);
    if (source->kept)
        table_keep(t, source->kept, source->kept_count);
    return reordered;
}

/* Data sets with seeds of their own, before the test: what kinds of values does the program print? */
static table *preliminary_tables(program_source *source, const settings *s, size_t *count)
{
    enum { WANTED_ROWS = 500, MOST = 5 };
    size_t sets = (WANTED_ROWS + s->program.rows - 1) / s->program.rows;
    *count = sets < MOST ? sets : MOST;
    table *tables = (table *)memory(NULL, *count, sizeof *tables);
    for (size_t k = 0; k < *count; k++)
        source->reordered |= draw_table(source, s, PRELIMINARY_STREAM + k, &tables[k]);
    fail_about[0] = '\0'; /* what follows is about all of them */
    return tables;
}

/* What the columns are is decided by a preliminary draw, never by the recording. */
void program_prepare(program_source *source, settings *s, table *observed, size_t rows, encoding *e,
                     notes *list)
{
    size_t count;
    table *names = (table *)memory(NULL, 1, sizeof *names);
    memset(source, 0, sizeof *source);
    *names = *observed; /* all its columns: what the program prints is matched with them */
    names->picked = (size_t *)memory(NULL, observed->m, sizeof *names->picked);
    memcpy(names->picked, observed->picked, observed->m * sizeof *names->picked);
    source->seed = s->options.seed;
    s->program.rows = rows;
    s->program.columns = observed->columns;
    source->drawn = s->format;
    source->drawn.expected_rows = rows;
    source->drawn.lender = names;
    source->program = program_open(&s->program);
    source->names = names;
    table *drawn = preliminary_tables(source, s, &count),
          **all = (table **)memory(NULL, count, sizeof *all);
    for (size_t k = 0; k < count; k++)
        all[k] = &drawn[k];
    list_check(&s->format.leave_out);
    list_check(&s->format.categories);
    note_table(all[0], list);
    if (all[0]->named && !observed->named)
        note(list, "%s has no names of columns: they were matched by position.", observed->file);
    size_t *kept = find_kept(all, count, s->format.use.count > 0, list, &source->kept_count);
    for (size_t k = 0; k < count; k++)
        table_keep(all[k], kept, source->kept_count);
    table_keep(observed, kept, source->kept_count);
    source->kept = kept;
    encoding_make(e, all, count, 1, list);
    source->encoding = e;
    free(all);
}

/* How often the liveliest column changes from row to row. Columns that are the same in all data sets, such as an hour
   or a level, do not count, unless all are. */
static size_t count_changes(generator *g, const npksd_real *rows, size_t n, size_t m)
{
    size_t most[2] = { 0, 0 }; /* of those columns, of others */
    if (!g->first_rows) {
        g->first_rows = (npksd_real *)memory(NULL, n * m, sizeof *rows);
        memcpy(g->first_rows, rows, n * m * sizeof *rows);
        g->varies = (char *)memory(NULL, m, 1);
        memset(g->varies, 0, m);
    }
    int any = 0;
    for (size_t j = 0; j < m; j++) {
        size_t changes = 0;
        for (size_t i = j; i < n * m; i += m) {
            g->varies[j] |= memcmp(&rows[i], &g->first_rows[i], sizeof *rows) != 0;
            changes += i >= m && memcmp(&rows[i], &rows[i - m], sizeof *rows) != 0;
        }
        size_t *largest = &most[g->varies[j] != 0];
        *largest = changes > *largest ? changes : *largest;
        any |= g->varies[j];
    }
    return most[any];
}

/* The same rows for different seeds: of a clock, or of a small part of the seed. Data sets whose rows change often do
   not repeat by chance; others may (rare events), and count only if one follows the other. */
static void check_repetition(generator *g, const npksd_real *rows, size_t n, size_t m)
{
    const program_settings *p = &g->comparison->settings->program;
    size_t changes = count_changes(g, rows, n, m),
           back = changes >= SUSPICIOUS ? SEEN : changes > 0;
    uint64_t hash = hash_bytes(rows, n * m * sizeof *rows);
    int equal = 0;
    for (size_t k = 1; k <= back && k <= g->calls; k++)
        equal |= g->seen[(g->calls - k) % SEEN] == hash;
    g->seen[g->calls++ % SEEN] = hash;
    g->equal_calls = equal ? g->equal_calls + 1 : back == SEEN ? g->equal_calls : 0;
    if (g->equal_calls == SUSPICIOUS)
        fail("the generator prints the same rows for different seeds (%d times in %zu data sets). "
             "It must seed its random numbers with %s, and not with a clock: %s",
             (int)SUSPICIOUS, g->calls, seed_words(p), p->command);
}

/* The first rows are kept for pictures and means. */
static void keep_rows(generator *g, const data *d)
{
    data *kept = &g->comparison->synthetic;
    if (kept->n >= KEPT_ROWS)
        return;
    kept->rows = (npksd_real *)memory(kept->rows, (kept->n + d->n) * d->m, sizeof *kept->rows);
    memcpy(kept->rows + kept->n * d->m, d->rows, d->n * d->m * sizeof *d->rows);
    kept->n += d->n;
}

/* How many data sets the test will draw: for fit, pilot and replicates (npksd.h, options). */
static size_t expected_calls(const comparison *c)
{
    const npksd_options *o = &c->settings->options;
    size_t n = c->observed.n, fit = (o->fit_rows + o->fit_rows / 4 + n - 1) / n;
    return (fit > 10 ? fit : 10) + o->pilot + o->replicates;
}

static void draw_rows(generator *g, uint64_t stream, data *d)
{
    table t;
    notes none = { NULL, 0 };
    draw_table(g->source, g->comparison->settings, stream, &t);
    encode(g->source->encoding, &t, 1, d, &none);
    fail_about[0] = '\0';
    table_free(&t);
}

static void check_seed(generator *g, const npksd_real *rows, size_t bytes)
{
    data again;
    draw_rows(g, g->random.stream, &again);
    if (memcmp(rows, again.rows, bytes) != 0)
        note(&g->comparison->notes,
             "The generator prints other rows when it is given the same seed: the answer is valid, "
             "but cannot be repeated. Let it use %s.",
             seed_words(&g->comparison->settings->program));
    data_free(&again);
}

/* npksd_sample_fn. Whatever goes wrong ends the program with a better message than a status. */
static int draw_data_set(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    generator *g = (generator *)user_data;
    comparison *c = g->comparison;
    data d;
    rng->next_fn(rng->user_data); /* the word that the seed is made of */
    draw_rows(g, g->random.stream, &d);
    memcpy(rows, d.rows, count * m * sizeof *rows);
    check_repetition(g, rows, count, m);
    progress_show(fmin((double)c->program_calls / (double)expected_calls(c), 1));
    if (c->program_calls++ == 0)
        check_seed(g, rows, count * m * sizeof *rows);
    keep_rows(g, &d);
    data_free(&d);
    return 0;
}

/* ======== the test ======== */

static void start_generator(generator *g, comparison *c, npksd_options *options,
                            const program_source *source)
{
    memset(g, 0, sizeof *g);
    g->comparison = c;
    g->source = source;
    options->rng = follow_streams(&g->random, options->seed);
}

static void end_generator(generator *g)
{
    free(g->first_rows);
    free(g->varies);
}

npksd_status test_generator(comparison *c, npksd_options *options, const program_source *source)
{
    generator g;
    start_generator(&g, c, options, source);
    npksd_status status =
        npksd_test_diagnose(c->observed.rows, c->observed.n, c->observed.m, draw_data_set, &g,
                            options, &c->result, &c->diagnosis, c->null_values);
    end_generator(&g);
    return status;
}

void watch_program(watcher *w, comparison *c, const npksd_options *options,
                   const program_source *source)
{
    generator g;
    npksd_options o = *options;
    start_generator(&g, c, &o, source);
    take_blob(w, draw_data_set, &g, &o);
    end_generator(&g);
}
