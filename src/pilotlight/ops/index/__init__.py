"""Elements by number: of tensors, and rows of integer tables."""
