/* Transfers on MCHAN. Each has a counter of its own, which all its commands add their bytes to. */
#include "match_pulp_chip.h"
#include "pulp_copy.h"
#include "pulp_open_cluster.h"
#include "pulp_open_registers.h"

static void command(uint32_t bytes, uint32_t options, const uint8_t *local, const uint8_t *external)
{
    match_pulp_open_write(PULP_OPEN_DMA_COMMAND, bytes | options | PULP_OPEN_DMA_INCREMENT | PULP_OPEN_DMA_EVENT);
    match_pulp_open_write(PULP_OPEN_DMA_COMMAND, (uint32_t)(uintptr_t)local);
    match_pulp_open_write(PULP_OPEN_DMA_COMMAND, (uint32_t)(uintptr_t)external);
}

/* `rows` pieces of `bytes`, dense in L1. */
static void rows_command(uint32_t rows, uint32_t bytes, uint32_t stride, uint32_t direction, const uint8_t *local,
                         const uint8_t *external)
{
    if (rows == 1 || stride == bytes) {
        command(rows * bytes, direction, local, external);
    } else {
        command(rows * bytes, direction | PULP_OPEN_DMA_2D, local, external);
        match_pulp_open_write(PULP_OPEN_DMA_COMMAND, bytes);
        match_pulp_open_write(PULP_OPEN_DMA_COMMAND, stride);
    }
}

/* One command per plane, or per row where rows are apart in L1. */
static void plane(const match_copy_t *shape, uint32_t direction, const uint8_t *local, const uint8_t *external)
{
    if (match_pulp_copy_dense(shape)) {
        rows_command(shape->rows, shape->bytes, shape->external_row_stride, direction, local, external);
        return;
    }
    for (uint32_t row = 0; row < shape->rows; row++) {
        command(shape->bytes, direction, local, external);
        local += shape->local_row_stride;
        external += shape->external_row_stride;
    }
}

static void start(match_pulp_dma_t *transfer, const uint8_t *local, const uint8_t *external, const match_copy_t *shape,
                  uint32_t direction)
{
    transfer->counter = match_pulp_open_read(PULP_OPEN_DMA_COMMAND);
    transfer->active = true;
    if (shape->planes == 1 && shape->rows == 1) { /* most are one piece */
        command(shape->bytes, direction, local, external);
        return;
    }
    match_copy_t copy = match_pulp_copy_merged(shape);
    for (uint32_t i = 0; i < copy.planes; i++) {
        plane(&copy, direction, local, external);
        local += copy.local_plane_stride;
        external += copy.external_plane_stride;
    }
}

void match_pulp_dma_copy_in(match_pulp_dma_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    start(transfer, local, external, shape, PULP_OPEN_DMA_TO_L1);
}

void match_pulp_dma_copy_out(match_pulp_dma_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    start(transfer, local, external, shape, 0);
}

int32_t match_pulp_dma_wait(match_pulp_dma_t *transfer)
{
    if (!transfer->active) {
        return MATCH_ERROR_TRANSFER;
    }
    uint32_t counter = 1u << transfer->counter;
    while ((match_pulp_open_read(PULP_OPEN_DMA_STATUS) & counter) != 0) {
        match_pulp_open_wait_event(PULP_OPEN_EVENT_DMA);
    }
    match_pulp_open_write(PULP_OPEN_DMA_STATUS, counter);
    transfer->active = false;
    return MATCH_OK;
}
