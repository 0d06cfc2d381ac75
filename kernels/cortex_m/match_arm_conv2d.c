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

/* A run of any length, as bytes, behind which there is room for a word: what is written there is written again. */
static void copy_run(void *target, const uint8_t *bytes, int32_t count)
{
    place_t *place = target;
    uint8_t *next = place->bytes, *end = next + count;
    place->bytes = end;
    if (bytes == NULL) {
        uint32_t word = place->padding | (uint32_t)place->padding << 8;
        word |= word << 16;
        for (; next < end; next += 4) {
            memcpy(next, &word, 4);
        }
    } else if (count < 4) {
        for (; next != end; next++) {
            *next = *bytes++;
        }
    } else {
        for (; next + 4 < end; next += 4, bytes += 4) {
            memcpy(next, bytes, 4);
        }
        memcpy(end - 4, bytes + (end - 4 - next), 4);
    }
}

/* Lay out what output pixel (y, x) sees as a column, by way of `bytes` where pixels are no whole words. */
static void lay_out(const match_tile_t *tile, int32_t y, int32_t x, uint32_t *column, uint8_t *bytes)
{
    place_t place = {column, bytes, (uint8_t)tile->pad_value};
    if (tile->channels_in % 4 == 0) {
        match_arm_runs(tile, y, x, widen_run, &place);
    } else {
        match_arm_runs(tile, y, x, copy_run, &place);
        match_arm_widen(column, COLUMNS, bytes, (int32_t)(place.bytes - bytes));
    }
}

static inline void finish_four(match_arm_requant_t p, const int32_t *sums, uint8_t *const *outputs, int32_t channel)
{
    outputs[0][channel] = match_arm_byte(p, sums[0]);
    outputs[1][channel] = match_arm_byte(p, sums[1]);
    outputs[2][channel] = match_arm_byte(p, sums[2]);
    outputs[3][channel] = match_arm_byte(p, sums[3]);
}

/* All channels of some pixels whose columns are laid out. */
static void multiply(const match_tile_t *tile, const match_arm_finish_t *finish, const uint32_t *columns, int32_t length,
                     uint8_t *const *outputs, int32_t count)
{
    const int8_t *weights = tile->weights;
    const uint8_t *parameters = tile->parameters;
    int32_t bytes = match_arm_parameter_bytes(finish->form);
    int32_t channels = tile->channels_out;
    bool usual = finish->bytes && count == COLUMNS;
    for (int32_t k = 0; k < channels; k += 2) {
        const int8_t *end = weights + 2 * length;
        const void *second = parameters + bytes;
        int32_t sums[2 * COLUMNS];
        sums[0] = *(const int32_t *)(const void *)parameters;
        sums[1] = *(const int32_t *)second;
        match_arm_dot_4(columns, weights, end, sums);
        if (usual && k + 1 < channels) {
            finish_four(*(const match_arm_requant_t *)(const void *)parameters, sums, outputs, k);
            finish_four(*(const match_arm_requant_t *)second, sums + COLUMNS, outputs, k + 1);
        } else {
            match_arm_finish(finish, k, sums, outputs, count);
            if (k + 1 < channels) {
                match_arm_finish(finish, k + 1, sums + COLUMNS, outputs, count);
            }
        }
        weights = end;
        parameters += 2 * bytes;
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
