/* Traces what generated layers do, where MATCH_TRACE is defined: every transfer when it is started and when it is waited
 * for, every kernel. Otherwise nothing is left of it.
 *
 * Whoever defines MATCH_TRACE links the five functions: the program for a PC has them in trace.c, which writes the events
 * to stdout. On a chip they may as well read a cycle counter. */
#ifndef MATCH_TRACE_H
#define MATCH_TRACE_H

#ifdef MATCH_TRACE

#include <stdint.h>

#include "match_tile.h"

/* A layer begins: the name of its function and of its operator. */
void match_trace_layer(const char *layer, const char *op);

/* A transfer is started: its block, "fetch" or "store", the operand, the inner memory; where the block begins in what the
 * outer memory holds of the operand, and how much is moved, in bytes. */
void match_trace_transfer(const void *block, const char *kind, const char *operand, const char *memory, uint32_t offset,
    uint32_t bytes);

/* The transfer of this block is waited for. */
void match_trace_wait(const void *block);

/* A kernel is started. */
void match_trace_kernel(const match_tile_t *tile);

/* A kernel call is waited for later than at once: its number in the layer. */
void match_trace_end(uint32_t call);

#define MATCH_TRACE_LAYER(layer, op) match_trace_layer(layer, op)
#define MATCH_TRACE_FETCH(block, operand, memory, offset, bytes) \
    match_trace_transfer(block, "fetch", operand, memory, (uint32_t)(offset), (uint32_t)(bytes))
#define MATCH_TRACE_STORE(block, operand, memory, offset, bytes) \
    match_trace_transfer(block, "store", operand, memory, (uint32_t)(offset), (uint32_t)(bytes))
#define MATCH_TRACE_WAIT(block) match_trace_wait(block)
#define MATCH_TRACE_KERNEL(tile) match_trace_kernel(tile)
#define MATCH_TRACE_END(call) match_trace_end(call)

#else

#define MATCH_TRACE_LAYER(layer, op) ((void)0)
#define MATCH_TRACE_FETCH(block, operand, memory, offset, bytes) ((void)0)
#define MATCH_TRACE_STORE(block, operand, memory, offset, bytes) ((void)0)
#define MATCH_TRACE_WAIT(block) ((void)0)
#define MATCH_TRACE_KERNEL(tile) ((void)0)
#define MATCH_TRACE_END(call) ((void)0)

#endif

#endif
