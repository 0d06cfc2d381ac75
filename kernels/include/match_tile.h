/* The context of one kernel call: one tile of one layer, every field by name.
 *
 * Activations are HWC, 8 bits, unless the module has them in another layout. Pointers address the first element of the
 * tile inside a block that may be larger, so rows and pixels have strides of their own. Sizes are in elements, strides
 * in bytes (one element is one byte).
 *
 * A tile may have some of the layer's input channels only, if its kernel can add them up over several calls (match_pulp.h
 * tells which do). The calls on the same outputs then follow one another with partial sums between them: each but the
 * first adds to those of `sums_in`, each but the last leaves its own in `sums_out` and does not write `output`. Both
 * point to the sum of the tile's first output; sums lie as the outputs do, an int32 where these have a byte.
 *
 * An exception is an accumulator at which a channel's output is one less than its parameters say; none of them is that of
 * the lowest output. `excepted` has a uint16_t for each output channel: which word of `exceptions`, an array of int32_t, is
 * the number of the channel's exceptions, behind which they lie, rising. Word 0, which is 0, is that of channels without.
 *
 * Where outputs are the sums themselves, the last call, too, leaves them in `sums_out`, which is then `output`. Strides
 * of tensors whose elements have two bytes or four, int16, sums and float32, count elements. */
#ifndef MATCH_TILE_H
#define MATCH_TILE_H

#include <stdint.h>

/* Requantization of one output channel: clip((acc * multiplier + bias) >> shift). */
typedef struct {
    int64_t bias;
    int32_t multiplier;
    int32_t shift;
} match_requant_t;

/* The same with a correction for negative values: negative_step is taken off the sum where acc < negative_below. */
typedef struct {
    int64_t bias;
    int32_t multiplier;
    int32_t shift;
    int32_t negative_below;
    int32_t reserved;
} match_requant_signed_t;

/* The same by the upper word of the product with an unsigned multiplier:
 * clip((upper((acc + addend) * multiplier) + bias) >> shift), where the shift is the lowest five bits of bias. */
typedef struct {
    int32_t addend;
    uint32_t multiplier;
    int32_t bias;
} match_requant_high_t;

/* The same of accumulators that are clipped before, by the two parts of a multiplier, in words without signs:
 * (((a * low + bias) >> shift) + a * high) >> 24, where a is acc + addend clipped to 0 .. largest and the shift is the lowest
 * five bits of bias. Products and sums wrap. Outputs are clipped because their accumulators are. */
typedef struct {
    int32_t addend;
    int32_t largest;
    uint32_t low;
    uint32_t bias;
    uint32_t high;
} match_requant_split_t;

/* The same with a correction for negative values: where a < negative_below, negative_word is added in front of the last
 * shift. The sum wraps. */
typedef struct {
    match_requant_split_t split;
    int32_t negative_below;
    uint32_t negative_word;
} match_requant_split_signed_t;

/* The same for channels whose sums fit 32 bits; products alone need not, so multiply and add as uint32_t, which wraps. */
typedef struct {
    int32_t bias;
    int32_t multiplier;
    int32_t shift;
} match_requant32_t;

/* Requantization of an addition: clip((a * input_multiplier + b * addend_multiplier + bias) >> shift). */
typedef struct {
    int64_t bias;
    int32_t input_multiplier;
    int32_t addend_multiplier;
    int32_t shift;
    int32_t reserved;
} match_requant_add_t;

/* The same where all sums fit 32 bits; products alone need not. */
typedef struct {
    int32_t bias;
    int32_t input_multiplier;
    int32_t addend_multiplier;
    int32_t shift;
} match_requant_add32_t;

/* The same by the parts of a multiplier, of the sum a * input_multiplier + b * addend_multiplier, which fits 32 bits. */
typedef struct {
    match_requant_split_t split;
    int32_t input_multiplier;
    int32_t addend_multiplier;
} match_requant_add_split_t;

