/* Runs kernels and jobs of DIANA's digital accelerator for the tests: requests on stdin, answers on stdout, both
 * little-endian and back to back.
 *
 * A request is an int32 kind, its body, and four arrays (input, addend, weights, output), each an int32 size and bytes;
 * it gets a block of that size in the memory that it belongs to. The answer is the status and the output array.
 * KERNEL: int32 index into `kernels`, int32 number of fields of the tile from channels_in on, the fields, int32 shift,
 *         channel strides of input, addend and output.
 * JOB:    the job's words; the addresses in words 1 to 4 are offsets into the arrays. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match_diana_chip.h"
#include "diana_driver.h"
#include "match_diana.h"

enum { KERNEL, JOB };
enum { INPUT, ADDEND, WEIGHTS, OUTPUT, ARRAYS };
enum { JOB_WORDS = 24, FIRST_POINTER = 1 };

static const match_kernel_t kernels[] = {
    match_diana_conv2d,
    match_diana_depthwise_conv2d,
    match_diana_dense,
    match_diana_add,
};

static struct {
    match_kernel_t kernel;
    match_tile_t tile;
    uint32_t words[JOB_WORDS];
    int32_t bytes[ARRAYS];
    uint8_t *blocks[ARRAYS];
} request;

static void fail(const char *what)
{
    fprintf(stderr, "harness: %s\n", what);
    exit(2);
}

static void read_bytes(void *target, size_t bytes)
{
    if (fread(target, 1, bytes, stdin) != bytes) {
        fail("request cut short");
    }
}

static int32_t read_int(void)
{
    int32_t value;
    read_bytes(&value, sizeof value);
    return value;
}

static void read_kernel(void)
{
    memset(&request.tile, 0, sizeof request.tile);
    request.kernel = kernels[read_int()];
    int32_t fields = read_int();
    read_bytes((char *)&request.tile + offsetof(match_tile_t, channels_in), (size_t)fields * sizeof(int32_t));
    request.tile.shift = read_int();
    request.tile.input_channel_stride = read_int();
    request.tile.addend_channel_stride = read_int();
    request.tile.output_channel_stride = read_int();
}

static void read_arrays(void)
{
    for (int32_t i = 0; i < ARRAYS; i++) {
        request.bytes[i] = read_int();
        uint32_t bytes = (uint32_t)request.bytes[i];
        request.blocks[i] = i == WEIGHTS ? match_diana_weight_alloc(bytes) : match_diana_l1_alloc(bytes);
        if (request.blocks[i] == NULL) {
            fail("memory exhausted");
        }
        read_bytes(request.blocks[i], bytes);
    }
    request.tile.input = request.blocks[INPUT];
    request.tile.addend = request.blocks[ADDEND];
    request.tile.weights = request.blocks[WEIGHTS];
    request.tile.output = request.blocks[OUTPUT];
}

/* Straight to the registers, so that the kernels and their driver have no part in it. */
static void execute_job(const match_tile_t *tile)
{
    (void)tile;
    for (uint32_t word = 0; word < JOB_WORDS; word++) {
        uint32_t value = request.words[word];
        if (word >= FIRST_POINTER && word < FIRST_POINTER + ARRAYS) {
            const uint8_t *block = request.blocks[word - FIRST_POINTER];
            value += word - FIRST_POINTER == WEIGHTS ? match_diana_weight_address(block)
                                                     : match_diana_activation_address(block);
        }
        match_diana_write(4 + word, value);
    }
    match_diana_write(0, 1);
    while (match_diana_read(1) != 0) {
        match_diana_wait_event();
    }
}

static int32_t run(void *argument)
{
    (void)argument;
    int32_t status = match_diana_start(request.kernel, &request.tile);
    return status == MATCH_OK ? match_diana_wait() : status;
}

int main(void)
{
    int32_t kind;
    while (fread(&kind, sizeof kind, 1, stdin) == 1) {
        /* Opened anew: a job that was refused leaves its mark on the accelerator. */
        if (match_diana_open() != MATCH_OK) {
            fail("the platform does not open");
        }
        if (kind == KERNEL) {
            read_kernel();
        } else {
            request.kernel = execute_job;
            read_bytes(request.words, sizeof request.words);
        }
        read_arrays();
        int32_t status = match_diana_offload(run, NULL);
        fwrite(&status, sizeof status, 1, stdout);
        fwrite(request.blocks[OUTPUT], 1, (size_t)request.bytes[OUTPUT], stdout);
        fflush(stdout);
        match_diana_close();
    }
    return 0;
}
