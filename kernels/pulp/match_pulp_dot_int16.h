/* Sums of products of int16: SIMD dot products of two elements at a time. */
#ifndef MATCH_PULP_DOT_INT16_H
#define MATCH_PULP_DOT_INT16_H

#include <stdint.h>

#include "match_pulp_dot.h"
#include "match_pulp_simd.h"

/* An element; strides of tensors count elements. */
typedef int16_t __attribute__((may_alias)) match_half_t;

/* Four channels, which are computed together. */
enum { MATCH_HALVES = 4 };

/* Add `count` products of elements from x on to each of four channels, whose filters are `length` elements apart. */
MATCH_INLINE void match_add_to_four(int32_t accs[MATCH_HALVES], const match_half_t *x, const match_half_t *filters,
                                    int32_t length, int32_t count)
{
    int32_t pairs = count >> 1;
    const match_half_t *a = filters, *b = a + length, *c = b + length, *d = c + length;
#if defined(MATCH_PULP_INSN)
    if (pairs > 0) {
        uint32_t values, u, v;
        __asm__ volatile(MATCH_INSN_LOOP("%[pairs]", 9)
                             MATCH_INSN_LOAD4("%[values]", "%[x]")
                             MATCH_INSN_LOAD4("%[u]", "%[a]")
                             MATCH_INSN_LOAD4("%[v]", "%[b]")
                             MATCH_INSN_DOT2("%[first]", "%[values]", "%[u]")
                             MATCH_INSN_LOAD4("%[u]", "%[c]")
                             MATCH_INSN_DOT2("%[second]", "%[values]", "%[v]")
                             MATCH_INSN_LOAD4("%[v]", "%[d]")
                             MATCH_INSN_DOT2("%[third]", "%[values]", "%[u]")
                             MATCH_INSN_DOT2("%[fourth]", "%[values]", "%[v]")
                         MATCH_INSN_LOOP_END
                         : [x] "+r"(x), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [first] "+r"(accs[0]),
                           [second] "+r"(accs[1]), [third] "+r"(accs[2]), [fourth] "+r"(accs[3]),
                           [values] "=&r"(values), [u] "=&r"(u), [v] "=&r"(v)
                         : [pairs] "r"(pairs)
                         : "memory");
    }
#else
    for (; pairs > 0; pairs--, x += 2, a += 2, b += 2, c += 2, d += 2) {
        uint32_t values = match_load4(x);
        accs[0] = match_dot2(values, match_load4(a), accs[0]);
        accs[1] = match_dot2(values, match_load4(b), accs[1]);
        accs[2] = match_dot2(values, match_load4(c), accs[2]);
        accs[3] = match_dot2(values, match_load4(d), accs[3]);
    }
#endif
    if (count & 1) {
        accs[0] = match_multiply_add(accs[0], *x, *a);
        accs[1] = match_multiply_add(accs[1], *x, *b);
        accs[2] = match_multiply_add(accs[2], *x, *c);
        accs[3] = match_multiply_add(accs[3], *x, *d);
    }
}

#endif
