/* Types of the PULP API whose layout belongs to the platform: here, a PC. */
#ifndef PULP_PLATFORM_H
#define PULP_PLATFORM_H

#include "match_host_dma.h"

/* One transfer between L2 and L1; zero when none is outstanding. */
typedef match_host_dma_t match_pulp_dma_t;

#endif
