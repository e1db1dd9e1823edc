/*
 * Problems for the power of tests: pairs of generators, the null and an alternative, with n and m.
 *
 * problems[] is the list of cells.c: problems of our own, and the usual ones of the literature (blobs
 * and Gaussian mixtures in high dimension from Liu et al. 2020, perturbed uniforms from Schrab et al.
 * 2021, circles, spheres, moons). Even places are for tuning npksd.h, odd places are held out. The rule
 * and all sizes were fixed before anything was measured.
 */
#ifndef PROBLEMS_H
#define PROBLEMS_H

#include "bench.h"

static const double problem_pi = 3.14159265358979324;

/* fills count rows of m numbers; p: four parameters */
typedef void (*problem_fn)(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                           const double *p);

typedef struct problem_data {
    problem_fn draw_fn;
    double p[4];
} problem_data;

typedef struct problem_pair {
    const char *group, *name;
    size_t m, n;
    problem_data null_model, alternative;
} problem_pair;

/* an npksd_sample_fn; user_data: a problem_data, read only */
static BENCH_UNUSED int problem_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                       void *user_data)
{
    const problem_data *d = (const problem_data *)user_data;
    d->draw_fn(rows, count, m, rng, d->p);
    return 0;
}

/* ======== single numbers ======== */

static BENCH_UNUSED double problem_uniform(npksd_rng *rng) { return (double)npksd_uniform(rng); }
static BENCH_UNUSED double problem_normal(npksd_rng *rng) { return (double)npksd_normal(rng); }
static BENCH_UNUSED double problem_exponential(npksd_rng *rng)
{
    return -log(1 - problem_uniform(rng));
}

static BENCH_UNUSED double problem_poisson(double mean, npksd_rng *rng)
{
    double limit = exp(-mean), product = problem_uniform(rng), count = 0;
    while (product > limit) {
        product *= problem_uniform(rng);
        count++;
    }
    return count;
}

/* sum of `shape` exponentials */
static BENCH_UNUSED double problem_gamma(int shape, npksd_rng *rng)
{
    double sum = 0;
    for (int i = 0; i < shape; i++)
        sum += problem_exponential(rng);
    return sum;
}

/* Student's t with a whole number of degrees above 2, scaled to variance 1 */
static BENCH_UNUSED double problem_student(int degrees, npksd_rng *rng)
{
    double z = problem_normal(rng), squares = 0;
    for (int i = 0; i < degrees; i++) {
        double y = problem_normal(rng);
        squares += y * y;
    }
    return z * sqrt((degrees - 2) / squares);
}

/* what a column may hold; a is its parameter */
typedef enum problem_margin {
    MARGIN_NORMAL,      /* mean a */
    MARGIN_SPREAD,      /* variance a */
    MARGIN_EXPONENTIAL, /* mean a */
    MARGIN_POWER,       /* u^a */
    MARGIN_LOGNORMAL,   /* exp(z + a) */
    MARGIN_POISSON,     /* mean a */
    MARGIN_MODES,       /* +-2 with deviation 1/2; share a above */
    MARGIN_STUDENT,     /* a degrees; 0: normal */
    MARGIN_LAPLACE,     /* a share of Laplace numbers */
    MARGIN_GAMMA,       /* shape a, standardised; 0: normal */
    MARGIN_DICE,        /* 1 ... 6; the six with probability a */
    MARGIN_OVERSPREAD   /* counts of mean 3; variance 3 + 9 / a, 0: Poisson */
} problem_margin;

