/* A chip without a scratchpad on a PC: RAM of exactly MATCH_CORE_RAM_BYTES. */
#include "match_core.h"

#include "match_host_arena.h"

enum { ALIGNMENT = 8 };

static match_arena_t ram;

int32_t match_core_open(void)
{
    return match_arena_open(&ram, MATCH_CORE_RAM_BYTES, ALIGNMENT);
}

void match_core_close(void)
{
    match_arena_close(&ram);
}

void *match_core_alloc(uint32_t bytes)
{
    return match_arena_alloc(&ram, bytes);
}

void match_core_free(void *block)
{
    match_arena_free(&ram, block);
}
