"""The command line: one file a command, loaded when it is called."""

from pilotlight.cli.app import main

__all__ = ["main"]
