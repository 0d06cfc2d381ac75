/* Platforms that execute nothing beside the caller. */
#include "match_async.h"

#include "match_status.h"

#ifndef MATCH_ASYNC

int32_t match_async_start(void (*run)(void *), void *arg)
{
    (void)run;
    (void)arg;
    return MATCH_ERROR_UNSUPPORTED;
}

bool match_async_poll(int32_t *status)
{
    *status = MATCH_ERROR_UNSUPPORTED;
    return true;
}

#endif
