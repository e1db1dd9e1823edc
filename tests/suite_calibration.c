/* From null values to p, threshold, interval and verdict; early stopping; constants; bootstrap. */
#include "ref_tester.h"

/* ======== a test whose statistic is known ======== */

/* One row of one number x > 0 with score x: the V-statistic is x^2 + 1 / bandwidth^2, so that T
   grows with x and the generator writes the null distribution itself. */
typedef struct script {
    const npksd_real *values;
    size_t calls;
} script;

enum { SCRIPT_FIT = 2 };

static int script_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    script *list = (script *)user_data;
    size_t call = list->calls++;
    (void)count, (void)m;
    npksd_uniform(rng); /* a generator that draws may repeat itself */
    rows[0] = call < SCRIPT_FIT ? (npksd_real)(call + 1) : list->values[call - SCRIPT_FIT];
    return 0;
}

static int script_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores,
                        void *unused)
{
    (void)unused;
    memcpy(scores, rows, count * m * sizeof *rows);
    return 0;
}

static npksd_real script_statistic(npksd_real x) { return x * x + 1; }

/* The threshold is the value that counts, raised by the tolerance of ties: a little more, never less. */
static int is_threshold(npksd_real value, npksd_real tau, npksd_real median, npksd_real threshold)
{
    npksd_real tolerance = (npksd_real)either(2e-9, 2e-4) * (tau > median ? tau : median);
    return threshold >= value && threshold <= value + tolerance;
}

static npksd_options script_options(size_t replicates, npksd_real alpha)
{
    static const npksd_real one = 1;
    npksd_options options = npksd_default_options();
    options.seed = test_seed;
    options.fit_rows = SCRIPT_FIT;
    options.replicates = replicates;
    options.pilot = 0;
    options.alpha = alpha;
    options.estimator = NPKSD_ESTIMATOR_CALLBACK;
    options.score_fn = script_score;
    options.components = NPKSD_COMPONENT_STEIN;
    options.statistic = NPKSD_STATISTIC_V;
    options.scales = &one;
    options.scale_count = 1;
    options.standardize = 0;
    options.bandwidth = 1;
    return options;
}

static int same_number(npksd_real a, npksd_real b) { return !(a < b) && !(a > b); }

/* reject, p <= alpha and statistic > threshold are three ways to say one thing. */
static int verdict_is_consistent(const npksd_result *result, npksd_real alpha)
{
    int by_p = result->p_value <= alpha, by_threshold = result->statistic > result->threshold;
    if (by_p == result->reject && by_threshold == result->reject)
        return 1;
    printf("\nreject %d, p %.17g, alpha %.17g, statistic %.17g, threshold %.17g (seed %llu)\n",
           result->reject, (double)result->p_value, (double)alpha, (double)result->statistic,
           (double)result->threshold, (unsigned long long)test_seed);
    return 0;
}

/* ======== stored answers ======== */

TEST stored_p_values(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "p_value"), impossible = 0;
    for (size_t c = 0; c < cases; c++) {
        size_t b;
        vectors_word(&v, "case");
        npksd_real alpha = (npksd_real)vectors_real(&v, "alpha"), lift = 8;
        npksd_real x = (npksd_real)vectors_real(&v, "statistic") + lift;
        npksd_real *values = vectors_array(&v, "null", &b);
        double p = vectors_real(&v, "p");
        size_t k = vectors_size(&v, "k");
        npksd_real threshold = (npksd_real)vectors_real(&v, "threshold") + lift;
        npksd_options options = script_options(b, alpha);
        npksd_result result;
        script list = { NULL, 0 };
        list.values = values;
        for (size_t j = 0; j < b; j++)
            values[j] += lift; /* positive: T is then in the same order */
        if (k == 0) {
            ASSERT_STATUS(NPKSD_ERROR_ARGUMENT,
                          npksd_test(&x, 1, 1, script_sample, &list, &options, &result));
            impossible++;
        } else {
            ASSERT_STATUS(NPKSD_OK, npksd_test(&x, 1, 1, script_sample, &list, &options, &result));
            ASSERT_AGREE("p", p, result.p_value, either(0, 1e-7));
            ASSERT(same_number(script_statistic(x), result.statistic));
            ASSERT(is_threshold(script_statistic(threshold), result.statistic,
                                script_statistic(values[0]), result.threshold));
            ASSERT(verdict_is_consistent(&result, alpha));
            ASSERT_EQ_FMT(b, result.replicates, "%zu");
        }
        free(values);
    }
    vectors_close(&v);
    ASSERT_EQ_FMT((size_t)1, impossible, "%zu");
    PASS();
}

