/* npksd_statistic against stored answers and against plain loops. */
#include "ref_tester.h"

/* An error is measured against the mean |u| over the pairs: the sum itself may cancel. exp(-87) is
   the smallest kernel value of a float build. */
static double statistic_bound(double magnitude)
{
    return either(1e-9, 2e-4) * magnitude + either(0, 1e-35);
}

static npksd_options statistic_options(const ref_data *data, int statistic, double bandwidth)
{
    npksd_options options = npksd_default_options();
    options.kernel = data->kernel;
    options.form = data->form;
    options.statistic = statistic;
    options.bandwidth = (npksd_real)bandwidth;
    return options;
}

static ref_data no_data(size_t n, size_t m, int kernel, int form)
{
    ref_data data;
    memset(&data, 0, sizeof data);
    data.n = n;
    data.m = m;
    data.kernel = kernel;
    data.form = form;
    return data;
}

static double absolute_pair(const ref_data *data, size_t a, size_t b)
{
    return fabs(ref_stein_pair(data, a, b));
}

/* ======== stored answers ======== */

TEST stored_statistics(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "statistic");
    for (size_t c = 0; c < cases; c++) {
        static char name[64];
        snprintf(name, sizeof name, "%s %zu", vectors_word(&v, "case"), c);
        ref_data data = no_data(0, 0, 0, 0);
        data.n = vectors_size(&v, "n");
        data.m = vectors_size(&v, "m");
        data.kernel = vectors_kernel(&v);
        data.form = vectors_enum(&v, vectors_word(&v, "form"));
        int statistic = vectors_enum(&v, vectors_word(&v, "statistic"));
        double bandwidth = vectors_real(&v, "bandwidth");
        npksd_real scale = (npksd_real)vectors_real(&v, "scale"), out = 0;
        npksd_real *weights = vectors_array(&v, "weights", NULL);
        npksd_real *rows = vectors_array(&v, "rows", NULL);
        npksd_real *scores = vectors_array(&v, "scores", NULL);
        double answer = vectors_real(&v, "answer"), mirror = vectors_real(&v, "mirror");
        double bound = statistic_bound(vectors_real(&v, "magnitude"));
        npksd_options options = statistic_options(&data, statistic, bandwidth);
        options.scales = &scale;
        options.scale_count = 1;
        ASSERT_STATUSm(name, NPKSD_OK,
                       npksd_statistic(rows, scores, data.n, data.m, weights, &options, &out));
        ASSERT_AGREE(name, answer, out, bound);
        data.rows = rows;
        data.scores = scores;
        data.weights = weights;
        data.sigma2 = bandwidth * bandwidth * (double)scale;
        ASSERT_AGREE("reference", answer, ref_statistic(&data, statistic), bound);
        options.statistic = NPKSD_STATISTIC_V;
        for (size_t k = 0; k < data.n * data.m; k++)
            scores[k] = -scores[k];
        ASSERT_STATUSm(name, NPKSD_OK,
                       npksd_statistic(rows, scores, data.n, data.m, weights, &options, &out));
        ASSERT_AGREE("mirror", mirror, out, bound + statistic_bound(fabs(mirror)));
        free(weights);
        free(rows);
        free(scores);
    }
    vectors_close(&v);
    PASS();
}

/* Hands out words that npksd_normal turns into the numbers of a list: layer 0 of the ziggurat,
   which reaches from 0 to x_0 and is safe up to x_1 = 3.21. 16 frequencies have a stream of their own, in
   which their first coordinates come first. */
typedef struct chosen_normals {
    const npksd_real *list; /* count x m */
    size_t count, m, panel, next;
} chosen_normals;

static uint64_t chosen_next(void *user_data)
{
    chosen_normals *chosen = (chosen_normals *)user_data;
    size_t f = chosen->panel * 16 + chosen->next % 16, k = chosen->next / 16;
    double x = f < chosen->count ? (double)chosen->list[f * chosen->m + k] : 0;
    double u = fabs(x) / 3.500818427736489;
    int bits = FLOAT_BUILD ? 24 : 53;
    chosen->next++;
    return (uint64_t)(ldexp(u, bits) + 0.5) << (64 - bits) | (x < 0 ? 64 : 0);
}

