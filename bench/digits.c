/*
 * MNIST and CIFAR-10 rows against real rows, a GAN and a VAE, in the sizes of the paper: MNIST 600
 * generated rows and 100 observed, CIFAR-10 800 and 200, alpha 0.05. Two disjoint real sets are the
 * null. The folder with the .npy files is the first argument.
 *
 *     digits FOLDER [trials=T] [key=value ...]     e.g. smooth=0.1 estimator=gauss
 *
 * With npksd_test_samples every trial takes fresh rows and is exact. Without it (older npksd.h) the
 * generator draws the n rows of each data set at random, without replacement inside a data set,
 * from all rows of the file: a file of 6000 rows stands in for an endless generator, so the
 * level is approximate. The output says which of the two it was.
 */
#include "bench.h"

static size_t trials = 100;
static int quick;
static char **option_arguments;
static int option_count;

/* ======== .npy ======== */

typedef struct table {
    npksd_real *rows;
    size_t count, m;
} table;

static void npy_fail(const char *path, const char *expected, const char *found)
{
    fprintf(stderr, "digits: %s: expected %s, found %s\n", path, expected, found);
    exit(2);
}

static size_t npy_number(const char *path, const char **text)
{
    char *end;
    unsigned long long value = strtoull(*text, &end, 10);
    if (end == *text || value == 0 || value > 100000000ULL)
        npy_fail(path, "a shape (rows, columns) in the header", *text);
    *text = end;
    return (size_t)value;
}

/* Version 1.0, little-endian float32, C order, two dimensions: what the files are. */
static table npy_read(const char *folder, const char *name, size_t m)
{
    char path[1024], header[4096];
    unsigned char start[10], word[4];
    table t;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        npy_fail(path, "a readable file", "none");
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        npy_fail(path, "the magic \\x93NUMPY", "another beginning");
    if (start[6] != 1)
        npy_fail(path, ".npy version 1", "another version");
    size_t length = (size_t)start[8] + 256 * (size_t)start[9];
    if (length >= sizeof header || fread(header, 1, length, file) != length)
        npy_fail(path, "a header of less than 4096 bytes", "a longer or truncated one");
    header[length] = '\0';
    if (strstr(header, "'<f4'") == NULL)
        npy_fail(path, "descr '<f4' (float32)", header);
    if (strstr(header, "'fortran_order': False") == NULL)
        npy_fail(path, "C order", header);
    const char *shape = strstr(header, "'shape': (");
    if (shape == NULL)
        npy_fail(path, "a shape", header);
    shape += strlen("'shape': (");
    t.count = npy_number(path, &shape);
    shape += strspn(shape, ", ");
    t.m = npy_number(path, &shape);
    if (t.m != m) {
        char want[64], got[64];
        snprintf(want, sizeof want, "%zu columns", m);
        snprintf(got, sizeof got, "%zu", t.m);
        npy_fail(path, want, got);
    }
    t.rows = (npksd_real *)bench_alloc(t.count * t.m, sizeof *t.rows);
    for (size_t i = 0; i < t.count * t.m; i++) {
        uint32_t bits;
        float value;
        if (fread(word, 1, 4, file) != 4) {
            char want[64], got[64];
            snprintf(want, sizeof want, "%zu x %zu numbers", t.count, t.m);
            snprintf(got, sizeof got, "the end after %zu", i);
            npy_fail(path, want, got);
        }
        bits = (uint32_t)word[0] | (uint32_t)word[1] << 8 | (uint32_t)word[2] << 16
            | (uint32_t)word[3] << 24;
        memcpy(&value, &bits, sizeof value);
        t.rows[i] = (npksd_real)value;
    }
    fclose(file);
    return t;
}

/* ======== drawing rows ======== */

/* count different rows of t at random; index: t->count numbers, any permutation of 0 ... */
static void draw_rows(const table *t, size_t *index, size_t count, npksd_real *out, npksd_rng *rng)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = i + (size_t)((double)npksd_uniform(rng) * (double)(t->count - i));
        size_t swap = index[i];
        index[i] = index[j];
        index[j] = swap;
        memcpy(out + i * t->m, t->rows + index[i] * t->m, t->m * sizeof *out);
    }
}

static size_t *new_index(size_t count)
{
    size_t *index = (size_t *)bench_alloc(count, sizeof *index);
    for (size_t i = 0; i < count; i++)
        index[i] = i;
    return index;
}

/* ======== one comparison ======== */

typedef struct comparison {
    const char *name;
    const table *observed, *generated; /* the same table: rows are drawn disjoint */
    size_t n, rows;
    npksd_real contrast;               /* observed values are pulled to 128 by this factor */
    npksd_options options;
} comparison;

