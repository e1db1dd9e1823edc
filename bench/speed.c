/*
 * How long does a test take, what does each part cost, and how far is that from the floor?
 *
 * The floor of a data set: draw its n x m normals through the library's own generator, then two
 * symmetric products X X' (lower triangle): (a) three plain loops, (b) cache- and register-blocked
 * plain C, same flags, (c) OpenBLAS dsyrk on one thread, if built with BLAS=1.
 *
 *     speed [part ...]     parts: tests components scores linear normals steps; none = all
 */
#include "bench.h"

#if defined(BENCH_BLAS) && !defined(NPKSD_FLOAT)
#include <cblas.h>
#define HAVE_BLAS 1
#else
#define HAVE_BLAS 0
#endif

static int quick;
static volatile double sink;
static double clock_cost; /* of one look at the clock, taken off where it matters */

/* ======== a generator that looks at the clock ======== */

typedef struct clocked {
    double *at, *drawing; /* when each data set began, how long the drawing took */
    size_t calls, capacity;
} clocked;

static void fill_normals(npksd_real *rows, size_t count, npksd_rng *rng)
{
    for (size_t i = 0; i < count; i++)
        rows[i] = npksd_normal(rng);
}

static int clocked_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    clocked *c = (clocked *)user_data;
    double start = bench_cpu();
    fill_normals(rows, count * m, rng);
    if (c->calls < c->capacity) {
        c->at[c->calls] = start;
        c->drawing[c->calls] = bench_cpu() - start - clock_cost;
    }
    c->calls++;
    return 0;
}

static int normal_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores,
                        void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        scores[i] = -rows[i];
    return 0;
}

/* ======== the time of a data set ======== */

typedef struct times {
    double whole, fit, pilot;    /* seconds: whole test, until the first pilot data set, pilot */
    double replicate, drawing;   /* medians: one replicate from call to call, its drawing */
} times;

/* One npksd_test under the clock. The data sets are, in order: fit, pilot, replicates. */
static times clock_test(size_t n, size_t m, const npksd_options *o, size_t pilot)
{
    clocked c;
    times t;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 7, 7);
    npksd_real *observed = (npksd_real *)bench_alloc(n * m, sizeof *observed);
    npksd_result result;
    c.calls = 0;
    c.capacity = 2 * o->fit_rows / n + pilot + o->replicates + 64;
    c.at = (double *)bench_alloc(2 * c.capacity, sizeof *c.at);
    c.drawing = c.at + c.capacity;
    fill_normals(observed, n * m, &rng);
    double start = bench_cpu();
    bench_must("npksd_test", npksd_test(observed, n, m, clocked_sample, &c, o, &result));
    double end = bench_cpu();
    if (c.calls > c.capacity || c.calls < pilot + o->replicates)
        bench_die("unexpected number of generator calls", NPKSD_ERROR_GENERATOR);
    size_t first = c.calls - o->replicates, fits = first - pilot;
    t.whole = end - start;
    t.fit = c.at[fits] - start;
    t.pilot = c.at[first] - c.at[fits];
    for (size_t i = first; i < c.calls; i++)
        c.at[i] = (i + 1 < c.calls ? c.at[i + 1] : end) - c.at[i];
    t.replicate = bench_median(c.at + first, o->replicates) - 2 * clock_cost;
    t.drawing = bench_median(c.drawing + first, o->replicates);
    free(c.at);
    free(observed);
    return t;
}

static double *field(times *t, int f)
{
    return f == 0 ? &t->whole : f == 1 ? &t->fit : f == 2 ? &t->pilot
        : f == 3 ? &t->replicate : &t->drawing;
}

enum { FIELDS = 5, REPEATS_MAX = 15, CASES_MAX = 4 };