static BENCH_UNUSED double problem_number(problem_margin kind, double a, npksd_rng *rng)
{
    switch (kind) {
    case MARGIN_NORMAL: return a + problem_normal(rng);
    case MARGIN_SPREAD: return sqrt(a) * problem_normal(rng);
    case MARGIN_EXPONENTIAL: return a * problem_exponential(rng);
    case MARGIN_POWER: return pow(problem_uniform(rng), a);
    case MARGIN_LOGNORMAL: return exp(a + problem_normal(rng));
    case MARGIN_POISSON: return problem_poisson(a, rng);
    case MARGIN_MODES:
        return (problem_uniform(rng) < a ? 2 : -2) + 0.5 * problem_normal(rng);
    case MARGIN_STUDENT: return a > 0 ? problem_student((int)a, rng) : problem_normal(rng);
    case MARGIN_LAPLACE:
        return problem_uniform(rng) < a ? bench_laplace_draw(rng) : problem_normal(rng);
    case MARGIN_GAMMA:
        return a > 0 ? (problem_gamma((int)a, rng) - a) / sqrt(a) : problem_normal(rng);
    case MARGIN_DICE: {
        double u = problem_uniform(rng);
        return u < a ? 6 : 1 + floor(5 * (u - a) / (1 - a));
    }
    case MARGIN_OVERSPREAD:
        return problem_poisson(a > 0 ? 3 * problem_gamma((int)a, rng) / a : 3, rng);
    }
    return 0;
}

/* ======== rows ======== */

/* independent columns of kind p[0]: parameter p[2] in the first p[3] of them, p[1] in the others */
static BENCH_UNUSED void draw_margins(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                      const double *p)
{
    for (size_t i = 0; i < count * m; i++)
        rows[i] = (npksd_real)problem_number((problem_margin)p[0],
                                             (double)(i % m) < p[3] ? p[2] : p[1], rng);
}

/* normal; the first two columns have correlation p[0] */
static BENCH_UNUSED void draw_pair(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                   const double *p)
{
    for (size_t r = 0; r < count; r++, rows += m) {
        for (size_t i = 0; i < m; i++)
            rows[i] = npksd_normal(rng);
        rows[1] = (npksd_real)(p[0] * (double)rows[0] + sqrt(1 - p[0] * p[0]) * (double)rows[1]);
    }
}

/* normal with mean p[0], variance p[1], correlation p[2] of any two columns */
static BENCH_UNUSED void draw_equal(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                    const double *p)
{
    for (size_t r = 0; r < count; r++) {
        double common = sqrt(p[2]) * problem_normal(rng);
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = (npksd_real)(p[0] + sqrt(p[1])
                * (common + sqrt(1 - p[2]) * problem_normal(rng)));
    }
}

/* Exponential margins, Kendall's tau 1/3 between any two columns: p[0] = 0 with Clayton's copula
   (theta 1), 1 with the normal one (correlation 1/2), 2 with Clayton's turned round. */
static BENCH_UNUSED void draw_copula(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                     const double *p)
{
    for (size_t r = 0; r < count; r++) {
        double frailty = problem_exponential(rng), common = problem_normal(rng);
        for (size_t i = 0; i < m; i++) {
            double u = 1 / (1 + problem_exponential(rng) / frailty);
            if (p[0] > 1.5)
                u = 1 - u;
            else if (p[0] > 0.5)
                u = 0.5 * erfc(-(common + problem_normal(rng)) / 2);
            rows[r * m + i] = (npksd_real)-log(1 - u * (1 - 1e-12));
        }
    }
}

/* Normal columns, any two of them independent; the sign of the third is the product of the first two
   signs with probability p[0]. */
static BENCH_UNUSED void draw_signs(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                    const double *p)
{
    for (size_t r = 0; r < count; r++, rows += m) {
        for (size_t i = 0; i < m; i++)
            rows[i] = npksd_normal(rng);
        double size = fabs((double)rows[2]);
        int same = (double)rows[0] * (double)rows[1] > 0, keep = problem_uniform(rng) < p[0];
        rows[2] = (npksd_real)(same == keep ? size : -size);
    }
}

/* p[0] of the rows have p[1] times the deviation */
static BENCH_UNUSED void draw_contaminated(npksd_real *rows, size_t count, size_t m,
                                           npksd_rng *rng, const double *p)
{
    for (size_t r = 0; r < count; r++) {
        double deviation = problem_uniform(rng) < p[0] ? p[1] : 1;
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = (npksd_real)(deviation * problem_normal(rng));
    }
}

