/* Convolutions with the filters that NE16 has. */
#include "match_ne16.h"

#include "ne16_jobs.h"
#include "ne16_parts.h"

/* Requantized by NE16. */
static void convolve(const match_tile_t *tile, uint32_t mode, match_ne16_output_t output)
{
    match_ne16_destination_t destination = match_ne16_output_of(tile);
    match_ne16_channels_t channels = match_ne16_first_group(tile);
    match_ne16_jobs_t jobs;
    match_ne16_begin_jobs(&jobs, tile, mode, output);
    if (tile->groups > 1) {
        match_ne16_submit_groups(&jobs, tile, mode, output, channels, destination, 0, tile->output_height,
                                 tile->groups);
    } else {
        (void)match_ne16_submit_rows(&jobs, tile, mode, &channels, destination, 0, tile->output_height);
    }
}

/* Channels of a tile's largest part: as many groups as fit a block, or a block of a group. */
static int32_t part_channels(const match_tile_t *tile, uint32_t mode)
{
    int32_t block = match_ne16_subtile_channels(mode);
    int32_t groups = match_ne16_smaller(match_ne16_groups_of(tile), block / tile->channels_out);
    return groups > 0 ? groups * tile->channels_out : block;
}

/* Requantized by the cluster, one part behind NE16. */
static void convolve_exact(const match_tile_t *tile, uint32_t mode, match_ne16_requantization_t exact)
{
    int32_t most = part_channels(tile, mode);
    int32_t least = match_ne16_is_strided(tile, mode) ? NE16_STRIDED_ROWS : NE16_SUBTILE_OUTPUT;
    int32_t each = match_ne16_part_rows(tile, least, tile->output_width * most * (int32_t)sizeof(int32_t));
    ptrdiff_t parameter_bytes = match_parameter_bytes(match_form_of(tile, exact.form));
    match_tile_t parts[2]; /* what the cluster does, and what it does next */
    int32_t all_channels = match_ne16_groups_of(tile) * tile->channels_out;
    int32_t bound = tile->channels_out > most ? tile->channels_out : all_channels; /* no part goes beyond a multiple */
    int32_t count = 0;
    match_ne16_jobs_t jobs;
    match_ne16_begin_jobs(&jobs, tile, mode, NE16_OUTPUT_ACCUMULATORS);
    for (int32_t row = 0; row < tile->output_height; row += each) {
        match_ne16_part_t part = {.row = row, .rows = match_ne16_smaller(each, tile->output_height - row)};
        for (int32_t end = bound; part.channel < all_channels; part.channel += part.channels, count++) {
            end += part.channel == end ? bound : 0;
            part.channels = match_ne16_smaller(most, end - part.channel);
            int32_t *scratch = (int32_t *)tile->scratch + count % 2 * each * tile->output_width * most;
            if (tile->groups > 1) {
                match_ne16_submit_grouped_part(&jobs, tile, mode, &part, scratch);
            } else {
                match_ne16_submit_part(&jobs, tile, mode, &part, scratch);
            }
            match_tile_t *requantized = &parts[count % 2];
            match_ne16_aim_requantization(requantized, tile, parameter_bytes, &part, scratch);
            jobs.behind.kernel = exact.kernel;
            jobs.behind.tile = requantized;
        }
    }
    match_ne16_join_behind(&jobs.behind);
    match_ne16_wait(0);
    match_ne16_start_behind(&jobs.behind);
    match_ne16_join_behind(&jobs.behind);
}

void match_ne16_conv2d_3x3(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_3X3, NE16_OUTPUT_M32);
}

void match_ne16_conv2d_3x3_m16(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_3X3, NE16_OUTPUT_M16);
}

void match_ne16_conv2d_3x3_m8(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_3X3, NE16_OUTPUT_M8);
}

void match_ne16_conv2d_3x3_exact(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_3X3, match_ne16_by_64_bits);
}

void match_ne16_conv2d_3x3_exact_split(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_3X3, match_ne16_by_halves);
}

void match_ne16_conv2d_1x1(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_1X1, NE16_OUTPUT_M32);
}

void match_ne16_conv2d_1x1_m16(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_1X1, NE16_OUTPUT_M16);
}

void match_ne16_conv2d_1x1_m8(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_1X1, NE16_OUTPUT_M8);
}

void match_ne16_conv2d_1x1_exact(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_1X1, match_ne16_by_64_bits);
}

void match_ne16_conv2d_1x1_exact_split(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_1X1, match_ne16_by_halves);
}

void match_ne16_depthwise_3x3(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_DEPTHWISE, NE16_OUTPUT_M32);
}

void match_ne16_depthwise_3x3_m16(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_DEPTHWISE, NE16_OUTPUT_M16);
}

void match_ne16_depthwise_3x3_m8(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_DEPTHWISE, NE16_OUTPUT_M8);
}

void match_ne16_depthwise_3x3_exact(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_DEPTHWISE, match_ne16_by_64_bits);
}

void match_ne16_depthwise_3x3_exact_split(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_DEPTHWISE, match_ne16_by_halves);
}
