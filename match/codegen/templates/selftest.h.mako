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
 * MATCH_ERROR_STATE: the context is not initialised, or has started. MATCH_ERROR_ARGUMENT: it has no room for inputs and
 * outputs (${prefix}_WORKSPACE_IO_BYTES), test is NULL, or the library is of another compilation than the sample. */
int32_t ${name}_selftest(${name}_context_t *context, match_selftest_t *test);

#ifdef __cplusplus
}
#endif

#endif
