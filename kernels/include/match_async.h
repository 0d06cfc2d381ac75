/* A function beside its caller, for runs that are started and polled. Platforms with the macro MATCH_ASYNC implement it;
 * on others it is refused (runtime/match_async.c). */
#ifndef MATCH_ASYNC_H
#define MATCH_ASYNC_H

#include <stdbool.h>
#include <stdint.h>

/* Starts run(arg), one at a time. MATCH_OK, MATCH_ERROR_PLATFORM, or MATCH_ERROR_UNSUPPORTED. */
int32_t match_async_start(void (*run)(void *), void *arg);

/* Whether it has ended. Where no other core or thread executes it, it goes on in here, until it waits for something. All
 * that it has written can be read after the call that returns true. MATCH_OK, or MATCH_ERROR_STACK: ended too early. */
bool match_async_poll(int32_t *status);

#endif
