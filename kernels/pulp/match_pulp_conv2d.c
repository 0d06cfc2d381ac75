#include <stdbool.h>
#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_im2col.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"

/* A core's scratch, in which windows are laid out column by column (match_pulp_im2col.h). Up to three bytes behind a
 * window are read, by weights of 0. */
typedef struct {
    uint8_t *first;
    int32_t column; /* bytes of a column of the input */
    int32_t step;   /* bytes from one window to the next */
    int32_t count;  /* windows at a time, an even number */
    bool shared;    /* whether windows beside each other share columns */
} band_t;

/* Whether they do: a window that begins anywhere costs a cycle for each word in each block of channels, which has to be
 * less than to copy columns again, some four cycles for each word of a pixel. */
static bool are_shared(const match_tile_t *tile, int32_t column, int32_t words)
{
    int32_t again = tile->filter_width - tile->stride_x;
    int32_t step = tile->stride_x * column;
    if (tile->dilation_x > 1 || again <= 0) {
        return false;
    }
    int32_t across = step % 2 > 0 ? 3 : step % 4 / 2 * 2; /* halves of a cycle, of two windows */
    int32_t blocks = (tile->channels_out + 3) >> 2;
    return across * blocks * words <= 16 * again * tile->filter_height * ((tile->channels_in + 3) >> 2);
}

/* This core's, for windows of `length` bytes in whole words. */
static band_t band_of(const match_tile_t *tile, int32_t length)
{
    int32_t least = length + 4;
    int32_t bytes = least <= 32 ? 16 * least : least >= 256 ? 2 * least : 512;
    band_t band = {
        .first = (uint8_t *)tile->scratch + match_core_id() * bytes,
        .column = tile->filter_height * tile->channels_in,
    };
    band.shared = are_shared(tile, band.column, length >> 2);
    band.step = band.shared ? tile->stride_x * band.column : length;
    band.count = ((bytes - least) / band.step + 1) & ~1;
    return band;
}

/* Lay out the windows of `count` outputs from column x on. */
static void lay_out(const match_tile_t *tile, const match_windows_t *windows, const band_t *band, int32_t x, int32_t count)
{
    int32_t first = x * tile->stride_x - tile->pad_left;
    if (windows->rows.inside < tile->filter_height) {
        match_fill(band->first, tile->pad_value, (count - 1) * band->step + tile->filter_width * band->column);
    }
    if (band->shared) {
        int32_t columns = (count - 1) * tile->stride_x + tile->filter_width;
        match_im2col(tile, windows, first, 1, columns, band->first, band->column);
        return;
    }
    uint8_t *target = band->first;
    for (int32_t fx = tile->filter_width; fx > 0; fx--, first += tile->dilation_x, target += band->column) {
        match_im2col(tile, windows, first, tile->stride_x, count, target, band->step);
    }
}

/* Output columns first .. last - 1. */
typedef struct {
    int32_t first;
    int32_t last;
} run_t;

/* Whether windows inside the input are whole words there without gaps. */
static bool are_in_place(const match_tile_t *tile)
{
    int32_t width = tile->filter_width;
    bool row = tile->filter_height == 1 &&
               (width == 1 || (tile->dilation_x == 1 && tile->input_pixel_stride == tile->channels_in));
    bool column = width == 1 && tile->dilation_y * tile->input_row_stride == tile->channels_in;
    return (row || column) && tile->channels_in % 4 == 0;
}

/* The columns of a part whose windows are multiplied where they lie in the input, if they are such. */
static run_t run_in_input(const match_tile_t *tile, const match_windows_t *windows, const match_part_t *part)
{
    run_t none = {part->x + part->pixels, part->x + part->pixels};
    int32_t width = tile->filter_width;
    if (windows->rows.inside < tile->filter_height || tile->input_width < width) {
        return none;
    }
    run_t run = {match_steps(tile->pad_left, tile->stride_x),
                 match_steps(tile->input_width - width + tile->pad_left + 1, tile->stride_x)};
    run.first = match_larger(run.first, part->x);
    run.last = match_smaller(run.last, none.last);
    return run.first < run.last ? run : none;
}

