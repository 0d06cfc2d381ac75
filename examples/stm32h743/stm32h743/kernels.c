#include "kernels.h"

#include <stddef.h>
#include <string.h>

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>

/* acc + the four products of the bytes of x (unsigned) and w (signed): the even ones, then the odd ones. */
static inline int32_t mac4(uint32_t x, uint32_t w, int32_t acc)
{
    acc = __smlad((int16x2_t)__uxtb16(x), __sxtb16(w), acc);
    return __smlad((int16x2_t)__uxtb16(x >> 8), __sxtb16(w >> 8), acc);
}
#else
static inline int32_t mac4(uint32_t x, uint32_t w, int32_t acc)
{
    for (uint32_t bit = 0; bit < 32; bit += 8) {
        acc += (int32_t)(uint8_t)(x >> bit) * (int8_t)(uint8_t)(w >> bit);
    }
    return acc;
}
#endif

/* Four bytes from any address. */
static inline uint32_t load4(const void *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline uint8_t clip(const match_tile_t *tile, int64_t value)
{
    return (uint8_t)(value < tile->clip_low ? tile->clip_low : value > tile->clip_high ? tile->clip_high : value);
}

/* The output of a channel for its accumulator. Parameters are copied: they may lie at any multiple of 4. */
static inline uint8_t requantize(const match_tile_t *tile, int32_t channel, int32_t acc)
{
    if (tile->negative_step == 0) {
        match_requant_t p;
        memcpy(&p, (const uint8_t *)tile->parameters + (size_t)channel * sizeof p, sizeof p);
        return clip(tile, ((int64_t)acc * p.multiplier + p.bias) >> p.shift);
    }
    match_requant_signed_t p;
    memcpy(&p, (const uint8_t *)tile->parameters + (size_t)channel * sizeof p, sizeof p);
    int64_t sum = (int64_t)acc * p.multiplier + p.bias;
    return clip(tile, (acc < p.negative_below ? sum - tile->negative_step : sum) >> p.shift);
}

static inline uint8_t *output_pixel(const match_tile_t *tile, int32_t y, int32_t x)
{
    return tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride;
}

/* Input pixel that output pixel (y, x) sees at filter position (fy, fx), or NULL where that is padding. */
static const uint8_t *seen(const match_tile_t *tile, int32_t y, int32_t x, int32_t fy, int32_t fx)
{
    int32_t row = y * tile->stride_y - tile->pad_top + fy;
    int32_t column = x * tile->stride_x - tile->pad_left + fx;
    if (row < 0 || row >= tile->input_height || column < 0 || column >= tile->input_width) {
        return NULL;
    }
    return tile->input + row * tile->input_row_stride + column * tile->input_pixel_stride;
}

/* Lay out what output pixel (y, x) sees as one vector, (filter_height, filter_width, channels). */
static const uint8_t *im2col(const match_tile_t *tile, int32_t y, int32_t x, int32_t channels, uint8_t *column)
{
    uint8_t *end = column;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        for (int32_t fx = 0; fx < tile->filter_width; fx++, end += channels) {
            const uint8_t *pixel = seen(tile, y, x, fy, fx);
            if (pixel != NULL) {
                memcpy(end, pixel, (size_t)channels);
            } else {
                memset(end, tile->pad_value, (size_t)channels);
            }
        }
    }
    return column;
}

static int32_t dot(const uint8_t *x, const int8_t *w, int32_t length)
{
    int32_t acc = 0;
    int32_t i = 0;
    for (; i + 4 <= length; i += 4) {
        acc = mac4(load4(x + i), load4(w + i), acc);
    }
    for (; i < length; i++) {
        acc += x[i] * w[i];
    }
    return acc;
}

/* All output channels of one pixel, whose activations are a vector. */
static void matmul_pixel(const match_tile_t *tile, const uint8_t *x, int32_t length, int32_t first, uint8_t *output)
{
    for (int32_t k = first; k < tile->channels_out; k++) {
        output[k] = requantize(tile, k, dot(x, (const int8_t *)tile->weights + k * length, length));
    }
}

/* All output channels of two pixels, two at a time, so that each word is loaded once for two products. */
static void matmul_pixels(const match_tile_t *tile, const uint8_t *x0, const uint8_t *x1, int32_t length, uint8_t *y0,
                          uint8_t *y1)
{
    int32_t k = 0;
    for (; k + 2 <= tile->channels_out; k += 2) {
        const int8_t *w0 = (const int8_t *)tile->weights + k * length;
        const int8_t *w1 = w0 + length;
        int32_t a00 = 0, a01 = 0, a10 = 0, a11 = 0;
        int32_t i = 0;
        for (; i + 4 <= length; i += 4) {
            uint32_t p0 = load4(x0 + i), p1 = load4(x1 + i), q0 = load4(w0 + i), q1 = load4(w1 + i);
            a00 = mac4(p0, q0, a00);
            a01 = mac4(p0, q1, a01);
            a10 = mac4(p1, q0, a10);
            a11 = mac4(p1, q1, a11);
        }
        for (; i < length; i++) {
            a00 += x0[i] * w0[i];
            a01 += x0[i] * w1[i];
            a10 += x1[i] * w0[i];
            a11 += x1[i] * w1[i];
        }
        y0[k] = requantize(tile, k, a00);
        y0[k + 1] = requantize(tile, k + 1, a01);
        y1[k] = requantize(tile, k, a10);
        y1[k + 1] = requantize(tile, k + 1, a11);
    }
    matmul_pixel(tile, x0, length, k, y0);
    matmul_pixel(tile, x1, length, k, y1);
}

