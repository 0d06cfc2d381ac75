#include "match_pulp.h"
#include "match_pulp_im2col.h"
#include "match_pulp_share.h"

#if defined(MATCH_PULP_INSN)

/* Fours of pixels of three channels and nothing else: of each channel a word becomes three words of pixels. */
MATCH_INLINE void turn_threes(uint8_t *target, const uint8_t *source, ptrdiff_t stride, int32_t fours)
{
    /* Lanes of two words: of the first two channels for the second and the third word, then with the third channel. */
    enum { SECOND = 0x06020005, THIRD = 0x00070300 };
    enum { FIRST_ALL = 0x01040200, SECOND_ALL = 0x03020500, THIRD_ALL = 0x07020106 };
    uint32_t a, b, c, d, e;
    __asm__ volatile(MATCH_INSN_LOOP("%[fours]", 13)
                     MATCH_INSN_LOAD4_STEP("%[a]", "%[source]", "%[stride]")
                     MATCH_INSN_LOAD4_STEP("%[b]", "%[source]", "%[stride]")
                     MATCH_INSN_LOAD4_STEP("%[c]", "%[source]", "%[on]")
                     MATCH_INSN_PACK_HALVES("%[d]", "%[b]", "%[a]")
                     "mv %[e], %[a]\n"
                     MATCH_INSN_LANES_OF_TWO("%[e]", "%[b]", "%[second]")
                     MATCH_INSN_LANES_OF_TWO("%[a]", "%[b]", "%[third]")
                     MATCH_INSN_LANES_OF_TWO("%[d]", "%[c]", "%[first_all]")
                     MATCH_INSN_LANES_OF_TWO("%[e]", "%[c]", "%[second_all]")
                     MATCH_INSN_LANES_OF_TWO("%[a]", "%[c]", "%[third_all]")
                     MATCH_INSN_STORE4("%[d]", "%[target]")
                     MATCH_INSN_STORE4("%[e]", "%[target]")
                     MATCH_INSN_STORE4("%[a]", "%[target]")
                     MATCH_INSN_LOOP_END
                     : [source] "+&r"(source), [target] "+&r"(target), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c),
                       [d] "=&r"(d), [e] "=&r"(e)
                     : [fours] "r"(fours), [stride] "r"(stride), [on] "r"(4 - 2 * stride), [second] "r"(SECOND),
                       [third] "r"(THIRD), [first_all] "r"(FIRST_ALL), [second_all] "r"(SECOND_ALL),
                       [third_all] "r"(THIRD_ALL)
                     : "memory");
}

/* The same of two channels: two words of two pixels each. */
MATCH_INLINE void turn_twos(uint8_t *target, const uint8_t *source, ptrdiff_t stride, int32_t fours)
{
    enum { FIRST_TWO = 0x05010400, LAST_TWO = 0x07030602 };
    uint32_t a, b, c;
    __asm__ volatile(MATCH_INSN_LOOP("%[fours]", 7)
                     MATCH_INSN_LOAD4_STEP("%[a]", "%[source]", "%[stride]")
                     MATCH_INSN_LOAD4_STEP("%[b]", "%[source]", "%[on]")
                     "mv %[c], %[a]\n"
                     MATCH_INSN_LANES_OF_TWO("%[c]", "%[b]", "%[first]")
                     MATCH_INSN_LANES_OF_TWO("%[a]", "%[b]", "%[last]")
                     MATCH_INSN_STORE4("%[c]", "%[target]")
                     MATCH_INSN_STORE4("%[a]", "%[target]")
                     MATCH_INSN_LOOP_END
                     : [source] "+&r"(source), [target] "+&r"(target), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
                     : [fours] "r"(fours), [stride] "r"(stride), [on] "r"(4 - stride), [first] "r"(FIRST_TWO),
                       [last] "r"(LAST_TWO)
                     : "memory");
}

/* Pixels of a row and some of their channels, bytes. */
static void turn(const match_tile_t *tile, uint8_t *target, const uint8_t *source, int32_t columns, int32_t channels)
{
    match_copies_t copies = {
        .columns = columns,
        .rows = channels,
        .bytes = 1,
        .source_row = tile->input_channel_stride,
        .source_step = 1,
        .target_step = tile->output_pixel_stride,
    };
    if ((channels == 2 || channels == 3) && copies.target_step == channels && columns >= 4) {
        if (channels == 2) {
            turn_twos(target, source, copies.source_row, columns >> 2);
        } else {
            turn_threes(target, source, copies.source_row, columns >> 2);
        }
        copies.columns = columns & 3;
        if (copies.columns == 0) {
            return;
        }
        source += columns - copies.columns;
        target += channels * (columns - copies.columns);
    }
    match_copy_small_pixels(target, source, &copies);
}

