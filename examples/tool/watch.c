/* npksd --watch: recording after recording against one calibrated tester, with one limited error for
 * all of them (npksd_monitor).
 *
 * The tester comes from a program, from disjoint slices of a synthetic file, or from a blob; it is made
 * once and then kept in the state. What the columns are is decided by the source, never by a
 * recording. A recording with more rows than a data set gives its first ones; one with fewer is left
 * out. A tester serves as many recordings as --memory says; then a new one follows, of the next seed
 * with a program, of a new file otherwise. A run that fails leaves the state as it was. */
#include "watch.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ======== which recordings ======== */

/* night_9 comes before night_10. */
static int compare_naturally(const void *first, const void *second)
{
    const char *a = *(char *const *)first, *b = *(char *const *)second;
    while (*a && *b) {
        size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");
        if (x && y) {
            unsigned long long left = strtoull(a, NULL, 10), right = strtoull(b, NULL, 10);
            if (left != right)
                return left < right ? -1 : 1;
            a += x;
            b += y;
        } else if (*a++ != *b++)
            return (unsigned char)a[-1] < (unsigned char)b[-1] ? -1 : 1;
    }
    return (*a != 0) - (*b != 0);
}

typedef struct file_list {
    char **items;
    size_t count;
} file_list;

static void add_path(file_list *list, char *path)
{
    list->items = (char **)memory(list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = path;
}

static int is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int has_table_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot
        && (strcasecmp(dot, ".csv") == 0 || strcasecmp(dot, ".tsv") == 0
            || strcasecmp(dot, ".npy") == 0);
}

/* Nothing, or just a line of names? */
static int has_no_rows(const char *text)
{
    const char *at = text + strspn(text, " \t\r\n");
    at += strcspn(at, "\r\n");
    return at[strspn(at, " \t\r\n")] == '\0' && text[0] != '\x93';
}

/* A state, a page or a blob, of this run or another one? */
static int is_own(const char *text, size_t bytes)
{
    size_t n, m;
    return is_state(text) || strncmp(text, "<!DOCTYPE html>", 15) == 0
        || npksd_blob_info(text, bytes, &n, &m, NULL) == NPKSD_OK;
}

/* Why is a file of a folder no recording? NULL: it is one; "": it goes without saying. */
static const char *find_reason(const char *path, int named_tables)
{
    size_t bytes;
    FILE *stream = fopen(path, "rb");
    char *text = stream ? read_all(stream, path, &bytes) : NULL;
    const char *reason = text && is_own(text, bytes) ? ""
        : named_tables && !has_table_name(path)
        ? "not a .csv, .tsv or .npy file like others of the folder"
        : text && has_no_rows(text) ? "it has no rows"
                                    : NULL; /* one that cannot be read is named then */
    if (stream)
        fclose(stream);
    free(text);
    return reason;
}

/* A note beside the recordings, or a file that is yet to be filled, must not stop the watch. */
static void leave_out_strays(file_list *list, size_t first, notes *said)
{
    size_t kept = first, tables = 0;
    for (size_t k = first; k < list->count; k++)
        tables += (size_t)has_table_name(list->items[k]);
    for (size_t k = first; k < list->count; k++) {
        char *path = list->items[k];
        const char *reason = find_reason(path, tables > 0);
        if (!reason)
            list->items[kept++] = path;
        else if (*reason)
            note(said, "%s was skipped: %s.", path, reason);
        if (reason)
            free(path);
    }
    list->count = kept;
}

/* The files of a folder in the order of their names, hidden ones left out. */
static void add_folder(file_list *list, const char *folder, notes *said)
{
    size_t first = list->count, length = strlen(folder);
    DIR *open = opendir(folder);
    if (!open)
        fail("%s: %s", folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        char *path = NULL;
        append(&path, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/",
               entry->d_name);
        if (entry->d_name[0] == '.' || is_folder(path))
            free(path);
        else
            add_path(list, path);
    }
    closedir(open);
    if (list->count == first)
        return;
    qsort(list->items + first, list->count - first, sizeof *list->items, compare_naturally);
    leave_out_strays(list, first, said);
}

