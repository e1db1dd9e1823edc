/* One build of npksd.h for speed.c: VARIANT is its name, VARIANT_FLAGS what it was compiled with. */
#define NPKSD_STATIC
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include "speed.h"

/* rows of a panel, and of a group of rows that meets it */
enum { LANES = NPKSDI_MEDIAN_TILE / 4 };
#ifdef NPKSD_USE_CBLAS
enum { GROUP = LANES };
#else
enum { GROUP = 4 };
#endif

static void normals(npksd_real *values, size_t count, npksd_rng *rng)
{
    for (size_t i = 0; i < count; i++)
        values[i] = npksd_normal(rng);
}

/* what one exp a pair costs when it is vector code; values from -700 to 0 */
static void exps(const npksd_real *values, size_t count, npksd_real *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = npksdi_exp_core(values[i]);
}

static void time_tiles(const npksd_tester *t, npksdi_scratch *w, int products_only)
{
    size_t m = t->m_;
    npksd_real *tile = npksdi_in(w, t->in_.tile_);
    const npksd_real *x = npksdi_in(w, t->in_.x_), *P = npksdi_in(w, t->in_.p_);
    for (size_t p = 0; p < t->panels_; p++)
        for (size_t group = 0; group < npksdi_groups(t, p); group++)
            for (size_t q = 0; q <= p; q++) {
                if (!products_only) {
                    npksdi_add_pairs(t, w, &t->kernels_, 0, p, group, q);
                    continue;
                }
                size_t row = p * LANES * m + group * GROUP, column = q * LANES * m;
                npksdi_product(tile, LANES, GROUP, x + row, 1, LANES, x + column, LANES, m, 0);
                npksdi_product(tile + LANES * GROUP, LANES, GROUP, P + row, 1, LANES, P + column,
                               LANES, m, 0);
            }
}

/* The least time of each part of a data set over some rounds; single-scale STEIN, equal weights. */
static void parts(npksd_tester *t, size_t rounds, double (*clock_fn)(void), double *seconds)
{
    npksdi_scratch *w = npksdi_own_scratch(t);
    npksd_real *rows = npksdi_in(w, t->in_.rows_), *z = npksdi_in(w, t->in_.z_);
    npksd_real *s = npksdi_in(w, t->in_.scores_);
    size_t lanes = LANES, m = t->m_;
    for (size_t r = 0; r < rounds; r++) {
        double at[SPEED_PARTS + 1];
        at[0] = clock_fn();
        (void)npksdi_draw(t, w, t->n_, r);
        at[1] = clock_fn();
        npksdi_begin_evaluation(t, w);
        for (size_t p = 0; p < t->panels_; p++)
            npksdi_scale_panel(t, rows + p * lanes * m, npksdi_min_size(lanes, t->n_ - p * lanes), z);
        at[2] = clock_fn();
        for (size_t p = 0; p < t->panels_; p++)
            (void)npksdi_score_panel(t, w, z + lanes, rows + p * lanes * m,
                                     npksdi_min_size(lanes, t->n_ - p * lanes), NULL, s);
        at[3] = clock_fn();
        for (size_t p = 0; p < t->panels_; p++) {
            npksd_real *x = npksdi_in(w, t->in_.x_) + p * lanes * m;
            memcpy(x, z + lanes, lanes * m * sizeof *x);
            npksdi_columns_panel(t, w, p, x, s);
        }
        at[4] = clock_fn();
        time_tiles(t, w, 1);
        at[5] = clock_fn();
        time_tiles(t, w, 0);
        at[6] = clock_fn();
        for (int k = 0; k < SPEED_PARTS; k++)
            if (r == 0 || at[k + 1] - at[k] < seconds[k])
                seconds[k] = at[k + 1] - at[k];
    }
    seconds[SPEED_KERNELS] -= seconds[SPEED_PRODUCTS]; /* the tiles have both */
}

const speed_variant VARIANT = {
    VARIANT_NAME, VARIANT_FLAGS, npksd_rng_seeded, normals, exps, npksd_tester_create,
    npksd_tester_prepare, npksd_tester_step, npksd_tester_check, npksd_tester_destroy,
    npksd_tester_scores, npksd_tester_scratch_size, npksd_tester_replicates, parts
};
