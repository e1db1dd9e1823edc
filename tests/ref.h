/*
 * ref.h - the plain reference of every formula of npksd.h: slow, obvious, in double.
 *
 * The library arranges the same sums as matrix products, tiles and streams; the tests compare it
 * with the loops below. Nothing here depends on the private half of npksd.h. Arrays come in as
 * npksd_real, so that a float build hands over exactly the numbers the library saw; all arithmetic
 * is double.
 */
#ifndef NPKSD_REF_H
#define NPKSD_REF_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../npksd.h"

#if defined(__GNUC__) || defined(__clang__)
#define REF_FN static __attribute__((unused))
#else
#define REF_FN static
#endif

#ifdef NPKSD_FLOAT
#define REF_CLAMP          1e4  /* limit of scaled values */
#define REF_CLAMP_OPERATOR 1e15 /* limit of unscaled, centred values (standardize = 0) */
#define REF_TINY           ((double)FLT_MIN)
#else
#define REF_CLAMP          1e6
#define REF_CLAMP_OPERATOR 1e140
#define REF_TINY           DBL_MIN
#endif

REF_FN double *ref_reals(size_t count)
{
    double *p = (double *)calloc(count ? count : 1, sizeof(double));
    if (!p)
        abort(); /* a test without memory has no answer */
    return p;
}

REF_FN int ref_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

REF_FN double ref_clip(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }

REF_FN double ref_clamp(double x, double limit) { return ref_clip(x, -limit, limit); }

/* ======== Stein statistic (DESIGN 2.3, 2.4) ======== */

typedef struct ref_data {
    const npksd_real *rows, *scores; /* n x m each */
    size_t n, m;
    const npksd_real *weights; /* m; NULL: 1/m each */
    int kernel, form;          /* NPKSD_KERNEL_, NPKSD_FORM_ */
    double sigma2;             /* bandwidth^2 * scale */
    int mirror;                /* 1: the sign of the scores is reversed */
} ref_data;

REF_FN double ref_w(const ref_data *data, size_t i)
{
    return data->weights ? (double)data->weights[i] : 1.0 / (double)data->m;
}

REF_FN double ref_x(const ref_data *data, size_t a, size_t i)
{
    return (double)data->rows[a * data->m + i];
}

REF_FN double ref_s(const ref_data *data, size_t a, size_t i)
{
    double s = (double)data->scores[a * data->m + i];
    return data->mirror ? -s : s;
}

/* k(x,y) = h(r), r = |x-y|^2. Gauss: h = exp(-r/2s), h' = -h/2s, h'' = h/4s^2.
   Inverse multiquadric: h = (1+r/s)^(-1/2), h' = -h^3/2s, h'' = 3h^5/4s^2.   (s = sigma2) */
REF_FN void ref_kernel(int kernel, const npksd_real *x, const npksd_real *y, size_t m,
                       double sigma2, double h[3])
{
    double r = 0;
    for (size_t i = 0; i < m; i++)
        r += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    if (kernel == NPKSD_KERNEL_IMQ) {
        h[0] = 1 / sqrt(1 + r / sigma2);
        h[1] = -pow(h[0], 3) / (2 * sigma2);
        h[2] = 3 * pow(h[0], 5) / (4 * sigma2 * sigma2);
    } else {
        h[0] = exp(-r / (2 * sigma2));
        h[1] = -h[0] / (2 * sigma2);
        h[2] = h[0] / (4 * sigma2 * sigma2);
    }
}

/* Share of coordinate i in u of the VECTOR form, rows a and b, d = x - y:
   w_i^2 [ s_i(x) s_i(y) h - 2 d_i h' (s_i(x) - s_i(y)) - 2 h' - 4 d_i^2 h'' ] */
REF_FN double ref_stein_share(const ref_data *data, size_t a, size_t b, size_t i)
{
    size_t m = data->m;
    double h[3], w = ref_w(data, i), sx = ref_s(data, a, i), sy = ref_s(data, b, i);
    double d = ref_x(data, a, i) - ref_x(data, b, i);
    ref_kernel(data->kernel, data->rows + a * m, data->rows + b * m, m, data->sigma2, h);
    return w * w * (sx * sy * h[0] - 2 * d * h[1] * (sx - sy) - 2 * h[1] - 4 * d * d * h[2]);
}

/* u(z_a, z_b). VECTOR: the sum of the shares. SCALAR, with S = sum w_i s_i and D = sum w_i d_i:
   S(x) S(y) h - 2 D h' (S(x) - S(y)) - 2 h' sum w_i^2 - 4 D^2 h'' */
REF_FN double ref_stein_pair(const ref_data *data, size_t a, size_t b)
{
    size_t m = data->m;
    double h[3], u = 0, sx = 0, sy = 0, d = 0, w2 = 0;
    for (size_t i = 0; i < m; i++) {
        double w = ref_w(data, i);
        u += data->form == NPKSD_FORM_VECTOR ? ref_stein_share(data, a, b, i) : 0;
        sx += w * ref_s(data, a, i);
        sy += w * ref_s(data, b, i);
        d += w * (ref_x(data, a, i) - ref_x(data, b, i));
        w2 += w * w;
    }
    ref_kernel(data->kernel, data->rows + a * m, data->rows + b * m, m, data->sigma2, h);
    return data->form == NPKSD_FORM_VECTOR
        ? u
        : sx * sy * h[0] - 2 * d * h[1] * (sx - sy) - 2 * h[1] * w2 - 4 * d * d * h[2];
}

