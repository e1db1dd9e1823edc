/*
 * The page's verdict without the page: the same simulation and test, compiled natively.
 *     verdict N SEED SPEED SCATTER WIND HEAVY LINK
 * prints one JSON object. test.py compares it with what the page shows.
 */
#include "web.c"

#include <stdio.h>
#include <stdlib.h>

static void print_list(const char *name, const double *values, int count)
{
    printf(", \"%s\": [", name);
    for (int k = 0; k < count; k++)
        printf("%s%.17g", k ? ", " : "", values[k]);
    printf("]");
}

int main(int argc, char **argv)
{
    int status;
    if (argc != 8) {
        fputs("usage: verdict n seed speed scatter wind heavy link\n", stderr);
        return 2;
    }
    status = web_start(atoi(argv[1]), (unsigned)strtoul(argv[2], NULL, 10), atof(argv[3]),
                       atof(argv[4]), atof(argv[5]), atof(argv[6]), atof(argv[7]));
    if (status == NPKSD_OK)
        do
            status = web_step(1000);
        while (status == NPKSD_MORE);
    if (status == NPKSD_OK)
        status = web_check();
    if (status != NPKSD_OK) {
        fprintf(stderr, "verdict: %s\n", web_status(status));
        return 1;
    }
    printf("{\"statistic\": %.17g, \"p\": %.17g, \"low\": %.17g, \"high\": %.17g, "
           "\"threshold\": %.17g, \"reject\": %d, \"leading\": %d",
           web_verdict_values[0], web_verdict_values[1], web_verdict_values[2],
           web_verdict_values[3], web_verdict_values[4], (int)web_verdict_values[5],
           (int)web_verdict_values[6]);
    print_list("distances", web_coordinate_values, WEB_M);
    print_list("shifts", web_coordinate_values + WEB_M, WEB_M);
    print_list("adjusted", web_coordinate_values + 2 * WEB_M, WEB_M);
    print_list("pairs", web_pair_values, WEB_PAIR * (int)web_verdict_values[10]);
    puts("}");
    return 0;
}
