/* Whatever the library calls fails at call k, for every k, once or for ever, through every entry: the
   right code, outputs untouched, memory given back, and a tester that still works after a failed check. */
#include "support.h"
#include <setjmp.h>

/* n: two blocks of rows; all else as small as can be, so that every call of every callback has its turn */
enum { FAULT_N = 18, FAULT_M = 2, FAULT_RUNS = 2, FAULT_SYNTHETIC = 40, FAULT_REPLICATES = 3, FEW = 3 };

static npksd_real data[FAULT_N * FAULT_M], synthetic[FAULT_SYNTHETIC * FAULT_M];

/* ======== what may fail ======== */

typedef struct fault_world {
    test_heap heap;
    size_t n;
    test_source sample, score, summary, word;
    uint64_t stuck_at; /* a bad word */
    npksd_rng_state state;
    npksd_rng rng;
    jmp_buf *way_out; /* for seek_fn, once the test has set it ... */
    size_t seeks;     /* ... after so many more of its calls */
    npksd_options options;
    int outputs_kept; /* set by a job: nothing was written */
    size_t failed_checks, good_checks;
} fault_world;

static uint64_t faulty_word(void *user_data)
{
    fault_world *world = (fault_world *)user_data;
    uint64_t word = world->rng.next_fn(world->rng.user_data);
    return shows_fault(&world->word) ? world->stuck_at : word;
}

static void faulty_seek(uint64_t stream, void *user_data)
{
    fault_world *world = (fault_world *)user_data;
    if (world->way_out && world->seeks-- == 0)
        longjmp(*world->way_out, 1);
    world->rng.seek_fn(stream, world->rng.user_data);
}

typedef enum fault_setting {
    WITH_FIT, WITH_SUMMARY, WITH_BUMPS, WITH_SCORE, WITH_BOOTSTRAP, WITH_NOISE, WITH_WAVES, FAULT_SETTINGS
} fault_setting;

static void start_world(fault_world *world, fault_setting setting)
{
    npksd_options *options = &world->options;
    memset(world, 0, sizeof *world);
    world->n = FAULT_N;
    *options = small_options();
    options->fit_rows = 8;
    options->pilot = 2;
    options->replicates = FAULT_REPLICATES;
    options->alpha = (npksd_real)0.25;
    options->allocator = heap_allocator(&world->heap);
    options->summary_user_data = &world->summary;
    options->score_user_data = &world->score;
    switch (setting) {
    case WITH_BUMPS: /* a NaN that reached their exp would be undefined behaviour */
        options->estimator = NPKSD_ESTIMATOR_RBF;
        /* fall through */
    case WITH_SUMMARY:
        options->summary = NPKSD_SUMMARY_CALLBACK;
        options->summary_fn = faulty_sum;
        options->summary_dim = 1;
        break;
    case WITH_BOOTSTRAP:
        options->calibration = NPKSD_CALIBRATE_WILD_BOOTSTRAP;
        options->components = NPKSD_COMPONENT_STEIN;
        /* fall through */
    case WITH_SCORE:
        options->estimator = NPKSD_ESTIMATOR_CALLBACK;
        options->score_fn = chain_score;
        break;
    case WITH_NOISE: /* draws of every kind: normal, index sets, rows of a pool */
        options->smooth = (npksd_real)0.5;
        options->resample = 3;
        break;
    case WITH_WAVES:
        options->features = 5;
        options->resample = 2;
        options->resample_redraw = 1;
        break;
    case WITH_FIT:
    case FAULT_SETTINGS: break;
    }
}

static void own_rng(fault_world *world, int with_seek)
{
    world->n = FEW; /* words come one by one, whatever the blocks */
    world->rng = npksd_rng_seeded(&world->state, world->options.seed, 0);
    world->options.rng.next_fn = faulty_word;
    world->options.rng.seek_fn = with_seek ? faulty_seek : NULL;
    world->options.rng.user_data = world;
}

/* ======== every entry ======== */

typedef npksd_status (*entry_fn)(fault_world *world);

static npksd_status enter_test(fault_world *world)
{
    npksd_result result;
    memset(&result, UNTOUCHED, sizeof result);
    npksd_status status = npksd_test(data, world->n, FAULT_M, chain_sample, &world->sample,
                                     &world->options, &result);
    world->outputs_kept = untouched(&result, sizeof result);
    return status;
}

