/* The declarations of the SDK's flash memories that the gap_sdk platform uses (README.md). */
#ifndef BSP_FLASH_H
#define BSP_FLASH_H

#include "pmsis.h"

int pi_flash_open(struct pi_device *device);
void pi_flash_close(struct pi_device *device);

#endif
