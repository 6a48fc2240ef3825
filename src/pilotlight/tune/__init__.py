"""Search over ways to compute a model."""
