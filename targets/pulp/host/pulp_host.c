/* A PULP chip on another machine (pulp_machine.h). Everything asynchronous happens as late as the API's contract allows:
 * transfers and kernels are executed when they are waited for, unless the machine goes on before. What a transfer moves
 * moves when it starts, too, for a DMA engine may be that fast. */
#include "match_pulp_chip.h"

#include <stdbool.h>
#include <string.h>

#include "match_host_arena.h"
#include "match_host_faults.h"
#include "match_host_team.h"
#include "match_team.h"
#include "pulp_accelerator.h"
#include "pulp_machine.h"

typedef struct {
    match_kernel_t kernel;
    const match_tile_t *tile;
    bool ended;
    int32_t status; /* of one that has ended */
} started_t;

/* The chip: there is one. */
static struct {
    bool open;
    match_arena_t l1;
    match_arena_t l2;
    match_host_team_t *cluster;
    int32_t transfers;
    started_t cluster_kernel;
} chip;

static void end_cluster_kernel(void)
{
    chip.cluster_kernel.status = match_team_run(chip.cluster_kernel.kernel, chip.cluster_kernel.tile);
    chip.cluster_kernel.ended = true;
}

void match_pulp_machine_pass(void)
{
    if (chip.cluster_kernel.kernel != NULL && !chip.cluster_kernel.ended && match_pulp_machine_goes_on()) {
        end_cluster_kernel();
    }
    match_pulp_accelerator_go_on();
}

/* ---- platform ---- */

int32_t match_pulp_open(void)
{
    return match_pulp_open_with(&(match_pulp_setup_t){.l1_bytes = 0});
}

int32_t match_pulp_open_with(const match_pulp_setup_t *setup)
{
    const uint32_t l1_bytes = setup->l1_bytes != 0 ? setup->l1_bytes : PULP_L1_BYTES;
    if (chip.open || l1_bytes > PULP_L1_BYTES) {
        return MATCH_ERROR_PLATFORM;
    }
    int32_t status = match_pulp_machine_open(&chip.l1, &chip.l2);
    if (setup->l1 != NULL) {
        match_arena_close(&chip.l1);
        match_arena_place(&chip.l1, setup->l1, l1_bytes, PULP_ALIGNMENT);
    }
    chip.l1.capacity = l1_bytes;
    if (status == MATCH_OK) {
        chip.cluster = match_host_team_open(PULP_CLUSTER_CORES);
        status = chip.cluster != NULL ? MATCH_OK : MATCH_ERROR_PLATFORM;
    }
    chip.open = true;
    if (status != MATCH_OK) {
        match_pulp_close();
        return status;
    }
    match_pulp_accelerator_open(chip.l1.memory, chip.l1.memory_bytes);
    return MATCH_OK;
}

void match_pulp_close(void)
{
    if (chip.open) {
        match_pulp_accelerator_close();
        match_host_team_close(chip.cluster);
        match_arena_close(&chip.l2);
        match_arena_close(&chip.l1);
        memset(&chip, 0, sizeof chip);
    }
}

/* What a layer that reports success has left behind. */
static int32_t leftovers(uint32_t l1_blocks)
{
    int32_t status = MATCH_OK;
    if (chip.transfers != 0) {
        status = MATCH_ERROR_TRANSFER;
    } else if (chip.cluster_kernel.kernel != NULL || match_pulp_accelerator_pending()) {
        status = MATCH_ERROR_COMPUTE;
    } else if (match_arena_live(&chip.l1) != l1_blocks) {
        status = MATCH_ERROR_MEMORY;
    }
    return status;
}

int32_t match_pulp_cluster_offload(int32_t (*layer)(void *), void *args)
{
    if (!chip.open) {
        return MATCH_ERROR_PLATFORM;
    }
    uint32_t l1_blocks = match_arena_live(&chip.l1);
    match_pulp_machine_yield();
    int32_t status = layer(args);
    const int32_t left = leftovers(l1_blocks);
    if (status == MATCH_OK) {
        status = left;
    } else if (left != MATCH_OK) {
        status = MATCH_ERROR_PLATFORM;
    }
    chip.transfers = 0;
    chip.cluster_kernel = (started_t){0};
    match_pulp_accelerator_drop();
    return status;
}

/* ---- memory ---- */

void *match_pulp_l1_alloc(uint32_t bytes)
{
    if (!chip.open || match_host_strikes(MATCH_FAULT_ALLOCATION)) {
        return NULL;
    }
    return match_arena_alloc(&chip.l1, bytes);
}

