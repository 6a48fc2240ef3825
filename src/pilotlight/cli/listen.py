"""`pilotlight listen`: the microphone of this computer through a streaming model on a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pilotlight.cli.options import Request, Seconds, model_command
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError

if TYPE_CHECKING:
    import torch


@click.command("listen", short_help="Stream the microphone through a model on a board.")
@model_command
@click.option("--seconds", type=Seconds(), metavar="SECONDS", help="How long to listen; default: until Ctrl-C.")
@click.option("--microphone", metavar="NAME", help="A device of `python -m sounddevice`; default: the system's.")
def command(talk: Talk, request: Request, seconds: float | None, microphone: str | None) -> int:
    """Stream the microphone of this computer through a model on an emulated board and show its answers.

    Needs --stream and --rate, and the package sounddevice (pip install 'pilotlight[microphone]'). A line is printed
    when the answer changes: of several numbers the largest counts.
    """
    build = request.compile(talk, to_run=True)
    from pilotlight.compiler import Build
    from pilotlight.report.streaming import answer_text
    from pilotlight.session.microphone import listen, newest

    if not isinstance(build, Build):
        raise PilotlightError("a model with several entry points does not listen", kind="usage")
    with talk.stage(f"compiling for {build.board.name}"):
        _ = build.info
    last: list[int | str | None] = [None]
    answers: list[dict[str, object]] = []

    def heard(samples: int, outputs: list[torch.Tensor]) -> None:
        numbers = newest(build.graph, outputs).double().reshape(-1).tolist()
        shown = answer_text(numbers)
        change = shown.partition(":")[0] if len(numbers) > 1 else shown
        if change != last[0]:
            last[0] = change
            assert build.graph.streaming is not None and build.graph.streaming.rate is not None
            at = samples / build.graph.streaming.rate
            talk.note(f"{at:9.3f} s  {shown}")
            answers.append({"seconds": at, "answer": numbers})

    talk.note(f"listening on {build.board.name}; Ctrl-C ends")
    done = listen(build, heard, seconds, microphone)
    assert build.graph.streaming is not None and build.graph.streaming.rate is not None
    heard_s = done.samples / build.graph.streaming.rate
    load = done.busy_s / heard_s if heard_s else 0.0
    text = f"listened for {heard_s:.1f} s in {done.steps} steps; this computer was busy for {load:.0%} of it"
    if done.lost:
        text += f"; samples were lost {done.lost} times, because the emulated board is too slow here"
    talk.result({
        "name": build.name, "board": build.board.name, "seconds": heard_s, "steps": done.steps, "lost": done.lost,
        "load": load, "answers": answers,
    }, text)
    return 0
