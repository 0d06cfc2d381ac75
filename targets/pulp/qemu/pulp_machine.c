/* One RISC-V core under QEMU: memories of exactly the chip's sizes, and instructions as QEMU counts them. */
#include "pulp_machine.h"

#include "match_count.h"
#include "match_status.h"
#include "match_pulp_chip.h"
#include "pulp_async.h"
#include "pulp_mcycle.h"

static _Alignas(16) uint8_t l1_memory[PULP_L1_BYTES];
static _Alignas(16) uint8_t l2_memory[PULP_L2_BYTES];

/* Instructions that were nobody's, and when the present ones began. */
static uint64_t excluded;
static uint64_t paused_at;

int32_t match_pulp_machine_open(match_arena_t *l1, match_arena_t *l2)
{
    match_arena_place(l1, l1_memory, sizeof l1_memory, PULP_ALIGNMENT);
    match_arena_place(l2, l2_memory, sizeof l2_memory, PULP_ALIGNMENT);
    return MATCH_OK;
}

/* The machine has memory from here on. */
bool match_pulp_machine_unmapped(uintptr_t address)
{
    return address < 0x80000000;
}

bool match_pulp_machine_goes_on(void)
{
    return false;
}

void match_pulp_machine_yield(void)
{
    (void)match_pulp_async_yield();
}

void match_pulp_machine_pause(void)
{
    paused_at = match_pulp_mcycle();
}

void match_pulp_machine_resume(void)
{
    excluded += match_pulp_mcycle() - paused_at;
}

uint64_t match_counter(void)
{
    return match_pulp_mcycle() - excluded;
}
