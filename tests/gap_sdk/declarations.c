/* The declarations of the SDK that the gap_sdk platform uses, name by name. It compiles with the headers that stand in for
 * the SDK and with the SDK's own, so that the first are true to the second. */
#include <bsp/flash/hyperflash.h>
#include <bsp/fs.h>
#include <bsp/fs/hostfs.h>
#include <bsp/fs/readfs.h>
#include <bsp/ram/hyperram.h>
#include <pmsis.h>
#include <stdint.h>

#define IS(name, ...) _Static_assert(__builtin_types_compatible_p(__typeof__(name), __VA_ARGS__), #name)
#define FIELD(structure, name, ...) IS(((structure *)0)->name, __VA_ARGS__)

IS(pi_open_from_conf, void(struct pi_device *, void *));

IS(pmsis_kickoff, int(void *));
IS(pmsis_exit, void(int));
IS(pi_l2_malloc, void *(int));
IS(pi_l2_free, void(void *, int));
IS(pi_task_t, struct pi_task);
IS(pi_task_block, pi_task_t *(pi_task_t *));
IS(pi_task_wait_on, void(pi_task_t *));
IS(pi_time_get_us, unsigned int(void));
IS(pi_time_wait_us, void(int));
IS(pi_core_id, uint32_t(void));
IS(pi_is_fc, uint32_t(void));
#ifdef __FREERTOS__
IS(hal_eu_evt_mask_wait_and_clr, uint32_t(uint32_t));
#else
IS(eu_evt_maskWaitAndClr, unsigned int(unsigned int));
#endif

FIELD(struct pi_cluster_conf, id, int);
FIELD(struct pi_cluster_conf, cc_stack_size, uint32_t);
#ifndef __GAP9__
FIELD(struct pi_cluster_task, stack_size, uint32_t);
#endif
FIELD(struct pi_cluster_task, slave_stack_size, uint32_t);
FIELD(struct pi_cluster_task, nb_cores, int);
IS(pi_cluster_conf_init, void(struct pi_cluster_conf *));
IS(pi_cluster_open, int(struct pi_device *));
IS(pi_cluster_close, int(struct pi_device *));
IS(pi_cluster_task, struct pi_cluster_task *(struct pi_cluster_task *, void (*)(void *), void *));
IS(pi_cluster_send_task_to_cl_async, int(struct pi_device *, struct pi_cluster_task *, pi_task_t *));
IS(pi_cl_team_fork, void(int, void (*)(void *), void *));
IS(pi_cl_team_barrier, void(void));
IS(pi_cl_team_nb_cores, int(void));
IS(pi_cl_l1_malloc, void *(struct pi_device *, uint32_t));
IS(pi_cl_l1_free, void(struct pi_device *, void *, int));

IS(pi_cl_dma_cmd_t, struct pi_cl_dma_cmd_s);
_Static_assert(PI_CL_DMA_DIR_LOC2EXT == 0 && PI_CL_DMA_DIR_EXT2LOC == 1, "directions");
IS(pi_cl_dma_cmd, void(uint32_t, uint32_t, uint32_t, pi_cl_dma_dir_e, pi_cl_dma_cmd_t *));
IS(pi_cl_dma_cmd_2d, void(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, pi_cl_dma_dir_e, pi_cl_dma_cmd_t *));
IS(pi_cl_dma_cmd_wait, void(pi_cl_dma_cmd_t *));

IS(pi_hyperram_conf_init, void(struct pi_hyperram_conf *));
IS(pi_cl_ram_req_t, struct pi_cl_ram_req_s);
IS(pi_ram_open, int32_t(struct pi_device *));
IS(pi_ram_close, void(struct pi_device *));
IS(pi_ram_alloc, int(struct pi_device *, uint32_t *, uint32_t));
IS(pi_ram_free, int(struct pi_device *, uint32_t, uint32_t));
IS(pi_ram_write, void(struct pi_device *, uint32_t, void *, uint32_t));
IS(pi_ram_copy_async, void(struct pi_device *, uint32_t, void *, uint32_t, int, pi_task_t *));
IS(pi_ram_copy_2d_async,
   void(struct pi_device *, uint32_t, void *, uint32_t, uint32_t, uint32_t, int, pi_task_t *));
IS(pi_cl_ram_copy, void(struct pi_device *, uint32_t, void *, uint32_t, int, pi_cl_ram_req_t *));
IS(pi_cl_ram_copy_2d,
   void(struct pi_device *, uint32_t, void *, uint32_t, uint32_t, uint32_t, int, pi_cl_ram_req_t *));
IS(pi_cl_ram_copy_wait, void(pi_cl_ram_req_t *));

IS(pi_hyperflash_conf_init, void(struct pi_hyperflash_conf *));
IS(pi_flash_open, int(struct pi_device *));
IS(pi_flash_close, void(struct pi_device *));

FIELD(struct pi_fs_conf, flash, struct pi_device *);
FIELD(struct pi_readfs_conf, fs, struct pi_fs_conf);
FIELD(struct pi_hostfs_conf, fs, struct pi_fs_conf);
IS(pi_fs_file_t, struct pi_fs_file_s);
_Static_assert(PI_FS_FLAGS_READ == 0 && PI_FS_FLAGS_WRITE == 1, "flags of files");
IS(pi_hostfs_conf_init, void(struct pi_hostfs_conf *));
IS(pi_readfs_conf_init, void(struct pi_readfs_conf *));
IS(pi_fs_mount, int32_t(struct pi_device *));
IS(pi_fs_unmount, void(struct pi_device *));
IS(pi_fs_open, pi_fs_file_t *(struct pi_device *, const char *, int));
IS(pi_fs_close, void(pi_fs_file_t *));
IS(pi_fs_read, int32_t(pi_fs_file_t *, void *, uint32_t));
IS(pi_fs_write, int32_t(pi_fs_file_t *, void *, uint32_t));
