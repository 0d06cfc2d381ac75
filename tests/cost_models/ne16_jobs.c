/* Counts the registers that the NE16 driver reads and writes to start the jobs of tiles, one tile to a line: mode (3, 1 or 0: depthwise), groups
 * (0: none), channels of each, output height and width, stride, padding (top, left), input height and width. */
#include <stdio.h>

#include "match_ne16.h"
#include "match_pulp.h"
#include "match_team.h"
#include "ne16_driver.h"

static int accesses;

void match_ne16_write(uint32_t word, uint32_t value)
{
    (void)word;
    (void)value;
    accesses += 1;
}

void match_ne16_write_job(const match_ne16_job_t *job, uint32_t first, uint32_t last)
{
    (void)job;
    accesses += (int)(last - first) + 1;
}

uint32_t match_ne16_read(uint32_t word)
{
    accesses += word == NE16_ACQUIRE;
    return 0;
}

void match_ne16_wait_event(void)
{
}

uint32_t match_l1_address(const void *pointer)
{
    (void)pointer;
    return 0;
}

int32_t match_team_start(match_kernel_t kernel, const match_tile_t *tile)
{
    (void)kernel;
    (void)tile;
    return 0;
}

int32_t match_team_wait(void)
{
    return 0;
}

void match_pulp_requantize(const match_tile_t *tile)
{
    (void)tile;
}

void match_pulp_requantize_split(const match_tile_t *tile)
{
    (void)tile;
}

void match_pulp_lay_out(const match_tile_t *tile)
{
    (void)tile;
}

int main(void)
{
    int mode, groups, channels, oy, ox, stride, top, left, iy, ix;
    while (scanf("%d%d%d%d%d%d%d%d%d%d", &mode, &groups, &channels, &oy, &ox, &stride, &top, &left, &iy, &ix) == 10) {
        int all = (groups == 0 ? 1 : groups) * channels;
        match_tile_t tile = {
            .channels_in = mode == 0 ? channels : 16,
            .channels_out = channels,
            .input_height = iy,
            .input_width = ix,
            .output_height = oy,
            .output_width = ox,
            .output_pixel_stride = all,
            .output_row_stride = ox * all,
            .stride_y = stride,
            .stride_x = stride,
            .pad_top = top,
            .pad_left = left,
            .groups = groups,
        };
        accesses = 0;
        (mode == 0 ? match_ne16_depthwise_3x3 : mode == 1 ? match_ne16_conv2d_1x1 : match_ne16_conv2d_3x3)(&tile);
        printf("%d\n", accesses);
    }
    return 0;
}
