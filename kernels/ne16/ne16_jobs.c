#include "ne16_jobs.h"

#include <stddef.h>

enum {
    WEIGHT_BITS = 8,                   /* at most */
    PLANE_BYTES = NE16_SUBTILE_KI / 8, /* one bit of a group of input channels, at one filter position */
    CHUNK_BYTES = 32,                  /* NE16 writes the accumulators of a pixel in chunks of this size */
};

/* A group of input channels, and the output channels of a sub-tile, are two to these. */
enum { KI_BITS = 4, KO_BITS = 5 };

_Static_assert(1 << KI_BITS == NE16_SUBTILE_KI && 1 << KO_BITS == NE16_SUBTILE_KO, "sub-tiles are powers of two");

/* Filter positions in each mode. */
enum { POSITIONS_3X3 = 9, POSITIONS_1X1 = 1 };

/* One direction of a job: what a run of output rows (or columns) needs of the input. */
typedef struct {
    int32_t first;  /* first row of the window, negative in front of the input */
    int32_t before; /* rows of the window in front of the input */
    int32_t after;  /* rows of the window behind the input */
    int32_t steps;  /* output rows that NE16 computes, all at stride 1 */
} extent_t;

/* Sub-tiles of some rows, columns or channels, and the size of the last one. */
typedef struct {
    int32_t count;
    int32_t last;
} subtiles_t;

/* Of `total` > 0 rows or columns. These cores divide in some 35 cycles; a multiplication is exact up to 98,303. */
static subtiles_t subtiles_of_pixels(int32_t total)
{
    int32_t count = (int32_t)((uint32_t)(total + NE16_SUBTILE_OUTPUT - 1) * 43691u >> 17);
    return (subtiles_t){count, total - (count - 1) * NE16_SUBTILE_OUTPUT};
}

_Static_assert(NE16_SUBTILE_OUTPUT == 3, "43691 / 2^17 is a third");

/* Of `total` > 0 channels, by 2^bits. */
static subtiles_t subtiles_of_channels(int32_t total, int32_t bits)
{
    int32_t before = (total - 1) >> bits;
    return (subtiles_t){before + 1, total - (before << bits)};
}

static uint32_t halves(int32_t upper, int32_t lower)
{
    return (uint32_t)upper << 16 | (uint32_t)lower;
}

/* ---- channels ---- */

static int32_t plane_bytes(uint32_t mode)
{
    return (mode == NE16_MODE_1X1 ? POSITIONS_1X1 : POSITIONS_3X3) * PLANE_BYTES;
}

static int32_t weight_bits(const match_tile_t *tile)
{
    return tile->weight_bits == 0 ? WEIGHT_BITS : tile->weight_bits;
}

int32_t match_ne16_weight_stride(const match_tile_t *tile, uint32_t mode)
{
    int32_t groups = mode == NE16_MODE_DEPTHWISE ? 1 : subtiles_of_channels(tile->channels_in, KI_BITS).count;
    return groups * weight_bits(tile) * plane_bytes(mode);
}

/* ---- rows and columns ---- */

static int32_t stride_y(const match_tile_t *tile)
{
    return tile->stride_y == 0 ? 1 : tile->stride_y;
}

static int32_t stride_x(const match_tile_t *tile)
{
    return tile->stride_x == 0 ? 1 : tile->stride_x;
}

static extent_t extent_of(uint32_t mode, int32_t start, int32_t outputs, int32_t stride, int32_t pad, int32_t input)
{
    if (mode == NE16_MODE_1X1) { /* strides by stepping over input pixels */
        return (extent_t){.first = start * stride, .steps = outputs};
    }
    int32_t first = start * stride - pad;
    int32_t steps = (outputs - 1) * stride + 1;
    int32_t behind = first + steps + 2;
    return (extent_t){
        .first = first,
        .before = first < 0 ? -first : 0,
        .after = behind > input ? behind - input : 0,
        .steps = steps,
    };
}

