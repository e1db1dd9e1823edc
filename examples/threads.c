/* The replicates on your own threads (POSIX threads here; a job system works the same way).
 *
 * prepare fits and standardises. Then any number of threads call npksd_tester_replicates on the
 * *same* tester, each with its own worker (scratch memory), and the results are merged. Replicate r
 * uses random stream r, so the split cannot change a bit: this program runs with 1, 2 and 4 threads
 * and compares every null value. */
#define _POSIX_C_SOURCE 200809L
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 100, M = 5, REPLICATES = 499, THREADS_MAX = 4 };

/* The generator: autoregressive noise. It keeps no state between calls, so threads may share it;
   otherwise each thread would need its own worker.user_data. */
static int weather(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    const npksd_real memory = *(const npksd_real *)user_data;
    for (size_t r = 0; r < count; r++) {
        npksd_real x = npksd_normal(rng);
        for (size_t i = 0; i < m; i++) {
            x = memory * x + npksd_normal(rng);
            rows[r * m + i] = x;
        }
    }
    return 0;
}

typedef struct job {
    const npksd_tester *tester; /* shared, const */
    npksd_worker worker;        /* this thread's own */
    size_t first, count;        /* its replicates */
    npksd_real *out;
    npksd_status status;
} job;

static void *work(void *argument)
{
    job *j = (job *)argument;
    j->status = npksd_tester_replicates(j->tester, &j->worker, j->first, j->count, j->out);
    return NULL;
}

/* Replicates 0 .. total-1 in `threads` equal shares. */
static npksd_status run_replicates(npksd_tester *tester, size_t total, size_t threads)
{
    pthread_t handles[THREADS_MAX];
    job jobs[THREADS_MAX];
    size_t scratch = npksd_tester_scratch_size(tester), width = npksd_tester_width(tester);
    unsigned char *memory = (unsigned char *)malloc(threads * scratch);
    npksd_real *values = (npksd_real *)malloc(total * width * sizeof *values);
    npksd_status status = memory && values ? NPKSD_OK : NPKSD_ERROR_MEMORY;
    size_t started = 0;
    for (; status == NPKSD_OK && started < threads; started++) {
        job *j = &jobs[started];
        memset(j, 0, sizeof *j); /* zero: the built-in rng; with options.rng each job needs its own */
        j->tester = tester;
        j->worker.scratch = memory + started * scratch;
        j->worker.scratch_bytes = scratch;
        j->first = total * started / threads;
        j->count = total * (started + 1) / threads - j->first;
        j->out = values + j->first * width;
        if (pthread_create(&handles[started], NULL, work, j) != 0) {
            fprintf(stderr, "threads: thread %zu does not start\n", started + 1);
            status = NPKSD_ERROR_MEMORY;
            break;
        }
    }
    for (size_t k = 0; k < started; k++) {
        pthread_join(handles[k], NULL);
        if (status == NPKSD_OK)
            status = jobs[k].status;
    }
    if (status == NPKSD_OK)
        status = npksd_tester_merge(tester, 0, total, values);
    free(values);
    free(memory);
    return status;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static npksd_status test(const npksd_real *observed, npksd_real *memory, size_t threads,
                         npksd_result *result, npksd_real *null, double *time)
{
    npksd_options options = npksd_default_options();
    npksd_tester *tester;
    options.replicates = REPLICATES;
    npksd_status status = npksd_tester_create(&tester, N, M, weather, memory, &options);
    if (status == NPKSD_OK)
        status = npksd_tester_prepare(tester);
    double start = seconds();
    if (status == NPKSD_OK)
        status = run_replicates(tester, REPLICATES, threads);
    *time = seconds() - start;
    if (status == NPKSD_OK)
        status = npksd_tester_check(tester, observed, result, NULL);
    if (status == NPKSD_OK)
        status = npksd_tester_null(tester, null, REPLICATES, NULL);
    npksd_tester_destroy(tester);
    return status;
}

int main(void)
{
    static npksd_real observed[N * M], first[REPLICATES], null[REPLICATES];
    npksd_real memory = (npksd_real)0.5;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 5, 0);
    weather(observed, N, M, &rng, &memory);
    for (size_t threads = 1; threads <= THREADS_MAX; threads *= 2) {
        npksd_result result;
        double time = 0;
        npksd_status status = test(observed, &memory, threads, &result, null, &time);
        if (status != NPKSD_OK) {
            fprintf(stderr, "threads: %s\n", npksd_status_string(status));
            return EXIT_FAILURE;
        }
        printf("%zu thread%s p = %.3f, statistic %.6f, replicates in %.0f ms\n", threads,
               threads > 1 ? "s:" : ": ", (double)result.p_value, (double)result.statistic,
               1e3 * time);
        if (threads == 1)
            memcpy(first, null, sizeof null);
        else if (memcmp(first, null, sizeof null) != 0) {
            fprintf(stderr, "threads: %zu threads and one thread give different numbers\n", threads);
            return EXIT_FAILURE;
        }
    }
    printf("the same %d null values each time, bit for bit\n", REPLICATES);
    return EXIT_SUCCESS;
}
