/* The replicates spread over MPI ranks: mpirun -n 2 build/mpi
 *
 * Every rank prepares the same tester (same seed, same bits; that is cheaper than sending it) and
 * does its share of the replicates; rank 0 collects them with MPI_Gatherv. Replicate r uses random
 * stream r, so the number of ranks cannot change a bit. Ranks on different kinds of machine need a
 * build without contraction (-ffp-contract=off) to agree to the last bit. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100, M = 6, REPLICATES = 499 };

#ifdef NPKSD_FLOAT
#define MPI_REAL_TYPE MPI_FLOAT
#else
#define MPI_REAL_TYPE MPI_DOUBLE
#endif

/* The generator: particles that share a common push. */
static int particles(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t r = 0; r < count; r++) {
        npksd_real push = npksd_normal(rng);
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = push / 2 + npksd_normal(rng);
    }
    return 0;
}

/* All ranks stop together if one of them failed. */
static void stop_on_error(npksd_status status, int rank, const char *what)
{
    int mine = (int)status, worst = 0;
    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (worst >= 0)
        return;
    if (status < 0)
        fprintf(stderr, "mpi: rank %d: %s: %s\n", rank, what, npksd_status_string(status));
    MPI_Finalize();
    exit(EXIT_FAILURE);
}

/* Rank 0: the same test without MPI must give the same null values. */
static npksd_status compare(const npksd_real *gathered, const npksd_options *options)
{
    static npksd_real alone[REPLICATES];
    npksd_tester *tester;
    npksd_status status = npksd_tester_create(&tester, N, M, particles, NULL, options);
    if (status == NPKSD_OK)
        status = npksd_tester_step(tester, SIZE_MAX);
    if (status == NPKSD_OK)
        status = npksd_tester_null(tester, alone, REPLICATES, NULL);
    npksd_tester_destroy(tester);
    if (status == NPKSD_OK && memcmp(alone, gathered, sizeof alone) != 0) {
        fprintf(stderr, "mpi: the ranks and one process give different numbers\n");
        return NPKSD_ERROR_NUMERIC;
    }
    return status;
}

int main(int argc, char **argv)
{
    static npksd_real observed[N * M], mine[REPLICATES], all[REPLICATES];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    npksd_options options = npksd_default_options();
    options.replicates = REPLICATES;
    npksd_tester *tester;
    npksd_status status = npksd_tester_create(&tester, N, M, particles, NULL, &options);
    if (status == NPKSD_OK)
        status = npksd_tester_prepare(tester);
    stop_on_error(status, rank, "prepare");

    int first = REPLICATES * rank / ranks, count = REPLICATES * (rank + 1) / ranks - first;
    npksd_worker worker;
    memset(&worker, 0, sizeof worker); /* one thread per rank: the tester's own scratch will do */
    status = npksd_tester_replicates(tester, &worker, (size_t)first, (size_t)count, mine);
    stop_on_error(status, rank, "replicates");

    int *counts = (int *)malloc(2 * (size_t)ranks * sizeof *counts), *offsets = counts + ranks;
    stop_on_error(counts ? NPKSD_OK : NPKSD_ERROR_MEMORY, rank, "gather");
    for (int k = 0; k < ranks; k++) {
        offsets[k] = REPLICATES * k / ranks;
        counts[k] = REPLICATES * (k + 1) / ranks - offsets[k];
    }
    MPI_Gatherv(mine, count, MPI_REAL_TYPE, all, counts, offsets, MPI_REAL_TYPE, 0, MPI_COMM_WORLD);
    free(counts);
    printf("rank %d of %d: replicates %d to %d\n", rank, ranks, first, first + count - 1);
    fflush(stdout);

    if (rank == 0) {
        npksd_result result;
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 9, 0);
        particles(observed, N, M, &rng, NULL); /* stands for the recording */
        status = npksd_tester_merge(tester, 0, REPLICATES, all);
        if (status == NPKSD_OK)
            status = npksd_tester_check(tester, observed, &result, NULL);
        if (status == NPKSD_OK)
            status = compare(all, &options);
        if (status == NPKSD_OK)
            printf("p = %.3f, %s; the same bits as in one process\n", (double)result.p_value,
                   result.reject ? "rejected" : "not rejected");
    }
    npksd_tester_destroy(tester);
    stop_on_error(status, rank, "check");
    MPI_Finalize();
    return EXIT_SUCCESS;
}