static file_list find_recordings(const settings *s, notes *said)
{
    file_list list = { NULL, 0 };
    for (size_t k = 0; k <= s->file_count; k++) {
        const char *path = k ? s->files[k - 1] : s->observed_file;
        if (path && is_folder(path))
            add_folder(&list, path, said);
        else if (path)
            add_path(&list, copy_text(path, strlen(path)));
    }
    return list;
}

/* ======== the tester ======== */

/* Data sets of a synthetic file: each stream of random numbers has a slice of its own. */
typedef struct slices {
    const data *rows;
    stream_rng random;
    uint64_t *streams; /* streams[k] has slice k */
    size_t used, sets;
} slices;

static int draw_slice(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    slices *s = (slices *)user_data;
    size_t k = 0;
    rng->next_fn(rng->user_data);
    while (k < s->used && s->streams[k] != s->random.stream)
        k++;
    if (k == s->sets)
        return 1;
    s->streams[k] = s->random.stream;
    s->used += k == s->used;
    memcpy(rows, s->rows->rows + k * count * m, count * m * sizeof *rows);
    return 0;
}

/* How many data sets a tester draws (npksd.h, options): for the fit, the pilot and the replicates. */
static size_t count_sets(const npksd_options *o, size_t n)
{
    size_t rows = o->fit_rows + o->fit_rows / 4, fit = (rows + n - 1) / n,
           least = n > 20000 ? (200000 + n - 1) / n : 10;
    fit = fit > least ? fit : least;
    return (fit > 2 ? fit : 2) + o->pilot + o->replicates;
}

/* For words about a recording: what are means and deviations at the source? d NULL: nobody knows. */
static void keep_moments(watcher *w, const data *d)
{
    size_t m = w->encoding.m;
    w->mean = (double *)memory(NULL, 2 * m, sizeof *w->mean);
    w->sd = w->mean + m;
    for (size_t i = 0; i < m; i++)
        if (d && d->n > 1)
            column_moments(d, i, &w->mean[i], &w->sd[i]);
        else
            w->mean[i] = w->sd[i] = NAN;
}

/* A tester as bytes: what draws from the source need not live on. */
void take_blob(watcher *w, npksd_sample_fn draw, void *user_data, const npksd_options *options)
{
    npksd_tester *tester;
    npksd_status status;
    size_t done, total;
    check_options(npksd_options_problem(options, w->n, w->encoding.m));
    check_status(npksd_tester_create(&tester, w->n, w->encoding.m, draw, user_data, options));
    while ((status = npksd_tester_step(tester, 16)) == NPKSD_MORE) {
        npksd_tester_progress(tester, &done, &total);
        progress_show((double)done / (double)total);
    }
    check_status(status);
    check_status(npksd_tester_save(tester, NULL, 0, &w->blob_bytes));
    w->blob = (char *)memory(NULL, w->blob_bytes, 1);
    check_status(npksd_tester_save(tester, w->blob, w->blob_bytes, &w->blob_bytes));
    npksd_tester_destroy(tester);
}

static void keep_all(watcher *w)
{
    w->full = w->encoding.count;
    w->kept = (size_t *)memory(NULL, w->full, sizeof *w->kept);
    for (size_t i = 0; i < w->full; i++)
        w->kept[i] = i;
}

static void calibrate_slices(watcher *w, const npksd_options *options, const table *first)
{
    const char *file = w->settings->synthetic;
    npksd_options o = *options;
    table_format format = w->settings->format; /* its lists are shared: they note what was found */
    table t, *all[1] = { &t };
    data rows;
    slices s;
    format.lender = first;
    table_read(&t, file, &format);
    note_table(&t, &w->notes);
    w->full = t.m;
    w->named = t.named;
    size_t kept_count,
        *kept = find_kept(all, 1, w->settings->format.use.count > 0, &w->notes, &kept_count);
    table_keep(&t, kept, kept_count);
    w->kept = kept;
    encoding_make(&w->encoding, all, 1, 1, &w->notes);
    encode(&w->encoding, &t, 1, &rows, &w->notes);
    memset(&s, 0, sizeof s);
    s.rows = &rows;
    s.sets = rows.n / w->n;
    size_t needed = count_sets(&o, w->n);
    if (s.sets < needed)
        fail("--synthetic %s: %zu rows are too few. The tester needs %zu data sets of %zu rows "
             "each, which share no row: "
             "%zu rows. Make more, or ask for less with --fit-rows, --pilot and --replicates",
             file, rows.n, needed, w->n, needed * w->n);
    s.streams = (uint64_t *)memory(NULL, s.sets, sizeof *s.streams);
    o.rng = follow_streams(&s.random, o.seed);
    take_blob(w, draw_slice, &s, &o);
    keep_moments(w, &rows);
    note(&w->notes, "%zu of the %zu rows of %s made the tester, in data sets of %zu rows.",
         s.used * w->n, rows.n, t.file, w->n);
    free(s.streams);
    data_free(&rows);
    table_free(&t);
}

