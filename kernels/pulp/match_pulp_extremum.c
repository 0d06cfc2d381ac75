#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

#if defined(MATCH_PULP_SIMD)

/* The larger, or the smaller, byte of each of the four pairs. */
MATCH_INLINE match_bytes4_t extremum4(match_bytes4_t a, match_bytes4_t b, bool largest)
{
#if defined(MATCH_PULP_INSN)
    if (largest) {
        __asm__(MATCH_INSN_MAX4("%0", "%1", "%2") : "=r"(a) : "r"(a), "r"(b));
    } else {
        __asm__(MATCH_INSN_MIN4("%0", "%1", "%2") : "=r"(a) : "r"(a), "r"(b));
    }
    return a;
#else
    match_unsigned4_t x = (match_unsigned4_t)a, y = (match_unsigned4_t)b;
    return (match_bytes4_t)(largest ? __builtin_pulp_maxu4(x, y) : __builtin_pulp_minu4(x, y));
#endif
}

#endif

#if defined(MATCH_PULP_INSN)

#define LOAD(value) MATCH_INSN_LOAD4_STEP(value, "%[addend]", "%[step]")
#define EIGHT(EXTREMUM4)                                                                                            \
    __asm__ volatile(MATCH_INSN_LOOP("%[eights]", 8)                                                                \
                     MATCH_INSN_LOAD4("%[a]", "%[input]")                                                           \
                     MATCH_INSN_LOAD4("%[b]", "%[input]")                                                           \
                     LOAD("%[c]")                                                                                   \
                     LOAD("%[d]")                                                                                   \
                     EXTREMUM4("%[a]", "%[a]", "%[c]")                                                              \
                     EXTREMUM4("%[b]", "%[b]", "%[d]")                                                              \
                     MATCH_INSN_STORE4("%[a]", "%[output]")                                                         \
                     MATCH_INSN_STORE4("%[b]", "%[output]")                                                         \
                     MATCH_INSN_LOOP_END                                                                            \
                     : [input] "+r"(run.input), [addend] "+r"(run.addend), [output] "+r"(run.output), [a] "=&r"(a), \
                       [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)                                                     \
                     : [eights] "r"(eights), [step] "r"(4 * run.step)                                               \
                     : "memory")

/* Eight elements at a time, `eights` > 0 of them. */
MATCH_INLINE match_operands_t extremum_of_eights(match_operands_t run, int32_t eights, bool largest)
{
    uint32_t a, b, c, d;
    if (largest) {
        EIGHT(MATCH_INSN_MAX4);
    } else {
        EIGHT(MATCH_INSN_MIN4);
    }
    return run;
}

#endif

MATCH_INLINE void extremum_run(match_operands_t run, int32_t count, bool largest)
{
#if defined(MATCH_PULP_SIMD)
    match_bytes4_t one;
    if (run.step == 0) { /* a word of the same byte, which is read again and again */
        one = 0x01010101u * *run.addend;
        run.addend = (const uint8_t *)&one;
    }
#if defined(MATCH_PULP_INSN)
    if (count >= 8) {
        run = extremum_of_eights(run, count >> 3, largest);
        count &= 7;
    }
#endif
    for (; count >= 4; count -= 4, run.input += 4, run.addend += 4 * run.step, run.output += 4) {
        match_store4(run.output, extremum4(match_load4(run.input), match_load4(run.addend), largest));
    }
#endif
    for (int32_t i = 0; i < count; i++, run.addend += run.step) {
        int32_t a = run.input[i], b = *run.addend;
        run.output[i] = (uint8_t)(largest ? match_larger(a, b) : match_smaller(a, b));
    }
}

MATCH_INLINE void extremum(const match_tile_t *tile, bool largest)
{
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        extremum_run(match_operands_of(tile, &run), run.count, largest);
    }
}

void match_pulp_maximum(const match_tile_t *tile)
{
    extremum(tile, true);
}

void match_pulp_minimum(const match_tile_t *tile)
{
    extremum(tile, false);
}
