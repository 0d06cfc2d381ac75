/* L1 in front of the stacks, and what programs leave of L2. */
#include <stddef.h>

#include "match_stack.h"
#include "match_pulp_chip.h"
#include "pulp_open_cluster.h"
#include "pulp_open_registers.h"

static match_stack_t l2;

/* In pulp_open.ld. */
extern uint8_t __heap_start[];
extern uint8_t __heap_end[];

bool match_pulp_open_memory_reset(const match_pulp_setup_t *setup)
{
    const uint32_t bytes = setup->l1_bytes != 0 ? setup->l1_bytes : PULP_L1_BYTES;
    uint8_t *const first = (uint8_t *)(uintptr_t)PULP_OPEN_L1;
    uint8_t *const start = setup->l1 != NULL ? setup->l1 : first;
    const uint32_t before = (uint32_t)((uintptr_t)start - (uintptr_t)first);
    if (before > PULP_L1_BYTES || bytes > PULP_L1_BYTES - before || before % MATCH_STACK_ALIGNMENT != 0) {
        return false;
    }
    match_stack_reset(match_pulp_open_l1_blocks(), start, start + bytes / MATCH_STACK_ALIGNMENT * MATCH_STACK_ALIGNMENT);
    match_stack_reset(&l2, __heap_start, __heap_end);
    return true;
}

void *match_pulp_l1_alloc(uint32_t bytes)
{
    return match_stack_take(match_pulp_open_l1_blocks(), bytes);
}

void match_pulp_l1_free(void *block)
{
    match_stack_give_back(match_pulp_open_l1_blocks(), block);
}

void *match_pulp_l2_alloc(uint32_t bytes)
{
    return match_stack_take(&l2, bytes);
}

void match_pulp_l2_free(void *block)
{
    match_stack_give_back(&l2, block);
}
