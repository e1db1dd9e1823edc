/* Files as they are: CSV text and .npy arrays, columns picked by name or number.
 *
 * Whatever is wrong with a file ends the program with a sentence that names file, line and column,
 * what stands there, what was expected, and what to do. What the cells mean is for columns.c. */
#include "tool.h"
#include "cells.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ======== which columns ======== */

char *list_names(char *const *names, size_t count)
{
    enum { SHOWN = 8 };
    char *text = NULL, cut[256];
    for (size_t i = 0; i < count && i < SHOWN; i++)
        append(&text, "%s\"%s\"", i ? ", " : "", cut_text(names[i], 40, 0, cut, sizeof cut));
    if (count > SHOWN)
        append(&text, " and %zu more", count - SHOWN);
    return text;
}

/* How many letters must be changed, put in or taken away? Capitals do not count. */
static size_t count_edits(const char *a, const char *b)
{
    enum { MOST = 60 };
    size_t row[MOST + 1], length = strlen(b) < MOST ? strlen(b) : MOST;
    for (size_t k = 0; k <= length; k++)
        row[k] = k;
    for (size_t i = 0; a[i] && i < MOST; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t k = 1; k <= length; k++) {
            int other = tolower((unsigned char)a[i]) != tolower((unsigned char)b[k - 1]);
            size_t least = corner + (size_t)other;
            corner = row[k];
            least = row[k] + 1 < least ? row[k] + 1 : least;
            row[k] = row[k - 1] + 1 < least ? row[k - 1] + 1 : least;
        }
    }
    return row[length];
}

/* A number, or two with a dash between them? */
static int is_range(const char *text, size_t *first, size_t *last)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return 0;
    *first = *last = (size_t)strtoul(text, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        *last = (size_t)strtoul(end + 1, &end, 10);
    return *end == '\0' && *first >= 1 && *first <= *last;
}

/* Which columns there are instead, as the end of a sentence. */
static char *find_near(const name_index *index, const table *t, const char *name)
{
    size_t best = 0, fewest = SIZE_MAX, columns = t->columns;
    char *words = NULL, cut[256];
    if (!t->named || isdigit((unsigned char)*name)) {
        append(&words, "the columns of %s are numbered from 1 to %zu%s", t->file, columns,
               t->named ? "" : " and have no names");
        return words;
    }
    for (size_t i = 0; i < columns; i++) {
        size_t edits = count_edits(index->names[i], name);
        if (edits < fewest) {
            fewest = edits;
            best = i;
        }
    }
    append(&words, "the nearest name is \"%s\"",
           cut_text(index->names[best], 60, 0, cut, sizeof cut));
    return words;
}

static void list_add(column_list *list, char *item, size_t number)
{
    size_t k = list->count++;
    list->items = (char **)memory(list->items, list->count, sizeof *list->items);
    list->found = (int *)memory(list->found, list->count, sizeof *list->found);
    list->near = (char **)memory(list->near, list->count, sizeof *list->near);
    list->numbers = (size_t *)memory(list->numbers, list->count, sizeof *list->numbers);
    list->items[k] = item;
    list->found[k] = 0;
    list->near[k] = NULL;
    list->numbers[k] = number;
}

void list_read(column_list *list, const char *option, const char *text)
{
    list->option = option;
    list->text = text;
    while (*(text += strspn(text, " ,"))) {
        size_t length = strcspn(text, ","), used = length;
        while (used && text[used - 1] == ' ')
            used--;
        list_add(list, copy_text(text, used), 0);
        text += length + (text[length] == ',');
    }
    if (list->count == 0)
        fail("%s: column names or numbers should follow, separated by commas", option);
}

/* Numbers are those of the first file with names: they become its names, by which other files are searched. */
static void list_name(column_list *list, const name_index *index, const table *t)
{
    column_list named = { list->option, list->text, NULL, NULL, NULL, NULL, 0, 1 };
    if (list->named)
        return;
    for (size_t k = 0; k < list->count; k++) {
        size_t first, last;
        if (find_name(index, list->items[k]) != NOT_FOUND
            || !is_range(list->items[k], &first, &last) || last > t->columns)
            list_add(&named, list->items[k], 0);
        else
            for (size_t i = first; i <= last; i++)
                list_add(&named, copy_text(t->names[i - 1], strlen(t->names[i - 1])), i);
    }
    *list = named;
}

/* The columns of a table that an item means, counted from 1: by name, or by number where there are none. */
static int find_item(const column_list *list, size_t k, const name_index *index, const table *t,
                     size_t *first, size_t *last)
{
    long long found = find_name(index, list->items[k]);
    *first = *last = found != NOT_FOUND ? (size_t)found + 1 : list->numbers[k];
    if (found != NOT_FOUND)
        return 1;
    if (*first == 0)
        return is_range(list->items[k], first, last) && *last <= t->columns;
    return !t->named && !t->lent && *last <= t->columns;
}

/* Marks the columns of a file that the list names, also those whose name stands there twice. */
static void list_mark(column_list *list, const name_index *index, const table *t, char *marks)
{
    for (size_t k = 0; k < list->count; k++) {
        size_t first, last;
        if (!find_item(list, k, index, t, &first, &last)) {
            if (!list->near[k])
                list->near[k] = find_near(index, t, list->items[k]);
            continue;
        }
        list->found[k] = 1;
        memset(marks + first - 1, 1, last - first + 1);
        for (size_t i = last; index->repeated && i < t->columns; i++)
            marks[i] |= strcmp(index->names[i], list->items[k]) == 0;
    }
}

