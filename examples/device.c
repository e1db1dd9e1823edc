/* Checks on a small device: no heap, no generator, no fitting, float only.
 *
 * device_make.c, on the workstation, has fitted and calibrated the test and written it into
 * device_blob.h. Here the blob (in flash) is loaded into a static block, and recordings are checked.
 * npksd_tester_load_into needs no allocator; npksd_blob_info tells how large the block must be. Then
 * a motor that begins to wear is watched hour by hour: the monitor notices before any single hour
 * shows it clearly. tests/cortex_m4 runs this very file on a Cortex-M4 with 64 KiB of RAM. */
#define NPKSD_NO_MALLOC
#define NPKSD_IMPLEMENTATION
#include "device_model.h"
#include "device_blob.h"

#ifdef DEVICE_BARE
void device_write(const char *text); /* the board's serial line */
#else
#include <stdio.h>
static void device_write(const char *text) { fputs(text, stdout); }
#endif

static unsigned char workspace[DEVICE_WORKSPACE_BYTES]; /* for the tester */

/* name and value; no printf on a small device */
static void write_number(const char *name, npksd_real value, int decimals)
{
    char text[24], *end = text + sizeof text - 1;
    int negative = value < 0;
    for (int digit = 0; digit < decimals; digit++)
        value *= 10;
    unsigned long number = (unsigned long)((negative ? -value : value) + 0.5f);
    *end = '\0';
    for (int digit = 0; digit <= decimals || number > 0; digit++) {
        *--end = (char)('0' + number % 10);
        number /= 10;
        if (digit + 1 == decimals)
            *--end = '.';
    }
    if (negative)
        *--end = '-';
    device_write(name);
    device_write(end);
}

static int close_to(npksd_real a, npksd_real b)
{
    npksd_real difference = a > b ? a - b : b - a, size = b > 0 ? b : -b;
    return difference <= (npksd_real)1e-4 * (1 + size);
}

/* Hour after hour, until the monitor is sure. */
static npksd_status watch(npksd_tester *tester)
{
    enum { HOURS = 100, HEALTHY = 40 };
    static npksd_real memory[HOURS], rows[DEVICE_N * DEVICE_M];
    static npksd_monitor monitor;
    npksd_status status = npksd_monitor_begin(&monitor, (npksd_real)0.001, HOURS, 0);
    for (size_t hour = 1; hour <= HOURS && status == NPKSD_OK && !monitor.alarm; hour++) {
        npksd_real wear = hour > HEALTHY ? 0.01f * (npksd_real)(hour - HEALTHY) : 0;
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 12, hour);
        npksd_result result;
        motor(rows, DEVICE_N, DEVICE_M, &rng, &wear); /* read the sensors */
        status = npksd_tester_check(tester, rows, &result, NULL);
        if (status == NPKSD_OK)
            status = npksd_monitor_add(&monitor, tester, memory, &result);
        if (status == NPKSD_OK && (monitor.change_alarm_at == hour || monitor.alarm_at == hour)) {
            write_number("hour ", (npksd_real)hour, 0);
            write_number(", wear ", wear, 2);
            write_number(": p = ", result.p_value, 4);
            device_write(monitor.alarm ? ", the motor is worn: stop it\n"
                                       : ", something has changed: inspect it\n");
        }
    }
    return status;
}

int main(void)
{
    int wrong = 0;
    npksd_tester *tester;
    npksd_result result;
    npksd_status status = npksd_tester_load_into(&tester, device_blob, sizeof device_blob,
                                                 workspace, sizeof workspace);
    for (int k = 0; k < DEVICE_RECORDINGS && status == NPKSD_OK; k++) {
        status = npksd_tester_check(tester, device_recordings[k].rows, &result, NULL);
        if (status != NPKSD_OK)
            break;
        device_write(device_recordings[k].name);
        write_number(": p = ", result.p_value, 4);
        write_number(", statistic ", result.statistic, 4);
        device_write(result.reject ? ", changed: inspect it\n" : ", as it should be\n");
        wrong |= !close_to(result.statistic, device_recordings[k].statistic) ||
                 !close_to(result.p_value, device_recordings[k].p_value);
    }
    if (status == NPKSD_OK)
        status = watch(tester);
    if (status != NPKSD_OK) {
        device_write("device: ");
        device_write(npksd_status_string(status));
        device_write(status == NPKSD_ERROR_FORMAT ? "; run device_make again\n" : "\n");
        return 1;
    }
    if (wrong)
        device_write("device: not the workstation's results\n");
    return wrong;
}
