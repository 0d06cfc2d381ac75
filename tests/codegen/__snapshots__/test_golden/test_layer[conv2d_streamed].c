/* conv2d_streamed: conv2d 3x3, 9x8x3 to 9x8x10, on cluster of chip.
 *
 * In L1:
 *   input: 2 x 108 bytes, for each k, oy, ox
 *   weights: 2 x 208 bytes, for each k
 *   output: 2 x 60 bytes, for each k, oy, ox
 *   scratch: 2048 bytes
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
    IN_CHANNELS = 3,
    OUT_CHANNELS = 10,
    IN_HEIGHT = 9,
    IN_WIDTH = 8,
    OUT_HEIGHT = 9,
    OUT_WIDTH = 8,
    FILTER_HEIGHT = 3,
    FILTER_WIDTH = 3,
    STRIDE_Y = 1,
    STRIDE_X = 1,
    DILATION_Y = 1,
    DILATION_X = 1,
    WINDOW_HEIGHT = 3,
    WINDOW_WIDTH = 3,
    PAD_TOP = 1,
    PAD_BOTTOM = 1,
    PAD_LEFT = 1,
    PAD_RIGHT = 1,
};

/* Tiles, in iterations. */
enum {
    K_TILE = 4,
    OY_TILE = 3,
    OX_TILE = 5,
};

/* Blocks, in bytes. */
enum {
    INPUT_BYTES = 108,
    WEIGHTS_BYTES = 208,
    OUTPUT_BYTES = 60,
    SCRATCH_BYTES = 2048,
    REQUANTIZATION_OFFSET = 112,
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
    OUTPUT = 4,
    SCRATCH = 6,
    BLOCKS = 7,
};

/* Their bytes, in this order. */
static const uint32_t block_bytes[BLOCKS] = {
    INPUT_BYTES, INPUT_BYTES,
    WEIGHTS_BYTES, WEIGHTS_BYTES,
    OUTPUT_BYTES, OUTPUT_BYTES,
    SCRATCH_BYTES,
};

/* An iteration of the loops: where its tile starts. */
typedef struct {
    int32_t k;
    int32_t oy;
    int32_t ox;
} position_t;

/* Attributes of the constants: where they are placed. */
#ifndef CONV2D_STREAMED_WEIGHTS
#define CONV2D_STREAMED_WEIGHTS
#endif

/* Filter and requantization, packed in the order of fetch. */
_Alignas(4) static const uint8_t constants[624] CONV2D_STREAMED_WEIGHTS;

/* Rows of the input under a run of output rows. */
static match_span_t input_rows_under(int32_t start, int32_t end)
{
    return match_window(start, end, STRIDE_Y, WINDOW_HEIGHT, PAD_TOP, IN_HEIGHT);
}

/* Columns of the input under a run of output columns. */
static match_span_t input_columns_under(int32_t start, int32_t end)
{
    return match_window(start, end, STRIDE_X, WINDOW_WIDTH, PAD_LEFT, IN_WIDTH);
}

/* Starts the transfer of a block of the input. */
static void fetch_input(match_on_cluster_block_t *block, const uint8_t *input, match_span_t rows, match_span_t columns)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = (uint32_t)rows.count,
        .bytes = (uint32_t)(columns.count * IN_CHANNELS),
        .external_row_stride = IN_WIDTH * IN_CHANNELS,
        .local_row_stride = (uint32_t)(columns.count * IN_CHANNELS),
    };
    const uint8_t *const from = input + (rows.first * IN_WIDTH + columns.first) * IN_CHANNELS;
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
static void store_output(match_on_cluster_block_t *block, uint8_t *output, match_span_t rows, match_span_t columns,
    match_span_t channels)
{
    const match_copy_t shape = {
        .planes = (uint32_t)rows.count,
        .rows = (uint32_t)columns.count,
        .bytes = (uint32_t)channels.count,
        .external_plane_stride = OUT_WIDTH * OUT_CHANNELS,
        .external_row_stride = OUT_CHANNELS,
        .local_plane_stride = (uint32_t)(columns.count * channels.count),
        .local_row_stride = (uint32_t)channels.count,
    };
    uint8_t *const to = output + (rows.first * OUT_WIDTH + columns.first) * OUT_CHANNELS + channels.first;
    MATCH_TRACE_STORE(block, "output", "L1", to - output, match_copy_bytes(&shape));
    match_on_cluster_copy_out(block, to, &shape);
}

/* Moves on to the next iteration of the loops down to k; false behind the last one. */
static bool advance_k(position_t *at)
{
    at->k += K_TILE;
    return at->k < OUT_CHANNELS;
}

/* Moves on to the next iteration of the loops down to ox; false behind the last one. */
static bool advance_ox(position_t *at)
{
    at->ox += OX_TILE;
    if (at->ox < OUT_WIDTH) {
        return true;
    }
    at->ox = 0;
    at->oy += OY_TILE;
    if (at->oy < OUT_HEIGHT) {
        return true;
    }
    at->oy = 0;
    return advance_k(at);
}

