/* What the host platform of a PULP chip asks of the accelerator that shares L1 with the cluster. A chip that has none
 * compiles pulp_no_accelerator.c. */
#ifndef PULP_ACCELERATOR_H
#define PULP_ACCELERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The chip starts, with this L1; it stops. */
void match_pulp_accelerator_open(uint8_t *l1, size_t l1_bytes);
void match_pulp_accelerator_close(void);

/* Whether a kernel was started and not waited for; forget it. Whether one is being executed. */
bool match_pulp_accelerator_pending(void);
void match_pulp_accelerator_drop(void);
bool match_pulp_accelerator_running(void);

/* Kernels that were started may end, if the machine goes on (pulp_machine.h). */
void match_pulp_accelerator_go_on(void);

#endif
