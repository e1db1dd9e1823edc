/* Blobs come from anywhere: cut, altered, or made with ill will and a right checksum. */
#include "blob_bytes.h"
#include "support.h"

static npksd_real data[SMALL_N * SMALL_M];

/* ======== a blob, and where its parts are ======== */

enum { BLOB_N = 24, BLOB_M = 32, BLOB_SUMMARY = 88, BLOB_ESTIMATOR = 92, BLOB_SCALE_COUNT = 144 };

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
    test_heap heap;
    npksd_tester *tester;
    ASSERT_STATUS(NPKSD_ERROR_FORMAT, load_copy(bytes, size, &heap, &tester));
    ASSERT(tester == NULL);
    ASSERT_EQ(0u, heap.live + heap.wrong);
    PASS();
}

/* ======== damage ======== */

TEST cut_anywhere(void)
{
    npksd_options options = small_options();
    blob b;
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
    for (size_t size = 0; size < b.size; size += size < 400 ? 1 : 7 * stride(9))
        CHECK_CALL(refused(b.bytes, size));
    unsigned char *longer = (unsigned char *)malloc(b.size + 8);
    memcpy(longer, b.bytes, b.size);
    memset(longer + b.size, 0, 8);
    CHECK_CALL(refused(longer, b.size + 8));
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
            CHECK_CALL(refused(b.bytes, b.size));
            b.bytes[at] ^= (unsigned char)bit;
        }
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
    size_t size = 0;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_save(NULL, NULL, 0, &size));
    npksd_tester_shape(NULL, &size, NULL);
    ASSERT_EQ(0u, size);
    npksd_tester_shape(NULL, NULL, &size);
    ASSERT_EQ(0u, size);
    PASS();
}

/* ======== ill will: the checksum is right ======== */

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
    *loaded = status == NPKSD_OK;
    if (!*loaded) {
        ASSERT(status == NPKSD_ERROR_FORMAT || status == NPKSD_ERROR_MEMORY);
        ASSERT(tester == NULL);
        ASSERT_EQ(0u, heap.live + heap.wrong);
        PASS();
    }
    npksd_tester_shape(tester, &n, &m);
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
    size_t step = b.size / (test_quick ? 20 : 300) + 1;
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

static size_t find_reals(const blob *b, npksd_real value, size_t count)
{
    unsigned char wanted[sizeof value];
    put_real(wanted, value);
    for (size_t at = 24; at + count * sizeof value + 8 <= b->size; at += 4) {
        size_t found = 0;
        while (found < count && memcmp(b->bytes + at + found * sizeof value, wanted, sizeof value) == 0)
            found++;
        if (found == count)
            return at;
    }
    return 0;
}

/* Weights decide how many columns are written. These two wrote past the end of the memory. */
TEST hostile_weights(void)
{
    npksd_options options = small_options();
    blob b;
    ASSERT_STATUS(NPKSD_OK, make_blob(&b, &options, SMALL_N, SMALL_M));
    size_t at = find_reals(&b, 1 / (npksd_real)SMALL_M, SMALL_M);
    ASSERT(at > 0);
    put_real(b.bytes + at, (npksd_real)0.5); /* unequal, where room was for equal ones */
    sign_blob(b.bytes, b.size);
    CHECK_CALL(refused(b.bytes, b.size));
    free(b.bytes);

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

/* A blob says how many rows a check reads, and how much memory it takes. */
TEST hostile_shape(void)
{
    static const uint64_t sizes[] = { 0, 1, 2, 1000, UINT64_C(1) << 31, UINT64_C(1) << 40,
                                      UINT64_C(1) << 62, SIZE_MAX / 64 / SMALL_M / sizeof(npksd_real) };
    enum { SIZES = sizeof sizes / sizeof sizes[0] }; /* the last: as many as options allow */
    npksd_options options = small_options();
    blob b;
    size_t loads = 0, other_shapes = 0;
    options.components = NPKSD_COMPONENT_STEIN; /* the blob of MMD grows with n */
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
    RUN_TEST(null_pointers);
    for (size_t v = 0; v < variant_count(); v++) {
        greatest_set_test_suffix(variant_name(v));
        RUN_TEST1(hostile_numbers, v);
    }
    RUN_TEST1(hostile_everywhere, 0);
    RUN_TEST1(hostile_everywhere, 1);
    RUN_TEST(hostile_weights);
    RUN_TEST(hostile_shape);
    RUN_TEST(hostile_callbacks);
    RUN_TEST(shape_of_testers);
}