static void chosen_seek(uint64_t stream, void *user_data)
{
    chosen_normals *chosen = (chosen_normals *)user_data;
    chosen->panel = (size_t)(stream - purpose(REF_FREQUENCIES, 0));
    chosen->next = 0;
}

TEST stored_features(void)
{
    vectors v;
    size_t cases = vectors_open(&v, "features"), matched = 0;
    for (size_t c = 0; c < cases; c++) {
        static char name[64];
        snprintf(name, sizeof name, "%s %zu", vectors_word(&v, "case"), c);
        ref_data data = no_data(0, 0, NPKSD_KERNEL_GAUSS, 0);
        data.n = vectors_size(&v, "n");
        data.m = vectors_size(&v, "m");
        data.form = vectors_enum(&v, vectors_word(&v, "form"));
        int statistic = vectors_enum(&v, vectors_word(&v, "statistic"));
        npksd_real scale = (npksd_real)vectors_real(&v, "scale"), out = 0;
        size_t count;
        npksd_real *weights = vectors_array(&v, "weights", NULL);
        npksd_real *rows = vectors_array(&v, "rows", NULL);
        npksd_real *scores = vectors_array(&v, "scores", NULL);
        npksd_real *omega = vectors_array(&v, "omega", &count);
        double answer = vectors_real(&v, "answer");
        double bound = statistic_bound(vectors_real(&v, "magnitude"));
        data.rows = rows;
        data.scores = scores;
        data.weights = weights;
        ASSERT_AGREE("reference", answer,
                     ref_features(&data, statistic, omega, count / data.m, (double)scale), bound);
        int possible = 1;
        for (size_t k = 0; k < count; k++)
            possible &= fabs((double)omega[k]) < 3.2;
        chosen_normals chosen = { NULL, 0, 0, SIZE_MAX, 0 };
        npksd_options options = statistic_options(&data, statistic, 1);
        chosen.list = omega;
        chosen.count = count / data.m;
        chosen.m = data.m;
        options.rng.next_fn = chosen_next;
        options.rng.seek_fn = chosen_seek;
        options.rng.user_data = &chosen;
        options.features = count / data.m;
        options.scales = &scale;
        options.scale_count = 1;
        if (possible) {
            ASSERT_STATUSm(name, NPKSD_OK,
                           npksd_statistic(rows, scores, data.n, data.m, weights, &options, &out));
            ASSERT_AGREE(name, answer, out, bound);
            ASSERT_EQ_FMT((count / data.m - 1) / 16, chosen.panel, "%zu");
        }
        matched += (size_t)possible;
        free(weights);
        free(rows);
        free(scores);
        free(omega);
    }
    vectors_close(&v);
    ASSERT_GTE(matched, cases / 2);
    PASS();
}

/* ======== against plain loops ======== */

/* How the rows lie; the scores are normal numbers that have nothing to do with them. */
enum { ROWS_NORMAL, ROWS_FAR, ROWS_TIED, ROWS_EQUAL, ROWS_KINDS };

static void random_problem(npksd_rng *rng, int kind, size_t n, size_t m, npksd_real *rows,
                           npksd_real *scores)
{
    npksd_real far_away = (npksd_real)either(1e6, 1e3); /* float keeps 1/16000 of a unit there */
    for (size_t a = 0; a < n; a++)
        for (size_t i = 0; i < m; i++) {
            npksd_real x = npksd_normal(rng);
            if (kind == ROWS_FAR)
                x += far_away * ((npksd_real)i - 1);
            if (kind == ROWS_TIED)
                x = (npksd_real)floor(2 * (double)x) / 2;
            rows[a * m + i] = kind == ROWS_EQUAL && a > 0 ? rows[i] : x;
            scores[a * m + i] = npksd_normal(rng);
        }
}

enum { WEIGHTS_NONE, WEIGHTS_UNEQUAL, WEIGHTS_ZEROS, WEIGHTS_KINDS };

