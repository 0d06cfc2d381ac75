/* A PULP chip on the SDK of GAP8 and GAP9 (PMSIS): the cluster, its memory, and kernels on its cores. */
#include <pmsis.h>
#include <stdbool.h>
#include <stddef.h>

#include "match_stack.h"
#include "match_pulp_chip.h"
#include "pulp_async.h"

/* The stacks of the cluster's cores are for optimised kernels: 2.3 kB are needed without, and 0.6 kB with -Og. */
#ifndef __OPTIMIZE__
#error "kernels that are not optimised need more stack than the cluster's cores have; use -Og"
#endif

/* How long a layer may take, in microseconds, and how often the control core looks; in between it sleeps. 0: as long as it
 * takes, and the control core sleeps until then. */
#ifndef PULP_TIMEOUT_US
#define PULP_TIMEOUT_US 0
#endif

#ifndef PULP_LOOK_US
#define PULP_LOOK_US 50
#endif

/* The chip: there is one. */
static struct {
    struct pi_device *cluster; /* NULL while it is not open */
    struct pi_device own;      /* what `cluster` is unless it was handed in */
    struct pi_cluster_conf configuration;
    void *l1_memory; /* NULL if it was handed in */
    uint32_t l1_bytes;
    match_stack_t l1;
    bool forked;
    match_kernel_t kernel; /* started and not waited for, or NULL */
    const match_tile_t *tile;
    struct pi_cluster_task task; /* of the layer on the cluster, which may not end */
    bool stuck;                  /* it did not: the cluster is of no use until it is closed */
    pi_task_t ended;
} chip;

/* A layer on its way to the cluster's master. */
typedef struct {
    int32_t (*layer)(void *);
    void *arguments;
    volatile int32_t status;
    volatile bool done;
} offload_t;

static offload_t offload;

/* ---- platform ---- */

/* Opens the cluster that the program has not opened. */
static int32_t open_cluster(void)
{
    pi_cluster_conf_init(&chip.configuration);
    chip.configuration.id = 0;
#ifdef __GAP9__
    chip.configuration.cc_stack_size = PULP_MASTER_STACK; /* there the master has its stack while the cluster is open */
#endif
    pi_open_from_conf(&chip.own, &chip.configuration);
    if (pi_cluster_open(&chip.own) != 0) {
        return MATCH_ERROR_PLATFORM;
    }
    chip.cluster = &chip.own;
    return MATCH_OK;
}

int32_t match_pulp_open(void)
{
    return match_pulp_open_with(&(match_pulp_setup_t){.l1_bytes = 0});
}

int32_t match_pulp_open_with(const match_pulp_setup_t *setup)
{
    if (chip.cluster != NULL) {
        return MATCH_ERROR_PLATFORM;
    }
    chip.cluster = setup->device;
    const int32_t status = chip.cluster != NULL ? MATCH_OK : open_cluster();
    if (status != MATCH_OK) {
        return status;
    }
    chip.l1_bytes = setup->l1_bytes != 0 ? setup->l1_bytes : PULP_L1_BYTES;
    uint8_t *l1 = setup->l1;
    if (l1 == NULL) {
        l1 = chip.l1_memory = pi_cl_l1_malloc(chip.cluster, chip.l1_bytes);
    }
    if (l1 == NULL) {
        match_pulp_close();
        return MATCH_ERROR_MEMORY;
    }
    match_stack_reset(&chip.l1, l1, l1 + chip.l1_bytes / MATCH_STACK_ALIGNMENT * MATCH_STACK_ALIGNMENT);
    return MATCH_OK;
}

void match_pulp_close(void)
{
    if (chip.l1_memory != NULL) {
        pi_cl_l1_free(chip.cluster, chip.l1_memory, (int)chip.l1_bytes);
        chip.l1_memory = NULL;
    }
    if (chip.cluster == &chip.own) {
        (void)pi_cluster_close(&chip.own);
    }
    chip.cluster = NULL;
    chip.stuck = false;
}

static void run_layer(void *arg)
{
    offload_t *self = arg;
    self->status = self->layer(self->arguments);
    self->done = true;
}

