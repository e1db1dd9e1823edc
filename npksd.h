/*
 * npksd.h - v0.1.0 - could my recorded data have come from this generator?
 * One C header that answers with an exact p-value and says where the two differ.
 * Kernelised Stein test for implicit generative models (NP-KSD, Xu & Reinert), and more.
 * SPDX-License-Identifier: MIT OR Unlicense       (both texts at the end of this file)
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
 *     n recorded rows of m numbers, and a function that draws such rows. Null hypothesis: the recorded rows
 *     come from that function. p_value is exact for every n, m and every quality of the fit:
 *     P(p <= a) <= a for each a if the null hypothesis holds. A small p says "these rows are not from this
 *     generator". A large p does not say "the generator is right": only that n rows did not show a fault.
 *     Use rows the generator was not fitted to, and let one data set be one call: rows inside a data set may
 *     depend on each other (a trajectory, a session), data sets must not.
 *
 * HOW
 *     (1) Draw N = fit_rows rows and learn, in closed form, the conditional scores s_i(x | t) of each
 *     coordinate given a summary t of the others. (2) A Stein kernel turns rows and scores into a number that
 *     is small for rows from the generator. (3) Draw b = replicates data sets of n rows: p is the rank of the
 *     observed number among theirs. The default statistic is the largest of several components, each
 *     standardised on a pilot batch of data sets:
 *         STEIN   V- and U-statistics at four bandwidths: shape and location, anything smooth
 *         MIRROR  the same with the scores reversed, two-sided: spread and tails; blind to pure shifts
 *         MOMENT  kernel 1 + x.y: means, variances, covariances; blind to shape beyond them
 *         MMD     distance to drawn rows: proportions of separated modes, which no score can see
 *     For the paper's own test: components = NPKSD_COMPONENT_STEIN, statistic = NPKSD_STATISTIC_V, one scale
 *     of 1, standardize = 0, form = NPKSD_FORM_SCALAR. bench/RESULTS.md measures who sees what.
 *
 * API TIERS
 *     1  npksd_test, npksd_test_samples: one call, one answer
 *     2  npksd_tester: prepare once, check many data sets; in steps inside a frame budget; in memory of your
 *        own; saved as a blob and loaded on a device
 *     3  npksd_worker: the replicates on your own threads or MPI ranks
 *     npksd_self_check asks whether a generator is fit for testing, npksd_power what a recording could show.
 *
 * MEMORY
 *     A tester is one block of npksd_tester_size bytes: with default options 0.2 MB for n = 100, m = 3 and
 *     1.1 MB for n = 100, m = 40; it grows with n m, min(fit_rows, 1000) m, replicates, and m p^2 of p score
 *     features, never with n^2 (but for the wild bootstrap). A loaded blob needs a quarter or less. init uses
 *     a block of yours at any address; create asks options.allocator once; nothing is allocated later. No call
 *     needs more than about 8 KiB of stack.
 *
 * RANDOMNESS
 *     The built-in generator is Threefry-2x64-13: word i of stream s is a function of (seed, s, i). Replicate
 *     r is stream r; fit, pilot, index sets, noise and permutations have streams of their own. Seed 0 is an
 *     ordinary seed. A caller's rng with seek_fn keeps all of this; without it numbers are used in order.
 *
 * FRAME BUDGET
 *     npksd_tester_step(t, k) does k units. A generator call is one unit, all else is cut into units of about
 *     0.1 ms. Any pattern of steps gives the same bits. The caller owns the clock.
 *
 * THREADS
 *     (a) No mutable globals. (b) Distinct testers in distinct threads. (c) One tester in one thread at a time,
 *     except npksd_tester_replicates, which takes it const, one worker a thread.
 *
 * DETERMINISM
 *     The same binary gives the same bits. Other compilers and flags do too as long as they neither contract
 *     a*b+c (-ffp-contract=off) nor reorder sums; a BLAS build promises the same binary only.
 *
 * NUMERICS AND LIMITS
 *     Rows are centred and scaled by the fit sample; scaled values are clamped to +-1e6 (float 1e4), so 1e300
 *     is an ordinary unit. A coordinate that never changes in the fit sample is watched on a scale of 1e-3 of
 *     the others. NaN and infinity are refused by bit pattern. Correct to 1e-7 under -ffast-math.
 *     Cost a data set: n^2 (m + columns) for the pairs, or n F m with features = F; m at most 4e6, 256
 *     features a coordinate (GAUSS: any), 16 scales. Discrete rows: exact, but scores like densities; try
 *     smooth = 0.1. Few replicates: 1/(b+1) is the least p.
 *
 * CONFIG MACROS (define before the include that has NPKSD_IMPLEMENTATION; FLOAT, STATIC and NAMESPACE before all)
 *     NPKSD_FLOAT              npksd_real is float; every symbol is npksdf_...
 *     NPKSD_STATIC             all functions static: private to the including file
 *     NPKSD_NAMESPACE          a prefix for every symbol
 *     NPKSD_NO_MALLOC          no malloc, no math.h, no string.h: allocator or workspace mandatory
 *     NPKSD_ASSERT(x)          default: nothing
 *     NPKSD_EXP LOG SQRT SIN COS, NPKSD_MEMCPY MEMSET    replace what the library brings or includes
 *     NPKSD_VECTORS            products with GNU vector extensions, where the compiler has them: sooner, and the
 *                              same to rounding
 *     NPKSD_GEMM(...)          your matrix product, see >>linalg; NPKSD_USE_CBLAS: cblas_?gemm (with
 *                              NPKSD_BLAS_INT, default int)
 *
 * ERRORS
 *     NPKSD_OK is 0, NPKSD_MORE 1, errors are negative; npksd_status_string names them. On any error outputs
 *     are untouched and memory is given back. The verdict is never a status: it is in npksd_result.
 *
 * HISTORY (every changed default, random stream or numeric result is named here)
 *     0.1.0   the first version
 */
#ifndef NPKSD_H
#define NPKSD_H

#include <stddef.h>
#include <stdint.h>

#define NPKSD_VERSION_MAJOR 0
#define NPKSD_VERSION_MINOR 1
#define NPKSD_VERSION_PATCH 0
#define NPKSD_VERSION (NPKSD_VERSION_MAJOR * 10000 + NPKSD_VERSION_MINOR * 100 + NPKSD_VERSION_PATCH)

/* Every public function is renamed by NPKSD_NAMESPACE: with NPKSD_NAMESPACE engine_ the linker sees
   engine_npksd_test. A float build calls itself npksdf_..., so it cannot link with a double one. */
#ifdef NPKSD_FLOAT
#define NPKSDI_BASE_NAME(name) npksdf_##name
#else
#define NPKSDI_BASE_NAME(name) npksd_##name
#endif
#ifdef NPKSD_NAMESPACE
#define NPKSDI_JOIN(a, b) a##b
#define NPKSDI_PASTE(a, b) NPKSDI_JOIN(a, b)
#define NPKSDI_NAME(name) NPKSDI_PASTE(NPKSD_NAMESPACE, NPKSDI_BASE_NAME(name))
#else
#define NPKSDI_NAME(name) NPKSDI_BASE_NAME(name)
#endif
#if defined(NPKSD_FLOAT) || defined(NPKSD_NAMESPACE)
#define npksd_status_string NPKSDI_NAME(status_string)
#define npksd_version NPKSDI_NAME(version)
#define npksd_rng_seeded NPKSDI_NAME(rng_seeded)
#define npksd_uniform NPKSDI_NAME(uniform)
#define npksd_normal NPKSDI_NAME(normal)
#define npksd_default_options NPKSDI_NAME(default_options)
#define npksd_options_problem NPKSDI_NAME(options_problem)
#define npksd_samples_minimum NPKSDI_NAME(samples_minimum)
#define npksd_samples_problem NPKSDI_NAME(samples_problem)
#define npksd_test NPKSDI_NAME(test)
#define npksd_test_samples NPKSDI_NAME(test_samples)
#define npksd_test_samples_diagnose NPKSDI_NAME(test_samples_diagnose)
#define npksd_self_check NPKSDI_NAME(self_check)
#define npksd_power NPKSDI_NAME(power)
#define npksd_tester_size NPKSDI_NAME(tester_size)
#define npksd_tester_init NPKSDI_NAME(tester_init)
#define npksd_tester_create NPKSDI_NAME(tester_create)
#define npksd_tester_step NPKSDI_NAME(tester_step)
#define npksd_tester_progress NPKSDI_NAME(tester_progress)
#define npksd_tester_check NPKSDI_NAME(tester_check)
#define npksd_tester_null NPKSDI_NAME(tester_null)
#define npksd_tester_scores NPKSDI_NAME(tester_scores)
#define npksd_tester_save NPKSDI_NAME(tester_save)
#define npksd_tester_load NPKSDI_NAME(tester_load)
#define npksd_tester_shape NPKSDI_NAME(tester_shape)
#define npksd_tester_destroy NPKSDI_NAME(tester_destroy)
#define npksd_tester_prepare NPKSDI_NAME(tester_prepare)
#define npksd_tester_scratch_size NPKSDI_NAME(tester_scratch_size)
#define npksd_tester_width NPKSDI_NAME(tester_width)
#define npksd_tester_replicates NPKSDI_NAME(tester_replicates)
#define npksd_tester_merge NPKSDI_NAME(tester_merge)
#define npksd_median_distance NPKSDI_NAME(median_distance)
#define npksd_statistic NPKSDI_NAME(statistic)
#endif

#ifdef NPKSD_STATIC
#if defined(__GNUC__) || defined(__clang__)
#define NPKSD_API static __attribute__((unused))
#else
#define NPKSD_API static
#endif
#else
#define NPKSD_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ======== types ======== */

#ifdef NPKSD_FLOAT
typedef float npksd_real;
#else
typedef double npksd_real;
#endif

/* name, value, text: the enum and npksd_status_string both come from this list */
#define NPKSD_STATUS_LIST(X)                                                                       \
    X(OK, 0, "ok")                                                                                 \
    X(MORE, 1, "not finished: call step again")                                                    \
    X(ERROR_ARGUMENT, -1, "argument or option out of range (npksd_options_problem says which)")    \
    X(ERROR_MEMORY, -2, "not enough memory, or the workspace is too small")                        \
    X(ERROR_NONFINITE, -3, "NaN or infinity in rows or scores")                                    \
    X(ERROR_GENERATOR, -4, "the generator gave up, or ignores its rng")                            \
    X(ERROR_NUMERIC, -5, "the score equations cannot be solved: raise ridge or fit_rows")          \
    X(ERROR_FORMAT, -6, "not a blob of this version and precision, or a damaged one")              \
    X(ERROR_STATE, -7, "called too early: step until NPKSD_OK first")

typedef enum npksd_status {
#define NPKSDI_ENUM(name, value, text) NPKSD_##name = (value),
    NPKSD_STATUS_LIST(NPKSDI_ENUM)
#undef NPKSDI_ENUM
    NPKSD_STATUS_LAST = NPKSD_ERROR_STATE
} npksd_status;

typedef struct npksd_allocator {
    void *(*alloc_fn)(size_t bytes, void *user_data);           /* NULL return = out of memory */
    void (*free_fn)(void *ptr, size_t bytes, void *user_data);  /* bytes as asked for */
    void *user_data;
} npksd_allocator;
/* Both functions or neither; all zero = malloc and free (not with NPKSD_NO_MALLOC). */

typedef struct npksd_rng {
    uint64_t (*next_fn)(void *user_data);                  /* 64 uniform bits */
    void (*seek_fn)(uint64_t stream, void *user_data);     /* go to the start of a stream, or NULL */
    void *user_data;
} npksd_rng;
/* All zero = the built-in counter generator keyed by options.seed. Without seek_fn the numbers are used in
   the order they come: reproducible, but not splittable over threads. */

typedef struct npksd_rng_state {
    uint64_t seed_, stream_, index_; /* the next word is number index_ of stream (seed_, stream_) */
    uint64_t words_[8];              /* words index_ - index_ % 8 ... of it, made 8 at a time */
} npksd_rng_state;

typedef int (*npksd_sample_fn)(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data);
/* The generator under test: write count rows of m numbers, row after row, drawing every random number from
   rng. Return 0, or anything else to give up. count is always n, one whole data set. */

typedef int (*npksd_score_fn)(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *user_data);
/* d log q(x) / dx_i for each row and coordinate, in the units of the rows. Re-entrant. Return 0. */

typedef void (*npksd_summary_fn)(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *user_data);
/* t = summary_dim numbers computed from row without its coordinate i. Re-entrant. */

enum { NPKSD_SUMMARY_MEAN, NPKSD_SUMMARY_NONE, NPKSD_SUMMARY_ALL, NPKSD_SUMMARY_MEAN_VAR,
       NPKSD_SUMMARY_NEIGHBOURS, NPKSD_SUMMARY_CALLBACK };
enum { NPKSD_ESTIMATOR_AUTO, NPKSD_ESTIMATOR_GAUSS, NPKSD_ESTIMATOR_POLY, NPKSD_ESTIMATOR_SPLINE,
       NPKSD_ESTIMATOR_RBF, NPKSD_ESTIMATOR_CALLBACK };
enum { NPKSD_KERNEL_GAUSS, NPKSD_KERNEL_IMQ };
enum { NPKSD_FORM_VECTOR, NPKSD_FORM_SCALAR };
enum { NPKSD_STATISTIC_UV, NPKSD_STATISTIC_V, NPKSD_STATISTIC_U };
enum { NPKSD_CALIBRATE_MONTE_CARLO, NPKSD_CALIBRATE_WILD_BOOTSTRAP };
enum { NPKSD_COMPONENT_STEIN = 1, NPKSD_COMPONENT_MIRROR = 2, NPKSD_COMPONENT_MOMENT = 4,
       NPKSD_COMPONENT_MMD = 8, NPKSD_COMPONENT_ALL = 15 };
enum { NPKSD_FLAG_TIES = 1,                /* over 5 % repeated values in a coordinate of the fit sample */
       NPKSD_FLAG_CONSTANT_COORDINATE = 2, /* a coordinate of the fit sample never changes */
       NPKSD_FLAG_STOPPED_EARLY = 4 };     /* stop_after was reached */
enum { NPKSD_SCALES_MAX = 16, NPKSD_FEATURES_MAX = 256 };

typedef struct npksd_options {
    uint64_t seed;               /* 0; any number is an ordinary seed */
    npksd_rng rng;               /* zero: built in */
    npksd_allocator allocator;   /* zero: malloc */
    size_t fit_rows;             /* 4000; N, rows drawn to learn the scores, at least 2 */
    size_t replicates;           /* 499; b, data sets drawn for the p-value, 1/(b+1) <= alpha */
    size_t pilot;                /* 200; data sets that standardise the components, at least 2 */
    npksd_real alpha;            /* 0.05; level of result.reject */
    size_t resample;             /* 0: all coordinates; B: as many drawn at random, others are not fitted */
    int resample_redraw;         /* 0: one index set for all data sets; 1: drawn again for each */
    int resample_distinct;       /* 0: with replacement; 1: without, B <= m */
    int summary;                 /* NPKSD_SUMMARY_MEAN: what a score knows of the other coordinates */
    npksd_summary_fn summary_fn; /* for NPKSD_SUMMARY_CALLBACK ... */
    void *summary_user_data;
    size_t summary_dim;          /* ... and how many numbers it writes */
    int estimator;               /* NPKSD_ESTIMATOR_AUTO */
    size_t degree;               /* 0: chosen (POLY 3; SPLINE 1, in t); at most 8 (SPLINE 3) */
    size_t basis;                /* 0: chosen (SPLINE 10, at least 4; RBF 24) */
    npksd_real ridge;            /* 0: chosen; otherwise relative to the mean diagonal of the moment matrix */
    npksd_score_fn score_fn;     /* for NPKSD_ESTIMATOR_CALLBACK: the classical KSD */
    void *score_user_data;
    int kernel;                  /* NPKSD_KERNEL_GAUSS */
    npksd_real bandwidth;        /* 0: median distance of the fit sample (scaled units) */
    const npksd_real *scales;    /* multipliers of bandwidth^2, copied; NULL with count 0: 1/8 1/4 1/2 1 */
    size_t scale_count;          /* 0 to NPKSD_SCALES_MAX */
    int form;                    /* NPKSD_FORM_VECTOR */
    int statistic;               /* NPKSD_STATISTIC_UV: V and U, aggregated */
    unsigned components;         /* NPKSD_COMPONENT_ALL */
    npksd_real smooth;           /* 0; sd of noise added to all rows alike, in scaled units */
    int standardize;             /* 1: scale each coordinate by its deviation in the fit sample; 0: centre only */
    size_t features;             /* 0: exact, n^2 work; F: linear time with F random frequencies (Gauss kernel) */
    size_t stop_after;           /* 0: never; h: npksd_test stops at the h-th replicate >= the statistic */
    int calibration;             /* NPKSD_CALIBRATE_MONTE_CARLO */
    int diagnose;                /* 0; 1: keep what npksd_diagnosis needs, m numbers a replicate */
    size_t block;                /* 1; npksd_test_samples: rows of one session, permuted together */
} npksd_options;

typedef struct npksd_result {
    npksd_real statistic;    /* T of the observed rows: largest standardised component, or the only one */
    npksd_real p_value;      /* exact: P(p <= a) <= a if the rows come from the generator, for every a */
    npksd_real threshold;    /* reject means statistic > threshold */
    npksd_real bandwidth;    /* sigma, scaled units */
    int reject;              /* p_value <= alpha */
    size_t replicates;       /* replicates used */
    npksd_real p_low, p_high;/* 95 % interval for the p-value that endless replicates would give */
    npksd_real ksd2;         /* effect size: U-statistic at the base bandwidth; may be negative */
    npksd_real out_of_range; /* share of observed rows outside the box of the fit sample */
    unsigned leading;        /* NPKSD_COMPONENT_ that attained the maximum */
    unsigned flags;          /* NPKSD_FLAG_ */
} npksd_result;

typedef struct npksd_diagnosis {
    npksd_real *coordinate_statistic;  /* m, or NULL: share v_i of the VECTOR V-statistic at the base bandwidth */
    npksd_real *coordinate_p;          /* m, or NULL: p-value of v_i by itself */
    npksd_real *coordinate_p_adjusted; /* m, or NULL: the same, paid for looking at m of them */
    npksd_real *row_influence;         /* n, or NULL: (1/n) sum_b u(z_a, z_b), the pull of each row */
} npksd_diagnosis;
/* Valid when nothing differs at all. A changed dependence lights up every coordinate that takes part in it. */

typedef struct npksd_self_check_result {
    size_t runs, rejected;  /* tests, and rejections at alpha */
    npksd_real mean_p;      /* about 1/2; more for discrete data */
    npksd_real distance;    /* Kolmogorov distance of the p-values from uniform */
    npksd_real uniform_p;   /* p-value of that distance */
    int repeatable;         /* 0: the same stream gave other rows: hidden state, rand(), a clock */
    int suspicious;         /* not repeatable, or uniform_p < 0.01 */
} npksd_self_check_result;

typedef struct npksd_power_result {
    size_t runs, rejected;
    npksd_real power, low, high; /* rejected / runs, and a 95 % interval */
} npksd_power_result;

typedef struct npksd_tester npksd_tester; /* fitted scores + null distribution for data sets of n rows */

/* ======== tier 1: one call ======== */

NPKSD_API npksd_status npksd_test(const npksd_real *observed, size_t n, size_t m, npksd_sample_fn sample_fn,
                                  void *user_data, const npksd_options *options, npksd_result *result);
/* Could observed (n rows of m numbers, row-major) have come from sample_fn? options NULL = defaults. */

NPKSD_API npksd_status npksd_test_samples(const npksd_real *observed, size_t n, const npksd_real *synthetic,
                                          size_t rows, size_t m, const npksd_options *options,
                                          npksd_result *result);
/* The same question when the synthetic rows are all there is: part of them fits the scores (at most
   fit_rows), the rest is permuted with the observed rows. Exact if all rows (or blocks) are exchangeable
   under "same source". At least npksd_samples_minimum(n) rows. Not with features, resample_redraw,
   stop_after, wild bootstrap. */

NPKSD_API npksd_status npksd_test_samples_diagnose(const npksd_real *observed, size_t n,
                                                   const npksd_real *synthetic, size_t rows, size_t m,
                                                   const npksd_options *options, npksd_result *result,
                                                   npksd_diagnosis *diagnosis, npksd_real *null_values);
/* The same with reasons; diagnosis, or any array in it, may be NULL, and so may null_values (replicates). */

NPKSD_API size_t npksd_samples_minimum(size_t n);
NPKSD_API const char *npksd_samples_problem(const npksd_options *options, size_t n, size_t rows, size_t m);
/* npksd_options_problem for npksd_test_samples. */

NPKSD_API npksd_status npksd_self_check(size_t n, size_t m, npksd_sample_fn sample_fn, void *user_data,
                                        const npksd_options *options, size_t runs,
                                        npksd_self_check_result *result);
/* Is the generator fit for testing? Runs the whole test `runs` times (100 is a good number) on data that
   the generator drew itself: the p-values must look uniform, and equal streams must give equal rows. */

NPKSD_API npksd_status npksd_power(size_t n, size_t m, npksd_sample_fn sample_fn, void *user_data,
                                   npksd_sample_fn alternative_fn, void *alternative_user_data,
                                   const npksd_options *options, size_t runs, npksd_power_result *result);
/* How often would n rows from alternative_fn be rejected? Plan your recording with it. One fit, then
   `runs` checks. */

/* ======== tier 2: prepare once, check many ======== */

NPKSD_API npksd_status npksd_tester_size(size_t n, size_t m, const npksd_options *options, size_t *bytes);
/* Bytes that npksd_tester_init needs for these options, alignment slack included. */

NPKSD_API npksd_status npksd_tester_init(npksd_tester **tester, size_t n, size_t m, npksd_sample_fn sample_fn,
                                         void *user_data, const npksd_options *options, void *workspace,
                                         size_t bytes);
/* A tester inside workspace (any alignment), which must outlive it. No allocation, now or later. */

NPKSD_API npksd_status npksd_tester_create(npksd_tester **tester, size_t n, size_t m, npksd_sample_fn sample_fn,
                                           void *user_data, const npksd_options *options);
/* The same in one allocation from options.allocator; none later. */

NPKSD_API npksd_status npksd_tester_step(npksd_tester *tester, size_t units);
/* Do up to units of work: fit, pilot, replicates. NPKSD_MORE until all is done, then NPKSD_OK. A generator
   call is one unit; the rest is cut into units of about equal cost. An error stays: create another tester. */

NPKSD_API void npksd_tester_progress(const npksd_tester *tester, size_t *done, size_t *total);
/* Units done and in all; done jumps ahead where a part of the fit took fewer than foreseen. Either pointer
   may be NULL. */

NPKSD_API npksd_status npksd_tester_check(npksd_tester *tester, const npksd_real *observed, npksd_result *result,
                                          npksd_diagnosis *diagnosis);
/* Test n rows against the finished tester; as often as you like. diagnosis may be NULL; coordinate p-values
   need options.diagnose. NPKSD_ERROR_STATE before the last step. */

NPKSD_API npksd_status npksd_tester_null(const npksd_tester *tester, npksd_real *out, size_t capacity, size_t *count);
/* The statistics of the replicates in the order drawn, for plots; count = how many there are, NULL is fine. */

NPKSD_API npksd_status npksd_tester_scores(npksd_tester *tester, const npksd_real *rows, size_t count,
                                           npksd_real *scores);
/* The fitted scores at any rows (count x m), in the units of the rows; 0 for coordinates not drawn. With
   an explicit score, what score_fn writes. NPKSD_ERROR_STATE before the fit. A callback that fails leaves scores
   as they were; but with count > n, or in the middle of a replicate, with some whole rows from the first on
   (an explicit score: with what it wrote). */

NPKSD_API npksd_status npksd_tester_save(const npksd_tester *tester, void *buffer, size_t capacity,
                                         size_t *size);
/* The finished tester as bytes, the same on every machine; buffer NULL: only the size. NPKSD_ERROR_STATE
   before the last step, and for testers with score or summary callbacks. */

NPKSD_API npksd_status npksd_tester_load(npksd_tester **tester, const void *bytes, size_t size,
                                         const npksd_allocator *allocator);
/* A tester that checks, scores and diagnoses, in one allocation (allocator NULL = malloc); it draws no
   replicates. Bytes that were cut, altered or made by the other precision: NPKSD_ERROR_FORMAT. */

NPKSD_API void npksd_tester_shape(const npksd_tester *tester, size_t *n, size_t *m);
/* Rows and coordinates that a check reads. Ask a tester from a blob before you give it rows: the blob says
   how many, whoever wrote it. Either pointer may be NULL. */

NPKSD_API void npksd_tester_destroy(npksd_tester *tester);
/* Gives the memory of create back; does nothing for init or NULL. */

/* ======== tier 3: your own threads or ranks ======== */

typedef struct npksd_worker {
    npksd_rng rng;         /* zero: the tester's own */
    void *user_data;       /* for sample_fn; NULL: the tester's own */
    void *scratch;         /* NULL: the tester's own, then one thread only */
    size_t scratch_bytes;  /* at least npksd_tester_scratch_size */
} npksd_worker;

NPKSD_API npksd_status npksd_tester_prepare(npksd_tester *tester);
/* All but the replicates. */

NPKSD_API size_t npksd_tester_scratch_size(const npksd_tester *tester);
NPKSD_API size_t npksd_tester_width(const npksd_tester *tester);
/* Bytes of a worker's scratch (any alignment), and numbers of a replicate: 1, or 1 + m with diagnose. */

NPKSD_API npksd_status npksd_tester_replicates(const npksd_tester *tester, npksd_worker *worker, size_t first,
                                               size_t count, npksd_real *out);
/* Replicates first .. first+count-1 into out (count x width). Any number of threads at once on a prepared
   tester, each with a worker of its own; the numbers do not depend on the split. On an error those before
   the replicate that failed are in out, and the rest of out is as it was. */

NPKSD_API npksd_status npksd_tester_merge(npksd_tester *tester, size_t first, size_t count,
                                          const npksd_real *values);
/* Give replicates to the tester, in any order; twice is harmless. When all are there the tester is
   finished; otherwise step fills what is missing. */

/* ======== random numbers, options, text ======== */

NPKSD_API npksd_rng npksd_rng_seeded(npksd_rng_state *state, uint64_t seed, uint64_t stream);
/* The built-in generator for your own use: word i of a stream is Threefry-2x64-13 of key (seed, stream). */

NPKSD_API npksd_real npksd_uniform(npksd_rng *rng); /* [0, 1): the top 53 bits (float: 24) of a word */
NPKSD_API npksd_real npksd_normal(npksd_rng *rng);  /* standard normal, ziggurat of 128 layers, exact */

NPKSD_API npksd_options npksd_default_options(void);
NPKSD_API const char *npksd_options_problem(const npksd_options *options, size_t n, size_t m);
/* NULL = fine for n rows of m numbers; otherwise which field is wrong and why. */

NPKSD_API const char *npksd_status_string(npksd_status status);
NPKSD_API int npksd_version(void); /* NPKSD_VERSION of the implementation */

/* ======== primitives ======== */

NPKSD_API npksd_status npksd_median_distance(const npksd_real *rows, size_t count, size_t m,
                                             const npksd_options *options, npksd_real *out);
/* Median Euclidean distance over all pairs; 0 is replaced by the mean distance, that 0 too by 1. Uses the
   allocator of options, if any. */

NPKSD_API npksd_status npksd_statistic(const npksd_real *rows, const npksd_real *scores, size_t n, size_t m,
                                       const npksd_real *weights, const npksd_options *options, npksd_real *out);
/* The statistic of rows and scores as given, no scaling. weights NULL = 1/m each; bandwidth must be > 0.
   Uses kernel, form, statistic (V or U), features, seed and the first of scales (or 1). */

#ifdef __cplusplus
}
#endif
#endif /* NPKSD_H */

/* ================================================================================================
   End of the API. What follows is the implementation: you need not read on to use the library.
   ================================================================================================ */

#if defined(NPKSD_IMPLEMENTATION) && !defined(NPKSDI_IMPLEMENTED)
#define NPKSDI_IMPLEMENTED

/* ======== >>hooks: what the outside world may replace ======== */

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

#if (defined(NPKSD_SIN) && !defined(NPKSD_COS)) || (!defined(NPKSD_SIN) && defined(NPKSD_COS))
#error "npksd.h: define NPKSD_SIN and NPKSD_COS together, or neither"
#endif
#if (defined(NPKSD_MEMCPY) && !defined(NPKSD_MEMSET)) || (!defined(NPKSD_MEMCPY) && defined(NPKSD_MEMSET))
#error "npksd.h: define NPKSD_MEMCPY and NPKSD_MEMSET together, or neither"
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

#if defined(__cplusplus)
#if defined(__GNUC__) || defined(_MSC_VER)
#define NPKSDI_RESTRICT __restrict
#else
#define NPKSDI_RESTRICT
#endif
#else
#define NPKSDI_RESTRICT restrict
#endif
#if defined(__GNUC__) || defined(__clang__)
#define NPKSDI_INLINE static inline __attribute__((always_inline))
#else
#define NPKSDI_INLINE static inline
#endif
#ifdef NPKSD_STATIC
#define NPKSDI_DEF NPKSD_API
#else
#define NPKSDI_DEF
#endif

#define NPKSDI_C(x) ((npksd_real)(x)) /* a constant in the chosen precision */
#ifdef NPKSD_FLOAT
#define NPKSDI_TINY FLT_MIN
#define NPKSDI_LARGEST FLT_MAX
#define NPKSDI_EPSILON FLT_EPSILON
#define NPKSDI_HUGE NPKSDI_C(1e37)
#define NPKSDI_CLAMP NPKSDI_C(1e4)           /* largest scaled value */
#define NPKSDI_UNSCALED_CLAMP NPKSDI_C(1e15) /* largest coordinate: its square is summed */
#define NPKSDI_EXP_LOW NPKSDI_C(-87)
#define NPKSDI_ANGLE_MAX NPKSDI_C(1e4)
#define NPKSDI_TURNS 8192
typedef uint32_t npksdi_bits;
#define NPKSDI_MANTISSA 23
#define NPKSDI_BIAS 127
#else
#define NPKSDI_TINY DBL_MIN
#define NPKSDI_LARGEST DBL_MAX
#define NPKSDI_EPSILON DBL_EPSILON
#define NPKSDI_HUGE NPKSDI_C(1e300)
#define NPKSDI_CLAMP NPKSDI_C(1e6)
#define NPKSDI_UNSCALED_CLAMP NPKSDI_C(1e140)
#define NPKSDI_EXP_LOW NPKSDI_C(-708)
#define NPKSDI_ANGLE_MAX NPKSDI_C(1e9)
#define NPKSDI_TURNS 1073741824
typedef uint64_t npksdi_bits;
#define NPKSDI_MANTISSA 52
#define NPKSDI_BIAS 1023
#endif

/* Rows travel in panels of NPKSDI_T rows, transposed: column j of a panel is NPKSDI_T neighbours in
   memory. Every hot loop runs over exactly NPKSDI_T lanes, which compilers turn into vector code at
   plain -O2 without being told about the processor. NPKSDI_G rows at a time meet a panel. */
#define NPKSDI_T 16
#if defined(NPKSD_USE_CBLAS) || defined(NPKSD_GEMM)
#define NPKSDI_G 16 /* a library's product is worth calling for whole panels */
#else
#define NPKSDI_G 4
#endif
#define NPKSDI_TILE (NPKSDI_T * NPKSDI_G)
#if defined(NPKSD_VECTORS) && (defined(__GNUC__) || defined(__clang__))
#ifdef __AVX512F__
#define NPKSDI_VECTOR_BYTES 64
#elif defined(__AVX__)
#define NPKSDI_VECTOR_BYTES 32
#else
#define NPKSDI_VECTOR_BYTES 16
#endif
#endif

NPKSDI_INLINE npksd_real npksdi_min(npksd_real a, npksd_real b) { return a < b ? a : b; }
NPKSDI_INLINE npksd_real npksdi_max(npksd_real a, npksd_real b) { return a > b ? a : b; }
NPKSDI_INLINE npksd_real npksdi_abs(npksd_real a) { return a < 0 ? -a : a; }
NPKSDI_INLINE npksd_real npksdi_clamp(npksd_real a, npksd_real limit)
{
    return npksdi_max(-limit, npksdi_min(limit, a));
}
/* One panel column kept within limits: two loops, as compilers make branches of two limits in one. */
NPKSDI_INLINE void npksdi_limit(npksd_real *v, npksd_real low, npksd_real high)
{
    for (size_t l = 0; l < NPKSDI_T; l++)
        v[l] = npksdi_min(high, v[l]);
    for (size_t l = 0; l < NPKSDI_T; l++)
        v[l] = npksdi_max(low, v[l]);
}
NPKSDI_INLINE size_t npksdi_min_size(size_t a, size_t b) { return a < b ? a : b; }
NPKSDI_INLINE size_t npksdi_max_size(size_t a, size_t b) { return a > b ? a : b; }
NPKSDI_INLINE size_t npksdi_ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }
static size_t npksdi_common_divisor(size_t a, size_t b)
{
    while (b > 0) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ======== >>maths: elementary functions that vectorise and survive -ffast-math ======== */

typedef union npksdi_pun {
    npksd_real value;
    npksdi_bits bits;
} npksdi_pun;

/* The number next to one that is not negative: above it, or below. */
static npksd_real npksdi_neighbour(npksd_real value, int above)
{
    npksdi_pun pun;
    pun.value = value;
    pun.bits += above ? 1 : (npksdi_bits)-1;
    if (above && !(pun.value > value)) /* next to 0, and the machine takes the smallest numbers for 0 */
        pun.bits = (npksdi_bits)1 << NPKSDI_MANTISSA;
    return pun.value;
}

/* An exponent of all ones is NaN or infinity. Done on bits, so that no compiler flag can remove it. */
static int npksdi_finite(const npksd_real *values, size_t count)
{
    npksdi_bits mask = (npksdi_bits)(2 * NPKSDI_BIAS + 1) << NPKSDI_MANTISSA;
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        npksdi_pun pun;
        pun.value = values[i];
        bad += (pun.bits & mask) == mask;
    }
    return bad == 0;
}

/* exp(x) = 2^k exp(r), k = round(x / ln 2), |r| <= ln 2 / 2, the polynomial interpolates at Chebyshev
   nodes. k is found by truncating a positive number to an integer: the usual trick of adding 2^52 is
   undone by -ffast-math. y is from NPKSDI_EXP_LOW to 80. No branch, not even a select, so that the
   loop around it becomes vector code. */
NPKSDI_INLINE npksd_real npksdi_exp_core(npksd_real y)
{
    int biased = (int)(y * NPKSDI_C(1.4426950408889634) + (NPKSDI_BIAS + NPKSDI_C(0.5)));
    npksd_real kr = (npksd_real)(biased - NPKSDI_BIAS), p;
    npksdi_pun power;
    power.bits = (npksdi_bits)(uint32_t)biased << NPKSDI_MANTISSA;
#ifdef NPKSD_FLOAT
    npksd_real r = (y - kr * 0.693359375f) + kr * 2.12194440e-4f;
    p = 0.0013941108434f;
    p = p * r + 0.00837512639815f;
    p = p * r + 0.0416663528968f;
    p = p * r + 0.166664155147f;
    p = p * r + 0.500000004712f;
    p = p * r + 1.00000003772f;
    p = p * r + 1.0f;
#else
    npksd_real r = (y - kr * 0.693147180369123816490) - kr * 1.90821492927058770002e-10;
    /* in pairs, pairs of pairs and so on: one term after the other, each would wait for the last */
    npksd_real r2 = r * r, r4 = r2 * r2;
    npksd_real low = (1.0 + r) + (5.0000000000000183855e-1 + 1.6666666666666680806e-1 * r) * r2;
    npksd_real middle = (4.1666666666488095495e-2 + 8.3333333333196006109e-3 * r) +
                        (1.3888888952314774652e-3 + 1.9841269890047113707e-4 * r) * r2;
    npksd_real high = (2.4801485482328492419e-5 + 2.7557240918578969823e-6 * r) +
                      (2.7632639639041029749e-7 + 2.5110037605963777712e-8 * r) * r2;
    p = low + (middle + high * r4) * r4;
#endif
    return p * power.value;
}

static npksd_real npksdi_exp(npksd_real x) { return npksdi_exp_core(npksdi_max(NPKSDI_EXP_LOW, x)); }

/* log(x), x > 0 and normal: x = 2^k f with f in [sqrt(1/2), sqrt(2)), log f = 2 atanh((f-1)/(f+1)). */
static npksd_real npksdi_log(npksd_real x)
{
    npksdi_pun pun;
    pun.value = x;
    int k = (int)(pun.bits >> NPKSDI_MANTISSA) - NPKSDI_BIAS;
    npksdi_bits fraction = ((npksdi_bits)1 << NPKSDI_MANTISSA) - 1;
    pun.bits = (pun.bits & fraction) | ((npksdi_bits)NPKSDI_BIAS << NPKSDI_MANTISSA);
    npksd_real f = pun.value;
    if (f > NPKSDI_C(1.4142135623730951)) {
        f *= NPKSDI_C(0.5);
        k++;
    }
    npksd_real u = (f - 1) / (f + 1), u2 = u * u, sum = 0;
    for (int j = 21; j >= 1; j -= 2)
        sum = sum * u2 + 1 / (npksd_real)j;
    return (npksd_real)k * NPKSDI_C(0.69314718055994531) + 2 * u * sum;
}

/* sin and cos of an angle within +-NPKSDI_ANGLE_MAX, by quarter turns of pi/2. Arithmetic instead of
   selects, so that the loop around it becomes vector code. */
NPKSDI_INLINE void npksdi_sincos(npksd_real x, npksd_real *sine, npksd_real *cosine)
{
    const int whole = NPKSDI_TURNS; /* a multiple of 4 that makes the number of quarter turns positive */
    int k = (int)(x * NPKSDI_C(0.63661977236758134) + ((npksd_real)whole + NPKSDI_C(0.5)));
    npksd_real kr = (npksd_real)(k - whole);
#ifdef NPKSD_FLOAT
    npksd_real r = ((x - kr * 1.5703125f) - kr * 4.837512969970703e-4f) - kr * 7.549789948768648e-8f;
    npksd_real y = r * r;
    npksd_real s = -0.000195039042508f;
    s = s * y + 0.0083320357856f;
    s = s * y - 0.16666650674f;
    s = (s * y + 0.999999996918f) * r;
    npksd_real c = 2.43798312512e-5f;
    c = c * y - 0.00138866179996f;
    c = c * y + 0.0416666166925f;
    c = c * y - 0.499999996149f;
    c = c * y + 1.0f;
#else
    npksd_real r = ((x - kr * 1.57079632673412561417) - kr * 6.0771005063039659752e-11) -
                   kr * 2.0222662487959507e-21;
    npksd_real y = r * r;
    npksd_real s = 1.5894736651849095259e-10;
    s = s * y - 2.5050716974102745028e-8;
    s = s * y + 2.7557313376400129128e-6;
    s = s * y - 1.9841269828650300013e-4;
    s = s * y + 8.3333333333203624567e-3;
    s = s * y - 1.6666666666666616666e-1;
    s = (s * y + 1.0) * r;
    npksd_real c = -1.1353379638297574126e-11;
    c = c * y + 2.0875582380663953044e-9;
    c = c * y - 2.7557313097790086271e-7;
    c = c * y + 2.4801587283881153004e-5;
    c = c * y - 1.3888888888861094596e-3;
    c = c * y + 4.1666666666666452389e-2;
    c = c * y - 0.5;
    c = c * y + 1.0;
#endif
    npksd_real odd = (npksd_real)(k & 1), between = odd * (c - s);
    *sine = (s + between) * (npksd_real)(1 - (k & 2));
    *cosine = (c - between) * (npksd_real)(1 - ((k + 1) & 2));
}

#ifdef NPKSD_NO_MALLOC
/* Newton's iteration from a guess that halves the exponent; scaled steps keep it right to an ulp. */
static npksd_real npksdi_sqrt(npksd_real x)
{
    if (!(x >= NPKSDI_TINY))
        return 0;
    npksdi_pun pun;
    pun.value = x;
    pun.bits = (pun.bits >> 1) + ((npksdi_bits)NPKSDI_BIAS << (NPKSDI_MANTISSA - 1));
    npksd_real root = pun.value;
    for (int i = 0; i < 5; i++)
        root = NPKSDI_C(0.5) * (root + x / root);
    return root;
}
#endif

#ifdef NPKSD_EXP
#define NPKSDI_EXP_INSIDE(x) NPKSD_EXP(x)
#else
#define NPKSD_EXP(x) npksdi_exp(x)
#define NPKSDI_EXP_INSIDE(x) npksdi_exp_core(x) /* x >= NPKSDI_EXP_LOW */
#endif
#ifndef NPKSD_LOG
#define NPKSD_LOG(x) npksdi_log(x)
#endif
#ifndef NPKSD_SQRT
#ifdef NPKSD_NO_MALLOC
#define NPKSD_SQRT(x) npksdi_sqrt(x)
#elif defined(NPKSD_FLOAT)
#define NPKSD_SQRT(x) sqrtf(x)
#else
#define NPKSD_SQRT(x) sqrt(x)
#endif
#endif
#ifdef NPKSD_SIN
#define NPKSDI_SINCOS(x, s, c) (*(s) = NPKSD_SIN(x), *(c) = NPKSD_COS(x))
#else
#define NPKSDI_SINCOS(x, s, c) npksdi_sincos(x, s, c)
#endif

/* ======== >>rng: random numbers as a function of (seed, stream, index) ======== */

/* Every purpose has streams of its own, so that no number is ever used twice. Replicate r is stream r. */
#define NPKSDI_STREAM(purpose, index) (((uint64_t)(purpose) << 56) | (uint64_t)(index))
enum { NPKSDI_REPLICATE, NPKSDI_FIT, NPKSDI_HELD_OUT, NPKSDI_PILOT, NPKSDI_OBSERVED, NPKSDI_INDEX_SET,
       NPKSDI_FREQUENCIES, NPKSDI_KEPT_NOISE, NPKSDI_SPLIT, NPKSDI_PERMUTATION, NPKSDI_SIGNS,
       NPKSDI_TRIAL };

/* Threefry-2x64 with 13 rounds (Salmon, Moraes, Dror and Shaw 2011): key (seed, stream), counter
   (block, 0). Four blocks side by side fill the eight words of the state and keep the processor busy. */
#define NPKSDI_MIX(a, b, by) ((a) += (b), (b) = (((b) << (by)) | ((b) >> (64 - (by)))) ^ (a))
#define NPKSDI_ROUND(by)                                                                           \
    (NPKSDI_MIX(a0, b0, by), NPKSDI_MIX(a1, b1, by), NPKSDI_MIX(a2, b2, by), NPKSDI_MIX(a3, b3, by))
#define NPKSDI_INJECT(x, y)                                                                        \
    (a0 += (x), a1 += (x), a2 += (x), a3 += (x), b0 += (y), b1 += (y), b2 += (y), b3 += (y))

static void npksdi_rng_fill(npksd_rng_state *state)
{
    uint64_t k0 = state->seed_, k1 = state->stream_, k2 = UINT64_C(0x1BD11BDAA9FC1A22) ^ k0 ^ k1;
    uint64_t block = state->index_ / 2 + k0;
    uint64_t a0 = block, a1 = block + 1, a2 = block + 2, a3 = block + 3, b0 = k1, b1 = k1, b2 = k1, b3 = k1;
    NPKSDI_ROUND(16), NPKSDI_ROUND(42), NPKSDI_ROUND(12), NPKSDI_ROUND(31);
    NPKSDI_INJECT(k1, k2 + 1);
    NPKSDI_ROUND(16), NPKSDI_ROUND(32), NPKSDI_ROUND(24), NPKSDI_ROUND(21);
    NPKSDI_INJECT(k2, k0 + 2);
    NPKSDI_ROUND(16), NPKSDI_ROUND(42), NPKSDI_ROUND(12), NPKSDI_ROUND(31);
    NPKSDI_INJECT(k0, k1 + 3);
    NPKSDI_ROUND(16);
    uint64_t *words = state->words_;
    words[0] = a0, words[1] = b0, words[2] = a1, words[3] = b1;
    words[4] = a2, words[5] = b2, words[6] = a3, words[7] = b3;
}
#undef NPKSDI_INJECT
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
    npksd_rng rng;
    NPKSD_MEMSET(state, 0, sizeof *state);
    state->seed_ = seed;
    state->stream_ = stream;
    rng.next_fn = npksdi_rng_next;
    rng.seek_fn = npksdi_rng_seek;
    rng.user_data = state;
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
#ifdef NPKSD_FLOAT
    return (npksd_real)(uint32_t)(word >> 40) * (1.0f / 16777216.0f);
#else
    return (npksd_real)(int64_t)(word >> 11) * (1.0 / 9007199254740992.0);
#endif
}

NPKSDI_DEF npksd_real npksd_uniform(npksd_rng *rng) { return npksdi_unit(npksdi_word(rng)); }

/* Edges x_0 > x_1 > ... > x_128 = 0 of 128 layers of equal area under exp(-x^2/2) (Marsaglia and
   Tsang 2000); x_1 is where the tail begins and x_0 = area / exp(-x_1^2/2). */
static const npksd_real npksdi_layers[129] = {
    NPKSDI_C(3.7130862467403633), NPKSDI_C(3.4426198558966521), NPKSDI_C(3.2230849845786185),
    NPKSDI_C(3.0832288582142137), NPKSDI_C(2.978696252645017), NPKSDI_C(2.8943440070186706),
    NPKSDI_C(2.8231253505459664), NPKSDI_C(2.7611693723841539), NPKSDI_C(2.7061135731187223),
    NPKSDI_C(2.6564064112581925), NPKSDI_C(2.6109722484286132), NPKSDI_C(2.5690336259216391),
    NPKSDI_C(2.5300096723854666), NPKSDI_C(2.4934545220919508), NPKSDI_C(2.4590181774083501),
    NPKSDI_C(2.4264206455302116), NPKSDI_C(2.3954342780074673), NPKSDI_C(2.3658713701139875),
    NPKSDI_C(2.3375752413355307), NPKSDI_C(2.3104136836950022), NPKSDI_C(2.2842740596736568),
    NPKSDI_C(2.2590595738653295), NPKSDI_C(2.234686395587057), NPKSDI_C(2.2110814088747278),
    NPKSDI_C(2.1881804320720206), NPKSDI_C(2.1659267937448407), NPKSDI_C(2.1442701823562614),
    NPKSDI_C(2.12316570866979), NPKSDI_C(2.1025731351849989), NPKSDI_C(2.0824562379877246),
    NPKSDI_C(2.0627822745039634), NPKSDI_C(2.0435215366506695), NPKSDI_C(2.0246469733729339),
    NPKSDI_C(2.0061338699589668), NPKSDI_C(1.9879595741230607), NPKSDI_C(1.9701032608497132),
    NPKSDI_C(1.9525457295488889), NPKSDI_C(1.9352692282919002), NPKSDI_C(1.918257300859732),
    NPKSDI_C(1.9014946531003176), NPKSDI_C(1.8849670357028692), NPKSDI_C(1.868661140989542),
    NPKSDI_C(1.8525645117230871), NPKSDI_C(1.836665460253384), NPKSDI_C(1.8209529965910051),
    NPKSDI_C(1.8054167642140487), NPKSDI_C(1.790046982594619), NPKSDI_C(1.7748343955807692),
    NPKSDI_C(1.7597702248942319), NPKSDI_C(1.7448461281083765), NPKSDI_C(1.7300541605582435),
    NPKSDI_C(1.7153867407081165), NPKSDI_C(1.7008366185643009), NPKSDI_C(1.6863968467734863),
    NPKSDI_C(1.6720607540918522), NPKSDI_C(1.6578219209482075), NPKSDI_C(1.6436741568569826),
    NPKSDI_C(1.6296114794646784), NPKSDI_C(1.615628095037133), NPKSDI_C(1.6017183802152771),
    NPKSDI_C(1.5878768648844007), NPKSDI_C(1.5740982160167497), NPKSDI_C(1.5603772223598407),
    NPKSDI_C(1.5467087798535035), NPKSDI_C(1.5330878776675561), NPKSDI_C(1.5195095847593708),
    NPKSDI_C(1.5059690368565503), NPKSDI_C(1.4924614237746154), NPKSDI_C(1.4789819769830979),
    NPKSDI_C(1.4655259573357946), NPKSDI_C(1.4520886428822165), NPKSDI_C(1.4386653166774613),
    NPKSDI_C(1.4252512545068616), NPKSDI_C(1.4118417124397603), NPKSDI_C(1.3984319141236064),
    NPKSDI_C(1.3850170377251486), NPKSDI_C(1.3715922024197323), NPKSDI_C(1.3581524543224229),
    NPKSDI_C(1.344692751745713), NPKSDI_C(1.3312079496576765), NPKSDI_C(1.317692783201343),
    NPKSDI_C(1.3041418501204215), NPKSDI_C(1.2905495919178732), NPKSDI_C(1.2769102735516997),
    NPKSDI_C(1.2632179614460282), NPKSDI_C(1.2494664995643337), NPKSDI_C(1.2356494832544812),
    NPKSDI_C(1.2217602305309626), NPKSDI_C(1.2077917504067576), NPKSDI_C(1.1937367078237722),
    NPKSDI_C(1.1795873846544607), NPKSDI_C(1.1653356361550469), NPKSDI_C(1.1509728421389761),
    NPKSDI_C(1.1364898520030755), NPKSDI_C(1.1218769225722541), NPKSDI_C(1.1071236475235354),
    NPKSDI_C(1.0922188768965538), NPKSDI_C(1.0771506248819377), NPKSDI_C(1.0619059636836194),
    NPKSDI_C(1.0464709007525803), NPKSDI_C(1.0308302360564556), NPKSDI_C(1.0149673952392995),
    NPKSDI_C(0.99886423348064351), NPKSDI_C(0.98250080350276038), NPKSDI_C(0.96585507938813059),
    NPKSDI_C(0.94890262549791195), NPKSDI_C(0.93161619660135381), NPKSDI_C(0.91396525100880178),
    NPKSDI_C(0.89591535256623853), NPKSDI_C(0.87742742909771569), NPKSDI_C(0.85845684317805086),
    NPKSDI_C(0.83895221428120746), NPKSDI_C(0.81885390668331772), NPKSDI_C(0.7980920606262748),
    NPKSDI_C(0.77658398787614839), NPKSDI_C(0.75423066443451007), NPKSDI_C(0.73091191062188128),
    NPKSDI_C(0.70647961131360803), NPKSDI_C(0.68074791864590422), NPKSDI_C(0.65347863871504239),
    NPKSDI_C(0.62435859730908822), NPKSDI_C(0.59296294244197798), NPKSDI_C(0.55869217837551797),
    NPKSDI_C(0.52065603872514492), NPKSDI_C(0.47743783725378788), NPKSDI_C(0.42654798630330512),
    NPKSDI_C(0.3628714310284183), NPKSDI_C(0.27232086470466385), NPKSDI_C(0.0),
};

/* A caller's rng may be stuck at one word for ever. A rejection that would follow 200 others is then taken:
   no rng worth the name comes there (a chance of 2^-200), and a broken one does not hang the program. */
enum { NPKSDI_TRIES = 200 };

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

/* Ziggurat: one word gives layer (7 bits), sign (1 bit) and position; 99 of 100 draws end there. */
NPKSDI_DEF npksd_real npksd_normal(npksd_rng *rng)
{
    for (int tries = 0;; tries++) {
        uint64_t word = npksdi_word(rng);
        size_t layer = (size_t)(word & 127);
        npksd_real x = npksdi_unit(word) * npksdi_layers[layer];
        if (x >= npksdi_layers[layer + 1]) { /* not surely under the curve */
            if (layer == 0) {
                x = npksdi_normal_tail(rng);
            } else {
                npksd_real outer = npksdi_layers[layer], inner = npksdi_layers[layer + 1];
                npksd_real low = NPKSD_EXP(NPKSDI_C(-0.5) * outer * outer);
                npksd_real high = NPKSD_EXP(NPKSDI_C(-0.5) * inner * inner);
                npksd_real height = low + npksdi_unit(npksdi_word(rng)) * (high - low);
                if (height >= NPKSD_EXP(NPKSDI_C(-0.5) * x * x) && tries < NPKSDI_TRIES)
                    continue;
            }
        }
        return x * (npksd_real)(1 - (int)((word >> 6) & 2)); /* half of the signs: no branch to guess */
    }
}

/* Uniform on 0 .. bound-1 without bias: draw under the next power of two, reject what is too large. */
static size_t npksdi_below(npksd_rng *rng, size_t bound)
{
    uint64_t mask = (uint64_t)bound - 1;
    for (int shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    uint64_t draw;
    int tries = 0;
    do
        draw = npksdi_word(rng) & mask;
    while (draw >= bound && ++tries < NPKSDI_TRIES);
    return (size_t)(draw < bound ? draw : draw - bound);
}

/* ======== >>linalg: the one product kernel, Cholesky, selection ======== */

#ifdef NPKSD_USE_CBLAS
#ifndef NPKSD_BLAS_INT
#define NPKSD_BLAS_INT int
#endif
#ifdef NPKSD_FLOAT
#define NPKSDI_CBLAS_GEMM cblas_sgemm
#else
#define NPKSDI_CBLAS_GEMM cblas_dgemm
#endif
#define NPKSD_GEMM(turned, rows, columns, terms, A, lda, B, ldb, accumulate, C, ldc)                  \
    NPKSDI_CBLAS_GEMM(CblasRowMajor, (turned) ? CblasTrans : CblasNoTrans, CblasNoTrans,              \
                      (NPKSD_BLAS_INT)(rows), (NPKSD_BLAS_INT)(columns), (NPKSD_BLAS_INT)(terms), 1, A, \
                      (NPKSD_BLAS_INT)(lda), B, (NPKSD_BLAS_INT)(ldb), (accumulate) ? 1 : 0, C,       \
                      (NPKSD_BLAS_INT)(ldc))
#endif
#ifndef NPKSD_BLAS_INT
#define NPKSD_BLAS_INT ptrdiff_t
#endif

/* out[a*across + l] (+)= sum_j A[a*row + j*column] * B[j*stride + l], a < rows, l < NPKSDI_T; row or
   column is 1. Gram tiles, linear scores, moment matrices and random features are all this product.
   Two rows and four terms at a time: each load of B serves two rows, each load of out four terms; and rows
   inside of terms, so that no sum waits for its own last store. */
NPKSDI_INLINE void npksdi_product_pairs(npksd_real *NPKSDI_RESTRICT out, size_t across, size_t rows,
                                        const npksd_real *NPKSDI_RESTRICT A, size_t row, size_t column,
                                        const npksd_real *NPKSDI_RESTRICT B, size_t stride, size_t terms,
                                        int accumulate)
{
    size_t fours = terms / 4 * 4, pairs = rows / 2 * 2;
    for (size_t a = 0; a < rows && !accumulate; a++)
        for (size_t l = 0; l < NPKSDI_T; l++)
            out[a * across + l] = 0;
    for (size_t j = 0; j < fours; j += 4)
        for (size_t a = 0; a < pairs; a += 2) {
            npksd_real *NPKSDI_RESTRICT o0 = out + a * across;
            npksd_real *NPKSDI_RESTRICT o1 = o0 + across;
            const npksd_real *p = A + a * row + j * column, *q = p + row, *b = B + j * stride;
            npksd_real p0 = p[0], p1 = p[column], p2 = p[2 * column], p3 = p[3 * column];
            npksd_real q0 = q[0], q1 = q[column], q2 = q[2 * column], q3 = q[3 * column];
            for (size_t l = 0; l < NPKSDI_T; l++) {
                npksd_real b0 = b[l], b1 = b[stride + l];
                npksd_real b2 = b[2 * stride + l], b3 = b[3 * stride + l];
                o0[l] += p0 * b0 + p1 * b1 + p2 * b2 + p3 * b3;
                o1[l] += q0 * b0 + q1 * b1 + q2 * b2 + q3 * b3;
            }
        }
    for (size_t a = 0; a < pairs; a += 2)
        for (size_t j = fours; j < terms; j++) {
            npksd_real *NPKSDI_RESTRICT o0 = out + a * across;
            npksd_real *NPKSDI_RESTRICT o1 = o0 + across;
            const npksd_real *b = B + j * stride;
            npksd_real p0 = A[a * row + j * column], q0 = A[(a + 1) * row + j * column];
            for (size_t l = 0; l < NPKSDI_T; l++) {
                o0[l] += p0 * b[l];
                o1[l] += q0 * b[l];
            }
        }
    for (size_t j = 0; j < terms && pairs < rows; j++) {
        npksd_real *NPKSDI_RESTRICT o0 = out + pairs * across;
        const npksd_real *b = B + j * stride;
        npksd_real p0 = A[pairs * row + j * column];
        for (size_t l = 0; l < NPKSDI_T; l++)
            o0[l] += p0 * b[l];
    }
}

#ifdef NPKSDI_VECTOR_BYTES
/* The same with GNU vector extensions: four rows by two vectors stay in registers over all terms. */
typedef npksd_real npksdi_vector
    __attribute__((vector_size(NPKSDI_VECTOR_BYTES), aligned(sizeof(npksd_real)), may_alias));
enum { NPKSDI_LANES = NPKSDI_VECTOR_BYTES / sizeof(npksd_real) };

static size_t npksdi_product_fours(npksd_real *out, size_t across, size_t rows, const npksd_real *A,
                                   size_t row, size_t column, const npksd_real *B, size_t stride,
                                   size_t terms, int accumulate)
{
    size_t a = 0;
    for (; a + 4 <= rows; a += 4)
        for (size_t l = 0; l < NPKSDI_T; l += 2 * NPKSDI_LANES) {
            npksdi_vector *o0 = (npksdi_vector *)(void *)(out + a * across + l);
            npksdi_vector *o1 = (npksdi_vector *)(void *)(out + (a + 1) * across + l);
            npksdi_vector *o2 = (npksdi_vector *)(void *)(out + (a + 2) * across + l);
            npksdi_vector *o3 = (npksdi_vector *)(void *)(out + (a + 3) * across + l);
            npksdi_vector zero = {0};
            npksdi_vector s00 = accumulate ? o0[0] : zero, s01 = accumulate ? o0[1] : zero;
            npksdi_vector s10 = accumulate ? o1[0] : zero, s11 = accumulate ? o1[1] : zero;
            npksdi_vector s20 = accumulate ? o2[0] : zero, s21 = accumulate ? o2[1] : zero;
            npksdi_vector s30 = accumulate ? o3[0] : zero, s31 = accumulate ? o3[1] : zero;
            const npksd_real *p = A + a * row, *from = B + l;
            for (size_t j = 0; j < terms; j++, p += column, from += stride) {
                /* volatile: loaded once, not again for each row, which gcc would do */
                const volatile npksdi_vector *b = (const volatile npksdi_vector *)(const void *)from;
                npksdi_vector b0 = b[0], b1 = b[1];
                npksd_real p0 = p[0], p1 = p[row], p2 = p[2 * row], p3 = p[3 * row];
                s00 += p0 * b0, s01 += p0 * b1;
                s10 += p1 * b0, s11 += p1 * b1;
                s20 += p2 * b0, s21 += p2 * b1;
                s30 += p3 * b0, s31 += p3 * b1;
            }
            o0[0] = s00, o0[1] = s01, o1[0] = s10, o1[1] = s11;
            o2[0] = s20, o2[1] = s21, o3[0] = s30, o3[1] = s31;
        }
    return a;
}
#endif

/* NPKSD_GEMM(turned, rows, columns, terms, A, lda, B, ldb, accumulate, C, ldc), row-major, does
   C = A B or C = A' B (turned), plus C if accumulate. Small products, and sizes that its integers cannot
   hold, stay here. */
NPKSDI_INLINE void npksdi_product_best(npksd_real *out, size_t across, size_t rows, const npksd_real *A,
                                       size_t row, size_t column, const npksd_real *B, size_t stride,
                                       size_t terms, int accumulate)
{
#ifdef NPKSD_GEMM
    uint64_t most = (UINT64_C(1) << (8 * sizeof(NPKSD_BLAS_INT) - 2)) * 2 - 1;
    int turned = row == 1 && column != 1;
    size_t lda = turned ? column : row;
    if (rows >= 4 && terms >= 8 && lda >= (turned ? rows : terms) && rows <= most && terms <= most &&
        lda <= most && stride <= most && across <= most) {
        NPKSD_GEMM(turned, rows, NPKSDI_T, terms, A, lda, B, stride, accumulate, out, across);
        return;
    }
#endif
#ifdef NPKSDI_VECTOR_BYTES
    size_t done = npksdi_product_fours(out, across, rows, A, row, column, B, stride, terms, accumulate);
    if (done == rows)
        return;
    out += done * across;
    A += done * row;
    rows -= done;
#endif
    npksdi_product_pairs(out, across, rows, A, row, column, B, stride, terms, accumulate);
}

/* Any shape; and rows of one panel against another panel, whose strides the compiler then knows. */
static void npksdi_product(npksd_real *out, size_t across, size_t rows, const npksd_real *A, size_t row,
                           size_t column, const npksd_real *B, size_t stride, size_t terms, int accumulate)
{
    npksdi_product_best(out, across, rows, A, row, column, B, stride, terms, accumulate);
}
static void npksdi_panel_product(npksd_real *out, size_t rows, const npksd_real *A, const npksd_real *B,
                                 size_t terms)
{
    npksdi_product_best(out, NPKSDI_T, rows, A, 1, NPKSDI_T, B, NPKSDI_T, terms, 0);
}

/* Sum of the lanes, pairwise. */
static npksd_real npksdi_lane_sum(const npksd_real *lanes)
{
    npksd_real half[NPKSDI_T / 2];
    for (size_t l = 0; l < NPKSDI_T / 2; l++)
        half[l] = lanes[l] + lanes[l + NPKSDI_T / 2];
    for (size_t width = NPKSDI_T / 4; width > 0; width /= 2)
        for (size_t l = 0; l < width; l++)
            half[l] += half[l + width];
    return half[0];
}

static npksd_real npksdi_dot(const npksd_real *NPKSDI_RESTRICT a, const npksd_real *NPKSDI_RESTRICT b,
                             size_t count)
{
    npksd_real lanes[NPKSDI_T], tail = 0;
    size_t i = 0;
    for (size_t l = 0; l < NPKSDI_T; l++)
        lanes[l] = 0;
    for (; i + NPKSDI_T <= count; i += NPKSDI_T)
        for (size_t l = 0; l < NPKSDI_T; l++)
            lanes[l] += a[i + l] * b[i + l];
    for (; i < count; i++)
        tail += a[i] * b[i];
    return npksdi_lane_sum(lanes) + tail;
}

/* Row i of a matrix, lower triangle, becomes row i of its Cholesky factor L after shift is added to
   the diagonal (row-major, p x p, rows before i done). Returns 0 when the pivot is not safely positive. */
static int npksdi_cholesky_row(npksd_real *L, size_t p, npksd_real shift, size_t i)
{
    npksd_real *row = L + i * p, diagonal = row[i] + shift;
    for (size_t j = 0; j < i; j++)
        row[j] = (row[j] - npksdi_dot(row, L + j * p, j)) / L[j * p + j];
    npksd_real pivot = diagonal - npksdi_dot(row, row, i);
    if (!(pivot > 4 * NPKSDI_EPSILON * diagonal && pivot < NPKSDI_HUGE))
        return 0;
    row[i] = NPKSD_SQRT(pivot);
    return 1;
}

/* x = -(L L')^-1 c */
static void npksdi_cholesky_solve(const npksd_real *L, size_t p, const npksd_real *c, npksd_real *x)
{
    for (size_t i = 0; i < p; i++)
        x[i] = (-c[i] - npksdi_dot(L + i * p, x, i)) / L[i * p + i];
    for (size_t i = p; i-- > 0;) { /* by columns of L', so that memory is walked in order */
        x[i] /= L[i * p + i];
        for (size_t j = 0; j < i; j++)
            x[j] -= L[i * p + j] * x[i];
    }
}

/* Heap sort, ascending: no recursion, no extra memory, no bad case. */
static void npksdi_heap_sort(npksd_real *v, size_t count)
{
    for (size_t start = count / 2, end = count; end > 1;) {
        npksd_real value;
        if (start > 0) {
            value = v[--start];
        } else {
            value = v[--end];
            v[end] = v[0];
        }
        size_t hole = start;
        for (size_t child; (child = 2 * hole + 1) < end; hole = child) {
            if (child + 1 < end && v[child + 1] > v[child])
                child++;
            if (!(v[child] > value))
                break;
            v[hole] = v[child];
        }
        v[hole] = value;
    }
}

static void npksdi_insertion_sort(npksd_real *v, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        npksd_real value = v[i];
        size_t j = i;
        for (; j > 0 && v[j - 1] > value; j--)
            v[j] = v[j - 1];
        v[j] = value;
    }
}

/* What is less than the median of three comes first; if nothing is, what equals it; equal numbers are cut in
   the middle. No branch depends on a comparison: half of them would be guessed wrong. Returns the end of the
   lower part, which is neither empty nor everything. */
static size_t npksdi_partition(npksd_real *v, size_t count)
{
    npksd_real x = v[0], y = v[count / 2], z = v[count - 1];
    npksd_real pivot = npksdi_max(npksdi_min(x, y), npksdi_min(npksdi_max(x, y), z));
    size_t lower = 0;
    for (int equal = 0; equal < 2 && lower == 0; equal++)
        for (size_t i = 0; i < count; i++) {
            npksd_real value = v[i];
            v[i] = v[lower];
            v[lower] = value;
            lower += (size_t)((value < pivot) | ((value <= pivot) & equal));
        }
    return lower < count ? lower : count / 2;
}

/* Quick sort; short parts by insertion, and by the heap whatever is left when the splits have cost more
   than good ones ever do: no order of the values is a bad case. The larger part waits, so that a stack of
   32 is enough for any count. */
static void npksdi_sort(npksd_real *v, size_t count)
{
    size_t waiting_first[32], waiting_count[32], top = 0, first = 0;
    uint64_t budget = 64 * (uint64_t)count;
    for (;;) {
        if (count <= 16 || top == 32 || budget < count) {
            if (count <= 16)
                npksdi_insertion_sort(v + first, count);
            else
                npksdi_heap_sort(v + first, count);
            if (top-- == 0)
                return;
            first = waiting_first[top];
            count = waiting_count[top];
            continue;
        }
        size_t lower = npksdi_partition(v + first, count), upper = count - lower;
        budget -= count;
        int small_first = lower < upper;
        waiting_first[top] = small_first ? first + lower : first;
        waiting_count[top++] = small_first ? upper : lower;
        first += small_first ? 0 : lower;
        count = small_first ? lower : upper;
    }
}

/* v[k] becomes what it would be in sorted order; nothing before it is larger, nothing behind it smaller. */
static npksd_real npksdi_select(npksd_real *v, size_t count, size_t k)
{
    npksd_real *part = v;
    size_t place = k;
    for (int splits = 0; count > 16; splits++) {
        if (splits == 64) {
            npksdi_heap_sort(part, count);
            return v[k];
        }
        size_t lower = npksdi_partition(part, count);
        int above = place >= lower;
        part += above ? lower : 0;
        place -= above ? lower : 0;
        count = above ? count - lower : lower;
    }
    npksdi_insertion_sort(part, count);
    return v[k];
}

/* ======== >>layout: one block of memory, planned once ======== */

/* A score family that the fit tries: how many features a coordinate has, where its sums are. */
typedef struct npksdi_family {
    int kind_;        /* NPKSD_ESTIMATOR_ */
    int shared_;      /* summary ALL: all coordinates have the same features, one moment matrix */
    size_t features_; /* p */
    size_t panels_;   /* p in panels */
    size_t degree_, basis_;
    size_t t_terms_;  /* polynomials in t, for d <= 2 */
    size_t sums_at_;  /* reals from the start of a coordinate's sums (or of the shared ones) */
} npksdi_family;

/* How a coordinate is scaled, see npksdi_standard. */
typedef struct npksdi_ruler {
    npksd_real half_centre_, power_, factor_;
} npksdi_ruler;

/* Kernels at several bandwidths, widest first. A kernel whose bandwidth^2 is the last one's over 2^k
   is that one squared k times; otherwise squarings_ is -1 and it needs an exp of its own. */
typedef struct npksdi_kernels {
    size_t count_, base_;                   /* base_: which has scale 1, count_ if none */
    npksd_real inverse_[NPKSD_SCALES_MAX + 1]; /* 1 / (scale * sigma^2) */
    npksd_real scale_[NPKSD_SCALES_MAX + 1];
    int squarings_[NPKSD_SCALES_MAX + 1];
} npksdi_kernels;

enum { NPKSDI_FAMILIES_MAX = 3, NPKSDI_RIDGES_MAX = 3, NPKSDI_MEDIAN_ROWS = 128,
       NPKSDI_MEDIAN_PANELS = 9, NPKSDI_MEDIAN_TILE = 4 * NPKSDI_T };
#define NPKSDI_CONSTANT (-1) /* family of a coordinate that never changes: s = -x */

typedef struct npksdi_component {
    unsigned kind_; /* NPKSD_COMPONENT_ */
    int u_;         /* U rather than V */
    size_t kernel_;
} npksdi_component;

/* What a stage does is cut into items; what step() counts are units of about equal cost. */
enum { NPKSDI_STAGE_KEEP, NPKSDI_STAGE_SCALE, NPKSDI_STAGE_SUMMARY, NPKSDI_STAGE_MEDIAN,
       NPKSDI_STAGE_SUM_KEPT, NPKSDI_STAGE_STREAM, NPKSDI_STAGE_HELD_OUT, NPKSDI_STAGE_SELECT,
       NPKSDI_STAGE_SOLVE, NPKSDI_STAGE_SUBSAMPLE, NPKSDI_STAGE_PILOT, NPKSDI_STAGE_REPLICATES,
       NPKSDI_STAGE_DONE };

#define NPKSDI_UNIT_COST 1200000 /* some 0.1 ms at -O2, half of that with wide vectors */
#define NPKSDI_SORT_COST 210     /* a number of a column, looked up, selected and summed */
typedef struct npksdi_job {
    uint64_t cost_, cost_done_;
    size_t units_, unit_; /* foreseen, and done */
} npksdi_job;

/* A median in the making. The lower middle squared distance, of rank target_, is for certain in
   [floor_, ceiling_], which has the ranks from floor_rank_ to before ceiling_rank_, and most likely in
   [low_, high_]. */
enum { NPKSDI_PASS_SAMPLE, NPKSDI_PASS_NARROW, NPKSDI_PASS_ABOVE, NPKSDI_PASS_MEAN, NPKSDI_PASS_SELECT,
       NPKSDI_PASS_DONE };
typedef struct npksdi_median {
    int pass_, missed_;
    size_t p_, q_;
    npksd_real floor_, ceiling_, low_, high_, value_, above_, mean_, partial_;
    uint64_t pairs_, target_, floor_rank_, ceiling_rank_, below_, inside_, expected_, stride_, skip_;
    size_t taken_;
    /* values of certain ranks in the buffer, found split by split, and what they are for */
    int after_;
    size_t rank_[2], ranks_, found_, first_, left_, splits_;
    npksd_real picked_[2];
    npksd_real result_;
} npksdi_median;

/* Byte offsets from the tester. */
typedef struct npksdi_map {
    /* the model: all that a check needs */
    size_t component_, component_mean_, component_sd_;
    size_t centre_, scale_, rulers_, box_low_, box_high_, weights_, active_, family_of_;
    size_t summary_centre_, summary_inverse_, x_low_, x_high_, t_low_, t_high_;
    size_t knot_low_, knot_inverse_, theta_, centres_;
    size_t coordinate_mean_, coordinate_sd_;
    size_t sub_, sub_norm_, sub_weight_, frequencies_, sub_cos_, sub_sin_;
    size_t null_, filled_, sorted_, adjusted_;
    /* the fit alone */
    size_t kept_, sums_, block_, summary_stats_, factor_, solution_, gradient_;
    size_t best_loss_, family_loss_, best_choice_, family_choice_, column_, tied_;
    size_t median_panels_, fit_buffer_, matrix_, signs_;
    /* data sets */
    size_t scratch_;
} npksdi_map;

/* Reals from the start of a scratch: what one data set in work needs. */
typedef struct npksdi_scratch_map {
    size_t rows_, x_, s_, p_, xt_, norm_, cross_, spread_, own_;
    size_t z_, t_, totals_, scores_, phi_, slope_, turned_, work_, callback_;
    size_t weights_, picks_, tile_, sums_, moment_, values_, mask_, pairs_;
    size_t raw_s_, rho_, coordinate_;
    size_t reals_;
} npksdi_scratch_map;

typedef struct npksdi_scratch {
    npksd_rng rng_;
    npksd_rng_state rng_state_;
    void *user_data_;
    size_t next_panel_, row_panel_, group_, column_panel_; /* the next item of an evaluation */
    size_t active_count_;            /* columns of s_ and p_ */
    npksd_real weight_sum_;          /* sum_i w_i^2 */
    int equal_;                      /* all weights 1/m: X X' serves twice */
    npksd_real fused_;               /* 1/bandwidth^2 if one Gaussian kernel is all there is, else 0 */
    int bad_summary_;                /* summary_fn wrote NaN or infinity */
} npksdi_scratch;

struct npksd_tester {
    npksd_options options_;
    npksd_sample_fn sample_fn_;
    void *user_data_;
    npksd_allocator allocator_;
    void *memory_;                   /* of create; NULL after init */
    size_t memory_bytes_, bytes_;

    size_t n_, m_, panels_;          /* rows of an evaluation: a data set, or a pool of permutable rows */
    size_t size_;                    /* rows of a data set */
    size_t set_rows_;                /* rows of a generator call during the fit */
    int summary_;
    size_t d_;                       /* numbers in t */
    size_t kept_rows_, keep_sets_, fit_sets_, held_rows_, held_sets_, sub_rows_, sub_panels_;
    npksdi_family family_[NPKSDI_FAMILIES_MAX];
    size_t family_count_, coordinate_sums_, shared_sums_, theta_stride_, centre_count_, features_max_;
    npksd_real ridge_[NPKSDI_RIDGES_MAX];
    size_t ridge_count_, splits_, buffer_reals_;
    int ridge_boost_;                /* tenfold ridge, so often, for the matrix in work */
    size_t columns_;                 /* most columns that s_ can have */
    size_t active_count_;            /* coordinates that are fitted */
    size_t component_count_, width_; /* components; numbers kept of each replicate */
    npksd_real scales_[NPKSD_SCALES_MAX];
    npksdi_kernels kernels_, base_kernel_;
    npksd_real bandwidth_, sub_self_;
    int pilot_needed_;
    unsigned flags_;
    npksdi_map at_;
    npksdi_scratch_map in_;

    int stage_;
    npksd_status error_;
    uint64_t unit_cost_, evaluation_cost_;
    size_t units_done_, units_total_, evaluation_units_;
    npksdi_job job_;
    size_t set_, row_;               /* fit data set in work and its next row */
    size_t kept_count_, row_count_;  /* rows kept; rows of this split so far */
    size_t block_rows_, block_item_; /* rows waiting in the block; next item, or none if block not full */
    size_t item_[4];                 /* cursor of the other stages */
    npksdi_median median_;
    uint64_t first_hash_;
    size_t sets_seen_;
    int all_alike_, rows_alike_;
    int drawn_, wild_done_;
    size_t observed_index_;          /* stream of the observed rows' noise: 0, but for planning */
};

NPKSDI_INLINE npksd_real *npksdi_reals(const npksd_tester *t, size_t offset)
{
    return (npksd_real *)(void *)((char *)(uintptr_t)t + offset);
}
NPKSDI_INLINE uint32_t *npksdi_ints(const npksd_tester *t, size_t offset)
{
    return (uint32_t *)(void *)((char *)(uintptr_t)t + offset);
}
#define NPKSDI_HEAD ((sizeof(npksdi_scratch) + 63) / 64 * 64)
NPKSDI_INLINE npksd_real *npksdi_in(const npksdi_scratch *w, size_t offset)
{
    return (npksd_real *)(void *)((char *)(uintptr_t)w + NPKSDI_HEAD) + offset;
}
NPKSDI_INLINE npksdi_component *npksdi_component_list(const npksd_tester *t)
{
    return (npksdi_component *)(void *)((char *)(uintptr_t)t + t->at_.component_);
}
NPKSDI_INLINE npksdi_ruler *npksdi_rulers(const npksd_tester *t)
{
    return (npksdi_ruler *)(void *)((char *)(uintptr_t)t + t->at_.rulers_);
}
#define NPKSDI_MODEL(t, name) npksdi_reals(t, (t)->at_.name##_)
#define NPKSDI_IN(t, w, name) npksdi_in(w, (t)->in_.name##_)

/* Sizes that only grow and never wrap: after an overflow bad_ stays set. */
typedef struct npksdi_sizer {
    size_t bytes_;
    int bad_;
} npksdi_sizer;

static size_t npksdi_times(npksdi_sizer *sizer, size_t a, size_t b)
{
    if (a != 0 && b > (SIZE_MAX / 4) / a) {
        sizer->bad_ = 1;
        return 0;
    }
    return a * b;
}

/* Room for count things of the given size, at a multiple of 64 bytes; returns where. */
static size_t npksdi_room(npksdi_sizer *sizer, size_t count, size_t size)
{
    size_t at = sizer->bytes_, bytes = npksdi_times(sizer, count, size);
    bytes = (bytes + 63) / 64 * 64;
    if (bytes > SIZE_MAX / 4 - at) {
        sizer->bad_ = 1;
        return at;
    }
    sizer->bytes_ = at + bytes;
    return at;
}

/* ======== >>rows: from the caller's rows to panels ======== */

/* Draw one whole data set into the scratch. Non-zero from the generator, NaN and infinity end here. */
static npksd_status npksdi_draw(const npksd_tester *t, npksdi_scratch *w, size_t count, uint64_t stream)
{
    npksd_real *rows = NPKSDI_IN(t, w, rows);
    if (w->rng_.seek_fn != NULL)
        w->rng_.seek_fn(stream, w->rng_.user_data);
    if (t->sample_fn_(rows, count, t->m_, &w->rng_, w->user_data_) != 0)
        return NPKSD_ERROR_GENERATOR;
    return npksdi_finite(rows, count * t->m_) ? NPKSD_OK : NPKSD_ERROR_NONFINITE;
}

/* smooth > 0: add N(0, smooth^2) in scaled units. The same for fit rows, replicates and observed rows. */
static void npksdi_add_noise(const npksd_tester *t, npksdi_scratch *w, npksd_real *rows, size_t count)
{
    const npksd_real *scale = NPKSDI_MODEL(t, scale);
    if (!(t->options_.smooth > 0))
        return;
    for (size_t a = 0; a < count; a++)
        for (size_t j = 0; j < t->m_; j++)
            rows[a * t->m_ + j] += t->options_.smooth * scale[j] * npksd_normal(&w->rng_);
}

/* z = (x - centre) / scale, clamped. In halves: the difference of 1e308 and -1e308 is then finite. 1/scale
   may be too small for a normal number, so it is a power of two times a factor from 1 to 2. */
static npksdi_ruler npksdi_ruler_of(npksd_real centre, npksd_real scale)
{
    npksdi_ruler ruler;
    npksdi_pun pun;
    pun.value = scale; /* positive and normal */
    npksdi_bits exponent = pun.bits >> NPKSDI_MANTISSA, most = 2 * NPKSDI_BIAS - 1;
    pun.bits = (2 * NPKSDI_BIAS - (exponent < most ? exponent : most)) << NPKSDI_MANTISSA;
    ruler.half_centre_ = centre * NPKSDI_C(0.5);
    ruler.power_ = pun.value;
    ruler.factor_ = 2 / (scale * pun.value);
    return ruler;
}
static void npksdi_set_rulers(npksd_tester *t)
{
    for (size_t j = 0; j < t->m_; j++)
        npksdi_rulers(t)[j] = npksdi_ruler_of(NPKSDI_MODEL(t, centre)[j], NPKSDI_MODEL(t, scale)[j]);
}
NPKSDI_INLINE npksd_real npksdi_unclamped(npksd_real x, npksdi_ruler ruler)
{
    return (x * NPKSDI_C(0.5) - ruler.half_centre_) * ruler.power_ * ruler.factor_;
}
NPKSDI_INLINE npksd_real npksdi_standard(npksd_real x, npksdi_ruler ruler)
{
    return npksdi_clamp(npksdi_unclamped(x, ruler), NPKSDI_CLAMP);
}

/* Up to NPKSDI_T rows become one scaled panel, missing rows are 0.
   The panel is preceded by a row of ones, so that (1, z) is a feature vector as it stands. */
static void npksdi_scale_panel(const npksd_tester *t, const npksd_real *rows, size_t count,
                               npksd_real *z)
{
    size_t m = t->m_;
    for (size_t l = 0; l < NPKSDI_T; l++)
        z[l] = 1;
    z += NPKSDI_T;
    for (size_t j = 0; j < m; j++, z += NPKSDI_T) {
        npksdi_ruler ruler = npksdi_rulers(t)[j];
        for (size_t l = 0; l < NPKSDI_T; l++) /* gather first: the arithmetic is then vector code */
            z[l] = rows[(l < count ? l : 0) * m + j];
        for (size_t l = 0; l < NPKSDI_T; l++)
            z[l] = npksdi_unclamped(z[l], ruler);
        npksdi_limit(z, -NPKSDI_CLAMP, NPKSDI_CLAMP);
        for (size_t l = count; l < NPKSDI_T; l++)
            z[l] = 0;
    }
}

/* A generator that ignores its rng draws the same data set for ever. Its hash is compared with the
   first one's; rows that are all equal are a legal constant. Judged at 16 data sets, or at the end. */
static void npksdi_watch(npksd_tester *t, const npksd_real *rows, size_t count)
{
    uint64_t hash = 0;
    int rows_alike = 1;
    if (t->sets_seen_ > 0 && !t->all_alike_)
        return;
    for (size_t i = 0; i < count * t->m_; i++) {
        npksdi_pun pun;
        pun.value = rows[i];
        hash = (hash ^ (uint64_t)pun.bits) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
        if (i >= t->m_) {
            npksdi_pun before;
            before.value = rows[i - t->m_];
            rows_alike &= pun.bits == before.bits;
        }
    }
    if (t->sets_seen_ == 0) {
        t->first_hash_ = hash;
        t->all_alike_ = 1;
        t->rows_alike_ = rows_alike;
    }
    t->all_alike_ &= hash == t->first_hash_;
    t->sets_seen_++;
}

static int npksdi_stuck(const npksd_tester *t, size_t at_least)
{
    return t->sets_seen_ >= at_least && t->all_alike_ && !t->rows_alike_;
}

/* Data set `set` of `sets` gives rows floor(j n / count), j < count, so that `rows` are spread evenly. */
static size_t npksdi_rows_of_set(size_t rows, size_t sets, size_t set)
{
    /* floor((set+1) rows / sets) - floor(set rows / sets) without the large product */
    size_t whole = rows / sets, rest = rows % sets;
    return whole + (((uint64_t)(set + 1) * rest) / sets - ((uint64_t)set * rest) / sets != 0);
}
static size_t npksdi_row_of_set(size_t n, size_t count, size_t j)
{
    return (n / count) * j + (n % count) * j / count;
}

/* ======== >>scale: centre, deviation and range of the fit sample ======== */

static void npksdi_extremes(const npksd_real *values, size_t count, npksd_real *low, npksd_real *high)
{
    *low = *high = values[0];
    for (size_t a = 1; a < count; a++) {
        *low = npksdi_min(*low, values[a]);
        *high = npksdi_max(*high, values[a]);
    }
}

/* Slots of a table in which `count` values are looked up. */
static size_t npksdi_slots(size_t count)
{
    size_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

/* How many of the values are repetitions of another: each is looked up in a table of those before it. */
static size_t npksdi_repeats(const npksd_real *values, size_t count, npksd_real *table)
{
    size_t slots = npksdi_slots(count), repeats = 0;
    NPKSD_MEMSET(table, 255, slots * sizeof *table); /* no finite number: empty */
    for (size_t a = 0; a < count; a++) {
        npksdi_pun value, there;
        value.value = values[a];
        if (value.bits << 1 == 0)
            value.bits = 0; /* -0 is 0 */
        uint64_t mixed = (uint64_t)value.bits * UINT64_C(0x9E3779B97F4A7C15);
        size_t slot = (size_t)(mixed >> 40) & (slots - 1);
        for (;; slot = (slot + 1) & (slots - 1)) {
            NPKSD_MEMCPY(&there, table + slot, sizeof there);
            if (there.bits == value.bits || there.bits == (npksdi_bits)-1)
                break;
        }
        repeats += there.bits == value.bits;
        NPKSD_MEMCPY(table + slot, &value, sizeof value);
    }
    return repeats;
}

/* One column of the kept rows: the box, ties, and mean and standard deviation of (x - least) / range, so
   that 1e300, 1e-300 and a small spread far from 0 are ordinary. `column` has room for it. */
static void npksdi_scale_column(npksd_tester *t, size_t j, npksd_real *column)
{
    const npksd_real *kept = NPKSDI_MODEL(t, kept);
    size_t count = t->kept_rows_;
    npksd_real low, high, mean = 0, square = 0;
    for (size_t a = 0; a < count; a++)
        column[a] = kept[a * t->m_ + j];
    npksdi_extremes(column, count, &low, &high);
    NPKSDI_MODEL(t, box_low)[j] = low;
    NPKSDI_MODEL(t, box_high)[j] = high;
    if (!(high > low)) { /* constant: its scale waits for the others' */
        NPKSDI_MODEL(t, centre)[j] = low;
        NPKSDI_MODEL(t, scale)[j] = 0;
        t->flags_ |= NPKSD_FLAG_CONSTANT_COORDINATE;
        return;
    }
    size_t repeats = npksdi_repeats(column, count, NPKSDI_MODEL(t, fit_buffer));
    volatile npksd_real share = NPKSDI_C(0.5), inner; /* or -ffast-math doubles a half before its time */
    npksd_real half_low = low * share, half = npksdi_max(high * share - half_low, NPKSDI_TINY);
    for (size_t a = 0; a < count; a++) {
        column[a] = (column[a] * NPKSDI_C(0.5) - half_low) / half;
        mean += column[a];
    }
    mean /= (npksd_real)count;
    for (size_t a = 0; a < count; a++)
        square += (column[a] - mean) * (column[a] - mean);
    inner = half_low + half * mean;
    NPKSDI_MODEL(t, centre)[j] = 2 * inner;
    inner = half * NPKSD_SQRT(square / (npksd_real)count);
    NPKSDI_MODEL(t, scale)[j] = npksdi_max(2 * inner, NPKSDI_TINY);
    if ((npksd_real)repeats > NPKSDI_C(0.05) * (npksd_real)count) {
        t->flags_ |= NPKSD_FLAG_TIES;
        npksdi_ints(t, t->at_.tied_)[j] = 1;
    }
}

/* Constant coordinates: 1e-3 of the median positive deviation, so that an observed value off the
   constant is seen. */
static void npksdi_scale_constants(npksd_tester *t, npksd_real *sorted)
{
    npksd_real *scale = NPKSDI_MODEL(t, scale), *centre = NPKSDI_MODEL(t, centre);
    size_t positive = 0;
    for (size_t j = 0; j < t->m_; j++)
        if (scale[j] > 0)
            sorted[positive++] = scale[j];
    npksdi_sort(sorted, positive);
    for (size_t j = 0; j < t->m_; j++)
        if (!(scale[j] > 0)) {
            npksd_real floor = positive > 0 ? NPKSDI_C(1e-3) * sorted[positive / 2]
                                            : NPKSDI_C(1e-6) * npksdi_abs(centre[j]);
            scale[j] = npksdi_max(floor, NPKSDI_TINY);
        }
}

static int npksdi_is_constant(const npksd_tester *t, size_t j)
{
    return !(NPKSDI_MODEL(t, box_high)[j] > NPKSDI_MODEL(t, box_low)[j]);
}

#define NPKSDI_KNOTS_LEAST NPKSDI_C(1e-6) /* least range of the knots */

/* Ranges of z after noise, which POLY needs for its tails and SPLINE for its knots: between the 1 %
   and the 99 % point of the kept rows. */
static void npksdi_range_column(npksd_tester *t, size_t j, npksd_real *column)
{
    const npksd_real *kept = NPKSDI_MODEL(t, kept);
    size_t count = t->kept_rows_, cut = count / 100;
    for (size_t a = 0; a < count; a++)
        column[a] = npksdi_standard(kept[a * t->m_ + j], npksdi_rulers(t)[j]);
    npksd_real least, most;
    npksdi_extremes(column, count, &least, &most);
    npksd_real low = npksdi_select(column, count, cut), high = npksdi_select(column, count, count - 1 - cut);
    if (!(high > low)) {
        low = least;
        high = most;
    }
    NPKSDI_MODEL(t, x_low)[j] = least;
    NPKSDI_MODEL(t, x_high)[j] = most;
    NPKSDI_MODEL(t, knot_low)[j] = low;
    NPKSDI_MODEL(t, knot_inverse)[j] = 1 / npksdi_max(high - low, NPKSDI_KNOTS_LEAST);
}

/* ======== >>scores: conditional scores, learnt in closed form ======== */

/* t for coordinate i, d x NPKSDI_T, from the panel z and its totals (and, for a callback, from the rows
   themselves; NaN and infinity are noted in the scratch). */
static void npksdi_summary(const npksd_tester *t, npksdi_scratch *w, const npksd_real *z,
                           const npksd_real *rows, size_t count, size_t i, npksd_real *out)
{
    size_t m = t->m_;
    const npksd_real *totals = NPKSDI_IN(t, w, totals);
    const npksd_real *x = z + i * NPKSDI_T;
    npksd_real others = 1 / (npksd_real)(m > 1 ? m - 1 : 1);
    switch (t->summary_) {
    case NPKSD_SUMMARY_MEAN:
    case NPKSD_SUMMARY_MEAN_VAR:
        for (size_t l = 0; l < NPKSDI_T; l++)
            out[l] = (totals[l] - x[l]) * others;
        if (t->summary_ == NPKSD_SUMMARY_MEAN_VAR)
            for (size_t l = 0; l < NPKSDI_T; l++)
                out[NPKSDI_T + l] = m == 2 ? 0 : npksdi_max( /* of one number: 0, not rounding noise */
                    0, (totals[NPKSDI_T + l] - x[l] * x[l]) * others - out[l] * out[l]);
        break;
    case NPKSD_SUMMARY_NEIGHBOURS:
        for (size_t l = 0; l < NPKSDI_T; l++) {
            out[l] = i > 0 ? z[(i - 1) * NPKSDI_T + l] : 0;
            out[NPKSDI_T + l] = i + 1 < m ? z[(i + 1) * NPKSDI_T + l] : 0;
        }
        break;
    case NPKSD_SUMMARY_ALL:
        NPKSD_MEMCPY(out, z, i * NPKSDI_T * sizeof *z);
        NPKSD_MEMCPY(out + i * NPKSDI_T, x + NPKSDI_T, (m - 1 - i) * NPKSDI_T * sizeof *z);
        return;
    case NPKSD_SUMMARY_CALLBACK:
        for (size_t l = 0; l < count; l++) {
            npksd_real *one = out + t->d_ * NPKSDI_T; /* the callback writes d neighbours */
            t->options_.summary_fn(rows + l * m, m, i, one, t->options_.summary_user_data);
            int good = npksdi_finite(one, t->d_); /* NaN must not reach an exp before its note is read */
            w->bad_summary_ |= !good;
            for (size_t k = 0; k < t->d_; k++)
                out[k * NPKSDI_T + l] = good ? one[k] : 0;
        }
        for (size_t l = count; l < NPKSDI_T; l++)
            for (size_t k = 0; k < t->d_; k++)
                out[k * NPKSDI_T + l] = 0;
        break;
    default: break;
    }
}

/* Summaries are centred and scaled by the fit sample; the other coordinates themselves already are. */
static void npksdi_standard_summary(const npksd_tester *t, npksdi_scratch *w, const npksd_real *z,
                                    const npksd_real *rows, size_t count, size_t i, npksd_real *out)
{
    npksdi_summary(t, w, z, rows, count, i, out);
    if (t->summary_ == NPKSD_SUMMARY_ALL)
        return;
    for (size_t k = 0; k < t->d_; k++) {
        npksd_real centre = NPKSDI_MODEL(t, summary_centre)[i * t->d_ + k];
        npksd_real inverse = NPKSDI_MODEL(t, summary_inverse)[i * t->d_ + k];
        npksd_real *one = out + k * NPKSDI_T;
        for (size_t l = 0; l < NPKSDI_T; l++)
            one[l] = 2 * ((one[l] * NPKSDI_C(0.5) - centre * NPKSDI_C(0.5)) * inverse);
        npksdi_limit(one, -NPKSDI_CLAMP, NPKSDI_CLAMP);
    }
}

/* Was a summary not a number? Asked once per item; the answer clears the note. */
static npksd_status npksdi_summary_status(npksdi_scratch *w)
{
    int bad = w->bad_summary_;
    w->bad_summary_ = 0;
    return bad ? NPKSD_ERROR_NONFINITE : NPKSD_OK;
}

/* Sum and sum of squares of z over the coordinates. */
static void npksdi_totals(const npksd_tester *t, npksdi_scratch *w, const npksd_real *z)
{
    npksd_real *totals = NPKSDI_IN(t, w, totals), sum[NPKSDI_T], square[NPKSDI_T];
    for (size_t l = 0; l < NPKSDI_T; l++)
        sum[l] = square[l] = 0;
    for (size_t j = 0; j < t->m_; j++, z += NPKSDI_T)
        for (size_t l = 0; l < NPKSDI_T; l++) {
            sum[l] += z[l];
            square[l] += z[l] * z[l];
        }
    NPKSD_MEMCPY(totals, sum, sizeof sum);
    NPKSD_MEMCPY(totals + NPKSDI_T, square, sizeof square);
}

/* The range of number k of t for coordinate i. */
static void npksdi_t_range(const npksd_tester *t, size_t i, size_t k, npksd_real *low, npksd_real *high)
{
    if (t->summary_ == NPKSD_SUMMARY_ALL) {
        size_t j = k < i ? k : k + 1;
        *low = NPKSDI_MODEL(t, x_low)[j];
        *high = NPKSDI_MODEL(t, x_high)[j];
    } else {
        *low = NPKSDI_MODEL(t, t_low)[i * t->d_ + k];
        *high = NPKSDI_MODEL(t, t_high)[i * t->d_ + k];
    }
}

/* Orthonormal Hermite polynomials: h_{k+1} = (x h_k - sqrt(k) h_{k-1}) / sqrt(k+1), h_k' = sqrt(k)
   h_{k-1}. Outside [low, high] each goes on as a straight line: unguarded, one outlier decides all. */
static void npksdi_hermite(const npksd_real *x, npksd_real low, npksd_real high, size_t degree,
                           npksd_real *h, npksd_real *slope)
{
    npksd_real inside[NPKSDI_T];
    for (size_t l = 0; l < NPKSDI_T; l++) {
        inside[l] = x[l];
        h[l] = 1;
        slope[l] = 0;
    }
    npksdi_limit(inside, low, high);
    npksd_real root = 0; /* sqrt(k) */
    for (size_t k = 0; k < degree; k++) {
        npksd_real next = NPKSD_SQRT((npksd_real)(k + 1)), part = 1 / next;
        npksd_real *hk = h + k * NPKSDI_T, *up = hk + NPKSDI_T;
        const npksd_real *down = k > 0 ? hk - NPKSDI_T : hk; /* times root = 0 */
        for (size_t l = 0; l < NPKSDI_T; l++) {
            up[l] = (inside[l] * hk[l] - root * down[l]) * part;
            slope[(k + 1) * NPKSDI_T + l] = next * hk[l];
        }
        root = next;
    }
    for (size_t k = 1; k <= degree; k++)
        for (size_t l = 0; l < NPKSDI_T; l++)
            h[k * NPKSDI_T + l] += slope[k * NPKSDI_T + l] * (x[l] - inside[l]);
}

/* How many polynomials in d <= 2 variables there are up to a total degree. */
static size_t npksdi_t_terms(size_t d, size_t degree)
{
    return d == 0 ? 1 : (d == 1 ? degree + 1 : (degree + 1) * (degree + 2) / 2);
}

/* Products h_b(t_1) h_c(t_2), b + c <= degree, in the order of c, then b. work: 4 (degree+1) panels. */
static void npksdi_t_basis(const npksd_tester *t, size_t i, const npksd_real *tt, size_t degree,
                           npksd_real *basis, npksd_real *work)
{
    size_t span = (degree + 1) * NPKSDI_T;
    for (size_t k = 0; k < t->d_ && degree > 0; k++) {
        npksd_real low, high;
        npksdi_t_range(t, i, k, &low, &high);
        npksdi_hermite(tt + k * NPKSDI_T, low, high, degree, work + k * span, work + (2 + k) * span);
    }
    size_t b_most = t->d_ >= 1 ? degree : 0, c_most = t->d_ >= 2 ? degree : 0;
    for (size_t c = 0; c <= c_most; c++)
        for (size_t b = 0; b <= b_most && b + c <= degree; b++)
            for (size_t l = 0; l < NPKSDI_T; l++)
                *basis++ = (b > 0 ? work[b * NPKSDI_T + l] : 1) *
                           (c > 0 ? work[span + c * NPKSDI_T + l] : 1);
}

/* The four cubic B-splines of the cell that x falls in, and their slopes: with v in [0, 1] the position,
   (1-v)^3/6, (3v^3-6v^2+4)/6, (-3v^3+3v^2+3v+1)/6, v^3/6. Outside the knots they go on as straight lines.
   value, slope: 4 x NPKSDI_T; B-spline cell + k is number k. */
static void npksdi_spline_basis(const npksd_real *x, npksd_real low, npksd_real inverse, size_t cells, int *cell,
                                npksd_real *NPKSDI_RESTRICT value, npksd_real *NPKSDI_RESTRICT slope)
{
    npksd_real most = (npksd_real)cells, rate = inverse * most, sixth = 1 / NPKSDI_C(6);
    npksd_real inside[NPKSDI_T], place[NPKSDI_T], beyond[NPKSDI_T];
    for (size_t l = 0; l < NPKSDI_T; l++)
        inside[l] = (x[l] - low) * rate;
    npksdi_limit(inside, 0, most);
    for (size_t l = 0; l < NPKSDI_T; l++) {
        beyond[l] = (x[l] - low) * rate - inside[l];
        place[l] = npksdi_min(most - NPKSDI_C(0.5), inside[l]); /* the right end is in the last cell */
    }
    for (size_t l = 0; l < NPKSDI_T; l++)
        cell[l] = (int)place[l];
    for (size_t l = 0; l < NPKSDI_T; l++) {
        npksd_real v = inside[l] - (npksd_real)cell[l], w = 1 - v;
        npksd_real s0 = NPKSDI_C(-0.5) * w * w, s1 = (NPKSDI_C(1.5) * v - 2) * v;
        npksd_real s2 = (1 - NPKSDI_C(1.5) * v) * v + NPKSDI_C(0.5), s3 = NPKSDI_C(0.5) * v * v;
        value[l] = w * w * w * sixth + s0 * beyond[l];
        value[NPKSDI_T + l] = ((3 * v - 6) * v * v + 4) * sixth + s1 * beyond[l];
        value[2 * NPKSDI_T + l] = (((3 - 3 * v) * v + 3) * v + 1) * sixth + s2 * beyond[l];
        value[3 * NPKSDI_T + l] = v * v * v * sixth + s3 * beyond[l];
        slope[l] = s0 * rate;
        slope[NPKSDI_T + l] = s1 * rate;
        slope[2 * NPKSDI_T + l] = s2 * rate;
        slope[3 * NPKSDI_T + l] = s3 * rate;
    }
}

/* The spline features as they stand, without t: mostly 0. */
static void npksdi_spline_features(const npksd_real *x, npksd_real low, npksd_real inverse, size_t basis,
                                   npksd_real *phi, npksd_real *slope)
{
    npksd_real values[4 * NPKSDI_T], slopes[4 * NPKSDI_T];
    int cell[NPKSDI_T];
    NPKSD_MEMSET(phi, 0, basis * NPKSDI_T * sizeof *phi);
    NPKSD_MEMSET(slope, 0, basis * NPKSDI_T * sizeof *slope);
    npksdi_spline_basis(x, low, inverse, basis - 3, cell, values, slopes);
    for (size_t k = 0; k < 4; k++)
        for (size_t l = 0; l < NPKSDI_T; l++) {
            phi[((size_t)cell[l] + k) * NPKSDI_T + l] = values[k * NPKSDI_T + l];
            slope[((size_t)cell[l] + k) * NPKSDI_T + l] = slopes[k * NPKSDI_T + l];
        }
}

/* exp(-|(x,t) - c|^2 / (2 h^2)) for one centre c; terms = 1 + d rows of `point`. */
static void npksdi_bump(const npksd_real *x, const npksd_real *tt, size_t d, const npksd_real *centre,
                        npksd_real half_inverse, npksd_real *out)
{
    npksd_real r[NPKSDI_T];
    for (size_t l = 0; l < NPKSDI_T; l++)
        r[l] = (x[l] - centre[0]) * (x[l] - centre[0]);
    for (size_t k = 0; k < d; k++)
        for (size_t l = 0; l < NPKSDI_T; l++) {
            npksd_real e = tt[k * NPKSDI_T + l] - centre[1 + k];
            r[l] += e * e;
        }
    for (size_t l = 0; l < NPKSDI_T; l++)
        r[l] = npksdi_max(NPKSDI_EXP_LOW, -r[l] * half_inverse);
    for (size_t l = 0; l < NPKSDI_T; l++)
        out[l] = NPKSDI_EXP_INSIDE(r[l]);
}

/* 1/(2 h^2) of the bumps: h^2 = (1 + d)/4, and m/2 for bumps in R^m. */
static npksd_real npksdi_bump_rate(const npksd_tester *t)
{
    return t->summary_ == NPKSD_SUMMARY_ALL ? 1 / (npksd_real)t->m_ : 2 / (npksd_real)(1 + t->d_);
}

/* phi(x, t) and d phi / dx with t held fixed, p x NPKSDI_T each, for the families with features of
   their own for every coordinate (not for splines times polynomials in t: those are sparse). work: room
   for 46 + 36 panels. */
static void npksdi_features(const npksd_tester *t, const npksdi_family *f, size_t i, const npksd_real *x,
                            const npksd_real *tt, npksd_real *phi, npksd_real *slope, npksd_real *work)
{
    size_t d = t->d_, at = 0;
    npksd_real *t_basis = work + 36 * NPKSDI_T;
    npksd_real *h = work, *dh = work + 9 * NPKSDI_T;
    int additive = d > 2, linear = f->kind_ == NPKSD_ESTIMATOR_GAUSS || f->kind_ == NPKSD_ESTIMATOR_RBF;
    if (f->kind_ == NPKSD_ESTIMATOR_POLY) {
        npksdi_t_basis(t, i, tt, additive ? 0 : f->degree_, t_basis, work);
        npksdi_hermite(x, NPKSDI_MODEL(t, x_low)[i], NPKSDI_MODEL(t, x_high)[i], f->degree_, h, dh);
        size_t b_most = d >= 1 && !additive ? f->degree_ : 0, c_most = d == 2 ? f->degree_ : 0, r = 0;
        for (size_t c = 0; c <= c_most; c++)
            for (size_t b = 0; b <= b_most && b + c <= f->degree_; b++, r++)
                for (size_t a = 0; a + b + c <= f->degree_; a++, at++)
                    for (size_t l = 0; l < NPKSDI_T; l++) {
                        npksd_real tb = t_basis[r * NPKSDI_T + l];
                        phi[at * NPKSDI_T + l] = h[a * NPKSDI_T + l] * tb;
                        slope[at * NPKSDI_T + l] = dh[a * NPKSDI_T + l] * tb;
                    }
    } else if (f->kind_ == NPKSD_ESTIMATOR_SPLINE) {
        npksdi_spline_features(x, NPKSDI_MODEL(t, knot_low)[i], NPKSDI_MODEL(t, knot_inverse)[i],
                               f->basis_, phi, slope);
        at = f->basis_;
    } else {
        for (size_t l = 0; l < NPKSDI_T; l++) {
            phi[l] = 1;
            phi[NPKSDI_T + l] = x[l];
            slope[l] = 0;
            slope[NPKSDI_T + l] = 1;
        }
        at = 2;
    }
    if (additive || linear)
        for (size_t k = 0; k < d; k++, at++)
            for (size_t l = 0; l < NPKSDI_T; l++) {
                phi[at * NPKSDI_T + l] = tt[k * NPKSDI_T + l];
                slope[at * NPKSDI_T + l] = 0;
            }
    if (additive && !linear)
        for (size_t k = 0; k < d; k++, at++)
            for (size_t l = 0; l < NPKSDI_T; l++) {
                phi[at * NPKSDI_T + l] = x[l] * tt[k * NPKSDI_T + l];
                slope[at * NPKSDI_T + l] = tt[k * NPKSDI_T + l];
            }
    if (f->kind_ == NPKSD_ESTIMATOR_RBF) {
        const npksd_real *centre = NPKSDI_MODEL(t, centres) + i * f->basis_ * (1 + d);
        npksd_real rate = npksdi_bump_rate(t);
        for (size_t k = 0; k < f->basis_; k++, at++, centre += 1 + d) {
            npksd_real *bump = phi + at * NPKSDI_T;
            npksdi_bump(x, tt, d, centre, rate, bump);
            for (size_t l = 0; l < NPKSDI_T; l++)
                slope[at * NPKSDI_T + l] = -2 * rate * (x[l] - centre[0]) * bump[l];
        }
    }
    NPKSD_ASSERT(at == f->features_);
}

/* Summary ALL: bumps in R^m behind (1, z), shared by all coordinates. */
static void npksdi_shared_bumps(const npksd_tester *t, npksd_real *ones_and_z, size_t count)
{
    const npksd_real *z = ones_and_z + NPKSDI_T, *centre = NPKSDI_MODEL(t, centres);
    npksd_real *bump = ones_and_z + (1 + t->m_) * NPKSDI_T;
    for (size_t k = 0; k < count; k++)
        npksdi_bump(z, z + NPKSDI_T, t->m_ - 1, centre + k * t->m_, npksdi_bump_rate(t),
                    bump + k * NPKSDI_T);
}

/* The fitted spline, cell by cell, as cubics in v for each polynomial in t; the first and the last
   entry are the straight tails. u = (x - low) * rate + 1 picks the entry, v is what is left of u. */
static void npksdi_spline_table(const npksdi_family *f, const npksd_real *theta, npksd_real *table)
{
    size_t cells = f->basis_ - 3, terms = f->t_terms_;
    npksd_real half = NPKSDI_C(0.5), sixth = 1 / NPKSDI_C(6);
    for (size_t cell = 0; cell < cells; cell++)
        for (size_t r = 0; r < terms; r++) {
            const npksd_real *q = theta + cell * terms + r;
            npksd_real q0 = q[0], q1 = q[terms], q2 = q[2 * terms], q3 = q[3 * terms];
            npksd_real *a = table + ((cell + 1) * terms + r) * 4;
            a[0] = (q0 + 4 * q1 + q2) * sixth;
            a[1] = (q2 - q0) * half;
            a[2] = (q0 - 2 * q1 + q2) * half;
            a[3] = (q3 - q0 + 3 * (q1 - q2)) * sixth;
        }
    for (size_t r = 0; r < terms; r++) {
        const npksd_real *first = table + (terms + r) * 4, *last = table + (cells * terms + r) * 4;
        npksd_real *left = table + r * 4, *right = table + ((cells + 1) * terms + r) * 4;
        left[0] = first[0] - first[1];
        left[1] = first[1];
        right[0] = last[0] + last[1] + last[2] + last[3];
        right[1] = last[1] + 2 * last[2] + 3 * last[3];
        left[2] = left[3] = right[2] = right[3] = 0;
    }
    NPKSD_MEMCPY(table + (cells + 2) * terms * 4, theta + f->basis_ * terms,
                 (f->features_ - f->basis_ * terms) * sizeof *theta); /* t and x t, if additive */
}

static size_t npksdi_theta_size(const npksdi_family *f)
{
    if (f->kind_ != NPKSD_ESTIMATOR_SPLINE)
        return f->features_;
    return (f->basis_ - 1) * f->t_terms_ * 4 + (f->features_ - f->basis_ * f->t_terms_);
}

/* s = sum_r cubic_r(v) t_r, t_0 = 1, from the entry that each lane has in the table. */
NPKSDI_INLINE void npksdi_spline_lanes(const npksd_real *table, size_t terms, const int *entry,
                                       const npksd_real *v, const npksd_real *t_powers, npksd_real *s)
{
    for (size_t l = 0; l < NPKSDI_T; l++) {
        const npksd_real *a = table + (size_t)entry[l] * terms * 4;
        npksd_real sum = ((a[3] * v[l] + a[2]) * v[l] + a[1]) * v[l] + a[0];
        for (size_t r = 1; r < terms; r++) {
            a += 4;
            sum += (((a[3] * v[l] + a[2]) * v[l] + a[1]) * v[l] + a[0]) * t_powers[(r - 1) * NPKSDI_T + l];
        }
        s[l] = sum;
    }
}

static void npksdi_score_spline(const npksd_tester *t, const npksdi_family *f, size_t i,
                                const npksd_real *x, const npksd_real *tt, npksd_real *s,
                                npksd_real *work)
{
    const npksd_real *table = NPKSDI_MODEL(t, theta) + i * t->theta_stride_, *t_powers = tt;
    size_t cells = f->basis_ - 3, terms = f->t_terms_, d = t->d_;
    npksd_real low = NPKSDI_MODEL(t, knot_low)[i], most = (npksd_real)cells;
    npksd_real rate = NPKSDI_MODEL(t, knot_inverse)[i] * most, v[NPKSDI_T], place[NPKSDI_T];
    int entry[NPKSDI_T];
    if (terms > 1 && f->degree_ > 1) { /* of degree 1: t itself */
        npksdi_t_basis(t, i, tt, f->degree_, work + 36 * NPKSDI_T, work);
        t_powers = work + 37 * NPKSDI_T;
    }
    for (size_t l = 0; l < NPKSDI_T; l++)
        v[l] = place[l] = (x[l] - low) * rate + 1;
    npksdi_limit(place, 0, most + 1);
    for (size_t l = 0; l < NPKSDI_T; l++)
        entry[l] = (int)place[l];
    for (size_t l = 0; l < NPKSDI_T; l++)
        v[l] -= (npksd_real)entry[l];
    if (terms == 1)
        npksdi_spline_lanes(table, 1, entry, v, NULL, s);
    else if (terms == 2)
        npksdi_spline_lanes(table, 2, entry, v, t_powers, s);
    else
        npksdi_spline_lanes(table, terms, entry, v, t_powers, s);
    if (d > 2) {
        const npksd_real *slope = table + (cells + 2) * terms * 4;
        for (size_t k = 0; k < d; k++)
            for (size_t l = 0; l < NPKSDI_T; l++)
                s[l] += (slope[k] + slope[d + k] * x[l]) * tt[k * NPKSDI_T + l];
    }
}

/* s_i = theta_i' phi for one coordinate and one panel, for features of its own. */
static void npksdi_score_coordinate(const npksd_tester *t, npksdi_scratch *w, size_t i,
                                    const npksd_real *z, const npksd_real *rows, size_t count,
                                    npksd_real *s)
{
    const npksd_real *x = z + i * NPKSDI_T, *theta = NPKSDI_MODEL(t, theta) + i * t->theta_stride_;
    npksd_real *tt = NPKSDI_IN(t, w, t), *phi = NPKSDI_IN(t, w, phi), *work = NPKSDI_IN(t, w, work);
    const npksdi_family *f = t->family_ + npksdi_ints(t, t->at_.family_of_)[i];
    npksdi_standard_summary(t, w, z, rows, count, i, tt);
    if (f->kind_ == NPKSD_ESTIMATOR_SPLINE) {
        npksdi_score_spline(t, f, i, x, tt, s, work);
    } else if (f->kind_ == NPKSD_ESTIMATOR_GAUSS) {
        for (size_t l = 0; l < NPKSDI_T; l++)
            s[l] = theta[0] + theta[1] * x[l];
        for (size_t k = 0; k < t->d_; k++)
            for (size_t l = 0; l < NPKSDI_T; l++)
                s[l] += theta[2 + k] * tt[k * NPKSDI_T + l];
    } else {
        npksdi_features(t, f, i, x, tt, phi, NPKSDI_IN(t, w, slope), work);
        npksdi_product(s, NPKSDI_T, 1, theta, 0, 1, phi, NPKSDI_T, f->features_, 0);
    }
}

/* The caller's own score, in scaled units. */
static npksd_status npksdi_score_callback(const npksd_tester *t, npksdi_scratch *w, const npksd_real *rows,
                                          size_t count, npksd_real *s)
{
    const npksd_real *scale = NPKSDI_MODEL(t, scale);
    npksd_real *given = NPKSDI_IN(t, w, callback);
    size_t m = t->m_;
    if (t->options_.score_fn(rows, count, m, given, t->options_.score_user_data) != 0)
        return NPKSD_ERROR_GENERATOR;
    if (!npksdi_finite(given, count * m))
        return NPKSD_ERROR_NONFINITE;
    for (size_t j = 0; j < m; j++) {
        npksd_real most = NPKSDI_UNSCALED_CLAMP / npksdi_max(1, scale[j]);
        for (size_t l = 0; l < NPKSDI_T; l++)
            s[j * NPKSDI_T + l] = l < count ? npksdi_clamp(given[l * m + j], most) * scale[j] : 0;
    }
    return NPKSD_OK;
}

/* Scores of one panel in scaled units, m x NPKSDI_T, 0 where weights are 0 (weights NULL: all fitted
   coordinates). z is preceded by a row of ones; count rows of it are real. */
static npksd_status npksdi_score_panel(const npksd_tester *t, npksdi_scratch *w, npksd_real *z,
                                       const npksd_real *rows, size_t count, const npksd_real *weights,
                                       npksd_real *s)
{
    if (t->options_.estimator == NPKSD_ESTIMATOR_CALLBACK)
        return npksdi_score_callback(t, w, rows, count, s);
    const uint32_t *family_of = npksdi_ints(t, t->at_.family_of_);
    npksdi_totals(t, w, z);
    if (t->summary_ == NPKSD_SUMMARY_ALL && t->centre_count_ > 0)
        npksdi_shared_bumps(t, z - NPKSDI_T, t->centre_count_);
    const npksd_real *wanted = weights != NULL ? weights : NPKSDI_MODEL(t, weights);
    for (size_t i = 0, run = 1; i < t->m_; i += run, run = 1) {
        npksd_real *out = s + i * NPKSDI_T;
        uint32_t family = family_of[i];
        if (!(wanted[i] > 0)) {
            NPKSD_MEMSET(out, 0, NPKSDI_T * sizeof *out);
        } else if (family == (uint32_t)NPKSDI_CONSTANT) {
            for (size_t l = 0; l < NPKSDI_T; l++)
                out[l] = -z[i * NPKSDI_T + l];
        } else if (t->family_[family].shared_) { /* neighbours alike: one product of several rows */
            while (i + run < t->m_ && family_of[i + run] == family && wanted[i + run] > 0)
                run++;
            npksdi_product(out, NPKSDI_T, run, NPKSDI_MODEL(t, theta) + i * t->theta_stride_, t->theta_stride_, 1,
                           z - NPKSDI_T, NPKSDI_T, t->family_[family].features_, 0);
        } else {
            npksdi_score_coordinate(t, w, i, z, rows, count, out);
        }
    }
    for (size_t i = 0; i < t->m_ && count < NPKSDI_T; i++)
        for (size_t l = count; l < NPKSDI_T; l++)
            s[i * NPKSDI_T + l] = 0;
    return npksdi_summary_status(w);
}

/* ---- sums for the fit: A = sum phi phi', c = sum dphi/dx ----
   A is row-major, rows padded to whole panels, and right in its lower triangle. */

static void npksdi_add_moments(npksd_real *A, size_t p, const npksd_real *turned, size_t padded,
                               size_t panel)
{
    size_t first = panel * NPKSDI_T;
    npksdi_product(A + first * padded + first, padded, p - first, turned + first, 1, padded, turned + first,
                   padded, NPKSDI_T, 1);
}

/* p x NPKSDI_T becomes NPKSDI_T x padded, with 0 for rows that are not there. */
static void npksdi_turn(const npksd_real *phi, size_t p, size_t padded, size_t count, npksd_real *turned)
{
    for (size_t l = 0; l < NPKSDI_T; l++)
        for (size_t k = 0; k < padded; k++)
            turned[l * padded + k] = k < p && l < count ? phi[k * NPKSDI_T + l] : 0;
}

NPKSDI_INLINE npksd_real npksdi_moment(const npksd_real *A, size_t p, size_t a, size_t b)
{
    return A[a * npksdi_ceil_div(p, NPKSDI_T) * NPKSDI_T + b];
}

/* One row of splines times polynomials in t: 4 terms neighbours of phi are not 0, a block of A and c. */
NPKSDI_INLINE void npksdi_add_spline_row(npksd_real *NPKSDI_RESTRICT A, npksd_real *NPKSDI_RESTRICT c,
                                         size_t padded, const npksd_real *value, const npksd_real *slope,
                                         const npksd_real *t_basis, size_t terms)
{
    npksd_real phi[4 * 10]; /* as many terms as degree 3 in two variables has */
    for (size_t k = 0; k < 4; k++)
        for (size_t r = 0; r < terms; r++) {
            phi[k * terms + r] = value[k * NPKSDI_T] * t_basis[r * NPKSDI_T];
            c[k * terms + r] += slope[k * NPKSDI_T] * t_basis[r * NPKSDI_T];
        }
    for (size_t a = 0; a < 4 * terms; a++) /* whole fours up to the diagonal, and a bit beyond */
        for (size_t b = 0; b < a / 4 * 4 + 4; b++)
            A[a * padded + b] += phi[a] * phi[b];
}

static void npksdi_add_splines(const npksd_tester *t, const npksdi_family *f, size_t i, const npksd_real *x,
                               const npksd_real *tt, size_t count, npksd_real *work, npksd_real *A, npksd_real *c)
{
    npksd_real values[4 * NPKSDI_T], slopes[4 * NPKSDI_T], *t_basis = work + 36 * NPKSDI_T;
    size_t terms = f->t_terms_, padded = f->panels_ * NPKSDI_T;
    int cell[NPKSDI_T];
    npksdi_t_basis(t, i, tt, f->degree_, t_basis, work);
    npksdi_spline_basis(x, NPKSDI_MODEL(t, knot_low)[i], NPKSDI_MODEL(t, knot_inverse)[i], f->basis_ - 3, cell,
                        values, slopes);
    for (size_t l = 0; l < count; l++) {
        size_t first = (size_t)cell[l] * terms;
        npksd_real *block = A + first * padded + first;
        if (terms == 2)
            npksdi_add_spline_row(block, c + first, padded, values + l, slopes + l, t_basis + l, 2);
        else
            npksdi_add_spline_row(block, c + first, padded, values + l, slopes + l, t_basis + l, terms);
    }
}

static size_t npksdi_sums_size(const npksdi_family *f)
{
    return f->panels_ * NPKSDI_T * f->features_ + f->features_;
}

/* Sums of family f for coordinate slot c (or the shared ones), fit (split 0) or held out (1). */
static npksd_real *npksdi_sums(const npksd_tester *t, const npksdi_family *f, size_t slot, size_t split)
{
    npksd_real *all = NPKSDI_MODEL(t, sums);
    size_t per_split = t->shared_sums_ + t->active_count_ * t->coordinate_sums_;
    all += split * per_split;
    return all + (f->shared_ ? 0 : t->shared_sums_ + slot * t->coordinate_sums_) + f->sums_at_;
}

/* Item `item` of adding the block of waiting rows to the sums of a split: first one item for each
   fitted coordinate, then one for each panel of each shared moment matrix. Returns its cost. */
static void npksdi_add_block_item(npksd_tester *t, npksdi_scratch *w, size_t item, size_t split)
{
    npksd_real *z = NPKSDI_IN(t, w, z) + NPKSDI_T, *tt = NPKSDI_IN(t, w, t);
    npksd_real *phi = NPKSDI_IN(t, w, phi), *slope = NPKSDI_IN(t, w, slope);
    npksd_real *turned = NPKSDI_IN(t, w, turned);
    const npksd_real *rows = NPKSDI_MODEL(t, block);
    if (item == 0) {
        npksdi_scale_panel(t, rows, t->block_rows_, z - NPKSDI_T);
        npksdi_totals(t, w, z);
        if (t->summary_ == NPKSD_SUMMARY_ALL && t->centre_count_ > 0)
            npksdi_shared_bumps(t, z - NPKSDI_T, t->centre_count_);
    }
    if (item < t->active_count_) {
        size_t i = npksdi_ints(t, t->at_.active_)[item];
        int have_t = 0;
        for (size_t k = 0; k < t->family_count_; k++) {
            const npksdi_family *f = t->family_ + k;
            size_t padded = f->panels_ * NPKSDI_T;
            if (f->shared_ || npksdi_is_constant(t, i))
                continue;
            if (!have_t)
                npksdi_standard_summary(t, w, z, rows, t->block_rows_, i, tt);
            have_t = 1;
            npksd_real *A = npksdi_sums(t, f, item, split), *c = A + padded * f->features_;
            if (f->kind_ == NPKSD_ESTIMATOR_SPLINE && t->d_ <= 2) {
                npksdi_add_splines(t, f, i, z + i * NPKSDI_T, tt, t->block_rows_, NPKSDI_IN(t, w, work), A, c);
                continue;
            }
            npksdi_features(t, f, i, z + i * NPKSDI_T, tt, phi, slope, NPKSDI_IN(t, w, work));
            npksdi_turn(phi, f->features_, padded, t->block_rows_, turned);
            for (size_t panel = 0; panel < f->panels_; panel++)
                npksdi_add_moments(A, f->features_, turned, padded, panel);
            for (size_t a = 0; a < f->features_; a++) {
                for (size_t l = t->block_rows_; l < NPKSDI_T; l++)
                    slope[a * NPKSDI_T + l] = 0;
                c[a] += npksdi_lane_sum(slope + a * NPKSDI_T);
            }
        }
        return;
    }
    item -= t->active_count_;
    for (size_t k = 0; k < t->family_count_; k++) {
        const npksdi_family *f = t->family_ + k;
        if (!f->shared_)
            continue;
        if (item < f->panels_) {
            size_t padded = f->panels_ * NPKSDI_T;
            if (item == 0)
                npksdi_turn(z - NPKSDI_T, f->features_, padded, t->block_rows_, turned);
            npksdi_add_moments(npksdi_sums(t, f, 0, split), f->features_, turned, padded, item);
            return;
        }
        item -= f->panels_;
    }
}

static size_t npksdi_block_items(const npksd_tester *t)
{
    size_t items = t->active_count_;
    for (size_t k = 0; k < t->family_count_; k++)
        items += t->family_[k].shared_ ? t->family_[k].panels_ : 0;
    return items;
}

/* ---- the solve: theta = -(A + ridge)^-1 c ---- */

/* Row i of the moment means into the factor, then one step of Cholesky. Splits first..last joined. */
static int npksdi_factor_row(npksd_tester *t, const npksdi_family *f, size_t slot, npksd_real ridge,
                             size_t splits, size_t i)
{
    size_t p = f->features_;
    npksd_real *L = NPKSDI_MODEL(t, factor), trace = 0;
    npksd_real rows = (npksd_real)t->options_.fit_rows;
    const npksd_real *A = npksdi_sums(t, f, slot, 0), *H = npksdi_sums(t, f, slot, splits - 1);
    if (splits > 1)
        rows += (npksd_real)t->held_rows_;
    for (size_t k = 0; k < p; k++)
        trace += npksdi_moment(A, p, k, k) + (splits > 1 ? npksdi_moment(H, p, k, k) : 0);
    for (size_t k = 0; k <= i; k++)
        L[i * p + k] =
            (npksdi_moment(A, p, i, k) + (splits > 1 ? npksdi_moment(H, p, i, k) : 0)) / rows;
    for (int k = 0; k < t->ridge_boost_; k++)
        ridge *= 10;
    return npksdi_cholesky_row(L, p, ridge * trace / rows / (npksd_real)p, i);
}

/* c of coordinate i (slot) as a mean. With shared features d phi / dx_i is 1 for x_i and, for a bump,
   -(x_i - c_i)/h^2 bump, whose sum is already in A. */
static void npksdi_gradient(const npksd_tester *t, const npksdi_family *f, size_t i, size_t slot,
                            size_t split, npksd_real *c)
{
    size_t p = f->features_;
    const npksd_real *A = npksdi_sums(t, f, slot, split);
    npksd_real rows = (npksd_real)(split == 0 ? t->options_.fit_rows : t->held_rows_);
    if (!f->shared_) {
        for (size_t a = 0; a < p; a++)
            c[a] = A[f->panels_ * NPKSDI_T * p + a] / rows;
        return;
    }
    NPKSD_MEMSET(c, 0, p * sizeof *c);
    c[1 + i] = 1;
    const npksd_real *centre = NPKSDI_MODEL(t, centres) + i;
    for (size_t a = 1 + t->m_; a < p; a++, centre += t->m_)
        c[a] = 2 * npksdi_bump_rate(t) *
               (*centre * npksdi_moment(A, p, a, 0) - npksdi_moment(A, p, a, 1 + i)) / rows;
}

/* J = theta' A theta / 2 + c' theta on the held-out sums. */
static npksd_real npksdi_held_out_loss(const npksd_tester *t, const npksdi_family *f, size_t i, size_t slot,
                                       const npksd_real *theta, npksd_real *c)
{
    size_t p = f->features_;
    const npksd_real *A = npksdi_sums(t, f, slot, 1);
    npksd_real quadratic = 0, linear = 0;
    npksdi_gradient(t, f, i, slot, 1, c);
    for (size_t a = 0; a < p; a++) {
        npksd_real sum = NPKSDI_C(0.5) * npksdi_moment(A, p, a, a) * theta[a];
        for (size_t b = 0; b < a; b++)
            sum += npksdi_moment(A, p, a, b) * theta[b];
        quadratic += theta[a] * sum;
        linear += theta[a] * c[a];
    }
    return quadratic / (npksd_real)t->held_rows_ + linear;
}

/* AUTO tries GAUSS alone where values repeat: flexible families would chase the atoms. */
static int npksdi_may_use(const npksd_tester *t, size_t i, size_t family)
{
    return !npksdi_is_constant(t, i) &&
           (t->options_.smooth > 0 || t->family_[family].kind_ == NPKSD_ESTIMATOR_GAUSS ||
            npksdi_ints(t, t->at_.tied_)[i] == 0);
}

/* One candidate (family, ridge) for one coordinate: solve on the fit sums, judge on the held-out ones.
   The best ridge of a family is found first; a costlier family must then lower J by 2 % of |J|. */
static void npksdi_judge(npksd_tester *t, size_t family, size_t ridge, size_t slot)
{
    const npksdi_family *f = t->family_ + family;
    size_t i = npksdi_ints(t, t->at_.active_)[slot];
    npksd_real *theta = NPKSDI_MODEL(t, solution), *c = NPKSDI_MODEL(t, gradient);
    if (!npksdi_may_use(t, i, family))
        return;
    npksdi_gradient(t, f, i, slot, 0, c);
    npksdi_cholesky_solve(NPKSDI_MODEL(t, factor), f->features_, c, theta);
    npksd_real loss = npksdi_held_out_loss(t, f, i, slot, theta, c);
    if (loss < NPKSDI_MODEL(t, family_loss)[slot]) {
        NPKSDI_MODEL(t, family_loss)[slot] = loss;
        npksdi_ints(t, t->at_.family_choice_)[slot] = (uint32_t)(family * NPKSDI_RIDGES_MAX + ridge);
    }
}

static void npksdi_keep_best(npksd_tester *t, size_t slot)
{
    npksd_real *best = NPKSDI_MODEL(t, best_loss) + slot, *now = NPKSDI_MODEL(t, family_loss) + slot;
    npksd_real margin = *best < NPKSDI_HUGE ? NPKSDI_C(0.02) * npksdi_abs(*best) : 0;
    if (*now < *best - margin) {
        *best = *now;
        npksdi_ints(t, t->at_.best_choice_)[slot] = npksdi_ints(t, t->at_.family_choice_)[slot];
    }
    *now = NPKSDI_HUGE;
}

/* The winner of a coordinate, solved once more on all sums together. */
static void npksdi_settle(npksd_tester *t, size_t family, size_t slot)
{
    const npksdi_family *f = t->family_ + family;
    size_t i = npksdi_ints(t, t->at_.active_)[slot], p = f->features_;
    npksd_real *theta = NPKSDI_MODEL(t, solution), *c = NPKSDI_MODEL(t, gradient);
    npksd_real *model = NPKSDI_MODEL(t, theta) + i * t->theta_stride_;
    npksdi_gradient(t, f, i, slot, 0, c);
    if (t->splits_ > 1) {
        npksd_real fit = (npksd_real)t->options_.fit_rows, held = (npksd_real)t->held_rows_;
        npksdi_gradient(t, f, i, slot, 1, theta);
        for (size_t a = 0; a < p; a++)
            c[a] = (fit * c[a] + held * theta[a]) / (fit + held);
    }
    npksdi_cholesky_solve(NPKSDI_MODEL(t, factor), p, c, theta);
    if (f->kind_ == NPKSD_ESTIMATOR_SPLINE)
        npksdi_spline_table(f, theta, model);
    else
        NPKSD_MEMCPY(model, theta, p * sizeof *theta);
    npksdi_ints(t, t->at_.family_of_)[i] = (uint32_t)family;
}

/* Does anybody use this matrix? While selecting everybody does; then only those who chose it. */
static int npksdi_chosen(const npksd_tester *t, size_t family, size_t ridge, size_t slot)
{
    size_t i = npksdi_ints(t, t->at_.active_)[slot];
    return !npksdi_is_constant(t, i) && npksdi_ints(t, t->at_.best_choice_)[slot] ==
                                            family * NPKSDI_RIDGES_MAX + ridge;
}

static int npksdi_wanted(const npksd_tester *t, int select, size_t first, size_t users)
{
    const size_t *at = t->item_;
    int wanted = select;
    for (size_t u = 0; u < users && !wanted; u++)
        wanted = npksdi_chosen(t, at[0], at[2], first + u);
    return wanted;
}

/* Cost of a row of a factor, or of a solution. */
static uint64_t npksdi_row_cost(uint64_t p) { return 7 * p * p + 270 * p; }

/* One item of the solve: a row of the factor of one matrix, or one coordinate that uses it.
   Cursor: family, matrix (coordinate, or 0 if shared), ridge, step. */
static npksd_status npksdi_solve_item(npksd_tester *t, int select, uint64_t *cost)
{
    size_t *at = t->item_;
    const npksdi_family *f = t->family_ + at[0];
    size_t p = f->features_, users = f->shared_ ? t->active_count_ : 1, skipped = 0;
    size_t matrices = f->shared_ ? 1 : t->active_count_, first = f->shared_ ? 0 : at[1];
    *cost = npksdi_row_cost(p);
    if (at[3] == 0 && !npksdi_wanted(t, select, first, users)) {
        skipped = p + users - 1;
    } else if (at[3] < p) {
        if (!npksdi_factor_row(t, f, at[1], t->ridge_[at[2]], select ? 1 : t->splits_, at[3])) {
            if (!select) { /* once more with a larger ridge; then give up */
                if (t->ridge_boost_ > 3)
                    return NPKSD_ERROR_NUMERIC;
                t->ridge_boost_++;
                at[3] = 0;
                return NPKSD_OK;
            }
            skipped = p + users - 1 - at[3]; /* this candidate is out */
        }
    } else if (select) {
        npksdi_judge(t, at[0], at[2], first + at[3] - p);
    } else if (npksdi_chosen(t, at[0], at[2], first + at[3] - p)) {
        npksdi_settle(t, at[0], first + at[3] - p);
    }
    at[3] += 1 + skipped;
    *cost = npksdi_row_cost(p) + (select ? skipped * npksdi_row_cost(p) : 0);
    if (at[3] == p + users) { /* next ridge, then matrix, then family */
        at[3] = 0;
        t->ridge_boost_ = 0;
        if (++at[2] == t->ridge_count_) {
            at[2] = 0;
            for (size_t u = 0; u < users && select; u++)
                npksdi_keep_best(t, first + u);
            if (++at[1] == matrices) {
                at[1] = 0;
                at[0]++;
            }
        }
    }
    return NPKSD_OK;
}

/* ======== >>operator: weights, and the columns that a Stein kernel is made of ======== */

/* Draw B > 0 coordinates: w_i = k_i / B. picks has room for m numbers. */
static void npksdi_draw_weights(const npksd_tester *t, npksd_rng *rng, npksd_real *weights,
                                npksd_real *picks)
{
    size_t m = t->m_, B = t->options_.resample;
    for (size_t i = 0; i < m; i++) {
        weights[i] = 0;
        picks[i] = (npksd_real)i;
    }
    for (size_t j = 0; j < B; j++) {
        if (t->options_.resample_distinct) {
            size_t k = j + npksdi_below(rng, m - j);
            npksd_real pick = picks[k];
            picks[k] = picks[j];
            picks[j] = pick;
            weights[(size_t)pick] = 1 / (npksd_real)B;
        } else {
            weights[npksdi_below(rng, m)] += 1;
        }
    }
    for (size_t i = 0; i < m && !t->options_.resample_distinct; i++)
        weights[i] /= (npksd_real)B;
}

/* Which columns a data set has: VECTOR one for each coordinate with w_i > 0, SCALAR a single one. */
static void npksdi_count_columns(const npksd_tester *t, npksdi_scratch *w)
{
    const npksd_real *weights = NPKSDI_IN(t, w, weights);
    size_t drawn = 0;
    w->weight_sum_ = 0;
    w->equal_ = t->options_.form == NPKSD_FORM_VECTOR;
    for (size_t i = 0; i < t->m_; i++) {
        drawn += weights[i] > 0;
        w->weight_sum_ += weights[i] * weights[i];
        w->equal_ &= !(weights[i] > weights[0]) && !(weights[i] < weights[0]);
    }
    w->active_count_ = t->options_.form == NPKSD_FORM_SCALAR ? 1 : drawn;
}

/* A pair of rows needs, with the weighted columns S = w s and X = w x,
       A = S.S',  C = cross + cross' - (S.X' + X.S'),  D = spread + spread' - 2 X.X',
   which are sum w^2 s_i s_i', sum w^2 d_i (s_i - s_i') and sum w^2 d_i^2 (SCALAR: S and X are single columns,
   the sums over coordinates). Three products of a matrix with itself give them all: S.S', X.X' and P.P' of
   P = S + X, as S.X' + X.S' = P.P' - S.S' - X.X'. One Gaussian kernel alone needs two: with
   P = S - X/sigma^2,
       u = k [ P.P' + X.X'/sigma^4 + a + a' ],  a = cross/sigma^2 - spread/sigma^4 + sum w^2/(2 sigma^2).
   X itself is kept for unequal weights only; otherwise the rows serve, times 1/m. */
static void npksdi_mix_panel(const npksd_tester *t, npksdi_scratch *w, size_t panel)
{
    size_t columns = w->active_count_, first = panel * NPKSDI_T * columns;
    const npksd_real *NPKSDI_RESTRICT S = NPKSDI_IN(t, w, s) + first;
    const npksd_real *NPKSDI_RESTRICT X = w->equal_ ? NPKSDI_IN(t, w, x) + first : NPKSDI_IN(t, w, xt) + first;
    npksd_real *NPKSDI_RESTRICT P = NPKSDI_IN(t, w, p) + first;
    npksd_real share = w->equal_ ? NPKSDI_IN(t, w, weights)[0] : 1;
    share *= w->fused_ > 0 ? -w->fused_ : 1;
    for (size_t k = 0; k < columns; k++, S += NPKSDI_T, X += NPKSDI_T, P += NPKSDI_T)
        for (size_t l = 0; l < NPKSDI_T; l++)
            P[l] = S[l] + share * X[l];
}

/* From x and scores of one panel (m x NPKSDI_T each) to S, X, cross, spread, own = |S|^2, norm = |x|^2. */
static void npksdi_columns_panel(const npksd_tester *t, npksdi_scratch *w, size_t panel,
                                 const npksd_real *NPKSDI_RESTRICT x, const npksd_real *NPKSDI_RESTRICT s)
{
    size_t m = t->m_, columns = w->active_count_, first = panel * NPKSDI_T;
    const npksd_real *weights = NPKSDI_IN(t, w, weights);
    npksd_real *NPKSDI_RESTRICT S = NPKSDI_IN(t, w, s) + first * columns;
    npksd_real *NPKSDI_RESTRICT X = NPKSDI_IN(t, w, xt) + (w->equal_ ? 0 : first * columns);
    npksd_real *NPKSDI_RESTRICT out_norm = NPKSDI_IN(t, w, norm) + first;
    npksd_real *NPKSDI_RESTRICT out_cross = NPKSDI_IN(t, w, cross) + first;
    npksd_real *NPKSDI_RESTRICT out_spread = NPKSDI_IN(t, w, spread) + first;
    npksd_real *NPKSDI_RESTRICT out_own = NPKSDI_IN(t, w, own) + first;
    npksd_real norm[NPKSDI_T], cross[NPKSDI_T], spread[NPKSDI_T], own[NPKSDI_T];
    int scalar = t->options_.form == NPKSD_FORM_SCALAR;
    for (size_t l = 0; l < NPKSDI_T; l++) {
        norm[l] = cross[l] = spread[l] = own[l] = 0;
        if (scalar)
            S[l] = X[l] = 0;
    }
    for (size_t i = 0; i < m; i++, x += NPKSDI_T, s += NPKSDI_T) {
        npksd_real weight = weights[i];
        for (size_t l = 0; l < NPKSDI_T; l++)
            norm[l] += x[l] * x[l];
        if (!(weight > 0))
            continue;
        if (scalar) {
            for (size_t l = 0; l < NPKSDI_T; l++) {
                S[l] += weight * s[l];
                X[l] += weight * x[l];
            }
            continue;
        }
        for (size_t l = 0; l < NPKSDI_T; l++) {
            npksd_real ws = weight * s[l], wx = weight * x[l];
            S[l] = ws;
            X[l] = wx;
            cross[l] += ws * wx;
            spread[l] += wx * wx;
            own[l] += ws * ws;
        }
        S += NPKSDI_T;
        X += w->equal_ ? 0 : NPKSDI_T;
    }
    for (size_t l = 0; l < NPKSDI_T; l++) {
        out_norm[l] = norm[l];
        out_cross[l] = scalar ? S[l] * X[l] : cross[l];
        out_spread[l] = scalar ? X[l] * X[l] : spread[l];
        out_own[l] = scalar ? S[l] * S[l] : own[l];
    }
    npksdi_mix_panel(t, w, panel);
}

/* Item of an evaluation: rows of one panel -> scaled panel, scores, columns. */
static npksd_status npksdi_prepare_panel(const npksd_tester *t, npksdi_scratch *w, const npksd_real *rows,
                                         size_t panel)
{
    size_t m = t->m_, count = npksdi_min_size(NPKSDI_T, t->n_ - panel * NPKSDI_T);
    const npksd_real *scale = NPKSDI_MODEL(t, scale), *first = rows + panel * NPKSDI_T * m;
    npksd_real *z = NPKSDI_IN(t, w, z) + NPKSDI_T, *s = NPKSDI_IN(t, w, scores);
    npksd_real *x = NPKSDI_IN(t, w, x) + panel * NPKSDI_T * m;
    npksdi_scale_panel(t, first, count, z - NPKSDI_T);
    npksd_status status = npksdi_score_panel(t, w, z, first, count, NPKSDI_IN(t, w, weights), s);
    if (status != NPKSD_OK)
        return status;
    if (t->options_.standardize) {
        NPKSD_MEMCPY(x, z, m * NPKSDI_T * sizeof *x);
    } else {
        for (size_t j = 0; j < m; j++) { /* back to the caller's units; constants keep their floor */
            npksd_real unit = npksdi_is_constant(t, j) ? 1 : scale[j];
            for (size_t l = 0; l < NPKSDI_T; l++) {
                x[j * NPKSDI_T + l] = npksdi_clamp(z[j * NPKSDI_T + l] * unit, NPKSDI_UNSCALED_CLAMP);
                s[j * NPKSDI_T + l] = npksdi_clamp(s[j * NPKSDI_T + l] / unit, NPKSDI_UNSCALED_CLAMP);
            }
        }
    }
    if (t->options_.diagnose)
        NPKSD_MEMCPY(NPKSDI_IN(t, w, raw_s) + panel * NPKSDI_T * m, s, m * NPKSDI_T * sizeof *s);
    npksdi_columns_panel(t, w, panel, x, s);
    return NPKSD_OK;
}

/* ======== >>statistic: pairs in tiles, four sums for each bandwidth ======== */

static void npksdi_set_kernels(npksdi_kernels *kernels, const npksd_real *scales, size_t count,
                               int with_base, npksd_real sigma)
{
    npksd_real sorted[NPKSD_SCALES_MAX + 1];
    int has_base = 0;
    for (size_t c = 0; c < count; c++) {
        sorted[c] = scales[c];
        has_base |= !(scales[c] < 1) && !(scales[c] > 1);
    }
    if (with_base && !has_base)
        sorted[count++] = 1;
    npksdi_sort(sorted, count);
    kernels->count_ = kernels->base_ = count;
    for (size_t c = 0; c < count; c++) {
        npksd_real scale = sorted[count - 1 - c], ratio = c > 0 ? kernels->scale_[c - 1] / scale : 0;
        int squarings = 0;
        while (ratio > 1) {
            ratio *= NPKSDI_C(0.5);
            squarings++;
        }
        kernels->scale_[c] = scale;
        kernels->inverse_[c] = 1 / scale / sigma / sigma;
        kernels->squarings_[c] = !(ratio < 1) && !(ratio > 1) && squarings <= 6 ? squarings : -1;
        if (!(scale < 1) && !(scale > 1))
            kernels->base_ = c;
    }
}

/* The scratch of one tile, each NPKSDI_TILE long. */
enum { NPKSDI_TILE_G, NPKSDI_TILE_A, NPKSDI_TILE_C, NPKSDI_TILE_D, NPKSDI_TILE_R, NPKSDI_TILE_K0,
       NPKSDI_TILE_K1, NPKSDI_TILE_K2, NPKSDI_TILE_ARRAYS };
/* The sums over pairs a > b: for each kernel sum k0 A, k1 C, k1, k2 D; then sum A (1 + x.y) and the
   sum of the kernel between the rows and the MMD sub-sample. NPKSDI_T lanes each. */
enum { NPKSDI_SUM_A, NPKSDI_SUM_C, NPKSDI_SUM_K, NPKSDI_SUM_D, NPKSDI_SUMS };

/* k at one bandwidth: Gauss k0 = k1 = k2 = h = exp(-r/2s^2); IMQ with q = (1 + r/s^2)^(-1/2):
   k0 = q, k1 = -2 s^2 h' = q^3, k2 = 4 s^4 h'' = 3 q^5. So for both kernels
       u = k0 A + k1 (C + sum w^2) / s^2 - k2 D / s^4. */
static void npksdi_kernel_tile(const npksd_tester *t, const npksdi_kernels *kernels, size_t c,
                               const npksd_real *mask, npksd_real *NPKSDI_RESTRICT tile)
{
    const npksd_real *NPKSDI_RESTRICT r = tile + NPKSDI_TILE_R * NPKSDI_TILE;
    npksd_real *NPKSDI_RESTRICT k0 = tile + NPKSDI_TILE_K0 * NPKSDI_TILE;
    npksd_real inverse = kernels->inverse_[c];
    if (t->options_.kernel == NPKSD_KERNEL_IMQ) {
        npksd_real *NPKSDI_RESTRICT k1 = tile + NPKSDI_TILE_K1 * NPKSDI_TILE;
        npksd_real *NPKSDI_RESTRICT k2 = tile + NPKSDI_TILE_K2 * NPKSDI_TILE;
        for (size_t i = 0; i < NPKSDI_TILE; i++) {
            npksd_real q = 1 / NPKSD_SQRT(1 + r[i] * inverse);
            npksd_real q3 = q * q * q;
            npksd_real keep = mask != NULL ? mask[i] : 1;
            k0[i] = keep * q;
            k1[i] = keep * q3;
            k2[i] = keep * 3 * q3 * q * q;
        }
        return;
    }
    if (kernels->squarings_[c] >= 0) {
        int left = kernels->squarings_[c];
        for (; left >= 2; left -= 2)
            for (size_t i = 0; i < NPKSDI_TILE; i++) {
                npksd_real square = k0[i] * k0[i];
                k0[i] = square * square;
            }
        for (size_t i = 0; i < NPKSDI_TILE && left > 0; i++)
            k0[i] *= k0[i];
        return;
    }
    npksd_real rate = NPKSDI_C(-0.5) * inverse;
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        k0[i] = npksdi_max(NPKSDI_EXP_LOW, rate * r[i]);
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        k0[i] = NPKSDI_EXP_INSIDE(k0[i]);
    if (mask != NULL)
        for (size_t i = 0; i < NPKSDI_TILE; i++)
            k0[i] *= mask[i];
}

/* out = factor v + a + b for a tile of pairs (a, b). Four rows in one loop over the lanes: of a loop over rows
   around it compilers would make vectors of rows. */
NPKSDI_INLINE void npksdi_add_ends(npksd_real *out, const npksd_real *v, npksd_real factor,
                                   const npksd_real *ends_a, const npksd_real *NPKSDI_RESTRICT ends_b)
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

/* r = |x_a|^2 + |x_b|^2 - 2 x_a.x_b for a group of rows against a panel, both centred. */
static void npksdi_distance_tile(const npksd_real *G, const npksd_real *norm_a, const npksd_real *norm_b,
                                 npksd_real *tile)
{
    npksd_real *NPKSDI_RESTRICT r = tile + NPKSDI_TILE_R * NPKSDI_TILE;
    npksdi_add_ends(r, G, -2, norm_a, norm_b);
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        r[i] = npksdi_max(0, r[i]);
}

/* One Gaussian kernel: u/k in A, from P.P' there, of rows group*4.. of panel p against panel q. */
static void npksdi_fused_tile(const npksd_tester *t, const npksdi_scratch *w, size_t row, size_t column,
                              npksd_real *tile)
{
    const npksd_real *cross = NPKSDI_IN(t, w, cross), *spread = NPKSDI_IN(t, w, spread);
    npksd_real *NPKSDI_RESTRICT A = tile + NPKSDI_TILE_A * NPKSDI_TILE;
    const npksd_real *NPKSDI_RESTRICT D = tile + (w->equal_ ? NPKSDI_TILE_G : NPKSDI_TILE_D) * NPKSDI_TILE;
    npksd_real inverse = w->fused_, square = inverse * inverse, ends_a[NPKSDI_G], ends_b[NPKSDI_T];
    npksd_real share = w->equal_ ? square * w->weight_sum_ / (npksd_real)t->m_ : square;
    for (size_t a = 0; a < NPKSDI_G; a++)
        ends_a[a] = inverse * cross[row + a] - square * spread[row + a];
    for (size_t l = 0; l < NPKSDI_T; l++)
        ends_b[l] = inverse * (cross[column + l] + w->weight_sum_) - square * spread[column + l];
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        A[i] += share * D[i];
    npksdi_add_ends(A, A, 1, ends_a, ends_b);
}

/* G = x.x', r, and A, C, D (or, fused, u/k in A) of rows group*4.. of panel p against panel q. */
static void npksdi_pair_tile(const npksd_tester *t, const npksdi_scratch *w, size_t p, size_t group,
                             size_t q, npksd_real *NPKSDI_RESTRICT tile)
{
    size_t m = t->m_, k = w->active_count_, row = group * NPKSDI_G;
    const npksd_real *x = NPKSDI_IN(t, w, x), *S = NPKSDI_IN(t, w, s), *P = NPKSDI_IN(t, w, p);
    const npksd_real *norm = NPKSDI_IN(t, w, norm), *cross = NPKSDI_IN(t, w, cross);
    const npksd_real *spread = NPKSDI_IN(t, w, spread);
    npksd_real *NPKSDI_RESTRICT G = tile + NPKSDI_TILE_G * NPKSDI_TILE;
    npksd_real *NPKSDI_RESTRICT A = tile + NPKSDI_TILE_A * NPKSDI_TILE;
    npksd_real *NPKSDI_RESTRICT C = tile + NPKSDI_TILE_C * NPKSDI_TILE;
    npksd_real *NPKSDI_RESTRICT D = tile + NPKSDI_TILE_D * NPKSDI_TILE;
    size_t pa = p * NPKSDI_T, qa = q * NPKSDI_T;
    npksdi_panel_product(G, NPKSDI_G, x + pa * m + row, x + qa * m, m);
    npksdi_panel_product(w->fused_ > 0 ? A : C, NPKSDI_G, P + pa * k + row, P + qa * k, k);
    if (!w->equal_) {
        const npksd_real *wx = NPKSDI_IN(t, w, xt);
        npksdi_panel_product(D, NPKSDI_G, wx + pa * k + row, wx + qa * k, k);
    }
    npksdi_distance_tile(G, norm + pa + row, norm + qa, tile);
    if (w->fused_ > 0) {
        npksdi_fused_tile(t, w, pa + row, qa, tile);
        return;
    }
    npksdi_panel_product(A, NPKSDI_G, S + pa * k + row, S + qa * k, k);
    if (w->equal_) {
        npksd_real share = w->weight_sum_ / (npksd_real)m; /* w^2 */
        for (size_t i = 0; i < NPKSDI_TILE; i++)
            D[i] = share * G[i];
    }
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        C[i] = C[i] - A[i] - D[i];
    npksdi_add_ends(C, C, -1, cross + pa + row, cross + qa);
    npksdi_add_ends(D, D, -2, spread + pa + row, spread + qa);
}

/* u of every pair of a tile at one bandwidth, whose kernel is in the tile. */
static void npksdi_stein_tile(const npksd_tester *t, const npksdi_scratch *w, npksd_real inverse,
                              const npksd_real *tile, npksd_real *u)
{
    int imq = t->options_.kernel == NPKSD_KERNEL_IMQ;
    const npksd_real *k0 = tile + NPKSDI_TILE_K0 * NPKSDI_TILE, *A = tile + NPKSDI_TILE_A * NPKSDI_TILE;
    const npksd_real *k1 = imq ? tile + NPKSDI_TILE_K1 * NPKSDI_TILE : k0;
    const npksd_real *k2 = imq ? tile + NPKSDI_TILE_K2 * NPKSDI_TILE : k0;
    const npksd_real *C = tile + NPKSDI_TILE_C * NPKSDI_TILE, *D = tile + NPKSDI_TILE_D * NPKSDI_TILE;
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        u[i] = w->fused_ > 0 ? k0[i] * A[i]
                             : k0[i] * A[i] + inverse * k1[i] * (C[i] + w->weight_sum_) -
                                   inverse * inverse * k2[i] * D[i];
}

/* How many groups of rows panel p has. */
static size_t npksdi_groups(const npksd_tester *t, size_t p)
{
    return npksdi_ceil_div(npksdi_min_size(NPKSDI_T, t->n_ - p * NPKSDI_T), NPKSDI_G);
}

/* 1 where row a of the group is real and b < a, else 0; NULL when that is everywhere. */
static const npksd_real *npksdi_pair_mask(const npksd_tester *t, npksdi_scratch *w, size_t p,
                                          size_t group, size_t q)
{
    size_t first = p * NPKSDI_T + group * NPKSDI_G;
    if (p != q && first + NPKSDI_G <= t->n_)
        return NULL;
    npksd_real *mask = NPKSDI_IN(t, w, mask);
    for (size_t a = 0; a < NPKSDI_G; a++)
        for (size_t l = 0; l < NPKSDI_T; l++)
            mask[a * NPKSDI_T + l] = first + a < t->n_ && q * NPKSDI_T + l < first + a ? NPKSDI_C(1) : 0;
    return mask;
}

/* Sums over the rows of a tile, lane by lane: of k v, of k alone, and of all that a kernel needs. */
NPKSDI_INLINE void npksdi_add_tile(npksd_real *NPKSDI_RESTRICT sum, const npksd_real *NPKSDI_RESTRICT k,
                                   const npksd_real *NPKSDI_RESTRICT v)
{
    const size_t T = NPKSDI_T;
    for (size_t a = 0; a < NPKSDI_G; a += 4, k += 4 * T, v += 4 * T)
        for (size_t l = 0; l < T; l++)
            sum[l] += (k[l] * v[l] + k[T + l] * v[T + l]) +
                      (k[2 * T + l] * v[2 * T + l] + k[3 * T + l] * v[3 * T + l]);
}
NPKSDI_INLINE void npksdi_add_lanes(npksd_real *NPKSDI_RESTRICT sum, const npksd_real *NPKSDI_RESTRICT k)
{
    const size_t T = NPKSDI_T;
    for (size_t a = 0; a < NPKSDI_G; a += 4, k += 4 * T)
        for (size_t l = 0; l < T; l++)
            sum[l] += (k[l] + k[T + l]) + (k[2 * T + l] + k[3 * T + l]);
}
NPKSDI_INLINE void npksdi_add_kernel(npksd_real *NPKSDI_RESTRICT sums, const npksd_real *tile, int imq)
{
    const npksd_real *NPKSDI_RESTRICT A = tile + NPKSDI_TILE_A * NPKSDI_TILE;
    const npksd_real *NPKSDI_RESTRICT C = tile + NPKSDI_TILE_C * NPKSDI_TILE;
    const npksd_real *NPKSDI_RESTRICT D = tile + NPKSDI_TILE_D * NPKSDI_TILE;
    const npksd_real *k0 = tile + NPKSDI_TILE_K0 * NPKSDI_TILE;
    const npksd_real *k1 = imq ? tile + NPKSDI_TILE_K1 * NPKSDI_TILE : k0;
    const npksd_real *k2 = imq ? tile + NPKSDI_TILE_K2 * NPKSDI_TILE : k0;
    npksd_real *NPKSDI_RESTRICT sum_a = sums + NPKSDI_SUM_A * NPKSDI_T;
    npksd_real *NPKSDI_RESTRICT sum_c = sums + NPKSDI_SUM_C * NPKSDI_T;
    npksd_real *NPKSDI_RESTRICT sum_k = sums + NPKSDI_SUM_K * NPKSDI_T;
    npksd_real *NPKSDI_RESTRICT sum_d = sums + NPKSDI_SUM_D * NPKSDI_T;
    for (size_t a = 0; a < NPKSDI_TILE; a += 2 * NPKSDI_T)
        for (size_t l = 0; l < NPKSDI_T; l++) {
            size_t i = a + l, j = i + NPKSDI_T;
            sum_a[l] += k0[i] * A[i] + k0[j] * A[j];
            sum_c[l] += k1[i] * C[i] + k1[j] * C[j];
            sum_k[l] += k1[i] + k1[j];
            sum_d[l] += k2[i] * D[i] + k2[j] * D[j];
        }
}

/* 2.7, without m Gram products: each coordinate's s'Ks, x'Ks and x'Kx over this tile, and K.1. */
static void npksdi_coordinate_tile(const npksd_tester *t, npksdi_scratch *w, size_t p, size_t group,
                                   size_t q, const npksd_real *tile)
{
    int imq = t->options_.kernel == NPKSD_KERNEL_IMQ;
    const npksd_real *k0 = tile + NPKSDI_TILE_K0 * NPKSDI_TILE;
    const npksd_real *k1 = imq ? tile + NPKSDI_TILE_K1 * NPKSDI_TILE : k0;
    const npksd_real *k2 = imq ? tile + NPKSDI_TILE_K2 * NPKSDI_TILE : k0;
    const npksd_real *weights = NPKSDI_IN(t, w, weights);
    size_t m = t->m_, padded = t->panels_ * NPKSDI_T, row = p * NPKSDI_T + group * NPKSDI_G;
    npksd_real *rho1 = NPKSDI_IN(t, w, rho), *rho2 = rho1 + padded;
    for (size_t a = 0; a < NPKSDI_G; a++) {
        rho1[row + a] += npksdi_lane_sum(k1 + a * NPKSDI_T);
        rho2[row + a] += npksdi_lane_sum(k2 + a * NPKSDI_T);
    }
    npksdi_add_lanes(rho1 + q * NPKSDI_T, k1);
    npksdi_add_lanes(rho2 + q * NPKSDI_T, k2);
    for (size_t i = 0; i < m; i++) {
        if (!(weights[i] > 0))
            continue;
        const npksd_real *xq = NPKSDI_IN(t, w, x) + (q * m + i) * NPKSDI_T;
        const npksd_real *sq = NPKSDI_IN(t, w, raw_s) + (q * m + i) * NPKSDI_T;
        const npksd_real *xa = NPKSDI_IN(t, w, x) + (p * m + i) * NPKSDI_T + group * NPKSDI_G;
        const npksd_real *sa = NPKSDI_IN(t, w, raw_s) + (p * m + i) * NPKSDI_T + group * NPKSDI_G;
        npksd_real *NPKSDI_RESTRICT sum = NPKSDI_IN(t, w, coordinate) + 3 * i * NPKSDI_T;
        for (size_t l = 0; l < NPKSDI_T; l++) {
            npksd_real ks = 0, k1s = 0, k1x = 0, k2x = 0;
            for (size_t a = 0; a < NPKSDI_G; a++) {
                size_t at = a * NPKSDI_T + l;
                ks += k0[at] * sa[a];
                k1x += k1[at] * xa[a];
                if (imq) {
                    k1s += k1[at] * sa[a];
                    k2x += k2[at] * xa[a];
                }
            }
            sum[l] += sq[l] * ks;
            sum[NPKSDI_T + l] += xq[l] * (imq ? k1s : ks) + sq[l] * k1x;
            sum[2 * NPKSDI_T + l] += xq[l] * (imq ? k2x : k1x);
        }
    }
}

/* Item of an evaluation: all sums over one tile of pairs. */
static void npksdi_add_pairs(const npksd_tester *t, npksdi_scratch *w, const npksdi_kernels *kernels,
                             int coordinates, size_t p, size_t group, size_t q)
{
    npksd_real *tile = NPKSDI_IN(t, w, tile), *sums = NPKSDI_IN(t, w, sums);
    npksd_real *A = tile + NPKSDI_TILE_A * NPKSDI_TILE, *G = tile + NPKSDI_TILE_G * NPKSDI_TILE;
    int imq = t->options_.kernel == NPKSD_KERNEL_IMQ;
    const npksd_real *k0 = tile + NPKSDI_TILE_K0 * NPKSDI_TILE;
    const npksd_real *mask = npksdi_pair_mask(t, w, p, group, q);
    npksdi_pair_tile(t, w, p, group, q, tile);
    if (w->fused_ > 0) {
        npksdi_kernel_tile(t, kernels, 0, mask, tile);
        npksdi_add_tile(sums + NPKSDI_SUM_A * NPKSDI_T, k0, A);
        if (coordinates && kernels->base_ == 0)
            npksdi_coordinate_tile(t, w, p, group, q, tile);
        return;
    }
    if (mask != NULL)
        for (size_t i = 0; i < NPKSDI_TILE; i++)
            A[i] *= mask[i];
    for (size_t c = 0; c < kernels->count_; c++) {
        npksd_real *sum = sums + c * NPKSDI_SUMS * NPKSDI_T;
        npksdi_kernel_tile(t, kernels, c, mask, tile);
        if (imq)
            npksdi_add_kernel(sum, tile, 1);
        else
            npksdi_add_kernel(sum, tile, 0);
        if (c == kernels->base_) {
            if (imq)
                npksdi_add_lanes(sums + (kernels->count_ * NPKSDI_SUMS + 2) * NPKSDI_T, k0);
            if (coordinates)
                npksdi_coordinate_tile(t, w, p, group, q, tile);
        }
    }
    if (t->options_.components & NPKSD_COMPONENT_MOMENT) {
        npksd_real *sum = sums + kernels->count_ * NPKSDI_SUMS * NPKSDI_T;
        npksdi_add_lanes(sum, A);
        npksdi_add_tile(sum, A, G);
    }
}

/* x.y' of some rows of a panel and panel q of the MMD sub-sample. Up to a whole panel of rows, which is faster
   than group after group: it has the room of G, A, C and D. */
static void npksdi_sub_product(const npksd_tester *t, const npksd_real *x, size_t rows, size_t q, npksd_real *tile)
{
    npksdi_panel_product(tile, rows, x, NPKSDI_MODEL(t, sub) + q * NPKSDI_T * t->m_, t->m_);
}

/* The base kernel of one group of those rows. Gauss: from product to exponent in one loop, for r itself is not
   needed here. */
static npksd_real *npksdi_sub_kernel(const npksd_tester *t, const npksd_real *NPKSDI_RESTRICT G, const npksd_real *norm,
                                     size_t q, npksd_real *tile)
{
    const size_t T = NPKSDI_T;
    const npksd_real *NPKSDI_RESTRICT sub = NPKSDI_MODEL(t, sub_norm) + q * T;
    npksd_real *NPKSDI_RESTRICT k0 = tile + NPKSDI_TILE_K0 * NPKSDI_TILE;
    npksd_real rate = NPKSDI_C(-0.5) * t->base_kernel_.inverse_[0], least = NPKSDI_EXP_LOW;
    if (t->options_.kernel == NPKSD_KERNEL_IMQ) {
        npksdi_distance_tile(G, norm, sub, tile);
        npksdi_kernel_tile(t, &t->base_kernel_, 0, NULL, tile);
        return k0;
    }
    for (size_t a = 0; a < NPKSDI_G; a += 4) {
        npksd_real a0 = norm[a], a1 = norm[a + 1], a2 = norm[a + 2], a3 = norm[a + 3];
        const npksd_real *NPKSDI_RESTRICT g = G + a * T;
        npksd_real *NPKSDI_RESTRICT k = k0 + a * T;
        for (size_t l = 0; l < T; l++) {
            k[l] = npksdi_max(least, rate * npksdi_max(0, (a0 + sub[l]) - 2 * g[l]));
            k[T + l] = npksdi_max(least, rate * npksdi_max(0, (a1 + sub[l]) - 2 * g[T + l]));
            k[2 * T + l] = npksdi_max(least, rate * npksdi_max(0, (a2 + sub[l]) - 2 * g[2 * T + l]));
            k[3 * T + l] = npksdi_max(least, rate * npksdi_max(0, (a3 + sub[l]) - 2 * g[3 * T + l]));
        }
    }
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        k0[i] = NPKSDI_EXP_INSIDE(k0[i]);
    return k0;
}

/* Item of an evaluation: the kernel between the rows of a panel and a panel of the MMD sub-sample. */
static void npksdi_add_cross(const npksd_tester *t, npksdi_scratch *w, const npksdi_kernels *kernels,
                             size_t p, size_t q)
{
    npksd_real *tile = NPKSDI_IN(t, w, tile);
    npksd_real *NPKSDI_RESTRICT sum = NPKSDI_IN(t, w, sums) + (kernels->count_ * NPKSDI_SUMS + 1) * NPKSDI_T;
    const npksd_real *NPKSDI_RESTRICT weight = NPKSDI_MODEL(t, sub_weight) + q * NPKSDI_T;
    size_t first = p * NPKSDI_T, groups = npksdi_groups(t, p);
    npksdi_sub_product(t, NPKSDI_IN(t, w, x) + first * t->m_, groups * NPKSDI_G, q, tile);
    for (size_t g = 0; g < groups; g++) {
        size_t row = first + g * NPKSDI_G, rows = npksdi_min_size(NPKSDI_G, t->n_ - row);
        npksd_real *NPKSDI_RESTRICT k0 =
            npksdi_sub_kernel(t, tile + g * NPKSDI_TILE, NPKSDI_IN(t, w, norm) + row, q, tile);
        for (size_t i = rows * NPKSDI_T; i < NPKSDI_TILE; i++)
            k0[i] = 0;
        for (size_t a = 0; a < NPKSDI_G; a += 4, k0 += 4 * NPKSDI_T)
            for (size_t l = 0; l < NPKSDI_T; l++)
                sum[l] += weight[l] * ((k0[l] + k0[NPKSDI_T + l]) +
                                       (k0[2 * NPKSDI_T + l] + k0[3 * NPKSDI_T + l]));
    }
}

/* ---- linear time: F random frequencies instead of pairs ----
   For each kernel and panel of frequencies: sum_a S_a cos, sum_a S_a sin (a row for each column of S),
   then sum cos and sum sin. */

static size_t npksdi_frequency_panels(const npksd_tester *t)
{
    return npksdi_ceil_div(t->options_.features, NPKSDI_T);
}
static npksd_real *npksdi_wave_sums(const npksd_tester *t, const npksdi_scratch *w, size_t kernel,
                                    size_t panel)
{
    size_t at = (kernel * npksdi_frequency_panels(t) + panel) * (2 * w->active_count_ + 2);
    return NPKSDI_IN(t, w, sums) + at * NPKSDI_T;
}

/* cos and sin of omega.x / sqrt(scale) for a panel of rows and a panel of frequencies; waves: for each
   kernel NPKSDI_T x NPKSDI_T cosines, then sines. Scale c/4 doubles the angles of scale c. */
static void npksdi_waves(const npksd_tester *t, const npksdi_kernels *kernels, const npksd_real *x,
                         size_t panel, npksd_real *NPKSDI_RESTRICT waves)
{
    size_t square = NPKSDI_T * NPKSDI_T;
    npksd_real *NPKSDI_RESTRICT angle = waves + 2 * square * kernels->count_;
    const npksd_real *omega = NPKSDI_MODEL(t, frequencies) + panel * NPKSDI_T * t->m_;
    npksdi_panel_product(angle, NPKSDI_T, x, omega, t->m_);
    for (size_t c = 0; c < kernels->count_; c++) {
        npksd_real *NPKSDI_RESTRICT cosine = waves + 2 * square * c;
        npksd_real *NPKSDI_RESTRICT sine = cosine + square;
        size_t from = c;
        while (from > 0 && kernels->scale_[from - 1] < 4 * kernels->scale_[c])
            from--;
        if (from > 0 && !(kernels->scale_[from - 1] > 4 * kernels->scale_[c])) {
            const npksd_real *c1 = waves + 2 * square * (from - 1), *s1 = c1 + square;
            for (size_t i = 0; i < square; i++) {
                cosine[i] = (c1[i] - s1[i]) * (c1[i] + s1[i]);
                sine[i] = 2 * c1[i] * s1[i];
            }
        } else {
            npksd_real stretch = 1 / NPKSD_SQRT(kernels->scale_[c]);
            for (size_t i = 0; i < square; i++)
                sine[i] = npksdi_clamp(stretch * angle[i], NPKSDI_ANGLE_MAX);
            for (size_t i = 0; i < square; i++)
                NPKSDI_SINCOS(sine[i], sine + i, cosine + i);
        }
    }
}

/* Item of an evaluation in linear time. */
static void npksdi_add_waves(const npksd_tester *t, npksdi_scratch *w, const npksdi_kernels *kernels,
                             size_t p, size_t panel)
{
    size_t m = t->m_, columns = w->active_count_, square = NPKSDI_T * NPKSDI_T;
    size_t count = npksdi_min_size(NPKSDI_T, t->n_ - p * NPKSDI_T);
    const npksd_real *x = NPKSDI_IN(t, w, x) + p * NPKSDI_T * m;
    const npksd_real *S = NPKSDI_IN(t, w, s) + p * NPKSDI_T * columns;
    npksd_real *waves = NPKSDI_IN(t, w, tile);
    npksdi_waves(t, kernels, x, panel, waves);
    for (size_t c = 0; c < kernels->count_; c++) {
        npksd_real *sums = npksdi_wave_sums(t, w, c, panel);
        const npksd_real *cosine = waves + 2 * square * c, *sine = cosine + square;
        npksdi_product(sums, NPKSDI_T, columns, S, NPKSDI_T, 1, cosine, NPKSDI_T, count, 1);
        npksdi_product(sums + columns * NPKSDI_T, NPKSDI_T, columns, S, NPKSDI_T, 1, sine, NPKSDI_T, count, 1);
        npksd_real *plain = sums + 2 * columns * NPKSDI_T;
        for (size_t a = 0; a < count; a++)
            for (size_t l = 0; l < NPKSDI_T; l++) {
                plain[l] += cosine[a * NPKSDI_T + l];
                plain[NPKSDI_T + l] += sine[a * NPKSDI_T + l];
            }
    }
    if (panel == 0 && (t->options_.components & NPKSD_COMPONENT_MOMENT)) {
        /* sum_a S_a x_aj, a panel of coordinates j at a time; its first column block also sums S */
        size_t panels = npksdi_ceil_div(m + 1, NPKSDI_T), padded = panels * NPKSDI_T;
        npksd_real *turned = NPKSDI_IN(t, w, turned), *moment = NPKSDI_IN(t, w, moment);
        npksdi_turn(x, m, padded, count, turned);
        for (size_t a = 0; a < count; a++)
            turned[a * padded + m] = 1;
        for (size_t j = 0; j < panels; j++)
            npksdi_product(moment + j * columns * NPKSDI_T, NPKSDI_T, columns, S, NPKSDI_T, 1,
                           turned + j * NPKSDI_T, padded, count, 1);
    }
}

/* omega of frequency l of a panel for column k: w_i omega_i, or their sum in SCALAR form. */
static npksd_real npksdi_column_omega(const npksd_tester *t, const npksdi_scratch *w, size_t i,
                                      size_t panel, size_t l)
{
    const npksd_real *omega = NPKSDI_MODEL(t, frequencies) + panel * NPKSDI_T * t->m_ + l;
    const npksd_real *weights = NPKSDI_IN(t, w, weights);
    if (t->options_.form == NPKSD_FORM_VECTOR)
        return weights[i] * omega[i * NPKSDI_T];
    npksd_real sum = 0;
    for (size_t j = 0; j < t->m_; j++)
        sum += weights[j] * omega[j * NPKSDI_T];
    return sum;
}

/* V = (1/F) sum_omega sum_k |(1/n) sum_a (S_k + i omega_k) exp(i omega.z_a)|^2 of the chosen kernel,
   the same with S reversed, and the mean of |omega|^2, which the diagonal needs. */
static void npksdi_wave_statistic(const npksd_tester *t, const npksdi_scratch *w,
                                  const npksdi_kernels *kernels, size_t c, npksd_real *V,
                                  npksd_real *mirror, npksd_real *omega2, npksd_real *coordinates)
{
    size_t columns = w->active_count_, F = t->options_.features, k = 0;
    const npksd_real *weights = NPKSDI_IN(t, w, weights);
    npksd_real inverse_n = 1 / (npksd_real)t->n_, stretch = 1 / NPKSD_SQRT(kernels->scale_[c]);
    *V = *mirror = *omega2 = 0;
    for (size_t i = 0; i < t->m_ && k < columns; i++) {
        if (t->options_.form == NPKSD_FORM_VECTOR && !(weights[i] > 0))
            continue;
        npksd_real sum = 0, mirrored = 0, square = 0;
        for (size_t f = 0; f < F; f++) {
            size_t panel = f / NPKSDI_T, l = f % NPKSDI_T;
            const npksd_real *sums = npksdi_wave_sums(t, w, c, panel);
            npksd_real omega = stretch * npksdi_column_omega(t, w, i, panel, l);
            npksd_real real = sums[k * NPKSDI_T + l] * inverse_n;
            npksd_real imaginary = sums[(columns + k) * NPKSDI_T + l] * inverse_n;
            npksd_real turn_real = omega * sums[(2 * columns + 1) * NPKSDI_T + l] * inverse_n;
            npksd_real turn_imaginary = omega * sums[2 * columns * NPKSDI_T + l] * inverse_n;
            sum += (real - turn_real) * (real - turn_real) +
                   (imaginary + turn_imaginary) * (imaginary + turn_imaginary);
            mirrored += (real + turn_real) * (real + turn_real) +
                        (imaginary - turn_imaginary) * (imaginary - turn_imaginary);
            square += omega * omega;
        }
        if (coordinates != NULL)
            coordinates[i] = sum / (npksd_real)F;
        *V += sum / (npksd_real)F;
        *mirror += mirrored / (npksd_real)F;
        *omega2 += square / (npksd_real)F;
        k++;
    }
}

/* ---- from sums to numbers ---- */

typedef struct npksdi_estimates {
    npksd_real v_, u_, mirror_; /* STEIN V and U, MIRROR V at one bandwidth */
} npksdi_estimates;

static npksd_real npksdi_total(const npksd_tester *t, const npksd_real *values)
{
    npksd_real lanes[NPKSDI_T];
    for (size_t l = 0; l < NPKSDI_T; l++)
        lanes[l] = 0;
    for (size_t panel = 0; panel < t->panels_; panel++)
        for (size_t l = 0; l < NPKSDI_T; l++)
            lanes[l] += values[panel * NPKSDI_T + l];
    return npksdi_lane_sum(lanes);
}

static npksdi_estimates npksdi_estimate(const npksd_tester *t, const npksdi_scratch *w,
                                        const npksdi_kernels *kernels, size_t c)
{
    npksdi_estimates e;
    npksd_real n = (npksd_real)t->n_, W = w->weight_sum_, own = npksdi_total(t, NPKSDI_IN(t, w, own));
    npksd_real others = t->n_ > 1 ? n * (n - 1) : 1;
    if (t->options_.features > 0) {
        npksd_real omega2;
        npksdi_wave_statistic(t, w, kernels, c, &e.v_, &e.mirror_, &omega2, NULL);
        e.u_ = (n * n * e.v_ - own - n * omega2) / others;
        return e;
    }
    const npksd_real *sums = NPKSDI_IN(t, w, sums) + c * NPKSDI_SUMS * NPKSDI_T;
    npksd_real inverse = kernels->inverse_[c];
    npksd_real even = npksdi_lane_sum(sums + NPKSDI_SUM_A * NPKSDI_T) +
                      inverse * W * npksdi_lane_sum(sums + NPKSDI_SUM_K * NPKSDI_T) -
                      inverse * inverse * npksdi_lane_sum(sums + NPKSDI_SUM_D * NPKSDI_T);
    npksd_real odd = inverse * npksdi_lane_sum(sums + NPKSDI_SUM_C * NPKSDI_T);
    npksd_real diagonal = own + n * inverse * W;
    e.v_ = (2 * (even + odd) + diagonal) / (n * n);
    e.u_ = 2 * (even + odd) / others;
    e.mirror_ = (2 * (even - odd) + diagonal) / (n * n);
    return e;
}

/* MOMENT, kernel 1 + x.y: V = mean_ab A (1 + x.y) + 2 mean cross + sum w^2; U without a = b. */
static void npksdi_estimate_moment(const npksd_tester *t, const npksdi_scratch *w,
                                   const npksdi_kernels *kernels, npksd_real *V, npksd_real *U)
{
    npksd_real n = (npksd_real)t->n_, diagonal = 0, quadratic;
    const npksd_real *own = NPKSDI_IN(t, w, own), *norm = NPKSDI_IN(t, w, norm);
    npksd_real linear = 2 * npksdi_total(t, NPKSDI_IN(t, w, cross)) / n + w->weight_sum_;
    for (size_t a = 0; a < t->n_; a++)
        diagonal += own[a] * (1 + norm[a]);
    if (t->options_.features > 0) {
        const npksd_real *moment = NPKSDI_IN(t, w, moment);
        size_t count = npksdi_ceil_div(t->m_ + 1, NPKSDI_T) * w->active_count_ * NPKSDI_T;
        quadratic = npksdi_dot(moment, moment, count);
    } else {
        const npksd_real *sum = NPKSDI_IN(t, w, sums) + kernels->count_ * NPKSDI_SUMS * NPKSDI_T;
        quadratic = 2 * npksdi_lane_sum(sum) + diagonal;
    }
    *V = quadratic / (n * n) + linear;
    *U = t->n_ > 1 ? (quadratic - diagonal) / (n * (n - 1)) + linear : 0;
}

/* Squared MMD to the sub-sample y: mean k(x,x') - 2 mean k(x,y) + mean k(y,y'). */
static npksd_real npksdi_estimate_mmd(const npksd_tester *t, const npksdi_scratch *w,
                                      const npksdi_kernels *kernels)
{
    npksd_real n = (npksd_real)t->n_, Q = (npksd_real)t->sub_rows_;
    if (t->options_.features > 0) {
        npksd_real sum = 0;
        for (size_t f = 0; f < t->options_.features; f++) {
            const npksd_real *plain = npksdi_wave_sums(t, w, kernels->base_, f / NPKSDI_T) +
                                      2 * w->active_count_ * NPKSDI_T + f % NPKSDI_T;
            npksd_real real = plain[0] / n - NPKSDI_MODEL(t, sub_cos)[f];
            npksd_real imaginary = plain[NPKSDI_T] / n - NPKSDI_MODEL(t, sub_sin)[f];
            sum += real * real + imaginary * imaginary;
        }
        return sum / (npksd_real)t->options_.features;
    }
    const npksd_real *sums = NPKSDI_IN(t, w, sums), *tail = sums + kernels->count_ * NPKSDI_SUMS * NPKSDI_T;
    const npksd_real *inner = t->options_.kernel == NPKSD_KERNEL_IMQ
                                  ? tail + 2 * NPKSDI_T
                                  : sums + (kernels->base_ * NPKSDI_SUMS + NPKSDI_SUM_K) * NPKSDI_T;
    npksd_real between = npksdi_lane_sum(tail + NPKSDI_T);
    return (2 * npksdi_lane_sum(inner) + n) / (n * n) - 2 * between / (n * Q) + t->sub_self_;
}

/* What left the range of numbers is a very large one: the null and the observed rows are treated alike,
   so that p stays exact, and no NaN gets any further. */
static void npksdi_tame(npksd_real *values, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        int number = npksdi_finite(values + k, 1);
        values[k] = number ? npksdi_clamp(values[k], NPKSDI_HUGE) : NPKSDI_HUGE;
    }
}

/* All components of the data set in the scratch, in the tester's order. */
static void npksdi_components(const npksd_tester *t, const npksdi_scratch *w, npksd_real *values)
{
    npksd_real moment_v = 0, moment_u = 0;
    npksdi_estimates e[NPKSD_SCALES_MAX + 1];
    if (t->options_.components & (NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MIRROR))
        for (size_t c = 0; c < t->kernels_.count_; c++)
            e[c] = npksdi_estimate(t, w, &t->kernels_, c);
    if (t->options_.components & NPKSD_COMPONENT_MOMENT)
        npksdi_estimate_moment(t, w, &t->kernels_, &moment_v, &moment_u);
    for (size_t l = 0; l < t->component_count_; l++) {
        const npksdi_component *component = npksdi_component_list(t) + l;
        size_t c = component->kernel_;
        if (component->kind_ == NPKSD_COMPONENT_STEIN)
            values[l] = component->u_ ? e[c].u_ : e[c].v_;
        else if (component->kind_ == NPKSD_COMPONENT_MIRROR)
            values[l] = e[c].mirror_;
        else if (component->kind_ == NPKSD_COMPONENT_MOMENT)
            values[l] = component->u_ ? moment_u : moment_v;
        else
            values[l] = npksdi_estimate_mmd(t, w, &t->kernels_);
    }
    npksdi_tame(values, t->component_count_);
}

/* The coordinates' shares v_i of the VECTOR V-statistic at the base bandwidth:
   w^2/n^2 [ s'K0 s + (2 sum x s rho1 - 2 x'K1 s + sum K1)/s^2 - (2 sum x^2 rho2 - 2 x'K2 x)/s^4 ]. */
static void npksdi_coordinates(const npksd_tester *t, const npksdi_scratch *w,
                               const npksdi_kernels *kernels, npksd_real *v)
{
    size_t m = t->m_, padded = t->panels_ * NPKSDI_T;
    const npksd_real *weights = NPKSDI_IN(t, w, weights), *rho1 = NPKSDI_IN(t, w, rho);
    const npksd_real *rho2 = rho1 + padded;
    npksd_real n = (npksd_real)t->n_, inverse = kernels->inverse_[kernels->base_];
    for (size_t i = 0; i < m; i++)
        v[i] = 0;
    if (t->options_.features > 0) {
        npksd_real V, mirror, omega2;
        npksdi_wave_statistic(t, w, kernels, kernels->base_, &V, &mirror, &omega2, v);
        npksdi_tame(v, m);
        return;
    }
    npksd_real all = npksdi_total(t, rho1) + n;
    for (size_t i = 0; i < m; i++) {
        if (!(weights[i] > 0))
            continue;
        const npksd_real *sum = NPKSDI_IN(t, w, coordinate) + 3 * i * NPKSDI_T;
        npksd_real own = 0, along = 0, square = 0;
        for (size_t a = 0; a < t->n_; a++) {
            size_t at = ((a / NPKSDI_T) * m + i) * NPKSDI_T + a % NPKSDI_T;
            npksd_real x = NPKSDI_IN(t, w, x)[at], s = NPKSDI_IN(t, w, raw_s)[at];
            own += s * s;
            along += x * s * rho1[a];
            square += x * x * rho2[a];
        }
        npksd_real ss = 2 * npksdi_lane_sum(sum) + own;
        npksd_real xs = 2 * along - 2 * npksdi_lane_sum(sum + NPKSDI_T);
        npksd_real xx = 2 * square - 4 * npksdi_lane_sum(sum + 2 * NPKSDI_T);
        v[i] = weights[i] * weights[i] / (n * n) * (ss + inverse * (xs + all) - inverse * inverse * xx);
    }
    npksdi_tame(v, m);
}

/* T = max_l (c_l - mean_l) / sd_l, two-sided for MIRROR; a single component stands for itself. */
static npksd_real npksdi_combine(const npksd_tester *t, const npksd_real *values, unsigned *leading)
{
    npksd_real best = -NPKSDI_HUGE;
    const npksdi_component *component = npksdi_component_list(t);
    if (t->component_count_ == 1 && component[0].kind_ != NPKSD_COMPONENT_MIRROR) {
        *leading = component[0].kind_;
        return values[0];
    }
    *leading = component[0].kind_;
    for (size_t l = 0; l < t->component_count_; l++) {
        npksd_real z = (values[l] - NPKSDI_MODEL(t, component_mean)[l]) / NPKSDI_MODEL(t, component_sd)[l];
        z = npksdi_clamp(z, NPKSDI_HUGE);
        if (component[l].kind_ == NPKSD_COMPONENT_MIRROR)
            z = npksdi_abs(z);
        if (z > best) {
            best = z;
            *leading = component[l].kind_;
        }
    }
    return best;
}

/* ======== >>calibration: p-value, threshold, interval ======== */

/* log Gamma(x), x >= 1: Stirling's series after moving x up to 10. */
static npksd_real npksdi_log_gamma(npksd_real x)
{
    npksd_real shift = 1;
    while (x < 10) {
        shift *= x;
        x += 1;
    }
    npksd_real y = 1 / (x * x);
    npksd_real series = (NPKSDI_C(1) / 12 - y * (NPKSDI_C(1) / 360 - y * (NPKSDI_C(1) / 1260 - y / 1680))) / x;
    return (x - NPKSDI_C(0.5)) * NPKSD_LOG(x) - x + NPKSDI_C(0.91893853320467274) + series -
           NPKSD_LOG(shift);
}

/* I_x(a, b) by its continued fraction (Lentz's method), a, b >= 1, 0 < x < 1. */
static npksd_real npksdi_incomplete_beta(npksd_real a, npksd_real b, npksd_real x)
{
    if (x > (a + 1) / (a + b + 2))
        return 1 - npksdi_incomplete_beta(b, a, 1 - x);
    npksd_real front = npksdi_log_gamma(a + b) - npksdi_log_gamma(a) - npksdi_log_gamma(b) +
                       a * NPKSD_LOG(x) + b * NPKSD_LOG(1 - x);
    npksd_real tiny = NPKSDI_TINY / NPKSDI_EPSILON, c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (npksdi_abs(d) < tiny ? tiny : d);
    npksd_real fraction = d;
    for (int k = 1; k <= 500; k++) {
        npksd_real kr = (npksd_real)k;
        npksd_real even = kr * (b - kr) * x / ((a + 2 * kr - 1) * (a + 2 * kr));
        npksd_real odd = -(a + kr) * (a + b + kr) * x / ((a + 2 * kr) * (a + 2 * kr + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (npksdi_abs(d) < tiny ? tiny : d);
        c = npksdi_abs(c) < tiny ? tiny : c;
        fraction *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (npksdi_abs(d) < tiny ? tiny : d);
        c = npksdi_abs(c) < tiny ? tiny : c;
        fraction *= d * c;
        if (npksdi_abs(d * c - 1) < 2 * NPKSDI_EPSILON)
            break;
    }
    return NPKSD_EXP(front) * fraction / a;
}

static npksd_real npksdi_beta_quantile(npksd_real level, npksd_real a, npksd_real b)
{
    npksd_real low = 0, high = 1;
    for (int k = 0; k < 60; k++) {
        npksd_real middle = NPKSDI_C(0.5) * (low + high);
        if (!(middle > low && middle < high))
            break;
        if (npksdi_incomplete_beta(a, b, middle) < level)
            low = middle;
        else
            high = middle;
    }
    return NPKSDI_C(0.5) * (low + high);
}

/* k / of by a true division: -ffast-math would make one k times 1/of, another a quotient, and p and
   threshold would disagree in the last bit. */
static npksd_real npksdi_share(size_t k, size_t of)
{
    volatile npksd_real divisor = (npksd_real)of;
    return (npksd_real)k / divisor;
}

/* The largest k with k / of <= alpha. */
static size_t npksdi_largest_share(size_t of, npksd_real alpha)
{
    size_t k = npksdi_min_size((size_t)(alpha * (npksd_real)of) + 1, of);
    while (k > 0 && npksdi_share(k, of) > alpha)
        k--;
    return k;
}

/* p, threshold and interval from `used` null values (sorted, ascending), of which `reached` are >= the
   statistic. Stopped at the h-th of them: p = h/L, otherwise (1 + reached)/(used + 1). Both are exact,
   and reject = (p <= alpha) = (statistic > threshold): at most k - 1 (stopped: k) values reach it. */
static void npksdi_verdict(npksd_result *result, const npksd_real *sorted, size_t used, size_t reached,
                           int stopped, npksd_real alpha)
{
    npksd_real g = (npksd_real)reached, rest = (npksd_real)(used - reached);
    size_t k = stopped ? npksdi_largest_share(used, alpha) + 1 : npksdi_largest_share(used + 1, alpha);
    result->replicates = used;
    result->threshold = sorted[used - npksdi_min_size(k, used)];
    result->p_value = stopped ? npksdi_share(reached, used) : npksdi_share(1 + reached, used + 1);
    result->p_low = reached > 0 ? npksdi_beta_quantile(NPKSDI_C(0.025), g, rest + 1) : 0;
    result->p_high =
        reached < used ? npksdi_beta_quantile(NPKSDI_C(0.975), stopped ? g : g + 1, rest) : 1;
    result->reject = result->p_value <= alpha;
}

/* Mean and standard deviation as values come (Welford); square holds sum (x - mean)^2. */
static void npksdi_running(npksd_real *mean, npksd_real *square, npksd_real value, size_t count)
{
    npksd_real before = value - *mean;
    *mean += before / (npksd_real)count;
    *square += before * (value - *mean);
}

static npksd_real npksdi_running_sd(npksd_real mean, npksd_real square, size_t count)
{
    npksd_real sd = NPKSD_SQRT(npksdi_max(0, square) / (npksd_real)(count > 1 ? count - 1 : 1));
    sd = npksdi_min(sd, NPKSDI_HUGE); /* squares leave the range before their root does */
    return npksdi_max(npksdi_max(sd, NPKSDI_C(1e-12) * npksdi_abs(mean)), NPKSDI_TINY);
}

/* ======== >>evaluation: one data set, item by item ======== */

static uint64_t npksdi_panel_cost(const npksd_tester *t)
{
    uint64_t per_row = 0;
    for (size_t k = 0; k < t->family_count_; k++) {
        const npksdi_family *f = t->family_ + k;
        uint64_t cost = f->shared_ ? 2 * f->features_
                        : f->kind_ == NPKSD_ESTIMATOR_RBF ? 30 * f->features_
                        : f->kind_ == NPKSD_ESTIMATOR_POLY ? 8 * f->features_
                                                           : 16 + 8 * f->t_terms_ + 2 * t->d_;
        per_row = cost > per_row ? cost : per_row;
    }
    return NPKSDI_T * t->m_ * (40 + 2 * per_row);
}
static uint64_t npksdi_tile_cost(const npksd_tester *t)
{
    uint64_t columns = t->columns_;
    uint64_t pair = 2 * (t->m_ + 2 * columns) + 50 + 10 * t->kernels_.count_;
    if (t->options_.diagnose)
        pair += 6 * t->m_;
    return NPKSDI_TILE * pair;
}
static uint64_t npksdi_cross_cost(const npksd_tester *t) { return NPKSDI_TILE * (2 * t->m_ + 70); }
static uint64_t npksdi_wave_cost(const npksd_tester *t)
{
    uint64_t kernels = t->kernels_.count_;
    return NPKSDI_T * NPKSDI_T * (2 * t->m_ + kernels * (40 + 6 * t->columns_));
}

static uint64_t npksdi_evaluation_cost(const npksd_tester *t)
{
    uint64_t panels = t->panels_, full = panels - 1, cost = panels * npksdi_panel_cost(t);
    if (t->options_.features > 0)
        return cost + panels * npksdi_frequency_panels(t) * npksdi_wave_cost(t);
    uint64_t last = npksdi_groups(t, t->panels_ - 1), in_full = NPKSDI_T / NPKSDI_G;
    cost += (in_full * full * (full + 1) / 2 + last * panels) * npksdi_tile_cost(t);
    return cost + (in_full * full + last) * t->sub_panels_ * npksdi_cross_cost(t);
}

static size_t npksdi_sums_reals(const npksd_tester *t, size_t columns)
{
    if (t->options_.features > 0)
        return t->kernels_.count_ * npksdi_frequency_panels(t) * (2 * columns + 2) * NPKSDI_T;
    return (t->kernels_.count_ * NPKSDI_SUMS + 3) * NPKSDI_T;
}

/* One Gaussian kernel, and nothing but STEIN asked of it? */
static int npksdi_fuses(const npksd_tester *t, const npksdi_kernels *kernels)
{
    return kernels->count_ == 1 && t->options_.kernel == NPKSD_KERNEL_GAUSS && t->options_.features == 0 &&
           t->options_.calibration == NPKSD_CALIBRATE_MONTE_CARLO && t->n_ == t->size_ &&
           (t->options_.components == NPKSD_COMPONENT_STEIN || kernels == &t->base_kernel_);
}

/* Forget the sums, start again with the first pair. */
static void npksdi_rewind_pairs(const npksd_tester *t, npksdi_scratch *w)
{
    size_t padded = t->panels_ * NPKSDI_T;
    NPKSD_MEMSET(NPKSDI_IN(t, w, sums), 0, npksdi_sums_reals(t, w->active_count_) * sizeof(npksd_real));
    if (t->options_.features > 0 && (t->options_.components & NPKSD_COMPONENT_MOMENT))
        NPKSD_MEMSET(NPKSDI_IN(t, w, moment), 0,
                     npksdi_ceil_div(t->m_ + 1, NPKSDI_T) * w->active_count_ * NPKSDI_T * sizeof(npksd_real));
    if (t->options_.diagnose) {
        NPKSD_MEMSET(NPKSDI_IN(t, w, rho), 0, 2 * padded * sizeof(npksd_real));
        NPKSD_MEMSET(NPKSDI_IN(t, w, coordinate), 0, 3 * t->m_ * NPKSDI_T * sizeof(npksd_real));
    }
    w->row_panel_ = w->group_ = w->column_panel_ = 0;
}

/* A data set is in the scratch: choose its coordinates and start. Redrawn index sets come from its own
   stream, after the rows. */
static void npksdi_begin_evaluation(const npksd_tester *t, npksdi_scratch *w)
{
    npksd_real *weights = NPKSDI_IN(t, w, weights);
    if (t->options_.resample > 0 && t->options_.resample_redraw)
        npksdi_draw_weights(t, &w->rng_, weights, NPKSDI_IN(t, w, picks));
    else
        NPKSD_MEMCPY(weights, NPKSDI_MODEL(t, weights), t->m_ * sizeof *weights);
    npksdi_count_columns(t, w);
    w->fused_ = npksdi_fuses(t, &t->kernels_) ? t->kernels_.inverse_[0] : 0;
    w->next_panel_ = 0;
    npksdi_rewind_pairs(t, w);
}

/* The next item; *done when there was none. */
static npksd_status npksdi_evaluation_item(const npksd_tester *t, npksdi_scratch *w,
                                           const npksdi_kernels *kernels, int coordinates,
                                           uint64_t *cost, int *done)
{
    *done = 0;
    if (w->next_panel_ < t->panels_) {
        *cost = npksdi_panel_cost(t);
        return npksdi_prepare_panel(t, w, NPKSDI_IN(t, w, rows), w->next_panel_++);
    }
    if (w->row_panel_ == t->panels_) {
        *done = 1;
        return NPKSD_OK;
    }
    size_t p = w->row_panel_, q = w->column_panel_, last;
    if (t->options_.features > 0) {
        *cost = npksdi_wave_cost(t);
        npksdi_add_waves(t, w, kernels, p, q);
        last = npksdi_frequency_panels(t);
    } else if (q <= p) {
        *cost = npksdi_tile_cost(t);
        npksdi_add_pairs(t, w, kernels, coordinates, p, w->group_, q);
        last = p + 1 + t->sub_panels_;
    } else {
        *cost = npksdi_groups(t, p) * npksdi_cross_cost(t);
        npksdi_add_cross(t, w, kernels, p, q - p - 1);
        last = p + 1 + t->sub_panels_;
    }
    /* all groups of a panel meet the other panel while that is near */
    if (t->options_.features > 0 || q > p || ++w->group_ == npksdi_groups(t, p)) {
        w->group_ = 0;
        if (++w->column_panel_ == last) {
            w->column_panel_ = 0;
            w->row_panel_++;
        }
    }
    return NPKSD_OK;
}

static npksd_status npksdi_evaluate_all(const npksd_tester *t, npksdi_scratch *w,
                                        const npksdi_kernels *kernels, int coordinates)
{
    npksd_status status = NPKSD_OK;
    for (int done = 0; status == NPKSD_OK && !done;) {
        uint64_t cost;
        status = npksdi_evaluation_item(t, w, kernels, coordinates, &cost, &done);
    }
    return status;
}

/* r_a = (1/n) sum_b u(z_a, z_b) at the base bandwidth, for rows whose panels are ready. In linear time
   u is Re sum_k (S + i omega)_a conj(S + i omega)_b e^(i omega (z_a - z_b)), whose mean over b is known
   from the sums of the evaluation with the base kernel. */
static void npksdi_influence(const npksd_tester *t, npksdi_scratch *w, npksd_real *out)
{
    const npksdi_kernels *base = &t->base_kernel_;
    npksd_real *r = NPKSDI_IN(t, w, values), *tile = NPKSDI_IN(t, w, tile), u[NPKSDI_TILE];
    npksd_real inverse = base->inverse_[0], n = (npksd_real)t->n_;
    for (size_t a = 0; a < t->panels_ * NPKSDI_T; a++)
        r[a] = NPKSDI_IN(t, w, own)[a] + inverse * w->weight_sum_;
    for (size_t p = 0; p < t->panels_; p++)
        for (size_t group = 0; group < npksdi_groups(t, p); group++)
            for (size_t q = 0; q <= p; q++) {
                const npksd_real *mask = npksdi_pair_mask(t, w, p, group, q);
                npksdi_pair_tile(t, w, p, group, q, tile);
                npksdi_kernel_tile(t, base, 0, mask, tile);
                npksdi_stein_tile(t, w, inverse, tile, u);
                for (size_t i = 0; i < NPKSDI_TILE; i++) {
                    r[p * NPKSDI_T + group * NPKSDI_G + i / NPKSDI_T] += u[i];
                    r[q * NPKSDI_T + i % NPKSDI_T] += u[i];
                }
            }
    for (size_t a = 0; a < t->n_; a++)
        out[a] = r[a] / n;
}

static void npksdi_wave_influence(const npksd_tester *t, npksdi_scratch *w, npksd_real *out)
{
    const npksdi_kernels *base = &t->base_kernel_;
    size_t columns = w->active_count_, F = t->options_.features, square = NPKSDI_T * NPKSDI_T;
    const npksd_real *weights = NPKSDI_IN(t, w, weights);
    npksd_real *waves = NPKSDI_IN(t, w, tile), n = (npksd_real)t->n_;
    for (size_t a = 0; a < t->n_; a++)
        out[a] = 0;
    for (size_t p = 0; p < t->panels_; p++)
        for (size_t f = 0; f < F; f++) {
            size_t panel = f / NPKSDI_T, l = f % NPKSDI_T, k = 0;
            const npksd_real *sums = npksdi_wave_sums(t, w, 0, panel);
            if (l == 0)
                npksdi_waves(t, base, NPKSDI_IN(t, w, x) + p * NPKSDI_T * t->m_, panel, waves);
            for (size_t i = 0; i < t->m_ && k < columns; i++) {
                if (t->options_.form == NPKSD_FORM_VECTOR && !(weights[i] > 0))
                    continue;
                npksd_real omega = npksdi_column_omega(t, w, i, panel, l);
                const npksd_real *S = NPKSDI_IN(t, w, s) + (p * columns + k) * NPKSDI_T;
                npksd_real mean_real =
                    (sums[k * NPKSDI_T + l] - omega * sums[(2 * columns + 1) * NPKSDI_T + l]) / n;
                npksd_real mean_imaginary =
                    (sums[(columns + k) * NPKSDI_T + l] + omega * sums[2 * columns * NPKSDI_T + l]) / n;
                for (size_t a = 0; a < npksdi_min_size(NPKSDI_T, t->n_ - p * NPKSDI_T); a++) {
                    npksd_real c = waves[a * NPKSDI_T + l], s = waves[square + a * NPKSDI_T + l];
                    out[p * NPKSDI_T + a] += ((S[a] * c - omega * s) * mean_real +
                                              (S[a] * s + omega * c) * mean_imaginary) / (npksd_real)F;
                }
                k++;
            }
        }
}

/* ======== >>median: the median distance of many rows in little memory ======== */

/* Rows to measure and room to do it in: pointers, made anew for each call. */
typedef struct npksdi_measure {
    const npksd_real *rows_;
    const npksdi_ruler *rulers_; /* NULL: x = row * unit_ */
    const npksd_real *back_;     /* NULL, or x is multiplied by it again */
    npksd_real unit_;
    size_t count_, m_;
    npksd_real *panels_; /* NPKSDI_MEDIAN_PANELS */
    npksd_real *buffer_;
    size_t capacity_; /* of the buffer, at least npksdi_median_buffer(count) */
} npksdi_measure;

/* Room for a sample of the distances, and for all of few rows. */
static size_t npksdi_median_buffer(size_t count)
{
    size_t rows = npksdi_min_size(count, NPKSDI_MEDIAN_ROWS);
    return rows * (rows - (rows > 0)) / 2 + NPKSDI_MEDIAN_TILE;
}

static void npksdi_measure_panel(const npksdi_measure *s, size_t panel, npksd_real *out)
{
    size_t first = panel * NPKSDI_T, last = s->count_ - 1;
    for (size_t j = 0; j < s->m_; j++, out += NPKSDI_T) {
        for (size_t l = 0; l < NPKSDI_T; l++) /* a row that is not there is like the last one */
            out[l] = s->rows_[npksdi_min_size(first + l, last) * s->m_ + j];
        if (s->rulers_ == NULL) {
            for (size_t l = 0; l < NPKSDI_T; l++)
                out[l] *= s->unit_;
            continue;
        }
        npksdi_ruler ruler = s->rulers_[j];
        for (size_t l = 0; l < NPKSDI_T; l++)
            out[l] = npksdi_unclamped(out[l], ruler);
        npksdi_limit(out, -NPKSDI_CLAMP, NPKSDI_CLAMP);
        if (s->back_ != NULL) {
            for (size_t l = 0; l < NPKSDI_T; l++)
                out[l] *= s->back_[j];
            npksdi_limit(out, -NPKSDI_UNSCALED_CLAMP, NPKSDI_UNSCALED_CLAMP);
        }
    }
}

/* Squared distances of four rows of a panel to a panel, by differences, so that equal rows have distance 0
   exactly. */
static void npksdi_measure_tile(const npksd_real *NPKSDI_RESTRICT a, const npksd_real *NPKSDI_RESTRICT b,
                                size_t m, npksd_real *NPKSDI_RESTRICT out)
{
    for (size_t i = 0; i < NPKSDI_MEDIAN_TILE; i++)
        out[i] = 0;
    size_t j = 0;
    for (; j + 2 <= m; j += 2)
        for (size_t row = 0; row < 4; row += 2) {
            const npksd_real *p = a + j * NPKSDI_T + row, *q = b + j * NPKSDI_T;
            npksd_real *NPKSDI_RESTRICT o0 = out + row * NPKSDI_T, *NPKSDI_RESTRICT o1 = o0 + NPKSDI_T;
            npksd_real p0 = p[0], q0 = p[1], p1 = p[NPKSDI_T], q1 = p[NPKSDI_T + 1];
            for (size_t l = 0; l < NPKSDI_T; l++) {
                npksd_real b0 = q[l], b1 = q[NPKSDI_T + l];
                o0[l] = (o0[l] + (b0 - p0) * (b0 - p0)) + (b1 - p1) * (b1 - p1);
                o1[l] = (o1[l] + (b0 - q0) * (b0 - q0)) + (b1 - q1) * (b1 - q1);
            }
        }
    for (size_t row = 0; row < 4; row += 2)
        for (size_t i = j; i < m; i++) {
            npksd_real *NPKSDI_RESTRICT o0 = out + row * NPKSDI_T, *NPKSDI_RESTRICT o1 = o0 + NPKSDI_T;
            const npksd_real *q = b + i * NPKSDI_T;
            npksd_real p0 = a[i * NPKSDI_T + row], q0 = a[i * NPKSDI_T + row + 1];
            for (size_t l = 0; l < NPKSDI_T; l++) {
                o0[l] += (q[l] - p0) * (q[l] - p0);
                o1[l] += (q[l] - q0) * (q[l] - q0);
            }
        }
}

static void npksdi_median_begin(npksdi_median *state, const npksdi_measure *s)
{
    NPKSD_MEMSET(state, 0, sizeof *state);
    state->pairs_ = state->ceiling_rank_ = (uint64_t)s->count_ * (s->count_ - 1) / 2;
    state->target_ = state->pairs_ > 0 ? (state->pairs_ - 1) / 2 : 0;
    state->high_ = state->ceiling_ = state->above_ = NPKSDI_HUGE;
    state->stride_ = 1;
    state->pass_ = state->pairs_ == 0 ? NPKSDI_PASS_DONE
                   : state->pairs_ + NPKSDI_MEDIAN_TILE <= s->capacity_ ? NPKSDI_PASS_NARROW /* all at once */
                                                                       : NPKSDI_PASS_SAMPLE;
}

/* A first bracket from a sample that uses all rows alike, which makes it more exact than its size tells: the
   panels stand in a ring, far from their neighbours in the data, which may be in some order; the rows of
   each with the rows in the same lanes of the next eight. Nine panels are in memory at a time. */
enum { NPKSDI_SAMPLE_PANELS = NPKSDI_MEDIAN_ROWS / 2 - 1, NPKSDI_SAMPLE_SHIFTS = NPKSDI_MEDIAN_PANELS - 1 };

static size_t npksdi_ring_place(size_t place, size_t ring, size_t panels)
{
    size_t step = ring / (2 * NPKSDI_SAMPLE_SHIFTS) + 1;
    while (npksdi_common_divisor(step, ring) > 1) /* or some panels would have no place */
        step++;
    return npksdi_row_of_set(panels, ring, place * step % ring);
}

static void npksdi_median_sample(npksdi_median *state, const npksdi_measure *s, size_t item)
{
    size_t panels = npksdi_ceil_div(s->count_, NPKSDI_T), size = s->m_ * NPKSDI_T;
    size_t ring = npksdi_min_size(panels, NPKSDI_SAMPLE_PANELS), p = npksdi_ring_place(item, ring, panels);
    const npksd_real *ours = s->panels_ + item % NPKSDI_MEDIAN_PANELS * size;
    for (size_t next = item == 0 ? 0 : item + NPKSDI_SAMPLE_SHIFTS; next <= item + NPKSDI_SAMPLE_SHIFTS; next++)
        npksdi_measure_panel(s, npksdi_ring_place(next, ring, panels),
                             s->panels_ + next % NPKSDI_MEDIAN_PANELS * size);
    for (size_t next = item + 1; next <= item + NPKSDI_SAMPLE_SHIFTS; next++) {
        size_t last = npksdi_max_size(p, npksdi_ring_place(next, ring, panels));
        const npksd_real *theirs = s->panels_ + next % NPKSDI_MEDIAN_PANELS * size;
        npksd_real sums[NPKSDI_T] = {0};
        for (size_t j = 0; j < size; j += NPKSDI_T)
            for (size_t l = 0; l < NPKSDI_T; l++)
                sums[l] += (ours[j + l] - theirs[j + l]) * (ours[j + l] - theirs[j + l]);
        for (size_t l = 0; l < NPKSDI_T && last * NPKSDI_T + l < s->count_; l++)
            s->buffer_[state->taken_++] = sums[l];
    }
}

/* How many of four rows of distances are less than `low`, or not above `high`, lane by lane. */
static void npksdi_median_count(const npksd_real *NPKSDI_RESTRICT v, npksd_real low, npksd_real high,
                                npksd_real *NPKSDI_RESTRICT under, npksd_real *NPKSDI_RESTRICT within)
{
    const size_t T = NPKSDI_T;
    const npksd_real one = 1;
    for (size_t l = 0; l < T; l++) {
        npksd_real a = v[l], b = v[T + l], c = v[2 * T + l], d = v[3 * T + l];
        under[l] = (a < low ? one : 0) + (b < low ? one : 0) + (c < low ? one : 0) + (d < low ? one : 0);
        within[l] = (a <= high ? one : 0) + (b <= high ? one : 0) + (c <= high ? one : 0) + (d <= high ? one : 0);
    }
}

/* Those in the bracket go to the buffer while there is room: all, or of every stride_-th pair. */
static void npksdi_median_look(npksdi_median *state, const npksdi_measure *s, const npksd_real *values)
{
    npksd_real low = state->low_, high = state->high_, under[NPKSDI_T], within[NPKSDI_T];
    npksd_real *NPKSDI_RESTRICT buffer = s->buffer_;
    size_t taken = state->taken_;
    npksdi_median_count(values, low, high, under, within);
    npksd_real below = npksdi_lane_sum(under);
    state->below_ += (uint64_t)below;
    state->inside_ += (uint64_t)(npksdi_lane_sum(within) - below);
    if (taken + NPKSDI_MEDIAN_TILE > s->capacity_)
        return;
    if (state->stride_ == 1) {
        for (size_t l = 0; l < NPKSDI_T; l++) /* most lanes have none */
            for (size_t k = l; k < NPKSDI_MEDIAN_TILE && within[l] > under[l]; k += NPKSDI_T) {
                buffer[taken] = values[k];
                taken += (size_t)((values[k] >= low) & (values[k] <= high));
            }
    } else {
        for (; state->skip_ < NPKSDI_MEDIAN_TILE; state->skip_ += state->stride_) {
            buffer[taken] = values[state->skip_];
            taken += (size_t)((buffer[taken] >= low) & (buffer[taken] <= high));
        }
        state->skip_ -= NPKSDI_MEDIAN_TILE;
    }
    state->taken_ = taken;
}

/* For the second middle value: how many are not above value_, and the least one that is. */
static void npksdi_median_look_above(npksdi_median *state, const npksd_real *values)
{
    npksd_real under[NPKSDI_T], within[NPKSDI_T];
    npksdi_median_count(values, 0, state->value_, under, within);
    state->below_ += (uint64_t)npksdi_lane_sum(within);
    for (size_t k = 0; k < NPKSDI_MEDIAN_TILE; k++)
        state->above_ = npksdi_min(state->above_, values[k] > state->value_ ? values[k] : NPKSDI_HUGE);
}

/* The mean of all distances, where more than half of them are 0. */
static void npksdi_median_look_mean(npksdi_median *state, const npksd_real *values)
{
    for (size_t k = 0; k < NPKSDI_MEDIAN_TILE; k++)
        if (values[k] <= NPKSDI_HUGE)
            state->partial_ += NPKSD_SQRT(values[k]) / (npksd_real)state->pairs_;
}

/* The later passes: look at the pairs of panel q with a few panels from p on, so that each is scaled
   once for several. Distances of pairs that are not there are beyond NPKSDI_HUGE. */
static void npksdi_median_tile(npksdi_median *state, const npksdi_measure *s, size_t p, size_t q)
{
    size_t panel = s->m_ * NPKSDI_T, all = npksdi_ceil_div(s->count_, NPKSDI_T);
    size_t end = npksdi_min_size(p + NPKSDI_MEDIAN_PANELS - 1, all);
    npksd_real *theirs = s->panels_ + (NPKSDI_MEDIAN_PANELS - 1) * panel, out[NPKSDI_MEDIAN_TILE];
    for (size_t k = p; k < end && q == 0; k++)
        npksdi_measure_panel(s, k, s->panels_ + (k - p) * panel);
    npksdi_measure_panel(s, q, theirs);
    for (size_t k = npksdi_max_size(p, q); k < end; k++)
        for (size_t l = 0; l < NPKSDI_T && k * NPKSDI_T + l < s->count_; l += 4) {
            npksdi_measure_tile(s->panels_ + (k - p) * panel + l, theirs, s->m_, out);
            for (size_t i = 0; i < NPKSDI_MEDIAN_TILE && (k == q || k + 1 == all); i++)
                if ((k == q && i % NPKSDI_T >= l + i / NPKSDI_T) ||
                    k * NPKSDI_T + l + i / NPKSDI_T >= s->count_)
                    out[i] = 2 * NPKSDI_HUGE;
            if (state->pass_ == NPKSDI_PASS_NARROW)
                npksdi_median_look(state, s, out);
            else if (state->pass_ == NPKSDI_PASS_ABOVE)
                npksdi_median_look_above(state, out);
            else
                npksdi_median_look_mean(state, out);
        }
    state->mean_ += state->partial_; /* a sum of sums: float would lose digits otherwise */
    state->partial_ = 0;
}

static void npksdi_median_finish(npksdi_median *state, npksd_real lower, npksd_real upper)
{
    state->result_ = NPKSDI_C(0.5) * (NPKSD_SQRT(lower) + NPKSD_SQRT(upper));
    state->pass_ = state->result_ > 0 ? NPKSDI_PASS_DONE : NPKSDI_PASS_MEAN;
}

/* Find the values of one or two ranks in the buffer, then go on as `after` tells. */
static void npksdi_median_select(npksdi_median *state, int after, uint64_t rank, uint64_t second)
{
    state->pass_ = NPKSDI_PASS_SELECT;
    state->after_ = after;
    state->rank_[0] = (size_t)rank;
    state->rank_[1] = (size_t)second;
    state->ranks_ = second > rank ? 2 : 1;
    state->found_ = state->first_ = state->splits_ = 0;
    state->left_ = state->taken_;
}

/* A new bracket around the wanted place in the sample: 2 standard errors of independent pairs, which are 3 of
   a balanced sample, and more if only some rows were used. Or somewhat less, if all inside then fits the
   buffer: to miss now and then costs less than always looking twice. */
static void npksdi_median_narrow(npksdi_median *state, const npksdi_measure *s, size_t place,
                                 uint64_t inside)
{
    size_t taken = state->taken_;
    npksd_real errors = s->count_ <= NPKSDI_SAMPLE_PANELS * NPKSDI_T ? 1 : 4;
    size_t margin = (size_t)(errors * NPKSD_SQRT((npksd_real)taken)) + 2;
    uint64_t each = inside / taken + 1; /* so many values for one of the sample */
    size_t fitting = (size_t)((s->capacity_ - NPKSDI_MEDIAN_TILE) / each * 4 / 9);
    if (fitting < margin && fitting >= margin / 2)
        margin = fitting;
    state->expected_ = each * (2 * margin) * 9 / 8;
    npksdi_median_select(state, NPKSDI_PASS_NARROW, place > margin ? place - margin : 0,
                         npksdi_min_size(place + margin, taken - 1));
}

/* The next pass starts with nothing seen. An odd stride: all lanes have their turn. */
static void npksdi_median_rewind(npksdi_median *state)
{
    state->below_ = state->inside_ = state->skip_ = 0;
    state->stride_ |= 1;
    state->taken_ = 0;
    state->p_ = state->q_ = 0;
}

/* Another pass over [low_, high_]; if all in [floor_, ceiling_] equals one number, over what is above it. */
static void npksdi_median_again(npksdi_median *state)
{
    state->pass_ = state->floor_ < state->ceiling_ ? NPKSDI_PASS_NARROW : NPKSDI_PASS_ABOVE;
    state->value_ = state->floor_;
    npksdi_median_rewind(state);
}

/* The ranks are found: they are the median, the value whose successor is wanted, or a new bracket. An end
   that so many values equal that the bracket does not get smaller is excluded; if that leaves nothing, the
   median is one of the ends. */
static void npksdi_median_selected(npksdi_median *state, const npksdi_measure *s)
{
    npksd_real low = state->picked_[0], high = state->picked_[state->ranks_ - 1];
    if (state->after_ == NPKSDI_PASS_DONE) {
        npksdi_median_finish(state, low, high);
    } else if (state->after_ == NPKSDI_PASS_ABOVE) {
        state->value_ = low;
        state->pass_ = NPKSDI_PASS_ABOVE;
    } else {
        int cut_low = state->rank_[0] > 0, cut_high = state->rank_[1] + 1 < state->taken_;
        low = cut_low ? low : state->low_;
        high = cut_high ? high : state->high_;
        if (!(low > state->low_) && !(high < state->high_)) {
            low = cut_low ? npksdi_neighbour(low, 1) : low;
            high = cut_high ? npksdi_neighbour(high, 0) : high;
        }
        state->pass_ = low <= high ? NPKSDI_PASS_NARROW : NPKSDI_PASS_ABOVE;
        state->value_ = state->low_;
        state->low_ = low;
        state->high_ = high;
        state->stride_ = state->expected_ / s->capacity_ + 1;
    }
    npksdi_median_rewind(state);
}

/* One split around a pivot, of the part of the buffer that holds the wanted rank. */
static void npksdi_median_split(npksdi_median *state, const npksdi_measure *s)
{
    npksd_real *part = s->buffer_ + state->first_;
    size_t rank = state->rank_[state->found_];
    if (state->left_ > 16 && ++state->splits_ <= 64) {
        size_t lower = npksdi_partition(part, state->left_);
        int above = rank - state->first_ >= lower;
        state->first_ += above ? lower : 0;
        state->left_ = above ? state->left_ - lower : lower;
        return;
    }
    npksdi_sort(part, state->left_); /* few, or unlucky */
    state->picked_[state->found_++] = s->buffer_[rank];
    state->splits_ = 0;
    state->first_ = rank + 1; /* nothing behind it is smaller */
    state->left_ = state->taken_ - state->first_;
    if (state->found_ == state->ranks_)
        npksdi_median_selected(state, s);
}

/* The median is not in the bracket. The first time it is looked for beside it, as far off as if distances
   there were as dense as inside, and somewhat further; then in all that is left. */
static void npksdi_median_missed(npksdi_median *state, const npksdi_measure *s)
{
    uint64_t end = state->below_ + state->inside_;
    int lower = state->target_ < state->below_;
    uint64_t gap = (lower ? state->below_ - state->target_ : state->target_ - end) * 5 / 4 + NPKSDI_MEDIAN_TILE;
    npksd_real reach = NPKSDI_HUGE;
    int beside = !state->missed_ && state->low_ < state->high_ && gap < state->inside_;
    if (beside)
        reach = (state->high_ - state->low_) * ((npksd_real)gap / (npksd_real)state->inside_);
    state->missed_ = 1;
    if (lower) {
        state->ceiling_ = npksdi_neighbour(state->low_, 0);
        state->ceiling_rank_ = state->below_;
    } else {
        state->floor_ = npksdi_neighbour(state->high_, 1);
        state->floor_rank_ = end;
    }
    state->stride_ = beside ? 1 : (state->ceiling_rank_ - state->floor_rank_) / s->capacity_ + 1;
    npksd_real low = lower ? state->low_ - reach : state->floor_;
    npksd_real high = lower ? state->ceiling_ : state->high_ + reach;
    state->low_ = npksdi_max(state->floor_, low);
    state->high_ = npksdi_min(state->ceiling_, high);
    npksdi_median_again(state);
}

/* The end of a pass: done, or what the next one looks for. Every pass leaves a smaller [floor_, ceiling_] or
   asks for a better sample of the same bracket, so that there is an end, whatever values are equal. */
static void npksdi_median_turn(npksdi_median *state, const npksdi_measure *s)
{
    uint64_t target = state->target_, upper = state->pairs_ / 2, below = state->below_;
    uint64_t inside = state->inside_, fulls = inside / s->capacity_;
    if (state->pass_ == NPKSDI_PASS_MEAN) {
        state->result_ = state->mean_; /* 0: no two rows differ */
        state->pass_ = NPKSDI_PASS_DONE;
    } else if (state->pass_ == NPKSDI_PASS_ABOVE) {
        if (below > target)
            npksdi_median_finish(state, state->value_, below > upper ? state->value_ : state->above_);
        state->value_ = state->above_;
        state->above_ = NPKSDI_HUGE;
        npksdi_median_rewind(state);
    } else if (state->pass_ == NPKSDI_PASS_SAMPLE) {
        npksdi_median_narrow(state, s, state->taken_ / 2, state->pairs_);
    } else if (target < below || target >= below + inside) {
        npksdi_median_missed(state, s);
    } else if (inside == state->taken_) { /* both middle values are here, or the second one is just above */
        int both = upper < below + inside;
        npksdi_median_select(state, both ? NPKSDI_PASS_DONE : NPKSDI_PASS_ABOVE, target - below,
                             both ? upper - below : 0);
    } else {
        npksd_real share = (npksd_real)(target - below) / (npksd_real)inside;
        state->floor_ = state->low_;
        state->floor_rank_ = below;
        state->ceiling_ = state->high_;
        state->ceiling_rank_ = below + inside;
        if (fulls >= 2 * state->stride_) {
            state->stride_ = fulls + 1; /* far more than expected: the sample is of the first rows */
            npksdi_median_again(state);
        } else if (state->taken_ < NPKSDI_MEDIAN_ROWS && state->stride_ > 1) {
            state->stride_ /= 2; /* too small a sample to cut anything off */
            npksdi_median_again(state);
        } else {
            npksdi_median_narrow(state, s, (size_t)(share * (npksd_real)state->taken_), inside);
        }
    }
}

/* One item: a panel of the sample, a tile or a split. Returns 0 when the median is known. */
static int npksdi_median_item(npksdi_median *state, const npksdi_measure *s)
{
    size_t panels = npksdi_ceil_div(s->count_, NPKSDI_T), block = NPKSDI_MEDIAN_PANELS - 1;
    if (state->pass_ == NPKSDI_PASS_SAMPLE) {
        npksdi_median_sample(state, s, state->p_++);
        if (state->p_ == npksdi_min_size(panels, NPKSDI_SAMPLE_PANELS))
            npksdi_median_turn(state, s);
    } else if (state->pass_ == NPKSDI_PASS_SELECT) {
        npksdi_median_split(state, s);
    } else if (state->pass_ != NPKSDI_PASS_DONE) {
        npksdi_median_tile(state, s, state->p_, state->q_++);
        if (state->q_ == npksdi_min_size(state->p_ + block, panels)) {
            state->q_ = 0;
            state->p_ += block;
            if (state->p_ >= panels)
                npksdi_median_turn(state, s);
        }
    }
    return state->pass_ != NPKSDI_PASS_DONE;
}

/* ======== >>options: every range in one place ======== */

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

static int npksdi_in_range(npksd_real value, npksd_real low, npksd_real high)
{
    return npksdi_finite(&value, 1) && value >= low && value <= high;
}
static int npksdi_is_flag(int value) { return value == 0 || value == 1; }

static size_t npksdi_summary_dim(const npksd_options *o, size_t m)
{
    if (m == 1)
        return 0;
    switch (o->summary) {
    case NPKSD_SUMMARY_MEAN: return 1;
    case NPKSD_SUMMARY_MEAN_VAR:
    case NPKSD_SUMMARY_NEIGHBOURS: return 2;
    case NPKSD_SUMMARY_ALL: return m - 1;
    case NPKSD_SUMMARY_CALLBACK: return o->summary_dim;
    default: return 0;
    }
}

/* Describe a family for these options; returns its number of features, SIZE_MAX / 4 when absurd. */
static size_t npksdi_describe_family(npksdi_family *f, int kind, const npksd_options *o, size_t m,
                                     size_t kept)
{
    size_t d = npksdi_summary_dim(o, m), p = 0;
    int all = m > 1 && o->summary == NPKSD_SUMMARY_ALL;
    NPKSD_MEMSET(f, 0, sizeof *f);
    if (d > SIZE_MAX / 16)
        return SIZE_MAX / 4;
    f->kind_ = kind;
    f->shared_ = all && (kind == NPKSD_ESTIMATOR_GAUSS || kind == NPKSD_ESTIMATOR_RBF);
    f->t_terms_ = 1;
    if (kind == NPKSD_ESTIMATOR_GAUSS) {
        p = 2 + d;
    } else if (kind == NPKSD_ESTIMATOR_POLY) {
        f->degree_ = o->degree > 0 ? o->degree : 3;
        if (d > 2)
            p = 1 + f->degree_ + 2 * d;
        for (size_t g = 0; g <= f->degree_ && d <= 2; g++) /* g: degree in t */
            p += (d == 2 ? g + 1 : (d == 1 || g == 0)) * (f->degree_ - g + 1);
    } else if (kind == NPKSD_ESTIMATOR_SPLINE) {
        f->degree_ = o->degree > 0 ? o->degree : 1;
        f->basis_ = o->basis > 0 ? o->basis : 10;
        f->t_terms_ = d > 2 ? 1 : npksdi_t_terms(d, f->degree_);
        p = f->basis_ * f->t_terms_ + (d > 2 ? 2 * d : 0);
    } else {
        f->basis_ = npksdi_min_size(o->basis > 0 ? o->basis : 24, kept);
        p = 2 + d + f->basis_;
    }
    f->features_ = p;
    f->panels_ = npksdi_ceil_div(p, NPKSDI_T);
    return p;
}

static size_t npksdi_kept_rows(const npksd_options *o, size_t m)
{
    return npksdi_min_size(npksdi_min_size(o->fit_rows, 1000), npksdi_max_size(2, 4000000 / m));
}

static int npksdi_single(const npksd_options *o, size_t n)
{
    size_t scales = o->scale_count > 0 ? o->scale_count : 4;
    size_t both = o->statistic == NPKSD_STATISTIC_UV && n > 1 ? 2 : 1;
    return (o->components == NPKSD_COMPONENT_STEIN && scales * both == 1) ||
           (o->components == NPKSD_COMPONENT_MOMENT && both == 1) ||
           o->components == NPKSD_COMPONENT_MMD;
}

static const char *npksdi_problem_sizes(const npksd_options *o, size_t n, size_t m)
{
    if (n == 0 || m == 0)
        return "n and m: there must be at least one row and one coordinate";
    if (m > 4000000 || n > SIZE_MAX / 64 / m / sizeof(npksd_real))
        return "n and m: too many numbers";
    if (o->fit_rows < 2 || o->fit_rows > 1073741824)
        return "fit_rows: from 2 to 2^30";
    if (o->replicates < 1 || o->replicates > 1073741824)
        return "replicates: from 1 to 2^30";
    if (!npksdi_finite(&o->alpha, 1) || !(o->alpha > 0) || !(o->alpha < 1))
        return "alpha: between 0 and 1, exclusive";
    if (1 / ((npksd_real)o->replicates + 1) > o->alpha)
        return "replicates: 1/(replicates+1) > alpha can never reject";
    if (o->pilot > 1073741824)
        return "pilot: at most 2^30";
    if (o->resample > 16777216)
        return "resample: at most 2^24";
    if (!npksdi_is_flag(o->resample_redraw) || !npksdi_is_flag(o->resample_distinct))
        return "resample_redraw, resample_distinct: 0 or 1";
    if (o->resample_distinct && o->resample > m)
        return "resample: more than m coordinates cannot be distinct";
    if (o->block < 1)
        return "block: at least 1";
    if ((o->allocator.alloc_fn == NULL) != (o->allocator.free_fn == NULL))
        return "allocator: both functions or neither";
    if (o->rng.next_fn == NULL && (o->rng.seek_fn != NULL || o->rng.user_data != NULL))
        return "rng: next_fn is missing";
    return NULL;
}

static const char *npksdi_problem_scores(const npksd_options *o, size_t m)
{
    npksdi_family family;
    if (o->summary < NPKSD_SUMMARY_MEAN || o->summary > NPKSD_SUMMARY_CALLBACK)
        return "summary: unknown value";
    if (o->summary == NPKSD_SUMMARY_CALLBACK && (o->summary_fn == NULL || o->summary_dim == 0))
        return "summary_fn, summary_dim: needed for NPKSD_SUMMARY_CALLBACK";
    if (o->estimator < NPKSD_ESTIMATOR_AUTO || o->estimator > NPKSD_ESTIMATOR_CALLBACK)
        return "estimator: unknown value";
    if (o->estimator == NPKSD_ESTIMATOR_CALLBACK && o->score_fn == NULL)
        return "score_fn: needed for NPKSD_ESTIMATOR_CALLBACK";
    if (o->degree > 8 || (o->degree > 3 && (o->estimator == NPKSD_ESTIMATOR_SPLINE ||
                                            o->estimator == NPKSD_ESTIMATOR_AUTO)))
        return "degree: at most 8 (in t, for SPLINE: 3)";
    if (o->basis > NPKSD_FEATURES_MAX)
        return "basis: at most 256";
    if (o->basis > 0 && o->basis < 4 && o->estimator != NPKSD_ESTIMATOR_RBF)
        return "basis: a cubic spline has at least 4";
    if (!npksdi_in_range(o->ridge, 0, NPKSDI_C(1e6)))
        return "ridge: from 0 to 1e6";
    if (o->estimator == NPKSD_ESTIMATOR_POLY || o->estimator == NPKSD_ESTIMATOR_SPLINE ||
        o->estimator == NPKSD_ESTIMATOR_RBF)
        if (npksdi_describe_family(&family, o->estimator, o, m, npksdi_kept_rows(o, m)) >
            NPKSD_FEATURES_MAX)
            return "estimator, summary, degree, basis: more than 256 features a coordinate";
    if (npksdi_summary_dim(o, m) > 65536 && o->summary == NPKSD_SUMMARY_CALLBACK)
        return "summary_dim: too large";
    if (!npksdi_is_flag(o->standardize))
        return "standardize: 0 or 1";
    if (!npksdi_in_range(o->smooth, 0, 1000))
        return "smooth: from 0 to 1000 standard deviations";
    return NULL;
}

static const char *npksdi_problem_statistic(const npksd_options *o, size_t n)
{
    if (o->kernel != NPKSD_KERNEL_GAUSS && o->kernel != NPKSD_KERNEL_IMQ)
        return "kernel: unknown value";
    if (!npksdi_in_range(o->bandwidth, 0, NPKSDI_UNSCALED_CLAMP))
        return "bandwidth: finite and not negative";
    if (o->bandwidth > 0 && o->bandwidth < 1 / NPKSDI_UNSCALED_CLAMP)
        return "bandwidth: too small";
    if (o->scale_count > NPKSD_SCALES_MAX || (o->scale_count > 0 && o->scales == NULL))
        return "scales, scale_count: at most 16, and a pointer to as many";
    for (size_t c = 0; c < o->scale_count; c++)
        if (!npksdi_in_range(o->scales[c], NPKSDI_C(1e-6), NPKSDI_C(1e6)))
            return "scales: from 1e-6 to 1e6";
    if (o->form != NPKSD_FORM_VECTOR && o->form != NPKSD_FORM_SCALAR)
        return "form: unknown value";
    if (o->statistic < NPKSD_STATISTIC_UV || o->statistic > NPKSD_STATISTIC_U)
        return "statistic: unknown value";
    if (o->statistic == NPKSD_STATISTIC_U && n == 1)
        return "statistic: a U-statistic needs two rows";
    if (o->components == 0 || o->components > NPKSD_COMPONENT_ALL)
        return "components: some of NPKSD_COMPONENT_";
    if (o->features > 1048576)
        return "features: at most 2^20";
    if (o->features > 0 && o->kernel != NPKSD_KERNEL_GAUSS)
        return "features: for the Gaussian kernel only";
    if (!npksdi_is_flag(o->diagnose))
        return "diagnose: 0 or 1";
    if (o->diagnose && o->features > 0 && o->form == NPKSD_FORM_SCALAR)
        return "diagnose: in linear time only for NPKSD_FORM_VECTOR";
    return NULL;
}

static const char *npksdi_problem_calibration(const npksd_options *o, size_t n)
{
    if (o->calibration != NPKSD_CALIBRATE_MONTE_CARLO &&
        o->calibration != NPKSD_CALIBRATE_WILD_BOOTSTRAP)
        return "calibration: unknown value";
    if (o->calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP) {
        if (o->estimator != NPKSD_ESTIMATOR_CALLBACK)
            return "calibration: the wild bootstrap is wrong for estimated scores";
        if (o->components & ~(unsigned)(NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MOMENT))
            return "components: the wild bootstrap allows STEIN and MOMENT only";
        if (o->features > 0 || o->smooth > 0)
            return "features, smooth: not with the wild bootstrap";
        if (o->diagnose)
            return "diagnose: not with the wild bootstrap";
        if (o->stop_after > 0)
            return "stop_after: not with the wild bootstrap";
        if (o->resample_redraw)
            return "resample_redraw: not with the wild bootstrap";
    }
    if (o->stop_after > o->replicates)
        return "stop_after: at most replicates";
    if (o->pilot < 2 && (!npksdi_single(o, n) || o->diagnose))
        return "pilot: several components (or MIRROR, or diagnose) need at least 2";
    return NULL;
}

NPKSDI_DEF const char *npksd_options_problem(const npksd_options *o, size_t n, size_t m)
{
    if (o == NULL)
        return "options: a NULL pointer";
    const char *problem = npksdi_problem_sizes(o, n, m);
    if (problem == NULL)
        problem = npksdi_problem_statistic(o, n);
    if (problem == NULL)
        problem = npksdi_problem_scores(o, m);
    if (problem == NULL)
        problem = npksdi_problem_calibration(o, n);
    return problem;
}

/* ======== >>plan: what a tester is made of, and how many bytes that is ======== */

static void npksdi_plan_families(npksd_tester *t)
{
    const npksd_options *o = &t->options_;
    int list[NPKSDI_FAMILIES_MAX];
    size_t count = 0;
    if (o->estimator == NPKSD_ESTIMATOR_AUTO) {
        list[count++] = NPKSD_ESTIMATOR_GAUSS;
        list[count++] = NPKSD_ESTIMATOR_SPLINE;
        if (t->d_ == 1 || t->d_ == 2) /* curved in t, which a spline in x is not by default */
            list[count++] = NPKSD_ESTIMATOR_POLY;
        else if (t->summary_ == NPKSD_SUMMARY_ALL)
            list[count++] = NPKSD_ESTIMATOR_RBF;
    } else if (o->estimator != NPKSD_ESTIMATOR_CALLBACK) {
        list[count++] = o->estimator;
    }
    t->family_count_ = t->theta_stride_ = t->centre_count_ = t->features_max_ = 0;
    t->coordinate_sums_ = t->shared_sums_ = 0;
    for (size_t k = 0; k < count; k++) {
        npksdi_family *f = t->family_ + t->family_count_;
        size_t p = npksdi_describe_family(f, list[k], o, t->m_, t->kept_rows_);
        if (p > NPKSD_FEATURES_MAX && list[k] != NPKSD_ESTIMATOR_GAUSS)
            continue;
        size_t *sums = f->shared_ ? &t->shared_sums_ : &t->coordinate_sums_;
        f->sums_at_ = *sums;
        *sums += p < 65536 ? npksdi_sums_size(f) : SIZE_MAX / 16;
        t->theta_stride_ = npksdi_max_size(t->theta_stride_, npksdi_theta_size(f));
        t->features_max_ = npksdi_max_size(t->features_max_, p);
        if (f->kind_ == NPKSD_ESTIMATOR_RBF)
            t->centre_count_ = f->basis_;
        t->family_count_++;
    }
    t->splits_ = o->estimator == NPKSD_ESTIMATOR_AUTO ? 2 : 1;
    t->ridge_count_ = 1;
    t->ridge_[0] = o->ridge > 0 ? o->ridge /* a smaller one would drown in rounding */
                   : o->estimator == NPKSD_ESTIMATOR_GAUSS ? npksdi_max(NPKSDI_C(1e-8), 50 * NPKSDI_EPSILON)
                                                           : NPKSDI_C(1e-4);
    if (o->estimator == NPKSD_ESTIMATOR_AUTO && !(o->ridge > 0)) {
        t->ridge_count_ = 3;
        t->ridge_[0] = NPKSDI_C(1e-6);
        t->ridge_[1] = NPKSDI_C(1e-4);
        t->ridge_[2] = NPKSDI_C(1e-2);
    }
}

/* The components in their order, into list unless it is NULL; returns how many there are. */
static size_t npksdi_list_components(const npksd_tester *t, npksdi_component *list)
{
    const npksd_options *o = &t->options_;
    static const unsigned kinds[4] = {NPKSD_COMPONENT_STEIN, NPKSD_COMPONENT_MIRROR,
                                      NPKSD_COMPONENT_MOMENT, NPKSD_COMPONENT_MMD};
    size_t count = 0, scales = o->scale_count;
    for (size_t k = 0; k < 4; k++) {
        unsigned kind = kinds[k];
        if (!(o->components & kind))
            continue;
        int either = kind == NPKSD_COMPONENT_STEIN || kind == NPKSD_COMPONENT_MOMENT;
        for (int u = 0; u < 2; u++) {
            if (u == 1 ? !either || o->statistic == NPKSD_STATISTIC_V || t->size_ == 1
                       : either && o->statistic == NPKSD_STATISTIC_U)
                continue;
            size_t each = kind == NPKSD_COMPONENT_STEIN || kind == NPKSD_COMPONENT_MIRROR ? scales : 1;
            for (size_t c = 0; c < each; c++, count++)
                if (list != NULL) {
                    list[count].kind_ = kind;
                    list[count].u_ = u;
                    list[count].kernel_ = 0;
                    while (t->kernels_.scale_[list[count].kernel_] > t->scales_[c])
                        list[count].kernel_++;
                }
        }
    }
    return count;
}

/* Must the base bandwidth be evaluated for every data set? Permutations get no second look. */
static int npksdi_needs_base(const npksd_tester *t)
{
    return (t->options_.components & NPKSD_COMPONENT_MMD) || t->options_.diagnose || t->n_ > t->size_;
}

/* Room in the scratch, in reals. */
static size_t npksdi_reals_room(npksdi_sizer *sizer, size_t count, size_t each)
{
    return npksdi_room(sizer, npksdi_times(sizer, count, each), sizeof(npksd_real)) / sizeof(npksd_real);
}

static void npksdi_plan_scratch(npksd_tester *t, npksdi_sizer *s)
{
    npksdi_scratch_map *in = &t->in_;
    size_t m = t->m_, k = t->columns_, padded = t->panels_ * NPKSDI_T, p = t->features_max_;
    size_t turned = npksdi_max_size(npksdi_ceil_div(p, NPKSDI_T), npksdi_ceil_div(m + 1, NPKSDI_T));
    int linear = t->options_.features > 0, diagnose = t->options_.diagnose;
    int unequal = t->options_.resample > 0 || t->options_.form == NPKSD_FORM_SCALAR;
    size_t kernels = npksdi_max_size(t->kernels_.count_, 1);
    in->rows_ = npksdi_reals_room(s, t->n_, m);
    in->x_ = npksdi_reals_room(s, padded, m);
    in->s_ = npksdi_reals_room(s, padded, k);
    in->p_ = npksdi_reals_room(s, padded, k);
    in->xt_ = npksdi_reals_room(s, unequal ? padded : NPKSDI_T, k);
    in->norm_ = npksdi_reals_room(s, padded, 1);
    in->cross_ = npksdi_reals_room(s, padded, 1);
    in->spread_ = npksdi_reals_room(s, padded, 1);
    in->own_ = npksdi_reals_room(s, padded, 1);
    in->z_ = npksdi_reals_room(s, 1 + m + t->centre_count_, NPKSDI_T);
    in->t_ = npksdi_reals_room(s, t->d_ + npksdi_ceil_div(t->d_, NPKSDI_T), NPKSDI_T);
    in->totals_ = npksdi_reals_room(s, 2, NPKSDI_T);
    in->scores_ = npksdi_reals_room(s, m, NPKSDI_T);
    in->phi_ = npksdi_reals_room(s, p, NPKSDI_T);
    in->slope_ = npksdi_reals_room(s, p, NPKSDI_T);
    in->turned_ = npksdi_reals_room(s, turned * NPKSDI_T, NPKSDI_T);
    in->work_ = npksdi_reals_room(s, 36 + 45, NPKSDI_T);
    in->callback_ = npksdi_reals_room(s, t->options_.estimator == NPKSD_ESTIMATOR_CALLBACK ? m : 0, NPKSDI_T);
    in->weights_ = npksdi_reals_room(s, m, 1);
    in->picks_ = npksdi_reals_room(s, m, 1);
    in->tile_ = npksdi_reals_room(s, linear ? (2 * kernels + 1) * NPKSDI_T * NPKSDI_T
                                            : NPKSDI_TILE_ARRAYS * NPKSDI_TILE, 1);
    in->sums_ = npksdi_reals_room(
        s, linear ? npksdi_times(s, kernels * npksdi_frequency_panels(t), 2 * k + 2)
                  : kernels * NPKSDI_SUMS + 3, NPKSDI_T);
    in->moment_ = npksdi_reals_room(s, linear ? npksdi_times(s, k, npksdi_ceil_div(m + 1, NPKSDI_T)) : 0,
                                    NPKSDI_T);
    in->values_ = npksdi_reals_room(s, npksdi_max_size(padded, t->component_count_), 1);
    in->mask_ = npksdi_reals_room(s, NPKSDI_TILE, 1);
    in->pairs_ = npksdi_reals_room(s, t->n_ > t->size_ ? 2 * kernels + 2 : 0, NPKSDI_TILE);
    in->raw_s_ = npksdi_reals_room(s, diagnose ? padded : 0, m);
    in->rho_ = npksdi_reals_room(s, diagnose ? padded : 0, 2);
    in->coordinate_ = npksdi_reals_room(s, diagnose ? 3 * m : 0, NPKSDI_T);
    in->reals_ = s->bytes_ / sizeof(npksd_real);
}

static void npksdi_plan_model(npksd_tester *t, npksdi_sizer *s)
{
    npksdi_map *at = &t->at_;
    size_t m = t->m_, d = t->summary_ == NPKSD_SUMMARY_ALL ? 0 : t->d_, real = sizeof(npksd_real);
    size_t md = npksdi_times(s, m, d), F = npksdi_frequency_panels(t) * NPKSDI_T;
    size_t sub = t->sub_panels_ * NPKSDI_T;
    at->component_ = npksdi_room(s, t->component_count_, sizeof(npksdi_component));
    at->component_mean_ = npksdi_room(s, t->component_count_, real);
    at->component_sd_ = npksdi_room(s, t->component_count_, real);
    at->centre_ = npksdi_room(s, m, real);
    at->scale_ = npksdi_room(s, m, real);
    at->rulers_ = npksdi_room(s, m, sizeof(npksdi_ruler));
    at->box_low_ = npksdi_room(s, m, real);
    at->box_high_ = npksdi_room(s, m, real);
    at->weights_ = npksdi_room(s, m, real);
    at->active_ = npksdi_room(s, m, sizeof(uint32_t));
    at->family_of_ = npksdi_room(s, m, sizeof(uint32_t));
    at->summary_centre_ = npksdi_room(s, md, real);
    at->summary_inverse_ = npksdi_room(s, md, real);
    at->x_low_ = npksdi_room(s, m, real);
    at->x_high_ = npksdi_room(s, m, real);
    at->t_low_ = npksdi_room(s, md, real);
    at->t_high_ = npksdi_room(s, md, real);
    at->knot_low_ = npksdi_room(s, m, real);
    at->knot_inverse_ = npksdi_room(s, m, real);
    at->theta_ = npksdi_room(s, npksdi_times(s, m, t->theta_stride_), real);
    size_t per_centre = t->summary_ == NPKSD_SUMMARY_ALL ? m : npksdi_times(s, m, 1 + t->d_);
    at->centres_ = npksdi_room(s, npksdi_times(s, per_centre, t->centre_count_), real);
    at->coordinate_mean_ = npksdi_room(s, t->options_.diagnose ? m : 0, real);
    at->coordinate_sd_ = npksdi_room(s, t->options_.diagnose ? m : 0, real);
    at->sub_ = npksdi_room(s, npksdi_times(s, sub, m), real);
    at->sub_norm_ = npksdi_room(s, sub, real);
    at->sub_weight_ = npksdi_room(s, sub, real);
    at->frequencies_ = npksdi_room(s, npksdi_times(s, F, m), real);
    at->sub_cos_ = npksdi_room(s, F, real);
    at->sub_sin_ = npksdi_room(s, F, real);
    at->null_ = npksdi_room(s, npksdi_times(s, t->options_.replicates, t->width_), real);
    at->filled_ = npksdi_room(s, t->options_.replicates, 1); /* bytes: is that replicate there? */
    at->sorted_ = npksdi_room(s, t->options_.replicates, real);
    at->adjusted_ = npksdi_room(s, t->options_.diagnose ? t->options_.replicates : 0, real);
}

/* Memory of the fit, and of the matrices of the wild bootstrap. */
static void npksdi_plan_fit(npksd_tester *t, npksdi_sizer *s)
{
    npksdi_map *at = &t->at_;
    size_t m = t->m_, real = sizeof(npksd_real), p = t->features_max_, n = t->n_;
    size_t d = t->summary_ == NPKSD_SUMMARY_ALL ? 0 : t->d_;
    size_t coordinates = t->options_.resample > 0 && !t->options_.resample_redraw
                             ? npksdi_min_size(t->options_.resample, m) : m;
    size_t sums = npksdi_times(s, coordinates, t->coordinate_sums_) + t->shared_sums_;
    int wild = t->options_.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP;
    at->kept_ = npksdi_room(s, npksdi_times(s, t->kept_rows_, m), real);
    /* until the sums begin, their memory serves the search for ties and for the median */
    sums = npksdi_times(s, sums, t->splits_);
    t->buffer_reals_ = npksdi_max_size(npksdi_median_buffer(t->kept_rows_), npksdi_slots(t->kept_rows_));
    t->buffer_reals_ = npksdi_max_size(t->buffer_reals_, npksdi_min_size(sums, 65536));
    at->sums_ = at->fit_buffer_ = npksdi_room(s, npksdi_max_size(sums, t->buffer_reals_), real);
    at->block_ = npksdi_room(s, NPKSDI_T * m, real);
    at->summary_stats_ = npksdi_room(s, npksdi_times(s, npksdi_times(s, m, d), 4), real);
    at->factor_ = npksdi_room(s, npksdi_times(s, p, p), real);
    at->solution_ = npksdi_room(s, p, real);
    at->gradient_ = npksdi_room(s, p, real);
    at->best_loss_ = npksdi_room(s, m, real);
    at->family_loss_ = npksdi_room(s, m, real);
    at->best_choice_ = npksdi_room(s, m, sizeof(uint32_t));
    at->family_choice_ = npksdi_room(s, m, sizeof(uint32_t));
    at->tied_ = npksdi_room(s, m, sizeof(uint32_t));
    at->column_ = npksdi_room(s, npksdi_max_size(m, t->kept_rows_), real);
    at->median_panels_ = npksdi_room(s, NPKSDI_MEDIAN_PANELS * NPKSDI_T * m, real);
    size_t triangle = npksdi_times(s, n, n + 1) / 2;
    at->matrix_ = npksdi_room(s, wild ? npksdi_times(s, triangle, t->kernels_.count_ + 1) : 0, real);
    at->signs_ = npksdi_room(s, wild ? n : 0, real);
}

/* Where the rows of the fit come from. */
typedef struct npksdi_source {
    int rows_;        /* nowhere (explicit score, wild bootstrap), a generator, given rows, a blob */
    size_t pool_;     /* given rows: how many are permuted, */
    size_t held_out_; /* and how many are held out for AUTO; options.fit_rows are the others */
} npksdi_source;
enum { NPKSDI_NO_ROWS, NPKSDI_GENERATED_ROWS, NPKSDI_GIVEN_ROWS, NPKSDI_LOADED };

/* From options (valid) to sizes and offsets. Returns the bytes needed, 0 when they do not fit a size_t. */
static size_t npksdi_plan(npksd_tester *t, size_t n, size_t m, const npksd_options *options,
                          npksdi_source source)
{
    int given = source.rows_ == NPKSDI_GIVEN_ROWS;
    npksd_options *o = &t->options_;
    NPKSD_MEMSET(t, 0, sizeof *t);
    *o = *options;
    for (size_t c = 0; c < o->scale_count; c++)
        t->scales_[c] = o->scales[c];
    if (o->scale_count == 0)
        for (o->scale_count = 4; t->scales_[0] <= 0;) {
            t->scales_[0] = 1;
            t->scales_[1] = NPKSDI_C(0.5);
            t->scales_[2] = NPKSDI_C(0.25);
            t->scales_[3] = NPKSDI_C(0.125);
        }
    o->scales = NULL; /* the copy is t->scales_ */
    t->n_ = given ? source.pool_ : n;
    t->m_ = m;
    t->size_ = n;
    t->set_rows_ = given ? 1 : n;
    t->panels_ = npksdi_ceil_div(t->n_, NPKSDI_T);
    t->summary_ = m == 1 ? NPKSD_SUMMARY_NONE : o->summary;
    t->d_ = o->estimator == NPKSD_ESTIMATOR_CALLBACK ? 0 : npksdi_summary_dim(o, m);
    t->kept_rows_ = source.rows_ == NPKSDI_NO_ROWS ? n : npksdi_kept_rows(o, m);
    t->fit_sets_ = npksdi_ceil_div(o->fit_rows, t->set_rows_);
    t->held_rows_ = given ? source.held_out_ : npksdi_max_size(1, o->fit_rows / 4);
    t->held_sets_ = npksdi_ceil_div(t->held_rows_, t->set_rows_);
    if (o->components & NPKSD_COMPONENT_MMD) {
        t->sub_rows_ = npksdi_min_size(t->kept_rows_, npksdi_min_size(2 * n, 1000));
        t->sub_panels_ = npksdi_ceil_div(t->sub_rows_, NPKSDI_T);
    }
    npksdi_plan_families(t);
    int bands = (o->components & (NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MIRROR)) != 0;
    npksdi_set_kernels(&t->kernels_, t->scales_, bands ? o->scale_count : 0,
                       npksdi_needs_base(t), 1);
    t->component_count_ = npksdi_list_components(t, NULL);
    t->pilot_needed_ = !npksdi_single(o, n) || o->diagnose;
    t->width_ = o->diagnose ? 1 + m : 1;
    t->columns_ = o->form == NPKSD_FORM_SCALAR ? 1
                  : o->resample > 0            ? npksdi_min_size(o->resample, m) : m;
    npksdi_sizer sizer = {0, 0};
    npksdi_plan_scratch(t, &sizer);
    size_t scratch = NPKSDI_HEAD + sizer.bytes_;
    sizer.bytes_ = 0;
    npksdi_room(&sizer, 1, sizeof *t);
    npksdi_plan_model(t, &sizer);
    if (source.rows_ != NPKSDI_LOADED)
        npksdi_plan_fit(t, &sizer);
    t->at_.scratch_ = npksdi_room(&sizer, scratch, 1);
    t->bytes_ = sizer.bytes_;
    return sizer.bad_ ? 0 : sizer.bytes_;
}

/* ======== >>stages: fit, pilot, replicates, in units ======== */

static npksdi_scratch *npksdi_own_scratch(const npksd_tester *t)
{
    return (npksdi_scratch *)(void *)((char *)(uintptr_t)t + t->at_.scratch_);
}

static void npksdi_seek(npksdi_scratch *w, uint64_t stream)
{
    if (w->rng_.seek_fn != NULL)
        w->rng_.seek_fn(stream, w->rng_.user_data);
}

static void npksdi_scratch_begin(const npksd_tester *t, npksdi_scratch *w)
{
    NPKSD_MEMSET(w, 0, sizeof *w);
    w->user_data_ = t->user_data_;
    w->rng_ = t->options_.rng;
    if (w->rng_.next_fn == NULL)
        w->rng_ = npksd_rng_seeded(&w->rng_state_, t->options_.seed, 0);
}

/* A job is cut into the number of units nearest to its cost; item costs then decide where. */
static void npksdi_job_begin(npksdi_job *job, uint64_t cost, uint64_t unit_cost)
{
    job->cost_ = cost;
    job->cost_done_ = 0;
    job->units_ = (size_t)((cost + unit_cost / 2) / unit_cost);
    job->unit_ = 0;
}
static int npksdi_job_unit_over(const npksdi_job *job)
{
    if (job->unit_ + 1 >= job->units_)
        return 0; /* the last unit takes what is left */
    return job->cost_done_ >= job->cost_ / job->units_ * (job->unit_ + 1);
}

static uint64_t npksdi_coordinate_item_cost(const npksd_tester *t)
{
    uint64_t cost = 0;
    for (size_t k = 0; k < t->family_count_; k++) {
        uint64_t p = t->family_[k].features_;
        uint64_t feature = t->family_[k].kind_ == NPKSD_ESTIMATOR_RBF ? 60 : 24;
        cost += t->family_[k].shared_ ? 4 : NPKSDI_T * (p * (p + feature) * 3 / 2 + 8 * t->d_);
    }
    return cost;
}
static uint64_t npksdi_block_item_cost(const npksd_tester *t, size_t item)
{
    if (item < t->active_count_)
        return npksdi_coordinate_item_cost(t);
    return 2 * (uint64_t)NPKSDI_T * NPKSDI_T * t->features_max_;
}
static uint64_t npksdi_block_cost(const npksd_tester *t)
{
    uint64_t shared = npksdi_block_items(t) - t->active_count_;
    return t->active_count_ * npksdi_coordinate_item_cost(t) +
           shared * npksdi_block_item_cost(t, t->active_count_);
}

/* Blocks that are complete when rows `from` to `to` have been added; at the end also a partial one. */
static uint64_t npksdi_blocks(size_t from, size_t to, int end)
{
    return (end ? npksdi_ceil_div(to, NPKSDI_T) : to / NPKSDI_T) - from / NPKSDI_T;
}

static size_t npksdi_rows_before(size_t rows, size_t sets, size_t set)
{
    return rows / sets * set + (size_t)((uint64_t)set * (rows % sets) / sets);
}

/* Fit data sets that must be drawn to fill the kept rows, and in all (an explicit score needs no more). */
static size_t npksdi_keep_sets(const npksd_tester *t)
{
    size_t set = 0;
    while (npksdi_rows_before(t->options_.fit_rows, t->fit_sets_, set) < t->kept_rows_)
        set++;
    return set;
}

static int npksdi_has_summary_stats(const npksd_tester *t)
{
    return t->family_count_ > 0 && t->d_ > 0 && t->summary_ != NPKSD_SUMMARY_ALL;
}

/* All candidates are tried; then one for each coordinate, at most the costliest, is solved again. */
static uint64_t npksdi_solve_cost(const npksd_tester *t, int select)
{
    uint64_t all = 0, most = 0;
    for (size_t k = 0; k < t->family_count_; k++) {
        uint64_t p = t->family_[k].features_, active = t->active_count_;
        uint64_t items = t->family_[k].shared_ ? p + active : active * (p + 1);
        uint64_t cost = items * npksdi_row_cost(p);
        all += cost * t->ridge_count_;
        most = cost > most ? cost : most;
    }
    return select ? all : most;
}

static uint64_t npksdi_summary_cost(const npksd_tester *t)
{
    return NPKSDI_T * t->active_count_ * (40 + 28 * t->d_);
}
/* Of two panels; and a panel of the sample, a split or some tiles, of the median. */
static uint64_t npksdi_distances_cost(const npksd_tester *t)
{
    return NPKSDI_T * NPKSDI_T * (t->m_ * 5 / 4 + 22);
}
static uint64_t npksdi_median_cost(const npksd_tester *t)
{
    if (t->median_.pass_ == NPKSDI_PASS_SAMPLE)
        return NPKSDI_T * (60 * t->m_ + 400);
    if (t->median_.pass_ == NPKSDI_PASS_SELECT)
        return 40 * (uint64_t)t->median_.left_;
    return (NPKSDI_MEDIAN_PANELS - 1) * npksdi_distances_cost(t);
}

/* Cost of a stage that is one job; 0 = the stage is empty. */
static uint64_t npksdi_stage_cost(const npksd_tester *t, int stage)
{
    uint64_t H = t->kept_rows_, m = t->m_, blocks = npksdi_ceil_div(t->kept_rows_, NPKSDI_T);
    size_t kept_to = npksdi_rows_before(t->options_.fit_rows, t->fit_sets_, t->keep_sets_);
    switch (stage) {
    case NPKSDI_STAGE_SCALE:
        return 2 * m * H * NPKSDI_SORT_COST + 1 + (t->options_.smooth > 0 ? H * m * 100 : 0);
    case NPKSDI_STAGE_SUMMARY:
        return 1 + (npksdi_has_summary_stats(t) ? 2 * blocks * npksdi_summary_cost(t) : 0);
    case NPKSDI_STAGE_MEDIAN:
        return t->options_.bandwidth > 0 ? 0 /* one or two passes; of tied rows mostly four */
                                         : 1 + 4 * blocks * (blocks + 1) / 2 * npksdi_distances_cost(t);
    case NPKSDI_STAGE_SUM_KEPT:
        return t->family_count_ == 0 ? 0
               : 1 + npksdi_blocks(0, kept_to, t->keep_sets_ == t->fit_sets_) * npksdi_block_cost(t);
    case NPKSDI_STAGE_SELECT: return t->splits_ > 1 ? npksdi_solve_cost(t, 1) : 0;
    case NPKSDI_STAGE_SOLVE: return npksdi_solve_cost(t, 0);
    case NPKSDI_STAGE_SUBSAMPLE: {
        uint64_t F = npksdi_frequency_panels(t), sub = t->sub_panels_;
        if (t->options_.features > 0)
            return F * NPKSDI_T * m * 80 + sub * F * NPKSDI_T * NPKSDI_T * (2 * m + 40);
        return sub * (sub + 1) / 2 * (NPKSDI_T / NPKSDI_G) * npksdi_cross_cost(t);
    }
    default: return 0;
    }
}

/* Units of a whole stage. */
static size_t npksdi_stage_units(const npksd_tester *t, int stage)
{
    npksdi_job job;
    size_t rows = t->options_.fit_rows, sets = t->fit_sets_, set = t->keep_sets_, units = 0;
    if (stage >= NPKSDI_STAGE_PILOT && t->options_.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP)
        return 0; /* its replicates are signs, drawn in check */
    switch (stage) {
    case NPKSDI_STAGE_KEEP: return t->keep_sets_;
    case NPKSDI_STAGE_HELD_OUT:
        rows = t->held_rows_;
        sets = t->splits_ > 1 ? t->held_sets_ : 0;
        set = 0;
        break;
    case NPKSDI_STAGE_STREAM:
        sets = t->family_count_ > 0 ? sets : 0;
        break;
    case NPKSDI_STAGE_PILOT:
        return t->pilot_needed_ ? t->options_.pilot * (1 + t->evaluation_units_) : 0;
    case NPKSDI_STAGE_REPLICATES: return t->options_.replicates * (1 + t->evaluation_units_);
    default:
        npksdi_job_begin(&job, npksdi_stage_cost(t, stage), t->unit_cost_);
        return job.cost_ > 0 ? npksdi_max_size(1, job.units_) : 0;
    }
    for (; set < sets; set++) {
        uint64_t blocks = npksdi_blocks(npksdi_rows_before(rows, sets, set),
                                        npksdi_rows_before(rows, sets, set + 1), set + 1 == sets);
        npksdi_job_begin(&job, blocks * npksdi_block_cost(t), t->unit_cost_);
        units += 1 + job.units_;
    }
    return units;
}

/* ---- what the stages do ---- */

static npksd_status npksdi_draw_watched(npksd_tester *t, size_t count, uint64_t stream)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_status status = npksdi_draw(t, w, count, stream);
    if (status != NPKSD_OK)
        return status;
    npksdi_watch(t, NPKSDI_IN(t, w, rows), count);
    return npksdi_stuck(t, 16) ? NPKSD_ERROR_GENERATOR : NPKSD_OK;
}

static npksd_status npksdi_keep_unit(npksd_tester *t)
{
    size_t m = t->m_, count = npksdi_rows_of_set(t->options_.fit_rows, t->fit_sets_, t->set_);
    npksd_status status = npksdi_draw_watched(t, t->set_rows_, NPKSDI_STREAM(NPKSDI_FIT, t->set_));
    if (status != NPKSD_OK)
        return status;
    const npksd_real *rows = NPKSDI_IN(t, npksdi_own_scratch(t), rows);
    for (t->row_ = 0; t->row_ < count && t->kept_count_ < t->kept_rows_; t->row_++)
        NPKSD_MEMCPY(NPKSDI_MODEL(t, kept) + m * t->kept_count_++,
                     rows + m * npksdi_row_of_set(t->set_rows_, count, t->row_), m * sizeof *rows);
    t->set_++;
    return NPKSD_OK;
}

/* Columns for mean and deviation; constants; noise, row by row; columns for the range of z. */
static void npksdi_scale_item(npksd_tester *t, size_t item, uint64_t *cost)
{
    size_t m = t->m_, noisy = t->options_.smooth > 0 ? t->kept_rows_ : 0;
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_real *column = NPKSDI_MODEL(t, column);
    *cost = NPKSDI_SORT_COST * t->kept_rows_;
    if (item < m) {
        npksdi_scale_column(t, item, column);
    } else if (item == m) {
        *cost = 1;
        npksdi_scale_constants(t, column);
        npksdi_set_rulers(t);
        if (noisy > 0) { /* rows of the last data set that were not kept are still to be added */
            npksdi_seek(w, NPKSDI_STREAM(NPKSDI_KEPT_NOISE, 0));
            npksdi_add_noise(t, w, NPKSDI_IN(t, w, rows), t->set_rows_);
        }
    } else if (item < m + 1 + noisy) {
        *cost = 100 * m;
        npksdi_add_noise(t, w, NPKSDI_MODEL(t, kept) + (item - m - 1) * m, 1);
    } else {
        npksdi_range_column(t, item - m - 1 - noisy, column);
    }
}
static size_t npksdi_scale_items(const npksd_tester *t)
{
    return 2 * t->m_ + 1 + (t->options_.smooth > 0 ? t->kept_rows_ : 0);
}

/* Range, then mean and deviation, of each summary over the kept rows: one block of rows in one of two
   passes. The sums are of (t - least) / range, so that a callback may use any unit.
   stats: least, largest, sum, sum of squares. */
static void npksdi_summary_block(npksd_tester *t, size_t pass, size_t block)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    size_t d = t->d_, m = t->m_, all = m * d;
    size_t count = npksdi_min_size(NPKSDI_T, t->kept_rows_ - block * NPKSDI_T);
    const npksd_real *rows = NPKSDI_MODEL(t, kept) + block * NPKSDI_T * m;
    npksd_real *z = NPKSDI_IN(t, w, z) + NPKSDI_T, *tt = NPKSDI_IN(t, w, t);
    npksdi_scale_panel(t, rows, count, z - NPKSDI_T);
    npksdi_totals(t, w, z);
    for (size_t slot = 0; slot < t->active_count_; slot++) {
        size_t i = npksdi_ints(t, t->at_.active_)[slot];
        npksdi_summary(t, w, z, rows, count, i, tt);
        for (size_t k = 0; k < d; k++) {
            npksd_real *s = NPKSDI_MODEL(t, summary_stats) + i * d + k, *v = tt + k * NPKSDI_T;
            npksd_real low = s[0], high = s[all], sum = s[2 * all], square = s[3 * all];
            if (pass == 0) {
                npksd_real least, most;
                npksdi_extremes(v, count, &least, &most);
                s[0] = block == 0 ? least : npksdi_min(low, least);
                s[all] = block == 0 ? most : npksdi_max(high, most);
            } else if (high > low) {
                npksd_real half_low = low * NPKSDI_C(0.5);
                npksd_real half = npksdi_max(high * NPKSDI_C(0.5) - half_low, NPKSDI_TINY);
                for (size_t l = 0; l < NPKSDI_T; l++)
                    v[l] = (v[l] * NPKSDI_C(0.5) - half_low) / half;
                for (size_t l = 0; l < count; l++) {
                    sum += v[l];
                    square += v[l] * v[l];
                }
                s[2 * all] = sum;
                s[3 * all] = square;
            }
        }
    }
}

static void npksdi_summary_scale(npksd_tester *t)
{
    size_t all = t->m_ * t->d_;
    npksd_real H = (npksd_real)t->kept_rows_;
    for (size_t slot = 0; slot < t->active_count_; slot++)
        for (size_t k = 0; k < t->d_; k++) {
            size_t at = npksdi_ints(t, t->at_.active_)[slot] * t->d_ + k;
            const npksd_real *s = NPKSDI_MODEL(t, summary_stats) + at;
            npksd_real mean = s[2 * all] / H, half = s[all] * NPKSDI_C(0.5) - s[0] * NPKSDI_C(0.5);
            npksd_real sd = NPKSD_SQRT(npksdi_max(0, s[3 * all] / H - mean * mean));
            npksd_real scale = 2 * (half * sd), inverse = scale > NPKSDI_TINY ? 1 / scale : 0;
            NPKSDI_MODEL(t, summary_centre)[at] =
                npksdi_clamp(2 * (s[0] * NPKSDI_C(0.5) + half * mean), NPKSDI_LARGEST);
            NPKSDI_MODEL(t, summary_inverse)[at] = npksdi_min(inverse, NPKSDI_HUGE);
            NPKSDI_MODEL(t, t_low)[at] = inverse > 0 ? -mean / sd : 0;
            NPKSDI_MODEL(t, t_high)[at] = inverse > 0 ? (1 - mean) / sd : 0;
        }
}

/* RBF centres: (x, t) of evenly spaced kept rows; for summary ALL the whole scaled row. */
static void npksdi_choose_centres(npksd_tester *t)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    size_t m = t->m_, d = t->d_, K = t->centre_count_;
    npksd_real *z = NPKSDI_IN(t, w, z) + NPKSDI_T, *tt = NPKSDI_IN(t, w, t);
    npksd_real *centres = NPKSDI_MODEL(t, centres);
    for (size_t k = 0; k < K; k++) {
        const npksd_real *row = NPKSDI_MODEL(t, kept) + (2 * k + 1) * t->kept_rows_ / (2 * K) * m;
        npksdi_scale_panel(t, row, 1, z - NPKSDI_T);
        if (t->summary_ == NPKSD_SUMMARY_ALL) {
            for (size_t j = 0; j < m; j++)
                centres[k * m + j] = z[j * NPKSDI_T];
            continue;
        }
        npksdi_totals(t, w, z);
        for (size_t slot = 0; slot < t->active_count_; slot++) {
            size_t i = npksdi_ints(t, t->at_.active_)[slot];
            npksd_real *centre = centres + (i * K + k) * (1 + d);
            npksdi_standard_summary(t, w, z, row, 1, i, tt);
            centre[0] = z[i * NPKSDI_T];
            for (size_t e = 0; e < d; e++)
                centre[1 + e] = tt[e * NPKSDI_T];
        }
    }
}

/* The kept rows in the operator's coordinates, for the median. */
static npksdi_measure npksdi_kept_measure(const npksd_tester *t)
{
    npksdi_measure s;
    s.rows_ = NPKSDI_MODEL(t, kept);
    s.rulers_ = npksdi_rulers(t);
    s.back_ = NULL;
    s.unit_ = 1;
    s.count_ = t->kept_rows_;
    s.m_ = t->m_;
    s.panels_ = NPKSDI_MODEL(t, median_panels);
    s.buffer_ = NPKSDI_MODEL(t, fit_buffer);
    s.capacity_ = t->buffer_reals_;
    if (!t->options_.standardize) {
        npksd_real *back = NPKSDI_MODEL(t, column); /* constants keep their floor scale */
        for (size_t j = 0; j < t->m_; j++)
            back[j] = npksdi_is_constant(t, j) ? 1 : NPKSDI_MODEL(t, scale)[j];
        s.back_ = back;
    }
    return s;
}

static void npksdi_set_bandwidth(npksd_tester *t, npksd_real sigma)
{
    const npksd_options *o = &t->options_;
    int bands = (o->components & (NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MIRROR)) != 0;
    npksd_real one = 1;
    sigma = npksdi_max(1 / NPKSDI_UNSCALED_CLAMP, npksdi_min(NPKSDI_UNSCALED_CLAMP, sigma));
    t->bandwidth_ = sigma; /* within what an option may be, so that 1 / sigma^2 is a number */
    npksdi_set_kernels(&t->kernels_, t->scales_, bands ? o->scale_count : 0,
                       npksdi_needs_base(t), sigma);
    npksdi_set_kernels(&t->base_kernel_, &one, 1, 1, sigma);
}

/* ---- rows into sums ---- */

/* Row number `row` of what is being added: kept rows, then the rest of a data set. */
static const npksd_real *npksdi_source_row(const npksd_tester *t, size_t row)
{
    int held = t->stage_ == NPKSDI_STAGE_HELD_OUT;
    size_t m = t->m_, set = t->set_, skip = 0;
    if (t->stage_ == NPKSDI_STAGE_SUM_KEPT) {
        if (row < t->kept_rows_)
            return NPKSDI_MODEL(t, kept) + row * m;
        set = t->keep_sets_ - 1;
        skip = npksdi_rows_before(t->options_.fit_rows, t->fit_sets_, set);
    }
    size_t count = held ? npksdi_rows_of_set(t->held_rows_, t->held_sets_, set)
                        : npksdi_rows_of_set(t->options_.fit_rows, t->fit_sets_, set);
    return NPKSDI_IN(t, npksdi_own_scratch(t), rows) + m * npksdi_row_of_set(t->set_rows_, count, row - skip);
}

/* Rows that the current job adds, and whether a partial block must go too. */
static size_t npksdi_source_rows(const npksd_tester *t, int *end)
{
    if (t->stage_ == NPKSDI_STAGE_SUM_KEPT) {
        *end = t->keep_sets_ == t->fit_sets_;
        return npksdi_rows_before(t->options_.fit_rows, t->fit_sets_, t->keep_sets_);
    }
    int held = t->stage_ == NPKSDI_STAGE_HELD_OUT;
    size_t sets = held ? t->held_sets_ : t->fit_sets_;
    *end = t->set_ + 1 == sets;
    return npksdi_rows_of_set(held ? t->held_rows_ : t->options_.fit_rows, sets, t->set_);
}

/* One item of adding rows: fill the block, or add one item of a full one. Returns 0 when all is done. */
static int npksdi_add_rows_item(npksd_tester *t, uint64_t *cost)
{
    int end;
    size_t rows = npksdi_source_rows(t, &end), m = t->m_;
    *cost = 0;
    if (t->block_item_ == 0) {
        for (; t->row_ < rows && t->block_rows_ < NPKSDI_T; t->row_++, t->block_rows_++)
            NPKSD_MEMCPY(NPKSDI_MODEL(t, block) + t->block_rows_ * m, npksdi_source_row(t, t->row_),
                         m * sizeof(npksd_real));
        if (t->block_rows_ < NPKSDI_T && !(end && t->block_rows_ > 0))
            return 0;
    }
    *cost = npksdi_block_item_cost(t, t->block_item_);
    npksdi_add_block_item(t, npksdi_own_scratch(t), t->block_item_,
                          t->stage_ == NPKSDI_STAGE_HELD_OUT ? 1 : 0);
    if (++t->block_item_ == npksdi_block_items(t))
        t->block_item_ = t->block_rows_ = 0;
    return 1;
}

/* ---- the sub-sample of MMD and the frequencies ---- */

static void npksdi_subsample_panel(npksd_tester *t, size_t panel)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    size_t m = t->m_, count = npksdi_min_size(NPKSDI_T, t->sub_rows_ - panel * NPKSDI_T);
    npksd_real *x = NPKSDI_MODEL(t, sub) + panel * NPKSDI_T * m, *z = NPKSDI_IN(t, w, z);
    npksd_real *norm = NPKSDI_MODEL(t, sub_norm) + panel * NPKSDI_T;
    npksdi_scale_panel(t, NPKSDI_MODEL(t, kept) + panel * NPKSDI_T * m, count, z);
    for (size_t l = 0; l < NPKSDI_T; l++) {
        norm[l] = 0;
        NPKSDI_MODEL(t, sub_weight)[panel * NPKSDI_T + l] = l < count ? NPKSDI_C(1) : 0;
    }
    for (size_t j = 0; j < m; j++) {
        npksd_real unit = t->options_.standardize || npksdi_is_constant(t, j) ? 1 : NPKSDI_MODEL(t, scale)[j];
        for (size_t l = 0; l < NPKSDI_T; l++) {
            x[j * NPKSDI_T + l] = npksdi_clamp(z[(1 + j) * NPKSDI_T + l] * unit, NPKSDI_UNSCALED_CLAMP);
            norm[l] += x[j * NPKSDI_T + l] * x[j * NPKSDI_T + l];
        }
    }
}

/* mean k(y, y'): one group of rows of panel p against panel q <= p. */
static void npksdi_subsample_tile(npksd_tester *t, size_t p, size_t group, size_t q)
{
    npksd_real *tile = NPKSDI_IN(t, npksdi_own_scratch(t), tile);
    const npksd_real *weight = NPKSDI_MODEL(t, sub_weight);
    const npksd_real *x = NPKSDI_MODEL(t, sub) + p * NPKSDI_T * t->m_ + group * NPKSDI_G;
    size_t row = p * NPKSDI_T + group * NPKSDI_G;
    npksd_real Q = (npksd_real)t->sub_rows_, total = 0;
    npksdi_sub_product(t, x, NPKSDI_G, q, tile);
    const npksd_real *k0 = npksdi_sub_kernel(t, tile, NPKSDI_MODEL(t, sub_norm) + row, q, tile);
    for (size_t i = 0; i < NPKSDI_TILE; i++)
        total += k0[i] * weight[row + i / NPKSDI_T] * weight[q * NPKSDI_T + i % NPKSDI_T];
    t->sub_self_ += (p == q ? NPKSDI_C(1) : NPKSDI_C(2)) * total / (Q * Q);
}

/* Frequency f: m normal numbers over the bandwidth. */
static void npksdi_draw_frequency(npksd_tester *t, npksdi_scratch *w, size_t f)
{
    npksd_real *omega = NPKSDI_MODEL(t, frequencies) + f / NPKSDI_T * NPKSDI_T * t->m_ + f % NPKSDI_T;
    if (f == 0)
        npksdi_seek(w, NPKSDI_STREAM(NPKSDI_FREQUENCIES, 0));
    for (size_t j = 0; j < t->m_; j++)
        omega[j * NPKSDI_T] = npksd_normal(&w->rng_) / t->bandwidth_;
}

static void npksdi_subsample_waves(npksd_tester *t, size_t p, size_t panel)
{
    npksd_real *waves = NPKSDI_IN(t, npksdi_own_scratch(t), tile), Q = (npksd_real)t->sub_rows_;
    npksdi_waves(t, &t->base_kernel_, NPKSDI_MODEL(t, sub) + p * NPKSDI_T * t->m_, panel, waves);
    for (size_t a = 0; a < NPKSDI_T && p * NPKSDI_T + a < t->sub_rows_; a++)
        for (size_t l = 0; l < NPKSDI_T; l++) {
            NPKSDI_MODEL(t, sub_cos)[panel * NPKSDI_T + l] += waves[a * NPKSDI_T + l] / Q;
            NPKSDI_MODEL(t, sub_sin)[panel * NPKSDI_T + l] += waves[(NPKSDI_T + a) * NPKSDI_T + l] / Q;
        }
}

/* Cursor: frequencies drawn, row panel, group, column (or frequency) panel. Returns 0 when done. */
static int npksdi_subsample_item(npksd_tester *t, uint64_t *cost)
{
    size_t *at = t->item_, F = t->options_.features, last;
    if (at[0] < F) {
        *cost = 80 * t->m_;
        npksdi_draw_frequency(t, npksdi_own_scratch(t), at[0]++);
        return 1;
    }
    if (at[1] == t->sub_panels_)
        return 0;
    if (at[2] == 0 && at[3] == 0)
        npksdi_subsample_panel(t, at[1]);
    if (F > 0) {
        *cost = NPKSDI_T * NPKSDI_T * (2 * t->m_ + 40);
        npksdi_subsample_waves(t, at[1], at[3]);
        last = npksdi_frequency_panels(t);
    } else {
        *cost = npksdi_cross_cost(t);
        npksdi_subsample_tile(t, at[1], at[2], at[3]);
        last = at[1] + 1;
    }
    if (++at[3] == last) {
        at[3] = 0;
        if (F > 0 || ++at[2] == NPKSDI_T / NPKSDI_G) {
            at[2] = 0;
            at[1]++;
        }
    }
    return 1;
}

/* One item of a stage that is a single job; *more = 0 when it is finished. */
static npksd_status npksdi_job_item(npksd_tester *t, uint64_t *cost, int *more)
{
    npksd_status status = NPKSD_OK;
    *more = 1;
    *cost = 1;
    switch (t->stage_) {
    case NPKSDI_STAGE_SCALE:
        npksdi_scale_item(t, t->item_[0]++, cost);
        *more = t->item_[0] < npksdi_scale_items(t);
        break;
    case NPKSDI_STAGE_SUMMARY: {
        size_t blocks = npksdi_has_summary_stats(t) ? npksdi_ceil_div(t->kept_rows_, NPKSDI_T) : 0;
        if (t->item_[0] < 2 * blocks) {
            npksdi_summary_block(t, t->item_[0] / blocks, t->item_[0] % blocks);
            t->item_[0]++;
            *cost = npksdi_summary_cost(t);
        } else {
            if (blocks > 0)
                npksdi_summary_scale(t);
            npksdi_choose_centres(t);
            *more = 0;
        }
        break;
    }
    case NPKSDI_STAGE_MEDIAN: {
        npksdi_measure measure = npksdi_kept_measure(t);
        if (t->item_[0]++ == 0)
            npksdi_median_begin(&t->median_, &measure);
        *more = npksdi_median_item(&t->median_, &measure);
        *cost = npksdi_median_cost(t); /* of the next item: a unit ends before a large split, not with it */
        if (!*more)
            npksdi_set_bandwidth(t, t->median_.result_ > 0 ? t->median_.result_ : 1);
        break;
    }
    case NPKSDI_STAGE_SUM_KEPT:
    case NPKSDI_STAGE_STREAM:
    case NPKSDI_STAGE_HELD_OUT: *more = npksdi_add_rows_item(t, cost); break;
    case NPKSDI_STAGE_SELECT:
    case NPKSDI_STAGE_SOLVE:
        status = npksdi_solve_item(t, t->stage_ == NPKSDI_STAGE_SELECT, cost);
        *more = t->item_[0] < t->family_count_;
        break;
    default: *more = npksdi_subsample_item(t, cost); break; /* NPKSDI_STAGE_SUBSAMPLE */
    }
    return status == NPKSD_OK ? npksdi_summary_status(npksdi_own_scratch(t)) : status;
}

/* One unit of the current job; *finished with its last unit. Costs are foreseen with care, so that a job
   may be over early: its other units then count as done. */
static npksd_status npksdi_run_job(npksd_tester *t, int *finished)
{
    npksd_status status = NPKSD_OK;
    npksdi_job *job = &t->job_;
    int more;
    do {
        uint64_t cost;
        status = npksdi_job_item(t, &cost, &more);
        job->cost_done_ += cost;
    } while (status == NPKSD_OK && more && !npksdi_job_unit_over(job));
    job->unit_++;
    *finished = !more;
    if (!more && job->units_ > job->unit_)
        t->units_done_ += job->units_ - job->unit_;
    return status;
}

/* ---- pilot and replicates ---- */

static unsigned char *npksdi_filled(const npksd_tester *t)
{
    return (unsigned char *)(uintptr_t)t + t->at_.filled_;
}

/* Replicates that merge has brought need no work. */
static void npksdi_skip_filled(npksd_tester *t)
{
    while (!t->drawn_ && t->set_ < t->options_.replicates && npksdi_filled(t)[t->set_]) {
        t->set_++;
        t->units_done_ += 1 + t->evaluation_units_;
    }
}

/* The components of data set number set_, and its v_i, go into the pilot's mean and deviation, or into
   the null values as T and v_i. */
static void npksdi_record_values(npksd_tester *t, const npksd_real *values, const npksd_real *v)
{
    npksd_real *mean = NPKSDI_MODEL(t, component_mean), *sd = NPKSDI_MODEL(t, component_sd);
    size_t count = t->component_count_, seen = t->set_ + 1;
    unsigned leading;
    if (t->stage_ == NPKSDI_STAGE_REPLICATES) {
        npksd_real *out = NPKSDI_MODEL(t, null) + t->set_ * t->width_;
        out[0] = npksdi_combine(t, values, &leading);
        NPKSD_MEMCPY(out + 1, v, (t->width_ - 1) * sizeof *v);
        npksdi_filled(t)[t->set_] = 1;
        return;
    }
    for (size_t l = 0; l < count; l++)
        npksdi_running(mean + l, sd + l, values[l], seen);
    for (size_t i = 0; i + 1 < t->width_; i++)
        npksdi_running(NPKSDI_MODEL(t, coordinate_mean) + i, NPKSDI_MODEL(t, coordinate_sd) + i, v[i], seen);
    if (seen < t->options_.pilot)
        return;
    for (size_t l = 0; l < count; l++)
        sd[l] = npksdi_running_sd(mean[l], sd[l], seen);
    for (size_t i = 0; i + 1 < t->width_; i++)
        NPKSDI_MODEL(t, coordinate_sd)[i] = npksdi_running_sd(NPKSDI_MODEL(t, coordinate_mean)[i],
                                                              NPKSDI_MODEL(t, coordinate_sd)[i], seen);
}

static void npksdi_record(npksd_tester *t, npksdi_scratch *w)
{
    npksd_real *values = NPKSDI_IN(t, w, values), *v = NPKSDI_IN(t, w, scores);
    npksdi_components(t, w, values);
    if (t->options_.diagnose)
        npksdi_coordinates(t, w, &t->kernels_, v);
    npksdi_record_values(t, values, v);
}

/* A unit of the pilot or the replicates: a generator call, or part of an evaluation. */
static npksd_status npksdi_set_unit(npksd_tester *t)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_status status = NPKSD_OK;
    int pilot = t->stage_ == NPKSDI_STAGE_PILOT, done = 0;
    if (!t->drawn_) {
        status = npksdi_draw_watched(t, t->n_,
                                     NPKSDI_STREAM(pilot ? NPKSDI_PILOT : NPKSDI_REPLICATE, t->set_));
        if (status != NPKSD_OK)
            return status;
        npksdi_add_noise(t, w, NPKSDI_IN(t, w, rows), t->n_);
        npksdi_begin_evaluation(t, w);
        npksdi_job_begin(&t->job_, t->evaluation_cost_, t->unit_cost_);
        t->drawn_ = 1;
        return NPKSD_OK;
    }
    while (status == NPKSD_OK && !done && !npksdi_job_unit_over(&t->job_)) {
        uint64_t cost = 0;
        status = npksdi_evaluation_item(t, w, &t->kernels_, t->options_.diagnose, &cost, &done);
        t->job_.cost_done_ += cost;
    }
    if (status != NPKSD_OK || ++t->job_.unit_ < t->job_.units_)
        return status;
    npksdi_record(t, w);
    t->drawn_ = 0;
    t->set_++;
    return NPKSD_OK;
}

/* ---- the order of things ---- */

/* On to the next stage that has anything to do. */
static npksd_status npksdi_next_stage(npksd_tester *t)
{
    do
        t->stage_++;
    while (t->stage_ < NPKSDI_STAGE_DONE && npksdi_stage_units(t, t->stage_) == 0);
    NPKSD_MEMSET(t->item_, 0, sizeof t->item_);
    t->row_ = 0;
    t->drawn_ = 0;
    npksdi_job_begin(&t->job_, npksdi_stage_cost(t, t->stage_), t->unit_cost_);
    if (t->stage_ == NPKSDI_STAGE_SUM_KEPT)
        NPKSD_MEMSET(NPKSDI_MODEL(t, sums), 0, t->buffer_reals_ * sizeof(npksd_real));
    if (t->stage_ == NPKSDI_STAGE_STREAM)
        t->set_ = t->keep_sets_;
    if (t->stage_ == NPKSDI_STAGE_HELD_OUT || t->stage_ == NPKSDI_STAGE_PILOT ||
        t->stage_ == NPKSDI_STAGE_REPLICATES)
        t->set_ = 0;
    if (t->stage_ == NPKSDI_STAGE_SELECT || t->stage_ == NPKSDI_STAGE_SOLVE)
        for (size_t slot = 0; slot < t->active_count_; slot++) {
            size_t i = npksdi_ints(t, t->at_.active_)[slot];
            if (t->stage_ == NPKSDI_STAGE_SELECT)
                NPKSDI_MODEL(t, best_loss)[slot] = NPKSDI_MODEL(t, family_loss)[slot] = NPKSDI_HUGE;
            else if (t->splits_ > 1 && !npksdi_is_constant(t, i) &&
                     !(NPKSDI_MODEL(t, best_loss)[slot] < NPKSDI_HUGE))
                return NPKSD_ERROR_NUMERIC; /* no candidate could be solved */
        }
    if (t->stage_ == NPKSDI_STAGE_DONE && npksdi_stuck(t, 2))
        return NPKSD_ERROR_GENERATOR;
    return NPKSD_OK;
}

static npksd_status npksdi_do_unit(npksd_tester *t)
{
    npksd_status status = NPKSD_OK;
    int finished = 0;
    switch (t->stage_) {
    case NPKSDI_STAGE_KEEP:
        status = npksdi_keep_unit(t);
        finished = t->set_ == t->keep_sets_;
        break;
    case NPKSDI_STAGE_STREAM:
    case NPKSDI_STAGE_HELD_OUT: {
        int held = t->stage_ == NPKSDI_STAGE_HELD_OUT, end, set_over = 0;
        size_t before = npksdi_rows_before(held ? t->held_rows_ : t->options_.fit_rows,
                                           held ? t->held_sets_ : t->fit_sets_, t->set_);
        if (!t->drawn_) {
            npksdi_scratch *w = npksdi_own_scratch(t);
            status = npksdi_draw_watched(t, t->set_rows_,
                                         NPKSDI_STREAM(held ? NPKSDI_HELD_OUT : NPKSDI_FIT, t->set_));
            if (status != NPKSD_OK)
                return status;
            npksdi_add_noise(t, w, NPKSDI_IN(t, w, rows), t->set_rows_);
            size_t rows = npksdi_source_rows(t, &end);
            npksdi_job_begin(&t->job_, npksdi_blocks(before, before + rows, end) * npksdi_block_cost(t),
                             t->unit_cost_);
            t->row_ = 0;
            t->drawn_ = 1;
            if (t->job_.units_ > 0)
                return NPKSD_OK;
        }
        status = npksdi_run_job(t, &set_over);
        if (status == NPKSD_OK && set_over) {
            t->drawn_ = 0;
            t->set_++;
            finished = t->set_ == (held ? t->held_sets_ : t->fit_sets_);
        }
        break;
    }
    case NPKSDI_STAGE_PILOT:
        status = npksdi_set_unit(t);
        finished = t->set_ == t->options_.pilot;
        break;
    case NPKSDI_STAGE_REPLICATES:
        status = npksdi_set_unit(t);
        npksdi_skip_filled(t);
        finished = t->set_ == t->options_.replicates;
        break;
    default:
        status = npksdi_run_job(t, &finished);
        break;
    }
    if (status == NPKSD_OK && finished)
        status = npksdi_next_stage(t);
    return status;
}

/* Units until the given stage is reached. An error stays. */
static npksd_status npksdi_advance(npksd_tester *t, int stage, size_t units)
{
    while (t->error_ == NPKSD_OK && t->stage_ < stage && units > 0) {
        npksd_status status = npksdi_do_unit(t);
        if (status == NPKSD_ERROR_NUMERIC && npksdi_stuck(t, 2))
            status = NPKSD_ERROR_GENERATOR;
        t->error_ = status;
        t->units_done_++;
        units--;
    }
    if (t->error_ != NPKSD_OK)
        return t->error_;
    return t->stage_ < stage ? NPKSD_MORE : NPKSD_OK;
}

/* ======== >>check: one observed data set against the null ======== */

typedef struct npksdi_observed {
    npksd_real statistic_, ksd2_, out_of_range_;
    unsigned leading_;
} npksdi_observed;

static npksd_real npksdi_outside(const npksd_tester *t, const npksd_real *rows, size_t count)
{
    size_t outside = 0;
    for (size_t a = 0; a < count; a++) {
        int out = 0;
        for (size_t j = 0; j < t->m_; j++) {
            npksd_real x = rows[a * t->m_ + j];
            out |= x < NPKSDI_MODEL(t, box_low)[j] || x > NPKSDI_MODEL(t, box_high)[j];
        }
        outside += (size_t)out;
    }
    return npksdi_share(outside, count);
}

/* The base bandwidth may not be among the scales: then the pairs are gone through once more. */
static npksd_status npksdi_base_pass(const npksd_tester *t, npksdi_scratch *w)
{
    w->fused_ = npksdi_fuses(t, &t->base_kernel_) ? t->base_kernel_.inverse_[0] : 0;
    for (size_t panel = 0; panel < t->panels_; panel++)
        npksdi_mix_panel(t, w, panel);
    npksdi_rewind_pairs(t, w);
    return npksdi_evaluate_all(t, w, &t->base_kernel_, t->options_.diagnose);
}

/* The observed rows go through exactly what a replicate goes through: noise, index set, evaluation. */
static npksd_status npksdi_observe(npksd_tester *t, const npksd_real *rows, npksdi_observed *observed,
                                   npksd_real *coordinates, npksd_real *influence)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_real *values = NPKSDI_IN(t, w, values);
    npksd_status status;
    observed->out_of_range_ = npksdi_outside(t, rows, t->n_);
    NPKSD_MEMCPY(NPKSDI_IN(t, w, rows), rows, t->n_ * t->m_ * sizeof *rows);
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_OBSERVED, t->observed_index_));
    npksdi_add_noise(t, w, NPKSDI_IN(t, w, rows), t->n_);
    npksdi_begin_evaluation(t, w);
    status = npksdi_evaluate_all(t, w, &t->kernels_, t->options_.diagnose);
    if (status != NPKSD_OK)
        return status;
    npksdi_components(t, w, values);
    observed->statistic_ = npksdi_combine(t, values, &observed->leading_);
    if (coordinates != NULL)
        npksdi_coordinates(t, w, &t->kernels_, coordinates);
    int has_base = t->kernels_.base_ < t->kernels_.count_;
    if (has_base)
        observed->ksd2_ = npksdi_estimate(t, w, &t->kernels_, t->kernels_.base_).u_;
    if (!has_base || (influence != NULL && t->options_.features > 0)) {
        npksdi_base_pass(t, w); /* cannot fail: the panels are ready */
        observed->ksd2_ = npksdi_estimate(t, w, &t->base_kernel_, 0).u_;
    }
    if (t->n_ == 1)
        observed->ksd2_ = 0;
    npksdi_tame(&observed->ksd2_, 1);
    if (influence != NULL) {
        if (t->options_.features > 0)
            npksdi_wave_influence(t, w, influence);
        else
            npksdi_influence(t, w, influence);
        npksdi_tame(influence, t->n_);
    }
    return NPKSD_OK;
}

static void npksdi_report(const npksd_tester *t, const npksdi_observed *observed, size_t used,
                          int stopped, npksd_result *result)
{
    npksd_real *sorted = NPKSDI_MODEL(t, sorted);
    size_t reached = 0;
    for (size_t r = 0; r < used; r++) {
        sorted[r] = NPKSDI_MODEL(t, null)[r * t->width_];
        reached += sorted[r] >= observed->statistic_;
    }
    npksdi_sort(sorted, used);
    NPKSD_MEMSET(result, 0, sizeof *result);
    npksdi_verdict(result, sorted, used, reached, stopped, t->options_.alpha);
    result->statistic = observed->statistic_;
    result->bandwidth = t->bandwidth_;
    result->ksd2 = observed->ksd2_;
    result->out_of_range = observed->out_of_range_;
    result->leading = observed->leading_;
    result->flags = t->flags_ | (stopped ? NPKSD_FLAG_STOPPED_EARLY : 0);
}

/* p_i from the same replicates, and adjusted by the largest pilot-standardised v_j of each. */
static void npksdi_report_coordinates(npksd_tester *t, const npksd_real *v, npksd_diagnosis *diagnosis)
{
    const npksd_real *mean = NPKSDI_MODEL(t, coordinate_mean), *sd = NPKSDI_MODEL(t, coordinate_sd);
    const npksd_real *null = NPKSDI_MODEL(t, null), *weights = NPKSDI_IN(t, npksdi_own_scratch(t), weights);
    npksd_real *most = NPKSDI_MODEL(t, adjusted);
    size_t b = t->options_.replicates, m = t->m_;
    if (!t->options_.diagnose)
        return;
    for (size_t r = 0; r < b; r++) {
        most[r] = -NPKSDI_HUGE;
        for (size_t i = 0; i < m; i++)
            if (NPKSDI_MODEL(t, weights)[i] > 0)
                most[r] = npksdi_max(most[r], (null[r * t->width_ + 1 + i] - mean[i]) / sd[i]);
    }
    for (size_t i = 0; i < m; i++) {
        size_t reached = 0, adjusted = 0;
        npksd_real z = (v[i] - mean[i]) / sd[i];
        for (size_t r = 0; r < b; r++) {
            reached += null[r * t->width_ + 1 + i] >= v[i];
            adjusted += most[r] >= z;
        }
        int drawn = weights[i] > 0;
        if (diagnosis->coordinate_statistic != NULL)
            diagnosis->coordinate_statistic[i] = v[i];
        if (diagnosis->coordinate_p != NULL)
            diagnosis->coordinate_p[i] = drawn ? npksdi_share(1 + reached, b + 1) : 1;
        if (diagnosis->coordinate_p_adjusted != NULL)
            diagnosis->coordinate_p_adjusted[i] = drawn ? npksdi_share(1 + adjusted, b + 1) : 1;
    }
}

/* ---- wild bootstrap: signs on the Stein matrix of the observed rows ---- */

/* u of all pairs b <= a into packed triangles, one for each kernel, the last for MOMENT. */
static void npksdi_wild_matrices(npksd_tester *t, npksdi_scratch *w)
{
    size_t n = t->n_, triangle = n * (n + 1) / 2;
    npksd_real *matrix = NPKSDI_MODEL(t, matrix), *tile = NPKSDI_IN(t, w, tile), stein[NPKSDI_TILE];
    const npksd_real *own = NPKSDI_IN(t, w, own), *cross = NPKSDI_IN(t, w, cross);
    const npksd_real *A = tile + NPKSDI_TILE_A * NPKSDI_TILE, *G = tile + NPKSDI_TILE_G * NPKSDI_TILE;
    for (size_t p = 0; p < t->panels_; p++)
        for (size_t group = 0; group < npksdi_groups(t, p); group++)
            for (size_t q = 0; q <= p; q++) {
                npksdi_pair_tile(t, w, p, group, q, tile);
                for (size_t c = 0; c <= t->kernels_.count_; c++) {
                    int moment = c == t->kernels_.count_;
                    npksd_real inverse = moment ? 0 : t->kernels_.inverse_[c];
                    if (!moment) {
                        npksdi_kernel_tile(t, &t->kernels_, c, NULL, tile);
                        npksdi_stein_tile(t, w, inverse, tile, stein);
                    }
                    for (size_t i = 0; i < NPKSDI_TILE; i++) {
                        size_t a = p * NPKSDI_T + group * NPKSDI_G + i / NPKSDI_T;
                        size_t b = q * NPKSDI_T + i % NPKSDI_T;
                        if (b > a || a >= n)
                            continue;
                        npksd_real u = moment ? A[i] * (1 + G[i]) + cross[a] + cross[b] + w->weight_sum_
                                       : a == b ? own[a] + inverse * w->weight_sum_
                                                : stein[i];
                        matrix[c * triangle + a * (a + 1) / 2 + b] = u;
                    }
                }
            }
}

/* The components for one choice of signs. */
static void npksdi_wild_components(npksd_tester *t, const npksd_real *signs, npksd_real *values)
{
    size_t n = t->n_, triangle = n * (n + 1) / 2;
    npksd_real nr = (npksd_real)n;
    for (size_t l = 0; l < t->component_count_; l++) {
        const npksdi_component *component = npksdi_component_list(t) + l;
        size_t c = component->kind_ == NPKSD_COMPONENT_MOMENT ? t->kernels_.count_ : component->kernel_;
        const npksd_real *row = NPKSDI_MODEL(t, matrix) + c * triangle;
        npksd_real pairs = 0, diagonal = 0;
        for (size_t a = 0; a < n; a++, row += a) {
            pairs += signs[a] * npksdi_dot(row, signs, a);
            diagonal += row[a];
        }
        values[l] = component->u_ ? 2 * pairs / (nr * (nr - 1)) : (2 * pairs + diagonal) / (nr * nr);
    }
    npksdi_tame(values, t->component_count_);
}

static void npksdi_wild_signs(npksdi_scratch *w, size_t index, npksd_real *signs, size_t n)
{
    uint64_t word = 0;
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_SIGNS, index));
    for (size_t a = 0; a < n; a++) {
        if (a % 64 == 0)
            word = npksdi_word(&w->rng_);
        signs[a] = (word >> (a % 64)) & 1 ? NPKSDI_C(1) : NPKSDI_C(-1);
    }
}

/* Without a generator there is no fit sample: the observed rows serve to centre the arithmetic. */
static void npksdi_wild_scale(npksd_tester *t, const npksd_real *rows)
{
    NPKSD_MEMCPY(NPKSDI_MODEL(t, kept), rows, t->n_ * t->m_ * sizeof *rows);
    for (size_t j = 0; j < t->m_; j++)
        npksdi_scale_column(t, j, NPKSDI_MODEL(t, column));
    npksdi_scale_constants(t, NPKSDI_MODEL(t, column));
    npksdi_set_rulers(t);
    t->flags_ = 0;
}

static npksd_status npksdi_wild_check(npksd_tester *t, const npksd_real *rows, npksd_result *result,
                                      npksd_real *influence)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_real *values = NPKSDI_IN(t, w, values), *signs = NPKSDI_MODEL(t, signs);
    npksd_real *mean = NPKSDI_MODEL(t, component_mean), *sd = NPKSDI_MODEL(t, component_sd);
    npksdi_observed observed;
    unsigned leading;
    if (t->sample_fn_ == NULL)
        npksdi_wild_scale(t, rows);
    for (size_t l = 0; l < t->component_count_; l++)
        sd[l] = 1; /* until the signs say better */
    npksd_status status = npksdi_observe(t, rows, &observed, NULL, influence);
    if (status != NPKSD_OK)
        return status;
    npksdi_wild_matrices(t, w);
    NPKSD_MEMSET(mean, 0, t->component_count_ * sizeof *mean);
    NPKSD_MEMSET(sd, 0, t->component_count_ * sizeof *sd);
    size_t pilot = t->pilot_needed_ ? t->options_.pilot : 0;
    for (size_t r = 0; r < pilot; r++) {
        npksdi_wild_signs(w, r, signs, t->n_);
        npksdi_wild_components(t, signs, values);
        for (size_t l = 0; l < t->component_count_; l++)
            npksdi_running(mean + l, sd + l, values[l], r + 1);
    }
    for (size_t l = 0; l < t->component_count_; l++)
        sd[l] = npksdi_running_sd(mean[l], sd[l], pilot);
    for (size_t r = 0; r < t->options_.replicates; r++) {
        npksdi_wild_signs(w, t->options_.pilot + r, signs, t->n_);
        npksdi_wild_components(t, signs, values);
        NPKSDI_MODEL(t, null)[r] = npksdi_combine(t, values, &leading);
    }
    for (size_t a = 0; a < t->n_; a++)
        signs[a] = 1;
    npksdi_wild_components(t, signs, values);
    observed.statistic_ = npksdi_combine(t, values, &observed.leading_);
    if (t->sample_fn_ == NULL)
        observed.out_of_range_ = 0;
    t->wild_done_ = 1;
    npksdi_report(t, &observed, t->options_.replicates, 0, result);
    return NPKSD_OK;
}

/* ======== >>api: tier 2 ======== */

NPKSDI_DEF const char *npksd_status_string(npksd_status status)
{
    switch (status) {
#define NPKSDI_CASE(name, value, text) case NPKSD_##name: return text;
        NPKSD_STATUS_LIST(NPKSDI_CASE)
#undef NPKSDI_CASE
    default: return "unknown status";
    }
}

NPKSDI_DEF int npksd_version(void) { return NPKSD_VERSION; }

/* Options given or default, checked; and sample_fn, which only the wild bootstrap can do without. */
static npksd_status npksdi_admit(size_t n, size_t m, const npksd_options *options, int has_generator,
                                 npksd_options *out)
{
    *out = options != NULL ? *options : npksd_default_options();
    if (npksd_options_problem(out, n, m) != NULL)
        return NPKSD_ERROR_ARGUMENT;
    if (!has_generator && (out->calibration != NPKSD_CALIBRATE_WILD_BOOTSTRAP || out->standardize ||
                           !(out->bandwidth > 0)))
        return NPKSD_ERROR_ARGUMENT;
    return NPKSD_OK;
}

#define NPKSDI_ALIGNMENT 64 /* a cache line: no vector of a panel lies across two */
static void *npksdi_aligned(void *memory)
{
    return (char *)memory + (NPKSDI_ALIGNMENT - (uintptr_t)memory % NPKSDI_ALIGNMENT) % NPKSDI_ALIGNMENT;
}

NPKSDI_DEF npksd_status npksd_tester_size(size_t n, size_t m, const npksd_options *options, size_t *bytes)
{
    npksd_options checked;
    npksd_tester plan;
    if (bytes == NULL || npksdi_admit(n, m, options, 1, &checked) != NPKSD_OK)
        return NPKSD_ERROR_ARGUMENT;
    npksdi_source source = {NPKSDI_GENERATED_ROWS, 0, 0};
    size_t with = npksdi_plan(&plan, n, m, &checked, source), without = with;
    source.rows_ = NPKSDI_NO_ROWS;
    if (checked.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP)
        without = npksdi_plan(&plan, n, m, &checked, source);
    if (with == 0 || without == 0)
        return NPKSD_ERROR_MEMORY;
    *bytes = npksdi_max_size(with, without) + NPKSDI_ALIGNMENT - 1;
    return NPKSD_OK;
}

/* Which coordinates are fitted; where the stages start; what a unit costs. */
static void npksdi_tester_begin(npksd_tester *t)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_options *o = &t->options_;
    NPKSD_MEMSET((char *)t + sizeof *t, 0, t->bytes_ - sizeof *t);
    npksdi_scratch_begin(t, w);
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_INDEX_SET, 0));
    int shared = o->resample > 0 && !o->resample_redraw;
    if (!shared)
        for (size_t i = 0; i < t->m_; i++)
            NPKSDI_MODEL(t, weights)[i] = 1 / (npksd_real)t->m_;
    else
        npksdi_draw_weights(t, &w->rng_, NPKSDI_MODEL(t, weights), NPKSDI_IN(t, w, picks));
    for (size_t i = 0; i < t->m_; i++) {
        npksdi_ints(t, t->at_.family_of_)[i] = (uint32_t)NPKSDI_CONSTANT;
        if (NPKSDI_MODEL(t, weights)[i] > 0)
            npksdi_ints(t, t->at_.active_)[t->active_count_++] = (uint32_t)i;
    }
    npksdi_list_components(t, npksdi_component_list(t));
    if (o->bandwidth > 0)
        npksdi_set_bandwidth(t, o->bandwidth);
    t->evaluation_cost_ = npksdi_evaluation_cost(t);
    uint64_t target = NPKSDI_UNIT_COST, panel = npksdi_panel_cost(t); /* no unit is less than an item */
    target = panel > target ? panel : target;
    t->unit_cost_ = t->evaluation_cost_ / ((t->evaluation_cost_ + target - 1) / target);
    npksdi_job job;
    npksdi_job_begin(&job, t->evaluation_cost_, t->unit_cost_);
    t->evaluation_units_ = job.units_;
    t->keep_sets_ = npksdi_keep_sets(t);
    t->stage_ = t->sample_fn_ == NULL ? NPKSDI_STAGE_DONE : NPKSDI_STAGE_KEEP;
    for (int stage = t->stage_; stage < NPKSDI_STAGE_DONE; stage++)
        t->units_total_ += npksdi_stage_units(t, stage);
    for (size_t j = 0; j < t->m_; j++)
        NPKSDI_MODEL(t, scale)[j] = 1; /* until the fit sample says better */
    npksdi_set_rulers(t);
}

/* A tester in memory that is large enough. */
static npksd_tester *npksdi_tester_place(void *memory, size_t n, size_t m, npksd_sample_fn sample_fn,
                                         void *user_data, const npksd_options *checked)
{
    npksd_tester *t = (npksd_tester *)npksdi_aligned(memory);
    int none = sample_fn == NULL && checked->calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP;
    npksdi_source source = {none ? NPKSDI_NO_ROWS : NPKSDI_GENERATED_ROWS, 0, 0};
    npksdi_plan(t, n, m, checked, source);
    t->sample_fn_ = sample_fn;
    t->user_data_ = user_data;
    npksdi_tester_begin(t);
    return t;
}

NPKSDI_DEF npksd_status npksd_tester_init(npksd_tester **tester, size_t n, size_t m,
                                          npksd_sample_fn sample_fn, void *user_data,
                                          const npksd_options *options, void *workspace, size_t bytes)
{
    npksd_options checked;
    size_t needed;
    if (tester == NULL)
        return NPKSD_ERROR_ARGUMENT;
    *tester = NULL;
    npksd_status status = npksdi_admit(n, m, options, sample_fn != NULL, &checked);
    if (status == NPKSD_OK)
        status = npksd_tester_size(n, m, options, &needed);
    if (status == NPKSD_OK && workspace == NULL)
        status = NPKSD_ERROR_ARGUMENT;
    if (status == NPKSD_OK && bytes < needed)
        status = NPKSD_ERROR_MEMORY;
    if (status != NPKSD_OK)
        return status;
    *tester = npksdi_tester_place(workspace, n, m, sample_fn, user_data, &checked);
    return NPKSD_OK;
}

#ifdef NPKSD_NO_MALLOC
static void *npksdi_alloc(const npksd_allocator *allocator, size_t bytes)
{
    return allocator->alloc_fn != NULL ? allocator->alloc_fn(bytes, allocator->user_data) : NULL;
}
static void npksdi_free(const npksd_allocator *allocator, void *ptr, size_t bytes)
{
    if (allocator->free_fn != NULL)
        allocator->free_fn(ptr, bytes, allocator->user_data);
}
#else
static void *npksdi_alloc(const npksd_allocator *allocator, size_t bytes)
{
    return allocator->alloc_fn != NULL ? allocator->alloc_fn(bytes, allocator->user_data) : malloc(bytes);
}
static void npksdi_free(const npksd_allocator *allocator, void *ptr, size_t bytes)
{
    if (allocator->free_fn != NULL)
        allocator->free_fn(ptr, bytes, allocator->user_data);
    else
        free(ptr);
}
#endif

/* Without a generator for npksd_statistic, too, which never draws. */
static npksd_status npksdi_create(npksd_tester **tester, size_t n, size_t m, npksd_sample_fn sample_fn,
                                  void *user_data, const npksd_options *checked)
{
    size_t bytes;
    npksd_status status = npksd_tester_size(n, m, checked, &bytes);
    if (status != NPKSD_OK)
        return status;
    void *memory = npksdi_alloc(&checked->allocator, bytes);
    if (memory == NULL)
        return NPKSD_ERROR_MEMORY;
    *tester = npksdi_tester_place(memory, n, m, sample_fn, user_data, checked);
    (*tester)->memory_ = memory;
    (*tester)->memory_bytes_ = bytes;
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_tester_create(npksd_tester **tester, size_t n, size_t m,
                                            npksd_sample_fn sample_fn, void *user_data,
                                            const npksd_options *options)
{
    npksd_options checked;
    if (tester == NULL)
        return NPKSD_ERROR_ARGUMENT;
    *tester = NULL;
    npksd_status status = npksdi_admit(n, m, options, sample_fn != NULL, &checked);
    return status == NPKSD_OK ? npksdi_create(tester, n, m, sample_fn, user_data, &checked) : status;
}

NPKSDI_DEF void npksd_tester_destroy(npksd_tester *t)
{
    if (t == NULL || t->memory_ == NULL)
        return;
    npksd_allocator allocator = t->options_.allocator;
    npksdi_free(&allocator, t->memory_, t->memory_bytes_);
}

NPKSDI_DEF npksd_status npksd_tester_step(npksd_tester *t, size_t units)
{
    return t != NULL ? npksdi_advance(t, NPKSDI_STAGE_DONE, units) : NPKSD_ERROR_ARGUMENT;
}

NPKSDI_DEF void npksd_tester_progress(const npksd_tester *t, size_t *done, size_t *total)
{
    if (done != NULL)
        *done = t != NULL ? t->units_done_ : 0;
    if (total != NULL)
        *total = t != NULL ? t->units_total_ : 0;
}

NPKSDI_DEF void npksd_tester_shape(const npksd_tester *t, size_t *n, size_t *m)
{
    if (n != NULL)
        *n = t != NULL ? t->n_ : 0;
    if (m != NULL)
        *m = t != NULL ? t->m_ : 0;
}

NPKSDI_DEF npksd_status npksd_tester_check(npksd_tester *t, const npksd_real *observed,
                                           npksd_result *result, npksd_diagnosis *diagnosis)
{
    npksdi_observed seen;
    if (t == NULL || observed == NULL || result == NULL)
        return NPKSD_ERROR_ARGUMENT;
    int coordinates = diagnosis != NULL &&
                      (diagnosis->coordinate_statistic != NULL || diagnosis->coordinate_p != NULL ||
                       diagnosis->coordinate_p_adjusted != NULL);
    if (coordinates && !t->options_.diagnose)
        return NPKSD_ERROR_ARGUMENT;
    if (t->error_ != NPKSD_OK || t->stage_ != NPKSDI_STAGE_DONE)
        return NPKSD_ERROR_STATE;
    if (!npksdi_finite(observed, t->n_ * t->m_))
        return NPKSD_ERROR_NONFINITE;
    npksd_real *influence = diagnosis != NULL ? diagnosis->row_influence : NULL;
    if (t->options_.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP)
        return npksdi_wild_check(t, observed, result, influence);
    npksd_real *v = NPKSDI_IN(t, npksdi_own_scratch(t), scores);
    npksd_status status = npksdi_observe(t, observed, &seen, coordinates ? v : NULL, influence);
    if (status != NPKSD_OK)
        return status;
    npksdi_report(t, &seen, t->options_.replicates, 0, result);
    if (coordinates)
        npksdi_report_coordinates(t, v, diagnosis);
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_tester_null(const npksd_tester *t, npksd_real *out, size_t capacity,
                                          size_t *count)
{
    if (t == NULL || (out == NULL && capacity > 0))
        return NPKSD_ERROR_ARGUMENT;
    int wild = t->options_.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP;
    if (t->error_ != NPKSD_OK || t->stage_ != NPKSDI_STAGE_DONE || (wild && !t->wild_done_))
        return NPKSD_ERROR_STATE;
    for (size_t r = 0; r < npksdi_min_size(capacity, t->options_.replicates); r++)
        out[r] = NPKSDI_MODEL(t, null)[r * t->width_];
    if (count != NULL)
        *count = t->options_.replicates;
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_tester_scores(npksd_tester *t, const npksd_real *rows, size_t count,
                                            npksd_real *scores)
{
    if (t == NULL || (count > 0 && (rows == NULL || scores == NULL)) ||
        count > SIZE_MAX / sizeof(npksd_real) / t->m_)
        return NPKSD_ERROR_ARGUMENT;
    if (t->error_ != NPKSD_OK || t->stage_ <= NPKSDI_STAGE_SOLVE)
        return NPKSD_ERROR_STATE;
    npksdi_scratch *w = npksdi_own_scratch(t);
    size_t m = t->m_;
    npksd_real *z = NPKSDI_IN(t, w, z) + NPKSDI_T, *s = NPKSDI_IN(t, w, scores);
    if (!npksdi_finite(rows, count * m))
        return NPKSD_ERROR_NONFINITE;
    int room = !t->drawn_ && count <= t->n_; /* to keep an answer until it is whole */
    npksd_real *out = room ? NPKSDI_IN(t, w, rows) : scores;
    int given = t->options_.estimator == NPKSD_ESTIMATOR_CALLBACK && count > 0; /* its own words, unchanged */
    if (given && t->options_.score_fn(rows, count, m, out, t->options_.score_user_data) != 0)
        return NPKSD_ERROR_GENERATOR;
    if (given && !npksdi_finite(out, count * m))
        return NPKSD_ERROR_NONFINITE;
    for (size_t first = 0; first < count && !given; first += NPKSDI_T) {
        size_t some = npksdi_min_size(NPKSDI_T, count - first);
        npksdi_scale_panel(t, rows + first * m, some, z - NPKSDI_T);
        npksd_status status = npksdi_score_panel(t, w, z, rows + first * m, some, NULL, s);
        if (status != NPKSD_OK)
            return status;
        for (size_t l = 0; l < some; l++)
            for (size_t j = 0; j < m; j++) {
                npksd_real score = s[j * NPKSDI_T + l] / NPKSDI_MODEL(t, scale)[j]; /* scale: 1e-310 */
                npksd_real most = score < 0 ? -NPKSDI_LARGEST : NPKSDI_LARGEST;
                out[(first + l) * m + j] = npksdi_finite(&score, 1) ? score : most;
            }
    }
    if (room && count > 0)
        NPKSD_MEMCPY(scores, out, count * m * sizeof *scores);
    return NPKSD_OK;
}

/* ======== >>api: tier 1 ======== */

/* Replicates one by one until stop_after of them have reached the observed statistic. */
static npksd_status npksdi_test_stopping(npksd_tester *t, const npksd_real *observed, npksd_result *result)
{
    npksdi_observed seen;
    size_t reached = 0, used = 0;
    npksd_status status = npksdi_advance(t, NPKSDI_STAGE_REPLICATES, SIZE_MAX);
    if (status == NPKSD_OK)
        status = npksdi_observe(t, observed, &seen, NULL, NULL);
    while (status == NPKSD_OK && t->stage_ == NPKSDI_STAGE_REPLICATES && reached < t->options_.stop_after) {
        status = npksdi_advance(t, NPKSDI_STAGE_DONE, 1);
        status = status == NPKSD_MORE ? NPKSD_OK : status;
        size_t complete = t->stage_ == NPKSDI_STAGE_REPLICATES ? t->set_ : t->options_.replicates;
        for (; status == NPKSD_OK && used < complete; used++)
            reached += NPKSDI_MODEL(t, null)[used * t->width_] >= seen.statistic_;
    }
    if (status == NPKSD_OK)
        npksdi_report(t, &seen, used, reached >= t->options_.stop_after, result);
    return status;
}

NPKSDI_DEF npksd_status npksd_test(const npksd_real *observed, size_t n, size_t m, npksd_sample_fn sample_fn,
                                   void *user_data, const npksd_options *options, npksd_result *result)
{
    npksd_tester *t;
    npksd_result found;
    if (observed == NULL || result == NULL)
        return NPKSD_ERROR_ARGUMENT;
    npksd_status status = npksd_tester_create(&t, n, m, sample_fn, user_data, options);
    if (status != NPKSD_OK)
        return status;
    if (!npksdi_finite(observed, n * m))
        status = NPKSD_ERROR_NONFINITE;
    else if (t->options_.stop_after > 0)
        status = npksdi_test_stopping(t, observed, &found);
    else
        status = npksd_tester_step(t, SIZE_MAX);
    if (status == NPKSD_OK && t->options_.stop_after == 0)
        status = npksd_tester_check(t, observed, &found, NULL);
    npksd_tester_destroy(t);
    if (status == NPKSD_OK)
        *result = found;
    return status;
}

/* ======== >>api: primitives ======== */

NPKSDI_DEF npksd_status npksd_median_distance(const npksd_real *rows, size_t count, size_t m,
                                              const npksd_options *options, npksd_real *out)
{
    npksd_options o = options != NULL ? *options : npksd_default_options();
    npksdi_sizer sizer = {0, 0};
    npksdi_measure measure;
    npksdi_median state;
    if (rows == NULL || out == NULL || count == 0 || m == 0 ||
        (o.allocator.alloc_fn == NULL) != (o.allocator.free_fn == NULL) ||
        count > SIZE_MAX / sizeof(npksd_real) / m)
        return NPKSD_ERROR_ARGUMENT;
    size_t panels = npksdi_room(&sizer, npksdi_times(&sizer, m, NPKSDI_MEDIAN_PANELS * NPKSDI_T), sizeof(npksd_real));
    size_t buffer = npksdi_room(&sizer, npksdi_median_buffer(count), sizeof(npksd_real));
    if (sizer.bad_)
        return NPKSD_ERROR_MEMORY;
    if (!npksdi_finite(rows, count * m))
        return NPKSD_ERROR_NONFINITE;
    npksd_real most = 0;
    for (size_t i = 0; i < count * m; i++)
        most = npksdi_max(most, npksdi_abs(rows[i]));
    char *memory = (char *)npksdi_alloc(&o.allocator, sizer.bytes_);
    if (memory == NULL)
        return NPKSD_ERROR_MEMORY;
    NPKSD_MEMSET(&measure, 0, sizeof measure);
    measure.rows_ = rows;
    measure.unit_ = 1; /* squares of numbers beyond these would leave the range */
    if (most > NPKSDI_UNSCALED_CLAMP || most < 1 / NPKSDI_UNSCALED_CLAMP)
        measure.unit_ = most > 1 ? 1 / most : npksdi_min(NPKSDI_HUGE, 1 / npksdi_max(most, NPKSDI_TINY));
    measure.count_ = count;
    measure.m_ = m;
    measure.panels_ = (npksd_real *)(void *)(memory + panels);
    measure.buffer_ = (npksd_real *)(void *)(memory + buffer);
    measure.capacity_ = npksdi_median_buffer(count);
    npksdi_median_begin(&state, &measure);
    while (npksdi_median_item(&state, &measure)) {
    }
    npksdi_free(&o.allocator, memory, sizer.bytes_);
    *out = state.result_ > 0 ? npksdi_min(state.result_ / measure.unit_, NPKSDI_LARGEST) : 1;
    return NPKSD_OK;
}

/* A tester without a fit carries the scratch; the panels are filled from rows and scores as given. */
static void npksdi_statistic_panel(npksd_tester *t, npksdi_scratch *w, const npksd_real *rows,
                                   const npksd_real *scores, const npksd_real *centre, size_t panel)
{
    size_t m = t->m_, first = panel * NPKSDI_T;
    npksd_real *x = NPKSDI_IN(t, w, x) + first * m, *s = NPKSDI_IN(t, w, scores);
    for (size_t j = 0; j < m; j++)
        for (size_t l = 0; l < NPKSDI_T; l++) {
            int real = first + l < t->n_;
            x[j * NPKSDI_T + l] = real ? rows[(first + l) * m + j] - centre[j] : 0;
            s[j * NPKSDI_T + l] = real ? scores[(first + l) * m + j] : 0;
        }
    npksdi_columns_panel(t, w, panel, x, s);
}

NPKSDI_DEF npksd_status npksd_statistic(const npksd_real *rows, const npksd_real *scores, size_t n, size_t m,
                                        const npksd_real *weights, const npksd_options *options,
                                        npksd_real *out)
{
    npksd_tester *t;
    npksd_real value;
    if (rows == NULL || scores == NULL || out == NULL || options == NULL ||
        !(options->bandwidth > 0) || options->statistic == NPKSD_STATISTIC_UV)
        return NPKSD_ERROR_ARGUMENT;
    npksd_options o = npksd_default_options();
    o.allocator = options->allocator;
    o.rng = options->rng;
    o.seed = options->seed;
    o.kernel = options->kernel;
    o.form = options->form;
    o.statistic = options->statistic;
    o.features = options->features;
    o.bandwidth = options->bandwidth;
    o.scales = options->scales;
    o.scale_count = options->scale_count;
    o.components = NPKSD_COMPONENT_STEIN;
    o.summary = NPKSD_SUMMARY_NONE;
    o.estimator = NPKSD_ESTIMATOR_GAUSS;
    o.fit_rows = 2;
    npksd_real first_scale = 1;
    if (npksd_options_problem(&o, n, m) != NULL)
        return NPKSD_ERROR_ARGUMENT;
    if (o.scale_count > 0)
        first_scale = o.scales[0];
    o.scales = &first_scale;
    o.scale_count = 1;
    o.replicates = 19;
    o.resample = weights != NULL ? m : 0; /* room for unequal weights */
    if (!npksdi_finite(rows, n * m) || !npksdi_finite(scores, n * m) ||
        (weights != NULL && !npksdi_finite(weights, m)))
        return NPKSD_ERROR_NONFINITE;
    for (size_t i = 0; weights != NULL && i < m; i++)
        if (weights[i] < 0)
            return NPKSD_ERROR_ARGUMENT;
    for (size_t i = 0; i < n * m; i++) /* squares must fit; in halves, so that the difference does */
        if (npksdi_abs(scores[i]) > NPKSDI_UNSCALED_CLAMP ||
            npksdi_abs(rows[i] * NPKSDI_C(0.5) - rows[i % m] * NPKSDI_C(0.5)) > NPKSDI_UNSCALED_CLAMP)
            return NPKSD_ERROR_NUMERIC;
    npksd_status status = npksdi_create(&t, n, m, NULL, NULL, &o);
    if (status != NPKSD_OK)
        return status;
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_real *centre = NPKSDI_MODEL(t, centre);
    for (size_t i = 0; i < m; i++)
        NPKSDI_IN(t, w, weights)[i] = weights != NULL ? weights[i] : 1 / (npksd_real)m;
    for (size_t j = 0; j < m; j++) {
        for (size_t a = 0; a < n; a++)
            centre[j] += (rows[a * m + j] - rows[j]) / (npksd_real)n;
        centre[j] += rows[j];
    }
    for (size_t f = 0; f < o.features; f++)
        npksdi_draw_frequency(t, w, f);
    npksdi_count_columns(t, w);
    w->fused_ = npksdi_fuses(t, &t->kernels_) ? t->kernels_.inverse_[0] : 0;
    for (size_t panel = 0; panel < t->panels_; panel++)
        npksdi_statistic_panel(t, w, rows, scores, centre, panel);
    w->next_panel_ = t->panels_;
    npksdi_rewind_pairs(t, w);
    npksdi_evaluate_all(t, w, &t->kernels_, 0);
    npksdi_components(t, w, &value);
    npksd_tester_destroy(t);
    if (!(npksdi_abs(value) < NPKSDI_HUGE)) /* npksdi_tame */
        return NPKSD_ERROR_NUMERIC;
    *out = value;
    return NPKSD_OK;
}

/* ======== >>samples: synthetic rows that come as a file, by permutation ======== */

NPKSDI_DEF size_t npksd_samples_minimum(size_t n)
{
    return n > SIZE_MAX / 4 ? SIZE_MAX : npksdi_max_size(2 * n, 16);
}

NPKSDI_DEF const char *npksd_samples_problem(const npksd_options *o, size_t n, size_t rows, size_t m)
{
    const char *problem = npksd_options_problem(o, n, m);
    if (problem != NULL)
        return problem;
    if (rows < npksd_samples_minimum(n))
        return "rows: too few synthetic rows to split (npksd_samples_minimum)";
    if (rows > SIZE_MAX / 64 / m / sizeof(npksd_real))
        return "rows: too many numbers";
    if (n % o->block != 0)
        return "block: must divide n"; /* then 2 n rows hold blocks enough to split */
    if (o->features > 0)
        return "features: not with fixed samples";
    if (o->resample > 0 && o->resample_redraw)
        return "resample_redraw: not with fixed samples";
    if (o->stop_after > 0)
        return "stop_after: not with fixed samples";
    if (o->calibration != NPKSD_CALIBRATE_MONTE_CARLO)
        return "calibration: not with fixed samples";
    return NULL;
}

/* The rows given, how they are split, and the memory of the permutations. A labelling says which n rows
   of the pool are "observed": number 0 is the truth, then come the pilot's and the replicates'. */
typedef struct npksdi_samples {
    const npksd_real *observed_, *synthetic_;
    size_t n_, m_, block_, next_;
    size_t held_blocks_, pool_blocks_, pool_; /* held-out blocks of synthetic rows; the pool with observed */
    size_t labellings_, words_, width_;       /* 64-bit words of a row's membership; sums of a labelling */
    size_t *synthetic_order_, *pool_order_;   /* blocks, shuffled */
    uint64_t *member_;
    npksd_real *sums_;
} npksdi_samples;

/* The sums of a labelling: over its pairs, for each kernel, STEIN and MIRROR; MOMENT; the base kernel.
   Over its rows: |S|^2, |S|^2 (1 + |x|^2), S.wx, kernel to the MMD sub-sample. Then coordinates, pairs
   and rows. */
enum { NPKSDI_ROW_OWN, NPKSDI_ROW_MOMENT, NPKSDI_ROW_CROSS, NPKSDI_ROW_BETWEEN, NPKSDI_ROW_SUMS };

static void npksdi_shuffle(npksd_rng *rng, size_t *order, size_t count, size_t chosen)
{
    for (size_t k = 0; k < chosen && k + 1 < count; k++) {
        size_t other = k + npksdi_below(rng, count - k), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

/* The fit part, row by row: blocks behind the held-out ones, in their shuffled order. */
static int npksdi_next_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    npksdi_samples *s = (npksdi_samples *)user_data;
    (void)rng;
    for (size_t a = 0; a < count; a++, s->next_++) {
        size_t block = s->synthetic_order_[s->held_blocks_ + s->next_ / s->block_];
        NPKSD_MEMCPY(rows + a * m, s->synthetic_ + (block * s->block_ + s->next_ % s->block_) * m,
                     m * sizeof *rows);
    }
    return 0;
}

NPKSDI_INLINE size_t npksdi_lowest_bit(uint64_t word)
{
#if defined(__GNUC__) || defined(__clang__)
    return (size_t)__builtin_ctzll(word);
#else
    size_t bit = 0;
    for (size_t half = 32; half > 0; half /= 2)
        if ((word & ((UINT64_C(1) << half) - 1)) == 0) {
            word >>= half;
            bit += half;
        }
    return bit;
#endif
}

/* Add values to the sums of every labelling that has both rows (a = b: that row). */
static void npksdi_scatter(npksdi_samples *s, size_t a, size_t b, size_t at, const npksd_real *values,
                           size_t count)
{
    const uint64_t *ma = s->member_ + a * s->words_, *mb = s->member_ + b * s->words_;
    for (size_t k = 0; k < s->words_; k++)
        for (uint64_t both = ma[k] & mb[k]; both != 0; both &= both - 1) {
            npksd_real *sums = s->sums_ + (64 * k + npksdi_lowest_bit(both)) * s->width_ + at;
            for (size_t v = 0; v < count; v++)
                sums[v] += values[v];
        }
}

/* The pool in an order that does not know which rows are observed: their subset then goes through the
   same code and the same rounding as any other. */
static void npksdi_fill_pool(npksd_tester *t, npksdi_samples *s)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_real *rows = NPKSDI_IN(t, w, rows);
    size_t chosen = s->n_ / s->block_, length = s->block_ * s->m_;
    for (size_t k = 0; k < s->pool_blocks_; k++)
        s->pool_order_[k] = k;
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_SPLIT, 1));
    npksdi_shuffle(&w->rng_, s->pool_order_, s->pool_blocks_, s->pool_blocks_);
    for (size_t k = 0; k < s->pool_blocks_; k++) {
        size_t from = s->pool_order_[k];
        int observed = from < chosen;
        const npksd_real *source = observed ? s->observed_ + from * length
                                            : s->synthetic_ + s->synthetic_order_[from - chosen] * length;
        NPKSD_MEMCPY(rows + k * length, source, length * sizeof *rows);
        for (size_t a = 0; a < s->block_ && observed; a++)
            s->member_[(k * s->block_ + a) * s->words_] |= 1;
    }
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_OBSERVED, 0));
    npksdi_add_noise(t, w, rows, s->pool_);
}

/* Every other labelling: as many blocks of the pool at random. order has room for the pool's blocks. */
static void npksdi_draw_labellings(npksd_tester *t, npksdi_samples *s, size_t *order)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    size_t chosen = s->n_ / s->block_;
    for (size_t label = 1; label < s->labellings_; label++) {
        for (size_t k = 0; k < s->pool_blocks_; k++)
            order[k] = k;
        npksdi_seek(w, NPKSDI_STREAM(NPKSDI_PERMUTATION, label));
        npksdi_shuffle(&w->rng_, order, s->pool_blocks_, chosen);
        for (size_t k = 0; k < chosen; k++)
            for (size_t a = 0; a < s->block_; a++)
                s->member_[(order[k] * s->block_ + a) * s->words_ + label / 64] |= UINT64_C(1) << (label % 64);
    }
}

static void npksdi_scatter_rows(npksd_tester *t, npksdi_samples *s)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_real *tile = NPKSDI_IN(t, w, tile), *v = NPKSDI_IN(t, w, scores), inverse = t->base_kernel_.inverse_[0];
    const npksd_real *weights = NPKSDI_IN(t, w, weights), *sub_weight = NPKSDI_MODEL(t, sub_weight);
    size_t m = t->m_, at = 2 * t->kernels_.count_ + 2;
    for (size_t row = 0; row < s->pool_; row++) {
        npksd_real values[NPKSDI_ROW_SUMS];
        size_t p = row / NPKSDI_T, first = row / NPKSDI_G * NPKSDI_G;
        values[NPKSDI_ROW_OWN] = NPKSDI_IN(t, w, own)[row];
        values[NPKSDI_ROW_MOMENT] = values[NPKSDI_ROW_OWN] * (1 + NPKSDI_IN(t, w, norm)[row]);
        values[NPKSDI_ROW_CROSS] = NPKSDI_IN(t, w, cross)[row];
        values[NPKSDI_ROW_BETWEEN] = 0;
        for (size_t q = 0; q < t->sub_panels_; q++) { /* rows are few; only its own row is used */
            npksdi_sub_product(t, NPKSDI_IN(t, w, x) + p * NPKSDI_T * m + first % NPKSDI_T, NPKSDI_G, q, tile);
            const npksd_real *k0 = npksdi_sub_kernel(t, tile, NPKSDI_IN(t, w, norm) + first, q, tile);
            for (size_t l = 0; l < NPKSDI_T; l++)
                values[NPKSDI_ROW_BETWEEN] +=
                    sub_weight[q * NPKSDI_T + l] * k0[(row - first) * NPKSDI_T + l];
        }
        npksdi_scatter(s, row, row, at, values, NPKSDI_ROW_SUMS);
        if (!t->options_.diagnose)
            continue;
        for (size_t i = 0; i < m; i++) {
            npksd_real score = NPKSDI_IN(t, w, raw_s)[(p * m + i) * NPKSDI_T + row % NPKSDI_T];
            v[i] = weights[i] * weights[i] * (score * score + inverse);
        }
        npksdi_scatter(s, row, row, at + NPKSDI_ROW_SUMS + m, v, m);
    }
}

/* The coordinates' shares of u at the base bandwidth for one pair. */
static void npksdi_pair_coordinates(const npksd_tester *t, const npksdi_scratch *w, size_t a, size_t b,
                                    npksd_real k0, npksd_real k1, npksd_real k2, npksd_real *v)
{
    size_t m = t->m_;
    const npksd_real *weights = NPKSDI_IN(t, w, weights), *x = NPKSDI_IN(t, w, x);
    const npksd_real *s = NPKSDI_IN(t, w, raw_s);
    npksd_real inverse = t->base_kernel_.inverse_[0];
    for (size_t i = 0; i < m; i++) {
        size_t at = (a / NPKSDI_T * m + i) * NPKSDI_T + a % NPKSDI_T;
        size_t bt = (b / NPKSDI_T * m + i) * NPKSDI_T + b % NPKSDI_T;
        npksd_real d = x[at] - x[bt];
        v[i] = weights[i] * weights[i] * (k0 * s[at] * s[bt] + inverse * k1 * (d * (s[at] - s[bt]) + 1) -
                                          inverse * inverse * k2 * d * d);
    }
}

/* One tile of pairs of the pool: every kernel value is computed once and goes to every labelling that
   has both rows. influence: rows of the observed labelling, or NULL. */
static void npksdi_scatter_pairs(npksd_tester *t, npksdi_samples *s, size_t p, size_t group, size_t q,
                                 npksd_real *influence)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    const npksdi_kernels *kernels = &t->kernels_;
    npksd_real *tile = NPKSDI_IN(t, w, tile), *values = NPKSDI_IN(t, w, pairs), W = w->weight_sum_;
    npksd_real *v = NPKSDI_IN(t, w, scores);
    int imq = t->options_.kernel == NPKSD_KERNEL_IMQ;
    const npksd_real *k0 = tile + NPKSDI_TILE_K0 * NPKSDI_TILE, *A = tile + NPKSDI_TILE_A * NPKSDI_TILE;
    const npksd_real *k1 = imq ? tile + NPKSDI_TILE_K1 * NPKSDI_TILE : k0;
    const npksd_real *k2 = imq ? tile + NPKSDI_TILE_K2 * NPKSDI_TILE : k0;
    const npksd_real *C = tile + NPKSDI_TILE_C * NPKSDI_TILE, *D = tile + NPKSDI_TILE_D * NPKSDI_TILE;
    const npksd_real *G = tile + NPKSDI_TILE_G * NPKSDI_TILE;
    size_t count = 2 * kernels->count_ + 2, first = p * NPKSDI_T + group * NPKSDI_G;
    npksdi_pair_tile(t, w, p, group, q, tile);
    for (size_t c = 0; c < kernels->count_; c++) {
        npksd_real inverse = kernels->inverse_[c];
        npksdi_kernel_tile(t, kernels, c, NULL, tile);
        for (size_t i = 0; i < NPKSDI_TILE; i++) {
            npksd_real even = k0[i] * A[i] + inverse * k1[i] * W - inverse * inverse * k2[i] * D[i];
            npksd_real odd = inverse * k1[i] * C[i];
            values[i * count + c] = even + odd;
            values[i * count + kernels->count_ + c] = even - odd;
            if (c == kernels->base_)
                values[i * count + count - 1] = k0[i];
        }
        for (size_t i = 0; i < NPKSDI_TILE && c == kernels->base_; i++) {
            size_t a = first + i / NPKSDI_T, b = q * NPKSDI_T + i % NPKSDI_T;
            if (b >= a || a >= s->pool_)
                continue;
            if (t->options_.diagnose) {
                npksdi_pair_coordinates(t, w, a, b, k0[i], k1[i], k2[i], v);
                npksdi_scatter(s, a, b, count + NPKSDI_ROW_SUMS, v, t->m_);
            }
            if (influence != NULL && (s->member_[a * s->words_] & s->member_[b * s->words_] & 1)) {
                influence[a] += values[i * count + c];
                influence[b] += values[i * count + c];
            }
        }
    }
    for (size_t i = 0; i < NPKSDI_TILE; i++) {
        size_t a = first + i / NPKSDI_T, b = q * NPKSDI_T + i % NPKSDI_T;
        values[i * count + count - 2] = A[i] * (1 + G[i]);
        if (b < a && a < s->pool_)
            npksdi_scatter(s, a, b, 0, values + i * count, count);
    }
}

/* The components of one labelling from its sums. */
static void npksdi_label_components(const npksd_tester *t, const npksdi_samples *s, size_t label,
                                    npksd_real *values)
{
    const npksdi_kernels *kernels = &t->kernels_;
    const npksd_real *sums = s->sums_ + label * s->width_, *rows = sums + 2 * kernels->count_ + 2;
    npksd_real n = (npksd_real)s->n_, W = npksdi_own_scratch(t)->weight_sum_, others = n * (n - 1);
    for (size_t l = 0; l < t->component_count_; l++) {
        const npksdi_component *component = npksdi_component_list(t) + l;
        size_t c = component->kernel_;
        if (component->kind_ == NPKSD_COMPONENT_MMD) {
            values[l] = (2 * rows[-1] + n) / (n * n) -
                        2 * rows[NPKSDI_ROW_BETWEEN] / (n * (npksd_real)t->sub_rows_) + t->sub_self_;
        } else if (component->kind_ == NPKSD_COMPONENT_MOMENT) {
            values[l] = component->u_ ? 2 * rows[-2] / others : (2 * rows[-2] + rows[NPKSDI_ROW_MOMENT]) / (n * n);
            values[l] += 2 * rows[NPKSDI_ROW_CROSS] / n + W;
        } else {
            int mirror = component->kind_ == NPKSD_COMPONENT_MIRROR;
            npksd_real pairs = sums[(mirror ? kernels->count_ : 0) + c];
            npksd_real diagonal = rows[NPKSDI_ROW_OWN] + n * kernels->inverse_[c] * W;
            values[l] = component->u_ ? 2 * pairs / others : (2 * pairs + diagonal) / (n * n);
        }
    }
    npksdi_tame(values, t->component_count_);
}

static void npksdi_label_coordinates(const npksd_tester *t, const npksdi_samples *s, size_t label,
                                     npksd_real *v)
{
    const npksd_real *sums =
        s->sums_ + label * s->width_ + 2 * t->kernels_.count_ + 2 + NPKSDI_ROW_SUMS;
    npksd_real n = (npksd_real)s->n_;
    for (size_t i = 0; i + 1 < t->width_; i++)
        v[i] = (2 * sums[i] + sums[t->m_ + i]) / (n * n);
    npksdi_tame(v, t->width_ - 1);
}

/* All labellings are summed: pilot, replicates, then the truth, as for a generator. */
static void npksdi_judge_labellings(npksd_tester *t, npksdi_samples *s, npksdi_observed *observed)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_real *values = NPKSDI_IN(t, w, values), *v = NPKSDI_IN(t, w, scores);
    size_t pilot = s->labellings_ - 1 - t->options_.replicates;
    t->stage_ = NPKSDI_STAGE_PILOT;
    for (size_t label = 1; label < s->labellings_; label++) {
        if (label == pilot + 1)
            t->stage_ = NPKSDI_STAGE_REPLICATES;
        t->set_ = label - 1 - (label > pilot ? pilot : 0);
        npksdi_label_components(t, s, label, values);
        npksdi_label_coordinates(t, s, label, v);
        npksdi_record_values(t, values, v);
    }
    npksdi_label_components(t, s, 0, values);
    npksdi_label_coordinates(t, s, 0, v);
    observed->statistic_ = npksdi_combine(t, values, &observed->leading_);
    npksd_real n = (npksd_real)s->n_;
    observed->ksd2_ = s->n_ > 1 ? 2 * s->sums_[t->kernels_.base_] / (n * (n - 1)) : 0;
    npksdi_tame(&observed->ksd2_, 1);
    t->stage_ = NPKSDI_STAGE_DONE;
}

/* Fit on one part, permute the other. The tester and s are planned and in place. */
static npksd_status npksdi_permute(npksd_tester *t, npksdi_samples *s, size_t *order, npksd_result *result,
                                   npksd_diagnosis *diagnosis, npksd_real *null_values)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksdi_observed observed;
    npksd_real *influence = NPKSDI_IN(t, w, values);
    npksd_status status = npksdi_advance(t, NPKSDI_STAGE_PILOT, SIZE_MAX);
    if (status != NPKSD_OK)
        return status;
    npksdi_fill_pool(t, s);
    npksdi_draw_labellings(t, s, order);
    npksdi_begin_evaluation(t, w);
    for (size_t panel = 0; panel < t->panels_ && status == NPKSD_OK; panel++)
        status = npksdi_prepare_panel(t, w, NPKSDI_IN(t, w, rows), panel);
    if (status != NPKSD_OK)
        return status;
    npksdi_scatter_rows(t, s);
    int wants_rows = diagnosis != NULL && diagnosis->row_influence != NULL;
    for (size_t a = 0; a < s->pool_; a++)
        influence[a] = NPKSDI_IN(t, w, own)[a] + t->base_kernel_.inverse_[0] * w->weight_sum_;
    for (size_t p = 0; p < t->panels_; p++)
        for (size_t group = 0; group < npksdi_groups(t, p); group++)
            for (size_t q = 0; q <= p; q++)
                npksdi_scatter_pairs(t, s, p, group, q, wants_rows ? influence : NULL);
    for (size_t k = 0; k < s->pool_blocks_ && wants_rows; k++)
        for (size_t a = 0; a < s->block_ && s->pool_order_[k] < s->n_ / s->block_; a++)
            diagnosis->row_influence[s->pool_order_[k] * s->block_ + a] =
                influence[k * s->block_ + a] / (npksd_real)s->n_;
    if (wants_rows)
        npksdi_tame(diagnosis->row_influence, s->n_);
    npksdi_judge_labellings(t, s, &observed);
    observed.out_of_range_ = npksdi_outside(t, s->observed_, s->n_);
    npksdi_report(t, &observed, t->options_.replicates, 0, result);
    if (diagnosis != NULL)
        npksdi_report_coordinates(t, NPKSDI_IN(t, w, scores), diagnosis);
    for (size_t r = 0; r < t->options_.replicates && null_values != NULL; r++)
        null_values[r] = NPKSDI_MODEL(t, null)[r * t->width_];
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_test_samples_diagnose(const npksd_real *observed, size_t n,
                                                    const npksd_real *synthetic, size_t rows, size_t m,
                                                    const npksd_options *options, npksd_result *result,
                                                    npksd_diagnosis *diagnosis, npksd_real *null_values)
{
    npksd_options o = options != NULL ? *options : npksd_default_options();
    npksd_tester plan;
    npksdi_samples s;
    npksd_result found;
    if (observed == NULL || synthetic == NULL || result == NULL)
        return NPKSD_ERROR_ARGUMENT;
    o.diagnose = diagnosis != NULL && (diagnosis->coordinate_statistic != NULL ||
                                       diagnosis->coordinate_p != NULL ||
                                       diagnosis->coordinate_p_adjusted != NULL);
    if (npksd_samples_problem(&o, n, rows, m) != NULL)
        return NPKSD_ERROR_ARGUMENT;
    if (!npksdi_finite(observed, n * m) || !npksdi_finite(synthetic, rows * m))
        return NPKSD_ERROR_NONFINITE;
    NPKSD_MEMSET(&s, 0, sizeof s);
    s.observed_ = observed;
    s.synthetic_ = synthetic;
    s.n_ = n;
    s.m_ = m;
    s.block_ = o.block;
    size_t blocks = rows / o.block, held = npksdi_max_size(n, npksdi_min_size(rows / 4, 4 * n));
    s.held_blocks_ = held / o.block;
    s.pool_blocks_ = n / o.block + s.held_blocks_;
    s.pool_ = s.pool_blocks_ * o.block;
    size_t fit = (blocks - s.held_blocks_) * o.block, own = 0;
    if (o.estimator == NPKSD_ESTIMATOR_AUTO)
        own = npksdi_max_size(1, npksdi_min_size(fit, o.fit_rows / 4 * 5) / 5);
    o.fit_rows = npksdi_min_size(fit - own, o.fit_rows);
    npksdi_source source = {NPKSDI_GIVEN_ROWS, s.pool_, own};
    npksdi_sizer sizer = {0, 0};
    size_t needed = npksdi_plan(&plan, n, m, &o, source);
    npksdi_room(&sizer, needed, 1);
    s.labellings_ = 1 + o.replicates + (plan.pilot_needed_ ? o.pilot : 0);
    s.words_ = npksdi_ceil_div(s.labellings_, 64);
    s.width_ = 2 * plan.kernels_.count_ + 2 + NPKSDI_ROW_SUMS + (o.diagnose ? 2 * m : 0);
    size_t at_synthetic = npksdi_room(&sizer, blocks, sizeof(size_t));
    size_t at_pool = npksdi_room(&sizer, s.pool_blocks_, sizeof(size_t));
    size_t at_order = npksdi_room(&sizer, s.pool_blocks_, sizeof(size_t));
    size_t at_member = npksdi_room(&sizer, npksdi_times(&sizer, s.pool_, s.words_), sizeof(uint64_t));
    size_t at_sums = npksdi_room(&sizer, npksdi_times(&sizer, s.words_ * 64, s.width_), sizeof(npksd_real));
    if (sizer.bad_ || needed == 0)
        return NPKSD_ERROR_MEMORY;
    size_t bytes = sizer.bytes_ + NPKSDI_ALIGNMENT - 1;
    void *memory = npksdi_alloc(&o.allocator, bytes);
    if (memory == NULL)
        return NPKSD_ERROR_MEMORY;
    char *base = (char *)npksdi_aligned(memory);
    NPKSD_MEMSET(base, 0, sizer.bytes_);
    npksd_tester *t = (npksd_tester *)(void *)base;
    s.synthetic_order_ = (size_t *)(void *)(base + at_synthetic);
    s.pool_order_ = (size_t *)(void *)(base + at_pool);
    s.member_ = (uint64_t *)(void *)(base + at_member);
    s.sums_ = (npksd_real *)(void *)(base + at_sums);
    npksdi_plan(t, n, m, &o, source);
    t->sample_fn_ = npksdi_next_sample;
    t->user_data_ = &s;
    npksdi_tester_begin(t);
    npksdi_scratch *w = npksdi_own_scratch(t);
    for (size_t k = 0; k < blocks; k++)
        s.synthetic_order_[k] = k;
    npksdi_seek(w, NPKSDI_STREAM(NPKSDI_SPLIT, 0));
    npksdi_shuffle(&w->rng_, s.synthetic_order_, blocks, blocks);
    npksd_status status = npksdi_permute(t, &s, (size_t *)(void *)(base + at_order), &found, diagnosis,
                                         null_values);
    npksdi_free(&o.allocator, memory, bytes);
    if (status == NPKSD_OK)
        *result = found;
    return status;
}

NPKSDI_DEF npksd_status npksd_test_samples(const npksd_real *observed, size_t n, const npksd_real *synthetic,
                                           size_t rows, size_t m, const npksd_options *options,
                                           npksd_result *result)
{
    return npksd_test_samples_diagnose(observed, n, synthetic, rows, m, options, result, NULL, NULL);
}

/* ======== >>trials: is the generator fit for testing, and what could a test see? ======== */

/* An rng for trial k: the built-in one with a seed of its own, or the caller's with streams of its own. */
typedef struct npksdi_trial_rng {
    npksd_rng inner_;
    uint64_t trial_;
} npksdi_trial_rng;

static uint64_t npksdi_trial_next(void *user_data)
{
    npksdi_trial_rng *trial = (npksdi_trial_rng *)user_data;
    return trial->inner_.next_fn(trial->inner_.user_data);
}
static void npksdi_trial_seek(uint64_t stream, void *user_data)
{
    npksdi_trial_rng *trial = (npksdi_trial_rng *)user_data;
    trial->inner_.seek_fn(stream ^ ((trial->trial_ + 1) << 32), trial->inner_.user_data);
}

/* P(sqrt(k) D > d) of Kolmogorov's statistic in the limit; too large for the discrete p-values here,
   so that what it calls suspicious is. */
static npksd_real npksdi_kolmogorov(npksd_real distance, size_t count)
{
    npksd_real x2 = distance * distance * (npksd_real)count, sum = 0;
    for (int j = 1; j <= 20; j++) {
        npksd_real term = NPKSD_EXP(-2 * (npksd_real)(j * j) * x2);
        sum += j % 2 ? term : -term;
    }
    return x2 < NPKSDI_C(0.04) ? 1 : npksdi_max(0, npksdi_min(1, 2 * sum));
}

/* Does the generator draw the same rows again from the same stream? buffer: 2 n m numbers. */
static npksd_status npksdi_draw_twice(npksd_sample_fn sample_fn, void *user_data, npksd_rng *rng, size_t n,
                                      size_t m, npksd_real *buffer, int *repeatable)
{
    *repeatable = 1;
    for (size_t k = 0; k < 2; k++) {
        if (rng->seek_fn != NULL)
            rng->seek_fn(NPKSDI_STREAM(NPKSDI_TRIAL, 1), rng->user_data);
        if (sample_fn(buffer + k * n * m, n, m, rng, user_data) != 0)
            return NPKSD_ERROR_GENERATOR;
    }
    if (!npksdi_finite(buffer, 2 * n * m))
        return NPKSD_ERROR_NONFINITE;
    for (size_t i = 0; i < n * m && rng->seek_fn != NULL; i++) {
        npksdi_pun one, two;
        one.value = buffer[i];
        two.value = buffer[n * m + i];
        *repeatable &= one.bits == two.bits;
    }
    return NPKSD_OK;
}

NPKSDI_DEF npksd_status npksd_self_check(size_t n, size_t m, npksd_sample_fn sample_fn, void *user_data,
                                         const npksd_options *options, size_t runs,
                                         npksd_self_check_result *result)
{
    npksd_options o;
    npksd_self_check_result found;
    if (sample_fn == NULL || result == NULL || runs < 1 || runs > 1000000 ||
        npksdi_admit(n, m, options, 1, &o) != NPKSD_OK)
        return NPKSD_ERROR_ARGUMENT;
    size_t bytes = (2 * n * m + runs) * sizeof(npksd_real); /* n m is at most SIZE_MAX / 64 bytes */
    npksd_real *rows = (npksd_real *)npksdi_alloc(&o.allocator, bytes), *p;
    if (rows == NULL)
        return NPKSD_ERROR_MEMORY;
    p = rows + 2 * n * m;
    npksd_status status = NPKSD_OK;
    npksd_rng given = o.rng;
    NPKSD_MEMSET(&found, 0, sizeof found);
    found.runs = runs;
    for (size_t k = 0; k < runs && status == NPKSD_OK; k++) {
        npksd_rng_state state;
        npksd_result one;
        npksdi_trial_rng trial;
        npksd_rng rng = npksd_rng_seeded(&state, o.seed, NPKSDI_STREAM(NPKSDI_TRIAL, k));
        uint64_t seed = npksdi_word(&rng);
        if (given.next_fn != NULL) {
            trial.inner_ = given;
            trial.trial_ = k;
            rng.next_fn = npksdi_trial_next;
            rng.seek_fn = given.seek_fn != NULL ? npksdi_trial_seek : NULL;
            rng.user_data = &trial;
            o.rng = rng;
        } else {
            rng = npksd_rng_seeded(&state, seed, 0);
            o.seed = seed;
        }
        if (k == 0)
            status = npksdi_draw_twice(sample_fn, user_data, &rng, n, m, rows, &found.repeatable);
        if (status == NPKSD_OK && rng.seek_fn != NULL)
            rng.seek_fn(NPKSDI_STREAM(NPKSDI_TRIAL, 0), rng.user_data);
        if (status == NPKSD_OK && sample_fn(rows, n, m, &rng, user_data) != 0)
            status = NPKSD_ERROR_GENERATOR;
        if (status == NPKSD_OK)
            status = npksd_test(rows, n, m, sample_fn, user_data, &o, &one);
        if (status == NPKSD_OK) {
            p[k] = one.p_value;
            found.rejected += (size_t)one.reject;
            found.mean_p += one.p_value / (npksd_real)runs;
        }
        o.seed = options != NULL ? options->seed : 0;
    }
    if (status == NPKSD_OK) {
        npksdi_sort(p, runs);
        for (size_t k = 0; k < runs; k++) { /* p lives on 1/(b+1), 2/(b+1), ...: a step is no distance */
            npksd_real step = 1 / ((npksd_real)o.replicates + 1);
            npksd_real above = npksdi_share(k + 1, runs) - p[k], below = p[k] - step - npksdi_share(k, runs);
            found.distance = npksdi_max(found.distance, npksdi_max(above, below));
        }
        found.uniform_p = npksdi_kolmogorov(found.distance, runs);
        found.suspicious = found.uniform_p < NPKSDI_C(0.01) || !found.repeatable;
        *result = found;
    }
    npksdi_free(&o.allocator, rows, bytes);
    return status;
}

NPKSDI_DEF npksd_status npksd_power(size_t n, size_t m, npksd_sample_fn sample_fn, void *user_data,
                                    npksd_sample_fn alternative_fn, void *alternative_user_data,
                                    const npksd_options *options, size_t runs, npksd_power_result *result)
{
    npksd_tester *t;
    if (sample_fn == NULL || alternative_fn == NULL || result == NULL || runs < 1)
        return NPKSD_ERROR_ARGUMENT;
    npksd_status status = npksd_tester_create(&t, n, m, sample_fn, user_data, options);
    if (status != NPKSD_OK)
        return status;
    /* the observed rows need a place of their own: check overwrites the scratch */
    npksd_allocator allocator = t->options_.allocator;
    npksd_real *rows = (npksd_real *)npksdi_alloc(&allocator, n * m * sizeof *rows);
    if (rows == NULL)
        status = NPKSD_ERROR_MEMORY;
    if (status == NPKSD_OK)
        status = npksd_tester_step(t, SIZE_MAX);
    npksdi_scratch *w = npksdi_own_scratch(t);
    size_t rejected = 0;
    for (size_t k = 0; k < runs && status == NPKSD_OK; k++) {
        npksd_result one;
        npksdi_seek(w, NPKSDI_STREAM(NPKSDI_TRIAL, k));
        if (alternative_fn(rows, n, m, &w->rng_, alternative_user_data) != 0)
            status = NPKSD_ERROR_GENERATOR;
        t->observed_index_ = k + 1;
        if (status == NPKSD_OK)
            status = npksd_tester_check(t, rows, &one, NULL);
        if (status == NPKSD_OK)
            rejected += (size_t)one.reject;
    }
    if (rows != NULL)
        npksdi_free(&allocator, rows, n * m * sizeof *rows);
    npksd_tester_destroy(t);
    if (status != NPKSD_OK)
        return status;
    npksd_real g = (npksd_real)rejected, rest = (npksd_real)(runs - rejected);
    result->runs = runs;
    result->rejected = rejected;
    result->power = npksdi_share(rejected, runs);
    result->low = rejected > 0 ? npksdi_beta_quantile(NPKSDI_C(0.025), g, rest + 1) : 0;
    result->high = rejected < runs ? npksdi_beta_quantile(NPKSDI_C(0.975), g + 1, rest) : 1;
    return NPKSD_OK;
}

/* ======== >>workers: replicates on the caller's threads or ranks ======== */

NPKSDI_DEF npksd_status npksd_tester_prepare(npksd_tester *t)
{
    return t != NULL ? npksdi_advance(t, NPKSDI_STAGE_REPLICATES, SIZE_MAX) : NPKSD_ERROR_ARGUMENT;
}

NPKSDI_DEF size_t npksd_tester_scratch_size(const npksd_tester *t)
{
    return t != NULL ? NPKSDI_HEAD + t->in_.reals_ * sizeof(npksd_real) + NPKSDI_ALIGNMENT - 1 : 0;
}

NPKSDI_DEF size_t npksd_tester_width(const npksd_tester *t) { return t != NULL ? t->width_ : 0; }

/* A worker's scratch, or the tester's own; NULL and a status when neither will do. */
static npksdi_scratch *npksdi_worker_scratch(const npksd_tester *t, const npksd_worker *worker,
                                             npksd_status *status)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    if (worker->scratch == NULL && t->drawn_) {
        *status = NPKSD_ERROR_STATE; /* in use: step has a replicate half done */
        return NULL;
    }
    if (worker->scratch != NULL) {
        if (worker->scratch_bytes < npksd_tester_scratch_size(t)) {
            *status = NPKSD_ERROR_MEMORY;
            return NULL;
        }
        w = (npksdi_scratch *)npksdi_aligned(worker->scratch);
        npksdi_scratch_begin(t, w);
    }
    return w;
}

NPKSDI_DEF npksd_status npksd_tester_replicates(const npksd_tester *t, npksd_worker *worker, size_t first,
                                                size_t count, npksd_real *out)
{
    npksd_status status = NPKSD_OK;
    if (t == NULL || worker == NULL || (out == NULL && count > 0) || first > t->options_.replicates ||
        count > t->options_.replicates - first)
        return NPKSD_ERROR_ARGUMENT;
    if (worker->rng.next_fn == NULL && t->options_.rng.next_fn != NULL && t->options_.rng.seek_fn == NULL)
        return NPKSD_ERROR_ARGUMENT; /* numbers in sequence cannot be shared out */
    if (t->error_ != NPKSD_OK || t->stage_ < NPKSDI_STAGE_REPLICATES || t->sample_fn_ == NULL ||
        t->options_.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP)
        return NPKSD_ERROR_STATE;
    npksdi_scratch *w = npksdi_worker_scratch(t, worker, &status);
    if (w == NULL)
        return status;
    npksd_rng own_rng = w->rng_;
    void *own_data = w->user_data_;
    if (worker->rng.next_fn != NULL)
        w->rng_ = worker->rng;
    if (worker->user_data != NULL)
        w->user_data_ = worker->user_data;
    npksd_real *values = NPKSDI_IN(t, w, values), *v = NPKSDI_IN(t, w, scores);
    for (size_t k = 0; k < count; k++) {
        unsigned leading;
        npksd_real *row = out + k * t->width_;
        status = npksdi_draw(t, w, t->n_, NPKSDI_STREAM(NPKSDI_REPLICATE, first + k));
        if (status != NPKSD_OK)
            break;
        npksdi_add_noise(t, w, NPKSDI_IN(t, w, rows), t->n_);
        npksdi_begin_evaluation(t, w);
        status = npksdi_evaluate_all(t, w, &t->kernels_, t->options_.diagnose);
        if (status != NPKSD_OK)
            break;
        npksdi_components(t, w, values);
        row[0] = npksdi_combine(t, values, &leading);
        if (t->options_.diagnose)
            npksdi_coordinates(t, w, &t->kernels_, v);
        NPKSD_MEMCPY(row + 1, v, (t->width_ - 1) * sizeof *v);
    }
    w->rng_ = own_rng;
    w->user_data_ = own_data;
    return status;
}

NPKSDI_DEF npksd_status npksd_tester_merge(npksd_tester *t, size_t first, size_t count,
                                           const npksd_real *values)
{
    if (t == NULL || (values == NULL && count > 0) || first > t->options_.replicates ||
        count > t->options_.replicates - first)
        return NPKSD_ERROR_ARGUMENT;
    if (t->error_ != NPKSD_OK || t->stage_ < NPKSDI_STAGE_REPLICATES || t->sample_fn_ == NULL ||
        t->options_.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP)
        return NPKSD_ERROR_STATE;
    if (!npksdi_finite(values, count * t->width_))
        return NPKSD_ERROR_NONFINITE;
    if (count > 0) /* memcpy does not like NULL, not even for nothing */
        NPKSD_MEMCPY(NPKSDI_MODEL(t, null) + first * t->width_, values, count * t->width_ * sizeof *values);
    NPKSD_MEMSET(npksdi_filled(t) + first, 1, count);
    if (t->stage_ == NPKSDI_STAGE_REPLICATES) {
        npksdi_skip_filled(t);
        if (!t->drawn_ && t->set_ == t->options_.replicates)
            t->stage_ = NPKSDI_STAGE_DONE;
    }
    return NPKSD_OK;
}

/* ======== >>blob: calibrate here, check there ======== */

/* One walk over all that a check needs serves to count, to write and to read: the three cannot disagree.
   Numbers are little-endian IEEE bits, whatever the machine. */
typedef struct npksdi_blob {
    unsigned char *out_;      /* writing */
    const unsigned char *in_; /* reading */
    size_t at_, size_;
    int bad_;
} npksdi_blob;

static void npksdi_blob_word(npksdi_blob *b, uint64_t *value, size_t bytes)
{
    if (b->in_ != NULL && (b->size_ < bytes || b->at_ > b->size_ - bytes)) {
        b->bad_ = 1;
        *value = 0;
        return;
    }
    if (b->in_ != NULL)
        *value = 0;
    for (size_t k = 0; k < bytes; k++) {
        if (b->out_ != NULL)
            b->out_[b->at_ + k] = (unsigned char)(*value >> (8 * k));
        else if (b->in_ != NULL)
            *value |= (uint64_t)b->in_[b->at_ + k] << (8 * k);
    }
    b->at_ += bytes;
}

static void npksdi_blob_size(npksdi_blob *b, size_t *value)
{
    uint64_t word = *value;
    npksdi_blob_word(b, &word, 8);
    if (b->in_ != NULL) {
        b->bad_ |= word > SIZE_MAX / 2;
        *value = b->bad_ ? 0 : (size_t)word;
    }
}
static void npksdi_blob_int(npksdi_blob *b, int *value)
{
    uint64_t word = (uint64_t)(unsigned)*value;
    npksdi_blob_word(b, &word, 4);
    if (b->in_ != NULL) {
        b->bad_ |= word > INT_MAX;
        *value = b->bad_ ? 0 : (int)word;
    }
}
/* Arrays: while counting, there may be nothing behind the pointer yet. */
static int npksdi_blob_counts(npksdi_blob *b, size_t bytes)
{
    int counting = b->in_ == NULL && b->out_ == NULL;
    b->at_ += counting ? bytes : 0;
    return counting;
}
static void npksdi_blob_reals(npksdi_blob *b, npksd_real *values, size_t count)
{
    if (npksdi_blob_counts(b, count * sizeof *values))
        return;
    for (size_t k = 0; k < count && !b->bad_; k++) {
        npksdi_pun pun;
        pun.value = values[k];
        uint64_t word = pun.bits;
        npksdi_blob_word(b, &word, sizeof *values);
        if (b->in_ != NULL) {
            pun.bits = (npksdi_bits)word;
            b->bad_ |= !npksdi_finite(&pun.value, 1);
            values[k] = b->bad_ ? 0 : pun.value;
        }
    }
}
static void npksdi_blob_ints(npksdi_blob *b, uint32_t *values, size_t count)
{
    if (npksdi_blob_counts(b, 4 * count))
        return;
    for (size_t k = 0; k < count; k++) {
        uint64_t word = values[k];
        npksdi_blob_word(b, &word, 4);
        values[k] = (uint32_t)word;
    }
}

/* The options that shape a tester. Callbacks, allocator and rng stay behind. */
static void npksdi_blob_options(npksdi_blob *b, npksd_options *o, size_t *n, size_t *m, npksd_real *scales)
{
    int components = (int)o->components;
    npksdi_blob_size(b, n);
    npksdi_blob_size(b, m);
    npksdi_blob_word(b, &o->seed, 8);
    npksdi_blob_size(b, &o->fit_rows);
    npksdi_blob_size(b, &o->replicates);
    npksdi_blob_size(b, &o->pilot);
    npksdi_blob_size(b, &o->resample);
    npksdi_blob_int(b, &o->resample_redraw);
    npksdi_blob_int(b, &o->resample_distinct);
    npksdi_blob_int(b, &o->summary);
    npksdi_blob_int(b, &o->estimator);
    npksdi_blob_size(b, &o->degree);
    npksdi_blob_size(b, &o->basis);
    npksdi_blob_int(b, &o->kernel);
    npksdi_blob_int(b, &o->form);
    npksdi_blob_int(b, &o->statistic);
    npksdi_blob_int(b, &components);
    npksdi_blob_int(b, &o->standardize);
    npksdi_blob_int(b, &o->diagnose);
    npksdi_blob_size(b, &o->features);
    npksdi_blob_size(b, &o->scale_count);
    npksdi_blob_reals(b, &o->alpha, 1);
    npksdi_blob_reals(b, &o->smooth, 1);
    npksdi_blob_reals(b, &o->bandwidth, 1);
    o->components = (unsigned)components;
    if (o->scale_count > NPKSD_SCALES_MAX)
        b->bad_ = 1;
    else
        npksdi_blob_reals(b, scales, o->scale_count);
}

/* Everything the fit and the replicates have found. */
static void npksdi_blob_model(npksdi_blob *b, npksd_tester *t)
{
    size_t m = t->m_, md = t->summary_ == NPKSD_SUMMARY_ALL ? 0 : m * t->d_;
    size_t sub = t->sub_panels_ * NPKSDI_T, F = npksdi_frequency_panels(t) * NPKSDI_T;
    size_t centres = t->centre_count_ * (t->summary_ == NPKSD_SUMMARY_ALL ? m : m * (1 + t->d_));
    int flags = (int)t->flags_;
    npksdi_blob_int(b, &flags);
    t->flags_ = (unsigned)flags;
    npksdi_blob_reals(b, &t->bandwidth_, 1);
    npksdi_blob_reals(b, &t->sub_self_, 1);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, component_mean), t->component_count_);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, component_sd), t->component_count_);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, centre), m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, scale), m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, box_low), m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, box_high), m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, weights), m);
    npksdi_blob_ints(b, npksdi_ints(t, t->at_.family_of_), m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, summary_centre), md);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, summary_inverse), md);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, x_low), m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, x_high), m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, t_low), md);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, t_high), md);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, knot_low), m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, knot_inverse), m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, theta), m * t->theta_stride_);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, centres), centres);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, coordinate_mean), t->width_ - 1);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, coordinate_sd), t->width_ - 1);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, sub), sub * m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, sub_norm), sub);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, sub_weight), sub);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, frequencies), F * m);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, sub_cos), F);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, sub_sin), F);
    npksdi_blob_reals(b, NPKSDI_MODEL(t, null), t->options_.replicates * t->width_);
}

/* "npksdblb", format version, bytes of a number, bytes of the blob. */
#define NPKSDI_MAGIC UINT64_C(0x626C6264736B706E)
enum { NPKSDI_FORMAT = 1 };

static void npksdi_blob_head(npksdi_blob *b, uint64_t total)
{
    uint64_t magic = NPKSDI_MAGIC, format = NPKSDI_FORMAT, real = sizeof(npksd_real), size = total;
    npksdi_blob_word(b, &magic, 8);
    npksdi_blob_word(b, &format, 4);
    npksdi_blob_word(b, &real, 4);
    npksdi_blob_word(b, &size, 8);
    b->bad_ |= magic != NPKSDI_MAGIC || format != NPKSDI_FORMAT || real != sizeof(npksd_real) || size != total;
}

/* Each step is a bijection of the state, so any change of a single byte changes the sum. */
static uint64_t npksdi_blob_sum(const unsigned char *bytes, size_t count)
{
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    for (size_t k = 0; k < count; k++)
        sum = (sum ^ bytes[k]) * UINT64_C(0x100000001B3);
    return sum;
}

NPKSDI_DEF npksd_status npksd_tester_save(const npksd_tester *tester, void *buffer, size_t capacity, size_t *size)
{
    npksd_tester *t = (npksd_tester *)(uintptr_t)tester; /* the walk reads when it writes, and only then */
    npksdi_blob blob;
    if (t == NULL || size == NULL)
        return NPKSD_ERROR_ARGUMENT;
    if (t->error_ != NPKSD_OK || t->stage_ != NPKSDI_STAGE_DONE ||
        t->options_.estimator == NPKSD_ESTIMATOR_CALLBACK || t->summary_ == NPKSD_SUMMARY_CALLBACK)
        return NPKSD_ERROR_STATE;
    NPKSD_MEMSET(&blob, 0, sizeof blob);
    npksd_options o = t->options_;
    o.summary = t->summary_; /* of one coordinate: none, whatever was asked for */
    npksdi_blob_head(&blob, 0);
    npksdi_blob_options(&blob, &o, &t->n_, &t->m_, t->scales_);
    npksdi_blob_model(&blob, t);
    size_t total = blob.at_ + 8;
    if (buffer != NULL && capacity < total)
        return NPKSD_ERROR_MEMORY;
    *size = total;
    if (buffer == NULL)
        return NPKSD_OK;
    NPKSD_MEMSET(&blob, 0, sizeof blob);
    blob.out_ = (unsigned char *)buffer;
    npksdi_blob_head(&blob, total);
    npksdi_blob_options(&blob, &o, &t->n_, &t->m_, t->scales_);
    npksdi_blob_model(&blob, t);
    uint64_t sum = npksdi_blob_sum(blob.out_, blob.at_);
    npksdi_blob_word(&blob, &sum, 8);
    return NPKSD_OK;
}

static int npksdi_within(const npksd_real *values, size_t count, npksd_real low, npksd_real high)
{
    int within = 1;
    for (size_t k = 0; k < count; k++)
        within &= values[k] >= low && values[k] <= high;
    return within;
}

/* The weights fix how many columns there are: no more than planned, and equal where it was planned so. */
static int npksdi_blob_weights_sane(const npksd_tester *t)
{
    size_t m = t->m_, drawn = 0;
    int shared = t->options_.resample > 0 && !t->options_.resample_redraw;
    npksd_real equal = 1 / (npksd_real)m, most = shared ? 1 : equal;
    for (size_t i = 0; i < m; i++)
        drawn += NPKSDI_MODEL(t, weights)[i] > 0;
    return npksdi_within(NPKSDI_MODEL(t, weights), m, shared ? 0 : equal, most) && drawn > 0 &&
           (!shared || drawn <= t->options_.resample);
}

/* A blob may come from anywhere: what was read must be something that a fit can produce. */
static int npksdi_blob_sane(const npksd_tester *t)
{
    const npksd_real wide = NPKSDI_UNSCALED_CLAMP;
    size_t m = t->m_, sub = t->sub_panels_ * NPKSDI_T, F = npksdi_frequency_panels(t) * NPKSDI_T;
    size_t centres = t->centre_count_ * (t->summary_ == NPKSD_SUMMARY_ALL ? m : m * (1 + t->d_));
    int sane = t->bandwidth_ > 0 && t->flags_ < 4 && npksdi_blob_weights_sane(t) &&
               npksdi_within(NPKSDI_MODEL(t, centres), centres, -NPKSDI_CLAMP, NPKSDI_CLAMP) &&
               npksdi_within(NPKSDI_MODEL(t, sub), sub * m, -wide, wide) &&
               npksdi_within(NPKSDI_MODEL(t, sub_norm), sub, 0, NPKSDI_HUGE) &&
               npksdi_within(NPKSDI_MODEL(t, sub_weight), sub, 0, 1) &&
               npksdi_within(NPKSDI_MODEL(t, frequencies), F * m, -16 * wide, 16 * wide);
    for (size_t l = 0; l < t->component_count_; l++)
        sane &= NPKSDI_MODEL(t, component_sd)[l] > 0 || !t->pilot_needed_;
    for (size_t i = 0; i + 1 < t->width_; i++)
        sane &= NPKSDI_MODEL(t, coordinate_sd)[i] > 0;
    for (size_t i = 0; i < m; i++) {
        uint32_t family = npksdi_ints(t, t->at_.family_of_)[i];
        sane &= NPKSDI_MODEL(t, scale)[i] >= NPKSDI_TINY;
        sane &= family < t->family_count_ || family == (uint32_t)NPKSDI_CONSTANT;
        sane &= NPKSDI_MODEL(t, box_low)[i] <= NPKSDI_MODEL(t, box_high)[i];
        sane &= npksdi_abs(NPKSDI_MODEL(t, knot_low)[i]) <= NPKSDI_CLAMP;
        sane &= npksdi_in_range(NPKSDI_MODEL(t, knot_inverse)[i], 0, 2 / NPKSDI_KNOTS_LEAST);
    }
    return sane;
}

NPKSDI_DEF npksd_status npksd_tester_load(npksd_tester **tester, const void *bytes, size_t size,
                                          const npksd_allocator *allocator)
{
    npksdi_blob blob;
    npksd_tester plan;
    npksd_real scales[NPKSD_SCALES_MAX];
    npksd_options o = npksd_default_options();
    size_t n = 0, m = 0;
    uint64_t sum = 0;
    if (tester == NULL)
        return NPKSD_ERROR_ARGUMENT;
    *tester = NULL;
    if (bytes == NULL || (allocator != NULL && (allocator->alloc_fn == NULL) != (allocator->free_fn == NULL)))
        return NPKSD_ERROR_ARGUMENT;
    NPKSD_MEMSET(&blob, 0, sizeof blob);
    blob.in_ = (const unsigned char *)bytes;
    blob.size_ = size;
    npksdi_blob_head(&blob, size);
    if (blob.bad_ || size < 64)
        return NPKSD_ERROR_FORMAT;
    blob.at_ = size - 8;
    npksdi_blob_word(&blob, &sum, 8);
    if (sum != npksdi_blob_sum(blob.in_, size - 8))
        return NPKSD_ERROR_FORMAT;
    blob.at_ = 24;
    blob.size_ = size - 8;
    npksdi_blob_options(&blob, &o, &n, &m, scales);
    o.scales = scales;
    if (blob.bad_ || npksd_options_problem(&o, n, m) != NULL) /* a callback that is not there is a problem, too */
        return NPKSD_ERROR_FORMAT;
    if (allocator != NULL)
        o.allocator = *allocator;
    npksdi_source source = {NPKSDI_LOADED, 0, 0};
    size_t needed = npksdi_plan(&plan, n, m, &o, source);
    npksdi_blob counter = blob;
    counter.in_ = NULL; /* does the blob hold exactly what these sizes ask for? */
    if (needed > 0)
        npksdi_blob_model(&counter, &plan);
    if (needed == 0 || counter.at_ != size - 8)
        return NPKSD_ERROR_FORMAT;
    size_t whole = needed + NPKSDI_ALIGNMENT - 1;
    void *memory = npksdi_alloc(&o.allocator, whole);
    if (memory == NULL)
        return NPKSD_ERROR_MEMORY;
    npksd_tester *t = (npksd_tester *)npksdi_aligned(memory);
    npksdi_plan(t, n, m, &o, source);
    NPKSD_MEMSET((char *)t + sizeof *t, 0, t->bytes_ - sizeof *t);
    npksdi_scratch_begin(t, npksdi_own_scratch(t));
    npksdi_list_components(t, npksdi_component_list(t));
    npksdi_blob_model(&blob, t);
    if (blob.bad_ || !npksdi_blob_sane(t)) {
        npksdi_free(&o.allocator, memory, whole);
        return NPKSD_ERROR_FORMAT;
    }
    npksdi_set_bandwidth(t, t->bandwidth_);
    npksdi_set_rulers(t);
    t->stage_ = NPKSDI_STAGE_DONE;
    t->memory_ = memory;
    t->memory_bytes_ = whole;
    *tester = t;
    return NPKSD_OK;
}

#ifdef __cplusplus
}
#endif

#undef NPKSDI_C
#undef NPKSDI_TINY
#undef NPKSDI_LARGEST
#undef NPKSDI_EPSILON
#undef NPKSDI_HUGE
#undef NPKSDI_CLAMP
#undef NPKSDI_UNSCALED_CLAMP
#undef NPKSDI_EXP_LOW
#undef NPKSDI_ANGLE_MAX
#undef NPKSDI_TURNS
#undef NPKSDI_EXP_INSIDE
#undef NPKSDI_MANTISSA
#undef NPKSDI_BIAS
#undef NPKSDI_T
#undef NPKSDI_G
#undef NPKSDI_CBLAS_GEMM
#undef NPKSDI_TILE
#undef NPKSDI_VECTOR_BYTES
#undef NPKSDI_SINCOS
#undef NPKSDI_STREAM
#undef NPKSDI_CONSTANT
#undef NPKSDI_UNIT_COST
#undef NPKSDI_SORT_COST
#undef NPKSDI_KNOTS_LEAST
#undef NPKSDI_HEAD
#undef NPKSDI_MODEL
#undef NPKSDI_IN
#undef NPKSDI_ALIGNMENT
#undef NPKSDI_MAGIC
#undef NPKSDI_RESTRICT
#undef NPKSDI_INLINE
#undef NPKSDI_DEF
#endif /* NPKSD_IMPLEMENTATION */

/*
 * npksd.h is available under two licences; take the one you prefer.
 *
 * ------------------------------------------------------------------------------
 * ALTERNATIVE A - MIT License
 *
 * Copyright (c) 2026 npksd.h contributors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 *
 * ------------------------------------------------------------------------------
 * ALTERNATIVE B - Public Domain (Unlicense, www.unlicense.org)
 *
 * This is free and unencumbered software released into the public domain.
 *
 * Anyone is free to copy, modify, publish, use, compile, sell, or distribute this
 * software, either in source code form or as a compiled binary, for any purpose,
 * commercial or non-commercial, and by any means.
 *
 * In jurisdictions that recognize copyright laws, the author or authors of this
 * software dedicate any and all copyright interest in the software to the public
 * domain. We make this dedication for the benefit of the public at large and to
 * the detriment of our heirs and successors. We intend this dedication to be an
 * overt act of relinquishment in perpetuity of all present and future rights to
 * this software under copyright law.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN
 * ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
 * WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