void list_check(const column_list *list)
{
    for (size_t k = 0; k < list->count; k++)
        if (!list->found[k])
            fail("%s %s: there is no such column; %s", list->option, list->items[k],
                 list->near[k] ? list->near[k] : "no file has been read");
}

static char *new_marks(size_t columns, int value)
{
    char *marks = (char *)memory(NULL, columns, 1);
    memset(marks, value, columns);
    return marks;
}

/* Neither a name nor a value: spreadsheets write such columns behind the others. */
static int is_empty(const table *t, size_t column)
{
    size_t row = 0;
    if (!t->named || t->cells[column][0])
        return 0;
    while (row < t->n && !t->cells[t->first_cell + row * t->columns + column][0])
        row++;
    return row == t->n;
}

/* Does each name also stand below as a value? Then line 1 is rather a row of words. */
static int names_are_values(const table *t)
{
    size_t i = 0, row = 0;
    while (t->named && !t->numbers && i < t->columns && row < t->n) {
        for (row = 0; row < t->n; row++)
            if (strcmp(t->cells[t->first_cell + row * t->columns + i], t->cells[i]) == 0)
                break;
        i += row < t->n;
    }
    return t->named && !t->numbers && i == t->columns;
}

static const char *data_hint(const table *t)
{
    return names_are_values(t) ? ", or say --no-header if line 1 is data" : "";
}

char **picked_names(const table *t)
{
    char **names = (char **)memory(NULL, t->m, sizeof *names);
    for (size_t i = 0; i < t->m; i++)
        names[i] = t->names[t->picked[i]];
    return names;
}

const char *number_word(const table *t, size_t column, char room[48])
{
    size_t i = 0;
    snprintf(room, 48, "%zu", column + 1);
    while (i < t->columns && strcmp(t->names[i], room) != 0)
        i++;
    if (i < t->columns)
        snprintf(room, 48, "%zu-%zu", column + 1, column + 1);
    return room;
}

/* Names that are used must differ. */
static void refuse_repeated(const table *t)
{
    name_index index;
    char **names = picked_names(t);
    size_t repeated = index_names(&index, names, t->m);
    char room[48], words[96] = ""; /* numbers are those of the first file */
    if (repeated < t->m && !(t->lender && t->lender->named))
        snprintf(words, sizeof words, ", or leave one out: --leave-out %s",
                 number_word(t, t->picked[repeated], room));
    if (repeated < t->m)
        fail("%s, line %zu: columns %zu and %zu are both called \"%.*s\"; names must differ. "
             "Rename one%s%s",
             t->file, t->lines[0] - 1, t->picked[find_name(&index, names[repeated])] + 1,
             t->picked[repeated] + 1, CUT(200, names[repeated]), words, data_hint(t));
    free_index(&index);
    free(names);
}

/* From the columns of the file to those in use. A first column without a name holds the names of
   rows: R, pandas and others write one. */
static void pick_columns(table *t, table_format *format)
{
    name_index index;
    column_list *wanted = &format->use;
    char *use = new_marks(t->columns, wanted->count == 0), *leave = new_marks(t->columns, 0);
    index_names(&index, t->names, t->columns);
    t->forced = new_marks(t->columns, 0);
    if (!t->lender && t->named && !index.repeated) {
        list_name(wanted, &index, t);
        list_name(&format->leave_out, &index, t);
        list_name(&format->categories, &index, t);
    }
    list_mark(wanted, &index, t, use);
    list_mark(&format->leave_out, &index, t, leave);
    list_mark(&format->categories, &index, t, t->forced);
    for (size_t k = 0; k < wanted->count; k++) { /* left out may be what one file does not have */
        if (!wanted->found[k])
            fail("%s: --columns %s: there is no such column; %s", t->file, wanted->items[k],
                 wanted->near[k]);
        wanted->found[k] = 0; /* the next file is asked again */
    }
    if (t->unnamed_first && wanted->count == 0 && t->columns > 1)
        leave[0] = 1;
    else
        t->unnamed_first = 0;
    t->picked = (size_t *)memory(NULL, t->columns, sizeof *t->picked);
    for (size_t i = 0; i < t->columns; i++) {
        int empty = use[i] && !leave[i] && wanted->count == 0 && is_empty(t, i);
        t->empty += (size_t)empty;
        if (use[i] && !leave[i] && !empty)
            t->picked[t->m++] = i;
    }
    if (t->m == 0)
        fail("%s: no column is left to test", t->file);
    refuse_repeated(t);
    free_index(&index);
    free(use);
    free(leave);
}

/* ======== CSV ======== */

typedef struct csv_reader {
    table *table;
    char *at, *end; /* what is left of the text; *end is a zero */
    char *plain;    /* no line before it lacks a # */
    size_t line, records, count, room, line_room;
    int no_names; /* --no-header */
} csv_reader;

static int is_blank(const csv_reader *csv, char c)
{
    return c == ' ' || (c == '\t' && csv->table->separator != '\t');
}

static int ends_field(const csv_reader *csv)
{
    return csv->at >= csv->end || *csv->at == csv->table->separator || *csv->at == '\n'
        || *csv->at == '\r';
}