typedef struct outcome {
    double reject, p, out_of_range;
    unsigned leading, flags;
} outcome;

static void pull(npksd_real *rows, size_t count, npksd_real contrast)
{
    for (size_t i = 0; i < count; i++)
        rows[i] = 128 + contrast * (rows[i] - 128);
}

static void keep(outcome *o, const npksd_result *r)
{
    o->reject = r->reject;
    o->p = (double)r->p_value;
    o->out_of_range = (double)r->out_of_range;
    o->leading = r->leading;
    o->flags = r->flags;
}

/* Observed and synthetic rows of one trial; both from one table: disjoint. */
static void draw_trial(const comparison *c, size_t trial, npksd_real *observed,
                       npksd_real *synthetic, size_t rows)
{
    size_t m = c->observed->m;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 2024, trial);
    size_t *index = new_index(c->observed->count);
    if (c->observed == c->generated) {
        npksd_real *both = (npksd_real *)bench_alloc((c->n + rows) * m, sizeof *both);
        draw_rows(c->observed, index, c->n + rows, both, &rng);
        memcpy(observed, both, c->n * m * sizeof *both);
        memcpy(synthetic, both + c->n * m, rows * m * sizeof *both);
        free(both);
    } else {
        draw_rows(c->observed, index, c->n, observed, &rng);
        free(index);
        index = new_index(c->generated->count);
        draw_rows(c->generated, index, rows, synthetic, &rng);
    }
    free(index);
    pull(observed, c->n * m, c->contrast);
}

#ifdef BENCH_SAMPLES
static void trial_job(size_t job, void *out, void *context)
{
    const comparison *c = (const comparison *)context;
    size_t m = c->observed->m;
    npksd_real *observed = (npksd_real *)bench_alloc(c->n * m, sizeof *observed);
    npksd_real *synthetic = (npksd_real *)bench_alloc(c->rows * m, sizeof *synthetic);
    npksd_options o = c->options;
    npksd_result result;
    o.seed = job;
    draw_trial(c, job, observed, synthetic, c->rows);
    bench_must("npksd_test_samples",
               npksd_test_samples(observed, c->n, synthetic, c->rows, m, &o, &result));
    keep((outcome *)out, &result);
    free(observed);
    free(synthetic);
}

static void say_how(void)
{
    printf("npksd_test_samples: every trial draws its own observed and generated rows; exact\n\n");
}
#else
typedef struct pool {
    table rows;
    size_t *index;
} pool;

static int pool_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    pool *p = (pool *)user_data;
    (void)m;
    for (size_t i = 0; i < p->rows.count; i++)
        p->index[i] = i; /* a data set depends on its random stream only */
    draw_rows(&p->rows, p->index, count, rows, rng);
    return 0;
}

static void trial_job(size_t job, void *out, void *context)
{
    const comparison *c = (const comparison *)context;
    size_t m = c->observed->m, rows = c->generated->count;
    if (c->observed == c->generated)
        rows -= c->n;
    npksd_real *observed = (npksd_real *)bench_alloc(c->n * m, sizeof *observed);
    npksd_options o = c->options;
    npksd_result result;
    pool p;
    o.seed = job;
    o.fit_rows = c->rows;
    p.rows.rows = (npksd_real *)bench_alloc(rows * m, sizeof *observed);
    p.rows.count = rows;
    p.rows.m = m;
    p.index = new_index(rows);
    draw_trial(c, job, observed, p.rows.rows, rows);
    bench_must("npksd_test", npksd_test(observed, c->n, m, pool_sample, &p, &o, &result));
    keep((outcome *)out, &result);
    free(observed);
    free(p.rows.rows);
    free(p.index);
}

static void say_how(void)
{
    printf("this npksd.h has no npksd_test_samples: npksd_test with a generator that draws each\n"
           "data set without replacement from the whole file (disjoint from the observed rows);\n"
           "a finite file is not an endless generator, so the level is approximate\n\n");
}
#endif

static const char *leading_name(const size_t *counts)
{
    static const char *const names[4] = { "STEIN", "MIRROR", "MOMENT", "MMD" };
    size_t best = 0;
    for (size_t k = 1; k < 4; k++)
        if (counts[k] > counts[best])
            best = k;
    return names[best];
}

