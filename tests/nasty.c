/*
 * Nasty null hypotheses: constant columns, ties, no mean, outliers, one row, two rows, rows that depend on each other,
 * rare events, copies. Every p-value must be super-uniform: P(p <= a) <= a, for each component alone and for all, with
 * a generator and with fixed samples; so must the smallest adjusted one of the columns, and of the pairs. A test that
 * cannot be run (its options are refused) is not a cell.
 *
 *     nasty TESTS PART PARTS     TESTS tests a cell; cells PART, PART + PARTS, ...
 *
 * All bounds hold together with probability 0.999 (Bonferroni over cells and levels). Seeds are fixed: failures repeat.
 */
#include "super_uniform.h"

enum { M = 3, N_MOST = 8, SYNTHETIC = 40, BLOCK = 4, REPLICATES = 19 };

typedef enum null_kind {
    CONSTANT_BUT_ONE,
    HEAVY_TIES,
    CAUCHY,
    OUTLIERS,
    ONE_ROW,
    TWO_ROWS,
    DEPENDENT_ROWS,
    RARE_EVENTS,
    COPIES,
    NULL_KINDS
} null_kind;

static const struct {
    const char *name;
    size_t n;
} nulls[NULL_KINDS] = {
    { "constant but one", 6 }, { "heavy ties", 8 },     { "Cauchy", 6 },      { "outliers", 8 }, { "one row", 1 },
    { "two rows", 2 },         { "dependent rows", 8 }, { "rare events", 8 }, { "copies", 6 },
};

/* Rows of one kind; the sessions of DEPENDENT_ROWS have BLOCK rows. */
static int sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    null_kind kind = *(const null_kind *)user_data;
    for (size_t k = 0; k < count * m; k++) {
        size_t r = k / m, i = k % m;
        npksd_real x = npksd_normal(rng);
        switch (kind) {
        case CONSTANT_BUT_ONE: rows[k] = i == 1 ? x : 5; break;
        case HEAVY_TIES: rows[k] = (npksd_real)(x > 0) + (npksd_real)(i == 2 && x > 1); break;
        case CAUCHY: rows[k] = x / (npksd_normal(rng) + (npksd_real)1e-9); break; /* in float 0 occurs */
        case OUTLIERS: rows[k] = npksd_uniform(rng) < (npksd_real)0.03 ? x * (npksd_real)1e6 : x; break;
        case DEPENDENT_ROWS: rows[k] = x + (r % BLOCK > 0 ? (npksd_real)0.9 * rows[k - m] : 0); break;
        case RARE_EVENTS: rows[k] = (npksd_real)(npksd_uniform(rng) < (npksd_real)0.02); break;
        case COPIES: rows[k] = i == 0 ? x : rows[r * m]; break;
        default: rows[k] = x; break;
        }
    }
    return 0;
}

/* ======== cells ======== */

typedef enum p_kind { OF_THE_TEST, OF_COLUMNS, OF_PAIRS, P_KINDS } p_kind;

typedef struct cell {
    null_kind kind;
    int fixed_samples;
    unsigned components;
    p_kind p;
} cell;

static npksd_options options_of(const cell *c, uint64_t seed)
{
    npksd_options options = npksd_default_options();
    options.seed = seed;
    options.fit_rows = 32;
    options.replicates = REPLICATES;
    options.pilot = 5;
    options.components = c->components;
    options.statistic = nulls[c->kind].n > 1 ? NPKSD_STATISTIC_U : NPKSD_STATISTIC_V; /* U needs two rows */
    options.estimator = NPKSD_ESTIMATOR_AUTO + (int)(seed % 5); /* all that learn scores, in turn */
    options.basis = options.estimator == NPKSD_ESTIMATOR_RBF ? 6 : 0;
    options.block = c->kind == DEPENDENT_ROWS ? BLOCK : 1;
    switch (seed / 5 % 8) { /* and so are other ways to the same p */
    case 1: options.features = 8; break;
    case 2: options.kernel = NPKSD_KERNEL_IMQ; break;
    case 3: options.resample = 2, options.resample_redraw = 1; break;
    case 4: options.smooth = (npksd_real)0.1; break;
    case 5: options.standardize = 0; break;
    case 6: options.form = NPKSD_FORM_SCALAR, options.stop_after = 5; break;
    default: break;
    }
    options.diagnose = c->p != OF_THE_TEST;
    options.stop_after = options.diagnose ? 0 : options.stop_after;
    return options;
}

