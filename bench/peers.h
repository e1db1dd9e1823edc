/*
 * Two-sample tests of others, written from their papers, for cells.c. Each is given n observed and
 * `count` synthetic rows (cells.c: 10 n) and answers whether it rejects at alpha:
 *
 *   MMDAgg    MMD aggregated over Gaussian and Laplace kernels (Schrab et al. 2021), B1 = B2 = 2000
 *   MMD-FUSE  soft maximum of normalised MMDs over the same kernels (Biggs, Schrab & Gretton 2023)
 *   energy    energy distance (Szekely & Rizzo 2004), by permutation
 *   KS        Kolmogorov-Smirnov on each column, Bonferroni
 *   kNN       share of neighbours from the same sample, k = 5 (Schilling 1986, Henze 1988), each
 *             sample with the same weight, by permutation
 *   C2ST      classifier test (Lopez-Paz & Oquab 2017): ridge logistic regression on columns, squares
 *             and, up to 8 columns, products; trained on one half, the mean difference of the logits on
 *             the other half (Cheng & Cloninger 2019) by permutation
 *
 * The first three share kernel values and permutations, which saves time and changes nothing: each of
 * them sees permutations of its own statistic. The papers' code takes ten
 * bandwidths a kernel; here they are seven, over the same range. Rows are used as they are; C2ST
 * standardises them by both samples together.
 */
#ifndef PEERS_H
#define PEERS_H

#include "baselines.h"

enum peer_kind { PEER_MMDAGG, PEER_FUSE, PEER_ENERGY, PEER_KS, PEER_KNN, PEER_C2ST, PEERS };

static const char *const peer_names[PEERS] = { "MMDAgg", "MMD-FUSE", "energy", "KS", "kNN", "C2ST" };

enum { PEER_WIDTHS = 7, PEER_KERNELS = 2 * PEER_WIDTHS, PEER_LANES = 16, PEER_NEIGHBOURS = 5 };

typedef struct peer_answer {
    int reject[PEERS];
    double seconds[PEERS]; /* processor time; the first three: with all that they share */
} peer_answer;

/* ======== MMDAgg, MMD-FUSE, energy: the same kernels ======== */

/* Lanes 0-6 Gaussian kernels, 7-13 Laplace kernels (sum of absolute differences), 14 minus the
   distance. Permutation 0 is the data as they are: the first n rows of the pool are the observed. */
typedef struct peer_pool {
    size_t total, n, count;      /* rows, rows of a subset, permutations */
    double gauss[PEER_WIDTHS], laplace[PEER_WIDTHS];
    unsigned *subsets;           /* count x n rows of the pool, in increasing order */
    unsigned *places;            /* count: the first row of the subset that is still to come */
    double *row_sums;            /* total x LANES: kernel values of a row with all others */
    double *pairs;               /* count x LANES: kernel values within the subset, a > b */
    double sums[PEER_LANES];     /* over all ordered pairs */
    double squares[PEER_LANES];  /* mean square over all pairs */
    double kernel_seconds, sum_seconds;
} peer_pool;

static BENCH_UNUSED double peer_absolute_distance(const npksd_real *a, const npksd_real *b, size_t m)
{
    double sum = 0;
    for (size_t i = 0; i < m; i++)
        sum += fabs((double)a[i] - (double)b[i]);
    return sum;
}

/* widths from half of the 5 % to twice the 95 % quantile of up to 20,000 positive distances */
static BENCH_UNUSED void peer_widths(const npksd_real *rows, size_t total, size_t m, int absolute,
                                     double *widths)
{
    enum { MOST = 20000 };
    double *d = (double *)bench_alloc(MOST, sizeof *d), low, high;
    size_t count = 0;
    for (size_t shift = 1; shift < total && count < MOST; shift += 1 + total / 40)
        for (size_t a = 0; a + shift < total && count < MOST; a++) {
            const npksd_real *x = rows + a * m, *y = rows + (a + shift) * m;
            double distance = absolute ? peer_absolute_distance(x, y, m)
                                       : sqrt(baseline_squared_distance(x, y, m));
            if (distance > 0)
                d[count++] = distance;
        }
    if (count == 0)
        d[count++] = 1;
    low = baseline_select(d, count, count / 20) / 2;
    high = baseline_select(d, count, count - 1 - count / 20) * 2;
    for (size_t w = 0; w < PEER_WIDTHS; w++)
        widths[w] = low * pow(high / low, (double)w / (PEER_WIDTHS - 1));
    free(d);
}

