/* Windows of the input as vectors, (filter_height, filter_width, channels_in). */
#ifndef MATCH_PULP_IM2COL_H
#define MATCH_PULP_IM2COL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"

/* The same byte four times. */
static inline match_bytes4_t match_word_of(int32_t value)
{
    return (uint8_t)value * 0x01010101u;
}

/* Set bytes to one value. */
static inline void match_fill(uint8_t *target, int32_t value, int32_t count)
{
    match_bytes4_t word = match_word_of(value);
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

/* Rows of windows that are copied word by word. The last word may reach up to three bytes behind a row on both sides: a
 * row's bytes overwrite what the row before it left there. */
typedef struct {
    int32_t rows;
    int32_t words;         /* of a row */
    ptrdiff_t source_step; /* bytes between rows */
    ptrdiff_t target_step;
} match_copies_t;

#if defined(MATCH_PULP_INSN)

/* One window; rows of up to three words, for which `words` is a constant, take no cycle beside their loads and stores.
 * The last word of a row steps to the next one. */
MATCH_INLINE void match_copy_window(uint8_t *target, const uint8_t *source, const match_copies_t *copies, int32_t words)
{
    uint32_t a, b, c;
    ptrdiff_t behind = 4 * (words - 1);
    if (words == 1) {
        __asm__ volatile(MATCH_INSN_LOOP("%3", 3)
                         MATCH_INSN_LOAD4_STEP("%2", "%0", "%4")
                         "nop\n"
                         MATCH_INSN_STORE4_STEP("%2", "%1", "%5")
                         MATCH_INSN_LOOP_END
                         : "+r"(source), "+r"(target), "=&r"(a)
                         : "r"(copies->rows), "r"(copies->source_step), "r"(copies->target_step)
                         : "memory");
    } else if (words == 2) {
        __asm__ volatile(MATCH_INSN_LOOP("%4", 4)
                         MATCH_INSN_LOAD4("%2", "%0")
                         MATCH_INSN_LOAD4_STEP("%3", "%0", "%5")
                         MATCH_INSN_STORE4("%2", "%1")
                         MATCH_INSN_STORE4_STEP("%3", "%1", "%6")
                         MATCH_INSN_LOOP_END
                         : "+r"(source), "+r"(target), "=&r"(a), "=&r"(b)
                         : "r"(copies->rows), "r"(copies->source_step - behind), "r"(copies->target_step - behind)
                         : "memory");
    } else if (words == 3) {
        __asm__ volatile(MATCH_INSN_LOOP("%5", 6)
                         MATCH_INSN_LOAD4("%2", "%0")
                         MATCH_INSN_LOAD4("%3", "%0")
                         MATCH_INSN_LOAD4_STEP("%4", "%0", "%6")
                         MATCH_INSN_STORE4("%2", "%1")
                         MATCH_INSN_STORE4("%3", "%1")
                         MATCH_INSN_STORE4_STEP("%4", "%1", "%7")
                         MATCH_INSN_LOOP_END
                         : "+r"(source), "+r"(target), "=&r"(a), "=&r"(b), "=&r"(c)
                         : "r"(copies->rows), "r"(copies->source_step - behind), "r"(copies->target_step - behind)
                         : "memory");
    } else if (words & 1) {
        __asm__ volatile(MATCH_INSN_OUTER_LOOP("%4", 8)
                         MATCH_INSN_LOOP("%5", 4)
                         MATCH_INSN_LOAD4("%2", "%0")
                         MATCH_INSN_LOAD4("%3", "%0")
                         MATCH_INSN_STORE4("%2", "%1")
                         MATCH_INSN_STORE4("%3", "%1")
                         MATCH_INSN_LOOP_END
                         MATCH_INSN_LOAD4_STEP("%2", "%0", "%6")
                         "nop\n"
                         MATCH_INSN_STORE4_STEP("%2", "%1", "%7")
                         MATCH_INSN_LOOP_END
                         : "+r"(source), "+r"(target), "=&r"(a), "=&r"(b)
                         : "r"(copies->rows), "r"(words >> 1), "r"(copies->source_step - behind),
                           "r"(copies->target_step - behind)
                         : "memory");
    } else {
        __asm__ volatile(MATCH_INSN_OUTER_LOOP("%4", 7)
                         MATCH_INSN_LOOP("%5", 4)
                         MATCH_INSN_LOAD4("%2", "%0")
                         MATCH_INSN_LOAD4("%3", "%0")
                         MATCH_INSN_STORE4("%2", "%1")
                         MATCH_INSN_STORE4("%3", "%1")
                         MATCH_INSN_LOOP_END
                         "add %0, %0, %6\n"
                         "add %1, %1, %7\n"
                         MATCH_INSN_LOOP_END
                         : "+r"(source), "+r"(target), "=&r"(a), "=&r"(b)
                         : "r"(copies->rows), "r"(words >> 1), "r"(copies->source_step - 4 * words),
                           "r"(copies->target_step - 4 * words)
                         : "memory");
    }
}

#else

MATCH_INLINE void match_copy_window(uint8_t *target, const uint8_t *source, const match_copies_t *copies, int32_t words)
{
    for (int32_t row = 0; row < copies->rows; row++) {
        for (int32_t word = 0; word < words; word++) {
            match_store4(target + 4 * word, match_load4(source + 4 * word));
        }
        source += copies->source_step;
        target += copies->target_step;
    }
}

#endif

MATCH_INLINE void match_copy_some_windows(uint8_t *target, ptrdiff_t target_step, const uint8_t *source,
                                          ptrdiff_t source_step, int32_t count, const match_copies_t *given,
                                          int32_t words)
{
    match_copies_t copies = *given;
    for (; count > 0; count--, target += target_step, source += source_step) {
        match_copy_window(target, source, &copies, words);
    }
}

/* Copy `count` windows, `target_step` and `source_step` bytes apart. */
static inline void match_copy_windows(uint8_t *target, ptrdiff_t target_step, const uint8_t *source,
                                      ptrdiff_t source_step, int32_t count, const match_copies_t *copies)
{
    if (copies->words == 1) {
        match_copy_some_windows(target, target_step, source, source_step, count, copies, 1);
    } else if (copies->words == 2) {
        match_copy_some_windows(target, target_step, source, source_step, count, copies, 2);
    } else if (copies->words == 3) {
        match_copy_some_windows(target, target_step, source, source_step, count, copies, 3);
    } else {
        match_copy_some_windows(target, target_step, source, source_step, count, copies, copies->words);
    }
}

/* What the windows of a row of outputs have in common. */
typedef struct {
    const uint8_t *input; /* the first row that they see of the input, NULL if there is none */
    match_range_t rows;
    ptrdiff_t row_step; /* bytes between rows that they see */
    int32_t row_bytes;
    bool dense;         /* whether a window's row is consecutive bytes */
    int32_t last;       /* column of the input that the last window begins at that can be copied by words */
} match_windows_t;

/* The last column at which a window can begin so that it lies inside the input, and so do the words of its rows. */
static inline int32_t match_last_column(const match_tile_t *tile, const match_windows_t *windows, int32_t last_row)
{
    int32_t last = tile->input_width - tile->filter_width;
    int32_t behind = -windows->row_bytes & 3;
    ptrdiff_t below = (ptrdiff_t)(tile->input_height - 1 - last_row) * tile->input_row_stride;
    for (; last >= 0 && behind > below; last--) {
        behind -= tile->channels_in;
    }
    return last;
}

static inline match_windows_t match_windows_of(const match_tile_t *tile, int32_t y)
{
    int32_t first = y * tile->stride_y - tile->pad_top;
    match_range_t rows = match_range_of(first, tile->dilation_y, tile->filter_height, tile->input_height);
    bool gapless = tile->dilation_x == 1 && tile->input_pixel_stride == tile->channels_in;
    match_windows_t windows = {
        .rows = rows,
        .row_step = (ptrdiff_t)tile->dilation_y * tile->input_row_stride,
        .row_bytes = tile->filter_width * tile->channels_in,
        .dense = gapless || tile->filter_width == 1,
        .last = -1,
    };
    if (rows.inside > 0) {
        int32_t last_row = first + (rows.before + rows.inside - 1) * tile->dilation_y;
        windows.input = match_input_pixel(tile, first + rows.before * tile->dilation_y, 0);
        if (windows.dense) {
            windows.last = match_last_column(tile, &windows, last_row);
        }
    }
    return windows;
}

/* Fill the filter rows of `count` windows that lie in the padding above and below: the same for all windows of the row,
 * but for what words leave behind the rows inside. */
static inline void match_pad_rows(const match_tile_t *tile, const match_windows_t *windows, int32_t count,
                                  uint8_t *columns, ptrdiff_t step)
{
    if (windows->rows.inside == tile->filter_height) {
        return;
    }
    int32_t end = windows->rows.before + windows->rows.inside;
    for (; count > 0; count--, columns += step) {
        match_fill(columns, tile->pad_value, windows->rows.before * windows->row_bytes);
        match_fill(columns + end * windows->row_bytes, tile->pad_value,
                   (tile->filter_height - end) * windows->row_bytes);
    }
}

/* A window of which some columns lie in the padding, pixels apart, or words behind the input: its rows in the input, the
 * first of them at `target`. Not inline, for it takes registers that other windows need not save. */
static __attribute__((noinline)) void match_border_window(const match_tile_t *tile, const match_windows_t *windows,
                                                          int32_t first, uint8_t *target)
{
    int32_t channels = tile->channels_in;
    int32_t rows = windows->rows.inside;
    match_range_t range = match_range_of(first, tile->dilation_x, tile->filter_width, tile->input_width);
    if (range.inside < tile->filter_width) {
        match_fill(target, tile->pad_value, rows * windows->row_bytes);
    }
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

/* Lay out the windows of output columns x .. x + count - 1, `step` bytes apart; rows in the padding stay as they are. Up
 * to four bytes behind a window are overwritten. */
static inline void match_im2col(const match_tile_t *tile, const match_windows_t *windows, int32_t x, int32_t count,
                                uint8_t *columns, ptrdiff_t step)
{
    int32_t rows = windows->rows.inside;
    match_copies_t copies = {rows, (windows->row_bytes + 3) >> 2, windows->row_step, windows->row_bytes};
    uint8_t *target = columns + windows->rows.before * windows->row_bytes;
    int32_t first = x * tile->stride_x - tile->pad_left;
    while (count > 0) {
        int32_t some = 1;
        if (first < 0 || first > windows->last) {
            match_border_window(tile, windows, first, target);
        } else {
            int32_t last = first + (count - 1) * tile->stride_x;
            some = last <= windows->last ? count : match_steps(windows->last + 1 - first, tile->stride_x);
            match_copy_windows(target, step, windows->input + first * tile->input_pixel_stride,
                               (ptrdiff_t)tile->stride_x * tile->input_pixel_stride, some, &copies);
            if (windows->rows.before + rows < tile->filter_height) {
                for (int32_t i = 0; i < some; i++) {
                    match_store4(target + i * step + rows * windows->row_bytes, match_word_of(tile->pad_value));
                }
            }
        }
        count -= some;
        first += some * tile->stride_x;
        target += some * step;
    }
}

#endif
