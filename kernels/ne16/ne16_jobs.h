/* Jobs of NE16 for a tile, or for some of its rows and channels: what registers hold, in which order jobs start, and
 * what the cluster does beside them. */
#ifndef NE16_JOBS_H
#define NE16_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_team.h"
#include "match_tile.h"
#include "ne16_driver.h"
#include "ne16_registers.h"

/* How the results of a tile leave NE16: requantized, by multipliers of so many bits, or not. */
typedef enum {
    NE16_OUTPUT_M8 = NE16_WIDTH_8,
    NE16_OUTPUT_M16 = NE16_WIDTH_16,
    NE16_OUTPUT_M32 = NE16_WIDTH_32,
    NE16_OUTPUT_ACCUMULATORS,
} match_ne16_output_t;

/* Where they go: strides in bytes. */
typedef struct {
    uint32_t address;
    int32_t row_stride;
    int32_t pixel_stride;
} match_ne16_destination_t;

/* What a job computes of the channels: `channels_out` filters of `channels_in` channels, from `weights` on, of input
 * that begins at `input`. */
typedef struct {
    const uint8_t *input;
    const uint8_t *weights;
    int32_t channels_in;
    int32_t channels_out;
} match_ne16_channels_t;

/* What the cluster does while NE16 executes the next job, as soon as the jobs before that one have ended; no kernel:
 * nothing. */
typedef struct {
    match_kernel_t kernel;
    const match_tile_t *tile;
    bool running; /* the cluster is doing what it was given before */
    bool awaited; /* the next job must not start until the cluster has done that */
} match_ne16_behind_t;

/* A tile's jobs: the next one; how many of the two places still have registers of another tile, or of other channels;
 * and what the cluster does behind the jobs that have been started. */
typedef struct {
    match_ne16_job_t next;
    int32_t other_tile;
    int32_t other_channels;
    match_ne16_behind_t behind;
} match_ne16_jobs_t;

static inline int32_t match_ne16_ceil_div(int32_t a, int32_t b)
{
    return (a + b - 1) / b;
}

static inline int32_t match_ne16_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t match_ne16_larger(int32_t a, int32_t b)
{
    return a < b ? b : a;
}

/* Output channels of a sub-tile. */
static inline int32_t match_ne16_subtile_channels(uint32_t mode)
{
    return mode == NE16_MODE_DEPTHWISE ? NE16_SUBTILE_KI : NE16_SUBTILE_KO;
}

/* Whether a job computes outputs at stride 1 and drops every other one. */
static inline bool match_ne16_is_strided(const match_tile_t *tile, uint32_t mode)
{
    return mode != NE16_MODE_1X1 && tile->stride_y == 2;
}

/* Groups of a tile; a tile without groups is one. */
static inline int32_t match_ne16_groups_of(const match_tile_t *tile)
{
    return match_ne16_larger(tile->groups, 1);
}

/* Where a tile's outputs go, if NE16 requantizes them. */
static inline match_ne16_destination_t match_ne16_output_of(const match_tile_t *tile)
{
    return (match_ne16_destination_t){match_l1_address(tile->output), tile->output_row_stride,
                                      tile->output_pixel_stride};
}

/* Channels of a tile's first group, or of a tile without groups. */
static inline match_ne16_channels_t match_ne16_first_group(const match_tile_t *tile)
{
    return (match_ne16_channels_t){tile->input, tile->weights, tile->channels_in, tile->channels_out};
}

/* Bytes from the weights of one output channel (depthwise: group of channels) to those of the next. */
int32_t match_ne16_weight_stride(const match_tile_t *tile, uint32_t mode);

/* Fill in what all jobs of a tile have in common. Word by word: an initializer would clear all words first. */
void match_ne16_begin_jobs(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                           match_ne16_output_t output);

/* Start the jobs of output rows first .. last - 1; row `first` goes to the destination. Return whether it is a single
 * job: `jobs->next` still has that job's addresses then. */
bool match_ne16_submit_rows(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                            const match_ne16_channels_t *channels, match_ne16_destination_t destination, int32_t first,
                            int32_t last);

/* The same of some groups; `channels` and the destination are those of the first one. */
void match_ne16_submit_groups(match_ne16_jobs_t *jobs, const match_tile_t *tile, uint32_t mode,
                              match_ne16_output_t output, match_ne16_channels_t channels,
                              match_ne16_destination_t destination, int32_t first, int32_t last, int32_t groups);

/* Wait for what the cluster does. Without its status: the cluster is there, so that it cannot fail. */
static inline void match_ne16_join_behind(match_ne16_behind_t *behind)
{
    if (behind->running) {
        (void)match_team_wait();
        behind->running = false;
    }
}

/* Give the cluster what is behind the jobs that have ended. */
static inline void match_ne16_start_behind(match_ne16_behind_t *behind)
{
    if (behind->kernel != NULL) {
        (void)match_team_start(behind->kernel, behind->tile);
        behind->kernel = NULL;
        behind->running = true;
    }
}

#endif
