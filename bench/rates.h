/*
 * Rejection rates and what one may say about them: exact intervals, differences, text.
 */
#ifndef RATES_H
#define RATES_H

#include "bench.h"

typedef struct rate {
    size_t hits, trials;
} rate;

static BENCH_UNUSED double rate_value(rate r)
{
    return r.trials > 0 ? (double)r.hits / (double)r.trials : 0;
}

/* P(X <= hits), X ~ binomial(trials, p) */
static BENCH_UNUSED double rate_binomial_cdf(size_t hits, size_t trials, double p)
{
    double sum = 0, n = (double)trials;
    if (hits >= trials)
        return 1;
    if (p <= 0)
        return 1;
    if (p >= 1)
        return 0;
    for (size_t k = 0; k <= hits; k++) {
        double x = (double)k;
        sum += exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) + x * log(p)
                   + (n - x) * log(1 - p));
    }
    return sum < 1 ? sum : 1;
}

/* Clopper and Pearson's interval that misses with probability at most `miss` */
static BENCH_UNUSED void rate_interval(rate r, double miss, double *low, double *high)
{
    double a, b;
    *low = 0;
    *high = 1;
    if (r.trials == 0)
        return;
    if (r.hits > 0) {
        for (a = 0, b = 1; b - a > 1e-9;) { /* P(X >= hits) = miss / 2 */
            double p = (a + b) / 2;
            if (1 - rate_binomial_cdf(r.hits - 1, r.trials, p) < miss / 2)
                a = p;
            else
                b = p;
        }
        *low = a;
    }
    if (r.hits < r.trials) {
        for (a = 0, b = 1; b - a > 1e-9;) { /* P(X <= hits) = miss / 2 */
            double p = (a + b) / 2;
            if (rate_binomial_cdf(r.hits, r.trials, p) > miss / 2)
                a = p;
            else
                b = p;
        }
        *high = b;
    }
}

/* may the true rate be 0.05, by the 95 % interval? */
static BENCH_UNUSED int rate_level(rate r)
{
    double low, high;
    rate_interval(r, 0.05, &low, &high);
    return low <= 0.05 && 0.05 <= high;
}

/* (a - b) / standard error; rates of 0 and 1 are moved in by one trial for the error */
static BENCH_UNUSED double rate_difference(rate a, rate b)
{
    double pa = ((double)a.hits + 1) / ((double)a.trials + 2);
    double pb = ((double)b.hits + 1) / ((double)b.trials + 2);
    double variance = pa * (1 - pa) / (double)a.trials + pb * (1 - pb) / (double)b.trials;
    return (rate_value(a) - rate_value(b)) / sqrt(variance);
}

/* "0.87 (0.81-0.91)", or "-" without trials */
static BENCH_UNUSED const char *rate_text(rate r, char *text, size_t size)
{
    double low, high;
    if (r.trials == 0) {
        snprintf(text, size, "-");
    } else {
        rate_interval(r, 0.05, &low, &high);
        snprintf(text, size, "%.2f (%.2f-%.2f)", rate_value(r), low, high);
    }
    return text;
}

/* "0.054 (0.042-0.069) of 1200 trials": near 0.05 two digits do not tell inside from outside */
static BENCH_UNUSED const char *rate_close(rate r, char *text, size_t size)
{
    double low, high;
    rate_interval(r, 0.05, &low, &high);
    snprintf(text, size, "%.3f (%.3f-%.3f) of %zu trials", rate_value(r), low, high, r.trials);
    return text;
}

#endif /* RATES_H */