static void refuse_zero_byte(const csv_reader *csv, size_t line)
{
    fail("%s, line %zu: a zero byte; this is not a text file, or one in UTF-16: save it as CSV in "
         "UTF-8",
         csv->table->file, line);
}

/* Quoted: "" is one quote, and separators and line ends are part of the text. */
static char *quoted_field(csv_reader *csv, size_t *line)
{
    size_t opened = *line;
    char *field = ++csv->at, *to = field;
    for (;; csv->at++) {
        if (csv->at >= csv->end)
            fail("%s, line %zu: a quote (\") is opened here and never closed", csv->table->file,
                 opened);
        if (*csv->at == '\0')
            refuse_zero_byte(csv, *line);
        if (*csv->at == '"' && *++csv->at != '"')
            break;
        *line += *csv->at == '\n';
        *to++ = *csv->at;
    }
    const char *closed = csv->at;
    while (is_blank(csv, *csv->at))
        csv->at++;
    if (!ends_field(csv) && csv->at > closed)
        fail("%s, line %zu: quoted text with blanks between. Columns are separated by commas, "
             "semicolons or tabs, not by blanks; in R, write.csv does so",
             csv->table->file, *line);
    if (!ends_field(csv))
        fail("%s, line %zu: text after a closing quote; inside quotes, a quote is written \"\"",
             csv->table->file, *line);
    while (to > field && is_blank(csv, to[-1]))
        to--;
    *to = '\0'; /* at the latest on the closing quote */
    while (is_blank(csv, *field))
        field++;
    return field;
}

/* One field without the blanks around it. *more: another one follows on this line. */
static char *read_field(csv_reader *csv, size_t *line, int *more)
{
    char *field, *last = NULL;
    while (is_blank(csv, *csv->at))
        csv->at++;
    if (*csv->at == '"') {
        field = quoted_field(csv, line);
    } else {
        for (field = csv->at; !ends_field(csv); csv->at++)
            if (*csv->at == '\0')
                refuse_zero_byte(csv, *line);
        for (last = csv->at; last > field && is_blank(csv, last[-1]); last--)
            ;
    }
    *more = csv->at < csv->end && *csv->at == csv->table->separator;
    if (csv->at < csv->end && *csv->at == '\r' && csv->at[1] == '\n')
        *csv->at++ = '\0';
    if (csv->at < csv->end)
        *csv->at++ = '\0';
    if (last)
        *last = '\0';
    return field;
}

static void add_cell(csv_reader *csv, char *field)
{
    table *t = csv->table;
    if (csv->count == csv->room) {
        csv->room = csv->room ? 2 * csv->room : 1024;
        t->cells = (char **)memory(t->cells, csv->room, sizeof *t->cells);
    }
    t->cells[csv->count++] = field;
}

static void add_line(csv_reader *csv, size_t line)
{
    table *t = csv->table;
    if (csv->records == csv->line_room) {
        csv->line_room = csv->line_room ? 2 * csv->line_room : 256;
        t->lines = (size_t *)memory(t->lines, csv->line_room, sizeof *t->lines);
    }
    t->lines[csv->records++] = line;
}

/* Why a line may have another number of fields than line 1, and what to do. */
static const char *fields_advice(const csv_reader *csv, size_t fields)
{
    const table *t = csv->table;
    const char *first = t->cells[csv->count - fields], *last = t->cells[csv->count - 1];
    double value;
    if (*first == '#' || strncmp(first, "//", 2) == 0)
        return "A comment? Remove it";
    if (t->separator == ',' && fields == 2 * t->columns && !strpbrk(first, ".;\t")
        && !strchr(last, '.') && classify(last, &value) == CELL_NUMBER)
        return "Decimal commas? They can be read where columns are separated by semicolons";
    if (t->columns == 1)
        return "Is that a title? Remove it";
    if (fields < t->columns)
        return "Fill in what is missing, or remove the line";
    if (*last == '\0')
        return "A separator at the end of the line? Remove it";
    if (fields == t->columns + 1 && csv->records == 2)
        return "Names of rows? Then write a name for their column into line 1 as well";
    return "A separator inside a field? Put the field into quotes";
}

/* R's write.table has names of rows, but no name above them. (Between commas it may be a decimal
   comma, unless the first field is a number in quotes, as R writes.) */
static int has_row_names(const csv_reader *csv, size_t fields)
{
    const table *t = csv->table;
    double value;
    const char *first = t->cells[csv->count - fields];
    int quoted = first[-1] == '"' && *first && first[strspn(first, "0123456789")] == '\0';
    return csv->records == 2 && fields == t->columns + 1 && (t->separator != ',' || quoted)
        && !csv->no_names && classify(t->cells[0], &value) == CELL_TEXT
        && t->cells[csv->count - 1][0];
}

static void check_fields(csv_reader *csv, size_t line, size_t fields)
{
    table *t = csv->table;
    if (csv->records == 1 || fields == t->columns)
        return;
    if (fields == 1 && t->cells[csv->count - 1][0] == '\0')
        fail("%s, line %zu: an empty line; remove it, or fill in the missing row", t->file, line);
    if (!has_row_names(csv, fields))
        fail("%s, line %zu: %zu field%s, but line %zu has %zu. %s", t->file, line, fields,
             PLURAL(fields), t->lines[0], t->columns, fields_advice(csv, fields));
    add_cell(csv, NULL); /* room for an empty name in front */
    memmove(t->cells + 1, t->cells, (csv->count - 1) * sizeof *t->cells);
    t->cells[0] = csv->end;
    t->columns++;
}

