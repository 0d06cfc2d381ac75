"""Cycles of whole networks, predicted and counted, layer by layer."""
