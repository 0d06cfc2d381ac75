/* A workspace for ${comment(network.name)}, for programs that have none of their own. */
#include "${name}.h"

/* Attributes: where it is placed. */
#ifndef ${prefix}_WORKSPACE
#define ${prefix}_WORKSPACE
#endif

_Alignas(${prefix}_ALIGNMENT) ${prefix}_WORKSPACE
uint8_t ${name}_workspace[${prefix}_WORKSPACE_IO_BYTES];
