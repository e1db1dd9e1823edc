/* Blobs come from anywhere: cut, altered, or crafted by somebody, with a right checksum. */
#include "blob_bytes.h"
#include "support.h"

static npksd_real data[SMALL_N * SMALL_M];

/* ======== a blob, and where its parts are ======== */

enum {
    BLOB_FORMAT = 8, BLOB_REAL = 12, BLOB_SIZE = 16, BLOB_N = 32, BLOB_M = 40, BLOB_SCALE_COUNT = 104,
    BLOB_SUMMARY = 120, BLOB_ESTIMATOR = 124, BLOB_REALS = 152
};

typedef struct blob {
    unsigned char *bytes;
    size_t size;
} blob;

static npksd_status make_blob(blob *b, const npksd_options *options, size_t n, size_t m)
{
    npksd_tester *tester = NULL;
    b->bytes = NULL;
    npksd_status status = npksd_tester_create(&tester, n, m, chain_sample, NULL, options);
    if (status == NPKSD_OK)
        status = finish(tester);
    if (status == NPKSD_OK)
        status = npksd_tester_save(tester, NULL, 0, &b->size);
    if (status == NPKSD_OK) {
        b->bytes = (unsigned char *)malloc(b->size);
        status = npksd_tester_save(tester, b->bytes, b->size, &b->size);
    }
    npksd_tester_destroy(tester);
    return status;
}

static void put_real(unsigned char *at, npksd_real value)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    memcpy(sizeof value == 8 ? (void *)&wide : (void *)&narrow, &value, sizeof value);
    put_word(at, sizeof value == 8 ? wide : narrow, sizeof value);
}

/* Loads a copy that ends where its memory ends; 0 = refused with FORMAT and nothing allocated. */
static npksd_status load_copy(const unsigned char *bytes, size_t size, test_heap *heap,
                              npksd_tester **tester)
{
    unsigned char *copy = (unsigned char *)malloc(size > 0 ? size : 1);
    npksd_allocator allocator = heap_allocator(heap);
    memset(heap, 0, sizeof *heap);
    memcpy(copy, bytes, size);
    *tester = (npksd_tester *)data;
    npksd_status status = npksd_tester_load(tester, copy, size, &allocator);
    free(copy);
    return status;
}

static enum greatest_test_res refused(const unsigned char *bytes, size_t size)
{
    static unsigned char workspace[1 << 19];
    test_heap heap;
    npksd_tester *tester;
    ASSERT_STATUS(NPKSD_ERROR_FORMAT, load_copy(bytes, size, &heap, &tester));
    ASSERT(tester == NULL);
    ASSERT_EQ(0u, heap.live + heap.wrong);
    tester = (npksd_tester *)data;
    ASSERT_STATUS(NPKSD_ERROR_FORMAT,
                  npksd_tester_load_into(&tester, bytes, size, workspace, sizeof workspace));
    ASSERT(tester == NULL);
    PASS();
}

/* The head alone says so: nothing is told about it. */
static enum greatest_test_res no_blob(const unsigned char *bytes, size_t size)
{
    size_t told[3];
    CHECK_CALL(refused(bytes, size));
    memset(told, UNTOUCHED, sizeof told);
    ASSERT_STATUS(NPKSD_ERROR_FORMAT, npksd_blob_info(bytes, size, &told[0], &told[1], &told[2]));
    ASSERT(untouched(told, sizeof told));
    PASS();
}

/* ======== damage ======== */

TEST cut_anywhere(void)
{
    npksd_options options = small_options();
    blob b;
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
    for (size_t size = 0; size < b.size; size += size < 400 ? 1 : 7 * stride(9))
        CHECK_CALL(no_blob(b.bytes, size));
    unsigned char *longer = (unsigned char *)malloc(b.size + 8);
    memcpy(longer, b.bytes, b.size);
    memset(longer + b.size, 0, 8);
    CHECK_CALL(no_blob(longer, b.size + 8));
    for (size_t size = b.size - 8; size <= b.size + 8; size += 16) { /* signed, yet of no tester's length */
        put_word(longer + BLOB_SIZE, size, 8);
        sign_blob(longer, size);
        CHECK_CALL(no_blob(longer, size));
    }
    free(longer);
    free(b.bytes);
    PASS();
}