static npksd_status enter_stopping_test(fault_world *world)
{
    world->options.stop_after =
        world->options.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP ? 0 : FAULT_REPLICATES;
    return enter_test(world);
}

/* Checks until one is good: a failed one must not spoil the next. */
static npksd_status check_again(fault_world *world, npksd_tester *tester)
{
    npksd_result result;
    npksd_real influence[FAULT_N];
    npksd_diagnosis diagnosis;
    npksd_status first = NPKSD_OK, status = NPKSD_ERROR_STATE;
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.row_influence = influence;
    for (int again = 0; again < 3 && status != NPKSD_OK; again++) {
        memset(&result, UNTOUCHED, sizeof result);
        memset(influence, UNTOUCHED, sizeof influence);
        status = npksd_tester_check(tester, data, &result, &diagnosis);
        world->outputs_kept = untouched(&result, sizeof result)
            && untouched(influence, sizeof influence);
        if (again == 0)
            first = status;
        world->failed_checks += status != NPKSD_OK && world->outputs_kept;
        world->good_checks += status == NPKSD_OK;
    }
    world->outputs_kept = first != NPKSD_OK;
    return first;
}

static npksd_status make_tester(fault_world *world, npksd_tester **tester)
{
    *tester = (npksd_tester *)data;
    npksd_status status = npksd_tester_create(tester, world->n, FAULT_M, chain_sample, &world->sample,
                                              &world->options);
    world->outputs_kept = *tester == NULL;
    return status;
}

static npksd_status step_and_check(fault_world *world, npksd_tester *tester)
{
    npksd_status status;
    do
        status = npksd_tester_step(tester, 3);
    while (status == NPKSD_MORE);
    world->outputs_kept = 1;
    return status == NPKSD_OK ? check_again(world, tester) : status;
}

static npksd_status enter_tester(fault_world *world)
{
    npksd_tester *tester;
    npksd_status status = make_tester(world, &tester);
    if (status == NPKSD_OK)
        status = step_and_check(world, tester);
    npksd_tester_destroy(tester);
    return status;
}

/* A check in steps, begun anew until it comes to its end. */
static npksd_status enter_stepped_check(fault_world *world)
{
    npksd_tester *tester;
    npksd_result result;
    npksd_status status = make_tester(world, &tester), first = NPKSD_ERROR_STATE;
    if (status == NPKSD_OK) {
        status = npksd_tester_step(tester, SIZE_MAX);
        world->outputs_kept = 1;
    }
    for (int again = 0; again < 3 && status == NPKSD_OK && first != NPKSD_OK; again++) {
        npksd_status now = npksd_tester_check_begin(tester, data);
        memset(&result, UNTOUCHED, sizeof result);
        if (now == NPKSD_OK)
            do
                now = npksd_tester_step(tester, 1);
            while (now == NPKSD_MORE);
        npksd_status end = npksd_tester_check_end(tester, &result, NULL);
        if (now != NPKSD_OK && end != NPKSD_ERROR_STATE)
            now = NPKSD_MORE; /* a failed check must be gone */
        world->outputs_kept = untouched(&result, sizeof result);
        world->failed_checks += now != NPKSD_OK && world->outputs_kept;
        world->good_checks += now == NPKSD_OK && end == NPKSD_OK;
        first = again == 0 || now == NPKSD_MORE ? now : first;
        if (now == NPKSD_OK)
            break;
    }
    world->outputs_kept = status != NPKSD_OK || first != NPKSD_OK;
    npksd_tester_destroy(tester);
    return status != NPKSD_OK ? status : first;
}

