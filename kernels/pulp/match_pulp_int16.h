/* Tiles of activations of 16 bits: their elements, what lies under a window, and what becomes of accumulators. */
#ifndef MATCH_PULP_INT16_H
#define MATCH_PULP_INT16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_pulp_dot_int16.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_runs.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"
#include "match_tile.h"

static inline const match_half_t *match_input_half(const match_tile_t *tile, int32_t y, int32_t x)
{
    const match_half_t *input = (const match_half_t *)(const void *)tile->input;
    return input + y * tile->input_row_stride + x * tile->input_pixel_stride;
}

static inline match_half_t *match_output_half(const match_tile_t *tile, int32_t y, int32_t x)
{
    match_half_t *output = (match_half_t *)(void *)tile->output;
    return output + y * tile->output_row_stride + x * tile->output_pixel_stride;
}

/* Of a tile, copied, so that stores to outputs do not touch it: parameters, match_requant_signed_t where there is a
 * step, else match_requant_t; the bytes of one; the clip; what negative accumulators lack. */
typedef struct {
    const uint8_t *parameters;
    ptrdiff_t bytes;
    int32_t clip_low;
    int32_t clip_high;
    int64_t negative_step;
} match_finish_int16_t;

static inline match_finish_int16_t match_finish_int16_of(const match_tile_t *tile)
{
    bool is_signed = tile->negative_step != 0;
    return (match_finish_int16_t){
        .parameters = tile->parameters,
        .bytes = (ptrdiff_t)(is_signed ? sizeof(match_requant_signed_t) : sizeof(match_requant_t)),
        .clip_low = tile->clip_low,
        .clip_high = tile->clip_high,
        .negative_step = tile->negative_step,
    };
}

/* (acc * multiplier + bias) >> shift for shifts of less than 32, as far as the clip tells such values apart. */
static __attribute__((noinline)) int32_t match_shifted_half(match_requant_t line, int32_t acc)
{
    int64_t value = ((int64_t)acc * line.multiplier + line.bias) >> line.shift;
    return (int32_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
}

/* The output of a channel. Most shifts are 32 and more, and few layers have a step. */
static inline int16_t match_finish_half(const match_finish_int16_t *finish, int32_t channel, int32_t acc)
{
    const uint8_t *parameters = finish->parameters + channel * finish->bytes;
    match_requant_t line = match_parameters_64(parameters);
    if (__builtin_expect(finish->bytes != sizeof(match_requant_t), 0) &&
        acc < match_parameters_64_signed(parameters).negative_below) {
        line.bias -= finish->negative_step;
    }
    int32_t value;
    if (__builtin_expect((line.shift & 32) != 0, 1)) {
        uint32_t low = (uint32_t)acc * (uint32_t)line.multiplier, bias = (uint32_t)line.bias;
        int32_t high = (int32_t)(((int64_t)acc * line.multiplier) >> 32) + (int32_t)(line.bias >> 32);
        value = (high + (low + bias < low)) >> (line.shift & 31);
    } else {
        value = match_shifted_half(line, acc);
    }
    return (int16_t)match_smaller(match_larger(value, finish->clip_low), finish->clip_high);
}

/* What lies under a window: rows and columns of the input, the first of them, and how many elements of the filter lie
 * before that. */
typedef struct {
    match_range_t rows;
    match_range_t columns;
    const match_half_t *first;
    int32_t before;
} match_window_int16_t;

static inline match_window_int16_t match_window_int16_of(const match_tile_t *tile, int32_t y, int32_t x)
{
    match_position_t seen = match_seen(tile, y, x, 0, 0);
    match_window_int16_t window = {
        .rows = match_range_of(seen.y, tile->dilation_y, tile->filter_height, tile->input_height),
        .columns = match_range_of(seen.x, tile->dilation_x, tile->filter_width, tile->input_width),
    };
    window.before = window.rows.before * tile->filter_width + window.columns.before;
    window.first = match_input_half(tile, seen.y + window.rows.before * tile->dilation_y,
                                    seen.x + window.columns.before * tile->dilation_x);
    return window;
}

/* Computes so many channels of a pixel, MATCH_HALVES or one, from one on. */
typedef void (*match_channels_int16_t)(const match_tile_t *tile, const match_finish_int16_t *finish,
                                       const match_window_int16_t *window, int32_t channel, int channels,
                                       match_half_t *output);

/* All outputs of this core, which shares out pairs of pixels by fours of channels with the others. */
MATCH_INLINE void match_compute_int16(const match_tile_t *tile, match_channels_int16_t compute)
{
    match_finish_int16_t finish = match_finish_int16_of(tile);
    match_blocks_t blocks = match_share_blocks(tile->output_height, tile->output_width, tile->channels_out);
    for (match_part_t part; match_next_part(&blocks, &part);) {
        for (int32_t x = part.x; x < part.x + part.pixels; x++) {
            match_window_int16_t window = match_window_int16_of(tile, part.y, x);
            match_half_t *output = match_output_half(tile, part.y, x);
            int32_t channel = part.first;
            for (; channel + MATCH_HALVES <= part.last; channel += MATCH_HALVES) {
                compute(tile, &finish, &window, channel, MATCH_HALVES, output);
            }
            for (; channel < part.last; channel++) {
                compute(tile, &finish, &window, channel, 1, output);
            }
        }
    }
}

/* This core's first run of an operator of one input. */
static inline match_run_t match_first_run_int16(const match_tile_t *tile)
{
    int32_t from = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t to = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    return match_first_run(tile, from < to ? from : to);
}

/* What a run of an operator of two inputs reads and writes; the second input's elements are `step` apart: 1, or 0 where it
 * has one channel for all. */
typedef struct {
    const match_half_t *input;
    const match_half_t *addend;
    match_half_t *output;
    int32_t step;
} match_operands_int16_t;

static inline match_operands_int16_t match_operands_int16_of(const match_tile_t *tile, const match_run_t *run)
{
    const match_half_t *addend = (const match_half_t *)(const void *)tile->addend;
    int32_t first = match_run_offset(run, tile->addend_row_stride, tile->addend_pixel_stride);
    return (match_operands_int16_t){
        .input = match_input_half(tile, run->y, run->x) + run->first,
        .addend = addend + first - (match_one_channel(tile) ? run->first : 0),
        .output = match_output_half(tile, run->y, run->x) + run->first,
        .step = !match_one_channel(tile),
    };
}

#endif
