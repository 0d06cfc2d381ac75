/* L1 in front of the stacks, and what programs leave of L2. */
#include "match_stack.h"
#include "pulp.h"
#include "pulp_open_cluster.h"
#include "pulp_open_registers.h"

static match_stack_t l1;
static match_stack_t l2;

/* In pulp_open.ld. */
extern uint8_t __heap_start[];
extern uint8_t __heap_end[];

void pulp_open_memory_reset(void)
{
    uint8_t *start = (uint8_t *)(uintptr_t)PULP_OPEN_L1;
    match_stack_reset(&l1, start, start + PULP_L1_BYTES);
    match_stack_reset(&l2, __heap_start, __heap_end);
}

void *pulp_l1_alloc(uint32_t bytes)
{
    return match_stack_take(&l1, bytes);
}

void pulp_l1_free(void *block)
{
    match_stack_give_back(&l1, block);
}

void *pulp_l2_alloc(uint32_t bytes)
{
    return match_stack_take(&l2, bytes);
}

void pulp_l2_free(void *block)
{
    match_stack_give_back(&l2, block);
}
