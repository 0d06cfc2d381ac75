#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

static void dense(const match_tile_t *tile, match_form_t form, const match_loops_t *loops)
{
    match_finish_t finish = match_finish_of(tile, form);
    match_share_t channels = match_share(tile->channels_out);
    match_product_t product = {
        .x_step = tile->input_pixel_stride,
        .length = tile->channels_in,
        .weights = tile->weights,
        .first = channels.first,
        .last = channels.last,
        .output_step = tile->output_pixel_stride,
        .pixels = tile->output_width,
    };
    match_pulp_choose_loops(&finish, loops, &product);
    for (int32_t y = 0; y < tile->output_height; y++) {
        product.x = match_input_pixel(tile, y, 0);
        product.output = match_output_pixel(tile, y, 0);
        match_pulp_matmul(&finish, &product);
    }
}

void match_pulp_dense(const match_tile_t *tile)
{
    dense(tile, MATCH_FORM_64, NULL);
}

void match_pulp_dense_high(const match_tile_t *tile)
{
    dense(tile, MATCH_FORM_HIGH, match_loops_high);
}

void match_pulp_dense_high_except(const match_tile_t *tile)
{
    dense(tile, MATCH_FORM_HIGH, match_loops_high_except);
}

void match_pulp_dense_int32(const match_tile_t *tile)
{
    dense(tile, MATCH_FORM_32, match_loops_32);
}
