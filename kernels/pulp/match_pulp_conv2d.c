#include <stdbool.h>
#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"

/* Input columns that a filter row sees, of `count` filter columns: those before the input, inside and behind it. */
typedef struct {
    int32_t before;
    int32_t inside;
    int32_t behind;
} match_run_t;

static match_run_t run_of(const match_tile_t *tile, int32_t column)
{
    int32_t count = tile->filter_width;
    int32_t before = match_smaller(match_larger(-column, 0), count);
    int32_t end = match_larger(match_smaller(tile->input_width - column, count), before);
    return (match_run_t){before, end - before, count - end};
}

/* Whether a filter row sees consecutive bytes. */
static bool is_dense(const match_tile_t *tile)
{
    return tile->dilation_x == 1 && tile->input_pixel_stride == tile->channels_in;
}

/* Lay out the window that output pixel (y, x) sees as one vector, (filter_height, filter_width, channels_in). */
static void im2col(const match_tile_t *tile, int32_t y, int32_t x, uint8_t *column)
{
    int32_t channels = tile->channels_in;
    bool dense = is_dense(tile);
    match_position_t first = match_seen(tile, y, x, 0, 0);
    match_run_t run = run_of(tile, first.x);
    int32_t row_bytes = tile->filter_width * channels;
    for (int32_t fy = 0; fy < tile->filter_height; fy++, first.y += tile->dilation_y, column += row_bytes) {
        if (first.y < 0 || first.y >= tile->input_height) {
            match_fill(column, tile->pad_value, row_bytes);
        } else if (dense) {
            match_fill(column, tile->pad_value, run.before * channels);
            match_copy(column + run.before * channels, match_input_pixel(tile, first.y, first.x + run.before),
                       run.inside * channels);
            match_fill(column + (run.before + run.inside) * channels, tile->pad_value, run.behind * channels);
        } else {
            for (int32_t fx = 0; fx < tile->filter_width; fx++) {
                match_position_t seen = {first.y, first.x + fx * tile->dilation_x};
                if (match_is_padding(tile, seen)) {
                    match_fill(column + fx * channels, tile->pad_value, channels);
                } else {
                    match_copy(column + fx * channels, match_input_pixel(tile, seen.y, seen.x), channels);
                }
            }
        }
    }
}

static void conv2d(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    int32_t length = tile->filter_height * tile->filter_width * tile->channels_in;
    ptrdiff_t column_bytes = ((ptrdiff_t)length + 3) / 4 * 4;
    uint8_t *first = (uint8_t *)tile->scratch + 2 * match_core_id() * column_bytes;
    uint8_t *second = first + column_bytes;
    const uint8_t *const columns[2] = {first, second};
    match_share_t rows = match_share(tile->output_height);
    for (int32_t y = rows.first; y < rows.last; y++) {
        int32_t x = 0;
        for (; x + 2 <= tile->output_width; x += 2) {
            im2col(tile, y, x, first);
            im2col(tile, y, x + 1, second);
            uint8_t *const outputs[2] = {match_output_pixel(tile, y, x), match_output_pixel(tile, y, x + 1)};
            match_pulp_matmul_pixels(&finish, columns, tile->weights, length, tile->channels_out, outputs);
        }
        if (x < tile->output_width) {
            im2col(tile, y, x, first);
            match_pulp_matmul_pixel(&finish, first, tile->weights, length, 0, tile->channels_out,
                                    match_output_pixel(tile, y, x));
        }
    }
}

void match_pulp_conv2d(const match_tile_t *tile)
{
    conv2d(tile, MATCH_FORM_64);
}

void match_pulp_conv2d_high(const match_tile_t *tile)
{
    conv2d(tile, MATCH_FORM_HIGH);
}

void match_pulp_conv2d_int32(const match_tile_t *tile)
{
    conv2d(tile, MATCH_FORM_32);
}
