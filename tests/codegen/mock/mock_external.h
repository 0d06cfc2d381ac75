/* An external memory for tests: its addresses cannot be followed, its transfers are as late as the API allows. */
#ifndef MOCK_EXTERNAL_H
#define MOCK_EXTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "match_copy.h"
#include "match_status.h"

typedef struct {
    uint8_t *local;
    uint8_t *external;
    match_copy_t shape;
    bool out;
    bool active;
} mock_external_transfer_t;

void *mock_external_alloc(uint32_t bytes);
void mock_external_free(void *block);
void mock_external_copy_in(mock_external_transfer_t *transfer, void *local, const void *external,
    const match_copy_t *shape);
void mock_external_copy_out(mock_external_transfer_t *transfer, const void *local, void *external,
    const match_copy_t *shape);
int32_t mock_external_wait(mock_external_transfer_t *transfer);

/* Transfers that were started and not waited for. */
int32_t mock_external_outstanding(void);

/* A tensor of so many bytes from stdin, in main or in external memory; NULL if there are none. */
void *mock_external_tensor(uint32_t bytes, bool external);

/* The bytes of a tensor, in main memory; gives back an external one. */
uint8_t *mock_external_bytes(void *tensor, uint32_t bytes, bool external);

#endif
