/*
 * A small plotter: lines with error bars, scattered points, bars and histograms, as SVG.
 * Nothing but the C library. plot_demo.c shows every kind; `make plot-demo` draws it.
 *
 *     plot p = plot_new("rejection rate", "variance change", "rate");
 *     p.y_low = 0, p.y_high = 1;                        (NAN, the default: from the data)
 *     plot_lines(&p, "default", x, y, low, high, count);   (low and high may be NULL)
 *     plot_write(&p, 1, 1, "results", "power");         (results/power.svg; frees the data)
 *
 * Pictures follow the reader's light or dark setting (a media query inside the SVG) and have their
 * own background, so that a viewer that ignores the query still shows dark ink on white. Colours
 * are told apart by the colour-blind; lines also differ in dashes and marks.
 */
#ifndef PLOT_H
#define PLOT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define PLOT_UNUSED __attribute__((unused))
#else
#define PLOT_UNUSED
#endif

enum { PLOT_SERIES_MAX = 12, PLOT_TICKS_MAX = 24, PLOT_COLOURS = 10, PLOT_NAME_MAX = 64 };

typedef enum plot_kind {
    PLOT_LINES,     /* marks joined by lines, error bars */
    PLOT_CURVE,     /* a line without marks */
    PLOT_POINTS,    /* small dots */
    PLOT_BARS,      /* one bar a category, side by side with the other series */
    PLOT_HISTOGRAM, /* y holds the values; drawn as densities over common bins */
    PLOT_ACROSS,    /* a horizontal line at y[0] */
    PLOT_UPRIGHT    /* a vertical line at x[0] */
} plot_kind;

typedef struct plot_series {
    plot_kind kind;
    char name[PLOT_NAME_MAX];
    size_t style; /* number of its colour, dashes and mark */
    size_t count;
    double *x, *y, *low, *high; /* copies; low and high NULL without error bars */
} plot_series;

typedef struct plot {
    char title[128], x_label[96], y_label[96];
    double x_low, x_high, y_low, y_high; /* NAN: from the data */
    int log_x, log_y;
    int percent;                         /* y ticks are percents */
    size_t bins;                         /* of histograms; 0: 30 */
    double x_ticks[PLOT_TICKS_MAX];      /* instead of round numbers, if x_tick_count > 0 */
    size_t x_tick_count;
    char categories[PLOT_TICKS_MAX][PLOT_NAME_MAX]; /* of bars: x = 0, 1, 2 ... */
    size_t category_count;
    plot_series series[PLOT_SERIES_MAX];
    size_t series_count;
    double width, height;                /* of the whole panel, in pixels */
} plot;

/* ======== giving it data ======== */

static PLOT_UNUSED void plot_fail(const char *what, const char *detail)
{
    fprintf(stderr, "plot: %s: %s\n", what, detail);
    exit(2);
}

static PLOT_UNUSED plot plot_new(const char *title, const char *x_label, const char *y_label)
{
    plot p;
    memset(&p, 0, sizeof p);
    snprintf(p.title, sizeof p.title, "%s", title);
    snprintf(p.x_label, sizeof p.x_label, "%s", x_label);
    snprintf(p.y_label, sizeof p.y_label, "%s", y_label);
    p.x_low = p.x_high = p.y_low = p.y_high = (double)NAN;
    p.width = 640;
    p.height = 380;
    return p;
}

static PLOT_UNUSED double *plot_copy(const double *values, size_t count)
{
    double *copy;
    if (values == NULL)
        return NULL;
    copy = (double *)malloc((count > 0 ? count : 1) * sizeof *copy);
    if (copy == NULL)
        plot_fail("malloc", "out of memory");
    memcpy(copy, values, count * sizeof *copy);
    return copy;
}

static PLOT_UNUSED void plot_add(plot *p, plot_kind kind, const char *name, const double *x,
                                 const double *y, const double *low, const double *high,
                                 size_t count)
{
    plot_series *s;
    if (p->series_count == PLOT_SERIES_MAX)
        plot_fail(p->title, "more than PLOT_SERIES_MAX series");
    s = &p->series[p->series_count];
    s->style = p->series_count++;
    s->kind = kind;
    snprintf(s->name, sizeof s->name, "%s", name);
    s->count = count;
    s->x = plot_copy(x, count);
    s->y = plot_copy(y, count);
    s->low = plot_copy(low, count);
    s->high = plot_copy(high, count);
}