/* Medians over repeats, the cases taken in turn so that a noisy moment hits all of them. */
static void clock_cases(size_t n, size_t m, const npksd_options *o, const size_t *pilot,
                        size_t cases, size_t repeats, times *out)
{
    times all[CASES_MAX][REPEATS_MAX];
    double values[REPEATS_MAX];
    for (size_t r = 0; r < repeats; r++)
        for (size_t k = 0; k < cases; k++)
            all[k][r] = clock_test(n, m, &o[k], pilot[k]);
    for (size_t k = 0; k < cases; k++) {
        for (int f = 0; f < FIELDS; f++) {
            for (size_t r = 0; r < repeats; r++)
                values[r] = *field(&all[k][r], f);
            *field(&out[k], f) = bench_median(values, repeats);
        }
    }
}

static npksd_options paper_options(void)
{
    static const npksd_real one = 1;
    npksd_options o = npksd_default_options();
    o.components = NPKSD_COMPONENT_STEIN;
    o.statistic = NPKSD_STATISTIC_V;
    o.scales = &one;
    o.scale_count = 1;
    return o;
}

/* ======== the floor ======== */

static void gram_naive(const npksd_real *x, size_t n, size_t m, npksd_real *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            npksd_real sum = 0;
            for (size_t k = 0; k < m; k++)
                sum += x[i * m + k] * x[j * m + k];
            out[i * n + j] = sum;
        }
}

enum { TILE_I = 4, TILE_J = 8 }; /* 32 running sums: they fit in the vector registers */

/* sum[a][b] = sum over k of p[k * width + a] * q[k * width + b] */
static void tile_products(const npksd_real *p, const npksd_real *q, size_t m, size_t width,
                          npksd_real sum[TILE_I][TILE_J])
{
    npksd_real s0[TILE_J] = { 0 }, s1[TILE_J] = { 0 }, s2[TILE_J] = { 0 }, s3[TILE_J] = { 0 };
    for (size_t k = 0; k < m; k++, p += width, q += width) {
        npksd_real p0 = p[0], p1 = p[1], p2 = p[2], p3 = p[3];
        for (size_t b = 0; b < TILE_J; b++) {
            npksd_real y = q[b];
            s0[b] += p0 * y;
            s1[b] += p1 * y;
            s2[b] += p2 * y;
            s3[b] += p3 * y;
        }
    }
    memcpy(sum[0], s0, sizeof s0);
    memcpy(sum[1], s1, sizeof s1);
    memcpy(sum[2], s2, sizeof s2);
    memcpy(sum[3], s3, sizeof s3);
}

/* x transposed and padded to whole tiles of columns, so that the inner loop has unit stride */
static void gram_blocked(const npksd_real *x, size_t n, size_t m, npksd_real *out, npksd_real *xt)
{
    size_t width = (n + TILE_J - 1) / TILE_J * TILE_J;
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < n; i++)
            xt[k * width + i] = x[i * m + k];
        for (size_t i = n; i < width; i++)
            xt[k * width + i] = 0;
    }
    for (size_t j = 0; j < n; j += TILE_J) {
        for (size_t i = j / TILE_I * TILE_I; i < n; i += TILE_I) {
            npksd_real sum[TILE_I][TILE_J];
            tile_products(xt + i, xt + j, m, width, sum);
            for (size_t a = 0; a < TILE_I && i + a < n; a++)
                for (size_t b = 0; b < TILE_J && j + b <= i + a; b++)
                    out[(i + a) * n + j + b] = sum[a][b];
        }
    }
}

static void gram_blas(const npksd_real *x, size_t n, size_t m, npksd_real *out)
{
#if HAVE_BLAS
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)n, (int)m, 1, x, (int)m, 0, out,
                (int)n);
#else
    (void)x, (void)n, (void)m, (void)out;
#endif
}

typedef struct floors {
    double drawing, product[3]; /* seconds per data set; product: two Gram products */
} floors;

