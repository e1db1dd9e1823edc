/* Numbers at the edge: what comes of them, as a table. Never NaN, never infinity, never a crash. */
#include "support.h"

#ifdef NPKSD_FLOAT
#define LARGEST ((npksd_real)3.4028234e38f)
#define LARGE ((npksd_real)1e37)
#define SMALL ((npksd_real)1e-37)
#define SUBNORMAL ((npksd_real)1e-42)
#define LEAST ((npksd_real)1.4e-45f)
#else
#define LARGEST ((npksd_real)1.7976931348623157e308)
#define LARGE ((npksd_real)1e300)
#define SMALL ((npksd_real)1e-300)
#define SUBNORMAL ((npksd_real)1e-310)
#define LEAST ((npksd_real)4.9406564584124654e-324)
#endif

/* ======== the numbers ======== */

typedef enum edge_kind {
    ORDINARY,   /* normal */
    ALL_LARGE,  /* 1e300 times that (float: 1e37) */
    ALL_SMALL,  /* 1e-300 times that */
    ROOT_SMALL, /* 1e-155 times that (float: 1e-20): its square is subnormal */
    ROOT_LARGE, /* 1e155 times that (float: 1e20): its square is too large */
    MIXED,      /* 1e300 in one column, 1e-300 in the next */
    SUBNORMALS, /* 1e-310 times that: a digit or two are left */
    ONE_BIT,    /* the least positive number, or 0 */
    EXTREMES,   /* the largest number or minus that, nothing between */
    SAME_ROW,   /* one row for ever */
    SAME_ZERO,  /* zero for ever */
    SAME_LARGE, /* the largest number for ever */
    TWO_VALUES, /* 0 or 1 */
    INTEGERS,   /* dice */
    CAUCHY,     /* heavy tails */
    CUBED,      /* powers of those: no mean, no scale, 1e60 and 1e-60 side by side */
    OUTLIER,    /* one number in a hundred is 1e300 */
    TINY_STEPS, /* 1 plus a few times the least step at 1 */
    SIGNED_ZERO /* 0 or -0 */
} edge_kind;

static npksd_real cauchy(npksd_rng *rng)
{
    npksd_real below = npksd_normal(rng);
    while (below >= -SMALL && below <= SMALL)
        below = npksd_normal(rng);
    return npksd_normal(rng) / below;
}

static npksd_real edge_number(edge_kind kind, size_t column, npksd_rng *rng)
{
    npksd_real x = npksd_normal(rng), step = sizeof x == 4 ? (npksd_real)1.2e-7 : (npksd_real)2.3e-16;
    switch (kind) {
    case ORDINARY: return x;
    case ALL_LARGE: return x * LARGE;
    case ALL_SMALL: return x * SMALL;
    case ROOT_SMALL: return x * (sizeof x == 4 ? (npksd_real)1e-20 : (npksd_real)1e-155);
    case ROOT_LARGE: return x * (sizeof x == 4 ? (npksd_real)1e20 : (npksd_real)1e155);
    case MIXED: return x * (column % 3 == 0 ? LARGE : column % 3 == 1 ? SMALL : 1);
    case SUBNORMALS: return x * SUBNORMAL;
    case ONE_BIT: return x > 0 ? LEAST : 0;
    case EXTREMES: return x > 0 ? LARGEST : -LARGEST;
    case SAME_ROW: return (npksd_real)(column + 1) / 3;
    case SAME_ZERO: return 0;
    case SAME_LARGE: return LARGEST;
    case TWO_VALUES: return x > 0;
    case INTEGERS: return (npksd_real)(int)(1 + 6 * npksd_uniform(rng));
    case CAUCHY: return cauchy(rng);
    case CUBED: x = cauchy(rng); return x * x * x;
    case OUTLIER: return npksd_uniform(rng) < (npksd_real)0.01 ? LARGE : x;
    case TINY_STEPS: return 1 + step * (npksd_real)(int)(8 * npksd_uniform(rng));
    case SIGNED_ZERO: return x > 0 ? (npksd_real)0 : -(npksd_real)0;
    }
    return 0;
}

