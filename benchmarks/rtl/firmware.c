/* Runs one kernel on one tile and marks where it begins and ends. The request lies at a fixed address; core.cpp put it
 * there. This core may be any one of a team: it then computes its share of the tile. */
#include <stdint.h>

#include "match_pulp.h"
#include "match_team.h"

enum { REQUEST = 0x40000, START = 1, STOP = 2, END = 3 };

typedef struct {
    uint32_t kernel;
    int32_t core;
    int32_t cores;
    uint32_t reserved;
    match_tile_t tile;
} request_t;

/* Those that match_pulp.h declares (toolchain.py); the request names them by number. */
static const match_kernel_t kernels[] = {KERNELS};

static volatile request_t *const request = (volatile request_t *)REQUEST;
static volatile uint32_t *const marks = (volatile uint32_t *)0x80000000u;

int32_t match_core_id(void)
{
    return request->core;
}

int32_t match_core_count(void)
{
    return request->cores;
}

/* The others of the team are not there. */
void match_team_barrier(void)
{
}

_Noreturn void start(void);

_Noreturn void start(void)
{
    *marks = START;
    kernels[request->kernel]((const match_tile_t *)&request->tile);
    *marks = STOP;
    *marks = END;
    for (;;) {
    }
}