/* all subsets: the observed rows, then n rows at random each */
static BENCH_UNUSED void peer_draw_subsets(peer_pool *pool, npksd_rng *rng)
{
    size_t *index = (size_t *)bench_alloc(pool->total, sizeof *index);
    unsigned char *member = (unsigned char *)bench_alloc(pool->total, 1);
    for (size_t i = 0; i < pool->total; i++)
        index[i] = i;
    for (size_t b = 0; b < pool->count; b++) {
        unsigned *subset = pool->subsets + b * pool->n;
        for (size_t i = 0; i < pool->n; i++) {
            size_t j = b == 0 ? i
                : i + (size_t)((double)npksd_uniform(rng) * (double)(pool->total - i));
            size_t swap = index[i];
            index[i] = index[j];
            index[j] = swap;
            member[index[i]] = 1;
        }
        for (size_t i = 0; i < pool->total; i++) {
            if (member[i])
                *subset++ = (unsigned)i;
            member[i] = 0;
        }
    }
    free(index);
    free(member);
}

/* the kernel values of row a with the rows before it: a x LANES */
static BENCH_UNUSED void peer_kernel_row(peer_pool *pool, const npksd_real *rows, size_t m, size_t a,
                                         float *lanes)
{
    double own[PEER_LANES] = { 0 };
    for (size_t b = 0; b < a; b++, lanes += PEER_LANES) {
        double *other = pool->row_sums + b * PEER_LANES;
        float square = (float)baseline_squared_distance(rows + a * m, rows + b * m, m);
        float sum = (float)peer_absolute_distance(rows + a * m, rows + b * m, m);
        for (size_t w = 0; w < PEER_WIDTHS; w++) {
            lanes[w] = expf(-square / (float)(2 * pool->gauss[w] * pool->gauss[w]));
            lanes[PEER_WIDTHS + w] = expf(-sum / (float)pool->laplace[w]);
        }
        lanes[PEER_KERNELS] = -sqrtf(square);
        lanes[PEER_KERNELS + 1] = 0;
        for (size_t w = 0; w < PEER_LANES; w++) {
            own[w] += (double)lanes[w];
            other[w] += (double)lanes[w];
            pool->squares[w] += (double)lanes[w] * (double)lanes[w];
        }
    }
    for (size_t w = 0; w < PEER_LANES; w++) {
        pool->row_sums[a * PEER_LANES + w] += own[w];
        pool->sums[w] += 2 * own[w];
    }
}

/* Adds row a to the sums of every subset that has it. Row by row the kernel values stay in cache,
   and no table of all pairs is needed. */
static BENCH_UNUSED void peer_add_row(peer_pool *pool, size_t a, const float *kernel)
{
    for (size_t b = 0; b < pool->count; b++) {
        const unsigned *subset = pool->subsets + b * pool->n;
        float lanes[PEER_LANES] = { 0 };
        size_t place = pool->places[b];
        if (place == pool->n || subset[place] != a)
            continue;
        for (size_t k = 0; k < place; k++) {
            const float *values = kernel + subset[k] * PEER_LANES;
            for (size_t w = 0; w < PEER_LANES; w++)
                lanes[w] += values[w];
        }
        for (size_t w = 0; w < PEER_LANES; w++)
            pool->pairs[b * PEER_LANES + w] += (double)lanes[w];
        pool->places[b]++;
    }
}

