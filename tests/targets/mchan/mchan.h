/* What a driver's transfers came to, for test_mchan.c. */
#ifndef MCHAN_H
#define MCHAN_H

#include <stdint.h>

/* Commands since the last call, and how many of them had rows of their own stride. */
typedef struct {
    uint32_t commands;
    uint32_t strided;
} mchan_count_t;

mchan_count_t mchan_count(void);

/* Counters that are taken. */
uint32_t mchan_taken(void);

#endif
