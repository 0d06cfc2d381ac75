/* Faults on demand, for programs that are to show on a PC what they do about them. */
#ifndef MATCH_HOST_FAULTS_H
#define MATCH_HOST_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    MATCH_FAULT_NONE,
    MATCH_FAULT_ALLOCATION,        /* a block of the scratchpad is refused */
    MATCH_FAULT_TRANSFER,          /* a transfer fails when it is waited for */
    MATCH_FAULT_ENDLESS_TRANSFER,  /* a transfer does not end in time */
    MATCH_FAULT_ENDLESS_KERNEL,    /* a kernel does not end in time */
} match_host_fault_t;

/* The fault strikes once, `after` that many of what it may strike have passed. */
void match_host_inject(match_host_fault_t fault, uint32_t after);

/* For platforms: whether this one is struck. */
bool match_host_strikes(match_host_fault_t fault);

#ifdef __cplusplus
}
#endif

#endif
