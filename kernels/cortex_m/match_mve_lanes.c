#include "match_mve_lanes.h"

#include "match_arm_simd.h"

#if MATCH_ARM_MVE

/* From sums to outputs, of four channels of both pixels: q4 to q7 become addends, and what sums are times, multipliers,
 * biases and shifts. */
#define LEVEL(sum, spare) \
    "vmul.i32 " spare ", " sum ", q4\n" \
    "vmulh.s32 " sum ", " sum ", q5\n" \
    "vadd.i32 " spare ", " spare ", q6\n" \
    "vadd.i32 " sum ", " sum ", " spare "\n" \
    "vshl.s32 " sum ", " sum ", q7\n"
#define LEVELS(one, other, spare) \
    "vld40.32 {q4, q5, q6, q7}, [r9]\n" \
    "vld41.32 {q4, q5, q6, q7}, [r9]\n" \
    "vld42.32 {q4, q5, q6, q7}, [r9]\n" \
    "vld43.32 {q4, q5, q6, q7}, [r9]!\n" \
    "vadd.i32 " one ", " one ", q4\n" \
    "vadd.i32 " other ", " other ", q4\n" \
    "vshr.s32 q4, q7, #8\n" \
    "vneg.s32 q7, q7\n" LEVEL(one, spare) LEVEL(other, spare)

/* r1 reads where taps are, r8 and r10 are the first ones, r5 reads weights, r9 parameters, r0 and r6 write outputs, r4 counts
 * channels, r11 is the job. Sums of the first pixel are q0 (even channels) and q1, of the second one q2 and q3. */
__attribute__((naked)) void match_mve_lanes(__attribute__((unused)) const match_mve_lanes_t *job)
{
    __asm__ volatile("push {r4-r12, lr}\n"
                     "vpush {d8-d15}\n"
                     "sub sp, #32\n"
                     "mov r11, r0\n"
                     "ldrd r8, r10, [r0, #8]\n"
                     "ldrd r5, r9, [r0, #24]\n"
                     "ldr r4, [r0, #32]\n"
                     "ldr r6, [r0, #20]\n"
                     "ldr r12, [r0, #36]\n"
                     "ldr r0, [r0, #16]\n"
                     "2:\n"
                     "ldrd r1, r7, [r11]\n"
                     "vctp.16 r4\n"
                     "dls lr, r7\n"
                     "vmov.i32 q0, #0\n"
                     "vmov.i32 q1, #0\n"
                     "vmov.i32 q2, #0\n"
                     "vmov.i32 q3, #0\n"
                     "1:\n"
                     "ldrd r2, r3, [r1], #8\n"
                     "vldrb.s16 q4, [r5], #8\n"
                     "add r2, r8\n"
                     "add r3, r10\n"
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
                     "vstrw.32 q1, [sp]\n"
                     "vstrw.32 q3, [sp, #16]\n"
                     LEVELS("q0", "q2", "q1")
                     "vqmovunb.s32 q0, q0\n" /* halves of each word: of the first pixel, of the second one */
                     "vqmovunt.s32 q0, q2\n"
                     "vldrw.32 q1, [sp]\n"
                     "vldrw.32 q3, [sp, #16]\n"
                     LEVELS("q1", "q3", "q2")
                     "vqmovunb.s32 q1, q1\n"
                     "vqmovunt.s32 q1, q3\n"
                     "vdup.16 q3, r12\n"
                     "vmov q2, q0\n"
                     "vsli.32 q2, q1, #16\n" /* halves of each word: an even channel, an odd one */
                     "vsri.32 q1, q0, #16\n"
                     "vmin.u16 q2, q2, q3\n"
                     "vmin.u16 q1, q1, q3\n"
                     "add r8, #8\n"
                     "add r10, #8\n"
                     "vpstt\n"
                     "vstrbt.16 q2, [r0], #8\n"
                     "vstrbt.16 q1, [r6], #8\n"
                     "subs r4, #8\n"
                     "bgt 2b\n"
                     "add sp, #32\n"
                     "vpop {d8-d15}\n"
                     "pop {r4-r12, pc}\n");
}

#endif
