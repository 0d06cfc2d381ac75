"""From a float model to a quantized one that compiles, with the accuracy in sight.

`prepared` reads the model, `samples` the data, and `form` asks the target how it likes numbers. `quantizer` has
onnxruntime quantize, `bits` narrows weights where that is faster, and `accuracy` and `layers` say what it costs.
"""
