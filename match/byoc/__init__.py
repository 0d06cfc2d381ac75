"""TVM's own way to bring a back end: pattern tables of modules, and the C of what they cut."""
