/* Random words bit by bit; uniform and normal numbers by their distribution. */
#include "ref_tester.h"

/* Bounds are 5.5 standard errors or more: a right generator fails one seed in some million. */
#define SIGMAS 5.5

enum { DRAWS = 1000000 };

/* ======== words ======== */

TEST reference_words_are_threefry(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "threefry");
    for (size_t c = 0; c < cases; c++) {
        if (strcmp(vectors_word(&v, "case"), "block") == 0) {
            uint64_t key[2], counter[2], out[2];
            key[0] = vectors_hex(&v, "k0"), key[1] = vectors_hex(&v, "k1");
            counter[0] = vectors_hex(&v, "c0"), counter[1] = vectors_hex(&v, "c1");
            ref_threefry(key[0], key[1], counter[0], counter[1], out);
            ASSERT_EQ(vectors_hex(&v, "w0"), out[0]);
            ASSERT_EQ(vectors_hex(&v, "w1"), out[1]);
            continue;
        }
        uint64_t seed = vectors_hex(&v, "seed"), stream = vectors_hex(&v, "stream");
        uint64_t first = vectors_hex(&v, "first"), words[4];
        vectors_word(&v, "words");
        for (size_t k = 0; k < 4; k++) {
            words[k] = (uint64_t)strtoumax(vectors_next(&v), NULL, 16);
            ASSERT_EQ(words[k], ref_word(seed, stream, first + k));
        }
        vectors_word(&v, "uniform53");
        for (size_t k = 0; k < 4; k++) {
            double u = strtod(vectors_next(&v), NULL);
            ASSERT(FLOAT_BUILD || agree("uniform53", u, ref_uniform(words[k]), 0));
        }
        vectors_word(&v, "uniform24");
        for (size_t k = 0; k < 4; k++) {
            double u = strtod(vectors_next(&v), NULL);
            ASSERT(!FLOAT_BUILD || agree("uniform24", u, ref_uniform(words[k]), 0));
        }
    }
    vectors_close(&v);
    PASS();
}

/* The stored streams through the public interface; one of them starts too far away to walk to. */
TEST stored_streams(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "threefry"), seen = 0;
    for (size_t c = 0; c < cases; c++) {
        if (strcmp(vectors_word(&v, "case"), "block") == 0) {
            vectors_hex(&v, "k0"), vectors_hex(&v, "k1"), vectors_hex(&v, "c0");
            vectors_hex(&v, "c1"), vectors_hex(&v, "w0"), vectors_hex(&v, "w1");
            continue;
        }
        uint64_t seed = vectors_hex(&v, "seed"), stream = vectors_hex(&v, "stream");
        uint64_t first = vectors_hex(&v, "first");
        npksd_rng_state state, half_state;
        npksd_rng rng = npksd_rng_seeded(&state, seed, stream), half = rng;
        int near_enough = first < 100000;
        for (uint64_t k = 0; near_enough && k < first; k++)
            rng.next_fn(rng.user_data);
        half_state = state;
        half.user_data = &half_state;
        vectors_word(&v, "words");
        for (size_t k = 0; k < 4; k++) {
            uint64_t word = (uint64_t)strtoumax(vectors_next(&v), NULL, 16);
            ASSERT(!near_enough || rng.next_fn(rng.user_data) == word);
        }
        vectors_word(&v, "uniform53");
        for (int precision = 53; precision >= 24; precision -= 29) {
            if (precision == 24)
                vectors_word(&v, "uniform24");
            for (size_t k = 0; k < 4; k++) {
                double u = strtod(vectors_next(&v), NULL);
                if (near_enough && precision == (FLOAT_BUILD ? 24 : 53))
                    ASSERT_AGREE("uniform", u, npksd_uniform(&half), 0);
            }
        }
        seen += (size_t)near_enough;
    }
    vectors_close(&v);
    ASSERT_GTE(seen, 10);
    PASS();
}

