/* ${comment(name)}: a sample, and what the network computes of it (match selftest). */
#ifndef ${prefix}_SELFTEST_H
#define ${prefix}_SELFTEST_H

#include "${name}.h"
#include "match_selftest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the network once, of the sample, and compares outputs; in front of them also what each layer on a module reads and
 * writes, if the library is built with MATCH_DUMP. Returns the status of the run, with which test says what differs.
 * MATCH_ERROR_STATE: the context is not initialised. MATCH_ERROR_BUSY: it has a run that was started. MATCH_ERROR_SIZE: it
 * has no room for inputs and outputs (${prefix}_WORKSPACE_IO_BYTES). MATCH_ERROR_ARGUMENT: test is NULL. MATCH_ERROR_OTHER:
 * the library is of another compilation than the sample. */
int32_t ${name}_selftest(${name}_context_t *context, match_selftest_t *test);

#ifdef __cplusplus
}
#endif

#endif
