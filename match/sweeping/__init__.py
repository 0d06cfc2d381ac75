"""Predictions of many points: networks, what can be set of a target, and options, each with several values.

`space` makes the points of what was given, `point` predicts one, `cluster` has Dask's workers predict many, and `kept`
knows those of earlier sweeps. `table`, `write` and `page` show the result.
"""
