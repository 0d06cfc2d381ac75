/* ${shared.title}
 * Nothing in it depends on a network: programs of several share it. */
#ifndef ${shared.guard}
#define ${shared.guard}

% for header in shared.headers:
#include "${header}"
% endfor
#include "match_tile.h"

/* A context with nothing in it. */
void ${shared.name}_clear(match_tile_t *tile);

#endif
