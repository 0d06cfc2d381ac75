#include <stdbool.h>

#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

/* Whether pixels of the tile lie at equal distances across its rows, too. */
static bool is_gapless(const match_tile_t *tile)
{
    return tile->input_row_stride == tile->output_width * tile->input_pixel_stride &&
           tile->output_row_stride == tile->output_width * tile->output_pixel_stride;
}

static void pointwise(const match_tile_t *tile, match_form_t form, const match_loops_t *loops)
{
    match_finish_t finish = match_finish_of(tile, form);
    int32_t rows = tile->output_height;
    int32_t columns = tile->output_width;
    if (is_gapless(tile)) {
        columns *= rows;
        rows = 1;
    }
    match_product_t product = {
        .x_step = tile->input_pixel_stride,
        .length = tile->channels_in,
        .weights = tile->weights,
        .output_step = tile->output_pixel_stride,
    };
    match_pulp_choose_loops(&finish, loops, &product);
    match_blocks_t blocks = match_share_blocks(rows, columns, tile->channels_out);
    for (match_part_t part; match_next_part(&blocks, &part);) {
        product.x = match_input_pixel(tile, part.y, part.x);
        product.output = match_output_pixel(tile, part.y, part.x);
        product.pixels = part.pixels;
        product.first = part.first;
        product.last = part.last;
        match_pulp_matmul(&finish, &product);
    }
}

void match_pulp_pointwise(const match_tile_t *tile)
{
    pointwise(tile, MATCH_FORM_64, NULL);
}

void match_pulp_pointwise_split(const match_tile_t *tile)
{
    pointwise(tile, MATCH_FORM_SPLIT, match_loops_split);
}

void match_pulp_pointwise_int32(const match_tile_t *tile)
{
    pointwise(tile, MATCH_FORM_32, match_loops_32);
}
