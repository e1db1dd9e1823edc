/* Blobs by hand: numbers in their bytes, and a checksum that is right again after a change. */
#ifndef NPKSD_TESTS_BLOB_BYTES_H
#define NPKSD_TESTS_BLOB_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void put_word(unsigned char *at, uint64_t word, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        at[k] = (unsigned char)(word >> (8 * k));
}

/* FNV-1a of all before the last 8 bytes. */
static inline void sign_blob(unsigned char *bytes, size_t size)
{
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    for (size_t k = 0; k < size - 8; k++)
        sum = (sum ^ bytes[k]) * UINT64_C(0x100000001B3);
    put_word(bytes + size - 8, sum, 8);
}

#endif /* NPKSD_TESTS_BLOB_BYTES_H */
