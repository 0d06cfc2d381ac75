/* Samples from inputs.bin, outputs to outputs.bin, by way of semihosting: a debugger or simulator opens the files in the
 * folder it runs in. */
#include "match_io.h"

#include <stdio.h>
#include <string.h>

#include "match_status.h"

/* Operations, as the RISC-V semihosting specification takes them over from Arm's. */
enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5, SYS_READ = 6 };

/* How files are opened: as "rb", "wb". */
enum { MODE_READ = 1, MODE_WRITE = 5 };

static int32_t in = -1;
static int32_t out = -1;

static int32_t call(int32_t operation, const void *argument)
{
    register int32_t result __asm__("a0") = operation;
    register const void *parameter __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n"
                     ".option push\n"
                     ".option norvc\n"
                     "slli zero, zero, 0x1f\n"
                     "ebreak\n"
                     "srai zero, zero, 7\n"
                     ".option pop"
                     : "+r"(result)
                     : "r"(parameter)
                     : "memory");
    return result;
}

static int32_t open_file(const char *name, uintptr_t mode)
{
    const uintptr_t arguments[] = {(uintptr_t)name, mode, strlen(name)};
    return call(SYS_OPEN, arguments);
}

/* Whether all `bytes` have been read or written: the call returns how many have not. */
static bool transfer(int32_t operation, int32_t file, const void *data, size_t bytes)
{
    const uintptr_t arguments[] = {(uintptr_t)file, (uintptr_t)data, bytes};
    return call(operation, arguments) == 0;
}

/* Nothing can be lost in it, as each write is complete when the call returns. */
static void close_file(int32_t file)
{
    const uintptr_t arguments[] = {(uintptr_t)file};
    if (file >= 0) {
        (void)call(SYS_CLOSE, arguments);
    }
}

int32_t match_io_open(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    in = open_file("inputs.bin", MODE_READ);
    out = in >= 0 ? open_file("outputs.bin", MODE_WRITE) : -1;
    if (out < 0) {
        printf("error: %s cannot be opened\n", in < 0 ? "inputs.bin" : "outputs.bin");
        return MATCH_ERROR_PLATFORM;
    }
    return MATCH_OK;
}

bool match_io_read(void *data, size_t bytes)
{
    return transfer(SYS_READ, in, data, bytes);
}

bool match_io_write(const void *data, size_t bytes)
{
    return transfer(SYS_WRITE, out, data, bytes);
}

int32_t match_io_close(void)
{
    close_file(in);
    close_file(out);
    return MATCH_OK;
}
