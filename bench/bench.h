/*
 * What the benchmark programs share: a clock, the machine's name, two cores, data to test.
 * Each program is one unit: it includes this file, which includes the implementation of npksd.h.
 */
#ifndef BENCH_H
#define BENCH_H

#define NPKSD_IMPLEMENTATION
#include "npksd.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef BENCH_FLAGS
#define BENCH_FLAGS "(unknown)"
#endif

/* the commit of npksd.h that this program was built with */
#ifndef BENCH_COMMIT
#define BENCH_COMMIT "unknown"
#endif

#if defined(__GNUC__) || defined(__clang__)
#define BENCH_UNUSED __attribute__((unused))
#else
#define BENCH_UNUSED
#endif

/* ======== the machine ======== */

/* is this environment variable set, and not to 0? */
static BENCH_UNUSED int bench_flag(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' && strcmp(text, "0") != 0;
}

static BENCH_UNUSED double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* seconds of this process on a core: what a busy machine does not stretch */
static BENCH_UNUSED double bench_cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* the processor's name, as the kernel tells it */
static BENCH_UNUSED const char *bench_cpu_name(void)
{
    static char name[256] = "unknown processor";
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            snprintf(name, sizeof name, "%s", strchr(line, ':') + 2);
            name[strcspn(name, "\n")] = '\0';
            break;
        }
    if (file != NULL)
        fclose(file);
    return name;
}

#if defined(__clang__)
#define BENCH_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define BENCH_COMPILER "gcc " __VERSION__
#else
#define BENCH_COMPILER "unknown compiler"
#endif

/* processor, compiler, flags and version, in one line without its end */
static BENCH_UNUSED void bench_machine(FILE *f)
{
    int version = npksd_version();
    fprintf(f, "%s, %s `%s`, npksd.h %d.%d.%d (%s)", bench_cpu_name(), BENCH_COMPILER, BENCH_FLAGS,
            version / 10000, version / 100 % 100, version % 100,
            sizeof(npksd_real) == 4 ? "float" : "double");
}

static BENCH_UNUSED void bench_die(const char *what, npksd_status status)
{
    fflush(stdout);
    fprintf(stderr, "bench: %s: %s\n", what, npksd_status_string(status));
    _Exit(2);
}

static BENCH_UNUSED void bench_must(const char *what, npksd_status status)
{
    if (status != NPKSD_OK)
        bench_die(what, status);
}

static BENCH_UNUSED void *bench_alloc(size_t count, size_t bytes)
{
    void *p = calloc(count > 0 ? count : 1, bytes);
    if (p == NULL)
        bench_die("calloc", NPKSD_ERROR_MEMORY);
    return p;
}

/* ======== a section of RESULTS.md ======== */

/* folder/name.md, opened for writing */
static BENCH_UNUSED FILE *bench_section(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.md", folder, name);
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        fprintf(stderr, "bench: %s cannot be written; does the folder exist?\n", path);
        exit(2);
    }
    return f;
}

/* heading, command and machine; the caller goes on with the commit */
static BENCH_UNUSED void bench_title(FILE *f, const char *title, const char *target, int full)
{
    fprintf(f, "## %s\n\n`%smake -C bench %s`%s: ", title, full ? "FULL=1 " : "", target,
            bench_flag("QUICK") ? " (a smoke test: nothing below means anything)" : "");
    bench_machine(f);
    fprintf(f, ", commit ");
}

static BENCH_UNUSED void bench_section_end(FILE *f, const char *folder, const char *name)
{
    int failed = ferror(f) != 0;
    if (fclose(f) != 0 || failed) {
        fprintf(stderr, "bench: writing %s/%s.md failed; is the disk full?\n", folder, name);
        exit(2);
    }
}

/* to the screen, and to a section if there is one */
static BENCH_UNUSED void bench_say(FILE *section, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
    if (section == NULL)
        return;
    va_start(arguments, format);
    vfprintf(section, format, arguments);
    va_end(arguments);
}

