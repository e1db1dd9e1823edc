/*
 * The tests npksd.h is measured against, written from the literature:
 *
 *   KSD      kernelised Stein discrepancy with an explicit score, V-statistic, Gaussian kernel
 *            (Chwialkowski, Strathmann & Gretton 2016; Liu, Lee & Jordan 2016); calibrated by
 *            wild bootstrap (Rademacher signs) or by Monte Carlo from the model
 *   MMD      maximum mean discrepancy between two samples of any sizes, unbiased, by permutation
 *            (Gretton et al. 2012)
 *   MMDAgg   MMD aggregated over several bandwidths, uniform weights, level shared out by
 *            bisection (Schrab, Kim, Albert, Laurent, Guedj & Gretton 2021)
 *
 * Plain code, a reference for others to read; check.c tests it. Bandwidths are median distances:
 * of the rows themselves for KSD (also of each Monte Carlo data set, so that observed and drawn
 * sets are treated alike), of both samples together for MMD.
 */
#ifndef BASELINES_H
#define BASELINES_H

#include "bench.h"

/* ======== median distance ======== */

/* the k-th smallest (from 0) of count values, which are reordered */
static BENCH_UNUSED double baseline_select(double *values, size_t count, size_t k)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)count - 1;
    while (low < high) {
        double pivot = values[k];
        ptrdiff_t i = low, j = high;
        do {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                double swap = values[i];
                values[i++] = values[j];
                values[j--] = swap;
            }
        } while (i <= j);
        if (j < (ptrdiff_t)k)
            low = i;
        if ((ptrdiff_t)k < i)
            high = j;
    }
    return values[k];
}

static BENCH_UNUSED double baseline_squared_distance(const npksd_real *a, const npksd_real *b,
                                                     size_t m)
{
    double sum = 0;
    for (size_t i = 0; i < m; i++) {
        double d = (double)a[i] - (double)b[i];
        sum += d * d;
    }
    return sum;
}

/* over all pairs of rows; the lower middle one if there are two. 1 if it is 0. */
static BENCH_UNUSED double baseline_median_distance(const npksd_real *rows, size_t n, size_t m)
{
    size_t count = n * (n - 1) / 2, k = 0;
    double *squares, median;
    if (n < 2)
        return 1;
    squares = (double *)bench_alloc(count, sizeof *squares);
    for (size_t a = 1; a < n; a++)
        for (size_t b = 0; b < a; b++)
            squares[k++] = baseline_squared_distance(rows + a * m, rows + b * m, m);
    median = sqrt(baseline_select(squares, count, (count - 1) / 2));
    free(squares);
    return median > 0 ? median : 1;
}

/* ======== KSD ======== */

/* u(x, y) = k [ s_x.s_y + (s_x - s_y).(x - y)/v + m/v - |x - y|^2/v^2 ],  k = exp(-|x - y|^2/2v),
   v = sigma^2 */
static BENCH_UNUSED double baseline_stein(const npksd_real *x, const npksd_real *y,
                                          const npksd_real *score_x, const npksd_real *score_y,
                                          size_t m, double sigma)
{
    double v = sigma * sigma, square = 0, scores = 0, cross = 0;
    for (size_t i = 0; i < m; i++) {
        double d = (double)x[i] - (double)y[i];
        square += d * d;
        scores += (double)score_x[i] * (double)score_y[i];
        cross += ((double)score_x[i] - (double)score_y[i]) * d;
    }
    return exp(-square / (2 * v)) * (scores + cross / v + (double)m / v - square / (v * v));
}

/* the V-statistic; matrix: n x n, all u(x_a, x_b), or NULL */
static BENCH_UNUSED double baseline_ksd(const npksd_real *rows, const npksd_real *scores, size_t n,
                                        size_t m, double sigma, double *matrix)
{
    double sum = 0;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b <= a; b++) {
            double u = baseline_stein(rows + a * m, rows + b * m, scores + a * m, scores + b * m,
                                      m, sigma);
            sum += a == b ? u : 2 * u;
            if (matrix != NULL)
                matrix[a * n + b] = matrix[b * n + a] = u;
        }
    }
    return sum / ((double)n * (double)n);
}

