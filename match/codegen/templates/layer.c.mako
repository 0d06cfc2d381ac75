<%
    kernel = text.kernel
    outer = text.part
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
% for line in level.summary:
 *   ${line}
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

#include "match_dump.h"
% for header in text.headers:
#include "${header}.h"
% endfor
#include "match_layer.h"
% if text.declared:
#include "layers.h"
% endif
#include "match_trace.h"

% if text.sizes:
/* The layer, in elements. */
enum {
% for name, value in text.sizes:
    ${name} = ${value},
% endfor
};
% endif
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

/* Blocks${f" in {kernel.memory.name}" if two else ""}, in bytes. */
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

/* The blocks, in ${level.memory.name}, by number; those that take turns follow one another. */
enum {
% for block in level.numbered:
    ${block.name} = ${block.number},
% endfor
    ${level.count_name} = ${sum(block.buffers for block in level.numbered)},
};
% endfor

/* Their bytes${f" in {kernel.memory.name}" if two else ""}, in this order. */
static const uint32_t block_bytes[BLOCKS] = {
% for block in kernel.numbered:
    ${", ".join(block.sizes)},
% endfor
};
% for level in text.levels:
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
_Alignas(${text.constant_alignment}) static const uint8_t constants[${len(text.plan.constants)}] ${text.placement};
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
static const ${kernel.shared}_layer_t layer = {
    .execute = execute,
    .bytes = block_bytes,
    .count = BLOCKS,
% for operand, blocks in text.private:
    .${operand} = ${blocks},
% endfor
};

${text.prototype}
{
    ${"" if text.plan.constants_at == "network" else "const "}arguments_t arguments = {
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
    MATCH_TRACE_LAYER("${text.plan.symbol}", "${text.called}");
% for operand in kernel.inputs:
    ${text.dump(operand)};
% endfor
    MATCH_TRY(${kernel.shared}_run(&layer, &arguments));
    ${text.dump(kernel.kernel_output)};
    return MATCH_OK;
}
% if text.contents:

_Alignas(${text.constant_alignment}) static const uint8_t constants[${len(text.plan.constants)}] = {
${text.constants}
};
% endif
