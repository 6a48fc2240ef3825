"""Sound and motion in PyTorch: plain modules that train as any other and compile to little memory."""

from pilotlight.nn.lfilter import lfilter as lfilter
