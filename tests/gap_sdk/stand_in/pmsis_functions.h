/* Functions of PMSIS, the same for both chips. Some of them are inline in the SDK. */
#ifndef PMSIS_FUNCTIONS_H
#define PMSIS_FUNCTIONS_H

void pi_open_from_conf(struct pi_device *device, void *conf);

/* ---- the operating system ---- */

int pmsis_kickoff(void *arg);
void pmsis_exit(int err);

void *pi_l2_malloc(int size);
void pi_l2_free(void *chunk, int size);

pi_task_t *pi_task_block(pi_task_t *task);
void pi_task_wait_on(pi_task_t *task);

unsigned int pi_time_get_us(void);
void pi_time_wait_us(int time_us);

/* ---- the cluster ---- */

void pi_cluster_conf_init(struct pi_cluster_conf *conf);
int pi_cluster_open(struct pi_device *device);
int pi_cluster_close(struct pi_device *device);
struct pi_cluster_task *pi_cluster_task(struct pi_cluster_task *task, void (*entry)(void *), void *arg);
int pi_cluster_send_task_to_cl_async(struct pi_device *device, struct pi_cluster_task *cluster_task, pi_task_t *task);

void pi_cl_team_fork(int nb_cores, void (*entry)(void *), void *arg);
void pi_cl_team_barrier(void);
int pi_cl_team_nb_cores(void);

void *pi_cl_l1_malloc(struct pi_device *device, uint32_t size);
void pi_cl_l1_free(struct pi_device *device, void *chunk, int size);

/* ---- its DMA ---- */

void pi_cl_dma_cmd(uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd);
void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length, pi_cl_dma_dir_e dir,
                      pi_cl_dma_cmd_t *cmd);
void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t *cmd);

#endif
