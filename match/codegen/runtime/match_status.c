#include "match_status.h"

const char *match_status_text(int32_t status)
{
    switch (status) {
    case MATCH_OK:
        return "done";
    case MATCH_ERROR_PLATFORM:
        return "the platform could not be started, or is not open";
    case MATCH_ERROR_MEMORY:
        return "a memory is exhausted";
    case MATCH_ERROR_TRANSFER:
        return "a transfer failed or leaves its memory";
    case MATCH_ERROR_COMPUTE:
        return "a kernel failed, was started twice, or never waited for";
    case MATCH_ERROR_ARGUMENT:
        return "an argument is NULL, not aligned, too small, or lies where it must not";
    case MATCH_ERROR_STATE:
        return "the context is not initialised, or is another network's";
    case MATCH_ERROR_BUSY:
        return "another task is using a network";
    case MATCH_ERROR_TIMEOUT:
        return "a transfer or kernel did not end in time";
    case MATCH_ERROR_STACK:
        return "a stack has overflowed";
    case MATCH_ERROR_UNSUPPORTED:
        return "the platform cannot do this";
    default:
        return "unknown status";
    }
}
