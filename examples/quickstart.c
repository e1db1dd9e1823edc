#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <stdio.h>

// The generator under test: count rows of m numbers, every random number from rng.
static int bot(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    npksd_real spread = *(const npksd_real *)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = spread * npksd_normal(rng);
    return 0;
}

int main(void)
{
    npksd_real recorded[100 * 2], spreads[2] = { 1, (npksd_real)1.3 };
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 2026, 0);
    bot(recorded, 100, 2, &rng, &spreads[0]); // your recording here

    for (int k = 0; k < 2; k++) {
        npksd_result result;
        npksd_status status = npksd_test(recorded, 100, 2, bot, &spreads[k], NULL, &result);
        if (status != NPKSD_OK) {
            fprintf(stderr, "npksd_test: %s\n", npksd_status_string(status));
            return 1;
        }
        printf("a bot with spread %.1f: p = %.3f, %s\n", (double)spreads[k],
               (double)result.p_value, result.reject ? "rejected" : "not rejected");
    }
    return 0;
}
