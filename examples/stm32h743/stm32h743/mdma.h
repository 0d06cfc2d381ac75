/* The MDMA of STM32H7: 16 channels that copy rows of bytes, into DTCM as well. What starts transfers and waits for them
 * is in match_chip.h. */
#ifndef MDMA_H
#define MDMA_H

/* Before the first transfer. */
void match_mdma_open(void);

#endif
