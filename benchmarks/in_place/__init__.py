"""What tensors inside others bring: peaks of activations and predicted cycles, with copies and without."""
