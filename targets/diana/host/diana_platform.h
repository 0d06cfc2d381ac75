/* Types of the DIANA API whose layout belongs to the platform: here, a PC. */
#ifndef DIANA_PLATFORM_H
#define DIANA_PLATFORM_H

#include "match_host_dma.h"

/* One transfer between L2 and the accelerator's memories; zero when none is outstanding. */
typedef match_host_dma_t match_diana_dma_t;

#endif
