/* Blocks of both memories on the chip itself: the functions of match_chip.h that reserve them and give them back, on what
 * lies between symbols of the linker script. The first of each is a multiple of MATCH_STACK_ALIGNMENT. */
#ifndef MATCH_CHIP_MEMORY_H
#define MATCH_CHIP_MEMORY_H

#include "match_stack.h"

extern uint8_t match_chip_scratchpad_start[];
extern uint8_t match_chip_scratchpad_end[];
extern uint8_t match_chip_main_start[];
extern uint8_t match_chip_main_end[];

/* All of both is free. match_chip_open calls it. */
void match_chip_memory_open(void);

#endif
