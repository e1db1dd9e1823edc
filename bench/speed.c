/*
 * How long does a test take, where does the time go, and how far is that from the machine's floor?
 *
 * The floor of a test: the caller's generator alone (normals through the library's own rng), the
 * Gram products that the statistic needs (two symmetric n x n x m products a data set: OpenBLAS
 * dsyrk, one thread), one exp a pair. The exp is taken twice: from the C library, and as the vector
 * code of npksd.h, which is faster; ratios are given to both floors, targets judged by the first.
 *
 *     speed [--out DIR] [part ...]
 *
 * parts: tests parts components scores plots linear memory threads units normals; none = all.
 * DIR/speed.md is the section of RESULTS.md, DIR/speed-*.svg its figures. QUICK=1: everything runs
 * once with small sizes, results are compared with each other, nothing is judged.
 */
#include "bench.h"
#include "plot.h"
#include "speed.h"

#include <pthread.h>

#if defined(BENCH_BLAS)
#include <cblas.h>
#define HAVE_BLAS 1
#else
#define HAVE_BLAS 0
#endif

static int quick;
static const char *out_folder = "results";
static FILE *section;
static volatile double sink;
static double clock_cost; /* of one look at the clock, taken off where it matters */

#if HAVE_BLAS
static const speed_variant *const variants[] = { &speed_native, &speed_blas, &speed_plain };
#else
static const speed_variant *const variants[] = { &speed_native, &speed_plain };
#endif
enum { VARIANTS = sizeof variants / sizeof variants[0], ROUNDS_MAX = 51 };

#define say(...) bench_say(section, __VA_ARGS__)

static size_t targets, targets_missed;

static const char *judged(double value, double most)
{
    if (quick)
        return "not judged";
    targets++;
    targets_missed += value > most;
    return value <= most ? "met" : "MISSED";
}

/* ======== what is tested ======== */

static int draw_normals(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    const speed_variant *v = (const speed_variant *)user_data;
    v->normals_fn(rows, count * m, rng);
    return 0;
}

/* single-scale STEIN, V: the paper's statistic */
static npksd_options single_options(int estimator, size_t b)
{
    static const npksd_real one = 1;
    npksd_options o = npksd_default_options();
    o.components = NPKSD_COMPONENT_STEIN;
    o.statistic = NPKSD_STATISTIC_V;
    o.scales = &one;
    o.scale_count = 1;
    o.estimator = estimator;
    o.fit_rows = 1000;
    o.replicates = b;
    return o;
}

static npksd_options all_options(int estimator, size_t b)
{
    npksd_options o = npksd_default_options();
    o.estimator = estimator;
    o.fit_rows = 1000;
    o.replicates = b;
    o.pilot = 2;
    return o;
}

typedef struct timing {
    double whole, fit;     /* seconds; fit: all before the replicates */
    double data_set;       /* a replicate */
    double statistic, p;   /* what came out */
} timing;

static timing time_test(const speed_variant *v, size_t n, size_t m, const npksd_options *o,
                        const npksd_real *observed)
{
    npksd_tester *tester;
    npksd_result result;
    timing t;
    double start = bench_cpu();
    bench_must("create", v->create_fn(&tester, n, m, draw_normals, (void *)(uintptr_t)v, o));
    bench_must("prepare", v->prepare_fn(tester));
    t.fit = bench_cpu() - start;
    bench_must("step", v->step_fn(tester, (size_t)-1));
    bench_must("check", v->check_fn(tester, observed, &result, NULL));
    v->destroy_fn(tester);
    t.whole = bench_cpu() - start;
    t.data_set = (t.whole - t.fit) / (double)(o->replicates + 1);
    t.statistic = (double)result.statistic;
    t.p = (double)result.p_value;
    return t;
}

static npksd_real *observed_rows(size_t n, size_t m)
{
    npksd_real *rows = (npksd_real *)bench_alloc(n * m, sizeof *rows);
    npksd_rng_state state;
    npksd_rng rng = speed_native.seeded_fn(&state, 7, 7);
    speed_native.normals_fn(rows, n * m, &rng);
    return rows;
}

/* ======== the floor ======== */

typedef struct floors {
    double drawing, products, exp_libm, exp_vector; /* seconds for one data set */
} floors;

static void gram(const npksd_real *x, size_t n, size_t m, npksd_real *out)
{
#if HAVE_BLAS
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)n, (int)m, 1, x, (int)m, 0, out,
                (int)n);
#else
    (void)x, (void)n, (void)m;
    out[0] = 0;
#endif
}

typedef struct floor_room {
    npksd_real *x, *out, *values;
    npksd_rng_state state;
    npksd_rng rng;
    size_t pairs;
} floor_room;

static floor_room floor_open(size_t n, size_t m)
{
    floor_room f;
    f.pairs = n * (n - 1) / 2;
    f.x = (npksd_real *)bench_alloc(n * m, sizeof *f.x);
    f.out = (npksd_real *)bench_alloc(n * n, sizeof *f.out);
    f.values = (npksd_real *)bench_alloc(f.pairs, sizeof *f.values);
    for (size_t i = 0; i < f.pairs; i++)
        f.values[i] = (npksd_real)(-(double)(i % 97) / 10);
    return f;
}

