#include "match_pulp.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

enum { TABLE = 256, FRACTION = 15 };

static inline uint8_t level(const match_tile_t *tile, int32_t value)
{
    return (uint8_t)match_smaller(match_larger(value >> FRACTION, tile->clip_low), tile->clip_high);
}

#if defined(MATCH_PULP_INSN)

#define BYTE(value, pointer) MATCH_INSN_LOAD_BYTE(value, pointer)
#define PLACE(value) "slli " value ", " value ", 2\n"
#define TAKE(value, place, table) MATCH_INSN_LOAD4_AT(value, place, table)
#define TIMES(value, slope) "mul " value ", " value ", " slope "\n"
#define SUM(value, bias) MATCH_INSN_ADD_SHIFT(value, bias, "%[shift]")
#define CLIP(value) MATCH_INSN_CLIP(value, value, "%[most]")
#define STORE                                     \
    MATCH_INSN_PACK_LOW("%[a]", "%[b]", "%[a]")   \
    MATCH_INSN_PACK_HIGH("%[a]", "%[d]", "%[c]")  \
    MATCH_INSN_STORE4("%[a]", "%[output]")

/* Four elements at a time, `quads` > 0 of them, each on the line of its addend; outputs are clipped to 0 .. most. */
static match_operands_t line_quads(const int32_t *tables, int32_t most, match_operands_t run, int32_t quads)
{
    uint32_t a, b, c, d, e, f, g, h, i, j, k, l;
    __asm__ volatile(MATCH_INSN_LOOP("%[quads]", 35)
                     BYTE("%[e]", "%[addend]") BYTE("%[f]", "%[addend]")
                     BYTE("%[g]", "%[addend]") BYTE("%[h]", "%[addend]")
                     BYTE("%[a]", "%[input]") BYTE("%[b]", "%[input]")
                     BYTE("%[c]", "%[input]") BYTE("%[d]", "%[input]")
                     PLACE("%[e]") PLACE("%[f]") PLACE("%[g]") PLACE("%[h]")
                     TAKE("%[i]", "%[e]", "%[slopes]") TAKE("%[j]", "%[f]", "%[slopes]")
                     TAKE("%[k]", "%[g]", "%[slopes]") TAKE("%[l]", "%[h]", "%[slopes]")
                     TAKE("%[e]", "%[e]", "%[biases]") TAKE("%[f]", "%[f]", "%[biases]")
                     TAKE("%[g]", "%[g]", "%[biases]") TAKE("%[h]", "%[h]", "%[biases]")
                     TIMES("%[a]", "%[i]") TIMES("%[b]", "%[j]") TIMES("%[c]", "%[k]") TIMES("%[d]", "%[l]")
                     SUM("%[a]", "%[e]") SUM("%[b]", "%[f]") SUM("%[c]", "%[g]") SUM("%[d]", "%[h]")
                     CLIP("%[a]") CLIP("%[b]") CLIP("%[c]") CLIP("%[d]")
                     STORE
                     MATCH_INSN_LOOP_END
                     : [input] "+r"(run.input), [addend] "+r"(run.addend), [output] "+r"(run.output), [a] "=&r"(a),
                       [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e), [f] "=&r"(f), [g] "=&r"(g), [h] "=&r"(h),
                       [i] "=&r"(i), [j] "=&r"(j), [k] "=&r"(k), [l] "=&r"(l)
                     : [quads] "r"(quads), [slopes] "r"(tables), [biases] "r"(tables + TABLE), [most] "r"(most),
                       [shift] "r"(FRACTION)
                     : "memory");
    return run;
}

/* The same where the addend is one for all. */
static match_operands_t same_line_quads(int32_t slope, int32_t bias, int32_t most, match_operands_t run, int32_t quads)
{
    uint32_t a, b, c, d;
    __asm__ volatile(MATCH_INSN_LOOP("%[quads]", 19)
                     BYTE("%[a]", "%[input]") BYTE("%[b]", "%[input]")
                     BYTE("%[c]", "%[input]") BYTE("%[d]", "%[input]")
                     TIMES("%[a]", "%[slope]") TIMES("%[b]", "%[slope]")
                     TIMES("%[c]", "%[slope]") TIMES("%[d]", "%[slope]")
                     SUM("%[a]", "%[bias]") SUM("%[b]", "%[bias]") SUM("%[c]", "%[bias]") SUM("%[d]", "%[bias]")
                     CLIP("%[a]") CLIP("%[b]") CLIP("%[c]") CLIP("%[d]")
                     STORE
                     MATCH_INSN_LOOP_END
                     : [input] "+r"(run.input), [output] "+r"(run.output), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c),
                       [d] "=&r"(d)
                     : [quads] "r"(quads), [slope] "r"(slope), [bias] "r"(bias), [most] "r"(most),
                       [shift] "r"(FRACTION)
                     : "memory");
    return run;
}

#endif

static void same_line(const match_tile_t *tile, match_operands_t run, int32_t count)
{
    const int32_t *line = (const int32_t *)tile->parameters + *run.addend;
    int32_t slope = line[0], bias = line[TABLE];
#if defined(MATCH_PULP_INSN)
    if (tile->clip_low == 0 && count >= 4) {
        run = same_line_quads(slope, bias, tile->clip_high, run, count >> 2);
        count &= 3;
    }
#endif
    for (int32_t i = 0; i < count; i++) {
        run.output[i] = level(tile, run.input[i] * slope + bias);
    }
}

static void lines(const match_tile_t *tile, match_operands_t run, int32_t count)
{
    const int32_t *slopes = (const int32_t *)tile->parameters;
    const int32_t *biases = slopes + TABLE;
#if defined(MATCH_PULP_INSN)
    if (tile->clip_low == 0 && count >= 4) {
        run = line_quads(slopes, tile->clip_high, run, count >> 2);
        count &= 3;
    }
#endif
    for (int32_t i = 0; i < count; i++) {
        run.output[i] = level(tile, run.input[i] * slopes[run.addend[i]] + biases[run.addend[i]]);
    }
}

void match_pulp_lookup_line(const match_tile_t *tile)
{
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        match_operands_t operands = match_operands_of(tile, &run);
        if (operands.step == 0) {
            same_line(tile, operands, run.count);
        } else {
            lines(tile, operands, run.count);
        }
    }
}
