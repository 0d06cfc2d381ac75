<%
    nest = text.nest
    last = len(nest)
    output = text.output
    wait = "await"
    memory = text.schedule.inner_memory.name
    transfer = api.memory.transfer
%>\
<%def name="start(operand, arguments)">\
fetch_${operand.name}(&${operand.name}_transfer, ${operand.buffer}${"" if operand.constant else ", arguments->" + operand.name}${arguments});
</%def>\
<%def name="arrive(depth)">\
% for variable, value in text.spans(depth):
const match_span_t ${variable} = ${value};
% endfor
% if depth in text.prefetch_depths:
<% var = nest.loops[depth - 1].variable %>\
position_t next_${var} = {${", ".join(f".{l.variable} = {l.variable}" for l in nest.loops[:depth])}};
const bool more_${var} = advance_${var}(&next_${var});
% endif
% for operand in text.placed(depth):
% if operand.double:
<% var = nest.loops[depth - 1].variable %>\

/* The next block of the ${operand.name} comes in while this one is used. */
MATCH_TRY(${wait}(&${operand.name}_transfer));
const uint8_t *const ${operand.name} = ${operand.buffer};
${operand.name}_turn ^= 1;
if (more_${var}) {
    ${start(operand, operand.arguments_at("next_" + var))}\
}
% else:
% if depth:

${start(operand, operand.arguments_here())}\
% endif
MATCH_TRY(${wait}(&${operand.name}_transfer));
% endif
% endfor
% if output.double and output.depth == depth:
uint8_t *const output = ${output.buffer};
% endif
</%def>\
<%def name="kernel()">\
% for variable, value in text.tile_spans():
const match_span_t ${variable} = ${value};
% endfor
% if text.sums:
int32_t *const sums = ${text.sums};
% endif
% if text.output_sums:
int32_t *const output_sums = ${text.output_sums};
% endif
const match_tile_t tile = {
% for field, value in text.tile:
    .${field} = ${value},
% endfor
};
% if text.reuses_output:

<% pending = "output_pending" + ("[output_turn]" if output.double else "") %>\
if (${pending}) {
    MATCH_TRY(${wait}(&output_transfer${"[output_turn]" if output.double else ""}));
    ${pending} = false;
}
% endif

MATCH_TRACE_KERNEL(&tile);
MATCH_TRY(${api.compute.start}(${text.plan.kernel}, &tile));
MATCH_TRY(${api.sync.wait_compute}());
</%def>\
<%def name="leave(depth)">\
% if output.depth == depth:

<% turn = "[output_turn]" if output.double else "" %>\
store_output(&output_transfer${turn}, ${output.buffer}, arguments->output${output.arguments_here()});
% if depth and text.reuses_output:
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
% else:
${kernel()}\
% endif
${leave(depth)}\
</%def>\
/* ${text.title}.
 *
 * In ${text.schedule.inner_memory.name}:
% for operand in text.operands:
 *   ${operand.name}: ${operand.summary}
% endfor
% if text.sums:
 *   partial sums: ${text.schedule.partial_bytes} bytes, beside the output
% endif
% if text.schedule.scratch:
 *   scratch: ${text.schedule.scratch} bytes
% endif
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

% for header in api.headers:
#include "${header}"
% endfor
#include "match_layer.h"
#include "match_trace.h"

/* The layer, in elements. */
enum {
% for name, value in text.sizes:
    ${name} = ${value},
% endfor
};
% if nest.loops:

/* Tiles, in iterations. */
enum {
% for loop in nest.loops:
    ${loop.tile} = ${loop.tile_size},
% endfor
};
% endif

/* Blocks, in bytes. */
enum {
% for operand in text.operands:
    ${operand.name.upper()}_BYTES = ${operand.bytes},
% endfor
% if text.sums:
    SUMS_BYTES = ${text.schedule.partial_bytes},
% endif
% if text.schedule.scratch:
    SCRATCH_BYTES = ${text.schedule.scratch},
% endif
% for _, name, offset, stride in text.components:
% if offset:
    ${name}_OFFSET = ${offset},
% endif
% if stride:
    ${name}_CHANNEL_BYTES = ${stride},
% endif
% endfor
};

/* The tensors, in main memory. */
typedef struct {
% for operand in text.inputs:
    const uint8_t *${operand.name};
% endfor
    uint8_t *output;
} arguments_t;

/* The blocks, in ${text.schedule.inner_memory.name}. */
typedef struct {
% for operand in text.operands:
    uint8_t *${operand.name}${"[2]" if operand.double else ""};
% endfor
% if text.sums:
    int32_t *sums;
% endif
% if text.schedule.scratch:
    uint8_t *scratch;
% endif
} buffers_t;
% if text.position:

/* An iteration of the loops: where its tile starts. */
typedef struct {
% for loop in text.position:
    int32_t ${loop.variable};
% endfor
} position_t;
% endif
% if text.weights:

/* ${text.contents}, packed in the order of fetch. */
static const uint8_t constants[${len(text.plan.constants)}];
% endif
% for axis in text.windows:

/* ${axis.name.capitalize()} of the ${axis.operand} under a run of output ${axis.name}. */
static match_span_t ${axis.function}(int32_t start, int32_t end)
{
    return match_window(start, end, ${axis.windows});
}
% endfor
% for operand in text.fetched:

/* Starts the transfer of a block of the ${operand.name}. */
<% spans = "" if operand.constant else "".join(f", match_span_t {axis.name}" for axis in operand.cut_axes) %>\
% if operand.constant:
static void fetch_${operand.name}(${transfer} *transfer, uint8_t *block${", int32_t index" if operand.depth else ""})
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = ${operand.name.upper()}_BYTES};
    const uint8_t *const first = constants${f" + index * {operand.name.upper()}_BYTES" if operand.depth else ""};
    MATCH_TRACE_FETCH(transfer, "${operand.name}", "${memory}", first - constants, &shape);
    ${api.memory.copy_in}(transfer, block, first, &shape);
}
% else:
static void fetch_${operand.name}(${transfer} *transfer, uint8_t *block, const uint8_t *${operand.name}${spans})
{
    const match_copy_t shape = {
% for field, value in operand.shape:
        .${field} = ${value},
% endfor
    };
    const uint8_t *const first = ${operand.name}${operand.external_offset};
    MATCH_TRACE_FETCH(transfer, "${operand.name}", "${memory}", first - ${operand.name}, &shape);
    ${api.memory.copy_in}(transfer, block, first, &shape);
}
% endif
% endfor

/* Starts the write-back of a block of the output. */
static void store_output(${transfer} *transfer, const uint8_t *block, uint8_t *output${"".join(f", match_span_t {axis.name}" for axis in output.cut_axes)})
{
    const match_copy_t shape = {
% for field, value in output.shape:
        .${field} = ${value},
% endfor
    };
    uint8_t *const first = output${output.external_offset};
    MATCH_TRACE_STORE(transfer, "output", "${memory}", first - output, &shape);
    ${api.memory.copy_out}(transfer, block, first, &shape);
}

/* Waits for a transfer. */
static int32_t await(${transfer} *transfer)
{
    MATCH_TRACE_WAIT(transfer);
    return ${api.sync.wait_transfer}(transfer);
}
% for depth in text.prefetch_depths:

/* Moves on to the next iteration of the loops down to ${nest.loops[depth - 1].variable}; false behind the last one. */
static bool advance_${nest.loops[depth - 1].variable}(position_t *at)
{
% for line in text.advance(depth):
    ${line}
% endfor
}
% endfor

/* The layer, once its blocks are reserved. */
static int32_t execute(const arguments_t *arguments, const buffers_t *l1)
{
% for operand in text.fetched:
    ${transfer} ${operand.name}_transfer = {0};
% endfor
    ${transfer} output_transfer${"[2]" if output.double else ""} = {0};
% for operand in text.operands:
% if operand.double:
    int32_t ${operand.name}_turn = 0;
% endif
% endfor
% if text.reuses_output:
    bool output_pending${"[2]" if output.double else ""} = ${"{false, false}" if output.double else "false"};
% endif

% for operand in text.fetched:
% if operand.double or not operand.depth:
    ${start(operand, operand.arguments_first())}\
% endif
% endfor
${indent(capture(nested, 0))}\

% if output.double:
    MATCH_TRY(${wait}(&output_transfer[output_turn]));
    return ${wait}(&output_transfer[output_turn ^ 1]);
% else:
    return ${wait}(&output_transfer);
% endif
}

/* Reserves the blocks. */
static int32_t reserve(buffers_t *l1)
{
% for buffer, size, allocator in text.buffers:
    ${buffer} = ${allocator.allocate}(${size});
% endfor
    const bool complete = ${" && ".join(f"{buffer} != NULL" for buffer, _, _ in text.buffers)};
    return complete ? MATCH_OK : MATCH_ERROR_MEMORY;
}

/* Gives them back, those that could be reserved. */
static void release(const buffers_t *l1)
{
% for buffer, _, allocator in reversed(text.buffers):
    ${allocator.free}(${buffer});
% endfor
}

/* The layer as it runs on the module. */
static int32_t run(void *arguments)
{
    buffers_t l1;
    int32_t status = reserve(&l1);
    if (status == MATCH_OK) {
        status = execute(arguments, &l1);
    }
    release(&l1);
    return status;
}

${text.prototype}
{
    arguments_t arguments = {
% for operand in text.inputs:
        .${operand.name} = ${operand.name},
% endfor
        .output = output,
    };
    MATCH_TRACE_LAYER("${text.plan.symbol}", "${text.layer.op}");
    return ${api.platform.offload}(run, &arguments);
}
% if text.weights:

static const uint8_t constants[${len(text.plan.constants)}] = {
${values(text.plan.constants)},
};
% endif
