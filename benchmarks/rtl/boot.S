/* The reset vector, at the core's boot address. */
    .section .boot, "ax"
    .globl boot
boot:
    la sp, 0x40000
    j start