static void floor_close(floor_room *f)
{
    free(f->x);
    free(f->out);
    free(f->values);
}

/* one data set */
static floors time_floor(floor_room *f, size_t n, size_t m, size_t sets)
{
    floors t;
    f->rng = speed_native.seeded_fn(&f->state, 3, 3);
    double at[5];
    at[0] = bench_cpu();
    for (size_t k = 0; k < sets; k++)
        speed_native.normals_fn(f->x, n * m, &f->rng);
    at[1] = bench_cpu();
    for (size_t k = 0; k < 2 * sets; k++) {
        gram(f->x, n, m, f->out);
        sink = sink + (double)f->out[0];
    }
    at[2] = bench_cpu();
    for (size_t k = 0; k < sets; k++) {
        for (size_t i = 0; i < f->pairs; i++)
            f->out[i] = (npksd_real)exp((double)f->values[i]);
        sink = sink + (double)f->out[k % f->pairs];
    }
    at[3] = bench_cpu();
    for (size_t k = 0; k < sets; k++) {
        speed_native.exps_fn(f->values, f->pairs, f->out);
        sink = sink + (double)f->out[k % f->pairs];
    }
    at[4] = bench_cpu();
    t.drawing = (at[1] - at[0]) / (double)sets;
    t.products = (at[2] - at[1]) / (double)sets;
    t.exp_libm = (at[3] - at[2]) / (double)sets;
    t.exp_vector = (at[4] - at[3]) / (double)sets;
    return t;
}

/* Three plain loops: the Stein kernel of every pair, coordinate by coordinate, standard normal. */
static double naive_statistic(const npksd_real *x, size_t n, size_t m, double sigma2)
{
    double sum = 0;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            double r = 0, u = 0;
            for (size_t i = 0; i < m; i++)
                r += (double)((x[a * m + i] - x[b * m + i]) * (x[a * m + i] - x[b * m + i]));
            double k = exp(-r / (2 * sigma2));
            for (size_t i = 0; i < m; i++) {
                double d = (double)(x[a * m + i] - x[b * m + i]);
                double s = -(double)x[a * m + i], t = -(double)x[b * m + i];
                u += s * t * k + d * k / sigma2 * (s - t) + k / sigma2 - d * d * k / sigma2 / sigma2;
            }
            sum += u;
        }
    return sum / ((double)n * (double)n);
}

static double time_naive(const npksd_real *x, size_t n, size_t m)
{
    double start = bench_cpu();
    size_t sets = n * n * m > 5000000 ? 1 : 5000000 / (n * n * m) + 1;
    for (size_t k = 0; k < sets; k++)
        sink = sink + naive_statistic(x, n, m, (double)(2 * m));
    return (bench_cpu() - start) / (double)sets;
}

/* ======== whole tests ======== */

/* The rows that a test draws, in data sets: fit, held-out rows of AUTO, replicates. */
static double drawn_sets(size_t n, const npksd_options *o)
{
    size_t sets = (o->fit_rows + n - 1) / n + o->replicates;
    if (o->estimator == NPKSD_ESTIMATOR_AUTO)
        sets += (o->fit_rows / 4 + n - 1) / n;
    return (double)sets;
}

static double floor_whole(const floors *f, size_t n, const npksd_options *o, int vector_exp)
{
    double evaluated = (double)(o->replicates + 1);
    return drawn_sets(n, o) * f->drawing +
           evaluated * (f->products + (vector_exp ? f->exp_vector : f->exp_libm));
}

static double median_of(timing *all, size_t rounds, int field)
{
    double values[ROUNDS_MAX];
    for (size_t r = 0; r < rounds; r++)
        values[r] = field == 0 ? all[r].whole : field == 1 ? all[r].fit : all[r].data_set;
    return bench_median(values, rounds);
}

/* a data set of one kind to one of another, in the same round: what disturbs one disturbs the other */
static double median_ratio(const timing *all, const timing *to, size_t rounds)
{
    double values[ROUNDS_MAX];
    for (size_t r = 0; r < rounds; r++)
        values[r] = all[r].data_set / to[r].data_set;
    return bench_median(values, rounds);
}

static double floor_median(floors *all, size_t rounds, int field)
{
    double values[ROUNDS_MAX];
    for (size_t r = 0; r < rounds; r++)
        values[r] = field == 0 ? all[r].drawing : field == 1 ? all[r].products
            : field == 2 ? all[r].exp_libm : all[r].exp_vector;
    return bench_median(values, rounds);
}

/* builds of the same arithmetic must come to the same verdict */
static void must_agree(const char *name, const timing *a, const timing *b)
{
    double most = sizeof(npksd_real) == 4 ? 1e-2 : 1e-6;
    if (!(fabs(a->statistic - b->statistic) <= most * (1 + fabs(a->statistic)))) {
        fprintf(stderr, "speed: %s: statistic %.12g, but the native build found %.12g\n", name,
                b->statistic, a->statistic);
        exit(1);
    }
}

typedef struct shape {
    size_t n, m, b, rounds;
} shape;

