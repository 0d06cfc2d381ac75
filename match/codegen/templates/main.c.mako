<%
    missing = max(0, alignment - target.main_memory.alignment)
    api = target.api
    used = "context" if network.states else "&context"
    more = f" + {missing}" if missing else ""
    blocks = (*(tensor.variable for tensor in (*inputs, *outputs)), *(("kept",) if network.states else ()), "block")
%>\
/* ${comment(network.name)} as a program that is a client of ${name}.h.
 *
 * The inputs hold any number of samples, the outputs get as many; a sample is its tensors one after the other. They and
 * the workspace lie in blocks of ${target.main_memory.name}, so that a network which the chip has no room for fails.
% if network.states:
 * Samples are the steps of one stream: the network keeps its states from each to the next.
% endif
 */
#include <stdio.h>

#include "${name}.h"
% for header in api.headers:
#include "${header}"
% endfor
#include "match_count.h"
#include "match_io.h"

% if network.states:
static ${name}_context_t *context; /* lies where states do */
% else:
static ${name}_context_t context;
% endif
% if missing:

/* The first place in a block that is aligned. */
static void *aligned(void *block)
{
    return (uint8_t *)block + (-(uintptr_t)block & (${prefix}_ALIGNMENT - 1));
}
% endif

/* One sample after the other until the inputs end. */
static int32_t run_samples(const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs)
{
    int32_t status = MATCH_OK;
    while (status == MATCH_OK${"".join(f" && match_io_read((void *)inputs->{tensor.c_name}, {tensor.macro}_BYTES)" for tensor in inputs)}) {
        status = ${name}_run(${used}, inputs, outputs);
% for tensor in outputs:
        if (status == MATCH_OK && !match_io_write(outputs->${tensor.c_name}, ${tensor.macro}_BYTES)) {
            status = MATCH_ERROR_PLATFORM;
        }
% endfor
    }
    return status;
}

/* From the first sample to the last. */
static int32_t use(void *workspace, const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs)
{
    int32_t status = ${name}_init(${used}, workspace, ${prefix}_WORKSPACE_BYTES);
    if (status == MATCH_OK) {
#ifdef MATCH_COUNT
        (void)${name}_set_hooks(${used}, &match_count_hooks);
#endif
        status = run_samples(inputs, outputs);
        (void)${name}_deinit(${used});
    }
    return status;
}

int MATCH_MAIN(int argc, char **argv)
{
    if (match_io_open(argc, argv) != MATCH_OK) {
        return 2;
    }
    int32_t status = match_platform_open();
    if (status == MATCH_OK) {
% for tensor in (*inputs, *outputs):
        void *const ${tensor.variable} = ${api.allocate}(${tensor.macro}_BYTES);
% endfor
% if network.states:
        void *const kept = ${api.allocate}(sizeof *context${more});
% endif
        void *const block = ${api.allocate}(${prefix}_WORKSPACE_BYTES${more});
        if (${" || ".join(f"{one} == NULL" for one in blocks)}) {
            status = MATCH_ERROR_MEMORY;
        } else {
            const ${name}_inputs_t inputs = {${", ".join(f".{tensor.c_name} = {tensor.variable}" for tensor in inputs)}};
            const ${name}_outputs_t outputs = {${", ".join(f".{tensor.c_name} = {tensor.variable}" for tensor in outputs)}};
% if network.states:
            context = ${"aligned(kept)" if missing else "kept"};
            *context = (${name}_context_t){0};
% endif
            status = use(${"aligned(block)" if missing else "block"}, &inputs, &outputs);
        }
        ${api.free}(block);
% if network.states:
        ${api.free}(kept);
% endif
% for tensor in reversed((*inputs, *outputs)):
        ${api.free}(${tensor.variable});
% endfor
        (void)match_platform_close();
    }
    if (match_io_close() != MATCH_OK && status == MATCH_OK) {
        status = MATCH_ERROR_PLATFORM;
    }
    if (status != MATCH_OK) {
        fprintf(stderr, "%s: status %d, %s\n", ${quoted(network.name)}, (int)status, match_status_text(status));
    }
    return status == MATCH_OK ? 0 : 1;
}
