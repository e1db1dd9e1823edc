/*
 * A small reader of NumPy's .npy files: version 1, little-endian float32, C order, two dimensions.
 */
#ifndef NPY_H
#define NPY_H

#include "bench.h"

typedef struct npy_table {
    npksd_real *rows; /* NULL: not read */
    size_t count, m;
} npy_table;

static BENCH_UNUSED int npy_number(const char **text, size_t *value)
{
    char *end;
    unsigned long long number = strtoull(*text, &end, 10);
    if (end == *text || number == 0 || number > 100000000ULL)
        return 0;
    *text = end + strspn(end, ", ");
    *value = (size_t)number;
    return 1;
}

/* The header of an open file: NULL, or what is wrong with it. */
static BENCH_UNUSED const char *npy_header(FILE *file, npy_table *t)
{
    char header[4096];
    unsigned char start[10];
    const char *shape;
    size_t length;
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        return "it does not begin with \\x93NUMPY: not an .npy file";
    if (start[6] != 1)
        return "it is not .npy version 1: save it again with numpy.save";
    length = (size_t)start[8] + 256 * (size_t)start[9];
    if (length >= sizeof header || fread(header, 1, length, file) != length)
        return "its header is cut or longer than 4096 bytes";
    header[length] = '\0';
    if (strstr(header, "'<f4'") == NULL)
        return "its numbers are not float32: use a.astype('float32')";
    if (strstr(header, "'fortran_order': False") == NULL)
        return "it is in Fortran order: use numpy.ascontiguousarray";
    shape = strstr(header, "'shape': (");
    if (shape == NULL)
        return "its header has no shape";
    shape += strlen("'shape': (");
    if (!npy_number(&shape, &t->count) || !npy_number(&shape, &t->m) || *shape != ')')
        return "its shape is not (rows, columns)";
    return NULL;
}

/* Reads path; NULL, or what is wrong. m = 0: any number of columns. */
static BENCH_UNUSED const char *npy_read(const char *path, size_t m, npy_table *t)
{
    FILE *file = fopen(path, "rb");
    const char *problem;
    memset(t, 0, sizeof *t);
    if (file == NULL)
        return "it cannot be opened";
    problem = npy_header(file, t);
    if (problem == NULL && m > 0 && t->m != m)
        problem = "it has another number of columns than this experiment";
    if (problem == NULL)
        t->rows = (npksd_real *)bench_alloc(t->count * t->m, sizeof *t->rows);
    for (size_t i = 0; problem == NULL && i < t->count * t->m; i++) {
        unsigned char word[4];
        uint32_t bits;
        float value;
        if (fread(word, 1, 4, file) != 4) {
            problem = "it ends before the last row";
            break;
        }
        bits = (uint32_t)word[0] | (uint32_t)word[1] << 8 | (uint32_t)word[2] << 16
            | (uint32_t)word[3] << 24;
        memcpy(&value, &bits, sizeof value);
        t->rows[i] = (npksd_real)value;
    }
    fclose(file);
    if (problem != NULL) {
        free(t->rows);
        t->rows = NULL;
    }
    return problem;
}

#endif /* NPY_H */