static BENCH_UNUSED void peer_pool_make(peer_pool *pool, const npksd_real *rows, size_t n,
                                        size_t total, size_t m, size_t count, npksd_rng *rng)
{
    float *kernel = (float *)bench_alloc(total * PEER_LANES, sizeof *kernel);
    double start = bench_cpu(), end;
    memset(pool, 0, sizeof *pool);
    pool->total = total;
    pool->n = n;
    pool->count = count;
    pool->subsets = (unsigned *)bench_alloc(count * n, sizeof *pool->subsets);
    pool->places = (unsigned *)bench_alloc(count, sizeof *pool->places);
    pool->row_sums = (double *)bench_alloc(total * PEER_LANES, sizeof *pool->row_sums);
    pool->pairs = (double *)bench_alloc(count * PEER_LANES, sizeof *pool->pairs);
    peer_draw_subsets(pool, rng);
    pool->sum_seconds = bench_cpu() - start;
    peer_widths(rows, total, m, 0, pool->gauss);
    peer_widths(rows, total, m, 1, pool->laplace);
    for (size_t a = 0; a < total; a++) {
        start = bench_cpu();
        peer_kernel_row(pool, rows, m, a, kernel);
        end = bench_cpu();
        pool->kernel_seconds += end - start;
        peer_add_row(pool, a, kernel);
        pool->sum_seconds += bench_cpu() - end;
    }
    for (size_t w = 0; w < PEER_LANES; w++)
        pool->squares[w] /= (double)total * (double)(total - 1) / 2;
    free(kernel);
}

static BENCH_UNUSED void peer_pool_free(peer_pool *pool)
{
    free(pool->subsets);
    free(pool->places);
    free(pool->row_sums);
    free(pool->pairs);
}

/* MMD^2 of every lane between the subset of a permutation and the rest, unbiased */
static BENCH_UNUSED void peer_mmd(const peer_pool *pool, size_t b, double *mmd)
{
    double n = (double)pool->n, l = (double)(pool->total - pool->n), touching[PEER_LANES] = { 0 };
    for (size_t k = 0; k < pool->n; k++)
        for (size_t w = 0; w < PEER_LANES; w++)
            touching[w] += pool->row_sums[pool->subsets[b * pool->n + k] * PEER_LANES + w];
    for (size_t w = 0; w < PEER_LANES; w++) {
        double xx = 2 * pool->pairs[b * PEER_LANES + w], xy = touching[w] - xx;
        mmd[w] = xx / (n * (n - 1)) + (pool->sums[w] - xx - 2 * xy) / (l * (l - 1))
            - 2 * xy / (n * l);
    }
}

/* (1/lambda) log mean exp(lambda MMD^2 / sqrt(mean k^2)) over the kernels, lambda^2 = n (n - 1) */
static BENCH_UNUSED double peer_fuse(const peer_pool *pool, const double *mmd)
{
    double lambda = sqrt((double)pool->n * (double)(pool->n - 1)), most = -1e300, sum = 0;
    double value[PEER_KERNELS];
    for (size_t w = 0; w < PEER_KERNELS; w++) {
        value[w] = lambda * mmd[w] / sqrt(pool->squares[w] > 0 ? pool->squares[w] : 1);
        most = value[w] > most ? value[w] : most;
    }
    for (size_t w = 0; w < PEER_KERNELS; w++)
        sum += exp(value[w] - most) / PEER_KERNELS;
    return (most + log(sum)) / lambda;
}

static BENCH_UNUSED int peer_aggregate(const double *mmd, size_t permutations, double alpha)
{
    baseline_aggregate g;
    double thresholds[PEER_KERNELS];
    g.widths = PEER_KERNELS;
    g.quantile_count = permutations + 1;
    g.level_count = permutations;
    g.quantiles = (double *)bench_alloc(g.widths * g.quantile_count, sizeof *g.quantiles);
    g.levels = (double *)bench_alloc(g.widths * g.level_count, sizeof *g.levels);
    for (size_t w = 0; w < g.widths; w++) {
        double *quantiles = g.quantiles + w * g.quantile_count;
        for (size_t b = 0; b <= permutations; b++)
            quantiles[b] = mmd[b * PEER_LANES + w];
        qsort(quantiles, g.quantile_count, sizeof *quantiles, bench_compare);
        for (size_t b = 0; b < permutations; b++)
            g.levels[b * g.widths + w] = mmd[(permutations + 1 + b) * PEER_LANES + w];
    }
    baseline_thresholds(&g, baseline_aggregate_u(&g, alpha), thresholds);
    int reject = baseline_aggregate_exceeds(&g, mmd, thresholds);
    free(g.quantiles);
    free(g.levels);
    return reject;
}