TEST any_byte_changed(void)
{
    npksd_options options = small_options();
    blob b;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    options.components = NPKSD_COMPONENT_STEIN;
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
    for (size_t at = 0; at < b.size; at += stride(13))
        for (unsigned bit = 1; bit < 256; bit <<= 3) {
            b.bytes[at] ^= (unsigned char)bit;
            CHECK_CALL(no_blob(b.bytes, b.size));
            b.bytes[at] ^= (unsigned char)bit;
        }
    free(b.bytes);
    PASS();
}

/* Version 0.1 wrote format 1; a float build writes numbers of 4 bytes. */
TEST other_formats(void)
{
    npksd_options options = small_options();
    blob b;
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
    for (uint64_t format = 0; format < 5; format++) {
        unsigned char kept = b.bytes[BLOB_FORMAT];
        if (format == kept)
            continue;
        put_word(b.bytes + BLOB_FORMAT, format, 4);
        sign_blob(b.bytes, b.size);
        CHECK_CALL(no_blob(b.bytes, b.size));
        put_word(b.bytes + BLOB_FORMAT, kept, 4);
    }
    put_word(b.bytes + BLOB_REAL, 12 - sizeof(npksd_real), 4);
    sign_blob(b.bytes, b.size);
    CHECK_CALL(no_blob(b.bytes, b.size));
    put_word(b.bytes + BLOB_REAL, sizeof(npksd_real), 4);
    sign_blob(b.bytes, b.size);
    ASSERT_STATUS(NPKSD_OK, npksd_blob_info(b.bytes, b.size, NULL, NULL, NULL));
    free(b.bytes);
    PASS();
}

TEST null_pointers(void)
{
    npksd_tester *tester = (npksd_tester *)data;
    npksd_allocator half;
    memset(&half, 0, sizeof half);
    half.alloc_fn = heap_allocator(NULL).alloc_fn;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_load(NULL, data, sizeof data, NULL));
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_load(&tester, NULL, 100, NULL));
    ASSERT(tester == NULL);
    tester = (npksd_tester *)data;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_load(&tester, data, sizeof data, &half));
    ASSERT(tester == NULL);
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT,
                  npksd_tester_load_into(NULL, data, sizeof data, data, sizeof data));
    tester = (npksd_tester *)data;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT,
                  npksd_tester_load_into(&tester, NULL, 100, data, sizeof data));
    ASSERT(tester == NULL);
    tester = (npksd_tester *)data;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT,
                  npksd_tester_load_into(&tester, data, sizeof data, NULL, sizeof data));
    ASSERT(tester == NULL);
    size_t size = 7, n = 7, m = 7;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_blob_info(NULL, 100, &size, &size, &size));
    ASSERT_STATUS(NPKSD_ERROR_FORMAT, npksd_blob_info(data, 0, &size, &size, &size));
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_save(NULL, NULL, 0, &size));
    ASSERT_EQ_FMT((size_t)7, size, "%zu");
    npksd_tester_shape(NULL, &n, NULL);
    npksd_tester_shape(NULL, NULL, &m);
    ASSERT_EQ_FMT((size_t)0, n + m, "%zu");
    PASS();
}

/* ======== crafted: the checksum is right ======== */

