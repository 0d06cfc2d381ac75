/* External memory of a chip with the SDK of GAP8 and GAP9: HyperRAM, which no core reads or writes, and images in flash.
 * Its addresses count bytes and are for these functions alone, which are for the control core and for the cluster's master
 * core. */
#ifndef PULP_EXTERNAL_H
#define PULP_EXTERNAL_H

#include <bsp/ram.h>
#include <pmsis.h>
#include <stdbool.h>
#include <stdint.h>

#include "match_copy.h"
#include "match_image.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Commands of one transfer that are under way at a time. */
#define PULP_EXTERNAL_COMMANDS 2

/* A transfer between L2 and external memory; zero when there is none outstanding. A core waits for what it has started. */
typedef struct {
    pi_cl_ram_req_t cluster[PULP_EXTERNAL_COMMANDS];
    pi_task_t control[PULP_EXTERNAL_COMMANDS];
    uint32_t count; /* started since the transfer was; command n is in place n modulo PULP_EXTERNAL_COMMANDS */
    bool active;
    bool valid;
} match_pulp_external_transfer_t;

/* To be called in front of the first match_pulp_external_alloc by a program that has opened them for itself or has
 * others than HyperRAM and HyperFlash: the open RAM, and the mounted file system that images are in. NULL: opened when
 * they are needed, and closed with the last block. */
void match_pulp_external_use(struct pi_device *ram, struct pi_device *files);

/* A block of external memory, NULL when it is exhausted or cannot be opened; free(NULL) does nothing. */
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

/* Wait for the transfer started last with this descriptor. MATCH_ERROR_TRANSFER when there is none, or when it leaves
 * its block of external memory. */
int32_t match_pulp_external_wait(match_pulp_external_transfer_t *transfer);

#ifdef __cplusplus
}
#endif

#endif