static BENCH_UNUSED void peer_kernel_tests(const npksd_real *rows, size_t n, size_t total, size_t m,
                                           double alpha, size_t permutations, npksd_rng *rng,
                                           peer_answer *answer)
{
    peer_pool pool;
    size_t count = 2 * permutations + 1; /* the observed value, B1, B2 */
    double *mmd = (double *)bench_alloc(count * PEER_LANES, sizeof *mmd), start;
    double *fuse = (double *)bench_alloc(2 * permutations, sizeof *fuse);
    double *energy = fuse + permutations;
    peer_pool_make(&pool, rows, n, total, m, count, rng);
    for (size_t b = 0; b < count; b++)
        peer_mmd(&pool, b, mmd + b * PEER_LANES);
    for (size_t b = 1; b <= permutations; b++) {
        fuse[b - 1] = peer_fuse(&pool, mmd + b * PEER_LANES);
        energy[b - 1] = mmd[b * PEER_LANES + PEER_KERNELS];
    }
    answer->reject[PEER_FUSE] = baseline_p_value(fuse, permutations, peer_fuse(&pool, mmd)) <= alpha;
    answer->reject[PEER_ENERGY] = baseline_p_value(energy, permutations, mmd[PEER_KERNELS]) <= alpha;
    start = bench_cpu();
    answer->reject[PEER_MMDAGG] = peer_aggregate(mmd, permutations, alpha);
    answer->seconds[PEER_MMDAGG] = pool.kernel_seconds + pool.sum_seconds + bench_cpu() - start;
    answer->seconds[PEER_FUSE] = answer->seconds[PEER_ENERGY] =
        pool.kernel_seconds + pool.sum_seconds / 2;
    peer_pool_free(&pool);
    free(mmd);
    free(fuse);
}

/* ======== Kolmogorov-Smirnov ======== */

/* Kolmogorov's asymptotic p-value with Stephens' correction for small samples */
static BENCH_UNUSED double peer_kolmogorov(double distance, double effective)
{
    double root = sqrt(effective), t = (root + 0.12 + 0.11 / root) * distance, p = 0;
    if (t < 0.2)
        return 1;
    for (int k = 1; k <= 100; k++)
        p += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * t * t);
    return p < 0 ? 0 : p > 1 ? 1 : p;
}

static BENCH_UNUSED double peer_ks_distance(double *x, size_t n, double *y, size_t count)
{
    size_t i = 0, j = 0;
    double largest = 0;
    qsort(x, n, sizeof *x, bench_compare);
    qsort(y, count, sizeof *y, bench_compare);
    while (i < n && j < count) {
        double value = x[i] < y[j] ? x[i] : y[j], d;
        while (i < n && x[i] <= value)
            i++;
        while (j < count && y[j] <= value)
            j++;
        d = fabs((double)i / (double)n - (double)j / (double)count);
        largest = d > largest ? d : largest;
    }
    return largest;
}

static BENCH_UNUSED int peer_ks(const npksd_real *rows, size_t n, size_t total, size_t m,
                                double alpha)
{
    double *column = (double *)bench_alloc(total, sizeof *column), least = 1;
    double effective = (double)n * (double)(total - n) / (double)total;
    for (size_t i = 0; i < m; i++) {
        for (size_t r = 0; r < total; r++)
            column[r] = (double)rows[r * m + i];
        double p = peer_kolmogorov(peer_ks_distance(column, n, column + n, total - n), effective);
        least = p < least ? p : least;
    }
    free(column);
    return least * (double)m <= alpha;
}

/* ======== nearest neighbours ======== */

/* the PEER_NEIGHBOURS nearest other rows of each row; ties: the row that a random order prefers */
static BENCH_UNUSED size_t *peer_neighbours(const npksd_real *rows, size_t total, size_t m,
                                            npksd_rng *rng)
{
    enum { K = PEER_NEIGHBOURS };
    size_t *near = (size_t *)bench_alloc(total * K, sizeof *near);
    float *order = (float *)bench_alloc(total, sizeof *order);
    for (size_t a = 0; a < total; a++)
        order[a] = (float)npksd_uniform(rng);
    for (size_t a = 0; a < total; a++) {
        double best[K];
        size_t *list = near + a * K, have = 0;
        for (size_t b = 0; b < total; b++) {
            double d = b == a ? 0 : baseline_squared_distance(rows + a * m, rows + b * m, m);
            size_t k = have;
            if (b == a || (have == K && d > best[K - 1]))
                continue;
            while (k > 0 && (d < best[k - 1]
                             || (d <= best[k - 1] && order[b] < order[list[k - 1]])))
                k--;
            if (k == K)
                continue;
            for (size_t i = have < K ? have : K - 1; i > k; i--) {
                best[i] = best[i - 1];
                list[i] = list[i - 1];
            }
            best[k] = d;
            list[k] = b;
            have += have < K;
        }
    }
    free(order);
    return near;
}