void match_m7_conv2d(const match_tile_t *tile)
{
    int32_t length = tile->filter_height * tile->filter_width * tile->channels_in;
    uint8_t *first = tile->scratch;
    uint8_t *second = first + (length + 3) / 4 * 4;
    for (int32_t y = 0; y < tile->output_height; y++) {
        int32_t x = 0;
        for (; x + 2 <= tile->output_width; x += 2) {
            const uint8_t *x0 = im2col(tile, y, x, tile->channels_in, first);
            const uint8_t *x1 = im2col(tile, y, x + 1, tile->channels_in, second);
            matmul_pixels(tile, x0, x1, length, output_pixel(tile, y, x), output_pixel(tile, y, x + 1));
        }
        if (x < tile->output_width) {
            const uint8_t *x0 = im2col(tile, y, x, tile->channels_in, first);
            matmul_pixel(tile, x0, length, 0, output_pixel(tile, y, x));
        }
    }
}

void match_m7_pointwise(const match_tile_t *tile)
{
    for (int32_t y = 0; y < tile->output_height; y++) {
        const uint8_t *input = tile->input + y * tile->input_row_stride;
        int32_t step = tile->input_pixel_stride;
        int32_t x = 0;
        for (; x + 2 <= tile->output_width; x += 2) {
            matmul_pixels(tile, input + x * step, input + (x + 1) * step, tile->channels_in, output_pixel(tile, y, x),
                          output_pixel(tile, y, x + 1));
        }
        if (x < tile->output_width) {
            matmul_pixel(tile, input + x * step, tile->channels_in, 0, output_pixel(tile, y, x));
        }
    }
}

void match_m7_depthwise_conv2d(const match_tile_t *tile)
{
    int32_t window = tile->filter_height * tile->filter_width;
    int32_t channels = tile->channels_out;
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            const uint8_t *column = im2col(tile, y, x, channels, tile->scratch);
            const int8_t *weights = tile->weights;
            uint8_t *output = output_pixel(tile, y, x);
            for (int32_t k = 0; k < channels; k++) {
                int32_t acc = 0;
                for (int32_t i = 0; i < window; i++) {
                    acc += column[i * channels + k] * *weights++;
                }
                output[k] = requantize(tile, k, acc);
            }
        }
    }
}

void match_m7_add(const match_tile_t *tile)
{
    match_requant_add_t p;
    memcpy(&p, tile->parameters, sizeof p);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            const uint8_t *a = tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride;
            const uint8_t *b = tile->addend + y * tile->addend_row_stride + x * tile->addend_pixel_stride;
            uint8_t *output = output_pixel(tile, y, x);
            for (int32_t k = 0; k < tile->channels_out; k++) {
                int64_t sum = (int64_t)a[k] * p.input_multiplier + (int64_t)b[k] * p.addend_multiplier + p.bias;
                output[k] = clip(tile, sum >> p.shift);
            }
        }
    }
}

void match_m7_gate(const match_tile_t *tile)
{
    match_m7_gate_t p;
    memcpy(&p, tile->parameters, sizeof p);
    const int32_t *f = (const int32_t *)((const uint8_t *)tile->parameters + sizeof p);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            const uint8_t *a = tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride;
            const uint8_t *b = tile->addend + y * tile->addend_row_stride + x * tile->addend_pixel_stride;
            uint8_t *output = output_pixel(tile, y, x);
            for (int32_t k = 0; k < tile->channels_out; k++) {
                int64_t scaled = ((int64_t)((a[k] - p.zero) * f[b[k]]) * p.multiplier + p.bias) >> p.shift;
                output[k] = (uint8_t)(scaled < p.low ? p.low : scaled > p.high ? p.high : scaled);
            }
        }
    }
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
    return requantize(tile, channel, sum);
}

static uint8_t maximum(const match_tile_t *tile, int32_t y, int32_t x, int32_t channel)
{
    uint8_t largest = 0;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        for (int32_t fx = 0; fx < tile->filter_width; fx++) {
            const uint8_t *pixel = seen(tile, y, x, fy, fx);
            largest = pixel != NULL && pixel[channel] > largest ? pixel[channel] : largest;
        }
    }
    return clip(tile, largest);
}

static void pool(const match_tile_t *tile, uint8_t (*reduce)(const match_tile_t *, int32_t, int32_t, int32_t))
{
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            uint8_t *output = output_pixel(tile, y, x);
            for (int32_t k = 0; k < tile->channels_out; k++) {
                output[k] = reduce(tile, y, x, k);
            }
        }
    }
}

void match_m7_avg_pool2d(const match_tile_t *tile)
{
    pool(tile, average);
}

void match_m7_max_pool2d(const match_tile_t *tile)
{
    pool(tile, maximum);
}