/* What a load lets through must answer in numbers. */
static enum greatest_test_res harmless(const unsigned char *bytes, size_t size, int *loaded)
{
    test_heap heap;
    npksd_tester *tester;
    npksd_result result;
    npksd_real scores[SMALL_N * SMALL_M], influence[SMALL_N], coordinates[SMALL_M];
    npksd_diagnosis diagnosis;
    npksd_worker worker;
    size_t n = 0, m = 0, again = 0;
    npksd_status status = load_copy(bytes, size, &heap, &tester);
    size_t told[3] = { 0, 0, 0 };
    npksd_status info = npksd_blob_info(bytes, size, &told[0], &told[1], &told[2]);
    ASSERT(info == NPKSD_OK || (info == NPKSD_ERROR_FORMAT && status == info));
    *loaded = status == NPKSD_OK;
    if (!*loaded) {
        ASSERT(status == NPKSD_ERROR_FORMAT || status == NPKSD_ERROR_MEMORY);
        ASSERT(tester == NULL);
        ASSERT_EQ(0u, heap.live + heap.wrong);
        PASS();
    }
    ASSERT_EQ_FMT((size_t)1, heap.asked.calls, "%zu");
    npksd_tester_shape(tester, &n, &m);
    ASSERT_EQ_FMT(n, told[0], "%zu");
    ASSERT_EQ_FMT(m, told[1], "%zu");
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.row_influence = influence;
    diagnosis.coordinate_p = npksd_tester_width(tester) > 1 ? coordinates : NULL;
    if (n <= SMALL_N && m <= SMALL_M) {
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, &diagnosis));
        ASSERT(finite_bits(&result.p_value, 1) && result.p_value > 0 && result.p_value <= 1);
        ASSERT(finite_bits(&result.statistic, 1) && finite_bits(&result.ksd2, 1));
        ASSERT(finite_bits(influence, n));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, data, n, scores));
        ASSERT(finite_bits(scores, n * m));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_save(tester, NULL, 0, &again));
        ASSERT_EQ_FMT(size, again, "%zu");
        ASSERT(npksd_tester_step(tester, 1) == NPKSD_OK);
        ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_merge(tester, 0, 1, data));
        memset(&worker, 0, sizeof worker);
        ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_replicates(tester, &worker, 0, 1, scores));
    }
    npksd_tester_destroy(tester);
    ASSERT_EQ(0u, heap.live + heap.wrong);
    PASS();
}

/* Every number in turn, or rather every place where one may begin, becomes something else. */
TEST hostile_numbers(size_t v)
{
    npksd_real bad[] = { 0, -1, 1, (npksd_real)1e30, (npksd_real)-1e30, (npksd_real)1e-30, 0, 0 };
    npksd_options options = variant_options(v);
    blob b;
    size_t let_through = 0, tried = 0;
    bad[6] = not_a_number();
    bad[7] = plus_infinity();
    npksd_status status = make_blob(&b, &options, SMALL_N, SMALL_M);
    if (status == NPKSD_ERROR_STATE)
        PASS(); /* callbacks cannot be saved */
    ASSERT_STATUS(NPKSD_OK, status);
    unsigned char *hostile = (unsigned char *)malloc(b.size);
    size_t step = b.size / (test_quick ? 20 : 150) + 1;
    for (size_t at = 16 + v % step; at + 16 < b.size; at += step, tried++) {
        int loaded;
        memcpy(hostile, b.bytes, b.size);
        put_real(hostile + (at / 4 * 4), bad[tried % 8]);
        sign_blob(hostile, b.size);
        CHECK_CALL(harmless(hostile, b.size, &loaded));
        let_through += loaded != 0;
    }
    free(hostile);
    free(b.bytes);
    ASSERTm("all refused: the checksum is not the library's", let_through > 0);
    ASSERT(let_through < tried);
    PASS();
}

