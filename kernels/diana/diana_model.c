#include "diana_model.h"

#include "match_status.h"

enum {
    BIAS_BYTES = 4,
    LARGEST_FILTER = 7,
    LARGEST_SHIFT = 31,
    LANE_BYTES = DIANA_ARRAY / DIANA_DEPTHWISE_CHANNELS,
};

/* A job's registers, decoded. */
typedef struct {
    uint32_t operation;
    uint32_t input, addend, weights, output;
    uint32_t input_channels, output_channels;
    uint32_t input_height, input_width, output_height, output_width;
    uint32_t filter_height, filter_width, stride, pad_top, pad_left;
    uint32_t lane, shift;
    bool relu;
    uint32_t input_row_stride, input_channel_stride;
    uint32_t addend_row_stride, addend_channel_stride;
    uint32_t output_row_stride, output_channel_stride;
} job_t;

static job_t decode(const uint32_t *words)
{
    return (job_t){
        .operation = words[DIANA_JOB_OPERATION],
        .input = words[DIANA_JOB_INPUT],
        .addend = words[DIANA_JOB_ADDEND],
        .weights = words[DIANA_JOB_WEIGHTS],
        .output = words[DIANA_JOB_OUTPUT],
        .input_channels = words[DIANA_JOB_INPUT_CHANNELS],
        .output_channels = words[DIANA_JOB_OUTPUT_CHANNELS],
        .input_height = words[DIANA_JOB_INPUT_HEIGHT],
        .input_width = words[DIANA_JOB_INPUT_WIDTH],
        .output_height = words[DIANA_JOB_OUTPUT_HEIGHT],
        .output_width = words[DIANA_JOB_OUTPUT_WIDTH],
        .filter_height = words[DIANA_JOB_FILTER_HEIGHT],
        .filter_width = words[DIANA_JOB_FILTER_WIDTH],
        .stride = words[DIANA_JOB_STRIDE],
        .pad_top = words[DIANA_JOB_PADDING] >> 8 & 0xff,
        .pad_left = words[DIANA_JOB_PADDING] & 0xff,
        .lane = words[DIANA_JOB_LANE],
        .shift = words[DIANA_JOB_SHIFT],
        .relu = words[DIANA_JOB_RELU] & 1,
        .input_row_stride = words[DIANA_JOB_INPUT_ROW_STRIDE],
        .input_channel_stride = words[DIANA_JOB_INPUT_CHANNEL_STRIDE],
        .addend_row_stride = words[DIANA_JOB_ADDEND_ROW_STRIDE],
        .addend_channel_stride = words[DIANA_JOB_ADDEND_CHANNEL_STRIDE],
        .output_row_stride = words[DIANA_JOB_OUTPUT_ROW_STRIDE],
        .output_channel_stride = words[DIANA_JOB_OUTPUT_CHANNEL_STRIDE],
    };
}

static bool is_filter_side(uint32_t side)
{
    return side % 2 == 1 && side <= LARGEST_FILTER;
}

/* Whether addresses begin groups of bytes, and rows of channels whole words. */
static bool is_aligned(const job_t *job, bool in_rows)
{
    uint32_t addresses = job->input | job->addend | job->weights | job->output;
    uint32_t strides = job->input_row_stride | job->input_channel_stride | job->addend_row_stride |
                       job->addend_channel_stride | job->output_row_stride | job->output_channel_stride;
    return addresses % DIANA_BYTE_GROUP == 0 && (!in_rows || strides % DIANA_ARRAY == 0);
}

/* Whether the fields have values that exist, and fit the operation. */
static bool is_possible(const job_t *job)
{
    bool sliding = job->operation == DIANA_CONVOLUTION || job->operation == DIANA_DEPTHWISE;
    bool one_pixel = job->output_height == 1 && job->output_width == 1;
    bool one_channel = job->input_channels == 1 && job->output_channels == 1;
    return is_aligned(job, sliding || job->operation == DIANA_ADDITION) && job->operation <= DIANA_ADDITION &&
           (job->stride == 1 || job->stride == 2) && job->shift <= LARGEST_SHIFT &&
           is_filter_side(job->filter_height) && is_filter_side(job->filter_width) &&
           (sliding || (job->filter_height == 1 && job->filter_width == 1 && job->stride == 1)) &&
           (job->operation != DIANA_DEPTHWISE || (one_channel && job->lane < DIANA_DEPTHWISE_CHANNELS)) &&
           (job->operation != DIANA_FULLY_CONNECTED || one_pixel);
}

/* ---- memories ---- */

/* A byte of a memory; 0, and the status set, outside of it. */
static int8_t load(match_diana_model_t *diana, const match_diana_memory_t *memory, uint32_t address)
{
    uint32_t offset = address - memory->address;
    if (offset >= memory->size) {
        diana->status = MATCH_ERROR_COMPUTE;
        return 0;
    }
    return (int8_t)memory->bytes[offset];
}

