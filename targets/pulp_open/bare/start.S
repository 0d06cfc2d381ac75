/* Where all cores start: the control core, which then runs main, and later those of the cluster. */
#include "pulp_open_registers.h"

#ifndef PULP_L1_BYTES
#error "PULP_L1_BYTES: how much of L1 is in front of the stacks"
#endif

    .section .boot, "ax", @progbits
    .global pulp_open_start
    .balign 256
pulp_open_start:
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
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la tp, __tls_base
    csrr a0, mhartid
    srli t0, a0, 5
    andi a0, a0, 0x1f
    beqz t0, cluster

    la sp, __stack
    la t0, __bss_start
    la t1, __bss_end
clear:
    bgeu t0, t1, cleared
    sw zero, 0(t0)
    addi t0, t0, 4
    j clear
cleared:
    li a0, 0
    li a1, 0
    call main
    tail exit

cluster:
    li sp, PULP_OPEN_L1 + PULP_L1_BYTES + PULP_OPEN_STACKS
    slli t0, a0, 10 /* PULP_OPEN_WORKER_STACK */
    sub sp, sp, t0
    tail pulp_open_cluster_main
