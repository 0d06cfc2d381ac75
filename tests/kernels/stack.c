/* Takes and gives back blocks of a memory as stdin says: "+ bytes" or "- offset". Prints the offset of each block that is
 * taken, -1 where there is none. The argument is the memory's size in bytes. */
#include "match_stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static _Alignas(MATCH_STACK_ALIGNMENT) uint8_t memory[4096];
    const long size = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    match_stack_t stack;
    match_stack_reset(&stack, memory, memory + size);
    char what;
    uint32_t number;
    while (scanf(" %c %" SCNu32, &what, &number) == 2) {
        if (what == '+') {
            uint8_t *block = match_stack_take(&stack, number);
            printf("%td\n", block != NULL ? block - memory : -1);
        } else {
            match_stack_give_back(&stack, memory + number);
        }
    }
    return 0;
}
