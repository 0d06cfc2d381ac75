/* A run of its own on the control core, which goes on while the caller polls it (match_async.h). */
#ifndef PULP_ASYNC_H
#define PULP_ASYNC_H

#include <stdbool.h>

/* In the run: back to the caller until it polls, true. Elsewhere nothing, false. To be called instead of waiting. */
bool match_pulp_async_yield(void);

#endif
