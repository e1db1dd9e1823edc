/* Options and data bytes through every public function. */
#include "fuzz.h"

enum { N_MOST = 24, M_MOST = 5, ROWS_MOST = 70, REPLICATES_MOST = 24 };

typedef struct api_case {
    fuzz_input in;
    fuzz_heap heap;
    npksd_options options;
    npksd_real scales[NPKSD_SCALES_MAX];
    size_t n, m;
    size_t calls, calls_most; /* of the generator: an end to long runs */
    int sample_kind;
    npksd_real observed[N_MOST * M_MOST], synthetic[ROWS_MOST * M_MOST];
} api_case;

/* ======== callbacks that behave ======== */

static int sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    api_case *c = (api_case *)user_data;
    if (++c->calls > c->calls_most)
        return 1;
    for (size_t i = 0; i < count * m; i++) {
        npksd_real x = npksd_normal(rng);
        switch (c->sample_kind) {
        case 0: rows[i] = x; break;
        case 1: rows[i] = x * (npksd_real)1e30; break;
        case 2: rows[i] = (npksd_real)(int)(2 * x); break;
        case 3: rows[i] = x / (npksd_uniform(rng) + (npksd_real)1e-20); break;
        case 4: rows[i] = x * (npksd_real)1e-30; break;
        case 5: rows[i] = 7; break;
        case 6: rows[i] = i % m == 0 ? 3 : x; break;
        default: rows[i] = c->observed[(size_t)(npksd_uniform(rng) * (N_MOST * M_MOST))]; break;
        }
    }
    return 0;
}

static void summary(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *user_data)
{
    const npksd_options *options = (const npksd_options *)user_data;
    for (size_t k = 0; k < options->summary_dim; k++)
        t[k] = row[(i + 1 + k) % m] / 2;
}

/* ======== a case from bytes ======== */

static void take_options(api_case *c)
{
    fuzz_input *in = &c->in;
    npksd_options *o = &c->options;
    *o = npksd_default_options();
    o->allocator = fuzz_allocator(&c->heap);
    o->seed = take_word(in, 2);
    o->fit_rows = 2 + take_size(in, 60);
    o->replicates = 19 + take_size(in, REPLICATES_MOST - 19);
    o->pilot = take_size(in, 6);
    o->resample = take_size(in, 6);
    o->resample_redraw = take_int(in, 1);
    o->resample_distinct = take_int(in, 1);
    o->summary = take_int(in, NPKSD_SUMMARY_CALLBACK);
    o->summary_fn = summary;
    o->summary_user_data = o;
    o->summary_dim = take_size(in, 4);
    o->estimator = take_int(in, NPKSD_ESTIMATOR_CALLBACK);
    o->degree = take_size(in, 8);
    o->basis = take_size(in, 20);
    o->score_fn = normal_score;
    o->kernel = take_int(in, 1);
    o->form = take_int(in, 1);
    o->statistic = take_int(in, 2);
    o->components = 1 + (unsigned)take_int(in, NPKSD_COMPONENT_ALL - 1);
    o->standardize = take_int(in, 1);
    o->features = take_byte(in) % 3 == 0 ? take_size(in, 40) : 0;
    o->stop_after = take_byte(in) % 3 == 0 ? take_size(in, 20) : 0;
    o->diagnose = take_int(in, 1);
    o->block = 1 + take_size(in, 2);
    unsigned rare = take_byte(in);
    if (rare & 1)
        o->ridge = take_real(in);
    if (rare & 2)
        o->bandwidth = take_real(in);
    if (rare & 4)
        o->smooth = take_real(in);
    if (rare & 8)
        o->alpha = take_real(in);
    if (rare & 16)
        o->calibration = take_int(in, 1);
    if (rare & 32) {
        o->scale_count = take_size(in, NPKSD_SCALES_MAX);
        o->scales = c->scales;
        for (size_t k = 0; k < NPKSD_SCALES_MAX && k < o->scale_count; k++)
            c->scales[k] = take_real(in);
    }
}

