/* What must not change when something else does, over random problems (trials.h): no reference needed, the library is
   its own. "To the bit" where the same sums are taken in the same order, a stated bound elsewhere. */
#include "ref_tester.h"
#include "trials.h"

enum { WIDTH = TRIAL_M + 3, PAIRS = TRIAL_M * (TRIAL_M - 1) / 2 };

typedef struct reasons {
    npksd_real numbers[5][TRIAL_M], influence[TRIAL_N];
    npksd_pair pairs[PAIRS];
    npksd_diagnosis diagnosis;
} reasons;

typedef struct answer {
    npksd_real null_values[TRIAL_REPLICATES];
    npksd_result result;
    reasons why;
} answer;

/* All that these options can answer. */
static npksd_diagnosis *ask(reasons *why, const npksd_options *options)
{
    memset(why, 0, sizeof *why);
    why->diagnosis.row_influence = why->influence;
    if (!options->diagnose)
        return &why->diagnosis;
    why->diagnosis.coordinate_statistic = why->numbers[0];
    why->diagnosis.coordinate_p = why->numbers[1];
    why->diagnosis.coordinate_p_adjusted = why->numbers[2];
    if (options->calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP)
        return &why->diagnosis; /* no fit sample */
    why->diagnosis.coordinate_shift = why->numbers[3];
    why->diagnosis.coordinate_distance = why->numbers[4];
    why->diagnosis.pairs = why->pairs;
    why->diagnosis.pair_capacity = PAIRS;
    return &why->diagnosis;
}

static npksd_status create(const trial *t, npksd_tester **tester)
{
    return npksd_tester_create(tester, t->n, t->m, trial_sample, (void *)&t->source, &t->options);
}

static npksd_status read_answer(const trial *t, npksd_tester *tester, const npksd_real *rows, answer *out)
{
    memset(out, 0, sizeof *out);
    npksd_status status = npksd_tester_check(tester, rows, &out->result, ask(&out->why, &t->options));
    if (status == NPKSD_OK)
        status = npksd_tester_null(tester, out->null_values, t->options.replicates, NULL);
    return status;
}

static npksd_status plain_answer(const trial *t, answer *out)
{
    npksd_tester *tester;
    npksd_status status = create(t, &tester);
    if (status == NPKSD_OK)
        status = finish(tester);
    if (status == NPKSD_OK)
        status = read_answer(t, tester, t->observed, out);
    npksd_tester_destroy(tester);
    return status;
}

enum { SYNTHETIC = 30 };

/* The same question with SYNTHETIC fixed rows; 1 = such options fit. */
static int can_sample(const trial *t)
{
    return npksd_samples_problem(&t->options, t->n, SYNTHETIC, t->m) == NULL;
}

static npksd_status samples_answer(const trial *t, const npksd_real *synthetic, answer *out)
{
    memset(out, 0, sizeof *out);
    return npksd_test_samples_diagnose(t->observed, t->n, synthetic, SYNTHETIC, t->m, &t->options, &out->result,
                                       t->options.diagnose ? ask(&out->why, &t->options) : NULL, out->null_values);
}

static int same_reasons(const reasons *a, const reasons *b)
{
    return memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0
        && memcmp(a->influence, b->influence, sizeof a->influence) == 0
        && memcmp(a->pairs, b->pairs, sizeof a->pairs) == 0 && a->diagnosis.pair_count == b->diagnosis.pair_count;
}

static int same_answer(const answer *a, const answer *b)
{
    return memcmp(a->null_values, b->null_values, sizeof a->null_values) == 0 && same_result(&a->result, &b->result)
        && same_reasons(&a->why, &b->why);
}

/* Of few rows, or of a constant column alone, components may say the same: rounding decides which leads. */
static int components_agree(const trial *t)
{
    return t->n < 3 || (t->source.shape == TRIAL_CONSTANT && t->options.resample > 0);
}

/* T of the observed rows and of all replicates, threshold, ksd2 and influences within the bound, and the same verdict:
   p and its interval to the bit. (Where float is allowed so much that replicates may change places, p may differ by
   those that can.) Row rows[k] of a is row k of b; NULL: row k. */
static int near_answer(const trial *t, const answer *a, const answer *b, const size_t *rows, double bound)
{
    const npksd_result *x = &a->result, *y = &b->result;
    double near = 0, size = 1; /* size: of what ksd2 and influences are sums of */
    for (size_t r = 0; r < TRIAL_REPLICATES && bound > 0.01; r++)
        near += fabs((double)(a->null_values[r] - x->statistic)) < 2 * bound * (1 + fabs((double)a->null_values[r]));
    for (size_t k = 0; k < t->n; k++)
        size = fmax(size, 1 + fabs((double)a->why.influence[k]));
    int good = agree("T", (double)x->statistic, (double)y->statistic, bound * (1 + fabs((double)x->statistic)));
    good &= agree("threshold", (double)x->threshold, (double)y->threshold, bound * (1 + fabs((double)x->threshold)));
    for (size_t r = 0; r < TRIAL_REPLICATES; r++)
        good &= agree("null value", (double)a->null_values[r], (double)b->null_values[r],
                      bound * (1 + fabs((double)a->null_values[r])));
    for (size_t k = 0; k < t->n; k++)
        good &= agree("influence", (double)a->why.influence[rows ? rows[k] : k], (double)b->why.influence[k],
                      bound * size);
    if (a->why.diagnosis.row_influence) /* otherwise its size is unknown */
        good &= agree("ksd2", (double)x->ksd2, (double)y->ksd2, bound * size);
    good &= agree("bandwidth", (double)x->bandwidth, (double)y->bandwidth, bound * (double)x->bandwidth);
    good &= agree("out of range", (double)x->out_of_range, (double)y->out_of_range, 0) && x->flags == y->flags;
    if (near > 0)
        return good && agree("p", (double)x->p_value, (double)y->p_value, near / (TRIAL_REPLICATES + 1));
    return good && agree("p", (double)x->p_value, (double)y->p_value, 0)
        && agree("p_low", (double)x->p_low, (double)y->p_low, 0)
        && agree("p_high", (double)x->p_high, (double)y->p_high, 0) && x->reject == y->reject
        && (components_agree(t) || agree("leading", x->leading, y->leading, 0));
}

