#include "match_arm_elements.h"
#include "match_arm_simd.h"

/* Some elements of a sum of two inputs. */
typedef void (*add_run_t)(const match_tile_t *tile, const uint8_t *input, const uint8_t *addend, uint8_t *output,
                          int32_t count);

static inline void add_runs(const match_tile_t *tile, add_run_t add)
{
    int32_t pixels = match_arm_run_pixels(tile, true);
    int32_t columns = match_arm_least(pixels, tile->output_width);
    int32_t rows = pixels / columns;
    for (int32_t y = 0; y < tile->output_height; y += rows) {
        for (int32_t x = 0; x < tile->output_width; x += columns) {
            add(tile, tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride,
                tile->addend + y * tile->addend_row_stride + x * tile->addend_pixel_stride,
                tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride, pixels * tile->channels_out);
        }
    }
}

static void add_words(const match_tile_t *tile, const uint8_t *input, const uint8_t *addend, uint8_t *output,
                      int32_t count)
{
    match_requant_add32_t p = *(const match_requant_add32_t *)tile->parameters;
    int32_t low = tile->clip_low, high = tile->clip_high;
#if MATCH_ARM_MVE
    const int32_t constants[] = {p.bias, low, high, -p.shift};
    __asm__ volatile("ldr lr, [%[constants]]\n"
                     "vdup.32 q2, lr\n"
                     "ldr lr, [%[constants], #4]\n"
                     "vdup.32 q3, lr\n"
                     "ldr lr, [%[constants], #8]\n"
                     "vdup.32 q4, lr\n"
                     "ldr lr, [%[constants], #12]\n"
                     "vdup.32 q5, lr\n"
                     "wlstp.32 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.u32 q0, [%[input]], #4\n"
                     "vldrb.u32 q1, [%[addend]], #4\n"
                     "vmul.i32 q0, q0, %[first]\n"
                     "vmla.s32 q0, q1, %[second]\n"
                     "vadd.i32 q0, q0, q2\n"
                     "vshl.s32 q0, q0, q5\n"
                     "vmax.s32 q0, q0, q3\n"
                     "vmin.s32 q0, q0, q4\n"
                     "vstrb.32 q0, [%[output]], #4\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [input] "+l"(input), [addend] "+l"(addend), [output] "+l"(output)
                     : [count] "r"(count), [first] "r"(p.input_multiplier), [second] "r"(p.addend_multiplier),
                       [constants] "r"(constants)
                     : "q0", "q1", "q2", "q3", "q4", "q5", "lr", "memory");
#else
    if (low == 0 && high == 255) {
        for (const uint8_t *end = input + count; input != end;) {
            uint32_t sum = (uint32_t)p.bias + *input++ * (uint32_t)p.input_multiplier;
            sum += *addend++ * (uint32_t)p.addend_multiplier;
            *output++ = match_arm_clip_to_byte((int32_t)sum >> p.shift);
        }
        return;
    }
    for (const uint8_t *end = input + count; input != end;) {
        uint32_t sum = (uint32_t)p.bias + *input++ * (uint32_t)p.input_multiplier;
        sum += *addend++ * (uint32_t)p.addend_multiplier;
        *output++ = (uint8_t)match_arm_clip((int32_t)sum >> p.shift, low, high);
    }
#endif
}

void match_arm_add(const match_tile_t *tile)
{
    add_runs(tile, add_words);
}

static void add_long(const match_tile_t *tile, const uint8_t *input, const uint8_t *addend, uint8_t *output,
                     int32_t count)
{
    match_requant_add_t p;
    memcpy(&p, tile->parameters, sizeof p);
    for (int32_t i = 0; i < count; i++) {
        int64_t sum = (int64_t)input[i] * p.input_multiplier + (int64_t)addend[i] * p.addend_multiplier + p.bias;
        sum >>= p.shift;
        output[i] = (uint8_t)(sum < tile->clip_low ? tile->clip_low : sum > tile->clip_high ? tile->clip_high : sum);
    }
}

void match_arm_add_long(const match_tile_t *tile)
{
    add_runs(tile, add_long);
}
