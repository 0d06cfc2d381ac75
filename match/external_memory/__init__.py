"""Puts a network that main memory cannot hold into main and external memory, as `match.placement` decides."""
