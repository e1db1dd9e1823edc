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
#define REF_EPSILON        ((double)FLT_EPSILON)
#define REF_LEAST_SD       1e-3 /* of a number, relative to its mean */
#define REF_LEAST_SKEW     0.05 /* a smaller skewness is none */
#define REF_TIE            1e-3 /* closer values of T are equal */
#define REF_CLOSEST        0.03 /* least deviation of a correlation */
#define REF_CHANGED        5e-4 /* in units of its deviation; a quarter is rounding */
#else
#define REF_CLAMP          1e6
#define REF_CLAMP_OPERATOR 1e140
#define REF_TINY           DBL_MIN
#define REF_EPSILON        DBL_EPSILON
#define REF_LEAST_SD       1e-6
#define REF_LEAST_SKEW     0.01
#define REF_TIE            1e-8
#define REF_CLOSEST        1e-3
#define REF_CHANGED        1e-7
#endif
#define REF_ROUNDING (4 * REF_EPSILON / REF_TIE) /* of sums over rows, beside a tie */

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
REF_FN double ref_stein_share(const ref_data *data, const double h[3], size_t a, size_t b, size_t i)
{
    double w = ref_w(data, i), sx = ref_s(data, a, i), sy = ref_s(data, b, i);
    double d = ref_x(data, a, i) - ref_x(data, b, i);
    return w * w * (sx * sy * h[0] - 2 * d * h[1] * (sx - sy) - 2 * h[1] - 4 * d * d * h[2]);
}

/* u(z_a, z_b). VECTOR: the sum of the shares. SCALAR, with S = sum w_i s_i and D = sum w_i d_i:
   S(x) S(y) h - 2 D h' (S(x) - S(y)) - 2 h' sum w_i^2 - 4 D^2 h'' */
