/*
 * How much stack do the functions of npksd.h need? Each job runs in a thread whose stack is painted before. What has
 * lost its colour below the job's caller was in use, that of callbacks and of the C library included.
 *
 * The promise is for -O2 (`make stack`): -O0 may, and sanitizers do, make larger frames.
 */
#define _POSIX_C_SOURCE 200809L
#define NPKSD_IMPLEMENTATION
#include "options.h"
#include <pthread.h>

enum { N = 40, M = 4, SYNTHETIC = 400, REPLICATES = 499, STACK = 1 << 20, PAINT = 0xA5, PROMISED = 12 * 1024 };

static npksd_real observed[N * M], synthetic[SYNTHETIC * M], numbers[N * M];

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
    for (size_t i = 0; i < count * m; i++)
        scores[i] = -rows[i];
    return 0;
}

static void summary(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *unused)
{
    (void)unused;
    t[0] = row[(i + 1) % m];
}

/* ======== jobs ======== */

static npksd_diagnosis everything(void)
{
    static npksd_real lists[5][M];
    static npksd_pair pairs[M * M];
    npksd_diagnosis why;
    memset(&why, 0, sizeof why);
    why.coordinate_statistic = lists[0];
    why.coordinate_p = lists[1];
    why.coordinate_p_adjusted = lists[2];
    why.coordinate_shift = lists[3];
    why.coordinate_distance = lists[4];
    why.row_influence = numbers;
    why.pairs = pairs;
    why.pair_capacity = M * M;
    return why;
}

static npksd_status test(const npksd_options *options)
{
    npksd_result result;
    return npksd_test(observed, N, M, sample, NULL, options, &result);
}

static npksd_status diagnose(const npksd_options *options)
{
    npksd_result result;
    npksd_diagnosis why = everything();
    return npksd_test_diagnose(observed, N, M, sample, NULL, options, &result, &why, NULL);
}

static npksd_status samples(const npksd_options *options)
{
    npksd_result result;
    npksd_diagnosis why = everything();
    return npksd_test_samples_diagnose(observed, N, synthetic, SYNTHETIC, M, options, &result, &why, NULL);
}

static npksd_status self_check(const npksd_options *options)
{
    npksd_self_check_result result;
    return npksd_self_check(N, M, sample, NULL, options, 1, &result);
}

static npksd_status power(const npksd_options *options)
{
    npksd_power_result result;
    return npksd_power(N, M, sample, NULL, sample, NULL, options, 1, &result);
}

static npksd_status primitives(const npksd_options *options)
{
    npksd_options given = *options;
    npksd_real out;
    given.bandwidth = 1;
    npksd_status status = npksd_median_distance(observed, N, M, &given, &out);
    return status ? status : npksd_statistic(observed, observed, N, M, NULL, &given, &out);
}

/* workers, scores, a blob and a monitor */
static npksd_status tester(const npksd_options *options)
{
    static unsigned char blob[1 << 20];
    static npksd_real memory[4], null_values[REPLICATES];
    npksd_tester *t = NULL, *loaded = NULL;
    npksd_worker worker;
    npksd_result result;
    npksd_monitor monitor;
    size_t bytes = 0;
    memset(&worker, 0, sizeof worker);
    npksd_status status = npksd_tester_create(&t, N, M, sample, NULL, options);
    status = status ? status : npksd_tester_prepare(t);
    status = status ? status : npksd_tester_replicates(t, &worker, 0, REPLICATES, null_values);
    status = status ? status : npksd_tester_merge(t, 0, REPLICATES, null_values);
    status = status ? status : npksd_tester_scores(t, observed, N, numbers);
    status = status ? status : npksd_tester_save(t, blob, sizeof blob, &bytes);
    status = status ? status : npksd_tester_load(&loaded, blob, bytes, NULL);
    status = status ? status : npksd_tester_check(loaded, observed, &result, NULL);
    status = status ? status : npksd_monitor_begin(&monitor, (npksd_real)0.01, 4, 1);
    status = status ? status : npksd_monitor_add(&monitor, loaded, memory, &result);
    npksd_tester_destroy(loaded);
    npksd_tester_destroy(t);
    return status;
}

/* ======== a painted stack ======== */

typedef struct job {
    const char *name, *words;
    npksd_status (*run)(const npksd_options *options);
} job;

typedef struct run {
    const job *what;
    npksd_options options;
    npksd_status status;
    uintptr_t caller; /* where its frame is */
} run;

static void *start(void *argument)
{
    volatile unsigned char here = 0;
    run *r = (run *)argument;
    r->caller = (uintptr_t)&here;
    r->status = r->what->run(&r->options);
    return NULL;
}

/* Bytes of the stack that a run needs below its caller. Stacks grow downwards. */
static size_t in_use(run *r)
{
    void *memory = NULL;
    pthread_t thread;
    pthread_attr_t attributes;
    size_t lowest = 0;
    if (posix_memalign(&memory, 65536, STACK) != 0)
        abort();
    memset(memory, PAINT, STACK);
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, memory, STACK) != 0
        || pthread_create(&thread, &attributes, start, r) != 0 || pthread_join(thread, NULL) != 0)
        abort();
    pthread_attr_destroy(&attributes);
    while (lowest < STACK && ((unsigned char *)memory)[lowest] == PAINT)
        lowest++;
    size_t bytes = (size_t)(r->caller - (uintptr_t)memory) - lowest;
    free(memory);
    return bytes;
}

static const job jobs[] = {
    { "npksd_test", "", test },
    { "npksd_test_diagnose", "", diagnose },
    { "npksd_test_samples_diagnose", "", samples },
    { "npksd_self_check", "", self_check },
    { "npksd_power", "", power },
    { "a tester, a blob and a monitor", "", tester },
    { "npksd_median_distance, npksd_statistic", "", primitives },
    { "npksd_test_diagnose", "gauss imq scalar uv", diagnose },
    { "npksd_test_diagnose", "poly all features=64", diagnose },
    { "npksd_test", "spline neighbours stop_after=5 smooth=0.1", test },
    { "npksd_test", "rbf mean_var resample=2 redraw distinct", test },
    { "npksd_test", "score_callback wild stein", test },
    { "npksd_test", "summary_callback", test },
};

int main(void)
{
    size_t most = 0;
    int good = 1;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 7, 0);
    sample(observed, N, M, &rng, NULL);
    sample(synthetic, SYNTHETIC, M, &rng, NULL);
    for (size_t k = 0; k < sizeof jobs / sizeof jobs[0]; k++) {
        run r;
        r.what = &jobs[k];
        r.options = npksd_default_options();
        r.options.score_fn = score;
        r.options.summary_fn = summary;
        r.options.summary_dim = 1;
        set_options(&r.options, r.what->words);
        start(&r); /* the first calls of the C library need stack, to be found */
        size_t bytes = in_use(&r);
        most = bytes > most ? bytes : most;
        if (r.status == NPKSD_OK && bytes <= PROMISED)
            continue;
        printf("%s, \"%s\": %s, %zu bytes of stack\n", r.what->name, r.what->words, npksd_status_string(r.status),
               bytes);
        good = 0;
    }
    printf("%s: at most %zu bytes of stack, %d are promised\n", sizeof(npksd_real) == 4 ? "float" : "double", most,
           PROMISED);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
