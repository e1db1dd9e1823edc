/* The answer depends on the seed and on nothing else: not on steps, tiers or the kind of rng. */
#include "support.h"

static npksd_real data[SMALL_N * SMALL_M];

typedef struct outcome {
    npksd_real null_values[SMALL_REPLICATES];
    size_t null_count;
    npksd_result result;
} outcome;

/* The bootstrap draws its null inside check. */
static int has_null(const npksd_options *options)
{
    return options->calibration == NPKSD_CALIBRATE_MONTE_CARLO;
}

/* items for the next step; pattern 0 means a different number each time */
static size_t next_items(size_t pattern, npksd_rng *rng)
{
    if (pattern > 0)
        return pattern;
    return (size_t)(rng->next_fn(rng->user_data) >> 60);
}

static npksd_status run(const npksd_options *options, size_t pattern, outcome *out)
{
    npksd_tester *tester = NULL;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, pattern);
    memset(out, 0, sizeof *out);
    npksd_status status =
        npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, options);
    if (status == NPKSD_OK) {
        do
            status = npksd_tester_step(tester, next_items(pattern, &rng));
        while (status == NPKSD_MORE);
    }
    if (status == NPKSD_OK && has_null(options))
        status = npksd_tester_null(tester, out->null_values, SMALL_REPLICATES, &out->null_count);
    if (status == NPKSD_OK)
        status = npksd_tester_check(tester, data, &out->result, NULL);
    npksd_tester_destroy(tester);
    return status;
}

static int same_outcome(const outcome *a, const outcome *b)
{
    return a->null_count == b->null_count
        && memcmp(a->null_values, b->null_values, sizeof a->null_values) == 0
        && same_result(&a->result, &b->result);
}

/* Values that reach tau. What is below it by no more than the tolerance of ties may count or not:
   1e-8 of T, in float 1e-3; `most` counts with twice that. */
static size_t reached(const npksd_real *null_values, npksd_real tau, int most)
{
    npksd_real size = tau < -1 ? -tau : tau > 1 ? tau : 1;
    npksd_real tie = most ? size * (npksd_real)(sizeof tau == 4 ? 2e-3 : 2e-8) : 0;
    size_t count = 0;
    for (size_t r = 0; r < SMALL_REPLICATES; r++)
        count += null_values[r] + tie >= tau;
    return count;
}

static int is_p_value(npksd_real p, const npksd_real *null_values, npksd_real tau)
{
    double low = (double)(1 + reached(null_values, tau, 0)) / (SMALL_REPLICATES + 1);
    double high = (double)(1 + reached(null_values, tau, 1)) / (SMALL_REPLICATES + 1);
    return (double)p > low - 1e-6 && (double)p < high + 1e-6;
}

TEST any_step_pattern(size_t v)
{
    static const size_t patterns[] = { 1, 2, 3, 7, 0 };
    npksd_options options = variant_options(v);
    outcome whole, stepped;
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &whole));
    if (has_null(&options))
        ASSERT_EQ_FMT((size_t)SMALL_REPLICATES, whole.null_count, "%zu");
    for (size_t p = v % stride(3); p < sizeof patterns / sizeof patterns[0]; p += stride(3)) {
        ASSERT_STATUS(NPKSD_OK, run(&options, patterns[p], &stepped));
        ASSERT(same_outcome(&whole, &stepped));
    }
    PASS();
}

TEST the_seed_decides(size_t v)
{
    npksd_options options = variant_options(v);
    outcome first, again, other;
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &first));
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &again));
    ASSERT(same_outcome(&first, &again));
    options.seed++;
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &other));
    if (has_null(&options))
        for (size_t r = 0; r < SMALL_REPLICATES; r++)
            ASSERT_NEQ(first.null_values[r], other.null_values[r]);
    else
        ASSERT_NEQ(first.result.threshold, other.result.threshold);
    PASS();
}

TEST one_call_equals_tester(size_t v)
{
    npksd_options options = variant_options(v);
    npksd_result result;
    outcome tiered;
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &tiered));
    ASSERT_STATUS(NPKSD_OK,
                  npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, &result));
    ASSERT(same_result(&tiered.result, &result));
    PASS();
}

/* Stopping early sees the same null values in the same order. */
TEST early_stop_counts_the_same_null(void)
{
    npksd_options options = small_options();
    npksd_result result;
    outcome tiered;
    size_t exceeded = 0, used = 0;
    options.stop_after = 3;
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &tiered));
    npksd_real tau = tiered.result.statistic, tie = (npksd_real)(sizeof tau == 4 ? 1e-3 : 1e-8);
    tie *= tau < -1 ? -tau : tau > 1 ? tau : 1;
    while (used < SMALL_REPLICATES && exceeded < options.stop_after)
        exceeded += tiered.null_values[used++] + tie >= tau;
    npksd_real p = exceeded == options.stop_after
        ? (npksd_real)exceeded / (npksd_real)used
        : (npksd_real)(exceeded + 1) / (npksd_real)(SMALL_REPLICATES + 1);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, &result));
    ASSERT_EQ_FMT(used, result.replicates, "%zu");
    ASSERT_IN_RANGE(p, result.p_value, 1e-6);
    ASSERT_EQ(exceeded == options.stop_after, (result.flags & NPKSD_FLAG_STOPPED_EARLY) != 0);
    PASS();
}

