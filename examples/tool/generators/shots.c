/* A generator for npksd --server: reads lines "rows seed", answers each with CSV and an empty line.
 *
 *     cc -O2 tool/generators/shots.c -o build/shots -lm
 *     npksd data/observed.csv --server build/shots */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double uniform(void) { return (rand() + 0.5) / (RAND_MAX + 1.0); }

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* The sum of four exponentials. */
static double gamma4(void) { return -log(uniform() * uniform() * uniform() * uniform()); }

int main(void)
{
    unsigned long rows, seed;
    while (scanf("%lu %lu", &rows, &seed) == 2) {
        srand((unsigned)seed);
        puts("damage,distance,cooldown");
        for (unsigned long k = 0; k < rows; k++) {
            double distance = 12 + 3 * normal();
            printf("%.6g,%.6g,%.6g\n", 22 - 1.4 * (distance - 12) + 4.2 * normal(), distance,
                   0.255 * gamma4());
        }
        puts("");
        fflush(stdout);
    }
    return 0;
}
