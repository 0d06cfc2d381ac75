#include "match_arm_finish.h"

/* The usual form with outputs that are bytes without a clip of their own. */
static inline uint8_t byte_of(const match_arm_requant_t *p, int32_t sum)
{
    return match_arm_clip_to_byte(match_arm_level(p, sum));
}

static uint8_t output_of(const match_arm_finish_t *finish, const void *parameters, int32_t sum)
{
    if (finish->form == MATCH_ARM_WORDS) {
        return (uint8_t)match_arm_clip(match_arm_level(parameters, sum), finish->low, finish->high);
    }
    return (uint8_t)match_arm_long_level(parameters, finish->step, sum, finish->low, finish->high);
}

void match_arm_finish(const match_arm_finish_t *finish, int32_t channel, const int32_t *sums, uint8_t *const *outputs,
                      int32_t count)
{
    const void *parameters = match_arm_parameters(finish, channel);
    if (finish->form == MATCH_ARM_WORDS && finish->bytes && count == 4) {
        match_arm_requant_t p = *(const match_arm_requant_t *)parameters;
        outputs[0][channel] = byte_of(&p, sums[0]);
        outputs[1][channel] = byte_of(&p, sums[1]);
        outputs[2][channel] = byte_of(&p, sums[2]);
        outputs[3][channel] = byte_of(&p, sums[3]);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        outputs[i][channel] = output_of(finish, parameters, sums[i]);
    }
}

void match_arm_finish_row(const match_arm_finish_t *finish, int32_t channel, const int32_t *sums, int32_t count,
                          uint8_t *output, int32_t stride)
{
    const void *parameters = match_arm_parameters(finish, channel);
    output += channel;
    if (finish->form == MATCH_ARM_WORDS && finish->bytes) {
        match_arm_requant_t p = *(const match_arm_requant_t *)parameters;
        for (const int32_t *end = sums + count; sums != end; sums++, output += stride) {
            *output = byte_of(&p, *sums);
        }
        return;
    }
    for (const int32_t *end = sums + count; sums != end; sums++, output += stride) {
        *output = output_of(finish, parameters, *sums);
    }
}
