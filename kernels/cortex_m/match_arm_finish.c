#include "match_arm_finish.h"

static uint8_t output_of(const match_arm_finish_t *finish, const void *parameters, int32_t sum)
{
    if (finish->form == MATCH_ARM_WORDS) {
        const match_arm_requant_t *p = parameters;
        return (uint8_t)match_arm_clip(match_arm_level(*p, sum), finish->low, finish->high);
    }
    return (uint8_t)match_arm_long_level(parameters, finish->step, sum, finish->low, finish->high);
}

void match_arm_finish(const match_arm_finish_t *finish, int32_t channel, const int32_t *sums, uint8_t *const *outputs,
                      int32_t count)
{
    const void *parameters = match_arm_parameters(finish, channel);
    if (!finish->bytes) {
        for (int32_t i = 0; i < count; i++) {
            outputs[i][channel] = output_of(finish, parameters, sums[i]);
        }
        return;
    }
    match_arm_requant_t p = *(const match_arm_requant_t *)parameters;
    for (int32_t i = 0; i < count; i++) {
        outputs[i][channel] = match_arm_byte(p, sums[i]);
    }
}

void match_arm_finish_rows(const match_arm_finish_t *finish, int32_t channel, const int32_t *sums, int32_t step,
                           const match_tile_t *tile, int32_t y, int32_t rows)
{
    const void *parameters = match_arm_parameters(finish, channel);
    match_arm_requant_t p = *(const match_arm_requant_t *)parameters;
    uint8_t *row = tile->output + y * tile->output_row_stride + channel;
    for (int32_t i = 0; i < rows; i++, row += tile->output_row_stride, sums += step) {
        const int32_t *end = sums + tile->output_width;
        uint8_t *output = row;
        ptrdiff_t pixel = tile->output_pixel_stride;
        const int32_t *sum = sums;
        if (!finish->bytes) {
            for (; sum != end; output += pixel) {
                *output = output_of(finish, parameters, *sum++);
            }
            continue;
        }
        if (tile->output_width & 1) {
            *output = match_arm_byte(p, *sum++);
            output += pixel;
        }
        for (; sum != end; sum += 2, output += pixel) {
            int32_t second = sum[1];
            *output = match_arm_byte(p, sum[0]);
            output += pixel;
            *output = match_arm_byte(p, second);
        }
    }
}
