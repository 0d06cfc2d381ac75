/* add_whole: add, 4x4x6 to 4x4x6, on cluster of chip.
 *
 * In L1:
 *   input: 96 bytes, all of it
 *   addend: 96 bytes, all of it
 *   weights: 24 bytes, all of it
 *   output: 96 bytes, all of it
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_dump.h"
#include "match_on_cluster.h"
#include "match_layer.h"
#include "layers.h"
#include "match_trace.h"

/* The layer, in elements. */
enum {
    CHANNELS = 6,
    IN_HEIGHT = 4,
    IN_WIDTH = 4,
    OUT_HEIGHT = 4,
    OUT_WIDTH = 4,
};

/* Blocks, in bytes. */
enum {
    INPUT_BYTES = 96,
    ADDEND_BYTES = 96,
    WEIGHTS_BYTES = 24,
    OUTPUT_BYTES = 96,
};

/* The tensors, in main memory. */
typedef struct {
    const uint8_t *input;
    const uint8_t *addend;
    uint8_t *output;
} arguments_t;

/* The blocks, in L1, by number; those that take turns follow one another. */
enum {
    INPUT = 0,
    ADDEND = 1,
    WEIGHTS = 2,
    OUTPUT = 3,
    BLOCKS = 4,
};

/* Their bytes, in this order. */
static const uint32_t block_bytes[BLOCKS] = {
    INPUT_BYTES,
    ADDEND_BYTES,
    WEIGHTS_BYTES,
    OUTPUT_BYTES,
};

/* Attributes of the constants: where they are placed. */
#ifndef ADD_WHOLE_WEIGHTS
#define ADD_WHOLE_WEIGHTS
#endif

/* Requantization, packed in the order of fetch. */
_Alignas(4) static const uint8_t constants[24] ADD_WHOLE_WEIGHTS;

/* Starts the transfer of a block of the input. */
static void fetch_input(match_on_cluster_block_t *block, const uint8_t *input)
{
    const uint32_t bytes = IN_HEIGHT * IN_WIDTH * CHANNELS;
    const uint8_t *const from = input;
    MATCH_TRACE_FETCH(block, "input", "L1", from - input, bytes);
    match_on_cluster_load(block, from, bytes);
}

/* Starts the transfer of a block of the addend. */
static void fetch_addend(match_on_cluster_block_t *block, const uint8_t *addend)
{
    const uint32_t bytes = IN_HEIGHT * IN_WIDTH * CHANNELS;
    const uint8_t *const from = addend;
    MATCH_TRACE_FETCH(block, "addend", "L1", from - addend, bytes);
    match_on_cluster_load(block, from, bytes);
}

/* Starts the transfer of a block of the weights. */
static void fetch_weights(match_on_cluster_block_t *block)
{
    const uint32_t bytes = WEIGHTS_BYTES;
    const uint8_t *const from = constants;
    MATCH_TRACE_FETCH(block, "weights", "L1", from - constants, bytes);
    match_on_cluster_load(block, from, bytes);
}

/* Starts the write-back of a block of the output. */
static void store_output(match_on_cluster_block_t *block, uint8_t *output)
{
    const uint32_t bytes = OUT_HEIGHT * OUT_WIDTH * CHANNELS;
    uint8_t *const to = output;
    MATCH_TRACE_STORE(block, "output", "L1", to - output, bytes);
    match_on_cluster_store(block, to, bytes);
}

/* The layer, once its blocks are reserved; transfers may be under way behind it. */
static int32_t execute(const void *given, match_on_cluster_block_t *l1)
{
    const arguments_t *const arguments = given;
    match_tile_t tile;
    match_on_cluster_clear(&tile);
    tile.input = l1[INPUT].data;
    tile.addend = l1[ADDEND].data;
    tile.parameters = l1[WEIGHTS].data;
    tile.output = l1[OUTPUT].data;
    tile.channels_in = CHANNELS;
    tile.channels_out = CHANNELS;
    tile.input_height = IN_HEIGHT;
    tile.input_width = IN_WIDTH;
    tile.input_row_stride = IN_WIDTH * CHANNELS;
    tile.input_pixel_stride = CHANNELS;
    tile.addend_row_stride = IN_WIDTH * CHANNELS;
    tile.addend_pixel_stride = CHANNELS;
    tile.output_height = OUT_HEIGHT;
    tile.output_width = OUT_WIDTH;
    tile.output_row_stride = OUT_WIDTH * CHANNELS;
    tile.output_pixel_stride = CHANNELS;
    tile.clip_low = 3;
    tile.clip_high = 250;

    fetch_input(&l1[INPUT], arguments->input);
    fetch_addend(&l1[ADDEND], arguments->addend);
    fetch_weights(&l1[WEIGHTS]);
    MATCH_TRY(match_on_cluster_wait(&l1[INPUT]));
    MATCH_TRY(match_on_cluster_wait(&l1[ADDEND]));
    MATCH_TRY(match_on_cluster_wait(&l1[WEIGHTS]));


    MATCH_TRY(match_on_cluster_compute(match_pulp_add, &tile));

    store_output(&l1[OUTPUT], arguments->output);

    return MATCH_OK;
}

static const match_on_cluster_layer_t layer = {
    .execute = execute,
    .bytes = block_bytes,
    .count = BLOCKS,
};

int32_t add_whole(const void *input, const void *addend, void *output)
{
    const arguments_t arguments = {
        .input = input,
        .addend = addend,
        .output = output,
    };
    MATCH_TRACE_LAYER("add_whole", "add");
    MATCH_DUMP_TENSOR("add_whole", "input", input, 96);
    MATCH_DUMP_TENSOR("add_whole", "addend", addend, 96);
    MATCH_TRY(match_on_cluster_run(&layer, &arguments));
    MATCH_DUMP_TENSOR("add_whole", "output", output, 96);
    return MATCH_OK;
}

_Alignas(4) static const uint8_t constants[24] = {
    /* requantization */
    103, 3, 0, 0, 0, 0, 0, 0, 85, 152, 4, 0, 68, 17, 6, 0, 20, 0, 0, 0,
    0, 0, 0, 0,
};