static extent_t rows_of(const match_tile_t *tile, uint32_t mode, int32_t start, int32_t outputs)
{
    return extent_of(mode, start, outputs, stride_y(tile), tile->pad_top, tile->input_height);
}

static extent_t columns_of(const match_tile_t *tile, uint32_t mode, int32_t start, int32_t outputs)
{
    return extent_of(mode, start, outputs, stride_x(tile), tile->pad_left, tile->input_width);
}

/* Output rows (or columns) that one job can compute.
 * A strided job computes 3 at stride 1 and drops the middle one, at half the output's stride, which must be even for
 * that. Padding behind the input exists in the last sub-tile only, so where it is larger than that, the last row is a
 * job of its own. */
static int32_t job_outputs(extent_t whole, int32_t outputs, bool strided, int32_t output_stride)
{
    if (strided) {
        return output_stride % 2 == 0 ? 2 : 1;
    }
    bool too_much = whole.after > 1 && outputs > 1 && whole.after > subtiles_of_pixels(outputs).last;
    return too_much ? outputs - 1 : outputs;
}

/* Padding behind the input as NE16 counts it: from the end of its 5-pixel buffer, which the last sub-tile may not
 * fill. */
static uint32_t padding_after(extent_t extent, subtiles_t subtiles)
{
    return extent.after > 0 ? (uint32_t)(extent.after + NE16_SUBTILE_OUTPUT - subtiles.last) : 0;
}

/* ---- jobs ---- */

/* Start the next job, with such a change if it is not the first in its place for a tile or for some channels. What it
 * waits for goes on while its registers are written. */
static void submit(match_ne16_jobs_t *jobs, match_ne16_change_t change)
{
    match_ne16_prepare(&jobs->next, jobs->other_tile > 0       ? NE16_OTHER_TILE
                                    : jobs->other_channels > 0 ? NE16_OTHER_CHANNELS
                                                               : change);
    jobs->other_tile--;
    jobs->other_channels--;
    if (jobs->behind.awaited) {
        match_ne16_join_behind(&jobs->behind);
        jobs->behind.awaited = false;
    }
    match_ne16_trigger();
    if (jobs->behind.kernel != NULL) {
        match_ne16_wait(1); /* jobs end in order: the one that is left is this one */
        match_ne16_start_behind(&jobs->behind);
    }
}

static uint32_t conf0(uint32_t mode, bool strided, int32_t bits, match_ne16_output_t output)
{
    uint32_t conf = (uint32_t)(bits - 1) << NE16_CONF0_WEIGHT_BITS;
    conf |= mode << NE16_CONF0_MODE;
    conf |= (uint32_t)strided << NE16_CONF0_STRIDE2;
    conf |= 1u << NE16_CONF0_LAYER_WEIGHT_OFFSET;
    if (output == NE16_OUTPUT_ACCUMULATORS) {
        conf |= (uint32_t)NE16_WIDTH_32 << NE16_CONF0_OUTPUT_BITS;
        conf |= 1u << NE16_CONF0_NO_RELU;
    } else {
        conf |= 1u << NE16_CONF0_NORM_QUANT;
        conf |= (uint32_t)output << NE16_CONF0_SCALE_BITS;
        conf |= 1u << NE16_CONF0_CHANNEL_SHIFT;
        conf |= 1u << NE16_CONF0_BIAS;
    }
    return conf;
}