/* The same everywhere in small blobs. */
TEST hostile_everywhere(int resample)
{
    npksd_real values[] = { -1, 0, (npksd_real)1e30, 1 };
    npksd_options options = small_options();
    blob b;
    options.estimator = NPKSD_ESTIMATOR_RBF;
    options.basis = 2;
    options.fit_rows = 8;
    options.pilot = 2;
    options.resample = (size_t)resample;
    options.diagnose = 1;
    options.features = resample ? 3 : 0;
    options.components = resample ? NPKSD_COMPONENT_STEIN : NPKSD_COMPONENT_ALL;
    for (npksd_real next = 1; finite_bits(&next, 1); next = values[3] * 16)
        values[3] = next; /* as large as can be */
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, 4, 2));
    unsigned char *hostile = (unsigned char *)malloc(b.size);
    for (size_t at = 24; at + 8 + sizeof values[0] <= b.size; at += 4)
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            if (at > 600 && k != at / 8 % 4) /* long arrays of like numbers: one value each */
                continue;
            int loaded;
            memcpy(hostile, b.bytes, b.size);
            put_real(hostile + at, values[k]);
            sign_blob(hostile, b.size);
            CHECK_CALL(harmless(hostile, b.size, &loaded));
        }
    for (size_t count = 0; count < 40; count++) { /* more scales than there may be */
        int loaded;
        memcpy(hostile, b.bytes, b.size);
        put_word(hostile + BLOB_SCALE_COUNT, count, 8);
        sign_blob(hostile, b.size);
        CHECK_CALL(harmless(hostile, b.size, &loaded));
    }
    for (size_t size = 24; size < 72; size++) { /* a right head, and little behind it */
        memcpy(hostile, b.bytes, size);
        put_word(hostile + 16, size, 8);
        sign_blob(hostile, size);
        CHECK_CALL(refused(hostile, size));
    }
    free(hostile);
    free(b.bytes);
    PASS();
}

/* Weights decide how many columns are written: more of them than drawn once wrote past the end. */
TEST hostile_weights(void)
{
    npksd_options options = small_options();
    blob b;
    options.resample = 1;
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
    /* one weight is 1, the others are 0; wherever that is in the blob */
    for (size_t first = 24; first + 8 + SMALL_M * sizeof(npksd_real) <= b.size; first += 4) {
        npksd_real three[SMALL_M];
        size_t ones = 0, zeros = 0;
        for (size_t i = 0; i < SMALL_M; i++) {
            unsigned char one[sizeof three[0]], zero[sizeof three[0]];
            put_real(one, 1);
            put_real(zero, 0);
            ones += memcmp(b.bytes + first + i * sizeof three[0], one, sizeof one) == 0;
            zeros += memcmp(b.bytes + first + i * sizeof three[0], zero, sizeof zero) == 0;
        }
        if (ones != 1 || zeros != SMALL_M - 1)
            continue;
        unsigned char *hostile = (unsigned char *)malloc(b.size);
        int loaded;
        memcpy(hostile, b.bytes, b.size);
        for (size_t i = 0; i < SMALL_M; i++)
            put_real(hostile + first + i * sizeof three[0], 1); /* more of them than columns */
        sign_blob(hostile, b.size);
        CHECK_CALL(harmless(hostile, b.size, &loaded));
        free(hostile);
    }
    free(b.bytes);
    PASS();
}

/* Numbers are divided by the deviations of a pilot: here two, before two skewnesses and the null. */
TEST hostile_deviations(void)
{
    npksd_options options = small_options();
    blob b;
    set_options(&options, "mmd");
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
    for (size_t k = 0; k < 2; k++) {
        size_t behind = 2 + 2 + SMALL_REPLICATES - k;
        unsigned char kept[sizeof(npksd_real)], *at = b.bytes + b.size - 8 - behind * sizeof kept;
        memcpy(kept, at, sizeof kept);
        put_real(at, 0);
        sign_blob(b.bytes, b.size);
        CHECK_CALL(refused(b.bytes, b.size));
        memcpy(at, kept, sizeof kept);
    }
    free(b.bytes);
    PASS();
}

