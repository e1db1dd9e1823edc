/* Files that are written: never over an input, never half. */
#include "tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a file goes, links followed: beside it a temporary file is written and then renamed. One that is
   not there yet has a folder that is. */
static char *find_target(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    char *real = realpath(file, NULL), *target = NULL;
    if (real)
        return real;
    char *folder = slash ? copy_text(file, (size_t)(name - file)) : copy_text(".", 1);
    real = realpath(folder, NULL);
    append(&target, "%s/%s", real ? real : folder, name);
    free(real);
    free(folder);
    return target;
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

static int is_same(const char *file, const char *other)
{
    struct stat a, b;
    if (stat(file, &a) == 0 && stat(other, &b) == 0)
        return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    char *target = find_target(file), *other_target = find_target(other);
    int same = strcmp(target, other_target) == 0;
    free(target);
    free(other_target);
    return same;
}

static void refuse_same(const char *option, const char *file, const char *what, const char *other)
{
    if (other && strcmp(other, "-") != 0 && is_same(file, other))
        fail("%s %s: this is %s %s, which would be overwritten. Name another file", option, file,
             what, other);
}

static void check_writable(const char *option, const char *file)
{
    struct stat info;
    if (strcmp(file, "-") == 0)
        fail("%s -: name a file, or /dev/stdout", option);
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

void check_outputs(const settings *s, char *const *recordings, size_t count)
{
    const char *const options[] = { "--report", "--state", "--save" },
                      *const outputs[] = { s->report, s->state, s->save };
    for (int k = 0; k < 3; k++) {
        if (!outputs[k])
            continue;
        refuse_same(options[k], outputs[k], "the input", s->observed_file);
        refuse_same(options[k], outputs[k], "the input", s->synthetic);
        refuse_same(options[k], outputs[k], "the input", s->load);
        for (size_t i = 0; i < s->file_count; i++)
            refuse_same(options[k], outputs[k], "the input", s->files[i]);
        for (size_t i = 0; i < count; i++)
            refuse_same(options[k], outputs[k], "the input", recordings[i]);
        for (int i = 0; i < k; i++)
            refuse_same(options[k], outputs[k], options[i], outputs[i]);
        check_writable(options[k], outputs[k]);
    }
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
