#include "match_pulp.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

enum { TABLE = 256, FRACTION = 20 };

#if defined(MATCH_PULP_INSN)

#define INDEX(value, pointer) MATCH_INSN_LOAD_BYTE(value, pointer)
#define PLACE(value) "slli " value ", " value ", 2\n"
#define TAKE(value, table) MATCH_INSN_LOAD4_AT(value, value, table)
#define SUM(value, other) MATCH_INSN_ADD_SHIFT(value, other, "%[shift]")
#define CLIP(value) MATCH_INSN_CLIP(value, value, "%[most]")

/* Four elements at a time, `quads` > 0 of them, through both tables; outputs are clipped to 0 .. most. */
static match_operands_t sum_quads(const int32_t *tables, int32_t most, match_operands_t run, int32_t quads)
{
    uint32_t a, b, c, d, e, f, g, h;
    __asm__ volatile(MATCH_INSN_LOOP("%[quads]", 35)
                     INDEX("%[a]", "%[input]") INDEX("%[b]", "%[input]")
                     INDEX("%[c]", "%[input]") INDEX("%[d]", "%[input]")
                     INDEX("%[e]", "%[addend]") INDEX("%[f]", "%[addend]")
                     INDEX("%[g]", "%[addend]") INDEX("%[h]", "%[addend]")
                     PLACE("%[a]") PLACE("%[b]") PLACE("%[c]") PLACE("%[d]")
                     PLACE("%[e]") PLACE("%[f]") PLACE("%[g]") PLACE("%[h]")
                     TAKE("%[a]", "%[table]") TAKE("%[b]", "%[table]")
                     TAKE("%[c]", "%[table]") TAKE("%[d]", "%[table]")
                     TAKE("%[e]", "%[addend_table]") TAKE("%[f]", "%[addend_table]")
                     TAKE("%[g]", "%[addend_table]") TAKE("%[h]", "%[addend_table]")
                     SUM("%[a]", "%[e]") SUM("%[b]", "%[f]") SUM("%[c]", "%[g]") SUM("%[d]", "%[h]")
                     CLIP("%[a]") CLIP("%[b]") CLIP("%[c]") CLIP("%[d]")
                     MATCH_INSN_PACK_LOW("%[a]", "%[b]", "%[a]")
                     MATCH_INSN_PACK_HIGH("%[a]", "%[d]", "%[c]")
                     MATCH_INSN_STORE4("%[a]", "%[output]")
                     MATCH_INSN_LOOP_END
                     : [input] "+r"(run.input), [addend] "+r"(run.addend), [output] "+r"(run.output), [a] "=&r"(a),
                       [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e), [f] "=&r"(f), [g] "=&r"(g), [h] "=&r"(h)
                     : [quads] "r"(quads), [table] "r"(tables), [addend_table] "r"(tables + TABLE), [most] "r"(most),
                       [shift] "r"(FRACTION)
                     : "memory");
    return run;
}

#endif

static void sum_run(const match_tile_t *tile, match_operands_t run, int32_t count)
{
    const int32_t *tables = (const int32_t *)tile->parameters;
#if defined(MATCH_PULP_INSN)
    if (tile->clip_low == 0 && run.step > 0 && count >= 4) {
        run = sum_quads(tables, tile->clip_high, run, count >> 2);
        count &= 3;
    }
#endif
    for (int32_t i = 0; i < count; i++, run.addend += run.step) {
        int32_t value = (tables[run.input[i]] + tables[TABLE + *run.addend]) >> FRACTION;
        run.output[i] = (uint8_t)match_smaller(match_larger(value, tile->clip_low), tile->clip_high);
    }
}

void match_pulp_lookup_sum(const match_tile_t *tile)
{
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        sum_run(tile, match_operands_of(tile, &run), run.count);
    }
}
