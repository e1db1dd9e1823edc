/* The monitor: ranks, bets, alarms, against formulas written down once more, the long way. */
#include "support.h"
#include <math.h>

enum { CAPACITY = 64 };

static npksd_real memory[CAPACITY];

/* A finished tester whose null values are these (NULL: its own), and a result of it to put statistics into. */
typedef struct watch {
    npksd_tester *tester;
    npksd_result result;
    npksd_monitor monitor;
} watch;

static npksd_status prepare(watch *w, const npksd_options *options, const npksd_real *null_values)
{
    npksd_real rows[SMALL_N * SMALL_M];
    memset(w, 0, sizeof *w);
    draw_rows(rows, SMALL_N, SMALL_M, test_seed + 7);
    npksd_status status = npksd_tester_create(&w->tester, SMALL_N, SMALL_M, chain_sample, NULL, options);
    if (status == NPKSD_OK)
        status = npksd_tester_prepare(w->tester);
    if (status == NPKSD_OK && null_values)
        status = npksd_tester_merge(w->tester, 0, options->replicates, null_values);
    if (status == NPKSD_OK)
        status = finish(w->tester);
    if (status == NPKSD_OK)
        status = npksd_tester_check(w->tester, rows, &w->result, NULL);
    return status;
}

/* b null values 2, 4, ..., 2b: statistic 2j + 1 has rank b - j + 1 */
static npksd_status prepare_ladder(watch *w, size_t b)
{
    npksd_real *values = (npksd_real *)malloc(b * sizeof *values);
    npksd_options options = small_options();
    options.replicates = b;
    for (size_t r = 0; r < b; r++)
        values[r] = (npksd_real)(2 * r + 2);
    npksd_status status = prepare(w, &options, values);
    free(values);
    return status;
}

static npksd_status add(watch *w, npksd_real *memory_, double statistic)
{
    w->result.statistic = (npksd_real)statistic;
    return npksd_monitor_add(&w->monitor, w->tester, memory_, &w->result);
}

/* ======== the reference: everything from all ranks so far, nothing carried over ======== */

static double rounded(double x) /* 26 significant bits, or 12 */
{
    int exponent;
    double bits = sizeof(npksd_real) == 8 ? 26 : 12;
    double fraction = frexp(fabs(x), &exponent) * pow(2, bits);
    double whole = floor(fraction + 0.5) / pow(2, bits);
    return (x < 0 ? -1 : 1) * ldexp(whole, exponent);
}

static double bet(double kappa, size_t rank, size_t of)
{
    double sum = 0;
    for (size_t j = 1; j <= of; j++)
        sum += pow((double)j, kappa - 1);
    return (double)of * pow((double)rank, kappa - 1) / sum;
}

/* E: what was never staked, C(2k, k) / 4^k, and each stake times all bets since. M: the best start of the bets. */
static void reference(const size_t *ranks, const size_t *of, size_t count, double *evidence, double *change)
{
    static const double kappas[2] = { 0.4, 0.8 };
    *evidence = 1;
    *change = 0;
    for (size_t j = 1; j <= count; j++)
        *evidence *= (double)(2 * j - 1) / (double)(2 * j);
    for (int k = 0; k < 2; k++) {
        double left = 1, best = 0;
        for (size_t start = 0; start < count; start++) {
            double stake = left / (double)(2 * (start + 1)), product = 1;
            left -= stake;
            for (size_t i = start; i < count; i++)
                product *= bet(kappas[k], ranks[i], of[i]);
            *evidence += 0.5 * stake * product;
            best = product > best ? product : best;
        }
        *change += 0.5 * best;
    }
}

/* ======== ranks and bets ======== */

