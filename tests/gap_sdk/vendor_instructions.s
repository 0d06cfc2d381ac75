# Instructions in the assembly of the SDK's headers, for an assembler that does not know them.
.macro p.cnt destination, source
    .insn r 0x33, 2, 8, \destination, \source, x0
.endm
