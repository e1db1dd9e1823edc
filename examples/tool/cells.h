/* What stands in a cell? Shared by tables.c (is line 1 a header?) and columns.c. */
#ifndef CELLS_H
#define CELLS_H

#include "tool.h"

typedef enum cell_kind {
    CELL_NUMBER,
    CELL_COMMA_NUMBER,  /* 1,5 */
    CELL_FLAG,          /* true, false, yes, no */
    CELL_DATE,          /* 2024-05-31, 2024-05-31T12:30:00Z */
    CELL_TIME,          /* 12:30, 12:30:00.5 */
    CELL_MISSING,       /* empty, NA, NaN, NULL, - */
    CELL_MAYBE_MISSING, /* none, ?, missing: a word among words, no value among numbers */
    CELL_INFINITE,
    CELL_MARKED_NUMBER, /* 1,234.5: a mark for thousands */
    CELL_BLANKS,        /* 1 2: numbers with blanks between them */
    CELL_TEXT,
    CELL_KINDS
} cell_kind;

cell_kind classify(const char *text, double *value);
int is_numeric(cell_kind kind);
int is_plain_word(const char *text); /* a name that neither a shell nor a comma would tear */
/* The first number of the table with this mark and of this kind, or NULL. */
const char *find_marked(const table *t, char mark, cell_kind kind, size_t *row, size_t *column);
int looks_numeric(const char *line, char separator); /* does one of its fields hold a number? */

#endif
