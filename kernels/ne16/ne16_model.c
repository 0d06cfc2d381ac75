#include "ne16_model.h"

#include <string.h>

#include "match_status.h"

/* What the reads of the acquire register say when there is no job to fill in. */
#define ACQUIRE_FULL 0xffffffffu

enum {
    COLUMNS = NE16_SUBTILE_OUTPUT * NE16_SUBTILE_OUTPUT, /* output pixels of a sub-tile */
    POSITIONS = 9,                                       /* of a 3x3 filter */
    BUFFER = NE16_SUBTILE_INPUT,
    KI = NE16_SUBTILE_KI,
    KO = NE16_SUBTILE_KO,
    CHUNK_CHANNELS = 8, /* accumulators that are written at once */
};

/* A job's registers, decoded. */
typedef struct {
    uint32_t weights, infeat, outfeat, scale, scale_shift, scale_bias;
    uint32_t infeat_d0, infeat_d1, outfeat_d0, outfeat_d1, outfeat_d2, weights_d0, weights_d1;
    uint32_t remainder_ko, remainder_ki, remainder_ho, remainder_wo, remainder_hi, remainder_wi;
    uint32_t subtiles_ko, subtiles_ki, subtiles_ho, subtiles_wo;
    uint32_t pad_top, pad_right, pad_bottom, pad_left;
    uint8_t pad_value;
    uint32_t mask_top, mask_right, mask_bottom, mask_left;
    uint32_t weight_offset;
    uint32_t weight_bits, mode, scale_bytes, shift, output_bits;
    bool norm_quant, stride2, relu, channel_shift, bias, supported;
} job_t;

/* The sub-tile being computed: its indices, sizes, input buffer and accumulators. */
typedef struct {
    uint32_t ko, i, j;
    uint32_t channels;          /* output channels */
    uint32_t h_out, w_out;      /* output pixels */
    uint32_t h_in, w_in;        /* input pixels that are loaded, padding included */
    uint8_t input[BUFFER][BUFFER][KI];
    uint32_t accumulators[KO][COLUMNS]; /* two's complement: 32 bits that wrap */
} subtile_t;

static uint32_t field(uint32_t word, uint32_t low, uint32_t bits)
{
    return word >> low & ((1u << bits) - 1);
}

static bool is_within(uint32_t value, uint32_t low, uint32_t high)
{
    return low <= value && value <= high;
}

/* Whether the fields have values that exist, and sub-tiles fit the array. */
static bool is_possible(const job_t *job)
{
    bool depthwise = job->mode == NE16_MODE_DEPTHWISE;
    uint32_t channels = depthwise ? KI : KO;
    bool channels_agree = job->remainder_ko == job->remainder_ki && job->subtiles_ko == job->subtiles_ki;
    return job->mode <= NE16_MODE_1X1 && job->scale_bytes <= 4 && (job->output_bits == 8 || job->output_bits == 32) &&
           is_within(job->remainder_ko, 1, channels) && is_within(job->remainder_ki, 1, KI) &&
           is_within(job->remainder_ho, 1, NE16_SUBTILE_OUTPUT) && is_within(job->remainder_hi, 1, BUFFER) &&
           is_within(job->remainder_wo, 1, NE16_SUBTILE_OUTPUT) && is_within(job->remainder_wi, 1, BUFFER) &&
           (!depthwise || channels_agree);
}

