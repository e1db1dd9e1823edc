/* Red zones between the arrays inside a tester, for builds with the address sanitizer: -include red_zone.h. */
#ifndef NPKSD_TESTS_RED_ZONE_H
#define NPKSD_TESTS_RED_ZONE_H

#include <sanitizer/asan_interface.h>
#include <stddef.h>
#include <string.h>

#define NPKSDI_RED_ZONE 128 /* bytes, a multiple of the alignment */
#define NPKSDI_ALLOW(place, size, bytes)                                                          \
    (ASAN_UNPOISON_MEMORY_REGION(place, size),                                                    \
     ASAN_POISON_MEMORY_REGION((place) + (size), (bytes) - (size)))

/* A new tester clears its whole block at once, red zones included: by a loop that nobody watches. */
__attribute__((no_sanitize("address"), unused)) static void *red_zone_memset(void *memory, int value, size_t bytes)
{
    volatile unsigned char *at = (volatile unsigned char *)memory;
    for (size_t k = 0; k < bytes; k++)
        at[k] = (unsigned char)value;
    return memory;
}
#define NPKSD_MEMSET red_zone_memset
#define NPKSD_MEMCPY memcpy

#endif /* NPKSD_TESTS_RED_ZONE_H */
