/* The declarations of the SDK's access to the PC's files that the gap_sdk platform uses (README.md). */
#ifndef BSP_FS_HOSTFS_H
#define BSP_FS_HOSTFS_H

#include "bsp/fs.h"

struct pi_hostfs_conf {
    struct pi_fs_conf fs;
};

void pi_hostfs_conf_init(struct pi_hostfs_conf *conf);

#endif
