/* What the SDK's operating system adds to the interface (PMSIS): the contents of its structures, which are its own, and
 * functions of the hardware. */
#ifndef PMSIS_SYSTEM_H
#define PMSIS_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

typedef struct pi_task pi_task_t;
struct pi_task {
    int content;
};

typedef struct pi_cl_dma_cmd_s pi_cl_dma_cmd_t;
struct pi_cl_dma_cmd_s {
    int content;
};

uint32_t pi_core_id(void);
uint32_t pi_is_fc(void);

/* Sleeps until an event of the mask has come; those of the mask are forgotten. */
#ifdef __FREERTOS__
uint32_t hal_eu_evt_mask_wait_and_clr(uint32_t mask);
#else
unsigned int eu_evt_maskWaitAndClr(unsigned int mask);
#endif

#endif