static BENCH_UNUSED double peer_same_sample(const size_t *near, const unsigned char *first,
                                            size_t n, size_t total)
{
    size_t same[2] = { 0, 0 };
    for (size_t a = 0; a < total; a++)
        for (size_t k = 0; k < PEER_NEIGHBOURS; k++)
            same[first[a]] += first[a] == first[near[a * PEER_NEIGHBOURS + k]];
    return (double)same[1] / (double)n + (double)same[0] / (double)(total - n);
}

static BENCH_UNUSED void peer_shuffle(unsigned char *labels, size_t count, npksd_rng *rng)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)((double)npksd_uniform(rng) * (double)i);
        unsigned char swap = labels[i - 1];
        labels[i - 1] = labels[j];
        labels[j] = swap;
    }
}

static BENCH_UNUSED int peer_knn(const npksd_real *rows, size_t n, size_t total, size_t m,
                                 double alpha, size_t permutations, npksd_rng *rng)
{
    size_t *near = peer_neighbours(rows, total, m, rng);
    unsigned char *first = (unsigned char *)bench_alloc(total, 1);
    double *null_values = (double *)bench_alloc(permutations, sizeof *null_values), observed;
    memset(first, 1, n);
    observed = peer_same_sample(near, first, n, total);
    for (size_t b = 0; b < permutations; b++) {
        peer_shuffle(first, total, rng);
        null_values[b] = peer_same_sample(near, first, n, total);
    }
    int reject = baseline_p_value(null_values, permutations, observed - 1e-12) <= alpha;
    free(near);
    free(first);
    free(null_values);
    return reject;
}

/* ======== classifier ======== */

static BENCH_UNUSED size_t peer_feature_count(size_t m)
{
    return 1 + 2 * m + (m <= 8 ? m * (m - 1) / 2 : 0);
}

static BENCH_UNUSED void peer_features(const npksd_real *row, size_t m, const double *mean,
                                       const double *deviation, double *phi)
{
    size_t k = 0;
    phi[k++] = 1;
    for (size_t i = 0; i < m; i++) {
        double z = ((double)row[i] - mean[i]) / deviation[i];
        phi[k++] = z;
        phi[k++] = z * z - 1;
    }
    for (size_t i = 1; m <= 8 && i < m; i++)
        for (size_t j = 0; j < i; j++)
            phi[k++] = phi[1 + 2 * i] * phi[1 + 2 * j];
}

/* solves A x = b by Cholesky, A positive definite, both overwritten */
static BENCH_UNUSED void peer_solve(double *A, size_t p, double *b)
{
    for (size_t i = 0; i < p; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = A[i * p + j];
            for (size_t k = 0; k < j; k++)
                sum -= A[i * p + k] * A[j * p + k];
            A[i * p + j] = i == j ? sqrt(sum > 1e-12 ? sum : 1e-12) : sum / A[j * p + j];
        }
    }
    for (size_t i = 0; i < p; i++) {
        for (size_t k = 0; k < i; k++)
            b[i] -= A[i * p + k] * b[k];
        b[i] /= A[i * p + i];
    }
    for (size_t i = p; i-- > 0;) {
        for (size_t k = i + 1; k < p; k++)
            b[i] -= A[k * p + i] * b[k];
        b[i] /= A[i * p + i];
    }
}

