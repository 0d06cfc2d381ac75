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

#include "pulp.h"
#include "match_pulp.h"
#include "match_dump.h"
#include "match_layer.h"
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

/* The blocks, in L1. */
typedef struct {
    uint8_t *input;
    uint8_t *addend;
    uint8_t *weights;
    uint8_t *output;
} buffers_t;

/* Attributes of the constants: where they are placed. */
#ifndef ADD_WHOLE_WEIGHTS
#define ADD_WHOLE_WEIGHTS
#endif

/* Requantization, packed in the order of fetch. */
static const uint8_t constants[24] ADD_WHOLE_WEIGHTS;

/* Starts the transfer of a block of the input. */
static void fetch_input(pulp_dma_t *transfer, uint8_t *block, const uint8_t *input)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = IN_HEIGHT * IN_WIDTH * CHANNELS,
    };
    const uint8_t *const first = input;
    MATCH_TRACE_FETCH(transfer, "input", "L1", first - input, &shape);
    pulp_dma_copy_in(transfer, block, first, &shape);
}

/* Starts the transfer of a block of the addend. */
static void fetch_addend(pulp_dma_t *transfer, uint8_t *block, const uint8_t *addend)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = IN_HEIGHT * IN_WIDTH * CHANNELS,
    };
    const uint8_t *const first = addend;
    MATCH_TRACE_FETCH(transfer, "addend", "L1", first - addend, &shape);
    pulp_dma_copy_in(transfer, block, first, &shape);
}

/* Starts the transfer of a block of the weights. */
static void fetch_weights(pulp_dma_t *transfer, uint8_t *block)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = WEIGHTS_BYTES};
    const uint8_t *const first = constants;
    MATCH_TRACE_FETCH(transfer, "weights", "L1", first - constants, &shape);
    pulp_dma_copy_in(transfer, block, first, &shape);
}

/* Starts the write-back of a block of the output. */
static void store_output(pulp_dma_t *transfer, const uint8_t *block, uint8_t *output)
{
    const match_copy_t shape = {
        .planes = 1,
        .rows = 1,
        .bytes = OUT_HEIGHT * OUT_WIDTH * CHANNELS,
    };
    uint8_t *const first = output;
    MATCH_TRACE_STORE(transfer, "output", "L1", first - output, &shape);
    pulp_dma_copy_out(transfer, block, first, &shape);
}

/* Waits for a transfer. */
static int32_t await(pulp_dma_t *transfer)
{
    MATCH_TRACE_WAIT(transfer);
    return pulp_dma_wait(transfer);
}

/* What may be under way. */
typedef struct {
    pulp_dma_t input;
    pulp_dma_t addend;
    pulp_dma_t weights;
    pulp_dma_t output;
} transfers_t;

/* All iterations. */
static int32_t iterate(const arguments_t *arguments, const buffers_t *l1, transfers_t *transfers)
{
    fetch_input(&transfers->input, l1->input, arguments->input);
    fetch_addend(&transfers->addend, l1->addend, arguments->addend);
    fetch_weights(&transfers->weights, l1->weights);
    MATCH_TRY(await(&transfers->input));
    MATCH_TRY(await(&transfers->addend));
    MATCH_TRY(await(&transfers->weights));

    const match_tile_t tile = {
        .input = l1->input,
        .addend = l1->addend,
        .parameters = l1->weights,
        .output = l1->output,
        .channels_in = CHANNELS,
        .channels_out = CHANNELS,
        .input_height = IN_HEIGHT,
        .input_width = IN_WIDTH,
        .input_row_stride = IN_WIDTH * CHANNELS,
        .input_pixel_stride = CHANNELS,
        .addend_row_stride = IN_WIDTH * CHANNELS,
        .addend_pixel_stride = CHANNELS,
        .output_height = OUT_HEIGHT,
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

    MATCH_TRACE_KERNEL(&tile);
    MATCH_TRY(pulp_cluster_run(match_pulp_add, &tile));
    MATCH_TRY(pulp_cluster_wait());

    store_output(&transfers->output, l1->output, arguments->output);

    return await(&transfers->output);
}

/* The layer, once its blocks are reserved; nothing is under way behind it, even if it fails. */
static int32_t execute(const arguments_t *arguments, const buffers_t *l1)
{
    transfers_t transfers = {0};
    const int32_t status = iterate(arguments, l1, &transfers);
    if (status != MATCH_OK) {
        (void)pulp_cluster_wait();
        (void)pulp_dma_wait(&transfers.input);
        (void)pulp_dma_wait(&transfers.addend);
        (void)pulp_dma_wait(&transfers.weights);
        (void)pulp_dma_wait(&transfers.output);
    }
    return status;
}

/* Reserves the blocks. */
static int32_t reserve(buffers_t *l1)
{
    l1->input = pulp_l1_alloc(INPUT_BYTES);
    l1->addend = pulp_l1_alloc(ADDEND_BYTES);
    l1->weights = pulp_l1_alloc(WEIGHTS_BYTES);
    l1->output = pulp_l1_alloc(OUTPUT_BYTES);
    const bool complete = l1->input != NULL && l1->addend != NULL && l1->weights != NULL && l1->output != NULL;
    return complete ? MATCH_OK : MATCH_ERROR_MEMORY;
}

/* Gives them back, those that could be reserved. */
static void release(const buffers_t *l1)
{
    pulp_l1_free(l1->output);
    pulp_l1_free(l1->weights);
    pulp_l1_free(l1->addend);
    pulp_l1_free(l1->input);
}

/* The layer as it runs on the module. */
static int32_t run(void *arguments)
{
    buffers_t l1;
    int32_t status = reserve(&l1);
    if (status == MATCH_OK) {
        status = execute(arguments, &l1);
    }
    release(&l1);
    return status;
}

int32_t add_whole(const void *input, const void *addend, void *output)
{
    arguments_t arguments = {
        .input = input,
        .addend = addend,
        .output = output,
    };
    MATCH_TRACE_LAYER("add_whole", "add");
    MATCH_DUMP_TENSOR("add_whole", "input", input, 96);
    MATCH_DUMP_TENSOR("add_whole", "addend", addend, 96);
    MATCH_TRY(pulp_cluster_offload(run, &arguments));
    MATCH_DUMP_TENSOR("add_whole", "output", output, 96);
    return MATCH_OK;
}

static const uint8_t constants[24] = {
    /* requantization */
    103, 3, 0, 0, 0, 0, 0, 0, 85, 152, 4, 0, 68, 17, 6, 0, 20, 0, 0, 0,
    0, 0, 0, 0,
};