/* All records as cells; the line of a record is where it begins. */
static void read_records(csv_reader *csv)
{
    while (csv->at < csv->end) {
        size_t line = ++csv->line, first = csv->count;
        int more = 1;
        add_line(csv, line);
        while (more)
            add_cell(csv, read_field(csv, &csv->line, &more));
        if (csv->records == 1)
            csv->table->columns = csv->count;
        check_fields(csv, line, csv->count - first);
    }
}

/* Semicolon, tab or comma: the first of them that line 1 has, outside quotes. */
static char find_separator(const char *text)
{
    int quoted = 0, semicolon = 0, tab = 0;
    for (; *text && (quoted || (*text != '\n' && *text != '\r')); text++) {
        quoted ^= *text == '"';
        semicolon |= *text == ';' && !quoted;
        tab |= *text == '\t' && !quoted;
    }
    return semicolon ? ';' : tab ? '\t' : ',';
}

static char *next_line(char *at, const char *end)
{
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    if (at + 1 < end && *at == '\r' && at[1] == '\n')
        at++;
    return at < end ? at + 1 : at;
}

static size_t count_fields(const char *at, const char *end, char separator)
{
    size_t fields = 1;
    int quoted = 0;
    for (; at < end && *at != '\n' && *at != '\r'; at++) {
        quoted ^= *at == '"';
        fields += *at == separator && !quoted;
    }
    return fields;
}

static void skip_empty_lines(csv_reader *csv)
{
    while (csv->at < csv->end && (*csv->at == '\n' || *csv->at == '\r')) {
        csv->at = next_line(csv->at, csv->end);
        csv->line++;
    }
}

/* A line that begins with # and is no comment: "#,score" above the data, or #ff0000,5 where all lines are like it. */
static int is_marked_row(csv_reader *csv)
{
    char separator = csv->table->separator ? csv->table->separator : find_separator(csv->at);
    char *next = next_line(csv->at, csv->end);
    size_t fields = count_fields(csv->at, csv->end, separator);
    if (csv->at[1] == ' ' || fields == 1 || fields != count_fields(next, csv->end, separator))
        return 0;
    while (csv->plain < csv->end && (csv->plain < next || strchr("#\r\n", *csv->plain)))
        csv->plain = next_line(csv->plain, csv->end);
    int is_name = csv->at[1] == separator && csv->at[2] != separator;
    return csv->no_names || csv->plain == csv->end || (csv->plain == next && is_name);
}

/* Empty lines, comment lines (#) at the top and Excel's "sep=;" are not data. numpy.savetxt writes the
   names of the columns into the last comment line: one with as many fields as the data are names. */
static void skip_preamble(csv_reader *csv)
{
    table *t = csv->table;
    char *comment = NULL;
    skip_empty_lines(csv);
    if (csv->end - csv->at >= 5 && strncmp(csv->at, "sep=", 4) == 0 && strchr(",;\t", csv->at[4])) {
        t->separator = csv->at[4];
        csv->at = next_line(csv->at, csv->end);
        csv->line++;
    }
    while (csv->at < csv->end && *csv->at == '#' && !is_marked_row(csv)) {
        comment = csv->at;
        csv->at = next_line(csv->at, csv->end);
        csv->line++;
        t->comments++;
        size_t line = csv->line;
        skip_empty_lines(csv);
        if (csv->line > line)
            comment = NULL; /* names stand right above the data */
    }
    if (!t->separator)
        t->separator = find_separator(csv->at);
    if (!comment || csv->no_names)
        return;
    size_t fields = count_fields(comment, csv->end, t->separator);
    int names_follow = !looks_numeric(csv->at, t->separator);
    if (fields > 1 && !names_follow && fields == count_fields(csv->at, csv->end, t->separator)) {
        csv->at = comment + 1;
        csv->line--;
        t->comments--;
    }
}

/* 0,1,2,... behind an empty cell or without it: pandas numbers the columns of an array so. */
static int counts_columns(const table *t)
{
    size_t i = t->cells[0][0] == '\0', first = i;
    char number[24];
    for (; i < t->columns; i++) {
        snprintf(number, sizeof number, "%zu", i - first);
        if (strcmp(t->cells[i], number) != 0)
            return 0;
    }
    return t->columns > 1;
}

/* Line 1: names, or data? A word above a number is a name. Mixed lines that this does not settle
   are a question for the user. */
static int is_header(table *t, size_t records, const table_format *format)
{
    size_t numbers = 0, words = 0, words_above_numbers = 0;
    double value;
    if (format->header >= 0)
        return format->header;
    for (size_t i = 0; i < t->columns; i++) {
        cell_kind kind = classify(t->cells[i], &value);
        int word = kind == CELL_TEXT || kind == CELL_MAYBE_MISSING;
        words += (size_t)word;
        numbers += (size_t)(!word && kind != CELL_MISSING);
        if (word && records > 1)
            words_above_numbers += (size_t)is_numeric(classify(t->cells[t->columns + i], &value));
    }
    t->numbered = counts_columns(t);
    if (format->expected_rows && (t->numbered || (words && !words_above_numbers)))
        return records == format->expected_rows + 1; /* the rows of a program are counted */
    if (numbers && words && !words_above_numbers)
        fail("%s, line %zu: both numbers and words. If it is data and another file has a line of "
             "names, add that line to %s; otherwise say --header if it holds the names of the "
             "columns, --no-header if it is data",
             t->file, t->lines[0], t->file);
    return words > 0 || t->numbered;
}

