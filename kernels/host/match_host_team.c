#define _POSIX_C_SOURCE 200809L

#include "match_host_team.h"

#include <pthread.h>
#include <stdlib.h>

/* Number of this thread in its fork; outside the pool there is one "core", the master. */
static _Thread_local int32_t core_number = 0;
static _Thread_local bool in_fork = false;

typedef struct {
    match_host_team_t *team;
    int32_t core;
    pthread_t thread;
} member_t;

struct match_host_team {
    pthread_mutex_t lock;
    pthread_cond_t started;
    pthread_cond_t finished;
    pthread_cond_t met;
    uint64_t fork;     /* number of the fork that runs or ran last */
    int32_t cores;     /* threads that take part in it */
    int32_t running;   /* of these, not yet finished */
    void (*fn)(void *);
    void *arg;
    bool stop;
    int32_t waiting;   /* threads at the barrier */
    uint64_t meeting;  /* number of the barrier they wait for */
    int32_t size;
    member_t members[];
};

static void *work(void *arg)
{
    const member_t *member = arg;
    match_host_team_t *team = member->team;
    uint64_t seen = 0;
    core_number = member->core;
    in_fork = true;
    pthread_mutex_lock(&team->lock);
    while (true) {
        while (!team->stop && (team->fork == seen || member->core >= team->cores)) {
            pthread_cond_wait(&team->started, &team->lock);
        }
        if (team->stop) {
            break;
        }
        seen = team->fork;
        pthread_mutex_unlock(&team->lock);
        team->fn(team->arg);
        pthread_mutex_lock(&team->lock);
        team->running -= 1;
        if (team->running == 0) {
            pthread_cond_signal(&team->finished);
        }
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

match_host_team_t *match_host_team_open(int32_t cores)
{
    match_host_team_t *team = calloc(1, sizeof *team + (size_t)cores * sizeof(member_t));
    if (team == NULL) {
        return NULL;
    }
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->started, NULL);
    pthread_cond_init(&team->finished, NULL);
    pthread_cond_init(&team->met, NULL);
    while (team->size < cores) {
        member_t *member = &team->members[team->size];
        member->team = team;
        member->core = team->size;
        if (pthread_create(&member->thread, NULL, work, member) != 0) {
            match_host_team_close(team);
            return NULL;
        }
        team->size += 1;
    }
    return team;
}

void match_host_team_close(match_host_team_t *team)
{
    if (team == NULL) {
        return;
    }
    pthread_mutex_lock(&team->lock);
    team->stop = true;
    pthread_cond_broadcast(&team->started);
    pthread_mutex_unlock(&team->lock);
    for (int32_t i = 0; i < team->size; i++) {
        pthread_join(team->members[i].thread, NULL);
    }
    pthread_cond_destroy(&team->met);
    pthread_cond_destroy(&team->finished);
    pthread_cond_destroy(&team->started);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

void match_host_team_fork(match_host_team_t *team, int32_t cores, void (*fn)(void *), void *arg)
{
    pthread_mutex_lock(&team->lock);
    team->fn = fn;
    team->arg = arg;
    team->cores = cores;
    team->running = cores;
    team->fork += 1;
    pthread_cond_broadcast(&team->started);
    while (team->running > 0) {
        pthread_cond_wait(&team->finished, &team->lock);
    }
    pthread_mutex_unlock(&team->lock);
}

void match_host_team_barrier(match_host_team_t *team)
{
    pthread_mutex_lock(&team->lock);
    uint64_t meeting = team->meeting;
    team->waiting += 1;
    if (team->waiting == team->cores) {
        team->waiting = 0;
        team->meeting += 1;
        pthread_cond_broadcast(&team->met);
    }
    while (team->meeting == meeting) {
        pthread_cond_wait(&team->met, &team->lock);
    }
    pthread_mutex_unlock(&team->lock);
}

int32_t match_host_team_core(void)
{
    return core_number;
}

int32_t match_host_team_cores(const match_host_team_t *team)
{
    return in_fork ? team->cores : team->size;
}

bool match_host_team_forked(void)
{
    return in_fork;
}
