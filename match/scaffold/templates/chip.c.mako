/* ${title} on a PC. Its scratchpad and its main memory are arenas that are as small as the chip's. */
#include "${name}.h"

#include <string.h>

#include "match_host_arena.h"

static match_arena_t scratchpad;
static match_arena_t main_memory;

int32_t ${name}_open(void)
{
    int32_t status = match_arena_open(&scratchpad, ${name.upper()}_SCRATCHPAD_BYTES, 4);
    return status == MATCH_OK ? match_arena_open(&main_memory, ${name.upper()}_MAIN_BYTES, 4) : status;
}

void ${name}_close(void)
{
    match_arena_close(&main_memory);
    match_arena_close(&scratchpad);
}

void *${name}_main_alloc(uint32_t bytes)
{
    return match_arena_alloc(&main_memory, bytes);
}

void ${name}_main_free(void *block)
{
    match_arena_free(&main_memory, block);
}

int32_t ${name}_offload(int32_t (*layer)(void *), void *arguments)
{
    return layer(arguments);
}

void *${name}_alloc(uint32_t bytes)
{
    return match_arena_alloc(&scratchpad, bytes);
}

void ${name}_free(void *block)
{
    match_arena_free(&scratchpad, block);
}

void ${name}_copy_in(${name}_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    uint8_t *to = local;
    const uint8_t *from = external;
    for (uint32_t plane = 0; plane < shape->planes; plane++) {
        for (uint32_t row = 0; row < shape->rows; row++) {
            memcpy(to + plane * shape->local_plane_stride + row * shape->local_row_stride,
                   from + plane * shape->external_plane_stride + row * shape->external_row_stride, shape->bytes);
        }
    }
    transfer->active = true;
}

void ${name}_copy_out(${name}_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    const match_copy_t reversed = {
        .planes = shape->planes,
        .rows = shape->rows,
        .bytes = shape->bytes,
        .external_plane_stride = shape->local_plane_stride,
        .external_row_stride = shape->local_row_stride,
        .local_plane_stride = shape->external_plane_stride,
        .local_row_stride = shape->external_row_stride,
    };
    ${name}_copy_in(transfer, external, local, &reversed);
}

int32_t ${name}_wait_transfer(${name}_transfer_t *transfer)
{
    const bool active = transfer->active;
    transfer->active = false;
    return active ? MATCH_OK : MATCH_ERROR_TRANSFER;
}

int32_t ${name}_wait(void)
{
    return MATCH_OK;
}

int32_t ${name}_start(match_kernel_t kernel, const match_tile_t *tile)
{
    kernel(tile);
    return MATCH_OK;
}

static uint8_t requantize(const match_tile_t *tile, int32_t channel, int32_t acc)
{
    const match_requant_t *parameters = (const match_requant_t *)tile->parameters + channel;
    const int64_t value = (parameters->multiplier * (int64_t)acc + parameters->bias) >> parameters->shift;
    return (uint8_t)(value < tile->clip_low ? tile->clip_low : value > tile->clip_high ? tile->clip_high : value);
}

/* The input's pixel, or NULL in the padding. */
static const uint8_t *pixel(const match_tile_t *tile, int32_t y, int32_t x)
{
    const bool inside = y >= 0 && y < tile->input_height && x >= 0 && x < tile->input_width;
    return inside ? tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride : NULL;
}

static int32_t convolve(const match_tile_t *tile, int32_t oy, int32_t ox, const int8_t *filter)
{
    int32_t acc = 0;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        for (int32_t fx = 0; fx < tile->filter_width; fx++) {
            const int32_t y = oy * tile->stride_y - tile->pad_top + fy;
            const int32_t x = ox * tile->stride_x - tile->pad_left + fx;
            const uint8_t *input = pixel(tile, y, x);
            for (int32_t c = 0; c < tile->channels_in; c++) {
                acc += *filter++ * (input != NULL ? input[c] : tile->pad_value);
            }
        }
    }
    return acc;
}

void ${name}_conv2d(const match_tile_t *tile)
{
    const int32_t filter_bytes = tile->filter_height * tile->filter_width * tile->channels_in;
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            uint8_t *output = tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride;
            for (int32_t k = 0; k < tile->channels_out; k++) {
                const int8_t *filter = (const int8_t *)tile->weights + k * filter_bytes;
                output[k] = requantize(tile, k, convolve(tile, y, x, filter));
            }
        }
    }
}