#else

/* The same: channel by channel where there are more pixels than channels, else pixel by pixel. */
static void turn(const match_tile_t *tile, uint8_t *target, const uint8_t *source, int32_t columns, int32_t channels)
{
    bool by_pixels = channels > columns;
    ptrdiff_t from = by_pixels ? tile->input_channel_stride : 1;
    ptrdiff_t from_run = by_pixels ? 1 : tile->input_channel_stride;
    ptrdiff_t to = by_pixels ? 1 : tile->output_pixel_stride;
    ptrdiff_t to_run = by_pixels ? tile->output_pixel_stride : 1;
    int32_t count = by_pixels ? channels : columns;
    for (int32_t runs = by_pixels ? columns : channels; runs > 0; runs--, source += from_run, target += to_run) {
        const uint8_t *input = source;
        uint8_t *output = target;
#pragma GCC unroll 4
        for (int32_t i = 0; i < count; i++, input += from, output += to) {
            *output = *input;
        }
    }
}

#endif

/* Elements of one byte. Cores share out fours of pixels of a row, or fours of channels where the core with most has less
 * to do then. */
static void turn_bytes(const match_tile_t *tile)
{
    int32_t fours = (tile->output_width + 3) / 4;
    int32_t channel_fours = (tile->channels_out + 3) / 4;
    match_share_t pixels = {0, tile->output_height * fours};
    match_share_t channels = {0, tile->channels_out};
    int32_t each = match_each(pixels.last);
    int32_t each_channels = match_each(channel_fours);
    if (pixels.last * each_channels < each * channel_fours) {
        channels = match_share_by(tile->channels_out, 4 * each_channels);
    } else {
        pixels = match_share_by(pixels.last, each);
    }
    int32_t left = channels.first < channels.last ? pixels.last - pixels.first : 0;
    int32_t y = pixels.first / fours;
    int32_t x = 4 * (pixels.first - y * fours);
    for (; left > 0; y++, x = 0) {
        int32_t columns = match_smaller(tile->output_width - x, 4 * left);
        const uint8_t *source =
            tile->input + y * tile->input_row_stride + x + channels.first * tile->input_channel_stride;
        uint8_t *target =
            tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride + channels.first;
        turn(tile, target, source, columns, channels.last - channels.first);
        left -= (columns + 3) / 4;
    }
}

/* Elements of so few bytes that copying them is less than a call for each. */
enum { FEW = 4 };

MATCH_INLINE void copy_few(uint8_t *restrict target, const uint8_t *restrict source, ptrdiff_t stride, int32_t count,
                           int bytes)
{
    for (; count > 0; count--, source += stride, target += bytes) {
        if (bytes == 4) {
            match_store4(target, match_load4(source));
            continue;
        }
        target[0] = source[0];
        target[1] = source[1];
        if (bytes == 3) {
            target[2] = source[2];
        }
    }
}

/* Two to `FEW` bytes of each element. */
static void turn_few(uint8_t *target, const uint8_t *source, ptrdiff_t stride, int32_t count, int32_t bytes)
{
    if (bytes == 2) {
        copy_few(target, source, stride, count, 2);
    } else if (bytes == 3) {
        copy_few(target, source, stride, count, 3);
    } else {
        copy_few(target, source, stride, count, 4);
    }
}

void match_pulp_transpose(const match_tile_t *tile)
{
    int32_t unit = tile->channels_in;
    if (unit == 1) {
        turn_bytes(tile);
        return;
    }
    int32_t stride = tile->input_channel_stride * unit;
    match_pixels_t at = match_share_pixels(tile->output_height, tile->output_width);
    for (; at.left > 0; match_next_pixel(&at)) {
        const uint8_t *input = tile->input + (at.y * tile->input_row_stride + at.x * tile->input_pixel_stride) * unit;
        uint8_t *output = tile->output + (at.y * tile->output_row_stride + at.x * tile->output_pixel_stride) * unit;
        if (unit <= FEW) {
            turn_few(output, input, stride, tile->channels_out, unit);
        } else {
            match_copy_rows(output, unit, input, stride, tile->channels_out, unit);
        }
    }
}