static int edge_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    for (size_t i = 0; i < count * m; i++)
        rows[i] = edge_number(*(const edge_kind *)user_data, i % m, rng);
    return 0;
}

/* A score of ordinary size for any row: the tests above have better ones. */
static int any_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count * m; i++)
        scores[i] = rows[i] > 0 ? (npksd_real)-1 : (npksd_real)1;
    return 0;
}

/* ======== the table: what each function makes of them ======== */

typedef struct edge_case {
    const char *name;
    edge_kind generated, observed;
    size_t n, m;
    npksd_status summary;   /* with a summary callback that adds the other numbers */
    npksd_status statistic; /* of npksd_statistic, on rows as they are */
} edge_case;

/* npksd_test, tester, blob, scores, diagnosis, test_samples and median give numbers for all of them.
   A caller's summary may leave the range by itself: NONFINITE. npksd_statistic does not scale, so that
   it has to say NUMERIC where squares leave the range. */
#define NUMBERS(name, generated, observed, n, m) { name, generated, observed, n, m, NPKSD_OK, NPKSD_OK }
#define SQUARES_TOO_LARGE(name, generated, observed, n, m) \
    { name, generated, observed, n, m, NPKSD_OK, NPKSD_ERROR_NUMERIC }
static const edge_case edge_cases[] = {
    NUMBERS("ordinary", ORDINARY, ORDINARY, 20, 3),
    SQUARES_TOO_LARGE("rows of 1e300", ALL_LARGE, ALL_LARGE, 20, 3),
    NUMBERS("rows of 1e-300", ALL_SMALL, ALL_SMALL, 20, 3),
    NUMBERS("rows of 1e-155", ROOT_SMALL, ROOT_SMALL, 20, 3),
    SQUARES_TOO_LARGE("rows of 1e155", ROOT_LARGE, ROOT_LARGE, 20, 3),
    SQUARES_TOO_LARGE("both in one row", MIXED, MIXED, 20, 3),
    NUMBERS("subnormals", SUBNORMALS, SUBNORMALS, 20, 3),
    NUMBERS("least number or 0", ONE_BIT, ONE_BIT, 20, 3),
    { "plus or minus the largest", EXTREMES, EXTREMES, 20, 3, NPKSD_ERROR_NONFINITE, NPKSD_ERROR_NUMERIC },
    NUMBERS("one row", ORDINARY, ORDINARY, 1, 3),
    NUMBERS("one number", ORDINARY, ORDINARY, 1, 1),
    NUMBERS("two rows", ORDINARY, ORDINARY, 2, 3),
    NUMBERS("two equal rows", ORDINARY, SAME_ROW, 2, 3),
    NUMBERS("two equal rows of two", SAME_ROW, SAME_ROW, 2, 3),
    NUMBERS("all rows equal", SAME_ROW, SAME_ROW, 20, 3),
    NUMBERS("all observed rows equal", ORDINARY, SAME_ROW, 20, 3),
    NUMBERS("all generated rows equal", SAME_ROW, ORDINARY, 20, 3),
    NUMBERS("zeros", SAME_ZERO, SAME_ZERO, 20, 3),
    NUMBERS("zeros and -0", SIGNED_ZERO, SIGNED_ZERO, 20, 2),
    NUMBERS("zeros against subnormals", SAME_ZERO, SUBNORMALS, 20, 3),
    SQUARES_TOO_LARGE("zeros against the largest", SAME_ZERO, EXTREMES, 20, 2),
    NUMBERS("the largest for ever", SAME_LARGE, SAME_LARGE, 20, 2),
    NUMBERS("the largest against zeros", SAME_LARGE, SAME_ZERO, 20, 2),
    NUMBERS("one column", ORDINARY, ORDINARY, 20, 1),
    SQUARES_TOO_LARGE("one column of 1e300", ALL_LARGE, ALL_LARGE, 20, 1),
    NUMBERS("bits", TWO_VALUES, TWO_VALUES, 20, 3),
    NUMBERS("integers", INTEGERS, INTEGERS, 20, 3),
    NUMBERS("Cauchy", CAUCHY, CAUCHY, 20, 3),
    NUMBERS("cubed Cauchy", CUBED, CUBED, 17, 3),
    SQUARES_TOO_LARGE("one huge outlier", OUTLIER, OUTLIER, 20, 3),
    SQUARES_TOO_LARGE("a huge observed outlier", ORDINARY, OUTLIER, 20, 3),
    SQUARES_TOO_LARGE("observed 1e300", ORDINARY, ALL_LARGE, 20, 2),
    NUMBERS("observed 1e-300", ORDINARY, ALL_SMALL, 20, 2),
    NUMBERS("generated 1e-300", ALL_SMALL, ORDINARY, 20, 2),
    NUMBERS("generated 1e300", ALL_LARGE, ORDINARY, 20, 2),
    NUMBERS("steps of one bit at 1", TINY_STEPS, TINY_STEPS, 20, 3),
};
enum { EDGE_CASES = sizeof edge_cases / sizeof edge_cases[0], EDGE_N = 20, EDGE_M = 3,
       EDGE_SYNTHETIC = 60 };

