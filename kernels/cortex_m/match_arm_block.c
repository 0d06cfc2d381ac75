#include "match_arm_block.h"

#include "match_arm_products.h"

#if MATCH_ARM_DSP

/* From a sum to an output: r2 is the multiplier, r3 the bias, r12 what sums are times, lr the shift. */
#define LEVEL(sum) \
    "mla r1, " sum ", r12, r3\n" \
    "smmla r1, " sum ", r2, r1\n" \
    "asr r1, r1, lr\n" \
    "usat " sum ", #8, r1\n"

/* On the stack are the job and the end of the weights. */
__attribute__((naked)) void match_arm_block(__attribute__((unused)) match_arm_block_t *job)
{
    __asm__ volatile("push {r0, r1, r4-r11, lr}\n"
                     "ldr r1, [r0, #4]\n"
                     "2:\n"
                     "ldr r12, [sp]\n"
                     "ldr r0, [r12]\n"
                     "ldrd r2, r3, [r12, #8]\n"
                     "ldr r4, [r3]\n"
                     "ldr r8, [r3, #16]\n"
                     "add r2, r1\n"
                     "str r2, [sp, #4]\n"
                     "mov r5, r4\n"
                     "mov r6, r4\n"
                     "mov r7, r4\n"
                     "mov r9, r8\n"
                     "mov r10, r8\n"
                     "mov r11, r8\n"
                     MATCH_ARM_PRODUCTS("[sp, #4]")
                     "ldr r12, [sp]\n"
                     "ldr r0, [r12, #12]\n"
                     "ldrd r2, r3, [r0, #4]\n"
                     "ldr lr, [r0, #12]\n"
                     "lsr r12, lr, #8\n"
                     LEVEL("r4") LEVEL("r5") LEVEL("r6") LEVEL("r7")
                     "ldrd r2, r3, [r0, #20]\n"
                     "ldr lr, [r0, #28]\n"
                     "lsr r12, lr, #8\n"
                     LEVEL("r8") LEVEL("r9") LEVEL("r10") LEVEL("r11")
                     "add r0, #32\n"
                     "ldr r12, [sp]\n"
                     "str r0, [r12, #12]\n"
                     "add r12, #16\n"
                     "ldm r12, {r0-r3}\n"
                     "orr r4, r4, r8, lsl #8\n"
                     "orr r5, r5, r9, lsl #8\n"
                     "orr r6, r6, r10, lsl #8\n"
                     "orr r7, r7, r11, lsl #8\n"
                     "strh r4, [r0], #2\n"
                     "strh r5, [r1], #2\n"
                     "strh r6, [r2], #2\n"
                     "strh r7, [r3], #2\n"
                     "stm r12, {r0-r3}\n"
                     "ldr r2, [r12, #16]\n"
                     "ldr r1, [sp, #4]\n"
                     "subs r2, #1\n"
                     "str r2, [r12, #16]\n"
                     "bne 2b\n"
                     "pop {r0, r1, r4-r11, pc}\n");
}

#endif