static floors clock_floor(size_t n, size_t m)
{
    size_t width = (n + TILE_J - 1) / TILE_J * TILE_J, rounds = quick ? 3 : n > 500 ? 21 : 201;
    npksd_real *x = (npksd_real *)bench_alloc(n * m, sizeof *x);
    npksd_real *out = (npksd_real *)bench_alloc(2 * n * n, sizeof *out);
    npksd_real *xt = (npksd_real *)bench_alloc(width * m, sizeof *xt);
    double *values = (double *)bench_alloc(4 * rounds, sizeof *values);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 3, 3);
    floors f;
    for (size_t r = 0; r < rounds; r++) {
        double start = bench_cpu();
        fill_normals(x, n * m, &rng);
        values[r] = bench_cpu() - start - clock_cost;
        for (int kind = 0; kind < 3; kind++) {
            start = bench_cpu();
            for (int twice = 0; twice < 2; twice++) {
                npksd_real *o = out + (size_t)twice * n * n;
                if (kind == 0)
                    gram_naive(x, n, m, o);
                else if (kind == 1)
                    gram_blocked(x, n, m, o, xt);
                else
                    gram_blas(x, n, m, o);
            }
            values[(size_t)(kind + 1) * rounds + r] = bench_cpu() - start - clock_cost;
            sink = sink + (double)out[n * n - 1] + (double)out[n * n + n];
        }
    }
    f.drawing = bench_median(values, rounds);
    for (int kind = 0; kind < 3; kind++)
        f.product[kind] = bench_median(values + (size_t)(kind + 1) * rounds, rounds);
    free(x);
    free(out);
    free(xt);
    free(values);
    return f;
}

static void print_ratio(double time, double floor_time, int there)
{
    if (there)
        printf(" %8.1f", time / floor_time);
    else
        printf(" %8s", "skipped");
}

static void tests(void)
{
    static const size_t shapes[][3] = {
        { 100, 40, 200 }, { 100, 3, 200 }, { 500, 10, 200 }, { 50, 4, 200 }, { 1000, 40, 20 }
    };
    printf("== whole tests, N = 1000 fit rows\n\n");
    printf("paper: STEIN alone, V, one scale; default: everything, with its pilot of 200 data "
           "sets.\nwhole, fit, pilot in ms (medians of interleaved runs); a data set in us, of "
           "which drawing;\nratio: a data set / floor of a data set (drawing + two Gram "
           "products)\n\n");
    printf("%5s %3s %4s %-8s %8s %8s %8s %9s %8s | %8s %8s %8s\n", "n", "m", "b", "options",
           "whole", "fit", "pilot", "data set", "drawing", "/ naive", "/ blocked", "/ BLAS");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        size_t n = shapes[s][0], m = shapes[s][1], b = shapes[s][2];
        npksd_options o[2] = { paper_options(), npksd_default_options() };
        size_t pilot[2] = { 0, 200 };
        times t[2];
        floors f = clock_floor(n, m);
        for (int k = 0; k < 2; k++) {
            o[k].fit_rows = 1000;
            o[k].replicates = b;
        }
        clock_cases(n, m, o, pilot, 2, quick ? 1 : n > 500 ? 3 : 9, t);
        for (int k = 0; k < 2; k++) {
            printf("%5zu %3zu %4zu %-8s %8.2f %8.2f %8.2f %9.1f %8.1f |", n, m, b,
                   k == 0 ? "paper" : "default", 1e3 * t[k].whole, 1e3 * t[k].fit,
                   1e3 * t[k].pilot, 1e6 * t[k].replicate, 1e6 * t[k].drawing);
            for (int kind = 0; kind < 3; kind++)
                print_ratio(t[k].replicate, f.drawing + f.product[kind], kind < 2 || HAVE_BLAS);
            printf("\n");
        }
        printf("%5s %3s %4s %-8s drawing %.1f us, two products: naive %.1f, blocked %.1f, ", "", "",
               "", "floor", 1e6 * f.drawing, 1e6 * f.product[0], 1e6 * f.product[1]);
        if (HAVE_BLAS)
            printf("BLAS %.1f us\n", 1e6 * f.product[2]);
        else
            printf("BLAS skipped (build with BLAS=1)\n");
    }
    printf("\n");
}

/* ======== components ======== */

