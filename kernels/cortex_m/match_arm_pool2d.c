#include "match_arm_finish.h"
#include "match_arm_window.h"

enum { GROUP = 4, MOST_HALVES = 257 };

/* What output pixel (y, x) sees of the input: rows and columns of pixels. */
typedef struct {
    const uint8_t *first;
    int32_t rows;
    int32_t columns;
    ptrdiff_t row_step;
    ptrdiff_t column_step;
} view_t;

/* Positions at, at + step and so on, `count` of them, that lie before `size` and not before 0: the first one's number and
 * how many. */
static int32_t inside(int32_t at, int32_t step, int32_t count, int32_t size, int32_t *first)
{
    *first = 0;
    for (; *first < count && at < 0; at += step) {
        ++*first;
    }
    int32_t number = 0;
    for (; *first + number < count && at < size; at += step) {
        number++;
    }
    return number;
}

static view_t view_of(const match_tile_t *tile, int32_t y, int32_t x)
{
    int32_t row = y * tile->stride_y - tile->pad_top, column = x * tile->stride_x - tile->pad_left;
    int32_t above, before;
    view_t view = {
        .rows = inside(row, tile->dilation_y, tile->filter_height, tile->input_height, &above),
        .columns = inside(column, tile->dilation_x, tile->filter_width, tile->input_width, &before),
        .row_step = (ptrdiff_t)tile->dilation_y * tile->input_row_stride,
        .column_step = (ptrdiff_t)tile->dilation_x * tile->input_pixel_stride,
    };
    row += above * tile->dilation_y;
    column += before * tile->dilation_x;
    view.first = tile->input + row * tile->input_row_stride + column * tile->input_pixel_stride;
    if (view.columns * view.column_step == view.row_step) {
        view.columns *= view.rows;
        view.rows = 1;
    }
    return view;
}

