"""Networks that the main memory cannot hold: what external memory costs them, and whether they compute the same."""
