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

#include "mock.h"
#include "mock_external.h"
#include "match_dump.h"
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

/* The blocks, in L2. */
typedef struct {
    uint8_t *input[2];
    uint8_t *addend[2];
    uint8_t *output[2];
} l2_buffers_t;

/* An iteration of the loops of L2: where its tile starts. */
typedef struct {
    int32_t oy0;
} l2_position_t;

/* The blocks, in L1. */
typedef struct {
    uint8_t *input[2];
    uint8_t *addend;
    uint8_t *weights;
    uint8_t *output;
} l1_buffers_t;

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
static void fetch_input_l1(mock_transfer_t *transfer, uint8_t *block, const part_t *part, match_span_t rows)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = rows.count * IN_WIDTH * CHANNELS,
    };
    const uint8_t *const first = part->input + (rows.first - part->input_rows.first) * IN_WIDTH * CHANNELS;
    MATCH_TRACE_FETCH(transfer, "input", "L1", first - part->input, &shape);
    mock_copy_in(transfer, block, first, &shape);
}

/* Starts the transfer of a block of the addend into L1. */
static void fetch_addend_l1(mock_transfer_t *transfer, uint8_t *block, const part_t *part, match_span_t rows)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = rows.count * IN_WIDTH * CHANNELS,
    };
    const uint8_t *const first = part->addend + (rows.first - part->addend_rows.first) * IN_WIDTH * CHANNELS;
    MATCH_TRACE_FETCH(transfer, "addend", "L1", first - part->addend, &shape);
    mock_copy_in(transfer, block, first, &shape);
}

/* Starts the transfer of a block of the weights into L1. */
static void fetch_weights_l1(mock_transfer_t *transfer, uint8_t *block, const part_t *part)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = WEIGHTS_BYTES};
    const uint8_t *const first = part->weights;
    MATCH_TRACE_FETCH(transfer, "weights", "L1", first - part->weights, &shape);
    mock_copy_in(transfer, block, first, &shape);
}

/* Starts the write-back of a block of the output in L1. */
static void store_output_l1(mock_transfer_t *transfer, const uint8_t *block, const part_t *part, match_span_t rows)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = rows.count * OUT_WIDTH * CHANNELS,
    };
    uint8_t *const first = part->output + (rows.first - part->output_rows.first) * OUT_WIDTH * CHANNELS;
    MATCH_TRACE_STORE(transfer, "output", "L1", first - part->output, &shape);
    mock_copy_out(transfer, block, first, &shape);
}

/* Waits for a transfer. */
static int32_t await_l1(mock_transfer_t *transfer)
{
    MATCH_TRACE_WAIT(transfer);
    return mock_wait_transfer(transfer);
}

/* Moves on to the next iteration of the loops down to oy1; false behind the last one. */
static bool advance_oy1(l1_position_t *at, const part_t *part)
{
    at->oy1 += OY1_TILE;
    return at->oy1 < part->oy_end;
}

/* What may be under way into and out of L1. */
typedef struct {
    mock_transfer_t input;
    mock_transfer_t addend;
    mock_transfer_t weights;
    mock_transfer_t output;
} l1_transfers_t;

