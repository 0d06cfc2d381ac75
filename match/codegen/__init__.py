"""C of layers and networks, and the project they leave in."""
