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

/* Adjusted p first, then the distance of the distributions. */
static void rank_columns_and_rows(cli_run *run)
{
    size_t m = run->observed.m, n = run->observed.n;
    double *keys = (double *)cli_memory(NULL, m > n ? m : n, sizeof *keys);
    for (size_t i = 0; i < m; i++)
        keys[i] = 1e-6 * (double)run->diagnosis.coordinate_distance[i]
            - (double)run->diagnosis.coordinate_p_adjusted[i];
    run->column_order = sort_down(keys, m);
    for (size_t r = 0; r < n; r++)
        keys[r] = (double)run->diagnosis.row_influence[r];
    run->row_order = sort_down(keys, n);
    free(keys);
}

static const char *component_words(unsigned leading)
{
    return leading == NPKSD_COMPONENT_STEIN ? "the shape or the location of the distribution"
        : leading == NPKSD_COMPONENT_MIRROR ? "spread or tails"
        : leading == NPKSD_COMPONENT_MOMENT ? "means, variances or covariances"
        : leading == NPKSD_COMPONENT_MMD
        ? "how often values of each kind occur (modes, gaps, limits)"
        : leading == NPKSD_COMPONENT_MARGIN ? "single columns (means, spread or distribution)"
                                            : "how two columns go together";
}

/* Rows are ranked by their part in the Stein statistic: they explain no other component. */
static int rows_explain(const cli_run *run)
{
    unsigned of_scores = NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MIRROR | NPKSD_COMPONENT_MOMENT;
    return (run->result.leading & of_scores) != 0;
}

/* With two files the library compares observed rows with all rows together; observed - all is the
   share b / (a + b) of observed - synthetic, for means and distribution functions alike. */
static double from_pool(const cli_run *run)
{
    double a = (double)run->observed.n, b = (double)run->synthetic.n;
    return run->generator ? 1 : (a + b) / b;
}

/* Difference of the means, in standard deviations. */
static double column_shift(const cli_run *run, size_t column)
{
    double shift = (double)run->diagnosis.coordinate_shift[column] * from_pool(run);
    return fmin(fmax(shift, -1e9), 1e9); /* a constant column that differs: endlessly many */
}

/* Largest difference of the distribution functions, 0 to 1. */
static double column_distance(const cli_run *run, size_t column)
{
    return fmin((double)run->diagnosis.coordinate_distance[column] * from_pool(run), 1);
}

static int column_differs(const cli_run *run, size_t column)
{
    return run->diagnosis.coordinate_p_adjusted[column] <= run->options.alpha;
}

static int pair_differs(const cli_run *run, size_t pair)
{
    return run->diagnosis.pairs[pair].p_adjusted <= run->options.alpha;
}

static const char *expected_words(const cli_run *run)
{
    return run->generator ? "the generator's" : "in both files together";
}

static void add_words(char *to, const char *format, ...) CLI_FORMAT(2, 3);
static void add_words(char *to, const char *format, ...)
{
    va_list arguments;
    size_t used = strlen(to);
    va_start(arguments, format);
    vsnprintf(to + used, SENTENCE - used, format, arguments);
    va_end(arguments);
}

static void add_column(const cli_run *run, char *to, size_t column)
{
    char name[256];
    double shift = column_shift(run, column);
    add_words(to, "%s (", cli_cut(run->observed.names[column], 40, 0, name, sizeof name));
    if (fabs(shift) >= 1e4)
        add_words(to, "mean %s by more than 10000 sd", shift < 0 ? "lower" : "higher");
    else if (fabs(shift) >= 0.005)
        add_words(to, "mean %s by %.2f sd", shift < 0 ? "lower" : "higher", fabs(shift));
    else
        add_words(to, "mean unchanged");
    add_words(to, ", distance %.2f, adjusted p = %.4f)", column_distance(run, column),
              (double)run->diagnosis.coordinate_p_adjusted[column]);
}

static void add_pair(const cli_run *run, char *to, size_t k)
{
    const npksd_pair *pair = &run->diagnosis.pairs[k];
    char first[256], second[256];
    add_words(to, "%s and %s (correlation %.2f, %s %.2f, adjusted p = %.4f)",
              cli_cut(run->observed.names[pair->first], 40, 0, first, sizeof first),
              cli_cut(run->observed.names[pair->second], 40, 0, second, sizeof second),
              (double)pair->observed, expected_words(run), (double)pair->expected,
              (double)pair->p_adjusted);
}