TEST words_of_any_seed_and_stream(void)
{
    npksd_rng_state state, pick_state;
    npksd_rng pick = npksd_rng_seeded(&pick_state, test_seed, 1);
    for (size_t c = 0; c < 40; c++) {
        uint64_t seed = pick.next_fn(pick.user_data), stream = pick.next_fn(pick.user_data);
        seed = c < 4 ? 0 - (uint64_t)(c & 1) : seed; /* 0 and the largest are seeds as any other */
        stream = c < 4 ? 0 - (uint64_t)(c >> 1) : stream;
        npksd_rng rng = npksd_rng_seeded(&state, seed, stream);
        for (uint64_t k = 0; k < 67; k++)
            ASSERT_EQ(ref_word(seed, stream, k), rng.next_fn(rng.user_data));
    }
    PASS();
}

TEST seek_goes_to_the_start(void)
{
    npksd_rng_state state, fresh_state;
    for (uint64_t before = 0; before < 20; before++) { /* from every place of a block of words */
        npksd_rng rng = npksd_rng_seeded(&state, test_seed, 3);
        for (uint64_t k = 0; k < before; k++)
            rng.next_fn(rng.user_data);
        static const uint64_t streams[4] = { 3, 4, UINT64_C(6) << 56, 3 };
        for (size_t s = 0; s < 4; s++) {
            npksd_rng fresh = npksd_rng_seeded(&fresh_state, test_seed, streams[s]);
            rng.seek_fn(streams[s], rng.user_data);
            for (uint64_t k = 0; k < before + 3; k++)
                ASSERT_EQ(fresh.next_fn(fresh.user_data), rng.next_fn(rng.user_data));
        }
    }
    PASS();
}

TEST streams_differ(void)
{
    enum { SEEDS = 8, STREAMS = 64 };
    uint64_t first[SEEDS * STREAMS];
    npksd_rng_state state;
    for (size_t c = 0; c < SEEDS * STREAMS; c++) {
        npksd_rng rng = npksd_rng_seeded(&state, c / STREAMS, c % STREAMS);
        first[c] = rng.next_fn(rng.user_data);
        for (size_t k = 0; k < c; k++)
            ASSERT_NEQ(first[k], first[c]);
    }
    PASS();
}

/* Each of the 64 bits, and each pair of neighbours (bits 63 and 0 of the next word included). */
TEST bits_are_even(uint64_t seed)
{
    enum { WORDS = 100000 };
    size_t ones[64] = { 0 }, equal[64] = { 0 };
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 11);
    uint64_t last = rng.next_fn(rng.user_data);
    for (size_t k = 0; k < WORDS; k++) {
        uint64_t word = rng.next_fn(rng.user_data), shifted = word << 1 | last >> 63;
        for (size_t bit = 0; bit < 64; bit++) {
            ones[bit] += word >> bit & 1;
            equal[bit] += ~(word ^ shifted) >> bit & 1;
        }
        last = word;
    }
    for (size_t bit = 0; bit < 64; bit++) {
        ASSERT_AGREE("ones", WORDS / 2.0, ones[bit], SIGMAS * sqrt(WORDS / 4.0));
        ASSERT_AGREE("equal neighbours", WORDS / 2.0, equal[bit], SIGMAS * sqrt(WORDS / 4.0));
    }
    PASS();
}

/* ======== uniform ======== */

typedef struct fixed_words {
    uint64_t words[4];
    size_t next;
} fixed_words;

static uint64_t fixed_next(void *user_data)
{
    fixed_words *list = (fixed_words *)user_data;
    return list->words[list->next++ % 4];
}

static npksd_rng fixed_rng(fixed_words *list)
{
    npksd_rng rng;
    memset(&rng, 0, sizeof rng);
    memset(list, 0, sizeof *list);
    rng.next_fn = fixed_next;
    rng.user_data = list;
    return rng;
}

