/* A cluster of cores, for platforms that stand in for a chip: as a pool of threads (match_host_team.c), or one core that
 * is the caller itself (match_single_team.c), where there are no threads. */
#ifndef MATCH_HOST_TEAM_H
#define MATCH_HOST_TEAM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct match_host_team match_host_team_t;

/* A pool of `cores` threads that sleep, or NULL when there cannot be as many. */
match_host_team_t *match_host_team_open(int32_t cores);

/* Ends the threads and waits for them; NULL is nothing. */
void match_host_team_close(match_host_team_t *team);

/* Runs fn(arg) on the first `cores` threads and returns when all have finished. */
void match_host_team_fork(match_host_team_t *team, int32_t cores, void (*fn)(void *), void *arg);

/* On a thread of a fork: waits until all threads of the fork have come here. */
void match_host_team_barrier(match_host_team_t *team);

/* On a thread of a fork: its number and how many there are; elsewhere 0 and the size of the team. */
int32_t match_host_team_core(void);
int32_t match_host_team_cores(const match_host_team_t *team);

/* Whether the caller is a thread of a fork. */
bool match_host_team_forked(void);

#endif