/* What check reports follows from what null returns. */
TEST p_value_from_null_values(size_t v)
{
    npksd_options options = variant_options(v);
    outcome out;
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &out));
    npksd_real p = out.result.p_value;
    ASSERT(is_p_value(p, out.null_values, out.result.statistic));
    ASSERT_EQ(out.result.p_value <= options.alpha, out.result.reject);
    ASSERT_EQ(out.result.reject, out.result.statistic > out.result.threshold);
    ASSERT(out.result.p_low <= p && p <= out.result.p_high);
    PASS();
}

/* ======== the caller's own rng ======== */

/* An rng without streams is read in order: nothing before the first data set, unless columns are drawn. */
TEST create_draws_nothing(void)
{
    npksd_options options = small_options();
    npksd_tester *tester;
    caller_rng own;
    options.components = NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MIRROR;
    options.rng = caller_rng_start(&own, 1, 0);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    npksd_tester_destroy(tester);
    ASSERT_EQ(0u, own.state.index_);
    PASS();
}

TEST own_rng_with_streams_equals_built_in(size_t v)
{
    npksd_options options = variant_options(v);
    outcome built_in, own_stream;
    caller_rng own;
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &built_in));
    options.rng = caller_rng_start(&own, options.seed, 1);
    ASSERT_STATUS(NPKSD_OK, run(&options, 3, &own_stream));
    ASSERT(own.seeks > 0);
    ASSERT(same_outcome(&built_in, &own_stream));
    options.rng = caller_rng_start(&own, options.seed, 1);
    ASSERT_STATUS(NPKSD_OK, run(&options, 1, &own_stream));
    ASSERT(same_outcome(&built_in, &own_stream));
    PASS();
}

TEST sequential_rng(size_t v)
{
    npksd_options options = variant_options(v);
    outcome whole, stepped;
    caller_rng own;
    options.rng = caller_rng_start(&own, options.seed, 0);
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &whole));
    options.rng = caller_rng_start(&own, options.seed, 0);
    ASSERT_STATUS(NPKSD_OK, run(&options, 2, &stepped));
    ASSERT(same_outcome(&whole, &stepped));
    ASSERT(whole.result.p_value > 0 && whole.result.p_value <= 1);
    if (has_null(&options))
        for (size_t r = 1; r < SMALL_REPLICATES; r++)
            ASSERT_NEQ(whole.null_values[r - 1], whole.null_values[r]);
    PASS();
}

/* First numbers of all calls of a generator, each value once. */
enum { FIRSTS_MOST = 400 };
typedef struct firsts {
    npksd_real values[FIRSTS_MOST];
    size_t count, calls;
} firsts;

static int noting_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    firsts *f = (firsts *)user_data;
    size_t k = 0;
    chain_sample(rows, count, m, rng, NULL);
    f->calls++;
    while (k < f->count && memcmp(f->values + k, rows, sizeof *rows) != 0)
        k++;
    if (k == f->count && k < FIRSTS_MOST)
        f->values[f->count++] = rows[0];
    return 0;
}

/* Every trial of a self-check has random numbers of its own, the first one stream more, to draw it twice; so has every
   recording of npksd_power. */
TEST trials_share_no_numbers(int own_generator)
{
    npksd_options options = small_options();
    npksd_self_check_result check;
    npksd_power_result power;
    caller_rng own;
    firsts one = { { 0 }, 0, 0 }, three = one, many = one;
    if (own_generator)
        options.rng = caller_rng_start(&own, options.seed, 1);
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, noting_sample, &one, &options, 1, &check));
    ASSERT_STATUS(NPKSD_OK, npksd_self_check(SMALL_N, SMALL_M, noting_sample, &three, &options, 3, &check));
    ASSERT(one.count > SMALL_REPLICATES && three.count < FIRSTS_MOST);
    ASSERT_EQ_FMT(3 * (one.count - 1) + 1, three.count, "%zu");
    ASSERT_EQ_FMT(one.calls - 1, one.count, "%zu");
    ASSERT_STATUS(NPKSD_OK, npksd_power(SMALL_N, SMALL_M, noting_sample, &many, noting_sample, &many, &options, 30,
                                        &power));
    ASSERT_EQ_FMT(many.calls, many.count, "%zu");
    PASS();
}

