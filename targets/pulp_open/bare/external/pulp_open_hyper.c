#include "pulp_open_hyper.h"

#include "match_status.h"
#include "pulp_open_registers.h"

/* How many cycles a command may take. */
#ifndef PULP_TIMEOUT_CYCLES
#define PULP_TIMEOUT_CYCLES 0x40000000u
#endif

/* Registers of the I/O DMA, of the controller as a whole, and of each of its queues. */
#define CLOCK 0x1a102000u
#define CLOCK_HYPER (1u << 8)
#define HYPER 0x1a102480u
enum { QUEUES = 8, PLACES = 8 }; /* commands in a queue */

#define LATENCY (HYPER + 0x404)      /* cycles from an address to its bytes */
#define LATENCY_TWICE (HYPER + 0x408)
#define SELECTED_CYCLES (HYPER + 0x40c) /* a chip may be selected for, at a time: 4 us for its refresh */
#define CHIP (HYPER + 0x420)         /* whom the next commands are for */
#define FREE_QUEUE (HYPER + 0x424)   /* number of an empty one; QUEUES: there is none */

#define QUEUE(n) (HYPER + 0x80 * (n))
#define IN_LOCAL 0x00
#define IN_BYTES 0x04
#define IN_START 0x08
#define OUT_LOCAL 0x0c
#define OUT_BYTES 0x10
#define OUT_START 0x14
#define BUS_COMMAND 0x18
#define EXTERNAL 0x1c
#define STATUS 0x24 /* bit 0: busy; bits 1 .. 8: commands */
#define STRIDED 0x28
#define ROW_BYTES 0x2c
#define STRIDE 0x30

#define START_WORDS 0x14 /* with words of 32 bits in L2 */
#define BUS_READ 5       /* as many bytes one behind the other as there are */
#define BUS_WRITE 1

void match_pulp_open_hyper_open(void)
{
    match_pulp_open_write(CLOCK, match_pulp_open_read(CLOCK) | CLOCK_HYPER);
    match_pulp_open_write(LATENCY, 6);
    match_pulp_open_write(LATENCY_TWICE, 1);
    match_pulp_open_write(SELECTED_CYCLES, 200);
}

/* How often each queue was given out. */
static uint32_t turns[QUEUES];

int32_t match_pulp_open_hyper_queue(match_pulp_open_hyper_queue_t *queue)
{
    const uint32_t begin = match_pulp_open_read(PULP_OPEN_TIMER_COUNT);
    while ((queue->number = match_pulp_open_read(FREE_QUEUE)) >= QUEUES) {
        if (match_pulp_open_read(PULP_OPEN_TIMER_COUNT) - begin > PULP_TIMEOUT_CYCLES) {
            return MATCH_ERROR_TIMEOUT;
        }
    }
    queue->turn = ++turns[queue->number];
    return MATCH_OK;
}

/* Until no more than so many commands are in a queue. */
static int32_t await(uint32_t queue, uint32_t commands)
{
    const uint32_t begin = match_pulp_open_read(PULP_OPEN_TIMER_COUNT);
    while (true) {
        const uint32_t status = match_pulp_open_read(QUEUE(queue) + STATUS);
        if (commands == 0 ? status == 0 : (status >> 1 & 0xff) <= commands) {
            return MATCH_OK;
        }
        if (match_pulp_open_read(PULP_OPEN_TIMER_COUNT) - begin > PULP_TIMEOUT_CYCLES) {
            return MATCH_ERROR_TIMEOUT;
        }
    }
}

int32_t match_pulp_open_hyper_start(match_pulp_open_hyper_queue_t queue, const match_pulp_open_hyper_command_t *command)
{
    const int32_t status = await(queue.number, PLACES - 1);
    if (status != MATCH_OK) {
        return status;
    }
    const uint32_t registers = QUEUE(queue.number);
    const bool strided = command->rows > 1 && command->stride != command->bytes;
    match_pulp_open_write(CHIP, command->chip);
    match_pulp_open_write(registers + STRIDED, strided);
    match_pulp_open_write(registers + ROW_BYTES, command->bytes);
    match_pulp_open_write(registers + STRIDE, command->stride);
    match_pulp_open_write(registers + EXTERNAL, command->external);
    match_pulp_open_write(registers + BUS_COMMAND, command->in ? BUS_READ : BUS_WRITE);
    match_pulp_open_write(registers + (command->in ? IN_BYTES : OUT_BYTES), command->rows * command->bytes);
    match_pulp_open_write(registers + (command->in ? IN_LOCAL : OUT_LOCAL), command->local);
    match_pulp_open_write(registers + (command->in ? IN_START : OUT_START), START_WORDS);
    return MATCH_OK;
}

int32_t match_pulp_open_hyper_wait(match_pulp_open_hyper_queue_t queue)
{
    return turns[queue.number] == queue.turn ? await(queue.number, 0) : MATCH_OK;
}

int32_t match_pulp_open_flash_read(void *local, uint32_t address, uint32_t bytes)
{
    const match_pulp_open_hyper_command_t command = {
        .chip = PULP_OPEN_FLASH,
        .external = address,
        .local = (uint32_t)(uintptr_t)local,
        .rows = 1,
        .bytes = bytes,
        .in = true,
    };
    match_pulp_open_hyper_queue_t queue;
    int32_t status = match_pulp_open_hyper_queue(&queue);
    status = status == MATCH_OK ? match_pulp_open_hyper_start(queue, &command) : status;
    return status == MATCH_OK ? match_pulp_open_hyper_wait(queue) : status;
}
