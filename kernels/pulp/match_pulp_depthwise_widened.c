/* Depthwise filters that are a part of 3x3 or 5x5, with zeros around them; those with holes, whose outputs at equal
 * distances are a convolution without; and maps with fewer columns than the kernels of these filters read. Strips move down
 * columns, so a map of one row is taken as one of one column, which is the same bytes. */
#include <stdbool.h>
#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_depthwise.h"
#include "match_pulp_im2col.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

/* Columns of the input that a strip reads for a filter of 5x5, or for one of 3x3 at stride 2. */
enum { READ_COLUMNS = 5 };

/* A tile's filter and input as kernels for `size` x `size` take them. */
typedef struct {
    int32_t size;
    int32_t above;        /* rows of zeros above its filter, and columns in front of that */
    int32_t before;
    bool lone;            /* whether the filter sees one column, which stands for all of the input's */
    const void *weights;
    const uint8_t *input; /* with READ_COLUMNS columns; NULL: the tile's own */
} wide_t;

static void swap(int32_t *a, int32_t *b)
{
    int32_t first = *a;
    *a = *b;
    *b = first;
}

/* Take rows as columns and columns as rows. */
static void turn(match_tile_t *tile)
{
    swap(&tile->input_height, &tile->input_width);
    swap(&tile->input_row_stride, &tile->input_pixel_stride);
    swap(&tile->output_height, &tile->output_width);
    swap(&tile->output_row_stride, &tile->output_pixel_stride);
    swap(&tile->filter_height, &tile->filter_width);
    swap(&tile->stride_y, &tile->stride_x);
    swap(&tile->dilation_y, &tile->dilation_x);
    swap(&tile->pad_top, &tile->pad_left);
}

/* Copy the tile, turned or not. A single row or column of outputs gets the other stride, a single row or column of weights
 * no holes. */
static void copy_evened(match_tile_t *tile, const match_tile_t *given, bool turned)
{
    *tile = *given;
    if (turned) {
        turn(tile);
    }
    if (tile->output_height == 1) {
        tile->stride_y = tile->stride_x;
    }
    if (tile->output_width == 1) {
        tile->stride_x = tile->stride_y;
    }
    tile->dilation_y = tile->filter_height == 1 ? 1 : tile->dilation_y;
    tile->dilation_x = tile->filter_width == 1 ? 1 : tile->dilation_x;
}

static bool has_holes(const match_tile_t *tile)
{
    return tile->dilation_y > 1 || tile->dilation_x > 1;
}

/* Whether the filter fits the kernels', and each output of a filter with holes begins one of the convolutions without. */
static bool is_widened(const match_tile_t *tile)
{
    bool dense = tile->stride_y == 1 && tile->stride_x == 1;
    return match_larger(tile->filter_height, tile->filter_width) <= 5 && (dense || !has_holes(tile));
}

/* This core's share of the filters with zeros around them. */
static void lay_out_weights(const match_tile_t *tile, const wide_t *wide, uint8_t *to)
{
    match_share_t share = match_share(tile->channels_out);
    int32_t all = wide->size * wide->size;
    const uint8_t *from = (const uint8_t *)tile->weights + share.first * tile->filter_height * tile->filter_width;
    to += share.first * all;
    for (int32_t k = share.first; k < share.last; k++, to += all) {
        match_fill(to, 0, all);
        uint8_t *row = to + wide->above * wide->size + wide->before;
        for (int32_t y = 0; y < tile->filter_height; y++, row += wide->size) {
            for (int32_t x = 0; x < tile->filter_width; x++) {
                row[x] = *from++;
            }
        }
    }
}

