#include "match_arm_elements.h"
#include "match_arm_simd.h"

static void look_up(const uint8_t *input, const uint8_t *table, uint8_t *output, int32_t count)
{
#if MATCH_ARM_MVE
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%[input]], #16\n"
                     "vldrb.u8 q1, [%[table], q0]\n"
                     "vstrb.8 q1, [%[output]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [input] "+r"(input), [output] "+r"(output)
                     : [count] "r"(count), [table] "r"(table)
                     : "q0", "q1", "lr", "memory");
#else
    for (; count & 3; count--) {
        *output++ = table[*input++];
    }
    for (const uint8_t *end = input + count; input != end; input += 4, output += 4) {
        uint8_t first = table[input[0]], second = table[input[1]], third = table[input[2]], last = table[input[3]];
        output[0] = first;
        output[1] = second;
        output[2] = third;
        output[3] = last;
        MATCH_ARM_KEEP(input);
    }
#endif
}

void match_arm_lookup(const match_tile_t *tile)
{
    int32_t pixels = match_arm_run_pixels(tile, false);
    int32_t columns = match_arm_least(pixels, tile->output_width);
    int32_t rows = pixels / columns;
    for (int32_t y = 0; y < tile->output_height; y += rows) {
        for (int32_t x = 0; x < tile->output_width; x += columns) {
            look_up(tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride, tile->parameters,
                    tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride,
                    pixels * tile->channels_out);
        }
    }
}
