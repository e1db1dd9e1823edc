/* Callbacks that misbehave: that give up, write NaN, change their mind, depend on the clock (so to
   speak), or are an rng that is stuck; at any call, once or for ever; through every entry. */
#include "fuzz.h"

enum { N_MOST = 20, M_MOST = 3, REPLICATES = 19, SYNTHETIC = 44 };

typedef enum trouble_kind {
    NO_TROUBLE, GIVE_UP, WRITE_NAN, WRITE_INFINITY, WRITE_HUGE, WRITE_TINY, WRITE_SAME, WRITE_STATE,
    DRIFT, NEGATIVE, TROUBLES
} trouble_kind;

typedef struct trouble {
    trouble_kind kind;
    size_t calls, at; /* which call, from 1; 0: none */
    int for_ever;
} trouble;

typedef struct callback_case {
    fuzz_input in;
    fuzz_heap heap;
    npksd_options options;
    size_t n, m;
    trouble sample, score, summary, word;
    uint64_t stuck_word;
    npksd_rng_state state;
    npksd_rng inner;
    npksd_real observed[N_MOST * M_MOST], synthetic[SYNTHETIC * M_MOST];
    int met_nan, met_give_up; /* what the library was given */
} callback_case;

static int in_trouble(trouble *t)
{
    t->calls++;
    return t->at > 0 && (t->calls == t->at || (t->for_ever && t->calls > t->at));
}

/* Spoils numbers that were good; 1 = to give up. */
static int spoil(callback_case *c, trouble *t, npksd_real *numbers, size_t count)
{
    size_t one = t->calls % count;
    if (!in_trouble(t))
        return 0;
    switch (t->kind) {
    case GIVE_UP: c->met_give_up = 1; return 1;
    case WRITE_NAN: numbers[one] = from_word(UINT64_MAX); c->met_nan = 1; break;
    case WRITE_INFINITY:
        numbers[one] = from_word(sizeof(npksd_real) == 8 ? UINT64_C(0xfff0000000000000)
                                                         : UINT64_C(0xff800000));
        c->met_nan = 1;
        break;
    case WRITE_HUGE: numbers[one] = sizeof(npksd_real) == 8 ? (npksd_real)1.7e308 : (npksd_real)3e38; break;
    case WRITE_TINY: numbers[one] = from_word(1); break;
    case WRITE_SAME:
        for (size_t k = 0; k < count; k++)
            numbers[k] = 1;
        break;
    case WRITE_STATE: /* hidden state: the same stream gives other rows */
        for (size_t k = 0; k < count; k++)
            numbers[k] = (npksd_real)((t->calls * 7 + k * 3) % 11);
        break;
    case DRIFT:
        for (size_t k = 0; k < count; k++)
            numbers[k] += (npksd_real)t->calls;
        break;
    case NEGATIVE:
        for (size_t k = 0; k < count; k++)
            numbers[k] = -numbers[k];
        break;
    case NO_TROUBLE:
    case TROUBLES: break;
    }
    return 0;
}

static int sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    callback_case *c = (callback_case *)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng) + (i % m > 0 ? rows[i - 1] / 2 : 0);
    return spoil(c, &c->sample, rows, count * m);
}

static int score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *user_data)
{
    callback_case *c = (callback_case *)user_data;
    for (size_t i = 0; i < count * m; i++)
        scores[i] = -rows[i];
    return spoil(c, &c->score, scores, count * m);
}

static void summary(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *user_data)
{
    callback_case *c = (callback_case *)user_data;
    t[0] = row[(i + 1) % m];
    if (c->summary.kind != GIVE_UP)
        spoil(c, &c->summary, t, 1);
}

static uint64_t word(void *user_data)
{
    callback_case *c = (callback_case *)user_data;
    uint64_t good = c->inner.next_fn(c->inner.user_data);
    return in_trouble(&c->word) ? c->stuck_word : good;
}

