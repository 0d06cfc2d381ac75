/* NE16 of the open PULP platform, in the cluster's own address space; its driver runs on the master. */
#include "gap9.h"

#include <stdbool.h>

#include "ne16_driver.h"
#include "pulp_open_registers.h"

/* A kernel has been started and not waited for. */
static bool started;

int32_t gap9_ne16_start(match_kernel_t kernel, const match_tile_t *tile)
{
    if (started) {
        return MATCH_ERROR_COMPUTE;
    }
    started = true;
    kernel(tile);
    return MATCH_OK;
}

int32_t gap9_ne16_wait(void)
{
    if (!started) {
        return MATCH_ERROR_COMPUTE;
    }
    started = false;
    ne16_wait(0);
    return MATCH_OK;
}

uint32_t match_l1_address(const void *pointer)
{
    return (uint32_t)(uintptr_t)pointer;
}

void ne16_write(uint32_t word, uint32_t value)
{
    pulp_open_write(PULP_OPEN_NE16 + 4 * word, value);
}

uint32_t ne16_read(uint32_t word)
{
    return pulp_open_read(PULP_OPEN_NE16 + 4 * word);
}

void ne16_wait_event(void)
{
    pulp_open_wait_event(PULP_OPEN_EVENT_NE16);
}
