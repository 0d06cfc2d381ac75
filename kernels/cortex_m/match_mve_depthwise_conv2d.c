/* Two pixels by eight channels at a time. */
#include "match_arm_window.h"
#include "match_mve_finish.h"
#include "match_mve_lanes.h"

enum { LANES = MATCH_MVE_LANES, PIXELS = MATCH_MVE_PIXELS };

/* Where the taps of two pixels are, counted from the first ones of their windows, in turn. */
typedef struct {
    uintptr_t *inside; /* of two windows inside the input */
    uintptr_t *any;
    uint8_t *padding;
} room_t;

static room_t room_of(const match_tile_t *tile)
{
    room_t room = {.inside = tile->scratch};
    uintptr_t *taps = room.inside;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        for (int32_t fx = 0; fx < tile->filter_width; fx++, taps += PIXELS) {
            ptrdiff_t row = (ptrdiff_t)fy * tile->dilation_y * tile->input_row_stride;
            taps[0] = taps[1] = (uintptr_t)(row + (ptrdiff_t)fx * tile->dilation_x * tile->input_pixel_stride);
        }
    }
    room.any = taps;
    room.padding = (uint8_t *)(taps + (taps - room.inside));
    memset(room.padding, tile->pad_value, (size_t)tile->channels_out);
    return room;
}

static bool is_inside(const match_tile_t *tile, int32_t row, int32_t column)
{
    return row >= 0 && column >= 0 && row + (tile->filter_height - 1) * tile->dilation_y < tile->input_height &&
           column + (tile->filter_width - 1) * tile->dilation_x < tile->input_width;
}

/* The taps of a window that begins at a row and a column, as pixels of the input or padding; `at` is which of both. */
static void find_taps(const match_tile_t *tile, const room_t *room, int32_t row, int32_t column, const uint8_t *first,
                      int32_t at)
{
    const uintptr_t *inside = room->inside;
    uintptr_t *taps = room->any + at;
    uintptr_t padding = (uintptr_t)room->padding - (uintptr_t)first;
    for (int32_t fy = tile->filter_height; fy > 0; fy--, row += tile->dilation_y) {
        uint32_t width = row < 0 || row >= tile->input_height ? 0 : (uint32_t)tile->input_width;
        uint32_t x = (uint32_t)column;
        for (int32_t fx = tile->filter_width; fx > 0; fx--, x += (uint32_t)tile->dilation_x) {
            *taps = x < width ? *inside : padding;
            inside += PIXELS;
            taps += PIXELS;
        }
    }
}

#if MATCH_ARM_MVE
/* One or two pixels in the longer form, where all channels shift by a word at least. */
static void multiply_upper(const match_arm_finish_t *finish, const match_mve_lanes_t *job, const uint8_t *const *pixels,
                           uint8_t *const *outputs, int32_t count)
{
    const int8_t *weights = job->weights;
    const uint8_t *parameters = finish->parameters;
    for (int32_t k = 0; k < job->channels; k += LANES) {
        mve_pred16_t some = vctp16q((uint32_t)(job->channels - k));
        int32x4_t sums[PIXELS][2]; /* of even channels, and of odd ones */
        sums[0][0] = sums[0][1] = sums[1][0] = sums[1][1] = vdupq_n_s32(0);
        const uintptr_t *taps = job->taps;
        for (int32_t tap = job->count; tap > 0; tap--, weights += LANES) {
            int16x8_t weight = vldrbq_s16(weights);
            for (int32_t i = 0; i < PIXELS; i++) {
                const uint8_t *seen = (const uint8_t *)((uintptr_t)(pixels[i] + k) + *taps++);
                int16x8_t value = vreinterpretq_s16_u16(vldrbq_z_u16(seen, some));
                sums[i][0] = vaddq_s32(sums[i][0], vmullbq_int_s16(value, weight));
                sums[i][1] = vaddq_s32(sums[i][1], vmulltq_int_s16(value, weight));
            }
        }
        for (uint32_t odd = 0; odd < 2; odd++, parameters += LANES / 2 * sizeof(match_arm_requant_long_t)) {
            match_mve_upper_t p = match_mve_upper_of(parameters);
            uint32x4_t at = vaddq_n_u32(vidupq_n_u32(0, 2), odd);
            mve_pred16_t there = vcmphiq_u32(vdupq_n_u32((uint32_t)(job->channels - k)), at);
            for (int32_t i = 0; i < count; i++) {
                int32x4_t level = match_mve_upper_level(&p, finish, sums[i][odd]);
                vstrbq_scatter_offset_p_s32((int8_t *)outputs[i] + k, at, level, there);
            }
        }
    }
}
#endif

