/* The chip on a PC: memories are arenas that are as small as the chip's, and the MDMA is as late as it may be. */
#include "stm32h743.h"

#include "match_host_arena.h"

static match_arena_t dtcm;
static match_arena_t sram;

int32_t stm32h743_open(void)
{
    int32_t status = match_arena_open(&dtcm, STM32H743_DTCM_BYTES, 4);
    return status == MATCH_OK ? match_arena_open(&sram, STM32H743_SRAM_BYTES, 4) : status;
}

void stm32h743_close(void)
{
    match_arena_close(&sram);
    match_arena_close(&dtcm);
}

void *stm32h743_sram_alloc(uint32_t bytes)
{
    return match_arena_alloc(&sram, bytes);
}

void stm32h743_sram_free(void *block)
{
    match_arena_free(&sram, block);
}

int32_t stm32h743_offload(int32_t (*layer)(void *), void *arguments)
{
    return layer(arguments);
}

void *stm32h743_dtcm_alloc(uint32_t bytes)
{
    return match_arena_alloc(&dtcm, bytes);
}

void stm32h743_dtcm_free(void *block)
{
    match_arena_free(&dtcm, block);
}

void stm32h743_copy_in(stm32h743_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    match_host_dma_in(transfer, local, external, shape);
    transfer->valid = match_arena_holds(&dtcm, local, match_host_dma_local_extent(shape));
}

void stm32h743_copy_out(stm32h743_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    match_host_dma_out(transfer, local, external, shape);
    transfer->valid = match_arena_holds(&dtcm, local, match_host_dma_local_extent(shape));
}

int32_t stm32h743_wait_transfer(stm32h743_transfer_t *transfer)
{
    if (!transfer->active || !transfer->valid) {
        return MATCH_ERROR_TRANSFER;
    }
    match_host_dma_complete(transfer);
    return MATCH_OK;
}
