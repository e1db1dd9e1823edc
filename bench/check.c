/*
 * Tests of what the benchmarks are made of: baselines, peers, problems, generators, intervals, the
 * .npy reader, kept numbers, second runs, options.
 * Small cases worked by hand (the arithmetic is in the comments), then levels and powers with
 * fixed seeds and stated binomial bounds. Prints one line a test; exit status 1 if any failed.
 */
#include "baselines.h"
#include "generators.h"
#include "npy.h"
#include "peers.h"
#include "problems.h"
#include "verdict.h"

static size_t passed, failed;

static void expect(int good, const char *what)
{
    printf("%-6s %s\n", good ? "ok" : "FAILED", what);
    if (good)
        passed++;
    else
        failed++;
}

static void expect_near(double value, double wanted, double tolerance, const char *what)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %.9g, expected %.9g", what, value, wanted);
    expect(fabs(value - wanted) <= tolerance, text);
}

/* ======== small cases ======== */

static void check_median(void)
{
    static const npksd_real line[4] = { 0, 1, 3, 7 };       /* distances 1 2 3 4 6 7 */
    static const npksd_real corners[6] = { 0, 0, 3, 4, 0, 0 }; /* m = 2: 5 0 5 */
    static const npksd_real same[3] = { 2, 2, 2 };
    double values[7] = { 5, 1, 4, 1, 3, 9, 2 };
    expect_near(baseline_median_distance(line, 4, 1), 3, 1e-12, "median distance of 0 1 3 7");
    expect_near(baseline_median_distance(corners, 3, 2), 5, 1e-12, "median distance in the plane");
    expect_near(baseline_median_distance(same, 3, 1), 1, 0, "median distance 0 becomes 1");
    expect_near(baseline_select(values, 7, 3), 3, 0, "fourth smallest of seven");
}

/* N(0, 1): rows 0 and 1, scores 0 and -1, sigma 1: u(0,0) = 1, u(1,1) = 1 + 1,
   u(0,1) = e^-1/2 (0 - 1 + 1 - 1), so V = (1 + 2 - 2 e^-1/2) / 4 */
static void check_ksd(void)
{
    static const npksd_real rows[2] = { 0, 1 }, scores[2] = { 0, -1 };
    static const npksd_real flat[4] = { 1, 2, 1, 2 }, ones[4] = { 1, 0, 1, 0 };
    double matrix[4], k = exp(-0.5);
    expect_near(baseline_ksd(rows, scores, 2, 1, 1, matrix), (3 - 2 * k) / 4, 1e-12,
                "KSD of two rows");
    expect_near(matrix[0], 1, 1e-12, "Stein matrix, diagonal");
    expect_near(matrix[1], -k, 1e-12, "Stein matrix, beside it");
    expect(matrix[1] <= matrix[2] && matrix[2] <= matrix[1], "Stein matrix is symmetric");
    /* m = 2, equal rows: s.s + m / sigma^2 = 1 + 2 / 4 */
    expect_near(baseline_ksd(flat, ones, 2, 2, 2, NULL), 1.5, 1e-12, "KSD of equal rows");
}

/* the same numbers by the library */
static void check_ksd_library(void)
{
    npksd_real rows[60], scores[60], value;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 3, 0);
    bench_data model = bench_gauss(1, 0);
    npksd_options o = npksd_default_options();
    o.bandwidth = (npksd_real)1.7;
    o.statistic = NPKSD_STATISTIC_V;
    bench_sample(rows, 20, 3, &rng, &model);
    bench_score(rows, 20, 3, scores, &model);
    bench_must("npksd_statistic", npksd_statistic(rows, scores, 20, 3, NULL, &o, &value));
    expect_near(baseline_ksd(rows, scores, 20, 3, 1.7, NULL), 9 * (double)value, 1e-9,
                "KSD is m^2 times npksd_statistic");
}

