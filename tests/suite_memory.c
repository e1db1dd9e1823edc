/* One allocation or none, exact sizes, and every failure at every place it can happen. */
#include "support.h"

static npksd_real data[SMALL_N * SMALL_M];

static int clean(const test_heap *heap) { return heap->live == 0 && heap->wrong == 0; }

/* ======== one allocation at create, none after; one for a test in one call ======== */

TEST one_allocation(void)
{
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        npksd_tester *tester = NULL;
        npksd_result result;
        npksd_real scores[SMALL_N * SMALL_M], null_values[SMALL_REPLICATES];
        test_heap heap;
        memset(&heap, 0, sizeof heap);
        options.allocator = heap_allocator(&heap);
        npksd_status status =
            npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options);
        ASSERT_STATUSm(variant_name(v), NPKSD_OK, status);
        ASSERT_EQm(variant_name(v), 1u, heap.asked.calls);
        ASSERT_STATUSm(variant_name(v), NPKSD_OK, finish(tester));
        for (int again = 0; again < 2; again++)
            ASSERT_STATUSm(variant_name(v), NPKSD_OK,
                           npksd_tester_check(tester, data, &result, NULL));
        ASSERT_STATUSm(variant_name(v), NPKSD_OK,
                       npksd_tester_scores(tester, data, SMALL_N, scores));
        ASSERT_STATUSm(variant_name(v), NPKSD_OK, npksd_tester_check_begin(tester, data));
        ASSERT_STATUSm(variant_name(v), NPKSD_OK, finish(tester));
        ASSERT_STATUSm(variant_name(v), NPKSD_OK, npksd_tester_check_end(tester, &result, NULL));
        npksd_tester_null(tester, null_values, SMALL_REPLICATES, NULL);
        ASSERT_EQm(variant_name(v), 1u, heap.asked.calls);
        ASSERT_EQm(variant_name(v), 1u, heap.live);
        npksd_tester_destroy(tester);
        ASSERTm(variant_name(v), clean(&heap));
        ASSERT_STATUSm(variant_name(v), NPKSD_OK,
                       npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, &result));
        ASSERT_EQm(variant_name(v), 2u, heap.asked.calls);
        ASSERTm(variant_name(v), clean(&heap));
    }
    PASS();
}

/* The header names a size; BLAS works on larger tiles. Arrays that nobody needs would show here. */
TEST size_as_stated(void)
{
    size_t bytes = 0, stated = sizeof(npksd_real) == sizeof(float) ? 92 : 171;
#ifdef NPKSD_USE_CBLAS
    stated = sizeof(npksd_real) == sizeof(float) ? 100 : 187;
#endif
    ASSERT_STATUS(NPKSD_OK, npksd_tester_size(100, 3, NULL, &bytes));
    ASSERT(bytes < stated * 1024);
    npksd_options options = npksd_default_options();
    for (size_t before = 0; options.resample++ < 3; before = bytes) { /* columns of the pairs */
        ASSERT_STATUS(NPKSD_OK, npksd_tester_size(100, 20, &options, &bytes));
        ASSERT(bytes > before && (before == 0 || bytes < before + 100 * 20 * sizeof(npksd_real)));
    }
    PASS();
}

static size_t size_of(size_t n, size_t fit_rows, size_t replicates)
{
    npksd_options options = npksd_default_options();
    size_t bytes = 0;
    options.fit_rows = fit_rows;
    options.replicates = replicates;
    return npksd_tester_size(n, 3, &options, &bytes) == NPKSD_OK ? bytes : 0;
}

/* With n, with the 1000 rows that are kept of the fit, with replicates; never with a square of them. */
TEST size_grows_as_stated(void)
{
    enum { ROWS = 1024, PADDING = 1024 };
    size_t first = size_of(2 * ROWS, 1000, 499) - size_of(ROWS, 1000, 499);
    size_t second = size_of(4 * ROWS, 1000, 499) - size_of(2 * ROWS, 1000, 499);
    ASSERT(first > 3 * ROWS * sizeof(npksd_real));
    ASSERT_IN_RANGE(2.0 * (double)first, (double)second, PADDING);
    ASSERT(size_of(100, 1000, 499) > size_of(100, 900, 499));
    ASSERT_EQ_FMT(size_of(100, 1000, 499), size_of(100, 1000000, 499), "%zu");
    first = size_of(100, 1000, 2 * ROWS) - size_of(100, 1000, ROWS);
    second = size_of(100, 1000, 4 * ROWS) - size_of(100, 1000, 2 * ROWS);
    ASSERT(first >= ROWS * sizeof(npksd_real));
    ASSERT_IN_RANGE(2.0 * (double)first, (double)second, PADDING);
    /* the fit keeps 4e6 / m rows of many columns: 41, and 40 of one column more (2 GB: too much for 32 bits) */
    npksd_options options = small_options();
    if (sizeof(size_t) == 4)
        PASS();
    ASSERT_STATUS(NPKSD_OK, npksd_tester_size(1, 97560, &options, &first));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_size(1, 97561, &options, &second));
    ASSERT(second < first);
    PASS();
}