static void seek(uint64_t stream, void *user_data)
{
    callback_case *c = (callback_case *)user_data;
    c->inner.seek_fn(stream, c->inner.user_data);
}

static void take_trouble(fuzz_input *in, trouble *t, size_t most)
{
    t->kind = (trouble_kind)(take_byte(in) % TROUBLES);
    t->at = t->kind == NO_TROUBLE ? 0 : (size_t)take_word(in, 2) % most;
    t->for_ever = (int)(take_byte(in) % 2);
}

static void take_case(callback_case *c, const unsigned char *bytes, size_t size)
{
    fuzz_input *in = &c->in;
    npksd_options *o = &c->options;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 3, 0);
    memset(c, 0, sizeof *c);
    in->bytes = bytes;
    in->size = size;
    c->n = 1 + take_byte(in) % N_MOST;
    c->m = 1 + take_byte(in) % M_MOST;
    *o = npksd_default_options();
    o->fit_rows = 2 + take_byte(in) % 30;
    o->replicates = REPLICATES;
    o->pilot = 2 + take_byte(in) % 3;
    o->estimator = (int)(take_byte(in) % 6);
    o->score_fn = score;
    o->score_user_data = c;
    o->summary = (int)(take_byte(in) % 6);
    o->summary_fn = summary;
    o->summary_user_data = c;
    o->summary_dim = 1;
    unsigned bits = take_byte(in);
    o->smooth = bits & 1 ? (npksd_real)0.5 : 0;
    o->resample = bits & 2 ? 2 : 0;
    o->resample_redraw = (bits & 4) != 0;
    o->stop_after = bits & 8 ? 3 : 0;
    o->features = bits & 16 ? 4 : 0;
    o->diagnose = (bits & 32) != 0;
    o->calibration = (bits & 64) != 0;
    o->standardize = (bits & 128) == 0;
    o->components = 1 + take_byte(in) % NPKSD_COMPONENT_ALL;
    o->kernel = (int)(take_byte(in) % 2);
    o->form = (int)(take_byte(in) % 2);
    o->allocator = fuzz_allocator(&c->heap);
    c->heap.fail_at = take_byte(in) % 8; /* 0: none */
    c->heap.for_ever = (int)(take_byte(in) % 2);
    take_trouble(in, &c->sample, 80);
    take_trouble(in, &c->score, 120);
    take_trouble(in, &c->summary, 2000);
    take_trouble(in, &c->word, 3000);
    c->stuck_word = take_byte(in) % 2 ? UINT64_MAX - take_byte(in) : take_word(in, 8);
    unsigned own = take_byte(in) % 3;
    c->inner = npksd_rng_seeded(&c->state, take_byte(in), 0);
    if (own > 0) {
        o->rng.next_fn = word;
        o->rng.seek_fn = own == 1 ? seek : NULL;
        o->rng.user_data = c;
    }
    for (size_t i = 0; i < N_MOST * M_MOST; i++)
        c->observed[i] = npksd_normal(&rng);
    for (size_t i = 0; i < SYNTHETIC * M_MOST; i++)
        c->synthetic[i] = npksd_normal(&rng);
}

/* What the callbacks did must be what the status says. */
static void law_of_trouble(const callback_case *c, npksd_status status)
{
    law_status(status);
    int memory = c->heap.fail_at > 0 && c->heap.calls >= c->heap.fail_at;
    if (c->met_nan || c->met_give_up)
        LAW(status < 0);
    if (status == NPKSD_ERROR_NONFINITE)
        LAW(c->met_nan || c->sample.kind == WRITE_HUGE || c->summary.kind != NO_TROUBLE);
    if (status == NPKSD_ERROR_MEMORY)
        LAW(memory);
    LAW(status != NPKSD_ERROR_FORMAT);
}