/* all signs equal give V itself; with n = 2 the wild values are (u00 + u11 +- 2 u01) / 4 */
static void check_wild(void)
{
    static const double matrix[4] = { 1, 0.5, 0.5, 2 };
    double values[200];
    size_t equal = 0, other = 0;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 5, 0);
    baseline_wild_null(matrix, 2, 200, &rng, values);
    for (size_t i = 0; i < 200; i++) {
        equal += fabs(values[i] - 1.0) < 1e-12;
        other += fabs(values[i] - 0.5) < 1e-12;
    }
    expect(equal + other == 200 && equal > 70 && other > 70, "wild bootstrap of two rows");
}

/* x = {0, 1}, y = {0, 2}: distances 1 0 2 1 1 2, median 1. Unbiased, at the median:
   e^-1/2 + e^-2 - 2 (1 + e^-2 + 2 e^-1/2) / 4 = (e^-2 - 1) / 2; biased: (1 - e^-1/2) / 2.
   At twice the median e^-1/2 becomes e^-1/8 and e^-2 becomes e^-1/2. */
static void check_mmd(void)
{
    static const npksd_real x[2] = { 0, 1 }, y[2] = { 0, 2 }, far[3] = { 10, 11, 12 };
    baseline_pool pool;
    double mmd[BASELINE_WIDTHS], swapped[BASELINE_WIDTHS];
    baseline_pool_make(&pool, x, 2, y, 2, 1);
    baseline_mmd_observed(&pool, 0, mmd);
    expect_near(mmd[BASELINE_MEDIAN_WIDTH], (exp(-2) - 1) / 2, 1e-6, "MMD, unbiased");
    expect_near(mmd[BASELINE_MEDIAN_WIDTH + 1], (exp(-0.5) - 1) / 2, 1e-6, "MMD, twice as wide");
    baseline_mmd_observed(&pool, 1, mmd);
    expect_near(mmd[BASELINE_MEDIAN_WIDTH], (1 - exp(-0.5)) / 2, 1e-6, "MMD, biased");
    baseline_pool_free(&pool);
    baseline_pool_make(&pool, x, 2, far, 3, 1);
    baseline_mmd_observed(&pool, 0, mmd);
    baseline_pool_free(&pool);
    baseline_pool_make(&pool, far, 3, x, 2, 1);
    baseline_mmd_observed(&pool, 0, swapped);
    expect_near(mmd[0], swapped[0], 1e-6, "MMD is the same both ways");
    baseline_pool_free(&pool);
}

static void check_subset(void)
{
    npksd_real rows[12] = { 0 };
    size_t counts[12] = { 0 }, disorder = 0;
    baseline_pool pool;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 8, 0);
    for (size_t i = 0; i < 12; i++)
        rows[i] = (npksd_real)i;
    baseline_pool_make(&pool, rows, 3, rows + 3, 9, 1);
    for (size_t r = 0; r < 4000; r++) {
        const size_t *subset = baseline_subset(&pool, 3, &rng);
        for (size_t i = 0; i < 3; i++)
            counts[subset[i]]++;
        disorder += subset[0] >= subset[1] || subset[1] >= subset[2];
    }
    expect(disorder == 0, "subsets are in order, without repeats");
    for (size_t i = 0; i < 12; i++) /* 1000 expected, sd 27 */
        if (counts[i] < 870 || counts[i] > 1130)
            disorder++;
    expect(disorder == 0, "every row is drawn alike");
    baseline_pool_free(&pool);
}

/* p counts the observed value, and ties */
static void check_p_value(void)
{
    static const double values[4] = { 1, 2, 3, 3 };
    expect_near(baseline_p_value(values, 4, 3), 3.0 / 5, 1e-12, "p-value with ties");
    expect_near(baseline_p_value(values, 4, 9), 1.0 / 5, 1e-12, "p-value is never 0");
}

/* One bandwidth, quantile values 1 ... 20 and B2 values 0.2, 0.4 ... 20: at most 5 % of these lie
   above the threshold t if t >= 19; t is the ceil(20 (1 - u))-th value, so u < 0.1. Two bandwidths
   that are the same: u < 0.2, and the threshold stays, so the copy costs nothing. Two that never
   exceed together: half of the level each, t >= 19.5, that is 20. */
