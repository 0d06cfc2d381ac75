#include "pulp_external.h"

#include <stddef.h>

#include "match_layer.h"
#include "pulp_copy.h"
#include "pulp_open_files.h"
#include "pulp_open_hyper.h"

/* One for each context of a network that takes external memory. */
#ifndef PULP_EXTERNAL_BLOCKS
#define PULP_EXTERNAL_BLOCKS 8
#endif

enum {
    FIRST = 4096,   /* the memory's address of its first byte: 0 is no pointer to anything */
    PIECE = 1024,   /* bytes that pass L2 at a time on the way from flash to RAM */
    ALIGNMENT = 16, /* of blocks */
};

typedef struct {
    uint32_t first; /* as the chip counts */
    uint32_t bytes; /* with the rest to its alignment; 0: it is free */
} block_t;

/* Oldest first. */
static block_t blocks[PULP_EXTERNAL_BLOCKS];
static uint32_t count;

static uint32_t chip_address(const void *external)
{
    return (uint32_t)(uintptr_t)external - FIRST;
}

static bool holds(uint32_t first, uint32_t bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t before = first - blocks[i].first;
        if (first >= blocks[i].first && before < blocks[i].bytes && bytes <= blocks[i].bytes - before) {
            return true;
        }
    }
    return false;
}

void *match_pulp_external_alloc(uint32_t bytes)
{
    if (count == 0) {
        match_pulp_open_hyper_open();
    }
    const uint32_t first = count > 0 ? blocks[count - 1].first + blocks[count - 1].bytes : 0;
    const uint32_t room = PULP_EXTERNAL_BYTES - first;
    if (count == PULP_EXTERNAL_BLOCKS || bytes == 0 || bytes > room) {
        return NULL;
    }
    const uint32_t taken = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    blocks[count] = (block_t){first, taken < room ? taken : room};
    count += 1;
    return (void *)(uintptr_t)(first + FIRST);
}

void match_pulp_external_free(void *block)
{
    for (uint32_t i = 0; block != NULL && i < count; i++) {
        if (blocks[i].first == chip_address(block)) {
            blocks[i].bytes = 0;
        }
    }
    while (count > 0 && blocks[count - 1].bytes == 0) {
        count -= 1;
    }
}

/* ---- transfers ---- */

/* One command per plane, or per row where rows are apart in L2. */
static int32_t commands(match_pulp_open_hyper_queue_t queue, uint32_t local, uint32_t external, const match_copy_t *shape, bool in)
{
    const uint32_t rows = match_pulp_copy_dense(shape) ? shape->rows : 1;
    for (uint32_t plane = 0; plane < shape->planes; plane++) {
        for (uint32_t row = 0; row < shape->rows; row += rows) {
            const match_pulp_open_hyper_command_t command = {
                .chip = PULP_OPEN_RAM,
                .external = external + plane * shape->external_plane_stride + row * shape->external_row_stride,
                .local = local + plane * shape->local_plane_stride + row * shape->local_row_stride,
                .rows = rows,
                .bytes = shape->bytes,
                .stride = shape->external_row_stride,
                .in = in,
            };
            MATCH_TRY(match_pulp_open_hyper_start(queue, &command));
        }
    }
    return MATCH_OK;
}

static int32_t start(match_pulp_external_transfer_t *transfer, const void *local, const void *external,
                     const match_copy_t *shape, bool in)
{
    const match_copy_t copy = match_pulp_copy_merged(shape);
    const uint32_t address = chip_address(external);
    if (!holds(address, match_copy_external_extent(&copy))) {
        return MATCH_ERROR_TRANSFER;
    }
    MATCH_TRY(match_pulp_open_hyper_queue(&transfer->queue));
    return commands(transfer->queue, (uint32_t)(uintptr_t)local, address, &copy, in);
}

void match_pulp_external_copy_in(match_pulp_external_transfer_t *transfer, void *local, const void *external,
                                 const match_copy_t *shape)
{
    transfer->active = true;
    transfer->status = start(transfer, local, external, shape, true);
}

void match_pulp_external_copy_out(match_pulp_external_transfer_t *transfer, const void *local, void *external,
                                  const match_copy_t *shape)
{
    transfer->active = true;
    transfer->status = start(transfer, local, external, shape, false);
}

int32_t match_pulp_external_wait(match_pulp_external_transfer_t *transfer)
{
    const int32_t status = transfer->active ? transfer->status : MATCH_ERROR_TRANSFER;
    transfer->active = false;
    return status == MATCH_OK ? match_pulp_open_hyper_wait(transfer->queue) : status;
}

/* ---- images ---- */

int32_t match_pulp_external_load(void *external, const match_image_t *image)
{
    static _Alignas(4) uint8_t piece[PIECE];
    uint32_t address = 0;
    uint32_t bytes = 0;
    MATCH_TRY(match_pulp_open_files_find(image->file, &address, &bytes));
    if (bytes < image->bytes || !holds(chip_address(external), image->bytes)) {
        return MATCH_ERROR_TRANSFER;
    }
    for (uint32_t done = 0; done < image->bytes; done += PIECE) {
        const uint32_t part = image->bytes - done < PIECE ? image->bytes - done : PIECE;
        const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = part};
        match_pulp_external_transfer_t transfer = {0};
        MATCH_TRY(match_pulp_open_flash_read(piece, address + done, part));
        match_pulp_external_copy_out(&transfer, piece, (uint8_t *)external + done, &shape);
        MATCH_TRY(match_pulp_external_wait(&transfer));
    }
    return MATCH_OK;
}
