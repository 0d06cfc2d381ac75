/* The MDMA of STM32H7: 16 channels that copy rows of bytes, into DTCM as well. */
#ifndef MDMA_H
#define MDMA_H

#include <stdint.h>

#include "match_copy.h"

/* An outstanding transfer: its channel plus 1, or 0. */
typedef struct {
    uint32_t channel;
} mdma_t;

typedef enum { MDMA_FROM_TCM = 1 << 16, MDMA_TO_TCM = 1 << 17 } mdma_direction_t;

void mdma_open(void);

/* Start to copy between DTCM (local) and another memory. The core waits for all planes but the last, and between pieces
 * that exceed the counters of a channel. At most 16 transfers at a time. */
void mdma_start(mdma_t *transfer, const void *local, const void *external, const match_copy_t *shape,
                mdma_direction_t direction);

/* Wait for a transfer; 0, or -1 where there is none or the bus reported an error. */
int32_t mdma_wait(mdma_t *transfer);

#endif
