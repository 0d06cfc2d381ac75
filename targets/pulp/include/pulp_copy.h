/* Shapes of transfers as MCHAN's commands see them. */
#ifndef PULP_COPY_H
#define PULP_COPY_H

#include <stdbool.h>

#include "match_copy.h"

/* The same pieces with planes as further rows, where they continue the strides of rows. */
static inline match_copy_t match_pulp_copy_merged(const match_copy_t *shape)
{
    match_copy_t copy = *shape;
    if (copy.rows == 1) {
        copy.external_row_stride = copy.external_plane_stride;
        copy.local_row_stride = copy.local_plane_stride;
    }
    bool continues = copy.external_plane_stride == copy.rows * copy.external_row_stride &&
                     copy.local_plane_stride == copy.rows * copy.local_row_stride;
    if (copy.planes == 1 || continues) {
        copy.rows *= copy.planes;
        copy.planes = 1;
    }
    return copy;
}

/* Whether the rows of a plane are one piece in L1, so that one command moves them all. */
static inline bool match_pulp_copy_dense(const match_copy_t *shape)
{
    return shape->rows == 1 || shape->local_row_stride == shape->bytes;
}

#endif
