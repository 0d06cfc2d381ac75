#include <stdbool.h>
#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

/* What output pixel (y, x) sees of the input: its first pixel inside, how many rows and columns, and the bytes between
 * them. */
typedef struct {
    const uint8_t *first;
    int32_t rows;
    int32_t columns;
    ptrdiff_t row_step;
    ptrdiff_t column_step;
} window_t;

/* Of the windows of output row y, the input rows inside. */
static match_range_t rows_of(const match_tile_t *tile, int32_t y)
{
    return match_range_of(y * tile->stride_y - tile->pad_top, tile->dilation_y, tile->filter_height,
                          tile->input_height);
}

/* Rows without gaps between them are one. */
static window_t window_of(const match_tile_t *tile, match_range_t rows, int32_t y, int32_t x)
{
    match_position_t seen = match_seen(tile, y, x, rows.before, 0);
    match_range_t columns = match_range_of(seen.x, tile->dilation_x, tile->filter_width, tile->input_width);
    ptrdiff_t row_step = (ptrdiff_t)tile->dilation_y * tile->input_row_stride;
    ptrdiff_t column_step = (ptrdiff_t)tile->dilation_x * tile->input_pixel_stride;
    if (rows.inside == 0 || columns.inside == 0) {
        return (window_t){.first = NULL};
    }
    bool gapless = row_step == columns.inside * column_step;
    return (window_t){
        .first = match_input_pixel(tile, seen.y, seen.x + columns.before * tile->dilation_x),
        .rows = gapless ? 1 : rows.inside,
        .columns = gapless ? rows.inside * columns.inside : columns.inside,
        .row_step = row_step,
        .column_step = column_step,
    };
}

/* Pixels of a row that it pays to add by twos. */
enum { MANY_PIXELS = 32 };

#if defined(MATCH_PULP_INSN)

/* Pixels whose bytes add up to 16 bits. */
enum { MOST_PIXELS = 257 };

/* Of words with four channels the sum of all, and of halves with the second and the fourth channel. */
typedef struct {
    uint32_t all;
    uint32_t odd;
} halves_t;

/* What is left of the first sum, behind the second, are the first and the third channel. */
MATCH_INLINE void take_halves(int32_t acc[4], halves_t sums)
{
    uint32_t even = sums.all - (sums.odd << 8);
    acc[0] = (int32_t)(even & 0xffff);
    acc[1] = (int32_t)(sums.odd & 0xffff);
    acc[2] = (int32_t)(even >> 16);
    acc[3] = (int32_t)(sums.odd >> 16);
}

/* Add `count` > 0 pixels, `step` bytes apart; the address behind them. A pixel's halves are added behind the next load,
 * which would be waited for. */
MATCH_INLINE const uint8_t *add_halves(halves_t *sums, const uint8_t *pixel, ptrdiff_t step, int32_t count)
{
    uint32_t word;
    uint32_t upper = 0;
    __asm__ volatile(MATCH_INSN_LOOP("%[count]", 4)
                     MATCH_INSN_LOAD4_STEP("%[word]", "%[pixel]", "%[step]")
                     "add %[odd], %[odd], %[upper]\n"
                     MATCH_INSN_SHIFT_HALVES("%[upper]", "%[word]", "%[eight]")
                     "add %[all], %[all], %[word]\n"
                     MATCH_INSN_LOOP_END
                     : [all] "+&r"(sums->all), [odd] "+&r"(sums->odd), [pixel] "+&r"(pixel), [word] "=&r"(word),
                       [upper] "+&r"(upper)
                     : [count] "r"(count), [step] "r"(step), [eight] "r"(8)
                     : "memory");
    sums->odd += upper;
    return pixel;
}

/* The same of all rows of a window, which has some. */
MATCH_INLINE void add_rows(halves_t *sums, const uint8_t *pixel, const window_t *window)
{
    uint32_t word;
    uint32_t upper = 0;
    __asm__ volatile(MATCH_INSN_OUTER_LOOP("%[rows]", 7)
                     MATCH_INSN_LOOP("%[columns]", 4)
                     MATCH_INSN_LOAD4_STEP("%[word]", "%[pixel]", "%[step]")
                     "add %[odd], %[odd], %[upper]\n"
                     MATCH_INSN_SHIFT_HALVES("%[upper]", "%[word]", "%[eight]")
                     "add %[all], %[all], %[word]\n"
                     MATCH_INSN_LOOP_END
                     "add %[pixel], %[pixel], %[gap]\n"
                     "nop\n"
                     MATCH_INSN_LOOP_END
                     : [all] "+&r"(sums->all), [odd] "+&r"(sums->odd), [pixel] "+&r"(pixel), [word] "=&r"(word),
                       [upper] "+&r"(upper)
                     : [rows] "r"(window->rows), [columns] "r"(window->columns), [step] "r"(window->column_step),
                       [gap] "r"(window->row_step - window->columns * window->column_step), [eight] "r"(8)
                     : "memory");
    sums->odd += upper;
}

