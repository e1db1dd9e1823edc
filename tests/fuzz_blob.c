/*
 * Blobs from strangers. The first byte of the input says what the rest is:
 *     even   the blob itself
 *     odd    edits (place, kind, value) of a blob that the library made; the second byte says which one
 * and bit 1 of it whether the harness makes length and checksum right, as somebody who crafts a blob would.
 */
#include "blob_bytes.h"
#include <stddef.h>
#ifndef FUZZ_LIBFUZZER
static unsigned long sweep(size_t every);
#define FUZZ_SWEEP sweep
#endif
#include "fuzz.h"

enum { N = 20, M = 3, MODELS = 12, BLOB_MOST = 1 << 15 };

static int sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

static npksd_options model_options(size_t which)
{
    static const npksd_real scales[] = { (npksd_real)0.25, 1, 2 };
    npksd_options o = npksd_default_options();
    o.fit_rows = 30;
    o.replicates = 19;
    o.pilot = 3;
    switch (which) {
    case 1: o.estimator = NPKSD_ESTIMATOR_GAUSS, o.summary = NPKSD_SUMMARY_ALL; break;
    case 2: o.estimator = NPKSD_ESTIMATOR_POLY, o.summary = NPKSD_SUMMARY_MEAN_VAR; break;
    case 3: o.estimator = NPKSD_ESTIMATOR_SPLINE, o.summary = NPKSD_SUMMARY_NEIGHBOURS; break;
    case 4: o.estimator = NPKSD_ESTIMATOR_RBF, o.basis = 5; break;
    case 5: o.estimator = NPKSD_ESTIMATOR_RBF, o.summary = NPKSD_SUMMARY_ALL, o.basis = 5; break;
    case 6: o.features = 5, o.diagnose = 1; break;
    case 7: o.kernel = NPKSD_KERNEL_IMQ, o.resample = 2, o.diagnose = 1; break;
    case 8: o.standardize = 0, o.form = NPKSD_FORM_SCALAR, o.resample = 1; break;
    case 9: o.resample = 2, o.resample_redraw = 1, o.smooth = (npksd_real)0.5; break;
    case 10:
        o.scales = scales, o.scale_count = 3, o.bandwidth = 2, o.statistic = NPKSD_STATISTIC_V;
        o.summary = NPKSD_SUMMARY_NONE, o.degree = 2, o.components = 7; /* those of the scores */
        break;
    case 11:
        o.statistic = NPKSD_STATISTIC_UV, o.resample = 2, o.resample_distinct = 1;
        o.components = NPKSD_COMPONENT_MMD | NPKSD_COMPONENT_PAIR;
        break;
    default: break;
    }
    return o;
}

static size_t make_model(size_t which, unsigned char *bytes)
{
    npksd_options options = model_options(which);
    npksd_tester *tester = NULL;
    size_t size = 0;
    LAW(npksd_tester_create(&tester, N, M, sample, NULL, &options) == NPKSD_OK);
    LAW(npksd_tester_step(tester, SIZE_MAX) == NPKSD_OK);
    LAW(npksd_tester_save(tester, bytes, BLOB_MOST, &size) == NPKSD_OK);
    npksd_tester_destroy(tester);
    return size;
}

/* Length and checksum as the library would write them. */
static void sign(unsigned char *bytes, size_t size)
{
    if (size < 64)
        return;
    put_word(bytes + 16, size, 8);
    sign_blob(bytes, size);
}

/* 3 bytes of place and kind, then what the kind needs. */
static void edit(unsigned char *bytes, size_t size, fuzz_input *in)
{
    while (in->at < in->size) {
        size_t at = (size_t)take_word(in, 2) % (size - 8);
        unsigned kind = take_byte(in);
        if (kind % 2) /* the sizes and options are few bytes among many */
            at = 8 + at % 200;
        if (kind & 2)
            at &= ~(size_t)3;
        npksd_real value = 0;
        if (kind & 4) {
            value = take_real(in);
            if (at + sizeof value <= size - 8)
                memcpy(bytes + at, &value, sizeof value);
        } else if (kind & 8) {
            uint64_t word = take_word(in, 8);
            if (at + 8 <= size - 8)
                put_word(bytes + at, word, 8);
        } else {
            bytes[at] = (unsigned char)take_byte(in);
        }
    }
}

