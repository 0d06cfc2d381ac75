#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_im2col.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

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
        match_windows_t windows = match_windows_of(tile, y);
        match_pad_rows(tile, &windows, first);
        match_pad_rows(tile, &windows, second);
        int32_t x = 0;
        for (; x + 2 <= tile->output_width; x += 2) {
            match_im2col(tile, &windows, x, first);
            match_im2col(tile, &windows, x + 1, second);
            uint8_t *const outputs[2] = {match_output_pixel(tile, y, x), match_output_pixel(tile, y, x + 1)};
            match_pulp_matmul_pixels(&finish, columns, tile->weights, length, tile->channels_out, outputs);
        }
        if (x < tile->output_width) {
            match_im2col(tile, &windows, x, first);
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