static void calibrate_program(watcher *w, const npksd_options *options, table *first)
{
    program_source source;
    comparison c;
    w->full = first->m;
    w->named = first->named;
    program_prepare(&source, w->settings, first, w->n, &w->encoding, &w->notes);
    w->kept = (size_t *)memory(NULL, source.kept_count, sizeof *w->kept);
    memcpy(w->kept, source.kept, source.kept_count * sizeof *w->kept);
    memset(&c, 0, sizeof c);
    c.settings = w->settings;
    c.observed.n = w->n;
    c.observed.m = w->encoding.m;
    source.seed = options->seed; /* columns were found with that of --seed, always the same */
    watch_program(w, &c, options, &source);
    c.synthetic.m = w->encoding.m;
    keep_moments(w, &c.synthetic);
    for (size_t k = 0; k < c.notes.count; k++)
        note(&w->notes, "%s", c.notes.items[k]);
    program_close(source.program);
}

static void load_blob(watcher *w, const char *file)
{
    size_t m;
    FILE *stream = fopen(file, "rb");
    if (!stream)
        fail("--load %s: %s", file, strerror(errno));
    w->blob = read_all(stream, file, &w->blob_bytes);
    fclose(stream);
    if (npksd_blob_info(w->blob, w->blob_bytes, &w->n, &m, NULL) != NPKSD_OK)
        fail("--load %s: not a blob of npksd_tester_save of this version and precision", file);
    memset(&w->encoding, 0, sizeof w->encoding);
    w->encoding.count = m;
    w->encoding.columns = (column_info *)memory(NULL, m, sizeof *w->encoding.columns);
    memset(w->encoding.columns, 0, m * sizeof *w->encoding.columns);
    for (size_t i = 0; i < m; i++)
        append(&w->encoding.columns[i].name, "%zu", i + 1);
    encoding_name(&w->encoding);
    keep_all(w);
    keep_moments(w, NULL);
    note(&w->notes, "A blob has no names: the columns of the recordings are taken in their order.");
}

static void write_blob(FILE *out, const void *what)
{
    const watcher *w = (const watcher *)what;
    fwrite(w->blob, 1, w->blob_bytes, out);
}

/* Decided when a tester is made, and not any more when it is loaded. */
static int shapes_tester(const char *option)
{
    return strcmp(option, "--rows") == 0 || strcmp(option, "--replicates") == 0
        || strcmp(option, "--pilot") == 0 || strcmp(option, "--fit-rows") == 0
        || strcmp(option, "--features") == 0 || strcmp(option, "--summary") == 0
        || strcmp(option, "--estimator") == 0 || strcmp(option, "--categories") == 0;
}

/* The first recording tells how many rows a data set has, unless --rows does, and has the names. */
static void make_tester(watcher *w, const char *recording_file)
{
    settings *s = w->settings;
    npksd_options o = s->options;
    table first;
    o.diagnose = 1;
    o.alpha = npksd_default_options().alpha; /* that of --alpha is for the monitor */
    o.seed += w->restarts;
    table_read(&first, recording_file, &s->format);
    w->n = s->rows ? s->rows : first.n;
    if (w->n < 2)
        fail("%s: too few rows: %zu. At least 2 are needed, and 50 or more are sensible",
             first.file, w->n);
    if (s->synthetic)
        calibrate_slices(w, &o, &first);
    else
        calibrate_program(w, &o, &first);
    list_check(&s->format.leave_out);
    list_check(&s->format.categories);
}

