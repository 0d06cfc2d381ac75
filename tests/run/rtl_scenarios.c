/* Programs for the simulated core, by the number that their input is. */
#include <string.h>

#include "match_io.h"
#include "match_pulp_chip.h"

enum { PLANES = 2, ROWS = 3, BYTES = 5, ROW_STRIDE = 7, PLANE_STRIDE = 40 };

static uint8_t source[80];
static uint8_t back[80];

/* Two planes of three rows, packed in L1, and back to where they came from. */
static int32_t copy(void)
{
    const match_copy_t shape = {
        .planes = PLANES,
        .rows = ROWS,
        .bytes = BYTES,
        .external_plane_stride = PLANE_STRIDE,
        .external_row_stride = ROW_STRIDE,
        .local_plane_stride = ROWS * BYTES,
        .local_row_stride = BYTES,
    };
    for (uint32_t i = 0; i < sizeof source; i++) {
        source[i] = (uint8_t)(i + 1);
    }
    uint8_t *local = match_pulp_l1_alloc(PLANES * ROWS * BYTES);
    match_pulp_dma_t transfer = {0};
    match_pulp_dma_copy_in(&transfer, local, source, &shape);
    int32_t status = match_pulp_dma_wait(&transfer);
    bool right = match_io_write(local, PLANES * ROWS * BYTES);
    match_pulp_dma_copy_out(&transfer, local, back, &shape);
    status |= match_pulp_dma_wait(&transfer);
    right = right && match_io_write(back, sizeof back) && match_pulp_dma_wait(&transfer) == MATCH_ERROR_TRANSFER;
    match_pulp_l1_free(local);
    return right ? status : 1;
}

/* All of both memories, and not a word more. */
static int32_t sizes(void)
{
    uint8_t *l1 = match_pulp_l1_alloc(PULP_L1_BYTES);
    uint8_t *l2 = match_pulp_l2_alloc(PULP_L2_BYTES);
    if (l1 == NULL || l2 == NULL || match_pulp_l1_alloc(1) != NULL || match_pulp_l2_alloc(1) != NULL) {
        return 1;
    }
    l1[PULP_L1_BYTES - 1] = 1;
    l2[PULP_L2_BYTES - 1] = 1;
    return !match_io_write(&l1[PULP_L1_BYTES - 1], 1);
}

static int32_t beyond_l1(void)
{
    uint8_t *l1 = match_pulp_l1_alloc(PULP_L1_BYTES);
    return *(volatile uint8_t *)(l1 + PULP_L1_BYTES);
}

static int32_t dma_beyond_l1(void)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = 8};
    match_pulp_dma_t transfer = {0};
    match_pulp_dma_copy_in(&transfer, (uint8_t *)match_pulp_l1_alloc(PULP_L1_BYTES) + PULP_L1_BYTES - 4, source,
                           &shape);
    return match_pulp_dma_wait(&transfer);
}

static int32_t lost_transfers(void)
{
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = 8};
    void *local = match_pulp_l1_alloc(8);
    for (int i = 0; i < 17; i++) {
        match_pulp_dma_t transfer = {0};
        match_pulp_dma_copy_in(&transfer, local, source, &shape);
    }
    return 0;
}

static int32_t unknown_instruction(void)
{
    __asm__ volatile(".word 0");
    return 0;
}

static int32_t no_function(void)
{
    int32_t (*volatile none)(void) = (int32_t(*)(void))0x40000000;
    return none();
}

static int32_t fails(void)
{
    return 3;
}

int main(int argc, char **argv)
{
    static int32_t (*const scenarios[])(void) = {
        copy, sizes, beyond_l1, dma_beyond_l1, lost_transfers, unknown_instruction, no_function, fails,
    };
    uint8_t number = 0;
    if (match_io_open(argc, argv) != MATCH_OK || !match_io_read(&number, 1) || match_io_read(&number, 1)) {
        return 2;
    }
    int32_t status = match_pulp_open();
    return status != MATCH_OK ? 2 : scenarios[number]();
}
