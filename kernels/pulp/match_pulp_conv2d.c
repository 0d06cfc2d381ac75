#include <stdbool.h>
#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_im2col.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

/* Windows as vectors side by side, each with a word behind it that copies may overwrite: as many pairs as fit 512 bytes,
 * from one to four, so that there are few calls of the product. */
typedef struct {
    uint8_t *first;
    int32_t step;
    int32_t count;
} columns_t;

/* Output columns first .. last - 1. */
typedef struct {
    int32_t first;
    int32_t last;
} run_t;

/* This core's. */
static columns_t columns_of(const match_tile_t *tile, int32_t length)
{
    int32_t step = length + 4;
    int32_t count = step <= 64 ? 8 : step >= 256 ? 2 : 512 / step & ~1;
    int32_t bytes = step <= 64 ? 8 * step : step >= 256 ? 2 * step : 512;
    return (columns_t){(uint8_t *)tile->scratch + match_core_id() * bytes, step, count};
}

/* The columns of a part whose windows are multiplied where they lie in the input: as one row, or as rows of whole words
 * if there are few enough channels for which to step from row to row. */
static run_t run_in_input(const match_tile_t *tile, const match_windows_t *windows, const match_part_t *part,
                          match_product_t *product, bool fast)
{
    run_t none = {part->x + part->pixels, part->x + part->pixels};
    int32_t channels = part->last - part->first;
    bool one = tile->filter_height == 1 || windows->row_step == windows->row_bytes;
    if (!windows->dense || tile->channels_in % 4 != 0 || windows->rows.inside < tile->filter_height ||
        (!one && (!fast || channels % 4 != 0 || channels > windows->row_bytes))) {
        return none;
    }
    run_t run = {match_steps(tile->pad_left, tile->stride_x),
                 match_steps(windows->last + tile->pad_left + 1, tile->stride_x)};
    run.first = run.first > part->x ? run.first : part->x;
    run.last = run.last < none.last ? run.last : none.last;
    /* A single window of the run makes a pair with a single one beside it. */
    if ((run.last - run.first) % 2 != 0) {
        run.last -= (none.last - run.last) % 2;
        run.first += (run.last - run.first) % 2 != 0 && run.first > part->x;
    }
    if (run.first >= run.last) {
        return none;
    }
    product->x = windows->input + (run.first * tile->stride_x - tile->pad_left) * tile->input_pixel_stride;
    product->x_step = (ptrdiff_t)tile->stride_x * tile->input_pixel_stride;
    product->rows = one ? 1 : tile->filter_height;
    product->length = one ? tile->filter_height * windows->row_bytes : windows->row_bytes;
    product->row_step = windows->row_step;
    product->output = match_output_pixel(tile, part->y, run.first);
    product->output_step = tile->output_pixel_stride;
    product->pixels = run.last - run.first;
    return run;
}

/* The other columns of a part. */
static void multiply_columns(const match_tile_t *tile, const match_finish_t *finish, const match_windows_t *windows,
                             const match_part_t *part, run_t run, const columns_t *columns, match_product_t *product)
{
    int32_t end = part->x + part->pixels;
    product->x = columns->first;
    product->x_step = columns->step;
    for (int32_t x = part->x; x < end;) {
        if (x == run.first) {
            x = run.last;
            continue;
        }
        int32_t left = (x < run.first ? run.first : end) - x;
        int32_t count = left < columns->count ? left : columns->count;
        match_im2col(tile, windows, x, count, columns->first, columns->step);
        product->output = match_output_pixel(tile, part->y, x);
        product->output_step = tile->output_pixel_stride;
        product->pixels = count;
        x += count;
        if (count == 1 && x == run.first && run.last < end) {
            /* one on each side of the run: a pair */
            match_im2col(tile, windows, run.last, 1, columns->first + columns->step, columns->step);
            product->output_step *= run.last + 1 - run.first;
            product->pixels = 2;
            x = run.last + 1;
        }
        match_pulp_matmul(finish, product);
    }
}

static void conv2d(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    int32_t length = (tile->filter_height * tile->filter_width * tile->channels_in + 3) & ~3;
    columns_t columns = columns_of(tile, length);
    bool fast = match_is_fast(&finish);
    match_product_t product = {.weights = tile->weights};
    match_blocks_t blocks = match_share_blocks(tile->output_height, tile->output_width, tile->channels_out);
    for (match_part_t part; match_next_part(&blocks, &part);) {
        match_windows_t windows = match_windows_of(tile, part.y);
        product.first = part.first;
        product.last = part.last;
        run_t run = run_in_input(tile, &windows, &part, &product, fast);
        if (run.first < run.last) {
            match_pulp_matmul(&finish, &product);
        }
        if (run.last - run.first < part.pixels) {
            int32_t used = columns.count < part.pixels ? columns.count : part.pixels;
            match_pad_rows(tile, &windows, used, columns.first, columns.step);
            product.rows = 1;
            product.length = length;
            multiply_columns(tile, &finish, &windows, &part, run, &columns, &product);
        }
    }
}

void match_pulp_conv2d(const match_tile_t *tile)
{
    conv2d(tile, MATCH_FORM_64);
}

void match_pulp_conv2d_high(const match_tile_t *tile)
{
    conv2d(tile, MATCH_FORM_HIGH);
}

void match_pulp_conv2d_int32(const match_tile_t *tile)
{
    conv2d(tile, MATCH_FORM_32);
}

/* Cores share out each group; none waits for another. */
static void grouped(const match_tile_t *tile, match_form_t form)
{
    match_tile_t group = *tile;
    int32_t length = (tile->filter_height * tile->filter_width * tile->channels_in + 3) & ~3;
    ptrdiff_t parameters = match_channel_bytes(tile->exceptions, match_form_of(tile, form));
    for (int32_t g = 0; g < tile->groups; g++) {
        conv2d(&group, form);
        group.input += tile->channels_in;
        group.output += tile->channels_out;
        group.weights = (const int8_t *)group.weights + tile->channels_out * length;
        group.parameters = (const uint8_t *)group.parameters + tile->channels_out * parameters;
    }
}

void match_pulp_grouped_conv2d(const match_tile_t *tile)
{
    grouped(tile, MATCH_FORM_64);
}

void match_pulp_grouped_conv2d_high(const match_tile_t *tile)
{
    grouped(tile, MATCH_FORM_HIGH);
}

void match_pulp_grouped_conv2d_int32(const match_tile_t *tile)
{
    grouped(tile, MATCH_FORM_32);
}
