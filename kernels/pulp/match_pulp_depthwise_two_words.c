/* Filters of 5x5 on maps of five to eight columns and few rows, with Xpulpv2 or CORE-V instructions: a row of a channel is two
 * words, of which the second one ends with the last column. What a column of outputs sees lies in one of them or in both. */
#include "match_pulp_depthwise.h"

#if defined(MATCH_PULP_INSN)

#include "match_pulp_depthwise_map.h"
#include "match_pulp_share.h"

/* Bytes of a filter, rows and columns of it; columns of a map, words of its rows, and rows that its outputs see, at most. */
enum { FILTER = 25, SIZE = 5, WORD = 4, WORDS = 2, COLUMNS = WORDS * WORD };
#define ROWS 12

/* A column of outputs, which sees one word of each row or two. Of two words it sees five columns, so that it misses none. */
typedef struct {
    match_bytes4_t lanes; /* of a row of weights and zeros behind it those over the columns of the word */
    match_bytes4_t other; /* of one word: pad values, for weights that lie over no column; of two: lanes of the second one */
    int32_t fifth_missing; /* a pad value or 0; of two words -1 */
    const match_bytes4_t *rows; /* that word of all rows */
} column_t;

/* What the assembly reads, words by number: some columns of outputs of some channels. */
typedef struct {
    const uint8_t *input; /* 0: the first byte, in the first row inside */
    uint8_t *output;
    const uint8_t *weights; /* 2: the channel's, and its requantization */
    const uint8_t *parameters;
    int32_t channels;      /* 4: left */
    int32_t to_next;       /* steps from column to column, from a word to its row below */
    int32_t to_row;        /* 6 */
    int32_t inside;        /* rows of the map that are seen */
    match_bytes4_t *first; /* 8: where their first words go */
    int32_t to_second;     /* steps from behind first words to second ones, and from behind these to the next channel */
    int32_t input_back;    /* 10 */
    const column_t *columns;
    const column_t *columns_end; /* 12 */
    int32_t below;               /* a row of outputs */
    int32_t beside;              /* 14: from behind a column of outputs to the next one */
    int32_t output_back;         /* from behind the last one to the next channel */
    int32_t fours;               /* 16: of outputs of a column, and those that are computed one by one */
    int32_t singles;
    int32_t stride;         /* 18: bytes of the rows from output to output */
    int32_t most;           /* the largest output */
    int32_t saved;          /* 20: the compiler's s0 */
    int32_t negative_below; /* see match_requant_split_signed_t */
    uint32_t negative_word; /* 22 */
    column_t column[COLUMNS];
    match_bytes4_t row[WORDS * ROWS]; /* first words of all rows that are seen, padding included, then second ones */
} map_t;

#define BELOW_WORD 21
#define NEGATIVE_WORD 22

/* Weights over second words, in registers that are free there or loaded again. */
#define OTHER0 OFFSET
#define OTHER1 MISSING
#define OTHER2 "ra"
#define OTHER3 INPUT
#define OTHER4 WEIGHTS

/* The first and the second words of the rows of a channel. */
#define GATHER_ROWS \
    MATCH_STRIP_LOAD("t0", 7) \
    MATCH_STRIP_LOAD("t1", 5) \
    MATCH_STRIP_LOAD("t2", 6) \
    MATCH_STRIP_LOAD(PLACE, 8) \
    MATCH_STRIP_LOAD("s3", 9) \
    GATHER("t1", "t1", "t1", "t2") \
    MATCH_STRIP_LOAD(PLACE, 8) \
    "add " INPUT ", " INPUT ", s3\n" \
    MATCH_STRIP_LOAD("s4", 10) \
    "addi " PLACE ", " PLACE ", 4*" MATCH_INSN_NUMBER(ROWS) "\n" \
    GATHER("t1", "t1", "t1", "t2") \
    "add " INPUT ", " INPUT ", s4\n"