typedef struct baseline_model {
    npksd_sample_fn sample_fn;
    npksd_score_fn score_fn;
    void *user_data; /* for both */
} baseline_model;

/* the V-statistic with the median distance of the rows as bandwidth; scores: n x m of scratch */
static BENCH_UNUSED double baseline_ksd_own_width(const npksd_real *rows, size_t n, size_t m,
                                                  const baseline_model *model, npksd_real *scores,
                                                  double *matrix)
{
    if (model->score_fn(rows, n, m, scores, model->user_data) != 0)
        bench_die("baseline score", NPKSD_ERROR_ARGUMENT);
    return baseline_ksd(rows, scores, n, m, baseline_median_distance(rows, n, m), matrix);
}

/* p = (1 + #{null >= statistic}) / (count + 1) */
static BENCH_UNUSED double baseline_p_value(const double *null_values, size_t count,
                                            double statistic)
{
    size_t above = 0;
    for (size_t i = 0; i < count; i++)
        above += null_values[i] >= statistic;
    return (double)(1 + above) / (double)(count + 1);
}

/* count statistics of data sets drawn from the model */
static BENCH_UNUSED void baseline_ksd_null(size_t n, size_t m, const baseline_model *model,
                                           size_t count, npksd_rng *rng, double *null_values)
{
    npksd_real *rows = (npksd_real *)bench_alloc(2 * n * m, sizeof *rows);
    for (size_t r = 0; r < count; r++) {
        if (model->sample_fn(rows, n, m, rng, model->user_data) != 0)
            bench_die("baseline sample", NPKSD_ERROR_GENERATOR);
        null_values[r] = baseline_ksd_own_width(rows, n, m, model, rows + n * m, NULL);
    }
    free(rows);
}

static BENCH_UNUSED double baseline_ksd_monte_carlo(const npksd_real *rows, size_t n, size_t m,
                                                    const baseline_model *model, size_t count,
                                                    npksd_rng *rng)
{
    npksd_real *scores = (npksd_real *)bench_alloc(n * m, sizeof *scores);
    double *null_values = (double *)bench_alloc(count, sizeof *null_values), p;
    baseline_ksd_null(n, m, model, count, rng, null_values);
    p = baseline_p_value(null_values, count,
                         baseline_ksd_own_width(rows, n, m, model, scores, NULL));
    free(scores);
    free(null_values);
    return p;
}

/* count values (1/n^2) sum_ab e_a e_b u_ab with random signs e */
static BENCH_UNUSED void baseline_wild_null(const double *matrix, size_t n, size_t count,
                                            npksd_rng *rng, double *null_values)
{
    double *signs = (double *)bench_alloc(n, sizeof *signs);
    for (size_t r = 0; r < count; r++) {
        double sum = 0;
        for (size_t a = 0; a < n; a++)
            signs[a] = (double)npksd_uniform(rng) < 0.5 ? -1 : 1;
        for (size_t a = 0; a < n; a++) {
            double row = 0;
            for (size_t b = 0; b < a; b++)
                row += matrix[a * n + b] * signs[b];
            sum += 2 * signs[a] * row + matrix[a * n + a];
        }
        null_values[r] = sum / ((double)n * (double)n);
    }
    free(signs);
}

static BENCH_UNUSED double baseline_ksd_wild(const npksd_real *rows, size_t n, size_t m,
                                             const baseline_model *model, size_t count,
                                             npksd_rng *rng)
{
    npksd_real *scores = (npksd_real *)bench_alloc(n * m, sizeof *scores);
    double *matrix = (double *)bench_alloc(n * n, sizeof *matrix);
    double *null_values = (double *)bench_alloc(count, sizeof *null_values), p;
    double statistic = baseline_ksd_own_width(rows, n, m, model, scores, matrix);
    baseline_wild_null(matrix, n, count, rng, null_values);
    p = baseline_p_value(null_values, count, statistic);
    free(scores);
    free(matrix);
    free(null_values);
    return p;
}

