/* Minichip: the functions that generated code calls. Status is MATCH_OK or one of the errors in match_status.h. */
#ifndef MINICHIP_H
#define MINICHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "match_copy.h"
#include "match_status.h"
#include "match_tile.h"

/* A transfer's descriptor; zero when nothing is outstanding. */
typedef struct {
    bool active;
} minichip_transfer_t;

/* The chip as a whole: start, stop, blocks of main memory (NULL when it is exhausted). */
int32_t minichip_open(void);
void minichip_close(void);
void *minichip_main_alloc(uint32_t bytes);
void minichip_main_free(void *block);

/* Platform: run a layer's function on the engine's control core. */
int32_t minichip_offload(int32_t (*layer)(void *), void *arguments);

/* Memory: blocks of the scratchpad, transfers between it and the main memory. The core waits while the DMA copies. */
void *minichip_alloc(uint32_t bytes);
void minichip_free(void *block);
void minichip_copy_in(minichip_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape);
void minichip_copy_out(minichip_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape);

/* Sync: wait for a transfer, and for the engine. */
int32_t minichip_wait_transfer(minichip_transfer_t *transfer);
int32_t minichip_wait(void);

/* Compute: start a kernel on one tile. */
int32_t minichip_start(match_kernel_t kernel, const match_tile_t *tile);

/* The kernel: a convolution of any filter, stride and padding. */
void minichip_conv2d(const match_tile_t *tile);

#endif