static void check_aggregate(void)
{
    double quantiles[40], one[100], two[200], split[200], thresholds[2];
    baseline_aggregate g;
    for (size_t i = 0; i < 20; i++)
        quantiles[i] = quantiles[20 + i] = (double)i + 1;
    for (size_t i = 0; i < 100; i++) {
        one[i] = two[2 * i] = two[2 * i + 1] = 0.2 * ((double)i + 1);
        split[2 * i] = i % 2 ? 0.2 * ((double)i + 1) : 0;
        split[2 * i + 1] = i % 2 ? 0 : 0.2 * ((double)i + 1);
    }
    g.quantile_count = 20;
    g.quantiles = quantiles;
    g.level_count = 100;
    g.levels = one;
    g.widths = 1;
    expect_near(baseline_aggregate_u(&g, 0.05), 0.1, 1e-9, "MMDAgg, u of one bandwidth");
    g.levels = two;
    g.widths = 2;
    expect_near(baseline_aggregate_u(&g, 0.05), 0.2, 1e-9, "MMDAgg, u of two equal bandwidths");
    baseline_thresholds(&g, 0.1999999, thresholds);
    expect_near(thresholds[1], 19, 0, "MMDAgg, threshold of two equal bandwidths");
    g.levels = split;
    expect_near(baseline_aggregate_u(&g, 0.025), 0.1, 1e-9, "MMDAgg, u of exclusive bandwidths");
    expect_near(baseline_quantile(quantiles, 20, 0.05), 19, 0, "quantile 0.95 of 20");
    expect_near(baseline_quantile(quantiles, 20, 1), 1, 0, "quantile 0 is the smallest");
}

/* ======== levels and powers ======== */

typedef int (*reject_fn)(const npksd_real *observed, const npksd_real *drawn, size_t n,
                         size_t count, npksd_rng *rng);

enum { CHECK_M = 2, CHECK_DRAWS = 199 };

static int reject_monte_carlo(const npksd_real *observed, const npksd_real *drawn, size_t n,
                              size_t count, npksd_rng *rng)
{
    bench_data null_model = bench_gauss(1, 0);
    baseline_model model = { bench_sample, bench_score, NULL };
    (void)drawn;
    (void)count;
    model.user_data = &null_model;
    return baseline_ksd_monte_carlo(observed, n, CHECK_M, &model, 99, rng) <= 0.05;
}

static int reject_wild(const npksd_real *observed, const npksd_real *drawn, size_t n, size_t count,
                       npksd_rng *rng)
{
    bench_data null_model = bench_gauss(1, 0);
    baseline_model model = { bench_sample, bench_score, NULL };
    (void)drawn;
    (void)count;
    model.user_data = &null_model;
    return baseline_ksd_wild(observed, n, CHECK_M, &model, CHECK_DRAWS, rng) <= 0.05;
}

static int reject_mmd(const npksd_real *observed, const npksd_real *drawn, size_t n, size_t count,
                      npksd_rng *rng)
{
    return baseline_mmd_permutation(observed, n, drawn, count, CHECK_M, CHECK_DRAWS, rng) <= 0.05;
}

static int reject_mmdagg(const npksd_real *observed, const npksd_real *drawn, size_t n,
                         size_t count, npksd_rng *rng)
{
    return baseline_mmdagg(observed, n, drawn, count, CHECK_M, 0.05, CHECK_DRAWS, rng);
}

static rate measure(reject_fn reject, size_t n, size_t count, double shift, size_t trials)
{
    npksd_real *rows = (npksd_real *)bench_alloc((n + count) * CHECK_M, sizeof *rows);
    bench_data null_model = bench_gauss(1, 0), shifted = bench_gauss(1, shift);
    rate r = { 0, 0 };
    for (r.trials = 0; r.trials < trials; r.trials++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 1234, r.trials);
        bench_sample(rows, n, CHECK_M, &rng, &shifted);
        bench_sample(rows + n * CHECK_M, count, CHECK_M, &rng, &null_model);
        r.hits += (size_t)(reject(rows, rows + n * CHECK_M, n, count, &rng) != 0);
    }
    free(rows);
    return r;
}

