/*
 * Distinct testers in distinct threads: each of two threads creates, steps, checks, saves, loads and destroys testers
 * of its own, and gets the answers of a run without threads. `make check-tsan` runs this under the thread sanitizer,
 * which sees a variable that they share.
 */
#define NPKSD_IMPLEMENTATION
#include "options.h"
#include <pthread.h>

enum { N = 24, M = 3, REPLICATES = 19, THREADS = 2, BLOB = 1 << 20 };

static int sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng) + (i % m > 0 ? rows[i - 1] / 2 : 0);
    return 0;
}

/* What a job finds out, in numbers. */
typedef struct answer {
    npksd_real null_values[REPLICATES], p[M], influence[N], scores[N * M];
    npksd_real result[4], loaded[4]; /* statistic, p, threshold, ksd2 */
} answer;

typedef struct job {
    npksd_options options;
    npksd_real rows[N * M];
    answer found;
    unsigned char blob[BLOB];
    npksd_status status;
} job;

static void keep(const npksd_result *result, npksd_real numbers[4])
{
    numbers[0] = result->statistic;
    numbers[1] = result->p_value;
    numbers[2] = result->threshold;
    numbers[3] = result->ksd2;
}

#define TRY(call)                                                                                 \
    if ((status = (call)) != NPKSD_OK)                                                            \
        return status

static npksd_status use(job *j, npksd_tester **tester, npksd_tester **loaded)
{
    npksd_status status;
    npksd_result result;
    npksd_diagnosis why;
    size_t bytes;
    memset(&why, 0, sizeof why);
    why.coordinate_p = j->options.diagnose ? j->found.p : NULL;
    why.row_influence = j->found.influence;
    TRY(npksd_tester_create(tester, N, M, sample, NULL, &j->options));
    while ((status = npksd_tester_step(*tester, 7)) == NPKSD_MORE)
        continue;
    TRY(status);
    TRY(npksd_tester_check(*tester, j->rows, &result, &why));
    keep(&result, j->found.result);
    TRY(npksd_tester_null(*tester, j->found.null_values, REPLICATES, NULL));
    TRY(npksd_tester_scores(*tester, j->rows, N, j->found.scores));
    TRY(npksd_tester_save(*tester, j->blob, BLOB, &bytes));
    TRY(npksd_tester_load(loaded, j->blob, bytes, NULL));
    TRY(npksd_tester_check(*loaded, j->rows, &result, NULL));
    keep(&result, j->found.loaded);
    return NPKSD_OK;
}

static void *work(void *argument)
{
    job *j = (job *)argument;
    npksd_tester *tester = NULL, *loaded = NULL;
    memset(&j->found, 0, sizeof j->found);
    j->status = use(j, &tester, &loaded);
    npksd_tester_destroy(loaded);
    npksd_tester_destroy(tester);
    return NULL;
}

/* Every thread has another seed and other rows. */
static void start(job *j, const char *words, uint64_t seed)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed + 100, 0);
    sample(j->rows, N, M, &rng, NULL);
    j->options = npksd_default_options();
    j->options.seed = seed;
    j->options.fit_rows = 200;
    j->options.pilot = 9;
    j->options.replicates = REPLICATES;
    set_options(&j->options, words);
}

static int same_as_without_threads(const char *words)
{
    static job jobs[THREADS];
    static answer alone[THREADS];
    pthread_t threads[THREADS];
    int good = 1;
    for (uint64_t k = 0; k < THREADS; k++) {
        start(&jobs[k], words, k);
        work(&jobs[k]);
        good &= jobs[k].status == NPKSD_OK;
        alone[k] = jobs[k].found;
    }
    for (size_t k = 0; k < THREADS; k++)
        if (pthread_create(&threads[k], NULL, work, &jobs[k]) != 0)
            abort();
    for (size_t k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        good &= jobs[k].status == NPKSD_OK;
        good &= memcmp(&alone[k], &jobs[k].found, sizeof alone[k]) == 0;
    }
    if (!good)
        printf("\"%s\": %s, %s, or not the answers of a run without threads\n", words,
               npksd_status_string(jobs[0].status), npksd_status_string(jobs[1].status));
    return good;
}

int main(void)
{
    static const char *const words[] = { "", "all diagnose", "imq neighbours scalar uv", "features=20 mean_var",
                                         "gauss redraw resample=2", "poly smooth=0.1", "spline", "rbf" };
    int good = 1;
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        good &= same_as_without_threads(words[k]);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
