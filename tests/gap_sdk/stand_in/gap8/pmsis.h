/* Stands in for pmsis.h of GAP8's SDK, as far as the gap_sdk platform uses it. */
#ifndef PMSIS_H
#define PMSIS_H

#include "pmsis_system.h"
#include "pmsis_types.h"

struct pi_cluster_task {
    void (*entry)(void *);
    void *arg;
    void *stacks;
    uint32_t stack_size; /* the master's, which is one of the team */
    uint32_t slave_stack_size;
    int nb_cores;
    pi_task_t *completion_callback;
    int stack_allocated;
    struct pi_cluster_task *next;
};

#include "pmsis_functions.h"

#endif
