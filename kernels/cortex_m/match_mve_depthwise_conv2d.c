/* Two pixels by eight channels at a time, whose sums are in two vectors for each pixel: of the even channels and of the
 * odd ones. */
#include "match_arm_window.h"
#include "match_mve_finish.h"

enum { LANES = 8, PIXELS = 2 };

/* Where the taps of output pixel (y, x) are, each PIXELS behind the other: pixels of the input or `padding`. */
static void find_taps(const match_tile_t *tile, int32_t y, int32_t x, const uint8_t *padding, const uint8_t **taps)
{
    int32_t row = y * tile->stride_y - tile->pad_top;
    int32_t first = x * tile->stride_x - tile->pad_left;
    ptrdiff_t step = (ptrdiff_t)tile->dilation_x * tile->input_pixel_stride;
    for (int32_t fy = tile->filter_height; fy > 0; fy--, row += tile->dilation_y) {
        bool outside = row < 0 || row >= tile->input_height;
        uint32_t width = outside ? 0 : (uint32_t)tile->input_width;
        const uint8_t *pixel = tile->input + row * tile->input_row_stride + first * tile->input_pixel_stride;
        int32_t column = first;
        for (int32_t fx = tile->filter_width; fx > 0; fx--, column += tile->dilation_x, pixel += step) {
            *taps = (uint32_t)column < width ? pixel : padding;
            taps += PIXELS;
        }
    }
}

/* The sums of both pixels, LANES each, over the taps, `count` of them, of `some` channels from `channel` on. */
#if MATCH_ARM_MVE

/* Sums are q0 and q1 of the first pixel, q2 and q3 of the second one. */
static void sum_taps(const uint8_t *const *taps, int32_t count, int32_t channel, const int8_t *weights, int32_t some,
                     int32_t *sums)
{
    __asm__ volatile("vctp.16 %[some]\n"
                     "dls lr, %[count]\n"
                     "vmov.i32 q0, #0\n"
                     "vmov.i32 q1, #0\n"
                     "vmov.i32 q2, #0\n"
                     "vmov.i32 q3, #0\n"
                     "1:\n"
                     "ldrd r2, r3, [%[taps]], #8\n"
                     "vldrb.s16 q4, [%[weights]], #8\n"
                     "add r2, %[channel]\n"
                     "add r3, %[channel]\n"
                     "vpstt\n"
                     "vldrbt.u16 q5, [r2]\n"
                     "vldrbt.u16 q6, [r3]\n"
                     "vmullb.s16 q7, q5, q4\n"
                     "vadd.i32 q0, q0, q7\n"
                     "vmullt.s16 q7, q5, q4\n"
                     "vadd.i32 q1, q1, q7\n"
                     "vmullb.s16 q7, q6, q4\n"
                     "vadd.i32 q2, q2, q7\n"
                     "vmullt.s16 q7, q6, q4\n"
                     "vadd.i32 q3, q3, q7\n"
                     "le lr, 1b\n"
                     "vst20.32 {q0, q1}, [%[sums]]\n"
                     "vst21.32 {q0, q1}, [%[sums]]!\n"
                     "vst20.32 {q2, q3}, [%[sums]]\n"
                     "vst21.32 {q2, q3}, [%[sums]]\n"
                     : [taps] "+r"(taps), [weights] "+l"(weights), [sums] "+r"(sums)
                     : [count] "r"(count), [some] "r"(some), [channel] "r"(channel)
                     : "r2", "r3", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "memory");
}

#else

static void sum_taps(const uint8_t *const *taps, int32_t count, int32_t channel, const int8_t *weights, int32_t some,
                     int32_t *sums)
{
    memset(sums, 0, PIXELS * LANES * sizeof *sums);
    for (; count > 0; count--, weights += LANES) {
        for (int32_t i = 0; i < PIXELS; i++) {
            const uint8_t *pixel = *taps++ + channel;
            for (int32_t k = 0; k < some; k++) {
                sums[LANES * i + k] += pixel[k] * weights[k];
            }
        }
    }
}

#endif

/* All channels of one or two pixels whose taps are known. */
static void multiply(const match_tile_t *tile, const match_arm_finish_t *finish, const uint8_t *const *taps,
                     uint8_t *const *outputs, int32_t count)
{
    const int8_t *weights = tile->weights;
    int32_t window = tile->filter_height * tile->filter_width;
    for (int32_t k = 0; k < tile->channels_out; k += LANES, weights += window * LANES) {
        int32_t sums[PIXELS * LANES];
        int32_t left = match_arm_least(tile->channels_out - k, LANES);
        sum_taps(taps, window, k, weights, left, sums);
        match_mve_finish(finish, k, tile->channels_out, sums, LANES, outputs, count);
        if (left > MATCH_MVE_CHANNELS) {
            match_mve_finish(finish, k + MATCH_MVE_CHANNELS, tile->channels_out, sums + MATCH_MVE_CHANNELS, LANES,
                             outputs, count);
        }
    }
}

static void depthwise(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    int32_t window = tile->filter_height * tile->filter_width;
    const uint8_t **taps = tile->scratch;
    uint8_t *padding = (uint8_t *)(taps + PIXELS * window);
    uint8_t *outputs[PIXELS];
    int32_t count = 0;
    memset(padding, tile->pad_value, (size_t)tile->channels_out);
    for (int32_t y = 0; y < tile->output_height; y++) {
        uint8_t *output = tile->output + y * tile->output_row_stride;
        for (int32_t x = 0; x < tile->output_width; x++, output += tile->output_pixel_stride) {
            find_taps(tile, y, x, padding, taps + count);
            outputs[count++] = output;
            if (count == PIXELS) {
                multiply(tile, &finish, taps, outputs, count);
                count = 0;
            }
        }
    }
    if (count > 0) {
        for (int32_t i = 0; i < window; i++) {
            taps[PIXELS * i + 1] = padding;
        }
        multiply(tile, &finish, taps, outputs, count);
    }
}

void match_mve_depthwise_conv2d(const match_tile_t *tile)
{
    depthwise(tile, MATCH_ARM_WORDS);
}

void match_mve_depthwise_conv2d_long(const match_tile_t *tile)
{
    depthwise(tile, MATCH_ARM_LONG);
}
