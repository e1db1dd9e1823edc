/* Plain versions of what hooks.h replaces. */
#include "hooks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double hook_exp(double x) { return exp(x); }
double hook_log(double x) { return log(x); }
double hook_sqrt(double x) { return sqrt(x); }
double hook_sin(double x) { return sin(x); }
double hook_cos(double x) { return cos(x); }
void *hook_memcpy(void *to, const void *from, size_t bytes) { return memcpy(to, from, bytes); }
void *hook_memset(void *memory, int value, size_t bytes) { return memset(memory, value, bytes); }

void hook_assert(int holds, const char *text)
{
    if (holds)
        return;
    fprintf(stderr, "NPKSD_ASSERT: %s\n", text);
    abort();
}

/* C = A B, or A' B (turned), plus C if accumulate; row-major. */
void hook_gemm(int turned, size_t rows, size_t columns, size_t terms, const double *A, size_t lda, const double *B,
               size_t ldb, int accumulate, double *C, size_t ldc)
{
    for (size_t a = 0; a < rows; a++)
        for (size_t l = 0; l < columns; l++) {
            double sum = accumulate ? C[a * ldc + l] : 0;
            for (size_t j = 0; j < terms; j++)
                sum += (turned ? A[j * lda + a] : A[a * lda + j]) * B[j * ldb + l];
            C[a * ldc + l] = sum;
        }
}