static job_t decode(const uint32_t *words)
{
    uint32_t conf = words[NE16_JOB_CONF0];
    uint32_t padding = words[NE16_JOB_PADDING];
    uint32_t mask = words[NE16_JOB_FILTER_MASK];
    job_t job = {
        .weights = words[NE16_JOB_WEIGHTS],
        .infeat = words[NE16_JOB_INFEAT],
        .outfeat = words[NE16_JOB_OUTFEAT],
        .scale = words[NE16_JOB_SCALE],
        .scale_shift = words[NE16_JOB_SCALE_SHIFT],
        .scale_bias = words[NE16_JOB_SCALE_BIAS],
        .infeat_d0 = words[NE16_JOB_INFEAT_D0],
        .infeat_d1 = words[NE16_JOB_INFEAT_D1],
        .outfeat_d0 = words[NE16_JOB_OUTFEAT_D0],
        .outfeat_d1 = words[NE16_JOB_OUTFEAT_D1],
        .outfeat_d2 = words[NE16_JOB_OUTFEAT_D2],
        .weights_d0 = words[NE16_JOB_WEIGHTS_D0],
        .weights_d1 = words[NE16_JOB_WEIGHTS_D1],
        .remainder_ko = field(words[NE16_JOB_REMAINDER_KO_KI], 16, 16),
        .remainder_ki = field(words[NE16_JOB_REMAINDER_KO_KI], 0, 16),
        .remainder_ho = field(words[NE16_JOB_REMAINDER_HO_WO], 16, 16),
        .remainder_wo = field(words[NE16_JOB_REMAINDER_HO_WO], 0, 16),
        .remainder_hi = field(words[NE16_JOB_REMAINDER_HI_WI], 16, 16),
        .remainder_wi = field(words[NE16_JOB_REMAINDER_HI_WI], 0, 16),
        .subtiles_ko = field(words[NE16_JOB_SUBTILES_KO_KI], 16, 16),
        .subtiles_ki = field(words[NE16_JOB_SUBTILES_KO_KI], 0, 16),
        .subtiles_ho = field(words[NE16_JOB_SUBTILES_HO_WO], 16, 16),
        .subtiles_wo = field(words[NE16_JOB_SUBTILES_HO_WO], 0, 16),
        .pad_top = field(padding, 28, 4),
        .pad_right = field(padding, 24, 4),
        .pad_bottom = field(padding, 20, 4),
        .pad_left = field(padding, 16, 4),
        .pad_value = (uint8_t)padding,
        .mask_top = field(mask, 24, 8),
        .mask_right = field(mask, 16, 8),
        .mask_bottom = field(mask, 8, 8),
        .mask_left = field(mask, 0, 8),
        .weight_offset = words[NE16_JOB_WEIGHT_OFFSET],
        .weight_bits = field(conf, NE16_CONF0_WEIGHT_BITS, 3) + 1,
        .mode = field(conf, NE16_CONF0_MODE, 2),
        .scale_bytes = 1u << field(conf, NE16_CONF0_SCALE_BITS, 2),
        .shift = field(conf, NE16_CONF0_SHIFT, 5),
        .output_bits = 8u << field(conf, NE16_CONF0_OUTPUT_BITS, 2),
        .norm_quant = field(conf, NE16_CONF0_NORM_QUANT, 1),
        .stride2 = field(conf, NE16_CONF0_STRIDE2, 1),
        .relu = !field(conf, NE16_CONF0_NO_RELU, 1),
        .channel_shift = field(conf, NE16_CONF0_CHANNEL_SHIFT, 1),
        .bias = field(conf, NE16_CONF0_BIAS, 1),
    };
    job.supported = !field(conf, NE16_CONF0_MODE16, 1) && !field(conf, NE16_CONF0_LINEAR, 1) &&
                    !field(conf, NE16_CONF0_STREAMIN, 1) && is_possible(&job);
    return job;
}

/* ---- memory ---- */

/* The `bytes` bytes at an address; NULL, and the status set, when they are not all in the memory. */
static uint8_t *at(match_ne16_model_t *ne16, uint32_t address, size_t bytes)
{
    uint32_t offset = address - ne16->address;
    if (offset > ne16->memory_bytes || bytes > ne16->memory_bytes - offset) {
        ne16->status = MATCH_ERROR_COMPUTE;
        return NULL;
    }
    return ne16->memory + offset;
}

/* `bytes` bytes, lowest first, as an unsigned number; 0 outside the memory. */
static uint32_t load(match_ne16_model_t *ne16, uint32_t address, uint32_t bytes)
{
    const uint8_t *source = at(ne16, address, bytes);
    uint32_t value = 0;
    for (uint32_t i = 0; source != NULL && i < bytes; i++) {
        value |= (uint32_t)source[i] << 8 * i;
    }
    return value;
}

static void store(match_ne16_model_t *ne16, uint32_t address, uint32_t bytes, uint32_t value)
{
    uint8_t *target = at(ne16, address, bytes);
    for (uint32_t i = 0; target != NULL && i < bytes; i++) {
        target[i] = (uint8_t)(value >> 8 * i);
    }
}

/* ---- the array ---- */

static uint32_t filter_side(const job_t *job)
{
    return job->mode == NE16_MODE_1X1 ? 1 : 3;
}

static uint32_t subtile_channels(const job_t *job)
{
    return job->mode == NE16_MODE_DEPTHWISE ? KI : KO;
}

static uint32_t input_channels(const job_t *job, uint32_t ki)
{
    return ki == job->subtiles_ki - 1 ? job->remainder_ki : KI;
}