static PLOT_UNUSED void plot_lines(plot *p, const char *name, const double *x, const double *y,
                                   const double *low, const double *high, size_t count)
{
    plot_add(p, PLOT_LINES, name, x, y, low, high, count);
}

static PLOT_UNUSED void plot_curve(plot *p, const char *name, const double *x, const double *y,
                                   size_t count)
{
    plot_add(p, PLOT_CURVE, name, x, y, NULL, NULL, count);
}

static PLOT_UNUSED void plot_points(plot *p, const char *name, const double *x, const double *y,
                                    size_t count)
{
    plot_add(p, PLOT_POINTS, name, x, y, NULL, NULL, count);
}

/* bar i stands in category i; name the categories with plot_category, in order */
static PLOT_UNUSED void plot_bars(plot *p, const char *name, const double *y, const double *low,
                                  const double *high, size_t count)
{
    plot_add(p, PLOT_BARS, name, NULL, y, low, high, count);
}

static PLOT_UNUSED void plot_category(plot *p, const char *name)
{
    if (p->category_count == PLOT_TICKS_MAX)
        plot_fail(p->title, "more than PLOT_TICKS_MAX categories");
    snprintf(p->categories[p->category_count++], PLOT_NAME_MAX, "%s", name);
}

static PLOT_UNUSED void plot_histogram(plot *p, const char *name, const double *values,
                                       size_t count)
{
    plot_add(p, PLOT_HISTOGRAM, name, NULL, values, NULL, NULL, count);
}

static PLOT_UNUSED void plot_across(plot *p, const char *name, double y)
{
    plot_add(p, PLOT_ACROSS, name, NULL, &y, NULL, NULL, 1);
}

static PLOT_UNUSED void plot_upright(plot *p, const char *name, double x)
{
    plot_add(p, PLOT_UPRIGHT, name, &x, NULL, NULL, NULL, 1);
}

/* the last series looks like number `style`: the same thing alike in several figures */
static PLOT_UNUSED void plot_like(plot *p, size_t style)
{
    p->series[p->series_count - 1].style = style;
}

static PLOT_UNUSED void plot_tick(plot *p, double x)
{
    if (p->x_tick_count < PLOT_TICKS_MAX)
        p->x_ticks[p->x_tick_count++] = x;
}

static PLOT_UNUSED void plot_free(plot *p)
{
    for (size_t k = 0; k < p->series_count; k++) {
        free(p->series[k].x);
        free(p->series[k].y);
        free(p->series[k].low);
        free(p->series[k].high);
    }
    p->series_count = 0;
}

/* ======== axes ======== */

typedef struct plot_axis {
    double low, high;         /* in data units */
    int log;
    double from, to;          /* pixels of low and high */
    double ticks[PLOT_TICKS_MAX];
    size_t tick_count;
} plot_axis;

static PLOT_UNUSED double plot_pixel(const plot_axis *a, double value)
{
    double low = a->log ? log10(a->low) : a->low, high = a->log ? log10(a->high) : a->high;
    double v = a->log ? log10(value > a->low * 1e-3 ? value : a->low * 1e-3) : value;
    return a->from + (a->to - a->from) * (v - low) / (high - low);
}

static PLOT_UNUSED void plot_see(double value, int log_axis, double *low, double *high)
{
    if (!isfinite(value) || (log_axis && value <= 0))
        return;
    if (isnan(*low) || value < *low)
        *low = value;
    if (isnan(*high) || value > *high)
        *high = value;
}

/* 1, 2 or 5 times a power of ten, at least `least` */
static PLOT_UNUSED double plot_round_step(double least)
{
    double power = pow(10, floor(log10(least)));
    double lead = least / power;
    return power * (lead <= 1.0000001 ? 1 : lead <= 2.0000001 ? 2 : lead <= 5.0000001 ? 5 : 10);
}

static PLOT_UNUSED void plot_linear_ticks(plot_axis *a, size_t wanted)
{
    double step = plot_round_step((a->high - a->low) / (double)wanted);
    double first = ceil(a->low / step - 1e-9);
    a->tick_count = 0;
    for (double k = first; k * step <= a->high + 1e-9 * step; k++)
        if (a->tick_count < PLOT_TICKS_MAX)
            a->ticks[a->tick_count++] = fabs(k) < 0.5 ? 0 : k * step;
}