/* With the square of a score's features, once for each column: RBF has 2 beside its bumps if there is no summary. */
TEST size_grows_with_features(void)
{
    static const size_t ms[] = { 1, 2, 4 };
    size_t bytes[3][3];
    for (size_t k = 0; k < 3; k++)
        for (size_t f = 0; f < 3; f++) {
            npksd_options options = small_options();
            set_options(&options, "rbf none fit_rows=1000");
            options.basis = ((size_t)64 << f) - 2;
            ASSERT_STATUS(NPKSD_OK, npksd_tester_size(SMALL_N, ms[k], &options, &bytes[k][f]));
        }
    size_t columns = 8 * (bytes[2][2] - bytes[1][2]) / (bytes[1][2] - bytes[0][2]);
    ASSERT(columns >= 15 && columns <= 17);
    for (size_t k = 0; k < 3; k++) {
        size_t growth = 8 * (bytes[k][2] - bytes[k][1]) / (bytes[k][1] - bytes[k][0]);
        ASSERT(growth >= 30 && growth <= 34);
    }
    PASS();
}

/* What only drawing needs is not in a blob: less memory, whatever the options; the header names a size. */
TEST loaded_is_smaller(void)
{
#ifdef NPKSD_USE_CBLAS
    enum { LOADED_KIB = 84 };
#else
    enum { LOADED_KIB = 68 };
#endif
    for (size_t v = 0; v <= variant_count(); v++) {
        int stated = v == variant_count();
        npksd_options options = stated ? npksd_default_options() : variant_options(v);
        size_t n = stated ? 100 : SMALL_N, bytes = 0, size = 0, loaded = 0;
        npksd_tester *tester = NULL;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_size(n, SMALL_M, &options, &bytes));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, n, SMALL_M, chain_sample, NULL, &options));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        if (npksd_tester_save(tester, NULL, 0, &size) == NPKSD_OK) { /* callbacks cannot be saved */
            void *blob = malloc(size);
            ASSERT_STATUS(NPKSD_OK, npksd_tester_save(tester, blob, size, &size));
            ASSERT_STATUS(NPKSD_OK, npksd_blob_info(blob, size, NULL, NULL, &loaded));
            free(blob);
            ASSERTm(stated ? "100 rows" : variant_name(v), loaded < bytes);
            ASSERT(!stated || loaded < LOADED_KIB * 1024);
        }
        npksd_tester_destroy(tester);
    }
    PASS();
}

/* An allocator need not do more than align numbers. */
static void *shifted_alloc(size_t bytes, void *unused)
{
    (void)unused;
    char *block = (char *)malloc(bytes + sizeof(npksd_real));
    return block ? block + sizeof(npksd_real) : NULL;
}

static void shifted_free(void *ptr, size_t bytes, void *unused)
{
    (void)bytes, (void)unused;
    free((char *)ptr - sizeof(npksd_real));
}

TEST aligned_for_numbers(void)
{
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        npksd_result plain, shifted;
        ASSERT_STATUS(NPKSD_OK, npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, &plain));
        options.allocator.alloc_fn = shifted_alloc;
        options.allocator.free_fn = shifted_free;
        ASSERT_STATUS(NPKSD_OK, npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, &shifted));
        ASSERTm(variant_name(v), same_result(&plain, &shifted));
    }
    PASS();
}

