#include "match_arm_dot.h"

#include "match_arm_products.h"

#if MATCH_ARM_DSP

#define UNUSED __attribute__((unused))

/* All registers have a use: GCC does not find this by itself. */
__attribute__((naked)) void match_arm_dot_4(UNUSED const uint32_t *columns, UNUSED const int8_t *weights,
                                            UNUSED const int8_t *end, UNUSED int32_t *sums)
{
    __asm__ volatile("push {r2-r11, lr}\n"
                     "ldrd r4, r8, [r3]\n"
                     "mov r5, r4\n"
                     "mov r6, r4\n"
                     "mov r7, r4\n"
                     "mov r9, r8\n"
                     "mov r10, r8\n"
                     "mov r11, r8\n"
                     MATCH_ARM_PRODUCTS("[sp]")
                     "ldr r3, [sp, #4]\n"
                     "stm r3, {r4-r11}\n"
                     "pop {r2-r11, pc}\n");
}

/* Two pairs of values, r10 and r11, of two channels whose weights r8 and r9 are; of them the sums. */
#define PAIRS(first, second) \
    "sxtb16 r3, r8\n" \
    "sxtb16 r8, r8, ror #8\n" \
    "smlad " first ", r10, r3, " first "\n" \
    "smlad " second ", r10, r8, " second "\n" \
    "sxtb16 r3, r9\n" \
    "sxtb16 r9, r9, ror #8\n" \
    "smlad " first ", r11, r3, " first "\n" \
    "smlad " second ", r11, r9, " second "\n"

/* Four values of four channels. */
#define FOUR \
    "ldr r11, [r0], #4\n" \
    "ldrd r8, r9, [r1], #8\n" \
    "uxtb16 r10, r11\n" \
    "uxtb16 r11, r11, ror #8\n" \
    PAIRS("r4", "r5") \
    "ldrd r8, r9, [r2], #8\n" \
    PAIRS("r6", "r7")

__attribute__((naked)) void match_arm_dot_bytes(UNUSED const uint8_t *bytes, UNUSED const int8_t *weights,
                                                UNUSED const int8_t *others, UNUSED const uint8_t *end,
                                                UNUSED int32_t *sums)
{
    __asm__ volatile("push {r4-r11, lr}\n"
                     "mov r12, r3\n"
                     "ldr lr, [sp, #36]\n"
                     "ldm lr, {r4-r7}\n"
                     "sub r3, r3, r0\n"
                     "lsls r3, r3, #29\n"
                     "bne 2f\n"
                     "1:\n"
                     FOUR
                     "2:\n"
                     FOUR
                     "cmp r0, r12\n"
                     "bne 1b\n"
                     "stm lr, {r4-r7}\n"
                     "pop {r4-r11, pc}\n");
}

#else

void match_arm_dot_4(const uint32_t *columns, const int8_t *weights, const int8_t *end, int32_t *sums)
{
    int32_t second = sums[1];
    for (int32_t i = 3; i >= 0; i--) {
        sums[i] = sums[0];
        sums[4 + i] = second;
    }
    for (; weights != end; weights += 4, columns += 4) {
        uint32_t word = match_arm_load4(weights);
        for (int32_t i = 0; i < 4; i++) {
            sums[i] = match_arm_pair(columns[i], match_arm_signed_even(word), sums[i]);
            sums[4 + i] = match_arm_pair(columns[i], match_arm_signed_odd(word), sums[4 + i]);
        }
    }
}

void match_arm_dot_bytes(const uint8_t *bytes, const int8_t *weights, const int8_t *others, const uint8_t *end,
                         int32_t *sums)
{
    for (; bytes != end; bytes += 4, weights += 8, others += 8) {
        uint32_t word = match_arm_load4(bytes);
        match_arm_add_four(word, weights, sums);
        match_arm_add_four(word, others, sums + 2);
    }
}

#endif