static npksd_status enter_test_diagnose(fault_world *world)
{
    npksd_result result;
    npksd_real out[4 * FAULT_M + FAULT_N + FAULT_REPLICATES];
    npksd_pair pair;
    npksd_diagnosis diagnosis;
    int bootstrap = world->options.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP;
    memset(&diagnosis, 0, sizeof diagnosis);
    memset(&result, UNTOUCHED, sizeof result);
    memset(out, UNTOUCHED, sizeof out);
    memset(&pair, UNTOUCHED, sizeof pair);
    diagnosis.coordinate_statistic = out;
    diagnosis.coordinate_p_adjusted = out + FAULT_M;
    diagnosis.row_influence = out + 4 * FAULT_M;
    if (!bootstrap) { /* which has neither margins nor pairs */
        diagnosis.coordinate_shift = out + 2 * FAULT_M;
        diagnosis.coordinate_distance = out + 3 * FAULT_M;
        diagnosis.pairs = &pair;
        diagnosis.pair_capacity = 1;
    }
    npksd_status status = npksd_test_diagnose(data, world->n, FAULT_M, chain_sample, &world->sample,
                                              &world->options, &result, &diagnosis,
                                              out + 4 * FAULT_M + FAULT_N);
    world->outputs_kept = untouched(&result, sizeof result) && untouched(out, sizeof out)
        && untouched(&pair, sizeof pair) && diagnosis.pair_count == 0;
    return status;
}

static npksd_status enter_init(fault_world *world)
{
    npksd_tester *tester;
    size_t bytes = 0;
    npksd_status status = npksd_tester_size(world->n, FAULT_M, &world->options, &bytes);
    void *workspace = malloc(bytes);
    if (status == NPKSD_OK)
        status = npksd_tester_init(&tester, world->n, FAULT_M, chain_sample, &world->sample,
                                   &world->options, workspace, bytes);
    if (status == NPKSD_OK)
        status = step_and_check(world, tester);
    free(workspace);
    return status;
}

static npksd_status enter_scores(fault_world *world)
{
    npksd_real scores[FAULT_N * FAULT_M];
    npksd_tester *tester;
    npksd_status status = make_tester(world, &tester);
    if (status == NPKSD_OK)
        status = npksd_tester_prepare(tester);
    memset(scores, UNTOUCHED, sizeof scores);
    if (status == NPKSD_OK)
        status = npksd_tester_scores(tester, data, world->n, scores);
    world->outputs_kept = untouched(scores, sizeof scores);
    npksd_tester_destroy(tester);
    return status;
}

static npksd_status enter_workers(fault_world *world)
{
    npksd_real value;
    npksd_tester *tester;
    npksd_status status = make_tester(world, &tester), drawn = NPKSD_OK;
    if (status == NPKSD_OK) {
        status = npksd_tester_prepare(tester);
        world->outputs_kept = 1;
    }
    for (size_t r = 0; r < FAULT_REPLICATES && status == NPKSD_OK && drawn == NPKSD_OK; r++) {
        npksd_worker worker;
        memset(&worker, 0, sizeof worker);
        memset(&value, UNTOUCHED, sizeof value);
        drawn = npksd_tester_replicates(tester, &worker, r, 1, &value);
        if (drawn == NPKSD_OK)
            status = npksd_tester_merge(tester, r, 1, &value);
        world->outputs_kept = untouched(&value, sizeof value);
    }
    if (drawn == NPKSD_ERROR_STATE) /* bootstrap: there are none to draw */
        drawn = status = npksd_tester_step(tester, SIZE_MAX);
    if (drawn == NPKSD_OK && status == NPKSD_OK)
        status = check_again(world, tester);
    npksd_tester_destroy(tester);
    return status != NPKSD_OK ? status : drawn;
}

static npksd_status enter_samples(fault_world *world)
{
    npksd_result result;
    npksd_real out[FAULT_M + FAULT_N + FAULT_REPLICATES];
    npksd_diagnosis diagnosis;
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.coordinate_p = out;
    diagnosis.row_influence = out + FAULT_M;
    memset(&result, UNTOUCHED, sizeof result);
    memset(out, UNTOUCHED, sizeof out);
    npksd_status status = npksd_test_samples_diagnose(
        data, world->n, synthetic, FAULT_SYNTHETIC, FAULT_M, &world->options, &result, &diagnosis,
        out + FAULT_M + FAULT_N);
    world->outputs_kept = untouched(&result, sizeof result) && untouched(out, sizeof out);
    return status;
}

static npksd_status enter_self_check(fault_world *world)
{
    npksd_self_check_result result;
    memset(&result, UNTOUCHED, sizeof result);
    npksd_status status = npksd_self_check(world->n, FAULT_M, chain_sample, &world->sample,
                                           &world->options, FAULT_RUNS, &result);
    world->outputs_kept = untouched(&result, sizeof result);
    return status;
}