static void keep_options(watcher *w)
{
    w->settings->rows = w->n;
    for (size_t k = 0; k < KEPT_OPTIONS; k++)
        w->kept_values[k] = option_value(w->settings, kept_options[k]);
}

static void calibrate(watcher *w, const file_list *files)
{
    settings *s = w->settings;
    if (s->load) {
        for (size_t k = 0; k < KEPT_OPTIONS; k++)
            if (shapes_tester(kept_options[k]) && is_given(s, kept_options[k]))
                fail("%s: not with --load; the blob has it", kept_options[k]);
        load_blob(w, s->load);
    } else if (files->count == 0)
        fail("%s: no recording is there yet; the first one tells how many rows a data set has",
             s->observed_file);
    else
        make_tester(w, files->items[0]);
    keep_options(w);
    check_status(npksd_monitor_begin(&w->monitor, s->options.alpha, s->memory, s->options.seed));
    w->memory = (npksd_real *)memory(NULL, s->memory, sizeof *w->memory);
}

static void load_tester(watcher *w, const char *where)
{
    size_t n, m;
    npksd_tester_destroy(w->tester);
    check_status(npksd_tester_load(&w->tester, w->blob, w->blob_bytes, NULL));
    npksd_tester_shape(w->tester, &n, &m);
    if (n != w->n || m != w->encoding.m)
        fail("%s: its tester and its columns do not belong together", where);
}

/* ======== a tester after the other ======== */

int is_full(const watcher *w) { return w->count - w->first >= w->monitor.capacity; }

/* Is a source given whose data sets the tester in use has not seen? A program makes new ones. */
static int has_new_source(const watcher *w)
{
    return w->settings->program.command != NULL || w->new_file;
}

/* E goes on, but never with the replicates that earlier recordings were ranked among. */
static void restart(watcher *w, const char *file)
{
    const settings *s = w->settings;
    size_t rows = w->n;
    w->restarts++;
    if (s->load)
        load_blob(w, s->load);
    else
        make_tester(w, file);
    if (w->n != rows)
        fail("--load %s: data sets of %zu rows, not of %zu as before", s->load, w->n, rows);
    keep_options(w);
    load_tester(w, s->load ? s->load : "the new tester");
    if (npksd_monitor_restart(&w->monitor, w->tester) != NPKSD_OK)
        fail("%s: the tester in use under another name; one of another seed should follow",
             s->load ? s->load : "the new tester");
    w->first = w->count;
    w->new_file = 0;
    note(
        &w->notes,
        "A tester has served %zu recordings (--memory), and a new one, of other data sets, follows "
        "from recording %zu on; evidence and alarms stay.",
        w->monitor.capacity, w->count + 1);
}

/* ======== recordings ======== */

/* Hundreds of recordings are much alike: the first of them is named, and the others are counted. */
static void note_recording(watcher *w, int kind, char *text)
{
    recording_note *n = &w->noted[kind];
    if (n->text && text) {
        n->more++;
        free(text);
    } else if (text)
        n->text = text;
}

static void note_recordings(watcher *w)
{
    for (int kind = 0; kind < RECORDING_NOTES; kind++) {
        const recording_note *n = &w->noted[kind];
        if (n->text && n->more)
            note(&w->notes, "%s The same is true of %zu more recording%s.", n->text, n->more,
                 PLURAL(n->more));
        else if (n->text)
            note(&w->notes, "%s", n->text);
    }
    leave_out_repeated(&w->notes);
}