static const npksd_real *random_weights(npksd_rng *rng, int kind, size_t m, npksd_real *weights)
{
    npksd_real sum = 0;
    for (size_t i = 0; i < m; i++) {
        weights[i] = npksd_uniform(rng) + (npksd_real)0.1;
        if (kind == WEIGHTS_ZEROS && i % 3 != 1 && m > 1)
            weights[i] = 0;
        sum += weights[i];
    }
    for (size_t i = 0; i < m; i++)
        weights[i] /= sum;
    return kind == WEIGHTS_NONE ? NULL : weights;
}

enum { MAX_N = 300, MAX_M = 40 };
static const size_t sizes_n[] = {
    1, 2, 3, 15, 16, 17, 31, 33, 100, 300
}; /* 16 x 16 rows and more */
static const size_t sizes_m[] = { 1, 2, 3, 16, 17, 40 };
enum { COUNT_N = sizeof sizes_n / sizeof sizes_n[0], COUNT_M = sizeof sizes_m / sizeof sizes_m[0] };

/* V, U and the yardstick mean |u| from one pass over the pairs. */
static void plain_statistics(const ref_data *data, double *V, double *U, double *magnitude)
{
    double n = (double)data->n, all = 0, diagonal = 0, size = 0;
    for (size_t a = 0; a < data->n; a++)
        for (size_t b = 0; b <= a; b++) { /* u is symmetric, as stored_statistics has shown */
            double u = ref_stein_pair(data, a, b);
            all += a == b ? u : 2 * u;
            size += a == b ? fabs(u) : 2 * fabs(u);
            diagonal += a == b ? u : 0;
        }
    *V = all / (n * n);
    *U = data->n > 1 ? (all - diagonal) / (n * (n - 1)) : 0;
    *magnitude = size / (n * n);
}

TEST random_statistics(int kernel, int form)
{
    static npksd_real rows[MAX_N * MAX_M], scores[MAX_N * MAX_M], given[MAX_M];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, (uint64_t)(20 + 2 * kernel + form));
    size_t turn = 0;
    for (size_t in = 0; in < COUNT_N; in++)
        for (size_t im = 0; im < COUNT_M; im++)
            for (int kind = 0; kind < ROWS_KINDS; kind++, turn++) {
                static const double widths[] = { 1, 0.3, 3, 1e-3, 1e3 };
                /* float: squared distances are known to 1e-7 of the rows' own squares */
                size_t n = sizes_n[in], m = sizes_m[im];
                if (n * m > 1700 && kind != (int)(turn / 4 % ROWS_KINDS))
                    continue; /* one kind is enough for the large ones: time */
                ref_data data = no_data(n, m, kernel, form);
                double narrowest = either(0, 0.2), V, U, magnitude;
                double width = fmax(narrowest, widths[turn % 5]) * sqrt((double)m);
                int weighting = (int)(turn / 5 % WEIGHTS_KINDS);
                random_problem(&rng, kind, n, m, rows, scores);
                data.rows = rows;
                data.scores = scores;
                data.weights = random_weights(&rng, weighting, m, given);
                npksd_options options = statistic_options(&data, NPKSD_STATISTIC_V, width);
                data.sigma2 = pow((double)options.bandwidth, 2);
                plain_statistics(&data, &V, &U, &magnitude);
                static char name[128];
                snprintf(name, sizeof name, "n %zu m %zu rows %d width %g weights %d", n, m, kind,
                         width, weighting);
                npksd_real out;
                double bound = statistic_bound(magnitude);
                ASSERT_STATUSm(name, NPKSD_OK,
                               npksd_statistic(rows, scores, n, m, data.weights, &options, &out));
                ASSERT_AGREE(name, V, out, bound);
                if (n == 1)
                    continue;
                options.statistic = NPKSD_STATISTIC_U;
                ASSERT_STATUSm(name, NPKSD_OK,
                               npksd_statistic(rows, scores, n, m, data.weights, &options, &out));
                ASSERT_AGREE(name, U, out, bound * (double)n / (double)(n - 1));
            }
    PASS();
}

