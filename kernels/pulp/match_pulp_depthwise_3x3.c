/* Filters of 3x3 without Xpulpv2 or CORE-V instructions (match_pulp_depthwise_strips.c is for these).
 *
 * Channel after channel, columns of outputs, one or two neighbours at a time: a row of what they see is gathered in
 * registers and stays there until the filter has passed it. Cores share out the first two columns of all channels, then
 * the next two. */
#include <stddef.h>

#include "match_pulp_depthwise.h"
#include "match_pulp_pixel.h"
#include "match_pulp_window.h"

#if !defined(MATCH_PULP_INSN)

/* Input columns that neighbours see, and bytes of a filter. */
enum { COLUMNS = MATCH_NEIGHBOURS + 2, FILTER = 9 };

/* What the filter sees of one channel, from its next row on: where the bytes of that row lie, how far it is to the row
 * below, and which bytes are padding. Bytes of columns in the padding are read from the nearest column inside. */
typedef struct {
    const uint8_t *bytes[COLUMNS];
    ptrdiff_t step;
    match_row_t inside;  /* mask of the bytes that are none */
    match_row_t outside; /* the pad value in those that are */
    match_row_t padding; /* a row of the padding */
    int32_t row;         /* the next one, negative in the padding */
    int32_t rows;
} strip_t;

/* One channel: its parameters, and its filter. */
typedef struct {
    const uint8_t *parameters;
    match_requant_split_t split;
    match_requant32_t narrow;
    match_filter_t filter;
} channel_t;

/* What a channel's loops are made for. */
typedef enum {
    NARROW, /* MATCH_FORM_32 */
    SPLIT,  /* MATCH_FORM_SPLIT */
    OTHER,  /* everything else, by a call for each output */
} kind_t;

bool match_pulp_is_depthwise_3x3(const match_tile_t *tile)
{
    return tile->filter_height == 3 && tile->filter_width == 3 && tile->dilation_y == 1 && tile->dilation_x == 1 &&
           tile->stride_y <= 2;
}

/* Whether none of the columns that the outputs from x on see is padding. */
MATCH_INLINE bool is_interior(const match_tile_t *tile, int32_t x)
{
    int32_t column = x * tile->stride_x - tile->pad_left;
    return column >= 0 && column + COLUMNS <= tile->input_width;
}

MATCH_INLINE strip_t strip_of(const match_tile_t *tile, int32_t channel, int32_t x, bool interior)
{
    strip_t strip = {
        .step = tile->input_row_stride,
        .padding = match_even_row(tile->pad_value),
        .row = -tile->pad_top,
        .rows = tile->input_height,
    };
    int32_t column = x * tile->stride_x - tile->pad_left;
    const uint8_t *top = tile->input + match_larger(-tile->pad_top, 0) * tile->input_row_stride + channel;
    if (interior) {
        const uint8_t *bytes = top + column * tile->input_pixel_stride;
#pragma GCC unroll 4
        for (int i = 0; i < COLUMNS; i++, bytes += tile->input_pixel_stride) {
            strip.bytes[i] = bytes;
        }
        return strip;
    }
#pragma GCC unroll 4
    for (int i = 0; i < COLUMNS; i++, column++) {
        int32_t nearest = match_smaller(match_larger(column, 0), tile->input_width - 1);
        strip.bytes[i] = top + nearest * tile->input_pixel_stride;
        match_set_column(&strip.inside, i, nearest == column);
    }
    strip.outside = match_row_and(strip.padding, match_row_not(strip.inside));
    return strip;
}

static channel_t channel_of(const uint8_t *weights, const match_finish_t *finish, int32_t k)
{
    channel_t channel = {
        .parameters = match_parameters_of(finish, finish->form, k),
        .filter = match_filter_of(weights),
    };
    if (finish->form == MATCH_FORM_32) {
        channel.narrow = match_parameters_32(channel.parameters);
    } else if (finish->form == MATCH_FORM_SPLIT) {
        channel.split = match_parameters_split(channel.parameters);
    }
    return channel;
}

