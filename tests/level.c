/*
 * Is the p-value exact? For each kind of data and each way to test it, SEEDS data sets from the
 * generator itself are tested; the share rejected must be the level, within 4 binomial standard
 * errors. All data but dice are continuous, so there the share may not be too small either.
 *
 *     level            all cases
 *     level 0 2        the even ones, level 1 2 the odd ones: two halves for two cores
 */
#include "options.h"
#include <math.h>

enum { SEEDS = 300, ROWS_MAX = 40, COLUMNS_MAX = 3 };
enum { LEVELS = 2 };
static const double levels[LEVELS] = { 0.05, 0.2 }; /* both on the grid of 99 replicates */

/* ======== data ======== */

static int correlated(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t r = 0; r < count; r++) {
        npksd_real *x = rows + r * m;
        x[0] = npksd_normal(rng);
        for (size_t i = 1; i < m; i++)
            x[i] = (npksd_real)0.8 * x[i - 1] + (npksd_real)0.6 * npksd_normal(rng);
    }
    return 0;
}

static int correlated_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores,
                            void *user_data)
{
    const npksd_real a = (npksd_real)0.8, precision = (npksd_real)(1 / 0.36);
    (void)user_data;
    for (size_t r = 0; r < count; r++) {
        const npksd_real *x = rows + r * m;
        for (size_t i = 0; i < m; i++) {
            npksd_real s = i == 0 ? -x[0] : -(x[i] - a * x[i - 1]) * precision;
            if (i + 1 < m)
                s += a * (x[i + 1] - a * x[i]) * precision;
            scores[r * m + i] = s;
        }
    }
    return 0;
}

static int mixture(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t r = 0; r < count; r++) {
        npksd_real centre = npksd_uniform(rng) < (npksd_real)0.3 ? -2 : 2;
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = centre + npksd_normal(rng);
    }
    return 0;
}

static int wild_scales(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    static const double scales[COLUMNS_MAX] = { 1e-9, 1, 1e9 };
    correlated(rows, count, m, rng, user_data);
    for (size_t i = 0; i < count * m; i++)
        rows[i] = (rows[i] + 5) * (npksd_real)scales[i % m];
    return 0;
}

static int skewed(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t r = 0; r < count; r++) {
        npksd_real previous = 0;
        for (size_t i = 0; i < m; i++) {
            double exponential = -log(1 - (double)npksd_uniform(rng));
            rows[r * m + i] = previous = previous / 2 + (npksd_real)exponential;
        }
    }
    return 0;
}

static int dice(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = (npksd_real)(1 + (int)(6 * npksd_uniform(rng)));
    return 0;
}

typedef struct data_kind {
    const char *name;
    npksd_sample_fn sample_fn;
    npksd_score_fn score_fn; /* where it is known */
    size_t n, m, fit_rows;
    int continuous;
} data_kind;

static const data_kind kinds[] = {
    { "correlated", correlated, correlated_score, 30, 3, 300, 1 },
    { "mixture", mixture, NULL, 40, 2, 400, 1 },
    { "wild scales", wild_scales, NULL, 20, 3, 200, 1 },
    { "skewed", skewed, NULL, 30, 2, 250, 1 },
    { "dice", dice, NULL, 30, 3, 300, 0 },
};

/* ======== ways to test ======== */

typedef struct method {
    const char *name, *words;
    int needs_score;
    int conservative; /* the level is an upper bound only, whatever the data */
    int adjusted;     /* count the smallest adjusted p-value of a column (1), of a pair (2) instead */
    int halves;       /* fixed samples: so many times n/2 synthetic rows; 0: a generator */
} method;

static const method methods[] = {
    { "AUTO", "", 0, 0, 0, 0 },
    { "GAUSS", "gauss", 0, 0, 0, 0 },
    { "POLY", "poly", 0, 0, 0, 0 },
    { "SPLINE", "spline", 0, 0, 0, 0 },
    { "RBF", "rbf", 0, 0, 0, 0 },
    { "CALLBACK", "score_callback", 1, 0, 0, 0 },
    { "summary ALL", "all", 0, 0, 0, 0 },
    { "resample shared", "resample=2", 0, 0, 0, 0 },
    { "resample redrawn", "resample=2 redraw", 0, 0, 0, 0 },
    { "resample distinct", "resample=2 distinct", 0, 0, 0, 0 },
    { "features", "features=20", 0, 0, 0, 0 },
    { "IMQ", "imq", 0, 0, 0, 0 },
    { "SCALAR", "scalar", 0, 0, 0, 0 },
    { "MMD", "mmd", 0, 0, 0, 0 },
    { "MARGIN", "margin", 0, 1, 0, 0 }, /* places among edges: rows may tie */
    { "PAIR", "pair", 0, 1, 0, 0 },
    { "the paper", "scales=1 stein v scalar unscaled", 0, 0, 0, 0 },
    { "smooth", "smooth=0.3", 0, 0, 0, 0 },
    { "not scaled", "unscaled", 0, 0, 0, 0 },
    { "early stop", "stop_after=25", 0, 1, 0, 0 },
    { "adjusted columns", "", 0, 1, 1, 0 },
    { "adjusted pairs", "", 0, 1, 2, 0 },
    { "samples, n/2", "", 0, 1, 0, 1 }, /* few choices: observed and replicates may tie */
    { "samples, n", "", 0, 1, 0, 2 },
    { "samples, 3 n", "", 0, 1, 0, 6 },
    { "samples, 10 n", "", 0, 1, 0, 20 },
    { "samples, blocks", "block=5", 0, 1, 0, 6 },
};