/* MOMENT, kernel 1 + x.y.
   VECTOR: sum w_i^2 [ s_i(x) s_i(y) (1 + x.y) + s_i(x) x_i + s_i(y) y_i + 1 ].
   SCALAR: S(x) S(y) (1 + x.y) + S(x) sum w_i x_i + S(y) sum w_i y_i + sum w_i^2. */
REF_FN double ref_moment_pair(const ref_data *data, size_t a, size_t b)
{
    double k = 1, u = 0, sx = 0, sy = 0, wx = 0, wy = 0, w2 = 0;
    for (size_t i = 0; i < data->m; i++)
        k += ref_x(data, a, i) * ref_x(data, b, i);
    for (size_t i = 0; i < data->m; i++) {
        double w = ref_w(data, i), x = ref_x(data, a, i), y = ref_x(data, b, i);
        double s = ref_s(data, a, i), t = ref_s(data, b, i);
        u += w * w * (s * t * k + s * x + t * y + 1);
        sx += w * s;
        sy += w * t;
        wx += w * x;
        wy += w * y;
        w2 += w * w;
    }
    return data->form == NPKSD_FORM_VECTOR ? u : sx * sy * k + sx * wx + sy * wy + w2;
}

/* V: (1/n^2) sum over all a, b of u(z_a, z_b). U: without a = b, over n(n-1). */
REF_FN double ref_mean_pair(const ref_data *data, double (*pair)(const ref_data *, size_t, size_t),
                            int statistic)
{
    double sum = 0, n = (double)data->n;
    for (size_t a = 0; a < data->n; a++)
        for (size_t b = 0; b < data->n; b++)
            sum += a != b || statistic == NPKSD_STATISTIC_V ? pair(data, a, b) : 0;
    return sum / (statistic == NPKSD_STATISTIC_V ? n * n : n * (n - 1));
}

REF_FN double ref_statistic(const ref_data *data, int statistic)
{
    return ref_mean_pair(data, ref_stein_pair, statistic);
}

REF_FN double ref_moment(const ref_data *data, int statistic)
{
    return ref_mean_pair(data, ref_moment_pair, statistic);
}

/* MIRROR: the V-statistic with the sign of the scores reversed. */
REF_FN double ref_mirror(const ref_data *data)
{
    ref_data mirrored = *data;
    mirrored.mirror = !data->mirror;
    return ref_statistic(&mirrored, NPKSD_STATISTIC_V);
}

/* MMD^2 (V form): mean k(x,x') - 2 mean k(x,y) + mean k(y,y') = sum of c_a c_b k over all rows with
   c = 1/n for x, -1/q for y */
REF_FN double ref_mmd(const npksd_real *x, size_t n, const npksd_real *y, size_t q, size_t m,
                      int kernel, double sigma2)
{
    double h[3], sum = 0;
    for (size_t a = 0; a < n + q; a++)
        for (size_t b = 0; b < n + q; b++) {
            const npksd_real *za = a < n ? x + a * m : y + (a - n) * m;
            const npksd_real *zb = b < n ? x + b * m : y + (b - n) * m;
            double ca = a < n ? 1 / (double)n : -1 / (double)q;
            double cb = b < n ? 1 / (double)n : -1 / (double)q;
            ref_kernel(kernel, za, zb, m, sigma2, h);
            sum += ca * cb * h[0];
        }
    return sum;
}

/* Linear time; omega holds F = count frequencies drawn for scale 1 and used as omega / sqrt(scale):
   V = (1/F) sum_omega sum_i w_i^2 | (1/n) sum_a (s_i + j omega_i) exp(j omega.z_a) |^2
   SCALAR has S and sum w_i omega_i inside. U takes off the diagonal of the same features,
   w_i^2 (s_i^2 + mean omega_i^2), and divides by n(n-1). kernel and sigma2 are not used. */
REF_FN double ref_features(const ref_data *data, int statistic, const npksd_real *omega,
                           size_t count, double scale)
{
    double v = 0, diagonal = 0, n = (double)data->n;
    size_t m = data->m, scalar = data->form == NPKSD_FORM_SCALAR;
    for (size_t f = 0; f < count; f++)
        for (size_t i = 0; i < (scalar ? 1 : m); i++) {
            double re = 0, im = 0;
            for (size_t a = 0; a < data->n; a++) {
                double angle = 0, s = 0, o = 0;
                for (size_t k = 0; k < m; k++) {
                    double w = scalar || k == i ? ref_w(data, k) : 0;
                    double own = (double)omega[f * m + k] / sqrt(scale);
                    angle += own * ref_x(data, a, k);
                    s += w * ref_s(data, a, k);
                    o += w * own;
                }
                re += s * cos(angle) - o * sin(angle);
                im += s * sin(angle) + o * cos(angle);
                diagonal += s * s + o * o;
            }
            v += re * re + im * im;
        }
    return statistic == NPKSD_STATISTIC_V ? v / ((double)count * n * n)
                                          : (v - diagonal) / ((double)count * n * (n - 1));
}