/* Newton steps of ridge logistic regression, both classes with the same weight */
static BENCH_UNUSED void peer_logistic(const double *phi, const unsigned char *label, size_t count,
                                       size_t ones, size_t p, double *theta)
{
    double *A = (double *)bench_alloc(p * p + p, sizeof *A), *b = A + p * p;
    double weight[2] = { (double)ones / (double)(count - ones), 1 }, ridge = 1;
    memset(theta, 0, p * sizeof *theta);
    for (int step = 0; step < 6; step++) {
        memset(A, 0, (p * p + p) * sizeof *A);
        for (size_t i = 0; i < p; i++) {
            A[i * p + i] = ridge;
            b[i] = -ridge * theta[i];
        }
        for (size_t r = 0; r < count; r++) {
            const double *x = phi + r * p;
            double dot = 0, q, slope, curve;
            for (size_t i = 0; i < p; i++)
                dot += theta[i] * x[i];
            dot = dot > 15 ? 15 : dot < -15 ? -15 : dot;
            q = 1 / (1 + exp(-dot));
            slope = weight[label[r]] * (label[r] - q);
            curve = weight[label[r]] * q * (1 - q);
            for (size_t i = 0; i < p; i++) {
                double c = curve * x[i];
                b[i] += slope * x[i];
                for (size_t j = 0; j <= i; j++)
                    A[i * p + j] += c * x[j];
            }
        }
        peer_solve(A, p, b);
        for (size_t i = 0; i < p; i++)
            theta[i] += b[i];
    }
    free(A);
}

/* every second row of each sample trains */
static BENCH_UNUSED int peer_c2st(const npksd_real *rows, size_t n, size_t total, size_t m,
                                  double alpha, size_t permutations, npksd_rng *rng)
{
    size_t p = peer_feature_count(m), train = 0, ones = 0, tests = 0;
    double *scale = (double *)bench_alloc(2 * m, sizeof *scale), *deviation = scale + m;
    double *phi = (double *)bench_alloc((total + 2) * p, sizeof *phi), *theta = phi + total * p;
    double *logit = (double *)bench_alloc(total + permutations, sizeof *logit), sum = 0, observed = 0;
    double *null_values = logit + total;
    unsigned char *label = (unsigned char *)bench_alloc(total, 1);
    for (size_t i = 0; i < m; i++) {
        double squares = 0;
        for (size_t r = 0; r < total; r++)
            scale[i] += (double)rows[r * m + i] / (double)total;
        for (size_t r = 0; r < total; r++) {
            double d = (double)rows[r * m + i] - scale[i];
            squares += d * d / (double)total;
        }
        deviation[i] = squares > 0 ? sqrt(squares) : 1;
    }
    for (size_t r = 0; r < total; r += 2) {
        label[train] = r < n;
        ones += r < n;
        peer_features(rows + r * m, m, scale, deviation, phi + train++ * p);
    }
    peer_logistic(phi, label, train, ones, p, theta);
    ones = 0;
    for (size_t r = 1; r < total; r += 2) {
        label[tests] = r < n;
        ones += r < n;
        peer_features(rows + r * m, m, scale, deviation, phi);
        logit[tests] = 0;
        for (size_t i = 0; i < p; i++)
            logit[tests] += theta[i] * phi[i];
        sum += logit[tests++];
    }
    for (size_t b = 0; b <= permutations; b++) {
        double of_ones = 0;
        if (b > 0)
            peer_shuffle(label, tests, rng);
        for (size_t t = 0; t < tests; t++)
            of_ones += label[t] ? logit[t] : 0;
        double value = of_ones / (double)ones - (sum - of_ones) / (double)(tests - ones);
        if (b > 0)
            null_values[b - 1] = value;
        else
            observed = value;
    }
    int reject = baseline_p_value(null_values, permutations, observed - 1e-12 * fabs(observed))
        <= alpha;
    free(scale);
    free(phi);
    free(logit);
    free(label);
    return reject;
}

/* ======== all ======== */

/* rows: the n observed ones, then the synthetic ones */
static BENCH_UNUSED void peer_tests(const npksd_real *rows, size_t n, size_t total, size_t m,
                                    double alpha, size_t permutations, npksd_rng *rng,
                                    peer_answer *answer)
{
    double start;
    peer_kernel_tests(rows, n, total, m, alpha, permutations, rng, answer);
    start = bench_cpu();
    answer->reject[PEER_KS] = peer_ks(rows, n, total, m, alpha);
    answer->seconds[PEER_KS] = bench_cpu() - start;
    start = bench_cpu();
    answer->reject[PEER_KNN] = peer_knn(rows, n, total, m, alpha, permutations, rng);
    answer->seconds[PEER_KNN] = bench_cpu() - start;
    start = bench_cpu();
    answer->reject[PEER_C2ST] = peer_c2st(rows, n, total, m, alpha, permutations, rng);
    answer->seconds[PEER_C2ST] = bench_cpu() - start;
}

#endif /* PEERS_H */
