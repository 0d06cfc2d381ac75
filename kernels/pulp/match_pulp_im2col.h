/* Columns of the input side by side, each (filter_height, channels_in), so that a window is one run of bytes, (filter_width,
 * filter_height, channels_in), and windows beside each other share columns. */
#ifndef MATCH_PULP_IM2COL_H
#define MATCH_PULP_IM2COL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
            memcpy(to, from, 8); /* of so many bytes compilers make moves that are best for the core */
        }
#endif
        if (bytes & 7) {
            match_copy_rest(to, from, bytes);
        }
    }
}

/* Columns of pixels to be copied: `rows` pixels of `bytes` bytes, which lie one behind the other in the target. */
typedef struct {
    int32_t columns;
    int32_t rows;
    int32_t bytes;
    ptrdiff_t source_row;  /* bytes from a row to the next */
    ptrdiff_t source_step; /* bytes from a column to the next */
    ptrdiff_t target_step;
} match_copies_t;

#if defined(MATCH_PULP_INSN)

/* Pixels of one piece each, two at a time, as a store waits for the load right before it; the last of an odd number by
 * itself. */
#define MATCH_COPY_PAIRS(LOAD_ROW, STORE) \
    MATCH_INSN_LOOP("%6", 4) \
    LOAD_ROW("%2", "%0", "%4") \
    LOAD_ROW("%3", "%0", "%4") \
    STORE("%2", "%1") \
    STORE("%3", "%1") \
    MATCH_INSN_LOOP_END
#define MATCH_COPY_EVEN(LOAD_ROW, STORE) \
    MATCH_INSN_OUTER_LOOP("%5", 7) \
    MATCH_COPY_PAIRS(LOAD_ROW, STORE) \
    "add %0, %0, %7\n" \
    "add %1, %1, %8\n" \
    MATCH_INSN_LOOP_END
#define MATCH_COPY_ODD(LOAD_ROW, STORE) \
    MATCH_INSN_OUTER_LOOP("%5", 9) \
    MATCH_COPY_PAIRS(LOAD_ROW, STORE) \
    LOAD_ROW("%2", "%0", "%4") \
    "add %0, %0, %7\n" \
    STORE("%2", "%1") \
    "add %1, %1, %8\n" \
    MATCH_INSN_LOOP_END
#define MATCH_COPY_ONE(LOAD_ROW, STORE) \
    MATCH_INSN_OUTER_LOOP("%5", 4) \
    LOAD_ROW("%2", "%0", "%4") \
    "add %0, %0, %7\n" \
    STORE("%2", "%1") \
    "add %1, %1, %8\n" \
    MATCH_INSN_LOOP_END
#define MATCH_COPY_THREE_BYTES(LOAD_ROW, STORE) \
    MATCH_INSN_OUTER_LOOP("%5", 7) \
    MATCH_INSN_LOOP("%6", 4) \
    MATCH_INSN_LOAD2("%2", "%0") \
    MATCH_INSN_LOAD_BYTE_STEP("%3", "%0", "%4") \
    MATCH_INSN_STORE2("%2", "%1") \
    MATCH_INSN_STORE_BYTE("%3", "%1") \
    MATCH_INSN_LOOP_END \
    "add %0, %0, %7\n" \
    "add %1, %1, %8\n" \
    MATCH_INSN_LOOP_END

#define MATCH_COPY(LOOPS, LOAD_ROW, STORE, source_row, loops) \
    __asm__ volatile(LOOPS(LOAD_ROW, STORE) \
                     : "+r"(source), "+r"(target), "=&r"(a), "=&r"(b) \
                     : "r"(source_row), "r"(columns), "r"(loops), "r"(source_back), "r"(target_back) \
                     : "memory")
#define MATCH_COPY_BY(LOAD_ROW, STORE) \
    if (copies->rows == 1) { \
        MATCH_COPY(MATCH_COPY_ONE, LOAD_ROW, STORE, copies->source_row, 0); \
    } else if (copies->rows & 1) { \
        MATCH_COPY(MATCH_COPY_ODD, LOAD_ROW, STORE, copies->source_row, copies->rows >> 1); \
    } else { \
        MATCH_COPY(MATCH_COPY_EVEN, LOAD_ROW, STORE, copies->source_row, copies->rows >> 1); \
    }

/* Fours of columns, whose pixels are bytes side by side: what they have of a row is a word, and of four rows a block that is
 * turned, a word for each column. The last two rows are turned the same way, and a single one is taken apart. */
