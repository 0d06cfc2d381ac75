#include "match_host_faults.h"

static match_host_fault_t injected;
static uint32_t left;

void match_host_inject(match_host_fault_t fault, uint32_t after)
{
    injected = fault;
    left = after;
}

bool match_host_strikes(match_host_fault_t fault)
{
    if (injected != fault) {
        return false;
    }
    const bool strikes = left == 0;
    injected = strikes ? MATCH_FAULT_NONE : injected;
    left -= !strikes;
    return strikes;
}