/* How the columns of a recording were found; t->picked are still all of its own. */
static void note_matches(watcher *w, const table *t, const size_t *picked)
{
    size_t count = w->encoding.count, extra_count = 0, by_name = w->named && t->named;
    char *words[RECORDING_NOTES] = { NULL },
         **extra = (char **)memory(NULL, t->columns, sizeof *extra);
    for (size_t i = 1; i < count && by_name && !words[NOTE_ORDER]; i++)
        if (picked[i] < picked[i - 1])
            append(&words[NOTE_ORDER],
                   "The columns of %s stand in another order; they were matched by name.", t->file);
    if (w->named && !t->named)
        append(&words[NOTE_POSITION], "%s has no names of columns: they were matched by position.",
               t->file);
    for (size_t i = 0; i < t->m && by_name && t->m > w->full; i++) {
        size_t k = 0;
        while (k < count && picked[k] != t->picked[i])
            k++;
        if (k == count)
            extra[extra_count++] = t->names[t->picked[i]];
    }
    if (extra_count) {
        char *names = list_names(extra, extra_count);
        append(&words[NOTE_EXTRA], "Columns of %s that the tester does not have were left out: %s.",
               t->file, names);
        free(names);
    }
    for (int kind = NOTE_ORDER; kind < RECORDING_NOTES; kind++)
        note_recording(w, kind, words[kind]);
    free(extra);
}

/* The columns of the tester among those of a recording: by name if both have names, though a number in an option may
   have left them out, for it is one of the first file of this run. */
static void match_columns(watcher *w, table *t)
{
    const encoding *e = &w->encoding;
    size_t *picked = (size_t *)memory(NULL, e->count, sizeof *picked);
    int by_name = w->named && t->named;
    name_index index, all;
    if (!by_name && t->m != w->full)
        fail(
            "%s has %zu column%s in use, the tester was made for %zu. Both need the same columns%s",
            t->file, t->m, PLURAL(t->m), w->full,
            w->named ? ": add the line of names, by which columns are found" : "");
    char **names = picked_names(t);
    index_names(&index, names, t->m);
    index_names(&all, t->names, t->columns);
    for (size_t i = 0; i < e->count; i++) {
        long long found = find_name(&index, e->columns[i].name),
                  other = find_name(&all, e->columns[i].name);
        if (by_name && other == NOT_FOUND)
            fail("%s has no column \"%.*s\", which the tester was made for. Its columns: %s. "
                 "Rename "
                 "them in line 1 of %s",
                 t->file, CUT(200, e->columns[i].name), list_names(t->names, t->columns), t->file);
        picked[i] = !by_name     ? t->picked[w->kept[i]]
            : found != NOT_FOUND ? t->picked[found]
                                 : (size_t)other;
    }
    note_matches(w, t, picked);
    free(t->picked);
    t->picked = picked;
    t->m = e->count;
    free_index(&index);
    free_index(&all);
    free(names);
}

/* The column that stands out and how, or NULL if none does. One that has changed by itself comes before
   one that is only marked with it; then adjusted p, then distance. */
static char *find_worst(const watcher *w, const data *d, const npksd_diagnosis *diagnosis)
{
    size_t m = w->encoding.m;
    column_change *changes = (column_change *)memory(NULL, m, sizeof *changes);
    double *keys = (double *)memory(NULL, m, sizeof *keys);
    data used = *d;
    char *words = NULL;
    used.n = w->n;
    for (size_t i = 0; i < m; i++) {
        column_change *c = &changes[i];
        double p = (double)diagnosis->coordinate_p_adjusted[i];
        c->type = type_of(&w->encoding, i);
        c->shift = fmin(fmax((double)diagnosis->coordinate_shift[i], -1e9), 1e9);
        c->distance = (double)diagnosis->coordinate_distance[i];
        column_moments(&used, i, &c->mean, &c->sd);
        c->other_mean = w->mean[i];
        c->other_sd = w->sd[i];
        c->value = c->share = c->other_share = 0; /* the generator's rows are not at hand ... */
        c->is_share = c->type == COLUMN_CATEGORY || c->type == COLUMN_FLAG;
        if (c->is_share) { /* ... but their shares are */
            c->share = c->mean;
            c->other_share = c->other_mean;
        }
        keys[i] = 1e-6 * c->distance - p + 2 * (p <= 0.05 && has_changed(c, (double)w->n));
    }
    size_t *order = sort_down(keys, m), worst = order[0];
    if ((double)diagnosis->coordinate_p_adjusted[worst] <= 0.05)
        describe_change(&words, w->encoding.names[worst], &changes[worst]);
    free(order);
    free(keys);
    free(changes);
    return words;
}