static npksd_status enter_power(fault_world *world)
{
    npksd_power_result result;
    memset(&result, UNTOUCHED, sizeof result);
    npksd_status status = npksd_power(world->n, FAULT_M, chain_sample, &world->sample, chain_sample,
                                      &world->sample, &world->options, FAULT_RUNS, &result);
    world->outputs_kept = untouched(&result, sizeof result);
    return status;
}

static npksd_status enter_load(fault_world *world)
{
    npksd_tester *tester, *loaded = (npksd_tester *)data;
    size_t bytes = 0;
    void *blob = NULL;
    npksd_status status = make_tester(world, &tester);
    if (status == NPKSD_OK)
        status = npksd_tester_step(tester, SIZE_MAX);
    if (status == NPKSD_OK)
        status = npksd_tester_save(tester, NULL, 0, &bytes);
    if (status == NPKSD_OK) {
        blob = malloc(bytes);
        status = npksd_tester_save(tester, blob, bytes, &bytes);
    }
    if (status == NPKSD_OK) {
        status = npksd_tester_load(&loaded, blob, bytes, &world->options.allocator);
        world->outputs_kept = loaded == NULL;
        if (status == NPKSD_OK)
            status = check_again(world, loaded);
        npksd_tester_destroy(loaded);
    } else {
        world->outputs_kept = 1;
    }
    npksd_tester_destroy(tester);
    free(blob);
    return status;
}

static npksd_status enter_statistic(fault_world *world)
{
    npksd_real out;
    memset(&out, UNTOUCHED, sizeof out);
    world->options.bandwidth = 1;
    world->options.statistic = NPKSD_STATISTIC_V;
    npksd_status status =
        npksd_statistic(data, synthetic, world->n, FAULT_M, NULL, &world->options, &out);
    world->outputs_kept = untouched(&out, sizeof out);
    return status;
}

static npksd_status enter_median(fault_world *world)
{
    npksd_real out;
    memset(&out, UNTOUCHED, sizeof out);
    npksd_status status = npksd_median_distance(data, world->n, FAULT_M, &world->options, &out);
    world->outputs_kept = untouched(&out, sizeof out);
    return status;
}