/* hits of draws values at 20, the others at 2, observed 10. The last one is a hit. */
static void hits_and_misses(npksd_real *values, size_t hits, size_t draws)
{
    for (size_t j = 0; j < draws; j++)
        values[j] = j + 1 < hits || (j + 1 == draws && hits) ? 20 : 2;
}

static double interval_bound(double p) { return either(1e-9, 1e-2) * p + either(1e-12, 1e-6); }

TEST stored_intervals(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "clopper_pearson"), stops = 0;
    for (size_t c = 0; c < cases; c++) {
        vectors_word(&v, "case");
        size_t hits = vectors_size(&v, "hits"), draws = vectors_size(&v, "draws");
        size_t stopped = vectors_size(&v, "stopped");
        double low = vectors_real(&v, "p_low"), high = vectors_real(&v, "p_high");
        npksd_real x = 10, *values = new_reals(draws + 5);
        npksd_options options = script_options(draws + 5 * stopped, (npksd_real)0.5);
        npksd_result result;
        static char name[64];
        script list = { NULL, 0 };
        list.values = values;
        snprintf(name, sizeof name, "%zu hits in %zu, stopped %zu", hits, draws, stopped);
        hits_and_misses(values, hits, draws);
        options.stop_after = stopped ? hits : 0;
        ASSERT_STATUSm(name, NPKSD_OK,
                       npksd_test(&x, 1, 1, script_sample, &list, &options, &result));
        ASSERT_AGREE(name, low, result.p_low, interval_bound(low));
        ASSERT_AGREE(name, high, result.p_high, interval_bound(high));
        ASSERT_EQ_FMTm(name, draws, result.replicates, "%zu");
        ASSERT_EQ_FMTm(name, draws + SCRIPT_FIT, list.calls, "%zu");
        double a, b;
        ref_clopper_pearson(hits, draws, (int)stopped, &a, &b);
        ASSERT_AGREE("reference", low, a, 1e-9 * low);
        ASSERT_AGREE("reference", high, b, 1e-9 * high);
        stops += stopped;
        free(values);
    }
    vectors_close(&v);
    ASSERT_GTE(stops, 5);
    PASS();
}

/* ======== any null, any level ======== */

static size_t random_null(npksd_rng *rng, npksd_real *values, size_t most)
{
    size_t b = 1 + ref_below(rng, most);
    size_t kinds = ref_below(rng, 2) ? 5 : 1000; /* many ties or few */
    for (size_t j = 0; j < b; j++)
        values[j] = 1 + (npksd_real)ref_below(rng, kinds) / 8;
    return b;
}

/* A level that is a whole number of 1/(b+1), or its neighbour on either side. */
static npksd_real random_level(npksd_rng *rng, size_t b)
{
    npksd_real exact = ref_share(1 + ref_below(rng, b), b);
    npksd_real step = exact * (npksd_real)either(DBL_EPSILON, (double)FLT_EPSILON);
    switch (ref_below(rng, 3)) {
    case 0: return exact - step;
    case 1: return exact + step;
    default: return exact;
    }
}

/* Equal null values, moved through the tolerance of T number by number: the verdict is that of the threshold. */
TEST verdict_to_the_last_bit(void)
{
    npksd_options options = small_options();
    npksd_tester *tester;
    npksd_result result;
    npksd_real rows[SMALL_N * SMALL_M], values[SMALL_REPLICATES], low, high;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 71);
    chain_sample(rows, SMALL_N, SMALL_M, &rng, NULL);
    for (options.seed = 0; options.seed < 5; options.seed++) {
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
        low = result.statistic - 1;
        high = result.statistic;
        for (npksd_real middle = low, before = high; middle < before || middle > before;) {
            for (size_t r = 0; r < SMALL_REPLICATES; r++)
                values[r] = middle;
            ASSERT_STATUS(NPKSD_OK, npksd_tester_merge(tester, 0, SMALL_REPLICATES, values));
            ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
            ASSERT_EQ_FMT(result.statistic > result.threshold, result.reject, "%d");
            low = result.reject ? middle : low;
            high = result.reject ? high : middle;
            before = middle;
            middle = (low + high) / 2;
        }
        ASSERT(low < high && high < result.statistic);
        npksd_tester_destroy(tester);
    }
    PASS();
}