/* MMD in linear time: (1/F) sum_omega | mean_x exp(j omega.x) - mean_y exp(j omega.y) |^2 */
REF_FN double ref_mmd_features(const npksd_real *x, size_t n, const npksd_real *y, size_t q,
                               size_t m, const npksd_real *omega, size_t count)
{
    double v = 0;
    for (size_t f = 0; f < count; f++) {
        double re = 0, im = 0;
        for (size_t a = 0; a < n + q; a++) {
            const npksd_real *z = a < n ? x + a * m : y + (a - n) * m;
            double angle = 0, c = a < n ? 1 / (double)n : -1 / (double)q;
            for (size_t k = 0; k < m; k++)
                angle += (double)omega[f * m + k] * (double)z[k];
            re += c * cos(angle);
            im += c * sin(angle);
        }
        v += (re * re + im * im) / (double)count;
    }
    return v;
}

/* ======== diagnosis (DESIGN 2.7) and bandwidth ======== */

/* v_i = (1/n^2) sum_{a,b} share of coordinate i in u(z_a, z_b), VECTOR form: their sum is V */
REF_FN void ref_coordinates(const ref_data *data, double *v)
{
    for (size_t i = 0; i < data->m; i++) {
        v[i] = 0;
        for (size_t a = 0; a < data->n; a++)
            for (size_t b = 0; b < data->n; b++)
                v[i] += ref_stein_share(data, a, b, i) / ((double)data->n * (double)data->n);
    }
}

/* r_a = (1/n) sum_b u(z_a, z_b), b = a included: the mean of r_a is V */
REF_FN void ref_influence(const ref_data *data, double *r)
{
    for (size_t a = 0; a < data->n; a++) {
        r[a] = 0;
        for (size_t b = 0; b < data->n; b++)
            r[a] += ref_stein_pair(data, a, b) / (double)data->n;
    }
}

/* Median of |x_a - x_b| over a < b (even count: mean of the middle two); 0: the mean; 0 again: 1. */
REF_FN double ref_median_distance(const npksd_real *rows, size_t count, size_t m)
{
    size_t pairs = count * (count - 1) / 2, p = 0;
    if (count < 2)
        return 1;
    double *d = ref_reals(pairs), mean = 0, median;
    for (size_t a = 0; a < count; a++) {
        double row = 0; /* a sum of sums: half a million terms in one would lose digits */
        for (size_t b = 0; b < a; b++, p++) {
            for (size_t i = 0; i < m; i++)
                d[p] += pow((double)rows[a * m + i] - (double)rows[b * m + i], 2);
            d[p] = sqrt(d[p]);
            row += d[p];
        }
        mean += row / (double)pairs;
    }
    qsort(d, pairs, sizeof(double), ref_compare);
    median = pairs % 2 ? d[pairs / 2] : (d[pairs / 2 - 1] + d[pairs / 2]) / 2;
    free(d);
    return median > 0 ? median : mean > 0 ? mean : 1;
}

/* ======== random words (Threefry-2x64, 13 rounds) ======== */

/* Block cipher of Salmon et al. 2011: key k, counter c. After every fourth round the key schedule
   (k0, k1, C ^ k0 ^ k1), turned by one place each time, and the number of the turn are added. */
REF_FN void ref_threefry(uint64_t k0, uint64_t k1, uint64_t c0, uint64_t c1, uint64_t out[2])
{
    static const unsigned rotation[8] = { 16, 42, 12, 31, 16, 32, 24, 21 };
    uint64_t key[3] = { k0, k1, UINT64_C(0x1BD11BDAA9FC1A22) ^ k0 ^ k1 };
    uint64_t x = c0 + key[0], y = c1 + key[1];
    for (unsigned round = 0; round < 13; round++) {
        unsigned turn = round / 4, left = rotation[round % 8];
        if (turn > 0 && round % 4 == 0) {
            x += key[turn % 3];
            y += key[(turn + 1) % 3] + turn;
        }
        x += y;
        y = (y << left | y >> (64 - left)) ^ x;
    }
    out[0] = x;
    out[1] = y;
}

/* Word number index of a stream: key (seed, stream), counter (index / 2, 0), half index % 2. */
REF_FN uint64_t ref_word(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t out[2];
    ref_threefry(seed, stream, index / 2, 0, out);
    return out[index % 2];
}

/* [0, 1): the top 53 bits, float build 24 */
REF_FN double ref_uniform(uint64_t word)
{
    unsigned bits = sizeof(npksd_real) == sizeof(float) ? 24 : 53;
    return ldexp((double)(word >> (64 - bits)), -(int)bits);
}

/* ======== p-values (DESIGN 2.5) ======== */

/* k / (b + 1) as npksd_real. The divisor is volatile so that -ffast-math cannot replace the
   division by a product with 1 / (b + 1), which rounds differently and moves k = alpha (b + 1) to
   the wrong side. */
REF_FN npksd_real ref_share(size_t k, size_t b)
{
    volatile npksd_real whole = (npksd_real)(b + 1);
    return (npksd_real)k / whole;
}

/* p = (1 + #{ null_j >= statistic }) / (b + 1) */
REF_FN npksd_real ref_p_value(npksd_real statistic, const npksd_real *null_values, size_t b)
{
    size_t above = 0;
    for (size_t j = 0; j < b; j++)
        above += null_values[j] >= statistic;
    return ref_share(above + 1, b);
}

