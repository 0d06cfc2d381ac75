#include "${shared.name}.h"

#include <stddef.h>

% if not shared.api:
#include "match_dump.h"
% endif
#include "match_layer.h"
#include "match_trace.h"

/* One by one: C libraries for small cores clear memory byte by byte. */
void ${shared.name}_idle(${shared.name}_block_t *blocks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        blocks[i].data = NULL;
        blocks[i].transfer = (${shared.transfer}){0};
        blocks[i].pending = false;
    }
}

void ${shared.name}_load(${shared.name}_block_t *block, const uint8_t *from, uint32_t bytes)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = bytes};
    ${shared.name}_copy_in(block, from, &shape);
}

void ${shared.name}_copy_in(${shared.name}_block_t *block, const uint8_t *from, const match_copy_t *shape)
{
    block->pending = true;
    ${shared.copy_in}(&block->transfer, block->data, from, shape);
}

void ${shared.name}_store(${shared.name}_block_t *block, uint8_t *to, uint32_t bytes)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = bytes};
    ${shared.name}_copy_out(block, to, &shape);
}

void ${shared.name}_copy_out(${shared.name}_block_t *block, uint8_t *to, const match_copy_t *shape)
{
    block->pending = true;
    ${shared.copy_out}(&block->transfer, block->data, to, shape);
}

int32_t ${shared.name}_wait(${shared.name}_block_t *block)
{
    if (!block->pending) {
        return MATCH_OK;
    }
    MATCH_TRACE_WAIT(block);
    const int32_t status = ${shared.wait}(&block->transfer);
    block->pending = status != MATCH_OK;
    return status;
}

int32_t ${shared.name}_settle(${shared.name}_block_t *blocks, uint32_t count, int32_t status)
{
    for (uint32_t i = 0; i < count; i++) {
        const int32_t waited = ${shared.name}_wait(&blocks[i]);
        status = status == MATCH_OK ? waited : status;
    }
    return status;
}
% if not shared.api:

#ifdef MATCH_DUMP
int32_t ${shared.name}_dump(const char *layer, const char *operand, const uint8_t *tensor, uint32_t bytes)
{
    uint8_t piece[128];
    ${shared.name}_block_t block = {.data = piece};
    for (uint32_t first = 0; first < bytes; first += sizeof piece) {
        const uint32_t left = bytes - first;
        const uint32_t size = left < sizeof piece ? left : (uint32_t)sizeof piece;
        ${shared.name}_load(&block, tensor + first, size);
        MATCH_TRY(${shared.name}_wait(&block));
        match_dump_piece(layer, operand, piece, size, first, bytes);
    }
    return MATCH_OK;
}
#endif
% endif
% if shared.api:
<% api = shared.api %>\

/* By field: C libraries for small cores clear memory byte by byte. */
void ${shared.name}_clear(match_tile_t *tile)
{
% for field, nothing in shared.cleared.items():
    tile->${field} = ${nothing};
% endfor
}

int32_t ${shared.name}_compute(match_kernel_t kernel, const match_tile_t *tile)
{
    MATCH_TRACE_KERNEL(tile);
    int32_t status = ${api.compute.start}(kernel, tile);
    if (status == MATCH_OK) {
        status = ${api.sync.wait_compute}();
    }
    if (status != MATCH_OK) {
        (void)${api.sync.wait_compute}(); /* it may still run */
    }
    return status;
}

% if shared.under_way:
int32_t ${shared.name}_start(match_kernel_t kernel, const match_tile_t *tile)
{
    MATCH_TRACE_KERNEL(tile);
    return ${api.compute.start}(kernel, tile);
}

int32_t ${shared.name}_end(uint32_t call)
{
    (void)call;
    MATCH_TRACE_END(call);
    return ${api.sync.wait_compute}();
}

int32_t ${shared.name}_stop(int32_t status)
{
    for (uint32_t i = 0; status != MATCH_OK && i < ${shared.under_way}; i++) {
        (void)${api.sync.wait_compute}();
    }
    return status;
}

% endif
/* A layer that is to run. */
typedef struct {
    const ${shared.name}_layer_t *layer;
    const void *arguments;
} call_t;
% if shared.private:

/* Reserves block number i of a layer. */
static void *reserve(const ${shared.name}_layer_t *layer, uint32_t i)
{
% for operand, allocator in reversed(shared.private):
    if (i >= ${shared.before(operand)}) {
        return ${allocator.allocate}(layer->bytes[i]);
    }
% endfor
    return ${api.memory.allocate}(layer->bytes[i]);
}

/* Gives it back. */
static void release(const ${shared.name}_layer_t *layer, uint32_t i, void *block)
{
% for operand, allocator in reversed(shared.private):
    if (i >= ${shared.before(operand)}) {
        ${allocator.free}(block);
        return;
    }
% endfor
    ${api.memory.free}(block);
}
% endif

/* Runs it on the core that starts kernels. */
static int32_t run(void *given)
{
    const call_t *const call = given;
    const ${shared.name}_layer_t *const layer = call->layer;
    ${shared.name}_block_t blocks[${shared.most}];
    int32_t status = MATCH_OK;
    uint32_t reserved = 0;
    while (reserved < layer->count && status == MATCH_OK) {
        ${shared.name}_idle(&blocks[reserved], 1);
        blocks[reserved].data = ${shared.reserve};
        if (blocks[reserved].data == NULL) {
            status = MATCH_ERROR_MEMORY;
        } else {
            reserved++;
        }
    }
    if (status == MATCH_OK) {
        status = layer->execute(call->arguments, blocks);
    }
    status = ${shared.name}_settle(blocks, reserved, status);
    while (reserved > 0) {
        reserved--;
        ${shared.release};
    }
    return status;
}

int32_t ${shared.name}_run(const ${shared.name}_layer_t *layer, const void *arguments)
{
    call_t call = {.layer = layer, .arguments = arguments};
    return ${api.platform.offload}(run, &call);
}
% endif
