/* Kernels for a cluster of cores, any number of them: every core calls the same function with the same tile.
 *
 * Activations are uint8, HWC; weights int8, one row per output channel: (K, FX, FY, C), column by column, depthwise
 * (K, FY, FX), pointwise and dense (K, C). A convolution's rows have zeros behind them up to a multiple of 4 bytes. Accumulators are int32,
 * `acc = sum x * w`; parameters requantize them, per output channel, exactly in 64 bits:
 *
 *     y = clip((acc * multiplier + bias - (acc < negative_below ? negative_step : 0)) >> shift, clip_low, clip_high)
 *
 * with match_requant_t where tile->negative_step is 0 (and so is the step), else match_requant_signed_t. Kernels whose
 * names end otherwise have other parameters, and clip_low must be 0:
 *
 *     _split  a = acc + addend clipped to 0 .. largest, y = (((a * low + bias) >> shift) + a * high) >> 24: match_requant_split_t
 *             where tile->negative_step is 0, else match_requant_split_signed_t, which add negative_word to the word where
 *             a < negative_below; clip_high is not read
 *     _high   y = clip((upper((acc + addend) * multiplier) + bias) >> shift, 0, clip_high), with the upper 32 bits of the
 *             product: match_requant_high_t
 *     _int32  match_requant32_t in 32 bits, which the sums of all reachable accumulators must fit, products alone need
 *             not; there is no correction
 *
 * Of an exception (match_tile.h) y is one less. A normalization, a squared difference and pooling for the largest value have
 * none.
 *
 * Of y the low 8 bits are stored, so that clip_low = -128, clip_high = 127 makes an int8 output. Weights may lie at any
 * address, parameters at any multiple of 4. No block overlaps the tile's context. Convolution, pointwise and dense keep
 * partial sums where a tile has some of the layer's input channels.
 *
 * Output pixel (y, x) sees input rows y * stride_y - pad_top + i * dilation_y, i < filter_height, and columns likewise;
 * what lies outside input_height x input_width is padding: pad_value for convolutions and average pooling, nothing for
 * max pooling. pad_bottom and pad_right follow from the sizes and are not read.
 *
 * Scratch is the bytes that tile->scratch must hold, with align4 rounding up to a multiple of 4; a kernel that does not
 * mention it needs none and tile->scratch may be NULL. */
#ifndef MATCH_PULP_H
#define MATCH_PULP_H

#include "match_tile.h"

/* Convolution with any filter, stride and dilation. Cores share out pairs of pixels by fours of channels.
 * Scratch, with column = align4(filter_height * filter_width * channels_in) + 4:
 * cores * min(16 * column, max(512, 2 * column)). */
void match_pulp_conv2d(const match_tile_t *tile);
void match_pulp_conv2d_split(const match_tile_t *tile);
void match_pulp_conv2d_int32(const match_tile_t *tile);

/* The same in groups, tile->groups of them: group g reads input channels g * channels_in and following and writes
 * output channels g * channels_out and following. Filters have channels_in channels, and scratch is that of one group. */
void match_pulp_grouped_conv2d(const match_tile_t *tile);
void match_pulp_grouped_conv2d_split(const match_tile_t *tile);
void match_pulp_grouped_conv2d_int32(const match_tile_t *tile);

/* Convolution with a 1x1 filter, stride 1, no padding. Cores share out pairs of pixels by fours of channels. */
void match_pulp_pointwise(const match_tile_t *tile);
void match_pulp_pointwise_split(const match_tile_t *tile);
void match_pulp_pointwise_int32(const match_tile_t *tile);

/* Convolutions and dense layers of activations and weights of 16 bits, whose weights are numbers of 8 bits; parameters are
 * a match_requant_t for each channel, or a match_requant_signed_t where there is a negative step, strides of tensors count
 * elements, and padding is 0. All input channels come at once. Filters of the depthwise one lie channels last. Cores share
 * out pairs of pixels by fours of channels. */