/* The k-th largest null value, k the largest integer with k / (b+1) <= alpha. k = 0: nothing can be
   rejected, DBL_MAX. */
REF_FN double ref_threshold(const npksd_real *null_values, size_t b, npksd_real alpha)
{
    size_t k = 0;
    double *sorted = ref_reals(b), value = DBL_MAX;
    while (k < b && ref_share(k + 1, b) <= alpha)
        k++;
    for (size_t j = 0; j < b; j++)
        sorted[j] = (double)null_values[j];
    qsort(sorted, b, sizeof(double), ref_compare);
    value = k ? sorted[b - k] : value;
    free(sorted);
    return value;
}

/* P(first <= Binomial(count, p) <= last), each term in logarithms */
REF_FN double ref_binomial(size_t first, size_t last, size_t count, double p)
{
    double sum = 0, c = (double)count;
    for (double k = (double)first; k <= (double)last; k++)
        sum += exp(lgamma(c + 1) - lgamma(k + 1) - lgamma(c - k + 1) + k * log(p)
                   + (c - k) * log1p(-p));
    return sum;
}

/* The p at which P(Binomial(count, p) >= hits) is target: the quantile
   Beta(target; hits, count-hits+1). The degenerate ends are 0 (hits = 0) and 1 (hits > count). */
REF_FN double ref_beta_quantile(double target, size_t hits, size_t count)
{
    double low = 0, high = 1;
    if (hits == 0 || hits > count)
        return hits == 0 ? 0 : 1;
    for (int step = 0; step < 200; step++) {
        double p = (low + high) / 2;
        if (!(p > low && p < high))
            break;
        /* the smaller tail is the one that keeps its digits */
        int below = target < 0.5 ? ref_binomial(hits, count, count, p) < target
                                 : ref_binomial(0, hits - 1, count, p) > 1 - target;
        *(below ? &low : &high) = p;
    }
    return (low + high) / 2;
}

/* 95 % interval for the chance of a hit.
   Fixed number of draws b:         Beta(.025; g, b-g+1) to Beta(.975; g+1, b-g).
   Stopped at the g-th hit, draw b: Beta(.025; g, b-g+1) to Beta(.975; g, b-g). */
REF_FN void ref_clopper_pearson(size_t g, size_t b, int stopped, double *low, double *high)
{
    *low = ref_beta_quantile(0.025, g, b);
    *high = stopped ? ref_beta_quantile(0.975, g, b - 1) : ref_beta_quantile(0.975, g + 1, b);
}

/* ======== the fit (DESIGN 2.1, 2.2) ======== */

#define REF_MAX 512 /* most coordinates, summary numbers or features */

typedef struct ref_coordinate {
    double mean, scale;                          /* z = (x - mean) / scale */
    double t_mean[REF_MAX], t_scale[REF_MAX];    /* the same for t; scale 0: t = 0 */
    double lo, hi, t_lo[REF_MAX], t_hi[REF_MAX]; /* ranges over the kept rows, scaled */
    double left, right;                          /* ends of the spline */
    double lambda, theta[REF_MAX];
    int constant, ties, family; /* family: NPKSD_ESTIMATOR_ in use */
} ref_coordinate;

typedef struct ref_fit {
    npksd_options options;
    size_t m, kept, dim;    /* coordinates; H; dimension of t */
    int summary;            /* as asked for, NONE for m = 1 */
    const npksd_real **raw; /* H kept rows, inside the caller's sets, which must stay */
    ref_coordinate *at;     /* m */
    unsigned flags;         /* NPKSD_FLAG_ */
    double bandwidth;       /* median distance of the kept rows in operator coordinates */
} ref_fit;

/* Rows taken from whole data sets when total rows are wanted: of D = ceil(total/n) sets, which is
   returned, set d gives c = floor((d+1) total/D) - floor(d total/D) rows, floor(j n/c), j < c. */
REF_FN size_t ref_rows(const npksd_real *sets, size_t n, size_t m, size_t total,
                       const npksd_real **rows)
{
    size_t D = (total + n - 1) / n, r = 0;
    for (size_t d = 0; d < D; d++) {
        size_t c = (d + 1) * total / D - d * total / D;
        for (size_t j = 0; j < c; j++)
            rows[r++] = sets + (d * n + j * n / c) * m;
    }
    return D;
}

/* Mean and standard deviation (divided by count), relative to max |x| so that no square overflows.
   All values equal: that value and exactly 0. The values come back sorted. */
REF_FN void ref_mean_sd(double *values, size_t count, double *mean, double *sd)
{
    qsort(values, count, sizeof(double), ref_compare);
    double top = fmax(fabs(values[0]), fabs(values[count - 1])), sum = 0, square = 0;
    *mean = values[0];
    *sd = 0;
    if (values[0] < values[count - 1]) {
        for (size_t r = 0; r < count; r++)
            sum += values[r] / top / (double)count;
        for (size_t r = 0; r < count; r++)
            square += pow(values[r] / top - sum, 2) / (double)count;
        *mean = top * sum;
        *sd = top * sqrt(square);
    }
}

REF_FN double ref_fit_z(const ref_fit *fit, const npksd_real *row, size_t i)
{
    return ref_clamp(((double)row[i] - fit->at[i].mean) / fit->at[i].scale, REF_CLAMP);
}

