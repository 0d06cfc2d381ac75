#include "match_pulp_matmul.h"

#include <stddef.h>

#include "match_pulp_requantize.h"
#include "match_pulp_simd.h"

/* Output channels and pixels of one block of accumulators, held in registers: 6 loads feed 8 dot products. */
enum { BLOCK_CHANNELS = 4, BLOCK_PIXELS = 2 };

int32_t match_pulp_dot(const uint8_t *activations, const int8_t *weights, int32_t length)
{
    int32_t acc = 0;
    int32_t i = 0;
    for (; i + 4 <= length; i += 4) {
        acc = match_dot4(match_load4(activations + i), match_load4(weights + i), acc);
    }
    for (; i < length; i++) {
        acc += activations[i] * weights[i];
    }
    return acc;
}

/* Accumulators of BLOCK_CHANNELS rows of weights, `length` bytes apart, and BLOCK_PIXELS vectors of activations. */
static void block(const uint8_t *const activations[BLOCK_PIXELS], const int8_t *weights, int32_t length,
                  int32_t acc[BLOCK_CHANNELS][BLOCK_PIXELS])
{
    const int8_t *w0 = weights;
    const int8_t *w1 = w0 + length;
    const int8_t *w2 = w1 + length;
    const int8_t *w3 = w2 + length;
    const uint8_t *x0 = activations[0];
    const uint8_t *x1 = activations[1];
    int32_t a00 = 0, a01 = 0, a10 = 0, a11 = 0, a20 = 0, a21 = 0, a30 = 0, a31 = 0;
    int32_t i = 0;
    for (; i + 4 <= length; i += 4) {
        match_bytes4_t p0 = match_load4(x0 + i);
        match_bytes4_t p1 = match_load4(x1 + i);
        match_bytes4_t k0 = match_load4(w0 + i);
        match_bytes4_t k1 = match_load4(w1 + i);
        match_bytes4_t k2 = match_load4(w2 + i);
        match_bytes4_t k3 = match_load4(w3 + i);
        a00 = match_dot4(p0, k0, a00);
        a01 = match_dot4(p1, k0, a01);
        a10 = match_dot4(p0, k1, a10);
        a11 = match_dot4(p1, k1, a11);
        a20 = match_dot4(p0, k2, a20);
        a21 = match_dot4(p1, k2, a21);
        a30 = match_dot4(p0, k3, a30);
        a31 = match_dot4(p1, k3, a31);
    }
    for (; i < length; i++) {
        a00 += x0[i] * w0[i];
        a01 += x1[i] * w0[i];
        a10 += x0[i] * w1[i];
        a11 += x1[i] * w1[i];
        a20 += x0[i] * w2[i];
        a21 += x1[i] * w2[i];
        a30 += x0[i] * w3[i];
        a31 += x1[i] * w3[i];
    }
    acc[0][0] = a00;
    acc[0][1] = a01;
    acc[1][0] = a10;
    acc[1][1] = a11;
    acc[2][0] = a20;
    acc[2][1] = a21;
    acc[3][0] = a30;
    acc[3][1] = a31;
}

static const int8_t *weight_row(const match_tile_t *tile, int32_t channel, int32_t length)
{
    return (const int8_t *)tile->weights + (ptrdiff_t)channel * length;
}

void match_pulp_matmul_pixel(const match_tile_t *restrict tile, const uint8_t *activations, int32_t length,
                             int32_t first, int32_t last, uint8_t *output)
{
    for (int32_t k = first; k < last; k++) {
        match_finish(tile, output, k, match_pulp_dot(activations, weight_row(tile, k, length), length));
    }
}

void match_pulp_matmul_pixels(const match_tile_t *restrict tile, const uint8_t *const activations[2], int32_t length,
                              int32_t first, int32_t last, uint8_t *const output[2])
{
    uint8_t *first_output = output[0];
    uint8_t *second_output = output[1];
    int32_t k = first;
    for (; k + BLOCK_CHANNELS <= last; k += BLOCK_CHANNELS) {
        int32_t acc[BLOCK_CHANNELS][BLOCK_PIXELS];
        block(activations, weight_row(tile, k, length), length, acc);
        for (int32_t i = 0; i < BLOCK_CHANNELS; i++) {
            match_finish(tile, first_output, k + i, acc[i][0]);
            match_finish(tile, second_output, k + i, acc[i][1]);
        }
    }
    for (int32_t pixel = 0; pixel < BLOCK_PIXELS; pixel++) {
        match_pulp_matmul_pixel(tile, activations[pixel], length, k, last, output[pixel]);
    }
}
