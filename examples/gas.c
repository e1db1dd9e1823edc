/* Does my particle engine keep the Maxwell distribution? Follow one particle in a gas.
 *
 * Its velocity is recorded after each of its collisions. A collision changes only part of a
 * velocity, so successive rows of the recording resemble each other. Maxwell's law says what one
 * row looks like, and it is tempting to let the generator draw independent rows from it. But then
 * even a valid recording looks wrong, because independent rows cover the distribution faster than
 * a trajectory does. The remedy: one data set is one trajectory. The generator starts a gas in
 * Maxwell's distribution and follows one of its particles through collisions known to be right.
 * The p-value is then exact, however much the rows depend on each other.
 *
 * The engine is tested with a sound gas, one that loses energy, and one that is too hot. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTICLES = 48, COLLISIONS = 120, DIMENSIONS = 3, RECORDINGS = 40 };

typedef struct engine {
    npksd_real temperature;
    npksd_real restitution; /* 1: collisions keep the energy */
} engine;

/* Reverses the relative velocity along a random direction; restitution < 1 loses energy. */
static void collide(npksd_real *a, npksd_real *b, npksd_real restitution, npksd_rng *rng)
{
    npksd_real direction[DIMENSIONS], length2 = 0, along = 0;
    for (int k = 0; k < DIMENSIONS; k++) {
        direction[k] = npksd_normal(rng);
        length2 += direction[k] * direction[k];
        along += (a[k] - b[k]) * direction[k];
    }
    for (int k = 0; k < DIMENSIONS; k++) {
        npksd_real push = (1 + restitution) / 2 * along * direction[k] / length2;
        a[k] -= push;
        b[k] += push;
    }
}

static size_t another(size_t self, npksd_rng *rng)
{
    size_t other = (size_t)(npksd_uniform(rng) * (PARTICLES - 1));
    return other + (other >= self);
}

/* One trajectory: a row after each collision of particle 0; the others collide as well. */
static int follow_particle(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                           void *user_data)
{
    const engine *e = (const engine *)user_data;
    npksd_real velocity[PARTICLES][DIMENSIONS], speed = (npksd_real)sqrt((double)e->temperature);
    for (size_t p = 0; p < PARTICLES; p++)
        for (int k = 0; k < DIMENSIONS; k++)
            velocity[p][k] = speed * npksd_normal(rng);
    for (size_t r = 0; r < count;) {
        size_t a = (size_t)(npksd_uniform(rng) * PARTICLES), b = another(a, rng);
        collide(velocity[a], velocity[b], e->restitution, rng);
        if (a != 0 && b != 0)
            continue;
        for (size_t k = 0; k < m; k++)
            rows[r * m + k] = velocity[0][k];
        r++;
    }
    return 0;
}

/* The tempting shortcut: independent rows from Maxwell's law. */
static int independent_rows(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                            void *user_data)
{
    npksd_real speed = (npksd_real)sqrt((double)((const engine *)user_data)->temperature);
    for (size_t i = 0; i < count * m; i++)
        rows[i] = speed * npksd_normal(rng);
    return 0;
}

static void must(npksd_status status, const char *what)
{
    if (status != NPKSD_OK) {
        fprintf(stderr, "gas: %s: %s\n", what, npksd_status_string(status));
        exit(EXIT_FAILURE);
    }
}

static npksd_tester *prepare(npksd_sample_fn sample_fn, engine *reference)
{
    npksd_tester *tester;
    must(npksd_tester_create(&tester, COLLISIONS, DIMENSIONS, sample_fn, reference, NULL),
         "create");
    must(npksd_tester_step(tester, SIZE_MAX), "calibrate");
    return tester;
}

/* How many of the recordings of an engine does a tester reject? */
static int count_rejected(npksd_tester *tester, engine *tested)
{
    static npksd_real recording[COLLISIONS * DIMENSIONS];
    int rejected = 0;
    for (size_t k = 0; k < RECORDINGS; k++) {
        npksd_result result;
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 1860, k);
        follow_particle(recording, COLLISIONS, DIMENSIONS, &rng, tested);
        must(npksd_tester_check(tester, recording, &result, NULL), "check");
        rejected += result.reject;
    }
    return rejected;
}

int main(void)
{
    engine sound = { 1, 1 }, lossy = { 1, (npksd_real)0.95 }, hot = { 2, 1 };
    npksd_tester *trajectories = prepare(follow_particle, &sound);
    npksd_tester *rows = prepare(independent_rows, &sound);
    int right = count_rejected(trajectories, &sound), loss = count_rejected(trajectories, &lossy);
    int heat = count_rejected(trajectories, &hot), wrong = count_rejected(rows, &sound);
    printf("rejected at level 0.05, of %d recordings of %d collisions\n", RECORDINGS, COLLISIONS);
    printf("  one data set is one trajectory\n");
    printf("    a sound gas                         %2d   as it should be\n", right);
    printf("    collisions lose 5 %% of their speed  %2d\n", loss);
    printf("    twice as hot as it should be        %2d\n", heat);
    printf(
        "  one row is one draw from Maxwell's law (wrong: rows of a trajectory are dependent)\n");
    printf("    a sound gas                         %2d   false alarms\n", wrong);
    npksd_tester_destroy(rows);
    npksd_tester_destroy(trajectories);
    /* at a level of 0.05, 8 of 40 would happen once in 2000 runs; the seed is fixed */
    return right < 8 && loss > 20 && heat > 15 && wrong > 20 ? EXIT_SUCCESS : EXIT_FAILURE;
}
