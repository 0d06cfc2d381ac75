/* What each operator of a network costs, where MATCH_COUNT is defined: what the platform's counter says, instructions or
 * cycles. Other programs take them too, or have hooks of their own (match_network.h). */
#ifndef MATCH_COUNT_H
#define MATCH_COUNT_H

#include <stdint.h>

#include "match_network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Instructions or cycles since some moment. Implemented by a platform that can count. */
uint64_t match_counter(void);

/* Write a line to stdout for each operator: count.c. */
extern const match_hooks_t match_count_hooks;

#ifdef __cplusplus
}
#endif

#endif