/* Column order[i] of a is column i of b (NULL: column i), and so for pairs: the same p-values; statistic, shift,
   distance and correlations within the bound. */
static int near_reasons(const reasons *a, const reasons *b, size_t m, const size_t *order, double bound)
{
    static const char *const names[] = { "v_i", "column's p", "column's adjusted p", "shift", "distance" };
    int good = a->diagnosis.pair_count == b->diagnosis.pair_count;
    for (size_t i = 0; i < m; i++)
        for (int what = 0; what < 5; what++) {
            double x = (double)a->numbers[what][order ? order[i] : i], y = (double)b->numbers[what][i];
            good &= agree(names[what], x, y, what == 1 || what == 2 ? 0 : bound * (1 + fabs(x)));
        }
    for (size_t k = 0; k < b->diagnosis.pair_count; k++) {
        const npksd_pair *moved = &b->pairs[k];
        size_t found = 0, i = order ? order[moved->first] : moved->first;
        size_t j = order ? order[moved->second] : moved->second;
        for (size_t l = 0; l < a->diagnosis.pair_count; l++) {
            const npksd_pair *pair = &a->pairs[l];
            if (pair->first != (i < j ? i : j) || pair->second != (i < j ? j : i))
                continue;
            found++;
            good &= agree("pair's p", (double)pair->p_adjusted, (double)moved->p_adjusted, 0);
            good &= agree("correlation", (double)pair->observed, (double)moved->observed, bound);
            good &= agree("expected", (double)pair->expected, (double)moved->expected, bound);
        }
        good &= found == 1;
    }
    return good;
}

/* The problem that a failure is about. */
static const char *about(const trial *t)
{
    static char text[600];
    const npksd_options *o = &t->options;
    snprintf(text, sizeof text,
             "%zu rows of %zu, shape %d, \"%s\", then components %u, degree %zu, ridge %g, summary_dim %zu, alpha %g, "
             "fit_rows %zu, scale_count %zu, calibration %d (NPKSD_TEST_SEED=%llu)",
             t->n, t->m, (int)t->source.shape, t->words, o->components, o->degree, (double)o->ridge, o->summary_dim,
             (double)o->alpha, o->fit_rows, o->scale_count, o->calibration, (unsigned long long)test_seed);
    return text;
}

/* Trials that fit a relation, one after the other. */
typedef struct trials {
    trial t;
    npksd_rng_state state;
    npksd_rng rng; /* for the relation's own choices */
    uint64_t next;
    size_t left;
} trials;

static void trials_begin(trials *s, size_t count)
{
    memset(s, 0, sizeof *s);
    s->rng = npksd_rng_seeded(&s->state, test_seed, 4711);
    s->left = test_quick ? (count + 2) / 3 : count;
}

static int trials_next(trials *s, int (*fits)(const trial *t))
{
    if (s->left-- == 0)
        return 0;
    do {
        trial_make(&s->t, test_seed, s->next++);
        trial_vary(&s->t, &s->rng);
    } while (npksd_options_problem(&s->t.options, s->t.n, s->t.m) || (fits && !fits(&s->t)));
    return 1;
}

static void random_order(npksd_rng *rng, size_t *order, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        size_t other = trial_below(rng, k + 1);
        order[k] = order[other];
        order[other] = k;
    }
}

/* ======== the same questions in other ways: to the bit ======== */

/* Steps of any size, a check in steps, a block at any address. */
TEST other_steps(void)
{
    trials s;
    answer whole, stepped;
    for (trials_begin(&s, 120); trials_next(&s, NULL);) {
        npksd_tester *tester = NULL;
        size_t bytes = 0, odd = trial_below(&s.rng, 17);
        npksd_status status = NPKSD_MORE;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &whole));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_size(s.t.n, s.t.m, &s.t.options, &bytes));
        unsigned char *block = (unsigned char *)malloc(bytes + odd);
        ASSERT(block);
        memset(block, 0x5A, bytes + odd);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_init(&tester, s.t.n, s.t.m, trial_sample, &s.t.source, &s.t.options,
                                                  block + odd, bytes));
        while (status == NPKSD_MORE)
            status = npksd_tester_step(tester, trial_below(&s.rng, 9));
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, status);
        ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, s.t.observed, &stepped));
        ASSERTm(about(&s.t), same_answer(&whole, &stepped));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, s.t.observed));
        for (status = NPKSD_MORE; status == NPKSD_MORE;)
            status = npksd_tester_step(tester, trial_below(&s.rng, 4));
        memset(&stepped.result, 0, sizeof stepped.result);
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(tester, &stepped.result, ask(&stepped.why, &s.t.options)));
        ASSERTm(about(&s.t), same_answer(&whole, &stepped));
        npksd_tester_destroy(tester);
        free(block);
    }
    PASS();
}

