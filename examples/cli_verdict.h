/* What npksd_cli.c says: the verdict in plain words, as text and as JSON for programs. */
#ifndef CLI_VERDICT_H
#define CLI_VERDICT_H

/* ======== the verdict ======== */

/* Indices 0 .. count-1 with the largest key first; equal keys keep their order. */
static size_t *sort_down(const double *keys, size_t count)
{
    size_t *order = (size_t *)cli_memory(NULL, 2 * count, sizeof *order), *other = order + count;
    for (size_t k = 0; k < count; k++)
        order[k] = k;
    for (size_t width = 1; width < count; width *= 2) { /* merge sort */
        for (size_t k = 0; k < count; k += 2 * width) {
            size_t middle = k + width < count ? k + width : count, i = k, j = middle;
            size_t end = k + 2 * width < count ? k + 2 * width : count;
            for (size_t to = k; to < end; to++)
                other[to] = i < middle && (j == end || keys[order[i]] >= keys[order[j]])
                    ? order[i++]
                    : order[j++];
        }
        memcpy(order, other, count * sizeof *order);
    }
    return order;
}

static void rank_columns_and_rows(cli_run *run)
{
    size_t m = run->observed.m, n = run->observed.n;
    double *keys = (double *)cli_memory(NULL, m > n ? m : n, sizeof *keys), largest = 0;
    for (size_t i = 0; i < m; i++) {
        keys[i] = (double)run->diagnosis.coordinate_statistic[i];
        largest = fabs(keys[i]) > largest ? fabs(keys[i]) : largest;
    }
    for (size_t i = 0; i < m; i++) /* the adjusted p first, then the statistic */
        keys[i] = -(double)run->diagnosis.coordinate_p_adjusted[i]
            + (largest > 0 ? 1e-6 * keys[i] / largest : 0);
    run->column_order = sort_down(keys, m);
    for (size_t r = 0; r < n; r++)
        keys[r] = (double)run->diagnosis.row_influence[r];
    run->row_order = sort_down(keys, n);
    free(keys);
}

static const char *component_name(unsigned leading)
{
    return leading == NPKSD_COMPONENT_STEIN ? "STEIN"
        : leading == NPKSD_COMPONENT_MIRROR ? "MIRROR"
        : leading == NPKSD_COMPONENT_MOMENT ? "MOMENT"
                                            : "MMD";
}

static const char *component_words(unsigned leading)
{
    return leading == NPKSD_COMPONENT_STEIN ? "the place and the shape of the distribution"
        : leading == NPKSD_COMPONENT_MIRROR ? "spread and tails"
        : leading == NPKSD_COMPONENT_MOMENT ? "means, variances and correlations"
                                            : "how often values of each kind come up";
}

/* The test of everything and the tests of single columns may disagree; say what that means. */
static void note_disagreement(cli_run *run)
{
    size_t worst = run->column_order[0];
    double p = (double)run->diagnosis.coordinate_p_adjusted[worst];
    char name[256];
    cli_cut(run->observed.names[worst], 40, 0, name, sizeof name);
    if (!run->result.reject && p <= (double)run->options.alpha)
        cli_note(run,
                 "All columns together are not rejected, but column %s by itself stands out "
                 "(adjusted p = %.4f). These are two tests: go by the one that you had in mind "
                 "before, and record more rows if it matters.",
                 name, p);
    if (run->result.reject && run->observed.m > 1 && p > (double)run->options.alpha)
        cli_note(run,
                 "No single column stands out: the difference is spread over several, or is "
                 "in how they hang together.");
}

static void note_flags(cli_run *run)
{
    const npksd_result *r = &run->result;
    note_disagreement(run);
    if (run->observed.n < 20)
        cli_note(run, "Only %zu observed rows: they can show gross differences only.",
                 run->observed.n);
    if ((r->flags & NPKSD_FLAG_TIES) && run->options.smooth <= 0)
        cli_note(run,
                 "Many values repeat (whole or rounded numbers?). The p-value is right; --smooth "
                 "0.1 often shows more.");
    if (r->out_of_range >= (npksd_real)0.1)
        cli_note(run,
                 "%.0f %% of the observed rows lie outside the range of the rows that taught the "
                 "test.",
                 100 * (double)r->out_of_range);
}

