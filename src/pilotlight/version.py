"""The version, for what is generated and shown."""

__version__ = "0.1.0"