/* Scale of each coordinate, ties (sorted neighbours equal in more than 5 %), spline ends (H/100
   values cut off each side). A constant coordinate gets 1e-3 of the middle positive deviation
   (none: 1e-6 |value|; 0: the least normal number). */
REF_FN void ref_fit_scale(ref_fit *fit)
{
    size_t H = fit->kept, cut = H / 100, positive = 0;
    double *sds = ref_reals(fit->m), *x = ref_reals(H);
    for (size_t i = 0; i < fit->m; i++) {
        ref_coordinate *at = &fit->at[i];
        size_t equal = 0;
        for (size_t r = 0; r < H; r++)
            x[r] = (double)fit->raw[r][i];
        ref_mean_sd(x, H, &at->mean, &at->scale);
        for (size_t r = 1; r < H; r++)
            equal += x[r] <= x[r - 1];
        at->constant = equal + 1 == H;
        at->ties = !at->constant && (double)equal / (double)H > 0.05;
        fit->flags |= (at->constant ? 1u * NPKSD_FLAG_CONSTANT_COORDINATE : 0u)
            | (at->ties ? 1u * NPKSD_FLAG_TIES : 0u);
        if (at->constant)
            continue;
        sds[positive++] = at->scale;
        at->lo = ref_clamp((x[0] - at->mean) / at->scale, REF_CLAMP);
        at->hi = ref_clamp((x[H - 1] - at->mean) / at->scale, REF_CLAMP);
        at->left = x[cut] < x[H - 1 - cut] ? (x[cut] - at->mean) / at->scale : at->lo;
        at->right = x[cut] < x[H - 1 - cut] ? (x[H - 1 - cut] - at->mean) / at->scale : at->hi;
    }
    qsort(sds, positive, sizeof(double), ref_compare);
    for (size_t i = 0; i < fit->m; i++)
        if (fit->at[i].constant) {
            double scale = positive ? 1e-3 * sds[positive / 2] : 1e-6 * fabs(fit->at[i].mean);
            fit->at[i].scale = scale > 0 ? scale : REF_TINY;
        }
    free(sds);
    free(x);
}

/* t before standardisation: of the scaled row z without coordinate i; a callback sees row itself. */
REF_FN void ref_summary_raw(const ref_fit *fit, const npksd_real *row, const double *z, size_t i,
                            double *t)
{
    npksd_real own[REF_MAX];
    double others = (double)fit->m - 1, mean = 0, var = 0;
    for (size_t k = 0; k < fit->m; k++)
        mean += k == i ? 0 : z[k] / others;
    for (size_t k = 0; k < fit->m; k++)
        var += k == i ? 0 : (z[k] - mean) * (z[k] - mean) / others;
    if (fit->summary == NPKSD_SUMMARY_CALLBACK)
        fit->options.summary_fn(row, fit->m, i, own, fit->options.summary_user_data);
    for (size_t k = 0; k < fit->dim; k++)
        switch (fit->summary) {
        case NPKSD_SUMMARY_ALL: t[k] = z[k < i ? k : k + 1]; break;
        case NPKSD_SUMMARY_NEIGHBOURS:
            t[k] = k == 0 ? (i > 0 ? z[i - 1] : 0) : (i + 1 < fit->m ? z[i + 1] : 0);
            break;
        case NPKSD_SUMMARY_CALLBACK: t[k] = (double)own[k]; break;
        default: t[k] = k == 0 ? mean : var; break; /* MEAN, MEAN_VAR */
        }
}

/* t_k standardised over the kept rows and clamped like z; 0 where it never changed */
REF_FN double ref_fit_t(const ref_coordinate *at, size_t k, double t)
{
    return at->t_scale[k] > 0 ? ref_clamp((t - at->t_mean[k]) / at->t_scale[k], REF_CLAMP) : 0;
}

/* What the features of coordinate i see of a raw row: scaled z and standardised t. */
REF_FN void ref_view(const ref_fit *fit, const npksd_real *row, size_t i, double *z, double *t)
{
    const ref_coordinate *at = &fit->at[i];
    for (size_t k = 0; k < fit->m; k++)
        z[k] = ref_fit_z(fit, row, k);
    ref_summary_raw(fit, row, z, i, t);
    for (size_t k = 0; k < fit->dim; k++)
        t[k] = ref_fit_t(at, k, t[k]);
}

/* Mean, deviation and range of each t of coordinate i over the kept rows. */
REF_FN void ref_fit_summary(ref_fit *fit, size_t i)
{
    ref_coordinate *at = &fit->at[i];
    double z[REF_MAX], t[REF_MAX], *values = ref_reals(fit->kept);
    for (size_t k = 0; k < fit->dim; k++) {
        for (size_t r = 0; r < fit->kept; r++) {
            ref_view(fit, fit->raw[r], i, z, t);
            ref_summary_raw(fit, fit->raw[r], z, i, t);
            values[r] = t[k];
        }
        ref_mean_sd(values, fit->kept, &at->t_mean[k], &at->t_scale[k]);
        at->t_lo[k] = ref_fit_t(at, k, values[0]);
        at->t_hi[k] = ref_fit_t(at, k, values[fit->kept - 1]);
    }
    free(values);
}

