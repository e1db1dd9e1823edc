/* Fixed samples: the pool of observed and synthetic rows takes the place of a generator. */
#include "support.h"

#include <math.h>

enum { MOST_ROWS = 2000 };

static npksd_real observed[SMALL_N * SMALL_M], synthetic[MOST_ROWS * SMALL_M];

static npksd_options samples_options(void)
{
    npksd_options options = small_options();
    options.replicates = 99;
    return options;
}

static double share(size_t k, size_t b) { return (double)k / (double)(b + 1); }

static double either(double in_double, double in_float)
{
    return sizeof(npksd_real) == 4 ? in_float : in_double;
}

/* ======== what is a pool ======== */

/* Two rows of ten: every null value is that of one of 45 pairs, the observed pair among them. */
TEST replicates_are_rows_of_the_pool(void)
{
    enum { B = 1999, ROWS = 8 };
    static npksd_real null_values[B];
    npksd_real rows[2] = { (npksd_real)0.31, (npksd_real)-0.2 };
    npksd_options options = samples_options();
    npksd_result result;
    size_t kinds = 0, equal = 0;
    options.replicates = B;
    set_options(&options, "stein mirror moment"); /* margins would tie: they go by places */
    draw_rows(synthetic, ROWS, 1, test_seed + 9600);
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(rows, 2, synthetic, ROWS, 1, &options, &result,
                                                        NULL, null_values));
    ASSERT_EQ_FMT((size_t)B, result.replicates, "%zu");
    for (size_t r = 0; r < B; r++) {
        size_t before = 0;
        while (before < r && memcmp(&null_values[before], &null_values[r], sizeof rows[0]) != 0)
            before++;
        kinds += before == r;
        equal += memcmp(&null_values[r], &result.statistic, sizeof rows[0]) == 0;
    }
    ASSERTm("45 ways to choose", kinds > 30 && kinds <= 45);
    ASSERTm("1 in 45 is the observed pair, bit for bit", equal >= 15 && equal <= 90);
    PASS();
}

/* Each choice of blocks must be as likely as any other. One of 31, or of 11: each equally often. Two of 62: 1891
   pairs, of which 1999 draws show 1891 (1 - exp(-1999/1891)) = 1234, deviation 16. Blocks of two rows. */
TEST blocks_of_a_pool(size_t all)
{
    enum { B = 1999 };
    static npksd_real null_values[B];
    npksd_options options = samples_options();
    npksd_result result;
    size_t blocks = all == 62 ? 2 : 1, kinds = 0, often[B] = { 0 };
    double chi2 = 0, each = B / (double)all;
    options.replicates = B;
    options.alpha = (npksd_real)0.2;
    options.block = 2;
    set_options(&options, "stein mirror moment");
    options.statistic = NPKSD_STATISTIC_V; /* U of two rows far apart is 0, whichever they are */
    draw_rows(observed, 2 * blocks, 1, test_seed + 9610);
    draw_rows(synthetic, 2 * (all - blocks), 1, test_seed + 9611);
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(observed, 2 * blocks, synthetic, 2 * (all - blocks), 1,
                                                        &options, &result, NULL, null_values));
    for (size_t r = 0; r < B; r++) {
        size_t before = 0;
        while (before < r && memcmp(&null_values[before], &null_values[r], sizeof observed[0]) != 0)
            before++;
        kinds += before == r;
        often[before]++;
    }
    if (blocks == 2) {
        ASSERT_IN_RANGE(1234.0, (double)kinds, 80.0);
        PASS();
    }
    if (sizeof(npksd_real) == 4 && kinds < all)
        SKIPm("two blocks look alike in float");
    ASSERT_EQ_FMT(all, kinds, "%zu");
    for (size_t r = 0; r < B; r++)
        if (often[r] > 0)
            chi2 += ((double)often[r] - each) * ((double)often[r] - each) / each;
    ASSERT_LTE(chi2, (double)(all - 1) + 5 * sqrt(2.0 * (double)(all - 1)));
    PASS();
}

/* The fit must not know who is who: for one strange pool, random choices of the observed rows are
   rejected as often as alpha says, and no more. */
