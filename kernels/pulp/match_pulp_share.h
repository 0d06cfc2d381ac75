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

/* This core's share of `items`, of which each core has `each`, the last ones less. */
static inline match_share_t match_share_by(int32_t items, int32_t each)
{
    int32_t first = match_core_id() * each;
    int32_t last = first + each;
    return (match_share_t){first < items ? first : items, last < items ? last : items};
}

/* Consecutive items, the same number for all cores but the last ones. */
static inline match_share_t match_share(int32_t items)
{
    return match_share_by(items, (items + match_core_count() - 1) / match_core_count());
}

/* The same of channels that are computed by fours: where more than `singles` are left behind the fours, which are
 * computed one by one, a core takes one more four instead. */
static inline match_share_t match_share_channels(int32_t channels, int32_t singles)
{
    int32_t each = (channels + match_core_count() - 1) / match_core_count();
    return match_share_by(channels, each % 4 > singles ? (each + 3) / 4 * 4 : each);
}

#endif