/* Where a channel's parameters are. */
static int32_t place_of(int32_t k)
{
    int32_t lane = k % LANES;
    return k - lane + lane % 2 * (LANES / 2) + lane / 2;
}

static bool all_upper(const match_tile_t *tile)
{
    const match_arm_requant_long_t *parameters = tile->parameters;
    int32_t k = 0;
    while (k < tile->channels_out && parameters[place_of(k)].shift >= 32) {
        k++;
    }
    return k == tile->channels_out;
}

/* The sum of a channel of a pixel over the taps. */
static int32_t sum_taps(const uint8_t *first, const uintptr_t *taps, int32_t count, const int8_t *weights)
{
    int32_t sum = 0;
    for (; count > 0; count--, taps += PIXELS, weights += LANES) {
        sum += *(const uint8_t *)((uintptr_t)first + *taps) * *weights;
    }
    return sum;
}

/* All channels of one or two pixels whose taps are known, the second ones of two equal pixels where there is one. */
static void multiply(const match_tile_t *tile, const match_arm_finish_t *finish, match_mve_lanes_t *job,
                     const uint8_t *const *pixels, uint8_t *const *outputs, int32_t count)
{
#if MATCH_ARM_MVE
    if (finish->form == MATCH_ARM_WORDS && finish->low == 0) {
        job->first[0] = (uintptr_t)pixels[0];
        job->first[1] = (uintptr_t)pixels[1];
        job->outputs[0] = outputs[0];
        job->outputs[1] = outputs[count - 1];
        match_mve_lanes(job);
        return;
    }
    if (finish->upper) {
        multiply_upper(finish, job, pixels, outputs, count);
        return;
    }
#endif
    int32_t bytes = match_arm_parameter_bytes(finish->form);
    for (int32_t k = 0; k < tile->channels_out; k++) {
        int32_t group = k / LANES * LANES, lane = k % LANES;
        match_arm_finish_t own = *finish;
        own.parameters += (place_of(k) - k) * bytes;
        for (int32_t i = 0; i < count; i++) {
            int32_t sum = sum_taps(pixels[i] + k, job->taps + i, job->count, job->weights + group * job->count + lane);
            sum += match_arm_addend(&own, k);
            match_arm_finish(&own, k, &sum, outputs + i, 1);
        }
    }
}

static void depthwise(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    finish.upper = form == MATCH_ARM_LONG && all_upper(tile);
    room_t room = room_of(tile);
    match_mve_lanes_t job = {
        .count = tile->filter_height * tile->filter_width,
        .weights = tile->weights,
        .parameters = tile->parameters,
        .channels = tile->channels_out,
        .high = tile->clip_high,
    };
    const uint8_t *pixels[PIXELS];
    uint8_t *outputs[PIXELS];
    int32_t rows[PIXELS], columns[PIXELS];
    int32_t count = 0;
    int32_t left = tile->output_height * tile->output_width;
    for (int32_t y = 0; y < tile->output_height; y++) {
        int32_t row = y * tile->stride_y - tile->pad_top;
        int32_t column = -tile->pad_left;
        const uint8_t *pixel = tile->input + row * tile->input_row_stride + column * tile->input_pixel_stride;
        uint8_t *output = tile->output + y * tile->output_row_stride;
        for (int32_t x = 0; x < tile->output_width; x++) {
            pixels[count] = pixel;
            outputs[count] = output;
            rows[count] = row;
            columns[count++] = column;
            column += tile->stride_x;
            pixel += tile->stride_x * tile->input_pixel_stride;
            output += tile->output_pixel_stride;
            left--;
            if (count < PIXELS && left > 0) {
                continue;
            }
            if (count < PIXELS) { /* the last one, twice */
                pixels[1] = pixels[0];
                rows[1] = rows[0];
                columns[1] = columns[0];
            }
            job.taps = room.inside;
            if (!is_inside(tile, rows[0], columns[0]) || !is_inside(tile, rows[1], columns[1])) {
                for (int32_t i = 0; i < PIXELS; i++) {
                    find_taps(tile, &room, rows[i], columns[i], pixels[i], i);
                }
                job.taps = room.any;
            }
            multiply(tile, &finish, &job, pixels, outputs, count);
            count = 0;
        }
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
