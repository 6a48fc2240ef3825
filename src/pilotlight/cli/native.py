"""`pilotlight compile --format mpy`: a native module of MicroPython."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pilotlight.cli.options import Request
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError

_IDLE = ("weights_in", "arena_in", "max_ram", "max_flash", "emulator")


def write_native(
    talk: Talk, request: Request, folder: Path, arch: str | None, romfs: bool, mip_url: str, dump: bool
) -> None:
    """NAME.mpy, NAME.bin and package.json."""
    for name in _IDLE:
        if request.choices.get(name) is not None:
            raise PilotlightError(
                f"--{name.replace('_', '-')} does nothing in a native module: MicroPython has the memory",
                hint="omit it", kind="usage",
            )
    from pilotlight.mpy.architectures import choose

    source = click.get_current_context().get_parameter_source("board")
    architecture, board = choose(arch, None if source is ParameterSource.DEFAULT else request.board)
    build = replace(request, board=board, source=request.source or request.model).compile(talk)
    from pilotlight.mpy import native_module
    from pilotlight.programs import ProgramBuild
    from pilotlight.report.files import files_table

    with talk.stage(f"linking for {architecture.name}"):
        module = native_module(build, architecture, url=mip_url, romfs=romfs)
    written = module.write(folder)
    what = {
        f"{module.name}.mpy": "the code: import it", f"{module.name}.bin": "the weights: load them",
        f"{module.name}.romfs": "both, for flash that MicroPython maps", "package.json": "for mip",
    }
    rows = [{"file": name, "bytes": len(data.encode() if isinstance(data, str) else data), "what": what.get(name, "")}
            for name, data in written.items()]
    memory = {key: module.metadata[key] for key in ("code_bytes", "arena_bytes", "state_bytes", "weights_bytes")}
    data: dict[str, Any] = {
        "name": module.name, "format": "mpy", "architecture": architecture.name, "helium": "mve" in module.board.isa,
        "folder": str(folder), "files": rows, "memory": memory,
    }
    used = memory["code_bytes"] + memory["arena_bytes"] + memory["state_bytes"]
    shown: list[Any] = [
        files_table(rows, str(folder)),
        f"  {architecture.name}{' with Helium' if data['helium'] else ''}; of MicroPython's heap about {used:,} bytes: "
        f"code {memory['code_bytes']:,}, arena {memory['arena_bytes']:,}, state {memory['state_bytes']:,}; and "
        f"{memory['weights_bytes']:,} of weights unless they are mapped",
    ]
    if dump:
        parts = build.entries.values() if isinstance(build, ProgramBuild) else [build]
        data["graph"] = "\n".join(str(part.lowered) for part in parts)
        shown.append(data["graph"])
    talk.result(data, *shown)
