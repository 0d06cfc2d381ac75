/* What the generated layers share: index arithmetic of tiles, and leaving early with an error. */
#ifndef MATCH_LAYER_H
#define MATCH_LAYER_H

#include <stdint.h>

#include "match_status.h"

/* Leaves the calling function with the status of `call` unless that is MATCH_OK. */
#define MATCH_TRY(call)                        \
    do {                                       \
        const int32_t match_status = (call);   \
        if (match_status != MATCH_OK) {        \
            return match_status;               \
        }                                      \
    } while (0)

/* A run of indices along one axis of a tensor, and the padding before and behind it that the tile sees beside it. */
typedef struct {
    int32_t first;
    int32_t count;
    int32_t pad_before;
    int32_t pad_after;
} match_span_t;

static inline int32_t match_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t match_max(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Indices start .. end - 1 themselves. */
static inline match_span_t match_span(int32_t start, int32_t end)
{
    return (match_span_t){.first = start, .count = end - start, .pad_before = 0, .pad_after = 0};
}

/* Indices that the windows of outputs start .. end - 1 see, of an axis with `limit` indices behind `pad` of padding. */
static inline match_span_t match_window(int32_t start, int32_t end, int32_t stride, int32_t window, int32_t pad, int32_t limit)
{
    const int32_t begin = start * stride - pad;
    const int32_t behind = (end - 1) * stride + window - pad;
    const int32_t first = match_min(match_max(begin, 0), limit);
    const int32_t last = match_max(match_min(behind, limit), first);
    return (match_span_t){
        .first = first,
        .count = last - first,
        .pad_before = match_max(match_min(behind, 0) - begin, 0),
        .pad_after = match_max(behind - match_max(begin, limit), 0),
    };
}

#endif
