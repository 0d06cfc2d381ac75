#include "pulp_open_files.h"

#include <string.h>

#include "match_layer.h"
#include "pulp_open_hyper.h"

enum { TABLE_MAGIC = 0x02ba, ENTRY_MAGIC = 0x01ba, READFS = 0x81 };

/* At the address that the flash's first word says; behind it are its entries. */
typedef struct {
    uint16_t magic;
    uint8_t version;
    uint8_t entries;
    uint8_t more[28];
} table_t;

typedef struct {
    uint16_t magic;
    uint8_t type;
    uint8_t subtype;
    uint32_t address;
    uint32_t bytes;
    uint8_t more[20];
} entry_t;

/* At the beginning of a readfs; behind it are its files' headers. */
typedef struct {
    uint32_t bytes;
    uint32_t bytes_high;
    uint32_t files;
} readfs_t;

/* Behind it is the name, with a zero at its end. */
typedef struct {
    uint32_t first; /* of its bytes, from the beginning of the readfs */
    uint32_t bytes;
    uint32_t name_bytes;
} file_t;

_Static_assert(sizeof(table_t) == 32 && sizeof(entry_t) == 32, "as they are in flash");

/* What is read from flash is in here: the I/O DMA writes whole words. */
static union {
    uint32_t word;
    table_t table;
    entry_t entry;
    readfs_t readfs;
    file_t file;
    char name[64];
} seen;

static int32_t find_readfs(uint32_t *readfs)
{
    MATCH_TRY(match_pulp_open_flash_read(&seen, 0, sizeof seen.word));
    uint32_t address = seen.word;
    MATCH_TRY(match_pulp_open_flash_read(&seen, address, sizeof seen.table));
    const uint32_t entries = seen.table.magic == TABLE_MAGIC ? seen.table.entries : 0;
    for (uint32_t i = 0; i < entries; i++) {
        address += sizeof seen.entry;
        MATCH_TRY(match_pulp_open_flash_read(&seen, address, sizeof seen.entry));
        if (seen.entry.magic == ENTRY_MAGIC && seen.entry.subtype == READFS) {
            *readfs = seen.entry.address;
            return MATCH_OK;
        }
    }
    return MATCH_ERROR_TRANSFER;
}

int32_t match_pulp_open_files_find(const char *name, uint32_t *address, uint32_t *bytes)
{
    uint32_t readfs = 0;
    MATCH_TRY(find_readfs(&readfs));
    MATCH_TRY(match_pulp_open_flash_read(&seen, readfs, sizeof seen.readfs));
    const uint32_t files = seen.readfs.files;
    uint32_t next = readfs + sizeof seen.readfs;
    for (uint32_t i = 0; i < files; i++) {
        MATCH_TRY(match_pulp_open_flash_read(&seen, next, sizeof seen.file));
        const file_t file = seen.file;
        next += sizeof file;
        if (file.name_bytes == strlen(name) + 1 && file.name_bytes <= sizeof seen.name) {
            MATCH_TRY(match_pulp_open_flash_read(&seen, next, file.name_bytes));
            if (memcmp(seen.name, name, file.name_bytes) == 0) {
                *address = readfs + file.first;
                *bytes = file.bytes;
                return MATCH_OK;
            }
        }
        next += file.name_bytes;
    }
    return MATCH_ERROR_TRANSFER;
}
