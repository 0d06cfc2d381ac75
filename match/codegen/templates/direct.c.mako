/* ${text.title}.
% for line in text.source:
 * ${line}
% endfor
 *
 * The kernel reads and writes main memory\
${f"; it needs {text.scratch} bytes of it beside the tensors." if text.scratch else "."}
 */
#include <stddef.h>
#include <stdint.h>

#include "match_dump.h"
#include "match_layer.h"
#include "${text.shared}.h"
% if text.declared:
#include "layers.h"
% endif
#include "match_trace.h"
% if text.contents:

/* Attributes of the constants: where they are placed. */
#ifndef ${text.placement}
#define ${text.placement}
#endif

/* ${text.contents}. */
_Alignas(${text.constant_alignment}) static const uint8_t constants[${len(text.plan.constants)}] ${text.placement};
% endif

${text.prototype}
{
% if own_scratch and text.scratch:
    static _Alignas(${text.constant_alignment}) uint8_t scratch[${text.scratch}];
% endif
% if text.plan.constants_at == "network":
    const uint8_t *constants;
    MATCH_TRY(${text.plan.symbol}_constants(&constants));
% endif
    match_tile_t tile;
    ${text.shared}_clear(&tile);
% for field, value in text.fields:
    tile.${field} = ${value};
% endfor
    MATCH_TRACE_LAYER("${text.plan.symbol}", "${text.layer.op}");
% for operand in text.inputs:
    ${text.dump(operand)};
% endfor
    MATCH_TRACE_KERNEL(&tile);
% if text.api.start:
    int32_t status = ${text.api.start}(${text.plan.kernel}, &tile);
    if (status == MATCH_OK) {
        status = ${text.api.wait}();
    }
    if (status != MATCH_OK) {
        (void)${text.api.wait}(); /* it may still run */
    }
    MATCH_TRY(status);
% else:
    ${text.plan.kernel}(&tile);
% endif
    ${text.dump(text.output)};
    return MATCH_OK;
}
% if text.contents:

_Alignas(${text.constant_alignment}) static const uint8_t constants[${len(text.plan.constants)}] = {
${text.constants}
};
% endif
