#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

/* Input pixel under filter position (fy, fx) of output pixel (y, x), or NULL where that is padding. */
static const uint8_t *seen(const match_tile_t *tile, int32_t y, int32_t x, int32_t fy, int32_t fx)
{
    match_position_t position = match_seen(tile, y, x, fy, fx);
    return match_is_padding(tile, position) ? NULL : match_input_pixel(tile, position.y, position.x);
}

static uint8_t average(const match_tile_t *tile, int32_t y, int32_t x, int32_t channel)
{
    int32_t sum = 0;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        for (int32_t fx = 0; fx < tile->filter_width; fx++) {
            const uint8_t *pixel = seen(tile, y, x, fy, fx);
            sum += pixel != NULL ? pixel[channel] : tile->pad_value;
        }
    }
    return match_requantize(tile, channel, sum);
}

static uint8_t maximum(const match_tile_t *tile, int32_t y, int32_t x, int32_t channel)
{
    uint8_t largest = 0;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        for (int32_t fx = 0; fx < tile->filter_width; fx++) {
            const uint8_t *pixel = seen(tile, y, x, fy, fx);
            if (pixel != NULL && pixel[channel] > largest) {
                largest = pixel[channel];
            }
        }
    }
    return match_clip(tile, largest);
}

static void pool(const match_tile_t *tile, uint8_t (*reduce)(const match_tile_t *, int32_t, int32_t, int32_t))
{
    match_share_t channels = match_share(tile->channels_out, 1);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            uint8_t *output = match_output_pixel(tile, y, x);
            for (int32_t k = channels.first; k < channels.last; k++) {
                output[k] = reduce(tile, y, x, k);
            }
        }
    }
}

void match_pulp_avg_pool2d(const match_tile_t *tile)
{
    pool(tile, average);
}

void match_pulp_max_pool2d(const match_tile_t *tile)
{
    pool(tile, maximum);
}
