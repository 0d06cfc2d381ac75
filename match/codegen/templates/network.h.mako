<% guard = header.upper().replace(".", "_") %>\
/* Inference of ${comment(network.name)} on ${target.name}. */
#ifndef ${guard}
#define ${guard}

#include <stdbool.h>
#include <stdint.h>

#include "match_status.h"

/* Bytes of the tensors, which are dense; of what match_run reserves in ${target.main_memory.name} while it runs; and of all constants. */
enum {
% for tensor in (*inputs, *outputs):
    ${tensor.size_name} = ${tensor.bytes},
% endfor
    MATCH_WORKSPACE_BYTES = ${network.workspace_bytes},
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

/* Runs the network once, between ${target.api.open} and ${target.api.close}. Returns MATCH_OK or the error of the layer that failed. */
int32_t match_run(const match_inputs_t *inputs, const match_outputs_t *outputs);

#endif
