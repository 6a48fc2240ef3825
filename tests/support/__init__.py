"""What several test files use: cases, checks, boards and the places of files."""
