#include "mock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 16 };

static struct {
    FILE *trace;
    void *blocks[BLOCKS];
    int32_t reserved; /* blocks of the layer so far */
    int32_t live;
    int32_t transfers;
    match_kernel_t kernel;
    const match_tile_t *tile;
} mock;

/* ---- platform and memory ---- */

int32_t mock_open(void)
{
    const char *path = getenv("MOCK_TRACE");
    mock.trace = path != NULL ? fopen(path, "w") : NULL;
    return MATCH_OK;
}

void mock_close(void)
{
    if (mock.trace != NULL) {
        fclose(mock.trace);
    }
}

void *mock_main_alloc(uint32_t bytes)
{
    return malloc(bytes);
}

void mock_main_free(void *block)
{
    free(block);
}

int32_t mock_offload(int32_t (*layer)(void *), void *arguments)
{
    mock.reserved = 0;
    const int32_t status = layer(arguments);
    if (status == MATCH_OK && mock.transfers != 0) {
        return MATCH_ERROR_TRANSFER;
    }
    if (status == MATCH_OK && mock.kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    return mock.live == 0 ? status : MATCH_ERROR_MEMORY;
}

void *mock_alloc(uint32_t bytes)
{
    const char *limit = getenv("MOCK_BLOCKS");
    if (mock.reserved == BLOCKS || (limit != NULL && mock.reserved == atoi(limit))) {
        return NULL;
    }
    uint8_t *block = malloc(bytes);
    memset(block, 0xa5, bytes);
    mock.blocks[mock.reserved] = block;
    mock.reserved += 1;
    mock.live += 1;
    return block;
}

void mock_free(void *block)
{
    mock.live -= block != NULL;
    free(block);
}

/* ---- transfers ---- */

/* Number of the buffer, in order of allocation, that starts at an address. */
static int32_t buffer(const void *local)
{
    for (int32_t i = mock.reserved - 1; i >= 0; i--) {
        if (mock.blocks[i] == local) {
            return i;
        }
    }
    return -1;
}

static void trace(const char *event, const mock_transfer_t *transfer)
{
    if (mock.trace != NULL) {
        const match_copy_t *shape = &transfer->shape;
        fprintf(mock.trace, "%s %s %d %u\n", event, transfer->out ? "out" : "in", buffer(transfer->local),
                shape->planes * shape->rows * shape->bytes);
    }
}

static void start(mock_transfer_t *transfer, mock_transfer_t started)
{
    mock.transfers += transfer->active ? 1000 : 1; /* a transfer that is overwritten is never waited for */
    *transfer = started;
    trace("start", transfer);
}

void mock_copy_in(mock_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    start(transfer, (mock_transfer_t){local, (uint8_t *)external, *shape, false, true});
}

void mock_copy_out(mock_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    start(transfer, (mock_transfer_t){(uint8_t *)local, external, *shape, true, true});
}

int32_t mock_wait_transfer(mock_transfer_t *transfer)
{
    if (!transfer->active) {
        return MATCH_ERROR_TRANSFER;
    }
    trace("wait", transfer);
    const match_copy_t *shape = &transfer->shape;
    for (uint32_t plane = 0; plane < shape->planes; plane++) {
        for (uint32_t row = 0; row < shape->rows; row++) {
            uint8_t *local = transfer->local + plane * shape->local_plane_stride + row * shape->local_row_stride;
            uint8_t *external =
                transfer->external + plane * shape->external_plane_stride + row * shape->external_row_stride;
            memcpy(transfer->out ? external : local, transfer->out ? local : external, shape->bytes);
        }
    }
    transfer->active = false;
    mock.transfers -= 1;
    return MATCH_OK;
}

/* ---- kernels ---- */

int32_t mock_start(match_kernel_t kernel, const match_tile_t *tile)
{
    if (mock.kernel != NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    if (mock.trace != NULL) {
        fprintf(mock.trace, "compute\n");
    }
    mock.kernel = kernel;
    mock.tile = tile;
    return MATCH_OK;
}

int32_t mock_wait_compute(void)
{
    if (mock.kernel == NULL) {
        return MATCH_ERROR_COMPUTE;
    }
    if (mock.trace != NULL) {
        fprintf(mock.trace, "computed\n");
    }
    mock.kernel(mock.tile);
    mock.kernel = NULL;
    return MATCH_OK;
}

static uint8_t clip(const match_tile_t *tile, int64_t value)
{
    return (uint8_t)(value < tile->clip_low ? tile->clip_low : value > tile->clip_high ? tile->clip_high : value);
}

static uint8_t requantize(const match_tile_t *tile, int32_t channel, int32_t acc)
{
    if (tile->negative_step == 0) {
        const match_requant_t *p = (const match_requant_t *)tile->parameters + channel;
        return clip(tile, (acc * (int64_t)p->multiplier + p->bias) >> p->shift);
    }
    const match_requant_signed_t *p = (const match_requant_signed_t *)tile->parameters + channel;
    const int64_t step = acc < p->negative_below ? tile->negative_step : 0;
    return clip(tile, (acc * (int64_t)p->multiplier + p->bias - step) >> p->shift);
}

static void finish(const match_tile_t *tile, int32_t y, int32_t x, int32_t k, int32_t acc)
{
    const int32_t place = y * tile->output_row_stride + x * tile->output_pixel_stride + k;
    acc += tile->sums_in != NULL ? tile->sums_in[place] : 0;
    if (tile->sums_out != NULL) {
        tile->sums_out[place] = acc;
    } else {
        tile->output[place] = requantize(tile, k, acc);
    }
}

static uint8_t *output_at(const match_tile_t *tile, int32_t y, int32_t x, int32_t k)
{
    return tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride + k;
}

/* The element under filter position (fy, fx) of an output pixel; NULL where that is padding. */
static const uint8_t *under(const match_tile_t *tile, int32_t oy, int32_t ox, int32_t fy, int32_t fx, int32_t channel)
{
    const int32_t y = oy * tile->stride_y + fy * tile->dilation_y - tile->pad_top;
    const int32_t x = ox * tile->stride_x + fx * tile->dilation_x - tile->pad_left;
    if (y < 0 || y >= tile->input_height || x < 0 || x >= tile->input_width) {
        return NULL;
    }
    return tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride + channel;
}

/* Pads must account exactly for what the windows see outside the tile. */
static void check_pads(const match_tile_t *tile)
{
    const int32_t rows = (tile->output_height - 1) * tile->stride_y + (tile->filter_height - 1) * tile->dilation_y + 1;
    const int32_t columns = (tile->output_width - 1) * tile->stride_x + (tile->filter_width - 1) * tile->dilation_x + 1;
    if (tile->pad_top + tile->input_height + tile->pad_bottom != rows ||
        tile->pad_left + tile->input_width + tile->pad_right != columns) {
        fprintf(stderr, "padding does not add up\n");
        exit(1);
    }
}

void mock_conv2d(const match_tile_t *tile)
{
    check_pads(tile);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            const int8_t *w = tile->weights;
            for (int32_t k = 0; k < tile->channels_out; k++) {
                int32_t acc = 0;
                for (int32_t fy = 0; fy < tile->filter_height; fy++) {
                    for (int32_t fx = 0; fx < tile->filter_width; fx++) {
                        for (int32_t c = 0; c < tile->channels_in; c++, w++) {
                            const uint8_t *in = under(tile, y, x, fy, fx, c);
                            acc += *w * (in != NULL ? *in : tile->pad_value);
                        }
                    }
                }
                finish(tile, y, x, k, acc);
            }
        }
    }
}

