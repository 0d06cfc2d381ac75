"""Whether the C of a project computes what its network is to compute."""
