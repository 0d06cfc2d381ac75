/* The controller of the HyperBus: queues of commands, each of which moves rows of bytes between L2 and a chip on the bus. */
#ifndef PULP_OPEN_HYPER_H
#define PULP_OPEN_HYPER_H

#include <stdbool.h>
#include <stdint.h>

/* Chips on the bus. */
enum { PULP_OPEN_RAM = 0, PULP_OPEN_FLASH = 1 };

/* Rows that are dense in L2, if there is more than one. */
typedef struct {
    uint32_t chip;
    uint32_t external; /* address in the chip */
    uint32_t local;    /* in L2 */
    uint32_t rows;
    uint32_t bytes;  /* of a row */
    uint32_t stride; /* from row to row in the chip */
    bool in;         /* from the chip to L2 */
} match_pulp_open_hyper_command_t;

/* A queue, from when it is given out until it is given out again, which it is when it is empty. */
typedef struct {
    uint32_t number;
    uint32_t turn;
} match_pulp_open_hyper_queue_t;

/* Start the controller. */
void match_pulp_open_hyper_open(void);

/* An empty queue. MATCH_ERROR_TIMEOUT if none becomes empty in time. */
int32_t match_pulp_open_hyper_queue(match_pulp_open_hyper_queue_t *queue);

/* Put a command behind those of a queue. MATCH_ERROR_TIMEOUT if there is no place in time. */
int32_t match_pulp_open_hyper_start(match_pulp_open_hyper_queue_t queue, const match_pulp_open_hyper_command_t *command);

/* Until a queue is empty; not for what is in it since it was given out again. MATCH_OK or MATCH_ERROR_TIMEOUT. */
int32_t match_pulp_open_hyper_wait(match_pulp_open_hyper_queue_t queue);

/* Bytes of the flash, now. MATCH_OK or MATCH_ERROR_TIMEOUT. */
int32_t match_pulp_open_flash_read(void *local, uint32_t address, uint32_t bytes);

#endif