static void whole_tests(void)
{
    static const shape shapes[] = { { 100, 40, 200, 51 }, { 100, 3, 500, 15 }, { 200, 6, 500, 9 },
                                    { 1000, 40, 100, 3 }, { 500, 784, 50, 3 } };
    static const shape small[] = { { 50, 4, 19, 1 }, { 100, 40, 19, 1 } };
    static const int estimators[2] = { NPKSD_ESTIMATOR_SPLINE, NPKSD_ESTIMATOR_AUTO };
    const shape *list = quick ? small : shapes;
    size_t count = quick ? sizeof small / sizeof small[0] : sizeof shapes / sizeof shapes[0];
    static timing all[2][VARIANTS][ROUNDS_MAX];
    static floors f[ROUNDS_MAX];
    say("### Whole tests\n\nN = 1000 fit rows, single-scale STEIN, V, fit included; medians of "
        "interleaved rounds, ms of processor time. Floor: drawing + two dsyrk a data set + one exp a "
        "pair (C library; in brackets: vector code). Naive: three plain loops a data set, no fit.%s"
        "\n\n| n, m, b | estimator | floor | native | / floor |%s -O2 | / native | naive | ns a pair |\n"
        "|---|---|---|---|---|%s---|---|---|---|\n",
        HAVE_BLAS ? "" : " (Built without BLAS=1: the floor lacks the products.)",
        HAVE_BLAS ? " CBLAS | / floor |" : "", HAVE_BLAS ? "---|---|" : "");
    double spline_ratio = 0, auto_ratio = 0, plain_ratio = 0, large_native = 0;
    for (size_t k = 0; k < count; k++) {
        size_t n = list[k].n, m = list[k].m, b = list[k].b, rounds = list[k].rounds;
        npksd_real *observed = observed_rows(n, m);
        floor_room room = floor_open(n, m);
        double naive[ROUNDS_MAX];
        floors floor;
        for (size_t r = 0; r < rounds; r++) {
            f[r] = time_floor(&room, n, m, n > 300 ? 3 : 60);
            naive[r] = time_naive(observed, n, m);
            for (int e = 0; e < 2; e++)
                for (int v = 0; v < VARIANTS; v++) {
                    npksd_options o = single_options(estimators[e], b);
                    o.alpha = (npksd_real)0.1;
                    all[e][v][r] = time_test(variants[v], n, m, &o, observed);
                    must_agree(variants[v]->name, &all[e][0][r], &all[e][v][r]);
                }
        }
        floor.drawing = floor_median(f, rounds, 0);
        floor.products = floor_median(f, rounds, 1);
        floor.exp_libm = floor_median(f, rounds, 2);
        floor.exp_vector = floor_median(f, rounds, 3);
        double naive_whole = bench_median(naive, rounds) * (double)(b + 1);
        for (int e = 0; e < 2; e++) {
            npksd_options o = single_options(estimators[e], b);
            double low = floor_whole(&floor, n, &o, 0), lower = floor_whole(&floor, n, &o, 1);
            double whole[VARIANTS];
            for (int v = 0; v < VARIANTS; v++)
                whole[v] = median_of(all[e][v], rounds, 0);
            double native = whole[0], plain = whole[VARIANTS - 1];
            say("| %zu, %zu, %zu | %s | %.1f (%.1f) | %.1f | %.2f (%.2f) |", n, m, b,
                e == 0 ? "SPLINE" : "AUTO", 1e3 * low, 1e3 * lower, 1e3 * native, native / low,
                native / lower);
            for (int v = 1; v + 1 < VARIANTS; v++)
                say(" %.1f | %.2f (%.2f) |", 1e3 * whole[v], whole[v] / low, whole[v] / lower);
            say(" %.1f | %.2f | %.0f | %.1f |\n", 1e3 * plain, plain / native, 1e3 * naive_whole,
                1e9 * median_of(all[e][0], rounds, 2) / ((double)n * (double)(n - 1) / 2));
            if (k == 0 && e == 0)
                spline_ratio = native / low, plain_ratio = plain / native;
            if (k == 0 && e == 1)
                auto_ratio = native / low;
            if (n == 1000 && e == 0)
                large_native = native / low;
        }
        floor_close(&room);
        free(observed);
    }
    say("\n");
    if (!HAVE_BLAS || quick)
        return;
    say("| target | measured | |\n|---|---|---|\n");
    say("| (100, 40, 200) SPLINE, native / floor, at most 1.5 | %.2f | %s |\n", spline_ratio,
        judged(spline_ratio, 1.5));
    say("| (100, 40, 200) AUTO, native / floor, at most 2.0 | %.2f | %s |\n", auto_ratio,
        judged(auto_ratio, 2.0));
    say("| (100, 40, 200) -O2 / native, at most 2.5 | %.2f | %s |\n", plain_ratio,
        judged(plain_ratio, 2.5));
    say("| (1000, 40, 100) SPLINE, native / floor, at most 1.8 | %.2f | %s |\n\n", large_native,
        judged(large_native, 1.8));
}

/* ======== where the time goes ======== */

enum { COMPONENTS = 6 };

