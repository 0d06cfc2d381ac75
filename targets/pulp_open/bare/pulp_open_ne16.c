/* NE16 of the open PULP platform: its registers in the cluster's own address space. */
#include "match_gap9_chip.h"

#include "ne16_driver.h"
#include "pulp_open_registers.h"

void match_gap9_ne16_clock_on(void)
{
    match_pulp_open_write(PULP_OPEN_CLUSTER_CONFIG, PULP_OPEN_CONFIG_NE16_CLOCK);
}

void match_ne16_write(uint32_t word, uint32_t value)
{
    match_pulp_open_write(PULP_OPEN_NE16 + 4 * word, value);
}

uint32_t match_ne16_read(uint32_t word)
{
    return match_pulp_open_read(PULP_OPEN_NE16 + 4 * word);
}

void match_ne16_write_job(const match_ne16_job_t *job, uint32_t first, uint32_t last)
{
    for (uint32_t word = first; word <= last; word++) {
        match_pulp_open_write(PULP_OPEN_NE16 + 4 * (NE16_JOB + word), job->words[word]);
    }
}

void match_ne16_wait_event(void)
{
    match_pulp_open_wait_event(PULP_OPEN_EVENT_NE16);
}