/* The p-value of one fresh data set against one freshly fitted test; negative on error. */
static double one_p_value(const data_kind *kind, const method *how, uint64_t seed)
{
    npksd_real rows[ROWS_MAX * COLUMNS_MAX], adjusted[COLUMNS_MAX];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, ~seed, 0);
    npksd_options options = npksd_default_options();
    npksd_result result;
    npksd_pair pair;
    npksd_diagnosis diagnosis;
    npksd_status status;
    options.seed = seed;
    options.fit_rows = kind->fit_rows;
    options.replicates = 99;
    options.pilot = 30;
    options.score_fn = kind->score_fn;
    set_options(&options, how->words);
    kind->sample_fn(rows, kind->n, kind->m, &rng, NULL);
    if (how->halves > 0) {
        npksd_real synthetic[10 * ROWS_MAX * COLUMNS_MAX];
        size_t count = (size_t)how->halves * kind->n / 2;
        kind->sample_fn(synthetic, count, kind->m, &rng, NULL);
        status = npksd_test_samples(rows, kind->n, synthetic, count, kind->m, &options, &result);
        return status == NPKSD_OK ? (double)result.p_value : (double)status;
    }
    if (!how->adjusted) {
        status = npksd_test(rows, kind->n, kind->m, kind->sample_fn, NULL, &options, &result);
        return status == NPKSD_OK ? (double)result.p_value : (double)status;
    }
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.coordinate_p_adjusted = adjusted;
    diagnosis.pairs = &pair; /* the worst one */
    diagnosis.pair_capacity = 1;
    status = npksd_test_diagnose(rows, kind->n, kind->m, kind->sample_fn, NULL, &options, &result,
                                 &diagnosis, NULL);
    if (status != NPKSD_OK)
        return (double)status;
    if (how->adjusted == 2)
        return diagnosis.pair_count > 0 ? (double)pair.p_adjusted : 1;
    npksd_real smallest = adjusted[0];
    for (size_t i = 1; i < kind->m; i++)
        if (adjusted[i] < smallest)
            smallest = adjusted[i];
    return (double)smallest;
}

/* ======== counting ======== */

typedef struct tally {
    size_t trials, rejected[LEVELS];
} tally;

/* One line of the table; 1 = within the bounds. */
static int judge(const char *data, const char *name, const tally *t, int two_sided)
{
    int good = 1;
    printf("%-12s %-18s", data, name);
    for (int l = 0; l < LEVELS; l++) {
        double rate = (double)t->rejected[l] / (double)t->trials;
        double bound = 4 * sqrt(levels[l] * (1 - levels[l]) / (double)t->trials);
        double low = two_sided && levels[l] > bound ? levels[l] - bound : 0;
        double high = levels[l] + bound;
        good = good && rate >= low && rate <= high;
        printf("  %.2f: %.4f in [%.4f, %.4f]", levels[l], rate, low, high);
    }
    printf("  %s\n", good ? "ok" : "FAILED");
    fflush(stdout);
    return good;
}

/* 0 = an error instead of a p-value */
static int count_rejections(const data_kind *kind, const method *how, uint64_t seed, tally *t)
{
    memset(t, 0, sizeof *t);
    for (; t->trials < SEEDS; t->trials++) {
        double p = one_p_value(kind, how, seed + t->trials);
        if (p < 0) {
            printf("%-12s %-18s  seed %llu: %s  FAILED\n", kind->name, how->name,
                   (unsigned long long)(seed + t->trials),
                   npksd_status_string((npksd_status)(int)p));
            return 0;
        }
        for (int l = 0; l < LEVELS; l++)
            t->rejected[l] += p <= levels[l] * (1 + 1e-6); /* float p-values round upwards too */
    }
    return 1;
}

int main(int argc, char **argv)
{
    const size_t kind_count = sizeof kinds / sizeof kinds[0];
    const size_t method_count = sizeof methods / sizeof methods[0];
    size_t part = argc > 2 ? (size_t)atoi(argv[1]) : 0;
    size_t parts = argc > 2 ? (size_t)atoi(argv[2]) : 1;
    unsigned passed = 0, failed = 0;
    tally t, pool;
    memset(&pool, 0, sizeof pool);
    printf("level of the test, %d seeds a line, 4 standard errors allowed\n", SEEDS);
    for (size_t c = part; c < kind_count * method_count; c += parts) {
        const data_kind *kind = &kinds[c / method_count];
        const method *how = &methods[c % method_count];
        if (how->needs_score && !kind->score_fn)
            continue;
        int two_sided = kind->continuous && !how->conservative;
        int counted = count_rejections(kind, how, (uint64_t)c * 100000, &t);
        int good = counted && judge(kind->name, how->name, &t, two_sided);
        passed += good != 0;
        failed += good == 0;
        if (!counted || !two_sided)
            continue;
        pool.trials += t.trials;
        for (int l = 0; l < LEVELS; l++)
            pool.rejected[l] += t.rejected[l];
    }
    if (pool.trials > 0) { /* a small bias that no single line can show */
        int good = judge("all together", "two-sided", &pool, 1);
        passed += good != 0;
        failed += good == 0;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
