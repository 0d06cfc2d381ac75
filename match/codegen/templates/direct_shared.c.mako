#include "${shared.name}.h"

#include <stddef.h>

/* By field: C libraries for small cores clear memory byte by byte. */
void ${shared.name}_clear(match_tile_t *tile)
{
% for field, nothing in shared.cleared.items():
    tile->${field} = ${nothing};
% endfor
}