TEST random_choices_of_one_pool(void)
{
    enum { ROWS = 40, CHOICES = 200, ALL = SMALL_N + ROWS };
    static npksd_real pool[ALL * SMALL_M];
    npksd_options options = samples_options();
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 9602);
    size_t rejected = 0;
    options.replicates = 19;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    draw_rows(pool, ALL, SMALL_M, test_seed + 9601);
    for (size_t i = 0; i < 15 * SMALL_M; i++)
        pool[i] = 5 + pool[i] * pool[i] * pool[i]; /* a quarter is far away */
    for (int choice = 0; choice < CHOICES; choice++) {
        npksd_result result;
        for (size_t a = ALL; a-- > 1;) {
            size_t b = (size_t)(npksd_uniform(&rng) * (npksd_real)(a + 1));
            for (size_t i = 0; i < SMALL_M; i++) {
                npksd_real kept = pool[a * SMALL_M + i];
                pool[a * SMALL_M + i] = pool[b * SMALL_M + i];
                pool[b * SMALL_M + i] = kept;
            }
        }
        options.seed = 500 * test_seed + (uint64_t)choice;
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples(pool, SMALL_N, pool + SMALL_N * SMALL_M, ROWS,
                                                   SMALL_M, &options, &result));
        rejected += (size_t)result.reject;
    }
    ASSERT(rejected >= 1 && rejected <= 21); /* 10 expected, deviation 3.1 */
    PASS();
}

/* All rows alike: every choice of rows is a tie. */
TEST equal_rows(void)
{
    npksd_options options = samples_options();
    npksd_result result;
    for (size_t i = 0; i < SMALL_N * SMALL_M; i++)
        observed[i] = (npksd_real)(i % SMALL_M);
    for (size_t i = 0; i < 40 * SMALL_M; i++)
        synthetic[i] = (npksd_real)(i % SMALL_M);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_test_samples(observed, SMALL_N, synthetic, 40, SMALL_M, &options, &result));
    ASSERT(result.p_value >= 1 && !result.reject);
    ASSERT(result.flags & NPKSD_FLAG_CONSTANT_COORDINATE);
    ASSERT(result.out_of_range <= 0);
    PASS();
}

/* At most alpha, and about that, for few rows and for many; a shift is seen. */
TEST level_and_power(size_t rows)
{
    enum { SEEDS = 150 };
    npksd_options options = samples_options();
    size_t rejected = 0, shifted = 0;
    options.replicates = 19;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        npksd_result result;
        options.seed = 1000 * test_seed + seed;
        draw_rows(observed, SMALL_N, SMALL_M, 7000 * test_seed + 2 * seed);
        draw_rows(synthetic, rows, SMALL_M, 7000 * test_seed + 2 * seed + 1);
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples(observed, SMALL_N, synthetic, rows, SMALL_M,
                                                   &options, &result));
        rejected += (size_t)result.reject;
        if (seed % 10)
            continue;
        for (size_t i = 0; i < SMALL_N * SMALL_M; i++)
            observed[i] += 3;
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples(observed, SMALL_N, synthetic, rows, SMALL_M,
                                                   &options, &result));
        shifted += (size_t)result.reject;
    }
    ASSERT_LTE(rejected, 18); /* 7.5 expected, deviation 2.7 */
    ASSERT_GTE(shifted, SEEDS / 10 - 3);
    PASS();
}

/* ======== blocks ======== */

/* Sessions of ten rows that hardly change: rows are not exchangeable, sessions are. */
static void draw_sessions(npksd_real *rows, size_t sessions, uint64_t seed)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 1);
    for (size_t s = 0; s < sessions; s++) {
        npksd_real level = npksd_normal(&rng);
        for (size_t a = 0; a < 10; a++)
            rows[s * 10 + a] = level + npksd_normal(&rng) / 10;
    }
}

TEST blocks_keep_the_level(size_t block)
{
    enum { N = 40, ROWS = 120, SEEDS = 100 };
    npksd_options options = samples_options();
    size_t rejected = 0;
    options.replicates = 19;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    options.block = block;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        npksd_result result;
        options.seed = 2000 * test_seed + seed;
        draw_sessions(observed, 4, 8000 * test_seed + 2 * seed);
        draw_sessions(synthetic, 12, 8000 * test_seed + 2 * seed + 1);
        ASSERT_STATUS(NPKSD_OK,
                      npksd_test_samples(observed, N, synthetic, ROWS, 1, &options, &result));
        ASSERT(!(result.flags & NPKSD_FLAG_PARTIAL_BLOCK));
        rejected += (size_t)result.reject;
    }
    if (block > 1)
        ASSERT_LTE(rejected, 13); /* 5 expected, deviation 2.2 */
    else
        ASSERTm("rows of a session are not 40 rows", rejected > 30);
    PASS();
}

