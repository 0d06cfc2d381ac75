/* Four channels at a time. What their windows see is laid out as planes, one for each channel: for each input column the
 * values of its rows in pairs. Where windows step by one row, the same pairs serve two output rows: the second one's
 * weights are those of the first one, a row further down. Some rows at a time are laid out, narrow ones many. */
#include "match_arm_finish.h"
#include "match_arm_taps.h"
#include "match_arm_window.h"

enum { GROUP = 4, STRIP_COLUMNS = 32 };

/* A row of a strip has `columns` columns of `window` pairs; `outputs` are the sums of an output row that there is room
 * for. A plane has `strip` rows, each of which is of `rows` output rows. */
typedef struct {
    int32_t window;
    int32_t outputs;
    int32_t columns;
    int32_t rows;
    int32_t strip;
    uint32_t *planes;
    uint32_t *taps;
    int32_t *sums;
} room_t;

static room_t room_of(const match_tile_t *tile)
{
    room_t room = {.window = tile->filter_height / 2 + 1};
    room.outputs = (tile->output_width + 1) & ~1;
    room.columns = (room.outputs - 1) * tile->stride_x + (tile->filter_width - 1) * tile->dilation_x + 1;
    room.rows = tile->stride_y == 1 && tile->dilation_y == 1 ? 2 : 1;
    int32_t all = (tile->output_height + room.rows - 1) / room.rows;
    room.strip = room.columns < STRIP_COLUMNS ? match_arm_least(all, STRIP_COLUMNS / room.columns) : 1;
    room.planes = tile->scratch;
    room.taps = room.planes + GROUP * room.strip * room.columns * room.window;
    room.sums = (int32_t *)(room.taps + GROUP * 2 * tile->filter_width * room.window);
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

static row_t row_at(const match_tile_t *tile, int32_t row, int32_t channel, const uint8_t *padding)
{
    if (row < 0 || row >= tile->input_height) {
        return (row_t){padding, 0};
    }
    return (row_t){tile->input + row * tile->input_row_stride + channel, tile->input_pixel_stride};
}

/* Two rows of the input into their place in all planes, `count` columns of them. */
static inline __attribute__((always_inline)) void pair_rows(uint32_t *place, int32_t window, int32_t plane, row_t low,
                                                            row_t high, int32_t channels, int32_t count)
{
    for (const uint32_t *end = place + count * window; place != end; place += window) {
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

static void pair_pixels(uint32_t *place, int32_t window, int32_t plane, row_t low, row_t high, int32_t channels,
                        int32_t count)
{
    if (channels < GROUP) {
        pair_rows(place, window, plane, low, high, channels, count);
    } else {
        pair_rows(place, window, plane, low, high, GROUP, count);
    }
}

/* Lay out a row of a strip: what the windows of output row y see of four channels. */
static void lay_out(const match_tile_t *tile, const room_t *room, uint32_t *place, int32_t y, int32_t channel)
{
    uint32_t value = (uint32_t)tile->pad_value;
    value |= value << 8;
    value |= value << 16;
    row_t none = {(const uint8_t *)&value, 0};
    int32_t plane = room->strip * room->columns * room->window;
    int32_t channels = tile->channels_out;
    int32_t row = y * tile->stride_y - tile->pad_top;
    int32_t before = match_arm_least(tile->pad_left, room->columns);
    int32_t inside = match_arm_least(room->columns - before, tile->input_width);
    int32_t after = room->columns - before - inside;
    for (int32_t pair = 0; pair < room->window; pair++, place++, row += 2 * tile->dilation_y) {
        row_t low = row_at(tile, row, channel, none.pixel);
        row_t high = row_at(tile, row + tile->dilation_y, channel, none.pixel);
        if (before > 0) {
            pair_pixels(place, room->window, plane, none, none, GROUP, before);
        }
        pair_pixels(place + before * room->window, room->window, plane, low, high, channels, inside);
        if (after > 0) {
            pair_pixels(place + (before + inside) * room->window, room->window, plane, none, none, GROUP, after);
        }
    }
}

/* A channel's weights as pairs, column by column; behind them those of a row further down. */
static void widen_taps(const match_tile_t *tile, const room_t *room, int32_t channel, uint32_t *taps)
{
    int32_t words = (room->window + 1) / 2;
    const int8_t *weights = (const int8_t *)tile->weights + 4 * words * tile->filter_width * channel;
    int32_t second = tile->filter_width * room->window;
    for (int32_t fx = 0; fx < tile->filter_width; fx++) {
        uint32_t above = 0;
        for (int32_t pair = 0; pair < room->window; pair++, taps++) {
            uint32_t word = match_arm_load4(weights + 4 * (pair / 2));
            uint32_t own = pair & 1 ? match_arm_signed_odd(word) : match_arm_signed_even(word);
            taps[0] = own;
            taps[second] = match_arm_lower(above >> 16, own);
            above = own;
        }
        weights += 4 * words;
    }
}

/* The outputs of a channel, number `at` of its group, in the rows of a strip, from output row y on. */
static void compute(const match_tile_t *tile, const room_t *room, const match_arm_finish_t *finish, int32_t channel,
                    int32_t at, int32_t y)
{
    int32_t step = room->columns * room->window;
    int32_t left = match_arm_least(tile->output_height - y, room->strip * room->rows);
    const uint32_t *taps = room->taps + at * 2 * tile->filter_width * room->window;
    match_arm_taps_t job = {
        .row = room->planes + at * room->strip * step,
        .sums = room->sums,
        .taps = taps,
        .addend = match_arm_addend(finish, channel),
        .row_step = 4 * step,
        .sums_step = 4 * room->rows * room->outputs,
        .outputs = tile->output_width,
        .width = tile->filter_width,
        .window = room->window,
        .stride = tile->stride_x,
        .dilation = tile->dilation_x,
    };
    bool usual = job.width == 3 && job.window == 2 && job.dilation == 1 && job.stride <= 2;
    for (int32_t i = 0; i < room->rows; i++) {
        job.rows = (left + room->rows - 1 - i) / room->rows;
        (usual ? match_arm_taps_3 : match_arm_taps)(&job);
        job.sums += room->outputs;
        job.taps += job.width * job.window;
    }
    match_arm_finish_rows(finish, channel, room->sums, room->outputs, tile, y, left);
}

static void depthwise(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    room_t room = room_of(tile);
    int32_t count = match_arm_least(GROUP, tile->channels_out);
    for (int32_t first = 0; first < tile->channels_out; first += GROUP) {
        int32_t group = match_arm_least(first, tile->channels_out - count); /* the last has some channels again */
        for (int32_t k = 0; k < count; k++) {
            widen_taps(tile, &room, group + k, room.taps + k * 2 * tile->filter_width * room.window);
        }
        for (int32_t y = 0; y < tile->output_height; y += room.strip * room.rows) {
            uint32_t *place = room.planes;
            for (int32_t i = 0; i < room.strip; i++, place += room.columns * room.window) {
                lay_out(tile, &room, place, y + i * room.rows, group);
            }
            for (int32_t k = 0; k < count; k++) {
                compute(tile, &room, &finish, group + k, k, y);
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