/* decades; with their 2 and 5 when there are few of them, every k-th when there are many */
static PLOT_UNUSED void plot_log_ticks(plot_axis *a)
{
    static const double between[3] = { 1, 2, 5 };
    int first = (int)floor(log10(a->low) + 1e-9), last = (int)ceil(log10(a->high) - 1e-9);
    int leads = last - first <= 3 ? 3 : 1, step = 1 + (last - first) / 9;
    a->tick_count = 0;
    for (int e = first; e <= last; e += step) {
        for (int k = 0; k < leads; k++) {
            double v = between[k] * pow(10, e);
            if (v >= a->low * 0.9999 && v <= a->high * 1.0001 && a->tick_count < PLOT_TICKS_MAX)
                a->ticks[a->tick_count++] = v;
        }
    }
}

/* The ends of an axis: as told, else the data and a little room. */
static PLOT_UNUSED void plot_ends(plot_axis *a, double low, double high, double told_low,
                                  double told_high)
{
    double room;
    if (isnan(low) || isnan(high))
        low = a->log ? 1 : 0, high = a->log ? 10 : 1;
    if (a->log) {
        room = pow(high / low > 1.0001 ? high / low : 10, 0.05);
        low /= room;
        high *= room;
    } else {
        room = high > low ? 0.05 * (high - low) : (fabs(high) > 0 ? 0.1 * fabs(high) : 1);
        low -= room;
        high += room;
    }
    a->low = isnan(told_low) ? low : told_low;
    a->high = isnan(told_high) ? high : told_high;
    if (!(a->high > a->low) || (a->log && a->low <= 0))
        plot_fail("axis", "the upper end must be above the lower, and log axes above 0");
}

static PLOT_UNUSED void plot_tick_text(char *text, size_t size, double v, int percent)
{
    double magnitude = fabs(v);
    if (percent)
        snprintf(text, size, "%g %%", 100 * v);
    else if (magnitude > 0 && (magnitude < 1e-4 || magnitude >= 1e6))
        snprintf(text, size, "%.0e", v);
    else
        snprintf(text, size, "%.6g", v);
}

/* ======== drawing ======== */

static PLOT_UNUSED void plot_text(FILE *f, double x, double y, const char *attributes,
                                  const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&': fputs("&amp;", f); break;
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        default: fputc(*text, f); break;
        }
    }
    fputs("</text>\n", f);
}

static PLOT_UNUSED void plot_style(FILE *f)
{
    static const char *const light[PLOT_COLOURS] = { "#0061a8", "#c24a00", "#00825c", "#a8457f",
                                                     "#8a6a00", "#5b45b5", "#00809c", "#5c5c5c",
                                                     "#b3202c", "#4d7a00" };
    static const char *const dark[PLOT_COLOURS] = { "#5fb4ff", "#ff9650", "#35d0a0", "#f28cc8",
                                                    "#e8c547", "#b3a2ff", "#5fd6ee", "#b8b8b8",
                                                    "#ff7b80", "#a5d64c" };
    fputs("<style>\n"
          "text{font-family:sans-serif;font-size:12px;fill:#24292f}\n"
          ".t{font-size:14px;font-weight:bold}\n"
          ".page{fill:#ffffff}.axis{stroke:#57606a;fill:none}.grid{stroke:#d8dee4;fill:none}\n"
          ".mark{stroke-width:1}.line{fill:none;stroke-width:1.8}.error{stroke-width:1.1}\n",
          f);
    for (int k = 0; k < PLOT_COLOURS; k++)
        fprintf(f, ".s%d{stroke:%s}.f%d{fill:%s}\n", k, light[k], k, light[k]);
    fputs("@media (prefers-color-scheme: dark){\n"
          "text{fill:#e6edf3}.page{fill:#0d1117}.axis{stroke:#9aa4ae}.grid{stroke:#2b323b}\n",
          f);
    for (int k = 0; k < PLOT_COLOURS; k++)
        fprintf(f, ".s%d{stroke:%s}.f%d{fill:%s}\n", k, dark[k], k, dark[k]);
    fputs("}\n</style>\n", f);
}

