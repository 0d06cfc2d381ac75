<%def name="calls()">\
% for tensor in main.tensors:
    void *const ${tensor.name} = ${tensor.memory} + ${tensor.offset};
% endfor
% for call in main.calls:
    MATCH_TRY(${call.function}(${call.arguments}));
% endfor
% for copy in main.copies:
    memcpy(${copy.target}, ${copy.source}, ${copy.bytes});
% endfor
    return MATCH_OK;
</%def>\
/* ${comment(symbol)}: a part of a network, layer by layer. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
% if main.copies:
#include <string.h>
% endif

% for header in api.headers if api else ():
#include "${header}"
% endfor
#include "match_layer.h"

% for layer in network.layers:
${prototype(layer.plan)};
% endfor
int32_t ${symbol}(${parameters});
% for constant in network.constants:

_Alignas(${constant_alignment}) static const ${c_type(constant.data.dtype.name)} ${constant.name}[${constant.data.size}] = {
${values(numbers(constant.data))}
};
% endfor
% if network.operators:

${network.operators.rstrip()}
% endif
% if main.uses_workspace:

/* Every operator, in order. */
static int32_t infer(uint8_t *workspace, ${parameters})
{
${calls()}\
}

int32_t ${symbol}(${parameters})
{
    uint8_t *const workspace = ${api.allocate}(${network.workspace_bytes});
    if (workspace == NULL) {
        return MATCH_ERROR_MEMORY;
    }
    const int32_t status = infer(workspace, ${arguments});
    ${api.free}(workspace);
    return status;
}
% else:

int32_t ${symbol}(${parameters})
{
${calls()}\
}
% endif