void match_ne16_begin_jobs(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode, match_ne16_output_t output)
{
    match_ne16_job_t *job = &jobs->next;
    jobs->other_tile = NE16_PLACES;
    jobs->behind = (match_ne16_behind_t){.kernel = NULL};
    bool stepping = mode == NE16_MODE_1X1;
    int32_t bits = weight_bits(tile);
    int32_t multiplier_bytes = output == NE16_OUTPUT_ACCUMULATORS ? 0 : 1 << output;
    uint32_t bias = match_l1_address(tile->parameters);
    int32_t all_channels = match_ne16_groups_of(tile) * tile->channels_out;
    uint32_t scale = bias + (uint32_t)all_channels * 4;
    job->scale = scale;
    job->scale_shift = scale + (uint32_t)(all_channels * multiplier_bytes);
    job->scale_bias = bias;
    job->infeat_d0 = (uint32_t)(tile->input_pixel_stride * (stepping ? stride_x(tile) : 1));
    job->infeat_d1 = (uint32_t)(tile->input_row_stride * (stepping ? stride_y(tile) : 1));
    job->infeat_d2 = 0;
    job->outfeat_d0 = CHUNK_BYTES;
    job->weights_d0 = (uint32_t)(stepping ? plane_bytes(mode) * bits : plane_bytes(mode));
    job->weights_d1 = mode == NE16_MODE_DEPTHWISE ? 0 : (uint32_t)match_ne16_weight_stride(tile, mode);
    job->weights_d2 = 0;
    job->weight_offset = (uint32_t)-(1 << (bits - 1)); /* what makes a signed weight of an unsigned one */
    job->filter_mask = 0;
    job->conf0 = conf0(mode, match_ne16_is_strided(tile, mode), bits, output);
}

/* Fill in the channels of the next jobs, and where their outputs go. */
static void aim_jobs(match_ne16_jobs_t *jobs, uint32_t mode, bool strided, const match_ne16_channels_t *channels,
                     match_ne16_destination_t destination)
{
    match_ne16_job_t *job = &jobs->next;
    jobs->other_channels = NE16_PLACES;
    subtiles_t ko = subtiles_of_channels(channels->channels_out, mode == NE16_MODE_DEPTHWISE ? KI_BITS : KO_BITS);
    subtiles_t ki = subtiles_of_channels(channels->channels_in, KI_BITS);
    job->weights = match_l1_address(channels->weights);
    job->outfeat_d1 = (uint32_t)destination.pixel_stride >> strided;
    job->outfeat_d2 = (uint32_t)destination.row_stride >> strided;
    job->remainder_ko_ki = halves(ko.last, ki.last);
    job->subtiles_ko_ki = halves(ko.count, ki.count);
}

/* Fill in one job's rows and columns, but for where they are. */
static void shape_job(match_ne16_job_t *job, const match_tile_t *tile, uint32_t mode, extent_t rows, extent_t columns)
{
    subtiles_t ho = subtiles_of_pixels(rows.steps);
    subtiles_t wo = subtiles_of_pixels(columns.steps);
    int32_t overlap = mode == NE16_MODE_1X1 ? 0 : NE16_SUBTILE_INPUT - NE16_SUBTILE_OUTPUT;
    job->remainder_ho_wo = halves(ho.last, wo.last);
    job->remainder_hi_wi = job->remainder_ho_wo + halves(overlap, overlap);
    job->subtiles_ho_wo = halves(ho.count, wo.count);
    job->padding = (uint32_t)rows.before << 28 | padding_after(columns, wo) << 24 | padding_after(rows, ho) << 20 |
                   (uint32_t)columns.before << 16 | (uint32_t)tile->pad_value;
}

/* Where a job reads. */
static uint32_t input_of(const match_tile_t *tile, const uint8_t *input, extent_t rows, extent_t columns)
{
    return match_l1_address(input) +
           (uint32_t)(rows.first * tile->input_row_stride + columns.first * tile->input_pixel_stride);
}

/* Start jobs of so many rows and columns, and fewer at the end, that are several; all else is as in submit_rows, whose
 * instructions are fewer without these. */
