/* ODE: dice thrown by the release and by tonight's build, two recordings and no generator.
 *
 * Often nobody can run the release any more: there is one file of what it did and one of what tonight's build does.
 * npksd_test_samples asks whether both have the same source. A die is thrown onto the ground; a row is one throw: how
 * far it went in each direction, how high it bounced, how fast it spins after a second. OLD throws of the release are
 * on file; tonight NEW throws are made.
 *   rebuilt   nothing changed: must pass
 *   springy   the bounce of the contact 0.30 -> 0.36: must be rejected, and the bounce named
 *   coarse    50 steps per second instead of 100: must be rejected
 * How many throws to make tonight? npksd_power answers, as long as the engine can still be run.
 *
 * ODE 0.16, package libode-dev. Link with -lode. make -C examples engines */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <ode/ode.h>
#include <stdio.h>

enum { OLD = 400, NEW = 100, COLUMNS = 4 };
enum { FORWARD, ASIDE, BOUNCE, SPIN };
static const char *const names[COLUMNS] = { "forward", "aside", "bounce", "spin" };

typedef struct build {
    const char *name;
    dReal bounce, rate; /* of a contact; steps per second */
} build;

typedef struct table {
    dWorldID world;
    dJointGroupID contacts;
    const build *engine;
    int touched;
} table;

/* Called by ODE for each pair that may touch: contacts are joints that live for one step. */
static void touch(void *user_data, dGeomID a, dGeomID b)
{
    table *t = (table *)user_data;
    dContact contact[4];
    int count = dCollide(a, b, 4, &contact[0].geom, sizeof contact[0]);
    for (int i = 0; i < count; i++) {
        contact[i].surface.mode = dContactBounce | dContactApprox1;
        contact[i].surface.mu = 0.4;
        contact[i].surface.bounce = t->engine->bounce;
        contact[i].surface.bounce_vel = 0.1;
        dJointAttach(dJointCreateContact(t->world, t->contacts, &contact[i]), dGeomGetBody(a), dGeomGetBody(b));
        t->touched = 1;
    }
}

/* One throw. Everything random comes from rng, so that the same stream gives the same throw. */
static void throw_die(const build *engine, npksd_rng *rng, npksd_real *row)
{
    table t = { dWorldCreate(), dJointGroupCreate(0), engine, 0 };
    dSpaceID space = dSimpleSpaceCreate(0);
    dBodyID die = dBodyCreate(t.world);
    dMass mass;
    dWorldSetGravity(t.world, 0, 0, -9.81);
    dRandSetSeed(1); /* the solver shuffles its constraints */
    dCreatePlane(space, 0, 0, 1, 0);
    dMassSetBox(&mass, 1, 0.2, 0.2, 0.2);
    dBodySetMass(die, &mass);
    dGeomSetBody(dCreateBox(space, 0.2, 0.2, 0.2), die);
    dBodySetPosition(die, 0, 0, 1);
    dBodySetLinearVel(die, 2 + 0.2 * npksd_normal(rng), 0.2 * npksd_normal(rng), 0);
    dBodySetAngularVel(die, npksd_normal(rng), npksd_normal(rng), npksd_normal(rng));
    row[BOUNCE] = 0;
    for (dReal seconds = 0; seconds < 1; seconds += 1 / engine->rate) {
        t.touched = 0;
        dSpaceCollide(space, &t, touch);
        dWorldQuickStep(t.world, 1 / engine->rate);
        dJointGroupEmpty(t.contacts);
        dReal up = dBodyGetLinearVel(die)[2];
        if (t.touched && up > row[BOUNCE])
            row[BOUNCE] = up; /* the fastest start after a contact */
    }
    const dReal *place = dBodyGetPosition(die), *spin = dBodyGetAngularVel(die);
    row[FORWARD] = place[0];
    row[ASIDE] = place[1];
    row[SPIN] = dCalcVectorLength3(spin);
    dSpaceDestroy(space);
    dJointGroupDestroy(t.contacts);
    dWorldDestroy(t.world);
}

static int throws(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    for (size_t r = 0; r < count; r++)
        throw_die((const build *)user_data, rng, rows + r * m);
    return 0;
}

static void record(npksd_real *rows, size_t count, build *engine, uint64_t stream)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 2026, stream);
    throws(rows, count, COLUMNS, &rng, engine);
}

int main(void)
{
    static npksd_real on_file[OLD * COLUMNS], tonight[NEW * COLUMNS];
    build release = { "release", 0.3, 100 };
    build builds[] = { { "rebuilt", 0.3, 100 }, { "springy", 0.36, 100 }, { "coarse", 0.3, 50 } };
    int wrong = 0;
    dInitODE();

    npksd_options quick = npksd_default_options();
    quick.fit_rows = 500;
    quick.pilot = 40;
    quick.replicates = 99;
    for (size_t n = 10; n <= 40; n *= 2) {
        npksd_power_result power;
        if (npksd_power(n, COLUMNS, throws, &release, throws, &builds[1], &quick, 40, &power) != NPKSD_OK)
            return 1;
        printf("%2zu throws: the springy die is noticed on %3.0f %% of nights (%.0f to %.0f)\n", n, 100 * power.power,
               100 * power.low, 100 * power.high);
    }
    record(on_file, OLD, &release, 0);
    for (size_t k = 0; k < 3; k++) {
        npksd_real p[COLUMNS], shift[COLUMNS];
        npksd_result result;
        npksd_diagnosis why = { 0 };
        why.coordinate_p_adjusted = p;
        why.coordinate_shift = shift;
        record(tonight, NEW, &builds[k], 1 + k);
        npksd_status status = npksd_test_samples_diagnose(tonight, NEW, on_file, OLD, COLUMNS, NULL, &result, &why,
                                                         NULL);
        if (status != NPKSD_OK) {
            fprintf(stderr, "ode: %s\n", npksd_status_string(status));
            return 1;
        }
        printf("%-7s p = %.3f  %s", builds[k].name, result.p_value, result.reject ? "rejected:" : "passes");
        for (int i = 0; i < COLUMNS; i++)
            if (result.reject && p[i] <= 0.05)
                printf(" %s (%+.2f sd)", names[i], shift[i]);
        printf("\n");
        wrong += result.reject != (k > 0) || (k == 1 && p[BOUNCE] > 0.05);
    }
    dCloseODE();
    return wrong != 0;
}
