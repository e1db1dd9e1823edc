/* Every way to misuse the library: the right code, outputs untouched, nothing leaked. */
#include "support.h"
#include <limits.h>

static npksd_real data[SMALL_N * SMALL_M];

/* ======== options that cannot be: one table ======== */

typedef enum base_kind {
    PLAIN, POLY, SPLINE, RBF, SCORE, SUMMARY, FEATURES, RNG, WILD, U_ALONE, DIAGNOSE
} base_kind;

typedef enum value_kind {
    SET_INT, SET_UNSIGNED, SET_SIZE, SET_REAL, SET_NAN, SET_INF, SET_MINUS_INF,
    SET_NULL,  /* a function pointer becomes NULL */
    SET_SCALE, /* scales = { 1, value } */
    SET_SCALE_NAN,
    SET_SCALE_COUNT, /* that many scales, all 1 */
    SET_NO_SCALES    /* that many, but the pointer is NULL */
} value_kind;

typedef struct option_case {
    const char *named; /* the text must hold one of these words, separated by | */
    base_kind base;    /* good options to start from ... */
    value_kind kind;   /* ... in which one field is spoilt */
    size_t offset;
    double value;      /* -1 for SET_SIZE is SIZE_MAX */
    size_t n, m;
} option_case;

#define FIELD(base, kind, field, value)                                                           \
    { #field, base, kind, offsetof(npksd_options, field), value, SMALL_N, SMALL_M }
#define NAMED(named, base, kind, field, value, n, m)                                              \
    { named, base, kind, offsetof(npksd_options, field), value, n, m }
#define EVERY_BAD_REAL(field)                                                                     \
    FIELD(PLAIN, SET_REAL, field, -1), FIELD(PLAIN, SET_NAN, field, 0),                           \
        FIELD(PLAIN, SET_INF, field, 0), FIELD(PLAIN, SET_MINUS_INF, field, 0)
#define UNKNOWN_ENUM(field, first_unknown)                                                        \
    FIELD(PLAIN, SET_INT, field, -1), FIELD(PLAIN, SET_INT, field, first_unknown),                \
        FIELD(PLAIN, SET_INT, field, 1000000)

/* its square, and that of its inverse, are numbers */
#define LEAST_BANDWIDTH (sizeof(npksd_real) == 4 ? 1e-15 : 1e-140)

static const option_case bad_cases[] = {
    FIELD(PLAIN, SET_SIZE, fit_rows, 0),
    FIELD(PLAIN, SET_SIZE, fit_rows, 1),
    FIELD(PLAIN, SET_SIZE, replicates, 0),
    FIELD(PLAIN, SET_SIZE, replicates, 18), /* 1/19 > 0.05 can never reject */
    FIELD(PLAIN, SET_SIZE, pilot, 0),
    FIELD(PLAIN, SET_SIZE, pilot, 1),
    FIELD(PLAIN, SET_REAL, alpha, 0),
    FIELD(PLAIN, SET_REAL, alpha, 1),
    FIELD(PLAIN, SET_REAL, alpha, 1.5),
    EVERY_BAD_REAL(alpha),
    EVERY_BAD_REAL(bandwidth),
    FIELD(PLAIN, SET_REAL, bandwidth, 0.7 * LEAST_BANDWIDTH),
    FIELD(PLAIN, SET_REAL, bandwidth, 1.5 / LEAST_BANDWIDTH),
    EVERY_BAD_REAL(ridge),
    EVERY_BAD_REAL(smooth),
    UNKNOWN_ENUM(summary, NPKSD_SUMMARY_CALLBACK + 1),
    UNKNOWN_ENUM(estimator, NPKSD_ESTIMATOR_CALLBACK + 1),
    UNKNOWN_ENUM(kernel, NPKSD_KERNEL_IMQ + 1),
    UNKNOWN_ENUM(form, NPKSD_FORM_SCALAR + 1),
    UNKNOWN_ENUM(statistic, NPKSD_STATISTIC_V + 1),
    UNKNOWN_ENUM(calibration, NPKSD_CALIBRATE_WILD_BOOTSTRAP + 1),
    FIELD(PLAIN, SET_UNSIGNED, components, 0),
    FIELD(PLAIN, SET_UNSIGNED, components, NPKSD_COMPONENT_ALL + 1),
    FIELD(PLAIN, SET_UNSIGNED, components, 2 * NPKSD_COMPONENT_ALL + 1),
    NAMED("scales", PLAIN, SET_SCALE, scales, 0, SMALL_N, SMALL_M),
    NAMED("scales", PLAIN, SET_SCALE, scales, -1, SMALL_N, SMALL_M),
    NAMED("scales", PLAIN, SET_SCALE, scales, 0.9e-6, SMALL_N, SMALL_M),
    NAMED("scales", PLAIN, SET_SCALE, scales, 1.1e6, SMALL_N, SMALL_M),
    NAMED("scales", PLAIN, SET_SCALE_NAN, scales, 0, SMALL_N, SMALL_M),
    NAMED("scale_count", PLAIN, SET_SCALE_COUNT, scales, NPKSD_SCALES_MAX + 1, SMALL_N, SMALL_M),
    NAMED("scales", PLAIN, SET_NO_SCALES, scales, 1, SMALL_N, SMALL_M),
    FIELD(POLY, SET_SIZE, degree, 9),
    FIELD(SPLINE, SET_SIZE, degree, 4),
    FIELD(SPLINE, SET_SIZE, basis, 3),
    NAMED("score_fn", PLAIN, SET_INT, estimator, NPKSD_ESTIMATOR_CALLBACK, SMALL_N, SMALL_M),
    FIELD(SCORE, SET_NULL, score_fn, 0),
    FIELD(SUMMARY, SET_NULL, summary_fn, 0),
    FIELD(SUMMARY, SET_SIZE, summary_dim, 0),
    NAMED("resample", PLAIN, SET_INT, resample_distinct, 1, SMALL_N, SMALL_M), /* base: B = 4 > m */
    NAMED("statistic", U_ALONE, SET_INT, statistic, NPKSD_STATISTIC_U, 1, SMALL_M),
    NAMED("components", PLAIN, SET_UNSIGNED, components, NPKSD_COMPONENT_PAIR, SMALL_N, 1),
    FIELD(PLAIN, SET_INT, resample_redraw, 2),
    FIELD(PLAIN, SET_INT, resample_distinct, -1),
    FIELD(PLAIN, SET_INT, standardize, 2),
    FIELD(PLAIN, SET_INT, diagnose, 2),
    FIELD(PLAIN, SET_SIZE, block, 0),
    FIELD(PLAIN, SET_SIZE, stop_after, SMALL_REPLICATES + 1),
    FIELD(DIAGNOSE, SET_SIZE, stop_after, 3),
    NAMED("kernel|features", FEATURES, SET_INT, kernel, NPKSD_KERNEL_IMQ, SMALL_N, SMALL_M),
    /* more than NPKSD_FEATURES_MAX numbers a score */
    NAMED("basis|features", RBF, SET_SIZE, basis, 300, SMALL_N, SMALL_M),
    NAMED("basis|features", SPLINE, SET_SIZE, basis, 300, SMALL_N, SMALL_M),
    NAMED("summary|features", POLY, SET_INT, summary, NPKSD_SUMMARY_ALL, SMALL_N, 200),
    NAMED("summary|features", SPLINE, SET_INT, summary, NPKSD_SUMMARY_ALL, SMALL_N, 200),
    /* wild bootstrap: explicit scores, STEIN only, neither features nor smoothing */
    NAMED("calibration", PLAIN, SET_INT, calibration, NPKSD_CALIBRATE_WILD_BOOTSTRAP, SMALL_N,
          SMALL_M),
    NAMED("components", WILD, SET_UNSIGNED, components, NPKSD_COMPONENT_ALL, SMALL_N, SMALL_M),
    NAMED("components", WILD, SET_UNSIGNED, components, NPKSD_COMPONENT_MIRROR, SMALL_N, SMALL_M),
    NAMED("components", WILD, SET_UNSIGNED, components, NPKSD_COMPONENT_MOMENT, SMALL_N, SMALL_M),
    NAMED("components", WILD, SET_UNSIGNED, components, NPKSD_COMPONENT_MMD, SMALL_N, SMALL_M),
    NAMED("components", WILD, SET_UNSIGNED, components, NPKSD_COMPONENT_MARGIN, SMALL_N, SMALL_M),
    NAMED("components", WILD, SET_UNSIGNED, components, NPKSD_COMPONENT_PAIR, SMALL_N, SMALL_M),
    NAMED("components", WILD, SET_UNSIGNED, components,
          NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MOMENT, SMALL_N, SMALL_M),
    FIELD(WILD, SET_INT, resample_redraw, 1),
    FIELD(WILD, SET_SIZE, stop_after, 5),
    FIELD(WILD, SET_SIZE, features, 16),
    FIELD(WILD, SET_REAL, smooth, 0.1),
    /* half a pair of functions */
    NAMED("allocator", PLAIN, SET_NULL, allocator.alloc_fn, 0, SMALL_N, SMALL_M),
    NAMED("allocator", PLAIN, SET_NULL, allocator.free_fn, 0, SMALL_N, SMALL_M),
    NAMED("rng", RNG, SET_NULL, rng.next_fn, 0, SMALL_N, SMALL_M),
    /* no rows, no columns */
    NAMED("n ", PLAIN, SET_INT, kernel, NPKSD_KERNEL_GAUSS, 0, SMALL_M),
    NAMED("m: |m ", PLAIN, SET_INT, kernel, NPKSD_KERNEL_GAUSS, SMALL_N, 0),
};

/* Near the border, but on the right side of it. */
static const option_case good_cases[] = {
    FIELD(PLAIN, SET_SIZE, fit_rows, 1000),
    FIELD(PLAIN, SET_SIZE, replicates, 19),
    FIELD(PLAIN, SET_SIZE, pilot, 2),
    FIELD(PLAIN, SET_REAL, alpha, 0.999),
    FIELD(PLAIN, SET_REAL, ridge, 0.5),
    FIELD(PLAIN, SET_REAL, smooth, 0.5),
    FIELD(PLAIN, SET_REAL, bandwidth, 1e-3),
    FIELD(PLAIN, SET_REAL, bandwidth, 1.5 * LEAST_BANDWIDTH),
    FIELD(PLAIN, SET_REAL, bandwidth, 0.7 / LEAST_BANDWIDTH),
    FIELD(PLAIN, SET_SCALE, scales, 7),
    FIELD(PLAIN, SET_SCALE, scales, 1e-6),
    FIELD(PLAIN, SET_SCALE, scales, 1e6),
    FIELD(PLAIN, SET_SCALE_COUNT, scales, NPKSD_SCALES_MAX),
    FIELD(PLAIN, SET_NO_SCALES, scales, 0),
    FIELD(POLY, SET_SIZE, degree, 8),
    FIELD(SPLINE, SET_SIZE, degree, 3),
    FIELD(SPLINE, SET_SIZE, basis, 4),
    FIELD(SCORE, SET_SIZE, pilot, 2),
    FIELD(SUMMARY, SET_SIZE, pilot, 2),
    FIELD(FEATURES, SET_SIZE, features, 1),
    FIELD(RNG, SET_NULL, rng.seek_fn, 0),
    FIELD(WILD, SET_UNSIGNED, components, NPKSD_COMPONENT_STEIN),
    FIELD(WILD, SET_INT, diagnose, 1),
    FIELD(DIAGNOSE, SET_SIZE, stop_after, 0),
    NAMED("", PLAIN, SET_SIZE, resample, 1000, SMALL_N, SMALL_M), /* with replacement: any B */
    NAMED("", PLAIN, SET_INT, statistic, NPKSD_STATISTIC_U, 1, SMALL_M), /* others remain */
    NAMED("", U_ALONE, SET_INT, statistic, NPKSD_STATISTIC_UV, 1, SMALL_M),
    NAMED("", PLAIN, SET_UNSIGNED, components, NPKSD_COMPONENT_ALL, SMALL_N, 1),
    NAMED("", PLAIN, SET_UNSIGNED, components, NPKSD_COMPONENT_PAIR, SMALL_N, 2),
    NAMED("", PLAIN, SET_INT, statistic, NPKSD_STATISTIC_V, 1, 1),
    NAMED("", PLAIN, SET_INT, summary, NPKSD_SUMMARY_ALL, SMALL_N, 300), /* AUTO skips the large */
};

static uint64_t step_word(void *user_data)
{
    uint64_t *state = (uint64_t *)user_data;
    return *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
}

static void go_to_stream(uint64_t stream, void *user_data) { *(uint64_t *)user_data = stream; }

static npksd_options base_options(base_kind base, test_heap *heap)
{
    static uint64_t rng_word;
    npksd_options options = small_options();
    options.allocator = heap_allocator(heap);
    options.resample = 4;
    switch (base) {
    case PLAIN: break;
    case POLY: options.estimator = NPKSD_ESTIMATOR_POLY; break;
    case SPLINE: options.estimator = NPKSD_ESTIMATOR_SPLINE; break;
    case RBF:
        options.estimator = NPKSD_ESTIMATOR_RBF;
        options.fit_rows = 1000; /* a centre is a kept row: fewer rows would hide a large basis */
        break;
    case SUMMARY:
        options.summary = NPKSD_SUMMARY_CALLBACK;
        options.summary_fn = sum_of_others;
        options.summary_dim = 1;
        break;
    case FEATURES: options.features = 16; break;
    case RNG:
        options.rng.next_fn = step_word;
        options.rng.seek_fn = go_to_stream;
        options.rng.user_data = &rng_word;
        break;
    case WILD:
        options.calibration = NPKSD_CALIBRATE_WILD_BOOTSTRAP;
        options.components = NPKSD_COMPONENT_STEIN;
        options.estimator = NPKSD_ESTIMATOR_CALLBACK;
        options.score_fn = chain_score;
        break;
    case U_ALONE: options.components = NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MOMENT; break;
    case DIAGNOSE: options.diagnose = 1; break;
    case SCORE:
        options.estimator = NPKSD_ESTIMATOR_CALLBACK;
        options.score_fn = chain_score;
        break;
    }
    return options;
}

static void put_real(void *at, npksd_real value) { memcpy(at, &value, sizeof value); }

static void apply(npksd_options *options, const option_case *c)
{
    static npksd_real scales[NPKSD_SCALES_MAX + 1];
    void *at = (unsigned char *)options + c->offset;
    int whole = c->kind == SET_INT ? (int)c->value : 0;
    unsigned bits = c->kind == SET_UNSIGNED ? (unsigned)c->value : 0;
    size_t size = c->value < 0 ? SIZE_MAX : c->value < 4e9 ? (size_t)c->value : 0;
    for (size_t i = 0; i <= NPKSD_SCALES_MAX; i++)
        scales[i] = 1;
    switch (c->kind) {
    case SET_INT: memcpy(at, &whole, sizeof whole); break;
    case SET_UNSIGNED: memcpy(at, &bits, sizeof bits); break;
    case SET_SIZE: memcpy(at, &size, sizeof size); break;
    case SET_REAL: put_real(at, (npksd_real)c->value); break;
    case SET_NAN: put_real(at, not_a_number()); break;
    case SET_INF: put_real(at, plus_infinity()); break;
    case SET_MINUS_INF: put_real(at, minus_infinity()); break;
    case SET_NULL: memset(at, 0, sizeof options->score_fn); break;
    case SET_SCALE:
    case SET_SCALE_NAN:
        scales[1] = c->kind == SET_SCALE ? (npksd_real)c->value : not_a_number();
        options->scales = scales;
        options->scale_count = 2;
        break;
    case SET_SCALE_COUNT:
    case SET_NO_SCALES:
        options->scales = c->kind == SET_SCALE_COUNT ? scales : NULL;
        options->scale_count = size;
        break;
    }
}

/* names = "one|other" */
static int holds_a_word(const char *text, const char *names)
{
    char word[64];
    while (*names) {
        size_t length = strcspn(names, "|");
        memcpy(word, names, length);
        word[length] = 0;
        if (strstr(text, word))
            return 1;
        names += length + (names[length] == '|');
    }
    return 0;
}

TEST bad_option(const option_case *c)
{
    test_heap heap;
    memset(&heap, 0, sizeof heap);
    npksd_options options = base_options(c->base, &heap);
    ASSERTm("the options were bad before", !npksd_options_problem(&options, SMALL_N, SMALL_M));
    apply(&options, c);

    const char *problem = npksd_options_problem(&options, c->n, c->m);
    ASSERTm("no problem seen", problem);
    if (!holds_a_word(problem, c->named)) {
        printf("\nthe text: %s\n", problem);
        FAILm("the text does not name the field");
    }

    size_t bytes;
    memset(&bytes, UNTOUCHED, sizeof bytes);
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_size(c->n, c->m, &options, &bytes));
    ASSERT(untouched(&bytes, sizeof bytes));

    npksd_tester *tester = (npksd_tester *)data;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT,
                  npksd_tester_create(&tester, c->n, c->m, chain_sample, NULL, &options));
    ASSERT(tester == NULL);

    static char workspace[1 << 12];
    tester = (npksd_tester *)data;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_init(&tester, c->n, c->m, chain_sample, NULL,
                                                          &options, workspace, sizeof workspace));
    ASSERT(tester == NULL);

    npksd_result result;
    memset(&result, UNTOUCHED, sizeof result);
    static npksd_real wide[SMALL_N * 300];
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT,
                  npksd_test(wide, c->n, c->m, chain_sample, NULL, &options, &result));
    ASSERT(untouched(&result, sizeof result));
    ASSERT_EQ(0u, heap.live + heap.wrong);
    PASS();
}