/* ======== numbers, all of them ======== */

static int share(npksd_real p) { return finite_bits(&p, 1) && p >= 0 && p <= 1; }

static enum greatest_test_res legal(const npksd_result *result)
{
    ASSERT(share(result->p_value) && result->p_value > 0);
    ASSERT(share(result->p_low) && share(result->p_high));
    ASSERT(result->p_low <= result->p_value && result->p_value <= result->p_high);
    ASSERTm("statistic", finite_bits(&result->statistic, 1));
    ASSERTm("threshold", finite_bits(&result->threshold, 1));
    ASSERTm("ksd2", finite_bits(&result->ksd2, 1));
    ASSERTm("bandwidth", finite_bits(&result->bandwidth, 1) && result->bandwidth > 0);
    ASSERT(share(result->out_of_range));
    ASSERT(result->leading != 0 && (result->leading & NPKSD_COMPONENT_ALL) == result->leading);
    ASSERT(result->flags < 32);
    PASS();
}

typedef struct edge_outputs {
    npksd_real statistic[EDGE_M], p[EDGE_M], adjusted[EDGE_M], influence[EDGE_N];
    npksd_real shift[EDGE_M], distance[EDGE_M];
    npksd_pair pairs[EDGE_M];
    npksd_diagnosis diagnosis;
} edge_outputs;

static void mark_outputs(edge_outputs *out, int coordinates)
{
    memset(out, 0xFF, sizeof *out); /* NaN */
    memset(&out->diagnosis, 0, sizeof out->diagnosis);
    out->diagnosis.coordinate_statistic = coordinates ? out->statistic : NULL;
    out->diagnosis.coordinate_p = coordinates ? out->p : NULL;
    out->diagnosis.coordinate_p_adjusted = coordinates ? out->adjusted : NULL;
    out->diagnosis.row_influence = out->influence;
    out->diagnosis.coordinate_shift = coordinates ? out->shift : NULL;
    out->diagnosis.coordinate_distance = coordinates ? out->distance : NULL;
    out->diagnosis.pairs = out->pairs;
    out->diagnosis.pair_capacity = coordinates ? EDGE_M : 0;
}

