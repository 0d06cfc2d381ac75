/* What the interfaces of all compiled networks share: contexts, descriptions, hooks, who may run. C and C++. */
#ifndef MATCH_NETWORK_H
#define MATCH_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a network is ---- */

typedef enum {
    MATCH_BOOL,
    MATCH_INT8,
    MATCH_UINT8,
    MATCH_INT16,
    MATCH_UINT16,
    MATCH_INT32,
    MATCH_UINT32,
    MATCH_INT64,
    MATCH_UINT64,
    MATCH_FLOAT32,
    MATCH_FLOAT64,
} match_dtype_t;

/* An input or output: dense, row-major. Integers q stand for scale * (q - zero_point) where the scale is not 0. */
typedef struct {
    const char *name; /* in the model */
    match_dtype_t dtype;
    uint32_t bytes;
    uint32_t rank;
    const uint32_t *shape;
    const char *layout; /* a letter for each axis, such as "NHWC"; empty where axes have no names */
    float scale;        /* 0: not known, or not quantized */
    int32_t zero_point;
    uint32_t offset; /* in the workspace, if it lies there */
} match_tensor_t;

/* One call of a run, in order; hooks know it by its number. */
typedef struct {
    const char *name;   /* "conv2d_3" as in report.json; of what TVM compiled for the control core the function */
    const char *source; /* names of the model's operators that it computes; empty where they are not known */
    const char *module; /* "cpu" is the control core */
} match_operator_t;

/* What the network takes of one of the chip's memories, in bytes. */
typedef struct {
    const char *memory;
    const char *purpose;
    uint32_t bytes;
} match_room_t;

typedef struct {
    const char *name;
    const char *target;
    const char *version;     /* of MATCH */
    const char *fingerprint; /* of the network's own C: 16 hexadecimal digits */
    const match_tensor_t *inputs;
    uint32_t input_count;
    const match_tensor_t *outputs;
    uint32_t output_count;
    const match_operator_t *operators;
    uint32_t operator_count;
    const match_room_t *rooms;
    uint32_t room_count;
    uint32_t workspace_bytes;    /* at least; inputs and outputs are the caller's */
    uint32_t workspace_io_bytes; /* with inputs and outputs inside */
    uint32_t alignment;          /* of the workspace */
    uint32_t tensor_alignment;   /* of inputs and outputs */
} match_network_t;

/* ---- contexts ---- */

/* A member of a struct at a multiple of so many bytes. */
#ifdef __cplusplus
#define MATCH_ALIGNED(bytes) alignas(bytes)
#else
#define MATCH_ALIGNED(bytes) _Alignas(bytes)
#endif

/* Called on the control core around every operator of a run, by its number in the description. NULL: not called. `begin`
 * returns MATCH_OK, or the status with which the run ends in front of the operator. */
typedef struct {
    int32_t (*begin)(void *user, uint32_t number);
    void (*end)(void *user, uint32_t number, int32_t status);
    void *user;
} match_hooks_t;

/* One use of a network. It is the caller's, and what is in it the network's: its functions alone change it. */
typedef struct {
    const match_network_t *network; /* NULL: not initialised */
    uint8_t *workspace;
    uint8_t *external; /* NULL: none */
    const match_hooks_t *hooks;
    bool holds_tensors; /* there is room for inputs and outputs in the workspace */
    bool started;       /* a run has been started, and its end was not polled */
} match_context_t;

/* ---- the chip ---- */

/* Starts the chip's modules, once, in front of all networks; stops them behind the last. A chip with more to say (an open
 * device, an L1 that is given) has functions of its own for that, in the header of the target. MATCH_ERROR_BUSY during a
 * run. */
int32_t match_platform_open(void);
int32_t match_platform_close(void);

/* ---- two tasks at a time ---- */

/* One network runs at a time, as they share the modules. While it does, each of init, run, start, deinit and set_hooks, of
 * whatever network, and what is called for the chip, is refused with MATCH_ERROR_BUSY: from another task, and from a hook
 * of the run. A run that was started lasts until the poll that says its end.
 *
 * A lock of the caller's can let other tasks wait instead: `take` returns when it is the caller's turn, true, or gives up,
 * false, which is MATCH_ERROR_BUSY; `give` ends the turn. The lock is copied; NULL is the first rule again.
 * MATCH_ERROR_BUSY, and nothing has changed, during a run. The task that runs must not call what waits: with a lock that
 * lets a task in twice that is refused as without one, with another the task waits for itself. */
typedef struct {
    bool (*take)(void *user);
    void (*give)(void *user);
    void *user;
} match_lock_t;

int32_t match_set_lock(const match_lock_t *lock);

/* ---- real numbers ---- */

typedef enum {
    MATCH_HALF_AWAY, /* halves are rounded away from zero, as TFLite does */
    MATCH_HALF_EVEN, /* to the even neighbour, as onnxruntime does */
} match_rounding_t;

/* values[i] / scale + zero_point, rounded and clipped to the type; NaN becomes the zero point. */
void match_quantize_int8(const float *values, int8_t *integers, size_t count, float scale, int32_t zero_point,
                         match_rounding_t rounding);
void match_quantize_uint8(const float *values, uint8_t *integers, size_t count, float scale, int32_t zero_point,
                          match_rounding_t rounding);

/* scale * (integers[i] - zero_point) */
void match_dequantize_int8(const int8_t *integers, float *values, size_t count, float scale, int32_t zero_point);
void match_dequantize_uint8(const uint8_t *integers, float *values, size_t count, float scale, int32_t zero_point);

#ifdef __cplusplus
}
#endif

#endif
