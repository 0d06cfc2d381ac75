/* MCHAN of the open PULP platform on a PC, as far as its driver sees it: a queue of command words and 16 counters. What a
 * command moves is moved when its last word is written. */
#ifndef PULP_OPEN_REGISTERS_H
#define PULP_OPEN_REGISTERS_H

#include <stdint.h>

#define PULP_OPEN_DMA_COMMAND 0
#define PULP_OPEN_DMA_STATUS 4
#define PULP_OPEN_DMA_TO_L1 (1u << 17)
#define PULP_OPEN_DMA_INCREMENT (1u << 18)
#define PULP_OPEN_DMA_2D (1u << 19)
#define PULP_OPEN_DMA_EVENT (1u << 20)
#define PULP_OPEN_EVENT_DMA 8

void match_pulp_open_write(uint32_t address, uint32_t value);
uint32_t match_pulp_open_read(uint32_t address);
void match_pulp_open_wait_event(uint32_t event);

#endif