static enum greatest_test_res legal_outputs(const edge_outputs *out, size_t n, size_t m)
{
    ASSERTm("influence", finite_bits(out->influence, n));
    if (out->diagnosis.coordinate_p) {
        ASSERTm("coordinates", finite_bits(out->statistic, m));
        ASSERTm("shift", finite_bits(out->shift, m));
        for (size_t i = 0; i < m; i++) {
            ASSERT(share(out->p[i]) && share(out->adjusted[i]) && out->p[i] > 0);
            ASSERTm("distance", share(out->distance[i]));
        }
        ASSERT_EQ_FMTm("pairs", m * (m - 1) / 2, out->diagnosis.pair_count, "%zu");
        for (size_t k = 0; k < out->diagnosis.pair_count; k++) {
            const npksd_pair *pair = &out->pairs[k];
            ASSERT(pair->first < pair->second && pair->second < m);
            ASSERT(share(pair->p_adjusted) && pair->p_adjusted > 0);
            ASSERT(finite_bits(&pair->observed, 1) && finite_bits(&pair->expected, 1));
            ASSERT(pair->observed >= -1 && pair->observed <= 1);
            ASSERT(pair->expected >= -1 && pair->expected <= 1);
        }
    }
    PASS();
}

/* ======== every way to a number ======== */

static npksd_options edge_options(size_t v, const edge_case *c)
{
    npksd_options options = variant_options(v);
    options.fit_rows = 60;
    options.pilot = 5;
    if (options.resample_distinct && options.resample > c->m)
        options.resample = c->m;
    if (options.estimator == NPKSD_ESTIMATOR_CALLBACK)
        options.score_fn = any_score;
    if (c->n == 1)
        options.statistic = NPKSD_STATISTIC_V; /* for those that have no other number */
    return options;
}

static enum greatest_test_res check_tester(npksd_tester *tester, const edge_case *c, int coordinates,
                                           const npksd_real *rows)
{
    npksd_result result;
    npksd_real scores[EDGE_N * EDGE_M], null_values[SMALL_REPLICATES];
    edge_outputs out;
    mark_outputs(&out, coordinates);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, &out.diagnosis));
    CHECK_CALL(legal(&result));
    CHECK_CALL(legal_outputs(&out, c->n, c->m));
    memset(scores, 0xFF, sizeof scores);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, c->n, scores));
    ASSERTm("scores", finite_bits(scores, c->n * c->m));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, null_values, SMALL_REPLICATES, NULL));
    ASSERTm("null values", finite_bits(null_values, SMALL_REPLICATES));
    PASS();
}

static enum greatest_test_res check_blob(const npksd_tester *tester, const edge_case *c,
                                         int coordinates, const npksd_real *rows)
{
    npksd_tester *loaded = NULL;
    size_t bytes = 0;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_save(tester, NULL, 0, &bytes));
    void *blob = malloc(bytes);
    ASSERT(blob);
    npksd_status status = npksd_tester_save(tester, blob, bytes, &bytes);
    if (status == NPKSD_OK)
        status = npksd_tester_load(&loaded, blob, bytes, NULL);
    free(blob);
    ASSERT_STATUSm("blob", NPKSD_OK, status);
    enum greatest_test_res outcome = check_tester(loaded, c, coordinates, rows);
    npksd_tester_destroy(loaded);
    return outcome;
}

static enum greatest_test_res check_samples(const edge_case *c, npksd_options options,
                                            const npksd_real *rows, npksd_rng *rng)
{
    static npksd_real synthetic[EDGE_SYNTHETIC * EDGE_M];
    npksd_result result;
    npksd_real null_values[SMALL_REPLICATES];
    edge_outputs out;
    edge_kind kind = c->generated;
    options.diagnose = 1; /* as a diagnosis implies */
    if (npksd_samples_problem(&options, c->n, EDGE_SYNTHETIC, c->m))
        PASS(); /* not for these options: suite_paths says which */
    edge_sample(synthetic, EDGE_SYNTHETIC, c->m, rng, &kind);
    mark_outputs(&out, 1);
    int extreme = c->generated == EXTREMES || c->observed == EXTREMES; /* both are in the pool */
    int adds = options.summary == NPKSD_SUMMARY_CALLBACK && c->m > 1;
    npksd_status expected = adds && extreme ? NPKSD_ERROR_NONFINITE : NPKSD_OK;
    ASSERT_STATUSm("samples", expected,
                   npksd_test_samples_diagnose(rows, c->n, synthetic, EDGE_SYNTHETIC, c->m, &options,
                                               &result, &out.diagnosis, null_values));
    if (expected != NPKSD_OK)
        PASS();
    CHECK_CALL(legal(&result));
    CHECK_CALL(legal_outputs(&out, c->n, c->m));
    ASSERTm("null values of samples", finite_bits(null_values, SMALL_REPLICATES));
    PASS();
}