/* a ring of eight modes of deviation p[1]; p[0] = 1: the last one is missing */
static BENCH_UNUSED void draw_ring_modes(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                         const double *p)
{
    for (size_t r = 0; r < count; r++) {
        double angle = problem_pi / 4 * floor((8 - p[0]) * problem_uniform(rng));
        rows[r * m] = (npksd_real)(cos(angle) + p[1] * problem_normal(rng));
        rows[r * m + 1] = (npksd_real)(sin(angle) + p[1] * problem_normal(rng));
    }
}

/* 3 x 3 blobs of variance 0.03; p[0] = 1: blob k is turned, covariance +-(0.02 + 0.002 (k % 4)) */
static BENCH_UNUSED void draw_blobs(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                    const double *p)
{
    for (size_t r = 0; r < count; r++) {
        int k = (int)(9 * problem_uniform(rng));
        double covariance = k == 4 ? 0 : p[0] * (0.02 + 0.002 * (k % 4)) * (k < 4 ? -1 : 1);
        double a = sqrt(0.03), x = problem_normal(rng), slope = covariance / 0.03;
        double y = slope * x + sqrt(1 - slope * slope) * problem_normal(rng);
        rows[r * m] = (npksd_real)(k % 3 + a * x);
        rows[r * m + 1] = (npksd_real)(k / 3 + a * y);
    }
}

/* a circle with noise p[1]; density 1 + p[0] cos(2 angle) */
static BENCH_UNUSED void draw_circle(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                     const double *p)
{
    for (size_t r = 0; r < count; r++) {
        double angle;
        do
            angle = 2 * problem_pi * problem_uniform(rng);
        while (problem_uniform(rng) * (1 + p[0]) > 1 + p[0] * cos(2 * angle));
        rows[r * m] = (npksd_real)(cos(angle) + p[1] * problem_normal(rng));
        rows[r * m + 1] = (npksd_real)(sin(angle) + p[1] * problem_normal(rng));
    }
}

/* directions in m dimensions; the first column had variance p[0] before it was projected */
static BENCH_UNUSED void draw_sphere(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                     const double *p)
{
    for (size_t r = 0; r < count; r++, rows += m) {
        double squares = 0;
        for (size_t i = 0; i < m; i++) {
            rows[i] = (npksd_real)(problem_normal(rng) * (i == 0 ? sqrt(p[0]) : 1));
            squares += (double)rows[i] * (double)rows[i];
        }
        for (size_t i = 0; i < m; i++)
            rows[i] = (npksd_real)((double)rows[i] / sqrt(squares));
    }
}

/* two half moons with noise p[0] */
static BENCH_UNUSED void draw_moons(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                    const double *p)
{
    for (size_t r = 0; r < count; r++) {
        double angle = problem_pi * problem_uniform(rng), upper = problem_uniform(rng) < 0.5;
        double x = upper > 0 ? cos(angle) : 1 - cos(angle);
        double y = upper > 0 ? sin(angle) : 0.5 - sin(angle);
        rows[r * m] = (npksd_real)(x + p[0] * problem_normal(rng));
        rows[r * m + 1] = (npksd_real)(y + p[0] * problem_normal(rng));
    }
}

/* two normals half a deviation apart; the first two columns covary by +p[0] in one, -p[0] in the other */
static BENCH_UNUSED void draw_mixture(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                      const double *p)
{
    for (size_t r = 0; r < count; r++, rows += m) {
        double upper = problem_uniform(rng) < 0.5, slope = upper > 0 ? p[0] : -p[0];
        for (size_t i = 0; i < m; i++)
            rows[i] = npksd_normal(rng);
        rows[1] = (npksd_real)(slope * (double)rows[0] + sqrt(1 - slope * slope) * (double)rows[1]);
        for (size_t i = 0; i < m; i++)
            rows[i] += (npksd_real)(0.5 * upper);
    }
}

