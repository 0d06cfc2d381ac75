<% guard = header.upper().replace(".", "_") %>\
/* Inference of ${comment(network.name)} on ${target.name}. */
#ifndef ${guard}
#define ${guard}

#include <stdbool.h>
#include <stdint.h>

#include "match_status.h"

% if network.memory:
/* Bytes of the tensors, which are dense; of what match_open reserves in ${target.main_memory.name} and in ${target.external.memory.name}; and of all constants. */
% else:
/* Bytes of the tensors, which are dense; of what match_run reserves in ${target.main_memory.name} while it runs; and of all constants. */
% endif
enum {
% for tensor in (*inputs, *outputs):
    ${tensor.size_name} = ${tensor.bytes},
% endfor
    MATCH_WORKSPACE_BYTES = ${network.workspace_bytes},
% if network.memory:
    MATCH_EXTERNAL_BYTES = ${network.memory.plan.external},
% endif
    MATCH_CONSTANT_BYTES = ${network.constant_bytes},
};

typedef struct {
% for tensor in inputs:
    const ${tensor.c_type} *${tensor.c_name}; /* ${tensor.shape}, ${comment(tensor.name)} */
% endfor
} match_inputs_t;

typedef struct {
% for tensor in outputs:
    ${tensor.c_type} *${tensor.c_name}; /* ${tensor.shape}, ${comment(tensor.name)} */
% endfor
} match_outputs_t;

% if network.memory:
/* Reserves memory, and brings in what stays there, between ${target.api.open} and the first match_run. Returns MATCH_OK or an error. */
int32_t match_open(void);

/* Gives it back, between the last match_run and ${target.api.close}. */
void match_close(void);

% endif
<% begin, end = ("match_open", "match_close") if network.memory else (target.api.open, target.api.close) %>\
% if network.memory:
/* Inputs and outputs are arrays of the caller in ${target.main_memory.name}, beside what match_open has reserved there. */
% endif
/* Runs the network once, between ${begin} and ${end}. Returns MATCH_OK or the error of the layer that failed. */
int32_t match_run(const match_inputs_t *inputs, const match_outputs_t *outputs);

#endif
