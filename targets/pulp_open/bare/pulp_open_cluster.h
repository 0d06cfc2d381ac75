/* What the control core and the cluster of the open PULP platform tell each other. */
#ifndef PULP_OPEN_CLUSTER_H
#define PULP_OPEN_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "match_pulp_chip.h"
#include "match_stack.h"

/* The layer that the master is to run. In L2; volatile because two cores share it. */
typedef struct {
    int32_t (*layer)(void *);
    void *arguments;
    int32_t status;
    bool ready; /* the master waits for a layer: it has started, or the last one is done */
} match_pulp_open_mailbox_t;

extern volatile match_pulp_open_mailbox_t match_pulp_open_mailbox;

/* The record of L1's blocks. It lies where the core that takes and gives back blocks, once for each block of a layer, reaches it in
 * a cycle or two. */
match_stack_t *match_pulp_open_l1_blocks(void);

/* Forget all blocks of L1 and L2. False if what is handed in leaves the L1 of blocks. */
bool match_pulp_open_memory_reset(const match_pulp_setup_t *setup);

/* On every core of the cluster, from its start. */
_Noreturn void match_pulp_open_cluster_main(int32_t core);

#endif