/* Names of the columns; t->lines and t->cells go on from the first row of data. */
static void take_names(table *t, size_t records)
{
    t->names = (char **)memory(NULL, t->columns, sizeof *t->names);
    for (size_t i = 0; i < t->columns; i++) {
        const char *name = t->named ? t->cells[i] : "";
        if (*name)
            t->names[i] = clean_text(name, strlen(name));
        else {
            t->names[i] = NULL;
            append(&t->names[i], t->named ? "(%zu)" : "%zu", i + 1);
        }
    }
    t->unnamed_first = t->named && t->cells[0][0] == '\0';
    t->n = records - (size_t)t->named;
    t->first_cell = t->named ? t->columns : 0;
    if (t->named)
        memmove(t->lines, t->lines + 1, t->n * sizeof *t->lines);
    if (t->n == 0)
        fail("%s: no rows below the line of names", t->file);
}

/* One column of "1 2" or "1|2": the mark was meant as a separator. Below a title stand the others. */
static void refuse_separators(const table *t)
{
    double value;
    const char *cell = t->cells[t->first_cell], *last = t->cells[t->first_cell + t->n - 1];
    if (t->columns > 1)
        return;
    if (classify(cell, &value) == CELL_BLANKS || strchr(t->cells[0], '|'))
        fail("%s, line %zu: \"%.*s\" where one number was expected. Columns are separated by "
             "commas, semicolons or tabs, not by blanks or |; write.csv in R does so, and in NumPy "
             "savetxt with delimiter=','",
             t->file, t->lines[0], CUT(40, cell));
    if ((strchr(last, ';') && looks_numeric(last, ';'))
        || (strchr(last, '\t') && looks_numeric(last, '\t')))
        fail("%s, line %zu: \"%.*s\" where one number was expected. Is the first line a title? "
             "Remove it",
             t->file, t->lines[t->n - 1], CUT(40, last));
}

/* A byte of Windows' Latin-1, which has the euro, quotes and dashes below 0xa0. */
static char *put_latin(char *to, unsigned char byte)
{
    static const unsigned short low[32] = { 0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020,
                                            0x2021, 0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,
                                            0x17d,  0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d,
                                            0x2022, 0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a,
                                            0x153,  0x9d,   0x17e,  0x178 };
    unsigned code = byte < 0xa0 ? low[byte - 0x80] : byte;
    if (code >= 0x800)
        *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 0x3f));
    return to;
}

/* Bytes that are not UTF-8 are taken as Latin-1, so that words of two files are the same words. */
static void make_utf8(table *t)
{
    const char *end = t->text + t->bytes;
    size_t strange = 0, size;
    for (const char *c = t->text; c < end; c += size ? size : 1) {
        size = utf8_bytes(c);
        strange += size == 0;
    }
    if (strange == 0)
        return;
    char *text = (char *)memory(NULL, t->bytes + 2 * strange + 1, 1), *to = text;
    for (const char *c = t->text; c < end; c += size ? size : 1) {
        size = utf8_bytes(c);
        if (size == 0)
            to = put_latin(to, (unsigned char)*c);
        memcpy(to, c, size);
        to += size;
    }
    *to = '\0';
    free(t->text);
    t->text = text;
    t->bytes = (size_t)(to - text);
}

/* Objects and lists. In [12:30:00] of a log file no comma stands between the brackets. */
static int is_json(const char *text)
{
    char next = text[*text ? 1 + strspn(text + 1, " \t\r\n") : 0];
    if (*text == '{')
        return next == '"' || next == '\'';
    return *text == '[' && next
        && (strchr("{[\"", next)
            || (strchr("-0123456789", next) && text[strcspn(text, ",]\n")] == ','));
}

/* The text, a zero behind it, is changed and kept: cells point into it. */
static void parse_csv(table *t, table_format *format)
{
    if (t->bytes >= 2
        && (memcmp(t->text, "\xff\xfe", 2) == 0 || memcmp(t->text, "\xfe\xff", 2) == 0))
        fail("%s: UTF-16 text; save it as CSV in UTF-8, or: iconv -f UTF-16 -t UTF-8 file.csv > "
             "other.csv",
             t->file);
    make_utf8(t);
    csv_reader csv = { t, t->text, t->text + t->bytes, t->text, 0, 0, 0, 0, 0, format->header == 0 };
    if (t->bytes >= 3 && memcmp(t->text, "\xef\xbb\xbf", 3) == 0)
        csv.at += 3; /* the mark of UTF-8 */
    if (is_json(csv.at))
        fail("%s: this is JSON; save it as CSV, each row as 1.5,2.5 without brackets", t->file);
    skip_preamble(&csv);
    for (char *at = csv.end; at > csv.at && at[-1] && strchr(" \t\r\n\x1a", at[-1]); at--)
        if (at - 1 == csv.at || strchr("\r\n\x1a", at[-1]))
            csv.end = at - 1; /* blank lines at the end are fine, and so is the end mark of DOS */
    *csv.end = '\0';
    read_records(&csv);
    if (csv.records == 0)
        fail("%s: no rows; the file is empty", t->file);
    t->place = "line";
    t->named = is_header(t, csv.records, format);
    take_names(t, csv.records);
    t->named &= !t->numbered; /* numbers match whatever names another file has */
    refuse_separators(t);
}

