/* The same small tests on every platform. The report must not depend on where it was made:
 *
 *     NAME DECIMALS BITS      a number, rounded to six decimals and exactly
 *
 * platforms.mk compares it with the host's, to the last bit where compiler and flags promise that.
 * No printf and no heap, so that a microcontroller can run the same file (PLATFORM_BARE).
 *
 *     platform_check              the report
 *     platform_check FILE.h       first half, on the host: testers of 50 and 500 rows as C arrays,
 *                                 for the second build, with PLATFORM_BLOBS, that loads them */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"

#ifdef PLATFORM_BARE
void device_write(const char *text);
#else
#include <stdio.h>
static void device_write(const char *text) { fputs(text, stdout); }
#endif

enum { N = 40, M = 3, ARENA = 2 << 20, BLOB = 1 << 17, BIG_N = 500, BIG_M = 4 };

static union {
    unsigned char bytes[ARENA];
    npksd_real align;
} arena;
static size_t arena_used, arena_top, arena_live;
static unsigned char blob[BLOB], again[BLOB];
static npksd_real rows[BIG_N * BIG_M];
static int failures;

/* ======== a heap of its own: empty when all was given back ======== */

static void *arena_alloc(size_t bytes, void *user_data)
{
    size_t at = arena_used;
    (void)user_data;
    if (bytes > ARENA - at)
        return NULL;
    arena_used += (bytes + 15) / 16 * 16;
    arena_top = arena_used > arena_top ? arena_used : arena_top;
    arena_live++;
    return arena.bytes + at;
}

static void arena_free(void *memory, size_t bytes, void *user_data)
{
    (void)memory;
    (void)bytes;
    (void)user_data;
    if (--arena_live == 0)
        arena_used = 0;
}

/* ======== the report ======== */

static void write_digits(uint64_t value, unsigned base, int least)
{
    char text[72], *end = text + sizeof text - 1;
    *end = '\0';
    for (; value > 0 || least > 0; least--) {
        *--end = "0123456789abcdef"[value % base];
        value /= base;
    }
    device_write(end);
}

static void write_name(const char *test, const char *name)
{
    device_write(test);
    device_write(".");
    device_write(name);
    device_write(" ");
}

typedef union real_bits {
    npksd_real value;
#ifdef NPKSD_FLOAT
    uint32_t bits;
#else
    uint64_t bits;
#endif
} real_bits;

static void report_real(const char *test, const char *name, npksd_real value)
{
    real_bits pun;
    pun.value = value;
    npksd_real size = value < 0 ? -value : value;
    uint64_t whole = (uint64_t)size;
    uint64_t part = (uint64_t)((size - (npksd_real)whole) * 1000000 + (npksd_real)0.5);
    write_name(test, name);
    device_write(value < 0 ? "-" : "");
    write_digits(whole + part / 1000000, 10, 1);
    device_write(".");
    write_digits(part % 1000000, 10, 6);
    device_write(" ");
    write_digits(pun.bits, 16, (int)(2 * sizeof value));
    device_write("\n");
}

static void report_count(const char *test, const char *name, size_t count)
{
    write_name(test, name);
    write_digits(count, 10, 1);
    device_write("\n");
}

static int good(const char *test, npksd_status status)
{
    if (status == NPKSD_OK)
        return 1;
    failures++;
    write_name(test, "failed");
    device_write(npksd_status_string(status));
    device_write("\n");
    return 0;
}

static void must(const char *test, const char *name, int condition)
{
    if (!condition) {
        failures++;
        write_name(test, name);
        device_write("does not hold\n");
    }
}

static void report_result(const char *test, const npksd_result *r)
{
    report_real(test, "p", r->p_value);
    report_count(test, "reject", (size_t)r->reject);
    report_real(test, "statistic", r->statistic);
    report_real(test, "threshold", r->threshold);
    report_real(test, "bandwidth", r->bandwidth);
    report_real(test, "ksd2", r->ksd2);
    report_real(test, "p_low", r->p_low);
    report_real(test, "p_high", r->p_high);
    report_count(test, "leading", r->leading);
}

