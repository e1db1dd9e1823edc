/*
 * Generators that learn, in plain C: small multilayer perceptrons trained by Adam.
 *
 *   GAN_MLP  generator and discriminator, non-saturating logistic loss (Goodfellow et al. 2014)
 *   VAE      Gaussian encoder and decoder (Kingma & Welling 2013); as is usual for images, a
 *            sample is the decoder's mean, without its noise
 *   NCSN     score network over several noise levels, denoising score matching, sampled by
 *            annealed Langevin dynamics (Song & Ermon 2019)
 *   SGLD     no training: Langevin steps with a noisy gradient of the true log density
 *            (Welling & Teh 2011), each row the end of a chain of its own
 *   REAL     the data themselves
 *
 * Two coordinates, data from bench.h. Networks and loops are as small as the task allows; sizes
 * and rates are constants below.
 */
#ifndef GENERATORS_H
#define GENERATORS_H

#include "bench.h"

/* ======== a perceptron ======== */

enum { MLP_LAYERS_MAX = 4, MLP_WIDTH_MAX = 64 };

typedef struct mlp {
    size_t layers;                    /* of weights */
    size_t sizes[MLP_LAYERS_MAX + 1]; /* inputs, hidden ..., outputs */
    size_t count;                     /* parameters */
    double *weights, *gradient;       /* each layer: inputs x outputs, then outputs of bias */
    double *first, *second;           /* Adam's moments */
    size_t steps;
} mlp;

/* outputs of every layer for one row; values[0] is the input */
typedef struct mlp_trace {
    double values[MLP_LAYERS_MAX + 1][MLP_WIDTH_MAX];
} mlp_trace;

static const double mlp_leak = 0.2; /* slope of the hidden units below 0 */

static BENCH_UNUSED mlp mlp_new(const size_t *sizes, size_t layers, npksd_rng *rng)
{
    mlp net;
    double *w;
    memset(&net, 0, sizeof net);
    net.layers = layers;
    for (size_t l = 0; l <= layers; l++)
        net.sizes[l] = sizes[l];
    for (size_t l = 0; l < layers; l++)
        net.count += (sizes[l] + 1) * sizes[l + 1];
    net.weights = (double *)bench_alloc(4 * net.count, sizeof *net.weights);
    net.gradient = net.weights + net.count;
    net.first = net.gradient + net.count;
    net.second = net.first + net.count;
    w = net.weights;
    for (size_t l = 0; l < layers; l++) { /* He's start; biases 0 */
        double scale = sqrt((l + 1 < layers ? 2.0 : 1.0) / (double)sizes[l]);
        for (size_t i = 0; i < sizes[l] * sizes[l + 1]; i++)
            w[i] = scale * (double)npksd_normal(rng);
        w += (sizes[l] + 1) * sizes[l + 1];
    }
    return net;
}

static BENCH_UNUSED void mlp_free(mlp *net)
{
    free(net->weights);
    net->weights = NULL;
}

/* the outputs for one row of inputs; hidden units are leaky rectifiers, outputs linear */
static BENCH_UNUSED const double *mlp_forward(const mlp *net, const double *x, mlp_trace *trace)
{
    const double *w = net->weights;
    memcpy(trace->values[0], x, net->sizes[0] * sizeof *x);
    for (size_t l = 0; l < net->layers; l++) {
        size_t inputs = net->sizes[l], outputs = net->sizes[l + 1];
        const double *in = trace->values[l], *bias = w + inputs * outputs;
        double *out = trace->values[l + 1];
        memcpy(out, bias, outputs * sizeof *out);
        for (size_t i = 0; i < inputs; i++)
            for (size_t j = 0; j < outputs; j++)
                out[j] += in[i] * w[i * outputs + j];
        for (size_t j = 0; l + 1 < net->layers && j < outputs; j++)
            out[j] = out[j] > 0 ? out[j] : mlp_leak * out[j];
        w = bias + outputs;
    }
    return trace->values[net->layers];
}

/* Adds the gradient of a loss to net->gradient, given its derivative by the outputs; derivative by
   the inputs into slope_in unless NULL. */