/* The built-in generator as a caller's: replicate r is stream r, in order and once; all else has other streams. */
typedef struct sought {
    npksd_rng_state state;
    npksd_rng rng;
    size_t replicates, others, wrong;
} sought;

static uint64_t sought_word(void *user_data)
{
    sought *s = (sought *)user_data;
    return s->rng.next_fn(s->rng.user_data);
}

static void sought_stream(uint64_t stream, void *user_data)
{
    sought *s = (sought *)user_data;
    int replicate = stream >> 56 == 0;
    s->wrong += replicate && stream != s->replicates;
    s->replicates += (size_t)replicate;
    s->others += (size_t)!replicate;
    s->rng.seek_fn(stream, s->rng.user_data);
}

TEST streams_of_their_own(size_t v)
{
    npksd_options options = variant_options(v);
    npksd_tester *tester = NULL;
    npksd_result result;
    sought s;
    size_t expected = has_null(&options) ? SMALL_REPLICATES : 0;
    memset(&s, 0, sizeof s);
    s.rng = npksd_rng_seeded(&s.state, options.seed, 0);
    options.rng.next_fn = sought_word;
    options.rng.seek_fn = sought_stream;
    options.rng.user_data = &s;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, NULL));
    npksd_tester_destroy(tester);
    ASSERT_EQ_FMT((size_t)0, s.wrong, "%zu");
    ASSERT_EQ_FMT(expected, s.replicates, "%zu");
    ASSERT(s.others > 0);
    PASS();
}

/* ======== other ways to the same numbers ======== */

enum { WIDTH_MOST = SMALL_M + 3 }; /* with diagnose: T, the columns, the largest column and pair */

/* Replicates in pieces, last piece first, each in a scratch of exactly the promised size. */
static npksd_status draw_in_pieces(npksd_tester *tester, size_t piece)
{
    npksd_real values[SMALL_REPLICATES * WIDTH_MOST];
    size_t bytes = npksd_tester_scratch_size(tester), end = SMALL_REPLICATES;
    npksd_status status = NPKSD_OK;
    while (status == NPKSD_OK && end > 0) {
        npksd_worker worker;
        size_t count = end < piece ? end : piece, odd = end % 17;
        unsigned char *scratch = (unsigned char *)malloc(bytes + odd);
        memset(&worker, 0, sizeof worker);
        memset(scratch, 0xFF, bytes + odd); /* not numbers: nothing there may be read before it is written */
        worker.scratch = scratch + odd;
        worker.scratch_bytes = bytes;
        end -= count;
        status = npksd_tester_replicates(tester, &worker, end, count, values);
        if (status == NPKSD_OK)
            status = npksd_tester_merge(tester, end, count, values);
        free(scratch);
    }
    return status;
}

TEST workers_equal_steps(size_t v)
{
    npksd_options options = variant_options(v);
    outcome whole, pieces;
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &whole));
    for (size_t piece = 1; piece <= SMALL_REPLICATES; piece += 6 * stride(3)) {
        npksd_tester *tester = NULL;
        memset(&pieces, 0, sizeof pieces);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL,
                                                    &options));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
        ASSERT_EQ_FMT((size_t)(options.diagnose ? WIDTH_MOST : 1), npksd_tester_width(tester), "%zu");
        ASSERT_STATUS(NPKSD_OK, draw_in_pieces(tester, piece));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, pieces.null_values, SMALL_REPLICATES,
                                                  &pieces.null_count));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &pieces.result, NULL));
        npksd_tester_destroy(tester);
        ASSERT(same_outcome(&whole, &pieces));
    }
    PASS();
}

/* Replicate r is a data set like any other: its rows, given to check, return null value r. */
TEST rows_of_a_replicate(size_t v)
{
    npksd_options options = variant_options(v);
    npksd_tester *tester = NULL;
    npksd_real rows[SMALL_N * SMALL_M], null_values[SMALL_REPLICATES];
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, null_values, SMALL_REPLICATES, NULL));
    for (size_t r = 0; r < SMALL_REPLICATES; r++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, options.seed, r);
        npksd_result result;
        chain_sample(rows, SMALL_N, SMALL_M, &rng, NULL);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
        ASSERT_MEM_EQ(&null_values[r], &result.statistic, sizeof result.statistic);
        ASSERT(is_p_value(result.p_value, null_values, null_values[r]));
    }
    npksd_tester_destroy(tester);
    PASS();
}

/* A generator with random numbers of its own, which one word of the rng seeds at the start of every call. */
static int foreign_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    uint64_t word = rng->next_fn(rng->user_data);
    (void)unused;
    for (size_t i = 0; i < count * m; i++) {
        word = word * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        rows[i] = (npksd_real)(word >> 40);
    }
    return 0;
}

