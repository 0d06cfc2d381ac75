#include "match_pulp.h"
#include "match_pulp_combine.h"
#include "match_pulp_lines.h"
#include "match_pulp_simd.h"

/* What is subtracted from both inputs. */
typedef struct {
    int32_t input;
    int32_t addend;
} zero_points_t;

static inline int32_t product(match_operands_t *run, const void *constants)
{
    const zero_points_t *zero = constants;
    int32_t result = (*run->input++ - zero->input) * (*run->addend - zero->addend);
    run->addend += run->step;
    return result;
}

#if defined(MATCH_PULP_INSN)

/* Products of four elements, 20 instructions: "%[a]" to "%[d]", and "%[e]" to "%[h]" are free again. */
#define PRODUCTS                                   \
    MATCH_INSN_LOAD_BYTE("%[a]", "%[input]")       \
    MATCH_INSN_LOAD_BYTE("%[b]", "%[input]")       \
    MATCH_INSN_LOAD_BYTE("%[c]", "%[input]")       \
    MATCH_INSN_LOAD_BYTE("%[d]", "%[input]")       \
    MATCH_INSN_LOAD_BYTE("%[e]", "%[addend]")      \
    MATCH_INSN_LOAD_BYTE("%[f]", "%[addend]")      \
    MATCH_INSN_LOAD_BYTE("%[g]", "%[addend]")      \
    MATCH_INSN_LOAD_BYTE("%[h]", "%[addend]")      \
    "sub %[a], %[a], %[input_zero]\n"              \
    "sub %[b], %[b], %[input_zero]\n"              \
    "sub %[c], %[c], %[input_zero]\n"              \
    "sub %[d], %[d], %[input_zero]\n"              \
    "sub %[e], %[e], %[addend_zero]\n"             \
    "sub %[f], %[f], %[addend_zero]\n"             \
    "sub %[g], %[g], %[addend_zero]\n"             \
    "sub %[h], %[h], %[addend_zero]\n"             \
    "mul %[a], %[a], %[e]\n"                       \
    "mul %[b], %[b], %[f]\n"                       \
    "mul %[c], %[c], %[g]\n"                       \
    "mul %[d], %[d], %[h]\n"

/* Four outputs of them in a form, 15, 24 and 32 instructions. */
#define OUTPUTS_32                                             \
    "mul %[a], %[a], %[low]\n"                                 \
    "mul %[b], %[b], %[low]\n"                                 \
    "mul %[c], %[c], %[low]\n"                                 \
    "mul %[d], %[d], %[low]\n"                                 \
    MATCH_INSN_ADD_SHIFT("%[a]", "%[bias]", "%[high]")         \
    MATCH_INSN_ADD_SHIFT("%[b]", "%[bias]", "%[high]")         \
    MATCH_INSN_ADD_SHIFT("%[c]", "%[bias]", "%[high]")         \
    MATCH_INSN_ADD_SHIFT("%[d]", "%[bias]", "%[high]")         \
    MATCH_INSN_CLIP("%[a]", "%[a]", "%[largest]")              \
    MATCH_INSN_CLIP("%[b]", "%[b]", "%[largest]")              \
    MATCH_INSN_CLIP("%[c]", "%[c]", "%[largest]")              \
    MATCH_INSN_CLIP("%[d]", "%[d]", "%[largest]")              \
    MATCH_INSN_PACK_LOW("%[a]", "%[b]", "%[a]")                \
    MATCH_INSN_PACK_HIGH("%[a]", "%[d]", "%[c]")               \
    MATCH_INSN_STORE4("%[a]", "%[output]")

#define SUM(value) "add " value ", " value ", %[more]\n" MATCH_INSN_CLIP(value, value, "%[largest]")
#define SUMS SUM("%[a]") SUM("%[b]") SUM("%[c]") SUM("%[d]")
#define WORD(to, sum) MATCH_SPLIT_WORD(to, sum, "%[low]", "%[bias]", "%[high]")
#define NEGATIVE_WORD(to, sum) WORD(to, sum) MATCH_SPLIT_NEGATIVE(to, sum, "%[below]", "%[negative]")
#define UPPERMOST                                          \
    MATCH_INSN_LANES_OF_TWO("%[e]", "%[f]", "%[lanes]")    \
    MATCH_INSN_LANES_OF_TWO("%[g]", "%[h]", "%[lanes]")    \
    MATCH_INSN_PACK_HALVES("%[e]", "%[g]", "%[e]")         \
    MATCH_INSN_STORE4("%[e]", "%[output]")

#define OUTPUTS_SPLIT \
    SUMS WORD("%[e]", "%[a]") WORD("%[f]", "%[b]") WORD("%[g]", "%[c]") WORD("%[h]", "%[d]") UPPERMOST
#define OUTPUTS_SIGNED                                            \
    SUMS NEGATIVE_WORD("%[e]", "%[a]") NEGATIVE_WORD("%[f]", "%[b]") \
    NEGATIVE_WORD("%[g]", "%[c]") NEGATIVE_WORD("%[h]", "%[d]") UPPERMOST

