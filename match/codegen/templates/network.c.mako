/* ${comment(network.name)}: what runs on the control core, and the order of all layers. Made by TVM but for match_run. */
#include "${header}"

#include <math.h>
#include <stddef.h>

% for name in (*target.api.headers, *(memory.api.headers if memory else ())):
#include "${name}"
% endfor
#include "match_count.h"
#include "match_layers.h"
% if memory:

/* Constants that are fetched while the network runs: from where in external memory to where in ${target.main_memory.name}. */
% if memory.fetches:
static const struct {
    uint32_t external;
    uint32_t main;
    uint32_t bytes;
} FETCHES[] = {
% for piece in memory.fetches:
    {${piece.external}, ${piece.main}, ${piece.bytes}}, /* ${piece.name} */
% endfor
};
% endif

/* The network's part of both memories, from match_open to match_close, and what is under way between them. */
static struct {
    void *block;
    uint8_t *main;
    uint8_t *external;
% if memory.fetches:
    ${memory.api.transfer} transfers[${len(memory.fetches)}];
    bool pending[${len(memory.fetches)}];
% endif
} memory;
% if memory.fetches:

/* Starts to fetch constants. */
static void start(int32_t number)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = FETCHES[number].bytes};
    memory.pending[number] = true;
    ${memory.api.copy_in}(&memory.transfers[number], memory.main + FETCHES[number].main, memory.external + FETCHES[number].external, &shape);
}

/* Waits until they are there. */
static int32_t arrive(int32_t number)
{
    memory.pending[number] = false;
    return ${memory.api.wait}(&memory.transfers[number]);
}
% endif
% for layer in memory.layers:
% if layer.constants:

int32_t ${layer.symbol}_constants(const uint8_t **constants)
{
    *constants = ${layer.constants};
% if layer.late:
    start(${layer.starts[0]});
% endif
% if layer.waits is not None:
    MATCH_TRY(arrive(${layer.waits}));
% endif
% for number in layer.starts[1 if layer.late else 0:]:
    start(${number});
% endfor
    return MATCH_OK;
}
% endif
% if layer.blocks is not None:

uint8_t *${layer.symbol}_blocks(void)
{
    return memory.main + ${layer.blocks};
}
% endif
% endfor
% elif network.constants:

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

${memory.operators(network.operators) if memory else network.operators}
% if memory:
/* Brings constants in that stay. */
static int32_t load(void)
{
    MATCH_TRY(${memory.api.load}(memory.external, ${memory.image_bytes}));
% if memory.residents:
    ${memory.api.transfer} transfer = {0};
% endif
% for piece in memory.residents:

    /* ${piece.name} */
    ${memory.api.copy_in}(&transfer, memory.main + ${piece.main}, memory.external + ${piece.external}, &(match_copy_t){.planes = 1, .rows = 1, .bytes = ${piece.bytes}});
    MATCH_TRY(${memory.api.wait}(&transfer));
% endfor
    return MATCH_OK;
}

int32_t match_open(void)
{
<% missing = max(0, memory.alignment - target.main_memory.alignment) %>\
    memory.block = ${target.api.allocate}(MATCH_WORKSPACE_BYTES${f' + {missing}' if missing else ''});
    memory.external = ${memory.api.allocate}(MATCH_EXTERNAL_BYTES);
    if (memory.block == NULL || memory.external == NULL) {
        match_close();
        return MATCH_ERROR_MEMORY;
    }
% if missing:
    memory.main = (uint8_t *)memory.block + (-(uintptr_t)memory.block & ${memory.alignment - 1});
% else:
    memory.main = memory.block;
% endif
    const int32_t status = load();
    if (status != MATCH_OK) {
        match_close();
    }
    return status;
}

void match_close(void)
{
    ${memory.api.free}(memory.external);
    ${target.api.free}(memory.block);
    memory.external = NULL;
    memory.block = NULL;
}

int32_t match_run(const match_inputs_t *inputs, const match_outputs_t *outputs)
{
<%
    arguments = [f"({tensor.c_type} *)inputs->{tensor.c_name}" for tensor in inputs]
    arguments += [f"outputs->{tensor.c_name}" for tensor in outputs]
    arguments += ["memory.external" if pool == "external" else "memory.main" for pool in network.pools]
%>\
    if (memory.block == NULL) {
        return MATCH_ERROR_PLATFORM;
    }
% for number in memory.first:
    start(${number});
% endfor
% if memory.fetches:
    const int32_t status = ${network.main}(${", ".join(arguments)});
    for (int32_t number = 0; number < ${len(memory.fetches)}; number++) {
        if (memory.pending[number]) { /* a layer before its own has failed */
            (void)arrive(number);
        }
    }
    return status;
% else:
    return ${network.main}(${", ".join(arguments)});
% endif
}
% else:
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
% endif
