#include "match_ne16.h"

#include <stdbool.h>
#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_requantize.h"
#include "match_team.h"
#include "ne16_driver.h"
#include "ne16_registers.h"

enum {
    WEIGHT_BITS = 8,
    WEIGHT_OFFSET = -128,            /* what makes a signed weight of an unsigned one */
    PLANE_BYTES = NE16_SUBTILE_KI / 8, /* one bit of a group of input channels, at one filter position */
    CHUNK_BYTES = 32,                /* NE16 writes the accumulators of a pixel in chunks of this size */
};

/* Filter positions in each mode. */
enum { POSITIONS_3X3 = 9, POSITIONS_1X1 = 1 };

/* How the results of a tile leave NE16: requantized, by multipliers of so many bits, or not. */
typedef enum {
    OUTPUT_M8 = NE16_WIDTH_8,
    OUTPUT_M16 = NE16_WIDTH_16,
    OUTPUT_M32 = NE16_WIDTH_32,
    OUTPUT_ACCUMULATORS,
} output_t;

/* Where they go: strides in bytes. */
typedef struct {
    uint32_t address;
    int32_t row_stride;
    int32_t pixel_stride;
} destination_t;

/* One direction of a job: what a run of output rows (or columns) needs of the input. */
typedef struct {
    int32_t first;  /* first row of the window, negative in front of the input */
    int32_t before; /* rows of the window in front of the input */
    int32_t after;  /* rows of the window behind the input */
    int32_t steps;  /* output rows that NE16 computes, all at stride 1 */
} extent_t;

static int32_t ceil_div(int32_t a, int32_t b)
{
    return (a + b - 1) / b;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a < b ? b : a;
}

/* Size of the last of the sub-tiles of `size` that `total` is cut into. */
static int32_t remainder_of(int32_t total, int32_t size)
{
    return total - (ceil_div(total, size) - 1) * size;
}

static uint32_t halves(int32_t upper, int32_t lower)
{
    return (uint32_t)upper << 16 | (uint32_t)lower;
}

/* ---- channels ---- */

static int32_t subtile_channels(uint32_t mode)
{
    return mode == NE16_MODE_DEPTHWISE ? NE16_SUBTILE_KI : NE16_SUBTILE_KO;
}

static int32_t plane_bytes(uint32_t mode)
{
    return (mode == NE16_MODE_1X1 ? POSITIONS_1X1 : POSITIONS_3X3) * PLANE_BYTES;
}

/* Bytes from the weights of one output channel (depthwise: group of channels) to those of the next. */
static int32_t weight_stride(const match_tile_t *tile, uint32_t mode)
{
    int32_t groups = mode == NE16_MODE_DEPTHWISE ? 1 : ceil_div(tile->channels_in, NE16_SUBTILE_KI);
    return groups * WEIGHT_BITS * plane_bytes(mode);
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
    return whole.after > remainder_of(outputs, NE16_SUBTILE_OUTPUT) && outputs > 1 ? outputs - 1 : outputs;
}

/* Padding behind the input as NE16 counts it: from the end of its 5-pixel buffer, which the last sub-tile may not
 * fill. */
static uint32_t padding_after(extent_t extent)
{
    int32_t unused = NE16_SUBTILE_OUTPUT - remainder_of(extent.steps, NE16_SUBTILE_OUTPUT);
    return extent.after > 0 ? (uint32_t)(extent.after + unused) : 0;
}

/* ---- jobs ---- */

/* What the cluster does while NE16 executes the next job, as soon as the jobs before that one have ended; no kernel: nothing. */
typedef struct {
    match_kernel_t kernel;
    const match_tile_t *tile;
    bool running; /* the cluster does what it was given before; */
    bool awaited; /* and the next job starts when that is done */
} behind_t;

/* A tile's jobs: the next one, how many of the two places have registers of another tile, or other channels, and what is to
 * be done behind the jobs that have been started. */
typedef struct {
    ne16_job_t next;
    int32_t other_tile;
    int32_t other_channels;
    behind_t behind;
} jobs_t;

/* Wait for what the cluster does. Without its status: the cluster is there, so that it cannot fail. */
static void join_behind(behind_t *behind)
{
    if (behind->running) {
        (void)match_team_wait();
        behind->running = false;
    }
}

