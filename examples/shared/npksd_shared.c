/* npksd.h as a shared library, and what bindings need in addition.
 *
 *     make -C examples shared        build/libnpksd.so and, with mingw, build/npksd.dll
 *
 * npksd_layout: a hash of the sizes and offsets of every public struct. A binding mirrors the structs
 * in its own language, computes the same hash and refuses a library that was built differently.
 * npksd_options_set: sets a field of npksd_options by name, from text, so that command lines and
 * bindings need no table of options of their own.
 *
 * A C program that wants npksd_options_set compiles this file instead of one that defines
 * NPKSD_IMPLEMENTATION, as the command line tool does (tool/tool.mk). */
#ifndef NPKSD_API
#if defined(_WIN32)
#define NPKSD_API __declspec(dllexport)
#elif defined(__GNUC__)
#define NPKSD_API __attribute__((visibility("default")))
#endif
#endif
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include "npksd_shared.h"
#include <ctype.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message that quotes the caller needs memory: one buffer per thread. */
#if defined(_MSC_VER)
#define THREAD_LOCAL __declspec(thread)
#elif defined(__GNUC__)
#define THREAD_LOCAL __thread
#else
#define THREAD_LOCAL _Thread_local
#endif

/* ======== the structs, field by field ======== */

/* How a field is written as text. */
enum { KIND_POINTER, KIND_U64, KIND_SIZE, KIND_INT, KIND_ENUM, KIND_SET, KIND_REAL };

/* field, kind, names of its values */
#define OPTIONS(F)                                                                                 \
    F(npksd_options, seed, KIND_U64, NULL)                                                         \
    F(npksd_options, rng, KIND_POINTER, NULL)                                                      \
    F(npksd_options, allocator, KIND_POINTER, NULL)                                                \
    F(npksd_options, fit_rows, KIND_SIZE, NULL)                                                    \
    F(npksd_options, replicates, KIND_SIZE, NULL)                                                  \
    F(npksd_options, pilot, KIND_SIZE, NULL)                                                       \
    F(npksd_options, alpha, KIND_REAL, NULL)                                                       \
    F(npksd_options, resample, KIND_SIZE, NULL)                                                    \
    F(npksd_options, resample_redraw, KIND_INT, NULL)                                              \
    F(npksd_options, resample_distinct, KIND_INT, NULL)                                            \
    F(npksd_options, summary, KIND_ENUM, summaries)                                                \
    F(npksd_options, summary_fn, KIND_POINTER, NULL)                                               \
    F(npksd_options, summary_user_data, KIND_POINTER, NULL)                                        \
    F(npksd_options, summary_dim, KIND_SIZE, NULL)                                                 \
    F(npksd_options, estimator, KIND_ENUM, estimators)                                             \
    F(npksd_options, degree, KIND_SIZE, NULL)                                                      \
    F(npksd_options, basis, KIND_SIZE, NULL)                                                       \
    F(npksd_options, ridge, KIND_REAL, NULL)                                                       \
    F(npksd_options, score_fn, KIND_POINTER, NULL)                                                 \
    F(npksd_options, score_user_data, KIND_POINTER, NULL)                                          \
    F(npksd_options, kernel, KIND_ENUM, kernels)                                                   \
    F(npksd_options, bandwidth, KIND_REAL, NULL)                                                   \
    F(npksd_options, scales, KIND_POINTER, NULL)                                                   \
    F(npksd_options, scale_count, KIND_SIZE, NULL)                                                 \
    F(npksd_options, form, KIND_ENUM, forms)                                                       \
    F(npksd_options, statistic, KIND_ENUM, statistics)                                             \
    F(npksd_options, components, KIND_SET, components)                                             \
    F(npksd_options, smooth, KIND_REAL, NULL)                                                      \
    F(npksd_options, standardize, KIND_INT, NULL)                                                  \
    F(npksd_options, features, KIND_SIZE, NULL)                                                    \
    F(npksd_options, stop_after, KIND_SIZE, NULL)                                                  \
    F(npksd_options, calibration, KIND_ENUM, calibrations)                                         \
    F(npksd_options, diagnose, KIND_INT, NULL)                                                     \
    F(npksd_options, block, KIND_SIZE, NULL)

#define SIZE(type)             (uint64_t)sizeof(type),
#define FIELD(type, name)      (uint64_t)offsetof(type, name), (uint64_t)sizeof(((type *)0)->name),
#define SIZED(type, name, k, n) FIELD(type, name)