static const struct {
    const char *name;
    entry_fn enter;
} entries[] = {
    { "test", enter_test },           { "stopping_test", enter_stopping_test },
    { "test_diagnose", enter_test_diagnose }, { "stepped_check", enter_stepped_check },
    { "tester", enter_tester },       { "scores", enter_scores },
    { "init", enter_init },
    { "workers", enter_workers },     { "samples", enter_samples },
    { "self_check", enter_self_check }, { "power", enter_power },
    { "load", enter_load },           { "statistic", enter_statistic },
    { "median", enter_median },
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

/* ======== each fault at each call ======== */

typedef enum fault_kind {
    NO_MEMORY, GENERATOR_GIVES_UP, GENERATOR_NAN, GENERATOR_INF, SCORE_GIVES_UP, SCORE_NAN,
    SCORE_INF, SUMMARY_NAN, SUMMARY_INF, RNG, RNG_IN_SEQUENCE, FAULT_KINDS
} fault_kind;

static const struct {
    const char *name;
    test_fault fault;
    npksd_status status;
} kinds[FAULT_KINDS] = {
    { "memory", FAULT_RETURN, NPKSD_ERROR_MEMORY },
    { "generator", FAULT_RETURN, NPKSD_ERROR_GENERATOR },
    { "generator NaN", FAULT_NAN, NPKSD_ERROR_NONFINITE },
    { "generator inf", FAULT_INF, NPKSD_ERROR_NONFINITE },
    { "score", FAULT_RETURN, NPKSD_ERROR_GENERATOR },
    { "score NaN", FAULT_NAN, NPKSD_ERROR_NONFINITE },
    { "score inf", FAULT_INF, NPKSD_ERROR_NONFINITE },
    { "summary NaN", FAULT_NAN, NPKSD_ERROR_NONFINITE },
    { "summary inf", FAULT_MINUS_INF, NPKSD_ERROR_NONFINITE },
    { "rng", FAULT_RETURN, NPKSD_OK }, /* it cannot say so: see honest_status */
    { "rng without seek", FAULT_RETURN, NPKSD_OK },
};

static test_source *source_of(fault_world *world, fault_kind kind)
{
    switch (kind) {
    case NO_MEMORY: return &world->heap.asked;
    case SCORE_GIVES_UP:
    case SCORE_NAN:
    case SCORE_INF: return &world->score;
    case SUMMARY_NAN:
    case SUMMARY_INF: return &world->summary;
    case RNG:
    case RNG_IN_SEQUENCE: return &world->word;
    default: return &world->sample;
    }
}

static void start_kind(fault_world *world, fault_setting setting, fault_kind kind)
{
    start_world(world, setting);
    if (kind == RNG || kind == RNG_IN_SEQUENCE)
        own_rng(world, kind == RNG);
}

/* An rng has no way to say that it broke. Whatever comes out of it: an end, and a legal answer or an honest
   code. */
static int honest_status(fault_kind kind, int for_ever, npksd_status status)
{
    if (kind != RNG && kind != RNG_IN_SEQUENCE)
        return status == kinds[kind].status;
    return status == NPKSD_OK || status == NPKSD_ERROR_GENERATOR
        || (status == NPKSD_ERROR_NUMERIC && for_ever);
}

static enum greatest_test_res one_fault(size_t entry, fault_setting setting, fault_kind kind,
                                        size_t call, int for_ever)
{
    static const uint64_t stuck[] = { 0, UINT64_MAX, UINT64_C(0x8000000000000000), 127 };
    fault_world world;
    start_kind(&world, setting, kind);
    test_source *source = source_of(&world, kind);
    source->bad_call = call;
    source->for_ever = for_ever;
    source->fault = kinds[kind].fault;
    world.stuck_at = stuck[(call + call / 4 + (size_t)for_ever) % 4];
    npksd_status status = entries[entry].enter(&world);
    /* all before that call is as in a clean run: it must have come, and the fault have shown */
    ASSERTm(kinds[kind].name, for_ever ? source->shown > 0 : source->shown == 1);
    ASSERTm(kinds[kind].name, honest_status(kind, for_ever, status));
    ASSERTm(kinds[kind].name, status == NPKSD_OK || world.outputs_kept);
    ASSERT_EQm(kinds[kind].name, 0u, world.heap.live + world.heap.wrong);
    if (world.failed_checks > 0 && !for_ever)
        ASSERTm("a tester after a failed check", world.good_checks > 0);
    PASS();
}

TEST every_call_fails(size_t entry)
{
    size_t clean_calls = 0, tried = 0;
    for (int setting = 0; setting < FAULT_SETTINGS; setting++) {
        for (int kind = 0; kind < FAULT_KINDS; kind++) {
            fault_world clean;
            start_kind(&clean, (fault_setting)setting, (fault_kind)kind);
            npksd_status status = entries[entry].enter(&clean);
            if (status == NPKSD_ERROR_ARGUMENT || status == NPKSD_ERROR_STATE)
                continue; /* not for these options; suite_errors says which */
            ASSERT_STATUS(NPKSD_OK, status);
            ASSERTm("written", !clean.outputs_kept);
            /* all of them if they are few; otherwise some, others in each setting, and the last */
            size_t calls = source_of(&clean, (fault_kind)kind)->calls;
            size_t step = calls / (test_quick ? 10 : 24) + 1, first = calls - calls / step * step;
            first = first == 0 ? step : first;
            clean_calls += calls > 0 ? (calls - first) / step + 1 : 0;
            for (size_t call = first; call <= calls; call += step, tried++)
                for (int for_ever = 0; for_ever < 2; for_ever++)
                    CHECK_CALL(one_fault(entry, (fault_setting)setting, (fault_kind)kind, call,
                                         for_ever));
        }
    }
    ASSERT(clean_calls > 0);
    ASSERT_EQ(clean_calls, tried);
    PASS();
}

/* More rows than a check has: the blocks of 16 rows before the failure are there and right, all else is
   as it was. */
TEST scores_before_a_failure(void)
{
    enum { ROWS = FAULT_SYNTHETIC, BLOCK = 16 };
    fault_world world;
    npksd_tester *tester;
    npksd_real all[ROWS * FAULT_M], some[ROWS * FAULT_M];
    start_world(&world, WITH_SUMMARY);
    ASSERT_STATUS(NPKSD_OK, make_tester(&world, &tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    world.summary.calls = 0;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, synthetic, ROWS, all));
    ASSERT_EQ((size_t)ROWS * FAULT_M, world.summary.calls);
    for (size_t k = 1; k <= ROWS * FAULT_M; k++) {
        size_t good = (k - 1) / (BLOCK * FAULT_M) * BLOCK * FAULT_M;
        memset(some, UNTOUCHED, sizeof some);
        world.summary.calls = 0;
        world.summary.bad_call = k;
        world.summary.fault = FAULT_NAN;
        ASSERT_STATUS(NPKSD_ERROR_NONFINITE, npksd_tester_scores(tester, synthetic, ROWS, some));
        ASSERT_MEM_EQ(all, some, good * sizeof all[0]);
        ASSERT(untouched(some + good, (ROWS * FAULT_M - good) * sizeof some[0]));
    }
    npksd_tester_destroy(tester);
    ASSERT_EQ(0u, world.heap.live + world.heap.wrong);
    PASS();
}

/* A worker, a piece of replicates at a time: those before the failure are there and right. */
TEST replicates_before_a_failure(int diagnose)
{
    fault_world world;
    npksd_tester *tester;
    npksd_worker worker;
    npksd_real all[FAULT_REPLICATES * (3 + FAULT_M)], some[FAULT_REPLICATES * (3 + FAULT_M)];
    memset(&worker, 0, sizeof worker);
    start_world(&world, WITH_FIT);
    world.options.diagnose = diagnose;
    ASSERT_STATUS(NPKSD_OK, make_tester(&world, &tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 0, FAULT_REPLICATES, all));
    for (size_t k = 1; k <= FAULT_REPLICATES; k++) {
        size_t good = (k - 1) * npksd_tester_width(tester) * sizeof all[0];
        memset(some, UNTOUCHED, sizeof some);
        world.sample.calls = 0;
        world.sample.bad_call = k;
        ASSERT_STATUS(NPKSD_ERROR_GENERATOR,
                      npksd_tester_replicates(tester, &worker, 0, FAULT_REPLICATES, some));
        ASSERT_MEM_EQ(all, some, good);
        ASSERT(untouched((char *)some + good, sizeof some - good));
    }
    npksd_tester_destroy(tester);
    ASSERT_EQ(0u, world.heap.live + world.heap.wrong);
    PASS();
}

/* ======== a random number generator that breaks ======== */

/* Draws from a stuck rng end, and are what they should be: numbers, or below the bound. */
TEST stuck_draws_end(void)
{
    for (unsigned low = 0; low < 256; low++) {
        for (int high = 0; high < 2; high++) {
            fault_world world;
            start_world(&world, WITH_FIT);
            own_rng(&world, 1);
            world.word.bad_call = 1;
            world.word.for_ever = 1;
            world.stuck_at = high ? UINT64_MAX - low : low;
            npksd_rng rng = world.options.rng;
            npksd_real normal = npksd_normal(&rng), uniform = npksd_uniform(&rng);
            ASSERT(finite_bits(&normal, 1) && normal > -100 && normal < 100);
            ASSERT(uniform >= 0 && uniform < 1);
        }
    }
    PASS();
}

/* First one word, then two by turns. */
typedef struct stuck_words {
    uint64_t first, then[2];
    size_t count;
} stuck_words;

static uint64_t stuck_next(void *user_data)
{
    stuck_words *words = (stuck_words *)user_data;
    size_t k = words->count++;
    return k == 0 ? words->first : words->then[k % 2];
}

/* It ends after 200 tries; what is just good enough is taken at once. */
TEST tries_of_a_stuck_rng(void)
{
    const uint64_t tail = UINT64_MAX - 63; /* layer 0, as far out as can be */
    stuck_words accepted = { tail, { 0, 0 }, 0 }, refused = { tail, { 0, UINT64_MAX }, 0 };
    stuck_words above = { UINT64_MAX, { UINT64_MAX, UINT64_MAX }, 0 }; /* 3 of 0 .. 2 */
    npksd_rng rng = { stuck_next, NULL, &accepted };
    npksd_tester *tester;
    npksd_options options = small_options();
    npksd_normal(&rng);
    ASSERT_EQ_FMT((size_t)3, accepted.count, "%zu");
    rng.user_data = &refused;
    npksd_normal(&rng);
    ASSERT_EQ_FMT((size_t)(1 + 2 * 200), refused.count, "%zu");
    options.components = NPKSD_COMPONENT_STEIN; /* create draws columns alone */
    options.resample = 1;
    options.rng = rng;
    options.rng.user_data = &above;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, 3, chain_sample, NULL, &options));
    npksd_tester_destroy(tester);
    ASSERT_EQ_FMT((size_t)200, above.count, "%zu");
    PASS();
}

