"""Products of tensors."""