static void take_case(api_case *c, const unsigned char *bytes, size_t size)
{
    memset(c, 0, sizeof *c);
    c->in.bytes = bytes;
    c->in.size = size;
    c->calls_most = 400;
    c->n = 1 + take_byte(&c->in) % N_MOST;
    c->m = 1 + take_byte(&c->in) % M_MOST;
    c->sample_kind = (int)(take_byte(&c->in) % 8);
    take_options(c);
    /* what is left is data; when that ends, numbers that depend on their place alone */
    for (size_t i = 0; i < N_MOST * M_MOST; i++)
        c->observed[i] = c->in.at < size ? take_real(&c->in) : (npksd_real)((i * 37) % 23) / 7;
    for (size_t i = 0; i < ROWS_MOST * M_MOST; i++)
        c->synthetic[i] = c->in.at < size ? take_real(&c->in) : (npksd_real)((i * 53) % 29) / 9;
}

/* ======== every public function ======== */

/* Sizes that a hostile input may have set: what is in range but long is not run. */
static int short_enough(const npksd_options *o)
{
    return o->replicates <= 2000 && o->pilot <= 2000 && o->fit_rows <= 5000 && o->features <= 2000
        && o->resample <= 5000;
}

static void run_test(api_case *c)
{
    npksd_result result;
    memset(&result, MARK, sizeof result);
    c->calls = 0;
    npksd_status status = npksd_test(c->observed, c->n, c->m, sample, c, &c->options, &result);
    law_status(status);
    LAW(c->heap.live == 0);
    LAW(status == NPKSD_ERROR_ARGUMENT
        || npksd_options_problem(&c->options, c->n, c->m) == NULL);
    if (status == NPKSD_OK)
        law_result(&result);
    else
        LAW(is_marked(&result, sizeof result));
    if (!is_number(c->observed, c->n * c->m))
        LAW(status < 0);
}

typedef struct diagnosis_room {
    npksd_real statistic[M_MOST], p[M_MOST], adjusted[M_MOST], influence[N_MOST];
    npksd_real shift[M_MOST], distance[M_MOST];
    npksd_pair pairs[M_MOST];
    npksd_diagnosis diagnosis;
} diagnosis_room;

/* coordinates: what options.diagnose prepares; margins: not with the bootstrap */
static void open_room(diagnosis_room *room, int coordinates, int margins)
{
    memset(room, MARK, sizeof *room);
    memset(&room->diagnosis, 0, sizeof room->diagnosis);
    if (coordinates && margins) {
        room->diagnosis.coordinate_shift = room->shift;
        room->diagnosis.coordinate_distance = room->distance;
        room->diagnosis.pairs = room->pairs;
        room->diagnosis.pair_capacity = M_MOST;
    }
    room->diagnosis.coordinate_statistic = coordinates ? room->statistic : NULL;
    room->diagnosis.coordinate_p = coordinates ? room->p : NULL;
    room->diagnosis.coordinate_p_adjusted = coordinates ? room->adjusted : NULL;
    room->diagnosis.row_influence = room->influence;
}

static void law_room(const diagnosis_room *room, npksd_status status, size_t n, size_t m)
{
    if (status != NPKSD_OK) {
        LAW(is_marked(room->influence, sizeof room->influence));
        LAW(is_marked(room->p, sizeof room->p) && is_marked(room->adjusted, sizeof room->adjusted));
        LAW(is_marked(room->shift, sizeof room->shift) && is_marked(room->pairs, sizeof room->pairs));
        LAW(is_marked(room->distance, sizeof room->distance) && room->diagnosis.pair_count == 0);
        return;
    }
    LAW(is_number(room->influence, n));
    if (room->diagnosis.coordinate_p == NULL)
        return;
    LAW(is_number(room->statistic, m));
    for (size_t i = 0; i < m; i++)
        LAW(room->p[i] > 0 && room->p[i] <= 1 && room->adjusted[i] > 0 && room->adjusted[i] <= 1);
    law_pairs(&room->diagnosis, m);
    if (room->diagnosis.coordinate_shift == NULL)
        return;
    LAW(is_number(room->shift, m));
    for (size_t i = 0; i < m; i++)
        LAW(room->distance[i] >= 0 && room->distance[i] <= 1);
}

static void run_test_diagnose(api_case *c)
{
    npksd_result result;
    diagnosis_room room;
    static npksd_real null_values[2000];
    memset(&result, MARK, sizeof result);
    open_room(&room, 1, !c->options.calibration);
    c->calls = 0;
    npksd_status status = npksd_test_diagnose(c->observed, c->n, c->m, sample, c, &c->options, &result,
                                              &room.diagnosis, null_values);
    law_status(status);
    LAW(c->heap.live == 0);
    law_room(&room, status, c->n, c->m);
    if (status == NPKSD_OK) {
        law_result(&result);
        LAW(is_number(null_values, result.replicates));
    } else {
        LAW(is_marked(&result, sizeof result));
    }
}

