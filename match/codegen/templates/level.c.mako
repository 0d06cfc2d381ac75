<%
    nest = level.nest
    last = len(nest)
    output = level.output
    name = level.suffix
    memory = level.memory.name
    shared = level.shared
%>\
<%def name="start(operand, arguments)">\
fetch_${operand.name}${name}(&${operand.buffer}${level.array_argument(operand)}${arguments});
</%def>\
<%def name="arrive(depth)">\
% for variable, value in level.spans(depth):
const match_span_t ${variable} = ${value};
% endfor
% if depth in level.prefetch_depths:
<% var = nest.loops[depth - 1].variable %>\
${level.types}position_t next_${var} = {${", ".join(f".{l.variable} = {l.variable}" for l in nest.loops[:depth])}};
const bool more_${var} = ${level.advance_call(depth, "&next_" + var)};
% endif
% for operand in level.placed(depth):
% if operand.double:
<% var = nest.loops[depth - 1].variable %>\

/* The next block of the ${operand.name} comes in while this one is used. */
MATCH_TRY(${shared}_wait(&${operand.buffer}));
const uint8_t *const ${operand.name} = ${operand.buffer}.data;
${operand.name}_turn ^= 1;
if (more_${var}) {
    ${start(operand, operand.arguments_at("next_" + var))}\
}
% else:
% if depth:

${start(operand, operand.arguments_here())}\
% endif
MATCH_TRY(${shared}_wait(&${operand.buffer}));
% endif
% endfor
% if output and output.double and output.depth == depth:
uint8_t *const output = ${output.buffer}.data;
% endif
</%def>\
<%def name="output_free()">\
% if level.reuses_output:

MATCH_TRY(${shared}_wait(&${output.buffer}));
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
% for field, value in call.changing:
${call.tile}.${field} = ${value};
% endfor
% if call is level.calls[0]:
${output_free()}\
% endif

MATCH_TRY(${shared}_compute(${call.kernel}, &${call.tile}));
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

store_output${name}(&${output.buffer}${level.array_argument(output)}${output.arguments_here()});
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
<%def name="move(operand, array, start, event)">\
<% place = "from" if start == "in" else "to" %>\
    MATCH_TRACE_${event}(block, "${operand.name}", "${memory}", ${place} - ${array}, ${"bytes" if operand.constant or operand.contiguous else "match_copy_bytes(&shape)"});
% if operand.constant or operand.contiguous:
    ${shared}_${"load" if start == "in" else "store"}(block, ${place}, bytes);
% else:
    ${shared}_copy_${start}(block, ${place}, &shape);
% endif
</%def>\
<%def name="shape(operand)">\
% if operand.contiguous:
    const uint32_t bytes = ${operand.contiguous};
% else:
    const match_copy_t shape = {
% for field, value in operand.shape:
        .${field} = ${value},
% endfor
    };
% endif
</%def>\
% for operand in level.fetched:
<% array = level.array(operand) %>\

/* Starts the transfer of a block of the ${operand.name}${f" into {memory}" if name else ""}. */
% if operand.constant and not operand.alike:
static void fetch_${operand.name}${name}(${shared}_block_t *block${level.array_parameter(operand)}, int32_t k, int32_t k_end)
{
    const int32_t index = ${operand.constants.before("k")};
    const uint32_t bytes = (uint32_t)((${operand.constants.before("k_end")} - index)${operand.ranges} * ${operand.name.upper()}_BYTES);
    const uint8_t *const from = ${array} + index${operand.ranges} * ${operand.name.upper()}_BYTES;
% elif operand.constant:
static void fetch_${operand.name}${name}(${shared}_block_t *block${level.array_parameter(operand)}${", int32_t index" if operand.indexed else ""})
{
    const uint32_t bytes = ${operand.bytes_name};
    const uint8_t *const from = ${array}${f" + index * {operand.bytes_name}" if operand.indexed else ""};
% else:
static void fetch_${operand.name}${name}(${shared}_block_t *block${level.array_parameter(operand)}${operand.parameters})
{
${shape(operand)}\
    const uint8_t *const from = ${array}${operand.external_offset};
% endif
${move(operand, array, "in", "FETCH")}\
}
% endfor
% if output:
<% array = level.array(output) %>\

/* Starts the write-back of a block of the output${f" in {memory}" if name else ""}. */
static void store_output${name}(${shared}_block_t *block${level.array_parameter(output)}${output.parameters})
{
${shape(output)}\
    uint8_t *const to = ${array}${output.external_offset};
${move(output, array, "out", "STORE")}\
}
% endif
% for depth in level.prefetch_depths:

/* Moves on to the next iteration of the loops down to ${nest.loops[depth - 1].variable}; false behind the last one. */
static bool advance_${nest.loops[depth - 1].variable}(${level.types}position_t *at${", const part_t *part" if level.advance_needs_part(depth) else ""})
{
% for line in level.advance(depth):
    ${line}
% endfor
}
% endfor

<%
    blocks = f"{level.kernel_shared}_block_t *l1"
    moves = level.fetched or output
%>\
% if level.part:
/* The part of the layer whose blocks are in ${level.outer_memory}; if it succeeds, nothing is under way behind it. */
static int32_t execute_part(const part_t *part, ${blocks})
% elif level.innermost:
/* The layer, once its blocks are reserved; transfers may be under way behind it. */
static int32_t execute(const void *given, ${blocks})
% else:
/* All iterations. */
static int32_t iterate${name}(const arguments_t *arguments, ${blocks}, ${shared}_block_t *${level.region_name})
% endif
{
% if level.innermost and not level.part:
    const arguments_t *const arguments = given;
% endif
% if level.innermost:
% for call in level.calls:
    match_tile_t ${call.tile};
    ${shared}_clear(&${call.tile});
% for field, value in call.constant:
    ${call.tile}.${field} = ${value};
% endfor
% endfor
% endif
% for operand in level.operands:
% if operand.double:
    int32_t ${operand.name}_turn = 0;
% endif
% endfor
% if level.innermost or any(operand.double for operand in level.operands):

% endif
% for operand in level.fetched:
% if operand.double or not operand.depth:
    ${start(operand, operand.arguments_first())}\
% endif
% endfor
% if dict(level.spans(0)):

% endif
${indent(capture(nested, 0))}\

% if level.part and output:
    return ${shared}_settle(l1, ${level.count_name}, MATCH_OK);
% else:
    return MATCH_OK;
% endif
}
% if not level.innermost:

/* The layer, once its blocks are reserved; nothing is under way in ${memory} behind it, even if it fails. */
static int32_t execute(const void *given, ${blocks})
{
    const arguments_t *const arguments = given;
    ${shared}_block_t ${level.region_name}[${level.count_name}] = {
% for number, place in level.region:
        [${number}] = {.data = ${place}},
% endfor
    };
    return ${shared}_settle(${level.region_name}, ${level.count_name}, iterate${name}(arguments, l1, ${level.region_name}));
}
% endif