static void add_recording(watcher *w, const char *file, const data *d)
{
    size_t m = w->encoding.m;
    npksd_result result;
    npksd_diagnosis diagnosis;
    npksd_real *space = (npksd_real *)memory(NULL, 3 * m, sizeof *space);
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.coordinate_p_adjusted = space;
    diagnosis.coordinate_shift = space + m;
    diagnosis.coordinate_distance = space + 2 * m;
    npksd_status status = npksd_tester_check(w->tester, d->rows, &result, &diagnosis);
    int reasons = status == NPKSD_OK;
    if (!reasons) /* a blob that was made without diagnose */
        check_status(npksd_tester_check(w->tester, d->rows, &result, NULL));
    check_status(npksd_monitor_add(&w->monitor, w->tester, w->memory, &result));
    w->recordings = (recording *)memory(w->recordings, w->count + 1, sizeof *w->recordings);
    recording *r = &w->recordings[w->count++];
    r->file = copy_text(file, strlen(file));
    r->checksum = d->checksum;
    r->p = (double)w->monitor.p;
    r->log_evidence = (double)w->monitor.log_evidence;
    r->log_change = (double)w->monitor.log_change;
    r->worst = reasons ? find_worst(w, d, &diagnosis) : NULL;
    free(space);
}

/* Seen in an earlier run, or twice in this one? */
static int is_known(watcher *w, const char *file, uint64_t checksum)
{
    for (size_t k = 0; k < w->count; k++)
        if (strcmp(w->recordings[k].file, file) == 0) {
            if (w->recordings[k].checksum != checksum)
                note(&w->notes,
                     "%s has changed since it was added; the version added earlier is kept.", file);
            return 1;
        }
    return 0;
}

static void watch_file(watcher *w, const char *file)
{
    table t;
    data d;
    table_read(&t, file, &w->settings->format);
    int known = is_known(w, file, t.checksum);
    if (!known && is_full(w) && !has_new_source(w))
        w->waiting++;
    else if (!known) {
        if (is_full(w))
            restart(w, file);
        for (int kind = 0; kind < TABLE_NOTES; kind++)
            note_recording(w, kind, table_note(&t, kind));
        match_columns(w, &t);
        encode(&w->encoding, &t, 1, &d, &w->notes);
        if (d.n < w->n)
            note(&w->notes, "%s has %zu row%s, fewer than the %zu of a data set: it was left out.",
                 t.file, d.n, PLURAL(d.n), w->n);
        else {
            if (d.n > w->n)
                note(&w->notes, "%s has %zu rows: the first %zu were used.", t.file, d.n, w->n);
            add_recording(w, file, &d);
        }
        data_free(&d);
    }
    table_free(&t);
}

static void note_waiting(watcher *w)
{
    const settings *s = w->settings;
    if (w->waiting)
        note(&w->notes,
             "%zu recording%s could not be added: the tester has served %zu (--memory) and must be "
             "followed by one of other data sets. Go on with %s; --state keeps the evidence.",
             w->waiting, PLURAL(w->waiting), w->monitor.capacity,
             s->load ? "--load and a blob of another seed"
                 : s->synthetic
                 ? "--synthetic and a file of new rows"
                 : "--generator or --server as before, for a state starts no program");
}

/* ======== the answer ======== */

static int has_alarm(const watcher *w) { return w->monitor.alarm || w->monitor.change_alarm; }

static void add_alarm(const watcher *w, char **to, const char *what, size_t at)
{
    const recording *r = &w->recordings[at - 1];
    char *file = clean_text(r->file, strlen(r->file));
    append(to, "%s%s raised the alarm at recording %zu, %s", *to ? "; " : "", what, at, file);
    free(file);
    if (r->worst)
        append(to, ": %s", r->worst);
}

/* E may have more digits than a double. */
static const char *power_words(double log_value, char room[32])
{
    if (log_value < 600)
        snprintf(room, 32, "%.3g", exp(log_value));
    else
        snprintf(room, 32, "10^%.0f", log_value / log(10));
    return room;
}

