/* What a watcher remembers between runs: one file of blocks "tag length", then so many bytes. */
#include "watch.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const kept_options[KEPT_OPTIONS] = {
    "--generator", "--server",   "--synthetic", "--load",       "--rows",       "--alpha",
    "--seed",      "--columns",  "--leave-out", "--categories", "--replicates", "--pilot",
    "--fit-rows",  "--features", "--summary",   "--estimator",  "--memory"
};

static const char magic[] = "npksd watch 3";

int is_state(const char *text) { return strncmp(text, "file 13\nnpksd watch ", 20) == 0; }

/* ======== writing ======== */

static void put(FILE *out, const char *tag, const void *bytes, size_t length)
{
    fprintf(out, "%s %zu\n", tag, length);
    fwrite(bytes, 1, length, out);
    fputc('\n', out);
}

static void put_text(FILE *out, const char *tag, const char *text)
{
    put(out, tag, text, strlen(text));
}

static void put_count(FILE *out, const char *tag, size_t count)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", count);
    put_text(out, tag, text);
}

static void put_columns(FILE *out, const watcher *w)
{
    const encoding *e = &w->encoding;
    put_count(out, "columns", e->count);
    put_count(out, "full", w->full);
    put_count(out, "named", (size_t)w->named);
    put_count(out, "other", (size_t)e->other);
    for (size_t i = 0; i < e->count; i++) {
        const column_info *c = &e->columns[i];
        put_text(out, "name", c->name);
        put_count(out, "type", (size_t)c->type);
        put_count(out, "place", w->kept[i]);
        put_count(out, "values", c->value_count);
        for (size_t v = 0; v < c->value_count; v++)
            put_text(out, "value", c->values[v]);
    }
}

static void put_options(FILE *out, const watcher *w)
{
    put_count(out, "header", (size_t)(w->settings->format.header + 1));
    for (size_t k = 0; k < KEPT_OPTIONS; k++) {
        put_count(out, "used", w->kept_values[k] != NULL);
        put_text(out, kept_options[k], w->kept_values[k] ? w->kept_values[k] : "");
    }
}

static void put_all(FILE *out, const void *what)
{
    const watcher *w = (const watcher *)what;
    put_text(out, "file", magic);
    put_count(out, "rows", w->n);
    put_options(out, w);
    put_columns(out, w);
    put(out, "mean", w->mean, w->encoding.m * sizeof *w->mean);
    put(out, "sd", w->sd, w->encoding.m * sizeof *w->sd);
    put(out, "blob", w->blob, w->blob_bytes);
    put(out, "monitor", &w->monitor, sizeof w->monitor);
    put_count(out, "restarts", w->restarts);
    put_count(out, "first", w->first);
    put(out, "memory", w->memory, (w->count - w->first) * sizeof *w->memory);
    put_count(out, "recordings", w->count);
    for (size_t k = 0; k < w->count; k++) {
        const recording *r = &w->recordings[k];
        double numbers[3] = { r->p, r->log_evidence, r->log_change };
        put_text(out, "recording", r->file);
        put_text(out, "worst", r->worst ? r->worst : "");
        put(out, "checksum", &r->checksum, sizeof r->checksum);
        put(out, "numbers", numbers, sizeof numbers);
    }
}

int state_save(const watcher *w, const char *file)
{
    return write_beside("--state", file, put_all, w);
}

/* ======== reading ======== */

typedef struct reader {
    const char *file, *at, *end;
} reader;

static void refuse_state(const reader *r)
{
    fail("--state %s: not a state of this version and machine, or a damaged one. Give it another "
         "name, and start anew",
         r->file);
}

static const char *get(reader *r, const char *tag, size_t *length)
{
    size_t size = strlen(tag);
    char *end;
    if ((size_t)(r->end - r->at) < size + 3 || strncmp(r->at, tag, size) != 0 || r->at[size] != ' ')
        refuse_state(r);
    *length = (size_t)strtoul(r->at + size + 1, &end, 10);
    if (*end != '\n' || *length >= (size_t)(r->end - end - 1) || end[1 + *length] != '\n')
        refuse_state(r);
    r->at = end + 2 + *length;
    return end + 1;
}

static char *get_text(reader *r, const char *tag)
{
    size_t length;
    const char *text = get(r, tag, &length);
    return copy_text(text, length);
}

/* At most so much as a file of this size can hold. */
static size_t get_count(reader *r, const char *tag)
{
    char *text = get_text(r, tag), *end;
    size_t count = (size_t)strtoul(text, &end, 10);
    if (end == text || *end || count > 1000000000)
        refuse_state(r);
    free(text);
    return count;
}

static void get_exactly(reader *r, const char *tag, void *to, size_t bytes)
{
    size_t length;
    const char *from = get(r, tag, &length);
    if (length != bytes)
        refuse_state(r);
    memcpy(to, from, bytes);
}

static size_t get_list_length(reader *r, const char *tag)
{
    size_t count = get_count(r, tag);
    if (count > (size_t)(r->end - r->at)) /* each item takes more than a byte */
        refuse_state(r);
    return count;
}