static void write_verdict(cli_run *run)
{
    const npksd_result *r = &run->result;
    const char *source = run->generator ? "the generator" : run->synthetic.file;
    size_t beyond = (size_t)floor((double)r->p_value * (double)(r->replicates + 1) - 0.5),
           n = run->observed.n;
    char many[24] = "none";
    if (beyond > 0)
        snprintf(many, sizeof many, "%zu", beyond);
    snprintf(run->headline, SENTENCE, "%s: p = %.4f", r->reject ? "REJECTED" : "Not rejected",
             (double)r->p_value);
    snprintf(
        run->meaning, SENTENCE,
        "%s The test compared these %zu rows with %zu data sets of the same size %s: %s of them "
        "%s as far off. "
        "p is %s %g, and with endlessly many data sets it would lie between %.4f and %.4f (95 %%). "
        "Effect size KSD^2 = %.4g (0 is no difference; it does not grow with the number of rows). "
        "What stood out most: %s (%s).",
        r->reject ? "The observed rows are not like what this source makes."
                  : "The observed rows show no difference from what this source makes.",
        n, r->replicates,
        run->generator ? "drawn by the generator"
                       : "made by dealing out observed and synthetic rows at random",
        many, beyond == 1 ? "was" : "were", r->reject ? "at most" : "above",
        (double)run->options.alpha, (double)r->p_low, (double)r->p_high, (double)r->ksd2,
        component_words(r->leading), component_name(r->leading));
    if (r->reject)
        snprintf(
            run->caveat, SENTENCE,
            "Rejected does not mean useless: with enough rows every model is rejected. Look at the "
            "columns and at the effect size. If nothing differed, this would happen in at most %g "
            "of "
            "100 such tests.",
            100 * (double)run->options.alpha);
    else
        snprintf(
            run->caveat, SENTENCE,
            "Not rejected does not mean right: %zu rows did not show a fault. A small one, or one "
            "that only more rows or other columns would show, may be there. And p means "
            "nothing if %.200s was fitted to these very rows.",
            n, source);
}

static void print_columns(const cli_run *run)
{
    const cli_table *t = &run->observed;
    printf("\n  %-18s %8s %8s   %23s %23s\n", "column", "adjusted", "p", "observed mean, sd",
           "synthetic mean, sd");
    for (size_t k = 0; k < t->m && k < TEXT_COLUMNS; k++) {
        size_t i = run->column_order[k];
        int differs = run->diagnosis.coordinate_p_adjusted[i] <= run->options.alpha;
        char name[128];
        printf("%c %s %8.4f %8.4f   %11.5g %11.5g %11.5g %11.5g\n", differs ? '*' : ' ',
               cli_cut(t->names[i], 18, 18, name, sizeof name),
               (double)run->diagnosis.coordinate_p_adjusted[i],
               (double)run->diagnosis.coordinate_p[i], run->observed_mean[i], run->observed_sd[i],
               run->synthetic_mean[i], run->synthetic_sd[i]);
    }
    if (t->m > TEXT_COLUMNS)
        printf("  and %zu more; --json lists them all\n", t->m - TEXT_COLUMNS);
    if (run->diagnosis.coordinate_p_adjusted[run->column_order[0]] <= run->options.alpha)
        printf("* differs: p, paid for looking at %zu column%s, is at most %g. A changed\n"
               "  dependence marks every column that takes part in it.\n",
               t->m, t->m == 1 ? "" : "s", (double)run->options.alpha);
    else
        printf("  no column by itself differs at level %g\n", (double)run->options.alpha);
}

static void print_rows(const cli_run *run)
{
    enum { SHOWN = 5 };
    const cli_table *t = &run->observed;
    char name[128], blank[128];
    printf("\n  the rows that pull most%s\n%14s", run->result.reject ? "" : " (some always do)",
           "");
    for (size_t k = 0; k < SHOWN && k < t->m; k++) {
        cli_cut(t->names[run->column_order[k]], 11, 0, name, sizeof name);
        cli_cut(name, 11, 11, blank, sizeof blank); /* the blanks go in front: numbers end there */
        printf(" %s%s", blank + strlen(name), name);
    }
    printf("\n");
    for (size_t k = 0; k < WORST_ROWS && k < t->n; k++) {
        size_t row = run->row_order[k];
        printf("  %s %-7zu", t->place, t->lines[row]);
        for (size_t i = 0; i < SHOWN && i < t->m; i++)
            printf(" %11.5g", (double)t->rows[row * t->m + run->column_order[i]]);
        printf("\n");
    }
}

static void print_text(const cli_run *run)
{
    const cli_table *a = &run->observed;
    printf("observed   %s: %zu rows, %zu column%s\n", a->file, a->n, a->m, a->m == 1 ? "" : "s");
    if (run->generator)
        printf("generator  %s (run %zu times)\n\n", run->generator, run->generator_calls);
    else
        printf("synthetic  %s: %zu rows\n\n", run->synthetic.file, run->synthetic.n);
    printf("%s\n", run->headline);
    cli_wrap(stdout, run->meaning);
    printf("\n");
    cli_wrap(stdout, run->caveat);
    for (size_t k = 0; k < run->note_count; k++) {
        char note[SENTENCE + 8];
        snprintf(note, sizeof note, "Note: %s", run->notes[k]);
        printf("\n");
        cli_wrap(stdout, note);
    }
    print_columns(run);
    print_rows(run);
    if (run->report)
        printf("\nreport: %s\n", run->report);
}

