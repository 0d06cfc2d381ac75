#include <stdbool.h>

#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"

/* Activations and weights of 16 bits; strides of their tensors count elements. */
typedef int16_t __attribute__((may_alias)) half_t;

static inline const half_t *input_pixel(const match_tile_t *tile, int32_t y, int32_t x)
{
    const half_t *input = (const half_t *)(const void *)tile->input;
    return input + y * tile->input_row_stride + x * tile->input_pixel_stride;
}

static inline half_t *output_pixel(const match_tile_t *tile, int32_t y, int32_t x)
{
    half_t *output = (half_t *)(void *)tile->output;
    return output + y * tile->output_row_stride + x * tile->output_pixel_stride;
}

/* Of a tile, copied, so that stores to outputs do not touch it: parameters, and the clip. */
typedef struct {
    const uint8_t *parameters;
    int32_t clip_low;
    int32_t clip_high;
} finish_t;

static inline finish_t finish_of(const match_tile_t *tile)
{
    return (finish_t){tile->parameters, tile->clip_low, tile->clip_high};
}

/* (acc * multiplier + bias) >> shift for shifts of less than 32, as far as the clip tells such values apart. */
static __attribute__((noinline)) int32_t shifted(match_requant_t line, int32_t acc)
{
    int64_t value = ((int64_t)acc * line.multiplier + line.bias) >> line.shift;
    return (int32_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
}

/* The output of a channel. */
static inline int16_t finished(const finish_t *finish, int32_t channel, int32_t acc)
{
    match_requant_t line = match_parameters_64(finish->parameters + channel * (ptrdiff_t)sizeof(match_requant_t));
    int32_t value;
    if (line.shift & 32) {
        uint32_t low = (uint32_t)acc * (uint32_t)line.multiplier, bias = (uint32_t)line.bias;
        int32_t high = (int32_t)(((int64_t)acc * line.multiplier) >> 32) + (int32_t)(line.bias >> 32);
        value = (high + (low + bias < low)) >> (line.shift & 31);
    } else {
        value = shifted(line, acc);
    }
    return (int16_t)match_smaller(match_larger(value, finish->clip_low), finish->clip_high);
}

enum { BLOCK = 4 };

/* Add `count` products of elements from x on to each of four channels, whose filters are `length` elements apart. */
MATCH_INLINE void add_to_four(int32_t accs[BLOCK], const half_t *x, const half_t *filters, int32_t length, int32_t count)
{
    int32_t pairs = count >> 1;
    const half_t *a = filters, *b = a + length, *c = b + length, *d = c + length;
#if defined(MATCH_PULP_INSN)
    if (pairs > 0) {
        uint32_t values, u, v;
        __asm__ volatile(MATCH_INSN_LOOP("%[pairs]", 9)
                             MATCH_INSN_LOAD4("%[values]", "%[x]")
                             MATCH_INSN_LOAD4("%[u]", "%[a]")
                             MATCH_INSN_LOAD4("%[v]", "%[b]")
                             MATCH_INSN_DOT2("%[first]", "%[values]", "%[u]")
                             MATCH_INSN_LOAD4("%[u]", "%[c]")
                             MATCH_INSN_DOT2("%[second]", "%[values]", "%[v]")
                             MATCH_INSN_LOAD4("%[v]", "%[d]")
                             MATCH_INSN_DOT2("%[third]", "%[values]", "%[u]")
                             MATCH_INSN_DOT2("%[fourth]", "%[values]", "%[v]")
                         MATCH_INSN_LOOP_END
                         : [x] "+r"(x), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [first] "+r"(accs[0]),
                           [second] "+r"(accs[1]), [third] "+r"(accs[2]), [fourth] "+r"(accs[3]),
                           [values] "=&r"(values), [u] "=&r"(u), [v] "=&r"(v)
                         : [pairs] "r"(pairs)
                         : "memory");
    }
#else
    for (; pairs > 0; pairs--, x += 2, a += 2, b += 2, c += 2, d += 2) {
        uint32_t values = match_load4(x);
        accs[0] = match_dot2(values, match_load4(a), accs[0]);
        accs[1] = match_dot2(values, match_load4(b), accs[1]);
        accs[2] = match_dot2(values, match_load4(c), accs[2]);
        accs[3] = match_dot2(values, match_load4(d), accs[3]);
    }
#endif
    if (count & 1) {
        accs[0] = match_multiply_add(accs[0], *x, *a);
        accs[1] = match_multiply_add(accs[1], *x, *b);
        accs[2] = match_multiply_add(accs[2], *x, *c);
        accs[3] = match_multiply_add(accs[3], *x, *d);
    }
}

/* The same of one channel. */
MATCH_INLINE void add_to_one(int32_t accs[BLOCK], const half_t *x, const half_t *filter, int32_t count)
{
    for (int32_t pairs = count >> 1; pairs > 0; pairs--, x += 2, filter += 2) {
        accs[0] = match_dot2(match_load4(x), match_load4(filter), accs[0]);
    }
    if (count & 1) {
        accs[0] = match_multiply_add(accs[0], *x, *filter);
    }
}

/* What lies under a window: rows and columns of the input, and the first of them. */
typedef struct {
    match_range_t rows;
    match_range_t columns;
    const half_t *first;
} window_t;

static inline window_t window_of(const match_tile_t *tile, int32_t y, int32_t x)
{
    match_position_t seen = match_seen(tile, y, x, 0, 0);
    window_t window = {
        .rows = match_range_of(seen.y, tile->dilation_y, tile->filter_height, tile->input_height),
        .columns = match_range_of(seen.x, tile->dilation_x, tile->filter_width, tile->input_width),
    };
    window.first = input_pixel(tile, seen.y + window.rows.before * tile->dilation_y,
                               seen.x + window.columns.before * tile->dilation_x);
    return window;
}

/* Four channels of a pixel, or one, from one on. */
MATCH_INLINE void convolve(const match_tile_t *tile, const finish_t *finish, const window_t *window, int32_t channel,
                           int channels, half_t *output)
{
    int32_t row = tile->filter_width * tile->channels_in, length = tile->filter_height * row;
    bool joined = tile->dilation_x == 1 && tile->input_pixel_stride == tile->channels_in;
    int32_t runs = joined ? 1 : window->columns.inside;
    int32_t count = joined ? window->columns.inside * tile->channels_in : tile->channels_in;
    int32_t skipped = window->rows.before * row + window->columns.before * tile->channels_in;
    const half_t *filters = (const half_t *)tile->weights + channel * length + skipped;
    const half_t *pixels = window->first;
    int32_t accs[BLOCK] = {0};
    for (int32_t left = window->rows.inside; left > 0; left--) {
        const half_t *x = pixels, *filter = filters;
        for (int32_t run = runs; run > 0; run--, x += tile->dilation_x * tile->input_pixel_stride, filter += count) {
            if (channels == BLOCK) {
                add_to_four(accs, x, filter, length, count);
            } else {
                add_to_one(accs, x, filter, count);
            }
        }
        pixels += tile->dilation_y * tile->input_row_stride;
        filters += row;
    }
    for (int k = 0; k < channels; k++) {
        output[channel + k] = finished(finish, channel + k, accs[k]);
    }
}

void match_pulp_conv2d_int16(const match_tile_t *tile)
{
    finish_t finish = finish_of(tile);
    match_blocks_t blocks = match_share_blocks(tile->output_height, tile->output_width, tile->channels_out);
    for (match_part_t part; match_next_part(&blocks, &part);) {
        for (int32_t x = part.x; x < part.x + part.pixels; x++) {
            window_t window = window_of(tile, part.y, x);
            half_t *output = output_pixel(tile, part.y, x);
            int32_t channel = part.first;
            for (; channel + BLOCK <= part.last; channel += BLOCK) {
                convolve(tile, &finish, &window, channel, BLOCK, output);
            }
            for (; channel < part.last; channel++) {
                convolve(tile, &finish, &window, channel, 1, output);
            }
        }
    }
}

void match_pulp_dense_int16(const match_tile_t *tile)
{
    match_tile_t pointwise = *tile;
    pointwise.filter_height = pointwise.filter_width = 1;
    pointwise.stride_y = pointwise.stride_x = 1;
    pointwise.dilation_y = pointwise.dilation_x = 1;
    match_pulp_conv2d_int16(&pointwise);
}

void match_pulp_depthwise_conv2d_int16(const match_tile_t *tile)
{
    finish_t finish = finish_of(tile);
    int32_t length = tile->filter_height * tile->filter_width;
    match_pixels_t pixels = match_share_pixels(tile->output_height, tile->output_width);
    for (; pixels.left > 0; match_next_pixel(&pixels)) {
        window_t window = window_of(tile, pixels.y, pixels.x);
        half_t *output = output_pixel(tile, pixels.y, pixels.x);
        const half_t *weights = (const half_t *)tile->weights + window.rows.before * tile->filter_width +
                                window.columns.before;
        for (int32_t k = 0; k < tile->channels_out; k++, weights += length) {
            int32_t acc = 0;
            for (int32_t fy = 0; fy < window.rows.inside; fy++) {
                const half_t *x = window.first + k + fy * tile->dilation_y * tile->input_row_stride;
                const half_t *filter = weights + fy * tile->filter_width;
                for (int32_t fx = 0; fx < window.columns.inside; fx++, x += tile->dilation_x * tile->input_pixel_stride) {
                    acc = match_multiply_add(acc, *x, filter[fx]);
                }
            }
            output[k] = finished(&finish, k, acc);
        }
    }
}

/* The least value, in both halves. */
static const match_bytes4_t LEAST = 0x80008000;

/* Largest values of four channels of a window, or of one, from one on. */
MATCH_INLINE void largest_of(const match_tile_t *tile, const window_t *window, int32_t channel, int channels,
                             half_t *output)
{
    match_bytes4_t low = LEAST, high = LEAST;
    const half_t *row = window->first + channel;
    for (int32_t rows = window->rows.inside; rows > 0; rows--, row += tile->dilation_y * tile->input_row_stride) {
        const half_t *x = row;
        for (int32_t left = window->columns.inside; left > 0; left--, x += tile->dilation_x * tile->input_pixel_stride) {
            if (channels == BLOCK) {
                low = match_max2(low, match_load4(x));
                high = match_max2(high, match_load4(x + 2));
            } else {
                low = match_max2(low, (uint16_t)*x);
            }
        }
    }
    output[channel] = (int16_t)(uint16_t)low;
    if (channels == BLOCK) {
        output[channel + 1] = (int16_t)(uint16_t)(low >> 16);
        output[channel + 2] = (int16_t)(uint16_t)high;
        output[channel + 3] = (int16_t)(uint16_t)(high >> 16);
    }
}

void match_pulp_max_pool2d_int16(const match_tile_t *tile)
{
    match_pixels_t pixels = match_share_pixels(tile->output_height, tile->output_width);
    for (; pixels.left > 0; match_next_pixel(&pixels)) {
        window_t window = window_of(tile, pixels.y, pixels.x);
        half_t *output = output_pixel(tile, pixels.y, pixels.x);
        int32_t channel = 0;
        for (; channel + BLOCK <= tile->channels_out; channel += BLOCK) {
            largest_of(tile, &window, channel, BLOCK, output);
        }
        for (; channel < tile->channels_out; channel++) {
            largest_of(tile, &window, channel, 1, output);
        }
    }
}