/* A check that a callback leaves at its very start, as a C++ exception would: the finished one before it is gone. */
TEST left_by_a_jump(void)
{
    fault_world world;
    npksd_tester *tester;
    npksd_result result;
    jmp_buf here;
    start_world(&world, WITH_FIT);
    own_rng(&world, 1);
    ASSERT_STATUS(NPKSD_OK, make_tester(&world, &tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, SIZE_MAX));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, SIZE_MAX));
    world.way_out = &here;
    if (setjmp(here) == 0) {
        npksd_tester_check_begin(tester, data);
        FAILm("seek_fn was not called");
    }
    world.way_out = NULL;
    ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_check_end(tester, &result, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, NULL));
    npksd_tester_destroy(tester);
    PASS();
}

/* Does a step or a worker, in this call of seek_fn, leave by a jump? */
static int jumps_out(fault_world *world, npksd_tester *tester, size_t seeks, npksd_real *replicates)
{
    jmp_buf here;
    npksd_worker worker;
    memset(&worker, 0, sizeof worker);
    world->way_out = &here;
    world->seeks = seeks;
    if (setjmp(here)) {
        world->way_out = NULL;
        return 1;
    }
    if (replicates)
        npksd_tester_replicates(tester, &worker, 0, FAULT_REPLICATES, replicates);
    else
        npksd_tester_step(tester, SIZE_MAX);
    world->way_out = NULL;
    return 0;
}

