/* The declarations of PMSIS that the gap_sdk platform uses, for a compiler to check it against. Written from the public
 * documentation of the API; layouts and values are not the SDK's. */
#ifndef PMSIS_H
#define PMSIS_H

#include <stddef.h>
#include <stdint.h>

struct pi_device {
    void *config;
};

void pi_open_from_conf(struct pi_device *device, void *conf);

/* ---- the operating system ---- */

int pmsis_kickoff(void *arg);
void pmsis_exit(int err);

void *pi_l2_malloc(int size);
void pi_l2_free(void *chunk, int size);

uint32_t pi_core_id(void);
uint32_t pi_is_fc(void);

typedef struct pi_task {
    int id;
} pi_task_t;

pi_task_t *pi_task_block(pi_task_t *task);
void pi_task_wait_on(pi_task_t *task);

uint32_t pi_time_get_us(void);
void pi_time_wait_us(int time_us);

/* ---- the cluster ---- */

struct pi_cluster_conf {
    int id;
};

struct pi_cluster_task {
    void (*entry)(void *);
    void *arg;
    void *stacks;
    uint32_t stack_size;
    uint32_t slave_stack_size;
    int nb_cores;
};

void pi_cluster_conf_init(struct pi_cluster_conf *conf);
int pi_cluster_open(struct pi_device *device);
int pi_cluster_close(struct pi_device *device);
struct pi_cluster_task *pi_cluster_task(struct pi_cluster_task *task, void (*entry)(void *), void *arg);
int pi_cluster_send_task_to_cl_async(struct pi_device *device, struct pi_cluster_task *task, pi_task_t *end);

void pi_cl_team_fork(int nb_cores, void (*entry)(void *), void *arg);
void pi_cl_team_barrier(void);
int pi_cl_team_nb_cores(void);

void *pi_cl_l1_malloc(struct pi_device *device, uint32_t size);
void pi_cl_l1_free(struct pi_device *device, void *chunk, int size);

/* Sleep until an event of the mask has come; those of the mask are forgotten. */
unsigned int eu_evt_maskWaitAndClr(unsigned int mask);

/* ---- its DMA ---- */

typedef enum { PI_CL_DMA_DIR_LOC2EXT = 0, PI_CL_DMA_DIR_EXT2LOC = 1 } pi_cl_dma_dir_e;

typedef struct pi_cl_dma_cmd_s {
    int id;
} pi_cl_dma_cmd_t;

void pi_cl_dma_cmd(uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd);
void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length, pi_cl_dma_dir_e dir,
                      pi_cl_dma_cmd_t *cmd);
void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t *cmd);

#endif
