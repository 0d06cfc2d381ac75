"""The mapping of a layer onto memories: loops, each operand's blocks in them, and the layout of activations."""
