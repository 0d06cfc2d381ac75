#include "ne16_driver.h"

#include <assert.h>

static_assert(sizeof(ne16_job_t) == NE16_JOB_WORDS * sizeof(uint32_t), "a job is its registers");

void ne16_submit(const ne16_job_t *job)
{
    uint32_t place;
    while ((int32_t)(place = ne16_read(NE16_ACQUIRE)) < 0) {
        if (place == NE16_LOCKED) { /* by a program that was stopped here: this one hands over what it acquires */
            ne16_write(NE16_SOFT_CLEAR, 0);
        } else {
            ne16_wait_event();
        }
    }
    for (uint32_t word = 0; word < NE16_JOB_WORDS; word++) {
        ne16_write(NE16_JOB + word, job->words[word]);
    }
    ne16_write(NE16_TRIGGER, 0);
}

static int32_t jobs_in_flight(void)
{
    uint32_t status = ne16_read(NE16_STATUS);
    return (int32_t)((status & 1) + (status >> 8 & 1));
}

void ne16_wait(int32_t jobs)
{
    while (jobs_in_flight() > jobs) {
        ne16_wait_event();
    }
}