static void components(void)
{
    static const size_t columns[2] = { 40, 3 };
    static const double required[2] = { 2.0, 2.5 };
    static const int estimators[2] = { NPKSD_ESTIMATOR_CALLBACK, NPKSD_ESTIMATOR_GAUSS };
    printf("== components, n = 100, us per data set\n\n");
    printf("single: STEIN, V, one scale; no MMD: STEIN + MIRROR + MOMENT, V and U, four scales; "
           "all: and MMD.\nratio: no MMD / single, the whole data set, and without the drawing of "
           "its rows\n\n");
    printf("%3s %-9s %8s %8s %8s %8s %8s %14s %10s\n", "m", "scores", "drawing", "single", "no MMD",
           "all", "ratio", "", "no drawing");
    for (int c = 0; c < 2; c++) {
        for (int e = 0; e < 2; e++) {
            npksd_options o[3] = { paper_options(), npksd_default_options(),
                                   npksd_default_options() };
            size_t pilot[3] = { 0, 2, 2 };
            times t[3];
            o[1].components = NPKSD_COMPONENT_ALL & ~(unsigned)NPKSD_COMPONENT_MMD;
            for (int k = 0; k < 3; k++) {
                o[k].estimator = estimators[e];
                o[k].score_fn = e == 0 ? normal_score : NULL;
                o[k].fit_rows = 1000;
                o[k].pilot = 2;
                o[k].replicates = quick ? 19 : 999;
            }
            clock_cases(100, columns[c], o, pilot, 3, quick ? 1 : 11, t);
            double ratio = t[1].replicate / t[0].replicate;
            printf("%3zu %-9s %8.1f %8.1f %8.1f %8.1f %8.2f %-14s %10.2f\n", columns[c],
                   e == 0 ? "callback" : "GAUSS", 1e6 * t[0].drawing, 1e6 * t[0].replicate,
                   1e6 * t[1].replicate, 1e6 * t[2].replicate, ratio,
                   quick ? "" : ratio <= required[c] ? "(within limit)" : "(OVER LIMIT)",
                   (t[1].replicate - t[1].drawing) / (t[0].replicate - t[0].drawing));
        }
    }
    printf("limits: 2.0 at m = 40, 2.5 at m = 3\n\n");
}

/* ======== scores ======== */

static void scores(void)
{
    enum { N_ROWS = 100, M = 40, KINDS = 4 };
    static const int kinds[KINDS] = { NPKSD_ESTIMATOR_GAUSS, NPKSD_ESTIMATOR_POLY,
                                      NPKSD_ESTIMATOR_SPLINE, NPKSD_ESTIMATOR_RBF };
    npksd_real *rows = (npksd_real *)bench_alloc(2 * N_ROWS * M, sizeof *rows);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 11, 0);
    size_t rounds = quick ? 3 : 501;
    double *values = (double *)bench_alloc(rounds, sizeof *values);
    fill_normals(rows, N_ROWS * M, &rng);
    printf("== npksd_tester_scores, 100 rows of 40\n\n%-8s %12s %14s\n", "family", "us a set",
           "fit, ms");
    for (int k = 0; k < KINDS; k++) {
        npksd_options o = paper_options();
        npksd_tester *tester;
        bench_data d = bench_gauss(1, 0);
        o.estimator = kinds[k];
        o.replicates = 19;
        o.fit_rows = 1000;
        bench_must("create", npksd_tester_create(&tester, N_ROWS, M, bench_sample, &d, &o));
        double start = bench_cpu();
        bench_must("step", npksd_tester_step(tester, (size_t)-1));
        double fit = bench_cpu() - start;
        for (size_t r = 0; r < rounds; r++) {
            start = bench_cpu();
            bench_must("scores", npksd_tester_scores(tester, rows, N_ROWS, rows + N_ROWS * M));
            values[r] = bench_cpu() - start - clock_cost;
        }
        printf("%-8s %12.1f %14.2f\n", bench_estimators[kinds[k]],
               1e6 * bench_median(values, rounds), 1e3 * fit);
        npksd_tester_destroy(tester);
    }
    printf("(fit: 1000 rows and 19 replicates)\n\n");
    free(rows);
    free(values);
}

