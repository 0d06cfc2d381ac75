/* A memory whose blocks are stacked: the bytes of one come back when it and all younger ones are free. */
#ifndef MATCH_STACK_H
#define MATCH_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define MATCH_STACK_ALIGNMENT 8 /* of blocks, in bytes: of the largest number in them, 64 bits */
#define MATCH_STACK_BLOCKS 64

typedef struct {
    uint8_t *next;
    uint8_t *end;
    uint32_t count;
    uint8_t *blocks[MATCH_STACK_BLOCKS]; /* oldest first */
    bool live[MATCH_STACK_BLOCKS];
} match_stack_t;

/* No blocks, in the bytes from `start`, which is aligned (MATCH_STACK_ALIGNMENT), to in front of `end`. */
void match_stack_reset(match_stack_t *stack, uint8_t *start, uint8_t *end);

/* NULL when `bytes` do not fit, or when there are MATCH_STACK_BLOCKS blocks. */
void *match_stack_take(match_stack_t *stack, uint32_t bytes);

/* NULL does nothing. */
void match_stack_give_back(match_stack_t *stack, const void *block);

#endif
