/*
 * Calls of a tester in any order: the first byte chooses the options and whether the rng is a caller's (with the words
 * of the built-in one), every further three a call. Whatever came before, a call that succeeds gives what it gives in a
 * plain run (create, step, check), to the bit; one that comes too early says NPKSD_ERROR_STATE and leaves its outputs
 * as they were; one that the header promises succeeds.
 */
#include "fuzz.h"
#include "options.h"

enum { N = 10, M = 3, B = 19, WIDTH = M + 3, PAIRS = M * (M - 1) / 2, CALLS_MOST = 80, BLOB_MOST = 1 << 16 };

static const char *const kinds[] = { "",
                                     "diagnose",
                                     "gauss stein v scales=1 unscaled bandwidth=2",
                                     "features=7 diagnose",
                                     "imq scalar uv mean_var",
                                     "resample=2 redraw smooth=0.25 spline",
                                     "score_callback stein wild",
                                     "rbf basis=4 neighbours mmd margin pair" };
enum { KINDS = sizeof kinds / sizeof kinds[0], RECORDINGS = 2 };

static int sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng) + (i % m > 0 ? rows[i - 1] / 2 : 0);
    return 0;
}

static npksd_options options_of(size_t kind)
{
    npksd_options options = npksd_default_options();
    options.fit_rows = 40;
    options.replicates = B;
    options.pilot = 4;
    options.score_fn = normal_score;
    set_options(&options, kinds[kind]);
    return options;
}

/* ======== a caller's rng ======== */

typedef struct own_rng {
    npksd_rng_state state;
    npksd_rng inner;
} own_rng;

static uint64_t own_word(void *user_data)
{
    own_rng *own = (own_rng *)user_data;
    return own->inner.next_fn(own->inner.user_data);
}

static void own_seek(uint64_t stream, void *user_data)
{
    own_rng *own = (own_rng *)user_data;
    own->inner.seek_fn(stream, own->inner.user_data);
}

static npksd_rng own_begin(own_rng *own)
{
    npksd_rng rng = { own_word, own_seek, own };
    own->inner = npksd_rng_seeded(&own->state, npksd_default_options().seed, 0);
    return rng;
}

/* ======== the plain run ======== */

/* What a check can tell; it is cleared first, padding and all, and so can be compared as bytes. */
typedef struct answers {
    npksd_real numbers[8], influence[N], columns[5][M], correlations[PAIRS][3];
    size_t replicates, pair_count, pair_columns[PAIRS][2];
    unsigned words[3];
} answers;

typedef struct plain_run {
    int made;
    npksd_real rows[RECORDINGS][N * M], scores[N * M], null_values[B];
    answers checked[RECORDINGS];
} plain_run;

/* Everything of a check, or of the end of a pending one (rows NULL); what is not asked for stays 0. */
static npksd_status check(size_t kind, npksd_tester *tester, const npksd_real *rows, answers *out)
{
    npksd_options options = options_of(kind);
    answers a;
    npksd_result r;
    npksd_pair pairs[PAIRS];
    npksd_diagnosis d;
    memset(&a, 0, sizeof a);
    memset(&d, 0, sizeof d);
    memset(&r, MARK, sizeof r);
    memset(a.influence, MARK, sizeof a.influence);
    d.row_influence = a.influence;
    if (options.diagnose) {
        memset(a.columns, MARK, sizeof a.columns);
        d.coordinate_statistic = a.columns[0];
        d.coordinate_p = a.columns[1];
        d.coordinate_p_adjusted = a.columns[2];
        d.coordinate_shift = a.columns[3];
        d.coordinate_distance = a.columns[4];
        d.pairs = pairs;
        d.pair_capacity = PAIRS;
    }
    npksd_status status = rows ? npksd_tester_check(tester, rows, &r, &d) : npksd_tester_check_end(tester, &r, &d);
    if (status != NPKSD_OK) {
        LAW(is_marked(&r, sizeof r) && is_marked(a.influence, sizeof a.influence) && d.pair_count == 0);
        LAW(!options.diagnose || is_marked(a.columns, sizeof a.columns));
        return status;
    }
    law_result(&r);
    law_pairs(&d, M);
    const npksd_real numbers[8] = { r.statistic, r.p_value, r.threshold, r.bandwidth,
                                    r.p_low,     r.p_high,  r.ksd2,      r.out_of_range };
    const unsigned words[3] = { (unsigned)r.reject, r.leading, r.flags };
    memcpy(a.numbers, numbers, sizeof numbers);
    memcpy(a.words, words, sizeof words);
    a.replicates = r.replicates;
    a.pair_count = d.pair_count;
    for (size_t k = 0; k < d.pair_count; k++) {
        a.pair_columns[k][0] = pairs[k].first;
        a.pair_columns[k][1] = pairs[k].second;
        a.correlations[k][0] = pairs[k].observed;
        a.correlations[k][1] = pairs[k].expected;
        a.correlations[k][2] = pairs[k].p_adjusted;
    }
    memcpy(out, &a, sizeof a);
    return status;
}

