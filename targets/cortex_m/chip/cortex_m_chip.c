/* The chip itself: kernels need nothing but the core, so that there is nothing to start and nothing to stop. */
#include "match_core.h"

int32_t match_core_open(void)
{
    return MATCH_OK;
}

void match_core_close(void)
{
}
