/*
 * What the harnesses share: bytes into numbers, a heap with a limit, laws that always hold.
 *
 * One file is one program, however it is built:
 *     clang -fsanitize=fuzzer,address,undefined -DFUZZ_LIBFUZZER fuzz_api.c      libFuzzer
 *     afl-clang-fast fuzz_api.c                                                  AFL++ (reads stdin)
 *     cc fuzz_api.c                                                              replay, see main below
 */
#ifndef NPKSD_TESTS_FUZZ_H
#define NPKSD_TESTS_FUZZ_H

#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ======== a score: the standard normal's ======== */

static inline int normal_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count * m; i++)
        scores[i] = -rows[i];
    return 0;
}

/* ======== laws ======== */

/* A broken law stops the program where a debugger and a fuzzer see it. */
#define LAW(condition)                                                                            \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);               \
            abort();                                                                              \
        }                                                                                         \
    } while (0)

static inline int is_number(const npksd_real *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t wide = 0;
        uint32_t narrow = 0;
        memcpy(sizeof *values == 8 ? (void *)&wide : (void *)&narrow, values + i, sizeof *values);
        if ((wide >> 52 & 0x7ff) == 0x7ff || (narrow >> 23 & 0xff) == 0xff)
            return 0;
    }
    return 1;
}

static inline void law_status(npksd_status status)
{
    LAW(status >= NPKSD_ERROR_STATE && status <= NPKSD_MORE);
    LAW(npksd_status_string(status) != NULL);
}

static inline void law_result(const npksd_result *r)
{
    LAW(is_number(&r->p_value, 1) && r->p_value > 0 && r->p_value <= 1);
    LAW(is_number(&r->p_low, 1) && is_number(&r->p_high, 1));
    LAW(r->p_low >= 0 && r->p_low <= r->p_value && r->p_value <= r->p_high && r->p_high <= 1);
    LAW(is_number(&r->statistic, 1) && is_number(&r->threshold, 1) && is_number(&r->ksd2, 1));
    LAW(is_number(&r->bandwidth, 1) && r->bandwidth > 0);
    LAW(r->out_of_range >= 0 && r->out_of_range <= 1);
    LAW(r->replicates > 0 && r->leading > 0 && r->leading <= NPKSD_COMPONENT_ALL && r->flags < 32);
    LAW(strcmp(npksd_component_string(r->leading), npksd_component_string(0)) != 0);
    LAW(r->reject == 0 || r->reject == 1);
    LAW(r->reject == (r->statistic > r->threshold));
}

static inline void law_pairs(const npksd_diagnosis *d, size_t m)
{
    LAW(d->pair_count <= d->pair_capacity && d->pair_count <= m * (m - 1) / 2);
    for (size_t k = 0; k < d->pair_count; k++) {
        const npksd_pair *pair = &d->pairs[k];
        LAW(pair->first < pair->second && pair->second < m);
        LAW(pair->p_adjusted > 0 && pair->p_adjusted <= 1);
        LAW(is_number(&pair->observed, 1) && is_number(&pair->expected, 1));
    }
}

enum { MARK = 0xA5 };

static inline int is_marked(const void *memory, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)memory;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != MARK)
            return 0;
    return 1;
}

/* ======== input ======== */

typedef struct fuzz_input {
    const unsigned char *bytes;
    size_t size, at;
} fuzz_input;

static inline unsigned take_byte(fuzz_input *in) { return in->at < in->size ? in->bytes[in->at++] : 0; }

static inline uint64_t take_word(fuzz_input *in, size_t bytes)
{
    uint64_t word = 0;
    for (size_t k = 0; k < bytes; k++)
        word |= (uint64_t)take_byte(in) << (8 * k);
    return word;
}

/* 0 .. most, mostly; any number at all if the input insists */
static inline size_t take_size(fuzz_input *in, size_t most)
{
    unsigned byte = take_byte(in);
    return byte == 255 ? (size_t)take_word(in, 8) : byte % (most + 1);
}

static inline int take_int(fuzz_input *in, int most)
{
    unsigned byte = take_byte(in);
    return byte == 255 ? (int)(int32_t)take_word(in, 4) : (int)(byte % (unsigned)(most + 1));
}

static inline npksd_real from_word(uint64_t wide)
{
    npksd_real value;
    uint32_t narrow = (uint32_t)wide;
    memcpy(&value, sizeof value == 8 ? (const void *)&wide : (const void *)&narrow, sizeof value);
    return value;
}