/* Whether the pixel (y, x) of the input buffer is explicit padding. */
static bool is_padding(const job_t *job, const subtile_t *subtile, uint32_t y, uint32_t x)
{
    return (subtile->i == 0 && y < job->pad_top) || (subtile->j == 0 && x < job->pad_left) ||
           (subtile->i == job->subtiles_ho - 1 && y + job->pad_bottom >= BUFFER) ||
           (subtile->j == job->subtiles_wo - 1 && x + job->pad_right >= BUFFER);
}

/* Fill the input buffer with group `ki` of input channels. What a sub-tile does not reach is zero. */
static void load_input(match_ne16_model_t *ne16, const job_t *job, subtile_t *subtile, uint32_t ki)
{
    uint32_t channels = input_channels(job, ki);
    uint32_t origin = job->infeat + ki * KI;
    origin += NE16_SUBTILE_OUTPUT * (subtile->i * job->infeat_d1 + subtile->j * job->infeat_d0);
    memset(subtile->input, 0, sizeof subtile->input);
    for (uint32_t y = 0; y < subtile->h_in; y++) {
        for (uint32_t x = 0; x < subtile->w_in; x++) {
            uint8_t *pixel = subtile->input[y][x];
            if (is_padding(job, subtile, y, x)) {
                memset(pixel, job->pad_value, channels);
            } else {
                const uint8_t *source = at(ne16, origin + y * job->infeat_d1 + x * job->infeat_d0, channels);
                if (source != NULL) {
                    memcpy(pixel, source, channels);
                }
            }
        }
    }
}

/* Address of the bit planes of group `ki` for output channel `k` of the sub-tile. */
static uint32_t weight_address(const job_t *job, const subtile_t *subtile, uint32_t ki, uint32_t k)
{
    uint32_t group = job->weight_bits * filter_side(job) * filter_side(job) * (KI / 8);
    if (job->mode == NE16_MODE_DEPTHWISE) {
        return job->weights + ki * group + k * job->weights_d1;
    }
    return job->weights + (subtile->ko * KO * job->subtiles_ki + ki) * group + k * job->weights_d1;
}

/* Weights of output channel `k` for a group of input channels, offset included: [filter position][input channel]. */
static void load_weights(match_ne16_model_t *ne16, const job_t *job, const subtile_t *subtile, uint32_t ki, uint32_t k,
                         uint32_t weights[POSITIONS][KI])
{
    uint32_t positions = filter_side(job) * filter_side(job);
    uint32_t address = weight_address(job, subtile, ki, k);
    for (uint32_t position = 0; position < positions; position++) {
        for (uint32_t channel = 0; channel < KI; channel++) {
            weights[position][channel] = job->weight_offset;
        }
        for (uint32_t bit = 0; bit < job->weight_bits; bit++) {
            /* 3x3 streams one bit of all positions at a time, 1x1 all bits of its only position at once. */
            uint32_t plane = address + (job->mode == NE16_MODE_1X1 ? bit * (KI / 8) : bit * job->weights_d0);
            uint32_t word = load(ne16, plane + position * (KI / 8), KI / 8);
            for (uint32_t channel = 0; channel < KI; channel++) {
                weights[position][channel] += (word >> channel & 1) << bit;
            }
        }
    }
}

static bool is_masked(const job_t *job, uint32_t fy, uint32_t fx)
{
    return job->mode != NE16_MODE_1X1 && (fy < job->mask_top || fy + job->mask_bottom >= 3 || fx < job->mask_left ||
                                          fx + job->mask_right >= 3);
}

/* Add to the accumulators of output channel `k` what input channels first .. last - 1 contribute at one filter
 * position. */
static void accumulate_position(subtile_t *subtile, uint32_t k, uint32_t fy, uint32_t fx, const uint32_t weights[KI],
                                uint32_t first, uint32_t last)
{
    for (uint32_t column = 0; column < COLUMNS; column++) {
        const uint8_t *pixel = subtile->input[column / NE16_SUBTILE_OUTPUT + fy][column % NE16_SUBTILE_OUTPUT + fx];
        uint32_t sum = 0;
        for (uint32_t channel = first; channel < last; channel++) {
            sum += pixel[channel] * weights[channel];
        }
        subtile->accumulators[k][column] += sum;
    }
}