/* This core's share of the input's rows, with padding behind each. */
static void lay_out_input(const match_tile_t *tile, uint8_t *to)
{
    int32_t channels = tile->channels_in;
    match_share_t share = match_share(tile->input_height * READ_COLUMNS);
    for (int32_t i = share.first; i < share.last; i++) {
        int32_t y = i / READ_COLUMNS;
        int32_t x = i % READ_COLUMNS;
        uint8_t *pixel = to + i * channels;
        if (x < tile->input_width) {
            match_copy_rows(pixel, channels, match_input_pixel(tile, y, x), channels, 1, channels);
        } else {
            match_fill(pixel, tile->pad_value, channels);
        }
    }
}

/* The wide filter, with nothing laid out. */
static wide_t wide_of(const match_tile_t *tile)
{
    int32_t longest = match_larger(tile->filter_height, tile->filter_width);
    wide_t wide = {.size = longest <= 3 ? 3 : 5, .weights = tile->weights};
    int32_t padding = match_steps(tile->pad_top, tile->dilation_y); /* of the outputs that have most */
    wide.above = match_larger(match_smaller(wide.size - tile->filter_height, wide.size - tile->stride_y - padding), 0);
    wide.before = (wide.size - tile->filter_width) / 2;
    wide.lone = tile->filter_width == 1 && tile->input_width == 1 && tile->output_width == 1 && tile->pad_left == 0;
    return wide;
}

/* Lay out in scratch what the tile has not as kernels take it. */
static void lay_out(const match_tile_t *tile, wide_t *wide, uint8_t *scratch)
{
    if (tile->filter_height != wide->size || tile->filter_width != wide->size) {
        lay_out_weights(tile, wide, scratch);
        wide->weights = scratch;
        scratch += (tile->channels_out * wide->size * wide->size + 3) & ~3;
    }
    bool narrow = tile->input_width < READ_COLUMNS && (wide->size == 5 || tile->stride_x == 2);
    if (narrow && !wide->lone && !has_holes(tile)) {
        lay_out_input(tile, scratch);
        wide->input = scratch;
    }
}

/* The rows or columns of one of `step` convolutions without holes, that of outputs `first`, `first` + step, .... */
typedef struct {
    int32_t skipped; /* of the input, before the first one inside */
    int32_t inputs;
    int32_t outputs;
    int32_t padding;
} phase_t;

static phase_t phase_of(int32_t first, int32_t step, int32_t inputs, int32_t outputs, int32_t padding)
{
    int32_t before = first < padding ? match_steps(padding - first, step) : 0;
    int32_t skipped = first - padding + before * step;
    return (phase_t){
        .skipped = skipped,
        .inputs = match_steps(match_larger(inputs - skipped, 0), step),
        .outputs = match_steps(match_larger(outputs - first, 0), step),
        .padding = before,
    };
}

/* Leave of the tile outputs y, y + dilation_y, ... of columns x, x + dilation_x, ..., a convolution without holes. */
static void take_phase(match_tile_t *tile, int32_t y, int32_t x)
{
    phase_t rows = phase_of(y, tile->dilation_y, tile->input_height, tile->output_height, tile->pad_top);
    phase_t columns = phase_of(x, tile->dilation_x, tile->input_width, tile->output_width, tile->pad_left);
    tile->input += rows.skipped * tile->input_row_stride + columns.skipped * tile->input_pixel_stride;
    tile->input_height = rows.inputs;
    tile->input_width = columns.inputs;
    tile->input_row_stride *= tile->dilation_y;
    tile->input_pixel_stride *= tile->dilation_x;
    tile->output += y * tile->output_row_stride + x * tile->output_pixel_stride;
    tile->output_height = rows.outputs;
    tile->output_width = columns.outputs;
    tile->output_row_stride *= tile->dilation_y;
    tile->output_pixel_stride *= tile->dilation_x;
    tile->pad_top = rows.padding;
    tile->pad_left = columns.padding;
    tile->dilation_y = 1;
    tile->dilation_x = 1;
}