/* A last, shorter block is left out, with a flag: its rows count for nothing. */
TEST partial_blocks(void)
{
    enum { BLOCK = 6, N = 20, ROWS = 100, USED = 18, USED_ROWS = 96, B = 99 };
    npksd_options options = samples_options();
    npksd_result result, whole;
    npksd_real null_values[2][B], influence[N];
    npksd_diagnosis diagnosis;
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.row_influence = influence;
    options.block = BLOCK;
    options.diagnose = 1;
    draw_rows(observed, N, SMALL_M, test_seed + 9603);
    draw_rows(synthetic, ROWS, SMALL_M, test_seed + 9604);
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(observed, USED, synthetic, USED_ROWS, SMALL_M,
                                                        &options, &whole, NULL, null_values[0]));
    ASSERT_EQ_FMT(0u, whole.flags, "%u");
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(observed, N, synthetic, ROWS, SMALL_M,
                                                        &options, &result, &diagnosis,
                                                        null_values[1]));
    ASSERT_EQ_FMT((unsigned)NPKSD_FLAG_PARTIAL_BLOCK, result.flags, "%u");
    for (size_t a = 0; a < N; a++)
        ASSERT(a < USED ? influence[a] < 0 || influence[a] > 0 : influence[a] >= 0 && influence[a] <= 0);
    result.flags = 0;
    ASSERT(same_result(&whole, &result));
    ASSERT_MEM_EQ(null_values[0], null_values[1], sizeof null_values[0]);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_test_samples(observed, USED, synthetic, ROWS, SMALL_M, &options, &result));
    ASSERT(result.flags & NPKSD_FLAG_PARTIAL_BLOCK);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_test_samples(observed, N, synthetic, USED_ROWS, SMALL_M, &options, &result));
    ASSERT(result.flags & NPKSD_FLAG_PARTIAL_BLOCK);
    PASS();
}

/* A NaN is an error wherever it is, be it in a row that is left out. */
TEST nonfinite_partial_blocks(int in_synthetic)
{
    enum { N = 20, ROWS = 100 };
    npksd_options options = samples_options();
    npksd_result result;
    options.block = 6;
    draw_rows(observed, N, SMALL_M, test_seed + 9603);
    draw_rows(synthetic, ROWS, SMALL_M, test_seed + 9604);
    if (in_synthetic)
        synthetic[ROWS * SMALL_M - 1] = not_a_number();
    else
        observed[N * SMALL_M - 1] = not_a_number();
    memset(&result, UNTOUCHED, sizeof result);
    ASSERT_STATUS(NPKSD_ERROR_NONFINITE,
                  npksd_test_samples(observed, N, synthetic, ROWS, SMALL_M, &options, &result));
    ASSERT(untouched(&result, sizeof result));
    PASS();
}

/* ======== other options ======== */

/* All that a generator allows, with the fewest rows there may be, and with more. */
TEST with_options(size_t v)
{
    static const size_t counts[] = { SMALL_N / 2, 61, 1500 };
    npksd_options options = variant_options(v);
    npksd_real null_values[SMALL_REPLICATES];
    draw_rows(observed, SMALL_N, SMALL_M, test_seed + 9605);
    draw_rows(synthetic, counts[2], SMALL_M, test_seed + 9606);
    for (size_t k = 0; k < 3; k++) {
        npksd_result result, again;
        if (options.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP) {
            ASSERT_STATUS(NPKSD_ERROR_ARGUMENT,
                          npksd_test_samples(observed, SMALL_N, synthetic, counts[k], SMALL_M,
                                             &options, &result));
            continue;
        }
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(observed, SMALL_N, synthetic, counts[k],
                                                            SMALL_M, &options, &result, NULL,
                                                            null_values));
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples(observed, SMALL_N, synthetic, counts[k], SMALL_M,
                                                   &options, &again));
        ASSERT(same_result(&result, &again));
        ASSERT(finite_bits(null_values, result.replicates));
        ASSERT(result.p_value > 0 && result.p_value <= 1);
        ASSERT_EQ(result.reject, result.statistic > result.threshold);
        options.fit_rows = 1000000; /* the pool is what there is */
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples(observed, SMALL_N, synthetic, counts[k], SMALL_M,
                                                   &options, &again));
        ASSERT(same_result(&result, &again));
        options.seed++;
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples(observed, SMALL_N, synthetic, counts[k], SMALL_M,
                                                   &options, &again));
        ASSERTm("the seed draws the rows", memcmp(&result.threshold, &again.threshold,
                                                  sizeof result.threshold) != 0);
        options.seed--;
    }
    PASS();
}

