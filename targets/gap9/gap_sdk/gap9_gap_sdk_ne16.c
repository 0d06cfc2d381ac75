/* NE16 beside the SDK: its driver on the cluster's master, and its registers where the cluster sees them. */
#include "gap9.h"

#include <stdbool.h>

#include "ne16_driver.h"

#define CLUSTER_CONFIG 0x00200018u
#define CLUSTER_CONFIG_NE16_CLOCK 0x800u
#define NE16 0x00201000u

/* A kernel has been started and not waited for. */
static bool started;

static volatile uint32_t *at(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

int32_t gap9_ne16_start(match_kernel_t kernel, const match_tile_t *tile)
{
    if (started) {
        return MATCH_ERROR_COMPUTE;
    }
    started = true;
    *at(CLUSTER_CONFIG) |= CLUSTER_CONFIG_NE16_CLOCK;
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
    *at(NE16 + 4 * word) = value;
}

uint32_t ne16_read(uint32_t word)
{
    return *at(NE16 + 4 * word);
}

/* Events are the SDK's, so that the driver asks for the status again instead of sleeping. */
void ne16_wait_event(void)
{
}
