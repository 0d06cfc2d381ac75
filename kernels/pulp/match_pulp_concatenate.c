#include "match_pulp.h"

/* The channels of one input, through its table. A tile has what match_pulp_lookup reads, and nothing else: all cores would
 * copy the others from the same words. */
static void look_up_input(match_tile_t *part, const uint8_t *input, int32_t row_stride, int32_t pixel_stride,
                          int32_t channels, const uint8_t *table)
{
    part->input = input;
    part->input_row_stride = row_stride;
    part->input_pixel_stride = pixel_stride;
    part->channels_out = channels;
    part->parameters = table;
    match_pulp_lookup(part);
}

void match_pulp_concatenate(const match_tile_t *tile)
{
    const uint8_t *tables = tile->parameters;
    int32_t first = tile->channels_in;
    match_tile_t part;
    part.output = tile->output;
    part.output_height = tile->output_height;
    part.output_width = tile->output_width;
    part.output_row_stride = tile->output_row_stride;
    part.output_pixel_stride = tile->output_pixel_stride;
    look_up_input(&part, tile->input, tile->input_row_stride, tile->input_pixel_stride, first, tables);
    part.output += first;
    look_up_input(&part, tile->addend, tile->addend_row_stride, tile->addend_pixel_stride, tile->channels_out - first,
                  tables + 256);
}
