#include "match_runtime.h"

static bool aligned(const void *place, uint32_t alignment)
{
    return (uintptr_t)place % alignment == 0;
}

int32_t match_check_workspace(const match_network_t *network, const void *workspace, size_t bytes)
{
    if (workspace == NULL) {
        return MATCH_ERROR_ARGUMENT;
    }
    if (!aligned(workspace, network->alignment)) {
        return MATCH_ERROR_ALIGNMENT;
    }
    return bytes >= network->workspace_bytes ? MATCH_OK : MATCH_ERROR_SIZE;
}

int32_t match_check_tensor(const match_context_t *context, const match_tensor_t *tensor, const void *place)
{
    if (place == NULL) {
        return MATCH_ERROR_ARGUMENT;
    }
    if (!aligned(place, context->network->tensor_alignment)) {
        return MATCH_ERROR_ALIGNMENT;
    }
    if (place == match_tensor_inside(context, tensor)) {
        return MATCH_OK;
    }
    const uintptr_t first = (uintptr_t)place;
    const uintptr_t workspace = (uintptr_t)context->workspace;
    const uint32_t bytes =
        context->holds_tensors ? context->network->workspace_io_bytes : context->network->workspace_bytes;
    const bool apart = first + tensor->bytes <= workspace || first >= workspace + bytes;
    return apart ? MATCH_OK : MATCH_ERROR_OVERLAP;
}

void *match_tensor_inside(const match_context_t *context, const match_tensor_t *tensor)
{
    const bool inside = context != NULL && context->network != NULL && context->holds_tensors;
    return inside ? context->workspace + tensor->offset : NULL;
}

int32_t match_operator_begin(const match_context_t *context, uint32_t number)
{
    const match_hooks_t *hooks = context->hooks;
    return hooks != NULL && hooks->begin != NULL ? hooks->begin(hooks->user, number) : MATCH_OK;
}

int32_t match_operator_end(const match_context_t *context, uint32_t number, int32_t status)
{
    const match_hooks_t *hooks = context->hooks;
    if (hooks != NULL && hooks->end != NULL) {
        hooks->end(hooks->user, number, status);
    }
    return status;
}