/* Mostly a number of ordinary size; sometimes one at the edge; sometimes any bits. */
static inline npksd_real take_real(fuzz_input *in)
{
    static const double edges[] = { 0, -0.0, 1, -1, 1e300, -1e300, 1e-300, 1e-310, 1e154, 1e-154,
                                    1.7976931348623157e308, 4.9e-324, 1e37, 1e-37, 1e-45, 3e38 };
    unsigned byte = take_byte(in);
    if (byte == 255)
        return from_word(take_word(in, 8));
    if (byte >= 240) { /* a float that is too large becomes infinity: that must be seen too */
        double edge = edges[byte - 240];
        return sizeof(npksd_real) == 4 && (edge > 3.4e38 || edge < -3.4e38)
            ? from_word(UINT64_C(0x7f800000)) : (npksd_real)edge;
    }
    return ((npksd_real)byte - 120) / 16;
}

/* ======== memory: limited, counted, checked ======== */

enum { HEAP_LIMIT = 3 << 20 };

typedef struct fuzz_heap {
    size_t live, calls, fail_at;
    int for_ever;
} fuzz_heap;

static inline void *fuzz_alloc(size_t bytes, void *user_data)
{
    fuzz_heap *heap = (fuzz_heap *)user_data;
    heap->calls++;
    if (bytes > HEAP_LIMIT || heap->calls == heap->fail_at
        || (heap->for_ever && heap->fail_at > 0 && heap->calls > heap->fail_at))
        return NULL;
    void *memory = malloc(bytes);
    heap->live += memory != NULL;
    return memory;
}

static inline void fuzz_free(void *memory, size_t bytes, void *user_data)
{
    fuzz_heap *heap = (fuzz_heap *)user_data;
    LAW(memory != NULL && bytes <= HEAP_LIMIT && heap->live > 0);
    heap->live--;
    free(memory);
}

static inline npksd_allocator fuzz_allocator(fuzz_heap *heap)
{
    npksd_allocator allocator;
    allocator.alloc_fn = fuzz_alloc;
    allocator.free_fn = fuzz_free;
    allocator.user_data = heap;
    return allocator;
}

/* ======== programs ======== */

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

#ifndef FUZZ_LIBFUZZER
enum { INPUT_MOST = 1 << 16 };

static inline size_t read_all(FILE *file, unsigned char *bytes)
{
    size_t size = fread(bytes, 1, INPUT_MOST, file);
    fclose(file);
    return size;
}

#ifndef FUZZ_SWEEP /* unsigned long FUZZ_SWEEP(size_t every): cases that a harness makes by itself */
#define FUZZ_SWEEP(every) ((void)(every), 0ul)
#endif

/* Files to replay; "-random COUNT SEED" for as many inputs made up here; "-sweep K": every K-th case of the harness's
   own; nothing: one input from stdin. */
int main(int argc, char **argv)
{
    static unsigned char bytes[INPUT_MOST];
    unsigned long passed = 0;
    if (argc == 4 && strcmp(argv[1], "-random") == 0) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, strtoull(argv[3], NULL, 10), 0);
        for (unsigned long count = strtoul(argv[2], NULL, 10); passed < count; passed++) {
            size_t size = (size_t)(rng.next_fn(rng.user_data) >> 55);
            for (size_t k = 0; k < size; k++) /* small bytes are valid more often than large ones */
                bytes[k] = (unsigned char)(rng.next_fn(rng.user_data) >> 56
                                           >> (rng.next_fn(rng.user_data) >> 62));
            LLVMFuzzerTestOneInput(bytes, size);
        }
        printf("%s: %lu random inputs passed\n", argv[0], passed);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "-sweep") == 0) {
        printf("%s: %lu cases passed\n", argv[0], FUZZ_SWEEP(strtoul(argv[2], NULL, 10)));
        return 0;
    }
#ifdef __AFL_HAVE_MANUAL_CONTROL
    while (argc == 1 && __AFL_LOOP(10000)) {
        size_t size = fread(bytes, 1, INPUT_MOST, stdin);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    if (argc == 1)
        return 0;
#endif
    if (argc == 1) {
        size_t size = fread(bytes, 1, INPUT_MOST, stdin);
        return LLVMFuzzerTestOneInput(bytes, size);
    }
    for (int k = 1; k < argc; k++, passed++) {
        FILE *file = fopen(argv[k], "rb");
        if (file == NULL) {
            fprintf(stderr, "%s: cannot be read\n", argv[k]);
            return 1;
        }
        size_t size = read_all(file, bytes);
        unsigned char *exact = (unsigned char *)malloc(size > 0 ? size : 1); /* ends where it ends */
        memcpy(exact, bytes, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    printf("%s: %lu files passed\n", argv[0], passed);
    return 0;
}
#endif

#endif /* NPKSD_TESTS_FUZZ_H */
