/* NE16 on a chip, its driver on the cluster's master: a kernel submits its jobs when it is started. What reads and writes
 * the registers is the platform's. */
#include "match_gap9_chip.h"

#include "ne16_driver.h"

/* Kernels that have been started and not waited for. */
static int32_t started;

int32_t match_gap9_ne16_start(match_kernel_t kernel, const match_tile_t *tile)
{
    if (started == MATCH_GAP9_NE16_UNDER_WAY) {
        return MATCH_ERROR_COMPUTE;
    }
    started++;
    match_gap9_ne16_clock_on();
    kernel(tile);
    return MATCH_OK;
}

/* Jobs end in order, and a kernel has one at least: as many may be left as there are kernels behind the oldest. */
int32_t match_gap9_ne16_wait(void)
{
    if (started == 0) {
        return MATCH_ERROR_COMPUTE;
    }
    started--;
    match_ne16_wait(started);
    return MATCH_OK;
}

uint32_t match_l1_address(const void *pointer)
{
    return (uint32_t)(uintptr_t)pointer;
}
