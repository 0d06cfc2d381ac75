#include <stddef.h>
#include <string.h>

#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

/* A core's rows of the second matrix, less 128 as signed bytes, which the products take; each row is `length` bytes. The
 * accumulator is sum((a - a_zero) * (b - b_zero)) = sum(a * signed b) + beyond * sum(a) - a_zero * sum(b - b_zero). */
typedef struct {
    int8_t *rows;
    int32_t *sums; /* of b - b_zero, of each row */
    int32_t length;
    int32_t first;
    int32_t last;
    int32_t a_zero;
    int32_t beyond; /* 128 - b_zero */
} matrix_t;

static int32_t sum_of(const uint8_t *bytes, int32_t length)
{
    int32_t sum = 0;
    int32_t at = 0;
    for (; at + 4 <= length; at += 4) {
        sum = match_dot4(match_load4(bytes + at), 0x01010101u, sum);
    }
    for (; at < length; at++) {
        sum += bytes[at];
    }
    return sum;
}

static void make_signed(const match_tile_t *tile, int32_t y, const matrix_t *matrix)
{
    const uint8_t *row = tile->addend + y * tile->addend_row_stride + matrix->first * tile->addend_pixel_stride;
    int8_t *to = matrix->rows;
    for (int32_t k = matrix->first; k < matrix->last; k++, row += tile->addend_pixel_stride, to += matrix->length) {
        int32_t at = 0;
        for (; at + 4 <= matrix->length; at += 4) {
            match_store4(to + at, match_load4(row + at) ^ 0x80808080u);
        }
        for (; at < matrix->length; at++) {
            to[at] = (int8_t)(row[at] ^ 0x80);
        }
        matrix->sums[k - matrix->first] =
            sum_of(row, matrix->length) + (matrix->beyond - 128) * matrix->length;
    }
}

/* An output by a form that the compiler knows, so that its instructions stay in a core's own cache beside the product's. */
MATCH_INLINE uint8_t requantized(const match_finish_t *finish, match_form_t form, int32_t acc)
{
    switch (form) {
    case MATCH_FORM_32:
        return (uint8_t)match_requantize_32(finish, match_parameters_32(finish->parameters), acc);
    case MATCH_FORM_HIGH:
        return (uint8_t)match_requantize_high(finish, match_parameters_high(finish->parameters), acc);
    case MATCH_FORM_HIGH_SIGNED:
        return (uint8_t)match_requantize_high_signed(finish, match_parameters_high_signed(finish->parameters), acc);
    default:
        return match_requantize_with(finish, finish->parameters, acc);
    }
}

/* Outputs of `channels` rows of the second matrix from row k of this core's on, and `pixels` rows of the first. */
MATCH_INLINE void multiply_block(const match_finish_t *finish, const matrix_t *matrix, const uint8_t *const x[],
                                 const int32_t x_sums[], uint8_t *const output[], int32_t k, int channels, int pixels,
                                 match_form_t form)
{
    match_block_t block;
    const int8_t *w = matrix->rows + k * matrix->length;
    if (matrix->length < 4) {
        match_dot_short(x, w, matrix->length, channels, pixels, &block);
    } else {
        match_dot_bytes(x, w, matrix->length, channels, pixels, MATCH_FROM_0, &block);
    }
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
        int32_t less = matrix->a_zero * matrix->sums[k + i];
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            int32_t acc = block.acc[i][j] + matrix->beyond * x_sums[j] - less;
            output[j][matrix->first + k + i] = requantized(finish, form, acc);
        }
    }
}

MATCH_INLINE void multiply_rows(const match_finish_t *finish, const matrix_t *matrix, const uint8_t *const x[],
                                uint8_t *const output[], int pixels, match_form_t form)
{
    int32_t sums[MATCH_BLOCK_PIXELS];
    for (int j = 0; j < pixels; j++) {
        sums[j] = sum_of(x[j], matrix->length);
    }
    int32_t count = matrix->last - matrix->first;
    int32_t k = 0;
    for (; k + 4 <= count; k += 4) {
        multiply_block(finish, matrix, x, sums, output, k, 4, pixels, form);
    }
    for (; k < count; k++) {
        for (int j = 0; j < pixels; j++) {
            multiply_block(finish, matrix, x + j, sums + j, output + j, k, 1, 1, form);
        }
    }
}

MATCH_INLINE void matmul(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    match_share_t share = match_share_channels(tile->channels_out, 0);
    int32_t zeros[2];
    memcpy(zeros, tile->weights, sizeof zeros);
    int32_t room = tile->channels_out * ((tile->channels_in + 3) & ~3);
    matrix_t matrix = {
        .rows = (int8_t *)tile->scratch + share.first * ((tile->channels_in + 3) & ~3),
        .sums = (int32_t *)(void *)((uint8_t *)tile->scratch + room) + share.first,
        .length = tile->channels_in,
        .first = share.first,
        .last = share.last,
        .a_zero = zeros[0],
        .beyond = 128 - zeros[1],
    };
    if (share.first >= share.last) {
        return;
    }
    for (int32_t y = 0; y < tile->output_height; y++) {
        make_signed(tile, y, &matrix);
        int32_t x = 0;
        for (; x + 2 <= tile->output_width; x += 2) {
            const uint8_t *const rows[] = {match_input_pixel(tile, y, x), match_input_pixel(tile, y, x + 1)};
            uint8_t *const outputs[] = {match_output_pixel(tile, y, x), match_output_pixel(tile, y, x + 1)};
            multiply_rows(&finish, &matrix, rows, outputs, 2, form);
        }
        if (x < tile->output_width) {
            const uint8_t *const rows[] = {match_input_pixel(tile, y, x)};
            uint8_t *const outputs[] = {match_output_pixel(tile, y, x)};
            multiply_rows(&finish, &matrix, rows, outputs, 1, form);
        }
    }
}

void match_pulp_matrices(const match_tile_t *tile)
{
    matmul(tile, MATCH_FORM_64);
}

static __attribute__((noinline)) void matmul_high_signed(const match_tile_t *tile)
{
    matmul(tile, MATCH_FORM_HIGH_SIGNED);
}

void match_pulp_matrices_high(const match_tile_t *tile)
{
    if (tile->negative_step == 0) {
        matmul(tile, MATCH_FORM_HIGH);
    } else {
        matmul_high_signed(tile);
    }
}

void match_pulp_matrices_int32(const match_tile_t *tile)
{
    matmul(tile, MATCH_FORM_32);
}
