/* Encodings of Xpulpv2 and CORE-V instructions, as text of an `__asm__`: stock assemblers do not know their names.
 *
 * Operands are placeholders like "%0". A loop is MATCH_INSN_LOOP, exactly as many instructions as it says (4 bytes
 * each, at least 3, no branches), MATCH_INSN_LOOP_END; it runs `count` times, which must not be 0. A loop may lie in a
 * MATCH_INSN_OUTER_LOOP, which counts it as one instruction more, and has at least two behind it. */
#ifndef MATCH_PULP_INSN_H
#define MATCH_PULP_INSN_H

#define MATCH_INSN_TEXT(text) #text
#define MATCH_INSN_NUMBER(expression) MATCH_INSN_TEXT(expression)

/* Loads and stores of words that step by 4 or other bytes, of halves by 2 and of bytes by 1, the same in both. */
#define MATCH_INSN_LOAD4(value, pointer) MATCH_INSN_LOAD4_BY(value, pointer, 4)
#define MATCH_INSN_LOAD4_BY(value, pointer, bytes) ".insn i 0x0b, 2, " value ", " pointer ", " #bytes "\n"
#define MATCH_INSN_STORE4(value, pointer) ".insn s 0x2b, 2, " value ", 4(" pointer ")\n"
#define MATCH_INSN_LOAD2(value, pointer) ".insn i 0x0b, 5, " value ", " pointer ", 2\n"
#define MATCH_INSN_STORE2(value, pointer) ".insn s 0x2b, 1, " value ", 2(" pointer ")\n"
#define MATCH_INSN_LOAD_BYTE(value, pointer) ".insn i 0x0b, 4, " value ", " pointer ", 1\n"
#define MATCH_INSN_STORE_BYTE(value, pointer) ".insn s 0x2b, 0, " value ", 1(" pointer ")\n"

#define MATCH_INSN_LOOP_END ".option pop\n"

#if defined(MATCH_PULP_ISA_XPULP2)

#define MATCH_INSN_LOOP(count, instructions) \
    ".balign 4\n.option push\n.option norvc\n" \
    ".insn i 0x7b, 4, x0, " count ", " MATCH_INSN_NUMBER(2 * (instructions)) "\n" /* lp.setup */
#define MATCH_INSN_OUTER_LOOP(count, instructions) \
    ".balign 4\n.option push\n.option norvc\n" \
    ".insn i 0x7b, 4, x1, " count ", " MATCH_INSN_NUMBER(2 * (instructions)) "\n" /* lp.setup */
#define MATCH_INSN_LOAD_BYTE_STEP(value, pointer, step) \
    ".insn r 0x0b, 7, 0x20, " value ", " pointer ", " step "\n"                                   /* p.lbu */
#define MATCH_INSN_STORE_BYTE_STEP(value, pointer, step) \
    ".insn r 0x2b, 4, 0x00, " step ", " pointer ", " value "\n"                                   /* p.sb */
#define MATCH_INSN_LOAD2_STEP(value, pointer, step) \
    ".insn r 0x0b, 7, 0x28, " value ", " pointer ", " step "\n"                                   /* p.lhu */
#define MATCH_INSN_STORE2_STEP(value, pointer, step) \
    ".insn r 0x2b, 5, 0x00, " step ", " pointer ", " value "\n"                                   /* p.sh */
#define MATCH_INSN_LOAD_BYTE_AT(value, index, pointer) \
    ".insn r 0x03, 7, 0x20, " value ", " pointer ", " index "\n"                                  /* p.lbu */
#define MATCH_INSN_LOAD4_AT(value, index, pointer) \
    ".insn r 0x03, 7, 0x10, " value ", " pointer ", " index "\n"                                  /* p.lw */
#define MATCH_INSN_LOAD4_STEP(value, pointer, step) \
    ".insn r 0x0b, 7, 0x10, " value ", " pointer ", " step "\n"                                   /* p.lw */
#define MATCH_INSN_STORE4_STEP(value, pointer, step) \
    ".insn r 0x2b, 6, 0x00, " step ", " pointer ", " value "\n"                                   /* p.sw */
