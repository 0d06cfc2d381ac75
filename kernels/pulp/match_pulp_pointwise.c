#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

/* A pixel of both tensors, and its column. */
typedef struct {
    const uint8_t *input;
    uint8_t *output;
    int32_t x;
} place_t;

static void advance(const match_tile_t *tile, place_t *place)
{
    place->input += tile->input_pixel_stride;
    place->output += tile->output_pixel_stride;
    if (++place->x == tile->output_width) {
        place->x = 0;
        place->input += tile->input_row_stride - tile->output_width * tile->input_pixel_stride;
        place->output += tile->output_row_stride - tile->output_width * tile->output_pixel_stride;
    }
}

static void pointwise(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    match_share_t pixels = match_share(tile->output_height * tile->output_width);
    int32_t y = pixels.first / tile->output_width;
    int32_t x = pixels.first % tile->output_width;
    place_t place = {match_input_pixel(tile, y, x), match_output_pixel(tile, y, x), x};
    int32_t left = pixels.last - pixels.first;
    for (; left >= 2; left -= 2) {
        const uint8_t *inputs[2];
        uint8_t *outputs[2];
        for (int32_t i = 0; i < 2; i++) {
            inputs[i] = place.input;
            outputs[i] = place.output;
            advance(tile, &place);
        }
        match_pulp_matmul_pixels(&finish, inputs, tile->weights, tile->channels_in, tile->channels_out, outputs);
    }
    if (left > 0) {
        match_pulp_matmul_pixel(&finish, place.input, tile->weights, tile->channels_in, 0, tile->channels_out,
                                place.output);
    }
}

void match_pulp_pointwise(const match_tile_t *tile)
{
    pointwise(tile, MATCH_FORM_64);
}

void match_pulp_pointwise_high(const match_tile_t *tile)
{
    pointwise(tile, MATCH_FORM_HIGH);
}

void match_pulp_pointwise_int32(const match_tile_t *tile)
{
    pointwise(tile, MATCH_FORM_32);
}
