/* Instructions that QEMU executes: SysTick steps once in so many nanoseconds, and with -icount shift=0 an instruction
 * takes one. */
#include "match_count.h"

typedef struct {
    volatile uint32_t control;
    volatile uint32_t reload;
    volatile uint32_t value;
} systick_t;

enum { ENABLED = 1, OF_THE_CORE = 4, TICKS = 0xffffff, HUNDREDTHS = 100 };

/* The ticks that were counted, and what the timer, which counts down, showed then. */
static uint64_t counted;
static uint32_t shown;

uint64_t match_counter(void)
{
    systick_t *const timer = (systick_t *)(uintptr_t)0xe000e010;
    if ((timer->control & ENABLED) == 0) {
        timer->reload = TICKS;
        timer->value = 0;
        timer->control = ENABLED | OF_THE_CORE;
        shown = 0;
    }
    const uint32_t now = timer->value;
    counted += (shown - now) & TICKS;
    shown = now;
    return counted * MATCH_TICK_HUNDREDTHS / HUNDREDTHS;
}