/* One call instead of a tester; its null values; and what alpha decides is the verdict alone. */
TEST one_call(void)
{
    trials s;
    answer whole, called;
    for (trials_begin(&s, 120); trials_next(&s, NULL);) {
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &whole));
        memset(&called, 0, sizeof called);
        ASSERT_STATUSm(about(&s.t), NPKSD_OK,
                       npksd_test_diagnose(s.t.observed, s.t.n, s.t.m, trial_sample, &s.t.source, &s.t.options,
                                           &called.result, s.t.options.diagnose ? ask(&called.why, &s.t.options) : NULL,
                                           called.null_values));
        ASSERTm(about(&s.t), same_result(&whole.result, &called.result));
        ASSERT_MEM_EQm(about(&s.t), whole.null_values, called.null_values, sizeof whole.null_values);
        ASSERTm(about(&s.t), !s.t.options.diagnose || same_reasons(&whole.why, &called.why));
        s.t.options.alpha = (npksd_real)0.5;
        ASSERT_STATUS(NPKSD_OK, plain_answer(&s.t, &called));
        ASSERT_EQm(about(&s.t), called.result.p_value <= s.t.options.alpha, called.result.reject);
        called.result.reject = whole.result.reject;
        called.result.threshold = whole.result.threshold;
        ASSERTm(about(&s.t), same_answer(&whole, &called));
    }
    PASS();
}

static int monte_carlo(const trial *t) { return t->options.calibration == NPKSD_CALIBRATE_MONTE_CARLO; }

/* More replicates are more of the same: those before stay. So do they with early stopping. */
TEST more_replicates(void)
{
    enum { MORE = 31 };
    trials s;
    answer few;
    npksd_real many[MORE];
    for (trials_begin(&s, 80); trials_next(&s, NULL);) {
        npksd_result result;
        size_t reached = 0, used = 0, h = 1 + trial_below(&s.rng, 4);
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &few));
        s.t.options.replicates = MORE;
        ASSERT_STATUS(NPKSD_OK, npksd_test_diagnose(s.t.observed, s.t.n, s.t.m, trial_sample, &s.t.source,
                                                    &s.t.options, &result, NULL, many));
        ASSERT_MEM_EQm(about(&s.t), few.null_values, many, sizeof few.null_values);
        ASSERT_MEM_EQm(about(&s.t), &few.result.statistic, &result.statistic, sizeof result.statistic);
        s.t.options.replicates = TRIAL_REPLICATES;
        s.t.options.stop_after = h;
        if (npksd_options_problem(&s.t.options, s.t.n, s.t.m))
            continue;
        ASSERT_STATUS(NPKSD_OK, npksd_test(s.t.observed, s.t.n, s.t.m, trial_sample, &s.t.source, &s.t.options,
                                           &result));
        double size = fabs((double)few.result.statistic), tie = either(2e-8, 2e-3) * (size > 1 ? size : 1);
        int clear = 1; /* nothing so close that it may count or not */
        for (size_t r = 0; r < TRIAL_REPLICATES; r++) {
            double beyond = (double)few.null_values[r] - (double)few.result.statistic;
            clear &= beyond >= 0 || beyond < -tie;
        }
        while (used < TRIAL_REPLICATES && reached < h)
            reached += few.null_values[used++] >= few.result.statistic;
        if (clear)
            ASSERT_EQ_FMTm(about(&s.t), used, result.replicates, "%zu");
    }
    PASS();
}

static int diagnoses(const trial *t) { return monte_carlo(t) && t->options.diagnose; }

/* With reasons or without: p to the bit, T to 1e-9 (float 1e-3). */
TEST without_diagnosis(void)
{
    trials s;
    answer with, without;
    for (trials_begin(&s, 80); trials_next(&s, diagnoses);) {
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &with));
        s.t.options.diagnose = 0;
        ASSERT_STATUS(NPKSD_OK, plain_answer(&s.t, &without));
        ASSERTm(about(&s.t), near_answer(&s.t, &with, &without, NULL, either(1e-9, 1e-3)));
    }
    PASS();
}

/* Twice, after another recording, after a half-done check of it, after scores. */
TEST check_after_check(void)
{
    trials s;
    answer first, again;
    for (trials_begin(&s, 120); trials_next(&s, NULL);) {
        npksd_tester *tester;
        npksd_real other[TRIAL_N * TRIAL_M], scores[TRIAL_N * TRIAL_M];
        for (size_t k = 0; k < s.t.n * s.t.m; k++)
            other[k] = 3 - 2 * s.t.observed[k];
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, create(&s.t, &tester));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, s.t.observed, &first));
        for (int way = 0; way < 4; way++) {
            if (way == 1)
                ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, other, &again));
            if (way == 2) {
                ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, other));
                ASSERT(npksd_tester_step(tester, trial_below(&s.rng, 4)) >= NPKSD_OK);
            }
            if (way == 3)
                ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, other, s.t.n, scores));
            ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, s.t.observed, &again));
            ASSERTm(about(&s.t), same_answer(&first, &again));
        }
        npksd_tester_destroy(tester);
    }
    PASS();
}

/* Workers of any number and split, in any order, the rest left to step; the same with a caller's rng, of which each
   worker with scratch has its own. */
TEST other_workers(void)
{
    trials s;
    answer whole, split;
    for (trials_begin(&s, 120); trials_next(&s, monte_carlo);) {
        npksd_tester *tester;
        caller_rng own, others;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &whole));
        if (trial_below(&s.rng, 2))
            s.t.options.rng = caller_rng_start(&own, s.t.options.seed, 1);
        ASSERT_STATUS(NPKSD_OK, create(&s.t, &tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
        size_t bytes = npksd_tester_scratch_size(tester), width = npksd_tester_width(tester);
        ASSERT(width <= WIDTH);
        for (size_t piece = 1 + trial_below(&s.rng, 6); piece > 0; piece--) {
            npksd_real values[TRIAL_REPLICATES * WIDTH];
            npksd_worker worker;
            size_t start = trial_below(&s.rng, TRIAL_REPLICATES);
            size_t count = 1 + trial_below(&s.rng, TRIAL_REPLICATES - start);
            unsigned char *scratch = (unsigned char *)malloc(bytes + 16); /* a new one: no red zones of another */
            ASSERT(scratch);
            memset(scratch, 0xFF, bytes + 16); /* not numbers */
            memset(&worker, 0, sizeof worker);
            if (trial_below(&s.rng, 4)) {
                worker.scratch = scratch + trial_below(&s.rng, 17);
                worker.scratch_bytes = bytes;
                if (s.t.options.rng.next_fn)
                    worker.rng = caller_rng_start(&others, s.t.options.seed, 1);
            }
            ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, start, count, values));
            ASSERT_STATUS(NPKSD_OK, npksd_tester_merge(tester, start, count, values));
            free(scratch);
        }
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, s.t.observed, &split));
        ASSERTm(about(&s.t), same_answer(&whole, &split));
        npksd_tester_destroy(tester);
    }
    PASS();
}

