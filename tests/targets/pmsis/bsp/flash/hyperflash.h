/* The declarations of the SDK's HyperFlash that the gap_sdk platform uses; see pmsis.h. */
#ifndef BSP_FLASH_HYPERFLASH_H
#define BSP_FLASH_HYPERFLASH_H

#include "bsp/flash.h"

struct pi_hyperflash_conf {
    int hyper_itf;
};

void pi_hyperflash_conf_init(struct pi_hyperflash_conf *conf);

#endif
