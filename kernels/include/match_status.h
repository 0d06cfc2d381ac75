/* Status codes of the platform functions and of generated layers. Everything that is not MATCH_OK is negative. */
#ifndef MATCH_STATUS_H
#define MATCH_STATUS_H

enum {
    MATCH_OK = 0,
    MATCH_ERROR_PLATFORM = -1, /* the platform could not be started, or is not open */
    MATCH_ERROR_MEMORY = -2,   /* a memory is exhausted */
    MATCH_ERROR_TRANSFER = -3, /* a transfer leaves its memory, was waited for twice, or never */
    MATCH_ERROR_COMPUTE = -4,  /* a kernel was started twice, never waited for, or left its memory */
};

#endif