/* Two rows, scores 0: U = exp(-r^2/2) (1 - r^2), nearly to the last place. */
TEST exponential_to_the_last_digits(void)
{
    npksd_options options = npksd_default_options();
    npksd_real rows[2] = { 0, 0 }, scores[2] = { 0, 0 }, found;
    options.statistic = NPKSD_STATISTIC_U;
    options.bandwidth = 1;
    for (int k = 1; k <= 800; k++) {
        rows[1] = (npksd_real)k / 128; /* to 6.25: r^2/2 has few digits, and the kernel is above exp(-20) */
        double r2 = (double)rows[1] * (double)rows[1], kernel = exp(-r2 / 2);
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, 2, 1, NULL, &options, &found));
        ASSERT_IN_RANGE(kernel * (1 - r2), (double)found, either(2e-14, 1e-6) * kernel * (1 + r2));
    }
    PASS();
}

/* Two rows at +-z, scores 1 and 0, frequency 1: V = (cos^2 z + (sin z + 2 cos z)^2) / 4. */
static npksd_status statistic_of_angle(double z, npksd_real *found)
{
    static const npksd_real one = 1;
    npksd_options options = npksd_default_options();
    npksd_real rows[2], scores[2] = { 1, 0 };
    chosen_normals chosen = { &one, 1, 1, SIZE_MAX, 0 };
    options.statistic = NPKSD_STATISTIC_V;
    options.bandwidth = 1;
    options.features = 1;
    options.rng.next_fn = chosen_next;
    options.rng.seek_fn = chosen_seek;
    options.rng.user_data = &chosen;
    rows[0] = (npksd_real)z;
    rows[1] = (npksd_real)-z;
    return npksd_statistic(rows, scores, 2, 1, NULL, &options, found);
}

TEST sine_to_the_last_digits(void)
{
    npksd_real found;
    for (int k = -800; k <= 800; k++) {
        double z = (double)k / 64;
        ASSERT_STATUS(NPKSD_OK, statistic_of_angle(z, &found));
        ASSERT_IN_RANGE((pow(cos(z), 2) + pow(sin(z) + 2 * cos(z), 2)) / 4, (double)found, either(1e-14, 3e-6));
    }
    PASS();
}

/* Angles end at 1e9 (float: 1e4), where quarter turns still fit an int. */
TEST sine_of_large_angles(void)
{
    npksd_real largest, larger;
    ASSERT_STATUS(NPKSD_OK, statistic_of_angle(either(1.001e9, 1.001e4), &largest));
    for (double factor = 2; factor < 1e6; factor *= 3) {
        ASSERT_STATUS(NPKSD_OK, statistic_of_angle(either(1e9, 1e4) * factor, &larger));
        ASSERT_AGREE("beyond", largest, larger, 0);
    }
    PASS();
}

/* scales: only the first counts, and it multiplies the square of the bandwidth. */
TEST first_scale_counts(int kernel)
{
    enum { N = 21, M = 3 };
    static const npksd_real scales[3] = { (npksd_real)0.3, 4, (npksd_real)0.125 };
    npksd_real rows[N * M], scores[N * M];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 30);
    random_problem(&rng, ROWS_NORMAL, N, M, rows, scores);
    for (size_t c = 0; c < 3; c++) {
        ref_data data = no_data(N, M, kernel, NPKSD_FORM_VECTOR);
        npksd_options options = statistic_options(&data, NPKSD_STATISTIC_V, 1.5);
        npksd_real out;
        options.scales = scales + c;
        options.scale_count = 3 - c;
        data.rows = rows;
        data.scores = scores;
        data.sigma2 = 2.25 * (double)scales[c];
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, M, NULL, &options, &out));
        ASSERT_AGREE("scale", ref_statistic(&data, NPKSD_STATISTIC_V), out,
                     statistic_bound(ref_mean_pair(&data, absolute_pair, NPKSD_STATISTIC_V)));
    }
    PASS();
}