/* Of the odd bytes of two words, the second ones and then the fourth ones; and ones over those of a channel. */
enum { ODD = 0x07030501, SECONDS = 0x00000101, FOURTHS = 0x01010000 };

/* The same of many pixels, by twos: 7 instructions for 8. */
MATCH_INLINE void add_pairs(halves_t *sums, const uint8_t *pixel, ptrdiff_t step, int32_t count)
{
    uint32_t word;
    uint32_t next;
    uint32_t second = 0;
    uint32_t fourth = 0;
    __asm__ volatile(MATCH_INSN_LOOP("%[pairs]", 7)
                     MATCH_INSN_LOAD4_STEP("%[word]", "%[pixel]", "%[step]")
                     MATCH_INSN_LOAD4_STEP("%[next]", "%[pixel]", "%[step]")
                     "add %[all], %[all], %[word]\n"
                     "add %[all], %[all], %[next]\n"
                     MATCH_INSN_LANES_OF_TWO("%[word]", "%[next]", "%[odd]")
                     MATCH_INSN_UNSIGNED_DOT4("%[second]", "%[word]", "%[seconds]")
                     MATCH_INSN_UNSIGNED_DOT4("%[fourth]", "%[word]", "%[fourths]")
                     MATCH_INSN_LOOP_END
                     : [all] "+&r"(sums->all), [second] "+&r"(second), [fourth] "+&r"(fourth), [pixel] "+&r"(pixel),
                       [word] "=&r"(word), [next] "=&r"(next)
                     : [pairs] "r"(count >> 1), [step] "r"(step), [odd] "r"(ODD), [seconds] "r"(SECONDS),
                       [fourths] "r"(FOURTHS)
                     : "memory");
    sums->odd += second | fourth << 16;
    if (count & 1) {
        (void)add_halves(sums, pixel, step, 1);
    }
}

/* Sums of four channels, which begin with what padding adds to each, of a filter with more pixels. */
static __attribute__((noinline)) void sum_large_window(const window_t *window, int32_t channel, int32_t padding,
                                                       int32_t acc[4])
{
    const uint8_t *row = window->first + channel;
    int32_t all[4] = {padding, padding, padding, padding};
    for (int32_t i = 0; i < window->rows; i++, row += window->row_step) {
        const uint8_t *pixel = row;
        for (int32_t left = window->columns; left > 0; left -= MOST_PIXELS) {
            halves_t sums = {0, 0};
            int32_t some[4];
            pixel = add_halves(&sums, pixel, window->column_step, match_smaller(left, MOST_PIXELS));
            take_halves(some, sums);
#pragma GCC unroll 4
            for (int32_t k = 0; k < 4; k++) {
                all[k] += some[k];
            }
        }
    }
#pragma GCC unroll 4
    for (int32_t k = 0; k < 4; k++) {
        acc[k] = all[k];
    }
}

/* The same of any filter, which may have `pixels` enough that a row of a window is long, or that it is large. */
MATCH_INLINE void sum_window(const window_t *window, int32_t channel, int32_t padding, int32_t acc[4], int32_t pixels)
{
    if (pixels > MOST_PIXELS) {
        window_t large = *window; /* so that other windows need not lie in memory */
        int32_t sums[4];
        sum_large_window(&large, channel, padding, sums);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            acc[i] = sums[i];
        }
        return;
    }
    uint32_t begin = (uint32_t)padding * 0x10001u;
    halves_t sums = {begin + (begin << 8), begin};
    const uint8_t *row = window->first + channel;
    int32_t left = window->rows;
    if (pixels >= MANY_PIXELS && window->columns >= MANY_PIXELS) {
        for (; left > 0; left--, row += window->row_step) {
            add_pairs(&sums, row, window->column_step, window->columns);
        }
    } else if (left > 0) {
        add_rows(&sums, row, window);
    }
    take_halves(acc, sums);
}

#else

