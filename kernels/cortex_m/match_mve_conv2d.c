#include "match_arm_window.h"
#include "match_mve_block.h"
#include "match_mve_columns.h"
#include "match_mve_dot.h"
#include "match_mve_finish.h"

enum { COLUMNS = 2 };

/* Where the next bytes of a window go, and what stands for padding. */
typedef struct {
    int8_t *column;
    int8_t padding;
} place_t;

static void sign_run(void *target, const uint8_t *bytes, int32_t count)
{
    place_t *place = target;
    place->column = bytes != NULL ? match_mve_sign(place->column, bytes, count)
                                  : match_mve_fill(place->column, place->padding, count);
}

static void lay_out(const match_tile_t *tile, int32_t y, int32_t x, int8_t *column)
{
    place_t place = {column, (int8_t)(tile->pad_value ^ MATCH_MVE_SIGN)};
    const uint8_t *inside = match_arm_inside(tile, y, x);
    if (inside == NULL) {
        match_arm_runs(tile, y, x, sign_run, &place);
        return;
    }
    int32_t count = tile->filter_width * tile->channels_in;
    ptrdiff_t step = (ptrdiff_t)tile->dilation_y * tile->input_row_stride;
    for (int32_t fy = tile->filter_height; fy > 0; fy--, inside += step) {
        column = match_mve_sign(column, inside, count);
    }
}

/* All channels of one or two pixels whose columns are laid out; of a last one twice, if that is quicker. */
static void multiply(const match_tile_t *tile, const match_arm_finish_t *finish, match_mve_block_t *job,
                     uint8_t *const *outputs, int32_t count)
{
#if MATCH_ARM_MVE
    if ((finish->form == MATCH_ARM_WORDS || finish->upper) && finish->low == 0) {
        job->outputs[0] = outputs[0];
        job->outputs[1] = outputs[count - 1];
        job->channels = tile->channels_out;
        if (count < COLUMNS) {
            job->columns[1] = job->columns[0];
        }
        (finish->upper ? match_mve_block_long : match_mve_block)(job);
        return;
    }
#endif
    const int8_t *weights = job->weights;
    int32_t length = job->chunks * MATCH_MVE_BYTES;
    for (int32_t k = 0; k < tile->channels_out; k += MATCH_MVE_CHANNELS, weights += MATCH_MVE_CHANNELS * length) {
        int32_t sums[COLUMNS * MATCH_MVE_CHANNELS];
        (count == COLUMNS ? match_mve_dot_2 : match_mve_dot_1)(job->columns[0], weights, length, sums);
        match_mve_finish_any(finish, k, tile->channels_out, sums, MATCH_MVE_CHANNELS, outputs, count);
    }
}

static void conv2d(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    int32_t length = match_mve_rounded(tile->filter_height * tile->filter_width * tile->channels_in);
    int8_t *columns[COLUMNS] = {tile->scratch, (int8_t *)tile->scratch + length};
    match_mve_block_t job = {
        .columns = {columns[0], columns[1]},
        .weights = tile->weights,
        .parameters = tile->parameters,
        .chunks = length / MATCH_MVE_BYTES,
        .high = tile->clip_high,
    };
    uint8_t *outputs[COLUMNS];
    int32_t count = 0;
    bool alone = match_arm_sees_pixels(tile);
    ptrdiff_t step = (ptrdiff_t)tile->stride_x * tile->input_pixel_stride;
    for (int32_t y = 0; y < tile->output_height; y++) {
        uint8_t *output = tile->output + y * tile->output_row_stride;
        const uint8_t *pixel = tile->input + y * tile->stride_y * tile->input_row_stride;
        for (int32_t x = 0; x < tile->output_width; x++, output += tile->output_pixel_stride, pixel += step) {
            if (alone) {
                match_mve_sign(columns[count], pixel, tile->channels_in);
            } else {
                lay_out(tile, y, x, columns[count]);
            }
            outputs[count++] = output;
            if (count == COLUMNS) {
                multiply(tile, &finish, &job, outputs, count);
                count = 0;
            }
        }
    }
    if (count > 0) {
        multiply(tile, &finish, &job, outputs, count);
    }
}

void match_mve_conv2d(const match_tile_t *tile)
{
    conv2d(tile, MATCH_ARM_WORDS);
}

void match_mve_conv2d_long(const match_tile_t *tile)
{
    conv2d(tile, MATCH_ARM_LONG);
}

/* The groups one after the other. */
static void grouped(const match_tile_t *tile, match_arm_form_t form)
{
    match_tile_t group = *tile;
    int32_t channels = (tile->channels_out + MATCH_MVE_CHANNELS - 1) & -MATCH_MVE_CHANNELS;
    int32_t length = match_mve_rounded(tile->filter_height * tile->filter_width * tile->channels_in);
    for (int32_t i = 0; i < tile->groups; i++) {
        conv2d(&group, form);
        group.input += tile->channels_in;
        group.output += tile->channels_out;
        group.weights = (const uint8_t *)group.weights + channels * length;
        group.parameters = (const uint8_t *)group.parameters + channels * match_arm_parameter_bytes(form);
    }
}

void match_mve_grouped_conv2d(const match_tile_t *tile)
{
    grouped(tile, MATCH_ARM_WORDS);
}

void match_mve_grouped_conv2d_long(const match_tile_t *tile)
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

void match_mve_dense_rows(const match_tile_t *tile)
{
    dense_rows(tile, MATCH_ARM_WORDS);
}

void match_mve_dense_rows_long(const match_tile_t *tile)
{
    dense_rows(tile, MATCH_ARM_LONG);
}
