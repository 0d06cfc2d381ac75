"""Architectures of the zoo: which units compute them, what is left on the control core and why, and what is exact."""