static uint32_t checksum(const unsigned char *bytes, size_t count)
{
    uint32_t sum = 2166136261u;
    for (size_t k = 0; k < count; k++)
        sum = (sum ^ bytes[k]) * 16777619u;
    return sum;
}

/* ======== the data: a chain, x_i = x_{i-1} / 2 + push + z_i ======== */

static int chain(npksd_real *out, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    npksd_real push = user_data ? *(const npksd_real *)user_data : 0;
    for (size_t r = 0; r < count; r++) {
        npksd_real x = 0;
        for (size_t i = 0; i < m; i++)
            out[r * m + i] = x = x / 2 + push + npksd_normal(rng);
    }
    return 0;
}

static int chain_score(const npksd_real *in, size_t count, size_t m, npksd_real *scores,
                       void *unused)
{
    (void)unused;
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < m; i++) {
            const npksd_real *x = in + r * m;
            npksd_real s = -(x[i] - (i > 0 ? x[i - 1] / 2 : 0));
            scores[r * m + i] = s + (i + 1 < m ? (x[i + 1] - x[i] / 2) / 2 : 0);
        }
    return 0;
}

static void record(size_t n, size_t m, npksd_real push, uint64_t seed)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 0);
    chain(rows, n, m, &rng, &push);
}

static npksd_options small_options(void)
{
    npksd_options o = npksd_default_options();
    o.seed = 7;
    o.fit_rows = 600;
    o.pilot = 30;
    o.replicates = 99;
    o.allocator.alloc_fn = arena_alloc;
    o.allocator.free_fn = arena_free;
    return o;
}

/* ======== what is run ======== */

/* One call, with rows that fit and rows that do not. */
static void run_test(const char *test, const npksd_options *options, npksd_sample_fn sample_fn,
                     size_t m)
{
    for (int shifted = 0; shifted < 2; shifted++) {
        npksd_result result;
        record(N, m, shifted ? (npksd_real)0.5 : 0, 3);
        if (good(test, npksd_test(rows, N, m, sample_fn, NULL, options, &result)))
            report_result(test, &result);
    }
    must(test, "memory", arena_live == 0);
}

/* Steps, diagnosis, scores; then saved, loaded, and checked again with the same answer. */
/* A dozen recordings, with ties. */
static void run_monitor(const npksd_tester *tester, npksd_result result)
{
    static const char test[] = "monitor";
    npksd_monitor monitor;
    npksd_real memory[12];
    int added = good(test, npksd_monitor_begin(&monitor, (npksd_real)0.05, 12, 5));
    for (size_t k = 0; k < 12 && added; k++) {
        result.statistic = (npksd_real)(k % 5);
        added = good(test, npksd_monitor_add(&monitor, tester, memory, &result));
    }
    report_real(test, "p", monitor.p);
    report_real(test, "evidence", monitor.log_evidence);
    report_real(test, "change", monitor.log_change);
}

