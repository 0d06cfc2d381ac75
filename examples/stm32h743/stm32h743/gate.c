#include "gate.h"

#include <string.h>

void match_m7_gate(const match_tile_t *tile)
{
    match_m7_gate_t p;
    memcpy(&p, tile->parameters, sizeof p);
    const int32_t *f = (const int32_t *)((const uint8_t *)tile->parameters + sizeof p);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            const uint8_t *a = tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride;
            const uint8_t *b = tile->addend + y * tile->addend_row_stride + x * tile->addend_pixel_stride;
            uint8_t *output = tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride;
            for (int32_t k = 0; k < tile->channels_out; k++) {
                int64_t scaled = ((int64_t)((a[k] - p.zero) * f[b[k]]) * p.multiplier + p.bias) >> p.shift;
                output[k] = (uint8_t)(scaled < p.low ? p.low : scaled > p.high ? p.high : scaled);
            }
        }
    }
}
