"""What the references compute where they leave integers, in NumPy, and the integers that equal it."""
