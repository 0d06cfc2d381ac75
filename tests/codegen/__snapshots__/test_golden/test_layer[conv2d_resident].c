/* conv2d_resident: conv2d 1x1, 8x6x16 to 8x6x20, on ne16 of chip.
 *
 * In L1:
 *   input: 2 x 192 bytes, for each oy
 *   weights: 640 bytes, all of it
 *   output: 240 bytes, for each oy
 *   scratch: 480 bytes
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_dump.h"
#include "match_on_ne16.h"
#include "match_layer.h"
#include "layers.h"
#include "match_trace.h"

/* The layer, in elements. */
enum {
    IN_CHANNELS = 16,
    OUT_CHANNELS = 20,
    IN_HEIGHT = 8,
    IN_WIDTH = 6,
    OUT_HEIGHT = 8,
    OUT_WIDTH = 6,
    FILTER_HEIGHT = 1,
    FILTER_WIDTH = 1,
    STRIDE_Y = 1,
    STRIDE_X = 1,
    DILATION_Y = 1,
    DILATION_X = 1,
};

/* Tiles, in iterations. */
enum {
    OY_TILE = 2,
    K_TILE = 10,
};

/* Blocks, in bytes. */
enum {
    INPUT_BYTES = 192,
    WEIGHTS_BYTES = 640,
    OUTPUT_BYTES = 240,
    SCRATCH_BYTES = 480,
    FILTER_CHANNEL_BYTES = 16,
    REQUANTIZATION_OFFSET = 320,
    REQUANTIZATION_CHANNEL_BYTES = 16,
};

/* The tensors, in main memory. */
typedef struct {
    const uint8_t *input;
    uint8_t *output;
} arguments_t;

/* The blocks, in L1, by number; those that take turns follow one another. */
enum {
    INPUT = 0,
    WEIGHTS = 2,
    OUTPUT = 3,
    SCRATCH = 4,
    BLOCKS = 5,
};

/* Their bytes, in this order. */
static const uint32_t block_bytes[BLOCKS] = {
    INPUT_BYTES, INPUT_BYTES,
    WEIGHTS_BYTES,
    OUTPUT_BYTES,
    SCRATCH_BYTES,
};

/* An iteration of the loops: where its tile starts. */
typedef struct {
    int32_t oy;
} position_t;

/* Attributes of the constants: where they are placed. */
#ifndef CONV2D_RESIDENT_WEIGHTS
#define CONV2D_RESIDENT_WEIGHTS
#endif

/* Filter and requantization, packed in the order of fetch. */
_Alignas(4) static const uint8_t constants[640] CONV2D_RESIDENT_WEIGHTS;

/* Starts the transfer of a block of the input. */
static void fetch_input(match_on_ne16_block_t *block, const uint8_t *input, match_span_t rows)
{
    const uint32_t bytes = (uint32_t)(rows.count * IN_WIDTH * IN_CHANNELS);
    const uint8_t *const from = input + rows.first * IN_WIDTH * IN_CHANNELS;
    MATCH_TRACE_FETCH(block, "input", "L1", from - input, bytes);
    match_on_ne16_load(block, from, bytes);
}

/* Starts the transfer of a block of the weights. */
static void fetch_weights(match_on_ne16_block_t *block)
{
    const uint32_t bytes = WEIGHTS_BYTES;
    const uint8_t *const from = constants;
    MATCH_TRACE_FETCH(block, "weights", "L1", from - constants, bytes);
    match_on_ne16_load(block, from, bytes);
}

/* Starts the write-back of a block of the output. */
static void store_output(match_on_ne16_block_t *block, uint8_t *output, match_span_t rows)
{
    const uint32_t bytes = (uint32_t)(rows.count * OUT_WIDTH * OUT_CHANNELS);
    uint8_t *const to = output + rows.first * OUT_WIDTH * OUT_CHANNELS;
    MATCH_TRACE_STORE(block, "output", "L1", to - output, bytes);
    match_on_ne16_store(block, to, bytes);
}

/* Moves on to the next iteration of the loops down to oy; false behind the last one. */
static bool advance_oy(position_t *at)
{
    at->oy += OY_TILE;
    return at->oy < OUT_HEIGHT;
}

