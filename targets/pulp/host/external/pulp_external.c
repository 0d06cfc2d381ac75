/* External memory on a PC: a bounded arena whose addresses no core can follow. Transfers happen when they are waited
 * for. The image is the project's file external.bin, which is linked in. */
#include "pulp_external.h"

#include <string.h>

#include "match_host_arena.h"
#include "match_status.h"

__asm__(".pushsection .rodata\n"
        ".globl pulp_external_image, pulp_external_image_end\n"
        "pulp_external_image:\n"
        ".incbin \"external.bin\"\n"
        "pulp_external_image_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const uint8_t pulp_external_image[];
extern const uint8_t pulp_external_image_end[];

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

void *pulp_external_alloc(uint32_t bytes)
{
    if (memory.memory == NULL && match_arena_open(&memory, PULP_EXTERNAL_BYTES, 4) != MATCH_OK) {
        return NULL;
    }
    const uint8_t *const block = match_arena_alloc(&memory, bytes);
    return block != NULL ? external_address(block) : NULL;
}

void pulp_external_free(void *block)
{
    if (block != NULL) {
        match_arena_free(&memory, host_address(block));
        if (match_arena_live(&memory) == 0) {
            match_arena_close(&memory);
        }
    }
}

int32_t pulp_external_load(void *external, uint32_t bytes)
{
    uint8_t *const block = host_address(external);
    if (bytes > (size_t)(pulp_external_image_end - pulp_external_image) || !match_arena_holds(&memory, block, bytes)) {
        return MATCH_ERROR_TRANSFER;
    }
    memcpy(block, pulp_external_image, bytes);
    return MATCH_OK;
}

/* Bytes from the first to behind the last one that a shape touches in external memory. */
static size_t extent(const match_copy_t *shape)
{
    if (shape->planes == 0 || shape->rows == 0) {
        return 0;
    }
    return (size_t)(shape->planes - 1) * shape->external_plane_stride +
           (size_t)(shape->rows - 1) * shape->external_row_stride + shape->bytes;
}

void pulp_external_copy_in(pulp_external_transfer_t *transfer, void *local, const void *external,
                           const match_copy_t *shape)
{
    const uint8_t *const first = host_address(external);
    match_host_dma_in(transfer, local, first, shape);
    transfer->valid = match_arena_holds(&memory, first, extent(shape));
}

void pulp_external_copy_out(pulp_external_transfer_t *transfer, const void *local, void *external,
                            const match_copy_t *shape)
{
    uint8_t *const first = host_address(external);
    match_host_dma_out(transfer, local, first, shape);
    transfer->valid = match_arena_holds(&memory, first, extent(shape));
}

int32_t pulp_external_wait(pulp_external_transfer_t *transfer)
{
    if (!transfer->active || !transfer->valid) {
        *transfer = (pulp_external_transfer_t){0};
        return MATCH_ERROR_TRANSFER;
    }
    match_host_dma_complete(transfer);
    return MATCH_OK;
}
