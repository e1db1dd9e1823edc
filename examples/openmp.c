/* The replicates in an OpenMP loop: a few at a time for whichever thread is free.
 *
 * Every thread has its own worker (scratch memory). Replicate r uses random stream r, so the
 * schedule cannot change a bit. With a caller's rng in the options each worker would also need its
 * own rng. threads.c shows the same with plain threads. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _OPENMP
#error "compile with -fopenmp"
#endif
#include <omp.h>

enum { N = 100, M = 5, REPLICATES = 499, CHUNK = 16 };

/* The generator: a random walk with friction. No state between calls, so threads may share it. */
static int walk(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t r = 0; r < count; r++) {
        npksd_real x = 0;
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = x = (npksd_real)0.8 * x + npksd_normal(rng);
    }
    return 0;
}

/* All replicates on this many threads, into the tester. */
static npksd_status run_replicates(npksd_tester *tester, int threads)
{
    size_t scratch = npksd_tester_scratch_size(tester);
    unsigned char *memory = (unsigned char *)malloc((size_t)threads * scratch);
    static npksd_real values[REPLICATES]; /* npksd_tester_width is 1 without options.diagnose */
    int failed = 0;
    if (!memory)
        return NPKSD_ERROR_MEMORY;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int first = 0; first < REPLICATES; first += CHUNK) {
        npksd_worker worker;
        memset(&worker, 0, sizeof worker);
        worker.scratch = memory + (size_t)omp_get_thread_num() * scratch;
        worker.scratch_bytes = scratch;
        size_t count = (size_t)(first + CHUNK < REPLICATES ? CHUNK : REPLICATES - first);
        npksd_status status = npksd_tester_replicates(tester, &worker, (size_t)first, count,
                                                      values + first);
        if (status != NPKSD_OK) {
#pragma omp atomic write
            failed = status;
        }
    }
    free(memory);
    return failed ? (npksd_status)failed : npksd_tester_merge(tester, 0, REPLICATES, values);
}

int main(void)
{
    static npksd_real observed[N * M], first[REPLICATES], null[REPLICATES];
    int most = omp_get_max_threads() > 1 ? omp_get_max_threads() : 2;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 9, 0);
    npksd_options options = npksd_default_options();
    options.replicates = REPLICATES;
    walk(observed, N, M, &rng, NULL);
    for (int threads = 1; threads <= most; threads += most - 1) {
        npksd_result result;
        npksd_tester *tester;
        npksd_status status = npksd_tester_create(&tester, N, M, walk, NULL, &options);
        if (status == NPKSD_OK)
            status = npksd_tester_prepare(tester); /* fit and pilot; then the threads start */
        if (status == NPKSD_OK)
            status = run_replicates(tester, threads);
        if (status == NPKSD_OK)
            status = npksd_tester_check(tester, observed, &result, NULL);
        if (status == NPKSD_OK)
            status = npksd_tester_null(tester, threads == 1 ? first : null, REPLICATES, NULL);
        npksd_tester_destroy(tester);
        if (status != NPKSD_OK) {
            fprintf(stderr, "openmp: %s\n", npksd_status_string(status));
            return EXIT_FAILURE;
        }
        printf("%d thread%s p = %.3f\n", threads, threads > 1 ? "s:" : ": ",
               (double)result.p_value);
    }
    if (memcmp(first, null, sizeof null) != 0) {
        fprintf(stderr, "openmp: %d threads and one thread give different numbers\n", most);
        return EXIT_FAILURE;
    }
    printf("the same %d null values, bit for bit\n", REPLICATES);
    return EXIT_SUCCESS;
}
