/*
 * npksd.h - v0.2.0 - could my recorded data have come from this generator?
 * One C header that answers with an exact p-value and says where the two differ.
 * Kernelised Stein test for implicit generative models (NP-KSD, Xu & Reinert), and more.
 * SPDX-License-Identifier: MIT OR Unlicense       (see the end of this file)
 *
 * RECIPE
 *     In exactly one C or C++ file:   #define NPKSD_IMPLEMENTATION
 *                                     #include "npksd.h"
 *     Everywhere else:                #include "npksd.h"
 *     Compile as C99 or C++11 or later and link with -lm. That is all.
 *
 * QUICK EXAMPLE (examples/quickstart.c is this program)
 *
 *     #define NPKSD_IMPLEMENTATION
 *     #include "npksd.h"
 *     #include <stdio.h>
 *
 *     // The generator under test: count rows of m numbers, every random number from rng.
 *     static int bot(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
 *     {
 *         npksd_real spread = *(const npksd_real *)user_data;
 *         for (size_t i = 0; i < count * m; i++)
 *             rows[i] = spread * npksd_normal(rng);
 *         return 0;
 *     }
 *
 *     int main(void)
 *     {
 *         npksd_real recorded[100 * 2], spreads[2] = { 1, (npksd_real)1.3 };
 *         npksd_rng_state state;
 *         npksd_rng rng = npksd_rng_seeded(&state, 2026, 0);
 *         bot(recorded, 100, 2, &rng, &spreads[0]); // your recording here
 *
 *         for (int k = 0; k < 2; k++) {
 *             npksd_result result;
 *             npksd_status status = npksd_test(recorded, 100, 2, bot, &spreads[k], NULL, &result);
 *             if (status != NPKSD_OK) {
 *                 fprintf(stderr, "npksd_test: %s\n", npksd_status_string(status));
 *                 return 1;
 *             }
 *             printf("a bot with spread %.1f: p = %.3f, %s\n", (double)spreads[k],
 *                    (double)result.p_value, result.reject ? "rejected" : "not rejected");
 *         }
 *         return 0;
 *     }
 *
 * WHAT IT TESTS
 *     You have n recorded rows of m numbers and a function that draws such rows. Null hypothesis:
 *     the rows come from that function. If it holds, P(p_value <= a) <= a for every a, whatever n,
 *     m and the quality of the fit (wild bootstrap: asymptotically). A small p says that the rows
 *     are not from this generator; a large p only that n rows show no difference. Use rows that the
 *     generator was not fitted to. Rows of one call may depend on each other; calls must not.
 *
 * HOW
 *     (1) Draw rows and learn, in closed form, the score d log q(x_i | t) / dx_i of each coordinate
 *     (column) given a summary t of the others, and the distribution of columns and pairs. (2)
 *     Reduce n rows to numbers, small for rows from the generator, standardise them on a pilot
 *     batch, and take the largest. (3) Draw b = replicates data sets: p is the rank of the observed
 *     number among theirs. Six components (NPKSD_COMPONENT_) supply the numbers. Each alone has
 *     blind spots: STEIN a wider spread and proportions of modes, MIRROR and MMD small covariances,
 *     MOMENT tails and modes, MARGIN dependence, PAIR all but correlations. MMD takes a fifth of
 *     the time at n = 100, m = 3, each of the others less.
 *     The paper's own test: components = NPKSD_COMPONENT_STEIN, statistic = NPKSD_STATISTIC_V, one
 *     scale of 1, standardize = 0, form = NPKSD_FORM_SCALAR, estimator = NPKSD_ESTIMATOR_GAUSS.
 *
 * API TIERS
 *     1  npksd_test, npksd_test_samples: one call, one answer; _diagnose also says why
 *     2  npksd_tester: prepare once, check many; in steps, in your memory, as a blob on a device;
 *        npksd_monitor: check after check, indefinitely, with one error rate for all
 *     3  npksd_worker: the replicates on your own threads or MPI ranks
 *     npksd_self_check: is a generator fit for testing? npksd_power: what could n rows show?
 *
 * MEMORY
 *     A tester is one block of npksd_tester_size bytes, 170 KiB for n = 100, m = 3. It grows with
 *     n m, min(fit_rows, 1000) m, replicates, and m p^2 for p score features, never with n^2; fixed
 *     samples add 4 bytes a row. A loaded blob needs less (67 KiB). init uses your block, at any
 *     address; create takes one from options.allocator, aligned for npksd_real. Stack: 12 KiB.
 *
 * RANDOMNESS
 *     The built-in generator is Threefry-2x64-13: word i of stream s is a function of (seed, s, i).
 *     Replicate r is stream r; fit, pilot, index sets and noise have their own streams. Rows drawn
 *     with npksd_rng_seeded(&state, 0, 0) are thus replicate 0 of a test with seed 0: use another
 *     seed for data you make yourself. A caller's rng with seek_fn works the same way.
 *
 * FRAME BUDGET
 *     npksd_tester_step(t, k) does k items, each a generator call or, with default options at n =
 *     1000, m = 100, less than 1 ms of work. You watch the clock. Any steps give the same bits.
 *
 * THREADS, EXCEPTIONS
 *     No mutable globals. Distinct testers may run in distinct threads, one tester in one thread at
 *     a time; npksd_tester_replicates takes it const, with one worker per thread. A C++ callback
 *     may throw through create, step, check and replicates if the implementation is compiled as C++
 *     or with -fexceptions. If step throws, destroy the tester; after check or replicates it can be
 *     used again. Other calls would leak memory: catch in the callback and return non-zero.
 *
 * DETERMINISM
 *     The same binary gives the same bits. So do other compilers and flags that neither contract
 *     a*b+c (-ffp-contract=off) nor reorder sums. With BLAS, only the same binary does.
 *
 * NUMERICS AND LIMITS
 *     Rows are centred and scaled by the fit sample; scaled values are clamped to +-1e6 (float
 *     1e4), so data near 1e300 is fine. In a column that is constant in the fit sample, MARGIN sees
 *     any other normal number. NaN and infinity are refused, even under -ffast-math; results are
 *     then correct to 1e-7. Float hardly sees changes of correlations that stay above 0.999.
 *     Cost of a data set: order n^2 m, or n F m with features F.
 *     Limits: 2^28 rows, 4e6 columns, 256 features per coordinate (GAUSS: any), 16 scales;
 *     standardize = 0: distances of rows from 1e-140 to 1e140 (float 1e-15 to 1e15).
 *
 * CONFIG MACROS (before the include with NPKSD_IMPLEMENTATION; the first four before every include)
 *     NPKSD_FLOAT              npksd_real is float; every symbol is npksdf_...
 *     NPKSD_API                prefix of every prototype: dllexport, a visibility attribute
 *     NPKSD_STATIC             all functions static: for use in the implementing file only
 *     NPKSD_NAMESPACE          a prefix for every symbol
 *     NPKSD_NO_MALLOC          no malloc, no math.h, no string.h: allocator or workspace mandatory
 *     NPKSD_NO_DISPATCH        no second build of hot loops for AVX2 (gcc or clang, x86-64, glibc)
 *     NPKSD_ASSERT(x)          default: nothing
 *     NPKSD_EXP LOG SQRT SIN COS, NPKSD_MEMCPY MEMSET    replacements for these functions
 *     NPKSD_GEMM(...)          your matrix product, see >>linalg
 *     NPKSD_USE_CBLAS          cblas_dgemm or cblas_sgemm; NPKSD_BLAS_INT: its integers, int
 *
 * ERRORS
 *     NPKSD_OK is 0, NPKSD_MORE 1, errors are negative. A failed call frees what it allocated and
 *     leaves outputs untouched (a new tester is NULL), except npksd_tester_scores and _replicates.
 *     NPKSD_ERROR_ARGUMENT: options (see npksd_options_problem), NULL pointers, no sample_fn,
 *     indices out of range, a diagnosis without options.diagnose. The verdict is in npksd_result.
 *
 * HISTORY (every changed default, random stream or numeric result is named here)
 *     0.2.0   All p-values change: components MARGIN and PAIR, other bandwidths, MMD by
 *             frequencies, numbers combined half-way to normal scores, statistic U, a bandwidth
 *             over 8 pairs a row, other normal numbers, no effect of row order (generators). Fixed
 *             samples: one pool of all rows; n/2 synthetic rows are enough. Wild bootstrap: STEIN
 *             only, flagged. Workers with scratch need their own rng if the tester has a caller's.
 *             npksd_diagnosis has new fields: zero-initialise it. Blobs of 0.1 are refused.
 *     0.1.0   the first version
 */
#ifndef NPKSD_H
#define NPKSD_H

#include <stddef.h>
#include <stdint.h>

#define NPKSD_VERSION_MAJOR 0
#define NPKSD_VERSION_MINOR 2
#define NPKSD_VERSION_PATCH 0
#define NPKSD_VERSION                                                                              \
    (NPKSD_VERSION_MAJOR * 10000 + NPKSD_VERSION_MINOR * 100 + NPKSD_VERSION_PATCH)

/* NPKSD_NAMESPACE renames every public function: with engine_ the linker sees engine_npksd_test. A
   float build has npksdf_..., so it cannot link with a double one. */
#ifdef NPKSD_FLOAT
typedef float npksd_real;
#define NPKSDI_BASE_NAME(name) npksdf_##name
#else
typedef double npksd_real;
#define NPKSDI_BASE_NAME(name) npksd_##name
#endif
#ifdef NPKSD_NAMESPACE
#define NPKSDI_JOIN(a, b)  a##b
#define NPKSDI_PASTE(a, b) NPKSDI_JOIN(a, b)
#define NPKSDI_NAME(name)  NPKSDI_PASTE(NPKSD_NAMESPACE, NPKSDI_BASE_NAME(name))
#else
#define NPKSDI_NAME(name) NPKSDI_BASE_NAME(name)
#endif
#if defined(NPKSD_FLOAT) || defined(NPKSD_NAMESPACE)
#define npksd_status_string         NPKSDI_NAME(status_string)
#define npksd_component_string      NPKSDI_NAME(component_string)
#define npksd_version               NPKSDI_NAME(version)
#define npksd_rng_seeded            NPKSDI_NAME(rng_seeded)
#define npksd_uniform               NPKSDI_NAME(uniform)
#define npksd_normal                NPKSDI_NAME(normal)
#define npksd_default_options       NPKSDI_NAME(default_options)
#define npksd_options_problem       NPKSDI_NAME(options_problem)
#define npksd_samples_minimum       NPKSDI_NAME(samples_minimum)
#define npksd_samples_problem       NPKSDI_NAME(samples_problem)
#define npksd_test                  NPKSDI_NAME(test)
#define npksd_test_diagnose         NPKSDI_NAME(test_diagnose)
#define npksd_test_samples          NPKSDI_NAME(test_samples)
#define npksd_test_samples_diagnose NPKSDI_NAME(test_samples_diagnose)
#define npksd_self_check            NPKSDI_NAME(self_check)
#define npksd_power                 NPKSDI_NAME(power)
#define npksd_tester_size           NPKSDI_NAME(tester_size)
#define npksd_tester_init           NPKSDI_NAME(tester_init)
#define npksd_tester_create         NPKSDI_NAME(tester_create)
#define npksd_tester_step           NPKSDI_NAME(tester_step)
#define npksd_tester_progress       NPKSDI_NAME(tester_progress)
#define npksd_tester_check          NPKSDI_NAME(tester_check)
#define npksd_tester_check_begin    NPKSDI_NAME(tester_check_begin)
#define npksd_tester_check_end      NPKSDI_NAME(tester_check_end)
#define npksd_tester_null           NPKSDI_NAME(tester_null)
#define npksd_tester_scores         NPKSDI_NAME(tester_scores)
#define npksd_tester_save           NPKSDI_NAME(tester_save)
#define npksd_tester_load           NPKSDI_NAME(tester_load)
#define npksd_tester_load_into      NPKSDI_NAME(tester_load_into)
#define npksd_blob_info             NPKSDI_NAME(blob_info)
#define npksd_tester_shape          NPKSDI_NAME(tester_shape)
#define npksd_tester_destroy        NPKSDI_NAME(tester_destroy)
#define npksd_monitor_begin         NPKSDI_NAME(monitor_begin)
#define npksd_monitor_add           NPKSDI_NAME(monitor_add)
#define npksd_monitor_restart       NPKSDI_NAME(monitor_restart)
#define npksd_tester_prepare        NPKSDI_NAME(tester_prepare)
#define npksd_tester_scratch_size   NPKSDI_NAME(tester_scratch_size)
#define npksd_tester_width          NPKSDI_NAME(tester_width)
#define npksd_tester_replicates     NPKSDI_NAME(tester_replicates)
#define npksd_tester_merge          NPKSDI_NAME(tester_merge)
#define npksd_median_distance       NPKSDI_NAME(median_distance)
#define npksd_statistic             NPKSDI_NAME(statistic)
#endif

#ifdef NPKSD_STATIC
#undef NPKSD_API
#if defined(__GNUC__) || defined(__clang__)
#define NPKSD_API static __attribute__((unused))
#else
#define NPKSD_API static
#endif
#elif !defined(NPKSD_API)
#define NPKSD_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ======== types ======== */

/* name, value, text: the enum and npksd_status_string both come from this list */
#define NPKSD_STATUS_LIST(X)                                                                       \
    X(OK, 0, "ok")                                                                                 \
    X(MORE, 1, "not finished: call step again")                                                    \
    X(ERROR_ARGUMENT, -1, "argument or option out of range (npksd_options_problem says which)")    \
    X(ERROR_MEMORY, -2, "not enough memory, or the workspace is too small")                        \
    X(ERROR_NONFINITE, -3, "NaN or infinity in rows or scores")                                    \
    X(ERROR_GENERATOR, -4, "the generator (or score_fn) gave up, or it ignores its rng")           \
    X(ERROR_NUMERIC, -5, "numbers left the range of npksd_real")                                   \
    X(ERROR_FORMAT, -6, "not a blob of this version and precision, or a damaged one")              \
    X(ERROR_STATE, -7, "called too early (step until NPKSD_OK first), or a monitor is full")

typedef enum npksd_status {
#define NPKSDI_ENUM(name, value, text) NPKSD_##name = (value),
    NPKSD_STATUS_LIST(NPKSDI_ENUM)
#undef NPKSDI_ENUM
        NPKSD_STATUS_LAST = NPKSD_ERROR_STATE
} npksd_status;

typedef struct npksd_allocator {
    void *(*alloc_fn)(size_t bytes, void *user_data);          /* NULL return = out of memory */
    void (*free_fn)(void *ptr, size_t bytes, void *user_data); /* bytes as requested */
    void *user_data;
} npksd_allocator;
/* Both functions or neither; all zero = malloc and free (not with NPKSD_NO_MALLOC). */

typedef struct npksd_rng {
    uint64_t (*next_fn)(void *user_data);              /* 64 uniform bits */
    void (*seek_fn)(uint64_t stream, void *user_data); /* go to the start of a stream, or NULL */
    void *user_data;
} npksd_rng;
/* All zero = the built-in generator with options.seed. Without seek_fn: in order, one thread. */

typedef struct npksd_rng_state {
    uint64_t seed_, stream_, index_; /* the next word is number index_ of stream (seed_, stream_) */
    uint64_t words_[8];              /* words index_ - index_ % 8 ... of it, made 8 at a time */
} npksd_rng_state;

typedef int (*npksd_sample_fn)(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                               void *user_data);
/* The generator under test: write count rows of m numbers, row after row, drawing every random
   number from rng. Return 0, or anything else to stop. count is always n, one whole data set. */

typedef int (*npksd_score_fn)(const npksd_real *rows, size_t count, size_t m, npksd_real *scores,
                              void *user_data);
/* d log q(x) / dx_i for each row and coordinate, in the units of the rows. Re-entrant. Return 0. */

typedef void (*npksd_summary_fn)(const npksd_real *row, size_t m, size_t i, npksd_real *t,
                                 void *user_data);
/* t = summary_dim numbers computed from row without its coordinate i. Re-entrant. */

enum {
    NPKSD_SUMMARY_MEAN,       /* mean of the other coordinates */
    NPKSD_SUMMARY_NONE,       /* nothing: marginal scores */
    NPKSD_SUMMARY_ALL,        /* every other coordinate */
    NPKSD_SUMMARY_MEAN_VAR,   /* their mean and variance */
    NPKSD_SUMMARY_NEIGHBOURS, /* coordinates i - 1 and i + 1: series, strips, grids */
    NPKSD_SUMMARY_CALLBACK
};
enum {
    NPKSD_ESTIMATOR_AUTO,   /* the best of a short list for each coordinate, on held-out rows */
    NPKSD_ESTIMATOR_GAUSS,  /* linear in x and t */
    NPKSD_ESTIMATOR_POLY,   /* Hermite polynomials in (x, t) */
    NPKSD_ESTIMATOR_SPLINE, /* cubic splines in x, polynomial in t */
    NPKSD_ESTIMATOR_RBF,    /* Gaussian bumps in (x, t) */
    NPKSD_ESTIMATOR_CALLBACK
};
enum { NPKSD_KERNEL_GAUSS, NPKSD_KERNEL_IMQ };
enum { NPKSD_FORM_VECTOR, NPKSD_FORM_SCALAR }; /* test functions: m, or one as in the paper */
enum { NPKSD_STATISTIC_U, NPKSD_STATISTIC_UV, NPKSD_STATISTIC_V };
enum { NPKSD_CALIBRATE_MONTE_CARLO, NPKSD_CALIBRATE_WILD_BOOTSTRAP };
enum {
    NPKSD_COMPONENT_STEIN = 1,   /* U-statistics at two bandwidths: shape, location, clusters */
    NPKSD_COMPONENT_MIRROR = 2,  /* the same with scores reversed, two-sided: spread and tails */
    NPKSD_COMPONENT_MOMENT = 4,  /* Stein with kernel 1 + x.y: means, variances, covariances */
    NPKSD_COMPONENT_MMD = 8,     /* characteristic functions: modes, holes, bounded columns */
    NPKSD_COMPONENT_MARGIN = 16, /* columns: distance, mean, spread, tails, frequent values */
    NPKSD_COMPONENT_PAIR = 32,   /* correlations of normal scores, in units of their deviation */
    NPKSD_COMPONENT_ALL = 63
};
enum {
    NPKSD_FLAG_TIES = 1,                /* over 5 % repeated values in a column of the fit sample */
    NPKSD_FLAG_CONSTANT_COORDINATE = 2, /* a column of the fit sample never changes */
    NPKSD_FLAG_STOPPED_EARLY = 4,       /* stop_after was reached */
    NPKSD_FLAG_ASYMPTOTIC = 8,          /* wild bootstrap: p is not exact */
    NPKSD_FLAG_PARTIAL_BLOCK = 16       /* fixed samples: rows of a last, shorter block left out */
};
enum { NPKSD_SCALES_MAX = 16, NPKSD_FEATURES_MAX = 256 };

typedef struct npksd_options {
    uint64_t seed;               /* 0; every value is a valid seed */
    npksd_rng rng;               /* zero: built in */
    npksd_allocator allocator;   /* zero: malloc */
    size_t fit_rows;             /* 4000; N >= 2, for scores; fit sample: first min(1000, 4e6/m) */
    size_t replicates;           /* 499; b, data sets drawn for the p-value, 1/(b+1) <= alpha */
    size_t pilot;                /* 200; data sets to standardise the numbers, at least 2 */
    npksd_real alpha;            /* 0.05; level of result.reject */
    size_t resample;             /* 0: all coordinates; B: B random ones, the others unfitted */
    int resample_redraw;         /* 0: one index set for all data sets; 1: redrawn for each */
    int resample_distinct;       /* 0: with replacement; 1: without, B <= m */
    int summary;                 /* NPKSD_SUMMARY_MEAN: what a score knows of the others */
    npksd_summary_fn summary_fn; /* for NPKSD_SUMMARY_CALLBACK ... */
    void *summary_user_data;
    size_t summary_dim;      /* ... and how many numbers it writes */
    int estimator;           /* NPKSD_ESTIMATOR_AUTO */
    size_t degree;           /* 0: chosen (POLY 3; SPLINE 1, in t); at most 8 (SPLINE, AUTO 3) */
    size_t basis;            /* 0: chosen (SPLINE 10, at least 4; RBF 24) */
    npksd_real ridge;        /* 0: chosen; else relative to the mean diagonal of the moments */
    npksd_score_fn score_fn; /* for NPKSD_ESTIMATOR_CALLBACK: the classical KSD */
    void *score_user_data;
    int kernel;               /* NPKSD_KERNEL_GAUSS */
    npksd_real bandwidth;     /* 0: median distance of the fit sample (scaled units) */
    const npksd_real *scales; /* multipliers of bandwidth^2 for STEIN and MIRROR, copied; with */
    size_t scale_count;       /* count 0: STEIN 1/64 1/8, MIRROR 1/8 1/2; at most 16 */
    int form;                 /* NPKSD_FORM_VECTOR */
    int statistic;            /* NPKSD_STATISTIC_U; V: the paper's; UV: both. MIRROR is always V */
    unsigned components;      /* NPKSD_COMPONENT_ALL */
    npksd_real smooth;        /* 0; sd of noise added to all rows, in scaled units */
    int standardize;          /* 1: scale by the deviations of the fit sample; 0: centre only */
    size_t features;          /* 0: exact, n^2 work; F: linear time by F frequencies (Gauss) */
    size_t stop_after; /* 0: never; h: one-call tests stop at the h-th replicate reaching T */
    int calibration;   /* NPKSD_CALIBRATE_MONTE_CARLO; bootstrap: asymptotic, see below */
    int diagnose;      /* 0; 1: keep what npksd_diagnosis needs, m + 3 numbers a replicate */
    size_t block;      /* 1; npksd_test_samples: rows of one session, drawn together */
} npksd_options;
/* The wild bootstrap needs an explicit score, independent rows, and STEIN as the only component. */

typedef struct npksd_result {
    npksd_real statistic; /* T of the observed rows: the largest standardised number, or the only */
    npksd_real p_value;   /* exact: P(p <= a) <= a if the rows come from the generator */
    npksd_real threshold; /* reject means statistic > threshold */
    npksd_real bandwidth; /* sigma, scaled units */
    int reject;           /* p_value <= alpha */
    size_t replicates;    /* replicates used */
    npksd_real p_low, p_high; /* 95 % interval for p with unlimited replicates, same fit */
    npksd_real ksd2;         /* size of what STEIN sees: U at the base bandwidth; may be negative */
    npksd_real out_of_range; /* share of rows outside the box of the fit sample (synthetic rows) */
    unsigned leading;        /* NPKSD_COMPONENT_ that attained the maximum */
    unsigned flags;          /* NPKSD_FLAG_ */
} npksd_result;

typedef struct npksd_pair {
    size_t first, second;          /* columns, first < second */
    npksd_real observed, expected; /* correlation of normal scores: recorded rows, generator */
    npksd_real p_adjusted;         /* of their difference, adjusted for testing all pairs */
} npksd_pair;

typedef struct npksd_diagnosis {
    npksd_real *coordinate_statistic;  /* m, or NULL: part v_i of the V-statistic at scale 1 */
    npksd_real *coordinate_p;          /* m, or NULL: p-value of column i: score, distribution */
    npksd_real *coordinate_p_adjusted; /* m, or NULL: the same, adjusted for testing m columns */
    npksd_real *row_influence;         /* n, or NULL: (1/n) sum_b u(z_a, z_b) at scale 1 */
    npksd_real *coordinate_shift;      /* m, or NULL: observed mean - generator's, in sd */
    npksd_real *coordinate_distance;   /* m, or NULL: distance of distribution functions, 0 to 1 */
    npksd_pair *pairs;                 /* pair_capacity, or NULL: most changed pairs, worst first */
    size_t pair_capacity, pair_count;  /* pair_count: how many were written to pairs */
} npksd_diagnosis;
/* Zero-initialise it, then set what you want; a tester needs options.diagnose for all but
   row_influence. A column or pair with p_adjusted <= alpha differs. The guarantee holds if nothing
   differs: a changed dependence may show in all its columns, and a changed column in those
   that depend on it, so look at shift and distance. If m > 256, 256 random columns are paired. */

typedef struct npksd_self_check_result {
    size_t runs, rejected; /* tests, and rejections at alpha */
    npksd_real mean_p;     /* about 1/2; more for discrete data */
    npksd_real distance;   /* the most by which the share of p-values <= a exceeds a */
    npksd_real uniform_p;  /* p-value of that distance: small means too many small p-values */
    int repeatable;        /* 0: equal streams gave different rows: hidden state, rand(), a clock */
    int suspicious;        /* not repeatable, uniform_p < 0.01, or runs >= 16 and every p is 1 */
} npksd_self_check_result;

typedef struct npksd_power_result {
    size_t runs, rejected;
    npksd_real power, low, high; /* rejected / runs, and a 95 % interval */
} npksd_power_result;

typedef struct npksd_tester npksd_tester; /* fitted scores + null distribution for n rows */

/* ======== tier 1: one call ======== */

NPKSD_API npksd_status npksd_test(const npksd_real *observed, size_t n, size_t m,
                                  npksd_sample_fn sample_fn, void *user_data,
                                  const npksd_options *options, npksd_result *result);
NPKSD_API npksd_status npksd_test_diagnose(const npksd_real *observed, size_t n, size_t m,
                                           npksd_sample_fn sample_fn, void *user_data,
                                           const npksd_options *options, npksd_result *result,
                                           npksd_diagnosis *diagnosis, npksd_real *null_values);
/* Could observed (n x m, row-major) have come from sample_fn? options NULL = defaults. diagnose
   also says why; the result is the same if rng has seek_fn. Not with stop_after. diagnosis and
   its arrays may be NULL; null_values, if not NULL, receives result.replicates statistics. */

NPKSD_API npksd_status npksd_test_samples(const npksd_real *observed, size_t n,
                                          const npksd_real *synthetic, size_t rows, size_t m,
                                          const npksd_options *options, npksd_result *result);
NPKSD_API npksd_status npksd_test_samples_diagnose(const npksd_real *observed, size_t n,
                                                   const npksd_real *synthetic, size_t rows,
                                                   size_t m, const npksd_options *options,
                                                   npksd_result *result, npksd_diagnosis *diagnosis,
                                                   npksd_real *null_values);
/* The same question when synthetic rows are all you have of the generator. Observed and synthetic
   rows form one pool: it is "the generator" of the diagnosis, the fit draws as many of its rows as
   it would from a generator, and a replicate is n rows of the pool, drawn without replacement.
   Exact if all rows (or blocks) of the pool are exchangeable, as independent ones are. With few
   synthetic rows, modes that the generator lacks are harder to see: also look at out_of_range. Not
   with the wild bootstrap. diagnose: p may differ if neither MMD nor MARGIN is a component. */

NPKSD_API size_t npksd_samples_minimum(size_t n);
NPKSD_API const char *npksd_samples_problem(const npksd_options *options, size_t n, size_t rows,
                                            size_t m);
/* The fewest synthetic rows allowed, and npksd_options_problem for npksd_test_samples. */

NPKSD_API npksd_status npksd_self_check(size_t n, size_t m, npksd_sample_fn sample_fn,
                                        void *user_data, const npksd_options *options, size_t runs,
                                        npksd_self_check_result *result);
/* Is the generator fit for testing? Runs the test `runs` times (100 is a good number, 1e6 the most)
   on its own data. Suspicious: many small p-values, 16 or more all 1, rows that do not repeat. */

NPKSD_API npksd_status npksd_power(size_t n, size_t m, npksd_sample_fn sample_fn, void *user_data,
                                   npksd_sample_fn alternative_fn, void *alternative_user_data,
                                   const npksd_options *options, size_t runs,
                                   npksd_power_result *result);
/* How often would n rows from alternative_fn be rejected? One fit, `runs` checks. */

/* ======== tier 2: prepare once, check many ======== */

NPKSD_API npksd_status npksd_tester_size(size_t n, size_t m, const npksd_options *options,
                                         size_t *bytes);
NPKSD_API npksd_status npksd_tester_init(npksd_tester **tester, size_t n, size_t m,
                                         npksd_sample_fn sample_fn, void *user_data,
                                         const npksd_options *options, void *workspace,
                                         size_t bytes);
/* A tester inside workspace (any alignment), which must outlive it and not move. size: the bytes it
   needs for these options, alignment slack included. */

NPKSD_API npksd_status npksd_tester_create(npksd_tester **tester, size_t n, size_t m,
                                           npksd_sample_fn sample_fn, void *user_data,
                                           const npksd_options *options);
NPKSD_API void npksd_tester_destroy(npksd_tester *tester);
/* The same in one block from options.allocator, freed by destroy (a no-op after init, for NULL). */

NPKSD_API npksd_status npksd_tester_step(npksd_tester *tester, size_t items);
NPKSD_API void npksd_tester_progress(const npksd_tester *tester, size_t *done, size_t *total);
/* Do up to `items` items: fit, pilot, replicates, then a pending check. NPKSD_MORE until all are
   done, then NPKSD_OK. An error is final (create another tester), but in a check it discards only
   that check. progress: items done and in total, pending check included; pointers may be NULL. */

NPKSD_API npksd_status npksd_tester_check(npksd_tester *tester, const npksd_real *observed,
                                          npksd_result *result, npksd_diagnosis *diagnosis);
/* Test n rows against the finished tester (else NPKSD_ERROR_STATE), as often as you like. diagnosis
   may be NULL. Each p is exact over testers and data; the false-alarm rate of one tester is random,
   Beta(k, b+1-k) with k = alpha (b+1): 5 +- 1 % at b = 499. Many checks need more replicates. */

NPKSD_API npksd_status npksd_tester_check_begin(npksd_tester *tester, const npksd_real *observed);
NPKSD_API npksd_status npksd_tester_check_end(npksd_tester *tester, npksd_result *result,
                                              npksd_diagnosis *diagnosis);
/* A check in steps: begin, npksd_tester_step until NPKSD_OK, end. observed is borrowed until end. A
   second begin or a check discards a pending one. end too early: NPKSD_ERROR_STATE, and the check
   stays pending. With features, row_influence is computed in end: n F m work. */

NPKSD_API npksd_status npksd_tester_null(const npksd_tester *tester, npksd_real *out,
                                         size_t capacity, size_t *count);
/* The statistics of the replicates in the order drawn, for plots. count, if not NULL: how many. */

NPKSD_API npksd_status npksd_tester_scores(npksd_tester *tester, const npksd_real *rows,
                                           size_t count, npksd_real *scores);
/* The scores, fitted or score_fn's, at any rows (count x m), in the units of the rows; 0 for
   coordinates not drawn. NPKSD_ERROR_STATE before the fit, and while a replicate or a check is half
   done. If a callback fails, rows before it may have been written, if count > n. */

NPKSD_API npksd_status npksd_tester_save(const npksd_tester *tester, void *buffer, size_t capacity,
                                         size_t *size);
/* The finished tester as bytes, the same on every machine, without a caller's rng. buffer NULL:
   size only. NPKSD_ERROR_STATE before the last step and with score or summary callbacks. */

NPKSD_API npksd_status npksd_tester_load(npksd_tester **tester, const void *bytes, size_t size,
                                         const npksd_allocator *allocator);
NPKSD_API npksd_status npksd_tester_load_into(npksd_tester **tester, const void *bytes, size_t size,
                                              void *workspace, size_t workspace_bytes);
/* A tester for checks, scores and diagnoses, not for replicates, in one allocation (allocator NULL
   = malloc) or in your memory. Cut, altered, other precision or version: NPKSD_ERROR_FORMAT. */

NPKSD_API npksd_status npksd_blob_info(const void *bytes, size_t size, size_t *n, size_t *m,
                                       size_t *workspace_bytes);
NPKSD_API void npksd_tester_shape(const npksd_tester *tester, size_t *n, size_t *m);
/* n, m and the workspace for npksd_tester_load_into; pointers may be NULL. Not a blob:
   NPKSD_ERROR_FORMAT. Look before you load an untrusted one: it may ask for gigabytes. */

/* ======== watch a stream: recording after recording, one error rate for all ======== */

typedef struct npksd_monitor {
    size_t recordings;       /* added so far */
    size_t capacity;         /* numbers in the caller's memory: recordings until a restart */
    npksd_real alpha;        /* an alarm is raised at 1/alpha */
    npksd_real p;            /* of the last recording: its rank among replicates and recordings */
    npksd_real log_evidence; /* log E: what a capital of 1 has become in fair bets */
    int alarm;               /* E has reached 1/alpha */
    size_t alarm_at;         /* the recording, from 1, that raised it */
    npksd_real log_change;   /* log M: for late changes */
    int change_alarm;        /* M has reached 1/alpha */
    size_t change_alarm_at;  /* the recording that raised it */
    uint64_t seed_, tester_; /* for the ranks of ties; fingerprint of the tester in use */
    size_t kept_, terms_;    /* recordings in memory; terms in sums_ */
    npksd_real reserve_, sums_[2], bets_[2], changes_[2]; /* see >>monitor */
} npksd_monitor;
/* Plain data: to save a monitor, save the struct and the memory. */

NPKSD_API npksd_status npksd_monitor_begin(npksd_monitor *monitor, npksd_real alpha,
                                           size_t capacity, uint64_t seed);
/* Testing at p <= 0.05 every night gives a false alarm every 20 nights; a monitor may be read after
   every recording. If all come from the generator, E ever raises its alarm with probability at most
   alpha, however long the stream. M is quicker after a late change; its false alarms come after
   1/alpha recordings or more, on average: alpha = 0.001 suits both. 0 < alpha < 1, capacity > 0. */

NPKSD_API npksd_status npksd_monitor_add(npksd_monitor *monitor, const npksd_tester *tester,
                                         npksd_real *memory, const npksd_result *result);
/* The next recording, a result of npksd_tester_check. Add each once, in order; they must be
   independent. memory (capacity numbers) belongs to it. Cost: a pass over the null values. The
   guarantee averages over testers: for one, the risk of a false alarm of E within 1000 recordings
   at alpha = 0.05 is 0.04 +- 0.05 with 499 replicates, 0.03 +- 0.02 with 1999, so use more
   replicates than recordings. NPKSD_ERROR_STATE: the tester is not finished, or memory is full:
   restart. NPKSD_ERROR_ARGUMENT: not the tester used before, a result that cannot be its own, or
   checks whose random numbers replicates do not share (smooth, resample_redraw, wild bootstrap). */

NPKSD_API npksd_status npksd_monitor_restart(npksd_monitor *monitor, const npksd_tester *fresh);
/* Go on with another tester and an empty memory; E, M and alarms stay. fresh must be new to this
   monitor, with another seed: ranks among the same replicates are not independent
   (NPKSD_ERROR_ARGUMENT for the tester in use; earlier ones are not remembered). */

/* ======== tier 3: your own threads or ranks ======== */

typedef struct npksd_worker {
    npksd_rng rng;        /* zero: the tester's; without seek_fn numbers depend on the split */
    void *user_data;      /* for sample_fn; NULL: the tester's own */
    void *scratch;        /* NULL: the tester's own, then one thread only */
    size_t scratch_bytes; /* at least npksd_tester_scratch_size */
} npksd_worker;

NPKSD_API npksd_status npksd_tester_prepare(npksd_tester *tester);
NPKSD_API size_t npksd_tester_scratch_size(const npksd_tester *tester);
NPKSD_API size_t npksd_tester_width(const npksd_tester *tester);
/* prepare: everything but the replicates. scratch_size: bytes for a worker (any alignment). width:
   numbers per replicate; 1, but more with diagnose. Ask, never assume. */

NPKSD_API npksd_status npksd_tester_replicates(const npksd_tester *tester, npksd_worker *worker,
                                               size_t first, size_t count, npksd_real *out);
/* Replicates first .. first+count-1 into out (count x width). Any number of threads at once on a
   prepared tester, each with its own worker; the numbers do not depend on the split. If the tester
   has a caller's rng, a worker with scratch needs its own (otherwise NPKSD_ERROR_ARGUMENT: they
   would share its state). On an error out has the replicates before the failed one, no more. */

NPKSD_API npksd_status npksd_tester_merge(npksd_tester *tester, size_t first, size_t count,
                                          const npksd_real *values);
/* Give replicates to the tester, in any order; twice is harmless. With all of them the tester is
   finished; otherwise step draws the missing ones. */

/* ======== random numbers, options, text ======== */

NPKSD_API npksd_rng npksd_rng_seeded(npksd_rng_state *state, uint64_t seed, uint64_t stream);
NPKSD_API npksd_real npksd_uniform(npksd_rng *rng);
NPKSD_API npksd_real npksd_normal(npksd_rng *rng);
/* The built-in generator for your own use, with key (seed, stream); uniform on [0, 1), the top 53
   bits (float: 24) of a word; standard normal, exact, by a ziggurat of 64 layers. */

NPKSD_API npksd_options npksd_default_options(void);
NPKSD_API const char *npksd_options_problem(const npksd_options *options, size_t n, size_t m);
NPKSD_API const char *npksd_status_string(npksd_status status);
NPKSD_API const char *npksd_component_string(unsigned component);
NPKSD_API int npksd_version(void);
/* default_options: change its fields, whose comments begin with the default. problem: NULL = fine,
   else the wrong field and why. component_string: "STEIN", ... version: NPKSD_VERSION as built. */

/* ======== primitives ======== */

NPKSD_API npksd_status npksd_median_distance(const npksd_real *rows, size_t count, size_t m,
                                             const npksd_options *options, npksd_real *out);
/* Median Euclidean distance between rows: all pairs of up to 512 rows, else 8 for each of at most
   16384 evenly spaced ones. If 0, the mean; if 0 too, 1; at least the smallest normal number.
   Below 1e-150 (float 1e-18), or that times the largest number, it may count as 0. Uses the
   allocator of options, if any. */

NPKSD_API npksd_status npksd_statistic(const npksd_real *rows, const npksd_real *scores, size_t n,
                                       size_t m, const npksd_real *weights,
                                       const npksd_options *options, npksd_real *out);
/* The statistic of rows and scores as given, no scaling. weights NULL = 1/m each; bandwidth must be
   > 0. Uses kernel, form, statistic (V or U), features, seed, rng, allocator, scales[0] (or 1).
   Rows beyond 1e6 (float 1e3) bandwidths from the columns' medians lose digits to each other. */

#ifdef __cplusplus
}
#endif
#endif /* NPKSD_H */

/* ================================================================================================
   End of the API. What follows is the implementation: you need not read on to use the library.
   Chapters, in this order (search for >>name):
     foundation    hooks maths rng linalg memory options model
     a data set    rows summaries scores columns tiles frequencies moment waves margins evaluation
     the test      calibration tester fit sums solve schedule check
     the surface   api tests trials workers monitor blob primitives
   ============================================================================================== */

#if defined(NPKSD_IMPLEMENTATION) && !defined(NPKSDI_IMPLEMENTED)
#define NPKSDI_IMPLEMENTED

/* ======== >>hooks: what the user may replace ======== */

#include <float.h>
#include <limits.h>
#ifndef NPKSD_NO_MALLOC
#include <math.h>
#include <stdlib.h>
#include <string.h>
#endif
#ifdef NPKSD_USE_CBLAS
#include <cblas.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(NPKSD_SIN) != defined(NPKSD_COS) || defined(NPKSD_MEMCPY) != defined(NPKSD_MEMSET)
#error "npksd.h: define NPKSD_SIN with NPKSD_COS, NPKSD_MEMCPY with NPKSD_MEMSET, or neither"
#endif
#if defined(NPKSD_USE_CBLAS) && defined(NPKSD_GEMM)
#error "npksd.h: define NPKSD_USE_CBLAS or NPKSD_GEMM, not both"
#endif
#ifndef NPKSD_ASSERT
#define NPKSD_ASSERT(x) ((void)0)
#endif
#ifndef NPKSD_MEMCPY
#ifdef NPKSD_NO_MALLOC
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
#endif
#define NPKSD_MEMCPY memcpy
#define NPKSD_MEMSET memset
#endif

#if defined(__GNUC__) || defined(_MSC_VER)
#define NPKSDI_RESTRICT __restrict
#else
#define NPKSDI_RESTRICT
#endif
/* Over the lanes of a panel. No lane depends on another one, which gcc -O2 has to be told. */
#if defined(__GNUC__) && !defined(__clang__)
#define NPKSDI_EACH_LANE(l) _Pragma("GCC ivdep") for (size_t l = 0; (l) < NPKSDI_T; (l)++)
#else
#define NPKSDI_EACH_LANE(l) for (size_t l = 0; (l) < NPKSDI_T; (l)++)
#endif
/* APART: called from many places, none of them hot; inlined, it would only compile more slowly. */
#if defined(__GNUC__) && !defined(__OPTIMIZE_SIZE__)
#define NPKSDI_INLINE static inline __attribute__((always_inline))
#define NPKSDI_APART  static __attribute__((noinline))
#else
#define NPKSDI_INLINE static inline
#define NPKSDI_APART  static
#endif
/* Where it can be done, hot loops are built for SSE2 and AVX2 and chosen when the program starts:
   same bits without fused multiply-add. clang gives the choice a global name: once a program. If a
   hot function ends with calls of cold ones, gcc 12 leaves AVX in use, which slows all SSE code. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__OPTIMIZE__) && !defined(__AVX2__)       \
    && !defined(__OPTIMIZE_SIZE__) && !defined(__FAST_MATH__) && !defined(__SANITIZE_ADDRESS__)    \
    && !defined(__SANITIZE_THREAD__) && !defined(NPKSD_NO_MALLOC) && !defined(NPKSD_NO_DISPATCH)
#if defined(__clang__) && !defined(NPKSD_STATIC) && !defined(NPKSD_FLOAT)                          \
    && !defined(NPKSD_NAMESPACE)
#if __clang_major__ >= 14 && !__has_feature(address_sanitizer) && !__has_feature(memory_sanitizer) \
    && !__has_feature(thread_sanitizer)
#define NPKSDI_HOT static __attribute__((target_clones("avx2", "default")))
#endif
#elif defined(__GNUC__) && !defined(__clang__)
#define NPKSDI_HOT static __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef NPKSDI_HOT
#define NPKSDI_HOT static
#endif
#define NPKSDI_DEF  NPKSD_API
#define NPKSDI_C(x) ((npksd_real)(x)) /* a constant in the chosen precision */
#ifdef NPKSD_FLOAT
#define NPKSDI_PICK(of_float, of_double) (of_float)
typedef uint32_t npksdi_bits;
#else
#define NPKSDI_PICK(of_float, of_double) (of_double)
typedef uint64_t npksdi_bits;
#endif
enum { NPKSDI_MANTISSA = NPKSDI_PICK(23, 52), NPKSDI_BIAS = NPKSDI_PICK(127, 1023) };
static const npksd_real NPKSDI_TINY = NPKSDI_PICK(FLT_MIN, DBL_MIN);
static const npksd_real NPKSDI_LARGEST = NPKSDI_PICK(FLT_MAX, DBL_MAX);
static const npksd_real NPKSDI_EPSILON = NPKSDI_PICK(FLT_EPSILON, DBL_EPSILON);
static const npksd_real NPKSDI_HUGE = NPKSDI_PICK(1e37f, 1e300);
static const npksd_real NPKSDI_CLAMP = NPKSDI_PICK(1e4f, 1e6); /* largest scaled value */
static const npksd_real NPKSDI_UNSCALED_CLAMP = NPKSDI_PICK(1e15f, 1e140); /* can be squared */
static const npksd_real NPKSDI_EXP_LOW = NPKSDI_PICK(-87.0f, -708.0);
static const npksd_real NPKSDI_ANGLE_MAX = NPKSDI_PICK(1e4f, 1e9);
static const npksd_real NPKSDI_TIE = NPKSDI_PICK(1e-3f, 1e-8);      /* closer values are equal */
static const npksd_real NPKSDI_ROUNDING = NPKSDI_PICK(1e-3f, 1e-6); /* least deviation / mean */
static const npksd_real NPKSDI_CLOSEST = NPKSDI_PICK(0.03f, 1e-3);  /* deviation of a correlation */
static const npksd_real NPKSDI_CHANGED = NPKSDI_PICK(5e-4f, 1e-7);  /* a quarter is rounding */
static const npksd_real NPKSDI_KNOTS_LEAST = NPKSDI_C(1e-6);        /* least range of knots */
static const npksd_real NPKSDI_SKEW_LEAST = NPKSDI_PICK(0.05f, 0.01); /* a smaller one is none */

/* Rows are kept in transposed panels: column j of NPKSDI_T rows is contiguous. Hot loops run over
   exactly NPKSDI_T lanes, which compilers vectorise at plain -O2. NPKSDI_G rows meet a panel. */
#if defined(NPKSD_USE_CBLAS) || defined(NPKSD_GEMM)
enum { NPKSDI_T = 16, NPKSDI_G = 16 }; /* a call of BLAS pays off for whole panels */
#else
enum { NPKSDI_T = 16, NPKSDI_G = 4 };
#endif
enum { NPKSDI_TILE = NPKSDI_T * NPKSDI_G };

/* REFUSE: return the answer if the condition holds. TRY: return the call's status unless OK. */
#define NPKSDI_REFUSE(condition, answer)                                                           \
    do {                                                                                           \
        if (condition)                                                                             \
            return answer;                                                                         \
    } while (0)
#define NPKSDI_TRY(call)                                                                           \
    do {                                                                                           \
        npksd_status tried = (call);                                                               \
        NPKSDI_REFUSE(tried != NPKSD_OK, tried);                                                   \
    } while (0)

NPKSDI_INLINE npksd_real npksdi_min(npksd_real a, npksd_real b) { return a < b ? a : b; }
NPKSDI_INLINE npksd_real npksdi_max(npksd_real a, npksd_real b) { return a > b ? a : b; }
NPKSDI_INLINE npksd_real npksdi_abs(npksd_real a) { return a < 0 ? -a : a; }
NPKSDI_INLINE npksd_real npksdi_clamp(npksd_real a, npksd_real limit)
{
    return npksdi_max(-limit, npksdi_min(limit, a));
}
NPKSDI_INLINE npksd_real npksdi_square(npksd_real a) { return a * a; }
/* Numbers kept within limits: of two limits in one loop compilers make branches. */
NPKSDI_INLINE void npksdi_limit(npksd_real *v, size_t count, npksd_real low, npksd_real high)
{
    for (size_t l = 0; l < count; l++)
        v[l] = npksdi_min(high, v[l]);
    for (size_t l = 0; l < count; l++)
        v[l] = npksdi_max(low, v[l]);
}
NPKSDI_INLINE void npksdi_clear(npksd_real *v, size_t n) { NPKSD_MEMSET(v, 0, n * sizeof *v); }
NPKSDI_INLINE size_t npksdi_min_size(size_t a, size_t b) { return a < b ? a : b; }
NPKSDI_INLINE size_t npksdi_max_size(size_t a, size_t b) { return a > b ? a : b; }
NPKSDI_INLINE size_t npksdi_ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }

/* ======== >>maths: elementary functions that vectorise and survive -ffast-math ======== */

typedef union npksdi_pun {
    npksd_real value;
    npksdi_bits bits;
} npksdi_pun;

NPKSDI_INLINE npksdi_bits npksdi_bits_of(npksd_real value)
{
    npksdi_pun pun = { value };
    return pun.bits;
}
NPKSDI_INLINE npksd_real npksdi_from_bits(npksdi_bits bits)
{
    npksdi_pun pun;
    pun.bits = bits;
    return pun.value;
}

/* NaN and infinity have an exponent of all ones: tested by bits, so no compiler flag removes it. */
NPKSDI_APART int npksdi_finite(const npksd_real *values, size_t count)
{
    npksdi_bits mask = (npksdi_bits)(2 * NPKSDI_BIAS + 1) << NPKSDI_MANTISSA;
    size_t bad = 0;
    for (size_t i = 0; i < count; i++)
        bad += (npksdi_bits_of(values[i]) & mask) == mask;
    return bad == 0;
}

/* exp(y) = 2^k exp(r), k = round(y / ln 2), |r| <= ln 2 / 2, y from NPKSDI_EXP_LOW to 80; the
   polynomial interpolates at Chebyshev nodes. k by truncation of a positive number: -ffast-math
   undoes adding 2^52. No branch, not even a select, so that the loop around it vectorises. */
NPKSDI_INLINE npksd_real npksdi_exp_core(npksd_real y)
{
    int e = (int)(y * NPKSDI_C(1.4426950408889634) + ((npksd_real)NPKSDI_BIAS + NPKSDI_C(0.5)));
    npksd_real kr = (npksd_real)(e - NPKSDI_BIAS), p;
#ifdef NPKSD_FLOAT
    npksd_real r = (y - kr * 0.693359375f) + kr * 2.12194440e-4f;
    p = (0.0013941108434f * r + 0.00837512639815f) * r + 0.0416663528968f;
    p = (((p * r + 0.166664155147f) * r + 0.500000004712f) * r + 1.00000003772f) * r + 1.0f;
#else
    npksd_real r = (y - kr * 0.693147180369123816490) - kr * 1.90821492927058770002e-10;
    /* in pairs, pairs of pairs and so on: in sequence, each term would wait for the last */
    npksd_real r2 = r * r, r4 = r2 * r2;
    npksd_real low = (1.0 + r) + (5.0000000000000183855e-1 + 1.6666666666666680806e-1 * r) * r2;
    npksd_real middle = (4.1666666666488095495e-2 + 8.3333333333196006109e-3 * r)
        + (1.3888888952314774652e-3 + 1.9841269890047113707e-4 * r) * r2;
    npksd_real high = (2.4801485482328492419e-5 + 2.7557240918578969823e-6 * r)
        + (2.7632639639041029749e-7 + 2.5110037605963777712e-8 * r) * r2;
    p = low + (middle + high * r4) * r4;
#endif
    return p * npksdi_from_bits((npksdi_bits)(uint32_t)e << NPKSDI_MANTISSA);
}

/* log(x), x > 0 and normal: x = 2^k f, sqrt(1/2) <= f < sqrt(2), log f = 2 atanh((f-1)/(f+1)). */
static npksd_real npksdi_log(npksd_real x)
{
    int k = (int)(npksdi_bits_of(x) >> NPKSDI_MANTISSA) - NPKSDI_BIAS;
    npksd_real f = npksdi_from_bits(npksdi_bits_of(x) - ((npksdi_bits)k << NPKSDI_MANTISSA));
    int halve = f > NPKSDI_C(1.4142135623730951);
    f = halve ? NPKSDI_C(0.5) * f : f;
    npksd_real u = (f - 1) / (f + 1), u2 = u * u, sum = 0;
    for (int j = 21; j >= 1; j -= 2)
        sum = sum * u2 + 1 / (npksd_real)j;
    return (npksd_real)(k + halve) * NPKSDI_C(0.69314718055994531) + 2 * u * sum;
}

/* sin and cos, |x| <= NPKSDI_ANGLE_MAX, by quarter turns; no select, so that loops vectorise. */
NPKSDI_INLINE void npksdi_sincos(npksd_real x, npksd_real *sine, npksd_real *cosine)
{
#ifdef NPKSD_SIN
    *sine = NPKSD_SIN(x);
    *cosine = NPKSD_COS(x);
#else
    const int whole = NPKSDI_PICK(8192, 1073741824); /* a multiple of 4 that makes k positive */
    int k = (int)(x * NPKSDI_C(0.63661977236758134) + ((npksd_real)whole + NPKSDI_C(0.5)));
    npksd_real kr = (npksd_real)(k - whole);
#ifdef NPKSD_FLOAT
    npksd_real r = ((x - kr * 1.5703125f) - kr * 4.83751297e-4f) - kr * 7.54978995e-8f;
    npksd_real y = r * r;
    npksd_real s = (-0.000195039042508f * y + 0.0083320357856f) * y - 0.16666650674f;
    s = (s * y + 0.999999996918f) * r;
    npksd_real c = (2.43798312512e-5f * y - 0.00138866179996f) * y + 0.0416666166925f;
    c = (c * y - 0.499999996149f) * y + 1.0f;
#else
    npksd_real r = ((x - kr * 1.57079632673412561417) - kr * 6.0771005063039659752e-11)
        - kr * 2.0222662487959507e-21;
    npksd_real y = r * r;
    npksd_real s = (1.5894736651849095259e-10 * y - 2.5050716974102745028e-8) * y;
    s = ((s + 2.7557313376400129128e-6) * y - 1.9841269828650300013e-4) * y;
    s = (((s + 8.3333333333203624567e-3) * y - 1.6666666666666616666e-1) * y + 1.0) * r;
    npksd_real c = (-1.1353379638297574126e-11 * y + 2.0875582380663953044e-9) * y;
    c = ((c - 2.7557313097790086271e-7) * y + 2.4801587283881153004e-5) * y;
    c = ((c - 1.3888888888861094596e-3) * y + 4.1666666666666452389e-2) * y;
    c = (c - 0.5) * y + 1.0;
#endif
    npksd_real odd = (npksd_real)(k & 1), between = odd * (c - s);
    *sine = (s + between) * (npksd_real)(1 - (k & 2));
    *cosine = (c - between) * (npksd_real)(1 - ((k + 1) & 2));
#endif
}

#ifdef NPKSD_EXP
#define NPKSDI_EXP_INSIDE(x) NPKSD_EXP(x)
#else
#define NPKSD_EXP(x)         npksdi_exp_core(npksdi_max(NPKSDI_EXP_LOW, x))
#define NPKSDI_EXP_INSIDE(x) npksdi_exp_core(x) /* x >= NPKSDI_EXP_LOW */
#endif
#ifndef NPKSD_LOG
#define NPKSD_LOG(x) npksdi_log(x)
#endif
#if !defined(NPKSD_SQRT) && defined(NPKSD_NO_MALLOC)
/* Newton's iteration from a guess that halves the exponent: right to an ulp. */
static npksd_real npksdi_sqrt(npksd_real x)
{
    if (!(x >= NPKSDI_TINY))
        return 0;
    npksdi_bits half = (npksdi_bits)NPKSDI_BIAS << (NPKSDI_MANTISSA - 1);
    npksd_real root = npksdi_from_bits((npksdi_bits_of(x) >> 1) + half);
    for (int i = 0; i < 5; i++)
        root = NPKSDI_C(0.5) * (root + x / root);
    return root;
}
#define NPKSD_SQRT(x) npksdi_sqrt(x)
#elif !defined(NPKSD_SQRT)
#define NPKSD_SQRT(x) NPKSDI_PICK(sqrtf, sqrt)(x)
#endif

/* ======== >>rng: random numbers as a function of (seed, stream, index) ======== */

/* Every purpose has streams of its own: no number is used twice. Replicate r is stream r. */
#define NPKSDI_STREAM(purpose, index) (((uint64_t)(purpose) << 56) | (uint64_t)(index))
enum { NPKSDI_REPLICATE, NPKSDI_FIT, NPKSDI_PILOT, NPKSDI_OBSERVED, NPKSDI_INDEX_SET };
enum { NPKSDI_FREQUENCIES = NPKSDI_INDEX_SET + 1, NPKSDI_RING, NPKSDI_PAIRS };
enum { NPKSDI_KEPT_NOISE = NPKSDI_PAIRS + 1, NPKSDI_SIGNS, NPKSDI_TRIAL };

/* Threefry-2x64 with 13 rounds (Salmon, Moraes, Dror and Shaw 2011): key (seed, stream), counter
   (block, 0). Four blocks at a time fill the state's words and keep the processor busy. */
#define NPKSDI_MIX(i, by)                                                                          \
    (w[i] += w[(i) + 1], w[(i) + 1] = ((w[(i) + 1] << (by)) | (w[(i) + 1] >> (64 - (by)))) ^ w[i])
#define NPKSDI_ROUND(by)                                                                           \
    (NPKSDI_MIX(0, by), NPKSDI_MIX(2, by), NPKSDI_MIX(4, by), NPKSDI_MIX(6, by))
#define NPKSDI_ADD(x, y)                                                                           \
    (w[0] += (x), w[2] += (x), w[4] += (x), w[6] += (x), w[1] += (y), w[3] += (y), w[5] += (y),    \
     w[7] += (y))

static void npksdi_rng_fill(npksd_rng_state *state)
{
    uint64_t k0 = state->seed_, k1 = state->stream_, k2 = UINT64_C(0x1BD11BDAA9FC1A22) ^ k0 ^ k1;
    uint64_t block = state->index_ / 2, *w = state->words_;
    w[0] = block, w[2] = block + 1, w[4] = block + 2, w[6] = block + 3;
    w[1] = w[3] = w[5] = w[7] = 0;
    NPKSDI_ADD(k0, k1);
    NPKSDI_ROUND(16), NPKSDI_ROUND(42), NPKSDI_ROUND(12), NPKSDI_ROUND(31);
    NPKSDI_ADD(k1, k2 + 1);
    NPKSDI_ROUND(16), NPKSDI_ROUND(32), NPKSDI_ROUND(24), NPKSDI_ROUND(21);
    NPKSDI_ADD(k2, k0 + 2);
    NPKSDI_ROUND(16), NPKSDI_ROUND(42), NPKSDI_ROUND(12), NPKSDI_ROUND(31);
    NPKSDI_ADD(k0, k1 + 3);
    NPKSDI_ROUND(16);
}
#undef NPKSDI_ADD
#undef NPKSDI_ROUND
#undef NPKSDI_MIX

static uint64_t npksdi_rng_next(void *user_data)
{
    npksd_rng_state *state = (npksd_rng_state *)user_data;
    size_t slot = (size_t)(state->index_ % 8);
    if (slot == 0)
        npksdi_rng_fill(state);
    state->index_++;
    return state->words_[slot];
}

static void npksdi_rng_seek(uint64_t stream, void *user_data)
{
    npksd_rng_state *state = (npksd_rng_state *)user_data;
    state->stream_ = stream;
    state->index_ = 0;
}

NPKSDI_DEF npksd_rng npksd_rng_seeded(npksd_rng_state *state, uint64_t seed, uint64_t stream)
{
    npksd_rng_state start = { seed, stream, 0, { 0 } };
    *state = start;
    npksd_rng rng = { npksdi_rng_next, npksdi_rng_seek, state };
    return rng;
}

/* The built-in generator without the cost of a call through a pointer. */
NPKSDI_INLINE uint64_t npksdi_word(npksd_rng *rng)
{
    return rng->next_fn == npksdi_rng_next ? npksdi_rng_next(rng->user_data)
                                           : rng->next_fn(rng->user_data);
}

NPKSDI_INLINE npksd_real npksdi_unit(uint64_t word)
{
    return NPKSDI_PICK((npksd_real)(uint32_t)(word >> 40) * (1 / 16777216.0f),
                       (npksd_real)(int64_t)(word >> 11) * (1 / 9007199254740992.0));
}

NPKSDI_DEF npksd_real npksd_uniform(npksd_rng *rng) { return npksdi_unit(npksdi_word(rng)); }

/* Edges x_0 > x_1 > ... > x_64 = 0 of 64 layers of equal area under exp(-x^2/2) (Marsaglia and
   Tsang 2000); x_1 is where the tail begins and x_0 = area / exp(-x_1^2/2). C adds the last 0. */
#define NPKSDI_C4(a, b, c, d) NPKSDI_C(a), NPKSDI_C(b), NPKSDI_C(c), NPKSDI_C(d)
static const npksd_real npksdi_layers[65] = {
    NPKSDI_C4(3.500818427736489, 3.2136576271588955, 2.9755475488121644, 2.8214417337669382),
    NPKSDI_C4(2.7048984408762365, 2.6098964948842036, 2.5289381805576919, 2.4578883927994296),
    NPKSDI_C4(2.394215238455948, 2.3362511737843306, 2.282836995477057, 2.2331325511090475),
    NPKSDI_C4(2.1865083181739334, 2.1424795678022336, 2.1006644566838552, 2.0607562912744341),
    NPKSDI_C4(2.02250456055679, 1.9857015973505135, 1.9501729679923048, 1.9157703997057933),
    NPKSDI_C4(1.8823664766124529, 1.8498505942678826, 1.8181258262770668, 1.7871064626699489),
    NPKSDI_C4(1.7567160501140566, 1.7268858116894918, 1.6975533567908509, 1.6686616147182944),
    NPKSDI_C4(1.6401579418516608, 1.6119933640360701, 1.5841219243153435, 1.5565001123514336),
    NPKSDI_C4(1.5290863563890632, 1.5018405618916262, 1.474723683277409, 1.4476973167176224),
    NPKSDI_C4(1.4207233028407451, 1.3937633284849048, 1.3667785163646916, 1.3397289906342563),
    NPKSDI_C4(1.3125734047423601, 1.2852684155251939, 1.2577680839133579, 1.2300231775504377),
    NPKSDI_C4(1.2019803434433675, 1.1735811085966904, 1.1447606520554612, 1.1154462707628699),
    NPKSDI_C4(1.0855554307417705, 1.0549932488310861, 1.0236491793760774, 0.99139256915097789),
    NPKSDI_C4(0.95806656450075705, 0.92347955596060416, 0.88739282913066832, 0.84950215837842326),
    NPKSDI_C4(0.80940930996813985, 0.76657585061496408, 0.72024390140576521, 0.66928999392571952),
    NPKSDI_C4(0.61192851624031013, 0.54502400011307506, 0.46213734103863298, 0.34553857472350096),
};

/* So many rejections, then a value is accepted: a caller's rng that is stuck must not hang. */
enum { NPKSDI_TRIES = 200 }; /* a sound rng never gets there: probability 2^-200 */

static npksd_real npksdi_normal_tail(npksd_rng *rng)
{
    npksd_real x, y, r = npksdi_layers[1];
    int tries = 0;
    do {
        x = -NPKSD_LOG(1 - npksdi_unit(npksdi_word(rng))) / r;
        y = -NPKSD_LOG(1 - npksdi_unit(npksdi_word(rng)));
    } while (2 * y < x * x && ++tries < NPKSDI_TRIES);
    return r + x;
}

/* Ziggurat: a word gives layer (6 bits), sign (1), position; 19 of 20 draws end there. Others, with
   edges a, b, are above the curve if u (exp(-b^2/2) - exp(-a^2/2)) >= exp(-x^2/2) - exp(-a^2/2). */
NPKSDI_DEF npksd_real npksd_normal(npksd_rng *rng)
{
    for (int tries = 0;; tries++) {
        uint64_t word = npksdi_word(rng);
        size_t layer = (size_t)(word & 63);
        npksd_real a = npksdi_layers[layer], b = npksdi_layers[layer + 1], half = NPKSDI_C(0.5);
        npksd_real x = npksdi_unit(word) * a;
        if (x >= b && layer == 0) {
            x = npksdi_normal_tail(rng);
        } else if (x >= b && tries < NPKSDI_TRIES) {
            npksd_real height = NPKSD_EXP(half * (a - b) * (a + b)) - 1;
            if (npksdi_unit(npksdi_word(rng)) * height >= NPKSD_EXP(half * (a - x) * (a + x)) - 1)
                continue;
        }
        return x * (npksd_real)(1 - (int)((word >> 5) & 2)); /* the sign: no branch to guess */
    }
}

/* Uniform on 0 .. bound-1: draw under the next power of two, reject what is too large. */
static size_t npksdi_below(npksd_rng *rng, size_t bound)
{
    uint64_t mask = (uint64_t)bound - 1, draw;
    for (int shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    int tries = 0;
    do
        draw = npksdi_word(rng) & mask;
    while (draw >= bound && ++tries < NPKSDI_TRIES);
    return (size_t)(draw < bound ? draw : draw - bound);
}

/* ======== >>linalg: the one product kernel, Cholesky, sorting ======== */

#ifndef NPKSD_BLAS_INT
#define NPKSD_BLAS_INT int
#endif
#ifdef NPKSD_USE_CBLAS
#define NPKSD_GEMM(transposed, rows, columns, terms, A, lda, B, ldb, accumulate, C, ldc)           \
    NPKSDI_PICK(cblas_sgemm, cblas_dgemm)                                                          \
    (CblasRowMajor, (transposed) ? CblasTrans : CblasNoTrans, CblasNoTrans,                        \
     (NPKSD_BLAS_INT)(rows), (NPKSD_BLAS_INT)(columns), (NPKSD_BLAS_INT)(terms), 1, A,             \
     (NPKSD_BLAS_INT)(lda), B, (NPKSD_BLAS_INT)(ldb), (accumulate) ? 1 : 0, C,                     \
     (NPKSD_BLAS_INT)(ldc))
#endif

/* out += factor * v, over the lanes of a panel */
NPKSDI_INLINE void npksdi_add_scaled(npksd_real *NPKSDI_RESTRICT out, npksd_real factor,
                                     const npksd_real *NPKSDI_RESTRICT v)
{
    NPKSDI_EACH_LANE (l)
        out[l] += factor * v[l];
}

/* out[a*across + l] (+)= sum_j A[a*row + j*column] * B[j*stride + l], a < rows, l < NPKSDI_T; row
   or column is 1. Two rows and four terms at a time: each load of B serves two rows, each load of
   out four terms; rows inside terms, so that no sum waits for its last store. NPKSD_GEMM is C = A B
   or A' B (transposed), row-major, plus C if accumulate; not for small products. */
NPKSDI_INLINE void npksdi_product_of(npksd_real *NPKSDI_RESTRICT out, size_t across, size_t rows,
                                     const npksd_real *NPKSDI_RESTRICT A, size_t row, size_t column,
                                     const npksd_real *NPKSDI_RESTRICT B, size_t stride,
                                     size_t terms, int accumulate)
{
    size_t fours = terms / 4 * 4, pairs = rows / 2 * 2;
#ifdef NPKSD_GEMM
    int transposed = row == 1 && column != 1;
    size_t lda = transposed ? column : row;
    if (rows >= 4 && terms >= 8 && lda >= (transposed ? rows : terms)) {
        NPKSD_GEMM(transposed, rows, NPKSDI_T, terms, A, lda, B, stride, accumulate, out, across);
        return;
    }
#endif
    for (size_t a = 0; a < rows && !accumulate; a++)
        NPKSDI_EACH_LANE (l) /* a memset would be slower */
            out[a * across + l] = 0;
    for (size_t j = 0; j < fours; j += 4)
        for (size_t a = 0; a < pairs; a += 2) {
            npksd_real *NPKSDI_RESTRICT o0 = out + a * across, *NPKSDI_RESTRICT o1 = o0 + across;
            const npksd_real *p = A + a * row + j * column, *q = p + row, *b = B + j * stride;
            npksd_real p0 = p[0], p1 = p[column], p2 = p[2 * column], p3 = p[3 * column];
            npksd_real q0 = q[0], q1 = q[column], q2 = q[2 * column], q3 = q[3 * column];
            NPKSDI_EACH_LANE (l) {
                npksd_real b0 = b[l], b1 = b[stride + l];
                npksd_real b2 = b[2 * stride + l], b3 = b[3 * stride + l];
                o0[l] += p0 * b0 + p1 * b1 + p2 * b2 + p3 * b3;
                o1[l] += q0 * b0 + q1 * b1 + q2 * b2 + q3 * b3;
            }
        }
    for (size_t j = fours; j < terms; j++)
        for (size_t a = 0; a < rows; a++)
            npksdi_add_scaled(out + a * across, A[a * row + j * column], B + j * stride);
    for (size_t j = 0; j < fours && pairs < rows; j++)
        npksdi_add_scaled(out + pairs * across, A[pairs * row + j * column], B + j * stride);
}

/* Any shape; then a panel against a panel, with strides that the compiler knows. */
NPKSDI_HOT void npksdi_product(npksd_real *out, size_t across, size_t rows, const npksd_real *A,
                               size_t row, size_t column, const npksd_real *B, size_t stride,
                               size_t terms, int accumulate)
{
    npksdi_product_of(out, across, rows, A, row, column, B, stride, terms, accumulate);
}
NPKSDI_HOT void npksdi_panel_product(npksd_real *out, size_t rows, const npksd_real *A,
                                     const npksd_real *B, size_t terms)
{
    npksdi_product_of(out, NPKSDI_T, rows, A, 1, NPKSDI_T, B, NPKSDI_T, terms, 0);
}

/* Sum of the lanes, pairwise. */
static npksd_real npksdi_lane_sum(const npksd_real *lanes)
{
    npksd_real half[NPKSDI_T / 2];
    for (size_t l = 0; l < NPKSDI_T / 2; l++)
        half[l] = lanes[l] + lanes[l + NPKSDI_T / 2];
    for (size_t l = 0; l < NPKSDI_T / 4; l++)
        half[l] += half[l + NPKSDI_T / 4];
    return half[0] + half[2] + (half[1] + half[3]);
}

static npksd_real npksdi_dot(const npksd_real *a, const npksd_real *b, size_t count)
{
    npksd_real lanes[NPKSDI_T] = { 0 }, tail = 0;
    size_t i = 0;
    for (; i + NPKSDI_T <= count; i += NPKSDI_T)
        NPKSDI_EACH_LANE (l)
            lanes[l] += a[i + l] * b[i + l];
    for (; i < count; i++)
        tail += a[i] * b[i];
    return npksdi_lane_sum(lanes) + tail;
}

/* Moment matrices: row-major, rows padded to whole panels, valid in the lower triangle only. */
static size_t npksdi_padded(size_t p) { return (p + NPKSDI_T - 1) / NPKSDI_T * NPKSDI_T; }
NPKSDI_INLINE npksd_real npksdi_moment(const npksd_real *A, size_t p, size_t a, size_t b)
{
    return A[a * npksdi_padded(p) + b];
}

/* A panel of features, p x NPKSDI_T, becomes count x padded. */
static void npksdi_transpose(const npksd_real *phi, size_t p, size_t count, npksd_real *turned)
{
    size_t padded = npksdi_padded(p);
    NPKSD_MEMSET(turned, 0, count * padded * sizeof *turned);
    for (size_t l = 0; l < count; l++)
        for (size_t k = 0; k < p; k++)
            turned[l * padded + k] = phi[k * NPKSDI_T + l];
}

/* A += phi phi' summed over the first `count` rows of a turned panel. */
static void npksdi_add_moments(npksd_real *A, size_t p, const npksd_real *turned, size_t count)
{
    size_t padded = npksdi_padded(p);
    for (size_t first = 0; first < p; first += NPKSDI_T)
        npksdi_product(A + first * padded + first, padded, p - first, turned + first, 1, padded,
                       turned + first, padded, count, 1);
}

/* A matrix, lower triangle, becomes its Cholesky factor L after shift is added to the diagonal
   (row-major, p x p). A row that depends on earlier ones gets a pivot of its own size, so its
   coefficient is near 0, not huge. Returns 0 if a pivot is no number. */
static int npksdi_cholesky(npksd_real *L, size_t p, npksd_real shift)
{
    for (size_t i = 0; i < p; i++) {
        npksd_real *row = L + i * p, diagonal = row[i] + shift, most = NPKSD_SQRT(diagonal);
        for (size_t j = 0; j < i; j++)
            row[j] = npksdi_clamp((row[j] - npksdi_dot(row, L + j * p, j)) / L[j * p + j], most);
        npksd_real pivot = diagonal - npksdi_dot(row, row, i);
        NPKSDI_REFUSE(!npksdi_finite(&pivot, 1), 0);
        if (!(pivot > 4 * NPKSDI_EPSILON * diagonal))
            pivot = npksdi_max(diagonal, NPKSDI_TINY);
        row[i] = NPKSD_SQRT(pivot);
    }
    return 1;
}

/* x = -(L L')^-1 c */
static void npksdi_cholesky_solve(const npksd_real *L, size_t p, const npksd_real *c, npksd_real *x)
{
    for (size_t i = 0; i < p; i++)
        x[i] = (-c[i] - npksdi_dot(L + i * p, x, i)) / L[i * p + i];
    for (size_t i = p; i-- > 0;) { /* by columns of L', to walk memory in order */
        x[i] /= L[i * p + i];
        for (size_t j = 0; j < i; j++)
            x[j] -= L[i * p + j] * x[i];
    }
}

/* Shell sort, ascending: no recursion, no extra memory. Gaps shrink by 11/5 and end with 1. */
static void npksdi_sort(npksd_real *v, size_t count)
{
    for (size_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < count; i++) {
            npksd_real value = v[i];
            size_t hole = i;
            for (; hole >= gap && v[hole - gap] > value; hole -= gap)
                v[hole] = v[hole - gap];
            v[hole] = value;
        }
}

/* The k-th smallest, from 0, by Hoare's find: what stands before it is then not above it. */
static npksd_real npksdi_find(npksd_real *v, size_t count, size_t k)
{
    for (size_t low = 0, end = count; low + 1 < end;) { /* it is in v[low] ... v[end - 1] */
        npksd_real pivot = v[k];
        size_t i = low, j = end;
        while (i < j)
            if (v[i] < pivot)
                i++;
            else if (v[j - 1] > pivot)
                j--;
            else {
                npksd_real value = v[i];
                v[i++] = v[--j];
                v[j] = value;
            }
        low = k >= j ? npksdi_max_size(i, low + 1) : low; /* -ffast-math and NaN: ends, too */
        end = k < i ? npksdi_min_size(j, end - 1) : end;
    }
    return v[k];
}
static npksd_real npksdi_median(npksd_real *v, size_t count)
{
    npksd_real above = npksdi_find(v, count, count / 2);
    return NPKSDI_C(0.5) * npksdi_find(v, count, (count - 1) / 2) + NPKSDI_C(0.5) * above;
}

/* ======== >>memory: one list of arrays makes plan, pointers and blob ======== */

/* A walk visits all arrays of a tester in one order and, by its mode, counts bytes, places pointers
   in a block, writes what is saved, or reads that back. The lists, NPKSDI_MODEL_ARRAYS and its kin,
   also declare them. An entry X(type, name, count, each, saved) is count x each things, saved as
   REALS from low to high (a blob with others is refused), as WORDS up to a limit, or LOCAL: not. */
enum { NPKSDI_COUNT, NPKSDI_PLACE, NPKSDI_WRITE, NPKSDI_READ };
enum { NPKSDI_UNSAVED, NPKSDI_SAVED_REALS, NPKSDI_SAVED_WORDS };
#define NPKSDI_LOCAL                                   NPKSDI_UNSAVED, 0, 0
#define NPKSDI_REALS(low, high)                        NPKSDI_SAVED_REALS, low, high
#define NPKSDI_WORDS(limit)                            NPKSDI_SAVED_WORDS, 0, (npksd_real)(limit)
#define NPKSDI_DECLARE(type, name, count, each, saved) type *name;
#define NPKSDI_VISIT(type, name, count, each, saved)                                               \
    owner->name =                                                                                  \
        (type *)npksdi_visit(walk, owner->name, count, each, sizeof(type), NPKSDI_##saved);

typedef struct npksdi_walk {
    int mode_, bad_;            /* bad_: sizes overflowed, or not a blob */
    size_t at_, size_;          /* bytes so far; READ: bytes in all */
    unsigned char *block_;      /* PLACE: aligned memory; WRITE: the blob, NULL: count its bytes */
    const unsigned char *blob_; /* READ */
} npksdi_walk;

static npksdi_walk npksdi_walk_begin(int mode, void *block)
{
    npksdi_walk walk = { mode, 0, 0, 0, (unsigned char *)block, NULL };
    return walk;
}

enum { NPKSDI_ALIGNMENT = 32 }; /* bytes of the longest vector: none crosses a cache line */
static void *npksdi_aligned(void *memory)
{
    size_t past = (size_t)((uintptr_t)memory % NPKSDI_ALIGNMENT);
    return (unsigned char *)memory + (NPKSDI_ALIGNMENT - past) % NPKSDI_ALIGNMENT;
}

/* Sizes that never wrap: an overflow sets bad_, which stays set. */
NPKSDI_APART size_t npksdi_times(npksdi_walk *walk, size_t a, size_t b)
{
    int wraps = a != 0 && b > SIZE_MAX / 4 / a;
    walk->bad_ |= wraps;
    return wraps ? 0 : a * b;
}

#ifndef NPKSDI_RED_ZONE /* tests put forbidden bytes behind every array: tests/red_zone.h */
#define NPKSDI_RED_ZONE                  0
#define NPKSDI_ALLOW(place, size, bytes) ((void)0)
#endif

/* Room for count x each elements of this size; its address, if there is a block already. */
static void *npksdi_room(npksdi_walk *walk, size_t count, size_t each, size_t size)
{
    size_t at = walk->at_, exact = npksdi_times(walk, npksdi_times(walk, count, each), size);
    size_t bytes = (exact + NPKSDI_ALIGNMENT - 1) / NPKSDI_ALIGNMENT * NPKSDI_ALIGNMENT;
    bytes += NPKSDI_RED_ZONE;
    walk->bad_ |= bytes > SIZE_MAX / 4 - at;
    walk->at_ += walk->bad_ ? 0 : bytes;
    if (walk->block_ == NULL)
        return NULL;
    NPKSDI_ALLOW(walk->block_ + at, exact, bytes);
    return walk->block_ + at;
}

/* FNV-1a. Each step is a bijection of the state, so any change of a single byte changes the sum. */
NPKSDI_APART uint64_t npksdi_hash(const void *memory, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    for (size_t k = 0; k < count; k++)
        sum = (sum ^ bytes[k]) * UINT64_C(0x100000001B3);
    return sum;
}

static int npksdi_in_range(npksd_real value, npksd_real low, npksd_real high)
{
    return npksdi_finite(&value, 1) && value >= low && value <= high;
}

/* A number of a blob, little-endian. */
NPKSDI_APART void npksdi_blob_word(npksdi_walk *walk, uint64_t *value, size_t bytes)
{
    int reading = walk->mode_ == NPKSDI_READ, cut = reading && walk->size_ - walk->at_ < bytes;
    *value = reading ? 0 : *value; /* a blob that is cut has no length that its options ask for */
    for (size_t k = 0; k < bytes && !cut; k++, walk->at_++)
        if (reading)
            *value |= (uint64_t)walk->blob_[walk->at_] << (8 * k);
        else if (walk->block_ != NULL)
            walk->block_[walk->at_] = (unsigned char)(*value >> (8 * k));
}
NPKSDI_APART void npksdi_blob_real(npksdi_walk *walk, npksd_real *value, npksd_real low,
                                   npksd_real high)
{
    uint64_t word = npksdi_bits_of(*value);
    npksdi_blob_word(walk, &word, sizeof *value);
    npksd_real read = npksdi_from_bits((npksdi_bits)word);
    walk->bad_ |= !npksdi_in_range(read, low, high);
    if (walk->mode_ == NPKSDI_READ)
        *value = walk->bad_ ? low : read;
}

/* One array of the list: placed, or written or read. Returns where it is. */
static void *npksdi_visit(npksdi_walk *walk, void *array, size_t count, size_t each, size_t size,
                          int saved, npksd_real low, npksd_real high)
{
    if (walk->mode_ <= NPKSDI_PLACE)
        return npksdi_room(walk, count, each, size);
    size_t all = saved ? count * each : 0;
    if (walk->mode_ == NPKSDI_WRITE && walk->block_ == NULL) {
        walk->at_ += all * size;
        all = 0;
    }
    for (size_t k = 0; k < all && saved == NPKSDI_SAVED_REALS; k++)
        npksdi_blob_real(walk, (npksd_real *)array + k, low, high);
    for (size_t k = 0; k < all && saved == NPKSDI_SAVED_WORDS; k++) {
        uint64_t word = ((uint32_t *)array)[k];
        npksdi_blob_word(walk, &word, 4);
        walk->bad_ |= walk->mode_ == NPKSDI_READ && (npksd_real)word > high;
        ((uint32_t *)array)[k] = walk->bad_ ? 0 : (uint32_t)word;
    }
    return array;
}

/* ======== >>options: every range in one place, and the families they describe ======== */

/* A score family: how many features a coordinate has, and where the sums of its fit are. */
typedef struct npksdi_family {
    int kind_;        /* NPKSD_ESTIMATOR_ */
    int shared_;      /* summary ALL: all coordinates have the same features, one moment matrix */
    size_t features_; /* p */
    size_t degree_, basis_;
    size_t t_terms_; /* polynomials in t, for d <= 2 */
    size_t sums_at_; /* reals from the start of a coordinate's sums (or of the shared ones) */
} npksdi_family;

enum { NPKSDI_FAMILIES_MAX = 3, NPKSDI_RIDGES_MAX = 3 };
enum { NPKSDI_KEPT_MAX = 1000, NPKSDI_MARGINS = 7 }; /* rows of the fit; numbers of MARGIN */

NPKSDI_DEF npksd_options npksd_default_options(void)
{
    npksd_options o;
    NPKSD_MEMSET(&o, 0, sizeof o);
    o.fit_rows = 4000;
    o.replicates = 499;
    o.pilot = 200;
    o.alpha = NPKSDI_C(0.05);
    o.components = NPKSD_COMPONENT_ALL;
    o.standardize = 1;
    o.block = 1;
    return o;
}
NPKSDI_APART npksd_options npksdi_options_of(const npksd_options *options)
{
    return options != NULL ? *options : npksd_default_options();
}

static int npksdi_wild(const npksd_options *o)
{
    return o->calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP;
}

static size_t npksdi_summary_dim(const npksd_options *o, size_t m)
{
    if (m == 1 || o->estimator == NPKSD_ESTIMATOR_CALLBACK || o->summary == NPKSD_SUMMARY_NONE)
        return 0;
    if (o->summary == NPKSD_SUMMARY_CALLBACK)
        return o->summary_dim;
    return o->summary == NPKSD_SUMMARY_ALL ? m - 1 : (o->summary == NPKSD_SUMMARY_MEAN ? 1 : 2);
}

/* How many polynomials up to a total degree there are: variables + degree choose variables. */
static size_t npksdi_terms(size_t variables, size_t degree)
{
    size_t terms = 1;
    for (size_t v = 1; v <= variables; v++)
        terms = terms * (degree + v) / v;
    return terms;
}

/* Rows of the fit sample that are kept: they fix scale, range, knots, edges and bandwidth. */
static size_t npksdi_kept_rows(const npksd_options *o, size_t m)
{
    return npksdi_min_size(npksdi_min_size(o->fit_rows, NPKSDI_KEPT_MAX),
                           npksdi_max_size(2, 4000000 / m));
}

/* Describe a family for these options; returns its number of features. */
static size_t npksdi_describe_family(npksdi_family *f, int kind, const npksd_options *o, size_t m)
{
    size_t d = npksdi_summary_dim(o, m);
    NPKSD_MEMSET(f, 0, sizeof *f);
    f->kind_ = kind;
    f->shared_ = m > 1 && o->summary == NPKSD_SUMMARY_ALL
        && (kind == NPKSD_ESTIMATOR_GAUSS || kind == NPKSD_ESTIMATOR_RBF);
    f->t_terms_ = 1;
    if (kind == NPKSD_ESTIMATOR_GAUSS) {
        f->features_ = 2 + d;
    } else if (kind == NPKSD_ESTIMATOR_POLY) {
        f->degree_ = o->degree > 0 ? o->degree : 3;
        f->features_ = d > 2 ? 1 + f->degree_ + 2 * d : npksdi_terms(1 + d, f->degree_);
    } else if (kind == NPKSD_ESTIMATOR_SPLINE) {
        f->degree_ = o->degree > 0 ? o->degree : 1;
        f->basis_ = o->basis > 0 ? o->basis : 10;
        f->t_terms_ = d > 2 ? 1 : npksdi_terms(d, f->degree_);
        f->features_ = f->basis_ * f->t_terms_ + (d > 2 ? 2 * d : 0);
    } else {
        f->basis_ = npksdi_min_size(o->basis > 0 ? o->basis : 24, npksdi_kept_rows(o, m));
        f->features_ = 2 + d + f->basis_;
    }
    return f->features_;
}

/* Components that apply to n rows of m numbers. */
static unsigned npksdi_able_components(const npksd_options *o, size_t n, size_t m)
{
    unsigned pair = NPKSD_COMPONENT_PAIR, u = NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MOMENT;
    int no_u = n == 1 && o->statistic == NPKSD_STATISTIC_U;
    return o->components & ~(m == 1 ? pair : 0) & ~(no_u ? u : 0);
}
/* Several numbers, or a two-sided one (MIRROR), must be made comparable first. */
static int npksdi_needs_pilot(const npksd_options *o, size_t n, size_t m)
{
    unsigned c = npksdi_able_components(o, n, m);
    int u_and_v = o->statistic == NPKSD_STATISTIC_UV && n > 1;
    int single = c == NPKSD_COMPONENT_STEIN ? o->scale_count == 1 : c == NPKSD_COMPONENT_MOMENT;
    return !((single && !u_and_v) || c == NPKSD_COMPONENT_PAIR) || o->diagnose;
}

/* The range of a real field; of a whole number, where one below low wraps and is too large. */
#define NPKSDI_REAL(field, low, high, text)                                                        \
    NPKSDI_REFUSE(!npksdi_in_range(o->field, low, high), #field ": " text)
#define NPKSDI_WHOLE(field, low, high, text)                                                       \
    NPKSDI_REFUSE((size_t)o->field - (low) > (size_t)(high) - (low), #field ": " text)

/* The rules of scores and calibration. */
static const char *npksdi_scores_problem(const npksd_options *o, size_t n, size_t m)
{
    npksdi_family family;
    int kind = o->estimator, wild = npksdi_wild(o), callback = o->summary == NPKSD_SUMMARY_CALLBACK;
    int splines = kind == NPKSD_ESTIMATOR_SPLINE || kind == NPKSD_ESTIMATOR_AUTO;
    NPKSDI_WHOLE(summary, 0, NPKSD_SUMMARY_CALLBACK, "unknown value");
    NPKSDI_REFUSE(callback && (o->summary_fn == NULL || o->summary_dim == 0),
                  "summary_fn, summary_dim: needed for NPKSD_SUMMARY_CALLBACK");
    NPKSDI_WHOLE(estimator, 0, NPKSD_ESTIMATOR_CALLBACK, "unknown value");
    NPKSDI_REFUSE(kind == NPKSD_ESTIMATOR_CALLBACK && o->score_fn == NULL,
                  "score_fn: needed for NPKSD_ESTIMATOR_CALLBACK");
    NPKSDI_WHOLE(degree, 0, splines ? 3 : 8, "at most 8 (in t, for SPLINE: 3)");
    NPKSDI_WHOLE(basis, 0, NPKSD_FEATURES_MAX, "at most 256");
    NPKSDI_REFUSE(o->basis > 0 && o->basis < 4 && kind != NPKSD_ESTIMATOR_RBF,
                  "basis: a cubic spline has at least 4");
    NPKSDI_REAL(ridge, 0, NPKSDI_C(1e6), "from 0 to 1e6");
    size_t most = NPKSD_FEATURES_MAX, d = npksdi_summary_dim(o, m);
    NPKSDI_REFUSE(kind >= NPKSD_ESTIMATOR_POLY && kind <= NPKSD_ESTIMATOR_RBF
                      && (d > most || npksdi_describe_family(&family, kind, o, m) > most),
                  "estimator, summary, degree, basis: more than 256 features a coordinate");
    NPKSDI_REFUSE(d > 65536 && callback, "summary_dim: too large");
    NPKSDI_WHOLE(standardize, 0, 1, "0 or 1");
    NPKSDI_REAL(smooth, 0, 1000, "from 0 to 1000 standard deviations");
    NPKSDI_WHOLE(calibration, 0, NPKSD_CALIBRATE_WILD_BOOTSTRAP, "unknown value");
    NPKSDI_REFUSE(wild && o->estimator != NPKSD_ESTIMATOR_CALLBACK,
                  "calibration: the wild bootstrap is wrong for estimated scores");
    NPKSDI_REFUSE(wild && o->components != NPKSD_COMPONENT_STEIN,
                  "components: the wild bootstrap allows STEIN only");
    NPKSDI_REFUSE(wild && (o->features > 0 || o->smooth > 0),
                  "features, smooth: not with the wild bootstrap");
    NPKSDI_REFUSE(wild && (o->stop_after > 0 || o->resample_redraw),
                  "stop_after, resample_redraw: not with the wild bootstrap");
    NPKSDI_WHOLE(stop_after, 0, o->replicates, "at most replicates");
    NPKSDI_REFUSE(o->stop_after > 0 && o->diagnose,
                  "stop_after: not with a diagnosis, whose p-values it does not cover");
    NPKSDI_REFUSE(o->pilot < 2 && npksdi_needs_pilot(o, n, m),
                  "pilot: several numbers (or a two-sided one, or diagnose) need at least 2");
    return NULL;
}

NPKSDI_DEF const char *npksd_options_problem(const npksd_options *o, size_t n, size_t m)
{
    const size_t most = 268435456;
    NPKSDI_REFUSE(o == NULL, "options: a NULL pointer");
    NPKSDI_REFUSE(n == 0 || m == 0, "n and m: there must be at least one row and one coordinate");
    NPKSDI_REFUSE(n > most || m > 4000000 || n > SIZE_MAX / 64 / m / sizeof(npksd_real),
                  "n and m: too many numbers");
    NPKSDI_WHOLE(fit_rows, 2, most, "from 2 to 2^28");
    NPKSDI_WHOLE(replicates, 1, most, "from 1 to 2^28");
    NPKSDI_REAL(alpha, NPKSDI_TINY, 1 - NPKSDI_EPSILON / 2, "between 0 and 1, exclusive");
    NPKSDI_REFUSE(1 / ((npksd_real)o->replicates + 1) > o->alpha,
                  "replicates: 1/(replicates+1) > alpha can never reject");
    NPKSDI_WHOLE(pilot, 0, most, "at most 2^28");
    NPKSDI_WHOLE(resample, 0, 16777216, "at most 2^24");
    NPKSDI_REFUSE((o->resample_redraw | o->resample_distinct) & ~1,
                  "resample_redraw, resample_distinct: 0 or 1");
    NPKSDI_REFUSE(o->resample_distinct && o->resample > m,
                  "resample: more than m coordinates cannot be distinct");
    NPKSDI_WHOLE(block, 1, SIZE_MAX, "at least 1");
    NPKSDI_REFUSE((o->allocator.alloc_fn == NULL) != (o->allocator.free_fn == NULL),
                  "allocator: both functions or neither");
    NPKSDI_REFUSE(o->rng.next_fn == NULL && (o->rng.seek_fn != NULL || o->rng.user_data != NULL),
                  "rng: next_fn is missing");
    NPKSDI_WHOLE(kernel, 0, NPKSD_KERNEL_IMQ, "unknown value");
    NPKSDI_REAL(bandwidth, 0, NPKSDI_UNSCALED_CLAMP, "finite and not negative");
    NPKSDI_REFUSE(o->bandwidth > 0 && o->bandwidth < 1 / NPKSDI_UNSCALED_CLAMP,
                  "bandwidth: too small");
    NPKSDI_REFUSE(o->scale_count > NPKSD_SCALES_MAX || (o->scale_count > 0 && o->scales == NULL),
                  "scales, scale_count: at most 16, and a pointer to as many");
    for (size_t c = 0; c < o->scale_count; c++)
        NPKSDI_REFUSE(!npksdi_in_range(o->scales[c], NPKSDI_C(1e-6), NPKSDI_C(1e6)),
                      "scales: from 1e-6 to 1e6");
    NPKSDI_WHOLE(form, 0, NPKSD_FORM_SCALAR, "unknown value");
    NPKSDI_WHOLE(statistic, 0, NPKSD_STATISTIC_V, "unknown value");
    NPKSDI_WHOLE(components, 1, NPKSD_COMPONENT_ALL, "some of NPKSD_COMPONENT_");
    NPKSDI_REFUSE(m == 1 && o->components == NPKSD_COMPONENT_PAIR,
                  "components: PAIR needs two columns");
    NPKSDI_REFUSE(!npksdi_able_components(o, n, m), "statistic: a U-statistic needs two rows");
    NPKSDI_WHOLE(features, 0, 1048576, "at most 2^20");
    NPKSDI_REFUSE(o->features > 0 && o->kernel != NPKSD_KERNEL_GAUSS,
                  "features: for the Gaussian kernel only");
    NPKSDI_WHOLE(diagnose, 0, 1, "0 or 1");
    NPKSDI_REFUSE(o->diagnose && o->features > 0 && o->form == NPKSD_FORM_SCALAR,
                  "diagnose: in linear time only for NPKSD_FORM_VECTOR");
    return npksdi_scores_problem(o, n, m);
}

/* ======== >>model: what a check needs, and the scratch that a data set is evaluated in ======== */

/* The kernel at one of several bandwidths; widest first, the base, scale 1, is always among them. A
   Gaussian kernel whose scale is the previous one's over 2^k is that one squared k times, so that
   all pairs need one exp, at one scale; for k > 6, which would add rounding, it has its own. */
typedef struct npksdi_kernel {
    npksd_real scale_, stretch_; /* of squared distances; of angles, 1 / sqrt(scale) */
    npksd_real floor_;           /* before squaring: keeps the result a normal number */
    int squarings_;              /* -1: an exp of its own */
    unsigned wanted_;            /* NPKSD_COMPONENT_ that use it for every data set */
} npksdi_kernel;

/* One of the numbers whose maximum is the statistic. */
typedef struct npksdi_number {
    unsigned char kind_;      /* NPKSD_COMPONENT_ */
    unsigned char u_;         /* STEIN, MOMENT: U rather than V */
    unsigned char two_sided_; /* small counts as much as large */
    unsigned char at_;        /* STEIN, MIRROR: kernel; MMD: band; MARGIN: which of its seven */
} npksdi_number;

enum {
    NPKSDI_NUMBERS_MAX = 3 * NPKSD_SCALES_MAX + 12,
    NPKSDI_EDGES = 128,                  /* of a column's margin */
    NPKSDI_CODES = 2 * NPKSDI_EDGES + 1, /* places of a value among them */
    NPKSDI_PAIR_COLUMNS = 256,           /* at most this many columns are paired */
    NPKSDI_SHIFTS = 4,                   /* neighbours that a vector of the ring is paired with */
    NPKSDI_WAVES = NPKSDI_SHIFTS * 2 * 4 * NPKSDI_T, /* sums of MMD: shift, band, kind, lane */
    NPKSDI_COLUMN_NUMBERS = 5 /* of the diagnosis: score, margin, spread, mean, cells */
};
static const uint32_t NPKSDI_CONSTANT = UINT32_MAX; /* family of constant coordinates: s = -x */

/* z = (x - centre) / scale, in halves: 1e308 - -1e308. 1/scale may be subnormal: two factors. */
typedef struct npksdi_ruler {
    npksd_real half_centre_, power_, factor_;
} npksdi_ruler;

/* m columns; H kept rows; see npksdi_model_arrays for the other sizes. */
#define NPKSDI_MODEL_ARRAYS(X)                                                                     \
    /* scale: z = (x - centre) / scale, as a ruler; box: range of kept rows, caller's units */     \
    X(npksd_real, centre_, m, 1, REALS(-all, all))                                                 \
    X(npksd_real, scale_, m, 1, REALS(NPKSDI_TINY, all))                                           \
    X(npksdi_ruler, ruler_, m, 1, LOCAL)                                                           \
    X(npksd_real, box_low_, m, 1, REALS(-all, all))                                                \
    X(npksd_real, box_high_, m, 1, REALS(-all, all))                                               \
    /* scores: range of z; splines' first knot and 1 / range; centre, scale and range of t */      \
    X(uint32_t, family_of_, m, 1, WORDS(NPKSDI_CONSTANT))                                          \
    X(npksd_real, x_low_, m, 1, REALS(-all, all))                                                  \
    X(npksd_real, x_high_, m, 1, REALS(-all, all))                                                 \
    X(npksd_real, knot_low_, m, 1, REALS(-most, most))                                             \
    X(npksd_real, knot_inverse_, m, 1, REALS(0, 2 / NPKSDI_KNOTS_LEAST))                           \
    X(npksd_real, summary_centre_, m, d, REALS(-all, all))                                         \
    X(npksd_real, summary_inverse_, m, d, REALS(-all, all))                                        \
    X(npksd_real, t_low_, m, d, REALS(-all, all))                                                  \
    X(npksd_real, t_high_, m, d, REALS(-all, all))                                                 \
    X(npksd_real, theta_, m, owner->features_max_, REALS(-all, all))                               \
    X(npksd_real, centres_, centre, owner->centre_count_, REALS(-most, most))                      \
    /* operator: w_i of the shared index set; linear time: panels of frequencies */                \
    X(npksd_real, weights_, m, 1, REALS(0, 1))                                                     \
    X(npksd_real, frequencies_, owner->frequency_panels_, frequencies, REALS(-100, 100))           \
    /* margins: normal score of a code; edges, their codes; rows below a code; means; pairs */     \
    X(npksd_real, normal_scores_, margins > 0 ? NPKSDI_CODES : 0, 1, LOCAL)                        \
    X(npksd_real, edges_, margins, NPKSDI_EDGES, REALS(-most, most))                               \
    X(uint32_t, edge_codes_, margins, NPKSDI_EDGES, LOCAL)                                         \
    X(uint32_t, counts_, margins, NPKSDI_CODES + 1, WORDS(NPKSDI_CONSTANT))                        \
    X(npksd_real, means_, margins, 1, REALS(-most, most))                                          \
    X(npksd_real, squares_, margins, 1, REALS(0, 10))                                              \
    X(uint32_t, paired_, owner->pair_columns_, 1, WORDS(m - 1))                                    \
    X(npksd_real, correlations_, owner->pair_columns_, pairs, REALS(-1, 1))                        \
    /* waves: vectors that MMD's frequencies are made of; mean cosines and sines */                \
    X(npksd_real, ring_, owner->has_waves_ ? m : 0, NPKSDI_T, REALS(-100, 100))                    \
    X(npksd_real, waves_, owner->has_waves_ ? NPKSDI_WAVES : 0, 1, REALS(-2, 2))                   \
    /* what makes the numbers comparable, and behind them those of the columns */                  \
    X(npksd_real, gauge_mean_, owner->gauge_count_, 1, REALS(-all, all))                           \
    X(npksd_real, gauge_sd_, owner->gauge_count_, 1, REALS(gauge, all))                            \
    X(npksd_real, gauge_skew_, owner->gauge_count_, 1, REALS(-3, 3))                               \
    /* the null: width_ numbers of each replicate; one of them, raised */                          \
    X(npksd_real, null_, owner->replicates_, owner->width_, REALS(-all, all))                      \
    X(npksd_real, raised_, owner->replicates_, 1, LOCAL)

typedef struct npksdi_model {
    npksd_options options_; /* checked; scales are in kernel_ */
    size_t n_, m_, panels_; /* rows of a data set, columns, panels of rows */
    unsigned flags_;
    int summary_; /* NPKSD_SUMMARY_, NONE for one column */
    size_t d_;    /* numbers in t */
    size_t family_count_, centre_count_, features_max_, work_panels_;
    npksdi_family family_[NPKSDI_FAMILIES_MAX];
    size_t columns_; /* most columns that the operator can have */
    npksd_real bandwidth_;
    npksd_real bump_rate_; /* 1/(2 h^2): h^2 is (1 + d)/4, and m/2 for bumps in R^m */
    npksdi_kernel kernel_[NPKSD_SCALES_MAX + 1];
    size_t kernel_count_, base_, frequency_panels_;
    size_t sum_items_; /* items over the frequencies, or over the pairs */
    int has_margins_, has_waves_;
    size_t pair_columns_;
    npksd_real reference_rows_;
    size_t number_count_, gauge_count_;
    npksdi_number number_[NPKSDI_NUMBERS_MAX];
    size_t replicates_, width_;
    NPKSDI_MODEL_ARRAYS(NPKSDI_DECLARE)
} npksdi_model;

static size_t npksdi_pilot_sets(const npksdi_model *model)
{
    return npksdi_needs_pilot(&model->options_, model->n_, model->m_) ? model->options_.pilot : 0;
}
static void npksdi_model_arrays(npksdi_model *owner, npksdi_walk *walk)
{
    size_t m = owner->m_, margins = owner->has_margins_ ? m : 0, frequencies = m * NPKSDI_T;
    int whole = owner->summary_ == NPKSD_SUMMARY_ALL;
    size_t d = whole ? 0 : owner->d_, centre = npksdi_times(walk, m, whole ? 1 : 1 + owner->d_);
    size_t pairs = npksdi_padded(owner->pair_columns_);
    const npksd_real most = NPKSDI_CLAMP, all = NPKSDI_LARGEST;
    npksd_real gauge = npksdi_pilot_sets(owner) > 0 ? NPKSDI_TINY : 0;
    NPKSDI_MODEL_ARRAYS(NPKSDI_VISIT)
}

/* NPKSDI_G rows against a panel, see >>tiles: G = x.x', A, C, D and r; the Gaussian kernel that the
   next one is made from; u; what pairs count; the kernel in use and where its parts are. */
typedef struct npksdi_tile {
    npksd_real G_[NPKSDI_TILE], A_[NPKSDI_TILE], C_[NPKSDI_TILE], D_[NPKSDI_TILE], r_[NPKSDI_TILE];
    npksd_real chain_[NPKSDI_TILE], u_[NPKSDI_TILE], mask_[NPKSDI_TILE], kernel_[3 * NPKSDI_TILE];
    const npksd_real *k0_, *k1_, *k2_;
    size_t row_, column_; /* first of the rows, of the panel */
    int masked_;          /* mask_ is not 1 everywhere */
} npksdi_tile;

/* T = NPKSDI_T rows of a panel, k columns of the operator, p features. */
#define NPKSDI_SCRATCH_ARRAYS(X)                                                                   \
    X(npksd_real, rows_, model->n_, m, LOCAL)                                                      \
    X(npksd_real, signs_, npksdi_wild(o) ? padded : 0, 1, LOCAL)                                   \
    /* a panel on its way to scores: ones, columns and bumps; summary; sums of columns */          \
    X(npksd_real, z_, 1 + m + model->centre_count_, T, LOCAL)                                      \
    X(npksd_real, t_, model->d_ + npksdi_ceil_div(model->d_, T), T, LOCAL)                         \
    X(npksd_real, totals_, 2, T, LOCAL)                                                            \
    X(npksd_real, scores_, m, T, LOCAL)                                                            \
    X(npksd_real, phi_, p, T, LOCAL)                                                               \
    X(npksd_real, slope_, p, T, LOCAL)                                                             \
    X(npksd_real, transposed_, npksdi_padded(widest), T, LOCAL)                                    \
    /* 4 splines in x, 4 slopes; products of polynomials in t; these for t_1, t_2, and slopes */   \
    X(npksd_real, work_, model->work_panels_, T, LOCAL)                                            \
    X(npksd_real, callback_, o->estimator == NPKSD_ESTIMATOR_CALLBACK ? m : 0, T, LOCAL)           \
    /* columns of the Stein kernel: x, w s, their sum, w x; |x|^2, s.x, |w x|^2, |w s|^2 */        \
    X(npksd_real, weights_, m, 1, LOCAL)                                                           \
    X(uint32_t, picks_, m, 1, LOCAL)                                                               \
    X(npksd_real, x_, padded, m, LOCAL)                                                            \
    X(npksd_real, s_, padded, k, LOCAL)                                                            \
    X(npksd_real, p_, padded, k, LOCAL)                                                            \
    X(npksd_real, wx_, unequal ? padded : T, k, LOCAL)                                             \
    X(npksd_real, norm_, padded, 1, LOCAL)                                                         \
    X(npksd_real, cross_, padded, 1, LOCAL)                                                        \
    X(npksd_real, spread_, padded, 1, LOCAL)                                                       \
    X(npksd_real, own_, padded, 1, LOCAL)                                                          \
    /* sums over pairs or frequencies; for v_i; of each row, sum_b u(z_a, z_b) */                  \
    X(npksdi_tile, tile_, linear ? 0 : 1, 1, LOCAL)                                                \
    X(npksd_real, phases_, linear ? (2 * kernels + 1) * T : 0, T, LOCAL)                           \
    X(npksd_real, lanes_, 2 * kernels + 1, T, LOCAL)                                               \
    X(npksd_real, sums_, sums, 1, LOCAL)                                                           \
    X(npksd_real, moment_, linear ? k : 0, npksdi_padded(m + 1), LOCAL)                            \
    X(npksd_real, raw_s_, diagnosed, m, LOCAL)                                                     \
    X(npksd_real, coordinate_, o->diagnose ? m : 0, T, LOCAL)                                      \
    X(npksd_real, row_sums_, padded, 1, LOCAL)                                                     \
    /* sums over rows: codes, rows below a code; z; normal scores: mean, 1/deviation, products */  \
    X(uint32_t, codes_, margins, padded, LOCAL)                                                    \
    X(uint32_t, below_, margins > 0 ? NPKSDI_CODES + 1 : 0, 1, LOCAL)                              \
    X(npksd_real, z_sums_, margins, T, LOCAL)                                                      \
    X(npksd_real, score_mean_, margins, 1, LOCAL)                                                  \
    X(npksd_real, score_inverse_, margins, 1, LOCAL)                                               \
    X(npksd_real, pair_sums_, pairs, npksdi_padded(pairs), LOCAL)                                  \
    X(npksd_real, wave_sums_, model->has_waves_ ? NPKSDI_WAVES : 0, 1, LOCAL)                      \
    /* the numbers, then those of the columns */                                                   \
    X(npksd_real, values_, model->number_count_ + NPKSDI_COLUMN_NUMBERS * m, 1, LOCAL)

/* What the evaluation of one data set needs. */
typedef struct npksdi_scratch {
    npksd_rng rng_;
    npksd_rng_state rng_state_;
    uint64_t streams_; /* 0; a trial with the caller's rng: makes its streams different */
    void *user_data_;
    const npksd_real *panel_rows_; /* the caller's rows of the panel in z_ */
    size_t panel_count_;
    int bad_summary_;       /* summary_fn wrote NaN or infinity */
    int with_base_;         /* sums of the base kernel, too: a check, or diagnose */
    int with_signs_;        /* wild bootstrap: pairs are multiplied by signs_ */
    size_t columns_;        /* of s_ and p_ */
    int equal_;             /* all weights 1/m: X X' serves twice */
    npksd_real weight_sum_; /* sum_i w_i^2 */
    npksd_real largest_pair_;
    NPKSDI_SCRATCH_ARRAYS(NPKSDI_DECLARE)
} npksdi_scratch;

static void npksdi_scratch_arrays(const npksdi_model *model, npksdi_scratch *owner,
                                  npksdi_walk *walk)
{
    const npksd_options *o = &model->options_;
    size_t m = model->m_, k = model->columns_, padded = model->panels_ * NPKSDI_T, T = NPKSDI_T;
    size_t p = model->features_max_, kernels = model->kernel_count_, pairs = model->pair_columns_;
    size_t diagnosed = o->diagnose ? padded : 0, margins = model->has_margins_ ? m : 0;
    int linear = o->features > 0, unequal = o->resample > 0 || o->form == NPKSD_FORM_SCALAR;
    size_t widest = npksdi_max_size(linear ? m + 1 : 0, pairs);
    size_t waves = npksdi_times(walk, kernels * model->frequency_panels_, (2 * k + 2) * T);
    size_t sums = linear ? waves : 2 * kernels + 1;
    NPKSDI_SCRATCH_ARRAYS(NPKSDI_VISIT)
}

/* ---- from options to sizes ---- */

/* The families that the fit tries, cheapest first. */
static void npksdi_plan_families(npksdi_model *model)
{
    const npksd_options *o = &model->options_;
    int automatic = o->estimator == NPKSD_ESTIMATOR_AUTO, few = model->d_ == 1 || model->d_ == 2;
    int list[NPKSDI_FAMILIES_MAX] = { automatic ? (int)NPKSD_ESTIMATOR_GAUSS : o->estimator,
                                      NPKSD_ESTIMATOR_SPLINE, /* linear in t; POLY is not */
                                      few ? NPKSD_ESTIMATOR_POLY : NPKSD_ESTIMATOR_RBF };
    size_t own = o->estimator == NPKSD_ESTIMATOR_CALLBACK ? 0 : 1;
    size_t count = !automatic ? own : few || model->summary_ == NPKSD_SUMMARY_ALL ? 3 : 2;
    for (size_t k = 0; k < count; k++) {
        npksdi_family *f = model->family_ + model->family_count_;
        size_t p = npksdi_describe_family(f, list[k], o, model->m_);
        if (p > NPKSD_FEATURES_MAX && list[k] != NPKSD_ESTIMATOR_GAUSS)
            continue;
        size_t terms = npksdi_terms(model->d_ > 2 ? 0 : model->d_, f->degree_);
        size_t work = 8 + terms + 3 * (f->degree_ + 1); /* panels, as work_ says */
        model->work_panels_ = npksdi_max_size(model->work_panels_, work);
        model->features_max_ = npksdi_max_size(model->features_max_, p);
        if (f->kind_ == NPKSD_ESTIMATOR_RBF)
            model->centre_count_ = f->basis_;
        model->family_count_++;
    }
}

/* Marks the kernel of a scale as used by these components; a new one joins the list. */
static size_t npksdi_want_kernel(npksdi_model *model, npksd_real scale, unsigned components)
{
    npksdi_kernel *kernel = model->kernel_, added = { scale, 1 / NPKSD_SQRT(scale), 0, 0, 0 };
    size_t c = 0;
    while (c < model->kernel_count_ && kernel[c].scale_ > scale)
        c++;
    if (c == model->kernel_count_ || kernel[c].scale_ < scale) {
        for (size_t k = model->kernel_count_++; k > c; k--)
            kernel[k] = kernel[k - 1];
        kernel[c] = added;
    }
    kernel[c].wanted_ |= components;
    return c;
}

static void npksdi_plan_kernels(npksdi_model *model, const npksd_real *scales, size_t count)
{
    enum { STEIN = NPKSD_COMPONENT_STEIN, MIRROR = NPKSD_COMPONENT_MIRROR };
    const npksd_real usual[3] = { NPKSDI_C(0.015625), NPKSDI_C(0.125), NPKSDI_C(0.5) };
    const unsigned users[3] = { STEIN, STEIN | MIRROR, MIRROR };
    for (size_t k = 0; k < (count > 0 ? count : 3); k++) {
        unsigned wanted = model->options_.components & (count > 0 ? STEIN | MIRROR : users[k]);
        if (wanted)
            npksdi_want_kernel(model, count > 0 ? scales[k] : usual[k], wanted);
    }
    model->base_ = npksdi_want_kernel(model, 1, 0);
    for (size_t c = 0; c < model->kernel_count_; c++) {
        npksdi_kernel *kernel = model->kernel_ + c;
        npksd_real ratio = c > 0 ? kernel[-1].scale_ / kernel->scale_ : 0, left = ratio;
        for (; left > 1; kernel->squarings_++)
            left /= 2;
        if (left < 1 || kernel->squarings_ > 6)
            kernel->squarings_ = -1;
        kernel->floor_ = NPKSD_EXP(NPKSDI_EXP_LOW / (kernel->squarings_ > 0 ? ratio : 1));
    }
}

NPKSDI_APART void npksdi_add_number(npksdi_model *model, unsigned kind, int u, int two_sided,
                                    size_t at)
{
    npksdi_number number = { (unsigned char)kind, (unsigned char)u, (unsigned char)two_sided,
                             (unsigned char)at };
    model->number_[model->number_count_++] = number;
}

static void npksdi_plan_numbers(npksdi_model *model)
{
    const npksd_options *o = &model->options_;
    unsigned stein = NPKSD_COMPONENT_STEIN, mirror = NPKSD_COMPONENT_MIRROR;
    for (int u = 0; u < 2; u++) {
        if (u ? o->statistic == NPKSD_STATISTIC_V || model->n_ == 1
              : o->statistic == NPKSD_STATISTIC_U)
            continue;
        for (size_t c = 0; c < model->kernel_count_; c++)
            if (model->kernel_[c].wanted_ & stein)
                npksdi_add_number(model, stein, u, 0, c);
        if (o->components & NPKSD_COMPONENT_MOMENT)
            npksdi_add_number(model, NPKSD_COMPONENT_MOMENT, u, 0, 0);
    }
    for (size_t c = 0; c < model->kernel_count_; c++)
        if (model->kernel_[c].wanted_ & mirror)
            npksdi_add_number(model, mirror, 0, 1, c);
    for (size_t band = 0; band < 2 && (o->components & NPKSD_COMPONENT_MMD); band++)
        npksdi_add_number(model, NPKSD_COMPONENT_MMD, 0, 0, band);
    for (size_t k = 0; k < NPKSDI_MARGINS && (o->components & NPKSD_COMPONENT_MARGIN); k++)
        npksdi_add_number(model, NPKSD_COMPONENT_MARGIN, 0, k == 3 || k == 5, k);
    if ((o->components & NPKSD_COMPONENT_PAIR) && model->m_ > 1)
        npksdi_add_number(model, NPKSD_COMPONENT_PAIR, 0, 0, 0);
}

/* Items over frequencies; or over pairs, sum_p of p / NPKSDI_ITEM_PANELS + 1. */
enum { NPKSDI_ITEM_PANELS = 16, NPKSDI_ITEM_FREQUENCIES = 4 };
static size_t npksdi_sum_items(const npksdi_model *model)
{
    uint64_t panels = model->panels_, full = panels / NPKSDI_ITEM_PANELS;
    uint64_t each = npksdi_ceil_div(model->frequency_panels_, NPKSDI_ITEM_FREQUENCIES);
    uint64_t pairs = (full + 1) * (panels - full * (NPKSDI_ITEM_PANELS / 2));
    uint64_t items = model->options_.features > 0 ? panels * each : pairs;
    return (size_t)(items < SIZE_MAX / 4 ? items : SIZE_MAX / 4); /* too many: no such plan */
}

/* A model without its arrays, for valid options. */
static void npksdi_plan_model(npksdi_model *model, size_t n, size_t m, const npksd_options *options)
{
    npksd_options *o = &model->options_;
    NPKSD_MEMSET(model, 0, sizeof *model);
    *o = *options;
    o->scales = NULL; /* the copy is in kernel_ */
    model->n_ = n;
    model->m_ = m;
    model->panels_ = npksdi_ceil_div(n, NPKSDI_T);
    model->summary_ = m == 1 ? NPKSD_SUMMARY_NONE : o->summary;
    model->d_ = npksdi_summary_dim(o, m);
    int whole = model->summary_ == NPKSD_SUMMARY_ALL;
    model->bump_rate_ = whole ? 1 / (npksd_real)m : 2 / (npksd_real)(1 + model->d_);
    size_t most = npksdi_min_size(o->resample > 0 ? o->resample : m, m);
    model->columns_ = o->form == NPKSD_FORM_SCALAR ? 1 : most;
    model->frequency_panels_ = npksdi_ceil_div(o->features, NPKSDI_T);
    model->sum_items_ = npksdi_sum_items(model);
    unsigned columns = NPKSD_COMPONENT_MARGIN | NPKSD_COMPONENT_PAIR;
    model->has_waves_ = (o->components & NPKSD_COMPONENT_MMD) != 0;
    model->has_margins_ = ((o->components & columns) || o->diagnose) && !npksdi_wild(o);
    if (model->has_margins_ && m > 1 && ((o->components & NPKSD_COMPONENT_PAIR) || o->diagnose))
        model->pair_columns_ = npksdi_min_size(m, NPKSDI_PAIR_COLUMNS);
    npksdi_plan_families(model);
    npksdi_plan_kernels(model, options->scales, options->scale_count);
    for (size_t c = o->scale_count = 0; c < model->kernel_count_ && options->scale_count > 0; c++)
        o->scale_count += model->kernel_[c].wanted_ != 0; /* distinct ones in use */
    npksdi_plan_numbers(model);
    model->gauge_count_ = model->number_count_ + (o->diagnose ? NPKSDI_COLUMN_NUMBERS * m : 0);
    model->replicates_ = o->replicates;
    model->width_ = 1 + (o->diagnose ? m + 2 : 0);
}

/* ======== >>rows: from the caller's rows to scaled panels ======== */

NPKSDI_APART void npksdi_seek(npksdi_scratch *w, uint64_t stream)
{
    if (w->rng_.seek_fn != NULL)
        w->rng_.seek_fn(stream ^ w->streams_, w->rng_.user_data);
}

/* smooth: adds N(0, smooth^2), in scaled units, to columns first .. end - 1 of rows of any kind. */
static void npksdi_add_noise(const npksdi_model *model, npksdi_scratch *w, npksd_real *rows,
                             size_t count, size_t first, size_t end)
{
    npksd_real smooth = model->options_.smooth;
    for (size_t a = 0; a < count && smooth > 0; a++)
        for (size_t j = first; j < end; j++)
            rows[a * model->m_ + j] += smooth * model->scale_[j] * npksd_normal(&w->rng_);
}

static void npksdi_set_ruler(npksdi_model *model, size_t j)
{
    npksd_real scale = model->scale_[j]; /* positive and normal */
    npksdi_bits exponent = npksdi_bits_of(scale) >> NPKSDI_MANTISSA, most = 2 * NPKSDI_BIAS - 1;
    exponent = 2 * NPKSDI_BIAS - (exponent < most ? exponent : most);
    npksd_real power = npksdi_from_bits(exponent << NPKSDI_MANTISSA);
    npksdi_ruler ruler = { model->centre_[j] * NPKSDI_C(0.5), power, 2 / (scale * power) };
    model->ruler_[j] = ruler;
}
NPKSDI_INLINE npksd_real npksdi_unclamped(npksd_real x, npksdi_ruler ruler)
{
    return (x * NPKSDI_C(0.5) - ruler.half_centre_) * ruler.power_ * ruler.factor_;
}
static npksd_real npksdi_standard(const npksdi_model *model, npksd_real x, size_t j)
{
    return npksdi_clamp(npksdi_unclamped(x, model->ruler_[j]), NPKSDI_CLAMP);
}

/* Lane by lane, sum_j a_j b_j over k columns of a panel. */
NPKSDI_INLINE void npksdi_dots(npksd_real *out, const npksd_real *a, const npksd_real *b, size_t k)
{
    npksd_real sum[NPKSDI_T] = { 0 };
    for (size_t j = 0; j < k; j++, a += NPKSDI_T, b += NPKSDI_T)
        NPKSDI_EACH_LANE (l)
            sum[l] += a[l] * b[l];
    NPKSD_MEMCPY(out, sum, sizeof sum);
}

/* exp(rate v), at least exp(NPKSDI_EXP_LOW). Two loops, so that both vectorise. */
NPKSDI_INLINE void npksdi_exp_all(npksd_real *out, const npksd_real *v, npksd_real rate, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = npksdi_max(NPKSDI_EXP_LOW, rate * v[i]);
    for (size_t i = 0; i < n; i++)
        out[i] = NPKSDI_EXP_INSIDE(out[i]);
}

/* exp(-|(x,t) - c|^2 / (2 h^2)) for one centre c. */
NPKSDI_HOT void npksdi_bump(const npksdi_model *model, const npksd_real *x, const npksd_real *tt,
                            const npksd_real *centre, npksd_real *out)
{
    npksd_real r[NPKSDI_T];
    NPKSDI_EACH_LANE (l)
        r[l] = npksdi_square(x[l] - centre[0]);
    for (size_t k = 0; k < model->d_ * NPKSDI_T; k++)
        r[k % NPKSDI_T] += npksdi_square(tt[k] - centre[1 + k / NPKSDI_T]);
    npksdi_exp_all(out, r, -model->bump_rate_, NPKSDI_T);
}
/* Up to NPKSDI_T rows become one scaled panel; missing rows are 0. The panel is preceded by a row
   of ones, so that (1, z) is a feature vector as it stands; for summary ALL bumps in R^m follow,
   shared by all coordinates. Totals: sums of z and of z^2. */
NPKSDI_HOT void npksdi_scale_panel(const npksdi_model *model, npksdi_scratch *w,
                                   const npksd_real *rows, size_t count)
{
    npksd_real *z = w->z_, *first = z + NPKSDI_T;
    size_t m = model->m_;
    w->panel_rows_ = rows;
    w->panel_count_ = count;
    npksdi_clear(w->totals_, NPKSDI_T);
    NPKSDI_EACH_LANE (l)
        z[l] = 1;
    for (size_t j = 0; j < m; j++) {
        npksdi_ruler ruler = model->ruler_[j];
        z += NPKSDI_T;
        NPKSDI_EACH_LANE (l) /* gather first, so that the arithmetic vectorises */
            z[l] = rows[(l < count ? l : 0) * m + j];
        NPKSDI_EACH_LANE (l)
            z[l] = npksdi_unclamped(z[l], ruler);
        npksdi_limit(z, NPKSDI_T, -NPKSDI_CLAMP, NPKSDI_CLAMP);
        for (size_t l = count; l < NPKSDI_T; l++)
            z[l] = 0;
        npksdi_add_scaled(w->totals_, 1, z);
    }
    npksdi_dots(w->totals_ + NPKSDI_T, first, first, m);
    for (size_t k = 0; k < model->centre_count_ && model->summary_ == NPKSD_SUMMARY_ALL; k++)
        npksdi_bump(model, first, first + NPKSDI_T, model->centres_ + k * m, z += NPKSDI_T);
}

static int npksdi_is_constant(const npksdi_model *model, size_t j)
{
    return !(model->box_high_[j] > model->box_low_[j]);
}

/* Scaled values to the operator's coordinates. */
static npksd_real npksdi_unit_of(const npksdi_model *model, size_t j)
{
    return model->options_.standardize ? 1 : model->scale_[j];
}

/* Row j of `count` rows spread evenly over n. */
static size_t npksdi_spread_row(size_t n, size_t count, size_t j)
{
    return (n / count) * j + (size_t)((uint64_t)(n % count) * j / count);
}

/* ======== >>summaries: what a score knows of the other coordinates ======== */

/* t of a callback, row by row; NaN and infinity are noted in the scratch. */
static void npksdi_summary_callback(const npksdi_model *model, npksdi_scratch *w, size_t i)
{
    const npksd_options *o = &model->options_;
    npksd_real *one = w->t_ + model->d_ * NPKSDI_T; /* the callback writes d neighbours */
    npksdi_clear(w->t_, model->d_ * NPKSDI_T);
    for (size_t l = 0; l < w->panel_count_; l++) {
        o->summary_fn(w->panel_rows_ + l * model->m_, model->m_, i, one, o->summary_user_data);
        int good = npksdi_finite(one, model->d_); /* NaN must not reach an exp */
        w->bad_summary_ |= !good;
        for (size_t k = 0; k < model->d_; k++)
            w->t_[k * NPKSDI_T + l] = good ? one[k] : 0;
    }
}
/* Was any not finite? Asked once per item, which clears the note. */
static npksd_status npksdi_summary_status(npksdi_scratch *w)
{
    int bad = w->bad_summary_;
    w->bad_summary_ = 0;
    return bad ? NPKSD_ERROR_NONFINITE : NPKSD_OK;
}

/* t of coordinate i, d x NPKSDI_T, from the panel in z_ and its totals, or from the rows. */
static void npksdi_summary(const npksdi_model *model, npksdi_scratch *w, size_t i)
{
    size_t m = model->m_;
    const npksd_real *totals = w->totals_, *z = w->z_ + NPKSDI_T, *x = z + i * NPKSDI_T;
    npksd_real *out = w->t_, others = 1 / (npksd_real)(m > 1 ? m - 1 : 1);
    switch (model->summary_) {
    case NPKSD_SUMMARY_MEAN:
    case NPKSD_SUMMARY_MEAN_VAR:
        NPKSDI_EACH_LANE (l)
            out[l] = (totals[l] - x[l]) * others;
        for (size_t l = 0; l < NPKSDI_T && model->d_ == 2; l++) {
            npksd_real square = (totals[NPKSDI_T + l] - x[l] * x[l]) * others;
            /* of one number: 0, not rounding noise */
            out[NPKSDI_T + l] = m == 2 ? 0 : npksdi_max(0, square - out[l] * out[l]);
        }
        break;
    case NPKSD_SUMMARY_NEIGHBOURS:
        NPKSDI_EACH_LANE (l) {
            out[l] = i > 0 ? z[(i - 1) * NPKSDI_T + l] : 0;
            out[NPKSDI_T + l] = i + 1 < m ? z[(i + 1) * NPKSDI_T + l] : 0;
        }
        break;
    case NPKSD_SUMMARY_ALL:
        NPKSD_MEMCPY(out, z, i * NPKSDI_T * sizeof *z);
        NPKSD_MEMCPY(out + i * NPKSDI_T, x + NPKSDI_T, (m - 1 - i) * NPKSDI_T * sizeof *z);
        break;
    case NPKSD_SUMMARY_CALLBACK: npksdi_summary_callback(model, w, i); break;
    default: break;
    }
}

/* The same, centred and scaled by the fit sample; the other coordinates themselves already are. */
static void npksdi_standard_summary(const npksdi_model *model, npksdi_scratch *w, size_t i)
{
    npksdi_summary(model, w, i);
    for (size_t k = 0; k < model->d_ && model->summary_ != NPKSD_SUMMARY_ALL; k++) {
        npksd_real half = model->summary_centre_[i * model->d_ + k] * NPKSDI_C(0.5);
        npksd_real inverse = model->summary_inverse_[i * model->d_ + k];
        npksd_real *one = w->t_ + k * NPKSDI_T;
        NPKSDI_EACH_LANE (l)
            one[l] = 2 * ((one[l] * NPKSDI_C(0.5) - half) * inverse);
        npksdi_limit(one, NPKSDI_T, -NPKSDI_CLAMP, NPKSDI_CLAMP);
    }
}

/* ======== >>scores: families of features, and the scores they give ======== */

/* Orthonormal Hermite polynomials: h_{k+1} = (x h_k - sqrt(k) h_{k-1}) / sqrt(k+1), with slopes
   sqrt(k) h_{k-1}. Straight lines outside [low, high], or one outlier would decide everything. */
static void npksdi_hermite(const npksd_real *x, npksd_real low, npksd_real high, size_t degree,
                           npksd_real *h, npksd_real *slope)
{
    npksd_real inside[NPKSDI_T], root = 0; /* sqrt(k) */
    NPKSDI_EACH_LANE (l) {
        inside[l] = x[l];
        h[l] = 1;
        slope[l] = 0;
    }
    npksdi_limit(inside, NPKSDI_T, low, high);
    for (size_t k = 0; k < degree; k++, h += NPKSDI_T) {
        npksd_real next = NPKSD_SQRT((npksd_real)(k + 1)), part = 1 / next, *up = h + NPKSDI_T;
        const npksd_real *down = k > 0 ? h - NPKSDI_T : h; /* times root = 0 */
        slope += NPKSDI_T;
        NPKSDI_EACH_LANE (l) {
            up[l] = (inside[l] * h[l] - root * down[l]) * part;
            slope[l] = next * h[l];
        }
        root = next;
    }
    for (size_t k = degree; k > 0; k--, h -= NPKSDI_T, slope -= NPKSDI_T)
        NPKSDI_EACH_LANE (l)
            h[l] += slope[l] * (x[l] - inside[l]);
}

/* Products h_b(t_1) h_c(t_2), b + c <= degree, in the order of c, then b, for d <= 2. */
static const npksd_real *npksdi_t_basis(const npksdi_model *model, npksdi_scratch *w, size_t i,
                                        size_t degree)
{
    size_t d = model->d_, span = (degree + 1) * NPKSDI_T;
    npksd_real *basis = w->work_ + 8 * NPKSDI_T, *out = basis;
    npksd_real *h = basis + npksdi_terms(d, degree) * NPKSDI_T;
    int all = model->summary_ == NPKSD_SUMMARY_ALL;
    for (size_t k = 0; k < d; k++) {
        size_t other = k < i ? k : k + 1, at = i * d + k;
        npksd_real low = all ? model->x_low_[other] : model->t_low_[at];
        npksd_real high = all ? model->x_high_[other] : model->t_high_[at];
        npksdi_hermite(w->t_ + k * NPKSDI_T, low, high, degree, h + k * span, h + 2 * span);
    }
    for (size_t c = 0; c <= (d == 2 ? degree : 0); c++)
        for (size_t b = 0; b <= (d >= 1 ? degree - c : 0); b++)
            NPKSDI_EACH_LANE (l)
                *out++ =
                    (b > 0 ? h[b * NPKSDI_T + l] : 1) * (c > 0 ? h[span + c * NPKSDI_T + l] : 1);
    return basis;
}

/* The four cubic B-splines of the cell that x falls in, and their slopes: with v in [0, 1] the
   position, (1-v)^3/6, (3v^3-6v^2+4)/6, (-3v^3+3v^2+3v+1)/6, v^3/6. Outside the knots they go on as
   straight lines. work_: 4 values, then 4 slopes; B-spline cell + k is number k. */
NPKSDI_HOT void npksdi_spline_basis(const npksdi_model *model, npksdi_scratch *w,
                                    const npksdi_family *f, size_t i, size_t *cell)
{
    const npksd_real *NPKSDI_RESTRICT x = w->z_ + (1 + i) * NPKSDI_T;
    npksd_real *NPKSDI_RESTRICT value = w->work_, *NPKSDI_RESTRICT slope = w->work_ + 4 * NPKSDI_T;
    npksd_real most = (npksd_real)(f->basis_ - 3), rate = model->knot_inverse_[i] * most;
    npksd_real low = model->knot_low_[i], sixth = 1 / NPKSDI_C(6), inside[NPKSDI_T];
    NPKSDI_EACH_LANE (l)
        inside[l] = (x[l] - low) * rate;
    npksdi_limit(inside, NPKSDI_T, 0, most);
    NPKSDI_EACH_LANE (l) {
        int k = (int)npksdi_min(most - NPKSDI_C(0.5), inside[l]); /* right end: last cell */
        npksd_real past = (x[l] - low) * rate - inside[l], v = inside[l] - (npksd_real)k, u = 1 - v;
        cell[l] = (size_t)k;
        npksd_real s0 = NPKSDI_C(-0.5) * u * u, s1 = (NPKSDI_C(1.5) * v - 2) * v;
        npksd_real s2 = (1 - NPKSDI_C(1.5) * v) * v + NPKSDI_C(0.5), s3 = NPKSDI_C(0.5) * v * v;
        value[l] = u * u * u * sixth + s0 * past;
        value[NPKSDI_T + l] = ((3 * v - 6) * v * v + 4) * sixth + s1 * past;
        value[2 * NPKSDI_T + l] = (((3 - 3 * v) * v + 3) * v + 1) * sixth + s2 * past;
        value[3 * NPKSDI_T + l] = v * v * v * sixth + s3 * past;
        slope[l] = s0 * rate;
        slope[NPKSDI_T + l] = s1 * rate;
        slope[2 * NPKSDI_T + l] = s2 * rate;
        slope[3 * NPKSDI_T + l] = s3 * rate;
    }
}

/* phi_ and slope_ = d phi / dx with t held fixed, p x NPKSDI_T each, of the summary in t_: first
   features of x alone, POLY h_a(x), SPLINE B_a(x), GAUSS and RBF 1, x. Then
       POLY, d <= 2: these times h_b(t_1) h_c(t_2), a + b + c <= degree;
       POLY and SPLINE, d > 2: t and x t;   GAUSS: t;   RBF: t and bumps.
   Splines times polynomials in t are sparse, see npksdi_score_spline and npksdi_add_splines. */
static void npksdi_features(const npksdi_model *model, npksdi_scratch *w, const npksdi_family *f,
                            size_t i)
{
    const npksd_real *x = w->z_ + (1 + i) * NPKSDI_T, *tt = w->t_, *basis;
    npksd_real *phi = w->phi_, *slope = w->slope_;
    size_t T = NPKSDI_T, d = model->d_, degree = f->degree_, at = 0, cell[NPKSDI_T];
    int poly = f->kind_ == NPKSD_ESTIMATOR_POLY, spline = f->kind_ == NPKSD_ESTIMATOR_SPLINE;
    npksdi_clear(phi, f->features_ * T);
    npksdi_clear(slope, f->features_ * T);
    if (poly) {
        npksdi_hermite(x, model->x_low_[i], model->x_high_[i], degree, phi, slope);
        basis = d > 2 ? w->z_ : npksdi_t_basis(model, w, i, degree); /* z_: ones */
        for (size_t c = 0; c <= (d == 2 ? degree : 0); c++)
            for (size_t b = 0; b <= (d == 1 || d == 2 ? degree - c : 0); b++, basis += T)
                for (size_t k = 0; k < (degree + 1 - b - c) * T; k++, at++) {
                    phi[at] = phi[k] * basis[k % T];
                    slope[at] = slope[k] * basis[k % T];
                }
    } else if (spline) {
        npksdi_spline_basis(model, w, f, i, cell);
        for (size_t k = 0; k < 4 * T; k++) {
            phi[cell[k % T] * T + k] = w->work_[k];
            slope[cell[k % T] * T + k] = w->work_[4 * T + k];
        }
        at = f->basis_ * T;
    } else {
        for (; at < T; at++)
            phi[at] = slope[T + at] = 1;
        for (; at < 2 * T; at++)
            phi[at] = x[at - T];
    }
    for (size_t k = 0; k < d * T && (!poly || d > 2); k++)
        phi[at++] = tt[k];
    for (size_t k = 0; k < d * T && (poly || spline) && d > 2; k++, at++) {
        phi[at] = x[k % T] * tt[k];
        slope[at] = tt[k];
    }
    for (size_t k = 0; k < f->basis_ && !spline; k++) {
        const npksd_real *centre = model->centres_ + (i * f->basis_ + k) * (1 + d);
        npksdi_bump(model, x, tt, centre, phi + at);
        for (size_t l = 0; l < T; l++, at++)
            slope[at] = -2 * model->bump_rate_ * (x[l] - centre[0]) * phi[at];
    }
    NPKSD_ASSERT(at == f->features_ * T);
}

/* s = sum_k B_(cell + k)(x) sum_r theta_kr t_r, t_0 = 1: four splines are not 0. */
static void npksdi_score_spline(const npksdi_model *model, npksdi_scratch *w,
                                const npksdi_family *f, size_t i, npksd_real *s)
{
    const npksd_real *theta = model->theta_ + i * model->features_max_;
    const npksd_real *x = w->z_ + (1 + i) * NPKSDI_T, *t_powers = w->t_ - NPKSDI_T;
    size_t terms = f->t_terms_, cell[NPKSDI_T], d = model->d_;
    npksdi_spline_basis(model, w, f, i, cell);
    if (terms > 1 && f->degree_ > 1) /* of degree 1: t itself */
        t_powers = npksdi_t_basis(model, w, i, f->degree_);
    NPKSDI_EACH_LANE (l) {
        const npksd_real *q = theta + cell[l] * terms;
        s[l] = 0;
        for (size_t k = 0; k < 4; k++, q += terms) {
            npksd_real part = q[0];
            for (size_t r = 1; r < terms; r++)
                part += q[r] * t_powers[r * NPKSDI_T + l];
            s[l] += w->work_[k * NPKSDI_T + l] * part;
        }
    }
    theta += f->basis_ * terms;
    for (size_t k = 0; k < d * NPKSDI_T && d > 2; k++)
        s[k % NPKSDI_T] +=
            (theta[k / NPKSDI_T] + theta[d + k / NPKSDI_T] * x[k % NPKSDI_T]) * w->t_[k];
}

/* s_i = theta_i' phi for one coordinate and one panel, for features of its own. */
static void npksdi_score_coordinate(const npksdi_model *model, npksdi_scratch *w, size_t i)
{
    const npksd_real *x = w->z_ + (1 + i) * NPKSDI_T;
    const npksd_real *theta = model->theta_ + i * model->features_max_;
    const npksdi_family *f = model->family_ + model->family_of_[i];
    npksd_real *s = w->scores_ + i * NPKSDI_T;
    npksdi_standard_summary(model, w, i);
    if (f->kind_ == NPKSD_ESTIMATOR_SPLINE) {
        npksdi_score_spline(model, w, f, i, s);
    } else if (f->kind_ == NPKSD_ESTIMATOR_GAUSS) {
        NPKSDI_EACH_LANE (l)
            s[l] = theta[0] + theta[1] * x[l];
        npksdi_product(s, NPKSDI_T, 1, theta + 2, 0, 1, w->t_, NPKSDI_T, model->d_, 1);
    } else {
        npksdi_features(model, w, f, i);
        npksdi_product(s, NPKSDI_T, 1, theta, 0, 1, w->phi_, NPKSDI_T, f->features_, 0);
    }
}

/* The caller's own score, in scaled units. */
static npksd_status npksdi_score_callback(const npksdi_model *model, npksdi_scratch *w,
                                          const npksd_real *weights)
{
    const npksd_options *o = &model->options_;
    size_t m = model->m_, count = w->panel_count_;
    NPKSDI_REFUSE(o->score_fn(w->panel_rows_, count, m, w->callback_, o->score_user_data) != 0,
                  NPKSD_ERROR_GENERATOR);
    NPKSDI_REFUSE(!npksdi_finite(w->callback_, count * m), NPKSD_ERROR_NONFINITE);
    for (size_t j = 0; j < m; j++) {
        npksd_real scale = model->scale_[j];
        npksd_real most = npksdi_min(NPKSDI_LARGEST, NPKSDI_UNSCALED_CLAMP / scale);
        NPKSDI_EACH_LANE (l)
            w->scores_[j * NPKSDI_T + l] = l < count && weights[j] > 0
                ? npksdi_clamp(w->callback_[l * m + j], most) * scale
                : 0;
    }
    return NPKSD_OK;
}

/* Scores of the panel in z_, in scaled units, m x NPKSDI_T; 0 without a row or a weight. */
static npksd_status npksdi_score_panel(const npksdi_model *model, npksdi_scratch *w,
                                       const npksd_real *weights)
{
    size_t m = model->m_, p = model->features_max_, count = w->panel_count_;
    if (model->options_.estimator == NPKSD_ESTIMATOR_CALLBACK)
        return npksdi_score_callback(model, w, weights);
    for (size_t i = 0, run = 1; i < m; i += run, run = 1) {
        npksd_real *s = w->scores_ + i * NPKSDI_T;
        uint32_t family = model->family_of_[i];
        if (!(weights[i] > 0) || family == NPKSDI_CONSTANT) {
            NPKSDI_EACH_LANE (l)
                s[l] = weights[i] > 0 ? -w->z_[(1 + i) * NPKSDI_T + l] : 0;
        } else if (model->family_[family].shared_) { /* same family in a row: one product */
            while (i + run < m && model->family_of_[i + run] == family && weights[i + run] > 0)
                run++;
            npksdi_product(s, NPKSDI_T, run, model->theta_ + i * p, p, 1, w->z_, NPKSDI_T,
                           model->family_[family].features_, 0);
        } else {
            npksdi_score_coordinate(model, w, i);
        }
    }
    for (size_t i = 0; i < m && count < NPKSDI_T; i++)
        NPKSD_MEMSET(w->scores_ + i * NPKSDI_T + count, 0, (NPKSDI_T - count) * sizeof *weights);
    return npksdi_summary_status(w);
}

/* ======== >>columns: weights, and what the Stein kernel is made of ======== */

/* Draw B > 0 coordinates: w_i = k_i / B. */
static void npksdi_draw_weights(const npksdi_model *model, npksdi_scratch *w, npksd_real *weights)
{
    size_t m = model->m_, B = model->options_.resample;
    NPKSD_MEMSET(weights, 0, m * sizeof *weights);
    for (size_t i = 0; i < m; i++)
        w->picks_[i] = (uint32_t)i;
    for (size_t j = 0; j < B; j++) {
        size_t first = model->options_.resample_distinct ? j : 0;
        size_t k = first + npksdi_below(&w->rng_, m - first);
        weights[w->picks_[k]] += 1;
        if (model->options_.resample_distinct)
            w->picks_[k] = w->picks_[j];
    }
    for (size_t i = 0; i < m; i++)
        weights[i] /= (npksd_real)B;
}

/* Which columns a data set has: VECTOR the coordinates with w_i > 0, SCALAR a single one. */
static void npksdi_count_columns(const npksdi_model *model, npksdi_scratch *w)
{
    int scalar = model->options_.form == NPKSD_FORM_SCALAR;
    w->columns_ = 0;
    w->weight_sum_ = 0;
    w->equal_ = !scalar;
    for (size_t i = 0; i < model->m_; i++) {
        npksd_real weight = w->weights_[i];
        if (weight > 0)
            w->picks_[w->columns_++] = (uint32_t)i;
        w->weight_sum_ += weight * weight;
        w->equal_ &= !(weight > w->weights_[0]) && !(weight < w->weights_[0]);
    }
    w->columns_ = scalar ? 1 : w->columns_;
}

/* A pair of rows needs, with the weighted columns S = w sigma s and X = w x / sigma,
       A = S.S',  C = cross + cross' - (S.X' + X.S'),  D = spread + spread' - 2 X.X',
   which are sum w^2 s_i s_i', sum w^2 d_i (s_i - s_i') and sum w^2 d_i^2, in units in which the
   base bandwidth is 1, so that no unit of the data makes sums cancel (SCALAR: S and X are single
   columns, the sums over coordinates). Three products of a matrix with itself give them all: S.S',
   X.X' and P.P' of P = S + X, as S.X' + X.S' = P.P' - S.S' - X.X'. X itself is kept for unequal
   weights only; otherwise the rows serve, times 1/m. */
NPKSDI_HOT void npksdi_columns_panel(const npksdi_model *model, npksdi_scratch *w, size_t panel,
                                     const npksd_real *x, const npksd_real *s)
{
    size_t first = panel * NPKSDI_T, k = w->columns_, at = 0, bytes = k * NPKSDI_T * sizeof *s;
    npksd_real *NPKSDI_RESTRICT S = w->s_ + first * k, *NPKSDI_RESTRICT P = w->p_ + first * k;
    npksd_real *NPKSDI_RESTRICT X = w->wx_ + (w->equal_ ? 0 : first * k);
    NPKSD_MEMSET(S, 0, bytes);
    NPKSD_MEMSET(X, 0, bytes);
    for (size_t i = 0; i < model->m_; i++) {
        npksd_real weight = w->weights_[i];
        if (!(weight > 0))
            continue;
        NPKSDI_EACH_LANE (l) {
            S[at + l] += weight * s[i * NPKSDI_T + l];
            X[at + l] += weight * x[i * NPKSDI_T + l];
        }
        at += model->options_.form == NPKSD_FORM_VECTOR ? NPKSDI_T : 0;
    }
    for (size_t l = 0; l < k * NPKSDI_T; l++)
        P[l] = S[l] + X[l];
    npksdi_dots(w->norm_ + first, x, x, model->m_);
    npksdi_dots(w->cross_ + first, S, X, k);
    npksdi_dots(w->spread_ + first, X, X, k);
    npksdi_dots(w->own_ + first, S, S, k);
}

static size_t npksdi_panel_rows(const npksdi_model *model, size_t panel)
{
    return npksdi_min_size(NPKSDI_T, model->n_ - panel * NPKSDI_T);
}

/* A panel in units of the bandwidth: x / sigma from scaled values, or sigma s from scores. */
static void npksdi_to_bandwidth(const npksdi_model *model, const npksd_real *from, npksd_real *to,
                                int scores)
{
    for (size_t j = 0; j < model->m_; j++, from += NPKSDI_T, to += NPKSDI_T) {
        npksd_real unit = npksdi_unit_of(model, j), sigma = model->bandwidth_;
        npksd_real by = npksdi_min(scores ? sigma / unit : unit / sigma, NPKSDI_HUGE);
        NPKSDI_EACH_LANE (l)
            to[l] = from[l] * by;
        npksdi_limit(to, NPKSDI_T, -NPKSDI_UNSCALED_CLAMP, NPKSDI_UNSCALED_CLAMP);
    }
}

/* ======== >>tiles: pairs of rows, NPKSDI_G rows against a panel ======== */

/* k at one bandwidth sigma^2 = scale, r = |x - y|^2: Gauss k0 = k1 = k2 = h = exp(-r / 2 sigma^2);
   IMQ with q = 1/sqrt(1 + r/sigma^2): k0 = q, k1 = -2 sigma^2 h' = q^3, k2 = 4 sigma^4 h'' = 3 q^5:
       u = k0 A + k1 (C + sum w^2) / sigma^2 - k2 D / sigma^4.
   A Gaussian kernel is made from the one before it in the list, see npksdi_kernel. */
NPKSDI_HOT void npksdi_kernel_tile(const npksdi_model *model, npksdi_tile *t, size_t c)
{
    npksd_real inverse = 1 / model->kernel_[c].scale_, least = model->kernel_[c].floor_;
    int left = model->kernel_[c].squarings_;
    t->k0_ = t->k1_ = t->k2_ = t->masked_ ? t->kernel_ : t->chain_;
    if (model->options_.kernel == NPKSD_KERNEL_IMQ) {
        t->k0_ = t->kernel_, t->k1_ = t->k0_ + NPKSDI_TILE, t->k2_ = t->k1_ + NPKSDI_TILE;
        for (size_t i = 0; i < NPKSDI_TILE; i++) {
            npksd_real q = 1 / NPKSD_SQRT(1 + t->r_[i] * inverse), q3 = q * q * q;
            npksd_real counts = t->masked_ ? t->mask_[i] : 1;
            t->kernel_[i] = counts * q;
            t->kernel_[NPKSDI_TILE + i] = counts * q3;
            t->kernel_[2 * NPKSDI_TILE + i] = counts * 3 * q3 * q * q;
        }
        return;
    }
    if (left < 0)
        npksdi_exp_all(t->chain_, t->r_, NPKSDI_C(-0.5) * inverse, NPKSDI_TILE);
    for (size_t i = 0; i < NPKSDI_TILE && left > 0; i++)
        t->chain_[i] = npksdi_max(least, t->chain_[i]);
    for (; left > 0; left--)
        for (size_t i = 0; i < NPKSDI_TILE; i++)
            t->chain_[i] *= t->chain_[i];
    for (size_t i = 0; i < NPKSDI_TILE && t->masked_; i++)
        t->kernel_[i] = t->chain_[i] * t->mask_[i];
}

/* out = factor v + a + b of pairs, four rows a loop: else compilers would vectorise over rows. */
NPKSDI_INLINE void npksdi_add_ends(npksd_real *out, const npksd_real *v, npksd_real factor,
                                   const npksd_real *ends_a,
                                   const npksd_real *NPKSDI_RESTRICT ends_b)
{
    const size_t T = NPKSDI_T;
    for (size_t a = 0; a < NPKSDI_G; a += 4, out += 4 * T, v += 4 * T) {
        npksd_real a0 = ends_a[a], a1 = ends_a[a + 1], a2 = ends_a[a + 2], a3 = ends_a[a + 3];
        for (size_t l = 0; l < T; l++) {
            out[l] = (a0 + ends_b[l]) + factor * v[l];
            out[T + l] = (a1 + ends_b[l]) + factor * v[T + l];
            out[2 * T + l] = (a2 + ends_b[l]) + factor * v[2 * T + l];
            out[3 * T + l] = (a3 + ends_b[l]) + factor * v[3 * T + l];
        }
    }
}

/* G, A, C, D and r = |x_a|^2 + |x_b|^2 - 2 x_a.x_b of rows of a panel, against a panel. */
NPKSDI_HOT void npksdi_pair_tile(const npksdi_model *model, const npksdi_scratch *w, npksdi_tile *t)
{
    size_t m = model->m_, k = w->columns_, row = t->row_, in = row % NPKSDI_T;
    size_t ours = row - in, theirs = t->column_;
    npksd_real share = w->weight_sum_ / (npksd_real)m; /* w^2, if all weights are equal */
    npksdi_panel_product(t->G_, NPKSDI_G, w->x_ + ours * m + in, w->x_ + theirs * m, m);
    npksdi_panel_product(t->A_, NPKSDI_G, w->s_ + ours * k + in, w->s_ + theirs * k, k);
    npksdi_panel_product(t->C_, NPKSDI_G, w->p_ + ours * k + in, w->p_ + theirs * k, k);
    if (!w->equal_)
        npksdi_panel_product(t->D_, NPKSDI_G, w->wx_ + ours * k + in, w->wx_ + theirs * k, k);
    for (size_t i = 0; i < NPKSDI_TILE && w->equal_; i++)
        t->D_[i] = share * t->G_[i];
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        t->C_[i] = t->C_[i] - t->A_[i] - t->D_[i];
    npksdi_add_ends(t->C_, t->C_, -1, w->cross_ + row, w->cross_ + theirs);
    npksdi_add_ends(t->D_, t->D_, -2, w->spread_ + row, w->spread_ + theirs);
    npksdi_add_ends(t->r_, t->G_, -2, w->norm_ + row, w->norm_ + theirs);
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        t->r_[i] = npksdi_max(0, t->r_[i]);
}

/* Weight of a pair: 1 if row a is real and b < a, else 0; times signs of the wild bootstrap. */
static void npksdi_pair_mask(const npksdi_model *model, const npksdi_scratch *w, npksdi_tile *t)
{
    int whole = t->column_ + NPKSDI_T <= t->row_ && t->row_ + NPKSDI_G <= model->n_;
    t->masked_ = !whole || w->with_signs_;
    for (size_t i = 0; i < NPKSDI_TILE && t->masked_; i++) {
        size_t a = t->row_ + i / NPKSDI_T, b = t->column_ + i % NPKSDI_T;
        npksd_real one = w->with_signs_ ? w->signs_[a] * w->signs_[b] : 1;
        t->mask_[i] = a < model->n_ && b < a ? one : 0;
    }
}

/* Sums over the rows of a tile, lane by lane: of v, and of u for scores times sign. */
NPKSDI_INLINE void npksdi_add_lanes(npksd_real *sum, const npksd_real *NPKSDI_RESTRICT v)
{
    const size_t T = NPKSDI_T;
    for (size_t a = 0; a < NPKSDI_G; a += 4, v += 4 * T)
        for (size_t l = 0; l < T; l++)
            sum[l] += (v[l] + v[T + l]) + (v[2 * T + l] + v[3 * T + l]);
}
NPKSDI_INLINE void npksdi_add_stein(npksd_real *NPKSDI_RESTRICT lanes,
                                    const npksdi_tile *NPKSDI_RESTRICT t, npksd_real c0,
                                    npksd_real c1, npksd_real c2, int imq)
{
    const npksd_real *k0 = t->k0_, *k1 = t->k1_, *k2 = t->k2_;
    for (size_t a = 0; a < NPKSDI_TILE; a += NPKSDI_T)
        NPKSDI_EACH_LANE (l) {
            size_t i = a + l;
            lanes[l] += imq
                ? k0[i] * t->A_[i] + k1[i] * (c1 * t->C_[i] + c0) - c2 * k2[i] * t->D_[i]
                : k0[i] * ((t->A_[i] - c2 * t->D_[i]) + (c1 * t->C_[i] + c0));
        }
}

/* Row sums of u at the base bandwidth: sum_b u(z_a, z_b), for both rows of each pair. */
static void npksdi_add_row_sums(npksdi_scratch *w, npksdi_tile *t)
{
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        t->u_[i] =
            t->k0_[i] * t->A_[i] + t->k1_[i] * (t->C_[i] + w->weight_sum_) - t->k2_[i] * t->D_[i];
    npksdi_add_lanes(w->row_sums_ + t->column_, t->u_);
    for (size_t a = 0; a < NPKSDI_G; a++)
        w->row_sums_[t->row_ + a] += npksdi_lane_sum(t->u_ + a * NPKSDI_T);
}

/* For v_i: each coordinate's share of u, k0 s s' + k1 (d (s - s') + 1) - k2 d^2, over this tile. */
NPKSDI_HOT void npksdi_coordinate_tile(const npksdi_model *model, npksdi_scratch *w, npksdi_tile *t)
{
    size_t m = model->m_, in = t->row_ % NPKSDI_T;
    for (size_t i = 0; i < m; i++) {
        size_t ours = (t->row_ - in) * m + i * NPKSDI_T + in;
        size_t theirs = t->column_ * m + i * NPKSDI_T;
        const npksd_real *NPKSDI_RESTRICT x = w->x_ + theirs;
        const npksd_real *NPKSDI_RESTRICT s = w->raw_s_ + theirs;
        npksd_real *NPKSDI_RESTRICT sum = w->coordinate_ + i * NPKSDI_T;
        for (size_t a = 0; a < NPKSDI_G && w->weights_[i] > 0; a++) {
            npksd_real xa = w->x_[ours + a], sa = w->raw_s_[ours + a];
            const npksd_real *k0 = t->k0_ + a * NPKSDI_T, *k1 = t->k1_ + a * NPKSDI_T;
            const npksd_real *k2 = t->k2_ + a * NPKSDI_T;
            NPKSDI_EACH_LANE (l) {
                npksd_real d = xa - x[l];
                sum[l] += k0[l] * sa * s[l] + k1[l] * (d * (sa - s[l]) + 1) - k2[l] * d * d;
            }
        }
    }
}

/* All sums over the tile. lanes_: for each kernel STEIN and MIRROR, then MOMENT. */
NPKSDI_HOT void npksdi_add_pairs(const npksdi_model *model, npksdi_scratch *w, npksdi_tile *t)
{
    npksd_real *lanes = w->lanes_, sigma2 = model->bandwidth_ * model->bandwidth_;
    int imq = model->options_.kernel == NPKSD_KERNEL_IMQ;
    npksdi_pair_mask(model, w, t);
    npksdi_pair_tile(model, w, t);
    for (size_t c = 0; c < model->kernel_count_; c++, lanes += 2 * NPKSDI_T) {
        int base = c == model->base_ && w->with_base_;
        unsigned wanted = model->kernel_[c].wanted_ | (base ? (unsigned)NPKSD_COMPONENT_STEIN : 0u);
        npksd_real scale = model->kernel_[c].scale_, c0 = w->weight_sum_ / scale, c1 = 1 / scale;
        npksd_real c2 = 1 / (scale * scale);
        if (wanted || !imq)
            npksdi_kernel_tile(model, t, c);
        for (int mirror = 0; mirror < 2; mirror++) {
            if (!(wanted & (mirror ? NPKSD_COMPONENT_MIRROR : NPKSD_COMPONENT_STEIN)))
                continue;
            if (imq)
                npksdi_add_stein(lanes + mirror * NPKSDI_T, t, c0, mirror ? -c1 : c1, c2, 1);
            else
                npksdi_add_stein(lanes + mirror * NPKSDI_T, t, c0, mirror ? -c1 : c1, c2, 0);
        }
        if (base && !w->with_signs_)
            npksdi_add_row_sums(w, t);
        if (base && model->options_.diagnose)
            npksdi_coordinate_tile(model, w, t);
    }
    if (model->options_.components & NPKSD_COMPONENT_MOMENT) {
        for (size_t i = 0; i < NPKSDI_TILE; i++)
            t->u_[i] = t->A_[i] * (1 + sigma2 * t->G_[i]);
        for (size_t i = 0; i < NPKSDI_TILE && t->masked_; i++)
            t->u_[i] *= t->mask_[i];
        npksdi_add_lanes(lanes, t->u_);
    }
}

/* Items: a row panel against up to NPKSDI_ITEM_PANELS panels q <= p, in lanes of their own. */
static void npksdi_pair_item(const npksdi_model *model, npksdi_scratch *w, size_t k)
{
    npksdi_tile *t = w->tile_;
    size_t p = 0, lanes = 2 * model->kernel_count_ + 1;
    for (; k > p / NPKSDI_ITEM_PANELS; p++)
        k -= p / NPKSDI_ITEM_PANELS + 1;
    size_t first = k * NPKSDI_ITEM_PANELS, end = npksdi_min_size(first + NPKSDI_ITEM_PANELS, p + 1);
    size_t row = p * NPKSDI_T, row_end = row + npksdi_panel_rows(model, p);
    NPKSD_MEMSET(w->lanes_, 0, lanes * NPKSDI_T * sizeof *w->lanes_);
    for (size_t q = first; q < end; q++) { /* all rows of p while q is in cache */
        t->column_ = q * NPKSDI_T;
        for (t->row_ = row; t->row_ < row_end; t->row_ += NPKSDI_G)
            npksdi_add_pairs(model, w, t);
    }
    for (size_t c = 0; c < lanes; c++)
        w->sums_[c] += npksdi_lane_sum(w->lanes_ + c * NPKSDI_T);
}

/* ---- from sums to numbers; all in units of the bandwidth, hence over sigma^2 ---- */

typedef struct npksdi_estimates {
    npksd_real v_, u_, mirror_; /* STEIN V and U, MIRROR V at one bandwidth */
} npksdi_estimates;

/* Sum of one number for each row. */
static npksd_real npksdi_total(const npksdi_model *model, const npksd_real *values)
{
    npksd_real sum = 0;
    for (size_t first = 0; first < model->panels_; first += 64) { /* in pieces, for float */
        npksd_real lanes[NPKSDI_T] = { 0 };
        size_t end = npksdi_min_size(first + 64, model->panels_);
        for (size_t a = first * NPKSDI_T; a < end * NPKSDI_T; a++)
            lanes[a % NPKSDI_T] += values[a];
        sum += npksdi_lane_sum(lanes);
    }
    return sum;
}

/* From sums over pairs of different rows. A row with itself: k0 = k1 = 1, for both kernels, C = D =
   0, u = |S|^2 + sum w^2 / scale. shares, unless NULL: V by coordinate, in VECTOR form. */
static npksdi_estimates npksdi_by_pairs(const npksdi_model *model, const npksdi_scratch *w,
                                        size_t c, npksd_real *shares)
{
    npksd_real n = (npksd_real)model->n_, stein = 2 * w->sums_[2 * c];
    npksd_real others = model->n_ > 1 ? n * (n - 1) : 1, mirror = 2 * w->sums_[2 * c + 1];
    npksd_real own = npksdi_total(model, w->own_) + n * w->weight_sum_ / model->kernel_[c].scale_;
    npksdi_estimates e = { (stein + own) / (n * n), stein / others, (mirror + own) / (n * n) };
    for (size_t i = 0; i < model->m_ && shares != NULL; i++) {
        npksd_real share = 0;
        for (size_t p = 0; p < model->panels_; p++) {
            const npksd_real *s = w->raw_s_ + (p * model->m_ + i) * NPKSDI_T;
            share += npksdi_dot(s, s, NPKSDI_T);
        }
        share += 2 * npksdi_lane_sum(w->coordinate_ + i * NPKSDI_T) + n;
        shares[i] = npksdi_square(w->weights_[i]) / (n * n) * share;
    }
    return e;
}

/* ======== >>frequencies: the Stein statistics in linear time ======== */

/* cos and, behind them, sin of count angles, stretched. */
NPKSDI_INLINE void npksdi_angles_to_phases(npksd_real *NPKSDI_RESTRICT cosine,
                                           const npksd_real *NPKSDI_RESTRICT angle,
                                           npksd_real stretch, size_t count)
{
    npksd_real *NPKSDI_RESTRICT sine = cosine + count;
    for (size_t i = 0; i < count; i++)
        sine[i] = stretch * angle[i];
    npksdi_limit(sine, count, -NPKSDI_ANGLE_MAX, NPKSDI_ANGLE_MAX);
    for (size_t i = 0; i < count; i++)
        npksdi_sincos(sine[i], sine + i, cosine + i);
}

/* phases_: cos and sin of omega.x / sqrt(scale) for panel p of rows and a panel of frequencies: for
   each kernel in use NPKSDI_T x NPKSDI_T cosines, then sines. */
NPKSDI_HOT void npksdi_phases(const npksdi_model *model, npksdi_scratch *w, size_t p, size_t panel)
{
    const size_t m = model->m_, square = NPKSDI_T * NPKSDI_T;
    npksd_real *angle = w->phases_ + 2 * square * model->kernel_count_;
    npksdi_panel_product(angle, NPKSDI_T, w->x_ + p * NPKSDI_T * m,
                         model->frequencies_ + panel * NPKSDI_T * m, m);
    for (size_t c = 0; c < model->kernel_count_; c++) {
        npksd_real stretch = model->kernel_[c].stretch_;
        if (model->kernel_[c].wanted_ || w->with_base_)
            npksdi_angles_to_phases(w->phases_ + 2 * square * c, angle, stretch, square);
    }
}

/* sum_a S_a x_aj for MOMENT, a panel of columns j at a time; behind the last column: sum_a S_a. */
static void npksdi_add_linear_moments(const npksdi_model *model, npksdi_scratch *w, size_t p)
{
    size_t m = model->m_, columns = w->columns_, count = npksdi_panel_rows(model, p);
    size_t padded = npksdi_padded(m + 1);
    const npksd_real *x = w->x_ + p * NPKSDI_T * m, *S = w->s_ + p * NPKSDI_T * columns;
    for (size_t l = 0; l < NPKSDI_T; l++)
        for (size_t j = 0; j < padded; j++)
            w->transposed_[l * padded + j] = j < m ? x[j * NPKSDI_T + l] : j == m ? NPKSDI_C(1) : 0;
    for (size_t j = 0; j < padded; j += NPKSDI_T)
        npksdi_product(w->moment_ + j * columns, NPKSDI_T, columns, S, NPKSDI_T, 1,
                       w->transposed_ + j, padded, count, 1);
}

/* Items over the frequencies: a row panel against up to NPKSDI_ITEM_FREQUENCIES panels of them.
   sums_ has, by kernel and panel, sum_a S_a cos and sum_a S_a sin by column, sum cos, sum sin. */
static void npksdi_frequency_item(const npksdi_model *model, npksdi_scratch *w, size_t k)
{
    size_t each = npksdi_ceil_div(model->frequency_panels_, NPKSDI_ITEM_FREQUENCIES);
    size_t p = k / each, first = k % each * NPKSDI_ITEM_FREQUENCIES, columns = w->columns_;
    size_t end = npksdi_min_size(first + NPKSDI_ITEM_FREQUENCIES, model->frequency_panels_);
    size_t count = npksdi_panel_rows(model, p), kernels = model->kernel_count_, T = NPKSDI_T;
    if (first == 0 && (model->options_.components & NPKSD_COMPONENT_MOMENT))
        npksdi_add_linear_moments(model, w, p);
    for (size_t panel = first; panel < end; panel++) {
        npksdi_phases(model, w, p, panel);
        for (size_t part = 0; part < 2 * kernels; part++) {          /* cosines, then sines */
            if (!model->kernel_[part / 2].wanted_ && !w->with_base_) /* nothing but the base */
                continue;
            size_t at = (part / 2 * model->frequency_panels_ + panel) * (2 * columns + 2);
            npksd_real *sums = w->sums_ + at * T, *plain = sums + (2 * columns + part % 2) * T;
            const npksd_real *phases = w->phases_ + part * T * T;
            npksdi_product(sums + part % 2 * columns * T, T, columns, w->s_ + p * T * columns, T, 1,
                           phases, T, count, 1);
            for (size_t a = 0; a < count; a++)
                npksdi_add_scaled(plain, 1, phases + a * T);
        }
    }
}

/* sum_a (S_k + i omega_k) exp(i omega.z_a) of column k and frequency f: real and imaginary part of
   S, then of omega. Returns omega_k = w_i omega_i / sqrt(scale), in SCALAR form the sum over i. */
NPKSDI_INLINE npksd_real npksdi_column_sums(const npksdi_model *model, const npksdi_scratch *w,
                                            size_t c, size_t k, size_t f, npksd_real *parts)
{
    size_t panel = f / NPKSDI_T, l = f % NPKSDI_T, columns = w->columns_;
    int scalar = model->options_.form == NPKSD_FORM_SCALAR;
    const npksd_real *omegas = model->frequencies_ + panel * NPKSDI_T * model->m_ + l;
    size_t at = (c * model->frequency_panels_ + panel) * (2 * columns + 2);
    const npksd_real *sums = w->sums_ + at * NPKSDI_T + l;
    npksd_real omega = 0;
    for (size_t i = scalar ? 0 : w->picks_[k]; i < (scalar ? model->m_ : w->picks_[k] + 1); i++)
        omega += w->weights_[i] * omegas[i * NPKSDI_T];
    omega *= model->kernel_[c].stretch_;
    parts[0] = sums[k * NPKSDI_T];
    parts[1] = sums[(columns + k) * NPKSDI_T];
    parts[2] = -omega * sums[(2 * columns + 1) * NPKSDI_T];
    parts[3] = omega * sums[2 * columns * NPKSDI_T];
    return omega;
}

/* V = (1/F) sum_omega sum_k |(1/n) sum_a (S_k + i omega_k) exp(i omega.z_a)|^2 of a kernel, MIRROR
   with S reversed, and U without the features' own diagonal; shares as above. */
static npksdi_estimates npksdi_by_frequencies(const npksdi_model *model, const npksdi_scratch *w,
                                              size_t c, npksd_real *shares)
{
    npksdi_estimates e = { 0, 0, 0 };
    npksd_real n = (npksd_real)model->n_, F = (npksd_real)model->options_.features, omega2 = 0;
    if (shares != NULL)
        NPKSD_MEMSET(shares, 0, model->m_ * sizeof *shares);
    for (size_t k = 0; k < w->columns_; k++) {
        npksd_real sum = 0, mirrored = 0, square = 0, part[4];
        for (size_t f = 0; f < model->options_.features; f++) {
            npksd_real omega = npksdi_column_sums(model, w, c, k, f, part);
            for (size_t j = 0; j < 4; j++)
                part[j] /= n;
            sum += npksdi_square(part[0] + part[2]) + npksdi_square(part[1] + part[3]);
            mirrored += npksdi_square(part[0] - part[2]) + npksdi_square(part[1] - part[3]);
            square += omega * omega;
        }
        if (shares != NULL)
            shares[w->picks_[k]] = sum / F;
        e.v_ += sum / F;
        e.mirror_ += mirrored / F;
        omega2 += square / F;
    }
    e.u_ = (n * n * e.v_ - npksdi_total(model, w->own_) - n * omega2)
        / (model->n_ > 1 ? n * (n - 1) : 1);
    return e;
}

static npksdi_estimates npksdi_estimate(const npksdi_model *model, const npksdi_scratch *w,
                                        size_t c, npksd_real *shares)
{
    return model->options_.features > 0 ? npksdi_by_frequencies(model, w, c, shares)
                                        : npksdi_by_pairs(model, w, c, shares);
}

/* Row sums at the base bandwidth: u is Re sum_k (S + i omega)_a conj(S + i omega)_b
   e^(i omega (z_a - z_b)), whose sum over b is known from the sums of the evaluation. */
static void npksdi_frequency_row_sums(const npksdi_model *model, npksdi_scratch *w)
{
    size_t F = model->options_.features, base = model->base_, columns = w->columns_;
    const npksd_real *cosine = w->phases_ + 2 * base * NPKSDI_T * NPKSDI_T;
    const npksd_real *sine = cosine + NPKSDI_T * NPKSDI_T;
    for (size_t p = 0; p < model->panels_; p++)
        for (size_t f = 0; f < F; f++) {
            if (f % NPKSDI_T == 0)
                npksdi_phases(model, w, p, f / NPKSDI_T);
            for (size_t k = 0; k < columns; k++) {
                npksd_real part[4], omega = npksdi_column_sums(model, w, base, k, f, part);
                npksd_real re = part[0] + part[2], im = part[1] + part[3];
                const npksd_real *S = w->s_ + (p * columns + k) * NPKSDI_T;
                for (size_t a = 0; a < npksdi_panel_rows(model, p); a++) {
                    npksd_real c = cosine[a * NPKSDI_T + f % NPKSDI_T];
                    npksd_real s = sine[a * NPKSDI_T + f % NPKSDI_T];
                    w->row_sums_[p * NPKSDI_T + a] +=
                        ((S[a] * c - omega * s) * re + (S[a] * s + omega * c) * im) / (npksd_real)F;
                }
            }
        }
}

/* ======== >>moment: the kernel 1 + x.y ======== */

/* V = mean_ab A (1 + x.y) + 2 mean cross + sum w^2; U without a = b. x.y in units of the data; all
   divided by sigma^2 if that is large, so that its squares are numbers. */
static npksdi_estimates npksdi_moments(const npksdi_model *model, const npksdi_scratch *w)
{
    npksd_real n = (npksd_real)model->n_, diagonal = 0, quadratic = 0, part;
    npksd_real sigma2 = model->bandwidth_ * model->bandwidth_, unit = npksdi_max(1, sigma2);
    npksd_real linear = sigma2 * (2 * npksdi_total(model, w->cross_) / n + w->weight_sum_);
    for (size_t a = 0; a < model->n_;) { /* in pieces, for float */
        size_t end = npksdi_min_size(a + 1024, model->n_);
        for (part = 0; a < end; a++)
            part += w->own_[a] * (1 + sigma2 * w->norm_[a]);
        diagonal += part;
    }
    if (model->options_.features > 0) {
        size_t columns = w->columns_;
        for (size_t j = 0; j <= model->m_; j++)
            for (size_t k = 0; k < columns; k++) {
                npksd_real sum = w->moment_[(j / NPKSDI_T * columns + k) * NPKSDI_T + j % NPKSDI_T];
                quadratic += (j < model->m_ ? sigma2 : 1) * sum * sum;
            }
    } else {
        quadratic = 2 * w->sums_[2 * model->kernel_count_] + diagonal;
    }
    npksd_real others = model->n_ > 1 ? (quadratic - diagonal) / (n * (n - 1)) + linear : 0;
    npksdi_estimates e = { (quadratic / (n * n) + linear) / unit, others / unit, 0 };
    return e;
}

/* ======== >>waves: MMD by characteristic functions ======== */

/* Frequencies are sums and differences of neighbouring vectors in a ring. So a row needs only
   NPKSDI_T sines and cosines; the others are products:
       cos(a +- b) = cos a cos b -+ sin a sin b,   sin(a +- b) = sin a cos b +- cos a sin b.
   The bands have bandwidth^2 1/16 and 1/64 of the base's, chosen for power: frequencies are from
   N(0, 16 I) in units of the bandwidth, the ring, of which they add two, from N(0, 8 I); the second
   band doubles the angles. Sums: shift, band, cosine and sine of sum and difference, lanes. */
NPKSDI_HOT void npksdi_wave_panel(const npksdi_model *model, npksdi_scratch *w, const npksd_real *x)
{
    enum { T = NPKSDI_T, ROWS = 4 };
    npksd_real angle[ROWS * T], phases[2 * ROWS * T], c[2 * T], s[2 * T];
    for (size_t a = 0; a < w->panel_count_; a++) {
        if (a % ROWS == 0) {
            npksdi_panel_product(angle, ROWS, x + a, model->ring_, model->m_);
            npksdi_angles_to_phases(phases, angle, 1, ROWS * T);
        }
        for (size_t l = 0; l < T; l++) { /* the ring closes */
            c[l] = c[T + l] = phases[a % ROWS * T + l];
            s[l] = s[T + l] = phases[(ROWS + a % ROWS) * T + l];
        }
        for (size_t shift = 0; shift < NPKSDI_SHIFTS; shift++) {
            npksd_real *NPKSDI_RESTRICT sum = w->wave_sums_ + shift * 8 * T;
            const npksd_real *c2 = c + shift + 1, *s2 = s + shift + 1;
            for (size_t l = 0; l < T; l++) {
                npksd_real cc = c[l] * c2[l], ss = s[l] * s2[l];
                npksd_real sc = s[l] * c2[l], cs = c[l] * s2[l];
                npksd_real plus_c = cc - ss, plus_s = sc + cs;
                npksd_real minus_c = cc + ss, minus_s = sc - cs;
                sum[l] += plus_c;
                sum[T + l] += plus_s;
                sum[2 * T + l] += minus_c;
                sum[3 * T + l] += minus_s;
                sum[4 * T + l] += (plus_c - plus_s) * (plus_c + plus_s);
                sum[5 * T + l] += 2 * plus_c * plus_s;
                sum[6 * T + l] += (minus_c - minus_s) * (minus_c + minus_s);
                sum[7 * T + l] += 2 * minus_c * minus_s;
            }
        }
    }
}

/* Panel k of the frequencies; behind the last one, the ring of MMD. In units of the bandwidth. */
static void npksdi_draw_frequencies(npksdi_model *model, npksdi_scratch *w, size_t k)
{
    int ring = k == model->frequency_panels_;
    npksd_real *out = ring ? model->ring_ : model->frequencies_ + k * NPKSDI_T * model->m_;
    npksd_real factor = ring ? NPKSD_SQRT(NPKSDI_C(8)) : 1;
    npksdi_seek(w, ring ? NPKSDI_STREAM(NPKSDI_RING, 0) : NPKSDI_STREAM(NPKSDI_FREQUENCIES, k));
    for (size_t i = 0; i < NPKSDI_T * model->m_; i++)
        out[i] = factor * npksd_normal(&w->rng_);
}

/* The mean over the frequencies of a band of d^2, d = |mean e^(i omega.z) - the reference's|^2. */
static npksd_real npksdi_mmd(const npksdi_model *model, const npksdi_scratch *w, size_t band)
{
    npksd_real total = 0, n = (npksd_real)model->n_;
    for (size_t k = 0; k < NPKSDI_SHIFTS * 2; k++) {
        size_t at = ((k / 2 * 2 + band) * 4 + k % 2 * 2) * NPKSDI_T; /* sum, or difference */
        for (size_t l = at; l < at + NPKSDI_T; l++) {
            npksd_real re = w->wave_sums_[l] / n - model->waves_[l];
            npksd_real im = w->wave_sums_[NPKSDI_T + l] / n - model->waves_[NPKSDI_T + l];
            total += npksdi_square(re * re + im * im);
        }
    }
    return total / (NPKSDI_SHIFTS * 2 * NPKSDI_T);
}

/* ======== >>margins: single columns, and pairs of them, by their places among edges ======== */

/* Phi^-1((c + 1) / 258) for every code c: q(u) solves dq/du = sqrt(2 pi) exp(q^2 / 2), q(1/2) = 0;
   by Taylor in small steps: with d = h dq/du the next terms are q d^2/2, (2 q^2 + 1) d^3/6, ... */
static void npksdi_set_normal_scores(npksd_real *scores)
{
    const int steps = 64;
    npksd_real q = 0, h = 1 / (NPKSDI_C(258) * (npksd_real)steps);
    scores[NPKSDI_EDGES] = 0;
    for (size_t c = 1; c <= NPKSDI_EDGES; c++) {
        for (int k = 0; k < steps; k++) {
            npksd_real q2 = q * q;
            npksd_real d = h * NPKSDI_C(2.5066282746310002) * NPKSD_EXP(q2 * NPKSDI_C(0.5));
            q += d * (1 + d * (q / 2 + d * ((2 * q2 + 1) / 6 + d * q * (6 * q2 + 7) / 24)));
        }
        scores[NPKSDI_EDGES + c] = q;
        scores[NPKSDI_EDGES - c] = -q;
    }
}

/* The code of a value: edges below it plus edges not above it, 0 to 256; without branches. */
NPKSDI_HOT void npksdi_codes(const npksd_real *edges, const npksd_real *z, uint32_t *codes)
{
    size_t low[NPKSDI_T] = { 0 }, upto[NPKSDI_T] = { 0 };
    for (size_t step = NPKSDI_EDGES / 2; step > 0; step /= 2)
        NPKSDI_EACH_LANE (l) {
            low[l] += step * (edges[low[l] + step - 1] < z[l]);
            upto[l] += step * (edges[upto[l] + step - 1] <= z[l]);
        }
    NPKSDI_EACH_LANE (l)
        codes[l] = (uint32_t)(low[l] + upto[l] + (edges[low[l]] < z[l]) + (edges[upto[l]] <= z[l]));
}
static void npksdi_set_edge_codes(npksdi_model *model, size_t i)
{
    const npksd_real *edges = model->edges_ + i * NPKSDI_EDGES;
    for (size_t k = 0; k < NPKSDI_EDGES && model->has_margins_; k += NPKSDI_T)
        npksdi_codes(edges, edges + k, model->edge_codes_ + i * NPKSDI_EDGES + k);
}

/* The codes of a panel, its sums of z, and the products of normal scores. */
static void npksdi_margin_panel(const npksdi_model *model, npksdi_scratch *w, size_t panel)
{
    size_t m = model->m_, pairs = model->pair_columns_, padded = npksdi_padded(pairs);
    uint32_t *codes = w->codes_ + panel * m * NPKSDI_T;
    for (size_t i = 0; i < m; i++) {
        const npksd_real *z = w->z_ + (1 + i) * NPKSDI_T;
        npksdi_codes(model->edges_ + i * NPKSDI_EDGES, z, codes + i * NPKSDI_T);
        npksdi_add_scaled(w->z_sums_ + i * NPKSDI_T, 1, z); /* rows that are not there are 0 */
    }
    for (size_t l = 0; l < w->panel_count_; l++)
        for (size_t k = 0; k < padded; k++)
            w->transposed_[l * padded + k] =
                k < pairs ? model->normal_scores_[codes[model->paired_[k] * NPKSDI_T + l]] : 0;
    npksdi_add_moments(w->pair_sums_, pairs, w->transposed_, w->panel_count_);
}

/* From how many of a column's rows have code c, in counts[c + 1], to how many have a smaller one,
   in counts[c]. moments: means of the normal scores q, of q^2, and of q^4 - 6 q^2, which is large
   for heavy tails whatever the spread; and 1/deviation of q, 0 where it does not vary. */
static void npksdi_settle_counts(const npksdi_model *model, uint32_t *counts, npksd_real rows,
                                 npksd_real *moments)
{
    npksd_real lanes[3 * NPKSDI_T] = { 0 }, more[NPKSDI_T], both[NPKSDI_T];
    for (size_t first = 0; first < NPKSDI_EDGES; first += NPKSDI_T) { /* codes c and 256 - c */
        NPKSDI_EACH_LANE (l) {
            int low = (int)counts[first + l + 1], high = (int)counts[NPKSDI_CODES - first - l];
            more[l] = (npksd_real)(low - high);
            both[l] = (npksd_real)(low + high);
        }
        NPKSDI_EACH_LANE (l) {
            npksd_real q = model->normal_scores_[first + l], q2 = q * q;
            lanes[l] += more[l] * q;
            lanes[NPKSDI_T + l] += both[l] * q2;
            lanes[2 * NPKSDI_T + l] += both[l] * (q2 * (q2 - 6));
        }
    }
    for (size_t k = 0; k < 3; k++)
        moments[k] = npksdi_lane_sum(lanes + k * NPKSDI_T) / rows;
    npksd_real variance = moments[1] - moments[0] * moments[0];
    moments[3] = variance > 16 * NPKSDI_EPSILON * moments[1] ? 1 / NPKSD_SQRT(variance) : 0;
    for (size_t c = 1; c <= NPKSDI_CODES; c++)
        counts[c] += counts[c - 1];
}
static void npksdi_count_codes(const npksdi_model *model, const npksdi_scratch *w, size_t i,
                               npksd_real *moments)
{
    NPKSD_MEMSET(w->below_, 0, (NPKSDI_CODES + 1) * sizeof *w->below_);
    for (size_t a = 0; a < model->n_; a++)
        w->below_[w->codes_[(a / NPKSDI_T * model->m_ + i) * NPKSDI_T + a % NPKSDI_T] + 1]++;
    npksdi_settle_counts(model, w->below_, (npksd_real)model->n_, moments);
}

/* At the edges e of a column, with F_n(e) = (below + equal/2) / n of a data set and F(e) = (below +
   equal/2 + 1/2) / (R + 1) of the R reference rows, the Anderson-Darling distance is
       (n/128) sum_k (F_n - F)^2 / (F (1 - F)),
   and, to report, the largest of |P_n(x < e) - P(x < e)| and |P_n(x <= e) - P(x <= e)|. */
static npksd_real npksdi_distance(const npksdi_model *model, const npksdi_scratch *w, size_t i)
{
    const uint32_t *codes = model->edge_codes_ + i * NPKSDI_EDGES, *here = w->below_;
    const uint32_t *there = model->counts_ + i * (NPKSDI_CODES + 1);
    npksd_real n = (npksd_real)model->n_, part = NPKSDI_C(0.5) / n, lanes[NPKSDI_T] = { 0 };
    npksd_real share = NPKSDI_C(0.5) / (model->reference_rows_ + 1), ours[NPKSDI_T], F[NPKSDI_T];
    for (size_t k = 0; k < NPKSDI_EDGES; k += NPKSDI_T) {
        NPKSDI_EACH_LANE (l) { /* gather first, so that the rest vectorises */
            size_t c = codes[k + l];
            ours[l] = (npksd_real)(int)(here[c] + here[c + 1]);
            F[l] = (npksd_real)(int)(there[c] + there[c + 1] + 1);
        }
        NPKSDI_EACH_LANE (l) {
            npksd_real at = F[l] * share, apart = ours[l] * part - at;
            lanes[l] += apart * apart / npksdi_max(at * (1 - at), NPKSDI_EPSILON);
        }
    }
    return n / (npksd_real)NPKSDI_EDGES * npksdi_lane_sum(lanes);
}
static npksd_real npksdi_ks_distance(const npksdi_model *model, const npksdi_scratch *w, size_t i)
{
    const uint32_t *there = model->counts_ + i * (NPKSDI_CODES + 1);
    npksd_real largest = 0, n = (npksd_real)model->n_, R = model->reference_rows_;
    for (size_t k = 0; k < 2 * NPKSDI_EDGES; k++) {
        size_t c = model->edge_codes_[i * NPKSDI_EDGES + k / 2] + k % 2;
        npksd_real apart = (npksd_real)w->below_[c] / n - (npksd_real)there[c] / R;
        largest = npksdi_max(largest, npksdi_abs(apart));
    }
    return largest;
}

/* Cells, the intervals between every fourth edge and these edges themselves, see what a distance
   averages out: rounding, caps, a value too often. With o of n rows in a cell, e = n p expected,
       x = sum (o - e)^2 / (e + 1/2),  less its mean, by its deviation, if o were binomial. */
static npksd_real npksdi_cells(const npksdi_model *model, const npksdi_scratch *w, size_t i)
{
    const uint32_t *codes = model->edge_codes_ + i * NPKSDI_EDGES, *here = w->below_;
    const uint32_t *there = model->counts_ + i * (NPKSDI_CODES + 1);
    npksd_real n = (npksd_real)model->n_, share = 1 / model->reference_rows_;
    npksd_real lanes[2 * NPKSDI_T] = { 0 }, ours[NPKSDI_T], theirs[NPKSDI_T];
    for (size_t k = 0, at = 0; k < NPKSDI_EDGES / 2; k += NPKSDI_T) {
        for (size_t l = 0, end; l < NPKSDI_T; l++, at = end) {
            size_t edge = (k + l) / 2 * 4 + 4;
            end = edge < NPKSDI_EDGES ? codes[edge] + l % 2 : (size_t)NPKSDI_CODES;
            end = npksdi_max_size(at, end); /* equal edges: nothing is between them */
            ours[l] = (npksd_real)(int)(here[end] - here[at]);
            theirs[l] = (npksd_real)(int)(there[end] - there[at]);
        }
        NPKSDI_EACH_LANE (l) { /* e < 0: the counts of a forged blob */
            npksd_real p = theirs[l] * share, e = n * p, apart = ours[l] - e;
            npksd_real by = 1 / (npksdi_abs(e) + NPKSDI_C(0.5)), expected = e * (1 - p) * by;
            lanes[l] += apart * apart * by - expected;
            lanes[NPKSDI_T + l] += 2 * expected * expected;
        }
    }
    npksd_real variance = npksdi_lane_sum(lanes + NPKSDI_T) + NPKSDI_C(0.01);
    return npksdi_lane_sum(lanes) / NPKSD_SQRT(variance);
}

/* MARGIN's numbers: largest distance; sum of squared mean differences; change of spread: largest,
   sum, sum of squares; sum of the change of tails; largest of the cells. Also by column. */
static void npksdi_margins(const npksdi_model *model, npksdi_scratch *w, npksd_real *numbers,
                           npksd_real *columns)
{
    npksd_real n = (npksd_real)model->n_, moments[4];
    npksdi_clear(numbers, NPKSDI_MARGINS);
    for (size_t i = 0, m = model->m_; i < m; i++, columns++) {
        npksd_real shift = npksdi_lane_sum(w->z_sums_ + i * NPKSDI_T) / n - model->means_[i];
        npksdi_count_codes(model, w, i, moments);
        npksd_real cells = npksdi_cells(model, w, i), wider = moments[1] - model->squares_[i];
        w->score_mean_[i] = moments[0];
        w->score_inverse_[i] = moments[3];
        columns[0] = npksdi_distance(model, w, i);
        columns[m] = npksdi_abs(wider);
        columns[2 * m] = npksdi_abs(shift);
        columns[3 * m] = cells;
        numbers[0] = npksdi_max(numbers[0], columns[0]);
        numbers[1] += shift * shift;
        numbers[2] = npksdi_max(numbers[2], columns[m]);
        numbers[3] += wider;
        numbers[4] += wider * wider;
        numbers[5] += moments[2]; /* the pilot's mean is what it is compared with */
        numbers[6] = i > 0 ? npksdi_max(numbers[6], cells) : cells;
    }
}

/* Correlation of the normal scores of paired columns a > b, from sums of products over rows. */
static npksd_real npksdi_correlation(const npksdi_model *model, const npksdi_scratch *w,
                                     const npksd_real *sums, npksd_real rows, size_t a, size_t b)
{
    size_t i = model->paired_[a], j = model->paired_[b];
    npksd_real mean = npksdi_moment(sums, model->pair_columns_, a, b) / rows;
    mean -= w->score_mean_[i] * w->score_mean_[j];
    return npksdi_clamp(mean * w->score_inverse_[i] * w->score_inverse_[j], 1);
}
/* (r - expected)^2 / ((1 - expected^2) (1 - r expected)): close pairs vary little; rounding: 0. */
static npksd_real npksdi_pair_apart2(npksd_real r, npksd_real expected)
{
    npksd_real room = (1 - expected * expected) * (1 - r * expected), least = NPKSDI_CLOSEST;
    npksd_real apart2 = npksdi_square(r - expected) / npksdi_max(room, npksdi_square(least));
    npksd_real sure = 16 * apart2 / npksdi_square(NPKSDI_CHANGED) - 1; /* from 0 on: no jump */
    return apart2 * npksdi_max(0, npksdi_min(sure / 15, 1));
}
static npksd_real npksdi_largest_pair(const npksdi_model *model, const npksdi_scratch *w)
{
    npksd_real largest = 0, n = (npksd_real)model->n_;
    for (size_t a = 1; a < model->pair_columns_; a++)
        for (size_t b = 0; b < a; b++) {
            npksd_real r = npksdi_correlation(model, w, w->pair_sums_, n, a, b);
            npksd_real of = npksdi_moment(model->correlations_, model->pair_columns_, a, b);
            largest = npksdi_max(largest, npksdi_pair_apart2(r, of));
        }
    return NPKSD_SQRT(largest);
}

/* ======== >>evaluation: one data set, item by item, and the number it becomes ======== */

/* Overflow becomes a very large number, for replicates and observed rows alike: p stays exact. */
NPKSDI_APART void npksdi_tame(npksd_real *v, size_t count)
{
    for (size_t k = 0; k < count; k++)
        v[k] = npksdi_finite(v + k, 1) ? npksdi_clamp(v[k], NPKSDI_HUGE) : NPKSDI_HUGE;
}

/* Clear what is summed over rows without scores; and what the Stein statistics are made of. */
static void npksdi_clear_plain_sums(const npksdi_model *model, npksdi_scratch *w)
{
    size_t pairs = model->pair_columns_, columns = model->has_margins_ ? model->m_ : 0;
    npksdi_clear(w->z_sums_, columns * NPKSDI_T);
    npksdi_clear(w->pair_sums_, pairs * npksdi_padded(pairs));
    npksdi_clear(w->wave_sums_, model->has_waves_ ? NPKSDI_WAVES : 0);
}
static void npksdi_clear_stein_sums(const npksdi_model *model, npksdi_scratch *w)
{
    size_t kernels = model->kernel_count_, k = w->columns_;
    int linear = model->options_.features > 0;
    size_t waves = kernels * model->frequency_panels_ * (2 * k + 2) * NPKSDI_T;
    npksdi_clear(w->sums_, linear ? waves : 2 * kernels + 1);
    npksdi_clear(w->moment_, linear ? k * npksdi_padded(model->m_ + 1) : 0);
    npksdi_clear(w->row_sums_, w->with_signs_ ? 0 : model->panels_ * NPKSDI_T);
    npksdi_clear(w->coordinate_, model->options_.diagnose ? model->m_ * NPKSDI_T : 0);
}

/* Starts on the data set in the scratch. Index sets are redrawn from its stream, after the rows. */
static void npksdi_begin_evaluation(const npksdi_model *model, npksdi_scratch *w, int with_base)
{
    if (model->options_.resample > 0 && model->options_.resample_redraw)
        npksdi_draw_weights(model, w, w->weights_);
    else
        NPKSD_MEMCPY(w->weights_, model->weights_, model->m_ * sizeof *w->weights_);
    npksdi_count_columns(model, w);
    w->with_base_ = with_base || model->options_.diagnose;
    w->with_signs_ = 0;
    npksdi_clear_plain_sums(model, w);
    npksdi_clear_stein_sums(model, w);
}

/* What needs no scores of the panel in z_: x, codes, sums over rows and waves. */
static void npksdi_plain_panel(const npksdi_model *model, npksdi_scratch *w, size_t panel)
{
    npksd_real *x = w->x_ + panel * NPKSDI_T * model->m_;
    npksdi_to_bandwidth(model, w->z_ + NPKSDI_T, x, 0);
    if (model->has_margins_)
        npksdi_margin_panel(model, w, panel);
    if (model->has_waves_)
        npksdi_wave_panel(model, w, x);
}

/* Rows of one panel -> scaled panel, scores, columns, sums over rows. */
static npksd_status npksdi_prepare_panel(const npksdi_model *model, npksdi_scratch *w, size_t panel)
{
    size_t numbers = NPKSDI_T * model->m_, at = panel * numbers;
    npksd_real *s = w->scores_;
    npksdi_scale_panel(model, w, w->rows_ + at, npksdi_panel_rows(model, panel));
    NPKSDI_TRY(npksdi_score_panel(model, w, w->weights_));
    npksdi_plain_panel(model, w, panel);
    npksdi_to_bandwidth(model, s, s, 1);
    if (model->options_.diagnose)
        NPKSD_MEMCPY(w->raw_s_ + at, s, numbers * sizeof *s);
    npksdi_columns_panel(model, w, panel, w->x_ + at, s);
    return NPKSD_OK;
}

/* values_: numbers of the data set, then of its columns; scores in units of the bandwidth. */
static void npksdi_finish_evaluation(const npksdi_model *model, npksdi_scratch *w)
{
    npksdi_estimates e[NPKSD_SCALES_MAX + 1], moment = { 0, 0, 0 };
    npksd_real margins[NPKSDI_MARGINS];
    npksd_real *v = w->values_ + model->number_count_;
    for (size_t c = 0; c < model->kernel_count_; c++)
        if (model->kernel_[c].wanted_)
            e[c] = npksdi_estimate(model, w, c, NULL);
    if (model->options_.components & NPKSD_COMPONENT_MOMENT)
        moment = npksdi_moments(model, w);
    if (model->has_margins_)
        npksdi_margins(model, w, margins, v + model->m_);
    w->largest_pair_ = model->pair_columns_ > 0 ? npksdi_largest_pair(model, w) : 0;
    for (size_t l = 0; l < model->number_count_; l++) {
        const npksdi_number *number = model->number_ + l;
        size_t c = number->at_;
        npksd_real *value = w->values_ + l;
        switch (number->kind_) {
        case NPKSD_COMPONENT_STEIN: *value = number->u_ ? e[c].u_ : e[c].v_; break;
        case NPKSD_COMPONENT_MIRROR: *value = e[c].mirror_; break;
        case NPKSD_COMPONENT_MOMENT: *value = number->u_ ? moment.u_ : moment.v_; break;
        case NPKSD_COMPONENT_MMD: *value = npksdi_mmd(model, w, c); break;
        case NPKSD_COMPONENT_MARGIN: *value = margins[c]; break;
        default: *value = w->largest_pair_; break; /* NPKSD_COMPONENT_PAIR */
        }
    }
    if (model->options_.diagnose)
        npksdi_estimate(model, w, model->base_, v);
    npksdi_tame(w->values_, model->gauge_count_);
}

/* Items: the panels, the frequencies or pairs, the end. */
static size_t npksdi_evaluation_items(const npksdi_model *model)
{
    return model->panels_ + model->sum_items_ + 1;
}
static npksd_status npksdi_evaluation_item(const npksdi_model *model, npksdi_scratch *w, size_t k)
{
    if (k < model->panels_)
        return npksdi_prepare_panel(model, w, k);
    k -= model->panels_;
    unsigned scored = NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MIRROR | NPKSD_COMPONENT_MOMENT;
    if (k == model->sum_items_)
        npksdi_finish_evaluation(model, w);
    else if (!(model->options_.components & scored) && !w->with_base_)
        return NPKSD_OK; /* nobody asks for pairs */
    else if (model->options_.features > 0)
        npksdi_frequency_item(model, w, k);
    else
        npksdi_pair_item(model, w, k);
    return NPKSD_OK;
}

/* ---- combination: numbers made comparable, half-way to normal scores ---- */

/* Mean, sum of squared and sum of cubed deviations as values come (Welford, Pebay). */
static void npksdi_gauge_add(npksdi_model *model, size_t l, npksd_real value, size_t count)
{
    npksd_real n = (npksd_real)count, apart = value - model->gauge_mean_[l], part = apart / n;
    npksd_real square = apart * part * (n - 1);
    model->gauge_skew_[l] += square * part * (n - 2) - 3 * part * model->gauge_sd_[l];
    model->gauge_sd_[l] += square;
    model->gauge_mean_[l] += part;
}

/* Smallest deviation of a number, so that rounding gives a tie: r for what is linear in sums over
   rows, r^2 for sums of squares, r^4 for MMD; else the smallest whose square is a normal number. */
NPKSDI_APART npksd_real npksdi_rounding(const npksdi_model *model, size_t l)
{
    const npksd_real r = 4 * NPKSDI_EPSILON / NPKSDI_TIE, tiny = NPKSD_SQRT(NPKSDI_TINY);
    if (l >= model->number_count_) /* of a column: score, and others */
        return l >= model->number_count_ + model->m_ ? r : tiny;
    const npksdi_number *number = model->number_ + l;
    switch (number->kind_) {
    case NPKSD_COMPONENT_MMD: return r * r * r * r;
    case NPKSD_COMPONENT_MARGIN: /* two-sided: sums over columns, of fourth powers up to 50 */
        return number->two_sided_ ? 64 * r : number->at_ == 1 || number->at_ == 4 ? r * r : r;
    case NPKSD_COMPONENT_PAIR: return NPKSDI_C(1e-3); /* near copies blow rounding up */
    default: return tiny;
    }
}

/* Then deviation and skewness. Mere rounding must not be blown up into a rank. */
static void npksdi_gauge_end(npksdi_model *model, size_t l, size_t count)
{
    npksd_real n = (npksd_real)count, m2 = model->gauge_sd_[l] / n, m3 = model->gauge_skew_[l] / n;
    npksd_real sd = npksdi_min(NPKSD_SQRT(model->gauge_sd_[l] / (n - 1)), NPKSDI_HUGE);
    npksd_real least = NPKSDI_ROUNDING * npksdi_abs(model->gauge_mean_[l]);
    least = npksdi_max(least, npksdi_rounding(model, l));
    npksd_real cube = m2 * NPKSD_SQRT(m2), skew = m3 / npksdi_max(cube, NPKSDI_TINY);
    int steady = sd > least && cube > NPKSDI_TINY && npksdi_finite(&skew, 1);
    model->gauge_skew_[l] = steady ? npksdi_clamp(skew, NPKSDI_C(2.8)) : 0;
    model->gauge_sd_[l] = npksdi_max(sd, least);
}

/* z + h(z, g), z = (c - mean) / sd, h(z, g) = (6/g) ((1 + z g/2)^(1/3) - 1 + g^2/36), halved. */
static npksd_real npksdi_comparable(const npksdi_model *model, size_t l, npksd_real value)
{
    npksd_real g = model->gauge_skew_[l], apart = value - model->gauge_mean_[l];
    npksd_real z = npksdi_clamp(apart / model->gauge_sd_[l], NPKSDI_CLAMP), h = z;
    if (npksdi_abs(g) >= NPKSDI_SKEW_LEAST) {
        npksd_real base = npksdi_max(1 + z * g * NPKSDI_C(0.5), NPKSDI_C(1e-6));
        h = 6 / g * (NPKSD_EXP(NPKSD_LOG(base) / 3) - 1 + g * g / 36);
    }
    return NPKSDI_C(0.5) * (z + h);
}

/* A number in the units of the data. */
static npksd_real npksdi_in_units(const npksdi_model *model, unsigned kind, npksd_real value)
{
    npksd_real sigma2 = model->bandwidth_ * model->bandwidth_;
    value /= kind == NPKSD_COMPONENT_STEIN ? sigma2
        : kind == NPKSD_COMPONENT_MOMENT   ? npksdi_min(1, sigma2)
                                           : 1;
    npksdi_tame(&value, 1);
    return value;
}

/* T, the largest; a single one-sided number is used as it is. */
static npksd_real npksdi_combine(const npksdi_model *model, const npksd_real *v, unsigned *leading)
{
    npksd_real best = -NPKSDI_HUGE;
    *leading = model->number_[0].kind_;
    if (model->number_count_ == 1 && !model->number_[0].two_sided_)
        return npksdi_in_units(model, *leading, v[0]);
    for (size_t l = 0; l < model->number_count_; l++) {
        npksd_real value = npksdi_comparable(model, l, v[l]);
        value = model->number_[l].two_sided_ ? npksdi_abs(value) : value;
        if (value > best) {
            best = value;
            *leading = model->number_[l].kind_;
        }
    }
    return best;
}

/* The largest of what column i shows. Its share of the Stein statistic: not if the index set leaves
   it out; that of a constant column shows only the others' distances. */
static npksd_real npksdi_column_value(const npksdi_model *model, const npksdi_scratch *w, size_t i)
{
    size_t m = model->m_, l = model->number_count_ + i;
    npksd_real best = -NPKSDI_CLAMP;
    if (w->weights_[i] > 0 && !(model->has_margins_ && npksdi_is_constant(model, i)))
        best = npksdi_comparable(model, l, w->values_[l]);
    for (size_t k = 1; k < NPKSDI_COLUMN_NUMBERS && model->has_margins_; k++)
        best = npksdi_max(best, npksdi_comparable(model, l + k * m, w->values_[l + k * m]));
    return best;
}

/* Numbers kept of each replicate: T; to diagnose, one a column, their largest, the largest pair. */
static void npksdi_null_row(const npksdi_model *model, const npksdi_scratch *w, npksd_real *out)
{
    unsigned leading;
    npksd_real *most = out + 1 + model->m_;
    out[0] = npksdi_combine(model, w->values_, &leading);
    for (size_t i = 0; i < model->m_ && model->options_.diagnose; i++) {
        out[1 + i] = npksdi_column_value(model, w, i);
        most[0] = i > 0 ? npksdi_max(most[0], out[1 + i]) : out[1 + i];
        most[1] = w->largest_pair_;
    }
}

/* ======== >>calibration: p-value, threshold, interval ======== */

/* P(X >= a), X ~ Binomial(n, x), 0 < x < 1: outwards from the largest term until they vanish. */
static npksd_real npksdi_binomial_tail(size_t n, size_t a, npksd_real x)
{
    size_t mode = npksdi_min_size((size_t)(((npksd_real)n + 1) * x), n);
    npksd_real odds = x / (1 - x), sum[2] = { 0, 0 }, term = 1; /* below a, and from a on */
    for (size_t k = mode; k <= n && term > NPKSDI_EPSILON * NPKSDI_EPSILON; k++) {
        sum[k >= a] += term;
        term *= (npksd_real)(n - k) / (npksd_real)(k + 1) * odds;
    }
    term = 1;
    for (size_t k = mode; k > 0 && term > NPKSDI_EPSILON * NPKSDI_EPSILON; k--) {
        term *= (npksd_real)k / (npksd_real)(n - k + 1) / odds;
        sum[k - 1 >= a] += term;
    }
    return sum[1] / (sum[0] + sum[1]);
}

/* Quantile of Beta(a, b): the x for which P(X >= a) of a + b - 1 trials is the level. */
static npksd_real npksdi_beta_quantile(npksd_real level, size_t a, size_t b)
{
    npksd_real low = 0, high = 1, middle = NPKSDI_C(0.5);
    for (int k = 0; k < 60 && middle > low && middle < high; k++) {
        if (npksdi_binomial_tail(a + b - 1, a, middle) < level)
            low = middle;
        else
            high = middle;
        middle = NPKSDI_C(0.5) * (low + high);
    }
    return middle;
}

/* 95 % interval (Clopper and Pearson) for P(hit); own is 1, or 0 if stopped at a hit. */
static void npksdi_interval(size_t hits, size_t of, size_t own, npksd_real *low, npksd_real *high)
{
    size_t rest = of - hits;
    *low = hits > 0 ? npksdi_beta_quantile(NPKSDI_C(0.025), hits, rest + 1) : 0;
    *high = rest > 0 ? npksdi_beta_quantile(NPKSDI_C(0.975), hits + own, rest) : 1;
}

/* k / of, truly divided: -ffast-math would let p and threshold disagree in the last bit. */
NPKSDI_APART npksd_real npksdi_share(size_t k, size_t of)
{
    volatile npksd_real divisor = (npksd_real)of, quotient = (npksd_real)k / divisor;
    return quotient;
}

/* The largest k with k / of <= alpha. */
static size_t npksdi_largest_share(size_t of, npksd_real alpha)
{
    size_t k = npksdi_min_size((size_t)(alpha * (npksd_real)of) + 1, of);
    while (k > 0 && npksdi_share(k, of) > alpha)
        k--;
    return k;
}

/* Two data sets with the same rows in another order differ by rounding. A null value therefore
   counts as reaching tau if it does so when raised by this much, which depends on tau and on the
   null values as a whole, never on a single one: p can only become larger, and stays exact. */
static npksd_real npksdi_tolerance(const npksdi_model *model, npksd_real tau, size_t used)
{
    npksd_real size = npksdi_abs(tau);
    if (model->number_count_ > 1 || model->number_[0].two_sided_)
        return NPKSDI_TIE * npksdi_max(1, size);
    for (size_t r = 0; r < used; r++)
        model->raised_[r] = npksdi_abs(model->null_[r * model->width_]);
    if (used > 0)
        size = npksdi_max(size, npksdi_median(model->raised_, used));
    unsigned kind = model->number_[0].kind_; /* PAIR rounds as in npksdi_report_pairs */
    npksd_real least = kind == NPKSD_COMPONENT_PAIR ? NPKSDI_C(0.1) : npksdi_rounding(model, 0);
    return npksdi_max(NPKSDI_C(0.1) * NPKSDI_TIE * size,
                      npksdi_in_units(model, kind, NPKSDI_TIE * least));
}

/* How many of the first `used` values of a column reach tau, once raised; raised_ keeps them. */
static size_t npksdi_reached(const npksdi_model *model, size_t column, size_t used, npksd_real tau,
                             npksd_real tolerance)
{
    size_t reached = 0;
    for (size_t r = 0; r < used; r++)
        model->raised_[r] = model->null_[r * model->width_ + column] + tolerance;
    for (size_t r = 0; r < used; r++) /* as stored: a register may hold more digits */
        reached += model->raised_[r] >= tau;
    return reached;
}

/* p, threshold and interval of T among `used` null values. Stopped at the h-th that reaches it
   (own = 0): p = h/L, otherwise (own = 1): (1 + reached)/(used + 1). Both are exact, and reject =
   (p <= alpha) = (statistic > threshold): at most k - 1 values reach it. */
static void npksdi_verdict(const npksdi_model *model, size_t used, size_t own, npksd_real tolerance,
                           npksd_result *result)
{
    size_t reached = npksdi_reached(model, 0, used, result->statistic, tolerance);
    size_t k = npksdi_largest_share(used + own, model->options_.alpha) + 1 - own;
    result->replicates = used;
    result->threshold = npksdi_find(model->raised_, used, used - npksdi_min_size(k, used));
    result->p_value = npksdi_share(reached + own, used + own);
    npksdi_interval(reached, used, own, &result->p_low, &result->p_high);
    result->reject = result->p_value <= model->options_.alpha;
}

/* ======== >>tester: all the parts together ======== */

/* Memory of fit and replicates: which replicates are there; blocks of the pool in random order; a
   panel of features, row by row; fitted coordinates; do over 5 % of their values repeat? Kept rows,
   caller's units; moment matrices and gradients (before that, pair distances); least, largest, mean
   and mean square of each t; a factor and what is solved with it; a column, later rows that wait;
   for each coordinate the best J on held-out rows and which candidate (family x ridge) has it. */
#define NPKSDI_FIT_ARRAYS(X)                                                                       \
    X(uint32_t, filled_, model->options_.replicates, 1, LOCAL)                                     \
    X(uint32_t, order_, owner->pool_blocks_, 1, LOCAL)                                             \
    X(npksd_real, transposed_, npksdi_padded(p), NPKSDI_T, LOCAL)                                  \
    X(uint32_t, active_, m, 1, LOCAL)                                                              \
    X(uint32_t, tied_, m, 1, LOCAL)                                                                \
    X(npksd_real, kept_, owner->kept_rows_, m, LOCAL)                                              \
    X(npksd_real, sums_, sums, 1, LOCAL)                                                           \
    X(npksd_real, summary_stats_, npksdi_times(walk, m, d), 4, LOCAL)                              \
    X(npksd_real, factor_, p, p, LOCAL)                                                            \
    X(npksd_real, solution_, p, 1, LOCAL)                                                          \
    X(npksd_real, gradient_, p, 1, LOCAL)                                                          \
    X(npksd_real, column_, npksdi_max_size(3 * NPKSDI_T * m, owner->kept_rows_), 1, LOCAL)         \
    X(npksd_real, best_, m, 1, LOCAL)                                                              \
    X(uint32_t, choice_, m, 1, LOCAL)

typedef struct npksdi_fit {
    size_t kept_rows_, keep_sets_; /* H, and the generator calls that these rows come from */
    size_t sets_;                  /* data sets of the stream, whose rows are numbered on: */
    size_t fit_rows_;              /* scores are fitted to so many, the first ones, and */
    size_t held_from_, held_rows_; /* AUTO chooses by these; the others are for references only */
    int refers_;                   /* there are references, which take every row */
    size_t part_[3], rows_[3];     /* fitted, held out, others: of the set in work, and so far; */
    size_t waiting_[3];            /* rows that do not fill a panel yet */
    size_t splits_;                /* 2: with held-out rows (AUTO); 1: without */
    npksd_real ridge_[NPKSDI_RIDGES_MAX];
    size_t ridge_count_, coordinate_sums_, shared_sums_, active_count_, pool_blocks_;
    NPKSDI_FIT_ARRAYS(NPKSDI_DECLARE)
} npksdi_fit;

static void npksdi_fit_arrays(const npksdi_model *model, npksdi_fit *owner, npksdi_walk *walk)
{
    size_t m = model->m_, d = model->summary_ == NPKSD_SUMMARY_ALL ? 0 : model->d_;
    size_t B = model->options_.resample, p = model->features_max_;
    size_t fitted = B > 0 && !model->options_.resample_redraw ? npksdi_min_size(B, m) : m;
    size_t sums = npksdi_times(walk, fitted, owner->coordinate_sums_) + owner->shared_sums_;
    sums = npksdi_max_size(npksdi_times(walk, sums, owner->splits_), 8 * owner->kept_rows_);
    NPKSDI_FIT_ARRAYS(NPKSDI_VISIT)
}

/* Fixed samples: the observed rows, then the synthetic ones, in blocks. */
typedef struct npksdi_pool {
    const npksd_real *observed_, *synthetic_;
    size_t n_, rows_, m_, block_; /* rows of each; block_ divides both */
    size_t taken_;                /* rows that earlier data sets of the fit have taken */
    uint32_t *order_;             /* of the blocks, see npksdi_pool_sample */
} npksdi_pool;

/* Does the generator repeat itself without using its rng? */
typedef struct npksdi_watch {
    uint64_t hash_;
    size_t equal_; /* calls that drew no random word and returned the same rows */
} npksdi_watch;

/* The next item, and that of a pending check. */
typedef struct npksdi_schedule {
    size_t stage_, k_;
    size_t done_, total_;
    size_t check_k_, check_total_; /* total 0: no check is pending */
    npksd_status error_;
} npksdi_schedule;

struct npksd_tester {
    npksdi_model model_;
    npksdi_fit fit_;
    npksdi_schedule schedule_;
    npksdi_scratch scratch_;
    npksdi_watch watch_;
    npksdi_pool pool_; /* rows_ 0: there is a generator */
    npksd_sample_fn sample_fn_;
    void *user_data_;
    void *memory_; /* of create and load; NULL after init */
    size_t memory_bytes_;
    int loaded_, wild_done_;
    npksd_real out_of_range_, ksd2_; /* of the rows in check */
    size_t observed_index_;          /* stream of the observed rows' noise: 0, but in npksd_power */
};

/* All arrays of a tester, in one order. A loaded one has none of the fit. */
static void npksdi_tester_arrays(npksd_tester *t, npksdi_walk *walk)
{
    npksdi_model_arrays(&t->model_, walk);
    if (!t->loaded_)
        npksdi_fit_arrays(&t->model_, &t->fit_, walk);
    npksdi_scratch_arrays(&t->model_, &t->scratch_, walk);
}

/* The rest of the plan: how many data sets the fit draws, ridges, sizes of its sums. */
static void npksdi_plan_fit(npksd_tester *t)
{
    npksdi_model *model = &t->model_;
    const npksd_options *o = &model->options_;
    npksdi_fit *fit = &t->fit_;
    size_t n = model->n_, N = o->fit_rows, pool = t->pool_.n_ + t->pool_.rows_;
    int automatic = o->estimator == NPKSD_ESTIMATOR_AUTO;
    for (size_t k = 0; k < model->family_count_; k++) {
        npksdi_family *f = model->family_ + k;
        size_t *sums = f->shared_ ? &fit->shared_sums_ : &fit->coordinate_sums_, p = f->features_;
        f->sums_at_ = *sums;
        *sums += p < 65536 ? (npksdi_padded(p) + 1) * p : SIZE_MAX / 16;
    }
    fit->splits_ = automatic ? 2 : 1;
    fit->ridge_count_ = automatic && !(o->ridge > 0) ? 3 : 1;
    fit->ridge_[0] = o->ridge > 0               ? o->ridge
        : automatic                             ? NPKSDI_C(1e-6)
        : o->estimator == NPKSD_ESTIMATOR_GAUSS ? npksdi_max(NPKSDI_C(1e-8), 50 * NPKSDI_EPSILON)
                                                : NPKSDI_C(1e-4);
    fit->ridge_[1] = NPKSDI_C(1e-4);
    fit->ridge_[2] = NPKSDI_C(1e-2);
    fit->kept_rows_ = npksdi_kept_rows(o, model->m_);
    fit->keep_sets_ = npksdi_ceil_div(fit->kept_rows_, n);
    fit->refers_ = model->has_margins_ || model->has_waves_;
    if (pool > 0)
        N = npksdi_min_size(N, automatic ? pool - npksdi_max_size(1, pool / 5) : pool);
    fit->fit_rows_ = N;
    fit->held_from_ = pool > 0 ? N : npksdi_ceil_div(N, n) * n; /* from another data set */
    fit->held_rows_ = automatic ? npksdi_max_size(1, N / 4) : 0;
    fit->sets_ = npksdi_ceil_div(fit->held_from_ + fit->held_rows_, n);
    size_t few = npksdi_max_size(2, npksdi_min_size(10, npksdi_ceil_div(200000, n)));
    fit->sets_ = npksdi_max_size(fit->sets_, fit->refers_ ? few : 0);
    fit->sets_ = npksdi_min_size(fit->sets_, pool > 0 ? npksdi_ceil_div(pool, n) : SIZE_MAX);
}

/* ======== >>fit: draw, keep, scale ======== */

/* Draws one data set into the scratch. Refuses a non-zero return, NaN, infinity, and the same rows
   16 times without a word from the built-in rng (fewer may be chance); equal rows are legal. */
static npksd_status npksdi_draw(const npksd_tester *t, npksdi_scratch *w, npksdi_watch *watch,
                                uint64_t stream)
{
    size_t m = t->model_.m_, count = t->model_.n_ * m;
    npksdi_seek(w, stream);
    NPKSDI_REFUSE(t->sample_fn_(w->rows_, t->model_.n_, m, &w->rng_, w->user_data_) != 0,
                  NPKSD_ERROR_GENERATOR);
    NPKSDI_REFUSE(!npksdi_finite(w->rows_, count), NPKSD_ERROR_NONFINITE);
    if (w->rng_.user_data != &w->rng_state_ || w->rng_state_.index_ > 0)
        return NPKSD_OK;
    size_t bytes = count * sizeof *w->rows_, others = bytes - m * sizeof *w->rows_;
    uint64_t hash = npksdi_hash(w->rows_, bytes);
    int differ = npksdi_hash(w->rows_, others) != npksdi_hash(w->rows_ + m, others);
    watch->equal_ = watch->equal_ > 0 && hash == watch->hash_ ? watch->equal_ + 1 : 1;
    watch->hash_ = hash;
    return (differ || t->model_.n_ == 1) && watch->equal_ >= 16 ? NPKSD_ERROR_GENERATOR : NPKSD_OK;
}

/* The built-in generator of fixed samples: n rows (or as many blocks) of the pool, drawn without
   replacement. Under the null hypothesis observed and synthetic rows are exchangeable, so that
   whatever does not know who is who is allowed: the fit uses both, each data set those rows that
   the ones before have left (Fisher and Yates). */
static int npksdi_pool_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                              void *user_data)
{
    const npksdi_pool *pool = (const npksdi_pool *)user_data;
    size_t all = pool->n_ + pool->rows_, end = npksdi_min_size(pool->taken_ + count, all);
    size_t block = pool->block_, observed = pool->n_ / block;
    for (size_t k = pool->taken_ / block; k < end / block; k++, rows += block * m) {
        size_t other = k + npksdi_below(rng, all / block - k);
        uint32_t pick = pool->order_[other];
        pool->order_[other] = pool->order_[k];
        pool->order_[k] = pick;
        const npksd_real *from = pick < observed ? pool->observed_ + pick * block * m
                                                 : pool->synthetic_ + (pick - observed) * block * m;
        NPKSD_MEMCPY(rows, from, block * m * sizeof *rows);
    }
    return 0;
}

/* A data set of the fit; its rows, fewer than n at the end of a pool. */
static npksd_status npksdi_draw_fit(npksd_tester *t, size_t set)
{
    t->pool_.taken_ = set * t->model_.n_;
    npksd_status status = npksdi_draw(t, &t->scratch_, &t->watch_, NPKSDI_STREAM(NPKSDI_FIT, set));
    t->pool_.taken_ = 0;
    return status;
}
static size_t npksdi_set_rows(const npksd_tester *t, size_t set)
{
    size_t n = t->model_.n_, pool = t->pool_.n_ + t->pool_.rows_;
    return pool > 0 ? npksdi_min_size(n, pool - set * n) : n;
}

/* Stage: data sets whose rows are kept; of the last, which stays at hand, evenly spread ones. */
static npksd_status npksdi_keep_item(npksd_tester *t, size_t k)
{
    const npksd_real *rows = t->scratch_.rows_;
    size_t n = t->model_.n_, m = t->model_.m_, there = npksdi_set_rows(t, k);
    NPKSDI_TRY(npksdi_draw_fit(t, k));
    size_t count = npksdi_min_size(there, t->fit_.kept_rows_ - k * n);
    for (size_t j = 0; j < count; j++)
        NPKSD_MEMCPY(t->fit_.kept_ + (k * n + j) * m, rows + npksdi_spread_row(there, count, j) * m,
                     m * sizeof *rows);
    return NPKSD_OK;
}

/* Stage: box, centre and deviation of each column of the kept rows, by (x - least) / range, so that
   1e300, 1e-300 and a small spread far from 0 are ordinary; then constants and rulers. */
static void npksdi_scale_column(npksdi_model *model, const npksd_real *kept, size_t count, size_t j)
{
    size_t m = model->m_;
    npksd_real low = kept[j], high = low, mean = 0, square = 0;
    for (size_t a = 1; a < count; a++) {
        low = npksdi_min(low, kept[a * m + j]);
        high = npksdi_max(high, kept[a * m + j]);
    }
    model->box_low_[j] = low, model->box_high_[j] = high;
    model->centre_[j] = low;
    model->scale_[j] = 0; /* constant: its scale waits for the others' */
    if (!(high > low)) {
        model->flags_ |= NPKSD_FLAG_CONSTANT_COORDINATE;
        return;
    }
    volatile npksd_real share = NPKSDI_C(0.5), inner; /* or -ffast-math doubles a half too early */
    npksd_real half_low = low * share, half = npksdi_max(high * share - half_low, NPKSDI_TINY);
    for (size_t a = 0; a < count; a++)
        mean += (kept[a * m + j] * NPKSDI_C(0.5) - half_low) / half;
    mean /= (npksd_real)count;
    for (size_t a = 0; a < count; a++) {
        npksd_real apart = (kept[a * m + j] * NPKSDI_C(0.5) - half_low) / half - mean;
        square += apart * apart;
    }
    inner = half_low + half * mean;
    model->centre_[j] = 2 * inner;
    inner = half * NPKSD_SQRT(square / (npksd_real)count);
    model->scale_[j] = npksdi_max(2 * inner, NPKSDI_TINY);
}

/* Constant columns: any other value must be seen. standardize = 0: all have the same unit. */
static void npksdi_scale_constants(npksdi_model *model, npksd_real *positives)
{
    size_t positive = 0;
    for (size_t j = 0; j < model->m_; j++)
        if (model->scale_[j] > 0)
            positives[positive++] = model->scale_[j];
    int one_unit = positive > 0 && !model->options_.standardize;
    npksd_real middle = one_unit ? npksdi_find(positives, positive, positive / 2) : 0;
    for (size_t j = 0; j < model->m_; j++) {
        npksd_real least = npksdi_abs(model->centre_[j]);
        least *= positive > 0 ? NPKSDI_ROUNDING : NPKSDI_C(1e-6);
        least = one_unit ? NPKSDI_C(1e-3) * middle : least;
        if (!(model->scale_[j] > 0))
            model->scale_[j] = npksdi_max(least, NPKSDI_TINY);
        npksdi_set_ruler(model, j);
    }
}

/* Stage: noise for a column of the kept rows and the data set at hand. Scaled and sorted once, it
   gives range (POLY's tails), 1 % and 99 % points (SPLINE's knots), ties, edges of its margin. */
static void npksdi_range_item(npksd_tester *t, size_t j)
{
    npksdi_model *model = &t->model_;
    npksd_real *sorted = t->fit_.column_;
    size_t count = t->fit_.kept_rows_, cut = count / 100, repeats = 0;
    npksdi_seek(&t->scratch_, NPKSDI_STREAM(NPKSDI_KEPT_NOISE, j));
    npksdi_add_noise(model, &t->scratch_, t->fit_.kept_, count, j, j + 1);
    npksdi_add_noise(model, &t->scratch_, t->scratch_.rows_, model->n_, j, j + 1);
    for (size_t a = 0; a < count; a++)
        sorted[a] = npksdi_standard(model, t->fit_.kept_[a * model->m_ + j], j);
    npksdi_sort(sorted, count);
    for (size_t a = 1; a < count; a++)
        repeats += !(sorted[a] > sorted[a - 1]);
    cut = sorted[count - 1 - cut] > sorted[cut] ? cut : 0;
    npksd_real range = sorted[count - 1 - cut] - sorted[cut];
    model->x_low_[j] = sorted[0], model->x_high_[j] = sorted[count - 1];
    model->knot_low_[j] = sorted[cut];
    model->knot_inverse_[j] = 1 / npksdi_max(range, NPKSDI_KNOTS_LEAST);
    if ((npksd_real)repeats > NPKSDI_C(0.05) * (npksd_real)count && !npksdi_is_constant(model, j)) {
        model->flags_ |= NPKSD_FLAG_TIES;
        t->fit_.tied_[j] = 1;
    }
    for (size_t k = 0; k < NPKSDI_EDGES && model->has_margins_; k++)
        model->edges_[j * NPKSDI_EDGES + k] = sorted[(2 * k + 1) * count / (2 * NPKSDI_EDGES)];
    npksdi_set_edge_codes(model, j);
}

/* Stage: range, then mean and deviation, of each summary over the kept rows, in two passes. Sums
   are of (t - least) / range, in halves, so that a callback may use any unit. */
static size_t npksdi_summary_panels(const npksd_tester *t)
{
    const npksdi_model *model = &t->model_;
    int any = model->family_count_ > 0 && model->d_ > 0 && model->summary_ != NPKSD_SUMMARY_ALL;
    return any ? npksdi_ceil_div(t->fit_.kept_rows_, NPKSDI_T) : 0;
}
static void npksdi_summary_add(npksdi_model *model, npksd_real *stats, const npksd_real *v,
                               size_t count, size_t k, size_t H, int second)
{
    npksd_real half_low = stats[0] * NPKSDI_C(0.5), half = stats[1] * NPKSDI_C(0.5) - half_low;
    for (size_t l = 0; l < count && !second; l++) {
        stats[0] = npksdi_min(stats[0], v[l]);
        stats[1] = npksdi_max(stats[1], v[l]);
    }
    for (size_t l = 0; l < count && second; l++) {
        npksd_real share = (v[l] * NPKSDI_C(0.5) - half_low) / npksdi_max(half, NPKSDI_TINY);
        stats[2] += share / (npksd_real)H;
        stats[3] += share * share / (npksd_real)H;
    }
    npksd_real sd = NPKSD_SQRT(npksdi_max(0, stats[3] - stats[2] * stats[2]));
    int own = model->summary_ == NPKSD_SUMMARY_CALLBACK; /* or columns that cancel, to rounding */
    npksd_real least = own ? NPKSDI_TINY : NPKSDI_C(0.01) * NPKSDI_TIE;
    npksd_real scale = 2 * (half * sd), inverse = scale > least ? 1 / scale : 0;
    npksd_real centre = 2 * (half_low + half * stats[2]); /* all right with the last panel */
    model->summary_centre_[k] = npksdi_clamp(centre, NPKSDI_LARGEST);
    model->summary_inverse_[k] = npksdi_min(inverse, NPKSDI_HUGE);
    model->t_low_[k] = inverse > 0 ? -stats[2] / sd : 0;
    model->t_high_[k] = inverse > 0 ? (1 - stats[2]) / sd : 0;
}
static npksd_status npksdi_summary_item(npksd_tester *t, size_t item)
{
    npksdi_scratch *w = &t->scratch_;
    size_t d = t->model_.d_, H = t->fit_.kept_rows_, panels = npksdi_summary_panels(t);
    size_t first = item % panels * NPKSDI_T, count = npksdi_min_size(NPKSDI_T, H - first);
    const npksd_real *rows = t->fit_.kept_ + first * t->model_.m_;
    npksdi_scale_panel(&t->model_, w, rows, count);
    for (size_t slot = 0; slot < t->fit_.active_count_; slot++) {
        size_t i = t->fit_.active_[slot];
        npksdi_summary(&t->model_, w, i);
        for (size_t k = 0; k < d; k++) {
            npksd_real *stats = t->fit_.summary_stats_ + 4 * (i * d + k), *v = w->t_ + k * NPKSDI_T;
            if (item == 0)
                stats[0] = stats[1] = v[0];
            npksdi_summary_add(&t->model_, stats, v, count, i * d + k, H, item >= panels);
        }
    }
    return npksdi_summary_status(w);
}

/* Stage: RBF centres, (x, t) of evenly spaced kept rows; for summary ALL the whole scaled row. */
static npksd_status npksdi_centre_item(npksd_tester *t, size_t k)
{
    npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    size_t m = model->m_, d = model->d_, K = model->centre_count_;
    const npksd_real *row = t->fit_.kept_ + (2 * k + 1) * t->fit_.kept_rows_ / (2 * K) * m;
    const npksd_real *z = w->z_ + NPKSDI_T;
    int whole = model->summary_ == NPKSD_SUMMARY_ALL;
    npksdi_scale_panel(model, w, row, 1);
    for (size_t j = 0; j < m && whole; j++)
        model->centres_[k * m + j] = z[j * NPKSDI_T];
    for (size_t slot = 0; slot < t->fit_.active_count_ && !whole; slot++) {
        size_t i = t->fit_.active_[slot];
        npksd_real *centre = model->centres_ + (i * K + k) * (1 + d);
        npksdi_standard_summary(model, w, i);
        centre[0] = z[i * NPKSDI_T];
        for (size_t e = 0; e < d; e++)
            centre[1 + e] = w->t_[e * NPKSDI_T];
    }
    return npksdi_summary_status(w);
}

/* Stage: the bandwidth, the median distance of kept rows: each meets the rows at a few shifts. */
static size_t npksdi_shift_count(size_t rows) { return npksdi_min_size(8, rows / 2); }
static size_t npksdi_shift(size_t rows, size_t k) /* k from 1: round(k rows / 17) */
{
    return npksdi_max_size(k, (2 * k * rows + 17) / 34);
}
/* Median of squared distances, as a distance; 0: the mean, which may be 0 too. */
static npksd_real npksdi_median_of(npksd_real *squares, size_t count)
{
    for (size_t i = 0; i < count; i++)
        squares[i] = NPKSD_SQRT(squares[i]);
    npksd_real median = count > 0 ? npksdi_median(squares, count) : 0, mean = 0;
    if (!(median > 0)) /* the mean must not show the order of rows */
        npksdi_sort(squares, count);
    for (size_t i = 0; i < count; i++)
        mean += squares[i] / (npksd_real)count;
    return median > 0 ? median : mean;
}
static void npksdi_set_bandwidth(npksdi_model *model, npksd_real sigma)
{
    sigma = sigma > 0 ? sigma : 1; /* no two rows differ */
    model->bandwidth_ = /* within what an option may be, so that 1 / sigma^2 is a number */
        npksdi_max(1 / NPKSDI_UNSCALED_CLAMP, npksdi_min(NPKSDI_UNSCALED_CLAMP, sigma));
}
static void npksdi_bandwidth_item(npksd_tester *t, size_t k)
{
    npksdi_model *model = &t->model_;
    size_t H = t->fit_.kept_rows_, m = model->m_, shift = npksdi_shift(H, k + 1);
    if (k == npksdi_shift_count(H)) {
        npksdi_set_bandwidth(model, npksdi_median_of(t->fit_.sums_, k * H));
        return;
    }
    for (size_t a = 0; a < H; a++) {
        const npksd_real *x = t->fit_.kept_ + a * m, *y = t->fit_.kept_ + (a + shift) % H * m;
        npksd_real sum = 0;
        for (size_t j = 0; j < m; j++) {
            npksd_real apart = npksdi_standard(model, x[j], j) - npksdi_standard(model, y[j], j);
            apart = npksdi_clamp(apart * npksdi_unit_of(model, j), NPKSDI_UNSCALED_CLAMP);
            sum += apart * apart;
        }
        t->fit_.sums_[k * H + a] = sum;
    }
}

/* ======== >>sums: rows of the stream into moments and references ======== */

/* A = sum phi phi', then c = sum dphi/dx, for a slot or shared; fit (split 0) or held out (1). */
static npksd_real *npksdi_sums(const npksd_tester *t, const npksdi_family *f, size_t slot,
                               size_t split)
{
    const npksdi_fit *fit = &t->fit_;
    size_t per_split = fit->shared_sums_ + fit->active_count_ * fit->coordinate_sums_;
    size_t own = f->shared_ ? 0 : fit->shared_sums_ + slot * fit->coordinate_sums_;
    return fit->sums_ + split * per_split + own + f->sums_at_;
}

/* One row of splines times polynomials in t: only 4 x terms adjacent entries of phi are not 0. */
NPKSDI_INLINE void npksdi_add_spline_row(npksd_real *NPKSDI_RESTRICT A,
                                         npksd_real *NPKSDI_RESTRICT c, size_t padded,
                                         const npksd_real *spline, const npksd_real *t,
                                         size_t terms)
{
    npksd_real phi[4 * 10]; /* as many terms as degree 3 in two variables has */
    for (size_t k = 0; k < 4; k++)
        for (size_t r = 0; r < terms; r++) {
            phi[k * terms + r] = spline[k * NPKSDI_T] * t[r * NPKSDI_T];
            c[k * terms + r] += spline[(4 + k) * NPKSDI_T] * t[r * NPKSDI_T]; /* slopes */
        }
    for (size_t a = 0; a < 4 * terms; a++) /* whole fours up to the diagonal, and a bit beyond */
        for (size_t b = 0; b < a / 4 * 4 + 4; b++)
            A[a * padded + b] += phi[a] * phi[b];
}

NPKSDI_HOT void npksdi_add_splines(const npksdi_model *model, npksdi_scratch *w,
                                   const npksdi_family *f, size_t i, size_t count, npksd_real *A,
                                   npksd_real *c)
{
    size_t terms = f->t_terms_, padded = npksdi_padded(f->features_), cell[NPKSDI_T];
    const npksd_real *spline = w->work_, *t = npksdi_t_basis(model, w, i, f->degree_);
    npksdi_spline_basis(model, w, f, i, cell);
    for (size_t l = 0; l < count; l++) {
        size_t first = cell[l] * terms;
        npksd_real *block = A + first * padded + first;
        if (terms == 2) /* the usual case, with a size the compiler knows */
            npksdi_add_spline_row(block, c + first, padded, spline + l, t + l, 2);
        else
            npksdi_add_spline_row(block, c + first, padded, spline + l, t + l, terms);
    }
}

/* The panel in z_ into the sums of one coordinate's own features. */
static void npksdi_add_coordinate(npksd_tester *t, size_t count, size_t slot, size_t split)
{
    const npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    size_t i = t->fit_.active_[slot];
    int has_summary = 0;
    for (size_t k = 0; k < model->family_count_; k++) {
        const npksdi_family *f = model->family_ + k;
        if (f->shared_ || npksdi_is_constant(model, i))
            continue;
        if (!has_summary)
            npksdi_standard_summary(model, w, i);
        has_summary = 1;
        size_t p = f->features_;
        npksd_real *A = npksdi_sums(t, f, slot, split), *c = A + npksdi_padded(p) * p;
        if (f->kind_ == NPKSD_ESTIMATOR_SPLINE && model->d_ <= 2) {
            npksdi_add_splines(model, w, f, i, count, A, c);
            continue;
        }
        npksdi_features(model, w, f, i);
        npksdi_transpose(w->phi_, p, count, t->fit_.transposed_);
        npksdi_add_moments(A, p, t->fit_.transposed_, count);
        for (size_t a = 0; a < p; a++) {
            for (size_t l = count; l < NPKSDI_T; l++)
                w->slope_[a * NPKSDI_T + l] = 0;
            c[a] += npksdi_lane_sum(w->slope_ + a * NPKSDI_T);
        }
    }
}

/* What is summed over a data set into the references. */
static void npksdi_flush_reference(npksd_tester *t)
{
    npksdi_model *model = &t->model_;
    const npksdi_scratch *w = &t->scratch_;
    size_t pairs = model->pair_columns_ * npksdi_padded(model->pair_columns_);
    for (size_t i = 0; i < model->m_ && model->has_margins_; i++)
        model->means_[i] += npksdi_lane_sum(w->z_sums_ + i * NPKSDI_T);
    for (size_t k = 0; k < pairs; k++)
        model->correlations_[k] += w->pair_sums_[k];
    for (size_t k = 0; k < NPKSDI_WAVES && model->has_waves_; k++)
        model->waves_[k] += w->wave_sums_[k];
}

/* How many of the numbers from a to before a_end are also from b to before b_end. */
static size_t npksdi_overlap(size_t a, size_t a_end, size_t b, size_t b_end)
{
    size_t first = npksdi_max_size(a, b), end = npksdi_min_size(a_end, b_end);
    return end > first ? end - first : 0;
}

/* The next data set of the stream; rows for the scores, spread evenly over it, are put first. */
static npksd_status npksdi_take_set(npksd_tester *t, size_t set)
{
    npksdi_fit *fit = &t->fit_;
    npksdi_scratch *w = &t->scratch_;
    size_t n = t->model_.n_, m = t->model_.m_, there = npksdi_set_rows(t, set);
    size_t first = set * n, end = first + there, held = fit->held_from_;
    npksdi_clear_plain_sums(&t->model_, w);
    if (set >= fit->keep_sets_) {
        NPKSDI_TRY(npksdi_draw_fit(t, set));
        npksdi_add_noise(&t->model_, w, w->rows_, n, 0, m);
    }
    fit->part_[0] = npksdi_overlap(first, end, 0, fit->fit_rows_);
    fit->part_[1] = npksdi_overlap(first, end, held, held + fit->held_rows_);
    size_t scored = fit->part_[0] + fit->part_[1];
    fit->part_[2] = fit->refers_ ? there - scored : 0;
    for (size_t i = 0; i < scored * m && scored < there; i++) {
        size_t to = npksdi_spread_row(there, scored, i / m) * m + i % m;
        npksd_real value = w->rows_[i];
        w->rows_[i] = w->rows_[to];
        w->rows_[to] = value;
    }
    return NPKSD_OK;
}

/* The waiting rows of a part: fitted (0), held out (1), others (2); into moments and references. */
static npksd_status npksdi_stream_panel(npksd_tester *t, size_t part)
{
    const npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    size_t families = part < 2 ? model->family_count_ : 0, count = t->fit_.waiting_[part];
    npksdi_scale_panel(model, w, t->fit_.column_ + part * NPKSDI_T * model->m_, count);
    for (size_t slot = 0; slot < t->fit_.active_count_ && families > 0; slot++)
        npksdi_add_coordinate(t, count, slot, part);
    for (size_t k = 0; k < families; k++) {
        const npksdi_family *f = model->family_ + k;
        if (!f->shared_)
            continue;
        npksdi_transpose(w->z_, f->features_, count, t->fit_.transposed_);
        npksdi_add_moments(npksdi_sums(t, f, 0, part), f->features_, t->fit_.transposed_, count);
    }
    if (t->fit_.refers_)
        npksdi_plain_panel(model, w, 0);
    for (size_t i = 0; i < model->m_ && model->has_margins_; i++)
        for (size_t l = 0; l < count; l++)
            model->counts_[i * (NPKSDI_CODES + 1) + w->codes_[i * NPKSDI_T + l] + 1]++;
    t->fit_.rows_[part] += count;
    t->fit_.waiting_[part] = 0;
    return npksdi_summary_status(w);
}

/* Stage: a generator call, then its rows, NPKSDI_T an item, which wait for a panel to be full. */
static size_t npksdi_set_items(const npksd_tester *t) { return 1 + t->model_.panels_; }
static npksd_status npksdi_stream_item(npksd_tester *t, size_t k)
{
    npksdi_fit *fit = &t->fit_;
    size_t each = npksdi_set_items(t), set = k / each, n = t->model_.n_, m = t->model_.m_;
    int kept = set + 1 < fit->keep_sets_; /* the last is in the scratch */
    const npksd_real *rows = kept ? fit->kept_ + set * n * m : t->scratch_.rows_;
    if (k == 0) /* until now this held the distances */
        npksdi_clear(fit->sums_, 8 * fit->kept_rows_);
    if (k % each == 0)
        return npksdi_take_set(t, set);
    size_t a = (k % each - 1) * NPKSDI_T, scored = fit->part_[0] + fit->part_[1];
    size_t end = npksdi_min_size(a + NPKSDI_T, scored + fit->part_[2]);
    for (; a < end; a++) {
        size_t part = (size_t)(a >= fit->part_[0]) + (size_t)(a >= scored);
        size_t to = part * NPKSDI_T + fit->waiting_[part]++;
        NPKSD_MEMCPY(fit->column_ + to * m, rows + a * m, m * sizeof *rows);
        if (fit->waiting_[part] == NPKSDI_T)
            NPKSDI_TRY(npksdi_stream_panel(t, part));
    }
    for (size_t part = 0; part < 3 && k + 1 == fit->sets_ * each; part++)
        if (fit->waiting_[part] > 0)
            NPKSDI_TRY(npksdi_stream_panel(t, part));
    if (k % each + 1 == each)
        npksdi_flush_reference(t);
    return NPKSD_OK;
}

/* Stage: from sums to references, column by column; then correlations and waves. */
static void npksdi_refer_item(npksd_tester *t, size_t k)
{
    npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    npksd_real R = (npksd_real)(t->fit_.rows_[0] + t->fit_.rows_[1] + t->fit_.rows_[2]), moments[4];
    model->reference_rows_ = R;
    if (model->has_margins_ && k < model->m_) {
        npksdi_settle_counts(model, model->counts_ + k * (NPKSDI_CODES + 1), R, moments);
        model->means_[k] /= R;
        model->squares_[k] = moments[1];
        w->score_mean_[k] = moments[0], w->score_inverse_[k] = moments[3];
        return;
    }
    for (size_t a = 0, padded = npksdi_padded(model->pair_columns_); a < model->pair_columns_; a++)
        for (size_t b = 0; b < padded; b++)
            model->correlations_[a * padded + b] =
                b < a ? npksdi_correlation(model, w, model->correlations_, R, a, b) : 0;
    for (size_t l = 0; l < NPKSDI_WAVES && model->has_waves_; l++)
        model->waves_[l] /= R;
}

/* ======== >>solve: theta = -(A + ridge)^-1 c, and the choice of a family ======== */

/* The factor of the moments of the first `splits` splits, plus ridge times their mean diagonal. */
static int npksdi_factor(const npksd_tester *t, const npksdi_family *f, size_t slot,
                         npksd_real ridge, size_t splits)
{
    size_t p = f->features_;
    npksd_real *L = t->fit_.factor_, trace = 0;
    npksdi_clear(L, p * p);
    for (size_t split = 0; split < splits; split++) {
        const npksd_real *A = npksdi_sums(t, f, slot, split);
        for (size_t i = 0; i < p; i++)
            for (size_t k = 0; k <= i; k++)
                L[i * p + k] += npksdi_moment(A, p, i, k);
    }
    for (size_t i = 0; i < p; i++)
        trace += L[i * p + i];
    return npksdi_cholesky(L, p, ridge * trace / (npksd_real)p);
}

/* c of coordinate i (slot), over splits from first to before end. With shared features d phi / dx_i
   is 1 for x_i and, for a bump, -(x_i - c_i)/h^2 bump, whose sum is already in A. */
static void npksdi_gradient(const npksd_tester *t, const npksdi_family *f, size_t slot,
                            size_t first, size_t end, npksd_real *c)
{
    const npksdi_model *model = &t->model_;
    size_t p = f->features_, m = model->m_, i = t->fit_.active_[slot];
    npksdi_clear(c, p);
    for (size_t split = first; split < end; split++) {
        const npksd_real *A = npksdi_sums(t, f, slot, split), *centre = model->centres_ + i;
        for (size_t a = 0; a < p && !f->shared_; a++)
            c[a] += A[npksdi_padded(p) * p + a];
        for (size_t a = 1 + m; a < p && f->shared_; a++, centre += m)
            c[a] += 2 * model->bump_rate_
                * (*centre * npksdi_moment(A, p, a, 0) - npksdi_moment(A, p, a, 1 + i));
        if (f->shared_)
            c[1 + i] += (npksd_real)t->fit_.rows_[split];
    }
}

/* One candidate (family, ridge) for one coordinate, solved on the fit sums and judged on the
   held-out ones: J = theta' A theta / 2 + c' theta. A costlier family must lower J by 2 % of |J|.
   Ties without added noise: GAUSS only, as others would chase them. The first is the default. */
static void npksdi_judge(npksd_tester *t, const npksdi_family *f, size_t slot, size_t candidate)
{
    npksdi_fit *fit = &t->fit_;
    size_t p = f->features_, same = fit->choice_[slot] / NPKSDI_RIDGES_MAX;
    npksd_real *theta = fit->solution_, *c = fit->gradient_, quadratic = 0, linear = 0;
    const npksd_real *A = npksdi_sums(t, f, slot, 1);
    npksdi_gradient(t, f, slot, 0, 1, c);
    npksdi_cholesky_solve(fit->factor_, p, c, theta);
    npksdi_gradient(t, f, slot, 1, 2, c);
    for (size_t a = 0; a < p; a++) {
        npksd_real sum = NPKSDI_C(0.5) * npksdi_moment(A, p, a, a) * theta[a];
        for (size_t b = 0; b < a; b++)
            sum += npksdi_moment(A, p, a, b) * theta[b];
        quadratic += theta[a] * sum;
        linear += theta[a] * c[a];
    }
    npksd_real loss = (quadratic + linear) / (npksd_real)fit->rows_[1], best = fit->best_[slot];
    npksd_real margin = best < NPKSDI_HUGE && f != t->model_.family_ + same ? NPKSDI_C(0.02) : 0;
    int atoms = fit->tied_[fit->active_[slot]] && !(t->model_.options_.smooth > 0);
    npksdi_tame(&loss, 1);
    if (loss < best - margin * npksdi_abs(best) && (f->kind_ == NPKSD_ESTIMATOR_GAUSS || !atoms)) {
        fit->best_[slot] = loss;
        fit->choice_[slot] = (uint32_t)candidate;
    }
}

/* Stages: every candidate is judged (AUTO only); the chosen ones are solved once more on all sums
   together. An item is a matrix, of a family, a coordinate (all of them, if shared), a ridge. */
static size_t npksdi_family_items(const npksd_tester *t, const npksdi_family *f)
{
    return (f->shared_ ? 1 : t->fit_.active_count_) * t->fit_.ridge_count_;
}
static size_t npksdi_solve_count(const npksd_tester *t)
{
    size_t items = 0;
    for (size_t k = 0; k < t->model_.family_count_; k++)
        items += npksdi_family_items(t, t->model_.family_ + k);
    return items;
}
static npksd_status npksdi_matrix_item(npksd_tester *t, size_t k, int select)
{
    const npksdi_model *model = &t->model_;
    const npksdi_fit *fit = &t->fit_;
    const npksdi_family *f = model->family_;
    for (; k >= npksdi_family_items(t, f); f++)
        k -= npksdi_family_items(t, f);
    size_t family = (size_t)(f - model->family_), ridge = k % fit->ridge_count_;
    size_t candidate = family * NPKSDI_RIDGES_MAX + ridge, first = k / fit->ridge_count_;
    size_t end = f->shared_ ? fit->active_count_ : first + 1;
    int factored = 0;
    for (size_t slot = first; slot < end; slot++) {
        size_t i = fit->active_[slot];
        if (!select && (fit->choice_[slot] != candidate || npksdi_is_constant(model, i)))
            continue;
        if (!factored && !npksdi_factor(t, f, first, fit->ridge_[ridge], select ? 1 : fit->splits_))
            return select ? NPKSD_OK : NPKSD_ERROR_NUMERIC; /* another candidate may do */
        factored = 1;
        if (select) {
            npksdi_judge(t, f, slot, candidate);
            continue;
        }
        npksd_real *theta = model->theta_ + i * model->features_max_;
        npksdi_gradient(t, f, slot, 0, fit->splits_, fit->gradient_);
        npksdi_cholesky_solve(fit->factor_, f->features_, fit->gradient_, theta);
        model->family_of_[i] = (uint32_t)family;
    }
    return NPKSD_OK;
}

/* ======== >>schedule: stages, items, and the order of things ======== */

/* A data set of the pilot or the replicates: a generator call, then its evaluation. */
static size_t npksdi_data_set_items(const npksd_tester *t)
{
    return 1 + npksdi_evaluation_items(&t->model_);
}
static npksd_status npksdi_data_set_item(const npksd_tester *t, npksdi_scratch *w,
                                         npksdi_watch *watch, uint64_t stream, size_t k)
{
    if (k > 0)
        return npksdi_evaluation_item(&t->model_, w, k - 1);
    NPKSDI_TRY(npksdi_draw(t, w, watch, stream));
    npksdi_add_noise(&t->model_, w, w->rows_, t->model_.n_, 0, t->model_.m_);
    npksdi_begin_evaluation(&t->model_, w, 0);
    return NPKSD_OK;
}

/* Data set `set` is evaluated: a pilot goes into the gauges, a replicate into the null values. */
static void npksdi_record(npksd_tester *t, size_t set)
{
    npksdi_model *model = &t->model_;
    size_t pilot = npksdi_pilot_sets(model);
    for (size_t l = 0; l < model->gauge_count_ && set < pilot; l++) {
        npksdi_gauge_add(model, l, t->scratch_.values_[l], set + 1);
        if (set + 1 == pilot)
            npksdi_gauge_end(model, l, pilot);
    }
    if (set >= pilot) {
        npksdi_null_row(model, &t->scratch_, t->model_.null_ + (set - pilot) * t->model_.width_);
        t->fit_.filled_[set - pilot] = 1;
    }
}
static npksd_status npksdi_sample_item(npksd_tester *t, size_t k)
{
    size_t each = npksdi_data_set_items(t), set = k / each, pilot = npksdi_pilot_sets(&t->model_);
    uint64_t stream = set < pilot ? NPKSDI_STREAM(NPKSDI_PILOT, set)
                                  : NPKSDI_STREAM(NPKSDI_REPLICATE, set - pilot);
    npksd_status status = npksdi_data_set_item(t, &t->scratch_, &t->watch_, stream, k % each);
    if (status == NPKSD_OK && k % each + 1 == each)
        npksdi_record(t, set);
    return status;
}

/* Every stage knows its number of items in advance and does item k. A caller's score without
   reference needs no stream, one family no selection; the wild bootstrap draws nothing at all. */
#define NPKSDI_STAGES(X)                                                                           \
    X(KEEP, fit->keep_sets_, *status = npksdi_keep_item(t, k))                                     \
    X(SCALE, model->m_, npksdi_scale_column(&t->model_, t->fit_.kept_, t->fit_.kept_rows_, k))     \
    X(CONSTANTS, 1, npksdi_scale_constants(&t->model_, t->fit_.column_))                           \
    X(RANGE, model->m_, npksdi_range_item(t, k))                                                   \
    X(SUMMARY, 2 * npksdi_summary_panels(t), *status = npksdi_summary_item(t, k))                  \
    X(CENTRE, model->centre_count_, *status = npksdi_centre_item(t, k))                            \
    X(BANDWIDTH, model->options_.bandwidth > 0 ? 0 : npksdi_shift_count(fit->kept_rows_) + 1,      \
      npksdi_bandwidth_item(t, k))                                                                 \
    X(FREQUENCIES, model->frequency_panels_ + (size_t)model->has_waves_,                           \
      npksdi_draw_frequencies(&t->model_, &t->scratch_, k))                                        \
    X(STREAM, model->family_count_ > 0 || refers ? fit->sets_ * npksdi_set_items(t) : 0,           \
      *status = npksdi_stream_item(t, k))                                                          \
    X(SELECT, fit->splits_ > 1 ? npksdi_solve_count(t) : 0, *status = npksdi_matrix_item(t, k, 1)) \
    X(SOLVE, npksdi_solve_count(t), *status = npksdi_matrix_item(t, k, 0))                         \
    X(REFER, refers ? (model->has_margins_ ? model->m_ : 0) + 1 : 0, npksdi_refer_item(t, k))      \
    X(PILOT, wild ? 0 : pilot, *status = npksdi_sample_item(t, k))                                 \
    X(REPLICATES, wild ? 0 : each * model->replicates_, *status = npksdi_sample_item(t, pilot + k))

enum {
#define NPKSDI_ENUM(name, count, item) NPKSDI_STAGE_##name,
    NPKSDI_STAGES(NPKSDI_ENUM) NPKSDI_STAGE_DONE
#undef NPKSDI_ENUM
};

/* How many items has a stage? Given a status, item k is done as well. */
static size_t npksdi_stage(npksd_tester *t, size_t stage, size_t k, npksd_status *status)
{
    const npksdi_model *model = &t->model_;
    const npksdi_fit *fit = &t->fit_;
    size_t each = npksdi_data_set_items(t), pilot = npksdi_pilot_sets(model) * each;
    int refers = fit->refers_, wild = npksdi_wild(&model->options_);
    switch (stage) {
#define NPKSDI_CASE(name, count, item)                                                             \
    case NPKSDI_STAGE_##name:                                                                      \
        if (status != NULL)                                                                        \
            (item);                                                                                \
        return count;
        NPKSDI_STAGES(NPKSDI_CASE)
#undef NPKSDI_CASE
    default: return 0;
    }
}

/* On to the next item; replicates supplied by merge are skipped. */
static void npksdi_skip_done(npksd_tester *t)
{
    npksdi_schedule *s = &t->schedule_;
    size_t each = npksdi_data_set_items(t);
    for (; s->stage_ < NPKSDI_STAGE_DONE; s->stage_++, s->k_ = 0) {
        size_t count = npksdi_stage(t, s->stage_, 0, NULL);
        int replicates = s->stage_ == NPKSDI_STAGE_REPLICATES;
        while (replicates && s->k_ < count && t->fit_.filled_[s->k_ / each]) {
            size_t rest = each - s->k_ % each;
            s->done_ += rest;
            s->k_ += rest;
        }
        if (s->k_ < count)
            return;
    }
}

/* Items until the given stage is reached. An error stays. */
static npksd_status npksdi_advance(npksd_tester *t, size_t stage, size_t *items)
{
    npksdi_schedule *s = &t->schedule_;
    for (; *items > 0 && s->error_ == NPKSD_OK && s->stage_ < stage; --*items) {
        npksdi_stage(t, s->stage_, s->k_, &s->error_);
        s->k_++;
        s->done_++;
        npksdi_skip_done(t);
    }
    return s->error_ == NPKSD_OK && s->stage_ < stage ? NPKSD_MORE : s->error_;
}

static int npksdi_has_reached(const npksd_tester *t, size_t stage)
{
    return t->schedule_.error_ == NPKSD_OK && t->schedule_.stage_ >= stage;
}
static int npksdi_is_done(const npksd_tester *t)
{
    return npksdi_has_reached(t, NPKSDI_STAGE_DONE);
}

/* Is the tester's own scratch in use, by a data set or a check that is half done? */
static int npksdi_is_busy(const npksd_tester *t)
{
    const npksdi_schedule *s = &t->schedule_;
    int data_set = s->stage_ == NPKSDI_STAGE_PILOT || s->stage_ == NPKSDI_STAGE_REPLICATES;
    return s->check_total_ > 0 || (data_set && s->k_ % npksdi_data_set_items(t) > 0);
}

/* ======== >>check: one observed data set against the null ======== */

/* Wild bootstrap: a pass for each draw of signs, pilot first; the last takes rows as they are. */
static size_t npksdi_signed_passes(const npksdi_model *model)
{
    return npksdi_wild(&model->options_) ? npksdi_pilot_sets(model) + model->replicates_ : 0;
}
static void npksdi_draw_signs(const npksdi_model *model, npksdi_scratch *w, size_t pass)
{
    uint64_t word = 0;
    w->with_signs_ = pass < npksdi_signed_passes(model);
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_SIGNS, pass));
    for (size_t a = 0; a < model->panels_ * NPKSDI_T; a++) {
        if (a % 64 == 0)
            word = npksdi_word(&w->rng_);
        w->signs_[a] = (word >> (a % 64)) & 1 ? NPKSDI_C(1) : NPKSDI_C(-1);
    }
    npksdi_clear_stein_sums(model, w);
}

static npksd_status npksdi_check_item(npksd_tester *t, size_t k)
{
    npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    size_t panels = model->panels_, each = model->sum_items_ + 1;
    size_t pass = k < panels ? 0 : (k - panels) / each, signs = npksdi_signed_passes(model);
    k -= pass * each;
    if (k == panels && signs > 0)
        npksdi_draw_signs(model, w, pass);
    NPKSDI_TRY(npksdi_evaluation_item(model, w, k));
    int end = k + 1 == panels + each;
    if (end && pass < signs) {
        npksdi_record(t, pass);
    } else if (end) { /* the U-statistic at the base bandwidth */
        npksd_real u = model->n_ > 1 ? npksdi_estimate(model, w, model->base_, NULL).u_ : 0;
        t->ksd2_ = npksdi_in_units(model, NPKSD_COMPONENT_STEIN, u);
        t->wild_done_ = 1;
    }
    return NPKSD_OK;
}

/* Wild bootstrap: no fit sample; observed rows go into a safe range, which the operator undoes. */
static void npksdi_scale_observed(npksdi_model *model, const npksd_real *rows)
{
    unsigned flags = model->flags_; /* are about fit samples */
    for (size_t j = 0; j < model->m_; j++) {
        npksdi_scale_column(model, rows, model->n_, j);
        model->scale_[j] = model->scale_[j] > 0 ? model->scale_[j] : 1;
        npksdi_set_ruler(model, j);
    }
    model->flags_ = flags;
}

/* Share of rows with a number outside the box of the model. */
static npksd_real npksdi_outside(const npksdi_model *model, const npksd_real *rows)
{
    size_t m = model->m_, outside = 0;
    for (size_t a = 0; a < model->n_; a++, rows += m) {
        int out = 0;
        for (size_t j = 0; j < m; j++)
            out |= rows[j] < model->box_low_[j] || rows[j] > model->box_high_[j];
        outside += (size_t)out;
    }
    return npksdi_share(outside, model->n_);
}

/* The observed rows go through what a replicate goes through. The base kernel is summed as well. */
static npksd_status npksdi_observe(npksd_tester *t, const npksd_real *observed)
{
    npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    size_t count = model->n_ * model->m_;
    NPKSDI_REFUSE(!npksdi_finite(observed, count), NPKSD_ERROR_NONFINITE);
    t->schedule_.check_total_ = 0;
    t->wild_done_ = 0;
    if (t->sample_fn_ == NULL && !t->loaded_)
        npksdi_scale_observed(model, observed);
    t->out_of_range_ = npksdi_outside(model, observed);
    if (observed != w->rows_)
        NPKSD_MEMCPY(w->rows_, observed, count * sizeof *observed);
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_OBSERVED, t->observed_index_));
    npksdi_add_noise(model, w, w->rows_, model->n_, 0, model->m_);
    npksdi_begin_evaluation(model, w, 1);
    size_t passes = npksdi_signed_passes(model) + 1;
    for (size_t l = 0; l < model->gauge_count_ && passes > 1; l++)
        model->gauge_mean_[l] = model->gauge_sd_[l] = model->gauge_skew_[l] = 0;
    t->schedule_.check_k_ = 0;
    t->schedule_.check_total_ = model->panels_ + passes * (model->sum_items_ + 1);
    return NPKSD_OK;
}

static npksd_status npksdi_advance_check(npksd_tester *t, size_t *items)
{
    npksdi_schedule *s = &t->schedule_;
    for (; *items > 0 && s->check_k_ < s->check_total_; --*items) {
        size_t total = s->check_total_;
        s->check_total_ = 0; /* an error discards the check, and so does an exception */
        NPKSDI_TRY(npksdi_check_item(t, s->check_k_++));
        s->check_total_ = total;
    }
    return s->check_k_ < s->check_total_ ? NPKSD_MORE : NPKSD_OK;
}

/* The result for the evaluated rows, except for the verdict. */
static void npksdi_describe(const npksd_tester *t, npksd_result *result)
{
    const npksdi_model *model = &t->model_;
    NPKSD_MEMSET(result, 0, sizeof *result);
    result->statistic = npksdi_combine(model, t->scratch_.values_, &result->leading);
    result->bandwidth = model->bandwidth_;
    result->ksd2 = t->ksd2_;
    result->out_of_range = t->out_of_range_;
    result->flags =
        model->flags_ | (npksdi_wild(&model->options_) ? (unsigned)NPKSD_FLAG_ASYMPTOTIC : 0u);
}

/* ---- diagnosis: columns, pairs, rows ---- */

static void npksdi_put(npksd_real *array, size_t i, npksd_real value)
{
    if (array != NULL)
        array[i] = value;
}

/* To report: the mean of unclamped values minus the generator's, in sd; constant: its sign alone. */
static npksd_real npksdi_column_shift(const npksdi_model *model, const npksdi_scratch *w, size_t i)
{
    int constant = npksdi_is_constant(model, i);
    npksd_real shift = 0, size = 0, most = constant ? NPKSDI_LARGEST : NPKSDI_HUGE;
    for (size_t a = 0; a < model->n_; a++) {
        npksd_real x = w->rows_[a * model->m_ + i], z = x / 2 - model->centre_[i] / 2;
        z = constant ? z : npksdi_unclamped(x, model->ruler_[i]);
        if (!npksdi_finite(&z, 1)) /* by bits: -ffast-math knows no infinity */
            z = x > model->centre_[i] ? NPKSDI_HUGE : -NPKSDI_HUGE;
        z = npksdi_clamp(z, most) / (npksd_real)model->n_;
        shift += z, size += npksdi_abs(z);
    }
    if (constant)
        return npksdi_abs(shift) > NPKSDI_TIE * size ? (shift > 0 ? most : -most) : 0;
    return shift - model->means_[i];
}

/* Columns: p-values from the same replicates; adjusted: against the largest column of each. */
static void npksdi_report_columns(npksd_tester *t, npksd_diagnosis *d)
{
    const npksdi_model *model = &t->model_;
    const npksdi_scratch *w = &t->scratch_;
    size_t b = model->replicates_, m = model->m_;
    npksd_real moments[4];
    for (size_t i = 0; i < m; i++) {
        npksd_real value = npksdi_column_value(model, w, i);
        npksd_real v = w->values_[model->number_count_ + i];
        npksd_real tolerance = NPKSDI_TIE * npksdi_max(1, npksdi_abs(value));
        size_t reached = npksdi_reached(model, 1 + i, b, value, tolerance);
        size_t adjusted = npksdi_reached(model, 1 + m, b, value, tolerance);
        npksdi_put(d->coordinate_statistic, i, npksdi_in_units(model, NPKSD_COMPONENT_STEIN, v));
        npksdi_put(d->coordinate_p, i, npksdi_share(1 + reached, b + 1));
        npksdi_put(d->coordinate_p_adjusted, i, npksdi_share(1 + adjusted, b + 1));
        if (!model->has_margins_)
            continue;
        npksdi_count_codes(model, w, i, moments);
        npksdi_put(d->coordinate_distance, i, npksdi_ks_distance(model, w, i));
        npksdi_put(d->coordinate_shift, i, npksdi_column_shift(model, w, i));
    }
}

/* The pairs whose correlation differs most, worst first. */
static void npksdi_report_pairs(npksd_tester *t, npksd_diagnosis *d)
{
    const npksdi_model *model = &t->model_;
    const npksdi_scratch *w = &t->scratch_;
    d->pair_count = 0;
    for (size_t a = 1; a < model->pair_columns_; a++)
        for (size_t b = 0; b < a; b++) {
            npksd_pair pair;
            pair.first = model->paired_[b], pair.second = model->paired_[a];
            pair.observed =
                npksdi_correlation(model, w, w->pair_sums_, (npksd_real)model->n_, a, b);
            pair.expected = npksdi_moment(model->correlations_, model->pair_columns_, a, b);
            pair.p_adjusted = npksdi_pair_apart2(pair.observed, pair.expected); /* for now */
            size_t place = d->pair_count;
            for (; place > 0 && d->pairs[place - 1].p_adjusted < pair.p_adjusted; place--)
                if (place < d->pair_capacity)
                    d->pairs[place] = d->pairs[place - 1];
            if (place < d->pair_capacity) {
                d->pairs[place] = pair;
                d->pair_count = npksdi_min_size(d->pair_count + 1, d->pair_capacity);
            }
        }
    for (size_t k = 0; k < d->pair_count; k++) {
        npksd_real apart = NPKSD_SQRT(d->pairs[k].p_adjusted), tie = (apart + 1) * NPKSDI_TIE / 10;
        size_t reached = npksdi_reached(model, 2 + model->m_, model->replicates_, apart, tie);
        d->pairs[k].p_adjusted = npksdi_share(1 + reached, model->replicates_ + 1);
    }
}

/* r_a = (1/n) sum_b u(z_a, z_b), b = a included. */
static void npksdi_report_rows(npksd_tester *t, npksd_real *out)
{
    const npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    npksd_real n = (npksd_real)model->n_, sigma2 = model->bandwidth_ * model->bandwidth_;
    int linear = model->options_.features > 0;
    if (linear)
        npksdi_frequency_row_sums(model, w);
    for (size_t a = 0; a < model->n_; a++)
        out[a] = (w->row_sums_[a] + (linear ? 0 : w->own_[a] + w->weight_sum_)) / (n * sigma2);
    npksdi_tame(out, model->n_);
}

/* Is there room for the answer, and was what the diagnosis asks for prepared? */
static int npksdi_can_report(const npksd_tester *t, const void *result, const npksd_diagnosis *d)
{
    if (t == NULL || result == NULL || d == NULL)
        return t != NULL && result != NULL;
    int columns = d->coordinate_statistic || d->coordinate_p || d->coordinate_p_adjusted;
    int pairs = d->pairs != NULL && d->pair_capacity > 0;
    int margins = pairs || d->coordinate_shift || d->coordinate_distance;
    return (t->model_.options_.diagnose || !(columns || margins))
        && (t->model_.has_margins_ || !margins);
}

NPKSDI_DEF npksd_status npksd_tester_check_begin(npksd_tester *t, const npksd_real *observed)
{
    NPKSDI_REFUSE(t == NULL || observed == NULL, NPKSD_ERROR_ARGUMENT);
    return npksdi_is_done(t) ? npksdi_observe(t, observed) : NPKSD_ERROR_STATE;
}

NPKSDI_DEF npksd_status npksd_tester_check_end(npksd_tester *t, npksd_result *result,
                                               npksd_diagnosis *diagnosis)
{
    NPKSDI_REFUSE(!npksdi_can_report(t, result, diagnosis), NPKSD_ERROR_ARGUMENT);
    npksdi_schedule *s = &t->schedule_;
    NPKSDI_REFUSE(s->check_total_ == 0 || s->check_k_ < s->check_total_, NPKSD_ERROR_STATE);
    npksdi_describe(t, result);
    npksd_real tolerance = npksdi_tolerance(&t->model_, result->statistic, t->model_.replicates_);
    npksdi_verdict(&t->model_, t->model_.replicates_, 1, tolerance, result);
    s->check_total_ = 0;
    if (diagnosis == NULL)
        return NPKSD_OK;
    if (t->model_.options_.diagnose)
        npksdi_report_columns(t, diagnosis);
    if (diagnosis->pairs != NULL)
        npksdi_report_pairs(t, diagnosis);
    if (diagnosis->row_influence != NULL)
        npksdi_report_rows(t, diagnosis->row_influence);
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_tester_check(npksd_tester *t, const npksd_real *observed,
                                           npksd_result *result, npksd_diagnosis *diagnosis)
{
    size_t items = SIZE_MAX;
    NPKSDI_REFUSE(!npksdi_can_report(t, result, diagnosis), NPKSD_ERROR_ARGUMENT);
    NPKSDI_TRY(npksd_tester_check_begin(t, observed));
    NPKSDI_TRY(npksdi_advance_check(t, &items));
    return npksd_tester_check_end(t, result, diagnosis);
}

/* ======== >>api: testers ======== */

NPKSDI_DEF const char *npksd_status_string(npksd_status status)
{
    switch (status) {
#define NPKSDI_CASE(name, value, text)                                                             \
    case NPKSD_##name: return text;
        NPKSD_STATUS_LIST(NPKSDI_CASE)
#undef NPKSDI_CASE
    default: return "unknown status";
    }
}

NPKSDI_DEF const char *npksd_component_string(unsigned component)
{
    static const char *const names[] = { "STEIN", "MIRROR", "MOMENT", "MMD", "MARGIN", "PAIR" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (component == 1u << k)
            return names[k];
    return "unknown component";
}

NPKSDI_DEF int npksd_version(void) { return NPKSD_VERSION; }

#ifdef NPKSD_NO_MALLOC
#define NPKSDI_MALLOC(bytes) NULL
#define NPKSDI_FREE(ptr)     ((void)(ptr))
#else
#define NPKSDI_MALLOC(bytes) malloc(bytes)
#define NPKSDI_FREE(ptr)     free(ptr)
#endif
static int npksdi_is_half(const npksd_allocator *allocator) /* one function without the other */
{
    return (allocator->alloc_fn == NULL) != (allocator->free_fn == NULL);
}
static void *npksdi_alloc(const npksd_allocator *allocator, size_t bytes)
{
    return allocator->alloc_fn != NULL ? allocator->alloc_fn(bytes, allocator->user_data)
                                       : NPKSDI_MALLOC(bytes);
}
static void npksdi_free(const npksd_allocator *allocator, void *ptr, size_t bytes)
{
    if (allocator->free_fn != NULL)
        allocator->free_fn(ptr, bytes, allocator->user_data);
    else
        NPKSDI_FREE(ptr);
}

/* Are the given or default options valid? Only the wild bootstrap needs no generator. */
static int npksdi_admit(size_t n, size_t m, const npksd_options *options, int has_generator,
                        npksd_options *out)
{
    *out = npksdi_options_of(options);
    return npksd_options_problem(out, n, m) == NULL
        && (has_generator || (npksdi_wild(out) && !out->standardize && out->bandwidth > 0));
}

/* A tester without memory (pool: or NULL). Returns the bytes it needs; 0: too many, or items. */
static size_t npksdi_tester_plan(npksd_tester *t, size_t n, size_t m, const npksd_options *options,
                                 const npksdi_pool *pool, int loaded)
{
    npksdi_walk walk = npksdi_walk_begin(NPKSDI_COUNT, NULL);
    NPKSD_MEMSET(t, 0, sizeof *t);
    if (pool != NULL) {
        t->pool_ = *pool;
        t->fit_.pool_blocks_ = (pool->n_ + pool->rows_) / pool->block_;
    }
    t->loaded_ = loaded;
    npksdi_plan_model(&t->model_, n, m, options);
    npksdi_plan_fit(t);
    npksdi_room(&walk, 1, 1, sizeof *t);
    npksdi_tester_arrays(t, &walk);
    npksdi_times(&walk, 2 + options->pilot + t->model_.replicates_, npksdi_data_set_items(t));
    return t->memory_bytes_ = walk.bad_ ? 0 : walk.at_ + NPKSDI_ALIGNMENT - 1;
}

static void npksdi_scratch_begin(const npksd_tester *t, npksdi_scratch *w)
{
    w->user_data_ = t->user_data_;
    w->rng_ = t->model_.options_.rng;
    if (w->rng_.next_fn == NULL)
        w->rng_ = npksd_rng_seeded(&w->rng_state_, t->model_.options_.seed, 0);
}

/* Equal weights, unless one index set is drawn for all data sets: then 0, and nothing is set. */
static int npksdi_equal_weights(npksdi_model *model)
{
    int equal = model->options_.resample == 0 || model->options_.resample_redraw;
    for (size_t i = 0; i < model->m_ && equal; i++)
        model->weights_[i] = 1 / (npksd_real)model->m_;
    return equal;
}
/* What is known before the first item: index set, columns of pairs, a given bandwidth, totals. */
static void npksdi_tester_begin(npksd_tester *t)
{
    npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    size_t m = model->m_, pairs = model->pair_columns_, k = 0;
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_INDEX_SET, 0));
    if (!npksdi_equal_weights(model))
        npksdi_draw_weights(model, w, model->weights_);
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_PAIRS, 0));
    for (size_t i = 0; i < m; i++) {
        model->scale_[i] = 1; /* until rows are seen */
        npksdi_set_ruler(model, i);
        model->family_of_[i] = NPKSDI_CONSTANT;
        t->fit_.best_[i] = NPKSDI_HUGE;
        if (model->weights_[i] > 0)
            t->fit_.active_[t->fit_.active_count_++] = (uint32_t)i;
        if (k < pairs && (m == pairs || npksdi_below(&w->rng_, m - i) < pairs - k))
            model->paired_[k++] = (uint32_t)i; /* a random subset, in order */
    }
    if (model->options_.bandwidth > 0)
        npksdi_set_bandwidth(model, model->options_.bandwidth);
    for (size_t stage = 0; stage < NPKSDI_STAGE_DONE; stage++)
        t->schedule_.total_ += npksdi_stage(t, stage, 0, NULL);
    if (t->sample_fn_ == NULL) { /* wild bootstrap: nothing to draw */
        t->schedule_.stage_ = NPKSDI_STAGE_DONE;
        t->schedule_.done_ = t->schedule_.total_;
    }
}

/* The planned tester in the caller's workspace or in one allocation of its own, arrays zero. */
static npksd_status npksdi_tester_install(npksd_tester **tester, npksd_tester *plan,
                                          void *workspace, size_t bytes)
{
    size_t needed = plan->memory_bytes_;
    if (workspace == NULL && needed > 0) {
        plan->memory_ = workspace = npksdi_alloc(&plan->model_.options_.allocator, needed);
        bytes = needed;
    }
    NPKSDI_REFUSE(workspace == NULL || needed == 0 || bytes < needed, NPKSD_ERROR_MEMORY);
    npksd_tester *t = *tester = (npksd_tester *)npksdi_aligned(workspace);
    npksdi_walk walk = npksdi_walk_begin(NPKSDI_PLACE, t);
    NPKSDI_ALLOW((unsigned char *)workspace, needed, needed);
    NPKSD_MEMSET(workspace, 0, needed);
    *t = *plan;
    npksdi_room(&walk, 1, 1, sizeof *t);
    npksdi_tester_arrays(t, &walk);
    t->pool_.order_ = t->fit_.order_;
    for (uint32_t k = 0; k < t->fit_.pool_blocks_; k++)
        t->pool_.order_[k] = k;
    if (t->pool_.rows_ > 0)
        t->user_data_ = &t->pool_;
    if (t->model_.has_margins_)
        npksdi_set_normal_scores(t->model_.normal_scores_);
    npksdi_scratch_begin(t, &t->scratch_);
    return NPKSD_OK;
}
static npksd_status npksdi_tester_build(npksd_tester **tester, size_t n, size_t m,
                                        npksd_sample_fn sample_fn, void *user_data,
                                        const npksd_options *options, uint64_t streams,
                                        void *workspace, size_t bytes)
{
    npksd_options checked;
    npksd_tester plan;
    const npksdi_pool *pool = sample_fn == npksdi_pool_sample ? (npksdi_pool *)user_data : NULL;
    NPKSDI_REFUSE(!npksdi_admit(n, m, options, sample_fn != NULL, &checked), NPKSD_ERROR_ARGUMENT);
    npksdi_tester_plan(&plan, n, m, &checked, pool, 0);
    plan.sample_fn_ = sample_fn;
    plan.user_data_ = user_data;
    plan.scratch_.streams_ = streams;
    NPKSDI_TRY(npksdi_tester_install(tester, &plan, workspace, bytes));
    npksdi_tester_begin(*tester);
    return NPKSD_OK;
}

/* A tester that is not built is NULL. Is there no place for it, or no input? */
static int npksdi_missing(npksd_tester **tester, const void *needed)
{
    if (tester != NULL)
        *tester = NULL;
    return tester == NULL || needed == NULL;
}

NPKSDI_DEF npksd_status npksd_tester_size(size_t n, size_t m, const npksd_options *o, size_t *bytes)
{
    npksd_options checked;
    npksd_tester plan;
    NPKSDI_REFUSE(bytes == NULL || !npksdi_admit(n, m, o, 1, &checked), NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(npksdi_tester_plan(&plan, n, m, &checked, NULL, 0) == 0, NPKSD_ERROR_MEMORY);
    *bytes = plan.memory_bytes_;
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_tester_init(npksd_tester **tester, size_t n, size_t m,
                                          npksd_sample_fn sample_fn, void *user_data,
                                          const npksd_options *o, void *workspace, size_t bytes)
{
    NPKSDI_REFUSE(npksdi_missing(tester, workspace), NPKSD_ERROR_ARGUMENT);
    return npksdi_tester_build(tester, n, m, sample_fn, user_data, o, 0, workspace, bytes);
}

NPKSDI_DEF npksd_status npksd_tester_create(npksd_tester **tester, size_t n, size_t m,
                                            npksd_sample_fn sample_fn, void *user_data,
                                            const npksd_options *options)
{
    NPKSDI_REFUSE(npksdi_missing(tester, tester), NPKSD_ERROR_ARGUMENT);
    return npksdi_tester_build(tester, n, m, sample_fn, user_data, options, 0, NULL, 0);
}

NPKSDI_DEF void npksd_tester_destroy(npksd_tester *t)
{
    if (t == NULL || t->memory_ == NULL)
        return;
    npksd_allocator allocator = t->model_.options_.allocator;
    npksdi_free(&allocator, t->memory_, t->memory_bytes_);
}

NPKSDI_DEF npksd_status npksd_tester_step(npksd_tester *t, size_t items)
{
    NPKSDI_REFUSE(t == NULL, NPKSD_ERROR_ARGUMENT);
    NPKSDI_TRY(npksdi_advance(t, NPKSDI_STAGE_DONE, &items));
    return npksdi_advance_check(t, &items);
}

NPKSDI_DEF void npksd_tester_progress(const npksd_tester *t, size_t *done, size_t *total)
{
    const npksdi_schedule *s = t != NULL ? &t->schedule_ : NULL;
    if (done != NULL)
        *done = s != NULL ? s->done_ + (s->check_total_ > 0 ? s->check_k_ : 0) : 0;
    if (total != NULL)
        *total = s != NULL ? s->total_ + s->check_total_ : 0;
}

NPKSDI_DEF void npksd_tester_shape(const npksd_tester *t, size_t *n, size_t *m)
{
    if (n != NULL)
        *n = t != NULL ? t->model_.n_ : 0;
    if (m != NULL)
        *m = t != NULL ? t->model_.m_ : 0;
}

NPKSDI_DEF npksd_status npksd_tester_null(const npksd_tester *t, npksd_real *out, size_t capacity,
                                          size_t *count)
{
    NPKSDI_REFUSE(t == NULL || (out == NULL && capacity > 0), NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(!npksdi_is_done(t) || (npksdi_wild(&t->model_.options_) && !t->wild_done_),
                  NPKSD_ERROR_STATE);
    for (size_t r = 0; r < npksdi_min_size(capacity, t->model_.replicates_); r++)
        out[r] = t->model_.null_[r * t->model_.width_];
    if (count != NULL)
        *count = t->model_.replicates_;
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_tester_scores(npksd_tester *t, const npksd_real *rows, size_t count,
                                            npksd_real *scores)
{
    NPKSDI_REFUSE(t == NULL || (count > 0 && (rows == NULL || scores == NULL))
                      || count > SIZE_MAX / sizeof(npksd_real) / t->model_.m_,
                  NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(!npksdi_has_reached(t, NPKSDI_STAGE_REFER) || npksdi_is_busy(t),
                  NPKSD_ERROR_STATE);
    const npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    size_t m = model->m_;
    int room = count <= model->n_; /* to keep an answer until it is whole */
    npksd_real *out = room ? w->rows_ : scores;
    NPKSDI_REFUSE(!npksdi_finite(rows, count * m), NPKSD_ERROR_NONFINITE);
    for (size_t a = 0; a < count; a += NPKSDI_T) {
        size_t some = npksdi_min_size(NPKSDI_T, count - a);
        npksdi_scale_panel(model, w, rows + a * m, some);
        NPKSDI_TRY(npksdi_score_panel(model, w, model->weights_));
        for (size_t i = 0; i < some * m; i++) { /* in units of the rows; a scale may be 1e-310 */
            npksd_real score = w->scores_[i % m * NPKSDI_T + i / m] / model->scale_[i % m];
            npksd_real most = score < 0 ? -NPKSDI_LARGEST : NPKSDI_LARGEST;
            out[a * m + i] = npksdi_finite(&score, 1) ? score : most;
        }
    }
    if (room && count > 0)
        NPKSD_MEMCPY(scores, out, count * m * sizeof *scores);
    return NPKSD_OK;
}

/* ======== >>tests: one call, with a generator or with fixed samples ======== */

/* Replicates one by one until stop_after of them have reached the observed statistic. */
static npksd_status npksdi_run_stopping(npksd_tester *t, const npksd_real *observed,
                                        npksd_result *result)
{
    size_t items = SIZE_MAX, reached = 0, used = 0, h = t->model_.options_.stop_after;
    NPKSDI_TRY(npksdi_advance(t, NPKSDI_STAGE_REPLICATES, &items));
    NPKSDI_TRY(npksdi_observe(t, observed));
    NPKSDI_TRY(npksdi_advance_check(t, &items));
    npksdi_describe(t, result); /* before the replicates need the scratch */
    npksd_real tolerance = npksdi_tolerance(&t->model_, result->statistic, 0);
    for (; used < t->model_.replicates_ && reached < h; used++) {
        items = npksdi_data_set_items(t);
        npksd_status status = npksdi_advance(t, NPKSDI_STAGE_DONE, &items);
        NPKSDI_REFUSE(status < NPKSD_OK, status);
        volatile npksd_real raised = t->model_.null_[used * t->model_.width_] + tolerance;
        reached += raised >= result->statistic;
    }
    npksdi_verdict(&t->model_, used, reached < h, tolerance, result);
    result->flags |= reached >= h ? (unsigned)NPKSD_FLAG_STOPPED_EARLY : 0u;
    return NPKSD_OK;
}

/* Fixed samples: share of observed rows outside the box of the synthetic ones. */
static npksd_real npksdi_pool_outside(npksd_tester *t)
{
    npksd_real *low = t->model_.box_low_, *high = t->model_.box_high_;
    const npksd_real *row = t->pool_.synthetic_;
    for (size_t a = 0; a < t->pool_.rows_; a++, row += t->pool_.m_)
        for (size_t j = 0; j < t->pool_.m_; j++) {
            low[j] = a > 0 ? npksdi_min(low[j], row[j]) : row[j];
            high[j] = a > 0 ? npksdi_max(high[j], row[j]) : row[j];
        }
    return npksdi_outside(&t->model_, t->pool_.observed_);
}

/* The whole test; the tester is destroyed at the end. */
static npksd_status npksdi_run(npksd_tester *t, const npksd_real *observed, npksd_result *result,
                               npksd_diagnosis *diagnosis, npksd_real *null_values)
{
    npksd_result found;
    npksd_status status;
    NPKSD_MEMSET(&found, 0, sizeof found);
    if (!npksdi_finite(observed, t->model_.n_ * t->model_.m_))
        status = NPKSD_ERROR_NONFINITE;
    else if (!npksdi_can_report(t, result, diagnosis))
        status = NPKSD_ERROR_ARGUMENT;
    else if (t->model_.options_.stop_after > 0)
        status = npksdi_run_stopping(t, observed, &found);
    else if ((status = npksd_tester_step(t, SIZE_MAX)) == NPKSD_OK)
        status = npksd_tester_check(t, observed, &found, diagnosis);
    if (status == NPKSD_OK) {
        if (t->pool_.rows_ > 0)
            found.out_of_range = npksdi_pool_outside(t);
        for (size_t r = 0; null_values != NULL && r < found.replicates; r++)
            null_values[r] = t->model_.null_[r * t->model_.width_];
        *result = found;
    }
    npksd_tester_destroy(t);
    return status;
}

NPKSDI_DEF npksd_status npksd_test_diagnose(const npksd_real *observed, size_t n, size_t m,
                                            npksd_sample_fn sample_fn, void *user_data,
                                            const npksd_options *options, npksd_result *result,
                                            npksd_diagnosis *diagnosis, npksd_real *null_values)
{
    npksd_tester *t;
    npksd_options o = npksdi_options_of(options);
    NPKSDI_REFUSE(observed == NULL || result == NULL, NPKSD_ERROR_ARGUMENT);
    o.diagnose = diagnosis != NULL ? 1 : o.diagnose;
    NPKSDI_TRY(npksd_tester_create(&t, n, m, sample_fn, user_data, &o));
    return npksdi_run(t, observed, result, diagnosis, null_values);
}

NPKSDI_DEF npksd_status npksd_test(const npksd_real *observed, size_t n, size_t m,
                                   npksd_sample_fn sample_fn, void *user_data,
                                   const npksd_options *options, npksd_result *result)
{
    return npksd_test_diagnose(observed, n, m, sample_fn, user_data, options, result, NULL, NULL);
}

/* ---- fixed samples ---- */

NPKSDI_DEF size_t npksd_samples_minimum(size_t n) { return npksdi_max_size(n / 2 + n % 2, 8); }

NPKSDI_DEF const char *npksd_samples_problem(const npksd_options *o, size_t n, size_t rows,
                                             size_t m)
{
    const char *problem = npksd_options_problem(o, n, m);
    NPKSDI_REFUSE(problem != NULL, problem);
    NPKSDI_REFUSE(rows < npksd_samples_minimum(n),
                  "rows: too few synthetic rows (npksd_samples_minimum)");
    NPKSDI_REFUSE(rows > 268435456 - n || rows > SIZE_MAX / 64 / m / sizeof(npksd_real),
                  "rows: too many numbers");
    NPKSDI_REFUSE(npksdi_wild(o), "calibration: the wild bootstrap is not for fixed samples");
    size_t observed = n / o->block, synthetic = rows / o->block;
    NPKSDI_REFUSE(observed == 0 || synthetic == 0, "block: longer than the rows there are");
    npksd_real choices = 1;
    for (size_t i = 1; i <= observed && 1 / choices > o->alpha; i++)
        choices = choices * (npksd_real)(synthetic + i) / (npksd_real)i; /* a whole number */
    NPKSDI_REFUSE(1 / choices > o->alpha,
                  "block: so few blocks can be drawn in fewer than 1/alpha ways, and never reject");
    return NULL;
}

NPKSDI_DEF npksd_status npksd_test_samples_diagnose(const npksd_real *observed, size_t n,
                                                    const npksd_real *synthetic, size_t rows,
                                                    size_t m, const npksd_options *options,
                                                    npksd_result *result, npksd_diagnosis *d,
                                                    npksd_real *null_values)
{
    npksd_options o = npksdi_options_of(options);
    npksd_tester *t;
    o.diagnose = d != NULL ? 1 : o.diagnose;
    NPKSDI_REFUSE(observed == NULL || synthetic == NULL || result == NULL
                      || npksd_samples_problem(&o, n, rows, m) != NULL,
                  NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(!npksdi_finite(observed, n * m) || !npksdi_finite(synthetic, rows * m),
                  NPKSD_ERROR_NONFINITE);
    size_t rest = n % o.block, rows_rest = rows % o.block; /* only whole blocks are used */
    npksdi_pool pool = { observed, synthetic, n - rest, rows - rows_rest, m, o.block, 0, NULL };
    o.fit_rows = npksdi_min_size(o.fit_rows, pool.n_ + pool.rows_);
    NPKSDI_TRY(npksdi_tester_build(&t, pool.n_, m, npksdi_pool_sample, &pool, &o, 0, NULL, 0));
    NPKSDI_TRY(npksdi_run(t, observed, result, d, null_values));
    result->flags |= rest + rows_rest > 0 ? (unsigned)NPKSD_FLAG_PARTIAL_BLOCK : 0u;
    for (size_t a = pool.n_; a < n && d != NULL; a++)
        npksdi_put(d->row_influence, a, 0);
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_test_samples(const npksd_real *observed, size_t n,
                                           const npksd_real *synthetic, size_t rows, size_t m,
                                           const npksd_options *o, npksd_result *result)
{
    return npksd_test_samples_diagnose(observed, n, synthetic, rows, m, o, result, NULL, NULL);
}

/* ======== >>trials: is the generator fit for testing, and what could a test see? ======== */

/* Are there too many small p-values? D is the most by which a share of p-values exceeds what it may
   be, and P(sqrt(runs) D > x) at most exp(-2 x^2), for the large ones of discrete data, too. */
static void npksdi_judge_small(npksd_real *p, size_t runs, npksd_self_check_result *found)
{
    npksdi_sort(p, runs);
    for (size_t k = 0; k < runs; k++)
        found->distance = npksdi_max(found->distance, npksdi_share(k + 1, runs) - p[k]);
    found->uniform_p = NPKSD_EXP(-2 * npksdi_square(found->distance) * (npksd_real)runs);
    int stuck = runs >= 16 && p[0] >= 1; /* no two data sets ever differed */
    found->suspicious = found->uniform_p < NPKSDI_C(0.01) || !found->repeatable || stuck;
}

/* n rows of stream k, drawn by some generator, against the tester, which is finished first. */
static npksd_status npksdi_trial(npksd_tester *t, npksd_sample_fn sample_fn, void *user_data,
                                 size_t k, npksd_result *result)
{
    npksdi_scratch *w = &t->scratch_;
    NPKSDI_TRY(npksd_tester_step(t, SIZE_MAX));
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_TRIAL, k));
    t->observed_index_ = k + 1;
    NPKSDI_REFUSE(sample_fn(w->rows_, t->model_.n_, t->model_.m_, &w->rng_, user_data) != 0,
                  NPKSD_ERROR_GENERATOR);
    return npksd_tester_check(t, w->rows_, result, NULL);
}

/* One stream drawn twice: are the rows the same? Without seek_fn nobody knows. */
static npksd_status npksdi_repeats(const npksd_tester *t, npksdi_scratch *w, npksd_real *rows,
                                   int *repeatable)
{
    npksdi_watch watch = { 0, 0 }; /* two calls are not many */
    size_t count = t->model_.n_ * t->model_.m_;
    NPKSDI_TRY(npksdi_draw(t, w, &watch, NPKSDI_STREAM(NPKSDI_TRIAL, 1)));
    NPKSD_MEMCPY(rows, w->rows_, count * sizeof *rows);
    NPKSDI_TRY(npksdi_draw(t, w, &watch, NPKSDI_STREAM(NPKSDI_TRIAL, 1)));
    for (size_t i = 0; i < count && w->rng_.seek_fn != NULL; i++)
        *repeatable &= npksdi_bits_of(rows[i]) == npksdi_bits_of(w->rows_[i]);
    return NPKSD_OK;
}

/* Every trial has a tester and random numbers of its own: another seed, or other streams. */
NPKSDI_DEF npksd_status npksd_self_check(size_t n, size_t m, npksd_sample_fn sample_fn,
                                         void *user_data, const npksd_options *options, size_t runs,
                                         npksd_self_check_result *result)
{
    npksd_options o;
    npksd_self_check_result found;
    npksd_status status = NPKSD_OK;
    NPKSDI_REFUSE(sample_fn == NULL || result == NULL || runs < 1 || runs > 1000000
                      || !npksdi_admit(n, m, options, 1, &o),
                  NPKSD_ERROR_ARGUMENT);
    size_t bytes = (n * m + runs) * sizeof(npksd_real); /* n m is at most SIZE_MAX / 64 bytes */
    npksd_real *p = (npksd_real *)npksdi_alloc(&o.allocator, bytes);
    NPKSDI_REFUSE(p == NULL, NPKSD_ERROR_MEMORY);
    NPKSD_MEMSET(&found, 0, sizeof found);
    found.runs = runs, found.repeatable = 1;
    uint64_t seed = o.seed, own = o.rng.next_fn != NULL ? UINT64_C(1) << 32 : 0;
    for (size_t k = 0; k < runs && status == NPKSD_OK; k++) {
        npksd_tester *t = NULL;
        npksd_result one;
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, seed, NPKSDI_STREAM(NPKSDI_TRIAL, k));
        o.seed = npksdi_word(&rng);
        NPKSD_MEMSET(&one, 0, sizeof one);
        status = npksdi_tester_build(&t, n, m, sample_fn, user_data, &o, (k + 1) * own, NULL, 0);
        if (status == NPKSD_OK && k == 0)
            status = npksdi_repeats(t, &t->scratch_, p + runs, &found.repeatable);
        if (status == NPKSD_OK)
            status = npksdi_trial(t, sample_fn, user_data, 0, &one);
        npksd_tester_destroy(t);
        p[k] = one.p_value;
        found.rejected += (size_t)one.reject;
        found.mean_p += one.p_value / (npksd_real)runs;
    }
    if (status == NPKSD_OK) {
        npksdi_judge_small(p, runs, &found);
        *result = found;
    }
    npksdi_free(&o.allocator, p, bytes);
    return status;
}

NPKSDI_DEF npksd_status npksd_power(size_t n, size_t m, npksd_sample_fn sample_fn, void *user_data,
                                    npksd_sample_fn alternative_fn, void *alternative_user_data,
                                    const npksd_options *o, size_t runs, npksd_power_result *result)
{
    npksd_tester *t;
    size_t rejected = 0;
    NPKSDI_REFUSE(sample_fn == NULL || alternative_fn == NULL || result == NULL || runs < 1,
                  NPKSD_ERROR_ARGUMENT);
    NPKSDI_TRY(npksd_tester_create(&t, n, m, sample_fn, user_data, o));
    npksd_status status = NPKSD_OK;
    for (size_t k = 0; k < runs && status == NPKSD_OK; k++) {
        npksd_result one;
        status = npksdi_trial(t, alternative_fn, alternative_user_data, k, &one);
        rejected += status == NPKSD_OK && one.reject;
    }
    npksd_tester_destroy(t);
    NPKSDI_TRY(status);
    result->runs = runs, result->rejected = rejected;
    result->power = npksdi_share(rejected, runs);
    npksdi_interval(rejected, runs, 1, &result->low, &result->high);
    return NPKSD_OK;
}

/* ======== >>workers: replicates on the caller's threads or ranks ======== */

NPKSDI_DEF npksd_status npksd_tester_prepare(npksd_tester *t)
{
    size_t items = SIZE_MAX;
    return t != NULL ? npksdi_advance(t, NPKSDI_STAGE_REPLICATES, &items) : NPKSD_ERROR_ARGUMENT;
}

/* A worker's scratch: its struct, then the arrays. */
static size_t npksdi_place_scratch(const npksdi_model *model, npksdi_scratch *w, int mode)
{
    npksdi_walk walk = npksdi_walk_begin(mode, mode == NPKSDI_PLACE ? w : NULL);
    npksdi_room(&walk, 1, 1, sizeof *w);
    npksdi_scratch_arrays(model, w, &walk);
    return walk.at_ + NPKSDI_ALIGNMENT - 1;
}

NPKSDI_DEF size_t npksd_tester_scratch_size(const npksd_tester *t)
{
    npksdi_scratch plan;
    NPKSD_MEMSET(&plan, 0, sizeof plan);
    return t != NULL ? npksdi_place_scratch(&t->model_, &plan, NPKSDI_COUNT) : 0;
}

NPKSDI_DEF size_t npksd_tester_width(const npksd_tester *t) { return t ? t->model_.width_ : 0; }

/* Can replicates be drawn or given now, and are these among them? */
static npksd_status npksdi_admit_replicates(const npksd_tester *t, size_t first, size_t count,
                                            const npksd_real *values)
{
    NPKSDI_REFUSE(t == NULL || (values == NULL && count > 0) || first > t->model_.replicates_
                      || count > t->model_.replicates_ - first,
                  NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(!npksdi_has_reached(t, NPKSDI_STAGE_REPLICATES) || t->sample_fn_ == NULL
                      || npksdi_wild(&t->model_.options_),
                  NPKSD_ERROR_STATE);
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_tester_replicates(const npksd_tester *t, npksd_worker *worker,
                                                size_t first, size_t count, npksd_real *out)
{
    NPKSDI_TRY(npksdi_admit_replicates(t, first, count, out));
    npksd_rng given = t->model_.options_.rng;
    NPKSDI_REFUSE(worker == NULL /* or two threads would share a state, or numbers in sequence */
                      || (worker->rng.next_fn == NULL && given.next_fn != NULL
                          && (worker->scratch != NULL || given.seek_fn == NULL)),
                  NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(worker->scratch == NULL && npksdi_is_busy(t), NPKSD_ERROR_STATE);
    NPKSDI_REFUSE(worker->scratch != NULL && worker->scratch_bytes < npksd_tester_scratch_size(t),
                  NPKSD_ERROR_MEMORY);
    npksdi_scratch own = t->scratch_, *w = &own; /* the same arrays, but an rng of its own */
    if (worker->scratch != NULL) {
        w = (npksdi_scratch *)npksdi_aligned(worker->scratch);
        NPKSD_MEMSET(w, 0, sizeof *w);
        npksdi_place_scratch(&t->model_, w, NPKSDI_PLACE);
    }
    npksdi_scratch_begin(t, w);
    if (worker->rng.next_fn != NULL)
        w->rng_ = worker->rng;
    if (worker->user_data != NULL)
        w->user_data_ = worker->user_data;
    npksdi_watch watch = t->watch_;
    for (size_t r = first; r < first + count; r++, out += t->model_.width_) {
        for (size_t k = 0; k < npksdi_data_set_items(t); k++)
            NPKSDI_TRY(npksdi_data_set_item(t, w, &watch, NPKSDI_STREAM(NPKSDI_REPLICATE, r), k));
        npksdi_null_row(&t->model_, w, out);
    }
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_tester_merge(npksd_tester *t, size_t first, size_t count,
                                           const npksd_real *values)
{
    NPKSDI_TRY(npksdi_admit_replicates(t, first, count, values));
    size_t width = t->model_.width_;
    NPKSDI_REFUSE(!npksdi_finite(values, count * width), NPKSD_ERROR_NONFINITE);
    for (size_t r = first; r < first + count; r++, values += width) {
        NPKSD_MEMCPY(t->model_.null_ + r * width, values, width * sizeof *values);
        t->fit_.filled_[r] = 1;
    }
    npksdi_skip_done(t);
    return NPKSD_OK;
}

/* ======== >>monitor: a stream of recordings, watched indefinitely ======== */

/* Given the fit, the b null values and all recordings are exchangeable under H0, so the rank r of
   recording k among N = b + k values, from the largest, is uniform and independent of the ranks
   before: the bet e(r) = N r^(kappa-1) / sum_{j<=N} j^(kappa-1) has mean 1. The capital is 1. At
   recording k a share 1/(2k) of what was never staked joins the stakes, half of it on each kappa,
   and all stakes are multiplied by e(r). E, the stakes and the rest, is a martingale: it ever
   reaches 1/alpha with a chance of at most alpha (Ville 1939). Had all been staked at once, a late
   change would find nothing left. M is the mean over kappa of M_k = max(1, M_{k-1}) e(r_k), at most
   the sum of k martingales that begin with 1 at recordings 1 .. k: so its mean at an alarm, 1/alpha
   or more, is at most the mean number of recordings. Logarithms, as products leave every range. */
enum { NPKSDI_MONITOR = 77 }; /* the purpose of its random stream, see >>rng */
static const npksd_real npksdi_kappas[2] = { NPKSDI_C(0.4), NPKSDI_C(0.8) };

static npksd_real npksdi_log_sum(npksd_real a, npksd_real b) /* log(exp(a) + exp(b)) */
{
    return npksdi_max(a, b) + NPKSD_LOG(1 + NPKSD_EXP(-npksdi_abs(a - b)));
}

/* To 26 significant bits (float: 12): data sets that differ only in row order must tie. */
static npksd_real npksdi_rounded(npksd_real statistic)
{
    npksdi_bits unit = (npksdi_bits)1 << (NPKSDI_MANTISSA / 2 + 1);
    npksdi_bits bits = npksdi_bits_of(npksdi_clamp(statistic, NPKSDI_HUGE));
    return npksdi_from_bits((bits + unit / 2) & ~(unit - 1));
}

/* Can this tester serve a monitor? n, m and its null values make its fingerprint. */
static npksd_status npksdi_admit_tester(const npksd_monitor *monitor, const npksd_tester *t,
                                        uint64_t *fingerprint)
{
    NPKSDI_REFUSE(monitor == NULL || t == NULL || t->model_.options_.smooth > 0
                      || t->model_.options_.resample_redraw || npksdi_wild(&t->model_.options_),
                  NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(monitor->capacity == 0 || !npksdi_is_done(t), NPKSD_ERROR_STATE);
    size_t numbers = t->model_.replicates_ * t->model_.width_;
    uint64_t shape = (uint64_t)t->model_.n_ << 32 ^ t->model_.m_ ^ t->model_.options_.seed << 1;
    *fingerprint = (npksdi_hash(t->model_.null_, numbers * sizeof(npksd_real)) ^ shape) | 1;
    return NPKSD_OK;
}

static size_t npksdi_sequential_rank(const npksd_monitor *monitor, const npksdi_model *model,
                                     const npksd_real *memory, npksd_real statistic)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, monitor->seed_,
                                     NPKSDI_STREAM(NPKSDI_MONITOR, monitor->recordings));
    size_t larger = 0, ties = 0;
    for (size_t r = 0; r < model->replicates_ + monitor->kept_; r++) {
        npksd_real other = r < model->replicates_ ? npksdi_rounded(model->null_[r * model->width_])
                                                  : memory[r - model->replicates_];
        larger += other > statistic;
        ties += !(other > statistic) && !(other < statistic);
    }
    return 1 + larger + npksdi_below(&rng, ties + 1);
}

NPKSDI_DEF npksd_status npksd_monitor_begin(npksd_monitor *monitor, npksd_real alpha,
                                            size_t capacity, uint64_t seed)
{
    NPKSDI_REFUSE(monitor == NULL || !npksdi_in_range(alpha, NPKSDI_TINY, 1) || !(alpha < 1)
                      || capacity == 0 || capacity > SIZE_MAX / 2 / sizeof(npksd_real),
                  NPKSD_ERROR_ARGUMENT);
    NPKSD_MEMSET(monitor, 0, sizeof *monitor);
    monitor->alpha = alpha;
    monitor->capacity = capacity;
    monitor->seed_ = seed;
    monitor->p = monitor->reserve_ = 1;
    monitor->bets_[0] = monitor->bets_[1] = NPKSDI_EXP_LOW; /* nothing */
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_monitor_add(npksd_monitor *monitor, const npksd_tester *t,
                                          npksd_real *memory, const npksd_result *result)
{
    uint64_t tester = 0;
    NPKSDI_TRY(npksdi_admit_tester(monitor, t, &tester));
    NPKSDI_REFUSE(memory == NULL || result == NULL
                      || (monitor->tester_ != 0 && monitor->tester_ != tester)
                      || result->replicates != t->model_.replicates_
                      || !(npksdi_abs(result->bandwidth - t->model_.bandwidth_) <= 0),
                  NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(!npksdi_finite(&result->statistic, 1), NPKSD_ERROR_NONFINITE);
    NPKSDI_REFUSE(monitor->kept_ >= monitor->capacity, NPKSD_ERROR_STATE);
    npksd_real statistic = npksdi_rounded(result->statistic);
    size_t r = npksdi_sequential_rank(monitor, &t->model_, memory, statistic);
    monitor->tester_ = tester;
    memory[monitor->kept_++] = statistic;
    monitor->recordings++;
    size_t N = t->model_.replicates_ + monitor->kept_;
    monitor->p = npksdi_share(r, N);
    npksd_real stake = monitor->reserve_ / (4 * (npksd_real)monitor->recordings);
    monitor->reserve_ -= 2 * stake;
    for (int k = 0; k < 2; k++) {
        npksd_real power = npksdi_kappas[k] - 1, *sum = monitor->sums_ + k;
        for (size_t j = monitor->terms_ + 1; j <= N; j++)
            *sum += NPKSD_EXP(power * NPKSD_LOG((npksd_real)j));
        npksd_real bet = NPKSD_LOG((npksd_real)N / *sum) + power * NPKSD_LOG((npksd_real)r);
        monitor->bets_[k] = npksdi_log_sum(monitor->bets_[k], NPKSD_LOG(stake)) + bet;
        monitor->changes_[k] = npksdi_max(0, monitor->changes_[k]) + bet;
    }
    monitor->terms_ = N;
    monitor->log_evidence = npksdi_log_sum(npksdi_log_sum(monitor->bets_[0], monitor->bets_[1]),
                                           NPKSD_LOG(monitor->reserve_));
    monitor->log_change = npksdi_log_sum(monitor->changes_[0], monitor->changes_[1]) - NPKSD_LOG(2);
    npksd_real limit = -NPKSD_LOG(monitor->alpha);
    monitor->alarm |= monitor->log_evidence >= limit;
    monitor->change_alarm |= monitor->log_change >= limit;
    if (monitor->alarm && monitor->alarm_at == 0)
        monitor->alarm_at = monitor->recordings;
    if (monitor->change_alarm && monitor->change_alarm_at == 0)
        monitor->change_alarm_at = monitor->recordings;
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_monitor_restart(npksd_monitor *monitor, const npksd_tester *fresh)
{
    uint64_t tester = 0;
    NPKSDI_TRY(npksdi_admit_tester(monitor, fresh, &tester));
    NPKSDI_REFUSE(monitor->tester_ == tester, NPKSD_ERROR_ARGUMENT);
    monitor->tester_ = tester;
    monitor->kept_ = monitor->terms_ = 0;
    monitor->sums_[0] = monitor->sums_[1] = 0;
    return NPKSD_OK;
}

/* ======== >>blob: calibrate here, check there ======== */

/* Whole numbers of a blob, little-endian; arrays go through the one list of >>memory. */
static size_t npksdi_blob_whole(npksdi_walk *walk, size_t value, size_t bytes)
{
    uint64_t word = value;
    npksdi_blob_word(walk, &word, bytes);
    walk->bad_ |= word > (bytes == 4 ? (size_t)INT_MAX : SIZE_MAX / 2);
    return walk->bad_ ? 0 : (size_t)word;
}
/* "npksdblb", format, bytes of a number, bytes of the blob. */
enum { NPKSDI_FORMAT = 2, NPKSDI_BLOB_HEAD = 24 };

static void npksdi_blob_head(npksdi_walk *walk, uint64_t total)
{
    const uint64_t magic = UINT64_C(0x626C6264736B706E), real = sizeof(npksd_real);
    const uint64_t head[] = { magic, NPKSDI_FORMAT | real << 32, total };
    for (size_t k = 0; k < 3; k++) {
        uint64_t word = head[k];
        npksdi_blob_word(walk, &word, 8);
        walk->bad_ |= word != head[k];
    }
}

/* The options that shape a tester, and n and m. Callbacks, allocator and rng are not saved. */
static void npksdi_blob_options(npksdi_walk *walk, npksd_options *o, size_t *n, size_t *m,
                                npksd_real *scales)
{
    const npksd_real all = NPKSDI_LARGEST;
    size_t *sizes[] = {
        n,          m,         &o->fit_rows, &o->replicates, &o->pilot, &o->resample,
        &o->degree, &o->basis, &o->features, &o->scale_count
    };
    int *whole[] = { &o->resample_redraw, &o->resample_distinct,
                     &o->summary,         &o->estimator,
                     &o->kernel,          &o->form,
                     &o->statistic,       &o->standardize,
                     &o->diagnose };
    npksd_real *reals[] = { &o->alpha, &o->smooth, &o->bandwidth };
    npksdi_blob_word(walk, &o->seed, 8);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        *sizes[k] = npksdi_blob_whole(walk, *sizes[k], 8);
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
        *whole[k] = (int)npksdi_blob_whole(walk, (size_t)*whole[k], 4);
    o->components = (unsigned)npksdi_blob_whole(walk, o->components, 4);
    for (size_t k = 0; k < sizeof reals / sizeof *reals; k++)
        npksdi_blob_real(walk, reals[k], -all, all);
    walk->bad_ |= o->scale_count > NPKSD_SCALES_MAX;
    for (size_t c = 0; c < o->scale_count && !walk->bad_; c++)
        npksdi_blob_real(walk, scales + c, -all, all);
}

/* The results of the fit and the replicates. */
static void npksdi_blob_body(npksdi_walk *walk, npksd_tester *t)
{
    t->model_.flags_ = (unsigned)npksdi_blob_whole(walk, t->model_.flags_, 4);
    npksdi_blob_real(walk, &t->model_.bandwidth_, 1 / NPKSDI_UNSCALED_CLAMP, NPKSDI_UNSCALED_CLAMP);
    npksdi_blob_real(walk, &t->model_.reference_rows_, t->model_.has_margins_ ? 1 : 0,
                     NPKSDI_LARGEST);
    npksdi_tester_arrays(t, walk);
}

NPKSDI_DEF npksd_status npksd_tester_save(const npksd_tester *tester, void *buffer, size_t capacity,
                                          size_t *size)
{
    NPKSDI_REFUSE(tester == NULL || size == NULL, NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(!npksdi_is_done(tester)
                      || tester->model_.options_.estimator == NPKSD_ESTIMATOR_CALLBACK
                      || tester->model_.summary_ == NPKSD_SUMMARY_CALLBACK,
                  NPKSD_ERROR_STATE);
    npksd_tester t = *tester; /* the walk wants pointers to what it reads */
    npksd_options o = t.model_.options_;
    npksd_real scales[NPKSD_SCALES_MAX];
    o.summary = t.model_.summary_; /* of one coordinate: none, whatever was asked for */
    for (size_t c = 0, k = 0; c < t.model_.kernel_count_ && k < o.scale_count; c++)
        if (t.model_.kernel_[c].wanted_)
            scales[k++] = t.model_.kernel_[c].scale_;
    size_t total = 0, passes = buffer != NULL ? 2 : 1;
    for (size_t writing = 0; writing < passes; writing++) {
        npksdi_walk walk = npksdi_walk_begin(NPKSDI_WRITE, writing ? buffer : NULL);
        NPKSDI_REFUSE(writing && capacity < total, NPKSD_ERROR_MEMORY);
        npksdi_blob_head(&walk, total);
        npksdi_blob_options(&walk, &o, &t.model_.n_, &t.model_.m_, scales);
        npksdi_blob_body(&walk, &t);
        NPKSDI_REFUSE(walk.bad_, NPKSD_ERROR_NUMERIC); /* nobody could load it */
        uint64_t sum = writing ? npksdi_hash(walk.block_, walk.at_) : 0;
        npksdi_blob_word(&walk, &sum, 8);
        total = walk.at_;
    }
    *size = total;
    return NPKSD_OK;
}

/* A blob may come from anywhere: can a fit produce these families, boxes, weights and pairs? */
static int npksdi_blob_sane(const npksdi_model *model, int equal_weights)
{
    size_t active = 0;
    int sane = model->flags_ < 32;
    for (size_t i = 0; i < model->m_; i++) {
        uint32_t family = model->family_of_[i];
        active += model->weights_[i] > 0;
        sane &= family < model->family_count_ || family == NPKSDI_CONSTANT;
        sane &= model->box_low_[i] <= model->box_high_[i];
    }
    for (size_t k = 1; k < model->pair_columns_; k++)
        sane &= model->paired_[k - 1] < model->paired_[k];
    return sane && active > 0 && (equal_weights || active <= model->options_.resample);
}

/* Head and options of a blob; walk stands before the body. Returns plan's bytes, 0 for no blob. */
static size_t npksdi_blob_open(npksdi_walk *walk, npksd_tester *plan, const void *blob, size_t size)
{
    npksd_options o = npksd_default_options();
    npksd_real scales[NPKSD_SCALES_MAX];
    size_t n = 0, m = 0;
    uint64_t sum = 0;
    *walk = npksdi_walk_begin(NPKSDI_READ, NULL);
    walk->blob_ = (const unsigned char *)blob;
    walk->size_ = size;
    NPKSDI_REFUSE(size < NPKSDI_BLOB_HEAD + 8, 0);
    walk->at_ = size - 8;
    npksdi_blob_word(walk, &sum, 8);
    walk->at_ = 0;
    npksdi_blob_head(walk, size);
    NPKSDI_REFUSE(walk->bad_ || sum != npksdi_hash(blob, size - 8), 0);
    npksdi_blob_options(walk, &o, &n, &m, scales);
    o.scales = scales; /* callbacks that are missing now are a problem, too: */
    NPKSDI_REFUSE(walk->bad_ || npksd_options_problem(&o, n, m) != NULL, 0);
    size_t needed = npksdi_tester_plan(plan, n, m, &o, NULL, 1);
    npksdi_walk counter = npksdi_walk_begin(NPKSDI_WRITE, NULL);
    counter.at_ = walk->at_;
    npksdi_blob_body(&counter, plan); /* does the blob hold exactly what these sizes ask for? */
    return counter.at_ == size - 8 ? needed : 0;
}

/* A tester from a blob, in the caller's workspace or in memory that it owns. */
static npksd_status npksdi_load(npksd_tester **tester, const void *blob, size_t size,
                                const npksd_allocator *allocator, void *workspace, size_t bytes)
{
    npksdi_walk walk;
    npksd_tester plan, *t;
    NPKSDI_REFUSE(npksdi_blob_open(&walk, &plan, blob, size) == 0, NPKSD_ERROR_FORMAT);
    if (allocator != NULL)
        plan.model_.options_.allocator = *allocator;
    NPKSDI_TRY(npksdi_tester_install(&t, &plan, workspace, bytes));
    npksdi_model *model = &t->model_;
    npksdi_blob_body(&walk, t);
    if (!npksdi_blob_sane(model, npksdi_equal_weights(model)) || walk.bad_) {
        npksd_tester_destroy(t);
        return NPKSD_ERROR_FORMAT;
    }
    for (size_t j = 0; j < model->m_; j++) {
        npksdi_set_ruler(model, j);
        npksdi_set_edge_codes(model, j);
    }
    t->schedule_.stage_ = NPKSDI_STAGE_DONE;
    t->schedule_.total_ = npksdi_stage(t, NPKSDI_STAGE_REPLICATES, 0, NULL);
    t->schedule_.done_ = t->schedule_.total_;
    *tester = t;
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_blob_info(const void *bytes, size_t size, size_t *n, size_t *m,
                                        size_t *workspace_bytes)
{
    npksdi_walk walk;
    npksd_tester plan;
    NPKSDI_REFUSE(bytes == NULL, NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(npksdi_blob_open(&walk, &plan, bytes, size) == 0, NPKSD_ERROR_FORMAT);
    npksd_tester_shape(&plan, n, m);
    if (workspace_bytes != NULL)
        *workspace_bytes = plan.memory_bytes_;
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_tester_load_into(npksd_tester **tester, const void *bytes,
                                               size_t size, void *workspace, size_t workspace_bytes)
{
    NPKSDI_REFUSE(npksdi_missing(tester, bytes) || workspace == NULL, NPKSD_ERROR_ARGUMENT);
    return npksdi_load(tester, bytes, size, NULL, workspace, workspace_bytes);
}

NPKSDI_DEF npksd_status npksd_tester_load(npksd_tester **tester, const void *bytes, size_t size,
                                          const npksd_allocator *allocator)
{
    NPKSDI_REFUSE(npksdi_missing(tester, bytes) || (allocator != NULL && npksdi_is_half(allocator)),
                  NPKSD_ERROR_ARGUMENT);
    return npksdi_load(tester, bytes, size, allocator, NULL, 0);
}

/* ======== >>primitives: a median distance, a statistic ======== */

enum { NPKSDI_MEDIAN_ALL = 512, NPKSDI_MEDIAN_MOST = 16384 };

NPKSDI_DEF npksd_status npksd_median_distance(const npksd_real *rows, size_t count, size_t m,
                                              const npksd_options *options, npksd_real *out)
{
    npksd_options o = npksdi_options_of(options);
    npksd_real most = 0, unit = 1; /* times this, numbers have squares that are in range */
    size_t used = npksdi_min_size(count, NPKSDI_MEDIAN_MOST), pairs = 0;
    NPKSDI_REFUSE(rows == NULL || out == NULL || count == 0 || m == 0
                      || npksdi_is_half(&o.allocator) || count > SIZE_MAX / sizeof *rows / m,
                  NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(!npksdi_finite(rows, count * m), NPKSD_ERROR_NONFINITE);
    for (size_t i = 0; i < count * m; i++)
        most = npksdi_max(most, npksdi_abs(rows[i]));
    if (most > NPKSDI_UNSCALED_CLAMP || most < 1 / NPKSDI_UNSCALED_CLAMP)
        unit = npksdi_min(NPKSDI_HUGE, 1 / npksdi_max(most, NPKSDI_TINY));
    size_t shifts = count <= NPKSDI_MEDIAN_ALL ? count / 2 : 8; /* all pairs, or spread ones */
    size_t bytes = npksdi_max_size(shifts, 1) * used * sizeof *out;
    npksd_real *squares = (npksd_real *)npksdi_alloc(&o.allocator, bytes);
    NPKSDI_REFUSE(squares == NULL, NPKSD_ERROR_MEMORY);
    for (size_t k = 1; k <= shifts; k++) {
        size_t shift = count <= NPKSDI_MEDIAN_ALL ? k : npksdi_shift(used, k);
        for (size_t a = 0; a < (2 * shift == used ? shift : used); a++) {
            const npksd_real *x = rows + npksdi_spread_row(count, used, a) * m;
            const npksd_real *y = rows + npksdi_spread_row(count, used, (a + shift) % used) * m;
            npksd_real sum = 0;
            for (size_t j = 0; j < m; j++)
                sum += (x[j] * unit - y[j] * unit) * (x[j] * unit - y[j] * unit);
            squares[pairs++] = sum;
        }
    }
    npksd_real median = npksdi_median_of(squares, pairs);
    npksdi_free(&o.allocator, squares, bytes);
    *out = median > 0 ? npksdi_min(npksdi_max(median / unit, NPKSDI_TINY), NPKSDI_LARGEST) : 1;
    return NPKSD_OK;
}

/* The number of rows and scores as given, in units of the bandwidth, in a tester planned for it. */
static npksd_real npksdi_statistic_of(npksd_tester *t, const npksd_real *rows,
                                      const npksd_real *scores, const npksd_real *weights)
{
    npksdi_model *model = &t->model_;
    npksdi_scratch *w = &t->scratch_;
    npksd_real sigma = model->options_.bandwidth;
    size_t n = model->n_, m = model->m_;
    npksdi_set_bandwidth(model, sigma);
    for (size_t j = 0; j < m; j++) {
        w->weights_[j] = weights != NULL ? weights[j] : 1 / (npksd_real)m;
        for (size_t a = 0; a < n; a++) /* the median: a row far out must not move the others */
            w->x_[a] = rows[a * m + j];
        model->centre_[j] = npksdi_find(w->x_, n, n / 2);
    }
    npksdi_count_columns(model, w);
    npksdi_clear_stein_sums(model, w);
    for (size_t k = 0; k < model->frequency_panels_; k++)
        npksdi_draw_frequencies(model, w, k);
    for (size_t panel = 0; panel < model->panels_; panel++) {
        npksd_real *x = w->x_ + panel * NPKSDI_T * m, *s = w->scores_;
        for (size_t k = 0; k < m * NPKSDI_T; k++) {
            size_t j = k / NPKSDI_T, a = panel * NPKSDI_T + k % NPKSDI_T, at = a * m + j;
            x[k] = a < n ? (rows[at] - model->centre_[j]) / sigma : 0;
            s[k] = a < n ? scores[at] * sigma : 0;
        }
        npksdi_columns_panel(model, w, panel, x, s);
    }
    for (size_t k = model->panels_; k < npksdi_evaluation_items(model); k++)
        npksdi_evaluation_item(model, w, k);
    return npksdi_in_units(model, NPKSD_COMPONENT_STEIN, w->values_[0]);
}

NPKSDI_DEF npksd_status npksd_statistic(const npksd_real *rows, const npksd_real *scores, size_t n,
                                        size_t m, const npksd_real *weights,
                                        const npksd_options *options, npksd_real *out)
{
    npksd_tester plan, *t;
    const npksd_real most = NPKSDI_UNSCALED_CLAMP, one = 1;
    NPKSDI_REFUSE(rows == NULL || scores == NULL || out == NULL || options == NULL
                      || !(options->bandwidth > 0) || options->statistic == NPKSD_STATISTIC_UV
                      || options->scale_count > NPKSD_SCALES_MAX,
                  NPKSD_ERROR_ARGUMENT);
    npksd_options o = npksd_default_options();
    o.allocator = options->allocator, o.rng = options->rng, o.seed = options->seed;
    o.kernel = options->kernel, o.form = options->form, o.statistic = options->statistic;
    o.features = options->features, o.bandwidth = options->bandwidth;
    o.scales = options->scale_count > 0 ? options->scales : &one;
    o.scale_count = 1, o.components = NPKSD_COMPONENT_STEIN;
    o.summary = NPKSD_SUMMARY_NONE, o.estimator = NPKSD_ESTIMATOR_GAUSS;
    NPKSDI_REFUSE(npksd_options_problem(&o, n, m) != NULL, NPKSD_ERROR_ARGUMENT);
    NPKSDI_REFUSE(!npksdi_finite(rows, n * m) || !npksdi_finite(scores, n * m)
                      || (weights != NULL && !npksdi_finite(weights, m)),
                  NPKSD_ERROR_NONFINITE);
    for (size_t i = 0; i < m && weights != NULL; i++)
        NPKSDI_REFUSE(weights[i] < 0, NPKSD_ERROR_ARGUMENT);
    for (size_t i = 0; i < n * m; i++) /* squares must fit; halves, so that the difference does */
        if (npksdi_abs(scores[i] * o.bandwidth) > most
            || npksdi_abs(rows[i] * NPKSDI_C(0.5) - rows[i % m] * NPKSDI_C(0.5))
                > most * npksdi_min(1, o.bandwidth))
            return NPKSD_ERROR_NUMERIC;
    o.replicates = 0, o.resample = weights != NULL ? m : 0; /* room for unequal weights */
    npksdi_tester_plan(&plan, n, m, &o, NULL, 1);
    NPKSDI_TRY(npksdi_tester_install(&t, &plan, NULL, 0));
    npksd_real value = npksdi_statistic_of(t, rows, scores, weights);
    npksd_tester_destroy(t);
    NPKSDI_REFUSE(!(npksdi_abs(value) < NPKSDI_HUGE), NPKSD_ERROR_NUMERIC);
    *out = value;
    return NPKSD_OK;
}

#ifdef __cplusplus
}
#endif

#endif /* NPKSD_IMPLEMENTATION */

/*
 * npksd.h is available under two licences; take the one you prefer.
 * ALTERNATIVE A - MIT License
 * Copyright (c) 2026 npksd.h contributors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
 * associated documentation files (the "Software"), to deal in the Software without restriction,
 * including without limitation the rights to use, copy, modify, merge, publish, distribute,
 * sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or
 * substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
 * NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
 * DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 *
 * ALTERNATIVE B - Public Domain, without warranty (Unlicense, www.unlicense.org; text in LICENSE)
 */
