#include <stdbool.h>
#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_depthwise.h"
#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

/* Gather what output column x sees of one channel, (match_seen_rows, filter_width): the windows of all its pixels, one below
 * the other. */
static void gather(const match_tile_t *tile, int32_t channel, int32_t x, uint8_t *column)
{
    int32_t rows = match_seen_rows(tile);
    for (int32_t fx = 0; fx < tile->filter_width; fx++) {
        match_position_t seen = match_seen(tile, 0, x, 0, fx);
        bool inside = seen.x >= 0 && seen.x < tile->input_width;
        int32_t first = inside ? match_smaller(tile->pad_top, rows) : rows;
        int32_t last = inside ? match_smaller(tile->pad_top + tile->input_height, rows) : rows;
        const uint8_t *input = match_input_pixel(tile, first - tile->pad_top, seen.x) + channel;
        uint8_t *gathered = column + fx;
        for (int32_t row = 0; row < first; row++, gathered += tile->filter_width) {
            *gathered = (uint8_t)tile->pad_value;
        }
        for (int32_t row = first; row < last; row++, gathered += tile->filter_width, input += tile->input_row_stride) {
            *gathered = *input;
        }
        for (int32_t row = last; row < rows; row++, gathered += tile->filter_width) {
            *gathered = (uint8_t)tile->pad_value;
        }
    }
}

/* Accumulator of the window that starts at `column`. */
static int32_t accumulate(const match_tile_t *tile, const uint8_t *column, const int8_t *weights)
{
    if (tile->dilation_y == 1) {
        return match_dot(column, weights, tile->filter_height * tile->filter_width);
    }
    int32_t acc = 0;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        acc += match_dot(column + fy * tile->dilation_y * tile->filter_width, weights + fy * tile->filter_width,
                       tile->filter_width);
    }
    return acc;
}

/* This core's scratch, for what a column of outputs sees. */
static uint8_t *column_of(const match_tile_t *tile)
{
    return (uint8_t *)tile->scratch + match_core_id() * match_column_bytes(tile);
}

void match_pulp_depthwise_gathered(const match_tile_t *tile, const match_finish_t *finish)
{
    match_share_t columns = match_share(tile->channels_out * tile->output_width);
    uint8_t *column = column_of(tile);
    int32_t k = columns.first / tile->output_width;
    int32_t x = columns.first - k * tile->output_width;
    for (int32_t left = columns.last - columns.first; left > 0; left--) {
        const int8_t *weights = (const int8_t *)tile->weights + (ptrdiff_t)k * tile->filter_height * tile->filter_width;
        gather(tile, k, x, column);
        for (int32_t y = 0; y < tile->output_height; y++) {
            int32_t acc = accumulate(tile, column + y * tile->stride_y * tile->filter_width, weights);
            match_output_pixel(tile, y, x)[k] = match_requantize(finish, k, acc);
        }
        if (++x == tile->output_width) {
            x = 0;
            k++;
        }
    }
}

/* Accumulator of one output, from the input as it lies. */
static int32_t accumulate_again(const match_tile_t *tile, int32_t k, int32_t y, int32_t x)
{
    const int8_t *weights = (const int8_t *)tile->weights + (ptrdiff_t)k * tile->filter_height * tile->filter_width;
    int32_t acc = 0;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        for (int32_t fx = 0; fx < tile->filter_width; fx++) {
            match_position_t seen = match_seen(tile, y, x, fy, fx);
            bool inside = seen.y >= 0 && seen.y < tile->input_height && seen.x >= 0 && seen.x < tile->input_width;
            acc += *weights++ * (inside ? match_input_pixel(tile, seen.y, seen.x)[k] : (uint8_t)tile->pad_value);
        }
    }
    return acc;
}

