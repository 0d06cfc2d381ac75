/* External memory of the open PULP platform: HyperRAM behind the I/O DMA, and images in HyperFlash. No core reads or writes
 * it; its addresses count bytes and are for these functions alone, which are for the control core and for the cluster's
 * master core. */
#ifndef PULP_EXTERNAL_H
#define PULP_EXTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "match_copy.h"
#include "match_image.h"
#include "pulp_open_hyper.h"

#ifndef PULP_EXTERNAL_BYTES
#define PULP_EXTERNAL_BYTES (8 * 1024 * 1024)
#endif

/* A transfer between L2 and external memory; zero when there is none outstanding. */
typedef struct {
    match_pulp_open_hyper_queue_t queue; /* of the controller, which its commands are in */
    int32_t status; /* of the start */
    bool active;
} match_pulp_external_transfer_t;

/* A block of external memory, NULL when it is exhausted. Free in reverse order of allocation; free(NULL) does nothing. */
void *match_pulp_external_alloc(uint32_t bytes);
void match_pulp_external_free(void *block);

/* Fill the beginning of a block with an image. MATCH_ERROR_TRANSFER if it leaves its block, or is not there. */
int32_t match_pulp_external_load(void *external, const match_image_t *image);

/* Start a transfer between L2 and external memory, as match_pulp_dma_copy_in and match_pulp_dma_copy_out do between L2
 * and L1. */
void match_pulp_external_copy_in(match_pulp_external_transfer_t *transfer, void *local, const void *external,
                                 const match_copy_t *shape);
void match_pulp_external_copy_out(match_pulp_external_transfer_t *transfer, const void *local, void *external,
                                  const match_copy_t *shape);

/* Wait for the transfer started last with this descriptor. MATCH_ERROR_TRANSFER when there is none, or when it leaves its
 * block of external memory; MATCH_ERROR_TIMEOUT when it does not end in time. */
int32_t match_pulp_external_wait(match_pulp_external_transfer_t *transfer);

#endif
