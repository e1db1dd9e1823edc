/*
 * vectors.h - reads the known answers in the folder vectors; make_vectors.py describes them.
 *
 * A file is a list of words. Each reader names the key that must come next; a word out of place is
 * a broken file, and the program stops with the place. Compile with VECTORS_DIR if the tests do not
 * run in their own folder.
 */
#ifndef NPKSD_VECTORS_H
#define NPKSD_VECTORS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../npksd.h"

#if defined(__GNUC__) || defined(__clang__)
#define VECTORS_FN static __attribute__((unused))
#else
#define VECTORS_FN static
#endif
#ifndef VECTORS_DIR
#define VECTORS_DIR "vectors"
#endif

typedef struct vectors {
    FILE *file;
    const char *name;
    char word[64]; /* the last word read */
} vectors;

VECTORS_FN void vectors_fail(const vectors *v, const char *wanted)
{
    fprintf(stderr, "vectors/%s.txt: wanted %s, found %s at byte %ld\n", v->name, wanted, v->word,
            v->file ? ftell(v->file) : 0L);
    exit(2);
}

VECTORS_FN const char *vectors_next(vectors *v)
{
    if (fscanf(v->file, "%63s", v->word) != 1)
        vectors_fail(v, "another word");
    return v->word;
}

VECTORS_FN const char *vectors_word(vectors *v, const char *key)
{
    if (strcmp(vectors_next(v), key) != 0)
        vectors_fail(v, key);
    return vectors_next(v);
}

VECTORS_FN double vectors_real(vectors *v, const char *key)
{
    return strtod(vectors_word(v, key), NULL);
}

VECTORS_FN size_t vectors_size(vectors *v, const char *key)
{
    return (size_t)strtoumax(vectors_word(v, key), NULL, 10);
}

VECTORS_FN uint64_t vectors_hex(vectors *v, const char *key)
{
    return (uint64_t)strtoumax(vectors_word(v, key), NULL, 16);
}

/* An array as npksd_real; NULL if it is empty. The caller frees it. count may be NULL. */
VECTORS_FN npksd_real *vectors_array(vectors *v, const char *key, size_t *count)
{
    size_t n = vectors_size(v, key);
    npksd_real *out = n ? (npksd_real *)malloc(n * sizeof *out) : NULL;
    if (n && !out)
        vectors_fail(v, "memory");
    for (size_t i = 0; i < n; i++)
        out[i] = (npksd_real)strtod(vectors_next(v), NULL);
    if (count)
        *count = n;
    return out;
}

/* The value of the enumeration that a word stands for. "constant" has none and is -1. */
VECTORS_FN int vectors_enum(vectors *v, const char *word)
{
    static const struct {
        const char *word;
        int value;
    } table[] = { { "imq", NPKSD_KERNEL_IMQ },
                  { "vector", NPKSD_FORM_VECTOR },
                  { "scalar", NPKSD_FORM_SCALAR },
                  { "v", NPKSD_STATISTIC_V },
                  { "u", NPKSD_STATISTIC_U },
                  { "none", NPKSD_SUMMARY_NONE },
                  { "mean", NPKSD_SUMMARY_MEAN },
                  { "all", NPKSD_SUMMARY_ALL },
                  { "mean_var", NPKSD_SUMMARY_MEAN_VAR },
                  { "neighbours", NPKSD_SUMMARY_NEIGHBOURS },
                  { "auto", NPKSD_ESTIMATOR_AUTO },
                  { "poly", NPKSD_ESTIMATOR_POLY },
                  { "spline", NPKSD_ESTIMATOR_SPLINE },
                  { "rbf", NPKSD_ESTIMATOR_RBF },
                  { "constant", -1 } };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].word, word) == 0)
            return table[i].value;
    vectors_fail(v, "the name of an option");
    return -1;
}

/* "gauss" is a kernel and an estimator, so these two have readers of their own. */
VECTORS_FN int vectors_kernel(vectors *v)
{
    const char *word = vectors_word(v, "kernel");
    return strcmp(word, "gauss") == 0 ? NPKSD_KERNEL_GAUSS : vectors_enum(v, word);
}

VECTORS_FN int vectors_estimator(vectors *v, const char *word)
{
    return strcmp(word, "gauss") == 0 ? NPKSD_ESTIMATOR_GAUSS : vectors_enum(v, word);
}

/* Opens vectors/NAME.txt; returns the number of cases. */
VECTORS_FN size_t vectors_open(vectors *v, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.txt", VECTORS_DIR, name);
    memset(v, 0, sizeof *v);
    v->name = name;
    v->file = fopen(path, "r");
    if (!v->file)
        vectors_fail(v, "the file");
    return vectors_size(v, "cases");
}

VECTORS_FN void vectors_close(vectors *v) { fclose(v->file); }

#endif /* NPKSD_VECTORS_H */
