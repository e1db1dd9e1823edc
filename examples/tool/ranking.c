/* Which of several candidates is nearest to the recording? The energy distance
 *
 *     2 E|X - Y| - E|X - X'| - E|Y - Y'|     X recorded rows, Y rows of the candidate
 *
 * over columns scaled by the standard deviations of all rows together: one ruler for all candidates,
 * and no bandwidth to choose. (The statistics of the tests cannot be compared: each tester has scores
 * and scales of its own.) It is a description, not a test. */
#include "tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ======== distances ======== */

/* Rows as points of the common scale. */
static double *scale_rows(const data *d, const double *mean, const double *sd)
{
    double *points = (double *)memory(NULL, d->n * d->m, sizeof *points);
    for (size_t r = 0; r < d->n; r++)
        for (size_t i = 0; i < d->m; i++)
            points[r * d->m + i] =
                sd[i] > 0 ? ((double)d->rows[r * d->m + i] - mean[i]) / sd[i] : 0;
    return points;
}

static float *distances(const double *a, size_t n, const double *b, size_t rows, size_t m)
{
    float *to = (float *)memory(NULL, n * rows, sizeof *to);
    for (size_t r = 0; r < n; r++)
        for (size_t k = 0; k < rows; k++) {
            double sum = 0;
            for (size_t i = 0; i < m; i++) {
                double x = a[r * m + i] - b[k * m + i];
                sum += x * x;
            }
            to[r * rows + k] = (float)sqrt(sum);
        }
    return to;
}

/* Mean over pairs, row r of one side counted u[r] times and row k of the other v[k] times. Within
   one side a row is not paired with itself: a resample has many such pairs, and they would look like
   nearness. */
static double mean_distance(const float *d, const unsigned *u, size_t n, const unsigned *v,
                            size_t rows, int within)
{
    double sum = 0, weight = 0;
    for (size_t r = 0; r < n; r++) {
        double row = 0, pairs = 0;
        for (size_t k = 0; k < rows && u[r]; k++) {
            row += (double)v[k] * (double)d[r * rows + k];
            pairs += (double)v[k];
        }
        pairs -= within ? (double)u[r] : 0;
        sum += (double)u[r] * row;
        weight += (double)u[r] * pairs;
    }
    return weight > 0 ? sum / weight : 0;
}

/* ======== candidates ======== */

/* The rows of one side, and how far they lie from each other. */
typedef struct cloud {
    size_t n;
    double *points;
    float *within, *across; /* across: from the recording to here */
    unsigned *counts;       /* n; how often a row is in the resample */
} cloud;

static void resample(cloud *c, npksd_rng *rng)
{
    memset(c->counts, 0, c->n * sizeof *c->counts);
    for (size_t k = 0; k < c->n; k++)
        c->counts[(size_t)(npksd_uniform(rng) * (npksd_real)c->n)]++;
}

static double energy(const cloud *observed, double observed_spread, const cloud *c)
{
    return 2 * mean_distance(c->across, observed->counts, observed->n, c->counts, c->n, 0)
        - observed_spread - mean_distance(c->within, c->counts, c->n, c->counts, c->n, 1);
}

static double spread(const cloud *c)
{
    return mean_distance(c->within, c->counts, c->n, c->counts, c->n, 1);
}

/* All rows together, at most RANKED_ROWS of each file, picked at random. */
static data *sample_files(const data *observed, const comparison *candidates, size_t count,
                          uint64_t seed)
{
    data *parts = (data *)memory(NULL, count + 1, sizeof *parts);
    parts[0] = take_rows(observed, RANKED_ROWS, 1, seed);
    for (size_t k = 0; k < count; k++)
        parts[k + 1] = take_rows(&candidates[k].synthetic, RANKED_ROWS, 1, seed);
    return parts;
}

static void common_scale(const data *parts, size_t count, double *mean, double *sd)
{
    data all = parts[0];
    all.n = 0;
    for (size_t k = 0; k < count; k++)
        all.n += parts[k].n;
    all.rows = (npksd_real *)memory(NULL, all.n * all.m, sizeof *all.rows);
    for (size_t k = 0, at = 0; k < count; k++, at += parts[k - 1].n * all.m)
        memcpy(all.rows + at, parts[k].rows, parts[k].n * all.m * sizeof *all.rows);
    for (size_t i = 0; i < all.m; i++)
        column_moments(&all, i, &mean[i], &sd[i]);
    free(all.rows);
}