/* Summary ALL has moments of every column with every other one: soon more than can be counted. */
TEST size_beyond_counting(void)
{
    static const int estimators[] = { NPKSD_ESTIMATOR_AUTO, NPKSD_ESTIMATOR_GAUSS };
    for (size_t k = 0; k < 2; k++) {
        npksd_options options = npksd_default_options();
        npksd_tester *tester = NULL;
        size_t bytes = 7;
        options.summary = NPKSD_SUMMARY_ALL;
        options.estimator = estimators[k];
        ASSERT_EQ(NULL, npksd_options_problem(&options, 10, 70000));
        ASSERT_STATUS(NPKSD_ERROR_MEMORY, npksd_tester_size(10, 70000, &options, &bytes));
        ASSERT_EQ_FMT((size_t)7, bytes, "%zu");
        ASSERT_STATUS(NPKSD_ERROR_MEMORY, npksd_tester_create(&tester, 10, 70000, chain_sample, NULL, &options));
        ASSERT_STATUS(NPKSD_ERROR_MEMORY, npksd_tester_init(&tester, 10, 70000, chain_sample, NULL, &options, &bytes,
                                                            sizeof bytes));
    }
    PASS();
}

/* 2 GB for 100,000 columns: too much for 32 bits, where it is no argument's fault. */
TEST size_beyond_32_bits(void)
{
    size_t bytes = 7;
    npksd_status status = npksd_tester_size(20, 100000, NULL, &bytes);
    if (sizeof bytes > 4 || sizeof(npksd_real) == sizeof(float))
        ASSERT(status == NPKSD_OK && bytes > 100000 * 20 * sizeof(npksd_real));
    else
        ASSERT(status == NPKSD_ERROR_MEMORY && bytes == 7);
    PASS();
}

TEST destroy_at_any_time(void)
{
    for (size_t items = 0; items < 40; items++) {
        npksd_options options = small_options();
        npksd_tester *tester = NULL;
        test_heap heap;
        memset(&heap, 0, sizeof heap);
        options.allocator = heap_allocator(&heap);
        ASSERT_STATUS(NPKSD_OK,
                      npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
        ASSERT(npksd_tester_step(tester, items) >= 0);
        npksd_tester_destroy(tester);
        ASSERT(clean(&heap));
    }
    PASS();
}

/* ======== allocation number k fails ======== */

typedef npksd_status (*job_fn)(npksd_options *options, int *outputs_kept);

static npksd_status job_test(npksd_options *options, int *outputs_kept)
{
    npksd_result result;
    memset(&result, UNTOUCHED, sizeof result);
    npksd_status status = npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, options, &result);
    *outputs_kept = untouched(&result, sizeof result);
    return status;
}

static npksd_status job_create(npksd_options *options, int *outputs_kept)
{
    npksd_tester *tester = (npksd_tester *)data;
    npksd_status status =
        npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, options);
    *outputs_kept = tester == NULL;
    npksd_tester_destroy(tester);
    return status;
}

static npksd_status job_statistic(npksd_options *options, int *outputs_kept)
{
    npksd_real scores[SMALL_N * SMALL_M], out;
    memset(&out, UNTOUCHED, sizeof out);
    chain_score(data, SMALL_N, SMALL_M, scores, NULL);
    options->bandwidth = 1;
    options->statistic = NPKSD_STATISTIC_V;
    npksd_status status = npksd_statistic(data, scores, SMALL_N, SMALL_M, NULL, options, &out);
    *outputs_kept = untouched(&out, sizeof out);
    return status;
}

static npksd_status job_median(npksd_options *options, int *outputs_kept)
{
    npksd_real out;
    memset(&out, UNTOUCHED, sizeof out);
    npksd_status status = npksd_median_distance(data, SMALL_N, SMALL_M, options, &out);
    *outputs_kept = untouched(&out, sizeof out);
    return status;
}

static npksd_status job_samples(npksd_options *options, int *outputs_kept)
{
    static npksd_real synthetic[8 * SMALL_N * SMALL_M];
    npksd_result result;
    memset(&result, UNTOUCHED, sizeof result);
    draw_rows(synthetic, 8 * SMALL_N, SMALL_M, test_seed + 2500);
    npksd_status status = npksd_test_samples(data, SMALL_N, synthetic, 8 * SMALL_N, SMALL_M,
                                             options, &result);
    *outputs_kept = untouched(&result, sizeof result);
    return status;
}

static npksd_status job_test_diagnose(npksd_options *options, int *outputs_kept)
{
    npksd_result result;
    npksd_real out[SMALL_M + SMALL_REPLICATES];
    npksd_diagnosis diagnosis;
    memset(&result, UNTOUCHED, sizeof result);
    memset(out, UNTOUCHED, sizeof out);
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.coordinate_statistic = out;
    npksd_status status = npksd_test_diagnose(data, SMALL_N, SMALL_M, chain_sample, NULL, options,
                                              &result, &diagnosis, out + SMALL_M);
    *outputs_kept = untouched(&result, sizeof result) && untouched(out, sizeof out);
    return status;
}