/* Sums of four channels, which begin with what padding adds to each. */
MATCH_INLINE void sum_window(const window_t *window, int32_t channel, int32_t padding, int32_t acc[4], int32_t pixels)
{
    (void)pixels;
    const uint8_t *row = window->first + channel;
    for (int32_t i = 0; i < 4; i++) {
        acc[i] = padding;
    }
    for (int32_t i = 0; i < window->rows; i++, row += window->row_step) {
        const uint8_t *pixel = row;
        for (int32_t j = 0; j < window->columns; j++, pixel += window->column_step) {
            match_add4(acc, pixel);
        }
    }
}

#endif

/* The same of all channels of a window that has fewer. */
static void sum_few(const window_t *window, int32_t channels, int32_t padding, int32_t acc[4])
{
    const uint8_t *row = window->first;
    for (int32_t k = 0; k < channels; k++) {
        acc[k] = padding;
    }
    for (int32_t i = 0; i < window->rows; i++, row += window->row_step) {
        const uint8_t *pixel = row;
        for (int32_t j = 0; j < window->columns; j++, pixel += window->column_step) {
            for (int32_t k = 0; k < channels; k++) {
                acc[k] += pixel[k];
            }
        }
    }
}

/* Of a form of which much is inlined, or of any other. */
MATCH_INLINE uint8_t requantize(const match_finish_t *finish, int32_t channel, int32_t acc, match_form_t form)
{
    const uint8_t *parameters = match_parameters_of(finish, form, channel);
    if (form == MATCH_FORM_32) {
        return (uint8_t)match_requantize_32(finish, match_parameters_32(parameters), acc);
    }
    if (form == MATCH_FORM_SPLIT) {
        return (uint8_t)match_requantize_split(match_parameters_split(parameters), acc);
    }
    if (form == MATCH_FORM_SPLIT_SIGNED) {
        return (uint8_t)match_requantize_split_signed(match_parameters_split_signed(parameters), acc);
    }
    return match_requantize(finish, channel, acc);
}

MATCH_INLINE void average(const match_tile_t *tile, const match_finish_t *finish, const window_t *window,
                          match_share_t share, uint8_t *output, match_form_t form, bool many)
{
    const window_t seen = *window; /* stores to the output leave it alone */
    int32_t filter = tile->filter_height * tile->filter_width;
    int32_t padding = (filter - seen.rows * seen.columns) * tile->pad_value;
    int32_t pixels = many ? filter : 0;
    int32_t k = share.first;
    uint8_t *place = output + k;
    for (; k + 4 <= share.last; k += 4) {
        int32_t acc[4];
        sum_window(&seen, k, padding, acc, pixels);
#pragma GCC unroll 4
        for (int32_t i = 0; i < 4; i++) {
            acc[i] = requantize(finish, k + i, acc[i], form);
        }
        match_store_bytes4(&place, acc);
    }
    if (k < share.last) {
        int32_t acc[4];
        int32_t from = share.last < 4 ? 0 : share.last - 4; /* some of these are done */
        if (share.last < 4) {
            sum_few(window, share.last, padding, acc);
        } else {
            sum_window(&seen, from, padding, acc, pixels);
        }
        for (; k < share.last; k++) {
            output[k] = requantize(finish, k, acc[k - from], form);
        }
    }
}

/* Largest byte of one channel of a window. */
static int32_t largest1(const window_t *window, int32_t channel)
{
    int32_t largest = 0;
    const uint8_t *row = window->first + channel;
    for (int32_t i = 0; i < window->rows; i++, row += window->row_step) {
        const uint8_t *pixel = row;
        for (int32_t j = 0; j < window->columns; j++, pixel += window->column_step) {
            largest = match_larger(largest, *pixel);
        }
    }
    return largest;
}

#if defined(MATCH_PULP_INSN)

/* Columns of a window that are taken together. */
enum { MOST_COLUMNS = 3 };

/* Largest bytes of fours of channels, `fours` > 0 of them, of some columns of a window, its rows `row_step` apart from the last
 * of these columns on; and of what is at `before`, one word for all or the outputs so far (`before_step`). */
typedef struct {
    const uint8_t *first;
    int32_t rows;
    ptrdiff_t row_step;
    ptrdiff_t column_step;
    const uint8_t *before;
    ptrdiff_t before_step;
    int32_t fours;
} largest_t;