/* The layer, once its blocks are reserved; transfers may be under way behind it. */
static int32_t execute(const void *given, match_on_cluster_block_t *l1)
{
    const arguments_t *const arguments = given;
    match_tile_t tile;
    match_on_cluster_clear(&tile);
    tile.scratch = l1[SCRATCH].data;
    tile.channels_in = IN_CHANNELS;
    tile.input_pixel_stride = IN_CHANNELS;
    tile.filter_height = FILTER_HEIGHT;
    tile.filter_width = FILTER_WIDTH;
    tile.stride_y = STRIDE_Y;
    tile.stride_x = STRIDE_X;
    tile.dilation_y = DILATION_Y;
    tile.dilation_x = DILATION_X;
    tile.pad_value = 217;
    tile.clip_low = 3;
    tile.clip_high = 250;
    tile.negative_step = INT64_C(524288);
    int32_t input_turn = 0;
    int32_t weights_turn = 0;
    int32_t output_turn = 0;

    fetch_input(&l1[INPUT + input_turn], arguments->input, input_rows_under(0, OY_TILE),
        input_columns_under(0, OX_TILE));
    fetch_weights(&l1[WEIGHTS + weights_turn], 0);

    /* Output channels, 4 at a time; the last 2. */
    for (int32_t k = 0; k < OUT_CHANNELS; k += K_TILE) {
        const int32_t k_end = match_min(k + K_TILE, OUT_CHANNELS);
        position_t next_k = {.k = k};
        const bool more_k = advance_k(&next_k);

        /* The next block of the weights comes in while this one is used. */
        MATCH_TRY(match_on_cluster_wait(&l1[WEIGHTS + weights_turn]));
        const uint8_t *const weights = l1[WEIGHTS + weights_turn].data;
        weights_turn ^= 1;
        if (more_k) {
            fetch_weights(&l1[WEIGHTS + weights_turn], next_k.k / K_TILE);
        }

        /* Output rows, 3 at a time. */
        for (int32_t oy = 0; oy < OUT_HEIGHT; oy += OY_TILE) {
            /* Output columns, 5 at a time; the last 3. */
            for (int32_t ox = 0; ox < OUT_WIDTH; ox += OX_TILE) {
                const int32_t ox_end = match_min(ox + OX_TILE, OUT_WIDTH);
                const match_span_t input_rows = input_rows_under(oy, oy + OY_TILE);
                const match_span_t input_columns = input_columns_under(ox, ox_end);
                const match_span_t output_rows = match_span(oy, oy + OY_TILE);
                const match_span_t output_columns = match_span(ox, ox_end);
                const match_span_t output_channels = match_span(k, k_end);
                position_t next_ox = {.k = k, .oy = oy, .ox = ox};
                const bool more_ox = advance_ox(&next_ox);

                /* The next block of the input comes in while this one is used. */
                MATCH_TRY(match_on_cluster_wait(&l1[INPUT + input_turn]));
                const uint8_t *const input = l1[INPUT + input_turn].data;
                input_turn ^= 1;
                if (more_ox) {
                    fetch_input(&l1[INPUT + input_turn], arguments->input,
                        input_rows_under(next_ox.oy, next_ox.oy + OY_TILE),
                        input_columns_under(next_ox.ox, match_min(next_ox.ox + OX_TILE, OUT_WIDTH)));
                }
                uint8_t *const output = l1[OUTPUT + output_turn].data;

                tile.input = input;
                tile.weights = weights;
                tile.parameters = weights + REQUANTIZATION_OFFSET;
                tile.output = output;
                tile.channels_out = output_channels.count;
                tile.input_height = input_rows.count;
                tile.input_width = input_columns.count;
                tile.input_row_stride = input_columns.count * IN_CHANNELS;
                tile.output_height = output_rows.count;
                tile.output_width = output_columns.count;
                tile.output_row_stride = output_columns.count * output_channels.count;
                tile.output_pixel_stride = output_channels.count;
                tile.pad_top = input_rows.pad_before;
                tile.pad_left = input_columns.pad_before;
                tile.pad_bottom = input_rows.pad_after;
                tile.pad_right = input_columns.pad_after;

                MATCH_TRY(match_on_cluster_wait(&l1[OUTPUT + output_turn]));

                MATCH_TRY(match_on_cluster_compute(match_pulp_conv2d, &tile));

                store_output(&l1[OUTPUT + output_turn], arguments->output, output_rows, output_columns,
                    output_channels);
                output_turn ^= 1;
            }
        }
    }

    return MATCH_OK;
}

static const match_on_cluster_layer_t layer = {
    .execute = execute,
    .bytes = block_bytes,
    .count = BLOCKS,
};

int32_t conv2d_streamed(const void *input, void *output)
{
    const arguments_t arguments = {
        .input = input,
        .output = output,
    };
    MATCH_TRACE_LAYER("conv2d_streamed", "conv2d");
    MATCH_DUMP_TENSOR("conv2d_streamed", "input", input, 216);
    MATCH_TRY(match_on_cluster_run(&layer, &arguments));
    MATCH_DUMP_TENSOR("conv2d_streamed", "output", output, 720);
    return MATCH_OK;
}

