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

#include "mock.h"
#include "mock_external.h"
#include "match_dump.h"
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

/* The blocks, in L2. */
typedef struct {
    uint8_t *weights[2];
} l2_buffers_t;

/* An iteration of the loops of L2: where its tile starts. */
typedef struct {
    int32_t k;
} l2_position_t;

/* The blocks, in L1. */
typedef struct {
    uint8_t *input;
    uint8_t *weights[2];
    uint8_t *output;
    int32_t *sums;
} l1_buffers_t;

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
static void fetch_input_l1(mock_transfer_t *transfer, uint8_t *block, const part_t *part)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = IN_HEIGHT * IN_WIDTH * IN_CHANNELS,
    };
    const uint8_t *const first = part->input;
    MATCH_TRACE_FETCH(transfer, "input", "L1", first - part->input, &shape);
    mock_copy_in(transfer, block, first, &shape);
}

/* Starts the transfer of a block of the weights into L1. */
static void fetch_weights_l1(mock_transfer_t *transfer, uint8_t *block, const part_t *part, int32_t index)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = WEIGHTS_BYTES};
    const uint8_t *const first = part->weights + index * WEIGHTS_BYTES;
    MATCH_TRACE_FETCH(transfer, "weights", "L1", first - part->weights, &shape);
    mock_copy_in(transfer, block, first, &shape);
}

/* Starts the write-back of a block of the output in L1. */
static void store_output_l1(mock_transfer_t *transfer, const uint8_t *block, const part_t *part, match_span_t channels)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = OUT_HEIGHT * OUT_WIDTH,
        .bytes = channels.count,
        .external_row_stride = OUT_CHANNELS,
        .local_row_stride = channels.count,
    };
    uint8_t *const first = part->output + channels.first;
    MATCH_TRACE_STORE(transfer, "output", "L1", first - part->output, &shape);
    mock_copy_out(transfer, block, first, &shape);
}

/* Waits for a transfer. */
static int32_t await_l1(mock_transfer_t *transfer)
{
    MATCH_TRACE_WAIT(transfer);
    return mock_wait_transfer(transfer);
}

/* Moves on to the next iteration of the loops down to c; false behind the last one. */
static bool advance_c(l1_position_t *at)
{
    at->c += C_TILE;
    return at->c < IN_CHANNELS;
}

/* What may be under way into and out of L1. */
typedef struct {
    mock_transfer_t input;
    mock_transfer_t weights;
    mock_transfer_t output;
} l1_transfers_t;

/* All iterations. */
static int32_t iterate_l1(const part_t *part, const l1_buffers_t *l1, l1_transfers_t *transfers)
{
    int32_t weights_turn = 0;

    fetch_input_l1(&transfers->input, l1->input, part);
    fetch_weights_l1(&transfers->weights, l1->weights[weights_turn], part, 0);

    const match_span_t output_channels = match_span(part->k, part->k_end);
    MATCH_TRY(await_l1(&transfers->input));

    /* Input channels, 32 at a time. */
    for (int32_t c = 0; c < IN_CHANNELS; c += C_TILE) {
        l1_position_t next_c = {.c = c};
        const bool more_c = advance_c(&next_c);

        /* The next block of the weights comes in while this one is used. */
        MATCH_TRY(await_l1(&transfers->weights));
        const uint8_t *const weights = l1->weights[weights_turn];
        weights_turn ^= 1;
        if (more_c) {
            fetch_weights_l1(&transfers->weights, l1->weights[weights_turn], part, next_c.c / C_TILE);
        }

        const match_span_t tile_input_channels = match_span(c, c + C_TILE);
        int32_t *const sums = l1->sums;
        const match_tile_t tile = {
            .input = l1->input + tile_input_channels.first,
            .weights = weights,
            .parameters = weights + REQUANTIZATION_OFFSET,
            .output = l1->output,
            .sums_in = c > 0 ? sums : NULL,
            .sums_out = c + C_TILE < IN_CHANNELS ? sums : NULL,
            .channels_in = tile_input_channels.count,
            .channels_out = output_channels.count,
            .input_height = IN_HEIGHT,
            .input_width = IN_WIDTH,
            .input_row_stride = IN_WIDTH * IN_CHANNELS,
            .input_pixel_stride = IN_CHANNELS,
            .output_height = OUT_HEIGHT,
            .output_width = OUT_WIDTH,
            .output_row_stride = OUT_WIDTH * output_channels.count,
            .output_pixel_stride = output_channels.count,
            .clip_low = 3,
            .clip_high = 250,
            /* None of these: named, or the compiler would clear the whole first. */
            .addend = NULL, .scratch = NULL, .addend_row_stride = 0, .addend_pixel_stride = 0,
            .filter_height = 0, .filter_width = 0, .stride_y = 0, .stride_x = 0, .dilation_y = 0,
            .dilation_x = 0, .pad_top = 0, .pad_left = 0, .pad_bottom = 0, .pad_right = 0, .pad_value = 0,
            .negative_step = 0, .shift = 0, .exceptions = 0, .input_channel_stride = 0,
            .addend_channel_stride = 0, .output_channel_stride = 0, .groups = 0,
        };

        MATCH_TRACE_KERNEL(&tile);
        MATCH_TRY(mock_start(mock_dense, &tile));
        MATCH_TRY(mock_wait_compute());
    }

    store_output_l1(&transfers->output, l1->output, part, output_channels);

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
        (void)mock_wait_transfer(&transfers.weights);
        (void)mock_wait_transfer(&transfers.output);
    }
    return status;
}