static kind_t kind_of(match_form_t form)
{
    return form == MATCH_FORM_32 ? NARROW : form == MATCH_FORM_SPLIT ? SPLIT : OTHER;
}

/* The next row, which lies inside the input. */
MATCH_INLINE match_row_t row_inside(strip_t *strip, int neighbours, bool interior)
{
    uint32_t a = match_load_step(&strip->bytes[0], strip->step);
    uint32_t b = match_load_step(&strip->bytes[1], strip->step);
    uint32_t c = match_load_step(&strip->bytes[2], strip->step);
    uint32_t d = neighbours > 1 ? match_load_step(&strip->bytes[COLUMNS - 1], strip->step) : 0;
    match_row_t row = match_row_of(a, b, c, d);
    return interior ? row : match_row_or(match_row_and(row, strip->inside), strip->outside);
}

MATCH_INLINE match_row_t next_row(strip_t *strip, int neighbours, bool interior)
{
    int32_t row = strip->row++;
    return row >= 0 && row < strip->rows ? row_inside(strip, neighbours, interior) : strip->padding;
}

static __attribute__((noinline)) uint8_t requantize_other(const match_finish_t *finish, const uint8_t *parameters,
                                                          int32_t acc)
{
    return match_requantize_with(finish, parameters, acc);
}

MATCH_INLINE int32_t requantize(const match_finish_t *finish, const channel_t *channel, int32_t acc, kind_t kind)
{
    if (kind == NARROW) {
        return match_requantize_32(finish, channel->narrow, acc);
    }
    if (kind == SPLIT) {
        return match_requantize_split(channel->split, acc);
    }
    return requantize_other(finish, channel->parameters, acc);
}

/* Where the outputs of a column and of its neighbour go, how far it is to the neighbour, and from the last of them to
 * the row below. */
typedef struct {
    uint8_t *output;
    ptrdiff_t beside;
    ptrdiff_t below;
} place_t;

/* Outputs of the three rows that the filter is on. */
MATCH_INLINE void store(const match_finish_t *finish, const channel_t *channel, const match_window_t *window,
                        place_t *place, int neighbours, kind_t kind)
{
    int32_t left = requantize(finish, channel, match_window_sum(window, &channel->filter, 0), kind);
    if (neighbours > 1) {
        int32_t right = requantize(finish, channel, match_window_sum(window, &channel->filter, 1), kind);
        match_store_step(&place->output, place->beside, (uint32_t)left);
        match_store_step(&place->output, place->below, (uint32_t)right);
    } else {
        match_store_step(&place->output, place->below, (uint32_t)left);
    }
}

/* Move down inside the input, and store. After three of these the window's rows are in the registers they began in. */
MATCH_INLINE void next_output(const match_finish_t *finish, const channel_t *channel, match_window_t *window,
                              strip_t *strip, place_t *place, int neighbours, bool interior, int32_t stride,
                              kind_t kind)
{
    if (stride == 2) {
        match_pass(window, &channel->filter, row_inside(strip, neighbours, interior));
    }
    match_pass(window, &channel->filter, row_inside(strip, neighbours, interior));
    store(finish, channel, window, place, neighbours, kind);
}

