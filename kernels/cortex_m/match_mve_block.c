#include "match_mve_block.h"

#include "match_arm_simd.h"

#if MATCH_ARM_MVE

/* From sums q4 or q5 to outputs, with addends, multipliers, biases and factors in q0 to q3 and shifts in q7. */
#define LEVEL(sum) \
    "vmul.i32 q6, " sum ", q3\n" \
    "vmulh.s32 " sum ", " sum ", q1\n" \
    "vadd.i32 q6, q6, q2\n" \
    "vadd.i32 " sum ", " sum ", q6\n" \
    "vshl.s32 " sum ", " sum ", q7\n"

/* Sums are in even registers, as the instruction wants them: of the first column r0, r2, r4 and r6, of the second one r8,
 * r10, r12 and lr. r1 and r3 read columns, r5 reads weights, r7 counts, r9 reads parameters, r11 is the job. What is
 * negative becomes 0 where 16 bits are left of it. */
__attribute__((naked)) void match_mve_block(__attribute__((unused)) match_mve_block_t *job)
{
    __asm__ volatile("push {r4-r11, lr}\n"
                     "vpush {d8-d15}\n"
                     "mov r11, r0\n"
                     "ldrd r5, r9, [r0, #16]\n"
                     "2:\n"
                     "ldrd r1, r3, [r11]\n"
                     "ldr r7, [r11, #24]\n"
                     "clrm {r0, r2, r4, r6, r8, r10, r12, lr}\n"
                     "1:\n"
                     "vldrb.8 q0, [r1], #16\n"
                     "vldrb.8 q2, [r5], #16\n"
                     "vmladava.s8 r0, q0, q2\n"
                     "vldrb.8 q1, [r3], #16\n"
                     "vmladava.s8 r8, q1, q2\n"
                     "vldrb.8 q3, [r5], #16\n"
                     "vmladava.s8 r2, q0, q3\n"
                     "vldrb.8 q2, [r5], #16\n"
                     "vmladava.s8 r10, q1, q3\n"
                     "subs r7, #1\n"
                     "vmladava.s8 r4, q0, q2\n"
                     "vldrb.8 q3, [r5], #16\n"
                     "vmladava.s8 r12, q1, q2\n"
                     "vmladava.s8 r6, q0, q3\n"
                     "vmladava.s8 lr, q1, q3\n"
                     "bne 1b\n"
                     "vld40.32 {q0, q1, q2, q3}, [r9]\n"
                     "vmov q4[2], q4[0], r0, r4\n"
                     "vmov q4[3], q4[1], r2, r6\n"
                     "vld41.32 {q0, q1, q2, q3}, [r9]\n"
                     "vmov q5[2], q5[0], r8, r12\n"
                     "vmov q5[3], q5[1], r10, lr\n"
                     "vld42.32 {q0, q1, q2, q3}, [r9]\n"
                     "ldrd r0, r2, [r11, #8]\n"
                     "ldrd r4, r6, [r11, #28]\n"
                     "vld43.32 {q0, q1, q2, q3}, [r9]!\n"
                     "vadd.i32 q4, q4, q0\n"
                     "vneg.s32 q7, q3\n"
                     "vadd.i32 q5, q5, q0\n"
                     "vshr.s32 q3, q3, #8\n"
                     "vdup.32 q0, r6\n"
                     "vctp.32 r4\n"
                     LEVEL("q4") LEVEL("q5")
                     "vmin.s32 q4, q4, q0\n"
                     "subs r4, #4\n"
                     "vqmovunb.s32 q4, q4\n"
                     "vmin.s32 q5, q5, q0\n"
                     "str r4, [r11, #28]\n"
                     "vqmovunb.s32 q5, q5\n"
                     "vpstt\n"
                     "vstrbt.32 q4, [r0], #4\n"
                     "vstrbt.32 q5, [r2], #4\n"
                     "strd r0, r2, [r11, #8]\n"
                     "bgt 2b\n"
                     "vpop {d8-d15}\n"
                     "pop {r4-r11, pc}\n");
}

#endif