/* A blob says how many rows a check reads, and how much memory it takes. */
TEST hostile_shape(void)
{
    static const uint64_t sizes[] = { 0, 1, 2, 1000, UINT64_C(1) << 31, UINT64_C(1) << 40,
                                      UINT64_C(1) << 62, SIZE_MAX / 64 / SMALL_M / sizeof(npksd_real) };
    enum { SIZES = sizeof sizes / sizeof sizes[0] }; /* the last: as many as options allow */
    npksd_options options = small_options();
    blob b;
    size_t loads = 0, other_shapes = 0;
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
    for (size_t k = 0; k < SIZES * SIZES; k++) {
        test_heap heap;
        npksd_tester *tester;
        size_t n = 0, m = 0;
        put_word(b.bytes + BLOB_N, sizes[k % SIZES], 8);
        put_word(b.bytes + BLOB_M, k < SIZES ? (uint64_t)SMALL_M : sizes[k / SIZES], 8);
        sign_blob(b.bytes, b.size);
        npksd_status status = load_copy(b.bytes, b.size, &heap, &tester);
        if (status == NPKSD_OK) {
            npksd_tester_shape(tester, &n, &m);
            other_shapes += n != SMALL_N;
            ASSERT_EQ_FMT((size_t)SMALL_M, m, "%zu");
            loads++;
        } else {
            ASSERT(status == NPKSD_ERROR_FORMAT || status == NPKSD_ERROR_MEMORY);
        }
        npksd_tester_destroy(tester);
        ASSERT_EQ(0u, heap.live + heap.wrong);
    }
    free(b.bytes);
    ASSERTm("more rows need no longer blob: shape must tell", loads > 0 && other_shapes > 0);
    PASS();
}

/* All flags that there are, and one more. Before them: alpha, smooth, bandwidth, and no scales. */
TEST hostile_flags(void)
{
    npksd_options options = small_options();
    blob b;
    int loaded = 0;
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
    unsigned char *flags = b.bytes + BLOB_REALS + 3 * sizeof(npksd_real);
    put_word(flags, 2 * NPKSD_FLAG_PARTIAL_BLOCK - 1, 4);
    sign_blob(b.bytes, b.size);
    CHECK_CALL(harmless(b.bytes, b.size, &loaded));
    ASSERT(loaded);
    put_word(flags, 2 * NPKSD_FLAG_PARTIAL_BLOCK, 4);
    sign_blob(b.bytes, b.size);
    CHECK_CALL(refused(b.bytes, b.size));
    free(b.bytes);
    PASS();
}

/* A blob that asks for a callback would call nothing. */
TEST hostile_callbacks(void)
{
    npksd_options options = small_options();
    blob b;
    for (int estimator = 0; estimator < 2; estimator++) {
        ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
        if (estimator)
            put_word(b.bytes + BLOB_ESTIMATOR, NPKSD_ESTIMATOR_CALLBACK, 4);
        else
            put_word(b.bytes + BLOB_SUMMARY, NPKSD_SUMMARY_CALLBACK, 4);
        sign_blob(b.bytes, b.size);
        CHECK_CALL(refused(b.bytes, b.size));
        free(b.bytes);
    }
    PASS();
}

/* ======== memory of the caller ======== */

TEST info_and_load_into(size_t v)
{
    enum { GUARD = 64 };
    npksd_options options = variant_options(v);
    blob b;
    size_t n = 0, m = 0, bytes = 0;
    npksd_tester *loaded = NULL, *tester = NULL;
    npksd_result expected, result;
    npksd_status status = make_blob(&b, &options, SMALL_N, SMALL_M);
    if (status == NPKSD_ERROR_STATE)
        PASS(); /* callbacks cannot be saved */
    ASSERT_STATUS(NPKSD_OK, status);
    ASSERT_STATUS(NPKSD_OK, npksd_blob_info(b.bytes, b.size, NULL, NULL, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_blob_info(b.bytes, b.size, &n, &m, &bytes));
    ASSERT_EQ_FMT((size_t)SMALL_N, n, "%zu");
    ASSERT_EQ_FMT((size_t)SMALL_M, m, "%zu");
    ASSERT_STATUS(NPKSD_OK, npksd_tester_load(&loaded, b.bytes, b.size, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(loaded, data, &expected, NULL));
    npksd_tester_destroy(loaded);
    for (size_t offset = 0; offset <= 16; offset += 5) {
        size_t all = GUARD + offset + bytes + GUARD;
        unsigned char *block = (unsigned char *)malloc(all), *workspace = block + GUARD + offset;
        ASSERT(block);
        memset(block, UNTOUCHED, all);
        tester = (npksd_tester *)data;
        ASSERT_STATUS(NPKSD_ERROR_MEMORY,
                      npksd_tester_load_into(&tester, b.bytes, b.size, workspace, bytes - 1));
        ASSERT(tester == NULL);
        ASSERTm("not a byte of it", untouched(block, all));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_load_into(&tester, b.bytes, b.size, workspace, bytes));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, NULL));
        npksd_tester_destroy(tester); /* nothing to do, and harmless */
        ASSERT(untouched(block, GUARD + offset) && untouched(workspace + bytes, GUARD));
        free(block);
        ASSERT(same_result(&expected, &result));
    }
    free(b.bytes);
    PASS();
}