/* float32 to 8 bits. Numbers are taken by their bits: `order` of one is its bits as int32, all but the sign turned over
 * where they are negative, so that larger numbers are later. An output at zero + level, level being the number's 16
 * leading bits * multiplier >> (exponent - its biased exponent), is the right one or the one before:
 * lowest + at + (order > steps[at]). */
typedef struct {
    int32_t multiplier; /* 15 bits */
    int32_t exponent;
    int32_t zero;       /* the output of 0, counted from the lowest */
    int32_t lowest;     /* output */
    int32_t steps[256]; /* order of the last number whose output is at most lowest + at */
} match_quantize_t;

/* A channel of sums that become float32: (float)(sum + offset) * scale + bias, rounded after each operation. */
typedef struct {
    int32_t offset;
    float scale;
    float bias;
} match_dequantize_t;

/* Average pooling in float32. The line of n inputs, (their sum - n * input_zero) * (multiplier / n) + bias with `shift`
 * bits behind the point, tells the output, counted from the lowest, but where it is less than `near` from a whole number.
 * There the mean in float32 of the numbers that the inputs stand for decides. */
typedef struct {
    int32_t multiplier;
    int32_t bias;
    int32_t shift;
    int32_t near;
    int32_t input_zero;
    float numbers[256];
    match_quantize_t quantize;
} match_float_average_t;

/* Softmax. The exponential of each distance to a row's largest value has 31 bits behind the point. A probability is
 * written in as many steps as of 1/256 times factor / 2^30 * 2^(22 - shift), from zero on. */
typedef struct {
    int32_t factor;
    int32_t shift;
    int32_t zero;
    int32_t exponentials[256];
} match_softmax_t;

/* The logarithm of a softmax. The exponential of each distance to a row's largest value has 31 bits behind the point, what
 * a distance adds to the logarithm `fraction` bits. */
typedef struct {
    int32_t fraction;
    int32_t exponentials[256];
    int32_t distances[256];
} match_log_softmax_t;

/* Normalization of n channels: the operator's epsilon as epsilon * (n / scale)^2 with 8 bits behind the point, what the
 * distances are from (a value of the input, or -1 for the mean), and the channels' gains. */
typedef struct {
    int64_t spread;
    int32_t centre;
    int16_t gains[];
} match_normalize_t;

/* x * 2^left * mantissa / 2^32, rounded half up, then divided by 2^right, rounded half away from zero; half is 2^right / 2
 * without a fraction. x * 2^left fits 32 bits. */
typedef struct {
    int32_t mantissa;
    int32_t left;
    int32_t right;
    int32_t half;
} match_scaling_t;

/* Addition of int16: scaled inputs, the second one times the sign (-1: a difference), and their sum scaled. */
typedef struct {
    match_scaling_t input;
    match_scaling_t addend;
    match_scaling_t sum;
    int32_t sign;
} match_add_int16_t;

/* A function of int16 that is interpolated in a table, the logistic function or the hyperbolic tangent: of
 * x * multiplier / 2^shift, rounded half up. */
typedef struct {
    int32_t multiplier;
    int32_t shift;
    uint16_t logistic[256]; /* 65536 times the logistic function of i / 24 */
} match_gate_int16_t;

/* Softmax of int16, in TFLite Micro's fixed point. Scaled, distances to a row's largest value are steps of the table of
 * exponentials, from -10 to 0. The other table has 1 / (1 + x) for x from 0 to 1. Of both, 513 entries are read, which
 * have 15 bits behind the point. */
typedef struct {
    match_scaling_t distances;
    int16_t exponentials[514];
    int16_t reciprocals[514];
} match_softmax_int16_t;

/* An LSTM. A gate's sum over the input and its sum over the states become 16 bits, 12 of them behind the point, with the
 * scalings of the gate: input, forget, output, cell. `added` brings the product of two functions to the steps of a cell,
 * `shown` to those of the output. Shifted left, then right and rounded half up, a cell has 12 bits behind the point. */