static void run_tester(void)
{
    static const char test[] = "tester";
    static unsigned char workspace[ARENA / 2];
    npksd_options options = small_options();
    npksd_tester *tester, *loaded;
    npksd_result first, second;
    npksd_real influence[N], p[M], adjusted[M], shares[M], scores[2 * M];
    npksd_real shift[M], distance[M];
    npksd_pair pairs[M];
    npksd_diagnosis diagnosis = { shares, p, adjusted, influence, shift, distance, pairs, M, 0 };
    npksd_status status;
    size_t bytes = 0, size = 0, size_again = 0;
    options.diagnose = 1;
    if (!good(test, npksd_tester_size(N, M, &options, &bytes)))
        return;
    must(test, "room", bytes <= sizeof workspace);
    if (!good(test, npksd_tester_init(&tester, N, M, chain, NULL, &options, workspace, bytes)))
        return;
    do
        status = npksd_tester_step(tester, 5);
    while (status == NPKSD_MORE);
    record(N, M, (npksd_real)0.5, 3);
    if (!good(test, status) || !good(test, npksd_tester_check(tester, rows, &first, &diagnosis)) ||
        !good(test, npksd_tester_scores(tester, rows, 2, scores)) ||
        !good(test, npksd_tester_save(tester, blob, sizeof blob, &size)) ||
        !good(test, npksd_tester_load(&loaded, blob, size, &options.allocator)))
        return;
    report_result(test, &first);
    for (size_t i = 0; i < M; i++) {
        report_real(test, "share", shares[i]);
        report_real(test, "coordinate.p", p[i]);
        report_real(test, "adjusted.p", adjusted[i]);
        report_real(test, "shift", shift[i]);
        report_real(test, "distance", distance[i]);
    }
    for (size_t k = 0; k < diagnosis.pair_count; k++) {
        report_count(test, "pair", 10 * pairs[k].first + pairs[k].second);
        report_real(test, "pair.observed", pairs[k].observed);
        report_real(test, "pair.expected", pairs[k].expected);
        report_real(test, "pair.p", pairs[k].p_adjusted);
    }
    report_real(test, "influence", influence[N - 1]);
    for (size_t i = 0; i < 2 * M; i++)
        report_real(test, "score", scores[i]);
    run_monitor(tester, first);
    report_count(test, "blob", size);
    report_count(test, "checksum", checksum(blob, size));
    if (good(test, npksd_tester_check(loaded, rows, &second, NULL)))
        must(test, "the loaded tester's answer",
             !(first.statistic < second.statistic) && !(first.statistic > second.statistic));
    if (good(test, npksd_tester_save(loaded, again, sizeof again, &size_again)))
        must(test, "the same bytes again", size == size_again &&
             checksum(blob, size) == checksum(again, size));
    npksd_tester_destroy(loaded);
    if (good(test, npksd_blob_info(blob, size, NULL, NULL, &bytes)) &&
        good(test, npksd_tester_load_into(&loaded, blob, size, workspace, sizeof workspace)) &&
        good(test, npksd_tester_check_begin(loaded, rows))) {
        must(test, "room for a loaded one", bytes <= sizeof workspace);
        while (npksd_tester_step(loaded, 1) == NPKSD_MORE)
            ;
        if (good(test, npksd_tester_check_end(loaded, &second, NULL)))
            must(test, "the answer of a check in steps",
                 !(first.statistic < second.statistic) && !(first.statistic > second.statistic));
    }
    blob[size / 2] ^= 1;
    must(test, "damage is seen", npksd_tester_load(&loaded, blob, size, &options.allocator) ==
                                     NPKSD_ERROR_FORMAT && loaded == NULL);
}

static void run_samples(void)
{
    static const char test[] = "samples";
    static npksd_real observed[N * M];
    npksd_options options = small_options();
    npksd_result result;
    record(N, M, (npksd_real)0.5, 3);
    for (size_t k = 0; k < N * M; k++)
        observed[k] = rows[k];
    record(6 * N, M, 0, 4);
    if (good(test, npksd_test_samples(observed, N, rows, 6 * N, M, &options, &result)))
        report_result(test, &result);
}

#ifdef PLATFORM_BLOBS
#include "platform_blobs.h"

/* A tester fitted on the host, with the default options, answers here. */
static void run_blob(const char *test, const unsigned char *bytes, size_t size, size_t n)
{
    npksd_options options = npksd_default_options();
    npksd_allocator allocator = small_options().allocator;
    npksd_tester *tester;
    npksd_result result;
    size_t size_again = 0, needed = 0;
    arena_top = 0;
    if (!good(test, npksd_tester_load(&tester, bytes, size, &allocator)))
        return;
    size_t loaded = arena_top;
    for (int shifted = 0; shifted < 2; shifted++) {
        record(n, BIG_M, shifted ? (npksd_real)0.5 : 0, 5);
        if (good(test, npksd_tester_check(tester, rows, &result, NULL)))
            report_result(test, &result);
    }
    if (good(test, npksd_tester_save(tester, again, sizeof again, &size_again)))
        must(test, "the same bytes again",
             size == size_again && checksum(bytes, size) == checksum(again, size));
    npksd_tester_destroy(tester);
    good(test, npksd_tester_size(n, BIG_M, &options, &needed));
    report_count(test, "memory.tester", needed); /* differ with the size of a pointer */
    report_count(test, "memory.loaded", loaded);
}
#endif

