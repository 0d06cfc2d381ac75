/* How the cores of the team share out work. */
#ifndef MATCH_PULP_SHARE_H
#define MATCH_PULP_SHARE_H

#include <stdbool.h>
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

/* The items that each core but the last ones has of so many. A core by itself need not wait for a division. */
static inline int32_t match_each(int32_t items)
{
    int32_t cores = match_core_count();
    return cores == 1 ? items : (items + cores - 1) / cores;
}

/* Consecutive items, the same number for all cores but the last ones. */
static inline match_share_t match_share(int32_t items)
{
    return match_share_by(items, match_each(items));
}

/* The same of channels that are computed by fours: where more than `singles` are left behind the fours, which are
 * computed one by one, a core takes one more four instead. */
static inline match_share_t match_share_channels(int32_t channels, int32_t singles)
{
    int32_t each = match_each(channels);
    return match_share_by(channels, each % 4 > singles ? (each + 3) / 4 * 4 : each);
}

/* This core's share of pixels, one after the other. */
typedef struct {
    int32_t columns;
    int32_t y; /* where the next pixel is */
    int32_t x;
    int32_t left; /* pixels from here on */
} match_pixels_t;

static inline match_pixels_t match_share_pixels(int32_t rows, int32_t columns)
{
    match_share_t share = match_share(rows * columns);
    return (match_pixels_t){columns, share.first / columns, share.first % columns, share.last - share.first};
}

static inline void match_next_pixel(match_pixels_t *all)
{
    all->left--;
    all->x++;
    if (all->x == all->columns) {
        all->x = 0;
        all->y++;
    }
}

/* This core's share of outputs: units of two pixels beside each other by four channels, all channels of a pair of pixels
 * and then those of the next. No core has more than one unit above the mean. */
typedef struct {
    int32_t columns;
    int32_t channels;
    int32_t blocks; /* units of a pair of pixels */
    int32_t y;      /* where the next unit is */
    int32_t x;
    int32_t block;
    int32_t left;   /* units from here on */
} match_blocks_t;

static inline match_blocks_t match_share_blocks(int32_t rows, int32_t columns, int32_t channels)
{
    int32_t pairs = (columns + 1) / 2;
    int32_t blocks = (channels + 3) / 4;
    match_blocks_t all = {.columns = columns, .channels = channels, .blocks = blocks};
    match_share_t share = match_share(rows * pairs * blocks);
    all.left = share.last - share.first;
    if (share.first > 0 && all.left > 0) {
        int32_t pair = share.first / blocks;
        all.block = share.first % blocks;
        all.y = pair / pairs;
        all.x = 2 * (pair % pairs);
    }
    return all;
}

/* Channels first .. last - 1 of `pixels` pixels of a row, from (y, x) on. */
typedef struct {
    int32_t y;
    int32_t x;
    int32_t pixels;
    int32_t first;
    int32_t last;
} match_part_t;

/* Take the next part of the share, as large as it can be, where there is one: pixels of a row with all channels, or some
 * channels of a pair. */
static inline bool match_next_part(match_blocks_t *all, match_part_t *part)
{
    if (all->left <= 0) {
        return false;
    }
    int32_t columns = all->columns - all->x;
    *part = (match_part_t){.y = all->y, .x = all->x, .pixels = columns, .last = all->channels};
    int32_t units = (columns + 1) / 2 * all->blocks;
    if (all->block > 0 || all->left < all->blocks) {
        units = all->blocks - all->block < all->left ? all->blocks - all->block : all->left;
        part->pixels = columns < 2 ? columns : 2;
        part->first = 4 * all->block;
        all->block += units;
        part->last = 4 * all->block < all->channels ? 4 * all->block : all->channels;
    } else if (units > all->left) {
        part->pixels = all->left / all->blocks * 2;
        units = part->pixels / 2 * all->blocks;
    }
    all->left -= units;
    if (part->last == all->channels) {
        all->block = 0;
        all->x += part->pixels;
    }
    if (all->x >= all->columns) {
        all->x = 0;
        all->y++;
    }
    return true;
}

#endif
