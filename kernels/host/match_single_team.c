/* A cluster with one core: the caller's. */
#include "match_host_team.h"

#include <stddef.h>

struct match_host_team {
    int32_t cores;
};

static bool in_fork;

match_host_team_t *match_host_team_open(int32_t cores)
{
    static match_host_team_t team = {1};
    return cores == team.cores ? &team : NULL;
}

void match_host_team_close(match_host_team_t *team)
{
    (void)team;
}

void match_host_team_fork(match_host_team_t *team, int32_t cores, void (*fn)(void *), void *arg)
{
    (void)team;
    (void)cores;
    in_fork = true;
    fn(arg);
    in_fork = false;
}

void match_host_team_barrier(match_host_team_t *team)
{
    (void)team;
}

int32_t match_host_team_core(void)
{
    return 0;
}

int32_t match_host_team_cores(const match_host_team_t *team)
{
    return team->cores;
}

bool match_host_team_forked(void)
{
    return in_fork;
}
