/* A progress bar with the time that is left, on a terminal only; none in a pipe or a log.
 *
 * A generator tells how far it is. npksd_test_samples_diagnose is one call: for that one an alarm
 * moves the bar along a forecast, measured beforehand on an eighth of the rows. The drawing runs
 * inside the signal handler and so uses nothing but write(). */
#include "tool.h"
#include <string.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct progress {
    int on;
    double start, drawn, forecast; /* seconds */
} bar;

double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char *put_text(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    return to;
}

static char *put_number(char *to, long number, int digits)
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

static void draw_bar(double share, double left)
{
    enum { WIDTH = 32 };
    char line[128], *to = put_text(line, "\r[");
    for (int k = 0; k < WIDTH; k++)
        *to++ = k < (int)(share * WIDTH) ? '#' : '.';
    to = put_text(to, "] ");
    to = put_number(to, (long)(100 * share), 1);
    to = put_text(to, " %, ");
    if (left >= 60) {
        to = put_number(to, (long)left / 60, 1);
        to = put_text(to, " min ");
    }
    to = put_number(to, (long)left % 60, 1);
    to = put_text(to, " s left \033[K");
    if (write(STDERR_FILENO, line, (size_t)(to - line)) < 0)
        bar.on = 0;
}

int progress_on(void) { return bar.on; }

void progress_start(void)
{
    bar.on = isatty(STDERR_FILENO);
    bar.start = bar.drawn = now_seconds();
}

/* share: of the work done, from 0 to 1. Draws at most five times a second. */
void progress_show(double share)
{
    double now = now_seconds(), passed = now - bar.start;
    if (!bar.on || now - bar.drawn < 0.2 || share <= 0)
        return;
    bar.drawn = now;
    draw_bar(share, passed / share * (1 - share) + 0.5);
}

static void move_bar(int number)
{
    double passed = now_seconds() - bar.start, share = passed / bar.forecast;
    (void)number;
    draw_bar(share < 0.99 ? share : 0.99, share < 0.99 ? bar.forecast - passed + 0.5 : 1);
}

/* From now on the bar moves by itself: the work should take so many seconds. */
void progress_forecast(double seconds)
{
    struct sigaction action;
    struct itimerval every = { { 0, 200000 }, { 0, 200000 } };
    if (!bar.on)
        return;
    bar.start = now_seconds();
    bar.forecast = seconds;
    memset(&action, 0, sizeof action);
    action.sa_handler = move_bar;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

void progress_stop(void)
{
    struct itimerval never = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &never, NULL);
    if (bar.on && write(STDERR_FILENO, "\r\033[K", 4) < 0)
        bar.on = 0;
    bar.on = 0;
}
