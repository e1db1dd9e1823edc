/* The one unit of the test program that holds the implementation. */
#ifndef NPKSD_IMPLEMENTATION /* make check-static defines it for every unit */
#define NPKSD_IMPLEMENTATION
#endif
#include "npksd.h"
