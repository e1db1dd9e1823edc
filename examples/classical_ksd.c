/* The classical kernel Stein discrepancy: a density known up to its constant, and no generator.
 *
 * A physics engine should leave particles distributed like exp(-E(x)/T) in a double-well landscape.
 * Nobody can draw from that density directly, and nobody knows its constant, but its score
 * d log q / dx = -E'(x)/T is easy. With an explicit score the null distribution comes from a wild
 * bootstrap of the observed rows themselves, and sample_fn is NULL. Two conditions: the rows must
 * not depend on each other (here each is a separate particle), and the p-value is not exact but
 * asymptotic: it is right for many rows, and result.flags says so. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 400, M = 2 };

/* E(x, y) = (x^2 - 1)^2 + y^2 / 2 + x y / 2: two valleys, tilted against each other. */
static double energy(double x, double y)
{
    return (x * x - 1) * (x * x - 1) + y * y / 2 + x * y / 2;
}

static int score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores,
                 void *user_data)
{
    npksd_real temperature = *(const npksd_real *)user_data;
    for (size_t r = 0; r < count; r++) {
        npksd_real x = rows[r * m], y = rows[r * m + 1];
        scores[r * m] = -(4 * x * (x * x - 1) + y / 2) / temperature;
        scores[r * m + 1] = -(y + x / 2) / temperature;
    }
    return 0;
}

/* The engine under test: Metropolis steps; each particle has its own random start. */
static void simulate(npksd_real *rows, double temperature, uint64_t seed)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 0);
    for (size_t r = 0; r < N; r++) {
        double x = (double)npksd_normal(&rng), y = (double)npksd_normal(&rng);
        for (int step = 0; step < 500; step++) {
            double x2 = x + 0.8 * (double)npksd_normal(&rng);
            double y2 = y + 0.8 * (double)npksd_normal(&rng);
            if ((double)npksd_uniform(&rng) < exp((energy(x, y) - energy(x2, y2)) / temperature)) {
                x = x2;
                y = y2;
            }
        }
        rows[r * M] = (npksd_real)x;
        rows[r * M + 1] = (npksd_real)y;
    }
}

int main(void)
{
    static npksd_real rows[N * M];
    const double temperatures[3] = { 0.5, 0.75, 1 };
    npksd_real claimed = (npksd_real)0.5;
    npksd_options options = npksd_default_options();
    options.estimator = NPKSD_ESTIMATOR_CALLBACK;
    options.score_fn = score;
    options.score_user_data = &claimed;
    options.calibration = NPKSD_CALIBRATE_WILD_BOOTSTRAP;
    options.components = NPKSD_COMPONENT_STEIN; /* the bootstrap is valid for this one only */
    options.standardize = 0; /* there is no fit sample to learn a scale from ... */
    options.bandwidth = 1;   /* ... or a bandwidth; 1 is about the width of a valley */

    const char *problem = npksd_options_problem(&options, N, M);
    if (problem) {
        fprintf(stderr, "classical_ksd: option %s\n", problem);
        return EXIT_FAILURE;
    }
    printf("claimed temperature %.2f\n", (double)claimed);
    for (size_t k = 0; k < 3; k++) {
        npksd_result result;
        simulate(rows, temperatures[k], 100 + k);
        npksd_status status = npksd_test(rows, N, M, NULL, NULL, &options, &result);
        if (status != NPKSD_OK) {
            fprintf(stderr, "classical_ksd: %s\n", npksd_status_string(status));
            return EXIT_FAILURE;
        }
        printf("particles at temperature %.2f: p = %.3f%s, %-12s KSD^2 = %8.5f\n", temperatures[k],
               (double)result.p_value, result.flags & NPKSD_FLAG_ASYMPTOTIC ? " (asymptotic)" : "",
               result.reject ? "rejected" : "not rejected", (double)result.ksd2);
    }
    return EXIT_SUCCESS;
}
