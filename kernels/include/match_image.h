/* What an external memory holds when a network begins: constants. */
#ifndef MATCH_IMAGE_H
#define MATCH_IMAGE_H

#include <stdint.h>

typedef struct {
    const char *file;    /* its name, where the platform has files */
    uint32_t bytes;
    const uint8_t *data; /* where a core reads it; NULL: the platform finds the file */
} match_image_t;

#endif
