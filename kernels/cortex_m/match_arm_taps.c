#include "match_arm_taps.h"

#include "match_arm_simd.h"

void match_arm_taps(const match_arm_taps_t *job, const uint32_t *row, int32_t *sums, const uint32_t *taps, int32_t addend,
                    int32_t rows)
{
    int32_t step = MATCH_ARM_GROUP * job->window;
    for (; rows > 0; rows--, row += job->row_step / 4, sums += job->sums_step / 4) {
        const uint32_t *column = row;
        for (int32_t x = 0; x < job->outputs; x++, column += job->stride * step) {
            const uint32_t *tap = taps, *seen = column;
            int32_t sum = addend;
            for (int32_t i = 0; i < job->width; i++, seen += job->dilation * step) {
                for (int32_t pair = 0; pair < job->window; pair++) {
                    sum = match_arm_pair(seen[pair], *tap++, sum);
                }
            }
            sums[x] = sum;
        }
    }
}

#if MATCH_ARM_DSP

/* A column, whose pairs are r2 and r3, into a sum. */
#define TAKE(sum, from, upper, lower) \
    "smlad " sum ", r2, " upper ", " from "\n" \
    "smlad " sum ", r3, " lower ", " sum "\n"

/* r0 is the job, r1 the row, r2 the sums, r3 the weights; the addend and the number of rows are on the stack. In the loop
 * over outputs, r4 to r9 are the weights, lr is the addend, r0 reads columns, r1 writes sums up to r12. */
#define ROWS(outputs) \
    __asm__ volatile("push {r0-r2, r4-r11, lr}\n" \
                     "ldm r3, {r4-r9}\n" \
                     "ldr lr, [sp, #48]\n" \
                     "mov r10, r0\n" \
                     "2:\n" \
                     "ldr r0, [sp, #4]\n" \
                     "ldr r1, [sp, #8]\n" \
                     "ldm r10, {r2, r3, r11}\n" \
                     "add r12, r1, r2, lsl #2\n" \
                     "add r3, r0\n" \
                     "add r11, r1\n" \
                     "str r3, [sp, #4]\n" \
                     "str r11, [sp, #8]\n" \
                     "1:\n" outputs "cmp r1, r12\n" \
                                    "blo 1b\n" \
                                    "ldr r10, [sp, #52]\n" \
                                    "subs r10, #1\n" \
                                    "str r10, [sp, #52]\n" \
                                    "ldr r10, [sp]\n" \
                                    "bne 2b\n" \
                                    "pop {r0-r2, r4-r11, pc}\n")
#define UNUSED __attribute__((unused))
#define PARAMETERS \
    UNUSED const match_arm_taps_t *job, UNUSED const uint32_t *row, UNUSED int32_t *sums, UNUSED const uint32_t *taps, \
        UNUSED int32_t addend, UNUSED int32_t rows

__attribute__((naked)) static void rows_by_one(PARAMETERS)
{
    ROWS("ldrd r2, r3, [r0], #32\n" TAKE("r10", "lr", "r4", "r5")
         "ldrd r2, r3, [r0], #32\n" TAKE("r11", "lr", "r4", "r5") TAKE("r10", "r10", "r6", "r7")
         "ldrd r2, r3, [r0]\n" TAKE("r11", "r11", "r6", "r7") TAKE("r10", "r10", "r8", "r9")
         "ldrd r2, r3, [r0, #32]\n" TAKE("r11", "r11", "r8", "r9")
         "strd r10, r11, [r1], #8\n");
}

__attribute__((naked)) static void rows_by_two(PARAMETERS)
{
    ROWS("ldrd r2, r3, [r0], #32\n" TAKE("r10", "lr", "r4", "r5")
         "ldrd r2, r3, [r0], #32\n" TAKE("r10", "r10", "r6", "r7")
         "ldrd r2, r3, [r0]\n" TAKE("r10", "r10", "r8", "r9")
         "str r10, [r1], #4\n");
}

void match_arm_taps_3(const match_arm_taps_t *job, const uint32_t *row, int32_t *sums, const uint32_t *taps,
                      int32_t addend, int32_t rows)
{
    (job->stride == 1 ? rows_by_one : rows_by_two)(job, row, sums, taps, addend, rows);
}

#else

void match_arm_taps_3(const match_arm_taps_t *job, const uint32_t *row, int32_t *sums, const uint32_t *taps,
                      int32_t addend, int32_t rows)
{
    match_arm_taps(job, row, sums, taps, addend, rows);
}

#endif
