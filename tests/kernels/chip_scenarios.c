/* What match_host_chip.c does in one situation, named by the argument; prints numbers for the test to judge. */
#include <stdio.h>
#include <string.h>

#include "match_chip.h"

enum { BYTES = 4, MOST = 64 };

static const match_copy_t four_bytes = {.planes = 1, .rows = 1, .bytes = BYTES};
static uint8_t external[BYTES] = {1, 2, 3, 4};

static void print(int32_t value)
{
    printf("%d\n", (int)value);
}

static void late(uint8_t *local)
{
    match_chip_transfer_t in = 0;
    match_chip_transfer_t out = 0;
    match_chip_copy_in(&in, local, external, &four_bytes);
    external[0] = 9; /* read as late as the wait */
    print(match_chip_wait_transfer(&in));
    print(local[0]);
    match_chip_copy_out(&out, local, external, &four_bytes);
    local[0] = 7;
    print(match_chip_wait_transfer(&out));
    print(external[0]);
}

static void waits(uint8_t *local)
{
    match_chip_transfer_t transfer = 0;
    print(match_chip_wait_transfer(&transfer)); /* for nothing */
    match_chip_copy_in(&transfer, local, external, &four_bytes);
    print(match_chip_wait_transfer(&transfer));
    print(match_chip_wait_transfer(&transfer)); /* again */
}

static void outside(uint8_t *local)
{
    match_chip_transfer_t transfer = 0;
    match_chip_copy_in(&transfer, local + 1, external, &four_bytes);
    print(match_chip_wait_transfer(&transfer));
    match_chip_copy_out(&transfer, local + 1, external, &four_bytes);
    print(match_chip_wait_transfer(&transfer));
}

static void many(uint8_t *local)
{
    match_chip_transfer_t transfers[MOST + 1] = {0};
    for (int32_t i = 0; i <= MOST; i++) {
        match_chip_copy_in(&transfers[i], local, external, &four_bytes);
    }
    print(match_chip_wait_transfer(&transfers[MOST - 1]));
    print(match_chip_wait_transfer(&transfers[MOST])); /* never started */
    match_chip_copy_in(&transfers[MOST], local, external, &four_bytes);
    print(match_chip_wait_transfer(&transfers[MOST]));
}

static void room(uint8_t *local)
{
    (void)local;
    print(match_chip_alloc(MATCH_CHIP_SCRATCHPAD_BYTES - BYTES + 1) == NULL);
    print(match_chip_alloc(MATCH_CHIP_SCRATCHPAD_BYTES - BYTES) != NULL);
    print(match_chip_main_alloc(MATCH_CHIP_MAIN_BYTES + 1) == NULL);
    print(match_chip_main_alloc(MATCH_CHIP_MAIN_BYTES) != NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(uint8_t *local);
    } scenarios[] = {{"late", late}, {"waits", waits}, {"outside", outside}, {"many", many}, {"room", room}};
    int32_t status = argc == 2 ? match_chip_open() : MATCH_ERROR_PLATFORM;
    for (size_t i = 0; status == MATCH_OK && i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run(match_chip_alloc(BYTES));
        }
    }
    match_chip_close();
    return status;
}