static npksd_status job_self_check(npksd_options *options, int *outputs_kept)
{
    npksd_self_check_result result;
    memset(&result, UNTOUCHED, sizeof result);
    npksd_status status =
        npksd_self_check(SMALL_N, SMALL_M, chain_sample, NULL, options, 3, &result);
    *outputs_kept = untouched(&result, sizeof result);
    return status;
}

static npksd_status job_power(npksd_options *options, int *outputs_kept)
{
    npksd_power_result result;
    memset(&result, UNTOUCHED, sizeof result);
    npksd_status status = npksd_power(SMALL_N, SMALL_M, chain_sample, NULL, chain_sample, NULL,
                                      options, 3, &result);
    *outputs_kept = untouched(&result, sizeof result);
    return status;
}

static npksd_status job_load(npksd_options *options, int *outputs_kept)
{
    npksd_allocator allocator = options->allocator, none;
    npksd_tester *tester = NULL, *loaded = (npksd_tester *)data;
    size_t bytes = 0;
    void *blob = NULL;
    memset(&none, 0, sizeof none);
    options->allocator = none;
    npksd_status status =
        npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, options);
    if (status == NPKSD_OK)
        status = finish(tester);
    if (status == NPKSD_OK)
        status = npksd_tester_save(tester, NULL, 0, &bytes);
    if (status == NPKSD_OK) {
        blob = malloc(bytes);
        status = npksd_tester_save(tester, blob, bytes, &bytes);
    }
    if (status == NPKSD_OK)
        status = npksd_tester_load(&loaded, blob, bytes, &allocator);
    *outputs_kept = loaded == NULL || loaded == (npksd_tester *)data;
    if (!*outputs_kept)
        npksd_tester_destroy(loaded);
    npksd_tester_destroy(tester);
    free(blob);
    return status;
}

TEST every_allocation_fails_once(void)
{
    static const job_fn jobs[] = { job_test,    job_create,     job_statistic, job_median,        job_samples,
                                   job_self_check, job_power,   job_load,      job_test_diagnose };
    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
        for (size_t v = 0; v < variant_count(); v++) {
            npksd_status status = NPKSD_ERROR_MEMORY;
            for (size_t k = 1; status != NPKSD_OK; k++) {
                ASSERTm("it never ends", k < 100);
                npksd_options options = variant_options(v);
                int outputs_kept = 0;
                test_heap heap;
                memset(&heap, 0, sizeof heap);
                heap.asked.bad_call = k;
                options.allocator = heap_allocator(&heap);
                status = jobs[j](&options, &outputs_kept);
                ASSERTm(variant_name(v), clean(&heap));
                if (k == 1 && heap.asked.calls == 0 && status < 0) { /* not for these options */
                    ASSERTm(variant_name(v), outputs_kept);
                    ASSERTm(variant_name(v), status == NPKSD_ERROR_ARGUMENT
                                || status == NPKSD_ERROR_STATE);
                    break;
                }
                if (heap.asked.calls < k) {
                    ASSERTm("memory from elsewhere", k > 1);
                    ASSERT_STATUSm(variant_name(v), NPKSD_OK, status);
                    ASSERTm(variant_name(v), !outputs_kept);
                } else {
                    ASSERT_STATUSm(variant_name(v), NPKSD_ERROR_MEMORY, status);
                    ASSERTm(variant_name(v), outputs_kept);
                }
            }
        }
    }
    PASS();
}

/* ======== a workspace of exactly the reported size, at any address ======== */

typedef struct workspace_run {
    npksd_result result;
    npksd_real scores[SMALL_N * SMALL_M];
} workspace_run;

static npksd_status run_in(void *workspace, size_t bytes, const npksd_options *options,
                           workspace_run *run)
{
    npksd_tester *tester = NULL;
    npksd_status status = npksd_tester_init(&tester, SMALL_N, SMALL_M, chain_sample, NULL, options,
                                            workspace, bytes);
    if (status == NPKSD_OK)
        status = finish(tester);
    if (status == NPKSD_OK)
        status = npksd_tester_check(tester, data, &run->result, NULL);
    if (status == NPKSD_OK)
        status = npksd_tester_scores(tester, data, SMALL_N, run->scores);
    npksd_tester_destroy(tester); /* nothing to do for init, and harmless */
    return status;
}

