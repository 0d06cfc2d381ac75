#include "mock_external.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8, GAP = 64 };

static struct {
    struct {
        uint8_t *bytes; /* exactly as many as were asked for, so that AddressSanitizer sees what goes beyond */
        uintptr_t address;
        uint32_t size;
    } blocks[BLOCKS];
    uintptr_t next;
    int32_t outstanding;
} memory = {.next = 0x100000};

void *mock_external_alloc(uint32_t bytes)
{
    for (int32_t i = 0; i < BLOCKS; i++) {
        if (memory.blocks[i].bytes == NULL) {
            memory.blocks[i].bytes = malloc(bytes);
            memory.blocks[i].address = memory.next;
            memory.blocks[i].size = bytes;
            memset(memory.blocks[i].bytes, 0x5a, bytes);
            memory.next += (bytes + GAP - 1) / GAP * GAP + GAP;
            return (void *)memory.blocks[i].address;
        }
    }
    return NULL;
}

void mock_external_free(void *block)
{
    for (int32_t i = 0; i < BLOCKS; i++) {
        if (memory.blocks[i].bytes != NULL && memory.blocks[i].address == (uintptr_t)block) {
            free(memory.blocks[i].bytes);
            memory.blocks[i].bytes = NULL;
        }
    }
}

/* The bytes behind an address of the external memory. */
static uint8_t *behind(const uint8_t *address)
{
    for (int32_t i = 0; i < BLOCKS; i++) {
        const uintptr_t first = memory.blocks[i].address;
        if (memory.blocks[i].bytes != NULL && (uintptr_t)address >= first &&
            (uintptr_t)address <= first + memory.blocks[i].size) {
            return memory.blocks[i].bytes + ((uintptr_t)address - first);
        }
    }
    fprintf(stderr, "%p is no address of the external memory\n", (const void *)address);
    exit(1);
}

static void start(mock_external_transfer_t *transfer, mock_external_transfer_t started)
{
    memory.outstanding += transfer->active ? 1000 : 1; /* a transfer that is overwritten is never waited for */
    *transfer = started;
}

void mock_external_copy_in(mock_external_transfer_t *transfer, void *local, const void *external,
    const match_copy_t *shape)
{
    start(transfer, (mock_external_transfer_t){local, (uint8_t *)external, *shape, false, true});
}

void mock_external_copy_out(mock_external_transfer_t *transfer, const void *local, void *external,
    const match_copy_t *shape)
{
    start(transfer, (mock_external_transfer_t){(uint8_t *)local, external, *shape, true, true});
}

int32_t mock_external_wait(mock_external_transfer_t *transfer)
{
    if (!transfer->active) {
        return MATCH_ERROR_TRANSFER;
    }
    const match_copy_t *shape = &transfer->shape;
    uint8_t *external = behind(transfer->external);
    for (uint32_t plane = 0; plane < shape->planes; plane++) {
        for (uint32_t row = 0; row < shape->rows; row++) {
            uint8_t *inner = transfer->local + plane * shape->local_plane_stride + row * shape->local_row_stride;
            uint8_t *outer = external + plane * shape->external_plane_stride + row * shape->external_row_stride;
            memcpy(transfer->out ? outer : inner, transfer->out ? inner : outer, shape->bytes);
        }
    }
    transfer->active = false;
    memory.outstanding -= 1;
    return MATCH_OK;
}

int32_t mock_external_outstanding(void)
{
    return memory.outstanding;
}

void *mock_external_tensor(uint32_t bytes, bool external)
{
    uint8_t *content = malloc(bytes);
    if (bytes == 0 || fread(content, bytes, 1, stdin) != 1) {
        free(content);
        return NULL;
    }
    if (!external) {
        return content;
    }
    void *tensor = mock_external_alloc(bytes);
    memcpy(behind(tensor), content, bytes);
    free(content);
    return tensor;
}

uint8_t *mock_external_bytes(void *tensor, uint32_t bytes, bool external)
{
    if (!external) {
        return tensor;
    }
    uint8_t *content = malloc(bytes);
    memcpy(content, behind(tensor), bytes);
    mock_external_free(tensor);
    return content;
}
