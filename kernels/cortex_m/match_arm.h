/* Kernels for Arm's microcontrollers: each computes a whole layer, out of memory that the core reads and writes.
 *
 * Activations are uint8, HWC, with the tile's strides. Inner loops are written in C, which any core has, and with the
 * instructions of the DSP extension (Cortex-M4, M7, M33) or of MVE (Cortex-M55), which the compiler's macros choose;
 * all write the same bytes. Kernels match_arm_* read weights as the DSP extension multiplies them, those of the same
 * operators that begin with match_mve_ as MVE does.
 *
 * `acc` is the sum of products of activations and weights. Of each output channel a match_arm_requant_t makes outputs of it,
 * in kernels whose names end in _long a match_arm_requant_long_t. Weights and parameters lie at multiples of 4, activations
 * anywhere: with the DSP extension words are read from any address, as cores allow unless they are told to trap.
 *
 * Scratch is the bytes that tile->scratch, at a multiple of 4, must hold, with align4 rounding up to a multiple of 4; a
 * kernel that does not mention it needs none. */
#ifndef MATCH_ARM_H
#define MATCH_ARM_H

#include "match_tile.h"

/* y = clip((a * times + upper(a * multiplier) + bias) >> shift), where a is acc + addend and upper() the upper 32 bits of
 * a product of signed words. */
typedef struct {
    int32_t addend;
    int32_t multiplier;
    int32_t bias;
    uint8_t shift;
    uint8_t times;
    uint8_t reserved[2];
} match_arm_requant_t;

/* y = clip((a * multiplier + (a < negative_below ? stepped : bias)) >> shift), each bias being two words. */
typedef struct {
    int32_t addend;
    int32_t multiplier;
    uint32_t bias_low;
    int32_t bias_high;
    uint32_t stepped_low;
    int32_t stepped_high;
    int32_t negative_below;
    int32_t shift;
} match_arm_requant_long_t;

/* Convolution with any filter, stride and dilation.
 *
 * Weights: of two channels, the last one beside zeros where it is alone, a word for two values of their filters
 * (FY, FX, C): the first value's weights of both channels, then those of the second value. Of each four values those at 0 and
 * 2 come first, then those at 1 and 3; zeros fill up the last four. Parameters of a last single channel have another
 * word behind them.
 *
 * Scratch: 8 * length, length being align4(filter_height * filter_width * channels_in), and length + 4 more where
 * channels_in is no multiple of 4. */
void match_arm_conv2d(const match_tile_t *tile);
void match_arm_conv2d_long(const match_tile_t *tile);

/* The same in groups, tile->groups of them: group g reads input channels g * channels_in and following and writes output
 * channels g * channels_out and following. Weights and parameters of each group are those of a convolution, one group
 * behind the other; scratch is that of one group. */
void match_arm_grouped_conv2d(const match_tile_t *tile);
void match_arm_grouped_conv2d_long(const match_tile_t *tile);

/* A dense layer of one row; weights as above. No scratch. */
void match_arm_dense(const match_tile_t *tile);
void match_arm_dense_long(const match_tile_t *tile);

/* A dense layer of several rows, along height and width. Scratch is that of a convolution with a filter of 1x1. */
void match_arm_dense_rows(const match_tile_t *tile);
void match_arm_dense_rows_long(const match_tile_t *tile);

/* One output for each input channel, with any filter, stride and dilation.
 *
 * Weights: of each channel and each column of its filter filter_height / 2 + 1 pairs, one below the other, with zeros
 * behind the last row; two pairs are a word, the upper row of both, then the lower row of both.
 *
 * Scratch, in words: strip * columns * 4 * pairs + 8 * filter_width * pairs + strip * rows * outputs, where pairs is
 * filter_height / 2 + 1, outputs is output_width rounded up to a multiple of 2, columns is
 * (outputs - 1) * stride_x + (filter_width - 1) * dilation_x + 1, rows is 2 where stride_y and dilation_y are 1, else 1, and strip
 * is 32 / columns, but from 1 to output_height / rows, rounded up. */
void match_arm_depthwise_conv2d(const match_tile_t *tile);
void match_arm_depthwise_conv2d_long(const match_tile_t *tile);

/* The same for MVE, whose addends have 128 times the sum of a channel's weights in them: activations are taken less by
 * 128, but those of a depthwise convolution.
 *
 * Weights: of four channels 16 bytes of each one's filter (FY, FX, C) in turn, with zeros behind a filter and behind the
 * last one up to multiples of 16 bytes and of four channels. Parameters are those of a multiple of four channels, too.
 *
 * Scratch: 2 * length, length being filter_height * filter_width * channels_in rounded up to a multiple of 16. */
void match_mve_conv2d(const match_tile_t *tile);
void match_mve_conv2d_long(const match_tile_t *tile);

/* The same in groups, tile->groups of them: group g reads input channels g * channels_in and following and writes output
 * channels g * channels_out and following. Weights and parameters of each group are those of a convolution, one group
 * behind the other; scratch is that of one group. */
void match_mve_grouped_conv2d(const match_tile_t *tile);
void match_mve_grouped_conv2d_long(const match_tile_t *tile);

/* No scratch. */
void match_mve_dense(const match_tile_t *tile);
void match_mve_dense_long(const match_tile_t *tile);

/* A dense layer of several rows, along height and width. Scratch is that of a convolution with a filter of 1x1. */
void match_mve_dense_rows(const match_tile_t *tile);
void match_mve_dense_rows_long(const match_tile_t *tile);

/* Weights: of eight channels in turn, a byte of each for each value of their filters (FY, FX). Parameters are those of a
 * multiple of eight channels, of each eight first the even ones, then the odd ones.
 *
 * Scratch, at a multiple of the size of a pointer: 32 * filter_height * filter_width + channels_out. */
void match_mve_depthwise_conv2d(const match_tile_t *tile);
void match_mve_depthwise_conv2d_long(const match_tile_t *tile);

/* Addition of two inputs of the same shape: y = clip((a * input_multiplier + b * addend_multiplier + bias) >> shift). The
 * parameters are one match_requant_add32_t, or one match_requant_add_t. The output may be one of the inputs. */
void match_arm_add(const match_tile_t *tile);
void match_arm_add_long(const match_tile_t *tile);

/* Average pooling: the accumulator is the sum over the window, with pad_value where that is outside the input. */
void match_arm_avg_pool2d(const match_tile_t *tile);
void match_arm_avg_pool2d_long(const match_tile_t *tile);

/* Maximum over the window without what is outside the input, clipped; no parameters. */
void match_arm_max_pool2d(const match_tile_t *tile);

/* Table of 256 bytes, the parameters, applied to each element: output = table[input]. The output may be the input. */
void match_arm_lookup(const match_tile_t *tile);

#endif
