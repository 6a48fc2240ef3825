"""The `pilotlight` command: finds the command's module, and turns every failure into a message and an exit code.

0: done. 1: the result is not what it should be. 2: the user must change something.
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import gc
import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pilotlight.cache import cache_folder
from pilotlight.cli.advice import advise
from pilotlight.cli.stopping import StoppedError, stopping
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError
from pilotlight.version import __version__

_COMMANDS = (
    "demo", "boards", "inspect", "compile", "run", "profile", "tune", "compare", "listen", "report", "new", "update",
    "build", "flash", "monitor", "debug", "repl", "micropython", "check-kernel", "doctor",
)
_INTERRUPTED = 130


class App(click.Group):
    """Each command is a module of this package with a `command` in it, imported only when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(
            f"pilotlight.cli.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            text = f"; did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"there is no command {args[0]!r}{text} (known: {', '.join(_COMMANDS)})")
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        args = list(sys.argv[1:] if args is None else args) or ["--help"]
        talk = Talk.from_arguments(args)
        atexit.register(gc.freeze)  # nothing is searched for garbage when all of it goes: half a second after PyTorch
        try:
            with stopping():
                code = super().main(args, "pilotlight", complete_var, standalone_mode=False, obj=talk, **extra)
        except StoppedError as stopped:
            talk.fail(PilotlightError(f"stopped by {stopped.signal.name}", kind="interrupted"), "")
            code = 128 + stopped.signal
        except (click.Abort, KeyboardInterrupt):
            talk.fail(PilotlightError("interrupted", kind="interrupted"), "")
            code = _INTERRUPTED
        except BrokenPipeError:  # the reader of our output has seen enough, as `head` does
            sys.stderr.close()
            code = 0
        except Exception as error:
            failure = _as_error(error, args)
            with contextlib.suppress(Exception):  # the error matters more than the advice
                advise(failure, args, talk)
            talk.fail(failure, traceback.format_exc())
            code = failure.exit_code
        sys.exit(code or 0)


def _as_error(error: Exception, args: Sequence[str]) -> PilotlightError:
    """What a user is told: our own errors as they are, everything else as a request to report it."""
    if isinstance(error, PilotlightError):
        return error
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        hint = f"see: {context.command_path} --help" if context else None
        return PilotlightError(error.format_message(), hint=hint, kind="usage")
    if isinstance(error, OSError):
        inside = error.filename and cache_folder() in (Path(error.filename).absolute(), *Path(error.filename).parents)
        return PilotlightError(
            f"{error.strerror or error}: {error.filename or 'a file'}",
            hint="set PILOTLIGHT_CACHE to a folder that can be written" if inside
            else "check that the path is right and can be written, and that there is room", kind="file",
        )
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return PilotlightError(
            f"a name is not in UTF-8: {error.object!a}",
            hint="rename it, or set PYTHONUTF8=1 if your terminal shows it rightly", kind="usage",
        )
    if isinstance(error, MemoryError):
        return PilotlightError("this computer has too little memory for the model", kind="memory")
    from pilotlight.cli.bundle import write_bundle

    bundle = None
    with contextlib.suppress(Exception):  # the bug may be in what it is made with
        bundle = write_bundle(error, args)
    what = ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
    return PilotlightError(
        f"something went wrong inside Pilotlight ({what}); this is a bug, please report it",
        hint=f"attach {bundle} to the report: it holds this command, the installed versions, the traceback and the "
        "exported graph without its weights" if bundle
        else "run the same command with -vv and attach what it prints, and the model if you can",
        kind="internal",
    )


@click.group(cls=App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="pilotlight")
def main() -> None:
    """Put PyTorch models on microcontrollers: compile them to plain C, run them on an emulated board, and
    compare the results with PyTorch before anything is flashed.

    MODEL is file.py:name or package.module:name, where name is a function that returns (module, example_inputs),
    or a module or class together with --input SHAPE; a .pt2 file from
    torch.export.save; or a TorchScript file from torch.jit.save (.pt, .pth, .jit) together with --input.

    Exit codes: 0 done; 1 the result is not what it should be; 2 you have to change something first.
    """
