/* The shared library as a stranger uses it: linked, no header implementation here. */
#include "npksd_shared.h"
#include <locale.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int truth, const char *what)
{
    if (!truth) {
        printf("failed: %s\n", what);
        failures++;
    }
}

/* Setting name to value must answer with a text that starts like this; NULL: must be fine. */
static void answers(const char *name, const char *value, const char *start)
{
    npksd_options o = npksd_default_options(), before = o;
    const char *answer = npksd_options_set(&o, name, value);
    if ((answer == NULL) != (start == NULL) || (start != NULL && strncmp(answer, start, strlen(start)) != 0)) {
        printf("failed: %s = '%s' answers \"%s\", not \"%s\"\n", name, value, answer ? answer : "(fine)",
               start ? start : "(fine)");
        failures++;
    }
    if (start != NULL)
        expect(memcmp(&o, &before, sizeof o) == 0, "refused options are untouched");
}

/* Set by name is the same as set by hand. */
#define SETS(field, text, value)                                                                   \
    do {                                                                                           \
        npksd_options o = npksd_default_options();                                                 \
        expect(npksd_options_set(&o, #field, text) == NULL, #field " = " text);                    \
        expect(o.field == (value), #field " has the value " text);                                   \
    } while (0)

static int noise(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *user_data)
{
    (void)user_data;
    for (size_t i = 0; i < count * m; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

static void test_values(void)
{
    SETS(seed, "18446744073709551615", UINT64_MAX);
    SETS(fit_rows, "300", 300u);
    SETS(replicates, "999", 999u);
    SETS(replicates, "1", 1u); /* fits only another alpha, which may come later */
    SETS(pilot, "0", 0u);
    SETS(alpha, "0.01", 0.01);
    SETS(resample, "7", 7u);
    SETS(resample_redraw, "1", 1);
    SETS(resample_distinct, "1", 1);
    SETS(summary, "mean_var", NPKSD_SUMMARY_MEAN_VAR);
    SETS(summary, "Mean-Var", NPKSD_SUMMARY_MEAN_VAR);
    SETS(summary, "NPKSD_SUMMARY_NONE", NPKSD_SUMMARY_NONE);
    SETS(summary, "callback", NPKSD_SUMMARY_CALLBACK);
    SETS(summary, "0", NPKSD_SUMMARY_MEAN);
    SETS(summary_dim, "65536", 65536u);
    SETS(estimator, "spline", NPKSD_ESTIMATOR_SPLINE);
    SETS(degree, "8", 8u);
    SETS(basis, "1", 1u);
    SETS(basis, "256", 256u);
    SETS(ridge, "1e-3", 1e-3);
    SETS(kernel, "imq", NPKSD_KERNEL_IMQ);
    SETS(bandwidth, "2.5", 2.5);
    SETS(scale_count, "16", 16u);
    SETS(form, "scalar", NPKSD_FORM_SCALAR);
    SETS(statistic, "UV", NPKSD_STATISTIC_UV);
    SETS(components, "stein|MMD", (unsigned)(NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MMD));
    SETS(components, "NPKSD_COMPONENT_ALL", (unsigned)NPKSD_COMPONENT_ALL);
    SETS(components, "pair", (unsigned)NPKSD_COMPONENT_PAIR);
    SETS(smooth, "0.5", 0.5);
    SETS(standardize, "0", 0);
    SETS(features, "512", 512u);
    SETS(stop_after, "10", 10u);
    SETS(calibration, "NPKSD_CALIBRATE_WILD_BOOTSTRAP", NPKSD_CALIBRATE_WILD_BOOTSTRAP);
    SETS(diagnose, "1", 1);
    SETS(block, "4", 4u);
}

static void test_refusals(void)
{
    answers("replicates", "0", "replicates: from 1 to 2^28");
    answers("replicates", "-1", "replicates: '-1' is not a whole number");
    answers("replicates", "99 ", "replicates: '99 ' is not a whole number");
    answers("replicates", "", "replicates: '' is not a whole number");
    answers("replicates", "1e3", "replicates: '1e3' is not a whole number");
    answers("seed", "18446744073709551616", "seed: '18446744073709551616' is not a whole number");
    answers("alpha", "0", "alpha: between 0 and 1, exclusive");
    answers("alpha", "0.05x", "alpha: '0.05x' is not a decimal number");
    answers("alpha", "nan", "alpha: 'nan' is not a decimal number");
    answers("alpha", "0x1p-5", "alpha: '0x1p-5' is not a decimal number");
    answers("alpha", "1.2.3", "alpha: '1.2.3' is not a decimal number");
    answers("alpha", "", "alpha: '' is not a decimal number");
    answers("ridge", "-1", "ridge: from 0 to 1e6");
    answers("ridge", "1e999", "ridge: from 0 to 1e6");
    answers("diagnose", "2", "diagnose: 0 or 1");
    answers("degree", "9", "degree: at most 8");
    answers("basis", "257", "basis: at most 256");
    answers("block", "0", "block: at least 1");
    answers("scale_count", "17", "scales, scale_count: at most 16");
    answers("summary", "median", "summary: unknown value 'median'; one of MEAN, NONE, ALL");
    answers("summary", "", "summary: unknown value ''");
    answers("summary", "9", "summary: unknown value");
    answers("summary", "mean_", "summary: unknown value 'mean_'");
    answers("components", "stein|steam", "components: unknown value 'stein|steam'; some of STEIN");
    answers("components", "0", "components: some of NPKSD_COMPONENT_");
    answers("components", "64", "components: some of NPKSD_COMPONENT_");
    answers("components", "|", "components: unknown value '|'");
    answers("rng", "1", "rng: a pointer");
    answers("scales", "1", "scales: a pointer");
    answers("replicate", "9", "replicate: there is no such field; did you mean replicates? npksd.h lists all");
    answers("fitrows", "9", "fitrows: there is no such field; did you mean fit_rows?");
    answers("", "9", ": there is no such field; ");
    expect(npksd_options_set(NULL, "seed", "1") != NULL, "options NULL");
}

/* Options have a decimal point in every locale. Windows has German built in; elsewhere it must be installed. */
static const char *test_comma(void)
{
    const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "German" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_NUMERIC, names[i]) != NULL) {
            SETS(alpha, "0.01", 0.01);
            SETS(ridge, "1e-3", 1e-3);
            answers("alpha", "0,01", "alpha: '0,01' is not a decimal number");
            setlocale(LC_NUMERIC, "C");
            return names[i];
        }
    return "no locale with a comma here";
}

int main(void)
{
    npksd_real rows[40];
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 5, 5);
    npksd_options o = npksd_default_options();
    npksd_result result;
    test_values();
    test_refusals();
    printf("decimal commas: %s\n", test_comma());
    noise(rows, 20, 2, &rng, NULL);
    expect(npksd_options_set(&o, "replicates", "99") == NULL, "99 replicates");
    expect(npksd_test(rows, 20, 2, noise, NULL, &o, &result) == NPKSD_OK && result.replicates == 99, "a test");
    expect(npksd_version() == NPKSD_VERSION, "the version of the header");
    expect(npksd_layout() != 0 && npksd_layout() == npksd_layout(), "a layout");
    printf("npksd %d, layout %016llx: %d failed\n", npksd_version(), (unsigned long long)npksd_layout(), failures);
    return failures != 0;
}
