/*
 * How long does the default test take, where does the time go, and how far is that from the machine's floor?
 *
 *     speed [--out DIR] [part]
 *
 * parts: builds floor stages growth linear samples threads peers memory; none = all, and DIR/speed.md is
 * written. This file is compiled with -O2, as people compile: what is not said to be another build is that
 * one. QUICK=1: everything runs once with small sizes, builds must agree, nothing is judged. FULL=1: linear
 * time up to a million rows.
 */
#include "speed.h"

#include <pthread.h>

#define SPEED_DECLARE(name) extern const speed_variant speed_##name;
#define SPEED_POINTER(name) &speed_##name,
SPEED_BUILDS(SPEED_DECLARE)
static const speed_variant *const variants[] = { SPEED_BUILDS(SPEED_POINTER) };
enum { VARIANTS = sizeof variants / sizeof variants[0], ROUNDS_MAX = 15, SHAPES = 6, JUDGED = 4 };

/* the first JUDGED of them are judged */
static const speed_shape shapes[SHAPES] = { { 100, 3, 499, 0, 0 },  { 100, 40, 200, 0, 0 }, { 200, 6, 500, 0, 0 },
                                            { 1000, 40, 60, 0, 0 }, { 20, 10, 199, 0, 0 },  { 50, 2, 199, 0, 0 } };
static const speed_shape small[] = { { 40, 4, 19, 10, 0 } };

static int quick, full;
static FILE *section;

#define say(...) bench_say(section, __VA_ARGS__)

static char targets[4096]; /* rows of the table at the end */
static size_t target_count, targets_met;

static void judge(double value, double most, const char *text)
{
    size_t used = strlen(targets);
    if (quick)
        return;
    snprintf(targets + used, sizeof targets - used, "| %s | %.2f | %.3f | %s |\n", text, most, value,
             value <= most ? "met" : "**NOT MET**");
    target_count++;
    targets_met += value <= most;
}

static const speed_variant *variant_named(const char *name)
{
    for (int v = 0; v < VARIANTS; v++)
        if (strcmp(variants[v]->name, name) == 0)
            return variants[v];
    return NULL;
}

static double least_of(const double *values, size_t count)
{
    double least = values[0];
    for (size_t i = 1; i < count; i++)
        least = fmin(least, values[i]);
    return least;
}

static void say_shape(const speed_shape *shape) { say("| %zu, %zu, %zu |", shape->n, shape->m, shape->b); }

/* ======== builds ======== */

/* gcc 12 may leave AVX registers in use at the end of a native build, and SSE code after it would be slow. */
static void clean_registers(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper");
#endif
}

static void builds(void)
{
    static const size_t rounds_of[SHAPES] = { 9, 9, 7, 3, 15, 15 };
    double ms[VARIANTS][ROUNDS_MAX], ratio[VARIANTS][ROUNDS_MAX], least[VARIANTS][SHAPES], middle[VARIANTS][SHAPES];
    say("### Builds\n\nThe whole test: ms of processor time, minimum and (median) of interleaved rounds. After "
        "the colon, the time of -O2 divided by this one: of the minima, and (median within rounds).\n\n"
        "| n, m, b |");
    for (int v = 0; v < VARIANTS; v++)
        say(" %s |", variants[v]->name);
    say("\n|---|");
    for (int v = 0; v < VARIANTS; v++)
        say("---|");
    for (size_t k = 0; k < (quick ? 1 : SHAPES); k++) {
        const speed_shape *shape = quick ? small : &shapes[k];
        size_t rounds = quick ? 1 : rounds_of[k];
        double wanted = 0;
        for (size_t r = 0; r < rounds; r++)
            for (int v = 0; v < VARIANTS; v++) {
                clean_registers();
                speed_run run = variants[v]->test_fn(shape);
                wanted = v == 0 ? run.statistic : wanted;
                if (variants[v]->floor_fn != NULL && fabs(run.statistic - wanted) > 1e-6 * (1 + fabs(wanted))) {
                    fprintf(stderr, "speed: statistic %.12g of %s, but %.12g of %s, which is the same npksd.h\n",
                            run.statistic, variants[v]->name, wanted, variants[0]->name);
                    exit(1);
                }
                ms[v][r] = 1e3 * run.whole;
                ratio[v][r] = ms[0][r] / ms[v][r];
            }
        say("\n");
        say_shape(shape);
        for (int v = 0; v < VARIANTS; v++) {
            least[v][k] = least_of(ms[0], rounds) / least_of(ms[v], rounds);
            middle[v][k] = bench_median(ratio[v], rounds);
            say(" %.1f (%.1f): %.2f (%.2f) |", least_of(ms[v], rounds), bench_median(ms[v], rounds), least[v][k],
                middle[v][k]);
        }
    }
    say("\n\n");
    for (int v = 1; v < VARIANTS && !quick; v++) {
        double mean = bench_geometric_mean(least[v], JUDGED);
        say("- %s / %s, geometric mean of the first %d: %.2f (%.2f)\n", variants[0]->name, variants[v]->name, JUDGED,
            mean, bench_geometric_mean(middle[v], JUDGED));
        if (strcmp(variants[v]->name, SPEED_OLD) == 0) {
            judge(mean, 0.50, "-O2 / commit " SPEED_OLD ", geometric mean");
            judge(least[v][3], 0.25, "-O2 / commit " SPEED_OLD " at n = 1000, m = 40");
        } else if (strcmp(variants[v]->name, "native") == 0) {
            judge(mean, 1.60, "-O2 / native, geometric mean");
        }
    }
    say("\n");
}

