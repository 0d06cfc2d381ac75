/* ${comment(network.name)} on a PC.
 *
 * The file INPUTS holds any number of samples, OUTPUTS gets as many; a sample is its tensors one after the other. */
#include <stdio.h>

#include "${header}"
% for name in target.api.headers:
#include "${name}"
% endfor

/* One sample after the other until the inputs end. */
static int32_t run_samples(FILE *in, FILE *out, const match_inputs_t *inputs, const match_outputs_t *outputs)
{
    int32_t status = MATCH_OK;
    while (status == MATCH_OK${"".join(f" && fread((void *)inputs->{tensor.c_name}, {tensor.size_name}, 1, in) == 1" for tensor in inputs)}) {
        status = match_run(inputs, outputs);
% for tensor in outputs:
        if (status == MATCH_OK && fwrite(outputs->${tensor.c_name}, ${tensor.size_name}, 1, out) != 1) {
            status = MATCH_ERROR_PLATFORM;
        }
% endfor
    }
    return status;
}

int main(int argc, char **argv)
{
    FILE *const in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *const out = in != NULL ? fopen(argv[2], "wb") : NULL;
    if (out == NULL) {
        fprintf(stderr, "usage: %s INPUTS OUTPUTS\n", argv[0]);
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
            status = run_samples(in, out, &inputs, &outputs);
        }
% for tensor in reversed((*inputs, *outputs)):
        ${target.api.free}(${tensor.variable});
% endfor
% if network.memory:
        match_close();
% endif
        ${target.api.close}();
    }
    fclose(in);
    if (fclose(out) != 0 && status == MATCH_OK) {
        status = MATCH_ERROR_PLATFORM;
    }
    if (status != MATCH_OK) {
        fprintf(stderr, "${comment(network.name).replace('%', '%%')}: status %d, see match_status.h\n", (int)status);
    }
    return status == MATCH_OK ? 0 : 1;
}
