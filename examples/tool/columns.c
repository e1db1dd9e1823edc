/* From cells to numbers: what kind a column is of, its categories, dates, flags, missing values.
 *
 * With two files the kinds and values are those of all files together: nothing depends on which file
 * a row stands in, so the test stays exact. With a generator they are those of a preliminary draw:
 * nothing depends on the recording. */
#include "cells.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ======== one cell ======== */

static int same_word(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static int in_words(const char *text, const char *const *words)
{
    for (size_t k = 0; words[k]; k++)
        if (same_word(text, words[k]))
            return 1;
    return 0;
}

/* So many digits as a number; -1: they are not there. */
static int read_digits(const char **at, int count)
{
    int value = 0;
    for (int k = 0; k < count; k++) {
        if (!isdigit((unsigned char)(*at)[k]))
            return -1;
        value = 10 * value + ((*at)[k] - '0');
    }
    *at += count;
    return value;
}

/* hh:mm, hh:mm:ss or hh:mm:ss.sss as seconds, or h instead of hh, as spreadsheets write; -1: none. */
static double read_time(const char **at)
{
    const char *c = *at;
    int hours = read_digits(&c, strcspn(c, ":") == 1 ? 1 : 2), minutes, seconds = 0;
    double fraction = 0;
    if (hours < 0 || hours > 24 || *c++ != ':' || (minutes = read_digits(&c, 2)) < 0
        || minutes > 59)
        return -1;
    if (*c == ':') {
        c++;
        if ((seconds = read_digits(&c, 2)) < 0 || seconds > 60)
            return -1;
        if (*c == '.' || *c == ',') {
            double unit = 0.1;
            for (c++; isdigit((unsigned char)*c); c++, unit /= 10)
                fraction += unit * (*c - '0');
        }
    }
    *at = c;
    return 3600.0 * hours + 60.0 * minutes + seconds + fraction;
}

/* Days from 1970-01-01 in the Gregorian calendar. */
static double count_days(int year, int month, int day)
{
    int y = month > 2 ? year : year - 1, era = (y >= 0 ? y : y - 399) / 400, of_era = y - 400 * era;
    int of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return 146097.0 * era + 365 * of_era + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Z, UTC, GMT or +01:00, perhaps with a blank before it: what to add to the time, in seconds. */
static double read_zone(const char **at)
{
    const char *c = *at + (**at == ' ' && (*at)[1]);
    double sign = *c == '-' ? 1 : -1;
    int hours, minutes = 0;
    if (strcmp(c, "UTC") == 0 || strcmp(c, "GMT") == 0)
        *at = c + 3;
    else if (*c == 'Z' || *c == 'z')
        *at = c + 1;
    else if (*c == '+' || *c == '-') {
        c++;
        hours = read_digits(&c, 2);
        c += *c == ':';
        if (hours < 0 || (*c && (minutes = read_digits(&c, 2)) < 0))
            return 0;
        *at = c;
        return sign * (3600.0 * hours + 60.0 * minutes);
    }
    return 0;
}

/* ISO 8601: a day, or a day and a time, with or without a zone; in days. */
static int read_date(const char *text, double *value)
{
    const char *c = text;
    int year = read_digits(&c, 4), month, day;
    if (year < 0 || *c++ != '-' || (month = read_digits(&c, 2)) < 1 || month > 12 || *c++ != '-'
        || (day = read_digits(&c, 2)) < 1)
        return 0;
    *value = count_days(year, month, day);
    if (*value >= count_days(month < 12 ? year : year + 1, month < 12 ? month + 1 : 1, 1))
        return 0; /* 31 April */
    if (*c == '\0')
        return 1;
    if (*c != 'T' && *c != 't' && *c != ' ')
        return 0;
    c++;
    double seconds = read_time(&c);
    if (seconds < 0)
        return 0;
    seconds += read_zone(&c);
    *value += seconds / 86400;
    return *c == '\0';
}

/* A number with one decimal mark; the program never sets a locale, so strtod wants a point. */
static int read_number(const char *text, char mark, double *value)
{
    char plain[64], *end, *found;
    size_t length = strlen(text);
    if (length >= sizeof plain
        || strspn(text, mark == '.' ? "+-.0123456789eE" : "+-,0123456789eE") != length) {
        if (mark != '.' || strspn(text, "+-.0123456789eE") != length)
            return 0;
        *value = strtod(text, &end); /* very many digits */
        return *end == '\0' && end != text;
    }
    memcpy(plain, text, length + 1);
    if (mark != '.' && (found = strchr(plain, mark)) != NULL)
        *found = '.';
    *value = strtod(plain, &end);
    return *end == '\0' && end != plain;
}

cell_kind classify(const char *text, double *value)
{
    /* of R, pandas, databases, C on Windows, spreadsheets */
    static const char *const missing[] = {
        "", "na", "n/a", "nan", "+nan", "-nan", "null", "-", "#n/a", "#nv", "<na>", "nat", "\\n", "nan(ind)",
        "-nan(ind)", "(null)", "[null]", "0000-00-00", "0000-00-00 00:00:00", NULL
    };
    static const char *const perhaps[] = { "none",    "nil",  "--",        "?",       ".",
                                           "missing", "n.a.", "undefined", "unknown", NULL };
    static const char *const infinite[] = { "inf", "infinity", NULL };
    static const char *const yes[] = { "true", "yes", NULL };
    static const char *const no[] = { "false", "no", NULL };
    size_t length = strlen(text);
    if (read_number(text, '.', value))
        return isfinite(*value) ? CELL_NUMBER : CELL_INFINITE;
    if (in_words(text, missing)
        || (*text == '#' && text[length - 1] == '!')) /* #DIV/0! in any language */
        return CELL_MISSING;
    if (in_words(text, perhaps))
        return CELL_MAYBE_MISSING;
    if (in_words(text + (*text == '-' || *text == '+'), infinite))
        return CELL_INFINITE;
    if (in_words(text, yes) || in_words(text, no)) {
        *value = in_words(text, yes);
        return CELL_FLAG;
    }
    if (!strpbrk(text, "0123456789"))
        return CELL_TEXT;
    if (read_number(text, ',', value))
        return isfinite(*value) ? CELL_COMMA_NUMBER : CELL_INFINITE;
    if (read_date(text, value))
        return CELL_DATE;
    const char *end = text;
    *value = read_time(&end);
    if (*value >= 0 && *end == '\0')
        return CELL_TIME;
    if (strchr(text, ',') && strspn(text, "+-.,'0123456789eE") == length)
        return CELL_MARKED_NUMBER;
    return strchr(text, ' ') && strspn(text, "+-.0123456789eE ") == length ? CELL_BLANKS
                                                                           : CELL_TEXT;
}

int is_numeric(cell_kind kind)
{
    return kind == CELL_NUMBER || kind == CELL_COMMA_NUMBER || kind == CELL_DATE
        || kind == CELL_TIME;
}

int looks_numeric(const char *line, char separator)
{
    char field[80], ends[] = { separator, '\n', '\r', '\0' };
    double value;
    for (;;) {
        size_t blanks = strspn(line, " \""), length = strcspn(line += blanks, ends);
        snprintf(field, sizeof field, "%.*s", (int)(length < 79 ? length : 79), line);
        field[strcspn(field, " \"")] = '\0';
        if (is_numeric(classify(field, &value)))
            return 1;
        if (line[length] != separator)
            return 0;
        line += length + 1;
    }
}

/* ======== cells of a table ======== */

enum { CELL_ROOM = 48, CELL_HINT = 100 };

/* The text of a cell; that of a number is written into room. */
static const char *cell_text(const table *t, size_t row, size_t column, char room[CELL_ROOM])
{
    if (!t->numbers)
        return t->cells[t->first_cell + row * t->columns + column];
    snprintf(room, CELL_ROOM, "%.15g", t->numbers[row * t->columns + column]);
    return room;
}

static int is_plain_number(cell_kind kind)
{
    return kind == CELL_NUMBER || kind == CELL_COMMA_NUMBER;
}

/* One text for a fraction however it is written: 0.50, 0,5 and 5e-01 are 0.5. NULL: a whole number, or one from 1e15
   on, which stays as it is (007 is not 7, and a key may have more digits than a double), or no number. */
static const char *number_text(const char *text, char room[CELL_ROOM])
{
    double value;
    int plain = is_plain_number(classify(text, &value));
    int whole = !text[strspn(text, "+-0123456789")] && strcmp(text, "-0") != 0;
    if (!plain || whole || fabs(value) >= 1e15)
        return NULL;
    snprintf(room, CELL_ROOM, "%.15g", value == 0 ? 0 : value); /* no -0 */
    return room;
}

/* A cell as a value of a category. Among words 1.0 is 1: pandas writes whole numbers so if a value is missing. */
static const char *category_text(const column_info *c, const table *t, size_t row, size_t column,
                                 char room[CELL_ROOM])
{
    const char *text = cell_text(t, row, column, room);
    int thousands = t->separator == ',' && strchr(text, ','); /* "1,000": rather 1000 than 1 */
    const char *number = c->of_numbers && !thousands ? number_text(text, room) : NULL;
    if (number)
        return number;
    size_t sign = *text == '-' || *text == '+', whole = strspn(text + sign, "0123456789") + sign;
    size_t zeros = text[whole] == '.' ? strspn(text + whole + 1, "0") : 0;
    if (whole == sign || zeros == 0 || text[whole + 1 + zeros] || whole >= CELL_ROOM)
        return text;
    memmove(room, text, whole);
    room[whole] = '\0';
    return room;
}

static cell_kind cell_read(const table *t, size_t row, size_t column, double *value)
{
    if (t->numbers) {
        *value = t->numbers[row * t->columns + column];
        return isfinite(*value) ? CELL_NUMBER : isnan(*value) ? CELL_MISSING : CELL_INFINITE;
    }
    cell_kind kind = classify(t->cells[t->first_cell + row * t->columns + column], value);
    return kind == CELL_BLANKS ? CELL_TEXT : kind;
}

int is_plain_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return strspn(text, plain) == strlen(text);
}

/* What to call a column on a command line: its number in the first file, if a shell or a comma would tear its name. */
static const char *column_word(const table *t, size_t column, char room[CELL_ROOM])
{
    const char *name = t->names[column];
    const table *first = t->lender && t->lender->named ? t->lender : t;
    if (is_plain_word(name))
        return name;
    for (size_t i = 0; first != t && i < first->columns; i++)
        if (strcmp(first->names[i], name) == 0)
            column = i;
    return number_word(first, column, room);
}

/* A date of another style, said as ISO 8601 wants it; 0: none. */
static int restyle_date(const char *text, char room[CELL_HINT])
{
    int first, month, last, used = 0;
    char mark, again;
    if (!isdigit((unsigned char)*text)
        || sscanf(text, "%4d%c%2d%c%4d%n", &first, &mark, &month, &again, &last, &used) != 5
        || mark != again || !strchr("/.-", mark) || (text[used] && text[used] != ' '))
        return 0;
    int year_first = first > 31, year = year_first ? first : last, day = year_first ? last : first;
    if (!year_first && (month > 12 || (mark == '/' && day <= 12))) { /* 05/19/2025 */
        int swapped = day;
        day = month;
        month = swapped;
    }
    if (year < 1000 || month < 1 || month > 12 || day < 1 || day > 31
        || (year_first && mark == '-' && used >= 10))
        return 0; /* ISO 8601 already, and yet no date */
    const char *rest = text + used, *end = rest + (*rest == ' ');
    const char *time = *rest == '\0' ? "" : read_time(&end) >= 0 && !*end ? rest : " hh:mm:ss";
    int done = snprintf(room, CELL_HINT, "it looks like a date; write %04d-%02d-%02d%.20s", year,
                        month, day, time);
    if (mark == '/' && !year_first && day <= 12 && day != month)
        snprintf(room + done, CELL_HINT - (size_t)done, " or %04d-%02d-%02d%.20s", year, day, month,
                 time);
    return 1;
}

/* 1'234, 1 234, 1.234.567: groups of three digits, with any mark that is no comma? */
static int has_groups(const char *text)
{
    static const char *const marks[] = { "'", " ", ".", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x99",
                                         NULL };
    text += *text == '-' || *text == '+';
    size_t first = strspn(text, "0123456789"), groups = 0, k = 0;
    text += first;
    while (marks[k] && strncmp(text, marks[k], strlen(marks[k])) != 0)
        k++;
    if (first == 0 || first > 3 || !marks[k])
        return 0;
    for (size_t mark = strlen(marks[k]); strncmp(text, marks[k], mark) == 0; groups++) {
        if (strspn(text + mark, "0123456789") != 3)
            return 0;
        text += mark + 3;
    }
    text += *text == '.' || *text == ',';
    return groups > 0 && text[strspn(text, "0123456789")] == '\0';
}

/* 6:30 PM */
static int is_half_day(const char *text)
{
    if (read_time(&text) < 0)
        return 0;
    text += *text == ' ';
    return same_word(text, "am") || same_word(text, "pm");
}

/* 05-Nov-2024, Nov 5, 2024: the name of a month, and a year? */
static int names_month(const char *text)
{
    static const char *const months[] = { "january",  "february", "march",  "april",     "may",
                                          "june",     "july",     "august", "september", "october",
                                          "november", "december", NULL };
    int month = 0, year = 0;
    while (*text) {
        size_t length = 0, digits = strspn(text, "0123456789");
        while (isalpha((unsigned char)text[length]))
            length++;
        for (size_t k = 0; months[k]; k++)
            month |= (length == 3 || length == strlen(months[k]))
                && strncasecmp(text, months[k], length) == 0;
        year |= digits == 4;
        text += length + digits ? length + digits : 1;
    }
    return month && year;
}

/* 37:12:05, 1:36.867, 0 days 18:54:51, PT2H36M */
static int is_duration(const char *text)
{
    text += *text == '-';
    return (strchr(text, ':') && strspn(text, "0123456789:.,") == strlen(text))
        || (isdigit((unsigned char)*text) && strstr(text, " day") && strchr(text, ':'))
        || (strncmp(text, "PT", 2) == 0 && isdigit((unsigned char)text[2]));
}

/* 2024-05-31 12:30:00 CET */
static int has_named_zone(const char *text)
{
    char date[CELL_ROOM];
    const char *zone = strrchr(text, ' ');
    double value;
    if (!zone || zone - text >= CELL_ROOM)
        return 0;
    snprintf(date, sizeof date, "%.*s", (int)(zone - text), text);
    return isalpha((unsigned char)zone[1]) && read_date(date, &value);
}

/* Where the first number of a text stands: its length, 0 if there is none. */
static size_t find_number(const char *text, size_t *first)
{
    *first = strcspn(text, "0123456789");
    *first -= *first > 0 && text[*first - 1] == '.';
    *first -= *first > 0 && strchr("+-", text[*first - 1]);
    size_t length = strspn(text + *first, "+-.,0123456789eE");
    while (length > 0 && !isdigit((unsigned char)text[*first + length - 1]))
        length--; /* 5 eggs */
    return length;
}

/* Blanks that do not break, marks of byte order, and the like? */
static int is_invisible(const char *text)
{
    static const char *const marks[] = {
        " ", "\xc2\xa0", "\xe2\x80\x8b", "\xe2\x80\xaf", "\xef\xbb\xbf", NULL
    };
    while (*text) {
        size_t k = 0;
        while (marks[k] && strncmp(text, marks[k], strlen(marks[k])) != 0)
            k++;
        if (!marks[k])
            return 0;
        text += strlen(marks[k]);
    }
    return 1;
}

/* 12.5 ms, $3.10, 60fps, '7': one number, and what has to go. Keys (a12, 7ff, 0xff, 25+) have no unit. */
static const char *unit_hint(const char *text, char room[CELL_HINT])
{
    static const char hexadecimal[] = "abcdefABCDEF";
    char number[CELL_ROOM], unit[CELL_ROOM];
    size_t first, length = find_number(text, &first), rest = strlen(text + first + length);
    const char *after = text + first + length;
    double value;
    if (first + rest == 0 || first + rest > 12 || length >= CELL_ROOM
        || strpbrk(after, "0123456789") || (*after && strchr("+-/.,:_", *after))
        || (isalpha((unsigned char)*after)
            && strspn(after + (*after == 'x'), hexadecimal) == rest - (*after == 'x')))
        return NULL;
    for (size_t k = 0; k < first; k++)
        if (isalpha((unsigned char)text[k]))
            return NULL;
    snprintf(number, sizeof number, "%.*s", (int)length, text + first);
    cell_kind kind = classify(number, &value);
    if (!is_plain_number(kind) && kind != CELL_MARKED_NUMBER)
        return NULL;
    if (strncmp(text, "\xe2\x88\x92", 3) == 0)
        return "write the minus sign as -";
    snprintf(unit, sizeof unit, "%.*s%s", (int)first, text, after);
    size_t blanks = strspn(unit, " "), end = strlen(unit);
    while (end > blanks && unit[end - 1] == ' ')
        unit[--end] = '\0';
    if (is_invisible(unit))
        return "remove the invisible characters";
    if (unit[blanks] == '-' && isdigit((unsigned char)*number)) /* -$5, - 5 */
        snprintf(room, CELL_HINT, "write -%s", number);
    else if (unit[blanks] == '(' && unit[end - 1] == ')')
        snprintf(room, CELL_HINT, "write -%s if it is negative", number);
    else
        snprintf(room, CELL_HINT, "remove the %s%s", unit + blanks,
                 isalpha((unsigned char)unit[blanks]) ? " and use one unit in all rows" : "");
    return room;
}

/* A number with a unit, or a date of another style: what to do, as the end of a sentence. */
static const char *text_hint(const char *text, char room[CELL_HINT])
{
    const char *month = text;
    if (restyle_date(text, room))
        return room;
    if (has_groups(text))
        return "remove the marks for thousands";
    if (is_half_day(text))
        return "write times with 24 hours, 18:30:00 for 6:30 PM";
    if (names_month(text))
        return "write dates as 2024-05-31 or 2024-05-31 18:30:00";
    if (has_named_zone(text))
        return "write the time zone as +01:00";
    if (read_digits(&month, 4) > 0 && *month++ == '-' && read_digits(&month, 2) > 0 && !*month) {
        snprintf(room, CELL_HINT, "it looks like a month; write %s-01", text);
        return room;
    }
    if (is_duration(text))
        return "it looks like a duration; write it in seconds";
    if ((strchr("([{<", *text) && strchr(text, ',')) || strncmp(text, "X=", 2) == 0)
        return "give each of its numbers a column";
    if (strncmp(text, "np.", 3) == 0)
        return "print float(x), not NumPy's repr(x)";
    return unit_hint(text, room);
}

/* What is wrong with a cell, as the end of: "1,5" ... */
static const char *kind_problem(cell_kind kind)
{
    switch (kind) {
    case CELL_INFINITE: return "is not a finite number. Remove the row";
    case CELL_MARKED_NUMBER: return "has marks for thousands. Remove the thousands marks";
    case CELL_COMMA_NUMBER:
        return "has a decimal comma (or a mark for thousands), but commas separate the columns. "
               "Write 1234.5, or separate columns by semicolons";
    case CELL_DATE:
    case CELL_TIME:
        return "is a date or a time, but other values of the column are not. Correct it";
    case CELL_FLAG: return "is not a number, but other values of the column are. Correct it";
    default: return "is not a number. Correct it";
    }
}

static void refuse_cell(const table *t, size_t row, size_t column, cell_kind kind, const char *hint)
{
    char room[CELL_ROOM], word_room[CELL_ROOM], *where = NULL;
    const char *name = column_word(t, column, word_room), *text = cell_text(t, row, column, room);
    append(&where, "%s, %s %zu, column %zu (%.*s)", t->file, t->place, t->lines[row], column + 1,
           CUT(200, t->names[column]));
    if (kind == CELL_MISSING || kind == CELL_MAYBE_MISSING)
        fail("%s: a missing value (\"%.*s\"). Every row must be complete here: remove the row, "
             "fill it in, or "
             "leave the column out: --leave-out %.200s",
             where, CUT(40, text), name);
    char hint_room[CELL_HINT];
    const char *better = kind == CELL_TEXT ? text_hint(text, hint_room) : NULL;
    if (better)
        fail("%s: \"%.*s\" is not a number: %s, or leave the column out: --leave-out %.200s%s",
             where, CUT(40, text), better, name, hint);
    fail("%s: \"%.*s\" %s, or leave the column out: --leave-out %.200s%s", where, CUT(40, text),
         kind_problem(kind), name, hint);
}

/* ======== what kind is a column of? ======== */

/* How many cells of each kind, and where the first of them stands. */
typedef struct census {
    size_t cells, count[CELL_KINDS];
    const table *table[CELL_KINDS];
    size_t row[CELL_KINDS], place[CELL_KINDS];
    int other_numbers;        /* some are neither 0 nor 1 */
    int later[CELL_KINDS];    /* some stand below the first row */
    const char *missing_word; /* a missing value that is not just an empty cell */
} census;

static void count_cells(census *c, const table *t, size_t column)
{
    c->cells += t->n;
    for (size_t r = 0; r < t->n; r++) {
        double value;
        cell_kind kind = cell_read(t, r, column, &value);
        if (c->count[kind]++ == 0) {
            c->table[kind] = t;
            c->row[kind] = r;
            c->place[kind] = column;
        }
        c->other_numbers |= is_numeric(kind) && value != 0 && value != 1;
        c->later[kind] |= r > 0;
        if (kind == CELL_MISSING && !t->numbers && !c->missing_word) {
            const char *text = t->cells[t->first_cell + r * t->columns + column];
            c->missing_word = *text ? text : NULL;
        }
    }
}

static void refuse_kind(const census *c, cell_kind kind, const char *hint)
{
    const table *t = c->table[kind];
    char *words = NULL;
    append(&words, "%s%s", hint,
           t->named || t->numbers || c->later[kind]
               ? ""
               : ". If line 1 holds the names of the columns, say --header");
    refuse_cell(c->table[kind], c->row[kind], c->place[kind], kind, words);
}

static size_t count_kinds(const census *c, cell_kind a, cell_kind b)
{
    return c->count[a] + c->count[b];
}

/* Words make a category unless numbers stand beside them: then one of the two is a mistake. */
static void refuse_mixture(const census *c, const char *word)
{
    size_t numbers = count_kinds(c, CELL_NUMBER, CELL_COMMA_NUMBER), flags = c->count[CELL_FLAG],
           dates = c->count[CELL_DATE], times = c->count[CELL_TIME];
    char *hint = NULL;
    append(&hint, ", or say that it is a category: --categories %.200s", word);
    for (int kind = CELL_INFINITE; kind <= CELL_MARKED_NUMBER; kind++)
        if (c->count[kind] > c->count[CELL_TEXT]) /* fewer are texts: 12e345678 among keys */
            refuse_kind(c, (cell_kind)kind, "");
    if (c->count[CELL_TEXT]) {
        const table *t = c->table[CELL_TEXT];
        char room[CELL_ROOM], better[CELL_HINT];
        const char *text = cell_text(t, c->row[CELL_TEXT], c->place[CELL_TEXT], room);
        if (t->named && !c->later[CELL_TEXT] && !text_hint(text, better))
            append(&hint, ". A second line of names or units? Remove line %zu", t->lines[0]);
        if (t->named && strcmp(text, t->names[c->place[CELL_TEXT]]) == 0)
            append(&hint, ". The line of names stands there again: remove it");
        if (numbers + dates + times > 0)
            refuse_kind(c, CELL_TEXT, hint);
    } else if (dates && numbers + times + flags > 0)
        refuse_kind(c, CELL_DATE, hint);
    else if (times && numbers + flags > 0)
        refuse_kind(c, CELL_TIME, hint);
    else if (flags && c->other_numbers)
        refuse_kind(c, CELL_FLAG, hint);
    free(hint);
}

static column_type decide_type(const census *c, const table *t, size_t column, const char *word)
{
    if (c->cells == c->count[CELL_MISSING])
        fail("%s: column %s holds no values at all. Leave it out: --leave-out %s", t->file,
             t->names[column], word);
    if (t->forced[column])
        return COLUMN_CATEGORY;
    refuse_mixture(c, word);
    if (c->count[CELL_TEXT])
        return COLUMN_CATEGORY;
    if (c->count[CELL_DATE])
        return COLUMN_DATE;
    if (c->count[CELL_TIME])
        return COLUMN_TIME;
    if (c->count[CELL_FLAG])
        return COLUMN_FLAG;
    return count_kinds(c, CELL_NUMBER, CELL_COMMA_NUMBER) ? COLUMN_NUMBER : COLUMN_CATEGORY;
}

/* ======== categories ======== */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In a column that --categories names, NA is a value such as North America. */
static int is_missing(column_type type, const table *t, size_t row, size_t column, cell_kind kind)
{
    char room[CELL_ROOM];
    if (kind == CELL_MISSING && type == COLUMN_CATEGORY && t->forced[column] && !t->numbers)
        return *cell_text(t, row, column, room) == '\0';
    return kind == CELL_MISSING || (kind == CELL_MAYBE_MISSING && type != COLUMN_CATEGORY);
}

static cell_kind text_kind(const census *c)
{
    return c->count[CELL_TEXT] ? CELL_TEXT : CELL_MAYBE_MISSING;
}

/* Too many texts for a category, of numbers with units and the like: the first of them shows what is meant. */
static void refuse_units(const census *c, const char *word)
{
    cell_kind kind = text_kind(c);
    const table *t = c->table[kind];
    char room[CELL_ROOM], hint[CELL_HINT], *more = NULL;
    append(&more, ", or say that it is a category: --categories %.200s", word);
    if (text_hint(cell_text(t, c->row[kind], c->place[kind], room), hint))
        refuse_cell(t, c->row[kind], c->place[kind], CELL_TEXT, more);
    free(more);
}

/* Too many texts for a category, in the column of the census and perhaps in others: words names them all. drawn: by
   a program; otherwise another file than that of the census may have most of them. */
static void refuse_texts(const census *c, const char *words, int drawn)
{
    cell_kind kind = text_kind(c);
    const table *t = c->table[kind];
    size_t row = c->row[kind], place = c->place[kind];
    char room[CELL_ROOM];
    const char *text = cell_text(t, row, place, room);
    int several = strchr(words, ',') != NULL, torn = t->columns == 1 && strchr(text, ' ');
    fail("%s, %s %zu, column %zu (%.*s): \"%.*s\" is not a number, and with more than %d "
         "different texts%s the column is not taken as a category automatically%s. Leave %s out: "
         "--leave-out %s; or say that %s: --categories %s%s",
         t->file, t->place, t->lines[row], place + 1, CUT(200, t->names[place]), CUT(40, text),
         (int)CATEGORY_VALUES, drawn ? "" : " in all files together",
         several ? ", nor are others like it" : "", several ? "them" : "it", words,
         several ? "they are categories" : "it is one", words,
         torn ? ". If these are several columns, separate them by commas, semicolons or tabs" : "");
}

/* The different values of a column in all tables, sorted. The set grows by being indexed anew, at
   most CATEGORY_VALUES_FORCED times. Returns 0 if there are too many of them. */
static int collect_values(column_info *c, table **tables, size_t count, size_t which,
                          const char *word)
{
    int forced = tables[0]->forced[tables[0]->picked[which]];
    size_t most = forced ? CATEGORY_VALUES_FORCED : CATEGORY_VALUES;
    index_names(&c->index, c->values, 0);
    for (size_t k = 0; k < count; k++)
        for (size_t r = 0; r < tables[k]->n; r++) {
            char room[CELL_ROOM];
            double value;
            size_t place = tables[k]->picked[which];
            const char *text = category_text(c, tables[k], r, place, room);
            if (is_missing(COLUMN_CATEGORY, tables[k], r, place,
                           cell_read(tables[k], r, place, &value))
                || find_name(&c->index, text) != NOT_FOUND)
                continue;
            if (c->value_count == most && forced)
                fail("--categories %s: more than %zu different values. Leave the column out: "
                     "--leave-out %s",
                     word, most, word);
            if (c->value_count == most)
                return 0;
            c->values = (char **)memory(c->values, c->value_count + 1, sizeof *c->values);
            c->values[c->value_count++] = copy_text(text, strlen(text));
            free_index(&c->index);
            index_names(&c->index, c->values, c->value_count);
        }
    qsort(c->values, c->value_count, sizeof *c->values, compare_texts);
    free_index(&c->index);
    return 1;
}

static void add_name(encoding *e, const column_info *owner, char *name)
{
    e->names = (char **)memory(e->names, e->m + 1, sizeof *e->names);
    e->owner = (size_t *)memory(e->owner, e->m + 1, sizeof *e->owner);
    e->owner[e->m] = (size_t)(owner - e->columns);
    e->names[e->m++] = name;
}

static void add_category_names(encoding *e, const column_info *c)
{
    for (size_t v = 0; v <= c->value_count; v++) {
        char *name = NULL, *value;
        if (v == c->value_count && !e->other)
            break;
        value = v < c->value_count ? clean_text(c->values[v], strlen(c->values[v]))
                                   : copy_text("(other)", 7);
        append(&name, "%s=%s", c->name, value);
        add_name(e, c, name);
        free(value);
    }
}

static void note_flags(const column_info *c, notes *list)
{
    char name[256];
    note(list, "Column %s: true and yes are read as 1, false and no as 0.",
         cut_text(c->name, 40, 0, name, sizeof name));
}

static void note_type(const column_info *c, const encoding *e, notes *list)
{
    char name[256], hint[CELL_HINT];
    const char *better = NULL;
    cut_text(c->name, 40, 0, name, sizeof name);
    if (c->type == COLUMN_CATEGORY && c->value_count
        && text_hint(c->values[c->value_count - 1], hint))
        better = text_hint(c->values[0], hint);
    if (better)
        note(list, "Column %s: \"%.*s\" is not a number: %s, if it is not meant as a category.",
             name, CUT(40, c->values[0]), better);
    if (c->type == COLUMN_CATEGORY)
        note(list,
             "Column %s is a category: it became %zu column%s of 0 and 1, one for each value%s.",
             name, c->value_count + (size_t)e->other, PLURAL(c->value_count + (size_t)e->other),
             e->other ? " of a preliminary draw and one for all others" : "");
    else if (c->type == COLUMN_FLAG)
        note_flags(c, list);
    else if (c->type == COLUMN_DATE)
        note(list,
             "Column %s holds dates: read as days since 1970-01-01, times as fractions of a day.",
             name);
    else if (c->type == COLUMN_TIME)
        note(list, "Column %s holds times of day: read as seconds since midnight.", name);
}

void note_columns(const encoding *e, notes *list)
{
    for (size_t i = 0; i < e->count; i++)
        note_type(&e->columns[i], e, list);
}

/* ======== the encoding ======== */

/* 1, 2, 3, ...: says where a row stands in the file, not what it is. */
static int counts_rows(const table *t, size_t column)
{
    double first = 0, value;
    for (size_t r = 0; r < t->n; r++) {
        cell_kind kind = cell_read(t, r, column, &value);
        first = r == 0 ? value : first;
        if (kind != CELL_NUMBER || value != first + (double)r || (r > 0 && value == first))
            return 0; /* 1e17 + 1 is 1e17 */
    }
    return t->n >= 10;
}

/* How often a column that never falls, or never rises, changes from row to row; 0: it does both. */
static size_t count_steps(const table *t, size_t column, double *span)
{
    size_t up = 0, down = 0;
    double first = 0, last = 0, value;
    for (size_t r = 0; r < t->n; r++) {
        if (!is_numeric(cell_read(t, r, column, &value)))
            return 0;
        first = r ? first : value;
        up += r > 0 && value > last;
        down += r > 0 && value < last;
        last = value;
    }
    *span = last - first;
    return t->n >= 10 && (up == 0 || down == 0) ? up + down : 0;
}

/* A clock changes in most rows; the number of a session seldom, but goes further in a longer file. */
static void note_clock(table **tables, size_t count, size_t which, notes *list)
{
    char room[CELL_ROOM];
    size_t column = tables[0]->picked[which];
    double first_span = 0, span;
    int dense = 1, longer = 0;
    for (size_t k = 0; k < count; k++) {
        size_t steps = count_steps(tables[k], tables[k]->picked[which], &span);
        if (steps == 0)
            return;
        first_span = k ? first_span : span;
        dense &= 3 * steps >= tables[k]->n;
        longer |= span != first_span;
    }
    if (dense || longer)
        note(list,
             "Column %.*s only rises or only falls from row to row. If it is a clock or a "
             "counter, it tells where a row stands in the file, not what it is like; leave it out: "
             "--leave-out %.200s.",
             CUT(200, tables[0]->names[column]), column_word(tables[0], column, room));
}

size_t *find_kept(table **tables, size_t count, int chosen, notes *list, size_t *kept_count)
{
    size_t m = tables[0]->m, *kept = (size_t *)memory(NULL, m, sizeof *kept);
    *kept_count = 0;
    for (size_t i = 0; i < m; i++) {
        size_t k = 0;
        while (k < count && (chosen || !counts_rows(tables[k], tables[k]->picked[i])))
            k++;
        if (k == count) {
            kept[(*kept_count)++] = i;
            if (!chosen)
                note_clock(tables, count, i, list);
        } else
            note(list, "Column %s was left out: it counts the rows of %s. --columns can choose it.",
                 tables[0]->names[tables[0]->picked[i]], tables[k]->file);
    }
    if (*kept_count == 0)
        fail("%s: no column is left to test: each one counts the rows", tables[0]->file);
    return kept;
}

void table_keep(table *t, const size_t *kept, size_t count)
{
    for (size_t i = 0; i < count; i++)
        t->picked[i] = t->picked[kept[i]];
    t->m = count;
}

static int has_only_numbers(const column_info *c)
{
    char room[CELL_ROOM];
    double value;
    for (size_t v = 0; v < c->value_count; v++) {
        const char *text = c->values[v], *number = strchr(text, ',') ? NULL : number_text(text, room);
        if (!is_plain_number(classify(text, &value)) || (number && strcmp(number, text) != 0))
            return 0;
    }
    return 1;
}

/* The columns of numbers: one for each column, or one for each value of a category. */
void encoding_name(encoding *e)
{
    name_index index;
    for (size_t i = 0; i < e->count; i++) {
        column_info *c = &e->columns[i];
        c->first = e->m;
        c->of_numbers = has_only_numbers(c); /* a state has the values alone */
        index_names(&c->index, c->values, c->value_count);
        if (c->type == COLUMN_CATEGORY)
            add_category_names(e, c);
        else
            add_name(e, c, copy_text(c->name, strlen(c->name)));
    }
    size_t repeated = index_names(&index, e->names, e->m);
    if (repeated < e->m)
        fail("two columns of numbers would both be called \"%.*s\"; rename one",
             CUT(200, e->names[repeated]));
    free_index(&index);
}

void encoding_make(encoding *e, table **tables, size_t count, int other, notes *list)
{
    const table *t = tables[0];
    census refused;
    char *words = NULL; /* all columns with too many texts */
    memset(&refused, 0, sizeof refused);
    memset(e, 0, sizeof *e);
    e->other = other;
    e->count = t->m;
    e->columns = (column_info *)memory(NULL, t->m, sizeof *e->columns);
    memset(e->columns, 0, t->m * sizeof *e->columns);
    for (size_t i = 0; i < t->m; i++) {
        column_info *c = &e->columns[i];
        census cells;
        char room[CELL_ROOM], forced = 0;
        const char *word = column_word(t, t->picked[i], room);
        memset(&cells, 0, sizeof cells);
        c->name = copy_text(t->names[t->picked[i]], strlen(t->names[t->picked[i]]));
        for (size_t k = 0; k < count; k++)
            forced |= tables[k]->forced[tables[k]->picked[i]];
        for (size_t k = 0; k < count; k++) {
            tables[k]->forced[tables[k]->picked[i]] = forced; /* a file without names as well */
            count_cells(&cells, tables[k], tables[k]->picked[i]);
        }
        c->type = decide_type(&cells, t, t->picked[i], word);
        c->of_numbers = !cells.missing_word
            && cells.count[CELL_MISSING] + count_kinds(&cells, CELL_NUMBER, CELL_COMMA_NUMBER)
                == cells.cells;
        if (c->type == COLUMN_CATEGORY && !collect_values(c, tables, count, i, word)) {
            refuse_units(&cells, word);
            refused = words ? refused : cells;
            append(&words, "%s%.200s", words ? "," : "", word);
        }
        note_type(c, e, list);
        if (c->type == COLUMN_CATEGORY && !forced && cells.missing_word)
            note(list,
                 "Column %.*s: \"%.*s\" was taken as a missing value; --categories %.200s "
                 "keeps it.",
                 CUT(200, c->name), CUT(40, cells.missing_word), word);
    }
    if (words)
        refuse_texts(&refused, words, other);
    encoding_name(e);
}

/* ======== decimal marks ======== */

static const char digits[] = "0123456789";

const char *find_marked(const table *t, char mark, cell_kind kind, size_t *row, size_t *column)
{
    double value;
    for (size_t r = 0; r < t->n && !t->numbers; r++)
        for (size_t i = 0; i < t->m; i++) {
            const char *text = t->cells[t->first_cell + r * t->columns + t->picked[i]];
            if (strchr(text, mark) && !t->forced[t->picked[i]] && classify(text, &value) == kind) {
                *row = r;
                *column = t->picked[i];
                return text;
            }
        }
    return NULL;
}

/* As in 2.180, not as in 0.180. */
static int has_three_decimals(const char *text)
{
    text += *text == '-' || *text == '+';
    size_t before = strspn(text, digits);
    return before >= 1 && before <= 3 && *text != '0' && strspn(text + before + 1, digits) == 3
        && text[before + 4] == '\0';
}

/* 2.180 beside 999, all marked numbers like the one, all others like the other: most likely marks
   for thousands, which would be read as decimal ones. */
static void refuse_thousands(const table *t, size_t column)
{
    size_t marked = t->n, plain = t->n;
    double value;
    char room[CELL_ROOM];
    for (size_t r = 0; r < t->n; r++) {
        const char *text = cell_text(t, r, column, room);
        size_t length = strspn(text + (*text == '-'), digits);
        if (!strpbrk(text, digits))
            continue;
        if (strpbrk(text, ".,")) {
            if (!has_three_decimals(text))
                return;
            marked = marked < t->n ? marked : r;
        } else if (length > 3)
            return;
        else if (length == 3)
            plain = r;
    }
    if (marked == t->n || plain == t->n)
        return;
    const char *text = cell_text(t, marked, column, room),
               *other = t->cells[t->first_cell + plain * t->columns + column];
    classify(text, &value);
    fail("%s, %s %zu, column %zu (%.*s): \"%.*s\" is %.10g with a mark for thousands, but %.10g "
         "with a decimal mark; \"%s\" in line %zu has none. Remove the marks for thousands, or "
         "write decimals everywhere: %s%c000",
         t->file, t->place, t->lines[marked], column + 1, CUT(200, t->names[column]), CUT(40, text),
         1000 * value, value, other, t->lines[plain], other, *strpbrk(text, ".,"));
}

/* 1,5 or 1.5, but not both in one file: one of them would be a mark for thousands. */
static void check_marks(const encoding *e, const table *t)
{
    size_t row, column, other_row, other;
    if (t->numbers)
        return;
    for (size_t i = 0; i < e->count; i++)
        if (e->columns[i].type == COLUMN_NUMBER)
            refuse_thousands(t, t->picked[i]);
    const char *comma = find_marked(t, ',', CELL_COMMA_NUMBER, &row, &column), *point;
    char room[CELL_ROOM];
    if (comma && t->separator == ',')
        refuse_cell(t, row, column, CELL_COMMA_NUMBER, "");
    if (comma && (point = find_marked(t, '.', CELL_NUMBER, &other_row, &other)) != NULL)
        fail("%s, line %zu, column %zu (%.*s): \"%.*s\" has a decimal comma, but \"%.*s\" in "
             "line %zu, column %zu "
             "(%.*s) has a decimal point. Write the same mark everywhere, or leave the column "
             "out: --leave-out %.200s",
             t->file, t->lines[row], column + 1, CUT(200, t->names[column]), CUT(40, comma),
             CUT(40, point), t->lines[other_row], other + 1, CUT(200, t->names[other]),
             column_word(t, other, room));
}

/* ======== rows of numbers ======== */

static int fits(column_type type, cell_kind kind, double value)
{
    int number = is_plain_number(kind);
    switch (type) {
    case COLUMN_NUMBER: return number;
    case COLUMN_FLAG: return kind == CELL_FLAG || (number && (value == 0 || value == 1));
    case COLUMN_DATE: return kind == CELL_DATE;
    case COLUMN_TIME: return kind == CELL_TIME;
    default: return 1;
    }
}

/* Nothing but true, false, 0, 1 and missing values? */
static int holds_flags(const table *t, size_t column)
{
    census c;
    memset(&c, 0, sizeof c);
    count_cells(&c, t, column);
    return !c.other_numbers && !c.count[CELL_TEXT];
}

/* The kind of the column was decided by other rows: those of the generator. */
static void refuse_other_kind(const table *t, size_t row, size_t column, cell_kind kind,
                              column_type type)
{
    static const char *const one[] = { "a number", "true or false", "a date", "a time", "" },
                             *const many[] = { "numbers", "true and false", "dates", "times", "" };
    char room[CELL_ROOM], hint[CELL_HINT], word_room[CELL_ROOM];
    const char *text = cell_text(t, row, column, room), *word = column_word(t, column, word_room);
    int plain = is_numeric(kind) || kind == CELL_FLAG || kind == CELL_TEXT;
    if (!plain || text_hint(text, hint))
        refuse_cell(t, row, column, kind, "");
    fail("%s, %s %zu, column %zu (%.*s): \"%.*s\" is not %s, but the synthetic rows have %s "
         "there. "
         "Write the same on both sides, leave the column out: --leave-out %.200s, or say that it "
         "is a "
         "category: --categories %.200s%s",
         t->file, t->place, t->lines[row], column + 1, CUT(200, t->names[column]), CUT(40, text),
         one[type], many[type], word, word,
         row == 0 && !t->named && !t->numbers && kind == CELL_TEXT
             ? ". If line 1 holds the names of the columns, leave out --no-header; a program need "
               "not print them"
             : "");
}

/* A generator that prints 0 and 1 and a recording with true and false; known: it was found before. */
static int takes_flag(const column_info *c, const table *t, size_t column, cell_kind kind,
                      char *known)
{
    if (c->type != COLUMN_NUMBER || kind != CELL_FLAG)
        return 0;
    *known = *known || holds_flags(t, column);
    return *known;
}

/* One row; returns the first column with a missing value, or e->count. flags: e->count, see above. */
static size_t encode_row(const encoding *e, const table *t, size_t r, npksd_real *row, char *flags)
{
    for (size_t i = 0; i < e->count; i++) {
        const column_info *c = &e->columns[i];
        double value = 0;
        size_t column = t->picked[i];
        cell_kind kind = cell_read(t, r, column, &value);
        char room[CELL_ROOM];
        long long found = c->type == COLUMN_CATEGORY
            ? find_name(&c->index, category_text(c, t, r, column, room))
            : NOT_FOUND;
        if (found == NOT_FOUND && is_missing(c->type, t, r, column, kind))
            return i;
        if (!fits(c->type, kind, value) && !takes_flag(c, t, column, kind, &flags[i]))
            refuse_other_kind(t, r, column, kind, c->type);
        if (c->type != COLUMN_CATEGORY) {
            row[c->first] =
                (npksd_real)(value == 0 ? 0 : value); /* no -0: copies are found by their bytes */
            continue;
        }
        size_t which = found == NOT_FOUND ? c->value_count : (size_t)found;
        for (size_t v = 0; v < c->value_count + (size_t)e->other; v++)
            row[c->first + v] = v == which;
    }
    return e->count;
}

static void note_missing(const encoding *e, const data *d, const size_t *missing, notes *list)
{
    char *columns = NULL;
    size_t left_out = d->file_rows - d->n, shown = 0;
    if (left_out == 0)
        return;
    for (size_t i = 0; i < e->count && shown < 5; i++)
        if (missing[i])
            append(&columns, "%scolumn %.*s: %zu row%s", shown++ ? ", " : "",
                   CUT(60, e->columns[i].name), missing[i], PLURAL(missing[i]));
    if (d->n == 0)
        fail("%s: every row has a missing value (%s). Leave such columns out with --leave-out",
             d->file, columns);
    note(list,
         "%zu of the %zu rows of %s %s a missing value and %s left out (%s). %s--missing refuse "
         "stops instead.",
         left_out, d->file_rows, d->file, left_out == 1 ? "has" : "have",
         left_out == 1 ? "was" : "were", columns,
         2 * left_out > d->file_rows
             ? "To keep more rows, leave such columns out with --leave-out. "
             : "");
    free(columns);
}

void encode(const encoding *e, const table *t, int refuse, data *to, notes *list)
{
    size_t *missing = (size_t *)memory(NULL, e->count, sizeof *missing);
    char *flags = (char *)memory(NULL, e->count, 1);
    memset(missing, 0, e->count * sizeof *missing);
    memset(flags, 0, e->count);
    memset(to, 0, sizeof *to);
    to->file = copy_text(t->file, strlen(t->file));
    to->place = t->place;
    to->m = e->m;
    to->names = e->names;
    to->file_rows = t->n;
    to->checksum = t->checksum;
    if (t->n > SIZE_MAX / e->m)
        fail("%s: too many numbers", t->file);
    to->rows = (npksd_real *)memory(NULL, t->n * e->m, sizeof *to->rows);
    to->lines = (size_t *)memory(NULL, t->n, sizeof *to->lines);
    check_marks(e, t);
    for (size_t r = 0; r < t->n; r++) {
        size_t gap = encode_row(e, t, r, to->rows + to->n * e->m, flags);
        if (gap == e->count)
            to->lines[to->n++] = t->lines[r];
        else if (refuse)
            refuse_cell(t, r, t->picked[gap], CELL_MISSING, "");
        else
            missing[gap]++;
    }
    note_missing(e, to, missing, list);
    for (size_t i = 0; i < e->count; i++)
        if (flags[i])
            note_flags(&e->columns[i], list);
    free(missing);
    free(flags);
}