static void accumulate(match_ne16_model_t *ne16, const job_t *job, subtile_t *subtile, uint32_t ki)
{
    bool depthwise = job->mode == NE16_MODE_DEPTHWISE;
    uint32_t side = filter_side(job);
    for (uint32_t k = 0; k < subtile->channels; k++) {
        uint32_t weights[POSITIONS][KI];
        load_weights(ne16, job, subtile, ki, k, weights);
        for (uint32_t position = 0; position < side * side; position++) {
            uint32_t fy = position / side;
            uint32_t fx = position % side;
            if (!is_masked(job, fy, fx)) {
                accumulate_position(subtile, k, fy, fx, weights[position], depthwise ? k : 0, depthwise ? k + 1 : KI);
            }
        }
    }
}

/* ---- output ---- */

/* Arithmetic shift of a 32-bit two's complement number; the hardware's shifter takes 6 bits. */
static int32_t shift_right(uint32_t value, uint32_t shift)
{
    uint32_t places = (shift & 63) < 31 ? shift & 63 : 31;
    int64_t signed_value = value < 0x80000000u ? (int64_t)value : (int64_t)value - ((int64_t)1 << 32);
    return (int32_t)(signed_value >> places);
}

/* Multiplier, bias and shift of each channel: acc = (acc * M + B) >> S, where product and sum keep 32 bits. */
static void norm_quant(match_ne16_model_t *ne16, const job_t *job, subtile_t *subtile)
{
    for (uint32_t k = 0; k < subtile->channels; k++) {
        uint32_t channel = subtile->ko * subtile_channels(job) + k;
        uint32_t scale = load(ne16, job->scale + channel * job->scale_bytes, job->scale_bytes);
        uint32_t bias = job->bias ? load(ne16, job->scale_bias + channel * 4, 4) : 0;
        uint32_t shift = job->channel_shift ? load(ne16, job->scale_shift + channel, 1) : job->shift;
        for (uint32_t column = 0; column < COLUMNS; column++) {
            uint32_t *accumulator = &subtile->accumulators[k][column];
            *accumulator = (uint32_t)shift_right(*accumulator * scale + bias, shift);
        }
    }
}

/* The value as it is stored: clipped to 8 bits, or rectified where 32 bits are requantized. */
static uint32_t stored(const job_t *job, uint32_t accumulator)
{
    int32_t value = shift_right(accumulator, 0);
    if (job->output_bits == 8) {
        int32_t low = job->relu ? 0 : -128;
        int32_t high = job->relu ? 255 : 127;
        value = value < low ? low : value > high ? high : value;
    } else if (job->norm_quant && job->relu && value < 0) {
        value = 0;
    }
    return (uint32_t)value;
}

static void stream_out(match_ne16_model_t *ne16, const job_t *job, const subtile_t *subtile)
{
    uint32_t bytes = job->output_bits / 8;
    uint32_t origin = job->outfeat + subtile->ko * subtile_channels(job) * bytes;
    origin += NE16_SUBTILE_OUTPUT * (subtile->i * job->outfeat_d2 + subtile->j * job->outfeat_d1);
    for (uint32_t y = 0; y < subtile->h_out; y++) {
        for (uint32_t x = 0; x < subtile->w_out; x++) {
            if (job->stride2 && (y % 2 == 1 || x % 2 == 1)) {
                continue;
            }
            uint32_t pixel = origin + y * job->outfeat_d2 + x * job->outfeat_d1;
            for (uint32_t k = 0; k < subtile->channels; k++) {
                uint32_t chunk = bytes == 4 ? k / CHUNK_CHANNELS : 0;
                uint32_t place = k - chunk * CHUNK_CHANNELS;
                store(ne16, pixel + chunk * job->outfeat_d0 + place * bytes, bytes,
                      stored(job, subtile->accumulators[k][y * NE16_SUBTILE_OUTPUT + x]));
            }
        }
    }
}

/* ---- jobs ---- */

