/* What the driver of the HyperBus sees of the open PULP platform, on a PC. */
#ifndef PULP_OPEN_REGISTERS_H
#define PULP_OPEN_REGISTERS_H

#include <stdint.h>

#define PULP_OPEN_TIMER_COUNT 0x1a10b008

void match_pulp_open_write(uint32_t address, uint32_t value);
uint32_t match_pulp_open_read(uint32_t address);

#endif
