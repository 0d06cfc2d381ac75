/* HyperRAM and the images in flash on the SDK's drivers. */
#include <bsp/flash/hyperflash.h>
#include <bsp/fs.h>
#include <bsp/fs/readfs.h>
#include <bsp/ram/hyperram.h>

#include "match_status.h"
#include "pulp_copy.h"
#include "pulp_external.h"

/* One for each context of a network that takes external memory. */
#ifndef PULP_EXTERNAL_BLOCKS
#define PULP_EXTERNAL_BLOCKS 8
#endif

/* What passes L2 at a time on the way from flash to RAM, in bytes. */
enum { PIECE = 4096 };

/* The SDK's addresses begin with 0, which is no pointer to anything. */
enum { FIRST = 4096 };

typedef struct {
    uint32_t first; /* as the SDK counts */
    uint32_t bytes; /* 0: there is no block */
} block_t;

static struct {
    struct pi_device *ram;   /* NULL: not open */
    struct pi_device *files; /* NULL: not mounted */
    struct pi_device own_ram;
    struct pi_device own_flash;
    struct pi_device own_files;
    struct pi_hyperram_conf ram_configuration;
    struct pi_hyperflash_conf flash_configuration;
    struct pi_readfs_conf files_configuration;
    block_t blocks[PULP_EXTERNAL_BLOCKS];
} memory;

/* ---- devices ---- */

void match_pulp_external_use(struct pi_device *ram, struct pi_device *files)
{
    memory.ram = ram;
    memory.files = files;
}

static bool open_ram(void)
{
    if (memory.ram == NULL) {
        pi_hyperram_conf_init(&memory.ram_configuration);
        pi_open_from_conf(&memory.own_ram, &memory.ram_configuration);
        if (pi_ram_open(&memory.own_ram) != 0) {
            return false;
        }
        memory.ram = &memory.own_ram;
    }
    return true;
}

static bool mount(void)
{
    if (memory.files == NULL) {
        pi_hyperflash_conf_init(&memory.flash_configuration);
        pi_open_from_conf(&memory.own_flash, &memory.flash_configuration);
        if (pi_flash_open(&memory.own_flash) != 0) {
            return false;
        }
        pi_readfs_conf_init(&memory.files_configuration);
        memory.files_configuration.fs.flash = &memory.own_flash;
        pi_open_from_conf(&memory.own_files, &memory.files_configuration);
        if (pi_fs_mount(&memory.own_files) != 0) {
            pi_flash_close(&memory.own_flash);
            return false;
        }
        memory.files = &memory.own_files;
    }
    return true;
}

/* Behind the last block: what was opened here. */
static void close_all(void)
{
    if (memory.files == &memory.own_files) {
        pi_fs_unmount(&memory.own_files);
        pi_flash_close(&memory.own_flash);
        memory.files = NULL;
    }
    if (memory.ram == &memory.own_ram) {
        pi_ram_close(&memory.own_ram);
        memory.ram = NULL;
    }
}

/* ---- blocks ---- */

static uint32_t ram_address(const void *external)
{
    return (uint32_t)(uintptr_t)external - FIRST;
}

/* Whether a block has all these bytes. */
static bool holds(uint32_t first, uint32_t bytes)
{
    for (uint32_t i = 0; i < PULP_EXTERNAL_BLOCKS; i++) {
        const block_t *const block = &memory.blocks[i];
        const uint32_t before = first - block->first;
        if (first >= block->first && before < block->bytes && bytes <= block->bytes - before) {
            return true;
        }
    }
    return false;
}

void *match_pulp_external_alloc(uint32_t bytes)
{
    uint32_t place = 0;
    while (place < PULP_EXTERNAL_BLOCKS && memory.blocks[place].bytes != 0) {
        place += 1;
    }
    uint32_t first = 0;
    if (place == PULP_EXTERNAL_BLOCKS || bytes == 0 || !open_ram() || pi_ram_alloc(memory.ram, &first, bytes) != 0) {
        return NULL;
    }
    memory.blocks[place] = (block_t){first, bytes};
    return (void *)(uintptr_t)(first + FIRST);
}

void match_pulp_external_free(void *block)
{
    bool last = block != NULL;
    for (uint32_t i = 0; block != NULL && i < PULP_EXTERNAL_BLOCKS; i++) {
        if (memory.blocks[i].bytes != 0 && memory.blocks[i].first == ram_address(block)) {
            (void)pi_ram_free(memory.ram, memory.blocks[i].first, memory.blocks[i].bytes);
            memory.blocks[i].bytes = 0;
        }
        last = last && memory.blocks[i].bytes == 0;
    }
    if (last) {
        close_all();
    }
}

/* ---- images ---- */

