#include "match_pulp_requantize.h"

#include <stdbool.h>

#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"
#include "match_team.h"

/* Pixels beside each other. */
typedef struct {
    const int32_t *accumulators;
    uint8_t *output;
    ptrdiff_t output_step;
    int32_t count;
} pixels_t;

#if defined(MATCH_PULP_INSN)

#define SUMS \
    MATCH_INSN_LOAD4("%[a]", "%[from]") \
    MATCH_INSN_LOAD4_STEP("%[b]", "%[from]", "%[stride]") \
    "add %[a], %[a], %[a_addend]\n" \
    "add %[b], %[b], %[b_addend]\n" \
    MATCH_INSN_CLIP("%[a]", "%[a]", "%[a_largest]") \
    MATCH_INSN_CLIP("%[b]", "%[b]", "%[b_largest]")
#define WORD(word, sum, channel) \
    MATCH_SPLIT_WORD(word, sum, "%[" channel "_low]", "%[" channel "_bias]", "%[" channel "_high]")
#define NEGATIVE(word, sum, channel) \
    MATCH_SPLIT_NEGATIVE(word, sum, "%[" channel "_below]", "%[" channel "_word]")
#define UPPERMOST \
    MATCH_INSN_LANES_OF_TWO("%[first]", "%[second]", "%[lanes]") \
    MATCH_INSN_STORE2_STEP("%[first]", "%[to]", "%[step]")

#define PIXELS(sums) \
    [from] "+r"(pixels.accumulators), [to] "+r"(pixels.output), [a] "=&r"(sums[0]), [b] "=&r"(sums[1]), \
        [first] "=&r"(sums[2]), [second] "=&r"(sums[3])
#define CONSTANTS(p, q) \
    [count] "r"(pixels.count), [stride] "r"(4 * (stride - 1)), [step] "r"(pixels.output_step), [lanes] "r"(0x0703), \
        [a_addend] "r"((p).addend), [b_addend] "r"((q).addend), [a_largest] "r"((p).largest), \
        [b_largest] "r"((q).largest), [a_low] "r"((p).low), [b_low] "r"((q).low), [a_bias] "r"((p).bias), \
        [b_bias] "r"((q).bias), [a_high] "r"((p).high), [b_high] "r"((q).high)

/* Two channels of these pixels, of which there are some, with accumulators `stride` apart: 14 cycles a pixel. */
MATCH_INLINE void two_channels(match_requant_split_t p, match_requant_split_t q, pixels_t pixels, int32_t stride)
{
    int32_t sums[4];
    __asm__ volatile(MATCH_INSN_LOOP("%[count]", 14)
                     SUMS WORD("%[first]", "%[a]", "a") WORD("%[second]", "%[b]", "b") UPPERMOST MATCH_INSN_LOOP_END
                     : PIXELS(sums)
                     : CONSTANTS(p, q)
                     : "memory");
}

/* The same with a correction for negative values: 18 cycles. */
MATCH_INLINE void two_channels_signed(match_requant_split_signed_t p, match_requant_split_signed_t q, pixels_t pixels,
                                      int32_t stride)
{
    int32_t sums[4];
    __asm__ volatile(MATCH_INSN_LOOP("%[count]", 18)
                     SUMS WORD("%[first]", "%[a]", "a") WORD("%[second]", "%[b]", "b")
                     NEGATIVE("%[first]", "%[a]", "a") NEGATIVE("%[second]", "%[b]", "b") UPPERMOST MATCH_INSN_LOOP_END
                     : PIXELS(sums)
                     : CONSTANTS(p.split, q.split), [a_below] "r"(p.negative_below), [b_below] "r"(q.negative_below),
                       [a_word] "r"(p.negative_word), [b_word] "r"(q.negative_word)
                     : "memory");
}

#else

MATCH_INLINE void two_channels(match_requant_split_t p, match_requant_split_t q, pixels_t pixels, int32_t stride)
{
    for (; pixels.count > 0; pixels.count--, pixels.accumulators += stride, pixels.output += pixels.output_step) {
        pixels.output[0] = (uint8_t)match_requantize_split(p, pixels.accumulators[0]);
        pixels.output[1] = (uint8_t)match_requantize_split(q, pixels.accumulators[1]);
    }
}

