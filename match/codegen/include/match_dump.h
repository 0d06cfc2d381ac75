/* Dumps what generated layers read and wrote in main memory and outside of it, where MATCH_DUMP is defined. Otherwise
 * nothing is left of it.
 *
 * Whoever defines MATCH_DUMP links the functions: the program has them in dump.c, which writes a line of JSON for each
 * tensor to stdout. */
#ifndef MATCH_DUMP_H
#define MATCH_DUMP_H

#ifdef MATCH_DUMP

#include <stdint.h>

/* The bytes of a tensor of a layer: the name of the layer's function, and of the operand. */
void match_dump_tensor(const char *layer, const char *operand, const void *data, uint32_t bytes);

/* A piece of a tensor that no core can read where it is: `bytes` bytes from number `first` on, of `whole`. The pieces of
 * a tensor follow one another. */
void match_dump_piece(const char *layer, const char *operand, const void *data, uint32_t bytes, uint32_t first,
                      uint32_t whole);

#define MATCH_DUMP_TENSOR(layer, operand, data, bytes) match_dump_tensor(layer, operand, data, bytes)

/* Ends the layer's function if the tensor cannot be brought in. */
#define MATCH_DUMP_EXTERNAL(dump, layer, operand, data, bytes) MATCH_TRY(dump(layer, operand, data, bytes))

#else

#define MATCH_DUMP_TENSOR(layer, operand, data, bytes) ((void)0)
#define MATCH_DUMP_EXTERNAL(dump, layer, operand, data, bytes) ((void)0)

#endif

#endif