/* block: NULL, or where to put the memory that the tester lives in */
static npksd_tester *new_tester(size_t kind, npksd_rng rng, unsigned char **block)
{
    npksd_options options = options_of(kind);
    options.rng = rng;
    npksd_tester *tester = NULL;
    size_t bytes = 0;
    if (block == NULL) {
        LAW(npksd_tester_create(&tester, N, M, sample, NULL, &options) == NPKSD_OK);
        return tester;
    }
    LAW(npksd_tester_size(N, M, &options, &bytes) == NPKSD_OK);
    *block = (unsigned char *)malloc(bytes);
    memset(*block, MARK, bytes);
    LAW(npksd_tester_init(&tester, N, M, sample, NULL, &options, *block, bytes) == NPKSD_OK);
    return tester;
}

static const plain_run *plain(size_t kind)
{
    static plain_run runs[KINDS];
    plain_run *run = &runs[kind];
    if (run->made)
        return run;
    const npksd_rng built_in = { NULL, NULL, NULL };
    npksd_tester *tester = new_tester(kind, built_in, NULL);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 77, kind);
    LAW(npksd_tester_step(tester, SIZE_MAX) == NPKSD_OK);
    for (size_t r = 0; r < RECORDINGS; r++) {
        sample(run->rows[r], N, M, &rng, NULL);
        LAW(check(kind, tester, run->rows[r], &run->checked[r]) == NPKSD_OK);
    }
    LAW(npksd_tester_scores(tester, run->rows[0], N, run->scores) == NPKSD_OK);
    if (!options_of(kind).calibration)
        LAW(npksd_tester_null(tester, run->null_values, B, NULL) == NPKSD_OK);
    npksd_tester_destroy(tester);
    run->made = 1;
    return run;
}

/* ======== calls ======== */

typedef struct sequence {
    const plain_run *run;
    npksd_tester *tester;
    unsigned char *block; /* in which the tester lives, or NULL */
    size_t kind, pending; /* the recording of a check that is half done; RECORDINGS: none */
    int prepared, finished, loaded, own; /* prepared, finished: known to be; own: a caller's rng */
    own_rng rngs[2];   /* of the tester, of a worker */
    npksd_real values[B * WIDTH]; /* of replicates that were drawn and not merged yet */
    size_t first, count;
} sequence;

static int early(npksd_status status)
{
    LAW(status == NPKSD_OK || status == NPKSD_ERROR_STATE);
    return status != NPKSD_OK;
}

static int is_wild(const sequence *s) { return options_of(s->kind).calibration != NPKSD_CALIBRATE_MONTE_CARLO; }

static npksd_real not_a_number(void)
{
    return from_word(sizeof(npksd_real) == 8 ? UINT64_C(0x7ff8000000000000) : UINT64_C(0x7fc00000));
}