TEST uniform_takes_the_top_bits(void)
{
    fixed_words list;
    npksd_rng rng = fixed_rng(&list);
    unsigned bits = FLOAT_BUILD ? 24 : 53;
    list.words[0] = 0;
    list.words[1] = UINT64_MAX;
    list.words[2] = UINT64_C(1) << 63;
    list.words[3] = UINT64_C(1) << (64 - bits);
    ASSERT_AGREE("smallest", 0, npksd_uniform(&rng), 0);
    npksd_real most = npksd_uniform(&rng);
    ASSERT_AGREE("largest", 1 - ldexp(1, -(int)bits), most, 0);
    ASSERT_LT(most, 1);
    ASSERT_AGREE("half", 0.5, npksd_uniform(&rng), 0);
    ASSERT_AGREE("last bit", ldexp(1, -(int)bits), npksd_uniform(&rng), 0);
    PASS();
}

TEST uniform_distribution(uint64_t seed)
{
    enum { BINS = 1000 };
    static size_t bins[BINS];
    double sum = 0, square = 0, product = 0, last = 0.5, chi2 = 0, distance = 0, below = 0;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 12);
    memset(bins, 0, sizeof bins);
    for (size_t k = 0; k < DRAWS; k++) {
        double u = (double)npksd_uniform(&rng);
        ASSERT(u >= 0 && u < 1);
        sum += u;
        square += (u - 0.5) * (u - 0.5);
        product += (u - 0.5) * (last - 0.5);
        bins[(size_t)(u * BINS)]++;
        last = u;
    }
    for (size_t k = 0; k < BINS; k++) {
        double expected = (double)DRAWS / BINS;
        chi2 += pow((double)bins[k] - expected, 2) / expected;
        below += (double)bins[k];
        distance = fmax(distance, fabs(below / DRAWS - (double)(k + 1) / BINS));
    }
    ASSERT_AGREE("mean", 0.5, sum / DRAWS, SIGMAS * sqrt(1.0 / 12 / DRAWS));
    ASSERT_AGREE("variance", 1.0 / 12, square / DRAWS, SIGMAS * sqrt(1.0 / 180 / DRAWS));
    ASSERT_AGREE("neighbours", 0, product / DRAWS, SIGMAS / 12 / sqrt((double)DRAWS));
    ASSERT_AGREE("chi-square", BINS - 1, chi2, 6 * sqrt(2.0 * BINS));
    ASSERT_AGREE("Kolmogorov", 0, distance, 2.7 / sqrt((double)DRAWS)); /* beyond: 1e-6 */
    PASS();
}

/* ======== normal ======== */

enum { LAYERS = 64 };

/* Edges below x_1 = start, all layers of the area of the lowest one, which has the tail in it:
   x_0 = area / exp(-x_1^2/2). Returns what is missing to the height 1 at the top. */
static double ziggurat_from(double start, double *edge)
{
    double area = start * exp(-start * start / 2) + sqrt(2 * atan(1.0)) * erfc(start / sqrt(2.0));
    double height = exp(-start * start / 2);
    edge[0] = area / height;
    edge[1] = start;
    for (size_t k = 1; k < LAYERS; k++) {
        height += area / edge[k];
        edge[k + 1] = height < 1 ? sqrt(-2 * log(height)) : 0;
        if (height >= 1 && k + 1 < LAYERS)
            return -1; /* closed too early */
    }
    return 1 - height;
}

static void ziggurat_edges(double *edge)
{
    double low = 2, high = 4; /* of x_1: the further out, the thinner the layers */
    for (int step = 0; step < 100; step++) {
        double middle = (low + high) / 2;
        *(ziggurat_from(middle, edge) < 0 ? &low : &high) = middle;
    }
    ziggurat_from(high, edge);
    edge[LAYERS] = 0;
}

/* Bits 0-5 of a word are the layer, bit 6 the sign, the top bits the position in it. */
TEST normal_uses_the_bits_of_a_word(void)
{
    double edge[LAYERS + 1];
    ziggurat_edges(edge);
    for (uint64_t layer = 0; layer < LAYERS - 1; layer++) /* the topmost has no safe part */
        for (uint64_t sign = 0; sign < 2; sign++) {
            double ratio = edge[layer + 1] / edge[layer],
                   u = ldexp(floor(ldexp(ratio / 2, 20)), -20);
            fixed_words list;
            npksd_rng rng = fixed_rng(&list);
            list.words[0] = (uint64_t)ldexp(u, 20) << 44 | sign << 6 | layer;
            double x = (double)npksd_normal(&rng);
            ASSERT_AGREE("inside the layer", (sign ? -u : u) * edge[layer], x, either(1e-13, 1e-6));
            ASSERT_EQ_FMT((size_t)1, list.next, "%zu");
        }
    PASS();
}

