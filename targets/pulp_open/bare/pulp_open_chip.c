/* The open PULP platform as its control core sees it: starting the cluster, handing layers to it. */
#include "pulp.h"

#include "pulp_open_cluster.h"
#include "pulp_open_registers.h"

#define ALL_CORES ((1u << (PULP_OPEN_MASTER + 1)) - 1)

_Static_assert(PULP_CLUSTER_CORES == PULP_OPEN_MASTER, "workers are numbered before the master");

volatile pulp_open_mailbox_t pulp_open_mailbox;

/* In start.S. */
extern const uint8_t pulp_open_start[];

static bool running;

#ifdef MATCH_CYCLES
#include <stdio.h>
static void cycles(const char *what)
{
    static uint32_t last;
    uint32_t now = pulp_open_read(PULP_OPEN_TIMER_COUNT);
    printf("%s %u\n", what, (unsigned)(now - last));
    last = pulp_open_read(PULP_OPEN_TIMER_COUNT);
}
#define PULP_OPEN_CYCLES(what) cycles(what)
#else
#define PULP_OPEN_CYCLES(what) ((void)0)
#endif

static void await_master(void)
{
    while (!pulp_open_mailbox.ready) {
    }
}

int32_t pulp_open(void)
{
    pulp_open_memory_reset();
    pulp_open_dma_reset();
    if (running) {
        return MATCH_OK;
    }
    running = true;
    pulp_open_write(PULP_OPEN_TIMER_CONFIG, PULP_OPEN_TIMER_RUN);
    pulp_open_write(PULP_OPEN_CLUSTER_CONFIG, PULP_OPEN_CONFIG_NE16_CLOCK);
    pulp_open_write(PULP_OPEN_ICACHE_ENABLE, UINT32_MAX);
    for (uint32_t core = 0; core <= PULP_OPEN_MASTER; core++) {
        pulp_open_write(PULP_OPEN_BOOT_ADDRESS + 4 * core, (uint32_t)(uintptr_t)pulp_open_start);
    }
    pulp_open_write(PULP_OPEN_CLOCK_ENABLE, ALL_CORES);
    pulp_open_write(PULP_OPEN_FETCH_ENABLE, ALL_CORES);
    await_master();
    return MATCH_OK;
}

void pulp_close(void)
{
    /* The cluster sleeps in its event unit until the next layer. */
}

int32_t pulp_cluster_offload(int32_t (*layer)(void *), void *args)
{
    if (!running) {
        return MATCH_ERROR_PLATFORM;
    }
    PULP_OPEN_CYCLES("cpu");
    pulp_open_mailbox.layer = layer;
    pulp_open_mailbox.arguments = args;
    pulp_open_mailbox.ready = false;
    pulp_open_write(PULP_OPEN_TRIGGER_EVENT0, 1u << PULP_OPEN_MASTER);
    await_master();
    PULP_OPEN_CYCLES("layer");
    return pulp_open_mailbox.status;
}