/* Give the cluster what is behind the jobs that have ended. */
static void start_behind(behind_t *behind)
{
    if (behind->kernel != NULL) {
        (void)match_team_start(behind->kernel, behind->tile);
        behind->kernel = NULL;
        behind->running = true;
    }
}

/* Start the next job, which differs so from others of its tile and channels. What it waits for goes on beside the writing of
 * its registers. */
static void submit(jobs_t *jobs, ne16_change_t change)
{
    ne16_prepare(&jobs->next, jobs->other_tile > 0       ? NE16_OTHER_TILE
                              : jobs->other_channels > 0 ? NE16_OTHER_CHANNELS
                                                         : change);
    jobs->other_tile--;
    jobs->other_channels--;
    if (jobs->behind.awaited) {
        join_behind(&jobs->behind);
        jobs->behind.awaited = false;
    }
    ne16_trigger();
    if (jobs->behind.kernel != NULL) {
        ne16_wait(1); /* jobs end in order: the one that is left is this one */
        start_behind(&jobs->behind);
    }
}

static bool is_strided(const match_tile_t *tile, uint32_t mode)
{
    return mode != NE16_MODE_1X1 && tile->stride_y == 2;
}

static uint32_t conf0(uint32_t mode, bool strided, output_t output)
{
    uint32_t conf = (WEIGHT_BITS - 1) << NE16_CONF0_WEIGHT_BITS;
    conf |= mode << NE16_CONF0_MODE;
    conf |= (uint32_t)strided << NE16_CONF0_STRIDE2;
    conf |= 1u << NE16_CONF0_LAYER_WEIGHT_OFFSET;
    if (output == OUTPUT_ACCUMULATORS) {
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

/* What a job computes of the channels: `channels_out` filters of `channels_in` channels, from `weights` on, of input
 * that begins at `input`. */
typedef struct {
    const uint8_t *input;
    const uint8_t *weights;
    int32_t channels_in;
    int32_t channels_out;
} channels_t;

static channels_t first_group(const match_tile_t *tile)
{
    return (channels_t){tile->input, tile->weights, tile->channels_in, tile->channels_out};
}

static int32_t groups_of(const match_tile_t *tile)
{
    return larger(tile->groups, 1);
}

/* Fill in what all jobs of a tile have in common. Word by word: an initializer would clear all words first. */
static void begin_jobs(jobs_t *jobs, const match_tile_t *tile, uint32_t mode, output_t output)
{
    ne16_job_t *job = &jobs->next;
    jobs->other_tile = NE16_PLACES;
    jobs->behind = (behind_t){.kernel = NULL};
    bool stepping = mode == NE16_MODE_1X1;
    int32_t multiplier_bytes = output == OUTPUT_ACCUMULATORS ? 0 : 1 << output;
    uint32_t bias = match_l1_address(tile->parameters);
    int32_t all_channels = groups_of(tile) * tile->channels_out;
    uint32_t scale = bias + (uint32_t)all_channels * 4;
    job->scale = scale;
    job->scale_shift = scale + (uint32_t)(all_channels * multiplier_bytes);
    job->scale_bias = bias;
    job->infeat_d0 = (uint32_t)(tile->input_pixel_stride * (stepping ? stride_x(tile) : 1));
    job->infeat_d1 = (uint32_t)(tile->input_row_stride * (stepping ? stride_y(tile) : 1));
    job->infeat_d2 = 0;
    job->outfeat_d0 = CHUNK_BYTES;
    job->weights_d0 = (uint32_t)(stepping ? plane_bytes(mode) * WEIGHT_BITS : plane_bytes(mode));
    job->weights_d1 = mode == NE16_MODE_DEPTHWISE ? 0 : (uint32_t)weight_stride(tile, mode);
    job->weights_d2 = 0;
    job->weight_offset = (uint32_t)WEIGHT_OFFSET;
    job->filter_mask = 0;
    job->conf0 = conf0(mode, is_strided(tile, mode), output);
}

/* Fill in the channels of the next jobs, and where their outputs go. */
static void aim_jobs(jobs_t *jobs, uint32_t mode, bool strided, const channels_t *channels, destination_t destination)
{
    ne16_job_t *job = &jobs->next;
    jobs->other_channels = NE16_PLACES;
    int32_t ko = subtile_channels(mode);
    int32_t ki = NE16_SUBTILE_KI;
    job->weights = match_l1_address(channels->weights);
    job->outfeat_d1 = (uint32_t)(destination.pixel_stride / (strided ? 2 : 1));
    job->outfeat_d2 = (uint32_t)(destination.row_stride / (strided ? 2 : 1));
    job->remainder_ko_ki = halves(remainder_of(channels->channels_out, ko), remainder_of(channels->channels_in, ki));
    job->subtiles_ko_ki = halves(ceil_div(channels->channels_out, ko), ceil_div(channels->channels_in, ki));
}

/* Fill in one job's rows and columns, but for where they are. */
static void shape_job(ne16_job_t *job, const match_tile_t *tile, uint32_t mode, extent_t rows, extent_t columns)
{
    int32_t ho = remainder_of(rows.steps, NE16_SUBTILE_OUTPUT);
    int32_t wo = remainder_of(columns.steps, NE16_SUBTILE_OUTPUT);
    int32_t overlap = mode == NE16_MODE_1X1 ? 0 : NE16_SUBTILE_INPUT - NE16_SUBTILE_OUTPUT;
    job->remainder_ho_wo = halves(ho, wo);
    job->remainder_hi_wi = halves(ho + overlap, wo + overlap);
    job->subtiles_ho_wo =
        halves(ceil_div(rows.steps, NE16_SUBTILE_OUTPUT), ceil_div(columns.steps, NE16_SUBTILE_OUTPUT));
    job->padding = (uint32_t)rows.before << 28 | padding_after(columns) << 24 | padding_after(rows) << 20 |
                   (uint32_t)columns.before << 16 | (uint32_t)tile->pad_value;
}

/* Start the jobs of output rows first .. last - 1, the first of which goes to the destination. Return whether that is one job, whose
 * addresses are then still those of the next. */
static bool submit_rows(jobs_t *jobs, const match_tile_t *tile, uint32_t mode, const channels_t *channels,
                        destination_t destination, int32_t first, int32_t last)
{
    bool strided = is_strided(tile, mode);
    aim_jobs(jobs, mode, strided, channels, destination);
    int32_t job_rows =
        job_outputs(rows_of(tile, mode, first, last - first), last - first, strided, destination.row_stride);
    int32_t job_columns = job_outputs(columns_of(tile, mode, 0, tile->output_width), tile->output_width, strided,
                                      destination.pixel_stride);
    /* Of a row's jobs all but the first, the last and those that follow the first in its place have the same columns. */
    int32_t inner = (tile->pad_left > 0 ? NE16_PLACES + 1 : NE16_PLACES) * job_columns;
    uint32_t input_step = (uint32_t)(job_columns * stride_x(tile) * tile->input_pixel_stride);
    uint32_t output_step = (uint32_t)(job_columns * destination.pixel_stride);
    for (int32_t y = first; y < last; y += job_rows) {
        extent_t rows = rows_of(tile, mode, y, smaller(job_rows, last - y));
        extent_t columns = columns_of(tile, mode, 0, smaller(job_columns, tile->output_width));
        jobs->next.infeat = match_l1_address(channels->input) +
                            (uint32_t)(rows.first * tile->input_row_stride + columns.first * tile->input_pixel_stride);
        jobs->next.outfeat = destination.address + (uint32_t)((y - first) * destination.row_stride);
        for (int32_t x = 0; x < tile->output_width; x += job_columns) {
            if (x > 0) {
                jobs->next.infeat += input_step;
                jobs->next.outfeat += output_step;
            }
            bool other = x < inner || x + job_columns >= tile->output_width;
            if (other) {
                columns = columns_of(tile, mode, x, smaller(job_columns, tile->output_width - x));
                shape_job(&jobs->next, tile, mode, rows, columns);
            }
            submit(jobs, other ? NE16_OTHER_PIXELS : NE16_OTHER_PLACE);
        }
    }
    return job_rows >= last - first && job_columns >= tile->output_width;
}

/* The same of some groups, of which `channels` and the destination are the first. */
static void submit_groups(jobs_t *jobs, const match_tile_t *tile, uint32_t mode, output_t output, channels_t channels,
                          destination_t destination, int32_t first, int32_t last, int32_t groups)
{
    uint32_t channels_out = (uint32_t)channels.channels_out;
    uint32_t output_bytes = output == OUTPUT_ACCUMULATORS ? sizeof(int32_t) : 1;
    const uint32_t steps[NE16_JOB_ADDRESSES] = {
        [NE16_JOB_WEIGHTS] = channels_out * (uint32_t)weight_stride(tile, mode),
        [NE16_JOB_INFEAT] = (uint32_t)channels.channels_in,
        [NE16_JOB_OUTFEAT] = channels_out * output_bytes,
        [NE16_JOB_SCALE] = channels_out << output,
        [NE16_JOB_SCALE_SHIFT] = channels_out,
        [NE16_JOB_SCALE_BIAS] = channels_out * (uint32_t)sizeof(int32_t),
    };
    bool alone = submit_rows(jobs, tile, mode, &channels, destination, first, last);
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
            (void)submit_rows(jobs, tile, mode, &channels, destination, first, last);
        }
    }
}