/* The layer, once its blocks are reserved; transfers may be under way behind it. */
static int32_t execute(const void *given, match_on_ne16_block_t *l1)
{
    const arguments_t *const arguments = given;
    match_tile_t tile;
    match_on_ne16_clear(&tile);
    tile.scratch = l1[SCRATCH].data;
    tile.channels_in = IN_CHANNELS;
    tile.input_width = IN_WIDTH;
    tile.input_row_stride = IN_WIDTH * IN_CHANNELS;
    tile.input_pixel_stride = IN_CHANNELS;
    tile.output_width = OUT_WIDTH;
    tile.output_row_stride = OUT_WIDTH * OUT_CHANNELS;
    tile.output_pixel_stride = OUT_CHANNELS;
    tile.filter_height = FILTER_HEIGHT;
    tile.filter_width = FILTER_WIDTH;
    tile.stride_y = STRIDE_Y;
    tile.stride_x = STRIDE_X;
    tile.dilation_y = DILATION_Y;
    tile.dilation_x = DILATION_X;
    tile.clip_low = 3;
    tile.clip_high = 250;
    int32_t input_turn = 0;

    fetch_input(&l1[INPUT + input_turn], arguments->input, match_span(0, OY_TILE));
    fetch_weights(&l1[WEIGHTS]);
    MATCH_TRY(match_on_ne16_wait(&l1[WEIGHTS]));

    /* Output rows, 2 at a time. */
    for (int32_t oy = 0; oy < OUT_HEIGHT; oy += OY_TILE) {
        const match_span_t input_rows = match_span(oy, oy + OY_TILE);
        const match_span_t output_rows = match_span(oy, oy + OY_TILE);
        position_t next_oy = {.oy = oy};
        const bool more_oy = advance_oy(&next_oy);

        /* The next block of the input comes in while this one is used. */
        MATCH_TRY(match_on_ne16_wait(&l1[INPUT + input_turn]));
        const uint8_t *const input = l1[INPUT + input_turn].data;
        input_turn ^= 1;
        if (more_oy) {
            fetch_input(&l1[INPUT + input_turn], arguments->input, match_span(next_oy.oy, next_oy.oy + OY_TILE));
        }

        /* Output channels, 10 at a time. */
        for (int32_t k = 0; k < OUT_CHANNELS; k += K_TILE) {
            const match_span_t tile_output_channels = match_span(k, k + K_TILE);
            tile.input = input;
            tile.weights = l1[WEIGHTS].data + k * FILTER_CHANNEL_BYTES;
            tile.parameters = l1[WEIGHTS].data + REQUANTIZATION_OFFSET + k * REQUANTIZATION_CHANNEL_BYTES;
            tile.output = l1[OUTPUT].data + tile_output_channels.first;
            tile.channels_out = tile_output_channels.count;
            tile.input_height = input_rows.count;
            tile.output_height = output_rows.count;

            MATCH_TRY(match_on_ne16_wait(&l1[OUTPUT]));

            MATCH_TRY(match_on_ne16_compute(match_ne16_conv2d_1x1_exact, &tile));
        }

        store_output(&l1[OUTPUT], arguments->output, output_rows);
    }

    return MATCH_OK;
}

static const match_on_ne16_layer_t layer = {
    .execute = execute,
    .bytes = block_bytes,
    .count = BLOCKS,
};

int32_t conv2d_resident(const void *input, void *output)
{
    const arguments_t arguments = {
        .input = input,
        .output = output,
    };
    MATCH_TRACE_LAYER("conv2d_resident", "conv2d");
    MATCH_DUMP_TENSOR("conv2d_resident", "input", input, 768);
    MATCH_TRY(match_on_ne16_run(&layer, &arguments));
    MATCH_DUMP_TENSOR("conv2d_resident", "output", output, 960);
    return MATCH_OK;
}