/* Not after something has failed. */
static void store(match_diana_model_t *diana, uint32_t address, int32_t value)
{
    uint32_t offset = address - diana->activations.address;
    if (offset >= diana->activations.size) {
        diana->status = MATCH_ERROR_COMPUTE;
    } else if (diana->status == MATCH_OK) {
        diana->activations.bytes[offset] = (uint8_t)value;
    }
}

/* Where byte `index` of what starts at a multiple of the group of bytes lies. */
static uint32_t place(uint32_t index)
{
    uint32_t within = index % DIANA_BYTE_GROUP;
    return index - within + (DIANA_BYTE_GROUP - 1 - within);
}

/* Byte `index` of weights that start at an address. */
static int8_t load_weight(match_diana_model_t *diana, uint32_t start, uint32_t index)
{
    return load(diana, &diana->weights, start + place(index));
}

/* A 32-bit number whose byte i is byte `first` + i * `step` of weights that start at an address. */
static uint32_t load_bias(match_diana_model_t *diana, uint32_t start, uint32_t first, uint32_t step)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < BIAS_BYTES; i++) {
        value |= (uint32_t)(uint8_t)load_weight(diana, start, first + i * step) << 8 * i;
    }
    return value;
}

/* An input's byte; 0 in the padding, which is what lies outside of it. */
static int8_t load_input(match_diana_model_t *diana, const job_t *job, uint32_t y, uint32_t x, uint32_t channel)
{
    if (y < job->pad_top || x < job->pad_left || y - job->pad_top >= job->input_height ||
        x - job->pad_left >= job->input_width) {
        return 0;
    }
    return load(diana, &diana->activations, job->input + channel * job->input_channel_stride +
                                                (y - job->pad_top) * job->input_row_stride + place(x - job->pad_left));
}

/* ---- output stage ---- */

/* What is written where the array has no output: not 0, which readers might take for padding. */
enum { NO_OUTPUT = 0x55 };

static uint32_t whole_groups(uint32_t count)
{
    return (count + DIANA_ARRAY - 1) / DIANA_ARRAY * DIANA_ARRAY;
}

/* Where an output is that lies in a row of its channel. */
static uint32_t output_address(const job_t *job, uint32_t y, uint32_t x, uint32_t channel)
{
    return job->output + channel * job->output_channel_stride + y * job->output_row_stride + place(x);
}

/* Shift of a two's complement number, and clip. */
static int32_t finished(const job_t *job, uint32_t sum)
{
    int64_t value = sum < 0x80000000u ? (int64_t)sum : (int64_t)sum - ((int64_t)1 << 32);
    int64_t low = job->relu ? 0 : INT8_MIN;
    int64_t shifted = value >> job->shift;
    return (int32_t)(shifted < low ? low : shifted > INT8_MAX ? INT8_MAX : shifted);
}

/* A row of a channel's outputs is complete: fill up its last word. */
static void fill_row(match_diana_model_t *diana, const job_t *job, uint32_t y, uint32_t channel, uint32_t from)
{
    for (uint32_t x = from; x < whole_groups(job->output_width); x++) {
        store(diana, output_address(job, y, x, channel), NO_OUTPUT);
    }
}

/* All outputs of channels are complete: fill up the last group of channels. */
static void fill_channels(match_diana_model_t *diana, const job_t *job)
{
    for (uint32_t k = job->output_channels; k < whole_groups(job->output_channels); k++) {
        for (uint32_t y = 0; y < job->output_height; y++) {
            fill_row(diana, job, y, k, 0);
        }
    }
}

/* ---- operations ---- */

/* Where the weights of one output channel are: byte `first` of each row from `start` on, one row for each filter
 * position of each input channel; its bias begins at byte `bias`, with a row for each of its bytes. */
typedef struct {
    uint32_t start;
    uint32_t first;
    uint32_t bias;
} filter_t;

static filter_t filter_of(const job_t *job, uint32_t channel)
{
    uint32_t rows = job->input_channels * job->filter_height * job->filter_width;
    filter_t filter = {.start = job->weights, .first = job->lane * LANE_BYTES};
    if (job->operation == DIANA_CONVOLUTION) {
        filter.start += channel / DIANA_ARRAY * (rows + BIAS_BYTES) * DIANA_ARRAY;
        filter.first = channel % DIANA_ARRAY;
    }
    filter.bias = rows * DIANA_ARRAY + filter.first;
    return filter;
}