static enum greatest_test_res check_primitives(const edge_case *c, const npksd_real *rows)
{
    npksd_options options = npksd_default_options();
    npksd_real scores[EDGE_N * EDGE_M], median, value;
    memset(&median, 0xFF, sizeof median);
    ASSERT_STATUS(NPKSD_OK, npksd_median_distance(rows, c->n, c->m, NULL, &median));
    ASSERTm("median", finite_bits(&median, 1) && median > 0);
    any_score(rows, c->n, c->m, scores, NULL);
    options.bandwidth = 1;
    options.statistic = NPKSD_STATISTIC_V;
    for (int form = NPKSD_FORM_VECTOR; form <= NPKSD_FORM_SCALAR; form++) {
        for (int kernel = NPKSD_KERNEL_GAUSS; kernel <= NPKSD_KERNEL_IMQ; kernel++) {
            options.form = form;
            options.kernel = kernel;
            memset(&value, UNTOUCHED, sizeof value);
            npksd_status status = npksd_statistic(rows, scores, c->n, c->m, NULL, &options, &value);
            ASSERT_STATUSm("npksd_statistic", c->statistic, status);
            ASSERT(status == NPKSD_OK ? finite_bits(&value, 1) : untouched(&value, sizeof value));
        }
    }
    PASS();
}

TEST numbers_at_the_edge(const edge_case *c)
{
    npksd_real rows[EDGE_N * EDGE_M];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 7000 + (uint64_t)(c - edge_cases));
    edge_kind generated = c->generated, observed = c->observed;
    edge_sample(rows, c->n, c->m, &rng, &observed);
    if (observed == OUTLIER)
        rows[c->n * c->m / 2] = LARGE;
    CHECK_CALL(check_primitives(c, rows));
    for (size_t v = (size_t)(c - edge_cases) % stride(5); v < variant_count(); v += stride(5)) {
        npksd_options options = edge_options(v, c);
        npksd_tester *tester = NULL;
        ASSERT_STATUSm(variant_name(v), NPKSD_OK,
                       npksd_tester_create(&tester, c->n, c->m, edge_sample, &generated, &options));
        int adds = options.summary == NPKSD_SUMMARY_CALLBACK && c->m > 1;
        npksd_status expected = adds ? c->summary : NPKSD_OK;
        ASSERT_STATUSm(variant_name(v), expected, finish(tester));
        if (expected != NPKSD_OK) {
            npksd_tester_destroy(tester);
            continue;
        }
        enum greatest_test_res outcome = check_tester(tester, c, options.diagnose, rows);
        if (outcome == GREATEST_TEST_RES_PASS && options.estimator != NPKSD_ESTIMATOR_CALLBACK
            && !adds)
            outcome = check_blob(tester, c, options.diagnose, rows);
        npksd_tester_destroy(tester);
        if (outcome == GREATEST_TEST_RES_PASS)
            outcome = check_samples(c, options, rows, &rng);
        if (outcome != GREATEST_TEST_RES_PASS) {
            printf("\n%s, %s:\n", c->name, variant_name(v));
            return outcome;
        }
    }
    PASS();
}

/* ======== wide rows ======== */

enum { WIDE_M = 5000, WIDE_N = 5 };