/* seconds of a replicate, least of some rounds, and of the fit and pilot before it */
static double time_replicate(size_t n, size_t m, const npksd_options *o, double *fit)
{
    enum { SHARE = 4 };
    const speed_variant *v = &speed_native;
    npksd_worker worker;
    npksd_real out[SHARE];
    npksd_tester *tester;
    double least = 0, start = bench_cpu();
    memset(&worker, 0, sizeof worker);
    bench_must("create", v->create_fn(&tester, n, m, draw_normals, (void *)(uintptr_t)v, o));
    bench_must("prepare", v->prepare_fn(tester));
    *fit = bench_cpu() - start;
    for (size_t r = 0; r < (quick ? 2 : n > 500 ? 15 : 100); r++) {
        start = bench_cpu();
        bench_must("replicates", v->replicates_fn(tester, &worker, 0, SHARE, out));
        double spent = (bench_cpu() - start - clock_cost) / SHARE;
        least = r == 0 || spent < least ? spent : least;
    }
    v->destroy_fn(tester);
    return least;
}

static void where_time_goes(void)
{
    static const size_t shapes[][2] = { { 100, 3 }, { 100, 40 }, { 200, 6 }, { 1000, 40 } };
    size_t count = quick ? 1 : sizeof shapes / sizeof shapes[0];
    say("### Where the time goes\n\nDefault options with one component alone and with one left out, "
        "native build; us a data set, drawing, scaling and (for the first three) scores included. "
        "Drawing is the generator alone. Fit: 4000 rows of AUTO and 200 pilot data sets, ms.\n\n"
        "| n, m | | drawing |");
    for (unsigned c = 0; c < COMPONENTS; c++)
        say(" %s |", npksd_component_string(1u << c));
    say(" all | fit, ms |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < count; k++) {
        size_t n = shapes[k][0], m = shapes[k][1];
        npksd_options o = npksd_default_options();
        floor_room room = floor_open(n, m);
        double drawing = time_floor(&room, n, m, n > 300 ? 3 : 60).drawing, fit, ignored;
        double all = time_replicate(n, m, &o, &fit);
        floor_close(&room);
        for (int left_out = 0; left_out < 2; left_out++) {
            say("| %zu, %zu | %s | %.1f |", n, m, left_out ? "left out" : "alone", 1e6 * drawing);
            for (unsigned c = 0; c < COMPONENTS; c++) {
                o.components = left_out ? NPKSD_COMPONENT_ALL & ~(1u << c) : 1u << c;
                say(" %.1f |", 1e6 * time_replicate(n, m, &o, &ignored));
            }
            say(" %.1f | %.1f |\n", 1e6 * all, 1e3 * fit);
        }
    }
    say("\n");
}

/* ======== components ======== */

static void components(void)
{
    static const size_t columns[2] = { 40, 3 };
    static timing all[2][ROUNDS_MAX];
    size_t rounds = quick ? 1 : ROUNDS_MAX;
    say("### The default beside the paper's statistic\n\nus a data set of n = 100, SPLINE scores, "
        "native build: STEIN, V, one scale; and all six components. Medians of interleaved rounds; "
        "ratios within a round.\n\n| m | single | all | all / single |\n|---|---|---|---|\n");
    for (int c = 0; c < 2; c++) {
        npksd_real *observed = observed_rows(100, columns[c]);
        for (size_t r = 0; r < rounds; r++)
            for (int k = 0; k < 2; k++) {
                npksd_options o = k == 0 ? single_options(NPKSD_ESTIMATOR_SPLINE, 199)
                                         : all_options(NPKSD_ESTIMATOR_SPLINE, 199);
                all[k][r] = time_test(&speed_native, 100, columns[c], &o, observed);
            }
        say("| %zu | %.1f | %.1f | %.2f |\n", columns[c], 1e6 * median_of(all[0], rounds, 2),
            1e6 * median_of(all[1], rounds, 2), median_ratio(all[1], all[0], rounds));
        free(observed);
    }
    say("\n");
}

/* ======== scores ======== */

static void scores(void)
{
    enum { N_ROWS = 100, M = 40, KINDS = 4 };
    static const int kinds[KINDS] = { NPKSD_ESTIMATOR_GAUSS, NPKSD_ESTIMATOR_POLY,
                                      NPKSD_ESTIMATOR_SPLINE, NPKSD_ESTIMATOR_RBF };
    npksd_real *rows = observed_rows(2 * N_ROWS, M);
    size_t rounds = quick ? 3 : 501;
    double *values = (double *)bench_alloc(rounds, sizeof *values);
    const speed_variant *v = &speed_native;
    say("### Scores\n\n`npksd_tester_scores` of 100 rows of 40, scaling and turning included.\n\n"
        "| family | us a data set | fit of 1000 rows, ms |\n|---|---|---|\n");
    for (int k = 0; k < KINDS; k++) {
        npksd_options o = single_options(kinds[k], 19);
        npksd_tester *tester;
        bench_must("create", v->create_fn(&tester, N_ROWS, M, draw_normals, (void *)(uintptr_t)v,
                                          &o));
        double start = bench_cpu();
        bench_must("prepare", v->prepare_fn(tester));
        double fit = bench_cpu() - start;
        for (size_t r = 0; r < rounds; r++) {
            start = bench_cpu();
            bench_must("scores", v->scores_fn(tester, rows, N_ROWS, rows + N_ROWS * M));
            values[r] = bench_cpu() - start - clock_cost;
        }
        say("| %s | %.1f | %.2f |\n", bench_estimators[kinds[k]],
            1e6 * bench_median(values, rounds), 1e3 * fit);
        v->destroy_fn(tester);
    }
    say("\n");
    free(rows);
    free(values);
}

