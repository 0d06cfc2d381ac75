/* L1 in front of the stacks, and what programs leave of L2. */
#include "pulp.h"
#include "pulp_open_cluster.h"
#include "pulp_open_registers.h"
#include "pulp_stack.h"

static pulp_stack_t l1;
static pulp_stack_t l2;

/* In pulp_open.ld. */
extern uint8_t __heap_start[];
extern uint8_t __heap_end[];

void pulp_open_memory_reset(void)
{
    uint8_t *start = (uint8_t *)(uintptr_t)PULP_OPEN_L1;
    pulp_stack_reset(&l1, start, start + PULP_L1_BYTES);
    pulp_stack_reset(&l2, __heap_start, __heap_end);
}

void *pulp_l1_alloc(uint32_t bytes)
{
    return pulp_stack_take(&l1, bytes);
}

void pulp_l1_free(void *block)
{
    pulp_stack_give_back(&l1, block);
}

void *pulp_l2_alloc(uint32_t bytes)
{
    return pulp_stack_take(&l2, bytes);
}

void pulp_l2_free(void *block)
{
    pulp_stack_give_back(&l2, block);
}
