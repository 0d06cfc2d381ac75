/* What the generated networks share behind their interfaces. */
#ifndef MATCH_RUNTIME_H
#define MATCH_RUNTIME_H

#include "match_layer.h"
#include "match_network.h"

/* Takes the turn of the calling task; false if another has it. Gives it back. */
bool match_take_turn(void);
void match_give_turn(void);

/* What is wrong with a workspace of `bytes` bytes: MATCH_OK, or MATCH_ERROR_ARGUMENT (NULL), _ALIGNMENT or _SIZE. */
int32_t match_check_workspace(const match_network_t *network, const void *workspace, size_t bytes);

/* What is wrong with the place of a tensor: MATCH_OK, or MATCH_ERROR_ARGUMENT (NULL), _ALIGNMENT, or _OVERLAP: in the
 * workspace where it has no place. */
int32_t match_check_tensor(const match_context_t *context, const match_tensor_t *tensor, const void *place);

/* Where a tensor lies in the workspace; NULL if the context is not initialised or the workspace has no room for it. */
void *match_tensor_inside(const match_context_t *context, const match_tensor_t *tensor);

/* Tell the hooks, if there are any. Return the status of the first, and the one that is given. */
int32_t match_operator_begin(const match_context_t *context, uint32_t number);
int32_t match_operator_end(const match_context_t *context, uint32_t number, int32_t status);

/* In functions of a network, where `current` is the context that runs: makes the network's call `number` between its
 * hooks, and leaves the calling function with the status of hook or call unless that is MATCH_OK. */
#define MATCH_CALL(number, call)                                \
    do {                                                        \
        MATCH_TRY(match_operator_begin(current, number));       \
        MATCH_TRY(match_operator_end(current, number, (call))); \
    } while (0)

#endif
