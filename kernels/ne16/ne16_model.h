/* Functional model of NE16 behind its register file, after its public description and simulator.
 *
 * It knows the registers (ne16_registers.h) and the memory they point into, nothing of the code that writes them.
 * Modelled are 8-bit activations, 2 .. 8-bit weights, the 3x3, 1x1 and depthwise modes, stride 2, padding, filter
 * masks, norm-quant with multipliers of 8, 16 and 32 bits, outputs of 8 and 32 bits, and the queue of two jobs. A job
 * that asks for anything else (16-bit activations or outputs, linear mode, stream-in, remainders of 0), or that leaves
 * the memory, is not executed to its end and sets the status, as does a write to a register that is not there or not
 * open. */
#ifndef NE16_MODEL_H
#define NE16_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ne16_registers.h"

typedef struct {
    uint8_t *memory; /* what NE16 sees from `address` on */
    size_t memory_bytes;
    uint32_t address;
    uint32_t places[NE16_PLACES][NE16_JOB_WORDS];
    uint32_t numbers[NE16_PLACES]; /* of the jobs in them */
    uint32_t next_number;
    uint32_t running_number;
    uint32_t first; /* place of the oldest job */
    uint32_t taken; /* places in use, the one that is being filled in included */
    bool acquired;  /* whether one is being filled in */
    int32_t status; /* MATCH_OK or MATCH_ERROR_COMPUTE */
} match_ne16_model_t;

/* An idle NE16 in front of a memory. */
void match_ne16_model_reset(match_ne16_model_t *ne16, uint8_t *memory, size_t memory_bytes, uint32_t address);

/* Access to a register, by its word. */
void match_ne16_model_write(match_ne16_model_t *ne16, uint32_t word, uint32_t value);
uint32_t match_ne16_model_read(match_ne16_model_t *ne16, uint32_t word);

/* Execute the oldest job that was triggered, as late as that; nothing when there is none. */
void match_ne16_model_finish_job(match_ne16_model_t *ne16);

/* MATCH_OK, or MATCH_ERROR_COMPUTE when a job since the reset could not be executed. */
int32_t match_ne16_model_status(const match_ne16_model_t *ne16);

#endif
