/* Tensors and workspace of the program that comes with a network: the C library's heap, which is all RAM that is left. */
#include <stdlib.h>

#include "match_core.h"

void *match_core_alloc(uint32_t bytes)
{
    return malloc(bytes);
}

void match_core_free(void *block)
{
    free(block);
}