/* ======== time against n, m, b ======== */

/* slope of log y over log x by least squares, from the given point on */
static double slope_of(const double *x, const double *y, size_t first, size_t count)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, k = (double)(count - first);
    for (size_t i = first; i < count; i++) {
        sx += log(x[i]);
        sy += log(y[i]);
        sxx += log(x[i]) * log(x[i]);
        sxy += log(x[i]) * log(y[i]);
    }
    return (k * sxy - sx * sy) / (k * sxx - sx * sx);
}

static void growth(void)
{
    static const double sizes[3][6] = { { 50, 100, 200, 400, 800, 1600 },
                                        { 3, 10, 30, 100, 300, 784 },
                                        { 25, 50, 100, 200, 400, 800 } };
    static const char *const names[3] = { "rows n", "coordinates m", "replicates b" };
    size_t count = quick ? 2 : 6, repeats = quick ? 1 : 3;
    plot panels[3];
    say("### Time against n, m and b\n\nWhole tests, native build, the others at n = 100, m = 10, b = "
        "100; slopes of the last three points.\n\n| against | default options | single-scale SPLINE "
        "|\n|---|---|---|\n");
    for (int axis = 0; axis < 3; axis++) {
        double times[2][6], slopes[2];
        char title[64];
        for (int kind = 0; kind < 2; kind++) {
            for (size_t i = 0; i < count; i++) {
                size_t shape3[3] = { 100, 10, 100 };
                timing t[3];
                shape3[axis] = (size_t)sizes[axis][i];
                npksd_options o = kind == 0 ? all_options(NPKSD_ESTIMATOR_AUTO, shape3[2])
                                            : single_options(NPKSD_ESTIMATOR_SPLINE, shape3[2]);
                npksd_real *observed = observed_rows(shape3[0], shape3[1]);
                for (size_t r = 0; r < repeats; r++)
                    t[r] = time_test(&speed_native, shape3[0], shape3[1], &o, observed);
                times[kind][i] = 1e3 * median_of(t, repeats, 0);
                free(observed);
            }
            slopes[kind] = slope_of(sizes[axis], times[kind], count > 3 ? count - 3 : 0, count);
        }
        snprintf(title, sizeof title, "whole test against %s", names[axis]);
        panels[axis] = plot_new(title, names[axis], "ms");
        panels[axis].log_x = panels[axis].log_y = 1;
        for (int kind = 0; kind < 2; kind++) {
            char name[64];
            snprintf(name, sizeof name, "%s (slope %.2f)", kind == 0 ? "all" : "single",
                     slopes[kind]);
            plot_lines(&panels[axis], name, sizes[axis], times[kind], NULL, NULL, count);
        }
        say("| %s | %.2f | %.2f |\n", names[axis], slopes[0], slopes[1]);
    }
    plot_write(panels, 3, 1, out_folder, "speed-growth");
    say("\n![time against n, m, b](results/speed-growth.svg)\n\n");
}

/* ======== linear time ======== */

static void *counted_alloc(size_t bytes, void *user_data)
{
    *(size_t *)user_data += bytes;
    return malloc(bytes);
}

static void counted_free(void *ptr, size_t bytes, void *user_data)
{
    (void)bytes, (void)user_data;
    free(ptr);
}

static void linear(void)
{
    enum { M = 6, F = 100, B = 19, SIZES = 7 };
    static const double sizes[SIZES] = { 1000, 3000, 10000, 30000, 100000, 300000, 1000000 };
    size_t count = quick ? 2 : SIZES, seen = 0;
    double seconds[SIZES], exact[SIZES];
    say("### Linear time\n\nfeatures = %d, m = %d, b = %d, single-scale STEIN, SPLINE, whole test, "
        "native build; bytes through the caller's allocator.\n\n"
        "| n | seconds | bytes | bytes / (n m) | quadratic, seconds |\n|---|---|---|---|---|\n", F, M, B);
    for (size_t k = 0; k < count; k++) {
        size_t n = (size_t)sizes[k], bytes = 0;
        npksd_options o = single_options(NPKSD_ESTIMATOR_SPLINE, B);
        npksd_real *observed = observed_rows(n, M);
        o.features = F;
        o.allocator.alloc_fn = counted_alloc;
        o.allocator.free_fn = counted_free;
        o.allocator.user_data = &bytes;
        seconds[k] = time_test(&speed_native, n, M, &o, observed).whole;
        say("| %zu | %.3f | %zu | %.0f |", n, seconds[k], bytes, (double)bytes / (double)(n * M));
        if (n <= 10000) {
            o.features = 0;
            exact[seen++] = time_test(&speed_native, n, M, &o, observed).whole;
            say(" %.3f |\n", exact[seen - 1]);
        } else {
            say(" |\n");
        }
        free(observed);
    }
    double slope = slope_of(sizes, seconds, count > 4 ? 2 : 0, count);
    plot p = plot_new("whole test in linear time", "rows n", "seconds");
    char name[64];
    snprintf(name, sizeof name, "features = 100 (slope %.2f)", slope);
    p.log_x = p.log_y = 1;
    plot_lines(&p, name, sizes, seconds, NULL, NULL, count);
    plot_lines(&p, "quadratic", sizes, exact, NULL, NULL, seen);
    plot_write(&p, 1, 1, out_folder, "speed-linear");
    say("\n![linear time](results/speed-linear.svg)\n\n| target | measured | |\n|---|---|---|\n"
        "| slope of time over n from 10,000 on, at most 1.05 | %.3f | %s |\n\n", slope,
        judged(slope, 1.05));
}