TEST good_option(const option_case *c)
{
    test_heap heap;
    memset(&heap, 0, sizeof heap);
    npksd_options options = base_options(c->base, &heap);
    apply(&options, c);
    const char *problem = npksd_options_problem(&options, c->n, c->m);
    if (problem)
        printf("\nthe text: %s\n", problem);
    ASSERTm("a problem seen in good options", !problem);
    size_t bytes = 0;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_size(c->n, c->m, &options, &bytes));
    ASSERT(bytes > 0);
    npksd_tester *tester = NULL;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, c->n, c->m, chain_sample, NULL, &options));
    ASSERT(tester != NULL);
    npksd_tester_destroy(tester);
    ASSERT_EQ(0u, heap.live + heap.wrong);
    PASS();
}

TEST every_variant_is_good(void)
{
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        const char *problem = npksd_options_problem(&options, SMALL_N, SMALL_M);
        if (problem)
            printf("\n%s: %s\n", variant_name(v), problem);
        ASSERT(!problem);
    }
    npksd_options defaults = npksd_default_options();
    ASSERT(!npksd_options_problem(&defaults, 100, 2));
    PASS();
}

/* As the comments of npksd_options have them; all else is 0. */
TEST defaults_as_stated(void)
{
    npksd_options found = npksd_default_options(), zero;
    memset(&zero, 0, sizeof zero);
    ASSERT_EQ_FMT((size_t)4000, found.fit_rows, "%zu");
    ASSERT_EQ_FMT((size_t)499, found.replicates, "%zu");
    ASSERT_EQ_FMT((size_t)200, found.pilot, "%zu");
    ASSERT_EQ_FMT((size_t)1, found.block, "%zu");
    ASSERT_IN_RANGE(0.05, (double)found.alpha, 1e-8);
    ASSERT_EQ_FMT(1, found.standardize, "%d");
    ASSERT_EQ_FMT((unsigned)NPKSD_COMPONENT_ALL, found.components, "%u");
    ASSERT(found.seed == 0 && found.resample == 0 && !found.resample_redraw && !found.resample_distinct);
    ASSERT(found.summary == NPKSD_SUMMARY_MEAN && found.estimator == NPKSD_ESTIMATOR_AUTO);
    ASSERT(found.degree == 0 && found.basis == 0 && found.features == 0 && found.stop_after == 0);
    ASSERT(found.kernel == NPKSD_KERNEL_GAUSS && found.form == NPKSD_FORM_VECTOR);
    ASSERT(found.statistic == NPKSD_STATISTIC_U && found.calibration == NPKSD_CALIBRATE_MONTE_CARLO);
    ASSERT(found.scale_count == 0 && !found.diagnose && !found.summary_fn && !found.score_fn);
    ASSERT(!found.rng.next_fn && !found.rng.seek_fn && !found.allocator.alloc_fn && !found.allocator.free_fn);
    ASSERT_MEM_EQ(&zero.ridge, &found.ridge, sizeof zero.ridge);
    ASSERT_MEM_EQ(&zero.bandwidth, &found.bandwidth, sizeof zero.bandwidth);
    ASSERT_MEM_EQ(&zero.smooth, &found.smooth, sizeof zero.smooth);
    PASS();
}

