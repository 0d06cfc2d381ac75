/* Where the core starts: it counts from here on, and runs main. */
    .section .boot, "ax", @progbits
    .global pulp_rtl_start
    .balign 256
pulp_rtl_start:
    la t0, trap
    csrw mtvec, t0
    csrw 0x320, zero /* mcountinhibit: none is */
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la tp, __tls_base
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

    .balign 256
trap:
    csrr a0, mcause
    csrr a1, mepc
    tail pulp_rtl_trap