/* level: 400 trials at 0.05, 20 expected; 6 ... 38 holds with probability 0.9995. The wild
   bootstrap is only asymptotic: it may lie lower. */
static void check_rates(const char *name, reject_fn reject, size_t n, size_t count, size_t least,
                        size_t power)
{
    char text[128];
    rate r = measure(reject, n, count, 0, 400);
    snprintf(text, sizeof text, "%s, %zu and %zu rows: %zu of 400 rejected, %zu to 38 expected",
             name, n, count, r.hits, least);
    expect(r.hits >= least && r.hits <= 38, text);
    r = measure(reject, n, count, 0.8, 60);
    snprintf(text, sizeof text, "%s, mean + 0.8 sd: %zu of 60 rejected, %zu expected", name,
             r.hits, power);
    expect(r.hits >= power, text);
}

/* ======== peers and problems ======== */

/* x = {0, 1}, y = {0, 2}, kernel -distance: within x -1, within y -2, between -(0 + 2 + 1 + 1) / 4:
   -1 - 2 + 2 = -1 */
static void check_peer_kernels(void)
{
    static const npksd_real rows[4] = { 0, 1, 0, 2 };
    peer_pool pool;
    double mmd[PEER_LANES], last[PEER_LANES];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 6, 0);
    peer_pool_make(&pool, rows, 2, 4, 1, 2, &rng);
    peer_mmd(&pool, 0, mmd);
    expect_near(mmd[PEER_KERNELS], -1, 1e-6, "energy distance of two and two rows");
    /* the widest kernels are nearly 1 everywhere: no distance */
    expect(fabs(mmd[PEER_WIDTHS - 1]) < 0.1 && fabs(mmd[PEER_KERNELS - 1]) < 0.3,
           "MMD with wide kernels is small");
    for (size_t w = 0; w < PEER_LANES; w++) {
        mmd[w] = 0.25;
        pool.squares[w] = 0.25;
    }
    expect_near(peer_fuse(&pool, mmd), 0.5, 1e-12, "MMD-FUSE of equal values is their value");
    peer_mmd(&pool, 1, last);
    expect(pool.subsets[2] < pool.subsets[3] && pool.places[1] == 2 && last[0] > -2,
           "a permutation is a subset in order");
    peer_pool_free(&pool);
}

static void check_peer_parts(void)
{
    static const npksd_real line[7] = { 0, 1, 3, 6, 10, 15, 21 };
    double x[2] = { 3, 1 }, y[4] = { 2, 4, 5, 2 }; /* at 1: 1/2 - 0; at 3: 1 - 1/2 */
    double A[4] = { 4, 2, 2, 3 }, b[2] = { 2, 5 }; /* solution -1/2, 2 */
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 6, 0);
    size_t *near = peer_neighbours(line, 7, 1, &rng);
    expect_near(peer_ks_distance(x, 2, y, 4), 0.5, 1e-12, "KS distance");
    expect_near(peer_kolmogorov(1.3581 / (10 + 0.12 + 0.011), 100), 0.05, 1e-4, "KS p-value");
    expect(near[0] == 1 && near[1] == 2 && near[4] == 5 && near[6 * 5] == 5 && near[6 * 5 + 4] == 1,
           "nearest neighbours on a line");
    free(near);
    peer_solve(A, 2, b);
    expect_near(b[0], -0.5, 1e-12, "Cholesky, first unknown");
    expect_near(b[1], 2, 1e-12, "Cholesky, second unknown");
}

/* 300 trials of all peers on the same rows; 15 expected, 2 ... 33 holds with probability 0.9999.
   KS with Bonferroni may lie lower. */