TEST pilot_is_not_needed_for_one_number(void)
{
    static const npksd_real one = 1;
    npksd_options options = small_options();
    options.scales = &one;
    options.scale_count = 1;
    options.components = NPKSD_COMPONENT_STEIN;
    options.pilot = 0;
    options.statistic = NPKSD_STATISTIC_V;
    ASSERT(!npksd_options_problem(&options, SMALL_N, SMALL_M));
    options.statistic = NPKSD_STATISTIC_UV;
    ASSERT(npksd_options_problem(&options, SMALL_N, SMALL_M));
    options.statistic = NPKSD_STATISTIC_V;
    options.diagnose = 1;
    ASSERT(npksd_options_problem(&options, SMALL_N, SMALL_M));
    options.diagnose = 0;
    options.components = NPKSD_COMPONENT_MOMENT;
    ASSERT(!npksd_options_problem(&options, SMALL_N, SMALL_M));
    options.components = NPKSD_COMPONENT_PAIR;
    ASSERT(!npksd_options_problem(&options, SMALL_N, SMALL_M));
    options.components = NPKSD_COMPONENT_MMD; /* two bandwidths */
    ASSERT(npksd_options_problem(&options, SMALL_N, SMALL_M));
    options.components = NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_PAIR;
    ASSERT(npksd_options_problem(&options, SMALL_N, SMALL_M));
    ASSERTm("no pairs of one column", !npksd_options_problem(&options, SMALL_N, 1));
    options.components = NPKSD_COMPONENT_MIRROR; /* two-sided: standardised even alone */
    ASSERT(npksd_options_problem(&options, SMALL_N, SMALL_M));
    PASS();
}