/* Whatever the other options are, and be it nonsense: the statistic is a number of what it was given. */
TEST other_options_do_not_count(void)
{
    enum { N = 21, M = 3 };
    npksd_real rows[N * M], scores[N * M], out[2];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 34);
    random_problem(&rng, ROWS_NORMAL, N, M, rows, scores);
    for (int linear = 0; linear < 2; linear++) {
        npksd_options options = npksd_default_options(), odd;
        options.bandwidth = 2;
        options.features = linear ? 7 : 0;
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, M, NULL, &options, &out[0]));
        odd = options;
        odd.fit_rows = odd.replicates = odd.pilot = odd.block = 0;
        odd.resample = odd.degree = odd.basis = odd.stop_after = odd.summary_dim = SIZE_MAX;
        odd.alpha = odd.ridge = odd.smooth = not_a_number();
        odd.summary = odd.estimator = odd.calibration = odd.standardize = odd.diagnose = -1;
        odd.resample_redraw = odd.resample_distinct = 2;
        odd.components = 0;
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, M, NULL, &odd, &out[1]));
        ASSERT_MEM_EQ(&out[0], &out[1], sizeof out[0]);
    }
    PASS();
}

/* Far apart: kernels have a least value, which is the same for one that is made by squaring another. */
TEST least_kernel_is_the_same(npksd_real scale)
{
    npksd_options options = npksd_default_options();
    npksd_real rows[2] = { 0, 0 }, scores[2] = { 0, 0 }, own, squared;
    options.statistic = NPKSD_STATISTIC_U;
    for (rows[1] = 2; rows[1] < 1000; rows[1] *= 2) { /* r^2/2 = 2 ... 131072 */
        options.bandwidth = 1;
        options.scale_count = 0;
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, 2, 1, NULL, &options, &own));
        options.bandwidth = 1 / (npksd_real)sqrt((double)scale);
        options.scales = &scale;
        options.scale_count = 1;
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, 2, 1, NULL, &options, &squared));
        ASSERT_AGREE("squared", 1, (double)squared / (double)own, either(1e-12, 1e-4));
    }
    PASS();
}

/* Equal rows far out: |x|^2 - 2 x.y + |y|^2 is 0 but for its rounding, which may be below 0; the kernel is a number all
   the same. Every pair of rows in turn, so that every place of a tile has one. */
TEST equal_rows_far_out(int kernel)
{
    enum { N = 33, M = 3 };
    npksd_real rows[N * M], scores[N * M] = { 0 }, out;
    npksd_options options = npksd_default_options();
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 31);
    options.kernel = kernel;
    options.bandwidth = 1;
    for (size_t a = 1; a < N; a++)
        for (size_t b = 0; b < a; b++)
            for (size_t round = 0; round < 8; round++) { /* the rounding must not always be upwards */
                for (size_t i = 0; i < N * M; i++)
                    rows[i] = npksd_normal(&rng);
                for (size_t j = 0; j < M; j++)
                    rows[a * M + j] = rows[b * M + j] = (npksd_real)either(1e10, 1e6) * npksd_normal(&rng);
                ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, M, NULL, &options, &out));
            }
    PASS();
}

/* A row far out, the first or the last, costs the others no digits, however far: the plain sums. */
TEST row_far_out(int kernel)
{
    enum { N = 100, M = 2 };
    npksd_real rows[N * M], scores[N * M], out;
    const double away[] = { either(1e6, 300), either(1e10, 1e5), either(1e30, 1e8) };
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 35);
    ref_data data = no_data(N, M, kernel, NPKSD_FORM_VECTOR);
    npksd_options options = statistic_options(&data, NPKSD_STATISTIC_V, 1);
    data.rows = rows;
    data.scores = scores;
    data.sigma2 = 1;
    for (size_t k = 0; k < 6; k++) {
        double V, U, magnitude;
        random_problem(&rng, ROWS_NORMAL, N, M, rows, scores);
        rows[k % 2 ? (N - 1) * M : 0] = (npksd_real)away[k / 2];
        plain_statistics(&data, &V, &U, &magnitude);
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, M, NULL, &options, &out));
        ASSERT_AGREE("statistic", V, out, statistic_bound(magnitude));
    }
    PASS();
}

