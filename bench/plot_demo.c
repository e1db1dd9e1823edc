/*
 * Every kind of plot.h once: plot_demo FOLDER writes demo.svg there. Look at it after changes.
 */
#include "plot.h"

/* a number that looks random, for points and histograms */
static double noise(unsigned *state)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        *state = *state * 1664525u + 1013904223u;
        sum += (double)(*state >> 8) / 16777216.0;
    }
    return sum - 6;
}

static plot demo_lines(void)
{
    static const double x[5] = { 0, 0.2, 0.4, 0.6, 0.8 };
    static const double y[2][5] = { { 0.05, 0.4, 0.9, 0.98, 1 }, { 0.05, 0.2, 0.6, 0.9, 0.99 } };
    plot p = plot_new("lines with error bars", "change < x", "rate & more");
    p.y_low = 0;
    p.y_high = 1;
    for (int k = 0; k < 2; k++) {
        double low[5], high[5];
        for (int i = 0; i < 5; i++) {
            low[i] = fmax(0, y[k][i] - 0.06);
            high[i] = fmin(1, y[k][i] + 0.06);
        }
        plot_lines(&p, k ? "another method" : "default", x, y[k], low, high, 5);
    }
    plot_across(&p, "level 0.05", 0.05);
    return p;
}

static plot demo_log(void)
{
    double x[7], y[7], z[7];
    plot p = plot_new("both axes logarithmic", "rows n", "ms");
    p.log_x = p.log_y = 1;
    for (int i = 0; i < 7; i++) {
        x[i] = pow(10, 1 + 0.5 * i);
        y[i] = 1e-5 * x[i] * x[i];
        z[i] = 3e-3 * x[i];
    }
    plot_lines(&p, "quadratic", x, y, NULL, NULL, 7);
    plot_lines(&p, "linear", x, z, NULL, NULL, 7);
    return p;
}

static plot demo_bars(void)
{
    static const double ours[3] = { 0.05, 0.93, 0.99 }, theirs[3] = { 0.03, 0.8, 0.61 };
    static const double low[3] = { 0.02, 0.87, 0.95 }, high[3] = { 0.1, 0.97, 1 };
    plot p = plot_new("bars", "generator", "rejected");
    p.percent = 1;
    p.y_high = 1;
    plot_category(&p, "Real");
    plot_category(&p, "VAE");
    plot_category(&p, "GAN_MLP");
    plot_bars(&p, "ours", ours, low, high, 3);
    plot_bars(&p, "paper", theirs, NULL, NULL, 3);
    return p;
}

static plot demo_histogram(void)
{
    double a[1000], b[1000];
    unsigned state = 1;
    plot p = plot_new("histograms and an upright line", "statistic", "density");
    for (int i = 0; i < 1000; i++) {
        a[i] = noise(&state);
        b[i] = 1 + 0.5 * noise(&state);
    }
    plot_histogram(&p, "Monte Carlo", a, 1000);
    plot_histogram(&p, "wild bootstrap", b, 1000);
    plot_upright(&p, "observed", 1.7);
    return p;
}

static plot demo_points(void)
{
    double x[400], y[400], cx[101], cy[101];
    unsigned state = 7;
    plot p = plot_new("points and a curve", "x1", "x2");
    for (int i = 0; i < 400; i++) {
        x[i] = noise(&state);
        y[i] = noise(&state);
    }
    for (int i = 0; i <= 100; i++) {
        cx[i] = 2 * cos(0.062832 * i);
        cy[i] = 2 * sin(0.062832 * i);
    }
    plot_points(&p, "sample", x, y, 400);
    plot_curve(&p, "2 sd", cx, cy, 101);
    return p;
}

static plot demo_log_bars(void)
{
    static const double seconds[2] = { 0.02, 10.4 };
    plot p = plot_new("bars on a logarithmic axis", "", "seconds");
    p.log_y = 1;
    p.y_low = 0.001;
    plot_category(&p, "npksd.h");
    plot_category(&p, "paper");
    plot_bars(&p, "", seconds, NULL, NULL, 2);
    return p;
}

int main(int argc, char **argv)
{
    plot panels[6];
    if (argc != 2) {
        fprintf(stderr, "usage: plot_demo FOLDER\n");
        return 2;
    }
    panels[0] = demo_lines();
    panels[1] = demo_log();
    panels[2] = demo_bars();
    panels[3] = demo_histogram();
    panels[4] = demo_points();
    panels[5] = demo_log_bars();
    plot_write(panels, 6, 2, argv[1], "demo");
    return 0;
}
