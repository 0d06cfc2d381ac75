#include "match_arm_window.h"

/* Of positions at, at + step and so on, how many come before `limit`, `count` at the most. */
static int32_t before(int32_t at, int32_t step, int32_t count, int32_t limit)
{
    int32_t room = limit - at;
    if (room <= 0) {
        return 0;
    }
    if (step != 1) {
        room = (room + step - 1) / step;
    }
    return match_arm_least(room, count);
}

void match_arm_runs(const match_tile_t *tile, int32_t y, int32_t x, match_arm_run_t run, void *target)
{
    int32_t channels = tile->channels_in, width = tile->filter_width;
    int32_t row = y * tile->stride_y - tile->pad_top;
    int32_t column = x * tile->stride_x - tile->pad_left;
    int32_t first = before(column, tile->dilation_x, width, 0);
    int32_t end = before(column, tile->dilation_x, width, tile->input_width);
    const uint8_t *bytes =
        tile->input + row * tile->input_row_stride + (column + first * tile->dilation_x) * tile->input_pixel_stride;
    ptrdiff_t step = (ptrdiff_t)tile->dilation_x * tile->input_pixel_stride;
    int32_t each = step == channels ? end - first : 1; /* pixels side by side */
    for (int32_t left = tile->filter_height; left > 0; left--) {
        if (row < 0 || row >= tile->input_height || first >= end) {
            run(target, NULL, width * channels);
        } else {
            if (first > 0) {
                run(target, NULL, first * channels);
            }
            const uint8_t *pixel = bytes;
            for (int32_t i = first; i < end; i += each, pixel += step) {
                run(target, pixel, each * channels);
            }
            if (end < width) {
                run(target, NULL, (width - end) * channels);
            }
        }
        row += tile->dilation_y;
        bytes += tile->dilation_y * tile->input_row_stride;
    }
}
