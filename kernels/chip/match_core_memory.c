/* RAM that is an array of the program, MATCH_CORE_RAM_BYTES long. */
#include "match_core.h"
#include "match_stack.h"

static _Alignas(MATCH_STACK_ALIGNMENT) uint8_t ram[MATCH_CORE_RAM_BYTES];
static match_stack_t blocks;

int32_t match_core_open(void)
{
    match_stack_reset(&blocks, ram, ram + sizeof ram);
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
