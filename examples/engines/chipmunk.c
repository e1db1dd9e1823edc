/* Chipmunk: does a stack of crates still stand as it did in the release?
 *
 * Five crates are stacked, each a little off centre, and a ball is rolled against a wall beside them. A row is one
 * scene after a second: the height of the stack, how far its top crate moved, how much it turned, where the ball is.
 * The generator is the scene as the release plays it; a recording is SCENES rows played by another build.
 *   rebuilt      nothing changed: must pass
 *   hasty        2 solver iterations instead of 10: must be rejected, and the height named, as crates sink in
 *   rubber ball  elasticity 0.60 -> 0.65: the ball must be named, and the height must not
 * The whole test is one call, npksd_test_diagnose; npksd_power tells in advance how many scenes to record.
 *
 * Chipmunk 7, package chipmunk-dev. Link with -lchipmunk. make -C examples engines */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <chipmunk/chipmunk.h>
#include <stdio.h>

enum { SCENES = 20, CRATES = 5, COLUMNS = 4 };
enum { HEIGHT, MOVED, TURNED, BALL };
static const char *const names[COLUMNS] = { "height", "moved", "turned", "ball" };

typedef struct build {
    const char *name;
    int iterations;
    cpFloat elasticity;
} build;

static cpBody *add_body(cpSpace *space, cpBody *body, cpShape *shape, cpFloat elasticity, cpFloat x, cpFloat y)
{
    cpShapeSetFriction(shape, 0.7);
    cpShapeSetElasticity(shape, elasticity);
    cpSpaceAddShape(space, shape);
    cpSpaceAddBody(space, body);
    cpBodySetPosition(body, cpv(x, y));
    return body;
}

static void add_edge(cpSpace *space, cpVect a, cpVect b)
{
    cpShape *edge = cpSegmentShapeNew(cpSpaceGetStaticBody(space), a, b, 0);
    cpShapeSetFriction(edge, 0.7);
    cpShapeSetElasticity(edge, 1); /* Chipmunk multiplies the two that meet */
    cpSpaceAddShape(space, edge);
}

/* A space does not own what was added to it. */
static void free_shape(cpBody *body, cpShape *shape, void *space)
{
    (void)body;
    cpSpaceRemoveShape((cpSpace *)space, shape);
    cpShapeFree(shape);
}
static void free_body(cpSpace *space, cpBody *body)
{
    cpBodyEachShape(body, free_shape, space);
    if (body != cpSpaceGetStaticBody(space)) {
        cpSpaceRemoveBody(space, body);
        cpBodyFree(body);
    }
}

/* One scene. Everything random comes from rng, so that the same stream gives the same scene. */
static void play(const build *b, npksd_rng *rng, npksd_real *row)
{
    cpSpace *space = cpSpaceNew();
    cpBody *crates[CRATES], *ball = cpBodyNew(1, cpMomentForCircle(1, 0, 10, cpvzero));
    cpSpaceSetGravity(space, cpv(0, -500));
    cpSpaceSetIterations(space, b->iterations);
    add_edge(space, cpv(-1000, 0), cpv(1000, 0)); /* the floor, and the wall */
    add_edge(space, cpv(300, 0), cpv(300, 300));
    for (int i = 0; i < CRATES; i++) {
        cpBody *crate = crates[i] = cpBodyNew(1, cpMomentForBox(1, 30, 30));
        add_body(space, crate, cpBoxShapeNew(crate, 30, 30, 0), 0, npksd_normal(rng), 15 + 30 * i);
    }
    cpFloat start = cpBodyGetPosition(crates[CRATES - 1]).x;
    add_body(space, ball, cpCircleShapeNew(ball, 10, cpvzero), b->elasticity, 150, 10);
    cpBodySetVelocity(ball, cpv(400 + 20 * npksd_normal(rng), 0));
    for (int step = 0; step < 60; step++)
        cpSpaceStep(space, 1.0 / 60);
    cpVect top = cpBodyGetPosition(crates[CRATES - 1]);
    row[HEIGHT] = top.y;
    row[MOVED] = top.x - start;
    row[TURNED] = cpBodyGetAngle(crates[CRATES - 1]);
    row[BALL] = cpBodyGetPosition(ball).x;
    for (int i = 0; i < CRATES; i++)
        free_body(space, crates[i]);
    free_body(space, ball);
    free_body(space, cpSpaceGetStaticBody(space));
    cpSpaceFree(space);
}

/* The generator as npksd expects it. */
static int scenes(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    for (size_t r = 0; r < count; r++)
        play((const build *)user_data, rng, rows + r * m);
    return 0;
}

int main(void)
{
    build release = { "release", 10, 0.6 };
    build builds[] = { { "rebuilt", 10, 0.6 }, { "hasty", 2, 0.6 }, { "rubber ball", 10, 0.65 } };
    npksd_options options = npksd_default_options();
    npksd_status status = NPKSD_OK;
    int named[3][COLUMNS] = { { 0 } }, rejected[3];
    options.fit_rows = 800; /* few: a scene takes 0.3 ms, and this is an example */
    options.pilot = 40;
    options.replicates = 99;

    for (size_t n = 5; n <= SCENES && status == NPKSD_OK; n *= 2) {
        npksd_power_result power = { 0, 0, 0, 0, 0 };
        status = npksd_power(n, COLUMNS, scenes, &release, scenes, &builds[2], &options, 40, &power);
        printf("%2zu scenes: the rubber ball is noticed in %3.0f %% of recordings (%.0f to %.0f)\n", n,
               100 * power.power, 100 * power.low, 100 * power.high);
    }
    for (size_t k = 0; k < 3 && status == NPKSD_OK; k++) {
        static npksd_real rows[SCENES * COLUMNS];
        npksd_real p[COLUMNS], shift[COLUMNS];
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 2026, k); /* not the test's own seed */
        npksd_result result;
        npksd_diagnosis why = { 0 };
        why.coordinate_p_adjusted = p;
        why.coordinate_shift = shift;
        scenes(rows, SCENES, COLUMNS, &rng, &builds[k]); /* your recording here */
        status = npksd_test_diagnose(rows, SCENES, COLUMNS, scenes, &release, &options, &result, &why, NULL);
        if (status != NPKSD_OK)
            break;
        rejected[k] = result.reject;
        printf("%-11s p = %.2f  %s", builds[k].name, result.p_value, result.reject ? "rejected:" : "passes");
        for (int i = 0; i < COLUMNS; i++)
            if (result.reject && p[i] <= options.alpha) {
                named[k][i] = 1;
                printf(" %s (%+.2f sd)", names[i], shift[i]);
            }
        printf("\n");
    }
    if (status != NPKSD_OK) {
        fprintf(stderr, "chipmunk: %s\n", npksd_status_string(status));
        return 1;
    }
    return !(!rejected[0] && named[1][HEIGHT] && named[2][BALL] && !named[2][HEIGHT]);
}
