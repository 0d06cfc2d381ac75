/* ${shared.title}
 * Nothing in it depends on a network: programs of several share it. */
#ifndef ${shared.guard}
#define ${shared.guard}

#include <stdbool.h>
#include <stdint.h>

% for header in shared.headers:
#include "${header}"
% endfor
#include "match_status.h"

/* A block of ${shared.memory}, and the transfer that fills it or writes it back, if one is under way. */
typedef struct {
    uint8_t *data;
    ${shared.transfer} transfer;
    bool pending;
} ${shared.name}_block_t;

/* Blocks without memory, and without transfers. */
void ${shared.name}_idle(${shared.name}_block_t *blocks, uint32_t count);

/* Starts the transfer of `bytes` bytes, or of a shape, into a block. */
void ${shared.name}_load(${shared.name}_block_t *block, const uint8_t *from, uint32_t bytes);
void ${shared.name}_copy_in(${shared.name}_block_t *block, const uint8_t *from, const match_copy_t *shape);

/* Starts the write-back of so much of a block. */
void ${shared.name}_store(${shared.name}_block_t *block, uint8_t *to, uint32_t bytes);
void ${shared.name}_copy_out(${shared.name}_block_t *block, uint8_t *to, const match_copy_t *shape);

/* Waits for the transfer of a block, if one is under way. */
int32_t ${shared.name}_wait(${shared.name}_block_t *block);

/* Waits for the transfers of all blocks, even if one fails. Returns `status` unless that is MATCH_OK, else that of the
 * first transfer that failed. */
int32_t ${shared.name}_settle(${shared.name}_block_t *blocks, uint32_t count, int32_t status);
% if not shared.api:

#ifdef MATCH_DUMP
/* Dumps a tensor in external memory, which passes ${shared.memory} piece by piece. */
int32_t ${shared.name}_dump(const char *layer, const char *operand, const uint8_t *tensor, uint32_t bytes);
#endif
% endif
% if shared.api:

/* A tile with nothing in it. */
void ${shared.name}_clear(match_tile_t *tile);

/* Runs a kernel on a tile, to its end. */
int32_t ${shared.name}_compute(match_kernel_t kernel, const match_tile_t *tile);
% if shared.under_way:

/* The same in two steps, between which the caller goes on: starts it; waits for the oldest one that runs, which is call
 * number `call` of the layer. At most ${shared.under_way} may be under way.${" The tile has been read when the first returns." if shared.under_way > 1 else ""} */
int32_t ${shared.name}_start(match_kernel_t kernel, const match_tile_t *tile);
int32_t ${shared.name}_end(uint32_t call);

/* Ends all that are under way, if a layer has failed: returns `status`. */
int32_t ${shared.name}_stop(int32_t status);
% endif

enum { ${shared.most} = ${shared.limit} };

/* A layer: what executes it; the bytes of each of its blocks, and how many there are, at most ${shared.most}. */
typedef struct {
    int32_t (*execute)(const void *arguments, ${shared.name}_block_t *blocks);
    const uint32_t *bytes;
    uint32_t count;${" /* all that follow too */" if shared.private else ""}
% for operand, _ in shared.private:
    uint32_t ${operand}; /* in the memory of the ${operand} */
% endfor
} ${shared.name}_layer_t;

/* Reserves the blocks of a layer, executes it, waits for all that is under way behind it, even if it fails, and gives
 * the blocks back. */
int32_t ${shared.name}_run(const ${shared.name}_layer_t *layer, const void *arguments);
% endif

#endif
