<%
    tensors = (*inputs, *outputs)
%>\
/* ${comment(network.name)}: what runs on the control core, the order of all operators, the interface. */
#include "${name}.h"

#include <math.h>
% if main.copies or network.states:
#include <string.h>
% endif

% for header in (*target.api.headers, *(memory.api.headers if memory else ())):
#include "${header}"
% endfor
#include "layers.h"
% if memory:
#include "match_image.h"
% endif
#include "match_layer.h"
#include "match_runtime.h"

/* The context of the task whose turn it is (match_set_lock). */
static const match_context_t *current;
% if network.states:

/* What that context keeps from one run to the next. */
static uint8_t *states;
% endif
% if memory:

/* Constants, which fill the beginning of the network's part of ${target.external.memory.name}. */
extern const match_image_t ${name}_image;

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

/* What is under way between the two memories. */
static ${memory.api.transfer} transfers[${len(memory.fetches)}];
static bool pending[${len(memory.fetches)}];

/* Starts to fetch constants. */
static void start(int32_t number)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = FETCHES[number].bytes};
    pending[number] = true;
    ${memory.api.copy_in}(&transfers[number], current->workspace + FETCHES[number].main, current->external + FETCHES[number].external, &shape);
}

/* Waits until they are there. */
static int32_t arrive(int32_t number)
{
    pending[number] = false;
    return ${memory.api.wait}(&transfers[number]);
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
    return current->workspace + ${layer.blocks};
}
% endif
% endfor
% elif network.constants:

/* Attributes of the constants: where they are placed. */
#ifndef ${prefix}_TABLES
#define ${prefix}_TABLES
#endif

/* What the operators read. */
% for constant in network.constants:
_Alignas(${constant_alignment}) static const ${c_type(constant.data.dtype.name)} ${constant.name}[${constant.data.size}] ${prefix}_TABLES = {
${values(numbers(constant.data))}
};

% endfor
% endif

${memory.operators(network.operators) if memory else network.operators}
/* Every operator, in order. */
static int32_t infer(const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs)
{
% if main.uses_workspace:
    uint8_t *const workspace = current->workspace;
% endif
% for state, offset in main.states:
    void *const ${state} = states + ${offset};
% endfor
% for tensor in main.tensors:
    void *const ${tensor.name} = ${tensor.memory} + ${tensor.offset};
% endfor

% for number, call in enumerate(main.calls):
    MATCH_CALL(${number}, ${call.function}(${call.arguments}));
% endfor
% for copy in main.copies:
    memcpy(${copy.target}, ${copy.source}, ${copy.bytes});
% endfor
    return MATCH_OK;
}

/* ---- description ---- */
% for tensor in tensors:
% if tensor.tensor.shape:

static const uint32_t ${tensor.variable}_shape[] = {${", ".join(map(str, tensor.tensor.shape))}};
% endif
% endfor
% for direction, group in (("inputs", inputs), ("outputs", outputs)):

static const match_tensor_t ${direction}_described[] = {
% for tensor in group:
    {
        .name = ${quoted(tensor.name)},
        .dtype = ${tensor.dtype_name},
        .bytes = ${tensor.macro}_BYTES,
        .rank = ${len(tensor.tensor.shape)},
        .shape = ${f"{tensor.variable}_shape" if tensor.tensor.shape else "NULL"},
        .layout = ${quoted(tensor.tensor.layout)},
% if tensor.quantization:
        .scale = ${tensor.macro}_SCALE,
        .zero_point = ${tensor.macro}_ZERO_POINT,
% endif
        .offset = ${tensor.offset},
    },
% endfor
};
% endfor

static const match_operator_t operators_described[] = {
% for operator in operators:
    {.name = ${quoted(operator.name)}, .source = ${quoted(operator.source)}, .module = ${quoted(operator.module)}},
% endfor
% if not operators:
    {.name = NULL},
% endif
};

static const match_room_t rooms_described[] = {
% for room in rooms:
    {.memory = ${quoted(room.memory)}, .purpose = ${quoted(room.purpose)}, .bytes = ${room.bytes}},
% endfor
};

const match_network_t ${name}_network = {
    .name = ${quoted(network.name)},
    .target = MATCH_TARGET,
    .version = ${shared.symbol},
    .fingerprint = ${prefix}_FINGERPRINT,
    .inputs = inputs_described,
    .input_count = ${len(inputs)},
    .outputs = outputs_described,
    .output_count = ${len(outputs)},
    .operators = operators_described,
    .operator_count = ${len(operators)},
    .rooms = rooms_described,
    .room_count = ${len(rooms)},
    .workspace_bytes = ${prefix}_WORKSPACE_BYTES,
    .workspace_io_bytes = ${prefix}_WORKSPACE_IO_BYTES,
    .alignment = ${prefix}_ALIGNMENT,
    .tensor_alignment = ${prefix}_TENSOR_ALIGNMENT,
};

/* ---- interface ---- */

static bool initialised(const ${name}_context_t *context)
{
    return context != NULL && context->context.network == &${name}_network;
}
% if network.states:

/* Makes what a context keeps what it is at first. */
static void begin(${name}_context_t *context)
{
% for state in network.states:
    /* ${comment(state.tensor.name)} */
% if alike(state.initial) is not None:
    memset(context->states + ${state.offset}, ${alike(state.initial)}, ${state.initial.nbytes});
% else:
    static const ${c_type(state.tensor.dtype)} ${state.c_name}[${state.initial.size}] = {
${values(numbers(state.initial))}
    };
    memcpy(context->states + ${state.offset}, ${state.c_name}, ${state.initial.nbytes});
% endif
% endfor
}
% endif
% if memory:

