"""Which bytes of a network lie where and when, if the main memory cannot hold all of them.

Numbers in, numbers out: steps in the order of execution with the tensors and constants they need (`problem`) become a
`Decision` (`decide`: what is fetched whole, what is cut, what lives outside) and, once the layers that are cut were
searched again, a `Plan` with every offset (`place`). `packing` puts intervals of time into memory without overlap,
`latency` predicts what is not hidden.
"""
