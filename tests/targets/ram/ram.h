/* An external memory behind the calls or registers that a driver uses, for test_external.c. */
#ifndef RAM_H
#define RAM_H

#include <stdint.h>

enum { RAM_BYTES = 64 * 1024 };

/* Its bytes, as its own addresses count. */
extern uint8_t ram[RAM_BYTES];

/* The file that is in flash. */
#define RAM_FILE "net.bin"
enum { RAM_FILE_BYTES = 10001 };
extern uint8_t ram_file[RAM_FILE_BYTES];

/* Commands since the last call. */
uint32_t ram_commands(void);

/* Whether no command is under way, no block is taken, and nothing is open. */
int ram_quiet(void);

/* From now on the calls come from the cluster's master, or from the control core. */
void ram_on_cluster(int cluster);

#endif
