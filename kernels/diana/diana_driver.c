#include "diana_driver.h"

#include <assert.h>
#include <string.h>

#include "diana_registers.h"

static_assert(sizeof(diana_job_t) == DIANA_JOB_WORDS * sizeof(uint32_t), "a job is its registers");

void diana_execute(const diana_job_t *job)
{
    uint32_t words[DIANA_JOB_WORDS];
    memcpy(words, job, sizeof words);
    for (uint32_t word = 0; word < DIANA_JOB_WORDS; word++) {
        diana_write(DIANA_JOB + word, words[word]);
    }
    diana_write(DIANA_START, 1);
    while (diana_read(DIANA_STATUS) != 0) {
        diana_wait_event();
    }
}