/* Scores times bandwidth and rows over bandwidth are squared: right, or NPKSD_ERROR_NUMERIC, never clamped. */
TEST numbers_beyond_range(void)
{
    const double units[] = { 1, either(1e60, 1e6), either(1e71, 1e8), either(1e100, 1e12) };
    for (size_t k = 0; k < 4; k++) {
        npksd_options options = npksd_default_options();
        npksd_real unit = (npksd_real)units[k], rows[4], scores[4], out = -1;
        double expected = 0;
        options.statistic = NPKSD_STATISTIC_V;
        options.bandwidth = unit;
        for (int a = 0; a < 4; a++) {
            rows[a] = (npksd_real)(a - 1) * unit;
            scores[a] = a % 2 ? -unit : unit;
        }
        for (int a = 0; a < 16; a++) {
            double d = a / 4 - a % 4, h = exp(-d * d / 2), s = (double)scores[a / 4], t = (double)scores[a % 4];
            expected += (s * t * h + d * h * (s - t) / units[k] + h * (1 - d * d) / units[k] / units[k]) / 16;
        }
        npksd_status status = npksd_statistic(rows, scores, 4, 1, NULL, &options, &out);
        ASSERT_STATUS(k < 2 ? NPKSD_OK : NPKSD_ERROR_NUMERIC, status);
        if (k < 2)
            ASSERT_AGREE("V", expected, out, either(1e-10, 1e-4) * fabs(expected));
        else
            ASSERT(out < 0);
    }
    const double bandwidths[] = { either(1e-30, 1e-3), either(1e-100, 1e-8) };
    for (size_t k = 0; k < 2; k++) { /* so far apart that a row is near itself alone */
        npksd_options options = npksd_default_options();
        double away = either(1e41, 1e9), sigma2 = bandwidths[k] * bandwidths[k];
        npksd_real rows[3] = { 0, (npksd_real)(3 * away), (npksd_real)(4 * away) }, scores[3] = { 0, 0, 0 }, out = -1;
        options.statistic = NPKSD_STATISTIC_V;
        options.bandwidth = (npksd_real)bandwidths[k];
        npksd_status status = npksd_statistic(rows, scores, 3, 1, NULL, &options, &out);
        ASSERT_STATUS(k == 0 ? NPKSD_OK : NPKSD_ERROR_NUMERIC, status);
        ASSERT_AGREE("V", k == 0 ? 1 / (3 * sigma2) : -1, out, either(1e-10, 1e-4) / sigma2);
    }
    PASS();
}

/* A kernel far below rounding is as right as any other: exp(-450), in float exp(-72). */
TEST far_below_rounding(void)
{
    npksd_options options = npksd_default_options();
    double d = either(30, 12), expected = exp(-d * d / 2) * (-0.125 - 0.75 * d + 1 - d * d);
    npksd_real rows[2] = { 0, (npksd_real)d }, scores[2] = { (npksd_real)0.5, (npksd_real)-0.25 }, out = 0;
    options.bandwidth = 1;
    ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, 2, 1, NULL, &options, &out));
    ASSERT_AGREE("U", expected, out, either(1e-10, 1e-3) * fabs(expected));
    PASS();
}