MATCH_INLINE void match_turn_columns(uint8_t *target, const uint8_t *source, const match_copies_t *copies)
{
    enum { FIRST_TWO = 0x05010400, LAST_TWO = 0x07030602, UPPER = 0x07060302 }; /* lanes of two words */
    int32_t fours = copies->rows >> 2;
    int32_t columns = copies->columns >> 2;
    ptrdiff_t row = copies->source_row;
    ptrdiff_t step = copies->target_step;
    uint32_t a, b, c, d, e, f;
    if (fours > 0) {
        const uint8_t *from = source;
        uint8_t *to = target;
        __asm__ volatile(MATCH_INSN_OUTER_LOOP("%[columns]", 21)
                         MATCH_INSN_LOOP("%[fours]", 18)
                         MATCH_INSN_LOAD4_STEP("%[a]", "%[from]", "%[row]")
                         MATCH_INSN_LOAD4_STEP("%[b]", "%[from]", "%[row]")
                         MATCH_INSN_LOAD4_STEP("%[c]", "%[from]", "%[row]")
                         MATCH_INSN_LOAD4_STEP("%[d]", "%[from]", "%[row]")
                         "mv %[e], %[a]\n"
                         MATCH_INSN_LANES_OF_TWO("%[e]", "%[b]", "%[first]")
                         MATCH_INSN_LANES_OF_TWO("%[a]", "%[b]", "%[last]")
                         "mv %[f], %[c]\n"
                         MATCH_INSN_LANES_OF_TWO("%[f]", "%[d]", "%[first]")
                         MATCH_INSN_LANES_OF_TWO("%[c]", "%[d]", "%[last]")
                         MATCH_INSN_PACK_HALVES("%[b]", "%[f]", "%[e]")
                         MATCH_INSN_LANES_OF_TWO("%[e]", "%[f]", "%[upper]")
                         MATCH_INSN_PACK_HALVES("%[d]", "%[c]", "%[a]")
                         MATCH_INSN_LANES_OF_TWO("%[a]", "%[c]", "%[upper]")
                         MATCH_INSN_STORE4_STEP("%[b]", "%[to]", "%[step]")
                         MATCH_INSN_STORE4_STEP("%[e]", "%[to]", "%[step]")
                         MATCH_INSN_STORE4_STEP("%[d]", "%[to]", "%[step]")
                         MATCH_INSN_STORE4_STEP("%[a]", "%[to]", "%[on]")
                         MATCH_INSN_LOOP_END
                         "add %[from], %[from], %[from_on]\n"
                         "add %[to], %[to], %[to_on]\n"
                         MATCH_INSN_LOOP_END
                         : [from] "+&r"(from), [to] "+&r"(to), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d),
                           [e] "=&r"(e), [f] "=&r"(f)
                         : [columns] "r"(columns), [fours] "r"(fours), [row] "r"(row), [step] "r"(step),
                           [on] "r"(4 - 3 * step), [from_on] "r"(4 - 4 * fours * row),
                           [to_on] "r"(4 * step - 4 * fours), [first] "r"(FIRST_TWO), [last] "r"(LAST_TWO),
                           [upper] "r"(UPPER)
                         : "memory");
    }
    if (copies->rows & 2) {
        const uint8_t *from = source + 4 * fours * row;
        uint8_t *to = target + 4 * fours;
        __asm__ volatile(MATCH_INSN_LOOP("%[columns]", 11)
                         MATCH_INSN_LOAD4_STEP("%[a]", "%[from]", "%[row]")
                         MATCH_INSN_LOAD4_STEP("%[b]", "%[from]", "%[back]")
                         "mv %[e], %[a]\n"
                         MATCH_INSN_LANES_OF_TWO("%[e]", "%[b]", "%[first]")
                         MATCH_INSN_LANES_OF_TWO("%[a]", "%[b]", "%[last]")
                         MATCH_INSN_STORE2_STEP("%[e]", "%[to]", "%[step]")
                         "srli %[e], %[e], 16\n"
                         MATCH_INSN_STORE2_STEP("%[e]", "%[to]", "%[step]")
                         MATCH_INSN_STORE2_STEP("%[a]", "%[to]", "%[step]")
                         "srli %[a], %[a], 16\n"
                         MATCH_INSN_STORE2_STEP("%[a]", "%[to]", "%[step]")
                         MATCH_INSN_LOOP_END
                         : [from] "+&r"(from), [to] "+&r"(to), [a] "=&r"(a), [b] "=&r"(b), [e] "=&r"(e)
                         : [columns] "r"(columns), [row] "r"(row), [back] "r"(4 - row), [step] "r"(step),
                           [first] "r"(FIRST_TWO), [last] "r"(LAST_TWO)
                         : "memory");
    }
    if (copies->rows & 1) {
        const uint8_t *from = source + (copies->rows - 1) * row;
        uint8_t *to = target + copies->rows - 1;
        __asm__ volatile(MATCH_INSN_LOOP("%[columns]", 8)
                         MATCH_INSN_LOAD4("%[a]", "%[from]")
                         MATCH_INSN_STORE_BYTE_STEP("%[a]", "%[to]", "%[step]")
                         "srli %[a], %[a], 8\n"
                         MATCH_INSN_STORE_BYTE_STEP("%[a]", "%[to]", "%[step]")
                         "srli %[a], %[a], 8\n"
                         MATCH_INSN_STORE_BYTE_STEP("%[a]", "%[to]", "%[step]")
                         "srli %[a], %[a], 8\n"
                         MATCH_INSN_STORE_BYTE_STEP("%[a]", "%[to]", "%[step]")
                         MATCH_INSN_LOOP_END
                         : [from] "+&r"(from), [to] "+&r"(to), [a] "=&r"(a)
                         : [columns] "r"(columns), [step] "r"(step)
                         : "memory");
    }
}