TEST follows_the_reference(const char *words, int steps)
{
    npksd_options options = small_options();
    double values[SMALL_REPLICATES + CAPACITY];
    npksd_real null_values[SMALL_REPLICATES];
    size_t ranks[CAPACITY], of[CAPACITY], count = 0;
    double tolerance = sizeof(npksd_real) == 8 ? 1e-11 : 1e-4;
    watch w;
    set_options(&options, words);
    ASSERT_STATUS(NPKSD_OK, prepare(&w, &options, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_null(w.tester, null_values, SMALL_REPLICATES, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.05, CAPACITY, test_seed));
    for (; count < SMALL_REPLICATES; count++)
        values[count] = rounded((double)null_values[count]);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed + 1, 0);
    for (size_t k = 0; k < CAPACITY; k++) {
        npksd_real x = npksd_normal(&rng) + (k >= 20 ? 1 : 0);
        if (steps)
            x = (npksd_real)floor((double)x); /* ties */
        size_t larger = 0, ties = 0;
        values[count] = rounded((double)x);
        for (size_t r = 0; r < count; r++) {
            larger += values[r] > values[count];
            ties += !(values[r] < values[count]) && !(values[r] > values[count]);
        }
        count++;
        ASSERT_STATUS(NPKSD_OK, add(&w, memory, (double)x));
        of[k] = count;
        ranks[k] = (size_t)((double)w.monitor.p * (double)count + 0.5);
        ASSERT_IN_RANGE((double)ranks[k] / (double)count, (double)w.monitor.p, 1e-6);
        ASSERT(ranks[k] >= larger + 1 && ranks[k] <= larger + 1 + ties);
        ASSERT(steps || sizeof(npksd_real) < 8 || ties == 0);
        double evidence, change;
        reference(ranks, of, k + 1, &evidence, &change);
        ASSERT_IN_RANGE(log(evidence), (double)w.monitor.log_evidence, tolerance * (double)(k + 1));
        ASSERT_IN_RANGE(log(change), (double)w.monitor.log_change, tolerance * (double)(k + 1));
        ASSERT_EQ(k + 1, w.monitor.recordings);
    }
    npksd_tester_destroy(w.tester);
    PASS();
}

/* A fair game: over all ranks that the next recording may have, the mean of E is E as it is, and that of M at
   most M + 1. */
TEST every_bet_is_fair(void)
{
    enum { B = 19, STEPS = 12 };
    double tolerance = sizeof(npksd_real) == 8 ? 1e-12 : 1e-5;
    watch w, trial;
    npksd_real copy[CAPACITY];
    double ladder[B + STEPS]; /* all values so far, in order */
    ASSERT_STATUS(NPKSD_OK, prepare_ladder(&w, B));
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.05, CAPACITY, 3));
    for (size_t r = 0; r < B; r++)
        ladder[r] = (double)(2 * r + 2);
    for (size_t k = 0; k < STEPS; k++) {
        size_t count = B + k;
        double evidence = 0, change = 0, before = exp((double)w.monitor.log_evidence);
        double change_before = exp((double)w.monitor.log_change), next = 0;
        for (size_t place = 0; place <= count; place++) {
            double low = place > 0 ? ladder[place - 1] : 0, high = place < count ? ladder[place] : low + 2;
            trial = w;
            memcpy(copy, memory, sizeof copy);
            ASSERT_STATUS(NPKSD_OK, add(&trial, copy, 0.5 * (low + high)));
            ASSERT_IN_RANGE((double)(count + 1 - place) / (double)(count + 1), (double)trial.monitor.p, 1e-6);
            evidence += exp((double)trial.monitor.log_evidence) / (double)(count + 1);
            change += exp((double)trial.monitor.log_change) / (double)(count + 1);
            if (place == count - k % 3)
                next = 0.5 * (low + high);
        }
        ASSERT_IN_RANGE(before, evidence, tolerance * before);
        ASSERT(change <= change_before + 1);
        if (k == 0)
            ASSERT_IN_RANGE(1.0, change, tolerance);
        ASSERT_STATUS(NPKSD_OK, add(&w, memory, next));
        size_t at = count;
        for (; at > 0 && ladder[at - 1] > next; at--)
            ladder[at] = ladder[at - 1];
        ladder[at] = next;
    }
    npksd_tester_destroy(w.tester);
    PASS();
}