TEST as_large_as_can_be(void)
{
    const size_t most = 268435456;
    npksd_options options = small_options();
    ASSERT(!npksd_options_problem(&options, 1, 4000000));
    ASSERT(npksd_options_problem(&options, 1, 4000001));
    ASSERT(npksd_options_problem(&options, most + 1, 1));
    if (sizeof(size_t) > 4) {
        ASSERT(!npksd_options_problem(&options, most, 1));
        ASSERT(!npksd_samples_problem(&options, SMALL_N, most - SMALL_N, 1));
    }
    ASSERT(npksd_samples_problem(&options, SMALL_N, most - SMALL_N + 1, 1));
    /* each number option at its limit and just beyond */
#define LIMIT(field, at, beyond)                                                                                       \
    do {                                                                                                               \
        npksd_options o = small_options();                                                                             \
        o.field = (at);                                                                                                \
        ASSERTm(#field, !npksd_options_problem(&o, SMALL_N, SMALL_M));                                                 \
        o.field = (beyond);                                                                                            \
        ASSERTm(#field, npksd_options_problem(&o, SMALL_N, SMALL_M));                                                  \
    } while (0)
    LIMIT(fit_rows, most, most + 1);
    LIMIT(replicates, most, most + 1);
    LIMIT(pilot, most, most + 1);
    LIMIT(resample, (size_t)16777216, (size_t)16777217);
    LIMIT(features, (size_t)1048576, (size_t)1048577);
    LIMIT(ridge, (npksd_real)1e6, (npksd_real)1000001);
    LIMIT(smooth, (npksd_real)1000, (npksd_real)1000.5);
#undef LIMIT
    /* 256 features a coordinate: RBF has 2 beside its bumps if there is no summary */
    options.estimator = NPKSD_ESTIMATOR_RBF;
    options.summary = NPKSD_SUMMARY_NONE;
    options.fit_rows = 1000;
    options.basis = 254;
    ASSERT(!npksd_options_problem(&options, SMALL_N, SMALL_M));
    options.basis = 255;
    ASSERT(npksd_options_problem(&options, SMALL_N, SMALL_M));
    PASS();
}

/* ======== null pointers ======== */

TEST null_pointers_to_create(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = (npksd_tester *)data;
    size_t bytes = 0;
    const npksd_status argument = NPKSD_ERROR_ARGUMENT;
    ASSERT_STATUS(argument, npksd_tester_size(SMALL_N, SMALL_M, &options, NULL));
    ASSERT_STATUS(argument, npksd_tester_create(NULL, SMALL_N, SMALL_M, chain_sample, NULL, NULL));
    ASSERT_STATUS(argument, npksd_tester_create(&tester, SMALL_N, SMALL_M, NULL, NULL, &options));
    ASSERT(tester == NULL);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_size(SMALL_N, SMALL_M, &options, &bytes));
    tester = (npksd_tester *)data;
    ASSERT_STATUS(argument, npksd_tester_init(&tester, SMALL_N, SMALL_M, chain_sample, NULL,
                                              &options, NULL, bytes));
    ASSERT(tester == NULL);
    void *workspace = malloc(bytes);
    ASSERT(workspace);
    npksd_status no_out = npksd_tester_init(NULL, SMALL_N, SMALL_M, chain_sample, NULL, &options,
                                            workspace, bytes);
    tester = (npksd_tester *)data;
    npksd_status no_source = npksd_tester_init(&tester, SMALL_N, SMALL_M, NULL, NULL, &options,
                                               workspace, bytes);
    free(workspace);
    ASSERT_STATUS(argument, no_out);
    ASSERT_STATUS(argument, no_source);
    ASSERT(tester == NULL);
    npksd_tester_destroy(NULL);
    PASS();
}

TEST null_pointers_to_test(void)
{
    npksd_options options = small_options();
    npksd_result result;
    const npksd_status argument = NPKSD_ERROR_ARGUMENT;
    memset(&result, UNTOUCHED, sizeof result);
    ASSERT_STATUS(argument,
                  npksd_test(NULL, SMALL_N, SMALL_M, chain_sample, NULL, &options, &result));
    ASSERT_STATUS(argument, npksd_test(data, SMALL_N, SMALL_M, NULL, NULL, &options, &result));
    ASSERT_STATUS(argument,
                  npksd_test(data, SMALL_N, SMALL_M, chain_sample, NULL, &options, NULL));
    ASSERT(untouched(&result, sizeof result));
    PASS();
}

TEST null_pointers_to_test_diagnose(void)
{
    npksd_options options = small_options();
    npksd_result result;
    npksd_diagnosis diagnosis;
    npksd_real out[SMALL_M + SMALL_REPLICATES];
    const npksd_status argument = NPKSD_ERROR_ARGUMENT;
    memset(&diagnosis, 0, sizeof diagnosis);
    memset(&result, UNTOUCHED, sizeof result);
    memset(out, UNTOUCHED, sizeof out);
    diagnosis.coordinate_p = out;
#define DIAGNOSE_ROWS(rows, sample, result)                                                       \
    npksd_test_diagnose(rows, SMALL_N, SMALL_M, sample, NULL, &options, result, &diagnosis,       \
                        out + SMALL_M)
    ASSERT_STATUS(argument, DIAGNOSE_ROWS(NULL, chain_sample, &result));
    ASSERT_STATUS(argument, DIAGNOSE_ROWS(data, NULL, &result));
    ASSERT_STATUS(argument, DIAGNOSE_ROWS(data, chain_sample, NULL));
    options.stop_after = 3;
    ASSERT_STATUS(argument, DIAGNOSE_ROWS(data, chain_sample, &result));
    ASSERT(untouched(&result, sizeof result));
    ASSERT(untouched(out, sizeof out));
    options.stop_after = 0;
    ASSERT_STATUS(NPKSD_OK, DIAGNOSE_ROWS(data, chain_sample, &result));
    ASSERT(finite_bits(out, SMALL_M + SMALL_REPLICATES));
    set_options(&options, "wild score_callback stein"); /* the bootstrap knows no margins */
    options.score_fn = chain_score;
    ASSERT_STATUS(NPKSD_OK, DIAGNOSE_ROWS(data, chain_sample, &result));
    diagnosis.coordinate_shift = out;
    ASSERT_STATUS(argument, DIAGNOSE_ROWS(data, chain_sample, &result));
#undef DIAGNOSE_ROWS
    PASS();
}

TEST null_pointers_to_tester(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_result result;
    npksd_real scores[SMALL_M];
    const npksd_status argument = NPKSD_ERROR_ARGUMENT;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    memset(&result, UNTOUCHED, sizeof result);
    memset(scores, UNTOUCHED, sizeof scores);
    ASSERT_STATUS(argument, npksd_tester_step(NULL, 1));
    ASSERT_STATUS(argument, npksd_tester_check(NULL, data, &result, NULL));
    ASSERT_STATUS(argument, npksd_tester_check(tester, NULL, &result, NULL));
    ASSERT_STATUS(argument, npksd_tester_check(tester, data, NULL, NULL));
    ASSERT_STATUS(argument, npksd_tester_check_begin(NULL, data));
    ASSERT_STATUS(argument, npksd_tester_check_begin(tester, NULL));
    ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_check_end(tester, &result, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_begin(tester, data));
    ASSERT_STATUS(argument, npksd_tester_check_end(NULL, &result, NULL));
    ASSERT_STATUS(argument, npksd_tester_check_end(tester, NULL, NULL));
    ASSERT_STATUS(argument, npksd_tester_null(NULL, scores, 1, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_step(tester, SIZE_MAX));
    ASSERT_STATUS(argument, npksd_tester_check_end(tester, NULL, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check_end(tester, &result, NULL));
    memset(&result, UNTOUCHED, sizeof result);
    ASSERT_STATUS(argument, npksd_tester_scores(NULL, data, 1, scores));
    ASSERT_STATUS(argument, npksd_tester_scores(tester, NULL, 1, scores));
    ASSERT_STATUS(argument, npksd_tester_scores(tester, data, 1, NULL));
    ASSERT(untouched(&result, sizeof result));
    ASSERT(untouched(scores, sizeof scores));
    npksd_tester_progress(tester, NULL, NULL);
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== primitives ======== */

TEST bad_statistic_arguments(void)
{
    npksd_real scores[SMALL_N * SMALL_M], weights[SMALL_M] = { 1, 1, 1 }, out;
    npksd_options good = npksd_default_options(), bad;
    const npksd_status argument = NPKSD_ERROR_ARGUMENT, nonfinite = NPKSD_ERROR_NONFINITE;
    good.bandwidth = 1;
    good.statistic = NPKSD_STATISTIC_V;
    chain_score(data, SMALL_N, SMALL_M, scores, NULL);
    memset(&out, UNTOUCHED, sizeof out);
#define STATISTIC(rows, n, m, options) npksd_statistic(rows, scores, n, m, weights, options, &out)
    ASSERT_STATUS(argument, STATISTIC(NULL, SMALL_N, SMALL_M, &good));
    ASSERT_STATUS(argument, STATISTIC(data, 0, SMALL_M, &good));
    ASSERT_STATUS(argument, STATISTIC(data, SMALL_N, 0, &good));
    ASSERT_STATUS(argument, STATISTIC(data, SIZE_MAX / 2, 3, &good));
    ASSERT_STATUS(argument, STATISTIC(data, SMALL_N, SMALL_M, NULL)); /* no bandwidth */
    ASSERT_STATUS(argument, npksd_statistic(data, NULL, SMALL_N, SMALL_M, NULL, &good, &out));
    ASSERT_STATUS(argument, npksd_statistic(data, scores, SMALL_N, SMALL_M, NULL, &good, NULL));
    bad = good;
    bad.bandwidth = 0;
    ASSERT_STATUS(argument, STATISTIC(data, SMALL_N, SMALL_M, &bad));
    bad = good;
    bad.statistic = NPKSD_STATISTIC_UV;
    ASSERT_STATUS(argument, STATISTIC(data, SMALL_N, SMALL_M, &bad));
    bad = good;
    bad.statistic = NPKSD_STATISTIC_U;
    ASSERT_STATUS(argument, STATISTIC(data, 1, SMALL_M, &bad));
    bad = good;
    bad.kernel = NPKSD_KERNEL_IMQ;
    bad.features = 8;
    ASSERT_STATUS(argument, STATISTIC(data, SMALL_N, SMALL_M, &bad));
    bad = good;
    bad.scales = weights;
    bad.scale_count = NPKSD_SCALES_MAX + 1;
    ASSERT_STATUS(argument, STATISTIC(data, SMALL_N, SMALL_M, &bad));
    weights[1] = not_a_number();
    ASSERT(STATISTIC(data, SMALL_N, SMALL_M, &good) < 0);
    weights[1] = 1;
    scores[SMALL_N * SMALL_M - 1] = plus_infinity();
    ASSERT_STATUS(nonfinite, STATISTIC(data, SMALL_N, SMALL_M, &good));
    scores[SMALL_N * SMALL_M - 1] = 0;
    npksd_real kept = data[0];
    data[0] = not_a_number();
    npksd_status status = STATISTIC(data, SMALL_N, SMALL_M, &good);
    data[0] = kept;
    ASSERT_STATUS(nonfinite, status);
    ASSERT(untouched(&out, sizeof out));
    ASSERT_STATUS(NPKSD_OK, STATISTIC(data, SMALL_N, SMALL_M, &good));
#undef STATISTIC
    PASS();
}

TEST bad_median_arguments(void)
{
    npksd_real out;
    const npksd_status argument = NPKSD_ERROR_ARGUMENT;
    memset(&out, UNTOUCHED, sizeof out);
    ASSERT_STATUS(argument, npksd_median_distance(NULL, SMALL_N, SMALL_M, NULL, &out));
    ASSERT_STATUS(argument, npksd_median_distance(data, 0, SMALL_M, NULL, &out));
    ASSERT_STATUS(argument, npksd_median_distance(data, SMALL_N, 0, NULL, &out));
    ASSERT_STATUS(argument, npksd_median_distance(data, SMALL_N, SMALL_M, NULL, NULL));
    ASSERT(npksd_median_distance(data, SIZE_MAX / 2, 3, NULL, &out) < 0);
    npksd_real kept = data[4];
    data[4] = minus_infinity();
    npksd_status status = npksd_median_distance(data, SMALL_N, SMALL_M, NULL, &out);
    data[4] = kept;
    ASSERT_STATUS(NPKSD_ERROR_NONFINITE, status);
    ASSERT(untouched(&out, sizeof out));
    ASSERT_STATUS(NPKSD_OK, npksd_median_distance(data, SMALL_N, SMALL_M, NULL, &out));
    PASS();
}

/* ======== sizes beyond the machine ======== */

static int too_much(npksd_status status)
{
    return status == NPKSD_ERROR_ARGUMENT || status == NPKSD_ERROR_MEMORY;
}

TEST huge_sizes(void)
{
    static const size_t sizes[] = { SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8 + 1, SIZE_MAX / 16,
                                    SIZE_MAX / 64, /* 2^32 rows; 2^16 would fit 32 bits */
                                    sizeof(size_t) > 4 ? (SIZE_MAX >> 32 % (8 * sizeof(size_t))) + 1 : SIZE_MAX / 32 };
    static const size_t others[] = { 1, 2, 3, SIZE_MAX / 2, SIZE_MAX };
    test_heap heap;
    memset(&heap, 0, sizeof heap);
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        options.allocator = heap_allocator(&heap);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            for (size_t j = 0; j < sizeof others / sizeof others[0]; j++) {
                npksd_tester *tester = (npksd_tester *)data;
                ASSERTm(variant_name(v), too_much(npksd_tester_create(
                    &tester, sizes[i], others[j], chain_sample, NULL, &options)));
                ASSERT(tester == NULL);
                tester = (npksd_tester *)data;
                ASSERTm(variant_name(v), too_much(npksd_tester_create(
                    &tester, others[j], sizes[i], chain_sample, NULL, &options)));
                ASSERT(tester == NULL);
            }
        }
    }
    ASSERT_EQ(0u, heap.live + heap.wrong);
    PASS();
}

TEST huge_options(void)
{
    static const option_case huge[] = {
        FIELD(PLAIN, SET_SIZE, replicates, -1), FIELD(FEATURES, SET_SIZE, features, -1),
        FIELD(RBF, SET_SIZE, basis, -1),        FIELD(SPLINE, SET_SIZE, basis, -1),
        FIELD(POLY, SET_SIZE, degree, -1),      FIELD(SUMMARY, SET_SIZE, summary_dim, -1),
        FIELD(PLAIN, SET_NO_SCALES, scales, -1),
    };
    test_heap heap;
    memset(&heap, 0, sizeof heap);
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        npksd_options options = base_options(huge[i].base, &heap);
        apply(&options, &huge[i]);
        npksd_tester *tester = (npksd_tester *)data;
        ASSERTm(huge[i].named, too_much(npksd_tester_create(&tester, SMALL_N, SMALL_M,
                                                            chain_sample, NULL, &options)));
        ASSERT(tester == NULL);
    }
    ASSERT_EQ(0u, heap.live + heap.wrong);
    PASS();
}

TEST overflowing_test(void)
{
    /* n * m numbers are more bytes than there are: refused before a row is read */
    static const size_t shapes[][2] = { { SIZE_MAX / 2, 2 }, { 2, SIZE_MAX / 2 },
                                        { SIZE_MAX, SIZE_MAX }, { SIZE_MAX, 1 } };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        npksd_options options = small_options();
        npksd_result result;
        memset(&result, UNTOUCHED, sizeof result);
        ASSERT(too_much(npksd_test(data, shapes[i][0], shapes[i][1], chain_sample, NULL, &options,
                                   &result)));
        ASSERT(untouched(&result, sizeof result));
    }
    PASS();
}

