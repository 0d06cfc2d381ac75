#include <stdbool.h>

#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_pulp_words.h"

/* This core's channels of the first row. */
static match_product_t product_of(const match_tile_t *tile)
{
    match_share_t channels = match_share(tile->channels_out);
    return (match_product_t){
        .x = tile->input,
        .x_step = tile->input_pixel_stride,
        .length = tile->channels_in,
        .weights = tile->weights,
        .first = channels.first,
        .last = channels.last,
        .output = tile->output,
        .output_step = tile->output_pixel_stride,
        .pixels = tile->output_width,
    };
}

static void dense(const match_tile_t *tile, match_form_t form, const match_loops_t *loops)
{
    match_finish_t finish = match_finish_of(tile, form);
    match_product_t product = product_of(tile);
    match_pulp_choose_loops(&finish, loops, &product);
    for (int32_t y = 0; y < tile->output_height; y++) {
        product.x = match_input_pixel(tile, y, 0);
        product.output = match_output_pixel(tile, y, 0);
        match_pulp_matmul(&finish, &product);
    }
}

#if defined(MATCH_PULP_INSN)

/* Whether the tile is a single row of outputs of a vector of two words or more, none of which are partial sums. */
static inline bool is_row_of_words(const match_tile_t *tile)
{
    return (tile->channels_in & 3) == 0 && tile->channels_in >= 8 && tile->output_height == 1 &&
           tile->output_width == 1 && tile->sums_in == NULL && tile->sums_out == NULL;
}

/* One row by itself: what a product of several rows needs around its loops takes as long as a short vector's. */
#define ROW_OF_WORDS(name, form) \
    static __attribute__((noinline)) void name(const match_tile_t *tile) \
    { \
        match_share_t channels = match_share(tile->channels_out); \
        match_words_pixel(tile, channels.first, channels.last, form); \
    }
ROW_OF_WORDS(row_32, MATCH_FORM_32)
ROW_OF_WORDS(row_split, MATCH_FORM_SPLIT)
ROW_OF_WORDS(row_split_signed, MATCH_FORM_SPLIT_SIGNED)

#endif

void match_pulp_dense(const match_tile_t *tile)
{
    dense(tile, MATCH_FORM_64, NULL);
}

void match_pulp_dense_split(const match_tile_t *tile)
{
#if defined(MATCH_PULP_INSN)
    if (is_row_of_words(tile)) {
        (tile->negative_step == 0 ? row_split : row_split_signed)(tile);
        if (tile->excepted != NULL) {
            match_finish_t finish = match_finish_of(tile, MATCH_FORM_SPLIT);
            match_product_t product = product_of(tile);
            match_pulp_correct(&finish, &product);
        }
        return;
    }
#endif
    dense(tile, MATCH_FORM_SPLIT, match_loops_split);
}

void match_pulp_dense_int32(const match_tile_t *tile)
{
#if defined(MATCH_PULP_INSN)
    if (is_row_of_words(tile) && tile->negative_step == 0) {
        row_32(tile);
        return;
    }
#endif
    dense(tile, MATCH_FORM_32, match_loops_32);
}
