/* Rows of numbers: means, constant columns, random choices, and rows that occur twice. */
#include "tool.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void data_free(data *d)
{
    free(d->rows);
    free(d->lines);
    memset(d, 0, sizeof *d);
}

/* In units of the largest number, so that squares of 1e300 are no trouble. */
void column_moments(const data *d, size_t column, double *mean, double *sd)
{
    double sum = 0, squares = 0, unit = 0, n = (double)d->n;
    for (size_t r = 0; r < d->n; r++)
        unit = fmax(unit, fabs((double)d->rows[r * d->m + column]));
    unit = unit > 0 ? unit : 1;
    double first = (double)d->rows[column] / unit;
    for (size_t r = 0; r < d->n; r++)
        sum += (double)d->rows[r * d->m + column] / unit - first;
    for (size_t r = 0; r < d->n; r++) {
        double x = (double)d->rows[r * d->m + column] / unit - first - sum / n;
        squares += x * x;
    }
    *mean = unit * (first + sum / n);
    *sd = d->n > 1 ? fmin(unit * sqrt(squares / (n - 1)), DBL_MAX)
                   : 0; /* near 1e308 it would not fit */
}

int is_constant(const data *d, size_t column)
{
    for (size_t r = 1; r < d->n; r++)
        if (d->rows[r * d->m + column] != d->rows[column])
            return 0;
    return 1;
}

int is_share(const data *d, size_t column)
{
    for (size_t r = 0; r < d->n; r++)
        if (d->rows[r * d->m + column] != 0 && d->rows[r * d->m + column] != 1)
            return 0;
    return 1;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sort_column(const data *d, size_t column)
{
    double *x = (double *)memory(NULL, d->n, sizeof *x);
    for (size_t r = 0; r < d->n; r++)
        x[r] = (double)d->rows[r * d->m + column];
    qsort(x, d->n, sizeof *x, compare_numbers);
    return x;
}

double column_distance(const data *here, const data *there, size_t column)
{
    double *x = sort_column(here, column), *y = sort_column(there, column), largest = 0;
    for (size_t i = 0, k = 0; i < here->n && k < there->n;) {
        double value = fmin(x[i], y[k]);
        while (i < here->n && x[i] == value)
            i++;
        while (k < there->n && y[k] == value)
            k++;
        largest = fmax(largest, fabs((double)i / (double)here->n - (double)k / (double)there->n));
    }
    free(x);
    free(y);
    return largest;
}

/* Rounding, caps and stuck values: the most frequent value here or there, whichever share changed more. */
void find_frequent(const data *here, const data *there, size_t column, column_change *c)
{
    const data *both[2] = { here, there };
    for (size_t k = 0; k < 2; k++) {
        size_t n = both[k]->n, best = 0;
        double *x = sort_column(both[k], column), share[2] = { 0, 0 }, value = 0;
        for (size_t r = 0, length; r < n; r += length) {
            for (length = 1; r + length < n && x[r + length] == x[r];)
                length++;
            if (length > best) {
                best = length;
                value = x[r];
            }
        }
        free(x);
        for (size_t side = 0; side < 2; side++)
            for (size_t r = 0; r < both[side]->n; r++)
                share[side] += ((double)both[side]->rows[r * both[side]->m + column] == value)
                    / (double)both[side]->n;
        if (best > 1 && fabs(share[0] - share[1]) > fabs(c->share - c->other_share)) {
            c->value = value;
            c->share = share[0];
            c->other_share = share[1];
        }
    }
}

static int share_has_changed(const column_change *c, double rows)
{
    double middle = (c->share + c->other_share) / 2;
    return fabs(c->share - c->other_share) > 3 * sqrt(middle * (1 - middle) / rows);
}

/* Beyond the 5 % point of Kolmogorov and Smirnov, or with clearly another spread or a value that has become
   frequent or rare; the spread of a share follows from its mean. */
int has_changed(const column_change *c, double rows)
{
    double spread = c->sd / c->other_sd;
    return c->distance >= 1.358 / sqrt(rows) || share_has_changed(c, rows)
        || (!c->is_share && (spread < 2.0 / 3 || spread > 3.0 / 2));
}

/* Indices 0 .. count-1 with the largest key first; equal keys keep their order. */
size_t *sort_down(const double *keys, size_t count)
{
    size_t *order = (size_t *)memory(NULL, 2 * count, sizeof *order), *other = order + count;
    for (size_t k = 0; k < count; k++)
        order[k] = k;
    for (size_t width = 1; width < count; width *= 2) { /* merge sort */
        for (size_t k = 0; k < count; k += 2 * width) {
            size_t middle = k + width < count ? k + width : count, i = k, j = middle;
            size_t end = k + 2 * width < count ? k + 2 * width : count;
            for (size_t to = k; to < end; to++)
                other[to] = i < middle && (j == end || keys[order[i]] >= keys[order[j]])
                    ? order[i++]
                    : order[j++];
        }
        memcpy(order, other, count * sizeof *order);
    }
    return order;
}

/* A copy with at most so many rows, in whole blocks, picked at random and kept in order: each choice
   of so many blocks is equally likely. */
data take_rows(const data *d, size_t most, size_t block, uint64_t seed)
{
    data to = *d;
    size_t blocks = d->n / block, wanted = most / block;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, UINT64_C(0x74616b65));
    wanted = wanted < blocks ? wanted : blocks;
    to.rows = (npksd_real *)memory(NULL, wanted * block * d->m, sizeof *to.rows);
    to.lines = (size_t *)memory(NULL, wanted * block, sizeof *to.lines);
    to.n = 0;
    for (size_t k = 0; k < blocks && wanted > 0; k++) {
        if (wanted < blocks - k
            && (npksd_real)(blocks - k) * npksd_uniform(&rng) >= (npksd_real)wanted)
            continue;
        memcpy(to.rows + to.n * d->m, d->rows + k * block * d->m, block * d->m * sizeof *to.rows);
        memcpy(to.lines + to.n, d->lines + k * block, block * sizeof *to.lines);
        to.n += block;
        wanted--;
    }
    return to;
}

