/* What the C library answers, for test_npksd.py to compare bit by bit. As a program:
 *     reference MODE n m rows replicates seed < NUMBERS
 * NUMBERS are doubles: n rows observed, then `rows` further rows. MODE samples: those are the synthetic rows.
 * MODE play: they are data sets that a generator returned, one after the other. MODE bot: the generator is bot,
 * below. Prints every number as hexadecimal. As a shared library it is the home of bot. */
#define NPKSD_STATIC
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bot(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data);

int bot(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

typedef struct tape {
    const npksd_real *next, *end;
} tape;

static int play(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    tape *t = (tape *)user_data;
    (void)rng;
    if ((size_t)(t->end - t->next) < count * m)
        return 1;
    memcpy(rows, t->next, count * m * sizeof *rows);
    t->next += count * m;
    return 0;
}

static void print(const char *name, const npksd_real *values, size_t count)
{
    printf("%s", name);
    for (size_t i = 0; i < count; i++)
        printf(" %a", values[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    size_t size[4];
    for (int i = 0; i < 4; i++)
        size[i] = strtoul(argv[2 + i], NULL, 10);
    size_t n = size[0], m = size[1], rows = size[2], b = size[3], total = (n + rows) * m;
    npksd_real *numbers = (npksd_real *)malloc(total * sizeof *numbers);
    npksd_real *out = (npksd_real *)calloc(5 * m + n + b, sizeof *out);
    if (numbers == NULL || out == NULL || fread(numbers, sizeof *numbers, total, stdin) != total)
        return 3;
    npksd_options o = npksd_default_options();
    npksd_result r;
    npksd_pair pairs[10];
    npksd_diagnosis d = { out, out + m, out + 2 * m, out + 5 * m, out + 3 * m, out + 4 * m, pairs, 10, 0 };
    npksd_real *null_values = out + 5 * m + n;
    tape t = { numbers + n * m, numbers + total };
    o.replicates = b;
    o.seed = strtoul(argv[6], NULL, 10);
    npksd_status status = strcmp(argv[1], "samples") == 0
        ? npksd_test_samples_diagnose(numbers, n, numbers + n * m, rows, m, &o, &r, &d, null_values)
        : npksd_test_diagnose(numbers, n, m, strcmp(argv[1], "play") == 0 ? play : bot, &t, &o, &r, &d, null_values);
    if (status != NPKSD_OK) {
        fprintf(stderr, "reference: %s\n", npksd_status_string(status));
        return 4;
    }
    npksd_real single[] = { r.p_value, r.statistic, r.threshold, r.p_low,
                            r.p_high,  r.ksd2,      r.bandwidth, r.out_of_range };
    print("result", single, sizeof single / sizeof single[0]);
    print("columns", out, 5 * m);
    print("rows", out + 5 * m, n);
    print("null", null_values, b);
    for (size_t i = 0; i < d.pair_count; i++)
        print("pair", &pairs[i].observed, 3);
    return 0;
}
