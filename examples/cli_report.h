/* The page of npksd_cli.c --report: one file, no network, inline SVG, light and dark.
 *
 * Pictures are drawn in units of their viewBox and take their colours from the style sheet, so that
 * they follow the reader's colour scheme. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

enum { REPORT_BARS = 24, REPORT_HISTOGRAMS = 4, REPORT_DOTS = 800, REPORT_BINS = 64 };

static const char report_style[] =
    ":root{--paper:#fbfaf7;--panel:#f3f1eb;--ink:#1d1f23;--muted:#5f636a;--rule:#dedacf;"
    "--observed:#1f5f99;--synthetic:#cf5a22;--null:#b9b4a7;--alarm:#b3261e;--calm:#2e6b3f}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#15171a;--panel:#1d2024;--ink:#e9e6df;"
    "--muted:#a4a9b1;--rule:#363b42;--observed:#6db3f2;--synthetic:#ff9a5c;--null:#5a606a;"
    "--alarm:#ff7b72;--calm:#7fcf95}}\n"
    ":root{color-scheme:light dark}*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:1040px;padding:20px 24px 32px;background:var(--paper);"
    "color:var(--ink);font:15px/1.5 system-ui,'Segoe UI',Roboto,'Noto Sans',sans-serif;"
    "font-variant-numeric:tabular-nums}\n"
    "h1{font-size:22px;line-height:1.3;margin:0 0 12px;font-weight:600;overflow-wrap:anywhere}"
    "h2{font-size:16px;margin:28px 0 4px;font-weight:600}p{margin:6px 0;max-width:86ch}"
    ".muted,figcaption{color:var(--muted);font-size:13px}figure{margin:0}\n"
    ".verdict{border-left:6px solid var(--calm);background:var(--panel);padding:12px 18px;"
    "border-radius:4px}.verdict.rejected{border-color:var(--alarm)}\n"
    ".verdict strong{font-size:26px;font-weight:600;color:var(--calm)}"
    ".rejected strong{color:var(--alarm)}\n"
    ".two{display:grid;gap:4px "
    "28px;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr))}\n"
    "svg{display:block;width:100%;height:auto}.wide{min-width:640px}svg "
    "text{fill:var(--ink);font-size:12px}"
    "svg .small{fill:var(--muted);font-size:11px}svg line{stroke:var(--rule)}\n"
    ".o{color:var(--observed);font-weight:600}.s{color:var(--synthetic);font-weight:600}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13px;margin:6px 0}"
    "th,td{text-align:right;padding:3px 12px 3px 0;border-bottom:1px solid var(--rule);"
    "white-space:nowrap}th:first-child,td:first-child{text-align:left}th{font-weight:600}\n"
    ".settings td{text-align:left;white-space:normal;overflow-wrap:anywhere}"
    ".settings td:first-child{white-space:nowrap;overflow-wrap:normal;vertical-align:top}\n"
    "code{font-size:13px;overflow-wrap:anywhere}ul{padding-left:20px;max-width:86ch}\n";

/* ======== text and axes ======== */

static void report_text(FILE *out, const char *text)
{
    while (*text) {
        size_t bytes = cli_character(text);
        if (bytes == 0)
            fprintf(out, "&#%u;",
                    (unsigned)(unsigned char)*text); /* not UTF-8: Latin-1, most likely */
        else if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            fprintf(out, "&#%u;", (unsigned)(unsigned char)*text);
        else
            fprintf(out, "%.*s", (int)bytes, text);
        text += bytes ? bytes : 1;
    }
}

static void report_name(FILE *out, const char *name, size_t most)
{
    char cut[256];
    report_text(out, cli_cut(name, most, 0, cut, sizeof cut));
}

typedef struct report_axis {
    double low, high; /* of the data */
    double from, to;  /* on paper */
} report_axis;

static double report_place(report_axis axis, double value)
{
    value = fmin(fmax(value, axis.low), axis.high);
    return axis.from + (axis.to - axis.from) * (value - axis.low) / (axis.high - axis.low);
}

