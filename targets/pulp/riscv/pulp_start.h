/* How a program without an operating system begins, for start.S: with the symbols of its linker script. */
#ifndef PULP_START_H
#define PULP_START_H

    /* What code may take for granted on every core. */
    .macro match_pulp_start_pointers
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la tp, __tls_base
    .endm

    /* main, on a stack of its own and with all zeros that C asks for; its result is the program's status. */
    .macro match_pulp_start_main
    la sp, __stack
    la t0, __bss_start
    la t1, __bss_end
match_pulp_start_clear:
    bgeu t0, t1, match_pulp_start_cleared
    sw zero, 0(t0)
    addi t0, t0, 4
    j match_pulp_start_clear
match_pulp_start_cleared:
    li a0, 0
    li a1, 0
    call main
    tail exit
    .endm

#endif
