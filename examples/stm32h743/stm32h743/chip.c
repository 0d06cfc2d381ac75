/* The chip itself. The linker script names the regions of both memories (match_chip_memory.h) and keeps the stack in
 * DTCM. */
#include "match_chip.h"
#include "match_chip_memory.h"
#include "mdma.h"

enum { CACHE_WAYS = 4, CACHE_SETS = 128, LINE_SHIFT = 5, WAY_SHIFT = 30 };

int32_t match_chip_open(void)
{
    match_chip_memory_open();
    match_mdma_open();
    return MATCH_OK;
}

void match_chip_close(void)
{
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
int32_t match_chip_offload(int32_t (*layer)(void *), void *arguments)
{
    empty_cache();
    int32_t status = layer(arguments);
    empty_cache();
    return status;
}

/* The core is its own module: the kernel is complete when it returns. */
int32_t match_chip_start(match_kernel_t kernel, const match_tile_t *tile)
{
    kernel(tile);
    return MATCH_OK;
}

int32_t match_chip_wait(void)
{
    return MATCH_OK;
}