enum { GUARD = 64 };

TEST exact_workspace(void)
{
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        test_heap heap;
        workspace_run first, run;
        size_t bytes = 0;
        memset(&heap, 0, sizeof heap);
        memset(&first, 0, sizeof first);
        options.allocator = heap_allocator(&heap);
        ASSERT_STATUSm(variant_name(v), NPKSD_OK,
                       npksd_tester_size(SMALL_N, SMALL_M, &options, &bytes));
        for (size_t offset = 0; offset <= 16; offset += offset > 0 ? stride(5) : 1) {
            /* the end of the block is the end of the workspace: a sanitizer sees the next byte */
            unsigned char *block = (unsigned char *)malloc(offset + bytes);
            ASSERT(block);
            npksd_status status = run_in(block + offset, bytes, &options, &run);
            free(block);
            ASSERT_STATUSm(variant_name(v), NPKSD_OK, status);
            if (offset == 0)
                first = run;
            ASSERTm(variant_name(v), same_result(&first.result, &run.result));
            ASSERT_MEM_EQm(variant_name(v), first.scores, run.scores, sizeof run.scores);

            /* without a sanitizer, marked bytes on both sides; most slack is needed just behind a multiple of 32 */
            block = (unsigned char *)malloc(GUARD + 32 + offset + bytes + GUARD);
            ASSERT(block);
            memset(block, UNTOUCHED, GUARD + 32 + offset + bytes + GUARD);
            size_t before = GUARD + 32 - (size_t)((uintptr_t)(block + GUARD) % 32) + offset;
            status = run_in(block + before, bytes, &options, &run);
            int guards_kept = untouched(block, before) && untouched(block + before + bytes, GUARD);
            free(block);
            ASSERT_STATUSm(variant_name(v), NPKSD_OK, status);
            ASSERTm(variant_name(v), guards_kept);
        }
        ASSERT_EQm(variant_name(v), 0u, heap.asked.calls);
    }
    PASS();
}

/* n and m on both sides of every block size; outputs of exactly the promised length too. */
TEST other_shapes(size_t v)
{
    static const size_t shapes[][2] = { { 1, 1 },   { 1, 5 },   { 2, 1 },  { 15, 2 }, { 16, 4 },
                                        { 17, 17 }, { 33, 16 }, { 40, 33 } };
    for (size_t i = v % stride(3); i < sizeof shapes / sizeof shapes[0]; i += stride(3)) {
        npksd_options options = variant_options(v);
        size_t n = shapes[i][0], m = shapes[i][1], bytes = 0;
        if (options.resample_distinct && options.resample > m)
            options.resample = m;
        if (npksd_options_problem(&options, n, m))
            continue; /* U of one row, pairs of one column, and nothing else */
        ASSERT_STATUS(NPKSD_OK, npksd_tester_size(n, m, &options, &bytes));
        npksd_diagnosis diagnosis;
        memset(&diagnosis, 0, sizeof diagnosis);
        npksd_real *rows = (npksd_real *)malloc(n * m * sizeof *rows);
        npksd_real *scores = (npksd_real *)malloc(n * m * sizeof *scores);
        npksd_real *outputs[5];
        for (size_t k = 0; k < 5; k++)
            outputs[k] = (npksd_real *)malloc(m * sizeof *outputs[k]);
        diagnosis.coordinate_statistic = options.diagnose ? outputs[0] : NULL;
        diagnosis.coordinate_p = options.diagnose ? outputs[1] : NULL;
        diagnosis.coordinate_p_adjusted = options.diagnose ? outputs[2] : NULL;
        diagnosis.coordinate_shift = options.diagnose ? outputs[3] : NULL;
        diagnosis.coordinate_distance = options.diagnose ? outputs[4] : NULL;
        diagnosis.row_influence = (npksd_real *)malloc(n * sizeof *diagnosis.row_influence);
        diagnosis.pair_capacity = options.diagnose ? 1 + i : 0; /* fewer than pairs, or more */
        diagnosis.pairs = (npksd_pair *)malloc((1 + i) * sizeof *diagnosis.pairs);
        void *workspace = malloc(bytes);
        npksd_tester *tester = NULL;
        npksd_result result;
        draw_rows(rows, n, m, test_seed + 2100 + i);
        npksd_status status = npksd_tester_init(&tester, n, m, chain_sample, NULL, &options,
                                                workspace, bytes);
        if (status == NPKSD_OK)
            status = finish(tester);
        if (status == NPKSD_OK)
            status = npksd_tester_check(tester, rows, &result, &diagnosis);
        if (status == NPKSD_OK)
            status = npksd_tester_scores(tester, rows, n, scores);
        free(workspace);
        free(diagnosis.row_influence);
        free(diagnosis.pairs);
        for (size_t k = 0; k < 5; k++)
            free(outputs[k]);
        free(scores);
        free(rows);
        ASSERT_STATUS(NPKSD_OK, status);
        ASSERT(result.p_value > 0 && result.p_value <= 1);
    }
    PASS();
}

