/* csv observed.csv synthetic.csv [options]: could the rows of the first file have come from what
 * wrote the second? A command line tool: no generator is needed, only enough of its rows.
 *
 * Both files: a row a line, the same columns, numbers separated by commas; a first line of names if
 * you like. Exit: 0 not rejected, 1 rejected, 2 something is wrong with the input. */
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 65536, NAME_BYTES = 32, COLUMNS = 256, WORST = 5 };

typedef struct table {
    const char *file;
    char names[COLUMNS][NAME_BYTES];
    size_t m, n, room, first_line; /* columns, rows, rows allocated, line of row 0 counted from 1 */
    npksd_real *rows;
} table;

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("csv: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

/* Cuts the next field out of *line, without blanks and quotes around it. */
static char *next_field(char **line)
{
    char *field = *line, *end = field + strcspn(field, ",");
    *line = *end ? end + 1 : NULL;
    while (end > field && strchr(" \t\r\n\"", end[-1]))
        end--;
    *end = '\0';
    return field + strspn(field, " \t\"");
}

/* A line of numbers, or of names: line 1, if its first field is no number. */
static void read_line(table *t, char *text, size_t line)
{
    npksd_real row[COLUMNS];
    size_t m = 0;
    int names = 0;
    for (; text != NULL; m++) {
        if (m == (t->m ? t->m : COLUMNS))
            fail("%s, line %zu: more than %zu columns", t->file, line, m);
        char *end, *field = next_field(&text);
        double value = strtod(field, &end);
        names |= line == 1 && m == 0 && *field && end == field;
        if (line == 1)
            snprintf(t->names[m], NAME_BYTES, names ? "%s" : "%.0s%zu", field, m + 1);
        const char *problem = *field == '\0' ? "no value; fill it in or remove the row"
                              : *end != '\0' ? "not a number (columns are separated by commas)"
                              : !(value > -1e300 && value < 1e300) ? "not finite; remove the row"
                                                                   : NULL;
        if (problem && !names)
            fail("%s, line %zu, column %zu (%s): \"%s\": %s", t->file, line, m + 1, t->names[m],
                 field, problem);
        row[m] = (npksd_real)value;
    }
    if (t->m != 0 && m != t->m)
        fail("%s, line %zu: %zu columns, but line 1 has %zu", t->file, line, m, t->m);
    t->m = m;
    if (names)
        return;
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 256;
        t->rows = (npksd_real *)realloc(t->rows, t->room * m * sizeof *row);
        if (!t->rows)
            fail("%s, line %zu: not enough memory", t->file, line);
    }
    t->first_line = line - t->n;
    memcpy(t->rows + t->n++ * m, row, m * sizeof *row);
}

static void read_table(table *t, const char *file)
{
    static char text[LINE_BYTES];
    size_t empty = 0;
    FILE *stream = fopen(file, "r");
    if (!stream)
        fail("%s: %s", file, strerror(errno));
    t->file = file;
    for (size_t line = 1; fgets(text, sizeof text, stream); line++) {
        if (strlen(text) == sizeof text - 1)
            fail("%s, line %zu: longer than %d bytes; is it a CSV file?", file, line, LINE_BYTES);
        if (text[strspn(text, " \r\n")] == '\0') /* fine at the end of the file */
            empty = line;
        else if (empty)
            fail("%s, line %zu: empty line; remove it", file, empty);
        else
            read_line(t, text, line);
    }
    fclose(stream);
    if (t->n == 0)
        fail("%s: no rows", file);
}

static void read_options(npksd_options *options, int argc, char **argv)
{
    for (int k = 3; k < argc; k += 2) {
        char *end, *name = argv[k], *text = k + 1 < argc ? argv[k + 1] : name;
        double value = strtod(text, &end);
        if (end == text || *end || !(value >= 0 && value < 1e9))
            fail("%s: a number from 0 to 1e9 should follow", name);
        if (strcmp(name, "--alpha") == 0)
            options->alpha = (npksd_real)value;
        else if (strcmp(name, "--replicates") == 0)
            options->replicates = (size_t)value;
        else if (strcmp(name, "--seed") == 0)
            options->seed = (uint64_t)value;
        else if (strcmp(name, "--block") == 0)
            options->block = (size_t)value;
        else
            fail("%s: no such option; csv without arguments lists them", name);
    }
}

static void print_worst_rows(const table *t, npksd_real *influence)
{
    printf("\nthe rows that pull most, largest first:\n");
    for (size_t k = 0; k < WORST && k < t->n; k++) {
        size_t worst = 0;
        for (size_t r = 1; r < t->n; r++)
            worst = influence[r] > influence[worst] ? r : worst;
        influence[worst] = (npksd_real)-1e30; /* not again */
        printf("  line %-6zu", t->first_line + worst);
        for (size_t i = 0; i < t->m; i++)
            printf(" %10.4g", (double)t->rows[worst * t->m + i]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static table observed, synthetic;
    npksd_options options = npksd_default_options();
    if (argc < 3)
        fail("usage: csv observed.csv synthetic.csv [--alpha 0.05] [--replicates 499] [--seed 0] "
             "[--block 1: rows that belong together]");
    read_options(&options, argc, argv);
    read_table(&observed, argv[1]);
    read_table(&synthetic, argv[2]);
    size_t n = observed.n, m = observed.m;
    if (m != synthetic.m)
        fail("%s has %zu columns, %s has %zu", argv[1], m, argv[2], synthetic.m);
    for (size_t i = 0; i < m; i++)
        if (strcmp(observed.names[i], synthetic.names[i]) != 0)
            fail("column %zu is \"%s\" in %s, but \"%s\" in %s", i + 1, observed.names[i], argv[1],
                 synthetic.names[i], argv[2]);
    options.diagnose = 1;
    const char *problem = npksd_samples_problem(&options, n, synthetic.n, m);
    if (synthetic.n < npksd_samples_minimum(n))
        fail("%s has %zu rows, but %zu observed rows need %zu, better ten times as many", argv[2],
             synthetic.n, n, npksd_samples_minimum(n));
    if (problem)
        fail("%s", problem);

    npksd_result result;
    npksd_real *space = (npksd_real *)malloc((2 * m + n) * sizeof *space);
    npksd_diagnosis diagnosis = { NULL, space, space + m, space + 2 * m };
    npksd_status status = space ? npksd_test_samples_diagnose(observed.rows, n, synthetic.rows,
                                      synthetic.n, m, &options, &result, &diagnosis, NULL)
                                : NPKSD_ERROR_MEMORY;
    if (status != NPKSD_OK)
        fail("%s", npksd_status_string(status));
    printf("%s: %zu rows of %zu numbers; %s: %zu rows\n", argv[1], n, m, argv[2], synthetic.n);
    printf("p = %.4f: %s\n\n", (double)result.p_value,
           result.reject ? "rejected. Rows like these are not what the second file's source makes."
                         : "not rejected. These rows show no difference; more rows might.");
    printf("  %-16s %8s %9s\n", "column", "p", "adjusted");
    for (size_t i = 0; i < m; i++)
        printf("  %-16s %8.4f %9.4f%s\n", observed.names[i], (double)diagnosis.coordinate_p[i],
               (double)diagnosis.coordinate_p_adjusted[i],
               diagnosis.coordinate_p_adjusted[i] <= options.alpha ? "  differs" : "");
    if (result.reject)
        print_worst_rows(&observed, diagnosis.row_influence);
    free(space);
    free(observed.rows);
    free(synthetic.rows);
    return result.reject;
}
