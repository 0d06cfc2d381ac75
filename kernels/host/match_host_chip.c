/* A chip on a PC. Its memories are arenas as small as the chip's, transfers are as late as they may be, and the core
 * computes what its module would. */
#include "match_chip.h"

#include <string.h>

#include "match_host_arena.h"
#include "match_host_dma.h"

enum { TRANSFERS = 64 };

static match_arena_t scratchpad;
static match_arena_t main_memory;
static match_host_dma_t transfers[TRANSFERS];

int32_t match_chip_open(void)
{
    memset(transfers, 0, sizeof transfers);
    int32_t status = match_arena_open(&scratchpad, MATCH_CHIP_SCRATCHPAD_BYTES, 4);
    return status == MATCH_OK ? match_arena_open(&main_memory, MATCH_CHIP_MAIN_BYTES, 4) : status;
}

void match_chip_close(void)
{
    match_arena_close(&main_memory);
    match_arena_close(&scratchpad);
}

void *match_chip_main_alloc(uint32_t bytes)
{
    return match_arena_alloc(&main_memory, bytes);
}

void match_chip_main_free(void *block)
{
    match_arena_free(&main_memory, block);
}

int32_t match_chip_offload(int32_t (*layer)(void *), void *arguments)
{
    return layer(arguments);
}

void *match_chip_alloc(uint32_t bytes)
{
    return match_arena_alloc(&scratchpad, bytes);
}

void match_chip_free(void *block)
{
    match_arena_free(&scratchpad, block);
}

/* One that is not outstanding; its number is `*transfer`. NULL when there is none: the wait reports that. */
static match_host_dma_t *next(match_chip_transfer_t *transfer)
{
    uint32_t index = 0;
    while (index < TRANSFERS && transfers[index].active) {
        index++;
    }
    *transfer = index + 1;
    return index < TRANSFERS ? &transfers[index] : NULL;
}

void match_chip_copy_in(match_chip_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    match_host_dma_t *started = next(transfer);
    if (started != NULL) {
        match_host_dma_in(started, local, external, shape);
        started->valid = match_arena_holds(&scratchpad, local, match_host_dma_local_extent(shape));
    }
}

void match_chip_copy_out(match_chip_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    match_host_dma_t *started = next(transfer);
    if (started != NULL) {
        match_host_dma_out(started, local, external, shape);
        started->valid = match_arena_holds(&scratchpad, local, match_host_dma_local_extent(shape));
    }
}

int32_t match_chip_wait_transfer(match_chip_transfer_t *transfer)
{
    match_host_dma_t none = {0};
    match_host_dma_t *started = *transfer - 1 < TRANSFERS ? &transfers[*transfer - 1] : &none;
    *transfer = 0;
    if (!started->active || !started->valid) {
        *started = none;
        return MATCH_ERROR_TRANSFER;
    }
    match_host_dma_complete(started);
    return MATCH_OK;
}

int32_t match_chip_start(match_kernel_t kernel, const match_tile_t *tile)
{
    kernel(tile);
    return MATCH_OK;
}

int32_t match_chip_wait(void)
{
    return MATCH_OK;
}