/* ======== MMD ======== */

/* Bandwidths sigma * 2^l, l = -2 ... 2. Eight lanes: one load and one addition serve all. */
enum { BASELINE_WIDTHS = 5, BASELINE_MEDIAN_WIDTH = 2, BASELINE_LANES = 8 };

/* both samples in one pool, the smaller one first, and every kernel value between them */
typedef struct baseline_pool {
    size_t total, small;             /* rows, and rows of the smaller sample */
    float *kernel;                   /* LANES for each pair a > b, at a (a - 1) / 2 + b */
    double *row_sums;                /* total x WIDTHS */
    double sums[BASELINE_WIDTHS];    /* over all ordered pairs */
    unsigned char *member;           /* scratch: 1 for rows of the subset */
    size_t *index;                   /* scratch: a permutation, then the subset in order */
} baseline_pool;

/* exp(-square / 2 sigma^2 4^l), the widest by exp, the others by fourth powers */
static BENCH_UNUSED void baseline_kernels(double square, double sigma, float *lanes)
{
    double k = exp(-square / (2 * 16 * sigma * sigma));
    for (int w = BASELINE_WIDTHS - 1; w >= 0; w--) {
        lanes[w] = (float)k;
        k = k * k;
        k = k * k;
    }
}

static BENCH_UNUSED void baseline_pool_kernels(baseline_pool *pool, const npksd_real *rows,
                                               size_t m, double sigma)
{
    float *lanes = pool->kernel;
    for (size_t a = 1; a < pool->total; a++) {
        double own[BASELINE_WIDTHS] = { 0 };
        for (size_t b = 0; b < a; b++, lanes += BASELINE_LANES) {
            double *other = pool->row_sums + b * BASELINE_WIDTHS;
            baseline_kernels(baseline_squared_distance(rows + a * m, rows + b * m, m), sigma,
                             lanes);
            for (size_t w = 0; w < BASELINE_WIDTHS; w++) {
                own[w] += (double)lanes[w];
                other[w] += (double)lanes[w];
            }
        }
        for (size_t w = 0; w < BASELINE_WIDTHS; w++) {
            pool->row_sums[a * BASELINE_WIDTHS + w] += own[w];
            pool->sums[w] += 2 * own[w];
        }
    }
}

static BENCH_UNUSED void baseline_pool_make(baseline_pool *pool, const npksd_real *x, size_t n,
                                            const npksd_real *y, size_t count, size_t m)
{
    size_t total = n + count, small = n <= count ? n : count;
    npksd_real *rows = (npksd_real *)bench_alloc(total * m, sizeof *rows);
    memset(pool, 0, sizeof *pool);
    pool->total = total;
    pool->small = small;
    memcpy(rows, n <= count ? x : y, small * m * sizeof *rows);
    memcpy(rows + small * m, n <= count ? y : x, (total - small) * m * sizeof *rows);
    pool->kernel = (float *)bench_alloc(total * (total - 1) / 2 * BASELINE_LANES,
                                        sizeof *pool->kernel);
    pool->row_sums = (double *)bench_alloc(total * BASELINE_WIDTHS, sizeof *pool->row_sums);
    pool->member = (unsigned char *)bench_alloc(total, 1);
    pool->index = (size_t *)bench_alloc(2 * total, sizeof *pool->index);
    for (size_t i = 0; i < total; i++)
        pool->index[i] = i;
    baseline_pool_kernels(pool, rows, m, baseline_median_distance(rows, total, m));
    free(rows);
}

static BENCH_UNUSED void baseline_pool_free(baseline_pool *pool)
{
    free(pool->kernel);
    free(pool->row_sums);
    free(pool->member);
    free(pool->index);
}

