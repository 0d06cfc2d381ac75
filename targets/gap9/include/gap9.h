/* GAP9: the functions that generated code calls, in four families.
 *
 * Status is MATCH_OK or one of the errors in match_status.h; nothing aborts. On the chip they sit on the SDK's cluster
 * driver; the `host` platform implements the same contract on a PC and reports what breaks it. All of them but
 * gap9_open, gap9_close, gap9_l2_* and gap9_cluster_offload are for the cluster's master core, that is, for code inside
 * a layer. */
#ifndef GAP9_H
#define GAP9_H

#include <stdint.h>

#include "gap9_platform.h"
#include "match_copy.h"
#include "match_status.h"
#include "match_tile.h"

#ifndef GAP9_L1_BYTES
#define GAP9_L1_BYTES (128 * 1024)
#endif

#ifndef GAP9_L2_BYTES
#define GAP9_L2_BYTES (1536 * 1024)
#endif

#ifndef GAP9_CLUSTER_CORES
#define GAP9_CLUSTER_CORES 8
#endif

/* Blocks start at a multiple of this many bytes, and their size counts rounded up to it. */
#define GAP9_ALIGNMENT 4

/* ---- platform ---- */

/* Start the cluster and NE16. */
int32_t gap9_open(void);

/* Stop them. Blocks that are still allocated are gone. */
void gap9_close(void);

/* Run a layer's function on the cluster's master core and return its status. The host platform does not let one pass
 * that returns MATCH_OK but has left a transfer (MATCH_ERROR_TRANSFER) or kernel (MATCH_ERROR_COMPUTE) that was not
 * waited for, or a block of L1 (MATCH_ERROR_MEMORY). */
int32_t gap9_cluster_offload(int32_t (*layer)(void *), void *args);

/* ---- memory ---- */

/* A block of L1 (cluster scratchpad) or L2, not initialized; NULL when it is exhausted. Free in reverse order of
 * allocation to have the bytes back at once; free(NULL) does nothing. */
void *gap9_l1_alloc(uint32_t bytes);
void gap9_l1_free(void *block);
void *gap9_l2_alloc(uint32_t bytes);
void gap9_l2_free(void *block);

/* Start a transfer between L2 and L1. `transfer` must not hold one that has not been waited for; `shape` may go away
 * when the call returns, the memories may not. Either side may be read or written at any time until gap9_dma_wait, on
 * the host it is at the very end of it. The DMA (MCHAN) has a command for one contiguous piece and one for pieces at a
 * constant stride in L2 that are dense in L1: a shape that is dense on both sides is the first, one whose local rows
 * are dense the second (one command per plane, or one for all where planes continue the stride of the rows), any other
 * one command per row. */
void gap9_dma_copy_in(gap9_dma_t *transfer, void *local, const void *external, const match_copy_t *shape);
void gap9_dma_copy_out(gap9_dma_t *transfer, const void *local, void *external, const match_copy_t *shape);

/* ---- synchronization ---- */

/* Wait for the transfer started last with this descriptor. MATCH_ERROR_TRANSFER when there is none, so `transfer` must
 * be zero before its first use. */
int32_t gap9_dma_wait(gap9_dma_t *transfer);

/* Transfers started and not yet waited for. */
int32_t gap9_dma_pending(void);

/* Wait for the kernel that gap9_cluster_run started, or for NE16. */
int32_t gap9_cluster_wait(void);
int32_t gap9_ne16_wait(void);

/* Run fn(arg) on `cores` cores (1 .. gap9_cluster_cores()) and return when all have finished. */
int32_t gap9_cluster_fork(int32_t cores, void (*fn)(void *), void *arg);

/* Inside a fork: wait for all cores of it; this core's number; how many there are. Outside, gap9_core_id is 0 and
 * gap9_cluster_cores the size of the cluster. */
void gap9_cluster_barrier(void);
int32_t gap9_core_id(void);
int32_t gap9_cluster_cores(void);

/* ---- compute ---- */

/* Start a kernel on all cluster cores (match_pulp.h) or on NE16 (match_ne16.h). One at a time each: wait for it before
 * the next. `tile` and all it points to must stay until the wait. On the host the cluster computes in gap9_cluster_wait
 * and NE16 in gap9_ne16_wait, as late as possible. */
int32_t gap9_cluster_run(match_kernel_t kernel, const match_tile_t *tile);
int32_t gap9_ne16_start(match_kernel_t kernel, const match_tile_t *tile);

#endif
