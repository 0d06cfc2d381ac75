/* RAM that the linker script has from match_core_ram on, a multiple of MATCH_STACK_ALIGNMENT: MATCH_CORE_RAM_BYTES. */
#include "match_core.h"
#include "match_stack.h"

extern uint8_t match_core_ram[];

static match_stack_t blocks;

int32_t match_core_open(void)
{
    match_stack_reset(&blocks, match_core_ram, match_core_ram + MATCH_CORE_RAM_BYTES);
    return MATCH_OK;
}

void match_core_close(void)
{
}

void *match_core_alloc(uint32_t bytes)
{
    return match_stack_take(&blocks, bytes);
}

void match_core_free(void *block)
{
    match_stack_give_back(&blocks, block);
}
