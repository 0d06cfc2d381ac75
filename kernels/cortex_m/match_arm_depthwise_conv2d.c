/* Four channels at a time. What their windows see is laid out in a strip of rows: for each input column and each channel the
 * values of a window's rows in pairs. Where windows step by one row, the same pairs serve two output rows: the second
 * one's weights are those of the first one, a row further down. Narrow layers have many rows in a strip. */
#include "match_arm_finish.h"
#include "match_arm_taps.h"
#include "match_arm_window.h"

enum { GROUP = MATCH_ARM_GROUP, STRIP_COLUMNS = 32 };

/* A row of a strip has `columns` columns of `window` pairs for each channel, and is of `rows` output rows; `outputs` are the
 * sums of an output row that there is room for. Row number b of a strip sees input rows b * step and following. */
typedef struct {
    int32_t window;
    int32_t outputs;
    int32_t columns;
    int32_t rows;
    int32_t step;
    int32_t strip;
    int32_t row_words;
    uint32_t *pairs;
    uint32_t *taps;
    int32_t *sums;
} room_t;

static room_t room_of(const match_tile_t *tile)
{
    room_t room = {.window = tile->filter_height / 2 + 1};
    room.outputs = (tile->output_width + 1) & ~1;
    room.columns = (room.outputs - 1) * tile->stride_x + (tile->filter_width - 1) * tile->dilation_x + 1;
    room.rows = tile->stride_y == 1 && tile->dilation_y == 1 ? 2 : 1;
    room.step = room.rows * tile->stride_y;
    int32_t all = (tile->output_height + room.rows - 1) / room.rows;
    room.strip = room.columns < STRIP_COLUMNS ? match_arm_least(all, STRIP_COLUMNS / room.columns) : 1;
    room.row_words = GROUP * room.columns * room.window;
    room.pairs = tile->scratch;
    room.taps = room.pairs + room.strip * room.row_words;
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

static inline row_t row_at(const match_tile_t *tile, int32_t row, int32_t channel, const uint8_t *padding)
{
    if (row < 0 || row >= tile->input_height) {
        return (row_t){padding, 0};
    }
    return (row_t){tile->input + row * tile->input_row_stride + channel, tile->input_pixel_stride};
}

/* `count` columns of two rows of the input into their places, two for each, which may be the same. */
static inline __attribute__((always_inline)) void pair_columns(uint32_t *place, uint32_t *other, int32_t window, row_t low,
                                                               row_t high, int32_t channels, int32_t count)
{
    for (const uint32_t *end = place + count * GROUP * window; place != end;) {
        uint32_t a = channels_at(low.pixel, channels);
        uint32_t b = channels_at(high.pixel, channels);
        low.pixel += low.step;
        high.pixel += high.step;
        uint32_t even_a = match_arm_even(a), even_b = match_arm_even(b);
        uint32_t odd_a = match_arm_odd(a), odd_b = match_arm_odd(b);
        place[0] = other[0] = match_arm_lower(even_a, even_b);
        place[window] = other[window] = match_arm_lower(odd_a, odd_b);
        place[2 * window] = other[2 * window] = match_arm_upper(even_a, even_b);
        place[3 * window] = other[3 * window] = match_arm_upper(odd_a, odd_b);
        place += GROUP * window;
        other += GROUP * window;
    }
}

/* The same, with constants where it is usual. */
static __attribute__((noinline)) void pair_rows(uint32_t *place, uint32_t *other, const row_t *rows, int32_t window,
                                                int32_t channels, int32_t count)
{
    if (channels < GROUP) {
        pair_columns(place, other, window, rows[0], rows[1], channels, count);
    } else if (window == 2) {
        pair_columns(place, other, 2, rows[0], rows[1], GROUP, count);
    } else {
        pair_columns(place, other, window, rows[0], rows[1], GROUP, count);
    }
}

/* Lay out the rows of a strip: what the windows of output row y and following see of the channels from `channel` on. What
 * the columns in front of the input and behind it hold is there already. */
static void lay_out(const match_tile_t *tile, const room_t *room, int32_t y, int32_t channel)
{
    uint32_t padding = (uint32_t)tile->pad_value * 0x01010101u;
    int32_t before = match_arm_least(tile->pad_left, room->columns);
    int32_t count = match_arm_least(room->columns - before, tile->input_width);
    uint32_t *places = room->pairs + before * GROUP * room->window;
    bool shared = room->window == 2 && room->step == 2 && tile->dilation_y == 1;
    int32_t first = y * tile->stride_y - tile->pad_top;
    for (int32_t row = 0; row < room->strip; row++, places += room->row_words, first += room->step) {
        int32_t pair = shared && row > 0; /* the first one is the second one of the row before */
        for (int32_t at = first + 2 * pair * tile->dilation_y; pair < room->window; pair++, at += 2 * tile->dilation_y) {
            row_t rows[2];
            rows[0] = row_at(tile, at, channel, (const uint8_t *)&padding);
            rows[1] = row_at(tile, at + tile->dilation_y, channel, (const uint8_t *)&padding);
            uint32_t *place = places + pair;
            uint32_t *other = shared && pair == 1 && row + 1 < room->strip ? place + room->row_words - 1 : place;
            pair_rows(place, other, rows, room->window, tile->channels_out, count);
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
static void compute(const match_tile_t *tile, const room_t *room, const match_arm_taps_t *job,
                    const match_arm_finish_t *finish, int32_t channel, int32_t at, int32_t y)
{
    int32_t left = match_arm_least(tile->output_height - y, room->strip * room->rows);
    int32_t words = job->width * job->window;
    const uint32_t *taps = room->taps + 2 * at * words;
    bool usual = job->width == 3 && job->window == 2 && job->dilation == 1 && job->stride <= 2;
    for (int32_t i = 0; i < match_arm_least(room->rows, left); i++, taps += words) {
        int32_t rows = room->rows == 1 ? left : (left + 1 - i) / 2;
        (usual ? match_arm_taps_3 : match_arm_taps)(job, room->pairs + at * room->window,
                                                    room->sums + i * room->outputs, taps,
                                                    match_arm_addend(finish, channel), rows);
    }
    match_arm_finish_rows(finish, channel, room->sums, room->outputs, tile, y, left);
}

static void depthwise(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    room_t room = room_of(tile);
    match_arm_taps_t job = {
        .outputs = tile->output_width,
        .row_step = 4 * room.row_words,
        .sums_step = 4 * room.rows * room.outputs,
        .width = tile->filter_width,
        .window = room.window,
        .stride = tile->stride_x,
        .dilation = tile->dilation_x,
    };
    int32_t count = match_arm_least(GROUP, tile->channels_out);
    for (uint32_t *pair = room.pairs; pair != room.taps; pair++) {
        *pair = (uint32_t)tile->pad_value * 0x00010001u;
    }
    for (int32_t first = 0; first < tile->channels_out; first += GROUP) {
        int32_t group = match_arm_least(first, tile->channels_out - count); /* the last has some channels again */
        for (int32_t k = 0; k < count; k++) {
            widen_taps(tile, &room, group + k, room.taps + k * 2 * tile->filter_width * room.window);
        }
        for (int32_t y = 0; y < tile->output_height; y += room.strip * room.rows) {
            lay_out(tile, &room, y, group);
            for (int32_t k = 0; k < count; k++) {
                compute(tile, &room, &job, &finish, group + k, k, y);
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