/* Equal scales are one; the blob must not hold what was never written. */
TEST blob_of_equal_scales(const char *words)
{
    npksd_options options = small_options();
    blob first, second;
    set_options(&options, words);
    ASSERT_STATUS(NPKSD_OK, make_blob(&first, &options, SMALL_N, SMALL_M));
    ASSERT_STATUS(NPKSD_OK, make_blob(&second, &options, SMALL_N, SMALL_M));
    ASSERT_EQ_FMT(first.size, second.size, "%zu");
    ASSERT_MEM_EQ(first.bytes, second.bytes, first.size);
    ASSERT_STATUS(NPKSD_OK, npksd_blob_info(first.bytes, first.size, NULL, NULL, NULL));
    free(first.bytes);
    free(second.bytes);
    PASS();
}

/* A blob holds what a check needs and no more: for one more bump a factor and coordinates, in every column. */
TEST blob_of_one_more_bump(const char *words, size_t numbers)
{
    size_t sizes[2];
    for (size_t k = 0; k < 2; k++) {
        npksd_options options = small_options();
        blob b;
        set_options(&options, words);
        options.basis = 7 + k;
        ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
        sizes[k] = b.size;
        free(b.bytes);
    }
    ASSERT_EQ_FMT(SMALL_M * numbers * sizeof(npksd_real), sizes[1] - sizes[0], "%zu");
    PASS();
}

/* Saved, loaded and saved again: the same bytes. */
static enum greatest_test_res saved_again(const npksd_options *options)
{
    npksd_tester *loaded = NULL;
    blob b, again;
    npksd_status status = make_blob(&b, options, SMALL_N, SMALL_M);
    if (status == NPKSD_ERROR_STATE)
        PASS(); /* callbacks cannot be saved */
    ASSERT_STATUS(NPKSD_OK, status);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_load(&loaded, b.bytes, b.size, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_save(loaded, NULL, 0, &again.size));
    ASSERT_EQ_FMT(b.size, again.size, "%zu");
    again.bytes = (unsigned char *)malloc(again.size);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_save(loaded, again.bytes, again.size, &again.size));
    ASSERT_MEM_EQ(b.bytes, again.bytes, b.size);
    npksd_tester_destroy(loaded);
    free(again.bytes);
    free(b.bytes);
    PASS();
}

TEST blob_of_a_loaded_tester(size_t v)
{
    npksd_options options = variant_options(v);
    CHECK_CALL(saved_again(&options));
    PASS();
}

/* There are as many bumps as rows to fit, if those are fewer than basis: the blob has to know both numbers. */
TEST blob_of_few_fit_rows(void)
{
    for (size_t rows = 2; rows <= 26; rows += 8) {
        npksd_options options = small_options();
        set_options(&options, "rbf");
        options.fit_rows = rows;
        CHECK_CALL(saved_again(&options));
    }
    PASS();
}

