/* Filters of 5x5 on maps of at most four columns and few rows, with Xpulpv2 or CORE-V instructions: a row of a channel is a
 * word. */
#include "match_pulp_depthwise.h"

#if defined(MATCH_PULP_INSN)

#include "match_pulp_depthwise_map.h"
#include "match_pulp_share.h"

/* Bytes of a filter, rows and columns of it; columns of a map, and rows that its outputs see, at most. */
enum { FILTER = 25, SIZE = 5, COLUMNS = 4, ROWS = 12 };

/* A column of outputs. */
typedef struct {
    match_bytes4_t lanes;   /* of a row of weights and zeros behind it those over the columns of the map */
    match_bytes4_t missing; /* pad values, for weights that lie over no column */
    match_bytes4_t fifth_missing;
} column_t;

/* What the assembly reads, words by number: some channels of a map. */
typedef struct {
    const uint8_t *input; /* 0: the first byte, in the first row inside */
    uint8_t *output;
    const uint8_t *weights; /* 2: the channel's, and its requantization */
    const uint8_t *parameters;
    int32_t channels; /* 4: left */
    int32_t to_second;
    int32_t to_third; /* 6: steps from column to column, from the last one to the next row */
    int32_t to_fourth;
    int32_t to_row; /* 8 */
    int32_t inside; /* rows of the map that are seen */
    match_bytes4_t *first; /* 10: where these go */
    int32_t input_back;    /* from behind them to the next channel */
    const column_t *columns; /* 12 */
    const column_t *columns_end;
    const match_bytes4_t *rows; /* 14: all rows that are seen, padding included */
    int32_t below;              /* a row of outputs */
    int32_t beside;             /* 16: from behind a column of outputs to the next one */
    int32_t output_back;        /* from behind the last one to the next channel */
    int32_t outputs;            /* 18: of a column */
    int32_t stride;             /* bytes of the rows from output to output */
    int32_t most;               /* 20: the largest output */
    int32_t saved;              /* the compiler's s0 */
    int32_t negative_below;     /* 22: see match_requant_split_signed_t */
    uint32_t negative_word;
    match_bytes4_t row[ROWS];
    column_t column[COLUMNS];
} map_t;

#define BELOW_WORD 22
#define NEGATIVE_WORD 23
#define GATHER_ROWS \
    MATCH_STRIP_LOAD("t0", 9) \
    MATCH_STRIP_LOAD("t1", 5) \
    MATCH_STRIP_LOAD("t2", 6) \
    MATCH_STRIP_LOAD("s3", 7) \
    MATCH_STRIP_LOAD("s4", 8) \
    MATCH_STRIP_LOAD(PLACE, 10) \
    GATHER("t1", "t2", "s3", "s4")