static const char *problem_of(const cell *c)
{
    npksd_options options = options_of(c, 0);
    size_t n = nulls[c->kind].n;
    return c->fixed_samples ? npksd_samples_problem(&options, n, SYNTHETIC, M) : npksd_options_problem(&options, n, M);
}

static size_t list_cells(cell *cells)
{
    static const unsigned sets[] = { 1, 2, 4, 8, 16, 32, NPKSD_COMPONENT_ALL };
    size_t count = 0;
    for (int kind = 0; kind < NULL_KINDS; kind++)
        for (int fixed = 0; fixed < 2; fixed++)
            for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
                cell c = { (null_kind)kind, fixed, sets[s], OF_THE_TEST };
                for (int p = 0; p < P_KINDS && !problem_of(&c); p++, c.p = (p_kind)p)
                    if (p == 0 || c.components == NPKSD_COMPONENT_ALL)
                        cells[count++] = c;
            }
    return count;
}

/* ======== one test, one cell ======== */

static double one_p_value(const cell *c, uint64_t seed)
{
    npksd_real observed[N_MOST * M], synthetic[SYNTHETIC * M];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, UINT64_C(0x6e61737479));
    npksd_options options = options_of(c, seed);
    npksd_result result;
    npksd_real columns[M], smallest;
    npksd_pair pair;
    npksd_diagnosis found, *diagnosis = options.diagnose ? &found : NULL;
    memset(&found, 0, sizeof found);
    found.coordinate_p_adjusted = columns;
    found.pairs = &pair;
    found.pair_capacity = 1;
    null_kind kind = c->kind;
    size_t n = nulls[kind].n;
    sample(observed, n, M, &rng, &kind);
    sample(synthetic, SYNTHETIC, M, &rng, &kind);
    npksd_status status = c->fixed_samples
        ? npksd_test_samples_diagnose(observed, n, synthetic, SYNTHETIC, M, &options, &result, diagnosis, NULL)
        : npksd_test_diagnose(observed, n, M, sample, &kind, &options, &result, diagnosis, NULL);
    if (status != NPKSD_OK)
        return (double)status;
    if (c->p == OF_THE_TEST)
        return (double)result.p_value;
    smallest = c->p == OF_PAIRS ? pair.p_adjusted : columns[0];
    for (size_t i = 1; i < M && c->p == OF_COLUMNS; i++)
        smallest = columns[i] < smallest ? columns[i] : smallest;
    return (double)smallest;
}

static int run_cell(const cell *c, size_t index, size_t tests, double bound, double *worst)
{
    size_t reached[LEVELS] = { 0 };
    static const char *const of[P_KINDS] = { "", ", columns", ", pairs" };
    char set[64];
    int good = 1;
    component_text(c->components, set);
    strcat(set, of[c->p]);
    for (size_t k = 0; k < tests && good; k++) {
        double p = one_p_value(c, (uint64_t)index * 1000003 + k);
        for (int l = 0; l < LEVELS; l++)
            reached[l] += (size_t)reaches(p, levels[l]);
        if (p < 0) {
            printf("FAILED %s, %s, %s: %s\n", nulls[c->kind].name, c->fixed_samples ? "fixed samples" : "generator",
                   set, npksd_status_string((npksd_status)(int)p));
            good = 0;
        }
    }
    for (int l = 0; l < LEVELS && good; l++) {
        double z = above_level(reached[l], tests, levels[l]);
        *worst = z > *worst ? z : *worst;
        if (z > bound) {
            printf("FAILED %s, %s, %s: P(p <= %.2f) = %.4f, %.1f standard errors\n", nulls[c->kind].name,
                   c->fixed_samples ? "fixed samples" : "generator", set, levels[l], (double)reached[l] / (double)tests,
                   z);
            good = 0;
        }
    }
    return good;
}

int main(int argc, char **argv)
{
    static cell cells[NULL_KINDS * 2 * (6 + P_KINDS)];
    size_t tests = argument(argc, argv, 1, 300), part = argument(argc, argv, 2, 0), parts = argument(argc, argv, 3, 1);
    size_t count = list_cells(cells);
    double bound = normal_quantile(0.001 / (double)(LEVELS * count)), worst = 0;
    unsigned passed = 0, failed = 0;
    for (size_t k = part; k < count; k += parts) {
        int good = run_cell(&cells[k], k, tests, bound, &worst);
        passed += good != 0;
        failed += good == 0;
        fflush(stdout);
    }
    printf("%lu tests in each of %u of %lu cells; worst %.2f standard errors above, allowed: %.2f\n",
           (unsigned long)tests, passed + failed, (unsigned long)count, worst, bound);
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