/* Beyond the safe part of a layer a second word decides: under the curve (height 0) or above it. */
TEST normal_wedge_and_tail(void)
{
    double edge[LAYERS + 1];
    ziggurat_edges(edge);
    for (uint64_t layer = 1; layer < LAYERS; layer++) {
        double ratio = edge[layer + 1] / edge[layer], u = (1 + ratio) / 2, x = u * edge[layer];
        double low = exp(-edge[layer] * edge[layer] / 2);
        double high = exp(-edge[layer + 1] * edge[layer + 1] / 2);
        double curve = (exp(-x * x / 2) - low) / (high - low);
        for (int above = 0; above < 2; above++) {
            fixed_words list;
            npksd_rng rng = fixed_rng(&list);
            double height = curve + (above ? 1e-3 : -1e-3);
            list.words[0] = (uint64_t)ldexp(u, 52) << 12 | layer;
            list.words[1] = (uint64_t)ldexp(height, 52) << 12;
            list.words[2] = UINT64_C(1) << 62 | 32; /* a quarter of layer 32: safe */
            double got = (double)npksd_normal(&rng);
            ASSERT_AGREE("wedge", above ? edge[32] / 4 : x, got, either(1e-10, 1e-5));
        }
    }
    /* layer 0 beyond x_1: the tail, x = x_1 - log(1-u)/x_1 if -2 log(1-v) >= (log(1-u)/x_1)^2 */
    fixed_words list;
    npksd_rng rng = fixed_rng(&list);
    list.words[0] = UINT64_MAX << 11 | 64; /* negative */
    list.words[1] = list.words[2] = UINT64_C(1) << 63;
    ASSERT_AGREE("tail", -(edge[1] + log(2.0) / edge[1]), npksd_normal(&rng), either(1e-11, 1e-5));
    PASS();
}

static double normal_cdf(double x) { return erfc(-x / sqrt(2.0)) / 2; }

TEST normal_moments(uint64_t seed)
{
    double power[5] = { 0 }, product = 0, last = 0;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 13);
    for (size_t k = 0; k < DRAWS; k++) {
        double x = (double)npksd_normal(&rng);
        for (int p = 1; p < 5; p++)
            power[p] += pow(x, p) / DRAWS;
        product += x * last / DRAWS;
        last = x;
    }
    double unit = SIGMAS / sqrt((double)DRAWS);
    ASSERT_AGREE("mean", 0, power[1], unit);
    ASSERT_AGREE("variance", 1, power[2], unit * sqrt(2.0));
    ASSERT_AGREE("third moment", 0, power[3], unit * sqrt(15.0));
    ASSERT_AGREE("fourth moment", 3, power[4], unit * sqrt(96.0));
    ASSERT_AGREE("neighbours", 0, product, unit);
    PASS();
}

enum { TAILS = 5, EDGES = 3 * (LAYERS - 1) + TAILS + 1 };

/* Edges of bins on one side: 0, every layer in three parts (safe part, wedge on its two sides),
   and the tail, where a draw of the generator has a method of its own. */
static void normal_bins(double *edges)
{
    static const double tail[TAILS] = { 0, 3.55, 3.7, 3.9, 4.2 }; /* the first is x_1 */
    double edge[LAYERS + 1];
    size_t count = 0;
    ziggurat_edges(edge);
    edges[count++] = 0;
    for (size_t k = LAYERS - 1; k > 0; k--)
        for (int part = 1; part <= 3 && (k > 1 || part < 3); part++) /* x_1 comes with the tail */
            edges[count++] = edge[k + 1] + (edge[k] - edge[k + 1]) * part / 3;
    for (size_t k = 0; k < TAILS; k++)
        edges[count++] = k ? tail[k] : edge[1];
    while (count < EDGES)
        edges[count++] = 1e9;
}