static void check_peers(void)
{
    enum { N_ROWS = 30, TOTAL = 11 * N_ROWS, TRIALS = 300, SHIFTED = 60 };
    static npksd_real rows[TOTAL * CHECK_M];
    size_t hits[2][PEERS] = { { 0 } };
    bench_data model = bench_gauss(1, 0), shifted = bench_gauss(1, 0.9);
    for (size_t t = 0; t < TRIALS + SHIFTED; t++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 4321, t);
        peer_answer answer;
        bench_sample(rows, N_ROWS, CHECK_M, &rng, t < TRIALS ? &model : &shifted);
        bench_sample(rows + N_ROWS * CHECK_M, TOTAL - N_ROWS, CHECK_M, &rng, &model);
        peer_tests(rows, N_ROWS, TOTAL, CHECK_M, 0.05, CHECK_DRAWS, &rng, &answer);
        for (int k = 0; k < PEERS; k++)
            hits[t >= TRIALS][k] += (size_t)answer.reject[k];
    }
    for (int k = 0; k < PEERS; k++) {
        char text[128];
        size_t least = k == PEER_KS ? 0 : 2;
        snprintf(text, sizeof text, "%s, 30 and 300 rows: %zu of %d rejected, %zu to 33 expected; mean + "
                 "0.9 sd: %zu of %d", peer_names[k], hits[0][k], TRIALS, least, hits[1][k], SHIFTED);
        expect(hits[0][k] >= least && hits[0][k] <= 33 && hits[1][k] >= 35, text);
    }
}

/* every generator fills its rows with finite numbers, and null and alternative differ */
static void check_problems(void)
{
    size_t bad = 0, same = 0;
    for (size_t k = 0; k < PROBLEMS; k++) {
        size_t count = problems[k].n * problems[k].m;
        npksd_real *rows = (npksd_real *)bench_alloc(2 * count, sizeof *rows);
        for (size_t i = 0; i < 2 * count; i++)
            rows[i] = (npksd_real)1e30;
        for (int which = 0; which < 2; which++) {
            npksd_rng_state state;
            npksd_rng rng = npksd_rng_seeded(&state, 5, 0);
            problem_data d = which ? problems[k].alternative : problems[k].null_model;
            problem_sample(rows + (size_t)which * count, problems[k].n, problems[k].m, &rng, &d);
        }
        for (size_t i = 0; i < 2 * count; i++)
            bad += !(fabs((double)rows[i]) < 1e6);
        same += memcmp(rows, rows + count, count * sizeof *rows) == 0;
        free(rows);
    }
    expect(bad == 0, "problems: all numbers are written and finite");
    expect(same == 0, "problems: null and alternative differ");
}

/* ======== networks ======== */

/* loss = sum of squared outputs / 2: its derivative by the outputs is the outputs */
static double net_loss(const mlp *net, const double *x)
{
    mlp_trace trace;
    const double *out = mlp_forward(net, x, &trace);
    double sum = 0;
    for (size_t j = 0; j < net->sizes[net->layers]; j++)
        sum += out[j] * out[j] / 2;
    return sum;
}

static void check_gradient(void)
{
    static const size_t sizes[4] = { 3, 7, 5, 2 };
    double x[3] = { 0.3, -1.2, 0.8 }, slope_in[3], worst = 0, h = 1e-6;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 9, 0);
    mlp net = mlp_new(sizes, 3, &rng);
    mlp_trace trace;
    const double *out = mlp_forward(&net, x, &trace);
    mlp_backward(&net, &trace, out, slope_in);
    for (size_t i = 0; i < net.count + 3; i++) {
        double *at = i < net.count ? &net.weights[i] : &x[i - net.count], keep = *at, up, down;
        double wanted = i < net.count ? net.gradient[i] : slope_in[i - net.count];
        *at = keep + h;
        up = net_loss(&net, x);
        *at = keep - h;
        down = net_loss(&net, x);
        *at = keep;
        worst = fmax(worst, fabs((up - down) / (2 * h) - wanted));
    }
    expect_near(worst, 0, 1e-6, "gradients of a perceptron against differences");
    mlp_free(&net);
}

