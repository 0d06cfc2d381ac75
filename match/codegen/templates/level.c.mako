<%
    nest = level.nest
    last = len(nest)
    output = level.output
    name = level.suffix
    memory = level.memory.name
    transfer, copy_in, copy_out, wait_transfer = level.functions
    wait = "await" + name
%>\
<%def name="start(operand, arguments)">\
fetch_${operand.name}${name}(&transfers->${operand.name}, ${operand.buffer}${level.array_argument(operand)}${arguments});
</%def>\
<%def name="arrive(depth)">\
% for variable, value in level.spans(depth):
const match_span_t ${variable} = ${value};
% endfor
% if depth in level.prefetch_depths:
<% var = nest.loops[depth - 1].variable %>\
${level.types}position_t next_${var} = {${", ".join(f".{l.variable} = {l.variable}" for l in nest.loops[:depth])}};
const bool more_${var} = advance_${var}(&next_${var}${", part" if level.advance_needs_part(depth) else ""});
% endif
% for operand in level.placed(depth):
% if operand.double:
<% var = nest.loops[depth - 1].variable %>\

/* The next block of the ${operand.name} comes in while this one is used. */
MATCH_TRY(${wait}(&transfers->${operand.name}));
const uint8_t *const ${operand.name} = ${operand.buffer};
${operand.name}_turn ^= 1;
if (more_${var}) {
    ${start(operand, operand.arguments_at("next_" + var))}\
}
% else:
% if depth:

${start(operand, operand.arguments_here())}\
% endif
MATCH_TRY(${wait}(&transfers->${operand.name}));
% endif
% endfor
% if output and output.double and output.depth == depth:
uint8_t *const output = ${output.buffer};
% endif
</%def>\
<%def name="output_free()">\
% if level.reuses_output:

<% pending = "output_pending" + ("[output_turn]" if output.double else "") %>\
if (${pending}) {
    MATCH_TRY(${wait}(&transfers->output${"[output_turn]" if output.double else ""}));
    ${pending} = false;
}
% endif
</%def>\
<%def name="kernel()">\
% for variable, value in level.tile_spans():
const match_span_t ${variable} = ${value};
% endfor
% if level.sums:
int32_t *const sums = ${level.sums};
% endif
% if level.output_sums:
int32_t *const output_sums = ${level.output_sums};
% endif
% for call in level.calls:
% if call is not level.calls[0]:

% endif
% for variable, value in call.spans:
const match_span_t ${variable} = ${value};
% endfor
const match_tile_t ${call.tile} = {
% for field, value in call.fields:
    .${field} = ${value},
% endfor
% if call.unused:
    /* None of these: named, or the compiler would clear the whole first. */
% endif
% for line in call.unused:
    ${line}
% endfor
};
% if call is level.calls[0]:
${output_free()}\
% endif

MATCH_TRACE_KERNEL(&${call.tile});
MATCH_TRY(${api.compute.start}(${call.kernel}, &${call.tile}));
MATCH_TRY(${api.sync.wait_compute}());
% endfor
</%def>\
<%def name="part()">\
const part_t part = {
% for field in level.fields:
    .${field.name} = ${field.value},
% endfor
};
${output_free()}\

MATCH_TRY(execute_part(&part, l1));
</%def>\
<%def name="leave(depth)">\
% if output and output.depth == depth:

<% turn = "[output_turn]" if output.double else "" %>\
store_output${name}(&transfers->output${turn}, ${output.buffer}${level.array_argument(output)}${output.arguments_here()});
% if depth and level.tracks_output:
output_pending${turn} = true;
% endif
% if output.double:
output_turn ^= 1;
% endif
% endif
</%def>\
<%def name="nested(depth)">\
<% before = capture(arrive, depth) %>\
${before}\
% if before.strip() or not depth or not nest.loops[depth - 1].even:

% endif
% if depth < last:
<%
    here = nest.loops[depth]
%>\
/* ${here.comment} */
for (int32_t ${here.variable} = ${nest.start(here.dim, depth)}; ${here.variable} < ${nest.bound(here.dim, depth)}; ${here.variable} += ${here.tile}) {
% if not here.even:
    const int32_t ${here.variable}_end = match_min(${here.variable} + ${here.tile}, ${nest.bound(here.dim, depth)});
% endif
${indent(capture(nested, depth + 1))}\
}
% elif level.innermost:
${kernel()}\
% else:
${part()}\
% endif
${leave(depth)}\
</%def>\
% for operand in level.fetched:
<% array = level.array(operand) %>\

/* Starts the transfer of a block of the ${operand.name}${f" into {memory}" if name else ""}. */
% if operand.constant and not operand.alike:
static void fetch_${operand.name}${name}(${transfer} *transfer, uint8_t *block${level.array_parameter(operand)}, int32_t k, int32_t k_end)
{
    const int32_t index = ${operand.constants.before("k")};
    const int32_t count = ${operand.constants.before("k_end")} - index;
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = count${operand.ranges} * ${operand.name.upper()}_BYTES};
    const uint8_t *const first = ${array} + index${operand.ranges} * ${operand.name.upper()}_BYTES;
