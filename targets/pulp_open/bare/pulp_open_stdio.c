/* What picolibc asks for: characters go to the byte port, a program's status to the exit register. */
#include <stdio.h>
#include <unistd.h>

#include "pulp_open_registers.h"

static int put(char character, FILE *file)
{
    (void)file;
    *(volatile uint8_t *)PULP_OPEN_STDOUT = (uint8_t)character;
    return (unsigned char)character;
}

static FILE port = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);

FILE *const stdout = &port;
FILE *const stderr = &port;

void _exit(int status)
{
    match_pulp_open_write(PULP_OPEN_EXIT, PULP_OPEN_EXIT_NOW | (uint32_t)status);
    for (;;) {
    }
}
