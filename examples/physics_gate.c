/* A gate for a physics engine: calibrate once on the release, then check every build in a second.
 *
 *     physics_gate calibrate gate.blob        on the release: draw, fit, save
 *     physics_gate check gate.blob BUILD      on each build: exit status 0 passes, 1 fails, 2 error
 *
 * A ball is thrown, bounces and rolls out. A new build need not give the same bits: another
 * compiler, SIMD or another order of sums changes the last digit, and after a few bounces the
 * whole path. A test for equal output would fail for no good reason. What must stay the same is
 * the *distribution* of what happens. The blob (about 60 KB here) has the same bytes on every
 * machine: commit it with the tests. One sound build in 200 fails (alpha 0.005); as the seeds are
 * fixed, it fails every time. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THROWS = 200, COLUMNS = 3, BLOB_MAX = 1 << 20 };
static const char *const column_names[COLUMNS] = { "distance", "lost in bounces", "top height" };

typedef struct build {
    const char *name, *story;
    npksd_real restitution, step;
    int explicit_euler; /* moves with the old velocity: gains energy */
} build;

static const build builds[] = {
    { "release", "the engine as it was shipped", (npksd_real)0.7, (npksd_real)0.002, 0 },
    { "refactored", "a step of 1/512 s: different bits, the same physics", (npksd_real)0.7,
      (npksd_real)0.001953125, 0 },
    { "bouncy", "restitution 0.70 became 0.74", (npksd_real)0.74, (npksd_real)0.002, 0 },
    { "coarse", "explicit Euler with a step of 1/25 s", (npksd_real)0.7, (npksd_real)0.04, 1 },
};

/* One row per throw: distance after two seconds, speed lost in bounces, greatest height. */
static int throw_balls(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    const build *b = (const build *)user_data;
    for (size_t r = 0; r < count; r++) {
        npksd_real x = 0, y = 1, vx = 4 + npksd_normal(rng), vy = 5 + npksd_normal(rng), top = y,
                   lost = 0;
        npksd_real drag =
            (npksd_real)0.1 * (1 + npksd_uniform(rng)); /* the ball's surface varies */
        for (npksd_real t = 0; t < 2; t += b->step) {
            npksd_real old = vy;
            vy -= ((npksd_real)9.81 + drag * vy) * b->step;
            vx -= drag * vx * b->step;
            x += vx * b->step;
            y += (b->explicit_euler ? old : vy) * b->step;
            top = y > top ? y : top;
            if (y < 0 && vy < 0) {
                lost -= (1 - b->restitution) * vy;
                y = 0;
                vy = -b->restitution * vy;
            }
        }
        rows[r * m + 0] = x;
        rows[r * m + 1] = lost;
        rows[r * m + 2] = top;
    }
    return 0;
}

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "physics_gate: %s: %s\n", what, why);
    return 2;
}

static int calibrate(const char *file)
{
    static unsigned char blob[BLOB_MAX];
    size_t size = 0;
    npksd_tester *tester;
    build release = builds[0];
    npksd_options options = npksd_default_options();
    options.alpha = (npksd_real)0.005;
    options.replicates = 999;
    options.summary = NPKSD_SUMMARY_ALL; /* the columns are related: each given the others */
    options.diagnose = 1;                /* so that a failing build says which column */
    npksd_status status =
        npksd_tester_create(&tester, THROWS, COLUMNS, throw_balls, &release, &options);
    if (status == NPKSD_OK)
        status = npksd_tester_step(tester, SIZE_MAX);
    if (status == NPKSD_OK)
        status = npksd_tester_save(tester, blob, sizeof blob, &size);
    npksd_tester_destroy(tester);
    if (status != NPKSD_OK)
        return failed("calibrate", npksd_status_string(status));
    FILE *out = fopen(file, "wb");
    if (!out || fwrite(blob, 1, size, out) != size || fclose(out) != 0)
        return failed(file, "cannot be written");
    printf("calibrated: %zu bytes in %s\n", size, file);
    return 0;
}

static int check(const char *file, const char *name)
{
    static unsigned char blob[BLOB_MAX];
    static npksd_real throws[THROWS * COLUMNS];
    npksd_real adjusted[COLUMNS], shift[COLUMNS], distance[COLUMNS];
    npksd_diagnosis diagnosis;
    npksd_tester *tester;
    npksd_result result;
    size_t k = 0;
    while (k < sizeof builds / sizeof builds[0] && strcmp(builds[k].name, name) != 0)
        k++;
    if (k == sizeof builds / sizeof builds[0])
        return failed(name, "no such build; choose release, refactored, bouncy or coarse");
    FILE *in = fopen(file, "rb");
    if (!in)
        return failed(file, "cannot be read; run physics_gate calibrate first");
    size_t size = fread(blob, 1, sizeof blob, in);
    fclose(in);
    npksd_status status = npksd_tester_load(&tester, blob, size, NULL);
    if (status != NPKSD_OK)
        return failed(file, npksd_status_string(status));
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 4711, 0); /* not the seed of the calibration */
    build tested = builds[k];
    throw_balls(throws, THROWS, COLUMNS, &rng, &tested);
    memset(&diagnosis, 0, sizeof diagnosis); /* zero means "not wanted" */
    diagnosis.coordinate_p_adjusted = adjusted;
    diagnosis.coordinate_shift = shift;
    diagnosis.coordinate_distance = distance;
    status = npksd_tester_check(tester, throws, &result, &diagnosis);
    npksd_tester_destroy(tester);
    if (status != NPKSD_OK)
        return failed("check", npksd_status_string(status));
    printf("%-10s (%s): p = %.3f, %s\n", name, tested.story, (double)result.p_value,
           result.reject ? "STOP, the physics has changed:" : "passes");
    for (size_t i = 0; i < COLUMNS && result.reject; i++)
        if (adjusted[i] <= (npksd_real)0.05)
            printf("           %s, adjusted p = %.3f, shift %+.2f sd, distance %.2f\n",
                   column_names[i], (double)adjusted[i], (double)shift[i], (double)distance[i]);
    return result.reject;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "calibrate") == 0)
        return calibrate(argv[2]);
    if (argc == 4 && strcmp(argv[1], "check") == 0)
        return check(argv[2], argv[3]);
    return failed("usage", "physics_gate calibrate FILE, or physics_gate check FILE BUILD");
}
