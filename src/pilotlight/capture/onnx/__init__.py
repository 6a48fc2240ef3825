"""ONNX files → Graph."""