/* A caller's rng that gives the same words in place of the built-in one, with a generator and with fixed samples. */
TEST own_rng(void)
{
    trials s;
    answer whole, other;
    for (trials_begin(&s, 120); trials_next(&s, NULL);) {
        npksd_real synthetic[SYNTHETIC * TRIAL_M];
        trial turned = s.t;
        caller_rng own;
        trial_sample(synthetic, SYNTHETIC, s.t.m, &s.rng, &s.t.source);
        turned.options.rng = caller_rng_start(&own, s.t.options.seed, 1);
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &whole));
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&turned, &other));
        ASSERTm(about(&s.t), same_answer(&whole, &other) && own.seeks > 0);
        if (!can_sample(&s.t))
            continue;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, samples_answer(&s.t, synthetic, &whole));
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, samples_answer(&turned, synthetic, &other));
        ASSERTm(about(&s.t), same_answer(&whole, &other));
    }
    PASS();
}

static int can_be_saved(const trial *t) { return !trial_has_callbacks(t); }

/* Saved and loaded, into an allocation and into memory of the caller, and saved again. */
TEST save_and_load(void)
{
    static unsigned char blob[2][1 << 18];
    trials s;
    answer whole, loaded;
    for (trials_begin(&s, 120); trials_next(&s, can_be_saved);) {
        npksd_tester *tester;
        size_t size = 0, again = 0, n = 0, m = 0, bytes = 0;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, create(&s.t, &tester));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, s.t.observed, &whole));
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, npksd_tester_save(tester, blob[0], sizeof blob[0], &size));
        npksd_tester_destroy(tester);
        ASSERT_STATUS(NPKSD_OK, npksd_blob_info(blob[0], size, &n, &m, &bytes));
        ASSERT(n == s.t.n && m == s.t.m);
        unsigned char *block = (unsigned char *)malloc(bytes);
        for (int into = 0; into < 2; into++) {
            ASSERT_STATUS(NPKSD_OK, into ? npksd_tester_load_into(&tester, blob[0], size, block, bytes)
                                         : npksd_tester_load(&tester, blob[0], size, NULL));
            ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, s.t.observed, &loaded));
            ASSERTm(about(&s.t), same_answer(&whole, &loaded));
            ASSERT_STATUS(NPKSD_OK, npksd_tester_save(tester, blob[1], sizeof blob[1], &again));
            ASSERT_EQ_FMT(size, again, "%zu");
            ASSERT_MEM_EQm(about(&s.t), blob[0], blob[1], size);
            npksd_tester_destroy(tester);
        }
        free(block);
    }
    PASS();
}

static int not_smoothed(const trial *t) { return monte_carlo(t) && !(t->options.smooth > 0); }

static int without_noise(const trial *t)
{
    return not_smoothed(t) && !(t->options.resample > 0 && t->options.resample_redraw);
}

/* The rows of replicate r are a recording like any other: T is null value r. */
TEST rows_of_a_replicate(void)
{
    trials s;
    answer whole;
    for (trials_begin(&s, 60); trials_next(&s, without_noise);) {
        npksd_tester *tester;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, create(&s.t, &tester));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, whole.null_values, TRIAL_REPLICATES, NULL));
        for (size_t r = 0; r < TRIAL_REPLICATES; r++) {
            npksd_rng_state state;
            npksd_rng rng = npksd_rng_seeded(&state, s.t.options.seed, r);
            npksd_real rows[TRIAL_N * TRIAL_M];
            trial_sample(rows, s.t.n, s.t.m, &rng, &s.t.source);
            ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, rows, &whole.result, NULL));
            ASSERT_MEM_EQm(about(&s.t), &whole.null_values[r], &whole.result.statistic, sizeof(npksd_real));
            ASSERTm(about(&s.t), whole.result.p_value > (npksd_real)1.5 / (TRIAL_REPLICATES + 1)); /* it meets itself */
        }
        npksd_tester_destroy(tester);
    }
    PASS();
}

/* ======== the same data in another form ======== */

/* Another order of the rows: p to the bit, T to 1e-9 (float 1e-3), and so ksd2 and the reasons; influences move with
   their rows. */
TEST other_order_of_rows(void)
{
    trials s;
    answer whole, moved;
    for (trials_begin(&s, 120); trials_next(&s, not_smoothed);) {
        npksd_tester *tester;
        size_t order[TRIAL_N];
        npksd_real rows[TRIAL_N * TRIAL_M];
        random_order(&s.rng, order, s.t.n);
        for (size_t a = 0; a < s.t.n; a++)
            memcpy(rows + a * s.t.m, s.t.observed + order[a] * s.t.m, s.t.m * sizeof rows[0]);
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, create(&s.t, &tester));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, s.t.observed, &whole));
        ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, rows, &moved));
        ASSERTm(about(&s.t), near_answer(&s.t, &whole, &moved, order, either(1e-9, 1e-3)));
        ASSERTm(about(&s.t), near_reasons(&whole.why, &moved.why, s.t.m, NULL, either(1e-9, 1e-3)));
        npksd_tester_destroy(tester);
    }
    PASS();
}

