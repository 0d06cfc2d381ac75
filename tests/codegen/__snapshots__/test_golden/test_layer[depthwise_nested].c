/* depthwise_nested: depthwise_conv2d 3x3, 6x5x12 to 2x2x12, on cluster of chip.
 *
 * In L1:
 *   input: 2 x 48 bytes, for each k0, oy, k1
 *   weights: 76 bytes, for each k0, oy, k1
 *   output: 16 bytes, for each k0, oy
 *   scratch: 96 bytes
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
    CHANNELS = 12,
    IN_HEIGHT = 6,
    IN_WIDTH = 5,
    OUT_HEIGHT = 2,
    OUT_WIDTH = 2,
    FILTER_HEIGHT = 3,
    FILTER_WIDTH = 3,
    STRIDE_Y = 2,
    STRIDE_X = 2,
    DILATION_Y = 1,
    DILATION_X = 1,
    WINDOW_HEIGHT = 3,
};

/* Tiles, in iterations. */
enum {
    K0_TILE = 7,
    OY_TILE = 1,
    K1_TILE = 3,
};

/* Blocks, in bytes. */
enum {
    INPUT_BYTES = 48,
    WEIGHTS_BYTES = 76,
    OUTPUT_BYTES = 16,
    SCRATCH_BYTES = 96,
    REQUANTIZATION_OFFSET = 28,
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
    int32_t k0;
    int32_t oy;
    int32_t k1;
} position_t;

/* Attributes of the constants: where they are placed. */
#ifndef DEPTHWISE_NESTED_WEIGHTS
#define DEPTHWISE_NESTED_WEIGHTS
#endif

/* Filter and requantization, packed in the order of fetch. */
_Alignas(4) static const uint8_t constants[380] DEPTHWISE_NESTED_WEIGHTS;

/* Rows of the input under a run of output rows. */
static match_span_t input_rows_under(int32_t start, int32_t end)
{
    return match_window(start, end, STRIDE_Y, WINDOW_HEIGHT, 0, IN_HEIGHT);
}

/* Starts the transfer of a block of the input. */
static void fetch_input(match_on_cluster_block_t *block, const uint8_t *input, match_span_t rows, match_span_t channels)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = (uint32_t)(rows.count * IN_WIDTH),
        .bytes = (uint32_t)channels.count,
        .external_row_stride = CHANNELS,
        .local_row_stride = (uint32_t)channels.count,
    };
    const uint8_t *const from = input + rows.first * IN_WIDTH * CHANNELS + channels.first;
    MATCH_TRACE_FETCH(block, "input", "L1", from - input, match_copy_bytes(&shape));
    match_on_cluster_copy_in(block, from, &shape);
}

/* Starts the transfer of a block of the weights. */
static void fetch_weights(match_on_cluster_block_t *block, int32_t index)
{
    const uint32_t bytes = WEIGHTS_BYTES;
    const uint8_t *const from = constants + index * WEIGHTS_BYTES;
    MATCH_TRACE_FETCH(block, "weights", "L1", from - constants, bytes);
    match_on_cluster_load(block, from, bytes);
}

/* Starts the write-back of a block of the output. */
static void store_output(match_on_cluster_block_t *block, uint8_t *output, match_span_t rows, match_span_t channels)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = (uint32_t)(rows.count * OUT_WIDTH),
        .bytes = (uint32_t)channels.count,
        .external_row_stride = CHANNELS,
        .local_row_stride = (uint32_t)channels.count,
    };
    uint8_t *const to = output + rows.first * OUT_WIDTH * CHANNELS + channels.first;
    MATCH_TRACE_STORE(block, "output", "L1", to - output, match_copy_bytes(&shape));
    match_on_cluster_copy_out(block, to, &shape);
}

/* Moves on to the next iteration of the loops down to k1; false behind the last one. */
static bool advance_k1(position_t *at)
{
    at->k1 += K1_TILE;
    if (at->k1 < match_min(at->k0 + K0_TILE, CHANNELS)) {
        return true;
    }
    at->k1 = at->k0;
    at->oy += OY_TILE;
    if (at->oy < OUT_HEIGHT) {
        return true;
    }
    at->oy = 0;
    at->k0 += K0_TILE;
    at->k1 = at->k0;
    return at->k0 < CHANNELS;
}