TEST numbers_of_its_own(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_result whole, pieces;
    npksd_self_check_result check;
    ASSERT_STATUS(NPKSD_OK, npksd_test(data, SMALL_N, SMALL_M, foreign_sample, NULL, &options, &whole));
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, foreign_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    ASSERT_STATUS(NPKSD_OK, draw_in_pieces(tester, 4));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &pieces, NULL));
    npksd_tester_destroy(tester);
    ASSERT(same_result(&whole, &pieces));
    ASSERT_STATUS(NPKSD_OK,
                  npksd_self_check(SMALL_N, SMALL_M, foreign_sample, NULL, &options, 20, &check));
    ASSERT(check.repeatable && !check.suspicious);
    PASS();
}

/* ======== a check in steps ======== */

enum { MANY_ROWS = 300 };

typedef struct reasons {
    npksd_real numbers[5][SMALL_M], influence[MANY_ROWS];
    npksd_pair pairs[SMALL_M];
    npksd_diagnosis diagnosis;
} reasons;

/* All that these options can answer. */
static npksd_diagnosis *ask(reasons *r, const npksd_options *options)
{
    memset(r, 0, sizeof *r);
    r->diagnosis.row_influence = r->influence;
    if (!options->diagnose)
        return &r->diagnosis;
    r->diagnosis.coordinate_statistic = r->numbers[0];
    r->diagnosis.coordinate_p = r->numbers[1];
    r->diagnosis.coordinate_p_adjusted = r->numbers[2];
    r->diagnosis.coordinate_shift = r->numbers[3];
    r->diagnosis.coordinate_distance = r->numbers[4];
    r->diagnosis.pairs = r->pairs;
    r->diagnosis.pair_capacity = SMALL_M;
    return &r->diagnosis;
}

static int same_reasons(const reasons *a, const reasons *b)
{
    return memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0
        && memcmp(a->influence, b->influence, sizeof a->influence) == 0
        && memcmp(a->pairs, b->pairs, sizeof a->pairs) == 0
        && a->diagnosis.pair_count == b->diagnosis.pair_count;
}

TEST check_in_steps(size_t v)
{
    static const size_t patterns[] = { 1, SIZE_MAX, 3, 0 };
    npksd_options options = variant_options(v);
    npksd_tester *tester = NULL;
    npksd_result whole, stepped;
    reasons all, some;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 78);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &whole, ask(&all, &options)));
    for (size_t p = 0; p < 4; p++) {
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
        npksd_status status = NPKSD_MORE;
        while (status == NPKSD_MORE)
            status = npksd_tester_step(tester, next_items(patterns[p], &rng));
        ASSERT_STATUS(NPKSD_OK, status);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(tester, &stepped, ask(&some, &options)));
        ASSERT(same_result(&whole, &stepped));
        ASSERT(same_reasons(&all, &some));
    }
    npksd_tester_destroy(tester);
    PASS();
}

/* So many rows that one panel meets the others in several items. */
TEST items_of_many_rows(const char *words)
{
    enum { N = MANY_ROWS, M = SMALL_M, B = 3 };
    npksd_options options = small_options();
    npksd_tester *whole, *stepped;
    npksd_result first, second;
    reasons all, some;
    npksd_real rows[N * M], null_values[2][B];
    npksd_rng_state state;
    npksd_rng rng;
    options.alpha = (npksd_real)0.25;
    set_options(&options, words);
    options.replicates = B;
    rng = npksd_rng_seeded(&state, options.seed, 1);
    chain_sample(rows, N, M, &rng, NULL); /* those of replicate 1 */
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&whole, N, M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(whole));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&stepped, N, M, chain_sample, NULL, &options));
    npksd_status status = NPKSD_MORE;
    while (status == NPKSD_MORE)
        status = npksd_tester_step(stepped, 1);
    ASSERT_STATUS(NPKSD_OK, status);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(whole, null_values[0], B, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(stepped, null_values[1], B, NULL));
    ASSERT_MEM_EQ(null_values[0], null_values[1], sizeof null_values[0]);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(whole, rows, &first, ask(&all, &options)));
    ASSERT_MEM_EQ(&null_values[0][1], &first.statistic, sizeof first.statistic);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(stepped, rows));
    for (status = NPKSD_MORE; status == NPKSD_MORE;)
        status = npksd_tester_step(stepped, 1);
    ASSERT_STATUS(NPKSD_OK, status);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(stepped, &second, ask(&some, &options)));
    ASSERT(same_result(&first, &second));
    ASSERT(same_reasons(&all, &some));
    npksd_tester_destroy(whole);
    npksd_tester_destroy(stepped);
    PASS();
}

