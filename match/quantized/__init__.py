"""Quantized operators as tensors of the graph: the integers that a reference's arithmetic makes of them."""
