#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_int16.h"
#include "match_pulp_simd.h"

/* Add to each of four channels its products of a row of a window: `count` > 0 elements that lie `step` and `filter_step`
 * bytes apart. A dot product with one half of a word of weights is the product of one channel. */
MATCH_INLINE void add_row(int32_t accs[MATCH_HALVES], const match_half_t *x, ptrdiff_t step, const match_half_t *filter,
                          ptrdiff_t filter_step, int32_t count)
{
    const match_bytes4_t low = 0xffff;
#if defined(MATCH_PULP_INSN)
    uint32_t first, second, a, b, half;
    __asm__ volatile(MATCH_INSN_LOOP("%[count]", 12)
                         "lw %[second], 4(%[x])\n"
                         "lw %[b], 4(%[filter])\n"
                         MATCH_INSN_LOAD4_STEP("%[first]", "%[x]", "%[step]")
                         MATCH_INSN_LOAD4_STEP("%[a]", "%[filter]", "%[filter_step]")
                         "and %[half], %[b], %[low]\n"
                         MATCH_INSN_DOT2("%[acc2]", "%[second]", "%[half]")
                         "xor %[b], %[b], %[half]\n"
                         MATCH_INSN_DOT2("%[acc3]", "%[second]", "%[b]")
                         "and %[half], %[a], %[low]\n"
                         MATCH_INSN_DOT2("%[acc0]", "%[first]", "%[half]")
                         "xor %[a], %[a], %[half]\n"
                         MATCH_INSN_DOT2("%[acc1]", "%[first]", "%[a]")
                     MATCH_INSN_LOOP_END
                     : [x] "+r"(x), [filter] "+r"(filter), [acc0] "+r"(accs[0]), [acc1] "+r"(accs[1]),
                       [acc2] "+r"(accs[2]), [acc3] "+r"(accs[3]), [first] "=&r"(first), [second] "=&r"(second),
                       [a] "=&r"(a), [b] "=&r"(b), [half] "=&r"(half)
                     : [count] "r"(count), [step] "r"(step), [filter_step] "r"(filter_step), [low] "r"(low)
                     : "memory");
#else
    for (; count > 0; count--) {
        match_bytes4_t first = match_load4(x), second = match_load4(x + 2);
        match_bytes4_t a = match_load4(filter), b = match_load4(filter + 2);
        accs[0] = match_dot2(first, a & low, accs[0]);
        accs[1] = match_dot2(first, a & ~low, accs[1]);
        accs[2] = match_dot2(second, b & low, accs[2]);
        accs[3] = match_dot2(second, b & ~low, accs[3]);
        x += step / (ptrdiff_t)sizeof *x;
        filter += filter_step / (ptrdiff_t)sizeof *filter;
    }
#endif
}

/* Four channels of a pixel, or one, from one on; a row without elements inside has no loop. */
MATCH_INLINE void convolve(const match_tile_t *tile, const match_finish_int16_t *finish,
                           const match_window_int16_t *window, int32_t channel, int channels, match_half_t *output)
{
    int32_t channels_out = tile->channels_out, step = tile->dilation_x * tile->input_pixel_stride;
    int32_t accs[MATCH_HALVES] = {0};
    const match_half_t *row = window->first + channel;
    const match_half_t *filters = (const match_half_t *)tile->weights + window->before * channels_out + channel;
    for (int32_t rows = window->rows.inside; rows > 0 && window->columns.inside > 0; rows--) {
        if (channels == MATCH_HALVES) {
            add_row(accs, row, 2 * (ptrdiff_t)step, filters, 2 * (ptrdiff_t)channels_out, window->columns.inside);
        } else {
            const match_half_t *x = row, *filter = filters;
            for (int32_t left = window->columns.inside; left > 0; left--, x += step, filter += channels_out) {
                accs[0] = match_multiply_add(accs[0], *x, *filter);
            }
        }
        row += tile->dilation_y * tile->input_row_stride;
        filters += tile->filter_width * channels_out;
    }
#pragma GCC unroll 4
    for (int k = 0; k < channels; k++) {
        output[channel + k] = match_finish_half(finish, channel + k, accs[k]);
    }
}

void match_pulp_depthwise_conv2d_int16(const match_tile_t *tile)
{
    match_compute_int16(tile, convolve);
}
