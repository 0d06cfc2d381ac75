/* Driver of NE16's job queue. Portable: the platform provides access to registers, events and addresses. */
#ifndef NE16_DRIVER_H
#define NE16_DRIVER_H

#include <stdint.h>

#include "ne16_registers.h"

/* A job, by name and as it lies in the registers (ne16_registers.h). Addresses are those that NE16 sees, strides are in
 * bytes. */
typedef union {
    struct {
        uint32_t weights;
        uint32_t infeat;
        uint32_t outfeat;
        uint32_t scale;
        uint32_t scale_shift;
        uint32_t scale_bias;
        uint32_t infeat_d0;
        uint32_t infeat_d1;
        uint32_t infeat_d2;
        uint32_t outfeat_d0;
        uint32_t outfeat_d1;
        uint32_t outfeat_d2;
        uint32_t weights_d0;
        uint32_t weights_d1;
        uint32_t weights_d2;
        uint32_t remainder_ko_ki;
        uint32_t remainder_ho_wo;
        uint32_t remainder_hi_wi;
        uint32_t subtiles_ko_ki;
        uint32_t subtiles_ho_wo;
        uint32_t padding;
        uint32_t weight_offset;
        uint32_t filter_mask;
        uint32_t conf0;
    };
    uint32_t words[NE16_JOB_WORDS];
} match_ne16_job_t;

/* In what a job differs from the one before the last, which had its place. The registers of a place keep what is written,
 * but for a soft clear. */
typedef enum {
    NE16_OTHER_PLACE,    /* where input and output begin */
    NE16_OTHER_GROUP,    /* all addresses */
    NE16_OTHER_PIXELS,   /* where input and output begin, rows, columns and padding */
    NE16_OTHER_CHANNELS, /* all addresses, rows, columns, padding, numbers of channels, strides of the output */
    NE16_OTHER_TILE,     /* everything */
} match_ne16_change_t;

/* Take the next place of the queue, which runs two jobs in order, and write a job's registers; waits while there is none.
 * Registers that do not change are left. */
void match_ne16_prepare(const match_ne16_job_t *job, match_ne16_change_t change);

/* Hand over the job that has been prepared. */
void match_ne16_trigger(void);

/* Wait until at most `jobs` jobs are queued or running. */
void match_ne16_wait(int32_t jobs);

/* ---- provided by the platform ---- */

/* Write and read a register, by its word. */
void match_ne16_write(uint32_t word, uint32_t value);
uint32_t match_ne16_read(uint32_t word);

/* Write the words first .. last of a job to the registers of the one that has been acquired. */
void match_ne16_write_job(const match_ne16_job_t *job, uint32_t first, uint32_t last);

/* Sleep until NE16 has finished a job since the last call. */
void match_ne16_wait_event(void);

/* Address of a byte of L1 on NE16's side of the interconnect. */
uint32_t match_l1_address(const void *pointer);

#endif
