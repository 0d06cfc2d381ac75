/* What stands in for a PULP chip asks of the machine it runs on: a PC, or a RISC-V core under an emulator. */
#ifndef PULP_MACHINE_H
#define PULP_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "match_host_arena.h"

/* L1 and L2, with PULP_L1_BYTES and PULP_L2_BYTES. MATCH_OK or MATCH_ERROR_MEMORY. */
int32_t match_pulp_machine_open(match_arena_t *l1, match_arena_t *l2);

/* Whether nothing that a program may use lies at an address. */
bool match_pulp_machine_unmapped(uintptr_t address);

/* Somebody else's turn, where a run goes on while it is polled (match_async.h). */
void match_pulp_machine_yield(void);

/* Whether a unit that has something to do does it now, rather than when it is waited for: in a seeded random order, if
 * one is asked for. */
bool match_pulp_machine_goes_on(void);

/* The core starts something or waits for something: a moment at which units may go on. */
void match_pulp_machine_pass(void);

/* What is executed between the two is the work of the DMA or of an accelerator, not of a core, and is not counted. */
void match_pulp_machine_pause(void);
void match_pulp_machine_resume(void);

#endif
