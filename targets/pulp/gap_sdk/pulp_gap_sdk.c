/* A PULP chip on the SDK of GAP8 and GAP9 (PMSIS): the cluster, its memory, and kernels on its cores. */
#include <pmsis.h>
#include <stdbool.h>
#include <stddef.h>

#include "match_stack.h"
#include "pulp.h"

enum { MASTER_STACK = 4096, WORKER_STACK = 1024 };

/* The chip: there is one. */
static struct {
    bool open;
    struct pi_device cluster;
    struct pi_cluster_conf configuration;
    void *l1_memory;
    match_stack_t l1;
    bool forked;
    match_kernel_t kernel; /* started and not waited for, or NULL */
    const match_tile_t *tile;
} chip;

/* A layer on its way to the cluster's master. */
typedef struct {
    int32_t (*layer)(void *);
    void *arguments;
    int32_t status;
} offload_t;

/* ---- platform ---- */

int32_t pulp_open(void)
{
    if (chip.open) {
        return MATCH_ERROR_PLATFORM;
    }
    if (pi_freq_set(PI_FREQ_DOMAIN_FC, PULP_CLOCK_HZ) != 0) {
        return MATCH_ERROR_PLATFORM;
    }
    pi_cluster_conf_init(&chip.configuration);
    chip.configuration.id = 0;
    pi_open_from_conf(&chip.cluster, &chip.configuration);
    if (pi_cluster_open(&chip.cluster) != 0) {
        return MATCH_ERROR_PLATFORM;
    }
    chip.open = true;
    int32_t status = pi_freq_set(PI_FREQ_DOMAIN_CL, PULP_CLOCK_HZ) == 0 ? MATCH_OK : MATCH_ERROR_PLATFORM;
    if (status == MATCH_OK) {
        uint8_t *l1 = pi_cl_l1_malloc(&chip.cluster, PULP_L1_BYTES);
        chip.l1_memory = l1;
        if (l1 == NULL) {
            status = MATCH_ERROR_MEMORY;
        } else {
            match_stack_reset(&chip.l1, l1, l1 + PULP_L1_BYTES);
        }
    }
    if (status != MATCH_OK) {
        pulp_close();
    }
    return status;
}

void pulp_close(void)
{
    if (chip.open) {
        if (chip.l1_memory != NULL) {
            pi_cl_l1_free(&chip.cluster, chip.l1_memory, PULP_L1_BYTES);
        }
        (void)pi_cluster_close(&chip.cluster);
        chip.l1_memory = NULL;
        chip.open = false;
    }
}

static void run_layer(void *arg)
{
    offload_t *offload = arg;
    offload->status = offload->layer(offload->arguments);
}

int32_t pulp_cluster_offload(int32_t (*layer)(void *), void *args)
{
    if (!chip.open) {
        return MATCH_ERROR_PLATFORM;
    }
    offload_t offload = {.layer = layer, .arguments = args, .status = MATCH_ERROR_PLATFORM};
    struct pi_cluster_task task;
    pi_cluster_task(&task, run_layer, &offload);
    task.stack_size = MASTER_STACK;
    task.slave_stack_size = WORKER_STACK;
    task.nb_cores = PULP_CLUSTER_CORES;
    (void)pi_cluster_send_task_to_cl(&chip.cluster, &task);
    return offload.status;
}

/* ---- memory ---- */

void *pulp_l1_alloc(uint32_t bytes)
{
    return chip.open ? match_stack_take(&chip.l1, bytes) : NULL;
}

void pulp_l1_free(void *block)
{
    match_stack_give_back(&chip.l1, block);
}

/* In front of a block of L2: the bytes of both, which the SDK wants to be told when it takes them back. */
typedef struct {
    _Alignas(8) int32_t bytes;
} header_t;

void *pulp_l2_alloc(uint32_t bytes)
{
    int32_t whole = (int32_t)(bytes + sizeof(header_t));
    header_t *header = pi_l2_malloc(whole);
    if (header == NULL) {
        return NULL;
    }
    header->bytes = whole;
    return header + 1;
}

void pulp_l2_free(void *block)
{
    if (block != NULL) {
        header_t *header = (header_t *)block - 1;
        pi_l2_free(header, header->bytes);
    }
}

/* ---- synchronization ---- */

int32_t pulp_cluster_fork(int32_t cores, void (*fn)(void *), void *arg)
{
    if (cores < 1 || cores > PULP_CLUSTER_CORES) {
        return MATCH_ERROR_PLATFORM;
    }
    chip.forked = true;
    pi_cl_team_fork(cores, fn, arg);
    chip.forked = false;
    return MATCH_OK;
}

void pulp_cluster_barrier(void)
{
    pi_cl_team_barrier();
}

int32_t pulp_core_id(void)
{
    return chip.forked ? (int32_t)pi_core_id() : 0;
}

int32_t pulp_cluster_cores(void)
{
    return chip.forked ? (int32_t)pi_cl_team_nb_cores() : PULP_CLUSTER_CORES;
}

/* ---- compute ---- */

static void call_kernel(void *unused)
{
    (void)unused;
    chip.kernel(chip.tile);
}

/* On GAP8 the master is one of the team, so that kernels run while they are waited for. */
int32_t pulp_cluster_run(match_kernel_t kernel, const match_tile_t *tile)
{
    if (chip.kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    chip.kernel = kernel;
    chip.tile = tile;
    return MATCH_OK;
}

int32_t pulp_cluster_wait(void)
{
    if (chip.kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    int32_t status = pulp_cluster_fork(PULP_CLUSTER_CORES, call_kernel, NULL);
    chip.kernel = NULL;
    return status;
}