TEST a_pending_check(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_result first, other, result;
    npksd_real rows[SMALL_N * SMALL_M], bad[SMALL_N * SMALL_M];
    for (size_t i = 0; i < SMALL_N * SMALL_M; i++)
        rows[i] = 3 * data[i] + 1;
    memcpy(bad, data, sizeof bad);
    bad[4] = not_a_number();
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &first, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &other, NULL));
    memset(&result, UNTOUCHED, sizeof result);

    /* too early: it stays pending */
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
    ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_check_end(tester, &result, NULL));
    ASSERT_STATUS(NPKSD_MORE, npksd_tester_step(tester, 1));
    ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_check_end(tester, &result, NULL));
    ASSERT(untouched(&result, sizeof result));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, SIZE_MAX));

    /* a diagnosis that was not prepared: it stays pending, too */
    npksd_real p[SMALL_M];
    npksd_diagnosis diagnosis;
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.coordinate_p = p;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_check_end(tester, &result, &diagnosis));
    ASSERT(untouched(&result, sizeof result));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(tester, &result, NULL));
    ASSERT(same_result(&first, &result));
    ASSERT_STATUSm("only once", NPKSD_ERROR_STATE, npksd_tester_check_end(tester, &result, NULL));

    /* a second begin discards the first, be it half done or done */
    for (size_t items = 0; items < 3; items++) {
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, rows));
        ASSERT(npksd_tester_step(tester, items == 2 ? SIZE_MAX : items) >= 0);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, SIZE_MAX));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(tester, &result, NULL));
        ASSERT(same_result(&first, &result));
    }

    /* and so does a check; rows with a NaN change nothing */
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
    ASSERT_STATUS(NPKSD_MORE, npksd_tester_step(tester, 1));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &result, NULL));
    ASSERT(same_result(&other, &result));
    ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_check_end(tester, &result, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
    ASSERT_STATUS(NPKSD_ERROR_NONFINITE, npksd_tester_check_begin(tester, bad));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, SIZE_MAX));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(tester, &result, NULL));
    ASSERT(same_result(&first, &result));
    npksd_tester_destroy(tester);
    PASS();
}

/* A callback that fails in a check's step takes that check with it, and nothing else. */
TEST a_pending_check_fails(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_result first, result;
    test_source source;
    size_t done = 0, total = 0;
    memset(&source, 0, sizeof source);
    options.estimator = NPKSD_ESTIMATOR_CALLBACK;
    options.score_fn = chain_score;
    options.score_user_data = &source;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &first, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
    source.bad_call = source.calls + 2;
    npksd_status status = NPKSD_MORE;
    while (status == NPKSD_MORE)
        status = npksd_tester_step(tester, 1);
    ASSERT_STATUS(NPKSD_ERROR_GENERATOR, status);
    npksd_tester_progress(tester, &done, &total);
    ASSERT_EQ_FMT(total, done, "%zu");
    ASSERT_STATUSm("nothing to do", NPKSD_OK, npksd_tester_step(tester, 1));
    ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_check_end(tester, &result, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(tester, &result, NULL));
    ASSERT(same_result(&first, &result));
    npksd_tester_destroy(tester);
    PASS();
}

TEST blob_equals_tester(size_t v)
{
    npksd_options options = variant_options(v);
    npksd_tester *tester = NULL, *loaded = NULL;
    npksd_result result, again;
    npksd_real scores[2][SMALL_N * SMALL_M];
    reasons here, there;
    size_t bytes = 0, written = 0;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_save(tester, NULL, 0, &bytes));
    unsigned char *blob = (unsigned char *)malloc(bytes);
    ASSERT(blob);
    ASSERT_STATUS(NPKSD_ERROR_MEMORY, npksd_tester_save(tester, blob, bytes - 1, &written));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_save(tester, blob, bytes, &written));
    ASSERT_EQ_FMT(bytes, written, "%zu");
    ASSERT_STATUS(NPKSD_OK, npksd_tester_load(&loaded, blob, bytes, NULL));
    free(blob);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, ask(&here, &options)));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(loaded, data, &again, ask(&there, &options)));
    ASSERT(same_reasons(&here, &there));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(loaded, data));
    ASSERT_STATUS(NPKSD_MORE, npksd_tester_step(loaded, 1));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_step(loaded, SIZE_MAX));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(loaded, &again, ask(&there, &options)));
    ASSERT(same_reasons(&here, &there));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, data, SMALL_N, scores[0]));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(loaded, data, SMALL_N, scores[1]));
    npksd_tester_destroy(loaded);
    npksd_tester_destroy(tester);
    ASSERT(same_result(&result, &again));
    ASSERT_MEM_EQ(scores[0], scores[1], sizeof scores[0]);
    PASS();
}

