#include "diana_driver.h"

#include <string.h>

#include "diana_registers.h"

_Static_assert(sizeof(match_diana_job_t) == DIANA_JOB_WORDS * sizeof(uint32_t), "a job is its registers");

void match_diana_execute(const match_diana_job_t *job)
{
    uint32_t words[DIANA_JOB_WORDS];
    memcpy(words, job, sizeof words);
    for (uint32_t word = 0; word < DIANA_JOB_WORDS; word++) {
        match_diana_write(DIANA_JOB + word, words[word]);
    }
    match_diana_write(DIANA_START, 1);
    while (match_diana_read(DIANA_STATUS) != 0) {
        match_diana_wait_event();
    }
}
