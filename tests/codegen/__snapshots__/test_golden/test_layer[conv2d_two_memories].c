/* streamed: conv2d 3x3, 13x9x5 to 13x9x20, on unit of chip.
 *
 * In L2:
 *   input: 2 x 316 bytes, for each k0, oy0
 *   weights: 2 x 744 bytes, for each k0
 *   output: 2 x 408 bytes, for each k0, oy0
 * In L1:
 *   input: 2 x 144 bytes, for each k0, oy0, ox, oy1
 *   weights: 2 x 248 bytes, for each k0, oy0, ox, oy1, k1
 *   output: 2 x 40 bytes, for each k0, oy0, ox, oy1, k1
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_dump.h"
#include "match_external.h"
#include "match_on_unit.h"
#include "match_layer.h"
#include "layers.h"
#include "match_trace.h"

/* The layer, in elements. */
enum {
    IN_CHANNELS = 5,
    OUT_CHANNELS = 20,
    IN_HEIGHT = 13,
    IN_WIDTH = 9,
    OUT_HEIGHT = 13,
    OUT_WIDTH = 9,
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
    K0_TILE = 9,
    OY0_TILE = 5,
    OX_TILE = 5,
    OY1_TILE = 2,
    K1_TILE = 4,
};

/* Blocks in L1, in bytes. */
enum {
    INPUT_BYTES = 144,
    WEIGHTS_BYTES = 248,
    OUTPUT_BYTES = 40,
    REQUANTIZATION_OFFSET = 184,
};

/* The tensors, in main memory or where it says, and the bytes of L2 that are for blocks. */
typedef struct {
    const uint8_t *input; /* in external memory */
    uint8_t *output; /* in external memory */
    const uint8_t *constants; /* in external memory */
    uint8_t *blocks;
} arguments_t;

/* The blocks, in L2, by number; those that take turns follow one another. */
enum {
    L2_INPUT = 0,
    L2_WEIGHTS = 2,
    L2_OUTPUT = 4,
    L2_BLOCKS = 6,
};

/* The blocks, in L1, by number; those that take turns follow one another. */
enum {
    INPUT = 0,
    WEIGHTS = 2,
    OUTPUT = 4,
    BLOCKS = 6,
};

/* Their bytes in L1, in this order. */
static const uint32_t block_bytes[BLOCKS] = {
    INPUT_BYTES, INPUT_BYTES,
    WEIGHTS_BYTES, WEIGHTS_BYTES,
    OUTPUT_BYTES, OUTPUT_BYTES,
};

/* An iteration of the loops of L2: where its tile starts. */
typedef struct {
    int32_t k0;
    int32_t oy0;
} l2_position_t;

/* An iteration of the loops of L1: where its tile starts. */
typedef struct {
    int32_t ox;
    int32_t oy1;
    int32_t k1;
} l1_position_t;

/* A part of the layer: its iterations, where its operands are, and what of the tensors lies there. */
typedef struct {
    int32_t k;
    int32_t k_end;
    int32_t oy;
    int32_t oy_end;
    const uint8_t *input;
    match_span_t input_rows;
    const uint8_t *weights;
    uint8_t *output;
    match_span_t output_rows;
    match_span_t output_channels;
} part_t;

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

/* Ranges of output channels that the weights are packed in, in front of channel k. */
static int32_t weights_before(int32_t k)
{
    return k / K0_TILE * 3 + (k % K0_TILE + K1_TILE - 1) / K1_TILE;
}

/* Starts the transfer of a block of the input into L1. */
static void fetch_input_l1(match_on_unit_block_t *block, const part_t *part, match_span_t rows, match_span_t columns)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = (uint32_t)rows.count,
        .bytes = (uint32_t)(columns.count * IN_CHANNELS),
        .external_row_stride = IN_WIDTH * IN_CHANNELS,
        .local_row_stride = (uint32_t)(columns.count * IN_CHANNELS),
    };
    const uint8_t *const from = part->input
        + ((rows.first - part->input_rows.first) * IN_WIDTH + columns.first) * IN_CHANNELS;
    MATCH_TRACE_FETCH(block, "input", "L1", from - part->input, match_copy_bytes(&shape));
    match_on_unit_copy_in(block, from, &shape);
}

