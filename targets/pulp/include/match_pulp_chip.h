/* Chips of the PULP family (GAP8, GAP9): the functions that generated code calls, in four families.
 *
 * Status is MATCH_OK or one of the errors in match_status.h; nothing aborts. On the chip they sit on the SDK's cluster
 * driver; the `host` platform implements the same contract on a PC and reports what breaks it. All of them but
 * match_pulp_open, match_pulp_close, match_pulp_l2_*, match_pulp_is_control_core and match_pulp_cluster_offload are for
 * the cluster's cores, that is, for code inside a layer. */
#ifndef MATCH_PULP_CHIP_H
#define MATCH_PULP_CHIP_H

#include <stdint.h>

#include "pulp_platform.h"
#include "match_copy.h"
#include "match_status.h"
#include "match_tile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sizes of GAP9, unless another chip defines its own. */
#ifndef PULP_L1_BYTES
#define PULP_L1_BYTES (128 * 1024)
#endif

#ifndef PULP_L2_BYTES
#define PULP_L2_BYTES (1536 * 1024)
#endif

#ifndef PULP_CLUSTER_CORES
#define PULP_CLUSTER_CORES 8
#endif

/* Blocks start at a multiple of this many bytes, and their size counts rounded up to it. */
#define PULP_ALIGNMENT 4

/* ---- platform ---- */

/* Start the cluster and, where there is one, its accelerator. Clocks and voltage are the program's. */
int32_t match_pulp_open(void);

/* What a program that uses the cluster for more than networks hands to them. All zero: nothing, as match_pulp_open
 * does. */
typedef struct {
    void *device;      /* the vendor's SDK: the open cluster, a struct pi_device; it stays open. That of GAP9 was
                        * opened with a cc_stack_size of PULP_MASTER_STACK or more */
    void *l1;          /* bytes of L1 that are the networks' from now on, at a multiple of 4; NULL: they are reserved */
    uint32_t l1_bytes; /* how many; 0: PULP_L1_BYTES */
} match_pulp_setup_t;

/* The same with what is handed in. A layer that needs more of L1 returns MATCH_ERROR_MEMORY. */
int32_t match_pulp_open_with(const match_pulp_setup_t *setup);

/* Stop them. Blocks that are still allocated are gone. */
void match_pulp_close(void);

/* Run a layer's function on the cluster's master core and return its status. The host platform does not let one pass
 * that returns MATCH_OK but has left a transfer (MATCH_ERROR_TRANSFER) or kernel (MATCH_ERROR_COMPUTE) that was not
 * waited for, or a block of L1 (MATCH_ERROR_MEMORY); of one that fails, these are MATCH_ERROR_PLATFORM. */
int32_t match_pulp_cluster_offload(int32_t (*layer)(void *), void *args);

/* ---- memory ---- */

/* A block of L1 (cluster scratchpad) or L2, not initialized; NULL when it is exhausted. Free in reverse order of
 * allocation to have the bytes back at once; free(NULL) does nothing. */
void *match_pulp_l1_alloc(uint32_t bytes);
void match_pulp_l1_free(void *block);
void *match_pulp_l2_alloc(uint32_t bytes);
void match_pulp_l2_free(void *block);

/* Start a transfer between L2 and L1. `transfer` must not hold one that has not been waited for; `shape` may go away
 * when the call returns, the memories may not. Either side may be read or written at any time until
 * match_pulp_dma_wait, on the host it is at the very end of it. The DMA (MCHAN) has a command for one contiguous piece
 * and one for pieces at a constant stride in L2 that are dense in L1: a shape that is dense on both sides is the first,
 * one whose local rows are dense the second (one command per plane, or one for all where planes continue the stride of
 * the rows), any other one command per row. */
void match_pulp_dma_copy_in(match_pulp_dma_t *transfer, void *local, const void *external, const match_copy_t *shape);
void match_pulp_dma_copy_out(match_pulp_dma_t *transfer, const void *local, void *external, const match_copy_t *shape);

/* ---- synchronization ---- */

/* Wait for the transfer started last with this descriptor. MATCH_ERROR_TRANSFER when there is none, so `transfer` must
 * be zero before its first use. */
int32_t match_pulp_dma_wait(match_pulp_dma_t *transfer);

/* Wait for the kernel that match_pulp_cluster_run started. */
int32_t match_pulp_cluster_wait(void);

/* Run fn(arg) on `cores` cores (1 .. match_pulp_cluster_cores()) and return when all have finished. */
int32_t match_pulp_cluster_fork(int32_t cores, void (*fn)(void *), void *arg);

/* Inside a fork: wait for all cores of it; this core's number; how many there are. Outside, match_pulp_core_id is 0 and
 * match_pulp_cluster_cores the size of the cluster. */
void match_pulp_cluster_barrier(void);
int32_t match_pulp_core_id(void);
int32_t match_pulp_cluster_cores(void);

/* Whether the caller is the control core, which executes kernels alone, also while the cluster executes others. */
int32_t match_pulp_is_control_core(void);

/* ---- compute ---- */

/* Start a kernel on all cluster cores (match_pulp.h). One at a time: wait for it before the next. `tile` and all it
 * points to must stay until the wait. On the host the cluster computes in match_pulp_cluster_wait, as late as
 * possible. */
int32_t match_pulp_cluster_run(match_kernel_t kernel, const match_tile_t *tile);

#ifdef __cplusplus
}
#endif

#endif