static cloud *make_clouds(data *parts, size_t count)
{
    size_t m = parts[0].m;
    double *mean = (double *)memory(NULL, 2 * m, sizeof *mean);
    cloud *clouds = (cloud *)memory(NULL, count, sizeof *clouds);
    common_scale(parts, count, mean, mean + m);
    for (size_t k = 0; k < count; k++) {
        cloud *c = &clouds[k];
        c->n = parts[k].n;
        c->points = scale_rows(&parts[k], mean, mean + m);
        c->within = distances(c->points, c->n, c->points, c->n, m);
        c->across = k ? distances(clouds[0].points, clouds[0].n, c->points, c->n, m) : NULL;
        c->counts = (unsigned *)memory(NULL, c->n, sizeof *c->counts);
        for (size_t r = 0; r < c->n; r++)
            c->counts[r] = 1;
        data_free(&parts[k]);
    }
    free(mean);
    free(parts);
    return clouds;
}

static void free_clouds(cloud *clouds, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        free(clouds[k].points);
        free(clouds[k].within);
        free(clouds[k].across);
        free(clouds[k].counts);
    }
    free(clouds);
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Every candidate meets the same resamples of the recording. */
static void bootstrap(ranking *r, cloud *clouds, uint64_t seed)
{
    double *values = (double *)memory(NULL, r->count * RANKED_RESAMPLES, sizeof *values);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, UINT64_C(0x72616e6b));
    for (size_t b = 0; b < RANKED_RESAMPLES; b++) {
        size_t best = 0;
        resample(&clouds[0], &rng);
        double observed_spread = spread(&clouds[0]);
        for (size_t k = 0; k < r->count; k++) {
            resample(&clouds[k + 1], &rng);
            values[k * RANKED_RESAMPLES + b] = energy(&clouds[0], observed_spread, &clouds[k + 1]);
            if (values[k * RANKED_RESAMPLES + b] < values[best * RANKED_RESAMPLES + b])
                best = k;
        }
        r->items[best].best += 1.0 / RANKED_RESAMPLES;
    }
    for (size_t k = 0; k < r->count; k++) {
        double *own = values + k * RANKED_RESAMPLES;
        qsort(own, RANKED_RESAMPLES, sizeof *own, compare_numbers);
        r->items[k].low = own[RANKED_RESAMPLES / 40];
        r->items[k].high = own[RANKED_RESAMPLES - 1 - RANKED_RESAMPLES / 40];
    }
    free(values);
}

void rank_candidates(ranking *r, const data *observed, const comparison *candidates, size_t count,
                     uint64_t seed)
{
    cloud *clouds = make_clouds(sample_files(observed, candidates, count, seed), count + 1);
    double *keys = (double *)memory(NULL, count, sizeof *keys),
           observed_spread = spread(&clouds[0]);
    memset(r, 0, sizeof *r);
    r->count = count;
    r->observed_rows = clouds[0].n;
    r->items = (ranked *)memory(NULL, count, sizeof *r->items);
    memset(r->items, 0, count * sizeof *r->items);
    for (size_t k = 0; k < count; k++) {
        r->items[k].distance = energy(&clouds[0], observed_spread, &clouds[k + 1]);
        r->most_rows = clouds[k + 1].n > r->most_rows ? clouds[k + 1].n : r->most_rows;
        keys[k] = -r->items[k].distance;
    }
    r->order = sort_down(keys, count);
    bootstrap(r, clouds, seed);
    append(&r->words,
           "Energy distance to the recording, columns scaled by their deviation over all files, at "
           "most %d rows of "
           "each file; 0 is no difference, and chance brings values on both sides of it. Interval "
           "and best: %d "
           "resamples of the rows. This is a description, not a test: the nearest may still be "
           "rejected, and "
           "where intervals overlap the order may be chance.",
           RANKED_ROWS, RANKED_RESAMPLES);
    free(keys);
    free_clouds(clouds, count + 1);
}