/* The layer, once its blocks are reserved; transfers may be under way behind it. */
static int32_t execute(const void *given, match_on_cluster_block_t *l1)
{
    const arguments_t *const arguments = given;
    match_tile_t tile;
    match_on_cluster_clear(&tile);
    tile.weights = l1[WEIGHTS].data;
    tile.parameters = l1[WEIGHTS].data + REQUANTIZATION_OFFSET;
    tile.scratch = l1[SCRATCH].data;
    tile.input_width = IN_WIDTH;
    tile.output_width = OUT_WIDTH;
    tile.filter_height = FILTER_HEIGHT;
    tile.filter_width = FILTER_WIDTH;
    tile.stride_y = STRIDE_Y;
    tile.stride_x = STRIDE_X;
    tile.dilation_y = DILATION_Y;
    tile.dilation_x = DILATION_X;
    tile.clip_low = 3;
    tile.clip_high = 250;
    int32_t input_turn = 0;

    fetch_input(&l1[INPUT + input_turn], arguments->input, input_rows_under(0, OY_TILE), match_span(0, K1_TILE));

    /* Output channels, 7 at a time; the last 5. */
    for (int32_t k0 = 0; k0 < CHANNELS; k0 += K0_TILE) {
        const int32_t k0_end = match_min(k0 + K0_TILE, CHANNELS);

        /* Output rows, 1 at a time. */
        for (int32_t oy = 0; oy < OUT_HEIGHT; oy += OY_TILE) {
            const match_span_t output_rows = match_span(oy, oy + OY_TILE);
            const match_span_t output_channels = match_span(k0, k0_end);

            /* Output channels, 3 at a time; the last 1 or 2. */
            for (int32_t k1 = k0; k1 < k0_end; k1 += K1_TILE) {
                const int32_t k1_end = match_min(k1 + K1_TILE, k0_end);
                const match_span_t input_rows = input_rows_under(oy, oy + OY_TILE);
                const match_span_t input_channels = match_span(k1, k1_end);
                position_t next_k1 = {.k0 = k0, .oy = oy, .k1 = k1};
                const bool more_k1 = advance_k1(&next_k1);

                /* The next block of the input comes in while this one is used. */
                MATCH_TRY(match_on_cluster_wait(&l1[INPUT + input_turn]));
                const uint8_t *const input = l1[INPUT + input_turn].data;
                input_turn ^= 1;
                if (more_k1) {
                    fetch_input(&l1[INPUT + input_turn], arguments->input,
                        input_rows_under(next_k1.oy, next_k1.oy + OY_TILE),
                        match_span(next_k1.k1,
                            match_min(next_k1.k1 + K1_TILE, match_min(next_k1.k0 + K0_TILE, CHANNELS))));
                }

                fetch_weights(&l1[WEIGHTS], k0 / K0_TILE * 3 + (k1 - k0) / K1_TILE);
                MATCH_TRY(match_on_cluster_wait(&l1[WEIGHTS]));

                const match_span_t tile_output_channels = match_span(k1, k1_end);
                tile.input = input;
                tile.output = l1[OUTPUT].data + (tile_output_channels.first - output_channels.first);
                tile.channels_in = input_channels.count;
                tile.channels_out = tile_output_channels.count;
                tile.input_height = input_rows.count;
                tile.input_row_stride = IN_WIDTH * input_channels.count;
                tile.input_pixel_stride = input_channels.count;
                tile.output_height = output_rows.count;
                tile.output_row_stride = OUT_WIDTH * output_channels.count;
                tile.output_pixel_stride = output_channels.count;

                MATCH_TRY(match_on_cluster_wait(&l1[OUTPUT]));

                MATCH_TRY(match_on_cluster_compute(match_pulp_depthwise_conv2d, &tile));
            }

            store_output(&l1[OUTPUT], arguments->output, output_rows, output_channels);
        }
    }

    return MATCH_OK;
}

