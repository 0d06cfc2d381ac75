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
        return "a transfer failed, left its memory, or was not waited for";
    case MATCH_ERROR_COMPUTE:
        return "a kernel failed, was started twice, or was not waited for";
    case MATCH_ERROR_ARGUMENT:
        return "an argument is NULL";
    case MATCH_ERROR_STATE:
        return "the context is not initialised for this network";
    case MATCH_ERROR_BUSY:
        return "a network is running";
    case MATCH_ERROR_TIMEOUT:
        return "a transfer or kernel did not end in time";
    case MATCH_ERROR_STACK:
        return "a stack has overflowed";
    case MATCH_ERROR_UNSUPPORTED:
        return "the platform cannot do this";
    case MATCH_ERROR_ALIGNMENT:
        return "an address is not aligned";
    case MATCH_ERROR_SIZE:
        return "the workspace is too small";
    case MATCH_ERROR_OVERLAP:
        return "a tensor overlaps the workspace";
    case MATCH_ERROR_OTHER:
        return "the library is of another compilation";
    default:
        return "unknown status";
    }
}
