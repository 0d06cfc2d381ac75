/* ${comment(network.name)} as a program.
 *
 * The inputs hold any number of samples, the outputs get as many; a sample is its tensors one after the other. */
#include <stdio.h>

#include "${header}"
% for name in target.api.headers:
#include "${name}"
% endfor
#include "match_io.h"

/* One sample after the other until the inputs end. */
static int32_t run_samples(const match_inputs_t *inputs, const match_outputs_t *outputs)
{
    int32_t status = MATCH_OK;
    while (status == MATCH_OK${"".join(f" && match_io_read((void *)inputs->{tensor.c_name}, {tensor.size_name})" for tensor in inputs)}) {
        status = match_run(inputs, outputs);
% for tensor in outputs:
        if (status == MATCH_OK && !match_io_write(outputs->${tensor.c_name}, ${tensor.size_name})) {
            status = MATCH_ERROR_PLATFORM;
        }
% endfor
    }
    return status;
}

int main(int argc, char **argv)
{
    if (match_io_open(argc, argv) != MATCH_OK) {
        return 2;
    }
    int32_t status = ${target.api.open}();
% if network.memory:
    if (status == MATCH_OK) {
        status = match_open();
        if (status != MATCH_OK) {
            ${target.api.close}();
        }
    }
% endif
    if (status == MATCH_OK) {
% for tensor in inputs:
        void *const ${tensor.variable} = ${target.api.allocate}(${tensor.size_name});
% endfor
% for tensor in outputs:
        void *const ${tensor.variable} = ${target.api.allocate}(${tensor.size_name});
% endfor
        if (${" || ".join(f"{tensor.variable} == NULL" for tensor in (*inputs, *outputs))}) {
            status = MATCH_ERROR_MEMORY;
        } else {
            const match_inputs_t inputs = {${", ".join(f".{tensor.c_name} = {tensor.variable}" for tensor in inputs)}};
            const match_outputs_t outputs = {${", ".join(f".{tensor.c_name} = {tensor.variable}" for tensor in outputs)}};
            status = run_samples(&inputs, &outputs);
        }
% for tensor in reversed((*inputs, *outputs)):
        ${target.api.free}(${tensor.variable});
% endfor
% if network.memory:
        match_close();
% endif
        ${target.api.close}();
    }
    if (match_io_close() != MATCH_OK && status == MATCH_OK) {
        status = MATCH_ERROR_PLATFORM;
    }
    if (status != MATCH_OK) {
        fprintf(stderr, "${comment(network.name).replace('%', '%%')}: status %d, see match_status.h\n", (int)status);
    }
    return status == MATCH_OK ? 0 : 1;
}
