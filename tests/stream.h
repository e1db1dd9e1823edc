/*
 * Streams for a monitor, by the thousand. A fresh null for each stream is given to one tester by
 * npksd_tester_merge, so that nothing is fitted again; monitor and tester are the real ones. Ranks do not
 * depend on how statistics are distributed: they are normal here, those of changed recordings shifted.
 */
#ifndef NPKSD_TESTS_STREAM_H
#define NPKSD_TESTS_STREAM_H

#include "npksd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct stream {
    npksd_tester *tester;
    npksd_result result; /* one of this tester's, to put statistics into */
    npksd_monitor monitor;
    npksd_real *null_values, *memory;
    size_t replicates, length; /* b, and room for so many recordings */
    double grain;              /* > 0: statistics are multiples of it, and tie */
    npksd_rng rng; /* of the recordings */
    npksd_rng_state state;
} stream;

static inline void stream_must(npksd_status status)
{
    if (status == NPKSD_OK)
        return;
    fprintf(stderr, "a stream of recordings: %s\n", npksd_status_string(status));
    exit(2);
}

static inline int stream_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

static inline void stream_open(stream *s, size_t replicates, size_t length, double grain)
{
    const npksd_real rows[4] = { 0, 1, 2, 3 };
    npksd_options options = npksd_default_options();
    options.replicates = replicates;
    options.fit_rows = 100;
    options.pilot = 5;
    s->replicates = replicates;
    s->length = length;
    s->grain = grain;
    s->null_values = (npksd_real *)malloc((replicates + length) * sizeof *s->null_values);
    if (s->null_values == NULL)
        stream_must(NPKSD_ERROR_MEMORY);
    s->memory = s->null_values + replicates;
    stream_must(npksd_tester_create(&s->tester, 4, 1, stream_sample, NULL, &options));
    stream_must(npksd_tester_step(s->tester, (size_t)-1));
    stream_must(npksd_tester_check(s->tester, rows, &s->result, NULL));
}

static inline void stream_close(stream *s)
{
    npksd_tester_destroy(s->tester);
    free(s->null_values);
}

static inline npksd_real stream_draw(const stream *s, npksd_rng *rng, double shift)
{
    double x = (double)npksd_normal(rng) + shift;
    return (npksd_real)(s->grain > 0 ? s->grain * floor(x / s->grain) : x);
}

static inline void stream_fresh_null(stream *s, uint64_t seed)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 1);
    for (size_t r = 0; r < s->replicates; r++)
        s->null_values[r] = stream_draw(s, &rng, 0);
    stream_must(npksd_tester_merge(s->tester, 0, s->replicates, s->null_values));
}

static inline void stream_begin(stream *s, double alpha, uint64_t seed)
{
    s->rng = npksd_rng_seeded(&s->state, seed, 2);
    stream_must(npksd_monitor_begin(&s->monitor, (npksd_real)alpha, s->length, seed));
}

/* the next recording; returns its statistic */
static inline double stream_add(stream *s, double shift)
{
    s->result.statistic = stream_draw(s, &s->rng, shift);
    stream_must(npksd_monitor_add(&s->monitor, s->tester, s->memory, &s->result));
    return (double)s->result.statistic;
}

#endif /* NPKSD_TESTS_STREAM_H */
