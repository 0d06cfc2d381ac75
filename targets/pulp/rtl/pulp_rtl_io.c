/* Samples and outputs pass through registers of the simulator, which copies whole blocks. */
#include "match_io.h"

#include "match_status.h"
#include "pulp_open_registers.h"

#define FILE_ADDRESS 0x80000004
#define FILE_READ 0x80000008
#define FILE_WRITE 0x8000000c

static bool transfer(uint32_t direction, const void *data, size_t bytes)
{
    match_pulp_open_write(FILE_ADDRESS, (uint32_t)(uintptr_t)data);
    match_pulp_open_write(direction, bytes);
    return match_pulp_open_read(direction) == bytes;
}

int32_t match_io_open(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return MATCH_OK;
}

bool match_io_read(void *data, size_t bytes)
{
    return transfer(FILE_READ, data, bytes);
}

bool match_io_write(const void *data, size_t bytes)
{
    return transfer(FILE_WRITE, data, bytes);
}

int32_t match_io_close(void)
{
    return MATCH_OK;
}
