"""What a layer is, without TVM: dimensions, operands, constants, requantization as a step function."""
