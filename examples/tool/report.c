/* The page of --report: one file, no network, light and dark, phone, screen and paper. */
#include "tool.h"
#include <stdlib.h>
#include <string.h>

enum { TABLE_COLUMNS = 24, HISTOGRAMS = 4, ROW_COLUMNS = 8 };

#define LIGHT                                                                                      \
    "--paper:#fbfaf7;--panel:#f3f1eb;--ink:#1d1f23;--muted:#5f636a;--rule:#dedacf;"                \
    "--observed:#1f5f99;--synthetic:#cf5a22;--null:#b9b4a7;--alarm:#b3261e;--calm:#2e6b3f"

static const char style[] =
    ":root{color-scheme:light dark;" LIGHT "}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#15171a;--panel:#1d2024;--ink:#e9e6df;"
    "--muted:#a4a9b1;--rule:#363b42;--observed:#6db3f2;--synthetic:#ff9a5c;--null:#5a606a;"
    "--alarm:#ff7b72;--calm:#7fcf95}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:1180px;padding:20px 20px 32px;background:var(--paper);"
    "color:var(--ink);font:15px/1.5 system-ui,'Segoe UI',Roboto,'Noto Sans',sans-serif;"
    "font-variant-numeric:tabular-nums}\n"
    "h1{font-size:22px;line-height:1.3;margin:0 0 12px;font-weight:600;overflow-wrap:anywhere}"
    "h2{font-size:16px;margin:24px 0 4px;font-weight:600;overflow-wrap:anywhere}"
    "p,ul{margin:6px 0;max-width:90ch}ul{padding-left:20px}"
    ".muted,figcaption,.notes{color:var(--muted);font-size:13px}figure{margin:0 0 8px}\n"
    ".verdict{border-left:6px solid var(--calm);background:var(--panel);padding:10px 18px;"
    "border-radius:4px;overflow-wrap:anywhere}.verdict.rejected{border-color:var(--alarm)}\n"
    ".verdict strong{font-size:24px;font-weight:600;color:var(--calm)}"
    ".rejected strong{color:var(--alarm)}\n"
    ".two{display:grid;gap:4px 32px;align-items:start;"
    "grid-template-columns:repeat(auto-fit,minmax(min(430px,100%),1fr))}\n"
    ".side{display:grid;gap:20px 32px;align-items:start;"
    "grid-template-columns:repeat(auto-fit,minmax(min(330px,100%),1fr))}"
    ".two>*,.side>*{min-width:0}\n"
    "svg{display:block;width:100%;height:auto}svg text{fill:var(--ink);font-size:13px}"
    "svg .small{fill:var(--muted);font-size:12px}svg line{stroke:var(--rule)}\n"
    ".o{color:var(--observed);font-weight:600}.s{color:var(--synthetic);font-weight:600}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13px;margin:6px 0}"
    "th,td{text-align:right;padding:3px 12px 3px 0;border-bottom:1px solid var(--rule);"
    "white-space:nowrap}th:first-child,td:first-child{text-align:left}th{font-weight:600;"
    "white-space:normal}\n"
    ".list{grid-column:1/-1}.list th:last-child,.list td:last-child{text-align:left;"
    "white-space:normal;min-width:11em}\n"
    ".settings td{text-align:left;white-space:normal;overflow-wrap:anywhere}"
    ".settings td:first-child{white-space:nowrap;overflow-wrap:normal;vertical-align:top}\n"
    "code{font-size:13px;overflow-wrap:anywhere}\n"
    "@media print{:root{color-scheme:light;" LIGHT "}body{max-width:none;padding:0;font-size:11pt;"
    "background:none;print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "figure,tr{break-inside:avoid}h2{break-after:avoid}.two{grid-template-columns:1fr 1fr}"
    ".scroll{overflow:visible}table{font-size:8.5pt;break-after:avoid}"
    "th,td{white-space:normal;padding-right:8px;overflow-wrap:break-word}}\n";

/* ======== tables ======== */

