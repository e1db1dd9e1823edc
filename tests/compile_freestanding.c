/* No heap, no math.h, no string.h: a tester in a static block of memory, and one loaded into another and watched. */
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
    static unsigned char memory[1 << 20], blob[1 << 17], room[1 << 18];
    npksd_real observed[N * M] = { 0 }, memory_of_monitor[2];
    npksd_monitor monitor;
    npksd_tester *tester = NULL, *loaded = NULL;
    npksd_result result, again;
    size_t size = 0, n = 0, m = 0, needed = 0;
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
    if (!(result.p_value > 0 && result.p_value <= 1))
        return 4;
    if (npksd_tester_save(tester, blob, sizeof blob, &size) != NPKSD_OK
        || npksd_blob_info(blob, size, &n, &m, &needed) != NPKSD_OK || n != N || m != M)
        return 5;
    if (npksd_tester_load(&loaded, blob, size, NULL) != NPKSD_ERROR_MEMORY || loaded)
        return 6;
    if (needed > sizeof room || npksd_tester_load_into(&loaded, blob, size, room, needed) != NPKSD_OK)
        return 7;
    if (npksd_tester_check_begin(loaded, observed) != NPKSD_OK)
        return 8;
    do
        status = npksd_tester_step(loaded, 1);
    while (status == NPKSD_MORE);
    if (status != NPKSD_OK || npksd_tester_check_end(loaded, &again, NULL) != NPKSD_OK)
        return 9;
    if (npksd_monitor_begin(&monitor, options.alpha, 2, 0) != NPKSD_OK
        || npksd_monitor_add(&monitor, tester, memory_of_monitor, &result) != NPKSD_OK
        || npksd_monitor_add(&monitor, loaded, memory_of_monitor, &again) != NPKSD_OK)
        return 10;
    return again.statistic < result.statistic || again.statistic > result.statistic ? 11 : 0;
}
