/* The answer as JSON, for programs. */
#include "tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ======== values ======== */

/* The fewest digits that give the same number back; what lies behind the twelfth is rounding. JSON has
   no infinity. */
static void print_number(double value)
{
    char text[40];
    if (!isfinite(value)) {
        fputs("null", stdout);
        return;
    }
    for (int digits = 1; digits <= 12; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, stdout);
}

static void member(const char *name, double value, const char *after)
{
    printf("\"%s\": ", name);
    print_number(value);
    fputs(after, stdout);
}

static void line_number(const char *name, double value)
{
    fputs("    ", stdout);
    member(name, value, ",\n");
}

static void line_text(const char *name, const char *value)
{
    printf("    \"%s\": ", name);
    print_json_string(stdout, value ? value : "");
    fputs(",\n", stdout);
}

static const char *truth(int value) { return value ? "true" : "false"; }

/* ======== parts ======== */

static void print_columns(const comparison *c)
{
    const npksd_diagnosis *d = &c->diagnosis;
    printf("    \"columns\": [");
    for (size_t k = 0; k < c->observed.m; k++) {
        size_t i = c->column_order[k];
        printf("%s\n        { \"name\": ", k ? "," : "");
        print_json_string(stdout, c->observed.names[i]);
        fputs(", ", stdout);
        member("p_adjusted", (double)d->coordinate_p_adjusted[i], ", ");
        member("p", (double)d->coordinate_p[i], ",\n          ");
        printf("\"differs\": %s, ", truth(column_differs(c, i)));
        printf("\"related\": %s, ", truth(c->related[i]));
        member("shift", c->shift[i], ", ");
        member("distance", c->distance[i], ",\n          ");
        member("observed_mean", c->observed_mean[i], ", ");
        member("observed_sd", c->observed_sd[i], ",\n          ");
        member("synthetic_mean", c->synthetic_mean[i], ", ");
        member("synthetic_sd", c->synthetic_sd[i], " }");
    }
    printf("\n    ],\n");
}

static void print_pairs(const comparison *c)
{
    const npksd_diagnosis *d = &c->diagnosis;
    printf("    \"pairs\": [");
    for (size_t k = 0; k < d->pair_count; k++) {
        printf("%s\n        { \"first\": ", k ? "," : "");
        print_json_string(stdout, c->observed.names[d->pairs[k].first]);
        fputs(", \"second\": ", stdout);
        print_json_string(stdout, c->observed.names[d->pairs[k].second]);
        fputs(", ", stdout);
        member("p_adjusted", (double)d->pairs[k].p_adjusted, ",\n          ");
        printf("\"differs\": %s, ", truth(pair_differs(c, k)));
        member("observed", (double)d->pairs[k].observed, ", ");
        member("expected", (double)d->pairs[k].expected, " }");
    }
    printf("\n    ],\n");
}

/* Empty where another component leads: rows would explain another verdict. */
static void print_rows(const comparison *c)
{
    printf("    \"worst_rows\": [");
    for (size_t k = 0; rows_explain(c) && k < WORST_ROWS && k < c->observed.n; k++) {
        size_t row = c->row_order[k];
        printf("%s\n        { \"%s\": %zu, ", k ? "," : "", c->observed.place,
               c->observed.lines[row]);
        member("influence", (double)c->diagnosis.row_influence[row], " }");
    }
    printf("\n    ],\n");
}

static void print_settings(const settings *s)
{
    const npksd_options *o = &s->options;
    fputs("    \"settings\": { ", stdout);
    member("alpha", (double)o->alpha, ", ");
    printf("\"seed\": %llu, \"replicates\": %zu, \"fit_rows\": %zu, \"pilot\": %zu,\n        "
           "\"summary\": \"%s\", "
           "\"estimator\": \"%s\", ",
           (unsigned long long)o->seed, o->replicates, o->fit_rows, o->pilot,
           summary_words[o->summary], estimator_words[o->estimator]);
    member("smooth", (double)o->smooth, ", ");
    printf("\"features\": %zu, \"block\": %zu },\n", o->features, o->block);
}

