/* The chip itself. The linker script gives the regions of both memories and keeps the stack in DTCM. */
#include "stm32h743.h"

#include <stddef.h>

enum { CACHE_WAYS = 4, CACHE_SETS = 128, LINE_SHIFT = 5, WAY_SHIFT = 30 };

extern uint8_t dtcm_start[], dtcm_end[], sram_start[], sram_end[];

static uint8_t *dtcm_top = dtcm_start;
static uint8_t *sram_top = sram_start;

int32_t stm32h743_open(void)
{
    mdma_open();
    return MATCH_OK;
}

void stm32h743_close(void)
{
    dtcm_top = dtcm_start;
    sram_top = sram_start;
}

static void *take(uint8_t **top, const uint8_t *end, uint32_t bytes)
{
    uint32_t whole = (bytes + 3) / 4 * 4;
    uint8_t *block = *top;
    if (whole < bytes || whole > (uint32_t)(end - block)) {
        return NULL;
    }
    *top += whole;
    return block;
}

void *stm32h743_sram_alloc(uint32_t bytes)
{
    return take(&sram_top, sram_end, bytes);
}

void stm32h743_sram_free(void *block)
{
    sram_top = block != NULL ? block : sram_top;
}

void *stm32h743_dtcm_alloc(uint32_t bytes)
{
    return take(&dtcm_top, dtcm_end, bytes);
}

void stm32h743_dtcm_free(void *block)
{
    dtcm_top = block != NULL ? block : dtcm_top;
}

static void empty_cache(void)
{
    volatile uint32_t *clean_invalidate = (volatile uint32_t *)0xe000ef74; /* DCCISW, by set and way */
    __asm volatile("dsb" ::: "memory");
    for (uint32_t line = 0; line < CACHE_WAYS * CACHE_SETS; line++) {
        *clean_invalidate = line / CACHE_SETS << WAY_SHIFT | line % CACHE_SETS << LINE_SHIFT;
    }
    __asm volatile("dsb\n\tisb" ::: "memory");
}

/* Inside a layer the core reads and writes DTCM alone: what it wrote to AXI SRAM before must get there first, and what
 * the MDMA writes must not be hidden by older lines afterwards. */
int32_t stm32h743_offload(int32_t (*layer)(void *), void *arguments)
{
    empty_cache();
    int32_t status = layer(arguments);
    empty_cache();
    return status;
}

void stm32h743_copy_in(stm32h743_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    mdma_start(transfer, local, external, shape, MDMA_TO_TCM);
}

void stm32h743_copy_out(stm32h743_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    mdma_start(transfer, local, external, shape, MDMA_FROM_TCM);
}

int32_t stm32h743_wait_transfer(stm32h743_transfer_t *transfer)
{
    return mdma_wait(transfer) == 0 ? MATCH_OK : MATCH_ERROR_TRANSFER;
}
