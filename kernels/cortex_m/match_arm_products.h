/* The loop of match_arm_dot.h over four columns and two channels. All registers have a use: GCC does not find this by
 * itself. */
#ifndef MATCH_ARM_PRODUCTS_H
#define MATCH_ARM_PRODUCTS_H

#include "match_arm_simd.h"

/* One pair of values: r0 reads columns, r1 weights; r4 to r7 are the first channel's sums, r8 to r11 the second one's. */
#define MATCH_ARM_PAIR \
    "ldr r3, [r1], #4\n" \
    "sxtb16 r2, r3\n" \
    "sxtb16 r3, r3, ror #8\n" \
    "ldrd r12, lr, [r0], #8\n" \
    "smlad r4, r12, r2, r4\n" \
    "smlad r8, r12, r3, r8\n" \
    "smlad r5, lr, r2, r5\n" \
    "smlad r9, lr, r3, r9\n" \
    "ldrd r12, lr, [r0], #8\n" \
    "smlad r6, r12, r2, r6\n" \
    "smlad r10, r12, r3, r10\n" \
    "smlad r7, lr, r2, r7\n" \
    "smlad r11, lr, r3, r11\n"
#define MATCH_ARM_PAIRS MATCH_ARM_PAIR MATCH_ARM_PAIR

/* Until r1 is `end`, a place in memory whose value is in r2 at first: eight values at a time, and four before them. */
#define MATCH_ARM_PRODUCTS(end) \
    "sub r3, r2, r1\n" \
    "lsls r3, r3, #28\n" \
    "beq 1f\n" MATCH_ARM_PAIRS "ldr r2, " end "\n" \
    "cmp r1, r2\n" \
    "beq 3f\n" \
    "1:\n" MATCH_ARM_PAIRS MATCH_ARM_PAIRS "ldr r2, " end "\n" \
    "cmp r1, r2\n" \
    "bne 1b\n" \
    "3:\n"

#endif
