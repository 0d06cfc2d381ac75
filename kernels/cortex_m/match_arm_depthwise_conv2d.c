/* Four channels at a time. What their windows see is laid out as planes, one for each channel: for each input column the
 * values of its rows in pairs. Where windows step by one row, the same pairs serve two output rows: the second one's
 * weights are those of the first one, a row further down. */
#include "match_arm_finish.h"
#include "match_arm_window.h"

enum { GROUP = 4 };

/* pairs: of a column. columns: of a plane. */
typedef struct {
    int32_t pairs;
    int32_t columns;
    uint32_t *planes;
    uint32_t *taps;
    int32_t *sums;
} room_t;

static room_t room_of(const match_tile_t *tile)
{
    room_t room = {.pairs = tile->filter_height / 2 + 1};
    room.columns = (tile->output_width - 1) * tile->stride_x + (tile->filter_width - 1) * tile->dilation_x + 1;
    room.planes = tile->scratch;
    room.taps = room.planes + GROUP * room.columns * room.pairs;
    room.sums = (int32_t *)(room.taps + 2 * tile->filter_width * room.pairs);
    return room;
}

/* Four channels of a pixel, or as many as there are. */
static inline uint32_t channels_at(const uint8_t *pixel, int32_t channels)
{
    if (channels >= GROUP) {
        return match_arm_load4(pixel);
    }
    return pixel[0] | (uint32_t)(channels > 1 ? pixel[1] : 0) << 8 | (uint32_t)(channels > 2 ? pixel[2] : 0) << 16;
}

/* A row of the input, or padding in its place. */
typedef struct {
    const uint8_t *pixel;
    int32_t step;
} row_t;

static row_t row_at(const match_tile_t *tile, int32_t row, int32_t column, int32_t channel, const uint8_t *padding)
{
    if (row < 0 || row >= tile->input_height) {
        return (row_t){padding, 0};
    }
    const uint8_t *first = tile->input + row * tile->input_row_stride + column * tile->input_pixel_stride;
    return (row_t){first + channel, tile->input_pixel_stride};
}

/* Two rows of the input into their place in all planes, `count` columns of them. */
static inline __attribute__((always_inline)) void pair_rows(const room_t *room, uint32_t *place, row_t low, row_t high,
                                                            int32_t channels, int32_t count)
{
    int32_t plane = room->columns * room->pairs;
    for (int32_t i = 0; i < count; i++, place += room->pairs) {
        uint32_t a = channels_at(low.pixel, channels);
        uint32_t b = channels_at(high.pixel, channels);
        low.pixel += low.step;
        high.pixel += high.step;
        uint32_t even_a = match_arm_even(a), even_b = match_arm_even(b);
        uint32_t odd_a = match_arm_odd(a), odd_b = match_arm_odd(b);
        place[0] = match_arm_lower(even_a, even_b);
        place[plane] = match_arm_lower(odd_a, odd_b);
        place[2 * plane] = match_arm_upper(even_a, even_b);
        place[3 * plane] = match_arm_upper(odd_a, odd_b);
    }
}

/* Lay out what the windows of output row y see of four channels. */
static void lay_out(const match_tile_t *tile, const room_t *room, int32_t y, int32_t channel)
{
    uint32_t value = (uint32_t)tile->pad_value;
    value |= value << 8;
    value |= value << 16;
    const uint8_t *padding = (const uint8_t *)&value;
    int32_t row = y * tile->stride_y - tile->pad_top;
    int32_t before = match_arm_least(tile->pad_left, room->columns);
    int32_t inside = match_arm_least(room->columns - before, tile->input_width);
    for (int32_t pair = 0; pair < room->pairs; pair++, row += 2 * tile->dilation_y) {
        uint32_t *place = room->planes + pair;
        row_t low = row_at(tile, row, 0, channel, padding);
        row_t high = row_at(tile, row + tile->dilation_y, 0, channel, padding);
        row_t none = {padding, 0};
        pair_rows(room, place, none, none, GROUP, before);
        place += before * room->pairs;
        if (tile->channels_out < GROUP) {
            pair_rows(room, place, low, high, tile->channels_out, inside);
        } else {
            pair_rows(room, place, low, high, GROUP, inside);
        }
        pair_rows(room, place + inside * room->pairs, none, none, GROUP, room->columns - before - inside);
    }
}