TEST wide_rows(int summary)
{
    static npksd_real rows[WIDE_N * WIDE_M], scores[WIDE_N * WIDE_M];
    edge_kind kind = ORDINARY;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 7100);
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_result result;
    options.resample = 20;
    options.fit_rows = 40;
    options.pilot = 3;
    options.summary = summary;
    edge_sample(rows, WIDE_N, WIDE_M, &rng, &kind);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, WIDE_N, WIDE_M, edge_sample, &kind,
                                                &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
    CHECK_CALL(legal(&result));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, rows, WIDE_N, scores));
    npksd_tester_destroy(tester);
    size_t fitted = 0;
    for (size_t i = 0; i < WIDE_M; i++)
        fitted += scores[i] < 0 || scores[i] > 0;
    ASSERT(finite_bits(scores, WIDE_N * WIDE_M));
    ASSERTm("20 coordinates at most", fitted > 0 && fitted <= 20);
    PASS();
}

/* 256 features a score and no more, yet 70000 coordinates: a moment matrix of 40 GB. Refused as such. */
TEST too_wide_for_memory(void)
{
    enum { M = 70000, ROWS = 20 };
    npksd_real *rows = (npksd_real *)malloc((ROWS + 1) * (size_t)M * sizeof *rows);
    npksd_options options = small_options();
    npksd_result result;
    test_heap heap;
    edge_kind kind = ORDINARY;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 7200);
    ASSERT(rows);
    memset(&heap, 0, sizeof heap);
    edge_sample(rows, ROWS + 1, M, &rng, &kind);
    options.summary = NPKSD_SUMMARY_ALL;
    options.allocator = heap_allocator(&heap); /* gives 1 GB at most */
    memset(&result, UNTOUCHED, sizeof result);
    size_t bytes = 7;
    ASSERT_STATUS(NPKSD_ERROR_MEMORY, npksd_tester_size(1, M, &options, &bytes)); /* no machine can count them */
    ASSERT_EQ_FMT((size_t)7, bytes, "%zu");
    npksd_status samples =
        npksd_test_samples(rows + ROWS * (size_t)M, 1, rows, ROWS, M, &options, &result);
    npksd_status test = npksd_test(rows, 1, M, edge_sample, &kind, &options, &result);
    free(rows);
    ASSERT_STATUS(NPKSD_ERROR_MEMORY, samples);
    ASSERT_STATUS(NPKSD_ERROR_MEMORY, test);
    ASSERT(untouched(&result, sizeof result));
    ASSERT_EQ(0u, heap.live + heap.wrong);
    PASS();
}

/* ======== orders that are hard to sort, or to select from ======== */

enum { HARD_COUNT = 60000, HARD_N = 400 };

/* An order that is built while it is split: the first and the last number of a part become less than all that are
   not chosen yet, so that the median of three takes off one number, or two. The splits are those of npksd.h: what
   is less than the pivot comes first. */
typedef struct hard_state {
    size_t *places;      /* in the order that the splits have made */
    npksd_real *values;  /* by place; `open` until chosen */
    npksd_real chosen, open;
} hard_state;

static npksd_real hard_value(hard_state *state, size_t place)
{
    if (state->values[place] >= state->open)
        state->values[place] = state->chosen++;
    return state->values[place];
}

static size_t hard_split(hard_state *state, size_t *part, size_t count)
{
    npksd_real first = hard_value(state, part[0]), last = hard_value(state, part[count - 1]);
    npksd_real middle = state->values[part[count / 2]], least = first < last ? first : last;
    npksd_real most = first < last ? last : first, pivot = middle < least ? least : middle > most ? most : middle;
    size_t lower = 0;
    for (size_t i = 0; i < count; i++) {
        size_t place = part[i];
        part[i] = part[lower];
        part[lower] = place;
        lower += state->values[place] < pivot;
    }
    return lower;
}

static void hard_select(hard_state *state, size_t count, size_t rank)
{
    size_t *part = state->places;
    for (int splits = 0; count > 16 && splits < 64; splits++) {
        size_t lower = hard_split(state, part, count);
        int above = rank >= lower;
        part += above ? lower : 0;
        rank -= above ? lower : 0;
        count = above ? count - lower : lower;
    }
}

