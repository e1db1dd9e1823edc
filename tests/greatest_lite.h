/*
 * greatest_lite.h - the part of the `greatest` test framework's interface that these tests use.
 * Written for this project, so that a machine without network can run its tests; with
 * `make GREATEST=DIR` the same tests are compiled with the upstream greatest.h in DIR instead.
 * SPDX-License-Identifier: MIT OR Unlicense
 *
 * A TEST is a function that returns PASS(), FAIL() or SKIP(); an ASSERT that does not hold returns
 * from it. Helper functions with assertions return `enum greatest_test_res` and are called through
 * CHECK_CALL. The last line of a run is `N passed, N failed`.
 */
#ifndef GREATEST_LITE_H
#define GREATEST_LITE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum greatest_test_res {
    GREATEST_TEST_RES_PASS = 0,
    GREATEST_TEST_RES_FAIL = -1,
    GREATEST_TEST_RES_SKIP = 1
} greatest_test_res;

typedef struct greatest_run_info {
    unsigned passed, failed, skipped, assertions;
    unsigned suite_passed, suite_failed, suite_skipped;
    unsigned verbosity, column;
    int list_only, stop_at_fail, abort_at_fail, exact;
    int in_test, suite_off;
    const char *suite_filter, *test_filter, *test_exclude, *suffix;
    const char *message, *file;
    int line;
    char name[128];
} greatest_run_info;

struct greatest_report_t {
    unsigned passed, failed, skipped, assertions;
};

typedef const char *greatest_enum_str_fun(int value);

extern greatest_run_info greatest_info;

/* ======== what the macros call ======== */

static inline int greatest_name_matches(const char *name, const char *filter)
{
    if (greatest_info.exact)
        return strcmp(name, filter) == 0;
    return strstr(name, filter) != NULL;
}

static inline void greatest_set_test_suffix(const char *suffix) { greatest_info.suffix = suffix; }

static inline int greatest_stopped(void)
{
    return greatest_info.stop_at_fail && greatest_info.failed > 0;
}

/* 1 = run the test of this name now */
static inline int greatest_test_pre(const char *name)
{
    greatest_run_info *g = &greatest_info;
    const char *suffix = g->suffix;
    if (g->in_test)
        return 0;
    g->suffix = NULL;
    snprintf(g->name, sizeof g->name, "%s%s%s", name, suffix ? "_" : "", suffix ? suffix : "");
    if (g->suite_off || greatest_stopped())
        return 0;
    if (g->test_filter && !greatest_name_matches(g->name, g->test_filter))
        return 0;
    if (g->test_exclude && greatest_name_matches(g->name, g->test_exclude))
        return 0;
    if (g->list_only) {
        printf("  %s\n", g->name);
        return 0;
    }
    g->message = NULL;
    g->in_test = 1;
    return 1;
}

static inline void greatest_print_mark(const char *mark)
{
    fputs(mark, stdout);
    if (++greatest_info.column % 78 == 0)
        fputc('\n', stdout);
}

static inline void greatest_print_named(const char *verdict)
{
    greatest_run_info *g = &greatest_info;
    printf("%s %s%s%s\n", verdict, g->name, g->message ? ": " : "", g->message ? g->message : "");
}

static inline void greatest_print_failure(void)
{
    greatest_run_info *g = &greatest_info;
    if (g->column % 78 != 0)
        fputc('\n', stdout);
    g->column = 0;
    printf("FAIL %s: %s (%s:%d)\n", g->name, g->message ? g->message : "", g->file, g->line);
}

static inline void greatest_test_post(greatest_test_res result)
{
    greatest_run_info *g = &greatest_info;
    g->in_test = 0;
    if (result == GREATEST_TEST_RES_PASS) {
        g->passed++;
        g->suite_passed++;
        if (g->verbosity)
            greatest_print_named("PASS");
        else
            greatest_print_mark(".");
    } else if (result == GREATEST_TEST_RES_SKIP) {
        g->skipped++;
        g->suite_skipped++;
        if (g->verbosity)
            greatest_print_named("SKIP");
        else
            greatest_print_mark("s");
    } else {
        g->failed++;
        g->suite_failed++;
        greatest_print_failure();
    }
    fflush(stdout); /* a crash in the next test must not swallow this line */
    if (result == GREATEST_TEST_RES_FAIL && g->abort_at_fail)
        abort();
}

static inline void greatest_run_suite(void (*suite)(void), const char *name)
{
    greatest_run_info *g = &greatest_info;
    if (greatest_stopped() || (g->suite_filter && !greatest_name_matches(name, g->suite_filter)))
        return;
    g->suite_passed = g->suite_failed = g->suite_skipped = g->column = 0;
    printf("\n* Suite %s:\n", name);
    suite();
    if (!g->list_only)
        printf("%s%u passed, %u failed, %u skipped\n", g->column % 78 ? "\n" : "", g->suite_passed,
               g->suite_failed, g->suite_skipped);
}

static inline greatest_test_res greatest_leave(greatest_test_res result, const char *message,
                                               const char *file, int line)
{
    greatest_info.message = message;
    greatest_info.file = file;
    greatest_info.line = line;
    return result;
}