/* Starts the transfer of a block of the weights into L2. */
static void fetch_weights_l2(mock_external_transfer_t *transfer, uint8_t *block, const uint8_t *constants,
    int32_t index)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = L2_WEIGHTS_BYTES};
    const uint8_t *const first = constants + index * L2_WEIGHTS_BYTES;
    MATCH_TRACE_FETCH(transfer, "weights", "L2", first - constants, &shape);
    mock_external_copy_in(transfer, block, first, &shape);
}

/* Waits for a transfer. */
static int32_t await_l2(mock_external_transfer_t *transfer)
{
    MATCH_TRACE_WAIT(transfer);
    return mock_external_wait(transfer);
}

/* Moves on to the next iteration of the loops down to k; false behind the last one. */
static bool advance_k(l2_position_t *at)
{
    at->k += K_TILE;
    return at->k < OUT_CHANNELS;
}

/* What may be under way into and out of L2. */
typedef struct {
    mock_external_transfer_t weights;
} l2_transfers_t;

/* All iterations. */
static int32_t iterate_l2(const arguments_t *arguments, const l1_buffers_t *l1, l2_transfers_t *transfers)
{
    const l2_buffers_t l2 = {
        .weights = {arguments->blocks, arguments->blocks + 2304},
    };
    int32_t weights_turn = 0;

    fetch_weights_l2(&transfers->weights, l2.weights[weights_turn], arguments->constants, 0);

    /* Output channels, 16 at a time; the last 8. */
    for (int32_t k = 0; k < OUT_CHANNELS; k += K_TILE) {
        const int32_t k_end = match_min(k + K_TILE, OUT_CHANNELS);
        l2_position_t next_k = {.k = k};
        const bool more_k = advance_k(&next_k);

        /* The next block of the weights comes in while this one is used. */
        MATCH_TRY(await_l2(&transfers->weights));
        const uint8_t *const weights = l2.weights[weights_turn];
        weights_turn ^= 1;
        if (more_k) {
            fetch_weights_l2(&transfers->weights, l2.weights[weights_turn], arguments->constants, next_k.k / K_TILE);
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

/* The layer, once its blocks are reserved; nothing is under way behind it, even if it fails. */
static int32_t execute(const arguments_t *arguments, const l1_buffers_t *l1)
{
    l2_transfers_t transfers = {0};
    const int32_t status = iterate_l2(arguments, l1, &transfers);
    if (status != MATCH_OK) {
        (void)mock_external_wait(&transfers.weights);
    }
    return status;
}

/* Reserves the blocks. */
static int32_t reserve(l1_buffers_t *l1)
{
    l1->input = mock_alloc(INPUT_BYTES);
    l1->weights[0] = mock_alloc(WEIGHTS_BYTES);
    l1->weights[1] = mock_alloc(WEIGHTS_BYTES);
    l1->output = mock_alloc(OUTPUT_BYTES);
    l1->sums = mock_alloc(SUMS_BYTES);
    const bool complete = l1->input != NULL && l1->weights[0] != NULL && l1->weights[1] != NULL && l1->output != NULL
        && l1->sums != NULL;
    return complete ? MATCH_OK : MATCH_ERROR_MEMORY;
}

/* Gives them back, those that could be reserved. */
static void release(const l1_buffers_t *l1)
{
    mock_free(l1->sums);
    mock_free(l1->output);
    mock_free(l1->weights[1]);
    mock_free(l1->weights[0]);
    mock_free(l1->input);
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
    MATCH_TRY(mock_offload(run, &arguments));
    MATCH_DUMP_TENSOR("dense_two_memories", "output", output, 40);
    return MATCH_OK;
}