#define MATCH_INSN_DOT2(acc, a, b) ".insn r 0x57, 0, 0x5c, " acc ", " a ", " b "\n"              /* pv.sdotsp.h */
#define MATCH_INSN_DOT4(acc, a, b) ".insn r 0x57, 1, 0x54, " acc ", " a ", " b "\n"              /* pv.sdotusp.b */
#define MATCH_INSN_FIRST_DOT4(acc, a, b) ".insn r 0x57, 1, 0x44, " acc ", " a ", " b "\n"        /* pv.dotusp.b */
#define MATCH_INSN_UNSIGNED_DOT4(acc, a, b) ".insn r 0x57, 1, 0x50, " acc ", " a ", " b "\n"     /* pv.sdotup.b */
#define MATCH_INSN_FIRST_UNSIGNED_DOT4(acc, a, b) ".insn r 0x57, 1, 0x40, " acc ", " a ", " b "\n" /* pv.dotup.b */
#define MATCH_INSN_PACK_LOW(word, a, b) ".insn r 0x57, 1, 0x70, " word ", " a ", " b "\n"        /* pv.packlo.b */
#define MATCH_INSN_PACK_HIGH(word, a, b) ".insn r 0x57, 1, 0x6c, " word ", " a ", " b "\n"       /* pv.packhi.b */
#define MATCH_INSN_PACK_HALVES(word, a, b) ".insn r 0x57, 0, 0x68, " word ", " a ", " b "\n"     /* pv.pack.h */
#define MATCH_INSN_LANES_OF_TWO(word, a, lanes) ".insn r 0x57, 1, 0x64, " word ", " a ", " lanes "\n" /* pv.shuffle2.b */
#define MATCH_INSN_LANES(word, a, lanes) ".insn r 0x57, 1, 0x60, " word ", " a ", " lanes "\n"     /* pv.shuffle.b */
#define MATCH_INSN_MAX4(largest, a, b) ".insn r 0x57, 1, 0x1c, " largest ", " a ", " b "\n"      /* pv.maxu.b */
#define MATCH_INSN_MIN4(smallest, a, b) ".insn r 0x57, 1, 0x14, " smallest ", " a ", " b "\n"    /* pv.minu.b */
#define MATCH_INSN_MAX2(largest, a, b) ".insn r 0x57, 0, 0x18, " largest ", " a ", " b "\n"      /* pv.max.h */
#define MATCH_INSN_SHIFT_HALVES(word, a, bits) ".insn r 0x57, 4, 0x20, " word ", " a ", " bits "\n"  /* pv.srl.sc.h */
#define MATCH_INSN_MULTIPLY_ADD(acc, a, b) ".insn r 0x33, 0, 0x21, " acc ", " a ", " b "\n"      /* p.mac */
#define MATCH_INSN_ADD_SHIFT(acc, a, shift) ".insn r 0x5b, 2, 0x20, " acc ", " a ", " shift "\n" /* p.addNr */
#define MATCH_INSN_ADD_SHIFT_UNSIGNED(acc, a, shift) \
    ".insn r 0x5b, 2, 0x60, " acc ", " a ", " shift "\n"                                         /* p.adduNr */
#define MATCH_INSN_MIN(smaller, a, b) ".insn r 0x33, 4, 0x02, " smaller ", " a ", " b "\n"       /* p.min */
#define MATCH_INSN_MAX(larger, a, b) ".insn r 0x33, 6, 0x02, " larger ", " a ", " b "\n"         /* p.max */
#define MATCH_INSN_CLIP(clipped, a, most) ".insn r 0x33, 6, 0x0a, " clipped ", " a ", " most "\n"   /* p.clipur */

#else

#define MATCH_INSN_LOOP(count, instructions) \
    ".balign 4\n.option push\n.option norvc\n" \
    ".insn i 0x2b, 4, x14, " count ", " MATCH_INSN_NUMBER((instructions) + 1) "\n" /* cv.setup */
#define MATCH_INSN_OUTER_LOOP(count, instructions) \
    ".balign 4\n.option push\n.option norvc\n" \
    ".insn i 0x2b, 4, x15, " count ", " MATCH_INSN_NUMBER((instructions) + 1) "\n" /* cv.setup */
#define MATCH_INSN_LOAD_BYTE_STEP(value, pointer, step) \
    ".insn r 0x2b, 3, 0x08, " value ", " pointer ", " step "\n"                                   /* cv.lbu */
#define MATCH_INSN_STORE_BYTE_STEP(value, pointer, step) \
    ".insn r 0x2b, 3, 0x10, " step ", " pointer ", " value "\n"                                   /* cv.sb */
#define MATCH_INSN_LOAD2_STEP(value, pointer, step) \
    ".insn r 0x2b, 3, 0x09, " value ", " pointer ", " step "\n"                                   /* cv.lhu */
#define MATCH_INSN_STORE2_STEP(value, pointer, step) \
    ".insn r 0x2b, 3, 0x11, " step ", " pointer ", " value "\n"                                   /* cv.sh */