/* Early stopping sees the same replicates in the same order. */
TEST early_stop(void)
{
    enum { B = 99, ROWS = 50 };
    npksd_real null_values[B], some[B];
    npksd_options options = samples_options();
    size_t stops = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        npksd_result whole, early;
        options.stop_after = 0;
        draw_rows(observed, SMALL_N, SMALL_M, test_seed + 9610 + seed);
        draw_rows(synthetic, ROWS, SMALL_M, test_seed + 9630 + seed);
        for (size_t i = 0; i < SMALL_N * SMALL_M && seed % 4 == 3; i++)
            observed[i] += 4;
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(observed, SMALL_N, synthetic, ROWS,
                                                            SMALL_M, &options, &whole, NULL,
                                                            null_values));
        options.stop_after = 5;
        memset(some, UNTOUCHED, sizeof some);
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(observed, SMALL_N, synthetic, ROWS,
                                                            SMALL_M, &options, &early, NULL, some));
        npksd_real tau = whole.statistic, size = tau < 0 ? -tau : tau;
        npksd_real tie = (npksd_real)either(1e-8, 1e-3) * (size > 1 ? size : 1);
        size_t used = 0, hits = 0;
        while (used < B && hits < 5)
            hits += null_values[used++] + tie >= tau;
        ASSERT_MEM_EQ(&tau, &early.statistic, sizeof tau);
        ASSERT_EQ_FMT(used, early.replicates, "%zu");
        ASSERT_MEM_EQ(null_values, some, used * sizeof some[0]);
        ASSERT(untouched(some + used, sizeof some - used * sizeof some[0]));
        ASSERT_IN_RANGE(hits == 5 ? share(hits, used - 1) : share(hits + 1, used), early.p_value, 1e-6);
        ASSERT_EQ(hits == 5, (early.flags & NPKSD_FLAG_STOPPED_EARLY) != 0);
        stops += hits == 5;
    }
    ASSERT(stops > 0 && stops < 8);
    PASS();
}

/* One block, which grows by one number of 32 bits a synthetic row once a thousand are kept. */
TEST memory_hardly_grows(void)
{
    size_t bytes[2];
    npksd_options options = samples_options();
    draw_rows(observed, SMALL_N, SMALL_M, test_seed + 9640);
    draw_rows(synthetic, MOST_ROWS, SMALL_M, test_seed + 9641);
    for (size_t k = 0; k < 2; k++) {
        test_heap heap;
        npksd_result result;
        memset(&heap, 0, sizeof heap);
        options.allocator = heap_allocator(&heap);
        ASSERT_STATUS(NPKSD_OK, npksd_test_samples(observed, SMALL_N, synthetic, k ? MOST_ROWS : 1000,
                                                   SMALL_M, &options, &result));
        ASSERT_EQ_FMT((size_t)1, heap.asked.calls, "%zu");
        ASSERT_EQ(0u, heap.live + heap.wrong);
        bytes[k] = heap.bytes[0];
    }
    ASSERT(bytes[1] > bytes[0] && bytes[1] <= bytes[0] + 4 * (MOST_ROWS - 1000) + 32);
    PASS();
}

/* Of the synthetic rows' box, although the fit has seen the observed rows too. */
TEST out_of_range(void)
{
    enum { ROWS = 100 };
    npksd_options options = samples_options();
    npksd_result result;
    draw_rows(synthetic, ROWS, SMALL_M, test_seed + 9642);
    for (size_t i = 0; i < SMALL_N * SMALL_M; i++)
        observed[i] = synthetic[i] / 2; /* inside, but for four rows */
    for (size_t a = 0; a < 4; a++)
        observed[a * 5 * SMALL_M + a % SMALL_M] = a % 2 ? 50 : -50;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_test_samples(observed, SMALL_N, synthetic, ROWS, SMALL_M, &options, &result));
    ASSERT_IN_RANGE(4.0 / SMALL_N, result.out_of_range, 1e-6);
    PASS();
}

/* Reasons: the shifted column is named, and rows have an influence. */
TEST diagnosis_of_samples(void)
{
    enum { ROWS = 200 };
    npksd_options options = samples_options();
    npksd_result result;
    npksd_real p[SMALL_M], shift[SMALL_M], distance[SMALL_M], influence[SMALL_N];
    npksd_pair pairs[2];
    npksd_diagnosis diagnosis;
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.coordinate_p_adjusted = p;
    diagnosis.coordinate_shift = shift;
    diagnosis.coordinate_distance = distance;
    diagnosis.row_influence = influence;
    diagnosis.pairs = pairs;
    diagnosis.pair_capacity = 2;
    draw_rows(observed, SMALL_N, SMALL_M, test_seed + 9643);
    draw_rows(synthetic, ROWS, SMALL_M, test_seed + 9644);
    for (size_t a = 0; a < SMALL_N; a++)
        observed[a * SMALL_M + 1] += 3;
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples_diagnose(observed, SMALL_N, synthetic, ROWS, SMALL_M,
                                                        &options, &result, &diagnosis, NULL));
    ASSERT(result.reject);
    ASSERT(p[1] <= options.alpha && shift[1] > 1 && distance[1] > (npksd_real)0.5);
    ASSERT(shift[0] < 1 && shift[2] < shift[1] && distance[0] < distance[1]);
    ASSERT(finite_bits(influence, SMALL_N));
    ASSERT_EQ_FMT((size_t)2, diagnosis.pair_count, "%zu");
    PASS();
}