static void use(npksd_tester *tester, fuzz_heap *heap)
{
    enum { ROWS = 64, COLUMNS = 8 };
    static npksd_real rows[ROWS * COLUMNS], scores[ROWS * COLUMNS], influence[ROWS];
    static npksd_real coordinates[5][COLUMNS];
    npksd_pair pairs[3];
    npksd_diagnosis diagnosis;
    memset(&diagnosis, 0, sizeof diagnosis);
    npksd_result result;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 1, 0);
    size_t n = 0, m = 0, size = 0, count = 0;
    npksd_tester_shape(tester, &n, &m);
    if (n > ROWS || m > COLUMNS)
        return; /* nobody has that many rows here: a caller must look at the shape */
    sample(rows, n, m, &rng, NULL);
    int wide = npksd_tester_width(tester) > 1;
    diagnosis.coordinate_statistic = wide ? coordinates[0] : NULL;
    diagnosis.coordinate_p = wide ? coordinates[1] : NULL;
    diagnosis.coordinate_p_adjusted = wide ? coordinates[2] : NULL;
    diagnosis.row_influence = influence;
    diagnosis.coordinate_shift = wide ? coordinates[3] : NULL;
    diagnosis.coordinate_distance = wide ? coordinates[4] : NULL;
    diagnosis.pairs = pairs;
    diagnosis.pair_capacity = wide ? 3 : 0;
    for (int large = 0; large < 2; large++) {
        npksd_status status = npksd_tester_check(tester, rows, &result, &diagnosis);
        LAW(status == NPKSD_OK);
        law_result(&result);
        LAW(is_number(influence, n));
        law_pairs(&diagnosis, m);
        for (size_t i = 0; i < m && wide; i++)
            LAW(is_number(&coordinates[3][i], 1) && is_number(&coordinates[4][i], 1));
        LAW(npksd_tester_scores(tester, rows, n, scores) == NPKSD_OK);
        LAW(is_number(scores, n * m));
        for (size_t i = 0; i < n * m; i++)
            rows[i] *= (npksd_real)1e30;
    }
    LAW(npksd_tester_null(tester, NULL, 0, &count) == NPKSD_OK && count > 0);
    LAW(npksd_tester_step(tester, 1) == NPKSD_OK);
    LAW(npksd_tester_prepare(tester) == NPKSD_OK);
    LAW(npksd_tester_merge(tester, 0, 1, rows) == NPKSD_ERROR_STATE);
    LAW(npksd_tester_save(tester, NULL, 0, &size) == NPKSD_OK);
    unsigned char *again = (unsigned char *)malloc(size);
    LAW(npksd_tester_save(tester, again, size, &size) == NPKSD_OK);
    npksd_allocator allocator = fuzz_allocator(heap);
    npksd_tester *second = NULL;
    npksd_status status = npksd_tester_load(&second, again, size, &allocator);
    LAW(status == NPKSD_OK); /* what it writes it reads */
    npksd_tester_destroy(second);
    free(again);
}

/* The blob of a model, made once. */
static const unsigned char *model(size_t which, size_t *size)
{
    static unsigned char models[MODELS][BLOB_MOST];
    static size_t sizes[MODELS];
    if (sizes[which] == 0)
        sizes[which] = make_model(which, models[which]);
    *size = sizes[which];
    return models[which];
}

/* Loads it in both ways, and uses what was let through. */
static void try_blob(const unsigned char *bytes, size_t size)
{
    fuzz_heap heap;
    memset(&heap, 0, sizeof heap);
    npksd_allocator allocator = fuzz_allocator(&heap);
    npksd_tester *tester = (npksd_tester *)&heap; /* anything but NULL */
    npksd_status status = npksd_tester_load(&tester, bytes, size, &allocator);
    LAW(status == NPKSD_OK || status == NPKSD_ERROR_FORMAT || status == NPKSD_ERROR_MEMORY);
    LAW((status == NPKSD_OK) == (tester != NULL));
    size_t n = 0, m = 0, needed = 0;
    npksd_status info = npksd_blob_info(bytes, size, &n, &m, &needed);
    LAW(info == NPKSD_OK || (info == NPKSD_ERROR_FORMAT && status == info));
    if (info == NPKSD_OK && needed < HEAP_LIMIT) {
        npksd_tester *placed = (npksd_tester *)&heap;
        unsigned char *workspace = (unsigned char *)malloc(needed);
        LAW(npksd_tester_load_into(&placed, bytes, size, workspace, needed) == status);
        LAW((status == NPKSD_OK) == (placed != NULL));
        free(workspace);
    }
    if (tester != NULL)
        use(tester, &heap);
    npksd_tester_destroy(tester);
    LAW(heap.live == 0);
}

#ifndef FUZZ_LIBFUZZER
/* Field by field: every 4 bytes of every model become each of some numbers, with a valid checksum. A real is hit by its
   upper and by its lower half. */
static unsigned long sweep(size_t every)
{
    static const uint32_t words[] = { 0,          1,          0x7fffffff, 0xffffffff, 0x80000000,
                                      0x7ff00000, 0x3ff00000, 0x7f800000, 0x00010000, 257 };
    static const int steps[] = { 1, -1 };
    enum { WORDS = sizeof words / sizeof words[0], VALUES = WORDS + 2 };
    unsigned long cases = 0, number = 0;
    for (size_t factor = 2; factor <= VALUES; factor++)
        if (VALUES % factor == 0 && every % factor == 0 && every > 0) {
            every++; /* no factor in common: each value comes up as often as the others */
            factor = 1;
        }
    for (size_t which = 0; which < MODELS; which++) {
        size_t size = 0;
        const unsigned char *good = model(which, &size);
        unsigned char *bytes = (unsigned char *)malloc(size);
        for (size_t at = 8; at + 12 <= size; at += 4)
            for (size_t k = 0; k < VALUES; k++) {
                if (every == 0 || number++ % every != 0)
                    continue;
                uint32_t old = good[at] | (uint32_t)good[at + 1] << 8 | (uint32_t)good[at + 2] << 16
                    | (uint32_t)good[at + 3] << 24;
                memcpy(bytes, good, size);
                put_word(bytes + at, k < WORDS ? words[k] : old + (uint32_t)steps[k - WORDS], 4);
                sign_blob(bytes, size);
                try_blob(bytes, size);
                cases++;
            }
        free(bytes);
    }
    return cases;
}
#endif

int LLVMFuzzerTestOneInput(const unsigned char *input, size_t input_size)
{
    fuzz_input in = { input, input_size, 0 };
    unsigned how = take_byte(&in), which = take_byte(&in) % MODELS;
    size_t size = in.size - in.at;
    const unsigned char *source = input + in.at;
    if (how % 2)
        source = model(which, &size);
    unsigned char *bytes = (unsigned char *)malloc(size > 0 ? size : 1);
    if (size > 0)
        memcpy(bytes, source, size);
    if (how % 2)
        edit(bytes, size, &in);
    if (how & 2)
        sign(bytes, size);
    try_blob(bytes, size);
    free(bytes);
    return 0;
}
