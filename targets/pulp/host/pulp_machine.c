/* A PC: memories with gaps between blocks; nothing is counted. */
#include "pulp_machine.h"

#include "match_status.h"
#include "pulp.h"

int32_t pulp_machine_open(match_arena_t *l1, match_arena_t *l2)
{
    const int32_t status = match_arena_open(l1, PULP_L1_BYTES, PULP_ALIGNMENT);
    return status == MATCH_OK ? match_arena_open(l2, PULP_L2_BYTES, PULP_ALIGNMENT) : status;
}

void pulp_machine_pause(void)
{
}

void pulp_machine_resume(void)
{
}
