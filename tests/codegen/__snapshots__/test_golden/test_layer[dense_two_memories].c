/* dense_two_memories: dense, 1x1x96 to 1x1x40, on unit of chip.
 *
 * In L2:
 *   weights: 2 x 2304 bytes, for each k
 * In L1:
 *   input: 96 bytes, for each k
 *   weights: 2 x 768 bytes, for each k, c
 *   output: 16 bytes, for each k
 *   partial sums: 64 bytes, beside the output
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
    IN_CHANNELS = 96,
    OUT_CHANNELS = 40,
    IN_HEIGHT = 1,
    IN_WIDTH = 1,
    OUT_HEIGHT = 1,
    OUT_WIDTH = 1,
};

/* Tiles, in iterations. */
enum {
    K_TILE = 16,
    C_TILE = 32,
};

/* Blocks in L2, in bytes. */
enum {
    L2_WEIGHTS_BYTES = 2304,
};

/* Blocks in L1, in bytes. */
enum {
    INPUT_BYTES = 96,
    WEIGHTS_BYTES = 768,
    OUTPUT_BYTES = 16,
    SUMS_BYTES = 64,
    REQUANTIZATION_OFFSET = 512,
};

/* The tensors, in main memory or where it says, and the bytes of L2 that are for blocks. */
typedef struct {
    const uint8_t *input;
    uint8_t *output;
    const uint8_t *constants; /* in external memory */
    uint8_t *blocks;
} arguments_t;

/* The blocks, in L2, by number; those that take turns follow one another. */
enum {
    L2_WEIGHTS = 0,
    L2_BLOCKS = 2,
};

/* The blocks, in L1, by number; those that take turns follow one another. */
enum {
    INPUT = 0,
    WEIGHTS = 1,
    OUTPUT = 3,
    SUMS = 4,
    BLOCKS = 5,
};

/* Their bytes in L1, in this order. */
static const uint32_t block_bytes[BLOCKS] = {
    INPUT_BYTES,
    WEIGHTS_BYTES, WEIGHTS_BYTES,
    OUTPUT_BYTES,
    SUMS_BYTES,
};

/* An iteration of the loops of L2: where its tile starts. */
typedef struct {
    int32_t k;
} l2_position_t;

/* An iteration of the loops of L1: where its tile starts. */
typedef struct {
    int32_t c;
} l1_position_t;

/* A part of the layer: its iterations, where its operands are, and what of the tensors lies there. */
typedef struct {
    int32_t k;
    int32_t k_end;
    const uint8_t *input;
    const uint8_t *weights;
    uint8_t *output;
} part_t;

/* Starts the transfer of a block of the input into L1. */
static void fetch_input_l1(match_on_unit_block_t *block, const part_t *part)
{
    const uint32_t bytes = IN_HEIGHT * IN_WIDTH * IN_CHANNELS;
    const uint8_t *const from = part->input;
    MATCH_TRACE_FETCH(block, "input", "L1", from - part->input, bytes);
    match_on_unit_load(block, from, bytes);
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
static void store_output_l1(match_on_unit_block_t *block, const part_t *part, match_span_t channels)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = OUT_HEIGHT * OUT_WIDTH,
        .bytes = (uint32_t)channels.count,
        .external_row_stride = OUT_CHANNELS,
        .local_row_stride = (uint32_t)channels.count,
    };
    uint8_t *const to = part->output + channels.first;
    MATCH_TRACE_STORE(block, "output", "L1", to - part->output, match_copy_bytes(&shape));
    match_on_unit_copy_out(block, to, &shape);
}

/* Moves on to the next iteration of the loops down to c; false behind the last one. */
static bool advance_c(l1_position_t *at)
{
    at->c += C_TILE;
    return at->c < IN_CHANNELS;
}