/* All values equal: every rank is as likely as any other, and recordings do not share theirs. */
TEST ties_are_random(void)
{
    enum { B = 19, SEEDS = 4000, BINS = B + 2 };
    npksd_real null_values[B];
    npksd_options options = small_options();
    size_t counts[2][BINS] = { { 0 } }, equal = 0;
    watch w;
    for (size_t r = 0; r < B; r++) /* apart by rounding only: in the last bits */
        null_values[r] = (npksd_real)(1 + ldexp((double)(r % 8), sizeof(npksd_real) == 8 ? -52 : -23));
    ASSERT_STATUS(NPKSD_OK, prepare(&w, &options, null_values));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.05, 2, test_seed + seed));
        size_t ranks[2];
        for (size_t k = 0; k < 2; k++) {
            ASSERT_STATUS(NPKSD_OK, add(&w, memory, 1 - 1e-10));
            ranks[k] = (size_t)((double)w.monitor.p * (double)(B + 1 + k) + 0.5);
            counts[k][ranks[k] - 1]++;
        }
        equal += ranks[0] == ranks[1];
    }
    for (size_t k = 0; k < 2; k++) { /* chi-square, at most 4.5 standard deviations above its mean */
        double mean = (double)SEEDS / (double)(B + 1 + k), square = 0, freedom = (double)(B + k);
        for (size_t r = 0; r < B + 1 + k; r++)
            square += ((double)counts[k][r] - mean) * ((double)counts[k][r] - mean) / mean;
        ASSERT_IN_RANGE(freedom, square, 4.5 * sqrt(2 * freedom));
    }
    ASSERT_IN_RANGE((double)SEEDS / (B + 2), (double)equal, 4.5 * sqrt((double)SEEDS / (B + 2)));
    npksd_tester_destroy(w.tester);
    PASS();
}

/* After a restart as well: two recordings with ties, one before and one after it, do not share their ranks either. */
TEST ties_are_random_after_a_restart(void)
{
    enum { B = SMALL_REPLICATES, SEEDS = 4000 };
    npksd_real null_values[B];
    npksd_options options = small_options();
    watch w, fresh;
    size_t equal = 0;
    for (size_t r = 0; r < B; r++)
        null_values[r] = 1;
    ASSERT_STATUS(NPKSD_OK, prepare(&w, &options, null_values));
    options.seed++;
    ASSERT_STATUS(NPKSD_OK, prepare(&fresh, &options, null_values));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.05, 1, test_seed + seed));
        ASSERT_STATUS(NPKSD_OK, add(&w, memory, 1));
        fresh.monitor = w.monitor;
        ASSERT_STATUS(NPKSD_OK, npksd_monitor_restart(&fresh.monitor, fresh.tester));
        ASSERT_STATUS(NPKSD_OK, add(&fresh, memory, 1));
        equal += fabs((double)w.monitor.p - (double)fresh.monitor.p) < 0.5 / (B + 1);
    }
    ASSERT_IN_RANGE((double)SEEDS / (B + 1), (double)equal, 4.5 * sqrt((double)SEEDS / (B + 1)));
    npksd_tester_destroy(w.tester);
    npksd_tester_destroy(fresh.tester);
    PASS();
}

/* ======== the same again ======== */

/* Same seed, same bits; a struct and a memory that were saved go on as if nothing had happened; so does a tester
   that went through a blob. */
