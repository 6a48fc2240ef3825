"""TorchScript archives, which torch.jit.save writes → Graph."""