/* Where that is added up, what begins it, and the offset with it. */
#define MISSING_32 MISSING
#define MISSING_SPLIT OFFSET
#define MISSING_SIGNED OFFSET
#define BEGIN_MISSING_32 "li " MISSING ", 0\n"
#define BEGIN_MISSING_SPLIT "mv " OFFSET ", " CHANNEL_OFFSET "\n"
#define BEGIN_MISSING_SIGNED BEGIN_MISSING_SPLIT
#define END_MISSING_32 "mv " OFFSET ", " CHANNEL_OFFSET "\n" MATCH_STRIP_ADD_32(OFFSET, MISSING)
#define END_MISSING_SPLIT
#define END_MISSING_SIGNED

/* The same for two words, whose lanes are t0 and t1; no weight lies over a column that is missing. */
#define LOAD_WEIGHTS_OF_TWO(weights, other, at) \
    "lw " weights ", " MATCH_INSN_NUMBER(at) "(" WEIGHTS ")\n" \
    "lbu t5, 4+" MATCH_INSN_NUMBER(at) "(" WEIGHTS ")\n" \
    "mv " other ", " weights "\n" \
    MATCH_INSN_LANES_OF_TWO(weights, "t5", "t0") \
    MATCH_INSN_LANES_OF_TWO(other, "t5", "t1")

/* A row of a word that is `word` rows from PLACE on, and those of the second word. */
#define ROW(to, row) "lw " to ", 4*" MATCH_INSN_NUMBER(row) "(" PLACE ")\n"
#define OTHER(to, row) "lw " to ", 4*" MATCH_INSN_NUMBER(ROWS) "+4*" MATCH_INSN_NUMBER(row) "(" PLACE ")\n"

/* An output of two words, 20 instructions and those that finish. */
#define OUTPUT_OF_TWO(FINISH) \
    OTHER("t0", 0) \
    OTHER("t1", 1) \
    OTHER("t2", 2) \
    OTHER("t3", 3) \
    OTHER("t4", 4) \
    MATCH_INSN_FIRST_DOT4("t5", "t0", OTHER0) \
    MATCH_INSN_DOT4("t5", "t1", OTHER1) \
    MATCH_INSN_DOT4("t5", "t2", OTHER2) \
    MATCH_INSN_DOT4("t5", "t3", OTHER3) \
    MATCH_INSN_DOT4("t5", "t4", OTHER4) \
    ROW("t0", 1) \
    ROW("t1", 2) \
    ROW("t2", 3) \
    ROW("t3", 4) \
    MATCH_INSN_LOAD4_STEP("t4", PLACE, STRIDE) \
    MATCH_INSN_DOT4("t5", "t0", WEIGHTS1) \
    MATCH_INSN_DOT4("t5", "t1", WEIGHTS2) \
    MATCH_INSN_DOT4("t5", "t2", WEIGHTS3) \
    MATCH_INSN_DOT4("t5", "t3", WEIGHTS4) \
    MATCH_INSN_DOT4("t5", "t4", WEIGHTS0) \
    FINISH("t5", CHANNEL_OFFSET)

/* The products of a word with the rows of four outputs at stride 1, one below the other, whose first two are t0 and t1: 23
 * instructions. */
#define PRODUCTS_OF_FOUR(FIRST, WORD, weights0, weights1, weights2, weights3, weights4) \
    FIRST("t2", "t0", weights1) \
    FIRST("t3", "t0", weights0) \
    WORD("t0", 3) \
    MATCH_INSN_DOT4("t2", "t1", weights2) \
    MATCH_INSN_DOT4("t3", "t1", weights1) \
    FIRST("t4", "t1", weights0) \
    WORD("t1", 4) \
    MATCH_INSN_DOT4("t2", "t0", weights3) \
    MATCH_INSN_DOT4("t3", "t0", weights2) \
    MATCH_INSN_DOT4("t4", "t0", weights1) \
    FIRST("t5", "t0", weights0) \
    WORD("t0", 5) \
    MATCH_INSN_DOT4("t2", "t1", weights4) \
    MATCH_INSN_DOT4("t3", "t1", weights3) \
    MATCH_INSN_DOT4("t4", "t1", weights2) \
    MATCH_INSN_DOT4("t5", "t1", weights1) \
    WORD("t1", 6) \
    MATCH_INSN_DOT4("t3", "t0", weights4) \
    MATCH_INSN_DOT4("t4", "t0", weights3) \
    MATCH_INSN_DOT4("t5", "t0", weights2) \
    WORD("t0", 7) \
    MATCH_INSN_DOT4("t4", "t1", weights4) \
    MATCH_INSN_DOT4("t5", "t1", weights3)