/* ======== memory ======== */

static void memory(void)
{
    static const size_t shapes[][4] = { { 50, 4, 499, 4000 },   { 100, 3, 499, 4000 },
                                        { 100, 40, 499, 4000 }, { 100, 40, 4999, 4000 },
                                        { 100, 40, 499, 100000 }, { 1000, 40, 499, 4000 },
                                        { 10000, 40, 499, 4000 }, { 100, 784, 499, 4000 } };
    say("### Memory\n\nBytes of a tester (default options), the only allocation there is, asked for "
        "through the caller's allocator. Fit rows beyond 1000 stream; n x n is never kept.\n\n"
        "| n | m | b | N | bytes | of which the numbers of 1000 kept rows | a loaded blob |\n"
        "|---|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < (quick ? 2 : sizeof shapes / sizeof shapes[0]); k++) {
        size_t n = shapes[k][0], m = shapes[k][1], bytes = 0;
        npksd_options o = npksd_default_options();
        npksd_tester *tester;
        o.replicates = shapes[k][2];
        o.fit_rows = shapes[k][3];
        o.allocator.alloc_fn = counted_alloc;
        o.allocator.free_fn = counted_free;
        o.allocator.user_data = &bytes;
        bench_must("create", npksd_tester_create(&tester, n, m, draw_normals,
                                                 (void *)(uintptr_t)&speed_native, &o));
        size_t whole = bytes, blob_bytes = 0;
        if (n * m <= 4000) { /* small enough to finish, save and load in no time */
            npksd_tester *loaded;
            size_t size = 0;
            bench_must("step", npksd_tester_step(tester, (size_t)-1));
            bench_must("save", npksd_tester_save(tester, NULL, 0, &size));
            void *blob = bench_alloc(size, 1);
            bench_must("save", npksd_tester_save(tester, blob, size, &size));
            bytes = 0;
            bench_must("load", npksd_tester_load(&loaded, blob, size, &o.allocator));
            blob_bytes = bytes;
            npksd_tester_destroy(loaded);
            free(blob);
        }
        npksd_tester_destroy(tester);
        say("| %zu | %zu | %zu | %zu | %zu | %zu | ", n, m, o.replicates, o.fit_rows, whole,
            1000 * m * sizeof(npksd_real));
        if (blob_bytes > 0)
            say("%zu |\n", blob_bytes);
        else
            say("|\n");
    }
    say("\n");
}

/* ======== two threads ======== */

/* Replicates are shared out a few at a time, as a program would: a core that is held up does fewer of them. */
enum { THREAD_SHARE = 3 };

typedef struct thread_work {
    const npksd_tester *tester; /* NULL: normals instead, which share nothing, to see what the machine gives */
    size_t next, count;
    npksd_real *out;
    pthread_mutex_t lock;
} thread_work;

typedef struct thread_job {
    thread_work *work;
    npksd_worker worker;
    npksd_status status;
} thread_job;

static void draw_share(size_t first, size_t share)
{
    enum { COUNT = 1000 };
    npksd_real values[COUNT];
    npksd_rng_state state;
    npksd_rng rng = speed_native.seeded_fn(&state, 1, first);
    for (size_t k = 0; k < 40 * share; k++)
        speed_native.normals_fn(values, COUNT, &rng);
}

static void *thread_main(void *argument)
{
    thread_job *job = (thread_job *)argument;
    thread_work *work = job->work;
    while (job->status == NPKSD_OK) {
        pthread_mutex_lock(&work->lock);
        size_t first = work->next, left = work->count - first, share = left < THREAD_SHARE ? left : THREAD_SHARE;
        work->next += share;
        pthread_mutex_unlock(&work->lock);
        if (share == 0)
            break;
        if (work->tester != NULL)
            job->status = speed_native.replicates_fn(work->tester, &job->worker, first, share, work->out + first);
        else
            draw_share(first, share);
    }
    return NULL;
}

