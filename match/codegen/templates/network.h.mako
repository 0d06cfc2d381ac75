<%
    tensors = (*inputs, *outputs)
    reached = target.main_memory.name
    beyond = target.external.memory.name if network.memory else ""
    scratch = [room for room in rooms if room.purpose == "blocks"]
%>\
/* ${comment(network.name)} on ${target.name}: the interface. In short:
 *
 *     static ${name}_context_t context;
 *     match_platform_open();
 *     ${name}_init(&context, ${name}_workspace, sizeof ${name}_workspace);
 *     memcpy(${name}_${inputs[0].variable}(&context), data, ...);
 *     ${name}_run(&context, NULL, NULL);
 *     memcpy(result, ${name}_${outputs[0].variable}(&context), ...);
 *
 * Functions that return int32_t return MATCH_OK or a negative status; match_status_text has words for it. Nothing is
 * allocated while the network runs. A context with its workspace is one use of the network; there may be several. While
 * a network runs, each of them returns MATCH_ERROR_BUSY, from a hook as well, and changes nothing (match_set_lock). */
#ifndef ${prefix}_H
#define ${prefix}_H

#include "match_network.h"
#include "match_version.h"

#if MATCH_SHARED_C != 0x${shared.digits}
#error "${name}.h and match_version.h are of two targets or versions of MATCH: compile all networks with one"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of the network's own C: layers, operators, constants, inputs and outputs; project.json has it, too. */
#define ${prefix}_FINGERPRINT "${fingerprint}"

/* ---- memory, in bytes ---- */

${note(f"The workspace, in {reached}: activations; the same with room for inputs and outputs; what its address is a multiple of.")}
#define ${prefix}_WORKSPACE_BYTES ${network.workspace_bytes}
#define ${prefix}_WORKSPACE_IO_BYTES ${network.inside.bytes}
#define ${prefix}_ALIGNMENT ${alignment}

${note(f"What the addresses of inputs and outputs are multiples of. They lie in {reached}.")}
#define ${prefix}_TENSOR_ALIGNMENT ${target.main_memory.alignment}

% if network.memory:
${note(f"Constants, which are in the image {image}; what init reserves of {beyond} for them and for activations.")}
#define ${prefix}_CONSTANT_BYTES ${network.constant_bytes}
#define ${prefix}_EXTERNAL_BYTES ${network.memory.plan.external}
% else:
/* Constants, read-only. Macros ${prefix}_WEIGHTS and ${prefix}_TABLES, attributes such as
 * __attribute__((section(".flash"))), place those of layers and those of operators on the control core. */
#define ${prefix}_CONSTANT_BYTES ${network.constant_bytes}
% endif
% if network.states:

${note(f"What a context keeps from one run to the next: it lies in the context, which then has to lie in {reached}.")}
#define ${prefix}_STATE_BYTES ${network.state_bytes}
% endif
% for room in scratch:

/* The most that a layer reserves of ${room.memory} while it runs. */
#define ${prefix}_${room.memory.upper().replace(" ", "_")}_BYTES ${room.bytes}
% endfor

/* ---- inputs and outputs ---- */
% for tensor in tensors:

${note(f"{tensor.direction.capitalize()} {tensor.name}: {tensor.tensor.dtype}, {tensor.shape}" + (f", {tensor.tensor.layout}" if tensor.tensor.layout else "") + ("; indices from {} to {}".format(*tensor.tensor.indices) if tensor.tensor.indices else ""))}
#define ${tensor.macro}_BYTES ${tensor.bytes}
#define ${tensor.macro}_ELEMENTS ${tensor.elements}
% if tensor.quantization:
#define ${tensor.macro}_SCALE ${tensor.scale}f
#define ${tensor.macro}_ZERO_POINT (${tensor.quantization.zero_point})
% endif
% endfor

/* Where they are, if they are the caller's. */
typedef struct {
% for tensor in inputs:
    const ${tensor.c_type} *${tensor.c_name};
% endfor
} ${name}_inputs_t;

typedef struct {
% for tensor in outputs:
    ${tensor.c_type} *${tensor.c_name};
% endfor
} ${name}_outputs_t;

/* ---- functions ---- */

/* What is in here is the network's. */
typedef struct {
    match_context_t context;
% if network.states:
    MATCH_ALIGNED(${prefix}_ALIGNMENT) uint8_t states[${prefix}_STATE_BYTES];
% endif
} ${name}_context_t;