/* The sums of four channels, each of 16 bits. */
static void sum_four(const view_t *view, int32_t channel, int32_t *sums)
{
    uint32_t even = 0, odd = 0;
    const uint8_t *row = view->first + channel;
    for (int32_t y = view->rows; y > 0; y--, row += view->row_step) {
        const uint8_t *pixel = row;
        for (int32_t x = view->columns; x > 0; x--, pixel += view->column_step) {
            uint32_t word = match_arm_load4(pixel);
#if MATCH_ARM_DSP
            even = __uxtab16(even, word);
            __asm__("uxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(word));
#else
            even += match_arm_even(word);
            odd += match_arm_odd(word);
#endif
        }
    }
    sums[0] = (int32_t)(even & 0xffff);
    sums[1] = (int32_t)(odd & 0xffff);
    sums[2] = (int32_t)(even >> 16);
    sums[3] = (int32_t)(odd >> 16);
}

static int32_t sum_one(const view_t *view, int32_t channel)
{
    int32_t sum = 0;
    const uint8_t *row = view->first + channel;
    for (int32_t y = view->rows; y > 0; y--, row += view->row_step) {
        const uint8_t *pixel = row;
        for (int32_t x = view->columns; x > 0; x--, pixel += view->column_step) {
            sum += *pixel;
        }
    }
    return sum;
}

static void average(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    int32_t window = tile->filter_height * tile->filter_width;
    bool usual = form == MATCH_ARM_WORDS && finish.bytes;
    bool fours = window <= MOST_HALVES;
    for (int32_t y = 0; y < tile->output_height; y++) {
        uint8_t *output = tile->output + y * tile->output_row_stride;
        for (int32_t x = 0; x < tile->output_width; x++, output += tile->output_pixel_stride) {
            view_t view = view_of(tile, y, x);
            int32_t padding = (window - view.rows * view.columns) * tile->pad_value;
            for (int32_t k = 0; k < tile->channels_out;) {
                int32_t sums[GROUP];
                int32_t count = fours && k + GROUP <= tile->channels_out ? GROUP : 1;
                if (count == GROUP) {
                    sum_four(&view, k, sums);
                } else {
                    sums[0] = sum_one(&view, k);
                }
                for (int32_t i = 0; i < count; i++, k++) {
                    int32_t sum = sums[i] + padding + match_arm_addend(&finish, k);
                    if (usual) {
                        const match_arm_requant_t *p = match_arm_parameters(&finish, k);
                        output[k] = match_arm_byte(*p, sum);
                    } else {
                        match_arm_finish(&finish, k, &sum, &output, 1);
                    }
                }
            }
        }
    }
}

void match_arm_avg_pool2d(const match_tile_t *tile)
{
    average(tile, MATCH_ARM_WORDS);
}

void match_arm_avg_pool2d_long(const match_tile_t *tile)
{
    average(tile, MATCH_ARM_LONG);
}

#if MATCH_ARM_MVE
/* Sixteen channels at once, of which as many are read and written as there are. */
static void largest(const match_tile_t *tile, const view_t *view, uint8_t *output)
{
    for (int32_t k = 0; k < tile->channels_out; k += 16) {
        const mve_pred16_t there = vctp8q((uint32_t)(tile->channels_out - k));
        uint8x16_t values = vdupq_n_u8((uint8_t)tile->clip_low);
        const uint8_t *row = view->first + k;
        for (int32_t y = view->rows; y > 0; y--, row += view->row_step) {
            const uint8_t *pixel = row;
            for (int32_t x = view->columns; x > 0; x--, pixel += view->column_step) {
                values = vmaxq_u8(values, vldrbq_z_u8(pixel, there));
            }
        }
        vstrbq_p_u8(output + k, vminq_u8(values, vdupq_n_u8((uint8_t)tile->clip_high)), there);
    }
}
#else
/* Of two words' bytes, the larger ones and the smaller ones. */
static inline uint32_t larger(uint32_t a, uint32_t b)
{
#if MATCH_ARM_DSP
    return __uadd8(__uqsub8(a, b), b);
#else
    uint32_t word = 0;
    for (uint32_t bit = 0; bit < 32; bit += 8) {
        uint32_t one = a >> bit & 0xff, other = b >> bit & 0xff;
        word |= (one > other ? one : other) << bit;
    }
    return word;
#endif
}

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
    return ~larger(~a, ~b);
}

static uint32_t largest_one(const view_t *view, int32_t channel)
{
    uint32_t value = 0;
    const uint8_t *row = view->first + channel;
    for (int32_t y = view->rows; y > 0; y--, row += view->row_step) {
        const uint8_t *pixel = row;
        for (int32_t x = view->columns; x > 0; x--, pixel += view->column_step) {
            value = *pixel > value ? *pixel : value;
        }
    }
    return value;
}

/* Four channels at once. */
static void largest(const match_tile_t *tile, const view_t *view, uint8_t *output)
{
    const uint32_t low = (uint32_t)tile->clip_low * 0x01010101u, high = (uint32_t)tile->clip_high * 0x01010101u;
    int32_t k = 0;
    for (; k + GROUP <= tile->channels_out; k += GROUP) {
        uint32_t word = low;
        const uint8_t *row = view->first + k;
        for (int32_t y = view->rows; y > 0; y--, row += view->row_step) {
            const uint8_t *pixel = row;
            for (int32_t x = view->columns; x > 0; x--, pixel += view->column_step) {
                word = larger(match_arm_load4(pixel), word);
            }
        }
        word = smaller(word, high);
        memcpy(output + k, &word, sizeof word);
    }
    for (; k < tile->channels_out; k++) {
        output[k] = (uint8_t)match_arm_clip((int32_t)largest_one(view, k), tile->clip_low, tile->clip_high);
    }
}
#endif

void match_arm_max_pool2d(const match_tile_t *tile)
{
    for (int32_t y = 0; y < tile->output_height; y++) {
        uint8_t *output = tile->output + y * tile->output_row_stride;
        for (int32_t x = 0; x < tile->output_width; x++, output += tile->output_pixel_stride) {
            view_t view = view_of(tile, y, x);
            largest(tile, &view, output);
        }
    }
}
