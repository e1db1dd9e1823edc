/* Runs every suite. Options: -v, -s SUITE, -t TEST (see greatest_lite.h). */
#include "support.h"

/* One suite_*.c file each; the Makefile checks that none is forgotten here. */
#define SUITES(X)                                                                                 \
    X(suite_median)                                                                               \
    X(suite_errors)                                                                               \
    X(suite_memory)                                                                               \
    X(suite_determinism)                                                                          \
    X(suite_rng)                                                                                  \
    X(suite_statistic)                                                                            \
    X(suite_scores)                                                                               \
    X(suite_components)                                                                           \
    X(suite_calibration)                                                                          \
    X(suite_diagnosis)                                                                            \
    X(suite_edge)                                                                                 \
    X(suite_faults)                                                                               \
    X(suite_blob)                                                                                 \
    X(suite_paths)                                                                                \
    X(suite_samples)                                                                              \
    X(suite_metamorphic)                                                                          \
    X(suite_monitor)                                                                              \
    X(suite_regressions)

#define DECLARE(name) SUITE_EXTERN(name);
SUITES(DECLARE)

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
    const char *seed = getenv("NPKSD_TEST_SEED");
    if (seed)
        test_seed = strtoull(seed, NULL, 10);
    test_quick = getenv("NPKSD_TEST_QUICK") != NULL;
    GREATEST_MAIN_BEGIN();
    printf("seed %llu (NPKSD_TEST_SEED)\n", (unsigned long long)test_seed);
#define RUN(name) RUN_SUITE(name);
    SUITES(RUN)
    GREATEST_PRINT_REPORT();
#ifdef NPKSD_UPSTREAM_GREATEST
    struct greatest_report_t report; /* our last line; greatest_lite.h prints it by itself */
    greatest_get_report(&report);
    printf("%u passed, %u failed", report.passed, report.failed);
    if (report.skipped > 0)
        printf(", %u skipped", report.skipped);
    printf("\n");
#endif
    return greatest_all_passed() ? EXIT_SUCCESS : EXIT_FAILURE;
}
