/* The layers that run on modules. Their tensors are dense and lie in ${target.main_memory.name}. */
#ifndef MATCH_LAYERS_H
#define MATCH_LAYERS_H

#include <stdint.h>
% for layer in network.layers:

/* ${comment(layer.plan.layer.name)}, on ${layer.plan.module} */
${prototype(layer.plan)};
% for callback in callbacks(layer.plan):

/* ${callback.purpose} The network defines it. */
${callback.prototype};
% endfor
% endfor

#endif
