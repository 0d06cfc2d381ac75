/* Dumps what generated layers read and wrote in main memory, where MATCH_DUMP is defined. Otherwise nothing is left of it.
 *
 * Whoever defines MATCH_DUMP links the function: the program has it in dump.c, which writes a line of JSON to stdout. */
#ifndef MATCH_DUMP_H
#define MATCH_DUMP_H

#ifdef MATCH_DUMP

#include <stdint.h>

/* The bytes of a tensor of a layer: the name of the layer's function, and of the operand. */
void match_dump_tensor(const char *layer, const char *operand, const void *data, uint32_t bytes);

#define MATCH_DUMP_TENSOR(layer, operand, data, bytes) match_dump_tensor(layer, operand, data, bytes)

#else

#define MATCH_DUMP_TENSOR(layer, operand, data, bytes) ((void)0)

#endif

#endif