/* In float, rounding decides a fit of many features to few rows, or of columns that are multiples of each other. */
static int is_well_posed(const trial *t)
{
    int few = t->options.estimator == NPKSD_ESTIMATOR_GAUSS || t->options.estimator == NPKSD_ESTIMATOR_CALLBACK
        || (t->options.estimator == NPKSD_ESTIMATOR_RBF && t->options.ridge > 0);
    return !FLOAT_BUILD || (few && t->source.shape != TRIAL_COPIES);
}

/* Draws that belong to a column's number, callbacks and neighbours know which column is which. */
static int columns_are_alike(const trial *t)
{
    return without_noise(t) && !trial_has_callbacks(t) && t->options.features == 0 && t->options.resample == 0
        && !(t->options.components & NPKSD_COMPONENT_MMD) && t->options.summary != NPKSD_SUMMARY_NEIGHBOURS
        && t->m > 1 && is_well_posed(t);
}

/* Another order of the columns: T to 1e-6 (float: 5e-2), p to the bit, columns and pairs move along. */
TEST other_order_of_columns(void)
{
    trials s;
    answer whole, moved;
    for (trials_begin(&s, 80); trials_next(&s, columns_are_alike);) {
        trial turned = s.t;
        size_t order[TRIAL_M];
        random_order(&s.rng, order, s.t.m);
        turned.source.order = order;
        for (size_t k = 0; k < s.t.n * s.t.m; k++)
            turned.observed[k] = s.t.observed[k / s.t.m * s.t.m + order[k % s.t.m]];
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &whole));
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&turned, &moved));
        ASSERTm(about(&s.t), near_answer(&s.t, &whole, &moved, NULL, either(1e-6, 5e-2)));
        ASSERTm(about(&s.t), near_reasons(&whole.why, &moved.why, s.t.m, order, either(1e-6, 5e-2)));
    }
    PASS();
}

static int has_units(const trial *t) { return t->options.standardize; }

static void in_units(const trial *t, trial *other, const npksd_real *unit)
{
    *other = *t;
    other->source.unit = unit;
    other->options.score_user_data = (void *)unit;
    for (size_t k = 0; k < t->n * t->m; k++)
        other->observed[k] *= unit[k % t->m];
}

/* One unit for all columns, or, if none is constant, one for each. */
static void powers_of_two(trials *s, npksd_real *unit)
{
    int alike = s->t.source.shape == TRIAL_CONSTANT || trial_below(&s->rng, 2);
    for (size_t i = 0; i < s->t.m; i++) {
        int power = (int)trial_below(&s->rng, FLOAT_BUILD ? 60 : 600) - (FLOAT_BUILD ? 30 : 300);
        unit[i] = alike && i > 0 ? unit[0] : (npksd_real)ldexp(1, power);
    }
}

/* Units of powers of two: to the bit. */
TEST other_units(void)
{
    trials s;
    answer whole, scaled;
    for (trials_begin(&s, 120); trials_next(&s, has_units);) {
        npksd_real unit[TRIAL_M];
        trial other;
        powers_of_two(&s, unit);
        in_units(&s.t, &other, unit);
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &whole));
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&other, &scaled));
        ASSERTm(about(&s.t), same_answer(&whole, &scaled));
    }
    PASS();
}

/* Powers of ten round every number: T to 1e-6 (float 5e-2), p to the bit. Columns that were multiples of each other are
   not quite so any more: without these. In float, rounding may move a number from one place among edges to the next,
   and the choice of AUTO, and high powers are rough: without these as well. */
static int rounds_gently(const trial *t)
{
    int turns = t->options.estimator == NPKSD_ESTIMATOR_AUTO || t->options.diagnose || t->options.degree > 1
        || (t->options.components & (NPKSD_COMPONENT_MARGIN | NPKSD_COMPONENT_PAIR))
        || t->source.shape == TRIAL_CAUCHY || t->source.shape == TRIAL_TIES || t->source.shape == TRIAL_CONSTANT;
    return has_units(t) && is_well_posed(t) && t->source.shape != TRIAL_COPIES && !(FLOAT_BUILD && (turns || t->n < 3));
}

TEST decimal_units(void)
{
    trials s;
    answer whole, scaled;
    for (trials_begin(&s, 80); trials_next(&s, rounds_gently);) {
        npksd_real unit[TRIAL_M];
        trial other;
        for (size_t i = 0; i < s.t.m; i++)
            unit[i] = (npksd_real)pow(10, (double)trial_below(&s.rng, 13) - 6);
        for (size_t i = 1; i < s.t.m && s.t.source.shape == TRIAL_CONSTANT; i++)
            unit[i] = unit[0];
        in_units(&s.t, &other, unit);
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &whole));
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&other, &scaled));
        ASSERTm(about(&s.t), near_answer(&s.t, &whole, &scaled, NULL, either(1e-6, 5e-2)));
        ASSERTm(about(&s.t), near_reasons(&whole.why, &scaled.why, s.t.m, NULL, either(1e-6, 5e-2)));
    }
    PASS();
}

/* Scales in another order are the same scales: to the bit, but that a sum may be taken in another order. */
static int has_scales(const trial *t) { return monte_carlo(t) && t->options.scale_count == 3; }

TEST other_order_of_scales(void)
{
    trials s;
    answer whole, turned;
    for (trials_begin(&s, 40); trials_next(&s, has_scales);) {
        npksd_real scales[3];
        size_t order[3];
        random_order(&s.rng, order, 3);
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &whole));
        for (size_t k = 0; k < 3; k++)
            scales[k] = s.t.options.scales[order[k]];
        s.t.options.scales = scales;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &turned));
        ASSERTm(about(&s.t), near_answer(&s.t, &whole, &turned, NULL, either(1e-9, 1e-3)));
    }
    PASS();
}

/* ======== linear time against exact ======== */

static int has_frequencies(const trial *t)
{
    return t->options.kernel == NPKSD_KERNEL_GAUSS && t->options.statistic != NPKSD_STATISTIC_UV && t->n > 2
        && t->source.shape != TRIAL_CAUCHY;
}

