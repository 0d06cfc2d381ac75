/* A DMA that is as late as its contract allows: nothing is copied before the transfer is waited for. */
#ifndef MATCH_HOST_DMA_H
#define MATCH_HOST_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_copy.h"

/* One side of a transfer: distances in bytes between rows and between planes. */
typedef struct {
    uint32_t plane_stride;
    uint32_t row_stride;
} match_host_dma_side_t;

/* An outstanding transfer; all zero when there is none. `valid` tells whether it stays inside its memory. */
typedef struct {
    uint8_t *destination;
    const uint8_t *source;
    match_host_dma_side_t destination_side;
    match_host_dma_side_t source_side;
    uint32_t planes;
    uint32_t rows;
    uint32_t bytes;
    bool active;
    bool valid;
} match_host_dma_t;

void match_host_dma_in(match_host_dma_t *transfer, void *local, const void *external, const match_copy_t *shape);
void match_host_dma_out(match_host_dma_t *transfer, const void *local, void *external, const match_copy_t *shape);

/* Do the copy and forget it. */
void match_host_dma_complete(match_host_dma_t *transfer);

/* Bytes from the first to behind the last one that a shape touches in the local memory. */
size_t match_host_dma_local_extent(const match_copy_t *shape);

#endif