static void column_table(FILE *out, const comparison *c)
{
    const npksd_diagnosis *d = &c->diagnosis;
    size_t m = c->observed.m, shown = m < TABLE_COLUMNS ? m : TABLE_COLUMNS;
    fprintf(out,
            "<div class='scroll'><table><tr><th>column</th><th>adjusted "
            "p</th><th>shift</th><th>distance</th>"
            "<th>observed mean</th><th>sd</th><th>synthetic mean</th><th>sd</th></tr>\n");
    for (size_t k = 0; k < shown; k++) {
        size_t i = c->column_order[k];
        column_type type = type_of(c->encoding, i);
        char here[48], there[48];
        fprintf(out, "<tr><td>");
        page_name(out, c->observed.names[i], 40);
        fprintf(out,
                "%s</td><td>%.4f</td><td>%+.3g sd</td><td>%.2f</td><td class='o'>%s</td><td "
                "class='o'>%.5g</td>"
                "<td class='s'>%s</td><td class='s'>%.5g</td></tr>\n",
                c->related[i] ? " (hardly changed)" : "", (double)d->coordinate_p_adjusted[i],
                c->shift[i], c->distance[i], value_text(type, c->observed_mean[i], here),
                c->observed_sd[i], value_text(type, c->synthetic_mean[i], there),
                c->synthetic_sd[i]);
    }
    fprintf(out,
            "</table></div>\n<p class='muted'>Shift: observed mean minus %s mean, in standard "
            "deviations. Distance: "
            "largest difference of the distribution functions, 0 to 1. (hardly changed): marked "
            "with columns that differ; the test of a column looks at the others, too.</p>\n",
            c->settings->program.command ? "the generator's" : "synthetic");
}

static void pair_table(FILE *out, const comparison *c)
{
    const npksd_diagnosis *d = &c->diagnosis;
    fprintf(out,
            "<div><div class='scroll'><table><tr><th>pair of columns</th><th>adjusted p</th>"
            "<th>correlation, observed</th><th>%s</th></tr>\n",
            c->settings->program.command ? "generator" : "both files together");
    for (size_t k = 0; k < d->pair_count; k++) {
        fprintf(out, "<tr><td>");
        page_name(out, c->observed.names[d->pairs[k].first], 24);
        fprintf(out, ", ");
        page_name(out, c->observed.names[d->pairs[k].second], 24);
        fprintf(out, "</td><td>%.4f</td><td class='o'>%.2f</td><td class='s'>%.2f</td></tr>\n",
                (double)d->pairs[k].p_adjusted, without_sign((double)d->pairs[k].observed),
                without_sign((double)d->pairs[k].expected));
    }
    fprintf(out,
            "</table></div>\n<p class='muted'>Correlations of normal scores. p is adjusted for "
            "testing all "
            "pairs.</p></div>\n");
}

static void row_table(FILE *out, const comparison *c)
{
    const data *d = &c->observed;
    char room[48];
    fprintf(out,
            "<h2>Which rows contribute most?</h2>\n<div "
            "class='scroll'><table><tr><th>%s</th><th>contribution"
            "</th>",
            d->place);
    for (size_t k = 0; k < ROW_COLUMNS && k < d->m; k++) {
        fprintf(out, "<th>");
        page_name(out, d->names[c->column_order[k]], 20);
        fprintf(out, "</th>");
    }
    fprintf(out, "</tr>\n");
    for (size_t k = 0; k < WORST_ROWS && k < d->n; k++) {
        size_t row = c->row_order[k];
        fprintf(out, "<tr><td>%zu</td><td>%.3g</td>", d->lines[row],
                (double)c->diagnosis.row_influence[row]);
        for (size_t i = 0; i < ROW_COLUMNS && i < d->m; i++) {
            size_t column = c->column_order[i];
            fprintf(out, "<td>%s</td>",
                    value_text(type_of(c->encoding, column), (double)d->rows[row * d->m + column],
                               room));
        }
        fprintf(out, "</tr>\n");
    }
    fprintf(out, "</table></div>\n");
}

static void ranking_table(FILE *out, const comparison *candidates, const ranking *r)
{
    fprintf(
        out,
        "<div class='scroll'><table><tr><th>candidate</th><th>distance</th><th>95 %% interval</th>"
        "<th>best</th><th>its own test</th></tr>\n");
    for (size_t k = 0; k < r->count; k++) {
        const ranked *item = &r->items[r->order[k]];
        fprintf(out, "<tr><td>");
        page_name(out, candidates[r->order[k]].source, 40);
        fprintf(out, "</td><td>%.4f</td><td>%.4f to %.4f</td><td>%.0f %%</td><td>%s</td></tr>\n",
                item->distance, item->low, item->high, 100 * item->best,
                candidates[r->order[k]].headline);
    }
    fprintf(out, "</table></div>\n<p class='muted'>");
    page_text(out, r->words);
    fprintf(out, "</p>\n");
}

