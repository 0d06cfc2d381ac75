/* How the samples of a run come in and what they give goes out. A platform may have an implementation of its own; that of
 * io.c reads and writes the two files that are named on the command line. */
#ifndef MATCH_IO_H
#define MATCH_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the program's entry is called, where a platform has a `main` of its own in front of it. */
#ifndef MATCH_MAIN
#define MATCH_MAIN main
#endif

/* Once, before anything else, with the arguments of main. MATCH_OK, or MATCH_ERROR_PLATFORM and a reason on stderr. */
int32_t match_io_open(int argc, char **argv);

/* The next `bytes` of the inputs; false when they have ended. */
bool match_io_read(void *data, size_t bytes);

/* Append `bytes` to the outputs; false when they cannot be written. */
bool match_io_write(const void *data, size_t bytes);

/* At the end: MATCH_OK when all that was written has arrived, else MATCH_ERROR_PLATFORM. */
int32_t match_io_close(void);

#endif