/* Four outputs: 28 instructions of one word and 56 of two, and four times those that finish. */
#define FOUR_OF_ONE(FINISH) \
    ROW("t0", 1) \
    ROW("t1", 2) \
    PRODUCTS_OF_FOUR(MATCH_INSN_FIRST_DOT4, ROW, WEIGHTS0, WEIGHTS1, WEIGHTS2, WEIGHTS3, WEIGHTS4) \
    MATCH_INSN_LOAD4_BY("t1", PLACE, 16) \
    MATCH_INSN_DOT4("t5", "t0", WEIGHTS4) \
    MATCH_INSN_DOT4("t2", "t1", WEIGHTS0) \
    FINISH("t2", OFFSET) \
    FINISH("t3", OFFSET) \
    FINISH("t4", OFFSET) \
    FINISH("t5", OFFSET)
#define FOUR_OF_TWO(FINISH) \
    OTHER("t0", 1) \
    OTHER("t1", 2) \
    PRODUCTS_OF_FOUR(MATCH_INSN_FIRST_DOT4, OTHER, OTHER0, OTHER1, OTHER2, OTHER3, OTHER4) \
    OTHER("t1", 0) \
    MATCH_INSN_DOT4("t5", "t0", OTHER4) \
    ROW("t0", 1) \
    MATCH_INSN_DOT4("t2", "t1", OTHER0) \
    ROW("t1", 2) \
    PRODUCTS_OF_FOUR(MATCH_INSN_DOT4, ROW, WEIGHTS0, WEIGHTS1, WEIGHTS2, WEIGHTS3, WEIGHTS4) \
    MATCH_INSN_LOAD4_BY("t1", PLACE, 16) \
    MATCH_INSN_DOT4("t5", "t0", WEIGHTS4) \
    MATCH_INSN_DOT4("t2", "t1", WEIGHTS0) \
    FINISH("t2", CHANNEL_OFFSET) \
    FINISH("t3", CHANNEL_OFFSET) \
    FINISH("t4", CHANNEL_OFFSET) \
    FINISH("t5", CHANNEL_OFFSET)

#define WORDS_ONE 1
#define WORDS_TWO 2

/* A column of outputs: by fours, of which there are t6, then the others one by one, whose number LOAD_SINGLES loads to
 * `singles`. */