/* kernel sums over pairs a > b of the subset, all bandwidths; subset in increasing order */
static BENCH_UNUSED void baseline_pair_sums(const baseline_pool *pool, const size_t *subset,
                                            size_t size, double *sums)
{
    for (size_t w = 0; w < BASELINE_WIDTHS; w++)
        sums[w] = 0;
    for (size_t a = 1; a < size; a++) {
        const float *row = pool->kernel + subset[a] * (subset[a] - 1) / 2 * BASELINE_LANES;
        float lanes[BASELINE_LANES] = { 0 };
        for (size_t b = 0; b < a; b++) {
            const float *k = row + subset[b] * BASELINE_LANES;
            for (size_t w = 0; w < BASELINE_LANES; w++)
                lanes[w] += k[w];
        }
        for (size_t w = 0; w < BASELINE_WIDTHS; w++)
            sums[w] += (double)lanes[w];
    }
}

/* MMD^2 between a subset of the pool and the rest, unbiased or (biased = 1) the V-statistic */
static BENCH_UNUSED void baseline_mmd(const baseline_pool *pool, const size_t *subset, size_t size,
                                      int biased, double *mmd)
{
    double n = (double)size, l = (double)(pool->total - size), pairs[BASELINE_WIDTHS];
    baseline_pair_sums(pool, subset, size, pairs);
    for (size_t w = 0; w < BASELINE_WIDTHS; w++) {
        double touching = 0, xx = 2 * pairs[w], xy, yy;
        for (size_t a = 0; a < size; a++)
            touching += pool->row_sums[subset[a] * BASELINE_WIDTHS + w];
        xy = touching - xx;
        yy = pool->sums[w] - xx - 2 * xy;
        mmd[w] = biased ? (xx + n) / (n * n) + (yy + l) / (l * l) - 2 * xy / (n * l)
                        : xx / (n * (n - 1)) + yy / (l * (l - 1)) - 2 * xy / (n * l);
    }
}

/* `size` rows of the pool at random, in order, at pool->index + total */
static BENCH_UNUSED const size_t *baseline_subset(baseline_pool *pool, size_t size, npksd_rng *rng)
{
    size_t *subset = pool->index + pool->total, count = 0;
    for (size_t i = 0; i < size; i++) {
        size_t j = i + (size_t)((double)npksd_uniform(rng) * (double)(pool->total - i));
        size_t swap = pool->index[i];
        pool->index[i] = pool->index[j];
        pool->index[j] = swap;
        pool->member[pool->index[i]] = 1;
    }
    for (size_t i = 0; i < pool->total; i++) {
        if (pool->member[i])
            subset[count++] = i;
        pool->member[i] = 0;
    }
    return subset;
}

/* MMD^2 of the samples as they are */
static BENCH_UNUSED void baseline_mmd_observed(baseline_pool *pool, int biased, double *mmd)
{
    size_t *subset = pool->index + pool->total;
    for (size_t i = 0; i < pool->small; i++)
        subset[i] = i;
    baseline_mmd(pool, subset, pool->small, biased, mmd);
}

/* the permutation test at the median bandwidth */
static BENCH_UNUSED double baseline_mmd_permutation(const npksd_real *x, size_t n,
                                                    const npksd_real *y, size_t count, size_t m,
                                                    size_t permutations, npksd_rng *rng)
{
    baseline_pool pool;
    double mmd[BASELINE_WIDTHS], statistic;
    double *null_values = (double *)bench_alloc(permutations, sizeof *null_values), p;
    baseline_pool_make(&pool, x, n, y, count, m);
    baseline_mmd_observed(&pool, 0, mmd);
    statistic = mmd[BASELINE_MEDIAN_WIDTH];
    for (size_t r = 0; r < permutations; r++) {
        baseline_mmd(&pool, baseline_subset(&pool, pool.small, rng), pool.small, 0, mmd);
        null_values[r] = mmd[BASELINE_MEDIAN_WIDTH];
    }
    p = baseline_p_value(null_values, permutations, statistic);
    baseline_pool_free(&pool);
    free(null_values);
    return p;
}

/* ======== MMDAgg ======== */