/* ---- tiles ---- */

/* Requantized by NE16. */
static void convolve(const match_tile_t *tile, uint32_t mode, output_t output)
{
    destination_t destination = {match_l1_address(tile->output), tile->output_row_stride, tile->output_pixel_stride};
    channels_t channels = first_group(tile);
    jobs_t jobs;
    begin_jobs(&jobs, tile, mode, output);
    if (tile->groups > 1) {
        submit_groups(&jobs, tile, mode, output, channels, destination, 0, tile->output_height, tile->groups);
    } else {
        (void)submit_rows(&jobs, tile, mode, &channels, destination, 0, tile->output_height);
    }
}

/* How the cluster requantizes: its kernel, and the form of that by name. */
typedef struct {
    match_kernel_t kernel;
    match_form_t form;
} requantization_t;

static const requantization_t by_64_bits = {
    .kernel = match_pulp_requantize,
    .form = MATCH_FORM_64,
};

static const requantization_t by_halves = {
    .kernel = match_pulp_requantize_split,
    .form = MATCH_FORM_SPLIT,
};

static const requantization_t by_upper_words = {
    .kernel = match_pulp_requantize_high_except,
    .form = MATCH_FORM_HIGH,
};

/* A part of a tile: some rows of a block of a group's output channels, or of those of some groups. Channels are counted from
 * the first group's on. */
