#include "match_mve_dot.h"

#include "match_arm_simd.h"

#if MATCH_ARM_MVE

#define UNUSED __attribute__((unused))

/* Sums are in even registers, as the instruction wants them: of the first column r0, r2, r4 and r6, of the second one r8,
 * r10, r12 and lr. r1 and r3 read columns, r5 reads weights, r7 counts. */
__attribute__((naked)) void match_mve_dot_2(UNUSED const int8_t *columns, UNUSED const int8_t *weights,
                                            UNUSED int32_t length, UNUSED int32_t *sums)
{
    __asm__ volatile("push {r3-r11, lr}\n"
                     "mov r9, r3\n"
                     "mov r5, r1\n"
                     "mov r1, r0\n"
                     "add r3, r0, r2\n"
                     "lsr r7, r2, #4\n"
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
                     "stm r9, {r0, r2, r4, r6, r8, r10, r12, lr}\n"
                     "pop {r3-r11, pc}\n");
}

__attribute__((naked)) void match_mve_dot_1(UNUSED const int8_t *column, UNUSED const int8_t *weights,
                                            UNUSED int32_t length, UNUSED int32_t *sums)
{
    __asm__ volatile("push {r3-r7, lr}\n"
                     "lsr r7, r2, #4\n"
                     "mov r5, r1\n"
                     "mov r1, r0\n"
                     "clrm {r0, r2, r4, r6}\n"
                     "dls lr, r7\n"
                     "1:\n"
                     "vldrb.8 q0, [r1], #16\n"
                     "vldrb.8 q1, [r5], #16\n"
                     "vmladava.s8 r0, q0, q1\n"
                     "vldrb.8 q2, [r5], #16\n"
                     "vmladava.s8 r2, q0, q2\n"
                     "vldrb.8 q1, [r5], #16\n"
                     "vmladava.s8 r4, q0, q1\n"
                     "vldrb.8 q2, [r5], #16\n"
                     "vmladava.s8 r6, q0, q2\n"
                     "le lr, 1b\n"
                     "stm r3, {r0, r2, r4, r6}\n"
                     "pop {r3-r7, pc}\n");
}

/* Bytes behind the last one are read as zeros, as the weights there are. */
__attribute__((naked)) void match_mve_dot_bytes(UNUSED const uint8_t *bytes, UNUSED const int8_t *weights,
                                                UNUSED int32_t count, UNUSED int32_t *sums)
{
    __asm__ volatile("push {r3-r7, lr}\n"
                     "mov r7, r2\n"
                     "mov r5, r1\n"
                     "mov r1, r0\n"
                     "clrm {r0, r2, r4, r6}\n"
                     "vmov.i8 q3, #0x80\n"
                     "wlstp.8 lr, r7, 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [r1], #16\n"
                     "vldrb.8 q1, [r5], #16\n"
                     "veor q0, q0, q3\n"
                     "vmladava.s8 r0, q0, q1\n"
                     "vldrb.8 q2, [r5], #16\n"
                     "vmladava.s8 r2, q0, q2\n"
                     "vldrb.8 q1, [r5], #16\n"
                     "vmladava.s8 r4, q0, q1\n"
                     "vldrb.8 q2, [r5], #16\n"
                     "vmladava.s8 r6, q0, q2\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     "stm r3, {r0, r2, r4, r6}\n"
                     "pop {r3-r7, pc}\n");
}

#else

void match_mve_dot_1(const int8_t *column, const int8_t *weights, int32_t length, int32_t *sums)
{
    memset(sums, 0, 4 * sizeof *sums);
    for (int32_t i = 0; i < 4 * length; i++) {
        sums[i / 16 % 4] += column[i / 64 * 16 + i % 16] * weights[i];
    }
}

void match_mve_dot_2(const int8_t *columns, const int8_t *weights, int32_t length, int32_t *sums)
{
    match_mve_dot_1(columns, weights, length, sums);
    match_mve_dot_1(columns + length, weights, length, sums + 4);
}

void match_mve_dot_bytes(const uint8_t *bytes, const int8_t *weights, int32_t count, int32_t *sums)
{
    memset(sums, 0, 4 * sizeof *sums);
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = 0; k < 4; k++) {
            sums[k] += (bytes[i] - 128) * weights[i / 16 * 64 + 16 * k + i % 16];
        }
    }
}

#endif