/* Frequencies estimate the exact statistic without bias: the mean over 40 seeds is within 5 standard errors of it. */
TEST features_against_exact(void)
{
    enum { SEEDS = 40 };
    trials s;
    for (trials_begin(&s, 60); trials_next(&s, has_frequencies);) {
        npksd_options options = s.t.options;
        npksd_real scores[TRIAL_N * TRIAL_M], some[TRIAL_M], exact = 0, found = 0;
        const npksd_real *weights = trial_below(&s.rng, 2) ? some : NULL;
        double mean = 0, square = 0;
        size_t n = s.t.n;
        trial_score(s.t.observed, n, s.t.m, scores, NULL);
        for (size_t i = 0; i < s.t.m; i++)
            some[i] = (npksd_real)(1 + trial_below(&s.rng, 3)) / (npksd_real)(2 * s.t.m);
        options.bandwidth = (npksd_real)1.5;
        options.features = 0;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK,
                       npksd_statistic(s.t.observed, scores, n, s.t.m, weights, &options, &exact));
        options.features = 96;
        for (options.seed = 0; options.seed < SEEDS; options.seed++) {
            ASSERT_STATUS(NPKSD_OK, npksd_statistic(s.t.observed, scores, n, s.t.m, weights, &options, &found));
            mean += (double)found / SEEDS;
            square += (double)found * (double)found / SEEDS;
        }
        double error = sqrt(fmax(0, square - mean * mean) / (SEEDS - 1));
        ASSERTm(about(&s.t), agree("mean over frequencies", (double)exact, mean,
                                   5 * error + either(1e-10, 1e-4) * (1 + fabs(mean))));
        ASSERTm(about(&s.t), error * sqrt((double)SEEDS) < 0.5 * (1 + fabs((double)exact)));
    }
    PASS();
}

/* A tester with features against one without, with the same fit: influences to 12 parts in sqrt(features) of the
   largest influence (a frequency varies by about its mean), ksd2, a mean of them, to 8, T of STEIN at one scale to 24
   (narrow kernels vary more), T of MOMENT to rounding. */
static int has_testers(const trial *t) { return has_frequencies(t) && monte_carlo(t) && t->m > 1; }

TEST features_of_a_tester(void)
{
    enum { FEATURES = 2048 };
    static const npksd_real at[] = { 1, (npksd_real)0.5, (npksd_real)0.25, (npksd_real)0.125 };
    trials s;
    answer exact, linear;
    for (trials_begin(&s, 40); trials_next(&s, has_testers);) {
        int moment = trial_below(&s.rng, 4) == 0;
        double size = 0;
        s.t.options.components = moment ? NPKSD_COMPONENT_MOMENT : NPKSD_COMPONENT_STEIN;
        s.t.options.scales = &at[trial_below(&s.rng, 4)];
        s.t.options.scale_count = 1;
        s.t.options.features = FEATURES;
        if (npksd_options_problem(&s.t.options, s.t.n, s.t.m))
            continue;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &linear));
        s.t.options.features = 0;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, plain_answer(&s.t, &exact));
        for (size_t a = 0; a < s.t.n; a++)
            size = fmax(size, fabs((double)exact.why.influence[a]));
        double part = size / sqrt((double)FEATURES);
        for (size_t a = 0; a < s.t.n; a++)
            ASSERTm(about(&s.t), agree("influence", (double)exact.why.influence[a], (double)linear.why.influence[a],
                                       12 * part));
        ASSERTm(about(&s.t), agree("ksd2", (double)exact.result.ksd2, (double)linear.result.ksd2, 8 * part));
        double t = (double)exact.result.statistic;
        ASSERTm(about(&s.t), agree("T", t, (double)linear.result.statistic,
                                   moment ? either(1e-9, 1e-2) * (1 + fabs(t)) : 24 * part));
    }
    PASS();
}

/* ======== a tester against the primitive ======== */

/* Unscaled rows, all columns, no noise: what a check sees is what npksd_statistic can be given. */
static int is_plain(const trial *t)
{
    return !(t->options.smooth > 0) && !t->options.standardize && t->options.resample == 0
        && t->source.shape != TRIAL_CAUCHY && t->source.shape != TRIAL_CONSTANT;
}

static int is_wild(const trial *t)
{
    return is_plain(t) && !monte_carlo(t) && t->options.diagnose && t->options.form == NPKSD_FORM_VECTOR;
}

/* ksd2 is U, and the mean of row_influence V, of the scores at scale 1: to 1e-9 (float 1e-3) of the diagonal. So is the
   sum of all columns' parts in vector form. The wild bootstrap says the same. */
TEST check_against_statistic(int (*fits)(const trial *t), size_t count)
{
    trials s;
    answer whole;
    for (trials_begin(&s, count); trials_next(&s, fits);) {
        npksd_tester *tester;
        npksd_real scores[TRIAL_N * TRIAL_M], u = 0, v = 0;
        npksd_options options = s.t.options;
        double mean = 0, parts = 0, diagonal = 1;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, create(&s.t, &tester));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, s.t.observed, &whole));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, s.t.observed, s.t.n, scores));
        npksd_tester_destroy(tester);
        options.bandwidth = whole.result.bandwidth;
        options.scale_count = 0;
        options.statistic = NPKSD_STATISTIC_V;
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(s.t.observed, scores, s.t.n, s.t.m, NULL, &options, &v));
        options.statistic = NPKSD_STATISTIC_U;
        if (s.t.n > 1)
            ASSERT_STATUS(NPKSD_OK, npksd_statistic(s.t.observed, scores, s.t.n, s.t.m, NULL, &options, &u));
        for (size_t a = 0; a < s.t.n; a++)
            mean += (double)whole.why.influence[a] / (double)s.t.n;
        for (size_t k = 0; k < s.t.n * s.t.m; k++)
            diagonal += (double)scores[k] * (double)scores[k] / (double)s.t.n;
        ASSERTm(about(&s.t), agree("ksd2", (double)u, (double)whole.result.ksd2, either(1e-9, 1e-3) * diagonal));
        ASSERTm(about(&s.t), agree("influence", (double)v, mean, either(1e-9, 1e-3) * diagonal));
        if (!s.t.options.diagnose || s.t.options.form != NPKSD_FORM_VECTOR)
            continue;
        for (size_t i = 0; i < s.t.m; i++)
            parts += (double)whole.why.numbers[0][i];
        ASSERTm(about(&s.t), agree("v_i", (double)v, parts, either(1e-9, 1e-3) * diagonal));
    }
    PASS();
}

