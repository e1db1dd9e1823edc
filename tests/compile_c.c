/* The whole header in one C99 unit, included twice as happens through other headers. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include "npksd.h"

#if NPKSD_VERSION != NPKSD_VERSION_MAJOR * 10000 + NPKSD_VERSION_MINOR * 100 + NPKSD_VERSION_PATCH
#error "NPKSD_VERSION must be usable in #if"
#endif

static int coin(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

int main(void)
{
    npksd_real observed[10] = { 0 };
    npksd_result result;
    npksd_options options = npksd_default_options();
    options.fit_rows = 100;
    options.pilot = 5;
    options.replicates = 19;
    observed[3] = 1;
    return npksd_test(observed, 10, 1, coin, NULL, &options, &result) == NPKSD_OK ? 0 : 1;
}