typedef struct {
    int32_t row;
    int32_t rows;
    int32_t channel;
    int32_t channels;
} part_t;

/* Channels of a tile's largest part: as many groups as fit a block, or a block of a group. */
static int32_t part_channels(const match_tile_t *tile, uint32_t mode)
{
    int32_t block = subtile_channels(mode);
    int32_t groups = smaller(groups_of(tile), block / tile->channels_out);
    return groups > 0 ? groups * tile->channels_out : block;
}

/* Bytes in L1 between NE16 and the cluster that a part has, if it has more rows than sub-tiles or strided jobs take. */
enum { PART_BYTES = 8192, STRIDED_ROWS = 2 };

/* Rows of a part, of so many bytes each: whole sub-tiles of `least` rows, as few parts as fit, of the same size but for the
 * last. */
static int32_t part_rows(const match_tile_t *tile, int32_t least, int32_t row_bytes)
{
    int32_t fitting = PART_BYTES / (least * row_bytes);
    int32_t subtiles = ceil_div(tile->output_height, least);
    int32_t parts = ceil_div(subtiles, fitting > 1 ? fitting : 1);
    return smaller(tile->output_height, ceil_div(subtiles, parts) * least);
}

/* Where a part's accumulators go. */
static destination_t part_destination(const match_tile_t *tile, const part_t *part, int32_t *scratch)
{
    int32_t pixel_stride = part->channels * (int32_t)sizeof(int32_t);
    return (destination_t){match_l1_address(scratch), tile->output_width * pixel_stride, pixel_stride};
}

