/* The cluster of the open PULP platform: a master that runs layers, and 8 workers that run kernels for it. */
#include "pulp_open_cluster.h"

#include <stdbool.h>
#include <stddef.h>

#include "match_pulp_chip.h"
#include "pulp_open_registers.h"

/* The stacks of the cluster's cores are for optimised kernels: two to three kB are needed without. */
#ifndef __OPTIMIZE__
#error "kernels that are not optimised need more stack than the cluster's cores have; use -Og"
#endif

enum { BARRIER_TEAM, BARRIER_JOIN };

_Static_assert(PULP_L1_BYTES % PULP_ALIGNMENT == 0, "stacks are aligned");

/* What all cores of the cluster read: in L1, behind the blocks of layers and in front of the master's stack. */
typedef struct {
    int32_t team; /* workers of the fork under way, otherwise all */
    match_kernel_t kernel; /* started and not waited for, or NULL */
    const match_tile_t *tile;
    match_stack_t blocks; /* the master's, and the control core's when it opens the chip */
} shared_t;

/* The master's stack is the rest; what layers and NE16's driver need of it is 2,470 bytes. */
_Static_assert(PULP_OPEN_STACKS - 8 * PULP_OPEN_WORKER_STACK - sizeof(shared_t) >= 2560, "room for the master's stack");

static volatile shared_t *shared(void)
{
    return (volatile shared_t *)(uintptr_t)(PULP_OPEN_L1 + PULP_L1_BYTES);
}

match_stack_t *match_pulp_open_l1_blocks(void)
{
    return &((shared_t *)(uintptr_t)(PULP_OPEN_L1 + PULP_L1_BYTES))->blocks;
}

/* ---- the master's side of a fork ---- */

static uint32_t first_cores(int32_t cores)
{
    return (1u << cores) - 1;
}

static void set_barrier(uint32_t barrier, uint32_t cores)
{
    match_pulp_open_write(PULP_OPEN_BARRIER(barrier) + PULP_OPEN_BARRIER_CORES, cores);
    match_pulp_open_write(PULP_OPEN_BARRIER(barrier) + PULP_OPEN_BARRIER_TARGETS, cores);
}

/* The first `cores` workers are those that the next fork is for. */
static void set_team(int32_t cores)
{
    if (shared()->team != cores) {
        uint32_t team = first_cores(cores);
        shared()->team = cores;
        match_pulp_open_write(PULP_OPEN_DISPATCH_TEAM, team);
        set_barrier(BARRIER_TEAM, team);
        set_barrier(BARRIER_JOIN, team | 1u << PULP_OPEN_MASTER);
    }
}

/* Workers take the two values one after the other. */
static void fork(void (*fn)(void *), void *arg)
{
    match_pulp_open_write(PULP_OPEN_DISPATCH, (uint32_t)(uintptr_t)fn);
    match_pulp_open_write(PULP_OPEN_DISPATCH, (uint32_t)(uintptr_t)arg);
}

static void arrive(uint32_t barrier)
{
    (void)match_pulp_open_sleep(PULP_OPEN_BARRIER(barrier) + PULP_OPEN_BARRIER_WAIT_CLEAR);
}

static void join(void)
{
    match_pulp_open_write(PULP_OPEN_EVENT_MASK, 1u << PULP_OPEN_EVENT_BARRIER);
    arrive(BARRIER_JOIN);
}

/* ---- stacks ---- */

#define CANARY 0x5ca1ab1eu

/* The last word of a core's stack: of a worker at its end, of the master in front of what all cores share. */
static volatile uint32_t *last_word(int32_t core)
{
    const uint32_t shared_end = PULP_OPEN_L1 + PULP_L1_BYTES + sizeof(shared_t);
    const uint32_t top = PULP_OPEN_L1 + PULP_L1_BYTES + PULP_OPEN_STACKS - (uint32_t)core * PULP_OPEN_WORKER_STACK;
    return (volatile uint32_t *)(uintptr_t)(core == PULP_OPEN_MASTER ? shared_end : top - PULP_OPEN_WORKER_STACK);
}

static void set_canaries(void)
{
    for (int32_t core = 0; core <= PULP_OPEN_MASTER; core++) {
        *last_word(core) = CANARY;
    }
}

static bool canaries_live(void)
{
    bool live = true;
    for (int32_t core = 0; core <= PULP_OPEN_MASTER; core++) {
        live = live && *last_word(core) == CANARY;
    }
    return live;
}

/* ---- from start to end ---- */

static _Noreturn void work(void)
{
    match_pulp_open_write(PULP_OPEN_EVENT_MASK, 1u << PULP_OPEN_EVENT_DISPATCH | 1u << PULP_OPEN_EVENT_BARRIER);
    for (;;) {
        void (*fn)(void *) = (void (*)(void *))(uintptr_t)match_pulp_open_sleep(PULP_OPEN_DISPATCH);
        void *arg = (void *)(uintptr_t)match_pulp_open_sleep(PULP_OPEN_DISPATCH);
        fn(arg);
        arrive(BARRIER_JOIN);
    }
}

static _Noreturn void lead(void)
{
    shared()->team = 0;
    shared()->kernel = NULL;
    set_team(PULP_CLUSTER_CORES);
    set_canaries();
    for (;;) {
        match_pulp_open_mailbox.ready = true;
        match_pulp_open_wait_event(PULP_OPEN_EVENT_SOFTWARE0);
        const int32_t status = match_pulp_open_mailbox.layer(match_pulp_open_mailbox.arguments);
        match_pulp_open_mailbox.status = canaries_live() ? status : MATCH_ERROR_STACK;
    }
}

_Noreturn void match_pulp_open_cluster_main(int32_t core)
{
    if (core == PULP_OPEN_MASTER) {
        lead();
    }
    work();
}

/* ---- synchronization ---- */

int32_t match_pulp_cluster_fork(int32_t cores, void (*fn)(void *), void *arg)
{
    if (cores < 1 || cores > PULP_CLUSTER_CORES) {
        return MATCH_ERROR_PLATFORM;
    }
    set_team(cores);
    fork(fn, arg);
    join();
    set_team(PULP_CLUSTER_CORES);
    return MATCH_OK;
}

void match_pulp_cluster_barrier(void)
{
    arrive(BARRIER_TEAM);
}

int32_t match_pulp_core_id(void)
{
    int32_t core = match_pulp_open_core();
    return core < PULP_OPEN_MASTER ? core : 0;
}

int32_t match_pulp_cluster_cores(void)
{
    return shared()->team;
}

int32_t match_pulp_is_control_core(void)
{
    return match_pulp_open_hart() >> 5 != 0;
}

/* ---- compute ---- */

static void call_kernel(void *unused)
{
    (void)unused;
    shared()->kernel(shared()->tile);
}

int32_t match_pulp_cluster_run(match_kernel_t kernel, const match_tile_t *tile)
{
    if (shared()->kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    shared()->kernel = kernel;
    shared()->tile = tile;
    fork(call_kernel, NULL);
    return MATCH_OK;
}

int32_t match_pulp_cluster_wait(void)
{
    if (shared()->kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    join();
    shared()->kernel = NULL;
    return MATCH_OK;
}