/* ======== .npy ======== */

/* The value of 'key' in the header's dictionary, or NULL. */
static const char *npy_value(const char *header, const char *key)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *found = strstr(header, quoted);
    return found ? found + strlen(quoted) + strspn(found + strlen(quoted), " ") : NULL;
}

/* 1 or 2 dimensions as rows and columns. */
static void npy_shape(table *t, const char *shape)
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
        fail("%s: a shape of rows and columns was expected in the header", t->file);
    if (count > 2)
        fail("%s: shape %.*s; two dimensions were expected, one row a data point. In Python: "
             "numpy.save(file, a.reshape(len(a), -1))",
             t->file, length, shape);
    t->n = sizes[0];
    t->columns = sizes[1];
    if (t->n == 0 || t->columns == 0)
        fail("%s: an empty array (%zu rows, %zu columns)", t->file, t->n, t->columns);
}

typedef struct npy_type {
    char kind; /* f, i, u or b */
    int reversed;
    size_t size;
} npy_type;

static npy_type npy_read_type(const table *t, const char *type)
{
    npy_type to = { 0, 0, 0 };
    if (type && *type == '\'' && strchr("<>|=", type[1]) && type[1] && strchr("fiub", type[2])
        && type[2] && isdigit((unsigned char)type[3]) && type[4] == '\'') {
        to.reversed = type[1] == '>';
        to.kind = type[2];
        to.size = (size_t)(type[3] - '0');
    }
    int power = to.size == 1 || to.size == 2 || to.size == 4 || to.size == 8;
    if (type && *type == '[')
        fail("%s: an array of records; rows of numbers were expected. In Python: import "
             "numpy.lib.recfunctions as r; numpy.save(file, r.structured_to_unstructured(a))",
             t->file);
    if (!power || (to.kind == 'f' && to.size < 2) || (to.kind == 'b' && to.size != 1)) {
        int length = type && *type == '\'' ? (int)strcspn(type + 1, "'") + 2 : 0;
        fail("%s: numbers of type %.*s; float16, float32, float64 or whole numbers were expected. "
             "In Python: "
             "numpy.save(file, a.astype(float))",
             t->file, length ? length : 15, length ? type : "that is unknown");
    }
    return to;
}

