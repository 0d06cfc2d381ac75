/* The declarations of the SDK's read-only file system that the gap_sdk platform uses (README.md). */
#ifndef BSP_FS_READFS_H
#define BSP_FS_READFS_H

#include "bsp/fs.h"

struct pi_readfs_conf {
    struct pi_fs_conf fs;
};

void pi_readfs_conf_init(struct pi_readfs_conf *conf);

#endif