/* A blob has the numbers that a caller's rng made, not the rng: it is the blob of the built-in one with this seed. */
TEST blob_without_the_rng(size_t v)
{
    npksd_options options = variant_options(v);
    blob plain, own;
    caller_rng rng;
    npksd_status status = make_blob(&plain, &options, SMALL_N, SMALL_M);
    int callbacks =
        options.estimator == NPKSD_ESTIMATOR_CALLBACK || options.summary == NPKSD_SUMMARY_CALLBACK;
    ASSERT_STATUS(callbacks ? NPKSD_ERROR_STATE : NPKSD_OK, status);
    if (callbacks)
        PASS();
    options.rng = caller_rng_start(&rng, options.seed, 1);
    ASSERT_STATUS(NPKSD_OK, make_blob(&own, &options, SMALL_N, SMALL_M));
    ASSERT(rng.seeks > 0);
    ASSERT_EQ_FMT(plain.size, own.size, "%zu");
    ASSERT_MEM_EQ(plain.bytes, own.bytes, plain.size);
    free(plain.bytes);
    free(own.bytes);
    PASS();
}

/* Too little room: neither the buffer nor the size is written. */
TEST save_into_too_little(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    size_t size = 0, written;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_save(tester, NULL, 0, &size));
    unsigned char *buffer = (unsigned char *)malloc(size);
    ASSERT(buffer);
    memset(buffer, UNTOUCHED, size);
    memset(&written, UNTOUCHED, sizeof written);
    for (size_t less = 1; less <= size; less += size - 1) { /* by one byte, by all of them */
        ASSERT_STATUS(NPKSD_ERROR_MEMORY, npksd_tester_save(tester, buffer, size - less, &written));
        ASSERT(untouched(buffer, size) && untouched(&written, sizeof written));
    }
    npksd_tester_destroy(tester);
    free(buffer);
    PASS();
}

TEST shape_of_testers(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    size_t n = 0, m = 0;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    npksd_tester_shape(tester, &n, &m);
    npksd_tester_shape(tester, NULL, NULL);
    npksd_tester_destroy(tester);
    ASSERT_EQ_FMT((size_t)SMALL_N, n, "%zu");
    ASSERT_EQ_FMT((size_t)SMALL_M, m, "%zu");
    PASS();
}

SUITE(suite_blob)
{
    draw_rows(data, SMALL_N, SMALL_M, test_seed + 9000);
    RUN_TEST(cut_anywhere);
    RUN_TEST(any_byte_changed);
    RUN_TEST(other_formats);
    RUN_TEST(null_pointers);
    for (size_t v = 0; v < variant_count(); v++) {
        greatest_set_test_suffix(variant_name(v));
        RUN_TEST1(hostile_numbers, v);
        greatest_set_test_suffix(variant_name(v));
        RUN_TEST1(info_and_load_into, v);
        greatest_set_test_suffix(variant_name(v));
        RUN_TEST1(blob_of_a_loaded_tester, v);
        greatest_set_test_suffix(variant_name(v));
        RUN_TEST1(blob_without_the_rng, v);
    }
    RUN_TEST1(hostile_everywhere, 0);
    RUN_TEST1(hostile_everywhere, 1);
    RUN_TEST(hostile_weights);
    RUN_TEST(hostile_deviations);
    RUN_TEST(hostile_shape);
    RUN_TEST(hostile_flags);
    RUN_TEST(hostile_callbacks);
    RUN_TEST1(blob_of_equal_scales, "scales=1,1");
    RUN_TEST1(blob_of_equal_scales, "scales=0.5,2,0.5,0.5,2 stein mirror");
    RUN_TESTp(blob_of_one_more_bump, "rbf none", 2);
    RUN_TESTp(blob_of_one_more_bump, "rbf neighbours", 4);
    RUN_TESTp(blob_of_one_more_bump, "rbf all", 2);
    RUN_TEST(blob_of_few_fit_rows);
    RUN_TEST(save_into_too_little);
    RUN_TEST(shape_of_testers);
}
