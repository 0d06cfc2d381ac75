/* Where the core starts: it counts from here on, and runs main. */
#include "pulp_start.h"

    .section .boot, "ax", @progbits
    .global match_pulp_rtl_start
    .balign 256
match_pulp_rtl_start:
    la t0, trap
    csrw mtvec, t0
    csrw 0x320, zero /* mcountinhibit: none is */
    match_pulp_start_pointers
    match_pulp_start_main

    .balign 256
trap:
    csrr a0, mcause
    csrr a1, mepc
    tail match_pulp_rtl_trap