/* one bump up, one down in [0, 1) */
static BENCH_UNUSED double problem_bump(double u)
{
    double x = u < 0.5 ? 4 * u - 1 : 4 * u - 3, rest = 1 - x * x;
    double height = rest > 1e-9 ? exp(1 - 1 / rest) : 0;
    return u < 0.5 ? height : -height;
}

/* uniform on the cube with p[0]^m pairs of bumps of height p[1] and fixed signs */
static BENCH_UNUSED void draw_bumps(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                    const double *p)
{
    for (size_t r = 0; r < count; r++) {
        double density;
        do {
            unsigned place = 0;
            density = p[1];
            for (size_t i = 0; i < m; i++) {
                double u = problem_uniform(rng), cell = floor(p[0] * u);
                rows[r * m + i] = (npksd_real)u;
                density *= problem_bump(p[0] * u - cell);
                place = place * 5 + (unsigned)cell;
            }
            density *= (0x9d2c5u >> place % 16 & 1) ? 1 : -1;
        } while (problem_uniform(rng) * (1 + p[1]) > 1 + density);
    }
}

/* fair bits; the second repeats the first with probability p[0] */
static BENCH_UNUSED void draw_bits(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                   const double *p)
{
    for (size_t r = 0; r < count; r++, rows += m) {
        for (size_t i = 0; i < m; i++)
            rows[i] = (npksd_real)(problem_uniform(rng) < 0.5);
        if (problem_uniform(rng) < p[0])
            rows[1] = rows[0];
    }
}

/* a loot table of ten items; the last, rare one with probability p[0] */
static BENCH_UNUSED void draw_loot(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                   const double *p)
{
    for (size_t i = 0; i < count * m; i++) {
        double u = problem_uniform(rng);
        rows[i] = (npksd_real)(u < p[0] ? 9 : floor(9 * (u - p[0]) / (1 - p[0])));
    }
}

/* Series: an autoregression of coefficient p[0] and stationary variance 1; innovations of Student
   with p[1] degrees (0: normal); the second half has p[2] times the deviation. */
static BENCH_UNUSED void draw_series(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                     const double *p)
{
    for (size_t r = 0; r < count; r++) {
        double x = problem_normal(rng);
        for (size_t i = 0; i < m; i++) {
            double e = p[1] > 0 ? problem_student((int)p[1], rng) : problem_normal(rng);
            x = i > 0 ? p[0] * x + sqrt(1 - p[0] * p[0]) * e : x;
            rows[r * m + i] = (npksd_real)(x * (2 * i >= m ? p[2] : 1));
        }
    }
}

/* normal rows; each repeats the one before with probability p[0] */
static BENCH_UNUSED void draw_repeats(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                      const double *p)
{
    for (size_t r = 0; r < count; r++) {
        int repeat = r > 0 && problem_uniform(rng) < p[0];
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = repeat ? rows[(r - 1) * m + i] : npksd_normal(rng);
    }
}

/* p[0] > 0: rows out of a store of so many normal rows, always the same; 0: fresh normal rows */
static BENCH_UNUSED void draw_stored(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                     const double *p)
{
    for (size_t r = 0; r < count; r++) {
        npksd_rng_state state;
        npksd_rng store = *rng;
        if (p[0] > 0)
            store = npksd_rng_seeded(&state, 77, (uint64_t)(p[0] * problem_uniform(rng)));
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = npksd_normal(&store);
    }
}

/* p[0] of the rows lie close (p[1]) around one point */
static BENCH_UNUSED void draw_clump(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                    const double *p)
{
    for (size_t r = 0; r < count; r++) {
        int close = problem_uniform(rng) < p[0];
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = (npksd_real)(close ? 0.5 + p[1] * problem_normal(rng)
                                                 : problem_normal(rng));
    }
}