/* Take 1 off the outputs of column x of a channel whose accumulators are `exception`. Few have the exception's output. */
static void correct_column(const match_tile_t *tile, const match_finish_t *finish, int32_t k, int32_t x, int32_t exception)
{
    uint8_t value = match_requantize_with(finish, match_parameters_of(finish, finish->form, k), exception);
    uint8_t *output = match_output_pixel(tile, 0, x) + k;
    for (int32_t y = 0; y < tile->output_height; y++, output += tile->output_row_stride) {
        if (*output == value && accumulate_again(tile, k, y, x) == exception) {
            *output = (uint8_t)(value - 1);
        }
    }
}

void match_pulp_depthwise_correct(const match_tile_t *tile, const match_finish_t *finish)
{
    int32_t channels = 0;
    for (int32_t k = 0; k < tile->channels_out; k++) {
        channels += match_has_exceptions(finish, k);
    }
    match_team_barrier();
    match_share_t columns = match_share(channels * tile->output_width);
    int32_t first = 0;
    for (int32_t k = 0; k < tile->channels_out; k++) {
        if (match_has_exceptions(finish, k)) {
            match_exceptions_t exceptions = match_exceptions_of(finish, k);
            int32_t last = match_smaller(columns.last - first, tile->output_width);
            for (int32_t x = match_larger(columns.first - first, 0); x < last; x++) {
                for (const int32_t *one = exceptions.first; one < exceptions.end; one++) {
                    correct_column(tile, finish, k, x, *one);
                }
            }
            first += tile->output_width;
        }
    }
}

bool match_pulp_has_depthwise_strips(const match_tile_t *tile)
{
#if defined(MATCH_PULP_INSN)
    return match_pulp_is_depthwise_3x3(tile) || match_pulp_is_depthwise_5x5(tile);
#else
    return match_pulp_is_depthwise_3x3(tile);
#endif
}

bool match_pulp_depthwise_in_strips(const match_tile_t *tile, const match_finish_t *finish)
{
    if (match_pulp_is_depthwise_3x3(tile)) {
        match_share_t strips = match_share(tile->channels_out * ((tile->output_width + 1) / 2));
        match_pulp_depthwise_3x3(tile, finish, strips.first, strips.last);
        return true;
    }
#if defined(MATCH_PULP_INSN)
    if (match_pulp_is_depthwise_5x5(tile)) {
        match_share_t columns = match_share(tile->channels_out * tile->output_width);
        match_pulp_depthwise_5x5(tile, finish, columns.first, columns.last);
        return true;
    }
#endif
    return false;
}

/* Rows of filters that maps have loops for. */
enum { MAP_FILTER = 5 };

/* As a map whose rows are words, or in strips, if there are loops for that. */
static bool in_loops(const match_tile_t *tile, const match_finish_t *finish)
{
#if defined(MATCH_PULP_INSN)
    bool is_map = tile->filter_height == MAP_FILTER; /* others need not ask */
    if (is_map && match_pulp_is_depthwise_small_map(tile, finish)) {
        match_pulp_depthwise_small_map(tile, finish);
        return true;
    }
    if (is_map && match_pulp_is_depthwise_two_words(tile, finish)) {
        match_pulp_depthwise_two_words(tile, finish);
        return true;
    }
#endif
    return match_pulp_depthwise_in_strips(tile, finish);
}

static void depthwise_conv2d(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    if (!in_loops(tile, &finish)) {
        match_pulp_depthwise_gathered(tile, &finish);
    } else if (finish.excepted != NULL) {
        match_pulp_depthwise_correct(tile, &finish);
    }
}

void match_pulp_depthwise_conv2d(const match_tile_t *tile)
{
    depthwise_conv2d(tile, MATCH_FORM_64);
}

void match_pulp_depthwise_conv2d_split(const match_tile_t *tile)
{
    depthwise_conv2d(tile, MATCH_FORM_SPLIT);
}

void match_pulp_depthwise_conv2d_int32(const match_tile_t *tile)
{
    depthwise_conv2d(tile, MATCH_FORM_32);
}
