/* The median distance: ties, clusters and order must not mislead the search for it. */
#include "support.h"
#include "ref.h"

enum { ROWS = 1500, COLUMNS = 3 };

typedef enum row_kind {
    CONTINUOUS, BITS, THREE_LEVELS, DICE, SORTED, POWERS, CLUSTERS, ONE_DIFFERS, TWO_VALUES_BLOCKED,
    PERIODIC, HALVES, GRID, COINS, COIN_AND_NOISE, TINY_STEPS, DECIMALS,
    KIND_COUNT
} row_kind;

static const char *const kind_names[KIND_COUNT] = {
    "continuous", "bits", "three_levels", "dice", "sorted", "powers", "clusters", "one_differs",
    "two_values_blocked", "periodic", "halves", "grid", "coins", "coin_and_noise", "tiny_steps",
    "decimals"
};

/* k^2 rows in two clusters of (k^2 + k) / 2 and (k^2 - k) / 2: as many pairs within as between, so that
   the two middle distances are far apart. */
static npksd_real larger_half(size_t count)
{
    size_t root = 0;
    while ((root + 1) * (root + 1) <= count)
        root++;
    return (npksd_real)(count + root) / 2;
}

static void make_rows(row_kind kind, npksd_real *rows, size_t count, size_t m, uint64_t stream)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, stream);
    for (size_t i = 0; i < count * m; i++) {
        npksd_real u = npksd_uniform(&rng), row = (npksd_real)(i / m);
        switch (kind) {
        case CONTINUOUS: rows[i] = npksd_normal(&rng); break;
        case BITS: rows[i] = u < (npksd_real)0.5; break;
        case THREE_LEVELS: rows[i] = (npksd_real)(int)(3 * u); break;
        case DICE: rows[i] = (npksd_real)(1 + (int)(6 * u)); break;
        case SORTED: rows[i] = row; break;
        case POWERS: rows[i] = (npksd_real)((uint64_t)1 << (i / m % 50)); break;
        case CLUSTERS: rows[i] = (u < (npksd_real)0.5 ? 0 : 1000) + npksd_normal(&rng); break;
        case ONE_DIFFERS: rows[i] = i / m == count / 2 ? 1 : 0; break;
        case TWO_VALUES_BLOCKED: rows[i] = i / m < count / 2; break;
        case PERIODIC: rows[i] = (npksd_real)(i / m % 7); break;
        case HALVES: rows[i] = (row < larger_half(count) ? 0 : 1000) + npksd_normal(&rng); break;
        /* steps that are no binary fractions: distances that should be equal differ in the last digit */
        case GRID: rows[i] = (npksd_real)0.7 * (npksd_real)(int)(2 * npksd_normal(&rng) + 20); break;
        case COINS: rows[i] = u < (npksd_real)0.5 ? (npksd_real)0.1 : (npksd_real)1.3; break;
        case COIN_AND_NOISE: rows[i] = u < (npksd_real)0.7 ? 0 : npksd_normal(&rng); break;
        case TINY_STEPS: rows[i] = u < (npksd_real)0.4 ? 0 : (npksd_real)(int)(3 * u) * (npksd_real)1e-30; break;
        case DECIMALS: rows[i] = (npksd_real)0.3 + (npksd_real)0.1 * (npksd_real)(int)(4 * u); break;
        case KIND_COUNT: break;
        }
    }
}

TEST median_is_right(row_kind kind, size_t count, size_t m, uint64_t stream)
{
    static npksd_real rows[ROWS * COLUMNS];
    static char where[100];
    npksd_real median = 0;
    snprintf(where, sizeof where, "%s, %u rows of %u, stream %u", kind_names[kind], (unsigned)count, (unsigned)m,
             (unsigned)stream);
    make_rows(kind, rows, count, m, stream);
    ASSERT_STATUS(NPKSD_OK, npksd_median_distance(rows, count, m, NULL, &median));
    double expected = ref_median_distance(rows, count, m);
    ASSERT_IN_RANGEm(where, expected, median, expected * (sizeof median == 4 ? 1e-4 : 1e-12));
    PASS();
}

TEST median_of(const row_kind *kind)
{
    static const size_t counts[] = { 2, 3, 5, 16, 17, 33, 64, 65, 100, 144, 190, 400, 900, ROWS };
    size_t largest = test_quick ? 190 : ROWS;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0] && counts[c] <= largest; c++)
        for (size_t m = 1; m <= COLUMNS; m += counts[c] > 100 ? 2 : 1)
            CHECK_CALL(median_is_right(*kind, counts[c], m, 5000 + c * COLUMNS + m));
    PASS();
}

/* More pairs than the buffer holds, in many draws: where a bracket ends among equal values is luck. */
TEST median_of_many(const row_kind *kind)
{
    static const size_t counts[] = { 129, 200, 288 };
    for (uint64_t stream = 0; stream < (test_quick ? 2 : 12); stream++)
        for (size_t c = 0; c < 3; c++)
            for (size_t m = 1; m <= COLUMNS; m++)
                CHECK_CALL(median_is_right(*kind, counts[c], m, 7000 + stream));
    PASS();
}

/* Draws, found among thousands, in which a bracket ends at a value of many pairs: the median is the first or the
   last of it, one of its two ends, or one of two numbers with none between them. */
TEST median_at_the_end_of_a_bracket(void)
{
    static const struct { row_kind kind; size_t count, m; uint64_t stream; } draws[] = {
        { BITS, 200, 1, 7038 },     { BITS, 200, 1, 7028 },         { BITS, 288, 3, 7042 },
        { BITS, 200, 3, 7017 },     { COINS, 200, 1, 7038 },        { CLUSTERS, 200, 1, 7010 },
        { DECIMALS, 200, 2, 7066 }, { THREE_LEVELS, 200, 1, 7026 }, { DECIMALS, 1000, 3, 7002 },
    };
    for (size_t i = 0; i < sizeof draws / sizeof draws[0]; i++)
        CHECK_CALL(median_is_right(draws[i].kind, draws[i].count, draws[i].m, draws[i].stream));
    PASS();
}

static int dice_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = (npksd_real)(1 + (int)(6 * npksd_uniform(rng)));
    return 0;
}

/* as many kept rows as there can be */
TEST dice_with_default_fit(void)
{
    npksd_real rows[SMALL_N * SMALL_M];
    npksd_result result;
    npksd_options options = npksd_default_options();
    options.replicates = SMALL_REPLICATES;
    options.pilot = 9;
    for (size_t m = 1; m <= SMALL_M; m++) {
        make_rows(DICE, rows, SMALL_N, m, 6000 + m);
        ASSERT_STATUS(NPKSD_OK,
                      npksd_test(rows, SMALL_N, m, dice_sample, NULL, &options, &result));
        ASSERT(result.flags & NPKSD_FLAG_TIES);
        ASSERT(result.bandwidth > 0);
    }
    PASS();
}

SUITE(suite_median)
{
    for (int k = 0; k < KIND_COUNT; k++) {
        row_kind kind = (row_kind)k;
        greatest_set_test_suffix(kind_names[k]);
        RUN_TEST1(median_of, &kind);
        greatest_set_test_suffix(kind_names[k]);
        RUN_TEST1(median_of_many, &kind);
    }
    RUN_TEST(median_at_the_end_of_a_bracket);
    RUN_TEST(dice_with_default_fit);
}
