/* How the cores of the team share out work. */
#ifndef MATCH_PULP_SHARE_H
#define MATCH_PULP_SHARE_H

#include <stdint.h>

#include "match_team.h"

/* Items first .. last - 1 are this core's. */
typedef struct {
    int32_t first;
    int32_t last;
} match_share_t;

/* This core's share of `items`: consecutive ones, the same number (a multiple of `unit`) for all cores but the last
 * ones. */
static inline match_share_t match_share(int32_t items, int32_t unit)
{
    int32_t units = (items + unit - 1) / unit;
    int32_t each = (units + match_core_count() - 1) / match_core_count() * unit;
    int32_t first = match_core_id() * each;
    int32_t last = first + each;
    return (match_share_t){first < items ? first : items, last < items ? last : items};
}

#endif
