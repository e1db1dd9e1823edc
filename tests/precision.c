/*
 * Float against double: the same random problems (trials.h), with a generator and with fixed samples, in both
 * precisions, in one program. The file is compiled twice, and the half in double compares. Random words are the same,
 * so rows agree to float's rounding. The median replicate, the bandwidth and the flags must agree in every problem. Of
 * a single data set rounding can turn a decision (a normal number of the tail, a place among edges): T, threshold,
 * ksd2, out_of_range, shifts, distances and correlations may be off in one problem of ODD. Where they are not, the
 * verdict must be the same and p agree up to the replicates that are as close to T as that, and TURNED more.
 */
#include "trials.h"

enum { B = 99, PROBLEMS = 600, PILOT = 30, SYNTHETIC = 40, CELLS = TRIAL_M * TRIAL_M };
enum { SINGLES = 4 + 2 * TRIAL_M + 2 * CELLS };

typedef struct precision_answer {
    double null_values[B], single[SINGLES]; /* T, threshold, ksd2, out_of_range, of columns and pairs; 0: not there */
    double p_value, bandwidth, influence; /* influence: the largest */
    int reject;
    unsigned flags;
    char words[600];
} precision_answer;

int precision_run_double(uint64_t number, precision_answer *out);
int precision_run_float(uint64_t number, precision_answer *out);

#ifdef NPKSD_FLOAT
#define PRECISION_RUN precision_run_float
#else
#define PRECISION_RUN precision_run_double
#endif

/* Left out: more features than float can tell apart from few rows or from each other, unless there is a ridge; squares
   of what has no mean; and the wild bootstrap, whose null is all rounding where rows are far apart. */
static int fits(const trial *t)
{
    int few = t->options.basis < 11 && t->options.degree < 4 && t->source.shape != TRIAL_COPIES;
    int wide = t->source.shape == TRIAL_CAUCHY && t->options.summary == NPKSD_SUMMARY_MEAN_VAR;
    return (few || t->options.ridge > 0) && !wide && !t->options.calibration;
}

/* 0: no such problem; 1: done; else the status */
int PRECISION_RUN(uint64_t number, precision_answer *out)
{
    trial t;
    npksd_result result;
    npksd_diagnosis why;
    npksd_real null_values[B], influence[TRIAL_N], shift[TRIAL_M], apart[TRIAL_M];
    npksd_real synthetic[SYNTHETIC * TRIAL_M];
    npksd_pair pairs[CELLS];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 2, number);
    int fixed = number % 3 == 0;
    memset(out, 0, sizeof *out);
    memset(&why, 0, sizeof why);
    trial_make(&t, 1, number);
    trial_vary(&t, &rng);
    t.options.replicates = B;
    t.options.pilot = PILOT;
    if (!fits(&t))
        return 0;
    if (fixed ? npksd_samples_problem(&t.options, t.n, SYNTHETIC, t.m) : npksd_options_problem(&t.options, t.n, t.m))
        return 0;
    snprintf(out->words, sizeof out->words,
             "%zu rows of %zu, shape %d%s, \"%s\", then components %u, degree %zu, basis %zu, ridge %g", t.n, t.m,
             (int)t.source.shape, fixed ? ", fixed samples" : "", t.words, t.options.components, t.options.degree,
             t.options.basis, (double)t.options.ridge);
    trial_sample(synthetic, SYNTHETIC, t.m, &rng, &t.source);
    why.row_influence = influence;
    why.coordinate_shift = shift;
    why.coordinate_distance = apart;
    why.pairs = pairs;
    why.pair_capacity = CELLS;
    npksd_diagnosis *asked = t.options.diagnose ? &why : NULL;
    npksd_status status = fixed
        ? npksd_test_samples_diagnose(t.observed, t.n, synthetic, SYNTHETIC, t.m, &t.options, &result, asked,
                                      null_values)
        : npksd_test_diagnose(t.observed, t.n, t.m, trial_sample, &t.source, &t.options, &result, asked, null_values);
    if (status != NPKSD_OK)
        return (int)status;
    out->single[0] = (double)result.statistic;
    out->single[1] = (double)result.threshold;
    out->single[2] = (double)result.ksd2;
    out->single[3] = (double)result.out_of_range;
    out->p_value = (double)result.p_value;
    out->bandwidth = (double)result.bandwidth;
    out->reject = result.reject;
    out->flags = result.flags;
    for (size_t r = 0; r < B; r++)
        out->null_values[r] = (double)null_values[r];
    for (size_t i = 0; i < t.m && asked; i++) {
        out->single[4 + i] = (double)shift[i];
        out->single[4 + TRIAL_M + i] = (double)apart[i];
    }
    for (size_t k = 0; k < why.pair_count; k++) {
        double *cell = out->single + 4 + 2 * TRIAL_M + 2 * (pairs[k].first * TRIAL_M + pairs[k].second);
        cell[0] = (double)pairs[k].observed;
        cell[1] = (double)pairs[k].expected;
    }
    for (size_t a = 0; a < t.n && asked; a++) {
        double size = (double)influence[a] < 0 ? -(double)influence[a] : (double)influence[a];
        out->influence = size > out->influence ? size : out->influence;
    }
    return 1;
}

