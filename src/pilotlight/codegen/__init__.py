"""What operators write C with: `Target` says for which core, `Step` takes the C of one node; loops and walks."""
