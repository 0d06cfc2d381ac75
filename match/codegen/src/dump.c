/* Tensors of layers: a line of JSON on stdout for each, its bytes in hexadecimal. */
#include "match_dump.h"

#include <stdio.h>

void match_dump_tensor(const char *layer, const char *operand, const void *data, uint32_t bytes)
{
    match_dump_piece(layer, operand, data, bytes, 0, bytes);
}

void match_dump_piece(const char *layer, const char *operand, const void *data, uint32_t bytes, uint32_t first,
                      uint32_t whole)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *const values = data;
    if (first == 0) {
        printf("{\"event\":\"dump\",\"layer\":\"%s\",\"operand\":\"%s\",\"data\":\"", layer, operand);
    }
    for (uint32_t index = 0; index < bytes; index++) {
        putchar(digits[values[index] >> 4]);
        putchar(digits[values[index] & 15]);
    }
    if (first + bytes == whole) {
        printf("\"}\n");
    }
}
