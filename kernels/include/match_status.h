/* Status codes of the platform functions, of generated layers and of networks. Everything that is not MATCH_OK is
 * negative. */
#ifndef MATCH_STATUS_H
#define MATCH_STATUS_H

#include <stdint.h>

enum {
    MATCH_OK = 0,
    MATCH_ERROR_PLATFORM = -1,     /* the platform could not be started, or is not open */
    MATCH_ERROR_MEMORY = -2,       /* a memory is exhausted */
    MATCH_ERROR_TRANSFER = -3,     /* a transfer failed, left its memory, or was not waited for */
    MATCH_ERROR_COMPUTE = -4,      /* a kernel failed, was started twice, or was not waited for */
    MATCH_ERROR_ARGUMENT = -5,     /* an argument is NULL */
    MATCH_ERROR_STATE = -6,        /* the context is not initialised for this network */
    MATCH_ERROR_BUSY = -7,         /* a network is running */
    MATCH_ERROR_TIMEOUT = -8,      /* a transfer or kernel did not end in time */
    MATCH_ERROR_STACK = -9,        /* a stack has overflowed */
    MATCH_ERROR_UNSUPPORTED = -10, /* the platform cannot do this */
    MATCH_ERROR_ALIGNMENT = -11,   /* an address is not aligned */
    MATCH_ERROR_SIZE = -12,        /* the workspace is too small */
    MATCH_ERROR_OVERLAP = -13,     /* a tensor overlaps the workspace */
    MATCH_ERROR_OTHER = -14,       /* the library is of another compilation */
};

#ifdef __cplusplus
extern "C" {
#endif

/* A few words on a status, without a stop at the end; never NULL. */
const char *match_status_text(int32_t status);

#ifdef __cplusplus
}
#endif

#endif
