/* Runs kernels and NE16 jobs for the tests: requests on stdin, answers on stdout, both little-endian and back to back.
 *
 * A request is an int32 kind and its body. Arrays are int32 size and bytes; each gets a block of L1 of exactly that
 * size.
 *
 * KERNEL: 48 bytes of name, int32 fields of the tile, int64 negative_step, int32 input_channel_stride, int32 whether the
 *         tile begins and whether it ends its reduction, int32 groups, int32 weight_bits, int32 how many jobs an earlier program has taken
 *         of NE16, which stopped before it handed over the last of them, nine int32 offsets of the tile's pointers in
 *         their arrays, nine arrays (input, addend, weights, parameters, excepted, exceptions, output, scratch, partial
 *         sums). Answer: status, the output array, the partial sums.
 * JOB:    24 words, six int32 that tell into which array each of the first six words is an offset (-1: none), int32
 *         number of arrays, arrays. Answer: status, the last array.
 * COPY:   int32 direction (1: into L1), the fields of match_copy_t, two arrays (external: not in L1; local). Answer:
 *         status, the array that was written.
 *
 * A request that takes a minute ends the harness: it never would have ended. */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "match_gap9_chip.h"
#include "match_ne16.h"
#include "match_pulp.h"
#include "ne16_driver.h"

enum { KERNEL, JOB, COPY };
enum { INPUT, ADDEND, WEIGHTS, PARAMETERS, EXCEPTED, EXCEPTIONS, OUTPUT, SCRATCH, SUMS, POINTERS };
enum { NAME_BYTES = 48, TILE_FIELDS = 25, JOB_WORDS = 24, JOB_POINTERS = 6, MOST_ARRAYS = 9, SECONDS = 60 };

typedef struct {
    const char *name;
    match_kernel_t kernel;
} entry_t;

extern const entry_t kernels[]; /* those that match_pulp.h and match_ne16.h declare (declared.py), then {0, 0} */

typedef struct {
    int32_t bytes;
    uint8_t *block;
} array_t;

/* Everything one request needs; the layer's argument. */
typedef struct {
    const entry_t *entry;
    match_tile_t tile;
    uint32_t words[JOB_WORDS];
    int32_t pointer_array[JOB_POINTERS];
    int32_t into;
    match_copy_t shape;
    int32_t begins;
    int32_t ends;
    int32_t abandoned;
    int32_t offsets[POINTERS];
    int32_t count;
    array_t arrays[MOST_ARRAYS];
} request_t;

static void fail(const char *what)
{
    fprintf(stderr, "harness: %s\n", what);
    exit(2);
}

static bool try_read(void *target, size_t bytes)
{
    return fread(target, 1, bytes, stdin) == bytes;
}

static void read_bytes(void *target, size_t bytes)
{
    if (!try_read(target, bytes)) {
        fail("request cut short");
    }
}

static void read_arrays(request_t *request)
{
    for (int32_t i = 0; i < request->count; i++) {
        array_t *array = &request->arrays[i];
        read_bytes(&array->bytes, sizeof array->bytes);
        array->block = match_pulp_l1_alloc((uint32_t)array->bytes);
        if (array->block == NULL) {
            fail("L1 exhausted");
        }
        read_bytes(array->block, (size_t)array->bytes);
    }
}

static void free_arrays(const request_t *request)
{
    for (int32_t i = request->count - 1; i >= 0; i--) {
        match_pulp_l1_free(request->arrays[i].block);
    }
}

/* What an earlier program leaves that is stopped while it fills in a job. */
static void abandon_jobs(int32_t jobs)
{
    for (int32_t job = 1; job <= jobs; job++) {
        match_ne16_read(NE16_ACQUIRE);
        match_ne16_write(NE16_JOB, 0xdeadbeef);
        if (job < jobs) {
            match_ne16_write(NE16_TRIGGER, 0);
        }
    }
}

static int32_t run_kernel(void *argument)
{
    request_t *request = argument;
    int32_t status;
    if (strncmp(request->entry->name, "match_ne16_", 11) == 0) {
        abandon_jobs(request->abandoned);
        status = match_gap9_ne16_start(request->entry->kernel, &request->tile);
        return status == MATCH_OK ? match_gap9_ne16_wait() : status;
    }
    status = match_pulp_cluster_run(request->entry->kernel, &request->tile);
    return status == MATCH_OK ? match_pulp_cluster_wait() : status;
}

/* NULL where it is empty. */
static const void *list_of(const array_t *array)
{
    return array->bytes > 0 ? array->block : NULL;
}

