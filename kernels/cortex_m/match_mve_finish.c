#include "match_mve_finish.h"

void match_mve_begin(const match_arm_finish_t *finish, int32_t channel, int32_t *sums)
{
    const uint8_t *parameters = match_arm_parameters(finish, channel);
    int32_t bytes = match_arm_parameter_bytes(finish->form);
    for (int32_t i = 0; i < MATCH_MVE_CHANNELS; i++, parameters += bytes) {
        sums[i] = *(const int32_t *)(const void *)parameters;
    }
}

static void finish_each(const match_arm_finish_t *finish, int32_t channel, int32_t channels, const int32_t *sums,
                        int32_t step, uint8_t *const *outputs, int32_t count)
{
    for (int32_t i = 0; i < count; i++, sums += step) {
        for (int32_t k = channel; k < channels && k < channel + MATCH_MVE_CHANNELS; k++) {
            match_arm_finish(finish, k, sums + k - channel, outputs + i, 1);
        }
    }
}

#if MATCH_ARM_MVE

/* Clip and store the outputs of some channels. */
static inline void store(uint8_t *output, int32x4_t levels, int32x4_t low, int32x4_t high, mve_pred16_t some)
{
    vstrbq_p_s32((int8_t *)output, vminq_s32(vmaxq_s32(levels, low), high), some);
}

static void finish_words(const match_arm_finish_t *finish, const match_arm_requant_t *parameters, const int32_t *sums,
                         int32_t step, uint8_t *const *outputs, int32_t channel, int32_t count, mve_pred16_t some)
{
    int32x4_t low = vdupq_n_s32(finish->low), high = vdupq_n_s32(finish->high);
    int32x4x4_t p = vld4q_s32((const int32_t *)(const void *)parameters);
    int32x4_t times = vshrq_n_s32(p.val[3], 8), shift = vnegq_s32(p.val[3]);
    for (int32_t i = 0; i < count; i++) {
        int32x4_t a = vldrwq_s32(sums + step * i);
        int32x4_t word = vaddq_s32(vaddq_s32(vmulq_s32(a, times), p.val[2]), vmulhq_s32(a, p.val[1]));
        store(outputs[i] + channel, vshlq_s32(word, shift), low, high, some);
    }
}

/* With shifts of 32 at least: the upper words of sums of 64 bits, whose lower words carry. */
static void finish_long(const match_arm_finish_t *finish, const match_arm_requant_long_t *parameters, const int32_t *sums,
                        int32_t step, uint8_t *const *outputs, int32_t channel, int32_t count, mve_pred16_t some)
{
    int32x4_t low = vdupq_n_s32(finish->low), high = vdupq_n_s32(finish->high);
    uint32x4_t at = vmulq_n_u32(vidupq_n_u32(0, 1), sizeof(match_arm_requant_long_t));
    const int32_t *words = (const int32_t *)(const void *)parameters;
    int32x4_t multiplier = vldrwq_gather_offset_s32(words + 1, at);
    uint32x4_t lower = vreinterpretq_u32_s32(vldrwq_gather_offset_s32(words + 2, at));
    int32x4_t upper = vldrwq_gather_offset_s32(words + 3, at);
    int32x4_t below = vldrwq_gather_offset_s32(words + 4, at);
    int32x4_t shift = vsubq_s32(vdupq_n_s32(32), vldrwq_gather_offset_s32(words + 5, at));
    uint32_t taken = (uint32_t)finish->step;
    uint32x4_t stepped_lower = vsubq_n_u32(lower, taken);
    int32x4_t stepped_upper = vsubq_n_s32(upper, (int32_t)(finish->step >> 32));
    stepped_upper = vsubq_m_n_s32(stepped_upper, stepped_upper, 1, vcmphiq_u32(vdupq_n_u32(taken), lower));
    for (int32_t i = 0; i < count; i++) {
        int32x4_t a = vldrwq_s32(sums + step * i);
        mve_pred16_t negative = vcmpltq_s32(a, below);
        uint32x4_t bias = vpselq_u32(stepped_lower, lower, negative);
        int32x4_t word = vaddq_s32(vmulhq_s32(a, multiplier), vpselq_s32(stepped_upper, upper, negative));
        uint32x4_t rest = vaddq_u32(vreinterpretq_u32_s32(vmulq_s32(a, multiplier)), bias);
        word = vaddq_m_n_s32(word, word, 1, vcmphiq_u32(bias, rest));
        store(outputs[i] + channel, vshlq_s32(word, shift), low, high, some);
    }
}

static bool shifts_words(const match_arm_requant_long_t *parameters, int32_t count)
{
    bool all = true;
    for (int32_t i = 0; i < count; i++) {
        all = all && parameters[i].shift >= 32;
    }
    return all;
}

void match_mve_finish(const match_arm_finish_t *finish, int32_t channel, int32_t channels, const int32_t *sums,
                      int32_t step, uint8_t *const *outputs, int32_t count)
{
    const void *parameters = match_arm_parameters(finish, channel);
    mve_pred16_t some = vctp32q((uint32_t)(channels - channel));
    if (finish->form == MATCH_ARM_WORDS) {
        finish_words(finish, parameters, sums, step, outputs, channel, count, some);
    } else if (shifts_words(parameters, channels - channel < 4 ? channels - channel : 4)) {
        finish_long(finish, parameters, sums, step, outputs, channel, count, some);
    } else {
        finish_each(finish, channel, channels, sums, step, outputs, count);
    }
}

#else

void match_mve_finish(const match_arm_finish_t *finish, int32_t channel, int32_t channels, const int32_t *sums,
                      int32_t step, uint8_t *const *outputs, int32_t count)
{
    finish_each(finish, channel, channels, sums, step, outputs, count);
}

#endif
