/* A check on a small device: no heap, no generator, no fitting, float only.
 *
 * device_make.c, on the workstation, has fitted and calibrated the test and written it into
 * device_blob.h. Here the blob (in flash) is loaded into a static block and recordings are checked:
 * npksd_tester_load_into needs no allocator. npksd_blob_info tells how large the block must be.
 * tests/cortex_m4 runs this very file on a Cortex-M4 with 64 KiB of RAM. */
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

static unsigned char workspace[DEVICE_WORKSPACE_BYTES]; /* the tester and all it will ever need */

/* name and value with four decimals; no printf on a small device */
static void write_number(const char *name, npksd_real value)
{
    char text[24], *end = text + sizeof text - 1;
    int negative = value < 0;
    unsigned long number = (unsigned long)((negative ? -value : value) * 10000 + 0.5f);
    *end = '\0';
    for (int digit = 0; digit < 5 || number > 0; digit++) {
        *--end = (char)('0' + number % 10);
        number /= 10;
        if (digit == 3)
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
        write_number(": p = ", result.p_value);
        write_number(", statistic ", result.statistic);
        device_write(result.reject ? ", not as it was: look after it\n" : ", as it should be\n");
        wrong |= !close_to(result.statistic, device_recordings[k].statistic) ||
                 !close_to(result.p_value, device_recordings[k].p_value);
    }
    if (status != NPKSD_OK) {
        device_write("device: ");
        device_write(npksd_status_string(status));
        device_write(status == NPKSD_ERROR_FORMAT ? "; run device_make again\n" : "\n");
        return 1;
    }
    if (wrong)
        device_write("device: the workstation says something else\n");
    return wrong;
}