/* A check in steps, which must be the check: result is that of the latter. */
static void use_steps(api_case *c, npksd_tester *tester, size_t items, const npksd_result *expected)
{
    npksd_result result;
    size_t done = 0, total = 0;
    LAW(npksd_tester_check_begin(tester, c->observed) == NPKSD_OK);
    npksd_status status = NPKSD_MORE;
    memset(&result, MARK, sizeof result);
    while (status == NPKSD_MORE) {
        npksd_tester_progress(tester, &done, &total);
        LAW(done < total);
        LAW(npksd_tester_check_end(tester, &result, NULL) == NPKSD_ERROR_STATE);
        status = npksd_tester_step(tester, items);
    }
    LAW(is_marked(&result, sizeof result));
    LAW(status == NPKSD_OK && npksd_tester_check_end(tester, &result, NULL) == NPKSD_OK);
    LAW(memcmp(&result.p_value, &expected->p_value, sizeof result.p_value) == 0);
    LAW(memcmp(&result.statistic, &expected->statistic, sizeof result.statistic) == 0);
    LAW(memcmp(&result.ksd2, &expected->ksd2, sizeof result.ksd2) == 0);
}

static void use_blob(api_case *c, npksd_tester *tester, const npksd_result *expected)
{
    size_t size = 0, again = 0, n, m;
    npksd_tester *loaded = NULL;
    npksd_result result;
    npksd_allocator allocator = fuzz_allocator(&c->heap);
    if (npksd_tester_save(tester, NULL, 0, &size) != NPKSD_OK)
        return;
    unsigned char *blob = (unsigned char *)malloc(size);
    LAW(npksd_tester_save(tester, blob, size - 1, &again) == NPKSD_ERROR_MEMORY);
    LAW(npksd_tester_save(tester, blob, size, &again) == NPKSD_OK && again == size);
    npksd_status status = npksd_tester_load(&loaded, blob, size, &allocator);
    LAW(status == NPKSD_OK || status == NPKSD_ERROR_MEMORY);
    size_t bytes = 0;
    LAW(npksd_blob_info(blob, size, &n, &m, &bytes) == NPKSD_OK && n == c->n && m == c->m);
    npksd_tester *placed = NULL;
    unsigned char *workspace = (unsigned char *)malloc(bytes);
    LAW(npksd_tester_load_into(&placed, blob, size, workspace, bytes - 1) == NPKSD_ERROR_MEMORY);
    LAW(placed == NULL);
    LAW(npksd_tester_load_into(&placed, blob, size, workspace, bytes) == NPKSD_OK);
    use_steps(c, placed, 7, expected);
    free(workspace);
    free(blob);
    if (status == NPKSD_OK) {
        npksd_tester_shape(loaded, &n, &m);
        LAW(n == c->n && m == c->m);
        LAW(npksd_tester_check(loaded, c->observed, &result, NULL) == NPKSD_OK);
        LAW(memcmp(&result.p_value, &expected->p_value, sizeof result.p_value) == 0);
        LAW(memcmp(&result.statistic, &expected->statistic, sizeof result.statistic) == 0);
    }
    npksd_tester_destroy(loaded);
}

static void use_workers(api_case *c, npksd_tester *tester)
{
    npksd_worker worker;
    size_t first = take_size(&c->in, 19), count = take_size(&c->in, 5);
    size_t bytes = npksd_tester_scratch_size(tester), width = npksd_tester_width(tester);
    npksd_real out[8 * (3 + M_MOST)];
    memset(&worker, 0, sizeof worker);
    memset(out, MARK, sizeof out);
    worker.scratch = malloc(bytes);
    worker.scratch_bytes = bytes;
    if (count > 8 && first <= c->options.replicates && count <= c->options.replicates - first)
        count = 8; /* out has no room for more */
    npksd_status status = npksd_tester_replicates(tester, &worker, first, count, out);
    law_status(status);
    if (status == NPKSD_OK) {
        LAW(is_number(out, count * width));
        LAW(npksd_tester_merge(tester, first, count, out) == NPKSD_OK);
    }
    free(worker.scratch);
}

