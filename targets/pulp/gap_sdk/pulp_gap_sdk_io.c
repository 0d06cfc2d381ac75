/* Samples from inputs.bin, outputs to outputs.bin: files of the PC that the board's debugger or the simulator runs on. */
#include "match_io.h"

#include <bsp/fs.h>
#include <bsp/fs/hostfs.h>
#include <pmsis.h>
#include <stdio.h>

#include "match_status.h"

static struct pi_device files;
static struct pi_hostfs_conf configuration;

/* NULL while they are closed. */
static pi_fs_file_t *in;
static pi_fs_file_t *out;

int32_t match_io_open(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    pi_hostfs_conf_init(&configuration);
    pi_open_from_conf(&files, &configuration);
    if (pi_fs_mount(&files) != 0) {
        printf("error: the files of the PC cannot be reached\n");
        return MATCH_ERROR_PLATFORM;
    }
    in = pi_fs_open(&files, "inputs.bin", PI_FS_FLAGS_READ);
    out = in != NULL ? pi_fs_open(&files, "outputs.bin", PI_FS_FLAGS_WRITE) : NULL;
    if (out == NULL) {
        printf("error: %s cannot be opened\n", in == NULL ? "inputs.bin" : "outputs.bin");
        return MATCH_ERROR_PLATFORM;
    }
    return MATCH_OK;
}

bool match_io_read(void *data, size_t bytes)
{
    return pi_fs_read(in, data, (uint32_t)bytes) == (int32_t)bytes;
}

bool match_io_write(const void *data, size_t bytes)
{
    return pi_fs_write(out, (void *)(uintptr_t)data, (uint32_t)bytes) == (int32_t)bytes;
}

int32_t match_io_close(void)
{
    if (in != NULL) {
        pi_fs_close(in);
    }
    if (out != NULL) {
        pi_fs_close(out);
    }
    in = NULL;
    out = NULL;
    pi_fs_unmount(&files);
    return MATCH_OK;
}
