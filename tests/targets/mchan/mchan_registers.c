#include "mchan.h"

#include <assert.h>
#include <string.h>

#include "pulp_open_registers.h"

static uint32_t taken;
static uint32_t words[5];
static uint32_t count;
static mchan_count_t counted;

static void move(uint32_t rows, uint32_t bytes, uint32_t stride)
{
    uint8_t *local = (uint8_t *)(uintptr_t)words[1];
    uint8_t *external = (uint8_t *)(uintptr_t)words[2];
    for (uint32_t row = 0; row < rows; row++) {
        if (words[0] & PULP_OPEN_DMA_TO_L1) {
            memcpy(local, external, bytes);
        } else {
            memcpy(external, local, bytes);
        }
        local += bytes;
        external += stride;
    }
    counted.commands += 1;
    count = 0;
}

void match_pulp_open_write(uint32_t address, uint32_t value)
{
    if (address == PULP_OPEN_DMA_STATUS) {
        assert((taken & value) == value && count == 0);
        taken &= ~value;
        return;
    }
    assert(address == PULP_OPEN_DMA_COMMAND && taken != 0);
    words[count] = value;
    count += 1;
    uint32_t bytes = words[0] & 0x1ffff;
    if (count == 3 && !(words[0] & PULP_OPEN_DMA_2D)) {
        assert(words[0] & PULP_OPEN_DMA_INCREMENT && words[0] & PULP_OPEN_DMA_EVENT);
        move(1, bytes, 0);
    } else if (count == 5) {
        assert(bytes % words[3] == 0);
        counted.strided += 1;
        move(bytes / words[3], words[3], words[4]);
    }
}

uint32_t match_pulp_open_read(uint32_t address)
{
    if (address == PULP_OPEN_DMA_STATUS) {
        return 0;
    }
    uint32_t counter = 0;
    while (taken >> counter & 1) {
        counter += 1;
    }
    assert(counter < 16);
    taken |= 1u << counter;
    return counter;
}

void match_pulp_open_wait_event(uint32_t event)
{
    (void)event;
    assert(0 && "no transfer is under way");
}

mchan_count_t mchan_count(void)
{
    mchan_count_t result = counted;
    counted = (mchan_count_t){0};
    return result;
}

uint32_t mchan_taken(void)
{
    return (uint32_t)__builtin_popcount(taken);
}