/* The sizes of the largest tester that fits, and of the next ones, whose parts fit but whose sum does not. */
TEST the_last_size_that_fits(size_t v)
{
    npksd_options options = variant_options(v);
    size_t fits = 1, beyond = SIZE_MAX, bytes, before = 0;
    if (options.resample_distinct)
        options.resample = 1;
    while (beyond - fits > 1) {
        size_t n = fits + (beyond - fits) / 2;
        if (npksd_tester_size(n, 1, &options, &bytes) == NPKSD_OK)
            fits = n;
        else
            beyond = n;
    }
    for (size_t n = fits > 40 ? fits - 40 : 1; n <= fits; n++, before = bytes) {
        ASSERT_STATUS(NPKSD_OK, npksd_tester_size(n, 1, &options, &bytes));
        ASSERTm("more rows, more bytes", bytes >= before && bytes / sizeof(npksd_real) > n);
    }
    for (size_t n = beyond; n < beyond + 40; n++)
        ASSERT(too_much(npksd_tester_size(n, 1, &options, &bytes)));
    PASS();
}

/* 2^28 replicates of the fewest rows there can be: more than a machine has, or can count with 32 bits. */
TEST too_many_replicates(void)
{
    test_heap heap;
    npksd_result result;
    memset(&heap, 0, sizeof heap);
    npksd_options options = base_options(PLAIN, &heap);
    options.replicates = (size_t)1 << 28;
    memset(&result, UNTOUCHED, sizeof result);
    ASSERT_STATUS(NPKSD_ERROR_MEMORY, npksd_test_samples(data, 1, data, 32, 1, &options, &result));
    ASSERT(untouched(&result, sizeof result));
    ASSERT_EQ(0u, heap.live + heap.wrong);
    PASS();
}

/* ======== generators that misbehave ======== */

static int ignore_rng(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)rng, (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = (npksd_real)((i * 37) % 11);
    return 0;
}

static int same_rows(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)rng, (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = (npksd_real)(i % m);
    return 0;
}

typedef struct one_test {
    npksd_status status;
    npksd_result result;
    test_heap heap;
} one_test;