/* In linear time: the frequencies are normal numbers over the bandwidth. */
TEST random_features(int form, uint64_t seed)
{
    static const size_t counts[] = { 1, 2, 15, 16, 17, 40 };
    static npksd_real rows[MAX_N * MAX_M], scores[MAX_N * MAX_M], given[MAX_M];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, (uint64_t)(32 + form));
    for (size_t turn = 0; turn < 60; turn++) {
        static const double scales[] = { 1, 0.5, 0.25, 0.125, 0.3, 2, 0.0625, 0.015625 };
        size_t n = sizes_n[turn % (COUNT_N - 2)], m = sizes_m[turn % (COUNT_M - 1)];
        size_t F = counts[turn / 2 % 6];
        int statistic = turn % 2 && n > 1 ? NPKSD_STATISTIC_U : NPKSD_STATISTIC_V;
        double width = turn % 7 == 3 ? 0.2 : 1.25;
        npksd_real scale = (npksd_real)scales[turn % 8], out;
        ref_data data = no_data(n, m, NPKSD_KERNEL_GAUSS, form);
        npksd_options options = statistic_options(&data, statistic, width);
        options.seed = seed + turn;
        options.features = F;
        options.scales = &scale;
        options.scale_count = 1;
        random_problem(&rng, turn % 5 == 4 ? ROWS_TIED : ROWS_NORMAL, n, m, rows, scores);
        data.rows = rows;
        data.scores = scores;
        data.weights = random_weights(&rng, (int)(turn % WEIGHTS_KINDS), m, given);
        npksd_real *omega = new_reals(F * m);
        double *drawn = ref_reals(F * m);
        ref_frequencies(options.seed, REF_FREQUENCIES, F, m, 1 / (double)options.bandwidth, drawn);
        for (size_t k = 0; k < F * m; k++)
            omega[k] = (npksd_real)drawn[k];
        double expected = ref_features(&data, statistic, omega, F, (double)scale);
        double size = fabs(expected);
        size += ref_features(&data, NPKSD_STATISTIC_V, omega, F, (double)scale);
        static char name[128];
        snprintf(name, sizeof name, "n %zu m %zu features %zu scale %g width %g", n, m, F,
                 (double)scale, width);
        ASSERT_STATUSm(name, NPKSD_OK,
                       npksd_statistic(rows, scores, n, m, data.weights, &options, &out));
        ASSERT_AGREE(name, expected, out, either(1e-9, 1e-3) * size);
        free(omega);
        free(drawn);
    }
    PASS();
}

/* Many features come close to the exact statistic: each is unbiased for it. */
TEST features_converge(void)
{
    enum { N = 20, M = 2, F = 20000 };
    npksd_real rows[N * M], scores[N * M], exact, linear;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, test_seed, 34);
    random_problem(&rng, ROWS_NORMAL, N, M, rows, scores);
    for (int k = 0; k < 2; k++) {
        int statistic = k ? NPKSD_STATISTIC_U : NPKSD_STATISTIC_V;
        ref_data data = no_data(N, M, NPKSD_KERNEL_GAUSS, NPKSD_FORM_VECTOR);
        npksd_options options = statistic_options(&data, statistic, 1.5);
        options.seed = test_seed;
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, M, NULL, &options, &exact));
        options.features = F;
        ASSERT_STATUS(NPKSD_OK, npksd_statistic(rows, scores, N, M, NULL, &options, &linear));
        /* one feature varies by about the V-statistic itself, some 0.1 here */
        ASSERT_AGREE("features", exact, linear, 10 * 0.1 / sqrt((double)F));
    }
    PASS();
}

SUITE(suite_statistic)
{
    static const char *const names[4] = { "gauss_vector", "gauss_scalar", "imq_vector",
                                          "imq_scalar" };
    RUN_TEST(stored_statistics);
    RUN_TEST(stored_features);
    for (int k = 0; k < 4; k++) {
        greatest_set_test_suffix(names[k]);
        RUN_TESTp(random_statistics, k / 2, k % 2);
    }
    RUN_TEST(exponential_to_the_last_digits);
    RUN_TEST(sine_to_the_last_digits);
    RUN_TEST(sine_of_large_angles);
    RUN_TESTp(first_scale_counts, NPKSD_KERNEL_GAUSS);
    RUN_TESTp(first_scale_counts, NPKSD_KERNEL_IMQ);
    RUN_TEST(other_options_do_not_count);
    RUN_TESTp(least_kernel_is_the_same, (npksd_real)0.5);
    RUN_TESTp(least_kernel_is_the_same, (npksd_real)0.25);
    RUN_TESTp(equal_rows_far_out, NPKSD_KERNEL_GAUSS);
    RUN_TESTp(equal_rows_far_out, NPKSD_KERNEL_IMQ);
    RUN_TESTp(row_far_out, NPKSD_KERNEL_GAUSS);
    RUN_TESTp(row_far_out, NPKSD_KERNEL_IMQ);
    RUN_TESTp(random_features, NPKSD_FORM_VECTOR, test_seed);
    RUN_TESTp(random_features, NPKSD_FORM_SCALAR, test_seed);
    RUN_TEST(numbers_beyond_range);
    RUN_TEST(far_below_rounding);
    RUN_TEST(features_converge);
}