TEST p_and_threshold_agree(void)
{
    enum { MOST = 60 };
    npksd_real values[MOST], nulls[MOST];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 70);
    size_t tried = 0;
    for (size_t turn = 0; turn < 600; turn++) {
        size_t b = random_null(&rng, values, MOST);
        npksd_real alpha = random_level(&rng, b), x = values[ref_below(&rng, b)];
        x += ((npksd_real)ref_below(&rng, 3) - 1) / 16; /* a tie, just above, just below */
        npksd_options options = script_options(b, alpha);
        npksd_result result;
        script list = { NULL, 0 };
        list.values = values;
        npksd_status status = npksd_test(&x, 1, 1, script_sample, &list, &options, &result);
        if (ref_share(1, b) > alpha) {
            ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, status);
            continue;
        }
        ASSERT_STATUS(NPKSD_OK, status);
        size_t hits = 0;
        npksd_real tau = script_statistic(x);
        double low, high;
        for (size_t j = 0; j < b; j++)
            nulls[j] = script_statistic(values[j]);
        ref_raise(nulls, b, ref_tolerance((double)tau, nulls, b, 1));
        for (size_t j = 0; j < b; j++)
            hits += nulls[j] >= tau;
        ASSERT(same_number(ref_p_value(tau, nulls, b), result.p_value));
        ASSERT_AGREE("threshold", ref_threshold(nulls, b, alpha), result.threshold,
                     either(1e-14, 1e-6) * (double)result.threshold);
        ASSERT(verdict_is_consistent(&result, alpha));
        ref_clopper_pearson(hits, b, 0, &low, &high);
        ASSERT_AGREE("p_low", low, result.p_low, interval_bound(low));
        ASSERT_AGREE("p_high", high, result.p_high, interval_bound(high));
        ASSERT(result.p_low <= result.p_high);
        tried++;
    }
    ASSERT_GTE(tried, 300);
    PASS();
}

TEST early_stopping_agrees(void)
{
    enum { MOST = 60 };
    npksd_real values[MOST];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 71);
    size_t stops = 0, rejected = 0;
    for (size_t turn = 0; turn < 600; turn++) {
        size_t b = random_null(&rng, values, MOST), h = 1 + ref_below(&rng, b < 8 ? b : 8);
        npksd_real alpha = random_level(&rng, turn % 2 ? b : b / 2 + 1);
        npksd_real x = values[ref_below(&rng, b)] + (npksd_real)(turn % 3) * 10;
        size_t used = 0, hits = 0;
        while (used < b && hits < h)
            hits += values[used++] >= x;
        int stopped = hits == h;
        npksd_options options = script_options(b, alpha);
        npksd_result result;
        script list = { NULL, 0 };
        double low, high;
        list.values = values;
        options.stop_after = h;
        if (ref_share(1, b) > alpha)
            continue;
        ASSERT_STATUS(NPKSD_OK, npksd_test(&x, 1, 1, script_sample, &list, &options, &result));
        npksd_real p = stopped ? ref_share(hits, used - 1) : ref_share(hits + 1, used);
        ASSERT(same_number(p, result.p_value));
        ASSERT_EQ_FMT(used, result.replicates, "%zu");
        ASSERT_EQ_FMT(used + SCRIPT_FIT, list.calls, "%zu"); /* not a row more than needed */
        ASSERT(verdict_is_consistent(&result, alpha));
        ASSERT_EQ(stopped ? NPKSD_FLAG_STOPPED_EARLY : 0,
                  (int)(result.flags & NPKSD_FLAG_STOPPED_EARLY));
        ref_clopper_pearson(hits, used, stopped, &low, &high);
        ASSERT_AGREE("p_low", low, result.p_low, interval_bound(low));
        ASSERT_AGREE("p_high", high, result.p_high, interval_bound(high));
        int member = 0; /* the threshold is one of the values used */
        for (size_t j = 0; j < used; j++)
            member |= is_threshold(script_statistic(values[j]), result.statistic, 0, result.threshold);
        ASSERT(member);
        stops += (size_t)stopped;
        rejected += (size_t)result.reject;
    }
    ASSERT_GTE(stops, 100);
    ASSERT_GTE(rejected, 50);
    PASS();
}

/* How many of the first `used` values reach a T of several numbers, with the tolerance of ties. */
static size_t reached(const npksd_real *null_values, size_t used, npksd_real tau)
{
    npksd_real size = tau < 0 ? -tau : tau, tie = (npksd_real)either(1e-8, 1e-3) * (size > 1 ? size : 1);
    size_t count = 0;
    for (size_t j = 0; j < used; j++)
        count += null_values[j] + tie >= tau;
    return count;
}

/* A real test: the replicates up to the stop are those of the full run, and so is all that is known of the rows. No
   null value is written but those used. */