char *watch_verdict(const watcher *w)
{
    char *words = NULL, evidence[32], change[32];
    const npksd_monitor *m = &w->monitor;
    if (m->alarm)
        add_alarm(w, &words, "the evidence", m->alarm_at);
    if (m->change_alarm)
        add_alarm(w, &words, "the change detector", m->change_alarm_at);
    if (!words)
        append(&words, "No alarm after %zu recording%s", w->count, PLURAL(w->count));
    else {
        char *whole = NULL;
        append(&whole, "ALARM: %s", words);
        free(words);
        words = whole;
    }
    append(&words, ". Evidence %s, change %s; the alarm is at %g.",
           power_words((double)m->log_evidence, evidence),
           power_words((double)m->log_change, change), 1 / (double)m->alpha);
    return words;
}

static char *watch_promise(const watcher *w)
{
    double alpha = (double)w->monitor.alpha;
    char *promise = NULL;
    append(&promise,
           "If nothing differs, the chance that the evidence ever raises a false alarm is at most "
           "%g (alpha), however often one looks; the change detector is quicker after a late "
           "change, and has a false alarm after %g recordings or more, on average.",
           alpha, 1 / alpha);
    return promise;
}

static void print_watch_text(const watcher *w)
{
    char *verdict = watch_verdict(w), *promise = watch_promise(w), evidence[32], change[32],
         name[256];
    printf("watched    %zu recording%s of %zu rows, %zu of them new\n\n", w->count,
           PLURAL(w->count), w->n, w->count - w->before);
    print_wrapped(stdout, "- ", verdict);
    print_wrapped(stdout, "- ", promise);
    for (size_t k = 0; k < w->notes.count; k++)
        print_wrapped(stdout, "  note: ", w->notes.items[k]);
    if (w->count > w->before)
        printf("\n  %-36s %8s %10s %10s   %s\n", "new recordings", "p", "evidence", "change",
               "column");
    for (size_t k = w->before; k < w->count; k++) {
        const recording *r = &w->recordings[k];
        printf("  %s %8.4f %10s %10s   %s\n", cut_text(r->file, 36, 36, name, sizeof name), r->p,
               power_words(r->log_evidence, evidence), power_words(r->log_change, change),
               r->worst ? r->worst : "");
    }
    free(verdict);
    free(promise);
}

static void print_watch_json(const watcher *w)
{
    const npksd_monitor *m = &w->monitor;
    char *verdict = watch_verdict(w);
    printf("{\n    \"npksd\": \"%d.%d.%d\",\n    \"command\": ", NPKSD_VERSION_MAJOR,
           NPKSD_VERSION_MINOR, NPKSD_VERSION_PATCH);
    print_json_string(stdout, w->settings->command);
    printf(",\n    \"rows\": %zu,\n    \"recordings\": %zu,\n    \"new\": %zu,\n    "
           "\"waiting\": %zu,\n    \"testers\": %zu,\n    \"alpha\": %.6g,\n",
           w->n, w->count, w->count - w->before, w->waiting, w->restarts + 1, (double)m->alpha);
    printf("    \"alarm\": %s,\n    \"alarm_at\": %zu,\n    \"change_alarm\": %s,\n    "
           "\"change_alarm_at\": %zu,\n",
           m->alarm ? "true" : "false", m->alarm_at, m->change_alarm ? "true" : "false",
           m->change_alarm_at);
    printf("    \"verdict\": ");
    print_json_string(stdout, verdict);
    printf(",\n    \"list\": [");
    for (size_t k = 0; k < w->count; k++) {
        const recording *r = &w->recordings[k];
        printf("%s\n        { \"file\": ", k ? "," : "");
        print_json_string(stdout, r->file);
        printf(", \"p\": %.9g, \"log_evidence\": %.9g, \"log_change\": %.9g, \"column\": ", r->p,
               r->log_evidence, r->log_change);
        print_json_string(stdout, r->worst ? r->worst : "");
        fputs(" }", stdout);
    }
    printf("\n    ],\n    \"notes\": [");
    for (size_t k = 0; k < w->notes.count; k++) {
        printf("%s\n        ", k ? "," : "");
        print_json_string(stdout, w->notes.items[k]);
    }
    puts("]\n}");
    free(verdict);
}