/* Starts the transfer of a block of the weights into L1. */
static void fetch_weights_l1(match_on_unit_block_t *block, const part_t *part, int32_t index)
{
    const uint32_t bytes = WEIGHTS_BYTES;
    const uint8_t *const from = part->weights + index * WEIGHTS_BYTES;
    MATCH_TRACE_FETCH(block, "weights", "L1", from - part->weights, bytes);
    match_on_unit_load(block, from, bytes);
}

/* Starts the write-back of a block of the output in L1. */
static void store_output_l1(match_on_unit_block_t *block, const part_t *part, match_span_t rows, match_span_t columns,
    match_span_t channels)
{
    const match_copy_t shape = {
        .planes = (uint32_t)rows.count,
        .rows = (uint32_t)columns.count,
        .bytes = (uint32_t)channels.count,
        .external_plane_stride = (uint32_t)(OUT_WIDTH * part->output_channels.count),
        .external_row_stride = (uint32_t)part->output_channels.count,
        .local_plane_stride = (uint32_t)(columns.count * channels.count),
        .local_row_stride = (uint32_t)channels.count,
    };
    uint8_t *const to = part->output
        + ((rows.first - part->output_rows.first) * OUT_WIDTH + columns.first) * part->output_channels.count
        + (channels.first - part->output_channels.first);
    MATCH_TRACE_STORE(block, "output", "L1", to - part->output, match_copy_bytes(&shape));
    match_on_unit_copy_out(block, to, &shape);
}

/* Moves on to the next iteration of the loops down to oy1; false behind the last one. */
static bool advance_oy1(l1_position_t *at, const part_t *part)
{
    at->oy1 += OY1_TILE;
    if (at->oy1 < part->oy_end) {
        return true;
    }
    at->oy1 = part->oy;
    at->ox += OX_TILE;
    return at->ox < OUT_WIDTH;
}

/* Moves on to the next iteration of the loops down to k1; false behind the last one. */
static bool advance_k1(l1_position_t *at, const part_t *part)
{
    at->k1 += K1_TILE;
    if (at->k1 < part->k_end) {
        return true;
    }
    at->k1 = part->k;
    return advance_oy1(at, part);
}

