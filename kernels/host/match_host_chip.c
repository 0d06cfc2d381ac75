/* A chip on a PC. Its memories are arenas as small as the chip's, transfers are as late as they may be, and so is what its
 * modules compute: the core does that when it waits for them. */
#include "match_chip.h"

#include <string.h>

#include "match_host_arena.h"
#include "match_host_dma.h"

enum { TRANSFERS = 64 };

static match_arena_t scratchpad;
static match_arena_t main_memory;
static match_host_dma_t transfers[TRANSFERS];

/* A kernel that was started on a tile, and not waited for; none: NULL. */
typedef struct {
    match_kernel_t kernel;
    const match_tile_t *tile;
} started_t;

static started_t first;
static started_t second;

int32_t match_chip_open(void)
{
    memset(transfers, 0, sizeof transfers);
    first = second = (started_t){0};
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

/* MATCH_ERROR_COMPUTE if another one is waited for. */
static int32_t start(started_t *module, match_kernel_t kernel, const match_tile_t *tile)
{
    if (module->kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    *module = (started_t){kernel, tile};
    return MATCH_OK;
}

static int32_t finish(started_t *module)
{
    if (module->kernel != NULL) {
        module->kernel(module->tile);
    }
    *module = (started_t){0};
    return MATCH_OK;
}

int32_t match_chip_start(match_kernel_t kernel, const match_tile_t *tile)
{
    return start(&first, kernel, tile);
}

int32_t match_chip_wait(void)
{
    return finish(&first);
}

int32_t match_chip_start_second(match_kernel_t kernel, const match_tile_t *tile)
{
    return start(&second, kernel, tile);
}

int32_t match_chip_wait_second(void)
{
    return finish(&second);
}
