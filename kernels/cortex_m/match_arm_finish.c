#include "match_arm_finish.h"

match_arm_finish_t match_arm_finish_of(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = {
        .form = form,
        .bytes = tile->clip_low == 0 && tile->clip_high == 255,
        .upper = form == MATCH_ARM_LONG,
        .parameters = tile->parameters,
        .low = tile->clip_low,
        .high = tile->clip_high,
    };
    for (int32_t k = 0; k < tile->channels_out && finish.upper; k++) {
        const match_arm_requant_long_t *p = match_arm_parameters(&finish, k);
        finish.upper = p->shift >= 32;
    }
    return finish;
}

/* A channel's parameters of the longer form. */
typedef struct {
    int64_t bias;
    int64_t stepped;
    int32_t multiplier;
    int32_t below;
    int32_t shift;
} long_t;

static inline int64_t two_words(uint32_t low, int32_t high)
{
    return (int64_t)((uint64_t)(uint32_t)high << 32 | low);
}

static inline long_t long_of(const match_arm_requant_long_t *p)
{
    return (long_t){
        .bias = two_words(p->bias_low, p->bias_high),
        .stepped = two_words(p->stepped_low, p->stepped_high),
        .multiplier = p->multiplier,
        .below = p->negative_below,
        .shift = p->shift,
    };
}

static inline int64_t total_of(const long_t *p, int32_t sum)
{
    return (int64_t)sum * p->multiplier + (sum < p->below ? p->stepped : p->bias);
}

/* An output of the longer form, if it is of the upper word and clipped to a byte; and any. */
static inline uint8_t upper_byte(const long_t *p, int32_t sum)
{
    return match_arm_clip_to_byte((int32_t)(total_of(p, sum) >> 32) >> (p->shift & 31));
}

static inline uint8_t long_output(const match_arm_finish_t *finish, const long_t *p, int32_t sum)
{
    int64_t level = total_of(p, sum) >> p->shift;
    return (uint8_t)(level < finish->low ? finish->low : level > finish->high ? finish->high : (int32_t)level);
}

/* One output; for what is rare. */
static uint8_t output_of(const match_arm_finish_t *finish, const void *parameters, int32_t sum)
{
    if (finish->form == MATCH_ARM_LONG) {
        long_t p = long_of(parameters);
        return long_output(finish, &p, sum);
    }
    match_arm_requant_t p = *(const match_arm_requant_t *)parameters;
    return (uint8_t)match_arm_clip(match_arm_level(p, sum), finish->low, finish->high);
}

void match_arm_finish(const match_arm_finish_t *finish, int32_t channel, const int32_t *sums, uint8_t *const *outputs,
                      int32_t count)
{
    const void *parameters = match_arm_parameters(finish, channel);
    const int32_t *end = sums + count;
    if (finish->upper && finish->bytes) {
        long_t p = long_of(parameters);
        for (; sums != end; outputs++) {
            (*outputs)[channel] = upper_byte(&p, *sums++);
        }
        return;
    }
    if (finish->form == MATCH_ARM_WORDS && finish->bytes) {
        match_arm_requant_t p = *(const match_arm_requant_t *)parameters;
        for (; sums != end; outputs++) {
            (*outputs)[channel] = match_arm_byte(p, *sums++);
        }
        return;
    }
    for (; sums != end; outputs++) {
        (*outputs)[channel] = output_of(finish, parameters, *sums++);
    }
}

/* Rows in the usual form whose outputs are bytes. */
static void finish_bytes(match_arm_requant_t p, const int32_t *sums, int32_t step, uint8_t *row, const match_tile_t *tile,
                         int32_t rows)
{
    ptrdiff_t pixel = tile->output_pixel_stride, next = tile->output_row_stride;
    int32_t width = tile->output_width;
    for (; rows > 0; rows--, row += next, sums += step) {
        uint8_t *output = row;
        for (const int32_t *sum = sums, *end = sums + width; sum != end; output += pixel) {
            *output = match_arm_byte(p, *sum++);
        }
    }
}

void match_arm_finish_rows(const match_arm_finish_t *finish, int32_t channel, const int32_t *sums, int32_t step,
                           const match_tile_t *tile, int32_t y, int32_t rows)
{
    const void *parameters = match_arm_parameters(finish, channel);
    uint8_t *row = tile->output + y * tile->output_row_stride + channel;
    if (finish->form == MATCH_ARM_WORDS && finish->bytes) {
        finish_bytes(*(const match_arm_requant_t *)parameters, sums, step, row, tile, rows);
        return;
    }
    for (; rows > 0; rows--, row += tile->output_row_stride, sums += step) {
        uint8_t *output = row;
        for (int32_t x = 0; x < tile->output_width; x++, output += tile->output_pixel_stride) {
            *output = output_of(finish, parameters, sums[x]);
        }
    }
}
