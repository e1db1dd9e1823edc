/* Links with an implementation of its own precision only: make compile tries both. */
#include "npksd.h"

int main(void)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 1, 2);
    return npksd_uniform(&rng) < 1 ? 0 : 1;
}