static void get_columns(reader *r, watcher *w)
{
    encoding *e = &w->encoding;
    e->count = get_list_length(r, "columns");
    w->full = get_count(r, "full");
    w->named = get_count(r, "named") > 0;
    e->other = get_count(r, "other") > 0;
    e->columns = (column_info *)memory(NULL, e->count, sizeof *e->columns);
    w->kept = (size_t *)memory(NULL, e->count, sizeof *w->kept);
    memset(e->columns, 0, e->count * sizeof *e->columns);
    for (size_t i = 0; i < e->count; i++) {
        column_info *c = &e->columns[i];
        c->name = get_text(r, "name");
        c->type = (column_type)get_count(r, "type");
        w->kept[i] = get_count(r, "place");
        c->value_count = get_list_length(r, "values");
        if (c->type > COLUMN_CATEGORY || w->kept[i] >= w->full)
            refuse_state(r);
        c->values = (char **)memory(NULL, c->value_count, sizeof *c->values);
        for (size_t v = 0; v < c->value_count; v++)
            c->values[v] = get_text(r, "value");
    }
    encoding_name(e);
}

/* What is given anew must be what it was; what is not given is what it was. But a full tester must be
   followed by one of new rows, or by another blob; and a file never says which program is started. */
static void check_option(watcher *w, const char *state, size_t k)
{
    const char *option = kept_options[k], *kept = w->kept_values[k];
    char *given = is_given(w->settings, option) ? option_value(w->settings, option) : NULL;
    if (!given && kept && strcmp(option, "--generator") != 0 && strcmp(option, "--server") != 0)
        set_option(w->settings, option, kept);
    else if (given && kept && strcmp(given, kept) != 0 && is_full(w)
             && (strcmp(option, "--synthetic") == 0 || strcmp(option, "--load") == 0))
        w->new_file = 1;
    else if (given && (!kept || strcmp(given, kept) != 0))
        fail("%s %s: the state %s was made with%s %s. Leave the option out to go on with that, or "
             "delete the state to start again",
             option, given, state, kept ? "" : "out", kept ? kept : option);
    free(given);
}

static void get_options(reader *r, watcher *w)
{
    table_format *format = &w->settings->format;
    int header = (int)get_count(r, "header") - 1;
    if (header > 1)
        refuse_state(r);
    format->header = format->header < 0 ? header : format->header;
    for (size_t k = 0; k < KEPT_OPTIONS; k++) {
        int used = get_count(r, "used") > 0;
        char *value = get_text(r, kept_options[k]);
        w->kept_values[k] = used ? value : NULL;
    }
}

static void get_recordings(reader *r, watcher *w)
{
    w->count = w->before = get_list_length(r, "recordings");
    w->recordings = (recording *)memory(NULL, w->count, sizeof *w->recordings);
    for (size_t k = 0; k < w->count; k++) {
        recording *item = &w->recordings[k];
        double numbers[3];
        item->file = get_text(r, "recording");
        item->worst = get_text(r, "worst");
        get_exactly(r, "checksum", &item->checksum, sizeof item->checksum);
        get_exactly(r, "numbers", numbers, sizeof numbers);
        item->p = numbers[0];
        item->log_evidence = numbers[1];
        item->log_change = numbers[2];
        if (!*item->worst) {
            free(item->worst);
            item->worst = NULL;
        }
    }
}

int state_load(watcher *w, const char *file)
{
    size_t bytes, length;
    FILE *stream = fopen(file, "rb");
    if (!stream && errno == ENOENT)
        return 0;
    if (!stream)
        fail("--state %s: %s", file, strerror(errno));
    char *text = read_all(stream, file, &bytes);
    fclose(stream);
    reader r = { file, text, text + bytes };
    const char *first = get(&r, "file", &length);
    if (length != strlen(magic) || memcmp(first, magic, length) != 0)
        refuse_state(&r);
    w->n = get_count(&r, "rows");
    get_options(&r, w);
    get_columns(&r, w);
    w->mean = (double *)memory(NULL, 2 * w->encoding.m, sizeof *w->mean);
    w->sd = w->mean + w->encoding.m;
    get_exactly(&r, "mean", w->mean, w->encoding.m * sizeof *w->mean);
    get_exactly(&r, "sd", w->sd, w->encoding.m * sizeof *w->sd);
    const char *blob = get(&r, "blob", &w->blob_bytes);
    w->blob = copy_text(blob, w->blob_bytes);
    get_exactly(&r, "monitor", &w->monitor, sizeof w->monitor);
    w->restarts = get_count(&r, "restarts");
    w->first = get_count(&r, "first");
    const char *memory_bytes = get(&r, "memory", &length);
    get_recordings(&r, w);
    if (w->first > w->count || length != (w->count - w->first) * sizeof *w->memory
        || w->monitor.recordings != w->count || w->monitor.capacity < w->count - w->first
        || w->monitor.capacity > MOST_RECORDINGS)
        refuse_state(&r);
    w->memory = (npksd_real *)memory(NULL, w->monitor.capacity, sizeof *w->memory);
    memcpy(w->memory, memory_bytes, length);
    for (size_t k = 0; k < KEPT_OPTIONS; k++)
        check_option(w, file, k);
    free(text);
    return 1;
}
