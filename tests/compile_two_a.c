/* Two units, one implementation; here the plain include comes first, as another header may do. */
#include "npksd.h"
#define NPKSD_IMPLEMENTATION
#include "npksd.h"

int version_seen_by_b(void);

int main(void) { return version_seen_by_b() == npksd_version() ? 0 : 1; }
