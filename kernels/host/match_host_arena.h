/* A scratchpad of exactly so many bytes, for platforms that stand in for a chip.
 *
 * Blocks are accounted for as on the chip (size rounded up to the alignment, nothing else). On a host they lie apart in
 * its memory, with gaps that AddressSanitizer reports when they are touched, and a new block is filled with a pattern, so
 * that what reads it before writing it gives a wrong result instead of a zero. In a memory that is given they lie one
 * behind the other, as on the chip, and keep what was there. */
#ifndef MATCH_HOST_ARENA_H
#define MATCH_HOST_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MATCH_ARENA_BLOCKS 256

typedef struct {
    uint8_t *start;
    uint32_t bytes;
    bool live;
} match_arena_block_t;

typedef struct {
    uint8_t *memory;
    size_t memory_bytes;
    uint32_t gap; /* behind each block; 0 in a memory that is given */
    uint32_t capacity;
    uint32_t alignment;
    uint32_t used;
    uint32_t count;
    match_arena_block_t blocks[MATCH_ARENA_BLOCKS];
} match_arena_t;

/* MATCH_OK, or MATCH_ERROR_MEMORY when the host has no memory for it. */
int32_t match_arena_open(match_arena_t *arena, uint32_t capacity, uint32_t alignment);

/* In `memory`, which has `capacity` bytes, begins at a multiple of `alignment`, and stays the caller's. */
void match_arena_place(match_arena_t *arena, uint8_t *memory, uint32_t capacity, uint32_t alignment);

void match_arena_close(match_arena_t *arena);

/* NULL when `bytes` do not fit, or when there are MATCH_ARENA_BLOCKS blocks already. */
void *match_arena_alloc(match_arena_t *arena, uint32_t bytes);

/* Blocks are stacked: the bytes of one come back when it and all younger ones are free. */
void match_arena_free(match_arena_t *arena, void *block);

/* Blocks allocated and not freed. */
uint32_t match_arena_live(const match_arena_t *arena);

/* Whether `bytes` bytes from `start` lie inside one block that is allocated. */
bool match_arena_holds(const match_arena_t *arena, const void *start, size_t bytes);

#endif
