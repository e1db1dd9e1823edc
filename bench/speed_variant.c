/*
 * One build of npksd.h for speed.c: VARIANT is its symbol, VARIANT_NAME and VARIANT_FLAGS say what it is.
 * VARIANT_OTHER: npksd.h is of another commit, of which only the public calls are known.
 */
#include "speed.h"

static speed_run run_test(const speed_shape *shape)
{
    npksd_options o = speed_options(shape);
    npksd_real *observed = speed_rows(shape->n, shape->m);
    npksd_tester *tester;
    npksd_result result;
    speed_run run;
    double start = bench_cpu();
    bench_must("create", npksd_tester_create(&tester, shape->n, shape->m, speed_draw, NULL, &o));
    bench_must("prepare", npksd_tester_prepare(tester));
    double prepared = bench_cpu();
    bench_must("step", npksd_tester_step(tester, (size_t)-1));
    run.data_set = (bench_cpu() - prepared) / (double)shape->b;
    bench_must("check", npksd_tester_check(tester, observed, &result, NULL));
    npksd_tester_destroy(tester);
    run.whole = bench_cpu() - start;
    run.statistic = (double)result.statistic;
    free(observed);
    return run;
}

#ifdef VARIANT_OTHER
const speed_variant VARIANT = { VARIANT_NAME, BENCH_COMPILER " `" VARIANT_FLAGS "`", run_test, NULL, NULL };
#else
#include "peers.h"

/* ======== the floor: nothing but the operations, on numbers that are in cache ======== */

/* built as the hot loops of npksd.h are */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__AVX2__) \
    && !defined(NPKSD_NO_DISPATCH)
#define FLOOR_HOT static __attribute__((target_clones("avx2", "default")))
#else
#define FLOOR_HOT static
#endif

enum { T = NPKSDI_T, VALUES = 64 * T, EDGES = 128, CODES = 257 };

typedef struct room {
    size_t n, m;
    npksd_real *x, *out; /* n x m or m x n in panels of T rows; products */
    npksd_real values[4 * VALUES], made[2 * VALUES], scores[CODES]; /* values: -4 to 0 */
    uint32_t counts[CODES + 1], below[CODES + 1];
    npksd_rng rng;
} room;

static npksd_real floor_draws(room *r)
{
    speed_draw(r->x, r->n, r->m, &r->rng, NULL);
    return r->x[0];
}

/* products: three a pair of rows, 16 angles a row, one a pair of columns */
#ifdef NPKSD_USE_CBLAS
static npksd_real floor_products(room *r)
{
    int n = (int)r->n, m = (int)r->m;
    for (int k = 0; k < 3; k++)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, m, 1, r->x, m, 0, r->out, n);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, T, m, 1, r->x, m, r->x, m, 0, r->out, T);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, m, n, 1, r->x, m, 0, r->out, m);
    return r->out[0];
}
#else
typedef npksd_real four __attribute__((vector_size(4 * sizeof(npksd_real)), aligned(sizeof(npksd_real))));

/* rows a ... a + 3 against b ... b + 7, in panels of T rows as long as terms, with sums in registers */
FLOOR_HOT void floor_tile(room *r, size_t a, size_t b, size_t terms)
{
    const npksd_real *x = r->x + a / T * T * terms + a % T, *y = r->x + b / T * T * terms + b % T;
    four p0 = { 0 }, p1 = p0, p2 = p0, p3 = p0, q0 = p0, q1 = p0, q2 = p0, q3 = p0;
    for (size_t j = 0; j < terms; j++, x += T, y += T) {
        four p = *(const four *)y, q = *(const four *)(y + 4);
        p0 += x[0] * p, q0 += x[0] * q, p1 += x[1] * p, q1 += x[1] * q;
        p2 += x[2] * p, q2 += x[2] * q, p3 += x[3] * p, q3 += x[3] * q;
    }
    *(four *)r->out = (p0 + p1) + (p2 + p3) + (q0 + q1) + (q2 + q3);
}