/* Start the jobs of a part of a tile without groups, whose accumulators go to `scratch`. */
static void submit_part(jobs_t *jobs, const match_tile_t *tile, uint32_t mode, const part_t *part, int32_t *scratch)
{
    int32_t weight_rows = mode == NE16_MODE_DEPTHWISE ? part->channel / NE16_SUBTILE_KI : part->channel;
    channels_t channels = first_group(tile);
    channels.weights += (ptrdiff_t)weight_rows * weight_stride(tile, mode);
    channels.channels_out = part->channels;
    if (mode == NE16_MODE_DEPTHWISE) {
        channels.channels_in = part->channels;
        channels.input += part->channel;
    }
    jobs->behind.awaited = true; /* it is with the memory that these accumulators go to */
    (void)submit_rows(jobs, tile, mode, &channels, part_destination(tile, part, scratch), part->row,
                      part->row + part->rows);
}

/* The same of a tile with groups. */
static void submit_grouped_part(jobs_t *jobs, const match_tile_t *tile, uint32_t mode, const part_t *part,
                                int32_t *scratch)
{
    int32_t group = part->channel / tile->channels_out;
    channels_t channels = first_group(tile);
    channels.input += group * tile->channels_in;
    channels.weights += (ptrdiff_t)part->channel * weight_stride(tile, mode);
    channels.channels_out = smaller(part->channels, tile->channels_out);
    jobs->behind.awaited = true;
    submit_groups(jobs, tile, mode, OUTPUT_ACCUMULATORS, channels, part_destination(tile, part, scratch), part->row,
                  part->row + part->rows, part->channels / channels.channels_out);
}

/* Make the tile that requantizes a part of the tile `whole`. */
static void aim_requantization(match_tile_t *tile, const match_tile_t *whole, ptrdiff_t parameter_bytes,
                               const part_t *part, int32_t *scratch)
{
    *tile = *whole;
    tile->channels_out = part->channels;
    tile->parameters = (const uint8_t *)whole->parameters + part->channel * parameter_bytes;
    tile->output = whole->output + part->channel + part->row * whole->output_row_stride;
    tile->output_height = part->rows;
    tile->scratch = scratch;
}

/* Requantized by the cluster, one part behind NE16. */
static void convolve_exact(const match_tile_t *tile, uint32_t mode, requantization_t exact)
{
    int32_t most = part_channels(tile, mode);
    int32_t least = is_strided(tile, mode) ? STRIDED_ROWS : NE16_SUBTILE_OUTPUT;
    int32_t each = part_rows(tile, least, tile->output_width * most * (int32_t)sizeof(int32_t));
    ptrdiff_t parameter_bytes = match_channel_bytes(tile->exceptions, match_form_of(tile, exact.form));
    match_tile_t parts[2]; /* what the cluster does, and what it does next */
    int32_t all_channels = groups_of(tile) * tile->channels_out;
    int32_t together = tile->channels_out > most ? tile->channels_out : all_channels; /* that parts begin and end in */
    int32_t count = 0;
    jobs_t jobs;
    begin_jobs(&jobs, tile, mode, OUTPUT_ACCUMULATORS);
    for (int32_t row = 0; row < tile->output_height; row += each) {
        part_t part = {.row = row, .rows = smaller(each, tile->output_height - row)};
        for (int32_t end = together; part.channel < all_channels; part.channel += part.channels, count++) {
            end += part.channel == end ? together : 0;
            part.channels = smaller(most, end - part.channel);
            int32_t *scratch = (int32_t *)tile->scratch + count % 2 * each * tile->output_width * most;
            if (tile->groups > 1) {
                submit_grouped_part(&jobs, tile, mode, &part, scratch);
            } else {
                submit_part(&jobs, tile, mode, &part, scratch);
            }
            match_tile_t *requantized = &parts[count % 2];
            aim_requantization(requantized, tile, parameter_bytes, &part, scratch);
            jobs.behind.kernel = exact.kernel;
            jobs.behind.tile = requantized;
        }
    }
    join_behind(&jobs.behind);
    ne16_wait(0);
    start_behind(&jobs.behind);
    join_behind(&jobs.behind);
}

/* ---- windows that the cluster lays out ---- */

/* What the cluster does beside NE16: it requantizes what NE16 left, and lays out what NE16 takes next. */
typedef struct {
    match_tile_t requantized; /* the first member: the team gets its address */
    match_tile_t laid_out;
    match_kernel_t requantize; /* NULL: nothing to requantize */
    bool lays_out;
} work_t;

