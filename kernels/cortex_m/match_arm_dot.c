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

/* Two pairs of values, of which r6 and r7 are the weights and r10 and r11 the column's. */
#define PAIRS(w0, w1, x0, x1) \
    "sxtb16 r3, " w0 "\n" \
    "sxtb16 " w0 ", " w0 ", ror #8\n" \
    "smlad r4, " x0 ", r3, r4\n" \
    "smlad r5, " x0 ", " w0 ", r5\n" \
    "sxtb16 r3, " w1 "\n" \
    "sxtb16 " w1 ", " w1 ", ror #8\n" \
    "smlad r4, " x1 ", r3, r4\n" \
    "smlad r5, " x1 ", " w1 ", r5\n"

__attribute__((naked)) void match_arm_dot_1(UNUSED const uint32_t *column, UNUSED const int8_t *weights,
                                            UNUSED const int8_t *end, UNUSED int32_t *sums)
{
    __asm__ volatile("push {r3-r11, lr}\n"
                     "ldrd r4, r5, [r3]\n"
                     "sub r3, r2, r1\n"
                     "lsls r3, r3, #28\n"
                     "beq 1f\n"
                     "ldrd r6, r7, [r1], #8\n"
                     "ldrd r10, r11, [r0], #8\n"
                     PAIRS("r6", "r7", "r10", "r11")
                     "cmp r1, r2\n"
                     "beq 2f\n"
                     "1:\n"
                     "ldm r1!, {r6-r9}\n"
                     "ldm r0!, {r10-r12, lr}\n"
                     PAIRS("r6", "r7", "r10", "r11") PAIRS("r8", "r9", "r12", "lr")
                     "cmp r1, r2\n"
                     "bne 1b\n"
                     "2:\n"
                     "ldr r3, [sp]\n"
                     "strd r4, r5, [r3]\n"
                     "pop {r3-r11, pc}\n");
}

#else

static void dot(const uint32_t *columns, int32_t count, const int8_t *weights, const int8_t *end, int32_t *sums)
{
    int32_t second = sums[1];
    for (int32_t i = count - 1; i >= 0; i--) {
        sums[i] = sums[0];
        sums[count + i] = second;
    }
    for (; weights != end; weights += 4, columns += count) {
        uint32_t word = match_arm_load4(weights);
        for (int32_t i = 0; i < count; i++) {
            sums[i] = match_arm_pair(columns[i], match_arm_signed_even(word), sums[i]);
            sums[count + i] = match_arm_pair(columns[i], match_arm_signed_odd(word), sums[count + i]);
        }
    }
}

void match_arm_dot_4(const uint32_t *columns, const int8_t *weights, const int8_t *end, int32_t *sums)
{
    dot(columns, 4, weights, end, sums);
}

void match_arm_dot_1(const uint32_t *column, const int8_t *weights, const int8_t *end, int32_t *sums)
{
    dot(column, 1, weights, end, sums);
}

#endif
