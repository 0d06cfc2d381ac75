/* ${comment(network.name)}: runs that are started and polled. */
#include "${name}.h"

#include "layers.h"
#include "match_async.h"
#include "match_runtime.h"

/* The run that was started last. */
static struct {
    ${name}_context_t *context;
    ${name}_inputs_t inputs;
    ${name}_outputs_t outputs;
    bool inputs_given;
    bool outputs_given;
    int32_t status;
} started;

static void run(void *unused)
{
    (void)unused;
    started.status = ${name}_execute(started.context, started.inputs_given ? &started.inputs : NULL, started.outputs_given ? &started.outputs : NULL);
}

int32_t ${name}_start(${name}_context_t *context, const ${name}_inputs_t *inputs, const ${name}_outputs_t *outputs)
{
    if (!match_take_turn()) {
        return MATCH_ERROR_BUSY;
    }
    if (context == NULL || context->context.network != &${name}_network) {
        match_give_turn();
        return MATCH_ERROR_STATE;
    }
    started.context = context;
    started.inputs_given = inputs != NULL;
    started.outputs_given = outputs != NULL;
    started.inputs = inputs != NULL ? *inputs : started.inputs;
    started.outputs = outputs != NULL ? *outputs : started.outputs;
    context->context.started = true;
    const int32_t status = match_async_start(run, NULL);
    if (status != MATCH_OK) {
        context->context.started = false;
        match_give_turn();
    }
    return status;
}

bool ${name}_poll(${name}_context_t *context, int32_t *status)
{
    int32_t ended = MATCH_ERROR_STATE;
    if (context != NULL && context->context.started) {
        if (!match_async_poll(&ended)) {
            return false;
        }
        ended = ended == MATCH_OK ? started.status : ended;
        context->context.started = false;
        match_give_turn();
    }
    if (status != NULL) {
        *status = ended;
    }
    return true;
}
