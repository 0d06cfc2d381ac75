/* Where all cores start: the control core, which then runs main, and later those of the cluster. */
#include "pulp_open_registers.h"
#include "pulp_start.h"

#ifndef PULP_L1_BYTES
#error "PULP_L1_BYTES: how much of L1 is in front of the stacks"
#endif

    .section .boot, "ax", @progbits
    .global match_pulp_open_start
    .balign 256
match_pulp_open_start:
    j boot
    .balign 128 /* the offset at which some of these cores begin */
    j boot

    .balign 256
trap:
    li a0, PULP_OPEN_TRAPPED
    j _exit

boot:
    la t0, trap
    csrw mtvec, t0
    match_pulp_start_pointers
    csrr a0, mhartid
    srli t0, a0, 5
    andi a0, a0, 0x1f
    beqz t0, cluster
    match_pulp_start_main

cluster:
    li sp, PULP_OPEN_L1 + PULP_L1_BYTES + PULP_OPEN_STACKS
    li t0, PULP_OPEN_WORKER_STACK
    mul t0, t0, a0
    sub sp, sp, t0
    tail match_pulp_open_cluster_main
