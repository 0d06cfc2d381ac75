#include "match_host_arena.h"

#include <stdlib.h>
#include <string.h>

#include "match_status.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONED 1
#endif

#ifdef ARENA_POISONED
#include <sanitizer/asan_interface.h>
#define POISON(start, bytes) __asan_poison_memory_region(start, bytes)
#define UNPOISON(start, bytes) __asan_unpoison_memory_region(start, bytes)
#else
#define POISON(start, bytes) ((void)(start), (void)(bytes))
#define UNPOISON(start, bytes) ((void)(start), (void)(bytes))
#endif

enum { HOST_ALIGNMENT = 16, GAP_BYTES = 64, FRESH_BYTE = 0xa5 };

static size_t round_up(size_t bytes, size_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/* Bytes of the arena's memory that a block takes, together with the gap behind it if there are gaps. */
static size_t taken_bytes(const match_arena_t *arena, size_t bytes)
{
    return arena->gap > 0 ? round_up(bytes, HOST_ALIGNMENT) + arena->gap : round_up(bytes, arena->alignment);
}

int32_t match_arena_open(match_arena_t *arena, uint32_t capacity, uint32_t alignment)
{
    const size_t bytes = GAP_BYTES + capacity + (size_t)MATCH_ARENA_BLOCKS * (HOST_ALIGNMENT + GAP_BYTES);
    uint8_t *const memory = calloc(1, bytes);
    memset(arena, 0, sizeof *arena);
    if (memory == NULL) {
        return MATCH_ERROR_MEMORY;
    }
    match_arena_place(arena, memory, capacity, alignment);
    arena->memory_bytes = bytes;
    arena->gap = GAP_BYTES;
    POISON(memory, bytes);
    return MATCH_OK;
}

void match_arena_place(match_arena_t *arena, uint8_t *memory, uint32_t capacity, uint32_t alignment)
{
    *arena = (match_arena_t){
        .memory = memory,
        .memory_bytes = capacity,
        .capacity = capacity,
        .alignment = alignment,
    };
}

void match_arena_close(match_arena_t *arena)
{
    if (arena->gap > 0) {
        UNPOISON(arena->memory, arena->memory_bytes);
        free(arena->memory);
    }
    memset(arena, 0, sizeof *arena);
}

void *match_arena_alloc(match_arena_t *arena, uint32_t bytes)
{
    size_t taken = round_up(bytes, arena->alignment);
    if (arena->count == MATCH_ARENA_BLOCKS || taken > arena->capacity - arena->used) {
        return NULL;
    }
    uint8_t *start = arena->memory + arena->gap;
    if (arena->count > 0) {
        const match_arena_block_t *last = &arena->blocks[arena->count - 1];
        start = last->start + taken_bytes(arena, last->bytes);
    }
    arena->blocks[arena->count] = (match_arena_block_t){.start = start, .bytes = bytes, .live = true};
    arena->count += 1;
    arena->used += (uint32_t)taken;
    if (arena->gap > 0) {
        UNPOISON(start, bytes);
        memset(start, FRESH_BYTE, bytes);
    }
    return start;
}

void match_arena_free(match_arena_t *arena, void *block)
{
    for (uint32_t i = 0; i < arena->count; i++) {
        if (arena->blocks[i].start == block && arena->blocks[i].live) {
            arena->blocks[i].live = false;
            if (arena->gap > 0) {
                POISON(block, arena->blocks[i].bytes);
            }
        }
    }
    while (arena->count > 0 && !arena->blocks[arena->count - 1].live) {
        arena->count -= 1;
        arena->used -= (uint32_t)round_up(arena->blocks[arena->count].bytes, arena->alignment);
    }
}

uint32_t match_arena_live(const match_arena_t *arena)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < arena->count; i++) {
        live += arena->blocks[i].live;
    }
    return live;
}

bool match_arena_holds(const match_arena_t *arena, const void *start, size_t bytes)
{
    uintptr_t first = (uintptr_t)start;
    for (uint32_t i = 0; i < arena->count; i++) {
        const match_arena_block_t *block = &arena->blocks[i];
        uintptr_t begin = (uintptr_t)block->start;
        if (block->live && first >= begin && first - begin <= block->bytes && bytes <= block->bytes - (first - begin)) {
            return true;
        }
    }
    return false;
}
