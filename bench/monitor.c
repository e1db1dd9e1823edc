/*
 * Watching a stream: how often a monitor raises a false alarm, how soon it sees a change, and how other bets
 * would do.
 *
 *     monitor [--out DIR]     monitor.md and monitor.svg
 *
 * Streams are simulated by ../tests/stream.h with the real monitor. QUICK=1: few streams, nothing is judged.
 * Exit status 1 if a required number is missed.
 */
#include "plot.h"
#include "rates.h"
#include "runner.h"
#include "../tests/stream.h"

enum { LENGTH = 1000, HORIZON = 400, LATE = 250, CHUNK = 20, KAPPAS_MAX = 5 };

/* ======== ways to watch ======== */

typedef enum play {
    PLAY_E, PLAY_M,  /* the monitor itself */
    PLAY_AVERAGED,   /* product of bets averaged over kappa */
    PLAY_PRODUCTS,   /* one product for each kappa, averaged */
    PLAY_RESERVE,    /* the same, with stakes that join later: E once more */
    PLAY_LATEST,     /* max(1, M) e for each kappa, averaged: M once more */
    PLAY_BONFERRONI, /* p <= alpha / 1000 for each recording, p exact */
    PLAY_NAIVE       /* p <= alpha for each recording */
} play;

typedef struct method {
    const char *name;
    play how;
    double kappas[KAPPAS_MAX];
    size_t count;
} method;

#define FIVE { 0.3, 0.5, 0.7, 0.85, 0.95 }, 5
#define NONE { 0, 0, 0, 0, 0 }, 0
static const method methods[] = {
    { "**monitor, E**", PLAY_E, NONE },
    { "**monitor, M**", PLAY_M, NONE },
    { "p <= alpha / 1000 each (Bonferroni)", PLAY_BONFERRONI, NONE },
    { "p <= alpha each", PLAY_NAIVE, NONE },
    { "E: bets averaged over 5 kappa", PLAY_AVERAGED, FIVE },
    { "E: mean of 5 products", PLAY_PRODUCTS, FIVE },
    { "E: reserve, kappa 0.4 and 0.8 (the monitor's)", PLAY_RESERVE, { 0.4, 0.8, 0, 0, 0 }, 2 },
    { "E: reserve, kappa 0.6", PLAY_RESERVE, { 0.6, 0, 0, 0, 0 }, 1 },
    { "E: reserve, 5 kappa", PLAY_RESERVE, FIVE },
    { "M: 5 kappa", PLAY_LATEST, FIVE },
};
enum { METHODS = sizeof methods / sizeof methods[0], FIRST_BET = 4 };