void mock_grouped_conv2d(const match_tile_t *tile)
{
    const size_t parameters = tile->negative_step != 0 ? sizeof(match_requant_signed_t) : sizeof(match_requant_t);
    const int32_t filter = tile->filter_height * tile->filter_width * tile->channels_in;
    match_tile_t group = *tile;
    for (int32_t g = 0; g < tile->groups; g++) {
        mock_conv2d(&group);
        group.input += tile->channels_in;
        group.output += tile->channels_out;
        group.weights = (const int8_t *)group.weights + tile->channels_out * filter;
        group.parameters = (const uint8_t *)group.parameters + (size_t)tile->channels_out * parameters;
    }
}

void mock_depthwise_conv2d(const match_tile_t *tile)
{
    check_pads(tile);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            const int8_t *w = tile->weights;
            for (int32_t k = 0; k < tile->channels_out; k++) {
                int32_t acc = 0;
                for (int32_t fy = 0; fy < tile->filter_height; fy++) {
                    for (int32_t fx = 0; fx < tile->filter_width; fx++, w++) {
                        const uint8_t *in = under(tile, y, x, fy, fx, k);
                        acc += *w * (in != NULL ? *in : tile->pad_value);
                    }
                }
                *output_at(tile, y, x, k) = requantize(tile, k, acc);
            }
        }
    }
}