/* npksd_test with a counting allocator and a marked result */
static void run_test(one_test *run, npksd_sample_fn sample_fn, void *source, npksd_options options)
{
    memset(run, 0, sizeof *run);
    memset(&run->result, UNTOUCHED, sizeof run->result);
    options.allocator = heap_allocator(&run->heap);
    run->status = npksd_test(data, SMALL_N, SMALL_M, sample_fn, source, &options, &run->result);
}

static enum greatest_test_res expect_error(npksd_status expected, const one_test *run)
{
    ASSERT_STATUS(expected, run->status);
    ASSERT(untouched(&run->result, sizeof run->result));
    ASSERT_EQ(0u, run->heap.live + run->heap.wrong);
    PASS();
}

/* calls of the generator in fit, held-out, pilot and replicates for small_options */
static size_t count_calls(npksd_options options)
{
    test_source source;
    one_test run;
    memset(&source, 0, sizeof source);
    run_test(&run, chain_sample, &source, options);
    return run.status == NPKSD_OK ? source.calls : 0;
}

TEST generator_faults(void)
{
    static const test_fault faults[] = { FAULT_RETURN, FAULT_NAN, FAULT_INF, FAULT_MINUS_INF };
    npksd_options options = small_options();
    size_t calls = count_calls(options);
    ASSERT(calls > 0);
    for (size_t f = 0; f < 4; f++) {
        for (size_t k = 1; k <= calls; k += stride(7)) {
            test_source source;
            one_test run;
            memset(&source, 0, sizeof source);
            source.bad_call = k;
            source.fault = faults[f];
            run_test(&run, chain_sample, &source, options);
            CHECK_CALL(expect_error(f == 0 ? NPKSD_ERROR_GENERATOR : NPKSD_ERROR_NONFINITE, &run));
        }
    }
    PASS();
}

TEST score_faults(void)
{
    static const test_fault faults[] = { FAULT_NAN, FAULT_INF, FAULT_MINUS_INF };
    npksd_options options = small_options();
    test_source source;
    one_test run;
    options.estimator = NPKSD_ESTIMATOR_CALLBACK;
    options.score_fn = chain_score;
    options.score_user_data = &source;
    memset(&source, 0, sizeof source);
    run_test(&run, chain_sample, NULL, options);
    ASSERT_STATUS(NPKSD_OK, run.status);
    size_t calls = source.calls;
    ASSERT(calls > 0);
    for (size_t f = 0; f < 3; f++) {
        for (size_t k = 1; k <= calls; k += stride(7)) {
            source.calls = 0;
            source.bad_call = k;
            source.fault = faults[f];
            run_test(&run, chain_sample, NULL, options);
            CHECK_CALL(expect_error(NPKSD_ERROR_NONFINITE, &run));
        }
    }
    PASS();
}

/* A callback returns 0, or anything else to stop. */
static int answer_rows(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *answer)
{
    chain_sample(rows, count, m, rng, NULL);
    return *(const int *)answer;
}

static int answer_scores(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *answer)
{
    chain_score(rows, count, m, scores, NULL);
    return *(const int *)answer;
}

TEST anything_but_0_stops(void)
{
    static int answers[] = { 1, -1, 2, 256, INT_MAX, INT_MIN };
    for (size_t k = 0; k < sizeof answers / sizeof answers[0]; k++) {
        npksd_options options = small_options();
        npksd_power_result power;
        one_test run;
        run_test(&run, answer_rows, &answers[k], options);
        CHECK_CALL(expect_error(NPKSD_ERROR_GENERATOR, &run));
        memset(&power, UNTOUCHED, sizeof power);
        ASSERT_STATUS(NPKSD_ERROR_GENERATOR, npksd_power(SMALL_N, SMALL_M, chain_sample, NULL, answer_rows, &answers[k],
                                                         &options, 2, &power));
        ASSERT(untouched(&power, sizeof power));
        options.estimator = NPKSD_ESTIMATOR_CALLBACK;
        options.score_fn = answer_scores;
        options.score_user_data = &answers[k];
        run_test(&run, chain_sample, NULL, options);
        CHECK_CALL(expect_error(NPKSD_ERROR_GENERATOR, &run));
    }
    PASS();
}

/* Scores are made in blocks of rows; a block that fails must not leave those before it behind. */
TEST score_faults_leave_scores_untouched(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_real scores[SMALL_N * SMALL_M];
    test_source source;
    memset(&source, 0, sizeof source);
    options.estimator = NPKSD_ESTIMATOR_CALLBACK;
    options.score_fn = chain_score;
    options.score_user_data = &source;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    source.calls = 0;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, data, SMALL_N, scores));
    size_t calls = source.calls;
    int kept = 1;
    for (size_t k = 1; k <= calls; k++) {
        source.calls = 0;
        source.bad_call = k;
        memset(scores, UNTOUCHED, sizeof scores);
        ASSERT_STATUS(NPKSD_ERROR_GENERATOR, npksd_tester_scores(tester, data, SMALL_N, scores));
        kept = kept && untouched(scores, sizeof scores);
    }
    npksd_tester_destroy(tester);
    ASSERT(kept);
    PASS();
}

/* A summary cannot give up, but a NaN from it must not end as a p-value. */
TEST summary_faults(void)
{
    npksd_options options = small_options();
    test_source source;
    one_test run;
    options.summary = NPKSD_SUMMARY_CALLBACK;
    options.summary_fn = faulty_sum;
    options.summary_dim = 1;
    options.summary_user_data = &source;
    memset(&source, 0, sizeof source);
    source.fault = FAULT_NAN;
    run_test(&run, chain_sample, NULL, options);
    ASSERT_STATUS(NPKSD_OK, run.status);
    size_t calls = source.calls, step = calls / 40 + 1;
    for (size_t back = 0; back < calls; back += step) { /* the last one: an observed row */
        source.calls = 0;
        source.bad_call = calls - back;
        run_test(&run, chain_sample, NULL, options);
        CHECK_CALL(expect_error(NPKSD_ERROR_NONFINITE, &run));
    }
    PASS();
}

TEST generator_that_ignores_its_rng(void)
{
    one_test run;
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        /* redrawn indices, noise and bootstrap signs must not hide it */
        if (options.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP)
            continue;
        run_test(&run, ignore_rng, NULL, options);
        ASSERT_STATUSm(variant_name(v), NPKSD_ERROR_GENERATOR, run.status);
        CHECK_CALL(expect_error(NPKSD_ERROR_GENERATOR, &run));
    }
    PASS();
}

TEST generator_of_constant_rows_is_fine(void)
{
    one_test run;
    for (size_t v = 0; v < variant_count(); v++) {
        run_test(&run, same_rows, NULL, variant_options(v));
        ASSERT_STATUSm(variant_name(v), NPKSD_OK, run.status);
        ASSERT(run.result.flags & NPKSD_FLAG_CONSTANT_COORDINATE);
        ASSERT_EQ(0u, run.heap.live + run.heap.wrong);
    }
    PASS();
}

/* ======== observed rows ======== */

TEST nonfinite_observed_rows(void)
{
    static const size_t places[] = { 0, SMALL_M, SMALL_N * SMALL_M - 1 };
    for (size_t v = 0; v < variant_count(); v++) {
        npksd_options options = variant_options(v);
        npksd_tester *tester = NULL;
        npksd_result before, result, after;
        ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL,
                                                    &options));
        ASSERT_STATUSm(variant_name(v), NPKSD_OK, finish(tester));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &before, NULL));
        for (size_t i = 0; i < 9; i++) {
            npksd_real bad[3], rows[SMALL_N * SMALL_M], scores[SMALL_N * SMALL_M];
            bad[0] = not_a_number();
            bad[1] = plus_infinity();
            bad[2] = minus_infinity();
            memcpy(rows, data, sizeof rows);
            rows[places[i / 3]] = bad[i % 3];
            memset(&result, UNTOUCHED, sizeof result);
            memset(scores, UNTOUCHED, sizeof scores);
            ASSERT_STATUSm(variant_name(v), NPKSD_ERROR_NONFINITE,
                           npksd_tester_check(tester, rows, &result, NULL));
            ASSERT_STATUSm(variant_name(v), NPKSD_ERROR_NONFINITE,
                           npksd_tester_scores(tester, rows, SMALL_N, scores));
            ASSERT(untouched(&result, sizeof result));
            ASSERT(untouched(scores, sizeof scores));
            one_test run;
            npksd_real kept = data[places[i / 3]];
            data[places[i / 3]] = bad[i % 3];
            run_test(&run, chain_sample, NULL, options);
            data[places[i / 3]] = kept;
            CHECK_CALL(expect_error(NPKSD_ERROR_NONFINITE, &run));
        }
        ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &after, NULL));
        ASSERTm("the tester is as good as before", same_result(&before, &after));
        npksd_tester_destroy(tester);
    }
    PASS();
}

