"""The command line: one file per command, loaded when it is called."""

from pilotlight.cli.app import main

__all__ = ["main"]
