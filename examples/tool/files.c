/* Files that are written: never over an input, never half. */
#include "tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a file goes, links followed: beside it a temporary file is written and then renamed. */
static char *find_target(const char *file)
{
    char *real = realpath(file, NULL);
    return real ? real : copy_text(file, strlen(file));
}

static int is_device(const char *target)
{
    struct stat info;
    return stat(target, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* A temporary file beside the target, or the target itself if it is a device or a pipe. */
static FILE *open_beside(const char *target, char **temporary)
{
    *temporary = NULL;
    if (is_device(target))
        return fopen(target, "wb");
    append(temporary, "%s.XXXXXX", target);
    int fd = mkstemp(*temporary);
    if (fd < 0)
        return NULL;
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    return fdopen(fd, "wb");
}

void refuse_input(const char *option, const char *file, const char *input)
{
    struct stat to, from;
    if (stat(file, &to) == 0 && strcmp(input, "-") != 0 && stat(input, &from) == 0
        && to.st_dev == from.st_dev && to.st_ino == from.st_ino)
        fail("%s %s: this is the input %s, which would be overwritten. Name another file", option,
             file, input);
}

void check_writable(const char *option, const char *file)
{
    struct stat info;
    char *target = find_target(file), *temporary;
    if (stat(target, &info) == 0 && S_ISDIR(info.st_mode))
        fail("%s %s: this is a folder; name a file in it", option, file);
    if (!is_device(target)) {
        FILE *out = open_beside(target, &temporary);
        if (!out)
            fail("%s %s: %s", option, file, strerror(errno));
        fclose(out);
        remove(temporary);
        free(temporary);
    }
    free(target);
}

int write_beside(const char *option, const char *file, void (*write)(FILE *out, const void *what),
                 const void *what)
{
    char *target = find_target(file), *temporary;
    FILE *out = open_beside(target, &temporary);
    int good = out != NULL;
    if (good) {
        write(out, what);
        good = !ferror(out);
        good &= fclose(out) == 0;
        good = good && (!temporary || rename(temporary, target) == 0);
    }
    if (!good)
        fprintf(stderr, "npksd: %s %s: the file cannot be written: %s\n", option, file,
                strerror(errno));
    if (!good && temporary)
        remove(temporary);
    free(target);
    free(temporary);
    return good;
}