% elif operand.constant:
static void fetch_${operand.name}${name}(${transfer} *transfer, uint8_t *block${level.array_parameter(operand)}${", int32_t index" if operand.indexed else ""})
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = ${operand.bytes_name}};
    const uint8_t *const first = ${array}${f" + index * {operand.bytes_name}" if operand.indexed else ""};
% else:
static void fetch_${operand.name}${name}(${transfer} *transfer, uint8_t *block${level.array_parameter(operand)}${operand.parameters})
{
    const match_copy_t shape = {
% for field, value in operand.shape:
        .${field} = ${value},
% endfor
    };
    const uint8_t *const first = ${array}${operand.external_offset};
% endif
    MATCH_TRACE_FETCH(transfer, "${operand.name}", "${memory}", first - ${array}, &shape);
    ${copy_in}(transfer, block, first, &shape);
}
% endfor
% if output:
<% array = level.array(output) %>\

/* Starts the write-back of a block of the output${f" in {memory}" if name else ""}. */
static void store_output${name}(${transfer} *transfer, const uint8_t *block${level.array_parameter(output)}${output.parameters})
{
    const match_copy_t shape = {
% for field, value in output.shape:
        .${field} = ${value},
% endfor
    };
    uint8_t *const first = ${array}${output.external_offset};
    MATCH_TRACE_STORE(transfer, "output", "${memory}", first - ${array}, &shape);
    ${copy_out}(transfer, block, first, &shape);
}
% endif

/* Waits for a transfer. */
static int32_t ${wait}(${transfer} *transfer)
{
    MATCH_TRACE_WAIT(transfer);
    return ${wait_transfer}(transfer);
}
% for depth in level.prefetch_depths:

/* Moves on to the next iteration of the loops down to ${nest.loops[depth - 1].variable}; false behind the last one. */
static bool advance_${nest.loops[depth - 1].variable}(${level.types}position_t *at${", const part_t *part" if level.advance_needs_part(depth) else ""})
{
% for line in level.advance(depth):
    ${line}
% endfor
}
% endfor

% if level.fetched or output:
/* What may be under way${f" into and out of {memory}" if name else ""}. */
typedef struct {
% for operand in level.fetched:
    ${transfer} ${operand.name};
% endfor
% if output:
    ${transfer} output${"[2]" if output.double else ""};
% endif
} ${level.types}transfers_t;

% endif
<%
    iterate = "iterate" + name
    given = "const part_t *part" if level.part else "const arguments_t *arguments"
    blocks = f"const {level.types if level.innermost or level.part else level.inner_types}buffers_t *l1"
    passed = "part" if level.part else "arguments"
    moves = level.fetched or output
%>\
% if moves:
/* All iterations. */
static int32_t ${iterate}(${given}, ${blocks}, ${level.types}transfers_t *transfers)
% elif level.part:
/* The part of the layer whose blocks are in ${level.outer_memory}. */
static int32_t execute_part(${given}, ${blocks})
% else:
/* The layer, once its blocks are reserved. */
static int32_t execute(${given}, ${blocks})
% endif
{
% if not level.innermost:
    const ${level.types}buffers_t ${level.region_name} = {
% for member, place in level.region:
        .${member} = ${place},
% endfor
    };
% endif
% for operand in level.operands:
% if operand.double:
    int32_t ${operand.name}_turn = 0;
% endif
% endfor
% if level.tracks_output:
    bool output_pending${"[2]" if output.double else ""} = ${"{false, false}" if output.double else "false"};
% endif
% if not level.innermost or any(operand.double for operand in level.operands) or level.tracks_output:

% endif
% for operand in level.fetched:
% if operand.double or not operand.depth:
    ${start(operand, operand.arguments_first())}\
% endif
% endfor
% if dict(level.spans(0)):

% endif
${indent(capture(nested, 0))}\

% if not output:
    return MATCH_OK;
% elif not output.double:
    return ${wait}(&transfers->output);
% else:
% if level.may_store_once:
    if (output_pending[output_turn]) {
        MATCH_TRY(${wait}(&transfers->output[output_turn]));
    }
% else:
    MATCH_TRY(${wait}(&transfers->output[output_turn]));
% endif
    return ${wait}(&transfers->output[output_turn ^ 1]);
% endif
}
% if moves:

% if level.part:
/* The part of the layer whose blocks are in ${level.outer_memory}; nothing is under way behind it, even if it fails. */
static int32_t execute_part(${given}, ${blocks})
% else:
/* The layer, once its blocks are reserved; nothing is under way behind it, even if it fails. */
static int32_t execute(${given}, ${blocks})
% endif
{
    ${level.types}transfers_t transfers = {0};
    const int32_t status = ${iterate}(${passed}, l1, &transfers);
    if (status != MATCH_OK) {
% if level.innermost:
        (void)${api.sync.wait_compute}();
% endif
% for operand in level.fetched:
        (void)${wait_transfer}(&transfers.${operand.name});
% endfor
% if output and output.double:
        (void)${wait_transfer}(&transfers.output[0]);
        (void)${wait_transfer}(&transfers.output[1]);
% elif output:
        (void)${wait_transfer}(&transfers.output);
% endif
    }
    return status;
}
% endif
