/* Counts what each call of the network costs, where MATCH_COUNT is defined: what the platform's counter says, instructions
 * or cycles. Otherwise nothing is left of it. A call is a layer on a module, or an operator that TVM compiled.
 *
 * Whoever defines MATCH_COUNT links the three functions: the program has the first two in count.c, which write a line to
 * stdout for each call; the counter is the platform's. */
#ifndef MATCH_COUNT_H
#define MATCH_COUNT_H

#include <stdint.h>

#include "match_layer.h"

/* Instructions or cycles since some moment. Implemented by a platform that can count. */
uint64_t match_counter(void);

/* Before a call; and after it, with its number in the network and its status, which is returned. */
void match_count_begin(void);
int32_t match_count_end(uint32_t number, int32_t status);

/* Leaves the calling function with the status of the network's call `number` unless that is MATCH_OK. */
#ifdef MATCH_COUNT
#define MATCH_CALL(number, call) MATCH_TRY((match_count_begin(), match_count_end(number, call)))
#else
#define MATCH_CALL(number, call) MATCH_TRY(call)
#endif

#endif