static void compute_subtile(match_ne16_model_t *ne16, const job_t *job, uint32_t ko, uint32_t i, uint32_t j)
{
    uint32_t side = NE16_SUBTILE_OUTPUT + filter_side(job) - 1;
    bool last_row = i == job->subtiles_ho - 1;
    bool last_column = j == job->subtiles_wo - 1;
    subtile_t subtile = {
        .ko = ko,
        .i = i,
        .j = j,
        .channels = ko == job->subtiles_ko - 1 ? job->remainder_ko : subtile_channels(job),
        .h_out = last_row ? job->remainder_ho : NE16_SUBTILE_OUTPUT,
        .w_out = last_column ? job->remainder_wo : NE16_SUBTILE_OUTPUT,
        .h_in = last_row ? job->remainder_hi : side,
        .w_in = last_column ? job->remainder_wi : side,
    };
    bool depthwise = job->mode == NE16_MODE_DEPTHWISE;
    uint32_t first = depthwise ? ko : 0;
    uint32_t last = depthwise ? ko + 1 : job->subtiles_ki;
    for (uint32_t ki = first; ki < last; ki++) {
        load_input(ne16, job, &subtile, ki);
        accumulate(ne16, job, &subtile, ki);
    }
    if (job->norm_quant) {
        norm_quant(ne16, job, &subtile);
    }
    if (ne16->status == MATCH_OK) {
        stream_out(ne16, job, &subtile);
    }
}

static void execute(match_ne16_model_t *ne16, const uint32_t *words)
{
    job_t job = decode(words);
    if (!job.supported) {
        ne16->status = MATCH_ERROR_COMPUTE;
        return;
    }
    for (uint32_t ko = 0; ko < job.subtiles_ko; ko++) {
        for (uint32_t i = 0; i < job.subtiles_ho; i++) {
            for (uint32_t j = 0; j < job.subtiles_wo; j++) {
                if (ne16->status != MATCH_OK) {
                    return;
                }
                compute_subtile(ne16, &job, ko, i, j);
            }
        }
    }
}

/* ---- register file ---- */

/* Place that the acquired job is written to. */
static uint32_t acquired_place(const match_ne16_model_t *ne16)
{
    return (ne16->first + ne16->taken - 1) % NE16_PLACES;
}

static uint32_t acquire(match_ne16_model_t *ne16)
{
    if (ne16->acquired) {
        return NE16_LOCKED;
    }
    if (ne16->taken == NE16_PLACES) {
        return ACQUIRE_FULL;
    }
    ne16->acquired = true;
    ne16->taken += 1;
    uint32_t number = ne16->next_number;
    ne16->next_number = (number + 1) % 256;
    ne16->numbers[acquired_place(ne16)] = number;
    return number;
}

void match_ne16_model_reset(match_ne16_model_t *ne16, uint8_t *memory, size_t memory_bytes, uint32_t address)
{
    *ne16 =
        (match_ne16_model_t){.memory = memory, .memory_bytes = memory_bytes, .address = address, .status = MATCH_OK};
}

void match_ne16_model_write(match_ne16_model_t *ne16, uint32_t word, uint32_t value)
{
    if (word == NE16_TRIGGER && value == 0 && ne16->acquired) {
        ne16->acquired = false;
    } else if (word == NE16_SOFT_CLEAR) {
        match_ne16_model_reset(ne16, ne16->memory, ne16->memory_bytes, ne16->address);
    } else if (word >= NE16_JOB && word < NE16_JOB + NE16_JOB_WORDS && ne16->acquired) {
        ne16->places[acquired_place(ne16)][word - NE16_JOB] = value;
    } else {
        ne16->status = MATCH_ERROR_COMPUTE;
    }
}

static bool is_taken(const match_ne16_model_t *ne16, uint32_t place)
{
    return (place + NE16_PLACES - ne16->first) % NE16_PLACES < ne16->taken;
}

uint32_t match_ne16_model_read(match_ne16_model_t *ne16, uint32_t word)
{
    uint32_t value = 0;
    if (word == NE16_ACQUIRE) {
        value = acquire(ne16);
    } else if (word == NE16_STATUS) {
        value = (uint32_t)is_taken(ne16, 0) | (uint32_t)is_taken(ne16, 1) << 8;
    } else if (word == NE16_RUNNING_JOB) {
        value = ne16->running_number;
    } else if (word >= NE16_JOB && word < NE16_JOB + NE16_JOB_WORDS && ne16->acquired) {
        value = ne16->places[acquired_place(ne16)][word - NE16_JOB];
    }
    return value;
}

void match_ne16_model_finish_job(match_ne16_model_t *ne16)
{
    uint32_t triggered = ne16->taken - (uint32_t)ne16->acquired;
    if (triggered == 0) {
        return;
    }
    ne16->running_number = ne16->numbers[ne16->first];
    execute(ne16, ne16->places[ne16->first]);
    ne16->first = (ne16->first + 1) % NE16_PLACES;
    ne16->taken -= 1;
}

int32_t match_ne16_model_status(const match_ne16_model_t *ne16)
{
    return ne16->status;
}