void match_pulp_conv2d_int16(const match_tile_t *tile);
void match_pulp_grouped_conv2d_int16(const match_tile_t *tile);
void match_pulp_depthwise_conv2d_int16(const match_tile_t *tile);
void match_pulp_dense_int16(const match_tile_t *tile);

/* Largest values of windows of int16, with no clip; strides count elements. Cores share out pairs of pixels by fours of
 * channels. */
void match_pulp_max_pool2d_int16(const match_tile_t *tile);

/* Means of windows of int16; parameters are a match_requant_t for each channel, or a match_requant_signed_t where there is
 * a negative step, strides count elements. Cores share out pairs of pixels by fours of channels. */
void match_pulp_avg_pool2d_int16(const match_tile_t *tile);

/* A change of scale of int16; parameters are one match_scaling_t, strides count elements. Cores share out the
 * elements. */
void match_pulp_requantize_int16(const match_tile_t *tile);

/* Product of two tensors of int16; parameters are one match_scaling_t, which multiplies a product by at most 1, strides
 * count elements. Cores share out the elements. */
void match_pulp_multiply_int16(const match_tile_t *tile);

/* LeakyReLU of int16; parameters are two match_scaling_t, for numbers from 0 on and for those below; strides count
 * elements. Cores share out the elements. */
void match_pulp_leaky_relu_int16(const match_tile_t *tile);

/* Functions of int16; parameters are a match_gate_int16_t, strides count elements. Cores share out the elements. */
void match_pulp_logistic_int16(const match_tile_t *tile);
void match_pulp_tanh_int16(const match_tile_t *tile);

/* Softmax of int16 over the channels of each pixel; parameters are a match_softmax_int16_t, strides count elements. Cores
 * share out the pixels. */
void match_pulp_softmax_int16(const match_tile_t *tile);

/* Addition of two tensors of int16; parameters are one match_add_int16_t, strides count elements. Cores share out the
 * elements. */
void match_pulp_add_int16(const match_tile_t *tile);

/* Depthwise convolution, channels_out = channels_in. Cores share out columns of outputs of channels, two columns
 * together where the filter has a kernel of its own.
 * Scratch: cores * align4(filter_width * ((output_height - 1) * stride_y + (filter_height - 1) * dilation_y + 1)). */
void match_pulp_depthwise_conv2d(const match_tile_t *tile);
void match_pulp_depthwise_conv2d_split(const match_tile_t *tile);
void match_pulp_depthwise_conv2d_int32(const match_tile_t *tile);

/* The same of filters of at most 5x5 by the loops for 3x3 and 5x5, which zeros around a filter make of it, columns of
 * padding of a map with fewer than five, and outputs at equal distances of one with holes. It is for filters that have no
 * such loops. One row is computed as one column where that is faster: cores then share out the channels alone.
 * Scratch: that of the above, and with size = 3, or 5 where the filter has more than 3 rows or columns,
 * align4(size * size * channels_out) + 5 * input_height * channels_in, the latter for size 5 and strides of 2 alone, and
 * not where filter, input and output have one column. */
void match_pulp_depthwise_widened(const match_tile_t *tile);
void match_pulp_depthwise_widened_split(const match_tile_t *tile);
void match_pulp_depthwise_widened_int32(const match_tile_t *tile);

/* Fully connected layer on each input pixel (a batch lies along the rows and columns). Cores share out the output
 * channels. */
void match_pulp_dense(const match_tile_t *tile);
void match_pulp_dense_split(const match_tile_t *tile);
void match_pulp_dense_int32(const match_tile_t *tile);

/* Products of two matrices of activations, as many as rows: output (y, x, k) is the sum over c of the products of input
 * (y, x, c) and addend (y, k, c), each less its zero point; addend_pixel_stride is from k to k + 1. Parameters are those of
 * one channel; weights are the two zero points, int32. Cores share out pairs of pixels by fours of channels. */
