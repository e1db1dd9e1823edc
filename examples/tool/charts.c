/* The pictures of the report: inline SVG, 480 units wide, so that they can be read on a phone and
 * stand two in a row elsewhere. Colours come from the style sheet and follow the reader's scheme. */
#include "tool.h"
#include <math.h>
#include <stdlib.h>

enum { BARS = 24, DOTS = 800, MOST_BINS = 64, WIDTH = 480, LABELS = 150 };

/* ======== text and axes ======== */

void page_text(FILE *out, const char *text)
{
    while (*text) {
        size_t bytes = utf8_bytes(text);
        if (bytes == 0 || *text == '<' || *text == '>' || *text == '&' || *text == '"'
            || *text == '\'')
            fprintf(out, "&#%u;", (unsigned)(unsigned char)*text);
        else
            fprintf(out, "%.*s", (int)bytes, text);
        text += bytes ? bytes : 1;
    }
}

void page_name(FILE *out, const char *name, size_t most)
{
    char cut[256];
    page_text(out, cut_text(name, most, 0, cut, sizeof cut));
}

typedef struct axis {
    double low, high; /* of the data */
    double from, to;  /* on paper */
} axis;

/* An axis needs a length that can be divided: a column may be constant, tiny or huge. */
static axis make_axis(double low, double high, double from, double to)
{
    low = fmin(fmax(low, -1e300), 1e300);
    high = fmin(fmax(high, -1e300), 1e300);
    if (!(high - low > 1e-9 * (fabs(high) + fabs(low))) || !(high - low > 1e-290)) {
        double size = fabs(high) > 1e-290 ? 0.01 * fabs(high) : 1;
        low -= size;
        high += size;
    }
    axis a = { low, high, from, to };
    return a;
}

static double place(axis a, double value)
{
    value = fmin(fmax(value, a.low), a.high);
    return a.from + (a.to - a.from) * ((value - a.low) / (a.high - a.low));
}