/* After step, destroy gives all memory back; after replicates, the tester goes on as if nothing had happened. */
TEST left_in_step_or_replicates(void)
{
    npksd_real all[FAULT_REPLICATES], again[FAULT_REPLICATES];
    npksd_worker worker;
    fault_world world;
    npksd_tester *tester;
    size_t jumps = 0;
    memset(&worker, 0, sizeof worker);
    start_world(&world, WITH_FIT);
    own_rng(&world, 1);
    for (int left = 1; left; jumps++) {
        ASSERT_STATUS(NPKSD_OK, make_tester(&world, &tester));
        left = jumps_out(&world, tester, jumps, NULL);
        npksd_tester_destroy(tester);
        ASSERT_EQ(0u, world.heap.live + world.heap.wrong);
    }
    ASSERT_GT(jumps, (size_t)FAULT_REPLICATES + 2); /* fit, pilot and replicates */
    ASSERT_STATUS(NPKSD_OK, make_tester(&world, &tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 0, FAULT_REPLICATES, all));
    for (size_t seeks = 0; seeks < FAULT_REPLICATES; seeks++) {
        ASSERT(jumps_out(&world, tester, seeks, again));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_replicates(tester, &worker, 0, FAULT_REPLICATES, again));
        ASSERT_MEM_EQ(all, again, sizeof all);
    }
    ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, SIZE_MAX));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(tester, again, FAULT_REPLICATES, NULL));
    ASSERT_MEM_EQ(all, again, sizeof all);
    npksd_tester_destroy(tester);
    ASSERT_EQ(0u, world.heap.live + world.heap.wrong);
    PASS();
}

SUITE(suite_faults)
{
    draw_rows(data, FAULT_N, FAULT_M, test_seed + 8000);
    draw_rows(synthetic, FAULT_SYNTHETIC, FAULT_M, test_seed + 8001);
    for (size_t entry = 0; entry < ENTRIES; entry++) {
        greatest_set_test_suffix(entries[entry].name);
        RUN_TEST1(every_call_fails, entry);
    }
    RUN_TEST(scores_before_a_failure);
    RUN_TEST1(replicates_before_a_failure, 0);
    RUN_TEST1(replicates_before_a_failure, 1);
    RUN_TEST(stuck_draws_end);
    RUN_TEST(tries_of_a_stuck_rng);
    RUN_TEST(left_by_a_jump);
    RUN_TEST(left_in_step_or_replicates);
}
