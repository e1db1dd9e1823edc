/* Red zones between the arrays inside a tester, for builds with the address sanitizer: -include red_zone.h. */
#ifndef NPKSD_TESTS_RED_ZONE_H
#define NPKSD_TESTS_RED_ZONE_H

#include <sanitizer/asan_interface.h>

#define NPKSDI_RED_ZONE 128 /* bytes, a multiple of the alignment */
#define NPKSDI_ALLOW(place, size, bytes)                                                          \
    (ASAN_UNPOISON_MEMORY_REGION(place, size),                                                    \
     ASAN_POISON_MEMORY_REGION((place) + (size), (bytes) - (size)))

#endif /* NPKSD_TESTS_RED_ZONE_H */