MATCH_INLINE void two_channels_signed(match_requant_split_signed_t p, match_requant_split_signed_t q, pixels_t pixels,
                                      int32_t stride)
{
    for (; pixels.count > 0; pixels.count--, pixels.accumulators += stride, pixels.output += pixels.output_step) {
        pixels.output[0] = (uint8_t)match_requantize_split_signed(p, pixels.accumulators[0]);
        pixels.output[1] = (uint8_t)match_requantize_split_signed(q, pixels.accumulators[1]);
    }
}

#endif

/* So many channels of these pixels by halves of multipliers, by twos, whose parameters stay in registers; accumulators are `stride`
 * apart. */
MATCH_INLINE void by_halves(match_form_t form, const uint8_t *parameters, pixels_t pixels, int32_t channels,
                            int32_t stride)
{
    const ptrdiff_t bytes = match_parameter_bytes(form);
    for (; channels >= 2; channels -= 2, parameters += 2 * bytes) {
        if (form == MATCH_FORM_SPLIT) {
            two_channels(match_parameters_split(parameters), match_parameters_split(parameters + bytes), pixels, stride);
        } else {
            two_channels_signed(match_parameters_split_signed(parameters),
                                match_parameters_split_signed(parameters + bytes), pixels, stride);
        }
        pixels.accumulators += 2;
        pixels.output += 2;
    }
    const match_finish_t finish = {.form = form};
    for (; channels > 0 && pixels.count > 0; pixels.count--) {
        *pixels.output = match_requantize_with(&finish, parameters, *pixels.accumulators);
        pixels.accumulators += stride;
        pixels.output += pixels.output_step;
    }
}

/* The same in 64 bits, in a loop for each kind of parameters. */
static void by_64_bits(const match_finish_t *given, pixels_t pixels, int32_t channels, int32_t stride)
{
    match_finish_t finish = *given;
    for (; pixels.count > 0; pixels.count--, pixels.accumulators += stride, pixels.output += pixels.output_step) {
        const uint8_t *parameters = finish.parameters;
        if (finish.form == MATCH_FORM_64) {
            for (int32_t k = 0; k < channels; k++, parameters += sizeof(match_requant_t)) {
                match_requant_t p = match_parameters_64(parameters);
                pixels.output[k] = match_shift_and_clip(&finish, match_sum_64(p, pixels.accumulators[k]), p.shift);
            }
        } else {
            for (int32_t k = 0; k < channels; k++, parameters += sizeof(match_requant_signed_t)) {
                match_requant_signed_t p = match_parameters_64_signed(parameters);
                int64_t sum = match_sum_64_signed(&finish, p, pixels.accumulators[k]);
                pixels.output[k] = match_shift_and_clip(&finish, sum, p.shift);
            }
        }
    }
}

/* How many of the cores share out the channels of a pixel, by fours, so that all have as many: two to the power of this. */
static int32_t log2_cores_along_channels(int32_t cores, int32_t channels)
{
    int32_t both = cores | channels >> 2 | (channels & 3 ? 1 : 0);
    int32_t bits = 0;
    while ((both >> bits & 1) == 0) {
        bits++;
    }
    return bits;
}

/* What a core has of a tile: some channels of some pixels, one after the other. */
typedef struct {
    pixels_t pixels; /* accumulators of the next ones */
    int32_t row;     /* pixels of a row; rows without a gap between them are one */
    int32_t y;       /* where the next pixel is */
    int32_t x;
    int32_t left;    /* pixels from here on */
    int32_t first;   /* channel */
    int32_t channels;
} share_t;

