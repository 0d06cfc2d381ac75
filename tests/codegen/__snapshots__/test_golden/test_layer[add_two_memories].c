/* add_two_memories: add, 12x6x8 to 12x6x8, on unit of chip.
 *
 * In L2:
 *   input: 2 x 192 bytes, for each oy0
 *   addend: 2 x 192 bytes, for each oy0
 *   output: 2 x 192 bytes, for each oy0
 * In L1:
 *   input: 2 x 96 bytes, for each oy0, oy1
 *   addend: 96 bytes, for each oy0, oy1
 *   weights: 24 bytes, for each oy0
 *   output: 96 bytes, for each oy0, oy1
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
    CHANNELS = 8,
    IN_HEIGHT = 12,
    IN_WIDTH = 6,
    OUT_HEIGHT = 12,
    OUT_WIDTH = 6,
};

/* Tiles, in iterations. */
enum {
    OY0_TILE = 4,
    OY1_TILE = 2,
};

/* Blocks in L1, in bytes. */
enum {
    INPUT_BYTES = 96,
    ADDEND_BYTES = 96,
    WEIGHTS_BYTES = 24,
    OUTPUT_BYTES = 96,
};

/* The tensors, in main memory or where it says, and the bytes of L2 that are for blocks. */
typedef struct {
    const uint8_t *input; /* in external memory */
    const uint8_t *addend; /* in external memory */
    uint8_t *output; /* in external memory */
    const uint8_t *constants;
    uint8_t *blocks;
} arguments_t;

/* The blocks, in L2, by number; those that take turns follow one another. */
enum {
    L2_INPUT = 0,
    L2_ADDEND = 2,
    L2_OUTPUT = 4,
    L2_BLOCKS = 6,
};

/* The blocks, in L1, by number; those that take turns follow one another. */
enum {
    INPUT = 0,
    ADDEND = 2,
    WEIGHTS = 3,
    OUTPUT = 4,
    BLOCKS = 5,
};

/* Their bytes in L1, in this order. */
static const uint32_t block_bytes[BLOCKS] = {
    INPUT_BYTES, INPUT_BYTES,
    ADDEND_BYTES,
    WEIGHTS_BYTES,
    OUTPUT_BYTES,
};

/* An iteration of the loops of L2: where its tile starts. */
typedef struct {
    int32_t oy0;
} l2_position_t;

/* An iteration of the loops of L1: where its tile starts. */
typedef struct {
    int32_t oy1;
} l1_position_t;

/* A part of the layer: its iterations, where its operands are, and what of the tensors lies there. */
typedef struct {
    int32_t oy;
    int32_t oy_end;
    const uint8_t *input;
    match_span_t input_rows;
    const uint8_t *addend;
    match_span_t addend_rows;
    const uint8_t *weights;
    uint8_t *output;
    match_span_t output_rows;
} part_t;

/* Starts the transfer of a block of the input into L1. */
static void fetch_input_l1(match_on_unit_block_t *block, const part_t *part, match_span_t rows)
{
    const uint32_t bytes = (uint32_t)(rows.count * IN_WIDTH * CHANNELS);
    const uint8_t *const from = part->input + (rows.first - part->input_rows.first) * IN_WIDTH * CHANNELS;
    MATCH_TRACE_FETCH(block, "input", "L1", from - part->input, bytes);
    match_on_unit_load(block, from, bytes);
}

/* Starts the transfer of a block of the addend into L1. */
static void fetch_addend_l1(match_on_unit_block_t *block, const part_t *part, match_span_t rows)
{
    const uint32_t bytes = (uint32_t)(rows.count * IN_WIDTH * CHANNELS);
    const uint8_t *const from = part->addend + (rows.first - part->addend_rows.first) * IN_WIDTH * CHANNELS;
    MATCH_TRACE_FETCH(block, "addend", "L1", from - part->addend, bytes);
    match_on_unit_load(block, from, bytes);
}

/* Starts the transfer of a block of the weights into L1. */
static void fetch_weights_l1(match_on_unit_block_t *block, const part_t *part)
{
    const uint32_t bytes = WEIGHTS_BYTES;
    const uint8_t *const from = part->weights;
    MATCH_TRACE_FETCH(block, "weights", "L1", from - part->weights, bytes);
    match_on_unit_load(block, from, bytes);
}

/* Starts the write-back of a block of the output in L1. */
static void store_output_l1(match_on_unit_block_t *block, const part_t *part, match_span_t rows)
{
    const uint32_t bytes = (uint32_t)(rows.count * OUT_WIDTH * CHANNELS);
    uint8_t *const to = part->output + (rows.first - part->output_rows.first) * OUT_WIDTH * CHANNELS;
    MATCH_TRACE_STORE(block, "output", "L1", to - part->output, bytes);
    match_on_unit_store(block, to, bytes);
}

