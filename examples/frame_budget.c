/* A test inside the game loop: each frame gives it a slice of time, and no frame is late.
 *
 * The library has no clock. The loop below runs the game's fixed step, then does items of the test
 * until the slice is used up. An item is one generator call or a short piece of work. The recording
 * is checked in steps, too. At the end the program prints the longest and the average slice, and
 * the same for items in each phase of the test; the phase follows from the number of generator
 * calls. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 300, M = 6, BODIES = 400, PHASES = 4 };
static const double slice = 1e-3; /* seconds for the test, of a frame of 16.7 ms */

typedef struct simulation {
    npksd_real friction;
    size_t calls; /* how often the generator was called */
} simulation;

/* The generator: a session of N ball flights of M steps, as recorded. */
static int flights(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    simulation *s = (simulation *)user_data;
    s->calls++;
    for (size_t r = 0; r < count; r++) {
        npksd_real height = 0, speed = 5 + npksd_normal(rng);
        for (size_t i = 0; i < m; i++) {
            height += speed;
            speed -= s->friction * speed + (npksd_real)0.2 * npksd_normal(rng);
            rows[r * m + i] = height;
        }
    }
    return 0;
}

/* The rest of a frame: the game itself. */
static void game_step(double *position, double *velocity)
{
    for (int k = 0; k < BODIES; k++) {
        velocity[k] -= 9.81 / 60;
        position[k] += velocity[k] / 60;
        if (position[k] < 0) {
            position[k] = -position[k];
            velocity[k] = -0.9 * velocity[k];
        }
    }
}

/* Processor time, so that other programs do not blur the numbers; a game has its own clock. */
static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

typedef struct tally {
    size_t count;
    double sum, longest;
} tally;

static void add(tally *t, double time)
{
    t->count++;
    t->sum += time;
    t->longest = time > t->longest ? time : t->longest;
}

static void print(const char *name, const tally *t)
{
    printf("  %-12s %6zu %10.3f %10.3f\n", name, t->count,
           t->count ? 1e3 * t->sum / (double)t->count : 0.0, 1e3 * t->longest);
}

int main(void)
{
    static const char *const phases[PHASES] = { "fit", "pilot", "replicates", "check" };
    static npksd_real observed[N * M];
    static double position[BODIES], velocity[BODIES];
    simulation model = { (npksd_real)0.1, 0 }, world = { (npksd_real)0.1, 0 };
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 3, 0);
    flights(observed, N, M, &rng, &world); /* stands for the recording */

    npksd_options options = npksd_default_options();
    options.replicates = 199;
    npksd_tester *tester;
    npksd_status status = npksd_tester_create(&tester, N, M, flights, &model, &options);
    if (status != NPKSD_OK) { /* the only allocation: no frame will ever allocate */
        const char *problem = npksd_options_problem(&options, N, M);
        fprintf(stderr, "frame_budget: %s\n", problem ? problem : npksd_status_string(status));
        return EXIT_FAILURE;
    }
    /* the fit draws fit_rows and a quarter more, in data sets of n rows each */
    size_t fit_calls = (options.fit_rows + options.fit_rows / 4 + N - 1) / N;
    tally slices = { 0, 0, 0 }, items[PHASES] = { { 0, 0, 0 } };
    int checking = 0;
    for (status = NPKSD_MORE; status == NPKSD_MORE;) {
        game_step(position, velocity);
        double begin = seconds(), now = begin, longest_item = 0;
        do { /* go on while the longest item of this slice would still fit */
            double before = now;
            status = npksd_tester_step(tester, 1);
            if (status == NPKSD_OK && !checking) { /* all is drawn: now the recording, in steps */
                status = npksd_tester_check_begin(tester, observed);
                checking = 1;
                status = status == NPKSD_OK ? NPKSD_MORE : status;
            }
            now = seconds();
            size_t phase = checking                       ? 3
                : model.calls > fit_calls + options.pilot ? 2
                : model.calls > fit_calls                 ? 1
                                                          : 0;
            add(&items[phase], now - before);
            longest_item = now - before > longest_item ? now - before : longest_item;
        } while (status == NPKSD_MORE && now - begin + longest_item < slice);
        add(&slices, now - begin);
        if (slices.count % 100 == 0) {
            size_t done, total;
            npksd_tester_progress(tester, &done, &total);
            printf("frame %4zu: %zu of %zu items\n", slices.count, done, total);
        }
    }
    npksd_result result;
    if (status == NPKSD_OK)
        status = npksd_tester_check_end(tester, &result, NULL);
    npksd_tester_destroy(tester);
    if (status != NPKSD_OK) {
        fprintf(stderr, "frame_budget: %s\n", npksd_status_string(status));
        return EXIT_FAILURE;
    }
    printf("p = %.3f, %s, after %zu frames with a slice of %.1f ms\n\n", (double)result.p_value,
           result.reject ? "rejected" : "not rejected", slices.count, 1e3 * slice);
    printf("  %-12s %6s %10s %10s\n", "milliseconds", "count", "average", "longest");
    print("slices", &slices);
    for (size_t k = 0; k < PHASES; k++)
        print(phases[k], &items[k]);
    return EXIT_SUCCESS;
}
