/* GAP9 on a PC. Everything asynchronous happens as late as the API's contract allows: transfers, cluster kernels and
 * NE16 are executed when they are waited for. */
#include "gap9.h"

#include <stdbool.h>
#include <string.h>

#include "match_host_arena.h"
#include "match_host_team.h"
#include "match_team.h"
#include "ne16_driver.h"
#include "ne16_model.h"

/* Where the chip has its L1. */
#define L1_ADDRESS 0x10000000u

typedef struct {
    match_kernel_t kernel;
    const match_tile_t *tile;
} started_t;

/* The chip: there is one. */
static struct {
    bool open;
    match_arena_t l1;
    match_arena_t l2;
    match_host_team_t *cluster;
    ne16_model_t ne16;
    int32_t transfers;
    started_t cluster_kernel;
    started_t ne16_kernel;
} chip;

/* ---- platform ---- */

int32_t gap9_open(void)
{
    if (chip.open) {
        return MATCH_ERROR_PLATFORM;
    }
    int32_t status = match_arena_open(&chip.l1, GAP9_L1_BYTES, GAP9_ALIGNMENT);
    if (status == MATCH_OK) {
        status = match_arena_open(&chip.l2, GAP9_L2_BYTES, GAP9_ALIGNMENT);
    }
    if (status == MATCH_OK) {
        chip.cluster = match_host_team_open(GAP9_CLUSTER_CORES);
        status = chip.cluster != NULL ? MATCH_OK : MATCH_ERROR_PLATFORM;
    }
    chip.open = true;
    if (status != MATCH_OK) {
        gap9_close();
        return status;
    }
    ne16_model_reset(&chip.ne16, chip.l1.memory, chip.l1.memory_bytes, L1_ADDRESS);
    return MATCH_OK;
}

void gap9_close(void)
{
    if (chip.open) {
        match_host_team_close(chip.cluster);
        match_arena_close(&chip.l2);
        match_arena_close(&chip.l1);
        memset(&chip, 0, sizeof chip);
    }
}

/* What a layer that reports success has left behind. */
static int32_t leftovers(uint32_t l1_blocks)
{
    int32_t status = MATCH_OK;
    if (chip.transfers != 0) {
        status = MATCH_ERROR_TRANSFER;
    } else if (chip.cluster_kernel.kernel != NULL || chip.ne16_kernel.kernel != NULL) {
        status = MATCH_ERROR_COMPUTE;
    } else if (match_arena_live(&chip.l1) != l1_blocks) {
        status = MATCH_ERROR_MEMORY;
    }
    return status;
}

int32_t gap9_cluster_offload(int32_t (*layer)(void *), void *args)
{
    if (!chip.open) {
        return MATCH_ERROR_PLATFORM;
    }
    uint32_t l1_blocks = match_arena_live(&chip.l1);
    int32_t status = layer(args);
    if (status == MATCH_OK) {
        status = leftovers(l1_blocks);
    }
    chip.transfers = 0;
    chip.cluster_kernel = (started_t){0};
    chip.ne16_kernel = (started_t){0};
    return status;
}

/* ---- memory ---- */

void *gap9_l1_alloc(uint32_t bytes)
{
    return chip.open ? match_arena_alloc(&chip.l1, bytes) : NULL;
}

void gap9_l1_free(void *block)
{
    match_arena_free(&chip.l1, block);
}

void *gap9_l2_alloc(uint32_t bytes)
{
    return chip.open ? match_arena_alloc(&chip.l2, bytes) : NULL;
}

void gap9_l2_free(void *block)
{
    match_arena_free(&chip.l2, block);
}

void gap9_dma_copy_in(gap9_dma_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    match_host_dma_in(transfer, local, external, shape);
    transfer->valid = match_arena_holds(&chip.l1, local, match_host_dma_local_extent(shape));
    chip.transfers += 1;
}

void gap9_dma_copy_out(gap9_dma_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    match_host_dma_out(transfer, local, external, shape);
    transfer->valid = match_arena_holds(&chip.l1, local, match_host_dma_local_extent(shape));
    chip.transfers += 1;
}

/* ---- synchronization ---- */

int32_t gap9_dma_wait(gap9_dma_t *transfer)
{
    if (!transfer->active) {
        return MATCH_ERROR_TRANSFER;
    }
    chip.transfers -= 1;
    if (!transfer->valid) {
        *transfer = (gap9_dma_t){0};
        return MATCH_ERROR_TRANSFER;
    }
    match_host_dma_complete(transfer);
    return MATCH_OK;
}

int32_t gap9_dma_pending(void)
{
    return chip.transfers;
}

int32_t gap9_cluster_wait(void)
{
    started_t started = chip.cluster_kernel;
    chip.cluster_kernel = (started_t){0};
    if (started.kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    return match_team_run(started.kernel, started.tile);
}

int32_t gap9_ne16_wait(void)
{
    started_t started = chip.ne16_kernel;
    chip.ne16_kernel = (started_t){0};
    if (started.kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    started.kernel(started.tile);
    ne16_wait(0);
    return ne16_model_status(&chip.ne16);
}

int32_t gap9_cluster_fork(int32_t cores, void (*fn)(void *), void *arg)
{
    if (!chip.open || cores < 1 || cores > GAP9_CLUSTER_CORES) {
        return MATCH_ERROR_PLATFORM;
    }
    match_host_team_fork(chip.cluster, cores, fn, arg);
    return MATCH_OK;
}

void gap9_cluster_barrier(void)
{
    match_host_team_barrier(chip.cluster);
}

int32_t gap9_core_id(void)
{
    return match_host_team_core();
}

int32_t gap9_cluster_cores(void)
{
    return chip.open ? match_host_team_cores(chip.cluster) : GAP9_CLUSTER_CORES;
}

/* ---- compute ---- */

static int32_t start(started_t *started, match_kernel_t kernel, const match_tile_t *tile)
{
    if (!chip.open || started->kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    *started = (started_t){kernel, tile};
    return MATCH_OK;
}

int32_t gap9_cluster_run(match_kernel_t kernel, const match_tile_t *tile)
{
    return start(&chip.cluster_kernel, kernel, tile);
}

int32_t gap9_ne16_start(match_kernel_t kernel, const match_tile_t *tile)
{
    return start(&chip.ne16_kernel, kernel, tile);
}

/* ---- what the NE16 driver sits on ---- */

uint32_t match_l1_address(const void *pointer)
{
    return L1_ADDRESS + (uint32_t)((uintptr_t)pointer - (uintptr_t)chip.l1.memory);
}

void ne16_write(uint32_t word, uint32_t value)
{
    ne16_model_write(&chip.ne16, word, value);
}

uint32_t ne16_read(uint32_t word)
{
    return ne16_model_read(&chip.ne16, word);
}

void ne16_wait_event(void)
{
    ne16_model_finish_job(&chip.ne16);
}