static BENCH_UNUSED void mlp_backward(mlp *net, const mlp_trace *trace, const double *slope_out,
                                      double *slope_in)
{
    double slope[2][MLP_WIDTH_MAX];
    size_t end = net->count;
    memcpy(slope[net->layers % 2], slope_out, net->sizes[net->layers] * sizeof *slope_out);
    for (size_t l = net->layers; l-- > 0;) {
        size_t inputs = net->sizes[l], outputs = net->sizes[l + 1];
        size_t start = end - (inputs + 1) * outputs;
        const double *w = net->weights + start, *in = trace->values[l], *dy = slope[(l + 1) % 2];
        double *dw = net->gradient + start, *dx = slope[l % 2];
        for (size_t i = 0; i < inputs; i++) {
            double sum = 0;
            for (size_t j = 0; j < outputs; j++) {
                dw[i * outputs + j] += in[i] * dy[j];
                sum += w[i * outputs + j] * dy[j];
            }
            dx[i] = l > 0 && in[i] <= 0 ? mlp_leak * sum : sum;
        }
        for (size_t j = 0; j < outputs; j++)
            dw[inputs * outputs + j] += dy[j];
        end = start;
    }
    if (slope_in != NULL)
        memcpy(slope_in, slope[0], net->sizes[0] * sizeof *slope_in);
}

/* one step of Adam (Kingma & Ba 2014) down the summed gradient / rows, which is set to 0 */
static BENCH_UNUSED void mlp_adam(mlp *net, double rate, double beta1, size_t rows)
{
    const double beta2 = 0.999;
    double correct1, correct2;
    net->steps++;
    correct1 = 1 - pow(beta1, (double)net->steps);
    correct2 = 1 - pow(beta2, (double)net->steps);
    for (size_t i = 0; i < net->count; i++) {
        double g = net->gradient[i] / (double)rows;
        net->first[i] = beta1 * net->first[i] + (1 - beta1) * g;
        net->second[i] = beta2 * net->second[i] + (1 - beta2) * g * g;
        net->weights[i] -= rate * (net->first[i] / correct1)
            / (sqrt(net->second[i] / correct2) + 1e-8);
        net->gradient[i] = 0;
    }
}

/* ======== the generators ======== */

typedef enum generator_kind {
    GENERATOR_GAN,
    GENERATOR_VAE,
    GENERATOR_NCSN,
    GENERATOR_SGLD,
    GENERATOR_REAL,
    GENERATOR_KINDS
} generator_kind;

static const char *const generator_names[GENERATOR_KINDS] = { "GAN_MLP", "VAE", "NCSN", "SGLD",
                                                              "Real" };

enum {
    GENERATOR_M = 2,            /* coordinates, also of the latent space */
    GENERATOR_HIDDEN = 32,
    GENERATOR_ROWS = 2000,      /* training rows */
    GENERATOR_BATCH = 64,
    GENERATOR_STEPS = 3000,     /* of Adam */
    NCSN_LEVELS = 8,
    NCSN_STEPS = 10,            /* of Langevin at each noise level */
    SGLD_STEPS = 150
};

static const double generator_rate = 1e-3;    /* of Adam; falls to 0 linearly over the steps */
static const double vae_noise = 0.5;          /* sd of the decoder */
static const double ncsn_high = 3, ncsn_low = 0.1; /* largest and smallest noise */
static const double ncsn_step = 0.5;          /* Langevin step / noise^2 */
static const double sgld_step = 0.05, sgld_noise = 1; /* step, sd of the gradient's noise */

typedef struct generator {
    generator_kind kind;
    bench_data truth;
    mlp net; /* GAN: generator; VAE: decoder; NCSN: score */
} generator;