/* Replicates are whole numbers up to the one that failed, and nothing behind it. */
static void law_of_replicates(npksd_status status, const npksd_real *values, size_t count, size_t width)
{
    size_t written = 0;
    while (written < count * width && !is_marked(values + written, sizeof *values))
        written++;
    LAW(written % width == 0 && is_number(values, written));
    LAW(is_marked(values + written, (count * width - written) * sizeof *values));
    LAW((status == NPKSD_OK) == (written == count * width) || count == 0);
}

static void run_scores(callback_case *c, npksd_tester *tester, int finished)
{
    npksd_real scores[N_MOST * M_MOST];
    memset(scores, MARK, sizeof scores);
    c->met_nan = c->met_give_up = 0;
    npksd_status status = npksd_tester_scores(tester, c->observed, c->n, scores);
    if (finished)
        law_of_trouble(c, status);
    LAW(status == NPKSD_OK ? is_number(scores, c->n * c->m) : is_marked(scores, sizeof scores));
}

/* A check in steps: a callback that fails discards it, and leaves the tester as it was. */
static void run_steps(callback_case *c, npksd_tester *tester, size_t items, int finished)
{
    npksd_result result;
    memset(&result, MARK, sizeof result);
    c->met_nan = c->met_give_up = 0;
    npksd_status status = npksd_tester_check_begin(tester, c->observed);
    LAW(finished ? status == NPKSD_OK : status == NPKSD_ERROR_STATE);
    if (!finished)
        return;
    do
        status = npksd_tester_step(tester, items);
    while (status == NPKSD_MORE);
    law_of_trouble(c, status);
    npksd_status end = npksd_tester_check_end(tester, &result, NULL);
    LAW(end == (status == NPKSD_OK ? NPKSD_OK : NPKSD_ERROR_STATE));
    if (end == NPKSD_OK)
        law_result(&result);
    else
        LAW(is_marked(&result, sizeof result));
}

static void run_tester(callback_case *c)
{
    npksd_tester *tester = (npksd_tester *)c;
    npksd_result result;
    npksd_status status = npksd_tester_create(&tester, c->n, c->m, sample, c, &c->options);
    LAW((status == NPKSD_OK) == (tester != NULL));
    if (status != NPKSD_OK) {
        law_of_trouble(c, status);
        return;
    }
    size_t units = 1 + take_byte(&c->in), first = take_byte(&c->in) % (REPLICATES + 1);
    npksd_worker worker;
    npksd_real values[REPLICATES * (3 + M_MOST)];
    memset(&worker, 0, sizeof worker);
    memset(values, MARK, sizeof values);
    status = npksd_tester_step(tester, units);
    if (status >= 0 && first > 0 && npksd_tester_prepare(tester) == NPKSD_OK) {
        npksd_status drawn =
            npksd_tester_replicates(tester, &worker, first, REPLICATES - first, values);
        law_of_replicates(drawn, values, REPLICATES - first, npksd_tester_width(tester));
        if (drawn == NPKSD_OK)
            LAW(npksd_tester_merge(tester, first, REPLICATES - first, values) == NPKSD_OK);
    }
    do
        status = npksd_tester_step(tester, units);
    while (status == NPKSD_MORE);
    law_status(status);
    for (int again = 0; again < 3; again++) { /* a failed check leaves the tester as it was */
        c->met_nan = c->met_give_up = 0;
        memset(&result, MARK, sizeof result);
        npksd_status checked = npksd_tester_check(tester, c->observed, &result, NULL);
        if (status != NPKSD_OK)
            LAW(checked == NPKSD_ERROR_STATE);
        else
            law_of_trouble(c, checked);
        if (checked == NPKSD_OK)
            law_result(&result);
        else
            LAW(is_marked(&result, sizeof result));
    }
    run_steps(c, tester, units, status == NPKSD_OK);
    run_scores(c, tester, status == NPKSD_OK);
    npksd_tester_destroy(tester);
}

