/* Numbers between -1 and 1 with 31 bits behind the point. */
#ifndef MATCH_PULP_FIXED_POINT_H
#define MATCH_PULP_FIXED_POINT_H

#include <stdint.h>

/* Rounded half up. */
static inline int32_t match_fixed_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

#endif
