/* Every macro by which a caller may replace something, replaced: make check-hooks (-include hooks.h, with hooks.c). */
#ifndef NPKSD_TESTS_HOOKS_H
#define NPKSD_TESTS_HOOKS_H

#include <stddef.h>

double hook_exp(double x);
double hook_log(double x);
double hook_sqrt(double x);
double hook_sin(double x);
double hook_cos(double x);
void *hook_memcpy(void *to, const void *from, size_t bytes);
void *hook_memset(void *memory, int value, size_t bytes);
void hook_assert(int holds, const char *text);
void hook_gemm(int turned, size_t rows, size_t columns, size_t terms, const double *A, size_t lda, const double *B,
               size_t ldb, int accumulate, double *C, size_t ldc);

#define NPKSD_EXP hook_exp
#define NPKSD_LOG hook_log
#define NPKSD_SQRT hook_sqrt
#define NPKSD_SIN hook_sin
#define NPKSD_COS hook_cos
#define NPKSD_MEMCPY hook_memcpy
#define NPKSD_MEMSET hook_memset
#define NPKSD_ASSERT(x) hook_assert(!!(x), #x)
#define NPKSD_GEMM hook_gemm
#define NPKSD_NO_DISPATCH

#endif /* NPKSD_TESTS_HOOKS_H */
