#include "match_pulp.h"
#include "match_pulp_im2col.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

void match_pulp_lay_out(const match_tile_t *tile)
{
    int32_t column = tile->filter_height * tile->channels_in;
    int32_t columns = (tile->output_width - 1) * tile->stride_x + tile->filter_width;
    match_share_t share = match_share(tile->output_height * columns);
    uint8_t *target = (uint8_t *)tile->scratch + share.first * column;
    int32_t y = share.first / columns;
    int32_t x = share.first - y * columns;
    for (int32_t left = share.last - share.first; left > 0; y++, x = 0) {
        int32_t count = match_smaller(left, columns - x);
        match_windows_t windows = match_windows_of(tile, y);
        if (windows.rows.inside < tile->filter_height) {
            match_fill(target, tile->pad_value, count * column);
        }
        match_im2col(tile, &windows, x - tile->pad_left, 1, count, target, column);
        target += count * column;
        left -= count;
    }
}
