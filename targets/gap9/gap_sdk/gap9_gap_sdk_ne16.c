/* NE16 beside the SDK: its registers where the cluster sees them. */
#include <pmsis.h>

#include "match_gap9_chip.h"

#include "ne16_driver.h"

#define CLUSTER_CONFIG 0x00200018u
#define CLUSTER_CONFIG_NE16_CLOCK 0x800u
#define NE16 0x00201000u
#define NE16_EVENT 12 /* of the cluster's event unit: a job is done */

static volatile uint32_t *at(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

void match_gap9_ne16_clock_on(void)
{
    *at(CLUSTER_CONFIG) |= CLUSTER_CONFIG_NE16_CLOCK;
}

void match_ne16_write(uint32_t word, uint32_t value)
{
    *at(NE16 + 4 * word) = value;
}

uint32_t match_ne16_read(uint32_t word)
{
    return *at(NE16 + 4 * word);
}

void match_ne16_write_job(const match_ne16_job_t *job, uint32_t first, uint32_t last)
{
    volatile uint32_t *registers = at(NE16 + 4 * NE16_JOB);
    for (uint32_t word = first; word <= last; word++) {
        registers[word] = job->words[word];
    }
}

/* Sleeps in the event unit; an event that has come already ends it at once. The SDK's operating systems, FreeRTOS and
 * PulpOS, have names of their own for it. */
void match_ne16_wait_event(void)
{
#ifdef __FREERTOS__
    hal_eu_evt_mask_wait_and_clr(1u << NE16_EVENT);
#else
    eu_evt_maskWaitAndClr(1u << NE16_EVENT);
#endif
}