#define OUTPUTS(words, form, LOAD_SINGLES, singles) \
    "beqz t6, 3f\n" \
    MATCH_INSN_LOOP("t6", 28 * WORDS_##words + 4 * INSTRUCTIONS_##form) \
    FOUR_OF_##words(FINISH_##form) \
    MATCH_INSN_LOOP_END \
    "3:\n" LOAD_SINGLES \
    "beqz " singles ", 4f\n" \
    MATCH_INSN_LOOP(singles, 10 * WORDS_##words + INSTRUCTIONS_##form) \
    OUTPUT_OF_##words(FINISH_##form) \
    MATCH_INSN_LOOP_END \
    "4:\n"

/* Columns that see both words lie behind the end. */
#define MAP(form) \
    MATCH_STRIP_BEGIN \
    "sw s0, 4*20(a0)\n" \
    MATCH_STRIP_LOAD(INPUT, 0) \
    MATCH_STRIP_LOAD(OUTPUT, 1) \
    MATCH_STRIP_LOAD(WEIGHTS, 2) \
    MATCH_STRIP_LOAD(BELOW, 13) \
    MATCH_STRIP_LOAD(STRIDE, 18) \
    MATCH_STRIP_LOAD(MATCH_STRIP_MOST, 19) \
    "0:\n" \
    GATHER_ROWS \
    MATCH_STRIP_LOAD("t4", 3) \
    MATCH_STRIP_LOAD(COLUMN, 11) \
    MATCH_STRIP_PARAMETERS_##form("t4", CHANNEL_OFFSET) \
    "sw t4, 4*3(a0)\n" \
    "1:\n" \
    MATCH_INSN_LOAD4("t0", COLUMN) \
    MATCH_INSN_LOAD4("t1", COLUMN) \
    MATCH_INSN_LOAD4("t2", COLUMN) \
    MATCH_INSN_LOAD4(PLACE, COLUMN) \
    MATCH_STRIP_LOAD("t6", 16) \
    "bltz t2, 6f\n" \
    BEGIN_MISSING_##form \
    LOAD_WEIGHTS(WEIGHTS0, 0, MISSING_##form) \
    LOAD_WEIGHTS(WEIGHTS1, 5, MISSING_##form) \
    LOAD_WEIGHTS(WEIGHTS2, 10, MISSING_##form) \
    LOAD_WEIGHTS(WEIGHTS3, 15, MISSING_##form) \
    LOAD_WEIGHTS(WEIGHTS4, 20, MISSING_##form) \
    MATCH_STRIP_LOAD("ra", 17) \
    END_MISSING_##form \
    OUTPUTS(ONE, form, , "ra") \
    "5:\n" \
    MATCH_STRIP_LOAD("t3", 12) \
    MATCH_STRIP_LOAD("t4", 14) \
    "add " OUTPUT ", " OUTPUT ", t4\n" \
    "bne t3, " COLUMN ", 1b\n" \
    MATCH_STRIP_LOAD("t5", 4) \
    MATCH_STRIP_LOAD("t4", 15) \
    "addi " WEIGHTS ", " WEIGHTS ", 25\n" \
    "addi t5, t5, -1\n" \
    "add " OUTPUT ", " OUTPUT ", t4\n" \
    "sw t5, 4*4(a0)\n" \
    "bnez t5, 0b\n" \
    "j 7f\n" \
    "6:\n" \
    "sw " INPUT ", 4*0(a0)\n" \
    "sw " WEIGHTS ", 4*2(a0)\n" \
    LOAD_WEIGHTS_OF_TWO(WEIGHTS0, OTHER0, 0) \
    LOAD_WEIGHTS_OF_TWO(WEIGHTS1, OTHER1, 5) \
    LOAD_WEIGHTS_OF_TWO(WEIGHTS2, OTHER2, 10) \
    LOAD_WEIGHTS_OF_TWO(WEIGHTS3, OTHER3, 15) \
    LOAD_WEIGHTS_OF_TWO(WEIGHTS4, OTHER4, 20) \
    OUTPUTS(TWO, form, MATCH_STRIP_LOAD("t6", 17), "t6") \
    MATCH_STRIP_LOAD(INPUT, 0) \
    MATCH_STRIP_LOAD(WEIGHTS, 2) \
    "j 5b\n" \
    "7:\n" \
    "lw s0, 4*20(a0)\n" \
    MATCH_STRIP_END

RUN_FUNCTIONS

bool match_pulp_is_depthwise_two_words(const match_tile_t *tile, const match_finish_t *finish)
{
    return tile->input_width > WORD && match_is_map_of_5x5(tile, finish, COLUMNS, ROWS) && match_last_seen(tile) < tile->input_width;
}

/* The first column of the words of rows: the second one ends with the last column. */
static inline int32_t second_begin(int32_t width)
{
    return width - WORD;
}

/* Set what columns of outputs see. Where that is more than one word, it is five columns of the map. */
static void set_columns(map_t *map, const match_tile_t *tile)
{
    int32_t width = tile->input_width;
    int32_t second = second_begin(width);
    match_bytes4_t padding = (uint8_t)tile->pad_value * 0x01010101u;
    match_bytes4_t twice = 0x07070707u & match_first_lanes(WORD - second); /* of the second word, what is in the first one, too */
    int32_t first = -tile->pad_left;
    for (int32_t x = 0; x < tile->output_width; x++, first += tile->stride_x) {
        column_t *column = &map->column[x];
        if (first >= 0 && first < second) {
            column->rows = map->row;
            column->lanes = match_weights_over(first);
            column->other = match_weights_over(first - second) | twice;
            column->fifth_missing = -1;
        } else {
            int32_t begin = first < 0 ? 0 : second;
            column->rows = first < 0 ? map->row : map->row + ROWS;
            column->lanes = match_weights_over(first - begin);
            column->other = padding & (~match_first_lanes(width - first) | match_first_lanes(-first));
            column->fifth_missing = first + 4 < width ? 0 : (uint8_t)padding;
        }
    }
}

static inline void pad_rows(map_t *map, int32_t first, int32_t last, match_bytes4_t padding)
{
    for (int32_t y = first; y < last; y++) {
        map->row[y] = padding;
        map->row[y + ROWS] = padding;
    }
}

/* Set how rows become words. */
static void set_rows(map_t *map, const match_tile_t *tile)
{
    int32_t pixel = tile->input_pixel_stride;
    int32_t second = second_begin(tile->input_width);
    int32_t rows = match_seen_rows(tile);
    map->to_next = pixel;
    map->to_row = tile->input_row_stride - (WORD - 1) * pixel;
    map->inside = match_smaller(tile->input_height, rows - tile->pad_top);
    map->first = map->row + tile->pad_top;
    int32_t back = -map->inside * tile->input_row_stride;
    map->to_second = back + second * pixel;
    map->input_back = back + 1 - second * pixel;
    match_bytes4_t padding = (uint8_t)tile->pad_value * 0x01010101u;
    pad_rows(map, 0, tile->pad_top, padding);
    pad_rows(map, tile->pad_top + map->inside, rows, padding);
}

/* Some columns of outputs, from number x on, of some channels, from number k on. */
static void run(map_t *map, const match_tile_t *tile, const match_finish_t *finish, int32_t k, int32_t channels, int32_t x,
                int32_t columns)
{
    map->channels = channels;
    map->columns = map->column + x;
    map->columns_end = map->columns + columns;
    map->input = tile->input + k;
    map->output = match_output_pixel(tile, 0, x) + k;
    map->output_back = 1 - columns * tile->output_pixel_stride;
    map->weights = (const uint8_t *)tile->weights + (ptrdiff_t)k * FILTER;
    map->parameters = match_parameters_of(finish, finish->form, k);
    if (finish->form == MATCH_FORM_32) {
        run_32(map);
    } else if (finish->form == MATCH_FORM_SPLIT) {
        run_split(map);
    } else {
        run_signed(map);
    }
}

/* Each core has the same number of channels, and of those that are left a share of the columns of outputs. */
void match_pulp_depthwise_two_words(const match_tile_t *tile, const match_finish_t *finish)
{
    int32_t width = tile->output_width;
    int32_t cores = match_core_count();
    int32_t each = cores == 1 ? tile->channels_out : tile->channels_out / cores;
    int32_t shared = cores * each;
    map_t map;
    set_rows(&map, tile);
    set_columns(&map, tile);
    map.below = tile->output_row_stride;
    map.beside = tile->output_pixel_stride - tile->output_height * tile->output_row_stride;
    map.fours = tile->stride_y == 1 ? tile->output_height / 4 : 0;
    map.singles = tile->output_height - 4 * map.fours;
    map.stride = 4 * tile->stride_y;
    map.most = tile->clip_high;
    if (each > 0) {
        run(&map, tile, finish, match_core_id() * each, each, 0, width);
    }
    if (shared < tile->channels_out) {
        match_share_t left = match_share((tile->channels_out - shared) * width);
        for (int32_t at = left.first, columns; at < left.last; at += columns) {
            int32_t k = at / width;
            int32_t x = at - k * width;
            columns = match_smaller(width - x, left.last - at);
            run(&map, tile, finish, shared + k, 1, x, columns);
        }
    }
}

#endif