/* Chi-square over those bins, both signs, and the largest distance of the two functions. */
TEST normal_distribution(uint64_t seed)
{
    static size_t seen[2][EDGES];
    double edges[EDGES], chi2 = 0, distance = 0, below = 0, used = 0;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 14);
    memset(seen, 0, sizeof seen);
    normal_bins(edges);
    for (size_t k = 0; k < 2 * DRAWS; k++) {
        double x = (double)npksd_normal(&rng), size = fabs(x);
        size_t low = 0, high = EDGES - 1;
        while (high - low > 1) {
            size_t middle = (low + high) / 2;
            *(edges[middle] <= size ? &low : &high) = middle;
        }
        seen[x < 0][low]++;
    }
    for (size_t side = 0; side < 2; side++)
        for (size_t k = 0; k + 1 < EDGES; k++) {
            double share = normal_cdf(-edges[k]) - normal_cdf(-edges[k + 1]);
            double expected = 2.0 * DRAWS * share;
            if (expected < 5)
                continue; /* the last, empty one */
            chi2 += pow((double)seen[side][k] - expected, 2) / expected;
            used++;
        }
    for (size_t k = EDGES - 1; k-- > 0;) { /* from the far left to 0 */
        below += (double)seen[1][k];
        distance = fmax(distance, fabs(below / (2.0 * DRAWS) - normal_cdf(-edges[k])));
    }
    for (size_t k = 0; k + 1 < EDGES; k++) {
        below += (double)seen[0][k];
        distance = fmax(distance, fabs(below / (2.0 * DRAWS) - normal_cdf(edges[k + 1])));
    }
    ASSERT_GT(used, 2 * (EDGES - 4));
    ASSERT_AGREE("chi-square", used - 1, chi2, 6 * sqrt(2 * used));
    ASSERT_AGREE("Kolmogorov", 0, distance, 2.7 / sqrt(2.0 * DRAWS));
    PASS();
}

/* The tail in detail: how many beyond 3.21, and their mean excess. */
TEST normal_tail(uint64_t seed)
{
    double start = 3.2136576271588955, beyond = 0, excess = 0, negative = 0;
    double share = 2 * normal_cdf(-start), draws = 2.0 * DRAWS;
    double mean = 2 * exp(-start * start / 2) / sqrt(8 * atan(1.0)) / share - start;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 15);
    for (size_t k = 0; k < 2 * DRAWS; k++) {
        double x = (double)npksd_normal(&rng);
        if (fabs(x) > start) {
            beyond++;
            negative += x < 0;
            excess += fabs(x) - start;
        }
    }
    ASSERT_AGREE("beyond the layers", draws * share, beyond, SIGMAS * sqrt(draws * share));
    ASSERT_AGREE("negative", beyond / 2, negative, SIGMAS * sqrt(beyond) / 2);
    ASSERT_AGREE("mean excess", mean, excess / beyond, SIGMAS * mean / sqrt(beyond));
    PASS();
}

SUITE(suite_rng)
{
    RUN_TEST(reference_words_are_threefry);
    RUN_TEST(stored_streams);
    RUN_TEST(words_of_any_seed_and_stream);
    RUN_TEST(seek_goes_to_the_start);
    RUN_TEST(streams_differ);
    RUN_TEST(uniform_takes_the_top_bits);
    RUN_TEST(normal_uses_the_bits_of_a_word);
    RUN_TEST(normal_wedge_and_tail);
    for (int zero = 0; zero < 2; zero++) {
        uint64_t seed = zero ? 0 : test_seed; /* seed 0 is as good as any */
        const char *suffix = zero ? "seed_0" : NULL;
        greatest_set_test_suffix(suffix);
        RUN_TESTp(bits_are_even, seed);
        greatest_set_test_suffix(suffix);
        RUN_TESTp(uniform_distribution, seed);
        greatest_set_test_suffix(suffix);
        RUN_TESTp(normal_moments, seed);
        greatest_set_test_suffix(suffix);
        RUN_TESTp(normal_distribution, seed);
        greatest_set_test_suffix(suffix);
        RUN_TESTp(normal_tail, seed);
    }
}
