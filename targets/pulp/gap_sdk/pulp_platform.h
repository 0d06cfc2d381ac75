/* Types of the PULP API whose layout belongs to the platform: here, the SDK of GAP8 and GAP9. */
#ifndef PULP_PLATFORM_H
#define PULP_PLATFORM_H

#include <pmsis.h>
#include <stdbool.h>
#include <stdint.h>

/* The stacks, in bytes, of the core that executes layers and of each that executes a kernel. A cluster of GAP9 that is
 * handed in (match_pulp_open_with) was opened with a cc_stack_size of no less; on GAP8 each layer brings its stacks
 * along. */
#define PULP_MASTER_STACK 3072
#define PULP_WORKER_STACK 1152

/* Commands of one transfer that are under way at a time. The DMA has 16 counters and a layer no more than 8 transfers. */
#define PULP_DMA_COMMANDS 2

/* One transfer between L2 and L1; zero when none is outstanding. */
typedef struct {
    pi_cl_dma_cmd_t commands[PULP_DMA_COMMANDS];
    uint32_t count; /* started since the transfer was; command n is in place n modulo PULP_DMA_COMMANDS */
    bool active;
} match_pulp_dma_t;

#endif