void match_pulp_l1_free(void *block)
{
    match_arena_free(&chip.l1, block);
}

void *match_pulp_l2_alloc(uint32_t bytes)
{
    return chip.open ? match_arena_alloc(&chip.l2, bytes) : NULL;
}

void match_pulp_l2_free(void *block)
{
    match_arena_free(&chip.l2, block);
}

/* Whether the DMA reaches both sides: a block of L1, and what no program takes for L2 by mistake: nothing, L1 itself. */
static bool reached(const void *local, const void *external, const match_copy_t *shape)
{
    const uintptr_t outside = (uintptr_t)external;
    const uintptr_t l1 = (uintptr_t)chip.l1.memory;
    const bool in_l1 = outside >= l1 && outside < l1 + chip.l1.memory_bytes;
    const bool local_in_l1 = match_arena_holds(&chip.l1, local, match_host_dma_local_extent(shape));
    return local_in_l1 && !in_l1 && !match_pulp_machine_unmapped(outside);
}

/* Moves what a transfer moves, which stays under way. */
static void move_early(const match_pulp_dma_t *transfer)
{
    if (transfer->valid) {
        match_pulp_dma_t early = *transfer;
        match_host_dma_complete(&early);
    }
}

void match_pulp_dma_copy_in(match_pulp_dma_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    match_host_dma_in(transfer, local, external, shape);
    transfer->valid = reached(local, external, shape);
    chip.transfers += 1;
    move_early(transfer);
    match_pulp_machine_pass();
}

void match_pulp_dma_copy_out(match_pulp_dma_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    match_host_dma_out(transfer, local, external, shape);
    transfer->valid = reached(local, external, shape);
    chip.transfers += 1;
    move_early(transfer);
    match_pulp_machine_pass();
}

/* ---- synchronization ---- */

int32_t match_pulp_dma_wait(match_pulp_dma_t *transfer)
{
    if (!transfer->active) {
        return MATCH_ERROR_TRANSFER;
    }
    chip.transfers -= 1;
    const bool endless = match_host_strikes(MATCH_FAULT_ENDLESS_TRANSFER);
    if (!transfer->valid || endless || match_host_strikes(MATCH_FAULT_TRANSFER)) {
        *transfer = (match_pulp_dma_t){0};
        return endless ? MATCH_ERROR_TIMEOUT : MATCH_ERROR_TRANSFER;
    }
    match_pulp_machine_pause();
    match_host_dma_complete(transfer);
    match_pulp_machine_resume();
    match_pulp_machine_pass();
    return MATCH_OK;
}

int32_t match_pulp_cluster_wait(void)
{
    if (chip.cluster_kernel.kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    match_pulp_machine_pass();
    /* A kernel that the accelerator's has started is a part of that. */
    const bool endless = !match_pulp_accelerator_running() && match_host_strikes(MATCH_FAULT_ENDLESS_KERNEL);
    if (!endless && !chip.cluster_kernel.ended) {
        end_cluster_kernel();
    }
    const int32_t status = endless ? MATCH_ERROR_TIMEOUT : chip.cluster_kernel.status;
    chip.cluster_kernel = (started_t){0};
    return status;
}

int32_t match_pulp_cluster_fork(int32_t cores, void (*fn)(void *), void *arg)
{
    if (!chip.open || cores < 1 || cores > PULP_CLUSTER_CORES) {
        return MATCH_ERROR_PLATFORM;
    }
    match_host_team_fork(chip.cluster, cores, fn, arg);
    return MATCH_OK;
}

void match_pulp_cluster_barrier(void)
{
    match_host_team_barrier(chip.cluster);
}

int32_t match_pulp_core_id(void)
{
    return match_host_team_core();
}

int32_t match_pulp_cluster_cores(void)
{
    return chip.open ? match_host_team_cores(chip.cluster) : PULP_CLUSTER_CORES;
}

/* The thread that executes layers is the master, too, but kernels of a layer are executed in forks. */
int32_t match_pulp_is_control_core(void)
{
    return !match_host_team_forked();
}

/* ---- compute ---- */

int32_t match_pulp_cluster_run(match_kernel_t kernel, const match_tile_t *tile)
{
    if (!chip.open || chip.cluster_kernel.kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    chip.cluster_kernel = (started_t){.kernel = kernel, .tile = tile};
    match_pulp_machine_pass();
    return MATCH_OK;
}
