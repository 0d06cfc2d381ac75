/* What the DIANA host platform does in one situation, named by the argument; prints numbers for the test to judge. */
#include <stdio.h>
#include <string.h>

#include "match_diana_chip.h"

enum { BYTES = 4 };

static const match_copy_t four_bytes = {.planes = 1, .rows = 1, .bytes = BYTES};
static uint8_t external[BYTES] = {1, 2, 3, 4};
static int32_t calls;

static void print(int32_t value)
{
    printf("%d\n", value);
}

/* The core has waited when the call returns. */
static int32_t blocking_copies(void *arg)
{
    (void)arg;
    uint8_t *local = match_diana_l1_alloc(BYTES);
    uint8_t *weights = match_diana_weight_alloc(BYTES);
    match_diana_dma_t transfer = {0};
    match_diana_dma_copy_in(&transfer, local, external, &four_bytes);
    external[0] = 9;
    print(local[0]);
    print(match_diana_dma_wait(&transfer));
    match_diana_dma_copy_in(&transfer, weights, external, &four_bytes);
    print(weights[0]);
    print(match_diana_dma_wait(&transfer));
    memset(local, 5, BYTES);
    match_diana_dma_copy_out(&transfer, local, external, &four_bytes);
    memset(local, 6, BYTES);
    print(external[0]);
    print(match_diana_dma_wait(&transfer));
    match_diana_weight_free(weights);
    match_diana_l1_free(local);
    return MATCH_OK;
}

static int32_t missing_wait(void *arg)
{
    (void)arg;
    uint8_t *local = match_diana_l1_alloc(BYTES);
    match_diana_dma_t transfer = {0};
    match_diana_dma_copy_in(&transfer, local, external, &four_bytes);
    match_diana_l1_free(local);
    return MATCH_OK;
}

static int32_t second_wait(void *arg)
{
    (void)arg;
    match_diana_dma_t transfer = {0};
    return match_diana_dma_wait(&transfer);
}

static int32_t copy_outside(void *arg)
{
    (void)arg;
    uint8_t *local = match_diana_weight_alloc(BYTES);
    match_diana_dma_t transfer = {0};
    match_diana_dma_copy_in(&transfer, local + 1, external, &four_bytes);
    int32_t status = match_diana_dma_wait(&transfer);
    match_diana_weight_free(local);
    return status;
}

/* Each memory has its own bytes. */
static int32_t whole_memories(void *arg)
{
    (void)arg;
    uint8_t *local = match_diana_l1_alloc(DIANA_L1_BYTES);
    uint8_t *weights = match_diana_weight_alloc(DIANA_WEIGHT_BYTES);
    print(local != NULL && weights != NULL);
    print(match_diana_l1_alloc(1) == NULL && match_diana_weight_alloc(1) == NULL);
    match_diana_weight_free(weights);
    match_diana_l1_free(local);
    return MATCH_OK;
}

static int32_t leaked_weights(void *arg)
{
    (void)arg;
    return match_diana_weight_alloc(BYTES) != NULL ? MATCH_OK : MATCH_ERROR_MEMORY;
}

static void count(const match_tile_t *tile)
{
    (void)tile;
    calls += 1;
}

static int32_t late_kernel(void *arg)
{
    (void)arg;
    const match_tile_t tile = {0};
    print(match_diana_start(count, &tile));
    print(calls);
    print(match_diana_start(count, &tile)); /* one at a time */
    print(match_diana_wait());
    print(calls);
    return match_diana_wait(); /* nothing to wait for */
}

static int32_t kernel_without_wait(void *arg)
{
    (void)arg;
    const match_tile_t tile = {0};
    return match_diana_start(count, &tile);
}

typedef struct {
    const char *name;
    int32_t (*run)(void *);
} scenario_t;

static const scenario_t scenarios[] = {
    {"blocking_copies", blocking_copies},
    {"missing_wait", missing_wait},
    {"second_wait", second_wait},
    {"copy_outside", copy_outside},
    {"whole_memories", whole_memories},
    {"leaked_weights", leaked_weights},
    {"late_kernel", late_kernel},
    {"kernel_without_wait", kernel_without_wait},
};

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    if (strcmp(argv[1], "closed") == 0) {
        print(match_diana_offload(second_wait, NULL));
        print(match_diana_l1_alloc(1) == NULL);
        print(match_diana_open());
        print(match_diana_open());
        match_diana_close();
        return 0;
    }
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (strcmp(scenarios[i].name, argv[1]) == 0 && match_diana_open() == MATCH_OK) {
            print(match_diana_offload(scenarios[i].run, NULL));
            match_diana_close();
            return 0;
        }
    }
    return 2;
}
