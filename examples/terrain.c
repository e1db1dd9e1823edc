/* Does procedural terrain look like surveyed terrain? A row is a strip of sixteen heights.
 *
 * The generator walks: each height is 0.8 of the last one plus noise. The survey has the same
 * mean, the same spread and nearly the same slopes, but 7 % of its variance comes from stones:
 * small bumps that do not affect the next height. Each height alone looks right, and so does the
 * mean of the strip. To see the stones a test must look at a height *given the heights beside
 * it*: NPKSD_SUMMARY_NEIGHBOURS lets the score of coordinate i use coordinates i-1 and i+1. It is
 * made for rows whose coordinates have an order: time series, strips, rows of a grid. No summary
 * is best for everything: choose it before you look at the data. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STRIPS = 60, HEIGHTS = 16, RECORDINGS = 40 };

/* The generator (no stones) and the survey (user_data: the share of stones). */
static int walk_strips(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    double stones = user_data ? (double)*(const npksd_real *)user_data : 0;
    npksd_real ground = (npksd_real)sqrt(1 - stones), bumps = (npksd_real)sqrt(stones);
    for (size_t strip = 0; strip < count; strip++) {
        npksd_real height = npksd_normal(rng);
        for (size_t i = 0; i < m; i++) {
            rows[strip * m + i] = 100 + 5 * (ground * height + bumps * npksd_normal(rng));
            height = (npksd_real)0.8 * height + (npksd_real)0.6 * npksd_normal(rng);
        }
    }
    return 0;
}

static npksd_power_result share_rejected(int summary, npksd_real stones)
{
    npksd_options options = npksd_default_options();
    npksd_power_result power;
    options.summary = summary;
    npksd_status status = npksd_power(STRIPS, HEIGHTS, walk_strips, NULL, walk_strips, &stones,
                                      &options, RECORDINGS, &power);
    if (status != NPKSD_OK) {
        fprintf(stderr, "terrain: %s\n", npksd_status_string(status));
        exit(EXIT_FAILURE);
    }
    return power;
}

int main(void)
{
    static const struct {
        const char *name;
        int summary;
    } summaries[] = { { "NONE, each height alone", NPKSD_SUMMARY_NONE },
                      { "MEAN, of all the others", NPKSD_SUMMARY_MEAN },
                      { "NEIGHBOURS, those beside it", NPKSD_SUMMARY_NEIGHBOURS } };
    npksd_power_result sound = { 0, 0, 0, 0, 0 }, stony = { 0, 0, 0, 0, 0 };
    printf("rejected at level 0.05, of %d surveys of %d strips\n", RECORDINGS, STRIPS);
    printf("  %-30s %12s %12s\n", "what a score knows", "the same", "with stones");
    for (size_t k = 0; k < sizeof summaries / sizeof summaries[0]; k++) {
        sound = share_rejected(summaries[k].summary, 0);
        stony = share_rejected(summaries[k].summary, (npksd_real)0.07);
        printf("  %-30s %12zu %12zu\n", summaries[k].name, sound.rejected, stony.rejected);
    }
    /* the last line is NEIGHBOURS */
    return stony.rejected > 25 && sound.rejected < 8 ? EXIT_SUCCESS : EXIT_FAILURE;
}