/* 1, 2 or 5 times a power of ten, about `count` of them on the axis. */
static double report_step(double range, double count)
{
    double power = pow(10, floor(log10(range / count))), rest = range / count / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

static void report_x_axis(FILE *out, report_axis x, double y)
{
    double step = report_step(x.high - x.low, 5), first = ceil(x.low / step);
    fprintf(out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>\n", x.from, x.to, y, y);
    for (double k = first; k * step <= x.high + 1e-9 * step; k++)
        fprintf(out, "<text class='small' text-anchor='middle' x='%.1f' y='%.1f'>%.6g</text>\n",
                report_place(x, k * step), y + 15, fabs(k) < 0.5 ? 0.0 : k * step);
}

static void report_y_axis(FILE *out, report_axis y, double x, double right, int percent)
{
    double step = report_step(y.high - y.low, 4), first = ceil(y.low / step);
    for (double k = first; k * step <= y.high + 1e-9 * step; k++) {
        double place = report_place(y, k * step), value = fabs(k) < 0.5 ? 0.0 : k * step;
        fprintf(out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>\n", x, right, place, place);
        fprintf(out, "<text class='small' text-anchor='end' x='%.1f' y='%.1f'>%.6g%s</text>\n",
                x - 5, place + 4, percent ? 100 * value : value, percent ? "%" : "");
    }
}

/* ======== null distribution ======== */

static void report_null(FILE *out, const cli_run *run)
{
    size_t b = run->result.replicates, counts[REPORT_BINS] = { 0 }, most = 1;
    double low = (double)run->result.statistic, high = low, statistic = low, beyond;
    double null_low = (double)run->null_values[0], null_high = null_low;
    for (size_t k = 0; k < b; k++) {
        null_low = fmin(null_low, (double)run->null_values[k]);
        null_high = fmax(null_high, (double)run->null_values[k]);
    }
    low = fmin(null_low, (double)run->result.threshold);
    high = fmax(null_high, (double)run->result.threshold);
    if (high <= low)
        high = low + 1;
    beyond = high + 1.5 * (high - low); /* farther out the picture would be empty */
    int off = statistic > beyond;
    low = fmin(low, statistic);
    high = fmax(high, off ? high + 0.25 * (high - low) : statistic);
    double margin = 0.03 * (high - low);
    report_axis x = { low - margin, high + margin, 10, 970 }, y = { 0, 1, 150, 24 };
    double width = (null_high - null_low) / 30;
    size_t bins = width > 0 ? 30 : 1;
    width = width > 0 ? width : margin;
    for (size_t k = 0; k < b; k++) {
        size_t bin = (size_t)(((double)run->null_values[k] - null_low) / width);
        bin = bin < bins ? bin : bins - 1;
        most = ++counts[bin] > most ? counts[bin] : most;
    }
    fprintf(out,
            "<figure><div class='scroll'><svg class='wide' viewBox='0 0 980 176' role='img' "
            "aria-label='null distribution'>\n");
    for (size_t k = 0; k < bins; k++) {
        double left = report_place(x, null_low + (double)k * width);
        double right = report_place(x, null_low + (double)(k + 1) * width);
        double top = report_place(y, (double)counts[k] / (double)most);
        fprintf(out,
                "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' style='fill:var(--null)'/>\n",
                left, top, fmax(right - left - 1, 1), 150 - top);
    }
    report_x_axis(out, x, 150);
    double threshold = report_place(x, (double)run->result.threshold);
    double place = off ? 962 : report_place(x, statistic);
    fprintf(out,
            "<line x1='%.1f' x2='%.1f' y1='24' y2='150' stroke-dasharray='4 4' "
            "style='stroke:var(--ink)'/>\n",
            threshold, threshold);
    fprintf(out,
            "<text class='small' text-anchor='%s' x='%.1f' y='20'>rejected beyond %.4g</text>\n",
            threshold > 400 ? "end" : "start", threshold + (threshold > 400 ? 4 : -4),
            (double)run->result.threshold);
    const char *colour = run->result.reject ? "--alarm" : "--observed";
    fprintf(out,
            "<line x1='%.1f' x2='%.1f' y1='38' y2='150' style='stroke:var(%s);stroke-width:3'/>\n",
            place, place, colour);
    int left_side = place > 760;
    fprintf(out,
            "<text text-anchor='%s' x='%.1f' y='50' style='fill:var(%s);font-weight:600'>observed "
            "%.4g%s</text>\n",
            left_side ? "end" : "start", place + (left_side ? -8 : 8), colour, statistic,
            off ? ", off the scale &#8594;" : "");
    fprintf(
        out,
        "</svg></div>\n<figcaption>Grey: the statistic of %zu data sets of the same size%s. "
        "p is the share of data sets, the observed one counted in, that lie as far to the right "
        "as the observed one.</figcaption></figure>\n",
        b,
        run->generator ? ", drawn by the generator" : ", drawn at random from both files together");
}

/* ======== columns ======== */

static void report_bars(FILE *out, const cli_run *run)
{
    const npksd_diagnosis *d = &run->diagnosis;
    size_t m = run->observed.m, shown = m < REPORT_BARS ? m : REPORT_BARS;
    double longest = -log10(1 / (double)(run->result.replicates + 1)),
           bottom = 22 * (double)shown + 24;
    report_axis x = { 0, longest, 210, 880 };
    double alpha = report_place(x, fmin(-log10((double)run->options.alpha), longest));
    fprintf(out,
            "<figure><div class='scroll'><svg class='wide' viewBox='0 0 980 %.0f' role='img' "
            "aria-label='columns'>\n",
            bottom + 4);
    for (size_t k = 0; k < shown; k++) {
        size_t i = run->column_order[k];
        double p = (double)d->coordinate_p_adjusted[i], y = 22 * (double)k + 22;
        int differs = p <= (double)run->options.alpha;
        fprintf(out, "<text text-anchor='end' x='202' y='%.0f'>", y + 13);
        report_name(out, run->observed.names[i], 26);
        fprintf(out,
                "</text><rect x='210' y='%.0f' width='%.1f' height='15' rx='2' "
                "style='fill:var(%s)'/>\n",
                y + 1, fmax(report_place(x, -log10(p)) - 210, 1.5), differs ? "--alarm" : "--null");
        fprintf(out, "<text class='small' x='%.1f' y='%.0f'>p = %.4f</text>\n",
                report_place(x, -log10(p)) + 6, y + 13, p);
    }
    fprintf(out,
            "<line x1='%.1f' x2='%.1f' y1='16' y2='%.0f' stroke-dasharray='4 4' "
            "style='stroke:var(--ink)'/>\n",
            alpha, alpha, bottom);
    fprintf(out, "<text class='small' text-anchor='middle' x='%.1f' y='12'>%g</text>\n", alpha,
            (double)run->options.alpha);
    fprintf(out,
            "</svg></div>\n<figcaption>p of each column, adjusted for testing %zu column%s. A "
            "longer bar is a smaller p; red is at or below the level.",
            m, m == 1 ? "" : "s");
    if (shown < m)
        fprintf(out, " The %zu smallest are shown.", shown);
    fprintf(out,
            " A changed dependence marks every column that takes part in it.</figcaption>"
            "</figure>\n");
}

static int report_compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

/* The range of a column in both tables without its far tails; whole: all are whole numbers. */
static void report_range(const cli_run *run, size_t column, double *low, double *high, int *whole)
{
    const cli_table *tables[2] = { &run->observed, &run->synthetic };
    size_t count = run->observed.n + run->synthetic.n, m = run->observed.m, at = 0;
    double *values = (double *)cli_memory(NULL, count, sizeof *values);
    *whole = 1;
    for (int k = 0; k < 2; k++)
        for (size_t r = 0; r < tables[k]->n; r++) {
            double value = (double)tables[k]->rows[r * m + column];
            values[at++] = value;
            *whole &= value == floor(value);
        }
    qsort(values, count, sizeof *values, report_compare);
    size_t tail = count / 200;
    *low = fmax(values[tail], -1e300); /* their difference must be a number */
    *high = fmin(values[count - 1 - tail], 1e300);
    *whole &= *high - *low < REPORT_BINS - 2;
    free(values);
    if (*high - *low <= 1e-9 * (fabs(*high) + fabs(*low))) { /* constant: a picture of one bar */
        double size = fabs(*high) > 0 ? 0.01 * fabs(*high) : 1;
        *low -= size;
        *high += size;
    }
}

static void report_count(const cli_table *t, size_t column, double low, double width, size_t bins,
                         double *shares)
{
    for (size_t k = 0; k < bins; k++)
        shares[k] = 0;
    for (size_t r = 0; r < t->n; r++) {
        double place = floor(((double)t->rows[r * t->m + column] - low) / width);
        size_t bin = place < 0 ? 0 : place >= (double)bins ? bins - 1 : (size_t)place;
        shares[bin] += 1 / (double)t->n;
    }
}

static void report_histogram(FILE *out, const cli_run *run, size_t column)
{
    double low, high, synthetic[REPORT_BINS], observed[REPORT_BINS], most = 0;
    int whole;
    report_range(run, column, &low, &high, &whole);
    double wish = fmin(fmax(2.2 * cbrt((double)run->observed.n), 8), 40);
    size_t bins = whole ? (size_t)(high - low) + 1 : (size_t)wish;
    double width = whole ? 1 : (high - low) / (double)bins;
    low -= whole ? 0.5 : 0;
    report_count(&run->observed, column, low, width, bins, observed);
    report_count(&run->synthetic, column, low, width, bins, synthetic);
    for (size_t k = 0; k < bins; k++)
        most = fmax(most, fmax(observed[k], synthetic[k]));
    report_axis x = { low, low + width * (double)bins, 44, 470 }, y = { 0, most * 1.06, 180, 26 };
    fprintf(out,
            "<figure><svg viewBox='0 0 480 204' role='img' aria-label='histogram'>\n"
            "<text x='44' y='14' style='font-weight:600'>");
    report_name(out, run->observed.names[column], 40);
    fprintf(out, "</text>\n");
    report_y_axis(out, y, 44, 470, 1);
    for (size_t k = 0; k < bins; k++) {
        double top = report_place(y, synthetic[k]), left = report_place(x, low + width * (double)k);
        fprintf(out,
                "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' style='fill:var(--synthetic);"
                "fill-opacity:.45'/>\n",
                left, top, 426 / (double)bins - 0.7, 180 - top);
    }
    fprintf(out, "<path fill='none' style='stroke:var(--observed);stroke-width:2.2' d='M44 180");
    for (size_t k = 0; k < bins; k++)
        fprintf(out, "V%.1fH%.1f", report_place(y, observed[k]),
                report_place(x, low + width * (double)(k + 1)));
    fprintf(out, "V180'/>\n");
    report_x_axis(out, x, 180);
    fprintf(out, "</svg></figure>\n");
}

/* ======== a pair of columns ======== */

/* A pair of columns on paper. Dots of whole numbers would hide each other: they are spread out,
   always the same way for the same row. */
typedef struct report_pair {
    size_t i, j;
    report_axis x, y;
    int x_whole, y_whole;
} report_pair;

static void report_dot(const cli_table *t, const report_pair *pair, size_t row, double *x,
                       double *y)
{
    double across = 0.618034 * (double)row, up = 0.754878 * (double)row; /* fractions fill [0, 1) */
    *x = (double)t->rows[row * t->m + pair->i]
        + (pair->x_whole ? 0.5 * (across - floor(across) - 0.5) : 0);
    *y = (double)t->rows[row * t->m + pair->j] + (pair->y_whole ? 0.5 * (up - floor(up) - 0.5) : 0);
}

static void report_dots(FILE *out, const cli_table *t, const report_pair *pair, const char *colour,
                        double radius, double opacity)
{
    size_t every = t->n / REPORT_DOTS + 1;
    fprintf(out, "<g style='fill:var(%s);fill-opacity:%g'>\n", colour, opacity);
    for (size_t r = 0; r < t->n; r += every) {
        double a, b;
        report_dot(t, pair, r, &a, &b);
        if (a >= pair->x.low && a <= pair->x.high && b >= pair->y.low && b <= pair->y.high)
            fprintf(out, "<circle cx='%.1f' cy='%.1f' r='%.1f'/>\n", report_place(pair->x, a),
                    report_place(pair->y, b), radius);
    }
    fprintf(out, "</g>\n");
}

static void report_widen(report_axis *axis, double value)
{
    axis->low = fmax(fmin(axis->low, value), -1e300); /* their difference must be a number */
    axis->high = fmin(fmax(axis->high, value), 1e300);
}

/* Room for the worst rows, and a margin; half a unit more where dots are spread. */
static void report_frame(report_axis *axis, const cli_run *run, size_t column, int whole)
{
    const cli_table *t = &run->observed;
    for (size_t k = 0; rows_explain(run) && k < WORST_ROWS && k < t->n; k++)
        report_widen(axis, (double)t->rows[run->row_order[k] * t->m + column]);
    double margin = 0.04 * (axis->high - axis->low) + (whole ? 0.25 : 0);
    axis->low -= margin;
    axis->high += margin;
}

/* The pair that changed most, or else the two columns with the smallest adjusted p. */
static void report_scatter(FILE *out, const cli_run *run)
{
    const cli_table *t = &run->observed;
    int changed = run->diagnosis.pair_count > 0 && pair_differs(run, 0), rings = rows_explain(run);
    report_pair pair = {
        run->column_order[0], run->column_order[1], { 0, 0, 60, 960 }, { 0, 0, 380, 16 }, 0, 0
    };
    if (changed) {
        pair.i = run->diagnosis.pairs[0].first;
        pair.j = run->diagnosis.pairs[0].second;
    }
    report_range(run, pair.i, &pair.x.low, &pair.x.high, &pair.x_whole);
    report_range(run, pair.j, &pair.y.low, &pair.y.high, &pair.y_whole);
    report_frame(&pair.x, run, pair.i, pair.x_whole);
    report_frame(&pair.y, run, pair.j, pair.y_whole);
    fprintf(out,
            "<figure><div class='scroll'><svg class='wide' viewBox='0 0 980 420' role='img' "
            "aria-label='two columns'>\n");
    report_y_axis(out, pair.y, 60, 960, 0);
    report_x_axis(out, pair.x, 380);
    report_dots(out, &run->synthetic, &pair, "--synthetic", 2, 0.6);
    report_dots(out, t, &pair, "--observed", 3, 0.85);
    for (size_t k = 0; rings && k < WORST_ROWS && k < t->n; k++) {
        size_t row = run->row_order[k];
        double a, b;
        report_dot(t, &pair, row, &a, &b);
        a = report_place(pair.x, a);
        b = report_place(pair.y, b);
        int left = a > 900 || (k % 2 && a > 120); /* close ones have their numbers on two sides */
        fprintf(out,
                "<circle cx='%.1f' cy='%.1f' r='7' fill='none' style='stroke:var(--ink);"
                "stroke-width:1.6'/><text text-anchor='%s' x='%.1f' y='%.1f'>%zu</text>\n",
                a, b, left ? "end" : "start", a + (left ? -10 : 10), b + 4, t->lines[row]);
    }
    fprintf(out, "<text text-anchor='end' x='960' y='412' style='font-weight:600'>");
    report_name(out, t->names[pair.i], 40);
    fprintf(out, " &#8594;</text><text x='64' y='12' style='font-weight:600'>&#8593; ");
    report_name(out, t->names[pair.j], 40);
    fprintf(out, "</text>\n</svg></div>\n<figcaption>%s",
            changed ? "The pair of columns whose correlation changed most."
                    : "The two columns with the smallest adjusted p.");
    if (rings)
        fprintf(out, " Ringed: the rows that contribute most, with their %s in the file.",
                t->place);
    fprintf(out, "%s</figcaption></figure>\n",
            pair.x_whole || pair.y_whole ? " Whole numbers are spread a little, to be seen." : "");
}

/* ======== tables ======== */

static void report_column_table(FILE *out, const cli_run *run)
{
    const npksd_diagnosis *d = &run->diagnosis;
    size_t m = run->observed.m, shown = m < REPORT_BARS ? m : REPORT_BARS;
    fprintf(out,
            "<div class='scroll'><table><tr><th>column</th><th>adjusted p</th><th>shift</th>"
            "<th>distance</th><th>observed mean</th><th>sd</th><th>synthetic "
            "mean</th><th>sd</th></tr>\n");
    for (size_t k = 0; k < shown; k++) {
        size_t i = run->column_order[k];
        fprintf(out, "<tr><td>");
        report_name(out, run->observed.names[i], 40);
        fprintf(out,
                "</td><td>%.4f</td><td>%+.3g sd</td><td>%.2f</td><td class='o'>%.5g</td><td "
                "class='o'>%.5g</td>"
                "<td class='s'>%.5g</td><td class='s'>%.5g</td></tr>\n",
                (double)d->coordinate_p_adjusted[i], column_shift(run, i), column_distance(run, i),
                run->observed_mean[i], run->observed_sd[i], run->synthetic_mean[i],
                run->synthetic_sd[i]);
    }
    fprintf(out,
            "</table></div>\n<p class='muted'>Shift: observed mean minus %s mean, in standard "
            "deviations. Distance: largest difference of the distribution functions, 0 to "
            "1.</p>\n",
            run->generator ? "the generator's" : "synthetic");
}

static void report_pair_table(FILE *out, const cli_run *run)
{
    const npksd_diagnosis *d = &run->diagnosis;
    fprintf(out,
            "<div class='scroll'><table><tr><th>pair of columns</th><th>adjusted p</th>"
            "<th>correlation, observed</th><th>%s</th></tr>\n",
            run->generator ? "generator" : "both files together");
    for (size_t k = 0; k < d->pair_count; k++) {
        fprintf(out, "<tr><td>");
        report_name(out, run->observed.names[d->pairs[k].first], 30);
        fprintf(out, ", ");
        report_name(out, run->observed.names[d->pairs[k].second], 30);
        fprintf(out, "</td><td>%.4f</td><td class='o'>%.2f</td><td class='s'>%.2f</td></tr>\n",
                (double)d->pairs[k].p_adjusted, (double)d->pairs[k].observed,
                (double)d->pairs[k].expected);
    }
    fprintf(out,
            "</table></div>\n<p class='muted'>Correlations of normal scores. p is adjusted for "
            "testing all pairs.</p>\n");
}

static void report_row_table(FILE *out, const cli_run *run)
{
    enum { SHOWN = 8 };
    const cli_table *t = &run->observed;
    fprintf(out, "<div class='scroll'><table><tr><th>%s</th><th>contribution</th>", t->place);
    for (size_t k = 0; k < SHOWN && k < t->m; k++) {
        fprintf(out, "<th>");
        report_name(out, t->names[run->column_order[k]], 20);
        fprintf(out, "</th>");
    }
    fprintf(out, "</tr>\n");
    for (size_t k = 0; k < WORST_ROWS && k < t->n; k++) {
        size_t row = run->row_order[k];
        fprintf(out, "<tr><td>%zu</td><td>%.3g</td>", t->lines[row],
                (double)run->diagnosis.row_influence[row]);
        for (size_t i = 0; i < SHOWN && i < t->m; i++)
            fprintf(out, "<td>%.6g</td>", (double)t->rows[row * t->m + run->column_order[i]]);
        fprintf(out, "</tr>\n");
    }
    fprintf(out, "</table></div>\n");
}

static void report_source(FILE *out, const char *role, const cli_table *t, size_t rows)
{
    fprintf(out, "<tr><td>%s</td><td>", role);
    report_text(out, t->file);
    fprintf(out, ": %zu rows, %zu columns used; FNV-1a of the file %016llx</td></tr>\n", rows, t->m,
            (unsigned long long)t->checksum);
}

static void report_settings(FILE *out, const cli_run *run)
{
    const npksd_options *o = &run->options;
    fprintf(out, "<div class='scroll'><table class='settings'><tr><td>command</td><td><code>");
    report_text(out, run->command);
    fprintf(out, "</code></td></tr>\n");
    report_source(out, "observed", &run->observed, run->observed_rows);
    if (run->generator) {
        fprintf(out, "<tr><td>generator</td><td><code>");
        report_text(out, run->generator);
        fprintf(out, "</code>, run %zu times; the pictures show its first %zu rows</td></tr>\n",
                run->generator_calls, run->synthetic.n);
    } else {
        report_source(out, "synthetic", &run->synthetic, run->synthetic.n);
    }
    fprintf(
        out,
        "<tr><td>settings</td><td>alpha %g, seed %llu, replicates %zu, fit rows %zu, pilot %zu, "
        "summary %s, estimator %s, smooth %g, features %zu, block %zu</td></tr>\n",
        (double)o->alpha, (unsigned long long)o->seed, o->replicates, o->fit_rows, o->pilot,
        summary_words[o->summary], estimator_words[o->estimator], (double)o->smooth, o->features,
        o->block);
    fprintf(
        out,
        "<tr><td>result</td><td>statistic %.6g, threshold %.6g, bandwidth %.6g, leading component "
        "%s, rows out of range %.1f %%, %.1f s</td></tr>\n",
        (double)run->result.statistic, (double)run->result.threshold, (double)run->result.bandwidth,
        npksd_component_string(run->result.leading), 100 * (double)run->result.out_of_range,
        run->seconds);
    fprintf(out,
            "<tr><td>made by</td><td>npksd %d.%d.%d; the same command on the same files gives the "
            "same numbers</td></tr></table></div>\n",
            NPKSD_VERSION_MAJOR, NPKSD_VERSION_MINOR, NPKSD_VERSION_PATCH);
}

/* ======== the page ======== */

static void report_head(FILE *out, const cli_run *run)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>\n"
            "<meta name='viewport' content='width=device-width,initial-scale=1'>\n<title>");
    report_text(out, run->headline);
    fprintf(out,
            " - npksd</title>\n<style>\n%s</style></head><body>\n<h1>Could the %zu rows of "
            "<span class='o'>",
            report_style, run->observed.n);
    report_text(out, run->observed.file);
    fprintf(out, "</span> have come from <span class='s'>");
    report_text(out, run->generator ? "the generator" : run->synthetic.file);
    fprintf(out, "</span>?</h1>\n<div class='verdict%s'><strong>",
            run->result.reject ? " rejected" : "");
    report_text(out, run->headline);
    fprintf(out, "</strong><p>");
    report_text(out, run->meaning);
    if (run->result.reject) {
        fprintf(out, "</p><p>");
        report_text(out, run->where);
        fprintf(out, "</p><p>");
        report_text(out, run->kind);
    }
    fprintf(out, "</p><p class='muted'>");
    report_text(out, run->caveat);
    fprintf(out, "</p></div>\n");
    if (run->note_count)
        fprintf(out, "<ul>\n");
    for (size_t k = 0; k < run->note_count; k++) {
        fprintf(out, "<li>");
        report_text(out, run->notes[k]);
        fprintf(out, "</li>\n");
    }
    if (run->note_count)
        fprintf(out, "</ul>\n");
}

static void cli_write_report(const cli_run *run)
{
    FILE *out = fopen(run->report, "wb");
    if (!out)
        cli_fail("--report %s: %s", run->report, strerror(errno));
    report_head(out, run);
    fprintf(out, "<h2>How unusual is it?</h2>\n");
    report_null(out, run);
    fprintf(out, "<h2>Which columns?</h2>\n");
    report_bars(out, run);
    fprintf(out,
            "<h2>How do they differ? <span class='o'>observed</span> and "
            "<span class='s'>synthetic</span></h2>\n<div class='two'>\n");
    for (size_t k = 0; k < REPORT_HISTOGRAMS && k < run->observed.m; k++)
        report_histogram(out, run, run->column_order[k]);
    fprintf(
        out,
        "</div><p class='muted'>Share of rows in each bar, the columns with the smallest adjusted "
        "p first. Values beyond the axis are in the outermost bars.</p>\n");
    report_column_table(out, run);
    if (run->observed.m > 1) {
        fprintf(out,
                "<h2>How do two columns go together? <span class='o'>observed</span> and "
                "<span class='s'>synthetic</span></h2>\n");
        report_scatter(out, run);
        report_pair_table(out, run);
    }
    if (rows_explain(run)) {
        fprintf(out, "<h2>Which rows contribute most?</h2>\n");
        report_row_table(out, run);
    }
    fprintf(out, "<h2>How to repeat it</h2>\n");
    report_settings(out, run);
    fprintf(out, "</body></html>\n");
    int broken = ferror(out);
    if (fclose(out) != 0 || broken)
        cli_fail("--report %s: cannot be written: %s", run->report, strerror(errno));
}

#endif
