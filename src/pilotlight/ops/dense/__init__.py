"""Convolution and linear layers."""