TEST stopping_uses_the_same_replicates(void)
{
    npksd_real rows[SMALL_N * SMALL_M], null_values[SMALL_REPLICATES], some[SMALL_REPLICATES];
    npksd_options options = small_options(), plain = options;
    npksd_tester *tester;
    npksd_result whole, early;
    size_t stops = 0, outside = 0, not_stein = 0;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &plain));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, null_values, SMALL_REPLICATES, NULL));
    for (uint64_t seed = 0; seed < 12; seed++) {
        draw_rows(rows, SMALL_N, SMALL_M, test_seed + seed);
        if (seed % 4 == 3)
            rows[0] += 50;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &whole, NULL));
        ASSERT(verdict_is_consistent(&whole, options.alpha));
        ASSERT(same_number(ref_share(1 + reached(null_values, SMALL_REPLICATES, whole.statistic),
                                     SMALL_REPLICATES),
                           whole.p_value));
        options.stop_after = 1 + (size_t)seed % 5;
        memset(some, UNTOUCHED, sizeof some);
        ASSERT_STATUS(NPKSD_OK, npksd_test_diagnose(rows, SMALL_N, SMALL_M, chain_sample, NULL, &options, &early,
                                                    NULL, some));
        size_t used = 0, hits = 0;
        while (used < SMALL_REPLICATES && hits < options.stop_after)
            hits = reached(null_values, ++used, whole.statistic);
        ASSERT(same_number(whole.statistic, early.statistic));
        ASSERT(same_number(whole.ksd2, early.ksd2));
        ASSERT(same_number(whole.bandwidth, early.bandwidth));
        ASSERT(same_number(whole.out_of_range, early.out_of_range));
        ASSERT_EQ_FMT(whole.leading, early.leading, "%u");
        ASSERT_EQ_FMT(used, early.replicates, "%zu");
        ASSERT_MEM_EQ(null_values, some, used * sizeof some[0]);
        ASSERT(untouched(some + used, sizeof some - used * sizeof some[0]));
        ASSERT(same_number(hits == options.stop_after ? ref_share(hits, used - 1)
                                                      : ref_share(hits + 1, used),
                           early.p_value));
        ASSERT(verdict_is_consistent(&early, options.alpha));
        stops += hits == options.stop_after;
        outside += whole.out_of_range > 0;
        not_stein += whole.leading != NPKSD_COMPONENT_STEIN;
    }
    ASSERT(stops > 3 && stops < 12);
    ASSERT(outside > 0 && not_stein > 0);
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== constants and ties ======== */

static int constant_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *value)
{
    if (count == 1)
        npksd_uniform(rng); /* of single rows, only those who draw may be constant */
    for (size_t k = 0; k < count * m; k++)
        rows[k] = ((const npksd_real *)value)[k % m];
    return 0;
}

static npksd_options constant_options(void)
{
    npksd_options options = npksd_default_options();
    options.seed = test_seed;
    options.fit_rows = 60;
    options.replicates = 39;
    options.pilot = 10;
    options.alpha = (npksd_real)0.025;
    return options;
}

/* All data sets alike: every replicate ties with rows on the constant; rows off it stand out. */
TEST constant_generator(size_t n)
{
    static npksd_real values[3][2] = { { 2, -5 }, { 0, 0 }, { 0, 1 } };
    npksd_real rows[20 * 2];
    npksd_options options = constant_options();
    npksd_result result;
    for (size_t v = 0; v < 3; v++)
        for (int variant = 0; variant < 4; variant++) {
            options.standardize = variant != 1;
            options.kernel = variant == 2 ? NPKSD_KERNEL_IMQ : NPKSD_KERNEL_GAUSS;
            options.components = variant == 3 ? NPKSD_COMPONENT_STEIN : NPKSD_COMPONENT_ALL;
            options.statistic = variant == 3 ? NPKSD_STATISTIC_V : NPKSD_STATISTIC_U;
            for (size_t k = 0; k < n * 2; k++)
                rows[k] = values[v][k % 2];
            ASSERT_STATUS(NPKSD_OK,
                          npksd_test(rows, n, 2, constant_sample, values[v], &options, &result));
            ASSERT_AGREE("p on the constant", 1, result.p_value, 0);
            ASSERT(!result.reject && verdict_is_consistent(&result, options.alpha));
            ASSERT_EQ_FMT((unsigned)NPKSD_FLAG_CONSTANT_COORDINATE, result.flags, "%u");
            ASSERT_AGREE("out of range", 0, result.out_of_range, 0);
            for (int off = 0; off < 6; off++) {
                static const double offsets[6] = { 1e-3, -1e-3, 1, -1, 1e6, -1e12 };
                npksd_real before = rows[n * 2 - 1];
                rows[n * 2 - 1] += (npksd_real)offsets[off]; /* one number of one row */
                ASSERT_STATUS(
                    NPKSD_OK,
                    npksd_test(rows, n, 2, constant_sample, values[v], &options, &result));
                rows[n * 2 - 1] = before;
                ASSERT_AGREE("p off the constant", ref_share(1, 39), result.p_value, 0);
                ASSERT(result.reject && verdict_is_consistent(&result, options.alpha));
                ASSERT_AGREE("out of range", 1 / (double)n, result.out_of_range, 1e-7);
            }
        }
    PASS();
}

