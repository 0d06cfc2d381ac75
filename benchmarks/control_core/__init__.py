"""The control core of PULP chips: cycles and instructions of its kernels beside TVM's C, and what networks take."""