/* One channel of an output column, or of neighbours. */
MATCH_INLINE void column(const match_finish_t *finish, const channel_t *given, strip_t strip, place_t place,
                         int32_t left, int neighbours, bool interior, int32_t stride, kind_t kind)
{
    channel_t copy = *given;
    const channel_t *channel = &copy;
    match_window_t window = {0};
    match_pass(&window, &channel->filter, next_row(&strip, neighbours, interior));
    if (stride == 1) {
        match_pass(&window, &channel->filter, next_row(&strip, neighbours, interior));
    }
    while (left > 0) {
        int32_t quick = match_smaller(left, (strip.rows - strip.row) / stride);
        if (kind == OTHER || strip.row < 0 || quick <= 0) {
            if (stride == 2) {
                match_pass(&window, &channel->filter, next_row(&strip, neighbours, interior));
            }
            match_pass(&window, &channel->filter, next_row(&strip, neighbours, interior));
            store(finish, channel, &window, &place, neighbours, kind);
            left--;
            continue;
        }
        left -= quick;
        strip.row += quick * stride;
        for (; quick >= 3; quick -= 3) {
            next_output(finish, channel, &window, &strip, &place, neighbours, interior, stride, kind);
            next_output(finish, channel, &window, &strip, &place, neighbours, interior, stride, kind);
            next_output(finish, channel, &window, &strip, &place, neighbours, interior, stride, kind);
        }
        for (; quick > 0; quick--) {
            next_output(finish, channel, &window, &strip, &place, neighbours, interior, stride, kind);
        }
    }
}

/* Output columns from x on. */
MATCH_INLINE void columns(const match_tile_t *tile, const match_finish_t *finish, const channel_t *channel, int32_t k,
                          int32_t x, int neighbours, int32_t stride, kind_t kind)
{
    ptrdiff_t beside = neighbours > 1 ? tile->output_pixel_stride : 0;
    place_t place = {match_output_pixel(tile, 0, x) + k, beside, tile->output_row_stride - beside};
    int32_t height = tile->output_height;
    if (kind != OTHER && is_interior(tile, x)) {
        column(finish, channel, strip_of(tile, k, x, true), place, height, neighbours, true, stride, kind);
    } else {
        column(finish, channel, strip_of(tile, k, x, false), place, height, neighbours, false, stride, kind);
    }
}

MATCH_INLINE void all_columns(const match_tile_t *tile, const match_finish_t *given, const channel_t *channel,
                              int32_t k, int32_t x, int32_t end, int32_t stride, kind_t kind)
{
    match_finish_t finish = *given;
    for (; MATCH_NEIGHBOURS == 2 && tile->stride_x == 1 && x + 2 <= end; x += 2) {
        columns(tile, &finish, channel, k, x, MATCH_NEIGHBOURS, stride, kind);
    }
    for (; x < end; x++) {
        columns(tile, &finish, channel, k, x, 1, stride, kind);
    }
}

MATCH_INLINE void one_channel(const match_tile_t *tile, const match_finish_t *finish, const channel_t *channel,
                              int32_t k, int32_t x, int32_t end, kind_t kind)
{
    if (tile->stride_y == 1) {
        all_columns(tile, finish, channel, k, x, end, 1, kind);
    } else {
        all_columns(tile, finish, channel, k, x, end, 2, kind);
    }
}

void match_pulp_depthwise_3x3(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last)
{
    /* The first pair of columns is that of channels from `from` on, the last one that of channels before `to`. */
    int32_t channels = tile->channels_out;
    int32_t begin = first / channels;
    int32_t end = (last + channels - 1) / channels;
    int32_t from = first - begin * channels;
    int32_t to = last - (end - 1) * channels;
    for (int32_t k = 0; k < channels; k++) {
        int32_t x = 2 * (k < from ? begin + 1 : begin);
        int32_t behind = match_smaller(2 * (k < to ? end : end - 1), tile->output_width);
        if (x >= behind) {
            continue;
        }
        const uint8_t *weights = (const uint8_t *)tile->weights + (ptrdiff_t)k * FILTER;
        channel_t channel = channel_of(weights, finish, k);
        switch (kind_of(finish->form)) {
        case NARROW:
            one_channel(tile, finish, &channel, k, x, behind, NARROW);
            break;
        case SPLIT:
            one_channel(tile, finish, &channel, k, x, behind, SPLIT);
            break;
        case OTHER:
        default:
            one_channel(tile, finish, &channel, k, x, behind, OTHER);
            break;
        }
    }
}

#endif
