#include "match_mve_block.h"

#include "match_arm_simd.h"

#if MATCH_ARM_MVE

#define UNUSED __attribute__((unused))

/* Sums are in even registers, as the instruction wants them: of the first column r0, r2, r4 and r6, of the second one r8,
 * r10, r12 and lr. r1 and r3 read columns, r5 reads weights, r7 counts, r9 reads parameters, r11 is the job. */
#define BEGIN \
    "push {r4-r11, lr}\n" \
    "vpush {d8-d15}\n" \
    "mov r11, r0\n" \
    "ldrd r5, r9, [r0, #16]\n" \
    "2:\n" \
    "ldrd r1, r3, [r11]\n" \
    "ldr r7, [r11, #24]\n" \
    "clrm {r0, r2, r4, r6, r8, r10, r12, lr}\n" \
    "1:\n" \
    "vldrb.8 q0, [r1], #16\n" \
    "vldrb.8 q2, [r5], #16\n" \
    "vmladava.s8 r0, q0, q2\n" \
    "vldrb.8 q1, [r3], #16\n" \
    "vmladava.s8 r8, q1, q2\n" \
    "vldrb.8 q3, [r5], #16\n" \
    "vmladava.s8 r2, q0, q3\n" \
    "vldrb.8 q2, [r5], #16\n" \
    "vmladava.s8 r10, q1, q3\n" \
    "subs r7, #1\n" \
    "vmladava.s8 r4, q0, q2\n" \
    "vldrb.8 q3, [r5], #16\n" \
    "vmladava.s8 r12, q1, q2\n" \
    "vmladava.s8 r6, q0, q3\n" \
    "vmladava.s8 lr, q1, q3\n" \
    "bne 1b\n" \
    "vmov q4[2], q4[0], r0, r4\n" \
    "vmov q4[3], q4[1], r2, r6\n" \
    "vmov q5[2], q5[0], r8, r12\n" \
    "vmov q5[3], q5[1], r10, lr\n"

/* Levels q4 and q5 become outputs: what is negative becomes 0 where 16 bits are left of it. */
#define END \
    "ldrd r4, r6, [r11, #28]\n" \
    "ldrd r0, r2, [r11, #8]\n" \
    "vctp.32 r4\n" \
    "vdup.32 q0, r6\n" \
    "vmin.s32 q4, q4, q0\n" \
    "subs r4, #4\n" \
    "vqmovunb.s32 q4, q4\n" \
    "vmin.s32 q5, q5, q0\n" \
    "str r4, [r11, #28]\n" \
    "vqmovunb.s32 q5, q5\n" \
    "vpstt\n" \
    "vstrbt.32 q4, [r0], #4\n" \
    "vstrbt.32 q5, [r2], #4\n" \
    "strd r0, r2, [r11, #8]\n" \
    "bgt 2b\n" \
    "vpop {d8-d15}\n" \
    "pop {r4-r11, pc}\n"

/* q0 to q3 are addends, multipliers, biases and what sums are times, q7 shifts to the right. */
#define LEVEL(sum) \
    "vmul.i32 q6, " sum ", q3\n" \
    "vmulh.s32 " sum ", " sum ", q1\n" \
    "vadd.i32 q6, q6, q2\n" \
    "vadd.i32 " sum ", " sum ", q6\n" \
    "vshl.s32 " sum ", " sum ", q7\n"

__attribute__((naked)) void match_mve_block(UNUSED match_mve_block_t *job)
{
    __asm__ volatile(BEGIN
                     "vld40.32 {q0, q1, q2, q3}, [r9]\n"
                     "vld41.32 {q0, q1, q2, q3}, [r9]\n"
                     "vld42.32 {q0, q1, q2, q3}, [r9]\n"
                     "vld43.32 {q0, q1, q2, q3}, [r9]!\n"
                     "vadd.i32 q4, q4, q0\n"
                     "vneg.s32 q7, q3\n"
                     "vadd.i32 q5, q5, q0\n"
                     "vshr.s32 q3, q3, #8\n"
                     LEVEL("q4") LEVEL("q5") END);
}

/* The upper word of a sum of two: q7 is where the four channels' parameters are, q6 below which sums have the other bias,
 * r0 is 1. The lower word carries if it is less than the bias's. */
#define UPPER(sum) \
    "vcmp.s32 gt, q6, " sum "\n" \
    "vldrw.u32 q1, [q7, #4]\n" \
    "vldrw.u32 q0, [q7, #8]\n" \
    "vmul.i32 q2, " sum ", q1\n" \
    "vldrw.u32 q3, [q7, #12]\n" \
    "vmulh.s32 " sum ", " sum ", q1\n" \
    "vldrw.u32 q1, [q7, #16]\n" \
    "vpsel q0, q1, q0\n" \
    "vldrw.u32 q1, [q7, #20]\n" \
    "vpsel q3, q1, q3\n" \
    "vadd.i32 q2, q2, q0\n" \
    "vadd.i32 " sum ", " sum ", q3\n" \
    "vpt.u32 hi, q0, q2\n" \
    "vaddt.i32 " sum ", " sum ", r0\n"

__attribute__((naked)) void match_mve_block_long(UNUSED match_mve_block_t *job)
{
    __asm__ volatile(BEGIN
                     "lsr r0, r9, #2\n"
                     "vidup.u32 q7, r0, #8\n"
                     "vshl.i32 q7, q7, #2\n"
                     "add r9, #128\n"
                     "vldrw.u32 q0, [q7]\n"
                     "vldrw.u32 q6, [q7, #24]\n"
                     "vadd.i32 q4, q4, q0\n"
                     "mov r0, #1\n"
                     "vadd.i32 q5, q5, q0\n"
                     UPPER("q4") UPPER("q5")
                     "vldrw.u32 q0, [q7, #28]\n"
                     "mov r0, #32\n"
                     "vneg.s32 q0, q0\n"
                     "vadd.i32 q0, q0, r0\n"
                     "vshl.s32 q4, q4, q0\n"
                     "vshl.s32 q5, q5, q0\n"
                     END);
}

#endif