static inline int greatest_same_text(const char *expected, const char *got)
{
    if (strcmp(expected, got) == 0)
        return 1;
    printf("\nExpected: %s\n     Got: %s\n", expected, got);
    return 0;
}

static inline int greatest_same_bytes(const void *expected, const void *got, size_t bytes)
{
    const unsigned char *a = (const unsigned char *)expected, *b = (const unsigned char *)got;
    for (size_t i = 0; i < bytes; i++) {
        if (a[i] != b[i]) {
            printf("\nExpected: %02x\n     Got: %02x at byte %lu of %lu\n", a[i], b[i],
                   (unsigned long)i, (unsigned long)bytes);
            return 0;
        }
    }
    return 1;
}

/* Unlike upstream, a NaN is outside every range. */
static inline int greatest_in_range(double expected, double got, double tolerance)
{
    double distance = expected > got ? expected - got : got - expected;
    if (distance <= tolerance)
        return 1;
    printf("\nExpected: %.17g +/- %g\n     Got: %.17g\n", expected, tolerance, got);
    return 0;
}

static inline int greatest_same_enum(int expected, int got, greatest_enum_str_fun *text)
{
    if (expected == got)
        return 1;
    printf("\nExpected: %s\n     Got: %s\n", text(expected), text(got));
    return 0;
}

static inline void greatest_get_report(struct greatest_report_t *report)
{
    report->passed = greatest_info.passed;
    report->failed = greatest_info.failed;
    report->skipped = greatest_info.skipped;
    report->assertions = greatest_info.assertions;
}

static inline int greatest_all_passed(void) { return greatest_info.failed == 0; }
static inline unsigned greatest_get_verbosity(void) { return greatest_info.verbosity; }

static inline void GREATEST_PRINT_REPORT(void)
{
    printf("\n%u assertions\n%u passed, %u failed", greatest_info.assertions,
           greatest_info.passed, greatest_info.failed);
    if (greatest_info.skipped > 0)
        printf(", %u skipped", greatest_info.skipped);
    fputc('\n', stdout);
    fflush(stdout);
}

static inline void greatest_usage(const char *program, int code)
{
    printf("usage: %s [-hlfave] [-s SUITE] [-t TEST] [-x EXCLUDE]\n"
           "  -s, -t  only suites, tests whose name contains the word\n"
           "  -x      no tests whose name contains the word\n"
           "  -e      names must match exactly\n"
           "  -l      list, -f stop at the first failure, -a abort there, -v verbose\n",
           program);
    exit(code);
}

static inline void greatest_parse_options(int argc, char **argv)
{
    greatest_run_info *g = &greatest_info;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (strcmp(option, "--") == 0)
            return;
        if (option[0] != '-' || option[1] == 0)
            greatest_usage(argv[0], EXIT_FAILURE);
        if (strchr("stx", option[1]) && option[2] == 0) {
            if (++i >= argc)
                greatest_usage(argv[0], EXIT_FAILURE);
            if (option[1] == 's') g->suite_filter = argv[i];
            if (option[1] == 't') g->test_filter = argv[i];
            if (option[1] == 'x') g->test_exclude = argv[i];
            continue;
        }
        for (const char *c = option + 1; *c; c++) {
            switch (*c) {
            case 'l': g->list_only = 1; break;
            case 'a': g->abort_at_fail = g->stop_at_fail = 1; break;
            case 'f': g->stop_at_fail = 1; break;
            case 'v': g->verbosity++; break;
            case 'e': g->exact = 1; break;
            case 'h': greatest_usage(argv[0], EXIT_SUCCESS); break;
            default: greatest_usage(argv[0], EXIT_FAILURE);
            }
        }
    }
}

/* ======== tests and suites ======== */

#define TEST static enum greatest_test_res
#define SUITE(NAME) void NAME(void); void NAME(void)
#define SUITE_EXTERN(NAME) void NAME(void)
#define RUN_SUITE(NAME) greatest_run_suite(NAME, #NAME)

#define GREATEST_RUN(NAME, CALL)                                                                  \
    do {                                                                                          \
        if (greatest_test_pre(NAME) == 1)                                                         \
            greatest_test_post(CALL);                                                             \
    } while (0)
#define RUN_TEST(TEST_FN) GREATEST_RUN(#TEST_FN, TEST_FN())
#define RUN_TEST1(TEST_FN, ARG) GREATEST_RUN(#TEST_FN, TEST_FN(ARG))
#define RUN_TESTp(TEST_FN, ...) GREATEST_RUN(#TEST_FN, TEST_FN(__VA_ARGS__))

#define GREATEST_MAIN_DEFS() greatest_run_info greatest_info
#define GREATEST_MAIN_BEGIN() greatest_parse_options(argc, argv)
#define GREATEST_MAIN_END()                                                                       \
    do {                                                                                          \
        GREATEST_PRINT_REPORT();                                                                  \
        return greatest_all_passed() ? EXIT_SUCCESS : EXIT_FAILURE;                               \
    } while (0)

/* ======== leaving a test ======== */