#define INSTRUCTIONS_32 35
#define INSTRUCTIONS_SPLIT 44
#define INSTRUCTIONS_SIGNED 52

/* The next fours of elements, `quads` > 0 of them. The constants of a requantization in 32 bits are in those of one by halves:
 * its multiplier is `low`, its shift is `high`. */
#define FOURS(form)                                                                                                    \
    do {                                                                                                               \
        uint32_t a, b, c, d, e, f, g, h;                                                                               \
        __asm__ volatile(MATCH_INSN_LOOP("%[quads]", INSTRUCTIONS_##form)                                              \
                         PRODUCTS OUTPUTS_##form                                                                       \
                         MATCH_INSN_LOOP_END                                                                           \
                         : [input] "+r"(run.input), [addend] "+r"(run.addend), [output] "+r"(run.output),              \
                           [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e), [f] "=&r"(f),         \
                           [g] "=&r"(g), [h] "=&r"(h)                                                                  \
                         : [quads] "r"(quads), [input_zero] "r"(zero->input), [addend_zero] "r"(zero->addend),         \
                           [more] "r"(p.split.addend), [largest] "r"(p.split.largest), [low] "r"(p.split.low),         \
                           [bias] "r"(p.split.bias), [high] "r"(p.split.high), [below] "r"(p.negative_below),          \
                           [negative] "r"(p.negative_word), [lanes] "r"(UPPERMOST_LANES)                               \
                         : "memory");                                                                                  \
    } while (0)

enum { UPPERMOST_LANES = 0x703 }; /* the uppermost bytes of two words */

static match_operands_t fours_32(const match_finish_t *finish, const zero_points_t *zero, match_operands_t run,
                                 int32_t quads)
{
    match_requant32_t plain = match_parameters_32(finish->parameters);
    match_requant_split_signed_t p = {
        .split = {0, finish->clip_high, (uint32_t)plain.multiplier, (uint32_t)plain.bias, (uint32_t)plain.shift}};
    FOURS(32);
    return run;
}

static match_operands_t fours_split(const match_finish_t *finish, const zero_points_t *zero, match_operands_t run,
                                    int32_t quads)
{
    match_requant_split_signed_t p = {.split = match_parameters_split(finish->parameters)};
    FOURS(SPLIT);
    return run;
}

static match_operands_t fours_signed(const match_finish_t *finish, const zero_points_t *zero, match_operands_t run,
                                     int32_t quads)
{
    match_requant_split_signed_t p = match_parameters_split_signed(finish->parameters);
    FOURS(SIGNED);
    return run;
}

#endif

/* The next `count` outputs. */
static void multiply_run(const match_finish_t *finish, const zero_points_t *zero, match_operands_t run, int32_t count)
{
#if defined(MATCH_PULP_INSN)
    int32_t quads = finish->excepted == NULL && run.step == 1 ? count >> 2 : 0;
    int32_t done = count;
    if (quads == 0) {
        done = 0;
    } else if (finish->form == MATCH_FORM_SPLIT) {
        run = fours_split(finish, zero, run, quads);
    } else if (finish->form == MATCH_FORM_SPLIT_SIGNED) {
        run = fours_signed(finish, zero, run, quads);
    } else if (finish->form == MATCH_FORM_32 && finish->clip_low == 0) {
        run = fours_32(finish, zero, run, quads);
    } else {
        done = 0;
    }
    count -= done & ~3;
#endif
    match_combine_run(finish, run, count, product, zero);
}

static zero_points_t zero_points_of(const match_tile_t *tile)
{
    return (zero_points_t){.input = match_word(tile->weights), .addend = match_word((const uint8_t *)tile->weights + 4)};
}

static match_bilinear_t sum_of(zero_points_t zero)
{
    return (match_bilinear_t){
        .both = 1, .input = -zero.addend, .addend = -zero.input, .constant = zero.input * zero.addend};
}

static void multiply(const match_tile_t *tile, match_form_t form)
{
    zero_points_t zero = zero_points_of(tile);
    match_finish_t finish = match_finish_of(tile, form);
    if (match_are_lines(tile, &finish)) {
        match_bilinear_t sum = sum_of(zero);
        match_lines(tile, &finish, &sum);
        return;
    }
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        multiply_run(&finish, &zero, match_operands_of(tile, &run), run.count);
    }
}

void match_pulp_multiply(const match_tile_t *tile)
{
    multiply(tile, MATCH_FORM_64);
}

void match_pulp_multiply_split(const match_tile_t *tile)
{
    multiply(tile, MATCH_FORM_SPLIT);
}

void match_pulp_multiply_int32(const match_tile_t *tile)
{
    multiply(tile, MATCH_FORM_32);
}

void match_pulp_multiply_rows(const match_tile_t *tile)
{
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_32);
    match_bilinear_t sum = sum_of(zero_points_of(tile));
    match_rounded_lines(tile, &finish, &sum);
}