/* ======== several processes ======== */

typedef void (*bench_job_fn)(size_t job, void *result, void *context);

/* Runs jobs 0 ... count - 1, spread over processes, each writing its own result_bytes of the
   returned array (shared memory, never given back: the programs are short). */
static BENCH_UNUSED void *bench_parallel(size_t count, size_t processes, size_t result_bytes,
                                         bench_job_fn job_fn, void *context)
{
    size_t bytes = count * result_bytes > 0 ? count * result_bytes : 1;
    char *results = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                 -1, 0);
    if (results == (char *)MAP_FAILED)
        bench_die("mmap", NPKSD_ERROR_MEMORY);
    if (processes < 1)
        processes = 1;
    fflush(stdout);
    for (size_t p = 0; p < processes; p++) {
        pid_t child = fork();
        if (child < 0)
            bench_die("fork", NPKSD_ERROR_MEMORY);
        if (child == 0) {
            for (size_t j = p; j < count; j += processes)
                job_fn(j, results + j * result_bytes, context);
            _Exit(0);
        }
    }
    for (size_t p = 0; p < processes; p++) {
        int status = 0;
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "bench: a worker process failed\n");
            exit(2);
        }
    }
    return results;
}

static BENCH_UNUSED size_t bench_processes(void)
{
    const char *text = getenv("JOBS");
    long cores = text != NULL ? atol(text) : sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > 64 ? 64 : (size_t)cores;
}

/* ======== data ======== */

typedef enum bench_kind {
    BENCH_GAUSS,       /* independent normals */
    BENCH_MIXTURE,     /* two normals around (+centre, ...) and (-centre, ...) */
    BENCH_LAPLACE,     /* a share of the numbers is Laplace instead of normal, same variance */
    BENCH_LAPLACE_ROWS /* the same for whole rows */
} bench_kind;

typedef struct bench_data {
    bench_kind kind;
    double variance;      /* of every coordinate, within a mode */
    double shift;         /* added to the first shift_count coordinates */
    size_t shift_count;
    double centre;        /* MIXTURE: where the modes are ... */
    size_t centre_count;  /* ... in the first so many coordinates */
    double upper;         /* ... and the share of the upper one */
    double covariance;    /* between adjacent coordinates within a mode, below 1/2 */
    double share;         /* LAPLACE: share of Laplace numbers or rows */
} bench_data;

static BENCH_UNUSED bench_data bench_gauss(double variance, double shift)
{
    bench_data d;
    memset(&d, 0, sizeof d);
    d.kind = BENCH_GAUSS;
    d.variance = variance;
    d.shift = shift;
    d.shift_count = (size_t)-1;
    return d;
}

static BENCH_UNUSED bench_data bench_mixture(double centre, double upper, double covariance)
{
    bench_data d = bench_gauss(1, 0);
    d.kind = BENCH_MIXTURE;
    d.centre = centre;
    d.centre_count = (size_t)-1;
    d.upper = upper;
    d.covariance = covariance;
    return d;
}

static BENCH_UNUSED bench_data bench_laplace(bench_kind kind, double share)
{
    bench_data d = bench_gauss(1, 0);
    d.kind = kind;
    d.share = share;
    return d;
}

static BENCH_UNUSED double bench_laplace_draw(npksd_rng *rng)
{
    double u = (double)npksd_uniform(rng) - 0.5;
    double tail = 1 - 2 * fabs(u);
    double x = -log(tail > 1e-300 ? tail : 1e-300) * sqrt(0.5); /* variance 2 * (1/2) */
    return u < 0 ? -x : x;
}

