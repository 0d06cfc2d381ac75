"""Which module executes a layer: questions to modules, their offers, and decisions."""