/* ======== the list ======== */

#define MARGINS(kind, base, changed, columns)                                                      \
    { draw_margins, { kind, base, base, 0 } }, { draw_margins, { kind, base, changed, columns } }
#define ALL 1e9

static const problem_pair problems[] = {
    { "margin", "exponential 1.8 for 1, one of 3", 3, 40, MARGINS(MARGIN_EXPONENTIAL, 1, 1.8, 1) },
    { "margin", "exponential 1 for 1.8, one of 3", 3, 40, MARGINS(MARGIN_EXPONENTIAL, 1.8, 1, 1) },
    { "margin", "u^1.5 for u, one of 3", 3, 100, MARGINS(MARGIN_POWER, 1, 1.5, 1) },
    { "margin", "u^2 for u, one of 3", 3, 40, MARGINS(MARGIN_POWER, 1, 2, 1) },
    { "margin", "lognormal + 0.5, one of 3", 3, 60, MARGINS(MARGIN_LOGNORMAL, 0, 0.5, 1) },
    { "margin", "Poisson 2.6 for 2, one of 3", 3, 80, MARGINS(MARGIN_POISSON, 2, 2.6, 1) },
    { "margin", "variance x 2, one of 3", 3, 60, MARGINS(MARGIN_SPREAD, 1, 2, 1) },
    { "margin", "variance x 2, one of 20", 20, 100, MARGINS(MARGIN_SPREAD, 1, 2, 1) },
    { "margin", "normal + 0.4, one of 3", 3, 60, MARGINS(MARGIN_NORMAL, 0, 0.4, 1) },
    { "margin", "normal + 0.5, one of 20", 20, 60, MARGINS(MARGIN_NORMAL, 0, 0.5, 1) },
    { "pair", "correlation 0.6, one pair of 20", 20, 60,
      { draw_pair, { 0 } }, { draw_pair, { 0.6 } } },
    { "pair", "correlation -0.3 for 0.3", 2, 40, { draw_pair, { 0.3 } }, { draw_pair, { -0.3 } } },
    { "pair", "Clayton for normal copula", 3, 100,
      { draw_copula, { 1 } }, { draw_copula, { 0 } } },
    { "pair", "Clayton turned round", 2, 60, { draw_copula, { 0 } }, { draw_copula, { 2 } } },
    { "pair", "signs of three, pairs equal", 3, 100,
      { draw_signs, { 0.5 } }, { draw_signs, { 0.75 } } },
    { "pair", "correlation 0.5 for 0.3, all of 10", 10, 60,
      { draw_equal, { 0, 1, 0.3 } }, { draw_equal, { 0, 1, 0.5 } } },
    { "tails", "Laplace for normal, all of 5", 5, 80, MARGINS(MARGIN_LAPLACE, 0, 1, ALL) },
    { "tails", "Student 5 for normal, all of 3", 3, 150, MARGINS(MARGIN_STUDENT, 0, 5, ALL) },
    { "tails", "5 % of the rows 3 times as wide", 3, 80,
      { draw_contaminated, { 0, 3 } }, { draw_contaminated, { 0.05, 3 } } },
    { "tails", "gamma 6 for normal, all of 2", 2, 80, MARGINS(MARGIN_GAMMA, 0, 6, ALL) },
    { "modes", "75/25 for 50/50, one of 3", 3, 50, MARGINS(MARGIN_MODES, 0.5, 0.75, 1) },
    { "modes", "seven of eight modes on a ring", 2, 80,
      { draw_ring_modes, { 0, 0.1 } }, { draw_ring_modes, { 1, 0.1 } } },
    { "modes", "blobs, covariance turned", 2, 150, { draw_blobs, { 0 } }, { draw_blobs, { 1 } } },
    { "modes", "an eighth mode the generator lacks", 2, 40,
      { draw_ring_modes, { 1, 0.2 } }, { draw_ring_modes, { 0, 0.2 } } },
    { "public", "circle, density 1 + cos(2a)/2", 2, 80,
      { draw_circle, { 0, 0.1 } }, { draw_circle, { 0.5, 0.1 } } },
    { "public", "circle, noise 0.15 for 0.1", 2, 80,
      { draw_circle, { 0, 0.1 } }, { draw_circle, { 0, 0.15 } } },
    { "public", "mixture, covariance 0.5, m = 10", 10, 200,
      { draw_mixture, { 0 } }, { draw_mixture, { 0.5 } } },
    { "public", "moons, noise 0.15 for 0.1", 2, 80, { draw_moons, { 0.1 } }, { draw_moons, { 0.15 } } },
    { "public", "uniform, one bump, d = 1", 1, 60,
      { draw_bumps, { 1, 0 } }, { draw_bumps, { 1, 0.9 } } },
    { "public", "uniform, two bumps, d = 1", 1, 100,
      { draw_bumps, { 2, 0 } }, { draw_bumps, { 2, 0.9 } } },
    { "public", "uniform, one bump, d = 2", 2, 150,
      { draw_bumps, { 1, 0 } }, { draw_bumps, { 1, 1 } } },
    { "public", "uniform, three bumps, d = 1", 1, 150,
      { draw_bumps, { 3, 0 } }, { draw_bumps, { 3, 0.9 } } },
    { "public", "sphere in 5, variance 2 along one axis", 5, 80,
      { draw_sphere, { 1 } }, { draw_sphere, { 2 } } },
    { "discrete", "a loaded die of two", 2, 80, MARGINS(MARGIN_DICE, 1.0 / 6, 0.3, 1) },
    { "discrete", "bits, two of eight dependent", 8, 60,
      { draw_bits, { 0 } }, { draw_bits, { 0.5 } } },
    { "discrete", "counts with too much spread, m = 3", 3, 80, MARGINS(MARGIN_OVERSPREAD, 0, 5, ALL) },
    { "discrete", "loot, rare item 7 % for 2 %", 1, 100, { draw_loot, { 0.02 } }, { draw_loot, { 0.07 } } },
    { "high", "mean + 0.12, all of 40", 40, 60, MARGINS(MARGIN_NORMAL, 0, 0.12, ALL) },
    { "high", "variance + 8 %, all of 100", 100, 60, MARGINS(MARGIN_SPREAD, 1, 1.08, ALL) },
    { "high", "correlation 0.03, all of 100", 100, 60,
      { draw_equal, { 0, 1, 0 } }, { draw_equal, { 0, 1, 0.03 } } },
    { "high", "Laplace for normal, half of 40", 40, 40, MARGINS(MARGIN_LAPLACE, 0, 0.5, ALL) },
    { "series", "autoregression 0.35 for 0.5", 20, 30,
      { draw_series, { 0.5, 0, 1 } }, { draw_series, { 0.35, 0, 1 } } },
    { "series", "second half 20 % wider", 20, 40,
      { draw_series, { 0.5, 0, 1 } }, { draw_series, { 0.5, 0, 1.2 } } },
    { "series", "Student 3 innovations", 20, 40,
      { draw_series, { 0.5, 0, 1 } }, { draw_series, { 0.5, 3, 1 } } },
    { "copies", "half of the rows repeated", 3, 60,
      { draw_repeats, { 0 } }, { draw_repeats, { 0.5 } } },
    { "copies", "fresh rows for 30 stored ones", 3, 60,
      { draw_stored, { 30 } }, { draw_stored, { 0 } } },
    { "copies", "10 % of the rows in one place", 3, 60,
      { draw_clump, { 0, 0.05 } }, { draw_clump, { 0.1, 0.05 } } },
    { "copies", "30 stored rows for fresh ones", 3, 60,
      { draw_stored, { 0 } }, { draw_stored, { 30 } } },
};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

#undef MARGINS
#undef ALL

#endif /* PROBLEMS_H */
