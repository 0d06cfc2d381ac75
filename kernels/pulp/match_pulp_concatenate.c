#include "match_pulp.h"

/* Channels `first` .. `first + channels - 1` of the output: those of one input, through its table. */
static void look_up_input(const match_tile_t *tile, const uint8_t *input, int32_t row_stride, int32_t pixel_stride,
                          int32_t first, int32_t channels, const uint8_t *table)
{
    match_tile_t part = *tile;
    part.input = input;
    part.input_row_stride = row_stride;
    part.input_pixel_stride = pixel_stride;
    part.output = tile->output + first;
    part.channels_out = channels;
    part.parameters = table;
    match_pulp_lookup(&part);
}

void match_pulp_concatenate(const match_tile_t *tile)
{
    const uint8_t *tables = tile->parameters;
    int32_t first = tile->channels_in;
    look_up_input(tile, tile->input, tile->input_row_stride, tile->input_pixel_stride, 0, first, tables);
    look_up_input(tile, tile->addend, tile->addend_row_stride, tile->addend_pixel_stride, first,
                  tile->channels_out - first, tables + 256);
}
