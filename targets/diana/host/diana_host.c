/* DIANA on a PC. Transfers are complete when the call returns, as on the chip; the accelerator computes as late as the
 * API's contract allows, when it is waited for. */
#include "match_diana_chip.h"

#include <stdbool.h>
#include <string.h>

#include "diana_driver.h"
#include "diana_model.h"
#include "match_host_arena.h"

/* Where the accelerator sees its memories. */
#define L1_ADDRESS 0x00100000u
#define WEIGHT_ADDRESS 0x00200000u

/* The chip: there is one. */
static struct {
    bool open;
    match_arena_t l1;
    match_arena_t weights;
    match_arena_t l2;
    match_diana_model_t accelerator;
    int32_t transfers;
    match_kernel_t kernel;
    const match_tile_t *tile;
} chip;

/* ---- platform ---- */

static match_diana_memory_t memory_of(const match_arena_t *arena, uint32_t address)
{
    return (match_diana_memory_t){.bytes = arena->memory, .size = arena->memory_bytes, .address = address};
}

int32_t match_diana_open(void)
{
    if (chip.open) {
        return MATCH_ERROR_PLATFORM;
    }
    chip.open = true;
    int32_t status = match_arena_open(&chip.l1, DIANA_L1_BYTES, DIANA_ALIGNMENT);
    if (status == MATCH_OK) {
        status = match_arena_open(&chip.weights, DIANA_WEIGHT_BYTES, DIANA_ALIGNMENT);
    }
    if (status == MATCH_OK) {
        status = match_arena_open(&chip.l2, DIANA_L2_BYTES, DIANA_ALIGNMENT);
    }
    if (status != MATCH_OK) {
        match_diana_close();
        return status;
    }
    match_diana_model_reset(&chip.accelerator, memory_of(&chip.l1, L1_ADDRESS),
                            memory_of(&chip.weights, WEIGHT_ADDRESS));
    return MATCH_OK;
}

void match_diana_close(void)
{
    if (chip.open) {
        match_arena_close(&chip.l2);
        match_arena_close(&chip.weights);
        match_arena_close(&chip.l1);
        memset(&chip, 0, sizeof chip);
    }
}

static uint32_t live_blocks(void)
{
    return match_arena_live(&chip.l1) + match_arena_live(&chip.weights);
}

/* What a layer that reports success has left behind. */
static int32_t leftovers(uint32_t blocks)
{
    int32_t status = MATCH_OK;
    if (chip.transfers != 0) {
        status = MATCH_ERROR_TRANSFER;
    } else if (chip.kernel != NULL) {
        status = MATCH_ERROR_COMPUTE;
    } else if (live_blocks() != blocks) {
        status = MATCH_ERROR_MEMORY;
    }
    return status;
}

int32_t match_diana_offload(int32_t (*layer)(void *), void *args)
{
    if (!chip.open) {
        return MATCH_ERROR_PLATFORM;
    }
    uint32_t blocks = live_blocks();
    int32_t status = layer(args);
    if (status == MATCH_OK) {
        status = leftovers(blocks);
    }
    chip.transfers = 0;
    chip.kernel = NULL;
    return status;
}

/* ---- memory ---- */

void *match_diana_l1_alloc(uint32_t bytes)
{
    return chip.open ? match_arena_alloc(&chip.l1, bytes) : NULL;
}

void match_diana_l1_free(void *block)
{
    match_arena_free(&chip.l1, block);
}

void *match_diana_weight_alloc(uint32_t bytes)
{
    return chip.open ? match_arena_alloc(&chip.weights, bytes) : NULL;
}

void match_diana_weight_free(void *block)
{
    match_arena_free(&chip.weights, block);
}

void *match_diana_l2_alloc(uint32_t bytes)
{
    return chip.open ? match_arena_alloc(&chip.l2, bytes) : NULL;
}

void match_diana_l2_free(void *block)
{
    match_arena_free(&chip.l2, block);
}

/* Whether what a shape touches lies in one block of the accelerator's memories. */
static bool is_local(const void *local, const match_copy_t *shape)
{
    size_t extent = match_host_dma_local_extent(shape);
    return match_arena_holds(&chip.l1, local, extent) || match_arena_holds(&chip.weights, local, extent);
}

/* Copy at once; the descriptor is outstanding until the wait. */
static void finish(match_diana_dma_t *transfer, bool valid)
{
    if (valid) {
        match_host_dma_complete(transfer);
    }
    *transfer = (match_diana_dma_t){.active = true, .valid = valid};
    chip.transfers += 1;
}

void match_diana_dma_copy_in(match_diana_dma_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    match_host_dma_in(transfer, local, external, shape);
    finish(transfer, is_local(local, shape));
}

void match_diana_dma_copy_out(match_diana_dma_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    match_host_dma_out(transfer, local, external, shape);
    finish(transfer, is_local(local, shape));
}

/* ---- synchronization ---- */

int32_t match_diana_dma_wait(match_diana_dma_t *transfer)
{
    if (!transfer->active) {
        return MATCH_ERROR_TRANSFER;
    }
    int32_t status = transfer->valid ? MATCH_OK : MATCH_ERROR_TRANSFER;
    *transfer = (match_diana_dma_t){0};
    chip.transfers -= 1;
    return status;
}

int32_t match_diana_wait(void)
{
    match_kernel_t kernel = chip.kernel;
    chip.kernel = NULL;
    if (kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    kernel(chip.tile);
    return match_diana_model_status(&chip.accelerator);
}

/* ---- compute ---- */

int32_t match_diana_start(match_kernel_t kernel, const match_tile_t *tile)
{
    if (!chip.open || chip.kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    chip.kernel = kernel;
    chip.tile = tile;
    return MATCH_OK;
}

/* ---- what the driver sits on ---- */

static uint32_t address_in(const match_diana_memory_t *memory, const void *pointer)
{
    return memory->address + (uint32_t)((uintptr_t)pointer - (uintptr_t)memory->bytes);
}

uint32_t match_diana_activation_address(const void *pointer)
{
    return address_in(&chip.accelerator.activations, pointer);
}

uint32_t match_diana_weight_address(const void *pointer)
{
    return address_in(&chip.accelerator.weights, pointer);
}

void match_diana_write(uint32_t word, uint32_t value)
{
    match_diana_model_write(&chip.accelerator, word, value);
}

uint32_t match_diana_read(uint32_t word)
{
    return match_diana_model_read(&chip.accelerator, word);
}

void match_diana_wait_event(void)
{
    match_diana_model_finish_job(&chip.accelerator);
}