static void law_monitor(const npksd_monitor *monitor, size_t before)
{
    LAW(monitor->recordings == before + 1);
    LAW(is_number(&monitor->p, 1) && monitor->p > 0 && monitor->p <= 1);
    LAW(is_number(&monitor->log_evidence, 1) && is_number(&monitor->log_change, 1));
    LAW(!monitor->alarm || (monitor->alarm_at > 0 && monitor->alarm_at <= monitor->recordings));
    LAW(!monitor->change_alarm || monitor->change_alarm_at <= monitor->recordings);
}

/* The same result again and again, until the memory is full; a result of bytes; a restart with the tester in use. */
static void use_monitor(api_case *c, const npksd_tester *tester, const npksd_result *result)
{
    enum { MEMORY = 6 };
    npksd_real memory[MEMORY], alpha = take_real(&c->in);
    npksd_monitor monitor;
    npksd_result other = *result;
    size_t capacity = take_byte(&c->in) % (MEMORY + 1);
    memset(&monitor, MARK, sizeof monitor);
    npksd_status status = npksd_monitor_begin(&monitor, alpha, capacity, c->options.seed);
    LAW(status == NPKSD_OK || status == NPKSD_ERROR_ARGUMENT);
    if (status != NPKSD_OK) {
        LAW(is_marked(&monitor, sizeof monitor));
        return;
    }
    LAW(capacity > 0 && alpha > 0 && alpha < 1);
    other.statistic = take_real(&c->in);
    for (size_t k = 0; k <= capacity; k++) {
        size_t before = monitor.recordings;
        status = npksd_monitor_add(&monitor, tester, memory, k % 3 == 2 ? &other : result);
        law_status(status);
        if (status == NPKSD_OK)
            law_monitor(&monitor, before);
        else
            LAW(monitor.recordings == before);
        LAW(k < capacity || status != NPKSD_OK);
    }
    law_status(npksd_monitor_restart(&monitor, tester));
}

static void run_tester(api_case *c)
{
    npksd_tester *tester = (npksd_tester *)c;
    npksd_result result;
    diagnosis_room room;
    npksd_real scores[N_MOST * M_MOST], null_values[REPLICATES_MOST];
    size_t bytes = 0, done = 0, total = 0, count = 0, units = 1 + take_byte(&c->in) % 60;
    npksd_status sized = npksd_tester_size(c->n, c->m, &c->options, &bytes);
    law_status(sized);
    if (sized != NPKSD_OK || bytes > HEAP_LIMIT) {
        npksd_status status = npksd_tester_create(&tester, c->n, c->m, sample, c, &c->options);
        LAW(status < 0 && tester == NULL && c->heap.live == 0);
        return;
    }
    unsigned odd = take_byte(&c->in) % 17;
    unsigned char *block = (unsigned char *)malloc(odd + bytes);
    c->calls = 0;
    LAW(npksd_tester_init(&tester, c->n, c->m, sample, c, &c->options, block + odd, bytes) == NPKSD_OK);
    LAW(npksd_tester_check(tester, c->observed, &result, NULL) < 0 || c->calls == 0);
    npksd_status status = NPKSD_MORE;
    for (int turn = 0; status == NPKSD_MORE; turn++) {
        status = npksd_tester_step(tester, turn < 20 ? units : SIZE_MAX);
        if (turn == 0)
            npksd_tester_scores(tester, c->observed, c->n, scores);
        if (turn == 3 && status == NPKSD_MORE && npksd_tester_prepare(tester) == NPKSD_OK)
            use_workers(c, tester);
    }
    law_status(status);
    npksd_tester_progress(tester, &done, &total);
    LAW(done <= total);
    open_room(&room, c->options.diagnose, !c->options.calibration);
    memset(&result, MARK, sizeof result);
    npksd_status checked = npksd_tester_check(tester, c->observed, &result, &room.diagnosis);
    law_status(checked);
    law_room(&room, checked, c->n, c->m);
    if (checked == NPKSD_OK) {
        law_result(&result);
        LAW(done == total);
        LAW(npksd_tester_null(tester, null_values, REPLICATES_MOST, &count) == NPKSD_OK);
        LAW(is_number(null_values, count < REPLICATES_MOST ? count : REPLICATES_MOST));
        LAW(npksd_tester_scores(tester, c->observed, c->n, scores) == NPKSD_OK);
        LAW(is_number(scores, c->n * c->m));
        use_steps(c, tester, units, &result);
        use_monitor(c, tester, &result);
        use_blob(c, tester, &result);
    } else {
        LAW(is_marked(&result, sizeof result));
    }
    npksd_tester_destroy(tester);
    free(block);
}

