/* The declarations of the SDK's access to the PC's files that the gap_sdk platform uses; see pmsis.h. */
#ifndef BSP_FS_HOSTFS_H
#define BSP_FS_HOSTFS_H

#include "bsp/fs.h"

struct pi_hostfs_conf {
    int type;
};

void pi_hostfs_conf_init(struct pi_hostfs_conf *conf);

#endif
