/* A core's elements of a tile as runs of bytes without gaps between them, for operators that compute each element by
 * itself. */
#ifndef MATCH_PULP_RUNS_H
#define MATCH_PULP_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "match_pulp_share.h"
#include "match_tile.h"

/* Consecutive pixels of the tile, from the first of a row on, that lie without gaps in a tensor with these strides: one,
 * a row or all. Of several tensors the smallest number holds for all of them. */
static inline int32_t match_dense_pixels(const match_tile_t *tile, int32_t row_stride, int32_t pixel_stride)
{
    if (tile->output_width > 1 && pixel_stride != tile->channels_out) {
        return 1;
    }
    if (tile->output_height > 1 && row_stride != tile->output_width * tile->channels_out) {
        return tile->output_width;
    }
    return tile->output_height * tile->output_width;
}

/* `count` elements from number `first` on, counted from pixel (y, x). */
typedef struct {
    int32_t y;
    int32_t x;
    int32_t first;
    int32_t count;
    int32_t left;   /* elements of this core from here on */
    int32_t pixels; /* from one run to the next */
    int32_t length; /* elements of a whole run */
} match_run_t;

static inline int32_t match_run_count(int32_t left, int32_t rest)
{
    return left < rest ? left : rest;
}

/* This core's first run, `pixels` being those without gaps; its count is 0 where there is none. A core's share is of
 * whole words, so that words of one core are words of all of them. */
static inline match_run_t match_first_run(const match_tile_t *tile, int32_t pixels)
{
    int32_t length = pixels * tile->channels_out;
    int32_t elements = tile->output_height * tile->output_width * tile->channels_out;
    match_share_t share = match_share_by(elements, (match_each(elements) + 3) / 4 * 4);
    match_run_t run = {.first = share.first, .left = share.last - share.first, .pixels = pixels, .length = length};
    if (share.first >= length) {
        int32_t pixel = share.first / length * pixels;
        run.first = share.first % length;
        run.y = pixel / tile->output_width;
        run.x = pixel % tile->output_width;
    }
    run.count = match_run_count(run.left, length - run.first);
    return run;
}

/* The one behind it. */
static inline void match_next_run(const match_tile_t *tile, match_run_t *run)
{
    run->left -= run->count;
    run->first = 0;
    run->x += run->pixels;
    if (run->x >= tile->output_width) {
        run->x = 0;
        run->y++;
    }
    run->count = match_run_count(run->left, run->length);
}

/* Offset of its first element in a tensor with these strides, bytes. */
static inline int32_t match_run_offset(const match_run_t *run, int32_t row_stride, int32_t pixel_stride)
{
    return run->y * row_stride + run->x * pixel_stride + run->first;
}

/* What a run of an operator of two inputs reads and writes; from one element to the next the addend is `step` bytes
 * further: 1, or 0 where it has one channel for all. */
typedef struct {
    const uint8_t *input;
    const uint8_t *addend;
    uint8_t *output;
    int32_t step;
} match_operands_t;

/* Whether the addend has one channel for all. */
static inline bool match_one_channel(const match_tile_t *tile)
{
    return tile->channels_in < tile->channels_out;
}

/* This core's first run of such an operator. */
static inline match_run_t match_first_run_of_two(const match_tile_t *tile)
{
    int32_t input = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t addend = match_dense_pixels(tile, tile->addend_row_stride, tile->addend_pixel_stride);
    int32_t output = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    int32_t least = input < addend ? input : addend;
    least = output < least ? output : least;
    return match_first_run(tile, match_one_channel(tile) ? 1 : least);
}

static inline match_operands_t match_operands_of(const match_tile_t *tile, const match_run_t *run)
{
    int32_t addend = match_run_offset(run, tile->addend_row_stride, tile->addend_pixel_stride);
    return (match_operands_t){
        .input = tile->input + match_run_offset(run, tile->input_row_stride, tile->input_pixel_stride),
        .addend = tile->addend + addend - (match_one_channel(tile) ? run->first : 0),
        .output = tile->output + match_run_offset(run, tile->output_row_stride, tile->output_pixel_stride),
        .step = !match_one_channel(tile),
    };
}

#endif
