/* Driver of DIANA's digital accelerator. Portable: the platform provides access to registers, events and addresses. */
#ifndef DIANA_DRIVER_H
#define DIANA_DRIVER_H

#include <stdint.h>

/* A job as it lies in the registers (diana_registers.h). */
typedef struct {
    uint32_t operation;
    uint32_t input;
    uint32_t addend;
    uint32_t weights;
    uint32_t output;
    uint32_t input_channels;
    uint32_t output_channels;
    uint32_t input_height;
    uint32_t input_width;
    uint32_t output_height;
    uint32_t output_width;
    uint32_t filter_height;
    uint32_t filter_width;
    uint32_t stride;
    uint32_t padding;
    uint32_t lane;
    uint32_t shift;
    uint32_t relu;
    uint32_t input_row_stride;
    uint32_t input_channel_stride;
    uint32_t addend_row_stride;
    uint32_t addend_channel_stride;
    uint32_t output_row_stride;
    uint32_t output_channel_stride;
} match_diana_job_t;

/* Execute a job and wait for its end. */
void match_diana_execute(const match_diana_job_t *job);

/* ---- provided by the platform ---- */

/* Write and read a register, by its word. */
void match_diana_write(uint32_t word, uint32_t value);
uint32_t match_diana_read(uint32_t word);

/* Sleep until the accelerator has finished its job. */
void match_diana_wait_event(void);

/* Address of a byte of the activation memory or of the weight memory on the accelerator's side. */
uint32_t match_diana_activation_address(const void *pointer);
uint32_t match_diana_weight_address(const void *pointer);

#endif