/* One call, with reasons: the tester's own. */
TEST test_diagnose_equals_tester(size_t v)
{
    npksd_options options = variant_options(v);
    npksd_result plain, result;
    npksd_real null_values[SMALL_REPLICATES];
    outcome tiered;
    reasons by_tester, by_call;
    npksd_tester *tester = NULL;
    options.diagnose = 1;
    if (npksd_options_problem(&options, SMALL_N, SMALL_M) || !has_null(&options))
        PASS(); /* stop_after; linear time with the scalar form */
    ASSERT_STATUS(NPKSD_OK, run(&options, SIZE_MAX, &tiered));
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &plain, ask(&by_tester, &options)));
    npksd_tester_destroy(tester);
    ask(&by_call, &options);
    options.diagnose = 0; /* the call implies it */
    ASSERT_STATUS(NPKSD_OK, npksd_test_diagnose(data, SMALL_N, SMALL_M, chain_sample, NULL, &options,
                                                &result, &by_call.diagnosis, null_values));
    ASSERT(same_result(&plain, &result) && same_result(&tiered.result, &result));
    ASSERT(same_reasons(&by_tester, &by_call));
    ASSERT_MEM_EQ(tiered.null_values, null_values, sizeof null_values);
    ASSERT_STATUS(NPKSD_OK, npksd_test_diagnose(data, SMALL_N, SMALL_M, chain_sample, NULL, &options,
                                                &result, NULL, null_values));
    PASS();
}

/* ======== check does not disturb ======== */

TEST checks_do_not_disturb_each_other(size_t v)
{
    npksd_options options = variant_options(v);
    npksd_tester *tester = NULL;
    npksd_result first, between, again;
    npksd_real other[SMALL_N * SMALL_M], scores[SMALL_N * SMALL_M];
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    for (size_t i = 0; i < SMALL_N * SMALL_M; i++)
        other[i] = 3 * data[i] + 1;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &first, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, other, &between, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, other, SMALL_N, scores));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, 5));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &again, NULL));
    ASSERT(same_result(&first, &again));
    ASSERT_NEQ(first.statistic, between.statistic);
    npksd_tester_destroy(tester);
    PASS();
}

/* Nor do scores that are asked for while replicates are drawn, be they for as many rows or for more. */
TEST scores_do_not_disturb_steps(size_t v)
{
    npksd_options options = variant_options(v);
    npksd_tester *tester = NULL;
    npksd_result alone, between;
    npksd_real rows[2 * SMALL_N * SMALL_M], scores[2 * SMALL_N * SMALL_M];
    npksd_status status = NPKSD_MORE;
    draw_rows(rows, 2 * SMALL_N, SMALL_M, test_seed);
    options.stop_after = 0;
    ASSERT_STATUS(NPKSD_OK, npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, &alone));
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    for (size_t turn = 1; status == NPKSD_MORE; turn++) {
        status = npksd_tester_step(tester, 1);
        npksd_tester_scores(tester, rows, turn % 3 ? SMALL_N : 2 * SMALL_N, scores);
    }
    ASSERT_STATUS(NPKSD_OK, status);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &between, NULL));
    npksd_tester_destroy(tester);
    ASSERT(same_result(&alone, &between));
    PASS();
}

/* Scores of many rows are those of each row alone. */
TEST scores_row_by_row(size_t v)
{
    npksd_options options = variant_options(v);
    npksd_tester *tester = NULL;
    npksd_real together[SMALL_N * SMALL_M], alone[SMALL_N * SMALL_M];
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, data, SMALL_N, together));
    for (size_t r = 0; r < SMALL_N; r++)
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, data + r * SMALL_M, 1,
                                                    alone + r * SMALL_M));
    for (size_t i = 0; i < SMALL_N * SMALL_M; i++)
        ASSERT_IN_RANGE(together[i], alone[i], sizeof(npksd_real) == 4 ? 1e-3 : 1e-9);
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== units ======== */

static int scaled_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *factor)
{
    chain_sample(rows, count, m, rng, NULL);
    for (size_t i = 0; i < count * m; i++)
        rows[i] *= *(const npksd_real *)factor;
    return 0;
}

/* A power of two changes no digit, so that not one bit of the answer may change. */
TEST units_do_not_matter(size_t v)
{
    static const int powers[] = { 10, -10, sizeof(npksd_real) == 4 ? 100 : 900,
                                  sizeof(npksd_real) == 4 ? -100 : -900 };
    npksd_options options = variant_options(v);
    npksd_real rows[SMALL_N * SMALL_M], factor = 1;
    npksd_result plain, scaled;
    ASSERT_STATUS(NPKSD_OK, npksd_test(data, SMALL_N, SMALL_M, scaled_sample, &factor, &options,
                                       &plain));
    for (size_t p = 0; p < 4; p++) {
        factor = 1;
        for (int k = powers[p]; k != 0; k += k > 0 ? -1 : 1)
            factor *= powers[p] > 0 ? (npksd_real)2 : (npksd_real)0.5;
        for (size_t i = 0; i < SMALL_N * SMALL_M; i++)
            rows[i] = data[i] * factor;
        ASSERT_STATUS(NPKSD_OK, npksd_test(rows, SMALL_N, SMALL_M, scaled_sample, &factor, &options,
                                           &scaled));
        ASSERT(same_result(&plain, &scaled));
    }
    PASS();
}

