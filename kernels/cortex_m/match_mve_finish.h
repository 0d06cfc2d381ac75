/* Outputs of four channels at a time. */
#ifndef MATCH_MVE_FINISH_H
#define MATCH_MVE_FINISH_H

#include "match_arm_finish.h"

enum { MATCH_MVE_CHANNELS = 4 };

/* Outputs of the four channels from `channel` on, or of those that there are, of `count` pixels, whose sums without addends
 * begin `step` apart. */
void match_mve_finish_any(const match_arm_finish_t *finish, int32_t channel, int32_t channels, const int32_t *sums,
                          int32_t step, uint8_t *const *outputs, int32_t count);

/* The same, with the usual form in place. */
static inline __attribute__((always_inline)) void match_mve_finish(const match_arm_finish_t *finish, int32_t channel,
                                                                   int32_t channels, const int32_t *sums, int32_t step,
                                                                   uint8_t *const *outputs, int32_t count)
{
#if MATCH_ARM_MVE
    if (finish->form == MATCH_ARM_WORDS) {
        int32x4_t low = vdupq_n_s32(finish->low), high = vdupq_n_s32(finish->high);
        mve_pred16_t some = vctp32q((uint32_t)(channels - channel));
        const match_arm_requant_t *parameters = (const match_arm_requant_t *)(const void *)finish->parameters + channel;
        int32x4x4_t p = vld4q_s32((const int32_t *)(const void *)parameters);
        int32x4_t times = vshrq_n_s32(p.val[3], 8), shift = vnegq_s32(p.val[3]);
        for (int32_t i = 0; i < count; i++, sums += step) {
            int32x4_t a = vaddq_s32(vldrwq_s32(sums), p.val[0]);
            int32x4_t word = vaddq_s32(vaddq_s32(vmulq_s32(a, times), p.val[2]), vmulhq_s32(a, p.val[1]));
            int32x4_t level = vminq_s32(vmaxq_s32(vshlq_s32(word, shift), low), high);
            vstrbq_p_s32((int8_t *)outputs[i] + channel, level, some);
        }
        return;
    }
#endif
    match_mve_finish_any(finish, channel, channels, sums, step, outputs, count);
}

#endif