_Alignas(4) static const uint8_t constants[640] = {
    /* filter, output channels 0 to 19 */
    /* 0 */ 75, 40, 118, 164, 152, 5, 49, 233, 65, 226, 2, 205, 25, 74, 7, 254,
    /* 1 */ 95, 22, 94, 50, 28, 133, 78, 238, 32, 98, 73, 161, 56, 83, 111, 118,
    /* 2 */ 68, 175, 73, 123, 183, 203, 234, 40, 83, 8, 192, 161, 226, 1, 10, 224,
    /* 3 */ 183, 151, 236, 158, 114, 90, 226, 2, 178, 116, 184, 239, 253, 149, 230, 126,
    /* 4 */ 128, 168, 162, 184, 164, 35, 152, 231, 28, 150, 75, 47, 209, 171, 61, 108,
    /* 5 */ 68, 152, 138, 249, 129, 198, 49, 160, 186, 228, 17, 106, 140, 31, 115, 201,
    /* 6 */ 234, 16, 16, 249, 155, 172, 161, 25, 202, 100, 148, 146, 124, 35, 40, 83,
    /* 7 */ 174, 103, 42, 126, 213, 230, 169, 68, 51, 253, 54, 30, 79, 22, 93, 213,
    /* 8 */ 176, 234, 117, 92, 15, 131, 10, 139, 160, 10, 189, 164, 215, 194, 221, 244,
    /* 9 */ 36, 132, 48, 59, 232, 202, 229, 30, 62, 191, 191, 169, 175, 173, 8, 59,
    /* 10 */ 187, 17, 120, 179, 41, 248, 220, 222, 73, 57, 92, 250, 159, 198, 163, 248,
    /* 11 */ 231, 251, 201, 103, 163, 157, 123, 45, 154, 253, 253, 160, 176, 233, 248, 233,
    /* 12 */ 32, 108, 242, 79, 23, 176, 25, 171, 153, 15, 106, 219, 249, 182, 172, 176,
    /* 13 */ 44, 169, 192, 154, 198, 176, 157, 58, 33, 45, 245, 25, 167, 4, 153, 109,
    /* 14 */ 149, 226, 244, 113, 93, 119, 7, 82, 18, 248, 67, 19, 37, 55, 163, 99,
    /* 15 */ 180, 252, 185, 99, 249, 92, 158, 136, 54, 216, 109, 248, 58, 39, 177, 33,
    /* 16 */ 222, 239, 102, 79, 182, 30, 218, 174, 98, 80, 1, 208, 92, 243, 244, 11,
    /* 17 */ 119, 231, 196, 20, 177, 147, 129, 46, 183, 109, 121, 196, 167, 96, 126, 106,
    /* 18 */ 97, 144, 228, 99, 64, 156, 46, 215, 209, 220, 26, 2, 155, 143, 217, 13,
    /* 19 */ 200, 182, 252, 129, 59, 160, 1, 244, 195, 34, 200, 75, 100, 102, 216, 39,
    /* requantization, output channels 0 to 19 */
    /* 0 */ 18, 235, 6, 5, 0, 0, 0, 0, 18, 7, 0, 0, 20, 0, 0, 0,
    /* 1 */ 107, 183, 226, 6, 0, 0, 0, 0, 83, 7, 0, 0, 20, 0, 0, 0,
    /* 2 */ 29, 190, 248, 7, 0, 0, 0, 0, 160, 7, 0, 0, 20, 0, 0, 0,
    /* 3 */ 17, 40, 250, 1, 0, 0, 0, 0, 31, 10, 0, 0, 20, 0, 0, 0,
    /* 4 */ 253, 17, 128, 4, 0, 0, 0, 0, 24, 9, 0, 0, 20, 0, 0, 0,
    /* 5 */ 223, 69, 33, 1, 0, 0, 0, 0, 180, 6, 0, 0, 20, 0, 0, 0,
    /* 6 */ 184, 229, 214, 0, 0, 0, 0, 0, 129, 6, 0, 0, 20, 0, 0, 0,
    /* 7 */ 99, 73, 92, 5, 0, 0, 0, 0, 139, 9, 0, 0, 20, 0, 0, 0,
    /* 8 */ 235, 92, 97, 0, 0, 0, 0, 0, 162, 9, 0, 0, 20, 0, 0, 0,
    /* 9 */ 236, 137, 183, 5, 0, 0, 0, 0, 189, 7, 0, 0, 20, 0, 0, 0,
    /* 10 */ 149, 39, 145, 6, 0, 0, 0, 0, 226, 6, 0, 0, 20, 0, 0, 0,
    /* 11 */ 216, 31, 86, 1, 0, 0, 0, 0, 55, 10, 0, 0, 20, 0, 0, 0,
    /* 12 */ 154, 108, 113, 5, 0, 0, 0, 0, 189, 6, 0, 0, 20, 0, 0, 0,
    /* 13 */ 238, 25, 42, 3, 0, 0, 0, 0, 15, 6, 0, 0, 20, 0, 0, 0,
    /* 14 */ 252, 162, 37, 7, 0, 0, 0, 0, 161, 9, 0, 0, 20, 0, 0, 0,
    /* 15 */ 44, 52, 72, 7, 0, 0, 0, 0, 72, 9, 0, 0, 20, 0, 0, 0,
    /* 16 */ 81, 187, 158, 4, 0, 0, 0, 0, 139, 8, 0, 0, 20, 0, 0, 0,
    /* 17 */ 175, 191, 125, 4, 0, 0, 0, 0, 7, 10, 0, 0, 20, 0, 0, 0,
    /* 18 */ 104, 68, 175, 5, 0, 0, 0, 0, 221, 9, 0, 0, 20, 0, 0, 0,
    /* 19 */ 148, 110, 160, 4, 0, 0, 0, 0, 244, 8, 0, 0, 20, 0, 0, 0,
};