/* ======== how to repeat it ======== */

static void source_row(FILE *out, const char *role, const data *d)
{
    fprintf(out, "<tr><td>%s</td><td>", role);
    page_text(out, d->file);
    fprintf(out, ": %zu rows, %zu used, %zu columns; FNV-1a of the file %016llx</td></tr>\n",
            d->file_rows, d->n, d->m, (unsigned long long)d->checksum);
}

static void result_row(FILE *out, const comparison *c)
{
    const npksd_result *r = &c->result;
    fprintf(out,
            "<tr><td>result</td><td>statistic %.6g, threshold %.6g, bandwidth %.6g, "
            "leading component %s, rows out of range %.1f %%, %.1f s</td></tr>\n",
            (double)r->statistic, (double)r->threshold, (double)r->bandwidth,
            npksd_component_string(r->leading), 100 * (double)r->out_of_range, c->seconds);
}

static void settings_table(FILE *out, const comparison *candidates, size_t count)
{
    const settings *s = candidates[0].settings;
    const npksd_options *o = &s->options;
    fprintf(out,
            "<h2>How to repeat it</h2>\n<div class='scroll'><table "
            "class='settings'><tr><td>command</td><td>"
            "<code>");
    page_text(out, s->command);
    fprintf(out, "</code></td></tr>\n");
    for (size_t k = 0; k < count; k++) {
        const comparison *c = &candidates[k];
        source_row(out, "observed", &c->observed); /* a short candidate is tested with fewer */
        if (s->program.command) {
            fprintf(out, "<tr><td>generator</td><td><code>");
            page_text(out, s->program.command);
            fprintf(out, "</code>, %zu data sets; the pictures show its first %zu rows</td></tr>\n",
                    c->program_calls, c->synthetic.n);
        } else
            source_row(out, "synthetic", &c->synthetic);
        result_row(out, c);
    }
    fprintf(out,
            "<tr><td>settings</td><td>alpha %g, seed %llu, replicates %zu, fit rows %zu, pilot "
            "%zu, summary %s, "
            "estimator %s, smooth %g, features %zu, block %zu</td></tr>\n",
            (double)o->alpha, (unsigned long long)o->seed, o->replicates, o->fit_rows, o->pilot,
            summary_words[o->summary], estimator_words[o->estimator], (double)o->smooth,
            o->features, o->block);
    fprintf(
        out,
        "<tr><td>made by</td><td>npksd %d.%d.%d; the same command on the same files gives the same "
        "numbers</td></tr></table></div>\n",
        NPKSD_VERSION_MAJOR, NPKSD_VERSION_MINOR, NPKSD_VERSION_PATCH);
}

/* ======== the page ======== */

void page_notes(FILE *out, const notes *list, const char *but)
{
    fprintf(out, "<ul class='notes'>\n");
    for (size_t k = 0; k < list->count; k++)
        if (!but || strcmp(list->items[k], but) != 0) {
            fprintf(out, "<li>");
            page_text(out, list->items[k]);
            fprintf(out, "</li>\n");
        }
    fprintf(out, "</ul>\n");
}

static void verdict_item(FILE *out, const char *label, const char *text)
{
    if (!text)
        return;
    fprintf(out, "<li>%s", label);
    page_text(out, text);
    fprintf(out, "</li>\n");
}

static void verdict_box(FILE *out, const comparison *c)
{
    if (c->warning) {
        fprintf(out, "<p><b>");
        page_text(out, c->warning);
        fprintf(out, "</b></p>\n");
    }
    fprintf(out, "<div class='verdict%s'><strong>", c->result.reject ? " rejected" : "");
    page_text(out, c->headline);
    fprintf(out, "</strong><ul>\n");
    verdict_item(out, "", c->verdict + strlen(c->headline) + 2); /* the headline stands above */
    verdict_item(out, "Where: ", c->where);
    verdict_item(out, "What kind: ", c->kind);
    fprintf(out, "</ul><p class='muted'>");
    page_text(out, c->caveat);
    fprintf(out, "</p></div>\n");
    page_notes(out, &c->notes, c->warning);
}

void page_head(FILE *out, const char *title)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>\n"
            "<meta name='viewport' content='width=device-width,initial-scale=1'>\n<title>");
    page_text(out, title);
    fprintf(out, " - npksd</title>\n<style>\n%s</style></head><body>\n", style);
}