static BENCH_UNUSED double generator_logistic(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static BENCH_UNUSED double ncsn_level(size_t level)
{
    return ncsn_high * pow(ncsn_low / ncsn_high, (double)level / (NCSN_LEVELS - 1));
}

/* score at x for noise sigma: net(x / sqrt(1 + sigma^2), log sigma) / sigma */
static BENCH_UNUSED const double *ncsn_raw(const mlp *net, const double *x, double sigma,
                                           mlp_trace *trace)
{
    double input[GENERATOR_M + 1], shrink = 1 / sqrt(1 + sigma * sigma);
    for (size_t i = 0; i < GENERATOR_M; i++)
        input[i] = shrink * x[i];
    input[GENERATOR_M] = log(sigma);
    return mlp_forward(net, input, trace);
}

/* ======== training ======== */

typedef struct generator_batch {
    const npksd_real *rows; /* GENERATOR_ROWS of them */
    npksd_rng *rng;
    double rate;
} generator_batch;

static BENCH_UNUSED void generator_pick(const generator_batch *b, double *x)
{
    size_t at = (size_t)((double)npksd_uniform(b->rng) * GENERATOR_ROWS);
    for (size_t i = 0; i < GENERATOR_M; i++)
        x[i] = (double)b->rows[at * GENERATOR_M + i];
}

static BENCH_UNUSED void generator_noise(const generator_batch *b, double *z)
{
    for (size_t i = 0; i < GENERATOR_M; i++)
        z[i] = (double)npksd_normal(b->rng);
}

/* discriminator up on real rows and down on drawn ones, then the generator up on its own rows */
static BENCH_UNUSED void gan_step(mlp *net, mlp *judge, const generator_batch *b)
{
    mlp_trace made, judged;
    double x[GENERATOR_M], z[GENERATOR_M], slope, inner[GENERATOR_M];
    for (size_t r = 0; r < GENERATOR_BATCH; r++) {
        generator_pick(b, x);
        slope = generator_logistic(*mlp_forward(judge, x, &judged)) - 1;
        mlp_backward(judge, &judged, &slope, NULL);
        generator_noise(b, z);
        slope = generator_logistic(*mlp_forward(judge, mlp_forward(net, z, &made), &judged));
        mlp_backward(judge, &judged, &slope, NULL);
    }
    mlp_adam(judge, b->rate, 0.5, 2 * GENERATOR_BATCH);
    for (size_t r = 0; r < GENERATOR_BATCH; r++) {
        generator_noise(b, z);
        slope = generator_logistic(*mlp_forward(judge, mlp_forward(net, z, &made), &judged)) - 1;
        mlp_backward(judge, &judged, &slope, inner);
        mlp_backward(net, &made, inner, NULL);
    }
    memset(judge->gradient, 0, judge->count * sizeof *judge->gradient);
    mlp_adam(net, b->rate, 0.5, GENERATOR_BATCH);
}

/* loss |x - decoder(z)|^2 / 2 noise^2 + KL(encoder || N(0, I)), z = mean + exp(log_sd) e */
static BENCH_UNUSED void vae_step(mlp *decoder, mlp *encoder, const generator_batch *b)
{
    mlp_trace encoded, decoded;
    double x[GENERATOR_M], e[GENERATOR_M], z[GENERATOR_M];
    double out[GENERATOR_M], back[GENERATOR_M], slopes[2 * GENERATOR_M];
    for (size_t r = 0; r < GENERATOR_BATCH; r++) {
        const double *code, *mean;
        generator_pick(b, x);
        generator_noise(b, e);
        code = mlp_forward(encoder, x, &encoded); /* means, then log sd */
        for (size_t i = 0; i < GENERATOR_M; i++)
            z[i] = code[i] + exp(code[GENERATOR_M + i]) * e[i];
        mean = mlp_forward(decoder, z, &decoded);
        for (size_t i = 0; i < GENERATOR_M; i++)
            out[i] = (mean[i] - x[i]) / (vae_noise * vae_noise);
        mlp_backward(decoder, &decoded, out, back);
        for (size_t i = 0; i < GENERATOR_M; i++) {
            double sd = exp(code[GENERATOR_M + i]);
            slopes[i] = back[i] + code[i];
            slopes[GENERATOR_M + i] = back[i] * sd * e[i] + sd * sd - 1;
        }
        mlp_backward(encoder, &encoded, slopes, NULL);
    }
    mlp_adam(decoder, b->rate, 0.9, GENERATOR_BATCH);
    mlp_adam(encoder, b->rate, 0.9, GENERATOR_BATCH);
}

/* loss |net(x + sigma e) + e|^2 / 2: then net / sigma is the score of the noisy data */
static BENCH_UNUSED void ncsn_train_step(mlp *net, const generator_batch *b)
{
    mlp_trace trace;
    double x[GENERATOR_M], e[GENERATOR_M], slope[GENERATOR_M];
    for (size_t r = 0; r < GENERATOR_BATCH; r++) {
        double sigma = ncsn_level((size_t)((double)npksd_uniform(b->rng) * NCSN_LEVELS));
        const double *out;
        generator_pick(b, x);
        generator_noise(b, e);
        for (size_t i = 0; i < GENERATOR_M; i++)
            x[i] += sigma * e[i];
        out = ncsn_raw(net, x, sigma, &trace);
        for (size_t i = 0; i < GENERATOR_M; i++)
            slope[i] = out[i] + e[i];
        mlp_backward(net, &trace, slope, NULL);
    }
    mlp_adam(net, b->rate, 0.9, GENERATOR_BATCH);
}

/* Trains on GENERATOR_ROWS rows of truth; steps of Adam, GENERATOR_STEPS is usual. */
static BENCH_UNUSED generator generator_train(generator_kind kind, bench_data truth, uint64_t seed,
                                              size_t steps)
{
    static const size_t plain[4] = { GENERATOR_M, GENERATOR_HIDDEN, GENERATOR_HIDDEN, GENERATOR_M };
    static const size_t judge[4] = { GENERATOR_M, GENERATOR_HIDDEN, GENERATOR_HIDDEN, 1 };
    static const size_t encoder[4] = { GENERATOR_M, GENERATOR_HIDDEN, GENERATOR_HIDDEN,
                                       2 * GENERATOR_M };
    static const size_t score[4] = { GENERATOR_M + 1, GENERATOR_HIDDEN, GENERATOR_HIDDEN,
                                     GENERATOR_M };
    generator g;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, (uint64_t)kind);
    npksd_real *rows = (npksd_real *)bench_alloc(GENERATOR_ROWS * GENERATOR_M, sizeof *rows);
    generator_batch batch;
    mlp other;
    memset(&g, 0, sizeof g);
    memset(&other, 0, sizeof other);
    g.kind = kind;
    g.truth = truth;
    bench_sample(rows, GENERATOR_ROWS, GENERATOR_M, &rng, &truth);
    batch.rows = rows;
    batch.rng = &rng;
    if (kind == GENERATOR_GAN || kind == GENERATOR_VAE) {
        g.net = mlp_new(plain, 3, &rng);
        other = mlp_new(kind == GENERATOR_GAN ? judge : encoder, 3, &rng);
    } else if (kind == GENERATOR_NCSN) {
        g.net = mlp_new(score, 3, &rng);
    } else {
        steps = 0;
    }
    for (size_t s = 0; s < steps; s++) {
        batch.rate = generator_rate * (1 - (double)s / (double)steps);
        if (kind == GENERATOR_GAN)
            gan_step(&g.net, &other, &batch);
        else if (kind == GENERATOR_VAE)
            vae_step(&g.net, &other, &batch);
        else
            ncsn_train_step(&g.net, &batch);
    }
    mlp_free(&other);
    free(rows);
    return g;
}

