#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

void match_pulp_dense(const match_tile_t *tile)
{
    match_share_t channels = match_share(tile->channels_out, 1);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            match_pulp_matmul_pixel(tile, match_input_pixel(tile, y, x), tile->channels_in, channels.first,
                                    channels.last, match_output_pixel(tile, y, x));
        }
    }
}