/* One coordinate of three never changes. Rows on it are judged by the others alone. */
TEST constant_coordinate(int estimator)
{
    enum { N = 20, M = 3, DRAWS = 10 };
    test_shape shape = SHAPE_CONSTANT;
    npksd_options options = constant_options();
    npksd_tester *tester;
    npksd_result result;
    npksd_real rows[N * M];
    size_t rejected = 0;
    options.estimator = estimator;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, shape_sample, &shape, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, test_seed + seed, 72);
        shape_sample(rows, N, M, &rng, &shape);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
        rejected += (size_t)result.reject;
        ASSERT_EQ_FMT((unsigned)NPKSD_FLAG_CONSTANT_COORDINATE, result.flags, "%u");
        const double offsets[] = { either(0.01, 0.1), either(-0.01, -0.1), 1, -100, 1e6, -1e30 };
        for (size_t off = 0; off < sizeof offsets / sizeof offsets[0]; off++) {
            npksd_real all[N * M], one[N * M];
            memcpy(all, rows, sizeof rows);
            memcpy(one, rows, sizeof rows);
            for (size_t a = 0; a < N; a++)
                all[a * M + M - 1] = 7 + (npksd_real)offsets[off];
            one[5 * M + M - 1] = 7 + (npksd_real)offsets[off] * 10;
            ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, all, &result, NULL));
            ASSERT_AGREE("p, all rows off", ref_share(1, 39), result.p_value, 0);
            ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, one, &result, NULL));
            ASSERT_AGREE("p, one row off", ref_share(1, 39), result.p_value, 0);
        }
    }
    ASSERT_LTE(rejected, 3); /* level 1/40: more than 3 of 10 once in ten thousand */
    npksd_tester_destroy(tester);
    PASS();
}

/* Without scaling, a constant column's unit is a thousandth of the middle deviation, wherever its column stands. */
static int three_units_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *order)
{
    static const npksd_real units[] = { 1, 10, 100 };
    const size_t *place = (const size_t *)order;
    for (size_t a = 0; a < count; a++) {
        for (size_t i = 0; i < 3; i++)
            rows[a * m + place[i]] = units[i] * npksd_normal(rng);
        rows[a * m + 3] = 7;
    }
    return 0;
}

TEST unit_of_a_constant(void)
{
    enum { N = 20, M = 4 };
    static size_t orders[][3] = { { 0, 1, 2 }, { 1, 0, 2 }, { 2, 1, 0 }, { 1, 2, 0 }, { 2, 0, 1 }, { 0, 2, 1 } };
    npksd_result first, result;
    npksd_options options = constant_options();
    options.components = NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MIRROR;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    options.summary = NPKSD_SUMMARY_NONE;
    options.standardize = 0;
    for (size_t k = 0; k < 6; k++) {
        npksd_real rows[N * M];
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, test_seed, 75);
        three_units_sample(rows, N, M, &rng, orders[k]);
        rows[3] += (npksd_real)0.05; /* five units */
        ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, M, three_units_sample, orders[k], &options, &result));
        first = k == 0 ? result : first;
        ASSERT_AGREE("T", first.statistic, result.statistic, either(1e-9, 1e-3) * fabs((double)first.statistic));
    }
    PASS();
}

/* MARGIN sees the next number, in one row of all, and knows the column. */
static int pinned_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *value)
{
    for (size_t k = 0; k < count * m; k++)
        rows[k] = k % m == m - 1 ? *(const npksd_real *)value : npksd_normal(rng);
    return 0;
}

TEST next_to_a_constant(double constant)
{
    enum { N = 20, M = 3, SEEDS = 4 };
    npksd_real value = (npksd_real)constant, size = value < 0 ? -value : value, rows[N * M], p[M];
    npksd_real step = size > 0 ? size * (npksd_real)either(DBL_EPSILON, FLT_EPSILON) : (npksd_real)REF_TINY;
#ifdef __FAST_MATH__
    step *= 2; /* half of the least normal number is 0 there */
#endif
    npksd_options options = constant_options();
    npksd_diagnosis found;
    npksd_result result;
    memset(&found, 0, sizeof found);
    found.coordinate_p_adjusted = p;
    options.fit_rows = 1000;
    options.pilot = 100;
    for (uint64_t k = 0; k < 2 * SEEDS; k++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, test_seed + k, 74);
        options.seed = test_seed + k;
        pinned_sample(rows, N, M, &rng, &value);
        rows[(k + 1) * M - 1] += k < SEEDS ? step : -step;
        ASSERT_STATUS(NPKSD_OK,
                      npksd_test_diagnose(rows, N, M, pinned_sample, &value, &options, &result, &found, NULL));
        ASSERT_AGREE("p", ref_share(1, 39), result.p_value, 0);
        ASSERT_AGREE("p of the column", ref_share(1, 39), p[M - 1], 0);
        ASSERT_EQ_FMT((unsigned)NPKSD_COMPONENT_MARGIN, result.leading, "%u");
        ASSERT(result.out_of_range > 0);
    }
    PASS();
}

