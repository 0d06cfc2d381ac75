/* The trace of a program for a PC: a line of JSON on stdout for each event. */
#include "match_trace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

void match_trace_layer(const char *layer, const char *op)
{
    printf("{\"event\":\"layer\",\"name\":\"%s\",\"op\":\"%s\"}\n", layer, op);
}

void match_trace_transfer(const void *block, const char *kind, const char *operand, const char *memory, uint32_t offset,
    uint32_t bytes)
{
    printf("{\"event\":\"%s\",\"operand\":\"%s\",\"memory\":\"%s\"", kind, operand, memory);
    printf(",\"transfer\":%" PRIuPTR ",\"offset\":%" PRIu32, (uintptr_t)block, offset);
    printf(",\"bytes\":%" PRIu32 "}\n", bytes);
}

void match_trace_wait(const void *block)
{
    printf("{\"event\":\"wait\",\"transfer\":%" PRIuPTR "}\n", (uintptr_t)block);
}

void match_trace_end(uint32_t call)
{
    printf("{\"event\":\"end\",\"call\":%" PRIu32 "}\n", call);
}

void match_trace_kernel(const match_tile_t *tile)
{
    printf("{\"event\":\"kernel\",\"channels_in\":%" PRId32, tile->channels_in);
    printf(",\"channels_out\":%" PRId32 ",\"groups\":%" PRId32, tile->channels_out, tile->groups);
    printf(",\"input_height\":%" PRId32 ",\"input_width\":%" PRId32, tile->input_height, tile->input_width);
    printf(",\"output_height\":%" PRId32 ",\"output_width\":%" PRId32, tile->output_height, tile->output_width);
    printf(",\"filter_height\":%" PRId32 ",\"filter_width\":%" PRId32, tile->filter_height, tile->filter_width);
    /* Sums that are the output lie where it does. */
    bool ends = tile->sums_out == NULL || (const uint8_t *)tile->sums_out == tile->output;
    printf(",\"begin\":%s,\"end\":%s}\n", truth(tile->sums_in == NULL), truth(ends));
}