/* Give a tile without holes the wide filter, and the input that was laid out. */
static void take_wide(match_tile_t *tile, const wide_t *wide)
{
    tile->weights = wide->weights;
    tile->filter_height = wide->size;
    tile->filter_width = wide->size;
    tile->pad_top += wide->above;
    tile->pad_left += wide->before;
    if (wide->lone) {
        tile->input_width = READ_COLUMNS;
        tile->input_pixel_stride = 0; /* other columns than the filter's own are multiplied by zeros */
    } else if (wide->input != NULL) {
        tile->input = wide->input;
        tile->input_width = READ_COLUMNS;
        tile->input_pixel_stride = tile->channels_in;
        tile->input_row_stride = READ_COLUMNS * tile->channels_in;
    }
}

/* Whether one row takes the busiest core fewer cycles as a column, although cores share out its channels alone then. By 5x5
 * an output takes 23 cycles there, but 119 as a strip of its own, and more of few channels; by 3x3 20, but 30 as half a
 * strip, and as many either way at stride 2. */
static bool is_shorter(const match_tile_t *tile)
{
    int32_t cores = match_core_count();
    int32_t channels = match_steps(tile->channels_out, cores) * cores;
    return tile->filter_width > 3 || (tile->stride_x == 1 && 3 * channels <= 4 * tile->channels_out);
}

/* Whether the tile is turned: one row that is shorter as a column, and has strips then. `tile` is room for that. */
static bool is_turned(const match_tile_t *given, match_tile_t *tile)
{
    if (given->output_height != 1 || given->filter_height != 1 || !is_shorter(given)) {
        return false;
    }
    copy_evened(tile, given, true);
    if (!is_widened(tile)) {
        return false;
    }
    wide_t wide = wide_of(tile);
    take_phase(tile, 0, 0);
    take_wide(tile, &wide);
    return match_pulp_has_depthwise_strips(tile);
}

/* A core's stack has room for one copy of the tile beside what strips need. */
static void widened(const match_tile_t *given, match_form_t form)
{
    match_finish_t finish = match_finish_of(given, form);
#if defined(MATCH_PULP_INSN)
    if (match_pulp_is_depthwise_small_map(given, &finish)) { /* the filter is as wide as it becomes */
        match_pulp_depthwise_small_map(given, &finish);
        if (finish.excepted != NULL) {
            match_pulp_depthwise_correct(given, &finish);
        }
        return;
    }
#endif
    match_tile_t tile;
    bool turned = is_turned(given, &tile);
    copy_evened(&tile, given, turned);
    if (!is_widened(&tile)) {
        match_pulp_depthwise_gathered(&tile, &finish);
        return;
    }
    wide_t wide = wide_of(&tile);
    lay_out(&tile, &wide, (uint8_t *)tile.scratch + match_core_count() * match_column_bytes(given));
    int32_t rows = match_smaller(tile.dilation_y, tile.output_height);
    int32_t columns = match_smaller(tile.dilation_x, tile.output_width);
    finish.excepted = NULL;
    match_team_barrier();
    for (int32_t y = 0; y < rows; y++) {
        for (int32_t x = 0; x < columns; x++) {
            copy_evened(&tile, given, turned);
            take_phase(&tile, y, x);
            bool some = tile.input_height > 0 && tile.input_width > 0;
            take_wide(&tile, &wide);
            if (!some || !match_pulp_depthwise_in_strips(&tile, &finish)) {
                copy_evened(&tile, given, false);
                take_phase(&tile, turned ? x : y, turned ? y : x);
                match_pulp_depthwise_gathered(&tile, &finish);
            }
        }
    }
    finish.excepted = given->excepted;
    if (finish.excepted != NULL) {
        copy_evened(&tile, given, turned);
        match_pulp_depthwise_correct(&tile, &finish);
    }
}

void match_pulp_depthwise_widened(const match_tile_t *tile)
{
    widened(tile, MATCH_FORM_64);
}

void match_pulp_depthwise_widened_split(const match_tile_t *tile)
{
    widened(tile, MATCH_FORM_SPLIT);
}

void match_pulp_depthwise_widened_int32(const match_tile_t *tile)
{
    widened(tile, MATCH_FORM_32);
}