static const match_on_cluster_layer_t layer = {
    .execute = execute,
    .bytes = block_bytes,
    .count = BLOCKS,
};

int32_t depthwise_nested(const void *input, void *output)
{
    const arguments_t arguments = {
        .input = input,
        .output = output,
    };
    MATCH_TRACE_LAYER("depthwise_nested", "depthwise_conv2d");
    MATCH_DUMP_TENSOR("depthwise_nested", "input", input, 360);
    MATCH_TRY(match_on_cluster_run(&layer, &arguments));
    MATCH_DUMP_TENSOR("depthwise_nested", "output", output, 48);
    return MATCH_OK;
}

_Alignas(4) static const uint8_t constants[380] = {
    /* filter, output channels 0 to 2 */
    /* 0 */ 89, 35, 2, 197, 206, 138, 147, 132, 172,
    /* 1 */ 80, 38, 105, 0, 27, 120, 58, 33, 11,
    /* 2 */ 15, 111, 199, 80, 43, 128, 228, 91, 13,
    0,
    /* requantization, output channels 0 to 2 */
    /* 0 */ 87, 136, 31, 7, 0, 0, 0, 0, 32, 9, 0, 0, 20, 0, 0, 0,
    /* 1 */ 141, 155, 152, 1, 0, 0, 0, 0, 219, 7, 0, 0, 20, 0, 0, 0,
    /* 2 */ 71, 225, 16, 6, 0, 0, 0, 0, 231, 9, 0, 0, 20, 0, 0, 0,
    /* filter, output channels 3 to 5 */
    /* 3 */ 136, 67, 58, 88, 172, 150, 92, 133, 10,
    /* 4 */ 148, 204, 251, 236, 231, 135, 129, 159, 130,
    /* 5 */ 43, 6, 37, 193, 29, 67, 226, 245, 127,
    0,
    /* requantization, output channels 3 to 5 */
    /* 3 */ 153, 114, 137, 7, 0, 0, 0, 0, 68, 12, 0, 0, 20, 0, 0, 0,
    /* 4 */ 176, 134, 99, 0, 0, 0, 0, 0, 103, 8, 0, 0, 20, 0, 0, 0,
    /* 5 */ 225, 190, 235, 2, 0, 0, 0, 0, 47, 7, 0, 0, 20, 0, 0, 0,
    /* filter, output channels 6 to 6 */
    /* 6 */ 78, 123, 225, 47, 115, 38, 87, 48, 52,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /* requantization, output channels 6 to 6 */
    /* 6 */ 15, 148, 23, 5, 0, 0, 0, 0, 151, 9, 0, 0, 20, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /* filter, output channels 7 to 9 */
    /* 7 */ 227, 96, 162, 20, 56, 88, 6, 224, 207,
    /* 8 */ 236, 252, 56, 99, 146, 111, 8, 219, 44,
    /* 9 */ 18, 193, 210, 56, 24, 1, 214, 66, 228,
    0,
    /* requantization, output channels 7 to 9 */
    /* 7 */ 232, 13, 216, 0, 0, 0, 0, 0, 47, 8, 0, 0, 20, 0, 0, 0,
    /* 8 */ 36, 156, 20, 4, 0, 0, 0, 0, 115, 7, 0, 0, 20, 0, 0, 0,
    /* 9 */ 218, 105, 8, 5, 0, 0, 0, 0, 202, 10, 0, 0, 20, 0, 0, 0,
    /* filter, output channels 10 to 11 */
    /* 10 */ 212, 99, 195, 186, 54, 31, 140, 149, 224,
    /* 11 */ 85, 230, 73, 209, 189, 74, 96, 148, 142,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /* requantization, output channels 10 to 11 */
    /* 10 */ 116, 165, 28, 6, 0, 0, 0, 0, 222, 8, 0, 0, 20, 0, 0, 0,
    /* 11 */ 1, 208, 106, 7, 0, 0, 0, 0, 107, 11, 0, 0, 20, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};
