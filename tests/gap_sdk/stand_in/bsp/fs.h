/* The declarations of the SDK's file systems that the gap_sdk platform uses (README.md). */
#ifndef BSP_FS_H
#define BSP_FS_H

#include "pmsis.h"

#include <stdbool.h>

typedef enum { PI_FS_READ_ONLY = 0, PI_FS_HOST = 1, PI_FS_LFS = 2 } pi_fs_type_e;

typedef enum { PI_FS_FLAGS_READ = 0, PI_FS_FLAGS_WRITE = 1, PI_FS_FLAGS_APPEND = 2 } pi_fs_flags_e;

struct pi_fs_conf {
    pi_fs_type_e type;
    struct pi_device *flash;
    char *partition_name;
    bool auto_format;
    struct pi_fs_api *api;
};

typedef struct pi_fs_file_s pi_fs_file_t;

int32_t pi_fs_mount(struct pi_device *device);
void pi_fs_unmount(struct pi_device *device);
pi_fs_file_t *pi_fs_open(struct pi_device *device, const char *file, int flags);
void pi_fs_close(pi_fs_file_t *file);
int32_t pi_fs_read(pi_fs_file_t *file, void *buffer, uint32_t size);
int32_t pi_fs_write(pi_fs_file_t *file, void *buffer, uint32_t size);

#endif
