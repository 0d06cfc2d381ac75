"""The cost of a mapping: its tiles and blocks, their prices from a cost model, and the latency."""