void mock_dense(const match_tile_t *tile)
{
    for (int32_t x = 0; x < tile->output_width; x++) {
        const int8_t *w = tile->weights;
        for (int32_t k = 0; k < tile->channels_out; k++) {
            int32_t acc = 0;
            for (int32_t c = 0; c < tile->channels_in; c++, w++) {
                acc += *w * tile->input[x * tile->input_pixel_stride + c];
            }
            finish(tile, 0, x, k, acc);
        }
    }
}

void mock_matrices(const match_tile_t *tile)
{
    const int32_t *zero = tile->weights;
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            for (int32_t k = 0; k < tile->channels_out; k++) {
                const uint8_t *a = tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride;
                const uint8_t *b = tile->addend + y * tile->addend_row_stride + k * tile->addend_pixel_stride;
                int32_t acc = 0;
                for (int32_t c = 0; c < tile->channels_in; c++) {
                    acc += (a[c] - zero[0]) * (b[c] - zero[1]);
                }
                *output_at(tile, y, x, k) = requantize(tile, 0, acc);
            }
        }
    }
}

void mock_add(const match_tile_t *tile)
{
    const match_requant_add_t *p = tile->parameters;
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            for (int32_t k = 0; k < tile->channels_out; k++) {
                const int64_t a = tile->input[y * tile->input_row_stride + x * tile->input_pixel_stride + k];
                const int32_t pixel = y * tile->addend_row_stride + x * tile->addend_pixel_stride;
                const int64_t b = tile->addend[pixel + (tile->channels_in == 1 ? 0 : k)];
                *output_at(tile, y, x, k) =
                    clip(tile, (a * p->input_multiplier + b * p->addend_multiplier + p->bias) >> p->shift);
            }
        }
    }
}

void mock_avg_pool2d(const match_tile_t *tile)
{
    check_pads(tile);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            for (int32_t k = 0; k < tile->channels_out; k++) {
                int32_t acc = 0;
                for (int32_t fy = 0; fy < tile->filter_height; fy++) {
                    for (int32_t fx = 0; fx < tile->filter_width; fx++) {
                        const uint8_t *in = under(tile, y, x, fy, fx, k);
                        acc += in != NULL ? *in : tile->pad_value;
                    }
                }
                *output_at(tile, y, x, k) = requantize(tile, k, acc);
            }
        }
    }
}

void mock_max_pool2d(const match_tile_t *tile)
{
    check_pads(tile);
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            for (int32_t k = 0; k < tile->channels_out; k++) {
                int32_t best = 0;
                for (int32_t fy = 0; fy < tile->filter_height; fy++) {
                    for (int32_t fx = 0; fx < tile->filter_width; fx++) {
                        const uint8_t *in = under(tile, y, x, fy, fx, k);
                        best = in != NULL && *in > best ? *in : best;
                    }
                }
                *output_at(tile, y, x, k) = clip(tile, best);
            }
        }
    }
}

void mock_lookup(const match_tile_t *tile)
{
    const uint8_t *table = tile->parameters;
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            for (int32_t k = 0; k < tile->channels_out; k++) {
                const uint8_t in = tile->input[y * tile->input_row_stride + x * tile->input_pixel_stride + k];
                *output_at(tile, y, x, k) = table[in];
            }
        }
    }
}
