/* GAP9: a PULP chip (match_pulp_chip.h) whose cluster has the NE16 accelerator. */
#ifndef MATCH_GAP9_CHIP_H
#define MATCH_GAP9_CHIP_H

#include "match_pulp_chip.h"

/* So many kernels may be started on NE16 before the first one is waited for. */
enum { MATCH_GAP9_NE16_UNDER_WAY = 2 };

/* Start a kernel on NE16 (match_ne16.h), and wait for the oldest one; both on the cluster's master core. NE16 executes
 * kernels in order. `tile` has been read when the start returns; all it points to must stay until the wait. On the host
 * NE16 computes in match_gap9_ne16_wait, as late as possible. */
int32_t match_gap9_ne16_start(match_kernel_t kernel, const match_tile_t *tile);
int32_t match_gap9_ne16_wait(void);

/* On a chip: NE16 runs from here on. Platforms provide it, beside the registers of ne16_driver.h. */
void match_gap9_ne16_clock_on(void);

#endif
