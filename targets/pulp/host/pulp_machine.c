/* A PC: memories with gaps between blocks; nothing is counted. Kernels end as late as they may, or in a random order
 * whose seed is in the environment variable MATCH_HOST_ORDER. */
#include "pulp_machine.h"

#include <stdlib.h>

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

/* Every other time, by xorshift (Marsaglia, 2003). */
bool match_pulp_machine_goes_on(void)
{
    static uint32_t state;
    if (state == 0) {
        const char *seed = getenv("MATCH_HOST_ORDER");
        if (seed == NULL) {
            return false;
        }
        state = (uint32_t)strtoul(seed, NULL, 10) * 2654435761u | 1u;
    }
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (state >> 16 & 1) != 0;
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
