/* Parts of a tile: what lies in L1 between NE16 and the cluster at a time. */
#ifndef NE16_PARTS_H
#define NE16_PARTS_H

#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_requantize.h"
#include "ne16_jobs.h"

/* How the cluster requantizes: its kernel, and the form of that by name. */
typedef struct {
    match_kernel_t kernel;
    match_form_t form;
} match_ne16_requantization_t;

static const match_ne16_requantization_t match_ne16_by_64_bits = {
    .kernel = match_pulp_requantize,
    .form = MATCH_FORM_64,
};

static const match_ne16_requantization_t match_ne16_by_halves = {
    .kernel = match_pulp_requantize_split,
    .form = MATCH_FORM_SPLIT,
};

/* A part of a tile: some rows of a block of a group's output channels, or of those of some groups. Channels are counted
 * from the first group's on. */
typedef struct {
    int32_t row;
    int32_t rows;
    int32_t channel;
    int32_t channels;
} match_ne16_part_t;

/* Bytes in L1 between NE16 and the cluster that a part has, if it has more rows than sub-tiles or strided jobs take. */
enum { NE16_PART_BYTES = 8192, NE16_STRIDED_ROWS = 2 };

/* Rows of a part, of so many bytes each: whole sub-tiles of `least` rows, as few parts as fit, of the same size but for
 * the last. */
static inline int32_t match_ne16_part_rows(const match_tile_t *tile, int32_t least, int32_t row_bytes)
{
    int32_t fitting = NE16_PART_BYTES / (least * row_bytes);
    int32_t subtiles = match_ne16_ceil_div(tile->output_height, least);
    int32_t parts = match_ne16_ceil_div(subtiles, fitting > 1 ? fitting : 1);
    return match_ne16_smaller(tile->output_height, match_ne16_ceil_div(subtiles, parts) * least);
}

/* Start the jobs of a part of a tile without groups, whose accumulators go to `scratch`. */
void match_ne16_submit_part(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                            const match_ne16_part_t *part, int32_t *scratch);

/* The same of a tile with groups. */
void match_ne16_submit_grouped_part(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                                    const match_ne16_part_t *part, int32_t *scratch);

/* Make the tile that requantizes a part of the tile `whole`. */
void match_ne16_aim_requantization(match_tile_t *tile, const match_tile_t *whole, ptrdiff_t parameter_bytes,
                                   const match_ne16_part_t *part, int32_t *scratch);

#endif
