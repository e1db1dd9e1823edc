/*
 * Float against double: the same random problems (trials.h) in both precisions, in one program. The file is compiled
 * twice, and the half in double compares. Random words are the same, so rows agree to float's rounding. T of the median
 * replicate must agree to BOUND of size and spread; single ones may not, as rounding can turn a decision (a normal
 * number of the tail, a place among edges); and p must agree up to the replicates as close to T as that, and
 * TURNED more.
 */
#include "trials.h"

enum { B = 99, PROBLEMS = 600, PILOT = 30 };

typedef struct precision_answer {
    double statistic, p_value, null_values[B];
    char words[300];
} precision_answer;

int precision_run_double(uint64_t number, precision_answer *out);
int precision_run_float(uint64_t number, precision_answer *out);

#ifdef NPKSD_FLOAT
#define PRECISION_RUN precision_run_float
#else
#define PRECISION_RUN precision_run_double
#endif

/* Left out: what float cannot show (rows of U at n < 3, no mean, places that tie), a choice that rounding may turn
   (AUTO), and a constant column, watched on a scale where float has few digits. */
static int fits(const trial *t)
{
    return t->n > 2 && t->source.shape != TRIAL_CAUCHY && t->source.shape != TRIAL_TIES
        && t->source.shape != TRIAL_CONSTANT && t->options.estimator != NPKSD_ESTIMATOR_AUTO;
}

/* 0: not a problem for this comparison; 1: done; else the status */
int PRECISION_RUN(uint64_t number, precision_answer *out)
{
    trial t;
    npksd_result result;
    npksd_real null_values[B];
    trial_make(&t, 1, number);
    snprintf(out->words, sizeof out->words, "%zu rows of %zu, shape %d, \"%s\"", t.n, t.m, (int)t.source.shape,
             t.words);
    if (!fits(&t))
        return 0;
    t.options.replicates = B;
    t.options.pilot = PILOT;
    npksd_status status = npksd_test_diagnose(t.observed, t.n, t.m, trial_sample, &t.source, &t.options, &result, NULL,
                                              null_values);
    if (status != NPKSD_OK)
        return (int)status;
    out->statistic = (double)result.statistic;
    out->p_value = (double)result.p_value;
    for (size_t r = 0; r < B; r++)
        out->null_values[r] = (double)null_values[r];
    return 1;
}

#ifndef NPKSD_FLOAT
#define BOUND 0.02
enum { TURNED = 2 };

static double distance(double a, double b) { return a < b ? b - a : a - b; }

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The k-th smallest. */
static double ordered(const double *values, size_t k)
{
    double sorted[B];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, B, sizeof sorted[0], compare_doubles);
    return sorted[k];
}

/* 1 = the two agree; worst: the largest median distance */
static int agree(const precision_answer *d, const precision_answer *f, double *worst)
{
    double unit = ordered(d->null_values, 3 * B / 4) - ordered(d->null_values, B / 4); /* what T varies by */
    double apart[B];
    double size = distance(d->statistic, 0), close = BOUND * (unit + size), tie = 2e-3 * (size > 1 ? size : 1);
    size_t near = 0; /* ties of float reach 1e-3 */
    for (size_t r = 0; r < B; r++) {
        double v = d->null_values[r];
        apart[r] = distance(v, f->null_values[r]) / (unit + distance(v, 0));
        near += distance(v, d->statistic) <= (close > tie ? close : tie);
    }
    double median = ordered(apart, B / 2);
    *worst = median > *worst ? median : *worst;
    if (median <= BOUND && distance(d->p_value, f->p_value) <= ((double)(near + TURNED) + 0.5) / (B + 1))
        return 1;
    printf("FAILED %s: T %g and %g, p %g and %g, replicates apart by %g\n", d->words, d->statistic, f->statistic,
           d->p_value, f->p_value, median);
    return 0;
}

int main(void)
{
    precision_answer in_double, in_float;
    unsigned passed = 0, failed = 0;
    double worst = 0;
    for (uint64_t number = 0; passed + failed < PROBLEMS; number++) {
        int there = precision_run_double(number, &in_double);
        if (there == 0)
            continue;
        int good = there == 1 && precision_run_float(number, &in_float) == 1 && agree(&in_double, &in_float, &worst);
        if (there != 1)
            printf("FAILED %s: status %d\n", in_double.words, there);
        passed += good != 0;
        failed += good == 0;
    }
    printf("float and double differ by at most %.2g of size and spread (allowed %g)\n%u passed, %u failed\n", worst,
           BOUND, passed, failed);
    return failed > 0;
}
#endif
