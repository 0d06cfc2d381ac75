/* Transfers of all shapes, in and out, against the definition of match_copy_t; and how many commands they take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mchan.h"
#include "match_pulp_chip.h"

enum { BYTES = 4096, SHAPES = 3000 };

static uint8_t external[BYTES];
static uint8_t local[BYTES];
static uint8_t expected[BYTES];

static void check(bool right, const char *what, const match_copy_t *s)
{
    if (!right) {
        printf("%s: %u x %u x %u bytes, external strides %u %u, local %u %u\n", what, s->planes, s->rows, s->bytes,
               s->external_plane_stride, s->external_row_stride, s->local_plane_stride, s->local_row_stride);
        exit(1);
    }
}

static void fill(uint8_t *memory)
{
    for (int i = 0; i < BYTES; i++) {
        memory[i] = (uint8_t)rand();
    }
}

/* The definition. */
static void copy(uint8_t *to, const uint8_t *from, const match_copy_t *s, bool in)
{
    for (uint32_t plane = 0; plane < s->planes; plane++) {
        for (uint32_t row = 0; row < s->rows; row++) {
            uint32_t outer = plane * s->external_plane_stride + row * s->external_row_stride;
            uint32_t inner = plane * s->local_plane_stride + row * s->local_row_stride;
            memcpy(to + (in ? inner : outer), from + (in ? outer : inner), s->bytes);
        }
    }
}

static uint32_t below(uint32_t limit)
{
    return (uint32_t)rand() % limit;
}

/* Rows and planes that touch or have gaps, on either side. */
static match_copy_t any_shape(void)
{
    match_copy_t s = {.planes = 1 + below(4), .rows = 1 + below(5), .bytes = 1 + below(20)};
    s.external_row_stride = s.bytes + (below(2) ? below(9) : 0);
    s.local_row_stride = s.bytes + (below(3) ? 0 : below(9));
    s.external_plane_stride = s.rows * s.external_row_stride + (below(2) ? below(30) : 0);
    s.local_plane_stride = s.rows * s.local_row_stride + (below(3) ? 0 : below(9));
    return s;
}

static void test_shape(const match_copy_t *s)
{
    match_pulp_dma_t transfer = {0};
    fill(external);
    fill(local);
    memcpy(expected, local, BYTES);
    copy(expected, external, s, true);
    match_pulp_dma_copy_in(&transfer, local, external, s);
    check(match_pulp_dma_wait(&transfer) == MATCH_OK, "status of a copy in", s);
    check(memcmp(local, expected, BYTES) == 0, "copy in", s);
    fill(local);
    memcpy(expected, external, BYTES);
    copy(expected, local, s, false);
    match_pulp_dma_copy_out(&transfer, local, external, s);
    check(match_pulp_dma_wait(&transfer) == MATCH_OK, "status of a copy out", s);
    check(memcmp(external, expected, BYTES) == 0, "copy out", s);
    check(match_pulp_dma_wait(&transfer) == MATCH_ERROR_TRANSFER, "a second wait", s);
    check(mchan_taken() == 0, "counters", s);
}

static void test_commands(const match_copy_t *s, uint32_t commands, uint32_t strided)
{
    (void)mchan_count();
    test_shape(s);
    mchan_count_t count = mchan_count();
    check(count.commands == 2 * commands && count.strided == 2 * strided, "number of commands", s);
}

int main(void)
{
    for (int i = 0; i < SHAPES; i++) {
        match_copy_t shape = any_shape();
        test_shape(&shape);
    }
    test_commands(&(match_copy_t){1, 1, 64, 0, 0, 0, 0}, 1, 0);
    test_commands(&(match_copy_t){3, 4, 8, 32, 8, 32, 8}, 1, 0);   /* dense on both sides */
    test_commands(&(match_copy_t){3, 4, 8, 80, 20, 32, 8}, 1, 1);  /* planes go on as rows do */
    test_commands(&(match_copy_t){3, 1, 8, 80, 0, 8, 0}, 1, 1);    /* one row in each plane */
    test_commands(&(match_copy_t){3, 4, 8, 100, 20, 32, 8}, 3, 3); /* they do not */
    test_commands(&(match_copy_t){3, 4, 8, 80, 20, 40, 10}, 12, 0); /* rows with gaps in L1 */
    return 0;
}
