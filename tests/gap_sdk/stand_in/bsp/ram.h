/* The declarations of the SDK's external RAM that the gap_sdk platform uses (README.md). */
#ifndef BSP_RAM_H
#define BSP_RAM_H

#include "pmsis.h"

int32_t pi_ram_open(struct pi_device *device);
void pi_ram_close(struct pi_device *device);
int pi_ram_alloc(struct pi_device *device, uint32_t *addr, uint32_t size);
int pi_ram_free(struct pi_device *device, uint32_t addr, uint32_t size);
void pi_ram_write(struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size);

/* From the control core. `ext2loc` is 1 for transfers from the RAM. */
void pi_ram_copy_async(struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size, int ext2loc,
                       pi_task_t *task);
void pi_ram_copy_2d_async(struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size, uint32_t stride,
                          uint32_t length, int ext2loc, pi_task_t *task);

/* From the cluster. */
typedef struct pi_cl_ram_req_s {
    int content;
} pi_cl_ram_req_t;

void pi_cl_ram_copy(struct pi_device *device, uint32_t pi_ram_addr, void *addr, uint32_t size, int ext2loc,
                    pi_cl_ram_req_t *req);
void pi_cl_ram_copy_2d(struct pi_device *device, uint32_t pi_ram_addr, void *addr, uint32_t size, uint32_t stride,
                       uint32_t length, int ext2loc, pi_cl_ram_req_t *req);
void pi_cl_ram_copy_wait(pi_cl_ram_req_t *req);

#endif
