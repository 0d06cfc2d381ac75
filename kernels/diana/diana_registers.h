/* Registers of DIANA's digital accelerator, in 32-bit words from its base address.
 *
 * The chip's own map is not published. These words hold what the published driver functions are given (sizes, padding,
 * stride, shift, activation, addresses in both memories) and the strides that a memory interface needs to find a row
 * of a channel.
 *
 * Activations lie channel by channel, in rows of whole words of 16 bytes, so that a tile of a larger block has the
 * block's strides; those of a fully connected job are vectors of channels. Outputs are written in whole groups of 16
 * columns and 16 channels (a depthwise job: of its channel; a fully connected one: of channels), the rest of which has
 * any value. */
#ifndef DIANA_REGISTERS_H
#define DIANA_REGISTERS_H

/* Control. */
enum {
    DIANA_START = 0,  /* write 1: execute the job in the registers */
    DIANA_STATUS = 1, /* read: 1 while a job runs */
    DIANA_JOB = 4,    /* first of the words of the job */
};

/* Words of a job. Addresses and strides are in bytes, sizes in elements. */
enum {
    DIANA_JOB_OPERATION, /* DIANA_CONVOLUTION, ... */
    DIANA_JOB_INPUT,     /* in the activation memory, as are addend and output */
    DIANA_JOB_ADDEND,
    DIANA_JOB_WEIGHTS, /* in the weight memory */
    DIANA_JOB_OUTPUT,
    DIANA_JOB_INPUT_CHANNELS,
    DIANA_JOB_OUTPUT_CHANNELS,
    DIANA_JOB_INPUT_HEIGHT,
    DIANA_JOB_INPUT_WIDTH,
    DIANA_JOB_OUTPUT_HEIGHT,
    DIANA_JOB_OUTPUT_WIDTH,
    DIANA_JOB_FILTER_HEIGHT, /* 1, 3, 5 or 7, as the width */
    DIANA_JOB_FILTER_WIDTH,
    DIANA_JOB_STRIDE,   /* 1 or 2, of rows and columns */
    DIANA_JOB_PADDING,  /* zeros above 15:8, left 7:0; what is read below and to the right of the input is 0 too */
    DIANA_JOB_LANE,     /* of a depthwise job: which of the four channels of its row of weights, 0 .. 3 */
    DIANA_JOB_SHIFT,    /* 0 .. 31, to the right */
    DIANA_JOB_RELU,     /* 1: outputs are clipped to 0 .. 127, 0: to -128 .. 127 */
    DIANA_JOB_INPUT_ROW_STRIDE, /* strides are multiples of 16; a fully connected job has no use for them */
    DIANA_JOB_INPUT_CHANNEL_STRIDE,
    DIANA_JOB_ADDEND_ROW_STRIDE,
    DIANA_JOB_ADDEND_CHANNEL_STRIDE,
    DIANA_JOB_OUTPUT_ROW_STRIDE,
    DIANA_JOB_OUTPUT_CHANNEL_STRIDE,
    DIANA_JOB_WORDS,
};

/* DIANA_JOB_OPERATION. */
enum {
    DIANA_CONVOLUTION = 0,
    DIANA_DEPTHWISE = 1,       /* of one channel */
    DIANA_FULLY_CONNECTED = 2, /* of one pixel */
    DIANA_ADDITION = 3,
};

/* Size of the array: output channels and output columns, or input and output channels of a fully connected layer. */
enum { DIANA_ARRAY = 16 };

/* Channels in a row of depthwise weights, which gives each four of its 16 bytes and uses the first. */
enum { DIANA_DEPTHWISE_CHANNELS = 4 };

/* Bytes lie in groups of this many, last first, in both memories, where addresses are multiples of it. */
enum { DIANA_BYTE_GROUP = 4 };

#endif
