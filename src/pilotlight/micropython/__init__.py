"""`import torch` for MicroPython: a C module with PyTorch's own schemas, and a frozen Python package."""