TEST goes_on_after_a_save(void)
{
    npksd_options options = small_options();
    npksd_real other_memory[CAPACITY], values[SMALL_REPLICATES];
    unsigned char saved[sizeof(npksd_monitor) + sizeof memory];
    size_t size = 0;
    watch w;
    npksd_monitor straight, seeded;
    for (size_t r = 0; r < SMALL_REPLICATES; r++)
        values[r] = (npksd_real)(r % 3);
    ASSERT_STATUS(NPKSD_OK, prepare(&w, &options, values));
    for (int pass = 0; pass < 3; pass++) { /* straight, saved half-way, another seed */
        memset(memory, 0, sizeof memory);
        ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.05, CAPACITY, pass == 2));
        npksd_tester *loaded = NULL, *own = w.tester;
        npksd_real *used = memory;
        for (size_t k = 0; k < CAPACITY; k++) {
            if (pass == 1 && k == CAPACITY / 2) {
                memcpy(saved, &w.monitor, sizeof w.monitor);
                memcpy(saved + sizeof w.monitor, memory, sizeof memory);
                memset(&w.monitor, UNTOUCHED, sizeof w.monitor);
                memcpy(&w.monitor, saved, sizeof w.monitor);
                memcpy(other_memory, saved + sizeof w.monitor, sizeof memory);
                used = other_memory;
                ASSERT_STATUS(NPKSD_OK, npksd_tester_save(own, NULL, 0, &size));
                unsigned char *blob = (unsigned char *)malloc(size);
                ASSERT_STATUS(NPKSD_OK, npksd_tester_save(own, blob, size, &size));
                ASSERT_STATUS(NPKSD_OK, npksd_tester_load(&loaded, blob, size, NULL));
                free(blob);
                w.tester = loaded;
            }
            ASSERT_STATUS(NPKSD_OK, add(&w, used, (double)(k % 4)));
        }
        w.tester = own;
        npksd_tester_destroy(loaded);
        if (pass == 0)
            straight = w.monitor;
        else if (pass == 1)
            ASSERT_MEM_EQ(&straight, &w.monitor, sizeof straight);
        else
            seeded = w.monitor;
    }
    ASSERT(memcmp(&straight.log_evidence, &seeded.log_evidence, sizeof straight.log_evidence) != 0);
    npksd_tester_destroy(w.tester);
    PASS();
}

/* ======== alarms ======== */

TEST alarms_stay(void)
{
    watch w;
    ASSERT_STATUS(NPKSD_OK, prepare_ladder(&w, 99));
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.5, CAPACITY, 0));
    ASSERT_IN_RANGE(0, (double)w.monitor.log_evidence, 0);
    ASSERT_STATUS(NPKSD_OK, add(&w, memory, 1000)); /* rank 1 of 100: E = 1/2 + (e + e')/4 */
    double evidence = 0.5 + 0.25 * (bet(0.4, 1, 100) + bet(0.8, 1, 100));
    ASSERT_IN_RANGE(log(evidence), (double)w.monitor.log_evidence, 1e-5);
    ASSERT(w.monitor.alarm == 1 && w.monitor.alarm_at == 1);
    ASSERT(w.monitor.change_alarm == 1 && w.monitor.change_alarm_at == 1);
    for (size_t k = 1; k < CAPACITY; k++)
        ASSERT_STATUS(NPKSD_OK, add(&w, memory, -(double)k));
    ASSERT(exp((double)w.monitor.log_evidence) < 0.5 && exp((double)w.monitor.log_change) < 1);
    ASSERT(w.monitor.alarm == 1 && w.monitor.alarm_at == 1);
    ASSERT(w.monitor.change_alarm == 1 && w.monitor.change_alarm_at == 1);
    npksd_tester_destroy(w.tester);
    PASS();
}

/* Each alarm has its own recording: M, which forgets what was lost, comes first. */
TEST late_change(void)
{
    watch w;
    ASSERT_STATUS(NPKSD_OK, prepare_ladder(&w, 99));
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.01, CAPACITY, 0));
    for (size_t k = 0; k < CAPACITY; k++) {
        int before = w.monitor.alarm, before_change = w.monitor.change_alarm;
        ASSERT_STATUS(NPKSD_OK, add(&w, memory, k < 40 ? -(double)k : 200 + (double)k));
        ASSERT_EQ(w.monitor.alarm, before || (double)w.monitor.log_evidence >= log(100));
        ASSERT_EQ(w.monitor.change_alarm, before_change || (double)w.monitor.log_change >= log(100));
    }
    ASSERT(w.monitor.change_alarm_at > 40 && w.monitor.change_alarm_at < w.monitor.alarm_at);
    ASSERT(w.monitor.alarm_at < 50);
    npksd_tester_destroy(w.tester);
    PASS();
}