static void do_work(const match_tile_t *tile)
{
    const work_t *work = (const work_t *)tile;
    if (work->requantize != NULL) {
        work->requantize(&work->requantized);
    }
    if (work->lays_out) {
        match_pulp_lay_out(&work->laid_out);
    }
}

/* Let the cluster do that next, if there is something. */
static void set_behind(behind_t *behind, const work_t *work)
{
    behind->kernel = work->requantize != NULL || work->lays_out ? do_work : NULL;
    behind->tile = &work->requantized;
}

/* Make the tile by which the cluster lays out the windows of some rows of outputs, if the tile `whole` has these. */
static void aim_layout(work_t *work, const match_tile_t *whole, int32_t row, int32_t rows, uint8_t *windows)
{
    work->lays_out = row < whole->output_height;
    if (work->lays_out) {
        work->laid_out = *whole;
        work->laid_out.pad_top = whole->pad_top - row * whole->stride_y;
        work->laid_out.output_height = smaller(rows, whole->output_height - row);
        work->laid_out.scratch = windows;
    }
}

/* The tile as NE16 sees it: each window is a pixel, and shares bytes with those beside it. */
static match_tile_t pixels_of(const match_tile_t *tile)
{
    match_tile_t pixels = *tile;
    pixels.input_pixel_stride = tile->filter_height * tile->channels_in;
    pixels.input_row_stride = ((tile->output_width - 1) * tile->stride_x + tile->filter_width) * pixels.input_pixel_stride;
    pixels.channels_in = tile->filter_width * pixels.input_pixel_stride;
    pixels.stride_y = 1;
    return pixels;
}

/* Requantized by NE16. */
static void convolve_laid_out(const match_tile_t *tile, output_t output)
{
    match_tile_t pixels = pixels_of(tile);
    int32_t each = part_rows(tile, NE16_SUBTILE_OUTPUT, pixels.input_row_stride);
    uint8_t *windows[2] = {tile->scratch, (uint8_t *)tile->scratch + each * pixels.input_row_stride};
    destination_t destination = {match_l1_address(tile->output), tile->output_row_stride, tile->output_pixel_stride};
    work_t works[2];
    works[0].requantize = works[1].requantize = NULL; /* an initializer would clear all of it */
    jobs_t jobs;
    begin_jobs(&jobs, &pixels, NE16_MODE_1X1, output);
    aim_layout(&works[0], tile, 0, each, windows[0]);
    set_behind(&jobs.behind, &works[0]);
    start_behind(&jobs.behind);
    for (int32_t row = 0, part = 0; row < tile->output_height; row += each, part ^= 1) {
        aim_layout(&works[part ^ 1], tile, row + each, each, windows[part ^ 1]);
        set_behind(&jobs.behind, &works[part ^ 1]);
        channels_t channels = first_group(&pixels);
        channels.input = windows[part];
        jobs.behind.awaited = true; /* it lays out these windows */
        (void)submit_rows(&jobs, &pixels, NE16_MODE_1X1, &channels, destination, 0,
                          smaller(each, tile->output_height - row));
        destination.address += (uint32_t)(each * tile->output_row_stride);
    }
}

