/* The unit without the implementation. */
#include "npksd.h"

int version_seen_by_b(void);

int version_seen_by_b(void)
{
    npksd_options options = npksd_default_options();
    return npksd_options_problem(&options, 10, 2) ? -1 : NPKSD_VERSION;
}