void match_pulp_matrices(const match_tile_t *tile);
void match_pulp_matrices_split(const match_tile_t *tile);
void match_pulp_matrices_int32(const match_tile_t *tile);

/* Addition of input and addend, element by element; parameters are one match_requant_add_t, match_requant_add32_t or
 * match_requant_add_split_t. The addend has channels_in channels: channels_out, or one for all. Cores share out the
 * elements. */
void match_pulp_add(const match_tile_t *tile);
void match_pulp_add_split(const match_tile_t *tile);
void match_pulp_add_int32(const match_tile_t *tile);

/* Table of 256 bytes, the parameters, applied to each element: output = table[input]. An int8 input is read as its byte
 * and so is an int8 output written; nothing is clipped. Cores share out the elements. */
void match_pulp_lookup(const match_tile_t *tile);

/* The same with a table for each channel, one behind the other. */
void match_pulp_channel_lookup(const match_tile_t *tile);

/* Product of input and addend, element by element, each less its zero point: the accumulator. Parameters are those of one
 * channel; weights are the two zero points, int32, at a multiple of 4. Strides of 0 give all pixels one addend;
 * channels are those of an addition. Cores share out the elements. */
void match_pulp_multiply(const match_tile_t *tile);
void match_pulp_multiply_split(const match_tile_t *tile);
void match_pulp_multiply_int32(const match_tile_t *tile);
void match_pulp_multiply_rows(const match_tile_t *tile);

/* Square of the difference of input and addend, element by element, each through a table of 256 int16, the weights: the
 * accumulator. Parameters, strides and channels are those of a multiplication. Cores share out the elements. */
void match_pulp_squared_difference(const match_tile_t *tile);
void match_pulp_squared_difference_high(const match_tile_t *tile);
void match_pulp_squared_difference_int32(const match_tile_t *tile);

/* Sum of input and addend, element by element, each through a table of 256 int32 with 20 bits behind the point, rounded
 * down; parameters are the two tables, sums fit 32 bits. Strides and channels are those of a multiplication. Cores share
 * out the elements. */
void match_pulp_lookup_sum(const match_tile_t *tile);

/* A line of the input that the addend chooses, 15 bits behind the point, rounded down, clipped: parameters are the slopes
 * for each value of the addend, int32_t slopes[256], then the biases. Products and sums fit 32 bits. Cores share out the
 * elements. */
void match_pulp_lookup_line(const match_tile_t *tile);

/* The sum of match_pulp_lookup_sum, rounded down, without its sign: the difference of input and addend, which is added
 * to clip_low. */
void match_pulp_absolute_difference(const match_tile_t *tile);

/* The larger, or the smaller, of input and addend, element by element; no parameters, nothing is clipped. Strides and
 * channels are those of a multiplication. Cores share out the elements. */
void match_pulp_maximum(const match_tile_t *tile);
void match_pulp_minimum(const match_tile_t *tile);

/* The channels_in channels of the input, then those of the addend, each through a table of 256 bytes; parameters are the
 * two tables. Cores share out the elements. */
void match_pulp_concatenate(const match_tile_t *tile);

/* Each element, of channels_in bytes, where it is: input and output differ in their strides, input_channel_stride among
 * them; input_pixel_stride is 1 where elements are single bytes. Of these cores share out fours of pixels or of channels,
 * of others the pixels. */
void match_pulp_transpose(const match_tile_t *tile);

/* Columns of the input in another order: parameters are an int32 for each output column, the input's column, or -1 where
 * all is pad_value. The input has all its columns. Cores share out the pixels. */
void match_pulp_gather(const match_tile_t *tile);

/* Average pooling in float32: each input as a number, the sum row by row from the first on, divided by the pixels of the
 * window that lie inside, as 8 bits; parameters are one match_float_average_t. Windows have no gaps between their
 * pixels. Cores share out the elements. */
void match_pulp_float_avg_pool2d(const match_tile_t *tile);