/* All that is said above, for programs; and every operator by its number. */
extern const match_network_t ${name}_network;

/* A workspace with room for inputs and outputs; a program that does not name it does not have it. The macro
 * ${prefix}_WORKSPACE, an attribute, places it. */
extern uint8_t ${name}_workspace[${prefix}_WORKSPACE_IO_BYTES];

/* Begins to use the network with `bytes` bytes of workspace, which stay the context's until deinit, or until it begins
 * again. With WORKSPACE_IO_BYTES or more, inputs and outputs may lie inside. MATCH_ERROR_ARGUMENT if context or workspace are NULL,
 * MATCH_ERROR_ALIGNMENT or MATCH_ERROR_SIZE if the workspace is not aligned or too small; MATCH_ERROR_BUSY, at once, if
 * the context has a run that was started and not polled to its end.
% if network.memory:
 * Reserves ${beyond} and brings in what stays: the platform has to be open.
% endif
 */
int32_t ${name}_init(${name}_context_t *context, void *workspace, size_t bytes);

/* Runs the network once. NULL for inputs or outputs: those inside the workspace. Inputs inside are lost; outputs there
 * stay until the next input is written. MATCH_ERROR_STATE without init; MATCH_ERROR_SIZE if the workspace has no room for
 * them; MATCH_ERROR_ARGUMENT, MATCH_ERROR_ALIGNMENT or MATCH_ERROR_OVERLAP if a tensor of the caller's is NULL, not
 * aligned, or overlaps the workspace; the status of the operator that failed, or of the hook that ended the run. The
 * context may be used again after each of them. */
int32_t ${name}_run(${name}_context_t *context, const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs);

% if network.states:
/* Makes what the context keeps what it is after init, as in front of another stream: ${", ".join(comment(state.tensor.name) for state in network.states)}.
 * Where a run has failed, it is that of before, of after, or of both: reset then. MATCH_ERROR_STATE without init. */
int32_t ${name}_reset(${name}_context_t *context);

% endif
/* The same beside the caller, where the platform can; else MATCH_ERROR_UNSUPPORTED. MATCH_OK: it has begun, and it runs
 * until a poll says that it has ended; so long inputs and outputs stay the network's. */
int32_t ${name}_start(${name}_context_t *context, const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs);

/* Whether the run that was started has ended, and with which status (NULL: nobody asks); MATCH_ERROR_STATE without one.
 * For the task that started it, again and again: on some platforms the run goes on in here. */
bool ${name}_poll(${name}_context_t *context, int32_t *status);

/* Ends the use of the network; the workspace is the caller's again. MATCH_ERROR_STATE without init. */
int32_t ${name}_deinit(${name}_context_t *context);

/* Has `hooks` called around each operator of the context's runs from now on; they stay the caller's. NULL: no more.
 * MATCH_ERROR_STATE without init. */
int32_t ${name}_set_hooks(${name}_context_t *context, const match_hooks_t *hooks);

/* Where inputs and outputs lie in the workspace; NULL where it has no room for them. */
% for tensor in tensors:
${tensor.c_type} *${name}_${tensor.variable}(const ${name}_context_t *context);
% endfor
% for tensor in (tensor for tensor in tensors if tensor.quantization and tensor.tensor.dtype in ("int8", "uint8")):
% if tensor.direction == "input":

/* Real numbers, one for each element, as the input's integers; rounded as the model's own quantization does. */
static inline void ${name}_quantize_${tensor.c_name}(const float *values, ${tensor.c_type} *${tensor.c_name})
{
    match_quantize_${tensor.tensor.dtype}(values, ${tensor.c_name}, ${tensor.macro}_ELEMENTS, ${tensor.macro}_SCALE, ${tensor.macro}_ZERO_POINT, ${rounding});
}
% else:

/* The real numbers that the output's integers stand for. */
static inline void ${name}_dequantize_${tensor.c_name}(const ${tensor.c_type} *${tensor.c_name}, float *values)
{
    match_dequantize_${tensor.tensor.dtype}(${tensor.c_name}, values, ${tensor.macro}_ELEMENTS, ${tensor.macro}_SCALE, ${tensor.macro}_ZERO_POINT);
}
% endif
% endfor

#ifdef __cplusplus
}
#endif

#endif
