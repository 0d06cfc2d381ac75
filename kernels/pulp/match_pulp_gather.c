#include "match_pulp.h"
#include "match_pulp_im2col.h"
#include "match_pulp_share.h"

/* How many of `most` output columns are neighbours in the input, too, or padding. */
static int32_t run_of(const int32_t *columns, int32_t most)
{
    int32_t step = columns[0] >= 0;
    int32_t count = 1;
    while (count < most && columns[count] == columns[count - 1] + step) {
        count++;
    }
    return count;
}

void match_pulp_gather(const match_tile_t *tile)
{
    const int32_t *columns = tile->parameters;
    int32_t bytes = tile->channels_out;
    bool together = tile->input_pixel_stride == bytes && tile->output_pixel_stride == bytes;
    match_pixels_t at = match_share_pixels(tile->output_height, tile->output_width);
    while (at.left > 0) {
        int32_t rest = at.columns - at.x;
        int32_t count = run_of(columns + at.x, at.left < rest ? at.left : rest);
        int32_t first = columns[at.x];
        uint8_t *output = match_output_pixel(tile, at.y, at.x);
        if (first < 0) {
            match_fill_columns(output, tile->output_pixel_stride, tile->pad_value, count, bytes);
        } else {
            int32_t rows = together ? 1 : count;
            match_copy_rows(output, tile->output_pixel_stride, match_input_pixel(tile, at.y, first),
                            tile->input_pixel_stride, rows, together ? count * bytes : bytes);
        }
        at.left -= count;
        at.x += count;
        if (at.x == at.columns) {
            at.x = 0;
            at.y++;
        }
    }
}