/* ======== linear time ======== */

static void linear(void)
{
    enum { M = 10, F = 128 };
    static const size_t sizes[2] = { 1000, 4000 };
    printf("== quadratic against linear time (features = %d), m = %d, ms per data set\n\n", F, M);
    printf("%5s %12s %12s %10s %12s %12s %10s\n", "n", "STEIN n^2", "features", "faster",
           "all n^2", "features", "faster");
    for (int s = 0; s < (quick ? 1 : 2); s++) {
        npksd_options o[4] = { paper_options(), paper_options(), npksd_default_options(),
                               npksd_default_options() };
        size_t pilot[4] = { 0, 0, 2, 2 };
        times t[4];
        for (int k = 0; k < 4; k++) {
            o[k].estimator = NPKSD_ESTIMATOR_GAUSS;
            o[k].replicates = 19;
            o[k].pilot = 2;
            o[k].features = k % 2 ? F : 0;
        }
        clock_cases(sizes[s], M, o, pilot, 4, 1, t);
        printf("%5zu %12.2f %12.2f %10.1f %12.2f %12.2f %10.1f\n", sizes[s], 1e3 * t[0].replicate,
               1e3 * t[1].replicate, t[0].replicate / t[1].replicate, 1e3 * t[2].replicate,
               1e3 * t[3].replicate, t[2].replicate / t[3].replicate);
    }
    printf("\n");
}

/* ======== normals ======== */

static void normals(void)
{
    enum { COUNT = 4096 };
    static npksd_real values[COUNT];
    size_t rounds = quick ? 3 : 501;
    double *a = (double *)bench_alloc(2 * rounds, sizeof *a), *b = a + rounds;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 5, 0);
    for (size_t r = 0; r < rounds; r++) {
        double start = bench_cpu();
        fill_normals(values, COUNT, &rng);
        a[r] = bench_cpu() - start;
        sink = sink + (double)values[r % COUNT];
        start = bench_cpu();
        for (size_t i = 0; i < COUNT; i += 2) {
            double u = 1 - (double)npksd_uniform(&rng);
            double v = 2 * 3.14159265358979324 * (double)npksd_uniform(&rng);
            double radius = sqrt(-2 * log(u));
            values[i] = (npksd_real)(radius * cos(v));
            values[i + 1] = (npksd_real)(radius * sin(v));
        }
        b[r] = bench_cpu() - start;
        sink = sink + (double)values[r % COUNT];
    }
    double own = bench_median(a, rounds) / COUNT, other = bench_median(b, rounds) / COUNT;
    printf("== normals\n\n");
    printf("%-14s %6.2f ns each, %6.1f million per second\n", "npksd_normal", 1e9 * own,
           1e-6 / own);
    printf("%-14s %6.2f ns each, %6.1f million per second (libm, both values used)\n", "Box-Muller",
           1e9 * other, 1e-6 / other);
    printf("\n");
    free(a);
}

/* ======== steps ======== */

enum { STEP_ROUNDS = 7 };

typedef struct units {
    double *seconds;  /* least over the rounds, so that an interrupted unit does not count */
    size_t *calls;    /* generator calls when the unit was over */
    size_t count, capacity;
} units;

static void step_round(units *u, size_t n, size_t m, const npksd_options *o, int first_round)
{
    clocked c = { NULL, NULL, 0, 0 };
    npksd_tester *tester;
    npksd_status status = NPKSD_MORE;
    bench_must("create", npksd_tester_create(&tester, n, m, clocked_sample, &c, o));
    for (size_t i = 0; status == NPKSD_MORE; i++) {
        double start = bench_cpu();
        status = npksd_tester_step(tester, 1);
        double spent = bench_cpu() - start - clock_cost;
        if (i == u->capacity) {
            u->capacity = 2 * u->capacity + 1024;
            u->seconds = (double *)realloc(u->seconds, u->capacity * sizeof *u->seconds);
            u->calls = (size_t *)realloc(u->calls, u->capacity * sizeof *u->calls);
            if (u->seconds == NULL || u->calls == NULL)
                bench_die("realloc", NPKSD_ERROR_MEMORY);
        }
        u->seconds[i] = first_round || spent < u->seconds[i] ? spent : u->seconds[i];
        u->calls[i] = c.calls;
        u->count = i + 1;
    }
    bench_must("step", status);
    npksd_tester_destroy(tester);
}

