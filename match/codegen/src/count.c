/* What calls cost: a line of JSON on stdout for each. */
#include "match_count.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t started;

void match_count_begin(void)
{
    started = match_counter();
}

int32_t match_count_end(uint32_t number, int32_t status)
{
    const uint64_t count = match_counter() - started;
    printf("{\"event\":\"count\",\"call\":%" PRIu32 ",\"count\":%" PRIu64 "}\n", number, count);
    return status;
}
