"""Graph → Graph: each pass keeps the meaning."""
