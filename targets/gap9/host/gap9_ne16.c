/* NE16 on another machine: a model behind its registers, which executes a kernel when it is waited for. */
#include "match_gap9_chip.h"

#include "match_host_faults.h"
#include "ne16_driver.h"
#include "ne16_model.h"
#include "pulp_accelerator.h"
#include "pulp_machine.h"

/* Where the chip has its L1. */
#define L1_ADDRESS 0x10000000u

/* A kernel that was started and not waited for. */
typedef struct {
    match_kernel_t kernel;
    match_tile_t tile;
} call_t;

/* There is one. */
static struct {
    const uint8_t *l1; /* NULL while the chip is not running */
    match_ne16_model_t model;
    call_t calls[MATCH_GAP9_NE16_UNDER_WAY]; /* oldest first */
    uint32_t started;
    uint32_t ended; /* the first of these */
    bool running;
} ne16;

void match_pulp_accelerator_open(uint8_t *l1, size_t l1_bytes)
{
    ne16.l1 = l1;
    match_ne16_model_reset(&ne16.model, l1, l1_bytes, L1_ADDRESS);
}

void match_pulp_accelerator_close(void)
{
    ne16.l1 = NULL;
    match_pulp_accelerator_drop();
}

bool match_pulp_accelerator_pending(void)
{
    return ne16.started > 0;
}

bool match_pulp_accelerator_running(void)
{
    return ne16.running;
}

void match_pulp_accelerator_drop(void)
{
    ne16.started = ne16.ended = 0;
    ne16.running = false;
}

/* Executes the oldest kernel that has not ended. */
static void end_one(void)
{
    const call_t *call = &ne16.calls[ne16.ended];
    ne16.running = true;
    call->kernel(&call->tile);
    match_ne16_wait(0);
    ne16.running = false;
    ne16.ended++;
}

void match_pulp_accelerator_go_on(void)
{
    while (!ne16.running && ne16.ended < ne16.started && match_pulp_machine_goes_on()) {
        end_one();
    }
}

int32_t match_gap9_ne16_start(match_kernel_t kernel, const match_tile_t *tile)
{
    if (ne16.l1 == NULL || ne16.started == MATCH_GAP9_NE16_UNDER_WAY) {
        return MATCH_ERROR_COMPUTE;
    }
    ne16.calls[ne16.started] = (call_t){kernel, *tile};
    ne16.started++;
    match_pulp_machine_pass();
    return MATCH_OK;
}

int32_t match_gap9_ne16_wait(void)
{
    if (ne16.started == 0) {
        return MATCH_ERROR_COMPUTE;
    }
    match_pulp_machine_pass();
    const bool endless = match_host_strikes(MATCH_FAULT_ENDLESS_KERNEL);
    if (!endless && ne16.ended == 0) {
        end_one();
    }
    ne16.ended -= ne16.ended > 0;
    ne16.started--;
    for (uint32_t i = 0; i < ne16.started; i++) {
        ne16.calls[i] = ne16.calls[i + 1];
    }
    return endless ? MATCH_ERROR_TIMEOUT : match_ne16_model_status(&ne16.model);
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
