/* A second copy under another name, beside the plain one of impl.c. */
#define NPKSD_NAMESPACE engine_
#define NPKSD_IMPLEMENTATION
#include "npksd.h"

extern int engine_npksd_version(void);

int main(void) { return engine_npksd_version() == NPKSD_VERSION && npksd_version() ? 0 : 1; }
