/* A memory whose blocks are stacked: the bytes of one come back when it and all younger ones are free. */
#ifndef PULP_STACK_H
#define PULP_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define PULP_STACK_BLOCKS 64

typedef struct {
    uint8_t *next;
    uint8_t *end;
    uint32_t count;
    uint8_t *blocks[PULP_STACK_BLOCKS]; /* oldest first */
    bool live[PULP_STACK_BLOCKS];
} pulp_stack_t;

/* No blocks, in the bytes from `start` to in front of `end`; both are aligned (PULP_ALIGNMENT). */
void pulp_stack_reset(pulp_stack_t *stack, uint8_t *start, uint8_t *end);

/* NULL when `bytes` do not fit, or when there are PULP_STACK_BLOCKS blocks. */
void *pulp_stack_take(pulp_stack_t *stack, uint32_t bytes);

/* NULL does nothing. */
void pulp_stack_give_back(pulp_stack_t *stack, const void *block);

#endif
