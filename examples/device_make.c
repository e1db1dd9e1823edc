/* device_make OUT.h: the workstation's half of device.c.
 *
 * Fits and calibrates a test for the behaviour of a healthy motor and writes it as C source: the
 * blob, the memory that it needs, two recordings to try it on, and the workstation's results for
 * them. The device then needs neither the generator nor a heap. */
#define NPKSD_IMPLEMENTATION
#include "device_model.h"
#include <stdio.h>
#include <stdlib.h>

enum { BLOB_MAX = 65536, RECORDINGS = 2 };

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "device_make: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void must(npksd_status status, const char *what)
{
    if (status != NPKSD_OK)
        stop(what, npksd_status_string(status));
}

int main(int argc, char **argv)
{
    static unsigned char blob[BLOB_MAX];
    static npksd_real recording[DEVICE_N * DEVICE_M];
    npksd_real wear[RECORDINGS] = { 0, 1 };
    size_t size = 0, workspace = 0;
    npksd_tester *tester, *loaded;
    FILE *out = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (!out)
        stop(argc == 2 ? argv[1] : "usage", argc == 2 ? "cannot be written" : "device_make OUT.h");

    npksd_options options = npksd_default_options();
    must(npksd_tester_create(&tester, DEVICE_N, DEVICE_M, motor, &wear[0], &options), "create");
    must(npksd_tester_step(tester, SIZE_MAX), "fit");
    must(npksd_tester_save(tester, blob, sizeof blob, &size), "save");
    must(npksd_blob_info(blob, size, NULL, NULL, &workspace), "blob_info");
    must(npksd_tester_load(&loaded, blob, size, NULL), "load");

    fprintf(out, "/* made by device_make; do not edit */\n");
    fprintf(out, "#define DEVICE_WORKSPACE_BYTES %zu /* less with 32-bit pointers */\n", workspace);
    fprintf(out, "static const unsigned char device_blob[%zu] = {", size);
    for (size_t k = 0; k < size; k++)
        fprintf(out, "%s%u,", k % 20 ? "" : "\n    ", (unsigned)blob[k]);
    fprintf(out, "\n};\n#define DEVICE_RECORDINGS %d\nstatic const struct {\n", RECORDINGS);
    fprintf(out, "    const char *name;\n    npksd_real p_value, statistic; /* the host's */\n");
    fprintf(out, "    npksd_real rows[DEVICE_N * DEVICE_M];\n} device_recordings[] = {\n");
    for (size_t k = 0; k < RECORDINGS; k++) {
        npksd_result result;
        npksd_rng_state state;
        npksd_rng rng = npksd_rng_seeded(&state, 11, k);
        motor(recording, DEVICE_N, DEVICE_M, &rng, &wear[k]);
        must(npksd_tester_check(loaded, recording, &result, NULL), "check");
        fprintf(out, "    { \"%s motor\", (npksd_real)%.9g, (npksd_real)%.9g, {",
                k ? "a worn" : "a healthy", (double)result.p_value, (double)result.statistic);
        for (size_t i = 0; i < DEVICE_N * DEVICE_M; i++)
            fprintf(out, "%s(npksd_real)%.9g,", i % 4 ? " " : "\n    ", (double)recording[i]);
        fprintf(out, "\n    } },\n");
    }
    fprintf(out, "};\n");
    if (fclose(out) != 0)
        stop(argv[1], "cannot be written");
    printf("device_make: a blob of %zu bytes that needs %zu bytes of memory\n", size, workspace);
    npksd_tester_destroy(loaded);
    npksd_tester_destroy(tester);
    return EXIT_SUCCESS;
}
