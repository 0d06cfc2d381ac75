% if network.memory:
/* The layers that run on modules. Their tensors are dense and lie in ${target.main_memory.name}, or in ${target.external.memory.name} if a layer has blocks of them. */
% else:
/* The layers that run on modules. Their tensors are dense and lie in ${target.main_memory.name}. */
% endif
#ifndef ${prefix}_LAYERS_H
#define ${prefix}_LAYERS_H

#include <stdint.h>

#include "${name}.h"

/* A run, once it is the caller's turn. */
int32_t ${name}_execute(${name}_context_t *context, const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs);
% for layer in network.layers:

/* ${comment(layer.plan.layer.name)}, on ${layer.plan.module} */
${prototype(layer.plan)};
% for callback in callbacks(layer.plan):

/* ${callback.purpose} The network defines it. */
${callback.prototype};
% endfor
% endfor

#endif