static void multiply_in_input(const match_tile_t *tile, const match_finish_t *finish, const match_windows_t *windows,
                              int32_t y, run_t run, match_product_t *product)
{
    product->x = windows->input + (run.first * tile->stride_x - tile->pad_left) * tile->input_pixel_stride;
    product->x_step = (ptrdiff_t)tile->stride_x * tile->input_pixel_stride;
    product->output = match_output_pixel(tile, y, run.first);
    product->pixels = run.last - run.first;
    match_pulp_matmul(finish, product);
}

static void multiply_laid_out(const match_tile_t *tile, const match_finish_t *finish, const match_windows_t *windows,
                              int32_t y, run_t run, const band_t *band, match_product_t *product)
{
    product->x = band->first;
    product->x_step = band->step;
    for (int32_t x = run.first; x < run.last; x += band->count) {
        product->pixels = match_smaller(run.last - x, band->count);
        product->output = match_output_pixel(tile, y, x);
        lay_out(tile, windows, band, x, product->pixels);
        match_pulp_matmul(finish, product);
    }
}

static void conv2d(const match_tile_t *tile, match_form_t form, const match_loops_t *loops)
{
    match_finish_t finish = match_finish_of(tile, form);
    bool in_place = are_in_place(tile);
    int32_t length = (tile->filter_height * tile->filter_width * tile->channels_in + 3) & ~3;
    band_t band = band_of(tile, length);
    match_product_t product = {
        .length = length,
        .weights = tile->weights,
        .output_step = tile->output_pixel_stride,
    };
    match_pulp_choose_loops(&finish, loops, &product);
    match_blocks_t blocks = match_share_blocks(tile->output_height, tile->output_width, tile->channels_out);
    for (match_part_t part; match_next_part(&blocks, &part);) {
        match_windows_t windows = match_windows_of(tile, part.y);
        run_t all = {part.x, part.x + part.pixels};
        product.first = part.first;
        product.last = part.last;
        if (in_place) {
            run_t run = run_in_input(tile, &windows, &part);
            run_t before = {all.first, run.first};
            all.first = run.last;
            multiply_laid_out(tile, &finish, &windows, part.y, before, &band, &product);
            if (run.first < run.last) {
                multiply_in_input(tile, &finish, &windows, part.y, run, &product);
            }
        }
        multiply_laid_out(tile, &finish, &windows, part.y, all, &band, &product);
    }
}

void match_pulp_conv2d(const match_tile_t *tile)
{
    conv2d(tile, MATCH_FORM_64, NULL);
}

void match_pulp_conv2d_split(const match_tile_t *tile)
{
    conv2d(tile, MATCH_FORM_SPLIT, match_loops_split);
}

void match_pulp_conv2d_int32(const match_tile_t *tile)
{
    conv2d(tile, MATCH_FORM_32, match_loops_32);
}

/* Cores share out each group; none waits for another. */
static void grouped(const match_tile_t *tile, match_form_t form, const match_loops_t *loops)
{
    match_tile_t group = *tile;
    int32_t length = (tile->filter_height * tile->filter_width * tile->channels_in + 3) & ~3;
    ptrdiff_t parameters = match_parameter_bytes(match_form_of(tile, form));
    for (int32_t g = 0; g < tile->groups; g++) {
        conv2d(&group, form, loops);
        group.input += tile->channels_in;
        group.output += tile->channels_out;
        group.weights = (const int8_t *)group.weights + tile->channels_out * length;
        group.parameters = (const uint8_t *)group.parameters + tile->channels_out * parameters;
        if (tile->excepted != NULL) {
            group.excepted = (const uint16_t *)group.excepted + tile->channels_out;
        }
    }
}

void match_pulp_grouped_conv2d(const match_tile_t *tile)
{
    grouped(tile, MATCH_FORM_64, NULL);
}

void match_pulp_grouped_conv2d_split(const match_tile_t *tile)
{
    grouped(tile, MATCH_FORM_SPLIT, match_loops_split);
}

void match_pulp_grouped_conv2d_int32(const match_tile_t *tile)
{
    grouped(tile, MATCH_FORM_32, match_loops_32);
}