static __attribute__((noinline)) void submit_several(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                                                     const uint8_t *input, match_ne16_destination_t destination,
                                                     int32_t first, int32_t last, int32_t job_rows, int32_t job_columns)
{
    /* In a row, the jobs behind the first ones in each place have the same columns, but for the last job. */
    int32_t inner = (tile->pad_left > 0 ? NE16_PLACES + 1 : NE16_PLACES) * job_columns;
    uint32_t input_step = (uint32_t)(job_columns * stride_x(tile) * tile->input_pixel_stride);
    uint32_t output_step = (uint32_t)(job_columns * destination.pixel_stride);
    for (int32_t y = first; y < last; y += job_rows) {
        extent_t rows = rows_of(tile, mode, y, match_ne16_smaller(job_rows, last - y));
        extent_t columns = columns_of(tile, mode, 0, match_ne16_smaller(job_columns, tile->output_width));
        jobs->next.infeat = input_of(tile, input, rows, columns);
        jobs->next.outfeat = destination.address + (uint32_t)((y - first) * destination.row_stride);
        for (int32_t x = 0; x < tile->output_width; x += job_columns) {
            if (x > 0) {
                jobs->next.infeat += input_step;
                jobs->next.outfeat += output_step;
            }
            bool other = x < inner || x + job_columns >= tile->output_width;
            if (other) {
                columns = columns_of(tile, mode, x, match_ne16_smaller(job_columns, tile->output_width - x));
                shape_job(&jobs->next, tile, mode, rows, columns);
            }
            submit(jobs, other ? NE16_OTHER_PIXELS : NE16_OTHER_PLACE);
        }
    }
}

bool match_ne16_submit_rows(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                            const match_ne16_channels_t *channels, match_ne16_destination_t destination, int32_t first,
                            int32_t last)
{
    bool strided = match_ne16_is_strided(tile, mode);
    aim_jobs(jobs, mode, strided, channels, destination);
    extent_t rows = rows_of(tile, mode, first, last - first);
    extent_t columns = columns_of(tile, mode, 0, tile->output_width);
    int32_t job_rows = job_outputs(rows, last - first, strided, destination.row_stride);
    int32_t job_columns = job_outputs(columns, tile->output_width, strided, destination.pixel_stride);
    if (job_rows < last - first || job_columns < tile->output_width) {
        submit_several(jobs, tile, mode, channels->input, destination, first, last, job_rows, job_columns);
        return false;
    }
    jobs->next.infeat = input_of(tile, channels->input, rows, columns);
    jobs->next.outfeat = destination.address;
    shape_job(&jobs->next, tile, mode, rows, columns);
    submit(jobs, NE16_OTHER_PIXELS);
    return true;
}

void match_ne16_submit_groups(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                              match_ne16_output_t output, match_ne16_channels_t channels,
                              match_ne16_destination_t destination, int32_t first, int32_t last, int32_t groups)
{
    uint32_t channels_out = (uint32_t)channels.channels_out;
    uint32_t output_bytes = output == NE16_OUTPUT_ACCUMULATORS ? sizeof(int32_t) : 1;
    const uint32_t steps[NE16_JOB_ADDRESSES] = {
        [NE16_JOB_WEIGHTS] = channels_out * (uint32_t)match_ne16_weight_stride(tile, mode),
        [NE16_JOB_INFEAT] = (uint32_t)channels.channels_in,
        [NE16_JOB_OUTFEAT] = channels_out * output_bytes,
        [NE16_JOB_SCALE] = channels_out << output,
        [NE16_JOB_SCALE_SHIFT] = channels_out,
        [NE16_JOB_SCALE_BIAS] = channels_out * (uint32_t)sizeof(int32_t),
    };
    bool alone = match_ne16_submit_rows(jobs, tile, mode, &channels, destination, first, last);
    for (int32_t group = 1; group < groups; group++) {
        for (int32_t word = 0; word < NE16_JOB_ADDRESSES; word++) {
            jobs->next.words[word] += steps[word];
        }
        if (alone) {
            submit(jobs, NE16_OTHER_GROUP);
        } else {
            channels.weights += steps[NE16_JOB_WEIGHTS];
            channels.input += steps[NE16_JOB_INFEAT];
            destination.address += steps[NE16_JOB_OUTFEAT];
            (void)match_ne16_submit_rows(jobs, tile, mode, &channels, destination, first, last);
        }
    }
}