/* 10,000 recordings as good, then as bad, as can be: products of bets would leave the range of any number. */
TEST never_out_of_range(void)
{
    enum { LONG = 10000 };
    npksd_real *room = (npksd_real *)malloc((LONG + 30) * sizeof *room);
    size_t length = LONG / stride(10);
    watch w;
    ASSERT_STATUS(NPKSD_OK, prepare_ladder(&w, 99));
    for (int bad = 0; bad < 2; bad++) {
        ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.001, LONG + 30, 0));
        for (size_t k = 0; k < length; k++)
            ASSERT_STATUS(NPKSD_OK, add(&w, room, bad ? 300 + (double)k : -(double)k));
        ASSERT(finite_bits(&w.monitor.log_evidence, 1) && finite_bits(&w.monitor.log_change, 1));
        ASSERT_EQ(bad, w.monitor.alarm);
        if (bad) {
            ASSERT((double)w.monitor.log_evidence > 1000 && (double)w.monitor.log_change > 1000);
            continue;
        }
        /* left of the capital: C(2k, k) / 4^k, close to 1 / sqrt(pi k) */
        ASSERT_IN_RANGE(-0.5 * log(3.14159265 * (double)length), (double)w.monitor.log_evidence, 0.02);
        for (size_t k = 0; k < 30; k++)
            ASSERT_STATUS(NPKSD_OK, add(&w, room, 300 + (double)k));
        ASSERT(w.monitor.change_alarm && w.monitor.change_alarm_at > length);
        ASSERT(w.monitor.alarm && w.monitor.alarm_at >= w.monitor.change_alarm_at);
    }
    npksd_tester_destroy(w.tester);
    free(room);
    PASS();
}

/* ======== what is refused ======== */

/* Adds, and restarts, are refused with this status and change nothing. */
static enum greatest_test_res refuses(npksd_status expected, npksd_monitor *monitor, const npksd_tester *tester,
                                      npksd_real *room, const npksd_result *result, int restart)
{
    npksd_monitor before;
    npksd_real room_before[CAPACITY];
    if (monitor)
        memcpy(&before, monitor, sizeof before);
    memcpy(room_before, memory, sizeof room_before);
    ASSERT_STATUS(expected, npksd_monitor_add(monitor, tester, room, result));
    if (restart)
        ASSERT_STATUS(expected, npksd_monitor_restart(monitor, tester));
    if (monitor)
        ASSERT_MEM_EQ(&before, monitor, sizeof before);
    ASSERT_MEM_EQ(room_before, memory, sizeof room_before);
    PASS();
}

TEST begins_with_sense(void)
{
    npksd_monitor monitor;
    npksd_real bad[6];
    memset(&monitor, UNTOUCHED, sizeof monitor);
    bad[0] = 0, bad[1] = 1, bad[2] = -1, bad[3] = 2, bad[4] = not_a_number(), bad[5] = plus_infinity();
    for (size_t k = 0; k < 6; k++)
        ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_monitor_begin(&monitor, bad[k], 5, 0));
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_monitor_begin(&monitor, (npksd_real)0.5, 0, 0));
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_monitor_begin(&monitor, (npksd_real)0.5, SIZE_MAX, 0));
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_monitor_begin(NULL, (npksd_real)0.5, 5, 0));
    ASSERT(untouched(&monitor, sizeof monitor));
    PASS();
}