/* As many pairs as there is room for are the first ones of all. */
static int has_pairs(const trial *t) { return monte_carlo(t) && t->options.diagnose && t->m > 2; }

TEST fewer_pairs(void)
{
    trials s;
    answer whole;
    for (trials_begin(&s, 40); trials_next(&s, has_pairs);) {
        npksd_tester *tester;
        npksd_result result;
        npksd_pair some[PAIRS];
        npksd_diagnosis few;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, create(&s.t, &tester));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, read_answer(&s.t, tester, s.t.observed, &whole));
        size_t all = s.t.m * (s.t.m - 1) / 2;
        ASSERT_EQ_FMTm(about(&s.t), all, whole.why.diagnosis.pair_count, "%zu");
        for (size_t room = 0; room <= all; room++) {
            memset(&few, 0, sizeof few);
            memset(some, UNTOUCHED, sizeof some);
            few.pairs = some;
            few.pair_capacity = room;
            ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, s.t.observed, &result, &few));
            ASSERT_EQ_FMTm(about(&s.t), room, few.pair_count, "%zu");
            ASSERT(untouched(some + room, sizeof some - room * sizeof some[0]));
            for (size_t k = 0; k < room; k++) {
                const npksd_pair *a = &some[k], *b = &whole.why.pairs[k];
                ASSERTm(about(&s.t), a->first == b->first && a->second == b->second);
                ASSERT_MEM_EQm(about(&s.t), &b->p_adjusted, &a->p_adjusted, sizeof a->p_adjusted);
                ASSERTm(about(&s.t), k == 0 || a->p_adjusted >= some[k - 1].p_adjusted);
            }
        }
        npksd_tester_destroy(tester);
    }
    PASS();
}

/* ======== power: one fit, then checks ======== */

static int can_be_replayed(const trial *t) { return without_noise(t) && t->n > 2; }

/* npksd_power rejects what a tester rejects; share and interval follow. */
TEST power_is_many_checks(void)
{
    enum { RUNS = 20 };
    trials s;
    size_t rejected = 0, all = 0;
    for (trials_begin(&s, 40); trials_next(&s, can_be_replayed);) {
        npksd_real factor[TRIAL_M] = { 3, 3, 3, 3, 3 };
        trial_source far = s.t.source;
        npksd_options unused = s.t.options;
        npksd_power_result power;
        npksd_tester *tester;
        recorder log;
        size_t again = 0;
        double low, high;
        far.unit = trial_below(&s.rng, 2) ? factor : NULL;
        recorder_begin(&log, trial_sample, &far, &unused); /* its rows are wanted, not its rng */
        ASSERT_STATUSm(about(&s.t), NPKSD_OK,
                       npksd_power(s.t.n, s.t.m, trial_sample, &s.t.source, recorder_sample, &log,
                                   &s.t.options, RUNS, &power));
        ASSERT_EQ_FMT((size_t)RUNS, log.calls, "%zu");
        ASSERT_STATUS(NPKSD_OK, create(&s.t, &tester));
        ASSERT_STATUS(NPKSD_OK, finish(tester));
        for (size_t k = 0; k < RUNS; k++) {
            npksd_result result;
            ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, log.sets + k * s.t.n * s.t.m, &result, NULL));
            again += (size_t)result.reject;
        }
        npksd_tester_destroy(tester);
        recorder_end(&log);
        ASSERT_EQ_FMTm(about(&s.t), again, power.rejected, "%zu");
        ASSERT_EQ_FMT((size_t)RUNS, power.runs, "%zu");
        ref_clopper_pearson(again, RUNS, 0, &low, &high);
        ASSERT_AGREE("power", (double)again / RUNS, power.power, 1e-6);
        ASSERT_AGREE("low", low, power.low, 1e-5);
        ASSERT_AGREE("high", high, power.high, 1e-5);
        rejected += again;
        all += RUNS;
    }
    ASSERT(rejected > all / 20 && rejected < all);
    PASS();
}

/* ======== fixed samples: who is observed and who is synthetic ======== */

/* Blocks of one strange pool (half of it far away) change their roles at random: whatever the options, p is at most a
   in at most a share a of the cases, up to 5 standard errors. */
TEST roles_of_blocks(void)
{
    enum { ROLES = 6000, BLOCKS = 16, ROWS_MOST = 3 * BLOCKS };
    static const double levels[] = { 0.05, 0.1, 0.25, 0.5 };
    size_t counts[4] = { 0 }, tried = 0;
    trials s;
    for (trials_begin(&s, test_quick ? ROLES / 4 : ROLES); trials_next(&s, monte_carlo);) {
        npksd_real pool[ROWS_MOST * TRIAL_M], rows[ROWS_MOST * TRIAL_M];
        npksd_result result;
        size_t order[BLOCKS], block = 1 + trial_below(&s.rng, 3), width = block * s.t.m;
        size_t n = (4 + trial_below(&s.rng, 5)) * block, all = BLOCKS * block;
        random_order(&s.rng, order, BLOCKS);
        trial_sample(pool, all, s.t.m, &s.rng, &s.t.source);
        for (size_t k = 0; k < all / 2 * s.t.m; k++)
            pool[k] = 3 - pool[k];
        for (size_t k = 0; k < BLOCKS; k++)
            memcpy(rows + k * width, pool + order[k] * width, width * sizeof rows[0]);
        s.t.options.block = block;
        if (npksd_samples_problem(&s.t.options, n, all - n, s.t.m))
            continue;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, npksd_test_samples(rows, n, rows + n * s.t.m, all - n, s.t.m,
                                                                 &s.t.options, &result));
        tried++;
        for (size_t l = 0; l < 4; l++)
            counts[l] += (double)result.p_value <= levels[l] * (1 + 1e-6);
    }
    ASSERT(tried > s.next / 12);
    for (size_t l = 0; l < 4; l++) {
        double expected = levels[l] * (double)tried;
        ASSERT((double)counts[l] <= expected + 5 * sqrt(expected * (1 - levels[l])) + 0.5);
    }
    PASS();
}

