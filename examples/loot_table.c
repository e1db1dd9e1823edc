/* Does the live server drop what the design says? Recorded chests are tested against the loot table.
 *
 * A player opens chests in sessions. The table has a pity timer: the longer a player goes without a
 * rare item, the more likely the next one becomes. So the rows of a session depend on each other.
 * The generator therefore draws a whole session per data set, and the p-value stays exact.
 *
 * One tester is prepared for the design and then checks any number of recordings. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHESTS = 200, COLUMNS = 4 };
static const char *const column_names[COLUMNS] = { "gold", "power", "rarity", "chests since rare" };

typedef struct loot_table {
    npksd_real gold;      /* typical gold in a chest */
    npksd_real rare;      /* chance of a rare item in the first chest ... */
    npksd_real pity;      /* ... and how much it grows with each chest without one */
    npksd_real per_level; /* item power for each step of rarity */
} loot_table;

/* The generator: one session of count chests. Every random number comes from rng. */
static int open_chests(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    const loot_table *table = (const loot_table *)user_data;
    npksd_real dry = (npksd_real)(int)(8 * npksd_uniform(rng)); /* a session may start dry */
    for (size_t r = 0; r < count; r++) {
        npksd_real *chest = rows + r * m;
        npksd_real chance = table->rare + table->pity * dry, luck = npksd_uniform(rng);
        npksd_real rarity = luck < chance / 4 ? 2 : luck < chance ? 1 : 0; /* common, rare, epic */
        dry = rarity > 0 ? 0 : dry + 1;
        chest[0] = table->gold * (npksd_real)exp(0.4 * (double)npksd_normal(rng));
        chest[1] = 10 + table->per_level * rarity + 2 * npksd_normal(rng);
        chest[2] = rarity;
        chest[3] = dry;
    }
    return 0;
}

static int failed(const char *what, npksd_status status)
{
    fprintf(stderr, "loot_table: %s: %s\n", what, npksd_status_string(status));
    return EXIT_FAILURE;
}

int main(void)
{
    loot_table design = { 50, (npksd_real)0.05, (npksd_real)0.02, 6 };
    /* Recordings, as telemetry would deliver them. The test should find what was changed. */
    loot_table gold = design, weak = design, pity = design;
    gold.gold *= (npksd_real)1.3;
    weak.per_level = 3;
    pity.pity = 0;
    const struct {
        const char *name;
        loot_table *table;
    } builds[] = { { "1.0, as designed", &design },
                   { "1.1, where the extra gold of an event (30 %) was left on", &gold },
                   { "1.2, where rare and epic items got half their power", &weak },
                   { "1.3, where the pity timer was forgotten", &pity } };
    npksd_options options = npksd_default_options();
    options.diagnose = 1;                /* which columns and pairs differ? */
    options.summary = NPKSD_SUMMARY_ALL; /* power given rarity: look at all other columns */

    const char *problem = npksd_options_problem(&options, CHESTS, COLUMNS);
    if (problem) {
        fprintf(stderr, "loot_table: option %s\n", problem);
        return EXIT_FAILURE;
    }
    npksd_tester *tester;
    npksd_status status = npksd_tester_create(&tester, CHESTS, COLUMNS, open_chests, &design,
                                              &options);
    if (status != NPKSD_OK)
        return failed("create", status);
    status = npksd_tester_step(tester, SIZE_MAX); /* all at once; frame_budget.c does it in slices */
    for (size_t k = 0; k < sizeof builds / sizeof builds[0] && status == NPKSD_OK; k++) {
        static npksd_real session[CHESTS * COLUMNS];
        npksd_real adjusted[COLUMNS], shift[COLUMNS], distance[COLUMNS];
        npksd_pair pair;
        npksd_diagnosis diagnosis; /* zero means "not wanted" */
        npksd_result result;
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 77, k); /* the world's dice, not the tester's */
        open_chests(session, CHESTS, COLUMNS, &rng, builds[k].table);
        memset(&diagnosis, 0, sizeof diagnosis);
        diagnosis.coordinate_p_adjusted = adjusted;
        diagnosis.coordinate_shift = shift;
        diagnosis.coordinate_distance = distance;
        diagnosis.pairs = &pair; /* the pair whose correlation changed most */
        diagnosis.pair_capacity = 1;

        status = npksd_tester_check(tester, session, &result, &diagnosis);
        if (status != NPKSD_OK)
            break;
        printf("build %s\n    p = %.3f, %s\n", builds[k].name, (double)result.p_value,
               result.reject ? "not the designed table:" : "fits the design");
        for (size_t i = 0; result.reject && i < COLUMNS; i++)
            if (adjusted[i] <= options.alpha)
                printf("    %-18s adjusted p = %.3f, shift %+.2f sd, distance %.2f\n",
                       column_names[i], (double)adjusted[i], (double)shift[i],
                       (double)distance[i]);
        if (result.reject && diagnosis.pair_count > 0 && pair.p_adjusted <= options.alpha)
            printf("    %s and %s: correlation %.2f, by design %.2f\n", column_names[pair.first],
                   column_names[pair.second], (double)pair.observed, (double)pair.expected);
    }
    npksd_tester_destroy(tester);
    return status == NPKSD_OK ? EXIT_SUCCESS : failed("test", status);
}
