/* npksd_median_distance against stored answers and plain loops, and the bandwidth that comes of
   it. */
#include "ref_tester.h"

enum { ROWS = 20000, COLUMNS = 5 };

typedef enum row_kind {
    CONTINUOUS, BITS, THREE_LEVELS, DICE, SORTED, POWERS, CLUSTERS, ONE_DIFFERS, TWO_VALUES_BLOCKED,
    PERIODIC, COIN_AND_NOISE, MOSTLY_EQUAL, EQUAL, ZERO, EQUAL_LARGE, EQUAL_SMALL,
    KIND_COUNT
} row_kind;

static const char *const kind_names[KIND_COUNT] = {
    "continuous", "bits", "three_levels", "dice", "sorted", "powers", "clusters", "one_differs",
    "two_values_blocked", "periodic", "coin_and_noise", "mostly_equal", "equal",
    "zero", "equal_large", "equal_small"
};

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
        case COIN_AND_NOISE: rows[i] = u < (npksd_real)0.7 ? 0 : npksd_normal(&rng); break;
        case MOSTLY_EQUAL: rows[i] = u < 1 - (npksd_real)0.05 ? 3 : npksd_normal(&rng); break;
        case EQUAL: rows[i] = 7; break;
        case ZERO: rows[i] = 0; break;
        case EQUAL_LARGE: rows[i] = (npksd_real)either(1e200, 1e30); break;
        case EQUAL_SMALL: rows[i] = (npksd_real)either(1e-200, 1e-30); break;
        case KIND_COUNT: break;
        }
    }
}

TEST stored_medians(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "median");
    for (size_t c = 0; c < cases; c++) {
        static char name[64];
        snprintf(name, sizeof name, "%s", vectors_word(&v, "case"));
        size_t count = vectors_size(&v, "count"), m = vectors_size(&v, "m");
        npksd_real *rows = vectors_array(&v, "rows", NULL), out;
        double answer = vectors_real(&v, "answer");
        ASSERT_STATUSm(name, NPKSD_OK, npksd_median_distance(rows, count, m, NULL, &out));
        ASSERT_AGREE(name, answer, out, either(1e-12, 1e-5) * answer);
        ASSERT_AGREE("reference", answer, ref_median_distance(rows, count, m), 1e-12 * answer);
        free(rows);
    }
    vectors_close(&v);
    PASS();
}

/* One row; all pairs up to 512 rows; pairs at shifts beyond; a part of the rows beyond 16384. */
TEST median_of(row_kind kind)
{
    static const size_t counts[] = { 1,   2,   3,   4,   5,   16,   17,    33,  64,
                                     65,  190, 511, 512, 513, 514,  1500,  16384, ROWS };
    size_t largest = test_quick ? 190 : ROWS;
    npksd_real *rows = new_reals(ROWS * COLUMNS);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0] && counts[c] <= largest; c++) {
        size_t count = counts[c], m = c % 3 == 2 ? (size_t)COLUMNS : 1 + c % 2;
        static char where[100];
        npksd_real median = 0;
        snprintf(where, sizeof where, "%s, %zu rows of %zu", kind_names[kind], count, m);
        make_rows(kind, rows, count, m, 5000 + c);
        ASSERT_STATUSm(where, NPKSD_OK, npksd_median_distance(rows, count, m, NULL, &median));
        double expected = ref_median_distance(rows, count, m);
        ASSERT_AGREE(where, expected, median, either(1e-10, 2e-3) * expected);
    }
    free(rows);
    PASS();
}

/* Rows times a power of two: the median must go with them, but not below the smallest normal
   number. */
TEST median_of_any_size(void)
{
    static const int exponents[2][8] = { { -1060, -990, -600, -470, 470, 600, 996, 1020 },
                                         { -140, -112, -60, -50, 50, 60, 100, 124 } };
    enum { COUNT = 200, M = 3 };
    npksd_real rows[COUNT * M], scaled[COUNT * M], out;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 50);
    for (size_t k = 0; k < COUNT * M; k++) /* 10 bits each: denormal numbers still hold them */
        rows[k] = (npksd_real)floor(256 * (double)npksd_normal(&rng) + 0.5) / 256;
    double expected = ref_median_distance(rows, COUNT, M);
