/* The kernels of ${title}, on a PC and wherever else C is compiled. */
#include "${name}.h"

#include <stdbool.h>
#include <stddef.h>

static uint8_t clip(const match_tile_t *tile, int64_t value)
{
    return (uint8_t)(value < tile->clip_low ? tile->clip_low : value > tile->clip_high ? tile->clip_high : value);
}

static uint8_t requantize(const match_tile_t *tile, int32_t channel, int32_t acc)
{
    const match_requant_t *parameters = (const match_requant_t *)tile->parameters + channel;
    return clip(tile, (parameters->multiplier * (int64_t)acc + parameters->bias) >> parameters->shift);
}

/* The input's pixel, or NULL in the padding. */
static const uint8_t *pixel(const match_tile_t *tile, int32_t y, int32_t x)
{
    const bool inside = y >= 0 && y < tile->input_height && x >= 0 && x < tile->input_width;
    return inside ? tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride : NULL;
}

static int32_t convolve(const match_tile_t *tile, int32_t oy, int32_t ox, const int8_t *filter)
{
    int32_t acc = 0;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        for (int32_t fx = 0; fx < tile->filter_width; fx++) {
            const int32_t y = oy * tile->stride_y - tile->pad_top + fy;
            const int32_t x = ox * tile->stride_x - tile->pad_left + fx;
            const uint8_t *input = pixel(tile, y, x);
            for (int32_t c = 0; c < tile->channels_in; c++) {
                acc += *filter++ * (input != NULL ? input[c] : tile->pad_value);
            }
        }
    }
    return acc;
}

void match_${name}_conv2d(const match_tile_t *tile)
{
    const int32_t filter_bytes = tile->filter_height * tile->filter_width * tile->channels_in;
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            uint8_t *output = tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride;
            for (int32_t k = 0; k < tile->channels_out; k++) {
                const int8_t *filter = (const int8_t *)tile->weights + k * filter_bytes;
                output[k] = requantize(tile, k, convolve(tile, y, x, filter));
            }
        }
    }
}
% if scratchpad:

void match_${name}_add(const match_tile_t *tile)
{
    const match_requant_add_t *parameters = (const match_requant_add_t *)tile->parameters;
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            const uint8_t *input = tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride;
            const uint8_t *addend = tile->addend + y * tile->addend_row_stride + x * tile->addend_pixel_stride;
            uint8_t *output = tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride;
            for (int32_t k = 0; k < tile->channels_out; k++) {
                const int64_t a = input[k] * (int64_t)parameters->input_multiplier;
                const int64_t b = addend[k] * (int64_t)parameters->addend_multiplier;
                output[k] = clip(tile, (a + b + parameters->bias) >> parameters->shift);
            }
        }
    }
}
% endif
