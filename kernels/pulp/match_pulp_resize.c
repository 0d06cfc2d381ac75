#include "match_pulp.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"

enum { ONE = 1 << 10, FRACTION = 20, HALF = 1 << (FRACTION - 1) };

/* The four pixels around an output pixel: two of the row below it, two of the row above. */
typedef struct {
    const uint8_t *below;
    const uint8_t *below_right;
    const uint8_t *above;
    const uint8_t *above_right;
} match_corners_t;

static void interpolate(match_corners_t from, int32_t up, int32_t right, int32_t zero, uint8_t *output, int32_t count)
{
    int32_t below = (ONE - up) * (ONE - right);
    int32_t below_right = (ONE - up) * right;
    int32_t above = up * (ONE - right);
    int32_t above_right = up * right;
    int32_t half_of_zero = zero * (1 << FRACTION) + HALF;
#if defined(MATCH_PULP_INSN)
    int32_t a, b, c, d, sum;
    __asm__ volatile(MATCH_INSN_LOOP("%[count]", 13)
                     MATCH_INSN_LOAD_BYTE("%[a]", "%[p]")
                     MATCH_INSN_LOAD_BYTE("%[b]", "%[q]")
                     MATCH_INSN_LOAD_BYTE("%[c]", "%[r]")
                     MATCH_INSN_LOAD_BYTE("%[d]", "%[s]")
                     "mv %[sum], %[half]\n"
                     MATCH_INSN_MULTIPLY_ADD("%[sum]", "%[a]", "%[below]")
                     MATCH_INSN_MULTIPLY_ADD("%[sum]", "%[b]", "%[below_right]")
                     MATCH_INSN_MULTIPLY_ADD("%[sum]", "%[c]", "%[above]")
                     MATCH_INSN_MULTIPLY_ADD("%[sum]", "%[d]", "%[above_right]")
                     "slt %[a], %[sum], %[zero]\n"
                     "sub %[sum], %[sum], %[a]\n"
                     "srai %[sum], %[sum], 20\n" /* FRACTION */
                     MATCH_INSN_STORE_BYTE("%[sum]", "%[output]")
                     MATCH_INSN_LOOP_END
                     : [p] "+r"(from.below), [q] "+r"(from.below_right), [r] "+r"(from.above),
                       [s] "+r"(from.above_right), [output] "+r"(output), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c),
                       [d] "=&r"(d), [sum] "=&r"(sum)
                     : [below] "r"(below), [below_right] "r"(below_right), [above] "r"(above),
                       [above_right] "r"(above_right), [half] "r"(HALF), [zero] "r"(half_of_zero), [count] "r"(count)
                     : "memory");
#else
    for (int32_t k = 0; k < count; k++) {
        int32_t sum = HALF + below * from.below[k] + below_right * from.below_right[k];
        sum += above * from.above[k] + above_right * from.above_right[k];
        output[k] = (uint8_t)((sum - (sum < half_of_zero)) >> FRACTION);
    }
#endif
}

void match_pulp_resize(const match_tile_t *tile)
{
    const match_between_t *rows = tile->parameters;
    const match_between_t *columns = tile->weights;
    match_pixels_t at = match_share_pixels(tile->output_height, tile->output_width);
    for (; at.left > 0; match_next_pixel(&at)) {
        match_between_t row = rows[at.y];
        match_between_t column = columns[at.x];
        match_corners_t corners = {
            match_input_pixel(tile, row.below, column.below),
            match_input_pixel(tile, row.below, column.above),
            match_input_pixel(tile, row.above, column.below),
            match_input_pixel(tile, row.above, column.above),
        };
        uint8_t *output = match_output_pixel(tile, at.y, at.x);
        interpolate(corners, row.weight, column.weight, tile->pad_value, output, tile->channels_out);
    }
}
