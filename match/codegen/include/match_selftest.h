/* Self-tests: whether a chip computes of one sample what a PC computes of it. The tensors that are expected are known by
 * CRC-32, in the order in which they are computed. */
#ifndef MATCH_SELFTEST_H
#define MATCH_SELFTEST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor: an operand of a layer, by the name of the layer's function, or an output of the network. */
typedef struct {
    const char *layer; /* empty: an output of the network */
    const char *tensor;
    uint32_t crc;
} match_expected_t;

typedef struct {
    uint32_t checked;              /* tensors that were compared */
    const match_expected_t *wrong; /* the first that is another one; NULL: none is */
} match_selftest_t;

/* From now on, what layers read and write (MATCH_DUMP) is compared with `count` tensors, until end. */
void match_selftest_begin(match_selftest_t *test, const match_expected_t *expected, uint32_t count);
void match_selftest_end(void);

/* Compare one tensor. */
void match_selftest_compare(match_selftest_t *test, const match_expected_t *expected, const void *data, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