/* One number, lowest byte first. */
static double npy_number(const unsigned char *bytes, npy_type type)
{
    uint64_t bits = 0;
    for (size_t k = type.size; k-- > 0;)
        bits = bits << 8 | bytes[k];
    if (type.kind == 'f' && type.size == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (type.kind == 'f'
        && type.size == 2) { /* 1 bit for the sign, 5 for the exponent, 10 for digits */
        int exponent = (int)(bits >> 10 & 31);
        double fraction = (double)(bits & 1023), sign = bits >> 15 ? -1 : 1;
        if (exponent == 31)
            return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
        return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
    }
    if (type.kind == 'f') {
        uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        return (double)value;
    }
    uint64_t sign = (uint64_t)1 << (8 * type.size - 1);
    if (type.kind == 'i'
        && (bits & sign)) /* two's complement: size 8 wraps to the magnitude as well */
        return -(double)(type.size == 8 ? ~bits + 1 : (sign << 1) - bits);
    return (double)bits;
}

static void npy_numbers(table *t, const unsigned char *bytes, npy_type type, int by_columns)
{
    t->numbers = (double *)memory(NULL, t->n * t->columns, sizeof *t->numbers);
    for (size_t r = 0; r < t->n; r++)
        for (size_t i = 0; i < t->columns; i++) {
            const unsigned char *from =
                bytes + (by_columns ? i * t->n + r : r * t->columns + i) * type.size;
            unsigned char number[8];
            for (size_t k = 0; k < type.size; k++)
                number[type.reversed ? type.size - 1 - k : k] = from[k];
            t->numbers[r * t->columns + i] = npy_number(number, type);
        }
}

static void parse_npy(table *t)
{
    const unsigned char *file = (const unsigned char *)t->text;
    size_t prefix = t->bytes > 6 && file[6] == 1 ? 10 : 12, length = 0;
    for (size_t k = prefix; t->bytes >= prefix && k-- > 8;)
        length = length << 8 | file[k];
    if (t->bytes < prefix || length > t->bytes - prefix || file[6] < 1 || file[6] > 3)
        fail("%s: the .npy header is damaged or of an unknown version", t->file);
    char *header = copy_text(t->text + prefix, length);
    const char *order = npy_value(header, "fortran_order");
    npy_type type = npy_read_type(t, npy_value(header, "descr"));
    npy_shape(t, npy_value(header, "shape"));
    size_t left = t->bytes - prefix - length;
    if (t->n > left / t->columns / type.size)
        fail("%s: the file is cut short: %zu x %zu numbers were expected", t->file, t->n,
             t->columns);
    if (t->n * t->columns * type.size != left)
        fail("%s: the file is longer than its %zu x %zu numbers", t->file, t->n, t->columns);
    npy_numbers(t, file + prefix + length, type, order && strncmp(order, "True", 4) == 0);
    t->place = "row";
    t->names = (char **)memory(NULL, t->columns, sizeof *t->names);
    t->lines = (size_t *)memory(NULL, t->n, sizeof *t->lines);
    for (size_t i = 0; i < t->columns; i++) {
        t->names[i] = NULL;
        append(&t->names[i], "%zu", i + 1);
    }
    for (size_t r = 0; r < t->n; r++)
        t->lines[r] = r + 1;
    free(header);
}

/* ======== files and streams ======== */

/* All of a stream, and a zero behind it. */
char *read_all(FILE *stream, const char *file, size_t *bytes)
{
    size_t room = 65536;
    char *text = (char *)memory(NULL, room, 1);
    *bytes = 0;
    for (size_t got; (got = fread(text + *bytes, 1, room - *bytes, stream)) > 0;) {
        *bytes += got;
        if (*bytes == room)
            text = (char *)memory(text, room *= 2, 1);
    }
    if (ferror(stream))
        fail("%s: cannot be read: %s", file, strerror(errno));
    text[*bytes] = '\0';
    return text;
}

/* The names of all columns, or of those in use, whichever are as many as t has. */
static void lend_names(const table *lender, table *t)
{
    if (!lender || !lender->named || t->named
        || (t->columns != lender->columns && t->columns != lender->m))
        return;
    for (size_t i = 0; i < t->columns; i++) {
        const char *name = lender->names[t->columns == lender->columns ? i : lender->picked[i]];
        free(t->names[i]);
        t->names[i] = copy_text(name, strlen(name));
    }
    t->lent = 1;
}

/* Files that are no tables at all, told by how they begin. */
static void refuse_other_formats(const table *t)
{
    static const struct {
        const char *begins, *what;
    } formats[] = {
        { "PK\3\4",
          "a zip archive (.xlsx, .ods or .npz?); save the table as CSV, or the array as .npy" },
        { "\x1f\x8b",
          "a gzip file; unpack it (gunzip), or, if it is .rds or .RData, write.csv in R" },
        { "BZh", "a bzip2 file; unpack it (bunzip2)" },
        { "\xfd"
          "7zXZ",
          "an xz file; unpack it (unxz)" },
        { "\x28\xb5\x2f\xfd", "a zstd file; unpack it (unzstd)" },
        { "\xd0\xcf\x11\xe0", "an old spreadsheet (.xls); save the table as CSV" },
        { "PAR1\x15", "a Parquet file; in pandas: read_parquet(file).to_csv(other, index=False)" },
        { "\x89HDF", "an HDF5 file; save the table as CSV" },
        { "MATLAB 5.0 MAT-file",
          "a MATLAB file; in MATLAB: writematrix(a, 'file.csv') or writetable" },
        { "MATLAB 7.3 MAT-file",
          "a MATLAB file; in MATLAB: writematrix(a, 'file.csv') or writetable" },
        { "SQLite format 3",
          "a database; in sqlite3: .headers on, .mode csv, .output file.csv, select ..." },
        { "%PDF", "a PDF file; save the table as CSV" },
        { "<!", "a web page; save the table as CSV" },
        { "<html", "a web page; save the table as CSV" },
        { "<table", "a web page; save the table as CSV" },
        { "<?xml", "an XML file; save the table as CSV" },
    };
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (strncmp(t->text, formats[k].begins, strlen(formats[k].begins)) == 0)
            fail("%s: this is %s", t->file, formats[k].what);
}

/* CSV or .npy, told by the first bytes, not by the name. The table owns text. */
void table_parse(table *t, const char *file, char *text, size_t bytes, table_format *format)
{
    memset(t, 0, sizeof *t);
    t->file = clean_text(file, strlen(file));
    t->text = text;
    t->bytes = bytes;
    t->checksum = hash_bytes(text, bytes);
    t->lender = format->lender;
    refuse_other_formats(t);
    if (bytes >= 6 && memcmp(text, "\x93NUMPY", 6) == 0)
        parse_npy(t);
    else
        parse_csv(t, format);
    lend_names(format->lender, t);
    pick_columns(t, format);
}

void table_read(table *t, const char *file, table_format *format)
{
    size_t bytes;
    int standard = strcmp(file, "-") == 0;
    FILE *stream = standard ? stdin : fopen(file, "rb");
    if (!stream)
        fail("%s: %s", file, strerror(errno));
    const char *name = standard ? "standard input" : file;
    char *text = read_all(stream, name, &bytes);
    if (!standard)
        fclose(stream);
    table_parse(t, name, text, bytes, format);
}

static char *note_commas(const table *t)
{
    size_t row, column;
    char *text = NULL;
    double value;
    const char *comma = find_marked(t, ',', CELL_COMMA_NUMBER, &row, &column);
    if (comma && classify(comma, &value) == CELL_COMMA_NUMBER)
        append(&text, "Numbers of %s have decimal commas: \"%s\" is read as %.10g.", t->file, comma,
               value);
    return text;
}

char *table_note(const table *t, int kind)
{
    char *text = NULL;
    if (kind == 0)
        return note_commas(t);
    if (kind == 1 && t->unnamed_first)
        append(&text,
               "The first column of %s has no name; it was taken as a row index and left out.",
               t->file);
    else if (kind == 2 && t->numbered)
        append(&text,
               "Line %zu of %s (0,1,2,...) was taken as numbers of columns, as pandas writes them; "
               "--no-header reads it as data.",
               t->lines[0] - 1, t->file);
    else if (kind == 3 && names_are_values(t))
        append(&text,
               "Line %zu of %s was taken as names of columns, but each of them also stands below "
               "as a value; --no-header reads it as data.",
               t->lines[0] - 1, t->file);
    else if (kind == 4 && t->empty)
        append(&text, "%zu column%s of %s %s neither a name nor values and %s left out.", t->empty,
               PLURAL(t->empty), t->file, t->empty == 1 ? "has" : "have",
               t->empty == 1 ? "was" : "were");
    else if (kind == 5 && t->comments)
        append(&text, "%d comment line%s at the top of %s %s skipped.", t->comments,
               PLURAL(t->comments), t->file, t->comments == 1 ? "was" : "were");
    return text;
}

void note_table(const table *t, notes *list)
{
    for (int kind = 0; kind < TABLE_NOTES; kind++) {
        char *text = table_note(t, kind);
        if (text)
            note(list, "%s", text);
        free(text);
    }
}

void table_free(table *t)
{
    for (size_t i = 0; i < t->columns && t->names; i++)
        free(t->names[i]);
    free(t->names);
    free(t->cells);
    free(t->numbers);
    free(t->lines);
    free(t->picked);
    free(t->forced);
    free(t->text);
    free(t->file);
    memset(t, 0, sizeof *t);
}

/* ======== two tables ======== */

/* Names that are the same but for capitals, in any order? */
static int differ_in_capitals(char *const *names, size_t count, char *const *others,
                              size_t other_count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < other_count; k++)
            if (strcasecmp(names[i], others[k]) == 0) {
                found++;
                break;
            }
    return found == count && count == other_count;
}

