#include "match_arm_block.h"
#include "match_arm_columns.h"
#include "match_arm_dot.h"
#include "match_arm_finish.h"
#include "match_arm_window.h"

enum { COLUMNS = 4 };

/* Where the next bytes of a window go, and what stands for padding. */
typedef struct {
    uint32_t *column;
    uint8_t *bytes;
    uint8_t padding;
} place_t;

/* A run of whole words into the column. */
static void widen_run(void *target, const uint8_t *bytes, int32_t count)
{
    place_t *place = target;
    place->column = bytes != NULL ? match_arm_widen(place->column, COLUMNS, bytes, count)
                                  : match_arm_widen_fill(place->column, COLUMNS, place->padding, count);
}

/* Copy bytes to where there is room for a word; what is behind them is written again. */
static inline uint8_t *copy(uint8_t *next, const uint8_t *bytes, int32_t count)
{
    uint8_t *end = next + count;
    if (count < 4) {
        for (; next != end; next++, bytes++) {
            *next = *bytes;
            MATCH_ARM_KEEP(bytes);
        }
        return end;
    }
    const uint8_t *last = bytes + count - 4;
    for (; bytes < last; bytes += 4, next += 4) {
        uint32_t word = match_arm_load4(bytes);
        memcpy(next, &word, 4);
        MATCH_ARM_KEEP(bytes);
    }
    uint32_t word = match_arm_load4(last);
    memcpy(end - 4, &word, 4);
    return end;
}

/* A run of any length, as bytes. */
static void copy_run(void *target, const uint8_t *bytes, int32_t count)
{
    place_t *place = target;
    if (bytes != NULL) {
        place->bytes = copy(place->bytes, bytes, count);
        return;
    }
    uint8_t *next = place->bytes;
    uint32_t word = place->padding * 0x01010101u;
    place->bytes += count;
    for (; next < place->bytes; next += 4) {
        memcpy(next, &word, 4);
        MATCH_ARM_KEEP(next);
    }
}

/* Lay out what output pixel (y, x) sees as a column, by way of `bytes` where pixels are no whole words. */
static __attribute__((noinline)) void lay_out(const match_tile_t *tile, int32_t y, int32_t x, uint32_t *column,
                                              uint8_t *bytes)
{
    place_t place = {column, bytes, (uint8_t)tile->pad_value};
    const uint8_t *inside = match_arm_inside(tile, y, x);
    int32_t count = tile->filter_width * tile->channels_in;
    int32_t step = tile->dilation_y * tile->input_row_stride;
    if (tile->channels_in % 4 == 0) {
        if (inside == NULL) {
            match_arm_runs(tile, y, x, widen_run, &place);
            return;
        }
        for (int32_t fy = tile->filter_height; fy > 0; fy--, inside += step) {
            widen_run(&place, inside, count);
        }
        return;
    }
    if (inside == NULL) {
        match_arm_runs(tile, y, x, copy_run, &place);
    } else {
        uint8_t *next = bytes;
        for (int32_t fy = tile->filter_height; fy > 0; fy--, inside += step) {
            next = copy(next, inside, count);
        }
    }
    match_arm_widen(column, COLUMNS, bytes, tile->filter_height * count);
}

