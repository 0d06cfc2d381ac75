/* NE16 on another machine: a model behind its registers, which executes a kernel when it is waited for. */
#include "match_gap9_chip.h"

#include "match_host_faults.h"
#include "ne16_driver.h"
#include "ne16_model.h"
#include "pulp_accelerator.h"
#include "pulp_machine.h"

/* Where the chip has its L1. */
#define L1_ADDRESS 0x10000000u

/* There is one. */
static struct {
    const uint8_t *l1; /* NULL while the chip is not running */
    match_ne16_model_t model;
    match_kernel_t kernel; /* NULL when none was started */
    const match_tile_t *tile;
} ne16;

void match_pulp_accelerator_open(uint8_t *l1, size_t l1_bytes)
{
    ne16.l1 = l1;
    match_ne16_model_reset(&ne16.model, l1, l1_bytes, L1_ADDRESS);
}

void match_pulp_accelerator_close(void)
{
    ne16.l1 = NULL;
    ne16.kernel = NULL;
}

bool match_pulp_accelerator_pending(void)
{
    return ne16.kernel != NULL;
}

void match_pulp_accelerator_drop(void)
{
    ne16.kernel = NULL;
}

int32_t match_gap9_ne16_start(match_kernel_t kernel, const match_tile_t *tile)
{
    if (ne16.l1 == NULL || ne16.kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    ne16.kernel = kernel;
    ne16.tile = tile;
    return MATCH_OK;
}

int32_t match_gap9_ne16_wait(void)
{
    if (ne16.kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    if (match_host_strikes(MATCH_FAULT_ENDLESS_KERNEL)) {
        ne16.kernel = NULL;
        return MATCH_ERROR_TIMEOUT;
    }
    ne16.kernel(ne16.tile);
    match_ne16_wait(0);
    ne16.kernel = NULL;
    return match_ne16_model_status(&ne16.model);
}

/* ---- what the driver sits on ---- */

uint32_t match_l1_address(const void *pointer)
{
    return L1_ADDRESS + (uint32_t)((uintptr_t)pointer - (uintptr_t)ne16.l1);
}

void match_ne16_write(uint32_t word, uint32_t value)
{
    match_ne16_model_write(&ne16.model, word, value);
}

uint32_t match_ne16_read(uint32_t word)
{
    return match_ne16_model_read(&ne16.model, word);
}

void match_ne16_write_job(const match_ne16_job_t *job, uint32_t first, uint32_t last)
{
    for (uint32_t word = first; word <= last; word++) {
        match_ne16_write(NE16_JOB + word, job->words[word]);
    }
}

void match_ne16_wait_event(void)
{
    match_pulp_machine_pause();
    match_ne16_model_finish_job(&ne16.model);
    match_pulp_machine_resume();
}
