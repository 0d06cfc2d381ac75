#include "match_host_dma.h"

#include <string.h>

static void start(match_host_dma_t *transfer, void *destination, match_host_dma_side_t destination_side,
                  const void *source, match_host_dma_side_t source_side, const match_copy_t *shape)
{
    *transfer = (match_host_dma_t){
        .destination = destination,
        .source = source,
        .destination_side = destination_side,
        .source_side = source_side,
        .planes = shape->planes,
        .rows = shape->rows,
        .bytes = shape->bytes,
        .active = true,
        .valid = true,
    };
}

static match_host_dma_side_t local_side(const match_copy_t *shape)
{
    return (match_host_dma_side_t){shape->local_plane_stride, shape->local_row_stride};
}

static match_host_dma_side_t external_side(const match_copy_t *shape)
{
    return (match_host_dma_side_t){shape->external_plane_stride, shape->external_row_stride};
}

void match_host_dma_in(match_host_dma_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    start(transfer, local, local_side(shape), external, external_side(shape), shape);
}

void match_host_dma_out(match_host_dma_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    start(transfer, external, external_side(shape), local, local_side(shape), shape);
}

static size_t offset(match_host_dma_side_t side, size_t plane, size_t row)
{
    return plane * side.plane_stride + row * side.row_stride;
}

void match_host_dma_complete(match_host_dma_t *transfer)
{
    for (size_t plane = 0; plane < transfer->planes; plane++) {
        for (size_t row = 0; row < transfer->rows; row++) {
            memcpy(transfer->destination + offset(transfer->destination_side, plane, row),
                   transfer->source + offset(transfer->source_side, plane, row), transfer->bytes);
        }
    }
    *transfer = (match_host_dma_t){0};
}

size_t match_host_dma_local_extent(const match_copy_t *shape)
{
    if (shape->planes == 0 || shape->rows == 0) {
        return 0;
    }
    return offset(local_side(shape), shape->planes - 1, shape->rows - 1) + shape->bytes;
}