static void print_notes(const comparison *c, int common)
{
    const char *separator = "";
    printf("    \"notes\": [");
    for (size_t k = 0; k < (common ? c->common->count : 0) + c->notes.count; k++) {
        size_t first = common ? c->common->count : 0;
        printf("%s\n        ", separator);
        print_json_string(stdout, k < first ? c->common->items[k] : c->notes.items[k - first]);
        separator = ",";
    }
    printf("%s],\n", *separator ? "\n    " : "");
}

static void print_source(const comparison *c)
{
    printf("    \"observed_rows_used\": %zu,\n", c->observed.n);
    if (c->settings->program.command) {
        char *command =
            clean_text(c->settings->program.command, strlen(c->settings->program.command));
        line_text("generator", command);
        printf("    \"generator_calls\": %zu,\n", c->program_calls);
        free(command);
    } else {
        line_text("synthetic", c->synthetic.file);
        printf("    \"synthetic_rows\": %zu,\n    \"synthetic_rows_used\": %zu,\n",
               c->synthetic.file_rows, c->synthetic.n);
    }
    printf("    \"copies\": { \"synthetic_rows\": %zu, \"repeated_observed_rows\": %zu, "
           "\"suspicious\": %s, "
           "\"same_file\": %s },\n",
           c->copies.rows, c->copies.repeated, truth(c->copies.suspicious),
           truth(c->copies.same_file));
}

static void print_comparison(const comparison *c, int common)
{
    const npksd_result *r = &c->result;
    print_source(c);
    printf("    \"reject\": %s,\n", truth(r->reject));
    line_number("p_value", (double)r->p_value);
    line_number("p_low", (double)r->p_low);
    line_number("p_high", (double)r->p_high);
    line_number("statistic", (double)r->statistic);
    line_number("threshold", (double)r->threshold);
    line_number("ksd2", (double)r->ksd2);
    line_number("out_of_range", (double)r->out_of_range);
    line_text("leading", npksd_component_string(r->leading));
    line_text("headline", c->headline);
    line_text("verdict", c->verdict);
    line_text("where", c->where);
    line_text("kind", c->kind);
    line_text("caveat", c->caveat);
    print_columns(c);
    print_pairs(c);
    print_rows(c);
    print_notes(c, common);
    printf("    \"seconds\": %.3f\n", c->seconds);
}

static void print_ranking(const comparison *candidates, const ranking *r)
{
    printf("    \"ranking\": { \"about\": ");
    print_json_string(stdout, r->words);
    printf(",\n        \"order\": [");
    for (size_t k = 0; k < r->count; k++) {
        const ranked *item = &r->items[r->order[k]];
        printf("%s\n        { \"synthetic\": ", k ? "," : "");
        print_json_string(stdout, candidates[r->order[k]].source);
        fputs(", ", stdout);
        member("distance", item->distance, ", ");
        member("low", item->low, ", ");
        member("high", item->high, ", ");
        member("best", item->best, " }");
    }
    printf(" ] },\n");
}

/* One candidate: all in one object. Several: an object for each in "candidates". */
void print_json(const comparison *candidates, size_t count, const ranking *r)
{
    const comparison *c = &candidates[0];
    printf("{\n    \"npksd\": \"%d.%d.%d\",\n", NPKSD_VERSION_MAJOR, NPKSD_VERSION_MINOR,
           NPKSD_VERSION_PATCH);
    line_text("command", c->settings->command);
    line_text("observed", c->observed.file);
    printf("    \"observed_rows\": %zu,\n", c->observed.file_rows);
    print_settings(c->settings);
    if (count == 1) {
        print_comparison(c, 1);
        puts("}");
        return;
    }
    printf("    \"notes\": [");
    for (size_t k = 0; k < c->common->count; k++) {
        printf("%s\n        ", k ? "," : "");
        print_json_string(stdout, c->common->items[k]);
    }
    printf("],\n");
    print_ranking(candidates, r);
    printf("    \"candidates\": [");
    for (size_t k = 0; k < count; k++) {
        printf("%s\n    {\n", k ? "," : "");
        print_comparison(&candidates[k], 0);
        printf("    }");
    }
    puts("\n    ]\n}");
}