/* ======== the floor ======== */

static void floors(void)
{
    const speed_variant *both[2] = { variant_named("-O2"), variant_named("native") }, *blas = variant_named("OpenBLAS");
    say("### Against the floor\n\nThe least that one data set needs: each part timed by itself on numbers in cache, "
        "compiled like the build it is compared with. Products: %s. exp, sine and cosine: those "
        "of npksd.h. Scaling and scores, about 20 operations per number, are left out.\n\n"
        "| part | operations | how many |\n|---|---|---|\n"
        "| draws | normal | n m |\n"
        "| products | multiply-add | 3 m n (n - 1) / 2 for pairs of rows, 16 m n for waves, n m (m + 1) / 2 for pairs "
        "of columns |\n"
        "| exps | exp | n (n - 1) / 2 |\n"
        "| pairs | 6 squarings; C, D, 4 Stein sums, MOMENT: 16 products, 22 sums | n (n - 1) / 2 |\n"
        "| sines | sine and cosine | 16 n |\n"
        "| waves | sums and differences, once and doubled: 10 products, 16 sums | 64 n |\n"
        "| codes | place among 128 edges: 8 look-ups and comparisons; 1 count, 1 look-up | n m |\n"
        "| columns | 4 look-ups, 1 division, 5 products, 5 sums | 128 m |\n"
        "| | 3 moments, 1 running sum | 257 m |\n\n"
        "us per data set. Measured: a replicate, generator included. Whole: the test, fit included, over (pilot + "
        "b + 1) floors.\n\n| n, m, b | build | draws | products | exps | pairs | sines | waves | codes | columns | "
        "floor | measured | / floor | whole / floor |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        blas != NULL ? "sums in registers, or OpenBLAS (dsyrk) if that is faster" : "sums in registers");
    for (size_t k = 0; k < (quick ? 1 : 2 * JUDGED); k++) {
        const speed_shape *shape = quick ? small : &shapes[k / 2];
        const speed_variant *v = both[k % 2];
        size_t rounds = quick ? 1 : shape->n > 500 ? 2 : 5;
        double part[FLOORS], faster[FLOORS], floor = 0, data_set[ROUNDS_MAX], whole[ROUNDS_MAX];
        v->floor_fn(shape->n, shape->m, part);
        if (blas != NULL) {
            blas->floor_fn(shape->n, shape->m, faster);
            part[FLOOR_PRODUCTS] = fmin(part[FLOOR_PRODUCTS], faster[FLOOR_PRODUCTS]);
        }
        for (size_t r = 0; r < rounds; r++) {
            speed_run run = v->test_fn(shape);
            data_set[r] = run.data_set;
            whole[r] = run.whole;
        }
        say_shape(shape);
        say(" %s |", v->name);
        for (int p = 0; p < FLOORS; p++) {
            say(" %.1f |", 1e6 * part[p]);
            floor += part[p];
        }
        say(" %.1f | %.1f | %.2f | %.2f |\n", 1e6 * floor, 1e6 * least_of(data_set, rounds),
            least_of(data_set, rounds) / floor,
            least_of(whole, rounds) / ((double)(speed_options(shape).pilot + shape->b + 1) * floor));
    }
    say("\n");
}

/* ======== where the time goes, and how long an item takes ======== */

enum { CALL, WORK, PAIRS, END, KINDS }; /* items of a data set: generator call, its rows, their pairs, its end */

typedef struct item {
    double seconds; /* least over the rounds, so that an interrupted item does not count */
    size_t stage, kind;
} item;

/* all items of a test; returns how many */
static size_t step_items(const speed_shape *shape, item *items, size_t capacity, int first_round)
{
    npksd_options o = speed_options(shape);
    npksd_tester *tester;
    npksd_status status = NPKSD_MORE;
    size_t i = 0, since_call = 0, panels = (shape->n + NPKSDI_T - 1) / NPKSDI_T;
    bench_must("create", npksd_tester_create(&tester, shape->n, shape->m, speed_draw, NULL, &o));
    for (; status == NPKSD_MORE && i < capacity; i++) {
        size_t calls = speed_calls;
        items[i].stage = tester->schedule_.stage_;
        double start = bench_cpu();
        status = npksd_tester_step(tester, 1);
        double spent = bench_cpu() - start;
        since_call = speed_calls > calls ? 0 : since_call + 1;
        items[i].kind = since_call == 0 ? CALL
            : items[i].stage >= NPKSDI_STAGE_PILOT && since_call > panels ? PAIRS : WORK;
        if (i > 0 && since_call == 0 && items[i - 1].kind == PAIRS)
            items[i - 1].kind = END;
        items[i].seconds = first_round ? spent : fmin(spent, items[i].seconds);
    }
    bench_must("step", status);
    items[i - 1].kind = END;
    npksd_tester_destroy(tester);
    return i;
}

static void stages(void)
{
    static const speed_shape stepped[] = { { 100, 3, 499, 0, 0 }, { 100, 40, 499, 0, 0 }, { 1000, 100, 19, 0, 0 } };
    static const char *const names[] = { "keep",   "scale",     "constants",   "range",  "summary",
                                         "centre", "bandwidth", "frequencies", "stream", "select",
                                         "solve",  "refer",     "pilot",       "replicates" };
    enum { EVERY_STAGE_HAS_A_NAME = 1 / (sizeof names / sizeof names[0] == NPKSDI_STAGE_DONE) };
    static const char *const kinds[2][KINDS] = { { ": generator", "", "", "" },
                                                 { ": generator", ": rows", ": pairs", ": end" } };
    enum { CAPACITY = 200000 };
    item *items = (item *)bench_alloc(CAPACITY, sizeof *items);
    say("### Where the time goes, and how long an item takes\n\n`npksd_tester_step(tester, 1)` until all is done; each "
        "item: minimum of several rounds, reading the clock included. The generator is the caller's and not judged."
        "\n\n| n, m, b | stage | items | ms | share | longest, us |\n|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < (quick ? 1 : sizeof stepped / sizeof stepped[0]); k++) {
        const speed_shape *shape = quick ? small : &stepped[k];
        double sum[NPKSDI_STAGE_DONE * KINDS] = { 0 }, longest[NPKSDI_STAGE_DONE * KINDS] = { 0 }, all = 0, worst = 0;
        size_t of[NPKSDI_STAGE_DONE * KINDS] = { 0 }, count = 0;
        for (int r = 0; r < (quick ? 1 : 3); r++)
            count = step_items(shape, items, CAPACITY, r == 0);
        for (size_t i = 0; i < count; i++) {
            size_t row = items[i].stage * KINDS + items[i].kind;
            of[row]++;
            sum[row] += items[i].seconds;
            all += items[i].seconds;
            longest[row] = fmax(longest[row], items[i].seconds);
            worst = items[i].kind != CALL ? fmax(worst, items[i].seconds) : worst;
        }
        for (size_t row = 0; row < NPKSDI_STAGE_DONE * KINDS; row++) {
            size_t stage = row / KINDS;
            if (of[row] == 0)
                continue;
            say_shape(shape);
            say(" %s%s | %zu | %.2f | %.1f %% | %.1f |\n", names[stage],
                kinds[stage >= NPKSDI_STAGE_PILOT][row % KINDS], of[row], 1e3 * sum[row], 100 * sum[row] / all,
                1e6 * longest[row]);
        }
        if (shape->n == 1000)
            judge(1e3 * worst, 1, "longest item at n = 1000, m = 100, ms");
    }
    say("\n");
    free(items);
}

/* ======== growth ======== */

static void growth(void)
{
    enum { SIZES = 6 };
    static const double sizes[3][SIZES] = { { 50, 100, 200, 400, 800, 1600 },
                                            { 3, 10, 30, 100, 200, 400 },
                                            { 49, 99, 199, 399, 799, 1599 } };
    static const char *const names[3] = { "rows n", "columns m", "replicates b" };
    say("### Growth\n\nWhole tests; n = 100, m = 10, b = 99, except for the one that grows. Slope: of the logarithms, "
        "last three sizes.\n\n| against | size: ms | slope |\n|---|---|---|\n");
    for (int axis = 0; axis < 3; axis++) {
        double ms[SIZES];
        size_t count = quick ? 3 : SIZES;
        say("| %s |", names[axis]);
        for (size_t k = 0; k < count; k++) {
            size_t size[3] = { 100, 10, 99 };
            size[axis] = (size_t)sizes[axis][k];
            const speed_shape shape = { size[0], size[1], size[2], quick ? 10 : 0, 0 };
            ms[k] = 1e3 * variants[0]->test_fn(&shape).whole;
            say(" %zu: %.0f%s", size[axis], ms[k], k + 1 < count ? "," : "");
        }
        say(" | %.2f |\n", bench_slope(sizes[axis] + count - 3, ms + count - 3, 3));
    }
    say("\n");
}

static void linear(void)
{
    enum { SIZES = 7 };
    static const double sizes[SIZES] = { 1000, 3000, 10000, 30000, 100000, 300000, 1000000 };
    const speed_variant *old = variant_named(SPEED_OLD);
    size_t count = quick ? 2 : full ? SIZES : 4;
    double seconds[SIZES], before = 0;
    say("### Linear time\n\nfeatures = 100, m = 6, pilot 20, b = 19, all else default; seconds of the whole test.%s\n\n"
        "| n | -O2 | us per row and data set | %s |\n|---|---|---|---|\n",
        full ? "" : " FULL=1 goes on to a million rows.", SPEED_OLD);
    for (size_t k = 0; k < count; k++) {
        const speed_shape shape = { (size_t)sizes[k], 6, 19, 20, 100 };
        int both = old != NULL && (shape.n <= 10000 || shape.n == 1000000);
        seconds[k] = variants[0]->test_fn(&shape).whole;
        before = both ? old->test_fn(&shape).whole : before;
        say("| %zu | %.2f | %.2f |", shape.n, seconds[k], 1e6 * seconds[k] / (sizes[k] * 40));
        say(both ? " %.2f |\n" : " |\n", before);
    }
    say("\n");
    if (count < SIZES)
        return;
    judge(bench_slope(sizes + 2, seconds + 2, SIZES - 2), 1.05, "linear time, slope from 10,000 rows on");
    if (old != NULL)
        judge(seconds[SIZES - 1] / before, 1, "linear time, -O2 / commit " SPEED_OLD ", a million rows");
}

/* ======== fixed samples ======== */

enum { POOL = 30000 };

/* a generator that costs nothing: consecutive rows of a table */
static int copy_rows(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    size_t first = (size_t)((double)npksd_uniform(rng) * (double)(POOL - count));
    memcpy(rows, (const npksd_real *)user_data + first * m, count * m * sizeof *rows);
    return 0;
}

static void samples(void)
{
    static const size_t counts[3] = { 100, 2000, POOL };
    const speed_shape shape = { 100, 10, 199, quick ? 10 : 0, 0 };
    npksd_options o = speed_options(&shape);
    npksd_real *observed = speed_rows(shape.n + POOL, shape.m), *synthetic = observed + shape.n * shape.m;
    size_t rounds = quick ? 1 : 7;
    say("### Fixed samples against a generator that costs nothing\n\nn = %zu, m = %zu, b = %zu; the generator "
        "copies rows of a table. ms, minimum of interleaved rounds.\n\n"
        "| synthetic rows | npksd_test_samples | npksd_test | ratio |\n|---|---|---|---|\n", shape.n, shape.m, shape.b);
    for (int k = 0; k < 3; k++) {
        double fixed[ROUNDS_MAX], drawn[ROUNDS_MAX], ratio;
        npksd_result result;
        char text[100];
        for (size_t r = 0; r < rounds; r++) {
            double start = bench_cpu();
            bench_must("samples", npksd_test_samples(observed, shape.n, synthetic, counts[k], shape.m, &o, &result));
            fixed[r] = 1e3 * (bench_cpu() - start);
            start = bench_cpu();
            bench_must("test", npksd_test(observed, shape.n, shape.m, copy_rows, synthetic, &o, &result));
            drawn[r] = 1e3 * (bench_cpu() - start);
        }
        ratio = least_of(fixed, rounds) / least_of(drawn, rounds);
        say("| %zu | %.1f | %.1f | %.2f |\n", counts[k], least_of(fixed, rounds), least_of(drawn, rounds), ratio);
        snprintf(text, sizeof text, "%zu fixed samples / a generator that costs nothing", counts[k]);
        judge(ratio, 1.1, text);
    }
    say("\n");
    free(observed);
}

/* ======== two threads ======== */

typedef struct thread_job {
    const npksd_tester *tester;
    npksd_worker worker;
    size_t first, count;
    npksd_real *out;
    npksd_status status;
} thread_job;

static void *thread_main(void *argument)
{
    thread_job *job = (thread_job *)argument;
    job->status = npksd_tester_replicates(job->tester, &job->worker, job->first, job->count, job->out + job->first);
    return NULL;
}

/* wall clock of b replicates shared by one or two threads */
static double time_threads(const npksd_tester *tester, size_t count, size_t b, npksd_real *out)
{
    thread_job job[2];
    pthread_t id[2];
    memset(job, 0, sizeof job);
    double start = bench_now();
    for (size_t k = 0; k < count; k++) {
        job[k].tester = tester;
        job[k].first = k * b / count;
        job[k].count = (k + 1) * b / count - job[k].first;
        job[k].out = out;
        job[k].worker.scratch_bytes = npksd_tester_scratch_size(tester);
        job[k].worker.scratch = bench_alloc(job[k].worker.scratch_bytes, 1);
        if (pthread_create(&id[k], NULL, thread_main, &job[k]) != 0)
            bench_die("pthread_create", NPKSD_ERROR_MEMORY);
    }
    for (size_t k = 0; k < count; k++) {
        pthread_join(id[k], NULL);
        bench_must("replicates", job[k].status);
        free(job[k].worker.scratch);
    }
    return bench_now() - start;
}

static void threads(void)
{
    const speed_shape shape = { 100, 40, quick ? 19 : 499, 10, 0 };
    size_t rounds = quick ? 1 : 15;
    npksd_options o = speed_options(&shape);
    npksd_real *out = (npksd_real *)bench_alloc(2 * shape.b, sizeof *out);
    double one[ROUNDS_MAX], two[ROUNDS_MAX];
    npksd_tester *tester;
    bench_must("create", npksd_tester_create(&tester, shape.n, shape.m, speed_draw, NULL, &o));
    bench_must("prepare", npksd_tester_prepare(tester));
    for (size_t r = 0; r < rounds; r++) {
        one[r] = 1e3 * time_threads(tester, 1, shape.b, out);
        two[r] = 1e3 * time_threads(tester, 2, shape.b, out + shape.b);
        if (memcmp(out, out + shape.b, shape.b * sizeof *out) != 0) {
            fprintf(stderr, "speed: two threads found other replicates than one\n");
            exit(1);
        }
    }
    say("### Two threads\n\n%zu replicates, n = 100, m = 40, wall clock, %ld cores: one thread %.1f ms, two threads "
        "%.1f ms (minimum of the rounds; the same bits), %.2f times as fast.\n\n", shape.b,
        sysconf(_SC_NPROCESSORS_ONLN), least_of(one, rounds), least_of(two, rounds),
        least_of(one, rounds) / least_of(two, rounds));
    npksd_tester_destroy(tester);
    free(out);
}

/* ======== peers, memory ======== */

static void peers(void)
{
    const speed_variant *native = variant_named("native");
    say("### Peers\n\nMMDAgg and MMD-FUSE as written for this benchmark (peers.h, native build), 10 n synthetic rows, "
        "b permutations (MMDAgg: b more for its levels); ms. npksd.h draws its own rows.\n\n"
        "| n, m, b | npksd.h -O2 | npksd.h native | MMDAgg | MMD-FUSE |\n|---|---|---|---|---|\n");
    for (size_t k = 0; k < (quick ? 1 : JUDGED); k++) {
        const speed_shape *shape = quick ? small : &shapes[k];
        double other[2], plain = variants[0]->test_fn(shape).whole, ours = native->test_fn(shape).whole;
        native->peers_fn(shape, other);
        say_shape(shape);
        say(" %.0f | %.0f | %.0f | %.0f |\n", 1e3 * plain, 1e3 * ours, 1e3 * other[0], 1e3 * other[1]);
    }
    say("\n");
}

static void memory(void)
{
    static const size_t sizes[][4] = { { 50, 4, 499, 4000 },      { 100, 3, 499, 4000 },    { 100, 40, 499, 4000 },
                                       { 100, 40, 4999, 4000 },   { 100, 40, 499, 100000 }, { 1000, 40, 499, 4000 },
                                       { 10000, 40, 499, 4000 },  { 100, 784, 499, 4000 } };
    say("### Memory\n\nBytes of a tester (`npksd_tester_size`), its only allocation. Fit rows beyond 1000 "
        "are streamed; n x n is never stored.\n\n| n | m | b | fit rows | bytes |\n|---|---|---|---|---|\n");
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        npksd_options o = npksd_default_options();
        size_t bytes;
        o.replicates = sizes[k][2];
        o.fit_rows = sizes[k][3];
        bench_must("size", npksd_tester_size(sizes[k][0], sizes[k][1], &o, &bytes));
        say("| %zu | %zu | %zu | %zu | %zu |\n", sizes[k][0], sizes[k][1], o.replicates, o.fit_rows, bytes);
    }
    say("\n");
}

