/* Status codes of the platform functions, of generated layers and of networks. Everything that is not MATCH_OK is
 * negative. */
#ifndef MATCH_STATUS_H
#define MATCH_STATUS_H

#include <stdint.h>

enum {
    MATCH_OK = 0,
    MATCH_ERROR_PLATFORM = -1, /* the platform could not be started, or is not open */
    MATCH_ERROR_MEMORY = -2,   /* a memory is exhausted */
    MATCH_ERROR_TRANSFER = -3, /* a transfer leaves its memory, was waited for twice, or never */
    MATCH_ERROR_COMPUTE = -4,  /* a kernel was started twice, never waited for, or left its memory */
    MATCH_ERROR_ARGUMENT = -5, /* an argument is NULL, not aligned, too small, or lies where it must not */
    MATCH_ERROR_STATE = -6,    /* the context is not initialised, or is another network's */
    MATCH_ERROR_BUSY = -7,     /* another task is using a network */
    MATCH_ERROR_TIMEOUT = -8,  /* a transfer or kernel did not end in time */
    MATCH_ERROR_STACK = -9,    /* a stack has overflowed */
    MATCH_ERROR_UNSUPPORTED = -10, /* the platform cannot do it */
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