/* One row: tri-diagonal covariance (its Cholesky factor is bidiagonal), tails, modes. */
static BENCH_UNUSED void bench_row(npksd_real *x, size_t m, const bench_data *d, npksd_rng *rng)
{
    double mode = 0, deviation = sqrt(d->variance), below = 0, diagonal = 1;
    int laplace_row = d->kind == BENCH_LAPLACE_ROWS && (double)npksd_uniform(rng) < d->share;
    double previous = 0;
    if (d->kind == BENCH_MIXTURE)
        mode = (double)npksd_uniform(rng) < d->upper ? d->centre : -d->centre;
    for (size_t i = 0; i < m; i++) {
        int laplace = laplace_row
            || (d->kind == BENCH_LAPLACE && (double)npksd_uniform(rng) < d->share);
        double z = laplace ? bench_laplace_draw(rng) : (double)npksd_normal(rng);
        double y = z;
        if (d->covariance > 0 || d->covariance < 0) {
            if (i > 0) {
                below = d->covariance / diagonal;
                diagonal = sqrt(1 - below * below);
            }
            y = below * previous + diagonal * z;
            previous = z;
        }
        y *= deviation;
        if (i < d->centre_count)
            y += mode;
        if (i < d->shift_count)
            y += d->shift;
        x[i] = (npksd_real)y;
    }
}

static BENCH_UNUSED int bench_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng,
                                     void *user_data)
{
    const bench_data *d = (const bench_data *)user_data;
    for (size_t r = 0; r < count; r++)
        bench_row(rows + r * m, m, d, rng);
    return 0;
}

/* The true score of GAUSS and MIXTURE data without covariance: the oracle. */
static BENCH_UNUSED int bench_score(const npksd_real *rows, size_t count, size_t m,
                                    npksd_real *scores, void *user_data)
{
    const bench_data *d = (const bench_data *)user_data;
    if (d->kind != BENCH_GAUSS && d->kind != BENCH_MIXTURE)
        return 1;
    for (size_t r = 0; r < count; r++) {
        const npksd_real *x = rows + r * m;
        double log_odds = 0, mode = 0;
        if (d->kind == BENCH_MIXTURE) {
            log_odds = log(d->upper / (1 - d->upper));
            for (size_t i = 0; i < m && i < d->centre_count; i++)
                log_odds += 2 * d->centre * (double)x[i] / d->variance;
            mode = d->centre * tanh(log_odds / 2);
        }
        for (size_t i = 0; i < m; i++) {
            double centre = (i < d->centre_count ? mode : 0) + (i < d->shift_count ? d->shift : 0);
            scores[r * m + i] = (npksd_real)((centre - (double)x[i]) / d->variance);
        }
    }
    return 0;
}

/* ======== numbers ======== */

static BENCH_UNUSED int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static BENCH_UNUSED double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, bench_compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static BENCH_UNUSED double bench_geometric_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += log(values[i]);
    return exp(sum / (double)count);
}

/* slope of log y over log x by least squares: the power of x that y grows with */
static BENCH_UNUSED double bench_slope(const double *x, const double *y, size_t count)
{
    double centre = log(bench_geometric_mean(x, count)), square = 0, product = 0;
    for (size_t i = 0; i < count; i++) {
        square += (log(x[i]) - centre) * (log(x[i]) - centre);
        product += (log(x[i]) - centre) * log(y[i]);
    }
    return product / square;
}

/* mean and its standard error over count values */
static BENCH_UNUSED void bench_mean(const double *values, size_t count, double *mean, double *error)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    *mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    *error = count > 1 ? sqrt(squares / (double)(count - 1) / (double)count) : 0;
}

/* ======== options from the command line ======== */

static BENCH_UNUSED int bench_name(const char *text, const char *const *names)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    fprintf(stderr, "bench: unknown value '%s'; one of:", text);
    for (int i = 0; names[i] != NULL; i++)
        fprintf(stderr, " %s", names[i]);
    fprintf(stderr, "\n");
    exit(2);
}

static const char *const bench_estimators[] = { "auto", "gauss", "poly", "spline", "rbf",
                                                "true", NULL };
