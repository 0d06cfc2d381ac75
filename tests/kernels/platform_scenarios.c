/* What the GAP9 host platform does in one situation, named by the argument; prints numbers for the test to judge. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match_gap9_chip.h"
#include "match_team.h"
#include "ne16_driver.h"

enum { BYTES = 4 };

static const match_copy_t four_bytes = {.planes = 1, .rows = 1, .bytes = BYTES};
static uint8_t external[BYTES] = {1, 2, 3, 4};

static void print(int32_t value)
{
    printf("%d\n", (int)value);
}

/* ---- transfers ---- */

static int32_t late_copy_in(void *arg)
{
    (void)arg;
    uint8_t *local = match_pulp_l1_alloc(BYTES);
    match_pulp_dma_t transfer = {0};
    match_pulp_dma_copy_in(&transfer, local, external, &four_bytes);
    print(local[0]); /* not there before the wait */
    external[0] = 9; /* read as late as the wait */
    print(match_pulp_dma_wait(&transfer));
    print(local[0]);
    match_pulp_l1_free(local);
    return MATCH_OK;
}

static int32_t late_copy_out(void *arg)
{
    (void)arg;
    uint8_t *local = match_pulp_l1_alloc(BYTES);
    match_pulp_dma_t transfer = {0};
    memset(local, 5, BYTES);
    match_pulp_dma_copy_out(&transfer, local, external, &four_bytes);
    print(external[0]);
    memset(local, 6, BYTES);
    print(match_pulp_dma_wait(&transfer));
    print(external[0]);
    match_pulp_l1_free(local);
    return MATCH_OK;
}

static int32_t missing_wait(void *arg)
{
    (void)arg;
    uint8_t *local = match_pulp_l1_alloc(BYTES);
    match_pulp_dma_t transfer = {0};
    match_pulp_dma_copy_in(&transfer, local, external, &four_bytes);
    match_pulp_l1_free(local);
    return MATCH_OK;
}

static int32_t lost_transfer(void *arg)
{
    (void)arg;
    uint8_t *local = match_pulp_l1_alloc(BYTES);
    match_pulp_dma_t transfer = {0};
    match_pulp_dma_copy_in(&transfer, local, external, &four_bytes);
    match_pulp_dma_copy_in(&transfer, local, external, &four_bytes);
    int32_t status = match_pulp_dma_wait(&transfer);
    match_pulp_l1_free(local);
    return status;
}

static int32_t second_wait(void *arg)
{
    (void)arg;
    uint8_t *local = match_pulp_l1_alloc(BYTES);
    match_pulp_dma_t transfer = {0};
    match_pulp_dma_copy_in(&transfer, local, external, &four_bytes);
    int32_t status = match_pulp_dma_wait(&transfer);
    if (status == MATCH_OK) {
        status = match_pulp_dma_wait(&transfer);
    }
    match_pulp_l1_free(local);
    return status;
}

static int32_t copy_outside_l1(void *arg)
{
    (void)arg;
    uint8_t *local = match_pulp_l1_alloc(BYTES);
    match_pulp_dma_t transfer = {0};
    match_pulp_dma_copy_in(&transfer, local + 1, external, &four_bytes);
    int32_t status = match_pulp_dma_wait(&transfer);
    match_pulp_l1_free(local);
    return status;
}

/* ---- memory ---- */

static int32_t whole_l1(void *arg)
{
    (void)arg;
    uint8_t *half = match_pulp_l1_alloc(PULP_L1_BYTES / 2 - 3); /* counts as a multiple of 4 */
    uint8_t *rest = match_pulp_l1_alloc(PULP_L1_BYTES / 2);
    print(half != NULL && rest != NULL);
    print(match_pulp_l1_alloc(1) == NULL);
    match_pulp_l1_free(half); /* below a block in use: comes back with it */
    print(match_pulp_l1_alloc(1) == NULL);
    match_pulp_l1_free(rest);
    rest = match_pulp_l1_alloc(PULP_L1_BYTES);
    print(rest != NULL);
    match_pulp_l1_free(rest);
    print(match_pulp_l1_alloc(PULP_L1_BYTES + 1) == NULL);
    return MATCH_OK;
}

static int32_t whole_l2(void *arg)
{
    (void)arg;
    uint8_t *all = match_pulp_l2_alloc(PULP_L2_BYTES);
    print(all != NULL);
    print(match_pulp_l2_alloc(1) == NULL);
    match_pulp_l2_free(all);
    return MATCH_OK;
}

static int32_t leaked_block(void *arg)
{
    (void)arg;
    return match_pulp_l1_alloc(BYTES) != NULL ? MATCH_OK : MATCH_ERROR_MEMORY;
}

static int32_t byte_behind(void *arg)
{
    (void)arg;
    volatile uint8_t *local = match_pulp_l1_alloc(5);
    volatile uint8_t *next = match_pulp_l1_alloc(5);
    next[4] = 1;
    local[5] = 1;
    return MATCH_OK;
}

static int32_t byte_before(void *arg)
{
    (void)arg;
    volatile uint8_t *local = match_pulp_l1_alloc(5);
    local[-1] = 1;
    return MATCH_OK;
}

static int32_t after_free(void *arg)
{
    (void)arg;
    volatile uint8_t *local = match_pulp_l1_alloc(5);
    match_pulp_l1_free((void *)local);
    local[0] = 1;
    return MATCH_OK;
}

/* ---- compute ---- */

static int32_t seen[64];

static void count_cores(const match_tile_t *tile)
{
    (void)tile;
    seen[match_core_id()] += match_core_count();
}

