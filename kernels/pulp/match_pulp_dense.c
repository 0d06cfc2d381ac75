#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

static void dense(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    match_share_t channels = match_share_channels(tile->channels_out, 2);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            match_pulp_matmul_pixel(&finish, match_input_pixel(tile, y, x), tile->weights, tile->channels_in,
                                    channels.first, channels.last, match_output_pixel(tile, y, x));
        }
    }
}

void match_pulp_dense(const match_tile_t *tile)
{
    dense(tile, MATCH_FORM_64);
}

void match_pulp_dense_high(const match_tile_t *tile)
{
    dense(tile, MATCH_FORM_HIGH);
}

void match_pulp_dense_int32(const match_tile_t *tile)
{
    dense(tile, MATCH_FORM_32);
}
