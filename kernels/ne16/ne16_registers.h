/* NE16's register map, in 32-bit words from its base address. */
#ifndef NE16_REGISTERS_H
#define NE16_REGISTERS_H

/* Control. */
enum {
    NE16_TRIGGER = 0,     /* write 0: hand the acquired job over and start when idle */
    NE16_ACQUIRE = 1,     /* read: number of the job to fill in, or a negative value when there is no place for one */
    NE16_STATUS = 3,      /* read: bit 0 and bit 8 are set while the first and second place are taken */
    NE16_RUNNING_JOB = 4, /* read: number of the job that runs or ran last */
    NE16_SOFT_CLEAR = 5,  /* write: forget all jobs */
    NE16_JOB = 8,         /* first of the words of the acquired job */
};

/* What NE16_ACQUIRE says where there is a job that was acquired and never handed over. */
#define NE16_LOCKED 0xfffffffeu

/* Jobs that are queued or run, each with registers of its own. They are taken in turn, and keep what is written. */
enum { NE16_PLACES = 2 };

/* Words of a job. */
enum {
    NE16_JOB_WEIGHTS,
    NE16_JOB_INFEAT,
    NE16_JOB_OUTFEAT,
    NE16_JOB_SCALE,
    NE16_JOB_SCALE_SHIFT,
    NE16_JOB_SCALE_BIAS,
    NE16_JOB_ADDRESSES, /* those above */
    NE16_JOB_INFEAT_D0 = NE16_JOB_ADDRESSES,
    NE16_JOB_INFEAT_D1,
    NE16_JOB_INFEAT_D2,
    NE16_JOB_OUTFEAT_D0,
    NE16_JOB_OUTFEAT_D1,
    NE16_JOB_OUTFEAT_D2,
    NE16_JOB_WEIGHTS_D0,
    NE16_JOB_WEIGHTS_D1,
    NE16_JOB_WEIGHTS_D2,
    NE16_JOB_REMAINDER_KO_KI, /* these: first in the upper half, second in the lower */
    NE16_JOB_REMAINDER_HO_WO,
    NE16_JOB_REMAINDER_HI_WI,
    NE16_JOB_SUBTILES_KO_KI,
    NE16_JOB_SUBTILES_HO_WO,
    NE16_JOB_PADDING, /* top 31:28, right 27:24, bottom 23:20, left 19:16, value 15:0 */
    NE16_JOB_WEIGHT_OFFSET,
    NE16_JOB_FILTER_MASK, /* top 31:24, right 23:16, bottom 15:8, left 7:0 */
    NE16_JOB_CONF0,
    NE16_JOB_WORDS,
};

/* Fields of NE16_JOB_CONF0. */
enum {
    NE16_CONF0_WEIGHT_BITS = 0, /* 3 bits: number of bits - 1 */
    NE16_CONF0_MODE16 = 3,
    NE16_CONF0_NORM_QUANT = 4,
    NE16_CONF0_MODE = 5, /* 2 bits: NE16_MODE_... */
    NE16_CONF0_LINEAR = 7,
    NE16_CONF0_STRIDE2 = 8,
    NE16_CONF0_SCALE_BITS = 12, /* 2 bits: NE16_WIDTH_... */
    NE16_CONF0_STREAMIN = 14,
    NE16_CONF0_LAYER_WEIGHT_OFFSET = 15,
    NE16_CONF0_SHIFT = 16,       /* 5 bits */
    NE16_CONF0_OUTPUT_BITS = 21, /* 2 bits: NE16_WIDTH_... */
    NE16_CONF0_NO_RELU = 23,
    NE16_CONF0_CHANNEL_SHIFT = 24,
    NE16_CONF0_BIAS = 25,
};

enum { NE16_MODE_3X3 = 0, NE16_MODE_DEPTHWISE = 1, NE16_MODE_1X1 = 2 };

enum { NE16_WIDTH_8 = 0, NE16_WIDTH_16 = 1, NE16_WIDTH_32 = 2 };

/* Size of the array: what one sub-tile holds. */
enum {
    NE16_SUBTILE_OUTPUT = 3, /* output rows and columns */
    NE16_SUBTILE_INPUT = 5,  /* input rows and columns of a 3x3 filter */
    NE16_SUBTILE_KI = 16,
    NE16_SUBTILE_KO = 32,
};

#endif
