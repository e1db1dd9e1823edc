/* Fuzz target: whatever bytes a file holds, the reader of tables ends with a message or with finite
 * numbers. With clang and -fsanitize=fuzzer libFuzzer drives it; otherwise main() mutates the files
 * named on the command line, so many times as the first argument says.
 *
 * fail() leaves by longjmp here. What had been allocated is then lost, as it is when the program exits:
 * leaks are not looked for. */
#include "tool.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf failed;

/* A message must be fit for a terminal. */
static void jump_away(const char *message)
{
    for (const char *c = message; *c; c = utf8_skip(c, 1))
        if (utf8_bytes(c) == 0 || (unsigned char)*c < 32)
            abort();
    longjmp(failed, 1);
}

static void check_rows(const data *d)
{
    for (size_t k = 0; k < d->n * d->m; k++)
        if (!isfinite((double)d->rows[k]))
            abort();
}

/* The first byte chooses what a user might have asked for; the rest is one file, or two of them with
   a byte 255 between. */
static void read_tables(const unsigned char *bytes, size_t size)
{
    table_format format;
    encoding e;
    data rows;
    notes list = { NULL, 0 };
    table tables[2], *both[2] = { &tables[0], &tables[1] };
    const unsigned char *end =
        size > 1 ? (const unsigned char *)memchr(bytes + 1, 255, size - 1) : NULL;
    size_t first = end ? (size_t)(end - bytes) - 1 : size - 1, kept_count;
    memset(&format, 0, sizeof format);
    format.header = bytes[0] % 3 - 1;
    if (bytes[0] & 4)
        list_read(&format.categories, "--categories", "1");
    if (bytes[0] & 8)
        list_read(&format.leave_out, "--leave-out", "2,a");
    if (bytes[0] & 128)
        list_read(&format.use, "--columns", "1-2");
    format.expected_rows = bytes[0] & 16 ? 3 : 0;
    table_parse(both[0], "first", copy_text((const char *)bytes + 1, first), first, &format);
    format.lender = both[0];
    if (end)
        table_parse(both[1], "second", copy_text((const char *)end + 1, size - first - 2),
                    size - first - 2, &format);
    size_t count = end ? 2 : 1;
    if (end && !table_match(both[0], both[1]))
        same_first_line(both[0], both[1]);
    for (size_t k = 0; k < count; k++)
        note_table(both[k], &list);
    size_t *kept = find_kept(both, count, 0, &list, &kept_count);
    for (size_t k = 0; k < count; k++)
        table_keep(both[k], kept, kept_count);
    encoding_make(&e, both, bytes[0] & 32 ? 1 : count, bytes[0] & 32 ? 1 : 0, &list);
    for (size_t k = 0; k < count; k++) {
        encode(&e, both[k], bytes[0] & 64, &rows, &list);
        check_rows(&rows);
        data_free(&rows);
        table_free(both[k]);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    fail_instead = jump_away;
    if (size > 0 && size < 100000 && setjmp(failed) == 0)
        read_tables(bytes, size);
    return 0;
}

#ifndef TOOL_LIBFUZZER

static uint64_t random_state = 1;

static size_t choose(size_t count)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return count ? (size_t)(random_state >> 33) % count : 0;
}

/* Bytes that mean something to the reader. */
static const char telling[] = ",;\t\n\r\"#'.-+0123456789eEnaNAinf: T()<>|\\x93\xff\x9b\xc2\x00";

static size_t mutate(unsigned char *bytes, size_t size, size_t room)
{
    for (size_t k = choose(8) + 1; k > 0; k--) {
        size_t at = choose(size), length = choose(16) + 1;
        switch (choose(5)) {
        case 0: bytes[at] = (unsigned char)choose(256); break;
        case 1: bytes[at] = (unsigned char)telling[choose(sizeof telling)]; break;
        case 2: /* a piece goes */
            length = length < size - at ? length : size - at;
            memmove(bytes + at, bytes + at + length, size - at - length);
            size -= length;
            break;
        case 3: /* a piece comes twice */
            length = length < size - at ? length : size - at;
            if (size + length <= room) {
                memmove(bytes + at + length, bytes + at, size - at);
                size += length;
            }
            break;
        default: bytes[at] ^= (unsigned char)(1u << choose(8));
        }
        if (size == 0)
            return 0;
    }
    return size;
}

/* Runs `first` to `last` of the files, each time with other mutations; the first time as they are. */
static void run_batch(size_t first, size_t last, char **files, size_t file_count)
{
    static unsigned char bytes[70000];
    random_state = first + 1;
    for (size_t run = first; run < last; run++) {
        FILE *file = fopen(files[run % file_count], "rb");
        if (!file)
            exit(2);
        bytes[0] = (unsigned char)choose(256);
        size_t size = 1 + fread(bytes + 1, 1, 60000, file);
        fclose(file);
        LLVMFuzzerTestOneInput(bytes, run < file_count ? size : mutate(bytes, size, sizeof bytes));
    }
}

/* Batches run in children, which give back what longjmp lost. */
int main(int argc, char **argv)
{
    enum { BATCH = 5000 };
    size_t runs = argc > 2 ? (size_t)strtoul(argv[1], NULL, 10) : 0;
    for (size_t first = 0; first < runs; first += BATCH) {
        size_t last = first + BATCH < runs ? first + BATCH : runs;
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            run_batch(first, last, argv + 2, (size_t)argc - 2);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
            printf("fuzz_tables: a finding in executions %zu to %zu\n", first, last);
            return 1;
        }
    }
    printf("fuzz_tables: %zu executions, no finding\n", runs);
    return runs == 0;
}

#endif
