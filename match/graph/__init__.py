"""A quantized network as a graph of typed operators, without TVM.

`value` has the graph itself, `operator` what every class of operators says about itself; the classes stand in the
other modules, by what they have in common. `evaluate` computes a graph in NumPy, `text` prints it.
"""
