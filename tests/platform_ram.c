/* How much memory a tester takes at m = 4: to fit and calibrate, and to check with a loaded blob. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <stdio.h>

static int draw(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

int main(void)
{
    for (size_t n = 50; n <= 500; n *= 10) {
        npksd_tester *tester;
        npksd_options options = npksd_default_options();
        size_t whole, size, loaded;
        static unsigned char blob[1 << 20];
        options.pilot = 20; /* what is in the blob does not depend on it */
        if (npksd_tester_size(n, 4, NULL, &whole) != NPKSD_OK ||
            npksd_tester_create(&tester, n, 4, draw, NULL, &options) != NPKSD_OK ||
            npksd_tester_step(tester, SIZE_MAX) != NPKSD_OK ||
            npksd_tester_save(tester, blob, sizeof blob, &size) != NPKSD_OK ||
            npksd_blob_info(blob, size, NULL, NULL, &loaded) != NPKSD_OK)
            return 1;
        printf(" %lu KiB, blob %lu KiB %s", (unsigned long)(whole / 1024),
               (unsigned long)(loaded / 1024), n == 50 ? "|" : "\n");
        npksd_tester_destroy(tester);
    }
    return 0;
}