static const char colours[] =
    "<span class='o'>observed</span> and <span class='s'>synthetic</span>";

static void page_of_one(FILE *out, const comparison *c)
{
    page_head(out, c->headline);
    fprintf(out, "<h1>Could the %zu rows of <span class='o'>", c->observed.n);
    page_text(out, c->observed.file);
    fprintf(out, "</span> have come from <span class='s'>");
    page_text(out, c->source);
    fprintf(out, "</span>?</h1>\n");
    verdict_box(out, c);
    page_notes(out, c->common, NULL);
    fprintf(out, "<div class='two'>\n<section><h2>How unusual is it?</h2>\n");
    chart_null(out, c);
    fprintf(out, "</section><section><h2>Which columns?</h2>\n");
    chart_columns(out, c);
    fprintf(out, "</section></div>\n<h2>How do they differ? %s</h2>\n<div class='two'>\n", colours);
    for (size_t k = 0; k < HISTOGRAMS && k < c->observed.m; k++)
        chart_histogram(out, c, c->column_order[k]);
    fprintf(out,
            "</div><p class='muted'>Share of rows in each bar, the columns with the smallest "
            "adjusted p first. "
            "Values beyond the axis are in the outermost bars.</p>\n");
    column_table(out, c);
    if (c->observed.m > 1) {
        fprintf(out, "<h2>How do two columns go together? %s</h2>\n<div class='two'>\n", colours);
        chart_pair(out, c);
        pair_table(out, c);
        fprintf(out, "</div>\n");
    }
    if (rows_explain(c))
        row_table(out, c);
}

/* The columns that differ most over all candidates: the same pictures for each. */
static size_t *order_common(const comparison *candidates, size_t count)
{
    size_t m = candidates[0].observed.m;
    double *keys = (double *)memory(NULL, m, sizeof *keys);
    for (size_t i = 0; i < m; i++) {
        keys[i] = 0;
        for (size_t k = 0; k < count; k++)
            keys[i] += 1e-6 * candidates[k].distance[i]
                - (double)candidates[k].diagnosis.coordinate_p_adjusted[i];
    }
    size_t *order = sort_down(keys, m);
    free(keys);
    return order;
}

static void page_of_several(FILE *out, const comparison *candidates, size_t count, const ranking *r)
{
    size_t *columns = order_common(candidates, count), m = candidates[0].observed.m;
    char *title = NULL;
    append(&title, "%zu candidates for %s", count, candidates[0].observed.file);
    page_head(out, title);
    fprintf(out, "<h1>Which of %zu candidates is nearest to <span class='o'>", count);
    page_text(out, candidates[0].observed.file);
    fprintf(out, "</span>?</h1>\n<div class='two'>\n");
    chart_ranking(out, candidates, r);
    fprintf(out, "<div>");
    ranking_table(out, candidates, r);
    fprintf(out, "</div></div>\n");
    page_notes(out, candidates[0].common, NULL);
    fprintf(out, "<h2>Side by side, nearest first: %s</h2>\n<div class='side'>\n", colours);
    for (size_t k = 0; k < count; k++) {
        const comparison *c = &candidates[r->order[k]];
        fprintf(out, "<section><h2 class='s'>");
        page_text(out, c->source);
        fprintf(out, "</h2>\n");
        verdict_box(out, c);
        chart_null(out, c);
        chart_columns(out, c);
        for (size_t i = 0; i < HISTOGRAMS && i < m; i++)
            chart_histogram(out, c, columns[i]);
        if (m > 1)
            chart_pair(out, c);
        fprintf(out, "</section>\n");
    }
    fprintf(out, "</div>\n");
    free(columns);
    free(title);
}

/* ======== the file ======== */

typedef struct page {
    const comparison *candidates;
    size_t count;
    const ranking *ranking;
} page;

static void write_page(FILE *out, const void *what)
{
    const page *p = (const page *)what;
    if (p->count == 1)
        page_of_one(out, &p->candidates[0]);
    else
        page_of_several(out, p->candidates, p->count, p->ranking);
    settings_table(out, p->candidates, p->count);
    fprintf(out, "</body></html>\n");
}

int report_write(const comparison *candidates, size_t count, const ranking *r)
{
    page p = { candidates, count, r };
    return write_beside("--report", candidates[0].settings->report, write_page, &p);
}
