/* Types of the GAP9 API whose layout belongs to the platform: here, a PC. */
#ifndef GAP9_PLATFORM_H
#define GAP9_PLATFORM_H

#include "match_host_dma.h"

/* One transfer between L2 and L1; zero when none is outstanding. */
typedef match_host_dma_t gap9_dma_t;

#endif