#define MAXIMUM(value) MATCH_INSN_MAX4("%[largest]", "%[largest]", value)
#define COLUMN(value) MATCH_INSN_LOAD4_STEP(value, "%[pixel]", "%[column_step]")
#define LAST_COLUMN(value) MATCH_INSN_LOAD4_STEP(value, "%[pixel]", "%[row_step]")
#define LARGEST(instructions, columns)                                                                             \
    __asm__ volatile(MATCH_INSN_OUTER_LOOP("%[fours]", 5 + (instructions))                                         \
                     MATCH_INSN_LOAD4_STEP("%[largest]", "%[before]", "%[before_step]")                            \
                     "mv %[pixel], %[first]\n"                                                                    \
                     MATCH_INSN_LOOP("%[rows]", instructions)                                                      \
                     columns                                                                                       \
                     MATCH_INSN_LOOP_END                                                                           \
                     "addi %[first], %[first], 4\n"                                                               \
                     MATCH_INSN_STORE4("%[largest]", "%[output]")                                                  \
                     MATCH_INSN_LOOP_END                                                                           \
                     : [first] "+r"(part.first), [before] "+r"(part.before), [output] "+r"(output),                \
                       [pixel] "=&r"(pixel), [largest] "=&r"(largest), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)    \
                     : [rows] "r"(part.rows), [row_step] "r"(part.row_step), [column_step] "r"(part.column_step),  \
                       [before_step] "r"(part.before_step), [fours] "r"(part.fours)                                \
                     : "memory")

/* A load stays away from what uses it, which would wait a cycle. */
static void largest_of_columns(largest_t part, int32_t columns, uint8_t *output)
{
    const uint8_t *pixel;
    match_bytes4_t largest, a, b, c;
    if (columns == 1) {
        LARGEST(3, LAST_COLUMN("%[a]") "nop\n" MAXIMUM("%[a]"));
    } else if (columns == 2) {
        LARGEST(4, COLUMN("%[a]") LAST_COLUMN("%[b]") MAXIMUM("%[a]") MAXIMUM("%[b]"));
    } else {
        LARGEST(6, COLUMN("%[a]") COLUMN("%[b]") LAST_COLUMN("%[c]") MAXIMUM("%[a]") MAXIMUM("%[b]") MAXIMUM("%[c]"));
    }
}

/* Largest bytes of fours of channels of a window, from a channel on. */
static void largest_fours(const window_t *window, int32_t channel, int32_t fours, uint8_t *output)
{
    const match_bytes4_t none = 0; /* on the stack, which cores reach in a cycle; each four of channels loads it */
    largest_t part = {
        .first = window->first + channel,
        .rows = window->rows,
        .column_step = window->column_step,
        .before = (const uint8_t *)&none,
        .before_step = 0,
        .fours = fours,
    };
    for (int32_t left = window->columns; left > 0; left -= MOST_COLUMNS) {
        int32_t columns = match_smaller(left, MOST_COLUMNS);
        part.row_step = window->row_step - (columns - 1) * window->column_step;
        largest_of_columns(part, columns, output);
        part.first += columns * window->column_step;
        part.before = output;
        part.before_step = 4;
    }
}

#else

/* Largest bytes of fours of channels of a window, from a channel on. */
static void largest_fours(const window_t *window, int32_t channel, int32_t fours, uint8_t *output)
{
    for (; fours > 0; fours--, channel += 4) {
        match_largest4_t largest = {0};
        const uint8_t *row = window->first + channel;
        for (int32_t i = 0; i < window->rows; i++, row += window->row_step) {
            const uint8_t *pixel = row;
            for (int32_t j = 0; j < window->columns; j++, pixel += window->column_step) {
                largest = match_max4(largest, pixel);
            }
        }
        for (int32_t i = 0; i < 4; i++) {
            *output++ = (uint8_t)match_take_byte(&largest);
        }
    }
}

#endif

/* The last channels, fewer than four, are among four if these are all of this core. */
static void maximum(const match_finish_t *finish, const window_t *window, match_share_t share, uint8_t *output)
{
    int32_t fours = (share.last - share.first) / 4;
    int32_t k = share.first + 4 * fours;
    if (fours > 0) {
        largest_fours(window, share.first, fours, output + share.first);
    }
    if (k < share.last && fours > 0) {
        largest_fours(window, share.last - 4, 1, output + share.last - 4);
        k = share.last;
    }
    for (; k < share.last; k++) {
        output[k] = (uint8_t)largest1(window, k);
    }
    if (finish->clip_low > 0 || finish->clip_high < 255) {
        for (k = share.first; k < share.last; k++) {
            output[k] = match_clip(finish, output[k]);
        }
    }
}

/* This core's part of a tile: all channels of some pixels, from (y, x) on, or some channels of all where there are few. */
typedef struct {
    match_share_t channels;
    int32_t y;
    int32_t x;
    int32_t pixels;
    int32_t first_whole; /* columns of outputs whose windows see no padding beside them */
    int32_t last_whole;
    ptrdiff_t step; /* from the window of one of these to the next one's */
} part_t;