static npksd_real floor_products(room *r)
{
    for (size_t a = 0; a < r->n; a += 4) {
        for (size_t b = 0; b <= a; b += 8)
            for (int k = 0; k < 3; k++)
                floor_tile(r, a, b, r->m);
        for (size_t k = 0; k < T; k += 8)
            floor_tile(r, a, k, r->m);
    }
    for (size_t c = 0; c < r->m; c += 4)
        for (size_t d = 0; d <= c; d += 8)
            floor_tile(r, c, d, r->n);
    return r->out[0];
}
#endif

FLOOR_HOT npksd_real floor_exps(room *r)
{
    for (size_t k = 0; k < r->n * (r->n - 1) / 2; k += T)
        for (size_t l = 0; l < T; l++)
            r->made[k % VALUES + l] = npksdi_exp_core(r->values[k % VALUES + l]);
    return r->made[0];
}

FLOOR_HOT npksd_real floor_pairs(room *r)
{
    npksd_real wide[T] = { 0 }, stein[T] = { 0 }, mirror[T] = { 0 }, narrow[T] = { 0 }, moment[T] = { 0 };
    for (size_t k = 0; k < r->n * (r->n - 1) / 2; k += T) {
        const npksd_real *G = r->values + k % VALUES, *A = G + VALUES, *P = A + VALUES, *ends = P + VALUES;
        for (size_t l = 0; l < T; l++) {
            npksd_real C = ends[l] - (P[l] - A[l] - G[l]), D = ends[l] - 2 * G[l];
            npksd_real k1 = r->made[k % VALUES + l], k2 = k1 * k1, k4 = k2 * k2, k8 = k4 * k4;
            npksd_real k16 = k8 * k8, k32 = k16 * k16, k64 = k32 * k32;
            wide[l] += k2 * ((A[l] - 4 * D) + (1 - 2 * C));
            stein[l] += k8 * ((A[l] - 64 * D) + (8 + 8 * C));
            mirror[l] += k8 * ((A[l] - 64 * D) + (8 - 8 * C));
            narrow[l] += k64 * ((A[l] - 4096 * D) + (64 + 64 * C));
            moment[l] += A[l] * (1 + 2 * G[l]);
        }
    }
    return wide[0] + stein[1] + mirror[2] + narrow[3] + moment[4];
}

FLOOR_HOT npksd_real floor_sines(room *r)
{
    npksd_real sine[T], cosine[T];
    for (size_t k = 0; k < r->n * T; k += T) {
        for (size_t l = 0; l < T; l++)
            npksdi_sincos(r->values[k % VALUES + l], sine + l, cosine + l);
        memcpy(r->made + k % VALUES, sine, sizeof sine);
        memcpy(r->made + VALUES + k % VALUES, cosine, sizeof cosine);
    }
    return r->made[0];
}

/* four sums and differences of each angle, once and doubled */
FLOOR_HOT npksd_real floor_waves(room *r)
{
    npksd_real sums[4][8][T] = { { { 0 } } };
    for (size_t k = 0; k < 4 * r->n; k++) {
        const npksd_real *s = r->made + k / 4 * T % (VALUES - T), *c = s + VALUES, *s2 = s + k % 4, *c2 = c + k % 4;
        npksd_real (*sum)[T] = sums[k % 4];
        for (size_t l = 0; l < T; l++) {
            npksd_real cc = c[l] * c2[l], ss = s[l] * s2[l], sc = s[l] * c2[l], cs = c[l] * s2[l];
            npksd_real plus_c = cc - ss, plus_s = sc + cs, minus_c = cc + ss, minus_s = sc - cs;
            sum[0][l] += plus_c;
            sum[1][l] += plus_s;
            sum[2][l] += minus_c;
            sum[3][l] += minus_s;
            sum[4][l] += (plus_c - plus_s) * (plus_c + plus_s);
            sum[5][l] += 2 * plus_c * plus_s;
            sum[6][l] += (minus_c - minus_s) * (minus_c + minus_s);
            sum[7][l] += 2 * minus_c * minus_s;
        }
    }
    return sums[0][0][0] + sums[3][7][T - 1];
}

