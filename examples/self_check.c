/* Before you trust a test: is the generator fit for it, and would the recording be long enough?
 *
 * npksd_self_check runs the whole test on data that the generator drew itself. It finds generators
 * that keep hidden state, call rand() or ignore the rng they are given; with those a p-value means
 * nothing. npksd_power then says how often a recording of n rows would show a given change. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <stdio.h>
#include <stdlib.h>

enum { N = 50, M = 3, RUNS = 60 };

/* As it should be: every random number comes from rng. user_data: how jumpy. */
static int footsteps(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    npksd_real jumpy = user_data ? *(const npksd_real *)user_data : 1;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = 1 + (npksd_real)0.2 * jumpy * npksd_normal(rng);
    return 0;
}

/* Wrong: rand() has a state that the test cannot reset. */
static int uses_rand(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)rng;
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = (npksd_real)(rand() % 1000 + rand() % 1000) / 1000;
    return 0;
}

/* Wrong: the same rows whatever the rng says. */
static int ignores_rng(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    npksd_rng_state state;
    npksd_rng mine = npksd_rng_seeded(&state, 1234, 0); /* "to make it reproducible" */
    (void)rng;
    return footsteps(rows, count, m, &mine, user_data);
}

static int check(const char *name, npksd_sample_fn sample_fn, const npksd_options *options)
{
    npksd_self_check_result result;
    npksd_status status = npksd_self_check(N, M, sample_fn, NULL, options, RUNS, &result);
    printf("%-12s ", name);
    if (status == NPKSD_ERROR_GENERATOR)
        printf("unfit: every data set is the same; draw from rng\n");
    else if (status != NPKSD_OK)
        printf("%s\n", npksd_status_string(status));
    else if (!result.repeatable)
        printf("unfit: the same stream gives different rows; rand(), a clock or a static inside?\n");
    else
        printf("%s: %zu of %zu rejected, mean p %.2f, too many small p-values: p = %.2f\n",
               result.suspicious ? "suspicious" : "fit", result.rejected, result.runs,
               (double)result.mean_p, (double)result.uniform_p);
    return status == NPKSD_OK && !result.suspicious;
}

int main(void)
{
    npksd_options options = npksd_default_options();
    options.fit_rows = 1000; /* a smaller test, as it is repeated */
    options.pilot = 50;
    options.replicates = 99;
    int good = check("footsteps", footsteps, &options);
    int bad = check("uses_rand", uses_rand, &options) + check("ignores_rng", ignores_rng, &options);
    if (!good || bad) {
        fprintf(stderr, "self_check: the first should be fit and the others unfit\n");
        return EXIT_FAILURE;
    }

    npksd_real jumpy = (npksd_real)1.25; /* the change that a recording must be able to show */
    printf("\nHow often would steps that are %.0f %% jumpier be noticed?\n",
           100 * ((double)jumpy - 1));
    for (size_t n = 25; n <= 200; n *= 2) {
        npksd_power_result power;
        npksd_status status = npksd_power(n, M, footsteps, NULL, footsteps, &jumpy, &options, 200,
                                          &power);
        if (status != NPKSD_OK) {
            const char *problem = npksd_options_problem(&options, n, M);
            fprintf(stderr, "self_check: %s\n", problem ? problem : npksd_status_string(status));
            return EXIT_FAILURE;
        }
        printf("  a recording of %3zu rows: %3.0f %% of the time (%.0f to %.0f %%)\n", n,
               100 * (double)power.power, 100 * (double)power.low, 100 * (double)power.high);
    }
    return EXIT_SUCCESS;
}