static const char *const bench_summaries[] = { "mean", "none", "all", "mean_var", "neighbours",
                                               NULL };
static const char *const bench_statistics[] = { "u", "uv", "v", NULL };

typedef enum bench_key_kind { BENCH_INT, BENCH_SIZE, BENCH_REAL, BENCH_SCALES } bench_key_kind;

typedef struct bench_key {
    const char *name;
    bench_key_kind kind;
    size_t offset;            /* in npksd_options */
    const char *const *names; /* of the values 0, 1, 2 ..., or NULL: numbers */
} bench_key;

#define BENCH_KEY(field, kind, names) { #field, kind, offsetof(npksd_options, field), names }

static const bench_key bench_keys[] = {
    BENCH_KEY(estimator, BENCH_INT, bench_estimators),
    BENCH_KEY(summary, BENCH_INT, bench_summaries),
    BENCH_KEY(statistic, BENCH_INT, bench_statistics),
    BENCH_KEY(components, BENCH_INT, NULL), /* unsigned: the same for small numbers */
    BENCH_KEY(form, BENCH_INT, NULL),
    BENCH_KEY(kernel, BENCH_INT, NULL),
    BENCH_KEY(degree, BENCH_SIZE, NULL),
    BENCH_KEY(basis, BENCH_SIZE, NULL),
    BENCH_KEY(fit_rows, BENCH_SIZE, NULL),
    BENCH_KEY(pilot, BENCH_SIZE, NULL),
    BENCH_KEY(replicates, BENCH_SIZE, NULL),
    BENCH_KEY(features, BENCH_SIZE, NULL),
    BENCH_KEY(ridge, BENCH_REAL, NULL),
    BENCH_KEY(smooth, BENCH_REAL, NULL),
    BENCH_KEY(scales, BENCH_SCALES, NULL),
};

static BENCH_UNUSED void bench_scales(npksd_options *o, const char *list)
{
    static npksd_real scales[NPKSD_SCALES_MAX];
    o->scale_count = 0;
    o->scales = scales;
    while (list != NULL && o->scale_count < NPKSD_SCALES_MAX) {
        scales[o->scale_count++] = (npksd_real)atof(list);
        list = strchr(list, ',');
        list = list != NULL ? list + 1 : NULL;
    }
}

/* key=value for the options one wants to vary in an experiment; 0 = not such a key */
static BENCH_UNUSED int bench_option(npksd_options *o, const char *argument)
{
    const char *value = strchr(argument, '=');
    size_t length = value != NULL ? (size_t)(value++ - argument) : 0;
    for (size_t i = 0; length > 0 && i < sizeof bench_keys / sizeof bench_keys[0]; i++) {
        const bench_key *key = &bench_keys[i];
        char *field = (char *)o + key->offset;
        if (strlen(key->name) != length || strncmp(argument, key->name, length) != 0)
            continue;
        switch (key->kind) {
        case BENCH_INT:
            *(int *)field = key->names != NULL ? bench_name(value, key->names) : atoi(value);
            break;
        case BENCH_SIZE: *(size_t *)field = (size_t)atol(value); break;
        case BENCH_REAL: *(npksd_real *)field = (npksd_real)atof(value); break;
        case BENCH_SCALES: bench_scales(o, value); break;
        }
        return 1;
    }
    return 0;
}

/* the paper's equations to the letter: V-statistic, one bandwidth, rows not scaled */
static BENCH_UNUSED void bench_letter(npksd_options *o, int summary, int estimator, int form,
                                      unsigned component)
{
    static const npksd_real one = 1;
    o->summary = summary;
    o->estimator = estimator;
    o->form = form;
    o->components = component;
    o->statistic = NPKSD_STATISTIC_V;
    o->standardize = 0;
    o->scales = &one;
    o->scale_count = 1;
}

#endif /* BENCH_H */
