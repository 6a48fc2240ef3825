"""PyTorch and saved files → Graph."""
