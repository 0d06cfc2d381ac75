"""ONNX networks of quantized operators, read as the graph."""
