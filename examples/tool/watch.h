/* Watching recording after recording: what watch.c, state.c and the page share. */
#ifndef WATCH_H
#define WATCH_H

#include "tool.h"

/* What is noted of recordings, one kind of note or another: those of table_note, and of columns. */
enum { NOTE_ORDER = TABLE_NOTES, NOTE_POSITION, NOTE_EXTRA, RECORDING_NOTES };

typedef struct recording_note {
    char *text; /* of the first recording, or NULL */
    size_t more;
} recording_note;

typedef struct recording {
    char *file, *worst; /* worst: the column that stands out, or NULL */
    uint64_t checksum;
    double p, log_evidence, log_change;
} recording;

enum { MOST_RECORDINGS = 1000000 }; /* of one tester */

/* Options that shape the tester or the reading of recordings: a state keeps what they were. */
enum { KEPT_OPTIONS = 17 };
extern const char *const kept_options[KEPT_OPTIONS];

typedef struct watcher {
    settings *settings;
    char *kept_values[KEPT_OPTIONS]; /* NULL: not used */
    notes notes;
    recording_note noted[RECORDING_NOTES];
    size_t n; /* rows of a data set */
    encoding encoding;
    double *mean, *sd;  /* encoding.m: of rows of the source; NaN where they are not known */
    int named;          /* the columns have names */
    size_t *kept, full; /* places of the columns among all `full` of a recording */
    char *blob;         /* the tester, as npksd_tester_save writes it */
    size_t blob_bytes;
    npksd_tester *tester;
    npksd_monitor monitor;
    npksd_real *memory; /* monitor.capacity */
    recording *recordings;
    size_t count, before;   /* all, and those of earlier runs */
    size_t restarts, first; /* testers before this one, and the recordings that they served */
    int new_file;           /* --synthetic or --load is another file than before */
    size_t waiting;         /* recordings that need a new tester, for which there is no source */
} watcher;

int is_full(const watcher *w); /* has the tester served as many recordings as --memory says? */
/* Calibrates a tester and keeps it as bytes. */
void take_blob(watcher *w, npksd_sample_fn draw, void *user_data, const npksd_options *options);
/* generator.c: the same with a program as the source. */
void watch_program(watcher *w, comparison *c, const npksd_options *options,
                   const program_source *source);

/* state.c */
int is_state(const char *text); /* of this version or another one */
/* 0 if there is no such file. */
int state_load(watcher *w, const char *file);
int state_save(const watcher *w, const char *file);

#endif
