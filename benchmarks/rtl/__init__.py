"""Cycles of the cluster's kernels on open RTL, beside the cost model."""
