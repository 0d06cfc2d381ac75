/* ${comment(name)}: ${comment(origin)}, and what the network computes of it. */
#include "${name}_selftest.h"

#include <string.h>
% for tensor in inputs:

static const uint8_t ${tensor.c_name}[${len(tensor.data)}] = {
${values(tensor.data)},
};
% endfor

/* What layers on modules read and write. */
static const match_expected_t LAYERS[] = {
% for one in layers:
    {.layer = "${one.layer}", .tensor = "${one.tensor}", .crc = 0x${f"{one.crc:08x}"}},
% endfor
% if not layers:
    {.layer = NULL},
% endif
};

static const match_expected_t OUTPUTS[] = {
% for tensor in outputs:
    {.layer = "", .tensor = ${quoted(tensor.name)}, .crc = 0x${f"{tensor.crc:08x}"}},
% endfor
};

int32_t ${name}_selftest(${name}_context_t *context, match_selftest_t *test)
{
    if (context == NULL || context->context.network != &${name}_network) {
        return MATCH_ERROR_STATE;
    }
    if (context->context.started) {
        return MATCH_ERROR_BUSY;
    }
    if (test == NULL) {
        return MATCH_ERROR_ARGUMENT;
    }
    if (!context->context.holds_tensors) {
        return MATCH_ERROR_SIZE;
    }
    if (strcmp(${name}_network.fingerprint, "${fingerprint}") != 0) {
        return MATCH_ERROR_OTHER;
    }
% for tensor in inputs:
    memcpy(${name}_input_${tensor.c_name}(context), ${tensor.c_name}, sizeof ${tensor.c_name});
% endfor
% if states:
    (void)${name}_reset(context);
% endif
    match_selftest_begin(test, LAYERS, ${len(layers)});
    const int32_t status = ${name}_run(context, NULL, NULL);
    match_selftest_end();
    if (status == MATCH_OK) {
% for number, tensor in enumerate(outputs):
        match_selftest_compare(test, &OUTPUTS[${number}], ${name}_output_${tensor.c_name}(context), ${prefix}_OUTPUT_${tensor.c_name.upper()}_BYTES);
% endfor
    }
    return status;
}