static BENCH_UNUSED void generator_free(generator *g)
{
    mlp_free(&g->net);
}

/* ======== sampling ======== */

static BENCH_UNUSED void ncsn_row(const generator *g, npksd_rng *rng, double *x)
{
    mlp_trace trace;
    for (size_t i = 0; i < GENERATOR_M; i++)
        x[i] = sqrt(1 + ncsn_high * ncsn_high) * (double)npksd_normal(rng);
    for (size_t level = 0; level < NCSN_LEVELS; level++) {
        double sigma = ncsn_level(level), step = ncsn_step * sigma * sigma;
        for (size_t t = 0; t < NCSN_STEPS; t++) {
            const double *raw = ncsn_raw(&g->net, x, sigma, &trace);
            for (size_t i = 0; i < GENERATOR_M; i++)
                x[i] += step / 2 * raw[i] / sigma + sqrt(step) * (double)npksd_normal(rng);
        }
    }
    const double *raw = ncsn_raw(&g->net, x, ncsn_low, &trace); /* take the last noise off */
    for (size_t i = 0; i < GENERATOR_M; i++)
        x[i] += ncsn_low * raw[i];
}

static BENCH_UNUSED void sgld_row(const generator *g, npksd_rng *rng, double *x)
{
    bench_data truth = g->truth;
    npksd_real row[GENERATOR_M], score[GENERATOR_M];
    for (size_t i = 0; i < GENERATOR_M; i++)
        row[i] = npksd_normal(rng);
    for (size_t t = 0; t < SGLD_STEPS; t++) {
        bench_score(row, 1, GENERATOR_M, score, &truth);
        for (size_t i = 0; i < GENERATOR_M; i++) {
            double slope = (double)score[i] + sgld_noise * (double)npksd_normal(rng);
            row[i] += (npksd_real)(sgld_step / 2 * slope
                                   + sqrt(sgld_step) * (double)npksd_normal(rng));
        }
    }
    for (size_t i = 0; i < GENERATOR_M; i++)
        x[i] = (double)row[i];
}

/* an npksd_sample_fn; user_data: the generator, read only */
static BENCH_UNUSED int generator_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                         void *user_data)
{
    const generator *g = (const generator *)user_data;
    mlp_trace trace;
    double x[GENERATOR_M];
    bench_data truth = g->truth;
    if (m != GENERATOR_M)
        return 1;
    if (g->kind == GENERATOR_REAL)
        return bench_sample(rows, count, m, rng, &truth);
    for (size_t r = 0; r < count; r++) {
        const double *out = x;
        if (g->kind == GENERATOR_NCSN) {
            ncsn_row(g, rng, x);
        } else if (g->kind == GENERATOR_SGLD) {
            sgld_row(g, rng, x);
        } else {
            for (size_t i = 0; i < GENERATOR_M; i++)
                x[i] = (double)npksd_normal(rng);
            out = mlp_forward(&g->net, x, &trace);
        }
        for (size_t i = 0; i < GENERATOR_M; i++)
            rows[r * m + i] = (npksd_real)out[i];
    }
    return 0;
}

#endif /* GENERATORS_H */