/* Elements of float32, the input's, as 8 bits; parameters are one match_quantize_t. Not a number is as an infinite one.
 * Cores share out the elements. */
void match_pulp_quantize(const match_tile_t *tile);

/* Table of 256 float32, the parameters, applied to each element as in match_pulp_lookup; the output is float32. Cores
 * share out the elements. */
void match_pulp_dequantize(const match_tile_t *tile);

/* int32 sums as float32: parameters are a match_dequantize_t for each channel. Strides are in words. Cores share out the
 * elements. */
void match_pulp_dequantize_sums(const match_tile_t *tile);

/* Softmax over the channels of each pixel, at most 4095, in TFLite Micro's fixed point; parameters are one
 * match_softmax_t. Cores share out the pixels. */
void match_pulp_softmax(const match_tile_t *tile);

/* Its logarithm, float32, of at most 4000 channels: parameters are one match_log_softmax_t. Cores share out the pixels. */
void match_pulp_log_softmax(const match_tile_t *tile);

/* Normalization over the channels of each pixel, from 8 to 2048: the accumulator is a channel's distance from the pixel's
 * mean in standard deviations, with 12 bits behind the point, times the channel's gain; or from one value for all, in roots
 * of the mean of the squared distances from it. Weights are one
 * match_normalize_t, at a multiple of 4. Cores share out the pixels, or the channels of each where there are few. */
void match_pulp_normalize(const match_tile_t *tile);
void match_pulp_normalize_high(const match_tile_t *tile);
void match_pulp_normalize_int32(const match_tile_t *tile);

/* All steps of an LSTM: output (y, x) are the states of step y of sequence x, of channels_out units; the input has their
 * channels_in features. Before the first step cells are 0 and states are zero. clip_low is not negative. Weights are
 * match_lstm_unit_t of all units, parameters one match_lstm_t, both at a multiple of 4. Cores share out the units, and
 * wait for one another after each step. Scratch: align4(2 * output_width * channels_out). */
void match_pulp_lstm(const match_tile_t *tile);

/* The same of int16, weights and clips as well; strides count elements. */
void match_pulp_lstm_int16(const match_tile_t *tile);

/* The same of a GRU, with match_gru_unit_t and one match_gru_t. Scratch holds the states with 16 bits. */
void match_pulp_gru(const match_tile_t *tile);

/* The same of a GRU whose reset gate comes first. Scratch also holds the update gates and what the reset gates leave of
 * the states: 5 bytes for each unit of each sequence. */
void match_pulp_gru_reset_first(const match_tile_t *tile);

/* Bilinear interpolation: outputs are sums of four inputs, rounded once, halves away from pad_value. The input has all its
 * rows and columns; parameters are match_between_t of the output's rows, weights of its columns. Cores share out the
 * pixels. */
void match_pulp_resize(const match_tile_t *tile);

/* Average pooling: the accumulator is the sum over the window. Cores share out the channels. */
void match_pulp_avg_pool2d(const match_tile_t *tile);
void match_pulp_avg_pool2d_split(const match_tile_t *tile);
void match_pulp_avg_pool2d_int32(const match_tile_t *tile);

/* Maximum over the window, clipped; no parameters. A window must have a pixel inside the input. Cores share out the
 * channels. */
void match_pulp_max_pool2d(const match_tile_t *tile);

/* What the windows of a convolution see, without dilation of columns, in scratch: for each row of outputs the columns of the input
 * from the first that a window has to the last, side by side, each (filter_height, channels_in), padding with them. Cores share
 * out the columns. Scratch: output_height * ((output_width - 1) * stride_x + filter_width) * filter_height * channels_in. */
void match_pulp_lay_out(const match_tile_t *tile);

/* Requantization of int32 accumulators in tile->scratch, dense (output_height, output_width, channels_out). Cores share
 * out the pixels. */
void match_pulp_requantize(const match_tile_t *tile);
void match_pulp_requantize_split(const match_tile_t *tile);

#endif