/* r: the recording; RECORDINGS: the end of the pending check */
static void call_check(sequence *s, size_t r)
{
    int ends = r == RECORDINGS;
    answers found;
    npksd_status status = check(s->kind, s->tester, ends ? NULL : s->run->rows[r], &found);
    LAW(ends || !s->finished || status == NPKSD_OK);
    LAW(!ends || s->pending < RECORDINGS || status == NPKSD_ERROR_STATE);
    if (!early(status))
        LAW(memcmp(&found, &s->run->checked[ends ? s->pending : r], sizeof found) == 0);
    if (status == NPKSD_OK)
        s->pending = RECORDINGS;
}

/* has_scratch: memory of its own, or the tester's, unless something that is half done needs it */
static void call_replicates(sequence *s, size_t first, size_t count, int has_scratch)
{
    npksd_worker worker;
    size_t bytes = npksd_tester_scratch_size(s->tester), width = npksd_tester_width(s->tester);
    memset(&worker, 0, sizeof worker);
    worker.scratch = has_scratch ? malloc(bytes > 0 ? bytes : 1) : NULL;
    worker.scratch_bytes = has_scratch ? bytes : 0;
    if (s->own && has_scratch)
        worker.rng = own_begin(&s->rngs[1]);
    LAW(width <= WIDTH);
    s->count = 0;
    npksd_status status = npksd_tester_replicates(s->tester, &worker, first, count, s->values);
    free(worker.scratch);
    LAW(status == NPKSD_ERROR_STATE || !(is_wild(s) || s->loaded || (!has_scratch && s->pending < RECORDINGS)));
    LAW(status == NPKSD_OK || is_wild(s) || s->loaded || !s->prepared
        || (!has_scratch && (!s->finished || s->pending < RECORDINGS)));
    if (early(status))
        return;
    for (size_t r = 0; r < count; r++)
        LAW(memcmp(&s->values[r * width], &s->run->null_values[first + r], sizeof(npksd_real)) == 0);
    s->first = first;
    s->count = count;
}

/* All that was drawn, or a part of it, or numbers that must be refused. */
static void call_merge(sequence *s, size_t skip, unsigned variant)
{
    size_t width = npksd_tester_width(s->tester);
    if (s->count == 0)
        return;
    skip = variant & 1 ? skip % s->count : 0;
    npksd_real *from = &s->values[skip * width], kept = from[0];
    if (variant & 2) {
        from[0] = not_a_number();
        LAW(npksd_tester_merge(s->tester, s->first + skip, s->count - skip, from) == NPKSD_ERROR_NONFINITE);
        from[0] = kept;
    }
    LAW(npksd_tester_merge(s->tester, s->first + skip, s->count - skip, from) == NPKSD_OK);
}

static void call_null(sequence *s)
{
    npksd_real out[B];
    size_t count = 0;
    memset(out, MARK, sizeof out);
    npksd_status status = npksd_tester_null(s->tester, out, B, &count);
    LAW(status == NPKSD_OK || (status == NPKSD_ERROR_STATE && (!s->finished || is_wild(s))));
    if (status == NPKSD_OK && !is_wild(s)) /* there are no values before all are there */
        LAW(count == B && memcmp(out, s->run->null_values, sizeof out) == 0);
    else if (status != NPKSD_OK)
        LAW(count == 0 && is_marked(out, sizeof out));
}

static void call_scores(sequence *s)
{
    npksd_real scores[N * M];
    memset(scores, MARK, sizeof scores);
    npksd_status status = npksd_tester_scores(s->tester, s->run->rows[0], N, scores);
    LAW(!s->finished || (status == NPKSD_OK) == (s->pending == RECORDINGS));
    if (early(status))
        LAW(is_marked(scores, sizeof scores));
    else
        LAW(memcmp(scores, s->run->scores, sizeof scores) == 0);
}

static void end(sequence *s)
{
    npksd_tester_destroy(s->tester);
    free(s->block);
    s->block = NULL;
    s->pending = RECORDINGS;
    s->prepared = s->finished = s->loaded = 0;
    s->count = 0;
}

