/* What the shared library has in addition to npksd.h. */
#ifndef NPKSD_SHARED_H
#define NPKSD_SHARED_H
#include "npksd.h"

#ifdef __cplusplus
extern "C" {
#endif

NPKSD_API uint64_t npksd_layout(void);
/* FNV-1a over 64-bit numbers: sizeof npksd_real, then for each public struct in the order of the header its
   size and the offset and size of each field. */

NPKSD_API const char *npksd_options_set(npksd_options *options, const char *name, const char *value);
/* Sets a field by its name. Numbers are decimal; enums are written by name, in any case, with or without their
   prefix ("mean_var", "NPKSD_SUMMARY_MEAN_VAR"), components as "stein|mmd".
   NULL = fine. Otherwise options are untouched, and the answer says which field is wrong and why, as
   npksd_options_problem does; it is valid until this thread's next call. A value is refused here if it is wrong
   by itself; whether fields fit each other and the rows is for npksd_options_problem, when all are set. */

#ifdef __cplusplus
}
#endif
#endif
