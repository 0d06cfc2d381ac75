/* ${title}: the functions that generated code calls. Status is MATCH_OK or one of the errors in match_status.h. */
#ifndef ${name.upper()}_H
#define ${name.upper()}_H

#include <stdbool.h>
#include <stdint.h>

#include "match_copy.h"
#include "match_status.h"
#include "match_tile.h"

/* A transfer's descriptor; zero when nothing is outstanding. */
typedef struct {
    bool active;
} ${name}_transfer_t;

/* The chip as a whole: start, stop, blocks of main memory (NULL when it is exhausted). */
int32_t ${name}_open(void);
void ${name}_close(void);
void *${name}_main_alloc(uint32_t bytes);
void ${name}_main_free(void *block);

/* Platform: run a layer's function on the engine's control core. */
int32_t ${name}_offload(int32_t (*layer)(void *), void *arguments);

/* Memory: blocks of the scratchpad, transfers between it and the main memory. The core waits while the DMA copies. */
void *${name}_alloc(uint32_t bytes);
void ${name}_free(void *block);
void ${name}_copy_in(${name}_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape);
void ${name}_copy_out(${name}_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape);

/* Sync: wait for a transfer, and for the engine. */
int32_t ${name}_wait_transfer(${name}_transfer_t *transfer);
int32_t ${name}_wait(void);

/* Compute: start a kernel on one tile. */
int32_t ${name}_start(match_kernel_t kernel, const match_tile_t *tile);

/* The kernel: a convolution of any filter, stride and padding. */
void ${name}_conv2d(const match_tile_t *tile);

#endif
