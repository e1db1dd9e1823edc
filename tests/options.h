/* Options as words, for tables: "spline all resample=2 redraw scales=0.3,1". What is not named stays as it is. */
#ifndef NPKSD_TESTS_OPTIONS_H
#define NPKSD_TESTS_OPTIONS_H

#include "npksd.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum word_kind { WORD_IS_INT, WORD_IS_COMPONENT, WORD_HAS_SIZE, WORD_HAS_REAL, WORD_HAS_REALS } word_kind;

typedef struct option_word {
    const char *word; /* one that ends in = is followed by numbers */
    word_kind kind;
    size_t offset;
    int value;
} option_word;

#define WORD_INT(word, field, value) { word, WORD_IS_INT, offsetof(npksd_options, field), value }
#define WORD_COMPONENT(word, value) { word, WORD_IS_COMPONENT, 0, value }
#define WORD_SIZE(field) { #field "=", WORD_HAS_SIZE, offsetof(npksd_options, field), 0 }
#define WORD_REAL(field) { #field "=", WORD_HAS_REAL, offsetof(npksd_options, field), 0 }

static inline const option_word *find_word(const char *text, size_t length)
{
    static const option_word words[] = {
        WORD_INT("auto", estimator, NPKSD_ESTIMATOR_AUTO),
        WORD_INT("gauss", estimator, NPKSD_ESTIMATOR_GAUSS),
        WORD_INT("poly", estimator, NPKSD_ESTIMATOR_POLY),
        WORD_INT("spline", estimator, NPKSD_ESTIMATOR_SPLINE),
        WORD_INT("rbf", estimator, NPKSD_ESTIMATOR_RBF),
        WORD_INT("score_callback", estimator, NPKSD_ESTIMATOR_CALLBACK),
        WORD_INT("none", summary, NPKSD_SUMMARY_NONE),
        WORD_INT("all", summary, NPKSD_SUMMARY_ALL),
        WORD_INT("mean_var", summary, NPKSD_SUMMARY_MEAN_VAR),
        WORD_INT("neighbours", summary, NPKSD_SUMMARY_NEIGHBOURS),
        WORD_INT("summary_callback", summary, NPKSD_SUMMARY_CALLBACK),
        WORD_INT("imq", kernel, NPKSD_KERNEL_IMQ),
        WORD_INT("scalar", form, NPKSD_FORM_SCALAR),
        WORD_INT("v", statistic, NPKSD_STATISTIC_V),
        WORD_INT("u", statistic, NPKSD_STATISTIC_U),
        WORD_INT("uv", statistic, NPKSD_STATISTIC_UV),
        WORD_INT("wild", calibration, NPKSD_CALIBRATE_WILD_BOOTSTRAP),
        WORD_INT("unscaled", standardize, 0),
        WORD_INT("redraw", resample_redraw, 1),
        WORD_INT("distinct", resample_distinct, 1),
        WORD_INT("diagnose", diagnose, 1),
        WORD_INT("no_diagnose", diagnose, 0),
        WORD_COMPONENT("stein", NPKSD_COMPONENT_STEIN),
        WORD_COMPONENT("mirror", NPKSD_COMPONENT_MIRROR),
        WORD_COMPONENT("moment", NPKSD_COMPONENT_MOMENT),
        WORD_COMPONENT("mmd", NPKSD_COMPONENT_MMD),
        WORD_COMPONENT("margin", NPKSD_COMPONENT_MARGIN),
        WORD_COMPONENT("pair", NPKSD_COMPONENT_PAIR),
        WORD_SIZE(basis), WORD_SIZE(resample), WORD_SIZE(features), WORD_SIZE(pilot),
        WORD_SIZE(fit_rows), WORD_SIZE(stop_after), WORD_SIZE(block),
        WORD_REAL(bandwidth), WORD_REAL(smooth), WORD_REAL(ridge),
        { "scales=", WORD_HAS_REALS, 0, 0 },
    };
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        if (strlen(words[k].word) == length && strncmp(words[k].word, text, length) == 0)
            return &words[k];
    fprintf(stderr, "no option is called %s\n", text);
    abort();
}

/* Options only point to scales: the last few sets are kept. */
static inline void take_scales(npksd_options *options, const char *text)
{
    static npksd_real kept[64][NPKSD_SCALES_MAX];
    static size_t next = 0;
    npksd_real *scales = kept[next++ % 64];
    char *end = NULL;
    options->scales = scales;
    options->scale_count = 0;
    do {
        scales[options->scale_count++] = (npksd_real)strtod(text, &end);
        text = end + 1;
    } while (*end == ',' && options->scale_count < NPKSD_SCALES_MAX);
}

static inline void set_options(npksd_options *options, const char *text)
{
    unsigned components = 0;
    for (text += strspn(text, " "); *text; text += strcspn(text, " "), text += strspn(text, " ")) {
        size_t length = strcspn(text, " =");
        const option_word *word = find_word(text, length + (text[length] == '='));
        const char *number = text + strlen(word->word);
        void *at = (unsigned char *)options + word->offset;
        size_t size = word->kind == WORD_HAS_SIZE ? strtoul(number, NULL, 10) : 0;
        npksd_real real = word->kind == WORD_HAS_REAL ? (npksd_real)strtod(number, NULL) : 0;
        switch (word->kind) {
        case WORD_IS_INT: memcpy(at, &word->value, sizeof word->value); break;
        case WORD_IS_COMPONENT: components |= (unsigned)word->value; break;
        case WORD_HAS_SIZE: memcpy(at, &size, sizeof size); break;
        case WORD_HAS_REAL: memcpy(at, &real, sizeof real); break;
        case WORD_HAS_REALS: take_scales(options, number); break;
        }
    }
    if (components)
        options->components = components;
}

#endif /* NPKSD_TESTS_OPTIONS_H */