/* Whether the layer is done in time; without a bound, true before it is. */
static bool await_layer(void)
{
#if PULP_TIMEOUT_US == 0
    while (!offload.done && match_pulp_async_yield()) {
    }
#else
    const uint32_t begin = pi_time_get_us();
    while (!offload.done) {
        if (pi_time_get_us() - begin > PULP_TIMEOUT_US) {
            return false;
        }
        if (!match_pulp_async_yield()) {
            pi_time_wait_us(PULP_LOOK_US);
        }
    }
#endif
    return true;
}

int32_t match_pulp_cluster_offload(int32_t (*layer)(void *), void *args)
{
    if (chip.cluster == NULL) {
        return MATCH_ERROR_PLATFORM;
    }
    if (chip.stuck) {
        return MATCH_ERROR_TIMEOUT;
    }
    offload = (offload_t){.layer = layer, .arguments = args, .status = MATCH_ERROR_PLATFORM};
    pi_cluster_task(&chip.task, run_layer, &offload);
#ifndef __GAP9__
    chip.task.stack_size = PULP_MASTER_STACK;
#endif
    chip.task.slave_stack_size = PULP_WORKER_STACK;
    chip.task.nb_cores = PULP_CLUSTER_CORES;
    pi_task_block(&chip.ended);
    if (pi_cluster_send_task_to_cl_async(chip.cluster, &chip.task, &chip.ended) != 0) {
        return MATCH_ERROR_PLATFORM;
    }
    if (!await_layer()) {
        chip.stuck = true;
        return MATCH_ERROR_TIMEOUT;
    }
    pi_task_wait_on(&chip.ended);
    return offload.status;
}

/* ---- memory ---- */

void *match_pulp_l1_alloc(uint32_t bytes)
{
    return chip.cluster != NULL ? match_stack_take(&chip.l1, bytes) : NULL;
}

void match_pulp_l1_free(void *block)
{
    match_stack_give_back(&chip.l1, block);
}

/* In front of a block of L2: the bytes of both, which the SDK wants to be told when it takes them back. */
typedef struct {
    _Alignas(8) int32_t bytes;
} header_t;

void *match_pulp_l2_alloc(uint32_t bytes)
{
    int32_t whole = (int32_t)(bytes + sizeof(header_t));
    header_t *header = pi_l2_malloc(whole);
    if (header == NULL) {
        return NULL;
    }
    header->bytes = whole;
    return header + 1;
}

void match_pulp_l2_free(void *block)
{
    if (block != NULL) {
        header_t *header = (header_t *)block - 1;
        pi_l2_free(header, header->bytes);
    }
}

/* ---- synchronization ---- */

int32_t match_pulp_cluster_fork(int32_t cores, void (*fn)(void *), void *arg)
{
    if (cores < 1 || cores > PULP_CLUSTER_CORES) {
        return MATCH_ERROR_PLATFORM;
    }
    chip.forked = true;
    pi_cl_team_fork(cores, fn, arg);
    chip.forked = false;
    return MATCH_OK;
}

void match_pulp_cluster_barrier(void)
{
    pi_cl_team_barrier();
}

int32_t match_pulp_core_id(void)
{
    return chip.forked ? (int32_t)pi_core_id() : 0;
}

int32_t match_pulp_cluster_cores(void)
{
    return chip.forked ? (int32_t)pi_cl_team_nb_cores() : PULP_CLUSTER_CORES;
}

int32_t match_pulp_is_control_core(void)
{
    return (int32_t)pi_is_fc();
}

/* ---- compute ---- */

static void call_kernel(void *unused)
{
    (void)unused;
    chip.kernel(chip.tile);
}

/* On GAP8 the master is one of the team, so that kernels run while they are waited for. */
int32_t match_pulp_cluster_run(match_kernel_t kernel, const match_tile_t *tile)
{
    if (chip.kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    chip.kernel = kernel;
    chip.tile = tile;
    return MATCH_OK;
}

int32_t match_pulp_cluster_wait(void)
{
    if (chip.kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    int32_t status = match_pulp_cluster_fork(PULP_CLUSTER_CORES, call_kernel, NULL);
    chip.kernel = NULL;
    return status;
}
