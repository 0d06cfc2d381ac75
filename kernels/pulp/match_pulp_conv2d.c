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
    match_product_t product = {
        .x = first,
        .x_step = column_bytes,
        .rows = 1,
        .length = length,
        .weights = tile->weights,
        .output_step = tile->output_pixel_stride,
    };
    match_blocks_t blocks = match_share_blocks(tile->output_height, tile->output_width, tile->channels_out);
    for (match_part_t part; match_next_part(&blocks, &part);) {
        match_windows_t windows = match_windows_of(tile, part.y);
        match_pad_rows(tile, &windows, first);
        match_pad_rows(tile, &windows, second);
        product.first = part.first;
        product.last = part.last;
        int32_t last = part.x + part.pixels;
        for (int32_t x = part.x; x < last; x += 2) {
            match_im2col(tile, &windows, x, first);
            product.pixels = 1;
            if (x + 1 < last) {
                match_im2col(tile, &windows, x + 1, second);
                product.pixels = 2;
            }
            product.output = match_output_pixel(tile, part.y, x);
            match_pulp_matmul(&finish, &product);
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
