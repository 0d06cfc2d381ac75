/* Files in flash: a table of partitions, one of which is a readfs, the read-only file system of PULP's tools. */
#ifndef PULP_OPEN_FILES_H
#define PULP_OPEN_FILES_H

#include <stdint.h>

/* Where a file begins in flash, and its bytes. MATCH_ERROR_TRANSFER if there is none of this name. */
int32_t match_pulp_open_files_find(const char *name, uint32_t *address, uint32_t *bytes);

#endif