static void run_samples(api_case *c)
{
    npksd_result result;
    diagnosis_room room;
    npksd_real null_values[2000];
    size_t rows = 1 + take_byte(&c->in) % ROWS_MOST;
    const char *problem = npksd_samples_problem(&c->options, c->n, rows, c->m);
    int coordinates = take_byte(&c->in) % 2;
    memset(&result, MARK, sizeof result);
    open_room(&room, coordinates, 1);
    npksd_status status = npksd_test_samples_diagnose(c->observed, c->n, c->synthetic, rows, c->m,
                                                      &c->options, &result, &room.diagnosis,
                                                      null_values);
    law_status(status);
    LAW(c->heap.live == 0);
    LAW(problem == NULL || status == NPKSD_ERROR_ARGUMENT || coordinates != c->options.diagnose);
    law_room(&room, status, c->n, c->m);
    if (status == NPKSD_OK)
        law_result(&result);
    else
        LAW(is_marked(&result, sizeof result));
    LAW(rows >= npksd_samples_minimum(c->n) || status < 0);
    status = npksd_test_samples(c->observed, c->n, c->synthetic, rows, c->m, &c->options, &result);
    law_status(status);
}

static void run_trials(api_case *c)
{
    npksd_self_check_result check;
    npksd_power_result power;
    c->calls = 0;
    memset(&check, MARK, sizeof check);
    npksd_status status = npksd_self_check(c->n, c->m, sample, c, &c->options, 2, &check);
    law_status(status);
    if (status == NPKSD_OK) {
        LAW(check.runs == 2 && check.rejected <= 2 && check.mean_p > 0 && check.mean_p <= 1);
        LAW(check.uniform_p >= 0 && check.uniform_p <= 1 && is_number(&check.distance, 1));
    } else {
        LAW(is_marked(&check, sizeof check));
    }
    c->calls = 0;
    memset(&power, MARK, sizeof power);
    status = npksd_power(c->n, c->m, sample, c, sample, c, &c->options, 3, &power);
    law_status(status);
    if (status == NPKSD_OK)
        LAW(power.runs == 3 && power.low >= 0 && power.low <= power.power && power.power <= power.high
            && power.high <= 1);
    else
        LAW(is_marked(&power, sizeof power));
    LAW(c->heap.live == 0);
}

static void run_primitives(api_case *c)
{
    npksd_real out, weights[M_MOST], *scores = c->synthetic;
    for (size_t i = 0; i < M_MOST; i++)
        weights[i] = take_real(&c->in);
    memset(&out, MARK, sizeof out);
    npksd_status status = npksd_median_distance(c->observed, c->n, c->m, &c->options, &out);
    law_status(status);
    LAW(status == NPKSD_OK ? is_number(&out, 1) && out > 0 : is_marked(&out, sizeof out));
    for (int weighted = 0; weighted < 2; weighted++) {
        memset(&out, MARK, sizeof out);
        status = npksd_statistic(c->observed, scores, c->n, c->m, weighted ? weights : NULL,
                                 &c->options, &out);
        law_status(status);
        LAW(status == NPKSD_OK ? is_number(&out, 1) : is_marked(&out, sizeof out));
    }
    LAW(c->heap.live == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    static api_case c; /* large */
    LAW(npksd_version() == NPKSD_VERSION);
    take_case(&c, bytes, size);
    const char *problem = npksd_options_problem(&c.options, c.n, c.m);
    LAW(problem == NULL || problem[0] != 0);
    if (!short_enough(&c.options))
        return 0;
    switch (bytes && size > 0 ? bytes[size - 1] % 6 : 0) { /* the last byte chooses */
    case 0: run_test(&c); break;
    case 1: run_tester(&c); break;
    case 2: run_samples(&c); break;
    case 3: run_trials(&c); break;
    case 4: run_primitives(&c); break;
    default:
        run_test(&c);
        run_test_diagnose(&c);
        run_tester(&c);
        break;
    }
    LAW(c.heap.live == 0);
    return 0;
}