/* Pixels of up to a word. */
MATCH_INLINE void match_copy_small_pixels(uint8_t *target, const uint8_t *source, const match_copies_t *copies)
{
    int32_t columns = copies->columns;
    if (copies->bytes == 1 && copies->source_step == 1 && columns >= 4) {
        match_turn_columns(target, source, copies);
        int32_t turned = columns & ~3;
        columns -= turned;
        if (columns == 0) {
            return;
        }
        source += turned;
        target += turned * copies->target_step;
    }
    uint32_t a, b;
    ptrdiff_t source_back = copies->source_step - copies->rows * copies->source_row;
    ptrdiff_t target_back = copies->target_step - copies->rows * copies->bytes;
    if (copies->bytes == 1) {
        MATCH_COPY_BY(MATCH_INSN_LOAD_BYTE_STEP, MATCH_INSN_STORE_BYTE)
    } else if (copies->bytes == 2) {
        MATCH_COPY_BY(MATCH_INSN_LOAD2_STEP, MATCH_INSN_STORE2)
    } else if (copies->bytes == 4) {
        MATCH_COPY_BY(MATCH_INSN_LOAD4_STEP, MATCH_INSN_STORE4)
    } else {
        MATCH_COPY(MATCH_COPY_THREE_BYTES, , , copies->source_row - 2, copies->rows);
    }
}

#define MATCH_COPY_OPERANDS(source_step, target_step) \
    "+r"(source), "+r"(target), "=&r"(a), "=&r"(b) \
        : "r"(copies->columns), "r"(source_step), "r"(target_step), "r"(words >> 1) : "memory"

/* A row of pixels of two words and more. */
MATCH_INLINE void match_copy_words(uint8_t *target, const uint8_t *source, const match_copies_t *copies)
{
    uint32_t a, b;
    int32_t words = copies->bytes >> 2;
    ptrdiff_t behind = 4 * (words - 1);
    if (words == 2) {
        __asm__ volatile(MATCH_INSN_LOOP("%4", 4)
                         MATCH_INSN_LOAD4("%2", "%0")
                         MATCH_INSN_LOAD4_STEP("%3", "%0", "%5")
                         MATCH_INSN_STORE4("%2", "%1")
                         MATCH_INSN_STORE4_STEP("%3", "%1", "%6")
                         MATCH_INSN_LOOP_END
                         : MATCH_COPY_OPERANDS(copies->source_step - behind, copies->target_step - behind));
    } else if (words & 1) {
        __asm__ volatile(MATCH_INSN_OUTER_LOOP("%4", 8)
                         MATCH_INSN_LOOP("%7", 4)
                         MATCH_INSN_LOAD4("%2", "%0")
                         MATCH_INSN_LOAD4("%3", "%0")
                         MATCH_INSN_STORE4("%2", "%1")
                         MATCH_INSN_STORE4("%3", "%1")
                         MATCH_INSN_LOOP_END
                         MATCH_INSN_LOAD4_STEP("%2", "%0", "%5")
                         "nop\n"
                         MATCH_INSN_STORE4_STEP("%2", "%1", "%6")
                         MATCH_INSN_LOOP_END
                         : MATCH_COPY_OPERANDS(copies->source_step - behind, copies->target_step - behind));
    } else {
        __asm__ volatile(MATCH_INSN_OUTER_LOOP("%4", 7)
                         MATCH_INSN_LOOP("%7", 4)
                         MATCH_INSN_LOAD4("%2", "%0")
                         MATCH_INSN_LOAD4("%3", "%0")
                         MATCH_INSN_STORE4("%2", "%1")
                         MATCH_INSN_STORE4("%3", "%1")
                         MATCH_INSN_LOOP_END
                         "add %0, %0, %5\n"
                         "add %1, %1, %6\n"
                         MATCH_INSN_LOOP_END
                         : MATCH_COPY_OPERANDS(copies->source_step - 4 * words, copies->target_step - 4 * words));
    }
}

