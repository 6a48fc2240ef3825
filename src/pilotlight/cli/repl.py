"""`pilotlight repl`: MicroPython's prompt with `import torch`."""

from __future__ import annotations

import click

from pilotlight.cli.micropython import board_option, heap_option, made
from pilotlight.cli.talk import Talk


@click.command("repl", short_help="Type PyTorch at MicroPython's prompt, here or on an emulated board.")
@board_option
@heap_option
@click.option("-v", "--verbose", count=True, expose_value=False, help="Say more: -v each stage, -vv tracebacks.")
@click.pass_obj
def command(talk: Talk, board: str, heap: int | None) -> int:
    """Type PyTorch at MicroPython's prompt, on this computer or on an emulated board.

    MicroPython is built on first use. Ctrl-C stops what is running, Ctrl-D leaves.
    """
    port, program = made(talk, board, heap)
    from pilotlight.micropython import session

    if port.board is None:
        return session.run_on_host(program, (), heap)
    return session.talk_to(port.board, program)
