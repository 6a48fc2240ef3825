"""`python -m pilotlight` is the pilotlight command."""

from pilotlight.cli import main

main()
