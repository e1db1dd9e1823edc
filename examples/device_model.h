/* What host and device share: the size of a data set, and the precision of the device. */
#ifndef DEVICE_MODEL_H
#define DEVICE_MODEL_H

#define NPKSD_FLOAT /* a small FPU knows float only; the blob must be made in the same precision */
#include "npksd.h"

enum { DEVICE_N = 50, DEVICE_M = 4 }; /* 50 rows of temperature, current, vibration, speed */

#endif
