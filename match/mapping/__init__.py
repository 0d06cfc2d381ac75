"""The mapping of a layer onto memories, what it takes, and what of it a cost model prices.

`schedule` has the mapping itself, which the search makes and cost, code generation and the report read. `blocks` has
the tiles and blocks that a mapping cuts a layer into. `predict` says what a mapping costs.
"""