/* ======== progress ======== */

/* Items are counted one by one: those of the fit, and those of a check that is pending. */
TEST progress(size_t v)
{
    npksd_options options = variant_options(v);
    npksd_tester *tester = NULL;
    npksd_result result;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 77);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    size_t done = 1, total = 0, before = 0, all = 0, prepared = 0;
    npksd_tester_progress(tester, &before, &all);
    ASSERT_EQ_FMT((size_t)0, before, "%zu");
    ASSERT(all > 0);
    for (int check = 0; check < 2; check++) {
        npksd_status status = NPKSD_MORE;
        while (status == NPKSD_MORE) {
            size_t items = next_items(0, &rng), left = all - before;
            status = npksd_tester_step(tester, items);
            npksd_tester_progress(tester, &done, &total);
            ASSERT_EQ_FMT(all, total, "%zu");
            ASSERT_EQ_FMT(before + (items < left ? items : left), done, "%zu");
            ASSERT_STATUS(done < all ? NPKSD_MORE : NPKSD_OK, status);
            before = done;
        }
        ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, 1));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, SIZE_MAX));
        npksd_tester_progress(tester, &done, NULL);
        npksd_tester_progress(tester, NULL, &total);
        ASSERT_EQ_FMT(all, done, "%zu");
        ASSERT_EQ_FMT(all, total, "%zu");
        if (check == 0) {
            prepared = all;
            ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
            npksd_tester_progress(tester, &before, &all);
            ASSERT_EQ_FMT(prepared, before, "%zu");
            ASSERT(all > prepared);
        }
    }
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(tester, &result, NULL));
    npksd_tester_progress(tester, &done, &total);
    ASSERT_EQ_FMT(prepared, done, "%zu");
    ASSERT_EQ_FMT(prepared, total, "%zu");
    npksd_tester_destroy(tester);
    PASS();
}

/* What others have drawn counts as done as soon as its turn comes. */
TEST progress_with_workers(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_real values[SMALL_REPLICATES] = { 0 };
    size_t done = 0, total = 0, left = 0;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    npksd_tester_progress(tester, &done, &total);
    left = total - done;
    ASSERT_EQ_FMT((size_t)0, left % SMALL_REPLICATES, "%zu");
    ASSERT_STATUS(NPKSD_OK, npksd_tester_merge(tester, 0, 3, values));
    npksd_tester_progress(tester, &done, NULL);
    ASSERT_EQ_FMT(left - 3 * (left / SMALL_REPLICATES), total - done, "%zu");
    ASSERT_STATUS(NPKSD_OK, npksd_tester_merge(tester, SMALL_REPLICATES - 2, 2, values));
    size_t steps = 0;
    while (npksd_tester_step(tester, 1) == NPKSD_MORE)
        steps++;
    ASSERT_EQ_FMT(left - 5 * (left / SMALL_REPLICATES), steps + 1, "%zu");
    npksd_tester_progress(tester, &done, NULL);
    ASSERT_EQ_FMT(total, done, "%zu");
    npksd_tester_destroy(tester);
    PASS();
}

TEST a_generator_call_is_an_item(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    test_source source;
    memset(&source, 0, sizeof source);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, &source,
                                                &options));
    ASSERT_EQ_FMT((size_t)0, source.calls, "%zu");
    npksd_status status = NPKSD_MORE;
    while (status == NPKSD_MORE) {
        size_t calls = source.calls;
        status = npksd_tester_step(tester, 1);
        ASSERT_LTE(source.calls - calls, (size_t)1);
    }
    ASSERT_STATUS(NPKSD_OK, status);
    npksd_tester_destroy(tester);
    PASS();
}

/* Items of a data set: those of one replicate more. */
static size_t items_of(size_t n, size_t features)
{
    size_t totals[2] = { 0, 0 };
    for (size_t k = 0; k < 2; k++) {
        npksd_options options = small_options();
        npksd_tester *tester = NULL;
        options.features = features;
        options.replicates += k;
        if (npksd_tester_create(&tester, n, 1, chain_sample, NULL, &options) != NPKSD_OK)
            return 0;
        npksd_tester_progress(tester, NULL, &totals[k]);
        npksd_tester_destroy(tester);
    }
    return totals[1] - totals[0];
}

