#include "ne16_parts.h"

/* Where a part's accumulators go. */
static match_ne16_destination_t destination_of(const match_tile_t *tile, const match_ne16_part_t *part,
                                               int32_t *scratch)
{
    int32_t pixel_stride = part->channels * (int32_t)sizeof(int32_t);
    return (match_ne16_destination_t){match_l1_address(scratch), tile->output_width * pixel_stride, pixel_stride};
}

void match_ne16_submit_part(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                            const match_ne16_part_t *part, int32_t *scratch)
{
    int32_t weight_rows = mode == NE16_MODE_DEPTHWISE ? part->channel / NE16_SUBTILE_KI : part->channel;
    match_ne16_channels_t channels = match_ne16_first_group(tile);
    channels.weights += (ptrdiff_t)weight_rows * match_ne16_weight_stride(tile, mode);
    channels.channels_out = part->channels;
    if (mode == NE16_MODE_DEPTHWISE) {
        channels.channels_in = part->channels;
        channels.input += part->channel;
    }
    jobs->behind.awaited = true; /* the cluster still reads the memory that these accumulators go to */
    (void)match_ne16_submit_rows(jobs, tile, mode, &channels, destination_of(tile, part, scratch), part->row,
                                 part->row + part->rows);
}

void match_ne16_submit_grouped_part(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                                    const match_ne16_part_t *part, int32_t *scratch)
{
    int32_t group = part->channel / tile->channels_out;
    match_ne16_channels_t channels = match_ne16_first_group(tile);
    channels.input += group * tile->channels_in;
    channels.weights += (ptrdiff_t)part->channel * match_ne16_weight_stride(tile, mode);
    channels.channels_out = match_ne16_smaller(part->channels, tile->channels_out);
    jobs->behind.awaited = true;
    match_ne16_destination_t destination = destination_of(tile, part, scratch);
    match_ne16_submit_groups(jobs, tile, mode, NE16_OUTPUT_ACCUMULATORS, channels, destination, part->row,
                             part->row + part->rows, part->channels / channels.channels_out);
}

void match_ne16_aim_requantization(match_tile_t *tile, const match_tile_t *whole, ptrdiff_t parameter_bytes,
                                   const match_ne16_part_t *part, int32_t *scratch)
{
    *tile = *whole;
    tile->channels_out = part->channels;
    tile->parameters = (const uint8_t *)whole->parameters + part->channel * parameter_bytes;
    if (whole->excepted != NULL) {
        tile->excepted = (const uint16_t *)whole->excepted + part->channel;
    }
    tile->output = whole->output + part->channel + part->row * whole->output_row_stride;
    tile->output_height = part->rows;
    tile->scratch = scratch;
}
