/* What a core of 32 bits counts in mcycle: cycles, or instructions under an emulator. */
#ifndef PULP_MCYCLE_H
#define PULP_MCYCLE_H

#include <stdint.h>

/* Both halves of one count: the upper one is read again, as the lower one may have passed zero meanwhile. */
static inline uint64_t match_pulp_mcycle(void)
{
    uint32_t high;
    uint32_t low;
    uint32_t again;
    do {
        __asm__ volatile("csrr %0, mcycleh" : "=r"(high));
        __asm__ volatile("csrr %0, mcycle" : "=r"(low));
        __asm__ volatile("csrr %0, mcycleh" : "=r"(again));
    } while (high != again);
    return (uint64_t)high << 32 | low;
}

#endif