#ifdef __FAST_MATH__
    size_t first = 1; /* denormal numbers are 0 there */
#else
    size_t first = 0;
#endif
    for (size_t e = first; e < 8; e++) {
        int exponent = exponents[FLOAT_BUILD][e];
        static char name[64];
        snprintf(name, sizeof name, "rows times 2^%d", exponent);
        for (size_t k = 0; k < COUNT * M; k++)
            scaled[k] = (npksd_real)ldexp((double)rows[k], exponent);
        ASSERT_STATUSm(name, NPKSD_OK, npksd_median_distance(scaled, COUNT, M, NULL, &out));
        double right = fmax(ldexp(expected, exponent), REF_TINY);
        ASSERT_AGREE(name, 1, (double)out / right, either(1e-12, 1e-5));
    }
    PASS();
}

/* A coordinate that is large and one that is small: the small one does no harm. */
TEST median_of_mixed_sizes(void)
{
    enum { COUNT = 101 };
    npksd_real rows[COUNT * 2], wide[COUNT], out;
    double huge = either(1e300, 1e30);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 51);
    for (size_t a = 0; a < COUNT; a++) {
        wide[a] = npksd_normal(&rng);
        rows[2 * a] = (npksd_real)((double)wide[a] * huge);
        rows[2 * a + 1] = (npksd_real)((double)npksd_normal(&rng) / huge);
    }
    ASSERT_STATUS(NPKSD_OK, npksd_median_distance(rows, COUNT, 2, NULL, &out));
    double expected = ref_median_distance(wide, COUNT, 1);
    ASSERT_AGREE("mixed", expected, (double)out / huge, either(1e-12, 1e-5) * expected);
    PASS();
}

/* One number that is not 0, wherever it is: its square would be too large, or 0. */
TEST median_of_one_number(void)
{
    for (size_t k = 0; k < 8; k++) {
        double size = k < 4 ? either(1e300, 1e30) : either(1e-300, 1e-30);
        npksd_real rows[4] = { 0, 0, 0, 0 }, out;
        rows[k % 4] = (npksd_real)size;
        ASSERT_STATUS(NPKSD_OK, npksd_median_distance(rows, 2, 2, NULL, &out));
        ASSERT_AGREE("the number itself", 1, (double)out / size, either(1e-12, 1e-5));
    }
    PASS();
}

/* Most distances are 0: the mean of all takes over, and it does not show the order of rows either. */
TEST order_of_rows_does_not_show(void)
{
    enum { COUNT = 40 };
    npksd_real rows[COUNT] = { 0 }, first_order, other_order;
    for (size_t a = 0; a < 10; a++)
        rows[a * a % COUNT] = (npksd_real)(1 + a) / 7;
    ASSERT_STATUS(NPKSD_OK, npksd_median_distance(rows, COUNT, 1, NULL, &first_order));
    ASSERT(first_order > 0 && first_order < 1);
    for (size_t round = 1; round < COUNT; round++) {
        npksd_real first = rows[0];
        memmove(rows, rows + 1, (COUNT - 1) * sizeof *rows);
        rows[COUNT - 1] = rows[COUNT / 2];
        rows[COUNT / 2] = first;
        ASSERT_STATUS(NPKSD_OK, npksd_median_distance(rows, COUNT, 1, NULL, &other_order));
        ASSERT_MEM_EQ(&first_order, &other_order, sizeof first_order);
    }
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
    RUN_TEST(stored_medians);
    for (int k = 0; k < KIND_COUNT; k++) {
        greatest_set_test_suffix(kind_names[k]);
        RUN_TESTp(median_of, (row_kind)k);
    }
    RUN_TEST(median_of_any_size);
    RUN_TEST(median_of_mixed_sizes);
    RUN_TEST(median_of_one_number);
    RUN_TEST(order_of_rows_does_not_show);
    RUN_TEST(dice_with_default_fit);
}
