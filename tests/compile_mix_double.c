/* The double half, and main. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"

int float_half(void);

int main(void)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 1, 2);
    npksd_real value = npksd_uniform(&rng);
    int double_half = sizeof(npksd_real) == sizeof(double) && value >= 0 && value < 1;
    return double_half && float_half() ? 0 : 1;
}
