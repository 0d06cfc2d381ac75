/* A DMA that is as late as its contract allows: nothing is copied before the transfer is waited for. */
#ifndef MATCH_HOST_DMA_H
#define MATCH_HOST_DMA_H

#include <stdbool.h>
#include <stdint.h>

#include "match_copy.h"

/* An outstanding transfer. Either side advances by its own strides; `active` is false when there is none. */
typedef struct {
    uint8_t *destination;
    const uint8_t *source;
    uint32_t destination_plane_stride;
    uint32_t destination_row_stride;
    uint32_t source_plane_stride;
    uint32_t source_row_stride;
    uint32_t planes;
    uint32_t rows;
    uint32_t bytes;
    bool active;
    bool valid;
} match_host_dma_t;

#endif