/* wall clock of the replicates on so many threads */
static double time_threads(const npksd_tester *tester, size_t threads, size_t b, npksd_real *out)
{
    thread_work work = { tester, 0, b, out, PTHREAD_MUTEX_INITIALIZER };
    thread_job job[2];
    pthread_t id[2];
    double start;
    for (size_t k = 0; k < threads; k++) {
        memset(&job[k], 0, sizeof job[k]);
        job[k].work = &work;
        job[k].worker.scratch_bytes = tester != NULL ? speed_native.scratch_size_fn(tester) : 1;
        job[k].worker.scratch = bench_alloc(job[k].worker.scratch_bytes, 1);
    }
    start = bench_now();
    for (size_t k = 1; k < threads; k++)
        if (pthread_create(&id[k], NULL, thread_main, &job[k]) != 0)
            bench_die("pthread_create", NPKSD_ERROR_MEMORY);
    thread_main(&job[0]);
    for (size_t k = 1; k < threads; k++)
        pthread_join(id[k], NULL);
    double spent = bench_now() - start;
    for (size_t k = 0; k < threads; k++) {
        bench_must("replicates", job[k].status);
        free(job[k].worker.scratch);
    }
    return spent;
}

static void threads(void)
{
    size_t b = quick ? 19 : 999, rounds = quick ? 1 : ROUNDS_MAX;
    const speed_variant *v = &speed_native;
    npksd_options o = all_options(NPKSD_ESTIMATOR_AUTO, b);
    npksd_real *out = (npksd_real *)bench_alloc(2 * b, sizeof *out);
    double one[ROUNDS_MAX], two[ROUNDS_MAX], ratio[ROUNDS_MAX], machine[ROUNDS_MAX];
    npksd_tester *tester;
    bench_must("create", v->create_fn(&tester, 100, 40, draw_normals, (void *)(uintptr_t)v, &o));
    bench_must("prepare", v->prepare_fn(tester));
    for (size_t r = 0; r < rounds; r++) {
        one[r] = time_threads(tester, 1, b, out);
        two[r] = time_threads(tester, 2, b, out + b);
        ratio[r] = one[r] / two[r];
        machine[r] = time_threads(NULL, 1, b, NULL) / time_threads(NULL, 2, b, NULL);
        if (memcmp(out, out + b, b * sizeof *out) != 0) {
            fprintf(stderr, "speed: two threads found other replicates than one\n");
            exit(1);
        }
    }
    double best = 0;
    for (size_t r = 0; r < rounds; r++)
        best = ratio[r] > best ? ratio[r] : best;
    double typical = bench_median(ratio, rounds);
    say("### Two threads\n\n%zu replicates, n = 100, m = 40, default options, wall clock of %ld "
        "cores: one thread %.1f ms, two threads %.1f ms (the same bits), %.2f times as fast in the "
        "median round, %.2f in the best. Normals, which share nothing: %.2f times.\n\n"
        "| target | measured | |\n|---|---|---|\n| two threads, at least 1.8 times one | %.2f | %s |\n\n", b, sysconf(_SC_NPROCESSORS_ONLN),
        1e3 * bench_median(one, rounds), 1e3 * bench_median(two, rounds), typical, best,
        bench_median(machine, rounds), typical, judged(-typical, -1.8));
    v->destroy_fn(tester);
    free(out);
}

/* ======== normals ======== */