/* Twice the rows are four times the work, or twice with features; twice the features, twice the work. */
TEST items_grow_as_stated(void)
{
    enum { N = 1024 };
    size_t n1 = items_of(N, 0), n2 = items_of(2 * N, 0), n4 = items_of(4 * N, 0);
    ASSERT(n1 > 0 && n4 - n2 > 3 * (n2 - n1) && n4 - n2 <= 4 * (n2 - n1));
    n1 = items_of(N, 512), n2 = items_of(2 * N, 512), n4 = items_of(4 * N, 512);
    ASSERT_EQ_FMT(2 * (n2 - n1), n4 - n2, "%zu");
    ASSERT(n1 > 0 && n4 < items_of(4 * N, 0));
    n2 = items_of(N, 1024), n4 = items_of(N, 2048);
    ASSERT_EQ_FMT(2 * (n2 - n1), n4 - n2, "%zu");
    ASSERT(n2 > n1);
    PASS();
}

TEST step_errors_are_sticky(void)
{
    npksd_options options = small_options();
    test_source source = { 0, 0, 0, FAULT_NAN, 0 };
    for (source.bad_call = 1; source.bad_call < 30; source.bad_call++) {
        npksd_tester *tester = NULL;
        npksd_status status = NPKSD_MORE;
        source.calls = 0;
        source.fault = FAULT_NAN;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample,
                                                    &source, &options));
        while (status == NPKSD_MORE)
            status = npksd_tester_step(tester, 2);
        size_t calls = source.calls, done = 0, later = 0;
        npksd_tester_progress(tester, &done, NULL);
        for (size_t again = 0; again < 3; again++) {
            ASSERT_STATUS(NPKSD_ERROR_NONFINITE, status);
            status = npksd_tester_step(tester, again == 0 ? 0 : SIZE_MAX);
        }
        npksd_tester_progress(tester, &later, NULL);
        ASSERT_EQ_FMT(calls, source.calls, "%zu");
        ASSERT_EQ_FMT(done, later, "%zu");
        npksd_tester_destroy(tester);
    }
    PASS();
}

static void run_variants(void)
{
#define RUN_VARIANT(test)                                                                         \
    do {                                                                                          \
        greatest_set_test_suffix(variant_name(v));                                                \
        RUN_TEST1(test, v);                                                                       \
    } while (0)
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        RUN_VARIANT(any_step_pattern);
        RUN_VARIANT(the_seed_decides);
        if (options.stop_after == 0) /* npksd_test may draw fewer replicates then */
            RUN_VARIANT(one_call_equals_tester);
        if (has_null(&options))
            RUN_VARIANT(p_value_from_null_values);
        RUN_VARIANT(own_rng_with_streams_equals_built_in);
        RUN_VARIANT(streams_of_their_own);
        RUN_VARIANT(sequential_rng);
        RUN_VARIANT(checks_do_not_disturb_each_other);
        RUN_VARIANT(scores_do_not_disturb_steps);
        RUN_VARIANT(scores_row_by_row);
        RUN_VARIANT(progress);
        RUN_VARIANT(check_in_steps);
        RUN_VARIANT(test_diagnose_equals_tester);
        if (has_null(&options) && !(options.smooth > 0) && !options.resample_redraw)
            RUN_VARIANT(rows_of_a_replicate);
        if (has_null(&options))
            RUN_VARIANT(workers_equal_steps);
        if (options.estimator != NPKSD_ESTIMATOR_CALLBACK
            && options.summary != NPKSD_SUMMARY_CALLBACK)
            RUN_VARIANT(blob_equals_tester);
        if (options.standardize && options.estimator != NPKSD_ESTIMATOR_CALLBACK)
            RUN_VARIANT(units_do_not_matter);
    }
#undef RUN_VARIANT
}

SUITE(suite_determinism)
{
    RUN_TEST(create_draws_nothing);
    draw_rows(data, SMALL_N, SMALL_M, test_seed + 3000);
    run_variants();
    RUN_TEST1(trials_share_no_numbers, 0);
    RUN_TEST1(trials_share_no_numbers, 1);
    RUN_TEST(numbers_of_its_own);
    RUN_TEST(early_stop_counts_the_same_null);
    RUN_TEST1(items_of_many_rows, "");
    RUN_TEST1(items_of_many_rows, "diagnose");
    RUN_TEST1(items_of_many_rows, "diagnose features=20 stein moment");
    RUN_TEST1(items_of_many_rows, "imq v scalar scales=0.3,2,0.125");
    RUN_TEST(a_pending_check);
    RUN_TEST(a_pending_check_fails);
    RUN_TEST(progress_with_workers);
    RUN_TEST(a_generator_call_is_an_item);
    RUN_TEST(items_grow_as_stated);
    RUN_TEST(step_errors_are_sticky);
}