static void steps(void)
{
    static const size_t shapes[][2] = { { 100, 40 }, { 100, 3 }, { 500, 10 }, { 1000, 40 } };
    static const char *const names[3] = { "fit", "pilot", "replicates" };
    printf("== units of npksd_tester_step, default options with N = 1000, pilot 50, 99 replicates"
           "\n\n%5s %3s %-11s %8s %10s %10s %10s %8s  %s\n", "n", "m", "phase", "units",
           "average us",
           "longest us", "ratio", "phase ms", "longest is");
    for (size_t s = 0; s < (quick ? 1 : sizeof shapes / sizeof shapes[0]); s++) {
        npksd_options o = npksd_default_options();
        units u = { NULL, NULL, 0, 0 };
        double sum[3] = { 0, 0, 0 }, longest[3] = { 0, 0, 0 };
        size_t count[3] = { 0, 0, 0 }, where[3] = { 0, 0, 0 };
        o.fit_rows = 1000;
        o.pilot = 50;
        o.replicates = 99;
        for (int r = 0; r < (quick ? 1 : shapes[s][0] > 500 ? 3 : STEP_ROUNDS); r++)
            step_round(&u, shapes[s][0], shapes[s][1], &o, r == 0);
        size_t calls = u.calls[u.count - 1];
        for (size_t i = 0; i < u.count; i++) {
            size_t left = calls - u.calls[i];
            int phase = left < o.replicates ? 2 : left < o.replicates + o.pilot ? 1 : 0;
            sum[phase] += u.seconds[i];
            count[phase]++;
            if (u.seconds[i] > longest[phase]) {
                longest[phase] = u.seconds[i];
                where[phase] = i;
            }
        }
        for (int phase = 0; phase < 3; phase++) {
            double average = sum[phase] / (double)count[phase];
            printf("%5zu %3zu %-11s %8zu %10.2f %10.2f %10.1f %8.2f  unit %zu%s\n", shapes[s][0],
                   shapes[s][1],
                   names[phase], count[phase], 1e6 * average, 1e6 * longest[phase],
                   longest[phase] / average, 1e3 * sum[phase], where[phase],
                   where[phase] == 0 || u.calls[where[phase]] > u.calls[where[phase] - 1]
                       ? ", a generator call" : "");
        }
        free(u.seconds);
        free(u.calls);
    }
    printf("(each unit: least of several rounds)\n\n");
}

static void measure_clock(void)
{
    double values[1001];
    for (size_t i = 0; i < 1001; i++) {
        double start = bench_cpu();
        values[i] = bench_cpu() - start;
    }
    clock_cost = bench_median(values, 1001);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run_fn)(void);
    } parts[] = { { "tests", tests },   { "components", components }, { "scores", scores },
                  { "linear", linear }, { "normals", normals },       { "steps", steps } };
    const char *text = getenv("QUICK");
    quick = text != NULL && text[0] != '\0' && strcmp(text, "0") != 0;
#if HAVE_BLAS
    openblas_set_num_threads(1);
#endif
    bench_print_machine();
    measure_clock();
    printf("clock     processor time of this process (%.2f us a look, taken off)\n\n",
           1e6 * clock_cost);
    for (int i = 1; i < argc || i == 1; i++) {
        int known = 0;
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
            if (argc < 2 || strcmp(argv[i], parts[k].name) == 0) {
                parts[k].run_fn();
                fflush(stdout);
                known = 1;
            }
        }
        if (!known) {
            fprintf(stderr, "speed: unknown part '%s'; parts: tests components scores linear "
                            "normals steps\n", argv[i]);
            return 2;
        }
    }
    return 0;
}