_Alignas(4) static const uint8_t constants[624] = {
    /* filter, output channels 0 to 3, input channels 0 to 2 */
    /* 0 */ 35, 2, 197, 38, 105, 0, 111, 199, 80, 206, 138, 147, 27, 120, 58, 43, 128, 228, 132, 172,
    80, 33, 11, 15, 91, 13, 136, 0,
    /* 1 */ 67, 58, 88, 204, 251, 236, 6, 37, 193, 172, 150, 92, 231, 135, 129, 29, 67, 226, 133, 10,
    148, 159, 130, 43, 245, 127, 78, 0,
    /* 2 */ 123, 225, 47, 96, 162, 20, 252, 56, 99, 115, 38, 87, 56, 88, 6, 146, 111, 8, 48, 52,
    227, 224, 207, 236, 219, 44, 18, 0,
    /* 3 */ 193, 210, 56, 99, 195, 186, 230, 73, 209, 24, 1, 214, 54, 31, 140, 189, 74, 96, 66, 228,
    212, 149, 224, 85, 148, 142, 43, 0,
    /* requantization, output channels 0 to 3, input channels 0 to 2 */
    /* 0 */ 153, 156, 77, 3, 0, 0, 0, 0, 43, 7, 0, 0, 20, 0, 0, 0, 33, 252, 255, 255,
    0, 0, 0, 0,
    /* 1 */ 130, 253, 134, 7, 0, 0, 0, 0, 106, 6, 0, 0, 20, 0, 0, 0, 126, 252, 255, 255,
    0, 0, 0, 0,
    /* 2 */ 115, 51, 88, 0, 0, 0, 0, 0, 185, 7, 0, 0, 20, 0, 0, 0, 133, 253, 255, 255,
    0, 0, 0, 0,
    /* 3 */ 176, 53, 191, 4, 0, 0, 0, 0, 102, 5, 0, 0, 20, 0, 0, 0, 133, 252, 255, 255,
    0, 0, 0, 0,
    /* filter, output channels 4 to 7, input channels 0 to 2 */
    /* 4 */ 214, 18, 166, 68, 141, 17, 20, 102, 204, 92, 243, 101, 231, 127, 178, 102, 44, 99, 75, 52,
    187, 114, 151, 31, 179, 66, 113, 0,
    /* 5 */ 140, 221, 34, 240, 249, 116, 217, 126, 26, 155, 2, 33, 178, 255, 140, 114, 132, 245, 67, 109,
    232, 236, 114, 30, 85, 65, 232, 0,
    /* 6 */ 255, 235, 7, 63, 54, 108, 109, 43, 119, 186, 73, 147, 110, 175, 157, 95, 131, 158, 234, 200,
    60, 161, 58, 120, 93, 149, 123, 0,
    /* 7 */ 83, 117, 220, 82, 186, 250, 120, 196, 237, 166, 4, 120, 211, 187, 100, 9, 40, 241, 222, 99,
    226, 77, 163, 108, 166, 110, 49, 0,
    /* requantization, output channels 4 to 7, input channels 0 to 2 */
    /* 4 */ 7, 231, 148, 6, 0, 0, 0, 0, 31, 6, 0, 0, 20, 0, 0, 0, 102, 252, 255, 255,
    0, 0, 0, 0,
    /* 5 */ 234, 157, 81, 6, 0, 0, 0, 0, 73, 6, 0, 0, 20, 0, 0, 0, 26, 253, 255, 255,
    0, 0, 0, 0,
    /* 6 */ 221, 180, 82, 3, 0, 0, 0, 0, 73, 7, 0, 0, 20, 0, 0, 0, 164, 254, 255, 255,
    0, 0, 0, 0,
    /* 7 */ 47, 28, 225, 6, 0, 0, 0, 0, 132, 4, 0, 0, 20, 0, 0, 0, 36, 254, 255, 255,
    0, 0, 0, 0,
    /* filter, output channels 8 to 9, input channels 0 to 2 */
    /* 8 */ 138, 80, 59, 207, 132, 151, 144, 254, 87, 174, 29, 0, 66, 166, 3, 31, 145, 38, 135, 109,
    56, 102, 109, 196, 216, 185, 238, 0,
    /* 9 */ 95, 119, 164, 99, 183, 185, 91, 13, 67, 15, 66, 194, 160, 159, 71, 79, 143, 15, 197, 189,
    181, 201, 77, 22, 244, 201, 243, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /* requantization, output channels 8 to 9, input channels 0 to 2 */
    /* 8 */ 69, 112, 163, 6, 0, 0, 0, 0, 140, 5, 0, 0, 20, 0, 0, 0, 41, 253, 255, 255,
    0, 0, 0, 0,
    /* 9 */ 187, 42, 232, 0, 0, 0, 0, 0, 136, 7, 0, 0, 20, 0, 0, 0, 206, 255, 255, 255,
    0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
};
