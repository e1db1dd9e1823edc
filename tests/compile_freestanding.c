/* No heap, no math.h, no string.h: a tester in a static block of memory. */
#define NPKSD_NO_MALLOC
#define NPKSD_IMPLEMENTATION
#include "npksd.h"

enum { N = 10, M = 2 };

static int noise(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

int main(void)
{
    static unsigned char memory[1 << 20];
    npksd_real observed[N * M] = { 0 };
    npksd_tester *tester = NULL;
    npksd_result result;
    npksd_options options = npksd_default_options();
    npksd_status status;
    options.fit_rows = 100;
    options.pilot = 5;
    options.replicates = 19;
    observed[3] = 1;
    if (npksd_tester_create(&tester, N, M, noise, NULL, &options) != NPKSD_ERROR_MEMORY || tester)
        return 1; /* there is no allocator to create with */
    if (npksd_tester_init(&tester, N, M, noise, NULL, &options, memory, sizeof memory))
        return 2;
    do
        status = npksd_tester_step(tester, 1);
    while (status == NPKSD_MORE);
    if (status != NPKSD_OK || npksd_tester_check(tester, observed, &result, NULL) != NPKSD_OK)
        return 3;
    return result.p_value > 0 && result.p_value <= 1 ? 0 : 4;
}