#define PASSm(MSG) return greatest_leave(GREATEST_TEST_RES_PASS, MSG, __FILE__, __LINE__)
#define FAILm(MSG) return greatest_leave(GREATEST_TEST_RES_FAIL, MSG, __FILE__, __LINE__)
#define SKIPm(MSG) return greatest_leave(GREATEST_TEST_RES_SKIP, MSG, __FILE__, __LINE__)
#define PASS() PASSm(NULL)
#define FAIL() FAILm(NULL)
#define SKIP() SKIPm(NULL)

#define CHECK_CALL(RESULT)                                                                        \
    do {                                                                                          \
        enum greatest_test_res greatest_result = RESULT;                                          \
        if (greatest_result != GREATEST_TEST_RES_PASS)                                            \
            return greatest_result;                                                               \
    } while (0)

/* ======== assertions: expected value first, m = with a message in front ======== */

#define ASSERTm(MSG, COND)                                                                        \
    do {                                                                                          \
        greatest_info.assertions++;                                                               \
        if (!(COND))                                                                              \
            FAILm(MSG);                                                                           \
    } while (0)
#define ASSERT_FALSEm(MSG, COND) ASSERTm(MSG, !(COND))
#define ASSERT_EQm(MSG, EXP, GOT) ASSERTm(MSG, (EXP) == (GOT))
#define ASSERT_NEQm(MSG, EXP, GOT) ASSERTm(MSG, (EXP) != (GOT))
#define ASSERT_GTm(MSG, EXP, GOT) ASSERTm(MSG, (EXP) > (GOT))
#define ASSERT_GTEm(MSG, EXP, GOT) ASSERTm(MSG, (EXP) >= (GOT))
#define ASSERT_LTm(MSG, EXP, GOT) ASSERTm(MSG, (EXP) < (GOT))
#define ASSERT_LTEm(MSG, EXP, GOT) ASSERTm(MSG, (EXP) <= (GOT))
#define ASSERT_STR_EQm(MSG, EXP, GOT) ASSERTm(MSG, greatest_same_text(EXP, GOT))
/* Without parentheses, as upstream casts them: what goes wrong there goes wrong here. */
#define ASSERT_MEM_EQm(MSG, EXP, GOT, SIZE)                                                       \
    ASSERTm(MSG, greatest_same_bytes((const unsigned char *)EXP, (const unsigned char *)GOT, SIZE))
#define ASSERT_IN_RANGEm(MSG, EXP, GOT, TOL)                                                      \
    ASSERTm(MSG, greatest_in_range((double)(EXP), (double)(GOT), (double)(TOL)))
#define ASSERT_ENUM_EQm(MSG, EXP, GOT, ENUM_STR)                                                  \
    ASSERTm(MSG, greatest_same_enum((int)(EXP), (int)(GOT), ENUM_STR))
/* The values are evaluated again for printing: no calls with side effects. */
#define ASSERT_EQ_FMTm(MSG, EXP, GOT, FMT)                                                        \
    do {                                                                                          \
        greatest_info.assertions++;                                                               \
        if ((EXP) != (GOT)) {                                                                     \
            printf("\nExpected: " FMT "\n     Got: " FMT "\n", EXP, GOT);                         \
            FAILm(MSG);                                                                           \
        }                                                                                         \
    } while (0)

#define ASSERT(COND) ASSERTm(#COND, COND)
#define ASSERT_FALSE(COND) ASSERT_FALSEm(#COND, COND)
#define ASSERT_EQ(EXP, GOT) ASSERT_EQm(#EXP " != " #GOT, EXP, GOT)
#define ASSERT_NEQ(EXP, GOT) ASSERT_NEQm(#EXP " == " #GOT, EXP, GOT)
#define ASSERT_GT(EXP, GOT) ASSERT_GTm(#EXP " <= " #GOT, EXP, GOT)
#define ASSERT_GTE(EXP, GOT) ASSERT_GTEm(#EXP " < " #GOT, EXP, GOT)
#define ASSERT_LT(EXP, GOT) ASSERT_LTm(#EXP " >= " #GOT, EXP, GOT)
#define ASSERT_LTE(EXP, GOT) ASSERT_LTEm(#EXP " > " #GOT, EXP, GOT)
#define ASSERT_STR_EQ(EXP, GOT) ASSERT_STR_EQm(#EXP " != " #GOT, EXP, GOT)
#define ASSERT_MEM_EQ(EXP, GOT, SIZE) ASSERT_MEM_EQm(#EXP " != " #GOT, EXP, GOT, SIZE)
#define ASSERT_IN_RANGE(EXP, GOT, TOL)                                                            \
    ASSERT_IN_RANGEm(#EXP " != " #GOT " +/- " #TOL, EXP, GOT, TOL)
#define ASSERT_ENUM_EQ(EXP, GOT, ENUM_STR) ASSERT_ENUM_EQm(#EXP " != " #GOT, EXP, GOT, ENUM_STR)
#define ASSERT_EQ_FMT(EXP, GOT, FMT) ASSERT_EQ_FMTm(#EXP " != " #GOT, EXP, GOT, FMT)

#endif /* GREATEST_LITE_H */
