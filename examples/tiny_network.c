/* Has my generative network learnt the data? Train a tiny one and test it on rows it never saw.
 *
 * The recorded rows lie on a bent band. The network turns three random numbers into a row through
 * sixteen tanh units. It is trained in plain C, by gradient descent on the energy distance
 * between a batch of its rows and a batch of recorded ones: 2 |x - y| pulls them together,
 * |x - x'| keeps its own rows apart.
 *
 * The recorded rows are split first: 1000 train the network, 600 are held out for the test. Rows
 * that the network was fitted to would make it look better than it is; the p-value is exact only
 * for held-out rows. The test is repeated during training. ksd2, the size of what the component
 * STEIN sees, falls, and in the end 40 rows show no fault. That does not mean that there is none:
 * 600 rows still show one. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOISE = 3, HIDDEN = 16, M = 2, BATCH = 64, HELD_OUT = 600, FEW = 40, TRAINING = 1000 };
enum { WEIGHTS = HIDDEN * (NOISE + 1) + M * (HIDDEN + 1) };

/* HIDDEN rows of NOISE + 1 weights, then M rows of HIDDEN + 1; the last of a row is the offset */
typedef struct network {
    double w[WEIGHTS];
} network;

static void forward(const network *net, const double *z, double *hidden, double *x)
{
    const double *w = net->w;
    for (int h = 0; h < HIDDEN; h++, w += NOISE + 1) {
        double sum = w[NOISE];
        for (int k = 0; k < NOISE; k++)
            sum += w[k] * z[k];
        hidden[h] = tanh(sum);
    }
    for (int i = 0; i < M; i++, w += HIDDEN + 1) {
        x[i] = w[HIDDEN];
        for (int h = 0; h < HIDDEN; h++)
            x[i] += w[h] * hidden[h];
    }
}

/* Adds the gradient of (dx . x) to g. */
static void backward(const network *net, const double *z, const double *hidden, const double *dx,
                     double *g)
{
    const double *out = net->w + HIDDEN * (NOISE + 1);
    double *g_out = g + HIDDEN * (NOISE + 1);
    for (int i = 0; i < M; i++) {
        for (int h = 0; h < HIDDEN; h++)
            g_out[i * (HIDDEN + 1) + h] += dx[i] * hidden[h];
        g_out[i * (HIDDEN + 1) + HIDDEN] += dx[i];
    }
    for (int h = 0; h < HIDDEN; h++) {
        double back = 0;
        for (int i = 0; i < M; i++)
            back += dx[i] * out[i * (HIDDEN + 1) + h];
        back *= 1 - hidden[h] * hidden[h];
        for (int k = 0; k < NOISE; k++)
            g[h * (NOISE + 1) + k] += back * z[k];
        g[h * (NOISE + 1) + NOISE] += back;
    }
}

/* dx += weight * (a - b) / |a - b|: the gradient of a distance with respect to a */
static void pull(double *dx, const double *a, const double *b, double weight)
{
    double length = sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]));
    for (int i = 0; i < M && length > 0; i++)
        dx[i] += weight * (a[i] - b[i]) / length;
}

/* One step of Adam on the energy distance of two batches. */
static void train_step(network *net, const npksd_real *rows, npksd_rng *rng, int step, double *mean,
                       double *square)
{
    double z[BATCH][NOISE], hidden[BATCH][HIDDEN], x[BATCH][M], y[BATCH][M], g[WEIGHTS] = { 0 };
    for (int a = 0; a < BATCH; a++) {
        const npksd_real *row = rows + M * (size_t)(npksd_uniform(rng) * TRAINING);
        for (int k = 0; k < NOISE; k++)
            z[a][k] = (double)npksd_normal(rng);
        for (int i = 0; i < M; i++)
            y[a][i] = (double)row[i];
        forward(net, z[a], hidden[a], x[a]);
    }
    for (int a = 0; a < BATCH; a++) {
        double dx[M] = { 0, 0 };
        for (int b = 0; b < BATCH; b++) {
            pull(dx, x[a], y[b], 2.0 / BATCH);
            pull(dx, x[a], x[b], -2.0 / (BATCH - 1));
        }
        backward(net, z[a], hidden[a], dx, g);
    }
    double rate = 0.01 / (1 + step / 2000.0);
    for (int k = 0; k < WEIGHTS; k++) {
        mean[k] += 0.1 * (g[k] / BATCH - mean[k]);
        square[k] += 0.01 * (g[k] * g[k] / (BATCH * BATCH) - square[k]);
        net->w[k] -= rate * mean[k] / (sqrt(square[k]) + 1e-8);
    }
}

/* The generator under test: the network as it is now. */
static int generate(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    for (size_t r = 0; r < count; r++) {
        double z[NOISE], hidden[HIDDEN], x[M];
        for (int k = 0; k < NOISE; k++)
            z[k] = (double)npksd_normal(rng);
        forward((const network *)user_data, z, hidden, x);
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = (npksd_real)x[i];
    }
    return 0;
}

static void record(npksd_real *rows, size_t count, npksd_rng *rng)
{
    for (size_t r = 0; r < count; r++) {
        rows[r * M] = 2 * npksd_normal(rng);
        rows[r * M + 1] = rows[r * M] * rows[r * M] / 4 + (npksd_real)0.5 * npksd_normal(rng);
    }
}

static npksd_result test(const npksd_real *rows, size_t n, network *net, size_t features)
{
    npksd_options options = npksd_default_options();
    npksd_result result;
    options.features = features;
    npksd_status status = npksd_test(rows, n, M, generate, net, &options, &result);
    if (status != NPKSD_OK) {
        fprintf(stderr, "tiny_network: %s\n", npksd_status_string(status));
        exit(EXIT_FAILURE);
    }
    return result;
}

int main(void)
{
    static npksd_real training[TRAINING * M], held_out[HELD_OUT * M];
    static network net;
    static double mean[WEIGHTS], square[WEIGHTS];
    npksd_result few;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 5, 0);
    int step = 0, first = 0;
    record(training, TRAINING, &rng);
    record(held_out, HELD_OUT, &rng);
    for (int k = 0; k < WEIGHTS; k++)
        net.w[k] = 0.5 * (double)npksd_normal(&rng);
    printf("  training steps, then the test with %d held-out rows\n", FEW);
    for (int stop = 0; stop <= 8000; stop = stop ? 4 * stop : 125) {
        for (; step < stop; step++)
            train_step(&net, training, &rng, step, mean, square);
        few = test(held_out, FEW, &net, 0);
        first = step == 0 ? few.reject : first;
        printf("  %5d   p = %.3f, %-12s  KSD^2 = %7.4f\n", step, (double)few.p_value,
               few.reject ? "rejected" : "not rejected", (double)few.ksd2);
    }
    npksd_result many = test(held_out, HELD_OUT, &net, 128); /* in linear time, as n is large */
    printf("  and with %d rows: p = %.3f, %s\n", HELD_OUT, (double)many.p_value,
           many.reject ? "rejected" : "not rejected");
    return first && !few.reject ? EXIT_SUCCESS : EXIT_FAILURE;
}
