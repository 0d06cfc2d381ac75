/* A PC: memories with gaps between blocks; nothing is counted. */
#include "pulp_machine.h"

#include "match_status.h"
#include "match_pulp_chip.h"

int32_t match_pulp_machine_open(match_arena_t *l1, match_arena_t *l2)
{
    const int32_t status = match_arena_open(l1, PULP_L1_BYTES, PULP_ALIGNMENT);
    return status == MATCH_OK ? match_arena_open(l2, PULP_L2_BYTES, PULP_ALIGNMENT) : status;
}

/* The first page, and what stands for addresses of external memory (pulp_external.c). */
bool match_pulp_machine_unmapped(uintptr_t address)
{
    return address < 0x1000 || (address >= 0x10000000 && address < 0x10800000);
}

void match_pulp_machine_yield(void)
{
}

void match_pulp_machine_pause(void)
{
}

void match_pulp_machine_resume(void)
{
}