/* Normalised Hermite polynomial, h_{k+1} = (x h_k - sqrt(k) h_{k-1}) / sqrt(k+1), and its
   derivative sqrt(k) h_{k-1}; outside [lo, hi] its tangent at the nearer end. */
REF_FN double ref_hermite(size_t degree, double x, double lo, double hi, double *slope)
{
    double edge = ref_clip(x, lo, hi), before = 0, h = 1;
    for (size_t k = 0; k < degree; k++) {
        double next = (edge * h - sqrt((double)k) * before) / sqrt((double)k + 1);
        before = h;
        h = next;
    }
    *slope = sqrt((double)degree) * before;
    return h + *slope * (x - edge);
}

/* De Boor: uniform B-spline number k of a degree, on the knots left + (k-3) step ... */
REF_FN double ref_de_boor(size_t k, size_t degree, double x, double left, double step)
{
    double from = left + ((double)k - 3) * step, to = left + ((double)(k + degree) - 2) * step;
    if (degree == 0)
        return from <= x && x < to ? 1 : 0;
    return (x - from) / ((double)degree * step) * ref_de_boor(k, degree - 1, x, left, step)
        + (to - x) / ((double)degree * step) * ref_de_boor(k + 1, degree - 1, x, left, step);
}

/* Cubic B-spline k of basis, basis - 3 intervals on [left, right], and its slope; linear outside. */
REF_FN double ref_bspline(size_t k, size_t basis, double x, double left, double right,
                          double *slope)
{
    double step = (right - left) / (double)(basis - 3), edge = ref_clip(x, left, right);
    *slope = (ref_de_boor(k, 2, edge, left, step) - ref_de_boor(k + 1, 2, edge, left, step)) / step;
    return ref_de_boor(k, 3, edge, left, step) + *slope * (x - edge);
}

typedef struct ref_phi {
    size_t count; /* those beyond REF_MAX are counted, not stored */
    double value[REF_MAX], slope[REF_MAX];
} ref_phi;

REF_FN void ref_push(ref_phi *phi, double value, double slope)
{
    if (phi->count < REF_MAX) {
        phi->value[phi->count] = value;
        phi->slope[phi->count] = slope;
    }
    phi->count++;
}

/* POLY: h_a(x) h_b(t_1) h_c(t_2), a + b + c <= D. SPLINE: B_a(x) h_b(t_1) h_c(t_2), b + c <= D.
   With t of more than two numbers both are additive: functions of x alone, then t_j and x t_j. */
REF_FN void ref_tensor(const ref_fit *fit, int family, size_t i, double x, const double *t,
                       ref_phi *phi)
{
    const ref_coordinate *at = &fit->at[i];
    int poly = family == NPKSD_ESTIMATOR_POLY;
    size_t d = fit->dim, D = fit->options.degree, K = fit->options.basis;
    D = D ? D : poly ? 3 : 1;
    K = poly ? D + 1 : K ? K : 10;
    for (size_t a = 0; a < K; a++) {
        double f, g, none;
        f = poly ? ref_hermite(a, x, at->lo, at->hi, &g)
                 : ref_bspline(a, K, x, at->left, at->right, &g);
        for (size_t b = 0; b <= (d == 1 || d == 2 ? D : 0); b++)
            for (size_t c = 0; c <= (d == 2 ? D : 0); c++) {
                double q = b ? ref_hermite(b, t[0], at->t_lo[0], at->t_hi[0], &none) : 1;
                q *= c ? ref_hermite(c, t[1], at->t_lo[1], at->t_hi[1], &none) : 1;
                if ((poly ? a : 0) + b + c <= D)
                    ref_push(phi, f * q, g * q);
            }
    }
    for (size_t k = 0; d > 2 && k < d; k++) {
        ref_push(phi, t[k], 0);
        ref_push(phi, x * t[k], t[k]);
    }
}

/* GAUSS: 1, x, t. RBF: the same and bumps exp(-|v-c|^2 / 2h^2) at kept rows floor((2k+1) H / 2K),
   v = (x, t), h^2 = (1+d)/4; with the ALL summary t and v are the coordinates of z, h^2 = m/2. */
REF_FN void ref_linear(const ref_fit *fit, int family, size_t i, double *z, double *t, ref_phi *phi)
{
    size_t m = fit->m, d = fit->dim, K = fit->options.basis ? fit->options.basis : 24;
    int all = family == NPKSD_ESTIMATOR_RBF && fit->summary == NPKSD_SUMMARY_ALL;
    double h2 = all ? (double)m / 2 : (1 + (double)d) / 4, cz[REF_MAX], ct[REF_MAX];
    if (all)
        ref_summary_raw(fit, NULL, z, i, t);
    ref_push(phi, 1, 0);
    ref_push(phi, z[i], 1);
    for (size_t k = 0; k < d; k++)
        ref_push(phi, t[k], 0);
    K = family == NPKSD_ESTIMATOR_GAUSS ? 0 : K < fit->kept ? K : fit->kept;
    for (size_t k = 0; k < K; k++) {
        const npksd_real *centre = fit->raw[(2 * k + 1) * fit->kept / (2 * K)];
        ref_view(fit, centre, i, cz, ct);
        if (all)
            ref_summary_raw(fit, NULL, cz, i, ct);
        double r = pow(z[i] - cz[i], 2);
        for (size_t j = 0; j < d; j++)
            r += pow(t[j] - ct[j], 2);
        ref_push(phi, exp(-r / (2 * h2)), -(z[i] - cz[i]) / h2 * exp(-r / (2 * h2)));
    }
}