static void run_one_call(callback_case *c, unsigned which)
{
    npksd_result result;
    npksd_self_check_result check;
    npksd_power_result power;
    npksd_status status;
    memset(&result, MARK, sizeof result);
    memset(&check, MARK, sizeof check);
    memset(&power, MARK, sizeof power);
    if (which == 0)
        status = npksd_test(c->observed, c->n, c->m, sample, c, &c->options, &result);
    else if (which == 1)
        status = npksd_test_samples(c->observed, c->n, c->synthetic, SYNTHETIC, c->m, &c->options,
                                    &result);
    else if (which == 2)
        status = npksd_self_check(c->n, c->m, sample, c, &c->options, 2, &check);
    else
        status = npksd_power(c->n, c->m, sample, c, sample, c, &c->options, 2, &power);
    law_of_trouble(c, status);
    LAW(status == NPKSD_OK || (is_marked(&result, sizeof result) && is_marked(&check, sizeof check)
                               && is_marked(&power, sizeof power)));
    if (status == NPKSD_OK && which < 2)
        law_result(&result);
}

static void run_diagnosis(callback_case *c, int with_generator)
{
    npksd_real out[5 * M_MOST + N_MOST + REPLICATES];
    npksd_result result;
    npksd_pair pair;
    npksd_diagnosis diagnosis;
    npksd_status status;
    int margins = !c->options.calibration;
    memset(&diagnosis, 0, sizeof diagnosis);
    memset(out, MARK, sizeof out);
    memset(&result, MARK, sizeof result);
    memset(&pair, MARK, sizeof pair);
    diagnosis.coordinate_statistic = out;
    diagnosis.coordinate_p = out + M_MOST;
    diagnosis.coordinate_p_adjusted = out + 2 * M_MOST;
    diagnosis.coordinate_shift = margins ? out + 3 * M_MOST : NULL;
    diagnosis.coordinate_distance = margins ? out + 4 * M_MOST : NULL;
    diagnosis.row_influence = out + 5 * M_MOST;
    diagnosis.pairs = &pair;
    diagnosis.pair_capacity = (size_t)margins;
    npksd_real *null_values = out + 5 * M_MOST + N_MOST;
    if (with_generator)
        status = npksd_test_diagnose(c->observed, c->n, c->m, sample, c, &c->options, &result, &diagnosis,
                                     null_values);
    else
        status = npksd_test_samples_diagnose(c->observed, c->n, c->synthetic, SYNTHETIC, c->m,
                                             &c->options, &result, &diagnosis, null_values);
    law_of_trouble(c, status);
    if (status == NPKSD_OK) {
        law_result(&result);
        law_pairs(&diagnosis, c->m);
        LAW(is_number(out, sizeof out / sizeof out[0]));
    } else {
        LAW(is_marked(out, sizeof out) && is_marked(&result, sizeof result));
        LAW(is_marked(&pair, sizeof pair) && diagnosis.pair_count == 0);
    }
}

static void run_primitives(callback_case *c)
{
    npksd_real median, statistic;
    memset(&median, MARK, sizeof median);
    memset(&statistic, MARK, sizeof statistic);
    npksd_status status = npksd_median_distance(c->observed, c->n, c->m, &c->options, &median);
    law_of_trouble(c, status);
    LAW(status == NPKSD_OK ? is_number(&median, 1) && median > 0 : is_marked(&median, sizeof median));
    c->options.bandwidth = 1;
    c->options.statistic = NPKSD_STATISTIC_V;
    status = npksd_statistic(c->observed, c->synthetic, c->n, c->m, NULL, &c->options, &statistic);
    law_of_trouble(c, status);
    LAW(status == NPKSD_OK ? is_number(&statistic, 1) : is_marked(&statistic, sizeof statistic));
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    static callback_case c;
    take_case(&c, bytes, size);
    unsigned which = take_byte(&c.in) % 8;
    if (which == 4)
        run_tester(&c);
    else if (which == 5 || which == 7)
        run_diagnosis(&c, which == 7);
    else if (which == 6)
        run_primitives(&c);
    else
        run_one_call(&c, which);
    LAW(c.heap.live == 0);
    return 0;
}
