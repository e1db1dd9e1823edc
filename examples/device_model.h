/* What host and device share: the size of a data set, the precision of the device, and the motor. */
#ifndef DEVICE_MODEL_H
#define DEVICE_MODEL_H

#define NPKSD_FLOAT /* a small FPU has float only; the blob must have the same precision */
#include "npksd.h"

enum { DEVICE_N = 50, DEVICE_M = 4 }; /* 50 rows of temperature, current, vibration, speed */

/* Readings of a motor, given its wear: the generator on the workstation, a stand-in for the sensors on the
   device. */
static int motor(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    npksd_real wear = *(const npksd_real *)user_data;
    for (size_t r = 0; r < count; r++) {
        npksd_real *x = rows + r * m, load = npksd_normal(rng);
        x[0] = 60 + 5 * load + 2 * npksd_normal(rng);                   /* temperature */
        x[1] = 3 + 0.5f * load + 0.1f * npksd_normal(rng);              /* current */
        x[2] = (0.2f + 0.1f * wear) * (1 + 0.2f * npksd_normal(rng));   /* vibration */
        x[3] = 3000 - 50 * load + 20 * npksd_normal(rng);               /* speed */
    }
    return 0;
}

#endif
