/* What operators cost: a line of JSON on stdout for each. */
#include "match_count.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t started;

static int32_t begin(void *user, uint32_t number)
{
    (void)user;
    (void)number;
    started = match_counter();
    return MATCH_OK;
}

static void end(void *user, uint32_t number, int32_t status)
{
    const uint64_t count = match_counter() - started;
    (void)user;
    (void)status;
    printf("{\"event\":\"count\",\"call\":%" PRIu32 ",\"count\":%" PRIu64 "}\n", number, count);
}

const match_hooks_t match_count_hooks = {.begin = begin, .end = end};