/* Fills external memory from the image, and brings in constants that stay. */
static int32_t load(void)
{
    MATCH_TRY(${memory.api.load}(current->external, &${name}_image));
% if memory.residents:
    ${memory.api.transfer} transfer = {0};
% endif
% for piece in memory.residents:

    /* ${piece.name} */
    ${memory.api.copy_in}(&transfer, current->workspace + ${piece.main}, current->external + ${piece.external}, &(match_copy_t){.planes = 1, .rows = 1, .bytes = ${piece.bytes}});
    MATCH_TRY(${memory.api.wait}(&transfer));
% endfor
    return MATCH_OK;
}

static int32_t reserve(match_context_t *context)
{
    context->external = ${memory.api.allocate}(${prefix}_EXTERNAL_BYTES);
    if (context->external == NULL) {
        return MATCH_ERROR_MEMORY;
    }
    current = context;
    const int32_t status = load();
    if (status != MATCH_OK) {
        ${memory.api.free}(context->external);
    }
    current = NULL;
    return status;
}
% endif

int32_t ${name}_init(${name}_context_t *context, void *workspace, size_t bytes)
{
    const bool started = initialised(context) && context->context.started;
    if (started || !match_take_turn()) {
        return MATCH_ERROR_BUSY;
    }
    match_context_t made = {
        .network = &${name}_network,
        .workspace = (uint8_t *)workspace,
        .holds_tensors = bytes >= ${prefix}_WORKSPACE_IO_BYTES,
    };
    int32_t status = context != NULL ? match_check_workspace(&${name}_network, workspace, bytes) : MATCH_ERROR_ARGUMENT;
% if memory:
    if (status == MATCH_OK && initialised(context)) { /* its use begins again */
        ${memory.api.free}(context->context.external);
        context->context = (match_context_t){.network = NULL};
    }
    if (status == MATCH_OK) {
        status = reserve(&made);
    }
% endif
    if (status == MATCH_OK) {
        context->context = made;
% if network.states:
        begin(context);
% endif
    }
    match_give_turn();
    return status;
}

/* Runs the network for `current`. */
static int32_t run(const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs)
{
% for direction, group in (("inputs", inputs), ("outputs", outputs)):
% for number, tensor in enumerate(group):
    MATCH_TRY(match_check_tensor(current, &${direction}_described[${number}], ${direction}->${tensor.c_name}));
% endfor
% endfor
% if memory:
% for number in memory.first:
    start(${number});
% endfor
% endif
% if memory and memory.fetches:
    const int32_t status = infer(inputs, outputs);
    for (int32_t number = 0; number < ${len(memory.fetches)}; number++) {
        if (pending[number]) { /* a layer before its own has failed */
            (void)arrive(number);
        }
    }
    return status;
% else:
    return infer(inputs, outputs);
% endif
}

int32_t ${name}_execute(${name}_context_t *context, const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs)
{
    if (!initialised(context)) {
        return MATCH_ERROR_STATE;
    }
    const ${name}_inputs_t inputs_inside = {
% for tensor in inputs:
        .${tensor.c_name} = ${name}_${tensor.variable}(context),
% endfor
    };
    const ${name}_outputs_t outputs_inside = {
% for tensor in outputs:
        .${tensor.c_name} = ${name}_${tensor.variable}(context),
% endfor
    };
    if ((inputs == NULL || outputs == NULL) && !context->context.holds_tensors) {
        return MATCH_ERROR_SIZE;
    }
    current = &context->context;
% if network.states:
    states = context->states;
% endif
    return run(inputs != NULL ? inputs : &inputs_inside, outputs != NULL ? outputs : &outputs_inside);
}

int32_t ${name}_run(${name}_context_t *context, const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs)
{
    if (!match_take_turn()) {
        return MATCH_ERROR_BUSY;
    }
    const int32_t status = ${name}_execute(context, inputs, outputs);
    match_give_turn();
    return status;
}

% if network.states:
int32_t ${name}_reset(${name}_context_t *context)
{
    if (!match_take_turn()) {
        return MATCH_ERROR_BUSY;
    }
    int32_t status = MATCH_ERROR_STATE;
    if (initialised(context)) {
        begin(context);
        status = MATCH_OK;
    }
    match_give_turn();
    return status;
}

% endif
int32_t ${name}_deinit(${name}_context_t *context)
{
    if (!match_take_turn()) {
        return MATCH_ERROR_BUSY;
    }
    int32_t status = MATCH_ERROR_STATE;
    if (initialised(context)) {
% if memory:
        ${memory.api.free}(context->context.external);
% endif
        context->context = (match_context_t){.network = NULL};
        status = MATCH_OK;
    }
    match_give_turn();
    return status;
}

int32_t ${name}_set_hooks(${name}_context_t *context, const match_hooks_t *hooks)
{
    if (!match_take_turn()) {
        return MATCH_ERROR_BUSY;
    }
    int32_t status = MATCH_ERROR_STATE;
    if (initialised(context)) {
        context->context.hooks = hooks;
        status = MATCH_OK;
    }
    match_give_turn();
    return status;
}
% for direction, group in (("inputs", inputs), ("outputs", outputs)):
% for number, tensor in enumerate(group):

${tensor.c_type} *${name}_${tensor.variable}(const ${name}_context_t *context)
{
    return match_tensor_inside(initialised(context) ? &context->context : NULL, &${direction}_described[${number}]);
}
% endfor
% endfor
