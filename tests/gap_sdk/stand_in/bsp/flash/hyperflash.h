/* The declarations of the SDK's HyperFlash that the gap_sdk platform uses (README.md). */
#ifndef BSP_FLASH_HYPERFLASH_H
#define BSP_FLASH_HYPERFLASH_H

#include "bsp/flash.h"

struct pi_hyperflash_conf {
    int content;
};

void pi_hyperflash_conf_init(struct pi_hyperflash_conf *conf);

#endif