/* This core's share, where two to the power of `bits` cores have the channels of a pixel. */
MATCH_INLINE share_t share_by(const match_tile_t *tile, int32_t bits)
{
    int32_t stride = tile->channels_out;
    int32_t core = match_core_id();
    int32_t cores = match_core_count();
    int32_t across = cores >> bits;
    int32_t total = tile->output_height * tile->output_width;
    int32_t each = (total + across - 1) / across;
    int32_t first = match_smaller((core >> bits) * each, total);
    share_t share = {
        .row = tile->output_row_stride == tile->output_width * tile->output_pixel_stride ? total : tile->output_width,
        .left = match_smaller(each, total - first),
        .channels = stride >> bits,
    };
    share.first = (core & ((1 << bits) - 1)) * share.channels;
    share.y = first < share.row ? 0 : first / share.row; /* a division takes 30 cycles */
    share.x = first - share.y * share.row;
    share.pixels.accumulators = (const int32_t *)tile->scratch + (ptrdiff_t)first * stride + share.first;
    share.pixels.output_step = tile->output_pixel_stride;
    return share;
}

/* Channels are shared out first, as a core loads the parameters of its channels for each row of its pixels. */
MATCH_INLINE share_t share_of(const match_tile_t *tile)
{
    return share_by(tile, log2_cores_along_channels(match_core_count(), tile->channels_out));
}

/* Take the next row of the share, where there is one. */
MATCH_INLINE bool next_row(share_t *share, const match_tile_t *tile)
{
    share->pixels.accumulators += share->pixels.count * tile->channels_out;
    share->pixels.count = match_smaller(share->left, share->row - share->x);
    share->pixels.output = match_output_pixel(tile, share->y, share->x) + share->first;
    share->left -= share->pixels.count;
    share->y++;
    share->x = 0;
    return share->pixels.count > 0;
}

/* Take 1 off outputs of these pixels whose accumulators, `stride` apart, are `exception`. */
MATCH_INLINE void correct_pixels(pixels_t pixels, int32_t stride, int32_t exception)
{
    for (; pixels.count > 0; pixels.count--, pixels.accumulators += stride, pixels.output += pixels.output_step) {
        if (*pixels.accumulators == exception) {
            *pixels.output = (uint8_t)(*pixels.output - 1);
        }
    }
}

/* The same for all exceptions, when all outputs are there. Pixels alone are shared out: the channels that have exceptions may
 * be those of few cores. */
static __attribute__((noinline)) void correct(const match_tile_t *tile)
{
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_64);
    match_team_barrier();
    share_t share = share_by(tile, 0);
    while (next_row(&share, tile)) {
        for (int32_t k = 0; k < tile->channels_out; k++) {
            match_exceptions_t exceptions = match_exceptions_of(&finish, k);
            pixels_t pixels = share.pixels;
            pixels.accumulators += k;
            pixels.output += k;
            for (const int32_t *one = exceptions.first; one < exceptions.end; one++) {
                correct_pixels(pixels, tile->channels_out, *one);
            }
        }
    }
}

void match_pulp_requantize(const match_tile_t *tile)
{
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_64);
    share_t share = share_of(tile);
    finish.parameters = match_parameters_of(&finish, finish.form, share.first);
    while (next_row(&share, tile)) {
        by_64_bits(&finish, share.pixels, share.channels, tile->channels_out);
    }
    if (tile->excepted != NULL) {
        correct(tile);
    }
}

/* In a function for each form: the cores fetch its instructions anew for each part of a tile. */
MATCH_INLINE void requantize_split(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    share_t share = share_of(tile);
    const uint8_t *parameters = match_parameters_of(&finish, form, share.first);
    while (next_row(&share, tile)) {
        by_halves(form, parameters, share.pixels, share.channels, tile->channels_out);
    }
    if (tile->excepted != NULL) {
        correct(tile);
    }
}

static __attribute__((noinline)) void requantize_split_signed(const match_tile_t *tile)
{
    requantize_split(tile, MATCH_FORM_SPLIT_SIGNED);
}

void match_pulp_requantize_split(const match_tile_t *tile)
{
    if (tile->negative_step == 0) {
        requantize_split(tile, MATCH_FORM_SPLIT);
    } else {
        requantize_split_signed(tile);
    }
}