/* ======== all of it ======== */

static void say_machine(void)
{
    say("## Speed\n\n`make -C bench speed%s%s`: %s, one thread, processor time, normal rows, default options, npksd.h "
        "of commit %s. Builds:\n\n", variant_named("OpenBLAS") != NULL ? " BLAS=1" : "", full ? " FULL=1" : "",
        bench_cpu_name(), BENCH_COMMIT);
    for (int v = 0; v < VARIANTS; v++)
        say("- %s: %s\n", variants[v]->name, variants[v]->built);
    if (variant_named(SPEED_OLD) == NULL) /* as in shallow clones of CI, too */
        say("- %s: skipped, this clone has no such commit (git fetch --unshallow)\n", SPEED_OLD);
    if (variant_named("clang -O2") == NULL)
        say("- clang: skipped, not installed\n");
    say("\n");
    if (variant_named("clang -O2") == NULL && bench_flag("CI")) {
        fprintf(stderr, "speed: CI needs clang: install it\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run_fn)(void);
    } parts[] = { { "builds", builds },   { "floor", floors },     { "stages", stages },
                  { "growth", growth },   { "linear", linear },    { "samples", samples },
                  { "threads", threads }, { "peers", peers },      { "memory", memory } };
    const char *folder = "results", *part = NULL;
    int ran = 0;
    quick = bench_flag("QUICK");
    full = bench_flag("FULL");
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--out") == 0 && i + 1 < argc)
            folder = argv[++i];
        else
            part = argv[i];
    if (part == NULL) /* a single part is for the screen */
        section = bench_section(folder, "speed");
    say_machine();
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        if (part == NULL || strcmp(part, parts[k].name) == 0) {
            parts[k].run_fn();
            ran = 1;
        }
    if (!ran) {
        fprintf(stderr, "speed: no part '%s'; speed.c lists the parts at its top\n", part);
        return 2;
    }
    if (target_count > 0)
        say("### Targets\n\n| target | at most | measured | |\n|---|---|---|---|\n%s\n%zu of %zu targets met.\n",
            targets, targets_met, target_count);
    if (section != NULL)
        bench_section_end(section, folder, "speed");
    return 0;
}