/* The part of the layer whose blocks are in L2; if it succeeds, nothing is under way behind it. */
static int32_t execute_part(const part_t *part, match_on_unit_block_t *l1)
{
    match_tile_t tile;
    match_on_unit_clear(&tile);
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
    int32_t input_turn = 0;
    int32_t weights_turn = 0;
    int32_t output_turn = 0;

    fetch_input_l1(&l1[INPUT + input_turn], part, input_rows_under(part->oy, part->oy + OY1_TILE),
        input_columns_under(0, OX_TILE));
    fetch_weights_l1(&l1[WEIGHTS + weights_turn], part, 0);

    /* Output columns, 5 at a time; the last 4. */
    for (int32_t ox = 0; ox < OUT_WIDTH; ox += OX_TILE) {
        const int32_t ox_end = match_min(ox + OX_TILE, OUT_WIDTH);

        /* Output rows, 2 at a time; the last 1. */
        for (int32_t oy1 = part->oy; oy1 < part->oy_end; oy1 += OY1_TILE) {
            const int32_t oy1_end = match_min(oy1 + OY1_TILE, part->oy_end);
            const match_span_t input_rows = input_rows_under(oy1, oy1_end);
            const match_span_t input_columns = input_columns_under(ox, ox_end);
            l1_position_t next_oy1 = {.ox = ox, .oy1 = oy1};
            const bool more_oy1 = advance_oy1(&next_oy1, part);

            /* The next block of the input comes in while this one is used. */
            MATCH_TRY(match_on_unit_wait(&l1[INPUT + input_turn]));
            const uint8_t *const input = l1[INPUT + input_turn].data;
            input_turn ^= 1;
            if (more_oy1) {
                fetch_input_l1(&l1[INPUT + input_turn], part,
                    input_rows_under(next_oy1.oy1, match_min(next_oy1.oy1 + OY1_TILE, part->oy_end)),
                    input_columns_under(next_oy1.ox, match_min(next_oy1.ox + OX_TILE, OUT_WIDTH)));
            }

            /* Output channels, 4 at a time; the last 1 or 2. */
            for (int32_t k1 = part->k; k1 < part->k_end; k1 += K1_TILE) {
                const int32_t k1_end = match_min(k1 + K1_TILE, part->k_end);
                const match_span_t output_rows = match_span(oy1, oy1_end);
                const match_span_t output_columns = match_span(ox, ox_end);
                const match_span_t output_channels = match_span(k1, k1_end);
                l1_position_t next_k1 = {.ox = ox, .oy1 = oy1, .k1 = k1};
                const bool more_k1 = advance_k1(&next_k1, part);

                /* The next block of the weights comes in while this one is used. */
                MATCH_TRY(match_on_unit_wait(&l1[WEIGHTS + weights_turn]));
                const uint8_t *const weights = l1[WEIGHTS + weights_turn].data;
                weights_turn ^= 1;
                if (more_k1) {
                    fetch_weights_l1(&l1[WEIGHTS + weights_turn], part, (next_k1.k1 - part->k) / K1_TILE);
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

                MATCH_TRY(match_on_unit_wait(&l1[OUTPUT + output_turn]));

                MATCH_TRY(match_on_unit_compute(mock_conv2d, &tile));

                store_output_l1(&l1[OUTPUT + output_turn], part, output_rows, output_columns, output_channels);
                output_turn ^= 1;
            }
        }
    }

    return match_on_unit_settle(l1, BLOCKS, MATCH_OK);
}

/* Starts the transfer of a block of the input into L2. */
static void fetch_input_l2(match_external_block_t *block, const uint8_t *input, match_span_t rows)
{
    const uint32_t bytes = (uint32_t)(rows.count * IN_WIDTH * IN_CHANNELS);
    const uint8_t *const from = input + rows.first * IN_WIDTH * IN_CHANNELS;
    MATCH_TRACE_FETCH(block, "input", "L2", from - input, bytes);
    match_external_load(block, from, bytes);
}

/* Starts the transfer of a block of the weights into L2. */
static void fetch_weights_l2(match_external_block_t *block, const uint8_t *constants, int32_t k, int32_t k_end)
{
    const int32_t index = weights_before(k);
    const uint32_t bytes = (uint32_t)((weights_before(k_end) - index) * WEIGHTS_BYTES);
    const uint8_t *const from = constants + index * WEIGHTS_BYTES;
    MATCH_TRACE_FETCH(block, "weights", "L2", from - constants, bytes);
    match_external_load(block, from, bytes);
}

/* Starts the write-back of a block of the output in L2. */
static void store_output_l2(match_external_block_t *block, uint8_t *output, match_span_t rows, match_span_t channels)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = (uint32_t)(rows.count * OUT_WIDTH),
        .bytes = (uint32_t)channels.count,
        .external_row_stride = OUT_CHANNELS,
        .local_row_stride = (uint32_t)channels.count,
    };
    uint8_t *const to = output + rows.first * OUT_WIDTH * OUT_CHANNELS + channels.first;
    MATCH_TRACE_STORE(block, "output", "L2", to - output, match_copy_bytes(&shape));
    match_external_copy_out(block, to, &shape);
}

/* Moves on to the next iteration of the loops down to k0; false behind the last one. */
static bool advance_k0(l2_position_t *at)
{
    at->k0 += K0_TILE;
    return at->k0 < OUT_CHANNELS;
}

/* Moves on to the next iteration of the loops down to oy0; false behind the last one. */
static bool advance_oy0(l2_position_t *at)
{
    at->oy0 += OY0_TILE;
    if (at->oy0 < OUT_HEIGHT) {
        return true;
    }
    at->oy0 = 0;
    return advance_k0(at);
}

