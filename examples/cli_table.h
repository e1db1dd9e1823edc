/* Tables of numbers for npksd_cli.c: CSV text and .npy files, columns picked by name or number.
 *
 * Whatever is wrong with a file ends the program with a sentence that names file, line and column,
 * what stands there, what was expected, and what to do. Nothing is guessed, dropped or filled
 * in. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The compiler checks the arguments of functions that format like printf, if it can. */
#if defined(__GNUC__) && !defined(_WIN32)
#define CLI_FORMAT(text, first) __attribute__((format(printf, text, first)))
#else
#define CLI_FORMAT(text, first)
#endif

/* Says "npksd: ..." on stderr and exits with 2. */
static void cli_fail(const char *format, ...) CLI_FORMAT(1, 2);

static void *cli_memory(void *old, size_t count, size_t size)
{
    void *memory = size && count > SIZE_MAX / 2 / size ? NULL : realloc(old, count * size + 1);
    if (!memory)
        cli_fail("not enough memory for %zu numbers", count);
    return memory;
}

static char *cli_copy(const char *text, size_t length)
{
    char *copy = (char *)cli_memory(NULL, length, 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* FNV-1a of 64 bits */
static uint64_t cli_hash(const void *data, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t k = 0; k < bytes; k++)
        hash = (hash ^ at[k]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ======== which columns ======== */

/* A list like "speed,3,5-7": names first, then numbers counted from 1, then ranges of them. */
typedef struct cli_list {
    const char *option; /* how the user calls it, for messages */
    char **items;
    int *found; /* did any file have it? */
    size_t count;
} cli_list;

typedef struct cli_format {
    int header; /* -1 find out, 0 the first line is data, 1 it is names */
    cli_list use, leave_out;
} cli_format;

static void cli_list_read(cli_list *list, const char *option, const char *text)
{
    list->option = option;
    while (*text) {
        size_t length = strcspn(text, ","), k = list->count++;
        list->items = (char **)cli_memory(list->items, list->count, sizeof *list->items);
        list->found = (int *)cli_memory(list->found, list->count, sizeof *list->found);
        list->items[k] = cli_copy(text, length);
        list->found[k] = 0;
        text += length + (text[length] == ',');
    }
    if (list->count == 0)
        cli_fail("%s: column names or numbers should follow, separated by commas", option);
}

/* A number, or two with a dash between them? */
static int cli_range(const char *text, size_t *first, size_t *last)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return 0;
    *first = *last = (size_t)strtoul(text, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        *last = (size_t)strtoul(end + 1, &end, 10);
    return *end == '\0' && *first >= 1 && *first <= *last;
}

/* Marks the columns of a file that the list names. */
static void cli_list_mark(cli_list *list, char **names, size_t count, char *marks)
{
    for (size_t k = 0; k < list->count; k++) {
        size_t first, last, i;
        for (i = 0; i < count && strcmp(names[i], list->items[k]) != 0; i++)
            ;
        if (i < count)
            first = last = i + 1;
        else if (!cli_range(list->items[k], &first, &last) || last > count)
            continue;
        list->found[k] = 1;
        memset(marks + first - 1, 1, last - first + 1);
    }
}

static void cli_list_check(const cli_list *list)
{
    for (size_t k = 0; k < list->count; k++)
        if (!list->found[k])
            cli_fail("%s %s: there is no such column", list->option, list->items[k]);
}

/* ======== tables ======== */

typedef struct cli_table {
    const char *file;
    size_t n, m, room; /* rows, columns in use, rows allocated */
    char **names;      /* m; their numbers in the file where there are no names */
    int named;
    npksd_real *rows; /* n x m */
    size_t *lines;    /* n; the line, or the number of the row in a .npy file */
    size_t *picked;   /* m; the columns of the file that are used, counted from 0 */
    size_t file_columns;
    const char *place; /* what lines counts: "line" or "row" */
    uint64_t checksum; /* FNV-1a of the file, so that a report says which data it is about */
} cli_table;

static void cli_table_free(cli_table *t)
{
    for (size_t i = 0; i < t->m; i++)
        free(t->names[i]);
    free(t->names);
    free(t->rows);
    free(t->lines);
    free(t->picked);
    memset(t, 0, sizeof *t);
}

/* From the names of all columns of the file (taken over) to those in use. */
static void cli_pick_columns(cli_table *t, char **names, size_t count, cli_format *format)
{
    char *use = (char *)cli_memory(NULL, count, 1), *leave = (char *)cli_memory(NULL, count, 1);
    memset(use, format->use.count == 0, count);
    memset(leave, 0, count);
    cli_list_mark(&format->use, names, count, use);
    cli_list_mark(&format->leave_out, names, count, leave);
    for (size_t k = 0; k < format->use.count; k++) /* left out may be what one file does not have */
        if (!format->use.found[k])
            cli_fail("%s: --columns %s: there is no such column among its %zu", t->file,
                     format->use.items[k], count);
    t->file_columns = count;
    t->names = (char **)cli_memory(NULL, count, sizeof *names);
    t->picked = (size_t *)cli_memory(NULL, count, sizeof *t->picked);
    for (size_t i = 0; i < count; i++) {
        if (use[i] && !leave[i]) {
            t->picked[t->m] = i;
            t->names[t->m++] = names[i];
        } else {
            free(names[i]);
        }
    }
    free(names);
    free(use);
    free(leave);
    if (t->m == 0)
        cli_fail("%s: no column is left to test", t->file);
    for (size_t k = 0; k < format->use.count; k++)
        format->use.found[k] = 0; /* the next file is asked again */
}

static npksd_real *cli_new_row(cli_table *t, size_t line)
{
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 256;
        if (t->room > SIZE_MAX / t->m)
            cli_fail("%s: too many numbers", t->file);
        t->rows = (npksd_real *)cli_memory(t->rows, t->room * t->m, sizeof *t->rows);
        t->lines = (size_t *)cli_memory(t->lines, t->room, sizeof *t->lines);
    }
    t->lines[t->n] = line;
    return t->rows + t->n++ * t->m;
}

/* ======== CSV ======== */

typedef struct cli_csv {
    const char *file;
    char *at, *end; /* what is left of the text; *end is a zero */
    size_t line;
    char separator;
    char **fields; /* of the record read last, inside the text */
    size_t count, room;
} cli_csv;

static int cli_is_blank(const cli_csv *csv, char c)
{
    return c == ' ' || (c == '\t' && csv->separator != '\t');
}

/* Quoted: "" is one quote, and separators and line ends are part of the text. */
static char *cli_quoted_field(cli_csv *csv, size_t *line)
{
    size_t opened = *line;
    char *field = ++csv->at, *to = field;
    for (;; csv->at++) {
        if (csv->at >= csv->end)
            cli_fail("%s, line %zu: a quote (\") is opened here and never closed", csv->file,
                     opened);
        if (*csv->at == '"' && *++csv->at != '"')
            break;
        *line += *csv->at == '\n';
        *to++ = *csv->at;
    }
    while (cli_is_blank(csv, *csv->at))
        csv->at++;
    if (csv->at < csv->end && *csv->at != csv->separator && *csv->at != '\n' && *csv->at != '\r')
        cli_fail("%s, line %zu: text after a closing quote; inside quotes, a quote is written \"\"",
                 csv->file, *line);
    *to = '\0'; /* at the latest on the closing quote */
    return field;
}

/* One field without the blanks around it. *more: another one follows on this line. */
static char *cli_field(cli_csv *csv, size_t *line, int *more)
{
    char *field, *last = NULL;
    while (cli_is_blank(csv, *csv->at))
        csv->at++;
    if (*csv->at == '"') {
        field = cli_quoted_field(csv, line);
    } else {
        for (field = csv->at; csv->at < csv->end && *csv->at != csv->separator && *csv->at != '\n'
             && *csv->at != '\r';
             csv->at++)
            if (*csv->at == '\0')
                cli_fail("%s, line %zu: a zero byte; this is not a text file", csv->file, *line);
        for (last = csv->at; last > field && cli_is_blank(csv, last[-1]); last--)
            ;
    }
    *more = csv->at < csv->end && *csv->at == csv->separator;
    if (csv->at < csv->end && *csv->at == '\r' && csv->at[1] == '\n')
        *csv->at++ = '\0';
    if (csv->at < csv->end)
        *csv->at++ = '\0';
    if (last)
        *last = '\0';
    return field;
}

/* The next record; 0 at the end of the text. csv->line is where it ends. */
static int cli_record(cli_csv *csv)
{
    int more = 1;
    csv->count = 0;
    if (csv->at >= csv->end)
        return 0;
    size_t line = ++csv->line;
    while (more) {
        if (csv->count == csv->room) {
            csv->room = csv->room ? 2 * csv->room : 64;
            csv->fields = (char **)cli_memory(csv->fields, csv->room, sizeof *csv->fields);
        }
        csv->fields[csv->count++] = cli_field(csv, &line, &more);
    }
    csv->line = line;
    return 1;
}

enum { CLI_NUMBER, CLI_MISSING, CLI_INFINITE, CLI_COMMA, CLI_BLANKS, CLI_TEXT };

static int cli_same_word(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* What is in a field? The program never sets a locale, so strtod wants a decimal point. */
static int cli_classify(const char *text, double *value)
{
    static const char *const missing[] = { "",     "na",   "n/a",     "nan", "null", "none",
                                           "nil",  "-",    "--",      "?",   ".",    "#n/a",
                                           "+nan", "-nan", "missing", NULL };
    static const char *const infinite[] = { "inf", "infinity", NULL };
    char *end;
    for (size_t k = 0; missing[k]; k++)
        if (cli_same_word(text, missing[k]))
            return CLI_MISSING;
    for (size_t k = 0; infinite[k]; k++)
        if (cli_same_word(text + (*text == '-' || *text == '+'), infinite[k]))
            return CLI_INFINITE;
    size_t length = strlen(text);
    if (strspn(text, "+-.0123456789eE") == length) {
        *value = strtod(text, &end);
        if (*end == '\0' && end != text)
            return isfinite(*value) ? CLI_NUMBER : CLI_INFINITE;
    }
    if (strpbrk(text, "0123456789") == NULL)
        return CLI_TEXT;
    if (strchr(text, ',') && strspn(text, "+-.,'0123456789eE") == length)
        return CLI_COMMA;
    return strspn(text, "+-.0123456789eE ") == length ? CLI_BLANKS : CLI_TEXT;
}

static void cli_refuse_field(const cli_table *t, size_t line, size_t column, const char *text,
                             int kind)
{
    const char *name = t->names[column];
    char where[600], advice[400];
    snprintf(where, sizeof where, "%.300s, line %zu, column %zu (%.200s)", t->file, line,
             t->picked[column] + 1, name);
    snprintf(advice, sizeof advice, "or leave the column out: --leave-out %.200s", name);
    switch (kind) {
    case CLI_MISSING:
        cli_fail(
            "%s: a missing value (\"%.40s\"). Every row must be complete: remove the row, fill "
            "it in, %s",
            where, text, advice);
        break;
    case CLI_INFINITE:
        cli_fail("%s: \"%.40s\" is not a finite number. Remove the row, %s", where, text, advice);
        break;
    case CLI_COMMA:
        cli_fail("%s: \"%.40s\" has a decimal comma (or a mark for thousands). A number is written "
                 "with a decimal point and no other mark: 1234.5",
                 where, text);
        break;
    case CLI_BLANKS:
        cli_fail("%s: \"%.40s\": one number was expected. Columns are separated by commas, "
                 "semicolons or tabs, not by blanks",
                 where, text);
        break;
    default:
        cli_fail("%s: \"%.40s\" is not a number. If it is a category, give each category a column "
                 "of its own that holds 1 or 0; %s",
                 where, text, advice);
    }
}

/* Line 1: names, or data? Mixed lines are a question for the user. */
static int cli_is_header(const cli_csv *csv, int header)
{
    size_t numbers = 0, texts = 0;
    double value;
    if (header >= 0)
        return header;
    for (size_t i = 0; i < csv->count; i++) {
        int kind = cli_classify(csv->fields[i], &value);
        numbers += kind == CLI_NUMBER || kind == CLI_COMMA || kind == CLI_BLANKS;
        texts += kind == CLI_TEXT;
    }
    if (numbers && texts)
        cli_fail("%s, line 1: both numbers and words. Say --header if it holds the names of the "
                 "columns, --no-header if it is data",
                 csv->file);
    return texts > 0;
}

/* Line ends and escape sequences of a file are not for the reader's terminal. */
static void cli_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 32 || *text == 127)
            *text = ' ';
}

static char **cli_take_names(const cli_csv *csv, int named)
{
    char **names = (char **)cli_memory(NULL, csv->count, sizeof *names), number[24];
    for (size_t i = 0; i < csv->count; i++) {
        int own = named && csv->fields[i][0];
        snprintf(number, sizeof number, "%zu", i + 1);
        names[i] = own ? cli_copy(csv->fields[i], strlen(csv->fields[i]))
                       : cli_copy(number, strlen(number));
        cli_plain(names[i]);
        for (size_t k = 0; k < i && own; k++)
            if (strcmp(names[k], names[i]) == 0)
                cli_fail("%s, line 1: columns %zu and %zu are both called \"%s\"; names must "
                         "differ",
                         csv->file, k + 1, i + 1, names[i]);
    }
    return names;
}

static void cli_take_row(cli_table *t, const cli_csv *csv, size_t line)
{
    if (csv->count != t->file_columns) {
        if (csv->count == 1 && csv->fields[0][0] == '\0')
            cli_fail("%s, line %zu: an empty line; remove it, or fill in the missing row", t->file,
                     line);
        cli_fail("%s, line %zu: %zu fields, but line 1 has %zu%s", t->file, line, csv->count,
                 t->file_columns,
                 csv->separator == ',' && csv->count == 2 * t->file_columns
                     ? ". Decimal commas? Numbers are written with a point: 1.5"
                     : "");
    }
    npksd_real *row = cli_new_row(t, line);
    for (size_t i = 0; i < t->m; i++) {
        double value = 0;
        const char *text = csv->fields[t->picked[i]];
        int kind = cli_classify(text, &value);
        if (kind != CLI_NUMBER)
            cli_refuse_field(t, line, i, text, kind);
        row[i] = (npksd_real)value;
    }
}

/* Semicolon, tab or comma: the first of them that line 1 has, outside quotes. */
static char cli_find_separator(const char *text)
{
    int quoted = 0, semicolon = 0, tab = 0;
    for (; *text && (quoted || (*text != '\n' && *text != '\r')); text++) {
        quoted ^= *text == '"';
        semicolon |= *text == ';' && !quoted;
        tab |= *text == '\t' && !quoted;
    }
    return semicolon ? ';' : tab ? '\t' : ',';
}

/* text: bytes characters and a zero; it is changed. */
static void cli_parse_csv(cli_table *t, char *text, size_t bytes, cli_format *format)
{
    cli_csv csv = { NULL, NULL, NULL, 0, 0, NULL, 0, 0 };
    size_t mark = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* of UTF-8 */
    if (bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        cli_fail("%s: UTF-16 text; save it as CSV in UTF-8", t->file);
    csv.file = t->file;
    csv.at = text + mark;
    csv.end = text + bytes;
    while (csv.end > csv.at && strchr(" \t\r\n", csv.end[-1]) && csv.end[-1])
        csv.end--; /* empty lines at the end are fine */
    *csv.end = '\0';
    csv.separator = cli_find_separator(csv.at);
    t->place = "line";
    for (size_t line = 1; cli_record(&csv); line = csv.line + 1) {
        if (line == 1) {
            t->named = cli_is_header(&csv, format->header);
            cli_pick_columns(t, cli_take_names(&csv, t->named), csv.count, format);
        }
        if (line > 1 || !t->named)
            cli_take_row(t, &csv, line);
    }
    free(csv.fields);
}

/* ======== .npy ======== */

/* The value of 'key' in the header's dictionary, or NULL. */
static const char *cli_npy_value(const char *header, const char *key)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *found = strstr(header, quoted);
    return found ? found + strlen(quoted) + strspn(found + strlen(quoted), " ") : NULL;
}

/* 1 or 2 dimensions as rows and columns. */
static void cli_npy_shape(const char *file, const char *shape, size_t *rows, size_t *columns)
{
    size_t sizes[2] = { 1, 1 }, count = 0;
    char *end = NULL;
    const char *at = shape && *shape == '(' ? shape + 1 : "";
    int length = shape ? (int)strcspn(shape, ")") + 1 : 0;
    while (isdigit((unsigned char)*at)) {
        size_t size = (size_t)strtoul(at, &end, 10);
        if (count < 2)
            sizes[count] = size;
        count++;
        at = end + strspn(end, ", ");
    }
    if (*at != ')' || count == 0)
        cli_fail("%s: a shape of rows and columns was expected in the header", file);
    if (count > 2)
        cli_fail("%s: shape %.*s; two dimensions were expected, one row a data point. In Python: "
                 "numpy.save(file, a.reshape(len(a), -1))",
                 file, length, shape);
    *rows = sizes[0];
    *columns = sizes[1];
}

/* One number of kind f, i, u or b and so many bytes, lowest byte first. */
static double cli_npy_number(const unsigned char *bytes, char kind, size_t size)
{
    uint64_t bits = 0;
    for (size_t k = size; k-- > 0;)
        bits = bits << 8 | bytes[k];
    if (kind == 'f' && size == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (kind == 'f') {
        uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        return (double)value;
    }
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    if (kind == 'i' && (bits & sign)) /* two's complement: size 8 wraps to the magnitude as well */
        return -(double)(size == 8 ? ~bits + 1 : (sign << 1) - bits);
    return (double)bits;
}

static void cli_parse_npy(cli_table *t, const unsigned char *file, size_t bytes, cli_format *format)
{
    size_t prefix = bytes > 6 && file[6] == 1 ? 10 : 12, length = 0, rows = 0, columns = 0;
    for (size_t k = prefix; bytes >= prefix && k-- > 8;)
        length = length << 8 | file[k];
    if (bytes < prefix || length > bytes - prefix || file[6] < 1 || file[6] > 3)
        cli_fail("%s: the .npy header is damaged or of an unknown version", t->file);
    char *header = cli_copy((const char *)file + prefix, length);
    const char *type = cli_npy_value(header, "descr");
    const char *order = cli_npy_value(header, "fortran_order");
    cli_npy_shape(t->file, cli_npy_value(header, "shape"), &rows, &columns);
    int by_columns = order && strncmp(order, "True", 4) == 0;
    char kind = type && *type == '\'' && strlen(type) > 4 ? type[2] : '?';
    size_t size = kind != '?' ? (size_t)(type[3] - '0') : 0;
    int known = (kind == 'f' && (size == 4 || size == 8)) || (kind == 'b' && size == 1)
        || ((kind == 'i' || kind == 'u') && (size == 1 || size == 2 || size == 4 || size == 8));
    if (!known || type[4] != '\'' || !strchr("<>|=", type[1]))
        cli_fail("%s: numbers of type %.12s; float32, float64 or whole numbers were expected. In "
                 "Python: numpy.save(file, a.astype(float))",
                 t->file, type ? type : "unknown");
    if (rows == 0 || columns == 0)
        cli_fail("%s: an empty array (%zu rows, %zu columns)", t->file, rows, columns);
    if (rows > (bytes - prefix - length) / columns / size)
        cli_fail("%s: the file is cut short: %zu x %zu numbers were expected", t->file, rows,
                 columns);
    if (rows * columns * size != bytes - prefix - length)
        cli_fail("%s: the file is longer than its %zu x %zu numbers", t->file, rows, columns);
    char **names = (char **)cli_memory(NULL, columns, sizeof *names), number[24];
    for (size_t i = 0; i < columns; i++) {
        snprintf(number, sizeof number, "%zu", i + 1);
        names[i] = cli_copy(number, strlen(number));
    }
    int reversed = type[1] == '>';
    t->place = "row";
    cli_pick_columns(t, names, columns, format);
    for (size_t r = 0; r < rows; r++) {
        npksd_real *row = cli_new_row(t, r + 1);
        for (size_t i = 0; i < t->m; i++) {
            size_t at = by_columns ? t->picked[i] * rows + r : r * columns + t->picked[i];
            unsigned char number_bytes[8];
            for (size_t k = 0; k < size; k++)
                number_bytes[reversed ? size - 1 - k : k] = file[prefix + length + at * size + k];
            double value = cli_npy_number(number_bytes, kind, size);
            if (!isfinite(value))
                cli_fail("%s, row %zu, column %zu: %s. Every row must be complete: remove the row, "
                         "or leave the column out: --leave-out %zu",
                         t->file, r + 1, t->picked[i] + 1,
                         isnan(value) ? "a missing value (nan)" : "not finite", t->picked[i] + 1);
            row[i] = (npksd_real)value;
        }
    }
    free(header);
}

/* ======== files and streams ======== */

/* All of a stream, and a zero behind it. */
static char *cli_read_stream(FILE *stream, const char *file, size_t *bytes)
{
    size_t room = 65536;
    char *text = (char *)cli_memory(NULL, room, 1);
    *bytes = 0;
    for (size_t got; (got = fread(text + *bytes, 1, room - *bytes, stream)) > 0;) {
        *bytes += got;
        if (*bytes == room)
            text = (char *)cli_memory(text, room *= 2, 1);
    }
    if (ferror(stream))
        cli_fail("%s: cannot be read: %s", file, strerror(errno));
    text[*bytes] = '\0';
    return text;
}

/* CSV or .npy, told by the first bytes, not by the name. text is used up. */
static void cli_table_parse(cli_table *t, const char *file, char *text, size_t bytes,
                            cli_format *format)
{
    memset(t, 0, sizeof *t);
    t->file = file;
    t->checksum = cli_hash(text, bytes);
    if (bytes >= 6 && memcmp(text, "\x93NUMPY", 6) == 0)
        cli_parse_npy(t, (const unsigned char *)text, bytes, format);
    else if (bytes >= 4 && memcmp(text, "PK\3\4", 4) == 0)
        cli_fail("%s: a zip archive (.xlsx, .ods or .npz?); save the table as CSV, or the array as "
                 ".npy",
                 file);
    else
        cli_parse_csv(t, text, bytes, format);
    free(text);
    if (t->n == 0)
        cli_fail("%s: no rows%s", file, t->m ? " below the line of names" : "; the file is empty");
}

static void cli_table_read(cli_table *t, const char *file, cli_format *format)
{
    size_t bytes;
    int standard = strcmp(file, "-") == 0;
    FILE *stream = standard ? stdin : fopen(file, "rb");
    if (!stream)
        cli_fail("%s: %s", file, strerror(errno));
    const char *name = standard ? "standard input" : file;
    char *text = cli_read_stream(stream, name, &bytes);
    if (!standard)
        fclose(stream);
    cli_table_parse(t, name, text, bytes, format);
}

/* ======== two tables ======== */

static size_t cli_find_name(const cli_table *t, const char *name)
{
    size_t i = 0;
    while (i < t->m && strcmp(t->names[i], name) != 0)
        i++;
    return i;
}

static void cli_require_names(const cli_table *a, const cli_table *b)
{
    for (size_t i = 0; i < a->m; i++)
        if (cli_find_name(b, a->names[i]) == b->m)
            cli_fail("%s has a column \"%s\", %s has none of that name (its first is \"%s\"). Both "
                     "need the same columns; choose with --columns or --leave-out",
                     a->file, a->names[i], b->file, b->names[0]);
}

/* Columns belong together by name if both tables have names, otherwise by position: b is put into
   the order of a. Returns whether that changed anything. */
static int cli_align(const cli_table *a, cli_table *b)
{
    int changed = 0;
    if (a->named && b->named) {
        cli_require_names(a, b);
        cli_require_names(b, a);
    } else if (a->m != b->m) {
        cli_fail("%s has %zu columns in use, %s has %zu. Both need the same columns; choose with "
                 "--columns or --leave-out",
                 a->file, a->m, b->file, b->m);
    } else {
        return 0;
    }
    npksd_real *row = (npksd_real *)cli_memory(NULL, a->m, sizeof *row);
    size_t *from = (size_t *)cli_memory(NULL, a->m, sizeof *from);
    for (size_t i = 0; i < a->m; i++) {
        from[i] = cli_find_name(b, a->names[i]);
        changed |= from[i] != i;
    }
    for (size_t r = 0; r < b->n && changed; r++) {
        for (size_t i = 0; i < a->m; i++)
            row[i] = b->rows[r * a->m + from[i]];
        memcpy(b->rows + r * a->m, row, a->m * sizeof *row);
    }
    for (size_t i = 0; i < a->m && changed; i++) {
        free(b->names[i]);
        b->names[i] = cli_copy(a->names[i], strlen(a->names[i]));
        /* b->picked keeps the order of the file; nobody needs it any more */
    }
    free(row);
    free(from);
    return changed;
}

#endif
