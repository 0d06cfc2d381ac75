"""Rewrites of the typed graph, from the network's integers to those that a target's modules take."""
