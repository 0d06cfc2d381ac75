#include "match_mve_finish.h"

#if MATCH_ARM_MVE

/* With any clip. */
static void finish_words(const match_arm_finish_t *finish, int32_t channel, int32_t channels, const int32_t *sums,
                         int32_t step, uint8_t *const *outputs, int32_t count)
{
    mve_pred16_t some = vctp32q((uint32_t)(channels - channel));
    int32x4x4_t p = vld4q_s32(match_arm_parameters(finish, channel));
    for (int32_t i = 0; i < count; i++, sums += step) {
        int32x4_t a = vaddq_s32(vldrwq_s32(sums), p.val[0]);
        int32x4_t word = vaddq_s32(vmulq_s32(a, vshrq_n_s32(p.val[3], 8)), p.val[2]);
        word = vshlq_s32(vaddq_s32(word, vmulhq_s32(a, p.val[1])), vnegq_s32(p.val[3]));
        int32x4_t level = vminq_s32(vmaxq_s32(word, vdupq_n_s32(finish->low)), vdupq_n_s32(finish->high));
        vstrbq_p_s32((int8_t *)outputs[i] + channel, level, some);
    }
}

static void finish_upper(const match_arm_finish_t *finish, int32_t channel, int32_t channels, const int32_t *sums,
                         int32_t step, uint8_t *const *outputs, int32_t count)
{
    mve_pred16_t some = vctp32q((uint32_t)(channels - channel));
    match_mve_upper_t p = match_mve_upper_of(match_arm_parameters(finish, channel));
    for (int32_t i = 0; i < count; i++, sums += step) {
        int32x4_t level = match_mve_upper_level(&p, finish, vldrwq_s32(sums));
        vstrbq_p_s32((int8_t *)outputs[i] + channel, level, some);
    }
}

#endif

void match_mve_finish_any(const match_arm_finish_t *finish, int32_t channel, int32_t channels, const int32_t *sums,
                          int32_t step, uint8_t *const *outputs, int32_t count)
{
#if MATCH_ARM_MVE
    if (finish->form == MATCH_ARM_WORDS) {
        finish_words(finish, channel, channels, sums, step, outputs, count);
        return;
    }
    if (finish->upper) {
        finish_upper(finish, channel, channels, sums, step, outputs, count);
        return;
    }
#endif
    for (int32_t i = 0; i < count; i++, sums += step) {
        for (int32_t k = channel; k < channels && k < channel + MATCH_MVE_CHANNELS; k++) {
            int32_t sum = sums[k - channel] + match_arm_addend(finish, k);
            match_arm_finish(finish, k, &sum, outputs + i, 1);
        }
    }
}
