"""Where and when the tensors and constants of a network lie, if main memory cannot hold all of them.

The input is a list of steps in the order of execution, with the tensors and constants that they need (`problem`). The
first result is a `Decision` (`decide`): which constants are fetched whole, which operands are cut, which tensors lie in
external memory. The layers that are cut are then searched again, and `place` makes a `Plan` with every offset.
`match.mapping.packing` packs blocks. `latency` predicts the cycles in which the core waits for transfers.
"""