static const uint64_t layout[] = {
    SIZE(npksd_real)
    SIZE(npksd_allocator) FIELD(npksd_allocator, alloc_fn) FIELD(npksd_allocator, free_fn)
    FIELD(npksd_allocator, user_data)
    SIZE(npksd_rng) FIELD(npksd_rng, next_fn) FIELD(npksd_rng, seek_fn) FIELD(npksd_rng, user_data)
    SIZE(npksd_rng_state) FIELD(npksd_rng_state, seed_) FIELD(npksd_rng_state, stream_)
    FIELD(npksd_rng_state, index_) FIELD(npksd_rng_state, words_)
    SIZE(npksd_options) OPTIONS(SIZED)
    SIZE(npksd_result) FIELD(npksd_result, statistic) FIELD(npksd_result, p_value)
    FIELD(npksd_result, threshold) FIELD(npksd_result, bandwidth) FIELD(npksd_result, reject)
    FIELD(npksd_result, replicates) FIELD(npksd_result, p_low) FIELD(npksd_result, p_high)
    FIELD(npksd_result, ksd2) FIELD(npksd_result, out_of_range) FIELD(npksd_result, leading)
    FIELD(npksd_result, flags)
    SIZE(npksd_pair) FIELD(npksd_pair, first) FIELD(npksd_pair, second) FIELD(npksd_pair, observed)
    FIELD(npksd_pair, expected) FIELD(npksd_pair, p_adjusted)
    SIZE(npksd_diagnosis) FIELD(npksd_diagnosis, coordinate_statistic)
    FIELD(npksd_diagnosis, coordinate_p) FIELD(npksd_diagnosis, coordinate_p_adjusted)
    FIELD(npksd_diagnosis, row_influence) FIELD(npksd_diagnosis, coordinate_shift)
    FIELD(npksd_diagnosis, coordinate_distance) FIELD(npksd_diagnosis, pairs)
    FIELD(npksd_diagnosis, pair_capacity) FIELD(npksd_diagnosis, pair_count)
    SIZE(npksd_self_check_result) FIELD(npksd_self_check_result, runs)
    FIELD(npksd_self_check_result, rejected) FIELD(npksd_self_check_result, mean_p)
    FIELD(npksd_self_check_result, distance) FIELD(npksd_self_check_result, uniform_p)
    FIELD(npksd_self_check_result, repeatable) FIELD(npksd_self_check_result, suspicious)
    SIZE(npksd_power_result) FIELD(npksd_power_result, runs) FIELD(npksd_power_result, rejected)
    FIELD(npksd_power_result, power) FIELD(npksd_power_result, low) FIELD(npksd_power_result, high)
    SIZE(npksd_monitor) FIELD(npksd_monitor, recordings) FIELD(npksd_monitor, capacity)
    FIELD(npksd_monitor, alpha) FIELD(npksd_monitor, p) FIELD(npksd_monitor, log_evidence)
    FIELD(npksd_monitor, alarm) FIELD(npksd_monitor, alarm_at) FIELD(npksd_monitor, log_change)
    FIELD(npksd_monitor, change_alarm) FIELD(npksd_monitor, change_alarm_at)
    FIELD(npksd_monitor, seed_) FIELD(npksd_monitor, tester_) FIELD(npksd_monitor, kept_)
    FIELD(npksd_monitor, terms_) FIELD(npksd_monitor, reserve_) FIELD(npksd_monitor, sums_)
    FIELD(npksd_monitor, bets_) FIELD(npksd_monitor, changes_)
    SIZE(npksd_worker) FIELD(npksd_worker, rng) FIELD(npksd_worker, user_data)
    FIELD(npksd_worker, scratch) FIELD(npksd_worker, scratch_bytes)
};

