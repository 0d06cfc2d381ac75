/* NE16 on a chip, its driver on the cluster's master: a kernel submits its jobs when it is started. What reads and writes
 * the registers is the platform's. */
#include "match_gap9_chip.h"

#include <stdbool.h>

#include "ne16_driver.h"

/* A kernel has been started and not waited for. */
static bool started;

int32_t match_gap9_ne16_start(match_kernel_t kernel, const match_tile_t *tile)
{
    if (started) {
        return MATCH_ERROR_COMPUTE;
    }
    started = true;
    match_gap9_ne16_clock_on();
    kernel(tile);
    return MATCH_OK;
}

int32_t match_gap9_ne16_wait(void)
{
    if (!started) {
        return MATCH_ERROR_COMPUTE;
    }
    started = false;
    match_ne16_wait(0);
    return MATCH_OK;
}

uint32_t match_l1_address(const void *pointer)
{
    return (uint32_t)(uintptr_t)pointer;
}
