/*
 * Are the p-values what they claim? For every estimator, many sets of components and every calibration,
 * many data sets from the null hypothesis itself are tested, each with a fit, a pilot and replicates of
 * its own. P(p <= a) <= a must hold for every a; and where a is a multiple of 1/(b+1), nothing ties, and
 * the calibration is exact, P(p <= a) = a.
 *
 *     uniform TESTS PART PARTS     TESTS tests a cell; cells PART, PART + PARTS, ... (two cores: 0 2, 1 2)
 *
 * All bounds hold together with probability 0.999 (Bonferroni over cells, levels and sides; binomial
 * tails by the normal distribution with a continuity correction). The seed is fixed: a failure repeats.
 */
#include "super_uniform.h"

enum { N = 5, M = 2, REPLICATES = 19, STOP_AFTER = 5, SYNTHETIC = 40, FIT_ROWS = 16, PILOT = 3 };

/* ======== the null hypothesis: x_0 normal, x_1 normal around x_0 / 2 ======== */

static int sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng) + (i % m > 0 ? rows[i - 1] / 2 : 0);
    return 0;
}

static int score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *unused)
{
    (void)unused;
    for (size_t r = 0; r < count; r++) {
        const npksd_real *x = rows + r * m;
        npksd_real step = x[1] - x[0] / 2;
        scores[r * m] = step / 2 - x[0];
        scores[r * m + 1] = -step;
    }
    return 0;
}

/* ======== cells ======== */

/* each component alone, those of scores and frequencies, all but one, all */
static const unsigned component_sets[] = { 1, 2, 4, 8, 16, 32, 7, 15, 62, 61, 59, 55, 47, 31, 63 };

enum { ESTIMATORS = 6, COMPONENT_SETS = sizeof component_sets / sizeof component_sets[0] };
typedef enum calibration { MONTE_CARLO, STOPPING, SAMPLES, BOOTSTRAP, CALIBRATIONS } calibration;

static const char *const estimator_names[ESTIMATORS] = { "AUTO", "GAUSS", "POLY", "SPLINE", "RBF",
                                                         "CALLBACK" };
static const char *const calibration_names[CALIBRATIONS] = { "Monte Carlo", "stop_after",
                                                             "fixed samples", "bootstrap" };

/* Is P(p <= levels[l]) = levels[l], not only <=?
   Monte Carlo: all levels are multiples of 1/20. Stopping at the 5th: k/20 for k <= 5, and 5/10.
   MARGIN and PAIR go by places among edges: five rows tie. Fixed samples: the same rows may be drawn
   twice, a tie. Bootstrap: exact for many rows only, and on the safe side for five. */
typedef struct cell {
    calibration how;
    int estimator;
    unsigned components;
} cell;

static int is_exact(const cell *c)
{
    return (c->how == MONTE_CARLO || c->how == STOPPING)
        && (c->components & (NPKSD_COMPONENT_MARGIN | NPKSD_COMPONENT_PAIR)) == 0;
}

static size_t list_cells(cell *cells)
{
    size_t count = 0;
    for (int how = 0; how < CALIBRATIONS; how++)
        for (int estimator = 0; estimator < ESTIMATORS; estimator++)
            for (size_t set = 0; set < COMPONENT_SETS; set++) {
                if (how == BOOTSTRAP
                    && (estimator != NPKSD_ESTIMATOR_CALLBACK
                        || component_sets[set] != NPKSD_COMPONENT_STEIN))
                    continue;
                cells[count].how = (calibration)how;
                cells[count].estimator = estimator;
                cells[count++].components = component_sets[set];
            }
    return count;
}

/* ======== one test ======== */