REF_FN double ref_stein_pair(const ref_data *data, size_t a, size_t b)
{
    size_t m = data->m;
    double h[3], u = 0, sx = 0, sy = 0, d = 0, w2 = 0;
    ref_kernel(data->kernel, data->rows + a * m, data->rows + b * m, m, data->sigma2, h);
    for (size_t i = 0; i < m; i++) {
        double w = ref_w(data, i);
        u += ref_stein_share(data, h, a, b, i);
        sx += w * ref_s(data, a, i);
        sy += w * ref_s(data, b, i);
        d += w * (ref_x(data, a, i) - ref_x(data, b, i));
        w2 += w * w;
    }
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

/* ======== MMD: characteristic functions at 128 frequencies (DESIGN 2.6) ======== */

enum { REF_RING = 16, REF_WAVES = 128 };

/* Frequency f of a band: the sum (or difference) of vector l of the ring and its next, second,
   third or fourth neighbour; twice that in the second band. ring: REF_RING x m */
REF_FN void ref_wave(const double *ring, size_t m, size_t f, int band, double *omega)
{
    size_t l = f % REF_RING, other = (l + 1 + f / (2 * REF_RING)) % REF_RING;
    double sign = f / REF_RING % 2 ? -1 : 1;
    for (size_t k = 0; k < m; k++)
        omega[k] = (1 + band) * (ring[l * m + k] + sign * ring[other * m + k]);
}

/* mean over the rows of exp(j omega.x / sigma): re and im, REF_WAVES of each band */
REF_FN void ref_characteristic(const npksd_real *rows, size_t count, size_t m, double sigma,
                               const double *ring, double *re, double *im)
{
    double *omega = ref_reals(m);
    for (size_t f = 0; f < 2 * REF_WAVES; f++) {
        ref_wave(ring, m, f % REF_WAVES, f >= REF_WAVES, omega);
        re[f] = im[f] = 0;
        for (size_t a = 0; a < count; a++) {
            double angle = 0;
            for (size_t k = 0; k < m; k++)
                angle += omega[k] * (double)rows[a * m + k] / sigma;
            re[f] += cos(angle) / (double)count;
            im[f] += sin(angle) / (double)count;
        }
    }
    free(omega);
}

/* mean over the frequencies of a band of d^2, d = |difference of the characteristic functions|^2 */
REF_FN double ref_mmd(const double *re, const double *im, const double *re0, const double *im0,
                      int band)
{
    double sum = 0;
    for (size_t f = (size_t)band * REF_WAVES; f < (size_t)(band + 1) * REF_WAVES; f++)
        sum += pow(hypot(re[f] - re0[f], im[f] - im0[f]), 4);
    return sum / REF_WAVES;
}

/* ======== MARGIN and PAIR: places among the edges of the fit sample (DESIGN 2.6) ======== */

enum { REF_EDGES = 128 };

/* e_k = value floor((k + 1/2) H / 128) of the H kept values of a column, which come back sorted */
REF_FN void ref_edges(double *kept, size_t H, double *edges)
{
    qsort(kept, H, sizeof(double), ref_compare);
    for (size_t k = 0; k < REF_EDGES; k++)
        edges[k] = kept[(size_t)(((double)k + 0.5) * (double)H / REF_EDGES)];
}

/* share of the rows with x < e, or x <= e, in column i */
REF_FN double ref_part(const npksd_real *rows, size_t count, size_t m, size_t i, double e,
                       int or_equal)
{
    size_t found = 0;
    for (size_t a = 0; a < count; a++)
        found += (double)rows[a * m + i] < e || (or_equal && !((double)rows[a * m + i] > e));
    return (double)found / (double)count;
}

/* Phi^-1(p) by halving an interval: Phi(x) = erfc(-x / sqrt 2) / 2 */
REF_FN double ref_normal_quantile(double p)
{
    double low = -40, high = 40;
    for (int step = 0; step < 200; step++) {
        double x = (low + high) / 2;
        *(erfc(-x / sqrt(2.0)) / 2 < p ? &low : &high) = x;
    }
    return (low + high) / 2;
}

/* q = Phi^-1(((edges < x) + (edges <= x) + 1) / 258) */
REF_FN double ref_normal_score(const double *edges, double x)
{
    static double known[2 * REF_EDGES + 1]; /* 0: not yet worked out (or the median, which is 0) */
    size_t code = 0;
    for (size_t k = 0; k < REF_EDGES; k++)
        code += (size_t)(edges[k] < x) + (size_t)(edges[k] <= x);
    if (!(fabs(known[code]) > 0) && code != REF_EDGES)
        known[code] = ref_normal_quantile(((double)code + 1) / 258);
    return known[code];
}

/* One column of the reference: edges, P(x < e) and P(x <= e) there, mean of squared normal
   scores */
typedef struct ref_margin {
    double edges[REF_EDGES], under[REF_EDGES], upto[REF_EDGES], square, tail;
} ref_margin;

/* What a data set shows in that column. */
typedef struct ref_shown {
    double anderson; /* (n/128) sum (F_n - F)^2 / (F (1 - F)) */
    double distance; /* largest of |P_n(x < e) - P(x < e)| and |P_n(x <= e) - P(x <= e)| */
    double spread;   /* mean q^2 - the reference's */
    double tail;     /* mean (q^4 - 6 q^2) - the reference's */
    double cells;    /* (x - mean) / sd, x = sum (o - e)^2 / (e + 1/2) over cells */
} ref_shown;

/* mean of q^power */
REF_FN double ref_score_moment(const double *edges, const npksd_real *rows, size_t count, size_t m,
                               size_t i, int power)
{
    double sum = 0;
    for (size_t a = 0; a < count; a++)
        sum += pow(ref_normal_score(edges, (double)rows[a * m + i]), power) / (double)count;
    return sum;
}

/* kept: column i of H rows; rows: all R reference rows */
REF_FN ref_margin ref_margin_of(const npksd_real *kept, size_t H, const npksd_real *rows, size_t R,
                                size_t m, size_t i)
{
    ref_margin margin;
    double *values = ref_reals(H);
    for (size_t a = 0; a < H; a++)
        values[a] = (double)kept[a * m + i];
    ref_edges(values, H, margin.edges);
    for (size_t k = 0; k < REF_EDGES; k++) {
        margin.under[k] = ref_part(rows, R, m, i, margin.edges[k], 0);
        margin.upto[k] = ref_part(rows, R, m, i, margin.edges[k], 1);
    }
    margin.square = ref_score_moment(margin.edges, rows, R, m, i, 2);
    margin.tail = ref_score_moment(margin.edges, rows, R, m, i, 4) - 6 * margin.square;
    free(values);
    return margin;
}

/* Open intervals between every fourth edge, and these edges: o of n rows where e = n p are expected. */
REF_FN double ref_cells(const ref_margin *margin, const npksd_real *rows, size_t n, size_t m,
                        size_t i)
{
    double x = 0, mean = 0, variance = 0, before = 0, expected_before = 0;
    for (size_t k = 4; k <= REF_EDGES; k += 4)
        for (int side = 0; side < 2; side++) {
            int last = k == REF_EDGES;
            if ((last && side) || (!last && k > 4 && !(margin->edges[k] > margin->edges[k - 4])))
                continue;
            double upto = last ? 1 : ref_part(rows, n, m, i, margin->edges[k], side);
            double expected = last ? 1 : side ? margin->upto[k] : margin->under[k];
            double p = expected - expected_before, e = (double)n * p, d = e + 0.5;
            x += pow((double)n * (upto - before) - e, 2) / d;
            mean += e * (1 - p) / d;
            variance += 2 * pow(e * (1 - p) / d, 2);
            before = upto;
            expected_before = expected;
        }
    return (x - mean) / sqrt(variance + 0.01);
}

/* F(e) = (below + equal/2 + 1/2) / (R + 1) over the R reference rows,
   F_n(e) = (below + equal/2) / n over the data set */
REF_FN ref_shown ref_margin_shows(const ref_margin *margin, size_t R, const npksd_real *rows,
                                  size_t n, size_t m, size_t i)
{
    ref_shown shown = { 0, 0, 0, 0, 0 };
    double square = ref_score_moment(margin->edges, rows, n, m, i, 2);
    for (size_t k = 0; k < REF_EDGES; k++) {
        double under = ref_part(rows, n, m, i, margin->edges[k], 0);
        double upto = ref_part(rows, n, m, i, margin->edges[k], 1), r = (double)R;
        double F = (r * (margin->under[k] + margin->upto[k]) / 2 + 0.5) / (r + 1);
        shown.anderson += (double)n / REF_EDGES * pow((under + upto) / 2 - F, 2) / (F * (1 - F));
        shown.distance = fmax(shown.distance, fabs(under - margin->under[k]));
        shown.distance = fmax(shown.distance, fabs(upto - margin->upto[k]));
    }
    shown.spread = square - margin->square;
    shown.tail =
        ref_score_moment(margin->edges, rows, n, m, i, 4) - 6 * square - margin->tail;
    shown.cells = ref_cells(margin, rows, n, m, i);
    return shown;
}

/* q of every number, column by column: out is m x count */
REF_FN void ref_normal_scores(const ref_margin *margins, const npksd_real *rows, size_t count,
                              size_t m, double *out)
{
    for (size_t i = 0; i < m; i++)
        for (size_t a = 0; a < count; a++)
            out[i * count + a] = ref_normal_score(margins[i].edges, (double)rows[a * m + i]);
}

/* correlation, 0 where one of the columns does not vary */
REF_FN double ref_correlation(const double *x, const double *y, size_t count)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    int x_varies = 0, y_varies = 0;
    for (size_t a = 0; a < count; a++) {
        mx += x[a] / (double)count;
        my += y[a] / (double)count;
        x_varies |= x[a] < x[0] || x[a] > x[0];
        y_varies |= y[a] < y[0] || y[a] > y[0];
    }
    for (size_t a = 0; a < count; a++) {
        xx += (x[a] - mx) * (x[a] - mx);
        yy += (y[a] - my) * (y[a] - my);
        xy += (x[a] - mx) * (y[a] - my);
    }
    return x_varies && y_varies ? xy / sqrt(xx * yy) : 0;
}

