<%
    kernel = text.kernel
    outer = text.part
    memory = text.schedule.inner_memory.name
    two = len(text.levels) == 2
%>\
/* ${text.title}.
 *
% if text.source:
% for line in text.source:
 * ${line}
% endfor
 *
% endif
% for level in text.levels:
 * In ${level.memory.name}:
% for operand in level.operands:
 *   ${operand.name}: ${operand.summary}
% endfor
% endfor
% if text.schedule.partial_bytes:
 *   partial sums: ${text.schedule.partial_bytes} bytes, beside the output
% endif
% if text.schedule.scratch:
 *   scratch: ${text.schedule.scratch} bytes
% endif
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

% for header in text.headers:
#include "${header}"
% endfor
#include "match_dump.h"
#include "match_layer.h"
% if text.callbacks:
#include "layers.h"
% endif
#include "match_trace.h"

/* The layer, in elements. */
enum {
% for name, value in text.sizes:
    ${name} = ${value},
% endfor
};
% if text.schedule.loops:

/* Tiles, in iterations. */
enum {
% for level in text.levels:
% for loop in level.nest.loops:
    ${loop.tile} = ${loop.tile_size},
% endfor
% endfor
};
% endif
% if text.part_sizes:

/* Blocks in ${outer.memory.name}, in bytes. */
enum {
% for name, value in text.part_sizes:
    ${name} = ${value},
% endfor
};
% endif

/* Blocks${f" in {memory}" if two else ""}, in bytes. */
enum {
% for name, value in text.block_sizes:
    ${name} = ${value},
% endfor
};

% if two:
/* The tensors, in main memory or where it says, and the bytes of ${outer.memory.name} that are for blocks. */
% else:
/* The tensors, in main memory. */
% endif
typedef struct {
% for operand in kernel.inputs:
    const uint8_t *${operand.name};${text.place(operand)}
% endfor
    uint8_t *output;${text.place(kernel.kernel_output)}
% if text.plan.constants_at == "network" and kernel.weights:
    const uint8_t *constants;${text.place(kernel.weights)}
% endif
% if two:
    uint8_t *blocks;
% endif
} arguments_t;
% for level in text.levels:

/* The blocks, in ${level.memory.name}. */
typedef struct {
% for operand in level.operands:
    uint8_t *${operand.name}${"[2]" if operand.double else ""};
% endfor
% if level.innermost and text.schedule.partial_bytes:
    int32_t *sums;
% endif
% if level.innermost and text.schedule.scratch:
    uint8_t *scratch;
% endif
} ${level.types}buffers_t;
% if level.position:

/* An iteration of the loops${f" of {level.memory.name}" if two else ""}: where its tile starts. */
typedef struct {
% for loop in level.position:
    int32_t ${loop.variable};
% endfor
} ${level.types}position_t;
% endif
% endfor
% if outer:

/* A part of the layer: its iterations, where its operands are, and what of the tensors lies there. */
typedef struct {
% for field in outer.fields:
    ${field.type}${field.name};
% endfor
} part_t;
% endif
% if text.contents:

/* Attributes of the constants: where they are placed. */
#ifndef ${text.placement}
#define ${text.placement}
#endif

/* ${text.contents}, packed in the order of fetch. */
static const uint8_t constants[${len(text.plan.constants)}] ${text.placement};
% endif
% for axis in text.windows:

/* ${axis.name.capitalize()} of the ${axis.operand} under a run of output ${axis.name}. */
static match_span_t ${axis.function}(int32_t start, int32_t end)
{
    return match_window(start, end, ${axis.windows});
}
% endfor
% if text.weights_before:

/* Ranges of output channels that the weights are packed in, in front of channel k. */
static int32_t weights_before(int32_t k)
{
    return ${text.weights_before};
}
% endif

${text.functions}
/* Reserves the blocks. */
static int32_t reserve(${kernel.types}buffers_t *l1)
{
% for buffer, size, allocator in text.buffers:
    ${buffer} = ${allocator.allocate}(${size});
% endfor
    const bool complete = ${" && ".join(f"{buffer} != NULL" for buffer, _, _ in text.buffers)};
    return complete ? MATCH_OK : MATCH_ERROR_MEMORY;
}

/* Gives them back, those that could be reserved. */
static void release(const ${kernel.types}buffers_t *l1)
{
% for buffer, _, allocator in reversed(text.buffers):
    ${allocator.free}(${buffer});
% endfor
}

/* The layer as it runs on the module. */
static int32_t run(void *arguments)
{
    ${kernel.types}buffers_t l1;
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
% for operand in kernel.inputs:
        .${operand.name} = ${operand.name},
% endfor
        .output = output,
% if two:
        .blocks = ${text.plan.symbol}_blocks(),
% endif
    };
% if text.plan.constants_at == "network":
    MATCH_TRY(${text.plan.symbol}_constants(&arguments.constants));
% endif
    MATCH_TRACE_LAYER("${text.plan.symbol}", "${"+".join(one.op for one in text.layer.operators)}");
% for operand in kernel.inputs:
    MATCH_DUMP_TENSOR("${text.plan.symbol}", "${operand.name}", ${operand.name}, ${text.tensor_bytes(operand)});
% endfor
    MATCH_TRY(${api.platform.offload}(run, &arguments));
    MATCH_DUMP_TENSOR("${text.plan.symbol}", "output", output, ${text.tensor_bytes(kernel.kernel_output)});
    return MATCH_OK;
}
% if text.contents:

static const uint8_t constants[${len(text.plan.constants)}] = {
${text.constants}
};
% endif