uint64_t npksd_layout(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, a number at a time */
    for (size_t i = 0; i < sizeof layout / sizeof layout[0]; i++)
        hash = (hash ^ layout[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ======== options by name ======== */

typedef struct choice {
    const char *name;
    int value;
} choice;

static const choice summaries[] = { { "MEAN", NPKSD_SUMMARY_MEAN }, { "NONE", NPKSD_SUMMARY_NONE },
                                    { "ALL", NPKSD_SUMMARY_ALL }, { "MEAN_VAR", NPKSD_SUMMARY_MEAN_VAR },
                                    { "NEIGHBOURS", NPKSD_SUMMARY_NEIGHBOURS },
                                    { "CALLBACK", NPKSD_SUMMARY_CALLBACK }, { NULL, 0 } };
static const choice estimators[] = { { "AUTO", NPKSD_ESTIMATOR_AUTO }, { "GAUSS", NPKSD_ESTIMATOR_GAUSS },
                                     { "POLY", NPKSD_ESTIMATOR_POLY }, { "SPLINE", NPKSD_ESTIMATOR_SPLINE },
                                     { "RBF", NPKSD_ESTIMATOR_RBF },
                                     { "CALLBACK", NPKSD_ESTIMATOR_CALLBACK }, { NULL, 0 } };
static const choice kernels[] = { { "GAUSS", NPKSD_KERNEL_GAUSS }, { "IMQ", NPKSD_KERNEL_IMQ }, { NULL, 0 } };
static const choice forms[] = { { "VECTOR", NPKSD_FORM_VECTOR }, { "SCALAR", NPKSD_FORM_SCALAR }, { NULL, 0 } };
static const choice statistics[] = { { "U", NPKSD_STATISTIC_U }, { "UV", NPKSD_STATISTIC_UV },
                                     { "V", NPKSD_STATISTIC_V }, { NULL, 0 } };
static const choice calibrations[] = { { "MONTE_CARLO", NPKSD_CALIBRATE_MONTE_CARLO },
                                       { "WILD_BOOTSTRAP", NPKSD_CALIBRATE_WILD_BOOTSTRAP }, { NULL, 0 } };
static const choice components[] = { { "STEIN", NPKSD_COMPONENT_STEIN }, { "MIRROR", NPKSD_COMPONENT_MIRROR },
                                     { "MOMENT", NPKSD_COMPONENT_MOMENT }, { "MMD", NPKSD_COMPONENT_MMD },
                                     { "MARGIN", NPKSD_COMPONENT_MARGIN }, { "PAIR", NPKSD_COMPONENT_PAIR },
                                     { "ALL", NPKSD_COMPONENT_ALL }, { NULL, 0 } };

typedef struct field {
    const char *name;
    int kind;
    size_t offset;
    const choice *choices;
} field;

#define NAMED(type, name, kind, choices) { #name, kind, offsetof(type, name), choices },
static const field fields[] = { OPTIONS(NAMED) };
enum { FIELD_COUNT = sizeof fields / sizeof fields[0], NAME_MOST = 40 };

static const char *say(const char *format, ...)
{
    static THREAD_LOCAL char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return sentence;
}

/* How many letters to insert, delete or replace to turn a into b. */
static size_t edits(const char *a, const char *b)
{
    size_t row[NAME_MOST + 1], length = strlen(b);
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != 0; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= length; j++) {
            size_t best = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[length];
}

static const char *unknown_field(const char *name)
{
    const char *nearest = "";
    size_t fewest = SIZE_MAX;
    for (size_t f = 0; f < FIELD_COUNT; f++) {
        size_t count = edits(name, fields[f].name);
        if (count < fewest) {
            fewest = count;
            nearest = fields[f].name;
        }
    }
    return say("%.60s: there is no such field; did you mean %s? npksd.h lists all of npksd_options", name, nearest);
}

/* Does the word at text name the choice? mean_var, MEAN-VAR and NPKSD_SUMMARY_MEAN_VAR are the same. */
static int names_choice(const char *text, size_t length, const char *field_name, const char *choice_name)
{
    char full[3 * NAME_MOST];
    const char *singular = strcmp(field_name, "components") == 0 ? "component"
        : strcmp(field_name, "calibration") == 0                 ? "calibrate"
                                                                 : field_name;
    snprintf(full, sizeof full, "npksd_%s_%s", singular, choice_name);
    for (int form = 0; form < 2; form++) {
        const char *name = form == 0 ? choice_name : full;
        size_t i = 0;
        while (i < length && name[i] != 0
               && toupper((unsigned char)name[i]) == toupper(text[i] == '-' ? '_' : (unsigned char)text[i]))
            i++;
        if (i == length && name[i] == 0)
            return 1;
    }
    return 0;
}

static const char *unknown_choice(const field *f, const char *value)
{
    char list[200] = "";
    for (const choice *c = f->choices; c->name != NULL; c++) {
        strcat(list, c == f->choices ? "" : ", ");
        strcat(list, c->name);
    }
    return say("%s: unknown value '%.60s'; %s %s", f->name, value, f->kind == KIND_SET ? "some of" : "one of", list);
}

/* Digits and nothing else. */
static int parse_whole(const char *text, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    if (*text == 0)
        return 0;
    for (; *text != 0; text++) {
        if (*text < '0' || *text > '9')
            return 0;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (most - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}

/* A decimal number, with a point whatever the locale. */
static int parse_real(const char *text, npksd_real *out)
{
    char copy[100], *end;
    const char *mark = localeconv()->decimal_point, *point = strchr(text, '.');
    if (*text == 0 || strlen(text) >= 80 || strspn(text, "+-.0123456789eE") != strlen(text))
        return 0;
    if (point != NULL)
        snprintf(copy, sizeof copy, "%.*s%.10s%s", (int)(point - text), text, mark, point + 1);
    else
        snprintf(copy, sizeof copy, "%s", text);
    *out = (npksd_real)strtod(copy, &end);
    return *end == 0 && end != copy;
}

/* One name, or for a set several separated by | , + or blanks; a number works, too. */
static int parse_choices(const field *f, const char *text, unsigned *out)
{
    const char *between = f->kind == KIND_SET ? "|,+ " : "";
    uint64_t number;
    int found = 0;
    if (parse_whole(text, 2147483647, &number)) {
        *out = (unsigned)number;
        return 1;
    }
    for (*out = 0; *text != 0; found = 1) {
        size_t length = strcspn(text, between);
        const choice *c = f->choices;
        while (c->name != NULL && !names_choice(text, length, f->name, c->name))
            c++;
        if (c->name == NULL)
            return 0;
        *out |= (unsigned)c->value;
        text += length;
        text += strspn(text, between);
    }
    return found;
}

/* NULL, or why the text is not a value of this kind. */
static const char *assign(npksd_options *o, const field *f, const char *value)
{
    void *place = (char *)o + f->offset;
    uint64_t whole = 0;
    unsigned chosen = 0;
    uint64_t most = f->kind == KIND_SIZE ? (uint64_t)SIZE_MAX : f->kind == KIND_INT ? 2147483647 : UINT64_MAX;
    switch (f->kind) {
    case KIND_POINTER: return say("%s: a pointer, which text cannot give; set it in npksd_options", f->name);
    case KIND_REAL:
        if (!parse_real(value, (npksd_real *)place))
            return say("%s: '%.60s' is not a decimal number", f->name, value);
        return NULL;
    case KIND_ENUM:
    case KIND_SET:
        if (!parse_choices(f, value, &chosen))
            return unknown_choice(f, value);
        if (f->kind == KIND_SET)
            *(unsigned *)place = chosen;
        else
            *(int *)place = (int)chosen;
        return NULL;
    default: break;
    }
    if (!parse_whole(value, most, &whole))
        return say("%s: '%.60s' is not a whole number from 0 to %llu", f->name, value, (unsigned long long)most);
    if (f->kind == KIND_U64)
        *(uint64_t *)place = whole;
    else if (f->kind == KIND_SIZE)
        *(size_t *)place = (size_t)whole;
    else
        *(int *)place = (int)whole;
    return NULL;
}

static int some_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *user_data)
{
    (void)rows, (void)count, (void)m, (void)scores, (void)user_data;
    return 1;
}
static void some_summary(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *user_data)
{
    (void)row, (void)m, (void)i, (void)t, (void)user_data;
}

/* Why no setting of the other fields would allow this value, or NULL. Two settings are tried that allow
   as much as they can; the rules and their sentences stay those of npksd_options_problem. */
static const char *wrong_by_itself(const field *f, const char *value)
{
    static const npksd_real scales[NPKSD_SCALES_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    const char *problem = NULL;
    for (int attempt = 0; attempt < 2; attempt++) {
        npksd_options o = npksd_default_options();
        o.replicates = 268435456;
        o.alpha = (npksd_real)0.999;
        o.components = NPKSD_COMPONENT_STEIN;
        o.scales = scales;
        o.scale_count = 1;
        o.estimator = attempt == 0 ? NPKSD_ESTIMATOR_RBF : NPKSD_ESTIMATOR_CALLBACK;
        o.score_fn = some_score;
        o.summary = attempt == 0 ? NPKSD_SUMMARY_NONE : NPKSD_SUMMARY_CALLBACK;
        o.summary_fn = some_summary;
        o.summary_dim = 1;
        assign(&o, f, value);
        const char *refused = npksd_options_problem(&o, 2, 2);
        if (refused == NULL)
            return NULL;
        if (problem == NULL)
            problem = refused;
    }
    return problem;
}

const char *npksd_options_set(npksd_options *options, const char *name, const char *value)
{
    if (options == NULL || name == NULL || value == NULL)
        return "npksd_options_set: a NULL pointer";
    for (size_t f = 0; f < FIELD_COUNT; f++)
        if (strcmp(fields[f].name, name) == 0) {
            npksd_options changed = *options;
            const char *problem = assign(&changed, &fields[f], value);
            if (problem == NULL)
                problem = wrong_by_itself(&fields[f], value);
            if (problem == NULL)
                *options = changed;
            return problem;
        }
    return unknown_field(name);
}
