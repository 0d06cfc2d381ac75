/* STM32H743: the functions that generated code calls. Status is MATCH_OK or one of the errors in match_status.h. */
#ifndef STM32H743_H
#define STM32H743_H

#include "kernels.h"
#include "match_copy.h"
#include "match_status.h"
#include "match_tile.h"

/* A transfer's descriptor; zero when nothing is outstanding. */
#ifdef STM32H743_CHIP
#include "mdma.h"
typedef mdma_t stm32h743_transfer_t;
#else
#include "match_host_dma.h"
typedef match_host_dma_t stm32h743_transfer_t;
#endif

/* The chip as a whole: start, stop, blocks of AXI SRAM. Blocks are freed in reverse order. */
int32_t stm32h743_open(void);
void stm32h743_close(void);
void *stm32h743_sram_alloc(uint32_t bytes);
void stm32h743_sram_free(void *block);

/* Platform: a layer runs on the one core there is, with nothing of AXI SRAM in its data cache. */
int32_t stm32h743_offload(int32_t (*layer)(void *), void *arguments);

/* Memory: blocks of DTCM, transfers between it and AXI SRAM by the MDMA, beside the core. */
void *stm32h743_dtcm_alloc(uint32_t bytes);
void stm32h743_dtcm_free(void *block);
void stm32h743_copy_in(stm32h743_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape);
void stm32h743_copy_out(stm32h743_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape);

/* Sync: wait for a transfer. */
int32_t stm32h743_wait_transfer(stm32h743_transfer_t *transfer);

/* Compute: the core calls the kernel itself, so that there is nothing to wait for. */
static inline int32_t stm32h743_start(match_kernel_t kernel, const match_tile_t *tile)
{
    kernel(tile);
    return MATCH_OK;
}

static inline int32_t stm32h743_wait(void)
{
    return MATCH_OK;
}

#endif