typedef struct {
    match_scaling_t inputs[4];
    match_scaling_t states[4];
    match_scaling_t added;
    match_scaling_t shown;
    int32_t cell_left;
    int32_t cell_right;
    int32_t cell_limit;     /* largest magnitude of a cell */
    int32_t zero;           /* the output of 0 */
    uint16_t logistic[256]; /* 65536 times the logistic function of i / 24 */
} match_lstm_t;

/* A unit of it, at a multiple of 4: what is added to the sums of its four gates over the input and over the states.
 * Behind it lie the gates' weights of the input, channels_in each, then those of the states, channels_out each: bytes, or
 * int16 where activations are. */
typedef struct {
    int32_t inputs[4];
    int32_t states[4];
    int8_t weights[];
} match_lstm_unit_t;

/* A GRU whose reset gate multiplies what the candidate remembers, after the product with the states, or the states
 * before it. Sums over the input and over the states become numbers with 12 bits behind the point, with the scalings of
 * the gate: update, reset, candidate. `shown` brings a state, 15 bits behind the point, to the steps of the output. */
typedef struct {
    match_scaling_t inputs[3];
    match_scaling_t states[3];
    match_scaling_t shown;
    int32_t zero;           /* the output of 0 */
    uint16_t logistic[256]; /* 65536 times the logistic function of i / 24 */
} match_gru_t;

/* A unit of it, at a multiple of 4: what is added to the sums of its gates over the input and over the states, and to
 * what the candidate remembers, 12 bits behind the point. Behind it lie the gates' weights of the input, channels_in
 * each, then those of the states, channels_out each, and behind both zeros up to the next multiple of 4. */
typedef struct {
    int32_t inputs[3];
    int32_t states[3];
    int32_t bias;
    int8_t weights[];
} match_gru_unit_t;

/* Of an output row or column of an interpolation: the inputs below and above it, and the weight of the one above in
 * 1/1024. */
typedef struct {
    uint16_t below;
    uint16_t above;
    int32_t weight;
} match_between_t;

typedef struct {
    const uint8_t *input;
    const uint8_t *addend;  /* second input of an operator that has two */
    const void *weights;    /* filter of channels_out output channels, in the module's layout; zero points */
    const void *parameters; /* requantization of the same channels, in the module's form; tables */
    const void *excepted;   /* NULL: none of these channels has exceptions */
    const void *exceptions;
    uint8_t *output;
    const int32_t *sums_in; /* NULL: this tile begins with the first of the layer's input channels */
    int32_t *sums_out;      /* NULL: it ends with the last of them */
    void *scratch;

    int32_t channels_in;
    int32_t channels_out;
    int32_t input_height;
    int32_t input_width;
    int32_t input_row_stride;
    int32_t input_pixel_stride;
    int32_t addend_row_stride;
    int32_t addend_pixel_stride;
    int32_t output_height;
    int32_t output_width;
    int32_t output_row_stride;
    int32_t output_pixel_stride;

    /* The window of a convolution or pooling; all 0 for other operators. */
    int32_t filter_height;
    int32_t filter_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t pad_bottom;
    int32_t pad_right;
    int32_t pad_value;

    int32_t clip_low;
    int32_t clip_high;
    int64_t negative_step; /* 0: nothing is taken off; else parameters are the kernel's that end in _signed_t */
    int32_t shift;         /* of all channels, for modules that have one shift for a layer */

    /* 0 where channels lie side by side, as they do in HWC. */
    int32_t input_channel_stride;
    int32_t addend_channel_stride;
    int32_t output_channel_stride;

    /* Of a grouped convolution, whose channels_in and channels_out are those of one group; 0 for other operators. */
    int32_t groups;

    /* Of signed weights, for modules that have them in as few as they fit; 0: 8. */
    int32_t weight_bits;
} match_tile_t;

/* Computes one tile. Cluster kernels run on all cores at once and split the work by core number (match_team.h). */
typedef void (*match_kernel_t)(const match_tile_t *tile);

#endif