static uint32_t convolve(match_diana_model_t *diana, const job_t *job, const filter_t *filter, uint32_t y, uint32_t x)
{
    uint32_t sum = load_bias(diana, filter->start, filter->bias, DIANA_ARRAY);
    uint32_t row = 0;
    for (uint32_t c = 0; c < job->input_channels; c++) {
        for (uint32_t fy = 0; fy < job->filter_height; fy++) {
            for (uint32_t fx = 0; fx < job->filter_width; fx++) {
                int32_t weight = load_weight(diana, filter->start, row * DIANA_ARRAY + filter->first);
                int32_t input = load_input(diana, job, y * job->stride + fy, x * job->stride + fx, c);
                sum += (uint32_t)(weight * input);
                row += 1;
            }
        }
    }
    return sum;
}

static void execute_convolution(match_diana_model_t *diana, const job_t *job)
{
    for (uint32_t k = 0; k < job->output_channels; k++) {
        filter_t filter = filter_of(job, k);
        for (uint32_t y = 0; y < job->output_height; y++) {
            for (uint32_t x = 0; x < job->output_width && diana->status == MATCH_OK; x++) {
                int32_t value = finished(job, convolve(diana, job, &filter, y, x));
                store(diana, output_address(job, y, x, k), value);
            }
            fill_row(diana, job, y, k, job->output_width);
        }
    }
    if (job->operation == DIANA_CONVOLUTION) {
        fill_channels(diana, job);
    }
}

static void execute_fully_connected(match_diana_model_t *diana, const job_t *job)
{
    uint32_t columns = whole_groups(job->input_channels);
    for (uint32_t k = 0; k < job->output_channels && diana->status == MATCH_OK; k++) {
        uint32_t within = k % DIANA_ARRAY;
        uint32_t start = job->weights + k / DIANA_ARRAY * DIANA_ARRAY * (columns + DIANA_ARRAY);
        uint32_t sum = load_bias(diana, start, DIANA_ARRAY * (columns + within), 1);
        for (uint32_t c = 0; c < job->input_channels; c++) {
            int32_t weight = load_weight(diana, start, within * columns + c);
            sum += (uint32_t)(weight * load(diana, &diana->activations, job->input + place(c)));
        }
        store(diana, job->output + place(k), finished(job, sum));
    }
    for (uint32_t k = job->output_channels; k < whole_groups(job->output_channels); k++) {
        store(diana, job->output + place(k), NO_OUTPUT);
    }
}

static void execute_addition(match_diana_model_t *diana, const job_t *job)
{
    for (uint32_t k = 0; k < job->output_channels; k++) {
        for (uint32_t y = 0; y < job->output_height; y++) {
            uint32_t addend = job->addend + k * job->addend_channel_stride + y * job->addend_row_stride;
            for (uint32_t x = 0; x < job->output_width && diana->status == MATCH_OK; x++) {
                int32_t sum = load_input(diana, job, y, x, k) + load(diana, &diana->activations, addend + place(x));
                store(diana, output_address(job, y, x, k), finished(job, (uint32_t)sum));
            }
            fill_row(diana, job, y, k, job->output_width);
        }
    }
    fill_channels(diana, job);
}

static void execute(match_diana_model_t *diana)
{
    job_t job = decode(diana->words);
    if (!is_possible(&job)) {
        diana->status = MATCH_ERROR_COMPUTE;
    } else if (job.operation == DIANA_FULLY_CONNECTED) {
        execute_fully_connected(diana, &job);
    } else if (job.operation == DIANA_ADDITION) {
        execute_addition(diana, &job);
    } else {
        execute_convolution(diana, &job);
    }
}

/* ---- registers ---- */

void match_diana_model_reset(match_diana_model_t *diana, match_diana_memory_t activations, match_diana_memory_t weights)
{
    *diana = (match_diana_model_t){.activations = activations, .weights = weights, .status = MATCH_OK};
}

void match_diana_model_write(match_diana_model_t *diana, uint32_t word, uint32_t value)
{
    if (!diana->running && word == DIANA_START && value == 1) {
        diana->running = true;
    } else if (!diana->running && word >= DIANA_JOB && word < DIANA_JOB + DIANA_JOB_WORDS) {
        diana->words[word - DIANA_JOB] = value;
    } else {
        diana->status = MATCH_ERROR_COMPUTE;
    }
}

uint32_t match_diana_model_read(const match_diana_model_t *diana, uint32_t word)
{
    uint32_t value = 0;
    if (word == DIANA_STATUS) {
        value = diana->running;
    } else if (word >= DIANA_JOB && word < DIANA_JOB + DIANA_JOB_WORDS) {
        value = diana->words[word - DIANA_JOB];
    }
    return value;
}

void match_diana_model_finish_job(match_diana_model_t *diana)
{
    if (diana->running) {
        execute(diana);
        diana->running = false;
    }
}

int32_t match_diana_model_status(const match_diana_model_t *diana)
{
    return diana->status;
}