/* 1, 2 or 5 times a power of ten, about `count` of them on the axis. */
static double axis_step(axis a, double count)
{
    double wish = (a.high - a.low) / count, power = pow(10, floor(log10(wish))),
           rest = wish / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

/* As many digits as tell neighbours apart. */
static int axis_digits(axis a, double step)
{
    double digits = ceil(log10(fmax(fabs(a.low), fabs(a.high)) / step)) + 1;
    return (int)fmin(fmax(digits, 3), 15);
}

enum { MOST_TICKS = 12 };

static void draw_x_axis(FILE *out, axis x, double y)
{
    double step = axis_step(x, 4), first = ceil(x.low / step);
    fprintf(out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>\n", x.from, x.to, y, y);
    for (int k = 0; k < MOST_TICKS && (first + k) * step <= x.high + 1e-9 * step; k++) {
        double value = fabs(first + k) < 0.5 ? 0 : (first + k) * step;
        fprintf(out, "<text class='small' text-anchor='middle' x='%.1f' y='%.1f'>%.*g</text>\n",
                place(x, value), y + 15, axis_digits(x, step), value);
    }
}

static void draw_y_axis(FILE *out, axis y, double x, double right, int percent)
{
    double step = axis_step(y, 4), first = ceil(y.low / step);
    for (int k = 0; k < MOST_TICKS && (first + k) * step <= y.high + 1e-9 * step; k++) {
        double value = fabs(first + k) < 0.5 ? 0 : (first + k) * step, at = place(y, value);
        fprintf(out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>\n", x, right, at, at);
        fprintf(out, "<text class='small' text-anchor='end' x='%.1f' y='%.1f'>%.*g%s</text>\n",
                x - 5, at + 4, axis_digits(y, step), percent ? 100 * value : value,
                percent ? "%" : "");
    }
}

static void open_figure(FILE *out, double height, const char *label)
{
    fprintf(out, "<figure><svg viewBox='0 0 %d %.0f' role='img' aria-label='%s'>\n", WIDTH, height,
            label);
}

static void dashed_line(FILE *out, double x, double top, double bottom)
{
    fprintf(out,
            "<line x1='%.1f' x2='%.1f' y1='%.0f' y2='%.0f' stroke-dasharray='4 4' "
            "style='stroke:var(--ink)'/>\n",
            x, x, top, bottom);
}

/* ======== null distribution ======== */

typedef struct bins {
    double low, width;
    size_t count, most, counts[MOST_BINS];
} bins;

static bins count_null(const comparison *c)
{
    enum { NULL_BINS = 30 };
    bins b = { 0, 0, NULL_BINS, 1, { 0 } };
    double low = (double)c->null_values[0], high = low;
    for (size_t k = 0; k < c->result.replicates; k++) {
        low = fmin(low, (double)c->null_values[k]);
        high = fmax(high, (double)c->null_values[k]);
    }
    b.low = low;
    b.width = (high - low) / NULL_BINS;
    if (!(b.width > 0)) {
        b.width = 0.02 * fmax(fabs(high), 1);
        b.count = 1;
    }
    for (size_t k = 0; k < c->result.replicates; k++) {
        double at = floor(((double)c->null_values[k] - low) / b.width);
        size_t bin = at < (double)b.count ? (size_t)at : b.count - 1;
        b.most = ++b.counts[bin] > b.most ? b.counts[bin] : b.most;
    }
    return b;
}

void chart_null(FILE *out, const comparison *c)
{
    const npksd_result *r = &c->result;
    bins b = count_null(c);
    double statistic = (double)r->statistic, threshold = (double)r->threshold;
    double low = fmin(b.low, threshold), high = fmax(b.low + b.width * (double)b.count, threshold);
    int off = statistic > high + 1.5 * (high - low); /* farther out the picture would be empty */
    high = fmax(high, off ? high + 0.3 * (high - low) : statistic);
    low = fmin(low, statistic);
    axis x = make_axis(low - 0.03 * (high - low), high + 0.03 * (high - low), 8, 472),
         y = { 0, 1, 170, 44 };
    open_figure(out, 196, "null distribution");
    for (size_t k = 0; k < b.count; k++) {
        double left = place(x, b.low + (double)k * b.width),
               right = place(x, b.low + (double)(k + 1) * b.width);
        double top = place(y, (double)b.counts[k] / (double)b.most);
        fprintf(out,
                "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' style='fill:var(--null)'/>\n",
                left, top, fmax(right - left - 0.7, 1), 170 - top);
    }
    draw_x_axis(out, x, 170);
    double limit = place(x, threshold), at = off ? 464 : place(x, statistic);
    const char *colour = r->reject ? "--alarm" : "--observed";
    dashed_line(out, limit, 32, 170);
    fprintf(out,
            "<text class='small' text-anchor='%s' x='%.1f' y='28'>rejected beyond %.4g</text>\n",
            limit > WIDTH / 2 ? "end" : "start", limit + (limit > WIDTH / 2 ? 4 : -4), threshold);
    int near = fabs(at - limit) < 130; /* the line must not go through the words of the limit */
    fprintf(out,
            "<line x1='%.1f' x2='%.1f' y1='%d' y2='170' style='stroke:var(%s);stroke-width:3'/>\n",
            at, at, near ? 32 : 16, colour);
    int left_side = at > WIDTH / 2;
    fprintf(out,
            "<text text-anchor='%s' x='%.1f' y='12' style='fill:var(%s);font-weight:600'>observed "
            "%.4g%s</text>\n",
            left_side ? "end" : "start", at + (left_side ? 4 : -4), colour, statistic,
            off ? ", off the scale &#8594;" : "");
    fprintf(out,
            "</svg><figcaption>Grey: the statistic of %zu data sets of the same size%s. p is the "
            "share of data sets, "
            "the observed one counted in, that lie as far to the right as the observed "
            "one.</figcaption></figure>\n",
            r->replicates,
            c->settings->program.command ? ", drawn by the generator"
                                         : ", drawn at random from both files together");
}

/* ======== columns ======== */

void chart_columns(FILE *out, const comparison *c)
{
    const npksd_diagnosis *d = &c->diagnosis;
    size_t m = c->observed.m, shown = m < BARS ? m : BARS;
    double alpha = (double)c->settings->options.alpha, bottom = 22 * (double)shown + 24;
    axis x = { 0, log10((double)(c->result.replicates + 1)), LABELS, 396 };
    double limit = place(x, -log10(alpha)), room = 62; /* for "p = 0.1234" */
    open_figure(out, bottom + 4, "columns");
    for (size_t k = 0; k < shown; k++) {
        size_t i = c->column_order[k];
        double p = (double)d->coordinate_p_adjusted[i], y = 22 * (double)k + 22,
               end = place(x, -log10(p));
        fprintf(out, "<text text-anchor='end' x='%d' y='%.0f'>", LABELS - 8, y + 13);
        page_name(out, c->observed.names[i], 20);
        fprintf(
            out,
            "</text><rect x='%d' y='%.0f' width='%.1f' height='15' rx='2' style='fill:var(%s)'/>\n",
            LABELS, y + 1, fmax(end - LABELS, 1.5), column_differs(c, i) ? "--alarm" : "--null");
        double label = end < limit && end + room > limit ? limit : end; /* not across the line */
        fprintf(out, "<text class='small' x='%.1f' y='%.0f'>p = %.4f</text>\n", label + 6, y + 13, p);
    }
    dashed_line(out, limit, 16, bottom);
    fprintf(out, "<text class='small' text-anchor='middle' x='%.1f' y='12'>%g</text>\n", limit,
            alpha);
    fprintf(out,
            "</svg><figcaption>p of each column, adjusted for testing %zu column%s. A longer bar "
            "means a smaller p. Red: at or below the level. Grey: above it, or marked with "
            "others but hardly changed by itself.",
            c->tested_count, PLURAL(c->tested_count));
    if (shown < m)
        fprintf(out, " The %zu smallest are shown.", shown);
    fprintf(
        out,
        " A changed dependence may mark every column that takes part in it.</figcaption></figure>\n");
}

/* ======== one column ======== */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The values of a column in both tables without their far tails. */
typedef struct range {
    double low, high;
    int whole; /* all are whole numbers, and a bar for each has room */
} range;

static range find_range(const comparison *c, size_t column)
{
    const data *tables[2] = { &c->observed, &c->synthetic };
    size_t count = c->observed.n + c->synthetic.n, m = c->observed.m, at = 0;
    double *values = (double *)memory(NULL, count, sizeof *values);
    range r = { 0, 0, 1 };
    for (int k = 0; k < 2; k++)
        for (size_t row = 0; row < tables[k]->n; row++) {
            values[at] = (double)tables[k]->rows[row * m + column];
            r.whole &= values[at] == floor(values[at]) && fabs(values[at]) < 1e9;
            at++;
        }
    qsort(values, count, sizeof *values, compare_numbers);
    size_t tail = count / 200;
    r.low = values[tail];
    r.high = values[count - 1 - tail];
    free(values);
    if (r.whole && !(r.high > r.low)) { /* one bar in the middle */
        r.low -= 1;
        r.high += 1;
    }
    r.whole &= r.high - r.low < MOST_BINS - 2;
    axis a = make_axis(r.low, r.high, 0, 1);
    r.low = a.low;
    r.high = a.high;
    return r;
}

static void count_shares(const data *d, size_t column, const bins *b, double *shares)
{
    for (size_t k = 0; k < b->count; k++)
        shares[k] = 0;
    for (size_t r = 0; r < d->n; r++) {
        double at = floor(((double)d->rows[r * d->m + column] - b->low) / b->width);
        size_t bin = at < 0 ? 0 : at >= (double)b->count ? b->count - 1 : (size_t)at;
        shares[bin] += 1 / (double)d->n;
    }
}

void chart_histogram(FILE *out, const comparison *c, size_t column)
{
    double synthetic[MOST_BINS], observed[MOST_BINS], most = 0;
    range r = find_range(c, column);
    bins b = { r.low, 1, MOST_BINS, 0, { 0 } };
    b.count = (size_t)(r.whole ? r.high - r.low + 1
                               : fmin(fmax(2.2 * cbrt((double)c->observed.n), 8), 40));
    b.count = b.count < MOST_BINS ? b.count : MOST_BINS;
    b.width = r.whole ? 1 : (r.high - r.low) / (double)b.count;
    b.low -= r.whole ? 0.5 : 0;
    count_shares(&c->observed, column, &b, observed);
    count_shares(&c->synthetic, column, &b, synthetic);
    for (size_t k = 0; k < b.count; k++)
        most = fmax(most, fmax(observed[k], synthetic[k]));
    axis x = make_axis(b.low, b.low + b.width * (double)b.count, 44, 470),
         y = { 0, most * 1.06, 180, 26 };
    open_figure(out, 204, "histogram");
    fprintf(out, "<text x='44' y='14' style='font-weight:600'>");
    page_name(out, c->observed.names[column], 40);
    fprintf(out, "</text>\n");
    draw_y_axis(out, y, 44, 470, 1);
    for (size_t k = 0; k < b.count; k++) {
        double top = place(y, synthetic[k]), left = place(x, b.low + b.width * (double)k);
        fprintf(out,
                "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' style='fill:var(--synthetic);"
                "fill-opacity:.45'/>\n",
                left, top, 426 / (double)b.count - 0.7, 180 - top);
    }
    fprintf(out, "<path fill='none' style='stroke:var(--observed);stroke-width:2.2' d='M44 180");
    for (size_t k = 0; k < b.count; k++)
        fprintf(out, "V%.1fH%.1f", place(y, observed[k]),
                place(x, b.low + b.width * (double)(k + 1)));
    fprintf(out, "V180'/>\n");
    draw_x_axis(out, x, 180);
    fprintf(out, "</svg></figure>\n");
}

/* ======== a pair of columns ======== */

/* A pair of columns on paper. Dots of whole numbers would hide each other: they are spread out,
   always the same way for the same row. */
typedef struct plane {
    size_t i, j;
    axis x, y;
    int x_whole, y_whole;
} plane;

static void find_dot(const data *d, const plane *p, size_t row, double *x, double *y)
{
    double across = 0.618034 * (double)row, up = 0.754878 * (double)row; /* fractions fill [0, 1) */
    *x = (double)d->rows[row * d->m + p->i]
        + (p->x_whole ? 0.5 * (across - floor(across) - 0.5) : 0);
    *y = (double)d->rows[row * d->m + p->j] + (p->y_whole ? 0.5 * (up - floor(up) - 0.5) : 0);
}

static void draw_dots(FILE *out, const data *d, const plane *p, const char *colour, double radius,
                      double opacity)
{
    size_t every = d->n / DOTS + 1;
    fprintf(out, "<g style='fill:var(%s);fill-opacity:%g'>\n", colour, opacity);
    for (size_t r = 0; r < d->n; r += every) {
        double a, b;
        find_dot(d, p, r, &a, &b);
        if (a >= p->x.low && a <= p->x.high && b >= p->y.low && b <= p->y.high)
            fprintf(out, "<circle cx='%.1f' cy='%.1f' r='%.1f'/>\n", place(p->x, a), place(p->y, b),
                    radius);
    }
    fprintf(out, "</g>\n");
}

/* Room for the worst rows, and a margin; more where dots are spread. */
static axis make_frame(const comparison *c, size_t column, int *whole, double from, double to)
{
    const data *d = &c->observed;
    range r = find_range(c, column);
    for (size_t k = 0; rows_explain(c) && k < WORST_ROWS && k < d->n; k++) {
        r.low = fmin(r.low, (double)d->rows[c->row_order[k] * d->m + column]);
        r.high = fmax(r.high, (double)d->rows[c->row_order[k] * d->m + column]);
    }
    *whole = r.whole;
    r.low = fmax(r.low, -1e300);
    r.high = fmin(r.high, 1e300);
    double margin = 0.04 * (r.high - r.low) + (r.whole ? 0.25 : 0);
    return make_axis(r.low - margin, r.high + margin, from, to);
}

static void draw_rings(FILE *out, const comparison *c, const plane *p)
{
    const data *d = &c->observed;
    for (size_t k = 0; rows_explain(c) && k < WORST_ROWS && k < d->n; k++) {
        size_t row = c->row_order[k];
        double a, b;
        find_dot(d, p, row, &a, &b);
        a = place(p->x, a);
        b = place(p->y, b);
        int left = a > 430 || (k % 2 && a > 100); /* close ones have their numbers on two sides */
        fprintf(out,
                "<circle cx='%.1f' cy='%.1f' r='7' fill='none' "
                "style='stroke:var(--ink);stroke-width:1.6'/>"
                "<text text-anchor='%s' x='%.1f' y='%.1f'>%zu</text>\n",
                a, b, left ? "end" : "start", a + (left ? -10 : 10), b + 4, d->lines[row]);
    }
}

/* The pair that changed most; the library names none where pairs cannot be compared. */
void chart_pair(FILE *out, const comparison *c)
{
    const data *d = &c->observed;
    int named = c->diagnosis.pair_count > 0;
    plane p;
    p.i = named ? c->diagnosis.pairs[0].first : c->column_order[0];
    p.j = named ? c->diagnosis.pairs[0].second : c->column_order[1];
    p.x = make_frame(c, p.i, &p.x_whole, 56, 470);
    p.y = make_frame(c, p.j, &p.y_whole, 310, 22);
    open_figure(out, 348, "two columns");
    draw_y_axis(out, p.y, 56, 470, 0);
    draw_x_axis(out, p.x, 310);
    draw_dots(out, &c->synthetic, &p, "--synthetic", 1.6, 0.55);
    draw_dots(out, d, &p, "--observed", 2.4, 0.85);
    draw_rings(out, c, &p);
    fprintf(out, "<text text-anchor='end' x='470' y='342' style='font-weight:600'>");
    page_name(out, d->names[p.i], 40);
    fprintf(out, " &#8594;</text><text x='60' y='14' style='font-weight:600'>&#8593; ");
    page_name(out, d->names[p.j], 40);
    fprintf(out, "</text>\n</svg><figcaption>%s",
            named ? "The pair of columns whose correlation changed most."
                  : "The two columns with the smallest adjusted p.");
    if (rows_explain(c))
        fprintf(out, " Ringed: the rows that contribute most, with their %s in the file.",
                d->place);
    fprintf(out, "%s</figcaption></figure>\n",
            p.x_whole || p.y_whole ? " Whole numbers are spread a little, to be seen." : "");
}

/* ======== candidates ======== */

void chart_ranking(FILE *out, const comparison *candidates, const ranking *r)
{
    double low = 0, high = 0, bottom = 26 * (double)r->count + 12;
    for (size_t k = 0; k < r->count; k++) {
        low = fmin(low, r->items[k].low);
        high = fmax(high, r->items[k].high);
    }
    axis x = make_axis(low - 0.03 * (high - low), high + 0.03 * (high - low), LABELS + 8, 470);
    open_figure(out, bottom + 22, "ranking");
    dashed_line(out, place(x, 0), 6, bottom);
    for (size_t k = 0; k < r->count; k++) {
        const ranked *item = &r->items[r->order[k]];
        const comparison *c = &candidates[r->order[k]];
        double y = 26 * (double)k + 20;
        const char *colour = c->result.reject ? "--alarm" : "--calm";
        fprintf(out, "<text text-anchor='end' x='%d' y='%.0f'>", LABELS, y + 4);
        page_name(out, c->source, 20);
        fprintf(out,
                "</text><line x1='%.1f' x2='%.1f' y1='%.0f' y2='%.0f' "
                "style='stroke:var(%s);stroke-width:3'/>"
                "<circle cx='%.1f' cy='%.0f' r='5' style='fill:var(%s)'/>\n",
                place(x, item->low), place(x, item->high), y, y, colour, place(x, item->distance),
                y, colour);
    }
    draw_x_axis(out, x, bottom);
    fprintf(out,
            "</svg><figcaption>Distance from the recording, nearest first, with its interval. Red: "
            "rejected by "
            "its own test.</figcaption></figure>\n");
}

/* ======== recordings ======== */

static void draw_line(FILE *out, axis x, axis y, const double *values, size_t count,
                      const char *colour)
{
    fprintf(out, "<path fill='none' style='stroke:var(%s);stroke-width:2' d='M%.1f %.1f", colour,
            place(x, 0), place(y, 0));
    for (size_t k = 0; k < count; k++)
        fprintf(out, "L%.1f %.1f", place(x, (double)(k + 1)), place(y, values[k]));
    fprintf(out, "'/>\n");
}

void chart_evidence(FILE *out, const double *evidence, const double *change, size_t count,
                    double alarm)
{
    double low = -1, high = alarm;
    for (size_t k = 0; k < count; k++) {
        low = fmin(low, fmin(evidence[k], change[k]));
        high = fmax(high, fmax(evidence[k], change[k]));
    }
    axis x = make_axis(0, (double)(count > 1 ? count : 1), 44, 470),
         y = make_axis(low, 1.05 * high, 230, 12);
    open_figure(out, 256, "evidence");
    draw_y_axis(out, y, 44, 470, 0);
    fprintf(out,
            "<line x1='44' x2='470' y1='%.1f' y2='%.1f' stroke-dasharray='4 4' "
            "style='stroke:var(--alarm)'/>"
            "<text class='small' x='48' y='%.1f'>alarm</text>\n",
            place(y, alarm), place(y, alarm), place(y, alarm) - 4);
    draw_line(out, x, y, change, count, "--synthetic");
    draw_line(out, x, y, evidence, count, "--observed");
    draw_x_axis(out, x, 230);
    fprintf(out,
            "</svg><figcaption>Powers of ten over the number of recordings: 3 means a factor "
            "of 1000; the alarm line is 1/alpha. The "
            "evidence falls slowly while nothing differs.</figcaption></figure>\n");
}
