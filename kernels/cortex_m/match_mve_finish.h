/* Outputs of four channels at a time. */
#ifndef MATCH_MVE_FINISH_H
#define MATCH_MVE_FINISH_H

#include "match_arm_finish.h"

enum { MATCH_MVE_CHANNELS = 4 };

/* Outputs of the four channels from `channel` on, or of those that there are, of `count` pixels, whose sums without addends
 * begin `step` apart. */
void match_mve_finish_any(const match_arm_finish_t *finish, int32_t channel, int32_t channels, const int32_t *sums,
                          int32_t step, uint8_t *const *outputs, int32_t count);

#if MATCH_ARM_MVE
/* Four channels of the longer form, all of which shift by a word at least. */
typedef struct {
    const int32_t *words;
    uint32x4_t at; /* bytes from one channel's words to the next one's */
    int32x4_t addend, multiplier, below, shift;
} match_mve_upper_t;

static inline __attribute__((always_inline)) match_mve_upper_t match_mve_upper_of(const void *parameters)
{
    match_mve_upper_t p = {.words = parameters};
    p.at = vmulq_n_u32(vidupq_n_u32(0, 1), sizeof(match_arm_requant_long_t));
    p.addend = vldrwq_gather_offset_s32(p.words, p.at);
    p.multiplier = vldrwq_gather_offset_s32(p.words + 1, p.at);
    p.below = vldrwq_gather_offset_s32(p.words + 6, p.at);
    p.shift = vsubq_s32(vdupq_n_s32(32), vldrwq_gather_offset_s32(p.words + 7, p.at));
    return p;
}

/* Clipped levels: upper words of sums of 64 bits, whose lower words carry. */
static inline __attribute__((always_inline)) int32x4_t match_mve_upper_level(const match_mve_upper_t *p,
                                                                             const match_arm_finish_t *finish, int32x4_t sum)
{
    const int32_t *words = p->words;
    int32x4_t a = vaddq_s32(sum, p->addend);
    mve_pred16_t negative = vcmpltq_s32(a, p->below);
    int32x4_t low = vpselq_s32(vldrwq_gather_offset_s32(words + 4, p->at), vldrwq_gather_offset_s32(words + 2, p->at),
                               negative);
    int32x4_t high = vpselq_s32(vldrwq_gather_offset_s32(words + 5, p->at), vldrwq_gather_offset_s32(words + 3, p->at),
                                negative);
    int32x4_t word = vaddq_s32(vmulhq_s32(a, p->multiplier), high);
    int32x4_t rest = vaddq_s32(vmulq_s32(a, p->multiplier), low);
    mve_pred16_t carries = vcmphiq_u32(vreinterpretq_u32_s32(low), vreinterpretq_u32_s32(rest));
    word = vshlq_s32(vaddq_m_n_s32(word, word, 1, carries), p->shift);
    return vminq_s32(vmaxq_s32(word, vdupq_n_s32(finish->low)), vdupq_n_s32(finish->high));
}
#endif

/* The same, with the usual form and a clip from 0 on in place: q0 to q3 are addends, multipliers, biases and what sums are
 * times, q6 is the upper end, q7 shifts to the right. What is negative becomes 0 where 16 bits are left of it. */
static inline __attribute__((always_inline)) void match_mve_finish(const match_arm_finish_t *finish, int32_t channel,
                                                                   int32_t channels, const int32_t *sums, int32_t step,
                                                                   uint8_t *const *outputs, int32_t count)
{
#if MATCH_ARM_MVE
    if (finish->form == MATCH_ARM_WORDS && finish->low == 0) {
        const uint8_t *parameters = finish->parameters + channel * (int32_t)sizeof(match_arm_requant_t);
        uint8_t *output;
        __asm__ volatile("vld40.32 {q0, q1, q2, q3}, [%[p]]\n"
                         "vld41.32 {q0, q1, q2, q3}, [%[p]]\n"
                         "vld42.32 {q0, q1, q2, q3}, [%[p]]\n"
                         "vld43.32 {q0, q1, q2, q3}, [%[p]]\n"
                         "vdup.32 q6, %[high]\n"
                         "vneg.s32 q7, q3\n"
                         "vshr.s32 q3, q3, #8\n"
                         "vctp.32 %[left]\n"
                         "1:\n"
                         "vldrw.32 q4, [%[sums]]\n"
                         "ldr %[output], [%[outputs]], #4\n"
                         "vadd.i32 q4, q4, q0\n"
                         "add %[sums], %[step]\n"
                         "vmul.i32 q5, q4, q3\n"
                         "add %[output], %[channel]\n"
                         "vmulh.s32 q4, q4, q1\n"
                         "vadd.i32 q5, q5, q2\n"
                         "vadd.i32 q4, q4, q5\n"
                         "vshl.s32 q4, q4, q7\n"
                         "vmin.s32 q4, q4, q6\n"
                         "subs %[count], #1\n"
                         "vqmovunb.s32 q4, q4\n"
                         "vpst\n"
                         "vstrbt.32 q4, [%[output]]\n"
                         "bne 1b\n"
                         : [sums] "+r"(sums), [outputs] "+r"(outputs), [count] "+r"(count), [output] "=&l"(output)
                         : [p] "r"(parameters), [high] "r"(finish->high), [left] "r"(channels - channel),
                           [step] "r"(4 * step), [channel] "r"(channel)
                         : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "memory", "cc");
        return;
    }
#endif
    match_mve_finish_any(finish, channel, channels, sums, step, outputs, count);
}

#endif