/* the ceil(count (1 - level))-th smallest; the smallest if level >= 1 */
static BENCH_UNUSED double baseline_quantile(const double *sorted, size_t count, double level)
{
    double rank = ceil((double)count * (1 - level) - 1e-9);
    return sorted[rank < 1 ? 0 : (size_t)rank - 1];
}

typedef struct baseline_aggregate {
    size_t widths;         /* bandwidths, equal weights 1 / widths */
    size_t quantile_count; /* B1 + 1: permutations and the observed value itself */
    double *quantiles;     /* widths x quantile_count, each row sorted */
    size_t level_count;    /* B2 */
    double *levels;        /* level_count x widths, further permutations */
} baseline_aggregate;

static BENCH_UNUSED int baseline_aggregate_exceeds(const baseline_aggregate *g, const double *mmd,
                                                   const double *thresholds)
{
    for (size_t w = 0; w < g->widths; w++)
        if (mmd[w] > thresholds[w])
            return 1;
    return 0;
}

static BENCH_UNUSED void baseline_thresholds(const baseline_aggregate *g, double u,
                                             double *thresholds)
{
    for (size_t w = 0; w < g->widths; w++)
        thresholds[w] = baseline_quantile(g->quantiles + w * g->quantile_count, g->quantile_count,
                                          u / (double)g->widths);
}

/* the largest u for which at most alpha of the B2 permutations exceed a threshold, by bisection */
static BENCH_UNUSED double baseline_aggregate_u(const baseline_aggregate *g, double alpha)
{
    double low = 0, high = (double)g->widths;
    double *thresholds = (double *)bench_alloc(g->widths, sizeof *thresholds);
    for (int step = 0; step < 50; step++) {
        double u = (low + high) / 2;
        size_t above = 0;
        baseline_thresholds(g, u, thresholds);
        for (size_t b = 0; b < g->level_count; b++)
            above += (size_t)baseline_aggregate_exceeds(g, g->levels + b * g->widths, thresholds);
        if ((double)above <= alpha * (double)g->level_count)
            low = u;
        else
            high = u;
    }
    free(thresholds);
    return low;
}

/* 1 = rejected at alpha; B1 = B2 = permutations */
static BENCH_UNUSED int baseline_mmdagg(const npksd_real *x, size_t n, const npksd_real *y,
                                        size_t count, size_t m, double alpha, size_t permutations,
                                        npksd_rng *rng)
{
    baseline_pool pool;
    baseline_aggregate g;
    double observed[BASELINE_WIDTHS], thresholds[BASELINE_WIDTHS], mmd[BASELINE_WIDTHS];
    int reject;
    g.widths = BASELINE_WIDTHS;
    g.quantile_count = permutations + 1;
    g.level_count = permutations;
    g.quantiles = (double *)bench_alloc(g.widths * g.quantile_count, sizeof *g.quantiles);
    g.levels = (double *)bench_alloc(g.widths * g.level_count, sizeof *g.levels);
    baseline_pool_make(&pool, x, n, y, count, m);
    baseline_mmd_observed(&pool, 0, observed);
    for (size_t b = 0; b <= permutations; b++) {
        if (b > 0)
            baseline_mmd(&pool, baseline_subset(&pool, pool.small, rng), pool.small, 0, mmd);
        for (size_t w = 0; w < g.widths; w++)
            g.quantiles[w * g.quantile_count + b] = b > 0 ? mmd[w] : observed[w];
    }
    for (size_t w = 0; w < g.widths; w++)
        qsort(g.quantiles + w * g.quantile_count, g.quantile_count, sizeof *g.quantiles,
              bench_compare);
    for (size_t b = 0; b < permutations; b++)
        baseline_mmd(&pool, baseline_subset(&pool, pool.small, rng), pool.small, 0,
                     g.levels + b * g.widths);
    baseline_thresholds(&g, baseline_aggregate_u(&g, alpha), thresholds);
    reject = baseline_aggregate_exceeds(&g, observed, thresholds);
    baseline_pool_free(&pool);
    free(g.quantiles);
    free(g.levels);
    return reject;
}

#endif /* BASELINES_H */