/* Requantized by the cluster. */
static void convolve_laid_out_exact(const match_tile_t *tile, requantization_t exact)
{
    match_tile_t pixels = pixels_of(tile);
    int32_t most = smaller(tile->channels_out, NE16_SUBTILE_KO);
    int32_t sums_row = tile->output_width * most * (int32_t)sizeof(int32_t);
    int32_t each = part_rows(tile, NE16_SUBTILE_OUTPUT, larger(pixels.input_row_stride, sums_row));
    int32_t windows_bytes = smaller(2 * each, tile->output_height) * pixels.input_row_stride;
    uint8_t *windows[2] = {tile->scratch, (uint8_t *)tile->scratch + each * pixels.input_row_stride};
    int32_t *sums = (int32_t *)tile->scratch + ceil_div(windows_bytes, (int32_t)sizeof(int32_t));
    ptrdiff_t parameter_bytes = match_channel_bytes(tile->exceptions, match_form_of(tile, exact.form));
    work_t works[2];
    works[0].requantize = works[1].requantize = NULL;
    int32_t step = 0;
    jobs_t jobs;
    begin_jobs(&jobs, &pixels, NE16_MODE_1X1, OUTPUT_ACCUMULATORS);
    aim_layout(&works[1], tile, 0, each, windows[0]);
    set_behind(&jobs.behind, &works[1]);
    start_behind(&jobs.behind);
    for (int32_t row = 0, half = 0; row < tile->output_height; row += each, half ^= 1) {
        pixels.input = windows[half];
        for (int32_t channel = 0; channel < tile->channels_out; channel += most, step ^= 1) {
            aim_layout(&works[step], tile, channel == 0 ? row + each : tile->output_height, each, windows[half ^ 1]);
            set_behind(&jobs.behind, &works[step]);
            part_t part = {0, smaller(each, tile->output_height - row), channel,
                           smaller(most, tile->channels_out - channel)};
            int32_t *left = sums + step * each * tile->output_width * most;
            submit_part(&jobs, &pixels, NE16_MODE_1X1, &part, left);
            part.row = row;
            works[step ^ 1].requantize = exact.kernel;
            aim_requantization(&works[step ^ 1].requantized, tile, parameter_bytes, &part, left);
        }
    }
    join_behind(&jobs.behind);
    ne16_wait(0);
    works[step].lays_out = false;
    set_behind(&jobs.behind, &works[step]);
    start_behind(&jobs.behind);
    join_behind(&jobs.behind);
}

void match_ne16_conv2d_laid_out(const match_tile_t *tile)
{
    convolve_laid_out(tile, OUTPUT_M32);
}

void match_ne16_conv2d_laid_out_m16(const match_tile_t *tile)
{
    convolve_laid_out(tile, OUTPUT_M16);
}

void match_ne16_conv2d_laid_out_m8(const match_tile_t *tile)
{
    convolve_laid_out(tile, OUTPUT_M8);
}

void match_ne16_conv2d_laid_out_exact(const match_tile_t *tile)
{
    convolve_laid_out_exact(tile, by_64_bits);
}

void match_ne16_conv2d_laid_out_exact_split(const match_tile_t *tile)
{
    convolve_laid_out_exact(tile, by_halves);
}

void match_ne16_conv2d_laid_out_exact_high_except(const match_tile_t *tile)
{
    convolve_laid_out_exact(tile, by_upper_words);
}

/* ---- filters that NE16 has ---- */

void match_ne16_conv2d_3x3(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_3X3, OUTPUT_M32);
}

void match_ne16_conv2d_3x3_m16(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_3X3, OUTPUT_M16);
}

void match_ne16_conv2d_3x3_m8(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_3X3, OUTPUT_M8);
}

void match_ne16_conv2d_3x3_exact(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_3X3, by_64_bits);
}

void match_ne16_conv2d_3x3_exact_split(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_3X3, by_halves);
}

void match_ne16_conv2d_3x3_exact_high_except(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_3X3, by_upper_words);
}

void match_ne16_conv2d_1x1(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_1X1, OUTPUT_M32);
}

void match_ne16_conv2d_1x1_m16(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_1X1, OUTPUT_M16);
}

void match_ne16_conv2d_1x1_m8(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_1X1, OUTPUT_M8);
}

void match_ne16_conv2d_1x1_exact(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_1X1, by_64_bits);
}

void match_ne16_conv2d_1x1_exact_split(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_1X1, by_halves);
}

void match_ne16_conv2d_1x1_exact_high_except(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_1X1, by_upper_words);
}

void match_ne16_depthwise_3x3(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_DEPTHWISE, OUTPUT_M32);
}

void match_ne16_depthwise_3x3_m16(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_DEPTHWISE, OUTPUT_M16);
}

void match_ne16_depthwise_3x3_m8(const match_tile_t *tile)
{
    convolve(tile, NE16_MODE_DEPTHWISE, OUTPUT_M8);
}

void match_ne16_depthwise_3x3_exact(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_DEPTHWISE, by_64_bits);
}

void match_ne16_depthwise_3x3_exact_split(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_DEPTHWISE, by_halves);
}

void match_ne16_depthwise_3x3_exact_high_except(const match_tile_t *tile)
{
    convolve_exact(tile, NE16_MODE_DEPTHWISE, by_upper_words);
}