/* For --leave-out: adds the names that an index does not have, and counts the others in `shared`. Returns 0 if a
   name would be torn. */
static int list_others(char **list, char *const *names, size_t count, const name_index *index,
                       size_t *shared)
{
    int plain = 1;
    for (size_t i = 0; i < count; i++) {
        int other = find_name(index, names[i]) == NOT_FOUND;
        if (other)
            append(list, "%s%s", *list ? "," : " ", names[i]);
        *shared += !other;
        plain &= !other || is_plain_word(names[i]);
    }
    return plain;
}

static void require_names(const table *a, char *const *names, const table *b, char *const *others,
                          const name_index *own, const name_index *index)
{
    size_t i = 0, shared = 0;
    char *list = NULL;
    while (i < a->m && find_name(index, names[i]) != NOT_FOUND)
        i++;
    if (i == a->m)
        return;
    int helps = list_others(&list, names, a->m, index, &shared)
        && list_others(&list, others, b->m, own, &shared) && shared > 0 && strlen(list) < 400;
    fail("%s has a column \"%.*s\", %s has none of that name%s. Columns of %s: %s; of %s: %s. "
         "Both need the same columns: rename it in line 1 of %s, leave out what only one of them "
         "has "
         "(--leave-out%s), or choose with --columns%s",
         a->file, CUT(200, names[i]), b->file,
         differ_in_capitals(names, a->m, others, b->m) ? " (the names differ only in capitals)"
                                                       : "",
         a->file, list_names(names, a->m), b->file, list_names(others, b->m), b->file,
         helps ? list : "", data_hint(names_are_values(a) ? a : b));
}

int same_first_line(const table *first, const table *other)
{
    if (first->named || other->named || first->numbers || other->numbers || first->columns < 2
        || first->columns != other->columns || first->checksum == other->checksum)
        return 0;
    name_index index;
    size_t i = 0, repeated = index_names(&index, first->cells, first->columns);
    free_index(&index);
    while (i < first->columns && strcmp(first->cells[i], other->cells[i]) == 0)
        i++;
    return i == first->columns && repeated == first->columns;
}

int table_match(const table *first, table *other)
{
    int changed = 0;
    size_t row, column;
    if (!first->named || !other->named) {
        if (first->m != other->m)
            fail(
                "%s has %zu column%s in use, %s has %zu. Both need the same columns; choose with "
                "--columns or --leave-out%s",
                first->file, first->m, PLURAL(first->m), other->file, other->m,
                other->m > first->m && other->m <= 2 * first->m && other->separator == ','
                        && !find_marked(other, '.', CELL_NUMBER, &row, &column)
                    ? ". Decimal commas? They can be read where columns are separated by semicolons"
                    : "");
        return 0;
    }
    char **names = picked_names(first), **other_names = picked_names(other);
    name_index index, other_index;
    index_names(&index, names, first->m);
    index_names(&other_index, other_names, other->m);
    require_names(first, names, other, other_names, &index, &other_index);
    require_names(other, other_names, first, names, &other_index, &index);
    size_t *picked = (size_t *)memory(NULL, first->m, sizeof *picked);
    for (size_t i = 0; i < first->m; i++) {
        size_t from = (size_t)find_name(&other_index, names[i]);
        picked[i] = other->picked[from];
        changed |= from != i;
    }
    free(other->picked);
    other->picked = picked;
    free_index(&index);
    free_index(&other_index);
    free(names);
    free(other_names);
    return changed;
}