/* All iterations. */
static int32_t iterate_l1(const part_t *part, const l1_buffers_t *l1, l1_transfers_t *transfers)
{
    int32_t input_turn = 0;
    bool output_pending = false;

    fetch_input_l1(&transfers->input, l1->input[input_turn], part, match_span(part->oy, part->oy + OY1_TILE));
    fetch_weights_l1(&transfers->weights, l1->weights, part);
    MATCH_TRY(await_l1(&transfers->weights));

    /* Output rows, 2 at a time. */
    for (int32_t oy1 = part->oy; oy1 < part->oy_end; oy1 += OY1_TILE) {
        const match_span_t input_rows = match_span(oy1, oy1 + OY1_TILE);
        const match_span_t addend_rows = match_span(oy1, oy1 + OY1_TILE);
        const match_span_t output_rows = match_span(oy1, oy1 + OY1_TILE);
        l1_position_t next_oy1 = {.oy1 = oy1};
        const bool more_oy1 = advance_oy1(&next_oy1, part);

        /* The next block of the input comes in while this one is used. */
        MATCH_TRY(await_l1(&transfers->input));
        const uint8_t *const input = l1->input[input_turn];
        input_turn ^= 1;
        if (more_oy1) {
            fetch_input_l1(&transfers->input, l1->input[input_turn], part,
                match_span(next_oy1.oy1, next_oy1.oy1 + OY1_TILE));
        }

        fetch_addend_l1(&transfers->addend, l1->addend, part, addend_rows);
        MATCH_TRY(await_l1(&transfers->addend));

        const match_tile_t tile = {
            .input = input,
            .addend = l1->addend,
            .parameters = l1->weights,
            .output = l1->output,
            .channels_in = CHANNELS,
            .channels_out = CHANNELS,
            .input_height = input_rows.count,
            .input_width = IN_WIDTH,
            .input_row_stride = IN_WIDTH * CHANNELS,
            .input_pixel_stride = CHANNELS,
            .addend_row_stride = IN_WIDTH * CHANNELS,
            .addend_pixel_stride = CHANNELS,
            .output_height = output_rows.count,
            .output_width = OUT_WIDTH,
            .output_row_stride = OUT_WIDTH * CHANNELS,
            .output_pixel_stride = CHANNELS,
            .clip_low = 3,
            .clip_high = 250,
            /* None of these: named, or the compiler would clear the whole first. */
            .weights = NULL, .sums_in = NULL, .sums_out = NULL, .scratch = NULL, .filter_height = 0,
            .filter_width = 0, .stride_y = 0, .stride_x = 0, .dilation_y = 0, .dilation_x = 0, .pad_top = 0,
            .pad_left = 0, .pad_bottom = 0, .pad_right = 0, .pad_value = 0, .negative_step = 0, .shift = 0,
            .exceptions = 0, .input_channel_stride = 0, .addend_channel_stride = 0, .output_channel_stride = 0,
            .groups = 0,
        };

        if (output_pending) {
            MATCH_TRY(await_l1(&transfers->output));
            output_pending = false;
        }

        MATCH_TRACE_KERNEL(&tile);
        MATCH_TRY(mock_start(mock_add, &tile));
        MATCH_TRY(mock_wait_compute());

        store_output_l1(&transfers->output, l1->output, part, output_rows);
        output_pending = true;
    }

    return await_l1(&transfers->output);
}

/* The part of the layer whose blocks are in L2; nothing is under way behind it, even if it fails. */
static int32_t execute_part(const part_t *part, const l1_buffers_t *l1)
{
    l1_transfers_t transfers = {0};
    const int32_t status = iterate_l1(part, l1, &transfers);
    if (status != MATCH_OK) {
        (void)mock_wait_compute();
        (void)mock_wait_transfer(&transfers.input);
        (void)mock_wait_transfer(&transfers.addend);
        (void)mock_wait_transfer(&transfers.weights);
        (void)mock_wait_transfer(&transfers.output);
    }
    return status;
}

/* Starts the transfer of a block of the input into L2. */
static void fetch_input_l2(mock_external_transfer_t *transfer, uint8_t *block, const uint8_t *input, match_span_t rows)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = rows.count * IN_WIDTH * CHANNELS,
    };
    const uint8_t *const first = input + rows.first * IN_WIDTH * CHANNELS;
    MATCH_TRACE_FETCH(transfer, "input", "L2", first - input, &shape);
    mock_external_copy_in(transfer, block, first, &shape);
}

/* Starts the transfer of a block of the addend into L2. */
static void fetch_addend_l2(mock_external_transfer_t *transfer, uint8_t *block, const uint8_t *addend,
    match_span_t rows)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = rows.count * IN_WIDTH * CHANNELS,
    };
    const uint8_t *const first = addend + rows.first * IN_WIDTH * CHANNELS;
    MATCH_TRACE_FETCH(transfer, "addend", "L2", first - addend, &shape);
    mock_external_copy_in(transfer, block, first, &shape);
}

/* Starts the write-back of a block of the output in L2. */
static void store_output_l2(mock_external_transfer_t *transfer, const uint8_t *block, uint8_t *output,
    match_span_t rows)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = rows.count * OUT_WIDTH * CHANNELS,
    };
    uint8_t *const first = output + rows.first * OUT_WIDTH * CHANNELS;
    MATCH_TRACE_STORE(transfer, "output", "L2", first - output, &shape);
    mock_external_copy_out(transfer, block, first, &shape);
}

/* Waits for a transfer. */
static int32_t await_l2(mock_external_transfer_t *transfer)
{
    MATCH_TRACE_WAIT(transfer);
    return mock_external_wait(transfer);
}

/* Moves on to the next iteration of the loops down to oy0; false behind the last one. */
static bool advance_oy0(l2_position_t *at)
{
    at->oy0 += OY0_TILE;
    return at->oy0 < OUT_HEIGHT;
}

/* What may be under way into and out of L2. */
typedef struct {
    mock_external_transfer_t input;
    mock_external_transfer_t addend;
    mock_external_transfer_t output[2];
} l2_transfers_t;