/* The part of the layer whose blocks are in L2; if it succeeds, nothing is under way behind it. */
static int32_t execute_part(const part_t *part, match_on_unit_block_t *l1)
{
    match_tile_t tile;
    match_on_unit_clear(&tile);
    tile.output = l1[OUTPUT].data;
    tile.input_height = IN_HEIGHT;
    tile.input_width = IN_WIDTH;
    tile.input_row_stride = IN_WIDTH * IN_CHANNELS;
    tile.input_pixel_stride = IN_CHANNELS;
    tile.output_height = OUT_HEIGHT;
    tile.output_width = OUT_WIDTH;
    tile.clip_low = 3;
    tile.clip_high = 250;
    int32_t weights_turn = 0;

    fetch_input_l1(&l1[INPUT], part);
    fetch_weights_l1(&l1[WEIGHTS + weights_turn], part, 0);

    const match_span_t output_channels = match_span(part->k, part->k_end);
    MATCH_TRY(match_on_unit_wait(&l1[INPUT]));

    /* Input channels, 32 at a time. */
    for (int32_t c = 0; c < IN_CHANNELS; c += C_TILE) {
        l1_position_t next_c = {.c = c};
        const bool more_c = advance_c(&next_c);

        /* The next block of the weights comes in while this one is used. */
        MATCH_TRY(match_on_unit_wait(&l1[WEIGHTS + weights_turn]));
        const uint8_t *const weights = l1[WEIGHTS + weights_turn].data;
        weights_turn ^= 1;
        if (more_c) {
            fetch_weights_l1(&l1[WEIGHTS + weights_turn], part, next_c.c / C_TILE);
        }

        const match_span_t tile_input_channels = match_span(c, c + C_TILE);
        int32_t *const sums = (int32_t *)(void *)l1[SUMS].data;
        tile.input = l1[INPUT].data + tile_input_channels.first;
        tile.weights = weights;
        tile.parameters = weights + REQUANTIZATION_OFFSET;
        tile.sums_in = c > 0 ? sums : NULL;
        tile.sums_out = c + C_TILE < IN_CHANNELS ? sums : NULL;
        tile.channels_in = tile_input_channels.count;
        tile.channels_out = output_channels.count;
        tile.output_row_stride = OUT_WIDTH * output_channels.count;
        tile.output_pixel_stride = output_channels.count;

        MATCH_TRY(match_on_unit_compute(mock_dense, &tile));
    }

    store_output_l1(&l1[OUTPUT], part, output_channels);

    return match_on_unit_settle(l1, BLOCKS, MATCH_OK);
}

/* Starts the transfer of a block of the weights into L2. */
static void fetch_weights_l2(match_external_block_t *block, const uint8_t *constants, int32_t index)
{
    const uint32_t bytes = L2_WEIGHTS_BYTES;
    const uint8_t *const from = constants + index * L2_WEIGHTS_BYTES;
    MATCH_TRACE_FETCH(block, "weights", "L2", from - constants, bytes);
    match_external_load(block, from, bytes);
}

/* Moves on to the next iteration of the loops down to k; false behind the last one. */
static bool advance_k(l2_position_t *at)
{
    at->k += K_TILE;
    return at->k < OUT_CHANNELS;
}

/* All iterations. */
static int32_t iterate_l2(const arguments_t *arguments, match_on_unit_block_t *l1, match_external_block_t *l2)
{
    int32_t weights_turn = 0;

    fetch_weights_l2(&l2[L2_WEIGHTS + weights_turn], arguments->constants, 0);

    /* Output channels, 16 at a time; the last 8. */
    for (int32_t k = 0; k < OUT_CHANNELS; k += K_TILE) {
        const int32_t k_end = match_min(k + K_TILE, OUT_CHANNELS);
        l2_position_t next_k = {.k = k};
        const bool more_k = advance_k(&next_k);

        /* The next block of the weights comes in while this one is used. */
        MATCH_TRY(match_external_wait(&l2[L2_WEIGHTS + weights_turn]));
        const uint8_t *const weights = l2[L2_WEIGHTS + weights_turn].data;
        weights_turn ^= 1;
        if (more_k) {
            fetch_weights_l2(&l2[L2_WEIGHTS + weights_turn], arguments->constants, next_k.k / K_TILE);
        }

        const part_t part = {
            .k = k,
            .k_end = k_end,
            .input = arguments->input,
            .weights = weights,
            .output = arguments->output,
        };

        MATCH_TRY(execute_part(&part, l1));
    }

    return MATCH_OK;
}

/* The layer, once its blocks are reserved; nothing is under way in L2 behind it, even if it fails. */
static int32_t execute(const void *given, match_on_unit_block_t *l1)
{
    const arguments_t *const arguments = given;
    match_external_block_t l2[L2_BLOCKS] = {
        [L2_WEIGHTS] = {.data = arguments->blocks},
        [L2_WEIGHTS + 1] = {.data = arguments->blocks + 2304},
    };
    return match_external_settle(l2, L2_BLOCKS, iterate_l2(arguments, l1, l2));
}

static const match_on_unit_layer_t layer = {
    .execute = execute,
    .bytes = block_bytes,
    .count = BLOCKS,
};

int32_t dense_two_memories(const void *input, void *output)
{
    arguments_t arguments = {
        .input = input,
        .output = output,
        .blocks = dense_two_memories_blocks(),
    };
    MATCH_TRY(dense_two_memories_constants(&arguments.constants));
    MATCH_TRACE_LAYER("dense_two_memories", "dense");
    MATCH_DUMP_TENSOR("dense_two_memories", "input", input, 96);
    MATCH_TRY(match_on_unit_run(&layer, &arguments));
    MATCH_DUMP_TENSOR("dense_two_memories", "output", output, 40);
    return MATCH_OK;
}