TEST one_pair_without_diagnose(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_diagnosis diagnosis;
    npksd_result result;
    npksd_pair pair;
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.pairs = &pair;
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, &diagnosis)); /* no room: none wanted */
    diagnosis.pair_capacity = 1;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_check(tester, data, &result, &diagnosis));
    npksd_tester_destroy(tester);
    PASS();
}

TEST diagnosis_without_diagnose(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_result result;
    npksd_real coordinates[SMALL_M], influence[SMALL_N];
    npksd_pair pairs[2];
    npksd_diagnosis diagnosis;
    memset(&diagnosis, 0, sizeof diagnosis);
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    memset(&result, UNTOUCHED, sizeof result);
    memset(coordinates, UNTOUCHED, sizeof coordinates);
    memset(influence, UNTOUCHED, sizeof influence);
    memset(pairs, UNTOUCHED, sizeof pairs);
    for (int field = 0; field < 6; field++) { /* each of them needs options.diagnose */
        memset(&diagnosis, 0, sizeof diagnosis);
        diagnosis.row_influence = influence;
        diagnosis.coordinate_statistic = field == 0 ? coordinates : NULL;
        diagnosis.coordinate_p = field == 1 ? coordinates : NULL;
        diagnosis.coordinate_p_adjusted = field == 2 ? coordinates : NULL;
        diagnosis.coordinate_shift = field == 3 ? coordinates : NULL;
        diagnosis.coordinate_distance = field == 4 ? coordinates : NULL;
        diagnosis.pairs = field == 5 ? pairs : NULL;
        diagnosis.pair_capacity = field == 5 ? 2 : 0;
        ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_tester_check(tester, data, &result, &diagnosis));
        ASSERT(untouched(&result, sizeof result));
        ASSERT(untouched(coordinates, sizeof coordinates));
        ASSERT(untouched(influence, sizeof influence));
        ASSERT(untouched(pairs, sizeof pairs));
        ASSERT_EQ(0u, diagnosis.pair_count);
    }
    memset(&diagnosis, 0, sizeof diagnosis);
    diagnosis.row_influence = influence;
    ASSERT_STATUSm("influence alone needs nothing", NPKSD_OK,
                   npksd_tester_check(tester, data, &result, &diagnosis));
    ASSERT_FALSE(untouched(influence, sizeof influence));
    npksd_tester_destroy(tester);
    PASS();
}

TEST nonfinite_rows_leave_diagnosis_untouched(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_result result;
    npksd_real out[5 * SMALL_M + SMALL_N], rows[SMALL_N * SMALL_M];
    npksd_pair pairs[SMALL_M];
    npksd_diagnosis diagnosis;
    memset(&diagnosis, 0, sizeof diagnosis);
    memset(pairs, UNTOUCHED, sizeof pairs);
    options.diagnose = 1;
    diagnosis.coordinate_shift = out + 3 * SMALL_M + SMALL_N;
    diagnosis.coordinate_distance = out + 4 * SMALL_M + SMALL_N;
    diagnosis.pairs = pairs;
    diagnosis.pair_capacity = SMALL_M;
    diagnosis.coordinate_statistic = out;
    diagnosis.coordinate_p = out + SMALL_M;
    diagnosis.coordinate_p_adjusted = out + 2 * SMALL_M;
    diagnosis.row_influence = out + 3 * SMALL_M;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, finish(tester));
    memset(out, UNTOUCHED, sizeof out);
    memcpy(rows, data, sizeof rows);
    rows[SMALL_N * SMALL_M - 1] = not_a_number();
    ASSERT_STATUS(NPKSD_ERROR_NONFINITE, npksd_tester_check(tester, rows, &result, &diagnosis));
    ASSERT_STATUS(NPKSD_ERROR_NONFINITE, npksd_tester_check_begin(tester, rows));
    ASSERT(untouched(out, sizeof out));
    ASSERT(untouched(pairs, sizeof pairs));
    ASSERT_EQ(0u, diagnosis.pair_count);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, &diagnosis));
    for (size_t i = SMALL_M; i < 3 * SMALL_M; i++)
        ASSERT(out[i] > 0 && out[i] <= 1);
    ASSERT(finite_bits(out, 5 * SMALL_M + SMALL_N));
    ASSERT_EQ_FMT((size_t)SMALL_M, diagnosis.pair_count, "%zu"); /* 3 pairs of 3 columns */
    for (size_t k = 0; k < SMALL_M; k++) {
        ASSERT(pairs[k].first < pairs[k].second && pairs[k].second < SMALL_M);
        ASSERT(pairs[k].p_adjusted > 0 && pairs[k].p_adjusted <= 1);
        ASSERT(k == 0 || pairs[k].p_adjusted >= pairs[k - 1].p_adjusted);
    }
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== strange data are data ======== */

#ifdef NPKSD_FLOAT
#define LARGE ((npksd_real)1e37)
#define SMALL ((npksd_real)1e-37)
#define DENORMAL ((npksd_real)1e-42)
#else
#define LARGE ((npksd_real)1e300)
#define SMALL ((npksd_real)1e-300)
#define DENORMAL ((npksd_real)1e-310)
#endif

typedef enum strange_kind {
    ALL_LARGE, ALL_SMALL, MIXED_UNITS, DENORMALS, LARGE_OFFSET, HEAVY_TAILS, ONE_OUTLIER, BITS,
    HALF_CONSTANT, MOSTLY_ZERO, EQUAL_COLUMNS, ONE_LARGE_CONSTANT, STRANGE_COUNT
} strange_kind;

static int strange_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    strange_kind kind = *(const strange_kind *)user_data;
    chain_sample(rows, count, m, rng, NULL);
    for (size_t i = 0; i < count * m; i++) {
        npksd_real x = rows[i];
        switch (kind) {
        case ALL_LARGE: rows[i] = x * LARGE; break;
        case ALL_SMALL: rows[i] = x * SMALL; break;
        case MIXED_UNITS: rows[i] = x * (i % m == 0 ? LARGE : i % m == 1 ? SMALL : 1); break;
        case DENORMALS: rows[i] = x * DENORMAL; break;
        case LARGE_OFFSET: rows[i] = x + 1000000; break;
        case HEAVY_TAILS: rows[i] = x * x * x / (npksd_uniform(rng) + SMALL); break;
        case ONE_OUTLIER: rows[i] = npksd_uniform(rng) < (npksd_real)0.001 ? LARGE : x; break;
        case BITS: rows[i] = x > 0; break;
        case HALF_CONSTANT: rows[i] = i % m == 0 ? 7 : x; break;
        case MOSTLY_ZERO: rows[i] = npksd_uniform(rng) < (npksd_real)0.98 ? 0 : x; break;
        case EQUAL_COLUMNS: rows[i] = i % m == 0 ? x : rows[i - 1]; break;
        case ONE_LARGE_CONSTANT: rows[i] = i % m == 0 ? LARGE : x; break;
        case STRANGE_COUNT: break;
        }
    }
    return 0;
}

static int is_finite(npksd_real value)
{
    return value - value == 0; /* not under -ffast-math; the range checks remain there */
}

