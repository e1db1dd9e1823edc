/* What uniform.c and nasty.c share: levels, and bounds that all hold together with a stated probability. */
#ifndef NPKSD_TESTS_SUPER_UNIFORM_H
#define NPKSD_TESTS_SUPER_UNIFORM_H

#include "npksd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 4 };
static const double levels[LEVELS] = { 0.05, 0.1, 0.25, 0.5 };

/* z with P(Z > z) = tail */
static inline double normal_quantile(double tail)
{
    double low = 0, high = 40;
    for (int k = 0; k < 200; k++) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2.0)) / 2 > tail)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* Is p at most a level? Float p-values round upwards, too. */
static inline int reaches(double p, double level) { return p <= level * (1 + 1e-6); }

/* Standard errors by which `reached` of `tests` p-values lie above their level, with a continuity correction. */
static inline double above_level(size_t reached, size_t tests, double level)
{
    double expected = level * (double)tests;
    return ((double)reached - expected - 0.5) / sqrt(expected * (1 - level));
}

static inline double below_level(size_t reached, size_t tests, double level)
{
    double expected = level * (double)tests;
    return (expected - (double)reached - 0.5) / sqrt(expected * (1 - level));
}

static inline void component_text(unsigned set, char *text)
{
    text[0] = 0;
    for (unsigned component = 1; component <= NPKSD_COMPONENT_ALL; component *= 2)
        if (set & component) {
            if (text[0])
                strcat(text, "+");
            strcat(text, npksd_component_string(component));
        }
}

/* TESTS PART PARTS of the command line: cells PART, PART + PARTS, ... (two cores: 0 2, 1 2) */
static inline size_t argument(int argc, char **argv, int index, size_t otherwise)
{
    return argc > index ? (size_t)strtoul(argv[index], NULL, 10) : otherwise;
}

#endif /* NPKSD_TESTS_SUPER_UNIFORM_H */
