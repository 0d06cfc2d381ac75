/* The built-in functions of the GAP SDK's compiler that kernels use, as C for a PC. It comes before each file's own
 * first line, so it includes no header of the system. */
#ifndef GAP_BUILTINS_H
#define GAP_BUILTINS_H

typedef unsigned char gap_unsigned4_t __attribute__((vector_size(4)));
typedef signed char gap_signed4_t __attribute__((vector_size(4)));

static inline int gap_sdotusp4(gap_unsigned4_t a, gap_signed4_t b, int acc)
{
    for (int i = 0; i < 4; i++) {
        acc += a[i] * b[i];
    }
    return acc;
}

static inline unsigned int gap_sdotup4(gap_unsigned4_t a, gap_unsigned4_t b, unsigned int acc)
{
    for (int i = 0; i < 4; i++) {
        acc += (unsigned int)a[i] * b[i];
    }
    return acc;
}

typedef short gap_signed2_t __attribute__((vector_size(4)));

static inline gap_signed2_t gap_max2(gap_signed2_t a, gap_signed2_t b)
{
    for (int i = 0; i < 2; i++) {
        a[i] = a[i] > b[i] ? a[i] : b[i];
    }
    return a;
}

static inline int gap_sdotsp2(gap_signed2_t a, gap_signed2_t b, int acc)
{
    return (int)((unsigned int)acc + (unsigned int)(a[0] * b[0]) + (unsigned int)(a[1] * b[1]));
}

static inline gap_signed4_t gap_pack4(signed char a, signed char b, signed char c, signed char d)
{
    return (gap_signed4_t){a, b, c, d};
}

static inline gap_unsigned4_t gap_maxu4(gap_unsigned4_t a, gap_unsigned4_t b)
{
    for (int i = 0; i < 4; i++) {
        a[i] = a[i] > b[i] ? a[i] : b[i];
    }
    return a;
}

static inline gap_unsigned4_t gap_minu4(gap_unsigned4_t a, gap_unsigned4_t b)
{
    for (int i = 0; i < 4; i++) {
        a[i] = a[i] < b[i] ? a[i] : b[i];
    }
    return a;
}

static inline unsigned int gap_clipu_r(int value, int most)
{
    return (unsigned int)(value <= 0 ? 0 : value >= most ? most : value);
}

#define __builtin_pulp_sdotusp4 gap_sdotusp4
#define __builtin_pulp_sdotsp2 gap_sdotsp2
#define __builtin_pulp_max2 gap_max2
#define __builtin_pulp_sdotup4 gap_sdotup4
#define __builtin_pulp_pack4 gap_pack4
#define __builtin_pulp_maxu4 gap_maxu4
#define __builtin_pulp_minu4 gap_minu4
#define __builtin_pulp_clipu_r gap_clipu_r

#endif
