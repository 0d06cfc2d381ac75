#include "match_chip_memory.h"

#include "match_chip.h"

static match_stack_t scratchpad;
static match_stack_t main_memory;

void match_chip_memory_open(void)
{
    match_stack_reset(&scratchpad, match_chip_scratchpad_start, match_chip_scratchpad_end);
    match_stack_reset(&main_memory, match_chip_main_start, match_chip_main_end);
}

void *match_chip_alloc(uint32_t bytes)
{
    return match_stack_take(&scratchpad, bytes);
}

void match_chip_free(void *block)
{
    match_stack_give_back(&scratchpad, block);
}

void *match_chip_main_alloc(uint32_t bytes)
{
    return match_stack_take(&main_memory, bytes);
}

void match_chip_main_free(void *block)
{
    match_stack_give_back(&main_memory, block);
}