#ifndef NPKSD_FLOAT
#define BOUND 0.01
enum { TURNED = 2, ODD = 20 };

static double size_of(double a) { return a < 0 ? -a : a; }

static double distance(double a, double b) { return size_of(a - b); }

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

static double worst[2]; /* of replicates, bandwidths: how far they are apart */
static unsigned odd;    /* problems in which a single number is off */

static int bounded(int which, double apart)
{
    worst[which] = apart > worst[which] ? apart : worst[which];
    return apart <= BOUND;
}

/* 1 = the two agree */
static int agree(const precision_answer *d, const precision_answer *f)
{
    double unit = ordered(d->null_values, 3 * B / 4) - ordered(d->null_values, B / 4); /* what T varies by */
    double apart[B], T = d->single[0], close = BOUND * (unit + size_of(T));
    double tie = 2e-3 * (size_of(T) > 1 ? size_of(T) : 1); /* ties of float reach 1e-3 */
    size_t near = 0;
    for (size_t r = 0; r < B; r++) {
        double v = d->null_values[r], size = unit + size_of(v);
        apart[r] = distance(v, f->null_values[r]) / (size > 0 ? size : 1);
        near += distance(v, T) <= (close > tie ? close : tie);
    }
    int strange = distance(T, f->single[0]) > close
        || distance(d->single[1], f->single[1]) > BOUND * (unit + size_of(d->single[1])) + tie;
    for (size_t k = 2; k < SINGLES; k++)
        strange |= distance(d->single[k], f->single[k]) > BOUND * (1 + size_of(d->single[k]) + d->influence);
    odd += strange != 0;
    int good = bounded(0, ordered(apart, B / 2)) & bounded(1, distance(d->bandwidth, f->bandwidth) / d->bandwidth)
        & (d->flags == f->flags);
    if (!strange)
        good &= (d->reject == f->reject || near > 0)
            & (distance(d->p_value, f->p_value) <= ((double)(near + TURNED) + 0.5) / (B + 1));
    if (!good)
        printf("FAILED %s: p %g and %g, T %g and %g, bandwidth %g and %g, flags %u and %u, replicates apart by %g\n",
               d->words, d->p_value, f->p_value, T, f->single[0], d->bandwidth, f->bandwidth, d->flags, f->flags,
               ordered(apart, B / 2));
    return good;
}

int main(void)
{
    static precision_answer in_double, in_float;
    unsigned passed = 0, failed = 0;
    for (uint64_t number = 0; passed + failed < PROBLEMS; number++) {
        int there = precision_run_double(number, &in_double);
        if (there == 0)
            continue;
        int good = there == 1 && precision_run_float(number, &in_float) == 1 && agree(&in_double, &in_float);
        if (there != 1)
            printf("FAILED %s: status %d\n", in_double.words, there);
        passed += good != 0;
        failed += good == 0;
    }
    if (odd > PROBLEMS / ODD) {
        printf("FAILED: single numbers are off in %u problems, %d are allowed\n", odd, PROBLEMS / ODD);
        failed++;
    }
    printf("float and double differ by at most %.2g in replicates, %.2g in the bandwidth (allowed %g), in single "
           "numbers in %u problems (%d)\n%u passed, %u failed\n",
           worst[0], worst[1], BOUND, odd, PROBLEMS / ODD, passed, failed);
    return failed > 0;
}
#endif
