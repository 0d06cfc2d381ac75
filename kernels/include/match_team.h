/* What kernels need to know of the cores that execute them. Implemented by each target. */
#ifndef MATCH_TEAM_H
#define MATCH_TEAM_H

#include <stdint.h>

#include "match_tile.h"

/* Inside a kernel: which core this is, 0 .. match_core_count() - 1, and how many execute the kernel together. */
int32_t match_core_id(void);
int32_t match_core_count(void);

/* Inside a kernel: wait until all cores that execute it are here; what they wrote before can be read behind it. */
void match_team_barrier(void);

/* Outside a kernel: execute `kernel` on all cores of the team and return when the last one has finished, with its
 * status. */
int32_t match_team_run(match_kernel_t kernel, const match_tile_t *tile);

/* The same in two steps, between which the caller goes on. One at a time; `tile` and all it points to must stay until the
 * wait, in which the kernel runs where the caller is a core of the team. */
int32_t match_team_start(match_kernel_t kernel, const match_tile_t *tile);
int32_t match_team_wait(void);

#endif
