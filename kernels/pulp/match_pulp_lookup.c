#include <stdbool.h>

#include "match_pulp.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

/* Pixels without gaps between them make a row one run of bytes; otherwise each pixel is one. */
static bool has_gaps(const match_tile_t *tile)
{
    return tile->input_pixel_stride != tile->channels_out || tile->output_pixel_stride != tile->channels_out;
}

void match_pulp_lookup(const match_tile_t *tile)
{
    const uint8_t *table = tile->parameters;
    int32_t columns = has_gaps(tile) ? tile->output_width : 1;
    int32_t length = tile->output_width * tile->channels_out / columns;
    match_share_t bytes = match_share(tile->output_height * columns * length);
    int32_t byte = bytes.first;
    while (byte < bytes.last) {
        int32_t run = byte / length;
        int32_t first = byte % length;
        int32_t left = length - first;
        int32_t count = left < bytes.last - byte ? left : bytes.last - byte;
        const uint8_t *input = match_input_pixel(tile, run / columns, run % columns) + first;
        uint8_t *output = match_output_pixel(tile, run / columns, run % columns) + first;
#pragma GCC unroll 4
        for (int32_t i = 0; i < count; i++) {
            output[i] = table[input[i]];
        }
        byte += count;
    }
}