/* Columns and pairs at or below the level after adjustment; those not named are counted. */
static void write_where(cli_run *run)
{
    enum { COLUMNS_NAMED = 4, PAIRS_NAMED = 3 };
    size_t columns = 0, pairs = 0, m = run->observed.m;
    char *to = run->where;
    for (size_t k = 0; k < m; k++)
        columns += (size_t)column_differs(run, k);
    while (pairs < run->diagnosis.pair_count && pair_differs(run, pairs))
        pairs++;
    if (columns > 0)
        add_words(to, columns == 1 ? "The column that differs: " : "Columns that differ: ");
    for (size_t k = 0; k < columns && k < COLUMNS_NAMED; k++) {
        add_words(to, "%s", k ? ", " : "");
        add_column(run, to, run->column_order[k]);
    }
    if (columns > COLUMNS_NAMED)
        add_words(to, " and %zu more", columns - COLUMNS_NAMED);
    if (pairs > 0)
        add_words(to, "%s that changed: ",
                  columns          ? pairs == 1 ? ". The pair of columns" : ". Pairs of columns"
                      : pairs == 1 ? "The pair of columns"
                                   : "Pairs of columns");
    for (size_t k = 0; k < pairs && k < PAIRS_NAMED; k++) {
        add_words(to, "%s", k ? ", " : "");
        add_pair(run, to, k);
    }
    if (columns + pairs == 0 && m == 1) {
        add_words(to, "The column: ");
        add_column(run, to, 0);
    } else if (columns + pairs == 0) {
        add_words(to,
                  "No column or pair reaches the level %g after adjustment; the difference "
                  "may be spread over several. Nearest to it: ",
                  (double)run->options.alpha);
        add_column(run, to, run->column_order[0]);
    }
    add_words(to, ".");
}

/* The test of everything and the tests of columns and pairs may disagree; say what that means. */
static void note_disagreement(cli_run *run)
{
    char what[SENTENCE] = "";
    if (run->result.reject)
        return;
    if (column_differs(run, run->column_order[0])) {
        add_words(what, "column ");
        add_column(run, what, run->column_order[0]);
    } else if (run->diagnosis.pair_count > 0 && pair_differs(run, 0)) {
        add_words(what, "the pair ");
        add_pair(run, what, 0);
    } else
        return;
    cli_note(run,
             "All columns together are not rejected, but %s stands out. These are two tests: go "
             "by the one that you chose beforehand, and record more rows if it matters.",
             what);
}

/* Rows outside the range of those that the test was fitted to, beyond what chance brings. */
static void note_range(cli_run *run)
{
    double share = (double)run->result.out_of_range, fitted = (double)run->synthetic.n;
    if (run->generator)
        fitted = fmin((double)run->options.fit_rows, 1000);
    double chance = 1 - pow(1 - fmin(2 / (fitted + 1), 1), (double)run->observed.m);
    if (share >= 0.1 && share > 2 * chance)
        cli_note(run, "%.0f %% of the observed rows lie outside the range of the %s rows.",
                 100 * share, run->generator ? "generated" : "synthetic");
}

static void note_flags(cli_run *run)
{
    note_disagreement(run);
    if (run->observed.n < 20)
        cli_note(run, "Only %zu observed rows: they can show gross differences only.",
                 run->observed.n);
    if (!run->generator && run->synthetic.n < 3 * run->observed.n)
        cli_note(run,
                 "%zu synthetic rows for %zu observed ones: valid, but ten times as many synthetic "
                 "rows show smaller differences.",
                 run->synthetic.n, run->observed.n);
    note_range(run);
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
    snprintf(run->meaning, SENTENCE,
             "%s The test compared these %zu rows with %zu data sets of the same size, drawn %s: "
             "%s of them %s as far off. With the same fit and endlessly many data sets, p would "
             "lie between %.4f and %.4f (95 %%).",
             r->reject ? "The observed rows are not like what this source makes."
                       : "The observed rows show no difference from what this source makes.",
             n, r->replicates,
             run->generator ? "by the generator" : "at random from both files together", many,
             beyond <= 1 ? "was" : "were", (double)r->p_low, (double)r->p_high);
    if (r->reject) {
        write_where(run);
        snprintf(run->kind, SENTENCE, "The strongest sign: %s; component %s.",
                 component_words(r->leading), npksd_component_string(r->leading));
        if (r->leading == NPKSD_COMPONENT_STEIN)
            add_words(run->kind,
                      " Its size, which does not grow with the number of rows: KSD^2 = "
                      "%.4g.",
                      (double)r->ksd2);
        snprintf(run->caveat, SENTENCE,
                 "Rejected does not mean useless: with enough rows every model is rejected. See "
                 "whether the differences are large enough to matter. If nothing differed, at most "
                 "%g of 100 such tests would reject.",
                 100 * (double)run->options.alpha);
    } else
        snprintf(run->caveat, SENTENCE,
                 "Not rejected does not mean right: %zu rows did not show a fault. A small one, or "
                 "one that only more rows or other columns would show, may be there. And p means "
                 "nothing if %.200s was fitted to these very rows.",
                 n, source);
}