#endif

MATCH_INLINE void match_copy_columns(uint8_t *target, const uint8_t *source, const match_copies_t *copies)
{
#if defined(MATCH_PULP_INSN)
    if (copies->bytes <= 4) {
        match_copy_small_pixels(target, source, copies);
        return;
    }
#endif
    for (int32_t row = copies->rows; row > 0; row--, target += copies->bytes, source += copies->source_row) {
#if defined(MATCH_PULP_INSN)
        if (copies->bytes % 4 == 0) {
            match_copy_words(target, source, copies);
            continue;
        }
#endif
        match_copy_rows(target, copies->target_step, source, copies->source_step, copies->columns, copies->bytes);
    }
}

/* What the windows of a row of outputs have in common: the rows that they see. */
typedef struct {
    const uint8_t *input; /* the first one inside the input, NULL if there is none */
    match_range_t rows;
    ptrdiff_t row_step;   /* bytes between them */
} match_windows_t;

static inline match_windows_t match_windows_of(const match_tile_t *tile, int32_t y)
{
    int32_t first = y * tile->stride_y - tile->pad_top;
    match_windows_t windows = {
        .rows = match_range_of(first, tile->dilation_y, tile->filter_height, tile->input_height),
        .row_step = (ptrdiff_t)tile->dilation_y * tile->input_row_stride,
    };
    if (windows.rows.inside > 0) {
        windows.input = match_input_pixel(tile, first + windows.rows.before * tile->dilation_y, 0);
    }
    return windows;
}

/* Fill `count` columns, `step` bytes apart, of `bytes` bytes each. */
static inline void match_fill_columns(uint8_t *target, ptrdiff_t step, int32_t value, int32_t count, int32_t bytes)
{
    if (step == bytes) {
        match_fill(target, value, count * bytes);
        return;
    }
    for (; count > 0; count--, target += step) {
        match_fill(target, value, bytes);
    }
}

/* Lay out `count` columns of the input, each `step` columns behind the last, from number `first` on, `target_step` bytes
 * apart. Where windows reach above or below the input, what lies in the padding is there already. */
static inline void match_im2col(const match_tile_t *tile, const match_windows_t *windows, int32_t first, int32_t step,
                                int32_t count, uint8_t *target, ptrdiff_t target_step)
{
    int32_t channels = tile->channels_in;
    int32_t bytes = tile->filter_height * channels;
    match_range_t range = {count, 0};
    if (windows->rows.inside > 0) {
        range = match_range_of(first, step, count, tile->input_width);
    }
    if (range.inside < count && windows->rows.inside == tile->filter_height) {
        int32_t end = range.before + range.inside;
        match_fill_columns(target, target_step, tile->pad_value, range.before, bytes);
        match_fill_columns(target + end * target_step, target_step, tile->pad_value, count - end, bytes);
    }
    if (range.inside == 0) {
        return;
    }
    match_copies_t copies = {
        .columns = range.inside,
        .rows = windows->rows.inside,
        .bytes = channels,
        .source_row = windows->row_step,
        .source_step = (ptrdiff_t)step * tile->input_pixel_stride,
        .target_step = target_step,
    };
    match_copy_columns(target + range.before * target_step + windows->rows.before * channels,
                       windows->input + (first + range.before * step) * tile->input_pixel_stride, &copies);
}

#endif