TEST bootstrap_without_generator(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_result result, again;
    size_t bytes = 0;
    options.score_fn = chain_score;
    set_options(&options, "score_callback wild stein unscaled bandwidth=1");
    for (size_t fit_rows = 2; fit_rows < 200; fit_rows *= 9) { /* even if fewer than n */
        options.fit_rows = fit_rows;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_size(SMALL_N, SMALL_M, &options, &bytes));
        void *workspace = malloc(bytes);
        ASSERT(workspace);
        npksd_status status = npksd_tester_init(&tester, SMALL_N, SMALL_M, NULL, NULL, &options,
                                                workspace, bytes);
        if (status == NPKSD_OK)
            status = finish(tester);
        if (status == NPKSD_OK)
            status = npksd_tester_check(tester, data, &result, NULL);
        if (status == NPKSD_OK)
            status = npksd_tester_check(tester, data, &again, NULL);
        free(workspace);
        ASSERT_STATUS(NPKSD_OK, status);
        ASSERT(same_result(&result, &again));
    }
    PASS();
}

TEST workspace_one_byte_short(void)
{
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        size_t bytes = 0;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_size(SMALL_N, SMALL_M, &options, &bytes));
        for (size_t offset = 0; offset <= 16; offset++) {
            unsigned char *block = (unsigned char *)malloc(offset + bytes);
            npksd_tester *tester = (npksd_tester *)data, *none = (npksd_tester *)data;
            ASSERT(block);
            npksd_status status =
                npksd_tester_init(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options,
                                  block + offset, bytes - 1);
            npksd_status empty = npksd_tester_init(&none, SMALL_N, SMALL_M, chain_sample, NULL,
                                                   &options, block + offset, 0);
            free(block);
            ASSERT_STATUSm(variant_name(v), NPKSD_ERROR_MEMORY, status);
            ASSERT_STATUSm(variant_name(v), NPKSD_ERROR_MEMORY, empty);
            ASSERT(tester == NULL && none == NULL);
        }
    }
    PASS();
}

/* A worker's scratch, too: marked bytes on both sides, every address, and so many columns in turn that the last number
   now and then ends where the scratch does. One byte less is refused, and not one is written. */
TEST exact_scratch(void)
{
    enum { COUNT = 2, MOST = 8 };
    for (size_t m = 1; m <= MOST; m++) {
        npksd_options options = small_options();
        npksd_real expected[COUNT * (MOST + 3)], found[COUNT * (MOST + 3)];
        npksd_tester *tester = NULL;
        npksd_worker worker;
        set_options(&options, "gauss diagnose fit_rows=40 pilot=3");
        memset(&worker, 0, sizeof worker);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, m, chain_sample, NULL, &options));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 1, COUNT, expected));
        size_t bytes = npksd_tester_scratch_size(tester), all = GUARD + 64 + bytes + GUARD;
        size_t used = COUNT * npksd_tester_width(tester) * sizeof *found;
        unsigned char *block = (unsigned char *)malloc(all);
        ASSERT(block);
        for (size_t offset = 0; offset < 32; offset++) {
            size_t before = GUARD + 32 - (size_t)((uintptr_t)(block + GUARD) % 32) + offset;
            memset(block, UNTOUCHED, all);
            worker.scratch = block + before;
            worker.scratch_bytes = bytes - 1;
            ASSERT_STATUS(NPKSD_ERROR_MEMORY, npksd_tester_replicates(tester, &worker, 1, COUNT, found));
            ASSERT(untouched(block, all));
            worker.scratch_bytes = bytes;
            ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 1, COUNT, found));
            ASSERT_MEM_EQ(expected, found, used);
            ASSERT(untouched(block, before) && untouched(block + before + bytes, all - before - bytes));
        }
        free(block);
        npksd_tester_destroy(tester);
    }
    PASS();
}

