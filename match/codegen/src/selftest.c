/* What layers dump beside what is expected of them. Where the library is built with MATCH_DUMP, this takes the place of
 * dump.c; without, nobody calls match_dump_tensor. */
#include "match_selftest.h"

#include <stddef.h>

#ifndef MATCH_DUMP
#define MATCH_DUMP
#endif
#include "match_dump.h"

/* The test under way, and what comes next; NULL: there is none. */
static match_selftest_t *current;
static const match_expected_t *next;
static const match_expected_t *behind;

/* CRC-32 as zlib has it, four bits at a time. */
static uint32_t crc32_of(const uint8_t *data, uint32_t bytes)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = 0xffffffffu;
    for (uint32_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

void match_selftest_begin(match_selftest_t *test, const match_expected_t *expected, uint32_t count)
{
    *test = (match_selftest_t){.checked = 0, .wrong = NULL};
    current = test;
    next = expected;
    behind = expected + count;
}

void match_selftest_end(void)
{
    current = NULL;
}

void match_selftest_compare(match_selftest_t *test, const match_expected_t *expected, const void *data, uint32_t bytes)
{
    test->checked++;
    if (test->wrong == NULL && crc32_of(data, bytes) != expected->crc) {
        test->wrong = expected;
    }
}

void match_dump_tensor(const char *layer, const char *operand, const void *data, uint32_t bytes)
{
    (void)layer;
    (void)operand;
    if (current != NULL && next != behind) {
        match_selftest_compare(current, next, data, bytes);
        next++;
    }
}

/* Of networks with external memory outputs alone are expected. */
void match_dump_piece(const char *layer, const char *operand, const void *data, uint32_t bytes, uint32_t first,
                      uint32_t whole)
{
    (void)layer;
    (void)operand;
    (void)data;
    (void)bytes;
    (void)first;
    (void)whole;
}