static void read_kernel(request_t *request)
{
    char name[NAME_BYTES + 1] = {0};
    int32_t fields[TILE_FIELDS];
    read_bytes(name, NAME_BYTES);
    for (const entry_t *entry = kernels; entry->name != NULL; entry++) {
        if (strcmp(entry->name, name) == 0) {
            request->entry = entry;
        }
    }
    if (request->entry == NULL) {
        fail("no such kernel");
    }
    read_bytes(fields, sizeof fields);
    memcpy((char *)&request->tile + offsetof(match_tile_t, channels_in), fields, sizeof fields);
    read_bytes(&request->tile.negative_step, sizeof request->tile.negative_step);
    read_bytes(&request->tile.input_channel_stride, sizeof request->tile.input_channel_stride);
    read_bytes(&request->begins, sizeof request->begins);
    read_bytes(&request->ends, sizeof request->ends);
    read_bytes(&request->tile.groups, sizeof request->tile.groups);
    read_bytes(&request->tile.weight_bits, sizeof request->tile.weight_bits);
    read_bytes(&request->abandoned, sizeof request->abandoned);
    read_bytes(request->offsets, sizeof request->offsets);
    request->count = POINTERS;
    read_arrays(request);
    request->tile.input = request->arrays[INPUT].block + request->offsets[INPUT];
    request->tile.addend = request->arrays[ADDEND].block + request->offsets[ADDEND];
    request->tile.weights = request->arrays[WEIGHTS].block + request->offsets[WEIGHTS];
    request->tile.parameters = request->arrays[PARAMETERS].block + request->offsets[PARAMETERS];
    request->tile.excepted = list_of(&request->arrays[EXCEPTED]);
    request->tile.exceptions = list_of(&request->arrays[EXCEPTIONS]);
    request->tile.output = request->arrays[OUTPUT].block + request->offsets[OUTPUT];
    request->tile.scratch = request->arrays[SCRATCH].block + request->offsets[SCRATCH];
    int32_t *sums = (int32_t *)(void *)(request->arrays[SUMS].block + request->offsets[SUMS]);
    request->tile.sums_in = request->begins ? NULL : sums;
    request->tile.sums_out = request->ends ? NULL : sums;
}

static void write_kernel(request_t *request)
{
    int32_t status = match_pulp_cluster_offload(run_kernel, request);
    fwrite(&status, sizeof status, 1, stdout);
    fwrite(request->arrays[OUTPUT].block, 1, (size_t)request->arrays[OUTPUT].bytes, stdout);
    fwrite(request->arrays[SUMS].block, 1, (size_t)request->arrays[SUMS].bytes, stdout);
}

static const request_t *submitted;

/* Straight to the registers, so that the kernels and their driver have no part in it. */
static void submit_job(const match_tile_t *tile)
{
    const request_t *request = submitted; /* NE16's driver has a copy of the tile */
    (void)tile;
    if (match_ne16_read(1) > 255) {
        fail("NE16 is not idle");
    }
    for (uint32_t word = 0; word < JOB_WORDS; word++) {
        uint32_t value = request->words[word];
        if (word < JOB_POINTERS && request->pointer_array[word] >= 0) {
            value += match_l1_address(request->arrays[request->pointer_array[word]].block);
        }
        match_ne16_write(8 + word, value);
    }
    match_ne16_write(0, 0);
    while (match_ne16_read(3) != 0) {
        match_ne16_wait_event();
    }
}

static void read_job(request_t *request)
{
    read_bytes(request->words, sizeof request->words);
    read_bytes(request->pointer_array, sizeof request->pointer_array);
    read_bytes(&request->count, sizeof request->count);
    if (request->count < 1 || request->count > MOST_ARRAYS) {
        fail("wrong number of arrays");
    }
    read_arrays(request);
}

static void write_job(request_t *request)
{
    static const entry_t entry = {"match_ne16_job", submit_job};
    request->entry = &entry;
    submitted = request;
    int32_t status = match_pulp_cluster_offload(run_kernel, request);
    const array_t *output = &request->arrays[request->count - 1];
    fwrite(&status, sizeof status, 1, stdout);
    fwrite(output->block, 1, (size_t)output->bytes, stdout);
}

static int32_t run_copy(void *argument)
{
    const request_t *request = argument;
    match_pulp_dma_t transfer = {0};
    if (request->into) {
        match_pulp_dma_copy_in(&transfer, request->arrays[1].block, request->arrays[0].block, &request->shape);
    } else {
        match_pulp_dma_copy_out(&transfer, request->arrays[1].block, request->arrays[0].block, &request->shape);
    }
    return match_pulp_dma_wait(&transfer);
}

static void read_copy(request_t *request)
{
    read_bytes(&request->into, sizeof request->into);
    read_bytes(&request->shape, sizeof request->shape);
    request->count = 2;
    read_arrays(request);
}

static void write_copy(request_t *request)
{
    array_t in_l1 = request->arrays[0];
    request->arrays[0].block = malloc((size_t)in_l1.bytes);
    if (request->arrays[0].block == NULL) {
        fail("out of memory");
    }
    memcpy(request->arrays[0].block, in_l1.block, (size_t)in_l1.bytes);
    int32_t status = match_pulp_cluster_offload(run_copy, request);
    const array_t *written = &request->arrays[request->into ? 1 : 0];
    fwrite(&status, sizeof status, 1, stdout);
    fwrite(written->block, 1, (size_t)written->bytes, stdout);
    free(request->arrays[0].block);
    request->arrays[0] = in_l1;
}

int main(void)
{
    int32_t kind;
    while (try_read(&kind, sizeof kind)) {
        request_t request = {0};
        alarm(SECONDS);
        if (match_pulp_open() != MATCH_OK) {
            fail("the platform does not open");
        }
        if (kind == KERNEL) {
            read_kernel(&request);
            write_kernel(&request);
        } else if (kind == JOB) {
            read_job(&request);
            write_job(&request);
        } else {
            read_copy(&request);
            write_copy(&request);
        }
        free_arrays(&request);
        fflush(stdout);
        match_pulp_close();
        alarm(0);
    }
    return 0;
}
