/* Runs kernels of kernels/cortex_m for the tests: the file `requests` of the working directory, then `answers` into it,
 * both little-endian and back to back.
 *
 * A request is an int32 1, 48 bytes of name, the int32 fields of the tile, int64 negative_step, int32 groups, int32 lag and six
 * arrays: input, addend, weights, parameters, output, scratch, each an int32 size and bytes. With a lag of at least 0 the
 * output lies over the input, and begins so many bytes before it. An answer is the ticks of the core's timer, int32,
 * and the output. An int32 0 ends the requests. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match_arm.h"

enum { INPUT, ADDEND, WEIGHTS, PARAMETERS, OUTPUT, SCRATCH, ARRAYS };
enum { NAME_BYTES = 48, TILE_FIELDS = 25 };

typedef struct {
    const char *name;
    match_kernel_t kernel;
} entry_t;

extern const entry_t kernels[]; /* those that match_arm.h declares (declared.py), then {0, 0} */

#if defined(__arm__)
/* SysTick, which counts down. */
static volatile uint32_t *const timer = (volatile uint32_t *)0xe000e010;

static int32_t ticks(void)
{
    return -(int32_t)timer[2];
}

static void start_ticks(void)
{
    timer[1] = 0xffffff;
    timer[2] = 0;
    timer[0] = 5;
}
#else
static int32_t ticks(void)
{
    return 0;
}

static void start_ticks(void)
{
}
#endif

static void fail(const char *what)
{
    printf("%s\n", what);
    exit(2);
}

static void get(FILE *file, void *target, size_t bytes)
{
    if (fread(target, 1, bytes, file) != bytes) {
        fail("a request is cut short");
    }
}

static int answer(FILE *requests, FILE *answers)
{
    int32_t more, lag, fields[TILE_FIELDS], sizes[ARRAYS];
    uint8_t *arrays[ARRAYS];
    char name[NAME_BYTES + 1] = {0};
    match_tile_t tile = {0};
    get(requests, &more, sizeof more);
    if (!more) {
        return 0;
    }
    get(requests, name, NAME_BYTES);
    get(requests, fields, sizeof fields);
    memcpy((char *)&tile + offsetof(match_tile_t, channels_in), fields, sizeof fields);
    get(requests, &tile.negative_step, sizeof tile.negative_step);
    get(requests, &tile.groups, sizeof tile.groups);
    get(requests, &lag, sizeof lag);
    for (int i = 0; i < ARRAYS; i++) {
        get(requests, &sizes[i], sizeof sizes[i]);
        arrays[i] = malloc((size_t)(sizes[i] > 0 ? sizes[i] : 1));
        if (arrays[i] == NULL) {
            fail("no memory is left");
        }
        get(requests, arrays[i], (size_t)sizes[i]);
    }
    tile.input = arrays[INPUT];
    tile.addend = arrays[ADDEND];
    tile.weights = arrays[WEIGHTS];
    tile.parameters = arrays[PARAMETERS];
    tile.output = arrays[OUTPUT];
    tile.scratch = arrays[SCRATCH];
    if (lag >= 0) {
        size_t bytes = (size_t)(lag + sizes[INPUT]);
        arrays[OUTPUT] = realloc(arrays[OUTPUT], bytes > (size_t)sizes[OUTPUT] ? bytes : (size_t)sizes[OUTPUT]);
        if (arrays[OUTPUT] == NULL) {
            fail("no memory is left");
        }
        tile.output = arrays[OUTPUT];
        tile.input = memcpy(arrays[OUTPUT] + lag, arrays[INPUT], (size_t)sizes[INPUT]);
    }
    const entry_t *entry = kernels;
    while (strcmp(entry->name, name) != 0) {
        if ((++entry)->name == NULL) {
            fail("there is no such kernel");
        }
    }
    int32_t before = ticks();
    entry->kernel(&tile);
    int32_t taken = (ticks() - before) & 0xffffff;
    fwrite(&taken, sizeof taken, 1, answers);
    fwrite(arrays[OUTPUT], 1, (size_t)sizes[OUTPUT], answers);
    for (int i = 0; i < ARRAYS; i++) {
        free(arrays[i]);
    }
    return 1;
}

int main(void)
{
    FILE *requests = fopen("requests", "rb");
    FILE *answers = fopen("answers", "wb");
    if (requests == NULL || answers == NULL) {
        fail("the files cannot be opened");
    }
    start_ticks();
    while (answer(requests, answers)) {
    }
    fclose(answers);
    return 0;
}
