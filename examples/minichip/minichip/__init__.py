"""Minichip as a target of the MATCH compiler."""