#define MAP(form) \
    MATCH_STRIP_BEGIN \
    "sw s0, 4*21(a0)\n" \
    MATCH_STRIP_LOAD(INPUT, 0) \
    MATCH_STRIP_LOAD(OUTPUT, 1) \
    MATCH_STRIP_LOAD(WEIGHTS, 2) \
    MATCH_STRIP_LOAD(BELOW, 15) \
    MATCH_STRIP_LOAD(STRIDE, 19) \
    MATCH_STRIP_LOAD(MATCH_STRIP_MOST, 20) \
    "0:\n" \
    GATHER_ROWS \
    MATCH_STRIP_LOAD("t4", 3) \
    MATCH_STRIP_LOAD(COLUMN, 12) \
    MATCH_STRIP_PARAMETERS_##form("t4", CHANNEL_OFFSET) \
    "sw t4, 4*3(a0)\n" \
    "1:\n" \
    MATCH_INSN_LOAD4("t0", COLUMN) \
    MATCH_INSN_LOAD4("t1", COLUMN) \
    MATCH_INSN_LOAD4("t2", COLUMN) \
    "li " MISSING ", 0\n" \
    LOAD_WEIGHTS(WEIGHTS0, 0, MISSING) \
    LOAD_WEIGHTS(WEIGHTS1, 5, MISSING) \
    LOAD_WEIGHTS(WEIGHTS2, 10, MISSING) \
    LOAD_WEIGHTS(WEIGHTS3, 15, MISSING) \
    LOAD_WEIGHTS(WEIGHTS4, 20, MISSING) \
    "mv " OFFSET ", " CHANNEL_OFFSET "\n" \
    MATCH_STRIP_LOAD("t6", 18) \
    MATCH_STRIP_LOAD(PLACE, 14) \
    MATCH_STRIP_ADD_##form(OFFSET, MISSING) \
    MATCH_INSN_LOOP("t6", 10 + INSTRUCTIONS_##form) \
    OUTPUT_OF_ONE(FINISH_##form) \
    MATCH_INSN_LOOP_END \
    MATCH_STRIP_LOAD("t3", 13) \
    MATCH_STRIP_LOAD("t4", 16) \
    "add " OUTPUT ", " OUTPUT ", t4\n" \
    "bne t3, " COLUMN ", 1b\n" \
    MATCH_STRIP_LOAD("t5", 4) \
    MATCH_STRIP_LOAD("t3", 11) \
    MATCH_STRIP_LOAD("t4", 17) \
    "addi t5, t5, -1\n" \
    "add " INPUT ", " INPUT ", t3\n" \
    "add " OUTPUT ", " OUTPUT ", t4\n" \
    "addi " WEIGHTS ", " WEIGHTS ", 25\n" \
    "sw t5, 4*4(a0)\n" \
    "bnez t5, 0b\n" \
    "lw s0, 4*21(a0)\n" \
    MATCH_STRIP_END

RUN_FUNCTIONS

bool match_pulp_is_depthwise_small_map(const match_tile_t *tile, const match_finish_t *finish)
{
    return match_is_map_of_5x5(tile, finish, COLUMNS, ROWS) && match_last_seen(tile) < COLUMNS;
}

/* Set what outputs see whose first column is `first`, more than -5 and less than 4. */
static void set_column(column_t *column, const match_tile_t *tile, int32_t first)
{
    int32_t width = tile->input_width;
    column->lanes = match_weights_over(first) | (0x07070707u & ~match_first_lanes(width));
    match_bytes4_t inside = match_first_lanes(width - first) & ~match_first_lanes(-first);
    column->missing = (uint8_t)tile->pad_value * 0x01010101u & ~inside;
    column->fifth_missing = first + 4 >= 0 && first + 4 < width ? 0 : (uint8_t)tile->pad_value;
}

void match_pulp_depthwise_small_map(const match_tile_t *tile, const match_finish_t *finish)
{
    match_share_t share = match_share(tile->channels_out);
    if (share.first >= share.last) {
        return;
    }
    int32_t width = tile->input_width;
    int32_t pixel = tile->input_pixel_stride;
    int32_t rows = match_seen_rows(tile);
    map_t map;
    for (int32_t y = 0; y < rows; y++) {
        map.row[y] = (uint8_t)tile->pad_value * 0x01010101u;
    }
    for (int32_t x = 0; x < tile->output_width; x++) {
        set_column(&map.column[x], tile, x * tile->stride_x - tile->pad_left);
    }
    map.input = tile->input + share.first;
    map.output = tile->output + share.first;
    map.weights = (const uint8_t *)tile->weights + (ptrdiff_t)share.first * FILTER;
    map.parameters = match_parameters_of(finish, finish->form, share.first);
    map.channels = share.last - share.first;
    map.to_second = width < 2 ? 0 : pixel; /* the last column stands for those that are missing */
    map.to_third = width < 3 ? 0 : pixel;
    map.to_fourth = width < 4 ? 0 : pixel;
    map.to_row = tile->input_row_stride - (width - 1) * pixel;
    map.inside = match_smaller(tile->input_height, rows - tile->pad_top);
    map.first = map.row + tile->pad_top;
    map.input_back = 1 - map.inside * tile->input_row_stride;
    map.columns = map.column;
    map.columns_end = map.column + tile->output_width;
    map.rows = map.row;
    map.below = tile->output_row_stride;
    map.beside = tile->output_pixel_stride - tile->output_height * tile->output_row_stride;
    map.output_back = 1 - tile->output_width * tile->output_pixel_stride;
    map.outputs = tile->output_height;
    map.stride = 4 * tile->stride_y;
    map.most = tile->clip_high;
    if (finish->form == MATCH_FORM_32) {
        run_32(&map);
    } else if (finish->form == MATCH_FORM_SPLIT) {
        run_split(&map);
    } else {
        run_signed(&map);
    }
}

#endif