static PLOT_UNUSED const char *plot_dashes(size_t k)
{
    static const char *const dashes[4] = { "none", "7 3", "2 3", "9 3 2 3" };
    return dashes[k % 4];
}

static PLOT_UNUSED void plot_mark(FILE *f, double x, double y, size_t k)
{
    size_t colour = k % PLOT_COLOURS;
    switch (k % 5) {
    case 0:
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" class=\"mark s%zu f%zu\"/>\n", x, y,
                colour, colour);
        break;
    case 1:
        fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6.4\" height=\"6.4\" "
                "class=\"mark s%zu f%zu\"/>\n", x - 3.2, y - 3.2, colour, colour);
        break;
    case 2:
        fprintf(f, "<path d=\"M%.1f %.1fl4.4 7.4h-8.8z\" class=\"mark s%zu f%zu\"/>\n", x, y - 4.6,
                colour, colour);
        break;
    case 3:
        fprintf(f, "<path d=\"M%.1f %.1fl4.4 4.4l-4.4 4.4l-4.4 -4.4z\" class=\"mark s%zu f%zu\"/>"
                "\n", x, y - 4.4, colour, colour);
        break;
    default:
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\" class=\"mark s%zu page\" "
                "style=\"stroke-width:1.8\"/>\n", x, y, colour);
        break;
    }
}

static PLOT_UNUSED void plot_error_bar(FILE *f, double x, double low, double high, size_t colour)
{
    fprintf(f, "<path d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6\" class=\"error s%zu\"/>\n", x,
            low, high, x - 3, low, x - 3, high, colour);
}

static PLOT_UNUSED double plot_clip(const plot_axis *a, double pixel)
{
    double least = a->from < a->to ? a->from : a->to, most = a->from < a->to ? a->to : a->from;
    return pixel < least ? least : pixel > most ? most : pixel;
}

static PLOT_UNUSED void plot_draw_line(FILE *f, const plot_series *s, size_t k, double aside,
                                       const plot_axis *x, const plot_axis *y)
{
    size_t colour = k % PLOT_COLOURS;
    fprintf(f, "<path class=\"line s%zu\" stroke-dasharray=\"%s\" d=\"", colour, plot_dashes(k));
    for (size_t i = 0; i < s->count; i++)
        fprintf(f, "%s%.1f %.1f", i > 0 ? "L" : "M", plot_pixel(x, s->x[i]) + aside,
                plot_clip(y, plot_pixel(y, s->y[i])));
    fputs("\"/>\n", f);
    for (size_t i = 0; i < s->count && s->kind == PLOT_LINES; i++) {
        double px = plot_pixel(x, s->x[i]) + aside;
        if (s->low != NULL && s->high != NULL)
            plot_error_bar(f, px, plot_clip(y, plot_pixel(y, s->low[i])),
                           plot_clip(y, plot_pixel(y, s->high[i])), colour);
        plot_mark(f, px, plot_clip(y, plot_pixel(y, s->y[i])), k);
    }
}

/* one path of round dots: small files */
static PLOT_UNUSED void plot_draw_points(FILE *f, const plot_series *s, size_t k,
                                         const plot_axis *x, const plot_axis *y)
{
    fprintf(f, "<path class=\"s%zu\" fill=\"none\" stroke-width=\"3.2\" stroke-linecap=\"round\" "
            "stroke-opacity=\"0.65\" d=\"", k % PLOT_COLOURS);
    for (size_t i = 0; i < s->count; i++)
        if (s->x[i] >= x->low && s->x[i] <= x->high && s->y[i] >= y->low && s->y[i] <= y->high)
            fprintf(f, "M%.1f %.1fh0", plot_pixel(x, s->x[i]), plot_pixel(y, s->y[i]));
    fputs("\"/>\n", f);
}

