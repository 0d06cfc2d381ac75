/* Cycles of the core, by the counter in its unit for data watchpoints (Arm's architecture reference manuals of v7-M and
 * v8-M). It has 32 bits, so that it has to be read once in so many cycles; it stands still while a core sleeps. */
#include "match_count.h"

enum { TRACE = 1 << 24, COUNTING = 1, KEY = (int)0xc5acce55 };

static volatile uint32_t *reg(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

/* The cycles that were counted, and what the counter showed then. */
static uint64_t counted;
static uint32_t shown;

uint64_t match_counter(void)
{
    volatile uint32_t *const control = reg(0xe0001000);
    volatile uint32_t *const cycles = reg(0xe0001004);
    if ((*control & COUNTING) == 0) {
        *reg(0xe000edfc) |= TRACE;
#ifdef __ARM_ARCH_7EM__
        *reg(0xe0001fb0) = (uint32_t)KEY; /* Cortex-M7: writes are locked */
#endif
        *control |= COUNTING;
        shown = *cycles;
    }
    const uint32_t now = *cycles;
    counted += now - shown;
    shown = now;
    return counted;
}
