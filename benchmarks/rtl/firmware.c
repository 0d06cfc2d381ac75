/* Runs one kernel on one tile and marks where it begins and ends. The request lies at a fixed address; core.cpp put it
 * there. This core may be any one of a team: it then computes its share of the tile. */
#include <stdint.h>

#include "match_pulp.h"
#include "match_team.h"

enum { REQUEST = 0x40000, START = 1, STOP = 2, END = 3 };

typedef struct {
    uint32_t kernel;
    int32_t core;
    int32_t cores;
    uint32_t reserved;
    match_tile_t tile;
} request_t;

/* The request names them by number: measure.py reads this list. */
static const match_kernel_t kernels[] = {
    match_pulp_conv2d,
    match_pulp_conv2d_int32,
    match_pulp_conv2d_split,
    match_pulp_grouped_conv2d,
    match_pulp_grouped_conv2d_int32,
    match_pulp_grouped_conv2d_split,
    match_pulp_pointwise,
    match_pulp_pointwise_int32,
    match_pulp_pointwise_split,
    match_pulp_depthwise_conv2d,
    match_pulp_depthwise_conv2d_int32,
    match_pulp_depthwise_conv2d_split,
    match_pulp_depthwise_widened,
    match_pulp_depthwise_widened_int32,
    match_pulp_depthwise_widened_split,
    match_pulp_conv2d_int16,
    match_pulp_grouped_conv2d_int16,
    match_pulp_depthwise_conv2d_int16,
    match_pulp_dense_int16,
    match_pulp_max_pool2d_int16,
    match_pulp_avg_pool2d_int16,
    match_pulp_add_int16,
    match_pulp_multiply_int16,
    match_pulp_requantize_int16,
    match_pulp_leaky_relu_int16,
    match_pulp_logistic_int16,
    match_pulp_tanh_int16,
    match_pulp_softmax_int16,
    match_pulp_dense,
    match_pulp_dense_int32,
    match_pulp_dense_split,
    match_pulp_matrices,
    match_pulp_matrices_int32,
    match_pulp_matrices_split,
    match_pulp_add,
    match_pulp_add_int32,
    match_pulp_add_split,
    match_pulp_multiply,
    match_pulp_multiply_int32,
    match_pulp_multiply_rows,
    match_pulp_multiply_split,
    match_pulp_concatenate,
    match_pulp_lookup,
    match_pulp_channel_lookup,
    match_pulp_lookup_sum,
    match_pulp_maximum,
    match_pulp_minimum,
    match_pulp_float_avg_pool2d,
    match_pulp_quantize,
    match_pulp_dequantize,
    match_pulp_dequantize_sums,
    match_pulp_avg_pool2d,
    match_pulp_avg_pool2d_int32,
    match_pulp_avg_pool2d_split,
    match_pulp_max_pool2d,
    match_pulp_transpose,
};

static volatile request_t *const request = (volatile request_t *)REQUEST;
static volatile uint32_t *const marks = (volatile uint32_t *)0x80000000u;

int32_t match_core_id(void)
{
    return request->core;
}

int32_t match_core_count(void)
{
    return request->cores;
}

/* The others of the team are not there. */
void match_team_barrier(void)
{
}

_Noreturn void start(void);

_Noreturn void start(void)
{
    *marks = START;
    kernels[request->kernel]((const match_tile_t *)&request->tile);
    *marks = STOP;
    *marks = END;
    for (;;) {
    }
}