/* Hard to select `rank` from, and then the rank as far from the other end. To select the largest takes the splits
   of a sort. */
static void hard_order(npksd_real *values, size_t count, size_t rank)
{
    static size_t places[HARD_COUNT];
    hard_state state;
    state.places = places;
    state.values = values;
    state.chosen = 0;
    state.open = (npksd_real)count;
    for (size_t i = 0; i < count; i++) {
        places[i] = i;
        values[i] = state.open;
    }
    hard_select(&state, count, rank);
    hard_select(&state, count, count - 1 - rank);
    for (size_t i = 0; i < count; i++)
        hard_value(&state, i);
}

/* Blobs and merged values choose the order of null values. It must not choose the time: what would be bad is done
   in another way, to the same result. `make coverage` sees that this way is taken. */
TEST hard_order_of_null_values(void)
{
    npksd_options options = small_options();
    npksd_real *values = (npksd_real *)malloc(HARD_COUNT * sizeof *values), row = 0;
    npksd_tester *tester = NULL;
    npksd_result easy, hard;
    edge_kind kind = ORDINARY;
    options.replicates = HARD_COUNT;
    ASSERT(values);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, 1, 1, edge_sample, &kind, &options));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    hard_order(values, HARD_COUNT, HARD_COUNT - 1);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_merge(tester, 0, HARD_COUNT, values));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, &row, &hard, NULL));
    for (size_t k = 0; k < HARD_COUNT; k++)
        values[k] = (npksd_real)k;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_merge(tester, 0, HARD_COUNT, values));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, &row, &easy, NULL));
    npksd_tester_destroy(tester);
    free(values);
    ASSERT(same_result(&easy, &hard));
    PASS();
}

/* The same numbers in every data set, in an order that the caller chooses. */
static int ordered_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *hard)
{
    npksd_uniform(rng);
    if (*(const int *)hard)
        hard_order(rows, count * m, count * m / 100);
    else
        for (size_t i = 0; i < count * m; i++)
            rows[i] = (npksd_real)i;
    return 0;
}

/* A generator chooses the order of its rows, from which the ends of the knots are selected. */
TEST hard_order_of_rows(void)
{
    npksd_real rows[HARD_N], scores[2][HARD_N];
    npksd_options options = small_options();
    options.estimator = NPKSD_ESTIMATOR_SPLINE;
    options.fit_rows = HARD_N;
    for (size_t i = 0; i < HARD_N; i++)
        rows[i] = (npksd_real)i + (npksd_real)0.5;
    for (int hard = 0; hard < 2; hard++) {
        npksd_tester *tester = NULL;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, HARD_N, 1, ordered_sample, &hard, &options));
        while (npksd_tester_scores(tester, rows, HARD_N, scores[hard]) == NPKSD_ERROR_STATE)
            ASSERT_STATUS(NPKSD_MORE, npksd_tester_step(tester, 1));
        npksd_tester_destroy(tester);
    }
    for (size_t i = 0; i < HARD_N; i++)
        ASSERT_IN_RANGE(scores[0][i], scores[1][i], sizeof(npksd_real) == 4 ? 1e-4 : 1e-9);
    PASS();
}

SUITE(suite_edge)
{
    for (size_t i = 0; i < EDGE_CASES; i++) {
        greatest_set_test_suffix(edge_cases[i].name);
        RUN_TEST1(numbers_at_the_edge, &edge_cases[i]);
    }
    RUN_TEST1(wide_rows, (int)NPKSD_SUMMARY_MEAN);
    RUN_TEST1(wide_rows, (int)NPKSD_SUMMARY_NONE);
    RUN_TEST1(wide_rows, (int)NPKSD_SUMMARY_NEIGHBOURS);
    RUN_TEST(too_wide_for_memory);
    RUN_TEST(hard_order_of_null_values);
    RUN_TEST(hard_order_of_rows);
}
