/* External memory on a PC: a bounded arena whose addresses no core can follow. Transfers happen when they are waited
 * for. Images are part of the program. */
#include "pulp_external.h"

#include <string.h>

#include "match_host_arena.h"
#include "match_status.h"

/* What the memory's first byte has as its address; nothing lies there on a PC. */
static const uintptr_t FIRST = 0x10000000;

static match_arena_t memory;

/* Where the host has what lies at an external address, and the other way around. */
static uint8_t *host_address(const void *external)
{
    return memory.memory + ((uintptr_t)external - FIRST);
}

static void *external_address(const uint8_t *host)
{
    return (void *)(FIRST + (uintptr_t)(host - memory.memory));
}

void *match_pulp_external_alloc(uint32_t bytes)
{
    if (memory.memory == NULL && match_arena_open(&memory, PULP_EXTERNAL_BYTES, 4) != MATCH_OK) {
        return NULL;
    }
    const uint8_t *const block = match_arena_alloc(&memory, bytes);
    return block != NULL ? external_address(block) : NULL;
}

void match_pulp_external_free(void *block)
{
    if (block != NULL) {
        match_arena_free(&memory, host_address(block));
        if (match_arena_live(&memory) == 0) {
            match_arena_close(&memory);
        }
    }
}

int32_t match_pulp_external_load(void *external, const match_image_t *image)
{
    uint8_t *const block = host_address(external);
    if (image->data == NULL || !match_arena_holds(&memory, block, image->bytes)) {
        return MATCH_ERROR_TRANSFER;
    }
    memcpy(block, image->data, image->bytes);
    return MATCH_OK;
}

void match_pulp_external_copy_in(match_pulp_external_transfer_t *transfer, void *local, const void *external,
                                 const match_copy_t *shape)
{
    const uint8_t *const first = host_address(external);
    match_host_dma_in(transfer, local, first, shape);
    transfer->valid = match_arena_holds(&memory, first, match_copy_external_extent(shape));
}

void match_pulp_external_copy_out(match_pulp_external_transfer_t *transfer, const void *local, void *external,
                                  const match_copy_t *shape)
{
    uint8_t *const first = host_address(external);
    match_host_dma_out(transfer, local, first, shape);
    transfer->valid = match_arena_holds(&memory, first, match_copy_external_extent(shape));
}

int32_t match_pulp_external_wait(match_pulp_external_transfer_t *transfer)
{
    if (!transfer->active || !transfer->valid) {
        *transfer = (match_pulp_external_transfer_t){0};
        return MATCH_ERROR_TRANSFER;
    }
    match_host_dma_complete(transfer);
    return MATCH_OK;
}