/* ======== one number from several (DESIGN 2.6) ======== */

typedef struct ref_gauge {
    double mean, sd, skew;
} ref_gauge;

/* Of every stride-th of count values. A deviation below 1e-6 |mean| (float 1e-3) is raised to
   it, and the skewness m3 / m2^1.5 is then 0; at most 2.8. */
REF_FN ref_gauge ref_gauge_of(const double *values, size_t count, size_t stride, double least)
{
    ref_gauge gauge = { 0, 0, 0 };
    double m2 = 0, m3 = 0, n = (double)count;
    for (size_t r = 0; r < count; r++)
        gauge.mean += values[r * stride] / n;
    for (size_t r = 0; r < count; r++) {
        m2 += pow(values[r * stride] - gauge.mean, 2) / n;
        m3 += pow(values[r * stride] - gauge.mean, 3) / n;
    }
    double floor = fmax(REF_LEAST_SD * fabs(gauge.mean), least);
    gauge.sd = sqrt(m2 * n / (n - 1));
    if (gauge.sd > floor)
        gauge.skew = ref_clamp(m3 / pow(m2, 1.5), 2.8);
    gauge.sd = fmax(gauge.sd, floor);
    return gauge;
}

/* (z + h(z, g)) / 2, h = (6/g) ((1 + z g/2)^(1/3) - 1 + g^2/36) of Wilson and Hilferty */
REF_FN double ref_comparable(const ref_gauge *gauge, double value)
{
    double z = ref_clamp((value - gauge->mean) / gauge->sd, REF_CLAMP), g = gauge->skew;
    if (fabs(g) < REF_LEAST_SKEW)
        return z;
    return (z + 6 / g * (pow(fmax(1 + z * g / 2, 1e-6), 1.0 / 3) - 1 + g * g / 36)) / 2;
}

/* ======== diagnosis (DESIGN 2.7) and bandwidth ======== */

