/* NE16 of the open PULP platform: its registers in the cluster's own address space. */
#include "gap9.h"

#include "ne16_driver.h"
#include "pulp_open_registers.h"

void gap9_ne16_clock_on(void)
{
    pulp_open_write(PULP_OPEN_CLUSTER_CONFIG, PULP_OPEN_CONFIG_NE16_CLOCK);
}

void ne16_write(uint32_t word, uint32_t value)
{
    pulp_open_write(PULP_OPEN_NE16 + 4 * word, value);
}

uint32_t ne16_read(uint32_t word)
{
    return pulp_open_read(PULP_OPEN_NE16 + 4 * word);
}

void ne16_write_job(const ne16_job_t *job, uint32_t first, uint32_t last)
{
    for (uint32_t word = first; word <= last; word++) {
        pulp_open_write(PULP_OPEN_NE16 + 4 * (NE16_JOB + word), job->words[word]);
    }
}

void ne16_wait_event(void)
{
    pulp_open_wait_event(PULP_OPEN_EVENT_NE16);
}