/* phi and dphi/dx of coordinate i at one raw row */
REF_FN void ref_phi_at(const ref_fit *fit, int family, size_t i, const npksd_real *row,
                       ref_phi *phi)
{
    double z[REF_MAX], t[REF_MAX];
    ref_view(fit, row, i, z, t);
    phi->count = 0;
    if (family == NPKSD_ESTIMATOR_GAUSS || family == NPKSD_ESTIMATOR_RBF)
        ref_linear(fit, family, i, z, t, phi);
    else
        ref_tensor(fit, family, i, z[i], t, phi);
}

/* Solves M v = last column, M p x (p+1), by elimination with row pivoting; 1 = singular. */
REF_FN int ref_eliminate(double *M, size_t p, double *v)
{
    size_t w = p + 1;
    for (size_t j = 0; j < p; j++) {
        size_t best = j;
        for (size_t r = j + 1; r < p; r++)
            best = fabs(M[r * w + j]) > fabs(M[best * w + j]) ? r : best;
        if (!(fabs(M[best * w + j]) > 0))
            return 1;
        for (size_t k = 0; k < w; k++) {
            double swap = M[j * w + k];
            M[j * w + k] = M[best * w + k];
            M[best * w + k] = swap;
        }
        for (size_t r = j + 1; r < p; r++)
            for (size_t k = w; k-- > j;)
                M[r * w + k] -= M[r * w + j] / M[j * w + j] * M[j * w + k];
    }
    for (size_t j = p; j-- > 0;) {
        v[j] = M[j * w + p];
        for (size_t k = j + 1; k < p; k++)
            v[j] -= M[j * w + k] * v[k];
        v[j] /= M[j * w + j];
    }
    return 0;
}

/* theta = -(A + lambda tr(A)/p I)^-1 c with A = mean phi phi', c = mean dphi/dx over count rows.
   1 = singular, or too many features. */
REF_FN int ref_theta(const ref_fit *fit, int family, size_t i, const npksd_real *const *rows,
                     size_t count, double lambda, double *theta)
{
    ref_phi phi;
    ref_phi_at(fit, family, i, rows[0], &phi);
    size_t p = phi.count, w = p + 1;
    if (p > REF_MAX || (p > NPKSD_FEATURES_MAX && family != NPKSD_ESTIMATOR_GAUSS))
        return 1;
    double *M = ref_reals(p * w), trace = 0;
    for (size_t r = 0; r < count; r++) {
        ref_phi_at(fit, family, i, rows[r], &phi);
        for (size_t j = 0; j < p; j++) {
            M[j * w + p] -= phi.slope[j] / (double)count;
            for (size_t k = 0; k < p; k++)
                M[j * w + k] += phi.value[j] * phi.value[k] / (double)count;
        }
    }
    for (size_t j = 0; j < p; j++)
        trace += M[j * w + j];
    for (size_t j = 0; j < p; j++)
        M[j * w + j] += lambda * trace / (double)p;
    int bad = ref_eliminate(M, p, theta);
    free(M);
    return bad;
}

/* s = theta'phi at one raw row, in scaled units, and ds/dx */
REF_FN double ref_score(const ref_fit *fit, int family, size_t i, const npksd_real *row,
                        const double *theta, double *slope)
{
    ref_phi phi;
    double s = *slope = 0;
    ref_phi_at(fit, family, i, row, &phi);
    for (size_t k = 0; k < phi.count; k++) {
        s += theta[k] * phi.value[k];
        *slope += theta[k] * phi.slope[k];
    }
    return s;
}

/* AUTO: GAUSS, SPLINE, and POLY for a summary of one or two numbers, or RBF for the ALL summary with
   m > 3 (GAUSS alone where values repeat),
   each with its best lambda by J = mean[ s^2/2 + ds/dx ] on the held-out rows; a later family must
   lower J by 2 % of |J|. One with too many features is passed over. */
REF_FN void ref_choose(ref_fit *fit, size_t i, const npksd_real *const *rows, size_t N,
                       const npksd_real *const *held_rows, size_t held)
{
    int curved = fit->dim == 1 || fit->dim == 2;
    const int list[3] = { NPKSD_ESTIMATOR_GAUSS, NPKSD_ESTIMATOR_SPLINE,
                          curved ? NPKSD_ESTIMATOR_POLY : NPKSD_ESTIMATOR_RBF };
    static const double ladder[3] = { 1e-6, 1e-4, 1e-2 };
    double best = 0, ridge = (double)fit->options.ridge, slope, theta[REF_MAX];
    int third = curved || (fit->summary == NPKSD_SUMMARY_ALL && fit->m > 3);
    size_t families = fit->at[i].ties ? 1 : third ? 3 : 2;
    for (size_t f = 0; f < families; f++) {
        double lowest = DBL_MAX, lambda = 0;
        for (size_t l = 0; l < (ridge > 0 ? 1u : 3u); l++) {
            double J = 0, own = ridge > 0 ? ridge : ladder[l];
            if (ref_theta(fit, list[f], i, rows, N, own, theta))
                continue;
            for (size_t r = 0; r < held; r++) {
                double s = ref_score(fit, list[f], i, held_rows[r], theta, &slope);
                J += (s * s / 2 + slope) / (double)held;
            }
            lambda = J < lowest ? own : lambda;
            lowest = J < lowest ? J : lowest;
        }
        if (f == 0 || lowest < best - 0.02 * fabs(best)) {
            best = lowest;
            fit->at[i].family = list[f];
            fit->at[i].lambda = lambda;
        }
    }
}

