/* Types of PMSIS that are the same for both chips. */
#ifndef PMSIS_TYPES_H
#define PMSIS_TYPES_H

#include <stdint.h>

struct pi_device {
    struct pi_device_api *api;
    void *config;
    void *data;
};

typedef enum { PI_DEVICE_UNKWN_TYPE, PI_DEVICE_CLUSTER_TYPE } pi_device_e;

typedef enum { PI_CLUSTER_FLAGS_FORK_BASED = 0, PI_CLUSTER_FLAGS_TASK_BASED = 1 } pi_cluster_flags_e;

struct pi_cluster_conf {
    pi_device_e device_type;
    int id;
    uint32_t cc_stack_size; /* GAP9: the master's, 0x800 by default */
    uint32_t scratch_size;
    void *heap_start;
    uint32_t heap_size;
    struct pmsis_event_kernel_wrap *event_kernel;
    pi_cluster_flags_e flags;
};

typedef enum { PI_CL_DMA_DIR_LOC2EXT = 0, PI_CL_DMA_DIR_EXT2LOC = 1 } pi_cl_dma_dir_e;

#endif
