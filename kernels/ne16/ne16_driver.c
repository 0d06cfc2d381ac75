#include "ne16_driver.h"

#include <stdbool.h>

_Static_assert(sizeof(match_ne16_job_t) == NE16_JOB_WORDS * sizeof(uint32_t), "a job is its registers");

void match_ne16_prepare(const match_ne16_job_t *job, match_ne16_change_t change)
{
    uint32_t place;
    while ((int32_t)(place = match_ne16_read(NE16_ACQUIRE)) < 0) {
        if (place == NE16_LOCKED) { /* by a program that was stopped here: this one hands over what it acquires */
            match_ne16_write(NE16_SOFT_CLEAR, 0);
        } else {
            match_ne16_wait_event();
        }
    }
    bool requantized = (job->conf0 >> NE16_CONF0_NORM_QUANT & 1) != 0; /* else there are no parameters */
    uint32_t last_address = requantized ? NE16_JOB_SCALE_BIAS : NE16_JOB_OUTFEAT;
    if (change == NE16_OTHER_TILE) {
        match_ne16_write_job(job, 0, NE16_JOB_WORDS - 1);
    } else if (change == NE16_OTHER_CHANNELS) {
        match_ne16_write_job(job, NE16_JOB_WEIGHTS, last_address);
        match_ne16_write_job(job, NE16_JOB_OUTFEAT_D1, NE16_JOB_OUTFEAT_D2);
        match_ne16_write_job(job, NE16_JOB_REMAINDER_KO_KI, NE16_JOB_PADDING);
    } else if (change == NE16_OTHER_GROUP) {
        match_ne16_write_job(job, NE16_JOB_WEIGHTS, last_address);
    } else {
        match_ne16_write_job(job, NE16_JOB_INFEAT, NE16_JOB_OUTFEAT);
        if (change == NE16_OTHER_PIXELS) {
            match_ne16_write_job(job, NE16_JOB_REMAINDER_HO_WO, NE16_JOB_PADDING);
        }
    }
}

void match_ne16_trigger(void)
{
    match_ne16_write(NE16_TRIGGER, 0);
}

static int32_t jobs_in_flight(void)
{
    uint32_t status = match_ne16_read(NE16_STATUS);
    return (int32_t)((status & 1) + (status >> 8 & 1));
}

void match_ne16_wait(int32_t jobs)
{
    while (jobs_in_flight() > jobs) {
        match_ne16_wait_event();
    }
}
