"""Which module executes a layer: what modules are asked, what they answer, what is decided."""
