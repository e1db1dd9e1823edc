/*
 * The simulation and the test behind index.html: npksd.h as WebAssembly, made by clang and wasm-ld
 * alone. No libc, no allocator, no runtime: the tester lives in a static block (npksd_tester_init),
 * and the page reads rows and results straight out of the module's memory.
 *
 * A catapult threw stones on a test field, and four numbers were recorded for each of n throws. The
 * page has a simulator of that catapult with sliders. Could the recorded throws have come from it?
 *
 * verdict.c compiles the same file natively; both give the same numbers.
 */
#define NPKSD_NO_MALLOC
#define NPKSD_STATIC
#define NPKSD_IMPLEMENTATION
#include "../../npksd.h"

#ifdef __wasm__
#define WEB_EXPORT(name) __attribute__((export_name(#name))) name
/* All that npksd.h needs from outside. -ffreestanding includes -fno-builtin, which keeps clang from
   turning these loops into calls of themselves. */
void *memcpy(void *to, const void *from, size_t bytes)
{
    unsigned char *out = (unsigned char *)to;
    const unsigned char *in = (const unsigned char *)from;
    for (size_t i = 0; i < bytes; i++)
        out[i] = in[i];
    return to;
}
void *memset(void *to, int value, size_t bytes)
{
    unsigned char *out = (unsigned char *)to;
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)value;
    return to;
}
#else
#define WEB_EXPORT(name) name
#endif

enum { WEB_M = 4, WEB_N_MIN = 20, WEB_N_MAX = 200, WEB_REPLICATES = 499, WEB_VERDICT = 11 };
enum { WEB_PAIRS = WEB_M * (WEB_M - 1) / 2, WEB_PAIR = 5 };

/* ======== the simulation ======== */

typedef struct web_world {
    double speed;   /* m/s, mean launch speed of a light stone */
    double scatter; /* degrees, how much the aim varies */
    double wind;    /* m/s, mean wind from the side */
    double heavy;   /* share of heavy stones, which leave the sling slower */
    double link;    /* -1 to 1: does a stronger pull also raise the aim? */
} web_world;

static const web_world web_recorded_world = { 30, 2.5, 3, 0.35, 0.6 };

static double web_sqrt(double x) { return __builtin_sqrt(x); } /* one instruction, wasm or native */

/* Sine and cosine by series: accurate enough below a right angle, the same bits everywhere. */
static void web_sincos(double angle, double *sine, double *cosine)
{
    double square = angle * angle, s = 1, c = 1;
    for (int k = 11; k > 0; k--) {
        s = 1 - s * square / (2 * k * (2 * k + 1));
        c = 1 - c * square / (2 * k * (2 * k - 1));
    }
    *sine = angle * s;
    *cosine = c;
}

/* One throw: range, drift to the side, flight time, peak height. More random inputs than
   numbers in a row, so that rows have a density in all four dimensions. */
static void web_throw(const web_world *world, npksd_rng *rng, npksd_real *row)
{
    const double degree = 0.017453292519943295, gravity = 9.81, step = 1.0 / 30;
    double pull = npksd_normal(rng), other = npksd_normal(rng);
    double aim = world->link * pull + web_sqrt(1 - world->link * world->link) * other;
    double heavy = npksd_uniform(rng) < world->heavy;
    double speed = world->speed * (1 - 0.14 * heavy) * (1 + 0.02 * pull);
    double drag = 0.004 - 0.001 * heavy;
    double sine, cosine, side;
    web_sincos((43 + world->scatter * aim) * degree, &sine, &cosine);
    side = 0.5 * world->scatter * degree * npksd_normal(rng); /* small: sin x = x */
    double wind[3] = { 1.2 * npksd_normal(rng), world->wind + 1.2 * npksd_normal(rng), 0 };
    double place[3] = { 0, 0, 1.5 }, before[3] = { 0, 0, 0 };
    double speeds[3] = { speed * cosine, speed * cosine * side, speed * sine };
    double time = 0, peak = 0, part;
    while (place[2] > 0 && time < 20) {
        double air[3], pace = 0;
        for (int k = 0; k < 3; k++) {
            before[k] = place[k];
            air[k] = speeds[k] - wind[k];
            pace += air[k] * air[k];
        }
        pace = drag * web_sqrt(pace);
        for (int k = 0; k < 3; k++) {
            double change = step * (-pace * air[k] - (k == 2 ? gravity : 0));
            place[k] += step * (speeds[k] + change / 2);
            speeds[k] += change;
        }
        time += step;
        peak = place[2] > peak ? place[2] : peak;
    }
    part = before[2] / (before[2] - place[2]); /* when in the last step it hit the ground */
    row[0] = before[0] + part * (place[0] - before[0]);
    row[1] = before[1] + part * (place[1] - before[1]);
    row[2] = time - step * (1 - part) + 0.05 * npksd_normal(rng); /* a thumb on a stopwatch */
    row[3] = peak + 0.3 * npksd_normal(rng);                      /* an eye on a pole */
}

static int web_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    for (size_t i = 0; i < count; i++)
        web_throw((const web_world *)user_data, rng, rows + i * m);
    return 0;
}

/* ======== the test ======== */

static unsigned char web_arena[1 << 20]; /* for the tester */
static npksd_tester *web_tester;
static web_world web_simulator;
static size_t web_n;
static double web_recorded_rows[WEB_N_MAX * WEB_M], web_simulated_rows[WEB_N_MAX * WEB_M];
static double web_null_values[WEB_REPLICATES], web_influences[WEB_N_MAX];
static double web_coordinate_values[4 * WEB_M], web_verdict_values[WEB_VERDICT];
static double web_pair_values[WEB_PAIRS * WEB_PAIR];