static PLOT_UNUSED void plot_draw_bars(FILE *f, const plot_series *s, size_t k, size_t place,
                                       size_t places, const plot_axis *x, const plot_axis *y)
{
    double slot = fabs(plot_pixel(x, 1) - plot_pixel(x, 0)), width = 0.8 * slot / (double)places;
    double base = plot_clip(y, plot_pixel(y, y->log ? y->low : 0));
    for (size_t i = 0; i < s->count; i++) {
        double left = plot_pixel(x, (double)i) - 0.4 * slot + width * (double)place;
        double top = plot_clip(y, plot_pixel(y, s->y[i]));
        double upper = top < base ? top : base, height = fabs(top - base);
        if (!isfinite(s->y[i]))
            continue;
        fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "class=\"s%zu f%zu\" fill-opacity=\"0.55\"/>\n", left, upper, width * 0.92,
                height > 0.8 ? height : 0.8, k % PLOT_COLOURS, k % PLOT_COLOURS);
        if (s->low != NULL && s->high != NULL)
            plot_error_bar(f, left + 0.46 * width, plot_clip(y, plot_pixel(y, s->low[i])),
                           plot_clip(y, plot_pixel(y, s->high[i])), k % PLOT_COLOURS);
    }
}

/* density of values in bin i of bins between low and high */
static PLOT_UNUSED double plot_density(const plot_series *s, double low, double high, size_t bins,
                                       size_t bin)
{
    double width = (high - low) / (double)bins;
    size_t hits = 0;
    for (size_t i = 0; i < s->count; i++) {
        double place = (s->y[i] - low) / width;
        size_t at = place < 0 ? bins : (size_t)place;
        if (at == bins && s->y[i] <= high && place >= 0)
            at = bins - 1; /* the upper end belongs to the last bin */
        hits += at == bin;
    }
    return s->count > 0 ? (double)hits / ((double)s->count * width) : 0;
}

static PLOT_UNUSED void plot_draw_histogram(FILE *f, const plot *p, const plot_series *s, size_t k,
                                            double low, double high, const plot_axis *x,
                                            const plot_axis *y)
{
    size_t bins = p->bins > 0 ? p->bins : 30, colour = k % PLOT_COLOURS;
    double width = (high - low) / (double)bins;
    fprintf(f, "<path class=\"s%zu f%zu\" fill-opacity=\"0.25\" stroke-width=\"1.5\" d=\"M%.1f "
            "%.1f", colour, colour, plot_pixel(x, low), plot_pixel(y, 0));
    for (size_t i = 0; i < bins; i++)
        fprintf(f, "V%.1fH%.1f", plot_clip(y, plot_pixel(y, plot_density(s, low, high, bins, i))),
                plot_pixel(x, low + width * (double)(i + 1)));
    fprintf(f, "V%.1fz\"/>\n", plot_pixel(y, 0));
}

static PLOT_UNUSED void plot_draw_axes(FILE *f, const plot *p, const plot_axis *x,
                                       const plot_axis *y)
{
    char text[64];
    for (size_t i = 0; i < y->tick_count; i++) {
        double v = plot_pixel(y, y->ticks[i]);
        fprintf(f, "<path d=\"M%.1f %.1fH%.1f\" class=\"grid\"/>\n", x->from, v, x->to);
        plot_tick_text(text, sizeof text, y->ticks[i], p->percent);
        plot_text(f, x->from - 7, v + 4, "text-anchor=\"end\"", text);
    }
    for (size_t i = 0; i < x->tick_count; i++) {
        double v = plot_pixel(x, x->ticks[i]);
        fprintf(f, "<path d=\"M%.1f %.1fv5\" class=\"axis\"/>\n", v, y->from);
        plot_tick_text(text, sizeof text, x->ticks[i], 0);
        plot_text(f, v, y->from + 18, "text-anchor=\"middle\"",
                  p->category_count > 0 ? p->categories[i] : text);
    }
    fprintf(f, "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fV%.1f\" class=\"axis\"/>\n", x->from, y->from,
            x->to, x->from, y->from, y->to);
    plot_text(f, (x->from + x->to) / 2, y->from + 37, "text-anchor=\"middle\"", p->x_label);
    snprintf(text, sizeof text, "text-anchor=\"middle\" transform=\"rotate(-90 %.1f %.1f)\"", 16.0,
             (y->from + y->to) / 2);
    plot_text(f, 16, (y->from + y->to) / 2, text, p->y_label);
    plot_text(f, p->width / 2, 20, "class=\"t\" text-anchor=\"middle\"", p->title);
}