/* the first step of Adam moves each weight by the rate, against the sign of its gradient */
static void check_adam(void)
{
    static const size_t sizes[2] = { 1, 1 };
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 9, 0);
    mlp net = mlp_new(sizes, 1, &rng);
    net.weights[0] = 2;
    net.weights[1] = 2;
    net.gradient[0] = 40;
    net.gradient[1] = -0.5;
    mlp_adam(&net, 0.1, 0.9, 10);
    expect_near(net.weights[0], 1.9, 1e-6, "Adam, first step down");
    expect_near(net.weights[1], 2.1, 1e-6, "Adam, first step up");
    expect(net.gradient[0] >= 0 && net.gradient[0] <= 0, "Adam clears the gradient");
    for (int i = 0; i < 600; i++) { /* minimum of (w - 1)^2 + (c + 1)^2 */
        net.gradient[0] = 2 * (net.weights[0] - 1);
        net.gradient[1] = 2 * (net.weights[1] + 1);
        mlp_adam(&net, 0.05, 0.9, 1);
    }
    expect_near(net.weights[0], 1, 1e-2, "Adam finds a minimum");
    mlp_free(&net);
}

/* Trained on N(0, I): means near 0 and variances of the right size, as far as each kind goes. */
static void check_generators(void)
{
    static const double least[GENERATOR_KINDS] = { 0.5, 0.3, 0.7, 0.9, 0.94 };
    static const double most[GENERATOR_KINDS] = { 1.7, 1.0, 1.6, 1.15, 1.06 };
    static npksd_real rows[4000 * GENERATOR_M];
    for (int k = 0; k < GENERATOR_KINDS; k++) {
        char text[128];
        double mean = 0, square = 0;
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 21, 0);
        generator g = generator_train((generator_kind)k, bench_gauss(1, 0), 1, GENERATOR_STEPS);
        generator_sample(rows, 4000, GENERATOR_M, &rng, &g);
        for (size_t i = 0; i < 4000 * GENERATOR_M; i++) {
            mean += (double)rows[i] / (4000 * GENERATOR_M);
            square += (double)rows[i] * (double)rows[i] / (4000 * GENERATOR_M);
        }
        snprintf(text, sizeof text, "%s trained on N(0, I): mean %.2f, mean square %.2f",
                 generator_names[k], mean, square);
        expect(fabs(mean) < 0.25 && square > least[k] && square < most[k], text);
        generator_free(&g);
    }
}

/* ======== intervals and files ======== */

static void check_interval(void)
{
    rate none = { 0, 100 }, five = { 5, 100 }, all = { 20, 20 }, half = { 50, 100 };
    double low, high;
    rate_interval(none, 0.05, &low, &high); /* 1 - 0.025^(1/100) */
    expect_near(high, 1 - pow(0.025, 0.01), 1e-6, "interval of 0 of 100, upper end");
    expect_near(low, 0, 0, "interval of 0 of 100, lower end");
    rate_interval(all, 0.05, &low, &high); /* 0.025^(1/20) */
    expect_near(low, pow(0.025, 0.05), 1e-6, "interval of 20 of 20, lower end");
    rate_interval(five, 0.05, &low, &high); /* tables: 0.0164 to 0.1128 */
    expect_near(low, 0.0164, 5e-5, "interval of 5 of 100, lower end");
    expect_near(high, 0.1128, 5e-5, "interval of 5 of 100, upper end");
    expect(rate_difference(half, five) > 2 && rate_difference(five, half) < -2
           && fabs(rate_difference(five, five)) < 1e-12, "difference in standard errors");
}

static const char *read_bytes(const char *bytes, size_t size, size_t m, npy_table *t)
{
    const char *path = "check.npy.tmp", *problem;
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        bench_die("check.npy.tmp cannot be written here", NPKSD_ERROR_ARGUMENT);
    problem = npy_read(path, m, t);
    remove(path);
    return problem;
}