/* Moves on to the next iteration of the loops down to oy1; false behind the last one. */
static bool advance_oy1(l1_position_t *at, const part_t *part)
{
    at->oy1 += OY1_TILE;
    return at->oy1 < part->oy_end;
}

/* The part of the layer whose blocks are in L2; if it succeeds, nothing is under way behind it. */
static int32_t execute_part(const part_t *part, match_on_unit_block_t *l1)
{
    match_tile_t tile;
    match_on_unit_clear(&tile);
    tile.addend = l1[ADDEND].data;
    tile.parameters = l1[WEIGHTS].data;
    tile.output = l1[OUTPUT].data;
    tile.channels_in = CHANNELS;
    tile.channels_out = CHANNELS;
    tile.input_width = IN_WIDTH;
    tile.input_row_stride = IN_WIDTH * CHANNELS;
    tile.input_pixel_stride = CHANNELS;
    tile.addend_row_stride = IN_WIDTH * CHANNELS;
    tile.addend_pixel_stride = CHANNELS;
    tile.output_width = OUT_WIDTH;
    tile.output_row_stride = OUT_WIDTH * CHANNELS;
    tile.output_pixel_stride = CHANNELS;
    tile.clip_low = 3;
    tile.clip_high = 250;
    int32_t input_turn = 0;

    fetch_input_l1(&l1[INPUT + input_turn], part, match_span(part->oy, part->oy + OY1_TILE));
    fetch_weights_l1(&l1[WEIGHTS], part);
    MATCH_TRY(match_on_unit_wait(&l1[WEIGHTS]));

    /* Output rows, 2 at a time. */
    for (int32_t oy1 = part->oy; oy1 < part->oy_end; oy1 += OY1_TILE) {
        const match_span_t input_rows = match_span(oy1, oy1 + OY1_TILE);
        const match_span_t addend_rows = match_span(oy1, oy1 + OY1_TILE);
        const match_span_t output_rows = match_span(oy1, oy1 + OY1_TILE);
        l1_position_t next_oy1 = {.oy1 = oy1};
        const bool more_oy1 = advance_oy1(&next_oy1, part);

        /* The next block of the input comes in while this one is used. */
        MATCH_TRY(match_on_unit_wait(&l1[INPUT + input_turn]));
        const uint8_t *const input = l1[INPUT + input_turn].data;
        input_turn ^= 1;
        if (more_oy1) {
            fetch_input_l1(&l1[INPUT + input_turn], part, match_span(next_oy1.oy1, next_oy1.oy1 + OY1_TILE));
        }

        fetch_addend_l1(&l1[ADDEND], part, addend_rows);
        MATCH_TRY(match_on_unit_wait(&l1[ADDEND]));

        tile.input = input;
        tile.input_height = input_rows.count;
        tile.output_height = output_rows.count;

        MATCH_TRY(match_on_unit_wait(&l1[OUTPUT]));

        MATCH_TRY(match_on_unit_compute(mock_add, &tile));

        store_output_l1(&l1[OUTPUT], part, output_rows);
    }

    return match_on_unit_settle(l1, BLOCKS, MATCH_OK);
}

/* Starts the transfer of a block of the input into L2. */
static void fetch_input_l2(match_external_block_t *block, const uint8_t *input, match_span_t rows)
{
    const uint32_t bytes = (uint32_t)(rows.count * IN_WIDTH * CHANNELS);
    const uint8_t *const from = input + rows.first * IN_WIDTH * CHANNELS;
    MATCH_TRACE_FETCH(block, "input", "L2", from - input, bytes);
    match_external_load(block, from, bytes);
}

/* Starts the transfer of a block of the addend into L2. */
static void fetch_addend_l2(match_external_block_t *block, const uint8_t *addend, match_span_t rows)
{
    const uint32_t bytes = (uint32_t)(rows.count * IN_WIDTH * CHANNELS);
    const uint8_t *const from = addend + rows.first * IN_WIDTH * CHANNELS;
    MATCH_TRACE_FETCH(block, "addend", "L2", from - addend, bytes);
    match_external_load(block, from, bytes);
}

/* Starts the write-back of a block of the output in L2. */
static void store_output_l2(match_external_block_t *block, uint8_t *output, match_span_t rows)
{
    const uint32_t bytes = (uint32_t)(rows.count * OUT_WIDTH * CHANNELS);
    uint8_t *const to = output + rows.first * OUT_WIDTH * CHANNELS;
    MATCH_TRACE_STORE(block, "output", "L2", to - output, bytes);
    match_external_store(block, to, bytes);
}

