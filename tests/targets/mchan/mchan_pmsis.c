/* The same behind the SDK's calls, which take a counter for each command. */
#include <assert.h>
#include <pmsis.h>
#include <string.h>

#include "mchan.h"

static uint32_t taken;
static mchan_count_t counted;

static void move(uint32_t external, uint32_t local, uint32_t bytes, pi_cl_dma_dir_e dir)
{
    if (dir == PI_CL_DMA_DIR_EXT2LOC) {
        memcpy((void *)(uintptr_t)local, (void *)(uintptr_t)external, bytes);
    } else {
        memcpy((void *)(uintptr_t)external, (void *)(uintptr_t)local, bytes);
    }
}

static void take(pi_cl_dma_cmd_t *cmd)
{
    int counter = 0;
    while (taken >> counter & 1) {
        counter += 1;
    }
    assert(counter < 16);
    taken |= 1u << counter;
    cmd->content = counter;
    counted.commands += 1;
}

void pi_cl_dma_cmd(uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t *cmd)
{
    take(cmd);
    move(ext, loc, size, dir);
}

void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length, pi_cl_dma_dir_e dir,
                      pi_cl_dma_cmd_t *cmd)
{
    take(cmd);
    counted.strided += 1;
    assert(size % length == 0);
    for (uint32_t row = 0; row < size / length; row++) {
        move(ext + row * stride, loc + row * length, length, dir);
    }
}

void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t *cmd)
{
    assert(taken >> cmd->content & 1);
    taken &= ~(1u << cmd->content);
}

mchan_count_t mchan_count(void)
{
    mchan_count_t result = counted;
    counted = (mchan_count_t){0};
    return result;
}

uint32_t mchan_taken(void)
{
    return (uint32_t)__builtin_popcount(taken);
}
