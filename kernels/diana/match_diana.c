#include "match_diana.h"

#include "diana_driver.h"
#include "diana_registers.h"

/* What all operations have in common. */
static match_diana_job_t common_job(const match_tile_t *tile, uint32_t operation)
{
    return (match_diana_job_t){
        .operation = operation,
        .input = match_diana_activation_address(tile->input),
        .output = match_diana_activation_address(tile->output),
        .input_channels = (uint32_t)tile->channels_in,
        .output_channels = (uint32_t)tile->channels_out,
        .input_height = (uint32_t)tile->input_height,
        .input_width = (uint32_t)tile->input_width,
        .output_height = (uint32_t)tile->output_height,
        .output_width = (uint32_t)tile->output_width,
        .filter_height = 1,
        .filter_width = 1,
        .stride = 1,
        .shift = (uint32_t)tile->shift,
        .relu = tile->clip_low == 0,
        .input_row_stride = (uint32_t)tile->input_row_stride,
        .input_channel_stride = (uint32_t)tile->input_channel_stride,
        .output_row_stride = (uint32_t)tile->output_row_stride,
        .output_channel_stride = (uint32_t)tile->output_channel_stride,
    };
}

static match_diana_job_t convolution_job(const match_tile_t *tile, uint32_t operation)
{
    match_diana_job_t job = common_job(tile, operation);
    job.weights = match_diana_weight_address(tile->weights);
    job.filter_height = (uint32_t)tile->filter_height;
    job.filter_width = (uint32_t)tile->filter_width;
    job.stride = (uint32_t)tile->stride_y;
    job.padding = (uint32_t)tile->pad_top << 8 | (uint32_t)tile->pad_left;
    return job;
}

void match_diana_conv2d(const match_tile_t *tile)
{
    match_diana_job_t job = convolution_job(tile, DIANA_CONVOLUTION);
    match_diana_execute(&job);
}

void match_diana_depthwise_conv2d(const match_tile_t *tile)
{
    const match_diana_job_t first = convolution_job(tile, DIANA_DEPTHWISE);
    const uint32_t row_bytes = DIANA_ARRAY;
    const uint32_t bias_rows = sizeof(int32_t);
    const uint32_t group_bytes = row_bytes * (first.filter_height * first.filter_width + bias_rows);
    for (uint32_t channel = 0; channel < first.output_channels; channel++) {
        match_diana_job_t job = first;
        job.input_channels = 1;
        job.output_channels = 1;
        job.input += channel * job.input_channel_stride;
        job.output += channel * job.output_channel_stride;
        job.weights += channel / DIANA_DEPTHWISE_CHANNELS * group_bytes;
        job.lane = channel % DIANA_DEPTHWISE_CHANNELS;
        match_diana_execute(&job);
    }
}

void match_diana_dense(const match_tile_t *tile)
{
    const match_diana_job_t first = common_job(tile, DIANA_FULLY_CONNECTED);
    for (uint32_t y = 0; y < first.output_height; y++) {
        for (uint32_t x = 0; x < first.output_width; x++) {
            match_diana_job_t job = first;
            job.weights = match_diana_weight_address(tile->weights);
            job.input += y * job.input_row_stride + x * (uint32_t)tile->input_pixel_stride;
            job.output += y * job.output_row_stride + x * (uint32_t)tile->output_pixel_stride;
            job.input_height = job.input_width = 1;
            job.output_height = job.output_width = 1;
            match_diana_execute(&job);
        }
    }
}

void match_diana_add(const match_tile_t *tile)
{
    match_diana_job_t job = common_job(tile, DIANA_ADDITION);
    job.addend = match_diana_activation_address(tile->addend);
    job.addend_row_stride = (uint32_t)tile->addend_row_stride;
    job.addend_channel_stride = (uint32_t)tile->addend_channel_stride;
    match_diana_execute(&job);
}
