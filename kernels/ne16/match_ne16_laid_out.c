/* Convolutions whose windows the cluster lays out as pixels. */
#include "match_ne16.h"
#include "match_pulp.h"
#include "ne16_jobs.h"
#include "ne16_parts.h"

/* What the cluster does beside NE16: it requantizes what NE16 left, and lays out what NE16 takes next. */
typedef struct {
    match_tile_t requantized; /* the first member: the team gets its address */
    match_tile_t laid_out;
    match_kernel_t requantize; /* NULL: nothing to requantize */
    bool lays_out;
} work_t;

static void do_work(const match_tile_t *tile)
{
    const work_t *work = (const work_t *)tile;
    if (work->requantize != NULL) {
        work->requantize(&work->requantized);
    }
    if (work->lays_out) {
        match_pulp_lay_out(&work->laid_out);
    }
}

/* Let the cluster do that next, if there is something. */
static void set_behind(match_ne16_behind_t *behind, const work_t *work)
{
    behind->kernel = work->requantize != NULL || work->lays_out ? do_work : NULL;
    behind->tile = &work->requantized;
}

/* Make the tile by which the cluster lays out the windows of some rows of outputs, if the tile `whole` has these. */
static void aim_layout(work_t *work, const match_tile_t *whole, int32_t row, int32_t rows, uint8_t *windows)
{
    work->lays_out = row < whole->output_height;
    if (work->lays_out) {
        work->laid_out = *whole;
        work->laid_out.pad_top = whole->pad_top - row * whole->stride_y;
        work->laid_out.output_height = match_ne16_smaller(rows, whole->output_height - row);
        work->laid_out.scratch = windows;
    }
}

/* The tile as NE16 sees it: each window is a pixel, and shares bytes with those beside it. */
static match_tile_t pixels_of(const match_tile_t *tile)
{
    match_tile_t pixels = *tile;
    pixels.input_pixel_stride = tile->filter_height * tile->channels_in;
    int32_t columns = (tile->output_width - 1) * tile->stride_x + tile->filter_width;
    pixels.input_row_stride = columns * pixels.input_pixel_stride;
    pixels.channels_in = tile->filter_width * pixels.input_pixel_stride;
    pixels.stride_y = 1;
    return pixels;
}

/* Requantized by NE16. */
static void convolve_laid_out(const match_tile_t *tile, match_ne16_output_t output)
{
    match_tile_t pixels = pixels_of(tile);
    int32_t each = match_ne16_part_rows(tile, NE16_SUBTILE_OUTPUT, pixels.input_row_stride);
    uint8_t *windows[2] = {tile->scratch, (uint8_t *)tile->scratch + each * pixels.input_row_stride};
    match_ne16_destination_t destination = match_ne16_output_of(tile);
    work_t works[2];
    works[0].requantize = works[1].requantize = NULL; /* an initializer would clear all of it */
    match_ne16_jobs_t jobs;
    match_ne16_begin_jobs(&jobs, &pixels, NE16_MODE_1X1, output);
    aim_layout(&works[0], tile, 0, each, windows[0]);
    set_behind(&jobs.behind, &works[0]);
    match_ne16_start_behind(&jobs.behind);
    for (int32_t row = 0, part = 0; row < tile->output_height; row += each, part ^= 1) {
        aim_layout(&works[part ^ 1], tile, row + each, each, windows[part ^ 1]);
        set_behind(&jobs.behind, &works[part ^ 1]);
        match_ne16_channels_t channels = match_ne16_first_group(&pixels);
        channels.input = windows[part];
        jobs.behind.awaited = true; /* the cluster lays out these windows */
        (void)match_ne16_submit_rows(&jobs, &pixels, NE16_MODE_1X1, &channels, destination, 0,
                                     match_ne16_smaller(each, tile->output_height - row));
        destination.address += (uint32_t)(each * tile->output_row_stride);
    }
}

/* Requantized by the cluster. */
static void convolve_laid_out_exact(const match_tile_t *tile, match_ne16_requantization_t exact)
{
    match_tile_t pixels = pixels_of(tile);
    int32_t most = match_ne16_smaller(tile->channels_out, NE16_SUBTILE_KO);
    int32_t sums_row = tile->output_width * most * (int32_t)sizeof(int32_t);
    int32_t each =
        match_ne16_part_rows(tile, NE16_SUBTILE_OUTPUT, match_ne16_larger(pixels.input_row_stride, sums_row));
    int32_t windows_bytes = match_ne16_smaller(2 * each, tile->output_height) * pixels.input_row_stride;
    uint8_t *windows[2] = {tile->scratch, (uint8_t *)tile->scratch + each * pixels.input_row_stride};
    int32_t *sums = (int32_t *)tile->scratch + match_ne16_ceil_div(windows_bytes, (int32_t)sizeof(int32_t));
    ptrdiff_t parameter_bytes = match_parameter_bytes(match_form_of(tile, exact.form));
    work_t works[2];
    works[0].requantize = works[1].requantize = NULL;
    int32_t step = 0;
    match_ne16_jobs_t jobs;
    match_ne16_begin_jobs(&jobs, &pixels, NE16_MODE_1X1, NE16_OUTPUT_ACCUMULATORS);
    aim_layout(&works[1], tile, 0, each, windows[0]);
    set_behind(&jobs.behind, &works[1]);
    match_ne16_start_behind(&jobs.behind);
    for (int32_t row = 0, half = 0; row < tile->output_height; row += each, half ^= 1) {
        pixels.input = windows[half];
        for (int32_t channel = 0; channel < tile->channels_out; channel += most, step ^= 1) {
            aim_layout(&works[step], tile, channel == 0 ? row + each : tile->output_height, each, windows[half ^ 1]);
            set_behind(&jobs.behind, &works[step]);
            match_ne16_part_t part = {0, match_ne16_smaller(each, tile->output_height - row), channel,
                                      match_ne16_smaller(most, tile->channels_out - channel)};
            int32_t *left = sums + step * each * tile->output_width * most;
            match_ne16_submit_part(&jobs, &pixels, NE16_MODE_1X1, &part, left);
            part.row = row;
            works[step ^ 1].requantize = exact.kernel;
            match_ne16_aim_requantization(&works[step ^ 1].requantized, tile, parameter_bytes, &part, left);
        }
    }
    match_ne16_join_behind(&jobs.behind);
    match_ne16_wait(0);
    works[step].lays_out = false;
    set_behind(&jobs.behind, &works[step]);
    match_ne16_start_behind(&jobs.behind);
    match_ne16_join_behind(&jobs.behind);
}

void match_ne16_conv2d_laid_out(const match_tile_t *tile)
{
    convolve_laid_out(tile, NE16_OUTPUT_M32);
}

void match_ne16_conv2d_laid_out_m16(const match_tile_t *tile)
{
    convolve_laid_out(tile, NE16_OUTPUT_M16);
}

void match_ne16_conv2d_laid_out_m8(const match_tile_t *tile)
{
    convolve_laid_out(tile, NE16_OUTPUT_M8);
}

void match_ne16_conv2d_laid_out_exact(const match_tile_t *tile)
{
    convolve_laid_out_exact(tile, match_ne16_by_64_bits);
}

void match_ne16_conv2d_laid_out_exact_split(const match_tile_t *tile)
{
    convolve_laid_out_exact(tile, match_ne16_by_halves);
}