/* Moving rows between the files changes nothing that the fit makes of the pool, on average over seeds:
   kept rows are shuffled. (In the order of the pool the two means were .93 and .97.) */
TEST the_fit_knows_no_file(void)
{
    enum { N = 20, ROWS = 40, SEEDS = 200 };
    npksd_real pool[N + ROWS], turned[N + ROWS];
    npksd_options options = small_options();
    npksd_result result;
    double mean[2] = { 0, 0 }, square[2] = { 0, 0 };
    set_options(&options, "gauss stein v scales=1");
    draw_rows(pool, N + ROWS, 1, test_seed);
    for (size_t a = 0; a < N; a++)
        pool[a] = (npksd_real)(3 + 0.01 * (double)pool[a]); /* a dense cluster */
    for (size_t a = 0; a < N + ROWS; a++)
        turned[a] = pool[(7 * a + 11) % (N + ROWS)];
    for (int order = 0; order < 2; order++)
        for (size_t seed = 0; seed < SEEDS; seed++) {
            const npksd_real *rows = order ? turned : pool;
            options.seed = test_seed + seed;
            ASSERT_STATUS(NPKSD_OK, npksd_test_samples(rows, N, rows + N, ROWS, 1, &options, &result));
            mean[order] += (double)result.bandwidth / SEEDS;
            square[order] += (double)result.bandwidth * (double)result.bandwidth / SEEDS;
        }
    double variance = (square[0] - mean[0] * mean[0] + square[1] - mean[1] * mean[1]) / SEEDS;
    ASSERT(variance > 0);
    ASSERT((mean[0] - mean[1]) * (mean[0] - mean[1]) < 16 * variance); /* four standard errors */
    PASS();
}

/* More fit_rows than there are in the pool are as many as there are; fewer fit another score. */
TEST fit_rows_of_a_pool(void)
{
    npksd_real rows[60];
    npksd_options options = small_options();
    npksd_result result, most, fewer;
    draw_rows(rows, 60, 1, test_seed);
    options.fit_rows = 60;
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples(rows, 20, rows + 20, 40, 1, &options, &result));
    options.fit_rows = 268435456;
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples(rows, 20, rows + 20, 40, 1, &options, &most));
    options.fit_rows = 10;
    ASSERT_STATUS(NPKSD_OK, npksd_test_samples(rows, 20, rows + 20, 40, 1, &options, &fewer));
    ASSERT(same_result(&result, &most));
    ASSERT_FALSE(same_result(&result, &fewer));
    options.fit_rows = 1;
    ASSERT_STR_EQ("fit_rows: from 2 to 2^28", npksd_samples_problem(&options, 20, 40, 1));
    PASS();
}

SUITE(suite_samples)
{
    RUN_TEST(the_fit_knows_no_file);
    RUN_TEST(fit_rows_of_a_pool);
    RUN_TEST(replicates_are_rows_of_the_pool);
    RUN_TEST1(blocks_of_a_pool, 11);
    RUN_TEST1(blocks_of_a_pool, 31);
    RUN_TEST1(blocks_of_a_pool, 62);
    RUN_TEST(random_choices_of_one_pool);
    RUN_TEST(equal_rows);
    RUN_TEST1(level_and_power, 10);
    RUN_TEST1(level_and_power, 60);
    RUN_TEST1(blocks_keep_the_level, 10);
    RUN_TEST1(blocks_keep_the_level, 1);
    RUN_TEST(partial_blocks);
    RUN_TEST1(nonfinite_partial_blocks, 0);
    RUN_TEST1(nonfinite_partial_blocks, 1);
    for (size_t v = 0; v < variant_count(); v++) {
        greatest_set_test_suffix(variant_name(v));
        RUN_TEST1(with_options, v);
    }
    RUN_TEST(early_stop);
    RUN_TEST(memory_hardly_grows);
    RUN_TEST(out_of_range);
    RUN_TEST(diagnosis_of_samples);
}
