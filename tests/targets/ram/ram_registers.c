/* HyperRAM and flash behind the registers of the I/O DMA. A command is executed when its queue's status is read for the
 * second time. Written from the register map alone: addresses and bits are not the driver's. */
#include "ram.h"

#include <assert.h>
#include <string.h>

#include "pulp_open_registers.h"

enum { QUEUES = 8, PLACES = 8, WORDS = 16, FLASH_BYTES = 16 * 1024, FILES = 96 };

uint8_t ram[RAM_BYTES];
uint8_t ram_file[RAM_FILE_BYTES];

typedef struct {
    uint32_t words[WORDS];
    uint32_t chip;
    int in;
} command_t;

static struct {
    uint32_t words[WORDS];
    command_t commands[PLACES];
    uint32_t count;
    uint32_t looks;
    int in;
} queues[QUEUES];

static uint32_t clocks;
static uint32_t chip;
static uint32_t issued;
static uint32_t now;
static uint8_t flash[FLASH_BYTES];

uint32_t ram_commands(void)
{
    const uint32_t result = issued;
    issued = 0;
    return result;
}

int ram_quiet(void)
{
    for (int i = 0; i < QUEUES; i++) {
        if (queues[i].count != 0) {
            return 0;
        }
    }
    return 1;
}

void ram_on_cluster(int cluster)
{
    (void)cluster;
}

/* ---- the flash, as the tools of PULP write it ---- */

static void put(uint32_t at, uint32_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        flash[at + i] = (uint8_t)(value >> 8 * i);
    }
}

static uint32_t put_file(uint32_t at, const char *name, uint32_t first, uint32_t bytes)
{
    put(at, first, 4);
    put(at + 4, bytes, 4);
    put(at + 8, (uint32_t)strlen(name) + 1, 4);
    memcpy(flash + at + 12, name, strlen(name) + 1);
    return at + 12 + (uint32_t)strlen(name) + 1;
}

static void write_flash(void)
{
    put(0, 4, 4);
    put(4, 0x02ba, 2);
    put(6, 1, 1);
    put(7, 2, 1);
    put(36, 0x01ba, 2);
    put(38, 1, 1);
    put(39, 0x80, 1); /* another partition */
    put(68, 0x01ba, 2);
    put(70, 1, 1);
    put(71, 0x81, 1);
    put(72, 200, 4);
    put(208, 2, 4); /* files */
    uint32_t at = put_file(212, "a", FILES, 1);
    at = put_file(at, RAM_FILE, FILES + 1, RAM_FILE_BYTES);
    assert(at <= 200 + FILES);
    memcpy(flash + 200 + FILES + 1, ram_file, RAM_FILE_BYTES);
}

/* ---- commands ---- */

static void execute(const command_t *command)
{
    const uint32_t *const words = command->words;
    const uint32_t bytes = words[command->in ? 1 : 4];
    const uint32_t row = words[10] ? words[11] : bytes;
    uint8_t *const memory = command->chip == 0 ? ram : flash;
    const uint32_t size = command->chip == 0 ? RAM_BYTES : FLASH_BYTES;
    assert(words[6] == (command->in ? 5 : 1) && bytes != 0 && bytes % row == 0);
    for (uint32_t i = 0; i < bytes / row; i++) {
        const uint32_t outside = words[7] + i * words[12];
        uint8_t *const local = (uint8_t *)(uintptr_t)words[command->in ? 0 : 3] + i * row;
        assert(outside + row <= size && (command->in || command->chip == 0));
        memcpy(command->in ? local : memory + outside, command->in ? memory + outside : local, row);
    }
}

static uint32_t status(uint32_t queue)
{
    const uint32_t count = queues[queue].count;
    queues[queue].looks += 1;
    if (count > 0 && queues[queue].looks % 2 == 0) {
        execute(&queues[queue].commands[0]);
        memmove(queues[queue].commands, queues[queue].commands + 1, (count - 1) * sizeof(command_t));
        queues[queue].count -= 1;
    }
    return count << 1 | (count != 0);
}

static void start(uint32_t queue, int in)
{
    assert(queues[queue].count < PLACES && queues[queue].in == in);
    command_t *const command = &queues[queue].commands[queues[queue].count];
    memcpy(command->words, queues[queue].words, sizeof command->words);
    command->chip = chip;
    command->in = in;
    queues[queue].count += 1;
    issued += 1;
}

void match_pulp_open_write(uint32_t address, uint32_t value)
{
    if (address == 0x1a102000) {
        clocks = value;
        write_flash();
        return;
    }
    assert(address >= 0x1a102480 && clocks >> 8 & 1);
    const uint32_t queue = (address - 0x1a102480) / 0x80;
    const uint32_t word = (address - 0x1a102480) % 0x80 / 4;
    if (queue == QUEUES) {
        chip = word == 8 ? value : chip;
        return;
    }
    assert(queue < QUEUES && word < WORDS && word != 9);
    queues[queue].words[word] = value;
    queues[queue].in = word == 0 ? 1 : word == 3 ? 0 : queues[queue].in;
    if ((word == 2 || word == 5) && value >> 4 & 1) {
        start(queue, word == 2);
    }
}

uint32_t match_pulp_open_read(uint32_t address)
{
    if (address == 0x1a102000) {
        return clocks;
    }
    if (address == PULP_OPEN_TIMER_COUNT) {
        return now++;
    }
    const uint32_t queue = (address - 0x1a102480) / 0x80;
    if (queue < QUEUES) {
        assert((address - 0x1a102480) % 0x80 == 0x24);
        return status(queue);
    }
    assert(address == 0x1a102480 + 0x424);
    uint32_t free_queue = 0;
    while (free_queue < QUEUES && queues[free_queue].count != 0) {
        free_queue += 1;
    }
    if (free_queue == QUEUES) { /* time passes */
        (void)status(0);
    }
    return free_queue;
}
