/* Transfers of all shapes, blocks and images, against the definitions in pulp_external.h and match_copy.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match_status.h"
#include "pulp_external.h"
#include "ram.h"

enum { BYTES = 4096, SHAPES = 2000 };

static uint8_t local[BYTES + 4];
static uint8_t expected[BYTES + 4];
static uint8_t seen[BYTES];

static void check(bool right, const char *what)
{
    if (!right) {
        printf("%s\n", what);
        exit(1);
    }
}

static uint32_t below(uint32_t limit)
{
    return (uint32_t)rand() % limit;
}

static void fill(uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)rand();
    }
}

/* The definition. */
static void copy(uint8_t *to, const uint8_t *from, const match_copy_t *s, bool in)
{
    for (uint32_t plane = 0; plane < s->planes; plane++) {
        for (uint32_t row = 0; row < s->rows; row++) {
            const uint32_t outer = plane * s->external_plane_stride + row * s->external_row_stride;
            const uint32_t inner = plane * s->local_plane_stride + row * s->local_row_stride;
            memcpy(to + (in ? inner : outer), from + (in ? outer : inner), s->bytes);
        }
    }
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

static void read_all(uint8_t *block)
{
    match_pulp_external_transfer_t transfer = {0};
    match_pulp_external_copy_in(&transfer, seen, block, &(match_copy_t){.planes = 1, .rows = 1, .bytes = BYTES});
    check(match_pulp_external_wait(&transfer) == MATCH_OK, "status of a whole block");
}

static void test_shapes(uint8_t *block)
{
    match_pulp_external_transfer_t first = {0};
    match_pulp_external_transfer_t second = {0};
    for (int i = 0; i < SHAPES; i++) {
        const match_copy_t s = any_shape();
        const uint32_t at = below(3);
        fill(local, BYTES);
        read_all(block);
        copy(seen + at, local, &s, false);
        memcpy(expected, seen, BYTES);
        match_pulp_external_copy_out(&first, local, block + at, &s);
        check(match_pulp_external_wait(&first) == MATCH_OK, "status of a copy out");
        read_all(block);
        check(memcmp(seen, expected, BYTES) == 0, "copy out");

        memcpy(expected, local, BYTES);
        copy(expected, seen, &s, true);
        match_pulp_external_copy_in(&second, local, block, &s);
        check(match_pulp_external_wait(&second) == MATCH_OK, "status of a copy in");
        check(memcmp(local, expected, BYTES) == 0, "copy in");
        check(match_pulp_external_wait(&second) == MATCH_ERROR_TRANSFER, "a second wait");
    }
}

/* More at a time than a queue has places. */
static void test_many(uint8_t *block)
{
    enum { MANY = 12, EACH = 100 };
    static match_pulp_external_transfer_t transfers[MANY];
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = EACH};
    read_all(block);
    for (uint32_t i = 0; i < MANY; i++) {
        match_pulp_external_copy_in(&transfers[i], local + i * EACH, block + i * EACH, &shape);
    }
    for (uint32_t i = MANY; i-- > 0;) {
        check(match_pulp_external_wait(&transfers[i]) == MATCH_OK, "status of many");
    }
    check(memcmp(local, seen, MANY * EACH) == 0, "many transfers");
}

/* The first of more transfers than there are queues has ended when the last one starts where it was. */
static void test_a_wait_is_for_one_transfer(uint8_t *block)
{
    enum { MANY = 9, EACH = 100, LAST = (MANY - 1) * EACH };
    static match_pulp_external_transfer_t transfers[MANY];
    const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = EACH};
    read_all(block);
    memset(local, ~seen[LAST], BYTES);
    for (uint32_t i = 0; i < MANY; i++) {
        match_pulp_external_copy_in(&transfers[i], local + i * EACH, block + i * EACH, &shape);
    }
    check(match_pulp_external_wait(&transfers[0]) == MATCH_OK, "status of the first");
    check(memcmp(local, seen, EACH) == 0 && local[LAST] != seen[LAST], "a wait for another transfer");
    for (uint32_t i = 1; i < MANY; i++) {
        check(match_pulp_external_wait(&transfers[i]) == MATCH_OK, "status of the others");
    }
    check(memcmp(local, seen, MANY * EACH) == 0, "all of them");
}

static void test_refusals(uint8_t *block)
{
    match_pulp_external_transfer_t transfer = {0};
    check(match_pulp_external_wait(&transfer) == MATCH_ERROR_TRANSFER, "nothing to wait for");
    match_pulp_external_copy_in(&transfer, local, block, &(match_copy_t){.planes = 1, .rows = 1, .bytes = BYTES + 1});
    check(match_pulp_external_wait(&transfer) == MATCH_ERROR_TRANSFER, "behind the block");
    match_pulp_external_copy_in(&transfer, local, block - 1, &(match_copy_t){.planes = 1, .rows = 1, .bytes = 4});
    check(match_pulp_external_wait(&transfer) == MATCH_ERROR_TRANSFER, "in front of it");
    check(match_pulp_external_alloc(PULP_TEST_BYTES) == NULL, "more than there is");
}

static void test_images(void)
{
    const match_image_t image = {RAM_FILE, RAM_FILE_BYTES, NULL};
    const match_image_t unknown = {"other.bin", RAM_FILE_BYTES, NULL};
    const match_image_t longer = {RAM_FILE, RAM_FILE_BYTES + 1, NULL};
    uint8_t *const small = match_pulp_external_alloc(RAM_FILE_BYTES - 1);
    uint8_t *const block = match_pulp_external_alloc(RAM_FILE_BYTES + 1);
    match_pulp_external_transfer_t transfer = {0};
    check(small != NULL && block != NULL, "two blocks");
    check(match_pulp_external_load(small, &image) == MATCH_ERROR_TRANSFER, "an image that does not fit");
    check(match_pulp_external_load(block, &unknown) == MATCH_ERROR_TRANSFER, "a file that is not there");
    check(match_pulp_external_load(block, &longer) == MATCH_ERROR_TRANSFER, "a file that is too short");
    check(match_pulp_external_load(block, &image) == MATCH_OK, "an image");
    for (uint32_t at = 0; at < RAM_FILE_BYTES; at += BYTES) {
        const uint32_t count = RAM_FILE_BYTES - at < BYTES ? RAM_FILE_BYTES - at : BYTES;
        match_pulp_external_copy_in(&transfer, local, block + at,
                                    &(match_copy_t){.planes = 1, .rows = 1, .bytes = count});
        check(match_pulp_external_wait(&transfer) == MATCH_OK && memcmp(local, ram_file + at, count) == 0, "its bytes");
    }
    match_pulp_external_free(block);
    match_pulp_external_free(small);
    match_pulp_external_free(NULL);
}

int main(void)
{
    fill(ram, RAM_BYTES);
    fill(ram_file, RAM_FILE_BYTES);
    uint8_t *const block = match_pulp_external_alloc(BYTES);
    check(block != NULL && (uintptr_t)block % 4 == 0, "a block");
    for (int cluster = 0; cluster < 2; cluster++) {
        ram_on_cluster(cluster);
        test_shapes(block);
        test_many(block);
        test_a_wait_is_for_one_transfer(block);
        test_refusals(block);
    }
    ram_on_cluster(0);
    test_images();
    (void)ram_commands();
    read_all(block);
    check(ram_commands() == 1, "one command for what is contiguous");
    match_pulp_external_free(block);
    check(ram_quiet(), "something is left");
    return 0;
}
