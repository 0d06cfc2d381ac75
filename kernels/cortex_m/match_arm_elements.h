/* Runs of elements without gaps between them, for operators that compute each element by itself. */
#ifndef MATCH_ARM_ELEMENTS_H
#define MATCH_ARM_ELEMENTS_H

#include "match_arm_window.h"

/* Pixels of the layer, from the first of a row on, that lie side by side in a tensor with these strides: one, a row or
 * all. */
static inline int32_t match_arm_side_by_side(const match_tile_t *tile, int32_t row_stride, int32_t pixel_stride)
{
    if (tile->output_width > 1 && pixel_stride != tile->channels_out) {
        return 1;
    }
    if (tile->output_height > 1 && row_stride != tile->output_width * tile->channels_out) {
        return tile->output_width;
    }
    return tile->output_height * tile->output_width;
}

/* The same in input and output, and in the addend of an operator of two inputs. */
static inline int32_t match_arm_run_pixels(const match_tile_t *tile, bool two_inputs)
{
    int32_t least = match_arm_least(
        match_arm_side_by_side(tile, tile->input_row_stride, tile->input_pixel_stride),
        match_arm_side_by_side(tile, tile->output_row_stride, tile->output_pixel_stride));
    if (!two_inputs) {
        return least;
    }
    return match_arm_least(least, match_arm_side_by_side(tile, tile->addend_row_stride, tile->addend_pixel_stride));
}

#endif