/* A new recording and a new test. Returns an npksd_status; then call web_step until it returns 0. */
int WEB_EXPORT(web_start)(int n, unsigned seed, double speed, double scatter, double wind,
                          double heavy, double link)
{
    web_world recorded = web_recorded_world;
    npksd_options options = npksd_default_options();
    npksd_rng_state state;
    /* The test draws from streams of `seed`. Recording and picture draw from keys that no 32-bit
       seed can reach: a recording that shared a stream with a replicate would equal it. */
    uint64_t recording_key = (uint64_t)seed | (uint64_t)1 << 32;
    uint64_t picture_key = (uint64_t)seed | (uint64_t)2 << 32;
    npksd_rng rng;

    web_tester = NULL;
    if (n < WEB_N_MIN || n > WEB_N_MAX)
        return NPKSD_ERROR_ARGUMENT;
    web_n = (size_t)n;
    web_simulator.speed = speed;
    web_simulator.scatter = scatter;
    web_simulator.wind = wind;
    web_simulator.heavy = heavy;
    web_simulator.link = link;
    rng = npksd_rng_seeded(&state, recording_key, 0);
    web_sample(web_recorded_rows, web_n, WEB_M, &rng, &recorded);
    rng = npksd_rng_seeded(&state, picture_key, 0);
    web_sample(web_simulated_rows, web_n, WEB_M, &rng, &web_simulator);

    options.seed = seed;
    options.replicates = WEB_REPLICATES;
    options.diagnose = 1;
    return npksd_tester_init(&web_tester, web_n, WEB_M, web_sample, &web_simulator, &options,
                             web_arena, sizeof web_arena);
}

/* Does up to `items` items of work: 1 = more to do, 0 = done, negative = an npksd_status error. */
int WEB_EXPORT(web_step)(int items) { return npksd_tester_step(web_tester, (size_t)items); }

double WEB_EXPORT(web_progress)(void)
{
    size_t done = 0, total = 1;
    npksd_tester_progress(web_tester, &done, &total);
    return (double)done / (double)total;
}

/* Once step has returned 0. web_verdict: statistic, p, p_low, p_high, threshold, reject, leading,
   replicates, ksd2, flags, pairs. web_coordinates, WEB_M numbers each: distance of the distribution
   functions, shift of the mean in standard deviations, adjusted p, and the distance of the simulated
   throws of the picture, as a yardstick for the eye. web_pairs, the most changed first: two
   coordinates, correlation recorded and expected, adjusted p. */
int WEB_EXPORT(web_check)(void)
{
    npksd_result result, yardstick_result;
    npksd_pair pairs[WEB_PAIRS];
    npksd_diagnosis why, yardstick;
    npksd_status status;
    memset(&why, 0, sizeof why);
    memset(&yardstick, 0, sizeof yardstick);
    why.coordinate_distance = web_coordinate_values;
    why.coordinate_shift = web_coordinate_values + WEB_M;
    why.coordinate_p_adjusted = web_coordinate_values + 2 * WEB_M;
    why.row_influence = web_influences;
    why.pairs = pairs;
    why.pair_capacity = WEB_PAIRS;
    yardstick.coordinate_distance = web_coordinate_values + 3 * WEB_M;
    status = npksd_tester_check(web_tester, web_recorded_rows, &result, &why);
    if (status == NPKSD_OK)
        status = npksd_tester_check(web_tester, web_simulated_rows, &yardstick_result, &yardstick);
    if (status == NPKSD_OK) {
        double *v = web_verdict_values;
        v[0] = result.statistic;
        v[1] = result.p_value;
        v[2] = result.p_low;
        v[3] = result.p_high;
        v[4] = result.threshold;
        v[5] = result.reject;
        v[6] = result.leading;
        v[7] = (double)result.replicates;
        v[8] = result.ksd2;
        v[9] = result.flags;
        v[10] = (double)why.pair_count;
        for (size_t k = 0; k < why.pair_count; k++) {
            double *to = web_pair_values + WEB_PAIR * k;
            to[0] = (double)pairs[k].first;
            to[1] = (double)pairs[k].second;
            to[2] = pairs[k].observed;
            to[3] = pairs[k].expected;
            to[4] = pairs[k].p_adjusted;
        }
    }
    return status;
}

/* How many values of the null distribution are ready; web_null says where. */
int WEB_EXPORT(web_null_count)(void)
{
    size_t count = 0;
    if (npksd_tester_null(web_tester, web_null_values, WEB_REPLICATES, &count) != NPKSD_OK)
        return 0;
    return (int)count;
}

/* Where in memory the page finds the numbers. */
const double *WEB_EXPORT(web_world_values)(void) { return &web_recorded_world.speed; }
const double *WEB_EXPORT(web_recorded)(void) { return web_recorded_rows; }
const double *WEB_EXPORT(web_simulated)(void) { return web_simulated_rows; }
const double *WEB_EXPORT(web_null)(void) { return web_null_values; }
const double *WEB_EXPORT(web_verdict)(void) { return web_verdict_values; }
const double *WEB_EXPORT(web_coordinates)(void) { return web_coordinate_values; }
const double *WEB_EXPORT(web_pairs)(void) { return web_pair_values; }
const double *WEB_EXPORT(web_influence)(void) { return web_influences; }
const char *WEB_EXPORT(web_status)(int status) { return npksd_status_string((npksd_status)status); }
