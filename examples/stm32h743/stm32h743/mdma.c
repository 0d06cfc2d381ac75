/* Registers and bits: reference manual RM0433, chapters MDMA and RCC. */
#include "mdma.h"

#include <stdbool.h>

#include "match_chip.h"

/* One side of a transfer: its first byte, bytes between planes and between rows. */
typedef struct {
    uintptr_t address;
    uint32_t plane_stride;
    uint32_t row_stride;
} side_t;

typedef struct {
    volatile uint32_t isr, ifcr, esr, cr, tcr, bndtr, sar, dar, brur, lar, tbr, reserved, mar, mdr, unused[2];
} channel_t;

typedef enum { FROM_TCM = 1 << 16, TO_TCM = 1 << 17 } direction_t;

enum { CHANNELS = 16, BUFFER_BYTES = 128, MOST_BYTES = 65536, MOST_ROWS = 4096, MOST_GAP = 65535 };
enum { ERROR = 1 << 0, COMPLETE = 1 << 1, ALL_FLAGS = 0x1f, ENABLE = 1 << 0, REQUEST = 1 << 16 };

static channel_t *const mdma = (channel_t *)0x52000040;
static volatile uint32_t *const rcc_ahb3enr = (volatile uint32_t *)0x580244d4;
static uint32_t busy; /* a bit for each channel */

void match_mdma_open(void)
{
    *rcc_ahb3enr |= 1; /* MDMAEN */
    busy = 0;
}

static bool finished(const channel_t *channel)
{
    while ((channel->isr & (ERROR | COMPLETE)) == 0) {
    }
    return (channel->isr & ERROR) == 0;
}

/* Rows of one plane. In words where everything lies at multiples of 4, else in bytes. */
static void start(channel_t *channel, side_t from, side_t to, uint32_t rows, uint32_t bytes, direction_t direction)
{
    uint32_t from_gap = rows > 1 ? from.row_stride - bytes : 0;
    uint32_t to_gap = rows > 1 ? to.row_stride - bytes : 0;
    uint32_t size = ((from.address | to.address | bytes | from_gap | to_gap) & 3) == 0 ? 2 : 0;
    channel->cr = 0;
    channel->ifcr = ALL_FLAGS;
    /* One request by software (30) moves all rows (28), in buffers (18); both addresses grow (0, 2) by elements (8, 10)
     * of the same size (4, 6). */
    channel->tcr = 1u << 30 | 2u << 28 | (BUFFER_BYTES - 1u) << 18 | size << 10 | size << 8 | size << 6 | size << 4 |
                   2u << 2 | 2u;
    channel->bndtr = (rows - 1) << 20 | bytes;
    channel->brur = to_gap << 16 | from_gap;
    channel->sar = (uint32_t)from.address;
    channel->dar = (uint32_t)to.address;
    channel->lar = 0;
    channel->tbr = (uint32_t)direction;
    channel->mar = 0;
    __asm volatile("dsb" ::: "memory");
    channel->cr = ENABLE;
    channel->cr = ENABLE | REQUEST;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static side_t moved(side_t side, uint32_t plane, uint32_t row, uint32_t byte)
{
    side.address += plane * side.plane_stride + row * side.row_stride + byte;
    return side;
}

/* The core waits for all planes but the last, and between pieces that exceed the counters of a channel. */
static void copy(channel_t *channel, side_t from, side_t to, const match_copy_t *shape, direction_t direction)
{
    bool strided = shape->bytes <= MOST_BYTES && from.row_stride - shape->bytes <= MOST_GAP &&
                   to.row_stride - shape->bytes <= MOST_GAP;
    uint32_t most_rows = strided ? MOST_ROWS : 1;
    bool started = false;
    for (uint32_t plane = 0; plane < shape->planes; plane++) {
        for (uint32_t row = 0; row < shape->rows; row += most_rows) {
            for (uint32_t byte = 0; byte < shape->bytes; byte += MOST_BYTES) {
                if (started && !finished(channel)) {
                    return; /* the wait sees the error, too */
                }
                start(channel, moved(from, plane, row, byte), moved(to, plane, row, byte),
                      smaller(shape->rows - row, most_rows), smaller(shape->bytes - byte, MOST_BYTES), direction);
                started = true;
            }
        }
    }
}

/* A channel that has nothing to do; its number is the transfer's. */
static channel_t *take(match_chip_transfer_t *transfer)
{
    uint32_t index = 0;
    while (index < CHANNELS - 1 && (busy >> index & 1) != 0) {
        index++;
    }
    busy |= 1u << index;
    *transfer = index + 1;
    return &mdma[index];
}

void match_chip_copy_in(match_chip_transfer_t *transfer, void *local, const void *external, const match_copy_t *shape)
{
    const side_t from = {(uintptr_t)external, shape->external_plane_stride, shape->external_row_stride};
    const side_t to = {(uintptr_t)local, shape->local_plane_stride, shape->local_row_stride};
    copy(take(transfer), from, to, shape, TO_TCM);
}

void match_chip_copy_out(match_chip_transfer_t *transfer, const void *local, void *external, const match_copy_t *shape)
{
    const side_t from = {(uintptr_t)local, shape->local_plane_stride, shape->local_row_stride};
    const side_t to = {(uintptr_t)external, shape->external_plane_stride, shape->external_row_stride};
    copy(take(transfer), from, to, shape, FROM_TCM);
}

int32_t match_chip_wait_transfer(match_chip_transfer_t *transfer)
{
    if (*transfer == 0) {
        return MATCH_ERROR_TRANSFER;
    }
    uint32_t index = *transfer - 1;
    *transfer = 0;
    busy &= ~(1u << index);
    return finished(&mdma[index]) ? MATCH_OK : MATCH_ERROR_TRANSFER;
}
