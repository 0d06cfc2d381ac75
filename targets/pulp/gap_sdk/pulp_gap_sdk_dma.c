/* Transfers on the SDK's DMA commands. */
#include <pmsis.h>

#include "match_pulp_chip.h"
#include "pulp_copy.h"

/* Place for the next command of a transfer, free again. */
static pi_cl_dma_cmd_t *next_command(match_pulp_dma_t *transfer)
{
    pi_cl_dma_cmd_t *command = &transfer->commands[transfer->count % PULP_DMA_COMMANDS];
    if (transfer->count >= PULP_DMA_COMMANDS) {
        pi_cl_dma_cmd_wait(command);
    }
    transfer->count += 1;
    return command;
}

/* `rows` pieces of `bytes`, dense in L1. */
static void rows_command(match_pulp_dma_t *transfer, uint32_t rows, uint32_t bytes, uint32_t stride,
                         pi_cl_dma_dir_e direction, uint32_t local, uint32_t external)
{
    pi_cl_dma_cmd_t *command = next_command(transfer);
    if (rows == 1 || stride == bytes) {
        pi_cl_dma_cmd(external, local, rows * bytes, direction, command);
    } else {
        pi_cl_dma_cmd_2d(external, local, rows * bytes, stride, bytes, direction, command);
    }
}

/* One command per plane, or per row where rows are apart in L1. */
static void start(match_pulp_dma_t *transfer, const void *local, const void *external, const match_copy_t *shape,
                  pi_cl_dma_dir_e direction)
{
    match_copy_t copy = match_pulp_copy_merged(shape);
    bool dense = match_pulp_copy_dense(&copy);
    uint32_t pieces = dense ? 1 : copy.rows;
    uint32_t rows = dense ? copy.rows : 1;
    transfer->count = 0;
    transfer->active = true;
    for (uint32_t plane = 0; plane < copy.planes; plane++) {
        uint32_t inside = (uint32_t)(uintptr_t)local + plane * copy.local_plane_stride;
        uint32_t outside = (uint32_t)(uintptr_t)external + plane * copy.external_plane_stride;
        for (uint32_t piece = 0; piece < pieces; piece++) {
            rows_command(transfer, rows, copy.bytes, copy.external_row_stride, direction,
                         inside + piece * copy.local_row_stride, outside + piece * copy.external_row_stride);
        }
    }
}

void match_pulp_dma_copy_in(match_pulp_dma_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    start(transfer, local, external, shape, PI_CL_DMA_DIR_EXT2LOC);
}

void match_pulp_dma_copy_out(match_pulp_dma_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    start(transfer, local, external, shape, PI_CL_DMA_DIR_LOC2EXT);
}

int32_t match_pulp_dma_wait(match_pulp_dma_t *transfer)
{
    if (!transfer->active) {
        return MATCH_ERROR_TRANSFER;
    }
    for (uint32_t i = 0; i < PULP_DMA_COMMANDS && i < transfer->count; i++) {
        pi_cl_dma_cmd_wait(&transfer->commands[i]);
    }
    transfer->active = false;
    return MATCH_OK;
}
