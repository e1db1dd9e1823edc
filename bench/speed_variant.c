/* One build of npksd.h for speed.c: VARIANT is its name, VARIANT_FLAGS what it was compiled with. */
#define NPKSD_STATIC
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include "speed.h"

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

const speed_variant VARIANT = {
    VARIANT_NAME, VARIANT_FLAGS, npksd_rng_seeded, normals, exps, npksd_tester_create,
    npksd_tester_prepare, npksd_tester_step, npksd_tester_check, npksd_tester_destroy,
    npksd_tester_scores, npksd_tester_scratch_size, npksd_tester_replicates
};
