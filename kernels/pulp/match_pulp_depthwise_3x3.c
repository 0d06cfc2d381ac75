/* Each channel goes down the tile, one column of outputs or two neighbours at a time: a row of what they see is one
 * word of three or four bytes, gathered in registers, and stays there until the filter has passed it. */
#include <stddef.h>

#include "match_pulp_depthwise.h"
#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"

enum { COLUMNS = 4 };

/* The next input row under the filter: where its bytes lie and how far it is to the row below. Columns in the padding
 * read the pad value again and again. */
typedef struct {
    const uint8_t *bytes[COLUMNS];
    ptrdiff_t steps[COLUMNS];
    int32_t row;
    int32_t rows;
    match_bytes4_t padding;
} strip_t;

/* One channel: its parameters, and its filter by rows, as the left one and the right one of two outputs see it. */
typedef struct {
    match_requant_t wide;
    match_requant_signed_t wide_signed;
    match_requant32_t narrow;
    match_bytes4_t left[3];
    match_bytes4_t right[3];
} channel_t;

bool match_pulp_is_depthwise_3x3(const match_tile_t *tile)
{
    return tile->filter_height == 3 && tile->filter_width == 3 && tile->dilation_y == 1 && tile->dilation_x == 1 &&
           tile->stride_y <= 2;
}

MATCH_INLINE strip_t strip_of(const match_tile_t *tile, const uint8_t *pad, int32_t channel, int32_t x, int columns)
{
    strip_t strip = {.row = -tile->pad_top, .rows = tile->input_height, .padding = *pad * 0x01010101u};
    int32_t first = x * tile->stride_x - tile->pad_left;
    int32_t top = match_larger(-tile->pad_top, 0);
    for (int i = 0; i < columns; i++) {
        bool inside = first + i >= 0 && first + i < tile->input_width;
        strip.bytes[i] = inside ? match_input_pixel(tile, top, first + i) + channel : pad;
        strip.steps[i] = inside ? tile->input_row_stride : 0;
    }
    return strip;
}

MATCH_INLINE match_bytes4_t next_row(strip_t *strip, int columns)
{
    bool inside = (uint32_t)strip->row < (uint32_t)strip->rows;
    strip->row++;
    if (!inside) {
        return strip->padding;
    }
    uint32_t a = match_load_step(&strip->bytes[0], strip->steps[0]);
    uint32_t b = match_load_step(&strip->bytes[1], strip->steps[1]);
    uint32_t c = match_load_step(&strip->bytes[2], strip->steps[2]);
    uint32_t d = columns == COLUMNS ? match_load_step(&strip->bytes[3], strip->steps[3]) : 0;
    return match_pack4(a, b, c, d);
}

MATCH_INLINE uint8_t requantize(const match_finish_t *finish, const channel_t *channel, int32_t acc, match_form_t form)
{
    if (form == MATCH_FORM_32) {
        return match_requantize_32(finish, channel->narrow, acc);
    }
    if (form == MATCH_FORM_64) {
        int64_t sum = match_sum_64(channel->wide, acc);
        return channel->wide.shift & MATCH_HIGH_SHIFT ? match_shift_and_clip_high(finish, sum, channel->wide.shift)
                                                      : match_shift_and_clip(finish, sum, channel->wide.shift);
    }
    int64_t sum = match_sum_64_signed(finish, channel->wide_signed, acc);
    return match_shift_and_clip(finish, sum, channel->wide_signed.shift);
}

MATCH_INLINE int32_t dot(const match_bytes4_t rows[3], const match_bytes4_t weights[3])
{
    return match_dot4(rows[2], weights[2], match_dot4(rows[1], weights[1], match_dot4(rows[0], weights[0], 0)));
}

/* Columns x and, of four input columns, x + 1 of the output. */
MATCH_INLINE void column(const match_tile_t *tile, const match_finish_t *finish, const channel_t *channel,
                         strip_t strip, uint8_t *output, int columns, int32_t stride, match_form_t form)
{
    ptrdiff_t pixel_stride = tile->output_pixel_stride;
    ptrdiff_t row_stride = tile->output_row_stride;
    match_bytes4_t rows[3] = {0, 0, 0};
    rows[1] = next_row(&strip, columns);
    if (stride == 1) {
        rows[2] = next_row(&strip, columns);
    } else {
        rows[2] = rows[1];
    }
    for (int32_t left = tile->output_height; left > 0; left--, output += row_stride) {
        rows[0] = stride == 1 ? rows[1] : rows[2];
        rows[1] = stride == 1 ? rows[2] : next_row(&strip, columns);
        rows[2] = next_row(&strip, columns);
        int32_t acc = dot(rows, channel->left);
        if (columns == COLUMNS) {
            int32_t neighbour = dot(rows, channel->right);
            output[pixel_stride] = requantize(finish, channel, neighbour, form);
        }
        output[0] = requantize(finish, channel, acc, form);
    }
}

MATCH_INLINE void channels(const match_tile_t *tile, const match_finish_t *given, int32_t first, int32_t last,
                           int32_t stride, match_form_t form)
{
    match_finish_t finish = *given;
    uint8_t pad = (uint8_t)tile->pad_value;
    for (int32_t k = first; k < last; k++) {
        const uint8_t *w = (const uint8_t *)tile->weights + (ptrdiff_t)k * 9;
        channel_t channel;
        for (int i = 0; i < 3; i++) {
            channel.left[i] = match_pack4(w[3 * i], w[3 * i + 1], w[3 * i + 2], 0);
            channel.right[i] = channel.left[i] << 8;
        }
        const uint8_t *parameters = match_parameters_of(&finish, form, k);
        if (form == MATCH_FORM_32) {
            channel.narrow = match_parameters_32(parameters);
        } else if (form == MATCH_FORM_64) {
            channel.wide = match_parameters_64(parameters);
        } else {
            channel.wide_signed = match_parameters_64_signed(parameters);
        }
        int32_t x = 0;
        for (; tile->stride_x == 1 && x + 2 <= tile->output_width; x += 2) {
            column(tile, &finish, &channel, strip_of(tile, &pad, k, x, COLUMNS), match_output_pixel(tile, 0, x) + k,
                   COLUMNS, stride, form);
        }
        for (; x < tile->output_width; x++) {
            column(tile, &finish, &channel, strip_of(tile, &pad, k, x, COLUMNS - 1),
                   match_output_pixel(tile, 0, x) + k, COLUMNS - 1, stride, form);
        }
    }
}

void match_pulp_depthwise_3x3(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last)
{
    bool single = tile->stride_y == 1;
    switch (finish->form) {
    case MATCH_FORM_32:
        single ? channels(tile, finish, first, last, 1, MATCH_FORM_32)
               : channels(tile, finish, first, last, 2, MATCH_FORM_32);
        break;
    case MATCH_FORM_64:
        single ? channels(tile, finish, first, last, 1, MATCH_FORM_64)
               : channels(tile, finish, first, last, 2, MATCH_FORM_64);
        break;
    default:
        single ? channels(tile, finish, first, last, 1, MATCH_FORM_64_SIGNED)
               : channels(tile, finish, first, last, 2, MATCH_FORM_64_SIGNED);
        break;
    }
}