/* ======== copies ======== */

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A sorted list of what the rows hash to; equal rows have equal numbers. */
static uint64_t *hash_rows(const data *d)
{
    uint64_t *hashes = (uint64_t *)memory(NULL, d->n, sizeof *hashes);
    for (size_t r = 0; r < d->n; r++)
        hashes[r] = hash_bytes(d->rows + r * d->m, d->m * sizeof *d->rows);
    qsort(hashes, d->n, sizeof *hashes, compare_hashes);
    return hashes;
}

static size_t run_length(const uint64_t *sorted, size_t n, size_t from)
{
    size_t end = from;
    while (end < n && sorted[end] == sorted[from])
        end++;
    return end - from;
}

/* Pairs of equal rows within a file, and rows that have a twin there. */
static double equal_pairs(const uint64_t *sorted, size_t n, size_t *twins)
{
    double pairs = 0;
    *twins = 0;
    for (size_t r = 0, length; r < n; r += length) {
        length = run_length(sorted, n, r);
        pairs += 0.5 * (double)length * (double)(length - 1);
        *twins += length > 1 ? length : 0;
    }
    return pairs;
}

/* The chance that two rows are equal, with all the doubt that `pairs` of `all` leave: about the upper
   97.5 % limit of a Poisson mean. */
static double equal_chance(double pairs, double all)
{
    return all > 0 ? (pairs + 2 * sqrt(pairs + 1) + 1.7) / all : 1;
}

/* Rows of one source repeat as often across two files as within each of them (dice and bits all the
   time, measurements never). Where equal pairs across the files are several times as frequent as
   within one of them, rows were copied. */
copies count_copies(const data *observed, const data *synthetic)
{
    enum { TIMES = 3 };
    copies c = { 0, 0, 0, 0 };
    uint64_t *seen = hash_rows(observed), *made = hash_rows(synthetic);
    size_t n = observed->n, rows = synthetic->n, twins;
    double within_observed = equal_pairs(seen, n, &c.repeated),
           within = equal_pairs(made, rows, &twins);
    double across = 0;
    for (size_t r = 0, k = 0, length, others; r < rows; r += length) {
        length = run_length(made, rows, r);
        while (k < n && seen[k] < made[r])
            k++;
        others = k < n && seen[k] == made[r] ? run_length(seen, n, k) : 0;
        c.rows += others ? length : 0;
        across += (double)length * (double)others;
    }
    across /= (double)n * (double)rows;
    c.suspicious = c.rows > 1
        && (across > TIMES * equal_chance(within_observed, 0.5 * (double)n * (double)(n - 1))
            || across > TIMES * equal_chance(within, 0.5 * (double)rows * (double)(rows - 1)));
    c.same_file =
        observed->checksum == synthetic->checksum && observed->file_rows == synthetic->file_rows;
    free(seen);
    free(made);
    return c;
}