/* A channel's weights as pairs, column by column; behind them those of a row further down. */
static void widen_taps(const match_tile_t *tile, const room_t *room, int32_t channel)
{
    int32_t words = (room->pairs + 1) / 2;
    const int8_t *weights = (const int8_t *)tile->weights + 4 * words * tile->filter_width * channel;
    uint32_t *first = room->taps;
    uint32_t *second = first + tile->filter_width * room->pairs;
    for (int32_t fx = 0; fx < tile->filter_width; fx++) {
        uint32_t above = 0;
        for (int32_t pair = 0; pair < room->pairs; pair++) {
            uint32_t word = match_arm_load4(weights);
            uint32_t own = pair & 1 ? match_arm_signed_odd(word) : match_arm_signed_even(word);
            *first++ = own;
            *second++ = match_arm_lower(above >> 16, own);
            above = own;
            weights += pair & 1 || pair + 1 == room->pairs ? 4 : 0;
        }
    }
}

/* The sums of a channel in an output row. */
static inline __attribute__((always_inline)) void sum_row(const match_tile_t *tile, const room_t *room,
                                                          const uint32_t *plane, const uint32_t *taps, int32_t addend,
                                                          int32_t width, int32_t pairs, int32_t dilation)
{
    int32_t step = tile->stride_x * pairs;
    int32_t *sums = room->sums, *end = sums + tile->output_width;
    for (; sums != end; plane += step) {
        int32_t sum = addend;
        const uint32_t *tap = taps;
        for (int32_t fx = 0; fx < width; fx++) {
            for (int32_t pair = 0; pair < pairs; pair++) {
                sum = match_arm_pair(plane[fx * dilation * pairs + pair], *tap++, sum);
            }
        }
        *sums++ = sum;
    }
}

static void sum_any(const match_tile_t *tile, const room_t *room, const uint32_t *plane, const uint32_t *taps,
                    int32_t addend)
{
    sum_row(tile, room, plane, taps, addend, tile->filter_width, room->pairs, tile->dilation_x);
}

/* Of filters of 3x3, or 2 rows, without dilation: weights stay in registers. */
static void sum_3x3(const match_tile_t *tile, const room_t *room, const uint32_t *plane, const uint32_t *taps,
                    int32_t addend)
{
    uint32_t own[] = {taps[0], taps[1], taps[2], taps[3], taps[4], taps[5]};
    sum_row(tile, room, plane, own, addend, 3, 2, 1);
}

static void depthwise(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    room_t room = room_of(tile);
    int32_t rows = tile->stride_y == 1 && tile->dilation_y == 1 ? 2 : 1;
    bool usual = tile->filter_width == 3 && room.pairs == 2 && tile->dilation_x == 1;
    for (int32_t y = 0; y < tile->output_height; y += rows) {
        int32_t own = match_arm_least(rows, tile->output_height - y);
        for (int32_t first = 0; first < tile->channels_out; first += GROUP) {
            int32_t count = match_arm_least(GROUP, tile->channels_out);
            int32_t group = match_arm_least(first, tile->channels_out - count); /* the last one has some channels again */
            lay_out(tile, &room, y, group);
            for (int32_t k = 0; k < count; k++) {
                widen_taps(tile, &room, group + k);
                int32_t addend = match_arm_addend(&finish, group + k);
                const uint32_t *plane = room.planes + k * room.columns * room.pairs;
                for (int32_t i = 0; i < own; i++) {
                    const uint32_t *taps = room.taps + i * tile->filter_width * room.pairs;
                    (usual ? sum_3x3 : sum_any)(tile, &room, plane, taps, addend);
                    match_arm_finish_row(&finish, group + k, room.sums, tile->output_width,
                                         tile->output + (y + i) * tile->output_row_stride, tile->output_pixel_stride);
                }
            }
        }
    }
}

void match_arm_depthwise_conv2d(const match_tile_t *tile)
{
    depthwise(tile, MATCH_ARM_WORDS);
}

void match_arm_depthwise_conv2d_long(const match_tile_t *tile)
{
    depthwise(tile, MATCH_ARM_LONG);
}
