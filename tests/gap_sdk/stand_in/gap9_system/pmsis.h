/* For GAP9's interface in the SDK that is public, which has the headers of PMSIS for the chip and not the operating system
 * behind them: pmsis.h of these headers, with inline functions that do nothing. */
#ifndef PMSIS_H
#define PMSIS_H

#include <pmsis/pmsis_types.h>

#include "pmsis_system.h"

#include <pmsis/errno.h>
#include <pmsis/device.h>
#include <pmsis/task.h>
#include <pmsis/rtos/os_frontend_api/os.h>
#include <pmsis/rtos/os_frontend_api/pmsis_time.h>
#include <pmsis/rtos/malloc/cl_l1_malloc.h>
#include <pmsis/rtos/malloc/l2_malloc.h>
#include <pmsis/cluster/cluster_sync/fc_to_cl_delegate.h>
#include <pmsis/cluster/cluster_team/cl_team.h>
#include <pmsis/cluster/dma/cl_dma.h>
#include <pmsis/drivers/aes_utils.h>

static inline pi_task_t *pi_task_block(pi_task_t *task)
{
    return task;
}

static inline void pi_task_wait_on(pi_task_t *task)
{
    (void)task;
}

static inline struct pi_cluster_task *pi_cluster_task(struct pi_cluster_task *task, void (*entry)(void *), void *arg)
{
    task->entry = entry;
    task->arg = arg;
    return task;
}

static inline void pi_cl_dma_cmd(uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd)
{
    (void)ext, (void)loc, (void)size, (void)dir, (void)cmd;
}

static inline void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length,
                                    pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd)
{
    (void)ext, (void)loc, (void)size, (void)stride, (void)length, (void)dir, (void)cmd;
}

static inline void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t *cmd)
{
    (void)cmd;
}

static inline int pmsis_kickoff(void *arg)
{
    (void)arg;
    return 0;
}

static inline void pmsis_exit(int err)
{
    (void)err;
}

/* Of the headers of memories: what their own inline functions call. */
void cl_wait_task(unsigned char *done);

#endif
