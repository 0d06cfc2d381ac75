/* A PULP chip's cluster that is one core, which runs the control core's part of a network, too. Kernels are executed when
 * they are waited for. The DMA is the open PULP platform's, as the simulator has it. */
#include "match_pulp_chip.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "match_count.h"
#include "pulp_mcycle.h"
#include "pulp_open_cluster.h"

enum { TRAPPED = 99 };

static bool running;
static match_kernel_t kernel; /* started and not waited for, or NULL */
static const match_tile_t *tile;

_Noreturn void match_pulp_rtl_trap(uint32_t cause, uint32_t address);

/* ---- platform ---- */

match_stack_t *match_pulp_open_l1_blocks(void)
{
    static match_stack_t blocks;
    return &blocks;
}

int32_t match_pulp_open(void)
{
    return match_pulp_open_with(&(match_pulp_setup_t){.l1_bytes = 0});
}

int32_t match_pulp_open_with(const match_pulp_setup_t *setup)
{
    if (!match_pulp_open_memory_reset(setup)) {
        return MATCH_ERROR_PLATFORM;
    }
    running = true;
    return MATCH_OK;
}

void match_pulp_close(void)
{
    running = false;
}

int32_t match_pulp_cluster_offload(int32_t (*layer)(void *), void *args)
{
    return running ? layer(args) : MATCH_ERROR_PLATFORM;
}

/* Called by start.S: the core cannot execute what is at `address`. */
_Noreturn void match_pulp_rtl_trap(uint32_t cause, uint32_t address)
{
    printf("error: the core trapped at 0x%08" PRIx32 ", mcause %" PRIu32 "\n", address, cause);
    _exit(TRAPPED);
}

/* Cycles, of which this core's are all. */
uint64_t match_counter(void)
{
    return match_pulp_mcycle();
}

/* ---- synchronization ---- */

int32_t match_pulp_cluster_fork(int32_t cores, void (*fn)(void *), void *arg)
{
    if (!running || cores != PULP_CLUSTER_CORES) {
        return MATCH_ERROR_PLATFORM;
    }
    fn(arg);
    return MATCH_OK;
}

void match_pulp_cluster_barrier(void)
{
}

int32_t match_pulp_core_id(void)
{
    return 0;
}

int32_t match_pulp_cluster_cores(void)
{
    return PULP_CLUSTER_CORES;
}

/* Of one core it makes no difference whose it is. */
int32_t match_pulp_is_control_core(void)
{
    return 0;
}

/* ---- compute ---- */

int32_t match_pulp_cluster_run(match_kernel_t next, const match_tile_t *its_tile)
{
    if (kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    kernel = next;
    tile = its_tile;
    return MATCH_OK;
}

int32_t match_pulp_cluster_wait(void)
{
    if (kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    kernel(tile);
    kernel = NULL;
    return MATCH_OK;
}
