/* Inside an engine: memory from its arena, random numbers from its own generator.
 *
 * Many engines forbid malloc and have their own random generator, so that replays are bit for bit
 * the same. npksd_options has hooks for both. The allocator is called exactly once, when the
 * tester is created, and gets its block back when the tester is destroyed. The generator needs
 * next_fn. With seek_fn, "go to the start of stream s", data sets are numbered, and a replicate
 * can be drawn again by itself (on threads each worker needs its own rng). Without an arena,
 * npksd_tester_size gives the number of bytes and npksd_tester_init takes a block.
 *
 * The program shows: one block of the arena, all of it given back; the same answer twice;
 * replicate 7 drawn again by itself. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <stdio.h>
#include <stdlib.h>

enum { SHOTS = 80, COLUMNS = 2, ARENA_BYTES = 1 << 20 };

/* ---- the engine's arena: blocks are handed out in order and given back in reverse ---- */

typedef struct arena {
    unsigned char *memory;
    size_t used, most, blocks;
} arena;

static void *arena_alloc(size_t bytes, void *user_data)
{
    arena *a = (arena *)user_data;
    size_t rounded = (bytes + 15) / 16 * 16;
    if (rounded < bytes || rounded > ARENA_BYTES - a->used)
        return NULL; /* the library returns NPKSD_ERROR_MEMORY */
    void *block = a->memory + a->used;
    a->used += rounded;
    a->most = a->used > a->most ? a->used : a->most;
    a->blocks++;
    return block;
}

static void arena_free(void *block, size_t bytes, void *user_data)
{
    arena *a = (arena *)user_data;
    (void)bytes;
    a->used = (size_t)((unsigned char *)block - a->memory);
}

/* ---- the engine's random numbers: a hashed counter; each stream starts it elsewhere ---- */

typedef struct engine_rng {
    uint64_t seed, counter;
} engine_rng;

static uint64_t stir(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

static uint64_t engine_next(void *user_data)
{
    engine_rng *r = (engine_rng *)user_data;
    return stir(r->counter++ * UINT64_C(0x9e3779b97f4a7c15) + r->seed);
}

static void engine_seek(uint64_t stream, void *user_data)
{
    engine_rng *r = (engine_rng *)user_data;
    r->counter = stir(stream * UINT64_C(0x9e3779b97f4a7c15) + 1) << 24; /* far from all others */
}

/* ---- what is tested ---- */

static int shots(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    npksd_real recoil = *(const npksd_real *)user_data;
    for (size_t r = 0; r < count; r++) {
        rows[r * m] = npksd_normal(rng);
        rows[r * m + 1] = recoil * npksd_uniform(rng) + npksd_normal(rng);
    }
    return 0;
}

static void must(npksd_status status, const char *what)
{
    if (status != NPKSD_OK) {
        fprintf(stderr, "engine_hooks: %s: %s\n", what, npksd_status_string(status));
        exit(EXIT_FAILURE);
    }
}

int main(void)
{
    static unsigned char memory[ARENA_BYTES];
    static npksd_real recorded[SHOTS * COLUMNS];
    arena a = { memory, 0, 0, 0 };
    engine_rng state = { 2026, 0 };
    npksd_rng rng = { engine_next, engine_seek, &state };
    npksd_allocator allocator = { arena_alloc, arena_free, &a };
    npksd_real recoil = 1, stronger = 3, again, once[499];
    npksd_result result[2];
    npksd_worker worker = { { NULL, NULL, NULL }, NULL, NULL, 0 };
    size_t count = 0;

    engine_seek(UINT64_C(1) << 63, &state); /* a stream that the test does not use */
    shots(recorded, SHOTS, COLUMNS, &rng, &stronger);
    npksd_options options = npksd_default_options();
    options.allocator = allocator;
    options.rng = rng;
    for (int k = 0; k < 2; k++) {
        npksd_tester *tester;
        must(npksd_tester_create(&tester, SHOTS, COLUMNS, shots, &recoil, &options), "create");
        must(npksd_tester_step(tester, SIZE_MAX), "step");
        must(npksd_tester_check(tester, recorded, &result[k], NULL), "check");
        must(npksd_tester_null(tester, once, 499, &count), "null");
        must(npksd_tester_replicates(tester, &worker, 7, 1, &again), "replicate 7");
        npksd_tester_destroy(tester);
    }
    int same = result[0].p_value == result[1].p_value && result[0].statistic == result[1].statistic;
    printf("p = %.3f, %s\n", (double)result[0].p_value,
           result[0].reject ? "rejected" : "not rejected");
    printf("arena: %zu bytes at most, %zu blocks for two testers, %zu bytes left in use\n", a.most,
           a.blocks, a.used);
    printf("the second run: %s; replicate 7 alone: %s\n", same ? "the same bits" : "DIFFERENT BITS",
           again == once[7] ? "the same bits" : "DIFFERENT BITS");
    return same && again == once[7] && a.blocks == 2 && a.used == 0 && result[0].reject
        ? EXIT_SUCCESS
        : EXIT_FAILURE;
}