#define MATCH_INSN_LOAD_BYTE_AT(value, index, pointer) \
    ".insn r 0x2b, 3, 0x0c, " value ", " pointer ", " index "\n"                                  /* cv.lbu */
#define MATCH_INSN_LOAD4_AT(value, index, pointer) \
    ".insn r 0x2b, 3, 0x06, " value ", " pointer ", " index "\n"                                  /* cv.lw */
#define MATCH_INSN_LOAD4_STEP(value, pointer, step) \
    ".insn r 0x2b, 3, 0x02, " value ", " pointer ", " step "\n"                                   /* cv.lw */
#define MATCH_INSN_STORE4_STEP(value, pointer, step) \
    ".insn r 0x2b, 3, 0x12, " step ", " pointer ", " value "\n"                                   /* cv.sw */
#define MATCH_INSN_DOT2(acc, a, b) ".insn r 0x7b, 0, 0x54, " acc ", " a ", " b "\n"              /* cv.sdotsp.h */
#define MATCH_INSN_DOT4(acc, a, b) ".insn r 0x7b, 1, 0x50, " acc ", " a ", " b "\n"              /* cv.sdotusp.b */
#define MATCH_INSN_FIRST_DOT4(acc, a, b) ".insn r 0x7b, 1, 0x44, " acc ", " a ", " b "\n"        /* cv.dotusp.b */
#define MATCH_INSN_UNSIGNED_DOT4(acc, a, b) ".insn r 0x7b, 1, 0x4c, " acc ", " a ", " b "\n"     /* cv.sdotup.b */
#define MATCH_INSN_FIRST_UNSIGNED_DOT4(acc, a, b) ".insn r 0x7b, 1, 0x40, " acc ", " a ", " b "\n" /* cv.dotup.b */
#define MATCH_INSN_PACK_LOW(word, a, b) ".insn r 0x7b, 1, 0x7c, " word ", " a ", " b "\n"        /* cv.packlo.b */
#define MATCH_INSN_PACK_HIGH(word, a, b) ".insn r 0x7b, 1, 0x7d, " word ", " a ", " b "\n"       /* cv.packhi.b */
#define MATCH_INSN_PACK_HALVES(word, a, b) ".insn r 0x7b, 0, 0x78, " word ", " a ", " b "\n"     /* cv.pack */
#define MATCH_INSN_LANES_OF_TWO(word, a, lanes) ".insn r 0x7b, 1, 0x70, " word ", " a ", " lanes "\n" /* cv.shuffle2.b */
#define MATCH_INSN_LANES(word, a, lanes) ".insn r 0x7b, 1, 0x60, " word ", " a ", " lanes "\n"     /* cv.shuffle.b */
#define MATCH_INSN_MAX4(largest, a, b) ".insn r 0x7b, 1, 0x1c, " largest ", " a ", " b "\n"      /* cv.maxu.b */
#define MATCH_INSN_MIN4(smallest, a, b) ".insn r 0x7b, 1, 0x14, " smallest ", " a ", " b "\n"    /* cv.minu.b */
#define MATCH_INSN_MAX2(largest, a, b) ".insn r 0x7b, 0, 0x18, " largest ", " a ", " b "\n"      /* cv.max.h */
#define MATCH_INSN_SHIFT_HALVES(word, a, bits) ".insn r 0x7b, 4, 0x20, " word ", " a ", " bits "\n"  /* cv.srl.sc.h */
#define MATCH_INSN_MULTIPLY_ADD(acc, a, b) ".insn r 0x2b, 3, 0x48, " acc ", " a ", " b "\n"      /* cv.mac */
#define MATCH_INSN_ADD_SHIFT(acc, a, shift) ".insn r 0x2b, 3, 0x40, " acc ", " a ", " shift "\n" /* cv.addnr */
#define MATCH_INSN_ADD_SHIFT_UNSIGNED(acc, a, shift) \
    ".insn r 0x2b, 3, 0x41, " acc ", " a ", " shift "\n"                                         /* cv.addunr */
#define MATCH_INSN_MIN(smaller, a, b) ".insn r 0x2b, 3, 0x2b, " smaller ", " a ", " b "\n"       /* cv.min */
#define MATCH_INSN_MAX(larger, a, b) ".insn r 0x2b, 3, 0x2d, " larger ", " a ", " b "\n"         /* cv.max */
#define MATCH_INSN_CLIP(clipped, a, most) ".insn r 0x2b, 3, 0x3b, " clipped ", " a ", " most "\n"   /* cv.clipur */

#endif

#endif