static PLOT_UNUSED void plot_legend(FILE *f, const plot *p, double x, double y)
{
    for (size_t k = 0; k < p->series_count; k++) {
        const plot_series *s = &p->series[k];
        double at = y + 19 * (double)k;
        size_t style = s->style, colour = style % PLOT_COLOURS;
        if (s->name[0] == '\0')
            continue;
        if (s->kind == PLOT_BARS || s->kind == PLOT_HISTOGRAM)
            fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"10\" "
                    "class=\"s%zu f%zu\" fill-opacity=\"0.5\"/>\n", x, at - 5, colour,
                    colour);
        else if (s->kind != PLOT_POINTS)
            fprintf(f, "<path d=\"M%.1f %.1fh22\" class=\"line s%zu\" stroke-dasharray=\"%s\"/>\n",
                    x, at, colour, plot_dashes(style));
        if (s->kind == PLOT_LINES)
            plot_mark(f, x + 11, at, style);
        if (s->kind == PLOT_POINTS)
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"f%zu\"/>\n", x + 11, at,
                    colour);
        plot_text(f, x + 28, at + 4, "", s->name);
    }
}

static PLOT_UNUSED double plot_legend_width(const plot *p)
{
    size_t longest = 0;
    for (size_t k = 0; k < p->series_count; k++)
        longest = strlen(p->series[k].name) > longest ? strlen(p->series[k].name) : longest;
    return longest > 0 ? 44 + 6.8 * (double)longest : 12;
}

static PLOT_UNUSED void plot_histogram_ends(const plot *p, double *low, double *high)
{
    *low = *high = (double)NAN;
    for (size_t k = 0; k < p->series_count; k++)
        for (size_t i = 0; p->series[k].kind == PLOT_HISTOGRAM && i < p->series[k].count; i++)
            plot_see(p->series[k].y[i], 0, low, high);
    if (*low >= *high)
        *high = *low + 1;
}

static PLOT_UNUSED void plot_extent(const plot *p, double bin_low, double bin_high, double *box)
{
    for (int i = 0; i < 4; i++)
        box[i] = (double)NAN;
    for (size_t k = 0; k < p->series_count; k++) {
        const plot_series *s = &p->series[k];
        size_t bins = p->bins > 0 ? p->bins : 30;
        for (size_t i = 0; s->kind == PLOT_HISTOGRAM && i < bins; i++)
            plot_see(plot_density(s, bin_low, bin_high, bins, i), p->log_y, &box[2], &box[3]);
        if (s->kind == PLOT_HISTOGRAM || (s->kind == PLOT_BARS && !p->log_y))
            plot_see(0, 0, &box[2], &box[3]);
        for (size_t i = 0; i < s->count; i++) {
            if (s->kind == PLOT_HISTOGRAM) {
                plot_see(s->y[i], p->log_x, &box[0], &box[1]);
                continue;
            }
            if (s->x != NULL)
                plot_see(s->x[i], p->log_x, &box[0], &box[1]);
            if (s->y != NULL)
                plot_see(s->y[i], p->log_y, &box[2], &box[3]);
            if (s->low != NULL)
                plot_see(s->low[i], p->log_y, &box[2], &box[3]);
            if (s->high != NULL)
                plot_see(s->high[i], p->log_y, &box[2], &box[3]);
        }
    }
}

static PLOT_UNUSED void plot_set_axes(const plot *p, const double *box, plot_axis *x, plot_axis *y)
{
    int flat = 0;
    memset(x, 0, sizeof *x);
    memset(y, 0, sizeof *y);
    x->log = p->log_x;
    y->log = p->log_y;
    if (p->category_count > 0) {
        plot_ends(x, 0, 1, -0.5, (double)p->category_count - 0.5);
        for (size_t i = 0; i < p->category_count; i++)
            x->ticks[i] = (double)i;
        x->tick_count = p->category_count;
    } else {
        plot_ends(x, box[0], box[1], p->x_low, p->x_high);
        if (x->log)
            plot_log_ticks(x);
        else
            plot_linear_ticks(x, 7);
    }
    if (p->x_tick_count > 0) {
        memcpy(x->ticks, p->x_ticks, sizeof x->ticks);
        x->tick_count = p->x_tick_count;
    }
    for (size_t k = 0; k < p->series_count; k++) /* bars and densities stand on 0 */
        flat = flat || p->series[k].kind == PLOT_BARS || p->series[k].kind == PLOT_HISTOGRAM;
    plot_ends(y, box[2], box[3],
              flat && !p->log_y && isnan(p->y_low) && box[2] >= 0 ? 0 : p->y_low, p->y_high);
    if (y->log)
        plot_log_ticks(y);
    else
        plot_linear_ticks(y, 6);
    x->from = 62;
    x->to = p->width - plot_legend_width(p) - 8;
    y->from = p->height - 52;
    y->to = 36;
}