/* Units of fixed samples, powers of two as in other_units, rows in blocks or not: to the bit. */
TEST units_of_samples(void)
{
    trials s;
    answer plain, scaled;
    size_t tried = 0;
    for (trials_begin(&s, 120); trials_next(&s, has_units);) {
        npksd_real synthetic[SYNTHETIC * TRIAL_M], unit[TRIAL_M];
        trial other;
        trial_sample(synthetic, SYNTHETIC, s.t.m, &s.rng, &s.t.source);
        s.t.options.block = 1 + trial_below(&s.rng, 3);
        if (!can_sample(&s.t))
            continue;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, samples_answer(&s.t, synthetic, &plain));
        powers_of_two(&s, unit);
        in_units(&s.t, &other, unit);
        for (size_t k = 0; k < SYNTHETIC * s.t.m; k++)
            synthetic[k] *= unit[k % s.t.m];
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, samples_answer(&other, synthetic, &scaled));
        ASSERTm(about(&s.t), same_answer(&plain, &scaled));
        tried++;
    }
    ASSERT(tried > 10);
    PASS();
}

/* Fixed samples with columns in another order: as with a generator. */
TEST columns_of_samples(void)
{
    trials s;
    answer whole, moved;
    size_t tried = 0;
    for (trials_begin(&s, 80); trials_next(&s, columns_are_alike);) {
        npksd_real synthetic[SYNTHETIC * TRIAL_M], turned_synthetic[SYNTHETIC * TRIAL_M];
        trial turned = s.t;
        size_t order[TRIAL_M], m = s.t.m;
        if (!can_sample(&s.t))
            continue;
        random_order(&s.rng, order, m);
        trial_sample(synthetic, SYNTHETIC, m, &s.rng, &s.t.source);
        for (size_t k = 0; k < s.t.n * m; k++)
            turned.observed[k] = s.t.observed[k / m * m + order[k % m]];
        for (size_t k = 0; k < SYNTHETIC * m; k++)
            turned_synthetic[k] = synthetic[k / m * m + order[k % m]];
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, samples_answer(&s.t, synthetic, &whole));
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, samples_answer(&turned, turned_synthetic, &moved));
        ASSERTm(about(&s.t), near_answer(&s.t, &whole, &moved, NULL, either(1e-6, 5e-2)));
        ASSERTm(about(&s.t), near_reasons(&whole.why, &moved.why, m, order, either(1e-6, 5e-2)));
        tried++;
    }
    ASSERT(tried > 5);
    PASS();
}

/* What a diagnosis needs is drawn for MMD and MARGIN as well: p to the bit, T to 1e-9 (float 1e-3). */
static int draws_for_columns(const trial *t)
{
    return monte_carlo(t) && t->options.diagnose
        && (t->options.components & (NPKSD_COMPONENT_MMD | NPKSD_COMPONENT_MARGIN));
}

TEST samples_without_diagnosis(void)
{
    trials s;
    answer with, without;
    size_t tried = 0;
    for (trials_begin(&s, 60); trials_next(&s, draws_for_columns);) {
        npksd_real synthetic[SYNTHETIC * TRIAL_M];
        trial_sample(synthetic, SYNTHETIC, s.t.m, &s.rng, &s.t.source);
        if (!can_sample(&s.t))
            continue;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, samples_answer(&s.t, synthetic, &with));
        s.t.options.diagnose = 0;
        ASSERT_STATUSm(about(&s.t), NPKSD_OK, samples_answer(&s.t, synthetic, &without));
        memcpy(without.why.influence, with.why.influence, sizeof with.why.influence); /* not asked for */
        ASSERTm(about(&s.t), near_answer(&s.t, &with, &without, NULL, either(1e-9, 1e-3)));
        tried++;
    }
    ASSERT(tried > 5);
    PASS();
}

SUITE(suite_metamorphic)
{
    RUN_TEST(other_steps);
    RUN_TEST(one_call);
    RUN_TEST(more_replicates);
    RUN_TEST(without_diagnosis);
    RUN_TEST(check_after_check);
    RUN_TEST(other_workers);
    RUN_TEST(own_rng);
    RUN_TEST(save_and_load);
    RUN_TEST(rows_of_a_replicate);
    RUN_TEST(other_order_of_rows);
    RUN_TEST(other_order_of_columns);
    RUN_TEST(other_units);
    RUN_TEST(decimal_units);
    RUN_TEST(other_order_of_scales);
    RUN_TEST(features_against_exact);
    RUN_TEST(features_of_a_tester);
    RUN_TESTp(check_against_statistic, is_plain, 150);
    RUN_TESTp(check_against_statistic, is_wild, 30);
    RUN_TEST(fewer_pairs);
    RUN_TEST(power_is_many_checks);
    RUN_TEST(roles_of_blocks);
    RUN_TEST(units_of_samples);
    RUN_TEST(columns_of_samples);
    RUN_TEST(samples_without_diagnosis);
}
