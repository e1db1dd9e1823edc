/* A game's telemetry, night after night: when did it stop being the game that was balanced?
 *
 * Every night 40 matches are compared with the simulation that the game was balanced with. Testing
 * each night at p <= 0.05 gives a false alarm every 20 nights. A monitor combines all nights: look at
 * it every morning, and the probability that it *ever* raises a false alarm is bounded. A patch on
 * night 250 makes weapons 6 % stronger, which a single night shows one time in three.
 *
 * The memory of the monitor holds a year. On night 366 a tester with another seed takes over. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATCHES = 40, COLUMNS = 3, NIGHTS = 400, PATCH = 250, YEAR = 365 };
enum { FUTURES = 25, PATIENCE = 100 }; /* how many are simulated, and for how many nights */

/* The generator: count matches; minutes, kills, damage per shot. */
static int play(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    double weapon = *(const double *)user_data;
    for (size_t r = 0; r < count; r++) {
        double pace = (double)npksd_normal(rng), aim = (double)npksd_normal(rng);
        double minutes = 14 * exp(0.25 * pace + 0.1 * (double)npksd_normal(rng));
        double damage = weapon * (30 + 5 * aim);
        double kills = floor(minutes * exp(0.3 * aim) * damage / 60 + 2 * npksd_uniform(rng));
        rows[r * m] = (npksd_real)minutes;
        rows[r * m + 1] = (npksd_real)kills;
        rows[r * m + 2] = (npksd_real)damage;
    }
    return 0;
}

static void must(const char *what, npksd_status status)
{
    if (status == NPKSD_OK)
        return;
    fprintf(stderr, "telemetry: %s: %s\n", what, npksd_status_string(status));
    exit(EXIT_FAILURE);
}

static npksd_tester *calibrate(uint64_t seed, double *balanced)
{
    npksd_options options = npksd_default_options();
    npksd_tester *tester;
    options.seed = seed;
    must("create", npksd_tester_create(&tester, MATCHES, COLUMNS, play, balanced, &options));
    must("fit", npksd_tester_step(tester, SIZE_MAX));
    return tester;
}

/* One night's matches, and what the test says about them. */
static npksd_result check_night(npksd_tester *tester, double weapon, uint64_t seed, uint64_t night)
{
    npksd_real rows[MATCHES * COLUMNS];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, night);
    npksd_result result;
    play(rows, MATCHES, COLUMNS, &rng, &weapon);
    must("check", npksd_tester_check(tester, rows, &result, NULL));
    return result;
}

static int compare(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* How many nights until weapons of this strength are noticed? A monitor is plain data: copy it and
   simulate a future. Medians over several of them. */
static void print_delays(npksd_monitor now, const npksd_real *memory, npksd_tester *tester,
                         double weapon)
{
    static npksd_real copy[YEAR];
    size_t evidence[FUTURES], change[FUTURES];
    double rejected = 0;
    for (uint64_t future = 0; future < FUTURES; future++) {
        npksd_monitor monitor = now;
        memcpy(copy, memory, sizeof copy);
        for (size_t night = 1; night <= PATIENCE && !monitor.alarm; night++) {
            npksd_result result = check_night(tester, weapon, 1000 + future, night);
            must("add", npksd_monitor_add(&monitor, tester, copy, &result));
            rejected += night == 1 && result.reject;
        }
        evidence[future] = monitor.alarm ? monitor.alarm_at - now.recordings : PATIENCE;
        change[future] = monitor.change_alarm ? monitor.change_alarm_at - now.recordings : PATIENCE;
    }
    qsort(evidence, FUTURES, sizeof *evidence, compare);
    qsort(change, FUTURES, sizeof *change, compare);
    printf("%+3.0f %%: a single night shows it in %3.0f %% of cases; M after %zu nights, E after %zu%s\n",
           100 * (weapon - 1), 100 * rejected / FUTURES, change[FUTURES / 2], evidence[FUTURES / 2],
           evidence[FUTURES / 2] == PATIENCE ? " or more" : "");
}

int main(void)
{
    static npksd_real memory[YEAR], memory_before[YEAR];
    const double sizes[3] = { 1.04, 1.06, 1.1 };
    double balanced = 1, patched = 1.06;
    npksd_monitor monitor, before;
    npksd_tester *first = calibrate(0, &balanced), *second = NULL, *tester = first;
    size_t alarms = 0;
    memset(&before, 0, sizeof before);
    must("begin", npksd_monitor_begin(&monitor, (npksd_real)0.001, YEAR, 0));
    printf("night      p   evidence E   change M\n");
    for (size_t night = 1; night <= NIGHTS; night++) {
        int known = monitor.alarm + monitor.change_alarm;
        if (night == PATCH) { /* for the question at the end */
            before = monitor;
            memcpy(memory_before, memory, sizeof memory);
        }
        if (night == YEAR + 1) { /* the memory is full */
            tester = second = calibrate(1, &balanced);
            must("restart", npksd_monitor_restart(&monitor, tester));
        }
        npksd_result result = check_night(tester, night < PATCH ? balanced : patched, 2026, night);
        must("add", npksd_monitor_add(&monitor, tester, memory, &result));
        alarms += night < PATCH && result.reject;
        if (night % 50 == 0 || monitor.alarm + monitor.change_alarm > known)
            printf("%5zu  %.3f  %11.3g  %9.3g%s%s\n", night, (double)result.p_value,
                   exp((double)monitor.log_evidence), exp((double)monitor.log_change),
                   monitor.change_alarm_at == night ? "  M: the game has changed" : "",
                   monitor.alarm_at == night ? "  E: this is a different game" : "");
    }
    printf("p <= 0.05 each night: %zu false alarms in the %d nights before the patch\n\n", alarms,
           PATCH - 1);
    printf("How soon would a change of another size have been noticed?\n");
    for (size_t k = 0; k < 3; k++)
        print_delays(before, memory_before, first, sizes[k]);
    npksd_tester_destroy(first);
    npksd_tester_destroy(second);
    return monitor.alarm_at < PATCH || monitor.change_alarm_at < PATCH; /* 1: a false alarm, or none at all */
}
