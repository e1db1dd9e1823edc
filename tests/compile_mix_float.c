/* The float half of a program with both precisions. */
#define NPKSD_FLOAT
#define NPKSD_IMPLEMENTATION
#include "npksd.h"

int float_half(void);

int float_half(void)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 1, 2);
    npksd_real value = npksd_uniform(&rng);
    return sizeof(npksd_real) == sizeof(float) && value >= 0 && value < 1;
}
