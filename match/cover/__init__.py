"""Which candidates compute a network together for the least predicted cost."""