/* d log q / dx_i at rows, in the units of the rows: s / scale; a constant coordinate has s = -z. */
REF_FN void ref_fit_scores(const ref_fit *fit, const npksd_real *rows, size_t count, double *scores)
{
    double slope;
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < fit->m; i++) {
            const ref_coordinate *at = &fit->at[i];
            const npksd_real *row = rows + r * fit->m;
            double s = at->constant ? -ref_fit_z(fit, row, i)
                                    : ref_score(fit, at->family, i, row, at->theta, &slope);
            scores[r * fit->m + i] = s / at->scale;
        }
}

/* The operator's coordinates X of rows: z, or with standardize = 0 z * scale; constant coordinates
   stay scaled. S (may be NULL): the scores that belong to them. */
REF_FN void ref_fit_operator(const ref_fit *fit, const npksd_real *rows, size_t count,
                             npksd_real *X, npksd_real *S)
{
    double *scores = ref_reals(count * fit->m);
    if (S)
        ref_fit_scores(fit, rows, count, scores);
    for (size_t r = 0; r < count * fit->m; r++) {
        size_t i = r % fit->m;
        int scaled = fit->options.standardize || fit->at[i].constant;
        double z = ref_fit_z(fit, rows + (r - i), i), scale = fit->at[i].scale;
        X[r] = (npksd_real)(scaled ? z : ref_clamp(z * scale, REF_CLAMP_OPERATOR));
        if (S)
            S[r] = (npksd_real)(scaled ? scores[r] * scale : scores[r]);
    }
    free(scores);
}

REF_FN void ref_fit_free(ref_fit *fit)
{
    free((void *)fit->raw);
    free(fit->at);
}

/* Median distance of the kept rows in operator coordinates. */
REF_FN double ref_fit_bandwidth(const ref_fit *fit)
{
    npksd_real *X = (npksd_real *)ref_reals(fit->kept * fit->m);
    for (size_t r = 0; r < fit->kept; r++)
        ref_fit_operator(fit, fit->raw[r], 1, X + r * fit->m, NULL);
    double median = ref_median_distance(X, fit->kept, fit->m);
    free(X);
    return median;
}

/* Fits every coordinate to the recorded generator calls: sets holds whole data sets of n rows in
   the order of the calls, the fit's first, then (AUTO) the held-out ones, which join the last
   solution. 0 = fine; noise (smooth) and explicit scores are not covered. Give back with
   ref_fit_free in any case. */
REF_FN int ref_fit_make(ref_fit *fit, const npksd_real *sets, size_t n, size_t m,
                        const npksd_options *options)
{
    static const size_t dims[6] = { 1, 0, 0, 2, 2, 0 }; /* by NPKSD_SUMMARY_ */
    int wanted = options->estimator, bad = 0;
    size_t N = options->fit_rows, held = wanted == NPKSD_ESTIMATOR_AUTO ? (N < 4 ? 1 : N / 4) : 0;
    size_t limit = 4000000 / m > 2 ? 4000000 / m : 2;
    memset(fit, 0, sizeof *fit);
    fit->options = *options;
    fit->m = m;
    fit->kept = N < 1000 ? N : 1000;
    fit->kept = fit->kept < limit ? fit->kept : limit;
    fit->summary = m == 1 ? NPKSD_SUMMARY_NONE : options->summary;
    fit->dim = fit->summary == NPKSD_SUMMARY_ALL ? m - 1
        : fit->summary == NPKSD_SUMMARY_CALLBACK ? options->summary_dim
                                                 : dims[fit->summary];
    if (m > REF_MAX || fit->dim > REF_MAX || options->smooth > 0
        || wanted == NPKSD_ESTIMATOR_CALLBACK)
        return 1;
    const npksd_real **rows = (const npksd_real **)calloc(N + held, sizeof *rows);
    fit->raw = rows;
    fit->at = (ref_coordinate *)calloc(m, sizeof *fit->at);
    if (!rows || !fit->at)
        abort();
    size_t first = ref_rows(sets, n, m, N, rows);
    ref_rows(sets + first * n * m, n, m, held, rows + N);
    ref_fit_scale(fit);
    fit->bandwidth = ref_fit_bandwidth(fit);
    for (size_t i = 0; i < m; i++) {
        ref_coordinate *at = &fit->at[i];
        double usual = wanted == NPKSD_ESTIMATOR_GAUSS ? 1e-8 : 1e-4;
        ref_fit_summary(fit, i);
        at->family = wanted;
        at->lambda = options->ridge > 0 ? (double)options->ridge : usual;
        if (wanted == NPKSD_ESTIMATOR_AUTO && !at->constant)
            ref_choose(fit, i, rows, N, rows + N, held);
        if (!at->constant)
            bad |= ref_theta(fit, at->family, i, rows, N + held, at->lambda, at->theta);
    }
    return bad;
}

#endif /* NPKSD_REF_H */
