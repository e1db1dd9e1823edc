/* What several suites share: a generator with faults, a counting allocator, option variants. */
#ifndef NPKSD_TESTS_SUPPORT_H
#define NPKSD_TESTS_SUPPORT_H

#include "options.h"
#ifdef NPKSD_UPSTREAM_GREATEST
#include "greatest.h"
#else
#include "greatest_lite.h"
#endif

/* The seed of every random choice in the tests: 1, or the environment variable NPKSD_TEST_SEED. */
extern uint64_t test_seed;

/* With NPKSD_TEST_QUICK set, loops over many like cases take larger strides (valgrind is slow). */
extern int test_quick;
size_t stride(size_t when_quick); /* otherwise 1 */

const char *status_name(int status);   /* for ASSERT_ENUM_EQ */
#define ASSERT_STATUS(EXPECTED, GOT) ASSERT_ENUM_EQ(EXPECTED, GOT, status_name)
#define ASSERT_STATUSm(MSG, EXPECTED, GOT) ASSERT_ENUM_EQm(MSG, EXPECTED, GOT, status_name)

/* ======== bad numbers, made from bits so that -ffast-math cannot guess them ======== */

npksd_real not_a_number(void);
npksd_real plus_infinity(void);
npksd_real minus_infinity(void);
int finite_bits(const npksd_real *values, size_t count); /* neither NaN nor infinity among them */

/* ======== data: x_0 = z_0, x_i = x_{i-1}/2 + z_i, z standard normal ======== */

typedef enum test_fault { FAULT_RETURN, FAULT_NAN, FAULT_INF, FAULT_MINUS_INF } test_fault;

typedef struct test_source {
    size_t calls;     /* so far */
    size_t bad_call;  /* the call, counted from 1, in which the fault shows; 0: never */
    int for_ever;     /* and in every later one */
    test_fault fault; /* non-zero return, or a bad number as the last one written */
    size_t shown;     /* how often it did */
} test_source;

int shows_fault(test_source *source); /* counts a call: is it a bad one? */

int chain_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *source);
int chain_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *source);
/* Generator and its true score; the last argument is a test_source or NULL. */

void sum_of_others(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *unused);
void faulty_sum(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *source);
/* Summaries; the second takes a test_source (FAULT_RETURN: it has no way to give up). */

void draw_rows(npksd_real *rows, size_t n, size_t m, uint64_t seed);
/* n rows of chain_sample */

typedef struct replay {
    const npksd_real *sets;
    size_t count, calls; /* data sets; later calls draw anew */
} replay;

int replay_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *source);
/* The data sets of a replay, one a call. */

/* ======== a caller's own rng: the built-in one behind other functions ======== */

typedef struct caller_rng {
    npksd_rng_state state;
    npksd_rng inner;
    uint64_t seed;
    size_t seeks;
} caller_rng;

npksd_rng caller_rng_start(caller_rng *own, uint64_t seed, int with_seek);

/* ======== an allocator that counts, checks and fails on demand ======== */

enum { HEAP_BLOCKS = 16 };

typedef struct test_heap {
    test_source asked; /* a call is an allocation; in a bad one it fails */
    size_t live;       /* blocks not given back */
    size_t wrong;      /* frees of a foreign pointer, or with another size than asked for */
    void *blocks[HEAP_BLOCKS];
    size_t bytes[HEAP_BLOCKS];
} test_heap;

npksd_allocator heap_allocator(test_heap *heap);

/* ======== option variants: every path through the library, with little work ======== */

enum { SMALL_N = 20, SMALL_M = 3, SMALL_REPLICATES = 19 };

npksd_options small_options(void);
/* The defaults, with little work; for SMALL_N rows of SMALL_M numbers of chain_sample. */

size_t variant_count(void);
const char *variant_name(size_t index);
npksd_options variant_options(size_t index);

/* ======== running and comparing ======== */

npksd_status finish(npksd_tester *tester);  /* step until it is no longer NPKSD_MORE */
int same_result(const npksd_result *a, const npksd_result *b); /* bit for bit, padding aside */

enum { UNTOUCHED = 0xA5 };
int untouched(const void *memory, size_t bytes); /* every byte still has that value */

#endif /* NPKSD_TESTS_SUPPORT_H */
