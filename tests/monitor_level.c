/*
 * Does a monitor keep its promise? Streams of recordings that all come from the generator, a fresh null for
 * each: E may raise its alarm in at most a share alpha of them, 4 binomial standard errors allowed, and in no
 * less than a third of that, or it throws its stakes away; M after 1/alpha recordings or more, on average.
 * p <= alpha for each recording by itself keeps no promise at all. (bench/monitor.c: longer streams.)
 */
#include "stream.h"

enum { STREAMS = 2000, LENGTH = 200 };

static const struct {
    size_t replicates;
    double alpha, grain;
    size_t restart; /* another tester after so many recordings */
} cases[] = { { 99, 0.05, 0, 0 }, { 19, 0.2, 0, 0 }, { 39, 0.05, 0.5, 0 }, { 39, 0.05, 0, 20 } };

int main(void)
{
    unsigned passed = 0, failed = 0;
    printf("%d streams of %d recordings a line, 4 standard errors allowed\n", STREAMS, LENGTH);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        double alpha = cases[c].alpha, alarms = 0, naive = 0, time = 0;
        stream s;
        stream_open(&s, cases[c].replicates, LENGTH, cases[c].grain);
        for (uint64_t seed = 0; seed < STREAMS; seed++) {
            int alarm = 0;
            stream_fresh_null(&s, seed + (uint64_t)c * STREAMS);
            stream_begin(&s, alpha, seed + (uint64_t)c * STREAMS);
            for (size_t k = 0; k < LENGTH; k++) {
                if (cases[c].restart > 0 && k > 0 && k % cases[c].restart == 0) {
                    stream_fresh_null(&s, (seed + 1) * 1000003 + k);
                    stream_must(npksd_monitor_restart(&s.monitor, s.tester));
                }
                stream_add(&s, 0);
                alarm |= (double)s.monitor.p <= alpha;
            }
            alarms += s.monitor.alarm;
            naive += alarm;
            time += s.monitor.change_alarm ? (double)s.monitor.change_alarm_at : LENGTH;
        }
        double low = alpha / 3 - 4 * sqrt(alpha / 3 * (1 - alpha / 3) / STREAMS);
        double high = alpha + 4 * sqrt(alpha * (1 - alpha) / STREAMS);
        int good = alarms / STREAMS >= low && alarms / STREAMS <= high && time / STREAMS >= 1 / alpha
            && naive / STREAMS > 0.9;
        printf("b %3zu, alpha %.2f, ties %d, restarts %d: E %.4f in [%.4f, %.4f], M after %.0f >= %.0f; each by "
               "itself %.2f  %s\n", cases[c].replicates, alpha, cases[c].grain > 0, cases[c].restart > 0,
               alarms / STREAMS, low, high, time / STREAMS, 1 / alpha, naive / STREAMS, good ? "ok" : "FAILED");
        passed += good != 0;
        failed += good == 0;
        stream_close(&s);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