/* All channels of some pixels whose columns are laid out. */
static void multiply(const match_tile_t *tile, const match_arm_finish_t *finish, const uint32_t *columns, int32_t length,
                     uint8_t *const *outputs, int32_t count)
{
    const int8_t *weights = tile->weights;
    int32_t k = 0;
#if MATCH_ARM_DSP
    if (finish->form == MATCH_ARM_WORDS && finish->bytes && count == COLUMNS && tile->channels_out > 1) {
        match_arm_block_t job = {
            .columns = columns,
            .weights = weights,
            .bytes = 2 * length,
            .parameters = tile->parameters,
            .outputs = {outputs[0], outputs[1], outputs[2], outputs[3]},
            .pairs = tile->channels_out / 2,
        };
        match_arm_block(&job);
        k = tile->channels_out & ~1;
        weights += k * length;
    }
#endif
    for (; k < tile->channels_out; k += 2, weights += 2 * length) {
        int32_t sums[2 * COLUMNS];
        sums[0] = match_arm_addend(finish, k);
        sums[1] = match_arm_addend(finish, k + 1);
        match_arm_dot_4(columns, weights, weights + 2 * length, sums);
        match_arm_finish(finish, k, sums, outputs, count);
        if (k + 1 < tile->channels_out) {
            match_arm_finish(finish, k + 1, sums + COLUMNS, outputs, count);
        }
    }
}

static void conv2d(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    int32_t length = (tile->filter_height * tile->filter_width * tile->channels_in + 3) & ~3;
    uint32_t *columns = tile->scratch;
    uint8_t *bytes = (uint8_t *)(columns + COLUMNS * length / 2);
    uint8_t *outputs[COLUMNS];
    int32_t count = 0;
    bool lone = match_arm_sees_pixels(tile);
    ptrdiff_t step = (ptrdiff_t)tile->stride_x * tile->input_pixel_stride;
    for (int32_t y = 0; y < tile->output_height; y++) {
        uint8_t *output = tile->output + y * tile->output_row_stride;
        const uint8_t *pixel = tile->input + y * tile->stride_y * tile->input_row_stride;
        for (int32_t x = 0; x < tile->output_width; x++, output += tile->output_pixel_stride) {
            if (lone) {
                match_arm_widen(columns + count, COLUMNS, pixel, tile->channels_in);
                pixel += step;
            } else {
                lay_out(tile, y, x, columns + count, bytes);
            }
            outputs[count++] = output;
            if (count == COLUMNS) {
                multiply(tile, &finish, columns, length, outputs, count);
                count = 0;
            }
        }
    }
    if (count > 0) {
        multiply(tile, &finish, columns, length, outputs, count);
    }
}

void match_arm_conv2d(const match_tile_t *tile)
{
    conv2d(tile, MATCH_ARM_WORDS);
}

void match_arm_conv2d_long(const match_tile_t *tile)
{
    conv2d(tile, MATCH_ARM_LONG);
}

/* The groups one after the other. */
static void grouped(const match_tile_t *tile, match_arm_form_t form)
{
    match_tile_t group = *tile;
    int32_t channels = (tile->channels_out + 1) & ~1;
    int32_t length = (tile->filter_height * tile->filter_width * tile->channels_in + 3) & ~3;
    for (int32_t i = 0; i < tile->groups; i++) {
        conv2d(&group, form);
        group.input += tile->channels_in;
        group.output += tile->channels_out;
        group.weights = (const uint8_t *)group.weights + channels * length;
        group.parameters = (const uint8_t *)group.parameters + channels * match_arm_parameter_bytes(form);
    }
}

void match_arm_grouped_conv2d(const match_tile_t *tile)
{
    grouped(tile, MATCH_ARM_WORDS);
}

void match_arm_grouped_conv2d_long(const match_tile_t *tile)
{
    grouped(tile, MATCH_ARM_LONG);
}

/* Rows of a dense layer as pixels of a convolution that sees one at a time. */
static void dense_rows(const match_tile_t *tile, match_arm_form_t form)
{
    match_tile_t pixels = *tile;
    pixels.filter_height = pixels.filter_width = 1;
    pixels.stride_y = pixels.stride_x = 1;
    pixels.dilation_y = pixels.dilation_x = 1;
    conv2d(&pixels, form);
}

void match_arm_dense_rows(const match_tile_t *tile)
{
    dense_rows(tile, MATCH_ARM_WORDS);
}

void match_arm_dense_rows_long(const match_tile_t *tile)
{
    dense_rows(tile, MATCH_ARM_LONG);
}