/* Dice: few different data sets, many equal statistics. They count against a rejection. */
static int coin_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t k = 0; k < count * m; k++)
        rows[k] = npksd_uniform(rng) < (npksd_real)0.5 ? 0 : 1;
    return 0;
}

TEST equal_statistics_count(void)
{
    enum { N = 2, B = 99 };
    npksd_options options = constant_options();
    npksd_real rows[N], null_values[B];
    npksd_result result;
    npksd_tester *tester;
    options.replicates = B;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, 1, coin_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, null_values, B, NULL));
    for (size_t k = 0; k < 4; k++) {
        size_t equal = 0;
        rows[0] = (npksd_real)(k % 2);
        rows[1] = (npksd_real)(k / 2);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
        for (size_t j = 0; j < B; j++)
            equal += same_number(null_values[j], result.statistic);
        /* a quarter of the replicates are these very rows, in this order: bit for bit */
        ASSERT_GTE(equal, 8);
        ASSERT(result.p_value >= ref_share(equal + 1, B));
        ASSERT(!result.reject && (result.flags & NPKSD_FLAG_TIES));
    }
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== wild bootstrap ======== */

static npksd_options wild_options(void)
{
    npksd_options options = npksd_default_options();
    options.seed = test_seed;
    options.replicates = 99;
    options.pilot = 20;
    options.fit_rows = 100;
    options.score_fn = chain_score;
    set_options(&options, "score_callback wild stein");
    return options;
}

static void no_generator(npksd_options *options)
{
    options->standardize = 0;
    options->bandwidth = (npksd_real)1.5;
}

static void wild_single(npksd_options *options, int statistic)
{
    static const npksd_real scale = (npksd_real)0.5;
    options->components = NPKSD_COMPONENT_STEIN;
    options->statistic = statistic;
    options->scales = &scale;
    options->scale_count = 1;
}

/* The observed statistic is the classical one: rows and scores as they are. */
TEST wild_statistic(int kernel, int form)
{
    enum { N = 19, M = 2 };
    npksd_real rows[N * M], scores[N * M], plain;
    npksd_result result;
    draw_rows(rows, N, M, test_seed);
    chain_score(rows, N, M, scores, NULL);
    for (int k = 0; k < 2; k++) {
        int statistic = k ? NPKSD_STATISTIC_U : NPKSD_STATISTIC_V;
        npksd_options options = wild_options();
        no_generator(&options);
        wild_single(&options, statistic);
        options.kernel = kernel;
        options.form = form;
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, M, NULL, &options, &plain));
        ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, M, NULL, NULL, &options, &result));
        ASSERT_AGREE("T", plain, result.statistic, either(1e-9, 1e-4) * (1 + fabs((double)plain)));
    }
    PASS();
}

/* What the generator has drawn so far. */
typedef struct drawn_rows {
    npksd_real rows[400];
    size_t count; /* numbers */
} drawn_rows;

static int keeping_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    drawn_rows *drawn = (drawn_rows *)user_data;
    chain_sample(rows, count, m, rng, NULL);
    for (size_t k = 0; k < count * m && drawn->count < 400; k++)
        drawn->rows[drawn->count++] = rows[k];
    return 0;
}

/* With a generator the rows are scaled by its fit sample. With `resample` it draws which coordinates
   count, and how much: one of the few ways must give the statistic. */