TEST strange_data(size_t v)
{
    static const char *const names[STRANGE_COUNT] = {
        "all large", "all small", "mixed units", "denormals", "large offset", "heavy tails",
        "one outlier", "bits", "half constant", "mostly zero", "equal columns", "large constant"
    };
    static const size_t shapes[][3] = {
        /* n, m, fit_rows */
        { SMALL_N, SMALL_M, 190 }, { SMALL_N, 1, 190 }, { 1, SMALL_M, 30 }, { 2, 2, 2 },
        { 17, 2, 3 }
    };
    for (size_t k = v % stride(3); k < STRANGE_COUNT; k += stride(3)) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i += stride(2)) {
            strange_kind kind = (strange_kind)k;
            npksd_options options = variant_options(v);
            npksd_real rows[SMALL_N * SMALL_M];
            npksd_rng_state state;
            npksd_rng rng = npksd_rng_seeded(&state, test_seed, 4000 + i);
            npksd_result result;
            size_t n = shapes[i][0], m = shapes[i][1];
            options.fit_rows = shapes[i][2];
            if (options.resample_distinct && options.resample > m)
                options.resample = m;
            if (npksd_options_problem(&options, n, m))
                continue; /* U of one row, pairs of one column, and nothing else */
            strange_sample(rows, n, m, &rng, &kind);
            for (int off = 0; off < 2; off++) { /* and rows that the generator cannot make */
                rows[0] += off ? LARGE / 4 : 0;
                ASSERT_STATUSm(names[k], NPKSD_OK,
                               npksd_test(rows, n, m, strange_sample, &kind, &options, &result));
                ASSERTm(names[k], result.p_value > 0 && result.p_value <= 1);
                ASSERTm(names[k], is_finite(result.statistic) && is_finite(result.threshold));
                ASSERTm(names[k], is_finite(result.ksd2) && is_finite(result.bandwidth));
                ASSERTm(names[k], result.bandwidth > 0);
            }
        }
    }
    PASS();
}

/* ======== too early ======== */

TEST called_too_early(void)
{
    npksd_options options = small_options();
    npksd_tester *tester = NULL;
    npksd_result result;
    npksd_real scores[SMALL_M];
    npksd_status status = NPKSD_MORE;
    size_t scored = 0, busy = 0;
    ASSERT_STATUS(NPKSD_OK,
                  npksd_tester_create(&tester, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    memset(scores, UNTOUCHED, sizeof scores);
    ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_scores(tester, data, 1, scores));
    ASSERT(untouched(scores, sizeof scores));
    while (status == NPKSD_MORE) {
        memset(&result, UNTOUCHED, sizeof result);
        ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_check(tester, data, &result, NULL));
        ASSERT(untouched(&result, sizeof result));
        ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_check_begin(tester, data));
        ASSERT_STATUS(NPKSD_ERROR_STATE, npksd_tester_check_end(tester, &result, NULL));
        ASSERT(untouched(&result, sizeof result));
        npksd_status now = npksd_tester_scores(tester, data, 1, scores);
        ASSERT(now == NPKSD_OK || now == NPKSD_ERROR_STATE);
        scored += now == NPKSD_OK;
        busy += scored > 0 && now != NPKSD_OK;
        status = npksd_tester_step(tester, 1);
    }
    ASSERT_STATUS(NPKSD_OK, status);
    ASSERTm("scores are there after the fit, between data sets", scored > SMALL_REPLICATES);
    ASSERTm("and not while one is half done", busy > SMALL_REPLICATES);
    ASSERT_STATUS(NPKSD_OK, npksd_tester_scores(tester, data, 1, scores));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(tester, data, &result, NULL));
    npksd_tester_destroy(tester);
    PASS();
}

/* ======== wild bootstrap without a generator ======== */

TEST wild_bootstrap_without_generator(void)
{
    test_heap heap;
    memset(&heap, 0, sizeof heap);
    npksd_options options = base_options(WILD, &heap);
    one_test run;
    options.standardize = 0;
    options.bandwidth = 1;
    run_test(&run, NULL, NULL, options);
    ASSERT_STATUS(NPKSD_OK, run.status);
    npksd_options bad = options;
    bad.bandwidth = 0;
    run_test(&run, NULL, NULL, bad);
    CHECK_CALL(expect_error(NPKSD_ERROR_ARGUMENT, &run));
    bad = options;
    bad.standardize = 1;
    run_test(&run, NULL, NULL, bad);
    CHECK_CALL(expect_error(NPKSD_ERROR_ARGUMENT, &run));
    bad = options;
    bad.calibration = NPKSD_CALIBRATE_MONTE_CARLO;
    run_test(&run, NULL, NULL, bad);
    CHECK_CALL(expect_error(NPKSD_ERROR_ARGUMENT, &run));
    PASS();
}

/* ======== texts ======== */

TEST status_texts(void)
{
    ASSERT_EQ_FMT(0, (int)NPKSD_OK, "%d");
    ASSERT_EQ_FMT(1, (int)NPKSD_MORE, "%d");
    ASSERT(NPKSD_ERROR_ARGUMENT < 0 && NPKSD_ERROR_MEMORY < 0 && NPKSD_ERROR_NONFINITE < 0 && NPKSD_ERROR_GENERATOR < 0
           && NPKSD_ERROR_NUMERIC < 0 && NPKSD_ERROR_FORMAT < 0 && NPKSD_ERROR_STATE < 0);
    for (int status = NPKSD_ERROR_STATE; status <= NPKSD_MORE; status++) {
        const char *text = npksd_status_string((npksd_status)status);
        ASSERT(text && text[0]);
        for (int other = NPKSD_ERROR_STATE; other < status; other++)
            ASSERT(strcmp(text, npksd_status_string((npksd_status)other)) != 0);
    }
    ASSERT(npksd_status_string((npksd_status)1234) != NULL);
    static const char *const components[] = { "STEIN", "MIRROR", "MOMENT", "MMD", "MARGIN", "PAIR" };
    for (unsigned k = 0; k < 6; k++)
        ASSERT_STR_EQ(components[k], npksd_component_string(1u << k));
    ASSERT(npksd_component_string(0) != NULL);
    ASSERT(npksd_component_string(NPKSD_COMPONENT_ALL) != NULL);
    ASSERT_STR_EQ(npksd_component_string(0), npksd_component_string(64));
    ASSERT_EQ_FMT(NPKSD_VERSION, npksd_version(), "%d");
    PASS();
}

static void run_table(int good, const option_case *cases, size_t count)
{
    char name[64];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%lu_%s", (unsigned long)i, cases[i].named);
        greatest_set_test_suffix(name);
        if (good)
            RUN_TEST1(good_option, &cases[i]);
        else
            RUN_TEST1(bad_option, &cases[i]);
    }
}

SUITE(suite_errors)
{
    draw_rows(data, SMALL_N, SMALL_M, test_seed + 1000);
    run_table(0, bad_cases, sizeof bad_cases / sizeof bad_cases[0]);
    run_table(1, good_cases, sizeof good_cases / sizeof good_cases[0]);
    RUN_TEST(every_variant_is_good);
    RUN_TEST(defaults_as_stated);
    RUN_TEST(pilot_is_not_needed_for_one_number);
    RUN_TEST(as_large_as_can_be);
    RUN_TEST(null_pointers_to_create);
    RUN_TEST(null_pointers_to_test);
    RUN_TEST(null_pointers_to_test_diagnose);
    RUN_TEST(null_pointers_to_tester);
    RUN_TEST(bad_statistic_arguments);
    RUN_TEST(bad_median_arguments);
    RUN_TEST(huge_sizes);
    RUN_TEST(huge_options);
    RUN_TEST(overflowing_test);
    for (size_t v = 0; v < variant_count(); v++) {
        greatest_set_test_suffix(variant_name(v));
        RUN_TEST1(the_last_size_that_fits, v);
    }
    RUN_TEST(too_many_replicates);
    RUN_TEST(generator_faults);
    RUN_TEST(score_faults);
    RUN_TEST(anything_but_0_stops);
    RUN_TEST(score_faults_leave_scores_untouched);
    RUN_TEST(summary_faults);
    RUN_TEST(generator_that_ignores_its_rng);
    RUN_TEST(generator_of_constant_rows_is_fine);
    RUN_TEST(nonfinite_observed_rows);
    RUN_TEST(one_pair_without_diagnose);
    RUN_TEST(diagnosis_without_diagnose);
    RUN_TEST(nonfinite_rows_leave_diagnosis_untouched);
    for (size_t v = 0; v < variant_count(); v++) {
        greatest_set_test_suffix(variant_name(v));
        RUN_TEST1(strange_data, v);
    }
    RUN_TEST(called_too_early);
    RUN_TEST(wild_bootstrap_without_generator);
    RUN_TEST(status_texts);
}
