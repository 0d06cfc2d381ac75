"""What a mapping costs: the tiles and blocks that it cuts a layer into, what a cost model says of them, its latency."""
