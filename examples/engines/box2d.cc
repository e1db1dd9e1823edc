// Box2D: is the engine that we ship still the one that we calibrated?
//
// A test bench with three experiments, each with a random start: a ball falls and bounces, a crate slides to a halt, a
// pendulum swings. A row is one run of the bench: how high, how far, at which angle. The generator
// under test is the bench in the release; a recording is RUNS rows of a later build. Four builds:
//   rebuilt    nothing changed: must pass
//   bouncy     restitution 0.50 -> 0.53: must be rejected, and only the bounce named
//   slippery   friction 0.50 -> 0.43: only the slide
//   coarse     30 steps per second instead of 60: the bounce
// How many runs are enough? npksd_power tells before you record.
//
// Box2D 2.4, package libbox2d-dev. Link with -lbox2d. make -C examples engines
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <box2d/box2d.h>
#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

const std::size_t RUNS = 40, COLUMNS = 3;
const char *const NAMES[COLUMNS] = { "bounce", "slide", "swing" };

struct Build {
    const char *name;
    float restitution, friction;
    float rate;         // steps per second
    bool differs[COLUMNS]; // what npksd should find
};

float normal(npksd_rng *rng) { return static_cast<float>(npksd_normal(rng)); }

b2Body *add_body(b2World *world, const b2Shape *shape, b2Vec2 place, b2Vec2 velocity, const Build &build)
{
    b2BodyDef body;
    body.type = b2_dynamicBody;
    body.position = place;
    body.linearVelocity = velocity;
    b2Body *added = world->CreateBody(&body);
    b2Fixture *fixture = added->CreateFixture(shape, 1);
    fixture->SetRestitution(build.restitution);
    fixture->SetFriction(build.friction);
    return added;
}

// One run. Everything random comes from rng, so that the same stream gives the same run.
void run_bench(const Build &build, npksd_rng *rng, npksd_real *row)
{
    b2World world(b2Vec2(0, -10));
    b2BodyDef nothing;
    b2Body *ground = world.CreateBody(&nothing);
    b2EdgeShape floor;
    floor.SetTwoSided(b2Vec2(-100, 0), b2Vec2(100, 0));
    ground->CreateFixture(&floor, 0)->SetFriction(build.friction);

    b2CircleShape round;
    round.m_radius = 0.2f;
    b2PolygonShape square;
    square.SetAsBox(0.3f, 0.3f);
    b2Body *ball = add_body(&world, &round, b2Vec2(-20, 2 + 0.1f * normal(rng)), b2Vec2(0, 0), build);
    b2Body *crate = add_body(&world, &square, b2Vec2(0, 0.3f), b2Vec2(4 + 0.3f * normal(rng), 0), build);
    b2Body *bob = add_body(&world, &round, b2Vec2(21 + 0.1f * normal(rng), 5), b2Vec2(0, 0), build);
    b2RevoluteJointDef joint;
    joint.Initialize(ground, bob, b2Vec2(20, 6));
    world.CreateJoint(&joint);

    float bounce = 0;
    bool touched = false;
    for (float seconds = 0; seconds < 1.2f; seconds += 1 / build.rate) {
        world.Step(1 / build.rate, 8, 3);
        touched = touched || ball->GetLinearVelocity().y > 0;
        if (touched)
            bounce = std::max(bounce, ball->GetPosition().y);
    }
    row[0] = bounce;
    row[1] = crate->GetPosition().x;
    row[2] = bob->GetAngle();
}

// The generator as npksd expects it.
int runs(npksd_real *rows, std::size_t count, std::size_t m, npksd_rng *rng, void *user_data)
{
    for (std::size_t r = 0; r < count; r++)
        run_bench(*static_cast<const Build *>(user_data), rng, rows + r * m);
    return 0;
}

bool failed(npksd_status status, const char *what)
{
    if (status != NPKSD_OK)
        std::fprintf(stderr, "box2d: %s: %s\n", what, npksd_status_string(status));
    return status != NPKSD_OK;
}

} // namespace

int main()
{
    Build release = { "release", 0.5f, 0.5f, 60, { false, false, false } };
    Build builds[] = { { "rebuilt", 0.5f, 0.5f, 60, { false, false, false } },
                       { "bouncy", 0.53f, 0.5f, 60, { true, false, false } },
                       { "slippery", 0.5f, 0.43f, 60, { false, true, false } },
                       { "coarse", 0.5f, 0.5f, 30, { true, false, false } } };
    npksd_options options = npksd_default_options();
    options.fit_rows = 800; // few: a run takes 0.1 ms, and this is an example
    options.pilot = 40;
    options.replicates = 99;
    options.diagnose = 1;
    int wrong = 0;

    // How many runs must we record to notice the slippery build?
    for (std::size_t n = 10; n <= RUNS; n *= 2) {
        npksd_power_result power;
        if (failed(npksd_power(n, COLUMNS, runs, &release, runs, &builds[2], &options, 40, &power), "power"))
            return 1;
        std::printf("%3zu runs: the slippery build is noticed in %3.0f %% of recordings (%.0f to %.0f)\n", n,
                    100 * power.power, 100 * power.low, 100 * power.high);
    }

    // A tester of the release. In a real project it is saved with npksd_tester_save, and the nightly job only does what
    // follows: record, check.
    npksd_tester *tester;
    if (failed(npksd_tester_create(&tester, RUNS, COLUMNS, runs, &release, &options), "create")
        || failed(npksd_tester_step(tester, SIZE_MAX), "step"))
        return 1;
    for (Build &build : builds) {
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 2027, 0); // not the tester's own seed
        std::vector<npksd_real> rows(RUNS * COLUMNS), p(COLUMNS), shift(COLUMNS);
        runs(rows.data(), RUNS, COLUMNS, &rng, &build);
        npksd_result result;
        npksd_diagnosis why = npksd_diagnosis();
        why.coordinate_p_adjusted = p.data();
        why.coordinate_shift = shift.data();
        if (failed(npksd_tester_check(tester, rows.data(), &result, &why), "check"))
            return 1;
        std::printf("%-9s p = %.3f  %s", build.name, result.p_value, result.reject ? "rejected:" : "passes");
        for (std::size_t i = 0; i < COLUMNS; i++) {
            bool differs = result.reject && p[i] <= options.alpha;
            if (differs)
                std::printf(" %s (%+.2f sd)", NAMES[i], shift[i]);
            wrong += differs != build.differs[i];
        }
        std::printf("\n");
    }
    npksd_tester_destroy(tester);
    return wrong != 0;
}
