/* Memory, messages, notes, and text that others wrote. */
#include "tool.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int fail_as_json;
void (*fail_instead)(const char *message);
char fail_about[64];

/* ======== memory ======== */

void *memory(void *old, size_t count, size_t size)
{
    void *block = size && count > SIZE_MAX / 2 / size ? NULL : realloc(old, count * size + 1);
    if (!block)
        fail("not enough memory for %zu x %zu bytes", count, size);
    return block;
}

char *copy_text(const char *text, size_t length)
{
    char *copy = (char *)memory(NULL, length, 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* FNV-1a of 64 bits */
uint64_t hash_bytes(const void *block, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)block;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t k = 0; k < bytes; k++)
        hash = (hash ^ at[k]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ======== UTF-8 ======== */

size_t utf8_bytes(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t bytes = c[0] < 0x80        ? 1
        : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
        : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
        : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
                                      : 0;
    for (size_t k = 1; k < bytes; k++)
        if ((c[k] & 0xc0) != 0x80)
            return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f)
        || (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0; /* overlong, half of a pair, too large */
    return bytes;
}

const char *utf8_skip(const char *text, size_t count)
{
    for (; *text && count > 0; count--) {
        size_t bytes = utf8_bytes(text);
        text += bytes ? bytes : 1;
    }
    return text;
}

int whole_bytes(const char *text, size_t most)
{
    const char *end = text, *next;
    while (*end && (size_t)((next = utf8_skip(end, 1)) - text) <= most)
        end = next;
    return (int)(end - text);
}

/* U+0080 to U+009F are control characters as well: U+009B begins an escape sequence. */
char *clean_text(const char *text, size_t length)
{
    char *whole = copy_text(text, length), *clean = (char *)memory(NULL, 2 * length, 1),
         *to = clean;
    for (const char *at = whole, *end = whole + length; at < end;) {
        unsigned char c = (unsigned char)*at;
        size_t bytes = utf8_bytes(at);
        if (c < 32 || c == 127 || (bytes == 0 && c < 0xa0)
            || (c == 0xc2 && (unsigned char)at[1] < 0xa0)) {
            *to++ = ' ';
        } else if (bytes == 0) { /* Latin-1, most likely */
            *to++ = (char)(0xc0 | c >> 6);
            *to++ = (char)(0x80 | (c & 0x3f));
        } else {
            memcpy(to, at, bytes);
            to += bytes;
        }
        at += bytes ? bytes : 1;
    }
    *to = '\0';
    free(whole);
    return clean;
}

const char *cut_text(const char *text, size_t most, size_t least, char *to, size_t room)
{
    size_t count = 0;
    char *clean = clean_text(text, strlen(text));
    for (const char *c = clean; *c; c = utf8_skip(c, 1))
        count++;
    if (count <= most)
        snprintf(to, room, "%s%*s", clean, (int)(count < least ? least - count : 0), "");
    else
        snprintf(to, room, "%.*s~%s", (int)(utf8_skip(clean, most / 2) - clean), clean,
                 utf8_skip(clean, count - (most - most / 2 - 1)));
    free(clean);
    return to;
}

/* ======== sentences ======== */

static char *format_text(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = (char *)memory(NULL, length < 0 ? 0 : (size_t)length, 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

void append(char **to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *more = format_text(format, arguments);
    va_end(arguments);
    size_t used = *to ? strlen(*to) : 0, length = strlen(more);
    *to = (char *)memory(*to, used + length, 1);
    memcpy(*to + used, more, length + 1);
    free(more);
}

void note(notes *list, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    list->items = (char **)memory(list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = clean_text(text, strlen(text));
    free(text);
}

/* A file that is named twice is described once. */
void leave_out_repeated(notes *list)
{
    size_t kept = 0;
    for (size_t k = 0; k < list->count; k++) {
        size_t i = 0;
        while (i < kept && strcmp(list->items[i], list->items[k]) != 0)
            i++;
        if (i == kept)
            list->items[kept++] = list->items[k];
    }
    list->count = kept;
}

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *message = format_text(format, arguments), *text = NULL;
    va_end(arguments);
    append(&text, "%s%s", fail_about, message);
    char *clean = clean_text(text, strlen(text));
    progress_stop();
    if (fail_instead)
        fail_instead(clean);
    fprintf(stderr, "npksd: %s\n", clean);
    if (fail_as_json) {
        fputs("{ \"error\": ", stdout);
        print_json_string(stdout, clean);
        fputs(" }\n", stdout);
    }
    exit(2);
}

/* A paragraph of at most 78 columns; later lines are indented like the text of the first. */
void print_wrapped(FILE *out, const char *first, const char *text)
{
    size_t indent = strlen(first), column = indent;
    fputs(first, out);
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > indent && column + 1 + length > 78) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        column += (size_t)fprintf(out, "%s%.*s", column > indent ? " " : "", (int)length, text);
        text += length + strspn(text + length, " ");
    }
    fputc('\n', out);
}

void print_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t bytes = utf8_bytes(text);
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32 || c == 127 || bytes == 0)
            fprintf(out, "\\u%04x", c);
        else
            fprintf(out, "%.*s", (int)bytes, text);
        text += bytes ? bytes : 1;
    }
    fputc('"', out);
}

/* ======== names ======== */

/* The slot of a name: its own, or the free one where it would go. */
static size_t find_slot(const name_index *index, const char *name)
{
    size_t slot = (size_t)hash_bytes(name, strlen(name)) & (index->room - 1);
    while (index->slots[slot] && strcmp(index->names[index->slots[slot] - 1], name) != 0)
        slot = (slot + 1) & (index->room - 1);
    return slot;
}

size_t index_names(name_index *index, char *const *names, size_t count)
{
    size_t repeated = count;
    index->names = names;
    index->room = 4;
    while (index->room < 2 * count)
        index->room *= 2;
    index->slots = (size_t *)memory(NULL, index->room, sizeof *index->slots);
    memset(index->slots, 0, index->room * sizeof *index->slots);
    for (size_t k = 0; k < count; k++) {
        size_t slot = find_slot(index, names[k]);
        if (index->slots[slot])
            repeated = repeated < count ? repeated : k;
        else
            index->slots[slot] = k + 1;
    }
    index->repeated = repeated < count;
    return repeated;
}

long long find_name(const name_index *index, const char *name)
{
    return (long long)index->slots[find_slot(index, name)] - 1;
}

void free_index(name_index *index)
{
    free(index->slots);
    index->slots = NULL;
}
