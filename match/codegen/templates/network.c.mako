/* ${comment(network.name)}: what runs on the control core, and the order of all layers. Made by TVM but for match_run. */
#include "${header}"

#include <math.h>
#include <stddef.h>

% for name in target.api.headers:
#include "${name}"
% endfor
#include "match_count.h"
#include "match_layers.h"
% if network.constants:

/* What the operators read, at the offsets that TVM gave it. */
typedef struct {
% for constant in network.constants:
    _Alignas(${alignment}) ${c_type(constant.data.dtype.name)} ${constant.name}[${constant.data.size}]; /* ${constant.offset} */
% endfor
} constants_t;

static const constants_t constants = {
% for constant in network.constants:
    .${constant.name} = {
${indent(values(numbers(constant.data)))}\
    },
% endfor
};

% for constant in network.constants[1:]:
_Static_assert(offsetof(constants_t, ${constant.name}) == ${constant.offset}, "not where TVM put it");
% endfor
% endif

${network.operators}
int32_t match_run(const match_inputs_t *inputs, const match_outputs_t *outputs)
{
<%
    missing = max(0, alignment - target.main_memory.alignment)
    arguments = [f"({tensor.c_type} *)inputs->{tensor.c_name}" for tensor in inputs]
    arguments += [f"outputs->{tensor.c_name}" for tensor in outputs]
    arguments += ["(uint8_t *)&constants" if pool == "constants" else "workspace" for pool in network.pools]
%>\
% if "workspace" in network.pools:
    void *const block = ${target.api.allocate}(MATCH_WORKSPACE_BYTES${f' + {missing}' if missing else ''});
    if (block == NULL) {
        return MATCH_ERROR_MEMORY;
    }
% if missing:
    uint8_t *const workspace = (uint8_t *)block + (-(uintptr_t)block & ${alignment - 1});
% else:
    uint8_t *const workspace = block;
% endif
    const int32_t status = ${network.main}(${", ".join(arguments)});
    ${target.api.free}(block);
    return status;
% else:
    return ${network.main}(${", ".join(arguments)});
% endif
}
