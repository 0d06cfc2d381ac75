/* Functional model of DIANA's digital accelerator behind its registers.
 *
 * It knows the registers (diana_registers.h), the two memories they point into and the layout of weights that the
 * public compilers for the chip write; nothing of the code that drives it. Modelled are convolution, depthwise
 * convolution of a channel, the fully connected layer and addition, on 8-bit operands, with 32-bit accumulators that
 * wrap, shift and clip; activations channel by channel in rows of 16 columns, with what is written behind them. Pooling
 * is not. A job that asks for what does not exist, or that leaves a memory, is not executed to its end and sets the
 * status, as does a write to a register that is not there or while a job runs. */
#ifndef DIANA_MODEL_H
#define DIANA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diana_registers.h"

/* A memory as the accelerator sees it, from `address` on. */
typedef struct {
    uint8_t *bytes;
    size_t size;
    uint32_t address;
} match_diana_memory_t;

typedef struct {
    match_diana_memory_t activations;
    match_diana_memory_t weights;
    uint32_t words[DIANA_JOB_WORDS];
    bool running;
    int32_t status; /* MATCH_OK or MATCH_ERROR_COMPUTE */
} match_diana_model_t;

/* An idle accelerator between its memories. */
void match_diana_model_reset(match_diana_model_t *diana, match_diana_memory_t activations,
                             match_diana_memory_t weights);

/* Access to a register, by its word. */
void match_diana_model_write(match_diana_model_t *diana, uint32_t word, uint32_t value);
uint32_t match_diana_model_read(const match_diana_model_t *diana, uint32_t word);

/* Execute the job that was started, as late as that; nothing when there is none. */
void match_diana_model_finish_job(match_diana_model_t *diana);

/* MATCH_OK, or MATCH_ERROR_COMPUTE when a job since the reset could not be executed. */
int32_t match_diana_model_status(const match_diana_model_t *diana);

#endif