/* v_i = (1/n^2) sum_{a,b} share of coordinate i in u(z_a, z_b), VECTOR form: their sum is V */
REF_FN void ref_coordinates(const ref_data *data, double *v)
{
    size_t m = data->m;
    double h[3];
    for (size_t i = 0; i < data->m; i++) {
        v[i] = 0;
        for (size_t a = 0; a < data->n; a++)
            for (size_t b = 0; b < data->n; b++) {
                ref_kernel(data->kernel, data->rows + a * m, data->rows + b * m, m, data->sigma2,
                           h);
                v[i] += ref_stein_share(data, h, a, b, i) / ((double)data->n * (double)data->n);
            }
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

REF_FN double ref_distance(const npksd_real *x, const npksd_real *y, size_t m)
{
    double sum = 0;
    for (size_t i = 0; i < m; i++)
        sum += pow((double)x[i] - (double)y[i], 2);
    return sqrt(sum);
}

/* Median (even count: mean of the middle two) of distances; 0: their mean; 0 again: 1. */
REF_FN double ref_median(double *d, size_t count)
{
    double mean = 0, median;
    if (count == 0)
        return 1;
    qsort(d, count, sizeof(double), ref_compare);
    for (size_t k = 0; k < count; k++)
        mean += d[k] / (double)count;
    median = (d[(count - 1) / 2] + d[count / 2]) / 2;
    return median > 0 ? median : mean > 0 ? mean : 1;
}

/* Over all pairs. */
REF_FN double ref_median_all(const npksd_real *rows, size_t count, size_t m)
{
    size_t pairs = count * (count - 1) / 2, p = 0;
    double *d = ref_reals(pairs), median;
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < a; b++)
            d[p++] = ref_distance(rows + a * m, rows + b * m, m);
    median = ref_median(d, pairs);
    free(d);
    return median;
}

/* Each of used rows, spread evenly over count, with the rows round(k used / 17) places behind it
   (at least k), in a circle; k = 1 to 8, or to half of the rows if they are fewer than 16. */
REF_FN double ref_median_spread(const npksd_real *rows, size_t count, size_t used, size_t m)
{
    size_t shifts = used < 16 ? used / 2 : 8, p = 0;
    double *d = ref_reals(8 * used), median;
    for (size_t k = 1; k <= shifts; k++)
        for (size_t a = 0; a < used; a++) {
            size_t shift = (size_t)fmax((double)k, floor((double)(k * used) / 17 + 0.5));
            size_t b = (a + shift) % used;
            d[p++] = ref_distance(rows + a * count / used * m, rows + b * count / used * m, m);
        }
    median = ref_median(d, p);
    free(d);
    return median;
}

/* npksd_median_distance: all pairs of up to 512 rows, 8 pairs of each of at most 16384 rows
   beyond. */
REF_FN double ref_median_distance(const npksd_real *rows, size_t count, size_t m)
{
    return count <= 512 ? ref_median_all(rows, count, m)
                        : ref_median_spread(rows, count, count < 16384 ? count : 16384, m);
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

/* Null values count as reaching the statistic if they do so when raised by tol: 1e-8 (float
   1e-3) max(1, |T|) for a standardised T, 1e-9 (float 1e-4) max(|tau|, median |null|) for a
   single number. b = 0 (stop_after): |tau| alone. */
REF_FN double ref_tolerance(double statistic, const npksd_real *null_values, size_t b, int single)
{
    double *size = ref_reals(b), tol = REF_TIE * fmax(1, fabs(statistic));
    for (size_t j = 0; j < b; j++)
        size[j] = fabs((double)null_values[j]);
    qsort(size, b, sizeof(double), ref_compare);
    if (single)
        tol = REF_TIE / 10 * fmax(fabs(statistic), b ? (size[(b - 1) / 2] + size[b / 2]) / 2 : 0);
    free(size);
    return tol;
}

REF_FN void ref_raise(npksd_real *null_values, size_t b, double tol)
{
    for (size_t j = 0; j < b; j++)
        null_values[j] += (npksd_real)tol;
}

/* p = (1 + #{ null_j >= statistic }) / (b + 1), null values raised */
REF_FN npksd_real ref_p_value(npksd_real statistic, const npksd_real *null_values, size_t b)
{
    size_t above = 0;
    for (size_t j = 0; j < b; j++)
        above += null_values[j] >= statistic;
    return ref_share(above + 1, b);
}

/* The k-th largest (raised) null value, k the largest integer with k / (b+1) <= alpha. k = 0:
   nothing can be rejected, DBL_MAX. */
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
    size_t n, m, dim;          /* rows of a data set; coordinates; dimension of t */
    int summary;               /* as asked for, NONE for m = 1 */
    size_t kept;               /* H */
    size_t rows, held, others; /* fitted to; held out; for references only */
    npksd_real *keep, *stream; /* H x m; (rows + held + others) x m, in this order */
    ref_coordinate *at;        /* m */
    unsigned flags;            /* NPKSD_FLAG_ */
    double bandwidth;          /* median distance of the kept rows in operator coordinates */
} ref_fit;

/* How many data sets the fit draws, and what it takes from them (DESIGN 2.1). */
typedef struct ref_plan {
    size_t kept, keep_sets; /* H, and the data sets that they come from */
    size_t sets;            /* data sets in all, whose rows are counted through: */
    size_t rows;            /* the first ones are fitted to, */
    size_t from, held;      /* so many from there on are held out */
    int refers;             /* there is a reference, which takes all rows */
} ref_plan;

REF_FN size_t ref_ceil(size_t a, size_t b) { return (a + b - 1) / b; }
REF_FN size_t ref_least(size_t a, size_t b) { return a < b ? a : b; }
REF_FN size_t ref_most(size_t a, size_t b) { return a > b ? a : b; }

REF_FN int ref_has(const npksd_options *options, unsigned components)
{
    return (options->components & components) != 0;
}

/* Are margins and pairs looked at? For the components, or for a diagnosis. */
REF_FN int ref_has_margins(const npksd_options *options)
{
    return (ref_has(options, NPKSD_COMPONENT_MARGIN | NPKSD_COMPONENT_PAIR) || options->diagnose)
        && options->calibration != NPKSD_CALIBRATE_WILD_BOOTSTRAP;
}

/* all: rows of a pool; 0: there is a generator. */
REF_FN ref_plan ref_plan_of(const npksd_options *options, size_t n, size_t m, size_t all)
{
    ref_plan plan;
    int automatic = options->estimator == NPKSD_ESTIMATOR_AUTO;
    plan.rows = all ? ref_least(options->fit_rows, all) : options->fit_rows;
    plan.kept = ref_least(ref_least(plan.rows, 1000), ref_most(2, 4000000 / m));
    plan.keep_sets = ref_ceil(plan.kept, n);
    plan.refers = ref_has_margins(options) || ref_has(options, NPKSD_COMPONENT_MMD);
    if (all && automatic)
        plan.rows = ref_least(plan.rows, all - ref_most(1, all / 5));
    plan.from = all ? plan.rows : ref_ceil(plan.rows, n) * n;
    plan.held = automatic ? ref_most(1, plan.rows / 4) : 0;
    plan.sets = ref_ceil(plan.from + plan.held, n);
    if (plan.refers)
        plan.sets = ref_most(plan.sets, ref_most(2, ref_ceil(ref_least(10 * n, 200000), n)));
    else if (options->estimator == NPKSD_ESTIMATOR_CALLBACK) /* only the scale is wanted */
        plan.sets = plan.keep_sets;
    if (all)
        plan.sets = ref_least(plan.sets, ref_ceil(all, n));
    return plan;
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

/* Scale of each coordinate of the kept rows. A constant coordinate gets 1e-6 |value|, float 1e-3 (without scaling
   1e-3 of the middle positive deviation, if there is one; 0: the least normal number). */
REF_FN void ref_fit_scale(ref_fit *fit)
{
    size_t H = fit->kept, positive = 0;
    double *sds = ref_reals(fit->m), *x = ref_reals(H);
    for (size_t i = 0; i < fit->m; i++) {
        ref_coordinate *at = &fit->at[i];
        for (size_t r = 0; r < H; r++)
            x[r] = (double)fit->keep[r * fit->m + i];
        ref_mean_sd(x, H, &at->mean, &at->scale);
        at->constant = !(x[0] < x[H - 1]);
        fit->flags |= at->constant ? 1u * NPKSD_FLAG_CONSTANT_COORDINATE : 0u;
        if (!at->constant)
            sds[positive++] = at->scale;
    }
    qsort(sds, positive, sizeof(double), ref_compare);
    for (size_t i = 0; i < fit->m; i++)
        if (fit->at[i].constant) {
            int one_unit = !fit->options.standardize && positive > 0;
            double scale = one_unit ? 1e-3 * sds[positive / 2]
                                    : (positive ? REF_LEAST_SD : 1e-6) * fabs(fit->at[i].mean);
            fit->at[i].scale = scale > 0 ? scale : REF_TINY;
        }
    free(sds);
    free(x);
}

/* Range, ties (sorted neighbours equal in more than 5 %) and ends of the spline (H/100 values
   cut off each side) of the kept rows, with their noise. */
REF_FN void ref_fit_range(ref_fit *fit)
{
    size_t H = fit->kept, cut = H / 100;
    double *z = ref_reals(H);
    for (size_t i = 0; i < fit->m; i++) {
        ref_coordinate *at = &fit->at[i];
        size_t equal = 0;
        for (size_t r = 0; r < H; r++)
            z[r] = ref_fit_z(fit, fit->keep + r * fit->m, i);
        qsort(z, H, sizeof(double), ref_compare);
        for (size_t r = 1; r < H; r++)
            equal += z[r] <= z[r - 1];
        at->ties = !at->constant && (double)equal / (double)H > 0.05;
        fit->flags |= at->ties ? 1u * NPKSD_FLAG_TIES : 0u;
        at->lo = z[0];
        at->hi = z[H - 1];
        at->left = z[cut] < z[H - 1 - cut] ? z[cut] : z[0];
        at->right = z[cut] < z[H - 1 - cut] ? z[H - 1 - cut] : z[H - 1];
    }
    free(z);
}

/* t before standardisation: of the scaled row z without coordinate i; a callback sees row
   itself. */
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

/* Mean, deviation and range of each t of coordinate i over the kept rows; ALL: z as it is. */
REF_FN void ref_fit_summary(ref_fit *fit, size_t i)
{
    ref_coordinate *at = &fit->at[i];
    double z[REF_MAX], t[REF_MAX], *values = ref_reals(fit->kept);
    for (size_t k = 0; k < fit->dim; k++) {
        const ref_coordinate *other = &fit->at[k < i ? k : k + 1];
        if (fit->summary == NPKSD_SUMMARY_ALL) {
            at->t_mean[k] = 0;
            at->t_scale[k] = 1;
            at->t_lo[k] = other->lo;
            at->t_hi[k] = other->hi;
            continue;
        }
        for (size_t r = 0; r < fit->kept; r++) {
            ref_view(fit, fit->keep + r * fit->m, i, z, t);
            ref_summary_raw(fit, fit->keep + r * fit->m, z, i, t);
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

/* Cubic B-spline k of basis, basis - 3 intervals on [left, right], and its slope; linear
   outside. */
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
        const npksd_real *centre = fit->keep + (2 * k + 1) * fit->kept / (2 * K) * m;
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

/* theta = -(A + lambda tr(A)/p I)^-1 c, A = mean phi phi', c = mean dphi/dx over the first count
   rows. 1 = singular, or too many features. */
REF_FN int ref_theta(const ref_fit *fit, int family, size_t i, size_t count, double lambda,
                     double *theta)
{
    ref_phi phi;
    ref_phi_at(fit, family, i, fit->stream, &phi);
    size_t p = phi.count, w = p + 1;
    if (p > REF_MAX || (p > NPKSD_FEATURES_MAX && family != NPKSD_ESTIMATOR_GAUSS))
        return 1;
    double *M = ref_reals(p * w), trace = 0;
    for (size_t r = 0; r < count; r++) {
        ref_phi_at(fit, family, i, fit->stream + r * fit->m, &phi);
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

/* AUTO: GAUSS, SPLINE, and POLY for a summary of one or two numbers, or RBF for the ALL summary
   with m > 3 (GAUSS alone where values repeat), each with its best lambda by J = mean[ s^2/2 +
   ds/dx ] on the held-out rows; a later family must lower J by 2 % of |J|. One with too many
   features is passed over. */
REF_FN void ref_choose(ref_fit *fit, size_t i)
{
    int curved = fit->dim == 1 || fit->dim == 2;
    const int list[3] = { NPKSD_ESTIMATOR_GAUSS, NPKSD_ESTIMATOR_SPLINE,
                          curved ? NPKSD_ESTIMATOR_POLY : NPKSD_ESTIMATOR_RBF };
    static const double ladder[3] = { 1e-6, 1e-4, 1e-2 };
    double best = 0, ridge = (double)fit->options.ridge, slope, theta[REF_MAX];
    int third = curved || (fit->summary == NPKSD_SUMMARY_ALL && fit->m > 3);
    size_t families = fit->at[i].ties && !(fit->options.smooth > 0) ? 1 : third ? 3 : 2;
    for (size_t f = 0; f < families; f++) {
        double lowest = DBL_MAX, lambda = 0;
        for (size_t l = 0; l < (ridge > 0 ? 1u : 3u); l++) {
            double J = 0, own = ridge > 0 ? ridge : ladder[l];
            if (ref_theta(fit, list[f], i, fit->rows, own, theta))
                continue;
            for (size_t r = 0; r < fit->held; r++) {
                const npksd_real *row = fit->stream + (fit->rows + r) * fit->m;
                double s = ref_score(fit, list[f], i, row, theta, &slope);
                J += (s * s / 2 + slope) / (double)fit->held;
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

/* The operator's coordinates X of rows: z, or with standardize = 0 z * scale. S (may be NULL): the
   scores that belong to them. */
REF_FN void ref_fit_operator(const ref_fit *fit, const npksd_real *rows, size_t count,
                             npksd_real *X, npksd_real *S)
{
    double *scores = ref_reals(count * fit->m);
    if (S)
        ref_fit_scores(fit, rows, count, scores);
    for (size_t r = 0; r < count * fit->m; r++) {
        size_t i = r % fit->m;
        int scaled = fit->options.standardize;
        double z = ref_fit_z(fit, rows + (r - i), i), scale = fit->at[i].scale;
        X[r] = (npksd_real)(scaled ? z : ref_clamp(z * scale, REF_CLAMP_OPERATOR));
        if (S)
            S[r] = (npksd_real)(scaled ? scores[r] * scale : scores[r]);
    }
    free(scores);
}

REF_FN void ref_fit_free(ref_fit *fit)
{
    free(fit->keep);
    free(fit->stream);
    free(fit->at);
}

/* Median distance of the kept rows in operator coordinates. */
REF_FN double ref_fit_bandwidth(const ref_fit *fit)
{
    npksd_real *X = (npksd_real *)ref_reals(fit->kept * fit->m);
    ref_fit_operator(fit, fit->keep, fit->kept, X, NULL);
    double median = ref_median_spread(X, fit->kept, fit->kept, fit->m);
    free(X);
    return median;
}

/* smooth > 0: x += smooth * scale * N(0,1), for column i of some rows, or row by row for all */
REF_FN void ref_column_noise(const ref_fit *fit, npksd_rng *rng, npksd_real *rows, size_t count,
                             size_t i)
{
    for (size_t r = 0; r < count && fit->options.smooth > 0; r++)
        rows[r * fit->m + i] += (npksd_real)((double)fit->options.smooth * fit->at[i].scale
                                             * (double)npksd_normal(rng));
}

REF_FN void ref_noise(const ref_fit *fit, npksd_rng *rng, npksd_real *rows, size_t count)
{
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < fit->m; i++)
            ref_column_noise(fit, rng, rows + r * fit->m, 1, i);
}

/* The streams of the random numbers: purpose << 56, plus the number of a data set or panel. */
typedef enum ref_purpose {
    REF_REPLICATE,
    REF_FIT,
    REF_PILOT,
    REF_OBSERVED,
    REF_INDEX_SET,
    REF_FREQUENCIES,
    REF_RING_VECTORS,
    REF_PAIRS,
    REF_KEPT_NOISE
} ref_purpose;

REF_FN uint64_t purpose(ref_purpose what, size_t number)
{
    return (uint64_t)what << 56 | (uint64_t)number;
}

/* Noise of the kept rows and of the data set that is at hand (or NULL), a stream for each
   column. */
REF_FN void ref_kept_noise(ref_fit *fit, npksd_real *at_hand)
{
    npksd_rng_state state;
    for (size_t i = 0; i < fit->m; i++) {
        npksd_rng rng = npksd_rng_seeded(&state, fit->options.seed, purpose(REF_KEPT_NOISE, i));
        ref_column_noise(fit, &rng, fit->keep, fit->kept, i);
        if (at_hand)
            ref_column_noise(fit, &rng, at_hand, fit->n, i);
    }
}

/* 1 = more coordinates or summary numbers than there is room for. */
REF_FN int ref_fit_begin(ref_fit *fit, size_t n, size_t m, const npksd_options *options,
                         size_t kept, size_t stream)
{
    static const size_t dims[6] = { 1, 0, 0, 2, 2, 0 }; /* by NPKSD_SUMMARY_ */
    memset(fit, 0, sizeof *fit);
    fit->options = *options;
    fit->n = n;
    fit->m = m;
    fit->kept = kept;
    fit->summary = m == 1 || options->estimator == NPKSD_ESTIMATOR_CALLBACK ? NPKSD_SUMMARY_NONE
                                                                            : options->summary;
    fit->dim = fit->summary == NPKSD_SUMMARY_ALL ? m - 1
        : fit->summary == NPKSD_SUMMARY_CALLBACK ? options->summary_dim
                                                 : dims[fit->summary];
    fit->at = (ref_coordinate *)calloc(m, sizeof *fit->at);
    fit->keep = (npksd_real *)ref_reals(kept * m);
    fit->stream = (npksd_real *)ref_reals(stream * m);
    if (!fit->at)
        abort();
    return m > REF_MAX || fit->dim > REF_MAX;
}

/* From kept rows and stream to the fitted scores. 0 = fine. */
REF_FN int ref_fit_end(ref_fit *fit)
{
    int wanted = fit->options.estimator, bad = 0;
    ref_fit_range(fit);
    fit->bandwidth = ref_fit_bandwidth(fit);
    for (size_t i = 0; i < fit->m && wanted != NPKSD_ESTIMATOR_CALLBACK; i++) {
        ref_coordinate *at = &fit->at[i];
        double usual = wanted == NPKSD_ESTIMATOR_GAUSS ? fmax(1e-8, 50 * REF_EPSILON) : 1e-4;
        ref_fit_summary(fit, i);
        at->family = wanted;
        at->lambda = fit->options.ridge > 0 ? (double)fit->options.ridge : usual;
        if (wanted == NPKSD_ESTIMATOR_AUTO && !at->constant)
            ref_choose(fit, i);
        if (!at->constant)
            bad |= ref_theta(fit, at->family, i, fit->rows + fit->held, at->lambda, at->theta);
    }
    return bad;
}

/* How many of the numbers from a to before a_end are from b to before b_end, too. */
REF_FN size_t ref_overlap(size_t a, size_t a_end, size_t b, size_t b_end)
{
    size_t first = ref_most(a, b), end = ref_least(a_end, b_end);
    return end > first ? end - first : 0;
}

/* Sorts the rows of data set d, `there` of them, behind those in parts: fitted, held out, others.
   Where only some are fitted or held out, these are spread evenly over the set. */
REF_FN void ref_sort_rows(const ref_plan *plan, const npksd_real *set, size_t d, size_t there,
                          size_t n, size_t m, npksd_real *parts[3], size_t counts[3])
{
    size_t first = d * n, end = first + there, next = 0, held = plan->from;
    size_t fitted = ref_overlap(first, end, 0, plan->rows);
    size_t scored = fitted + ref_overlap(first, end, held, held + plan->held);
    for (size_t r = 0; r < there; r++) {
        size_t part = 2;
        if (next < scored && r == next * there / scored)
            part = next++ < fitted ? 0 : 1;
        if (part < 2 || plan->refers)
            memcpy(parts[part] + counts[part]++ * m, set + r * m, m * sizeof *set);
    }
}

/* Fits every coordinate to the recorded generator calls: sets holds whole data sets of n rows in
   the order of the calls, after the state of the random numbers behind each (only for noise; or
   NULL); all: rows of a pool that the sets are drawn from, or 0. The first data sets are kept
   whole; of the last kept one rows are spread evenly. 0 = fine. Give back with ref_fit_free in any
   case. */
REF_FN int ref_fit_make(ref_fit *fit, const npksd_real *sets, const npksd_rng_state *after,
                        size_t n, size_t m, size_t all, const npksd_options *options)
{
    ref_plan plan = ref_plan_of(options, n, m, all);
    size_t size = n * m, counts[3] = { 0, 0, 0 }, done = 0;
    npksd_real *parts[3];
    if (ref_fit_begin(fit, n, m, options, plan.kept, plan.sets * n))
        return 1;
    for (size_t r = 0; r < plan.kept; r++) {
        size_t d = r / n, there = all ? ref_least(n, all - d * n) : n;
        size_t row = (r - d * n) * there / ref_least(there, plan.kept - d * n);
        memcpy(fit->keep + r * m, sets + (d * n + row) * m, m * sizeof *sets);
    }
    ref_fit_scale(fit);
    npksd_real *set = (npksd_real *)ref_reals(size), *at_hand = (npksd_real *)ref_reals(size);
    memcpy(at_hand, sets + (plan.keep_sets - 1) * size, size * sizeof *at_hand);
    ref_kept_noise(fit, at_hand);
    for (size_t k = 0; k < 3; k++)
        parts[k] = (npksd_real *)ref_reals(plan.sets * size);
    for (size_t d = 0; d < plan.sets; d++) {
        memcpy(set,
               d + 1 < plan.keep_sets        ? fit->keep + d * size
                   : d + 1 == plan.keep_sets ? at_hand
                                             : sets + d * size,
               size * sizeof *set);
        if (d + 1 > plan.keep_sets && options->smooth > 0) {
            npksd_rng_state behind = after[d], scratch;
            npksd_rng rng = npksd_rng_seeded(&scratch, 0, 0);
            rng.user_data = &behind;
            ref_noise(fit, &rng, set, n);
        }
        ref_sort_rows(&plan, set, d, all ? ref_least(n, all - d * n) : n, n, m, parts, counts);
    }
    for (size_t k = 0; k < 3; done += counts[k++]) {
        memcpy(fit->stream + done * m, parts[k], counts[k] * m * sizeof *set);
        free(parts[k]);
    }
    fit->rows = counts[0];
    fit->held = counts[1];
    fit->others = counts[2];
    free(set);
    free(at_hand);
    return ref_fit_end(fit);
}

#endif /* NPKSD_REF_H */
