/* Windows of the input as vectors, (filter_height, filter_width, channels_in). */
#ifndef MATCH_PULP_IM2COL_H
#define MATCH_PULP_IM2COL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_pulp_pixel.h"
#include "match_pulp_simd.h"

/* Set bytes to one value. */
static inline void match_fill(uint8_t *target, int32_t value, int32_t count)
{
    match_bytes4_t word = (uint32_t)(uint8_t)value * 0x01010101u;
#if defined(MATCH_PULP_INSN)
    if (count >= 16) {
        __asm__ volatile(MATCH_INSN_LOOP("%1", 4)
                         MATCH_INSN_STORE4("%2", "%0")
                         MATCH_INSN_STORE4("%2", "%0")
                         MATCH_INSN_STORE4("%2", "%0")
                         MATCH_INSN_STORE4("%2", "%0")
                         MATCH_INSN_LOOP_END
                         : "+r"(target)
                         : "r"(count >> 4), "r"(word)
                         : "memory");
        count &= 15;
    }
#endif
    for (; count >= 4; count -= 4, target += 4) {
        match_store4(target, word);
    }
    for (; count > 0; count--) {
        *target++ = (uint8_t)value;
    }
}

/* Copy the last bytes & 7 of `bytes` bytes. Of what is no whole word the last four bytes are copied, some of them again,
 * where that is quicker. */
static inline void match_copy_rest(uint8_t *restrict to, const uint8_t *restrict from, int32_t bytes)
{
    if (bytes & 4) {
        match_store4(to, match_load4(from));
        from += 4;
        to += 4;
    }
    int32_t rest = bytes & 3;
#if defined(MATCH_PULP_SIMD)
    if (rest > 0 && bytes > 4) {
        match_store4(to + rest - 4, match_load4(from + rest - 4));
        return;
    }
#endif
    if (rest & 2) {
        *to++ = *from++;
        *to++ = *from++;
    }
    if (rest & 1) {
        *to = *from;
    }
}

/* Copy `rows` rows of `bytes` bytes, which lie `target_step` and `source_step` bytes apart. */
static inline void match_copy_rows(uint8_t *restrict target, ptrdiff_t target_step, const uint8_t *restrict source,
                                   ptrdiff_t source_step, int32_t rows, int32_t bytes)
{
    int32_t pairs = bytes >> 3;
    for (; rows > 0; rows--, source += source_step, target += target_step) {
        const uint8_t *from = source;
        uint8_t *to = target;
#if defined(MATCH_PULP_INSN)
        if (pairs > 0) {
            uint32_t a, b;
            __asm__ volatile(MATCH_INSN_LOOP("%4", 4)
                             MATCH_INSN_LOAD4("%2", "%0")
                             MATCH_INSN_LOAD4("%3", "%0")
                             MATCH_INSN_STORE4("%2", "%1")
                             MATCH_INSN_STORE4("%3", "%1")
                             MATCH_INSN_LOOP_END
                             : "+r"(from), "+r"(to), "=&r"(a), "=&r"(b)
                             : "r"(pairs)
                             : "memory");
        }
#else
        for (int32_t pair = pairs; pair > 0; pair--, from += 8, to += 8) {
            match_bytes4_t a = match_load4(from);
            match_bytes4_t b = match_load4(from + 4);
            match_store4(to, a);
            match_store4(to + 4, b);
        }
#endif
        if (bytes & 7) {
            match_copy_rest(to, from, bytes);
        }
    }
}

/* What the windows of a row of outputs have in common. */
typedef struct {
    const uint8_t *input; /* the first row that they see of the input, NULL if there is none */
    match_range_t rows;
    ptrdiff_t row_step; /* bytes between rows that they see */
    int32_t row_bytes;
    bool dense; /* whether a window's row is consecutive bytes */
} match_windows_t;

static inline match_windows_t match_windows_of(const match_tile_t *tile, int32_t y)
{
    int32_t first = y * tile->stride_y - tile->pad_top;
    match_range_t rows = match_range_of(first, tile->dilation_y, tile->filter_height, tile->input_height);
    bool gapless = tile->dilation_x == 1 && tile->input_pixel_stride == tile->channels_in;
    return (match_windows_t){
        .input = rows.inside > 0 ? match_input_pixel(tile, first + rows.before * tile->dilation_y, 0) : NULL,
        .rows = rows,
        .row_step = (ptrdiff_t)tile->dilation_y * tile->input_row_stride,
        .row_bytes = tile->filter_width * tile->channels_in,
        .dense = gapless || tile->filter_width == 1,
    };
}

/* Fill the filter rows that lie in the padding above and below: the same for all windows of the row. */
static inline void match_pad_rows(const match_tile_t *tile, const match_windows_t *windows, uint8_t *column)
{
    int32_t end = windows->rows.before + windows->rows.inside;
    match_fill(column, tile->pad_value, windows->rows.before * windows->row_bytes);
    match_fill(column + end * windows->row_bytes, tile->pad_value,
               (tile->filter_height - end) * windows->row_bytes);
}

/* A window of which some columns lie in the padding or pixels apart: its rows in the input, the first of them at
 * `target`. Not inline, for it takes registers that other windows need not save. */
static __attribute__((noinline)) void match_border_window(const match_tile_t *tile, const match_windows_t *windows,
                                                          int32_t first, uint8_t *target)
{
    int32_t channels = tile->channels_in;
    int32_t rows = windows->rows.inside;
    match_range_t range = match_range_of(first, tile->dilation_x, tile->filter_width, tile->input_width);
    match_fill(target, tile->pad_value, rows * windows->row_bytes);
    if (rows == 0 || range.inside == 0) {
        return;
    }
    uint8_t *inside = target + range.before * channels;
    const uint8_t *input = windows->input + (first + range.before * tile->dilation_x) * tile->input_pixel_stride;
    if (windows->dense) {
        match_copy_rows(inside, windows->row_bytes, input, windows->row_step, rows, range.inside * channels);
        return;
    }
    ptrdiff_t pixel_step = (ptrdiff_t)tile->dilation_x * tile->input_pixel_stride;
    for (int32_t i = 0; i < rows; i++, inside += windows->row_bytes, input += windows->row_step) {
        match_copy_rows(inside, channels, input, pixel_step, range.inside, channels);
    }
}

/* Lay out the window of output column x; rows in the padding stay as they are. */
static inline void match_im2col(const match_tile_t *tile, const match_windows_t *windows, int32_t x, uint8_t *column)
{
    int32_t first = x * tile->stride_x - tile->pad_left;
    uint8_t *target = column + windows->rows.before * windows->row_bytes;
    if (windows->dense && first >= 0 && first <= tile->input_width - tile->filter_width) {
        if (windows->rows.inside > 0) {
            match_copy_rows(target, windows->row_bytes, windows->input + first * tile->input_pixel_stride,
                            windows->row_step, windows->rows.inside, windows->row_bytes);
        }
    } else {
        match_border_window(tile, windows, first, target);
    }
}

#endif
