#include "match_arm_finish.h"

/* A channel's parameters of the longer form, with the bias of small sums beside that of others. */
typedef struct {
    int64_t bias;
    int64_t stepped;
    int32_t multiplier;
    int32_t below;
    int32_t shift;
    int32_t low;
    int32_t high;
} long_t;

static inline long_t long_of(const match_arm_finish_t *finish, const match_arm_requant_long_t *p)
{
    int64_t bias = (int64_t)((uint64_t)(uint32_t)p->bias_high << 32 | p->bias_low);
    return (long_t){bias, bias - finish->step, p->multiplier, p->negative_below, p->shift, finish->low, finish->high};
}

static inline uint8_t long_output(const long_t *p, int32_t sum)
{
    int64_t total = (int64_t)sum * p->multiplier + (sum < p->below ? p->stepped : p->bias);
    if (p->shift & 32) {
        return (uint8_t)match_arm_clip((int32_t)(total >> 32) >> (p->shift & 31), p->low, p->high);
    }
    total >>= p->shift;
    return (uint8_t)(total < p->low ? p->low : total > p->high ? p->high : (int32_t)total);
}

/* `count` outputs of a channel, `stride` bytes from one to the next, or of the pixels at `outputs`. */
static inline __attribute__((always_inline)) void finish_any(const match_arm_finish_t *finish, const void *parameters,
                                                             const int32_t *sums, int32_t count, uint8_t *output,
                                                             ptrdiff_t stride, uint8_t *const *outputs,
                                                             int32_t channel)
{
    const int32_t *end = sums + count;
    if (finish->form == MATCH_ARM_LONG) {
        long_t p = long_of(finish, parameters);
        for (; sums != end; output += stride) {
            *(outputs != NULL ? *outputs++ + channel : output) = long_output(&p, *sums++);
        }
        return;
    }
    match_arm_requant_t p = *(const match_arm_requant_t *)parameters;
    int32_t low = finish->low, high = finish->high;
    for (; sums != end; output += stride) {
        uint8_t *target = outputs != NULL ? *outputs++ + channel : output;
        *target = (uint8_t)match_arm_clip(match_arm_level(p, *sums++), low, high);
    }
}

void match_arm_finish(const match_arm_finish_t *finish, int32_t channel, const int32_t *sums, uint8_t *const *outputs,
                      int32_t count)
{
    finish_any(finish, match_arm_parameters(finish, channel), sums, count, NULL, 0, outputs, channel);
}

/* Rows in the usual form whose outputs are bytes without a clip of their own. */
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
    if (finish->bytes) {
        finish_bytes(*(const match_arm_requant_t *)parameters, sums, step, row, tile, rows);
        return;
    }
    for (; rows > 0; rows--, row += tile->output_row_stride, sums += step) {
        finish_any(finish, parameters, sums, tile->output_width, row, tile->output_pixel_stride, NULL, 0);
    }
}
