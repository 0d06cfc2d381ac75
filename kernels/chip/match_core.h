/* The functions of a chip as a whole whose modules have no scratchpad: kernels read and write its RAM (match/target/chip.py).
 * The chip's C defines them; match_host_core.c does on a PC, match_core_memory.c where the linker script says
 * where RAM is.
 *
 * Status is MATCH_OK or one of the errors in match_status.h. Blocks begin at multiples of 8 and are freed in reverse
 * order; there is no room where allocation gives NULL, and to free NULL does nothing. */
#ifndef MATCH_CORE_H
#define MATCH_CORE_H

#include <stdint.h>

#include "match_status.h"
#include "match_tile.h"

int32_t match_core_open(void);
void match_core_close(void);
void *match_core_alloc(uint32_t bytes);
void match_core_free(void *block);

#endif