/* ======== JSON ======== */

static void json_text(const char *name, const char *value)
{
    printf("    \"%s\": ", name);
    cli_json_string(stdout, value);
    fputs(",\n", stdout);
}

/* JSON has no infinity; the sd of numbers near 1e308 may be one. */
static void json_value(const char *name, double value, const char *after)
{
    if (isfinite(value))
        printf("\"%s\": %.17g%s", name, value, after);
    else
        printf("\"%s\": null%s", name, after);
}

static void json_number(const char *name, double value)
{
    fputs("    ", stdout);
    json_value(name, value, ",\n");
}

static void json_columns(const cli_run *run)
{
    const npksd_diagnosis *d = &run->diagnosis;
    printf("    \"columns\": [");
    for (size_t k = 0; k < run->observed.m; k++) {
        size_t i = run->column_order[k];
        printf("%s\n        { \"name\": ", k ? "," : "");
        cli_json_string(stdout, run->observed.names[i]);
        fputs(", ", stdout);
        json_value("p_adjusted", (double)d->coordinate_p_adjusted[i], ", ");
        json_value("p", (double)d->coordinate_p[i], ",\n          ");
        printf("\"differs\": %s, ",
               d->coordinate_p_adjusted[i] <= run->options.alpha ? "true" : "false");
        json_value("statistic", (double)d->coordinate_statistic[i], ",\n          ");
        json_value("observed_mean", run->observed_mean[i], ", ");
        json_value("observed_sd", run->observed_sd[i], ",\n          ");
        json_value("synthetic_mean", run->synthetic_mean[i], ", ");
        json_value("synthetic_sd", run->synthetic_sd[i], " }");
    }
    printf("\n    ],\n    \"worst_rows\": [");
    for (size_t k = 0; k < WORST_ROWS && k < run->observed.n; k++) {
        size_t row = run->row_order[k];
        printf("%s\n        { \"%s\": %zu, ", k ? "," : "", run->observed.place,
               run->observed.lines[row]);
        json_value("influence", (double)d->row_influence[row], " }");
    }
    printf("\n    ],\n");
}

static void json_settings(const cli_run *run)
{
    const npksd_options *o = &run->options;
    printf(
        "    \"settings\": { \"alpha\": %.17g, \"seed\": %llu, \"replicates\": %zu, \"fit_rows\": "
        "%zu, "
        "\"pilot\": %zu,\n        \"summary\": \"%s\", \"estimator\": \"%s\", \"smooth\": %.17g, "
        "\"features\": %zu, \"block\": %zu },\n",
        (double)o->alpha, (unsigned long long)o->seed, o->replicates, o->fit_rows, o->pilot,
        summary_words[o->summary], estimator_words[o->estimator], (double)o->smooth, o->features,
        o->block);
}

static void print_json(const cli_run *run)
{
    const npksd_result *r = &run->result;
    printf("{\n    \"npksd\": \"%d.%d.%d\",\n", NPKSD_VERSION_MAJOR, NPKSD_VERSION_MINOR,
           NPKSD_VERSION_PATCH);
    json_text("command", run->command);
    json_text("observed", run->observed.file);
    printf("    \"observed_rows\": %zu,\n    \"observed_rows_used\": %zu,\n", run->observed_rows,
           run->observed.n);
    json_text(run->generator ? "generator" : "synthetic",
              run->generator ? run->generator : run->synthetic.file);
    printf(run->generator ? "    \"generator_calls\": %zu,\n" : "    \"synthetic_rows\": %zu,\n",
           run->generator ? run->generator_calls : run->synthetic.n);
    printf("    \"reject\": %s,\n", r->reject ? "true" : "false");
    json_number("p_value", (double)r->p_value);
    json_number("p_low", (double)r->p_low);
    json_number("p_high", (double)r->p_high);
    json_number("statistic", (double)r->statistic);
    json_number("threshold", (double)r->threshold);
    json_number("ksd2", (double)r->ksd2);
    json_number("out_of_range", (double)r->out_of_range);
    json_text("leading", component_name(r->leading));
    json_text("verdict", run->headline);
    json_text("meaning", run->meaning);
    json_text("caveat", run->caveat);
    json_columns(run);
    json_settings(run);
    printf("    \"notes\": [");
    for (size_t k = 0; k < run->note_count; k++) {
        printf("%s\n        ", k ? "," : "");
        cli_json_string(stdout, run->notes[k]);
    }
    printf("%s],\n    \"seconds\": %.3f\n}\n", run->note_count ? "\n    " : "", run->seconds);
}

#endif