/* The file through L2, piece by piece. */
static int32_t copy(pi_fs_file_t *file, uint32_t first, uint32_t bytes, uint8_t *piece)
{
    for (uint32_t done = 0; done < bytes; done += PIECE) {
        const uint32_t count = bytes - done < PIECE ? bytes - done : PIECE;
        if (pi_fs_read(file, piece, count) != (int32_t)count) {
            return MATCH_ERROR_TRANSFER;
        }
        pi_ram_write(memory.ram, first + done, piece, count);
    }
    return MATCH_OK;
}

int32_t match_pulp_external_load(void *external, const match_image_t *image)
{
    const uint32_t first = ram_address(external);
    if (!holds(first, image->bytes) || !mount()) {
        return MATCH_ERROR_TRANSFER;
    }
    uint8_t *const piece = pi_l2_malloc(PIECE);
    pi_fs_file_t *const file = pi_fs_open(memory.files, image->file, PI_FS_FLAGS_READ);
    int32_t status = piece == NULL ? MATCH_ERROR_MEMORY : file == NULL ? MATCH_ERROR_TRANSFER : MATCH_OK;
    if (status == MATCH_OK) {
        status = copy(file, first, image->bytes, piece);
    }
    if (file != NULL) {
        pi_fs_close(file);
    }
    if (piece != NULL) {
        pi_l2_free(piece, PIECE);
    }
    return status;
}

/* ---- transfers ---- */

static void await(match_pulp_external_transfer_t *transfer, uint32_t place)
{
    if (pi_is_fc()) {
        pi_task_wait_on(&transfer->control[place]);
    } else {
        pi_cl_ram_copy_wait(&transfer->cluster[place]);
    }
}

/* `rows` pieces of `bytes`, dense in L2. */
static void command(match_pulp_external_transfer_t *transfer, uint32_t rows, uint32_t bytes, uint32_t stride, int in,
                    void *local, uint32_t external)
{
    const uint32_t place = transfer->count % PULP_EXTERNAL_COMMANDS;
    if (transfer->count >= PULP_EXTERNAL_COMMANDS) {
        await(transfer, place);
    }
    transfer->count += 1;
    const bool dense = rows == 1 || stride == bytes;
    if (!pi_is_fc() && dense) {
        pi_cl_ram_copy(memory.ram, external, local, rows * bytes, in, &transfer->cluster[place]);
    } else if (!pi_is_fc()) {
        pi_cl_ram_copy_2d(memory.ram, external, local, rows * bytes, stride, bytes, in, &transfer->cluster[place]);
    } else if (dense) {
        pi_ram_copy_async(memory.ram, external, local, rows * bytes, in, pi_task_block(&transfer->control[place]));
    } else {
        pi_ram_copy_2d_async(memory.ram, external, local, rows * bytes, stride, bytes, in,
                             pi_task_block(&transfer->control[place]));
    }
}

/* One command per plane, or per row where rows are apart in L2. */
static void start(match_pulp_external_transfer_t *transfer, uint8_t *local, uint32_t external,
                  const match_copy_t *shape, int in)
{
    const match_copy_t copy = match_pulp_copy_merged(shape);
    const uint32_t rows = match_pulp_copy_dense(&copy) ? copy.rows : 1;
    *transfer = (match_pulp_external_transfer_t){
        .active = true,
        .valid = holds(external, match_copy_external_extent(&copy)),
    };
    if (!transfer->valid) {
        return;
    }
    for (uint32_t plane = 0; plane < copy.planes; plane++) {
        for (uint32_t row = 0; row < copy.rows; row += rows) {
            command(transfer, rows, copy.bytes, copy.external_row_stride, in,
                    local + plane * copy.local_plane_stride + row * copy.local_row_stride,
                    external + plane * copy.external_plane_stride + row * copy.external_row_stride);
        }
    }
}

void match_pulp_external_copy_in(match_pulp_external_transfer_t *transfer, void *local, const void *external,
                                 const match_copy_t *shape)
{
    start(transfer, local, ram_address(external), shape, 1);
}

void match_pulp_external_copy_out(match_pulp_external_transfer_t *transfer, const void *local, void *external,
                                  const match_copy_t *shape)
{
    start(transfer, (uint8_t *)(uintptr_t)local, ram_address(external), shape, 0);
}

int32_t match_pulp_external_wait(match_pulp_external_transfer_t *transfer)
{
    const bool good = transfer->active && transfer->valid;
    for (uint32_t place = 0; good && place < PULP_EXTERNAL_COMMANDS && place < transfer->count; place++) {
        await(transfer, place);
    }
    transfer->active = false;
    return good ? MATCH_OK : MATCH_ERROR_TRANSFER;
}