/* the scores, in order, serve as edges */
static npksd_real floor_codes(room *r)
{
    for (size_t i = 0; i < r->n * r->m; i++) {
        size_t place = 0;
        for (size_t step = EDGES / 2; step > 0; step /= 2)
            place += step * (size_t)(r->scores[place + step - 1] < r->x[i]);
        place += (size_t)(r->scores[place] < r->x[i]);
        r->counts[2 * place]++;
        r->made[i % VALUES] = r->scores[2 * place];
    }
    return r->made[0];
}

FLOOR_HOT npksd_real floor_columns(room *r)
{
    npksd_real lanes[4][T] = { { 0 } }, here[T], there[T];
    for (size_t i = 0; i < r->m; i++) {
        uint32_t before = 0;
        for (size_t c = 0; c < CODES - 1; c += T)
            for (size_t l = 0; l < T; l++) {
                npksd_real q = r->scores[c + l], count = (npksd_real)(int)r->counts[c + l];
                lanes[0][l] += count * q;
                lanes[1][l] += count * (q * q);
                lanes[2][l] += count * (q * q * (q * q - 6));
            }
        for (size_t c = 0; c < CODES; c++)
            r->below[c] = before += r->counts[c];
        for (size_t k = 0; k < EDGES; k += T) {
            for (size_t l = 0; l < T; l++) { /* two places each, of the data set and of the reference */
                size_t c = r->counts[k + l] % CODES;
                here[l] = (npksd_real)(int)(r->below[c] + r->below[c + 1]);
                there[l] = (npksd_real)(int)(r->counts[c] + r->counts[c + 1] + 1);
            }
            for (size_t l = 0; l < T; l++) {
                npksd_real F = there[l] * r->values[0], apart = here[l] * r->values[1] - F;
                lanes[3][l] += apart * apart / (F * (1 - F));
            }
        }
    }
    return lanes[0][0] + lanes[1][1] + lanes[2][2] + lanes[3][3];
}

static void measure_floor(size_t n, size_t m, double seconds[FLOORS])
{
    static npksd_real (*const part_fns[FLOORS])(room *) = { floor_draws, floor_products, floor_exps, floor_pairs,
                                                            floor_sines, floor_waves, floor_codes, floor_columns };
    static volatile npksd_real sink; /* so that nothing is left out */
    size_t padded = (n + T) * (m + T), products = (n + m + T) * (n + m + T);
    room *r = (room *)bench_alloc(1, sizeof *r);
    npksd_rng_state state;
    r->n = n;
    r->m = m;
    r->x = (npksd_real *)bench_alloc(padded + products, sizeof *r->x);
    r->out = r->x + padded;
    r->rng = npksd_rng_seeded(&state, 3, 3);
    for (size_t i = 0; i < 4 * VALUES; i++)
        r->values[i] = -4 * npksd_uniform(&r->rng);
    for (size_t i = 0; i < CODES; i++)
        r->scores[i] = (npksd_real)i / 32 - 2;
    for (int k = 0; k < FLOORS; k++)
        for (int round = 0; round < 7; round++) { /* the first one warms up */
            size_t sets = 0;
            double start = bench_cpu(), spent = 0;
            for (; spent < 3e-3; spent = bench_cpu() - start)
                for (int again = 0; again < 8; again++, sets++)
                    sink = sink + part_fns[k](r);
            spent /= (double)sets;
            seconds[k] = round < 2 || spent < seconds[k] ? spent : seconds[k];
        }
    free(r->x);
    free(r);
}

/* as many permutations as the test has replicates, 10 n synthetic rows */
static void run_peers(const speed_shape *shape, double seconds[2])
{
    npksd_real *rows = speed_rows(11 * shape->n, shape->m);
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 8, 8);
    peer_answer answer;
    peer_kernel_tests(rows, shape->n, 11 * shape->n, shape->m, 0.1, shape->b, &rng, &answer);
    seconds[0] = answer.seconds[PEER_MMDAGG];
    seconds[1] = answer.seconds[PEER_FUSE];
    free(rows);
}

const speed_variant VARIANT = { VARIANT_NAME, BENCH_COMPILER " `" VARIANT_FLAGS "`", run_test, measure_floor,
                                run_peers };
#endif