static void print_columns(const cli_run *run)
{
    const cli_table *t = &run->observed;
    int any = 0;
    printf("\n  %-18s %10s %7s %8s   %21s %21s\n", "column", "adjusted p", "shift", "distance",
           "observed mean, sd", "synthetic mean, sd");
    for (size_t k = 0; k < t->m && k < TEXT_COLUMNS; k++) {
        size_t i = run->column_order[k];
        double shift = column_shift(run, i);
        int differs = column_differs(run, i);
        char name[128];
        any |= differs;
        printf("%c %s %10.4f ", differs ? '*' : ' ',
               cli_cut(t->names[i], 18, 18, name, sizeof name),
               (double)run->diagnosis.coordinate_p_adjusted[i]);
        printf(fabs(shift) < 1000 ? "%+7.2f" : "%+7.0e", shift);
        printf(" %8.2f   %10.5g %10.5g %10.5g %10.5g\n", column_distance(run, i),
               run->observed_mean[i], run->observed_sd[i], run->synthetic_mean[i],
               run->synthetic_sd[i]);
    }
    if (t->m > TEXT_COLUMNS)
        printf("  and %zu more; --json lists them all\n", t->m - TEXT_COLUMNS);
    if (any)
        printf("* differs: p, adjusted for testing %zu column%s, is at most %g. A changed\n"
               "  dependence marks every column that takes part in it.\n",
               t->m, t->m == 1 ? "" : "s", (double)run->options.alpha);
    printf(
        "  shift: of the mean, in standard deviations; distance: of the distributions, 0 to 1\n");
}

static void print_pairs(const cli_run *run)
{
    const npksd_diagnosis *d = &run->diagnosis;
    char first[128], second[128];
    if (d->pair_count == 0 || !pair_differs(run, 0))
        return;
    printf("\n  %-39s %10s   correlation observed, %s\n", "pair of columns", "adjusted p",
           run->generator ? "generator" : "both files");
    for (size_t k = 0; k < d->pair_count && pair_differs(run, k); k++)
        printf("* %s   %s %10.4f   %20.2f, %.2f\n",
               cli_cut(run->observed.names[d->pairs[k].first], 18, 18, first, sizeof first),
               cli_cut(run->observed.names[d->pairs[k].second], 18, 18, second, sizeof second),
               (double)d->pairs[k].p_adjusted, (double)d->pairs[k].observed,
               (double)d->pairs[k].expected);
}

static void print_rows(const cli_run *run)
{
    enum { SHOWN = 5 };
    const cli_table *t = &run->observed;
    char name[128], blank[128];
    if (!rows_explain(run))
        return;
    printf("\n  the rows that contribute most%s\n%14s",
           run->result.reject ? "" : " (in every data set some do)", "");
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

static void print_paragraph(const char *text)
{
    if (*text)
        cli_wrap(stdout, text);
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
    print_paragraph(run->meaning);
    print_paragraph(run->where);
    print_paragraph(run->kind);
    printf("\n");
    print_paragraph(run->caveat);
    for (size_t k = 0; k < run->note_count; k++) {
        char note[SENTENCE + 8];
        snprintf(note, sizeof note, "Note: %s", run->notes[k]);
        printf("\n");
        cli_wrap(stdout, note);
    }
    print_columns(run);
    print_pairs(run);
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
        printf("\"differs\": %s, ", column_differs(run, i) ? "true" : "false");
        json_value("shift", column_shift(run, i), ", ");
        json_value("distance", column_distance(run, i), ",\n          ");
        json_value("observed_mean", run->observed_mean[i], ", ");
        json_value("observed_sd", run->observed_sd[i], ",\n          ");
        json_value("synthetic_mean", run->synthetic_mean[i], ", ");
        json_value("synthetic_sd", run->synthetic_sd[i], " }");
    }
    printf("\n    ],\n    \"pairs\": [");
    for (size_t k = 0; k < d->pair_count; k++) {
        printf("%s\n        { \"first\": ", k ? "," : "");
        cli_json_string(stdout, run->observed.names[d->pairs[k].first]);
        fputs(", \"second\": ", stdout);
        cli_json_string(stdout, run->observed.names[d->pairs[k].second]);
        fputs(", ", stdout);
        json_value("p_adjusted", (double)d->pairs[k].p_adjusted, ",\n          ");
        printf("\"differs\": %s, ", pair_differs(run, k) ? "true" : "false");
        json_value("observed", (double)d->pairs[k].observed, ", ");
        json_value("expected", (double)d->pairs[k].expected, " }");
    }
    /* empty where another component leads: rows would explain another verdict */
    printf("\n    ],\n    \"worst_rows\": [");
    for (size_t k = 0; rows_explain(run) && k < WORST_ROWS && k < run->observed.n; k++) {
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
    json_text("leading", npksd_component_string(r->leading));
    json_text("verdict", run->headline);
    json_text("meaning", run->meaning);
    json_text("where", run->where);
    json_text("kind", run->kind);
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
