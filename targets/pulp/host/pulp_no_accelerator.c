#include "pulp_accelerator.h"

void match_pulp_accelerator_open(uint8_t *l1, size_t l1_bytes)
{
    (void)l1;
    (void)l1_bytes;
}

void match_pulp_accelerator_close(void)
{
}

bool match_pulp_accelerator_pending(void)
{
    return false;
}

void match_pulp_accelerator_drop(void)
{
}

bool match_pulp_accelerator_running(void)
{
    return false;
}

void match_pulp_accelerator_go_on(void)
{
}
