/* A chip for testing code generation: a scratchpad that forgets, transfers and kernels as late as the API allows, and a trace
 * of every call. Its kernels are the operators' definitions. */
#ifndef MOCK_H
#define MOCK_H

#include <stdbool.h>

#include "match_copy.h"
#include "match_status.h"
#include "match_tile.h"

typedef struct {
    uint8_t *local;
    uint8_t *external;
    match_copy_t shape;
    bool out;
    bool active;
} mock_transfer_t;

int32_t mock_open(void);
void mock_close(void);
void *mock_main_alloc(uint32_t bytes);
void mock_main_free(void *block);
int32_t mock_offload(int32_t (*layer)(void *), void *arguments);
void *mock_alloc(uint32_t bytes);
void mock_free(void *block);
void mock_copy_in(mock_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape);
void mock_copy_out(mock_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape);
int32_t mock_wait_transfer(mock_transfer_t *transfer);
int32_t mock_start(match_kernel_t kernel, const match_tile_t *tile);
int32_t mock_wait_compute(void);

void mock_conv2d(const match_tile_t *tile);
void mock_grouped_conv2d(const match_tile_t *tile);
void mock_depthwise_conv2d(const match_tile_t *tile);
void mock_dense(const match_tile_t *tile);
void mock_matrices(const match_tile_t *tile);
void mock_add(const match_tile_t *tile);
void mock_avg_pool2d(const match_tile_t *tile);
void mock_max_pool2d(const match_tile_t *tile);
void mock_lookup(const match_tile_t *tile);

#endif
