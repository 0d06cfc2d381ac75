#include "match_arm_taps.h"

#include "match_arm_simd.h"

void match_arm_taps(const match_arm_taps_t *job)
{
    const uint8_t *row = (const uint8_t *)job->row;
    uint8_t *sums = (uint8_t *)job->sums;
    for (int32_t y = 0; y < job->rows; y++, row += job->row_step, sums += job->sums_step) {
        const uint32_t *column = (const uint32_t *)(const void *)row;
        for (int32_t x = 0; x < job->outputs; x++, column += job->stride * job->window) {
            const uint32_t *tap = job->taps, *seen = column;
            int32_t sum = job->addend;
            for (int32_t i = 0; i < job->width; i++, seen += job->dilation * job->window) {
                for (int32_t pair = 0; pair < job->window; pair++) {
                    sum = match_arm_pair(seen[pair], *tap++, sum);
                }
            }
            ((int32_t *)(void *)sums)[x] = sum;
        }
    }
}

#if MATCH_ARM_DSP

/* A column, whose pairs are r2 and r3, into a sum. */
#define TAKE(sum, from, upper, lower) \
    "smlad " sum ", r2, " upper ", " from "\n" \
    "smlad " sum ", r3, " lower ", " sum "\n"

/* r4 to r9 are the weights, lr is the addend; r0 reads columns, r1 writes sums up to r12. */
#define ROW(outputs) \
    __asm__ volatile("push {r4-r11, lr}\n" \
                     "ldm r2, {r4-r9}\n" \
                     "ldr lr, [sp, #36]\n" \
                     "add r12, r1, r3, lsl #2\n" \
                     "1:\n" outputs "cmp r1, r12\n" \
                                    "blo 1b\n" \
                                    "pop {r4-r11, pc}\n")
#define UNUSED __attribute__((unused))

__attribute__((naked)) static void row_by_one(UNUSED const uint32_t *row, UNUSED int32_t *sums,
                                              UNUSED const uint32_t *taps, UNUSED int32_t outputs, UNUSED int32_t addend)
{
    ROW("ldrd r2, r3, [r0], #8\n" TAKE("r10", "lr", "r4", "r5")
        "ldrd r2, r3, [r0], #8\n" TAKE("r11", "lr", "r4", "r5") TAKE("r10", "r10", "r6", "r7")
        "ldrd r2, r3, [r0]\n" TAKE("r11", "r11", "r6", "r7") TAKE("r10", "r10", "r8", "r9")
        "ldrd r2, r3, [r0, #8]\n" TAKE("r11", "r11", "r8", "r9")
        "strd r10, r11, [r1], #8\n");
}

__attribute__((naked)) static void row_by_two(UNUSED const uint32_t *row, UNUSED int32_t *sums,
                                              UNUSED const uint32_t *taps, UNUSED int32_t outputs, UNUSED int32_t addend)
{
    ROW("ldrd r2, r3, [r0], #8\n" TAKE("r10", "lr", "r4", "r5")
        "ldrd r2, r3, [r0], #8\n" TAKE("r10", "r10", "r6", "r7")
        "ldrd r2, r3, [r0]\n" TAKE("r10", "r10", "r8", "r9")
        "str r10, [r1], #4\n");
}

void match_arm_taps_3(const match_arm_taps_t *job)
{
    const uint8_t *row = (const uint8_t *)job->row;
    uint8_t *sums = (uint8_t *)job->sums;
    for (int32_t y = 0; y < job->rows; y++, row += job->row_step, sums += job->sums_step) {
        const uint32_t *columns = (const uint32_t *)(const void *)row;
        (job->stride == 1 ? row_by_one : row_by_two)(columns, (int32_t *)(void *)sums, job->taps, job->outputs,
                                                     job->addend);
    }
}

#else

void match_arm_taps_3(const match_arm_taps_t *job)
{
    match_arm_taps(job);
}

#endif