static void compare(const comparison *c, const char *options_name)
{
    double start = bench_now(), reject = 0, outside = 0;
    comparison copy = *c;
    size_t leading[4] = { 0, 0, 0, 0 };
    double *p = (double *)bench_alloc(trials, sizeof *p);
    outcome *all = (outcome *)bench_parallel(trials, bench_processes(), sizeof *all, trial_job,
                                             &copy);
    for (size_t i = 0; i < trials; i++) {
        reject += all[i].reject;
        outside += all[i].out_of_range;
        p[i] = all[i].p;
        for (size_t k = 0; k < 4; k++)
            leading[k] += all[i].leading == 1u << k;
    }
    reject /= (double)trials;
    outside /= (double)trials;
    printf("%-34s %-14s %5.2f %5.3f %8.3f %8.2f %-7s %5s %8.1f\n", c->name, options_name, reject,
           sqrt(reject * (1 - reject) / (double)trials), bench_median(p, trials), outside,
           leading_name(leading), all[0].flags & NPKSD_FLAG_TIES ? "ties" : "",
           1e3 * (bench_now() - start) / (double)trials);
    fflush(stdout);
    free(p);
}

static void print_head(const char *title)
{
    printf("== %s, %zu trials\n\n%-34s %-14s %5s %5s %8s %8s %-7s %5s %8s\n", title, trials,
           "observed against generated", "options", "rate", "s.e.", "median p", "outside",
           "leading", "", "ms/trial");
}

/* default options, the paper's statistic, and default with noise against ties */
static void compare_all(comparison c)
{
    static const npksd_real one = 1;
    npksd_options o = npksd_default_options();
    o.replicates = quick ? 49 : 499;
    for (int i = 0; i < option_count; i++)
        bench_option(&o, option_arguments[i]);
    c.options = o;
    compare(&c, "default");
    c.options.smooth = (npksd_real)0.1;
    compare(&c, "smooth 0.1");
    c.options = o;
    c.options.components = NPKSD_COMPONENT_STEIN;
    c.options.statistic = NPKSD_STATISTIC_V;
    c.options.scales = &one;
    c.options.scale_count = 1;
    compare(&c, "NP-KSD_mean");
    c.options.summary = NPKSD_SUMMARY_ALL;
    compare(&c, "NP-KSD");
}

static void run_mnist(const char *folder)
{
    table real = npy_read(folder, "mnist_train_7x7.npy", 49);
    table other = npy_read(folder, "mnist_train_b_7x7.npy", 49);
    table gan = npy_read(folder, "mnist_gan_mlp_7x7.npy", 49);
    table vae = npy_read(folder, "mnist_vae_7x7.npy", 49);
    comparison c;
    memset(&c, 0, sizeof c);
    c.n = 100;
    c.rows = 600;
    c.contrast = 1;
    c.observed = &other;
    print_head("MNIST 7x7: 100 observed rows, 600 generated, m = 49");
    c.name = "real against real (the level)";
    c.generated = &real;
    compare_all(c);
    c.name = "real against GAN (MLP)";
    c.generated = &gan;
    compare_all(c);
    c.name = "real against VAE";
    c.generated = &vae;
    compare_all(c);
    printf("\n");
    free(real.rows);
    free(other.rows);
    free(gan.rows);
    free(vae.rows);
}

static void run_cifar(const char *folder)
{
    table real = npy_read(folder, "cifar_train_8x8.npy", 192);
    comparison c;
    memset(&c, 0, sizeof c);
    c.n = 200;
    c.rows = 800;
    c.observed = &real;
    c.generated = &real;
    print_head("CIFAR-10 8x8: 200 observed rows, 800 generated, m = 192");
    c.name = "real against real (the level)";
    c.contrast = 1;
    compare_all(c);
    c.name = "real, contrast 0.9, against real";
    c.contrast = (npksd_real)0.9;
    compare_all(c);
    printf("(the folder has no generated CIFAR-10 rows: less contrast is the known "
           "difference)\n\n");
    free(real.rows);
}

int main(int argc, char **argv)
{
    const char *text = getenv("QUICK");
    quick = text != NULL && text[0] != '\0' && strcmp(text, "0") != 0;
    if (argc < 2) {
        fprintf(stderr, "usage: digits FOLDER [trials=T] [key=value ...]\n");
        return 2;
    }
    if (quick)
        trials = 4;
    option_arguments = (char **)bench_alloc((size_t)argc, sizeof *option_arguments);
    for (int i = 2; i < argc; i++) {
        npksd_options scratch = npksd_default_options();
        if (strncmp(argv[i], "trials=", 7) == 0 && atol(argv[i] + 7) > 0) {
            trials = (size_t)atol(argv[i] + 7);
        } else if (bench_option(&scratch, argv[i])) {
            option_arguments[option_count++] = argv[i];
        } else {
            fprintf(stderr, "digits: unknown argument '%s'\n", argv[i]);
            return 2;
        }
    }
    bench_print_machine();
    printf("\n");
    say_how();
    run_mnist(argv[1]);
    run_cifar(argv[1]);
    return 0;
}
