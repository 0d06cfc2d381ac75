/* Shape of a transfer between an outer ("external") and an inner ("local") memory. */
#ifndef MATCH_COPY_H
#define MATCH_COPY_H

#include <stdint.h>

/* planes x rows pieces of `bytes` contiguous bytes each; strides are the distances, in bytes, between the first bytes
 * of neighbouring rows and planes on either side. A stride that has nothing to step over (one row, one plane) is
 * ignored. */
typedef struct {
    uint32_t planes;
    uint32_t rows;
    uint32_t bytes;
    uint32_t external_plane_stride;
    uint32_t external_row_stride;
    uint32_t local_plane_stride;
    uint32_t local_row_stride;
} match_copy_t;

/* Bytes that a shape moves. */
static inline uint32_t match_copy_bytes(const match_copy_t *shape)
{
    return shape->planes * shape->rows * shape->bytes;
}

/* Bytes from the first to behind the last one that a shape touches in the external memory. */
static inline uint32_t match_copy_external_extent(const match_copy_t *shape)
{
    if (shape->planes == 0 || shape->rows == 0) {
        return 0;
    }
    return (shape->planes - 1) * shape->external_plane_stride + (shape->rows - 1) * shape->external_row_stride +
           shape->bytes;
}

#endif