/* The tester goes on as what was saved and loaded, into memory of ours or its own. */
static void call_save(sequence *s, int into)
{
    static unsigned char blob[BLOB_MOST];
    npksd_tester *loaded = NULL;
    unsigned char *block = NULL;
    size_t size = 0, bytes = 0;
    if (early(npksd_tester_save(s->tester, blob, sizeof blob, &size))) {
        LAW(!s->finished || options_of(s->kind).estimator == NPKSD_ESTIMATOR_CALLBACK);
        return;
    }
    if (into) {
        LAW(npksd_blob_info(blob, size, NULL, NULL, &bytes) == NPKSD_OK);
        block = (unsigned char *)malloc(bytes);
        LAW(npksd_tester_load_into(&loaded, blob, size, block, bytes) == NPKSD_OK);
    } else {
        LAW(npksd_tester_load(&loaded, blob, size, NULL) == NPKSD_OK);
    }
    end(s);
    s->tester = loaded;
    s->block = block;
    s->prepared = s->finished = s->loaded = 1;
}

static void call_begin(sequence *s, size_t r)
{
    npksd_status status = npksd_tester_check_begin(s->tester, s->run->rows[r]);
    LAW(!s->finished || status == NPKSD_OK);
    if (!early(status))
        s->pending = r;
}

/* Rows that are refused leave a pending check as it is. */
static void call_refused(sequence *s, size_t place)
{
    npksd_real rows[N * M];
    memcpy(rows, s->run->rows[1], sizeof rows);
    rows[place % (N * M)] = not_a_number();
    npksd_status status = npksd_tester_check_begin(s->tester, rows);
    LAW(status == NPKSD_ERROR_NONFINITE || (status == NPKSD_ERROR_STATE && !s->finished));
}

static void call_step(sequence *s, size_t items)
{
    npksd_status status = npksd_tester_step(s->tester, items);
    LAW(status == NPKSD_OK || status == NPKSD_MORE);
    s->finished |= status == NPKSD_OK;
    s->prepared |= s->finished;
}

static void begin(sequence *s, int placed)
{
    const npksd_rng built_in = { NULL, NULL, NULL };
    s->tester = new_tester(s->kind, s->own ? own_begin(&s->rngs[0]) : built_in, placed ? &s->block : NULL);
}

static void call(sequence *s, fuzz_input *in)
{
    unsigned what = take_byte(in), variant = what / 16;
    size_t done = 0, total = 0, first = take_byte(in) % B, count = 1 + take_byte(in) % (B - first);
    switch (what % 16) {
    case 0: call_step(s, count); break;
    case 1: call_step(s, 20 * count); break;
    case 2: call_step(s, SIZE_MAX); break;
    case 3:
        LAW(npksd_tester_prepare(s->tester) == NPKSD_OK);
        s->prepared = 1;
        break;
    case 4: call_replicates(s, first, count, !(variant & 1)); break;
    case 5: call_merge(s, first, variant); break;
    case 6:
    case 7: call_check(s, what % 2); break;
    case 8: variant & 1 ? call_refused(s, first) : call_begin(s, 0); break;
    case 9: call_begin(s, 1); break;
    case 10: call_check(s, RECORDINGS); break;
    case 11: call_save(s, variant & 1); break;
    case 12: call_scores(s); break;
    case 13: call_null(s); break;
    case 14:
        npksd_tester_progress(s->tester, &done, &total);
        LAW(done <= total && (!s->finished || s->pending < RECORDINGS || done == total));
        break;
    default:
        if (first == 0) {
            end(s);
            begin(s, variant & 1);
        }
        break;
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    fuzz_input in = { bytes, size, 0 };
    sequence s;
    memset(&s, 0, sizeof s);
    unsigned first = take_byte(&in);
    s.kind = first % KINDS;
    s.own = first >= 128;
    s.run = plain(s.kind);
    s.pending = RECORDINGS;
    begin(&s, 0);
    for (int calls = 0; calls < CALLS_MOST && in.at < in.size; calls++)
        call(&s, &in);
    while (!s.finished)
        call_step(&s, SIZE_MAX);
    call_null(&s);
    call_check(&s, 0);
    call_check(&s, 1);
    call_scores(&s);
    end(&s);
    return 0;
}
