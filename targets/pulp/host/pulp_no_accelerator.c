#include "pulp_accelerator.h"

void pulp_accelerator_open(uint8_t *l1, size_t l1_bytes)
{
    (void)l1;
    (void)l1_bytes;
}

void pulp_accelerator_close(void)
{
}

bool pulp_accelerator_pending(void)
{
    return false;
}

void pulp_accelerator_drop(void)
{
}
