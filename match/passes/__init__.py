"""Quantized Relay to the integer form, a pass after the other."""
