#include "match_stack.h"

#include <stddef.h>

void match_stack_reset(match_stack_t *stack, uint8_t *start, uint8_t *end)
{
    stack->next = start;
    stack->end = end;
    stack->count = 0;
}

void *match_stack_take(match_stack_t *stack, uint32_t bytes)
{
    const uint32_t room = (uint32_t)(stack->end - stack->next);
    if (stack->count == MATCH_STACK_BLOCKS || bytes > room) {
        return NULL;
    }
    uint8_t *block = stack->next;
    stack->blocks[stack->count] = block;
    stack->live[stack->count] = true;
    stack->count += 1;
    const uint32_t taken = (bytes + MATCH_STACK_ALIGNMENT - 1) / MATCH_STACK_ALIGNMENT * MATCH_STACK_ALIGNMENT;
    stack->next += taken < room ? taken : room;
    return block;
}

void match_stack_give_back(match_stack_t *stack, const void *block)
{
    /* Youngest first: an empty block has the address of the one behind it. */
    for (uint32_t i = stack->count; i-- > 0;) {
        if (stack->live[i] && stack->blocks[i] == block) {
            stack->live[i] = false;
            break;
        }
    }
    while (stack->count > 0 && !stack->live[stack->count - 1]) {
        stack->count -= 1;
        stack->next = stack->blocks[stack->count];
    }
}