#ifndef PLATFORM_BARE
static int write_blobs(const char *file)
{
    FILE *out = fopen(file, "w");
    if (out == NULL)
        return 1;
    for (size_t n = 50; n <= BIG_N; n *= 10) {
        npksd_options options = npksd_default_options();
        npksd_tester *tester;
        size_t size = 0;
        options.allocator = small_options().allocator;
        if (!good("blob", npksd_tester_create(&tester, n, BIG_M, chain, NULL, &options)) ||
            !good("blob", npksd_tester_step(tester, SIZE_MAX)) ||
            !good("blob", npksd_tester_save(tester, blob, sizeof blob, &size)))
            return 1;
        fprintf(out, "static const unsigned char platform_blob_%u[%u] = {", (unsigned)n,
                (unsigned)size);
        for (size_t k = 0; k < size; k++)
            fprintf(out, "%s%u,", k % 20 ? "" : "\n", (unsigned)blob[k]);
        fprintf(out, "\n};\n");
        npksd_tester_destroy(tester);
    }
    return fclose(out) != 0;
}
#endif

/* The random streams: words, uniform and normal numbers, and 20000 normal ones by their checksum. */
static void run_streams(void)
{
    static const uint64_t keys[][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { UINT64_MAX, UINT64_C(1) << 40 } };
    static npksd_real many[1000];
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, keys[k][0], keys[k][1]);
        for (int i = 0; i < 3; i++) {
            write_name("stream", "word");
            write_digits(rng.next_fn(rng.user_data), 16, 16);
            device_write("\n");
        }
        for (int i = 0; i < 3; i++)
            report_real("stream", "uniform", npksd_uniform(&rng));
        for (int i = 0; i < 3; i++)
            report_real("stream", "normal", npksd_normal(&rng));
        uint32_t sum = 0;
        for (int i = 0; i < 20; i++) {
            for (int j = 0; j < 1000; j++)
                many[j] = npksd_normal(&rng);
            unsigned char bytes[sizeof many[0]];
            for (int j = 0; j < 1000; j++) { /* little-endian, whatever the machine */
                real_bits pun;
                pun.value = many[j];
                for (size_t b = 0; b < sizeof bytes; b++)
                    bytes[b] = (unsigned char)(pun.bits >> (8 * b));
                sum = sum * 31 + checksum(bytes, sizeof bytes);
            }
        }
        write_name("stream", "checksum");
        write_digits(sum, 16, 8);
        device_write("\n");
    }
}

static int run_all(void)
{
    npksd_options options = small_options();
    run_streams();
    run_test("auto", &options, chain, M);
    options.summary = NPKSD_SUMMARY_ALL;
    options.estimator = NPKSD_ESTIMATOR_GAUSS;
    run_test("wide", &options, chain, 20);
    options.estimator = NPKSD_ESTIMATOR_RBF;
    run_test("rbf", &options, chain, M);
    options.estimator = NPKSD_ESTIMATOR_POLY;
    options.kernel = NPKSD_KERNEL_IMQ;
    options.summary = NPKSD_SUMMARY_NEIGHBOURS;
    run_test("poly", &options, chain, M);
    options = small_options();
    options.features = 32;
    options.resample = 2;
    run_test("features", &options, chain, M);
    options = small_options();
    options.estimator = NPKSD_ESTIMATOR_CALLBACK;
    options.score_fn = chain_score;
    options.calibration = NPKSD_CALIBRATE_WILD_BOOTSTRAP;
    options.components = NPKSD_COMPONENT_STEIN;
    options.standardize = 0;
    options.bandwidth = 1;
    run_test("wild", &options, NULL, M);
    run_tester();
    run_samples();
#ifdef PLATFORM_BLOBS
    run_blob("blob50", platform_blob_50, sizeof platform_blob_50, 50);
    run_blob("blob500", platform_blob_500, sizeof platform_blob_500, 500);
#endif
    device_write(failures ? "platform_check: FAILED\n" : "platform_check: done\n");
    return failures != 0;
}

#ifdef PLATFORM_BARE
int main(void) { return run_all(); }
#else
int main(int argc, char **argv) { return argc > 1 ? write_blobs(argv[1]) : run_all(); }
#endif