TEST wild_statistic_scaled(size_t resample)
{
    enum { N = 19, M = 3, FIT = 95 };
    npksd_options options = wild_options();
    npksd_real rows[N * M], scores[N * M], weights[M];
    static drawn_rows drawn;
    npksd_result result;
    size_t ways = 0, hits = 0;
    draw_rows(rows, N, M, test_seed);
    chain_score(rows, N, M, scores, NULL);
    wild_single(&options, NPKSD_STATISTIC_V);
    options.resample = resample;
    options.fit_rows = FIT; /* five data sets, all of them kept */
    drawn.count = 0;
    ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, M, keeping_sample, &drawn, &options, &result));
    ASSERT_GTE(drawn.count, (size_t)FIT * M);
    for (size_t i = 0; i < M; i++) {
        double mean = 0, square = 0;
        for (size_t a = 0; a < FIT; a++)
            mean += (double)drawn.rows[a * M + i] / FIT;
        for (size_t a = 0; a < FIT; a++)
            square += ((double)drawn.rows[a * M + i] - mean) * ((double)drawn.rows[a * M + i] - mean);
        double deviation = sqrt(square / FIT);
        for (size_t a = 0; a < N; a++) {
            rows[a * M + i] = (npksd_real)(((double)rows[a * M + i] - mean) / deviation);
            scores[a * M + i] = (npksd_real)((double)scores[a * M + i] * deviation);
        }
    }
    options.bandwidth = result.bandwidth;
    for (size_t first = 0; first < M; first++)
        for (size_t second = 0; second <= first; second++, ways++) {
            npksd_real plain;
            for (size_t i = 0; i < M; i++)
                weights[i] = (npksd_real)((i == first) + (i == second)) / 2;
            ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, M, resample ? weights : NULL,
                                                    &options, &plain));
            hits += fabs((double)plain - (double)result.statistic)
                <= either(1e-9, 1e-4) * (1 + fabs((double)plain));
        }
    ASSERT_EQ_FMT(resample ? (size_t)1 : ways, hits, "%zu");
    PASS();
}

/* Four rows: signs can be chosen in 8 ways (all turned is the same). Every null value is one of the
   8 values, all come up about equally often, and the observed one is the value of equal signs. */
TEST wild_signs(int statistic)
{
    enum { N = 4, M = 2, WAYS = 8, B = 799 };
    npksd_real rows[N * M], scores[N * M];
    static npksd_real null_values[B];
    npksd_options options = wild_options();
    npksd_tester *tester;
    npksd_result result;
    ref_data data;
    double values[WAYS], size = 0;
    size_t seen[WAYS] = { 0 }, hits = 0;
    draw_rows(rows, N, M, test_seed);
    chain_score(rows, N, M, scores, NULL);
    no_generator(&options);
    wild_single(&options, statistic);
    options.replicates = B;
    memset(&data, 0, sizeof data);
    data.rows = rows;
    data.scores = scores;
    data.n = N;
    data.m = M;
    data.sigma2 = 2.25 * 0.5;
    for (unsigned way = 0; way < WAYS; way++) {
        values[way] = 0;
        for (unsigned a = 0; a < N; a++)
            for (unsigned b = 0; b < N; b++) {
                double sign = (way >> a & 1) == (way >> b & 1) ? 1 : -1;
                if (a != b || statistic == NPKSD_STATISTIC_V)
                    values[way] += sign * ref_stein_pair(&data, a, b);
            }
        values[way] /= statistic == NPKSD_STATISTIC_V ? N * N : N * (N - 1);
        size = fmax(size, fabs(values[way]));
    }
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, N, M, NULL, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_null(tester, null_values, B, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, null_values, B, NULL));
    ASSERT_AGREE("T", values[0], result.statistic, either(1e-9, 1e-4) * size);
    for (size_t j = 0; j < B; j++) {
        size_t nearest = 0;
        for (size_t way = 1; way < WAYS; way++)
            if (fabs(values[way] - (double)null_values[j])
                < fabs(values[nearest] - (double)null_values[j]))
                nearest = way;
        ASSERT_AGREE("null value", values[nearest], null_values[j], either(1e-9, 1e-4) * size);
        seen[nearest]++;
        hits += null_values[j] >= result.statistic;
    }
    for (size_t way = 0; way < WAYS; way++) /* 100 each, 5.5 standard deviations of 9.4 */
        ASSERT_AGREE("how often", (B + 1) / 8.0, seen[way], 52);
    ASSERT(same_number(ref_share(hits + 1, B), result.p_value));
    ASSERT_GTE(hits, seen[0]); /* ties with the observed value itself */
    npksd_tester_destroy(tester);
    PASS();
}

/* One row: turning its sign changes nothing, so there is never a reason to reject. */
TEST wild_single_row(void)
{
    npksd_real row[2] = { 30, -40 };
    npksd_options options = wild_options();
    npksd_result result;
    no_generator(&options);
    ASSERT_STATUSm("U of one row", NPKSD_ERROR_ARGUMENT,
                   npksd_test(row, 1, 2, NULL, NULL, &options, &result));
    options.statistic = NPKSD_STATISTIC_V;
    ASSERT_STATUS(NPKSD_OK, npksd_test(row, 1, 2, NULL, NULL, &options, &result));
    ASSERT_AGREE("p", 1, result.p_value, 0);
    ASSERT(!result.reject);
    PASS();
}

