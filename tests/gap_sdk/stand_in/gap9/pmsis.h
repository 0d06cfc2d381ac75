/* Stands in for pmsis.h of GAP9's SDK, as far as the gap_sdk platform uses it. */
#ifndef PMSIS_H
#define PMSIS_H

#include "pmsis_system.h"
#include "pmsis_types.h"

/* The master has its stack while the cluster is open (pi_cluster_conf). */
struct pi_cluster_task {
    void (*entry)(void *);
    void *arg;
    void *stacks;
    uint32_t slave_stack_size;
    int nb_cores;
    struct pi_task *completion_callback;
    int stack_allocated;
    struct pi_cluster_task *next;
    int core_mask;
    uint32_t scratch_size;
    uint8_t priority;
};

#include "pmsis_functions.h"

#endif