static double one_p_value(const cell *c, uint64_t seed)
{
    npksd_real observed[N * M], synthetic[SYNTHETIC * M];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, UINT64_C(0x756e69666f726d));
    npksd_options options = npksd_default_options();
    npksd_result result;
    npksd_status status;
    options.seed = seed;
    options.fit_rows = FIT_ROWS;
    options.replicates = REPLICATES;
    options.pilot = PILOT;
    options.estimator = c->estimator;
    options.score_fn = score;
    options.components = c->components;
    options.basis = c->estimator == NPKSD_ESTIMATOR_RBF ? 6 : 0;
    options.stop_after = c->how == STOPPING ? STOP_AFTER : 0;
    if (c->how == BOOTSTRAP)
        options.calibration = NPKSD_CALIBRATE_WILD_BOOTSTRAP;
    sample(observed, N, M, &rng, NULL);
    if (c->how == SAMPLES) {
        sample(synthetic, SYNTHETIC, M, &rng, NULL);
        status = npksd_test_samples(observed, N, synthetic, SYNTHETIC, M, &options, &result);
    } else {
        status = npksd_test(observed, N, M, sample, NULL, &options, &result);
    }
    return status == NPKSD_OK ? (double)result.p_value : (double)status;
}

/* ======== bounds ======== */

typedef struct worst_of {
    double z;
    char text[160];
} worst_of;

/* 1 = within the bounds; the largest deviation in standard errors goes to worst. */
static int judge(const cell *c, const size_t *reached, size_t tests, double bound, worst_of *worst)
{
    int good = 1;
    for (int l = 0; l < LEVELS; l++) {
        double a = levels[l], above = above_level(reached[l], tests, a);
        double below = is_exact(c) ? below_level(reached[l], tests, a) : 0;
        double z = above > below ? above : below;
        char set[64];
        component_text(c->components, set);
        if (z > worst->z) {
            worst->z = z;
            snprintf(worst->text, sizeof worst->text, "%s, %s, %s: P(p <= %.2f) = %.4f",
                     calibration_names[c->how], estimator_names[c->estimator], set, a,
                     (double)reached[l] / (double)tests);
        }
        if (z > bound) {
            printf("FAILED %s, %s, %s: P(p <= %.2f) = %.4f, %.1f standard errors\n",
                   calibration_names[c->how], estimator_names[c->estimator], set, a,
                   (double)reached[l] / (double)tests, z);
            good = 0;
        }
    }
    return good;
}

static int run_cell(const cell *c, size_t index, size_t tests, double bound, worst_of *worst,
                    size_t *total)
{
    size_t reached[LEVELS] = { 0 };
    for (size_t k = 0; k < tests; k++) {
        double p = one_p_value(c, (uint64_t)index * 1000003 + k);
        if (p < 0) {
            printf("FAILED %s, %s, %u: %s\n", calibration_names[c->how],
                   estimator_names[c->estimator], c->components,
                   npksd_status_string((npksd_status)(int)p));
            return 0;
        }
        for (int l = 0; l < LEVELS; l++) {
            reached[l] += (size_t)reaches(p, levels[l]);
            total[l] += (size_t)reaches(p, levels[l]);
        }
    }
    return judge(c, reached, tests, bound, worst);
}

int main(int argc, char **argv)
{
    static cell cells[CALIBRATIONS * ESTIMATORS * COMPONENT_SETS];
    size_t tests = argument(argc, argv, 1, 300), part = argument(argc, argv, 2, 0), parts = argument(argc, argv, 3, 1);
    size_t count = list_cells(cells), totals[CALIBRATIONS][LEVELS] = { { 0 } };
    size_t run[CALIBRATIONS] = { 0 };
    double bound = normal_quantile(0.001 / (double)(2 * LEVELS * count));
    unsigned passed = 0, failed = 0;
    worst_of worst[CALIBRATIONS];
    memset(worst, 0, sizeof worst);
    for (size_t k = part; k < count; k += parts) {
        calibration how = cells[k].how;
        int good = run_cell(&cells[k], k, tests, bound, &worst[how], totals[how]);
        passed += good != 0;
        failed += good == 0;
        run[how]++;
        fflush(stdout);
    }
    printf("%lu tests in each of %u of %lu cells; allowed: %.2f standard errors\n",
           (unsigned long)tests, passed + failed, (unsigned long)count, bound);
    for (int how = 0; how < CALIBRATIONS; how++) {
        if (run[how] == 0)
            continue;
        printf("%-13s %lu cells; all together P(p <= a):", calibration_names[how],
               (unsigned long)run[how]);
        for (int l = 0; l < LEVELS; l++)
            printf("  %.2f: %.5f", levels[l],
                   (double)totals[how][l] / ((double)run[how] * (double)tests));
        printf("\n  worst: %.2f standard errors, %s\n", worst[how].z, worst[how].text);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