/* A workspace that was used before and is full of old numbers gives the same answer. */
TEST dirty_workspace(void)
{
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        workspace_run first, run;
        size_t bytes = 0;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_size(SMALL_N, SMALL_M, &options, &bytes));
        void *block = malloc(bytes);
        ASSERT(block);
        memset(block, 0, bytes);
        npksd_status clean_run = run_in(block, bytes, &options, &first);
        memset(block, 0xFF, bytes); /* NaN everywhere */
        npksd_status dirty_run = run_in(block, bytes, &options, &run);
        free(block);
        ASSERT_STATUSm(variant_name(v), NPKSD_OK, clean_run);
        ASSERT_STATUSm(variant_name(v), NPKSD_OK, dirty_run);
        ASSERTm(variant_name(v), same_result(&first.result, &run.result));
        ASSERT_MEM_EQm(variant_name(v), first.scores, run.scores, sizeof run.scores);
    }
    PASS();
}

/* ======== callback number k fails ======== */

/* One tester from create to check, in which the source fails once; the heap must be clean after. */
static enum greatest_test_res run_to_failure(npksd_options options, test_source *sample,
                                             test_source *watched, npksd_status *status)
{
    npksd_tester *tester = NULL;
    npksd_result result;
    test_heap heap;
    memset(&heap, 0, sizeof heap);
    options.allocator = heap_allocator(&heap);
    watched->calls = 0;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, sample, &options));
    *status = finish(tester);
    memset(&result, UNTOUCHED, sizeof result);
    if (*status == NPKSD_OK) {
        *status = npksd_tester_check(tester, data, &result, NULL);
        if (*status != NPKSD_OK) {
            ASSERT(untouched(&result, sizeof result));
            ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, NULL));
        }
    } else {
        ASSERT_STATUS(*status, npksd_tester_step(tester, 1));
        ASSERT_STATUS(*status, npksd_tester_step(tester, SIZE_MAX));
        ASSERT(npksd_tester_check(tester, data, &result, NULL) < 0);
        ASSERT(untouched(&result, sizeof result));
    }
    npksd_tester_destroy(tester);
    ASSERT(clean(&heap));
    PASS();
}

TEST every_callback_fails_once(int in_score)
{
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        npksd_status status = NPKSD_ERROR_GENERATOR;
        size_t failures = 0;
        test_source source;
        if (in_score && options.estimator != NPKSD_ESTIMATOR_CALLBACK)
            continue;
        memset(&source, 0, sizeof source);
        options.score_user_data = in_score ? &source : NULL;
        for (source.bad_call = 1; status != NPKSD_OK; source.bad_call += stride(7)) {
            CHECK_CALL(run_to_failure(options, in_score ? NULL : &source, &source, &status));
            ASSERT_STATUSm(variant_name(v),
                           source.calls >= source.bad_call ? NPKSD_ERROR_GENERATOR : NPKSD_OK,
                           status);
            failures += status != NPKSD_OK;
        }
        ASSERTm(variant_name(v), failures > 0);
    }
    PASS();
}

SUITE(suite_memory)
{
    draw_rows(data, SMALL_N, SMALL_M, test_seed + 2000);
    RUN_TEST(one_allocation);
    RUN_TEST(size_as_stated);
    RUN_TEST(size_grows_as_stated);
    RUN_TEST(size_grows_with_features);
    RUN_TEST(loaded_is_smaller);
    RUN_TEST(aligned_for_numbers);
    RUN_TEST(size_beyond_counting);
    RUN_TEST(size_beyond_32_bits);
    RUN_TEST(destroy_at_any_time);
    RUN_TEST(every_allocation_fails_once);
    RUN_TEST(exact_workspace);
    for (size_t v = 0; v < variant_count(); v++) {
        greatest_set_test_suffix(variant_name(v));
        RUN_TEST1(other_shapes, v);
    }
    RUN_TEST(bootstrap_without_generator);
    RUN_TEST(workspace_one_byte_short);
    RUN_TEST(exact_scratch);
    RUN_TEST(dirty_workspace);
    RUN_TEST1(every_callback_fails_once, 0);
    RUN_TEST1(every_callback_fails_once, 1);
}
