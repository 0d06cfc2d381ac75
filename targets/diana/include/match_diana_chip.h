/* DIANA: the functions that generated code calls, in four families.
 *
 * Status is MATCH_OK or one of the errors in match_status.h; nothing aborts. The `host` platform implements the
 * contract on a PC and reports what breaks it. All of them run on the one RISC-V core that the chip has. */
#ifndef MATCH_DIANA_CHIP_H
#define MATCH_DIANA_CHIP_H

#include <stdint.h>

#include "diana_platform.h"
#include "match_copy.h"
#include "match_status.h"
#include "match_tile.h"

#ifndef DIANA_L1_BYTES
#define DIANA_L1_BYTES (256 * 1024)
#endif

#ifndef DIANA_WEIGHT_BYTES
#define DIANA_WEIGHT_BYTES (64 * 1024)
#endif

#ifndef DIANA_L2_BYTES
#define DIANA_L2_BYTES (512 * 1024)
#endif

/* Blocks start at a multiple of this many bytes, and their size counts rounded up to it. */
#define DIANA_ALIGNMENT 4

/* ---- platform ---- */

/* Start and stop the accelerator. Blocks that are still allocated at the end are gone. */
int32_t match_diana_open(void);
void match_diana_close(void);

/* Run a layer's function and return its status. The host platform does not let one pass that returns MATCH_OK but has
 * left a transfer (MATCH_ERROR_TRANSFER) or kernel (MATCH_ERROR_COMPUTE) that was not waited for, or a block of the
 * accelerator's memories (MATCH_ERROR_MEMORY). */
int32_t match_diana_offload(int32_t (*layer)(void *), void *args);

/* ---- memory ---- */

/* A block of the activation memory (L1), of the weight memory beside it, or of L2, not initialized; NULL when it is
 * exhausted. Free in reverse order of allocation to have the bytes back at once; free(NULL) does nothing. */
void *match_diana_l1_alloc(uint32_t bytes);
void match_diana_l1_free(void *block);
void *match_diana_weight_alloc(uint32_t bytes);
void match_diana_weight_free(void *block);
void *match_diana_l2_alloc(uint32_t bytes);
void match_diana_l2_free(void *block);

/* Transfer between L2 and one of the accelerator's memories; the core waits while the DMA copies. `transfer` must not
 * hold one that has not been waited for. */
void match_diana_dma_copy_in(match_diana_dma_t *transfer, void *local, const void *external, const match_copy_t *shape);
void match_diana_dma_copy_out(match_diana_dma_t *transfer, const void *local, void *external,
                              const match_copy_t *shape);

/* ---- synchronization ---- */

/* The status of the transfer started last with this descriptor. MATCH_ERROR_TRANSFER when there is none, so `transfer`
 * must be zero before its first use, or when it left the accelerator's memories. */
int32_t match_diana_dma_wait(match_diana_dma_t *transfer);

/* Wait for the kernel that match_diana_start started. */
int32_t match_diana_wait(void);

/* ---- compute ---- */

/* Start a kernel (match_diana.h). One at a time: wait for it before the next. `tile` and all it points to must stay
 * until the wait; on the host that is when it is computed. */
int32_t match_diana_start(match_kernel_t kernel, const match_tile_t *tile);

#endif