/* two rows of two numbers: 1, -2, 0.5, 3 */
static void check_npy(void)
{
    static const char head[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n";
    static const unsigned char body[16] = { 0, 0, 0x80, 0x3f, 0, 0, 0,    0xc0,
                                            0, 0, 0,    0x3f, 0, 0, 0x40, 0x40 };
    char bytes[256] = { 0 };
    size_t length = strlen(head), size = 10 + length + 16;
    npy_table t;
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (char)length;
    memcpy(bytes + 10, head, length);
    memcpy(bytes + 10 + length, body, 16);
    expect(read_bytes(bytes, size, 2, &t) == NULL && t.count == 2 && t.m == 2
           && fabs((double)t.rows[0] - 1) + fabs((double)t.rows[1] + 2)
                   + fabs((double)t.rows[2] - 0.5) + fabs((double)t.rows[3] - 3) < 1e-12,
           "an .npy file is read");
    free(t.rows);
    expect(read_bytes(bytes, size, 3, &t) != NULL && t.rows == NULL, "wrong columns are refused");
    expect(read_bytes(bytes, size - 1, 2, &t) != NULL && t.rows == NULL, "a cut file is refused");
    expect(read_bytes(bytes, 40, 2, &t) != NULL, "a cut header is refused");
    bytes[10 + 12] = '8'; /* '<f4' becomes '8f4' */
    expect(read_bytes(bytes, size, 2, &t) != NULL, "another type is refused");
    bytes[0] = 'P';
    expect(read_bytes(bytes, size, 2, &t) != NULL, "another file is refused");
    expect(npy_read("no/such/file", 2, &t) != NULL, "a missing file is reported");
}

/* kept numbers come back; cut lines and other sizes do not */
static void check_kept(void)
{
    static runner r;
    piece *p = runner_add(&r, "part/method", 3, 2), *q;
    static const rate one = { 1, 3 }, two = { 2, 3 };
    snprintf(r.path, sizeof r.path, "check.kept.tmp");
    remove(r.path);
    p->rates[0] = one;
    p->rates[1] = two;
    p->seconds = 0.25;
    snprintf(p->commit, sizeof p->commit, "abc1234");
    runner_keep(&r, p);
    r.count = 0;
    q = runner_add(&r, "part/method", 3, 2);
    expect(runner_recall(&r) == 1 && q->done && q->rates[0].hits == 1 && q->rates[1].hits == 2
               && q->rates[1].trials == 3 && strcmp(q->commit, "abc1234") == 0,
           "numbers of a finished piece are kept");
    expect_near(q->seconds, 0.25, 1e-9, "and its seconds");
    r.count = 0;
    runner_add(&r, "part/method", 4, 2);
    expect(runner_recall(&r) == 0, "not for another number of trials");
    expect(!runner_parse(q, "4 2 1 3 2 3 0.25") && !runner_parse(q, "4 2 1 3 2"),
           "not from a cut line");
    remove(r.path);
}

/* cell 0 rejects always in the jobs before `setting`, later once in twenty; cell 1 always */
static void doubtful_job(const piece *p, size_t job, piece_outcome *out)
{
    size_t unlucky = *(const size_t *)p->setting;
    out->hits[0] = job < unlucky || job % 20 == 0;
    out->hits[1] = 1;
    out->trials[0] = out->trials[1] = 1;
}

static piece *doubtful(runner *r, const char *key, const size_t *unlucky, unsigned nulls)
{
    piece *p = runner_add(r, key, 20, 2);
    snprintf(p->label, sizeof p->label, "%s", key);
    p->job_fn = doubtful_job;
    p->setting = unlucky;
    p->nulls = nulls;
    p->weight = 1;
    return p;
}

/* A null cell that misses its level gets five times the trials, with jobs that follow its own. */
static void check_again(void)
{
    static runner r;
    static const size_t none = 0, first = 20, ever = 1000;
    const piece *good = doubtful(&r, "good", &none, 1), *chance = doubtful(&r, "chance", &first, 1);
    const piece *bad = doubtful(&r, "bad", &ever, 1), *power = doubtful(&r, "power", &ever, 0);
    char text[2048];
    FILE *f = tmpfile();
    size_t length;
    runner_run(&r);
    expect(chance->rates[0].hits == 20 && chance->rates[0].trials == 20, "a null cell by chance");
    expect(runner_again(&r, good) == NULL && runner_again(&r, power) == NULL,
           "a second run only where a level is missed");
    expect(runner_again(&r, chance) != NULL && runner_again(&r, chance)->rates[0].hits == 5
               && runner_again(&r, chance)->rates[0].trials == 100
               && runner_again(&r, chance)->cells == 1,
           "the second run is larger and has jobs of its own");
    expect(verdict_level(&r, good, 0) && verdict_level(&r, chance, 0) && !verdict_level(&r, bad, 0),
           "the level is judged by the second run");
    verdict_levels(f, &r);
    rewind(f);
    length = fread(text, 1, sizeof text - 1, f);
    text[length] = '\0';
    fclose(f);
    expect(strstr(text, "3 null cells; 0.05 is inside the 95 % interval of 1.") != NULL
               && strstr(text, "**NOT MET**") != NULL
               && strstr(text, "chance: 1.000 (0.832-1.000) of 20 trials; again: 0.050 "
                               "(0.016-0.113) of 100 trials - inside") != NULL
               && strstr(text, "bad: 1.000 (0.832-1.000) of 20 trials; again: 1.000 "
                               "(0.964-1.000) of 100 trials - **OUTSIDE**") != NULL,
           "and both runs are told");
}

static void check_slope(void)
{
    static const double x[3] = { 2, 4, 16 }, cubes[3] = { 40, 320, 20480 }, bent[3] = { 4, 8, 64 };
    expect_near(bench_geometric_mean(x, 3), pow(128, 1.0 / 3), 1e-12, "geometric mean");
    expect_near(bench_slope(x, cubes, 3), 3, 1e-12, "slope of a power law");
    /* in powers of two: x 1 2 4 around 7/3, y 2 3 6, so (-4/3 2 - 1/3 3 + 5/3 6) / (42/9) */
    expect_near(bench_slope(x, bent, 3), 19.0 / 14, 1e-12, "slope by least squares");
}

static void check_options(void)
{
    npksd_options o = npksd_default_options();
    expect(bench_option(&o, "estimator=spline") && o.estimator == NPKSD_ESTIMATOR_SPLINE
               && bench_option(&o, "components=3") && o.components == 3
               && bench_option(&o, "fit_rows=77") && o.fit_rows == 77
               && bench_option(&o, "smooth=0.5") && fabs((double)o.smooth - 0.5) < 1e-12
               && bench_option(&o, "scales=0.25,1") && o.scale_count == 2
               && fabs((double)o.scales[0] - 0.25) < 1e-12,
           "options of the command line");
    expect(!bench_option(&o, "fit=1") && !bench_option(&o, "fit_rows") && !bench_option(&o, "=1"),
           "other arguments are not options");
}

int main(void)
{
    check_median();
    check_ksd();
    check_ksd_library();
    check_wild();
    check_mmd();
    check_subset();
    check_p_value();
    check_aggregate();
    check_peer_kernels();
    check_peer_parts();
    check_problems();
    check_interval();
    check_npy();
    check_kept();
    check_again();
    check_options();
    check_slope();
    check_gradient();
    check_adam();
    check_generators();
    check_rates("KSD, Monte Carlo", reject_monte_carlo, 30, 30, 6, 54);
    check_rates("KSD, wild bootstrap", reject_wild, 60, 60, 3, 54);
    check_rates("MMD", reject_mmd, 40, 40, 6, 54);
    check_rates("MMD", reject_mmd, 40, 160, 6, 54);
    check_rates("MMDAgg", reject_mmdagg, 40, 40, 6, 54);
    check_rates("MMDAgg", reject_mmdagg, 40, 160, 6, 54);
    check_rates("MMDAgg", reject_mmdagg, 40, 15, 6, 36);
    check_peers();
    printf("\n%zu passed, %zu failed\n", passed, failed);
    return failed > 0;
}
