/* Samples from a file, outputs to another: the program's two arguments. */
#include "match_io.h"

#include <stdio.h>

#include "match_status.h"

/* NULL while there are none. */
static FILE *in;
static FILE *out;

int32_t match_io_open(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: network INPUTS OUTPUTS\n");
        return MATCH_ERROR_PLATFORM;
    }
    in = fopen(argv[1], "rb");
    out = fopen(argv[2], "wb");
    if (in == NULL || out == NULL) {
        fprintf(stderr, "error: %s cannot be opened\n", in == NULL ? argv[1] : argv[2]);
        match_io_close();
        return MATCH_ERROR_PLATFORM;
    }
    return MATCH_OK;
}

bool match_io_read(void *data, size_t bytes)
{
    return fread(data, bytes, 1, in) == 1;
}

bool match_io_write(const void *data, size_t bytes)
{
    return fwrite(data, bytes, 1, out) == 1;
}

int32_t match_io_close(void)
{
    const bool unread = in != NULL && fclose(in) != 0;
    const bool lost = out != NULL && fclose(out) != 0;
    in = NULL;
    out = NULL;
    return unread || lost ? MATCH_ERROR_PLATFORM : MATCH_OK;
}