/* More rows than a fit sample ever has: without a generator they all serve to centre the arithmetic. */
TEST wild_many_rows(void)
{
    enum { N = 1100 };
    static npksd_real rows[N];
    npksd_real scores[N], plain;
    npksd_options options = wild_options();
    npksd_result result;
    no_generator(&options);
    wild_single(&options, NPKSD_STATISTIC_V);
    options.replicates = 19;
    draw_rows(rows, N, 1, test_seed);
    chain_score(rows, N, 1, scores, NULL);
    ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, 1, NULL, &options, &plain));
    ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, 1, NULL, NULL, &options, &result));
    ASSERT_AGREE("T", plain, result.statistic, either(1e-9, 1e-4) * (1 + fabs((double)plain)));
    PASS();
}

/* Level and power with the true score. 200 seeds at level 0.05: 10 rejections, deviation 3.1. */
TEST wild_level_and_power(int generator)
{
    enum { N = 30, M = 2, SEEDS = 200 };
    npksd_options options = wild_options();
    npksd_tester *tester;
    npksd_result result;
    npksd_real rows[N * M];
    size_t rejected = 0, shifted = 0;
    set_options(&options, "scales=0.5,1");
    if (!generator)
        no_generator(&options);
    ASSERT_STATUS(
        NPKSD_OK,
        npksd_tester_create(&tester, N, M, generator ? chain_sample : NULL, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        draw_rows(rows, N, M, 1000 * test_seed + seed);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
        ASSERT(verdict_is_consistent(&result, options.alpha));
        ASSERTm("not exact, and says so", result.flags & NPKSD_FLAG_ASYMPTOTIC);
        rejected += (size_t)result.reject;
        if (seed % 10)
            continue;
        for (size_t k = 0; k < N * M; k++)
            rows[k] += (npksd_real)1.5;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
        shifted += (size_t)result.reject;
    }
    ASSERT(rejected >= 1 && rejected <= 20);
    ASSERT_EQ_FMT((size_t)SEEDS / 10, shifted, "%zu");
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== Monte Carlo ======== */

/* The classical KSD with replicates from the model: exact. 100 seeds, level 1/20, deviation 2.2. */
TEST explicit_score_level_and_power(void)
{
    enum { N = 20, M = 2, SEEDS = 100 };
    npksd_real rows[N * M];
    npksd_options options = npksd_default_options();
    npksd_result result;
    size_t rejected = 0, shifted = 0;
    options.estimator = NPKSD_ESTIMATOR_CALLBACK;
    options.score_fn = chain_score;
    options.fit_rows = 100;
    options.replicates = 19;
    options.pilot = 10;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        options.seed = 1000 * test_seed + seed;
        draw_rows(rows, N, M, 2000 * test_seed + seed);
        ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, M, chain_sample, NULL, &options, &result));
        rejected += (size_t)result.reject;
        if (seed % 10)
            continue;
        for (size_t k = 0; k < N * M; k++)
            rows[k] += (npksd_real)1.5;
        ASSERT_STATUS(NPKSD_OK, npksd_test(rows, N, M, chain_sample, NULL, &options, &result));
        shifted += (size_t)result.reject;
    }
    ASSERT_LTE(rejected, 17);
    ASSERT_GTE(shifted, 9);
    PASS();
}

SUITE(suite_calibration)
{
    RUN_TEST(stored_p_values);
    RUN_TEST(stored_intervals);
    RUN_TEST(verdict_to_the_last_bit);
    RUN_TEST(p_and_threshold_agree);
    RUN_TEST(early_stopping_agrees);
    RUN_TEST(stopping_uses_the_same_replicates);
    RUN_TESTp(constant_generator, 1);
    RUN_TESTp(constant_generator, 20);
    RUN_TESTp(constant_coordinate, NPKSD_ESTIMATOR_AUTO);
    RUN_TESTp(constant_coordinate, NPKSD_ESTIMATOR_GAUSS);
    RUN_TEST(unit_of_a_constant);
    RUN_TESTp(next_to_a_constant, 7.0);
    RUN_TESTp(next_to_a_constant, 0.0);
    RUN_TESTp(next_to_a_constant, either(-1e300, -1e30));
    RUN_TEST(equal_statistics_count);
    for (int k = 0; k < 4; k++)
        RUN_TESTp(wild_statistic, k / 2, k % 2);
    RUN_TESTp(wild_statistic_scaled, 0);
    RUN_TESTp(wild_statistic_scaled, 2);
    RUN_TESTp(wild_signs, NPKSD_STATISTIC_V);
    RUN_TESTp(wild_signs, NPKSD_STATISTIC_U);
    RUN_TEST(wild_single_row);
    RUN_TEST(wild_many_rows);
    RUN_TESTp(wild_level_and_power, 0);
    RUN_TESTp(wild_level_and_power, 1);
    RUN_TEST(explicit_score_level_and_power);
}