/* All iterations. */
static int32_t iterate_l2(const arguments_t *arguments, const l1_buffers_t *l1, l2_transfers_t *transfers)
{
    const l2_buffers_t l2 = {
        .input = {arguments->blocks, arguments->blocks + 192},
        .addend = {arguments->blocks + 384, arguments->blocks + 576},
        .output = {arguments->blocks + 768, arguments->blocks + 960},
    };
    int32_t input_turn = 0;
    int32_t addend_turn = 0;
    int32_t output_turn = 0;
    bool output_pending[2] = {false, false};

    fetch_input_l2(&transfers->input, l2.input[input_turn], arguments->input, match_span(0, OY0_TILE));
    fetch_addend_l2(&transfers->addend, l2.addend[addend_turn], arguments->addend, match_span(0, OY0_TILE));

    /* Output rows, 4 at a time. */
    for (int32_t oy0 = 0; oy0 < OUT_HEIGHT; oy0 += OY0_TILE) {
        const match_span_t input_rows = match_span(oy0, oy0 + OY0_TILE);
        const match_span_t addend_rows = match_span(oy0, oy0 + OY0_TILE);
        const match_span_t output_rows = match_span(oy0, oy0 + OY0_TILE);
        l2_position_t next_oy0 = {.oy0 = oy0};
        const bool more_oy0 = advance_oy0(&next_oy0);

        /* The next block of the input comes in while this one is used. */
        MATCH_TRY(await_l2(&transfers->input));
        const uint8_t *const input = l2.input[input_turn];
        input_turn ^= 1;
        if (more_oy0) {
            fetch_input_l2(&transfers->input, l2.input[input_turn], arguments->input,
                match_span(next_oy0.oy0, next_oy0.oy0 + OY0_TILE));
        }

        /* The next block of the addend comes in while this one is used. */
        MATCH_TRY(await_l2(&transfers->addend));
        const uint8_t *const addend = l2.addend[addend_turn];
        addend_turn ^= 1;
        if (more_oy0) {
            fetch_addend_l2(&transfers->addend, l2.addend[addend_turn], arguments->addend,
                match_span(next_oy0.oy0, next_oy0.oy0 + OY0_TILE));
        }
        uint8_t *const output = l2.output[output_turn];

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

        if (output_pending[output_turn]) {
            MATCH_TRY(await_l2(&transfers->output[output_turn]));
            output_pending[output_turn] = false;
        }

        MATCH_TRY(execute_part(&part, l1));

        store_output_l2(&transfers->output[output_turn], l2.output[output_turn], arguments->output, output_rows);
        output_pending[output_turn] = true;
        output_turn ^= 1;
    }

    MATCH_TRY(await_l2(&transfers->output[output_turn]));
    return await_l2(&transfers->output[output_turn ^ 1]);
}

/* The layer, once its blocks are reserved; nothing is under way behind it, even if it fails. */
static int32_t execute(const arguments_t *arguments, const l1_buffers_t *l1)
{
    l2_transfers_t transfers = {0};
    const int32_t status = iterate_l2(arguments, l1, &transfers);
    if (status != MATCH_OK) {
        (void)mock_external_wait(&transfers.input);
        (void)mock_external_wait(&transfers.addend);
        (void)mock_external_wait(&transfers.output[0]);
        (void)mock_external_wait(&transfers.output[1]);
    }
    return status;
}

/* Reserves the blocks. */
static int32_t reserve(l1_buffers_t *l1)
{
    l1->input[0] = mock_alloc(INPUT_BYTES);
    l1->input[1] = mock_alloc(INPUT_BYTES);
    l1->addend = mock_alloc(ADDEND_BYTES);
    l1->weights = mock_alloc(WEIGHTS_BYTES);
    l1->output = mock_alloc(OUTPUT_BYTES);
    const bool complete = l1->input[0] != NULL && l1->input[1] != NULL && l1->addend != NULL && l1->weights != NULL
        && l1->output != NULL;
    return complete ? MATCH_OK : MATCH_ERROR_MEMORY;
}

/* Gives them back, those that could be reserved. */
static void release(const l1_buffers_t *l1)
{
    mock_free(l1->output);
    mock_free(l1->weights);
    mock_free(l1->addend);
    mock_free(l1->input[1]);
    mock_free(l1->input[0]);
}

/* The layer as it runs on the module. */
static int32_t run(void *arguments)
{
    l1_buffers_t l1;
    int32_t status = reserve(&l1);
    if (status == MATCH_OK) {
        status = execute(arguments, &l1);
    }
    release(&l1);
    return status;
}

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
    MATCH_DUMP_TENSOR("add_two_memories", "input", input, 576);
    MATCH_DUMP_TENSOR("add_two_memories", "addend", addend, 576);
    MATCH_TRY(mock_offload(run, &arguments));
    MATCH_DUMP_TENSOR("add_two_memories", "output", output, 576);
    return MATCH_OK;
}