/* ======== the page ======== */

static void page_row(FILE *out, const recording *r, size_t number)
{
    char evidence[32], change[32];
    fprintf(out, "<tr><td>");
    page_name(out, r->file, 50);
    fprintf(out, "</td><td>%zu</td><td>%.4f</td><td>%s</td><td>%s</td><td>", number, r->p,
            power_words(r->log_evidence, evidence), power_words(r->log_change, change));
    page_text(out, r->worst ? r->worst : "");
    fprintf(out, "</td></tr>\n");
}

static void write_watch_page(FILE *out, const void *what)
{
    enum { SHOWN = 40 };
    const watcher *w = (const watcher *)what;
    char *verdict = watch_verdict(w), *promise = watch_promise(w);
    page_head(out, verdict);
    fprintf(out,
            "<h1>%zu recordings of %zu rows</h1>\n<div class='verdict%s'><strong>%s</strong><p>",
            w->count, w->n, has_alarm(w) ? " rejected" : "", has_alarm(w) ? "ALARM" : "No alarm");
    page_text(out, verdict);
    fprintf(out, "</p><p class='muted'>");
    page_text(out, promise);
    fprintf(out, "</p></div>\n");
    page_notes(out, &w->notes, NULL);
    fprintf(out,
            "<h2>Evidence over time: <span class='o'>evidence</span> and <span "
            "class='s'>change</span></h2>\n");
    double *lines = (double *)memory(NULL, 2 * w->count, sizeof *lines);
    for (size_t k = 0; k < w->count; k++) {
        lines[k] = w->recordings[k].log_evidence / log(10);
        lines[w->count + k] = w->recordings[k].log_change / log(10);
    }
    fprintf(out, "<div class='two'>\n");
    chart_evidence(out, lines, lines + w->count, w->count, -log10((double)w->monitor.alpha));
    fprintf(
        out,
        "<div class='list'><div class='scroll'><table><tr><th>file</th><th>number</th><th>p</th>"
        "<th>evidence</th><th>change</th><th>column</th></tr>\n");
    for (size_t k = w->count; k > 0 && k + SHOWN > w->count; k--)
        page_row(out, &w->recordings[k - 1], k);
    fprintf(out, "</table></div></div></div>\n<p class='muted'><code>");
    page_text(out, w->settings->command);
    fprintf(out, "</code></p></body></html>\n");
    free(lines);
    free(verdict);
    free(promise);
}

/* ======== all of it ======== */

int watch(settings *s)
{
    static watcher w;
    file_list files = find_recordings(s, &w.notes);
    w.settings = s;
    int loaded = s->state && state_load(&w, s->state); /* it may tell what --synthetic is */
    check_outputs(s, files.items, files.count);
    progress_start();
    if (!loaded) {
        if (!s->program.command && !s->synthetic && !s->load)
            fail("%s: what should the recordings be compared with? --generator, --server, "
                 "--synthetic or --load says it "
                 "the first time; --state keeps it",
                 s->state ? s->state : "--watch");
        calibrate(&w, &files);
    }
    if (loaded)
        note_columns(&w.encoding, &w.notes);
    load_tester(&w, s->state ? s->state : "--load");
    for (size_t k = 0; k < files.count; k++)
        watch_file(&w, files.items[k]);
    note_waiting(&w);
    note_recordings(&w);
    progress_stop();
    if (s->quiet && w.monitor.log_evidence < 700)
        printf("%.6g\n", exp((double)w.monitor.log_evidence));
    else if (s->quiet) /* more than a double holds */
        printf("1e%+.0f\n", floor((double)w.monitor.log_evidence / log(10)));
    else
        (s->json ? print_watch_json : print_watch_text)(&w);
    fflush(stdout);
    int good = (!s->state || state_save(&w, s->state))
        && (!s->save || write_beside("--save", s->save, write_blob, &w));
    good &= !s->report || write_beside("--report", s->report, write_watch_page, &w);
    return good && (has_alarm(&w) || !w.waiting) ? has_alarm(&w) : 2;
}