static void normals(void)
{
    enum { COUNT = 4096 };
    static npksd_real values[COUNT];
    size_t rounds = quick ? 3 : 501;
    double *a = (double *)bench_alloc(2 * rounds, sizeof *a), *b = a + rounds;
    npksd_rng_state state;
    npksd_rng rng = speed_native.seeded_fn(&state, 5, 0);
    for (size_t r = 0; r < rounds; r++) {
        double start = bench_cpu();
        speed_native.normals_fn(values, COUNT, &rng);
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
    say("### Normals\n\n`npksd_normal` (ziggurat on Threefry) %.2f ns each; Box-Muller on the same "
        "rng with the C library %.2f ns.\n\n", 1e9 * own, 1e9 * other);
    free(a);
}

/* ======== units ======== */

enum { UNIT_ROUNDS = 7 };

typedef struct units {
    double *seconds;  /* least over the rounds, so that an interrupted unit does not count */
    size_t *calls;    /* generator calls when the unit was over */
    size_t count, capacity;
} units;

static size_t generator_calls;

static int draw_counted(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    generator_calls++;
    return draw_normals(rows, count, m, rng, user_data);
}

static void unit_round(units *u, size_t n, size_t m, const npksd_options *o, int first_round)
{
    const speed_variant *v = &speed_native;
    npksd_tester *tester;
    npksd_status status = NPKSD_MORE;
    generator_calls = 0;
    bench_must("create", v->create_fn(&tester, n, m, draw_counted, (void *)(uintptr_t)v, o));
    for (size_t i = 0; status == NPKSD_MORE; i++) {
        double start = bench_cpu();
        status = v->step_fn(tester, 1);
        double spent = bench_cpu() - start - clock_cost;
        if (i == u->capacity) {
            u->capacity = 2 * u->capacity + 1024;
            u->seconds = (double *)realloc(u->seconds, u->capacity * sizeof *u->seconds);
            u->calls = (size_t *)realloc(u->calls, u->capacity * sizeof *u->calls);
            if (u->seconds == NULL || u->calls == NULL)
                bench_die("realloc", NPKSD_ERROR_MEMORY);
        }
        u->seconds[i] = first_round || spent < u->seconds[i] ? spent : u->seconds[i];
        u->calls[i] = generator_calls;
        u->count = i + 1;
    }
    bench_must("step", status);
    v->destroy_fn(tester);
}

static void units_of_step(void)
{
    static const size_t shapes[][2] = { { 100, 40 }, { 100, 3 }, { 500, 10 }, { 1000, 100 } };
    static const char *const names[3] = { "fit", "pilot", "replicates" };
    double worst = 0;
    say("### Items of npksd_tester_step\n\nDefault options with N = 1000, pilot 50, 99 replicates; us "
        "(each item: least of several rounds). Generator calls are the caller's, and not "
        "counted.\n\n| n, m | phase | items | average | longest |\n"
        "|---|---|---|---|---|\n");
    for (size_t s = 0; s < (quick ? 1 : sizeof shapes / sizeof shapes[0]); s++) {
        npksd_options o = npksd_default_options();
        units u = { NULL, NULL, 0, 0 };
        double sum[3] = { 0, 0, 0 }, longest[3] = { 0, 0, 0 };
        size_t count[3] = { 0, 0, 0 };
        o.fit_rows = 1000;
        o.pilot = 50;
        o.replicates = 99;
        for (int r = 0; r < (quick ? 1 : UNIT_ROUNDS); r++)
            unit_round(&u, shapes[s][0], shapes[s][1], &o, r == 0);
        size_t calls = u.calls[u.count - 1];
        for (size_t i = 0; i < u.count; i++) {
            size_t left = calls - u.calls[i];
            int phase = left < o.replicates ? 2 : left < o.replicates + o.pilot ? 1 : 0;
            if (i == 0 || u.calls[i] > u.calls[i - 1])
                continue;
            sum[phase] += u.seconds[i];
            count[phase]++;
            longest[phase] = u.seconds[i] > longest[phase] ? u.seconds[i] : longest[phase];
        }
        for (int phase = 0; phase < 3; phase++) {
            double average = sum[phase] / (double)count[phase];
            say("| %zu, %zu | %s | %zu | %.1f | %.1f |\n", shapes[s][0], shapes[s][1],
                names[phase], count[phase], 1e6 * average, 1e6 * longest[phase]);
            worst = longest[phase] > worst ? longest[phase] : worst;
        }
        free(u.seconds);
        free(u.calls);
    }
    say("\n| target | measured | |\n|---|---|---|\n| longest item, ms, at most 1 | %.3f | %s |\n\n",
        1e3 * worst, judged(1e3 * worst, 1));
}

/* ======== all of it ======== */

static void measure_clock(void)
{
    double values[1001];
    for (size_t i = 0; i < 1001; i++) {
        double start = bench_cpu();
        values[i] = bench_cpu() - start;
    }
    clock_cost = bench_median(values, 1001);
}

static void print_machine(void)
{
    say("## Speed\n\n`make -C bench speed%s`: %s, %s, one thread, processor time. Builds:\n\n",
        HAVE_BLAS ? " BLAS=1" : "", bench_cpu_name(), BENCH_COMPILER);
    for (int v = 0; v < VARIANTS; v++)
        say("- %s: `%s`\n", variants[v]->name, variants[v]->flags);
#ifdef BENCH_COMMIT
    say("\nnpksd.h of commit %s.\n", BENCH_COMMIT);
#endif
    say("\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run_fn)(void);
    } parts[] = { { "tests", whole_tests },     { "parts", where_time_goes },
                  { "components", components }, { "scores", scores },
                  { "plots", growth },          { "linear", linear },
                  { "memory", memory },         { "threads", threads },
                  { "units", units_of_step },   { "normals", normals } };
    enum { PARTS = sizeof parts / sizeof parts[0] };
    int wanted[PARTS] = { 0 }, some = 0;
    const char *text = getenv("QUICK");
    char path[1024];
    quick = text != NULL && text[0] != '\0' && strcmp(text, "0") != 0;
    for (int i = 1; i < argc; i++) {
        int known = 0;
        if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
            out_folder = argv[++i];
            continue;
        }
        for (int k = 0; k < PARTS; k++)
            if (strcmp(argv[i], parts[k].name) == 0)
                known = wanted[k] = some = 1;
        if (!known) {
            fprintf(stderr, "speed: unknown argument '%s'; usage: speed [--out DIR] [part ...]; "
                    "parts:", argv[i]);
            for (int k = 0; k < PARTS; k++)
                fprintf(stderr, " %s", parts[k].name);
            fprintf(stderr, "\n");
            return 2;
        }
    }
#if HAVE_BLAS
    openblas_set_num_threads(1);
#endif
    snprintf(path, sizeof path, "%s/speed.md", out_folder);
    if (!some && (section = fopen(path, "w")) == NULL) { /* single parts are for the screen */
        fprintf(stderr, "speed: %s cannot be written; does the folder exist?\n", path);
        return 2;
    }
    measure_clock();
    print_machine();
    for (int k = 0; k < PARTS; k++)
        if (!some || wanted[k])
            parts[k].run_fn();
    if (!quick)
        say("%zu of %zu targets met.\n", targets - targets_missed, targets);
    if (section != NULL && fclose(section) != 0) {
        fprintf(stderr, "speed: writing %s failed; is the disk full?\n", path);
        return 2;
    }
    return 0;
}
