/* The declarations of the SDK's HyperRAM that the gap_sdk platform uses (README.md). */
#ifndef BSP_RAM_HYPERRAM_H
#define BSP_RAM_HYPERRAM_H

#include "bsp/ram.h"

struct pi_hyperram_conf {
    int content;
};

void pi_hyperram_conf_init(struct pi_hyperram_conf *conf);

#endif