TEST refuses_nonsense(void)
{
    npksd_options options = small_options();
    npksd_tester *unfinished = NULL;
    npksd_result bad;
    watch w, other;
    ASSERT_STATUS(NPKSD_OK, prepare(&w, &options, NULL));
    options.seed++;
    ASSERT_STATUS(NPKSD_OK, prepare(&other, &options, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_create(&unfinished, SMALL_N, SMALL_M, chain_sample, NULL, &options));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_prepare(unfinished));
    memset(memory, UNTOUCHED, sizeof memory);
    npksd_monitor *monitor = &w.monitor; /* not begun: all zero */
    CHECK_CALL(refuses(NPKSD_ERROR_STATE, monitor, w.tester, memory, &w.result, 1));
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(monitor, (npksd_real)0.05, CAPACITY, 0));
    for (int used = 0; used < 2; used++) {
        CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, NULL, w.tester, memory, &w.result, 1));
        CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, monitor, NULL, memory, &w.result, 1));
        CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, monitor, w.tester, NULL, &w.result, 0));
        CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, monitor, w.tester, memory, NULL, 0));
        CHECK_CALL(refuses(NPKSD_ERROR_STATE, monitor, unfinished, memory, &w.result, 1));
        CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, monitor, w.tester, memory, &other.result, 0));
        bad = w.result;
        bad.replicates--;
        CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, monitor, w.tester, memory, &bad, 0));
        bad = w.result;
        bad.statistic = not_a_number();
        CHECK_CALL(refuses(NPKSD_ERROR_NONFINITE, monitor, w.tester, memory, &bad, 0));
        bad.statistic = plus_infinity();
        CHECK_CALL(refuses(NPKSD_ERROR_NONFINITE, monitor, w.tester, memory, &bad, 0));
        if (used) /* after a recording: no other tester without a restart, no restart with the same */
            CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, monitor, other.tester, memory, &other.result, 0));
        ASSERT_STATUS(NPKSD_OK, npksd_monitor_add(monitor, w.tester, memory, &w.result));
    }
    npksd_monitor before = *monitor;
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_monitor_restart(monitor, w.tester));
    ASSERT_MEM_EQ(&before, monitor, sizeof before);
    npksd_real last = 0; /* another null value, and be it the last one, is another tester */
    ASSERT_STATUS(NPKSD_OK, npksd_tester_merge(w.tester, SMALL_REPLICATES - 1, 1, &last));
    CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, monitor, w.tester, memory, &w.result, 0));
    npksd_tester_destroy(unfinished);
    npksd_tester_destroy(other.tester);
    npksd_tester_destroy(w.tester);
    PASS();
}

/* Every kind of tester: a monitor takes all but those whose checks share what replicates do not. */
TEST takes_testers(size_t index)
{
    npksd_options options = variant_options(index);
    int shares = options.smooth > 0 || options.resample_redraw
        || options.calibration == NPKSD_CALIBRATE_WILD_BOOTSTRAP;
    watch w;
    ASSERT_STATUSm(variant_name(index), NPKSD_OK, prepare(&w, &options, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.05, CAPACITY, 0));
    memset(memory, 0, sizeof memory);
    if (shares) {
        CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, &w.monitor, w.tester, memory, &w.result, 1));
    } else {
        ASSERT_STATUSm(variant_name(index), NPKSD_OK,
                       npksd_monitor_add(&w.monitor, w.tester, memory, &w.result));
        ASSERT(w.monitor.p <= w.result.p_value + (npksd_real)1e-6); /* ties: the tester counts them all */
    }
    npksd_tester_destroy(w.tester);
    PASS();
}

