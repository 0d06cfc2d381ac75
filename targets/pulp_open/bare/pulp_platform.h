/* Types of the PULP API whose layout belongs to the platform: here, the open PULP platform without an operating system. */
#ifndef PULP_PLATFORM_H
#define PULP_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

/* One transfer between L2 and L1: the DMA's counter of its bytes; zero when none is outstanding. */
typedef struct {
    uint32_t counter;
    bool active;
} match_pulp_dma_t;

#endif
