/*
 * What speed.c and the builds that it compares share. speed_variant.c is compiled several times, each
 * time with another compiler, other flags or another npksd.h, which is private to it: so all builds run
 * in one program, in turn, and a noisy moment hits all of them.
 */
#ifndef SPEED_H
#define SPEED_H

#include "bench.h"

typedef struct speed_shape {
    size_t n, m, b, pilot, features; /* pilot 0: the default */
} speed_shape;

typedef struct speed_run {
    double data_set, whole; /* processor seconds: a replicate, the test */
    double statistic;
} speed_run;

/* what one data set needs at least; speed.c has a table of what each part counts */
enum { FLOOR_PRODUCTS = 1, FLOORS = 8 };

typedef struct speed_variant {
    const char *name, *built;
    speed_run (*test_fn)(const speed_shape *shape); /* default options, normal rows */
    void (*floor_fn)(size_t n, size_t m, double seconds[FLOORS]);  /* NULL, and the next too: another commit */
    void (*peers_fn)(const speed_shape *shape, double seconds[2]); /* MMDAgg, MMD-FUSE */
} speed_variant;

static size_t speed_calls; /* of this generator */

static BENCH_UNUSED int speed_draw(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    speed_calls++;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

/* rows that no test draws: another seed */
static BENCH_UNUSED npksd_real *speed_rows(size_t count, size_t m)
{
    npksd_real *rows = (npksd_real *)bench_alloc(count * m, sizeof *rows);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 7, 7);
    speed_draw(rows, count, m, &rng, NULL);
    return rows;
}

static BENCH_UNUSED npksd_options speed_options(const speed_shape *shape)
{
    npksd_options o = npksd_default_options();
    o.replicates = shape->b;
    o.alpha = (npksd_real)0.1; /* so that few replicates will do */
    o.pilot = shape->pilot > 0 ? shape->pilot : o.pilot;
    o.features = shape->features;
    return o;
}

#endif /* SPEED_H */
