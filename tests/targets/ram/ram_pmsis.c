/* HyperRAM and flash behind the SDK's calls. Transfers happen when they are waited for. */
#include "ram.h"

#include <assert.h>
#include <bsp/flash/hyperflash.h>
#include <bsp/fs/readfs.h>
#include <bsp/ram/hyperram.h>
#include <stdlib.h>
#include <string.h>

enum { PENDING = 16 };

uint8_t ram[RAM_BYTES];
uint8_t ram_file[RAM_FILE_BYTES];

static struct {
    uint32_t external;
    uint8_t *local;
    uint32_t size;
    uint32_t stride;
    uint32_t length;
    int in;
} pending[PENDING];

static uint32_t commands;
static uint32_t under_way;
static uint32_t taken; /* bytes of blocks, which are never reused */
static uint32_t blocks;
static int opened;
static int on_cluster;
static uint32_t position;

void ram_on_cluster(int cluster)
{
    on_cluster = cluster;
}

uint32_t ram_commands(void)
{
    const uint32_t count = commands;
    commands = 0;
    return count;
}

int ram_quiet(void)
{
    return under_way == 0 && blocks == 0 && opened == 0;
}

uint32_t pi_is_fc(void)
{
    return !on_cluster;
}

/* ---- transfers ---- */

static int start(uint32_t external, void *local, uint32_t size, uint32_t stride, uint32_t length, int in)
{
    int place = 0;
    while (pending[place].size != 0) {
        place += 1;
    }
    assert(place < PENDING && size != 0 && size % length == 0);
    pending[place].external = external;
    pending[place].local = local;
    pending[place].size = size;
    pending[place].stride = stride;
    pending[place].length = length;
    pending[place].in = in;
    commands += 1;
    under_way += 1;
    return place;
}

static void finish(int place)
{
    assert(pending[place].size != 0);
    const uint32_t length = pending[place].length;
    for (uint32_t row = 0; row < pending[place].size / length; row++) {
        uint8_t *outer = ram + pending[place].external + row * pending[place].stride;
        uint8_t *inner = pending[place].local + row * length;
        assert(outer + length <= ram + sizeof ram);
        memcpy(pending[place].in ? inner : outer, pending[place].in ? outer : inner, length);
    }
    pending[place].size = 0;
    under_way -= 1;
}

void pi_ram_copy_async(struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size, int ext2loc,
                       pi_task_t *task)
{
    pi_ram_copy_2d_async(device, pi_ram_addr, data, size, size, size, ext2loc, task);
}

void pi_ram_copy_2d_async(struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size, uint32_t stride,
                          uint32_t length, int ext2loc, pi_task_t *task)
{
    assert(opened && device != NULL && !on_cluster);
    task->content = start(pi_ram_addr, data, size, stride, length, ext2loc);
}

void pi_cl_ram_copy(struct pi_device *device, uint32_t pi_ram_addr, void *addr, uint32_t size, int ext2loc,
                    pi_cl_ram_req_t *req)
{
    pi_cl_ram_copy_2d(device, pi_ram_addr, addr, size, size, size, ext2loc, req);
}

void pi_cl_ram_copy_2d(struct pi_device *device, uint32_t pi_ram_addr, void *addr, uint32_t size, uint32_t stride,
                       uint32_t length, int ext2loc, pi_cl_ram_req_t *req)
{
    assert(opened && device != NULL && on_cluster);
    req->content = start(pi_ram_addr, addr, size, stride, length, ext2loc);
}

pi_task_t *pi_task_block(pi_task_t *task)
{
    return task;
}

void pi_task_wait_on(pi_task_t *task)
{
    assert(!on_cluster);
    finish(task->content);
}

void pi_cl_ram_copy_wait(pi_cl_ram_req_t *req)
{
    assert(on_cluster);
    finish(req->content);
}

/* ---- devices ---- */

void pi_open_from_conf(struct pi_device *device, void *conf)
{
    device->config = conf;
}

void pi_hyperram_conf_init(struct pi_hyperram_conf *conf)
{
    conf->content = 0;
}

int32_t pi_ram_open(struct pi_device *device)
{
    assert(device->config != NULL);
    opened += 1;
    return 0;
}

void pi_ram_close(struct pi_device *device)
{
    assert(device->config != NULL);
    opened -= 1;
}

int pi_ram_alloc(struct pi_device *device, uint32_t *addr, uint32_t size)
{
    assert(opened && device != NULL);
    if (size > RAM_BYTES - taken) {
        return -1;
    }
    *addr = taken;
    taken += (size + 3) / 4 * 4;
    blocks += 1;
    return 0;
}

int pi_ram_free(struct pi_device *device, uint32_t addr, uint32_t size)
{
    assert(opened && device != NULL && addr + size <= taken);
    blocks -= 1;
    return 0;
}

void pi_ram_write(struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size)
{
    assert(opened && device != NULL && pi_ram_addr + size <= RAM_BYTES);
    memcpy(ram + pi_ram_addr, data, size);
}

void pi_hyperflash_conf_init(struct pi_hyperflash_conf *conf)
{
    conf->content = 0;
}

int pi_flash_open(struct pi_device *device)
{
    assert(device->config != NULL);
    opened += 1;
    return 0;
}

void pi_flash_close(struct pi_device *device)
{
    assert(device->config != NULL);
    opened -= 1;
}

/* ---- files ---- */

void pi_readfs_conf_init(struct pi_readfs_conf *conf)
{
    conf->fs.flash = NULL;
}

int32_t pi_fs_mount(struct pi_device *device)
{
    const struct pi_readfs_conf *conf = device->config;
    assert(conf->fs.flash != NULL);
    opened += 1;
    return 0;
}

void pi_fs_unmount(struct pi_device *device)
{
    assert(device->config != NULL);
    opened -= 1;
}

pi_fs_file_t *pi_fs_open(struct pi_device *device, const char *file, int flags)
{
    assert(device->config != NULL && flags == PI_FS_FLAGS_READ);
    position = 0;
    opened += 1;
    if (strcmp(file, RAM_FILE) != 0) {
        opened -= 1;
        return NULL;
    }
    return (pi_fs_file_t *)ram_file;
}

void pi_fs_close(pi_fs_file_t *file)
{
    assert((uint8_t *)file == ram_file);
    opened -= 1;
}

int32_t pi_fs_read(pi_fs_file_t *file, void *buffer, uint32_t size)
{
    assert((uint8_t *)file == ram_file);
    const uint32_t left = RAM_FILE_BYTES - position;
    const uint32_t count = size < left ? size : left;
    memcpy(buffer, ram_file + position, count);
    position += count;
    return (int32_t)count;
}

void *pi_l2_malloc(int size)
{
    return malloc((size_t)size);
}

void pi_l2_free(void *chunk, int size)
{
    (void)size;
    free(chunk);
}