static int32_t late_kernel(void *arg)
{
    (void)arg;
    match_tile_t tile = {0};
    print(match_pulp_cluster_run(count_cores, &tile));
    print(seen[0]);
    print(match_pulp_cluster_run(count_cores, &tile));
    print(match_pulp_cluster_wait());
    for (int32_t i = 0; i < match_pulp_cluster_cores(); i++) {
        print(seen[i]);
    }
    print(match_pulp_cluster_wait());
    return MATCH_OK;
}

static int32_t kernel_without_wait(void *arg)
{
    (void)arg;
    static const match_tile_t tile = {0};
    return match_pulp_cluster_run(count_cores, &tile);
}

static int32_t ne16_without_wait(void *arg)
{
    (void)arg;
    static const match_tile_t tile = {0};
    return match_gap9_ne16_start(count_cores, &tile);
}

static int32_t order[2];
static int32_t ended;

static void note_stride(const match_tile_t *tile)
{
    order[ended++ % 2] = tile->stride_x;
}

/* NE16 takes two kernels, reads their tiles at once, and executes them in order. */
static int32_t ne16_takes_two(void *arg)
{
    (void)arg;
    match_tile_t tile = {.stride_x = 7};
    print(match_gap9_ne16_start(note_stride, &tile));
    tile.stride_x = 8;
    print(match_gap9_ne16_start(note_stride, &tile));
    tile.stride_x = 9;
    print(match_gap9_ne16_start(note_stride, &tile));
    for (int32_t i = 0; i < 3; i++) {
        print(match_gap9_ne16_wait());
    }
    print(order[0]);
    print(order[1]);
    return MATCH_OK;
}

/* NE16's control registers by their words: 0 trigger, 1 acquire, 3 status, 4 running job, 5 soft clear, 8 first job
 * word. */
static int32_t job_queue(void *arg)
{
    (void)arg;
    for (int32_t job = 0; job < 2; job++) {
        print((int32_t)match_ne16_read(1));
        print((int32_t)match_ne16_read(1)); /* one is open already */
        match_ne16_write(8, 70 + (uint32_t)job);
        print((int32_t)match_ne16_read(8));
        match_ne16_write(0, 0);
        print((int32_t)match_ne16_read(3));
    }
    print((int32_t)match_ne16_read(1)); /* full */
    match_ne16_wait_event();
    print((int32_t)match_ne16_read(3));
    print((int32_t)match_ne16_read(4));
    print((int32_t)match_ne16_read(1));
    match_ne16_wait_event(); /* the second one; the third was not triggered */
    match_ne16_wait_event();
    print((int32_t)match_ne16_read(3));
    print((int32_t)match_ne16_read(4));
    match_ne16_write(5, 0);
    print((int32_t)match_ne16_read(3));
    return MATCH_OK;
}

/* Each round, every core adds its neighbour's number of the round before: wrong as soon as one runs ahead. */
static void relay(void *arg)
{
    int32_t *numbers = arg;
    int32_t core = match_pulp_core_id();
    int32_t cores = match_pulp_cluster_cores();
    for (int32_t round = 0; round < 200; round++) {
        int32_t number = numbers[(core + 1) % cores];
        match_pulp_cluster_barrier();
        numbers[core] = number;
        match_pulp_cluster_barrier();
    }
}

static int32_t barrier(void *arg)
{
    (void)arg;
    for (int32_t cores = 1; cores <= match_pulp_cluster_cores(); cores++) {
        int32_t numbers[PULP_CLUSTER_CORES];
        for (int32_t i = 0; i < cores; i++) {
            numbers[i] = i;
        }
        print(match_pulp_cluster_fork(cores, relay, numbers));
        print(numbers[0]);
    }
    print(match_pulp_cluster_fork(match_pulp_cluster_cores() + 1, relay, NULL));
    print(match_pulp_cluster_fork(0, relay, NULL));
    print(match_pulp_core_id());
    return MATCH_OK;
}

typedef struct {
    const char *name;
    int32_t (*layer)(void *);
} scenario_t;

static const scenario_t scenarios[] = {
    {"late_copy_in", late_copy_in},
    {"late_copy_out", late_copy_out},
    {"missing_wait", missing_wait},
    {"lost_transfer", lost_transfer},
    {"second_wait", second_wait},
    {"copy_outside_l1", copy_outside_l1},
    {"whole_l1", whole_l1},
    {"whole_l2", whole_l2},
    {"leaked_block", leaked_block},
    {"byte_behind", byte_behind},
    {"byte_before", byte_before},
    {"after_free", after_free},
    {"late_kernel", late_kernel},
    {"kernel_without_wait", kernel_without_wait},
    {"ne16_without_wait", ne16_without_wait},
    {"ne16_takes_two", ne16_takes_two},
    {"job_queue", job_queue},
    {"barrier", barrier},
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "closed") == 0) {
        print(match_pulp_cluster_offload(late_kernel, NULL));
        print(match_pulp_l1_alloc(1) == NULL);
        print(match_pulp_cluster_fork(1, relay, NULL));
        match_pulp_close();
        return EXIT_SUCCESS;
    }
    if (argc == 2 && strcmp(argv[1], "kernel_of_the_control_core") == 0) {
        const match_tile_t tile = {0};
        count_cores(&tile);
        match_team_barrier();
        print(match_core_id());
        print(seen[0]);
        print(seen[1]);
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; argc == 2 && i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            if (match_pulp_open() != MATCH_OK || match_pulp_open() != MATCH_ERROR_PLATFORM) {
                return EXIT_FAILURE;
            }
            print(match_pulp_cluster_offload(scenarios[i].layer, NULL));
            match_pulp_close();
            return EXIT_SUCCESS;
        }
    }
    return EXIT_FAILURE;
}