static part_t part_of(const match_tile_t *tile)
{
    int32_t pixels = tile->output_height * tile->output_width;
    int32_t furthest = tile->input_width + tile->pad_left - (tile->filter_width - 1) * tile->dilation_x - 1;
    part_t part = {
        .pixels = pixels,
        .first_whole = match_steps(tile->pad_left, tile->stride_x),
        .last_whole = furthest < 0 || tile->stride_x == 1 ? furthest : furthest / tile->stride_x,
        .step = (ptrdiff_t)tile->stride_x * tile->input_pixel_stride,
    };
    if (pixels < match_core_count()) {
        part.channels = match_share_channels(tile->channels_out, 0);
        return part;
    }
    match_share_t share = match_share(pixels);
    part.channels = (match_share_t){0, tile->channels_out};
    part.pixels = share.last - share.first;
    if (share.first > 0) {
        part.y = share.first / tile->output_width;
        part.x = share.first - part.y * tile->output_width;
    }
    return part;
}

/* The window of the next pixel of a row, behind that of the one before it, if `begun`. */
static inline void move_on(window_t *window, const match_tile_t *tile, const part_t *part, match_range_t rows, int32_t y,
                           int32_t x, bool begun)
{
    if (begun && x > part->first_whole && x <= part->last_whole) {
        window->first += rows.inside > 0 ? part->step : 0;
    } else {
        *window = window_of(tile, rows, y, x);
    }
}

MATCH_INLINE void averages(const match_tile_t *tile, const match_finish_t *given, match_form_t form, bool many)
{
    match_finish_t finish = *given;
    part_t part = part_of(tile);
    int32_t x = part.x;
    for (int32_t y = part.y, left = part.pixels; left > 0; y++, x = 0) {
        match_range_t rows = rows_of(tile, y);
        window_t window = {.first = NULL};
        for (int32_t first = x; x < tile->output_width && left > 0; x++, left--) {
            move_on(&window, tile, &part, rows, y, x, x > first);
            average(tile, &finish, &window, part.channels, match_output_pixel(tile, y, x), form, many);
        }
    }
}

/* Loops of their own by form and by whether windows have many pixels: what small windows need fits the registers. */
#define AVERAGES(name, form, many) \
    static __attribute__((noinline)) void name(const match_tile_t *tile, const match_finish_t *finish) \
    { \
        averages(tile, finish, form, many); \
    }
AVERAGES(averages_32, MATCH_FORM_32, false)
AVERAGES(averages_split, MATCH_FORM_SPLIT, false)
AVERAGES(averages_signed, MATCH_FORM_SPLIT_SIGNED, true)
AVERAGES(averages_other, MATCH_FORM_64, true) /* finish has the form */
#if defined(MATCH_PULP_INSN)
AVERAGES(many_averages_32, MATCH_FORM_32, true)
AVERAGES(many_averages_split, MATCH_FORM_SPLIT, true)
#else
#define many_averages_32 averages_32
#define many_averages_split averages_split
#endif

static void avg_pool2d(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    bool many = tile->filter_height * tile->filter_width >= MANY_PIXELS;
    if (finish.excepted != NULL) {
        averages_other(tile, &finish);
    } else if (finish.form == MATCH_FORM_32) {
        (many ? many_averages_32 : averages_32)(tile, &finish);
    } else if (finish.form == MATCH_FORM_SPLIT) {
        (many ? many_averages_split : averages_split)(tile, &finish);
    } else if (finish.form == MATCH_FORM_SPLIT_SIGNED) {
        averages_signed(tile, &finish);
    } else {
        averages_other(tile, &finish);
    }
}

void match_pulp_avg_pool2d(const match_tile_t *tile)
{
    avg_pool2d(tile, MATCH_FORM_64);
}

void match_pulp_avg_pool2d_split(const match_tile_t *tile)
{
    avg_pool2d(tile, MATCH_FORM_SPLIT);
}

void match_pulp_avg_pool2d_int32(const match_tile_t *tile)
{
    avg_pool2d(tile, MATCH_FORM_32);
}

void match_pulp_max_pool2d(const match_tile_t *tile)
{
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_64);
    part_t part = part_of(tile);
    int32_t x = part.x;
    for (int32_t y = part.y, left = part.pixels; left > 0; y++, x = 0) {
        match_range_t rows = rows_of(tile, y);
        window_t window = {.first = NULL};
        for (int32_t first = x; x < tile->output_width && left > 0; x++, left--) {
            move_on(&window, tile, &part, rows, y, x, x > first);
            maximum(&finish, &window, part.channels, match_output_pixel(tile, y, x));
        }
    }
}
