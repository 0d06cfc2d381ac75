/* The functions of a chip with one scratchpad and one module, or two, for targets that have no names of their own for them
 * (match/target/chip.py). The chip's C defines them; match_host_chip.c does on a PC.
 *
 * Status is MATCH_OK or one of the errors in match_status.h. Blocks begin at multiples of 4 at least and are freed in
 * reverse order; there is no room where allocation gives NULL, and to free NULL does nothing. */
#ifndef MATCH_CHIP_H
#define MATCH_CHIP_H

#include <stdint.h>

#include "match_copy.h"
#include "match_status.h"
#include "match_tile.h"

/* Number of an outstanding transfer, as the chip counts them from 1; 0 when there is none. */
typedef uint32_t match_chip_transfer_t;

/* The chip as a whole: start, stop, blocks of main memory. */
int32_t match_chip_open(void);
void match_chip_close(void);
void *match_chip_main_alloc(uint32_t bytes);
void match_chip_main_free(void *block);

/* Run a layer's function where its code has to run; its status. What must be so while a layer runs, a module that is
 * switched on or a cache without its data, is seen to here. */
int32_t match_chip_offload(int32_t (*layer)(void *), void *arguments);

/* Blocks of the scratchpad. */
void *match_chip_alloc(uint32_t bytes);
void match_chip_free(void *block);

/* Start a transfer between the scratchpad (local) and main memory (external). The shape may go away afterwards. */
void match_chip_copy_in(match_chip_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape);
void match_chip_copy_out(match_chip_transfer_t *transfer, const void *local, void *external,
                         const match_copy_t *shape);

/* Wait for a transfer, which is then 0. */
int32_t match_chip_wait_transfer(match_chip_transfer_t *transfer);

/* Start a kernel on a tile that stays as it is until the wait; wait for the kernel started last. */
int32_t match_chip_start(match_kernel_t kernel, const match_tile_t *tile);
int32_t match_chip_wait(void);

/* The same of a second module, which computes out of the scratchpad, too, while the first one may compute. */
int32_t match_chip_start_second(match_kernel_t kernel, const match_tile_t *tile);
int32_t match_chip_wait_second(void);

#endif