/* All iterations. */
static int32_t iterate_l2(const arguments_t *arguments, match_on_unit_block_t *l1, match_external_block_t *l2)
{
    int32_t input_turn = 0;
    int32_t weights_turn = 0;
    int32_t output_turn = 0;

    fetch_input_l2(&l2[L2_INPUT + input_turn], arguments->input, input_rows_under(0, OY0_TILE));
    fetch_weights_l2(&l2[L2_WEIGHTS + weights_turn], arguments->constants, 0, K0_TILE);

    /* Output channels, 9 at a time; the last 2. */
    for (int32_t k0 = 0; k0 < OUT_CHANNELS; k0 += K0_TILE) {
        const int32_t k0_end = match_min(k0 + K0_TILE, OUT_CHANNELS);
        l2_position_t next_k0 = {.k0 = k0};
        const bool more_k0 = advance_k0(&next_k0);

        /* The next block of the weights comes in while this one is used. */
        MATCH_TRY(match_external_wait(&l2[L2_WEIGHTS + weights_turn]));
        const uint8_t *const weights = l2[L2_WEIGHTS + weights_turn].data;
        weights_turn ^= 1;
        if (more_k0) {
            fetch_weights_l2(&l2[L2_WEIGHTS + weights_turn], arguments->constants, next_k0.k0,
                match_min(next_k0.k0 + K0_TILE, OUT_CHANNELS));
        }

        /* Output rows, 5 at a time; the last 3. */
        for (int32_t oy0 = 0; oy0 < OUT_HEIGHT; oy0 += OY0_TILE) {
            const int32_t oy0_end = match_min(oy0 + OY0_TILE, OUT_HEIGHT);
            const match_span_t input_rows = input_rows_under(oy0, oy0_end);
            const match_span_t output_rows = match_span(oy0, oy0_end);
            const match_span_t output_channels = match_span(k0, k0_end);
            l2_position_t next_oy0 = {.k0 = k0, .oy0 = oy0};
            const bool more_oy0 = advance_oy0(&next_oy0);

            /* The next block of the input comes in while this one is used. */
            MATCH_TRY(match_external_wait(&l2[L2_INPUT + input_turn]));
            const uint8_t *const input = l2[L2_INPUT + input_turn].data;
            input_turn ^= 1;
            if (more_oy0) {
                fetch_input_l2(&l2[L2_INPUT + input_turn], arguments->input,
                    input_rows_under(next_oy0.oy0, match_min(next_oy0.oy0 + OY0_TILE, OUT_HEIGHT)));
            }
            uint8_t *const output = l2[L2_OUTPUT + output_turn].data;

            const part_t part = {
                .k = k0,
                .k_end = k0_end,
                .oy = oy0,
                .oy_end = oy0_end,
                .input = input,
                .input_rows = input_rows,
                .weights = weights,
                .output = output,
                .output_rows = output_rows,
                .output_channels = output_channels,
            };

            MATCH_TRY(match_external_wait(&l2[L2_OUTPUT + output_turn]));

            MATCH_TRY(execute_part(&part, l1));

            store_output_l2(&l2[L2_OUTPUT + output_turn], arguments->output, output_rows, output_channels);
            output_turn ^= 1;
        }
    }

    return MATCH_OK;
}

/* The layer, once its blocks are reserved; nothing is under way in L2 behind it, even if it fails. */
static int32_t execute(const void *given, match_on_unit_block_t *l1)
{
    const arguments_t *const arguments = given;
    match_external_block_t l2[L2_BLOCKS] = {
        [L2_INPUT] = {.data = arguments->blocks},
        [L2_INPUT + 1] = {.data = arguments->blocks + 316},
        [L2_WEIGHTS] = {.data = arguments->blocks + 632},
        [L2_WEIGHTS + 1] = {.data = arguments->blocks + 1376},
        [L2_OUTPUT] = {.data = arguments->blocks + 2120},
        [L2_OUTPUT + 1] = {.data = arguments->blocks + 2528},
    };
    return match_external_settle(l2, L2_BLOCKS, iterate_l2(arguments, l1, l2));
}

static const match_on_unit_layer_t layer = {
    .execute = execute,
    .bytes = block_bytes,
    .count = BLOCKS,
};

int32_t conv2d_two_memories(const void *input, void *output)
{
    arguments_t arguments = {
        .input = input,
        .output = output,
        .blocks = conv2d_two_memories_blocks(),
    };
    MATCH_TRY(conv2d_two_memories_constants(&arguments.constants));
    MATCH_TRACE_LAYER("conv2d_two_memories", "conv2d");
    MATCH_DUMP_EXTERNAL(match_external_dump, "conv2d_two_memories", "input", input, 585);
    MATCH_TRY(match_on_unit_run(&layer, &arguments));
    MATCH_DUMP_EXTERNAL(match_external_dump, "conv2d_two_memories", "output", output, 2340);
    return MATCH_OK;
}
