/*
 * What speed.c and the builds that it compares share. speed_variant.c is compiled several times, each
 * time with other flags and the whole of npksd.h inside, and hands its functions out in a table: so
 * all builds run in one program, in turn, and a noisy moment hits all of them.
 */
#ifndef SPEED_H
#define SPEED_H

typedef struct speed_variant {
    const char *name, *flags;
    npksd_rng (*seeded_fn)(npksd_rng_state *state, uint64_t seed, uint64_t stream);
    void (*normals_fn)(npksd_real *values, size_t count, npksd_rng *rng);
    void (*exps_fn)(const npksd_real *values, size_t count, npksd_real *out);
    npksd_status (*create_fn)(npksd_tester **tester, size_t n, size_t m, npksd_sample_fn sample_fn,
                              void *user_data, const npksd_options *options);
    npksd_status (*prepare_fn)(npksd_tester *tester);
    npksd_status (*step_fn)(npksd_tester *tester, size_t units);
    npksd_status (*check_fn)(npksd_tester *tester, const npksd_real *observed,
                             npksd_result *result, npksd_diagnosis *diagnosis);
    void (*destroy_fn)(npksd_tester *tester);
    npksd_status (*scores_fn)(npksd_tester *tester, const npksd_real *rows, size_t count,
                              npksd_real *scores);
    size_t (*scratch_size_fn)(const npksd_tester *tester);
    npksd_status (*replicates_fn)(const npksd_tester *tester, npksd_worker *worker, size_t first,
                                  size_t count, npksd_real *out);
} speed_variant;

extern const speed_variant speed_native, speed_plain;
#ifdef BENCH_BLAS
extern const speed_variant speed_blas;
#endif

#endif /* SPEED_H */
