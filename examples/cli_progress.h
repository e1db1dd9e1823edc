/* A progress bar with the time that is left, on a terminal only; none in a pipe or a log.
 *
 * npksd_tester_step tells how far it is. npksd_test_samples_diagnose is one call: for that one an
 * alarm moves the bar along a forecast, measured beforehand on an eighth of the rows. The drawing
 * runs inside the signal handler and so uses nothing but write(). */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#ifdef _WIN32

typedef struct cli_progress {
    int on;
} cli_progress;

static cli_progress cli_bar;
static void cli_progress_start(void) { cli_bar.on = 0; }
static void cli_progress_show(double share) { (void)share; }
static void cli_progress_forecast(double seconds) { (void)seconds; }
static void cli_progress_stop(void) {}
static double cli_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

#else

#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef struct cli_progress {
    int on;
    double start, drawn, forecast; /* seconds */
} cli_progress;

static cli_progress cli_bar;

static double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char *cli_put_text(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    return to;
}

static char *cli_put_number(char *to, long number, int digits)
{
    char reversed[24];
    int count = 0;
    while (number > 0 || count < digits) {
        reversed[count++] = (char)('0' + number % 10);
        number /= 10;
    }
    while (count > 0)
        *to++ = reversed[--count];
    return to;
}

static void cli_progress_draw(double share, double left)
{
    enum { WIDTH = 32 };
    char line[128], *to = cli_put_text(line, "\r[");
    for (int k = 0; k < WIDTH; k++)
        *to++ = k < (int)(share * WIDTH) ? '#' : '.';
    to = cli_put_text(to, "] ");
    to = cli_put_number(to, (long)(100 * share), 1);
    to = cli_put_text(to, " %, ");
    if (left >= 60) {
        to = cli_put_number(to, (long)left / 60, 1);
        to = cli_put_text(to, " min ");
    }
    to = cli_put_number(to, (long)left % 60, 1);
    to = cli_put_text(to, " s left \033[K");
    if (write(STDERR_FILENO, line, (size_t)(to - line)) < 0)
        cli_bar.on = 0;
}

static void cli_progress_start(void)
{
    cli_bar.on = isatty(STDERR_FILENO);
    cli_bar.start = cli_bar.drawn = cli_seconds();
}

/* share: of the work done, from 0 to 1. Draws at most five times a second. */
static void cli_progress_show(double share)
{
    double now = cli_seconds(), passed = now - cli_bar.start;
    if (!cli_bar.on || now - cli_bar.drawn < 0.2 || share <= 0)
        return;
    cli_bar.drawn = now;
    cli_progress_draw(share, passed / share * (1 - share) + 0.5);
}

static void cli_progress_alarm(int number)
{
    double passed = cli_seconds() - cli_bar.start, share = passed / cli_bar.forecast;
    (void)number;
    cli_progress_draw(share < 0.99 ? share : 0.99,
                      share < 0.99 ? cli_bar.forecast - passed + 0.5 : 1);
}

/* From now on the bar moves by itself: the work should take so many seconds. */
static void cli_progress_forecast(double seconds)
{
    struct sigaction action;
    struct itimerval every = { { 0, 200000 }, { 0, 200000 } };
    if (!cli_bar.on)
        return;
    cli_bar.start = cli_seconds();
    cli_bar.forecast = seconds;
    memset(&action, 0, sizeof action);
    action.sa_handler = cli_progress_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

static void cli_progress_stop(void)
{
    struct itimerval never = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &never, NULL);
    if (cli_bar.on && write(STDERR_FILENO, "\r\033[K", 4) < 0)
        cli_bar.on = 0;
    cli_bar.on = 0;
}

#endif
#endif
