/* Addresses and bits of the open PULP platform, and how they are accessed. */
#ifndef PULP_OPEN_REGISTERS_H
#define PULP_OPEN_REGISTERS_H

/* Cores of the cluster: workers 0 .. 7, and behind them the master, which runs layers. */
#define PULP_OPEN_MASTER 8

/* L1 holds the blocks of layers from its start, PULP_L1_BYTES of them, and the stacks of the cluster behind that: 1152 a
 * worker from the end, then the master's. What all cores share lies between blocks and stacks (pulp_open_cluster.h). */
#define PULP_OPEN_L1 0x10000000
#define PULP_OPEN_WORKER_STACK 1152
#define PULP_OPEN_STACKS (8 * PULP_OPEN_WORKER_STACK + 3072)

/* Cluster control. */
#define PULP_OPEN_FETCH_ENABLE 0x10200008  /* a bit for each core */
#define PULP_OPEN_CLUSTER_CONFIG 0x10200018
#define PULP_OPEN_CONFIG_NE16_CLOCK 0x800
#define PULP_OPEN_CLOCK_ENABLE 0x10200020  /* a bit for each core */
#define PULP_OPEN_BOOT_ADDRESS 0x10200040  /* a word for each core; multiples of 256 */
#define PULP_OPEN_ICACHE_ENABLE 0x10201400 /* all ones: caches of all cores */

/* Event unit, as every core of the cluster sees its own part of it, and as the control core sees it. */
#define PULP_OPEN_EVENT_MASK 0x10204000       /* events that end a wait */
#define PULP_OPEN_EVENT_WAIT_CLEAR 0x1020403c /* read: sleep until one has come; forgets those in the mask */
#define PULP_OPEN_DISPATCH 0x10204080         /* write: a value for the team; read by a worker: sleep until it is there */
#define PULP_OPEN_DISPATCH_TEAM 0x10204084    /* a bit for each worker that gets the next values */
#define PULP_OPEN_BARRIER(n) (0x10204200 + 0x20 * (n))
#define PULP_OPEN_BARRIER_CORES 0x00      /* who is waited for; to be written before the next */
#define PULP_OPEN_BARRIER_TARGETS 0x0c    /* whom the event goes to */
#define PULP_OPEN_BARRIER_WAIT_CLEAR 0x1c /* read: arrive, and sleep until all have */
#define PULP_OPEN_TRIGGER_EVENT0 0x10200e00 /* write: send software event 0 to these cores */

/* Events, by bit. */
#define PULP_OPEN_EVENT_SOFTWARE0 0
#define PULP_OPEN_EVENT_DMA 8
#define PULP_OPEN_EVENT_NE16 12
#define PULP_OPEN_EVENT_BARRIER 16
#define PULP_OPEN_EVENT_DISPATCH 18

/* MCHAN, the cluster's DMA, as each core sees its own command queue. */
#define PULP_OPEN_DMA_COMMAND 0x10204400 /* read: take a counter; write: the words of a command */
#define PULP_OPEN_DMA_STATUS 0x10204404  /* read: bits of counters with bytes to go; write: give counters back */
#define PULP_OPEN_DMA_MAX_BYTES 0x1ffff  /* of one command */
#define PULP_OPEN_DMA_TO_L1 (1 << 17)
#define PULP_OPEN_DMA_INCREMENT (1 << 18)
#define PULP_OPEN_DMA_2D (1 << 19) /* words 3 and 4 follow: bytes of a row, and from row to row, outside of L1 */
#define PULP_OPEN_DMA_EVENT (1 << 20)

#define PULP_OPEN_NE16 0x10201000

/* The control core's side of the chip. */
#define PULP_OPEN_EXIT 0x1a1040a0 /* write: end of the program, with the lower 31 bits as its status */
#define PULP_OPEN_EXIT_NOW 0x80000000
#define PULP_OPEN_TIMER_CONFIG 0x1a10b000
#define PULP_OPEN_TIMER_COUNT 0x1a10b008
#define PULP_OPEN_TIMER_RUN 3    /* count clock cycles, from 0 */
#define PULP_OPEN_STDOUT 0x1a10ff80 /* a byte at a time; this one is the control core's */

/* Status of a program that has trapped. */
#define PULP_OPEN_TRAPPED 99

#ifndef __ASSEMBLER__

#include <stdint.h>

static inline void match_pulp_open_write(uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)address = value;
}

static inline uint32_t match_pulp_open_read(uint32_t address)
{
    return *(volatile uint32_t *)address;
}

/* Read a register of the event unit that lets the core sleep (Xpulpv2: p.elw). */
static inline uint32_t match_pulp_open_sleep(uint32_t address)
{
    uint32_t value;
    __asm__ volatile(".insn i 0x03, 6, %0, 0(%1)" : "=r"(value) : "r"(address) : "memory");
    return value;
}

/* Number of this core, above that of its cluster: 0, and another for the control core. */
static inline uint32_t match_pulp_open_hart(void)
{
    uint32_t hart;
    __asm__("csrr %0, mhartid" : "=r"(hart));
    return hart;
}

/* Number of this core in its cluster. */
static inline int32_t match_pulp_open_core(void)
{
    return (int32_t)(match_pulp_open_hart() & 0x1f);
}

/* On the cluster's master: sleep until an event has come since the last wait for it. */
static inline void match_pulp_open_wait_event(uint32_t event)
{
    match_pulp_open_write(PULP_OPEN_EVENT_MASK, 1u << event);
    (void)match_pulp_open_sleep(PULP_OPEN_EVENT_WAIT_CLEAR);
}

#endif

#endif