static PLOT_UNUSED void plot_panel(FILE *f, const plot *p)
{
    double box[4], bin_low, bin_high;
    size_t bar = 0, bars = 0, line = 0, lines = 0;
    plot_axis x, y;
    plot_histogram_ends(p, &bin_low, &bin_high);
    plot_extent(p, bin_low, bin_high, box);
    plot_set_axes(p, box, &x, &y);
    plot_draw_axes(f, p, &x, &y);
    for (size_t k = 0; k < p->series_count; k++) {
        bars += p->series[k].kind == PLOT_BARS;
        lines += p->series[k].kind == PLOT_LINES && p->series[k].low != NULL;
    }
    for (size_t k = 0; k < p->series_count; k++) {
        const plot_series *s = &p->series[k];
        size_t style = s->style;
        double aside = 0;
        switch (s->kind) {
        case PLOT_LINES:
            if (s->low != NULL) /* error bars stand beside each other */
                aside = 2.2 * ((double)line++ - (double)(lines - 1) / 2);
            plot_draw_line(f, s, style, aside, &x, &y);
            break;
        case PLOT_CURVE: plot_draw_line(f, s, style, 0, &x, &y); break;
        case PLOT_POINTS: plot_draw_points(f, s, style, &x, &y); break;
        case PLOT_BARS: plot_draw_bars(f, s, style, bar++, bars, &x, &y); break;
        case PLOT_HISTOGRAM:
            plot_draw_histogram(f, p, s, style, bin_low, bin_high, &x, &y);
            break;
        case PLOT_ACROSS:
            fprintf(f, "<path d=\"M%.1f %.1fH%.1f\" class=\"line s%zu\" stroke-dasharray=\"%s\"/>"
                    "\n", x.from, plot_pixel(&y, s->y[0]), x.to, style % PLOT_COLOURS, plot_dashes(style));
            break;
        case PLOT_UPRIGHT:
            fprintf(f, "<path d=\"M%.1f %.1fV%.1f\" class=\"line s%zu\" stroke-dasharray=\"%s\"/>"
                    "\n", plot_clip(&x, plot_pixel(&x, s->x[0])), y.from, y.to, style % PLOT_COLOURS,
                    plot_dashes(style));
            break;
        }
    }
    plot_legend(f, p, x.to + 14, y.to + 8);
}

/* count panels, `columns` beside each other, into folder/name.svg; the panels are freed */
static PLOT_UNUSED void plot_write(plot *panels, size_t count, size_t columns, const char *folder,
                                   const char *name)
{
    char path[1024];
    double width = 0, height = 0, x = 0, y = 0, row = 0;
    FILE *f;
    for (size_t k = 0; k < count; k++) {
        width = panels[k].width > width ? panels[k].width : width;
        height = panels[k].height > height ? panels[k].height : height;
    }
    snprintf(path, sizeof path, "%s/%s.svg", folder, name);
    f = fopen(path, "w");
    if (f == NULL)
        plot_fail(path, "cannot be written; does the folder exist?");
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "width=\"%.0f\" height=\"%.0f\">\n", width * (double)columns,
            height * ceil((double)count / (double)columns), width * (double)columns,
            height * ceil((double)count / (double)columns));
    plot_style(f);
    fputs("<rect width=\"100%\" height=\"100%\" class=\"page\"/>\n", f);
    for (size_t k = 0; k < count; k++) {
        x = width * (double)(k % columns);
        row = (double)(k / columns);
        y = height * row;
        fprintf(f, "<g transform=\"translate(%.0f %.0f)\">\n", x, y);
        plot_panel(f, &panels[k]);
        fputs("</g>\n", f);
        plot_free(&panels[k]);
    }
    fputs("</svg>\n", f);
    if (ferror(f) != 0 || fclose(f) != 0)
        plot_fail(path, "writing failed; is the disk full?");
}

#endif /* PLOT_H */
