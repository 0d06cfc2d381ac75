/* The open PULP platform as its control core sees it: starting the cluster, handing layers to it. */
#include "match_pulp_chip.h"

#include "match_count.h"
#include "pulp_async.h"
#include "pulp_open_cluster.h"
#include "pulp_open_registers.h"

#define ALL_CORES ((1u << (PULP_OPEN_MASTER + 1)) - 1)

_Static_assert(PULP_CLUSTER_CORES == PULP_OPEN_MASTER, "workers are numbered before the master");

volatile match_pulp_open_mailbox_t match_pulp_open_mailbox;

/* In start.S. */
extern const uint8_t match_pulp_open_start[];

/* How many cycles a layer may take; the control core's timer counts them. */
#ifndef PULP_TIMEOUT_CYCLES
#define PULP_TIMEOUT_CYCLES 0x40000000u
#endif

static bool running;
static bool stuck; /* a layer did not end: the cluster is of no use until the chip is reset */

/* Whether the master is ready in time. */
static bool await_master(void)
{
    const uint32_t begin = match_pulp_open_read(PULP_OPEN_TIMER_COUNT);
    while (!match_pulp_open_mailbox.ready) {
        if (match_pulp_open_read(PULP_OPEN_TIMER_COUNT) - begin > PULP_TIMEOUT_CYCLES) {
            stuck = true;
            return false;
        }
        (void)match_pulp_async_yield();
    }
    return true;
}

int32_t match_pulp_open(void)
{
    return match_pulp_open_with(&(match_pulp_setup_t){.l1_bytes = 0});
}

int32_t match_pulp_open_with(const match_pulp_setup_t *setup)
{
    if (!match_pulp_open_memory_reset(setup)) {
        return MATCH_ERROR_PLATFORM;
    }
    if (running) {
        return MATCH_OK;
    }
    running = true;
    match_pulp_open_write(PULP_OPEN_TIMER_CONFIG, PULP_OPEN_TIMER_RUN);
    match_pulp_open_write(PULP_OPEN_ICACHE_ENABLE, UINT32_MAX);
    for (uint32_t core = 0; core <= PULP_OPEN_MASTER; core++) {
        match_pulp_open_write(PULP_OPEN_BOOT_ADDRESS + 4 * core, (uint32_t)(uintptr_t)match_pulp_open_start);
    }
    match_pulp_open_write(PULP_OPEN_CLOCK_ENABLE, ALL_CORES);
    match_pulp_open_write(PULP_OPEN_FETCH_ENABLE, ALL_CORES);
    return await_master() ? MATCH_OK : MATCH_ERROR_TIMEOUT;
}

void match_pulp_close(void)
{
    /* The cluster sleeps in its event unit until the next layer. */
}

int32_t match_pulp_cluster_offload(int32_t (*layer)(void *), void *args)
{
    if (!running) {
        return MATCH_ERROR_PLATFORM;
    }
    if (stuck) {
        return MATCH_ERROR_TIMEOUT;
    }
    match_pulp_open_mailbox.layer = layer;
    match_pulp_open_mailbox.arguments = args;
    match_pulp_open_mailbox.ready = false;
    match_pulp_open_write(PULP_OPEN_TRIGGER_EVENT0, 1u << PULP_OPEN_MASTER);
    return await_master() ? match_pulp_open_mailbox.status : MATCH_ERROR_TIMEOUT;
}

/* Cycles since the program's start. */
uint64_t match_counter(void)
{
    static uint32_t wraps;
    static uint32_t last;
    const uint32_t now = match_pulp_open_read(PULP_OPEN_TIMER_COUNT);
    wraps += now < last;
    last = now;
    return (uint64_t)wraps << 32 | now;
}