/* Moves on to the next iteration of the loops down to oy0; false behind the last one. */
static bool advance_oy0(l2_position_t *at)
{
    at->oy0 += OY0_TILE;
    return at->oy0 < OUT_HEIGHT;
}

/* All iterations. */
static int32_t iterate_l2(const arguments_t *arguments, match_on_unit_block_t *l1, match_external_block_t *l2)
{
    int32_t input_turn = 0;
    int32_t addend_turn = 0;
    int32_t output_turn = 0;

    fetch_input_l2(&l2[L2_INPUT + input_turn], arguments->input, match_span(0, OY0_TILE));
    fetch_addend_l2(&l2[L2_ADDEND + addend_turn], arguments->addend, match_span(0, OY0_TILE));

    /* Output rows, 4 at a time. */
    for (int32_t oy0 = 0; oy0 < OUT_HEIGHT; oy0 += OY0_TILE) {
        const match_span_t input_rows = match_span(oy0, oy0 + OY0_TILE);
        const match_span_t addend_rows = match_span(oy0, oy0 + OY0_TILE);
        const match_span_t output_rows = match_span(oy0, oy0 + OY0_TILE);
        l2_position_t next_oy0 = {.oy0 = oy0};
        const bool more_oy0 = advance_oy0(&next_oy0);

        /* The next block of the input comes in while this one is used. */
        MATCH_TRY(match_external_wait(&l2[L2_INPUT + input_turn]));
        const uint8_t *const input = l2[L2_INPUT + input_turn].data;
        input_turn ^= 1;
        if (more_oy0) {
            fetch_input_l2(&l2[L2_INPUT + input_turn], arguments->input,
                match_span(next_oy0.oy0, next_oy0.oy0 + OY0_TILE));
        }

        /* The next block of the addend comes in while this one is used. */
        MATCH_TRY(match_external_wait(&l2[L2_ADDEND + addend_turn]));
        const uint8_t *const addend = l2[L2_ADDEND + addend_turn].data;
        addend_turn ^= 1;
        if (more_oy0) {
            fetch_addend_l2(&l2[L2_ADDEND + addend_turn], arguments->addend,
                match_span(next_oy0.oy0, next_oy0.oy0 + OY0_TILE));
        }
        uint8_t *const output = l2[L2_OUTPUT + output_turn].data;

        const part_t part = {
            .oy = oy0,
            .oy_end = oy0 + OY0_TILE,
            .input = input,
            .input_rows = input_rows,
            .addend = addend,
            .addend_rows = addend_rows,
            .weights = arguments->constants,
            .output = output,
            .output_rows = output_rows,
        };

        MATCH_TRY(match_external_wait(&l2[L2_OUTPUT + output_turn]));

        MATCH_TRY(execute_part(&part, l1));

        store_output_l2(&l2[L2_OUTPUT + output_turn], arguments->output, output_rows);
        output_turn ^= 1;
    }

    return MATCH_OK;
}

/* The layer, once its blocks are reserved; nothing is under way in L2 behind it, even if it fails. */
static int32_t execute(const void *given, match_on_unit_block_t *l1)
{
    const arguments_t *const arguments = given;
    match_external_block_t l2[L2_BLOCKS] = {
        [L2_INPUT] = {.data = arguments->blocks},
        [L2_INPUT + 1] = {.data = arguments->blocks + 192},
        [L2_ADDEND] = {.data = arguments->blocks + 384},
        [L2_ADDEND + 1] = {.data = arguments->blocks + 576},
        [L2_OUTPUT] = {.data = arguments->blocks + 768},
        [L2_OUTPUT + 1] = {.data = arguments->blocks + 960},
    };
    return match_external_settle(l2, L2_BLOCKS, iterate_l2(arguments, l1, l2));
}

static const match_on_unit_layer_t layer = {
    .execute = execute,
    .bytes = block_bytes,
    .count = BLOCKS,
};

int32_t add_two_memories(const void *input, const void *addend, void *output)
{
    arguments_t arguments = {
        .input = input,
        .addend = addend,
        .output = output,
        .blocks = add_two_memories_blocks(),
    };
    MATCH_TRY(add_two_memories_constants(&arguments.constants));
    MATCH_TRACE_LAYER("add_two_memories", "add");
    MATCH_DUMP_EXTERNAL(match_external_dump, "add_two_memories", "input", input, 576);
    MATCH_DUMP_EXTERNAL(match_external_dump, "add_two_memories", "addend", addend, 576);
    MATCH_TRY(match_on_unit_run(&layer, &arguments));
    MATCH_DUMP_EXTERNAL(match_external_dump, "add_two_memories", "output", output, 576);
    return MATCH_OK;
}