static double log_sum(double a, double b)
{
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* log of the bets that kappa makes on these ranks; N = replicates + 1, + 2, ... */
static void log_bets(double kappa, const size_t *ranks, size_t replicates, size_t count, double *out)
{
    double sum = 0;
    for (size_t j = 1; j <= replicates; j++)
        sum += pow((double)j, kappa - 1);
    for (size_t k = 0; k < count; k++) {
        size_t N = replicates + k + 1;
        sum += pow((double)N, kappa - 1);
        out[k] = log((double)N / sum) + (kappa - 1) * log((double)ranks[k]);
    }
}

/* log of the capital after each recording; for a method whose bets are played here */
static void play_bets(const method *how, const size_t *ranks, size_t replicates, size_t count, double *out)
{
    static double bets[KAPPAS_MAX][LENGTH];
    double products[KAPPAS_MAX] = { 0 }, share = log((double)how->count), left = 1, averaged = 0;
    for (size_t i = 0; i < how->count; i++) {
        log_bets(how->kappas[i], ranks, replicates, count, bets[i]);
        products[i] = how->how == PLAY_RESERVE ? -700 : 0;
    }
    for (size_t k = 0; k < count; k++) {
        double stake = left / (2 * (double)(k + 1)), mean = -700, all = -700;
        left -= stake;
        for (size_t i = 0; i < how->count; i++) {
            double before = how->how == PLAY_RESERVE ? log_sum(products[i], log(stake))
                : how->how == PLAY_LATEST            ? fmax(0, products[i])
                                                     : products[i];
            products[i] = before + bets[i][k];
            mean = log_sum(mean, bets[i][k] - share);
            all = log_sum(all, products[i] - share);
        }
        averaged += mean;
        out[k] = how->how == PLAY_AVERAGED ? averaged
            : how->how == PLAY_RESERVE     ? log_sum(all, log(left))
                                           : all;
    }
}

/* ======== one stream ======== */

static const double alphas[3] = { 0.05, 0.01, 0.001 };
static const double powers[4] = { 0.1, 0.2, 0.3, 0.5 };
static const double z_of_power[4] = { 1.2815516, 0.8416212, 0.5244005, 0 }; /* P(Z > z) = power */

typedef struct cell {
    size_t replicates, length, change; /* recordings from `change` on are shifted */
    double shift, grain;
    size_t streams, share_null; /* share_null: so many streams in a row have one tester */
    uint64_t seed;
    int all; /* all methods; 0: the monitor and p <= alpha alone */
} cell;

typedef struct watched {
    uint16_t first[METHODS][3];           /* recording of the first alarm, for each alpha; 0: none */
    uint16_t alarms;                      /* of p <= 0.05 each */
    unsigned char together[HORIZON][3];   /* fixed sample: Fisher's test of all from the change on rejects */
} watched;

static double upper_tail(double x) { return 0.5 * erfc(x / sqrt(2)); }

/* Fisher: the sum of -log p of count p-values is Gamma(count) */
static double fisher(double sum, size_t count)
{
    double term = exp(-sum), tail = 0;
    for (size_t j = 0; j < count; j++) {
        tail += term;
        term *= sum / (double)(j + 1);
    }
    return tail;
}

static void watch_stream(stream *s, const cell *c, uint64_t seed, watched *w)
{
    static double series[METHODS][LENGTH], limits[METHODS][3];
    size_t ranks[LENGTH];
    double sum = 0;
    stream_begin(s, alphas[0], seed);
    for (size_t k = 0; k < c->length; k++) {
        double x = stream_add(s, k >= c->change ? c->shift : 0), exact = upper_tail(x);
        size_t reached = 1;
        for (size_t r = 0; r < s->replicates; r++)
            reached += (double)s->null_values[r] >= x;
        ranks[k] = (size_t)((double)s->monitor.p * (double)(c->replicates + k + 1) + 0.5);
        series[0][k] = (double)s->monitor.log_evidence;
        series[1][k] = (double)s->monitor.log_change;
        series[2][k] = -log(exact);
        series[3][k] = -log((double)reached / (double)(s->replicates + 1));
        w->alarms = (uint16_t)(w->alarms + (series[3][k] >= -log(alphas[0]) - 1e-9));
        if (k < c->change || k >= c->change + HORIZON)
            continue;
        sum -= log(exact);
        for (size_t l = 0; l < 3; l++)
            w->together[k - c->change][l] = fisher(sum, k - c->change + 1) <= alphas[l];
    }
    for (size_t i = FIRST_BET; c->all && i < METHODS; i++)
        play_bets(&methods[i], ranks, c->replicates, c->length, series[i]);
    for (size_t k = 0; c->all && k < c->length; k++)
        if (fabs(series[0][k] - series[6][k]) > 1e-9 * (double)(k + 1)) {
            fprintf(stderr, "monitor: E is %.12g, played here %.12g\n", series[0][k], series[6][k]);
            exit(2);
        }
    for (size_t i = 0; i < (c->all ? (size_t)METHODS : (size_t)FIRST_BET); i++)
        for (size_t l = 0; l < 3; l++) {
            limits[i][l] = -log(alphas[l]) + (i == 2 ? log(1000) : 0) - 1e-9;
            for (size_t k = 0; k < c->length && w->first[i][l] == 0; k++)
                if (series[i][k] >= limits[i][l])
                    w->first[i][l] = (uint16_t)(k + 1);
        }
    if (w->first[0][0] != s->monitor.alarm_at || w->first[1][0] != s->monitor.change_alarm_at) {
        fprintf(stderr, "monitor: an alarm at another recording than its evidence says\n");
        exit(2);
    }
}

static void watch_job(size_t job, void *out, void *context)
{
    const cell *c = (const cell *)context;
    stream s;
    stream_open(&s, c->replicates, c->length, c->grain);
    for (size_t k = 0; k < CHUNK; k++) {
        uint64_t number = (uint64_t)(job * CHUNK + k);
        stream_fresh_null(&s, c->seed + number / c->share_null);
        watch_stream(&s, c, c->seed + number, (watched *)out + k);
    }
    stream_close(&s);
}

static watched *watch(cell c)
{
    return (watched *)bench_parallel(c.streams / CHUNK, bench_processes(), CHUNK * sizeof(watched), watch_job, &c);
}

/* ======== the section ======== */

static FILE *section;
static int quick, missed;

#define say(...) bench_say(section, __VA_ARGS__)

static const char *verdict(int ok)
{
    missed += !quick && !ok;
    return quick ? "-" : ok ? "ok" : "**MISSED**";
}

static void false_alarms(void)
{
    static const struct {
        size_t replicates;
        double grain;
    } rows[3] = { { 99, 0 }, { 499, 0 }, { 499, 0.5 } };
    size_t streams = quick ? 2 * CHUNK : 2000;
    say("### False alarms\n\n%zu streams of %d recordings, all of them from the generator, with a fresh tester "
        "for each stream. E: share of the streams with an alarm, 95 %% interval; it must lie between alpha / 3 and "
        "alpha, 4 standard errors allowed. M: mean number of recordings until its first alarm, %d for streams without "
        "one; it must be at least 1/alpha. Each by itself: an alarm whenever p <= alpha; share of the streams with an "
        "alarm, and alarms per stream.\n\n| b | statistics | alpha | E | | M | | each by itself | alarms |\n"
        "|---|---|---|---|---|---|---|---|---|\n", streams, LENGTH, LENGTH);
    for (size_t i = 0; i < 3; i++) {
        cell c = { rows[i].replicates, LENGTH, LENGTH, 0, rows[i].grain, streams, 1, 1000000 * (i + 1), 0 };
        const watched *w = watch(c);
        for (size_t l = 0; l < 2; l++) {
            double alpha = alphas[l], n = (double)streams, time = 0, naive = 0, alarms = 0;
            rate r = { 0, streams };
            char share[64], count[16] = "";
            for (size_t k = 0; k < streams; k++) {
                r.hits += w[k].first[0][l] > 0;
                time += w[k].first[1][l] > 0 ? w[k].first[1][l] : LENGTH;
                naive += w[k].first[3][l] > 0;
                alarms += w[k].alarms;
            }
            int good = rate_value(r) <= alpha + 4 * sqrt(alpha * (1 - alpha) / n)
                && rate_value(r) >= alpha / 3 - 4 * sqrt(alpha / 3 * (1 - alpha / 3) / n);
            if (l == 0)
                snprintf(count, sizeof count, "%.0f", alarms / n);
            say("| %zu | %s | %.2f ", rows[i].replicates, rows[i].grain > 0 ? "with ties" : "continuous", alpha);
            say("| %s | %s | %.0f | %s | %.2f | %s |\n", rate_close(r, share, sizeof share), verdict(good), time / n,
                verdict(time / n >= 1 / alpha), naive / n, count);
        }
    }
    say("\n");
}

static void one_tester(void)
{
    static const size_t replicates[3] = { 99, 499, 1999 };
    size_t testers = quick ? 2 : 40, each = quick ? CHUNK : 200;
    say("### One tester, many streams\n\nThe guarantee averages over testers. The probability of a false alarm "
        "(alpha 0.05, %d recordings) varies from tester to tester: %zu testers, %zu streams each. Spread: standard "
        "deviation over testers, without the part due to having only %zu streams.\n\n"
        "| b | mean | spread | least | most |\n|---|---|---|---|---|\n",
        LENGTH, testers, each, each);
    for (size_t i = 0; i < 3; i++) {
        cell c = { replicates[i], LENGTH, LENGTH, 0, 0, testers * each, each, 5000000 + 1000000 * i, 0 };
        const watched *w = watch(c);
        double *shares = (double *)bench_alloc(testers, sizeof *shares), mean, error, noise = 0;
        for (size_t t = 0; t < testers; t++) {
            for (size_t k = 0; k < each; k++)
                shares[t] += (w[t * each + k].first[0][0] > 0) / (double)each;
            noise += shares[t] * (1 - shares[t]) / (double)(each - 1) / (double)testers;
        }
        bench_mean(shares, testers, &mean, &error);
        double variance = error * error * (double)testers - noise;
        qsort(shares, testers, sizeof *shares, bench_compare);
        say("| %zu | %.3f | %.3f | %.3f | %.3f |\n", replicates[i], mean, sqrt(fmax(0, variance)), shares[0],
            shares[testers - 1]);
        free(shares);
    }
    say("\n");
}

/* Median recordings from the change to the alarm, over streams without an earlier one; "-": over half had one, or
   never raised it. */
static void median_delay(const watched *w, size_t streams, size_t change, size_t method_, size_t l)
{
    double *delays = (double *)bench_alloc(streams, sizeof *delays);
    size_t count = 0;
    for (size_t k = 0; k < streams; k++) {
        size_t at = w[k].first[method_][l];
        if (at == 0 || at > change)
            delays[count++] = at == 0 ? 1e9 : (double)(at - change);
    }
    double middle = count > 0 ? bench_median(delays, count) : 1e9;
    if (2 * count < streams || middle > HORIZON)
        say(" - |");
    else
        say(" %.0f |", middle);
    free(delays);
}

/* the smallest number of recordings that a planned test of them all rejects in half of the streams */
static void fixed_sample(const watched *w, size_t streams, size_t l)
{
    for (size_t k = 0; k < HORIZON; k++) {
        size_t hits = 0;
        for (size_t i = 0; i < streams; i++)
            hits += w[i].together[k][l];
        if (2 * hits >= streams) {
            say(" %zu |", k + 1);
            return;
        }
    }
    say(" - |");
}

static void delays(void)
{
    static const struct {
        size_t change, alpha; /* index of alpha */
    } tables[4] = { { 0, 0 }, { 0, 2 }, { LATE, 0 }, { LATE, 2 } };
    size_t streams = quick ? CHUNK : 400;
    const watched *w[2][4], *null;
    cell c = { 499, LENGTH, LENGTH, 0, 0, streams, 1, 20000000, 1 };
    null = watch(c);
    for (size_t late = 0; late < 2; late++)
        for (size_t p = 0; p < 4; p++) {
            cell d = { 499, (late ? LATE : 0) + HORIZON, late ? LATE : 0, 1.6448536 - z_of_power[p], 0, streams, 1,
                       30000000 + 1000000 * (late * 4 + p), 1 };
            w[late][p] = watch(d);
        }
    say("### How soon is a change seen?\n\nb = 499. After the change a single test at 0.05 would reject with the power "
        "stated. Median number of recordings from the change to the alarm over %zu streams, without those that had an "
        "earlier false alarm (-: over half had one, or no alarm within %d). False alarms: share of %zu streams of %d "
        "recordings without a change. Fixed sample: the number of recordings, known to come after the change and "
        "tested once, all together (Fisher's product), that are rejected in half of the streams; nobody who watches a "
        "stream knows that much. p comes from 499 replicates and is never below 0.002; Bonferroni's bound gets the "
        "exact p.\n\n",
        streams, HORIZON, streams, LENGTH);
    for (size_t t = 0; t < 4; t++) {
        size_t l = tables[t].alpha, late = tables[t].change > 0;
        say("**alpha %.3g, change at recording %zu**\n\n| | false alarms |", alphas[l], tables[t].change + 1);
        for (size_t p = 0; p < 4; p++)
            say(" power %.1f |", powers[p]);
        say("\n|---|---|---|---|---|---|\n");
        for (size_t i = 0; i < METHODS; i++) {
            double alarms = 0;
            for (size_t k = 0; k < streams; k++)
                alarms += (null[k].first[i][l] > 0) / (double)streams;
            say("| %s | %.3f |", methods[i].name, alarms);
            for (size_t p = 0; p < 4; p++)
                median_delay(w[late][p], streams, tables[t].change, i, l);
            say("\n");
            if (i + 1 == FIRST_BET) {
                say("| fixed sample |  |");
                for (size_t p = 0; p < 4; p++)
                    fixed_sample(w[late][p], streams, l);
                say("\n| *bets that were tried:* | | | | | |\n");
            }
        }
        say("\n");
    }
}

/* 400 nights of 50 rows with the whole library: the spread grows on night 251. */
static void picture(const char *folder)
{
    enum { NIGHTS = 400, ROWS = 50, COLUMNS = 2 };
    const double top = 1e8; /* of the picture */
    static double night[NIGHTS], series[2][NIGHTS], dots[2][2][NIGHTS]; /* E, M; p > alpha, p <= alpha: night, p */
    npksd_real rows[ROWS * COLUMNS], memory[NIGHTS];
    bench_data before = bench_gauss(1, 0), after = bench_gauss(1.35, 0);
    npksd_options o = npksd_default_options();
    npksd_tester *tester;
    npksd_monitor monitor;
    size_t shown[2] = { 0, 0 }, count[2] = { 0, 0 }, early = 0;
    bench_must("npksd_tester_create", npksd_tester_create(&tester, ROWS, COLUMNS, bench_sample, &before, &o));
    bench_must("npksd_tester_step", npksd_tester_step(tester, (size_t)-1));
    bench_must("npksd_monitor_begin", npksd_monitor_begin(&monitor, (npksd_real)0.001, NIGHTS, 1));
    for (size_t k = 0; k < NIGHTS; k++) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 77, k);
        npksd_result result;
        bench_sample(rows, ROWS, COLUMNS, &rng, k < LATE ? &before : &after);
        bench_must("npksd_tester_check", npksd_tester_check(tester, rows, &result, NULL));
        bench_must("npksd_monitor_add", npksd_monitor_add(&monitor, tester, memory, &result));
        night[k] = (double)(k + 1);
        series[0][k] = exp((double)monitor.log_evidence);
        series[1][k] = exp((double)monitor.log_change);
        for (size_t i = 0; i < 2; i++)
            shown[i] += shown[i] == k && series[i][k] < top;
        size_t at = count[result.reject]++;
        dots[result.reject][0][at] = night[k];
        dots[result.reject][1][at] = (double)result.p_value;
        early += result.reject && k < LATE;
    }
    npksd_tester_destroy(tester);
    plot panels[2] = { plot_new("each night by itself", "night", "p"),
                       plot_new("a monitor, alpha = 0.001", "night", "evidence") };
    for (size_t i = 0; i < 2; i++)
        panels[i].x_low = 0, panels[i].x_high = NIGHTS;
    panels[0].y_low = 0, panels[0].y_high = 1;
    plot_points(&panels[0], "p > 0.05", dots[0][0], dots[0][1], count[0]);
    plot_points(&panels[0], "p <= 0.05: an alarm", dots[1][0], dots[1][1], count[1]);
    panels[1].log_y = 1;
    panels[1].y_low = 1e-2, panels[1].y_high = top;
    plot_curve(&panels[1], "E", night, series[0], shown[0]);
    plot_curve(&panels[1], "M", night, series[1], shown[1]);
    plot_across(&panels[1], "alarm", 1000);
    for (size_t i = 0; i < 2; i++) {
        plot_upright(&panels[i], "the patch", LATE + 0.5);
        plot_like(&panels[i], 3);
    }
    plot_write(panels, 2, 2, folder, "monitor");
    say("### 400 nights\n\n![p-values and evidence over 400 nights](%s/monitor.svg)\n\n%d rows of %d columns "
        "per night; their variance rises to 1.35 on night %d. Testing each night by itself: %zu alarms in the %d "
        "nights before. The monitor: M on night %zu, E on night %zu.\n\n", quick ? folder : "results", ROWS, COLUMNS,
        LATE + 1, early, LATE, monitor.change_alarm_at, monitor.alarm_at);
}

int main(int argc, char **argv)
{
    static runner r;
    if (runner_arguments(&r, "monitor", "", argc, argv) > 0) {
        fprintf(stderr, "usage: monitor [--out DIR]\n");
        return 2;
    }
    quick = r.smoke;
    section = bench_section(r.out, r.program);
    bench_title(section, "Watching a stream", "monitor", 0);
    fprintf(section, BENCH_COMMIT ". The real monitor on simulated statistics, of which only the ranks matter.\n\n");
    picture(r.out);
    false_alarms();
    one_tester();
    delays();
    runner_section_end(&r, section);
    if (missed > 0)
        printf("%d required numbers MISSED\n", missed);
    return missed > 0;
}
