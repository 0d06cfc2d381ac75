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
    acc[0] += (int32_t)(even & 0xffff);
    acc[1] += (int32_t)(sums.odd & 0xffff);
    acc[2] += (int32_t)(even >> 16);
    acc[3] += (int32_t)(sums.odd >> 16);
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

/* The four sums of a window with more pixels. */
static __attribute__((noinline)) void sum_large_window(const window_t *window, int32_t channel, int32_t acc[4])
{
    const uint8_t *row = window->first + channel;
    for (int32_t i = 0; i < window->rows; i++, row += window->row_step) {
        const uint8_t *pixel = row;
        for (int32_t left = window->columns; left > 0; left -= MOST_PIXELS) {
            halves_t sums = {0, 0};
            pixel = add_halves(&sums, pixel, window->column_step, match_smaller(left, MOST_PIXELS));
            take_halves(acc, sums);
        }
    }
}

/* Add four channels of a window, which may have `many` pixels in a row, to four sums. */
MATCH_INLINE void sum_window(const window_t *window, int32_t channel, int32_t acc[4], bool many)
{
    if (window->rows * window->columns > MOST_PIXELS) {
        int32_t sums[4] = {0}; /* apart, so that those of other windows need not lie in memory */
        sum_large_window(window, channel, sums);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            acc[i] += sums[i];
        }
        return;
    }
    halves_t sums = {0, 0};
    const uint8_t *row = window->first + channel;
    int32_t left = window->rows;
    if (many && window->columns >= MANY_PIXELS) {
        for (; left > 0; left--, row += window->row_step) {
            add_pairs(&sums, row, window->column_step, window->columns);
        }
    }
    for (; left > 0; left--, row += window->row_step) {
        (void)add_halves(&sums, row, window->column_step, window->columns);
    }
    take_halves(acc, sums);
}

#else

/* Add four channels of a window to four sums. */
MATCH_INLINE void sum_window(const window_t *window, int32_t channel, int32_t acc[4], bool many)
{
    (void)many;
    const uint8_t *row = window->first + channel;
    for (int32_t i = 0; i < window->rows; i++, row += window->row_step) {
        const uint8_t *pixel = row;
        for (int32_t j = 0; j < window->columns; j++, pixel += window->column_step) {
            match_add4(acc, pixel);
        }
    }
}

#endif

/* The same of all channels of a window that has fewer. */
static void sum_few(const window_t *window, int32_t channels, int32_t acc[4])
{
    const uint8_t *row = window->first;
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
    return match_requantize(finish, channel, acc);
}

MATCH_INLINE void average(const match_tile_t *tile, const match_finish_t *finish, const window_t *window,
                          match_share_t share, uint8_t *output, match_form_t form, bool many)
{
    const window_t seen = *window; /* stores to the output leave it alone */
    int32_t padded = tile->filter_height * tile->filter_width - seen.rows * seen.columns;
    int32_t padding = padded * tile->pad_value;
    int32_t k = share.first;
    uint8_t *place = output + k;
    for (; k + 4 <= share.last; k += 4) {
        int32_t acc[4] = {padding, padding, padding, padding};
        sum_window(&seen, k, acc, many);
#pragma GCC unroll 4
        for (int32_t i = 0; i < 4; i++) {
            acc[i] = requantize(finish, k + i, acc[i], form);
        }
        match_store_bytes4(&place, acc);
    }
    if (k < share.last) {
        int32_t acc[4] = {padding, padding, padding, padding};
        int32_t from = share.last < 4 ? 0 : share.last - 4; /* some of these are done */
        if (share.last < 4) {
            sum_few(&seen, share.last, acc);
        } else {
            sum_window(&seen, from, acc, many);
        }
        for (; k < share.last; k++) {
            output[k] = requantize(finish, k, acc[k - from], form);
        }
    }
}

/* Largest bytes of four channels of a window. */
static match_largest4_t largest4(const window_t *window, int32_t channel)
{
    match_largest4_t largest = {0};
    const uint8_t *row = window->first + channel;
    for (int32_t i = 0; i < window->rows; i++, row += window->row_step) {
        const uint8_t *pixel = row;
        for (int32_t j = 0; j < window->columns; j++, pixel += window->column_step) {
            largest = match_max4(largest, pixel);
        }
    }
    return largest;
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

static void maximum(const match_finish_t *finish, const window_t *window, match_share_t share, uint8_t *output)
{
    int32_t k = share.first;
    for (; k + 4 <= share.last; k += 4) {
        match_largest4_t largest = largest4(window, k);
        for (int32_t i = 0; i < 4; i++) {
            output[k + i] = match_clip(finish, match_take_byte(&largest));
        }
    }
    if (k < share.last && share.last >= 4) {
        match_largest4_t largest = largest4(window, share.last - 4); /* some of these are done */
        for (int32_t done = share.last - 4; done < k; done++) {
            (void)match_take_byte(&largest);
        }
        for (; k < share.last; k++) {
            output[k] = match_clip(finish, match_take_byte(&largest));
        }
    }
    for (; k < share.last; k++) {
        output[k] = match_clip(finish, largest1(window, k));
    }
}

MATCH_INLINE void averages(const match_tile_t *tile, const match_finish_t *given, match_form_t form, bool many)
{
    match_finish_t finish = *given;
    match_share_t channels = match_share_channels(tile->channels_out, 0);
    for (int32_t y = 0; y < tile->output_height; y++) {
        match_range_t rows = rows_of(tile, y);
        for (int32_t x = 0; x < tile->output_width; x++) {
            window_t window = window_of(tile, rows, y, x);
            average(tile, &finish, &window, channels, match_output_pixel(tile, y, x), form, many);
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
    match_share_t channels = match_share_channels(tile->channels_out, 0);
    for (int32_t y = 0; y < tile->output_height; y++) {
        match_range_t rows = rows_of(tile, y);
        for (int32_t x = 0; x < tile->output_width; x++) {
            window_t window = window_of(tile, rows, y, x);
            maximum(&finish, &window, channels, match_output_pixel(tile, y, x));
        }
    }
}