/* A full memory; then another tester, with ranks among its own replicates alone, and the evidence so far. */
TEST restarts(void)
{
    enum { ROOM = 5 };
    watch w;
    ASSERT_STATUS(NPKSD_OK, prepare_ladder(&w, 19));
    npksd_tester *first = w.tester;
    npksd_result first_result = w.result;
    memset(memory, UNTOUCHED, sizeof memory);
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&w.monitor, (npksd_real)0.05, ROOM, 0));
    size_t ranks[2 * ROOM], of[2 * ROOM];
    for (size_t k = 0; k < ROOM; k++) {
        ASSERT_STATUS(NPKSD_OK, add(&w, memory, 100 + (double)k));
        ranks[k] = 1;
        of[k] = 20 + k;
    }
    ASSERT(untouched(memory + ROOM, sizeof memory - ROOM * sizeof *memory));
    CHECK_CALL(refuses(NPKSD_ERROR_STATE, &w.monitor, first, memory, &first_result, 0));
    npksd_monitor full = w.monitor;
    watch fresh;
    ASSERT_STATUS(NPKSD_OK, prepare_ladder(&fresh, 39));
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_restart(&w.monitor, fresh.tester));
    w.tester = fresh.tester;
    w.result = fresh.result;
    ASSERT_MEM_EQ(&full.log_evidence, &w.monitor.log_evidence, sizeof full.log_evidence);
    ASSERT_MEM_EQ(&full.log_change, &w.monitor.log_change, sizeof full.log_change);
    ASSERT(w.monitor.recordings == ROOM && w.monitor.alarm == full.alarm && w.monitor.alarm_at == full.alarm_at);
    for (size_t k = 0; k < ROOM; k++) {
        ASSERT_STATUS(NPKSD_OK, add(&w, memory, 75 - 2 * (double)k)); /* below the largest, 78, and 76 */
        ranks[ROOM + k] = 3 + 2 * k;
        of[ROOM + k] = 40 + k;
        double evidence, change;
        reference(ranks, of, ROOM + k + 1, &evidence, &change);
        ASSERT_IN_RANGE((double)ranks[ROOM + k] / (double)of[ROOM + k], (double)w.monitor.p, 1e-6);
        ASSERT_IN_RANGE(log(evidence), (double)w.monitor.log_evidence, 1e-4);
        ASSERT_IN_RANGE(log(change), (double)w.monitor.log_change, 1e-4);
    }
    ASSERT_EQ(2 * (size_t)ROOM, w.monitor.recordings);
    CHECK_CALL(refuses(NPKSD_ERROR_ARGUMENT, &w.monitor, first, memory, &first_result, 0));
    npksd_tester_destroy(first);
    npksd_tester_destroy(fresh.tester);
    PASS();
}

/* Events so rare that all null values are equal, whatever the seed: the seed tells a fresh tester from the old one. */
static int rare_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_uniform(rng) < (npksd_real)1e-6;
    return 0;
}

/* Another seed, or another n, is another tester, though both have the same null values. */
TEST restarts_with_an_equal_null(int other_n)
{
    enum { N = 20 };
    npksd_tester *testers[2];
    npksd_real rows[N] = { 0 }, nulls[2][SMALL_REPLICATES];
    npksd_monitor monitor;
    npksd_result result;
    npksd_options options = small_options();
    for (size_t k = 0; k < 2; k++) {
        options.seed = other_n ? 1 : 1 + k;
        ASSERT_STATUS(NPKSD_OK,
                      npksd_tester_create(&testers[k], N + (other_n ? k : 0), 1, rare_sample, NULL, &options));
        ASSERT_STATUS(NPKSD_OK, finish(testers[k]));
        ASSERT_STATUS(NPKSD_OK, npksd_tester_null(testers[k], nulls[k], SMALL_REPLICATES, NULL));
    }
    ASSERT_MEM_EQ(nulls[0], nulls[1], sizeof nulls[0]);
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_begin(&monitor, (npksd_real)0.05, CAPACITY, 0));
    ASSERT_STATUS(NPKSD_OK, npksd_tester_check(testers[0], rows, &result, NULL));
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_add(&monitor, testers[0], memory, &result));
    ASSERT_STATUS(NPKSD_ERROR_ARGUMENT, npksd_monitor_restart(&monitor, testers[0]));
    ASSERT_STATUS(NPKSD_OK, npksd_monitor_restart(&monitor, testers[1]));
    for (size_t k = 0; k < 2; k++)
        npksd_tester_destroy(testers[k]);
    PASS();
}

SUITE(suite_monitor)
{
    RUN_TESTp(follows_the_reference, "", 0);
    RUN_TESTp(follows_the_reference, "diagnose", 1);
    RUN_TEST(every_bet_is_fair);
    RUN_TEST(ties_are_random);
    RUN_TEST(ties_are_random_after_a_restart);
    RUN_TEST(goes_on_after_a_save);
    RUN_TEST(alarms_stay);
    RUN_TEST(late_change);
    RUN_TEST(never_out_of_range);
    RUN_TEST(begins_with_sense);
    RUN_TEST(refuses_nonsense);
    for (size_t index = 0; index < variant_count(); index++)
        RUN_TESTp(takes_testers, index);
    RUN_TEST(restarts);
    RUN_TESTp(restarts_with_an_equal_null, 0);
    RUN_TESTp(restarts_with_an_equal_null, 1);
}
